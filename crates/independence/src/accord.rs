//! Which instances accord: wherever both are enabled, they commute.
//!
//! Independence asks that neither instance has anything to do with whether the other is enabled, in
//! any state. Sleep sets and stubborn sets need less, that in every state in which *both* are enabled
//! neither disables the other and both orders lead to the same state: a sleeping instance is enabled,
//! and for instances that are disabled stubborn sets have the necessary enabling sets. Pairs that
//! accord are, besides the independent ones,
//!
//! * *never enabled together:* rules of different priorities; instances whose guards need different
//!   values of a cell (by the enumeration of single conjuncts, [`crate::conjuncts`]); pairs whose
//!   guards are not both true for any valuation of all the cells that they read;
//! * *commuting updates:* for every valuation of all cells that either touches with which both are
//!   enabled, each does the same before and after the other (leads to a state, is dropped by an
//!   assumption of its body, or faults), and both orders end in the same state. If in addition
//!   neither is enabled by the other for any valuation, the pair is independent.
//!
//! Everything is proved by trying all valuations with the interpreter, and nothing is claimed where
//! there are too many. A cell that is written and never read is tried with two values only: whoever
//! leaves it alone is told by one of them from whoever writes it.
//!
//! Refinements of this kind: Godefroid and Pirottin, "Refining dependencies improves partial-order
//! verification methods", CAV 1993.

use crate::Budget;
use crate::conjuncts::{Allowed, CellKey, Trial};
use crate::domains::{Cell, cells, for_each, valuations};
use crate::footprint::Footprint;
use crate::matrix::{BitMatrix, columns, complement, join, put};
use crate::numbers::{InstanceId, Numbering};
use ergodic_interp::{FireOne, Interpreter, Scratch};
use ergodic_ir::{Layout, Program, PropertyKind};
use ergodic_system::{DeadlockMode, Fault, Label, RuleSystem};
use std::collections::HashMap;
use std::sync::Arc;

/// Pairs that are looked at; there may be hundreds of millions.
const MAX_PAIRS: u64 = 4 << 20;

/// Valuations per pair, in rounds: pairs that are cheap to prove come first.
const ROUNDS: [u64; 3] = [64, 512, u64::MAX];

/// Pairs that are never enabled together, from what is known where each is enabled.
pub(crate) fn exclusive(
    program: &Program,
    numbering: &Numbering,
    enabled: &[Allowed],
) -> BitMatrix {
    let n = enabled.len();
    let mut out = BitMatrix::new(n, n);
    let mut users: HashMap<CellKey, HashMap<&[u64], Vec<u64>>> = HashMap::new();
    let words = n.div_ceil(64);
    for (id, allowed) in enabled.iter().enumerate() {
        for (cell, mask) in &allowed.cells {
            let groups = users.entry(*cell).or_default();
            put(groups.entry(mask).or_insert_with(|| vec![0; words]), id);
        }
    }
    for (id, allowed) in enabled.iter().enumerate() {
        let row = out.row_mut(id);
        for (cell, mask) in &allowed.cells {
            for (other, members) in users.get(cell).into_iter().flatten() {
                if mask.iter().zip(*other).all(|(a, b)| a & b == 0) {
                    join(row, members);
                }
            }
        }
    }
    add_never(enabled, &mut out);
    add_ranks(program, numbering, &mut out);
    (0..n).for_each(|id| out.unset(id, id));
    out
}

/// Instances that are never enabled exclude all others.
fn add_never(enabled: &[Allowed], out: &mut BitMatrix) {
    let n = enabled.len();
    let never: Vec<usize> = (0..n).filter(|id| enabled[*id].never).collect();
    for id in &never {
        (0..n).for_each(|other| out.set(*id, other));
    }
    for id in 0..n {
        never.iter().for_each(|other| out.set(id, *other));
    }
}

