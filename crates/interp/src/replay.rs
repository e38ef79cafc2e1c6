//! Paths, executed again: the last word on every counterexample, and the material to show it.

use crate::explain::Explained;
use crate::memory::Scratch;
use crate::{FireOne, Interpreter};
use ergodic_system::{Fault, Label, RuleSystem, ViolationKind};
use std::fmt;

/// A path that was executed.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayedTrace {
    /// The steps that led to a state; the first one is an initial state.
    pub steps: Vec<ReplayedStep>,
    /// The last step of the path, if it faulted.
    pub faulted: Option<FaultedStep>,
    /// The fault at the end, if there is one: of the last step, or of a property in the last state.
    pub fault: Option<Explained>,
}

/// A step that led to a state.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayedStep {
    /// The rule instance.
    pub label: Label,
    /// The state after it.
    pub state: Vec<u64>,
    /// What the model printed.
    pub printed: String,
}

/// A step that faulted.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultedStep {
    /// The rule instance.
    pub label: Label,
    /// The state as far as it was made; multisets may be unsorted.
    pub state: Vec<u64>,
    /// What the model printed up to the fault.
    pub printed: String,
}

/// One firing, explained.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReport {
    /// What came of it.
    pub outcome: Result<FireOne, Explained>,
    /// What the model printed.
    pub printed: String,
    /// The state as it was left: the successor, or as far as it was made.
    pub left: Vec<u64>,
}

/// Why a path does not show what it is said to show. Steps are counted from zero.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayError {
    /// There is no step.
    Empty,
    /// No rule instance has the label of this step.
    UnknownLabel(usize),
    /// The first step is no initial state, or a later one is.
    Misplaced(usize),
    /// The rule of this step is not enabled.
    Disabled(usize),
    /// A rule with a lesser priority number is enabled (or faults) where this step fires.
    Outranked(usize),
    /// The state that this step leads to is out of scope by an assumption.
    Dropped(usize),
    /// A step faults unexpectedly: not the last one, or with another fault, or none was claimed.
    Faulted(usize, Explained),
    /// The path can be executed, but its end is not as claimed.
    NotViolated,
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Empty => write!(f, "the path has no step"),
            ReplayError::UnknownLabel(step) => write!(f, "step {step} is of no rule"),
            ReplayError::Misplaced(step) => {
                write!(f, "step {step}: only the first step must be an initial state")
            }
            ReplayError::Disabled(step) => write!(f, "the rule of step {step} is not enabled"),
            ReplayError::Outranked(step) => {
                write!(f, "a rule of higher priority is enabled at step {step}")
            }
            ReplayError::Dropped(step) => {
                write!(f, "step {step} leads out of scope by an assumption")
            }
            ReplayError::Faulted(step, fault) => write!(f, "step {step} faults: {}", fault.message),
            ReplayError::NotViolated => {
                write!(f, "the path can be executed, but its end is not as claimed")
            }
        }
    }
}

impl std::error::Error for ReplayError {}

impl Interpreter {
    /// Executes a path: the first label is of an initial state, the others are of actions. `claim` is
    /// what is said about its end, and is checked:
    /// * `None`: the path can be executed;
    /// * a property or a deadlock: the last state violates it (see [`Interpreter::check_state`]);
    /// * a fault: the last step faults so, or some property does so in the last state.
    pub fn replay(
        &self,
        path: &[Label],
        claim: Option<ViolationKind>,
    ) -> Result<ReplayedTrace, ReplayError> {
        let mut steps: Vec<ReplayedStep> = Vec::with_capacity(path.len());
        let mut scratch = self.scratch();
        for (i, label) in path.iter().enumerate() {
            let source = steps.last().map_or(&[][..], |step| step.state.as_slice());
            self.may_fire(&mut scratch, source, i, *label)?;
            let StepReport { outcome, printed, left } = self.explain_label(source, *label);
            match outcome {
                Ok(FireOne::Disabled) => return Err(ReplayError::Disabled(i)),
                Ok(FireOne::Dropped) => return Err(ReplayError::Dropped(i)),
                Ok(FireOne::State(state)) => {
                    steps.push(ReplayedStep { label: *label, state, printed });
                }
                Err(fault) => {
                    let claimed = claim == Some(ViolationKind::Fault(fault.fault()));
                    if i + 1 < path.len() || !claimed {
                        return Err(ReplayError::Faulted(i, fault));
                    }
                    let faulted = FaultedStep { label: *label, state: left, printed };
                    return Ok(ReplayedTrace { steps, faulted: Some(faulted), fault: Some(fault) });
                }
            }
        }
        let last = steps.last().ok_or(ReplayError::Empty)?;
        let fault = self.check_end(&mut scratch, &last.state, claim)?;
        Ok(ReplayedTrace { steps, faulted: None, fault })
    }

    /// Fires one instance and keeps what is printed and why it faults: for replay and simulation.
    /// For an initial state the source does not matter.
    ///
    /// # Panics
    /// If the label is not of this program.
    pub fn explain_label(&self, source: &[u64], label: Label) -> StepReport {
        let mut scratch = self.explaining();
        let outcome = self.fire_label(&mut scratch, source, label);
        let explain = *scratch.explain.take().unwrap_or_default();
        let outcome = outcome.map_err(|fault| explained(fault, explain.fault));
        StepReport { outcome, printed: explain.printed, left: scratch.state }
    }

    /// As [`Interpreter::eval_property`], with an explained fault.
    pub fn explain_property(&self, state: &[u64], property: usize) -> Result<bool, Explained> {
        let mut scratch = self.explaining();
        let outcome = self.eval_property(&mut scratch, state, property);
        let explain = *scratch.explain.take().unwrap_or_default();
        outcome.map_err(|fault| explained(fault, explain.fault))
    }

    fn explaining(&self) -> Scratch {
        let mut scratch = self.scratch();
        scratch.explain = Some(Box::default());
        scratch
    }

    /// Whether step `i` of a path may be of this label.
    fn may_fire(
        &self,
        scratch: &mut Scratch,
        source: &[u64],
        i: usize,
        label: Label,
    ) -> Result<(), ReplayError> {
        if u128::from(label.0) >= self.instances().total() {
            return Err(ReplayError::UnknownLabel(i));
        }
        let (initial, rule, _) = self.instances().locate(label);
        if initial != (i == 0) {
            return Err(ReplayError::Misplaced(i));
        }
        if !initial && self.outranked(scratch, source, rule as u32) {
            return Err(ReplayError::Outranked(i));
        }
        Ok(())
    }

    /// Checks a claim about the last state; the explanation if it is a fault.
    fn check_end(
        &self,
        scratch: &mut Scratch,
        state: &[u64],
        claim: Option<ViolationKind>,
    ) -> Result<Option<Explained>, ReplayError> {
        match claim {
            None => Ok(None),
            Some(ViolationKind::Fault(fault)) => {
                let all = 0..self.program().properties.len();
                let mut faults = all.filter_map(|i| self.explain_property(state, i).err());
                let same = faults.find(|explained| explained.fault() == fault);
                same.map(Some).ok_or(ReplayError::NotViolated)
            }
            Some(claim) if self.check_state(scratch, state, claim) => Ok(None),
            Some(_) => Err(ReplayError::NotViolated),
        }
    }
}

impl Explained {
    /// The fault as executors report it.
    pub fn fault(&self) -> Fault {
        self.kind.at(self.site, self.value)
    }
}

fn explained(fault: Fault, explained: Option<Explained>) -> Explained {
    explained
        .filter(|explained| explained.fault() == fault)
        .expect("every fault is made by Machine::fault, which explains it")
}
