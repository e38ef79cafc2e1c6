//! The printer: everything above statements.

use super::VERSION;
use super::doc::Doc;
use super::names::{Names, declared, quoted};
use super::ops;
use super::print_code::Printer;
use crate::{
    Action, Domain, Global, Local, Param, Pass, Proc, Program, Property, ScalarKind, ScalarType,
    Type, TypeId,
};
use ergodic_diag::Span;

/// Writes a program.
pub(super) fn print(program: &Program) -> String {
    let mut printer = Printer {
        program,
        types: Names::new(program.types.iter().map(type_name)),
        globals: Names::new(program.globals.iter().map(|global| Some(&*global.name))),
        procs: Names::new(program.procs.iter().map(|proc| Some(&*proc.name))),
        properties: Names::new(program.properties.iter().map(|p| Some(&*p.name))),
        locals: &[],
        local_names: Names::default(),
    };
    let mut out = format!("(eir {VERSION})\n(loop-limit {})\n", program.loop_limit);
    out.push_str(&format!("(call-limit {})\n", program.call_limit));
    for (i, ty) in program.types.iter().enumerate() {
        separate(&mut out, i == 0);
        printer.ty(ty).write(0, &mut out);
        if printer.types.needs_number(i as u32) {
            out.push_str(&format!(" ; #{i}"));
        }
        out.push('\n');
    }
    for (i, global) in program.globals.iter().enumerate() {
        separate(&mut out, i == 0);
        line(&printer.global(global), &mut out);
    }
    for proc in &program.procs {
        separate(&mut out, true);
        line(&printer.proc(proc), &mut out);
    }
    for (actions, keyword) in [(&program.starts, "start"), (&program.actions, "action")] {
        for action in actions {
            separate(&mut out, true);
            line(&printer.action(keyword, action), &mut out);
        }
    }
    for property in &program.properties {
        separate(&mut out, true);
        line(&printer.property(property), &mut out);
    }
    for (i, site) in program.sites.iter().enumerate() {
        separate(&mut out, i == 0);
        out.push_str(&format!("(site {} {}) ; @{i}\n", span(site.span), quoted(&site.text)));
    }
    out
}

fn separate(out: &mut String, empty_line: bool) {
    if empty_line {
        out.push('\n');
    }
}

fn line(doc: &Doc, out: &mut String) {
    doc.write(0, out);
    out.push('\n');
}

fn span(span: Span) -> String {
    format!("{}:{}-{}", span.source.0, span.start, span.end)
}

/// The name of a type, if it has one.
pub(super) fn type_name(ty: &Type) -> Option<&str> {
    match ty {
        Type::Scalar(ScalarType { name, .. }) | Type::Record { name, .. } => name.as_deref(),
        _ => None,
    }
}

fn scalar(printer: &Printer<'_>, scalar: &ScalarType) -> Doc {
    let kind = match &scalar.kind {
        ScalarKind::Bool => Doc::from("bool"),
        ScalarKind::Int => Doc::from("int"),
        ScalarKind::Enum { names } => {
            Doc::form("enum", names.iter().map(|name| declared(name).into()))
        }
        ScalarKind::Scalarset { stem } => Doc::form("scalarset", [declared(stem).into()]),
        ScalarKind::Union { members } => {
            Doc::form("union", members.iter().map(|id| printer.type_ref(*id)))
        }
    };
    let mut items = vec![kind];
    items.extend(scalar.intervals.iter().map(|(lo, hi)| Doc::from(format!("{lo}..{hi}"))));
    items.extend(scalar.undefinable.then(|| Doc::from("undefinable")));
    Doc::form("scalar", items)
}

impl<'a> Printer<'a> {
    /// A reference to a type.
    pub(super) fn type_ref(&self, id: TypeId) -> Doc {
        self.types.reference(id.0).into()
    }

