//! What can be asked of a run. One struct per command; the command line fills them in.

use ergodic_ir::FrontOptions;
use ergodic_system::DeadlockMode;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// How a model is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadOptions {
    /// Constants to override, as `(name, value)` in the syntax of the model's language.
    pub constants: Vec<(String, String)>,
    /// Copying an undefined value is a fault.
    pub strict: bool,
    /// Accept what only old models need.
    pub compat_cmurphi: bool,
    /// Iterations one while loop may take; `None` is the language's default.
    pub loop_limit: Option<u64>,
    /// Calls that may be nested; `None` is the language's default.
    pub call_limit: Option<u32>,
}

impl LoadOptions {
    /// As front ends want it.
    pub(crate) fn front(&self) -> FrontOptions {
        let defaults = FrontOptions::default();
        FrontOptions {
            constants: self.constants.clone(),
            strict: self.strict,
            compat_cmurphi: self.compat_cmurphi,
            loop_limit: self.loop_limit.unwrap_or(defaults.loop_limit),
            call_limit: self.call_limit.unwrap_or(defaults.call_limit),
        }
    }
}

/// Which executor runs the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Engine {
    /// Compiled to machine code.
    #[default]
    Jit,
    /// The reference interpreter.
    Interp,
}

/// In which order states are visited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SearchKind {
    /// Breadth first: counterexamples are shortest.
    #[default]
    Bfs,
    /// Depth first.
    Dfs,
    /// Depth first with sleep sets, over a cache that never forgets the stack. One thread.
    SleepDfs,
}

/// Which transitions need not be fired because others commute with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reduction {
    /// All are fired.
    #[default]
    None,
    /// Those that sleep are not: the same states, fewer transitions.
    Sleep,
    /// Only a stubborn set of them: fewer states, the same verdict.
    Stubborn,
}

/// How large the cache of a depth-first search with sleep sets is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheLimit {
    /// So many states.
    States(u64),
    /// As many as this many bytes hold.
    Bytes(u64),
}

/// What is done about transitions that were fired elsewhere, in a depth-first search with sleep sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sleep {
    /// Sleep sets are kept beside states.
    #[default]
    Stored,
    /// As in the paper: tests on the stack instead.
    Paper,
    /// Nothing sleeps.
    Off,
}

/// Which state such a search forgets when its cache is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Replace {
    /// Any one that is not on the stack.
    Random,
    /// The one that was reached the fewest times, of a few.
    LeastVisited,
    /// The one that was reached the most times.
    MostVisited,
    /// The one below which the fewest states were found.
    #[default]
    SmallestSubtree,
    /// The one that only unimportant kinds of steps lead to.
    Kind,
}

/// How a depth-first search with sleep sets is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SleepOptions {
    /// What sleeps.
    pub sleep: Sleep,
    /// How much is remembered; `None` takes what memory has room for.
    pub cache: Option<CacheLimit>,
    /// What is forgotten.
    pub replace: Replace,
}

/// How visited states are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StoreKind {
    /// In full: small states flat, larger ones as a tree, the smallest ones as bits.
    #[default]
    Auto,
    /// States in the slots of one table; for states of at most 143 bits, else as `Auto`.
    Flat,
    /// Shared parts of states are stored once.
    Tree,
    /// States in order, with numbers: what liveness and graphs need. One thread.
    Numbered,
    /// A few bits of a hash of each state: may omit states, with a bound.
    Compact,
    /// A Bloom filter: omits states, visits many more.
    Bitstate,
    /// A table of fixed size that forgets states; they are then visited again. One thread.
    Cache,
}

/// What is done when memory is short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Strategy {
    /// All states in memory; when it is used up, go on from disk.
    #[default]
    Auto,
    /// All states in memory; when it is used up, stop.
    Ram,
    /// A cache of states, and the queue on disk.
    Cached,
    /// Signatures of states on disk, read in part.
    Dbf,
    /// A cache until it forgets too often, then signatures on disk.
    Serial,
    /// States on disk, sorted.
    Sorted,
}

/// Which entry of a full set of a cache is overwritten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Forget {
    /// The one whose state was found again least often by later levels.
    #[default]
    LeastMet,
    /// Any one.
    Random,
    /// The one whose state was found the most levels ago.
    Oldest,
}

