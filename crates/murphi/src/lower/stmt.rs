//! Statements.

use ergodic_diag::{Diagnostic, Span};
use ergodic_ir::{
    Expr as Ir, LocalKind, Place, PropertyKind as IrKind, PutPart, Root, Step, Stmt as IrStmt,
    SwitchCase, Type, TypeId,
};

use super::expr::{Operand, Typed};
use super::place::{Access, Designator};
use super::scope::{Aliased, What};
use super::types::{BOOLEAN, MAX_BOUND, Ty};
use super::{FnResult, Lower, Role};
use crate::ast::{
    Alias, Branch, Case, Expr, ExprKind, Name, Property, PropertyKind, Quantifier, Stmt, StmtKind,
    Text,
};

impl<'a> Lower<'a> {
    /// A list of statements.
    pub(super) fn block(&mut self, stmts: &'a [Stmt]) -> Vec<IrStmt> {
        let mut out = Vec::new();
        for stmt in stmts {
            let outer = std::mem::take(&mut self.pending);
            let mut made = Vec::new();
            self.statement(stmt, &mut made);
            out.append(&mut self.pending);
            out.append(&mut made);
            self.pending = outer;
        }
        out
    }

    fn statement(&mut self, stmt: &'a Stmt, out: &mut Vec<IrStmt>) {
        match &stmt.kind {
            StmtKind::Assign { target, value } => out.extend(self.assign(stmt, target, value)),
            StmtKind::Call { procedure, args } => {
                out.extend(self.call_statement(stmt.span, procedure, args));
            }
            StmtKind::If { branches, otherwise } => {
                let other = otherwise.as_deref().unwrap_or_default();
                out.push(self.if_statement(branches, other));
            }
            StmtKind::Switch { subject, cases, otherwise } => {
                let other = otherwise.as_deref().unwrap_or_default();
                out.push(self.switch(subject, cases, other));
            }
            StmtKind::For { quantifiers, body } => out.extend(self.for_loop(quantifiers, body)),
            StmtKind::While { condition, body } => {
                let site = self.site(condition.span);
                let cond = self.boolean(condition, "the condition of `while`");
                let body = self.block(body);
                out.push(IrStmt::While { cond, body, site });
            }
            StmtKind::Alias { aliases, body } => {
                let outer = self.scope;
                for alias in aliases {
                    self.alias(alias, out);
                }
                let mut body = self.block(body);
                out.append(&mut body);
                self.leave(outer);
            }
            StmtKind::Clear(target) => out.extend(self.clear(target)),
            StmtKind::Undefine(target) => {
                out.extend(self.target(target, "undefined").map(IrStmt::Undefine));
            }
            StmtKind::Error(text) => {
                let site = self.site_saying(stmt.span, unescape(&text.raw));
                out.push(IrStmt::Error { site });
            }
            StmtKind::Property(property) => out.extend(self.property_statement(property)),
            StmtKind::PutText(text) => {
                out.push(IrStmt::Put(vec![PutPart::Text(unescape(&text.raw))]));
            }
            StmtKind::PutExpr(value) => out.extend(self.put(value)),
            StmtKind::Return(value) => self.return_statement(stmt, value.as_ref(), out),
            StmtKind::MultisetAdd { element, multiset } => {
                out.extend(self.multiset_add(stmt, element, multiset));
            }
            StmtKind::MultisetRemove { index, multiset } => {
                out.extend(self.multiset_remove(stmt, index, multiset));
            }
            StmtKind::MultisetRemovePred { index, multiset, condition } => {
                out.extend(self.multiset_remove_where(index, multiset, condition));
            }
        }
    }

    fn assign(&mut self, stmt: &Stmt, target: &'a Expr, value: &'a Expr) -> Option<IrStmt> {
        if value.kind == ExprKind::Undefined {
            return self.target(target, "assigned to").map(IrStmt::Undefine);
        }
        let to = self.target(target, "assigned to");
        let value_span = value.span;
        let operand = self.operand(value);
        let to = to?;
        let site = (stmt.span, target.span);
        self.store(to, operand, value_span, site, "assign")
    }

    /// Puts a value into a place, if the types allow it. A fault is reported at the first span of
    /// `at`, and is about the text of the second.
    fn store(
        &mut self,
        to: Place,
        operand: Operand,
        span: Span,
        at: (Span, Span),
        verb: &str,
    ) -> Option<IrStmt> {
        let found = match &operand {
            Operand::Place(d) => self.types.ty(d.place.ty),
            Operand::Value(value) => value.ty,
        };
        if found == Ty::Error {
            return None;
        }
        if !self.fits(found, to.ty) {
            self.cannot_store(found, to.ty, span, verb);
            return None;
        }
        let site = self.site_about(at.0, at.1);
        let wanted = self.types.ty(to.ty);
        let value = match operand {
            Operand::Place(d)
                if !self.is_simple(to.ty) || self.copies_undefined(&d.place, to.ty) =>
            {
                return Some(IrStmt::Copy { to, from: d.place, site });
            }
            Operand::Place(d) => self.read(d, span),
            Operand::Value(value) => value,
        };
        let value = self.convert(value, wanted, span);
        Some(IrStmt::Assign { to, value, site })
    }

