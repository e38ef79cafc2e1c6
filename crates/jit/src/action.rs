//! Whole functions: actions with their loops over parameters, subroutines, properties.

use crate::JitError;
use crate::analysis::{Hoisted, Item, Uses, hoist};
use crate::emit::{Addr, Base, Dynamic, Fun, I64, Leave, Loc, Pool, Res, Unit, Val};
use crate::facts::{ALL, Flow};
use crate::range::Range;
use crate::runtime::{self, Ctx, DROP, FAULT, FULL, OK};
use crate::walk::Code;
use cranelift_codegen::ir::{
    Block, Function, InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Value,
    condcodes::IntCC,
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};
use ergodic_ir::{
    Action, Domain, FaultKind, GlobalId, Local, LocalId, LocalKind, Pass, Proc, Property,
    PropertyKind, Stmt, Type,
};
use std::collections::{BTreeSet, HashMap};
use std::mem::offset_of;

/// What an action needs to know about its place in the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers<'a> {
    /// Written to the column of rules.
    pub rule: u32,
    /// Label of the first instance.
    pub base: u32,
    /// Number of values of each parameter.
    pub radices: &'a [u64],
    /// Whether it runs often.
    pub hot: bool,
}

/// Where functions are generated into.
pub(crate) struct Site<'f> {
    pub module: &'f mut JITModule,
    pub pool: &'f mut Pool,
    pub func: &'f mut Function,
    pub builder: &'f mut FunctionBuilderContext,
}

