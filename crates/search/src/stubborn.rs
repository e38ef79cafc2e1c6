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
//! alone this is not necessary, and not done. Nor is it for states that have no successors but themselves, if
//! the set has an enabled transition that always changes something: one that is put off until such a state
//! is reached is still enabled there, and leads out of it.) Which states were found in levels that were begun
//! stands in a table of hashes. A state that shares its hash with an older one seems older than it is; then
//! more is fired than necessary, and that is all. What the table says about levels that were begun no longer
//! changes, so the choice does not depend on the number of threads.
//!
//! *Depth first* (the stack proviso, [`Stubborn::depth_first`]): a set is taken only if one of its successors
//! is not on the stack of the search. Such a successor was done before or is found from the state, so it
//! leaves the stack before the state does. Going on to such successors, states leave the stack earlier and
//! earlier, so one comes to a state of which all transitions are fired: nothing is put off for ever. One
//! successor is enough, because each transition of a set commutes with all paths that have none of the
//! set; that none may lead into the stack is for liveness, which is not preserved here. The search must count as
//! on its stack also what waits beside the path: a state that was found before and is not done leaves the
//! stack later, and with the path alone two states can wait for each other.
//!
//! All transitions are generated, so that no fault, deadlock or cover goal of a state is missed, those of
//! many states at a time, and those that were not chosen are dropped before anybody stores them.
//!
//! *What it needs:* a search level by level from the start, over a store that never forgets a state; or a
//! search in one thread, depth first ([`Stubborn::depth_first`]).

mod choice;
mod found;
mod stack;

use crate::sleep::hash;
use choice::{Choice, Relations, has, put};
use ergodic_system::records::Put;
use ergodic_system::{
    Batch, Block, Cursor, Fault, Label, Live, Picks, Shape, Step, System, Violation,
};
use found::Found;
use stack::OnStack;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
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
    /// Where nothing else can go wrong than that all successors of a state are that state: the instances
    /// that change every state in which they are enabled.
    pub moving: Vec<u64>,
}

impl StubbornRelations {
    /// The same with other numbers: instances with few conditions first. Sets are looked for in the order
    /// of the numbers, and those of such instances are small more often.
    fn with_simple_ones_first(self) -> StubbornRelations {
        let mut order: Vec<usize> = (0..self.clashes.len()).collect();
        order.sort_by_key(|number| self.conditions[*number].len());
        let mut new = vec![0; order.len()];
        order.iter().enumerate().for_each(|(i, number)| new[*number] = i as u32);
        let renumber = |set: &Vec<u64>| {
            let mut renumbered = vec![0; set.len()];
            for number in (0..order.len()).filter(|n| n / 64 < set.len() && has(set, *n)) {
                put(&mut renumbered, new[number] as usize);
            }
            renumbered
        };
        let row = |number: &usize| renumber(&self.clashes[*number]);
        let conditions = |number: &usize| self.conditions[*number].clone();
        StubbornRelations {
            first: self.first,
            numbers: self.numbers.iter().map(|number| new[*number as usize]).collect(),
            clashes: order.iter().map(row).collect(),
            conditions: order.iter().map(conditions).collect(),
            enabling: self.enabling.iter().map(renumber).collect(),
            visible: renumber(&self.visible),
            goes_on: self.goes_on,
            moving: renumber(&self.moving),
        }
    }
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

/// A system of which only stubborn sets are fired.
#[derive(Debug)]
pub struct Stubborn<S> {
    inner: S,
    relations: Relations,
    /// The first label of a rule, and the numbers of the instances from there on.
    first: u32,
    numbers: Vec<u32>,
    /// Successors for which there is room at a time.
    room: usize,
    found: RwLock<Found>,
    /// For a depth-first search in which nothing may be put off for ever.
    stack: Option<OnStack>,
    /// States of which all, and of which not all transitions were fired.
    whole: AtomicU64,
    reduced: AtomicU64,
}

/// Working memory of the inner system, and of the choice.
#[derive(Debug)]
pub struct StubbornScratch<T> {
    inner: T,
    choice: Choice,
    /// Successors of states one after the other, and where the next ones come from.
    batch: Batch,
    cursor: Cursor,
    /// Their hashes, if they were needed, and whether they are on the stack, if there is one.
    hashes: Vec<u64>,
    old: Vec<bool>,
    /// Those that were chosen, and how many of them were passed on; what comes after them.
    chosen: Vec<u32>,
    passed: usize,
    then: Step,
    /// The successors of a state that is not done, while the others are passed on.
    rest: Batch,
    /// A state of which all successors are passed on.
    whole: Option<u32>,
    /// States of the block that were counted.
    counted: u64,
}

/// Successors that are few.
const FEW: usize = 16;

/// Successors of one state that the choice is made among are fewer than this.
const ROOM: usize = 512;

impl<S: System> Stubborn<S> {
    /// Reduces a system for a search level by level; `bytes` for the table of what was found.
    pub fn new(inner: S, relations: StubbornRelations, bytes: u64) -> Stubborn<S> {
        let found = Found::by_level(relations.goes_on, bytes);
        Stubborn::noting(inner, relations, found)
    }

