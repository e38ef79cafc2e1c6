//! Run-time faults: their kinds and the places in the model where they can happen.

use ergodic_diag::Span;
use ergodic_system::Fault;

/// Number of a place in [`crate::Program::sites`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site(pub u32);

/// A place in the model that can fault.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteInfo {
    /// Where it is.
    pub span: Span,
    /// What it is about: the source text of the variable or expression, or the message of an
    /// assertion or error statement.
    pub text: String,
}

/// What can go wrong while a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum FaultKind {
    /// An undefined variable was read.
    Undefined = 0,
    /// A value outside the type of the variable it is stored to.
    Range,
    /// An array index outside the index type.
    Index,
    /// Division or remainder by zero.
    DivisionByZero,
    /// A result that 64-bit integers (or the exponent of a real type) cannot hold.
    Overflow,
    /// An assertion failed.
    Assertion,
    /// An error statement was reached.
    Error,
    /// A while loop went on for too long.
    LoopLimit,
    /// A `for` step of zero, or one that leads away from the bound.
    Step,
    /// Calls nested too deeply.
    CallDepth,
    /// A function ended without returning a value.
    NoReturn,
    /// A multiset is full.
    MultisetFull,
    /// A multiset element that is not there (any more).
    AbsentElement,
}

impl FaultKind {
    const ALL: [FaultKind; 13] = [
        FaultKind::Undefined,
        FaultKind::Range,
        FaultKind::Index,
        FaultKind::DivisionByZero,
        FaultKind::Overflow,
        FaultKind::Assertion,
        FaultKind::Error,
        FaultKind::LoopLimit,
        FaultKind::Step,
        FaultKind::CallDepth,
        FaultKind::NoReturn,
        FaultKind::MultisetFull,
        FaultKind::AbsentElement,
    ];

    /// The fault of this kind at a site.
    pub fn at(self, site: Site, value: i64) -> Fault {
        Fault { kind: self as u16, site: site.0, value }
    }

    /// The kind of a fault.
    pub fn of(fault: Fault) -> Option<FaultKind> {
        FaultKind::ALL.get(usize::from(fault.kind)).copied()
    }
}
