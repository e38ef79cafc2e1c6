//! What a search found out.

use crate::ParentLog;
use ergodic_disk::DiskError;
use ergodic_system::{Assurance, Exhausted, Label, Losses, Reason, Verdict, ViolationKind};

/// How a search ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// Everything reachable was visited (except beyond states that violate a property).
    Complete,
    /// As many findings as were asked for are there.
    Enough,
    /// It was cut short.
    Stopped(Reason),
}

impl From<Exhausted> for Ending {
    fn from(why: Exhausted) -> Ending {
        Ending::Stopped(match why {
            Exhausted::Memory { limit } => Reason::MemoryLimit(limit),
            Exhausted::Other(text) => Reason::Exhausted(text),
        })
    }
}

/// Trouble with a file ends the search.
impl From<DiskError> for Ending {
    fn from(why: DiskError) -> Ending {
        Exhausted::Other(why.to_string()).into()
    }
}

impl From<Result<(), Ending>> for Ending {
    fn from(result: Result<(), Ending>) -> Ending {
        result.err().unwrap_or(Ending::Complete)
    }
}

/// Something wrong, and how to get there.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The initial-state instance, then the rule instances; for a fault while firing, the last one
    /// is the one that faulted. Empty if no traces were kept.
    pub path: Vec<Label>,
    /// What is wrong.
    pub kind: ViolationKind,
    /// Depth of the violating state; for a fault while firing, of the state in which it was fired.
    pub depth: u64,
}

/// Counts of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// States found. A store may hold some more, from a batch that was cut.
    pub states: u64,
    /// Successors generated, as Murphi counts fired rules: without initial states and faults, with
    /// those that an assumption dropped.
    pub transitions: u64,
    /// Largest depth of a state found; initial states have depth 0.
    pub depth: u64,
    /// Breadth first: states in the largest level. Depth first: most states waiting on the stack.
    pub max_frontier: u64,
    /// Breadth first: states per level.
    pub levels: Vec<u64>,
    /// Successors per rule.
    pub fired: Vec<u64>,
    /// New states per rule.
    pub fresh: Vec<u64>,
    /// Bytes of the store at the end.
    pub store_bytes: u64,
    /// Most bytes of the frontier or the stack, as seen once per batch.
    pub frontier_bytes: u64,
    /// Bytes of the parent log at the end.
    pub trace_bytes: u64,
}

/// What a search found out.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// What is wrong, in the order in which it was found.
    pub findings: Vec<Finding>,
    /// Counts.
    pub stats: Stats,
    /// How often each cover goal was met.
    pub goals: Vec<u64>,
    /// What the store may have lost.
    pub losses: Losses,
    /// Breadth first with traces: the way to every expanded state. Without findings the number of
    /// a state in it is its number in a [`ergodic_system::Numbered`] store.
    pub parents: Option<ParentLog>,
}

impl Outcome {
    /// The verdict, given what the store is worth.
    pub fn verdict(&self, assurance: Assurance) -> Verdict {
        match &self.ending {
            _ if !self.findings.is_empty() => Verdict::Violated,
            Ending::Stopped(reason) => Verdict::Incomplete(reason.clone()),
            Ending::Complete | Ending::Enough => Verdict::Holds(assurance),
        }
    }
}
