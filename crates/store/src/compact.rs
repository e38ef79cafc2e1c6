//! Hash compaction: a set of states of which only b bits each are kept, for many workers.
//!
//! After Stern and Dill, *Improved probabilistic verification by hash compaction* (CHARME 1995): where
//! a state is looked for and what is kept of it are independent, so a new state is wrongly known only
//! if it meets its b bits among the few that it is compared with. Their table has single slots and
//! double hashing (`compact_paper.rs`); this one has cache lines of slots, so that a look-up
//! touches one line nearly always. A line compares more often than single slots do, which costs one
//! to two bits; the formulas (12) and (13) do not hold for it. What is claimed is therefore the
//! *counted* bound: comparisons made by look-ups that ended in an insert, times 2⁻ᵇ. It holds for
//! every layout (the argument stands in `universal.rs`).
//!
//! *A table of fixed size* is allocated at once. A state whose line is full goes on by double hashing
//! over lines.
//!
//! *A growing table* starts small and doubles. No state is kept, so the bit that says to which of two
//! lines a value moves is taken from the value itself: a table that can double G times starts with
//! b + G bits per value, and after g doublings, g of them are the low bits of the line and b + G − g
//! are kept and compared. In the largest table, they are b. All values of a line agree in the bits
//! that were taken, so a comparison is worth what is kept, no more: the bound is the sum over all
//! comparisons of 2^−(b + G − g). Where a value that found its line full went on must be undone when
//! it moves, so the walk of a growing table adds constants of the seed to the first line, and as long
//! as the table can grow the slot says (in three bits) which one.
//!
//! For a fixed table the bound needs pairwise independence only. For one that has grown, which states
//! are compared depends on bits of the values themselves; that these tell nothing about the rest of
//! two other values follows from the paper's *uniform compression* and is not proved for the family.
//!
//! Invariants: a value stands in the first line of its walk that was not full when it came; lines
//! only fill up; so a look-up ends at the first line that is not full. Growth, with the set for
//! itself, enters all values again. It reads and writes in order, and gives memory back on the way.

use crate::bounds;
use crate::memory::Lines;
use crate::packed::{HEAD, LOCK, Packing};
use crate::slots::{Claim, LINE};
use crate::sync::{AtomicU64, Ordering};
use crate::table::in_groups;
use crate::universal::{Hashed, Random, Universal, mix, scale};
use ergodic_system::records::{Put, Record, SENSELESS, parse, put_head, put_table, take_table};
use ergodic_system::{Block, Exhausted, Figure, Losses, Picks, Shape, Shared};

/// Bits of a slot that say on which line of its walk it stands, while the table can grow.
const STEP_BITS: u32 = 3;

/// Lines of a walk before the rest of the lines is tried in order.
const BY_HASH: u64 = 32;

/// The least number of lines of a table that grows (1 MiB): parts of a table that are as large as
/// the first one fill up independently, and small parts would do so unevenly.
const FIRST: u64 = 1 << 14;

/// What the table is called in a checkpoint.
const KIND: &str = "compact";

/// The fewest and the most bits that can be kept of a state.
pub const BITS: std::ops::RangeInclusive<u32> = 4..=64;

/// How large a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactSize {
    /// At least so many slots, allocated at once. A 64th of the slots stays free.
    Slots(u64),
    /// At most so many bytes, allocated at once.
    Bytes(u64),
    /// Small at first, and at most so many bytes.
    UpTo(u64),
}

/// What a [`CompactStore`] is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactOptions {
    /// Bits kept of each state (see [`BITS`]); more while a growing table is small.
    pub bits: u32,
    /// Selects the hash functions.
    pub seed: u64,
    /// Size of the table.
    pub size: CompactSize,
}

