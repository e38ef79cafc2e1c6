//! A well-formed program that uses every variant of every enumeration of the representation.

use super::*;

const UNARY_INT: [UnaryOp; 3] = [UnaryOp::Neg, UnaryOp::Not, UnaryOp::BitNot];

const UNARY_REAL: [UnaryOp; 17] = [
    UnaryOp::RealNeg,
    UnaryOp::Sqrt,
    UnaryOp::Sin,
    UnaryOp::Cos,
    UnaryOp::Tan,
    UnaryOp::Asin,
    UnaryOp::Acos,
    UnaryOp::Atan,
    UnaryOp::Sinh,
    UnaryOp::Cosh,
    UnaryOp::Tanh,
    UnaryOp::Exp,
    UnaryOp::Log,
    UnaryOp::Log10,
    UnaryOp::RealAbs,
    UnaryOp::Floor,
    UnaryOp::Ceil,
];

const BINARY_INT: [BinaryOp; 14] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::BitAnd,
    BinaryOp::BitOr,
    BinaryOp::BitXor,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::Eq,
    BinaryOp::Ne,
    BinaryOp::Lt,
    BinaryOp::Le,
];

const BINARY_REAL: [BinaryOp; 6] = [
    BinaryOp::RealAdd,
    BinaryOp::RealSub,
    BinaryOp::RealMul,
    BinaryOp::RealDiv,
    BinaryOp::RealRem,
    BinaryOp::RealPow,
];

const COMPARE_REAL: [BinaryOp; 4] =
    [BinaryOp::RealEq, BinaryOp::RealNe, BinaryOp::RealLt, BinaryOp::RealLe];

/// The program. Its first action has these locals: 0 `n`, 1 `d`, 2 `s` (parameters), 3 `v`, 4 `x`,
/// 5 `m`, 6 `alias`, 7 `sum`, 8 `n` again, 9 `odd name`, 10 `half`.
pub fn program() -> Program {
    let mut program = empty();
    program.procs = vec![function(), procedure()];
    program.starts = vec![action("Start", vec![], vec![], vec![Stmt::Clear(var(FLAG))])];
    program.actions = vec![big_action(), impure_action()];
    program.properties = vec![
        property(PropertyKind::Invariant, "bounded", Some(in_range())),
        property(PropertyKind::Assumption, "scope", Some(Expr::Int(1))),
        property(PropertyKind::Cover, "goal", None),
        property(PropertyKind::Cover, "met", Some(read(var(FLAG)))),
        property(PropertyKind::Liveness, "returns", Some(read(var(FLAG)))),
    ];
    program.properties[0].locals = vec![local("n", NODE, LocalKind::Bound)];
    program.properties[4].impure = true;
    program.properties[4].expr = Some(binary(BinaryOp::Lt, impure_call(), Expr::Int(9)));
    program
}

fn in_range() -> Expr {
    let body = Expr::IsUndefined(Box::new(at(Root::Global(BOX), vec![index(bound(0))], MSG)));
    Expr::Quantified {
        all: true,
        var: LocalId(0),
        over: Box::new(Iter::Type(NODE)),
        body: Box::new(body),
    }
}

/// A recursive function: `(value Small, ref Msg) -> Small`, which writes its reference.
fn function() -> Proc {
    let again = call(0, vec![value(read(own(0, SMALL))), Arg::Ref(own(1, MSG))]);
    let branch = (
        binary(BinaryOp::Lt, read(own(0, SMALL)), Expr::Int(3)),
        vec![Stmt::Return { value: Some(again), site: S }],
    );
    let field = at(Root::Local(LocalId(1)), vec![Step::Field(1)], SMALL);
    Proc {
        name: "f".to_string(),
        span: span(20, 30),
        params: vec![Pass::Value, Pass::Ref],
        result: Some(SMALL),
        locals: vec![
            local("a", SMALL, LocalKind::Storage),
            local("b", MSG, LocalKind::Ref),
            local("t", INT, LocalKind::Storage),
        ],
        body: vec![
            Stmt::Fresh(LocalId(2)),
            Stmt::If { branches: vec![branch], other: vec![assign(field, Expr::Int(2))] },
            Stmt::Return { value: Some(Expr::Int(1)), site: S },
        ],
        end: S,
    }
}

