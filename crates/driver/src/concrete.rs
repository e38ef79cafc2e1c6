//! Counterexamples found under symmetry, as runs of the model: every value keeps its name.
//!
//! The labels of such a path were fired in canonical states. The states are computed again from
//! them, and a run is followed through their orbits from a concrete start (see
//! [`ergodic_symmetry::concretise`]); a fault at the end is the one that the run's last state has.

use ergodic_interp::{FireOne, Interpreter};
use ergodic_search::Finding;
use ergodic_symmetry::{Symmetries, concretise};
use ergodic_system::{
    Batch, Block, Cursor, Fault, Label, PAD_WORDS, RuleSystem, Step, System, ViolationKind,
};

/// The finding with a path that can be executed step by step.
pub(crate) fn concrete(
    interpreter: &Interpreter,
    symmetries: &Symmetries,
    found: &Finding,
) -> Result<Finding, String> {
    let Some((first, rest)) = found.path.split_first() else { return Ok(found.clone()) };
    let mut scratch = RuleSystem::scratch(interpreter);
    let mut canon = symmetries.scratch();
    let start = match interpreter.fire_label(&mut scratch, &[], *first) {
        Ok(FireOne::State(state)) => state,
        // A fault of an initial state needs no path.
        Err(_) => return Ok(found.clone()),
        Ok(FireOne::Disabled | FireOne::Dropped) => return Err("the start state is not one".into()),
    };
    let mut here = start.clone();
    symmetries.represent(&mut canon, &mut here);
    let mut chain = vec![here.clone()];
    let mut faulting = None;
    for (i, label) in rest.iter().enumerate() {
        match interpreter.fire_label(&mut scratch, &here, *label) {
            Ok(FireOne::State(mut state)) => {
                symmetries.represent(&mut canon, &mut state);
                here.clone_from(&state);
                chain.push(state);
            }
            Err(fault) if i + 1 == rest.len() => faulting = Some(fault),
            _ => return Err(format!("step {} of a path does not fire", i + 1)),
        }
    }
    let steps = concretise(symmetries, &start, &chain, |state| successors(interpreter, state).0)
        .map_err(|error| error.to_string())?;
    let last = steps.last().map_or(&start, |(_, state)| state);
    let mut path = vec![*first];
    path.extend(steps.iter().map(|(label, _)| *label));
    let kind = match (found.kind, faulting) {
        (ViolationKind::Fault(_), Some(fault)) => {
            let (label, fault) = same_fault(&successors(interpreter, last).1, fault)
                .ok_or("the fault at the end of a path is not in the run")?;
            path.push(label);
            ViolationKind::Fault(fault)
        }
        (ViolationKind::Fault(fault), None) => property_fault(interpreter, last, fault),
        (kind, _) => kind,
    };
    Ok(Finding { path, kind, depth: found.depth })
}

type Steps = Vec<(Label, Vec<u64>)>;

/// All successors of a state, and the faults on the way.
fn successors(interpreter: &Interpreter, state: &[u64]) -> (Steps, Vec<(Label, Fault)>) {
    let (mut steps, mut faults) = (Vec::new(), Vec::new());
    let mut padded = state.to_vec();
    padded.extend([0; PAD_WORDS]);
    let block = Block::new(&padded, state.len(), 1);
    let mut scratch = System::scratch(interpreter);
    let mut batch = Batch::new(System::shape(interpreter), 256);
    let mut cursor = Cursor::default();
    loop {
        batch.clear();
        let step = interpreter.expand(&mut scratch, block, &mut cursor, &mut batch);
        steps.extend((0..batch.len()).map(|i| (batch.labels()[i], batch.state(i).to_vec())));
        match step {
            Step::Done => return (steps, faults),
            Step::Full => {}
            Step::Violation(violation) => {
                if let (ViolationKind::Fault(fault), Some(label)) =
                    (violation.kind, violation.label)
                {
                    faults.push((label, fault));
                }
            }
        }
    }
}

/// A fault of the same kind at the same place; the value may be another member of its orbit.
fn same_fault(faults: &[(Label, Fault)], wanted: Fault) -> Option<(Label, Fault)> {
    let same = |fault: Fault| (fault.kind, fault.site) == (wanted.kind, wanted.site);
    faults.iter().copied().find(|(_, fault)| same(*fault))
}

/// The fault of a property in this member of the orbit.
fn property_fault(interpreter: &Interpreter, state: &[u64], wanted: Fault) -> ViolationKind {
    let mut scratch = RuleSystem::scratch(interpreter);
    let all = 0..interpreter.program().properties.len();
    let mut faults = all.filter_map(|i| interpreter.eval_property(&mut scratch, state, i).err());
    let same = faults.find(|fault| (fault.kind, fault.site) == (wanted.kind, wanted.site));
    ViolationKind::Fault(same.unwrap_or(wanted))
}
