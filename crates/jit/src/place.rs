//! Places, and values of all types in memory.

use crate::JitError;
use crate::analysis::type_range;
use crate::emit::{Addr, Base, Dynamic, Fun, I64, Loc, Res, Spot, Val};
use crate::facts::{ALL, Key};
use crate::range::Range;
use crate::runtime;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, condcodes::IntCC};
use ergodic_ir::{
    FaultKind, LocalId, Place, Root, ScalarType, Site, Step, Type, TypeId, UNDEFINED_REAL, bits,
    real,
};

/// Values of more parts than this are compared by a helper.
const INLINE_PARTS: usize = 12;

impl<'f> Fun<'f> {
    pub(crate) fn type_of(&self, ty: TypeId) -> Res<&'f Type> {
        let types = &self.unit.program.types;
        types.get(ty.0 as usize).ok_or_else(|| JitError::new("there is no such type"))
    }

    pub(crate) fn scalar_of(&self, ty: TypeId) -> Res<&'f ScalarType> {
        match self.type_of(ty)? {
            Type::Scalar(scalar) => Ok(scalar),
            _ => Err(JitError::new("a scalar type is expected")),
        }
    }

    /// Capacity and element type.
    pub(crate) fn multiset_of(&self, ty: TypeId) -> Res<(u32, TypeId)> {
        match self.type_of(ty)? {
            Type::Multiset { capacity, elem } => Ok((*capacity, *elem)),
            _ => Err(JitError::new("a multiset type is expected")),
        }
    }

    /// Evaluates the indices of a place.
    pub(crate) fn place(&mut self, place: &'f Place) -> Res<Spot> {
        let (mut addr, mut ty) = match place.root {
            Root::Global(id) => {
                let konst = self.unit.layout.global(id) as i64;
                let ty = self.unit.program.globals[id.0 as usize].ty;
                (Addr { base: Base::Global(id), konst, dynamic: None, span: ALL }, ty)
            }
            Root::Local(id) => {
                let i = id.0 as usize;
                let ty = self.decls[i].ty;
                let addr = match self.locals[i] {
                    Loc::Raw(variable) => return Ok(Spot::Raw(variable)),
                    Loc::Stack(_) | Loc::Heap(_) => Addr::local(i),
                    Loc::Ref { base, konst, dynamic, span } => {
                        let dynamic = dynamic.map(|d| Dynamic {
                            v: self.b.use_var(d.v),
                            bytes: d.bytes,
                            grain: d.grain,
                            origin: d.origin,
                        });
                        Addr { base, konst, dynamic, span }
                    }
                    Loc::Bound(_) | Loc::Unbound => {
                        return Err(JitError::new("a name is used as a place before it is bound"));
                    }
                };
                (addr, ty)
            }
        };
        // Indices are checked, so parts stay inside.
        addr.span = addr.extent(self.unit.layout.bits(ty));
        for step in &place.path {
            match (step, self.type_of(ty)?) {
                (Step::Field(field), Type::Record { fields, .. }) => {
                    addr = Fun::plus(addr, self.unit.layout.field(ty, *field));
                    ty = fields[*field as usize].ty;
                }
                (Step::Index { index, site }, Type::Array { index: over, elem }) => {
                    let index = self.expr(index)?;
                    addr = self.element(addr, ty, *over, index, *site)?;
                    ty = *elem;
                }
                (Step::Slot { slot, site }, Type::Multiset { elem, .. }) => {
                    let slot = self.expr(slot)?;
                    let slot_addr = self.filled_slot(addr, ty, slot, *site)?;
                    let types = &self.unit.program.types;
                    addr = Fun::plus(slot_addr, self.unit.layout.slot_element(ty, types));
                    ty = *elem;
                }
                _ => return Err(JitError::new("a place does not fit its type")),
            }
            addr.span = addr.extent(self.unit.layout.bits(ty));
        }
        Ok(Spot::Mem(addr))
    }

    /// A place in memory.
    pub(crate) fn memory_place(&mut self, place: &'f Place) -> Res<Addr> {
        match self.place(place)? {
            Spot::Mem(addr) => Ok(addr),
            Spot::Raw(_) => Err(JitError::new("a scalar local is used as a compound place")),
        }
    }

    fn element(
        &mut self,
        addr: Addr,
        ty: TypeId,
        over: TypeId,
        index: Val,
        site: Site,
    ) -> Res<Addr> {
        let scalar = self.scalar_of(over)?;
        let stride = self.unit.layout.stride(ty);
        if let [(lo, hi)] = scalar.intervals[..] {
            if !self.is_member_surely(index, over, scalar) {
                self.check_inside(index.v, (lo, hi), FaultKind::Index, site);
            }
            return Ok(self.advance(addr, index, lo, stride));
        }
        let (ordinal, member) = self.ordinal(index, scalar, 0);
        if !self.is_member_surely(index, over, scalar) {
            let bad = self.icmp_imm(IntCC::Equal, member, 0);
            self.check(bad, FaultKind::Index, site, index.v);
        }
        let range = match index.range.constant().and_then(|code| scalar.ordinal(code)) {
            Some(ordinal) => Range::one(ordinal as i64),
            None => Range::FULL,
        };
        Ok(self.advance(addr, Val { v: ordinal, range, ty: None }, 0, stride))
    }

    /// The address of a slot, checked to hold an element.
    pub(crate) fn filled_slot(
        &mut self,
        set: Addr,
        ty: TypeId,
        slot: Val,
        site: Site,
    ) -> Res<Addr> {
        let (capacity, _) = self.multiset_of(ty)?;
        if !slot.range.within(0, i64::from(capacity) - 1) {
            let slots = (0, i64::from(capacity) - 1);
            self.check_inside(slot.v, slots, FaultKind::AbsentElement, site);
        }
        let addr = self.advance(set, slot, 0, self.unit.layout.stride(ty));
        let filled = self.load(addr, 1);
        let bad = self.icmp_imm(IntCC::Equal, filled, 0);
        self.check(bad, FaultKind::AbsentElement, site, slot.v);
        Ok(addr)
    }

    /// Whether a code is outside an interval.
    pub(crate) fn outside(&mut self, code: Value, lo: i64, hi: i64) -> Value {
        let size = hi.wrapping_sub(lo);
        let offset = if lo == 0 { code } else { self.b.ins().iadd_imm_s(code, lo.wrapping_neg()) };
        self.b.ins().icmp_imm_s(IntCC::UnsignedGreaterThan, offset, size)
    }

    /// Whether a value is known to belong to a type.
    pub(crate) fn is_member_surely(&self, value: Val, ty: TypeId, scalar: &ScalarType) -> bool {
        value.ty == Some(ty)
            || value.range.fits(scalar)
            || value.ty.and_then(|other| self.scalar(other)).is_some_and(|other| {
                let inside = |(lo, hi): &(i64, i64)| Range { lo: *lo, hi: *hi }.fits(scalar);
                other.intervals.iter().all(inside)
            })
    }

    /// Whether a code belongs to a type (0 or 1).
    pub(crate) fn is_member(&mut self, value: Val, ty: TypeId) -> Res<Value> {
        let scalar = self.scalar_of(ty)?;
        if self.is_member_surely(value, ty, scalar) {
            return Ok(self.int(1));
        }
        let (_, member) = self.ordinal(value, scalar, 0);
        Ok(member)
    }

    /// Position of a code among the values of a type plus `more`, and whether it is one (0 or 1).
    fn ordinal(&mut self, value: Val, scalar: &ScalarType, more: u64) -> (Value, Value) {
        let mut before = more;
        let mut result = None;
        for (lo, hi) in &scalar.intervals {
            let offset = self.b.ins().iadd_imm_s(value.v, lo.wrapping_neg());
            let size = hi.wrapping_sub(*lo);
            let inside = self.b.ins().icmp_imm_s(IntCC::UnsignedLessThanOrEqual, offset, size);
            let here = self.b.ins().iadd_imm_s(offset, before as i64);
            result = Some(match result {
                None => (here, inside),
                Some((ordinal, member)) => {
                    (self.b.ins().select(inside, here, ordinal), self.b.ins().bor(member, inside))
                }
            });
            before = before.wrapping_add(hi.abs_diff(*lo)).wrapping_add(1);
        }
        match result {
            Some((ordinal, member)) => (ordinal, self.b.ins().uextend(I64, member)),
            None => (value.v, self.int(0)),
        }
    }

    /// The code at a position that is surely below the number of values.
    pub(crate) fn code(&mut self, ordinal: Value, scalar: &ScalarType, less: u64) -> Value {
        let mut before = less;
        let mut result = None;
        for (lo, hi) in &scalar.intervals {
            let offset = lo.wrapping_sub(before as i64);
            let here = if offset == 0 { ordinal } else { self.b.ins().iadd_imm_s(ordinal, offset) };
            result = Some(match result {
                None => here,
                Some(smaller) => {
                    let cc = IntCC::UnsignedGreaterThanOrEqual;
                    let reached = self.b.ins().icmp_imm_s(cc, ordinal, before as i64);
                    self.b.ins().select(reached, here, smaller)
                }
            });
            before = before.wrapping_add(hi.abs_diff(*lo)).wrapping_add(1);
        }
        result.unwrap_or(ordinal)
    }

    /// The value of a stored form that is not undefined.
    pub(crate) fn decode(&mut self, raw: Value, ty: TypeId) -> Res<Val> {
        Ok(match self.type_of(ty)? {
            Type::Scalar(scalar) => {
                let less = u64::from(scalar.undefinable);
                let v = self.once(Key::Code(raw, ty), |f| f.code(raw, scalar, less));
                Val { v, range: type_range(self.unit.program, ty), ty: Some(ty) }
            }
            _ => {
                let v = self.b.ins().bxor_imm_s(raw, UNDEFINED_REAL as i64);
                Val { v, range: Range::FULL, ty: Some(ty) }
            }
        })
    }

    /// The stored form of a value, checked.
    pub(crate) fn encode(&mut self, value: Val, ty: TypeId, site: Site) -> Res<Value> {
        match self.type_of(ty)? {
            Type::Scalar(scalar) => {
                let more = u64::from(scalar.undefinable);
                let sure = self.is_member_surely(value, ty, scalar);
                if let [(lo, hi)] = scalar.intervals[..] {
                    if !sure {
                        self.check_inside(value.v, (lo, hi), FaultKind::Range, site);
                    }
                    let offset = (more as i64).wrapping_sub(lo);
                    return Ok(match (offset, value.range.constant()) {
                        (_, Some(code)) if sure => self.int(code.wrapping_add(offset)),
                        (0, _) => value.v,
                        _ => self.b.ins().iadd_imm_s(value.v, offset),
                    });
                }
                if sure && let Some(raw) = value.range.constant().and_then(|c| scalar.encode(c)) {
                    return Ok(self.int(raw as i64));
                }
                let (ordinal, member) = self.ordinal(value, scalar, more);
                if !sure {
                    let bad = self.icmp_imm(IntCC::Equal, member, 0);
                    self.check(bad, FaultKind::Range, site, value.v);
                }
                Ok(ordinal)
            }
            Type::Real { digits, exponent } => {
                if let Some(constant) = value.range.constant() {
                    let raw =
                        runtime::real_store(constant, u64::from(*digits), u64::from(*exponent));
                    if raw != 0 {
                        return Ok(self.int(raw as i64));
                    }
                }
                if self.is_rounded(value, *digits, *exponent) {
                    return Ok(self.b.ins().bxor_imm_s(value.v, UNDEFINED_REAL as i64));
                }
                let digits = self.int(i64::from(*digits));
                let exponent = self.int(i64::from(*exponent));
                let args = [value.v, digits, exponent];
                let raw = self.ask(runtime::real_store as *const u8, &args);
                let bad = self.icmp_imm(IntCC::Equal, raw, 0);
                self.check(bad, FaultKind::Overflow, site, value.v);
                Ok(raw)
            }
            _ => Err(JitError::new("a scalar or real type is expected")),
        }
    }

    /// Whether a real stays what it is when it is rounded, because it comes from a place of a real type.
    fn is_rounded(&self, value: Val, digits: u32, exponent: u32) -> bool {
        match value.ty.map(|ty| self.type_of(ty)) {
            Some(Ok(Type::Real { digits: from, exponent: power })) => {
                *from <= digits && digits <= real::MOST_DIGITS && *power <= exponent
            }
            _ => false,
        }
    }

    /// Whether stored forms of a scalar or real type can be undefined.
    pub(crate) fn undefinable(&self, ty: TypeId) -> bool {
        self.scalar(ty).is_none_or(|scalar| scalar.undefinable)
    }

    /// The stored form at a scalar or real place.
    pub(crate) fn load_raw(&mut self, spot: Spot, ty: TypeId) -> Value {
        match spot {
            Spot::Raw(variable) => self.b.use_var(variable),
            Spot::Mem(addr) => {
                let width = self.width(ty);
                self.load(addr, width)
            }
        }
    }

    pub(crate) fn store_raw(&mut self, spot: Spot, ty: TypeId, raw: Value) {
        match spot {
            Spot::Raw(variable) => self.b.def_var(variable, raw),
            Spot::Mem(addr) => {
                let width = self.width(ty);
                self.store(addr, width, raw);
            }
        }
    }

    /// The value at a scalar or real place.
    pub(crate) fn read(&mut self, place: &'f Place, site: Site) -> Res<Val> {
        let spot = self.place(place)?;
        let raw = self.load_raw(spot, place.ty);
        if self.undefinable(place.ty) {
            self.check_defined(raw, site);
        }
        self.decode(raw, place.ty)
    }

    /// The stored form, for type `to`, of what is stored for type `from`, undefined values included.
    pub(crate) fn convert(
        &mut self,
        raw: Value,
        from: TypeId,
        to: TypeId,
        site: Site,
    ) -> Res<Value> {
        if from == to {
            return Ok(raw);
        }
        if !self.undefinable(from) {
            let value = self.decode(raw, from)?;
            return self.encode(value, to, site);
        }
        if !self.undefinable(to) {
            self.check_defined(raw, site);
            let value = self.decode(raw, from)?;
            return self.encode(value, to, site);
        }
        let (some, end) = (self.b.create_block(), self.b.create_block());
        let result = self.b.append_block_param(end, I64);
        let undefined = self.icmp_imm(IntCC::Equal, raw, 0);
        let zero = self.int(0);
        self.brif_with(undefined, (end, &[BlockArg::Value(zero)]), (some, &[]));
        self.enter(some);
        let value = self.decode(raw, from)?;
        let encoded = self.encode(value, to, site)?;
        self.jump_with(end, &[encoded]);
        self.enter(end);
        Ok(result)
    }

    /// Copies a value, undefined parts included.
    pub(crate) fn transfer(
        &mut self,
        (to, to_ty): (Spot, TypeId),
        (from, from_ty): (Spot, TypeId),
        site: Site,
    ) -> Res<()> {
        if matches!(self.type_of(to_ty)?, Type::Scalar(_) | Type::Real { .. }) {
            let raw = self.load_raw(from, from_ty);
            let raw = self.convert(raw, from_ty, to_ty, site)?;
            self.store_raw(to, to_ty, raw);
            return Ok(());
        }
        match (to, from) {
            (Spot::Mem(to), Spot::Mem(from)) => {
                self.copy(to, from, self.unit.layout.bits(to_ty));
                Ok(())
            }
            _ => Err(JitError::new("a compound value is not in memory")),
        }
    }

    pub(crate) fn undefine(&mut self, spot: Spot, ty: TypeId) {
        match spot {
            Spot::Raw(variable) => {
                let zero = self.int(0);
                self.b.def_var(variable, zero);
            }
            Spot::Mem(addr) => self.zero(addr, self.unit.layout.bits(ty)),
        }
    }

    /// Makes a storage local undefined.
    pub(crate) fn fresh(&mut self, local: LocalId) {
        let i = local.0 as usize;
        let spot = match self.locals[i] {
            Loc::Raw(variable) => Spot::Raw(variable),
            _ => Spot::Mem(Addr::local(i)),
        };
        self.undefine(spot, self.decls[i].ty);
    }

    /// Sets every scalar to its first value, reals to zero; empties multisets.
    pub(crate) fn clear(&mut self, spot: Spot, ty: TypeId) -> Res<()> {
        let len = self.unit.layout.bits(ty);
        let mut words = vec![0u64; len.div_ceil(64) + 1];
        self.clear_pattern(&mut words, 0, ty)?;
        match spot {
            Spot::Raw(variable) => {
                let raw = self.int(words[0] as i64);
                self.b.def_var(variable, raw);
            }
            Spot::Mem(addr) => self.pattern(addr, words, len),
        }
        Ok(())
    }

    fn clear_pattern(&self, words: &mut [u64], at: usize, ty: TypeId) -> Res<()> {
        match self.type_of(ty)? {
            Type::Scalar(scalar) => {
                bits::write(words, at, scalar.bits(), u64::from(scalar.undefinable));
            }
            Type::Real { .. } => bits::write(words, at, 64, UNDEFINED_REAL),
            Type::Multiset { .. } => {}
            Type::Record { fields, .. } => {
                for (i, field) in fields.iter().enumerate() {
                    let offset = self.unit.layout.field(ty, i as u32);
                    self.clear_pattern(words, at + offset, field.ty)?;
                }
            }
            Type::Array { index, elem } => {
                for i in 0..self.scalar_of(*index)?.count() as usize {
                    self.clear_pattern(words, at + i * self.unit.layout.stride(ty), *elem)?;
                }
            }
        }
        Ok(())
    }

    /// The scalars and reals of a type with their positions, if there are few and no multisets.
    fn leaves(&self, ty: TypeId, at: usize, out: &mut Vec<(usize, TypeId)>) -> Res<bool> {
        match self.type_of(ty)? {
            Type::Scalar(_) | Type::Real { .. } => out.push((at, ty)),
            Type::Multiset { .. } => return Ok(false),
            Type::Record { fields, .. } => {
                for (i, field) in fields.iter().enumerate() {
                    let offset = self.unit.layout.field(ty, i as u32);
                    if !self.leaves(field.ty, at + offset, out)? {
                        return Ok(false);
                    }
                }
            }
            Type::Array { index, elem } => {
                let count = self.scalar_of(*index)?.count();
                if count > INLINE_PARTS as u64 {
                    return Ok(false);
                }
                for i in 0..count as usize {
                    if !self.leaves(*elem, at + i * self.unit.layout.stride(ty), out)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(out.len() <= INLINE_PARTS)
    }

    /// Whether all parts of a place are undefined (0 or 1).
    pub(crate) fn is_undefined(&mut self, place: &'f Place) -> Res<Value> {
        let (spot, ty) = (self.place(place)?, place.ty);
        let addr = match (spot, self.type_of(ty)?) {
            (Spot::Raw(_), _) | (_, Type::Scalar(_) | Type::Real { .. }) => {
                if !self.undefinable(ty) {
                    return Ok(self.int(0));
                }
                let raw = self.load_raw(spot, ty);
                let zero = self.icmp_imm(IntCC::Equal, raw, 0);
                return Ok(self.b.ins().uextend(I64, zero));
            }
            (Spot::Mem(addr), _) => addr,
        };
        let mut leaves = Vec::new();
        if self.leaves(ty, 0, &mut leaves)? {
            if leaves.iter().any(|(_, leaf)| !self.undefinable(*leaf)) {
                return Ok(self.int(0));
            }
            // All parts can be undefined, so the value is if all its bits (padding too) are zero.
            let mut all = self.int(0);
            for (offset, leaf) in leaves {
                let raw = self.load_raw(Spot::Mem(Fun::plus(addr, offset)), leaf);
                all = self.b.ins().bor(all, raw);
            }
            let zero = self.icmp_imm(IntCC::Equal, all, 0);
            return Ok(self.b.ins().uextend(I64, zero));
        }
        let tables = self.int(self.unit.tables as i64);
        let number = self.int(i64::from(ty.0));
        let (base, _) = self.pointer(addr, self.unit.layout.bits(ty));
        let at = self.position(addr);
        Ok(self.ask(runtime::is_undefined as *const u8, &[tables, number, base, at]))
    }

    /// Whether two places hold the same value (0 or 1).
    pub(crate) fn same(&mut self, left: &'f Place, right: &'f Place, site: Site) -> Res<Value> {
        let ty = left.ty;
        let (left, right) = (self.place(left)?, self.place(right)?);
        let mut leaves = Vec::new();
        let few = self.leaves(ty, 0, &mut leaves)?;
        let part = |spot: Spot, offset: usize| match spot {
            Spot::Raw(_) => spot,
            Spot::Mem(addr) => Spot::Mem(Fun::plus(addr, offset)),
        };
        if few {
            let end = self.b.create_block();
            let result = self.b.append_block_param(end, I64);
            let no = self.int(0);
            for (offset, leaf) in leaves {
                let a = self.load_raw(part(left, offset), leaf);
                let b = self.load_raw(part(right, offset), leaf);
                if self.undefinable(leaf) {
                    for raw in [a, b] {
                        self.check_defined(raw, site);
                    }
                }
                let next = self.b.create_block();
                let equal = self.b.ins().icmp(IntCC::Equal, a, b);
                self.brif_with(equal, (next, &[]), (end, &[BlockArg::Value(no)]));
                self.enter(next);
            }
            let yes = self.int(1);
            self.jump_with(end, &[yes]);
            self.enter(end);
            return Ok(result);
        }
        let (Spot::Mem(left), Spot::Mem(right)) = (left, right) else {
            return Err(JitError::new("a compound value is not in memory"));
        };
        let tables = self.int(self.unit.tables as i64);
        let number = self.int(i64::from(ty.0));
        let len = self.unit.layout.bits(ty);
        let ((l, _), (r, _)) = (self.pointer(left, len), self.pointer(right, len));
        let (l_at, r_at) = (self.position(left), self.position(right));
        let args = [tables, number, l, l_at, r, r_at];
        let result = self.ask(runtime::same as *const u8, &args);
        let bad = self.icmp_imm(IntCC::Equal, result, 2);
        self.check_zero(bad, FaultKind::Undefined, site);
        Ok(result)
    }
}
