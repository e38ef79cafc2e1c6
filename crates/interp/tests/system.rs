//! Actions, properties and paths: the interpreter as a system.

mod common;
use common::*;
use ergodic_interp::{FireOne, ReplayError};
use ergodic_ir::*;
use ergodic_system::{
    Block, DeadlockMode, Label, Live, RuleSystem, System, Violation, ViolationKind,
};

/// `n` counters up to `max`, each moved up or down by its own rule instance.
fn counters(n: i64, max: i64) -> Build {
    let mut b = Build::new();
    let (value, id) = (b.int(0, max), b.int(1, n));
    let array = b.array(id, value);
    let a = b.global("a", array);
    let reset = assign(&index(&a, var(0), value), int(0));
    let all = Stmt::For { var: LocalId(0), over: Iter::Type(id), body: vec![reset] };
    b.start(vec![bound("i", id)], vec![all]);
    let me = index(&a, var(0), value);
    let step = |name: &str, guard: Expr, by: i64, b: &mut Build| {
        let rule = b.rule(name, vec![guard], vec![assign(&me, add(read(&me), int(by)))]);
        rule.locals = vec![bound("i", id)];
        rule.params = vec![Param { local: LocalId(0), over: Domain::Type(id) }];
    };
    step("up", lt(read(&me), int(max)), 1, &mut b);
    step("down", lt(int(0), read(&me)), -1, &mut b);
    b
}

#[test]
fn all_states_are_found_whatever_the_size_of_batches() {
    let system = counters(3, 4).interpreter();
    let whole = explore(&system, 1000);
    assert_eq!((whole.states, whole.fired), (125, 2 * 3 * 4 * 25));
    assert!(whole.violations.is_empty());
    for capacity in [1, 2, 7] {
        assert_eq!(explore(&system, capacity), whole);
    }
}

#[test]
fn a_hundred_thousand_states() {
    let system = counters(5, 9).interpreter();
    let whole = explore(&system, 1000);
    assert_eq!((whole.states, whole.fired), (100_000, 2 * 5 * 9 * 10_000));
}

#[test]
fn the_last_parameter_varies_fastest() {
    let mut b = Build::new();
    let (n, color) = (b.int(0, 99), b.enumeration(40, &["red", "blue"]));
    let (g, c) = (b.global("g", n), b.global("c", color));
    b.start(vec![], vec![]);
    let rule = b.rule(
        "set",
        vec![Expr::IsUndefined(Box::new(g.clone()))],
        vec![assign(&g, var(0)), assign(&c, var(1))],
    );
    rule.locals = vec![bound("n", n), bound("c", color)];
    rule.params = vec![
        Param { local: LocalId(0), over: Domain::Range { from: 9, to: 4, step: -3 } },
        Param { local: LocalId(1), over: Domain::Type(color) },
    ];
    let system = b.interpreter();
    let seen = explore(&system, 100);
    let texts: Vec<String> = seen.successors.iter().map(|(s, _)| text(&system, s)).collect();
    assert_eq!(
        texts,
        ["g:Undefined c:Undefined", "g:9 c:red", "g:9 c:blue", "g:6 c:red", "g:6 c:blue"]
    );
    let last = Label(seen.successors[4].1);
    assert_eq!(show::label(system.program(), system.instances(), last), "set, n:6, c:blue");
}

