//! Enumerating the values of a few cells of the state.
//!
//! A rule instance depends on the cells that it reads only, so trying it on all values of these, with
//! everything else undefined, tries it on all states. Values are the stored patterns, the undefined
//! one included, whether they are reachable or not.

use crate::ranges::Ranges;
use ergodic_ir::{GlobalId, Layout, Program, Type, TypeId, bits};

/// More cells than this are never enumerated.
const MAX_CELLS: usize = 4096;

/// A scalar of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cell {
    /// First bit.
    pub(crate) bit: usize,
    /// Bits.
    pub(crate) width: u32,
    /// Stored patterns that mean something: 0 up to this.
    pub(crate) patterns: u64,
    /// Its type.
    pub(crate) ty: TypeId,
}

/// The scalars of a set of bits, ascending; `None` if there is anything else, or if they have more
/// than `limit` valuations.
pub(crate) fn cells(
    program: &Program,
    layout: &Layout,
    ranges: &Ranges,
    limit: u64,
) -> Option<Vec<Cell>> {
    let mut out = Vec::new();
    let mut product = 1u64;
    let mut waiting = Vec::new();
    for range in ranges.iter() {
        for (i, global) in program.globals.iter().enumerate() {
            waiting.push((global.ty, layout.global(GlobalId(i as u32))));
        }
        while let Some((ty, at)) = waiting.pop() {
            if at >= range.1 || at + layout.bits(ty) <= range.0 {
                continue;
            }
            match &program.types[ty.0 as usize] {
                Type::Scalar(scalar) => {
                    let patterns = scalar.count().saturating_add(u64::from(scalar.undefinable));
                    let cell = Cell { bit: at, width: scalar.bits(), patterns, ty };
                    // A cell can reach into two ranges, if these were made coarser.
                    if out.last() != Some(&cell) {
                        product = product.saturating_mul(patterns);
                        out.push(cell);
                    }
                }
                Type::Record { fields, .. } => waiting.extend(
                    (0..fields.len())
                        .rev()
                        .map(|i| (fields[i].ty, at + layout.field(ty, i as u32))),
                ),
                Type::Array { elem, .. } => {
                    let stride = layout.stride(ty);
                    let count = layout.bits(ty).checked_div(stride).unwrap_or(0);
                    let first = range.0.saturating_sub(at) / stride.max(1);
                    let last = (range.1 - at).div_ceil(stride.max(1)).min(count);
                    if last.saturating_sub(first) > MAX_CELLS {
                        return None;
                    }
                    waiting.extend((first..last).rev().map(|i| (*elem, at + i * stride)));
                }
                Type::Real { .. } | Type::Multiset { .. } => return None,
            }
            if product > limit || out.len() > MAX_CELLS {
                return None;
            }
        }
    }
    out.sort_unstable();
    out.dedup();
    Some(out)
}

/// How many valuations cells have.
pub(crate) fn valuations(cells: &[Cell]) -> u64 {
    cells.iter().fold(1, |n, cell| n.saturating_mul(cell.patterns))
}

/// Calls `each` with the patterns of all cells and a state that holds them; ends when it says no.
pub(crate) fn for_each(cells: &[Cell], words: usize, mut each: impl FnMut(&[u64], &[u64]) -> bool) {
    let mut state = vec![0; words];
    let mut patterns = vec![0; cells.len()];
    if cells.iter().any(|cell| cell.patterns == 0) {
        return;
    }
    loop {
        if !each(&patterns, &state) {
            return;
        }
        let mut at = 0;
        loop {
            let Some(cell) = cells.get(at) else { return };
            patterns[at] += 1;
            if patterns[at] == cell.patterns {
                patterns[at] = 0;
            }
            bits::write(&mut state, cell.bit, cell.width, patterns[at]);
            if patterns[at] != 0 {
                break;
            }
            at += 1;
        }
    }
}
