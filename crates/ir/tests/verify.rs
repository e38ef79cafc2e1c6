//! Every rule of the verifier has a program that breaks it.

mod common;

use common::everything;
use common::*;
use ergodic_ir::verify::{MAX_DEPTH, verify};
use ergodic_ir::*;

#[test]
fn well_formed_programs_pass() {
    assert_eq!(verify(&everything::program()), Ok(()));
    assert_eq!(verify(&empty()), Ok(()));
    assert_eq!(verify(&Program::default()), Ok(()));
}

/// Checks that a change of a well-formed program is reported with a message that holds all parts.
#[track_caller]
fn rejects(change: impl FnOnce(&mut Program), parts: &[&str]) {
    let mut program = everything::program();
    change(&mut program);
    let errors = verify(&program).expect_err("this must be rejected");
    let matches = |error: &String| parts.iter().all(|part| error.contains(part));
    assert!(errors.iter().any(matches), "{parts:?} not in {errors:#?}");
}

/// As above, with a statement added to the body of the first action.
#[track_caller]
fn rejects_stmt(stmt: Stmt, message: &str) {
    rejects(|p| p.actions[0].body.push(stmt), &["action 0 \"Every thing\"", message]);
}

/// As above, with a guard added to the first action.
#[track_caller]
fn rejects_expr(expr: Expr, message: &str) {
    rejects(|p| p.actions[0].guard.push(expr), &["action 0 \"Every thing\"", message]);
}

fn scalar(program: &mut Program, id: TypeId) -> &mut ScalarType {
    match &mut program.types[id.0 as usize] {
        Type::Scalar(scalar) => scalar,
        _ => panic!("not scalar"),
    }
}

#[test]
fn types() {
    rejects(|p| scalar(p, SMALL).intervals.clear(), &["type 1 \"Small\"", "at least one"]);
    rejects(|p| scalar(p, SMALL).intervals = vec![(3, 1)], &["type 1", "is empty"]);
    rejects(|p| scalar(p, SMALL).intervals = vec![(0, 3), (3, 5)], &["type 1", "overlap"]);
    rejects(|p| scalar(p, SMALL).intervals = vec![(0, 1 << 57)], &["type 1", "57 bits"]);
    rejects(|p| scalar(p, SMALL).intervals = vec![(i64::MIN, i64::MAX)], &["57 bits"]);
    rejects(|p| scalar(p, BOOL).intervals = vec![(0, 2)], &["type 0", "0 and 1"]);
    rejects(|p| scalar(p, COLOR).intervals = vec![(100, 103)], &["3 names for 4 values"]);
    rejects(|p| scalar(p, COLOR).intervals = vec![(1, 1), (5, 6)], &["just one interval"]);
    rejects(|p| scalar(p, NODE).intervals = vec![(1, 1), (5, 6)], &["just one interval"]);
    rejects(|p| scalar(p, ANY).intervals = vec![(100, 102), (200, 202)], &["in order"]);
    let union = |members| ScalarKind::Union { members };
    rejects(|p| scalar(p, ANY).kind = union(vec![ANY]), &["type 4", "not an earlier one"]);
    rejects(|p| scalar(p, INT).kind = union(vec![ANY]), &["type 12", "union itself"]);
    rejects(|p| scalar(p, INT).kind = union(vec![MSG]), &["type 12", "must be scalar"]);
    let array = |index, elem| Type::Array { index, elem };
    rejects(|p| p.types[7] = array(NODE, TypeId(7)), &["type 7", "not an earlier one"]);
    rejects(|p| p.types[7] = array(TypeId(900), MSG), &["type 7", "not an earlier one"]);
    rejects(|p| p.types[7] = array(MSG, MSG), &["type 7", "index must be scalar"]);
    let multiset = |capacity, elem| Type::Multiset { capacity, elem };
    rejects(|p| p.types[8] = multiset(0, MSG), &["type 8", "capacity"]);
    rejects(|p| p.types[8] = multiset(1, BAG), &["type 8", "not an earlier one"]);
    let field = Field { name: "f".to_string(), ty: CELL };
    let looped = Type::Record { name: None, fields: vec![field] };
    rejects(|p| p.types[10] = looped, &["type 10", "not an earlier one"]);
    rejects(|p| p.types[8] = multiset(u32::MAX, MSG), &["type 8", "more than 268435456 bits"]);
}

