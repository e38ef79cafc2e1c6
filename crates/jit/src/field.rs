//! Bit fields: where they are, how they are read and written, and longer runs of bits.

use crate::emit::{Addr, Base, Dynamic, Fun, I64, Loc, Val, memory};
use crate::facts::{FieldKey, Key, Mem, Span};
use crate::runtime;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use ergodic_ir::GlobalId;

impl Fun<'_> {
    /// The source, if some bits of a state variable are the same there as in the state.
    fn unchanged(&self, id: GlobalId, span: Span) -> Option<Value> {
        let may_change = self.changed.as_ref().is_some_and(|changed| changed.contains(&id));
        self.source.filter(|_| !may_change || !self.flow.written(span))
    }

    /// The pointer to read `len` bits at an address through, and whether they never change.
    pub(crate) fn pointer(&mut self, addr: Addr, len: usize) -> (Value, bool) {
        if let Base::Global(id) = addr.base
            && let Some(source) = self.unchanged(id, addr.extent(len))
        {
            return (source, true);
        }
        (self.target(addr.base), false)
    }

    /// The pointer to write through.
    pub(crate) fn target(&mut self, base: Base) -> Value {
        match base {
            Base::Global(_) => self.state,
            Base::Local(i) => match self.locals[i] {
                Loc::Stack(slot) => self.b.ins().stack_addr(I64, slot, 0),
                Loc::Heap(pointer) => pointer,
                _ => self.state,
            },
            Base::Pointer(variable) => self.b.use_var(variable),
        }
    }

    /// Notes that `len` bits are written.
    pub(crate) fn wrote(&mut self, addr: Addr, len: usize) {
        match addr.base {
            Base::Global(_) => self.flow.write(Mem::State, addr.extent(len)),
            Base::Local(i) => self.flow.write(Mem::Local(i), addr.extent(len)),
            // It may point to anything.
            Base::Pointer(_) => self.flow.write_anywhere(),
        }
    }

    /// What a field is known by. Memory behind pointers has several names, so nothing is known of it.
    fn field_key(&self, addr: Addr, width: u32, constant: bool) -> Option<Key> {
        let mem = match addr.base {
            Base::Global(_) if constant => Mem::Source,
            Base::Global(_) => Mem::State,
            Base::Local(i) => Mem::Local(i),
            Base::Pointer(_) => return None,
        };
        let dynamic = addr.dynamic.map(|d| (d.v, d.bytes));
        let span = addr.extent(width as usize);
        Some(Key::Field(FieldKey { mem, konst: addr.konst, dynamic, width, span }))
    }

    /// The whole bit position as a number.
    pub(crate) fn position(&mut self, addr: Addr) -> Value {
        match addr.dynamic {
            None => self.int(addr.konst),
            Some(dynamic) => {
                let bits =
                    if dynamic.bytes { self.b.ins().ishl_imm_u(dynamic.v, 3) } else { dynamic.v };
                if addr.konst == 0 { bits } else { self.b.ins().iadd_imm_s(bits, addr.konst) }
            }
        }
    }

    /// Adds `index * stride` bits to a position, `index` being at least `lowest`.
    pub(crate) fn advance(&mut self, addr: Addr, index: Val, lowest: i64, stride: usize) -> Addr {
        let stride = stride as i64;
        if let Some(value) = index.range.constant() {
            let offset = value.wrapping_sub(lowest).wrapping_mul(stride);
            return Addr { konst: addr.konst.wrapping_add(offset), ..addr };
        }
        let konst = addr.konst.wrapping_sub(lowest.wrapping_mul(stride));
        let bytes = stride % 8 == 0 && addr.dynamic.is_none_or(|d| d.bytes);
        let own = 1i64 << stride.trailing_zeros().min(6);
        let grain = addr.dynamic.map_or(own, |d| own.min(d.grain));
        let factor = if bytes { stride / 8 } else { stride };
        let mut v = self.product(index.v, factor);
        if let Some(before) = addr.dynamic {
            let factor = if before.bytes && !bytes { 8 } else { 1 };
            let before = self.product(before.v, factor);
            let sum = v;
            v = self.once(Key::Sum(before, sum), |f| f.b.ins().iadd(before, sum));
        }
        Addr { konst, dynamic: Some(Dynamic { v, bytes, grain, origin: konst }), ..addr }
    }

    fn product(&mut self, v: Value, factor: i64) -> Value {
        match factor {
            1 => v,
            _ if factor.count_ones() == 1 => self.once(Key::Product(v, factor), |f| {
                f.b.ins().ishl_imm_u(v, i64::from(factor.trailing_zeros()))
            }),
            _ => self.once(Key::Product(v, factor), |f| f.b.ins().imul_imm_s(v, factor)),
        }
    }

    /// Pointer, byte offset, and shift of a field of `width` bits. Fields of one element are reached
    /// by the same access where possible: what was written for one is then at hand for the next, and
    /// the processor need not wait for writes that overlap a read in part. Where other elements were
    /// written just before, that takes whole aligned words.
    fn locate(&mut self, pointer: Value, addr: Addr, width: u32) -> Field {
        match addr.dynamic {
            Some(d)
                if d.grain < 64
                    && inside_grain(addr.konst, d.grain, width)
                    && matches!(addr.base, Base::Global(_))
                    && self.flow.written(addr.extent(width as usize)) =>
            {
                self.locate_word(pointer, addr, d)
            }
            Some(d) if !d.bytes => self.locate_bits(pointer, addr.konst, d, width),
            Some(d) => {
                let pointer = self.b.ins().iadd(pointer, d.v);
                let words = d.grain == 64;
                let start = if words { 0 } else { d.origin & !7 };
                self.locate_bytes(pointer, addr.konst, start, words, width)
            }
            None => self.locate_bytes(pointer, addr.konst, 0, true, width),
        }
    }

    /// A field at a constant position behind a pointer, in the words that are counted from `start`
    /// on; these are aligned if `aligned`.
    fn locate_bytes(
        &mut self,
        pointer: Value,
        konst: i64,
        start: i64,
        aligned: bool,
        width: u32,
    ) -> Field {
        let inside = konst.wrapping_sub(start);
        let shift = (inside & 63) as u32;
        let (at, shift, aligned) = if shift + width <= 64 {
            (konst.wrapping_sub(i64::from(shift)), shift, aligned)
        } else {
            (konst & !7, (konst & 7) as u32, false)
        };
        let two = shift + width > 64;
        let (pointer, offset) = match i32::try_from(at >> 3) {
            Ok(small) if small < i32::MAX - 16 => (pointer, small),
            _ => (self.b.ins().iadd_imm_s(pointer, at >> 3), 0),
        };
        Field { pointer, offset, shift: Shift::Constant(shift), two, aligned }
    }

    /// A field that lies in one aligned word, wherever it is.
    fn locate_word(&mut self, pointer: Value, addr: Addr, dynamic: Dynamic<Value>) -> Field {
        // The bits of the position below the grain are constant: fields of one element have the same
        // word, and so the same pointer.
        let element = Addr { konst: addr.konst & !(dynamic.grain - 1), ..addr };
        let at = self.position(element);
        let word = self.b.ins().sshr_imm_u(at, 6);
        let bytes = self.b.ins().ishl_imm_u(word, 3);
        let pointer = self.b.ins().iadd(pointer, bytes);
        // Shifts count modulo 64.
        let inside = addr.konst & (dynamic.grain - 1);
        let shift = if inside == 0 { at } else { self.b.ins().iadd_imm_s(at, inside) };
        Field { pointer, offset: 0, shift: Shift::Dynamic(shift), two: false, aligned: true }
    }

    /// A field whose position is known to the bit at run time only.
    fn locate_bits(
        &mut self,
        pointer: Value,
        konst: i64,
        dynamic: Dynamic<Value>,
        width: u32,
    ) -> Field {
        let inside = konst.wrapping_sub(dynamic.origin);
        let near = (0..64).contains(&inside) && inside as u32 + width + 7 <= 64;
        let (origin, inside) = if near { (dynamic.origin, inside) } else { (konst, 0) };
        let at = if origin == 0 { dynamic.v } else { self.b.ins().iadd_imm_s(dynamic.v, origin) };
        let byte = self.b.ins().sshr_imm_u(at, 3);
        let pointer = self.b.ins().iadd(pointer, byte);
        let mut shift = self.b.ins().band_imm_u(at, 7);
        if inside > 0 {
            shift = self.b.ins().iadd_imm_s(shift, inside);
        }
        let two = width + 7 > 64;
        Field { pointer, offset: 0, shift: Shift::Dynamic(shift), two, aligned: false }
    }

    fn shift_right(&mut self, v: Value, shift: Shift) -> Value {
        match shift {
            Shift::Constant(0) => v,
            Shift::Constant(n) => self.b.ins().ushr_imm_u(v, i64::from(n)),
            Shift::Dynamic(n) => self.b.ins().ushr(v, n),
        }
    }

    fn shift_left(&mut self, v: Value, shift: Shift) -> Value {
        match shift {
            Shift::Constant(0) => v,
            Shift::Constant(n) => self.b.ins().ishl_imm_u(v, i64::from(n)),
            Shift::Dynamic(n) => self.b.ins().ishl(v, n),
        }
    }

    /// 63 less the shift.
    fn rest(&mut self, shift: Shift) -> Shift {
        match shift {
            Shift::Constant(n) => Shift::Constant(63 - n),
            Shift::Dynamic(n) => Shift::Dynamic(self.b.ins().bxor_imm_u(n, 63)),
        }
    }

    /// Reads a bit field.
    pub(crate) fn load(&mut self, addr: Addr, width: u32) -> Value {
        if width == 0 {
            return self.int(0);
        }
        let (pointer, constant) = self.pointer(addr, width as usize);
        match self.field_key(addr, width, constant) {
            Some(key) => self.once(key, |f| f.load_field(pointer, constant, addr, width)),
            None => self.load_field(pointer, constant, addr, width),
        }
    }

    /// Flags for reading a located field, from memory that never changes if `constant`.
    fn read_flags(&self, field: &Field, constant: bool, addr: Addr, width: u32) -> MemFlagsData {
        let mut flags = memory();
        if field.aligned {
            flags = flags.with_aligned();
        }
        if constant {
            flags = flags.with_readonly();
            let end = self.unit.layout.shape().words as i64 * 64;
            let inside = addr.konst >= 0 && addr.konst.saturating_add(i64::from(width)) <= end;
            if addr.dynamic.is_none() && inside {
                flags = flags.with_can_move(); // in the state whatever was checked before
            }
        }
        flags
    }

    fn load_field(&mut self, pointer: Value, constant: bool, addr: Addr, width: u32) -> Value {
        let field = self.locate(pointer, addr, width);
        let flags = self.read_flags(&field, constant, addr, width);
        let word = self.b.ins().load(I64, flags, field.pointer, field.offset);
        let mut value = self.shift_right(word, field.shift);
        if field.two {
            let high = self.b.ins().uload8(I64, memory(), field.pointer, field.offset + 8);
            let high = self.b.ins().ishl_imm_u(high, 1);
            let rest = self.rest(field.shift);
            let high = self.shift_left(high, rest);
            value = self.b.ins().bor(value, high);
        }
        let whole = matches!(field.shift, Shift::Constant(n) if n + width == 64);
        if whole || width == 64 {
            value
        } else {
            self.b.ins().band_imm_u(value, ((1u64 << width) - 1) as i64)
        }
    }

    /// Writes a bit field; `value` has no bits beyond `width`.
    pub(crate) fn store(&mut self, addr: Addr, width: u32, value: Value) {
        if width == 0 {
            return;
        }
        self.store_field(addr, width, value);
        self.wrote(addr, width as usize);
        if let Some(key) = self.field_key(addr, width, false) {
            self.flow.learn(key, value);
        }
    }

    fn store_field(&mut self, addr: Addr, width: u32, value: Value) {
        let pointer = self.target(addr.base);
        let field = self.locate(pointer, addr, width);
        let flags = if field.aligned { memory().with_aligned() } else { memory() };
        let mask = ergodic_ir::bits::mask(width);
        if width == 64 && matches!(field.shift, Shift::Constant(0)) {
            self.b.ins().store(flags, value, field.pointer, field.offset);
            return;
        }
        let keep = match field.shift {
            Shift::Constant(n) => self.int(!(mask << n) as i64),
            Shift::Dynamic(n) => {
                let mask = self.int(mask as i64);
                let mask = self.b.ins().ishl(mask, n);
                self.b.ins().bnot(mask)
            }
        };
        let word = self.rest_of_word(&field, addr, width);
        let word = self.b.ins().band(word, keep);
        let bits = self.shift_left(value, field.shift);
        let word = self.b.ins().bor(word, bits);
        self.b.ins().store(flags, word, field.pointer, field.offset);
        if field.two {
            let rest = self.rest(field.shift);
            let over = self.int((mask >> 1) as i64);
            let over = self.shift_right(over, rest);
            let high = self.b.ins().uload8(I64, memory(), field.pointer, field.offset + 8);
            let high = self.b.ins().band_not(high, over);
            let bits = self.b.ins().ushr_imm_u(value, 1);
            let bits = self.shift_right(bits, rest);
            let high = self.b.ins().bor(high, bits);
            self.b.ins().istore8(memory(), high, field.pointer, field.offset + 8);
        }
    }

    /// The word that a field is about to be written to: from the source if it is the same there,
    /// since that need not wait for the copy.
    fn rest_of_word(&mut self, field: &Field, addr: Addr, width: u32) -> Value {
        if let (Base::Global(id), None, true) = (addr.base, addr.dynamic, field.aligned) {
            let first = i64::from(field.offset) * 8;
            if let Some(source) = self.unchanged(id, (first, first + 64)) {
                let flags = self.read_flags(field, true, addr, width);
                return self.b.ins().load(I64, flags, source, field.offset);
            }
        }
        let flags = if field.aligned { memory().with_aligned() } else { memory() };
        self.b.ins().load(I64, flags, field.pointer, field.offset)
    }

    /// The address `bits` further on.
    pub(crate) fn plus(addr: Addr, bits: usize) -> Addr {
        Addr { konst: addr.konst.wrapping_add(bits as i64), ..addr }
    }

    /// Pieces of a run of bits that one access can reach.
    fn pieces(len: usize, addrs: &[Addr]) -> Option<Vec<(usize, u32)>> {
        const MOST: usize = 8;
        let bytes = |a: &Addr| a.dynamic.is_none_or(|d| d.bytes) && a.konst % 8 == 0;
        let step = if addrs.iter().all(bytes) { 64 } else { 56 };
        let count = len.div_ceil(step);
        let piece = |i: usize| (i * step, (len - i * step).min(step) as u32);
        (count <= MOST).then(|| (0..count).map(piece).collect())
    }

    /// Copies `len` bits between places that are the same or disjoint.
    pub(crate) fn copy(&mut self, to: Addr, from: Addr, len: usize) {
        if let Some(pieces) = Self::pieces(len, &[to, from]) {
            for (offset, width) in pieces {
                let value = self.load(Self::plus(from, offset), width);
                self.store(Self::plus(to, offset), width, value);
            }
            return;
        }
        let to_base = self.target(to.base);
        let (from_base, _) = self.pointer(from, len);
        let (to_at, from_at) = (self.position(to), self.position(from));
        let bits = self.int(len as i64);
        let args = [to_base, to_at, from_base, from_at, bits];
        self.helper(runtime::copy_bits as *const u8, &args, false);
        self.wrote(to, len);
    }

    /// Sets `len` bits to zero.
    pub(crate) fn zero(&mut self, to: Addr, len: usize) {
        if let Some(pieces) = Self::pieces(len, &[to]) {
            let zero = self.int(0);
            for (offset, width) in pieces {
                self.store(Self::plus(to, offset), width, zero);
            }
            return;
        }
        let base = self.target(to.base);
        let at = self.position(to);
        let bits = self.int(len as i64);
        self.helper(runtime::zero_bits as *const u8, &[base, at, bits], false);
        self.wrote(to, len);
    }

    /// Writes a constant pattern of `len` bits.
    pub(crate) fn pattern(&mut self, to: Addr, words: Vec<u64>, len: usize) {
        if let Some(pieces) = Self::pieces(len, &[to]) {
            for (offset, width) in pieces {
                let value = self.int(ergodic_ir::bits::read(&words, offset, width) as i64);
                self.store(Self::plus(to, offset), width, value);
            }
            return;
        }
        let words = words.into_boxed_slice();
        let from = self.int(words.as_ptr() as i64);
        self.pool.patterns.push(words);
        let base = self.target(to.base);
        let (at, zero) = (self.position(to), self.int(0));
        let bits = self.int(len as i64);
        self.helper(runtime::copy_bits as *const u8, &[base, at, from, zero, bits], false);
        self.wrote(to, len);
    }

    /// Copies whole words from one state to another.
    pub(crate) fn copy_state(&mut self, to: Value, from: Value) {
        let words = self.unit.layout.shape().words;
        if words > 64 {
            let (zero, len) = (self.int(0), self.int(words as i64 * 64));
            self.helper(runtime::copy_bits as *const u8, &[to, zero, from, zero, len], false);
            return;
        }
        let mut at = 0;
        while at < words {
            let (ty, step) = if words - at >= 2 { (types::I8X16, 2) } else { (I64, 1) };
            let offset = (at * 8) as i32;
            let value = self.b.ins().load(ty, memory(), from, offset);
            self.b.ins().store(memory(), value, to, offset);
            at += step;
        }
    }
}

/// Whether a field behind a multiple of `grain` bits lies between two multiples of it.
fn inside_grain(konst: i64, grain: i64, width: u32) -> bool {
    (konst & (grain - 1)) + i64::from(width) <= grain
}

/// A field located in memory.
struct Field {
    pointer: Value,
    offset: i32,
    shift: Shift,
    /// Reaches into a ninth byte.
    two: bool,
    aligned: bool,
}

#[derive(Clone, Copy)]
enum Shift {
    Constant(u32),
    Dynamic(Value),
}
