//! What the state space of a model looks like: levels, branching, locality, rules and variables.
//!
//! A profile is no judgement: properties are not evaluated, so that nothing they say cuts the
//! exploration short. A fault leaves out the successor that it prevented. The exploration is the
//! sequential breadth-first search over the numbered store; then all states are expanded again (see
//! [`ergodic_search::locality`]), and looked at once more for the values of variables.

use crate::build::symmetries;
use crate::check::{CheckError, limits};
use crate::load::{Model, on_large_stack};
use crate::options::{CheckOptions, Engine, Symmetry};
use crate::report::RuleStats;
use crate::variables::{VariableStats, Variables};
use ergodic_diag::Diagnostic;
use ergodic_interp::Interpreter;
use ergodic_ir::{Instances, Layout};
use ergodic_jit::Jit;
use ergodic_queue::memory::MemoryQueue;
use ergodic_search::{
    Ending, Limits, Locality, LookUp, Observer, Outcome, Progress, Unobserved, Watch, bfs, locality,
};
use ergodic_store::exact::ExactStore;
use ergodic_symmetry::Reduced;
use ergodic_system::{
    Batch, Block, Cursor, DeadlockMode, Picks, Reason, Shape, Step, System, Violation,
    ViolationKind,
};
use std::time::{Duration, Instant};

/// How a model is profiled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileOptions {
    /// Executor.
    pub engine: Engine,
    /// Symmetry reduction.
    pub symmetry: Symmetry,
    /// Look successors up before they are reduced, which is a mistake (see [`LookUp::AsFired`]).
    pub look_up_first: bool,
    /// Stop at the first violation after all, as a check does.
    pub until_violation: bool,
    /// What then counts as a deadlock.
    pub deadlock: DeadlockMode,
    /// Stop after this many states.
    pub max_states: Option<u64>,
    /// Do not expand states this deep.
    pub max_depth: Option<u64>,
    /// Stop after this time: half of it is for exploring, half for measuring.
    pub time_limit: Option<Duration>,
    /// Bytes for states and frontier.
    pub memory: Option<u64>,
}

/// What a profile is of.
#[derive(Clone, Debug, PartialEq)]
pub enum Scope {
    /// All reachable states.
    Whole,
    /// The states up to the first violation, of this name.
    UntilViolation(String),
    /// What was seen until it was stopped.
    Part(Reason),
}

/// What the state space of a model looks like.
#[derive(Clone, Debug)]
pub struct Profile {
    /// What it is of.
    pub scope: Scope,
    /// Distinct states.
    pub states: u64,
    /// Rule firings.
    pub transitions: u64,
    /// Number of the last level.
    pub depth: u64,
    /// States of the largest level.
    pub max_frontier: u64,
    /// States per level.
    pub levels: Vec<u64>,
    /// Bits of a packed state.
    pub state_bits: usize,
    /// The steps of the states that were expanded to the end.
    pub locality: Locality,
    /// One entry per rule, in source order.
    pub rules: Vec<RuleStats>,
    /// One entry per variable, in order of declaration.
    pub variables: Vec<VariableStats>,
    /// How many kinds of faults there are, by kind and place.
    pub faults: usize,
    /// Executor used.
    pub engine: &'static str,
    /// Symmetry reduction used.
    pub symmetry: &'static str,
    /// Time taken.
    pub elapsed: Duration,
    /// Facts about the run that a reader should know.
    pub notes: Vec<String>,
    /// What is doubtful in the model.
    pub warnings: Vec<Diagnostic>,
}

/// Explores a model and measures its state space.
pub fn profile(
    model: &Model,
    options: &ProfileOptions,
    observer: &mut (dyn Observer + Send),
) -> Result<Profile, CheckError> {
    on_large_stack(|| {
        let deadlock = if options.until_violation { options.deadlock } else { DeadlockMode::Off };
        let mut run = Run::new(model, options);
        match options.engine {
            Engine::Jit => match Jit::new(model.program.clone(), deadlock) {
                Ok(jit) => return Ok(run.reduce(jit, observer)),
                Err(error) => run
                    .notes
                    .push(format!("the compiler refused the model ({error}); interpreted instead")),
            },
            Engine::Interp => {}
        }
        run.engine = "interp";
        Ok(run.reduce(Interpreter::new(model.program.clone(), deadlock), observer))
    })
}

