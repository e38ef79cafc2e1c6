//! What generated code and Rust share: the layout of the context, status codes, and the few helper
//! functions that generated code calls (none of them on the normal path of a program that has no
//! reals, no multisets and no huge values).
//!
//! Helpers never unwind: they do not panic on inputs that verified programs can produce, and they are
//! `extern "C"`, which turns a panic into an abort instead of undefined behaviour.

use ergodic_ir::{
    BinaryOp, FaultKind, Layout, MultisetAt, Program, ScalarType, Type, TypeId, UNDEFINED_REAL,
    UnaryOp, bits, normalise_multiset, ops, real,
};
use std::sync::Arc;

/// All instances of an action were tried; a subroutine returned; a property is false.
pub(crate) const OK: u64 = 0;
/// No room in the batch; a property is true.
pub(crate) const FULL: u64 = 1;
/// A fault is in the context.
pub(crate) const FAULT: u64 = 2;
/// An assumption is false.
pub(crate) const DROP: u64 = 3;
/// A source state has no successor that counts.
pub(crate) const DEADLOCK: u64 = 4;

/// What generated code sees of a worker. Offsets are taken with `offset_of!`. It is written with every
/// successor, so it shares no cache line with what another worker writes.
#[repr(C, align(128))]
#[derive(Debug)]
pub(crate) struct Ctx {
    /// The next free state of the batch.
    pub slot: *mut u64,
    /// Successors in the batch.
    pub len: u64,
    /// Room of the batch.
    pub cap: u64,
    /// Columns of the batch.
    pub sources: *mut u32,
    pub rules: *mut u32,
    pub labels: *mut u32,
    /// Position of the source state.
    pub source: u64,
    /// Successors dropped by assumptions.
    pub dropped: u64,
    /// Where an action stopped.
    pub instance: u64,
    /// Kind (upper half) and site of a fault.
    pub fault: u64,
    /// Its value.
    pub fault_value: i64,
    /// Nested calls.
    pub depth: u64,
    /// Counters of the cover goals, by property.
    pub goals: *mut u64,
    /// Room for the copy of a state that an impure property is evaluated on.
    pub copy: *mut u64,
    /// Ordinals of the parameters to start with.
    pub starts: *mut u64,
    /// Result of a helper.
    pub temp: i64,
    /// Room for large locals.
    pub arena: *mut Arena,
    /// States that a sweep goes through.
    pub count: u64,
    /// Label of the instance at which a sweep stopped.
    pub label: u64,
    /// Successors dropped by assumptions, per rule, in a sweep.
    pub drops: *mut u64,
    /// Their sum, now and at the beginning of the source state.
    pub drop_sum: u64,
    pub drop_sum_before: u64,
    /// Whether successors that are their own sources go to the batch (1), or are counted here, per rule (0).
    pub keep_loops: u64,
    pub loops: *mut u64,
    /// Their sum in any case, now and at the beginning of the source state.
    pub loop_sum: u64,
    pub loop_sum_before: u64,
    /// Positions of the states to judge.
    pub picks: *const u32,
}

/// Stack of large blocks for locals that must not lie on the native stack.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    chunks: Vec<Box<[u64]>>,
    /// Chunk in use and words used in it.
    chunk: usize,
    used: usize,
}

const CHUNK_WORDS: usize = 1 << 17;

impl Arena {
    pub(crate) fn clear(&mut self) {
        (self.chunk, self.used) = (0, 0);
    }

    fn alloc(&mut self, words: usize) -> *mut u64 {
        loop {
            match self.chunks.get_mut(self.chunk) {
                Some(chunk) if chunk.len() - self.used >= words => {
                    let block = &mut chunk[self.used..self.used + words];
                    self.used += words;
                    block.fill(0);
                    return block.as_mut_ptr();
                }
                Some(_) => (self.chunk, self.used) = (self.chunk + 1, 0),
                None => {
                    self.chunks.push(vec![0; words.max(CHUNK_WORDS)].into_boxed_slice());
                    self.used = 0;
                }
            }
        }
    }
}

/// Tables that helpers look things up in; their address is part of the code.
#[derive(Debug)]
pub(crate) struct Tables {
    pub program: Arc<Program>,
    pub layout: Layout,
}

