//! Measurements: `cargo run --release -p ergodic-jit --example jit_speed`.

use ergodic_interp::Interpreter;
use ergodic_ir::*;
use ergodic_jit::Jit;
use ergodic_system::{Batch, Block, Cursor, DeadlockMode, PAD_WORDS, Step as Expansion, System};
use std::sync::Arc;
use std::time::Instant;

const S: Site = Site(0);
const BOOL: TypeId = TypeId(0);
const COUNT: TypeId = TypeId(1);
const NODE: TypeId = TypeId(2);
const CELL: TypeId = TypeId(3);
const CELLS: TypeId = TypeId(4);

fn scalar(kind: ScalarKind, lo: i64, hi: i64) -> Type {
    Type::Scalar(ScalarType { name: None, kind, intervals: vec![(lo, hi)], undefinable: true })
}

fn cell(node: u32, field: u32) -> Place {
    let index = Step::Index { index: Expr::Bound(LocalId(node)), site: S };
    let ty = [BOOL, COUNT, NODE][field as usize];
    Place { root: Root::Global(GlobalId(0)), path: vec![index, Step::Field(field)], ty }
}

fn read(place: Place) -> Expr {
    Expr::Read { place: Box::new(place), site: S }
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary { op, left: Box::new(left), right: Box::new(right), site: S }
}

fn assign(to: Place, value: Expr) -> Stmt {
    Stmt::Assign { to, value, site: S }
}

/// Nodes that count and hand tokens to each other, with `copies` of each of the rules.
fn program(copies: usize) -> Program {
    let field = |name: &str, ty| Field { name: name.to_string(), ty };
    let fields = vec![field("busy", BOOL), field("count", COUNT), field("next", NODE)];
    let types = vec![
        scalar(ScalarKind::Bool, 0, 1),
        scalar(ScalarKind::Int, 0, 9),
        scalar(ScalarKind::Scalarset { stem: "Node".to_string() }, 100, 104),
        Type::Record { name: None, fields },
        Type::Array { index: NODE, elem: CELL },
    ];
    let bound = |name: &str| Local { name: name.to_string(), ty: NODE, kind: LocalKind::Bound };
    let param = |i| Param { local: LocalId(i), over: Domain::Type(NODE) };
    let action = |params: u32, guard: Vec<Expr>, body: Vec<Stmt>| Action {
        name: String::new(),
        span: Default::default(),
        params: (0..params).map(param).collect(),
        locals: vec![bound("n"), bound("m"), bound("k")],
        prelude: vec![],
        guard,
        body,
        priority: 0,
        impure_guard: false,
    };
    let globals = vec![Global { name: "cells".to_string(), ty: CELLS, span: Default::default() }];
    let whole = Place { root: Root::Global(GlobalId(0)), path: vec![], ty: CELLS };
    let next = binary(BinaryOp::Add, read(cell(0, 1)), Expr::Int(1));
    let count = action(
        1,
        vec![
            Expr::Unary { op: UnaryOp::Not, arg: Box::new(read(cell(0, 0))), site: S },
            binary(BinaryOp::Lt, read(cell(0, 1)), Expr::Int(4)),
        ],
        vec![assign(cell(0, 1), next), assign(cell(0, 2), Expr::Bound(LocalId(0)))],
    );
    let pass = action(
        2,
        vec![
            binary(BinaryOp::Eq, read(cell(0, 1)), Expr::Int(4)),
            binary(BinaryOp::Ne, Expr::Bound(LocalId(0)), Expr::Bound(LocalId(1))),
            binary(BinaryOp::Le, read(cell(1, 1)), Expr::Int(2)),
        ],
        vec![
            assign(cell(0, 1), Expr::Int(0)),
            Stmt::If {
                branches: vec![(
                    binary(BinaryOp::Eq, read(cell(1, 2)), Expr::Bound(LocalId(0))),
                    vec![assign(cell(1, 0), Expr::Int(1))],
                )],
                other: vec![assign(cell(1, 0), Expr::Int(0))],
            },
            Stmt::For {
                var: LocalId(2),
                over: Iter::Type(NODE),
                body: vec![assign(cell(2, 2), read(cell(0, 2)))],
            },
            assign(cell(1, 2), Expr::Bound(LocalId(0))),
        ],
    );
    let wake = action(
        1,
        vec![read(cell(0, 0))],
        vec![assign(cell(0, 0), Expr::Int(0)), assign(cell(0, 1), Expr::Int(1))],
    );
    let rules = [count, pass, wake];
    Program {
        types,
        globals,
        starts: vec![action(0, vec![], vec![Stmt::Clear(whole)])],
        actions: rules.iter().cycle().take(3 * copies).cloned().collect(),
        sites: vec![SiteInfo { span: Default::default(), text: String::new() }],
        loop_limit: 1000,
        call_limit: 1000,
        ..Program::default()
    }
}

/// Expands a frontier of at most `limit` states, level by level; states and seconds.
fn expand<S: System>(system: &S, limit: usize) -> (usize, usize, f64) {
    let shape = system.shape();
    let mut scratch = system.scratch();
    let mut batch = Batch::new(shape, 1024);
    let mut known = std::collections::HashSet::new();
    let mut todo: Vec<u64> = Vec::new();
    system.initial(&mut scratch, &mut Cursor::default(), &mut batch);
    for i in 0..batch.len() {
        known.insert(batch.state(i).to_vec());
        todo.extend_from_slice(batch.state(i));
    }
    batch.clear();
    let (mut fired, mut seconds, mut states) = (0, 0.0, 0);
    while !todo.is_empty() && states < limit {
        let mut level = std::mem::take(&mut todo);
        let count = level.len() / shape.words;
        level.resize(level.len() + PAD_WORDS, 0);
        let block = Block::new(&level, shape.words, count);
        let mut at = Cursor::default();
        states += count;
        loop {
            let begin = Instant::now();
            let step = system.expand(&mut scratch, block, &mut at, &mut batch);
            seconds += begin.elapsed().as_secs_f64();
            fired += batch.len();
            for i in 0..batch.len() {
                if known.insert(batch.state(i).to_vec()) {
                    todo.extend_from_slice(batch.state(i));
                }
            }
            batch.clear();
            if step == Expansion::Done {
                break;
            }
        }
    }
    (states, fired, seconds)
}

fn compile_time() {
    for copies in [1, 20, 100] {
        let program = program(copies);
        verify::verify(&program).expect("well formed");
        let jit = Jit::new(Arc::new(program), DeadlockMode::Off).expect("it compiles");
        let stats = jit.stats();
        println!(
            "{} functions: {:.1} ms, {:.0} us each, {:.2} us per instruction, {stats:?}",
            stats.functions,
            stats.time.as_secs_f64() * 1e3,
            stats.time.as_secs_f64() * 1e6 / stats.functions as f64,
            stats.time.as_secs_f64() * 1e6 / stats.instructions as f64,
        );
    }
}

fn speed() {
    let program = Arc::new(program(1));
    let jit = Jit::new(Arc::clone(&program), DeadlockMode::Off).expect("it compiles");
    let interp = Interpreter::new(program, DeadlockMode::Off);
    let (states, fired, seconds) = expand(&jit, 100_000);
    println!("jit: {states} states, {fired} fired, {:.1} ns each", seconds * 1e9 / fired as f64);
    let (states, fired, seconds) = expand(&interp, 20_000);
    println!("interp: {states} states, {fired} fired, {:.1} ns each", seconds * 1e9 / fired as f64);
}

fn main() {
    compile_time();
    speed();
}
