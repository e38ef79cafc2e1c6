//! A tiny builder of programs, and ways to run them.
#![allow(dead_code, reason = "each test file uses a part of it")]

use ergodic_interp::Interpreter;
use ergodic_ir::*;
use ergodic_system::{
    Batch, Block, Cursor, DeadlockMode, Fault, PAD_WORDS, Step as Expansion, System, Violation,
    ViolationKind,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The site of things that do not fault.
pub const S: Site = Site(0);

/// A program being built.
pub struct Build {
    pub p: Program,
}

impl Default for Build {
    fn default() -> Build {
        let mut p = Program { loop_limit: 10, call_limit: 20, ..Program::default() };
        p.sites.push(SiteInfo { span: Default::default(), text: String::new() });
        Build { p }
    }
}

impl Build {
    pub fn new() -> Build {
        Build::default()
    }

    pub fn site(&mut self, text: &str) -> Site {
        self.p.sites.push(SiteInfo { span: Default::default(), text: text.to_string() });
        Site(self.p.sites.len() as u32 - 1)
    }

    pub fn ty(&mut self, ty: Type) -> TypeId {
        self.p.types.push(ty);
        TypeId(self.p.types.len() as u32 - 1)
    }

    pub fn scalar(&mut self, name: &str, kind: ScalarKind, intervals: &[(i64, i64)]) -> TypeId {
        let name = (!name.is_empty()).then(|| name.to_string());
        let intervals = intervals.to_vec();
        self.ty(Type::Scalar(ScalarType { name, kind, intervals, undefinable: true }))
    }

    pub fn int(&mut self, lo: i64, hi: i64) -> TypeId {
        self.scalar("", ScalarKind::Int, &[(lo, hi)])
    }

    /// An integer type that cannot be undefined.
    pub fn total(&mut self, lo: i64, hi: i64) -> TypeId {
        let ty = self.int(lo, hi);
        if let Type::Scalar(scalar) = &mut self.p.types[ty.0 as usize] {
            scalar.undefinable = false;
        }
        ty
    }

    pub fn bool(&mut self) -> TypeId {
        self.scalar("", ScalarKind::Bool, &[(0, 1)])
    }

    pub fn scalarset(&mut self, stem: &str, from: i64, count: i64) -> TypeId {
        let kind = ScalarKind::Scalarset { stem: stem.to_string() };
        self.scalar(stem, kind, &[(from, from + count - 1)])
    }

    pub fn enumeration(&mut self, from: i64, names: &[&str]) -> TypeId {
        let kind = ScalarKind::Enum { names: names.iter().map(|n| n.to_string()).collect() };
        self.scalar("", kind, &[(from, from + names.len() as i64 - 1)])
    }

    pub fn real(&mut self, digits: u32, exponent: u32) -> TypeId {
        self.ty(Type::Real { digits, exponent })
    }

    pub fn array(&mut self, index: TypeId, elem: TypeId) -> TypeId {
        self.ty(Type::Array { index, elem })
    }

    pub fn multiset(&mut self, capacity: u32, elem: TypeId) -> TypeId {
        self.ty(Type::Multiset { capacity, elem })
    }

    pub fn record(&mut self, fields: &[(&str, TypeId)]) -> TypeId {
        let field = |(name, ty): &(&str, TypeId)| Field { name: name.to_string(), ty: *ty };
        self.ty(Type::Record { name: None, fields: fields.iter().map(field).collect() })
    }

    pub fn global(&mut self, name: &str, ty: TypeId) -> Place {
        self.p.globals.push(Global { name: name.to_string(), ty, span: Default::default() });
        let root = Root::Global(GlobalId(self.p.globals.len() as u32 - 1));
        Place { root, path: vec![], ty }
    }

    pub fn start(&mut self, locals: Vec<Local>, body: Vec<Stmt>) {
        self.p.starts.push(action("start", locals, vec![], body));
    }

    pub fn rule(&mut self, name: &str, guard: Vec<Expr>, body: Vec<Stmt>) -> &mut Action {
        self.p.actions.push(action(name, vec![], guard, body));
        self.p.actions.last_mut().unwrap()
    }

    pub fn property(&mut self, kind: PropertyKind, name: &str, expr: Option<Expr>) -> u32 {
        let name = name.to_string();
        let (span, locals, impure) = (Default::default(), vec![], false);
        self.p.properties.push(Property { kind, name, span, locals, expr, impure });
        self.p.properties.len() as u32 - 1
    }

    pub fn proc(
        &mut self,
        name: &str,
        params: Vec<Pass>,
        result: Option<TypeId>,
        locals: Vec<Local>,
        body: Vec<Stmt>,
    ) -> ProcId {
        let end = self.site("end");
        let (name, span) = (name.to_string(), Default::default());
        self.p.procs.push(Proc { name, span, params, result, locals, body, end });
        ProcId(self.p.procs.len() as u32 - 1)
    }

    pub fn interpreter(self) -> Interpreter {
        self.with_deadlock(DeadlockMode::Off)
    }

    pub fn with_deadlock(self, deadlock: DeadlockMode) -> Interpreter {
        if let Err(broken) = verify::verify(&self.p) {
            panic!("ill-formed test program: {broken:#?}");
        }
        Interpreter::new(Arc::new(self.p), deadlock)
    }
}

fn action(name: &str, locals: Vec<Local>, guard: Vec<Expr>, body: Vec<Stmt>) -> Action {
    Action {
        name: name.to_string(),
        span: Default::default(),
        params: vec![],
        locals,
        prelude: vec![],
        guard,
        body,
        priority: 0,
        impure_guard: false,
    }
}

pub fn local(name: &str, ty: TypeId, kind: LocalKind) -> Local {
    Local { name: name.to_string(), ty, kind }
}

pub fn bound(name: &str, ty: TypeId) -> Local {
    local(name, ty, LocalKind::Bound)
}

pub fn storage(name: &str, ty: TypeId) -> Local {
    local(name, ty, LocalKind::Storage)
}

pub fn reference(name: &str, ty: TypeId) -> Local {
    local(name, ty, LocalKind::Ref)
}

/// The place of a storage or reference local.
pub fn at_local(id: u32, ty: TypeId) -> Place {
    Place { root: Root::Local(LocalId(id)), path: vec![], ty }
}

pub fn var(id: u32) -> Expr {
    Expr::Bound(LocalId(id))
}

pub fn index(place: &Place, index: Expr, ty: TypeId) -> Place {
    step(place, Step::Index { index, site: S }, ty)
}

pub fn slot(place: &Place, slot: Expr, ty: TypeId) -> Place {
    step(place, Step::Slot { slot, site: S }, ty)
}

pub fn field(place: &Place, field: u32, ty: TypeId) -> Place {
    step(place, Step::Field(field), ty)
}

fn step(place: &Place, step: Step, ty: TypeId) -> Place {
    let mut path = place.path.clone();
    path.push(step);
    Place { root: place.root, path, ty }
}

pub fn int(value: i64) -> Expr {
    Expr::Int(value)
}

pub fn read(place: &Place) -> Expr {
    Expr::Read { place: Box::new(place.clone()), site: S }
}

pub fn un(op: UnaryOp, arg: Expr) -> Expr {
    Expr::Unary { op, arg: Box::new(arg), site: S }
}

pub fn bin(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary { op, left: Box::new(left), right: Box::new(right), site: S }
}

pub fn add(left: Expr, right: Expr) -> Expr {
    bin(BinaryOp::Add, left, right)
}

pub fn eq(left: Expr, right: Expr) -> Expr {
    bin(BinaryOp::Eq, left, right)
}

pub fn lt(left: Expr, right: Expr) -> Expr {
    bin(BinaryOp::Lt, left, right)
}

pub fn assign(to: &Place, value: Expr) -> Stmt {
    Stmt::Assign { to: to.clone(), value, site: S }
}

pub fn copy(to: &Place, from: &Place) -> Stmt {
    Stmt::Copy { to: to.clone(), from: from.clone(), site: S }
}

pub fn add_value(set: &Place, value: Expr) -> Stmt {
    Stmt::AddValue { set: set.clone(), value, site: S }
}

pub fn call(proc: ProcId, args: Vec<Arg>) -> Expr {
    Expr::Call { proc, args, site: S }
}

pub fn by_value(value: Expr) -> Arg {
    Arg::Value { value, site: S }
}

pub fn give(value: Expr) -> Stmt {
    Stmt::Return { value: Some(value), site: S }
}

pub fn range(from: i64, to: i64, step: i64) -> Iter {
    Iter::Range { from: int(from), to: int(to), step: int(step), site: S }
}

/// Runs the initial states and returns the only one, or the fault.
pub fn start_state(system: &Interpreter) -> Result<Vec<u64>, Fault> {
    let mut batch = Batch::new(System::shape(system), 10);
    match system.initial(&mut System::scratch(system), &mut Cursor::default(), &mut batch) {
        Expansion::Done => {
            assert_eq!(batch.len(), 1);
            Ok(batch.state(0).to_vec())
        }
        Expansion::Violation(Violation { kind: ViolationKind::Fault(fault), .. }) => Err(fault),
        other => panic!("{other:?}"),
    }
}

/// The state of a system with one initial state, as text.
pub fn start_text(system: &Interpreter) -> String {
    text(system, &start_state(system).unwrap())
}

/// A state as text: `a:1 b:Undefined`.
pub fn text(system: &Interpreter, state: &[u64]) -> String {
    let leaves = show::leaves(system.program(), system.layout(), state);
    let show = |leaf: show::Leaf| {
        format!("{}:{}", leaf.name, leaf.value.as_deref().unwrap_or(show::UNDEFINED))
    };
    leaves.into_iter().map(show).collect::<Vec<_>>().join(" ")
}

pub fn kind(fault: Fault) -> FaultKind {
    FaultKind::of(fault).unwrap()
}

/// What a breadth-first search saw.
#[derive(Debug, Default, PartialEq)]
pub struct Seen {
    pub states: usize,
    pub fired: usize,
    pub violations: Vec<Violation>,
    /// Successors in order: state and label.
    pub successors: Vec<(Vec<u64>, u32)>,
    pub goals: Vec<u64>,
}

/// Explores everything with batches of `capacity`, going on behind violations.
pub fn explore(system: &Interpreter, capacity: usize) -> Seen {
    let mut seen = Seen::default();
    let mut known = BTreeSet::new();
    let mut scratch = System::scratch(system);
    let mut level: Option<Vec<Vec<u64>>> = None;
    loop {
        let mut words: Vec<u64> = level.iter().flatten().flatten().copied().collect();
        words.resize(words.len() + PAD_WORDS, 0);
        let len = level.as_ref().map_or(0, Vec::len);
        let src = Block::new(&words, System::shape(system).words, len);
        let (mut at, mut next) = (Cursor::default(), Vec::new());
        let mut batch = Batch::new(System::shape(system), capacity);
        loop {
            let step = match level {
                None => system.initial(&mut scratch, &mut at, &mut batch),
                Some(_) => system.expand(&mut scratch, src, &mut at, &mut batch),
            };
            let mut fresh = Vec::new();
            for i in 0..batch.len() {
                let state = batch.state(i).to_vec();
                seen.successors.push((state.clone(), batch.labels()[i].0));
                seen.fired += usize::from(level.is_some());
                if known.insert(state.clone()) {
                    fresh.push(i as u32);
                    next.push(state);
                }
            }
            let mut judged = 0;
            while let Some(violation) =
                System::judge(system, &mut scratch, batch.block(), &fresh, &mut judged)
            {
                seen.violations.push(violation);
            }
            batch.clear();
            match step {
                Expansion::Done => break,
                Expansion::Full => {}
                Expansion::Violation(violation) => seen.violations.push(violation),
            }
        }
        if next.is_empty() {
            break;
        }
        level = Some(next);
    }
    seen.states = known.len();
    seen.goals = System::goals(system, &scratch).to_vec();
    seen
}
