//! Where every variable lies in a packed state (and in the frames of locals, which are packed alike).
//!
//! * A scalar takes [`crate::ScalarType::bits`] bits; zero means undefined if it can be undefined.
//! * A real takes 64 bits on a byte border: the bits of the number, exclusive-or [`UNDEFINED_REAL`],
//!   so that zero means undefined here too. Types that hold a real are aligned and padded to bytes.
//! * Records and arrays are their parts one after the other, without gaps. Those of a record, and the
//!   variables of a state, stand in an order in which few elements of arrays lie across two words (see
//!   [`placed`]): what was written to one word is then at hand when it is read, while a processor waits
//!   for writes that overlap a read in part.
//! * A multiset is `capacity` slots of one bit "holds an element" followed by the element. Empty slots
//!   are zero. In a stored state the slots are sorted, largest first, as unsigned numbers with the
//!   first bit the least: so equal multisets are equal bit by bit and elements come first.
//!
//! Hence a state whose words are all zero is undefined throughout, with empty multisets.

use crate::{GlobalId, Program, ScalarType, Type, TypeId, bits};
use ergodic_system::Shape;

/// The not-a-number that stands for an undefined real before the exclusive-or.
pub const UNDEFINED_REAL: u64 = 0x7ff8_dead_0000_0000;

/// Bits of a real.
pub const REAL_BITS: u32 = 64;

/// Largest state, in bits.
pub const MAX_STATE_BITS: u64 = 1 << 28;

/// One multiset inside a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultisetAt {
    /// First bit.
    pub at: usize,
    /// Slots.
    pub capacity: u32,
    /// Bits per slot, the presence bit included.
    pub stride: usize,
    /// The state variable it belongs to.
    pub global: GlobalId,
}

/// Sizes and positions for all types and state variables of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    sizes: Vec<TypeLayout>,
    globals: Vec<usize>,
    shape: Shape,
    multisets: Vec<MultisetAt>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct TypeLayout {
    bits: u64,
    byte_aligned: bool,
    /// Offsets of the fields of a record.
    fields: Vec<usize>,
    /// Distance of the elements of an array or the slots of a multiset.
    stride: usize,
    /// The power of two, up to 64, to a multiple of which it had best be aligned.
    grain: u64,
    has_multiset: bool,
}

impl Layout {
    /// Lays out a program. Sizes saturate; [`crate::verify`] rejects programs with larger states than
    /// [`MAX_STATE_BITS`].
    pub fn new(program: &Program) -> Layout {
        let mut sizes: Vec<TypeLayout> = Vec::with_capacity(program.types.len());
        for ty in &program.types {
            let layout = type_layout(ty, &program.types, &sizes);
            sizes.push(layout);
        }
        let parts: Vec<&TypeLayout> =
            program.globals.iter().map(|global| &sizes[global.ty.0 as usize]).collect();
        let (globals, end) = placed(&parts);
        let shape = Shape::of_bits(end.min(MAX_STATE_BITS + 1) as usize);
        let mut layout = Layout { sizes, globals, shape, multisets: Vec::new() };
        if end <= MAX_STATE_BITS {
            for (i, global) in program.globals.iter().enumerate() {
                let id = GlobalId(i as u32);
                layout.collect_multisets(program, global.ty, layout.globals[i], id);
            }
        }
        layout
    }

    /// Size of a packed state.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Bits of a value of a type.
    pub fn bits(&self, ty: TypeId) -> usize {
        self.sizes[ty.0 as usize].bits as usize
    }

    /// Whether values of a type start on a byte border.
    pub fn byte_aligned(&self, ty: TypeId) -> bool {
        self.sizes[ty.0 as usize].byte_aligned
    }

    /// First bit of a state variable.
    pub fn global(&self, id: GlobalId) -> usize {
        self.globals[id.0 as usize]
    }

    /// Position of a field relative to its record.
    pub fn field(&self, record: TypeId, field: u32) -> usize {
        self.sizes[record.0 as usize].fields[field as usize]
    }