/// The set.
#[derive(Debug)]
pub struct CompactStore {
    family: Universal,
    seed: u64,
    lines: Lines,
    packing: Packing,
    /// Bits that are compared.
    bits: u32,
    /// Lines of the table before it grew; all walks are over so many lines.
    base: u64,
    /// Doublings so far, and at most.
    grown: u32,
    doublings: u32,
    /// What the steps of a walk add to its first line, if the table grows (or grew).
    steps: Option<[u64; BY_HASH as usize]>,
    limit: u64,
    states: AtomicU64,
    /// Comparisons of look-ups that ended in an insert, and the most for one, since the last growth.
    comparisons: AtomicU64,
    longest: AtomicU64,
    /// Whether (1) a walk ended without a free slot.
    crowded: AtomicU64,
    before: Before,
}

/// What happened before the last growth.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    comparisons: u64,
    bound: f64,
    path: f64,
}

/// What one worker counted since it last said so.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    inserted: u64,
    comparisons: u64,
    longest: u64,
}

/// What one worker needs to ask a [`CompactStore`].
#[derive(Debug, Default)]
pub struct CompactScratch {
    tally: Tally,
}

impl CompactStore {
    /// An empty set for states of this shape.
    ///
    /// # Errors
    /// If the bits are out of range, the table has no room for one line, or there is no such memory.
    pub fn new(shape: Shape, options: CompactOptions) -> Result<CompactStore, String> {
        CompactStore::starting_with(shape, options, FIRST)
    }

    fn starting_with(
        shape: Shape,
        options: CompactOptions,
        first: u64,
    ) -> Result<CompactStore, String> {
        let CompactOptions { bits, seed, size } = options;
        if !BITS.contains(&bits) {
            return Err(format!(
                "{bits} bits per state are not possible: give a number from {} to {}",
                BITS.start(),
                BITS.end()
            ));
        }
        let per_line = u64::from(Packing::new(bits, 0).slots());
        let limit = match size {
            CompactSize::Slots(slots) => slots.div_ceil(per_line).max(1).saturating_mul(64),
            CompactSize::Bytes(bytes) | CompactSize::UpTo(bytes) => bytes,
        };
        let most = limit / 64;
        if most == 0 {
            return Err("a table of compacted states needs at least 64 bytes".to_owned());
        }
        let room_in_value = (*BITS.end() - bits).saturating_sub(STEP_BITS);
        let doublings = match size {
            CompactSize::UpTo(_) => (most / first.max(1)).checked_ilog2().unwrap_or(0),
            _ => 0,
        };
        let doublings = doublings.min(room_in_value);
        let base = most >> doublings;
        Ok(CompactStore {
            family: Universal::new(shape.words, seed),
            seed,
            lines: table(base)?,
            packing: packing(bits + doublings, doublings > 0),
            bits: bits + doublings,
            base,
            grown: 0,
            doublings,
            steps: (doublings > 0).then(|| steps(base, seed)),
            limit,
            states: AtomicU64::new(0),
            comparisons: AtomicU64::new(0),
            longest: AtomicU64::new(0),
            crowded: AtomicU64::new(0),
            before: Before::default(),
        })
    }

    /// The fewest bits with which a table of so many bytes, when it is full, keeps the counted bound
    /// below `omission` in all likelihood.
    ///
    /// # Errors
    /// If no number of bits does.
    pub fn bits_for(bytes: u64, omission: f64) -> Result<u32, String> {
        let bound = |bits: u32| {
            let per_line = Packing::new(bits, 0).slots();
            let states = full((bytes / 64).saturating_mul(u64::from(per_line))) as f64;
            let each = bounds::line_comparisons(per_line as usize, 63.0 / 64.0);
            // All smaller tables of a growing one together add at most a third.
            states * each * 4.0 / 3.0 * bounds::chance(f64::from(bits))
        };
        BITS.clone().find(|bits| bound(*bits) <= omission).ok_or_else(|| {
            format!(
                "no compaction keeps the omission probability of a table of {bytes} bytes below \
                 {omission}: 64 bits give {:.1e}; use an exact store, or repeat the check with \
                 other seeds",
                bound(64)
            )
        })
    }