#[test]
fn slots_without_an_element_are_no_instances() {
    let mut b = Build::new();
    let n = b.int(0, 9);
    let bag = b.multiset(3, n);
    let (set, got) = (b.global("set", bag), b.global("got", n));
    b.start(vec![], vec![add_value(&set, int(4)), add_value(&set, int(6))]);
    let take = slot(&set, var(0), n);
    let rule = b.rule(
        "take",
        vec![],
        vec![copy(&got, &take), Stmt::Remove { set: set.clone(), slot: var(0), site: S }],
    );
    rule.locals = vec![bound("i", n)];
    rule.params = vec![Param { local: LocalId(0), over: Domain::Slots(set) }];
    let system = b.with_deadlock(DeadlockMode::Stuck);
    let seen = explore(&system, 100);
    let texts: Vec<String> = seen.successors.iter().map(|(s, _)| text(&system, s)).collect();
    assert_eq!(texts[0], "set{0}:6 set{1}:4 got:Undefined");
    assert_eq!(texts[1..], ["set{0}:4 got:6", "set{0}:6 got:4", "got:4", "got:6"]);
    assert_eq!(seen.violations.len(), 2);
}

#[test]
fn only_the_first_enabled_priority_fires() {
    let mut b = Build::new();
    let n = b.int(0, 9);
    let g = b.global("g", n);
    b.start(vec![], vec![assign(&g, int(0))]);
    let up = |by: i64| vec![assign(&g, add(read(&g), int(by)))];
    b.rule("late", vec![lt(read(&g), int(5))], up(1)).priority = 7;
    b.rule("early", vec![eq(read(&g), int(2))], up(2)).priority = -1;
    b.rule("late too", vec![eq(read(&g), int(0))], up(2)).priority = 7;
    let system = b.interpreter();
    assert_eq!(RuleSystem::classes(&system), [vec![1], vec![0, 2]]);
    // 0 -> 1, 2; 1 -> 2; 2 -> 4 only; 4 -> 5.
    let seen = explore(&system, 100);
    assert_eq!((seen.states, seen.fired), (5, 5));
    let labels = [Label(0), Label(3), Label(1)];
    assert_eq!(system.replay(&labels, None), Err(ReplayError::Outranked(2)));
}

fn deadlocks(mode: DeadlockMode) -> Vec<ViolationKind> {
    let mut b = Build::new();
    let n = b.int(0, 9);
    let g = b.global("g", n);
    b.start(vec![], vec![assign(&g, int(0))]);
    b.rule("go", vec![lt(read(&g), int(2))], vec![assign(&g, add(read(&g), int(1)))]);
    b.rule("idle", vec![lt(int(0), read(&g))], vec![]);
    b.rule("out of scope", vec![eq(read(&g), int(1))], vec![Stmt::Assume { cond: int(0) }]);
    explore(&b.with_deadlock(mode), 100).violations.iter().map(|v| v.kind).collect()
}

#[test]
fn deadlock_modes() {
    assert_eq!(deadlocks(DeadlockMode::Off), []);
    assert_eq!(deadlocks(DeadlockMode::Stuck), []);
    // Only the last state stutters; in state 1 a rule leads on and another out of scope.
    assert_eq!(deadlocks(DeadlockMode::Stutter), [ViolationKind::Deadlock]);
}

#[test]
fn assumptions_drop_states_and_count_as_enabled() {
    let mut b = counters(2, 5);
    let value = TypeId(0);
    let place = Place { root: Root::Global(GlobalId(0)), path: vec![], ty: TypeId(2) };
    let first = read(&index(&place, int(1), value));
    b.property(PropertyKind::Assumption, "small", Some(lt(first, int(3))));
    let system = b.with_deadlock(DeadlockMode::Stutter);
    let seen = explore(&system, 3);
    assert_eq!((seen.states, seen.violations.len()), (18, 0));

    let mut b = Build::new();
    let n = b.int(0, 9);
    let g = b.global("g", n);
    b.start(vec![], vec![assign(&g, int(0))]);
    b.start(vec![], vec![assign(&g, int(1)), Stmt::Assume { cond: int(0) }]);
    b.rule("drop", vec![], vec![Stmt::Assume { cond: eq(read(&g), int(1)) }]);
    let system = b.with_deadlock(DeadlockMode::Stutter);
    let seen = explore(&system, 3);
    assert_eq!((seen.states, seen.violations.len()), (1, 0));
    let mut scratch = System::scratch(&system);
    let state = seen.successors[0].0.clone();
    assert_eq!(system.fire_label(&mut scratch, &state, Label(2)), Ok(FireOne::Dropped));
    assert_eq!(system.fire_label(&mut scratch, &state, Label(1)), Ok(FireOne::Dropped));
    assert_eq!(system.replay(&[Label(1)], None), Err(ReplayError::Dropped(0)));
}

