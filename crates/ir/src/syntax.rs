//! Places, expressions and statements.
//!
//! Evaluation is left to right. An expression yields a defined value or faults; only the operations
//! that say so let undefined values through.

use crate::{GlobalId, LocalId, ProcId, Site, TypeId};

/// Where a place starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A state variable.
    Global(GlobalId),
    /// A [`crate::LocalKind::Storage`] or [`crate::LocalKind::Ref`] local.
    Local(LocalId),
}

/// Something that can be read, written or referred to.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Where it starts.
    pub root: Root,
    /// How it goes on.
    pub path: Vec<Step>,
    /// The type at its end.
    pub ty: TypeId,
}

/// One step into a compound value.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A component of a record, by position.
    Field(u32),
    /// An element of an array. Faults with [`crate::FaultKind::Index`] if `index` is no value of the
    /// index type.
    Index {
        /// The index.
        index: Expr,
        /// Where to report.
        site: Site,
    },
    /// An element of a multiset by slot number. Faults with [`crate::FaultKind::AbsentElement`] if
    /// there is no such slot or it is empty.
    Slot {
        /// The slot number.
        slot: Expr,
        /// Where to report.
        site: Site,
    },
}

/// Operators of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// Integer negation; faults on overflow.
    Neg,
    /// Logical negation of 0 or 1.
    Not,
    /// Bitwise complement.
    BitNot,
    /// Negation of a real.
    RealNeg,
    /// Integer to real.
    ToReal,
    /// Real functions; out-of-domain arguments fault with overflow.
    Sqrt,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Arc sine.
    Asin,
    /// Arc cosine.
    Acos,
    /// Arc tangent.
    Atan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// e to the power of the argument.
    Exp,
    /// Natural logarithm.
    Log,
    /// Decimal logarithm.
    Log10,
    /// Absolute value of a real.
    RealAbs,
    /// Largest integral real not above.
    Floor,
    /// Smallest integral real not below.
    Ceil,
    /// Real to integer, rounded towards zero; faults on overflow.
    Truncate,
}

/// Operators of two arguments. Integer operators fault with [`crate::FaultKind::Overflow`] when the
/// result does not fit 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// Integer sum.
    Add,
    /// Integer difference.
    Sub,
    /// Integer product.
    Mul,
    /// Integer quotient, rounded towards zero.
    Div,
    /// Integer remainder with the sign of the dividend.
    Rem,
    /// Bitwise and.
    BitAnd,
    /// Bitwise or.
    BitOr,
    /// Bitwise exclusive or.
    BitXor,
    /// Shift left, dropping bits shifted out. A negative distance shifts the other way; shifts by
    /// 64 and more, in either direction, give 0.
    Shl,
    /// Arithmetic shift right: a shift left by the negative distance.
    Shr,
    /// Codes are equal.
    Eq,
    /// Codes differ.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Real sum. Real operators fault with overflow when the result is not finite.
    RealAdd,
    /// Real difference.
    RealSub,
    /// Real product.
    RealMul,
    /// Real quotient; faults on zero.
    RealDiv,
    /// Real remainder with the sign of the dividend; faults on zero.
    RealRem,
    /// Power.
    RealPow,
    /// Reals are equal.
    RealEq,
    /// Reals differ.
    RealNe,
    /// Less, on reals.
    RealLt,
    /// Less or equal, on reals.
    RealLe,
}

