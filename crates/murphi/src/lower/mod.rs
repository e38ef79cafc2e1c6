//! Semantic analysis and translation: from the syntax tree to `ergodic_ir::Program`.
//!
//! One pass does both: every function here checks what it translates. Whatever is wrong is reported
//! once and gets the type [`types::Ty::Error`], which suits every use, so that one mistake gives one
//! message.
//!
//! The parts: [`scope`] says what names stand for, [`types`] numbers the types, [`decls`] resolves
//! declarations, [`expr`], [`ops`], [`place`] and [`call`] translate expressions, [`stmt`] statements,
//! [`function`] functions, [`rules`] and [`property`] what stands in the rule section; [`check`] looks
//! at the finished program.
//!
//! Invariants:
//! - The recursion is bounded by the height of the tree, which the parser bounds.
//! - A program is handed out only if there was no error, and then it passes `ergodic_ir::verify`.

mod call;
mod check;
mod decls;
mod expr;
mod function;
mod ops;
mod overrides;
mod place;
mod property;
mod rules;
mod scope;
mod stmt;
mod types;

use std::collections::{HashMap, HashSet};

use ergodic_diag::{Diagnostic, Diagnostics, SourceId, Span};
use ergodic_ir::{
    FrontEnd, FrontOptions, Local, LocalId, LocalKind, Place, Program, Root, Site, SiteInfo, Stmt,
    TypeId,
};

use self::expr::Typed;
use self::function::Function;
use self::scope::{Entity, EntityId, Scope, ScopeId};
use self::types::Types;
use crate::ast::{Item, Model};
use crate::parse;

/// How a model is translated.
pub type Options = FrontOptions;

/// Translation stops reporting after this many errors.
const MAX_REPORTS: usize = 100;

/// Source texts of fault sites are cut after this many bytes.
const MAX_SITE_TEXT: usize = 240;

/// The Murphi language.
#[derive(Clone, Copy, Debug, Default)]
pub struct Murphi;

impl FrontEnd for Murphi {
    fn name(&self) -> &'static str {
        "murphi"
    }

    fn endings(&self) -> &'static [&'static str] {
        &["m", "murphi"]
    }

    fn compile(
        &self,
        source: SourceId,
        text: &str,
        options: &FrontOptions,
    ) -> (Option<Program>, Diagnostics) {
        compile(source, text, options)
    }
}

/// Parses and translates a model. The program is missing if and only if there are errors among the
/// diagnostics. Deeply nested models need a large stack: run it on a thread with 256 MiB.
pub fn compile(source: SourceId, text: &str, options: &Options) -> (Option<Program>, Diagnostics) {
    let (model, mut diagnostics) = parse(source, text);
    if diagnostics.has_errors() {
        return (None, diagnostics);
    }
    let mut lower = Lower::new(text, options);
    lower.model(&model);
    let (program, mut found) = lower.finish(&model);
    found.sort_by_position();
    diagnostics.extend(found);
    (program.filter(|_| !diagnostics.has_errors()), diagnostics)
}

/// Who the locals belong to.
#[derive(Clone, Debug)]
enum Role {
    /// A constant expression.
    Constant,
    /// A rule, start state or property.
    Action,
    /// A function or procedure.
    Function { name: String, result: FnResult },
}

/// How a function gives its result.
#[derive(Clone, Copy, Debug)]
enum FnResult {
    /// Not at all.
    None,
    /// As the value of the call.
    Value(TypeId),
    /// In a place that the caller passes first.
    Place(TypeId, LocalId),
}

/// The locals of what is being translated.
#[derive(Debug)]
struct Frame {
    role: Role,
    locals: Vec<Local>,
    temporaries: u32,
}

impl Frame {
    fn new(role: Role) -> Frame {
        Frame { role, locals: Vec::new(), temporaries: 0 }
    }
}

/// The state of the translation.
struct Lower<'a> {
    options: &'a Options,
    text: &'a str,
    diagnostics: Diagnostics,
    reported: HashSet<(u32, u32, String)>,
    program: Program,
    types: Types,
    scopes: Vec<Scope>,
    scope: ScopeId,
    entities: Vec<Entity<'a>>,
    /// Constants, types, variables and functions, for the warning about unused ones.
    declared: Vec<EntityId>,
    functions: Vec<Function<'a>>,
    /// Constants given on the command line.
    overrides: HashMap<String, Typed>,
    frame: Frame,
    /// Statements that must run before the value that is being translated.
    pending: Vec<Stmt>,
    /// Set inside constant expressions.
    constant: bool,
    /// Set while aliases are to be replaced by what they stand for.
    expand_aliases: bool,
    expansions: u32,
    /// How many unnamed rules, start states and properties there were, by their noun.
    unnamed: HashMap<&'static str, u32>,
}