    fn ty(&self, ty: &Type) -> Doc {
        let shape = match ty {
            Type::Scalar(of) => scalar(self, of),
            Type::Real { digits, exponent } => {
                Doc::form("real", [digits.to_string().into(), exponent.to_string().into()])
            }
            Type::Record { fields, .. } => Doc::form(
                "record",
                fields.iter().map(|field| {
                    Doc::list(vec![declared(&field.name).into(), self.type_ref(field.ty)])
                }),
            ),
            Type::Array { index, elem } => {
                Doc::form("array", [self.type_ref(*index), self.type_ref(*elem)])
            }
            Type::Multiset { capacity, elem } => {
                Doc::form("multiset", [capacity.to_string().into(), self.type_ref(*elem)])
            }
        };
        let name = type_name(ty).map_or(String::from("-"), declared);
        Doc::form("type", [name.into(), shape])
    }

    fn global(&self, global: &Global) -> Doc {
        let name = declared(&global.name);
        Doc::form("global", [name.into(), span(global.span).into(), self.type_ref(global.ty)])
    }

    /// Goes on with other locals; prints their declarations.
    fn enter(&mut self, locals: &'a [Local]) -> Vec<Doc> {
        self.locals = locals;
        self.local_names = Names::new(locals.iter().map(|local| Some(&*local.name)));
        let print = |local: &Local| {
            let kind = ops::local_name(local.kind);
            let name = declared(&local.name);
            Doc::form("local", [name.into(), kind.into(), self.type_ref(local.ty)])
        };
        locals.iter().map(print).collect()
    }

    fn proc(&mut self, proc: &'a Proc) -> Doc {
        let mut items = vec![declared(&proc.name).into(), span(proc.span).into()];
        let passes = proc.params.iter().map(|pass| match pass {
            Pass::Value => Doc::from("value"),
            Pass::Ref => Doc::from("ref"),
        });
        items.push(Doc::form("params", passes));
        items.extend(proc.result.map(|ty| Doc::form("result", [self.type_ref(ty)])));
        items.push(Doc::form("end", [self.site(proc.end)]));
        items.extend(self.enter(&proc.locals));
        items.extend(section("body", self.stmts(&proc.body)));
        Doc::form("proc", items).tall()
    }

    fn action(&mut self, keyword: &str, action: &'a Action) -> Doc {
        let mut items = vec![declared(&action.name).into(), span(action.span).into()];
        items.extend(action.impure_guard.then(|| Doc::from("impure-guard")));
        if action.priority != 0 {
            items.push(Doc::form("priority", [action.priority.to_string().into()]));
        }
        items.extend(self.enter(&action.locals));
        items.extend(action.params.iter().map(|param| self.param(param)));
        items.extend(section("prelude", self.stmts(&action.prelude)));
        items.extend(section("guard", self.exprs(&action.guard)));
        items.extend(section("body", self.stmts(&action.body)));
        Doc::form(keyword, items).tall()
    }

    fn param(&self, param: &Param) -> Doc {
        let over = match &param.over {
            Domain::Type(ty) => Doc::form("type", [self.type_ref(*ty)]),
            Domain::Range { from, to, step } => {
                Doc::form("range", [from, to, step].map(|n| Doc::from(n.to_string())))
            }
            Domain::Slots(place) => Doc::form("slots", [self.place(place)]),
        };
        Doc::form("param", [self.local(param.local), over])
    }

    fn property(&mut self, property: &'a Property) -> Doc {
        let mut items = vec![declared(&property.name).into(), span(property.span).into()];
        items.push(ops::property_name(property.kind).into());
        items.extend(property.impure.then(|| Doc::from("impure")));
        items.extend(self.enter(&property.locals));
        items.extend(property.expr.as_ref().map(|expr| Doc::form("expr", [self.expr(expr)])));
        Doc::form("property", items).tall()
    }
}

fn section(keyword: &str, items: Vec<Doc>) -> Option<Doc> {
    (!items.is_empty()).then(|| Doc::form(keyword, items))
}