impl<'f> Fun<'f> {
    fn new(unit: &'f Unit<'f>, site: Site<'f>, decls: &'f [Local], code: Code<'f>) -> Res<Fun<'f>> {
        let mut fun = Fun::open(unit, site, false)?;
        fun.scope(decls, code)?;
        Ok(fun)
    }

    /// A function without locals. If `shared`, several instances share its ways out.
    pub(crate) fn open(unit: &'f Unit<'f>, site: Site<'f>, shared: bool) -> Res<Fun<'f>> {
        let mut b = FunctionBuilder::new(site.func, site.builder);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let (ctx, state) = match *b.block_params(entry) {
            [ctx, state, ..] => (ctx, state),
            _ => return Err(JitError::new("a function has another signature")),
        };
        let (fault, carry, drop) = (b.create_block(), b.create_block(), b.create_block());
        for block in [fault, carry] {
            b.set_cold_block(block);
        }
        b.append_block_param(fault, I64);
        b.append_block_param(fault, I64);
        b.append_block_param(carry, I64);
        if shared {
            b.append_block_param(fault, I64);
            b.append_block_param(carry, I64);
        }
        Ok(Fun {
            unit,
            module: site.module,
            pool: site.pool,
            b,
            decls: &[],
            uses: Uses::default(),
            locals: Vec::new(),
            ctx,
            state,
            source: None,
            changed: None,
            flow: Flow::new(),
            fault,
            carry,
            drop,
            leave: Leave::Property,
            end_fault: 0,
            mark: None,
            refs: HashMap::new(),
            hot: true,
            aside: false,
            tag: None,
            exits: Vec::new(),
        })
    }

    /// Declares the locals of a piece of code that is generated next.
    pub(crate) fn scope(&mut self, decls: &'f [Local], code: Code<'f>) -> Res<()> {
        self.decls = decls;
        self.uses = Uses::new(self.unit.program, decls, code);
        self.locals.clear();
        // Locals have other numbers from here on.
        self.flow.forget_memory();
        let mut budget = self.unit.frame_budget;
        for (i, local) in decls.iter().enumerate() {
            let loc = self.declare(i, local, &mut budget)?;
            self.locals.push(loc);
        }
        Ok(())
    }

    fn declare(&mut self, i: usize, local: &Local, budget: &mut usize) -> Res<Loc> {
        Ok(match local.kind {
            LocalKind::Bound => Loc::Bound(self.b.declare_var(I64)),
            LocalKind::Ref => Loc::Unbound,
            LocalKind::Storage => {
                let leaf = matches!(self.type_of(local.ty)?, Type::Scalar(_) | Type::Real { .. });
                if leaf && !self.uses.addressed[i] {
                    return Ok(Loc::Raw(self.b.declare_var(I64)));
                }
                // One more word, so that every field can be reached by one unaligned access.
                let words = self.unit.layout.bits(local.ty).div_ceil(64) + 1;
                if words * 8 <= *budget {
                    *budget -= words * 8;
                    let data =
                        StackSlotData::new(StackSlotKind::ExplicitSlot, (words * 8) as u32, 3);
                    Loc::Stack(self.b.create_sized_stack_slot(data))
                } else {
                    if self.mark.is_none() {
                        self.mark = Some(self.arena_mark());
                    }
                    let words = self.int(words as i64);
                    let args = [self.ctx, words];
                    Loc::Heap(self.ask(runtime::arena_alloc as *const u8, &args))
                }
            }
        })
    }

    /// Makes all storage locals from `from` on undefined.
    pub(crate) fn fresh_all(&mut self, from: usize) {
        for i in from..self.decls.len() {
            if self.decls[i].kind == LocalKind::Storage {
                self.fresh(LocalId(i as u32));
            }
        }
    }

    /// Fills the block that stores a fault in the context.
    pub(crate) fn fault_block(&mut self) {
        let fault = self.fault;
        self.enter_unknown(fault);
        let (what, value) = match *self.b.block_params(fault) {
            [what, value, ..] => (what, value),
            _ => return,
        };
        self.ctx_store(offset_of!(Ctx, fault), what);
        self.ctx_store(offset_of!(Ctx, fault_value), value);
    }

    pub(crate) fn carry_block(&mut self) -> Value {
        let carry = self.carry;
        self.enter_unknown(carry);
        match self.b.block_params(carry).first() {
            Some(status) => *status,
            None => self.ctx,
        }
    }

    pub(crate) fn finish(mut self) {
        let config = self.module.target_config();
        self.b.seal_all_blocks();
        self.b.finalize(config);
    }
}

/// Generates a subroutine: `(ctx, state, arguments…) -> (status, value)`.
pub(crate) fn proc<'f>(unit: &'f Unit<'f>, site: Site<'f>, proc: &'f Proc) -> Res<()> {
    let mut fun = Fun::new(unit, site, &proc.locals, Code::Proc(proc))?;
    let mark = fun.mark;
    fun.leave = Leave::Proc { result: proc.result, mark };
    fun.end_fault = runtime::pack(FaultKind::NoReturn, proc.end);
    let entry = fun.b.current_block().ok_or_else(|| JitError::new("there is no block"))?;
    let args: Vec<Value> = fun.b.block_params(entry)[2..].to_vec();
    let mut args = args.into_iter();
    let mut next = || args.next().ok_or_else(|| JitError::new("an argument is missing"));
    for (i, pass) in proc.params.iter().enumerate() {
        let first = next()?;
        match (pass, fun.locals[i]) {
            (Pass::Value, Loc::Raw(variable)) => fun.b.def_var(variable, first),
            (Pass::Value, _) => {
                fun.fresh(LocalId(i as u32));
                let addr = Addr::local(i);
                let width = fun.width(proc.locals[i].ty);
                fun.store(addr, width, first);
            }
            (Pass::Ref, _) => {
                let mut position = next()?;
                let bytes = unit.layout.byte_aligned(proc.locals[i].ty) && !fun.uses.rebound[i];
                if bytes {
                    position = fun.b.ins().ushr_imm_u(position, 3);
                }
                let (pointer, v) = (fun.b.declare_var(I64), fun.b.declare_var(I64));
                fun.b.def_var(pointer, first);
                fun.b.def_var(v, position);
                let dynamic =
                    Some(Dynamic { v, bytes, grain: if bytes { 8 } else { 1 }, origin: 0 });
                let base = Base::Pointer(pointer);
                fun.locals[i] = Loc::Ref { base, konst: 0, dynamic, span: ALL };
            }
        }
    }
    fun.fresh_all(proc.params.len());
    if fun.stmts(&proc.body)? {
        if proc.result.is_some() {
            let what = fun.end_fault;
            let (what, zero) = (fun.int(what), fun.int(0));
            let fault = fun.fault;
            fun.jump_with(fault, &[what, zero]);
        } else {
            fun.return_plain(mark);
        }
    }
    fun.fault_block();
    let (status, zero) = (fun.int(FAULT as i64), fun.int(0));
    fun.b.ins().return_(&[status, zero]);
    let status = fun.carry_block();
    let zero = fun.int(0);
    fun.b.ins().return_(&[status, zero]);
    let drop = fun.drop;
    fun.enter_unknown(drop);
    let (status, zero) = (fun.int(DROP as i64), fun.int(0));
    fun.b.ins().return_(&[status, zero]);
    fun.finish();
    Ok(())
}

impl Fun<'_> {
    /// How much of the arena is in use.
    pub(crate) fn arena_mark(&mut self) -> Value {
        let args = [self.ctx];
        self.ask(runtime::arena_mark as *const u8, &args)
    }

