//! Tests of the generator, the oracle and the shrinker.

use super::model::{
    BOOLEAN, BinOp, Binder, Case, Domain, Expr, Model, Place, Rule, Step, Stmt, Type, TypeDef, Var,
};
use super::shrink::weight;
use super::*;

// ---- hand-made models ----

fn model(types: &[(&str, Type)], vars: &[(&str, &str)], rules: Vec<Rule>) -> Model {
    let types =
        types.iter().map(|(n, ty)| TypeDef { name: (*n).to_owned(), ty: ty.clone() }).collect();
    let model =
        Model { consts: Vec::new(), types, vars: self::vars(vars), functions: Vec::new(), rules };
    assert_eq!(check(&model), Ok(()));
    model
}

fn vars(list: &[(&str, &str)]) -> Vec<Var> {
    list.iter().map(|(n, t)| Var { name: (*n).to_owned(), ty: (*t).to_owned() }).collect()
}

fn rule(name: &str, guard: Option<Expr>, body: Vec<Stmt>) -> Rule {
    Rule::Simple { name: name.to_owned(), guard, locals: Vec::new(), body }
}

fn start(body: Vec<Stmt>) -> Rule {
    Rule::Start { name: "start".to_owned(), locals: Vec::new(), body }
}

fn invariant(name: &str, cond: Expr) -> Rule {
    Rule::Invariant { name: name.to_owned(), cond }
}

fn set(name: &str, value: Expr) -> Stmt {
    Stmt::Assign(Place::root(name), value)
}

fn binder(name: &str, ty: &str) -> Binder {
    Binder { name: name.to_owned(), domain: Domain::Type(ty.to_owned()) }
}

fn plus(name: &str, n: i64) -> Expr {
    Expr::binary(BinOp::Add, Expr::name(name), Expr::Int(n))
}

fn less(name: &str, n: i64) -> Expr {
    Expr::binary(BinOp::Lt, Expr::name(name), Expr::Int(n))
}

/// A number that counts up from 0 under a guard.
fn counter(guard: Option<Expr>, more: Vec<Rule>) -> Model {
    let mut rules =
        vec![start(vec![set("x", Expr::Int(0))]), rule("up", guard, vec![set("x", plus("x", 1))])];
    rules.extend(more);
    model(&[("Num", Type::Range(0, 3))], &[("x", "Num")], rules)
}

fn run(model: &Model, deadlock: Deadlock) -> (Verdict, usize, usize, usize) {
    let r = explore(model, Limits { deadlock, ..Limits::default() });
    (r.verdict, r.states, r.transitions, r.depth)
}

fn violated(kind: Violation) -> Verdict {
    Verdict::Violated { kind }
}

#[test]
fn counter_counts() {
    let guarded = counter(Some(less("x", 3)), Vec::new());
    assert_eq!(run(&guarded, Deadlock::Off), (Verdict::Holds, 4, 3, 3));
    let stuck = (violated(Violation::Deadlock), 4, 3, 3);
    assert_eq!(run(&guarded, Deadlock::Stuck), stuck);
    assert_eq!(run(&guarded, Deadlock::Stutter), stuck);

    let unguarded = counter(None, Vec::new());
    let range = violated(Violation::Fault(Fault::Range));
    assert_eq!(run(&unguarded, Deadlock::Off), (range, 4, 3, 4));
}

#[test]
fn a_self_loop_is_a_stutter_but_not_stuck() {
    let idle = rule("idle", None, Vec::new());
    let m = counter(Some(less("x", 3)), vec![idle]);
    assert_eq!(run(&m, Deadlock::Stuck), (Verdict::Holds, 4, 7, 3));
    assert_eq!(run(&m, Deadlock::Stutter), (violated(Violation::Deadlock), 4, 7, 3));
}

#[test]
fn the_last_rule_fires_first() {
    let bad = |name, n| invariant(name, Expr::Not(Box::new(equals("x", n))));
    let jump = |name: &str, n| rule(name, None, vec![set("x", Expr::Int(n))]);
    let rules = vec![jump("to 2", 2), jump("to 3", 3), bad("not 3", 3), bad("not 2", 2)];
    let m = counter(Some(Expr::Bool(false)), rules);
    let not_3 = violated(Violation::Invariant("not 3".to_owned()));
    assert_eq!(run(&m, Deadlock::Off), (not_3, 2, 1, 1));
}

fn equals(name: &str, n: i64) -> Expr {
    Expr::binary(BinOp::Eq, Expr::name(name), Expr::Int(n))
}

