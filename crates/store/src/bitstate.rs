//! Bitstate hashing: a Bloom filter of visited states, for hunting bugs where nothing else fits.
//!
//! After Holzmann's *supertrace* (see his *An analysis of bitstate hashing*, 1998): a state is k bits
//! in a large table, and it is known if all of them are set. Memory is used to the end and the table is
//! never full; but states are lost, and how many can only be estimated.
//!
//! All k bits of a state lie in one cache line (a *blocked* Bloom filter), so that a look-up costs one
//! access. Lines fill unevenly, so more states are lost than in a filter without lines. The
//! estimate accounts for that, because it is made of the lines themselves: a new state whose line
//! has x of its 511 bits set is lost with probability p = (x / 511)ᵏ, and for each state that was
//! *not* lost there, p / (1 − p) were, on average. The sum over all inserts is the estimated number of
//! states that were offered and lost. States that could only be reached through lost ones are in no
//! such number: the coverage is what it is of the states that were offered.
//!
//! *Exactly one* worker must be told that a state is fresh. Setting k bits in several words is not
//! one step: two workers that offer the same new state may each be the first to set one of the bits.
//! No rule about who set which bit decides, as a bit may also belong to other states: neither "who set
//! any" (both did), nor "who set the last one" (it may have been set long ago, and then nobody is
//! told). So bits are set under a lock, which is the last bit of the line; whoever says that a
//! state is fresh has held the lock, seen a bit missing and set them all before the lock was free. A
//! known state is seen without it, and costs reads only.

use crate::compact::{put_lines, table, take_lines};
use crate::memory::Lines;
use crate::packed::{HEAD, LOCK, load, lock, wait};
use crate::slots::{LINE, Line};
use crate::sync::{AtomicU64, Ordering};
use crate::table::in_groups;
use crate::universal::{Hashed, Universal, mix, scale};
use ergodic_system::records::{Put, Record, SENSELESS, parse, put_head};
use ergodic_system::{Block, Exhausted, Figure, Losses, Picks, Shape, Shared};

/// Bits of a line that states may use.
const USABLE: u64 = 511;

/// What the table is called in a checkpoint.
const KIND: &str = "bitstate";

/// The most bits per state.
pub const MAX_BITS_PER_STATE: u32 = 64;

/// Lines looked at for how full the table is.
const SAMPLE: usize = 1 << 12;

/// How large the table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitstateSize {
    /// At least so many bits.
    Bits(u64),
    /// At most so many bytes.
    Bytes(u64),
}

/// What a [`BitstateStore`] is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitstateOptions {
    /// Bits set per state, the k of the filter.
    pub bits_per_state: u32,
    /// Selects the hash functions.
    pub seed: u64,
    /// Size of the table, which is allocated at once.
    pub size: BitstateSize,
}

impl BitstateOptions {
    /// Three bits per state in at most `bytes` bytes.
    pub fn in_bytes(bytes: u64) -> BitstateOptions {
        BitstateOptions { bits_per_state: 3, seed: 0, size: BitstateSize::Bytes(bytes) }
    }
}

/// The set.
#[derive(Debug)]
pub struct BitstateStore {
    family: Universal,
    seed: u64,
    per_state: u32,
    lines: Lines,
    states: AtomicU64,
    set_bits: AtomicU64,
    /// The estimated number of lost states, as the bits of a double.
    lost: AtomicU64,
}

/// What one worker needs to ask a [`BitstateStore`].
#[derive(Debug, Default)]
pub struct BitstateScratch {
    inserted: u64,
    set_bits: u64,
    lost: f64,
}

impl BitstateStore {
    /// An empty set for states of this shape.
    ///
    /// # Errors
    /// If there are no bits per state or too many, the table has no line, or there is no such memory.
    pub fn new(shape: Shape, options: BitstateOptions) -> Result<BitstateStore, String> {
        let BitstateOptions { bits_per_state, seed, size } = options;
        if !(1..=MAX_BITS_PER_STATE).contains(&bits_per_state) {
            return Err(format!(
                "{bits_per_state} bits per state are not possible: give 1 to {MAX_BITS_PER_STATE}"
            ));
        }
        let lines = match size {
            BitstateSize::Bits(bits) => bits.div_ceil(USABLE).max(1),
            BitstateSize::Bytes(bytes) => bytes / 64,
        };
        if lines == 0 {
            return Err("a table of bits needs at least 64 bytes".to_owned());
        }
        Ok(BitstateStore {
            family: Universal::new(shape.words, seed),
            seed,
            per_state: bits_per_state,
            lines: table(lines)?,
            states: AtomicU64::new(0),
            set_bits: AtomicU64::new(0),
            lost: AtomicU64::new(0f64.to_bits()),
        })
    }

