//! Expressions: the general cases. Operators are in [`super::ops`], designators in
//! [`super::place`], calls in [`super::call`].

use ergodic_diag::{Diagnostic, Span};
use ergodic_ir::{Expr as Ir, Iter, LocalId, LocalKind, Stmt as IrStmt, Type, UnaryOp as Un};

use super::Lower;
use super::place::Designator;
use super::scope::{Aliased, EntityId, What};
use super::types::{MAX_BOUND, Ty};
use crate::ast::{Domain, Expr, ExprKind, Name, QuantifiedKind, Quantifier, TypeExpr};

/// How often aliases may be replaced by what they stand for, all in all.
const MAX_EXPANSIONS: u32 = 10_000;

/// A translated value with its type.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) expr: Ir,
    pub(super) ty: Ty,
}

impl Typed {
    pub(super) fn new(expr: Ir, ty: Ty) -> Typed {
        Typed { expr, ty }
    }

    /// What takes the place of something wrong.
    pub(super) fn error() -> Typed {
        Typed::new(Ir::Int(0), Ty::Error)
    }

    pub(super) fn int(value: i64) -> Typed {
        Typed::new(Ir::Int(value), Ty::Int)
    }

    pub(super) fn truth(value: bool) -> Typed {
        Typed::new(Ir::Int(i64::from(value)), Ty::Bool)
    }

    /// Whether the value is known.
    pub(super) fn is_literal(&self) -> bool {
        matches!(self.expr, Ir::Int(_) | Ir::Real(_))
    }
}

/// A translated expression: a place that can be read (or more), or just a value.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Place(Designator),
    Value(Typed),
}

impl Operand {
    pub(super) fn error() -> Operand {
        Operand::Value(Typed::error())
    }
}

impl<'a> Lower<'a> {
    /// The value of an expression. Of a compound place only the type is meaningful: whoever asks
    /// for a value finds that it is of the wrong type.
    pub(super) fn value(&mut self, e: &'a Expr) -> Typed {
        let outer = std::mem::take(&mut self.pending);
        let mut value = match self.operand(e) {
            Operand::Place(designator) => self.read(designator, e.span),
            Operand::Value(value) => value,
        };
        let before = std::mem::replace(&mut self.pending, outer);
        if !before.is_empty() {
            value.expr = Ir::Block { body: before, value: Box::new(value.expr) };
        }
        value
    }

    /// The value at a place.
    pub(super) fn read(&mut self, designator: Designator, span: Span) -> Typed {
        let place = designator.place;
        match self.types.ty(place.ty) {
            ty @ Ty::Compound(_) => Typed::new(Ir::Int(0), ty),
            ty => {
                let site = self.site(span);
                Typed::new(Ir::Read { place: Box::new(place), site }, ty)
            }
        }
    }

    /// A condition.
    pub(super) fn boolean(&mut self, e: &'a Expr, what: &str) -> Ir {
        let value = self.value(e);
        if !matches!(value.ty, Ty::Bool | Ty::Error) {
            let found = self.types.describe(value.ty);
            let mut d = Diagnostic::error(format!("{what} must be `boolean`"))
                .at(e.span, format!("this is {found}"));
            if value.ty == Ty::Int {
                d = d.help("compare it with a number, as in `x != 0`");
            }
            self.report(d);
        }
        value.expr
    }

    /// A number without a fractional part.
    pub(super) fn integer(&mut self, e: &'a Expr, what: &str) -> Ir {
        let value = self.value(e);
        if !matches!(value.ty, Ty::Int | Ty::Error) {
            let found = self.types.describe(value.ty);
            self.error(e.span, format!("{what} must be an integer"), format!("this is {found}"));
        }
        value.expr
    }

