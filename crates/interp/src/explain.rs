//! Faults in words.
//!
//! While explaining, the machine keeps the concrete name of the place it resolved last (indices
//! evaluated, references followed) and of every local; a fault becomes one sentence with it.

use crate::machine::{Blame, Machine};
use ergodic_ir::{
    BinaryOp, Expr, FaultKind, Program, ScalarKind, ScalarType, Site, Type, TypeId, UnaryOp, show,
};

/// A fault, explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// What kind of fault.
    pub kind: FaultKind,
    /// Where in the program.
    pub site: Site,
    /// The offending value, where there is one; 0 otherwise.
    pub value: i64,
    /// One sentence, with the offending value and the concrete place.
    pub message: String,
}

/// What is recorded while explaining.
#[derive(Debug, Default)]
pub(crate) struct Explain {
    /// Name of the place resolved last.
    pub(crate) place: String,
    /// Names of the locals of all frames, one per slot; of references what they refer to.
    pub(crate) names: Vec<String>,
    /// What was printed.
    pub(crate) printed: String,
    /// The last fault.
    pub(crate) fault: Option<Explained>,
}

/// A value as of a type, also if it is outside of it.
pub(crate) fn code(program: &Program, ty: TypeId, code: i64) -> String {
    match &program.types[ty.0 as usize] {
        Type::Scalar(scalar) if scalar.contains(code) => show::scalar(program, ty, code),
        Type::Scalar(scalar) if !matches!(scalar.kind, ScalarKind::Int | ScalarKind::Bool) => {
            owner(program, code)
                .map_or_else(|| code.to_string(), |t| show::scalar(program, t, code))
        }
        Type::Real { .. } => show::scalar(program, ty, code),
        _ => code.to_string(),
    }
}

/// The enumeration or scalarset to which a code belongs.
fn owner(program: &Program, code: i64) -> Option<TypeId> {
    let owns = |ty: &Type| {
        matches!(ty, Type::Scalar(s) if s.contains(code)
            && matches!(s.kind, ScalarKind::Enum { .. } | ScalarKind::Scalarset { .. }))
    };
    program.types.iter().position(owns).map(|i| TypeId(i as u32))
}

/// "out of range 0..3", or what else is wrong with a value that does not fit a type.
fn misfit(program: &Program, ty: TypeId) -> String {
    match &program.types[ty.0 as usize] {
        Type::Scalar(ScalarType { kind: ScalarKind::Int, intervals, .. }) => {
            let ranges: Vec<String> =
                intervals.iter().map(|(lo, hi)| format!("{lo}..{hi}")).collect();
            format!("is out of range {}", ranges.join(", "))
        }
        Type::Scalar(ScalarType { name: Some(name), .. }) => format!("is not a value of {name}"),
        Type::Scalar(scalar) if scalar.count() <= 8 => {
            let codes = (0..scalar.count()).filter_map(|ordinal| scalar.code(ordinal));
            let names: Vec<String> = codes.map(|c| show::scalar(program, ty, c)).collect();
            format!("is none of {}", names.join(", "))
        }
        Type::Real { digits, exponent } => {
            format!("is too large for real({digits}, {exponent})")
        }
        _ => "is not a value of its type".to_string(),
    }
}

/// The sentence about a fault; `place` is the place resolved last.
pub(crate) fn sentence(
    program: &Program,
    kind: FaultKind,
    site: Site,
    value: i64,
    blame: Blame<'_>,
    place: &str,
) -> String {
    match blame {
        Blame::Store(ty) => {
            format!("{place} := {} {}", code(program, ty, value), misfit(program, ty))
        }
        Blame::Index(ty) => {
            format!("index {} of {place} {}", code(program, ty, value), misfit(program, ty))
        }
        Blame::Param(local, proc) => format!(
            "argument {} := {} of {} {}",
            local.name,
            code(program, local.ty, value),
            proc.name,
            misfit(program, local.ty)
        ),
        Blame::Result(ty) => {
            format!("result {} {}", code(program, ty, value), misfit(program, ty))
        }
        Blame::Proc(proc) if kind == FaultKind::NoReturn => {
            format!("function {} ended without returning a value", proc.name)
        }
        Blame::Proc(proc) => {
            format!("call of {} nests deeper than {} calls", proc.name, program.call_limit)
        }
        Blame::Place => match kind {
            FaultKind::MultisetFull => format!("multiset {place} is full"),
            FaultKind::AbsentElement => format!("multiset {place} has no element in slot {value}"),
            _ => format!("{place} is undefined"),
        },
        Blame::Site => {
            let text = program.sites.get(site.0 as usize).map_or("", |info| info.text.as_str());
            site_sentence(program, kind, text)
        }
    }
}

/// The sentence about a fault of an expression or statement, whose source text or message is `text`.
fn site_sentence(program: &Program, kind: FaultKind, text: &str) -> String {
    let with = |what: String| if text.is_empty() { what } else { format!("{what}: {text}") };
    match kind {
        FaultKind::DivisionByZero => with("division by zero".to_string()),
        FaultKind::Overflow => with("the result is out of the range of numbers".to_string()),
        FaultKind::Assertion => with("assertion failed".to_string()),
        FaultKind::Error => with("error statement reached".to_string()),
        FaultKind::LoopLimit => {
            with(format!("while loop took more than {} iterations", program.loop_limit))
        }
        FaultKind::Step => with("for loop with a step of zero".to_string()),
        // The machine blames something more concrete for the rest.
        other => with(format!("{other:?}")),
    }
}

impl Machine<'_, '_> {
    /// Whether an expression yields a real.
    pub(crate) fn is_real(&self, expr: &Expr) -> bool {
        let real = |ty: TypeId| matches!(self.program.types[ty.0 as usize], Type::Real { .. });
        match expr {
            Expr::Real(_) => true,
            Expr::Bound(local) => real(self.frame.locals[local.0 as usize].ty),
            Expr::Read { place, .. } => real(place.ty),
            Expr::Unary { op, .. } => {
                !matches!(op, UnaryOp::Neg | UnaryOp::Not | UnaryOp::BitNot | UnaryOp::Truncate)
            }
            Expr::Binary { op, .. } => matches!(
                op,
                BinaryOp::RealAdd
                    | BinaryOp::RealSub
                    | BinaryOp::RealMul
                    | BinaryOp::RealDiv
                    | BinaryOp::RealRem
                    | BinaryOp::RealPow
            ),
            Expr::If { then, .. } => self.is_real(then),
            Expr::Call { proc, .. } => self.program.procs[proc.0 as usize].result.is_some_and(real),
            Expr::Block { value, .. } => self.is_real(value),
            _ => false,
        }
    }
}
