//! A shared set in the hands of one worker.

use crate::records::Put;
use crate::{Block, Coverage, Exhausted, Losses, Picks, Shared, Visited};

/// The only user of a shared set: grows it when it is full, without any barrier.
#[derive(Debug)]
pub struct Sole<'a, V: Shared> {
    set: &'a mut V,
    scratch: V::Scratch,
    states: u64,
}

impl<'a, V: Shared> Sole<'a, V> {
    /// Takes over a set; states that were marked before do not count.
    pub fn new(set: &'a mut V) -> Sole<'a, V> {
        let scratch = set.scratch();
        Sole { set, scratch, states: 0 }
    }

    /// Takes over a set again, with the working memory of the last time.
    pub fn again(set: &'a mut V, scratch: V::Scratch) -> Sole<'a, V> {
        Sole { set, scratch, states: 0 }
    }

    /// The working memory, when the set is passed on to other workers.
    pub fn into_scratch(self) -> V::Scratch {
        self.scratch
    }

    /// Whether a state was marked.
    pub fn contains(&self, state: &[u64]) -> bool {
        self.set.contains(state)
    }

    /// The set itself.
    pub fn set(&self) -> &V {
        self.set
    }

    /// Offers a block, and says how far it came: to its end, unless the set cannot grow.
    pub fn offer_up_to(
        &mut self,
        new: Block<'_>,
        fresh: &mut Picks,
    ) -> (usize, Result<(), Exhausted>) {
        fresh.clear();
        let mut from = 0;
        let answer = loop {
            from = self.set.offer(&mut self.scratch, new, from, fresh);
            if from == new.len() {
                break Ok(());
            }
            if let Err(why) = self.set.grow_if_needed(1) {
                break Err(why);
            }
        };
        self.states += fresh.len() as u64;
        (from, answer)
    }
}

impl<V: Shared> Visited for Sole<'_, V> {
    fn foresee(&mut self, states: &dyn Fn() -> Option<u64>) {
        self.set.foresee(states());
    }

    fn offer(&mut self, new: Block<'_>, fresh: &mut Picks) -> Result<(), Exhausted> {
        self.offer_up_to(new, fresh).1
    }

    fn dump(&self, put: &mut Put<'_>) -> Result<(), String> {
        self.set.dump(put)
    }

    fn restore(&mut self, record: &[u64]) -> Result<(), String> {
        self.set.restore(record)
    }

    fn coverage(&self) -> Coverage {
        let omission = self.set.losses().omission;
        Coverage { states: self.states, bytes: self.set.bytes(), omission }
    }

    fn losses(&self) -> Losses {
        self.set.losses()
    }
}
