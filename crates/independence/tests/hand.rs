//! Claims about small models, written by hand, and the judge's opinion on each.

mod common;

use common::Judge;
use ergodic_diag::SourceId;
use ergodic_independence::{
    ConjunctKind, Independence, InstanceId, Kind, Options, Why, columns, has,
};
use ergodic_ir::{FrontOptions, Program};
use std::sync::Arc;

fn program(text: &str) -> Arc<Program> {
    let (program, found) = ergodic_murphi::compile(SourceId(0), text, &FrontOptions::default());
    let program = program.unwrap_or_else(|| panic!("{found:?}"));
    ergodic_ir::verify::verify(&program).expect("front ends hand out verified programs");
    Arc::new(program)
}

/// The relations of a model, after they were judged.
fn judged(text: &str, options: &Options) -> Independence {
    let program = program(text);
    let relations = Independence::new(&program, options);
    let mut judge = Judge::new(program, relations, 500, 1000).expect("small enough");
    judge.check();
    judge.relations
}

fn relations(text: &str) -> Independence {
    judged(text, &Options::default())
}

fn plain(text: &str) -> Independence {
    judged(text, &Options { refine: false, ..Options::default() })
}

fn id(relations: &Independence, name: &str) -> InstanceId {
    let mut all = relations.numbering().all();
    let names = || relations.numbering().all().map(|id| relations.name(id)).collect::<Vec<_>>();
    all.find(|id| relations.name(*id) == name).unwrap_or_else(|| panic!("{name}: {:?}", names()))
}

fn independent(relations: &Independence, a: &str, b: &str) -> bool {
    let (a, b) = (id(relations, a), id(relations, b));
    relations.independent().get(a.index(), b.index())
}

fn accord(relations: &Independence, a: &str, b: &str) -> bool {
    let (a, b) = (id(relations, a), id(relations, b));
    relations.accords().get(a.index(), b.index())
}

fn reason(relations: &Independence, a: &str, b: &str) -> String {
    relations.reason(id(relations, a), id(relations, b)).expect("dependent").text
}

/// Names of the instances that can make a conjunct true.
fn enabling(relations: &Independence, name: &str, conjunct: usize) -> Vec<String> {
    let conjunct = relations.conjuncts().of(id(relations, name))[conjunct];
    let row = relations.conjuncts().enabling().row(conjunct.enabling as usize);
    columns(row).map(|i| relations.name(InstanceId(i as u32))).collect()
}

const RING: &str = "
    const n: 4;
    type proc: 0..n-1;
    var token, wants: array [proc] of boolean;
    ruleset i: proc do
      rule \"pass\" token[i] & !wants[i] ==>
        token[i] := false; token[(i + 1) % n] := true;
      end;
      rule \"want\" !wants[i] ==> wants[i] := true; end;
      rule \"done\" token[i] & wants[i] ==> wants[i] := false; end;
    end;
    startstate
      for i: proc do token[i] := i = 0; wants[i] := false; end;
    end;
    invariant \"one\" forall i: proc do forall j: proc do
      i != j -> !(token[i] & token[j]) end end;
";

#[test]
fn elements_of_arrays_are_told_apart() {
    let r = plain(RING);
    assert_eq!(r.len(), 12);
    assert!(independent(&r, "want(i: 0)", "want(i: 1)"));
    assert!(independent(&r, "pass(i: 0)", "pass(i: 2)"));
    assert!(!independent(&r, "pass(i: 0)", "pass(i: 1)"));
    assert!(!independent(&r, "pass(i: 3)", "pass(i: 0)"));
    assert!(independent(&r, "pass(i: 0)", "want(i: 1)"));
    assert_eq!(
        reason(&r, "pass(i: 0)", "done(i: 1)"),
        "`pass(i: 0)` writes `token[1]`, which the guard of `done(i: 1)` reads"
    );
    assert_eq!(
        reason(&r, "want(i: 2)", "done(i: 2)"),
        "`want(i: 2)` and `done(i: 2)` both write `wants[2]`"
    );
    let visible = |name: &str| has(r.visible(), id(&r, name).index());
    assert!(visible("pass(i: 1)") && !visible("want(i: 1)"));
    assert_eq!(r.kind(id(&r, "want(i: 1)")), Kind::Control);
}

#[test]
fn guards_that_exclude_each_other_accord() {
    let r = relations(RING);
    assert!(accord(&r, "want(i: 2)", "done(i: 2)"));
    assert!(!independent(&r, "want(i: 2)", "done(i: 2)"));
    assert!(accord(&r, "pass(i: 2)", "done(i: 2)"));
    assert!(!accord(&r, "pass(i: 0)", "want(i: 0)"));
}

