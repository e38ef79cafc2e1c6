//! The set of the first phase, which does not give up in the middle of a block.
//!
//! When the store has no room left and the search can go on elsewhere, the rest of the block's new
//! states, a few thousand at most, stand in a set of their own; between two blocks the search asks
//! [`Roomy::is_full`] and leaves.

use ergodic_system::{Block, Coverage, Exhausted, Losses, Picks, Shared, Sole, Visited};
use std::collections::BTreeSet;

/// A shared set in the hands of one worker, and some room beside it.
pub(crate) struct Roomy<'a, V: Shared> {
    sole: Sole<'a, V>,
    /// Whether the room may be used.
    may_overflow: bool,
    full: bool,
    extra: BTreeSet<Box<[u64]>>,
}

impl<'a, V: Shared> Roomy<'a, V> {
    pub(crate) fn new(set: &'a mut V, may_overflow: bool) -> Roomy<'a, V> {
        Roomy { sole: Sole::new(set), may_overflow, full: false, extra: BTreeSet::new() }
    }

    /// Whether it is time to go on elsewhere.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.sole.set().bytes()
    }

    pub(crate) fn set(&self) -> &V {
        self.sole.set()
    }

    /// The states that the set had no room for.
    pub(crate) fn extra(&self) -> impl Iterator<Item = &Box<[u64]>> {
        self.extra.iter()
    }

    /// Working memory for the set, and the states that it had no room for.
    pub(crate) fn into_parts(self) -> (V::Scratch, Vec<Box<[u64]>>) {
        (self.sole.into_scratch(), self.extra.into_iter().collect())
    }

    fn take_extra(&mut self, new: Block<'_>, from: usize, fresh: &mut Picks) {
        for place in from..new.len() {
            let state = new.state(place);
            if !self.sole.contains(state) && self.extra.insert(state.into()) {
                fresh.push(place as u32);
            }
        }
    }
}

impl<V: Shared> Visited for Roomy<'_, V> {
    fn offer(&mut self, new: Block<'_>, fresh: &mut Picks) -> Result<(), Exhausted> {
        fresh.clear();
        let mut from = 0;
        if !self.full {
            let (offered, answer) = self.sole.offer_up_to(new, fresh);
            match answer {
                Err(Exhausted::Memory { .. }) if self.may_overflow => self.full = true,
                answer => return answer,
            }
            from = offered;
        }
        self.take_extra(new, from, fresh);
        Ok(())
    }

    fn foresee(&mut self, states: &dyn Fn() -> Option<u64>) {
        self.sole.foresee(states);
    }

    fn restore(&mut self, record: &[u64]) -> Result<(), String> {
        self.sole.restore(record)
    }

    fn coverage(&self) -> Coverage {
        let inside = self.sole.coverage();
        Coverage { states: inside.states + self.extra.len() as u64, ..inside }
    }

    fn losses(&self) -> Losses {
        self.sole.losses()
    }
}