#[test]
fn sizes() {
    let half = Type::Multiset { capacity: 1 << 20, elem: SMALL };
    let big = |p: &mut Program| {
        p.types.push(half);
        for i in 0..60 {
            let ty = TypeId(14);
            p.globals.push(Global { name: format!("big{i}"), ty, span: span(0, 0) });
        }
    };
    rejects(big, &["program", "a state takes"]);
    let many = |p: &mut Program| {
        p.actions[0].params[1].over = Domain::Range { from: 0, to: 1 << 40, step: 1 };
    };
    rejects(many, &["program", "rule instances"]);
    let hidden = |p: &mut Program| {
        p.actions[0].params[1].over = Domain::Range { from: i64::MIN, to: i64::MAX, step: 1 };
        p.actions[0].params[0].over = Domain::Range { from: 1, to: 0, step: 1 };
    };
    rejects(hidden, &["too many values"]);
    rejects(|p| p.globals[2].ty = TypeId(50), &["state variable 2 \"hue\"", "no type 50"]);
}

#[test]
fn depth() {
    rejects(|p| p.actions[0].guard.push(nested(MAX_DEPTH + 1)), &["levels deep"]);
    rejects(|p| p.properties[1].expr = Some(nested(MAX_DEPTH + 1)), &["levels deep"]);
    let mut program = everything::program();
    program.actions[0].guard.push(nested(MAX_DEPTH));
    assert_eq!(verify(&program), Ok(()));
}

#[test]
fn places() {
    let clear = |root, path, ty| Stmt::Clear(at(root, path, ty));
    let msgs = Root::Global(BOX);
    rejects_stmt(clear(Root::Global(GlobalId(99)), vec![], BOOL), "no state variable 99");
    rejects_stmt(clear(Root::Local(LocalId(99)), vec![], BOOL), "no local 99");
    rejects_stmt(clear(Root::Local(LocalId(0)), vec![], NODE), "is a Bound local");
    rejects_stmt(clear(msgs, vec![], BOOL), "says it has type 0, but has type 7");
    rejects_stmt(clear(msgs, vec![], TypeId(99)), "no type 99");
    rejects_stmt(clear(msgs, vec![Step::Field(0)], MSG), "no record");
    rejects_stmt(clear(msgs, vec![slot(bound(2))], MSG), "no multiset");
    rejects_stmt(clear(Root::Global(NET), vec![index(bound(2))], MSG), "no array");
    rejects_stmt(clear(msgs, vec![index(bound(0)), Step::Field(3)], ANY), "has 3 fields");
    rejects_stmt(clear(msgs, vec![index(bound(10))], MSG), "index or slot number must be");
    let bad_site = Step::Index { index: bound(0), site: Site(9) };
    rejects_stmt(clear(msgs, vec![bad_site], MSG), "no site 9");
}

#[test]
fn expressions() {
    let real = || Expr::Real(1.0);
    rejects_expr(real(), "a guard must be an integer, but is a real");
    rejects_expr(bound(99), "no local 99");
    rejects_expr(bound(4), "needs a Bound local");
    rejects_expr(read(var(NET)), "must be scalar or real");
    rejects_expr(unary(UnaryOp::Not, real()), "the argument of Not");
    rejects_expr(unary(UnaryOp::Truncate, Expr::Int(1)), "the argument of Truncate");
    rejects_expr(unary(UnaryOp::ToReal, Expr::Int(1)), "a guard must be an integer");
    rejects_expr(binary(BinaryOp::Add, Expr::Int(1), real()), "an argument of Add");
    rejects_expr(binary(BinaryOp::RealLt, Expr::Int(1), real()), "an argument of RealLt");
    rejects_expr(unary(UnaryOp::Truncate, Expr::Real(f64::NAN)), "not finite");
    rejects_expr(Expr::And(vec![real()]), "a condition must be");
    let choice = |cond, then, other| Expr::If {
        cond: Box::new(cond),
        then: Box::new(then),
        other: Box::new(other),
    };
    rejects_expr(choice(Expr::Int(1), Expr::Int(1), real()), "second branch");
    rejects_expr(choice(real(), Expr::Int(1), Expr::Int(1)), "a condition must be");
    let member = |value, ty| Expr::IsMember { value: Box::new(value), ty };
    rejects_expr(member(Expr::Int(1), MSG), "must be scalar");
    rejects_expr(member(real(), SMALL), "may be a member");
    let same = |left, right| Expr::Same { left: Box::new(left), right: Box::new(right), site: S };
    rejects_expr(same(var(NET), var(BOX)), "Same compares types 8 and 7");
    rejects_expr(same(var(FLAG), var(FLAG)), "compound type only");
    let bad_site =
        Expr::Unary { op: UnaryOp::Not, arg: Box::new(Expr::Int(1)), site: Site(u32::MAX) };
    rejects_expr(bad_site, "no site 4294967295");
}

