//! Random nested quantifiers over values of which some are undefined: generated code leaves a quantifier
//! as soon as a part that is the same in all rounds decides, and must not pass over a fault by that.

mod common;

use common::rng::Rng;
use common::{action, base, compare, on_worker};
use ergodic_ir::*;
use std::sync::Arc;

const SMALL: TypeId = TypeId(1);
const NODE: TypeId = TypeId(5);
/// One value only.
const ONE: TypeId = TypeId(23);
/// Too many values to be unrolled.
const MANY: TypeId = TypeId(19);
/// Of small numbers, by node.
const ARRAY: TypeId = TypeId(25);
const NODES: std::ops::RangeInclusive<i64> = 200..=202;

/// Quantifiers inside of each other.
const DEEPEST: usize = 4;

fn global(i: u32, ty: TypeId, path: Vec<Step>) -> Place {
    Place { root: Root::Global(GlobalId(i)), path, ty }
}

fn element(array: u32, index: Expr) -> Place {
    global(array, SMALL, vec![Step::Index { index, site: Site(7) }])
}

fn equal(left: Expr, right: Expr) -> Expr {
    let op = BinaryOp::Eq;
    Expr::Binary { op, left: Box::new(left), right: Box::new(right), site: Site(9) }
}

/// Formulas inside some quantifiers.
struct Formulas<'r> {
    rng: &'r mut Rng,
    /// The variables of the quantifiers around.
    scope: Vec<LocalId>,
    /// The types of all variables.
    locals: Vec<TypeId>,
    sites: u32,
}

impl Formulas<'_> {
    /// A node: mostly a variable.
    fn node(&mut self) -> Expr {
        let nodes = self.scope.iter().filter(|id| self.locals[id.0 as usize] == NODE);
        let mut choices = Vec::from_iter(nodes.map(|id| Expr::Bound(*id)));
        choices.push(Expr::Int(*NODES.start() + self.rng.below(3) as i64));
        self.rng.pick(&choices).clone()
    }

    fn place(&mut self) -> Place {
        match self.rng.below(3) {
            0 => global(2 + self.rng.below(2) as u32, SMALL, vec![]),
            _ => {
                let node = self.node();
                element(self.rng.below(2) as u32, node)
            }
        }
    }

    fn leaf(&mut self) -> Expr {
        match self.rng.below(8) {
            0 => Expr::Int(self.rng.below(2) as i64),
            1 => Expr::IsUndefined(Box::new(self.place())),
            2 => equal(self.node(), self.node()),
            _ => {
                self.sites += 1;
                let place = Box::new(self.place());
                let read = Expr::Read { place, site: Site(10 + self.sites % 80) };
                equal(read, Expr::Int(self.rng.below(2) as i64))
            }
        }
    }

    fn formula(&mut self, depth: u32) -> Expr {
        if depth == 0 {
            return self.leaf();
        }
        let parts = |f: &mut Self| {
            let count = 2 + f.rng.below(2);
            (0..count).map(|_| f.formula(depth - 1)).collect()
        };
        match self.rng.below(10) {
            0 => self.leaf(),
            1 => Expr::Unary {
                op: UnaryOp::Not,
                arg: Box::new(self.formula(depth - 1)),
                site: Site(6),
            },
            2 | 3 => Expr::And(parts(self)),
            4 | 5 => Expr::Or(parts(self)),
            6 if self.rng.chance(30) => Expr::If {
                cond: Box::new(self.formula(depth - 1)),
                then: Box::new(self.formula(depth - 1)),
                other: Box::new(self.formula(depth - 1)),
            },
            7 if self.rng.chance(30) => equal(self.formula(depth - 1), self.formula(depth - 1)),
            _ if self.scope.len() < DEEPEST => self.quantifier(depth),
            _ => self.leaf(),
        }
    }

    fn quantifier(&mut self, depth: u32) -> Expr {
        let (var, all) = (LocalId(self.locals.len() as u32), self.rng.chance(60));
        let ty = *self.rng.pick(&[NODE, NODE, NODE, ONE, MANY]);
        let over = match self.rng.below(8) {
            0 if ty == NODE => {
                let (from, to) = (*NODES.start(), *NODES.end());
                let (from, to, step) = (Expr::Int(from), Expr::Int(to), Expr::Int(1));
                Iter::Range { from, to, step, site: Site(5) }
            }
            _ => Iter::Type(ty),
        };
        self.locals.push(ty);
        self.scope.push(var);
        let body = Box::new(self.formula(depth - 1));
        self.scope.pop();
        Expr::Quantified { all, var, over: Box::new(over), body }
    }
}

/// A start state in which some values are undefined.
fn start(rng: &mut Rng) -> Action {
    let mut body = Vec::new();
    let places = (0..2).flat_map(|a| NODES.map(move |node| element(a, Expr::Int(node))));
    for place in places.chain((2..4).map(|i| global(i, SMALL, vec![]))) {
        if rng.chance(75) {
            let value = Expr::Int(rng.below(2) as i64);
            body.push(Stmt::Assign { to: place, value, site: Site(8) });
        }
    }
    action(vec![], vec![], vec![], body)
}

fn program(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let mut program = base(&[ARRAY, ARRAY, SMALL, SMALL, SMALL]);
    program.starts = (0..12).map(|_| start(&mut rng)).collect();
    for _ in 0..8 {
        let mut formulas = Formulas { rng: &mut rng, scope: vec![], locals: vec![], sites: 0 };
        let formula = formulas.quantifier(5);
        let local = |ty| Local { name: String::new(), ty, kind: LocalKind::Bound };
        let locals = formulas.locals.into_iter().map(local).collect();
        // The state says which of the rules could fire: the last variable is for nothing else.
        let mark = Stmt::Assign {
            to: global(4, SMALL, vec![]),
            value: Expr::Int(rng.below(8) as i64),
            site: Site(8),
        };
        program.actions.push(action(locals, vec![], vec![formula], vec![mark]));
    }
    program
}

#[test]
fn quantifiers_fault_where_they_should() {
    let count: u64 = std::env::var("JIT_COUNT").ok().and_then(|s| s.parse().ok()).unwrap_or(150);
    let (mut faults, mut successors) = (0, 0);
    for seed in 0..count {
        let program = program(seed);
        verify::verify(&program).unwrap_or_else(|errors| panic!("seed {seed}: {errors:#?}"));
        let program = Arc::new(program);
        let run = std::panic::catch_unwind(|| on_worker(move || compare(&program, 40)));
        let seen = run.unwrap_or_else(|_| panic!("seed {seed}: the executors differ"));
        faults += seen.faults;
        successors += seen.successors;
    }
    println!("{successors} successors, {faults} faults");
    assert!(faults > count as usize && successors > count as usize, "the formulas are too tame");
}