/// What the stores that lose or forget states, and the searches for them, can be told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShortOptions {
    /// Bits kept of each state; `None` keeps what is good for the store.
    pub bits: Option<u32>,
    /// The probability of an omission that is acceptable: decides the bits.
    pub omission: Option<f64>,
    /// Runs with different hash functions; their omission bounds multiply.
    pub reruns: u32,
    /// Seed of hash functions and of random choices.
    pub seed: u64,
    /// Slots of the table of `Compact`, entries of `Cache`; `None` takes what memory has room for.
    pub slots: Option<u64>,
    /// Entries of the cache in which a state can be; 1 is direct-mapped.
    pub ways: usize,
    /// Which of them is forgotten.
    pub forget: Forget,
    /// Stop when more than this part of the insertions into the cache overwrote something.
    pub max_collision_rate: f64,
    /// Go to disk (`Serial`) when this part did.
    pub switch_at: f64,
    /// Bits set per state by `Bitstate`.
    pub bloom: u32,
    /// The table of `Compact` is laid out as in its paper; slow, for reproducing it.
    pub paper_layout: bool,
}

impl Default for ShortOptions {
    fn default() -> ShortOptions {
        ShortOptions {
            bits: None,
            omission: None,
            reruns: 1,
            seed: 0,
            slots: None,
            ways: 64,
            forget: Forget::default(),
            max_collision_rate: 0.9,
            switch_at: 0.1,
            bloom: 3,
            paper_layout: false,
        }
    }
}

/// What is done about interchangeable values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Symmetry {
    /// Nothing.
    Off,
    /// One state per orbit.
    #[default]
    Exact,
    /// CMurphi's default normal form, which splits some orbits: for comparing counts.
    Cmurphi,
}

impl Symmetry {
    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Symmetry::Off => "off",
            Symmetry::Exact => "exact",
            Symmetry::Cmurphi => "cmurphi",
        }
    }
}

/// What the graph file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GraphFormat {
    /// Graphviz.
    Dot,
    /// One JSON object per line.
    JsonLines,
}

/// Where and how to write the state graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphFile {
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: GraphFormat,
}

/// How a model is checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckOptions {
    /// Executor.
    pub engine: Engine,
    /// Order.
    pub search: SearchKind,
    /// Store.
    pub store: StoreKind,
    /// Symmetry reduction.
    pub symmetry: Symmetry,
    /// Partial-order reduction.
    pub reduction: Reduction,
    /// Walk through chains of states with one successor, and do not store them.
    pub compress: bool,
    /// What a depth-first search with sleep sets is told.
    pub sleep: SleepOptions,
    /// What counts as a deadlock.
    #[serde(with = "Deadlock")]
    pub deadlock: DeadlockMode,
    /// What is done when memory is short.
    pub strategy: Strategy,
    /// What the stores for that are told.
    pub short: ShortOptions,
    /// Where files go; `None` is a temporary directory.
    pub disk: Option<PathBuf>,
    /// Where checkpoints go; `None` makes none.
    pub checkpoint: Option<PathBuf>,
    /// Save this often, and not only when the run is stopped.
    pub checkpoint_every: Option<Duration>,
    /// Worker threads.
    pub threads: usize,
    /// Stop after this many states.
    pub max_states: Option<u64>,
    /// Do not expand states this deep.
    pub max_depth: Option<u64>,
    /// Stop after this time.
    pub time_limit: Option<Duration>,
    /// Bytes for states, frontier and trace log.
    pub memory: Option<u64>,
    /// Stop after this many distinct violations.
    pub max_errors: usize,
    /// Keep what is needed to show counterexamples.
    pub traces: bool,
    /// Write the state graph here.
    pub graph: Option<GraphFile>,
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        CheckOptions {
            engine: Engine::default(),
            search: SearchKind::default(),
            store: StoreKind::default(),
            symmetry: Symmetry::default(),
            reduction: Reduction::default(),
            compress: false,
            sleep: SleepOptions::default(),
            deadlock: DeadlockMode::default(),
            strategy: Strategy::default(),
            short: ShortOptions::default(),
            disk: None,
            checkpoint: None,
            checkpoint_every: None,
            threads: 1,
            max_states: None,
            max_depth: None,
            time_limit: None,
            memory: None,
            max_errors: 1,
            traces: true,
            graph: None,
        }
    }
}

/// The mode of another crate, as it is written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "DeadlockMode")]
enum Deadlock {
    Stutter,
    Stuck,
    Off,
}

/// How a model is simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulateOptions {
    /// Executor.
    pub engine: Engine,
    /// What counts as a deadlock.
    pub deadlock: DeadlockMode,
    /// Seed of the random choices.
    pub seed: u64,
    /// Walks to take.
    pub walks: u64,
    /// Steps of one walk at most.
    pub steps: u64,
    /// Stop after this time.
    pub time_limit: Option<Duration>,
}
