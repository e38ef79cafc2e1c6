//! What a search can say in the end, and what can go wrong on the way.

/// A rule instance (or an initial-state instance), numbered densely over the whole system. What it
/// means is known to the system alone; searches keep it so that a path can be executed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Label(pub u32);

/// A run-time fault as an executor reports it: small, because generated code writes it. The
/// reference executor explains it in words when the path to it is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    /// What kind of fault; the program representation gives the number its meaning.
    pub kind: u16,
    /// Where in the program.
    pub site: u32,
    /// The offending value, where there is one.
    pub value: i64,
}

/// What was violated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViolationKind {
    /// A run-time fault in a guard, a rule body, an initial state or a property.
    Fault(Fault),
    /// A state property, by its number.
    Property(u32),
    /// A state without a way on.
    Deadlock,
}

/// A violation, with the place where it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Position in the block that was expanded or judged.
    pub at: usize,
    /// For a fault while firing: the rule instance.
    pub label: Option<Label>,
    /// What happened.
    pub kind: ViolationKind,
}

/// What a verdict "holds" is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Assurance {
    /// Every reachable state was visited and compared in full.
    Exact,
    /// States may have been omitted, with at most this probability.
    OmissionBound(f64),
}

/// Why a search stopped early.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// `--max-states`.
    StateLimit(u64),
    /// `--max-depth`: states at this depth were not expanded.
    DepthLimit(u64),
    /// `--time-limit`, in seconds.
    TimeLimit(f64),
    /// The memory budget, in bytes, is used up.
    MemoryLimit(u64),
    /// A person or another program asked to stop.
    Interrupted,
    /// The store is one that omits states; about this percentage of the reachable ones was visited.
    Partial(f64),
    /// A part of the search ran out of what it needs; the text says which and why.
    Exhausted(String),
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reason::StateLimit(n) => write!(f, "state limit of {n} reached"),
            Reason::DepthLimit(n) => write!(f, "depth limit of {n} reached"),
            Reason::TimeLimit(s) => write!(f, "time limit of {s} s reached"),
            Reason::MemoryLimit(b) => {
                write!(f, "memory limit of {:.1} MiB reached", *b as f64 / f64::from(1 << 20))
            }
            Reason::Interrupted => write!(f, "interrupted"),
            Reason::Partial(percent) => {
                write!(f, "about {percent:.4} % of the reachable states were visited (an estimate)")
            }
            Reason::Exhausted(what) => write!(f, "{what}"),
        }
    }
}

/// The answer of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Nothing can go wrong, to this degree.
    Holds(Assurance),
    /// Something can go wrong; there is a path that shows it.
    Violated,
    /// Not all was visited, and nothing wrong was found in what was.
    Incomplete(Reason),
}