#[test]
fn loops_and_quantifiers() {
    let all = |var, over, body| Expr::Quantified {
        all: true,
        var: LocalId(var),
        over: Box::new(over),
        body: Box::new(body),
    };
    rejects_expr(all(4, Iter::Type(NODE), Expr::Int(1)), "needs a Bound local");
    rejects_expr(all(10, Iter::Type(NODE), Expr::Int(1)), "must be scalar");
    rejects_expr(all(3, Iter::Type(MSG), Expr::Int(1)), "must be scalar");
    rejects_expr(all(3, Iter::Type(NODE), Expr::Real(1.0)), "a condition must be");
    rejects_expr(all(3, Iter::Slots(var(BOX)), Expr::Int(1)), "a multiset is needed");
    let range = Iter::Range { from: Expr::Real(0.0), to: bound(1), step: bound(1), site: S };
    rejects_expr(all(3, range, Expr::Int(1)), "a bound of a range");
    let count = |set, var| Expr::Count {
        set: Box::new(set),
        var: LocalId(var),
        body: Box::new(Expr::Int(1)),
    };
    rejects_expr(count(var(BOX), 3), "a multiset is needed");
    rejects_expr(count(var(NET), 5), "needs a Bound local");
    let for_ = Stmt::For { var: LocalId(6), over: Iter::Type(NODE), body: vec![] };
    rejects_stmt(for_, "needs a Bound local");
    rejects_stmt(Stmt::While { cond: Expr::Real(1.0), body: vec![], site: S }, "a condition");
}

#[test]
fn calls() {
    rejects_expr(call(9, vec![]), "no subroutine 9");
    rejects_expr(call(1, vec![]), "has no result");
    rejects_expr(call(0, vec![value(Expr::Int(1))]), "takes 2 arguments, but gets 1");
    let two = |first, second| call(0, vec![first, second]);
    let msg = || Arg::Ref(own(5, MSG));
    rejects_expr(two(value(Expr::Real(1.0)), msg()), "argument 0 of \"f\" must be");
    rejects_expr(two(Arg::Copy { from: var(SPEED), site: S }, msg()), "argument 0 of \"f\"");
    rejects_expr(two(Arg::Copy { from: var(NET), site: S }, msg()), "must be scalar or real");
    rejects_expr(two(value(Expr::Int(1)), Arg::Ref(var(NET))), "refers to type 8, not 6");
    rejects_expr(two(Arg::Ref(var(COUNT)), msg()), "passed in another way");
    rejects_expr(two(value(Expr::Int(1)), value(Expr::Int(1))), "passed in another way");
}

#[test]
fn subroutines() {
    rejects(|p| p.procs[0].end = Site(7), &["subroutine 0 \"f\"", "no site 7"]);
    rejects(|p| p.procs[0].result = Some(MSG), &["a result must be scalar or real"]);
    rejects(|p| p.procs[0].locals[0].kind = LocalKind::Bound, &["must be Storage"]);
    rejects(|p| p.procs[0].locals[1].kind = LocalKind::Storage, &["must be Ref"]);
    rejects(|p| p.procs[0].locals[0].ty = MSG, &["a by-value parameter must be"]);
    rejects(|p| p.procs[1].params.push(Pass::Ref), &["1 parameters, but only 0 locals"]);
    rejects(|p| p.procs[0].locals[2].ty = TypeId(77), &["no type 77"]);
    rejects(|p| p.actions[0].locals[0].ty = MSG, &["a bound local must be"]);
}