    /// An expression that may be a place.
    pub(super) fn operand(&mut self, e: &'a Expr) -> Operand {
        Operand::Value(match &e.kind {
            ExprKind::Name(name) => return self.name(name),
            ExprKind::Field { base, field } => return self.field(base, field),
            ExprKind::Index { base, index } => return self.index(e, base, index),
            ExprKind::Call { function, args } => return self.call(e, function, args),
            ExprKind::Conditional { condition, yes, no } => {
                return self.conditional(e, condition, yes, no);
            }
            ExprKind::Int(value) => Typed::int(*value),
            ExprKind::Real(value) if value.is_finite() => Typed::new(Ir::Real(*value), Ty::Real),
            ExprKind::Real(_) => {
                self.error(e.span, "this number is too large", "more than 64-bit reals can hold");
                Typed::error()
            }
            ExprKind::Bool(value) => Typed::truth(*value),
            ExprKind::Undefined => self.stray_undefined(e),
            ExprKind::Unary { op, operand } => self.unary(e, *op, operand),
            ExprKind::Binary { op, left, right } => self.binary(e, *op, left, right),
            ExprKind::And { operands, overloaded } => self.chain(true, operands, *overloaded),
            ExprKind::Or { operands, overloaded } => self.chain(false, operands, *overloaded),
            ExprKind::Quantified { kind, quantifiers, body } => {
                self.quantified(*kind, quantifiers, body)
            }
            ExprKind::IsUndefined(operand) => self.is_undefined(operand),
            ExprKind::IsMember { value, ty } => self.is_member(value, ty),
            ExprKind::MultisetCount { index, multiset, condition } => {
                self.multiset_count(index, multiset, condition)
            }
        })
    }

    fn stray_undefined(&mut self, e: &Expr) -> Typed {
        let d = Diagnostic::error("`undefined` is not a value")
            .at(e.span, "not allowed here")
            .help("test with `isundefined(x)`, and undefine with `x := undefined`");
        self.report(d);
        Typed::error()
    }

    fn name(&mut self, name: &'a Name) -> Operand {
        let Some(id) = self.lookup(&name.text) else {
            let fits = |what: &What<'a>| !matches!(what, What::Type(..) | What::Function(_));
            self.unknown(name, "variable or constant", fits);
            return Operand::error();
        };
        match &self.entity(id).what {
            What::Const(..) => Operand::Value(self.constant(id).unwrap_or_else(Typed::error)),
            What::EnumValue { ty, code, .. } => {
                Operand::Value(Typed::new(Ir::Int(*code), Ty::Scalar(*ty)))
            }
            What::Type(..) | What::Function(_) => {
                self.wrong_kind(name, id, "a variable or constant");
                Operand::error()
            }
            What::Bound(value) if value.is_literal() => Operand::Value(value.clone()),
            What::Alias(..) if self.expand_aliases => self.expand(id),
            What::Alias(aliased, _) => match &**aliased {
                Aliased::Error => Operand::error(),
                Aliased::Value(value) if value.is_literal() => Operand::Value(value.clone()),
                _ if self.constant => self.not_constant(name, id),
                Aliased::Value(value) => Operand::Value(value.clone()),
                Aliased::Place(designator) => Operand::Place(designator.clone()),
            },
            _ if self.constant => self.not_constant(name, id),
            What::Bound(value) => Operand::Value(value.clone()),
            What::Slot { local, set, .. } => {
                Operand::Value(Typed::new(Ir::Bound(*local), Ty::Slot(*set)))
            }
            What::Var(None) => Operand::error(),
            What::Var(Some(designator)) => Operand::Place(designator.clone()),
        }
    }

    fn not_constant(&mut self, name: &Name, id: EntityId) -> Operand {
        let (noun, span) = (self.entity(id).what.noun(), self.entity(id).span);
        let d = Diagnostic::error("this is not a constant expression")
            .at(name.span, format!("`{}` is {noun}", name.text))
            .also(span, "declared here");
        self.report(d);
        Operand::error()
    }

    /// What an alias stands for, translated anew.
    fn expand(&mut self, id: EntityId) -> Operand {
        let What::Alias(_, value) = self.entity(id).what else { return Operand::error() };
        self.expansions += 1;
        if self.expansions > MAX_EXPANSIONS {
            self.error(value.span, "the aliases here are nested too deeply", "used too often");
            return Operand::error();
        }
        // An alias has a scope of its own, inside the one that its value is in.
        let outer = self.scope;
        self.scope = self.scope_around(self.entity(id).scope);
        let operand = self.operand(value);
        self.scope = outer;
        operand
    }

