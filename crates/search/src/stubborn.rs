//! Stubborn sets: fewer states, the same verdict (guard-based, after Laarman, Pater, van de Pol and
//! Hansen, *Guard-based partial-order reduction*).
//!
//! In each state a set of transitions is chosen such that whatever the others do, those of the set can
//! still be fired afterwards, with the same result; only those of the set that are enabled are fired. A
//! set is closed under two rules: with an enabled transition it has all that do not accord with it; with
//! a disabled one it has all that could make the first false condition of its guard true. Then
//! * every deadlock is found: on a path to it some transition of the set is fired, and the first of these
//!   could as well have been fired at once;
//! * so is every fault of a rule, because the state in which it occurs is still reached, unless all of
//!   the path is put off for ever;
//! * the same holds for a state that violates a property, if a set with an enabled transition that
//!   properties can see has all of those.
//!
//! *Nothing is put off for ever* (the closed-set proviso): a set is taken only if one of its successors
//! lies in a level that was not begun; else all transitions are fired. (For states without successors
//! alone this is not necessary, and not done.) Which states were found in which level stands in a table
//! without keys: the place of a state holds the least level in which a state with that place was found. A state that shares its place with an older one seems older than it is; then
//! more is fired than necessary, and that is all. What the table says about levels that were begun no
//! longer changes, so the choice does not depend on the number of threads.
//!
//! All transitions are generated, so that no fault, deadlock or cover goal of a state is missed, and those
//! that were not chosen are dropped before anybody stores them.
//!
//! *What it needs:* a search level by level from the start, over a store that never forgets a state; or a
//! search in one thread in any order ([`Stubborn::in_any_order`]).

use crate::sleep::hash;
use ergodic_system::{
    Batch, Block, Cursor, Fault, Label, Live, Picks, Shape, Step, System, Violation,
};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// What is known about the transitions of a system. Sets of instances are bits in words.
#[derive(Clone, Debug, Default)]
pub struct StubbornRelations {
    /// The first label of a rule, and the numbers of the instances from there on.
    pub first: u32,
    /// Several labels may share a number; they are then chosen together.
    pub numbers: Vec<u32>,
    /// For each instance those that do not accord with it.
    pub clashes: Vec<Vec<u64>>,
    /// For each instance the conditions of its guard, in order.
    pub conditions: Vec<Vec<Condition>>,
    /// Sets of instances of which one must be fired before a condition becomes true.
    pub enabling: Vec<Vec<u64>>,
    /// The instances that properties can see.
    pub visible: Vec<u64>,
    /// Whether anything can go wrong but that a state has no successors: only then may nothing be put off
    /// for ever.
    pub goes_on: bool,
}

/// A condition without which an instance is not enabled.
#[derive(Clone, Debug)]
pub struct Condition {
    /// Who can make it true: a row of [`StubbornRelations::enabling`].
    pub enabling: u32,
    /// Where it is true, if that is known.
    pub truth: Option<Truth>,
}

/// Where a condition is true.
#[derive(Clone, Debug)]
pub struct Truth {
    /// First bit and width of the parts of the state that decide it.
    pub cells: Vec<(u32, u32)>,
    /// A bit for each combination of their values, those of the first part lowest.
    pub bits: Vec<u64>,
}

impl Condition {
    /// Whether it is true in a state, if that is known.
    fn holds(&self, state: &[u64]) -> Option<bool> {
        let Truth { cells, bits } = self.truth.as_ref()?;
        if let [(bit, width)] = cells[..] {
            return Some(has(bits, field(state, bit, width) as usize));
        }
        let (mut index, mut shift) = (0, 0);
        for (bit, width) in cells {
            index |= field(state, *bit, *width) << shift;
            shift += width;
        }
        Some(has(bits, index as usize))
    }
}

