//! Every kind of statement.

mod common;
use common::*;
use ergodic_ir::*;

fn run(mut b: Build, locals: Vec<Local>, body: Vec<Stmt>) -> String {
    b.start(locals, body);
    start_text(&b.interpreter())
}

#[test]
fn copies_keep_undefined_parts_and_convert_scalars() {
    let mut b = Build::new();
    let (small, wide) = (b.int(0, 3), b.int(-10, 10));
    let pair = b.record(&[("x", small), ("y", small)]);
    let (p, q, w) = (b.global("p", pair), b.global("q", pair), b.global("w", wide));
    let body = vec![
        assign(&field(&p, 1, small), int(2)),
        assign(&field(&q, 0, small), int(3)),
        copy(&q, &p),
        assign(&w, int(5)),
        copy(&w, &field(&p, 0, small)),
    ];
    assert_eq!(run(b, vec![], body), "p.x:Undefined p.y:2 q.x:Undefined q.y:2 w:Undefined");
}

#[test]
fn undefine_clear_and_fresh() {
    let mut b = Build::new();
    let (small, color) = (b.int(2, 3), b.enumeration(50, &["red", "green"]));
    let (total, real) = (b.total(5, 6), b.real(4, 9));
    let bag = b.multiset(2, small);
    let r = b.record(&[("a", small), ("c", color), ("t", total), ("r", real), ("bag", bag)]);
    let (p, q) = (b.global("p", r), b.global("q", r));
    let t = at_local(0, small);
    let mut body = Vec::new();
    for place in [&p, &q] {
        body.push(assign(&field(place, 0, small), int(3)));
        body.push(assign(&field(place, 1, color), int(51)));
        body.push(assign(&field(place, 2, total), int(6)));
        body.push(assign(&field(place, 3, real), Expr::Real(2.5)));
        body.push(add_value(&field(place, 4, bag), int(2)));
    }
    body.extend([Stmt::Undefine(p.clone()), Stmt::Clear(q.clone())]);
    body.extend([assign(&t, int(2)), Stmt::Fresh(LocalId(0))]);
    let gone = Expr::IsUndefined(Box::new(t));
    let site = b.site("gone");
    body.push(Stmt::Assert { cond: gone, site });
    assert_eq!(
        run(b, vec![storage("t", small)], body),
        "p.a:Undefined p.c:Undefined p.t:5 p.r:Undefined q.a:2 q.c:red q.t:5 q.r:0.0"
    );
}

#[test]
fn control_flow() {
    let mut b = Build::new();
    let n = b.int(0, 1000);
    let sum = b.global("sum", n);
    let more = |by: Expr| assign(&sum, add(read(&sum), by));
    let case = |values: &[i64], by: i64| SwitchCase {
        values: values.iter().map(|v| int(*v)).collect(),
        body: vec![more(int(by))],
    };
    let switch = |subject: Expr| Stmt::Switch {
        subject,
        cases: vec![case(&[1, 2], 10), case(&[2, 3], 100)],
        other: vec![more(int(1))],
    };
    let body = vec![
        assign(&sum, int(0)),
        // 1 and 2 match the first case, 3 the second, 4 none: 121 in all.
        Stmt::For { var: LocalId(0), over: range(1, 4, 1), body: vec![switch(var(0))] },
        Stmt::While { cond: lt(read(&sum), int(130)), body: vec![more(int(3))], site: S },
        Stmt::Let { local: LocalId(1), value: add(read(&sum), int(1)) },
        Stmt::If {
            branches: vec![(int(0), vec![more(int(500))]), (int(1), vec![more(var(1))])],
            other: vec![more(int(500))],
        },
        // Leaves the whole initial state from inside the loops.
        Stmt::For {
            var: LocalId(0),
            over: range(5, 1, -2),
            body: vec![
                more(int(1)),
                Stmt::While {
                    cond: lt(var(0), int(4)),
                    body: vec![Stmt::Return { value: None, site: S }],
                    site: S,
                },
            ],
        },
        assign(&sum, int(0)),
    ];
    assert_eq!(run(b, vec![bound("i", n), bound("v", n)], body), "sum:263");
}

