//! The text form: exact round trips, readable output, good messages, no panics.

mod common;

use common::*;
use ergodic_ir::text::{parse, print};
use ergodic_ir::*;
use expect_test::expect;

#[track_caller]
fn round_trip(program: &Program) {
    let text = print(program);
    match parse(&text) {
        Ok(back) => assert!(back == *program, "not the same program:\n{text}"),
        Err(error) => panic!("{error}\n{text}"),
    }
    assert_eq!(print(&parse(&text).unwrap()), text);
}

#[test]
fn every_variant_round_trips() {
    round_trip(&common::everything::program());
    round_trip(&Program::default());
}

#[test]
fn malformed_programs_round_trip() {
    let mut program = empty();
    program.types.push(Type::Array { index: TypeId(99), elem: TypeId(15) });
    program.types.push(program.types[1].clone());
    program.globals.push(Global { name: String::new(), ty: TypeId(u32::MAX), span: span(9, 3) });
    program.globals.push(program.globals[0].clone());
    let strange = [
        at(Root::Global(GlobalId(77)), vec![Step::Field(3)], SMALL),
        at(Root::Local(LocalId(5)), vec![], BOOL),
        at(Root::Global(BOX), vec![Step::Field(0), slot(bound(9))], BOOL),
        at(Root::Global(GlobalId(12)), vec![], INT),
        at(Root::Global(FLAG), vec![], INT),
    ];
    let body = strange.into_iter().map(Stmt::Clear).collect();
    let locals = vec![local("inf", BOOL, LocalKind::Bound), local("inf", BOOL, LocalKind::Ref)];
    let guard = vec![bound(0), bound(1), call(9, vec![]), Expr::Real(f64::INFINITY)];
    program.actions.push(action("", locals, guard, body));
    round_trip(&program);
}

#[test]
fn reals_are_exact() {
    for value in [0.1, -0.0, 1e300, 5e-324, 123_456_789.123_456_79, f64::MAX, f64::NEG_INFINITY] {
        let mut program = empty();
        program.actions.push(action("r", vec![], vec![Expr::Real(value)], vec![]));
        let back = parse(&print(&program)).unwrap();
        let [Expr::Real(found)] = back.actions[0].guard[..] else { panic!("no real") };
        assert_eq!(found.to_bits(), value.to_bits());
    }
}

#[test]
fn deep_nesting_is_read_up_to_the_limit() {
    let deep = |depth| {
        let mut program = empty();
        program.actions.push(action("deep", vec![], vec![nested(depth)], vec![]));
        print(&program)
    };
    assert!(parse(&deep(verify::MAX_DEPTH)).is_ok());
    let error = parse(&deep(verify::MAX_DEPTH + 1)).unwrap_err();
    assert!(error.message.contains("levels deep"), "{error}");
    let open = "(".repeat(1_000_000);
    assert!(parse(&open).is_err());
    assert!(parse(&format!("(action a 0:0-0 (guard {}", "(and ".repeat(1_000_000))).is_err());
}

