//! The Murphi front end: from the text of a model to `ergodic_ir::Program`.
//!
//! The syntax half, [`parse()`], covers the language of CMurphi 5.4.9 and the extensions of rumur,
//! and yields the tree of [`ast`] together with diagnostics. A model that gave errors must not be
//! processed further.
//!
//! The semantic half resolves names, checks types and translates; [`compile()`] does both halves, and
//! [`Murphi`] offers them to the driver.

pub mod ast;
mod lexer;
mod lower;
mod parser;
mod suggest;
mod token;

pub use lower::{Murphi, Options, compile};
pub use parser::{MAX_ERRORS, parse};