#[test]
fn references_alias_and_keep_their_indices() {
    let mut b = Build::new();
    let small = b.int(0, 9);
    let array = b.array(small, small);
    let (a, i) = (b.global("a", array), b.global("i", small));
    let r = at_local(0, small);
    // swap(x, y): also when both are the same place.
    let (x, y, t) = (at_local(0, small), at_local(1, small), at_local(2, small));
    let swap = b.proc(
        "swap",
        vec![Pass::Ref, Pass::Ref],
        None,
        vec![reference("x", small), reference("y", small), storage("t", small)],
        vec![copy(&t, &x), copy(&x, &y), copy(&y, &t)],
    );
    let at = |k: i64| index(&a, int(k), small);
    let swap = |x: &Place, y: &Place| Stmt::Call {
        proc: swap,
        args: vec![Arg::Ref(x.clone()), Arg::Ref(y.clone())],
        site: S,
    };
    let body = vec![
        assign(&i, int(3)),
        Stmt::Bind { local: LocalId(0), place: index(&a, read(&i), small) },
        assign(&i, int(4)),
        assign(&r, int(7)),
        assign(&at(4), int(8)),
        swap(&r, &index(&a, read(&i), small)),
        swap(&at(4), &r),
        swap(&r, &r),
        swap(&at(4), &at(0)),
        // A local of the caller by reference.
        assign(&at_local(1, small), int(1)),
        swap(&at_local(1, small), &i),
    ];
    let text = run(b, vec![reference("r", small), storage("mine", small)], body);
    assert!(
        text.starts_with("a[0]:8 a[1]:Undefined a[2]:Undefined a[3]:7 a[4]:Undefined"),
        "{text}"
    );
    assert!(text.ends_with("i:1"), "{text}");
}

#[test]
fn recursion_keeps_frames_apart_and_passes_references_through() {
    let mut b = Build::new();
    let n = b.int(0, 100);
    let out = b.global("out", n);
    // walk(k, var acc): own := k; if k > 0 then walk(k - 1, acc); acc := acc + own
    let (k, acc, own) = (at_local(0, n), at_local(1, n), at_local(2, n));
    let again = Stmt::Call {
        proc: ProcId(0),
        args: vec![by_value(bin(BinaryOp::Sub, read(&k), int(1))), Arg::Ref(acc.clone())],
        site: S,
    };
    let walk = b.proc(
        "walk",
        vec![Pass::Value, Pass::Ref],
        None,
        vec![storage("k", n), reference("acc", n), storage("own", n)],
        vec![
            copy(&own, &k),
            Stmt::If { branches: vec![(lt(int(0), read(&k)), vec![again])], other: vec![] },
            assign(&acc, add(read(&acc), read(&own))),
        ],
    );
    let t = at_local(0, n);
    let walk = |k: Arg, to: &Place| Stmt::Call {
        proc: walk,
        args: vec![k, Arg::Ref(to.clone())],
        site: S,
    };
    let body = vec![
        assign(&t, int(0)),
        walk(by_value(int(5)), &t),
        assign(&out, int(3)),
        // The value of `out` is copied before the same variable is changed by reference.
        walk(Arg::Copy { from: out.clone(), site: S }, &out),
        assign(&out, add(read(&out), read(&t))),
    ];
    assert_eq!(run(b, vec![storage("t", n)], body), "out:24");
}

#[test]
fn undefined_arguments_are_passed_by_copy() {
    let mut b = Build::new();
    let (n, out) = (b.int(0, 9), b.bool());
    let (g, r) = (b.global("g", n), b.global("r", out));
    let body = vec![give(Expr::IsUndefined(Box::new(at_local(0, n))))];
    let f = b.proc("f", vec![Pass::Value], Some(out), vec![storage("v", n)], body);
    let body = vec![assign(&r, call(f, vec![Arg::Copy { from: g, site: S }]))];
    assert_eq!(run(b, vec![], body), "g:Undefined r:true");
}

#[test]
fn reals_are_rounded_when_stored() {
    let mut b = Build::new();
    let (fine, coarse) = (b.real(6, 99), b.real(3, 99));
    let (f, c) = (b.global("f", fine), b.global("c", coarse));
    let (x, y) = (b.global("x", coarse), b.global("y", coarse));
    let id = b.proc(
        "id",
        vec![Pass::Value],
        Some(coarse),
        vec![storage("v", fine)],
        vec![give(read(&at_local(0, fine)))],
    );
    let body = vec![
        assign(&f, Expr::Real(1.234_567_8)),
        copy(&c, &f),
        assign(&f, call(id, vec![by_value(Expr::Real(-12_345.6))])),
        assign(&x, bin(BinaryOp::RealSub, read(&c), read(&c))),
        copy(&c, &y),
    ];
    assert_eq!(run(b, vec![], body), "f:-12300.0 c:Undefined x:0.0 y:Undefined");
}

