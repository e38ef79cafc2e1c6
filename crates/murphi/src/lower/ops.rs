//! Operators, with folding of constants.
//!
//! Evaluation stays left to right and undefined values stay noticed: an operand is dropped only if
//! it is known or can never be evaluated.

use ergodic_diag::{Diagnostic, Span};
use ergodic_ir::{BinaryOp as Bin, Expr as Ir, FaultKind, UnaryOp as Un, ops};

use super::Lower;
use super::expr::{Operand, Typed};
use super::types::Ty;
use crate::ast::{BinaryOp, Expr, UnaryOp};

/// The code of a known value, reals as their bits.
fn literal(e: &Ir) -> Option<i64> {
    match e {
        Ir::Int(value) => Some(*value),
        Ir::Real(value) => Some(value.to_bits() as i64),
        _ => None,
    }
}

fn from_code(code: i64, real: bool) -> Ir {
    if real { Ir::Real(f64::from_bits(code as u64)) } else { Ir::Int(code) }
}

/// Whether an operator yields a real.
fn gives_real(op: Un) -> bool {
    !matches!(op, Un::Neg | Un::Not | Un::BitNot | Un::Truncate)
}

fn binary_gives_real(op: Bin) -> bool {
    use Bin::{RealAdd, RealDiv, RealMul, RealPow, RealRem, RealSub};
    matches!(op, RealAdd | RealSub | RealMul | RealDiv | RealRem | RealPow)
}

impl<'a> Lower<'a> {
    pub(super) fn unary(&mut self, e: &'a Expr, op: UnaryOp, operand: &'a Expr) -> Typed {
        if op == UnaryOp::Not {
            let arg = self.boolean(operand, "the operand of `!`");
            return Typed::new(self.not(arg, e.span), Ty::Bool);
        }
        let value = self.value(operand);
        let symbol = match op {
            UnaryOp::Neg => "-",
            UnaryOp::Plus => "+",
            _ => "~",
        };
        match (op, value.ty) {
            (_, Ty::Error) => Typed::error(),
            (UnaryOp::Plus, Ty::Int | Ty::Real) => value,
            (UnaryOp::Neg, Ty::Real) => {
                Typed::new(self.apply_unary(Un::RealNeg, value.expr, e.span), Ty::Real)
            }
            (UnaryOp::Neg, Ty::Int) => {
                Typed::new(self.apply_unary(Un::Neg, value.expr, e.span), Ty::Int)
            }
            (UnaryOp::BitNot, Ty::Int) => {
                Typed::new(self.apply_unary(Un::BitNot, value.expr, e.span), Ty::Int)
            }
            (_, ty) => {
                self.not_a_number(operand.span, symbol, ty);
                Typed::error()
            }
        }
    }

    fn not(&mut self, arg: Ir, span: Span) -> Ir {
        match arg {
            Ir::Int(value) => Ir::Int(i64::from(value == 0)),
            arg => Ir::Unary { op: Un::Not, arg: Box::new(arg), site: self.site(span) },
        }
    }

    fn not_a_number(&mut self, span: Span, symbol: &str, ty: Ty) {
        let found = self.types.describe(ty);
        let mut d = Diagnostic::error(format!("`{symbol}` needs numbers"))
            .at(span, format!("this is {found}"));
        if let Ty::Scalar(id) = ty
            && self.types.scalarset_in(id)
        {
            d = d.help("values of a scalarset can only be compared with `=` and `!=`, assigned and used as index: anything else would break symmetry");
        }
        self.report(d);
    }

    /// Applies an operator, at once if the operand is known.
    pub(super) fn apply_unary(&mut self, op: Un, arg: Ir, span: Span) -> Ir {
        if let Some(code) = literal(&arg) {
            match ops::unary(op, code) {
                Ok(code) => return from_code(code, gives_real(op)),
                Err((kind, _)) => self.constant_fault(kind, span),
            }
        }
        Ir::Unary { op, arg: Box::new(arg), site: self.site(span) }
    }

    /// Applies an operator, at once if both operands are known.
    pub(super) fn apply(&mut self, op: Bin, left: Ir, right: Ir, span: Span) -> Ir {
        if let (Some(a), Some(b)) = (literal(&left), literal(&right)) {
            match ops::binary(op, a, b) {
                Ok(code) => return from_code(code, binary_gives_real(op)),
                Err((kind, _)) => self.constant_fault(kind, span),
            }
        }
        let site = self.site(span);
        Ir::Binary { op, left: Box::new(left), right: Box::new(right), site }
    }

    /// In a constant a fault is an error; elsewhere it happens when the expression is evaluated.
    fn constant_fault(&mut self, kind: FaultKind, span: Span) {
        if !self.constant {
            return;
        }
        let label = match kind {
            FaultKind::DivisionByZero => "division by zero",
            _ => "the result is out of range",
        };
        self.error(span, "this constant has no value", label);
    }

