//! The static rules of Murphi, as far as generated models need them. The generator obeys them by
//! construction; the shrinker edits blindly and keeps only what passes here.
//!
//! Beyond typing, this rejects what compilers reject or what the tools disagree about: constants
//! out of range, constant zero divisors, repeated `case` values, functions with side effects
//! inside expressions, and `clear` of scalarsets, unions and multisets.

use super::model::{
    BOOLEAN, BinOp, Binder, Domain, Expr, Function, Model, Place, Rule, Step, Stmt, Type, Var,
};
use std::collections::HashSet;

/// Tells why a model is ill-formed, if it is.
pub fn check(model: &Model) -> Result<(), String> {
    declarations(model)?;
    let mut checker = Checker { model, scope: Vec::new(), result: Context::Rule, functions: 0 };
    for (i, f) in model.functions.iter().enumerate() {
        checker.functions = i + 1;
        checker.function(f)?;
    }
    checker.result = Context::Rule;
    checker.rules(&model.rules)?;
    let (mut starts, mut simple) = (0, 0);
    count_leaves(&model.rules, &mut starts, &mut simple);
    ensure(starts > 0 && simple > 0, || "no rule or no start state".to_owned())
}

/// Whether a function may be called inside expressions: it changes nothing but its own locals.
pub(super) fn is_pure(model: &Model, f: &Function) -> bool {
    let own = |place: &Place| f.locals.iter().any(|v| v.name == place.root);
    f.params.iter().all(|p| !p.by_ref) && f.body.iter().all(|s| pure_stmt(model, f, &own, s))
}

fn pure_stmt(model: &Model, f: &Function, own: &dyn Fn(&Place) -> bool, stmt: &Stmt) -> bool {
    let all = |body: &[Stmt]| body.iter().all(|s| pure_stmt(model, f, own, s));
    match stmt {
        Stmt::Assign(place, Expr::Call(name, _)) => {
            own(place)
                && (*name == f.name || model.function(name).is_some_and(|g| is_pure(model, g)))
        }
        Stmt::Assign(place, _) | Stmt::Clear(place) | Stmt::Undefine(place) => own(place),
        Stmt::Call(..) | Stmt::Add(..) | Stmt::Remove { .. } | Stmt::RemovePred { .. } => false,
        Stmt::If(branches, otherwise) => {
            branches.iter().all(|(_, b)| all(b)) && otherwise.as_ref().is_none_or(|b| all(b))
        }
        Stmt::Switch(_, cases, otherwise) => {
            cases.iter().all(|c| all(&c.body)) && otherwise.as_ref().is_none_or(|b| all(b))
        }
        Stmt::For(_, body) | Stmt::While(_, body) | Stmt::Alias(_, body) => all(body),
        Stmt::PutText(_) | Stmt::PutExpr(_) => false,
        Stmt::Error(_) | Stmt::Assert(..) | Stmt::Return(_) => true,
    }
}

