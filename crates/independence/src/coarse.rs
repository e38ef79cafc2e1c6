//! From the access paths of [`ergodic_ir::Facts`] to bits: what is taken when a rule is too complex to
//! be walked.

use crate::ranges::Ranges;
use ergodic_ir::{Access, AccessStep, Base, Key, Layout, Program, Type, TypeId};
use std::collections::BTreeSet;

/// Parts that are told apart per access; with more of them the whole around them is taken.
const MAX_PARTS: usize = 1024;

/// The bits of some accesses, given the values of the parameters (`None` where any is meant).
pub(crate) fn bits<'a>(
    program: &Program,
    layout: &Layout,
    params: &[Option<i64>],
    accesses: impl IntoIterator<Item = &'a Access>,
) -> Ranges {
    let mut out = Vec::new();
    for access in accesses {
        add(program, layout, params, access, &mut out);
    }
    Ranges::new(out)
}

/// All bits of some accesses, one set after the other.
pub(crate) fn of_effects(
    program: &Program,
    layout: &Layout,
    params: &[Option<i64>],
    parts: &[&BTreeSet<Access>],
) -> Ranges {
    bits(program, layout, params, parts.iter().flat_map(|set| set.iter()))
}

fn add(
    program: &Program,
    layout: &Layout,
    params: &[Option<i64>],
    access: &Access,
    out: &mut Vec<(usize, usize)>,
) {
    // Accesses of actions and properties start at state variables.
    let Base::Global(id) = access.base else { return };
    let Some(global) = program.globals.get(id.0 as usize) else { return };
    let mut ty = global.ty;
    let mut starts = vec![layout.global(id)];
    for step in &access.path {
        let (offsets, inner) = match (step, &program.types[ty.0 as usize]) {
            (AccessStep::Field(field), Type::Record { fields, .. }) => {
                let Some(inner) = fields.get(*field as usize) else { break };
                (vec![layout.field(ty, *field)], inner.ty)
            }
            (AccessStep::Index(key), Type::Array { index, elem }) => {
                let key = match key {
                    Key::Const(code) => Some(*code),
                    Key::Param(position) => params.get(*position).copied().flatten(),
                    Key::Any => None,
                };
                match elements(program, layout, (ty, *index), key, starts.len()) {
                    Some(offsets) => (offsets, *elem),
                    None => break,
                }
            }
            // An element of a multiset stands for all of it.
            _ => break,
        };
        starts = starts.iter().flat_map(|s| offsets.iter().map(move |o| s + o)).collect();
        ty = inner;
    }
    out.extend(starts.into_iter().map(|start| (start, start + layout.bits(ty))));
}

/// Offsets of the elements that an index can mean; `None` if they are too many to be told apart.
fn elements(
    program: &Program,
    layout: &Layout,
    (array, index): (TypeId, TypeId),
    key: Option<i64>,
    places: usize,
) -> Option<Vec<usize>> {
    let Type::Scalar(over) = &program.types[index.0 as usize] else { return None };
    let stride = layout.stride(array);
    if let Some(code) = key {
        // An index that is none faults before anything is touched.
        return Some(over.ordinal(code).map(|i| i as usize * stride).into_iter().collect());
    }
    let few = over.count().saturating_mul(places as u64) <= MAX_PARTS as u64;
    few.then(|| (0..over.count() as usize).map(|i| i * stride).collect())
}