    /// States called fresh.
    pub fn states(&self) -> u64 {
        self.states.load(Ordering::Relaxed)
    }

    /// Bits that are compared: what was asked for, or more as long as a growing table is small.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Slots of the table.
    pub fn slots(&self) -> u64 {
        self.lines.count() as u64 * u64::from(self.packing.slots())
    }

    /// Comparisons of look-ups that ended in an insert.
    pub fn comparisons(&self) -> u64 {
        self.before.comparisons + self.comparisons.load(Ordering::Relaxed)
    }

    /// States for which there is room.
    fn room(&self) -> u64 {
        match self.grows() {
            true => (self.slots() * 13 / 16).max(1),
            false => full(self.slots()),
        }
    }

    /// Whether the table can be doubled.
    fn grows(&self) -> bool {
        self.grown < self.doublings
    }

    /// The first line of the walk of a state, before growth.
    #[inline]
    fn home(&self, hashed: Hashed) -> u64 {
        scale(hashed.place, self.base)
    }

    /// The line of step `step` of the walk from `home`; `stride` is how a table of fixed size goes on.
    #[inline]
    fn line(&self, home: u64, stride: u64, part: u64, step: u64) -> usize {
        let add = match &self.steps {
            _ if step == 0 => 0,
            _ if step >= BY_HASH => step - BY_HASH + 1,
            None => stride * step,
            Some(steps) => steps[step as usize],
        };
        let line = if add == 0 { home } else { (home + add) % self.base };
        (line << self.grown | part) as usize
    }

    /// How far apart the lines of the walk of a state are in a table of fixed size.
    #[inline]
    fn stride(&self, hashed: Hashed) -> u64 {
        1 + scale(mix(hashed.place), self.base - 1)
    }

    /// The bits of a value that growth has taken: which part of a line became.
    #[inline]
    fn part(&self, hashed: Hashed) -> u64 {
        // Two shifts: by 64 in all if nothing was taken.
        hashed.value >> 1 >> (63 - self.grown)
    }

    /// What is compared of a value, as it stands in a slot of step 0.
    #[inline]
    fn kept(&self, hashed: Hashed) -> u64 {
        hashed.value << self.grown >> (64 - self.bits) << self.packing.free()
    }

    /// Looks for a state and enters it if it `may` be. Returns also the number of comparisons.
    #[inline]
    fn claim(&self, hashed: Hashed, may: bool) -> (Claim, u64) {
        let (home, part, kept) = (self.home(hashed), self.part(hashed), self.kept(hashed));
        let line = self.lines.line(self.line(home, 0, part, 0));
        match self.packing.claim(line, kept, may) {
            (Claim::Crowded, compared) => self.claim_further(hashed, may, u64::from(compared)),
            (claim, compared) => (claim, u64::from(compared)),
        }
    }

    #[cold]
    fn claim_further(&self, hashed: Hashed, may: bool, mut compared: u64) -> (Claim, u64) {
        let (home, part, kept) = (self.home(hashed), self.part(hashed), self.kept(hashed));
        let stride = self.stride(hashed);
        let steps = if self.grows() { 1 << STEP_BITS } else { BY_HASH + self.base };
        for step in 1..steps {
            let line = self.lines.line(self.line(home, stride, part, step));
            let here = if self.grows() { kept | step } else { kept };
            let (claim, more) = self.packing.claim(line, here, may);
            compared += u64::from(more);
            if claim != Claim::Crowded {
                return (claim, compared);
            }
        }
        if may {
            self.crowded.store(1, Ordering::Relaxed);
        }
        (Claim::Refused, compared)
    }

    /// Hashes a state and starts to load its line.
    #[inline]
    fn hashed(&self, state: &[u64]) -> Hashed {
        let hashed = self.family.of(state);
        self.lines.prefetch_to_write(self.line(self.home(hashed), 0, self.part(hashed), 0));
        hashed
    }