    /// Reduces a system for a depth-first search in one thread that tells what is on its stack; `bytes` for
    /// a table of that.
    pub fn depth_first(inner: S, relations: StubbornRelations, bytes: u64) -> Stubborn<S> {
        let stack = relations.goes_on.then(|| OnStack::new(bytes));
        let found = Found::by_level(false, 0);
        Stubborn { stack, ..Stubborn::noting(inner, relations, found) }
    }

    fn noting(inner: S, relations: StubbornRelations, found: Found) -> Stubborn<S> {
        let relations = relations.with_simple_ones_first();
        Stubborn {
            inner,
            relations: Relations::new(&relations),
            first: relations.first,
            numbers: relations.numbers,
            room: ROOM,
            found: RwLock::new(found),
            stack: None,
            whole: AtomicU64::new(0),
            reduced: AtomicU64::new(0),
        }
    }

    /// The same, but states with so many successors or more are expanded in full.
    #[must_use]
    pub fn with_room(self, room: usize) -> Stubborn<S> {
        Stubborn { room: room.max(1), ..self }
    }

    /// The system that is reduced.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// How many states were expanded in full, and how many in part.
    pub fn expanded(&self) -> (u64, u64) {
        (self.whole.load(Ordering::Relaxed), self.reduced.load(Ordering::Relaxed))
    }

    /// Whether there was no room for noting what was found, so that in the end all transitions were fired.
    pub fn is_full(&self) -> bool {
        self.found().is_full()
    }

    fn found(&self) -> RwLockReadGuard<'_, Found> {
        self.found.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self, label: Label) -> u32 {
        self.numbers[label.0.wrapping_sub(self.first) as usize]
    }

    /// Counts states that were expanded in full, and in part.
    fn count(&self, [whole, reduced]: [u64; 2]) {
        // In thin graphs this is asked for state by state, and mostly there is nothing to add.
        for (sum, more) in [(&self.whole, whole), (&self.reduced, reduced)] {
            if more > 0 {
                sum.fetch_add(more, Ordering::Relaxed);
            }
        }
    }

    /// Generates successors of as many states as there is room for, and chooses among those of each
    /// state that is done.
    fn generate(&self, found: &Found, scratch: &mut StubbornScratch<S::Scratch>, src: Block<'_>) {
        let (inner, batch) = (&mut scratch.inner, &mut scratch.batch);
        scratch.then = self.inner.expand(inner, src, &mut scratch.cursor, batch);
        let (mut end, mut wrong) = (batch.len(), None);
        match &scratch.then {
            Step::Done => {}
            // Something wrong ends the search, or the state: there is nothing to be chosen.
            Step::Violation(violation) => wrong = Some(violation.at as u32),
            Step::Full => {
                let source = scratch.cursor.source as u32;
                let begin = batch.sources().partition_point(|other| *other < source);
                // The state that is not done waits for the rest of its successors, unless it alone has
                // too many: how many it has does not depend on what was expanded with it.
                if begin > 0 || !batch.is_full() {
                    end = begin;
                }
            }
        }
        scratch.prepare(found, self.stack.as_ref(), end);
        let (mut from, mut counts) = (0, [0; 2]);
        while from < end {
            let source = scratch.batch.sources()[from];
            let own = scratch.batch.sources()[from..end].iter();
            let to = from + own.take_while(|other| **other == source).count();
            if let Some(reduced) = self.choose(found, scratch, src, from..to, wrong) {
                counts[usize::from(reduced)] += 1;
            }
            from = to;
        }
        // What else it leads to comes with the next successors.
        scratch.whole = wrong.or(scratch.whole);
        self.count(counts);
        scratch.counted += counts[0] + counts[1];
        (end..scratch.batch.len()).for_each(|i| copy(&scratch.batch, i, &mut scratch.rest));
    }

    /// Chooses among the successors of one state, which stand in the batch one after the other, unless it is
    /// the one with which something is `wrong`. Whether some were left out; `None` if that was clear before.
    fn choose(
        &self,
        found: &Found,
        scratch: &mut StubbornScratch<S::Scratch>,
        src: Block<'_>,
        own: Range<usize>,
        wrong: Option<u32>,
    ) -> Option<bool> {
        let StubbornScratch { choice, batch, chosen, whole, old, hashes, .. } = scratch;
        let (source, before) = (batch.sources()[own.start], chosen.len());
        let hash_of = |i: usize| hashes.get(i).copied().unwrap_or_else(|| hash(batch.state(i)));
        let mut answer = None;
        if ![*whole, wrong].contains(&Some(source)) {
            let reduced = own.len() < self.room && {
                choice.begin(batch.labels()[own.clone()].iter().map(|label| self.number(*label)));
                let is_new = |i| match old.get(own.start + i) {
                    Some(old) => !old,
                    None => !found.notes() || !found.is_old(hash_of(own.start + i)),
                };
                choice.find(&self.relations, src.state(source as usize), is_new)
            };
            if reduced {
                chosen.extend(choice.chosen().map(|i| (own.start + i) as u32));
            } else {
                *whole = Some(source);
            }
            answer = Some(reduced);
        }
        if answer != Some(true) {
            chosen.extend(own.start as u32..own.end as u32);
        }
        if found.notes() {
            chosen[before..].iter().for_each(|i| found.note(hash_of(*i as usize)));
        }
        answer
    }