#[test]
fn a_deadlock_may_be_nearer_than_what_is_found_first() {
    // Start states 3 (last declared, so first explored) with a faulting rule, and 0, a deadlock.
    let m = counter(Some(equals("x", 3)), vec![start(vec![set("x", Expr::Int(3))])]);
    let range = violated(Violation::Fault(Fault::Range));
    assert_eq!(run(&m, Deadlock::Off), (range.clone(), 2, 0, 1));
    assert_eq!(run(&m, Deadlock::Stuck), (range, 2, 0, 0));
}

#[test]
fn ruleset_over_a_scalarset() {
    let types = [
        ("Pid", Type::Scalarset(3)),
        ("Flags", Type::Array { index: "Pid".to_owned(), element: BOOLEAN.to_owned() }),
    ];
    let flag = || Place::root("a").then(Step::Index(Expr::name("i")));
    let flip = Stmt::Assign(flag(), Expr::Not(Box::new(Expr::Read(flag()))));
    let rules = vec![
        start(vec![Stmt::Clear(Place::root("a"))]),
        Rule::Ruleset {
            binders: vec![binder("i", "Pid")],
            rules: vec![rule("flip", None, vec![flip])],
        },
    ];
    let m = model(&types, &[("a", "Flags")], rules);
    assert_eq!(run(&m, Deadlock::Stutter), (Verdict::Holds, 8, 24, 3));
}

/// Bits come into a bag of two and leave it.
fn bag() -> Model {
    let types = [
        ("Bit", Type::Range(0, 1)),
        ("Bag", Type::Multiset { capacity: 2, element: "Bit".to_owned() }),
    ];
    let (index, multiset) = ("m".to_owned(), "bag".to_owned());
    let all = Box::new(Expr::Bool(true));
    let count = Expr::Count { index: index.clone(), multiset: multiset.clone(), cond: all };
    let room = Expr::binary(BinOp::Lt, count, Expr::Int(2));
    let add = Stmt::Add(Expr::name("i"), multiset.clone());
    let remove = Stmt::Remove { index: index.clone(), multiset: multiset.clone() };
    let rules = vec![
        start(vec![Stmt::Undefine(Place::root("bag"))]),
        Rule::Ruleset {
            binders: vec![binder("i", "Bit")],
            rules: vec![rule("come", Some(room), vec![add])],
        },
        Rule::Choose { index, multiset, rules: vec![rule("leave", None, vec![remove])] },
    ];
    model(&types, &[("bag", "Bag")], rules)
}

#[test]
fn a_multiset_has_no_order_but_each_element_fires() {
    // Bags: 1 empty, 2 of one, 3 of two. Coming: 2 + 2·2; leaving: 2·1 + 3·2.
    assert_eq!(run(&bag(), Deadlock::Stutter), (Verdict::Holds, 6, 14, 2));
    let mut full = bag();
    let Rule::Ruleset { rules, .. } = &mut full.rules[1] else { panic!("a ruleset") };
    let Rule::Simple { guard, .. } = &mut rules[0] else { panic!("a rule") };
    *guard = None;
    let (verdict, _, _, depth) = run(&full, Deadlock::Off);
    assert_eq!((verdict, depth), (violated(Violation::Fault(Fault::MultisetFull)), 3));
}

#[test]
fn undefined_is_copied_but_not_read() {
    let body = |value| vec![rule("copy", None, vec![set("x", value)])];
    let with = |value| {
        let mut rules = vec![start(Vec::new())];
        rules.extend(body(value));
        model(&[("Num", Type::Range(0, 3))], &[("x", "Num"), ("y", "Num")], rules)
    };
    assert_eq!(run(&with(Expr::name("y")), Deadlock::Off), (Verdict::Holds, 1, 1, 0));
    let undefined = violated(Violation::Fault(Fault::Undefined));
    assert_eq!(run(&with(plus("y", 0)), Deadlock::Off), (undefined, 1, 0, 1));
}

#[test]
fn limits_are_respected() {
    let m = counter(Some(less("x", 3)), Vec::new());
    assert_eq!(explore(&m, Limits { states: 2, ..Limits::default() }).verdict, Verdict::TooBig);
    assert_eq!(explore(&m, Limits { steps: 5, ..Limits::default() }).verdict, Verdict::TooBig);
}

// ---- text ----

#[test]
fn text_of_a_small_model() {
    let case = Case { values: vec![Expr::Int(-1), Expr::Int(2)], body: Vec::new() };
    let switch = Stmt::Switch(Expr::name("x"), vec![case], Some(vec![Stmt::Return(None)]));
    let m = counter(Some(less("x", 3)), vec![rule("s", None, vec![switch])]);
    let expected = "\
type
  Num: 0 .. 3;
var
  x: Num;
startstate \"start\"
begin
  x := 0;
end;
rule \"up\" (x < 3) ==>
begin
  x := (x + 1);
end;
rule \"s\"
begin
  switch x
  case (-1), 2:
  else
    return;
  end;
end;
";
    assert_eq!(render(&m), expected);
}

