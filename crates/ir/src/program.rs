//! The program and its parts above statements.

use crate::{Expr, Place, Site, SiteInfo, Stmt, Type, TypeId};
use ergodic_diag::Span;

/// A whole model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Types, referred to by [`TypeId`]; a type refers to earlier ones only.
    pub types: Vec<Type>,
    /// State variables.
    pub globals: Vec<Global>,
    /// Subroutines; they may call each other in any direction.
    pub procs: Vec<Proc>,
    /// Initial states: actions without a guard, run on a state that is undefined throughout, in
    /// this order.
    pub starts: Vec<Action>,
    /// Transitions, tried in this order.
    pub actions: Vec<Action>,
    /// Properties, checked in this order.
    pub properties: Vec<Property>,
    /// Places that can fault.
    pub sites: Vec<SiteInfo>,
    /// Iterations that one execution of a while loop may take.
    pub loop_limit: u64,
    /// Calls that may be nested.
    pub call_limit: u32,
}

/// Number of a state variable in [`Program::globals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GlobalId(pub u32);

/// A state variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Global {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// Its declaration.
    pub span: Span,
}

/// Number of a local in its action, subroutine or property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalId(pub u32);

/// A name inside an action, subroutine or property.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// Its name.
    pub name: String,
    /// Its type; of the thing referred to for [`LocalKind::Ref`].
    pub ty: TypeId,
    /// How it lives.
    pub kind: LocalKind,
}

/// How a local lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalKind {
    /// An immutable scalar or real that is never undefined: action parameters, loop and quantifier
    /// variables, value aliases. Read by [`Expr::Bound`]. For slot numbers of multisets the type is
    /// any integer type that holds them.
    Bound,
    /// A variable of its own, undefined on entry (or initialised from a by-value argument). It is
    /// read and written through places, laid out in memory like a state variable.
    Storage,
    /// Another name for a place, bound once per entry by [`Stmt::Bind`] or a by-reference argument.
    Ref,
}

/// Number of a subroutine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcId(pub u32);

/// A function or procedure.
#[derive(Clone, Debug, PartialEq)]
pub struct Proc {
    /// Its name.
    pub name: String,
    /// Its declaration.
    pub span: Span,
    /// Parameters: the first locals, in order.
    pub params: Vec<Pass>,
    /// Scalar or real result; results of other types are by-reference parameters.
    pub result: Option<TypeId>,
    /// Its locals, parameters first.
    pub locals: Vec<Local>,
    /// What it does.
    pub body: Vec<Stmt>,
    /// Where to report that a function ended without a result.
    pub end: Site,
}

/// How an argument is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Copied into a [`LocalKind::Storage`] local; scalars and reals only.
    Value,
    /// Bound to a [`LocalKind::Ref`] local of exactly the same type.
    Ref,
}

/// A guarded atomic command with parameters, or an initial state.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// Name to show.
    pub name: String,
    /// Its declaration.
    pub span: Span,
    /// Quantified parameters; the last varies fastest in the order of firing.
    pub params: Vec<Param>,
    /// Its locals, parameters among them.
    pub locals: Vec<Local>,
    /// Bindings ([`Stmt::Bind`] and [`Stmt::Let`] only) made before the guard is evaluated, in force
    /// in guard and body.
    pub prelude: Vec<Stmt>,
    /// Conjuncts of the guard, evaluated in order until one is false. Empty means true.
    pub guard: Vec<Expr>,
    /// What it does, on a copy of the state.
    pub body: Vec<Stmt>,
    /// Of the enabled actions only those with the least number fire.
    pub priority: i64,
    /// The guard or prelude calls subroutines that change state variables. Such a guard is evaluated
    /// on the copy that the body goes on with; other guards never change the state.
    pub impure_guard: bool,
}

/// A parameter of an action.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// The [`LocalKind::Bound`] local that holds it.
    pub local: LocalId,
    /// The values it takes, ascending.
    pub over: Domain,
}

/// What the parameters of actions range over.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// All values of a scalar type.
    Type(TypeId),
    /// `from`, `from + step`, … up (or down) to `to`. `step` is not zero; may be empty.
    Range {
        /// First value.
        from: i64,
        /// Bound, inclusive.
        to: i64,
        /// Distance.
        step: i64,
    },
    /// The slots of a multiset that hold an element in the source state: the parameter is the slot
    /// number, from zero. The place may use earlier parameters.
    Slots(Place),
}

/// A property of states.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// What it asks.
    pub kind: PropertyKind,
    /// Name to show.
    pub name: String,
    /// Its declaration.
    pub span: Span,
    /// Locals of its expression.
    pub locals: Vec<Local>,
    /// The condition; `None` for a cover goal that is met by [`Stmt::Cover`] only.
    pub expr: Option<Expr>,
    /// The condition calls subroutines that change state variables: it is evaluated on a copy.
    pub impure: bool,
}

/// What a property asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PropertyKind {
    /// Holds in every reachable state.
    Invariant,
    /// States in which it does not hold are out of scope: dropped as if never reached.
    Assumption,
    /// Holds in some reachable state.
    Cover,
    /// From every reachable state, a state can be reached in which it holds.
    Liveness,
}
