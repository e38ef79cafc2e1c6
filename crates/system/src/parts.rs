//! The traits between systems, stores, frontiers and searches.

use crate::records::Put;
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

    /// A breadth-first search has expanded a level, and goes on with one of so many states. Nobody
    /// expands meanwhile.
    fn level_begins(&self, states: u64) {
        let _ = states;
    }

    /// Whether a depth-first search is to tell which states are on its stack: those that wait to be
    /// expanded, and those that are expanded while something found from them still waits.
    fn watches_stack(&self) -> bool {
        false
    }

    /// A state was put on the stack, or taken off it because it and all that was found from it is done.
    fn stack_changes(&self, state: &[u64], put: bool) {
        let _ = (state, put);
    }

    /// Hands out what it noted about the search so far, if what it does depends on that, as records
    /// (see [`crate::records`]). Nobody expands meanwhile.
    fn dump(&self, put: &mut Put<'_>) -> Result<(), String> {
        let _ = put;
        Ok(())
    }

    /// Takes a record back before a search goes on.
    fn restore(&self, record: &[u64]) -> Result<(), String> {
        let _ = record;
        Err("it was saved with another reduction".to_string())
    }
}

/// What a set of states says that hands out no records, and what if it takes none.
const NO_RECORDS: &str = "this kind of store cannot be saved";
const NOT_MINE: &str = "it was saved with another kind of store";

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

/// What a store may have lost or forgotten, and what it measured about that.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Losses {
    /// Upper bound of the probability that some state was wrongly called known; 0 if none was.
    pub omission: f64,
    /// The same for the states of one shortest path of `n` states: `path_omission` times `n`.
    pub path_omission: f64,
    /// Whether states may have been called fresh more than once: then counts are of visits.
    pub forgets: bool,
    /// Named figures, in the order in which they are to be shown.
    pub figures: Vec<Figure>,
}

/// A number that a store reports about itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name in JSON, as in `collision_rate`.
    pub key: &'static str,
    /// Name for people, as in "collision rate".
    pub title: &'static str,
    /// The number.
    pub value: f64,
}