    /// Starts to load the second lines of states whose first ones are full.
    #[inline]
    fn look_further(&self, group: &[Hashed]) {
        for hashed in group {
            let (home, part) = (self.home(*hashed), self.part(*hashed));
            if self.packing.is_full(self.lines.line(self.line(home, 0, part, 0))) {
                self.lines.prefetch_to_write(self.line(home, self.stride(*hashed), part, 1));
            }
        }
    }

    /// Offers a group that starts at position `at`; returns how many of its states were handled.
    #[inline]
    fn offer_group(
        &self,
        tally: &mut Tally,
        group: &[Hashed],
        at: usize,
        fresh: &mut Picks,
    ) -> usize {
        self.look_further(group);
        let taken = self.states() + tally.inserted;
        let mut left = self.room().saturating_sub(taken);
        for (i, hashed) in group.iter().enumerate() {
            match self.claim(*hashed, left > 0) {
                (Claim::Known | Claim::Crowded, _) => {}
                (Claim::Inserted, compared) => {
                    fresh.push((at + i) as u32);
                    left -= 1;
                    tally.inserted += 1;
                    tally.comparisons += compared;
                    tally.longest = tally.longest.max(compared);
                }
                (Claim::Refused, _) => return i,
            }
        }
        group.len()
    }

    fn publish(&self, tally: &mut Tally) {
        let Tally { inserted, comparisons, longest } = std::mem::take(tally);
        if inserted > 0 {
            self.states.fetch_add(inserted, Ordering::Relaxed);
            self.comparisons.fetch_add(comparisons, Ordering::Relaxed);
            self.longest.fetch_max(longest, Ordering::Relaxed);
        }
    }

    /// Doubles the table: the top bit of what was compared becomes the lowest bit of the line.
    fn double(&mut self) -> Result<(), String> {
        let lines = table((self.lines.count() as u64).saturating_mul(2))?;
        self.before = self.so_far();
        *self.comparisons.get_mut() = 0;
        *self.longest.get_mut() = 0;
        let (old_packing, old_grown) = (self.packing, self.grown);
        let old = std::mem::replace(&mut self.lines, lines);
        self.grown += 1;
        self.bits -= 1;
        self.packing = packing(self.bits, self.grows());
        let (mut number, mut strays) = (0u64, false);
        old.drain(|words| {
            let (line, part) = (number >> old_grown, number & ((1 << old_grown) - 1));
            for i in 0..old_packing.count(words[HEAD]) {
                strays |= !self.enter(line, part, old_packing.slot(&words, i));
            }
            number += 1;
        });
        if strays {
            // Their first lines are not known any more: this was the last growth. It needs a table
            // of which nearly all values agree in a bit, or one of few lines.
            self.doublings = self.grown;
        }
        *self.crowded.get_mut() = 0;
        Ok(())
    }

    /// Enters a slot of a table that was smaller by half; whether its place can be found back.
    fn enter(&self, line: u64, part: u64, slot: u64) -> bool {
        let step = (slot % (1 << STEP_BITS)) as usize;
        let back = self.steps.map_or(0, |steps| steps[step]);
        let home = (line + self.base - back) % self.base;
        let kept = slot >> STEP_BITS;
        let part = part << 1 | kept >> self.bits;
        let kept = kept & (u64::MAX >> (64 - self.bits));
        for step in 0..BY_HASH + self.base {
            let line = self.lines.line(self.line(home, 0, part, step));
            if !self.packing.is_full(line) {
                let shown = step.min((1 << STEP_BITS) - 1);
                let slot = if self.grows() { kept << STEP_BITS | shown } else { kept };
                self.packing.append(line, line[HEAD].load(Ordering::Relaxed), slot);
                return shown == step || !self.grows();
            }
        }
        unreachable!("the values of a part fit into twice its lines")
    }

