//! Sleep sets for breadth-first search: the same states, fewer transitions (after Godefroid, Holzmann
//! and Pirottin, *State-Space Caching Revisited*).
//!
//! Of two independent transitions only one order need be explored. Each state of a level has a set of
//! transitions that *sleep* in it: they are enabled, but where they lead is found from elsewhere. If
//! `t` is fired in `s`, then in the successor those sleep that slept in `s` or were fired there before
//! `t`, as far as they are independent of `t`; and a state that is found several times in a level lets
//! sleep only what sleeps in all of these ways. Then every state is found at its true depth: consider
//! the shortest path to it that is least, step by step, in the order of firing. If its last step
//! slept, that transition was fired earlier somewhere on the path and is independent of all steps from
//! there on; fired there it gives a path of the same length that is less.
//!
//! *Where the sets are.* Not with the states: a level has a table of sets without keys, in which a
//! state finds its place by a hash, and a set is only ever intersected with what sleeps by another way.
//! States that share a place let fewer transitions sleep than they could, which costs time and nothing
//! else. So no store, frontier or checkpoint knows about sleep sets. Whoever begins in the middle
//! starts with empty sets: nothing sleeps in that level and in the next one.
//!
//! *Symmetry.* A successor may be replaced by another member of its orbit, in which the transitions have
//! other names. A permutation leads from the one to the other, and what sleeps in the successor is renamed
//! by it. The argument above then holds for orbits instead of states: a transition that slept was fired
//! earlier, by another name, and commutes with all steps from there on; fired there it gives a run to
//! another member of the orbit of the state, and the images of that run are a path of the same length that
//! is less. Any permutation will do that leads from the successor to the state, and that two transitions
//! are independent is asked of the names that they have where one of them is fired, so that the relation
//! need not be the same for all members of an orbit.
//!
//! *Where it does not pay* it stops: when after some levels little has slept, nothing sleeps any more,
//! and the system is what it was.
//!
//! *What it needs.* A search that expands each state once, level by level, and never forgets one: the
//! sets of a state that is found again in a later level say nothing about the earlier one.

