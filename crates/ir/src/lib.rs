//! The program: what every front end makes and every executor runs.
//!
//! A [`Program`] is typed, language-free and finite: state variables of scalar, record, array and
//! multiset types, guarded atomic [`Action`]s with parameters, subroutines, and properties. Values
//! of scalar types are 64-bit codes (see [`Type`]); states are bit-packed by [`Layout`].
//!
//! The rules that make a program well formed are in [`verify`]; a front end must only hand out
//! programs that pass it, and executors rely on them.

pub mod bits;
mod facts;
mod fault;
mod frontend;
mod instances;
mod layout;
pub mod ops;
mod program;
pub mod real;
pub mod show;
mod syntax;
pub mod text;
mod types;
pub mod verify;

pub use facts::{Access, AccessStep, Base, Effects, Facts, Key, Scope, stays_defined};
pub use fault::{FaultKind, Site, SiteInfo};
pub use frontend::{FrontEnd, FrontOptions};
pub use instances::{Instances, domain_size, domain_value, range_len};
pub use layout::{
    Layout, MAX_STATE_BITS, MultisetAt, REAL_BITS, UNDEFINED_REAL, normalise_multiset,
};
pub use program::{
    Action, Domain, Global, GlobalId, Local, LocalId, LocalKind, Param, Pass, Proc, ProcId,
    Program, Property, PropertyKind,
};
pub use syntax::{
    Arg, BinaryOp, Expr, Iter, Place, PutPart, Root, Step, Stmt, SwitchCase, UnaryOp,
};
pub use types::{Field, ScalarKind, ScalarType, Type, TypeId};
