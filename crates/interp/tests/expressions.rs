//! Every kind of expression.

mod common;
use common::*;
use ergodic_ir::*;

/// The value of an expression of integers, evaluated in an initial state.
fn value(
    mut b: Build,
    locals: Vec<Local>,
    mut before: Vec<Stmt>,
    expr: Expr,
) -> Result<i64, FaultKind> {
    let big = b.int(-1_000_000, 1_000_000);
    let result = b.global("result", big);
    before.push(assign(&result, expr));
    b.start(locals, before);
    let system = b.interpreter();
    let state = start_state(&system).map_err(kind)?;
    let Root::Global(id) = result.root else { panic!() };
    Ok(show::stored(system.program(), &state, system.layout().global(id), big).unwrap())
}

fn pure(expr: Expr) -> Result<i64, FaultKind> {
    value(Build::new(), vec![], vec![], expr)
}

#[test]
fn operators() {
    assert_eq!(pure(int(7)), Ok(7));
    assert_eq!(pure(bin(BinaryOp::Rem, int(-7), int(2))), Ok(-1));
    assert_eq!(pure(un(UnaryOp::Neg, int(4))), Ok(-4));
    assert_eq!(pure(un(UnaryOp::Not, int(0))), Ok(1));
    let half = bin(BinaryOp::RealDiv, Expr::Real(1.0), un(UnaryOp::ToReal, int(2)));
    let five = bin(BinaryOp::RealMul, half, Expr::Real(10.9));
    assert_eq!(pure(un(UnaryOp::Truncate, five)), Ok(5));
    let minus_zero = bin(BinaryOp::RealEq, Expr::Real(-0.0), Expr::Real(0.0));
    assert_eq!(pure(minus_zero), Ok(1));
    assert_eq!(pure(bin(BinaryOp::Div, int(1), int(0))), Err(FaultKind::DivisionByZero));
    assert_eq!(pure(bin(BinaryOp::Shl, int(1), int(64))), Ok(0));
    assert_eq!(pure(bin(BinaryOp::Shl, int(12), int(-2))), Ok(3));
    assert_eq!(pure(bin(BinaryOp::Shr, int(-3), int(1))), Ok(-2));
    assert_eq!(pure(bin(BinaryOp::Shr, int(-3), int(-2))), Ok(-12));
    assert_eq!(pure(bin(BinaryOp::Shr, int(-3), int(i64::MIN))), Ok(0));
    assert_eq!(pure(add(int(i64::MAX), int(1))), Err(FaultKind::Overflow));
}

#[test]
fn and_or_if_stop_when_decided() {
    let fault = || bin(BinaryOp::Div, int(1), int(0));
    assert_eq!(pure(Expr::And(vec![])), Ok(1));
    assert_eq!(pure(Expr::Or(vec![])), Ok(0));
    assert_eq!(pure(Expr::And(vec![int(1), int(0), fault()])), Ok(0));
    assert_eq!(pure(Expr::Or(vec![int(0), int(1), fault()])), Ok(1));
    assert_eq!(pure(Expr::And(vec![int(1), fault()])), Err(FaultKind::DivisionByZero));
    let choose = |cond| Expr::If {
        cond: Box::new(int(cond)),
        then: Box::new(int(5)),
        other: Box::new(fault()),
    };
    assert_eq!(pure(choose(1)), Ok(5));
    assert_eq!(pure(choose(0)), Err(FaultKind::DivisionByZero));
}

#[test]
fn reads_of_nested_places_and_undefined_parts() {
    let mut b = Build::new();
    let (small, node) = (b.int(0, 9), b.scalarset("Node", 100, 3));
    let pair = b.record(&[("x", small), ("y", small)]);
    let array = b.array(node, pair);
    let cells = b.global("cells", array);
    let cell = |i: i64| index(&cells, int(i), pair);
    let y = field(&cell(101), 1, small);
    let set = vec![assign(&y, int(4))];
    assert_eq!(value(Build { p: b.p.clone() }, vec![], set.clone(), read(&y)), Ok(4));
    let x = field(&cell(101), 0, small);
    let build = || Build { p: b.p.clone() };
    assert_eq!(value(build(), vec![], set.clone(), read(&x)), Err(FaultKind::Undefined));
    let undefined = |p: &Place| Expr::IsUndefined(Box::new(p.clone()));
    assert_eq!(value(build(), vec![], set.clone(), undefined(&x)), Ok(1));
    assert_eq!(value(build(), vec![], set.clone(), undefined(&cell(100))), Ok(1));
    assert_eq!(value(build(), vec![], set.clone(), undefined(&cell(101))), Ok(0));
    assert_eq!(value(build(), vec![], set.clone(), undefined(&cells)), Ok(0));
    let outside = read(&field(&cell(103), 0, small));
    assert_eq!(value(build(), vec![], set, outside), Err(FaultKind::Index));
}

#[test]
fn membership_uses_all_intervals() {
    let mut b = Build::new();
    let (a, e) = (b.scalarset("A", 10, 2), b.enumeration(20, &["p", "q"]));
    let union = b.scalar("U", ScalarKind::Union { members: vec![a, e] }, &[(10, 11), (20, 21)]);
    let member = |v: i64, ty| Expr::IsMember { value: Box::new(int(v)), ty };
    for (code, ty, expected) in [(20, union, 1), (12, union, 0), (20, e, 1), (20, a, 0)] {
        let got = value(Build { p: b.p.clone() }, vec![], vec![], member(code, ty));
        assert_eq!(got, Ok(expected));
    }
}