    /// All numbers of the table. Its size is that of the run that made it, not of whatever memory there
    /// is: where a value stands, and how many bits of it are kept, depends on it.
    fn numbers(&self) -> [u64; 17] {
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        [
            self.family.words() as u64,
            self.seed,
            u64::from(self.bits),
            u64::from(self.packing.free()),
            self.base,
            u64::from(self.grown),
            u64::from(self.doublings),
            u64::from(self.steps.is_some()),
            self.limit,
            count(&self.states),
            count(&self.comparisons),
            count(&self.longest),
            count(&self.crowded),
            self.before.comparisons,
            self.before.bound.to_bits(),
            self.before.path.to_bits(),
            self.lines.count() as u64,
        ]
    }

    /// An empty table with these numbers, for states of so many words.
    fn with_numbers(words: usize, numbers: &[u64]) -> Result<CompactStore, String> {
        let senseless = || SENSELESS.to_string();
        let (&[width, seed, bits, free, base, grown, doublings, walks, limit], rest) =
            numbers.split_first_chunk::<9>().ok_or_else(senseless)?;
        let &[states, comparisons, longest, crowded, earlier, bound, path, lines] =
            <&[u64; 8]>::try_from(rest).map_err(|_| senseless())?;
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let (bits, free) = (small(bits), small(free));
        let (grown, doublings) = (small(grown), small(doublings));
        let sound = width == words as u64
            && bits >= BITS.start().saturating_add(doublings.saturating_sub(grown))
            && bits.saturating_add(free) <= *BITS.end()
            && (free == 0 || free == STEP_BITS)
            && grown <= doublings
            && doublings < 64
            && (walks != 0 || doublings == 0)
            && (free != 0 || grown == doublings)
            && base > 0
            && base.checked_shl(grown).is_some_and(|all| all >> grown == base && all == lines);
        if !sound {
            return Err(senseless());
        }
        Ok(CompactStore {
            family: Universal::new(words, seed),
            seed,
            lines: table(lines)?,
            packing: packing(bits, free != 0),
            bits,
            base,
            grown,
            doublings,
            steps: (walks != 0).then(|| steps(base, seed)),
            limit,
            states: AtomicU64::new(states),
            comparisons: AtomicU64::new(comparisons),
            longest: AtomicU64::new(longest),
            crowded: AtomicU64::new(crowded),
            before: Before {
                comparisons: earlier,
                bound: f64::from_bits(bound),
                path: f64::from_bits(path),
            },
        })
    }

    /// What happened until now.
    fn so_far(&self) -> Before {
        let comparisons = self.comparisons.load(Ordering::Relaxed);
        let chance = bounds::chance(f64::from(self.bits));
        let path = self.longest.load(Ordering::Relaxed) as f64 * chance;
        Before {
            comparisons: self.before.comparisons + comparisons,
            bound: self.before.bound + comparisons as f64 * chance,
            path: self.before.path.max(path),
        }
    }
}

impl Shared for CompactStore {
    type Scratch = CompactScratch;

    fn scratch(&self) -> CompactScratch {
        CompactScratch::default()
    }

    fn offer(
        &self,
        scratch: &mut CompactScratch,
        new: Block<'_>,
        from: usize,
        fresh: &mut Picks,
    ) -> usize {
        let tally = &mut scratch.tally;
        let probe = |at: usize, group: &[Hashed]| self.offer_group(tally, group, at, fresh);
        let end = in_groups(from..new.len(), |i| self.hashed(new.state(i)), probe);
        self.publish(&mut scratch.tally);
        end
    }

    fn contains(&self, state: &[u64]) -> bool {
        self.claim(self.family.of(state), false).0 == Claim::Known
    }

    fn dump(&self, put: &mut Put<'_>) -> Result<(), String> {
        put_head(KIND, &self.numbers(), put)?;
        put_lines(&self.lines, put)
    }

    fn restore(&mut self, record: &[u64]) -> Result<(), String> {
        match parse(KIND, record)? {
            Record::Head(numbers) => {
                *self = CompactStore::with_numbers(self.family.words(), numbers)?;
                Ok(())
            }
            Record::Table(_, runs) => {
                let packing = self.packing;
                take_lines(&self.lines, runs, |head| packing.count(head) <= packing.slots())
            }
        }
    }

