//! A whole block of source states in one call.
//!
//! The *sweep* goes from source to source and calls *chunks*: functions that try the rules of a
//! stretch of the program on one source, from their first instance on. Small rules are generated into
//! their chunk once per instance. Parameters are constants there, so all positions of bits are too,
//! guards that compare parameters vanish, and so do most checks. Other rules are called; they have
//! loops over their parameters. Whatever stops a chunk (a full batch, a fault) is told by the label of
//! the instance; the rest of that source is left to the common loop over rules, which is not worth
//! hastening: it happens once per batch.
//!
//! Only programs with a single class of priority are swept.
//!
//! What was seen, in instructions of generated code per transition over the first 40,000 states: a
//! first version with 3000 nodes per rule and no bodies of their own against 1000 nodes and such
//! bodies gave 266/267 (mcslock2), 804/804 (cache3), 1081/1058 (cache3multi), 352/369 (list6too). So
//! copies of large bodies bring little; what they cost to compile was not measured on its own.
//! Resuming inside generated code was not tried: the common loop has to finish one source per batch.

use crate::action::{Site, has_own_body};
use crate::analysis::{Hoisted, Item, Known, Uses, hoist};
use crate::emit::{Fun, I64, Loc, Res, Unit};
use crate::range::Range;
use crate::runtime::{Ctx, DEADLOCK, FAULT, FULL, OK};
use crate::walk::{Code, Node, walk_expr, walk_stmt};
use cranelift_codegen::ir::{
    Block, BlockArg, FuncRef, InstBuilder, MemFlagsData, Value, condcodes::IntCC,
};
use cranelift_module::FuncId;
use ergodic_ir::{Action, Domain, Instances, LocalKind, Program, Stmt, domain_value};
use ergodic_system::DeadlockMode;
use std::mem::offset_of;

/// Nodes of all copies of one rule, or of its guard.
const RULE_NODES: u64 = 1000;
/// Nodes of all copies of all rules. Each node costs some microseconds of compile time.
const ALL_NODES: u64 = 4000;
/// Nodes of one chunk: long functions compile slowly.
const CHUNK_NODES: u64 = 2000;
/// Bytes of locals in memory of a rule that is part of a chunk.
const FRAME_BYTES: usize = 512;

/// How much of a rule is generated into its chunk, once per instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// All of it.
    Whole,
    /// Its guard; the body has a function of its own.
    Guard,
    /// Nothing: the rule has a function with loops.
    Nothing,
}

impl Piece {
    /// Whether chunks never call the rule: its own function runs once per batch at most.
    pub(crate) fn is_whole(&self) -> bool {
        self.form == Form::Whole
    }

    /// Whether the body has a function of its own.
    pub(crate) fn has_own_body(&self) -> bool {
        self.form == Form::Guard
    }
}

/// One rule of a chunk.
pub(crate) struct Piece {
    /// Number of the action.
    pub rule: usize,
    form: Form,
    /// An assumption can drop its successors.
    drops: bool,
}

/// Divides the rules, in the order of firing, into chunks.
pub(crate) fn plan(unit: &Unit<'_>, instances: &Instances) -> Vec<Vec<Piece>> {
    let program = unit.program;
    let mut left = ALL_NODES;
    let mut chunks: Vec<Vec<Piece>> = Vec::new();
    let mut room = 0;
    for (rule, action) in program.actions.iter().enumerate() {
        let code = Code::Action(action);
        let drops = unit.drops(action);
        let copies = instances.count(false, rule);
        let size = |code| nodes(code).saturating_mul(copies).max(1);
        let fits = |nodes: u64| nodes <= RULE_NODES.min(left);
        let whole = size(code);
        let guard = guard_nodes(unit, action, instances.radices(false, rule));
        let (form, cost) = if !drops && frame_bytes(unit, action) <= FRAME_BYTES && fits(whole) {
            (Form::Whole, whole)
        } else if has_own_body(unit, action) && fits(guard) {
            (Form::Guard, guard)
        } else {
            (Form::Nothing, 10)
        };
        left = left.saturating_sub(cost);
        if cost > room {
            chunks.push(Vec::new());
            room = CHUNK_NODES.max(cost);
        }
        room -= cost;
        if let Some(chunk) = chunks.last_mut() {
            chunk.push(Piece { rule, form, drops });
        }
    }
    chunks
}