fn procedure() -> Proc {
    Proc {
        name: "touch".to_string(),
        span: span(31, 40),
        params: vec![],
        result: None,
        locals: vec![],
        body: vec![assign(var(FLAG), Expr::Int(1)), Stmt::Return { value: None, site: S }],
        end: Site(0),
    }
}

/// A call that changes `box`.
pub fn impure_call() -> Expr {
    let element = at(Root::Global(BOX), vec![index(Expr::Int(200))], MSG);
    call(0, vec![value(Expr::Int(3)), Arg::Ref(element)])
}

fn impure_action() -> Action {
    let guard = vec![binary(BinaryOp::Eq, impure_call(), Expr::Int(1))];
    let body = vec![Stmt::Call { proc: ProcId(1), args: vec![], site: S }];
    Action { priority: -3, impure_guard: true, ..action("Impure guard", vec![], guard, body) }
}

fn big_action() -> Action {
    let locals = vec![
        local("n", NODE, LocalKind::Bound),
        local("d", INT, LocalKind::Bound),
        local("s", INT, LocalKind::Bound),
        local("v", INT, LocalKind::Bound),
        local("x", SMALL, LocalKind::Storage),
        local("m", MSG, LocalKind::Storage),
        local("alias", MSG, LocalKind::Ref),
        local("sum", INT, LocalKind::Bound),
        local("n", NODE, LocalKind::Bound),
        local("odd name", REAL, LocalKind::Storage),
        local("half", REAL, LocalKind::Bound),
    ];
    let over_cell = at(Root::Global(CELL_OF), vec![index(bound(0)), Step::Field(1)], BAG);
    let params = vec![
        Param { local: LocalId(0), over: Domain::Type(NODE) },
        Param { local: LocalId(1), over: Domain::Range { from: 2, to: -2, step: -2 } },
        Param { local: LocalId(2), over: Domain::Slots(over_cell) },
    ];
    let prelude = vec![
        Stmt::Bind { local: LocalId(6), place: at(Root::Global(BOX), vec![index(bound(0))], MSG) },
        Stmt::Let { local: LocalId(7), value: binary(BinaryOp::Add, bound(1), Expr::Int(1)) },
        Stmt::Let { local: LocalId(10), value: Expr::Real(0.5) },
    ];
    let mut body = plain_stmts();
    body.extend(control_stmts());
    body.extend(multiset_stmts());
    Action { params, prelude, ..action("Every thing", locals, conditions(), body) }
}

/// Every expression that is a condition or can be made one.
fn conditions() -> Vec<Expr> {
    let mut all: Vec<Expr> = UNARY_INT.map(|op| unary(op, read(var(COUNT)))).to_vec();
    all.extend(BINARY_INT.map(|op| binary(op, bound(7), Expr::Int(2))));
    all.extend(COMPARE_REAL.map(|op| binary(op, read(var(SPEED)), bound(10))));
    let real = UNARY_REAL.map(|op| unary(op, read(var(SPEED))));
    let real = real.into_iter().chain(
        BINARY_REAL
            .map(|op| binary(op, Expr::Real(1e300), unary(UnaryOp::ToReal, Expr::Int(i64::MIN)))),
    );
    all.extend(real.map(|expr| unary(UnaryOp::Truncate, expr)));
    all.push(Expr::And(vec![]));
    all.push(Expr::Or(vec![Expr::Int(0), Expr::And(vec![Expr::Int(1), Expr::Int(0)])]));
    all.push(Expr::If {
        cond: Box::new(read(var(FLAG))),
        then: Box::new(Expr::Int(-1)),
        other: Box::new(bound(1)),
    });
    all.push(Expr::IsMember { value: Box::new(read(var(WHO))), ty: COLOR });
    let same = |left, right| Expr::Same { left: Box::new(left), right: Box::new(right), site: S };
    all.push(same(own(5, MSG), own(6, MSG)));
    all.extend([in_slots(), in_range_of_ints(), filled()]);
    all
}