    /// Passes on what was chosen; `false` if there is no room.
    fn pass_on(scratch: &mut StubbornScratch<S::Scratch>, out: &mut Batch) -> bool {
        let batch = &scratch.batch;
        for i in &scratch.chosen[scratch.passed..] {
            if out.is_full() {
                return false;
            }
            let i = *i as usize;
            copy(batch, i, out);
            scratch.passed += 1;
        }
        for (rule, count) in batch.dropped() {
            out.note_dropped(*rule, *count);
        }
        scratch.chosen.clear();
        scratch.passed = 0;
        scratch.batch.clear();
        if !scratch.rest.is_empty() {
            std::mem::swap(&mut scratch.batch, &mut scratch.rest);
        }
        true
    }
}

/// Appends a successor to another batch.
fn copy(from: &Batch, i: usize, to: &mut Batch) {
    to.push(from.state(i), from.sources()[i], from.rules()[i], from.labels()[i]);
}

impl<S: System> System for Stubborn<S> {
    type Scratch = StubbornScratch<S::Scratch>;

    fn shape(&self) -> Shape {
        self.inner.shape()
    }

    fn scratch(&self) -> Self::Scratch {
        StubbornScratch {
            inner: self.inner.scratch(),
            choice: Choice::new(&self.relations),
            batch: Batch::new(self.inner.shape(), self.room),
            cursor: Cursor::default(),
            hashes: Vec::new(),
            old: Vec::new(),
            chosen: Vec::new(),
            passed: 0,
            then: Step::Full,
            rest: Batch::new(self.inner.shape(), self.room),
            whole: None,
            counted: 0,
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
        let mut begins = *at == Cursor::default();
        if begins {
            scratch.restart();
        }
        let found = self.found();
        loop {
            // At first there is nothing to pass on.
            if !std::mem::take(&mut begins) && !Self::pass_on(scratch, out) {
                let next = scratch.chosen[scratch.passed] as usize;
                let source = scratch.batch.sources()[next] as usize;
                // From here on the cursor says that the block is begun.
                *at = Cursor { source, enabled: true, ..Cursor::default() };
                return Step::Full;
            }
            match std::mem::replace(&mut scratch.then, Step::Full) {
                Step::Full => self.generate(&found, scratch, src),
                Step::Violation(violation) => {
                    *at = Cursor { source: violation.at, enabled: true, ..Cursor::default() };
                    return Step::Violation(violation);
                }
                Step::Done => {
                    // States without successors are not among the sources.
                    let others = src.len() as u64 - scratch.counted;
                    self.count([others, 0]);
                    *at = Cursor { source: src.len(), ..Cursor::default() };
                    return Step::Done;
                }
            }
        }
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
        if found.notes() {
            found.begin_level(states);
        }
    }

    fn watches_stack(&self) -> bool {
        self.stack.is_some()
    }

    fn stack_changes(&self, state: &[u64], put: bool) {
        if let Some(stack) = &self.stack {
            stack.change(hash(state), put);
        }
    }

    fn dump(&self, put: &mut Put<'_>) -> Result<(), String> {
        let (whole, reduced) = self.expanded();
        self.found().dump([whole, reduced], put)
    }

    fn restore(&self, record: &[u64]) -> Result<(), String> {
        let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
        if let Some([whole, reduced]) = found.restore(record)? {
            self.whole.store(whole, Ordering::Relaxed);
            self.reduced.store(reduced, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl<T> StubbornScratch<T> {
    /// Prepares the questions for the first successors whether they were found before, or are on the stack. For
    /// most of them nobody asks; but each question waits for memory, so where there is much of it
    /// all of it is fetched together.
    fn prepare(&mut self, found: &Found, stack: Option<&OnStack>, end: usize) {
        self.hashes.clear();
        self.old.clear();
        if let Some(stack) = stack {
            self.old.extend((0..end).map(|i| stack.has(hash(self.batch.state(i)))));
        }
        if found.is_far() && end > FEW {
            self.hashes.extend((0..end).map(|i| hash(self.batch.state(i))));
            found.fetch(&self.hashes);
        }
    }

    /// Goes on to another block.
    fn restart(&mut self) {
        self.batch.clear();
        self.rest.clear();
        self.chosen.clear();
        (self.cursor, self.passed) = (Cursor::default(), 0);
        (self.then, self.whole, self.counted) = (Step::Full, None, 0);
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
