//! Reads, writes and faults.

mod common;

use common::everything;
use common::*;
use ergodic_ir::*;
use std::collections::BTreeSet;

fn facts_of(locals: Vec<Local>, params: Vec<Param>, body: Vec<Stmt>) -> Effects {
    let mut program = everything::program();
    let action = Action { params, ..action("a", locals, vec![], body) };
    program.actions.push(action);
    Facts::new(&program).bodies.pop().unwrap()
}

fn node(n: u32) -> Param {
    Param { local: LocalId(n), over: Domain::Type(NODE) }
}

fn bound_local(name: &str, ty: TypeId) -> Local {
    local(name, ty, LocalKind::Bound)
}

fn element(i: Expr) -> Place {
    at(Root::Global(BOX), vec![index(i)], MSG)
}

fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    items.into_iter().collect()
}

#[test]
fn subroutines_reach_a_fixed_point() {
    let facts = Facts::new(&everything::program());
    assert_eq!(facts.procs[0].writes_params, set([1]));
    assert_eq!(facts.procs[0].writes, set([]));
    assert!(facts.procs[0].faults, "recursion can nest too deeply");
    assert_eq!(facts.procs[1].writes, set([FLAG]));
    assert!(!facts.procs[1].faults);
    assert_eq!(facts.guards[1].writes, set([BOX]));
    assert_eq!(facts.bodies[1].writes, set([FLAG]));
    assert_eq!(facts.starts[0].writes, set([FLAG]));
    assert_eq!(facts.properties[4].writes, set([BOX]));
    assert_eq!(facts.properties[0].reads, set([BOX]));
    assert!(!facts.properties[0].faults, "the variable of a quantifier is a fine index");
    assert!(facts.guards[0].reads.contains(&CELL_OF), "multisets of parameters are read");
}

#[test]
fn calls_are_followed_in_any_order() {
    let mut program = empty();
    let proc = |name: &str, body| Proc {
        name: name.to_string(),
        span: span(0, 0),
        params: vec![Pass::Ref],
        result: None,
        locals: vec![local("m", MSG, LocalKind::Ref)],
        body,
        end: S,
    };
    let call_of = |id| Stmt::Call { proc: ProcId(id), args: vec![Arg::Ref(own(0, MSG))], site: S };
    // 0 -> 1 -> 2 -> 1: the write is at the end of the chain.
    let write = Stmt::Undefine(at(Root::Local(LocalId(0)), vec![Step::Field(1)], SMALL));
    program.procs = vec![
        proc("a", vec![call_of(1)]),
        proc("b", vec![call_of(2)]),
        proc("c", vec![write, call_of(1)]),
    ];
    let args = vec![Arg::Ref(element(Expr::Int(201)))];
    let body = vec![Stmt::Call { proc: ProcId(0), args, site: S }];
    program.actions.push(action("a", vec![], vec![], body));
    let facts = Facts::new(&program);
    for proc in &facts.procs {
        assert_eq!(proc.writes_params, set([0]));
    }
    let path = vec![AccessStep::Index(Key::Const(201)), AccessStep::Field(1)];
    let access = Access { base: Base::Global(BOX), path };
    assert_eq!(facts.bodies[0].write_parts, set([access]));
}

#[test]
fn references_are_followed() {
    let locals = vec![local("r", MSG, LocalKind::Ref), local("q", MSG, LocalKind::Ref)];
    let bind = |id, place| Stmt::Bind { local: LocalId(id), place };
    let in_net = at(Root::Global(NET), vec![slot(Expr::Int(0))], MSG);
    let effects = facts_of(
        locals.clone(),
        vec![],
        vec![
            bind(0, element(Expr::Int(200))),
            bind(0, in_net),
            bind(1, own(0, MSG)),
            Stmt::Undefine(own(1, MSG)),
        ],
    );
    assert_eq!(effects.writes, set([BOX, NET]));
    assert_eq!(effects.reads, set([NET]), "a slot is asked whether it is filled");
    let free = facts_of(locals, vec![], vec![Stmt::Undefine(own(0, MSG))]);
    assert_eq!(free.writes.len(), globals().len(), "an unknown reference is any variable");
}

