//! Programs made for one feature each.

mod common;

#[path = "../../ir/tests/common/mod.rs"]
mod ir_common;

use common::{Seen, action, base, compare, on_worker};
use ergodic_ir::*;
use ergodic_jit::{CompileStats, Jit};
use ergodic_system::DeadlockMode;
use std::sync::Arc;
use std::time::Duration;

const SMALL: TypeId = TypeId(1);
const NODE: TypeId = TypeId(5);
const LONG: TypeId = TypeId(20);

/// Compares on a worker; the program must be well formed.
fn check(program: Program, limit: usize) -> Seen {
    verify::verify(&program).expect("well formed");
    let program = Arc::new(program);
    on_worker(move || compare(&program, limit))
}

fn local(ty: TypeId, kind: LocalKind) -> Local {
    Local { name: String::new(), ty, kind }
}

fn global(i: u32, ty: TypeId) -> Place {
    Place { root: Root::Global(GlobalId(i)), path: vec![], ty }
}

fn own(i: u32, ty: TypeId) -> Place {
    Place { root: Root::Local(LocalId(i)), path: vec![], ty }
}

fn read(place: Place, site: u32) -> Expr {
    Expr::Read { place: Box::new(place), site: Site(site) }
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary { op, left: Box::new(left), right: Box::new(right), site: Site(9) }
}

fn assign(to: Place, value: Expr) -> Stmt {
    Stmt::Assign { to, value, site: Site(8) }
}

#[test]
fn a_program_with_everything() {
    let seen = check(ir_common::everything::program(), 200);
    assert!(seen.states > 0);
}

#[test]
fn operators_on_edges() {
    let ops = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Rem,
        BinaryOp::BitAnd,
        BinaryOp::BitOr,
        BinaryOp::BitXor,
        BinaryOp::Shl,
        BinaryOp::Shr,
        BinaryOp::Eq,
        BinaryOp::Ne,
        BinaryOp::Lt,
        BinaryOp::Le,
    ];
    let edges = [i64::MIN, i64::MIN + 1, -2, -1, 0, 1, 2, 63, 64, i64::MAX];
    let mut program = base(&[SMALL]);
    program.starts.push(action(vec![], vec![], vec![], vec![Stmt::Clear(global(0, SMALL))]));
    let value = |k: u32| {
        let mut value = Expr::Int(edges[0]);
        for (i, edge) in edges.iter().enumerate().skip(1) {
            let here = binary(BinaryOp::Eq, Expr::Bound(LocalId(k)), Expr::Int(i as i64));
            let (cond, then, other) = (Box::new(here), Box::new(Expr::Int(*edge)), Box::new(value));
            value = Expr::If { cond, then, other };
        }
        value
    };
    let locals = vec![
        local(SMALL, LocalKind::Bound),
        local(SMALL, LocalKind::Bound),
        local(SMALL, LocalKind::Bound),
    ];
    let over = Domain::Range { from: 0, to: edges.len() as i64 - 1, step: 1 };
    let param = |i| Param { local: LocalId(i), over: over.clone() };
    for op in ops {
        // A result outside of the type is told by the value of the range fault.
        let result = Stmt::Let { local: LocalId(2), value: binary(op, value(0), value(1)) };
        let store = assign(global(0, SMALL), Expr::Bound(LocalId(2)));
        program.actions.push(action(
            locals.clone(),
            vec![param(0), param(1)],
            vec![],
            vec![result, store],
        ));
        // With known operands.
        for (i, left) in edges.iter().enumerate() {
            let known = binary(op, Expr::Int(*left), Expr::Int(edges[(i * 3 + 1) % edges.len()]));
            let store = assign(global(0, SMALL), known);
            program.actions.push(action(vec![], vec![], vec![], vec![store]));
        }
    }
    for op in [UnaryOp::Neg, UnaryOp::Not, UnaryOp::BitNot] {
        let arg = Box::new(value(0));
        let result = Expr::Unary { op, arg, site: Site(7) };
        let store = assign(global(0, SMALL), result);
        program.actions.push(action(locals.clone(), vec![param(0)], vec![], vec![store]));
    }
    let seen = check(program, 20);
    assert!(seen.states > 3 && seen.faults > 1000);
}