    /// An empty table with the numbers of a saved one, for states of so many words.
    fn with_numbers(words: usize, numbers: &[u64]) -> Result<BitstateStore, String> {
        let senseless = || SENSELESS.to_string();
        let &[width, seed, per_state, lines, states, set_bits, lost] =
            <&[u64; 7]>::try_from(numbers).map_err(|_| senseless())?;
        let per_state = u32::try_from(per_state).unwrap_or(u32::MAX);
        if width != words as u64 || !(1..=MAX_BITS_PER_STATE).contains(&per_state) || lines == 0 {
            return Err(senseless());
        }
        Ok(BitstateStore {
            family: Universal::new(words, seed),
            seed,
            per_state,
            lines: table(lines)?,
            states: AtomicU64::new(states),
            set_bits: AtomicU64::new(set_bits),
            lost: AtomicU64::new(lost),
        })
    }

    /// States called fresh.
    pub fn states(&self) -> u64 {
        self.states.load(Ordering::Relaxed)
    }

    /// The estimated number of states that were offered and lost.
    pub fn lost(&self) -> f64 {
        f64::from_bits(self.lost.load(Ordering::Relaxed))
    }

    #[inline]
    fn line(&self, hashed: Hashed) -> usize {
        scale(hashed.place, self.lines.count() as u64) as usize
    }