#[test]
fn who_leaves_a_conjunct_false_does_not_enable_it() {
    let r = relations(RING);
    // The conjuncts of done are token[i] and wants[i].
    assert_eq!(enabling(&r, "done(i: 1)", 0), ["pass(i: 0)"]);
    assert_eq!(enabling(&r, "done(i: 1)", 1), ["want(i: 1)"]);
    let r = plain(RING);
    assert_eq!(enabling(&r, "done(i: 1)", 0), ["pass(i: 0)", "pass(i: 1)"]);
}

#[test]
fn updates_that_commute_are_found_by_trying() {
    let text = "
        var x: 0..6; y: 0..9; dirty: boolean; a: 0..1; b: 0..1;
        rule \"plus\" a = 0 ==> x := (x + 1) % 7; a := 1; end;
        rule \"more\" b = 0 ==> x := (x + 3) % 7; b := 1; end;
        rule \"mark a\" dirty := true; end;
        rule \"mark b\" b = 1 ==> dirty := true; end;
        rule \"up\" y < 9 ==> y := y + 1; end;
        rule \"jump\" y < 8 ==> y := y + 2; end;
        startstate x := 0; y := 0; dirty := false; a := 0; b := 0; end;
    ";
    let r = relations(text);
    assert!(independent(&r, "plus", "more"));
    assert!(independent(&r, "mark a", "mark b"));
    assert!(!accord(&r, "up", "jump"), "at 7 the one disables the other");
    let r = plain(text);
    assert!(!accord(&r, "plus", "more") && !accord(&r, "mark a", "mark b"));
}

#[test]
fn a_bounded_buffer_accords_without_being_independent() {
    // A queue that wraps around, with counters of what went in and out.
    let text = "
        const n: 3;
        type index: 0..n-1;
        var slots: array [index] of 0..1; head: index; len: 0..n;
        rule \"put\" len < n ==> len := len + 1; end;
        rule \"get\" len > 0 ==> len := len - 1; head := (head + 1) % n; end;
        startstate len := 0; head := 0; for i: index do slots[i] := 0; end; end;
    ";
    let r = relations(text);
    assert!(accord(&r, "put", "get") && !independent(&r, "put", "get"));
    let why = r.reason(id(&r, "put"), id(&r, "get")).expect("dependent");
    assert_eq!((why.why, why.part.as_str()), (Why::BothWrite, "len"));
}

#[test]
fn indices_are_followed_through_procedures_locals_and_loops() {
    let text = "
        type proc: 0..3;
        var inbox: array [proc] of 0..5; peer: array [proc] of proc; sum: array [proc] of 0..9;
        procedure send(dst: proc; v: 0..5);
        var at: proc;
        begin
          at := dst;
          if isundefined(inbox[at]) | inbox[at] < v then inbox[at] := v; end;
        end;
        function next(i: proc): proc;
        begin return (i + 1) % 4; end;
        ruleset i: proc do
          rule \"direct\" send(next(i), 2); end;
          rule \"other\" for j: proc do if j != i then sum[j] := 1; end; end; end;
          rule \"guarded\" peer[i] = 2 ==> send(peer[i], 3); end;
          rule \"unknown\" send(peer[i], 3); end;
        end;
        startstate for i: proc do inbox[i] := 0; peer[i] := i; sum[i] := 0; end; end;
    ";
    let r = plain(text);
    assert!(independent(&r, "direct(i: 0)", "direct(i: 1)"));
    assert!(!independent(&r, "direct(i: 0)", "unknown(i: 1)"));
    assert!(independent(&r, "direct(i: 0)", "guarded(i: 3)"), "it sends to 2 only");
    assert!(!independent(&r, "direct(i: 1)", "guarded(i: 3)"));
    let sums = &r.footprint(id(&r, "other(i: 1)")).writes;
    assert_eq!(sums.len(), 2, "all but one element: {sums:?}");
    assert!(r.statistics().coarse == 0);
}

#[test]
fn a_multiset_is_one_thing_and_its_slots_are_one_instance() {
    let text = "
        type node: scalarset(3); msg: record dst: node; kind: 0..2; end;
        var net: multiset [4] of msg; got: array [node] of 0..3;
        ruleset n: node do
          rule \"send\" multisetcount(i: net, true) < 3 ==>
            var m: msg; begin m.dst := n; m.kind := 1; multisetadd(m, net);
          end;
          rule \"reset\" got[n] > 0 ==> got[n] := 0; end;
        end;
        choose m: net do
          rule \"take\" net[m].kind = 1 ==>
            if got[net[m].dst] < 3 then got[net[m].dst] := got[net[m].dst] + 1; end;
            multisetremove(m, net);
          end;
        end;
        startstate undefine net; for n: node do got[n] := 0; end; end;
    ";
    let r = relations(text);
    assert_eq!(r.len(), 7);
    let take = id(&r, "take(m: *)");
    assert!(r.numbering().is_merged(take) && r.numbering().label(take).is_none());
    assert_eq!(r.conjuncts().of(take)[0].kind, ConjunctKind::Whole);
    assert!(!independent(&r, "send(n: node_1)", "take(m: *)"));
    assert!(!independent(&r, "send(n: node_1)", "send(n: node_2)"));
    assert!(independent(&r, "send(n: node_1)", "reset(n: node_1)"));
    assert_eq!(r.kind(take), Kind::Receive);
    assert_eq!(r.kind(id(&r, "send(n: node_2)")), Kind::Send);
}

