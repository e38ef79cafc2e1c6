//! The rules of well-formed programs.
//!
//! A front end must only hand out programs that pass [`verify`]; executors, layout and instance
//! numbering rely on it and may panic on others. The verifier itself never panics.
//!
//! The rules, besides what the documentation of each type of the representation says:
//! * every number refers to something that exists; a type refers to earlier types only;
//! * no type and no state is larger than [`crate::MAX_STATE_BITS`], no scalar larger than
//!   [`MAX_SCALAR_BITS`], and all rule instances together can be numbered with 32 bits;
//! * places, expressions and statements are correctly typed;
//! * expressions and statements are nested at most [`MAX_DEPTH`] deep;
//! * guards and properties that can write state variables say so.

mod check;
mod expr;
mod parts;
mod place;
mod stmt;
mod types;

use crate::facts::depth;
use crate::{Facts, Program};
use check::Check;

/// How deeply expressions and statements may be nested.
pub const MAX_DEPTH: usize = 20_000;

/// Bits that a scalar may take: one unaligned load of 64 bits reads it wherever it lies.
pub const MAX_SCALAR_BITS: u32 = 57;

/// Further messages are dropped.
const MAX_MESSAGES: usize = 100;

/// Checks a program; each message names the part at fault and the broken rule.
pub fn verify(program: &Program) -> Result<(), Vec<String>> {
    let deep = depth::program_depth(program);
    if deep > MAX_DEPTH {
        let message = format!("program: code is nested {deep} levels deep, more than {MAX_DEPTH}");
        return Err(vec![message]);
    }
    let errors = depth::with_stack(deep, || messages(program));
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// All broken rules. Later rules are only looked at when the ones that they rest on hold.
fn messages(program: &Program) -> Vec<String> {
    let mut check = Check::new(program);
    let sizes = types::types(&mut check);
    parts::globals(&mut check);
    if check.errors.is_empty() {
        types::state_size(&mut check, &sizes);
        parts::parts(&mut check);
    }
    if check.errors.is_empty() {
        parts::instances(&mut check);
        purity(&mut check);
    }
    check.errors
}

/// Guards and properties that write state variables must be marked.
fn purity(check: &mut Check<'_>) {
    let program = check.program;
    let facts = Facts::new(program);
    for (i, (action, effects)) in program.actions.iter().zip(&facts.guards).enumerate() {
        if !action.impure_guard && !Facts::is_pure(effects) {
            check.enter("action", i, &action.name);
            check.error("the guard can write state variables, but impure_guard is not set");
        }
    }
    for (i, (property, effects)) in program.properties.iter().zip(&facts.properties).enumerate() {
        if !property.impure && !Facts::is_pure(effects) {
            check.enter("property", i, &property.name);
            check.error("the condition can write state variables, but impure is not set");
        }
    }
}
