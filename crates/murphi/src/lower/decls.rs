//! Constants, types and variables.

use ergodic_diag::Diagnostic;
use ergodic_ir::{Expr as Ir, Global, GlobalId, LocalKind, Place, Root, Type, TypeId};

use super::expr::Typed;
use super::place::{Access, Designator};
use super::scope::{EntityId, Lazy, What};
use super::types::{BOOLEAN, MAX_BOUND, MAX_SIZE, Ty};
use super::{Lower, Role};
use crate::ast::{ConstDecl, Decl, Expr, Name, TypeDecl, TypeExpr, TypeKind, VarDecl};

impl<'a> Lower<'a> {
    /// Resolves all constants and types of a block whose names were collected.
    pub(super) fn resolve_block(&mut self, decls: impl Iterator<Item = &'a Decl>) {
        for decl in decls {
            let names = match decl {
                Decl::Const(c) => &c.names,
                Decl::Type(t) => &t.names,
                Decl::Var(_) => continue,
            };
            for name in names {
                // A name declared twice stands for its first declaration.
                match self.find(&name.text) {
                    Some(id) if matches!(self.entity(id).what, What::Const(..)) => {
                        self.constant(id);
                    }
                    Some(id) if matches!(self.entity(id).what, What::Type(..)) => {
                        self.declared_type(id);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Makes the state variables.
    pub(super) fn declare_globals(&mut self, decls: impl Iterator<Item = &'a Decl>) {
        self.declare_variables(decls, |lower, name, ty| {
            let id = GlobalId(lower.program.globals.len() as u32);
            let global = Global { name: name.text.clone(), ty, span: name.span };
            lower.program.globals.push(global);
            Root::Global(id)
        });
    }

    /// Makes the variables of a rule or function.
    pub(super) fn declare_locals(&mut self, decls: &'a [Decl]) {
        self.collect(decls.iter());
        self.resolve_block(decls.iter());
        self.declare_variables(decls.iter(), |lower, name, ty| {
            Root::Local(lower.local(&name.text, ty, LocalKind::Storage))
        });
    }

    fn declare_variables(
        &mut self,
        decls: impl Iterator<Item = &'a Decl>,
        mut make: impl FnMut(&mut Self, &'a Name, TypeId) -> Root,
    ) {
        for decl in decls {
            let Decl::Var(VarDecl { names, ty, .. }) = decl else { continue };
            let Some(ty) = self.type_expr(ty) else { continue };
            for name in names {
                let root = make(self, name, ty);
                let place = Place { root, path: Vec::new(), ty };
                if let Some(id) = self.find(&name.text)
                    && self.entity(id).span == name.span
                {
                    let variable = Designator { place, access: Access::Free };
                    self.entities[id.0].what = What::Var(Some(variable));
                }
            }
        }
    }

    /// The value of a declared constant.
    pub(super) fn constant(&mut self, id: EntityId) -> Option<Typed> {
        let What::Const(decl, state) = &self.entity(id).what else { return None };
        let decl: &'a ConstDecl = decl;
        match state {
            Lazy::Done(value) => return value.clone(),
            Lazy::Busy => {
                self.circular(id, "constant");
                return None;
            }
            Lazy::Todo => {}
        }
        self.entities[id.0].what = What::Const(decl, Lazy::Busy);
        let declared = self.in_scope_of(id, |lower| lower.constant_expr(&decl.value));
        let value = self.overridden(id, declared);
        self.entities[id.0].what = What::Const(decl, Lazy::Done(value.clone()));
        value
    }

    /// The type that a declared name stands for.
    pub(super) fn declared_type(&mut self, id: EntityId) -> Option<TypeId> {
        let What::Type(decl, state) = &self.entity(id).what else { return None };
        let decl: &'a TypeDecl = decl;
        match state {
            Lazy::Done(ty) => return *ty,
            Lazy::Busy => {
                self.circular(id, "type");
                return None;
            }
            Lazy::Todo => {}
        }
        self.entities[id.0].what = What::Type(decl, Lazy::Busy);
        let ty = self.in_scope_of(id, |lower| {
            let first = decl.names.first().map(|n| n.text.as_str());
            lower.named_type_expr(&decl.ty, first)
        });
        if let Some(ty) = ty
            && !matches!(decl.ty.kind, TypeKind::Named(_))
        {
            let name = self.entity(id).name;
            self.types.named(ty, Some(name), decl.ty.span);
        }
        self.entities[id.0].what = What::Type(decl, Lazy::Done(ty));
        ty
    }

    fn circular(&mut self, id: EntityId, noun: &str) {
        let (name, span) = (self.entity(id).name, self.entity(id).span);
        let message = format!("the {noun} `{name}` is defined by itself");
        self.error(span, message, "depends on itself");
    }

    fn in_scope_of<T>(&mut self, id: EntityId, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.scope, self.entities[id.0].scope);
        let result = work(self);
        self.scope = outer;
        result
    }

    /// An expression whose value must be known now.
    pub(super) fn constant_expr(&mut self, e: &'a Expr) -> Option<Typed> {
        let outer = std::mem::replace(&mut self.constant, true);
        let errors = self.diagnostics.error_count();
        let (value, _) = self.in_frame(Role::Constant, |lower| lower.value(e));
        self.constant = outer;
        match (&value.expr, value.ty) {
            (_, Ty::Error) => None,
            (Ir::Int(_) | Ir::Real(_), Ty::Bool | Ty::Int | Ty::Real | Ty::Scalar(_)) => {
                Some(value)
            }
            _ => {
                if self.diagnostics.error_count() == errors {
                    self.error(e.span, "this is not a constant expression", "not constant");
                }
                None
            }
        }
    }

    /// A constant that must be an integer.
    pub(super) fn constant_int(&mut self, e: &'a Expr, what: &str) -> Option<i64> {
        let value = self.constant_expr(e)?;
        match (value.expr, value.ty) {
            (Ir::Int(value), Ty::Int) => Some(value),
            (_, ty) => {
                let found = self.types.describe(ty);
                let message = format!("{what} must be an integer");
                self.error(e.span, message, format!("this is {found}"));
                None
            }
        }
    }

    /// A type as written. The values of its enumerations must be declared already, or are now.
    pub(super) fn type_expr(&mut self, ty: &'a TypeExpr) -> Option<TypeId> {
        let id = self.named_type_expr(ty, None)?;
        if !matches!(ty.kind, TypeKind::Named(_)) {
            self.types.named(id, None, ty.span);
        }
        Some(id)
    }

    fn named_type_expr(&mut self, ty: &'a TypeExpr, name: Option<&str>) -> Option<TypeId> {
        match &ty.kind {
            TypeKind::Boolean => Some(BOOLEAN),
            TypeKind::Named(name) => self.type_name(name),
            TypeKind::Range { lo, hi } => self.range_type(ty, lo, hi),
            TypeKind::Enum(names) => {
                if self.types.written(ty.span).is_none() {
                    self.declare_enums(ty, None);
                }
                (!names.is_empty()).then(|| self.types.written(ty.span)).flatten()
            }
            TypeKind::Record(fields) => self.record_type(fields),
            TypeKind::Array { index, element } => self.array_type(index, element),
            TypeKind::Scalarset(size) => self.scalarset_type(ty, size, name),
            TypeKind::Union(members) => self.union_type(ty, members),
            TypeKind::Multiset { capacity, element } => self.multiset_type(capacity, element),
            TypeKind::Real { mantissa, exponent } => self.real_type(mantissa, exponent),
        }
    }

    fn type_name(&mut self, name: &'a Name) -> Option<TypeId> {
        let Some(id) = self.lookup(&name.text) else {
            self.unknown(name, "type", |what| matches!(what, What::Type(..)));
            return None;
        };
        if !matches!(self.entity(id).what, What::Type(..)) {
            self.wrong_kind(name, id, "a type");
            return None;
        }
        self.declared_type(id)
    }

    fn range_type(&mut self, ty: &'a TypeExpr, lo: &'a Expr, hi: &'a Expr) -> Option<TypeId> {
        let low = self.bound(lo);
        let high = self.bound(hi);
        let (lo, hi) = (low?, high?);
        if lo > hi {
            let d = Diagnostic::error(format!("the range {lo}..{hi} is empty"))
                .at(ty.span, format!("{lo} is greater than {hi}"))
                .help("write the lower bound first");
            self.report(d);
            return None;
        }
        Some(self.types.range(lo, hi))
    }

    fn bound(&mut self, e: &'a Expr) -> Option<i64> {
        let value = self.constant_int(e, "a bound of a range")?;
        if (-MAX_BOUND - 1..=MAX_BOUND).contains(&value) {
            return Some(value);
        }
        let d = Diagnostic::error(format!("the bound {value} is too large"))
            .at(e.span, "too large")
            .help(format!("bounds of ranges lie between {} and {MAX_BOUND}", -MAX_BOUND - 1));
        self.report(d);
        None
    }

    fn scalarset_type(
        &mut self,
        ty: &'a TypeExpr,
        size: &'a Expr,
        name: Option<&str>,
    ) -> Option<TypeId> {
        if let Some(id) = self.types.written(ty.span) {
            return Some(id);
        }
        let n = self.constant_int(size, "the size of a scalarset")?;
        if !(1..=MAX_SIZE).contains(&n) {
            let message = format!("a scalarset cannot have {n} values");
            self.error(size.span, message, format!("must be between 1 and {MAX_SIZE}"));
            return None;
        }
        Some(self.types.scalarset(ty.span, n, name))
    }

    fn record_type(&mut self, fields: &'a [VarDecl]) -> Option<TypeId> {
        let mut made: Vec<(&'a Name, Option<TypeId>)> = Vec::new();
        for VarDecl { names, ty, .. } in fields {
            let ty = self.type_expr(ty);
            for name in names {
                match made.iter().find(|(n, _)| n.text == name.text) {
                    Some((first, _)) => {
                        let message = format!("the record has two fields `{}`", name.text);
                        let d = Diagnostic::error(message)
                            .at(name.span, "again here")
                            .also(first.span, "first here");
                        self.report(d);
                    }
                    None => made.push((name, ty)),
                }
            }
        }
        let fields: Option<Vec<_>> =
            made.into_iter().map(|(name, ty)| Some((name.text.clone(), ty?))).collect();
        Some(self.types.record(fields?))
    }

    fn array_type(&mut self, index: &'a TypeExpr, element: &'a TypeExpr) -> Option<TypeId> {
        let at = index.span;
        let index = self.type_expr(index);
        let element = self.type_expr(element);
        let (index, element) = (index?, element?);
        if self.types.scalar(index).is_none() {
            let found = self.types.show(index);
            let d = Diagnostic::error(format!("an array cannot be indexed by {found}"))
                .at(at, "not a finite simple type")
                .help("index types are `boolean`, ranges, enumerations, scalarsets and unions");
            self.report(d);
            return None;
        }
        Some(self.types.array(index, element))
    }

    fn multiset_type(&mut self, capacity: &'a Expr, element: &'a TypeExpr) -> Option<TypeId> {
        let n = self.constant_int(capacity, "the capacity of a multiset");
        let element = self.type_expr(element);
        let (n, element) = (n?, element?);
        if !(1..=MAX_SIZE).contains(&n) {
            let message = format!("a multiset cannot have room for {n} elements");
            self.error(capacity.span, message, "must be at least 1");
            return None;
        }
        Some(self.types.multiset(n as u32, element))
    }

    fn real_type(&mut self, mantissa: &'a Expr, exponent: &'a Expr) -> Option<TypeId> {
        let digits = self.constant_int(mantissa, "the precision of a real");
        let power = self.constant_int(exponent, "the largest exponent of a real");
        let (digits, power) = (digits?, power?);
        if !(1..=15).contains(&digits) {
            let message = format!("a real cannot have {digits} significant digits");
            self.error(mantissa.span, message, "must be between 1 and 15");
            return None;
        }
        if !(1..=308).contains(&power) {
            let message = format!("a real cannot have exponents up to {power}");
            self.error(exponent.span, message, "must be between 1 and 308");
            return None;
        }
        Some(self.types.real(digits as u32, power as u32))
    }

    fn union_type(&mut self, ty: &'a TypeExpr, members: &'a [TypeExpr]) -> Option<TypeId> {
        let mut flat: Vec<TypeId> = Vec::new();
        let mut sound = true;
        for member in members {
            let Some(id) = self.type_expr(member) else {
                sound = false;
                continue;
            };
            for part in self.union_members(id).unwrap_or_default() {
                if flat.contains(&part) {
                    let shown = self.types.show(part);
                    let message = format!("{shown} is a member of the union twice");
                    self.error(member.span, message, "again here");
                    sound = false;
                }
                flat.push(part);
            }
            if self.union_members(id).is_none() {
                let shown = self.types.show(id);
                let d = Diagnostic::error(format!("{shown} cannot be a member of a union"))
                    .at(member.span, "not an enumeration, scalarset or union")
                    .help("members of unions are enumerations, scalarsets and other unions");
                self.report(d);
                sound = false;
            }
        }
        if flat.is_empty() && sound {
            self.error(ty.span, "a union needs at least one member", "no members");
            sound = false;
        }
        sound.then(|| self.types.union(flat))
    }

    /// The enumerations and scalarsets that a member brings into a union.
    fn union_members(&self, id: TypeId) -> Option<Vec<TypeId>> {
        use ergodic_ir::ScalarKind as Kind;
        let Type::Scalar(scalar) = self.types.get(id) else { return None };
        match &scalar.kind {
            Kind::Enum { .. } | Kind::Scalarset { .. } => Some(vec![id]),
            Kind::Union { members } => Some(members.clone()),
            Kind::Bool | Kind::Int => None,
        }
    }
}