    /// The state variables in the order in which they lie.
    pub fn globals_in_order(&self) -> Vec<GlobalId> {
        in_order(&self.globals).map(|i| GlobalId(i as u32)).collect()
    }

    /// The fields of a record in the order in which they lie.
    pub fn fields_in_order(&self, record: TypeId) -> Vec<u32> {
        in_order(&self.sizes[record.0 as usize].fields).map(|i| i as u32).collect()
    }

    /// Distance of the elements of an array, or of the slots of a multiset.
    pub fn stride(&self, ty: TypeId) -> usize {
        self.sizes[ty.0 as usize].stride
    }

    /// Position of the element relative to its slot.
    pub fn slot_element(&self, multiset: TypeId, types: &[Type]) -> usize {
        match &types[multiset.0 as usize] {
            Type::Multiset { elem, .. } if self.byte_aligned(*elem) => 8,
            _ => 1,
        }
    }

    /// Whether a type is or holds a multiset.
    pub fn has_multiset(&self, ty: TypeId) -> bool {
        self.sizes[ty.0 as usize].has_multiset
    }

    /// All multisets of a state, inner ones before those that hold them.
    pub fn multisets(&self) -> &[MultisetAt] {
        &self.multisets
    }

    /// Sorts the slots of all multisets: the last step of every firing.
    pub fn normalise(&self, state: &mut [u64]) {
        for multiset in &self.multisets {
            normalise_multiset(state, *multiset);
        }
    }

    fn collect_multisets(&mut self, program: &Program, ty: TypeId, at: usize, global: GlobalId) {
        if !self.has_multiset(ty) {
            return;
        }
        match &program.types[ty.0 as usize] {
            Type::Scalar(_) | Type::Real { .. } => {}
            Type::Record { fields, .. } => {
                for (i, field) in fields.iter().enumerate() {
                    let offset = self.field(ty, i as u32);
                    self.collect_multisets(program, field.ty, at + offset, global);
                }
            }
            Type::Array { index, elem } => {
                let count = scalar(&program.types, *index).map_or(0, ScalarType::count) as usize;
                for i in 0..count {
                    self.collect_multisets(program, *elem, at + i * self.stride(ty), global);
                }
            }
            Type::Multiset { capacity, elem } => {
                let stride = self.stride(ty);
                let inside = self.slot_element(ty, &program.types);
                for slot in 0..*capacity as usize {
                    self.collect_multisets(program, *elem, at + slot * stride + inside, global);
                }
                self.multisets.push(MultisetAt { at, capacity: *capacity, stride, global });
            }
        }
    }
}

/// Zeroes the empty slots of one multiset and sorts all, largest first (insertion sort: multisets are small and nearly
/// sorted).
pub fn normalise_multiset(state: &mut [u64], multiset: MultisetAt) {
    let MultisetAt { at, capacity, stride, .. } = multiset;
    // A reference to an element outlives its removal: what was written through it must not show.
    for slot in (0..capacity as usize).map(|i| at + i * stride) {
        if bits::read(state, slot, 1) == 0 {
            bits::zero(state, slot, stride);
        }
    }
    for i in 1..capacity as usize {
        let mut j = i;
        while j > 0 {
            let (left, right) = (at + (j - 1) * stride, at + j * stride);
            if bits::compare(state, left, right, stride).is_ge() {
                break;
            }
            bits::swap(state, left, right, stride);
            j -= 1;
        }
    }
}

/// The indices of some positions, smallest position first.
fn in_order(positions: &[usize]) -> impl Iterator<Item = usize> {
    let mut order = Vec::from_iter(0..positions.len());
    order.sort_by_key(|i| positions[*i]);
    order.into_iter()
}

