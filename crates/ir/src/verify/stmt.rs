//! Rules of statements.

use super::check::{Check, Returns};
use crate::{Expr, LocalId, LocalKind, Place, PropertyKind, PutPart, Site, Stmt, Type, TypeId};

impl Check<'_> {
    /// Checks statements.
    pub(super) fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    /// Checks one statement.
    pub(super) fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Assign { to, value, site } => {
                self.site(*site);
                let kind = self.expr(value);
                let wanted = self.simple_place(to, "what is assigned to");
                self.same_kind(kind, wanted, "an assigned value");
            }
            Stmt::Copy { to, from, site } => {
                self.site(*site);
                let (from, to) = (self.place(from), self.place(to));
                self.compatible(from, to, true, "a copy");
            }
            Stmt::Undefine(place) | Stmt::Clear(place) => drop(self.place(place)),
            Stmt::Bind { local, place } => self.bind(*local, place),
            Stmt::Let { local, value } => {
                let kind = self.expr(value);
                if let Some(local) = self.local_of(*local, LocalKind::Bound, "Let") {
                    let wanted = self.simple(local.ty, "a bound local");
                    self.same_kind(kind, wanted, "a bound value");
                }
            }
            Stmt::Fresh(local) => drop(self.local_of(*local, LocalKind::Storage, "Fresh")),
            Stmt::Call { proc, args, site } => drop(self.call(*proc, args, *site)),
            Stmt::Return { value, site } => self.returns(value.as_ref(), *site),
            Stmt::Assert { cond, site } => {
                self.site(*site);
                self.int(cond, "a condition");
            }
            Stmt::Assume { cond } => self.int(cond, "a condition"),
            Stmt::Cover { cond, property } => self.cover(cond, *property),
            Stmt::Error { site } => self.site(*site),
            Stmt::Put(parts) => parts.iter().for_each(|part| self.put(part)),
            Stmt::If { .. } | Stmt::Switch { .. } | Stmt::For { .. } | Stmt::While { .. } => {
                self.control(stmt);
            }
            Stmt::Add { .. }
            | Stmt::AddValue { .. }
            | Stmt::Remove { .. }
            | Stmt::RemoveWhere { .. } => self.change(stmt),
        }
    }

    /// The statements that hold statements.
    fn control(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::If { branches, other } => {
                for (cond, body) in branches {
                    self.int(cond, "a condition");
                    self.stmts(body);
                }
                self.stmts(other);
            }
            Stmt::Switch { subject, cases, other } => {
                self.int(subject, "the subject of a switch");
                for case in cases {
                    case.values.iter().for_each(|value| self.int(value, "a case of a switch"));
                    self.stmts(&case.body);
                }
                self.stmts(other);
            }
            Stmt::For { var, over, body } => {
                self.iter(*var, over);
                self.stmts(body);
            }
            Stmt::While { cond, body, site } => {
                self.site(*site);
                self.int(cond, "a condition");
                self.stmts(body);
            }
            _ => {}
        }
    }

    /// The statements that change multisets.
    fn change(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Add { set, from, site } => {
                self.site(*site);
                let (from, elem) = (self.place(from), self.multiset(set));
                self.compatible(from, elem, false, "an added element");
            }
            Stmt::AddValue { set, value, site } => {
                self.site(*site);
                let kind = self.expr(value);
                if let Some(elem) = self.multiset(set) {
                    let wanted = self.simple(elem, "an added value");
                    self.same_kind(kind, wanted, "an added value");
                }
            }
            Stmt::Remove { set, slot, site } => {
                self.site(*site);
                self.multiset(set);
                self.int(slot, "a slot number");
            }
            Stmt::RemoveWhere { set, var, cond } => {
                self.multiset(set);
                self.variable(*var, "a slot number");
                self.int(cond, "a condition");
            }
            _ => {}
        }
    }

    /// Types between which values are copied.
    fn compatible(&mut self, from: Option<TypeId>, to: Option<TypeId>, reals: bool, what: &str) {
        let (Some(from), Some(to)) = (from, to) else { return };
        let fits = match (self.ty(from), self.ty(to)) {
            (Some(Type::Scalar(_)), Some(Type::Scalar(_))) => true,
            (Some(Type::Real { .. }), Some(Type::Real { .. })) if reals => true,
            _ => from == to,
        };
        if !fits {
            self.error(format!("{what} from type {} to type {}", from.0, to.0));
        }
    }

    fn bind(&mut self, local: LocalId, place: &Place) {
        let ty = self.place(place);
        let local = self.local_of(local, LocalKind::Ref, "Bind");
        if let (Some(ty), Some(local)) = (ty, local)
            && ty != local.ty
        {
            let (is, wanted) = (ty.0, local.ty.0);
            self.error(format!("Bind gives a reference to type {wanted} a place of type {is}"));
        }
    }

    fn returns(&mut self, value: Option<&Expr>, site: Site) {
        self.site(site);
        let kind = value.map(|value| self.expr(value));
        match (self.returns, kind) {
            (Returns::Never, _) => self.error("Return outside of a body"),
            (Returns::Nothing, None) => {}
            (Returns::Nothing, Some(_)) => self.error("Return with a value where none is wanted"),
            (Returns::Value(_), None) => self.error("Return without the result of a function"),
            (Returns::Value(ty), Some(kind)) => {
                let wanted = self.simple(ty, "a result");
                self.same_kind(kind, wanted, "a result");
            }
        }
    }

    fn cover(&mut self, cond: &Expr, property: u32) {
        self.int(cond, "a condition");
        match self.program.properties.get(property as usize) {
            None => self.error(format!("there is no property {property}")),
            Some(property) if property.kind != PropertyKind::Cover => {
                let name = &property.name;
                self.error(format!("Cover refers to {name:?}, which is no cover goal"));
            }
            Some(_) => {}
        }
    }

    fn put(&mut self, part: &PutPart) {
        match part {
            PutPart::Text(_) => {}
            PutPart::Place { place, .. } => drop(self.place(place)),
            PutPart::Value { value, ty } => {
                let kind = self.expr(value);
                let wanted = ty.and_then(|ty| self.simple(ty, "a printed value"));
                self.same_kind(kind, wanted, "a printed value");
            }
        }
    }
}