#[test]
fn statements() {
    rejects_stmt(assign(var(FLAG), Expr::Real(1.0)), "an assigned value must be");
    rejects_stmt(assign(var(NET), Expr::Int(1)), "must be scalar or real");
    let copy = |to, from| Stmt::Copy { to, from, site: S };
    rejects_stmt(copy(var(NET), var(BOX)), "a copy from type 7 to type 8");
    rejects_stmt(copy(var(FLAG), var(SPEED)), "a copy from type 5 to type 0");
    let bind = |local, place| Stmt::Bind { local: LocalId(local), place };
    rejects_stmt(bind(6, var(NET)), "a reference to type 6 a place of type 8");
    rejects_stmt(bind(5, own(5, MSG)), "Bind needs a Ref local");
    let bound_to = |local, value| Stmt::Let { local: LocalId(local), value };
    rejects_stmt(bound_to(4, Expr::Int(1)), "Let needs a Bound local");
    rejects_stmt(bound_to(10, Expr::Int(1)), "a bound value must be a real");
    rejects_stmt(Stmt::Fresh(LocalId(6)), "Fresh needs a Storage local");
    rejects_stmt(Stmt::Assert { cond: Expr::Real(1.0), site: S }, "a condition");
    rejects_stmt(Stmt::Assume { cond: Expr::Real(1.0) }, "a condition");
    rejects_stmt(Stmt::Error { site: Site(2) }, "no site 2");
    let cover = |property| Stmt::Cover { cond: Expr::Int(1), property };
    rejects_stmt(cover(0), "no cover goal");
    rejects_stmt(cover(99), "no property 99");
    let put = |value, ty| Stmt::Put(vec![PutPart::Value { value, ty }]);
    rejects_stmt(put(Expr::Int(1), Some(REAL)), "a printed value");
    rejects_stmt(put(Expr::Int(1), Some(TypeId(99))), "no type 99");
    let case = SwitchCase { values: vec![Expr::Real(1.0)], body: vec![] };
    let switch = |subject| Stmt::Switch { subject, cases: vec![case.clone()], other: vec![] };
    rejects_stmt(switch(Expr::Int(1)), "a case of a switch");
    rejects_stmt(switch(Expr::Real(1.0)), "the subject of a switch");
    let branch = (Expr::Real(1.0), vec![]);
    rejects_stmt(Stmt::If { branches: vec![branch], other: vec![] }, "a condition");
}

#[test]
fn multisets() {
    let add = |set, from| Stmt::Add { set, from, site: S };
    rejects_stmt(add(var(NET), var(COUNT)), "an added element from type 1 to type 6");
    rejects_stmt(add(var(BOX), own(5, MSG)), "a multiset is needed");
    let add_value = |set, value| Stmt::AddValue { set, value, site: S };
    rejects_stmt(add_value(var(NET), Expr::Int(1)), "an added value must be scalar or real");
    rejects_stmt(add_value(var(NUMBERS), Expr::Real(1.0)), "an added value must be an integer");
    let remove = |set, slot| Stmt::Remove { set, slot, site: S };
    rejects_stmt(remove(var(FLAG), Expr::Int(1)), "a multiset is needed");
    rejects_stmt(remove(var(NET), Expr::Real(1.0)), "a slot number");
    let wipe = |var_, cond| Stmt::RemoveWhere { set: var(NET), var: LocalId(var_), cond };
    rejects_stmt(wipe(5, Expr::Int(1)), "needs a Bound local");
    rejects_stmt(wipe(3, Expr::Real(1.0)), "a condition");
}

#[test]
fn returns() {
    let back = |value| Stmt::Return { value, site: S };
    rejects_stmt(back(Some(Expr::Int(1))), "where none is wanted");
    rejects(|p| p.procs[0].body.push(back(None)), &["without the result"]);
    rejects(|p| p.procs[0].body.push(back(Some(Expr::Real(1.0)))), &["a result must be"]);
    rejects(|p| p.procs[1].body.push(back(Some(Expr::Int(1)))), &["where none is wanted"]);
    let block = || Expr::Block { body: vec![back(None)], value: Box::new(Expr::Int(1)) };
    rejects_expr(block(), "Return outside of a body");
    rejects_stmt(Stmt::Assume { cond: block() }, "Return outside of a body");
    rejects(|p| p.properties[0].expr = Some(block()), &["Return outside of a body"]);
}

