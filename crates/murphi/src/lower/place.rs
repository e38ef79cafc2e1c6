//! Designators: variables and their parts.

use ergodic_diag::Diagnostic;
use ergodic_ir::{Expr as Ir, LocalId, LocalKind, Place, Step, Type, TypeId};

use super::Lower;
use super::expr::{Operand, Typed};
use super::scope::What;
use super::types::Ty;
use crate::ast::{Expr, Name};
use crate::suggest::nearest;

/// What may be done with a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    /// Everything.
    Free,
    /// Read only: it is (part of) a parameter without `var`.
    Parameter,
    /// Read only: it is a result nobody else sees.
    Temporary,
}

/// A place with what may be done with it.
#[derive(Clone, Debug)]
pub(super) struct Designator {
    pub(super) place: Place,
    pub(super) access: Access,
}

impl Designator {
    pub(super) fn temporary(place: Place) -> Designator {
        Designator { place, access: Access::Temporary }
    }
}

impl<'a> Lower<'a> {
    pub(super) fn field(&mut self, base: &'a Expr, field: &'a Name) -> Operand {
        let mut designator = match self.operand(base) {
            Operand::Place(designator) => designator,
            Operand::Value(value) => {
                self.not_compound(base, value.ty, "has no fields");
                return Operand::error();
            }
        };
        let Type::Record { fields, .. } = self.types.get(designator.place.ty) else {
            let ty = self.types.ty(designator.place.ty);
            self.not_compound(base, ty, "has no fields");
            return Operand::error();
        };
        let Some(position) = fields.iter().position(|f| f.name == field.text) else {
            let near = nearest(&field.text, fields.iter().map(|f| f.name.as_str()));
            let help = near.map(|n| format!("did you mean `{n}`?"));
            let shown = self.types.show(designator.place.ty);
            let mut d = Diagnostic::error(format!("{shown} has no field `{}`", field.text))
                .at(field.span, "no such field");
            if let Some(help) = help {
                d = d.help(help);
            }
            self.report(d);
            return Operand::error();
        };
        designator.place.ty = fields[position].ty;
        designator.place.path.push(Step::Field(position as u32));
        Operand::Place(designator)
    }

    fn not_compound(&mut self, base: &Expr, ty: Ty, what: &str) {
        if ty != Ty::Error {
            let shown = self.types.describe(ty);
            self.error(base.span, format!("{shown} {what}"), format!("this is {shown}"));
        }
    }

    pub(super) fn index(&mut self, e: &'a Expr, base: &'a Expr, index: &'a Expr) -> Operand {
        let mut designator = match self.operand(base) {
            Operand::Place(designator) => designator,
            Operand::Value(value) => {
                self.value(index);
                self.not_compound(base, value.ty, "cannot be indexed");
                return Operand::error();
            }
        };
        let step = match self.types.get(designator.place.ty) {
            Type::Array { index: over, elem } => {
                let (over, elem) = (*over, *elem);
                self.array_step(e, index, over).map(|step| (step, elem))
            }
            Type::Multiset { elem, .. } => {
                let elem = *elem;
                self.slot(index, &designator.place).map(|slot| {
                    let site = self.site(e.span);
                    (Step::Slot { slot, site }, elem)
                })
            }
            _ => {
                let ty = self.types.ty(designator.place.ty);
                self.value(index);
                self.not_compound(base, ty, "cannot be indexed");
                None
            }
        };
        let Some((step, elem)) = step else { return Operand::error() };
        designator.place.ty = elem;
        designator.place.path.push(step);
        Operand::Place(designator)
    }

    fn array_step(&mut self, e: &'a Expr, index: &'a Expr, over: TypeId) -> Option<Step> {
        let value = self.value(index);
        let fits = match (value.ty, self.types.ty(over)) {
            (Ty::Error, _) => return None,
            (Ty::Scalar(a), Ty::Scalar(b)) => self.types.overlap(a, b),
            (a, b) => a == b,
        };
        if !fits {
            let (found, wanted) = (self.types.describe(value.ty), self.types.show(over));
            let mut d = Diagnostic::error(format!("the index must be of {wanted}"))
                .at(index.span, format!("this is {found}"));
            if value.ty == Ty::Int && self.types.scalarset_in(over) {
                d = d.help("values of a scalarset have no numbers: that would break symmetry");
            }
            self.report(d);
            return None;
        }
        let site = self.site(e.span);
        Some(Step::Index { index: value.expr, site })
    }

