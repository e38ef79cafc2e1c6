//! Conjuncts of guards, and who can make them true.
//!
//! The *necessary enabling set* of a conjunct that is false in a state holds a firing of every path to
//! a state in which the instance is enabled. (Guard-based stubborn sets: Laarman, Pater, van de Pol
//! and Hansen, "Guard-based partial-order reduction", STTT 2016.)
//!
//! *From the footprints:* writers of what the conjunct reads. In the last state of such a path the
//! conjunct reads cells of its footprint only; if none of these was written on the way, it was true
//! before.
//!
//! *Refined by enumeration:* the conjunct is tried on all values of the cells that it reads, if these
//! are few. That gives, per cell, the values with which it can be true. A writer that always leaves
//! another value in such a cell is no member: after it the conjunct is false, so it is not the last
//! writer of the path; but the last one is a member.
//!
//! *Guards that fault* are violations in the state where they are evaluated, so a path to one must not
//! be missed either. A set therefore also holds who can make the conjunct fault, or a conjunct before
//! it. For the first false conjunct (in the order of the guard) a path to a state in which the guard
//! faults contains a member, too: what faults there is the conjunct itself, one before it, which was
//! true, or one behind it, and then this one has become true. Of other false conjuncts this cannot be
//! said, so a search should take the first, which is also the one that evaluation stops at.

use crate::Budget;
use crate::domains::{Cell, cells, for_each, valuations};
use crate::footprint::Footprint;
use crate::matrix::{BitMatrix, columns, join};
use crate::numbers::{InstanceId, Numbering};
use crate::ranges::Ranges;
use crate::relation::Users;
use ergodic_interp::{FireOne, Interpreter};
use ergodic_ir::{Instances, Layout, Program, PropertyKind, Type};
use ergodic_system::{DeadlockMode, Label, RuleSystem};
use std::collections::HashMap;
use std::sync::Arc;

/// What a conjunct of an instance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConjunctKind {
    /// This conjunct of the guard of the rule.
    Part(usize),
    /// The whole guard, with the slots of multisets that parameters run over.
    Whole,
    /// That no rule with a smaller priority number is enabled.
    Rank,
}

/// A condition without which an instance does not fire.
#[derive(Clone, Copy, Debug)]
pub struct Conjunct {
    /// What it is.
    pub kind: ConjunctKind,
    /// Its necessary enabling set, a row of [`Conjuncts::enabling`].
    pub enabling: u32,
}

/// Where a conjunct is true, for all values of the few cells that it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    /// First bit and width of each cell.
    pub cells: Vec<(usize, u32)>,
    /// A bit for each combination of stored patterns, those of the first cell lowest. Where the
    /// conjunct faults it counts as true: there is no telling who would make it so.
    pub bits: Vec<u64>,
}

/// Bits of all cells of a [`Truth`] together, at most.
const MOST_TRUTH_BITS: u32 = 16;

impl Truth {
    /// False everywhere; `None` if there are too many combinations.
    fn new(cells: &[Cell]) -> Option<Truth> {
        let width: u32 = cells.iter().map(|cell| cell.width).sum();
        let cells = cells.iter().map(|cell| (cell.bit, cell.width)).collect();
        let words = (1usize << width.min(MOST_TRUTH_BITS)).div_ceil(64);
        (width <= MOST_TRUTH_BITS).then(|| Truth { cells, bits: vec![0; words] })
    }

    fn note(&mut self, patterns: &[u64]) {
        let (mut index, mut shift) = (0, 0);
        for (pattern, (_, width)) in patterns.iter().zip(&self.cells) {
            index |= pattern << shift;
            shift += width;
        }
        crate::matrix::put(&mut self.bits, index as usize);
    }
}

/// The conjuncts of all instances.
#[derive(Debug)]
pub struct Conjuncts {
    first: Vec<u32>,
    items: Vec<Conjunct>,
    /// Of each conjunct, if it was tried.
    truths: Vec<Option<Truth>>,
    enabling: BitMatrix,
}

