//! Names and what they stand for.
//!
//! Scopes form a tree; a name is looked up from the current scope outwards. The names of a block are
//! declared before anything in it is resolved, so declarations may come in any order; constants and
//! types are resolved when first needed, each in the scope of its declaration.

use std::collections::HashMap;

use ergodic_diag::{Diagnostic, Span};
use ergodic_ir::{LocalId, Root, TypeId};

use super::Lower;
use super::expr::Typed;
use super::place::Designator;
use crate::ast::{ConstDecl, Decl, Expr, Name, TypeDecl, TypeExpr, TypeKind, VarDecl};
use crate::suggest::nearest;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ScopeId(usize);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct EntityId(pub(super) usize);

#[derive(Debug, Default)]
pub(super) struct Scope {
    parent: Option<ScopeId>,
    names: HashMap<String, EntityId>,
}

/// Something resolved on demand; `Done(None)` if that failed and was reported.
#[derive(Clone, Debug)]
pub(super) enum Lazy<T> {
    Todo,
    Busy,
    Done(Option<T>),
}

/// What an alias stands for.
#[derive(Clone, Debug)]
pub(super) enum Aliased {
    Place(Designator),
    Value(Typed),
    Error,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum What<'a> {
    Const(&'a ConstDecl, Lazy<Typed>),
    Type(&'a TypeDecl, Lazy<TypeId>),
    /// A variable: of the state, of a block, or a parameter. `None` until its type is known.
    Var(Option<Designator>),
    EnumValue {
        ty: TypeId,
        code: i64,
        /// The declared type that the value belongs to.
        owner: Option<EntityId>,
    },
    Function(usize),
    /// A loop variable, quantified variable or rule parameter, or a value fixed for one instance.
    Bound(Typed),
    /// The number of an element of a multiset; the root says of which.
    Slot {
        local: LocalId,
        set: TypeId,
        root: Root,
    },
    /// An alias, and the text it came from.
    Alias(Box<Aliased>, &'a Expr),
}

impl What<'_> {
    /// What messages call it.
    pub(super) fn noun(&self) -> &'static str {
        match self {
            What::Const(..) => "a constant",
            What::Type(..) => "a type",
            What::Var(_) => "a variable",
            What::EnumValue { .. } => "an enumeration value",
            What::Function(_) => "a function",
            What::Bound(_) => "a loop variable",
            What::Slot { .. } => "a multiset index",
            What::Alias(..) => "an alias",
        }
    }
}

/// A declared name.
#[derive(Clone, Debug)]
pub(super) struct Entity<'a> {
    pub(super) name: &'a str,
    pub(super) span: Span,
    pub(super) scope: ScopeId,
    pub(super) used: bool,
    pub(super) what: What<'a>,
}

impl<'a> Lower<'a> {
    /// Opens a scope inside the current one; give the result to [`Lower::leave`].
    pub(super) fn enter(&mut self) -> ScopeId {
        let outer = self.scope;
        self.scopes.push(Scope { parent: Some(outer), names: HashMap::new() });
        self.scope = ScopeId(self.scopes.len() - 1);
        outer
    }

    /// Goes back to the scope that [`Lower::enter`] left.
    pub(super) fn leave(&mut self, outer: ScopeId) {
        self.scope = outer;
    }

    /// The scope around a scope.
    pub(super) fn scope_around(&self, scope: ScopeId) -> ScopeId {
        self.scopes[scope.0].parent.unwrap_or(scope)
    }

    /// Whether a scope is that of the whole model.
    pub(super) fn is_outermost(&self, scope: ScopeId) -> bool {
        self.scopes[scope.0].parent.is_none()
    }

    /// The scope of the whole model, to begin with.
    pub(super) fn outermost(scopes: &mut Vec<Scope>) -> ScopeId {
        scopes.push(Scope::default());
        ScopeId(scopes.len() - 1)
    }

