//! Programs for tests, built by hand.

#![allow(dead_code, reason = "every test file uses its own part of this")]

use ergodic_diag::{SourceId, Span};
use ergodic_ir::*;

pub mod everything;

pub const BOOL: TypeId = TypeId(0);
pub const SMALL: TypeId = TypeId(1);
pub const COLOR: TypeId = TypeId(2);
pub const NODE: TypeId = TypeId(3);
pub const ANY: TypeId = TypeId(4);
pub const REAL: TypeId = TypeId(5);
pub const MSG: TypeId = TypeId(6);
pub const MSGS: TypeId = TypeId(7);
pub const BAG: TypeId = TypeId(8);
pub const INTS: TypeId = TypeId(9);
pub const CELL: TypeId = TypeId(10);
pub const CELLS: TypeId = TypeId(11);
pub const INT: TypeId = TypeId(12);
pub const FINE: TypeId = TypeId(13);

pub const FLAG: GlobalId = GlobalId(0);
pub const COUNT: GlobalId = GlobalId(1);
pub const HUE: GlobalId = GlobalId(2);
pub const OWNER: GlobalId = GlobalId(3);
pub const WHO: GlobalId = GlobalId(4);
pub const SPEED: GlobalId = GlobalId(5);
pub const BOX: GlobalId = GlobalId(6);
pub const NET: GlobalId = GlobalId(7);
pub const NUMBERS: GlobalId = GlobalId(8);
pub const CELL_OF: GlobalId = GlobalId(9);
pub const OFFSET: GlobalId = GlobalId(10);

/// The site of everything.
pub const S: Site = Site(1);

pub fn span(start: u32, end: u32) -> Span {
    Span::new(SourceId(0), start, end)
}

fn scalar(name: Option<&str>, kind: ScalarKind, intervals: &[(i64, i64)], undef: bool) -> Type {
    let name = name.map(str::to_string);
    Type::Scalar(ScalarType { name, kind, intervals: intervals.to_vec(), undefinable: undef })
}

fn record(name: Option<&str>, fields: &[(&str, TypeId)]) -> Type {
    let field = |(name, ty): &(&str, TypeId)| Field { name: (*name).to_string(), ty: *ty };
    Type::Record { name: name.map(str::to_string), fields: fields.iter().map(field).collect() }
}

pub fn types() -> Vec<Type> {
    let colors = ["red", "green", "blue"].map(str::to_string).to_vec();
    vec![
        scalar(Some("boolean"), ScalarKind::Bool, &[(0, 1)], false),
        scalar(Some("Small"), ScalarKind::Int, &[(0, 7)], true),
        scalar(Some("Color"), ScalarKind::Enum { names: colors }, &[(100, 102)], true),
        scalar(
            Some("Node"),
            ScalarKind::Scalarset { stem: "Node".to_string() },
            &[(200, 202)],
            true,
        ),
        scalar(
            None,
            ScalarKind::Union { members: vec![NODE, COLOR] },
            &[(200, 202), (100, 102)],
            true,
        ),
        Type::Real { digits: 6, exponent: 30 },
        record(Some("Msg"), &[("kind", COLOR), ("val", SMALL), ("to be sent", ANY)]),
        Type::Array { index: NODE, elem: MSG },
        Type::Multiset { capacity: 3, elem: MSG },
        Type::Multiset { capacity: 2, elem: SMALL },
        record(None, &[("msg", MSG), ("bag", BAG)]),
        Type::Array { index: NODE, elem: CELL },
        scalar(None, ScalarKind::Int, &[(-5, 5)], false),
        Type::Real { digits: 12, exponent: 99 },
    ]
}

pub fn globals() -> Vec<Global> {
    let all = [
        ("flag", BOOL),
        ("count", SMALL),
        ("hue", COLOR),
        ("owner", NODE),
        ("who", ANY),
        ("speed", REAL),
        ("box", MSGS),
        ("net", BAG),
        ("numbers", INTS),
        ("cell", CELLS),
        ("offset", INT),
    ];
    let global = |(i, (name, ty)): (usize, (&str, TypeId))| {
        let at = 10 * i as u32;
        Global { name: name.to_string(), ty, span: span(at, at + 5) }
    };
    all.into_iter().enumerate().map(global).collect()
}