/// Nodes of the guards of all instances: a part stands once for all that differ in later parameters.
fn guard_nodes(unit: &Unit<'_>, action: &Action, radices: &[u64]) -> u64 {
    let uses = Uses::new(unit.program, &action.locals, Code::Action(action));
    let copies =
        |depth: usize| radices[..depth].iter().fold(1, |n: u64, radix| n.saturating_mul(*radix));
    let mut total = 4u64.saturating_mul(copies(radices.len()));
    for Hoisted { item, depth } in hoist(unit.program, &unit.procs, &uses, action) {
        let mut nodes = 0;
        let mut count = |_: Node<'_>| nodes += 1;
        match item {
            Item::Bind(stmt) => walk_stmt(stmt, &mut count),
            Item::Test(expr) => walk_expr(expr, &mut count),
        }
        total = total.saturating_add(copies(depth).saturating_mul(nodes));
    }
    total.max(1)
}

/// Size of a piece of code.
fn nodes(code: Code<'_>) -> u64 {
    let mut count = 4;
    code.walk(&mut |node| {
        count += match node {
            Node::Stmt(Stmt::Put(_)) => 0,
            _ => 1,
        };
    });
    count
}

/// Bytes of locals in memory, at most.
fn frame_bytes(unit: &Unit<'_>, action: &Action) -> usize {
    let storage = action.locals.iter().filter(|local| local.kind == LocalKind::Storage);
    storage.map(|local| unit.layout.bits(local.ty).div_ceil(64) * 8 + 8).sum()
}

/// A rule while its copies are generated.
struct Rule<'f, 'a> {
    action: &'f Action,
    number: u32,
    base: i64,
    radices: &'a [u64],
    items: &'a [Hoisted<'f>],
    source: Value,
    /// Where to go, with label and status, when a successor filled the batch or a body stopped.
    full: Block,
    /// The function of its body, if it has one of its own.
    body: Option<FuncId>,
}

/// Functions that chunks call, by action.
#[derive(Clone, Copy)]
pub(crate) struct Functions<'a> {
    pub actions: &'a [FuncId],
    pub bodies: &'a [Option<FuncId>],
}

/// Generates a chunk: `(ctx, source) -> status`.
pub(crate) fn chunk<'f>(
    unit: &'f Unit<'f>,
    site: Site<'f>,
    pieces: &[Piece],
    functions: Functions<'_>,
    instances: &Instances,
) -> Res<()> {
    let mut fun = Fun::open(unit, site, true)?;
    let source = fun.state;
    let full = fun.b.create_block();
    fun.b.set_cold_block(full);
    fun.b.append_block_param(full, I64);
    fun.b.append_block_param(full, I64);
    for piece in pieces {
        let base = i64::from(instances.base(false, piece.rule));
        if piece.form != Form::Nothing {
            let action: &'f Action = &unit.program.actions[piece.rule];
            fun.scope(&action.locals, Code::Action(action))?;
            let items = hoist(unit.program, &unit.procs, &fun.uses, action);
            let radices = instances.radices(false, piece.rule);
            let number = piece.rule as u32;
            let body = functions.bodies[piece.rule];
            let rule = Rule { action, number, base, radices, items: &items, source, full, body };
            let done = fun.b.create_block();
            fun.copies(&rule, 0, 0, done)?;
            fun.enter(done);
        } else if instances.count(false, piece.rule) > 0 {
            fun.tag = None;
            let callee = fun.func(functions.actions[piece.rule]);
            fun.call_rule(callee, piece, source, base);
        }
    }
    let status = fun.int(OK as i64);
    fun.b.ins().return_(&[status]);
    fun.fault_block();
    let fault = fun.int(FAULT as i64);
    fun.stop(fun.fault, 2, fault);
    fun.enter_unknown(fun.carry);
    let fault = fun.int(FAULT as i64);
    fun.stop(fun.carry, 1, fault);
    fun.enter_unknown(full);
    let status = fun.b.block_params(full)[1];
    fun.stop(full, 0, status);
    fun.finish();
    Ok(())
}