/// Of the rules of different priorities only those of one class may fire.
fn add_ranks(program: &Program, numbering: &Numbering, out: &mut BitMatrix) {
    if numbering.is_lumped() {
        return;
    }
    let mut classes: HashMap<i64, Vec<u64>> = HashMap::new();
    let words = out.columns().div_ceil(64);
    let priority = |id: InstanceId| program.actions[numbering.rule(id)].priority;
    for id in numbering.all() {
        put(classes.entry(priority(id)).or_insert_with(|| vec![0; words]), id.index());
    }
    for id in numbering.all() {
        let others = classes.iter().filter(|(class, _)| **class != priority(id));
        others.for_each(|(_, members)| join(out.row_mut(id.index()), members));
    }
}

/// What enumeration finds out about a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    /// Nothing.
    None,
    /// Wherever both are enabled, they commute.
    Accord,
    /// They also never enable each other.
    Independent,
}

/// What came of a firing, as far as it matters to the other.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Disabled,
    Dropped,
    Fault(Fault),
    State(Vec<u64>),
}

impl Outcome {
    fn like(&self, other: &Outcome) -> bool {
        match (self, other) {
            (Outcome::State(_), Outcome::State(_)) => true,
            (Outcome::Fault(a), Outcome::Fault(b)) => a.kind == b.kind,
            _ => self == other,
        }
    }
}

/// Tries pairs of instances.
pub(crate) struct Pairs<'a> {
    layout: &'a Layout,
    trial: &'a Trial<'a>,
    interpreter: Interpreter,
    /// For each instance that can be tried its cells: all of them, and those of its guard.
    small: Vec<Option<Small>>,
}

struct Small {
    label: Label,
    /// All cells; those that are only written have two patterns at most.
    all: Vec<Cell>,
    guard: Vec<Cell>,
    conjuncts: usize,
}

