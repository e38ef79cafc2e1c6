//! The traits between systems, stores, frontiers and searches.

use crate::{Batch, Block, Cursor, Fault, Picks, Shape, Step, Violation};

/// A compiled model: initial states, successors, and the properties of single states.
pub trait System: Sync {
    /// What one worker needs to execute it; never shared.
    type Scratch: Send;

    /// Size of its packed states.
    fn shape(&self) -> Shape;

    /// Fresh working memory for one worker.
    fn scratch(&self) -> Self::Scratch;

    /// Number of rules, for statistics: [`Batch::rules`] holds numbers below it.
    fn rules(&self) -> usize;

    /// Appends initial states to `out`.
    fn initial(&self, scratch: &mut Self::Scratch, at: &mut Cursor, out: &mut Batch) -> Step;

    /// Appends the successors of the states of `src` to `out`, state by state, and reports faults
    /// and deadlocks on the way.
    fn expand(
        &self,
        scratch: &mut Self::Scratch,
        src: Block<'_>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Step;

    /// Checks the state properties of the `fresh` states of `b`, from position `at` in `fresh` on.
    /// Returns the first violation and leaves `at` behind it, so that a caller who wants more goes on.
    fn judge(
        &self,
        scratch: &mut Self::Scratch,
        b: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation>;

    /// How often each cover goal was met by what this worker judged and fired so far.
    fn goals<'s>(&self, scratch: &'s Self::Scratch) -> &'s [u64];
}

/// A system with properties of the form "from every reachable state a state can be reached that…".
pub trait Live: System {
    /// How many such properties there are.
    fn live_properties(&self) -> usize;

    /// Whether the first state of `state` satisfies the body of `property`.
    fn satisfies(
        &self,
        scratch: &mut Self::Scratch,
        state: Block<'_>,
        property: usize,
    ) -> Result<bool, Fault>;
}

/// A store or frontier has no room left, or its device failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exhausted {
    /// The budget of bytes is used up.
    Memory {
        /// The budget.
        limit: u64,
    },
    /// Something else; the text names the value and the way out.
    Other(String),
}

/// What a store knows about what it has seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// States called fresh.
    pub states: u64,
    /// Bytes in use.
    pub bytes: u64,
    /// Probability that some state was wrongly called known; 0 for an exact store.
    pub omission: f64,
}

/// The set of seen states, asked in batches so that it can hash and prefetch.
pub trait Visited {
    /// Marks the states of `new` as seen and appends the positions of those that were not seen
    /// before to `fresh` (which is cleared first). Of equal states in one block the first is fresh.
    fn offer(&mut self, new: Block<'_>, fresh: &mut Picks) -> Result<(), Exhausted>;

    /// For stores that answer late: emits what turned out to be fresh since the last call.
    fn settle(&mut self, emit: &mut dyn FnMut(Block<'_>)) -> Result<(), Exhausted> {
        let _ = emit;
        Ok(())
    }

    /// Counts and the omission probability.
    fn coverage(&self) -> Coverage;
}

/// A set of seen states that many workers mark at the same time.
///
/// A worker asks with working memory of its own. The set never grows while workers are at work: when
/// it is full, offers end early, the workers keep the rest, come to a barrier, and whoever has the
/// set for itself grows it. [`crate::Sole`] makes a [`Visited`] of it for one worker.
pub trait Shared: Send + Sync {
    /// What one worker needs to ask it; never shared, and of no use to another set.
    type Scratch: Send;

    /// Fresh working memory for one worker.
    fn scratch(&self) -> Self::Scratch;

    /// Marks the states of `new` from position `from` on as seen and appends the positions of those
    /// that this call was the first to mark to `fresh` (which is not cleared). Of all offers of equal
    /// states, by all workers, exactly one is told that the state is fresh.
    ///
    /// Returns the position of the first state that was not handled: less than `new.len()` if the
    /// set is full. Nothing is known about the states from there on; offer them again, with that
    /// position as `from`, after [`Shared::grow_if_needed`].
    fn offer(
        &self,
        scratch: &mut Self::Scratch,
        new: Block<'_>,
        from: usize,
        fresh: &mut Picks,
    ) -> usize;

    /// Whether a state was marked.
    fn contains(&self, state: &[u64]) -> bool;

    /// Grows until `expected` more states (at least one) have room in all likelihood. To be called
    /// at a barrier; after success at least one more state is taken.
    fn grow_if_needed(&mut self, expected: u64) -> Result<(), Exhausted>;

    /// Bytes in use.
    fn bytes(&self) -> u64;
}

/// A store that never forgets, numbers its states in the order in which they were fresh, and can
/// give them back.
pub trait Numbered: Visited {
    /// The number of a state, if it was seen.
    fn number(&self, state: &[u64]) -> Option<u64>;

    /// Copies state `number` to `out`.
    ///
    /// # Panics
    /// If there is no such state.
    fn fetch(&self, number: u64, out: &mut [u64]);
}

/// The states that wait for expansion, in levels: pushed states are pulled, in the order in which
/// they were pushed, after the next [`Frontier::advance`].
pub trait Frontier {
    /// Appends the picked states of `block` to the next level.
    fn push(&mut self, block: Block<'_>, picks: &Picks) -> Result<(), Exhausted>;

    /// The next at most `max` states of the current level; `None` when it is used up.
    fn pull(&mut self, max: usize) -> Result<Option<Block<'_>>, Exhausted>;

    /// Makes the next level the current one and returns its size.
    fn advance(&mut self) -> Result<u64, Exhausted>;

    /// States waiting in the current and the next level.
    fn len(&self) -> u64;

    /// Whether nothing waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes in use.
    fn bytes(&self) -> u64;
}