impl<'f> Fun<'f> {
    /// Returns from a chunk; the label is a parameter of the current block.
    fn stop(&mut self, block: Block, param: usize, status: Value) {
        if let Some(label) = self.b.block_params(block).get(param).copied() {
            self.ctx_store(offset_of!(Ctx, label), label);
        }
        self.b.ins().return_(&[status]);
    }

    /// Code for all instances that begin with the parameters set so far, `prefix` being their number.
    /// Control goes on at `miss`.
    fn copies(&mut self, rule: &Rule<'f, '_>, depth: usize, prefix: u64, miss: Block) -> Res<()> {
        let first = rule.radices[depth..].iter().fold(prefix, |n, radix| n * radix);
        let label = rule.base + first as i64;
        self.tag = Some(label);
        self.at_source(rule.source);
        let Some(param) = rule.action.params.get(depth) else {
            if let Some(body) = rule.body {
                return self.guarded(rule, body, prefix, miss);
            }
            self.rebind(rule, prefix);
            if self.fire(rule.action, rule.items, rule.source, miss)? {
                let label = self.int(label);
                let room = self.append(rule.number, label);
                let status = self.int(FULL as i64);
                let args = [BlockArg::Value(label), BlockArg::Value(status)];
                self.brif_with(room, (miss, &[]), (rule.full, &args));
                self.aside = false;
            }
            return Ok(());
        };
        if !self.items(rule.items, depth, miss)? {
            return Ok(());
        }
        let set = match &param.over {
            Domain::Slots(place) => {
                let stride = self.unit.layout.stride(place.ty);
                Some((self.memory_place(place)?, stride))
            }
            _ => None,
        };
        let i = param.local.0 as usize;
        for ordinal in 0..rule.radices[depth] {
            let next = self.b.create_block();
            self.at_source(rule.source);
            let value = domain_value(&param.over, &self.unit.program.types, ordinal);
            let v = self.int(value);
            let variable = self.b.declare_var(I64);
            self.b.def_var(variable, v);
            self.locals[i] = Loc::Bound(variable);
            if !self.uses.rebound[i] {
                self.uses.known[i] = Known { range: Range::one(value), ..self.uses.known[i] };
            }
            if let Some((set, stride)) = set {
                let filled = self.load(Fun::plus(set, ordinal as usize * stride), 1);
                let body = self.b.create_block();
                self.brif(filled, body, next);
                self.enter(body);
            }
            self.copies(rule, depth + 1, prefix * rule.radices[depth] + ordinal, next)?;
            self.enter(next);
        }
        self.jump(miss);
        Ok(())
    }

    /// The rest of the guard of an instance and the call of its body.
    fn guarded(
        &mut self,
        rule: &Rule<'f, '_>,
        body: FuncId,
        instance: u64,
        miss: Block,
    ) -> Res<()> {
        if !self.items(rule.items, rule.action.params.len(), miss)? {
            return Ok(());
        }
        self.step_aside();
        let mut rest = instance;
        let mut values = Vec::with_capacity(rule.radices.len());
        for (param, radix) in rule.action.params.iter().zip(rule.radices).rev() {
            let value = domain_value(&param.over, &self.unit.program.types, rest % radix);
            values.push(self.int(value));
            rest /= radix;
        }
        values.reverse();
        let label = self.int(rule.base + instance as i64);
        let status = self.call_body(body, rule.source, label, &values);
        let args = [BlockArg::Value(label), BlockArg::Value(status)];
        self.brif_with(status, (rule.full, &args), (miss, &[]));
        self.aside = false;
        Ok(())
    }

    /// Gives parameters that the body binds again variables of their own: what it makes of them is
    /// not seen by other instances.
    fn rebind(&mut self, rule: &Rule<'f, '_>, instance: u64) {
        let mut rest = instance;
        for (param, radix) in rule.action.params.iter().zip(rule.radices).rev() {
            let i = param.local.0 as usize;
            if self.uses.rebound[i] {
                let value = domain_value(&param.over, &self.unit.program.types, rest % radix);
                let (variable, v) = (self.b.declare_var(I64), self.int(value));
                self.b.def_var(variable, v);
                self.locals[i] = Loc::Bound(variable);
            }
            rest /= radix;
        }
    }

    /// Reads the source state from here on.
    fn at_source(&mut self, source: Value) {
        self.state = source;
        self.source = Some(source);
        self.changed = None;
        self.flow.forget_memory();
    }

