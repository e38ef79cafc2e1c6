//! Which scalarsets a program tells apart.
//!
//! Permuting the values of a scalarset must permute what the program does. The language of programs
//! leaves few ways to break that, and this is the list of them:
//! * a constant value of the scalarset is compared, stored, passed or used as an index;
//! * values are computed with, compared by order, or counted through as a range;
//! * `clear` sets a variable to the first value;
//! * the order of a loop over the values, or over a multiset of elements with such values, shows:
//!   see [`loops`];
//! * a quantifier over them has side effects, or the number of a multiset slot is used as a value.
//!
//! The answer errs on the side of breaking, with two exceptions that are deliberate: which of
//! several faults a loop or quantifier meets first is not looked at, nor whether an assertion sees
//! what an earlier round did.

mod loops;
mod walk;

use crate::plan::{is_group, member_codes};
use ergodic_ir::{Program, Site, Type, TypeId};

/// A scalarset and a place in the program that tells its values apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymmetryBreak {
    /// The scalarset type: leave it out of [`crate::Symmetries::new`].
    pub ty: TypeId,
    /// The part of the program.
    pub part: Part,
    /// The nearest place inside it that has a span of its own.
    pub site: Option<Site>,
    /// What is wrong there.
    pub reason: BreakReason,
}

/// A part of a program, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// An initial state.
    Start(usize),
    /// An action.
    Action(usize),
    /// A subroutine.
    Proc(usize),
    /// A property.
    Property(usize),
}

/// How values of a scalarset are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakReason {
    /// One particular value is named.
    Constant,
    /// Values are treated as numbers.
    Arithmetic,
    /// A variable is set to the first value.
    Clear,
    /// Values are counted through from one to another.
    Range,
    /// The result of a loop depends on the order of the values.
    Order,
    /// A quantifier has side effects.
    SideEffect,
    /// The number of a multiset slot is used as a value; it depends on the order of the values.
    SlotNumber,
}

impl std::fmt::Display for BreakReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            BreakReason::Constant => "one particular value is named",
            BreakReason::Arithmetic => "values are treated as numbers",
            BreakReason::Clear => "a variable is set to the first value",
            BreakReason::Range => "values are counted through as a range",
            BreakReason::Order => "the result of a loop can depend on the order of the values",
            BreakReason::SideEffect => "a quantifier over the values has side effects",
            BreakReason::SlotNumber => "the number of a multiset slot is used as a value",
        })
    }
}

/// Finds the scalarsets whose values a program tells apart, each with the first place found.
pub fn check_program(program: &Program) -> Vec<SymmetryBreak> {
    let sets = Sets::new(program);
    if sets.list.is_empty() {
        return Vec::new();
    }
    // Code can be nested deeply; pages of the stack are only used when touched.
    const STACK: usize = 512 << 20;
    std::thread::scope(|scope| {
        let run = || walk::program(program, &sets);
        match std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => run(),
        }
    })
}

/// The scalarsets with more than one value.
struct Sets<'a> {
    program: &'a Program,
    list: Vec<(TypeId, (i64, i64))>,
}

impl<'a> Sets<'a> {
    fn new(program: &'a Program) -> Sets<'a> {
        let mut list: Vec<(TypeId, (i64, i64))> = Vec::new();
        for (i, ty) in program.types.iter().enumerate() {
            if let Type::Scalar(scalar) = ty
                && is_group(scalar)
                && list.iter().all(|(_, codes)| *codes != scalar.intervals[0])
            {
                list.push((TypeId(i as u32), scalar.intervals[0]));
            }
        }
        Sets { program, list }
    }

    /// The numbers of the scalarsets that a scalar type has as members.
    fn members(&self, ty: TypeId) -> Vec<usize> {
        match &self.program.types[ty.0 as usize] {
            Type::Scalar(scalar) => {
                let codes = member_codes(&self.program.types, scalar);
                let known = |code: &(i64, i64)| self.list.iter().position(|(_, c)| c == code);
                codes.iter().filter_map(known).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The scalarsets in whose order the elements of a type are sorted: those of its scalars and of
    /// its array indices.
    fn inside(&self, ty: TypeId) -> Vec<usize> {
        let mut found = self.members(ty);
        match &self.program.types[ty.0 as usize] {
            Type::Scalar(_) | Type::Real { .. } => {}
            Type::Record { fields, .. } => {
                fields.iter().for_each(|field| found.extend(self.inside(field.ty)));
            }
            Type::Array { index, elem } => {
                found.extend(self.members(*index));
                found.extend(self.inside(*elem));
            }
            Type::Multiset { elem, .. } => found.extend(self.inside(*elem)),
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The scalarsets of which `clear` would pick the first value.
    fn cleared(&self, ty: TypeId) -> Vec<usize> {
        match &self.program.types[ty.0 as usize] {
            Type::Scalar(scalar) => {
                let first = scalar.intervals[0].0;
                let mut sets = self.members(ty);
                sets.retain(|set| self.holds(*set, first));
                sets
            }
            Type::Real { .. } | Type::Multiset { .. } => Vec::new(),
            Type::Record { fields, .. } => {
                fields.iter().flat_map(|field| self.cleared(field.ty)).collect()
            }
            Type::Array { elem, .. } => self.cleared(*elem),
        }
    }

    /// Whether a code is a value of a scalarset.
    fn holds(&self, set: usize, code: i64) -> bool {
        let (low, high) = self.list[set].1;
        (low..=high).contains(&code)
    }

    /// Whether a type has some, but not all, values of a scalarset, or has them as something else.
    fn cuts(&self, ty: TypeId, set: usize) -> bool {
        let (low, high) = self.list[set].1;
        match &self.program.types[ty.0 as usize] {
            Type::Scalar(scalar) => {
                let meets = |(l, h): &(i64, i64)| *l <= high && low <= *h;
                scalar.intervals.iter().any(meets) && !self.members(ty).contains(&set)
            }
            _ => false,
        }
    }
}
