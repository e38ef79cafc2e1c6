//! Reductions held to the unreduced run: `--audit-symmetry` and `--audit-reduction`.
//!
//! *Symmetry.* The unreduced states are canonised one by one; their canonical forms must be exactly the states
//! of the reduced run in number, and both runs must come to the same verdict.
//!
//! *Transitions.* With sleep sets both runs must find the same number of states at the same depth, with
//! stubborn sets and compressed paths the reduced one at most as many; and the verdicts must agree.

use crate::build::symmetries;
use crate::check::{CheckError, check, limits};
use crate::load::{Model, on_large_stack};
use crate::options::{CheckOptions, Reduction, SearchKind, Symmetry};
use crate::report::Report;
use ergodic_diag::Diagnostic;
use ergodic_interp::Interpreter;
use ergodic_jit::Jit;
use ergodic_queue::memory::MemoryQueue;
use ergodic_search::{Ending, Limits, Observer, Outcome, bfs};
use ergodic_store::exact::ExactStore;
use ergodic_symmetry::{Reduced, Symmetries};
use ergodic_system::{Batch, Cursor, System, Verdict};
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
        let symmetries = symmetries(model, Symmetry::Exact, warnings)?;
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

/// What a comparison of a reduced with a full run found.
#[derive(Debug)]
pub struct ReductionAudit {
    /// All transitions of all states.
    pub full: Report,
    /// What the reduction left.
    pub reduced: Report,
}

impl ReductionAudit {
    /// Whether both found something wrong, or neither.
    pub fn same_verdict(&self) -> bool {
        let violated = |report: &Report| matches!(report.verdict, Verdict::Violated);
        violated(&self.full) == violated(&self.reduced)
    }

    /// Whether both runs were complete: neither stopped by a violation nor by a limit.
    pub fn complete(&self) -> bool {
        let whole = |report: &Report| matches!(report.verdict, Verdict::Holds(_));
        whole(&self.full) && whole(&self.reduced)
    }

    /// Whether a limit stopped one of them.
    pub fn cut(&self) -> bool {
        let cut = |report: &Report| matches!(report.verdict, Verdict::Incomplete(_));
        cut(&self.full) || cut(&self.reduced)
    }

    /// Whether the reduction did what it should.
    pub fn passed(&self) -> bool {
        let (full, reduced) = (&self.full.stats, &self.reduced.stats);
        let counts = match reduced.reduction {
            "sleep" => reduced.states == full.states && reduced.depth == full.depth,
            _ => reduced.forgets || reduced.states <= full.states,
        };
        self.cut() || (self.same_verdict() && (!self.complete() || counts))
    }
}

/// Compares the run that the options ask for with one that fires all transitions. An error if they ask
/// for no reduction.
pub fn audit_reduction(
    model: &Model,
    options: &CheckOptions,
    observer: &mut (dyn Observer + Send),
) -> Result<ReductionAudit, CheckError> {
    let full = CheckOptions {
        search: SearchKind::Bfs,
        reduction: Reduction::None,
        compress: false,
        checkpoint: None,
        ..options.clone()
    };
    let asked = (options.search, options.reduction, options.compress);
    if asked.0 != SearchKind::SleepDfs && asked.1 == Reduction::None && !asked.2 {
        let why = "there is no reduction to be compared: add --reduction sleep or stubborn, \
                   --compress-paths or --search sleep-dfs";
        return Err(CheckError::Options(why.to_string()));
    }
    let reduced = check(model, options, observer)?;
    let full = check(model, &full, observer)?;
    Ok(ReductionAudit { full, reduced })
}
