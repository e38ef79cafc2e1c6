//! Symmetry reduction: the values of a scalarset are interchangeable, so of all states that differ
//! only by a permutation of them one, the canonical member of their *orbit*, stands for all.
//!
//! * [`Symmetries`] knows what permutations do to packed states and finds canonical members, exactly:
//!   two states have the same canonical form if and only if they are in the same orbit.
//! * [`Reduced`] is a system of canonical states, made from another system.
//! * [`check_program`] finds scalarsets whose values the program tells apart; they must be left out.
//! * [`concretise`] turns a path of canonical states back into a run of the model.
//!
//! Instead of its canonical member, CMurphi's normal form may stand for an orbit
//! ([`Symmetries::with_normal_form`]): then counts are CMurphi's.
//!
//! How the parts fit: `plan` cuts states into chunks, `sorter` deals with the scalarsets that need
//! nothing but sorting; for the others `apply` permutes, `refine` tells values apart, `canon` decides; `check` and its parts look at programs.
//!
//! Invariants:
//! * canonising allocates nothing once its working memory has grown;
//! * a canonical form is a state of the same shape, with multisets sorted and unused bits zero;
//! * undefined values stay undefined.

mod apply;
mod canon;
mod check;
mod concretise;
mod memo;
mod normal;
mod plan;
mod reduced;
mod refine;
mod sorter;

pub use canon::CanonScratch;
pub use check::{BreakReason, Part, SymmetryBreak, check_program};
pub use concretise::{NoStep, concretise};
pub use plan::{Group, Symmetries};
pub use reduced::{Reduced, ReducedScratch};
