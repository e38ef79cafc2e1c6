//! Every kind of fault, and the sentence about it.

mod common;
use common::*;
use ergodic_interp::Explained;
use ergodic_ir::*;
use ergodic_system::Label;

/// Runs one initial state that faults, normally and explained; both must agree.
fn fault(mut b: Build, locals: Vec<Local>, body: Vec<Stmt>) -> Explained {
    b.start(locals, body);
    let system = b.interpreter();
    let fault = start_state(&system).unwrap_err();
    let explained = system.explain_label(&[], Label(0)).outcome.unwrap_err();
    assert_eq!(explained.fault(), fault);
    explained
}

fn check(explained: Explained, kind: FaultKind, value: i64, message: &str) {
    assert_eq!((explained.kind, explained.value), (kind, value));
    assert_eq!(explained.message, message);
}

#[test]
fn values_out_of_range_name_the_concrete_place() {
    let mut b = Build::new();
    let (node, count) = (b.scalarset("Node", 10, 3), b.int(0, 3));
    let line = b.record(&[("count", count)]);
    let array = b.array(node, line);
    let cache = b.global("cache", array);
    let to = field(&index(&cache, var(0), line), 0, count);
    let body = vec![
        Stmt::Let { local: LocalId(0), value: int(11) },
        assign(&to, int(3)),
        assign(&to, add(read(&to), int(1))),
    ];
    let explained = fault(b, vec![bound("i", node)], body);
    check(explained, FaultKind::Range, 4, "cache[Node_2].count := 4 is out of range 0..3");
}

#[test]
fn values_of_other_members_of_a_union_are_named() {
    let mut b = Build::new();
    let (node, home) = (b.scalarset("Node", 10, 2), b.enumeration(50, &["Home"]));
    let members = ScalarKind::Union { members: vec![node, home] };
    let any = b.scalar("Any", members, &[(10, 11), (50, 50)]);
    let (n, u) = (b.global("n", node), b.global("u", any));
    let build = || Build { p: b.p.clone() };
    let body = vec![assign(&u, int(50)), copy(&n, &u)];
    let message = "n := Home is not a value of Node";
    check(fault(build(), vec![], body), FaultKind::Range, 50, message);
    let by_bind = vec![
        Stmt::Bind { local: LocalId(0), place: n.clone() },
        assign(&at_local(0, node), int(50)),
    ];
    let explained = fault(build(), vec![reference("r", node)], by_bind);
    check(explained, FaultKind::Range, 50, message);
}

#[test]
fn undefined_reads() {
    let mut b = Build::new();
    let (n, sure) = (b.int(0, 9), b.total(0, 9));
    let pair = b.record(&[("x", n), ("y", n)]);
    let (g, p, q) = (b.global("g", n), b.global("p", pair), b.global("q", pair));
    let t = b.global("t", sure);
    let build = || Build { p: b.p.clone() };
    let body = vec![assign(&g, read(&field(&p, 1, n)))];
    check(fault(build(), vec![], body), FaultKind::Undefined, 0, "p.y is undefined");
    // A copy keeps undefined values, unless the target cannot be undefined.
    let body = vec![copy(&t, &g)];
    check(fault(build(), vec![], body), FaultKind::Undefined, 0, "g is undefined");
    let same = Expr::Same { left: Box::new(p.clone()), right: Box::new(q.clone()), site: S };
    let mut body = vec![assign(&field(&p, 0, n), int(1)), assign(&field(&q, 0, n), int(1))];
    body.push(assign(&field(&p, 1, n), int(1)));
    body.push(Stmt::Assume { cond: same });
    check(fault(build(), vec![], body), FaultKind::Undefined, 0, "q.y is undefined");
}