/// A few bits of a state, at most 32.
#[inline]
fn field(state: &[u64], bit: u32, width: u32) -> u64 {
    let (word, shift) = ((bit / 64) as usize, bit % 64);
    let low = state[word] >> shift;
    let high = match state.get(word + 1) {
        Some(next) if shift > 0 => next << (64 - shift),
        _ => 0,
    };
    (low | high) & ((1 << width) - 1)
}

fn join(set: &mut [u64], other: &[u64]) {
    set.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
}

#[inline]
fn has(set: &[u64], number: usize) -> bool {
    set[number / 64] >> (number % 64) & 1 == 1
}

/// A system of which only stubborn sets are fired.
#[derive(Debug)]
pub struct Stubborn<S> {
    inner: S,
    relations: StubbornRelations,
    words: usize,
    found: RwLock<Found>,
    /// States of which all, and of which not all transitions were fired.
    whole: AtomicU64,
    reduced: AtomicU64,
}

/// In which level states were found.
#[derive(Debug)]
struct Found {
    /// Tables, each larger than the one before: for each place the least level, plus one, in which a
    /// state was found, or 0. A state that was noted in one stays there, so all of them are asked.
    tables: Vec<Vec<AtomicU32>>,
    /// States of the levels so far, and places at which no larger table is made.
    states: u64,
    most: u64,
    /// The level being expanded, plus one, and the number that new states are noted with.
    level: u32,
    next: u32,
}

/// Places of the first table, and of the others in terms of the one before.
const FIRST_PLACES: u64 = 1 << 14;
const MORE_PLACES: u64 = 8;
/// Places of a table that cannot grow.
const MOST_AT_ONCE: u64 = 1 << 23;

impl Found {
    /// Whether a state was found in a level that was begun.
    fn is_old(&self, hash: u64) -> bool {
        self.tables.iter().any(|table| {
            let found = table[hash as usize & (table.len() - 1)].load(Ordering::Relaxed);
            found != 0 && found <= self.level
        })
    }

    /// Notes that a state was found, for the level after this one.
    fn note(&self, hash: u64) {
        let Some(table) = self.tables.last() else { return };
        let place = &table[hash as usize & (table.len() - 1)];
        // Once set, a place holds a level that is not greater.
        let _ = place.compare_exchange(0, self.next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Makes a larger table when states begin to share places.
    fn begin_level(&mut self, states: u64) {
        (self.level, self.next) = (self.next, self.next + 1);
        self.states += states;
        let places = self.tables.last().map_or(0, |table| table.len() as u64);
        if self.states * 2 > places && places < self.most {
            let places = (places * MORE_PLACES).clamp(FIRST_PLACES, self.most);
            self.tables.push((0..places).map(|_| AtomicU32::new(0)).collect());
        }
    }
}

/// Working memory of the inner system, and of the choice.
#[derive(Debug)]
pub struct StubbornScratch<T> {
    inner: T,
    /// The successors of one state.
    batch: Batch,
    cursor: Cursor,
    /// How the expansion of the state goes on, and how much of the batch was passed on.
    stage: Stage,
    copied: usize,
    choice: Choice,
}

/// Where the expansion of a state is.
#[derive(Clone, Debug, PartialEq)]
enum Stage {
    /// To be begun.
    Begin,
    /// What was generated is being passed on; then this.
    PassOn(Step),
    /// There are more successors than the batch has room for: all are passed on.
    Whole,
}

/// Sets of instances, for the choice of one state.
#[derive(Clone, Debug, Default)]
struct Choice {
    enabled: Vec<u64>,
    /// For each disabled instance what to add with it, once that is known: rows of `additions`.
    wakers: Vec<Waker>,
    additions: Vec<u64>,
    /// The set being closed, what of it is still to be looked at, and the best set so far.
    set: Vec<u64>,
    waiting: Vec<u32>,
    best: Vec<u64>,
    /// For each successor of the state, whether it was found in a level that was begun.
    old: Vec<bool>,
}

/// What to add to a set with a disabled instance, in the state that is being expanded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Waker {
    /// Not looked at.
    #[default]
    Unknown,
    /// A row of [`StubbornRelations::enabling`].
    Enabling(u32),
    /// A set of its own, in [`Choice::additions`] from here on.
    Several(u32),
}

/// Successors of one state that the choice is made among, at most.
const ROOM: usize = 512;

impl<S: System> Stubborn<S> {
    /// Reduces a system for a search level by level; `bytes` for the tables of levels.
    pub fn new(inner: S, relations: StubbornRelations, bytes: u64) -> Stubborn<S> {
        let most = 1 << (bytes / 4).clamp(FIRST_PLACES, 1 << 30).ilog2();
        let found = Found { tables: Vec::new(), states: 0, most, level: 0, next: 1 };
        Stubborn::noting(inner, relations, found, FIRST_PLACES)
    }

