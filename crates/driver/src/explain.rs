//! From a path of labels to a counterexample that a person can read: executed again by the
//! interpreter, which must confirm what the search claims.

use crate::concrete::concrete;
use crate::load::Model;
use crate::report::{Finding, FindingKind, TraceStep};
use ergodic_interp::{Explained, Interpreter, ReplayedTrace};
use ergodic_ir::{FaultKind, PropertyKind, Site, domain_value, show};
use ergodic_symmetry::Symmetries;
use ergodic_system::{DeadlockMode, Label, ViolationKind};

/// Replays and words the findings of a search.
pub(crate) struct Explainer<'a> {
    model: &'a Model,
    interpreter: Interpreter,
    /// What the states of the search were reduced by.
    symmetries: Option<Symmetries>,
    /// Whether the search found its first violation on a shortest path.
    shortest: bool,
}

impl<'a> Explainer<'a> {
    pub(crate) fn new(
        model: &'a Model,
        deadlock: DeadlockMode,
        symmetries: Option<Symmetries>,
        shortest: bool,
    ) -> Explainer<'a> {
        let interpreter = Interpreter::new(model.program.clone(), deadlock);
        Explainer { model, interpreter, symmetries, shortest }
    }

    /// Words a finding; `first` says that no other was found before it. An error means that the
    /// interpreter does not confirm it.
    pub(crate) fn explain(
        &self,
        found: &ergodic_search::Finding,
        first: bool,
    ) -> Result<Finding, String> {
        let found = &match &self.symmetries {
            Some(symmetries) => concrete(&self.interpreter, symmetries, found)
                .map_err(|why| format!("a counterexample cannot be made concrete: {why}"))?,
            None => found.clone(),
        };
        let replayed =
            match found.path.is_empty() {
                true => None,
                false => Some(self.interpreter.replay(&found.path, Some(found.kind)).map_err(
                    |error| format!("a counterexample does not replay in the interpreter: {error}"),
                )?),
            };
        let fault = replayed.as_ref().and_then(|trace| trace.fault.as_ref());
        let mut finding = match found.kind {
            ViolationKind::Deadlock => self.deadlock(),
            ViolationKind::Property(number) => self.property(number as usize),
            ViolationKind::Fault(fault_found) => {
                self.fault(FaultKind::of(fault_found), Site(fault_found.site), fault)
            }
        };
        finding.trace = replayed.map(|trace| self.steps(&trace)).unwrap_or_default();
        finding.depth = match finding.trace.len() {
            0 => found.depth,
            steps => steps as u64 - 1,
        };
        finding.shortest = self.shortest && first;
        Ok(finding)
    }

    fn deadlock(&self) -> Finding {
        finding(
            FindingKind::Deadlock,
            "",
            "deadlock: a state is reachable that has no way on".to_string(),
            Some(
                "if the model may end there, use --deadlock off (or stuck, to allow states that only lead to themselves)",
            ),
        )
    }

    fn property(&self, number: usize) -> Finding {
        let property = &self.model.program.properties[number];
        let name = &property.name;
        let (kind, message) = match property.kind {
            PropertyKind::Liveness => (
                FindingKind::Liveness,
                format!(
                    "liveness property \"{name}\" fails: a state is reachable from which it can never hold again"
                ),
            ),
            PropertyKind::Cover => {
                (FindingKind::Cover, format!("cover goal \"{name}\" is not met"))
            }
            PropertyKind::Invariant | PropertyKind::Assumption => {
                (FindingKind::Invariant, format!("invariant \"{name}\" does not hold"))
            }
        };
        Finding { span: Some(property.span), ..finding(kind, name, message, None) }
    }

    fn fault(&self, kind: Option<FaultKind>, site: Site, explained: Option<&Explained>) -> Finding {
        let info = &self.model.program.sites[site.0 as usize];
        let text = &info.text;
        let (what, message, help) = match kind {
            Some(FaultKind::Assertion) => {
                (FindingKind::Assertion, format!("assertion failed: {text}"), None)
            }
            Some(FaultKind::Error) => {
                (FindingKind::Error, format!("error statement reached: {text}"), None)
            }
            kind => {
                let message = explained.map_or_else(
                    || kind.map_or("fault".to_string(), |kind| format!("{}: {text}", plain(kind))),
                    |explained| explained.message.clone(),
                );
                (FindingKind::Fault, message, kind.and_then(way_out))
            }
        };
        Finding { span: Some(info.span), ..finding(what, text, message, help) }
    }

    fn steps(&self, trace: &ReplayedTrace) -> Vec<TraceStep> {
        let whole = trace
            .steps
            .iter()
            .map(|step| self.step(step.label, &step.state, step.printed.clone(), false));
        let cut = trace
            .faulted
            .iter()
            .map(|step| self.step(step.label, &step.state, step.printed.clone(), true));
        whole.chain(cut).collect()
    }

    /// One step in words.
    pub(crate) fn step(
        &self,
        label: Label,
        state: &[u64],
        output: String,
        faulted: bool,
    ) -> TraceStep {
        let program = &self.model.program;
        let instances = self.interpreter.instances();
        let (initial, number, instance) = instances.locate(label);
        let action = if initial { &program.starts[number] } else { &program.actions[number] };
        let ordinals = instances.ordinals(initial, number, instance);
        let mut params: Vec<_> = action.params.iter().zip(ordinals).collect();
        params.sort_by_key(|(param, _)| param.local);
        let params = params.into_iter().map(|(param, ordinal)| {
            let local = &action.locals[param.local.0 as usize];
            let code = domain_value(&param.over, &program.types, ordinal);
            (local.name.clone(), show::scalar(program, local.ty, code))
        });
        TraceStep {
            rule: action.name.clone(),
            params: params.collect(),
            span: action.span,
            state: show::leaves(program, self.interpreter.layout(), state),
            output,
            faulted,
        }
    }

    /// Fires one instance for a walk that is shown as it goes.
    pub(crate) fn fire(&self, source: &[u64], label: Label) -> TraceStep {
        let report = self.interpreter.explain_label(source, label);
        self.step(label, &report.left, report.printed, report.outcome.is_err())
    }
}

