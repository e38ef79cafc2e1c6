//! Random small Murphi models, an independent oracle for them, and a shrinker.
//!
//! The point is an independent truth: nothing in this module uses any part of Ergodic. A test
//! draws a model with [`Model::random`], asks [`explore`] what is true of it, gives the text of
//! [`render`] to the engines, compares, and hands a disagreement to [`shrink`].
//!
//! ```text
//! seed ─ Model::random ─> Model ─┬─ explore ─> OracleResult ─┐
//!                                └─ render ──> text ─ engine ┴─ differ? ─ shrink ─> small Model
//! ```
//!
//! What may be compared: if the verdict is [`Verdict::Holds`], all counts, whatever the order of
//! exploration. If it is [`Verdict::Violated`], the depth of the shortest violation; and the kind
//! and the counts only against a breadth-first search in CMurphi's order, on models without
//! multisets (whose elements have no order).
//!
//! Choices made where the tools differ or the manual is silent; the generator avoids most of them
//! in [`Dialect::Portable`]:
//! - `x := y`, a value argument, and an element added to a multiset copy undefined parts of records
//!   and arrays. For scalars, `x := y` and a value argument copy undefined silently (CMurphi passes
//!   references; rumur reports an error at `x := y`); `return y` and `multisetadd(y, m)` read `y`.
//! - Value parameters are copies: they do not change when the variable passed does.
//! - A value parameter and a result are range-checked like an assignment.
//! - A multiset starts empty and `undefine` empties it.
//! - An alias is bound on entry; its indices are not evaluated again.
//! - A value of a union assigned to a variable of a member type is checked.
//!
//! To compare with rumur, run it with `--symmetry-reduction off --threads 1 --value-type int32_t`:
//! by default it computes in the narrowest type that holds the declared ranges, so `x - y` may
//! overflow. It fires rules in source order, so of several violations at the least depth it may
//! report another one.

mod check;
mod eval;
pub mod model;
mod oracle;
mod random;
mod render;
mod rng;
mod shrink;
#[cfg(test)]
mod tests;

pub use check::check;
pub use eval::{Fault, LOOP_LIMIT};
pub use model::Model;
pub use oracle::{Deadlock, Limits, OracleResult, Verdict, Violation, explore};
pub use random::{Dialect, Size};
pub use render::render;
pub use rng::Rng;
pub use shrink::shrink;