    /// Reduces a system for a search in any order, in one thread: a set is taken only if one of its
    /// successors was never found before. So it is expanded later than the state, and the argument is
    /// the same, with the order of expansion instead of levels.
    pub fn in_any_order(inner: S, relations: StubbornRelations, bytes: u64) -> Stubborn<S> {
        let most = 1 << (bytes / 4).clamp(FIRST_PLACES, MOST_AT_ONCE).ilog2();
        let found = Found { tables: Vec::new(), states: 0, most, level: 1, next: 1 };
        Stubborn::noting(inner, relations, found, most)
    }

    fn noting(
        inner: S,
        relations: StubbornRelations,
        mut found: Found,
        places: u64,
    ) -> Stubborn<S> {
        if relations.goes_on {
            found.tables.push((0..places).map(|_| AtomicU32::new(0)).collect());
        }
        Stubborn {
            inner,
            words: relations.clashes.len().div_ceil(64).max(1),
            relations,
            found: RwLock::new(found),
            whole: AtomicU64::new(0),
            reduced: AtomicU64::new(0),
        }
    }

    /// The system that is reduced.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// How many states were expanded in full, and how many in part.
    pub fn expanded(&self) -> (u64, u64) {
        (self.whole.load(Ordering::Relaxed), self.reduced.load(Ordering::Relaxed))
    }

    fn found(&self) -> RwLockReadGuard<'_, Found> {
        self.found.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self, label: Label) -> usize {
        self.relations.numbers[label.0.wrapping_sub(self.relations.first) as usize] as usize
    }