#[test]
fn priorities_and_assumptions_count_as_reads() {
    let text = "
        var x, y, z, w: 0..2;
        rule 1 \"urgent\" x = 2 ==> x := 0; end;
        rule 5 \"inc x\" x < 2 ==> x := x + 1; end;
        rule 5 \"inc y\" y < 2 ==> y := y + 1; end;
        rule 5 \"inc z\" z < 2 ==> z := z + 1; end;
        rule 5 \"inc w\" w < 2 ==> w := w + 1; end;
        startstate x := 0; y := 0; z := 0; w := 0; end;
        assume y + z <= 3;
    ";
    let r = plain(text);
    assert!(!independent(&r, "inc x", "inc y"), "x decides whether the urgent rule is enabled");
    assert_eq!(r.reason(id(&r, "inc x"), id(&r, "inc y")).expect("one").why, Why::Priority);
    assert!(!independent(&r, "inc y", "inc z"), "together they make the assumption false");
    assert_eq!(r.reason(id(&r, "inc y"), id(&r, "inc z")).expect("one").why, Why::Assumption);
    assert!(independent(&r, "inc y", "inc w"));
    relations(text);
}

#[test]
fn assertions_read_what_they_look_at() {
    let text = "
        var x, y: 0..3;
        rule \"checked\" assert y < 3 \"small\"; x := 1; end;
        rule \"grow\" y < 3 ==> y := y + 1; end;
        startstate x := 0; y := 0; end;
    ";
    let r = relations(text);
    assert!(!accord(&r, "checked", "grow"));
    assert!(r.footprint(id(&r, "checked")).faults);
}

#[test]
fn instances_permute_with_scalarset_values() {
    let text = "
        type a: scalarset(3); b: scalarset(2);
        var x: array [a] of array [b] of boolean;
        ruleset i: a; j: b; k: 0..1; l: a do
          rule \"r\" x[i][j] != (k = 1) ==> x[l][j] := true; end;
        end;
        startstate for i: a do for j: b do x[i][j] := false; end; end; end;
    ";
    let r = relations(text);
    assert_eq!(r.len(), 36);
    let program = program(text);
    let codes = |name: &str| {
        let found = program.types.iter().find_map(|ty| match ty {
            ergodic_ir::Type::Scalar(scalar) if scalar.name.as_deref() == Some(name) => {
                Some(scalar.intervals[0])
            }
            _ => None,
        });
        found.expect("a type")
    };
    // The groups need not be all, and may come in any order; two values are exchanged, three rotate.
    let renaming = r.renaming(&[codes("b"), codes("a")]);
    let rotated = |id: InstanceId| {
        let image = renaming.image(id.index(), &[1, 0, 1, 2, 0]);
        InstanceId(image.expect("an image") as u32)
    };
    let moved = rotated(id(&r, "r(i: a_1, j: b_2, k: 1, l: a_3)"));
    assert_eq!(r.name(moved), "r(i: a_2, j: b_1, k: 1, l: a_1)");
    // Relations are the same after a permutation.
    for x in r.numbering().all() {
        for y in r.numbering().all() {
            let (px, py) = (rotated(x), rotated(y));
            let before = r.independent().get(x.index(), y.index());
            assert_eq!(before, r.independent().get(px.index(), py.index()));
        }
    }
    let renaming = r.renaming(&[codes("a")]);
    let image = renaming.image(id(&r, "r(i: a_1, j: b_2, k: 0, l: a_1)").index(), &[2, 0, 1]);
    let image = InstanceId(image.expect("an image") as u32);
    assert_eq!(r.name(image), "r(i: a_3, j: b_2, k: 0, l: a_3)");
}

#[test]
fn too_many_instances_are_merged_by_rule() {
    for limit in [1, 2, 3, 5, 9] {
        let r = judged(RING, &Options { max_instances: limit, ..Options::default() });
        assert!(r.len() <= limit, "{}", r.len());
    }
}