fn in_slots() -> Expr {
    let element = at(Root::Global(NET), vec![slot(bound(3)), Step::Field(2)], ANY);
    Expr::Quantified {
        all: false,
        var: LocalId(3),
        over: Box::new(Iter::Slots(var(NET))),
        body: Box::new(Expr::IsUndefined(Box::new(element))),
    }
}

fn in_range_of_ints() -> Expr {
    let over = Iter::Range { from: Expr::Int(0), to: bound(1), step: Expr::Int(1), site: S };
    let body = Expr::Block {
        body: vec![assign(own(4, SMALL), bound(3))],
        value: Box::new(read(own(4, SMALL))),
    };
    Expr::Quantified { all: true, var: LocalId(3), over: Box::new(over), body: Box::new(body) }
}

fn filled() -> Expr {
    let element = at(Root::Global(NUMBERS), vec![slot(bound(3))], SMALL);
    let body = Box::new(binary(BinaryOp::Eq, read(element), Expr::Int(1)));
    Expr::Count { set: Box::new(var(NUMBERS)), var: LocalId(3), body }
}

fn plain_stmts() -> Vec<Stmt> {
    let copy = |to, from| Stmt::Copy { to, from, site: S };
    vec![
        Stmt::Fresh(LocalId(4)),
        assign(own(9, REAL), bound(10)),
        assign(at(Root::Local(LocalId(6)), vec![Step::Field(0)], COLOR), Expr::Int(101)),
        copy(own(5, MSG), own(6, MSG)),
        copy(var(HUE), var(WHO)),
        Stmt::Undefine(var(OWNER)),
        Stmt::Clear(var(OFFSET)),
        Stmt::Call {
            proc: ProcId(0),
            args: vec![Arg::Copy { from: var(COUNT), site: S }, Arg::Ref(own(5, MSG))],
            site: S,
        },
        Stmt::Assert { cond: read(var(FLAG)), site: S },
        Stmt::Assume { cond: Expr::Int(1) },
        Stmt::Cover { cond: read(var(FLAG)), property: 2 },
        Stmt::Put(vec![
            PutPart::Text("tab\tquote\"".to_string()),
            PutPart::Place { place: var(CELL_OF), name: "cell".to_string() },
            PutPart::Value { value: Expr::Int(7), ty: None },
            PutPart::Value { value: bound(0), ty: Some(NODE) },
        ]),
    ]
}

fn control_stmts() -> Vec<Stmt> {
    let error = || vec![Stmt::Error { site: S }];
    let case = SwitchCase { values: vec![Expr::Int(100), Expr::Int(101)], body: error() };
    vec![
        Stmt::Switch { subject: read(var(HUE)), cases: vec![case], other: vec![] },
        Stmt::For {
            var: LocalId(8),
            over: Iter::Type(NODE),
            body: vec![assign(var(OWNER), bound(8))],
        },
        Stmt::While { cond: read(var(FLAG)), body: vec![Stmt::Clear(var(FLAG))], site: S },
        Stmt::If {
            branches: vec![
                (Expr::Int(0), vec![Stmt::Return { value: None, site: S }]),
                (Expr::Int(1), vec![]),
            ],
            other: vec![],
        },
    ]
}

fn multiset_stmts() -> Vec<Stmt> {
    let set = || at(Root::Global(CELL_OF), vec![index(bound(0)), Step::Field(1)], BAG);
    vec![
        Stmt::Add { set: set(), from: own(5, MSG), site: S },
        Stmt::Add { set: var(NUMBERS), from: var(OFFSET), site: S },
        Stmt::AddValue { set: var(NUMBERS), value: Expr::Int(3), site: S },
        Stmt::Remove { set: set(), slot: bound(2), site: S },
        Stmt::RemoveWhere { set: var(NUMBERS), var: LocalId(3), cond: filled() },
    ]
}
