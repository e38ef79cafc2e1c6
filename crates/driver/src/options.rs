//! What can be asked of a run. One struct per command; the command line fills them in.

use ergodic_ir::FrontOptions;
use ergodic_system::DeadlockMode;
use std::path::PathBuf;
use std::time::Duration;

/// How a model is read.
#[derive(Clone, Debug, Default, PartialEq)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Compiled to machine code.
    #[default]
    Jit,
    /// The reference interpreter.
    Interp,
}

/// In which order states are visited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SearchKind {
    /// Breadth first: counterexamples are shortest.
    #[default]
    Bfs,
    /// Depth first.
    Dfs,
}

/// How visited states are kept; all of these are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StoreKind {
    /// Small states flat, larger ones in rows, the largest as a tree.
    #[default]
    Auto,
    /// States in the slots of one table; for states of at most 126 bits, else as `Auto`.
    Flat,
    /// States one after the other, and an index.
    Rows,
    /// Shared parts of states are stored once.
    Tree,
    /// States in order, with numbers: what liveness and graphs need. One thread.
    Numbered,
}

/// What is done about interchangeable values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Symmetry {
    /// Nothing.
    Off,
    /// One state per orbit.
    #[default]
    Exact,
}

/// What the graph file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GraphFormat {
    /// Graphviz.
    Dot,
    /// One JSON object per line.
    JsonLines,
}

/// Where and how to write the state graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphFile {
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: GraphFormat,
}

/// How a model is checked.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckOptions {
    /// Executor.
    pub engine: Engine,
    /// Order.
    pub search: SearchKind,
    /// Store.
    pub store: StoreKind,
    /// Symmetry reduction.
    pub symmetry: Symmetry,
    /// What counts as a deadlock.
    pub deadlock: DeadlockMode,
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
            deadlock: DeadlockMode::default(),
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