    /// The bits of a state in its line.
    #[inline]
    fn bits(&self, hashed: Hashed) -> impl Iterator<Item = (usize, u64)> {
        let mut value = hashed.value;
        (0..self.per_state).map(move |i| {
            // Seven numbers of nine bits in a word.
            if i > 0 && i % 7 == 0 {
                value = mix(value.wrapping_add(0x9e37_79b9_7f4a_7c15));
            }
            let bit = (value >> (9 * (i % 7)) & 511) % USABLE;
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }

    /// Whether all bits of a state are set.
    #[inline]
    fn known(&self, line: &Line, hashed: Hashed) -> bool {
        self.bits(hashed).all(|(word, bit)| line[word].load(Ordering::Relaxed) & bit != 0)
    }

    /// Sets the bits of a state; whether one was missing.
    #[inline]
    fn enter(&self, scratch: &mut BitstateScratch, line: &Line, hashed: Hashed) -> bool {
        let mut waits = 0;
        let head = loop {
            if self.known(line, hashed) {
                return false;
            }
            let head = line[HEAD].load(Ordering::Relaxed);
            if head & LOCK != 0 {
                wait(&mut waits);
            } else if lock(&line[HEAD], head) {
                break head;
            }
        };
        // Only who holds the lock writes, so what is read now stays.
        let old = load(line, head);
        let new = self.bits(hashed).fold(old, |mut words, (word, bit)| {
            words[word] |= bit;
            words
        });
        for i in (0..HEAD).filter(|i| new[*i] != old[*i]) {
            line[i].store(new[i], Ordering::Relaxed);
        }
        line[HEAD].store(new[HEAD], Ordering::Release);
        let (before, after) = (ones(&old), ones(&new));
        if after > before {
            let p = self.loss(before);
            scratch.inserted += 1;
            scratch.set_bits += after - before;
            scratch.lost += p / (1.0 - p);
        }
        after > before
    }

    /// The probability that a new state is lost in a line with so many bits set.
    fn loss(&self, set: u64) -> f64 {
        (set as f64 / USABLE as f64).powi(self.per_state as i32)
    }

    /// The probability that the next new state is lost.
    fn loss_now(&self) -> f64 {
        let count = self.lines.count();
        let step = count.div_ceil(SAMPLE);
        let (mut sum, mut lines) = (0.0, 0.0);
        for i in (0..count).step_by(step) {
            let line = self.lines.line(i);
            let words = load(line, line[HEAD].load(Ordering::Relaxed) & !LOCK);
            sum += self.loss(ones(&words));
            lines += 1.0;
        }
        sum / lines
    }

    /// Hashes a state and starts to load its line.
    #[inline]
    fn hashed(&self, state: &[u64]) -> Hashed {
        let hashed = self.family.of(state);
        self.lines.prefetch_to_write(self.line(hashed));
        hashed
    }

    fn publish(&self, scratch: &mut BitstateScratch) {
        let BitstateScratch { inserted, set_bits, lost } = std::mem::take(scratch);
        if inserted > 0 {
            self.states.fetch_add(inserted, Ordering::Relaxed);
            self.set_bits.fetch_add(set_bits, Ordering::Relaxed);
            let add = |bits: u64| Some((f64::from_bits(bits) + lost).to_bits());
            let _ = self.lost.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        }
    }
}

fn ones(words: &[u64; LINE]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

impl Shared for BitstateStore {
    type Scratch = BitstateScratch;

    fn scratch(&self) -> BitstateScratch {
        BitstateScratch::default()
    }

    fn offer(
        &self,
        scratch: &mut BitstateScratch,
        new: Block<'_>,
        from: usize,
        fresh: &mut Picks,
    ) -> usize {
        let probe = |at: usize, group: &[Hashed]| {
            for (i, hashed) in group.iter().enumerate() {
                let line = self.lines.line(self.line(*hashed));
                if self.enter(scratch, line, *hashed) {
                    fresh.push((at + i) as u32);
                }
            }
            group.len()
        };
        let end = in_groups(from..new.len(), |i| self.hashed(new.state(i)), probe);
        self.publish(scratch);
        end
    }

    fn contains(&self, state: &[u64]) -> bool {
        let hashed = self.family.of(state);
        self.known(self.lines.line(self.line(hashed)), hashed)
    }

    fn dump(&self, put: &mut Put<'_>) -> Result<(), String> {
        let numbers = [
            self.family.words() as u64,
            self.seed,
            u64::from(self.per_state),
            self.lines.count() as u64,
            self.states(),
            self.set_bits.load(Ordering::Relaxed),
            self.lost.load(Ordering::Relaxed),
        ];
        put_head(KIND, &numbers, put)?;
        put_lines(&self.lines, put)
    }

    /// The table has the size that it had, whatever memory there is.
    fn restore(&mut self, record: &[u64]) -> Result<(), String> {
        match parse(KIND, record)? {
            Record::Head(numbers) => {
                *self = BitstateStore::with_numbers(self.family.words(), numbers)?;
                Ok(())
            }
            Record::Table(_, runs) => take_lines(&self.lines, runs, |_| true),
        }
    }

    fn grow_if_needed(&mut self, _: u64) -> Result<(), Exhausted> {
        Ok(()) // it is never full
    }

    fn bytes(&self) -> u64 {
        self.lines.bytes()
    }

    fn losses(&self) -> Losses {
        let (states, lost) = (self.states() as f64, self.lost());
        let bits = (self.lines.count() as u64 * USABLE) as f64;
        let set = self.set_bits.load(Ordering::Relaxed) as f64 / bits;
        let coverage = if lost > 0.0 { states / (states + lost) } else { 1.0 };
        let figure = |key, title, value| Figure { key, title, value };
        Losses {
            omission: lost.min(1.0),
            path_omission: self.loss_now(),
            forgets: false,
            figures: vec![
                figure("coverage", "estimated share of the offered states visited", coverage),
                figure("lost", "estimated number of offered states lost", lost),
                figure("bits_per_state", "bits set per state", f64::from(self.per_state)),
                figure("bits_set", "share of the bits set", set),
                figure("hash_factor", "hash factor (bits per state)", bits / states.max(1.0)),
                figure("seed", "seed", self.seed as f64),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lossy;
    use ergodic_system::{PAD_WORDS, Sole, Visited};

    fn store(shape: Shape, bits_per_state: u32, seed: u64, bits: u64) -> BitstateStore {
        let size = BitstateSize::Bits(bits);
        BitstateStore::new(shape, BitstateOptions { bits_per_state, seed, size }).expect("a table")
    }

    fn omitted(store: &mut BitstateStore, count: u64) -> u64 {
        let mut words: Vec<u64> = (0..count).collect();
        words.extend([0; PAD_WORDS]);
        let (mut sole, mut fresh) = (Sole::new(store), Picks::new());
        sole.offer(Block::new(&words, 1, count as usize), &mut fresh).expect("never full");
        count - fresh.len() as u64
    }

    #[test]
    fn conforms() {
        for per_state in [1, 3, 7, 8, 64] {
            lossy::shared_lossy(false, |shape| store(shape, per_state, 1, 1 << 18));
        }
        // Ten bits per state in 2^24 bits: as good as exact on some thousands of states.
        lossy::shared_lossy(true, |shape| store(shape, 10, 1, 1 << 24));
    }

    #[test]
    fn exactly_one_worker_is_told() {
        for threads in [2, 4] {
            let shape = Shape::of_bits(64);
            let (full, times) = lossy::race(store(shape, 10, 1, 1 << 24), threads, 30_000);
            assert!(times.iter().all(|count| *count == 1));
            assert_eq!(full.states(), 30_000);
            // Crowded lines, where locks meet and states are lost.
            for bits in [1, 1 << 14] {
                let (full, times) = lossy::race(store(shape, 5, 1, bits), threads, 30_000);
                let once = times.iter().filter(|count| **count == 1).count() as u64;
                assert!(times.iter().all(|count| *count <= 1));
                assert_eq!(full.states(), once);
            }
        }
    }

    #[test]
    fn the_estimate_of_losses_is_right() {
        // (k, bits, states, runs): few losses, some, and most of the states.
        for (k, bits, states, runs) in [
            (3, 1 << 17, 4000, 60),
            (3, 1 << 15, 4000, 40),
            (1, 1 << 13, 2000, 40),
            (7, 40_000, 6000, 30),
        ] {
            let (mut lost, mut estimated) = (0.0, 0.0);
            for seed in 0..runs {
                let mut store = store(Shape::of_bits(64), k, seed, bits);
                let missing = omitted(&mut store, states);
                lost += missing as f64;
                estimated += store.lost();
                let coverage = store.losses().figures[0].value;
                let measured = (states - missing) as f64 / states as f64;
                assert!((coverage - measured).abs() < 0.1, "{coverage} {measured}");
            }
            // The number of losses varies like a Poisson number.
            let slack = 4.0 * lost.sqrt() + 0.02 * lost;
            assert!(
                (lost - estimated).abs() < slack,
                "k = {k}: {lost} lost, {estimated} estimated"
            );
        }
    }

    #[test]
    fn the_omission_estimate_is_right_where_there_is_hope() {
        const RUNS: u64 = 1500;
        let (mut hits, mut predicted) = (0, 0.0);
        for seed in 0..RUNS {
            let mut store = store(Shape::of_bits(64), 4, seed, 20_000);
            hits += u64::from(omitted(&mut store, 900) > 0);
            predicted += -(-store.losses().omission).exp_m1() / RUNS as f64;
        }
        assert!(lossy::agrees(hits, RUNS, predicted, 0.02), "{hits} of {RUNS}: {predicted}");
    }

    #[test]
    fn figures_are_what_they_say() {
        let mut store = store(Shape::of_bits(64), 3, 1, 511 * 100);
        assert_eq!(store.losses().omission, 0.0);
        omitted(&mut store, 1000);
        let losses = store.losses();
        let value = |key: &str| losses.figures.iter().find(|f| f.key == key).expect("it").value;
        let set: u64 = (0..100)
            .map(|i| {
                ones(&load(store.lines.line(i), store.lines.line(i)[HEAD].load(Ordering::Relaxed)))
            })
            .sum();
        assert!((value("bits_set") - set as f64 / 51_100.0).abs() < 1e-12);
        assert!((value("hash_factor") - 51_100.0 / store.states() as f64).abs() < 1e-9);
        assert!(value("coverage") > 0.99 && losses.path_omission < 0.01);
        // Hopeless: nearly everything is lost, and that is said.
        omitted(&mut store, 1_000_000);
        let losses = store.losses();
        assert_eq!(losses.omission, 1.0);
        assert!(losses.path_omission > 0.9 && losses.figures.iter().all(|f| f.value.is_finite()));
    }

    #[test]
    fn impossible_tables_are_refused() {
        let shape = Shape::of_bits(64);
        for (bits_per_state, size) in [
            (0, BitstateSize::Bits(1000)),
            (65, BitstateSize::Bits(1000)),
            (3, BitstateSize::Bytes(63)),
            (3, BitstateSize::Bytes(u64::MAX)),
            (3, BitstateSize::Bits(u64::MAX)),
        ] {
            assert!(
                BitstateStore::new(shape, BitstateOptions { bits_per_state, seed: 1, size })
                    .is_err()
            );
        }
        let mut least = BitstateStore::new(shape, BitstateOptions::in_bytes(64)).expect("a line");
        assert!(omitted(&mut least, 5000) > 4000);
        assert_eq!(least.bytes(), 64);
    }
}