    /// Whether a value of a type can be stored in a variable of another.
    pub(super) fn fits(&self, found: Ty, wanted: TypeId) -> bool {
        match (found, self.types.ty(wanted)) {
            (Ty::Error, _) | (Ty::Int, Ty::Real) => true,
            (Ty::Scalar(a), Ty::Scalar(b)) => self.types.overlap(a, b),
            (a, b) => a == b,
        }
    }

    fn cannot_store(&mut self, found: Ty, wanted: TypeId, span: Span, verb: &str) {
        let (found_text, wanted_text) = (self.types.describe(found), self.types.show(wanted));
        let message = format!("cannot {verb} {found_text} to {wanted_text}");
        let mut d = Diagnostic::error(message).at(span, format!("this is {found_text}"));
        let wanted_ty = self.types.ty(wanted);
        d = match (found, wanted_ty) {
            (Ty::Real, Ty::Int) => d.help("reals are not rounded to integers silently"),
            (Ty::Int, Ty::Bool) => d.help("write `true` or `false`"),
            (Ty::Int, Ty::Scalar(id)) if self.types.scalarset_in(id) => {
                d.help("values of a scalarset have no numbers: that would break symmetry")
            }
            _ => d,
        };
        self.report(d);
    }

    fn if_statement(&mut self, branches: &'a [Branch], otherwise: &'a [Stmt]) -> IrStmt {
        let mut made = Vec::new();
        for Branch { condition, body, .. } in branches {
            let condition = self.boolean(condition, "the condition of `if`");
            made.push((condition, self.block(body)));
        }
        IrStmt::If { branches: made, other: self.block(otherwise) }
    }

    fn switch(&mut self, subject: &'a Expr, cases: &'a [Case], otherwise: &'a [Stmt]) -> IrStmt {
        let value = self.value(subject);
        let wanted = value.ty;
        if !matches!(wanted, Ty::Bool | Ty::Int | Ty::Scalar(_) | Ty::Error) {
            let found = self.types.describe(wanted);
            let message = "`switch` needs a value of a finite simple type";
            self.error(subject.span, message, format!("this is {found}"));
        }
        let mut made = Vec::new();
        for Case { values, body, .. } in cases {
            let values = values.iter().map(|v| self.case_value(v, wanted)).collect();
            made.push(SwitchCase { values, body: self.block(body) });
        }
        IrStmt::Switch { subject: value.expr, cases: made, other: self.block(otherwise) }
    }

    fn case_value(&mut self, e: &'a Expr, wanted: Ty) -> Ir {
        if e.kind == ExprKind::Undefined {
            let d = Diagnostic::error("a `case` cannot match `undefined`")
                .at(e.span, "not a value")
                .help("test with `if isundefined(x)` before the `switch`");
            self.report(d);
            return Ir::Int(0);
        }
        let value = self.value(e);
        let fits = match (wanted, value.ty) {
            (Ty::Error, _) | (_, Ty::Error) => true,
            (Ty::Scalar(a), Ty::Scalar(b)) => self.types.overlap(a, b),
            (a, b) => a == b,
        };
        if !fits {
            let (found, wanted) = (self.types.describe(value.ty), self.types.describe(wanted));
            let message = format!("this `case` can never match {wanted}");
            self.error(e.span, message, format!("this is {found}"));
        }
        value.expr
    }

    fn for_loop(&mut self, quantifiers: &'a [Quantifier], body: &'a [Stmt]) -> Vec<IrStmt> {
        let outer = self.scope;
        let binders: Vec<_> = quantifiers.iter().map(|q| self.quantifier(q)).collect();
        let mut body = self.block(body);
        self.leave(outer);
        for (var, over) in binders.into_iter().rev().flatten() {
            body = vec![IrStmt::For { var, over, body }];
        }
        body
    }