/// A function that counts its calls in the state and says whether the count is even.
fn impure() -> (Build, Place, ProcId) {
    let mut b = Build::new();
    let (n, truth) = (b.int(0, 9), b.bool());
    let (g, h) = (b.global("g", n), b.global("h", n));
    b.start(vec![], vec![assign(&g, int(0)), assign(&h, int(0))]);
    let body = vec![
        assign(&g, add(read(&g), int(1))),
        give(eq(bin(BinaryOp::Rem, read(&g), int(2)), int(0))),
    ];
    let even = b.proc("even", vec![], Some(truth), vec![], body);
    (b, h, even)
}

#[test]
fn impure_guards_work_on_the_copy_that_the_body_goes_on_with() {
    let (mut b, h, even) = impure();
    let n = h.ty;
    let rule = b.rule("go", vec![un(UnaryOp::Not, call(even, vec![]))], vec![assign(&h, var(0))]);
    rule.impure_guard = true;
    rule.locals = vec![bound("i", n)];
    rule.params =
        vec![Param { local: LocalId(0), over: Domain::Range { from: 1, to: 2, step: 1 } }];
    let system = b.interpreter();
    let seen = explore(&system, 1);
    let texts: Vec<String> = seen.successors.iter().map(|(s, _)| text(&system, s)).collect();
    // The second instance starts from the source state again; no rule is enabled with g = 1.
    assert_eq!(texts, ["g:0 h:0", "g:1 h:1", "g:1 h:2"]);
}

#[test]
fn impure_properties_leave_the_state_alone() {
    let (mut b, h, even) = impure();
    let up = assign(&h, add(read(&h), int(1)));
    b.rule("go", vec![lt(read(&h), int(3))], vec![up]);
    let odd = || Some(un(UnaryOp::Not, call(even, vec![])));
    for kind in [PropertyKind::Invariant, PropertyKind::Assumption, PropertyKind::Invariant] {
        let property = b.property(kind, "odd", odd());
        b.p.properties[property as usize].impure = true;
    }
    let system = b.interpreter();
    let seen = explore(&system, 10);
    assert_eq!((seen.states, seen.violations.len()), (4, 0));
    assert!(seen.successors.iter().all(|(s, _)| text(&system, s).starts_with("g:0")));
}

#[test]
fn preludes_bind_before_the_guard() {
    let mut b = Build::new();
    let n = b.int(0, 9);
    let array = b.array(n, n);
    let a = b.global("a", array);
    b.start(vec![], vec![Stmt::Clear(a.clone())]);
    let r = at_local(1, n);
    let rule =
        b.rule("go", vec![eq(read(&r), int(0)), lt(var(0), int(3))], vec![assign(&r, var(0))]);
    rule.locals = vec![bound("k", n), reference("r", n)];
    rule.prelude = vec![
        Stmt::Let { local: LocalId(0), value: int(2) },
        Stmt::Bind { local: LocalId(1), place: index(&a, var(0), n) },
    ];
    let seen = explore(&b.interpreter(), 10);
    assert_eq!((seen.states, seen.fired), (2, 1));
}