#[test]
fn multisets_add_remove_and_are_sorted_in_states() {
    let mut b = Build::new();
    let n = b.int(0, 9);
    let msg = b.record(&[("k", n), ("v", n)]);
    let bag = b.multiset(4, msg);
    let (net, m, count) = (b.global("net", bag), b.global("m", msg), b.global("count", n));
    let send = |k: i64, v: i64| {
        vec![
            assign(&field(&m, 0, n), int(k)),
            assign(&field(&m, 1, n), int(v)),
            Stmt::Add { set: net.clone(), from: m.clone(), site: S },
        ]
    };
    let key = |i: Expr| read(&field(&slot(&net, i, msg), 0, n));
    let mut body: Vec<Stmt> = [send(1, 1), send(5, 2), send(3, 3), send(5, 4)].concat();
    body.extend([
        // The elements lie in the order of adding until the end.
        Stmt::Assert { cond: eq(key(int(1)), int(5)), site: S },
        Stmt::Remove { set: net.clone(), slot: int(0), site: S },
        Stmt::RemoveWhere { set: net.clone(), var: LocalId(0), cond: eq(key(var(0)), int(5)) },
        assign(&count, int(0)),
        Stmt::For {
            var: LocalId(0),
            over: Iter::Slots(net.clone()),
            body: vec![assign(&count, add(read(&count), key(var(0))))],
        },
    ]);
    body.extend(send(9, 0));
    body.push(Stmt::Undefine(m.clone()));
    assert_eq!(
        run(b, vec![bound("i", n)], body),
        "net{0}.k:3 net{0}.v:3 net{1}.k:9 net{1}.v:0 m.k:Undefined m.v:Undefined count:3"
    );
}

#[test]
fn equal_multisets_are_equal_states_also_after_writes_to_removed_elements() {
    let build = |order: [i64; 2], stale: bool| {
        let mut b = Build::new();
        let n = b.int(0, 9);
        let inner = b.multiset(2, n);
        let rec = b.record(&[("in", inner), ("x", n)]);
        let outer = b.multiset(3, rec);
        let (set, m) = (b.global("set", outer), b.global("m", rec));
        let inside = field(&m, 0, inner);
        let mut body = Vec::new();
        for first in order {
            body.push(Stmt::Undefine(m.clone()));
            body.push(add_value(&inside, int(first)));
            body.push(add_value(&inside, int(9 - first)));
            body.push(Stmt::Add { set: set.clone(), from: m.clone(), site: S });
        }
        body.push(Stmt::Undefine(m.clone()));
        body.push(Stmt::Add { set: set.clone(), from: m.clone(), site: S });
        let x = field(&slot(&set, int(2), rec), 1, n);
        body.push(Stmt::Bind { local: LocalId(0), place: x });
        body.push(Stmt::Remove { set: set.clone(), slot: int(2), site: S });
        if stale {
            body.push(assign(&at_local(0, n), int(9)));
        }
        b.start(vec![reference("x", n)], body);
        start_state(&b.interpreter()).unwrap()
    };
    assert_eq!(build([2, 5], false), build([5, 2], false));
    assert_eq!(build([2, 5], false), build([7, 4], false));
    assert_eq!(build([2, 5], false), build([2, 5], true));
}

#[test]
fn scalars_are_added_to_multisets_of_other_ranges() {
    let mut b = Build::new();
    let (n, wide) = (b.int(0, 3), b.int(0, 99));
    let bag = b.multiset(2, n);
    let (set, w) = (b.global("set", bag), b.global("w", wide));
    let body = vec![assign(&w, int(2)), Stmt::Add { set: set.clone(), from: w.clone(), site: S }];
    assert_eq!(run(b, vec![], body), "set{0}:2 w:2");
}

#[test]
fn multisets_of_reals_are_laid_out_on_bytes() {
    let mut b = Build::new();
    let (flag, real) = (b.bool(), b.real(5, 9));
    let bag = b.multiset(2, real);
    let (f, set) = (b.global("f", flag), b.global("set", bag));
    let body = vec![
        assign(&f, int(1)),
        add_value(&set, Expr::Real(-1.5)),
        add_value(&set, Expr::Real(2.0)),
        Stmt::Remove { set: set.clone(), slot: int(0), site: S },
        Stmt::Clear(f.clone()),
    ];
    assert_eq!(run(b, vec![], body), "f:false set{0}:2.0");
}