/// # Safety
/// `ctx` is the context that generated code was called with.
pub(crate) unsafe extern "C" fn arena_mark(ctx: *mut Ctx) -> u64 {
    // SAFETY: the context points to the arena of its worker, which nobody else uses now.
    let arena = unsafe { &*(*ctx).arena };
    (arena.chunk as u64) << 32 | arena.used as u64
}

/// # Safety
/// As [`arena_mark`].
pub(crate) unsafe extern "C" fn arena_alloc(ctx: *mut Ctx, words: u64) -> *mut u64 {
    // SAFETY: as above; blocks given out before are not touched.
    let arena = unsafe { &mut *(*ctx).arena };
    arena.alloc(words as usize)
}

/// # Safety
/// As [`arena_mark`]; `mark` comes from there, and nothing allocated since is used any more.
pub(crate) unsafe extern "C" fn arena_release(ctx: *mut Ctx, mark: u64) {
    // SAFETY: as above.
    let arena = unsafe { &mut *(*ctx).arena };
    (arena.chunk, arena.used) = ((mark >> 32) as usize, (mark & 0xffff_ffff) as usize);
}

/// Applies a real operator; 0 and the result in `temp`, or one more than the kind of the fault and
/// its value in `temp`.
fn answer(ctx: *mut Ctx, result: ops::OpResult) -> u64 {
    let (status, value) = match result {
        Ok(value) => (0, value),
        Err((kind, value)) => (1 + kind as u64, value),
    };
    // SAFETY: generated code passes its own context.
    unsafe { (*ctx).temp = value };
    status
}

/// # Safety
/// `ctx` is the context that generated code was called with; `op` points
/// into the program.
pub(crate) unsafe extern "C" fn real_unary(ctx: *mut Ctx, op: *const UnaryOp, arg: i64) -> u64 {
    // SAFETY: the program lives as long as its code and does not change.
    answer(ctx, ops::unary(unsafe { *op }, arg))
}

/// # Safety
/// As [`real_unary`].
pub(crate) unsafe extern "C" fn real_binary(
    ctx: *mut Ctx,
    op: *const BinaryOp,
    a: i64,
    b: i64,
) -> u64 {
    // SAFETY: the program lives as long as its code and does not change.
    answer(ctx, ops::binary(unsafe { *op }, a, b))
}

/// The stored form of a real, or 0 if it does not fit the type.
pub(crate) extern "C" fn real_store(value: i64, digits: u64, exponent: u64) -> u64 {
    let rounded = real::store(f64::from_bits(value as u64), digits as u32, exponent as u32);
    rounded.map_or(0, |rounded| rounded.to_bits() ^ UNDEFINED_REAL)
}

/// # Safety
/// `[at, at + width)` lies in readable memory behind the word-aligned `base`.
unsafe fn read(base: *const u64, at: usize, width: u32) -> u64 {
    if width == 0 {
        return 0;
    }
    let (word, shift) = (at / 64, (at % 64) as u32);
    // SAFETY: by the contract of this function; the second word only if bits of it are wanted.
    let mut value = unsafe { *base.add(word) } >> shift;
    if shift + width > 64 {
        // SAFETY: as above.
        value |= unsafe { *base.add(word + 1) } << (64 - shift);
    }
    value & bits::mask(width)
}

/// # Safety
/// As [`read`], and the memory is writable.
unsafe fn write(base: *mut u64, at: usize, width: u32, value: u64) {
    if width == 0 {
        return;
    }
    let (word, shift) = (at / 64, (at % 64) as u32);
    let (value, mask) = (value & bits::mask(width), bits::mask(width));
    // SAFETY: by the contract of this function.
    unsafe {
        let first = base.add(word);
        *first = *first & !(mask << shift) | value << shift;
        if shift + width > 64 {
            let done = 64 - shift;
            let second = base.add(word + 1);
            *second = *second & !(mask >> done) | value >> done;
        }
    }
}

/// Copies bits between places that are equal or disjoint.
///
/// # Safety
/// Both runs of `len` bits are in memory that generated code may access.
pub(crate) unsafe extern "C" fn copy_bits(
    to: *mut u64,
    to_at: u64,
    from: *const u64,
    from_at: u64,
    len: u64,
) {
    let (to_at, from_at, len) = (to_at as usize, from_at as usize, len as usize);
    let mut done = 0;
    while done < len {
        let width = (len - done).min(64) as u32;
        // SAFETY: by the contract of this function.
        unsafe { write(to, to_at + done, width, read(from, from_at + done, width)) };
        done += 64;
    }
}

