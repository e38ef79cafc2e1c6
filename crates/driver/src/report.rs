//! What a run found, in words and numbers, ready for any output format.

use ergodic_diag::{Diagnostic, Span};
use ergodic_ir::show::Leaf;
use ergodic_system::{Figure, Verdict};
use std::time::Duration;

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Report {
    /// The answer.
    pub verdict: Verdict,
    /// Violations, in the order in which they were found.
    pub findings: Vec<Finding>,
    /// Counts and times.
    pub stats: RunStats,
    /// One entry per rule, in source order.
    pub rules: Vec<RuleStats>,
    /// One entry per cover goal.
    pub covers: Vec<CoverStats>,
    /// Facts about the run that a reader should know.
    pub notes: Vec<String>,
    /// What the run shows to be doubtful in the model.
    pub warnings: Vec<Diagnostic>,
}

/// Counts and times of a run.
#[derive(Clone, Debug, Default)]
pub struct RunStats {
    /// Distinct states.
    pub states: u64,
    /// Rule firings.
    pub transitions: u64,
    /// Number of the last level (breadth first) or the deepest stack (depth first).
    pub depth: u64,
    /// Most states waiting at a time.
    pub max_frontier: u64,
    /// States per level (breadth first).
    pub levels: Vec<u64>,
    /// Bits of a packed state.
    pub state_bits: usize,
    /// From the start of the search to its end.
    pub elapsed: Duration,
    /// Time spent before the search, compiling.
    pub compile: Duration,
    /// Most memory the process used, where the system tells.
    pub peak_memory: Option<u64>,
    /// Bytes of the visited set.
    pub store_bytes: u64,
    /// Threads used.
    pub threads: usize,
    /// Executor used.
    pub engine: &'static str,
    /// Store used.
    pub store: &'static str,
    /// Search used.
    pub search: &'static str,
    /// Symmetry reduction used.
    pub symmetry: &'static str,
    /// What was done about short memory.
    pub strategy: &'static str,
    /// Partial-order reduction.
    pub reduction: &'static str,
    /// Whether states inside of chains were not stored.
    pub compressed: bool,
    /// Whether `states` counts visits: states that were forgotten count again.
    pub forgets: bool,
    /// What the store measured about itself.
    pub figures: Vec<Figure>,
    /// Seconds of the runs that this one went on from.
    pub seconds_before: f64,
}

impl RunStats {
    /// States per second of search.
    pub fn states_per_second(&self) -> f64 {
        self.states as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Bytes of the visited set per state.
    pub fn bytes_per_state(&self) -> f64 {
        self.store_bytes as f64 / self.states.max(1) as f64
    }
}

/// What one rule did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleStats {
    /// Its name.
    pub name: String,
    /// Its declaration.
    pub span: Span,
    /// Instances of it.
    pub instances: u64,
    /// Firings.
    pub fired: u64,
    /// Firings that led to a new state.
    pub fresh: u64,
}

/// What became of one cover goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoverStats {
    /// Its name.
    pub name: String,
    /// Its declaration.
    pub span: Span,
    /// How often it was met.
    pub hits: u64,
}

/// The kinds of violations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// An invariant does not hold.
    Invariant,
    /// An assertion failed.
    Assertion,
    /// An error statement was reached.
    Error,
    /// No way on.
    Deadlock,
    /// No state with the property can be reached from here.
    Liveness,
    /// A cover goal was never met.
    Cover,
    /// A run-time fault.
    Fault,
}

impl FindingKind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            FindingKind::Invariant => "invariant",
            FindingKind::Assertion => "assertion",
            FindingKind::Error => "error",
            FindingKind::Deadlock => "deadlock",
            FindingKind::Liveness => "liveness",
            FindingKind::Cover => "cover",
            FindingKind::Fault => "fault",
        }
    }
}

/// One violation.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What kind.
    pub kind: FindingKind,
    /// Name of the property or text of the assertion, error or fault; empty for a deadlock.
    pub name: String,
    /// One sentence that says what went wrong, with the offending value.
    pub message: String,
    /// What a reader might do about it.
    pub help: Option<String>,
    /// Where in the model.
    pub span: Option<Span>,
    /// Number of transitions to it.
    pub depth: u64,
    /// Whether no shorter way to a violation exists.
    pub shortest: bool,
    /// The way there, re-executed by the interpreter; empty if traces are off or there is none.
    pub trace: Vec<TraceStep>,
}

impl Finding {
    /// As in `invariant "Mutual exclusion"`, `deadlock`.
    pub fn title(&self) -> String {
        match self.kind {
            FindingKind::Deadlock => "deadlock".to_string(),
            FindingKind::Fault => format!("fault: {}", self.message),
            kind => format!("{} \"{}\"", kind.word(), self.name),
        }
    }
}

/// One step of a counterexample.
#[derive(Clone, Debug)]
pub struct TraceStep {
    /// Name of the rule (or start state).
    pub rule: String,
    /// Its parameters and their values.
    pub params: Vec<(String, String)>,
    /// Its declaration.
    pub span: Span,
    /// The state it led to (or, in a step that faults, as far as it came).
    pub state: Vec<Leaf>,
    /// What it printed.
    pub output: String,
    /// Whether the step did not end because of a fault.
    pub faulted: bool,
}