/// How long the measuring may go on after the exploration was interrupted.
const GRACE: Duration = Duration::from_secs(2);

/// States between two looks at the clock.
const LOOK_EVERY: u64 = 256;

/// One profile of one model.
struct Run<'a> {
    model: &'a Model,
    options: &'a ProfileOptions,
    engine: &'static str,
    symmetry: &'static str,
    notes: Vec<String>,
    warnings: Vec<Diagnostic>,
    began: Instant,
}

impl<'a> Run<'a> {
    fn new(model: &'a Model, options: &'a ProfileOptions) -> Run<'a> {
        let began = Instant::now();
        let (notes, warnings) = (Vec::new(), Vec::new());
        Run { model, options, engine: "jit", symmetry: "off", notes, warnings, began }
    }

    fn reduce<S: System>(mut self, system: S, observer: &mut dyn Observer) -> Profile {
        let symmetries = symmetries(self.model, self.options.symmetry, &mut self.warnings);
        match symmetries {
            Some(symmetries) => {
                self.symmetry = self.options.symmetry.name();
                self.notes.push(
                    "with symmetry reduction the values of variables are those of one state of each \
                     orbit; --symmetry off shows all"
                        .to_string(),
                );
                let reduced = Reduced::new(system, symmetries);
                if self.options.look_up_first {
                    self.notes.push(
                        "locality is measured with a mistake, as it was asked for: successors are looked up \
                         before they are reduced, and are new if they are not found"
                            .to_string(),
                    );
                    return self.run(&reduced, (reduced.inner(), LookUp::AsFired), observer);
                }
                self.run(&reduced, (&reduced, LookUp::AsStored), observer)
            }
            None => self.run(&system, (&system, LookUp::AsStored), observer),
        }
    }

    fn limits(&self) -> Limits {
        let options = self.options;
        let mut limits = limits(
            &CheckOptions {
                max_states: options.max_states,
                max_depth: options.max_depth,
                memory: options.memory,
                traces: false,
                max_errors: if options.until_violation { 1 } else { usize::MAX },
                ..CheckOptions::default()
            },
            self.began,
        );
        limits.deadline = options.time_limit.and_then(|limit| self.began.checked_add(limit / 2));
        limits
    }

    /// `measured`: the system whose steps are measured.
    fn run<S: System, M: System>(
        self,
        system: &S,
        (measured, look_up): (&M, LookUp),
        observer: &mut dyn Observer,
    ) -> Profile {
        let limits = self.limits();
        let mut store = ExactStore::new(system.shape(), limits.memory);
        let mut frontier = MemoryQueue::new(system.shape());
        let outcome = if self.options.until_violation {
            bfs(system, &mut store, &mut frontier, &limits, observer)
        } else {
            bfs(&Unjudged(system), &mut store, &mut frontier, &limits, observer)
        };
        drop(frontier);
        // Measuring needs no memory to speak of, and as much time as exploring.
        let mut limits = Limits { memory: None, ..limits };
        limits.deadline = self.options.time_limit.and_then(|limit| self.began.checked_add(limit));
        let interrupted = outcome.ending == Ending::Stopped(Reason::Interrupted);
        let mut alone = Unobserved;
        let observer = if interrupted { &mut alone } else { observer };
        let grace = |limits: &mut Limits| {
            if interrupted {
                limits.deadline = Instant::now().checked_add(GRACE);
            }
        };
        grace(&mut limits);
        let mut variables = Variables::new(&self.model.program);
        let looked = look(&mut variables, &store, &outcome, &limits, observer);
        grace(&mut limits);
        let measured = locality(measured, &store, &outcome, look_up, &limits, observer);
        self.finish(&outcome, measured, (&variables, looked))
    }

    fn finish(
        mut self,
        outcome: &Outcome,
        locality: Locality,
        (variables, (looked, seen)): (&Variables<'_>, (Ending, u64)),
    ) -> Profile {
        let stats = &outcome.stats;
        let reason = |ending: &Ending| match ending {
            Ending::Stopped(reason) => Some(reason.clone()),
            Ending::Complete | Ending::Enough => None,
        };
        let endings = [&outcome.ending, &locality.ending, &looked];
        let stopped = endings.into_iter().find_map(reason);
        let violation = self.violation(outcome).filter(|_| outcome.ending == Ending::Enough);
        let scope = match (stopped, violation) {
            (Some(reason), _) => Scope::Part(self.in_words_of_the_user(reason)),
            (None, Some(name)) => Scope::UntilViolation(name),
            (None, None) => Scope::Whole,
        };
        let is_fault = |kind: &ViolationKind| matches!(kind, ViolationKind::Fault(_));
        let faults = outcome.findings.iter().filter(|f| is_fault(&f.kind)).count();
        if seen < stats.states {
            self.notes.push(format!("the values of variables are those of {seen} states only"));
        }
        if variables.more {
            self.notes
                .push("not all parts of the state are listed: there are too many".to_string());
        }
        Profile {
            scope,
            states: stats.states,
            transitions: stats.transitions,
            depth: stats.depth,
            max_frontier: stats.max_frontier,
            levels: stats.levels.clone(),
            state_bits: Layout::new(&self.model.program).shape().bits,
            locality,
            rules: self.rules(outcome),
            variables: variables.stats(),
            faults,
            engine: self.engine,
            symmetry: self.symmetry,
            elapsed: self.began.elapsed(),
            notes: self.notes,
            warnings: self.warnings,
        }
    }

    /// What was violated first.
    fn violation(&self, outcome: &Outcome) -> Option<String> {
        Some(match outcome.findings.first()?.kind {
            ViolationKind::Property(number) => {
                self.model.program.properties.get(number as usize)?.name.clone()
            }
            ViolationKind::Fault(_) => "fault".to_string(),
            ViolationKind::Deadlock => "deadlock".to_string(),
        })
    }

    /// The search knows its deadline only as a point in time; people gave a length.
    fn in_words_of_the_user(&self, reason: Reason) -> Reason {
        match (reason, self.options.time_limit) {
            (Reason::TimeLimit(_), Some(limit)) => Reason::TimeLimit(limit.as_secs_f64()),
            // The grace after an interruption.
            (Reason::TimeLimit(_), None) => Reason::Interrupted,
            (reason, _) => reason,
        }
    }

    fn rules(&self, outcome: &Outcome) -> Vec<RuleStats> {
        let instances = Instances::new(&self.model.program);
        let actions = self.model.program.actions.iter().enumerate();
        let mut rules: Vec<RuleStats> = actions
            .map(|(i, action)| RuleStats {
                name: action.name.clone(),
                span: action.span,
                instances: instances.count(false, i),
                fired: outcome.stats.fired.get(i).copied().unwrap_or(0),
                fresh: outcome.stats.fresh.get(i).copied().unwrap_or(0),
            })
            .collect();
        rules.sort_by_key(|rule| rule.span.start);
        rules
    }
}