#[test]
fn properties_are_judged_in_order_and_goals_counted() {
    let mut b = counters(1, 3);
    let a = Place { root: Root::Global(GlobalId(0)), path: vec![], ty: TypeId(2) };
    let value = || read(&index(&a, int(1), TypeId(0)));
    b.property(PropertyKind::Cover, "high", Some(lt(int(1), value())));
    let low = b.property(PropertyKind::Invariant, "low", Some(lt(value(), int(3))));
    let hit = b.property(PropertyKind::Cover, "hit", None);
    let faulty = bin(BinaryOp::Div, int(1), bin(BinaryOp::Sub, int(2), value()));
    let fault = b.property(PropertyKind::Invariant, "faulty", Some(lt(faulty, int(5))));
    b.property(PropertyKind::Liveness, "home", Some(eq(value(), int(0))));
    b.p.actions[0].body.push(Stmt::Cover { cond: lt(int(2), value()), property: hit });
    let system = b.interpreter();
    let seen = explore(&system, 4);
    let kinds: Vec<ViolationKind> = seen.violations.iter().map(|v| v.kind).collect();
    let [ViolationKind::Fault(division), ViolationKind::Property(index)] = kinds[..] else {
        panic!("{kinds:?}")
    };
    assert_eq!((kind(division), index), (FaultKind::DivisionByZero, low));
    // States 2 and 3 are high, but neither passed all invariants.
    assert_eq!((seen.goals, system.covers()), (vec![0, 1], &[0, hit][..]));

    let mut scratch = System::scratch(&system);
    let path = [Label(0), Label(1), Label(1), Label(1)];
    let trace = system.replay(&path, Some(ViolationKind::Property(low))).unwrap();
    let last = &trace.steps[3].state;
    assert_eq!(text(&system, last), "a[1]:3");
    assert_eq!(system.eval_property(&mut scratch, last, low as usize), Ok(false));
    let mut padded = last.clone();
    padded.push(0);
    let block = Block::new(&padded, last.len(), 1);
    assert_eq!(system.live_properties(), 1);
    assert_eq!(system.satisfies(&mut scratch, block, 0), Ok(false));
    assert!(system.check_state(&mut scratch, last, ViolationKind::Property(4)));
    assert!(!system.check_state(&mut scratch, last, ViolationKind::Property(0)));
    let faulted = system.replay(&path[..3], Some(ViolationKind::Fault(division))).unwrap();
    assert_eq!(faulted.fault.unwrap().message, "division by zero");
    assert_eq!(
        system.explain_property(&trace.steps[2].state, fault as usize).unwrap_err().kind,
        FaultKind::DivisionByZero
    );
    let not = Some(ViolationKind::Property(low));
    assert_eq!(system.replay(&path[..2], not), Err(ReplayError::NotViolated));
}

#[test]
fn faults_while_firing_come_behind_the_successors_before_them() {
    let mut b = Build::new();
    let n = b.int(0, 9);
    let (g, h) = (b.global("g", n), b.global("h", n));
    b.start(vec![], vec![assign(&g, int(0))]);
    let name = PutPart::Text("g is ".to_string());
    let shown = PutPart::Value { value: read(&g), ty: Some(n) };
    let place = PutPart::Place { place: h.clone(), name: "h".to_string() };
    let half = PutPart::Value { value: Expr::Real(0.5), ty: None };
    let rule = b.rule(
        "go",
        vec![eq(read(&g), int(0))],
        vec![
            assign(&g, var(0)),
            Stmt::Put(vec![name, shown, PutPart::Text("\n".to_string()), place, half]),
            assign(&h, bin(BinaryOp::Div, int(9), bin(BinaryOp::Sub, var(0), int(2)))),
        ],
    );
    rule.locals = vec![bound("i", n)];
    rule.params =
        vec![Param { local: LocalId(0), over: Domain::Range { from: 3, to: 1, step: -1 } }];
    b.rule(
        "guard",
        vec![eq(bin(BinaryOp::Div, int(1), bin(BinaryOp::Sub, read(&g), int(3))), int(0))],
        vec![],
    );
    let system = b.interpreter();
    let seen = explore(&system, 100);
    let labels: Vec<Option<Label>> = seen.violations.iter().map(|v| v.label).collect();
    // Division by zero with i = 2, range with i = 1 (9 / -1), then the guard of the other rule.
    assert_eq!(labels, [Some(Label(2)), Some(Label(3)), Some(Label(4))]);
    assert_eq!(explore(&system, 1).violations, seen.violations);
    assert_eq!((seen.states, seen.fired), (2, 2));

    let claim = |v: &Violation| Some(v.kind);
    let trace = system.replay(&[Label(0), Label(2)], claim(&seen.violations[0])).unwrap();
    let faulted = trace.faulted.unwrap();
    assert_eq!(text(&system, &faulted.state), "g:2 h:Undefined");
    assert_eq!(faulted.printed, "g is 2\nh:Undefined\n0.5");
    assert_eq!(trace.fault.unwrap().message, "division by zero");
    let trace = system.replay(&[Label(0), Label(3)], claim(&seen.violations[1])).unwrap();
    assert_eq!(trace.fault.unwrap().message, "h := -9 is out of range 0..9");
    let ok = system.replay(&[Label(0), Label(1)], None).unwrap();
    assert_eq!(ok.steps[1].printed, "g is 3\nh:Undefined\n0.5");
    let mut scratch = System::scratch(&system);
    assert!(system.check_state(&mut scratch, &ok.steps[1].state, seen.violations[2].kind));
}

