//! Random walks.

use crate::check::CheckError;
use crate::explain::Explainer;
use crate::load::{Model, on_large_stack};
use crate::options::{Engine, SimulateOptions};
use crate::report::{Finding, RuleStats, TraceStep};
use ergodic_interp::Interpreter;
use ergodic_ir::Instances;
use ergodic_jit::Jit;
use ergodic_search::{Moved, Random, Walk, WalkEnd};
use ergodic_system::System;
use std::time::{Duration, Instant};

/// What the walks came to.
#[derive(Clone, Debug)]
pub struct SimulationReport {
    /// Walks taken, the last one perhaps in part.
    pub walks: u64,
    /// Steps taken in all.
    pub steps: u64,
    /// Length of the longest walk.
    pub longest: u64,
    /// Walks that ended where nothing is enabled, deadlocks being allowed.
    pub stuck: u64,
    /// The violation that ended the last walk.
    pub finding: Option<Finding>,
    /// One entry per rule, in source order; `fresh` is not counted.
    pub rules: Vec<RuleStats>,
    /// Time taken.
    pub elapsed: Duration,
    /// Whether the time limit or the observer ended it.
    pub stopped: bool,
}

/// Watches walks.
pub trait WalkObserver: Send {
    /// Whether to be told every step; costs a replay by the interpreter for each.
    fn wants_steps(&self) -> bool;

    /// A step, if wanted: number in the walk (0 is the initial state), the step before it, itself.
    fn step(&mut self, walk: u64, number: u64, previous: Option<&TraceStep>, step: &TraceStep);

    /// Called now and then; false stops.
    fn go_on(&mut self, walk: u64, steps: u64) -> bool;
}

/// Walks through a model at random until something goes wrong or enough was walked.
pub fn simulate(
    model: &Model,
    options: &SimulateOptions,
    observer: &mut dyn WalkObserver,
) -> Result<SimulationReport, CheckError> {
    on_large_stack(|| {
        let interpreter = || Interpreter::new(model.program.clone(), options.deadlock);
        match options.engine {
            Engine::Interp => walks(model, &interpreter(), options, observer),
            Engine::Jit => match Jit::new(model.program.clone(), options.deadlock) {
                Ok(jit) => walks(model, &jit, options, observer),
                Err(_) => walks(model, &interpreter(), options, observer),
            },
        }
    })
}

/// Successors looked at in one go.
const BATCH: usize = 256;

fn walks<S: System>(
    model: &Model,
    system: &S,
    options: &SimulateOptions,
    observer: &mut dyn WalkObserver,
) -> Result<SimulationReport, CheckError> {
    let began = Instant::now();
    let explainer = Explainer::new(model, options.deadlock, None, false);
    let instances = Instances::new(&model.program);
    let mut fired = vec![0u64; model.program.actions.len()];
    let mut seeds = Random::new(options.seed);
    let mut report = SimulationReport {
        walks: 0,
        steps: 0,
        longest: 0,
        stuck: 0,
        finding: None,
        rules: Vec::new(),
        elapsed: Duration::ZERO,
        stopped: false,
    };
    while report.walks < options.walks && report.finding.is_none() && !report.stopped {
        let mut walk = Walk::new(system, seeds.next(), BATCH);
        let end = one_walk(&mut walk, options, began, &explainer, observer, &mut report);
        for label in walk.path() {
            if let (false, action, _) = instances.locate(*label) {
                fired[action] += 1;
            }
        }
        let length = (walk.path().len() as u64).saturating_sub(1);
        report.walks += 1;
        report.steps += length;
        report.longest = report.longest.max(length);
        match end {
            Some(WalkEnd::Violated(kind)) => {
                let path = walk.path().to_vec();
                let found = ergodic_search::Finding { path, kind, depth: length };
                let finding = explainer.explain(&found, false).map_err(CheckError::Internal)?;
                report.finding = Some(finding);
            }
            Some(WalkEnd::Stuck) => report.stuck += 1,
            None => {}
        }
    }
    report.rules = rules(model, &instances, &fired);
    report.elapsed = began.elapsed();
    Ok(report)
}

/// Steps between two looks at the clock.
const LOOK_EVERY: u64 = 64;

fn one_walk<S: System>(
    walk: &mut Walk<'_, S>,
    options: &SimulateOptions,
    began: Instant,
    explainer: &Explainer<'_>,
    observer: &mut dyn WalkObserver,
    report: &mut SimulationReport,
) -> Option<WalkEnd> {
    let verbose = observer.wants_steps();
    let mut previous: Option<TraceStep> = None;
    let mut source: Vec<u64> = Vec::new();
    for number in 0..=options.steps {
        if verbose {
            source = walk.state().to_vec();
        }
        let before = walk.path().len();
        let moved = walk.advance();
        if verbose && walk.path().len() > before {
            let step = explainer.fire(&source, walk.path()[before]);
            observer.step(report.walks, number, previous.as_ref(), &step);
            previous = Some(step);
        }
        if let Moved::End(end) = moved {
            return Some(end);
        }
        if number % LOOK_EVERY == 0 {
            let late = options.time_limit.is_some_and(|limit| began.elapsed() >= limit);
            if late || !observer.go_on(report.walks, report.steps + number) {
                report.stopped = true;
                return None;
            }
        }
    }
    None
}

fn rules(model: &Model, instances: &Instances, fired: &[u64]) -> Vec<RuleStats> {
    let actions = model.program.actions.iter().enumerate();
    let mut rules: Vec<RuleStats> = actions
        .map(|(i, action)| RuleStats {
            name: action.name.clone(),
            span: action.span,
            instances: instances.count(false, i),
            fired: fired[i],
            fresh: 0,
        })
        .collect();
    rules.sort_by_key(|rule| rule.span.start);
    rules
}
