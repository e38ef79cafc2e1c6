//! Calls of functions, procedures and the predefined functions on reals.

use ergodic_diag::{Diagnostic, Span};
use ergodic_ir::{
    Arg, BinaryOp as Bin, Expr as Ir, Place, ProcId, Root, Stmt as IrStmt, TypeId, UnaryOp as Un,
};

use super::Lower;
use super::expr::{Operand, Typed};
use super::function::{Param, Signature};
use super::place::{Access, Designator};
use super::scope::What;
use super::types::Ty;
use crate::ast::{Expr, ExprKind, MATH_FUNCTIONS, Name};

/// A call with translated arguments.
struct Call {
    proc: ProcId,
    args: Vec<Arg>,
    /// The type of the result, and the place it is written to if it is compound.
    result: Option<(TypeId, Option<Place>)>,
}

impl<'a> Lower<'a> {
    /// A call as an expression.
    pub(super) fn call(&mut self, e: &'a Expr, function: &'a Name, args: &'a [Expr]) -> Operand {
        if self.find(&function.text).is_none()
            && let Some((name, count)) =
                MATH_FUNCTIONS.iter().find(|(n, _)| n.eq_ignore_ascii_case(&function.text))
        {
            return Operand::Value(self.math(e, name, *count, args));
        }
        let Some(call) = self.arguments(e.span, function, args) else { return Operand::error() };
        if self.constant {
            let d = Diagnostic::error("this is not a constant expression")
                .at(e.span, "functions have no constant value");
            self.report(d);
            return Operand::error();
        }
        let site = self.site(e.span);
        let Call { proc, args, result } = call;
        match result {
            None => {
                let message = format!("the procedure `{}` has no result", function.text);
                let d = Diagnostic::error(message)
                    .at(e.span, "a value is needed here")
                    .help("call it as a statement, or give it a result type");
                self.report(d);
                Operand::error()
            }
            Some((ty, None)) => {
                let ty = self.types.ty(ty);
                Operand::Value(Typed::new(Ir::Call { proc, args, site }, ty))
            }
            Some((_, Some(place))) => {
                self.pending.push(IrStmt::Call { proc, args, site });
                Operand::Place(Designator::temporary(place))
            }
        }
    }

    /// A call as a statement; a result is ignored.
    pub(super) fn call_statement(
        &mut self,
        span: Span,
        procedure: &'a Name,
        args: &'a [Expr],
    ) -> Option<IrStmt> {
        let Call { proc, args, .. } = self.arguments(span, procedure, args)?;
        let site = self.site(span);
        Some(IrStmt::Call { proc, args, site })
    }

    fn arguments(&mut self, span: Span, name: &'a Name, args: &'a [Expr]) -> Option<Call> {
        let number = self.function_named(name);
        let signature = number.map(|number| self.signature(number));
        let Some((number, signature)) = number.zip(signature) else {
            for arg in args.iter().filter(|a| a.kind != ExprKind::Undefined) {
                self.operand(arg);
            }
            return None;
        };
        if signature.params.len() != args.len() {
            self.wrong_count(span, name, signature.params.len(), args.len());
            return None;
        }
        let mut made = Vec::new();
        let mut sound = true;
        let result = self.result_place(&signature, &mut made);
        for (param, arg) in signature.params.iter().zip(args) {
            match self.argument(name, param, arg) {
                Some(arg) => made.push(arg),
                None => sound = false,
            }
        }
        let proc = self.functions[number].proc?;
        (sound && !signature.broken).then_some(Call { proc, args: made, result })
    }

    fn function_named(&mut self, name: &'a Name) -> Option<usize> {
        let Some(id) = self.lookup(&name.text) else {
            self.unknown(name, "function", |what| matches!(what, What::Function(_)));
            return None;
        };
        match self.entity(id).what {
            What::Function(number) => Some(number),
            _ => {
                self.wrong_kind(name, id, "a function");
                None
            }
        }
    }

    fn wrong_count(&mut self, span: Span, name: &Name, wanted: usize, found: usize) {
        let plural = if wanted == 1 { "" } else { "s" };
        let message = format!("`{}` takes {wanted} argument{plural}, not {found}", name.text);
        self.error(span, message, format!("{found} given"));
    }

    /// Makes room for a compound result, as the first argument.
    fn result_place(
        &mut self,
        signature: &Signature<'a>,
        args: &mut Vec<Arg>,
    ) -> Option<(TypeId, Option<Place>)> {
        let ty = signature.result?;
        if self.is_simple(ty) {
            return Some((ty, None));
        }
        let place = self.temporary(ty);
        if let Root::Local(local) = place.root {
            self.pending.push(IrStmt::Fresh(local));
        }
        args.push(Arg::Ref(place.clone()));
        Some((ty, Some(place)))
    }

    fn argument(&mut self, function: &Name, param: &Param<'a>, arg: &'a Expr) -> Option<Arg> {
        let Some(wanted) = param.ty else {
            self.operand(arg);
            return None;
        };
        if arg.kind == ExprKind::Undefined {
            return self.undefined_argument(param, arg, wanted);
        }
        let operand = self.operand(arg);
        if let Operand::Value(Typed { ty: Ty::Error, .. }) = operand {
            return None;
        }
        if param.var {
            return self.var_argument(function, param, arg, operand, wanted);
        }
        let found = self.operand_type(&operand);
        if !self.fits(found, wanted) {
            self.wrong_argument(function, param, arg.span, found, wanted);
            return None;
        }
        match operand {
            Operand::Place(d) if !self.is_simple(wanted) => Some(Arg::Ref(d.place)),
            Operand::Place(d) if self.same_kind(&d.place, wanted) => {
                let site = self.site(arg.span);
                Some(Arg::Copy { from: d.place, site })
            }
            Operand::Place(d) => {
                let value = self.read(d, arg.span);
                Some(self.value_argument(value, arg.span, wanted))
            }
            Operand::Value(value) => Some(self.value_argument(value, arg.span, wanted)),
        }
    }