/// An expression: a scalar code, a truth value (0 or 1), or a real.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A code.
    Int(i64),
    /// A real.
    Real(f64),
    /// An immutable local.
    Bound(LocalId),
    /// The value at a scalar or real place; faults if undefined.
    Read {
        /// What to read.
        place: Box<Place>,
        /// Where to report.
        site: Site,
    },
    /// An operator of one argument.
    Unary {
        /// Which.
        op: UnaryOp,
        /// The argument.
        arg: Box<Expr>,
        /// Where to report.
        site: Site,
    },
    /// An operator of two arguments.
    Binary {
        /// Which.
        op: BinaryOp,
        /// Left argument, evaluated first.
        left: Box<Expr>,
        /// Right argument.
        right: Box<Expr>,
        /// Where to report.
        site: Site,
    },
    /// True unless one is false; stops at the first that is. Empty means true.
    And(Vec<Expr>),
    /// False unless one is true; stops at the first that is. Empty means false.
    Or(Vec<Expr>),
    /// One of two, decided by a condition; the other is not evaluated.
    If {
        /// The condition.
        cond: Box<Expr>,
        /// If true.
        then: Box<Expr>,
        /// If false.
        other: Box<Expr>,
    },
    /// Whether a place is undefined; of a compound place: whether every part of it is.
    IsUndefined(Box<Place>),
    /// Whether a code belongs to a scalar type.
    IsMember {
        /// The code.
        value: Box<Expr>,
        /// The type.
        ty: TypeId,
    },
    /// Whether two places of the same compound type hold equal values; faults if a part of either
    /// is undefined, parts being compared in order up to the first difference.
    Same {
        /// One.
        left: Box<Place>,
        /// The other.
        right: Box<Place>,
        /// Where to report.
        site: Site,
    },
    /// Whether a condition holds for all (or some) values of a variable; stops when decided.
    Quantified {
        /// For all, or for some.
        all: bool,
        /// The [`crate::LocalKind::Bound`] variable.
        var: LocalId,
        /// Its values.
        over: Box<Iter>,
        /// The condition.
        body: Box<Expr>,
    },
    /// Number of elements of a multiset that satisfy a condition.
    Count {
        /// The multiset.
        set: Box<Place>,
        /// Slot number, a bound local.
        var: LocalId,
        /// The condition on it.
        body: Box<Expr>,
    },
    /// The result of a function.
    Call {
        /// Which.
        proc: ProcId,
        /// Its arguments.
        args: Vec<Arg>,
        /// Where to report calls nested too deeply.
        site: Site,
    },
    /// Statements, then a value.
    Block {
        /// The statements; no `Return`.
        body: Vec<Stmt>,
        /// The value.
        value: Box<Expr>,
    },
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// By value; range-checked against the parameter's type.
    Value {
        /// The value.
        value: Expr,
        /// Where to report.
        site: Site,
    },
    /// By value, from a scalar or real place, undefined values included; range-checked.
    Copy {
        /// The place.
        from: Place,
        /// Where to report.
        site: Site,
    },
    /// By reference.
    Ref(Place),
}

/// What a loop or quantifier runs over.
#[derive(Clone, Debug, PartialEq)]
pub enum Iter {
    /// All values of a scalar type, ascending by ordinal.
    Type(TypeId),
    /// `from`, `from + step`, … up (or down, if `step` is negative) to `to`, evaluated once in
    /// advance, in the order from, to, step. A step of zero faults; a range that is empty in the
    /// direction of the step is just empty.
    Range {
        /// First value.
        from: Expr,
        /// Bound, inclusive.
        to: Expr,
        /// Distance.
        step: Expr,
        /// Where to report.
        site: Site,
    },
    /// Slot numbers of the elements that a multiset holds when each is reached.
    Slots(Place),
}

/// A part of what is printed.
#[derive(Clone, Debug, PartialEq)]
pub enum PutPart {
    /// Literal text.
    Text(String),
    /// The name and value of a place, undefined values included; never faults on undefined parts.
    Place {
        /// The place.
        place: Place,
        /// Its source text.
        name: String,
    },
    /// A value, printed as of the type.
    Value {
        /// The value.
        value: Expr,
        /// How to print it; `None` prints a number (or a real).
        ty: Option<TypeId>,
    },
}

