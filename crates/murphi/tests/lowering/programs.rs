//! Properties of the programs that are made.

use crate::{complete, program, program_with};
use ergodic_ir::{
    Action, Arg, Domain, Expr, Iter, LocalKind, Pass, Program, PropertyKind, PutPart, ScalarKind,
    Stmt, Type,
};
use ergodic_murphi::Options;

/// The action of the first rule in the text.
fn first_rule(program: &Program) -> &Action {
    program.actions.last().unwrap()
}

fn param_names(action: &Action) -> Vec<&str> {
    action.params.iter().map(|p| action.locals[p.local.0 as usize].name.as_str()).collect()
}

#[test]
fn order_of_rules_and_names() {
    let p = program(
        "var x: 0..9;
         rule \"first\" x = 1 ==> begin end;
         rule x = 2 ==> begin end;
         startstate begin end; startstate \"b\\\"c\" begin end; startstate begin end;
         rule 7 \"last\" x = 3 ==> begin end;
         rule begin end;
         invariant x < 9; invariant \"named\" x < 8; assert x < 7;",
    );
    let names = |list: &[Action]| list.iter().map(|a| a.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&p.actions), ["Rule 1", "last", "Rule 0", "first"]);
    assert_eq!(names(&p.starts), ["Startstate 1", "b\"c", "Startstate 0"]);
    let properties: Vec<_> = p.properties.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(properties, ["Invariant 0", "named", "Invariant 1"]);
    assert_eq!(p.actions[1].priority, 7);
}