impl Conjuncts {
    /// The conjuncts of an instance: it is enabled if and only if all of them are true.
    pub fn of(&self, id: InstanceId) -> &[Conjunct] {
        let (from, to) = (self.first[id.index()], self.first[id.index() + 1]);
        &self.items[from as usize..to as usize]
    }

    /// Where each of these conjuncts is true, as far as that is known.
    pub fn truths(&self, id: InstanceId) -> &[Option<Truth>] {
        let (from, to) = (self.first[id.index()], self.first[id.index() + 1]);
        &self.truths[from as usize..to as usize]
    }

    /// The necessary enabling sets; equal ones are one row.
    pub fn enabling(&self) -> &BitMatrix {
        &self.enabling
    }
}

/// A program whose actions are the conjuncts of another one, with nothing to do: an instance is
/// enabled where its conjunct is true. Any executor can run it to find out which conjunct is false.
#[derive(Clone, Debug)]
pub struct Guards {
    program: Arc<Program>,
    labels: Instances,
    /// For each rule the action that is its first conjunct.
    first: Vec<usize>,
}

impl Guards {
    /// Takes the guards of a program apart; those that write are kept whole.
    pub fn new(program: &Program) -> Guards {
        let mut split = program.clone();
        split.starts.clear();
        split.actions.clear();
        for property in &mut split.properties {
            // Assumptions would drop successors, and there are none.
            if property.kind == PropertyKind::Assumption {
                property.kind = PropertyKind::Invariant;
            }
        }
        let mut first = Vec::new();
        for action in &program.actions {
            first.push(split.actions.len());
            let mut part = action.clone();
            part.body.clear();
            part.priority = 0;
            if action.impure_guard {
                split.actions.push(part);
                continue;
            }
            for conjunct in &action.guard {
                part.guard = vec![conjunct.clone()];
                split.actions.push(part.clone());
            }
        }
        let labels = Instances::new(&split);
        Guards { program: Arc::new(split), labels, first }
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The label in that program of conjunct `position` of the guard of an instance that stands for
    /// one label; `None` for other instances, guards that write, and labels beyond what can be
    /// numbered.
    pub fn label(
        &self,
        program: &Program,
        numbering: &Numbering,
        id: InstanceId,
        position: usize,
    ) -> Option<Label> {
        let rule = numbering.rule(id);
        let label = numbering.label(id)?;
        let action = program.actions.get(rule)?;
        if action.impure_guard || position >= action.guard.len() {
            return None;
        }
        let offset = u64::from(label.0 - numbering.labels().base(false, rule));
        let fits = self.labels.total() <= u128::from(u32::MAX);
        fits.then(|| self.labels.label(false, self.first[rule] + position, offset))
    }
}

/// For some cells the patterns with which something can be true: a set of bits per cell. Cells that
/// can hold anything are not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Allowed {
    /// Ascending by cell.
    pub(crate) cells: Vec<(CellKey, Vec<u64>)>,
    /// There is no valuation at all.
    pub(crate) never: bool,
}

/// First bit and type of a cell.
pub(crate) type CellKey = (usize, u32);

/// What enumeration says about a conjunct.
#[derive(Clone, Debug, Default)]
pub(crate) struct Projection {
    /// Patterns with which it is true.
    pub(crate) holds: Allowed,
    /// Patterns with which it is true or faults.
    pub(crate) holds_or_faults: Allowed,
    /// Patterns with which it faults.
    pub(crate) faults: Allowed,
    /// All combinations of patterns with which it is true or faults, if it was tried.
    pub(crate) truth: Option<Truth>,
}

/// What is needed to try conjuncts.
pub(crate) struct Trial<'a> {
    pub(crate) program: &'a Program,
    pub(crate) layout: &'a Layout,
    pub(crate) numbering: &'a Numbering,
    pub(crate) guards: &'a Guards,
    pub(crate) interpreter: Interpreter,
}