#[test]
fn accesses_know_their_index() {
    let locals = vec![bound_local("n", NODE), bound_local("k", NODE)];
    let by = |i| facts_of(locals.clone(), vec![node(0), node(1)], vec![Stmt::Clear(element(i))]);
    let part = |effects: Effects| effects.write_parts.into_iter().next().unwrap();
    let (first, second) = (part(by(bound(0))), part(by(bound(1))));
    let (fixed, any) = (part(by(Expr::Int(200))), part(by(read(var(OWNER)))));
    assert_eq!(first.path, [AccessStep::Index(Key::Param(0))]);
    assert_eq!(any.path, [AccessStep::Index(Key::Any)]);
    assert!(first.may_overlap(&second));
    assert!(!first.may_overlap_at(&[200, 201], &second, &[200, 201]));
    assert!(first.may_overlap_at(&[200, 201], &second, &[201, 200]));
    assert!(!first.may_overlap_at(&[201, 201], &fixed, &[]));
    assert!(any.may_overlap_at(&[], &fixed, &[]));
}

#[test]
fn safe_code_does_not_fault() {
    let locals = vec![bound_local("n", NODE), bound_local("i", INT), bound_local("s", INT)];
    let body_faults = |body| facts_of(locals.clone(), vec![node(0)], body).faults;
    let range =
        |to| Iter::Range { from: Expr::Int(0), to: Expr::Int(to), step: Expr::Int(1), site: S };
    let each = |to, body| vec![Stmt::For { var: LocalId(1), over: range(to), body }];
    assert!(!body_faults(vec![Stmt::Undefine(element(bound(0)))]));
    assert!(!body_faults(vec![assign(var(COUNT), Expr::Int(7))]));
    assert!(!body_faults(each(
        6,
        vec![assign(var(COUNT), binary(BinaryOp::Add, bound(1), Expr::Int(1)))]
    )));
    assert!(!body_faults(vec![assign(var(COUNT), Expr::Int(0)), assign(var(WHO), bound(0))]));
    let shifted = binary(BinaryOp::Add, read(var(OFFSET)), Expr::Int(100));
    let positive = Stmt::Let { local: LocalId(1), value: shifted };
    assert!(!body_faults(vec![
        positive,
        Stmt::Assume { cond: binary(BinaryOp::Div, Expr::Int(1), bound(1)) }
    ]));
    assert!(!body_faults(vec![Stmt::Call { proc: ProcId(1), args: vec![], site: S }]));
    assert!(!body_faults(vec![Stmt::Copy { to: var(WHO), from: var(OWNER), site: S }]));
}

#[test]
fn what_can_fault_is_said_to() {
    let locals = vec![bound_local("n", NODE), bound_local("i", INT)];
    let body_faults = |body| facts_of(locals.clone(), vec![node(0)], body).faults;
    assert!(body_faults(vec![Stmt::Undefine(element(Expr::Int(7)))]));
    assert!(body_faults(vec![Stmt::Undefine(element(bound(1)))]), "an unbound local");
    assert!(body_faults(vec![assign(var(COUNT), Expr::Int(8))]));
    assert!(body_faults(vec![assign(var(FLAG), read(var(COUNT)))]));
    assert!(body_faults(vec![Stmt::Assume { cond: read(var(COUNT)) }]), "undefined");
    assert!(body_faults(vec![Stmt::Copy { to: var(OWNER), from: var(WHO), site: S }]));
    assert!(body_faults(vec![Stmt::Error { site: S }]));
    assert!(body_faults(vec![Stmt::While { cond: Expr::Int(0), body: vec![], site: S }]));
    assert!(body_faults(vec![Stmt::Assert { cond: read(var(FLAG)), site: S }]));
    assert!(body_faults(vec![Stmt::AddValue { set: var(NUMBERS), value: Expr::Int(1), site: S }]));
    let zero = binary(BinaryOp::Rem, Expr::Int(1), read(var(OFFSET)));
    assert!(body_faults(vec![Stmt::Assume { cond: zero }]));
    // Bound twice, to different things: the first is not known any more.
    let rebind = |code| Stmt::Let { local: LocalId(1), value: Expr::Int(code) };
    let twice = vec![rebind(200), Stmt::Undefine(element(bound(1))), rebind(0)];
    assert!(body_faults(twice));
}

#[test]
fn a_scope_knows_parameters_and_the_prelude() {
    let program = everything::program();
    let facts = Facts::new(&program);
    let action = &program.actions[0];
    let question = Expr::IsUndefined(Box::new(element(bound(0))));
    assert!(facts.expr(&program, &action.locals, &question).faults);
    let scope = facts.scope(&program, action);
    assert!(!scope.expr(&question).faults);
    assert_eq!(scope.expr(&question).reads, set([BOX]));
    let through = scope.stmts(&[Stmt::Clear(own(6, MSG))]);
    let access = Access { base: Base::Global(BOX), path: vec![AccessStep::Index(Key::Param(0))] };
    assert_eq!(through.write_parts, set([access]));
    assert!(!Facts::is_pure(&through));
    assert!(Facts::is_pure(&scope.expr(&question)));
}