/// One branch of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchCase {
    /// Compared with the subject in order.
    pub values: Vec<Expr>,
    /// Done on the first match.
    pub body: Vec<Stmt>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// Stores a value in a scalar or real place. The value is evaluated before the place. Faults
    /// with [`crate::FaultKind::Range`] if the value is outside the place's type.
    Assign {
        /// Where to.
        to: Place,
        /// The value.
        value: Expr,
        /// Where to report.
        site: Site,
    },
    /// Copies a place to another, undefined parts included. Both have the same type, or both are
    /// scalar (then the value is range-checked), or both are real. The source is evaluated first.
    Copy {
        /// Where to.
        to: Place,
        /// Where from.
        from: Place,
        /// Where to report.
        site: Site,
    },
    /// Makes a place undefined in all its parts (multisets become empty).
    Undefine(Place),
    /// Sets every scalar in a place to its first value, reals to zero; multisets become empty.
    Clear(Place),
    /// Binds a [`crate::LocalKind::Ref`] local to a place, whose indices are evaluated now.
    Bind {
        /// The local.
        local: LocalId,
        /// The place.
        place: Place,
    },
    /// Gives a [`crate::LocalKind::Bound`] local its value.
    Let {
        /// The local.
        local: LocalId,
        /// The value.
        value: Expr,
    },
    /// Makes a [`crate::LocalKind::Storage`] local undefined again: a declaration that is entered.
    Fresh(LocalId),
    /// Runs the first branch whose condition is true, or `other`.
    If {
        /// Conditions with what to do.
        branches: Vec<(Expr, Vec<Stmt>)>,
        /// If none is true.
        other: Vec<Stmt>,
    },
    /// Runs the first case with a value equal to the subject, or `other`.
    Switch {
        /// The subject: a scalar.
        subject: Expr,
        /// The cases.
        cases: Vec<SwitchCase>,
        /// If none matches.
        other: Vec<Stmt>,
    },
    /// A loop over values.
    For {
        /// The bound variable.
        var: LocalId,
        /// Its values.
        over: Iter,
        /// What to do for each.
        body: Vec<Stmt>,
    },
    /// A loop on a condition, at most [`crate::Program::loop_limit`] times.
    While {
        /// The condition.
        cond: Expr,
        /// What to do while it holds.
        body: Vec<Stmt>,
        /// Where to report.
        site: Site,
    },
    /// Calls a subroutine and ignores its result, if it has one.
    Call {
        /// Which.
        proc: ProcId,
        /// Its arguments.
        args: Vec<Arg>,
        /// Where to report calls nested too deeply.
        site: Site,
    },
    /// Leaves the action or subroutine, with a result in functions; the result is range-checked
    /// against the result type.
    Return {
        /// The result.
        value: Option<Expr>,
        /// Where to report.
        site: Site,
    },
    /// Faults if the condition is false.
    Assert {
        /// The condition.
        cond: Expr,
        /// Where to report; its text is the message.
        site: Site,
    },
    /// Drops the successor (or initial state) that is being made if the condition is false.
    Assume {
        /// The condition.
        cond: Expr,
    },
    /// Counts one for a cover goal if the condition is true.
    Cover {
        /// The condition.
        cond: Expr,
        /// Number of the [`crate::PropertyKind::Cover`] property.
        property: u32,
    },
    /// Faults.
    Error {
        /// Where to report; its text is the message.
        site: Site,
    },
    /// Prints when an action is replayed or simulated; evaluates its parts always.
    Put(Vec<PutPart>),
    /// Adds a copy of a place to a multiset, in the first empty slot. The element type is the
    /// place's type (or both are scalar).
    Add {
        /// The multiset.
        set: Place,
        /// What to add.
        from: Place,
        /// Where to report a full multiset.
        site: Site,
    },
    /// Adds a scalar or real value to a multiset; range-checked.
    AddValue {
        /// The multiset.
        set: Place,
        /// What to add.
        value: Expr,
        /// Where to report a full multiset or a range.
        site: Site,
    },
    /// Removes the element in a slot; faults if it is absent.
    Remove {
        /// The multiset.
        set: Place,
        /// The slot number.
        slot: Expr,
        /// Where to report.
        site: Site,
    },
    /// Removes all elements that satisfy a condition.
    RemoveWhere {
        /// The multiset.
        set: Place,
        /// Slot number, a bound local.
        var: LocalId,
        /// The condition on it.
        cond: Expr,
    },
}