    fn conditional(
        &mut self,
        e: &'a Expr,
        condition: &'a Expr,
        yes: &'a Expr,
        no: &'a Expr,
    ) -> Operand {
        let condition = self.boolean(condition, "the condition of `?:`");
        let outer = std::mem::take(&mut self.pending);
        let left = self.operand(yes);
        let left_first = std::mem::take(&mut self.pending);
        let right = self.operand(no);
        let right_first = std::mem::replace(&mut self.pending, outer);
        if let (Operand::Place(a), Operand::Place(b)) = (&left, &right)
            && let Ty::Compound(ty) = self.types.ty(a.place.ty)
            && a.place.ty == b.place.ty
        {
            let to = self.temporary(ty);
            let site = self.site(e.span);
            let copy = |mut first: Vec<IrStmt>, from: &Designator| {
                let from = from.place.clone();
                first.push(IrStmt::Copy { to: to.clone(), from, site });
                first
            };
            let branches = vec![(condition, copy(left_first, a))];
            let other = copy(right_first, b);
            self.pending.push(IrStmt::If { branches, other });
            return Operand::Place(Designator::temporary(to));
        }
        let left = self.finish_value(left, left_first, yes.span);
        let right = self.finish_value(right, right_first, no.span);
        Operand::Value(self.choose_value(e, condition, left, right))
    }

    fn finish_value(&mut self, operand: Operand, first: Vec<IrStmt>, span: Span) -> Typed {
        let mut value = match operand {
            Operand::Place(designator) => self.read(designator, span),
            Operand::Value(value) => value,
        };
        if !first.is_empty() {
            value.expr = Ir::Block { body: first, value: Box::new(value.expr) };
        }
        value
    }

    fn choose_value(&mut self, e: &Expr, cond: Ir, left: Typed, right: Typed) -> Typed {
        if left.ty == Ty::Error || right.ty == Ty::Error {
            return Typed::error();
        }
        let ty = match (left.ty, right.ty) {
            (Ty::Int, Ty::Real) | (Ty::Real, Ty::Int) => Some(Ty::Real),
            (Ty::Scalar(a), Ty::Scalar(b)) if self.types.overlap(a, b) => {
                let size = |id| self.types.scalar(id).map_or(0, |s| s.count());
                Some(if size(a) >= size(b) { left.ty } else { right.ty })
            }
            (Ty::Compound(_) | Ty::Slot(_), _) => None,
            (a, b) => (a == b).then_some(a),
        };
        let Some(ty) = ty else {
            let (a, b) = (self.types.describe(left.ty), self.types.describe(right.ty));
            let message = "the two values of `?:` do not fit together";
            self.error(e.span, message, format!("one is {a}, the other {b}"));
            return Typed::error();
        };
        let then = self.convert(left, ty, e.span);
        let other = self.convert(right, ty, e.span);
        let expr = match cond {
            Ir::Int(0) => other,
            Ir::Int(_) => then,
            cond => Ir::If { cond: Box::new(cond), then: Box::new(then), other: Box::new(other) },
        };
        Typed::new(expr, ty)
    }

    /// The value as one of the wanted type, if that is real and it is an integer.
    pub(super) fn convert(&mut self, value: Typed, wanted: Ty, span: Span) -> Ir {
        if wanted == Ty::Real && value.ty == Ty::Int {
            return self.apply_unary(Un::ToReal, value.expr, span);
        }
        value.expr
    }

    fn quantified(
        &mut self,
        kind: QuantifiedKind,
        quantifiers: &'a [Quantifier],
        body: &'a Expr,
    ) -> Typed {
        let outer = self.scope;
        let binders: Vec<_> = quantifiers.iter().map(|q| self.quantifier(q)).collect();
        let what = match kind {
            QuantifiedKind::Forall => "the body of `forall`",
            QuantifiedKind::Exists => "the body of `exists`",
        };
        let mut expr = self.boolean(body, what);
        self.leave(outer);
        for (var, over) in binders.into_iter().rev().flatten() {
            let all = kind == QuantifiedKind::Forall;
            let (over, body) = (Box::new(over), Box::new(expr));
            expr = Ir::Quantified { all, var, over, body };
        }
        Typed::new(expr, Ty::Bool)
    }

    /// Opens a scope with the name of a quantifier; the caller goes back to the scope before.
    pub(super) fn quantifier(&mut self, q: &'a Quantifier) -> Option<(LocalId, Iter)> {
        let made = match &q.domain {
            Domain::Type(ty) => {
                self.enter();
                self.declare_enums(ty, None);
                self.quantifier_type(ty).map(|id| (id, Iter::Type(id)))
            }
            Domain::Range { from, to, by } => {
                let from = self.integer(from, "the first value");
                let to = self.integer(to, "the last value");
                let step = by.as_ref().map(|by| (self.integer(by, "the step"), by.span));
                self.enter();
                self.range_iter(q, from, to, step)
            }
        };
        let Some((ty, over)) = made else {
            self.declare_bound(&q.name, Typed::error());
            return None;
        };
        let var = self.local(&q.name.text, ty, LocalKind::Bound);
        let value = Typed::new(Ir::Bound(var), self.types.ty(ty));
        self.declare_bound(&q.name, value);
        Some((var, over))
    }

