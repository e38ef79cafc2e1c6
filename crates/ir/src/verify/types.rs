//! Rules of types, and sizes.

use super::MAX_SCALAR_BITS;
use super::check::Check;
use crate::{MAX_STATE_BITS, REAL_BITS, ScalarKind, ScalarType, Type, TypeId};

/// Bits of a type, at most a little more than [`MAX_STATE_BITS`], and whether it starts on a byte.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    bits: u64,
    bytes: bool,
}

const TOO_LARGE: u64 = MAX_STATE_BITS + 1;

/// Checks all types, and returns their sizes.
pub(super) fn types(check: &mut Check<'_>) -> Vec<Size> {
    let mut sizes: Vec<Size> = Vec::with_capacity(check.program.types.len());
    for (number, ty) in check.program.types.iter().enumerate() {
        check.enter("type", number, type_name(ty));
        one_type(check, number, ty);
        let size = size(check, ty, &sizes);
        if size.bits > MAX_STATE_BITS {
            check.error(format!("a value takes more than {MAX_STATE_BITS} bits"));
        }
        sizes.push(size);
    }
    sizes
}

/// Checks that a state is not too large.
pub(super) fn state_size(check: &mut Check<'_>, sizes: &[Size]) {
    check.enter_program();
    let mut bits = 0;
    for global in &check.program.globals {
        let size = sizes.get(global.ty.0 as usize).copied().unwrap_or_default();
        bits = align(bits, size.bytes).saturating_add(size.bits);
    }
    if bits > MAX_STATE_BITS {
        check.error(format!("a state takes {bits} bits, more than {MAX_STATE_BITS}"));
    }
}

fn type_name(ty: &Type) -> &str {
    match ty {
        Type::Scalar(ScalarType { name, .. }) | Type::Record { name, .. } => {
            name.as_deref().unwrap_or("")
        }
        _ => "",
    }
}

fn one_type(check: &mut Check<'_>, number: usize, ty: &Type) {
    let mut earlier = |id: &TypeId| {
        let is = (id.0 as usize) < number;
        if !is {
            check.error(format!("refers to type {}, which is not an earlier one", id.0));
        }
        is
    };
    match ty {
        Type::Scalar(scalar) => scalar_type(check, number, scalar),
        Type::Real { .. } => {}
        Type::Record { fields, .. } => {
            for field in fields {
                earlier(&field.ty);
            }
        }
        Type::Array { index, elem } => {
            earlier(elem);
            if earlier(index) {
                check.scalar(*index, "an array index");
            }
        }
        Type::Multiset { capacity, elem } => {
            earlier(elem);
            if *capacity == 0 {
                check.error("the capacity of a multiset must not be zero");
            }
        }
    }
}

fn scalar_type(check: &mut Check<'_>, number: usize, scalar: &ScalarType) {
    let intervals = &scalar.intervals;
    if intervals.is_empty() {
        return check.error("a scalar type needs at least one interval of codes");
    }
    if let Some((lo, hi)) = intervals.iter().find(|(lo, hi)| lo > hi) {
        return check.error(format!("the interval {lo}..{hi} is empty"));
    }
    let mut sorted = intervals.clone();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0].1 >= pair[1].0) {
        return check.error(format!("the intervals {:?} and {:?} overlap", pair[0], pair[1]));
    }
    if scalar_bits(scalar) > MAX_SCALAR_BITS {
        check.error(format!("a scalar takes at most {MAX_SCALAR_BITS} bits"));
    }
    match &scalar.kind {
        ScalarKind::Int => {}
        ScalarKind::Bool if intervals.iter().all(|(lo, hi)| *lo >= 0 && *hi <= 1) => {}
        ScalarKind::Bool => check.error("the codes of truth values are 0 and 1"),
        ScalarKind::Enum { names } => {
            one_interval(check, scalar);
            if names.len() as u128 != count(scalar) {
                let (names, codes) = (names.len(), count(scalar));
                check.error(format!("an enumeration has {names} names for {codes} values"));
            }
        }
        ScalarKind::Scalarset { .. } => one_interval(check, scalar),
        ScalarKind::Union { members } => union(check, number, scalar, members),
    }
}

fn one_interval(check: &mut Check<'_>, scalar: &ScalarType) {
    if scalar.intervals.len() != 1 {
        check.error("an enumeration or scalarset has just one interval of codes");
    }
}

fn union(check: &mut Check<'_>, number: usize, scalar: &ScalarType, members: &[TypeId]) {
    let mut intervals = Vec::new();
    for id in members {
        if id.0 as usize >= number {
            return check.error(format!("refers to type {}, which is not an earlier one", id.0));
        }
        let Some(member) = check.scalar(*id, "a member of a union") else { return };
        if matches!(member.kind, ScalarKind::Union { .. }) {
            return check.error(format!("member {} of a union is a union itself", id.0));
        }
        intervals.extend_from_slice(&member.intervals);
    }
    if intervals != scalar.intervals {
        check.error("the intervals of a union must be those of its members, in order");
    }
}

fn count(scalar: &ScalarType) -> u128 {
    scalar.intervals.iter().map(|(lo, hi)| u128::from(hi.abs_diff(*lo)) + 1).sum()
}

fn scalar_bits(scalar: &ScalarType) -> u32 {
    (count(scalar) + u128::from(scalar.undefinable)).next_power_of_two().trailing_zeros()
}

fn align(bits: u64, bytes: bool) -> u64 {
    if bytes { bits.checked_next_multiple_of(8).unwrap_or(u64::MAX) } else { bits }
}

/// As [`crate::Layout`] lays it out, but without overflow.
fn size(check: &Check<'_>, ty: &Type, sizes: &[Size]) -> Size {
    let of = |id: &TypeId| sizes.get(id.0 as usize).copied().unwrap_or_default();
    let size = match ty {
        Type::Scalar(scalar) => Size { bits: u64::from(scalar_bits(scalar)), bytes: false },
        Type::Real { .. } => Size { bits: u64::from(REAL_BITS), bytes: true },
        Type::Record { fields, .. } => {
            let mut all = Size::default();
            for part in fields.iter().map(|field| of(&field.ty)) {
                all.bits = align(all.bits, part.bytes).saturating_add(part.bits);
                all.bytes |= part.bytes;
            }
            Size { bits: align(all.bits, all.bytes), bytes: all.bytes }
        }
        Type::Array { index, elem } => {
            let count = match check.program.types.get(index.0 as usize) {
                Some(Type::Scalar(scalar)) => u64::try_from(count(scalar)).unwrap_or(u64::MAX),
                _ => 0,
            };
            Size { bits: of(elem).bits.saturating_mul(count), ..of(elem) }
        }
        Type::Multiset { capacity, elem } => {
            let stride = of(elem).bits.saturating_add(if of(elem).bytes { 8 } else { 1 });
            Size { bits: stride.saturating_mul(u64::from(*capacity)), ..of(elem) }
        }
    };
    Size { bits: size.bits.min(TOO_LARGE), ..size }
}