impl<'a> Trial<'a> {
    pub(crate) fn new(
        program: &'a Program,
        layout: &'a Layout,
        numbering: &'a Numbering,
        guards: &'a Guards,
    ) -> Trial<'a> {
        let interpreter = Interpreter::new(guards.program.clone(), DeadlockMode::Off);
        Trial { program, layout, numbering, guards, interpreter }
    }

    /// Tries a conjunct on all values of what it reads, if the budget allows it.
    fn project(
        &self,
        id: InstanceId,
        position: usize,
        reads: &Ranges,
        budget: &mut Budget,
    ) -> Projection {
        let label = self.guards.label(self.program, self.numbering, id, position);
        let Some(label) = label else { return Projection::default() };
        let Some(cells) = cells(self.program, self.layout, reads, budget.valuations) else {
            return Projection::default();
        };
        if !budget.take(valuations(&cells)) {
            return Projection::default();
        }
        let mut masks = [(); 3].map(|()| Masks::new(&cells));
        let mut truth = Truth::new(&cells);
        let mut scratch = self.interpreter.scratch();
        for_each(&cells, self.layout.shape().words, |patterns, state| {
            let fired = self.interpreter.fire_label(&mut scratch, state, label);
            if let (Some(truth), false) = (&mut truth, matches!(fired, Ok(FireOne::Disabled))) {
                truth.note(patterns);
            }
            match fired {
                Ok(FireOne::Disabled) => {}
                Ok(_) => masks[..2].iter_mut().for_each(|mask| mask.note(patterns)),
                Err(_) => masks[1..].iter_mut().for_each(|mask| mask.note(patterns)),
            }
            true
        });
        let [holds, holds_or_faults, faults] = masks.map(|mask| mask.allowed(&cells));
        Projection { holds, holds_or_faults, faults, truth }
    }
}

/// Patterns seen, per cell.
struct Masks {
    seen: Vec<Vec<u64>>,
    any: bool,
}

impl Masks {
    fn new(cells: &[Cell]) -> Masks {
        let empty = |cell: &Cell| vec![0; cell.patterns.div_ceil(64) as usize];
        Masks { seen: cells.iter().map(empty).collect(), any: false }
    }

    fn note(&mut self, patterns: &[u64]) {
        self.any = true;
        for (mask, pattern) in self.seen.iter_mut().zip(patterns) {
            crate::matrix::put(mask, *pattern as usize);
        }
    }

    fn allowed(self, cells: &[Cell]) -> Allowed {
        let limits = |mask: &[u64], cell: &Cell| {
            let seen: u32 = mask.iter().map(|word| word.count_ones()).sum();
            u64::from(seen) < cell.patterns
        };
        let pairs = cells.iter().zip(self.seen).filter(|(cell, mask)| limits(mask, cell));
        let cells = pairs.map(|(cell, mask)| ((cell.bit, cell.ty.0), mask)).collect();
        Allowed { cells, never: !self.any }
    }
}

/// Who makes a condition true: writers of some bits, unless they leave values that are not allowed.
type Makers = (Ranges, Allowed);