    fn grow_if_needed(&mut self, expected: u64) -> Result<(), Exhausted> {
        let wanted = self.states().saturating_add(expected.max(1));
        while self.grows() && (wanted > self.room() || *self.crowded.get_mut() == 1) {
            if self.double().is_err() {
                // There is no such memory: what there is can be filled.
                self.doublings = self.grown;
            }
        }
        if self.states() < self.room() && *self.crowded.get_mut() == 0 {
            return Ok(());
        }
        Err(Exhausted::Memory { limit: self.limit })
    }

    fn bytes(&self) -> u64 {
        self.lines.bytes()
    }

    fn losses(&self) -> Losses {
        let all = self.so_far();
        let figures = figures(self.states(), self.slots(), self.bits, all.comparisons, self.seed);
        Losses {
            omission: all.bound.min(1.0),
            path_omission: all.path.min(1.0),
            forgets: false,
            figures,
        }
    }
}

/// What a table of compacted states reports about itself.
pub(crate) fn figures(n: u64, m: u64, bits: u32, comparisons: u64, seed: u64) -> Vec<Figure> {
    let figure = |key, title, value| Figure { key, title, value };
    let (states, slots, width) = (n as f64, m as f64, f64::from(bits));
    let twelve = bounds::formula_12(states, slots, width);
    let thirteen = bounds::formula_13(states, slots, width);
    vec![
        figure("bits", "bits compared", width),
        figure("comparisons", "comparisons of inserts", comparisons as f64),
        figure("formula_12", "formula (12), if hashing were uniform", twelve),
        figure("formula_13", "formula (13), if hashing were uniform", thirteen),
        figure("load", "load of the table", states / slots),
        figure("seed", "seed", seed as f64),
    ]
}

/// What the steps of a walk in a table that grows add to its first line.
fn steps(base: u64, seed: u64) -> [u64; BY_HASH as usize] {
    let mut random = Random::new(mix(seed ^ 0x5bd1_e995));
    std::array::from_fn(|i| if i == 0 { 0 } else { random.below(base) })
}

/// Hands out lines that nobody writes to.
pub(crate) fn put_lines(lines: &Lines, put: &mut Put<'_>) -> Result<(), String> {
    let word = |i: usize| lines.line(i / LINE)[i % LINE].load(Ordering::Relaxed);
    put_table(0, lines.count() * LINE, word, put)
}

/// Takes lines back, none of them locked, if their last words are `sound`.
pub(crate) fn take_lines(
    lines: &Lines,
    runs: &[u64],
    sound: impl Fn(u64) -> bool,
) -> Result<(), String> {
    take_table(runs, lines.count() * LINE, |i, word| {
        lines.line(i / LINE)[i % LINE].store(word, Ordering::Relaxed);
        i % LINE != HEAD || (word & LOCK == 0 && sound(word))
    })
}

/// Slots of a table that are used before it counts as full.
fn full(slots: u64) -> u64 {
    (slots - slots.div_ceil(64)).max(1)
}

/// Slots of so many bits, and of those that say where they came from if the table `grows`.
fn packing(bits: u32, grows: bool) -> Packing {
    match grows {
        true => Packing::new(bits + STEP_BITS, STEP_BITS),
        false => Packing::new(bits, 0),
    }
}

/// So many lines, if there is memory for them.
pub(crate) fn table(lines: u64) -> Result<Lines, String> {
    let words = usize::try_from(lines.saturating_add(2)).ok().and_then(|l| l.checked_mul(LINE));
    let possible = |words: &usize| Vec::<u64>::new().try_reserve_exact(*words).is_ok();
    match words.filter(possible) {
        Some(_) => Ok(Lines::new(lines as usize)),
        None => Err(format!(
            "a table of {} bytes cannot be allocated: give it less memory",
            lines.saturating_mul(64)
        )),
    }
}

#[cfg(test)]
#[path = "compact_tests.rs"]
mod tests;