/// A program with types, state variables and sites, but nothing that runs.
pub fn empty() -> Program {
    let text = |text: &str| SiteInfo { span: span(7, 9), text: text.to_string() };
    Program {
        types: types(),
        globals: globals(),
        sites: vec![text("first"), text("a \"quoted\"\n\\ text\u{1}")],
        loop_limit: 1000,
        call_limit: 100,
        ..Program::default()
    }
}

pub fn action(name: &str, locals: Vec<Local>, guard: Vec<Expr>, body: Vec<Stmt>) -> Action {
    Action {
        name: name.to_string(),
        span: span(1, 2),
        params: vec![],
        locals,
        prelude: vec![],
        guard,
        body,
        priority: 0,
        impure_guard: false,
    }
}

pub fn property(kind: PropertyKind, name: &str, expr: Option<Expr>) -> Property {
    let name = name.to_string();
    Property { kind, name, span: span(3, 4), locals: vec![], expr, impure: false }
}

pub fn local(name: &str, ty: TypeId, kind: LocalKind) -> Local {
    Local { name: name.to_string(), ty, kind }
}

pub fn at(root: Root, path: Vec<Step>, ty: TypeId) -> Place {
    Place { root, path, ty }
}

/// A whole state variable.
pub fn var(id: GlobalId) -> Place {
    at(Root::Global(id), vec![], globals()[id.0 as usize].ty)
}

/// A whole local.
pub fn own(id: u32, ty: TypeId) -> Place {
    at(Root::Local(LocalId(id)), vec![], ty)
}

pub fn index(index: Expr) -> Step {
    Step::Index { index, site: S }
}

pub fn slot(slot: Expr) -> Step {
    Step::Slot { slot, site: S }
}

pub fn read(place: Place) -> Expr {
    Expr::Read { place: Box::new(place), site: S }
}

pub fn bound(id: u32) -> Expr {
    Expr::Bound(LocalId(id))
}

pub fn unary(op: UnaryOp, arg: Expr) -> Expr {
    Expr::Unary { op, arg: Box::new(arg), site: S }
}

pub fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary { op, left: Box::new(left), right: Box::new(right), site: S }
}

pub fn assign(to: Place, value: Expr) -> Stmt {
    Stmt::Assign { to, value, site: S }
}

pub fn call(proc: u32, args: Vec<Arg>) -> Expr {
    Expr::Call { proc: ProcId(proc), args, site: S }
}

pub fn value(value: Expr) -> Arg {
    Arg::Value { value, site: S }
}

/// Conditions that hold a nested chain of this many negations.
pub fn nested(depth: usize) -> Expr {
    let mut expr = Expr::Int(1);
    for _ in 1..depth {
        expr = unary(UnaryOp::Not, expr);
    }
    expr
}

/// An expression of about this depth for the first action of [`everything`], nested in many ways.
pub fn nested_in_many_ways(depth: usize) -> Expr {
    let mut expr = Expr::Int(1);
    for level in (2..depth).step_by(2) {
        expr = match level % 12 {
            0 => read(at(Root::Global(BOX), vec![index(expr), Step::Field(1)], SMALL)),
            2 => Expr::If {
                cond: Box::new(Expr::Int(1)),
                then: Box::new(Expr::Int(2)),
                other: Box::new(expr),
            },
            4 => {
                let branch = (Expr::Int(1), vec![assign(own(4, SMALL), expr)]);
                let body = vec![Stmt::If { branches: vec![branch], other: vec![] }];
                Expr::Block { body, value: Box::new(Expr::Int(1)) }
            }
            6 => Expr::Quantified {
                all: true,
                var: LocalId(3),
                over: Box::new(Iter::Type(NODE)),
                body: Box::new(expr),
            },
            8 => call(0, vec![value(expr), Arg::Ref(own(5, MSG))]),
            _ => {
                let case = SwitchCase { values: vec![expr], body: vec![] };
                let subject = Expr::Int(1);
                let body = vec![Stmt::Switch { subject, cases: vec![case], other: vec![] }];
                Expr::Block { body, value: Box::new(Expr::Int(1)) }
            }
        };
    }
    expr
}