/// # Safety
/// As [`copy_bits`].
pub(crate) unsafe extern "C" fn zero_bits(to: *mut u64, to_at: u64, len: u64) {
    let (to_at, len) = (to_at as usize, len as usize);
    let mut done = 0;
    while done < len {
        let width = (len - done).min(64) as u32;
        // SAFETY: by the contract of this function.
        unsafe { write(to, to_at + done, width, 0) };
        done += 64;
    }
}

/// Whether two states differ.
///
/// # Safety
/// Both point to states of `words` words.
pub(crate) unsafe extern "C" fn differs(one: *const u64, other: *const u64, words: u64) -> u64 {
    let words = words as usize;
    // SAFETY: by the contract of this function; nothing writes to states now.
    let (one, other) = unsafe {
        (std::slice::from_raw_parts(one, words), std::slice::from_raw_parts(other, words))
    };
    u64::from(one != other)
}

/// A value somewhere in memory.
#[derive(Clone, Copy)]
struct At {
    base: *const u64,
    bit: usize,
}

impl At {
    fn plus(self, bits: usize) -> At {
        At { bit: self.bit + bits, ..self }
    }
}

impl Tables {
    fn scalar(&self, ty: TypeId) -> Option<&ScalarType> {
        match &self.program.types[ty.0 as usize] {
            Type::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The parts of a record or array: position and type of each.
    pub(crate) fn parts(&self, ty: TypeId) -> Vec<(usize, TypeId)> {
        match &self.program.types[ty.0 as usize] {
            Type::Record { fields, .. } => {
                let at = |i: usize| self.layout.field(ty, i as u32);
                fields.iter().enumerate().map(|(i, field)| (at(i), field.ty)).collect()
            }
            Type::Array { index, elem } => {
                let count = self.scalar(*index).map_or(0, ScalarType::count) as usize;
                (0..count).map(|i| (i * self.layout.stride(ty), *elem)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// # Safety
    /// A value of type `ty` is at `at`.
    unsafe fn filled(&self, at: At, ty: TypeId, slot: usize) -> bool {
        // SAFETY: by the contract of this function.
        unsafe { read(at.base, at.bit + slot * self.layout.stride(ty), 1) == 1 }
    }

    /// # Safety
    /// A scalar or real of type `ty` is at `at`.
    unsafe fn load(&self, at: At, ty: TypeId) -> Option<i64> {
        // SAFETY: by the contract of this function.
        let raw = unsafe { read(at.base, at.bit, self.layout.bits(ty) as u32) };
        match self.scalar(ty) {
            Some(scalar) => scalar.decode(raw),
            None => (raw != 0).then_some((raw ^ UNDEFINED_REAL) as i64),
        }
    }

    /// # Safety
    /// A value of type `ty` is at `at`.
    unsafe fn is_undefined(&self, at: At, ty: TypeId) -> bool {
        // SAFETY: parts of a value are where the layout says; by the contract of this function.
        unsafe {
            match &self.program.types[ty.0 as usize] {
                Type::Scalar(_) | Type::Real { .. } => self.load(at, ty).is_none(),
                Type::Multiset { capacity, .. } => {
                    (0..*capacity as usize).all(|slot| !self.filled(at, ty, slot))
                }
                Type::Record { .. } | Type::Array { .. } => self
                    .parts(ty)
                    .into_iter()
                    .all(|(offset, part)| self.is_undefined(at.plus(offset), part)),
            }
        }
    }

    /// `None` if an undefined part was met before the first difference.
    ///
    /// # Safety
    /// Values of type `ty` are at `left` and `right`.
    unsafe fn same(&self, left: At, right: At, ty: TypeId) -> Option<bool> {
        // SAFETY: parts of a value are where the layout says; by the contract of this function.
        unsafe {
            match &self.program.types[ty.0 as usize] {
                Type::Scalar(_) | Type::Real { .. } => {
                    Some(self.load(left, ty)? == self.load(right, ty)?)
                }
                Type::Multiset { capacity, elem } => {
                    let inside = self.layout.slot_element(ty, &self.program.types);
                    for slot in 0..*capacity as usize {
                        let here = self.filled(left, ty, slot);
                        if here != self.filled(right, ty, slot) {
                            return Some(false);
                        }
                        let offset = slot * self.layout.stride(ty) + inside;
                        if here && !self.same(left.plus(offset), right.plus(offset), *elem)? {
                            return Some(false);
                        }
                    }
                    Some(true)
                }
                Type::Record { .. } | Type::Array { .. } => {
                    for (offset, part) in self.parts(ty) {
                        if !self.same(left.plus(offset), right.plus(offset), part)? {
                            return Some(false);
                        }
                    }
                    Some(true)
                }
            }
        }
    }

    /// A copy of a value whose multisets are sorted as in a stored state.
    ///
    /// # Safety
    /// A value of type `ty` is at `at`.
    unsafe fn sorted(&self, at: At, ty: TypeId) -> Vec<u64> {
        let len = self.layout.bits(ty);
        let mut copy = vec![0u64; len.div_ceil(64) + 1];
        // SAFETY: by the contract of this function, and the copy has room.
        unsafe { copy_bits(copy.as_mut_ptr(), 0, at.base, at.bit as u64, len as u64) };
        self.sort(&mut copy, 0, ty);
        copy
    }

    fn sort(&self, words: &mut [u64], at: usize, ty: TypeId) {
        if !self.layout.has_multiset(ty) {
            return;
        }
        if let Type::Multiset { capacity, elem } = &self.program.types[ty.0 as usize] {
            let (stride, capacity) = (self.layout.stride(ty), *capacity);
            let inside = self.layout.slot_element(ty, &self.program.types);
            for slot in 0..capacity as usize {
                self.sort(words, at + slot * stride + inside, *elem);
            }
            let global = ergodic_ir::GlobalId(0);
            normalise_multiset(words, MultisetAt { at, capacity, stride, global });
        }
        for (offset, part) in self.parts(ty) {
            self.sort(words, at + offset, part);
        }
    }
}

/// Whether all parts of a value are undefined.
///
/// # Safety
/// `tables` are those of the running code, and a value of type `ty` is at the place.
pub(crate) unsafe extern "C" fn is_undefined(
    tables: *const Tables,
    ty: u64,
    base: *const u64,
    at: u64,
) -> u64 {
    let at = At { base, bit: at as usize };
    // SAFETY: by the contract of this function.
    u64::from(unsafe { (*tables).is_undefined(at, TypeId(ty as u32)) })
}

/// Whether two values are the same (0 or 1); 2 if an undefined part was met.
///
/// # Safety
/// As [`is_undefined`], for both places.
pub(crate) unsafe extern "C" fn same(
    tables: *const Tables,
    ty: u64,
    left: *const u64,
    left_at: u64,
    right: *const u64,
    right_at: u64,
) -> u64 {
    let ty = TypeId(ty as u32);
    let left = At { base: left, bit: left_at as usize };
    let right = At { base: right, bit: right_at as usize };
    // SAFETY: by the contract of this function; sorted copies have the layout of their originals.
    let result = unsafe {
        let tables = &*tables;
        if tables.layout.has_multiset(ty) {
            let (a, b) = (tables.sorted(left, ty), tables.sorted(right, ty));
            let (a, b) = (At { base: a.as_ptr(), bit: 0 }, At { base: b.as_ptr(), bit: 0 });
            tables.same(a, b, ty)
        } else {
            tables.same(left, right, ty)
        }
    };
    result.map_or(2, u64::from)
}

/// Sorts the slots of some multisets of a state.
///
/// # Safety
/// `list` are `count` multisets of the state of `words` words at `state`, which has one more
/// readable word behind it.
pub(crate) unsafe extern "C" fn normalise(
    state: *mut u64,
    words: u64,
    list: *const MultisetAt,
    count: u64,
) {
    // SAFETY: by the contract of this function.
    let list = unsafe { std::slice::from_raw_parts(list, count as usize) };
    for multiset in list {
        // SAFETY: by the contract of this function; the number of keys is what each branch has.
        unsafe {
            match (multiset.capacity, multiset.stride) {
                (0..=8, 0..=64) => sort_slots::<8>(state, *multiset),
                (0..=64, 0..=64) => sort_slots::<64>(state, *multiset),
                _ => {
                    let state = std::slice::from_raw_parts_mut(state, words as usize);
                    normalise_multiset(state, *multiset);
                }
            }
        }
    }
}

/// As [`normalise_multiset`], faster for small elements: slots become numbers, which are sorted and
/// written back only if they were out of order.
///
/// # Safety
/// The multiset has at most `N` slots of at most 64 bits and lies in the state, which nobody else
/// refers to now.
unsafe fn sort_slots<const N: usize>(state: *mut u64, multiset: MultisetAt) {
    let MultisetAt { at, capacity, stride, .. } = multiset;
    let (capacity, width) = (capacity as usize, stride as u32);
    let mut keys = [0u64; N];
    let keys = &mut keys[..capacity];
    let mut sorted = true;
    let mut last = u64::MAX;
    for (i, key) in keys.iter_mut().enumerate() {
        // SAFETY: the slot is part of the state.
        *key = unsafe { read(state, at + i * stride, width) };
        if *key & 1 == 0 && *key != 0 {
            // An empty slot that was written through a reference to its removed element.
            (*key, sorted) = (0, false);
        }
        sorted &= *key <= last;
        last = *key;
    }
    if sorted {
        return;
    }
    for i in 1..capacity {
        let key = keys[i];
        let mut j = i;
        while j > 0 && keys[j - 1] < key {
            keys[j] = keys[j - 1];
            j -= 1;
        }
        keys[j] = key;
    }
    // SAFETY: the slots are part of the state.
    unsafe { write_all(state, at, width, keys) };
}

/// Writes fields of `width` bits one after the other, from bit `at` on: word by word, so that none waits
/// for the one before.
///
/// # Safety
/// The fields lie in writable memory behind the word-aligned `base`, and have no bits beyond `width`.
unsafe fn write_all(base: *mut u64, at: usize, width: u32, fields: &[u64]) {
    let (mut word, mut filled) = (at / 64, (at % 64) as u32);
    // SAFETY: by the contract of this function, here and below: a word is read and written only if
    // bits of it belong to a field.
    let old = |word: usize| unsafe { *base.add(word) };
    if fields.is_empty() || width == 0 {
        return;
    }
    let mut waiting = u128::from(old(word) & bits::mask(filled));
    for field in fields {
        waiting |= u128::from(*field) << filled;
        filled += width;
        if filled >= 64 {
            // SAFETY: as above.
            unsafe { *base.add(word) = waiting as u64 };
            (waiting, filled, word) = (waiting >> 64, filled - 64, word + 1);
        }
    }
    if filled > 0 {
        let rest = old(word) & !bits::mask(filled);
        // SAFETY: as above.
        unsafe { *base.add(word) = waiting as u64 | rest };
    }
}

/// The kind and site of a fault as one number.
pub(crate) fn pack(kind: FaultKind, site: ergodic_ir::Site) -> i64 {
    ((kind as u64) << 32 | u64::from(site.0)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_slots_are_sorted_like_the_reference() {
        let mut seed = 7u64;
        for stride in [1usize, 3, 8, 17, 57, 63, 64, 65, 100] {
            for capacity in [1u32, 2, 5, 9, 70] {
                for at in [0usize, 5, 60, 64] {
                    let words = (at + stride * capacity as usize).div_ceil(64) + 1;
                    let mut state: Vec<u64> = (0..words)
                        .map(|_| {
                            seed = seed
                                .wrapping_mul(6364136223846793005)
                                .wrapping_add(1442695040888963407);
                            seed ^ seed >> 31
                        })
                        .collect();
                    let mut reference = state.clone();
                    let global = ergodic_ir::GlobalId(0);
                    let multiset = MultisetAt { at, capacity, stride, global };
                    normalise_multiset(&mut reference, multiset);
                    // SAFETY: the multiset lies in the state.
                    unsafe { normalise(state.as_mut_ptr(), words as u64, &multiset, 1) };
                    assert_eq!(state, reference);
                }
            }
        }
    }

    #[test]
    fn the_arena_gives_back_what_was_released() {
        let mut arena = Arena::default();
        let a = arena.alloc(10);
        let b = arena.alloc(CHUNK_WORDS);
        assert_ne!(a, b);
        arena.clear();
        assert_eq!(arena.alloc(10), a);
        // SAFETY: the block has ten words and is alive.
        assert_eq!(unsafe { *a.add(9) }, 0);
    }
}