use ergodic_system::{
    Batch, Block, Cursor, Fault, Independence, Label, Live, Picks, Shape, Step, System, Violation,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

/// Places per state that a level is expected to find.
const PLACES: u64 = 8;
/// Places, at least.
const LEAST_PLACES: u64 = 64;
/// Bytes of one table, at most: beyond that, states share more places.
const MOST_BYTES: u64 = 256 << 20;

/// Transitions after which it is clear whether it pays, and the part that must sleep for that.
const TRIAL: u64 = 100_000;
const LEAST_ASLEEP: f64 = 0.05;

/// A system in which transitions sleep.
#[derive(Debug)]
pub struct Sleeping<S> {
    inner: S,
    independence: Independence,
    levels: RwLock<Levels>,
    /// Transitions that were taken, and that were not.
    taken: AtomicU64,
    slept: AtomicU64,
    /// It does not pay: nothing sleeps any more.
    off: AtomicBool,
}

/// The sleep sets of the level being expanded and of the one being found.
#[derive(Debug)]
struct Levels {
    now: Places,
    next: Places,
    /// States of the level being expanded.
    states: u64,
}

/// Sleep sets that are found by a hash; without places all of them are empty.
#[derive(Debug, Default)]
struct Places {
    words: Vec<AtomicU64>,
    /// Number of places less one; that number is a power of two.
    last: u64,
}

impl Places {
    /// Sets in which everything sleeps until somebody says otherwise.
    fn full(places: u64, width: usize) -> Places {
        let words = places as usize * width;
        Places { words: (0..words).map(|_| AtomicU64::new(u64::MAX)).collect(), last: places - 1 }
    }

    fn of(&self, hash: u64, width: usize) -> Option<&[AtomicU64]> {
        let at = (hash & self.last) as usize * width;
        self.words.get(at..at + width)
    }
}

/// Working memory of the inner system, and of the choice among its successors.
#[derive(Debug)]
pub struct SleepingScratch<T> {
    inner: T,
    /// The state being expanded, by its place in the block.
    source: Option<u32>,
    /// What sleeps in it, and the same with what was fired in it so far.
    asleep: Vec<u64>,
    passed: Vec<u64>,
    /// Of each successor: whether it is wanted; of each wanted one: its hash and what sleeps in it.
    wanted: Vec<bool>,
    hashes: Vec<u64>,
    sets: Vec<u64>,
    /// A set before it is renamed.
    spare: Vec<u64>,
}

impl<S: System> Sleeping<S> {
    /// Lets the transitions of a system sleep as far as they are independent.
    pub fn new(inner: S, independence: Independence) -> Sleeping<S> {
        let levels = Levels { now: Places::default(), next: Places::default(), states: 0 };
        let (taken, slept, off) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
        Sleeping { inner, independence, levels: RwLock::new(levels), taken, slept, off }
    }

    /// Whether nothing sleeps any more, because it did not pay.
    pub fn is_off(&self) -> bool {
        self.off.load(Ordering::Relaxed)
    }

    /// How many transitions slept so far.
    pub fn slept(&self) -> u64 {
        self.slept.load(Ordering::Relaxed)
    }

    /// Removes the successors from `from` on whose transitions sleep, and passes on what sleeps in
    /// the others.
    fn choose(
        &self,
        scratch: &mut SleepingScratch<S::Scratch>,
        src: Block<'_>,
        from: usize,
        out: &mut Batch,
    ) {
        let levels = self.levels.read().unwrap_or_else(PoisonError::into_inner);
        let width = self.independence.words();
        scratch.wanted.clear();
        scratch.hashes.clear();
        scratch.sets.clear();
        for i in from..out.len() {
            let source = out.sources()[i];
            if scratch.source != Some(source) {
                scratch.enter(source, levels.now.of(hash(src.state(source as usize)), width));
            }
            let wanted = scratch.fire(&self.independence, out.labels()[i], out.renamed(i));
            if wanted {
                scratch.hashes.push(hash(out.state(i)));
            }
            scratch.wanted.push(wanted);
        }
        let SleepingScratch { wanted, hashes, sets, .. } = scratch;
        let slept = wanted.len() - hashes.len();
        self.taken.fetch_add(hashes.len() as u64, Ordering::Relaxed);
        if slept > 0 {
            out.retain(from, |i, _| wanted[i - from]);
            self.slept.fetch_add(slept as u64, Ordering::Relaxed);
        }
        // A write that others can see waits for its place in memory, one at a time; reads wait together.
        let places = hashes.iter().filter_map(|hash| levels.next.of(*hash, width));
        std::hint::black_box(places.fold(0, |sum, place| sum ^ place[0].load(Ordering::Relaxed)));
        for (hash, set) in hashes.iter().zip(sets.chunks_exact(width)) {
            let Some(place) = levels.next.of(*hash, width) else { break };
            for (word, set) in place.iter().zip(set) {
                // Mostly there is nothing to do, and then nothing is written.
                if word.load(Ordering::Relaxed) & !set != 0 {
                    word.fetch_and(*set, Ordering::Relaxed);
                }
            }
        }
    }
}

impl<T> SleepingScratch<T> {
    /// Goes on to another state.
    fn enter(&mut self, source: u32, asleep: Option<&[AtomicU64]>) {
        self.source = Some(source);
        match asleep {
            None => self.asleep.fill(0),
            Some(set) => {
                let words = self.asleep.iter_mut().zip(set);
                words.for_each(|(word, set)| *word = set.load(Ordering::Relaxed));
            }
        }
        self.passed.copy_from_slice(&self.asleep);
    }

    /// Fires a transition, unless it sleeps; appends what sleeps in its successor, by the names that
    /// transitions have there.
    fn fire(&mut self, independence: &Independence, label: Label, to: Option<&[u16]>) -> bool {
        let number = independence.number(label);
        let (word, bit) = (number / 64, 1 << (number % 64));
        if self.asleep[word] & bit != 0 {
            return false;
        }
        let (row, at) = (independence.row(number), self.sets.len());
        self.sets.extend(self.passed.iter().zip(row).map(|(passed, row)| passed & row));
        if let Some(to) = to {
            independence.renaming().rename(&mut self.sets[at..], to, &mut self.spare);
        }
        self.passed[word] |= bit;
        true
    }
}

/// Spreads states over places. Nothing depends on it but time.
#[inline]
pub(crate) fn hash(state: &[u64]) -> u64 {
    let mix = |hash: u64, word: &u64| {
        let product = u128::from(hash ^ word) * 0x9e37_79b9_7f4a_7c15_u128;
        (product >> 64) as u64 ^ product as u64
    };
    state.iter().fold(0x243f_6a88_85a3_08d3, mix)
}

impl<S: System> System for Sleeping<S> {
    type Scratch = SleepingScratch<S::Scratch>;

    fn shape(&self) -> Shape {
        self.inner.shape()
    }

    fn scratch(&self) -> Self::Scratch {
        let width = self.independence.words();
        SleepingScratch {
            inner: self.inner.scratch(),
            source: None,
            asleep: vec![0; width],
            passed: vec![0; width],
            wanted: Vec::new(),
            hashes: Vec::new(),
            sets: Vec::new(),
            spare: Vec::new(),
        }
    }

    fn rules(&self) -> usize {
        self.inner.rules()
    }

    fn initial(&self, scratch: &mut Self::Scratch, at: &mut Cursor, out: &mut Batch) -> Step {
        self.inner.initial(&mut scratch.inner, at, out)
    }

    fn expand(
        &self,
        scratch: &mut Self::Scratch,
        src: Block<'_>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Step {
        if self.is_off() {
            out.watch_renames(false);
            return self.inner.expand(&mut scratch.inner, src, at, out);
        }
        if *at == Cursor::default() {
            scratch.source = None;
        }
        let from = out.len();
        out.watch_renames(true);
        let step = self.inner.expand(&mut scratch.inner, src, at, out);
        self.choose(scratch, src, from, out);
        step
    }

    fn judge(
        &self,
        scratch: &mut Self::Scratch,
        b: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation> {
        self.inner.judge(&mut scratch.inner, b, fresh, at)
    }

    fn goals<'s>(&self, scratch: &'s Self::Scratch) -> &'s [u64] {
        self.inner.goals(&scratch.inner)
    }

    fn level_begins(&self, states: u64) {
        self.inner.level_begins(states);
        let width = self.independence.words();
        let mut levels = self.levels.write().unwrap_or_else(PoisonError::into_inner);
        let (taken, slept) = (self.taken.load(Ordering::Relaxed), self.slept());
        if taken >= TRIAL && (slept as f64) < LEAST_ASLEEP * taken as f64 {
            // From a level on, so that the counts do not depend on threads.
            self.off.store(true, Ordering::Relaxed);
            *levels = Levels { now: Places::default(), next: Places::default(), states: 0 };
            return;
        }
        // Levels grow and shrink slowly.
        let expected = match levels.states {
            0 => states.saturating_mul(4),
            before => states.saturating_mul(states.min(before * 8) / before + 1),
        };
        let most = (MOST_BYTES / (width as u64 * 8)).max(LEAST_PLACES);
        let places = (expected.saturating_mul(PLACES)).clamp(LEAST_PLACES, most);
        let next = Places::full(1 << places.ilog2(), width);
        levels.now = std::mem::replace(&mut levels.next, next);
        levels.states = states;
    }
}

impl<S: Live> Live for Sleeping<S> {
    fn live_properties(&self) -> usize {
        self.inner.live_properties()
    }

    fn satisfies(
        &self,
        scratch: &mut Self::Scratch,
        state: Block<'_>,
        property: usize,
    ) -> Result<bool, Fault> {
        self.inner.satisfies(&mut scratch.inner, state, property)
    }
}