    pub(super) fn binary(
        &mut self,
        e: &'a Expr,
        op: BinaryOp,
        left: &'a Expr,
        right: &'a Expr,
    ) -> Typed {
        match op {
            BinaryOp::Implies => {
                let a = self.boolean(left, "the left side of `->`");
                let b = self.boolean(right, "the right side of `->`");
                let a = self.not(a, left.span);
                Typed::new(disjoin(vec![a, b]), Ty::Bool)
            }
            BinaryOp::Eq | BinaryOp::Ne => self.equality(e, op, left, right),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                self.ordering(e, op, left, right)
            }
            _ => self.arithmetic(e, op, left, right),
        }
    }

    fn equality(&mut self, e: &'a Expr, op: BinaryOp, left: &'a Expr, right: &'a Expr) -> Typed {
        let a = self.operand(left);
        let b = self.operand(right);
        if let (Operand::Place(x), Operand::Place(y)) = (&a, &b)
            && let Ty::Compound(id) = self.types.ty(x.place.ty)
            && x.place.ty == y.place.ty
        {
            if self.types.holds_multiset(id) {
                let d = Diagnostic::error("multisets cannot be compared")
                    .at(e.span, format!("these are {}", self.types.show(id)))
                    .help("count elements with `multisetcount`");
                self.report(d);
            }
            let site = self.site(e.span);
            let (left, right) = (Box::new(x.place.clone()), Box::new(y.place.clone()));
            let same = Ir::Same { left, right, site };
            let expr = if op == BinaryOp::Ne { self.not(same, e.span) } else { same };
            return Typed::new(expr, Ty::Bool);
        }
        let a = self.operand_value(a, left.span);
        let b = self.operand_value(b, right.span);
        self.simple_equality(e, op, a, b)
    }

    fn operand_value(&mut self, operand: Operand, span: Span) -> Typed {
        match operand {
            Operand::Place(designator) => self.read(designator, span),
            Operand::Value(value) => value,
        }
    }

    fn simple_equality(&mut self, e: &Expr, op: BinaryOp, a: Typed, b: Typed) -> Typed {
        let real = match (a.ty, b.ty) {
            (Ty::Error, _) | (_, Ty::Error) => return Typed::new(Ir::Int(0), Ty::Bool),
            (Ty::Bool, Ty::Bool) | (Ty::Int, Ty::Int) => Some(false),
            (Ty::Int | Ty::Real, Ty::Int | Ty::Real) => Some(true),
            (Ty::Scalar(x), Ty::Scalar(y)) if self.types.overlap(x, y) => Some(false),
            (Ty::Slot(x), Ty::Slot(y)) if x == y => Some(false),
            _ => None,
        };
        let Some(real) = real else {
            self.cannot_compare(e, op, a.ty, b.ty);
            return Typed::new(Ir::Int(0), Ty::Bool);
        };
        let wanted = if real { Ty::Real } else { Ty::Int };
        let left = self.convert(a, wanted, e.span);
        let right = self.convert(b, wanted, e.span);
        let op = match (op, real) {
            (BinaryOp::Eq, false) => Bin::Eq,
            (BinaryOp::Eq, true) => Bin::RealEq,
            (_, false) => Bin::Ne,
            (_, true) => Bin::RealNe,
        };
        Typed::new(self.apply(op, left, right, e.span), Ty::Bool)
    }

    fn cannot_compare(&mut self, e: &Expr, op: BinaryOp, a: Ty, b: Ty) {
        let (left, right) = (self.types.describe(a), self.types.describe(b));
        let message = format!("`{}` cannot compare {left} with {right}", op.symbol());
        let mut d = Diagnostic::error(message).at(e.span, "different types");
        let sets =
            [a, b].into_iter().any(|t| matches!(t, Ty::Scalar(id) if self.types.scalarset_in(id)));
        if sets && (a == Ty::Int || b == Ty::Int) {
            d = d.help("values of a scalarset have no numbers: that would break symmetry");
        }
        self.report(d);
    }

    fn ordering(&mut self, e: &'a Expr, op: BinaryOp, left: &'a Expr, right: &'a Expr) -> Typed {
        let Some((a, b, real)) = self.numbers(op, left, right, e.span) else {
            return Typed::new(Ir::Int(0), Ty::Bool);
        };
        let (less, less_equal) = if real { (Bin::RealLt, Bin::RealLe) } else { (Bin::Lt, Bin::Le) };
        // The operands stay in their order; there is no undefined number, so negation is exact.
        let (base, inverted) = match op {
            BinaryOp::Lt => (less, false),
            BinaryOp::Le => (less_equal, false),
            BinaryOp::Gt => (less_equal, true),
            _ => (less, true),
        };
        let expr = self.apply(base, a, b, e.span);
        let expr = if inverted { self.not(expr, e.span) } else { expr };
        Typed::new(expr, Ty::Bool)
    }

    /// Two numbers of one kind, and whether they are reals.
    fn numbers(
        &mut self,
        op: BinaryOp,
        left: &'a Expr,
        right: &'a Expr,
        span: Span,
    ) -> Option<(Ir, Ir, bool)> {
        let a = self.value(left);
        let b = self.value(right);
        let number = |ty| matches!(ty, Ty::Int | Ty::Real);
        for (value, at) in [(&a, left.span), (&b, right.span)] {
            if value.ty != Ty::Error && !number(value.ty) {
                self.not_a_number(at, op.symbol(), value.ty);
            }
        }
        if !number(a.ty) || !number(b.ty) {
            return None;
        }
        let real = a.ty == Ty::Real || b.ty == Ty::Real;
        let wanted = if real { Ty::Real } else { Ty::Int };
        let left = self.convert(a, wanted, span);
        let right = self.convert(b, wanted, span);
        Some((left, right, real))
    }

    fn arithmetic(&mut self, e: &'a Expr, op: BinaryOp, left: &'a Expr, right: &'a Expr) -> Typed {
        let Some((a, b, real)) = self.numbers(op, left, right, e.span) else {
            return Typed::error();
        };
        let chosen = match (op, real) {
            (BinaryOp::Add, false) => Bin::Add,
            (BinaryOp::Sub, false) => Bin::Sub,
            (BinaryOp::Mul, false) => Bin::Mul,
            (BinaryOp::Div, false) => Bin::Div,
            (BinaryOp::Mod, false) => Bin::Rem,
            (BinaryOp::BitXor, false) => Bin::BitXor,
            (BinaryOp::Shl, false) => Bin::Shl,
            (BinaryOp::Shr, false) => Bin::Shr,
            (BinaryOp::Add, true) => Bin::RealAdd,
            (BinaryOp::Sub, true) => Bin::RealSub,
            (BinaryOp::Mul, true) => Bin::RealMul,
            (BinaryOp::Div, true) => Bin::RealDiv,
            _ => {
                let mut d = Diagnostic::error(format!("`{}` needs integers", op.symbol()))
                    .at(e.span, "an operand is a real");
                if op == BinaryOp::Mod {
                    d = d.help("use `fmod` for reals");
                }
                self.report(d);
                return Typed::error();
            }
        };
        let ty = if real { Ty::Real } else { Ty::Int };
        Typed::new(self.apply(chosen, a, b, e.span), ty)
    }

    /// `a & b & …` or `a | b | …`: logical, or bitwise if allowed and the operands are integers.
    pub(super) fn chain(&mut self, and: bool, list: &'a [Expr], overloaded: bool) -> Typed {
        let values: Vec<Typed> = list.iter().map(|e| self.value(e)).collect();
        let integers = values.iter().any(|v| v.ty == Ty::Int);
        let symbol = if and { "&" } else { "|" };
        let bitwise = overloaded && integers && !values.iter().any(|v| v.ty == Ty::Bool);
        let wanted = if bitwise { Ty::Int } else { Ty::Bool };
        for (value, e) in values.iter().zip(list) {
            if value.ty != wanted && value.ty != Ty::Error {
                let (found, wanted) = (self.types.describe(value.ty), self.types.describe(wanted));
                let message = format!("the operands of `{symbol}` must be {wanted}");
                self.error(e.span, message, format!("this is {found}"));
            }
        }
        if values.iter().any(|v| v.ty == Ty::Error) {
            return Typed::new(Ir::Int(0), if bitwise { Ty::Error } else { Ty::Bool });
        }
        let parts = values.into_iter().map(|v| v.expr);
        if !bitwise {
            let parts = parts.collect();
            return Typed::new(if and { conjoin(parts) } else { disjoin(parts) }, Ty::Bool);
        }
        let op = if and { Bin::BitAnd } else { Bin::BitOr };
        let span = list.iter().map(|e| e.span).reduce(Span::to).unwrap_or_default();
        let folded = parts.reduce(|a, b| self.apply(op, a, b, span));
        Typed::new(folded.unwrap_or(Ir::Int(0)), Ty::Int)
    }
}

/// All of them: what is known to be true is left out, and what follows something false.
pub(super) fn conjoin(parts: Vec<Ir>) -> Ir {
    join(parts, Ir::Int(1), Ir::And)
}

/// One of them: what is known to be false is left out, and what follows something true.
fn disjoin(parts: Vec<Ir>) -> Ir {
    join(parts, Ir::Int(0), Ir::Or)
}

fn join(parts: Vec<Ir>, neutral: Ir, make: fn(Vec<Ir>) -> Ir) -> Ir {
    let mut kept = Vec::new();
    for part in parts {
        let decided = matches!(part, Ir::Int(_)) && part != neutral;
        if part != neutral {
            kept.push(part);
        }
        if decided {
            break;
        }
    }
    match kept.len() {
        0 => neutral,
        1 => kept.remove(0),
        _ => make(kept),
    }
}