#[test]
fn bad_paths_are_refused() {
    let system = counters(2, 2).with_deadlock(DeadlockMode::Stuck);
    let refused = |path: &[u32], error: ReplayError| {
        let path: Vec<Label> = path.iter().map(|l| Label(*l)).collect();
        assert_eq!(system.replay(&path, None), Err(error));
    };
    refused(&[], ReplayError::Empty);
    refused(&[5], ReplayError::UnknownLabel(0));
    refused(&[1], ReplayError::Misplaced(0));
    refused(&[0, 0], ReplayError::Misplaced(1));
    refused(&[0, 1, 4], ReplayError::Disabled(2));
    let deadlock = Some(ViolationKind::Deadlock);
    assert_eq!(system.replay(&[Label(0)], deadlock), Err(ReplayError::NotViolated));
}

#[test]
fn true_deadlocks_are_confirmed() {
    let mut b = counters(1, 2);
    b.p.actions.pop();
    let system = b.with_deadlock(DeadlockMode::Stuck);
    let trace = system.replay(&[Label(0), Label(1), Label(1)], Some(ViolationKind::Deadlock));
    assert_eq!(trace.unwrap().steps.len(), 3);
}

#[test]
fn assumptions_inside_guards_drop_and_inside_properties_end_the_evaluation() {
    let mut b = Build::new();
    let truth = b.bool();
    let g = b.global("g", truth);
    b.start(vec![], vec![assign(&g, int(0))]);
    let body = vec![Stmt::Assume { cond: int(0) }, give(int(0))];
    let never = b.proc("never", vec![], Some(truth), vec![], body);
    b.rule("go", vec![call(never, vec![])], vec![]);
    let kinds = [PropertyKind::Invariant, PropertyKind::Cover, PropertyKind::Liveness];
    for kind in kinds {
        b.property(kind, "never", Some(call(never, vec![])));
    }
    // A dropped successor shows that the rule is enabled: no deadlock.
    let system = b.with_deadlock(DeadlockMode::Stutter);
    let seen = explore(&system, 10);
    assert_eq!((seen.states, seen.violations, seen.goals), (1, vec![], vec![0]));
    let mut scratch = System::scratch(&system);
    let state = &seen.successors[0].0;
    assert_eq!(system.fire_label(&mut scratch, state, Label(1)), Ok(FireOne::Dropped));
    let holds: Vec<bool> =
        (0..3).map(|i| system.eval_property(&mut scratch, state, i).unwrap()).collect();
    assert_eq!(holds, [true, false, false]);
}
