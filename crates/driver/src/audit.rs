//! Symmetry reduction held to the unreduced run: `--audit-symmetry`.
//!
//! The unreduced states are canonised one by one; their canonical forms must be exactly the states
//! of the reduced run in number, and both runs must come to the same verdict.

use crate::check::{limits, symmetries};
use crate::load::{Model, on_large_stack};
use crate::options::CheckOptions;
use ergodic_diag::Diagnostic;
use ergodic_interp::Interpreter;
use ergodic_jit::Jit;
use ergodic_queue::memory::MemoryQueue;
use ergodic_search::{Ending, Limits, Outcome, bfs};
use ergodic_store::exact::ExactStore;
use ergodic_symmetry::{Reduced, Symmetries};
use ergodic_system::{Batch, Cursor, System};
use std::collections::HashSet;
use std::time::Instant;

/// What an audit found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// States without reduction.
    pub plain: u64,
    /// Orbits of these states, counted one by one.
    pub orbits: u64,
    /// States with reduction.
    pub reduced: u64,
    /// Whether both runs were complete: neither stopped by a violation nor by a limit.
    pub complete: bool,
    /// Whether a limit stopped one of them.
    pub cut: bool,
    /// Whether both found something wrong, or neither.
    pub same_verdict: bool,
}

impl Audit {
    /// Whether the reduction did what it should.
    pub fn passed(&self) -> bool {
        self.same_verdict && (!self.complete || self.orbits == self.reduced)
    }
}

/// Compares the reduced with the unreduced run; `None` if there is nothing to reduce. What is left
/// out of the reduction is warned about.
pub fn audit_symmetry(
    model: &Model,
    options: &CheckOptions,
    warnings: &mut Vec<Diagnostic>,
) -> Option<Audit> {
    on_large_stack(|| {
        let symmetries = symmetries(model, warnings)?;
        let program = &model.program;
        Some(match Jit::new(program.clone(), options.deadlock) {
            Ok(jit) => audit(jit, symmetries, options),
            Err(_) => {
                audit(Interpreter::new(program.clone(), options.deadlock), symmetries, options)
            }
        })
    })
}

fn audit<S: System>(system: S, mut symmetries: Symmetries, options: &CheckOptions) -> Audit {
    // As `Reduced` does, so that both runs agree on what is canonical.
    let mut first = Batch::new(system.shape(), 1);
    system.initial(&mut system.scratch(), &mut Cursor::default(), &mut first);
    if !first.is_empty() {
        symmetries.tune(first.state(0));
    }
    let (plain, store) = run(&system, options);
    let mut orbits: HashSet<Vec<u64>> = HashSet::new();
    let mut scratch = symmetries.scratch();
    for state in store.states() {
        let mut state = state.to_vec();
        symmetries.canonise(&mut scratch, &mut state);
        orbits.insert(state);
    }
    drop(store);
    let (reduced, _) = run(&Reduced::new(system, symmetries), options);
    let complete = plain.ending == Ending::Complete && reduced.ending == Ending::Complete;
    let cut = |outcome: &Outcome| matches!(outcome.ending, Ending::Stopped(_));
    Audit {
        plain: plain.stats.states,
        orbits: orbits.len() as u64,
        reduced: reduced.stats.states,
        complete,
        cut: cut(&plain) || cut(&reduced),
        same_verdict: plain.findings.is_empty() == reduced.findings.is_empty(),
    }
}

fn run<S: System>(system: &S, options: &CheckOptions) -> (Outcome, ExactStore) {
    let limits = Limits { traces: false, ..limits(options, Instant::now()) };
    let mut store = ExactStore::new(system.shape(), limits.memory);
    let mut frontier = MemoryQueue::new(system.shape());
    let outcome = bfs(system, &mut store, &mut frontier, &limits, &mut ergodic_search::Unobserved);
    (outcome, store)
}