/// Shows all states to the variables; says how many they saw.
fn look(
    variables: &mut Variables<'_>,
    store: &ExactStore,
    outcome: &Outcome,
    limits: &Limits,
    observer: &mut dyn Observer,
) -> (Ending, u64) {
    let states = outcome.stats.states;
    let mut watch = Watch::new(limits, observer, 1);
    for (number, state) in (0..states).zip(store.states()) {
        variables.see(state);
        if number % LOOK_EVERY == 0 {
            let progress = Progress {
                states,
                transitions: outcome.stats.transitions,
                depth: outcome.stats.depth,
                waiting: states - number,
                bytes: store.bytes(),
            };
            if let Err(ending) = watch.look(&progress) {
                return (ending, number + 1);
            }
        }
    }
    (Ending::Complete, states)
}

/// A system without properties.
struct Unjudged<'s, S>(&'s S);

impl<S: System> System for Unjudged<'_, S> {
    type Scratch = S::Scratch;

    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn scratch(&self) -> S::Scratch {
        self.0.scratch()
    }

    fn rules(&self) -> usize {
        self.0.rules()
    }

    fn initial(&self, scratch: &mut S::Scratch, at: &mut Cursor, out: &mut Batch) -> Step {
        self.0.initial(scratch, at, out)
    }

    fn expand(
        &self,
        scratch: &mut S::Scratch,
        src: Block<'_>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Step {
        self.0.expand(scratch, src, at, out)
    }

    fn judge(
        &self,
        _scratch: &mut S::Scratch,
        _states: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation> {
        *at = fresh.len();
        None
    }

    fn goals<'s>(&self, _scratch: &'s S::Scratch) -> &'s [u64] {
        &[]
    }
}