#[test]
fn order_of_parameters() {
    let order = |rules: &str| {
        let text = format!(
            "type t: 0..2; var v: array [t] of multiset[2] of t; x: t;
             ruleset i: t; j: t; k: t do {rules} end;"
        );
        let p = program(&complete(&text));
        param_names(first_rule(&p)).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(order("rule begin end;"), ["k", "j", "i"]);
    assert_eq!(order("rule i = j & k = x ==> begin end;"), ["i", "j", "k"]);
    assert_eq!(order("rule x = j ==> begin end;"), ["j", "k", "i"]);
    assert_eq!(
        order("alias a: v[j] do rule multisetcount(l: a, true) = 0 ==> begin end; end;"),
        ["j", "k", "i"]
    );
    // The multiset depends on `i`, which must come before.
    assert_eq!(order("choose l: v[i] do rule begin end; end;"), ["k", "j", "i", "l"]);
    let p = program("ruleset i: boolean; j: boolean do startstate begin end; end; rule begin end;");
    assert_eq!(param_names(&p.starts[0]), ["j", "i"]);
}

#[test]
fn undefined_values_flow_only_through_copies() {
    let text = complete(
        "var x, y: 0..3; r: real(4, 20); a, b: array [0..1] of 0..3;
         procedure p(i: 0..3); begin end;
         rule begin x := y; x := y + 0; a := b; r := x; p(x); x := undefined; end;",
    );
    let p = program(&text);
    let body = &first_rule(&p).body;
    assert!(matches!(body[0], Stmt::Copy { .. }));
    assert!(matches!(body[1], Stmt::Assign { .. }));
    assert!(matches!(body[2], Stmt::Copy { .. }));
    assert!(matches!(body[3], Stmt::Assign { value: Expr::Unary { .. }, .. }));
    assert!(matches!(&body[4], Stmt::Call { args, .. } if matches!(args[0], Arg::Copy { .. })));
    assert!(matches!(body[5], Stmt::Undefine(_)));
    let p = program_with(&text, &Options { strict: true, ..Options::default() });
    let body = &first_rule(&p).body;
    assert!(matches!(body[0], Stmt::Assign { value: Expr::Read { .. }, .. }));
    assert!(matches!(body[2], Stmt::Copy { .. }));
    assert!(matches!(&body[4], Stmt::Call { args, .. } if matches!(args[0], Arg::Copy { .. })));
}

#[test]
fn codes_and_names_of_types() {
    let p = program(&complete(
        "type color: enum { red, green }; node: scalarset(3); home: scalarset(1);
         any: union { home, node, color }; cell: record c: color; end; other: record c: color; end;
         small: 0..3;
         var a: any; c: cell; d: other; s: small; n: enum { x };
         rule begin c := d; a := red; end;",
    ));
    let mut owned: Vec<(i64, i64)> = Vec::new();
    let mut names = Vec::new();
    for ty in &p.types {
        if let Type::Scalar(s) = ty {
            names.extend(s.name.clone());
            if matches!(s.kind, ScalarKind::Enum { .. } | ScalarKind::Scalarset { .. }) {
                assert!(
                    owned.iter().all(|(lo, hi)| s.intervals[0].0 > *hi || s.intervals[0].1 < *lo)
                );
                owned.push(s.intervals[0]);
            }
            if let ScalarKind::Union { members } = &s.kind {
                assert_eq!((members.len(), s.count()), (3, 6));
            }
        }
    }
    assert_eq!(owned.len(), 4);
    for name in ["color", "node", "home", "any", "small"] {
        assert!(names.iter().any(|n| n == name), "{name}");
    }
    assert_eq!(p.globals[1].ty, p.globals[2].ty, "equal records are one type");
}

#[test]
fn functions_with_compound_results() {
    let p = program(&complete(
        "type cell: record a, b: 0..3; end; var x, y: cell; n: 0..3;
         function make(i: 0..3): cell; var c: cell; begin c.a := i; c.b := twice(i); return c; end;
         function sum(c: cell): 0..9; begin return c.a + c.b; end;
         function twice(i: 0..3): 0..9; begin if i = 0 then return 0; end; return twice(i - 1); end;
         rule sum(make(1)) = 2 & make(n) = x ==> begin
           x := make(n); y := n = 1 ? x : make(2); make(3);
         end;",
    ));
    let make = &p.procs[0];
    assert_eq!(make.params, [Pass::Ref, Pass::Value]);
    assert_eq!(make.result, None);
    assert_eq!(p.procs[1].params, [Pass::Ref]);
    let rule = first_rule(&p);
    assert!(rule.guard.iter().all(|g| matches!(g, Expr::Block { .. })), "{:?}", rule.guard);
    assert!(!rule.impure_guard);
}

#[test]
fn aliases() {
    let p = program(&complete(
        "var a: array [0..3] of record f: 0..3; end; x: 0..3;
         ruleset i: 0..3 do alias e: a[i]; n: 3; v: x + 1; d: a[x] do
           rule e.f = n & d.f = v ==> begin e.f := v; d.f := n; alias e: d.f do e := 1; end; end;
           invariant d.f < 4 | v = e.f;
         end; end;",
    ));
    let rule = first_rule(&p);
    assert!(matches!(rule.prelude[..], [Stmt::Let { .. }, Stmt::Bind { .. }]));
    assert_eq!(rule.guard.len(), 2);
    let kinds: Vec<_> = rule.locals.iter().map(|l| l.kind).collect();
    assert_eq!(kinds, [LocalKind::Bound, LocalKind::Bound, LocalKind::Ref]);
    let Some(Expr::Quantified { all: true, body, .. }) = &p.properties[0].expr else { panic!() };
    assert!(matches!(**body, Expr::Block { .. }));
}

#[test]
fn properties_in_rulesets() {
    let p = program(&complete(
        "type n: scalarset(2); var x: array [n] of 0..3; m: multiset[3] of 0..3;
         ruleset i: n; j := 3 to 1 by -1 do
           cover \"met\" x[i] = j; liveness x[i] = 0; assume x[i] < 3; invariant x[i] < j;
         end;
         choose k: m do invariant m[k] < 3; cover m[k] = 1; end;",
    ));
    let names = |kind: PropertyKind| {
        let of_kind = p.properties.iter().filter(move |p| p.kind == kind);
        of_kind.map(|p| p.name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(names(PropertyKind::Cover), ["met", "Cover 0"]);
    let live = names(PropertyKind::Liveness);
    assert_eq!(live.len(), 6);
    assert_eq!(live[..2], ["Liveness 0, i:n_1, j:3", "Liveness 0, i:n_1, j:2"]);
    assert_eq!(names(PropertyKind::Assumption), ["Assumption 0"]);
    assert_eq!(names(PropertyKind::Invariant), ["Invariant 0", "Invariant 1"]);
    let Some(Expr::Quantified { all: false, over, .. }) = &p.properties[10].expr else {
        panic!("{:?}", p.properties[10])
    };
    assert!(matches!(**over, Iter::Slots(_)));
}

#[test]
fn choices_and_multisets() {
    let p = program(&complete(
        "type msg: record k: 0..3; end; var net: array [0..1] of multiset[4] of msg; n: 0..1; q: msg;
         alias box: net[n] do choose i: box do
           rule box[i].k = 1 ==> begin
             alias m: box[i] do q := m; end;
             multisetremove(i, net[n]); multisetadd(q, net[0]);
             multisetremovepred(j: net[1], net[1][j].k = 2);
           end;
         end; end;",
    ));
    let rule = first_rule(&p);
    let Domain::Slots(place) = &rule.params[0].over else { panic!() };
    assert_eq!(place.path.len(), 1, "the alias is replaced by what it stands for");
    assert!(matches!(rule.prelude[..], [Stmt::Bind { .. }]));
}

#[test]
fn operators() {
    let p = program(&complete(
        "var x, y: 0..9; b: boolean; r: real(6, 20);
         rule x > y & (b -> x >= y) & (x & y | 3) = 3 & !(x = y) & r * x > sqrt(2) & x << 1 = ~y
           ==> begin put \"a\\tb\"; put x; put x + 1; put b & b; end;",
    ));
    let rule = first_rule(&p);
    assert_eq!(rule.guard.len(), 6);
    assert!(matches!(rule.guard[0], Expr::Unary { .. }), "> is the negation of <=");
    assert!(matches!(&rule.guard[1], Expr::Or(parts) if parts.len() == 2));
    let puts: Vec<_> =
        rule.body.iter().map(|s| if let Stmt::Put(p) = s { &p[0] } else { panic!() }).collect();
    assert_eq!(*puts[0], PutPart::Text("a\tb".to_owned()));
    assert!(matches!(puts[1], PutPart::Place { name, .. } if name == "x"));
    assert!(matches!(puts[2], PutPart::Value { ty: None, .. }));
    assert!(matches!(puts[3], PutPart::Value { ty: Some(_), .. }));
}

#[test]
fn constants_follow_given_ones() {
    let text = complete(
        "var x: 0..Top; const Top: 2 * N; N: 3; Scale: 1.5; On: false;
        rule On & x = N ==> begin end;",
    );
    let constants = [("N", "8"), ("Scale", "2"), ("On", "TRUE")];
    let constants = constants.map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec();
    let p = program_with(&text, &Options { constants, ..Options::default() });
    let Type::Scalar(range) = &p.types[p.globals[0].ty.0 as usize] else { panic!() };
    assert_eq!(range.intervals, [(0, 16)]);
    assert_eq!(first_rule(&p).guard.len(), 1);
}

#[test]
fn side_effects_are_accepted_on_request() {
    let text = complete(
        "var x: 0..3; function f(): boolean; begin x := 1; return true; end;
         procedure set(var y: 0..3); begin y := 2; end;
         rule f() ==> begin set(x); end; invariant f();",
    );
    let p = program_with(&text, &Options { compat_cmurphi: true, ..Options::default() });
    assert!(first_rule(&p).impure_guard);
    assert!(p.properties[0].impure);
}

#[test]
fn local_declarations_and_shadowing() {
    let p = program(&complete(
        "const n: 2; type t: 0..n; var x: t;
         function f(x: t): t; const n: 1; type t: 0..n; var y: t; begin y := x; return y; end;
         rule f(x) = n ==> type e: enum { p, q }; var l: e; x: e; const n: 7;
           begin l := p; x := l; for i: enum { r, s } do if i = r then x := q; end; end; end;",
    ));
    let rule = first_rule(&p);
    assert_eq!(rule.locals.len(), 3);
    assert!(matches!(&rule.body[1], Stmt::Copy { .. }));
}

#[test]
fn sites_carry_the_source_text() {
    let p = program(&complete(
        "var a: array [0..3] of 0..3; x: 0..3;
         rule begin a[x + 1] := x / 2; assert x = 1; assert \"said \\\"no\\\"\" x = 2; error \"e\"; end;",
    ));
    let texts: Vec<&str> = p.sites.iter().map(|s| s.text.as_str()).collect();
    for text in ["a[x + 1]", "x + 1", "x", "x / 2", "x = 1", "said \"no\"", "e"] {
        assert!(texts.contains(&text), "{text}: {texts:?}");
    }
}