/// Reals of three types, with operands that are read, computed or known, and results that are stored in
/// any of them, undefined, infinite, tiny, or halfway between two stored ones.
#[test]
fn reals_on_edges() {
    let edges = [
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.1,
        1234.565,
        2.345_675,
        999_999.5,
        1e15,
        -1e29,
        1e30,
        7e98,
        1e-31,
        1e-99,
        f64::MAX,
        f64::MIN_POSITIVE,
    ];
    let types = [TypeId(7), TypeId(8), TypeId(base(&[]).types.len() as u32)];
    let mut program = base(&types);
    program.types.push(Type::Real { digits: 3, exponent: 99 });
    for i in 0..edges.len() {
        let set = |k: usize| {
            let value = Expr::Real(edges[(i + 5 * k) % edges.len()]);
            assign(global(k as u32, types[k]), value)
        };
        program.starts.push(action(vec![], vec![], vec![], vec![set(0), set(1), set(2)]));
    }
    let operand = |k: usize| match k {
        0..3 => read(global(k as u32, types[k]), 1 + k as u32),
        3 => {
            let arg = Box::new(Expr::Int(3));
            Expr::Unary { op: UnaryOp::ToReal, arg, site: Site(3) }
        }
        _ => Expr::Real(edges[k - 4]),
    };
    let arithmetic = [
        BinaryOp::RealAdd,
        BinaryOp::RealSub,
        BinaryOp::RealMul,
        BinaryOp::RealDiv,
        BinaryOp::RealRem,
        BinaryOp::RealPow,
    ];
    let kinds = 4 + edges.len();
    for (left, right) in (0..kinds).flat_map(|left| (0..3).map(move |right| (left, right))) {
        let pairs = [(operand(left), operand(right)), (operand(right), operand(left))];
        for (a, b) in pairs {
            for to in [0, 1, 2] {
                let place = || global(to, types[to as usize]);
                for op in arithmetic {
                    let store = assign(place(), binary(op, a.clone(), b.clone()));
                    program.actions.push(action(vec![], vec![], vec![], vec![store]));
                }
                // A fault tells the sign of zero.
                let product = binary(BinaryOp::RealMul, a.clone(), b.clone());
                let faults = binary(BinaryOp::RealDiv, product, Expr::Real(0.0));
                let cond = Box::new(binary(BinaryOp::RealLt, a.clone(), b.clone()));
                let arg = Box::new(b.clone());
                let other = Box::new(Expr::Unary { op: UnaryOp::RealNeg, arg, site: Site(4) });
                let either = Expr::If { cond, then: Box::new(a.clone()), other };
                for value in [a.clone(), faults, either] {
                    let store = assign(place(), value);
                    program.actions.push(action(vec![], vec![], vec![], vec![store]));
                }
            }
        }
    }
    let seen = check(program, 100);
    assert!(seen.states >= 100 && seen.faults > 1000, "{seen:?}");
}

/// `f(n) = if n = 0 then 0 else f(n - 1)`, with a long local, deeper and less deep than the limit.
#[test]
fn recursion_with_long_locals() {
    let mut program = base(&[SMALL, TypeId(19)]);
    program.call_limit = 30;
    let n = || read(own(0, TypeId(19)), 1);
    let again = Expr::Call {
        proc: ProcId(0),
        args: vec![Arg::Value { value: binary(BinaryOp::Sub, n(), Expr::Int(1)), site: Site(2) }],
        site: Site(3),
    };
    let at = |i: Expr| Place {
        root: Root::Local(LocalId(1)),
        path: vec![Step::Index { index: i, site: Site(4) }],
        ty: TypeId(3),
    };
    let zero = binary(BinaryOp::Eq, n(), Expr::Int(0));
    let done = Stmt::Return { value: Some(Expr::Int(0)), site: Site(5) };
    program.procs.push(Proc {
        name: "f".to_string(),
        span: Default::default(),
        params: vec![Pass::Value],
        result: Some(TypeId(19)),
        locals: vec![local(TypeId(19), LocalKind::Storage), local(LONG, LocalKind::Storage)],
        body: vec![
            Stmt::Assert { cond: Expr::IsUndefined(Box::new(at(n()))), site: Site(6) },
            assign(at(n()), n()),
            Stmt::If { branches: vec![(zero, vec![done])], other: vec![] },
            Stmt::Return {
                value: Some(binary(BinaryOp::Add, again, read(at(n()), 7))),
                site: Site(5),
            },
        ],
        end: Site(0),
    });
    let clear = vec![Stmt::Clear(global(0, SMALL)), Stmt::Clear(global(1, TypeId(19)))];
    program.starts.push(action(vec![], vec![], vec![], clear));
    let start = Expr::Call {
        proc: ProcId(0),
        args: vec![Arg::Value { value: Expr::Bound(LocalId(0)), site: Site(2) }],
        site: Site(3),
    };
    let over = Domain::Range { from: 0, to: 40, step: 4 };
    let body = vec![assign(global(1, TypeId(19)), start)];
    program.actions.push(action(
        vec![local(TypeId(19), LocalKind::Bound)],
        vec![Param { local: LocalId(0), over }],
        vec![],
        body,
    ));
    let seen = check(program.clone(), 10);
    assert!(seen.faults > 0 && seen.states > 1);
    // With a limit so high that the locals move to the arena.
    program.call_limit = 30_000;
    check(program, 10);
}

