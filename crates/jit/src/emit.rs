//! The state of one function under construction, and the small pieces that everything is made of:
//! constants, checks, bit fields, calls of helpers.

use crate::JitError;
use crate::analysis::{Procs, Uses, scalar};
use crate::range::Range;
use crate::runtime::{self, Ctx, Tables};
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, FuncRef, InstBuilder, MemFlagsData, Signature, StackSlot,
    Type as Clif, Value, condcodes::IntCC, types,
};
use cranelift_frontend::{FunctionBuilder, Variable};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};
use ergodic_ir::{
    FaultKind, GlobalId, Layout, Local, MultisetAt, Program, ScalarType, Site, TypeId,
};
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::mem::offset_of;

pub(crate) type Res<T> = Result<T, JitError>;

pub(crate) const I64: Clif = types::I64;

/// What all functions of a program share.
pub(crate) struct Unit<'p> {
    pub program: &'p Program,
    pub layout: &'p Layout,
    pub tables: *const Tables,
    pub procs: Procs,
    pub proc_ids: Vec<FuncId>,
    /// Compiled assumptions, in order.
    pub assumptions: Vec<FuncId>,
    /// Whether calls must be counted.
    pub count_calls: bool,
    /// Bytes of locals that a function may keep on the native stack.
    pub frame_budget: usize,
    /// Whether some subroutine keeps locals in the arena.
    pub arena: bool,
    /// Counter of each cover property.
    pub goals: Vec<Option<usize>>,
    /// Nodes that loops may still be unrolled to.
    pub unroll: Cell<u64>,
}

/// Constant data that generated code points to; lives as long as the code.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub patterns: Vec<Box<[u64]>>,
    pub multisets: Vec<Box<[MultisetAt]>>,
}

/// A value with what is known about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Val {
    pub v: Value,
    pub range: Range,
    /// A scalar type that it belongs to.
    pub ty: Option<TypeId>,
}

/// What a place is relative to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Base {
    /// The state that the function works on now.
    Global(GlobalId),
    /// A storage local.
    Local(usize),
    /// A pointer that was passed or bound.
    Pointer(Variable),
}

/// The part of a bit position that is only known at run time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dynamic<T> {
    pub v: T,
    /// Counted in bytes, not bits.
    pub bytes: bool,
    /// A multiple of 64 bits.
    pub words: bool,
}

/// The first bit of a value in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addr {
    pub base: Base,
    /// The constant part, in bits.
    pub konst: i64,
    pub dynamic: Option<Dynamic<Value>>,
}

/// How a local lives in generated code.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loc {
    /// A bound value.
    Bound(Variable),
    /// A scalar or real in its stored form.
    Raw(Variable),
    /// On the native stack.
    Stack(StackSlot),
    /// In the arena.
    Heap(Value),
    /// A reference, bound in one place: known base and constant part.
    Ref { base: Base, konst: i64, dynamic: Option<Dynamic<Variable>> },
    /// A reference that is not bound yet.
    Unbound,
}

/// Where a place is: in a variable of the generated code, or in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spot {
    Raw(Variable),
    Mem(Addr),
}

/// Where control goes on a return.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Leave {
    /// The body of an action is done.
    Action(Block),
    /// A subroutine, with its result type, and the mark of the arena if it uses it.
    Proc { result: Option<TypeId>, mark: Option<Value> },
    /// A property has no returns.
    Property,
}

/// One function under construction.
pub(crate) struct Fun<'f> {
    pub unit: &'f Unit<'f>,
    pub module: &'f mut JITModule,
    pub pool: &'f mut Pool,
    pub b: FunctionBuilder<'f>,
    pub decls: &'f [Local],
    pub uses: Uses,
    pub locals: Vec<Loc>,
    pub ctx: Value,
    /// The state that is read and written.
    pub state: Value,
    /// The source state, which does not change while the function runs.
    pub source: Option<Value>,
    /// State variables that differ between `state` and `source`; `None` if they are the same.
    pub changed: Option<BTreeSet<GlobalId>>,
    /// Reports a fault: packed kind and site, value.
    pub fault: Block,
    /// Goes on with the status of a call that was not OK.
    pub carry: Block,
    /// Drops what is being made.
    pub drop: Block,
    pub leave: Leave,
    /// Packed fault of a function that ends without a result.
    pub end_fault: i64,
    /// State of the arena before the locals of this function, if it has some there.
    pub mark: Option<Value>,
    pub refs: HashMap<FuncId, FuncRef>,
    /// Whether loops are worth unrolling here.
    pub hot: bool,
    /// The label of the instance whose code is generated, where several share the ways out.
    pub tag: Option<i64>,
}

