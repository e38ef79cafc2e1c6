//! The text form of programs (`.eir` files): a reader and a printer.
//!
//! A text is a sequence of S-expressions, one per part of the program; `;` starts a comment. What
//! [`print()`] writes, [`parse()`] reads back as an equal program, whether it is well formed or not.
//!
//! ```text
//! (eir 1)
//! (loop-limit 1000)
//! (call-limit 100)
//! (type Node (scalar (scalarset Node) 1..3 undefinable))
//! (type - (array Node Node))                      ; a type without a name, referred to as #1
//! (global next 0:20-24 #1)                        ; a span: source, start, end
//! (action "Pass on" 0:40-60
//!   (local n bound Node)
//!   (param n (type Node))
//!   (guard (undefined? (at $next (index @0 n))))  ; @0: the site to report
//!   (body (assign @1 (at $next (index @0 n)) n)))
//! (site 0:44-48 "next[n]")
//! (site 0:50-58 "next[n]")
//! ```
//!
//! Things are referred to by name (`Node`, `$next`, `.field`), by name and number if the name is not
//! unique (`n#2`), or by number alone (`#2`). Numbers count from zero in the order of the text. The
//! type of a place follows from its path and is only written (`: Node`) where it does not. A real
//! that is not finite is written as its bits (`0x7ff0000000000000`).

mod doc;
mod lex;
mod names;
mod ops;
mod parse;
mod parse_code;
mod print;
mod print_code;

use crate::facts::depth;
use crate::verify::MAX_DEPTH;
use crate::{Program, Step, Type, TypeId};

/// The version of the text form that is written and read.
const VERSION: i64 = 1;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Line, counted from one.
    pub line: u32,
    /// Column in characters, counted from one.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for TextError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for TextError {}

/// Writes a program. It need not be well formed, but must not be nested much more deeply than
/// [`MAX_DEPTH`].
pub fn print(program: &Program) -> String {
    depth::with_stack(depth::program_depth(program), || print::print(program))
}

/// Reads a program. It need not be well formed ([`crate::verify`] tells), but must not be nested
/// more deeply than [`MAX_DEPTH`].
pub fn parse(text: &str) -> Result<Program, TextError> {
    let (tokens, deepest) = lex::lex(text)?;
    depth::with_stack(deepest.min(MAX_DEPTH), || parse::parse(tokens))
}

/// The type that a step leads to, if it fits.
fn step_type(types: &[Type], ty: TypeId, step: &Step) -> Option<TypeId> {
    match (types.get(ty.0 as usize)?, step) {
        (Type::Record { fields, .. }, Step::Field(field)) => {
            fields.get(*field as usize).map(|field| field.ty)
        }
        (Type::Array { elem, .. }, Step::Index { .. })
        | (Type::Multiset { elem, .. }, Step::Slot { .. }) => Some(*elem),
        _ => None,
    }
}
