//! Runs both executors side by side and compares everything they say.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod random;
pub mod rng;
pub mod types;

use ergodic_interp::Interpreter;
use ergodic_ir::{Action, Expr, Global, Local, Param, Program, SiteInfo, Stmt, TypeId};
use ergodic_jit::Jit;
use ergodic_system::{Batch, Block, Cursor, DeadlockMode, Live, PAD_WORDS, Step, System};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// What a comparison has seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub states: usize,
    pub successors: usize,
    /// Successors that were left out because they are their own sources.
    pub loops: usize,
    pub faults: usize,
    pub violations: usize,
}

/// Runs something on a thread with the stack of a worker.
pub fn on_worker<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(ergodic_interp::STACK_BYTES);
    match thread.spawn(run).expect("a thread").join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Compares both executors on the states that a program reaches, at most `limit` of them.
pub fn compare(program: &Arc<Program>, limit: usize) -> Seen {
    compare_with(program, limit, DeadlockMode::Stutter)
}

/// As [`compare`], for a kind of deadlocks.
pub fn compare_with(program: &Arc<Program>, limit: usize, deadlock: DeadlockMode) -> Seen {
    let jit = Jit::with_threads(Arc::clone(program), deadlock, 2).expect("it compiles");
    let interp = Interpreter::new(Arc::clone(program), deadlock);
    let shape = System::shape(&interp);
    assert_eq!(shape, System::shape(&jit));
    let mut seen = Seen::default();
    let (mut a, mut b) = (System::scratch(&interp), System::scratch(&jit));
    let mut known: HashSet<Vec<u64>> = HashSet::new();
    let mut todo: Vec<Vec<u64>> = Vec::new();
    for capacity in [1, 2, 1024] {
        let (mut x, mut y) = (Batch::new(shape, capacity), Batch::new(shape, capacity));
        let (mut i, mut j) = (Cursor::default(), Cursor::default());
        loop {
            let left = interp.initial(&mut a, &mut i, &mut x);
            let right = jit.initial(&mut b, &mut j, &mut y);
            compare_step(&left, &right, (&i, &j), (&x, &y), &mut seen);
            collect(&x, &mut known, &mut todo, limit);
            if left == Step::Done {
                break;
            }
            x.clear();
            y.clear();
        }
    }
    let mut done = 0;
    while done < todo.len() {
        let count = (todo.len() - done).min(3);
        let mut words: Vec<u64> = todo[done..done + count].concat();
        // What is behind the last state may be anything.
        words.resize(count * shape.words + PAD_WORDS, 0xdead_beef_dead_beef);
        let before = words.clone();
        let block = Block::new(&words, shape.words, count);
        let mut firings = Vec::new();
        for (capacity, skip) in [1024, 1, 2].into_iter().flat_map(|c| [(c, false), (c, true)]) {
            let (mut x, mut y) = (Batch::new(shape, capacity), Batch::new(shape, capacity));
            if skip {
                x.skip_loops();
                y.skip_loops();
            }
            let (mut i, mut j) = (Cursor::default(), Cursor::default());
            let mut fired = BTreeMap::new();
            loop {
                let left = interp.expand(&mut a, block, &mut i, &mut x);
                let right = jit.expand(&mut b, block, &mut j, &mut y);
                compare_step(&left, &right, (&i, &j), (&x, &y), &mut seen);
                collect(&x, &mut known, &mut todo, limit);
                let source = |at: usize| block.state(x.sources()[at] as usize);
                let looped = (0..x.len()).any(|at| x.state(at) == source(at));
                assert!(!(skip && looped), "a loop was not left out");
                seen.loops += x.loops() as usize;
                for (rule, count) in
                    x.rules().iter().map(|rule| (rule, &1)).chain(dropped(&x).iter())
                {
                    *fired.entry(*rule).or_insert(0) += count;
                }
                if left == Step::Done {
                    break;
                }
                x.clear();
                y.clear();
            }
            firings.push(fired);
        }
        assert!(firings.windows(2).all(|pair| pair[0] == pair[1]), "firings: {firings:?}");
        let fresh: Vec<u32> = (0..count as u32).collect();
        let (mut i, mut j) = (0, 0);
        loop {
            let left = System::judge(&interp, &mut a, block, &fresh, &mut i);
            let right = System::judge(&jit, &mut b, block, &fresh, &mut j);
            assert_eq!((left, i), (right, j), "judgement");
            seen.violations += usize::from(left.is_some());
            if left.is_none() {
                break;
            }
        }
        for state in 0..count {
            let one = block.slice(state, 1);
            for property in 0..interp.live_properties() {
                let left = interp.satisfies(&mut a, one, property);
                assert_eq!(left, jit.satisfies(&mut b, one, property), "liveness");
            }
        }
        assert_eq!(words, before, "sources are constant");
        done += count;
    }
    assert_eq!(interp.goals(&a), jit.goals(&b), "goals");
    seen.states = done;
    seen
}

fn compare_step(
    left: &Step,
    right: &Step,
    cursors: (&Cursor, &Cursor),
    (x, y): (&Batch, &Batch),
    seen: &mut Seen,
) {
    for i in 0..x.len().min(y.len()) {
        assert_eq!(x.labels()[i], y.labels()[i], "label of successor {i}");
        assert_eq!(x.state(i), y.state(i), "successor {i}, {:?}", x.labels()[i]);
    }
    assert_eq!(left, right);
    assert_eq!(x.len(), y.len());
    assert_eq!((x.sources(), x.rules()), (y.sources(), y.rules()));
    assert_eq!(dropped(x), dropped(y), "dropped successors");
    assert_eq!(x.loops(), y.loops(), "loops left out");
    let ends = |c: &Cursor| (c.source, c.class, c.rule, c.instance, c.enabled, c.moved);
    assert_eq!(ends(cursors.0), ends(cursors.1));
    seen.successors += x.len();
    seen.faults += usize::from(matches!(left, Step::Violation(_)));
}

/// Dropped successors by rule.
fn dropped(batch: &Batch) -> BTreeMap<u32, u32> {
    let mut sums = BTreeMap::new();
    for (rule, count) in batch.dropped() {
        *sums.entry(*rule).or_insert(0) += count;
    }
    sums
}

fn collect(batch: &Batch, known: &mut HashSet<Vec<u64>>, todo: &mut Vec<Vec<u64>>, limit: usize) {
    for i in 0..batch.len() {
        let state = batch.state(i).to_vec();
        if known.len() < limit && known.insert(state.clone()) {
            todo.push(state);
        }
    }
}

/// A program without actions, with variables of these types.
pub fn base(globals: &[TypeId]) -> Program {
    let global = |(i, ty): (usize, &TypeId)| Global {
        name: format!("g{i}"),
        ty: *ty,
        span: Default::default(),
    };
    let site = |_| SiteInfo { span: Default::default(), text: String::new() };
    Program {
        types: types::types(),
        globals: globals.iter().enumerate().map(global).collect(),
        sites: (0..100).map(site).collect(),
        loop_limit: 100,
        call_limit: 50,
        ..Program::default()
    }
}

/// An action without a name.
pub fn action(locals: Vec<Local>, params: Vec<Param>, guard: Vec<Expr>, body: Vec<Stmt>) -> Action {
    Action {
        name: String::new(),
        span: Default::default(),
        params,
        locals,
        prelude: vec![],
        guard,
        body,
        priority: 0,
        impure_guard: false,
    }
}