    /// Chooses among the successors of `state` that are in the batch; drops the others.
    fn choose(&self, found: &Found, choice: &mut Choice, state: &[u64], batch: &mut Batch) {
        choice.enabled.clear();
        choice.enabled.resize(self.words, 0);
        choice.wakers.clear();
        choice.wakers.resize(self.relations.clashes.len(), Waker::Unknown);
        choice.additions.clear();
        choice.old.clear();
        for (i, label) in batch.labels().iter().enumerate() {
            let number = self.number(*label);
            choice.enabled[number / 64] |= 1 << (number % 64);
            choice.old.push(found.is_old(hash(batch.state(i))));
        }
        if self.find_best(choice, state, batch) {
            self.reduced.fetch_add(1, Ordering::Relaxed);
            let best = &choice.best;
            batch.retain(0, |_, label| has(best, self.number(label)));
        } else {
            self.whole.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Closes a set around each enabled instance, and keeps the one with the fewest enabled ones that
    /// leads somewhere new. `false` if there is none that is smaller than all. (To find all closed sets
    /// at once, as strongly connected components, was no faster.)
    fn find_best(&self, choice: &mut Choice, state: &[u64], batch: &Batch) -> bool {
        let all: u32 = choice.enabled.iter().map(|word| word.count_ones()).sum();
        let mut fewest = all;
        for number in 0..self.words * 64 {
            if fewest == 1 {
                break;
            }
            if !has(&choice.enabled, number) || !self.close(choice, state, number, fewest) {
                continue;
            }
            let size = choice.set.iter().zip(&choice.enabled).map(|(a, b)| (a & b).count_ones());
            let size: u32 = size.sum();
            let leads_on = |(i, label): (usize, &Label)| {
                has(&choice.set, self.number(*label)) && !choice.old[i]
            };
            if size < fewest && batch.labels().iter().enumerate().any(leads_on) {
                fewest = size;
                choice.best.clone_from(&choice.set);
            }
        }
        fewest < all
    }

    /// Closes the set of one instance under both rules. `false` if it gets so many enabled ones that it
    /// is of no use.
    fn close(&self, choice: &mut Choice, state: &[u64], seed: usize, fewest: u32) -> bool {
        choice.set.clear();
        choice.set.resize(self.words, 0);
        choice.waiting.clear();
        choice.add(seed);
        let (mut enabled, mut sees) = (0, false);
        while let Some(number) = choice.waiting.pop() {
            let number = number as usize;
            if has(&choice.enabled, number) {
                enabled += 1;
                if enabled >= fewest {
                    return false;
                }
                choice.add_all(&self.relations.clashes[number]);
                if !sees && has(&self.relations.visible, number) {
                    sees = true;
                    choice.add_all(&self.relations.visible);
                }
            } else {
                self.add_wakers(choice, state, number);
            }
        }
        true
    }

    /// Adds who can make the first false condition of a disabled instance true.
    fn add_wakers(&self, choice: &mut Choice, state: &[u64], number: usize) {
        if choice.wakers[number] == Waker::Unknown {
            choice.wakers[number] = self.waker(choice, state, number);
        }
        match choice.wakers[number] {
            Waker::Unknown => {}
            Waker::Enabling(row) => choice.add_all(&self.relations.enabling[row as usize]),
            Waker::Several(at) => {
                let additions = std::mem::take(&mut choice.additions);
                choice.add_all(&additions[at as usize..at as usize + self.words]);
                choice.additions = additions;
            }
        }
    }

    /// Finds the first false condition. Conditions of which nothing is known may be that one; and if
    /// none is false for certain, the instance may be enabled, with a successor that an assumption drops:
    /// then those that do not accord with it belong to the set, too.
    fn waker(&self, choice: &mut Choice, state: &[u64], number: usize) -> Waker {
        let conditions = self.relations.conditions[number].iter();
        let mut candidates = conditions.filter_map(|c| match c.holds(state) {
            Some(true) => None,
            holds => Some((c.enabling, holds)),
        });
        let first = candidates.next();
        if let Some((row, Some(false))) = first {
            return Waker::Enabling(row);
        }
        let at = choice.additions.len();
        choice.additions.resize(at + self.words, 0);
        let set = &mut choice.additions[at..];
        let mut certain = false;
        for (row, holds) in first.into_iter().chain(candidates) {
            join(set, &self.relations.enabling[row as usize]);
            if holds.is_some() {
                certain = true;
                break;
            }
        }
        if !certain {
            join(set, &self.relations.clashes[number]);
        }
        Waker::Several(at as u32)
    }

    /// Generates the successors of a state and chooses among them.
    fn begin(
        &self,
        found: &Found,
        scratch: &mut StubbornScratch<S::Scratch>,
        src: Block<'_>,
        source: usize,
    ) {
        let one = src.slice(source, 1);
        scratch.batch.clear();
        (scratch.copied, scratch.cursor) = (0, Cursor::default());
        let step =
            self.inner.expand(&mut scratch.inner, one, &mut scratch.cursor, &mut scratch.batch);
        if step == Step::Full {
            self.whole.fetch_add(1, Ordering::Relaxed);
            scratch.stage = Stage::Whole;
            return;
        }
        // Something wrong ends the search, or the state: there is nothing to be chosen.
        if step == Step::Done {
            self.choose(found, &mut scratch.choice, one.state(0), &mut scratch.batch);
        }
        scratch.stage = Stage::PassOn(step);
    }

    /// Passes on what is in the batch; `false` if there is no room.
    fn pass_on(
        found: &Found,
        scratch: &mut StubbornScratch<S::Scratch>,
        source: u32,
        out: &mut Batch,
    ) -> bool {
        let batch = &scratch.batch;
        while scratch.copied < batch.len() {
            if out.is_full() {
                return false;
            }
            let i = scratch.copied;
            found.note(hash(batch.state(i)));
            out.push(batch.state(i), source, batch.rules()[i], batch.labels()[i]);
            scratch.copied += 1;
        }
        for (rule, count) in batch.dropped() {
            out.note_dropped(*rule, *count);
        }
        scratch.batch.clear();
        scratch.copied = 0;
        true
    }
}

impl Choice {
    fn add(&mut self, number: usize) {
        let (word, bit) = (number / 64, 1 << (number % 64));
        if self.set[word] & bit == 0 {
            self.set[word] |= bit;
            self.waiting.push(number as u32);
        }
    }

    fn add_all(&mut self, members: &[u64]) {
        for (i, (word, members)) in self.set.iter_mut().zip(members).enumerate() {
            let mut new = members & !*word;
            *word |= new;
            while new != 0 {
                self.waiting.push(i as u32 * 64 + new.trailing_zeros());
                new &= new - 1;
            }
        }
    }
}

impl<S: System> System for Stubborn<S> {
    type Scratch = StubbornScratch<S::Scratch>;

    fn shape(&self) -> Shape {
        self.inner.shape()
    }

    fn scratch(&self) -> Self::Scratch {
        StubbornScratch {
            inner: self.inner.scratch(),
            batch: Batch::new(self.inner.shape(), ROOM),
            cursor: Cursor::default(),
            stage: Stage::Begin,
            copied: 0,
            choice: Choice::default(),
        }
    }

    fn rules(&self) -> usize {
        self.inner.rules()
    }

    fn initial(&self, scratch: &mut Self::Scratch, at: &mut Cursor, out: &mut Batch) -> Step {
        let from = out.len();
        let step = self.inner.initial(&mut scratch.inner, at, out);
        let found = self.found();
        (from..out.len()).for_each(|i| found.note(hash(out.state(i))));
        step
    }

    fn expand(
        &self,
        scratch: &mut Self::Scratch,
        src: Block<'_>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Step {
        if *at == Cursor::default() {
            scratch.stage = Stage::Begin;
        }
        let found = self.found();
        while at.source < src.len() {
            if scratch.stage == Stage::Begin {
                self.begin(&found, scratch, src, at.source);
                // From here on the cursor says that this source is begun.
                at.enabled = true;
            }
            if !Self::pass_on(&found, scratch, at.source as u32, out) {
                return Step::Full;
            }
            let step = match std::mem::replace(&mut scratch.stage, Stage::Whole) {
                Stage::PassOn(step) => step,
                Stage::Begin | Stage::Whole => {
                    let one = src.slice(at.source, 1);
                    let (inner, batch) = (&mut scratch.inner, &mut scratch.batch);
                    let step = self.inner.expand(inner, one, &mut scratch.cursor, batch);
                    scratch.stage =
                        if step == Step::Full { Stage::Whole } else { Stage::PassOn(step) };
                    continue;
                }
            };
            match step {
                Step::Violation(violation) => {
                    return Step::Violation(Violation { at: at.source, ..violation });
                }
                Step::Done | Step::Full => {
                    scratch.stage = Stage::Begin;
                    *at = Cursor { source: at.source + 1, ..Cursor::default() };
                }
            }
        }
        Step::Done
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
        let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
        if self.relations.goes_on {
            found.begin_level(states);
        }
    }
}

impl<S: Live> Live for Stubborn<S> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_anywhere() {
        let state = [0xfedc_ba98_7654_3210, 0x0123_4567_89ab_cdef];
        assert_eq!(field(&state, 4, 8), 0x21);
        assert_eq!(field(&state, 60, 8), 0xff);
        assert_eq!(field(&state, 120, 8), 0x01);
        assert_eq!(field(&state, 64, 4), 0xf);
    }
}