    /// Tries a rule that has a function of its own.
    fn call_rule(&mut self, callee: FuncRef, piece: &Piece, source: Value, base: i64) {
        let args = [self.ctx, source];
        let call = self.b.ins().call(callee, &args);
        let status = self.b.inst_results(call)[0];
        if piece.drops {
            let (some, on) = (self.b.create_block(), self.b.create_block());
            self.b.set_cold_block(some);
            let dropped = self.ctx_load(offset_of!(Ctx, dropped));
            self.brif(dropped, some, on);
            self.enter(some);
            let zero = self.int(0);
            self.ctx_store(offset_of!(Ctx, dropped), zero);
            let sum = self.ctx_load(offset_of!(Ctx, drop_sum));
            let sum = self.b.ins().iadd(sum, dropped);
            self.ctx_store(offset_of!(Ctx, drop_sum), sum);
            let drops = self.ctx_load(offset_of!(Ctx, drops));
            let (flags, offset) = (MemFlagsData::new().with_notrap(), (piece.rule * 8) as i32);
            let count = self.b.ins().load(I64, flags, drops, offset);
            let count = self.b.ins().iadd(count, dropped);
            self.b.ins().store(flags, count, drops, offset);
            self.jump(on);
            self.enter(on);
        }
        let (stop, on) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(stop);
        self.brif(status, stop, on);
        self.enter(stop);
        let instance = self.ctx_load(offset_of!(Ctx, instance));
        let label = self.b.ins().iadd_imm_s(instance, base);
        self.ctx_store(offset_of!(Ctx, label), label);
        self.b.ins().return_(&[status]);
        self.enter(on);
    }
}

/// Generates the sweep: `(ctx, first source) -> status`.
pub(crate) fn sweep<'f>(
    unit: &'f Unit<'f>,
    site: Site<'f>,
    chunks: &[FuncId],
    deadlock: DeadlockMode,
) -> Res<()> {
    let mut fun = Fun::open(unit, site, false)?;
    let words = unit.layout.shape().words;
    let (at, state) = (fun.b.declare_var(I64), fun.b.declare_var(I64));
    let first = fun.ctx_load(offset_of!(Ctx, source));
    fun.b.def_var(at, first);
    let source = fun.state;
    fun.b.def_var(state, source);
    let large = |action: &Action| frame_bytes(unit, action) > unit.frame_budget;
    let arena = unit.arena || unit.program.actions.iter().any(large);
    let mark = arena.then(|| fun.arena_mark());
    let (head, body, done) = (fun.b.create_block(), fun.b.create_block(), fun.b.create_block());
    let stop = fun.b.create_block();
    fun.b.append_block_param(stop, I64);
    fun.jump(head);
    fun.enter_loop(head);
    let (i, count) = (fun.b.use_var(at), fun.ctx_load(offset_of!(Ctx, count)));
    let more = fun.b.ins().icmp(IntCC::UnsignedLessThan, i, count);
    fun.brif(more, body, done);
    fun.enter(body);
    fun.ctx_store(offset_of!(Ctx, source), i);
    fun.release(mark);
    let sum = fun.ctx_load(offset_of!(Ctx, drop_sum));
    fun.ctx_store(offset_of!(Ctx, drop_sum_before), sum);
    let looped = fun.ctx_load(offset_of!(Ctx, loop_sum));
    fun.ctx_store(offset_of!(Ctx, loop_sum_before), looped);
    let begin = fun.ctx_load(offset_of!(Ctx, len));
    let here = fun.b.use_var(state);
    for chunk in chunks {
        let callee = fun.func(*chunk);
        let args = [fun.ctx, here];
        let call = fun.b.ins().call(callee, &args);
        let status = fun.b.inst_results(call)[0];
        let on = fun.b.create_block();
        fun.brif_with(status, (stop, &[BlockArg::Value(status)]), (on, &[]));
        fun.enter(on);
    }
    let next = fun.b.create_block();
    if deadlock != DeadlockMode::Off {
        let (none, dead) = (fun.b.create_block(), fun.b.create_block());
        fun.b.set_cold_block(dead);
        let end = fun.ctx_load(offset_of!(Ctx, len));
        let made = fun.b.ins().isub(end, begin);
        let now = fun.ctx_load(offset_of!(Ctx, loop_sum));
        let loops = fun.b.ins().isub(now, looped);
        let alive = if deadlock == DeadlockMode::Stuck {
            fun.b.ins().bor(made, loops)
        } else {
            // Of the loops, those that are kept were made.
            let keep = fun.ctx_load(offset_of!(Ctx, keep_loops));
            let kept = fun.b.ins().imul(loops, keep);
            fun.b.ins().isub(made, kept)
        };
        fun.brif(alive, next, none);
        fun.enter(none);
        let dropped = fun.ctx_load(offset_of!(Ctx, drop_sum));
        let dropped = fun.b.ins().icmp(IntCC::NotEqual, dropped, sum);
        fun.brif(dropped, next, dead);
        fun.enter(dead);
        let status = fun.int(DEADLOCK as i64);
        fun.b.ins().return_(&[status]);
    } else {
        fun.jump(next);
    }
    fun.enter(next);
    let i = fun.b.ins().iadd_imm_s(i, 1);
    fun.b.def_var(at, i);
    let following = fun.b.ins().iadd_imm_s(here, words as i64 * 8);
    fun.b.def_var(state, following);
    fun.jump(head);
    fun.b.seal_block(head);
    fun.enter(done);
    let status = fun.int(OK as i64);
    fun.b.ins().return_(&[status]);
    fun.enter(stop);
    let status = fun.b.block_params(stop)[0];
    fun.b.ins().return_(&[status]);
    fun.finish();
    Ok(())
}