    /// A type that a quantifier can range over.
    pub(super) fn quantifier_type(&mut self, ty: &'a TypeExpr) -> Option<ergodic_ir::TypeId> {
        let id = self.type_expr(ty)?;
        if matches!(self.types.get(id), Type::Scalar(_)) {
            return Some(id);
        }
        let shown = self.types.show(id);
        let message = format!("a quantifier cannot range over {shown}");
        self.error(ty.span, message, "not a finite simple type");
        None
    }

    fn range_iter(
        &mut self,
        q: &Quantifier,
        from: Ir,
        to: Ir,
        step: Option<(Ir, Span)>,
    ) -> Option<(ergodic_ir::TypeId, Iter)> {
        if let Some((Ir::Int(0), span)) = &step {
            self.error(*span, "a step of zero goes nowhere", "must not be zero");
            return None;
        }
        let ty = match (&from, &to) {
            (Ir::Int(a), Ir::Int(b)) => super::rules::range_type(self, *a, *b),
            _ => self.types.range(-MAX_BOUND - 1, MAX_BOUND),
        };
        let step = step.map_or(Ir::Int(1), |(step, _)| step);
        let site = self.site(q.span);
        Some((ty, Iter::Range { from, to, step, site }))
    }

    fn is_undefined(&mut self, operand: &'a Expr) -> Typed {
        let outer = std::mem::take(&mut self.pending);
        let made = self.operand(operand);
        let before = std::mem::replace(&mut self.pending, outer);
        match made {
            Operand::Value(value) if value.ty == Ty::Error => Typed::error(),
            Operand::Place(d) if before.is_empty() => {
                if let Ty::Compound(id) = self.types.ty(d.place.ty) {
                    let shown = self.types.show(id);
                    let d = Diagnostic::error("`isundefined` asks about simple variables only")
                        .at(operand.span, format!("this is {shown}"))
                        .help("ask about a part of it");
                    self.report(d);
                }
                Typed::new(Ir::IsUndefined(Box::new(d.place)), Ty::Bool)
            }
            // Constants and loop variables always have a value.
            Operand::Value(_) if operand.is_designator() => Typed::truth(false),
            _ => {
                let message = "`isundefined` needs a variable";
                self.error(operand.span, message, "this is not a variable");
                Typed::error()
            }
        }
    }

    fn is_member(&mut self, value: &'a Expr, ty: &'a TypeExpr) -> Typed {
        let span = value.span;
        let value = self.value(value);
        let Some(id) = self.type_expr(ty) else { return Typed::error() };
        let fits = match (value.ty, self.types.ty(id)) {
            (Ty::Error, _) => return Typed::error(),
            (Ty::Scalar(a), Ty::Scalar(b)) => self.types.overlap(a, b),
            (a, b) => a == b && matches!(a, Ty::Int | Ty::Bool),
        };
        if !fits {
            let (found, wanted) = (self.types.describe(value.ty), self.types.show(id));
            let message = format!("this can never be a member of {wanted}");
            self.error(span, message, format!("this is {found}"));
        }
        Typed::new(Ir::IsMember { value: Box::new(value.expr), ty: id }, Ty::Bool)
    }

    fn multiset_count(
        &mut self,
        index: &'a Name,
        multiset: &'a Expr,
        condition: &'a Expr,
    ) -> Typed {
        let Some(set) = self.multiset_place(multiset) else {
            self.poison_index(index, condition);
            return Typed::error();
        };
        let outer = self.enter();
        let var = self.declare_slot(index, &set.place);
        let body = Box::new(self.boolean(condition, "the condition of `multisetcount`"));
        self.leave(outer);
        Typed::new(Ir::Count { set: Box::new(set.place), var, body }, Ty::Int)
    }

    /// Checks a condition whose multiset is wrong.
    pub(super) fn poison_index(&mut self, index: &'a Name, condition: &'a Expr) {
        let outer = self.enter();
        self.declare_bound(index, Typed::error());
        self.boolean(condition, "the condition");
        self.leave(outer);
    }
}