    pub(super) fn entity(&self, id: EntityId) -> &Entity<'a> {
        &self.entities[id.0]
    }

    /// Declares a name in the current scope; a second declaration is an error and loses.
    pub(super) fn declare(&mut self, name: &'a Name, what: What<'a>) -> EntityId {
        let id = EntityId(self.entities.len());
        let scope = self.scope;
        self.entities.push(Entity { name: &name.text, span: name.span, scope, used: false, what });
        let names = &mut self.scopes[scope.0].names;
        if let Some(first) = names.get(&name.text).copied() {
            let span = self.entity(first).span;
            if span != name.span {
                let message = format!("`{}` is declared twice", name.text);
                let d = Diagnostic::error(message)
                    .at(name.span, "declared again here")
                    .also(span, "first declared here");
                self.report(d);
            }
        } else {
            names.insert(name.text.clone(), id);
        }
        id
    }

    /// Finds a name without marking it as used.
    pub(super) fn find(&self, name: &str) -> Option<EntityId> {
        let mut at = Some(self.scope);
        while let Some(scope) = at {
            let scope = &self.scopes[scope.0];
            if let Some(id) = scope.names.get(name) {
                return Some(*id);
            }
            at = scope.parent;
        }
        None
    }

    /// Finds a name and marks it as used.
    pub(super) fn lookup(&mut self, name: &str) -> Option<EntityId> {
        let id = self.find(name)?;
        self.mark(id);
        Some(id)
    }

    fn mark(&mut self, id: EntityId) {
        let entity = &mut self.entities[id.0];
        entity.used = true;
        if let What::EnumValue { owner: Some(owner), .. } = entity.what {
            self.entities[owner.0].used = true;
        }
    }

    /// Reports an unknown name, with the nearest visible one that `fits`.
    pub(super) fn unknown(&mut self, name: &Name, noun: &str, fits: fn(&What<'a>) -> bool) {
        let mut visible: Vec<&str> = Vec::new();
        let mut at = Some(self.scope);
        while let Some(scope) = at {
            let scope = &self.scopes[scope.0];
            let fitting = scope.names.iter().filter(|(_, id)| fits(&self.entities[id.0].what));
            visible.extend(fitting.map(|(text, _)| text.as_str()));
            at = scope.parent;
        }
        let help = nearest(&name.text, visible.into_iter()).map(|n| format!("did you mean `{n}`?"));
        let mut d = Diagnostic::error(format!("there is no {noun} `{}`", name.text))
            .at(name.span, "not declared");
        if let Some(help) = help {
            d = d.help(help);
        }
        self.report(d);
    }

    /// Reports that a name stands for the wrong kind of thing.
    pub(super) fn wrong_kind(&mut self, name: &Name, id: EntityId, wanted: &str) {
        let (noun, span) = (self.entity(id).what.noun(), self.entity(id).span);
        let d = Diagnostic::error(format!("`{}` is {noun}, not {wanted}", name.text))
            .at(name.span, format!("{wanted} is needed here"))
            .also(span, "declared here");
        self.report(d);
    }

    /// Declares the names of a block, those of its enumerations included, without resolving any.
    pub(super) fn collect(&mut self, decls: impl Iterator<Item = &'a Decl>) {
        for decl in decls {
            match decl {
                Decl::Const(c) => {
                    for name in &c.names {
                        let id = self.declare(name, What::Const(c, Lazy::Todo));
                        self.declared.push(id);
                    }
                }
                Decl::Type(t) => self.collect_type(t),
                Decl::Var(v) => {
                    self.declare_enums(&v.ty, None);
                    for name in &v.names {
                        let id = self.declare(name, What::Var(None));
                        self.declared.push(id);
                    }
                }
            }
        }
    }

    fn collect_type(&mut self, decl: &'a TypeDecl) {
        let mut owner = None;
        for name in &decl.names {
            let id = self.declare(name, What::Type(decl, Lazy::Todo));
            self.declared.push(id);
            owner = owner.or(Some(id));
        }
        self.declare_enums(&decl.ty, owner);
    }

    /// Declares the values of all enumerations inside a type, in the current scope.
    pub(super) fn declare_enums(&mut self, ty: &'a TypeExpr, owner: Option<EntityId>) {
        match &ty.kind {
            TypeKind::Enum(names) => self.declare_enum(ty, names, owner),
            TypeKind::Record(fields) => {
                for VarDecl { ty, .. } in fields {
                    self.declare_enums(ty, owner);
                }
            }
            TypeKind::Array { index, element } => {
                self.declare_enums(index, owner);
                self.declare_enums(element, owner);
            }
            TypeKind::Multiset { element, .. } => self.declare_enums(element, owner),
            TypeKind::Union(members) => {
                for member in members {
                    self.declare_enums(member, owner);
                }
            }
            _ => {}
        }
    }

    fn declare_enum(&mut self, ty: &TypeExpr, names: &'a [Name], owner: Option<EntityId>) {
        if names.is_empty() {
            let d = Diagnostic::error("an enumeration needs at least one value")
                .at(ty.span, "no values")
                .help("name the values, as in `enum { idle, busy }`");
            self.report(d);
        }
        let id = self.types.written(ty.span).unwrap_or_else(|| {
            let texts = names.iter().map(|n| n.text.clone()).collect();
            self.types.enumeration(ty.span, texts)
        });
        let first = self.types.scalar(id).map_or(0, |s| s.intervals[0].0);
        for (i, name) in names.iter().enumerate() {
            self.declare(name, What::EnumValue { ty: id, code: first + i as i64, owner });
        }
    }

    /// Warns about declarations that nothing uses.
    pub(super) fn warn_unused(&mut self) {
        for id in std::mem::take(&mut self.declared) {
            let entity = self.entity(id);
            if entity.used || entity.name.starts_with('_') {
                continue;
            }
            let noun = match entity.what {
                What::Const(..) => "constant",
                What::Type(..) => "type",
                What::Function(_) => "function",
                _ => "variable",
            };
            let d = Diagnostic::warning(format!("the {noun} `{}` is never used", entity.name))
                .at(entity.span, "declared here");
            self.report(d);
        }
    }

    /// Declares a bound value under a name.
    pub(super) fn declare_bound(&mut self, name: &'a Name, value: Typed) {
        self.declare(name, What::Bound(value));
    }
}