    pub(crate) fn release(&mut self, mark: Option<Value>) {
        if let Some(mark) = mark {
            let args = [self.ctx, mark];
            self.helper(runtime::arena_release as *const u8, &args, false);
        }
    }

    fn return_plain(&mut self, mark: Option<Value>) {
        self.release(mark);
        let (status, zero) = (self.int(OK as i64), self.int(0));
        self.b.ins().return_(&[status, zero]);
    }
}

/// Generates a property: `(ctx, state) -> 0, 1 or FAULT`.
pub(crate) fn property<'f>(unit: &'f Unit<'f>, site: Site<'f>, property: &'f Property) -> Res<()> {
    let mut fun = Fun::new(unit, site, &property.locals, Code::Property(property))?;
    let mark = match fun.mark {
        Some(mark) => Some(mark),
        None => unit.arena.then(|| fun.arena_mark()),
    };
    if property.impure || !unit.procs.writes(Code::Property(property)).is_empty() {
        let copy = fun.ctx_load(offset_of!(Ctx, copy));
        let state = fun.state;
        fun.copy_state(copy, state);
        fun.state = copy;
    } else {
        fun.source = Some(fun.state);
    }
    fun.fresh_all(0);
    let (yes, no) = (fun.b.create_block(), fun.b.create_block());
    match &property.expr {
        Some(expr) => fun.branch(expr, yes, no)?,
        None => fun.jump(no),
    }
    for (block, value) in [(yes, 1), (no, 0)] {
        fun.enter(block);
        fun.release(mark);
        let value = fun.int(value);
        fun.b.ins().return_(&[value]);
    }
    fun.fault_block();
    let status = fun.int(FAULT as i64);
    fun.b.ins().return_(&[status]);
    let status = fun.carry_block();
    let (drop, stop) = (fun.drop, fun.b.create_block());
    let dropped = fun.icmp_imm(IntCC::Equal, status, DROP as i64);
    fun.brif(dropped, drop, stop);
    fun.enter(stop);
    let status = fun.int(FAULT as i64);
    fun.b.ins().return_(&[status]);
    fun.enter_unknown(drop);
    fun.release(mark);
    if unit.count_calls {
        let zero = fun.int(0);
        fun.ctx_store(offset_of!(Ctx, depth), zero);
    }
    let holds = fun.int(i64::from(property.kind == PropertyKind::Invariant));
    fun.b.ins().return_(&[holds]);
    fun.finish();
    Ok(())
}

/// The loops of an action while it is generated.
struct Loops {
    /// Ordinals; each starts at what the context says and goes on at zero.
    ordinals: Vec<Variable>,
    heads: Vec<Block>,
    nexts: Vec<Block>,
    exits: Vec<Block>,
    /// All instances are done.
    done: Block,
    /// Whether a successor can be dropped. Control then goes to the next instance from anywhere, the
    /// outer loops included.
    drops: bool,
}

impl Loops {
    /// Where to go on when a test fails that needs `depth` parameters.
    fn skip(&self, depth: usize) -> Block {
        depth.checked_sub(1).map_or(self.done, |i| self.nexts[i])
    }
}