#[test]
fn huge_locals_and_states() {
    let mut program = base(&[]);
    program.types.push(Type::Scalar(ScalarType {
        name: None,
        kind: ScalarKind::Int,
        intervals: vec![(0, 99_999)],
        undefinable: true,
    }));
    let wide = TypeId(program.types.len() as u32 - 1);
    program.types.push(Type::Array { index: wide, elem: SMALL });
    let huge = TypeId(program.types.len() as u32 - 1);
    program.globals.push(Global { name: "h".to_string(), ty: huge, span: Default::default() });
    let locals = vec![
        local(huge, LocalKind::Storage),
        local(huge, LocalKind::Storage),
        local(wide, LocalKind::Bound),
    ];
    let at = |root: Root, i: Expr| Place {
        root,
        path: vec![Step::Index { index: i, site: Site(1) }],
        ty: SMALL,
    };
    let (one, two) = (Root::Local(LocalId(0)), Root::Local(LocalId(1)));
    let x = || Expr::Bound(LocalId(2));
    let whole = |root| Place { root, path: vec![], ty: huge };
    let copy = |to, from| Stmt::Copy { to: whole(to), from: whole(from), site: Site(2) };
    let state = Root::Global(GlobalId(0));
    program.starts.push(action(vec![], vec![], vec![], vec![Stmt::Clear(whole(state))]));
    let over = Domain::Range { from: 0, to: 100_000, step: 33_333 };
    let undefined = |root| Expr::IsUndefined(Box::new(whole(root)));
    let same =
        Expr::Same { left: Box::new(whole(one)), right: Box::new(whole(state)), site: Site(3) };
    let body = vec![
        Stmt::Assert { cond: undefined(one), site: Site(4) },
        copy(one, state),
        Stmt::Assert { cond: same, site: Site(5) },
        assign(at(one, x()), Expr::Int(5)),
        copy(two, one),
        Stmt::Fresh(LocalId(0)),
        Stmt::Assert { cond: undefined(one), site: Site(6) },
        copy(state, two),
    ];
    program.actions.push(action(locals, vec![Param { local: LocalId(2), over }], vec![], body));
    let seen = check(program, 5);
    assert!(seen.states >= 4 && seen.faults == 0);
}

/// Faults of hoisted tests are reported for every instance, in order.
#[test]
fn hoisting_keeps_the_order_of_faults() {
    let mut program = base(&[SMALL, SMALL, TypeId(12), TypeId(2)]);
    let clear = (0..4).map(|i| Stmt::Clear(global(i, program.globals[i as usize].ty))).collect();
    program.starts.push(action(vec![], vec![], vec![], clear));
    program.starts.push(action(vec![], vec![], vec![], vec![]));
    let locals = vec![
        local(SMALL, LocalKind::Bound),
        local(SMALL, LocalKind::Bound),
        local(NODE, LocalKind::Bound),
    ];
    let params = [
        Param { local: LocalId(0), over: Domain::Type(SMALL) },
        Param { local: LocalId(1), over: Domain::Slots(global(2, TypeId(12))) },
        Param { local: LocalId(2), over: Domain::Type(NODE) },
    ];
    let tests = [
        binary(BinaryOp::Lt, read(global(0, SMALL), 11), Expr::Int(4)),
        binary(BinaryOp::Lt, read(global(3, TypeId(2)), 12), Expr::Int(2)),
        binary(BinaryOp::Ne, Expr::Bound(LocalId(0)), Expr::Int(3)),
        binary(BinaryOp::Ne, Expr::Bound(LocalId(2)), Expr::Int(201)),
        binary(BinaryOp::Lt, read(global(1, SMALL), 13), Expr::Bound(LocalId(0))),
    ];
    for skip in 0..6 {
        for turn in 0..5 {
            let mut guard = tests.to_vec();
            guard.rotate_left(turn);
            guard.truncate(5 - skip.min(4));
            let add =
                Stmt::AddValue { set: global(2, TypeId(12)), value: Expr::Int(1), site: Site(14) };
            let step = |i| {
                assign(
                    global(i, SMALL),
                    binary(BinaryOp::Add, read(global(i, SMALL), 15), Expr::Int(1)),
                )
            };
            let last = if skip < 5 { params.len() } else { 1 };
            let body = if turn % 2 == 0 { vec![step(0), step(1)] } else { vec![add, step(1)] };
            program.actions.push(action(
                locals.clone(),
                params[..last].to_vec(),
                guard.clone(),
                body,
            ));
        }
    }
    let fill = Stmt::AddValue { set: global(2, TypeId(12)), value: Expr::Int(2), site: Site(16) };
    program.actions.push(action(vec![], vec![], vec![], vec![fill]));
    let seen = check(program, 60);
    assert!(seen.states > 20 && seen.faults > 100);
}