#[test]
fn random_models_use_every_feature() {
    let text: String = (0..600).map(|seed| render(&Model::random(seed, Size::MEDIUM))).collect();
    let features = [
        "const",
        "enum {",
        ".. ",
        "-2 .. ",
        "scalarset(",
        "union {",
        "record ",
        "array [",
        "multiset [",
        "boolean",
        "function ",
        "procedure ",
        "(var ",
        "startstate",
        "invariant",
        "ruleset",
        "choose ",
        "alias ",
        "if ",
        "elsif ",
        "else",
        "switch ",
        "case ",
        "for ",
        " by 2",
        " by -",
        "while ",
        "undefine ",
        "clear ",
        "assert ",
        "error ",
        "put \"",
        "put (",
        "return;",
        "return ",
        "multisetadd(",
        "multisetremove(",
        "multisetremovepred(",
        "multisetcount(",
        "forall ",
        "exists ",
        "isundefined(",
        "ismember(",
        " ? ",
        " + ",
        " - ",
        " * ",
        " / ",
        " % ",
        " = ",
        " != ",
        " < ",
        " <= ",
        " > ",
        " >= ",
        " & ",
        " | ",
        " -> ",
        "(!",
        "(-",
    ];
    for feature in features {
        assert!(text.contains(feature), "no model uses {feature:?}");
    }
}

#[test]
fn portable_models_avoid_what_rumur_lacks() {
    for seed in 0..200 {
        let text = render(&Model::random(seed, Size::MEDIUM.portable()));
        for word in ["multiset", "union", "ismember"] {
            assert!(!text.contains(word), "seed {seed} uses {word}");
        }
    }
}

// ---- random models ----

#[test]
fn a_seed_determines_the_model() {
    for seed in 0..50 {
        let m = Model::random(seed, Size::MEDIUM);
        assert_eq!(m, Model::random(seed, Size::MEDIUM));
        assert_ne!(m, Model::random(seed + 1, Size::MEDIUM));
        assert_eq!(check(&m), Ok(()));
    }
    assert_eq!(Rng::new(1).next_u64(), Rng::new(1).next_u64());
}

#[test]
fn faults_are_a_minority_and_state_spaces_small() {
    let (mut faults, mut holds, mut too_big, mut single) = (0, 0, 0, 0);
    for seed in 0..200 {
        let r = explore(&Model::random(seed, Size::MEDIUM), Limits::default());
        single += usize::from(r.states == 1);
        match r.verdict {
            Verdict::Holds => holds += 1,
            Verdict::Violated { kind: Violation::Fault(_) } => faults += 1,
            Verdict::Violated { .. } => {}
            Verdict::TooBig => too_big += 1,
        }
    }
    assert!((20..80).contains(&faults), "{faults} faults");
    assert!(holds > 100 && too_big < 10 && single < 50, "{holds} {too_big} {single}");
}

// ---- shrinking ----

#[test]
fn shrinking_keeps_the_failure_and_the_typing() {
    let limits = Limits { states: 2_000, steps: 200_000, ..Limits::default() };
    let kind = |m: &Model| match explore(m, limits).verdict {
        Verdict::Violated { kind: Violation::Fault(fault) } => Some(fault),
        _ => None,
    };
    let mut shrunk = 0;
    for seed in 0..80 {
        let m = Model::random(seed, Size::SMALL);
        let Some(fault) = kind(&m) else { continue };
        let small = shrink(&m, |m| kind(m) == Some(fault));
        assert_eq!(kind(&small), Some(fault));
        assert_eq!(check(&small), Ok(()));
        assert!(weight(&small) < weight(&m));
        assert!(render(&small).lines().count() < 30, "{}", render(&small));
        shrunk += 1;
    }
    assert!(shrunk > 4, "only {shrunk} models had faults");
}

#[test]
fn shrinking_without_a_reason_leaves_almost_nothing() {
    for seed in 0..10 {
        let small = shrink(&Model::random(seed, Size::MEDIUM), |_| true);
        assert!(render(&small).lines().count() <= 12, "{}", render(&small));
    }
}

#[test]
fn shrinking_what_does_not_fail_changes_nothing() {
    let m = Model::random(3, Size::MEDIUM);
    assert_eq!(shrink(&m, |_| false), m);
}