impl<'a> Lower<'a> {
    fn new(text: &'a str, options: &'a Options) -> Lower<'a> {
        let mut scopes = Vec::new();
        let scope = Lower::outermost(&mut scopes);
        let program = Program {
            loop_limit: options.loop_limit,
            call_limit: options.call_limit,
            ..Program::default()
        };
        Lower {
            options,
            text,
            diagnostics: Diagnostics::new(),
            reported: HashSet::new(),
            program,
            types: Types::new(),
            scopes,
            scope,
            entities: Vec::new(),
            declared: Vec::new(),
            functions: Vec::new(),
            overrides: HashMap::new(),
            frame: Frame::new(Role::Constant),
            pending: Vec::new(),
            constant: false,
            expand_aliases: false,
            expansions: 0,
            unnamed: HashMap::new(),
        }
    }

    fn model(&mut self, model: &'a Model) {
        let decls = || {
            model.items.iter().filter_map(|item| match item {
                Item::Decl(decl) => Some(decl),
                _ => None,
            })
        };
        self.collect(decls());
        for item in &model.items {
            if let Item::Function(function) = item {
                self.collect_function(function);
            }
        }
        self.take_overrides(decls());
        self.resolve_block(decls());
        self.declare_globals(decls());
        self.function_bodies();
        for item in &model.items {
            if let Item::Rule(rule) = item {
                self.rule(rule, &mut Vec::new());
            }
        }
        self.program.actions.reverse();
        self.program.starts.reverse();
    }

    /// Reports a diagnostic, unless the same was said before at the same place.
    fn report(&mut self, diagnostic: Diagnostic) {
        let span = diagnostic.primary.as_ref().map_or((0, 0), |(s, _)| (s.start, s.end));
        if diagnostic.is_error() && self.diagnostics.error_count() >= MAX_REPORTS {
            return;
        }
        if self.reported.insert((span.0, span.1, diagnostic.message.clone())) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports an error with a place and a label.
    fn error(&mut self, span: Span, message: impl Into<String>, label: impl Into<String>) {
        self.report(Diagnostic::error(message).at(span, label));
    }

    /// The source text of a span.
    fn slice(&self, span: Span) -> &'a str {
        let start = self.text.floor_char_boundary(span.start as usize);
        let end = self.text.floor_char_boundary(span.end as usize);
        &self.text[start..end.max(start)]
    }

    /// A fault site whose text is the source text.
    fn site(&mut self, span: Span) -> Site {
        self.site_about(span, span)
    }

    /// A fault site whose text is the source text of something else.
    fn site_about(&mut self, span: Span, about: Span) -> Site {
        let text = self.slice(about);
        let text = match text.len() > MAX_SITE_TEXT {
            true => format!("{}…", &text[..text.floor_char_boundary(MAX_SITE_TEXT)]),
            false => text.to_owned(),
        };
        self.site_saying(span, text)
    }

    /// A fault site with a text of its own.
    fn site_saying(&mut self, span: Span, text: String) -> Site {
        self.program.sites.push(SiteInfo { span, text });
        Site(self.program.sites.len() as u32 - 1)
    }

    /// A new local of the current frame.
    fn local(&mut self, name: &str, ty: TypeId, kind: LocalKind) -> LocalId {
        self.frame.locals.push(Local { name: name.to_owned(), ty, kind });
        LocalId(self.frame.locals.len() as u32 - 1)
    }

    /// A variable that the model does not name.
    fn temporary(&mut self, ty: TypeId) -> Place {
        self.frame.temporaries += 1;
        let name = format!("_temporary{}", self.frame.temporaries);
        let local = self.local(&name, ty, LocalKind::Storage);
        Place { root: Root::Local(local), path: Vec::new(), ty }
    }

    /// Does something with a frame of its own, and gives back that frame's locals.
    fn in_frame<T>(&mut self, role: Role, work: impl FnOnce(&mut Self) -> T) -> (T, Vec<Local>) {
        let outer = std::mem::replace(&mut self.frame, Frame::new(role));
        let pending = std::mem::take(&mut self.pending);
        let result = work(self);
        self.pending = pending;
        let inner = std::mem::replace(&mut self.frame, outer);
        (result, inner.locals)
    }
}
