//! The state of one function under construction, and the small pieces that everything is made of:
//! constants, jumps, checks, calls of helpers.

use crate::JitError;
use crate::analysis::{Procs, Uses, scalar};
use crate::exits::Exit;
use crate::facts::{ALL, Flow, Key, Span};
use crate::range::Range;
use crate::runtime::{self, Ctx, Tables};
use crate::walk::Code;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, FuncRef, InstBuilder, MemFlagsData, Signature, StackSlot,
    Type as Clif, Value, condcodes::IntCC, types,
};
use cranelift_frontend::{FunctionBuilder, Variable};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};
use ergodic_ir::{
    Action, FaultKind, GlobalId, Layout, Local, MultisetAt, Program, ScalarType, Site, TypeId,
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

impl Unit<'_> {
    /// Whether an assumption can drop a successor of an action (or a goal be counted).
    pub(crate) fn drops(&self, action: &Action) -> bool {
        !self.assumptions.is_empty() || self.procs.has_effect(|f| Code::Action(action).walk(f))
    }
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
    /// A power of two, up to 64, of which it is a multiple in bits.
    pub grain: i64,
    /// The constant part of the position of the element that it leads to.
    pub origin: i64,
}

/// The first bit of a value in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addr {
    pub base: Base,
    /// The constant part, in bits.
    pub konst: i64,
    pub dynamic: Option<Dynamic<Value>>,
    /// Bits that it and all its parts lie among, whatever the dynamic part is.
    pub span: Span,
}

impl Addr {
    /// The beginning of a storage local.
    pub(crate) fn local(i: usize) -> Addr {
        Addr { base: Base::Local(i), konst: 0, dynamic: None, span: ALL }
    }

    /// Bits among which the first `len` bits at this address lie.
    pub(crate) fn extent(self, len: usize) -> Span {
        match self.dynamic {
            None => (self.konst, self.konst.saturating_add(len as i64)),
            Some(_) => self.span,
        }
    }
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
    Ref { base: Base, konst: i64, dynamic: Option<Dynamic<Variable>>, span: Span },
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
    /// State variables that can differ between `state` and `source`; `None` if they are the same.
    pub changed: Option<BTreeSet<GlobalId>>,
    /// What is known here.
    pub flow: Flow,
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
    /// Whether code is generated away from the main path.
    pub aside: bool,
    /// The label of the instance whose code is generated, where several share the ways out.
    pub tag: Option<i64>,
    /// The ways out of the quantifiers around, outermost first.
    pub exits: Vec<Exit>,
}

/// Flags for memory that is always accessible.
pub(crate) fn memory() -> MemFlagsData {
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
        self.follow(block);
        self.flow.enter(block);
    }

    /// Goes on in a block that stands, as all blocks entered until `aside` is reset, behind the
    /// others. Most guards are false, so what follows them had better not lie between guards.
    pub(crate) fn step_aside(&mut self) {
        let block = self.b.create_block();
        self.jump(block);
        self.aside = true;
        self.enter(block);
    }

    /// A new block whose only way in is the end of the current one, made current.
    fn follow(&mut self, block: Block) {
        self.b.seal_block(block);
        self.b.switch_to_block(block);
        if self.aside {
            self.b.set_cold_block(block);
        }
    }

    /// The head of a loop, which control has just been sent to, made current.
    pub(crate) fn enter_loop(&mut self, head: Block) {
        self.b.switch_to_block(head);
        self.flow.enter_loop();
    }

    /// A block with ways in that were not noted, made current.
    pub(crate) fn enter_unknown(&mut self, block: Block) {
        self.b.switch_to_block(block);
        self.flow.enter_unknown();
    }

    pub(crate) fn jump(&mut self, block: Block) {
        self.jump_with(block, &[]);
    }

    /// A jump that passes values.
    pub(crate) fn jump_with(&mut self, block: Block, values: &[Value]) {
        self.flow.edge(block);
        let args: Vec<BlockArg> = values.iter().map(|value| BlockArg::Value(*value)).collect();
        self.b.ins().jump(block, &args);
    }

    pub(crate) fn brif(&mut self, cond: Value, then: Block, other: Block) {
        self.brif_with(cond, (then, &[]), (other, &[]));
    }

    /// A branch that passes values.
    pub(crate) fn brif_with(
        &mut self,
        cond: Value,
        (then, then_args): (Block, &[BlockArg]),
        (other, other_args): (Block, &[BlockArg]),
    ) {
        self.flow.edge(then);
        self.flow.edge(other);
        self.b.ins().brif(cond, then, then_args, other, other_args);
    }

    /// Goes to a way out of the function if a condition is not zero, and else goes on.
    pub(crate) fn leave_if(&mut self, cond: Value, way_out: Block, args: &[BlockArg]) {
        let next = self.b.create_block();
        self.b.ins().brif(cond, way_out, args, next, &[]);
        self.follow(next);
    }

    pub(crate) fn scalar(&self, ty: TypeId) -> Option<&ScalarType> {
        scalar(self.unit.program, ty)
    }

    pub(crate) fn width(&self, ty: TypeId) -> u32 {
        self.unit.layout.bits(ty) as u32
    }

    /// Faults if `bad` is not zero.
    pub(crate) fn check(&mut self, bad: Value, kind: FaultKind, site: Site, value: Value) {
        let what = self.int(runtime::pack(kind, site));
        let args = self.tagged(&[what, value]);
        self.leave_if(bad, self.fault, &args);
    }

    /// Faults if a stored form is undefined.
    pub(crate) fn check_defined(&mut self, raw: Value, site: Site) {
        if !self.flow.holds(Key::Nonzero, raw) {
            let bad = self.icmp_imm(IntCC::Equal, raw, 0);
            self.check_zero(bad, FaultKind::Undefined, site);
            self.flow.learn(Key::Nonzero, raw);
        }
    }

    /// Faults if a code is outside an interval.
    pub(crate) fn check_inside(
        &mut self,
        code: Value,
        (lo, hi): (i64, i64),
        kind: FaultKind,
        site: Site,
    ) {
        if !self.flow.holds(Key::Inside(lo, hi), code) {
            let bad = self.outside(code, lo, hi);
            self.check(bad, kind, site, code);
            self.flow.learn(Key::Inside(lo, hi), code);
        }
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

    /// A value that is generated at most once on the way here.
    pub(crate) fn once(&mut self, key: Key, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if let Some(known) = self.flow.find(key) {
            return known;
        }
        let value = make(self);
        self.flow.learn(key, value);
        value
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