/// Generates the body of an action: `(ctx, source, label, parameters…) -> status`. The guard was
/// found to be true; the caller notes the instance if the status is not OK.
pub(crate) fn body<'f>(
    unit: &'f Unit<'f>,
    site: Site<'f>,
    action: &'f Action,
    rule: u32,
) -> Res<()> {
    let mut fun = Fun::new(unit, site, &action.locals, Code::Action(action))?;
    let source = fun.state;
    fun.source = Some(source);
    let entry = fun.b.current_block().ok_or_else(|| JitError::new("there is no block"))?;
    let args: Vec<Value> = fun.b.block_params(entry)[2..].to_vec();
    for (param, value) in action.params.iter().zip(&args[1..]) {
        let variable = fun.bound_variable(param.local)?;
        fun.b.def_var(variable, *value);
    }
    if !fun.stmts(&action.prelude)? {
        return Err(JitError::new("a prelude ends its action"));
    }
    fun.fresh_all(0);
    fun.make(action, source, false)?;
    let room = fun.append(rule, args[0]);
    let (ok, full) = (fun.int(OK as i64), fun.int(FULL as i64));
    let status = fun.b.ins().select(room, ok, full);
    fun.b.ins().return_(&[status]);
    fun.fault_block();
    let status = fun.int(FAULT as i64);
    fun.b.ins().return_(&[status]);
    let status = fun.carry_block();
    fun.b.ins().return_(&[status]);
    fun.finish();
    Ok(())
}

/// Whether the body of an action can be a function of its own: it never drops its successor, and
/// nothing but parameters and the prelude passes from the guard to it.
pub(crate) fn has_own_body(unit: &Unit<'_>, action: &Action) -> bool {
    !unit.procs.impure_guard(action)
        && !unit.drops(action)
        && !uses_storage_early(&action.locals, action)
}

/// Generates an action or an initial state: `(ctx, source) -> status`. Its body may be a function
/// of its own.
pub(crate) fn action<'f>(
    unit: &'f Unit<'f>,
    site: Site<'f>,
    action: &'f Action,
    numbers: Numbers<'_>,
    body: Option<FuncId>,
) -> Res<()> {
    for param in &action.params {
        // Slots are looked for once per loop, in the source state.
        if let Domain::Slots(place) = &param.over
            && unit.procs.may_do_something(place)
        {
            return Err(JitError::new("finding the multiset of a parameter has effects"));
        }
    }
    let mut fun = Fun::new(unit, site, &action.locals, Code::Action(action))?;
    fun.hot = numbers.hot;
    let source = fun.state;
    fun.source = Some(source);
    // A dropped successor leaves blocks of subroutines in the arena.
    let mark = unit.arena.then(|| fun.arena_mark());
    let loops = fun.declare_loops(action);
    let items = hoist(unit.program, &unit.procs, &fun.uses, action);
    let mut values: Vec<Value> = Vec::with_capacity(action.params.len());
    for (k, param) in action.params.iter().enumerate() {
        if !fun.items(&items, k, loops.skip(k))? {
            fun.dead();
        }
        let value = fun.begin_param(k, &param.over, param.local, numbers.radices[k], &loops)?;
        values.push(value);
    }
    let innermost = action.params.len();
    if let Some(body) = body {
        if !fun.items(&items, innermost, loops.skip(innermost))? {
            fun.dead();
        }
        let instance = fun.instance(&loops, numbers);
        let label = fun.b.ins().iadd_imm_s(instance, i64::from(numbers.base));
        let stop = fun.b.create_block();
        let status = fun.call_body(body, source, label, &values);
        let on = loops.skip(innermost);
        fun.brif(status, stop, on);
        fun.enter(stop);
        fun.ctx_store(offset_of!(Ctx, instance), instance);
        fun.b.ins().return_(&[status]);
        fun.end_params(&loops);
        fun.action_exits(&loops, numbers, mark);
        fun.finish();
        return Ok(());
    }
    for (param, value) in action.params.iter().zip(values) {
        if fun.uses.rebound[param.local.0 as usize] {
            // What the body makes of it is not seen by other instances.
            let variable = fun.b.declare_var(I64);
            fun.b.def_var(variable, value);
            fun.locals[param.local.0 as usize] = Loc::Bound(variable);
        }
    }
    if !fun.fire(action, &items, source, loops.skip(innermost))? {
        fun.dead();
    }
    fun.commit(&loops, numbers);
    fun.end_params(&loops);
    fun.action_exits(&loops, numbers, mark);
    fun.finish();
    Ok(())
}

