//! Times the searches and stores on a synthetic system whose executor costs next to nothing.
//!
//! `speed WORDS BASE COUNTERS ROW [THREADS]` explores all vectors of COUNTERS counters modulo BASE
//! spread over states of WORDS words. ROW is `exact` (sequential search, exact store), `flat`,
//! `tree` (parallel search), `flat-bfs`, `tree-bfs` (sequential search, shared store), `none` (the
//! executor alone, on as many states) or `chain` (a chain of BASE states; THREADS 0: sequential).
//! Prints nanoseconds per transition and bytes per state.

use ergodic_queue::MemoryQueue;
use ergodic_search::{Limits, Outcome, Team, Unobserved, bfs, pbfs};
use ergodic_store::{ExactStore, FlatStore, TreeStore};
use ergodic_system::{
    Batch, Block, Cursor, Label, Picks, Shape, Shared, Sole, Step, System, Violation,
};
use std::time::Instant;

/// Counters modulo `base`; each step increments one. With `chain`, only the last state that a
/// single counter reaches ends it.
struct Counters {
    words: usize,
    base: u64,
    counters: usize,
    chain: bool,
}

impl Counters {
    /// Word and shift of a counter.
    fn place(&self, counter: usize) -> (usize, u32) {
        let per_word = self.counters.div_ceil(self.words);
        (counter / per_word, ((counter % per_word) * (60 / per_word)) as u32)
    }
}

impl System for Counters {
    type Scratch = Vec<(usize, u32, u64)>;

    fn shape(&self) -> Shape {
        Shape::of_bits(self.words * 64 - 2)
    }

    fn scratch(&self) -> Self::Scratch {
        let bits = 60 / self.counters.div_ceil(self.words) as u32;
        let mask = (1 << bits) - 1;
        (0..self.counters).map(|c| (self.place(c).0, self.place(c).1, mask)).collect()
    }

    fn rules(&self) -> usize {
        self.counters
    }

    fn initial(&self, _: &mut Self::Scratch, _: &mut Cursor, out: &mut Batch) -> Step {
        out.push(&vec![0; self.words], 0, 0, Label(0));
        Step::Done
    }

    fn expand(
        &self,
        s: &mut Self::Scratch,
        src: Block<'_>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Step {
        let parts = out.parts();
        let (mut len, room) = (*parts.len, parts.labels.len());
        while at.source < src.len() {
            if len + self.counters > room {
                *parts.len = len;
                return Step::Full;
            }
            let state = src.state(at.source);
            for (rule, (word, shift, mask)) in s.iter().enumerate() {
                let value = (state[*word] >> shift) & mask;
                let end = value + 1 == self.base;
                if end && self.chain {
                    continue;
                }
                let delta = if end { value.wrapping_neg() } else { 1 };
                let to = &mut parts.states[len * self.words..(len + 1) * self.words];
                to.copy_from_slice(state);
                to[*word] = to[*word].wrapping_add(delta << shift);
                parts.sources[len] = at.source as u32;
                parts.rules[len] = rule as u32;
                parts.labels[len] = Label(rule as u32);
                len += 1;
            }
            at.source += 1;
        }
        *parts.len = len;
        Step::Done
    }

    fn judge(
        &self,
        _: &mut Self::Scratch,
        _: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation> {
        *at = fresh.len();
        None
    }

    fn goals<'s>(&self, _: &'s Self::Scratch) -> &'s [u64] {
        &[]
    }
}

fn shared<V: Shared>(system: &Counters, mut store: V, threads: usize, limits: &Limits) -> Outcome {
    let mut queue = MemoryQueue::new(system.shape());
    if threads == 0 {
        let mut sole = Sole::new(&mut store);
        return bfs(system, &mut sole, &mut queue, limits, &mut Unobserved);
    }
    pbfs(system, &mut store, &mut queue, &Team::of(threads), limits, &mut Unobserved)
}

/// The executor alone.
fn expand_only(system: &Counters, limits: &Limits) -> u64 {
    let states = system.base.pow(system.counters as u32);
    let (mut scratch, mut count) = (system.scratch(), 0);
    let mut batch = Batch::new(system.shape(), limits.batch);
    let words = vec![0; limits.block * system.words + 1];
    for _ in 0..states / limits.block as u64 {
        let block = Block::new(&words, system.words, limits.block);
        let mut cursor = Cursor::default();
        loop {
            batch.clear();
            let step = system.expand(&mut scratch, block, &mut cursor, &mut batch);
            count += std::hint::black_box(&batch).len() as u64;
            if step == Step::Done {
                break;
            }
        }
    }
    count
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| args.get(i).and_then(|a| a.parse::<u64>().ok());
    let (Some(words), Some(base), Some(counters), Some(row)) =
        (number(0), number(1), number(2), args.get(3))
    else {
        eprintln!("usage: speed WORDS BASE COUNTERS ROW [THREADS]");
        return;
    };
    let threads = number(4).unwrap_or(1) as usize;
    let chain = row == "chain";
    let system = Counters { words: words as usize, base, counters: counters as usize, chain };
    let limits = Limits::default();
    let shape = system.shape();
    let began = Instant::now();
    let outcome = match row.as_str() {
        "exact" => {
            let mut queue = MemoryQueue::new(shape);
            let mut store = ExactStore::new(shape, None);
            bfs(&system, &mut store, &mut queue, &limits, &mut Unobserved)
        }
        "flat" => shared(&system, FlatStore::new(shape, None), threads, &limits),
        "tree" => shared(&system, TreeStore::new(shape, None), threads, &limits),
        "flat-bfs" | "chain" if row != "chain" || threads == 0 => {
            shared(&system, FlatStore::new(shape, None), 0, &limits)
        }
        "chain" => shared(&system, FlatStore::new(shape, None), threads, &limits),
        "tree-bfs" => shared(&system, TreeStore::new(shape, None), 0, &limits),
        _ => {
            let count = expand_only(&system, &limits);
            let each = began.elapsed().as_nanos() as f64 / count as f64;
            println!("executor alone: {each:.1} ns per transition");
            return;
        }
    };
    let elapsed = began.elapsed();
    let stats = &outcome.stats;
    println!(
        "{row} {words} words, {threads} threads: {} states, {} transitions, depth {}, {:.2} s, {:.1} ns per transition, {:.1} bytes per state",
        stats.states,
        stats.transitions,
        stats.depth,
        elapsed.as_secs_f64(),
        elapsed.as_nanos() as f64 / stats.transitions as f64,
        stats.store_bytes as f64 / stats.states as f64,
    );
}
