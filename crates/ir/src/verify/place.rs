//! Rules of places.

use super::check::{Check, Kind};
use crate::{LocalKind, Place, Root, Step, Type, TypeId};

impl Check<'_> {
    /// Checks a place; returns its type if that is known to be right.
    pub(super) fn place(&mut self, place: &Place) -> Option<TypeId> {
        let mut ty = self.root(place.root);
        for step in &place.path {
            let next = self.step(step, ty);
            ty = next;
        }
        self.ty(place.ty)?;
        let ty = ty?;
        if ty == place.ty {
            return Some(ty);
        }
        self.error(format!("a place says it has type {}, but has type {}", place.ty.0, ty.0));
        None
    }

    fn root(&mut self, root: Root) -> Option<TypeId> {
        match root {
            Root::Global(id) => {
                let found = self.program.globals.get(id.0 as usize);
                if found.is_none() {
                    self.error(format!("there is no state variable {}", id.0));
                }
                found.map(|global| global.ty)
            }
            Root::Local(id) => {
                let local = self.local(id)?;
                if local.kind == LocalKind::Bound {
                    let name = &local.name;
                    self.error(format!("a place starts with {name:?}, which is a Bound local"));
                    return None;
                }
                Some(local.ty)
            }
        }
    }

    /// Checks a step from a type; returns the type that it leads to.
    fn step(&mut self, step: &Step, ty: Option<TypeId>) -> Option<TypeId> {
        match step {
            Step::Field(_) => {}
            Step::Index { index: expr, site } | Step::Slot { slot: expr, site } => {
                self.int(expr, "an index or slot number");
                self.site(*site);
            }
        }
        let id = ty?;
        match (step, self.ty(id)?) {
            (Step::Field(field), Type::Record { fields, .. }) => {
                let found = fields.get(*field as usize);
                if found.is_none() {
                    let count = fields.len();
                    self.error(format!("field {field} of a record that has {count} fields"));
                }
                found.map(|field| field.ty)
            }
            (Step::Index { .. }, Type::Array { elem, .. })
            | (Step::Slot { .. }, Type::Multiset { elem, .. }) => Some(*elem),
            (step, _) => {
                let (what, wanted) = match step {
                    Step::Field(_) => ("field", "record"),
                    Step::Index { .. } => ("index", "array"),
                    Step::Slot { .. } => ("slot", "multiset"),
                };
                self.error(format!("a {what} step into type {}, which is no {wanted}", id.0));
                None
            }
        }
    }

    /// Checks a scalar or real place.
    pub(super) fn simple_place(&mut self, place: &Place, what: &str) -> Option<Kind> {
        let ty = self.place(place)?;
        self.simple(ty, what)
    }

    /// Checks a multiset place; returns the type of its elements.
    pub(super) fn multiset(&mut self, place: &Place) -> Option<TypeId> {
        let id = self.place(place)?;
        match self.ty(id)? {
            Type::Multiset { elem, .. } => Some(*elem),
            _ => {
                self.error(format!("a multiset is needed, but type {} is none", id.0));
                None
            }
        }
    }
}
