//! What all checks share: the program, the current part of it, and the messages.

use super::MAX_MESSAGES;
use crate::{Local, LocalId, LocalKind, Program, ScalarType, Site, Type, TypeId};

/// What the value of an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A code or truth value.
    Int,
    /// A real.
    Real,
}

impl Kind {
    /// For messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Int => "an integer",
            Kind::Real => "a real",
        }
    }
}

/// What `Return` may do here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Returns {
    /// Nothing: this is no statement of a body.
    Never,
    /// Leave, without a value.
    Nothing,
    /// Leave with a value of a type.
    Value(TypeId),
}

/// The state of a check.
pub(super) struct Check<'a> {
    pub(super) program: &'a Program,
    pub(super) errors: Vec<String>,
    /// The locals of the current part.
    pub(super) locals: &'a [Local],
    pub(super) returns: Returns,
    /// The current part, for messages.
    part: String,
}

impl<'a> Check<'a> {
    pub(super) fn new(program: &'a Program) -> Check<'a> {
        Check {
            program,
            errors: Vec::new(),
            locals: &[],
            returns: Returns::Never,
            part: String::from("program"),
        }
    }

    /// Goes on with another part of the program.
    pub(super) fn enter(&mut self, what: &str, number: usize, name: &str) {
        self.part = format!("{what} {number} {name:?}");
        self.locals = &[];
        self.returns = Returns::Never;
    }

    /// Goes on with the program as a whole.
    pub(super) fn enter_program(&mut self) {
        self.part = String::from("program");
    }

    /// Notes a broken rule.
    pub(super) fn error(&mut self, message: impl AsRef<str>) {
        if self.errors.len() < MAX_MESSAGES {
            self.errors.push(format!("{}: {}", self.part, message.as_ref()));
        }
    }

    /// A type, if it exists.
    pub(super) fn ty(&mut self, id: TypeId) -> Option<&'a Type> {
        let found = self.program.types.get(id.0 as usize);
        if found.is_none() {
            self.error(format!("there is no type {}", id.0));
        }
        found
    }

    /// A scalar type; `what` must be one.
    pub(super) fn scalar(&mut self, id: TypeId, what: &str) -> Option<&'a ScalarType> {
        match self.ty(id)? {
            Type::Scalar(scalar) => Some(scalar),
            _ => {
                self.error(format!("{what} must be scalar, but type {} is not", id.0));
                None
            }
        }
    }

    /// The kind of a type whose values are values of expressions; `what` must have such a type.
    pub(super) fn simple(&mut self, id: TypeId, what: &str) -> Option<Kind> {
        match self.ty(id)? {
            Type::Scalar(_) => Some(Kind::Int),
            Type::Real { .. } => Some(Kind::Real),
            _ => {
                self.error(format!("{what} must be scalar or real, but type {} is not", id.0));
                None
            }
        }
    }

    /// A local, if it exists.
    pub(super) fn local(&mut self, id: LocalId) -> Option<&'a Local> {
        let found = self.locals.get(id.0 as usize);
        if found.is_none() {
            self.error(format!("there is no local {}", id.0));
        }
        found
    }

    /// A local that must live in a certain way.
    pub(super) fn local_of(
        &mut self,
        id: LocalId,
        kind: LocalKind,
        what: &str,
    ) -> Option<&'a Local> {
        let local = self.local(id)?;
        if local.kind == kind {
            return Some(local);
        }
        let (name, is) = (&local.name, local.kind);
        self.error(format!("{what} needs a {kind:?} local, but local {} {name:?} is {is:?}", id.0));
        None
    }

    /// A variable of a loop, quantifier or rule parameter.
    pub(super) fn variable(&mut self, id: LocalId, what: &str) {
        if let Some(local) = self.local_of(id, LocalKind::Bound, what) {
            self.scalar(local.ty, what);
        }
    }

    /// A place to report must exist.
    pub(super) fn site(&mut self, site: Site) {
        if site.0 as usize >= self.program.sites.len() {
            self.error(format!("there is no site {}", site.0));
        }
    }

    /// Two kinds must be equal.
    pub(super) fn same_kind(&mut self, is: Option<Kind>, wanted: Option<Kind>, what: &str) {
        if let (Some(is), Some(wanted)) = (is, wanted)
            && is != wanted
        {
            self.error(format!("{what} must be {}, but is {}", wanted.name(), is.name()));
        }
    }
}