/// Generates the judge of invariants: `(ctx, states) -> 1`, or 0 or FAULT where one does not hold.
pub(crate) fn judge<'f>(
    unit: &'f Unit<'f>,
    site: Site<'f>,
    invariants: &[(u32, FuncId)],
) -> Res<()> {
    let mut fun = Fun::open(unit, site, false)?;
    let stride = unit.layout.shape().words as i64 * 8;
    let states = fun.state;
    let at = fun.b.declare_var(I64);
    let first = fun.ctx_load(offset_of!(Ctx, source));
    fun.b.def_var(at, first);
    let picks = fun.ctx_load(offset_of!(Ctx, picks));
    let count = fun.ctx_load(offset_of!(Ctx, count));
    let (head, body, done) = (fun.b.create_block(), fun.b.create_block(), fun.b.create_block());
    fun.jump(head);
    fun.enter_loop(head);
    let i = fun.b.use_var(at);
    let more = fun.b.ins().icmp(IntCC::UnsignedLessThan, i, count);
    fun.brif(more, body, done);
    fun.enter(body);
    let flags = MemFlagsData::new().with_notrap();
    let offset = fun.b.ins().ishl_imm_u(i, 2);
    let pick = fun.b.ins().iadd(picks, offset);
    let pick = fun.b.ins().uload32(flags, pick, 0);
    let offset = fun.b.ins().imul_imm_s(pick, stride);
    let state = fun.b.ins().iadd(states, offset);
    for (property, id) in invariants {
        let callee = fun.func(*id);
        let args = [fun.ctx, state];
        let call = fun.b.ins().call(callee, &args);
        let status = fun.b.inst_results(call)[0];
        let (stop, on) = (fun.b.create_block(), fun.b.create_block());
        fun.b.set_cold_block(stop);
        let holds = fun.icmp_imm(IntCC::Equal, status, 1);
        fun.brif(holds, on, stop);
        fun.enter(stop);
        fun.ctx_store(offset_of!(Ctx, source), i);
        let property = fun.int(i64::from(*property));
        fun.ctx_store(offset_of!(Ctx, label), property);
        fun.b.ins().return_(&[status]);
        fun.enter(on);
    }
    let i = fun.b.ins().iadd_imm_s(i, 1);
    fun.b.def_var(at, i);
    fun.jump(head);
    fun.b.seal_block(head);
    fun.enter(done);
    let status = fun.int(1);
    fun.b.ins().return_(&[status]);
    fun.finish();
    Ok(())
}

/// Whether all rules have the same priority.
pub(crate) fn one_class(program: &Program) -> bool {
    program.actions.windows(2).all(|pair| pair[0].priority == pair[1].priority)
}
