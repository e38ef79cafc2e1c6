//! Loading, storing, copying and comparing values.

use crate::machine::{Blame, Eval, Machine};
use crate::memory::{Address, Memory};
use ergodic_ir::{
    FaultKind, GlobalId, MultisetAt, Site, Type, TypeId, UNDEFINED_REAL, bits, normalise_multiset,
    real, show,
};

/// One of two places being compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

impl<'a> Machine<'a, '_> {
    /// The value of a scalar or real; `None` if undefined.
    pub(crate) fn load(&self, at: Address, ty: TypeId) -> Option<i64> {
        self.decode(ty, self.raw(at, self.layout.bits(ty) as u32))
    }

    /// The value of a stored form; `None` if undefined.
    pub(crate) fn decode(&self, ty: TypeId, raw: u64) -> Option<i64> {
        match &self.program.types[ty.0 as usize] {
            Type::Scalar(scalar) => scalar.decode(raw),
            Type::Real { .. } => (raw != 0).then_some((raw ^ UNDEFINED_REAL) as i64),
            other => panic!("verified programs load scalars and reals only, not {other:?}"),
        }
    }

    fn raw(&self, at: Address, width: u32) -> u64 {
        bits::read(self.mem.words(at.memory), at.bit, width)
    }

    /// The stored form of a value, or what is wrong with it.
    pub(crate) fn encode(&self, ty: TypeId, value: i64) -> Result<u64, FaultKind> {
        match &self.program.types[ty.0 as usize] {
            Type::Scalar(scalar) => scalar.encode(value).ok_or(FaultKind::Range),
            Type::Real { digits, exponent } => {
                let rounded = real::store(f64::from_bits(value as u64), *digits, *exponent);
                rounded.map(|r| r.to_bits() ^ UNDEFINED_REAL).ok_or(FaultKind::Overflow)
            }
            other => panic!("verified programs store scalars and reals only, not {other:?}"),
        }
    }

    /// Stores a value in a scalar or real place, checked.
    pub(crate) fn store(
        &mut self,
        to: Address,
        ty: TypeId,
        value: i64,
        site: Site,
        blame: Blame<'a>,
    ) -> Eval<()> {
        match self.encode(ty, value) {
            Ok(raw) => {
                let width = self.layout.bits(ty) as u32;
                bits::write(self.mem.words_mut(to.memory), to.bit, width, raw);
                Ok(())
            }
            Err(kind) => Err(self.fault(kind, site, value, blame)),
        }
    }

    /// Copies a value, undefined parts included: bit by bit between equal types, checked between
    /// different scalar or real types. An undefined value for a type that has none is a fault;
    /// `name` is the source then.
    pub(crate) fn transfer(
        &mut self,
        (to, to_ty): (Address, TypeId),
        (from, from_ty): (Address, TypeId),
        name: Option<String>,
        site: Site,
        blame: Blame<'a>,
    ) -> Eval<()> {
        let types = &self.program.types;
        let leaf = matches!(&types[to_ty.0 as usize], Type::Scalar(_) | Type::Real { .. });
        if to_ty == from_ty || !leaf {
            self.copy_bits(to, from, self.layout.bits(to_ty));
            return Ok(());
        }
        if let Some(value) = self.load(from, from_ty) {
            return self.store(to, to_ty, value, site, blame);
        }
        if matches!(&types[to_ty.0 as usize], Type::Scalar(scalar) if !scalar.undefinable) {
            self.set_place_name(name);
            return Err(self.fault(FaultKind::Undefined, site, 0, Blame::Place));
        }
        self.undefine(to, to_ty);
        Ok(())
    }

    /// Copies bits between values of one type, which are the same or disjoint.
    fn copy_bits(&mut self, to: Address, from: Address, len: usize) {
        let mut done = 0;
        while done < len {
            let width = (len - done).min(64) as u32;
            let piece = self.raw(from.plus(done), width);
            bits::write(self.mem.words_mut(to.memory), to.bit + done, width, piece);
            done += 64;
        }
    }

    /// Makes a value undefined in all its parts.
    pub(crate) fn undefine(&mut self, at: Address, ty: TypeId) {
        let len = self.layout.bits(ty);
        bits::zero(self.mem.words_mut(at.memory), at.bit, len);
    }

    /// The parts of a record or array: position and type of each.
    fn parts(&self, ty: TypeId) -> impl Iterator<Item = (usize, TypeId)> + use<'a> {
        let layout = self.layout;
        let (fields, elements) = match &self.program.types[ty.0 as usize] {
            Type::Record { fields, .. } => (fields.as_slice(), None),
            Type::Array { index, elem } => (&[][..], Some((self.scalar(*index).count(), *elem))),
            _ => (&[][..], None),
        };
        let fields =
            fields.iter().enumerate().map(move |(i, f)| (layout.field(ty, i as u32), f.ty));
        let elements = elements.into_iter().flat_map(move |(count, elem)| {
            (0..count as usize).map(move |i| (i * layout.stride(ty), elem))
        });
        fields.chain(elements)
    }

    /// Sets every scalar to its first value, reals to zero, and empties multisets.
    pub(crate) fn clear(&mut self, at: Address, ty: TypeId) {
        match &self.program.types[ty.0 as usize] {
            Type::Scalar(scalar) => {
                let width = self.layout.bits(ty) as u32;
                let first = u64::from(scalar.undefinable);
                bits::write(self.mem.words_mut(at.memory), at.bit, width, first);
            }
            Type::Real { .. } => {
                bits::write(self.mem.words_mut(at.memory), at.bit, 64, UNDEFINED_REAL);
            }
            Type::Multiset { .. } => self.undefine(at, ty),
            Type::Record { .. } | Type::Array { .. } => {
                for (offset, part) in self.parts(ty) {
                    self.clear(at.plus(offset), part);
                }
            }
        }
    }

    /// Whether every part of a value is undefined. A multiset is if it is empty.
    pub(crate) fn is_undefined(&self, at: Address, ty: TypeId) -> bool {
        match &self.program.types[ty.0 as usize] {
            Type::Scalar(_) | Type::Real { .. } => self.load(at, ty).is_none(),
            Type::Multiset { capacity, .. } => {
                (0..i64::from(*capacity)).all(|slot| !self.filled(at, ty, slot))
            }
            Type::Record { .. } | Type::Array { .. } => {
                self.parts(ty).all(|(offset, part)| self.is_undefined(at.plus(offset), part))
            }
        }
    }

    /// Whether two values are equal, their parts compared in order up to the first difference;
    /// the side that has an undefined part if one is met before.
    pub(crate) fn same(&mut self, left: Address, right: Address, ty: TypeId) -> Result<bool, Side> {
        if !self.layout.has_multiset(ty) {
            return self.same_parts(left, right, ty);
        }
        // Multisets are compared as such: sorted copies of both sides, like in a stored state.
        let (left_copy, right_copy) = (self.sorted_copy(left, ty), self.sorted_copy(right, ty));
        let same = self.same_parts(left_copy, right_copy, ty);
        self.mem.storage.truncate(left_copy.bit / 64);
        same
    }

    /// As [`Machine::same`], with multisets compared slot by slot.
    fn same_parts(&self, left: Address, right: Address, ty: TypeId) -> Result<bool, Side> {
        match &self.program.types[ty.0 as usize] {
            Type::Scalar(_) | Type::Real { .. } => {
                let left = self.load(left, ty).ok_or(Side::Left)?;
                let right = self.load(right, ty).ok_or(Side::Right)?;
                Ok(left == right)
            }
            Type::Multiset { capacity, elem } => {
                let inside = self.layout.slot_element(ty, &self.program.types);
                for slot in 0..*capacity as usize {
                    let filled = |at| self.filled(at, ty, slot as i64);
                    let offset = slot * self.layout.stride(ty) + inside;
                    if filled(left) != filled(right) {
                        return Ok(false);
                    }
                    if filled(left)
                        && !self.same_parts(left.plus(offset), right.plus(offset), *elem)?
                    {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Type::Record { .. } | Type::Array { .. } => {
                for (offset, part) in self.parts(ty) {
                    if !self.same_parts(left.plus(offset), right.plus(offset), part)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// A copy on top of the storage of locals, its multisets sorted.
    fn sorted_copy(&mut self, from: Address, ty: TypeId) -> Address {
        let bottom = self.mem.storage.len();
        self.mem.storage.resize(bottom + self.layout.bits(ty).div_ceil(64), 0);
        let to = Address { memory: Memory::Storage, bit: bottom * 64 };
        self.copy_bits(to, from, self.layout.bits(ty));
        self.sort_multisets(to, ty);
        to
    }

    fn sort_multisets(&mut self, at: Address, ty: TypeId) {
        if !self.layout.has_multiset(ty) {
            return;
        }
        if let Type::Multiset { capacity, elem } = &self.program.types[ty.0 as usize] {
            let (stride, capacity) = (self.layout.stride(ty), *capacity);
            let inside = self.layout.slot_element(ty, &self.program.types);
            for slot in 0..capacity as usize {
                self.sort_multisets(at.plus(slot * stride + inside), *elem);
            }
            let multiset = MultisetAt { at: at.bit, capacity, stride, global: GlobalId(0) };
            normalise_multiset(self.mem.words_mut(at.memory), multiset);
        }
        for (offset, part) in self.parts(ty) {
            self.sort_multisets(at.plus(offset), part);
        }
    }

    /// The name of the first undefined part of a value called `name`.
    pub(crate) fn undefined_part(&self, at: Address, ty: TypeId, name: &str) -> Option<String> {
        let mut leaves = Vec::new();
        let words = self.mem.words(at.memory);
        show::value_leaves(self.program, self.layout, words, at.bit, ty, name, &mut leaves);
        leaves.into_iter().find(|leaf| leaf.value.is_none()).map(|leaf| leaf.name)
    }
}