#[test]
fn bad_indices_and_absent_elements() {
    let mut b = Build::new();
    let (n, wide) = (b.int(1, 3), b.int(0, 99));
    let inner = b.array(n, n);
    let array = b.array(n, inner);
    let bag = b.multiset(1, n);
    let (a, set) = (b.global("a", array), b.global("set", bag));
    let build = || Build { p: b.p.clone() };
    let place = index(&index(&a, int(2), inner), int(7), n);
    let explained = fault(build(), vec![], vec![assign(&place, int(1))]);
    check(explained, FaultKind::Index, 7, "index 7 of a[2] is out of range 1..3");
    let body = vec![Stmt::Remove { set: set.clone(), slot: int(0), site: S }];
    let message = "multiset set has no element in slot 0";
    check(fault(build(), vec![], body), FaultKind::AbsentElement, 0, message);
    let body = vec![assign(&slot(&set, int(4), n), int(1))];
    let message = "multiset set has no element in slot 4";
    check(fault(build(), vec![], body), FaultKind::AbsentElement, 4, message);
    let body = vec![add_value(&set, int(3)), add_value(&set, int(9))];
    // Fullness is found out before the range.
    check(fault(build(), vec![], body), FaultKind::MultisetFull, 0, "multiset set is full");
    let w = at_local(0, wide);
    let body = vec![assign(&w, int(9)), Stmt::Add { set: set.clone(), from: w.clone(), site: S }];
    let explained = fault(build(), vec![storage("w", wide)], body);
    check(explained, FaultKind::Range, 9, "set := 9 is out of range 1..3");
}

#[test]
fn operators_loops_and_statements() {
    let mut b = Build::new();
    let n = b.int(0, 9);
    let g = b.global("g", n);
    let site = b.site("x / y");
    let build = || Build { p: b.p.clone() };
    let binary = |op, left, right| Expr::Binary {
        op,
        left: Box::new(int(left)),
        right: Box::new(int(right)),
        site,
    };
    let run = |stmt: Stmt| fault(build(), vec![bound("i", n)], vec![stmt]);
    let division = run(assign(&g, binary(BinaryOp::Rem, 5, 0)));
    check(division, FaultKind::DivisionByZero, 5, "division by zero: x / y");
    let overflow = run(assign(&g, binary(BinaryOp::Mul, i64::MAX, 2)));
    let message = "the result is out of the range of numbers: x / y";
    check(overflow, FaultKind::Overflow, i64::MAX, message);
    let assertion = run(Stmt::Assert { cond: int(0), site });
    check(assertion, FaultKind::Assertion, 0, "assertion failed: x / y");
    let error = run(Stmt::Error { site });
    check(error, FaultKind::Error, 0, "error statement reached: x / y");
    let endless = run(Stmt::While { cond: int(1), body: vec![], site: S });
    check(endless, FaultKind::LoopLimit, 0, "while loop took more than 10 iterations");
    let over = range(1, 2, 0);
    let step = run(Stmt::For { var: LocalId(0), over, body: vec![] });
    check(step, FaultKind::Step, 0, "for loop with a step of zero");
}

#[test]
fn as_many_iterations_as_the_limit_are_allowed() {
    let mut b = Build::new();
    let n = b.int(0, 99);
    let g = b.global("g", n);
    let up = vec![assign(&g, add(read(&g), int(1)))];
    let count = |to| Stmt::While { cond: lt(read(&g), int(to)), body: up.clone(), site: S };
    let build = || Build { p: b.p.clone() };
    let mut ten = build();
    ten.start(vec![], vec![assign(&g, int(0)), count(10)]);
    assert_eq!(start_text(&ten.interpreter()), "g:10");
    let explained = fault(build(), vec![], vec![assign(&g, int(0)), count(11)]);
    assert_eq!(explained.kind, FaultKind::LoopLimit);
}