/// The part of a visited set that does not fit into memory. It is asked late, with all the states
/// that memory did not know, and not for each of them.
pub trait Archive: Send {
    /// Takes over those of the offered states that it does not hold yet, and appends their places
    /// (block, position in the block) to `fresh`, which is cleared first. Of equal offered states one
    /// is taken over. An archive that forgets may call a state fresh again.
    fn admit(
        &mut self,
        offered: &[Block<'_>],
        fresh: &mut Vec<(u32, u32)>,
    ) -> Result<(), Exhausted>;

    /// A level of the search ends after the next [`Archive::admit`].
    fn level_ends(&mut self) {}

    /// Whether what memory remembers of offered states is to be forgotten after every
    /// [`Archive::admit`], as the original algorithm does. It is never necessary.
    fn forget_offered(&self) -> bool {
        false
    }

    /// Puts files with what it takes to open it again into a directory, and returns a description for
    /// whoever opens it.
    fn save(&mut self, dir: &std::path::Path) -> Result<Vec<u8>, Exhausted> {
        let _ = dir;
        Err(Exhausted::Other("this kind of disk search cannot be saved and resumed".into()))
    }

    /// Bytes of memory in use.
    fn bytes(&self) -> u64;

    /// States held (visits, if it forgets).
    fn states(&self) -> u64;

    /// What it may have lost, and what it measured.
    fn losses(&self) -> Losses;
}

impl<A: Archive + ?Sized> Archive for Box<A> {
    fn admit(
        &mut self,
        offered: &[Block<'_>],
        fresh: &mut Vec<(u32, u32)>,
    ) -> Result<(), Exhausted> {
        (**self).admit(offered, fresh)
    }

    fn level_ends(&mut self) {
        (**self).level_ends();
    }

    fn forget_offered(&self) -> bool {
        (**self).forget_offered()
    }

    fn save(&mut self, dir: &std::path::Path) -> Result<Vec<u8>, Exhausted> {
        (**self).save(dir)
    }

    fn bytes(&self) -> u64 {
        (**self).bytes()
    }

    fn states(&self) -> u64 {
        (**self).states()
    }

    fn losses(&self) -> Losses {
        (**self).losses()
    }
}

/// No archive.
#[derive(Clone, Copy, Debug)]
pub enum NoArchive {}

impl Archive for NoArchive {
    fn admit(&mut self, _: &[Block<'_>], _: &mut Vec<(u32, u32)>) -> Result<(), Exhausted> {
        match *self {}
    }

    fn bytes(&self) -> u64 {
        match *self {}
    }

    fn states(&self) -> u64 {
        match *self {}
    }

    fn losses(&self) -> Losses {
        match *self {}
    }
}

/// The set of seen states, asked in batches so that it can hash and prefetch.
pub trait Visited {
    /// Marks the states of `new` as seen and appends the positions of those that were not seen
    /// before to `fresh` (which is cleared first). Of equal states in one block the first is fresh.
    fn offer(&mut self, new: Block<'_>, fresh: &mut Picks) -> Result<(), Exhausted>;

    /// As [`Shared::foresee`], told whenever a level ends. To find it out takes a while, so only who wants to know asks.
    fn foresee(&mut self, states: &dyn Fn() -> Option<u64>) {
        let _ = states;
    }

    /// For stores that answer late: emits what turned out to be fresh since the last call.
    fn settle(&mut self, emit: &mut dyn FnMut(Block<'_>)) -> Result<(), Exhausted> {
        let _ = emit;
        Ok(())
    }

    /// Hands out what it holds as records (see [`crate::records`]), so that another one of its kind can
    /// go on.
    fn dump(&self, put: &mut Put<'_>) -> Result<(), String> {
        let _ = put;
        Err(NO_RECORDS.to_string())
    }

    /// Takes a record back. All of them together, in their order, make it the set that was saved,
    /// in size and otherwise; until then it is of no use.
    fn restore(&mut self, record: &[u64]) -> Result<(), String> {
        let _ = record;
        Err(NOT_MINE.to_string())
    }

    /// Counts and the omission probability.
    fn coverage(&self) -> Coverage;

    /// What it may have lost, and what it measured.
    fn losses(&self) -> Losses {
        Losses::default()
    }
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

    /// Removes from `picks`, from its place `from` on, the positions of states that were marked.
    fn retain_unknown(
        &self,
        scratch: &mut Self::Scratch,
        states: Block<'_>,
        from: usize,
        picks: &mut Picks,
    ) {
        let _ = scratch;
        let mut place = 0;
        picks.retain(|pick| {
            place += 1;
            place <= from || !self.contains(states.state(*pick as usize))
        });
    }

    /// Calls `each` with every state that was marked, in any order; `false` if the set cannot give its
    /// states back. Nobody else uses the set meanwhile.
    fn each(&self, each: &mut dyn FnMut(&[u64])) -> bool {
        let _ = each;
        false
    }

    /// For a set that cannot give its states back: as [`Visited::dump`]. Nobody else uses the set
    /// meanwhile.
    fn dump(&self, put: &mut Put<'_>) -> Result<(), String> {
        let _ = put;
        Err(NO_RECORDS.to_string())
    }

    /// As [`Visited::restore`]. Working memory for the set stays good.
    fn restore(&mut self, record: &[u64]) -> Result<(), String> {
        let _ = record;
        Err(NOT_MINE.to_string())
    }

    /// Grows until `expected` more states (at least one) have room in all likelihood. To be called
    /// at a barrier; after success at least one more state is taken.
    fn grow_if_needed(&mut self, expected: u64) -> Result<(), Exhausted>;

    /// About how many states there will be in all, if somebody can tell: who grows need not become larger than that takes. It is told
    /// anew before each growth, and may be wrong.
    fn foresee(&mut self, states: Option<u64>) {
        let _ = states;
    }

    /// Begins to do what [`Shared::grow_if_needed`] does, for a set that is used by so many threads. If the answer is true, each of
    /// them is to call [`Shared::help_to_grow`], while nobody uses the set otherwise, and when all have come back this is to be
    /// called again; else all is done.
    fn begin_to_grow(&mut self, expected: u64, threads: usize) -> Result<bool, Exhausted> {
        let _ = threads;
        self.grow_if_needed(expected).map(|()| false)
    }

    /// The part of one thread in a growth that was begun. It returns when all have done theirs.
    fn help_to_grow(&self) {}

    /// How many threads a set may start to grow; the caller's is one of them.
    fn set_threads(&mut self, threads: usize) {
        let _ = threads;
    }

    /// Bytes in use.
    fn bytes(&self) -> u64;

    /// What it may have lost, and what it measured.
    fn losses(&self) -> Losses {
        Losses::default()
    }
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
