//! The printer: places, expressions and statements.

use super::doc::Doc;
use super::names::{Names, is_plain, quoted};
use super::{ops, step_type};
use crate::{
    Arg, Expr, Iter, Local, LocalId, Place, ProcId, Program, PutPart, Root, Site, Step, Stmt, Type,
    TypeId,
};

/// What printing needs to know.
pub(super) struct Printer<'a> {
    pub(super) program: &'a Program,
    pub(super) types: Names,
    pub(super) globals: Names,
    pub(super) procs: Names,
    pub(super) properties: Names,
    pub(super) locals: &'a [Local],
    pub(super) local_names: Names,
}

/// A list of things that can be printed.
macro_rules! list {
    ($($item:expr),+ $(,)?) => { Doc::list(vec![$(Doc::from($item)),+]) };
}

impl Printer<'_> {
    /// A place to report.
    pub(super) fn site(&self, site: Site) -> Doc {
        format!("@{}", site.0).into()
    }

    /// A local.
    pub(super) fn local(&self, id: LocalId) -> Doc {
        self.local_names.reference(id.0).into()
    }

    fn proc_ref(&self, id: ProcId) -> Doc {
        self.procs.reference(id.0).into()
    }

    /// A place.
    pub(super) fn place(&self, place: &Place) -> Doc {
        let (root, mut ty) = match place.root {
            Root::Global(id) => {
                let global = self.program.globals.get(id.0 as usize);
                (format!("${}", self.globals.reference(id.0)), global.map(|global| global.ty))
            }
            Root::Local(id) => {
                let local = self.locals.get(id.0 as usize);
                (self.local_names.reference(id.0), local.map(|local| local.ty))
            }
        };
        let mut items = vec![Doc::from("at"), Doc::from(root.as_str())];
        for step in &place.path {
            items.push(self.step(step, ty));
            ty = ty.and_then(|ty| step_type(&self.program.types, ty, step));
        }
        if ty != Some(place.ty) {
            items.extend([Doc::from(":"), self.type_ref(place.ty)]);
        }
        if items.len() > 2 { Doc::list(items) } else { root.into() }
    }

    fn step(&self, step: &Step, ty: Option<TypeId>) -> Doc {
        match step {
            Step::Field(field) => self.field(*field, ty).into(),
            Step::Index { index, site } => list!["index", self.site(*site), self.expr(index)],
            Step::Slot { slot, site } => list!["slot", self.site(*site), self.expr(slot)],
        }
    }

    /// A field by its name, if that is unique.
    fn field(&self, number: u32, ty: Option<TypeId>) -> String {
        if let Some(Type::Record { fields, .. }) =
            ty.and_then(|ty| self.program.types.get(ty.0 as usize))
            && let Some(field) = fields.get(number as usize)
            && is_plain(&field.name)
            && fields.iter().filter(|other| other.name == field.name).count() == 1
        {
            return format!(".{}", field.name);
        }
        format!(".{number}")
    }

    /// Expressions.
    pub(super) fn exprs(&self, exprs: &[Expr]) -> Vec<Doc> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    /// Statements.
    pub(super) fn stmts(&self, stmts: &[Stmt]) -> Vec<Doc> {
        stmts.iter().map(|stmt| self.stmt(stmt)).collect()
    }

    /// An expression.
    pub(super) fn expr(&self, expr: &Expr) -> Doc {
        match expr {
            Expr::Int(code) => code.to_string().into(),
            Expr::Real(value) if value.is_finite() => format!("{value:?}").into(),
            Expr::Real(value) => format!("{:#018x}", value.to_bits()).into(),
            Expr::Bound(local) => self.local(*local),
            Expr::Read { place, site } => list!["read", self.site(*site), self.place(place)],
            Expr::Unary { op, arg, site } => {
                list![ops::unary_name(*op), self.site(*site), self.expr(arg)]
            }
            Expr::Binary { op, left, right, site } => {
                let name = ops::binary_name(*op);
                list![name, self.site(*site), self.expr(left), self.expr(right)]
            }
            Expr::And(list) => Doc::form("and", self.exprs(list)),
            Expr::Or(list) => Doc::form("or", self.exprs(list)),
            Expr::If { cond, then, other } => {
                list!["if", self.expr(cond), self.expr(then), self.expr(other)]
            }
            Expr::IsUndefined(place) => list!["undefined?", self.place(place)],
            Expr::IsMember { value, ty } => {
                list!["member?", self.type_ref(*ty), self.expr(value)]
            }
            Expr::Same { left, right, site } => {
                list!["same?", self.site(*site), self.place(left), self.place(right)]
            }
            Expr::Quantified { all, var, over, body } => {
                let keyword = if *all { "all" } else { "some" };
                list![keyword, self.local(*var), self.iter(over), self.expr(body)]
            }
            Expr::Count { set, var, body } => {
                list!["count", self.local(*var), self.place(set), self.expr(body)]
            }
            Expr::Call { proc, args, site } => self.call(*proc, args, *site),
            Expr::Block { body, value } => {
                list!["block", Doc::list(self.stmts(body)), self.expr(value)]
            }
        }
    }

    fn iter(&self, over: &Iter) -> Doc {
        match over {
            Iter::Type(ty) => list!["type", self.type_ref(*ty)],
            Iter::Range { from, to, step, site } => {
                list!["range", self.site(*site), self.expr(from), self.expr(to), self.expr(step)]
            }
            Iter::Slots(place) => list!["slots", self.place(place)],
        }
    }

    fn call(&self, proc: ProcId, args: &[Arg], site: Site) -> Doc {
        let args = args.iter().map(|arg| match arg {
            Arg::Value { value, site } => list!["value", self.site(*site), self.expr(value)],
            Arg::Copy { from, site } => list!["copy", self.site(*site), self.place(from)],
            Arg::Ref(place) => list!["ref", self.place(place)],
        });
        Doc::form("call", [self.site(site), self.proc_ref(proc)].into_iter().chain(args))
    }

    /// A statement.
    fn stmt(&self, stmt: &Stmt) -> Doc {
        match stmt {
            Stmt::Assign { to, value, site } => {
                list!["assign", self.site(*site), self.place(to), self.expr(value)]
            }
            Stmt::Copy { to, from, site } => {
                list!["copy", self.site(*site), self.place(to), self.place(from)]
            }
            Stmt::Undefine(place) => list!["undefine", self.place(place)],
            Stmt::Clear(place) => list!["clear", self.place(place)],
            Stmt::Bind { local, place } => list!["bind", self.local(*local), self.place(place)],
            Stmt::Let { local, value } => list!["let", self.local(*local), self.expr(value)],
            Stmt::Fresh(local) => list!["fresh", self.local(*local)],
            Stmt::Call { proc, args, site } => self.call(*proc, args, *site),
            Stmt::Return { value, site } => {
                let value = value.iter().map(|value| self.expr(value));
                Doc::form("return", std::iter::once(self.site(*site)).chain(value))
            }
            Stmt::Assert { cond, site } => list!["assert", self.site(*site), self.expr(cond)],
            Stmt::Assume { cond } => list!["assume", self.expr(cond)],
            Stmt::Cover { cond, property } => {
                list!["cover", self.properties.reference(*property), self.expr(cond)]
            }
            Stmt::Error { site } => list!["error", self.site(*site)],
            Stmt::Put(parts) => Doc::form("put", parts.iter().map(|part| self.put(part))),
            Stmt::Add { set, from, site } => {
                list!["add", self.site(*site), self.place(set), self.place(from)]
            }
            Stmt::AddValue { set, value, site } => {
                list!["add-value", self.site(*site), self.place(set), self.expr(value)]
            }
            Stmt::Remove { set, slot, site } => {
                list!["remove", self.site(*site), self.place(set), self.expr(slot)]
            }
            Stmt::RemoveWhere { set, var, cond } => {
                list!["remove-where", self.local(*var), self.place(set), self.expr(cond)]
            }
            Stmt::If { .. } | Stmt::Switch { .. } | Stmt::For { .. } | Stmt::While { .. } => {
                self.control(stmt).tall()
            }
        }
    }

    /// The statements that hold statements.
    fn control(&self, stmt: &Stmt) -> Doc {
        let otherwise =
            |other: &[Stmt]| (!other.is_empty()).then(|| Doc::form("else", self.stmts(other)));
        match stmt {
            Stmt::If { branches, other } => {
                let branch = |(cond, body): &(Expr, Vec<Stmt>)| {
                    let cond = std::iter::once(self.expr(cond));
                    Doc::form("when", cond.chain(self.stmts(body)))
                };
                Doc::form("if", branches.iter().map(branch).chain(otherwise(other)))
            }
            Stmt::Switch { subject, cases, other } => {
                let mut items = vec![self.expr(subject)];
                for case in cases {
                    let values = std::iter::once(Doc::list(self.exprs(&case.values)));
                    items.push(Doc::form("case", values.chain(self.stmts(&case.body))));
                }
                items.extend(otherwise(other));
                Doc::form("switch", items)
            }
            Stmt::For { var, over, body } => {
                let head = [self.local(*var), self.iter(over)];
                Doc::form("for", head.into_iter().chain(self.stmts(body)))
            }
            Stmt::While { cond, body, site } => {
                let head = [self.site(*site), self.expr(cond)];
                Doc::form("while", head.into_iter().chain(self.stmts(body)))
            }
            _ => Doc::list(Vec::new()),
        }
    }

    fn put(&self, part: &PutPart) -> Doc {
        match part {
            PutPart::Text(text) => quoted(text).into(),
            PutPart::Place { place, name } => list!["place", quoted(name), self.place(place)],
            PutPart::Value { value, ty: None } => list!["value", self.expr(value)],
            PutPart::Value { value, ty: Some(ty) } => {
                list!["value", self.expr(value), self.type_ref(*ty)]
            }
        }
    }
}