/// Flags for memory that is always accessible.
fn memory() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

impl Fun<'_> {
    pub(crate) fn int(&mut self, value: i64) -> Value {
        self.b.ins().iconst(I64, value)
    }

    pub(crate) fn constant(&mut self, value: i64) -> Val {
        Val { v: self.int(value), range: Range::one(value), ty: None }
    }

    /// A new block that is jumped to from code generated so far only, made current.
    pub(crate) fn enter(&mut self, block: Block) {
        self.b.seal_block(block);
        self.b.switch_to_block(block);
    }

    pub(crate) fn jump(&mut self, block: Block) {
        self.b.ins().jump(block, &[]);
    }

    pub(crate) fn brif(&mut self, cond: Value, then: Block, other: Block) {
        self.b.ins().brif(cond, then, &[], other, &[]);
    }

    pub(crate) fn scalar(&self, ty: TypeId) -> Option<&ScalarType> {
        scalar(self.unit.program, ty)
    }

    pub(crate) fn width(&self, ty: TypeId) -> u32 {
        self.unit.layout.bits(ty) as u32
    }

    /// Faults if `bad` is not zero.
    pub(crate) fn check(&mut self, bad: Value, kind: FaultKind, site: Site, value: Value) {
        let next = self.b.create_block();
        let what = self.int(runtime::pack(kind, site));
        let args = self.tagged(&[what, value]);
        let fault = self.fault;
        self.b.ins().brif(bad, fault, &args, next, &[]);
        self.enter(next);
    }

    /// Arguments for a way out: with the label, if several instances share it.
    pub(crate) fn tagged(&mut self, values: &[Value]) -> Vec<BlockArg> {
        let mut args: Vec<BlockArg> = values.iter().map(|value| BlockArg::Value(*value)).collect();
        if let Some(label) = self.tag {
            args.push(BlockArg::Value(self.int(label)));
        }
        args
    }

    /// As [`Fun::check`], with 0 as the value.
    pub(crate) fn check_zero(&mut self, bad: Value, kind: FaultKind, site: Site) {
        let zero = self.int(0);
        self.check(bad, kind, site, zero);
    }

    /// Faults always: ends the current block.
    pub(crate) fn fail(&mut self, kind: FaultKind, site: Site) {
        let (what, zero) = (self.int(runtime::pack(kind, site)), self.int(0));
        let args = self.tagged(&[what, zero]);
        let fault = self.fault;
        self.b.ins().jump(fault, &args);
    }

    /// Starts a block that nothing jumps to.
    pub(crate) fn dead(&mut self) {
        let block = self.b.create_block();
        self.enter(block);
    }

    pub(crate) fn ctx_load(&mut self, offset: usize) -> Value {
        let ctx = self.ctx;
        self.b.ins().load(I64, memory().with_aligned(), ctx, offset as i32)
    }

    pub(crate) fn ctx_store(&mut self, offset: usize, value: Value) {
        let ctx = self.ctx;
        self.b.ins().store(memory().with_aligned(), value, ctx, offset as i32);
    }

    pub(crate) fn icmp_imm(&mut self, cc: IntCC, a: Value, b: i64) -> Value {
        self.b.ins().icmp_imm_s(cc, a, b)
    }

    /// Calls a helper of the runtime; it returns one number if `result`.
    pub(crate) fn helper(
        &mut self,
        address: *const u8,
        args: &[Value],
        result: bool,
    ) -> Option<Value> {
        let mut signature: Signature = self.module.make_signature();
        signature.params.extend(args.iter().map(|_| AbiParam::new(I64)));
        if result {
            signature.returns.push(AbiParam::new(I64));
        }
        let signature = self.b.import_signature(signature);
        let callee = self.int(address as i64);
        let call = self.b.ins().call_indirect(signature, callee, args);
        self.b.inst_results(call).first().copied()
    }

    /// As [`Fun::helper`], with a result.
    pub(crate) fn ask(&mut self, address: *const u8, args: &[Value]) -> Value {
        match self.helper(address, args, true) {
            Some(value) => value,
            None => self.int(0),
        }
    }

    pub(crate) fn func(&mut self, id: FuncId) -> FuncRef {
        if let Some(known) = self.refs.get(&id) {
            return *known;
        }
        let reference = self.module.declare_func_in_func(id, self.b.func);
        self.refs.insert(id, reference);
        reference
    }

    /// The pointer that a base stands for, and whether what it points to never changes.
    pub(crate) fn pointer(&mut self, base: Base) -> (Value, bool) {
        match base {
            Base::Global(id) => match (self.source, &self.changed) {
                (Some(source), None) => (source, true),
                (Some(source), Some(changed)) if !changed.contains(&id) => (source, true),
                _ => (self.state, false),
            },
            Base::Local(i) => match self.locals[i] {
                Loc::Stack(slot) => (self.b.ins().stack_addr(I64, slot, 0), false),
                Loc::Heap(pointer) => (pointer, false),
                _ => (self.state, false),
            },
            Base::Pointer(variable) => (self.b.use_var(variable), false),
        }
    }

    /// The pointer to write through.
    fn target(&mut self, base: Base) -> Value {
        match base {
            Base::Global(_) => self.state,
            other => self.pointer(other).0,
        }
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
        let words = stride % 64 == 0 && addr.dynamic.is_none_or(|d| d.words);
        let factor = if bytes { stride / 8 } else { stride };
        let mut v = match factor {
            1 => index.v,
            _ if factor.count_ones() == 1 => {
                self.b.ins().ishl_imm_u(index.v, i64::from(factor.trailing_zeros()))
            }
            _ => self.b.ins().imul_imm_s(index.v, factor),
        };
        if let Some(before) = addr.dynamic {
            let before_v = if before.bytes && !bytes {
                self.b.ins().ishl_imm_u(before.v, 3)
            } else {
                before.v
            };
            v = self.b.ins().iadd(before_v, v);
        }
        Addr { base: addr.base, konst, dynamic: Some(Dynamic { v, bytes, words }) }
    }

    /// Pointer, byte offset, and shift of a field of `width` bits; the shift is constant or below 8.
    fn locate(&mut self, pointer: Value, addr: Addr, width: u32) -> Field {
        let konst = addr.konst;
        let aligned = addr.dynamic.is_none_or(|d| d.words);
        let (pointer, bits) = match addr.dynamic {
            None => (pointer, None),
            Some(d) if d.bytes => (self.b.ins().iadd(pointer, d.v), None),
            Some(d) => (pointer, Some(d.v)),
        };
        if let Some(bits) = bits {
            let at = if konst == 0 { bits } else { self.b.ins().iadd_imm_s(bits, konst) };
            let byte = self.b.ins().sshr_imm_u(at, 3);
            let pointer = self.b.ins().iadd(pointer, byte);
            let shift = self.b.ins().band_imm_u(at, 7);
            let two = width + 7 > 64;
            return Field { pointer, offset: 0, shift: Shift::Dynamic(shift), two, aligned: false };
        }
        let shift = (konst & 63) as u32;
        let (offset, shift, aligned) = if aligned && shift + width <= 64 {
            ((konst >> 6) * 8, shift, true)
        } else {
            (konst >> 3, (konst & 7) as u32, false)
        };
        let two = shift + width > 64;
        let (pointer, offset) = match i32::try_from(offset) {
            Ok(small) if small < i32::MAX - 16 => (pointer, small),
            _ => (self.b.ins().iadd_imm_s(pointer, offset), 0),
        };
        Field { pointer, offset, shift: Shift::Constant(shift), two, aligned }
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
        let (pointer, constant) = self.pointer(addr.base);
        let field = self.locate(pointer, addr, width);
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
        let word = self.b.ins().load(I64, flags, field.pointer, field.offset);
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
        let (from_base, _) = self.pointer(from.base);
        let (to_at, from_at) = (self.position(to), self.position(from));
        let len = self.int(len as i64);
        let args = [to_base, to_at, from_base, from_at, len];
        self.helper(runtime::copy_bits as *const u8, &args, false);
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
        let len = self.int(len as i64);
        self.helper(runtime::zero_bits as *const u8, &[base, at, len], false);
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
        let len = self.int(len as i64);
        self.helper(runtime::copy_bits as *const u8, &[base, at, from, zero, len], false);
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

    /// Counts one for a goal.
    pub(crate) fn count_goal(&mut self, goal: usize) {
        let goals = self.ctx_load(offset_of!(Ctx, goals));
        let offset = (goal * 8) as i32;
        let count = self.b.ins().load(I64, memory(), goals, offset);
        let count = self.b.ins().iadd_imm_s(count, 1);
        self.b.ins().store(memory(), count, goals, offset);
    }
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