/// The value of an expression made of literals and constants only.
pub(super) fn constant(model: &Model, e: &Expr) -> Option<i64> {
    match e {
        Expr::Int(n) => Some(*n),
        Expr::Const(name) => model.consts.iter().find(|(n, _)| n == name).map(|c| c.1),
        Expr::Neg(a) => constant(model, a)?.checked_neg(),
        Expr::Binary(op, a, b) => {
            let (a, b) = (constant(model, a)?, constant(model, b)?);
            match op {
                BinOp::Add => a.checked_add(b),
                BinOp::Sub => a.checked_sub(b),
                BinOp::Mul => a.checked_mul(b),
                BinOp::Div => a.checked_div(b),
                BinOp::Mod => a.checked_rem(b),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether all parts of a type have a least value that `clear` can give them.
pub(super) fn clearable(model: &Model, ty: &str) -> bool {
    match model.type_named(ty) {
        Some(Type::Boolean | Type::Enum(_) | Type::Range(..)) => true,
        Some(Type::Record(fields)) => fields.iter().all(|f| clearable(model, &f.ty)),
        Some(Type::Array { element, .. }) => clearable(model, element),
        _ => false,
    }
}

pub(super) fn is_scalar(model: &Model, ty: &str) -> bool {
    !matches!(
        model.type_named(ty),
        None | Some(Type::Record(_) | Type::Array { .. } | Type::Multiset { .. })
    )
}

fn ensure(ok: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if ok { Ok(()) } else { Err(message()) }
}

fn count_leaves(rules: &[Rule], starts: &mut usize, simple: &mut usize) {
    for rule in rules {
        match rule {
            Rule::Start { .. } => *starts += 1,
            Rule::Simple { .. } => *simple += 1,
            Rule::Invariant { .. } => {}
            Rule::Ruleset { rules, .. }
            | Rule::Alias { rules, .. }
            | Rule::Choose { rules, .. } => count_leaves(rules, starts, simple),
        }
    }
}

fn declarations(model: &Model) -> Result<(), String> {
    let mut names = HashSet::new();
    let mut fresh = |n: &str| ensure(names.insert(n.to_owned()), || format!("{n} twice"));
    for (name, _) in &model.consts {
        fresh(name)?;
    }
    for (i, t) in model.types.iter().enumerate() {
        fresh(&t.name)?;
        if let Type::Enum(literals) = &t.ty {
            literals.iter().try_for_each(|l| fresh(l))?;
        }
        let known = |n: &str| n == BOOLEAN || model.types[..i].iter().any(|t| t.name == n);
        ensure(type_ok(model, &t.ty, &known), || format!("bad type {}", t.name))?;
    }
    ensure(!model.vars.is_empty(), || "no variables".to_owned())?;
    for v in &model.vars {
        fresh(&v.name)?;
        ensure(model.type_named(&v.ty).is_some(), || format!("unknown type {}", v.ty))?;
    }
    model.functions.iter().try_for_each(|f| fresh(&f.name))
}

fn type_ok(model: &Model, ty: &Type, known: &dyn Fn(&str) -> bool) -> bool {
    let is_multiset = |n: &str| matches!(model.type_named(n), Some(Type::Multiset { .. }));
    let part = |n: &str| known(n) && !is_multiset(n);
    match ty {
        Type::Boolean => true,
        Type::Enum(literals) => !literals.is_empty(),
        Type::Range(lo, hi) => lo <= hi,
        Type::Scalarset(n) => *n > 0,
        Type::Union(members) => {
            members.len() > 1
                && members.iter().all(|m| {
                    known(m)
                        && matches!(model.type_named(m), Some(Type::Enum(_) | Type::Scalarset(_)))
                })
        }
        Type::Record(fields) => !fields.is_empty() && fields.iter().all(|f| part(&f.ty)),
        Type::Array { index, element } => {
            let scalar =
                is_scalar(model, index) && !matches!(model.type_named(index), Some(Type::Union(_)));
            known(index) && scalar && part(element)
        }
        Type::Multiset { capacity, element } => *capacity > 0 && part(element),
    }
}

/// The type of an expression: an integer of any range, or a declared type.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Ty<'m> {
    Int,
    Named(&'m str),
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Kind<'m> {
    Variable,
    ReadOnly,
    /// The index of an element of this multiset; the flag tells that `choose` bound it.
    Index(&'m str, bool),
}

/// What `return` may do here.
#[derive(Copy, Clone)]
enum Context<'m> {
    Rule,
    Function(Option<&'m str>),
}

struct Entry<'m> {
    name: &'m str,
    /// None for a name bound to plain integers.
    ty: Option<&'m str>,
    kind: Kind<'m>,
}

struct Checker<'m> {
    model: &'m Model,
    scope: Vec<Entry<'m>>,
    result: Context<'m>,
    /// How many functions are declared so far.
    functions: usize,
}

type Checked<T> = Result<T, String>;

impl<'m> Checker<'m> {
    fn push(&mut self, name: &'m str, ty: Option<&'m str>, kind: Kind<'m>) {
        self.scope.push(Entry { name, ty, kind });
    }

    fn locals(&mut self, locals: &'m [Var]) -> Checked<()> {
        for v in locals {
            let ty = self.model.type_named(&v.ty);
            let ok = matches!(ty, Some(t) if !matches!(t, Type::Multiset { .. }));
            ensure(ok, || format!("bad type of local {}", v.name))?;
            self.push(&v.name, Some(&v.ty), Kind::Variable);
        }
        Ok(())
    }

    fn function(&mut self, f: &'m Function) -> Checked<()> {
        for p in &f.params {
            ensure(self.model.type_named(&p.ty).is_some(), || format!("bad param {}", p.name))?;
            let kind = if p.by_ref { Kind::Variable } else { Kind::ReadOnly };
            self.push(&p.name, Some(&p.ty), kind);
        }
        if let Some(ty) = &f.result {
            ensure(is_scalar(self.model, ty), || format!("result of {}", f.name))?;
        }
        self.locals(&f.locals)?;
        self.result = Context::Function(f.result.as_deref());
        self.block(&f.body)?;
        self.scope.clear();
        Ok(())
    }

    fn rules(&mut self, rules: &'m [Rule]) -> Checked<()> {
        rules.iter().try_for_each(|r| self.rule(r))
    }

    fn rule(&mut self, rule: &'m Rule) -> Checked<()> {
        let height = self.scope.len();
        match rule {
            Rule::Simple { guard, locals, body, .. } => {
                if let Some(g) = guard {
                    self.condition(g)?;
                }
                self.locals(locals)?;
                self.block(body)?;
            }
            Rule::Start { locals, body, .. } => {
                self.locals(locals)?;
                self.block(body)?;
            }
            Rule::Invariant { cond, .. } => self.condition(cond)?,
            Rule::Ruleset { binders, rules } => {
                ensure(!binders.is_empty() && !rules.is_empty(), || "empty ruleset".to_owned())?;
                binders.iter().try_for_each(|b| self.bind(b))?;
                self.rules(rules)?;
            }
            Rule::Alias { aliases, rules } => {
                ensure(!aliases.is_empty() && !rules.is_empty(), || "empty alias".to_owned())?;
                self.aliases(aliases)?;
                self.rules(rules)?;
            }
            Rule::Choose { index, multiset, rules } => {
                ensure(!rules.is_empty(), || "empty choose".to_owned())?;
                self.multiset(multiset)?;
                self.push(index, None, Kind::Index(multiset, true));
                self.rules(rules)?;
            }
        }
        self.scope.truncate(height);
        Ok(())
    }

    fn bind(&mut self, binder: &'m Binder) -> Checked<()> {
        let ty = match &binder.domain {
            Domain::Type(ty) => {
                ensure(is_scalar(self.model, ty), || format!("range over {ty}"))?;
                Some(ty.as_str())
            }
            Domain::Range { from, to, by } => {
                ensure(*by != 0 && (to - from) * by.signum() >= 0, || "empty range".to_owned())?;
                None
            }
        };
        self.push(&binder.name, ty, Kind::ReadOnly);
        Ok(())
    }

    fn aliases(&mut self, aliases: &'m [(String, Expr)]) -> Checked<()> {
        for (name, meaning) in aliases {
            let (ty, kind) = match meaning {
                Expr::Read(place) => self.place(place)?,
                e => match self.expr(e)? {
                    Ty::Int => (None, Kind::ReadOnly),
                    Ty::Named(ty) => (Some(ty), Kind::ReadOnly),
                },
            };
            self.push(name, ty, kind);
        }
        Ok(())
    }

    fn multiset(&self, name: &str) -> Checked<&'m str> {
        self.model.element_type(name).ok_or_else(|| format!("{name} is no multiset"))
    }

    // ---- places and expressions ----

    fn root(&self, name: &str) -> Checked<(Option<&'m str>, Kind<'m>)> {
        if let Some(e) = self.scope.iter().rev().find(|e| e.name == name) {
            return Ok((e.ty, e.kind));
        }
        let var = self.model.vars.iter().find(|v| v.name == name);
        let var = var.ok_or_else(|| format!("unknown name {name}"))?;
        Ok((Some(&var.ty), Kind::Variable))
    }

    fn place(&mut self, place: &'m Place) -> Checked<(Option<&'m str>, Kind<'m>)> {
        let (mut ty, kind) = self.root(&place.root)?;
        if let Kind::Index(..) = kind {
            return Err(format!("{} is an index", place.root));
        }
        for step in &place.path {
            let here = ty.and_then(|t| self.model.type_named(t));
            let here = here.ok_or_else(|| format!("{} has no parts", place.root))?;
            ty = Some(match (step, here) {
                (Step::Field(name), Type::Record(fields)) => {
                    let field = fields.iter().find(|f| f.name == *name);
                    &field.ok_or_else(|| format!("no field {name}"))?.ty
                }
                (Step::Index(e), Type::Array { index, element }) => {
                    self.fits(index, e, false)?;
                    element
                }
                (Step::Element(index), Type::Multiset { element, .. }) => {
                    let (_, kind) = self.root(index)?;
                    let ok = matches!(kind, Kind::Index(ms, _) if ms == place.root);
                    ensure(ok, || format!("{index} is no index of {}", place.root))?;
                    element
                }
                _ => return Err(format!("bad step in {place:?}")),
            });
        }
        Ok((ty, kind))
    }

    fn place_ty(&mut self, place: &'m Place) -> Checked<Ty<'m>> {
        let (ty, _) = self.place(place)?;
        Ok(match ty {
            None => Ty::Int,
            Some(name) => self.plain(name),
        })
    }

    fn plain(&self, name: &'m str) -> Ty<'m> {
        match self.model.type_named(name) {
            Some(Type::Range(..)) => Ty::Int,
            _ => Ty::Named(name),
        }
    }

    fn writable(&mut self, place: &'m Place) -> Checked<&'m str> {
        match self.place(place)? {
            (Some(ty), Kind::Variable) => Ok(ty),
            _ => Err(format!("{} is read-only", place.root)),
        }
    }

    fn members(&self, ty: Ty<'m>) -> &'m [String] {
        match ty {
            Ty::Named(name) => match self.model.type_named(name) {
                Some(Type::Union(members)) => members,
                _ => &[],
            },
            Ty::Int => &[],
        }
    }

    fn related(&self, a: Ty<'m>, b: Ty<'m>) -> bool {
        let inside = |union: Ty<'m>, member: Ty<'m>| match member {
            Ty::Named(name) => self.members(union).iter().any(|m| m == name),
            Ty::Int => false,
        };
        a == b || inside(a, b) || inside(b, a)
    }

    /// Fails unless the expression may be assigned to the type (and is scalar, unless
    /// `compound`).
    fn fits(&mut self, target: &'m str, e: &'m Expr, compound: bool) -> Checked<()> {
        let ty = self.expr_or_compound(e)?;
        ensure(compound || is_scalar(self.model, target), || "compound value".to_owned())?;
        let related = self.related(self.plain(target), ty);
        ensure(related, || format!("{e:?} does not fit {target}"))?;
        match (self.model.type_named(target), constant(self.model, e)) {
            (Some(Type::Range(lo, hi)), Some(n)) => {
                ensure((*lo..=*hi).contains(&n), || format!("{n} is not in {target}"))
            }
            _ => Ok(()),
        }
    }

    fn condition(&mut self, e: &'m Expr) -> Checked<()> {
        let ty = self.expr(e)?;
        ensure(ty == Ty::Named(BOOLEAN), || format!("{e:?} is no condition"))
    }

    fn int(&mut self, e: &'m Expr) -> Checked<()> {
        let ty = self.expr(e)?;
        ensure(ty == Ty::Int, || format!("{e:?} is no integer"))
    }

    fn expr(&mut self, e: &'m Expr) -> Checked<Ty<'m>> {
        let ty = self.expr_or_compound(e)?;
        let scalar = match ty {
            Ty::Int => true,
            Ty::Named(name) => is_scalar(self.model, name),
        };
        ensure(scalar, || format!("{e:?} is compound"))?;
        Ok(ty)
    }

    fn expr_or_compound(&mut self, e: &'m Expr) -> Checked<Ty<'m>> {
        match e {
            Expr::Int(_) => Ok(Ty::Int),
            Expr::Bool(_) => Ok(Ty::Named(BOOLEAN)),
            Expr::Enum(name) => {
                let found = self.model.enum_of(name).ok_or_else(|| format!("no {name}"))?;
                Ok(Ty::Named(found.0))
            }
            Expr::Const(name) => {
                let known = self.model.consts.iter().any(|(n, _)| n == name);
                ensure(known, || format!("no constant {name}"))?;
                Ok(Ty::Int)
            }
            Expr::Read(place) => self.place_ty(place),
            Expr::Neg(a) => self.int(a).map(|()| Ty::Int),
            Expr::Not(a) => self.condition(a).map(|()| Ty::Named(BOOLEAN)),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::Cond(c, a, b) => {
                self.condition(c)?;
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                ensure(a == b, || format!("branches differ in {e:?}"))?;
                Ok(a)
            }
            Expr::Quant { binder, body, .. } => {
                self.bind(binder)?;
                self.condition(body)?;
                self.scope.pop();
                Ok(Ty::Named(BOOLEAN))
            }
            Expr::IsUndefined(place) => {
                let (ty, kind) = self.place(place)?;
                let ok = kind != Kind::ReadOnly || !place.path.is_empty();
                let scalar = ty.is_some_and(|t| is_scalar(self.model, t));
                ensure(ok && scalar, || "isundefined".to_owned())?;
                Ok(Ty::Named(BOOLEAN))
            }
            Expr::IsMember(place, ty) => {
                let union = self.place_ty(place)?;
                let ok = self.members(union).contains(ty);
                ensure(ok, || format!("{ty} is no member"))?;
                Ok(Ty::Named(BOOLEAN))
            }
            Expr::Call(name, args) => {
                let result = self.call(name, args)?;
                let pure = self.model.function(name).is_some_and(|f| is_pure(self.model, f));
                ensure(pure, || format!("{name} has side effects"))?;
                result.map(|ty| self.plain(ty)).ok_or_else(|| format!("{name} has no result"))
            }
            Expr::Count { index, multiset, cond } => {
                self.counted(index, multiset, cond).map(|()| Ty::Int)
            }
        }
    }

    fn counted(&mut self, index: &'m str, ms: &'m str, cond: &'m Expr) -> Checked<()> {
        self.multiset(ms)?;
        self.push(index, None, Kind::Index(ms, false));
        self.condition(cond)?;
        self.scope.pop();
        Ok(())
    }

    fn binary(&mut self, op: BinOp, a: &'m Expr, b: &'m Expr) -> Checked<Ty<'m>> {
        match op {
            BinOp::And | BinOp::Or | BinOp::Implies => {
                self.condition(a)?;
                self.condition(b)?;
                Ok(Ty::Named(BOOLEAN))
            }
            BinOp::Eq | BinOp::Ne => {
                let (x, y) = (self.expr(a)?, self.expr(b)?);
                ensure(self.related(x, y), || format!("{a:?} and {b:?} differ in type"))?;
                Ok(Ty::Named(BOOLEAN))
            }
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => {
                self.int(a)?;
                self.int(b)?;
                Ok(Ty::Named(BOOLEAN))
            }
            BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Mod => {
                self.int(a)?;
                self.int(b)?;
                let divides = matches!(op, BinOp::Div | BinOp::Mod);
                let zero = divides && constant(self.model, b) == Some(0);
                ensure(!zero, || "division by constant zero".to_owned())?;
                Ok(Ty::Int)
            }
        }
    }

    fn call(&mut self, name: &str, args: &'m [Expr]) -> Checked<Option<&'m str>> {
        let declared = &self.model.functions[..self.functions];
        let f = declared.iter().find(|f| f.name == name);
        let f: &'m Function = f.ok_or_else(|| format!("no function {name} yet"))?;
        ensure(f.params.len() == args.len(), || format!("arguments of {name}"))?;
        for (param, arg) in f.params.iter().zip(args) {
            match arg {
                Expr::Read(place) if param.by_ref => {
                    let ty = self.writable(place)?;
                    ensure(ty == param.ty, || format!("var argument of {name}"))?;
                }
                _ if param.by_ref => return Err(format!("var argument of {name}")),
                _ => self.fits(&param.ty, arg, true)?,
            }
        }
        Ok(f.result.as_deref())
    }

    // ---- statements ----

    fn block(&mut self, body: &'m [Stmt]) -> Checked<()> {
        let height = self.scope.len();
        for stmt in body {
            self.stmt(stmt)?;
            self.scope.truncate(height);
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &'m Stmt) -> Checked<()> {
        match stmt {
            Stmt::Assign(place, value) => self.assign(place, value),
            Stmt::Call(name, args) => {
                let result = self.call(name, args)?;
                ensure(result.is_none(), || format!("{name} is a function"))
            }
            Stmt::If(branches, otherwise) => {
                ensure(!branches.is_empty(), || "empty if".to_owned())?;
                for (cond, body) in branches {
                    self.condition(cond)?;
                    self.block(body)?;
                }
                otherwise.as_ref().map_or(Ok(()), |b| self.block(b))
            }
            Stmt::Switch(..) => self.switch(stmt),
            Stmt::For(binder, body) => {
                self.bind(binder)?;
                self.block(body)
            }
            Stmt::While(cond, body) => {
                self.condition(cond)?;
                self.block(body)
            }
            Stmt::Alias(aliases, body) => {
                ensure(!aliases.is_empty(), || "empty alias".to_owned())?;
                self.aliases(aliases)?;
                self.block(body)
            }
            Stmt::Clear(place) => {
                let ty = self.writable(place)?;
                ensure(clearable(self.model, ty), || format!("clear of {ty}"))
            }
            Stmt::Undefine(place) => self.writable(place).map(|_| ()),
            Stmt::Error(_) | Stmt::PutText(_) => Ok(()),
            Stmt::Assert(cond, _) => self.condition(cond),
            Stmt::PutExpr(value) => self.expr(value).map(|_| ()),
            Stmt::Return(value) => self.return_stmt(value.as_ref()),
            Stmt::Add(value, ms) => {
                let element = self.multiset(ms)?;
                self.fits(element, value, true)
            }
            Stmt::Remove { index, multiset } => {
                let (_, kind) = self.root(index)?;
                let ok = kind == Kind::Index(multiset, true);
                ensure(ok, || format!("{index} was not chosen from {multiset}"))
            }
            Stmt::RemovePred { index, multiset, cond } => self.counted(index, multiset, cond),
        }
    }

    fn assign(&mut self, place: &'m Place, value: &'m Expr) -> Checked<()> {
        let target = self.writable(place)?;
        let is_multiset = matches!(self.model.type_named(target), Some(Type::Multiset { .. }));
        ensure(!is_multiset, || "assignment of a multiset".to_owned())?;
        if let Expr::Call(name, args) = value {
            let result = self.call(name, args)?;
            let f = self.model.function(name);
            let pure = f.is_some_and(|f| is_pure(self.model, f));
            ensure(pure || place.path.is_empty(), || "order of evaluation".to_owned())?;
            let ty = result.map(|ty| self.plain(ty));
            return ensure(ty == Some(self.plain(target)), || format!("result of {name}"));
        }
        self.fits(target, value, true)
    }

    fn switch(&mut self, stmt: &'m Stmt) -> Checked<()> {
        let Stmt::Switch(subject, cases, otherwise) = stmt else { return Ok(()) };
        let ty = self.expr(subject)?;
        ensure(!cases.is_empty(), || "empty switch".to_owned())?;
        let mut seen: Vec<&Expr> = Vec::new();
        for case in cases {
            ensure(!case.values.is_empty(), || "empty case".to_owned())?;
            for value in &case.values {
                let literal = matches!(value, Expr::Int(_) | Expr::Bool(_) | Expr::Enum(_));
                ensure(literal && !seen.contains(&value), || "case value".to_owned())?;
                seen.push(value);
                let value = self.expr(value)?;
                ensure(self.related(ty, value), || "type of a case".to_owned())?;
            }
            self.block(&case.body)?;
        }
        otherwise.as_ref().map_or(Ok(()), |b| self.block(b))
    }

    fn return_stmt(&mut self, value: Option<&'m Expr>) -> Checked<()> {
        match (self.result, value) {
            (Context::Rule | Context::Function(None), None) => Ok(()),
            (Context::Function(Some(ty)), Some(value)) => self.fits(ty, value, false),
            _ => Err("return".to_owned()),
        }
    }
}