#[test]
fn printed_form() {
    let mut program = empty();
    program.types.truncate(8);
    program.globals = vec![program.globals[1].clone(), program.globals[6].clone()];
    let element = |field, ty| at(Root::Global(GlobalId(1)), vec![index(bound(0)), field], ty);
    let mut pass = action(
        "Pass on",
        vec![local("n", NODE, LocalKind::Bound)],
        vec![Expr::IsUndefined(Box::new(element(Step::Field(2), ANY)))],
        vec![
            assign(element(Step::Field(1), SMALL), Expr::Int(3)),
            Stmt::If {
                branches: vec![(
                    binary(BinaryOp::Lt, read(element(Step::Field(1), SMALL)), Expr::Int(2)),
                    vec![Stmt::Error { site: Site(0) }],
                )],
                other: vec![Stmt::Undefine(at(Root::Global(GlobalId(1)), vec![], MSGS))],
            },
        ],
    );
    pass.params = vec![Param { local: LocalId(0), over: Domain::Type(NODE) }];
    program.actions.push(pass);
    program.properties.push(property(PropertyKind::Invariant, "fine", Some(Expr::Int(1))));
    round_trip(&program);
    expect![[r#"
        (eir 1)
        (loop-limit 1000)
        (call-limit 100)

        (type boolean (scalar bool 0..1))
        (type Small (scalar int 0..7 undefinable))
        (type Color (scalar (enum red green blue) 100..102 undefinable))
        (type Node (scalar (scalarset Node) 200..202 undefinable))
        (type - (scalar (union Node Color) 200..202 100..102 undefinable)) ; #4
        (type - (real 6 30)) ; #5
        (type Msg (record (kind Color) (val Small) ("to be sent" #4)))
        (type - (array Node Msg)) ; #7

        (global count 0:10-15 Small)
        (global box 0:60-65 #7)

        (action "Pass on" 0:1-2
          (local n bound Node)
          (param n (type Node))
          (guard (undefined? (at $box (index @1 n) .2)))
          (body
            (assign @1 (at $box (index @1 n) .val) 3)
            (if
              (when (< @1 (read @1 (at $box (index @1 n) .val)) 2) (error @0))
              (else (undefine $box)))))

        (property fine 0:3-4 invariant
          (expr 1))

        (site 0:7-9 "first") ; @0
        (site 0:7-9 "a \"quoted\"\n\\ text\u{1}") ; @1
    "#]]
    .assert_eq(&print(&program));
}

#[track_caller]
fn fails(text: &str, line: u32, column: u32, message: &str) {
    let error = parse(text).expect_err(text);
    assert_eq!((error.line, error.column), (line, column), "{error}");
    assert!(error.message.contains(message), "{error}");
}

#[test]
fn messages_have_a_place() {
    fails("(eir 2)", 1, 6, "version");
    fails("(eir 1", 1, 6, "`)` expected");
    fails("eir", 1, 1, "`(` expected");
    fails("\n  (what 1)", 2, 4, "unknown part");
    fails("(global x 0:1-2 T)", 1, 17, "no type `T`");
    fails("(global x 0:1+2 #0)", 1, 11, "no span");
    fails("(type B (scalar bool 0..x))", 1, 22, "no interval");
    fails("(type B (array #0 #0))", 1, 16, "has no name");
    fails("(site 0:0-0 \"abc)", 1, 13, "closing quote");
    fails("(site 0:0-0 \"a\\q\")", 1, 13, "escape");
    fails("(action a 0:0-0 (body (jump)))", 1, 28, "unknown statement");
    fails("(action a 0:0-0 (guard x))", 1, 24, "no local `x`");
    fails("(action a 0:0-0 (guard 99999999999999999999))", 1, 24, "no number");
    fails("(action a 0:0-0 (guard (read @0 $g)))", 1, 33, "no state variable");
    fails("(action a 0:0-0 (guard (+ 1 2)))", 1, 27, "no site");
    let two = "(action a 0:0-0 (local x bound #0) (local x bound #0) (guard x))";
    fails(two, 1, 62, "more than one");
}

#[test]
fn comments_and_order_do_not_matter() {
    let text = "; first\n(action a 0:0-0 (guard (read @0 $g)))(global g 0:0-1 B) ; later\n\
                (type B (scalar bool 0..1))(site 0:0-0 g)(eir 1)";
    let program = parse(text).unwrap();
    assert_eq!(
        program.actions[0].guard,
        [Expr::Read {
            place: Box::new(at(Root::Global(GlobalId(0)), vec![], TypeId(0))),
            site: Site(0),
        }]
    );
    verify::verify(&program).unwrap();
}

#[test]
fn all_kinds_of_deep_nesting() {
    let mut program = common::everything::program();
    program.actions[0].guard.push(nested_in_many_ways(verify::MAX_DEPTH));
    verify::verify(&program).unwrap();
    assert!(parse(&print(&program)).unwrap() == program);
    // Not deep enough for a stack of its own.
    program.actions[0].guard.pop();
    program.actions[0].guard.push(nested_in_many_ways(240));
    verify::verify(&program).unwrap();
    assert!(parse(&print(&program)).unwrap() == program);
}

#[test]
fn the_documented_example_is_right() {
    let source = include_str!("../src/text.rs");
    let block = source.split("//! ```").nth(1).unwrap();
    let lines = block.lines().skip(1).map(|line| line.trim_start_matches("//!"));
    let program = parse(&lines.collect::<Vec<_>>().join("\n")).unwrap();
    verify::verify(&program).unwrap();
    assert_eq!(program.actions[0].name, "Pass on");
}