#[test]
fn calls() {
    let mut b = Build::new();
    let (n, real) = (b.int(0, 9), b.real(3, 2));
    let (g, r) = (b.global("g", n), b.global("r", real));
    let ends = b.proc("ends", vec![Pass::Value], Some(n), vec![storage("v", n)], vec![]);
    let big = b.proc("big", vec![], Some(n), vec![], vec![give(int(12))]);
    let again = ProcId(2);
    let forever = vec![Stmt::Call { proc: again, args: vec![], site: S }];
    b.proc("forever", vec![], None, vec![], forever);
    let build = || Build { p: b.p.clone() };
    let run = |stmt: Stmt| fault(build(), vec![], vec![stmt]);
    // The result is missing even if nobody wants it.
    let ignored = Stmt::Call { proc: ends, args: vec![by_value(int(1))], site: S };
    let message = "function ends ended without returning a value";
    check(run(ignored), FaultKind::NoReturn, 0, message);
    let argument = run(assign(&g, call(ends, vec![by_value(int(10))])));
    check(argument, FaultKind::Range, 10, "argument v := 10 of ends is out of range 0..9");
    let result = run(assign(&g, call(big, vec![])));
    check(result, FaultKind::Range, 12, "result 12 is out of range 0..9");
    let depth = run(Stmt::Call { proc: again, args: vec![], site: S });
    check(depth, FaultKind::CallDepth, 0, "call of forever nests deeper than 20 calls");
    let overflow = run(assign(&r, Expr::Real(12_345.0)));
    let value = 12_345.0f64.to_bits() as i64;
    check(overflow, FaultKind::Overflow, value, "r := 12345.0 is too large for real(3, 2)");
}

#[test]
fn references_passed_on_keep_the_name_of_their_origin() {
    let mut b = Build::new();
    let n = b.int(0, 9);
    let array = b.array(n, n);
    let a = b.global("a", array);
    let x = at_local(0, n);
    let inner = b.proc(
        "inner",
        vec![Pass::Ref],
        None,
        vec![reference("x", n)],
        vec![assign(&x, add(read(&x), int(1)))],
    );
    let pass = |to| Stmt::Call { proc: inner, args: vec![Arg::Ref(to)], site: S };
    let outer =
        b.proc("outer", vec![Pass::Ref], None, vec![reference("y", n)], vec![pass(x.clone())]);
    let fifth = index(&a, int(5), n);
    let body = vec![
        assign(&fifth, int(9)),
        Stmt::Call { proc: outer, args: vec![Arg::Ref(fifth)], site: S },
    ];
    check(fault(b, vec![], body), FaultKind::Range, 10, "a[5] := 10 is out of range 0..9");
}

#[test]
fn a_thousand_nested_calls_fit_the_stack() {
    let mut b = Build::new();
    b.p.call_limit = 1000;
    let n = b.int(0, 10_000);
    let g = b.global("g", n);
    // Each body nests the call in many statements and a deep expression.
    let k = at_local(0, n);
    let less = bin(BinaryOp::Sub, read(&k), int(1));
    let mut value = call(ProcId(0), vec![by_value(less)]);
    for _ in 0..60 {
        value = add(int(0), value);
    }
    let mut body = vec![give(value)];
    for _ in 0..20 {
        body = vec![Stmt::If { branches: vec![(int(1), body)], other: vec![] }];
        body = vec![Stmt::For { var: LocalId(1), over: range(1, 1, 1), body }];
    }
    let stop =
        Stmt::If { branches: vec![(eq(read(&k), int(1)), vec![give(int(7))])], other: vec![] };
    body.insert(0, stop);
    let locals = vec![storage("k", n), bound("i", n)];
    let f = b.proc("f", vec![Pass::Value], Some(n), locals, body);
    b.start(vec![], vec![assign(&g, call(f, vec![by_value(int(1000))]))]);
    let run = move || {
        let mut deeper = Build { p: b.p.clone() };
        assert_eq!(start_text(&b.interpreter()), "g:7");
        deeper.p.starts.clear();
        deeper.start(vec![], vec![assign(&g, call(f, vec![by_value(int(1001))]))]);
        let fault = start_state(&deeper.interpreter()).unwrap_err();
        assert_eq!(kind(fault), FaultKind::CallDepth);
    };
    let stack = ergodic_interp::STACK_BYTES;
    std::thread::Builder::new().stack_size(stack).spawn(run).unwrap().join().unwrap();
}