    /// The number of an element, which must come from the multiset at `set`.
    pub(super) fn slot(&mut self, index: &'a Expr, set: &Place) -> Option<Ir> {
        let value = self.value(index);
        let same_root = match self.slot_root(index) {
            Some(root) => {
                use ergodic_ir::Root::Global;
                !matches!((root, set.root), (Global(a), Global(b)) if a != b)
            }
            None => true,
        };
        match value.ty {
            Ty::Error => return None,
            Ty::Slot(id) if id == set.ty && same_root => return Some(value.expr),
            _ => {}
        }
        let found = match value.ty {
            Ty::Slot(_) => "this belongs to another multiset".to_owned(),
            ty => format!("this is {}", self.types.describe(ty)),
        };
        let d = Diagnostic::error("elements of a multiset are found by `choose` only")
            .at(index.span, found)
            .help("bind an index with `choose i: m do … end` or `multisetcount(i: m, …)`");
        self.report(d);
        None
    }

    fn slot_root(&self, index: &Expr) -> Option<ergodic_ir::Root> {
        let crate::ast::ExprKind::Name(name) = &index.kind else { return None };
        match self.entity(self.find(&name.text)?).what {
            What::Slot { root, .. } => Some(root),
            _ => None,
        }
    }

    /// A designator that must be a multiset.
    pub(super) fn multiset_place(&mut self, e: &'a Expr) -> Option<Designator> {
        let ty = match self.operand(e) {
            Operand::Place(designator) => {
                if let Type::Multiset { .. } = self.types.get(designator.place.ty) {
                    return Some(designator);
                }
                self.types.ty(designator.place.ty)
            }
            Operand::Value(Typed { ty: Ty::Error, .. }) => return None,
            Operand::Value(value) => value.ty,
        };
        let shown = self.types.describe(ty);
        self.error(e.span, "a multiset is needed here", format!("this is {shown}"));
        None
    }

    /// Declares the name of an element number of a multiset.
    pub(super) fn declare_slot(&mut self, name: &'a Name, set: &Place) -> LocalId {
        let capacity = match self.types.get(set.ty) {
            Type::Multiset { capacity, .. } => i64::from(*capacity),
            _ => 1,
        };
        let ty = self.types.range(0, capacity - 1);
        let local = self.local(&name.text, ty, LocalKind::Bound);
        self.declare(name, What::Slot { local, set: set.ty, root: set.root });
        local
    }

    /// A place that is going to be changed.
    pub(super) fn target(&mut self, e: &'a Expr, verb: &str) -> Option<Place> {
        match self.operand(e) {
            Operand::Place(Designator { place, access: Access::Free }) => Some(place),
            Operand::Place(Designator { access, .. }) => {
                self.read_only(e, access, verb);
                None
            }
            Operand::Value(Typed { ty: Ty::Error, .. }) => None,
            Operand::Value(_) => {
                self.not_a_variable(e, verb);
                None
            }
        }
    }

    /// Reports that a place may not be changed.
    pub(super) fn read_only(&mut self, e: &Expr, access: Access, verb: &str) {
        let text = self.slice(e.span);
        let d = Diagnostic::error(format!("`{text}` cannot be {verb}"));
        self.report(match access {
            Access::Parameter => d
                .at(e.span, "a parameter without `var` can only be read")
                .help("declare the parameter with `var`, or copy it to a local variable"),
            _ => d.at(e.span, "this is a result, not a variable"),
        });
    }

    fn not_a_variable(&mut self, e: &Expr, verb: &str) {
        let text = self.slice(e.span);
        let label = match &e.kind {
            crate::ast::ExprKind::Name(name) => match self.find(&name.text) {
                Some(id) => format!("this is {}", self.entity(id).what.noun()),
                None => "this is not a variable".to_owned(),
            },
            _ => "this is not a variable".to_owned(),
        };
        self.error(e.span, format!("`{text}` cannot be {verb}"), label);
    }
}
