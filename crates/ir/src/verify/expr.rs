//! Rules of expressions.

use super::check::{Check, Kind, Returns};
use crate::{
    Arg, BinaryOp, Expr, Iter, LocalId, LocalKind, Pass, Proc, ProcId, Site, Type, UnaryOp,
};

impl<'a> Check<'a> {
    /// Checks an expression that must be a code or truth value.
    pub(super) fn int(&mut self, expr: &Expr, what: &str) {
        let kind = self.expr(expr);
        self.same_kind(kind, Some(Kind::Int), what);
    }

    /// Checks an expression; returns its kind if that is known.
    pub(super) fn expr(&mut self, expr: &Expr) -> Option<Kind> {
        match expr {
            Expr::Int(_) => Some(Kind::Int),
            Expr::Real(value) => {
                if !value.is_finite() {
                    self.error(format!("the real constant {value} is not finite"));
                }
                Some(Kind::Real)
            }
            Expr::Bound(local) => {
                let local = self.local_of(*local, LocalKind::Bound, "a value")?;
                self.simple(local.ty, "a value")
            }
            Expr::Read { place, site } => {
                self.site(*site);
                self.simple_place(place, "what is read")
            }
            Expr::Unary { op, arg, site } => self.unary(*op, arg, *site),
            Expr::Binary { op, left, right, site } => {
                self.site(*site);
                self.binary(*op, left, right)
            }
            Expr::And(list) | Expr::Or(list) => {
                list.iter().for_each(|expr| self.int(expr, "a condition"));
                Some(Kind::Int)
            }
            Expr::If { cond, then, other } => {
                self.int(cond, "a condition");
                let kind = self.expr(then);
                let second = self.expr(other);
                self.same_kind(second, kind, "the second branch of a conditional expression");
                kind
            }
            Expr::Call { proc, args, site } => self.function(*proc, args, *site),
            Expr::Block { body, value } => {
                let outside = std::mem::replace(&mut self.returns, Returns::Never);
                self.stmts(body);
                let kind = self.expr(value);
                self.returns = outside;
                kind
            }
            Expr::IsUndefined(_)
            | Expr::IsMember { .. }
            | Expr::Same { .. }
            | Expr::Quantified { .. }
            | Expr::Count { .. } => {
                self.question(expr);
                Some(Kind::Int)
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, arg: &Expr, site: Site) -> Option<Kind> {
        self.site(site);
        let arg = self.expr(arg);
        let wanted = match op {
            UnaryOp::Neg | UnaryOp::Not | UnaryOp::BitNot | UnaryOp::ToReal => Kind::Int,
            _ => Kind::Real,
        };
        self.same_kind(arg, Some(wanted), &format!("the argument of {op:?}"));
        Some(match op {
            UnaryOp::Neg | UnaryOp::Not | UnaryOp::BitNot | UnaryOp::Truncate => Kind::Int,
            _ => Kind::Real,
        })
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Option<Kind> {
        let (wanted, kind) = match op {
            BinaryOp::RealAdd
            | BinaryOp::RealSub
            | BinaryOp::RealMul
            | BinaryOp::RealDiv
            | BinaryOp::RealRem
            | BinaryOp::RealPow => (Kind::Real, Kind::Real),
            BinaryOp::RealEq | BinaryOp::RealNe | BinaryOp::RealLt | BinaryOp::RealLe => {
                (Kind::Real, Kind::Int)
            }
            _ => (Kind::Int, Kind::Int),
        };
        for arg in [left, right] {
            let arg = self.expr(arg);
            self.same_kind(arg, Some(wanted), &format!("an argument of {op:?}"));
        }
        Some(kind)
    }

    /// The expressions that ask about places, types and many values.
    fn question(&mut self, expr: &Expr) {
        match expr {
            Expr::IsUndefined(place) => drop(self.place(place)),
            Expr::IsMember { value, ty } => {
                self.int(value, "what may be a member of a type");
                self.scalar(*ty, "a type with members");
            }
            Expr::Same { left, right, site } => {
                self.site(*site);
                let (left, right) = (self.place(left), self.place(right));
                let (Some(left), Some(right)) = (left, right) else { return };
                if left != right {
                    self.error(format!("Same compares types {} and {}", left.0, right.0));
                } else if let Some(Type::Scalar(_) | Type::Real { .. }) = self.ty(left) {
                    self.error("Same compares places of compound type only");
                }
            }
            Expr::Quantified { var, over, body, .. } => {
                self.iter(*var, over);
                self.int(body, "a condition");
            }
            Expr::Count { set, var, body } => {
                self.multiset(set);
                self.variable(*var, "a slot number");
                self.int(body, "a condition");
            }
            _ => {}
        }
    }

    /// Checks what a loop or quantifier runs over, and its variable.
    pub(super) fn iter(&mut self, var: LocalId, over: &Iter) {
        match over {
            Iter::Type(ty) => drop(self.scalar(*ty, "what a loop runs over")),
            Iter::Range { from, to, step, site } => {
                self.site(*site);
                for bound in [from, to, step] {
                    self.int(bound, "a bound of a range");
                }
            }
            Iter::Slots(set) => drop(self.multiset(set)),
        }
        self.variable(var, "a loop variable");
    }

    fn function(&mut self, id: ProcId, args: &[Arg], site: Site) -> Option<Kind> {
        let proc = self.call(id, args, site)?;
        match proc.result {
            Some(result) => self.simple(result, "a result"),
            None => {
                let name = &proc.name;
                self.error(format!("{name:?} has no result, but is called for its value"));
                None
            }
        }
    }

    /// Checks a call; returns what is called.
    pub(super) fn call(&mut self, id: ProcId, args: &[Arg], site: Site) -> Option<&'a Proc> {
        self.site(site);
        let Some(proc) = self.program.procs.get(id.0 as usize) else {
            self.error(format!("there is no subroutine {}", id.0));
            return None;
        };
        if proc.params.len() != args.len() {
            let (name, takes, gets) = (&proc.name, proc.params.len(), args.len());
            self.error(format!("{name:?} takes {takes} arguments, but gets {gets}"));
        }
        for (position, arg) in args.iter().enumerate() {
            self.arg(proc, position, arg);
        }
        Some(proc)
    }

    fn arg(&mut self, proc: &'a Proc, position: usize, arg: &Arg) {
        let what = format!("argument {position} of {:?}", proc.name);
        let ty = proc.locals.get(position).map(|local| local.ty);
        let mode = match arg {
            Arg::Value { value, site } => {
                self.site(*site);
                let kind = self.expr(value);
                let wanted = ty.and_then(|ty| self.simple(ty, "a by-value parameter"));
                self.same_kind(kind, wanted, &what);
                Pass::Value
            }
            Arg::Copy { from, site } => {
                self.site(*site);
                let kind = self.simple_place(from, &what);
                let wanted = ty.and_then(|ty| self.simple(ty, "a by-value parameter"));
                self.same_kind(kind, wanted, &what);
                Pass::Value
            }
            Arg::Ref(place) => {
                let is = self.place(place);
                if let (Some(is), Some(ty)) = (is, ty)
                    && is != ty
                {
                    self.error(format!("{what} refers to type {}, not {}", is.0, ty.0));
                }
                Pass::Ref
            }
        };
        if proc.params.get(position).is_some_and(|pass| *pass != mode) {
            self.error(format!("{what} is passed in another way than {mode:?}"));
        }
    }
}
