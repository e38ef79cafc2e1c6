//! What properties see of the rules, and what kind of step an instance is.

use crate::domains::cells;
use crate::footprint::Footprint;
use crate::matrix::{BitMatrix, join};
use crate::numbers::Numbering;
use crate::ranges::Ranges;
use crate::relation::Users;
use ergodic_ir::{Layout, Program, PropertyKind, ScalarKind, ScalarType, Type, TypeId};
use std::collections::{HashMap, HashSet};

/// The kind of a step, for the replacement of states in a cache by the kind of the step that led to
/// them: the higher it is, the sooner a state may go. After the types of transitions in Godefroid,
/// Holzmann and Pirottin, "State-space caching revisited", section 5, read for guarded commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Changes a control variable: one of an enumeration (or a boolean) that guards of several rules
    /// read.
    Control = 1,
    /// Removes elements from a multiset.
    Receive = 2,
    /// Adds elements to a multiset.
    Send = 3,
    /// Writes other variables.
    Assign = 4,
    /// Writes nothing.
    Other = 5,
}

/// Rules whose guards must read a variable for it to be one of control.
const CONTROL_RULES: usize = 2;

/// The kind of every instance.
pub(crate) fn kinds(
    program: &Program,
    layout: &Layout,
    numbering: &Numbering,
    footprints: &[Footprint],
) -> Vec<Kind> {
    let control = control_cells(program, layout, numbering, footprints);
    let kind = |footprint: &Footprint| {
        let controls = |ranges: &Ranges| {
            let cells = cells(program, layout, ranges, u64::MAX).unwrap_or_default();
            cells.iter().any(|cell| control.contains(&cell.bit))
        };
        match footprint {
            f if f.removes => Kind::Receive,
            f if f.adds => Kind::Send,
            f if f.writes.is_empty() => Kind::Other,
            f if controls(&f.writes) => Kind::Control,
            _ => Kind::Assign,
        }
    };
    footprints.iter().map(kind).collect()
}

fn control_cells(
    program: &Program,
    layout: &Layout,
    numbering: &Numbering,
    footprints: &[Footprint],
) -> HashSet<usize> {
    let mut readers: HashMap<usize, HashSet<usize>> = HashMap::new();
    for id in numbering.all() {
        for reads in &footprints[id.index()].conjuncts {
            for cell in cells(program, layout, reads, u64::MAX).unwrap_or_default() {
                if is_control(program, cell.ty) {
                    readers.entry(cell.bit).or_default().insert(numbering.rule(id));
                }
            }
        }
    }
    let many = readers.into_iter().filter(|(_, rules)| rules.len() >= CONTROL_RULES);
    many.map(|(bit, _)| bit).collect()
}

fn is_control(program: &Program, ty: TypeId) -> bool {
    matches!(
        program.types[ty.0 as usize],
        Type::Scalar(ScalarType { kind: ScalarKind::Enum { .. } | ScalarKind::Bool, .. })
    )
}

/// For each property the instances that write something it reads, and those of all properties but
/// assumptions, which are no properties of the model but a part of it.
pub(crate) fn visible(
    program: &Program,
    users: &Users,
    reads: &[Ranges],
    instances: usize,
) -> (BitMatrix, Vec<u64>) {
    let mut rows = BitMatrix::new(reads.len(), instances);
    let mut any = vec![0; instances.div_ceil(64)];
    for (i, (property, reads)) in program.properties.iter().zip(reads).enumerate() {
        users.add_writers(reads, rows.row_mut(i));
        if property.kind != PropertyKind::Assumption {
            join(&mut any, rows.row(i));
        }
    }
    (rows, any)
}