    fn value_argument(&mut self, value: Typed, span: Span, wanted: TypeId) -> Arg {
        let value = self.convert(value, self.types.ty(wanted), span);
        Arg::Value { value, site: self.site(span) }
    }

    /// Whether a simple value is copied from place to place with its being undefined or not.
    pub(super) fn copies_undefined(&self, from: &Place, to: TypeId) -> bool {
        !self.options.strict && self.same_kind(from, to)
    }

    /// Whether a simple value can be copied as it is. Arguments always are: to pass an undefined
    /// variable is no fault in any tool, however strict.
    fn same_kind(&self, from: &Place, to: TypeId) -> bool {
        (self.types.ty(from.ty) == Ty::Real) == (self.types.ty(to) == Ty::Real)
    }

    fn undefined_argument(&mut self, param: &Param<'a>, arg: &Expr, wanted: TypeId) -> Option<Arg> {
        if param.var {
            let message = format!("the `var` parameter `{}` needs a variable", param.name.text);
            self.error(arg.span, message, "this is not a variable");
            return None;
        }
        let from = self.temporary(wanted);
        if !self.is_simple(wanted) {
            return Some(Arg::Ref(from));
        }
        let site = self.site(arg.span);
        Some(Arg::Copy { from, site })
    }

    fn var_argument(
        &mut self,
        function: &Name,
        param: &Param<'a>,
        arg: &'a Expr,
        operand: Operand,
        wanted: TypeId,
    ) -> Option<Arg> {
        let Operand::Place(Designator { place, access }) = operand else {
            let message = format!("the `var` parameter `{}` needs a variable", param.name.text);
            self.error(arg.span, message, "this is not a variable");
            return None;
        };
        if access != Access::Free {
            self.read_only(arg, access, "passed to a `var` parameter");
            return None;
        }
        if place.ty == wanted {
            return Some(Arg::Ref(place));
        }
        let (found, shown) = (self.types.show(place.ty), self.types.show(wanted));
        let message = format!(
            "the `var` parameter `{}` of `{}` needs a variable of exactly its type, {shown}",
            param.name.text, function.text
        );
        let d = Diagnostic::error(message)
            .at(arg.span, format!("this is {found}"))
            .also(param.name.span, "the parameter is declared here")
            .help("declare both with the same named type, or pass a local variable and copy");
        self.report(d);
        None
    }

    fn wrong_argument(
        &mut self,
        function: &Name,
        param: &Param<'a>,
        span: Span,
        found: Ty,
        wanted: TypeId,
    ) {
        let (found, shown) = (self.types.describe(found), self.types.show(wanted));
        let message = format!(
            "the parameter `{}` of `{}` is of type {shown}",
            param.name.text, function.text
        );
        let d = Diagnostic::error(message)
            .at(span, format!("this is {found}"))
            .also(param.name.span, "the parameter is declared here");
        self.report(d);
    }

    fn operand_type(&self, operand: &Operand) -> Ty {
        match operand {
            Operand::Place(d) => self.types.ty(d.place.ty),
            Operand::Value(value) => value.ty,
        }
    }

    fn math(&mut self, e: &Expr, name: &str, count: usize, args: &'a [Expr]) -> Typed {
        let mut values = Vec::new();
        for arg in args {
            let value = self.value(arg);
            if !matches!(value.ty, Ty::Int | Ty::Real | Ty::Error) {
                let found = self.types.describe(value.ty);
                self.error(arg.span, format!("`{name}` needs numbers"), format!("this is {found}"));
            }
            values.push(self.convert(value, Ty::Real, arg.span));
        }
        if values.len() != count {
            let name = Name { text: name.to_owned(), span: e.span };
            self.wrong_count(e.span, &name, count, args.len());
            return Typed::error();
        }
        let mut values = values.into_iter();
        let (first, second) = (values.next(), values.next());
        let first = first.unwrap_or(Ir::Real(0.0));
        let expr = match second {
            Some(second) => {
                let op = if name == "pow" { Bin::RealPow } else { Bin::RealRem };
                self.apply(op, first, second, e.span)
            }
            None => self.apply_unary(math_operator(name), first, e.span),
        };
        Typed::new(expr, Ty::Real)
    }
}

fn math_operator(name: &str) -> Un {
    match name {
        "acos" => Un::Acos,
        "asin" => Un::Asin,
        "atan" => Un::Atan,
        "ceil" => Un::Ceil,
        "cos" => Un::Cos,
        "cosh" => Un::Cosh,
        "exp" => Un::Exp,
        "fabs" => Un::RealAbs,
        "floor" => Un::Floor,
        "log" => Un::Log,
        "log10" => Un::Log10,
        "sin" => Un::Sin,
        "sinh" => Un::Sinh,
        "sqrt" => Un::Sqrt,
        "tan" => Un::Tan,
        _ => Un::Tanh,
    }
}