/// The conjuncts of all instances, and for each instance what is known to hold where it is enabled.
pub(crate) fn collect(
    program: &Program,
    users: &Users,
    footprints: &[Footprint],
    trial: Option<&Trial<'_>>,
    budget: &mut Budget,
) -> (Conjuncts, Vec<Allowed>) {
    let mut rows: HashMap<Vec<Makers>, u32> = HashMap::new();
    let mut row = |key: Vec<Makers>| {
        let next = rows.len() as u32;
        *rows.entry(key).or_insert(next)
    };
    let (mut first, mut items, mut enabled) = (vec![0], Vec::new(), Vec::new());
    let mut truths = Vec::new();
    for (i, footprint) in footprints.iter().enumerate() {
        let mut allowed = Allowed::default();
        let mut before: Vec<Makers> = Vec::new();
        for (position, reads) in footprint.conjuncts.iter().enumerate() {
            let projection = match trial {
                Some(trial) if !footprint.whole => {
                    trial.project(InstanceId(i as u32), position, reads, budget)
                }
                _ => Projection::default(),
            };
            allowed = both(allowed, &projection.holds);
            let part = ConjunctKind::Part(position);
            let kind = if footprint.whole { ConjunctKind::Whole } else { part };
            let mut makers = before.clone();
            makers.push((reads.clone(), projection.holds_or_faults));
            items.push(Conjunct { kind, enabling: row(makers) });
            truths.push(projection.truth);
            if footprint.guard_faults && !projection.faults.never {
                before.push((reads.clone(), projection.faults));
            }
        }
        if !footprint.rank.is_empty() {
            let enabling = row(vec![(footprint.rank.clone(), Allowed::default())]);
            items.push(Conjunct { kind: ConjunctKind::Rank, enabling });
            truths.push(None);
        }
        first.push(items.len() as u32);
        enabled.push(allowed);
    }
    let enabling = enabling_sets(program, users, footprints, &rows);
    (Conjuncts { first, items, truths, enabling }, enabled)
}

/// What holds where two conditions do.
fn both(mut mine: Allowed, other: &Allowed) -> Allowed {
    mine.never |= other.never;
    for (key, mask) in &other.cells {
        match mine.cells.binary_search_by_key(key, |(key, _)| *key) {
            Ok(at) => {
                let words = mine.cells[at].1.iter_mut().zip(mask);
                words.for_each(|(word, other)| *word &= other);
                mine.never |= mine.cells[at].1.iter().all(|word| *word == 0);
            }
            Err(at) => mine.cells.insert(at, (*key, mask.clone())),
        }
    }
    mine
}

fn enabling_sets(
    program: &Program,
    users: &Users,
    footprints: &[Footprint],
    rows: &HashMap<Vec<Makers>, u32>,
) -> BitMatrix {
    let mut out = BitMatrix::new(rows.len(), footprints.len());
    let mut known: HashMap<&Makers, Vec<u64>> = HashMap::new();
    for (key, row) in rows {
        for makers in key {
            let members = known.entry(makers).or_insert_with(|| {
                let (reads, allowed) = makers;
                let mut writers = vec![0; footprints.len().div_ceil(64)];
                if !allowed.never {
                    users.add_writers(reads, &mut writers);
                }
                let mut members = writers.clone();
                let useless = |id: &usize| leaves_false(program, &footprints[*id], allowed);
                for id in columns(&writers).filter(useless) {
                    members[id / 64] &= !(1 << (id % 64));
                }
                members
            });
            join(out.row_mut(*row as usize), members);
        }
    }
    out
}

/// The instances that are not enabled with what they leave behind.
pub(crate) fn moving(program: &Program, footprints: &[Footprint], enabled: &[Allowed]) -> Vec<u64> {
    let mut out = vec![0; footprints.len().div_ceil(64)];
    for (id, (footprint, allowed)) in footprints.iter().zip(enabled).enumerate() {
        if leaves_false(program, footprint, allowed) {
            crate::matrix::put(&mut out, id);
        }
    }
    out
}

/// Whether a firing always leaves a value in some cell with which the condition is false.
fn leaves_false(program: &Program, footprint: &Footprint, allowed: &Allowed) -> bool {
    allowed.cells.iter().any(|((bit, ty), mask)| {
        let Ok(at) = footprint.exit.binary_search_by_key(bit, |(bit, _)| *bit) else {
            return false;
        };
        let Type::Scalar(scalar) = &program.types[*ty as usize] else { return false };
        let fits = |code: &i64| match scalar.encode(*code) {
            Some(raw) => crate::matrix::has(mask, raw as usize),
            None => true,
        };
        !footprint.exit[at].1.iter().any(fits)
    })
}