#[test]
fn same_compares_in_order_up_to_the_first_difference() {
    let mut b = Build::new();
    let small = b.int(0, 9);
    let pair = b.record(&[("x", small), ("y", small)]);
    let (l, r) = (b.global("l", pair), b.global("r", pair));
    let part = |p: &Place, i| field(p, i, small);
    let same = || Expr::Same { left: Box::new(l.clone()), right: Box::new(r.clone()), site: S };
    let run = |set: Vec<Stmt>| value(Build { p: b.p.clone() }, vec![], set, same());
    let (lx, ly, rx, ry) = (part(&l, 0), part(&l, 1), part(&r, 0), part(&r, 1));
    assert_eq!(run(vec![]), Err(FaultKind::Undefined));
    assert_eq!(run(vec![assign(&lx, int(1)), assign(&rx, int(2))]), Ok(0));
    let equal_x = vec![assign(&lx, int(1)), assign(&rx, int(1))];
    assert_eq!(run(equal_x.clone()), Err(FaultKind::Undefined));
    let mut equal = equal_x;
    equal.extend([assign(&ly, int(3)), assign(&ry, int(3))]);
    assert_eq!(run(equal), Ok(1));
}

#[test]
fn multisets_are_the_same_whatever_the_order_of_adding() {
    let mut b = Build::new();
    let small = b.int(0, 9);
    let bag = b.multiset(3, small);
    let wrap = b.record(&[("bag", bag)]);
    let (l, r) = (b.global("l", wrap), b.global("r", wrap));
    let (lb, rb) = (field(&l, 0, bag), field(&r, 0, bag));
    let same = || Expr::Same { left: Box::new(l.clone()), right: Box::new(r.clone()), site: S };
    let fill = |left: &[i64], right: &[i64]| -> Vec<Stmt> {
        let left = left.iter().map(|v| add_value(&lb, int(*v)));
        left.chain(right.iter().map(|v| add_value(&rb, int(*v)))).collect()
    };
    let run = |set: Vec<Stmt>| value(Build { p: b.p.clone() }, vec![], set, same());
    assert_eq!(run(fill(&[1, 2], &[2, 1])), Ok(1));
    assert_eq!(run(fill(&[1, 2], &[2, 2])), Ok(0));
    assert_eq!(run(fill(&[1], &[1, 1])), Ok(0));
    assert_eq!(run(fill(&[], &[])), Ok(1));
}

#[test]
fn quantifiers_over_types_ranges_and_slots() {
    let mut b = Build::new();
    let small = b.int(2, 5);
    let bag = b.multiset(4, small);
    let set = b.global("set", bag);
    let quantified = |all, over, body| Expr::Quantified {
        all,
        var: LocalId(0),
        over: Box::new(over),
        body: Box::new(body),
    };
    let locals = || vec![bound("i", small)];
    let fill = || vec![add_value(&set, int(5)), add_value(&set, int(3))];
    let run = |expr| value(Build { p: b.p.clone() }, locals(), fill(), expr);
    let below = |n| lt(var(0), int(n));
    assert_eq!(run(quantified(true, Iter::Type(small), below(6))), Ok(1));
    assert_eq!(run(quantified(true, Iter::Type(small), below(5))), Ok(0));
    assert_eq!(run(quantified(false, Iter::Type(small), below(2))), Ok(0));
    assert_eq!(run(quantified(false, range(9, 1, -4), below(2))), Ok(1));
    assert_eq!(run(quantified(true, range(1, 0, 1), int(0))), Ok(1));
    assert_eq!(run(quantified(true, range(1, 2, 0), int(0))), Err(FaultKind::Step));
    let huge = quantified(false, range(i64::MIN, i64::MAX, 1), int(1));
    assert_eq!(run(huge), Ok(1));
    let ends = quantified(true, range(i64::MAX - 1, i64::MAX, 1), int(1));
    assert_eq!(run(ends), Ok(1));
    let elem = || read(&slot(&set, var(0), small));
    let over = || Iter::Slots(set.clone());
    assert_eq!(run(quantified(false, over(), eq(elem(), int(3)))), Ok(1));
    assert_eq!(run(quantified(true, over(), eq(elem(), int(3)))), Ok(0));
    let count =
        |body| Expr::Count { set: Box::new(set.clone()), var: LocalId(0), body: Box::new(body) };
    assert_eq!(run(count(int(1))), Ok(2));
    assert_eq!(run(count(eq(elem(), int(5)))), Ok(1));
    assert_eq!(run(read(&slot(&set, int(2), small))), Err(FaultKind::AbsentElement));
    assert_eq!(run(read(&slot(&set, int(-1), small))), Err(FaultKind::AbsentElement));
}

#[test]
fn calls_recurse_and_blocks_run_first() {
    let mut b = Build::new();
    let big = b.int(0, 100_000);
    let n = || read(&at_local(0, big));
    let less = bin(BinaryOp::Sub, n(), int(1));
    let rest = call(ProcId(0), vec![by_value(less)]);
    let body = vec![
        Stmt::If { branches: vec![(lt(n(), int(2)), vec![give(int(1))])], other: vec![] },
        give(bin(BinaryOp::Mul, n(), rest)),
    ];
    let fac = b.proc("fac", vec![Pass::Value], Some(big), vec![storage("n", big)], body);
    let run = |expr| value(Build { p: b.p.clone() }, vec![storage("t", big)], vec![], expr);
    assert_eq!(run(call(fac, vec![by_value(int(7))])), Ok(5040));
    // Twenty nested calls are allowed, but 9! does not fit the type.
    assert_eq!(run(call(fac, vec![by_value(int(9))])), Err(FaultKind::Range));
    let t = at_local(0, big);
    let block =
        Expr::Block { body: vec![assign(&t, int(20))], value: Box::new(add(read(&t), int(1))) };
    assert_eq!(run(add(block, read(&t))), Ok(41));
}