/// A local that several statements bind is bound anew in every instance.
#[test]
fn locals_bound_twice() {
    let mut program = base(&[SMALL, SMALL]);
    let clear = (0..2).map(|i| Stmt::Clear(global(i, SMALL))).collect();
    program.starts.push(action(vec![], vec![], vec![], clear));
    let locals = vec![
        local(SMALL, LocalKind::Bound),
        local(SMALL, LocalKind::Bound),
        local(SMALL, LocalKind::Bound),
        local(SMALL, LocalKind::Ref),
    ];
    let params = (0..2)
        .map(|i| Param { local: LocalId(i), over: Domain::Range { from: 0, to: 3, step: 1 } })
        .collect();
    let x = |i| Expr::Bound(LocalId(i));
    let add = |a, b| binary(BinaryOp::Add, a, b);
    let mut twice = action(
        locals,
        params,
        vec![binary(BinaryOp::Lt, x(0), Expr::Int(3)), binary(BinaryOp::Lt, x(2), Expr::Int(7))],
        vec![
            assign(own(3, SMALL), add(x(2), x(0))),
            Stmt::Let { local: LocalId(0), value: add(x(0), Expr::Int(1)) },
            Stmt::Let { local: LocalId(2), value: Expr::Int(100) },
            Stmt::Bind { local: LocalId(3), place: global(1, SMALL) },
            assign(own(3, SMALL), x(0)),
        ],
    );
    twice.prelude = vec![
        Stmt::Let { local: LocalId(2), value: x(1) },
        Stmt::Bind { local: LocalId(3), place: global(0, SMALL) },
    ];
    program.actions.push(twice);
    let seen = check(program, 100);
    assert!(seen.states > 10);
}

#[test]
fn code_does_not_depend_on_threads() {
    let mut program = base(&[SMALL, SMALL]);
    program.starts.push(action(vec![], vec![], vec![], vec![Stmt::Clear(global(0, SMALL))]));
    for i in 0..40 {
        let sum = (0..i)
            .fold(Expr::Int(i), |sum, _| binary(BinaryOp::BitXor, sum, read(global(0, SMALL), 1)));
        let body = vec![assign(global(1, SMALL), sum)];
        program.actions.push(action(vec![], vec![], vec![], body));
    }
    let program = Arc::new(program);
    let stats = |threads| {
        let jit = Jit::with_threads(Arc::clone(&program), DeadlockMode::Off, threads);
        CompileStats { time: Duration::ZERO, ..jit.expect("it compiles").stats() }
    };
    let alone = stats(1);
    assert!(alone.functions > 40 && alone.code_bytes > 1000);
    for threads in [2, 3, 100] {
        assert_eq!(stats(threads), alone);
    }
}

#[test]
fn deep_expressions_do_not_overflow_the_stack() {
    let mut program = base(&[SMALL]);
    program.starts.push(action(vec![], vec![], vec![], vec![Stmt::Clear(global(0, SMALL))]));
    let guard = ir_common::nested(4001);
    let mut sum = Expr::Int(0);
    for _ in 0..3000 {
        sum = binary(BinaryOp::BitXor, sum, read(global(0, SMALL), 1));
    }
    let body = vec![assign(global(0, SMALL), sum)];
    program.actions.push(action(vec![], vec![], vec![guard], body));
    assert!(verify::verify(&program).is_ok());
    assert!(Jit::with_threads(Arc::new(program), DeadlockMode::Off, 2).is_ok());
}

#[test]
fn programs_that_cannot_be_compiled_are_errors() {
    let mut program = base(&[SMALL]);
    let locals = vec![local(SMALL, LocalKind::Ref)];
    let body = vec![assign(own(0, SMALL), Expr::Int(1))];
    program.actions.push(action(locals, vec![], vec![], body));
    for threads in [1, 2] {
        let jit = Jit::with_threads(Arc::new(program.clone()), DeadlockMode::Off, threads);
        let error = jit.expect_err("an unbound name");
        assert!(error.to_string().contains("before it is bound"), "{error}");
    }
}