#[test]
fn code_that_is_too_complex_is_treated_more_coarsely() {
    let text = "
        var a: array [0..3] of 0..3; x: 0..3;
        function deep(n: 0..90): 0..90;
        begin if n = 0 then return 0; end; return deep(n - 1); end;
        ruleset i: 0..3 do
          rule \"deep\" a[i] := deep(90) % 4; end;
          rule \"flat\" a[i] < 3 ==> a[i] := a[i] + 1; end;
        end;
        startstate x := 0; for i: 0..3 do a[i] := 0; end; end;
    ";
    let r = plain(text);
    assert!(r.footprint(id(&r, "deep(i: 0)")).coarse);
    assert!(independent(&r, "deep(i: 0)", "flat(i: 1)"));
    assert!(!independent(&r, "deep(i: 0)", "flat(i: 0)"));
}

#[test]
fn loops_without_known_bounds_forget_what_was_known() {
    let text = "
        type index: 0..3;
        var a, b: array [index] of 0..3; mode: index;
        rule \"fill\" mode = 1 ==>
          var k: 0..4; begin
          k := 0;
          while k < 4 do a[k] := mode; k := k + 1; end;
        end;
        -- The index of b is known before the write of a, and not after it.
        rule \"alias\" a[0] = 1 & mode < 3 ==>
          a[mode] := 2; b[a[0]] := 3;
        end;
        rule \"last\" b[2] < 3 ==> b[2] := b[2] + 1; end;
        rule \"mode\" mode := (mode + 1) % 4; end;
        startstate mode := 0; for i: index do a[i] := 1; b[i] := 0; end; end;
    ";
    let r = plain(text);
    assert!(!independent(&r, "alias", "last"));
    let writes = &r.footprint(id(&r, "fill")).writes;
    assert_eq!(writes.len(), 1);
    assert_eq!(r.part_name(writes.iter().next().expect("one")), "a");
}

#[test]
fn who_makes_an_earlier_conjunct_fault_enables_too() {
    let text = "
        var x, y, z: 0..2;
        rule \"both\" x = 1 & y = 2 & z = 1 ==> y := 0; end;
        rule \"break\" y < 2 ==> undefine x; end;
        rule \"set\" y < 2 ==> x := 1; end;
        rule \"raise\" y < 2 ==> y := y + 1; end;
        startstate x := 0; y := 0; z := 0; end;
    ";
    let r = relations(text);
    assert_eq!(enabling(&r, "both", 0), ["set", "break"]);
    assert_eq!(enabling(&r, "both", 1), ["raise", "break"]);
    assert_eq!(enabling(&r, "both", 2), ["break"]);
}

#[test]
fn deep_code_is_no_danger() {
    use ergodic_ir::{Expr, Site, Stmt, UnaryOp};
    let mut deep = (*program(RING)).clone();
    let action = &mut deep.actions[0];
    for _ in 0..4000 {
        let arg = Box::new(action.guard.remove(0));
        action.guard.insert(0, Expr::Unary { op: UnaryOp::Not, arg, site: Site(0) });
        let body = std::mem::take(&mut action.body);
        action.body = vec![Stmt::If { branches: vec![(Expr::Int(1), body)], other: vec![] }];
    }
    ergodic_ir::verify::verify(&deep).expect("still well formed");
    let (shallow, deep) =
        (relations(RING), Independence::new(&Arc::new(deep), &Options::default()));
    assert!(deep.footprint(InstanceId(0)).coarse);
    for a in 0..shallow.len() {
        for b in 0..shallow.len() {
            let claimed = deep.independent().get(a, b);
            assert!(shallow.independent().get(a, b) || !claimed, "{a} and {b}");
        }
    }
}

#[test]
fn instances_that_make_their_own_guard_false_always_move() {
    let r = relations(
        "type t: 0..2; var a: array [t] of t; b: boolean;
         startstate begin for i: t do a[i] := 0; end; b := false; end;
         ruleset i: t do
           rule \"up\" a[i] = 0 ==> begin a[i] := 1; end;
           rule \"either\" a[i] = 1 ==> begin if b then a[i] := 2; else a[i] := 0; end; end;
           rule \"maybe\" a[i] > 0 ==> begin if b then a[i] := 0; end; end;
           rule \"set\" a[i] > 0 ==> begin a[i] := 1; end;
         end;
         rule \"flip\" begin b := !b; end;
         rule \"on\" !b ==> begin b := true; end;",
    );
    let moving = |name: &str| has(r.moving(), id(&r, name).index());
    assert!(moving("up(i: 1)") && moving("either(i: 2)") && moving("on"));
    assert!(!moving("maybe(i: 1)") && !moving("set(i: 0)"));
    assert!(!moving("flip"), "it does, but its guard does not tell");
}