    /// Opens a scope with the names of an alias; what has to be done on entry goes to `out`.
    pub(super) fn alias(&mut self, alias: &'a Alias, out: &mut Vec<IrStmt>) {
        let outer = std::mem::take(&mut self.pending);
        let slot = self.slot_entity(&alias.value);
        let operand = self.operand(&alias.value);
        out.append(&mut self.pending);
        self.pending = outer;
        let first = alias.names.first().map_or("", |n| n.text.as_str());
        let aliased = match operand {
            Operand::Value(Typed { ty: Ty::Error, .. }) => Aliased::Error,
            Operand::Place(d) => Aliased::Place(self.alias_place(first, d, out)),
            Operand::Value(value) if value.is_literal() => Aliased::Value(value),
            Operand::Value(value) => self.alias_value(first, value, alias.value.span, out),
        };
        self.enter();
        for name in &alias.names {
            let what = match &slot {
                Some(slot) => slot.clone(),
                None => What::Alias(Box::new(aliased.clone()), &alias.value),
            };
            self.declare(name, what);
        }
    }

    /// The meaning of an expression that is just the name of a multiset index.
    fn slot_entity(&mut self, e: &'a Expr) -> Option<What<'a>> {
        let ExprKind::Name(name) = &e.kind else { return None };
        let id = self.find(&name.text)?;
        let what = &self.entity(id).what;
        matches!(what, What::Slot { .. }).then(|| what.clone())
    }

    fn alias_place(&mut self, name: &str, d: Designator, out: &mut Vec<IrStmt>) -> Designator {
        let fixed = |step: &Step| match step {
            Step::Field(_) => true,
            Step::Index { index, .. } => matches!(index, Ir::Int(_) | Ir::Bound(_)),
            Step::Slot { slot, .. } => matches!(slot, Ir::Int(_) | Ir::Bound(_)),
        };
        if d.place.path.iter().all(fixed) {
            return d;
        }
        let ty = d.place.ty;
        let local = self.local(name, ty, LocalKind::Ref);
        out.push(IrStmt::Bind { local, place: d.place });
        let place = Place { root: Root::Local(local), path: Vec::new(), ty };
        Designator { place, access: d.access }
    }

    fn alias_value(
        &mut self,
        name: &str,
        value: Typed,
        span: Span,
        out: &mut Vec<IrStmt>,
    ) -> Aliased {
        let ty = match value.ty {
            Ty::Bool => BOOLEAN,
            Ty::Int => self.types.range(-MAX_BOUND - 1, MAX_BOUND),
            Ty::Real => self.types.real(15, 308),
            Ty::Scalar(id) => id,
            Ty::Slot(_) => return Aliased::Value(value),
            Ty::Error | Ty::Compound(_) => {
                self.error(span, "this cannot have an alias", "not a variable or simple value");
                return Aliased::Error;
            }
        };
        let local = self.local(name, ty, LocalKind::Bound);
        out.push(IrStmt::Let { local, value: value.expr });
        Aliased::Value(Typed::new(Ir::Bound(local), value.ty))
    }

    fn clear(&mut self, target: &'a Expr) -> Option<IrStmt> {
        let place = self.target(target, "cleared")?;
        if let Some(part) = self.types.symmetric_part(place.ty) {
            let shown = self.types.show(part);
            let d = Diagnostic::error("`clear` needs a least value for every part")
                .at(target.span, format!("this holds {shown}, which has none"))
                .help("assign the parts one by one, or use `undefine`");
            self.report(d);
            return None;
        }
        Some(IrStmt::Clear(place))
    }

    fn property_statement(&mut self, property: &'a Property) -> Option<IrStmt> {
        let Property { kind, message, condition, span } = property;
        let what = format!("the condition of `{}`", kind.keyword());
        let cond = self.boolean(condition, &what);
        match kind {
            PropertyKind::Assert | PropertyKind::Invariant => {
                let site = match message {
                    Some(Text { raw, .. }) => self.site_saying(*span, unescape(raw)),
                    None => self.site_about(*span, condition.span),
                };
                Some(IrStmt::Assert { cond, site })
            }
            PropertyKind::Assume => Some(IrStmt::Assume { cond }),
            PropertyKind::Cover => {
                let name = self.property_name(message.as_ref(), "Cover");
                let property = self.program.properties.len() as u32;
                self.program.properties.push(ergodic_ir::Property {
                    kind: IrKind::Cover,
                    name,
                    span: *span,
                    locals: Vec::new(),
                    expr: None,
                    impure: false,
                });
                Some(IrStmt::Cover { cond, property })
            }
            PropertyKind::Liveness => {
                let d = Diagnostic::error("`liveness` is a property of the whole model")
                    .at(*span, "not a statement")
                    .help("write it outside of rules and functions");
                self.report(d);
                None
            }
        }
    }

    fn put(&mut self, e: &'a Expr) -> Option<IrStmt> {
        let part = match self.operand(e) {
            Operand::Place(d) => {
                PutPart::Place { place: d.place, name: self.slice(e.span).to_owned() }
            }
            Operand::Value(value) => {
                let ty = match value.ty {
                    Ty::Error => return None,
                    Ty::Bool => Some(BOOLEAN),
                    Ty::Scalar(id) => Some(id),
                    Ty::Real => Some(self.types.real(15, 308)),
                    _ => None,
                };
                PutPart::Value { value: value.expr, ty }
            }
        };
        Some(IrStmt::Put(vec![part]))
    }

    fn return_statement(&mut self, stmt: &'a Stmt, value: Option<&'a Expr>, out: &mut Vec<IrStmt>) {
        let site = self.site(stmt.span);
        let (name, result) = match &self.frame.role {
            Role::Function { name, result } => (name.clone(), *result),
            Role::Constant => return,
            Role::Action => (String::new(), FnResult::None),
        };
        match (result, value) {
            (FnResult::None, None) => out.push(IrStmt::Return { value: None, site }),
            (FnResult::None, Some(value)) => {
                let whose = match name.as_str() {
                    "" => "a rule".to_owned(),
                    name => format!("the procedure `{name}`"),
                };
                let message = format!("{whose} cannot return a value");
                self.error(value.span, message, "there is nobody to take it");
            }
            (_, None) => {
                let message = format!("the function `{name}` must return a value");
                self.error(stmt.span, message, "the value is missing");
            }
            (FnResult::Value(ty), Some(value)) => {
                let (span, value) = (value.span, self.value(value));
                if !self.fits(value.ty, ty) {
                    self.wrong_return(&name, value.ty, ty, span);
                }
                let value = Some(self.convert(value, self.types.ty(ty), span));
                out.push(IrStmt::Return { value, site });
            }
            (FnResult::Place(ty, local), Some(value)) => {
                let to = Place { root: Root::Local(local), path: Vec::new(), ty };
                let span = value.span;
                let operand = self.operand(value);
                out.extend(self.store(to, operand, span, (stmt.span, span), "return"));
                out.push(IrStmt::Return { value: None, site });
            }
        }
    }

    fn wrong_return(&mut self, name: &str, found: Ty, wanted: TypeId, span: Span) {
        let (found, wanted) = (self.types.describe(found), self.types.show(wanted));
        let message = format!("the result of `{name}` is of type {wanted}");
        self.error(span, message, format!("this is {found}"));
    }

    fn multiset_target(&mut self, e: &'a Expr) -> Option<(Place, TypeId)> {
        let Designator { place, access } = self.multiset_place(e)?;
        if access != Access::Free {
            self.read_only(e, access, "changed");
            return None;
        }
        let Type::Multiset { elem, .. } = self.types.get(place.ty) else { return None };
        let elem = *elem;
        Some((place, elem))
    }

    fn multiset_add(
        &mut self,
        stmt: &Stmt,
        element: &'a Expr,
        multiset: &'a Expr,
    ) -> Option<IrStmt> {
        let operand = self.operand(element);
        let (set, elem) = self.multiset_target(multiset)?;
        // Storing to an imaginary element checks the types.
        let imaginary = Place { path: Vec::new(), root: set.root, ty: elem };
        let at = (stmt.span, multiset.span);
        let site = self.site_about(at.0, at.1);
        match self.store(imaginary, operand, element.span, at, "add")? {
            IrStmt::Copy { from, .. } => Some(IrStmt::Add { set, from, site }),
            IrStmt::Assign { value, .. } => Some(IrStmt::AddValue { set, value, site }),
            _ => None,
        }
    }

    fn multiset_remove(
        &mut self,
        stmt: &Stmt,
        index: &'a Expr,
        multiset: &'a Expr,
    ) -> Option<IrStmt> {
        let Some((set, _)) = self.multiset_target(multiset) else {
            self.operand(index);
            return None;
        };
        let slot = self.slot(index, &set)?;
        let site = self.site_about(stmt.span, multiset.span);
        Some(IrStmt::Remove { set, slot, site })
    }

    fn multiset_remove_where(
        &mut self,
        index: &'a Name,
        multiset: &'a Expr,
        condition: &'a Expr,
    ) -> Option<IrStmt> {
        let Some((set, _)) = self.multiset_target(multiset) else {
            self.poison_index(index, condition);
            return None;
        };
        let outer = self.enter();
        let var = self.declare_slot(index, &set);
        let cond = self.boolean(condition, "the condition of `multisetremovepred`");
        self.leave(outer);
        Some(IrStmt::RemoveWhere { set, var, cond })
    }
}

/// A string as it is printed: escape sequences as in C.
pub(super) fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some(c @ ('"' | '\'' | '\\')) => out.push(c),
            Some(c) => out.extend(['\\', c]),
            None => out.push('\\'),
        }
    }
    out
}