#[test]
fn actions() {
    rejects(|p| p.starts[0].guard.push(Expr::Int(1)), &["start 0 \"Start\"", "no guard"]);
    rejects(|p| p.actions[0].prelude.push(Stmt::Clear(var(FLAG))), &["Bind and Let only"]);
    rejects(|p| p.actions[0].params[0].local = LocalId(1), &["two parameters share local 1"]);
    rejects(|p| p.actions[0].params[0].local = LocalId(4), &["needs a Bound local"]);
    rejects(|p| p.actions[0].params[0].local = LocalId(10), &["must be scalar"]);
    rejects(|p| p.actions[0].params[0].local = LocalId(99), &["no local 99"]);
    let over = |p: &mut Program, domain| p.actions[0].params[0].over = domain;
    rejects(|p| over(p, Domain::Type(MSG)), &["domain of a parameter must be scalar"]);
    rejects(|p| over(p, Domain::Range { from: 0, to: 1, step: 0 }), &["must not be zero"]);
    rejects(|p| over(p, Domain::Slots(var(BOX))), &["a multiset is needed"]);
    let bag = |i| at(Root::Global(CELL_OF), vec![index(i), Step::Field(1)], BAG);
    rejects(|p| over(p, Domain::Slots(bag(bound(0)))), &["uses local 0"]);
    rejects(|p| over(p, Domain::Slots(bag(bound(8)))), &["uses local 8"]);
    let of_local = bag(read(at(Root::Local(LocalId(4)), vec![], SMALL)));
    rejects(|p| over(p, Domain::Slots(of_local)), &["uses local 4"]);
}

#[test]
fn properties() {
    rejects(|p| p.properties[0].expr = None, &["property 0 \"bounded\"", "only a cover goal"]);
    rejects(|p| p.properties[3].expr = Some(Expr::Real(1.0)), &["property 3", "a condition"]);
    rejects(|p| p.properties[0].locals.clear(), &["no local 0"]);
}

#[test]
fn purity() {
    rejects(|p| p.actions[1].impure_guard = false, &["action 1 \"Impure guard\"", "impure_guard"]);
    rejects(|p| p.properties[4].impure = false, &["property 4 \"returns\"", "impure is not set"]);
    rejects_expr(everything::impure_call(), "impure_guard");
    // A subroutine that only changes a local of the caller is pure.
    let mut program = everything::program();
    let local_only = call(0, vec![value(Expr::Int(1)), Arg::Ref(own(5, MSG))]);
    program.actions[0].guard.push(local_only);
    assert_eq!(verify(&program), Ok(()));
    // Through a reference to a state variable it is not.
    let aliased = call(0, vec![value(Expr::Int(1)), Arg::Ref(own(6, MSG))]);
    rejects_expr(aliased, "impure_guard");
}

#[test]
fn messages_are_limited() {
    let mut program = everything::program();
    program.actions[0].body.extend(vec![Stmt::Error { site: Site(99) }; 1000]);
    assert_eq!(verify(&program).unwrap_err().len(), 100);
}

#[test]
fn sizes_saturate_before_they_are_rejected() {
    let mut program = everything::program();
    let huge = vec![(i64::MIN, -1), (0, i64::MAX)];
    scalar(&mut program, INT).intervals = huge;
    program.types.push(Type::Array { index: INT, elem: FINE });
    program.globals.push(Global { name: "huge".to_string(), ty: TypeId(14), span: span(0, 0) });
    program.globals.push(program.globals[5].clone());
    program.actions[0].params[1].over = Domain::Range { from: i64::MIN, to: i64::MAX, step: 1 };
    assert!(verify(&program).is_err());
    assert!(Layout::new(&program).shape().bits as u64 > MAX_STATE_BITS);
    assert!(Instances::new(&program).total() > u128::from(u32::MAX));
}