/// Whether prelude or guard use storage locals or have blocks, which may.
fn uses_storage_early(decls: &[Local], action: &Action) -> bool {
    use crate::walk::{Node, walk_expr, walk_stmts};
    use ergodic_ir::{Place, Root};
    let mut found = false;
    let mut look = |node: Node<'_>| {
        if let Node::Place(Place { root: Root::Local(id), .. }) = node {
            found |= decls[id.0 as usize].kind == LocalKind::Storage;
        }
        if let Node::Stmt(Stmt::Fresh(_)) = node {
            found = true;
        }
    };
    walk_stmts(&action.prelude, &mut look);
    action.guard.iter().for_each(|expr| walk_expr(expr, &mut look));
    found
}

impl<'f> Fun<'f> {
    /// The inside of the innermost loop of an action: what is left of the guard, the body on a copy
    /// of the source, sorted multisets and assumptions. Goes to `skip` if the guard is false; false
    /// if that is known to happen always.
    pub(crate) fn fire(
        &mut self,
        action: &'f Action,
        items: &[Hoisted<'f>],
        source: Value,
        skip: Block,
    ) -> Res<bool> {
        let early = uses_storage_early(self.decls, action);
        if early {
            self.fresh_all(0);
        }
        let impure = self.unit.procs.impure_guard(action);
        if impure {
            self.copy_source(source);
            self.changed = Some(self.unit.procs.writes(Code::Action(action)));
        }
        if !self.items(items, action.params.len(), skip)? {
            return Ok(false);
        }
        if self.tag.is_some() && !action.guard.is_empty() {
            self.step_aside();
        }
        if !early {
            self.fresh_all(0);
        }
        self.make(action, source, impure)?;
        Ok(true)
    }

    /// The body of an enabled instance, up to the finished successor. If the guard was evaluated on
    /// a copy, that is gone on with.
    fn make(&mut self, action: &'f Action, source: Value, copied: bool) -> Res<()> {
        let changed = self.unit.procs.writes(Code::Action(action));
        if !copied {
            self.copy_source(source);
            self.changed = Some(changed.clone());
            self.redirect(action, source);
        }
        let commit = self.b.create_block();
        self.leave = Leave::Action(commit);
        if self.stmts(&action.body)? {
            self.jump(commit);
        }
        self.enter(commit);
        self.settle(&changed);
        Ok(())
    }

    /// Calls the body of an action that has a function of its own; the status.
    pub(crate) fn call_body(
        &mut self,
        body: FuncId,
        source: Value,
        label: Value,
        values: &[Value],
    ) -> Value {
        let callee = self.func(body);
        let mut args = vec![self.ctx, source, label];
        args.extend_from_slice(values);
        let call = self.b.ins().call(callee, &args);
        self.b.inst_results(call)[0]
    }

    fn declare_loops(&mut self, action: &Action) -> Loops {
        let n = action.params.len();
        let mut ordinals = Vec::with_capacity(n);
        if n > 0 {
            let starts = self.ctx_load(offset_of!(Ctx, starts));
            for k in 0..n {
                let flags = MemFlagsData::new().with_notrap().with_aligned();
                let start = self.b.ins().load(I64, flags, starts, (k * 8) as i32);
                let ordinal = self.b.declare_var(I64);
                self.b.def_var(ordinal, start);
                ordinals.push(ordinal);
            }
        }
        let mut blocks = || (0..n).map(|_| self.b.create_block()).collect::<Vec<_>>();
        let (heads, nexts, exits) = (blocks(), blocks(), blocks());
        let drops = self.unit.drops(action);
        Loops { ordinals, heads, nexts, exits, done: self.b.create_block(), drops }
    }

    /// Opens the loop over parameter `k`.
    fn begin_param(
        &mut self,
        k: usize,
        over: &'f Domain,
        local: LocalId,
        radix: u64,
        loops: &Loops,
    ) -> Res<Value> {
        let set = match over {
            Domain::Slots(place) => Some((self.memory_place(place)?, place.ty)),
            _ => None,
        };
        self.jump(loops.heads[k]);
        match loops.drops {
            true => self.enter_unknown(loops.heads[k]),
            false => self.enter_loop(loops.heads[k]),
        }
        let ordinal = self.b.use_var(loops.ordinals[k]);
        let body = self.b.create_block();
        let more = self.b.ins().icmp_imm_s(IntCC::UnsignedLessThan, ordinal, radix as i64);
        self.brif(more, body, loops.exits[k]);
        self.enter(body);
        let variable = self.bound_variable(local)?;
        let value = match over {
            Domain::Type(ty) => {
                let scalar = self.scalar_of(*ty)?;
                self.code(ordinal, scalar, 0)
            }
            Domain::Range { from, step, .. } => {
                let offset = self.b.ins().imul_imm_s(ordinal, *step);
                self.b.ins().iadd_imm_s(offset, *from)
            }
            Domain::Slots(_) => ordinal,
        };
        self.b.def_var(variable, value);
        if let Some((set, ty)) = set {
            let range = Range { lo: 0, hi: radix.max(2) as i64 - 1 };
            let slot = Val { v: ordinal, range, ty: None };
            let at = self.advance(set, slot, 0, self.unit.layout.stride(ty));
            let filled = self.load(at, 1);
            let body = self.b.create_block();
            self.brif(filled, body, loops.nexts[k]);
            self.enter(body);
        }
        Ok(value)
    }

    /// Bindings and tests that belong to this depth, in order.
    /// False if one of them is known to fail: then nothing is left to generate here.
    pub(crate) fn items(&mut self, items: &[Hoisted<'f>], depth: usize, skip: Block) -> Res<bool> {
        let here = items.iter().filter(|item| item.depth == depth);
        for Hoisted { item, .. } in here {
            match item {
                Item::Bind(stmt) => {
                    if !self.stmts(std::slice::from_ref(*stmt))? {
                        return Err(JitError::new("a prelude ends its action"));
                    }
                }
                Item::Test(expr) => {
                    let program = self.unit.program;
                    let known = self.uses.range(program, expr).constant();
                    match known.filter(|_| !self.uses.faults(program, self.decls, expr)) {
                        Some(0) => {
                            self.jump(skip);
                            return Ok(false);
                        }
                        Some(_) => {}
                        None => {
                            let next = self.b.create_block();
                            self.branch(expr, next, skip)?;
                            self.enter(next);
                        }
                    }
                }
            }
        }
        Ok(true)
    }

    /// Copies the source state to the next free slot and works on that from now on.
    fn copy_source(&mut self, source: Value) -> Value {
        let slot = self.ctx_load(offset_of!(Ctx, slot));
        self.copy_state(slot, source);
        self.state = slot;
        self.flow.copied();
        slot
    }

    /// Lets references that hold a pointer into the source state point into the copy.
    fn redirect(&mut self, action: &Action, source: Value) {
        for stmt in &action.prelude {
            if let Stmt::Bind { local, .. } = stmt
                && let Loc::Ref { base: Base::Pointer(pointer), .. } = self.locals[local.0 as usize]
            {
                let old = self.b.use_var(pointer);
                let same = self.b.ins().icmp(IntCC::Equal, old, source);
                let state = self.state;
                let new = self.b.ins().select(same, state, old);
                self.b.def_var(pointer, new);
            }
        }
    }

    /// The number of the instance that is being tried.
    fn instance(&mut self, loops: &Loops, numbers: Numbers<'_>) -> Value {
        let mut instance = None;
        for (ordinal, radix) in loops.ordinals.iter().zip(numbers.radices) {
            let ordinal = self.b.use_var(*ordinal);
            instance = Some(match instance {
                None => ordinal,
                Some(outer) => {
                    let outer = self.b.ins().imul_imm_s(outer, *radix as i64);
                    self.b.ins().iadd(outer, ordinal)
                }
            });
        }
        match instance {
            Some(instance) => instance,
            None => self.int(0),
        }
    }

    /// Finishes a successor: sorted multisets, assumptions.
    fn settle(&mut self, changed: &BTreeSet<GlobalId>) {
        let layout = self.unit.layout;
        let words = layout.shape().words;
        let multisets: Box<[_]> = layout
            .multisets()
            .iter()
            .filter(|multiset| changed.contains(&multiset.global))
            .copied()
            .collect();
        if !multisets.is_empty() {
            let list = self.int(multisets.as_ptr() as i64);
            let (count, width) = (self.int(multisets.len() as i64), self.int(words as i64));
            self.pool.multisets.push(multisets);
            let args = [self.state, width, list, count];
            self.helper(runtime::normalise as *const u8, &args, false);
            self.flow.write_anywhere();
        }
        for id in &self.unit.assumptions {
            let callee = self.func(*id);
            let args = [self.ctx, self.state];
            let call = self.b.ins().call(callee, &args);
            let status = self.b.inst_results(call)[0];
            let (holds, odd) = (self.b.create_block(), self.b.create_block());
            let is_true = self.icmp_imm(IntCC::Equal, status, 1);
            self.brif(is_true, holds, odd);
            self.enter(odd);
            let (carry, drop) = (self.carry, self.drop);
            let args = self.tagged(&[status]);
            self.brif_with(status, (carry, &args), (drop, &[]));
            self.enter(holds);
        }
    }

    /// Ends an instance that made a successor.
    fn commit(&mut self, loops: &Loops, numbers: Numbers<'_>) {
        let instance = self.instance(loops, numbers);
        let label = self.b.ins().iadd_imm_s(instance, i64::from(numbers.base));
        let room = self.append(numbers.rule, label);
        let full = self.b.create_block();
        self.b.set_cold_block(full);
        let on = loops.skip(loops.ordinals.len());
        self.brif(room, on, full);
        self.enter(full);
        self.ctx_store(offset_of!(Ctx, instance), instance);
        let status = self.int(FULL as i64);
        self.b.ins().return_(&[status]);
    }

    /// Closes the loops, innermost first.
    fn end_params(&mut self, loops: &Loops) {
        for k in (0..loops.ordinals.len()).rev() {
            self.enter_unknown(loops.nexts[k]);
            let ordinal = self.b.use_var(loops.ordinals[k]);
            let ordinal = self.b.ins().iadd_imm_s(ordinal, 1);
            self.b.def_var(loops.ordinals[k], ordinal);
            self.jump(loops.heads[k]);
            self.enter_unknown(loops.exits[k]);
            let zero = self.int(0);
            self.b.def_var(loops.ordinals[k], zero);
            let on = loops.skip(k);
            self.jump(on);
        }
        self.enter_unknown(loops.done);
        let status = self.int(OK as i64);
        self.b.ins().return_(&[status]);
    }

    /// The ways out of an action: faults and drops.
    fn action_exits(&mut self, loops: &Loops, numbers: Numbers<'_>, mark: Option<Value>) {
        let stop = self.b.create_block();
        self.b.set_cold_block(stop);
        self.fault_block();
        self.jump(stop);
        let status = self.carry_block();
        let drop = self.drop;
        if loops.drops {
            let dropped = self.icmp_imm(IntCC::Equal, status, DROP as i64);
            self.brif(dropped, drop, stop);
        } else {
            self.jump(stop);
        }
        self.enter_unknown(stop);
        let instance = self.instance(loops, numbers);
        self.ctx_store(offset_of!(Ctx, instance), instance);
        let status = self.int(FAULT as i64);
        self.b.ins().return_(&[status]);
        if !loops.drops {
            return;
        }
        self.enter_unknown(drop);
        let count = self.ctx_load(offset_of!(Ctx, dropped));
        let count = self.b.ins().iadd_imm_s(count, 1);
        self.ctx_store(offset_of!(Ctx, dropped), count);
        if self.unit.count_calls {
            let zero = self.int(0);
            self.ctx_store(offset_of!(Ctx, depth), zero);
        }
        self.release(mark);
        let on = loops.skip(loops.ordinals.len());
        self.jump(on);
    }
}