impl<'a> Pairs<'a> {
    pub(crate) fn new(trial: &'a Trial<'a>, footprints: &[Footprint], limit: u64) -> Pairs<'a> {
        let (program, layout) = (trial.program, trial.layout);
        let mut plain = program.clone();
        for property in &mut plain.properties {
            // Instances that can make an assumption false are not tried at all; for the others the
            // assumptions hold, but not in states that are undefined in most places.
            if property.kind == PropertyKind::Assumption {
                property.kind = PropertyKind::Invariant;
            }
        }
        let interpreter = Interpreter::new(Arc::new(plain), DeadlockMode::Off);
        let small = |id: InstanceId| {
            let footprint = &footprints[id.index()];
            let label = trial.numbering.label(id)?;
            if footprint.whole || !footprint.rank.is_empty() || !footprint.assumed.is_empty() {
                return None;
            }
            let guard = cells(program, layout, &footprint.guard, limit)?;
            let read = cells(program, layout, &footprint.reads, limit)?;
            let mut all = read.clone();
            for mut cell in cells(program, layout, &footprint.writes, u64::MAX)? {
                if !read.contains(&cell) {
                    cell.patterns = cell.patterns.min(2);
                    all.push(cell);
                }
            }
            all.sort_unstable();
            Some(Small { label, all, guard, conjuncts: footprint.conjuncts.len() })
        };
        let small = trial.numbering.all().map(small).collect();
        Pairs { layout, trial, interpreter, small }
    }

    /// Adds to the relations what can be proved about pairs that are in neither.
    pub(crate) fn prove(
        &self,
        independent: &mut BitMatrix,
        accords: &mut BitMatrix,
        budget: &mut Budget,
    ) {
        let mut scratch = self.interpreter.scratch();
        let mut looked_at = 0;
        let mut least = 0;
        for round in ROUNDS {
            let most = round.min(budget.valuations);
            for a in 0..self.small.len() {
                let open = complement(accords.row(a), self.small.len());
                for b in columns(&open).filter(|b| *b > a) {
                    looked_at += 1;
                    if looked_at > MAX_PAIRS || budget.is_empty() {
                        return;
                    }
                    let proof = self.pair(&mut scratch, (a, b), (least, most), budget);
                    if proof != Proof::None {
                        accords.set(a, b);
                        accords.set(b, a);
                    }
                    if proof == Proof::Independent {
                        independent.set(a, b);
                        independent.set(b, a);
                    }
                }
            }
            least = most;
        }
    }

    /// Tries a pair, if its number of valuations is above `least` and at most `most`.
    fn pair(
        &self,
        scratch: &mut Scratch,
        (a, b): (usize, usize),
        (least, most): (u64, u64),
        budget: &mut Budget,
    ) -> Proof {
        let (Some(first), Some(second)) = (&self.small[a], &self.small[b]) else {
            return Proof::None;
        };
        let fits = |cells: &[Cell]| (least + 1..=most).contains(&valuations(cells));
        let guard = merged(&first.guard, &second.guard);
        let conjuncts = (first.conjuncts + second.conjuncts) as u64;
        if fits(&guard)
            && budget.take(valuations(&guard).saturating_mul(conjuncts))
            && !self.co_enabled((a, b), &guard)
        {
            return Proof::Accord;
        }
        let all = merged(&first.all, &second.all);
        if !fits(&all) || !budget.take(valuations(&all).saturating_mul(4)) {
            return Proof::None;
        }
        self.commute(scratch, (first.label, second.label), &all)
    }

    /// Whether the guards of both are true for some valuation.
    fn co_enabled(&self, (a, b): (usize, usize), cells: &[Cell]) -> bool {
        let trial = self.trial;
        let labels = |id: usize| -> Vec<Option<Label>> {
            let conjuncts = self.small[id].as_ref().map_or(0, |small| small.conjuncts);
            let id = InstanceId(id as u32);
            (0..conjuncts)
                .map(|i| trial.guards.label(trial.program, trial.numbering, id, i))
                .collect()
        };
        let Some(labels) = [labels(a), labels(b)].concat().into_iter().collect::<Option<Vec<_>>>()
        else {
            return true;
        };
        let mut scratch = trial.interpreter.scratch();
        let mut found = false;
        for_each(cells, self.layout.shape().words, |_, state| {
            let holds = |label: &Label| {
                let fired = trial.interpreter.fire_label(&mut scratch, state, *label);
                matches!(fired, Ok(FireOne::State(_) | FireOne::Dropped))
            };
            found = labels.iter().all(holds);
            !found
        });
        found
    }

    /// Tries both orders on all valuations.
    fn commute(&self, scratch: &mut Scratch, (a, b): (Label, Label), cells: &[Cell]) -> Proof {
        let mut proof = Proof::Independent;
        for_each(cells, self.layout.shape().words, |_, state| {
            let first = self.fire(scratch, state, a);
            let second = self.fire(scratch, state, b);
            let both = first != Outcome::Disabled && second != Outcome::Disabled;
            let mut same = true;
            let mut ends = Vec::new();
            for (one, (other, label)) in [(&first, (&second, b)), (&second, (&first, a))] {
                let Outcome::State(state) = one else { continue };
                let after = self.fire(scratch, state, label);
                same &= after.like(other);
                ends.push(after);
            }
            same &= ends.len() < 2 || ends[0] == ends[1] || !ends.iter().all(is_state);
            match (same, both) {
                (true, _) => {}
                (false, true) => proof = Proof::None,
                (false, false) => proof = Proof::Accord,
            }
            proof != Proof::None
        });
        proof
    }

    fn fire(&self, scratch: &mut Scratch, state: &[u64], label: Label) -> Outcome {
        match self.interpreter.fire_label(scratch, state, label) {
            Ok(FireOne::Disabled) => Outcome::Disabled,
            Ok(FireOne::Dropped) => Outcome::Dropped,
            Ok(FireOne::State(state)) => Outcome::State(state),
            Err(fault) => Outcome::Fault(fault),
        }
    }
}

fn is_state(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::State(_))
}

/// The cells of both; with the more patterns where both have one.
fn merged(a: &[Cell], b: &[Cell]) -> Vec<Cell> {
    let mut all: Vec<Cell> = a.iter().chain(b).copied().collect();
    all.sort_unstable_by_key(|cell| (cell.bit, cell.width, std::cmp::Reverse(cell.patterns)));
    all.dedup_by_key(|cell| (cell.bit, cell.width));
    all
}
