//! Evaluation of expressions: left to right, to a defined value or a fault.
//!
//! Rare and large cases have functions of their own, so that the frames of the recursion stay small.

use crate::machine::{Blame, Eval, Machine};
use crate::value::Side;
use ergodic_ir::{Expr, FaultKind, Iter, LocalId, Place, Site, ops};

impl<'a> Machine<'a, '_> {
    /// The value of an expression.
    pub(crate) fn eval(&mut self, expr: &'a Expr) -> Eval<i64> {
        match expr {
            Expr::Int(value) => Ok(*value),
            // Zero has one form only, as in `ops::finite`.
            Expr::Real(value) => Ok(if *value == 0.0 { 0 } else { value.to_bits() as i64 }),
            Expr::Bound(local) => Ok(self.bound(*local)),
            Expr::Read { place, site } => self.read(place, *site),
            Expr::Unary { op, arg, site } => {
                let arg = self.eval(arg)?;
                self.checked(ops::unary(*op, arg), *site)
            }
            Expr::Binary { op, left, right, site } => {
                let left = self.eval(left)?;
                let right = self.eval(right)?;
                self.checked(ops::binary(*op, left, right), *site)
            }
            Expr::And(parts) => Ok(i64::from(self.all(parts)?)),
            Expr::Or(parts) => self.any(parts),
            Expr::If { cond, then, other } => {
                let chosen = if self.truth(cond)? { then } else { other };
                self.eval(chosen)
            }
            Expr::IsUndefined(place) => {
                let at = self.resolve(place)?;
                Ok(i64::from(self.is_undefined(at, place.ty)))
            }
            Expr::IsMember { value, ty } => {
                let value = self.eval(value)?;
                Ok(i64::from(self.scalar(*ty).contains(value)))
            }
            Expr::Same { left, right, site } => self.eval_same(left, right, *site),
            Expr::Quantified { all, var, over, body } => self.quantified(*all, *var, over, body),
            Expr::Count { set, var, body } => self.count(set, *var, body),
            Expr::Call { proc, args, site } => {
                let result = self.call(*proc, args, *site)?;
                Ok(result.expect("verified programs take results from functions only"))
            }
            Expr::Block { body, value } => {
                self.run(body)?;
                self.eval(value)
            }
        }
    }

    /// The value of a condition.
    pub(crate) fn truth(&mut self, expr: &'a Expr) -> Eval<bool> {
        Ok(self.eval(expr)? != 0)
    }

    /// Whether all conditions hold; stops at the first that does not.
    pub(crate) fn all(&mut self, parts: &'a [Expr]) -> Eval<bool> {
        for part in parts {
            if !self.truth(part)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn any(&mut self, parts: &'a [Expr]) -> Eval<i64> {
        for part in parts {
            if self.truth(part)? {
                return Ok(1);
            }
        }
        Ok(0)
    }

    #[inline(never)]
    fn read(&mut self, place: &'a Place, site: Site) -> Eval<i64> {
        let at = self.resolve(place)?;
        match self.load(at, place.ty) {
            Some(value) => Ok(value),
            None => Err(self.fault(FaultKind::Undefined, site, 0, Blame::Place)),
        }
    }

    fn checked(&mut self, result: ops::OpResult, site: Site) -> Eval<i64> {
        result.map_err(|(kind, value)| self.fault(kind, site, value, Blame::Site))
    }

    #[inline(never)]
    fn eval_same(&mut self, left: &'a Place, right: &'a Place, site: Site) -> Eval<i64> {
        let at_left = self.resolve(left)?;
        let left_name = self.place_name();
        let at_right = self.resolve(right)?;
        match self.same(at_left, at_right, left.ty) {
            Ok(same) => Ok(i64::from(same)),
            Err(side) => {
                let (at, name) = match side {
                    Side::Left => (at_left, left_name),
                    Side::Right => (at_right, self.place_name()),
                };
                let name = name.and_then(|name| self.undefined_part(at, left.ty, &name));
                self.set_place_name(name);
                Err(self.fault(FaultKind::Undefined, site, 0, Blame::Place))
            }
        }
    }

    #[inline(never)]
    fn quantified(&mut self, all: bool, var: LocalId, over: &'a Iter, body: &'a Expr) -> Eval<i64> {
        let mut values = self.values(over)?;
        while let Some(value) = self.next(&mut values) {
            self.set_bound(var, value);
            if self.truth(body)? != all {
                return Ok(i64::from(!all));
            }
        }
        Ok(i64::from(all))
    }

    #[inline(never)]
    fn count(&mut self, set: &'a Place, var: LocalId, body: &'a Expr) -> Eval<i64> {
        let at = self.resolve(set)?;
        let mut count = 0;
        for slot in 0..i64::from(self.multiset(set.ty).0) {
            if self.filled(at, set.ty, slot) {
                self.set_bound(var, slot);
                count += i64::from(self.truth(body)?);
            }
        }
        Ok(count)
    }
}
