//! What the outcome of a condition says about the state.
//!
//! Only conditions without calls and statements are looked at: evaluating them again changes nothing
//! and reads nothing that was not read before. An operand is learned about if it is a scalar with a
//! known address; a value that no outcome allows means that the way is not taken.

use super::{Known, Values, Walk, Walked};
use ergodic_ir::{BinaryOp, Expr, Iter, Place, Step, Type, UnaryOp};

/// Nodes of a condition that are looked at before it is left alone.
const MAX_NODES: usize = 200;

impl<'a> Walk<'a> {
    /// Notes that a condition, just evaluated, was true (or false).
    pub(super) fn learn(&mut self, cond: &'a Expr, truth: bool) -> Walked<()> {
        if self.env.dead || !is_plain(cond) {
            return Ok(());
        }
        self.learn_plain(cond, truth)
    }

    fn learn_plain(&mut self, cond: &'a Expr, truth: bool) -> Walked<()> {
        self.deeper(|walk| match cond {
            Expr::And(list) | Expr::Or(list) => {
                let conjunctive = matches!(cond, Expr::And(_)) == truth;
                if conjunctive || list.len() == 1 {
                    list.iter().try_for_each(|part| walk.learn_plain(part, truth))?;
                }
                Ok(())
            }
            Expr::Unary { op: UnaryOp::Not, arg, .. } => walk.learn_plain(arg, !truth),
            Expr::Binary { op, left, right, .. } => walk.learn_binary(*op, left, right, truth),
            Expr::IsUndefined(place) => walk.learn_undefined(place, truth),
            Expr::IsMember { value, ty } => match walk.ty(*ty)? {
                Type::Scalar(scalar) => walk.limit(value, |code| scalar.contains(code) == truth),
                _ => Ok(()),
            },
            // A boolean place.
            Expr::Read { .. } => walk.limit(cond, |code| (code != 0) == truth),
            _ => Ok(()),
        })
    }

    fn learn_binary(
        &mut self,
        op: BinaryOp,
        left: &'a Expr,
        right: &'a Expr,
        truth: bool,
    ) -> Walked<()> {
        let (a, b) = (self.expr(left)?, self.expr(right)?);
        match (op, truth) {
            (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => {
                let both = a.and(&b);
                self.limit_to(left, &both)?;
                self.limit_to(right, &both)
            }
            (BinaryOp::Eq, false) | (BinaryOp::Ne, true) => {
                if let Some(other) = b.single() {
                    self.limit(left, |code| code != other)?;
                }
                match a.single() {
                    Some(other) => self.limit(right, |code| code != other),
                    None => Ok(()),
                }
            }
            (BinaryOp::Lt, true) => self.ordered(left, (&a, &b), right, 1),
            (BinaryOp::Le, true) => self.ordered(left, (&a, &b), right, 0),
            (BinaryOp::Lt, false) => self.ordered(right, (&b, &a), left, 0),
            (BinaryOp::Le, false) => self.ordered(right, (&b, &a), left, 1),
            _ => Ok(()),
        }
    }

    /// `small + gap <= large`.
    fn ordered(
        &mut self,
        small: &'a Expr,
        (low, high): (&Values, &Values),
        large: &'a Expr,
        gap: i64,
    ) -> Walked<()> {
        if let Some((_, most)) = high.hull() {
            self.limit(small, |code| code.saturating_add(gap) <= most)?;
        }
        match low.hull() {
            Some((least, _)) => self.limit(large, |code| least.saturating_add(gap) <= code),
            None => Ok(()),
        }
    }

    fn learn_undefined(&mut self, place: &'a Place, truth: bool) -> Walked<()> {
        let (region, ty) = self.place(place)?;
        if !matches!(self.ty(ty)?, Type::Scalar(_)) || region.address().is_none() {
            return Ok(());
        }
        let mut known = self.held(&region, ty);
        if truth {
            known.values = Values::Among(Vec::new());
        } else {
            known.undefined = false;
        }
        self.set_cell(&region, ty, known);
        Ok(())
    }

    /// Notes that the value of an expression is one of these.
    pub(super) fn limit_to(&mut self, expr: &'a Expr, values: &Values) -> Walked<()> {
        match values {
            Values::Among(codes) => self.limit(expr, |code| codes.binary_search(&code).is_ok()),
            Values::Any => Ok(()),
        }
    }

    /// Notes that the value of an expression satisfies a condition.
    pub(super) fn limit(&mut self, expr: &'a Expr, condition: impl Fn(i64) -> bool) -> Walked<()> {
        let Expr::Read { place, .. } = expr else { return Ok(()) };
        if self.env.dead || !is_plain(expr) {
            return Ok(());
        }
        let (region, ty) = self.place(place)?;
        if region.address().is_none() || !matches!(self.ty(ty)?, Type::Scalar(_)) {
            return Ok(());
        }
        let values = self.held(&region, ty).values.keep(condition);
        if values.may(|_| true) {
            self.set_cell(&region, ty, Known { values, undefined: false });
        } else {
            self.env.kill();
        }
        Ok(())
    }
}

/// Whether an expression can be evaluated again: it has no calls and statements, and is small.
fn is_plain(expr: &Expr) -> bool {
    let mut waiting = vec![expr];
    let mut seen = 0;
    while let Some(expr) = waiting.pop() {
        seen += 1;
        if seen > MAX_NODES {
            return false;
        }
        match expr {
            Expr::Int(_) | Expr::Real(_) | Expr::Bound(_) => {}
            Expr::Read { place, .. } | Expr::IsUndefined(place) => indices(place, &mut waiting),
            Expr::Unary { arg, .. } | Expr::IsMember { value: arg, .. } => waiting.push(arg),
            Expr::Binary { left, right, .. } => waiting.extend([&**left, &**right]),
            Expr::And(list) | Expr::Or(list) => waiting.extend(list),
            Expr::If { cond, then, other } => waiting.extend([&**cond, &**then, &**other]),
            Expr::Same { left, right, .. } => {
                indices(left, &mut waiting);
                indices(right, &mut waiting);
            }
            Expr::Quantified { over, body, .. } => {
                waiting.push(body);
                match &**over {
                    Iter::Type(_) => {}
                    Iter::Range { from, to, step, .. } => waiting.extend([from, to, step]),
                    Iter::Slots(place) => indices(place, &mut waiting),
                }
            }
            Expr::Count { set, body, .. } => {
                indices(set, &mut waiting);
                waiting.push(body);
            }
            Expr::Call { .. } | Expr::Block { .. } => return false,
        }
    }
    true
}

fn indices<'a>(place: &'a Place, waiting: &mut Vec<&'a Expr>) {
    for step in &place.path {
        if let Step::Index { index: expr, .. } | Step::Slot { slot: expr, .. } = step {
            waiting.push(expr);
        }
    }
}
