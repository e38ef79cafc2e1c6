//! Functions and procedures: declarations and bodies.

use std::rc::Rc;

use ergodic_diag::Diagnostic;
use ergodic_ir::{LocalKind, Pass, Place, Proc, ProcId, Root, Stmt as IrStmt, Type, TypeId};

use super::place::{Access, Designator};
use super::scope::{Lazy, ScopeId, What};
use super::{FnResult, Lower, Role};
use crate::ast::{self, Name};

/// A function or procedure of the model.
#[derive(Debug)]
pub(super) struct Function<'a> {
    decl: &'a ast::Function,
    scope: ScopeId,
    /// Its number; none for external functions.
    pub(super) proc: Option<ProcId>,
    signature: Lazy<Rc<Signature<'a>>>,
}

/// What callers need to know.
#[derive(Debug)]
pub(super) struct Signature<'a> {
    pub(super) params: Vec<Param<'a>>,
    pub(super) result: Option<TypeId>,
    /// The result type is wrong, and that was reported.
    pub(super) broken: bool,
}

/// A parameter.
#[derive(Debug)]
pub(super) struct Param<'a> {
    pub(super) name: &'a Name,
    /// None if it is wrong, and that was reported.
    pub(super) ty: Option<TypeId>,
    /// Whether it is marked `var`.
    pub(super) var: bool,
}

impl<'a> Lower<'a> {
    /// Declares the name of a function.
    pub(super) fn collect_function(&mut self, decl: &'a ast::Function) {
        let id = self.declare(&decl.name, What::Function(self.functions.len()));
        self.declared.push(id);
        let known = self.functions.iter().filter(|f| f.proc.is_some()).count();
        let mut proc = Some(ProcId(known as u32));
        if let Some(external) = &decl.external {
            proc = None;
            let d = Diagnostic::error("external C++ functions cannot be used")
                .at(external.span, "declared as external")
                .help(format!("write the body of `{}` in Murphi", decl.name.text));
            self.report(d);
        }
        let scope = self.scope;
        self.functions.push(Function { decl, scope, proc, signature: Lazy::Todo });
    }

    /// The parameters and result of a function.
    pub(super) fn signature(&mut self, number: usize) -> Rc<Signature<'a>> {
        if let Lazy::Done(Some(signature)) = &self.functions[number].signature {
            return signature.clone();
        }
        let decl = self.functions[number].decl;
        let outer = std::mem::replace(&mut self.scope, self.functions[number].scope);
        self.enter();
        self.declare_signature_enums(decl);
        let mut params = Vec::new();
        for param in &decl.params {
            let ty = self.type_expr(&param.ty);
            let var = param.by_reference;
            params.extend(param.names.iter().map(|name| Param { name, ty, var }));
        }
        let result = decl.result.as_ref().map(|ty| self.type_expr(ty));
        self.leave(outer);
        let broken = result == Some(None);
        let signature = Rc::new(Signature { params, result: result.flatten(), broken });
        self.functions[number].signature = Lazy::Done(Some(signature.clone()));
        signature
    }

    fn declare_signature_enums(&mut self, decl: &'a ast::Function) {
        for param in &decl.params {
            self.declare_enums(&param.ty, None);
        }
        if let Some(result) = &decl.result {
            self.declare_enums(result, None);
        }
    }

    /// Translates all functions.
    pub(super) fn function_bodies(&mut self) {
        for number in 0..self.functions.len() {
            let signature = self.signature(number);
            if self.functions[number].proc.is_some() {
                let proc = self.function_body(number, &signature);
                self.program.procs.push(proc);
            }
        }
    }

    fn function_body(&mut self, number: usize, signature: &Signature<'a>) -> Proc {
        let decl = self.functions[number].decl;
        let name = decl.name.text.clone();
        let role = Role::Function { name: name.clone(), result: FnResult::None };
        let ((passes, result, body), locals) = self.in_frame(role, |lower| {
            let outer = lower.enter();
            lower.declare_signature_enums(decl);
            let (passes, result) = lower.parameters(&name, signature);
            lower.enter();
            lower.declare_locals(&decl.decls);
            let mut body = lower.block(&decl.body);
            lower.leave(outer);
            if let FnResult::Place(..) = result {
                let text = format!("the function `{name}` ended without a result");
                let site = lower.site_saying(decl.name.span, text);
                body.push(IrStmt::Error { site });
            }
            (passes, result, body)
        });
        let result = match result {
            FnResult::Value(ty) => Some(ty),
            _ => None,
        };
        let end = self.site_saying(decl.name.span, name.clone());
        Proc { name, span: decl.name.span, params: passes, result, locals, body, end }
    }

    /// Makes the locals of the parameters, and says how the result is given.
    fn parameters(&mut self, name: &str, signature: &Signature<'a>) -> (Vec<Pass>, FnResult) {
        let mut passes = Vec::new();
        let result = match signature.result {
            None => FnResult::None,
            Some(ty) if self.is_simple(ty) => FnResult::Value(ty),
            Some(ty) => {
                passes.push(Pass::Ref);
                FnResult::Place(ty, self.local("_result", ty, LocalKind::Ref))
            }
        };
        if !signature.broken {
            self.frame.role = Role::Function { name: name.to_owned(), result };
        } else {
            self.frame.role = Role::Constant; // suppresses messages about `return`
        }
        for param in &signature.params {
            let Some(ty) = param.ty else {
                self.declare(param.name, What::Var(None));
                continue;
            };
            let by_reference = param.var || !self.is_simple(ty);
            let (pass, kind) = match by_reference {
                true => (Pass::Ref, LocalKind::Ref),
                false => (Pass::Value, LocalKind::Storage),
            };
            passes.push(pass);
            let root = Root::Local(self.local(&param.name.text, ty, kind));
            let place = Place { root, path: Vec::new(), ty };
            let access = if param.var { Access::Free } else { Access::Parameter };
            self.declare(param.name, What::Var(Some(Designator { place, access })));
        }
        (passes, result)
    }

    /// Whether values of a type are scalars or reals.
    pub(super) fn is_simple(&self, ty: TypeId) -> bool {
        matches!(self.types.get(ty), Type::Scalar(_) | Type::Real { .. })
    }
}