/// Positions of parts that stand one after the other, and their end: those first that had best be
/// aligned to larger powers of two, from bytes on, then in the order in which they are given. Where
/// one must be aligned to bytes, all are in that order. (To sort by smaller powers, too, made n_peterson
/// and ldash 3 % slower, and nothing faster.)
fn placed(parts: &[&TypeLayout]) -> (Vec<usize>, u64) {
    let mut order = Vec::from_iter(0..parts.len());
    if parts.iter().all(|part| !part.byte_aligned) {
        order.sort_by_key(|i| std::cmp::Reverse(parts[*i].grain / 8));
    }
    let (mut positions, mut end) = (vec![0; parts.len()], 0u64);
    for i in order {
        end = align(end, parts[i].byte_aligned);
        positions[i] = end as usize;
        end = end.saturating_add(parts[i].bits);
    }
    (positions, end)
}

/// The largest power of two that divides a distance of elements, up to 64.
fn grain(stride: u64) -> u64 {
    1 << stride.trailing_zeros().min(6)
}

fn align(at: u64, byte_aligned: bool) -> u64 {
    if byte_aligned { at.checked_next_multiple_of(8).unwrap_or(u64::MAX) } else { at }
}

fn scalar(types: &[Type], id: TypeId) -> Option<&ScalarType> {
    match types.get(id.0 as usize) {
        Some(Type::Scalar(scalar)) => Some(scalar),
        _ => None,
    }
}

fn type_layout(ty: &Type, types: &[Type], sizes: &[TypeLayout]) -> TypeLayout {
    let of = |id: &TypeId| sizes.get(id.0 as usize).cloned().unwrap_or_default();
    match ty {
        Type::Scalar(scalar) => {
            TypeLayout { bits: u64::from(scalar.bits()), ..TypeLayout::default() }
        }
        Type::Real { .. } => {
            TypeLayout { bits: u64::from(REAL_BITS), byte_aligned: true, ..TypeLayout::default() }
        }
        Type::Record { fields, .. } => {
            let parts: Vec<TypeLayout> = fields.iter().map(|field| of(&field.ty)).collect();
            let (fields, bits) = placed(&Vec::from_iter(&parts));
            let byte_aligned = parts.iter().any(|part| part.byte_aligned);
            TypeLayout {
                bits: align(bits, byte_aligned),
                byte_aligned,
                fields,
                stride: 0,
                grain: parts.iter().map(|part| part.grain).max().unwrap_or(0),
                has_multiset: parts.iter().any(|part| part.has_multiset),
            }
        }
        Type::Array { index, elem } => {
            let count = scalar(types, *index).map_or(0, ScalarType::count);
            let part = of(elem);
            TypeLayout {
                bits: part.bits.saturating_mul(count),
                byte_aligned: part.byte_aligned,
                fields: Vec::new(),
                stride: part.bits as usize,
                grain: grain(part.bits),
                has_multiset: part.has_multiset,
            }
        }
        Type::Multiset { capacity, elem } => {
            let part = of(elem);
            let stride = part.bits.saturating_add(if part.byte_aligned { 8 } else { 1 });
            TypeLayout {
                bits: stride.saturating_mul(u64::from(*capacity)),
                byte_aligned: part.byte_aligned,
                fields: Vec::new(),
                stride: stride as usize,
                grain: grain(stride),
                has_multiset: true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(bits: u64, grain: u64) -> TypeLayout {
        TypeLayout { bits, grain, ..TypeLayout::default() }
    }

    #[test]
    fn large_elements_are_aligned_and_nothing_is_lost() {
        let (count, net, flags, list) = (part(4, 0), part(128, 16), part(5, 1), part(24, 8));
        assert_eq!(placed(&[&count, &net, &flags, &list]), (vec![152, 0, 156, 128], 161));
        // Real numbers must be aligned, so nothing is moved.
        let real = TypeLayout { byte_aligned: true, ..part(64, 0) };
        assert_eq!(placed(&[&count, &real, &net]), (vec![0, 8, 72], 200));
        assert_eq!(placed(&[]), (vec![], 0));
    }

    #[test]
    fn grains_are_powers_of_two() {
        assert_eq!([1, 6, 16, 17, 24, 64, 192, 640].map(grain), [1, 2, 16, 1, 8, 64, 64, 64]);
    }
}