fn finding(kind: FindingKind, name: &str, message: String, help: Option<&str>) -> Finding {
    Finding {
        kind,
        name: name.to_string(),
        message,
        help: help.map(str::to_string),
        span: None,
        depth: 0,
        shortest: false,
        trace: Vec::new(),
    }
}

fn plain(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Undefined => "undefined value",
        FaultKind::Range => "value out of range",
        FaultKind::Index => "index out of range",
        FaultKind::DivisionByZero => "division by zero",
        FaultKind::Overflow => "arithmetic overflow",
        FaultKind::Assertion => "assertion failed",
        FaultKind::Error => "error statement reached",
        FaultKind::LoopLimit => "loop limit",
        FaultKind::Step => "bad loop step",
        FaultKind::CallDepth => "calls nested too deeply",
        FaultKind::NoReturn => "function without a result",
        FaultKind::MultisetFull => "multiset full",
        FaultKind::AbsentElement => "absent element of a multiset",
    }
}

fn way_out(kind: FaultKind) -> Option<&'static str> {
    Some(match kind {
        FaultKind::Undefined => "assign it first, or test it with isundefined",
        FaultKind::Range => "widen the type, or guard the assignment",
        FaultKind::Index => "widen the index type, or test the index first",
        FaultKind::DivisionByZero => "test the divisor first",
        FaultKind::Overflow => "keep the operands smaller",
        FaultKind::LoopLimit => "if the loop does end, raise --loop-limit",
        FaultKind::Step => "a step must not be zero",
        FaultKind::CallDepth => "if the recursion does end, raise --call-limit",
        FaultKind::NoReturn => "every way through a function needs a return with a value",
        FaultKind::MultisetFull => "raise the capacity of the multiset, or guard the addition",
        FaultKind::AbsentElement => "the element was removed before",
        FaultKind::Assertion | FaultKind::Error => return None,
    })
}
