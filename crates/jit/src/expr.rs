//! Expressions.

use crate::JitError;
use crate::analysis::type_range;
use crate::emit::{Addr, Base, Fun, I64, Loc, Res, Spot, Val};
use crate::facts::Mem;
use crate::range::Range;
use crate::runtime::{self, Ctx};
use cranelift_codegen::ir::{
    Block, InstBuilder, MemFlagsData, Value,
    condcodes::{FloatCC, IntCC},
    types,
};
use cranelift_frontend::Variable;
use ergodic_ir::{
    Arg, BinaryOp, Expr, FaultKind, Iter, LocalId, Pass, Place, ProcId, Site, TypeId, UnaryOp,
};
use std::collections::BTreeMap;
use std::mem::offset_of;

/// Slots of a multiset that are counted without a loop.
const COUNTED_SLOTS: u64 = 64;

/// A loop over values, between its parts.
pub(crate) struct Looping {
    head: Block,
    pub next: Block,
    pub exit: Block,
    advance: Advance,
}

enum Advance {
    /// Ordinals below a number.
    Ordinal(Variable),
    /// Values up (or down) to a bound.
    Range { at: Variable, to: Value, step: Value, positive: Option<bool> },
}

impl<'f> Fun<'f> {
    fn truth(&mut self, flag: Value) -> Val {
        Val { v: self.b.ins().uextend(I64, flag), range: Range::TRUTH, ty: None }
    }

    /// Evaluates an expression.
    pub(crate) fn expr(&mut self, expr: &'f Expr) -> Res<Val> {
        match expr {
            Expr::Int(value) => Ok(self.constant(*value)),
            Expr::Real(value) => {
                let bits = if *value == 0.0 { 0 } else { value.to_bits() as i64 };
                Ok(self.constant(bits))
            }
            Expr::Bound(local) => {
                let i = local.0 as usize;
                let Loc::Bound(variable) = self.locals[i] else {
                    return Err(JitError::new("a place is used as a bound value"));
                };
                let known = self.uses.known[i];
                let v = match known.range.constant() {
                    Some(value) => self.int(value),
                    None => self.b.use_var(variable),
                };
                Ok(Val { v, range: known.range, ty: known.ty })
            }
            Expr::Read { place, site } => self.read(place, *site),
            Expr::Unary { op, arg, site } => {
                let arg = self.expr(arg)?;
                Ok(self.unary(op, arg, *site))
            }
            Expr::Binary { op, left, right, site } => {
                let left = self.expr(left)?;
                let right = self.expr(right)?;
                Ok(self.binary(op, left, right, *site))
            }
            Expr::And(_) | Expr::Or(_) | Expr::Quantified { .. } => {
                let (yes, no) = (self.b.create_block(), self.b.create_block());
                let end = self.b.create_block();
                let result = self.b.append_block_param(end, I64);
                self.without_exits(|f| f.branch(expr, yes, no))?;
                for (block, value) in [(yes, 1), (no, 0)] {
                    self.enter(block);
                    let value = self.int(value);
                    self.jump_with(end, &[value]);
                }
                self.enter(end);
                Ok(Val { v: result, range: Range::TRUTH, ty: None })
            }
            Expr::If { cond, then, other } => {
                let (yes, no) = (self.b.create_block(), self.b.create_block());
                let end = self.b.create_block();
                let result = self.b.append_block_param(end, I64);
                self.without_exits(|f| f.branch(cond, yes, no))?;
                self.enter(yes);
                let a = self.expr(then)?;
                self.jump_with(end, &[a.v]);
                self.enter(no);
                let b = self.expr(other)?;
                self.jump_with(end, &[b.v]);
                self.enter(end);
                let ty = if a.ty == b.ty { a.ty } else { None };
                Ok(Val { v: result, range: a.range.hull(b.range), ty })
            }
            Expr::IsUndefined(place) => {
                let v = self.is_undefined(place)?;
                Ok(Val { v, range: Range::TRUTH, ty: None })
            }
            Expr::IsMember { value, ty } => {
                let value = self.expr(value)?;
                let v = self.is_member(value, *ty)?;
                Ok(Val { v, range: Range::TRUTH, ty: None })
            }
            Expr::Same { left, right, site } => {
                let v = self.same(left, right, *site)?;
                Ok(Val { v, range: Range::TRUTH, ty: None })
            }
            Expr::Count { set, var, body } => self.count(set, *var, body),
            Expr::Call { proc, args, site } => {
                let v = self.call(*proc, args, *site)?;
                match self.unit.program.procs[proc.0 as usize].result {
                    Some(ty) => {
                        let range = type_range(self.unit.program, ty);
                        Ok(Val { v, range, ty: Some(ty) })
                    }
                    None => Err(JitError::new("a procedure has no value")),
                }
            }
            Expr::Block { body, value } => {
                if !self.stmts(body)? {
                    self.dead();
                }
                self.expr(value)
            }
        }
    }

    /// Goes to one of two blocks that nothing else jumps to but code generated by this call.
    pub(crate) fn branch(&mut self, expr: &'f Expr, yes: Block, no: Block) -> Res<()> {
        match expr {
            Expr::Int(value) => self.jump(if *value == 0 { no } else { yes }),
            Expr::Unary { op: UnaryOp::Not, arg, .. } => {
                self.with_exits(|exit| exit.negate(), |f| f.branch(arg, no, yes))?;
            }
            Expr::And(parts) => match parts.split_last() {
                None => self.jump(yes),
                Some((last, parts)) => self.with_parts(false, |f| {
                    f.chain(parts, |next| (next, no))?;
                    f.branch(last, yes, no)
                })?,
            },
            Expr::Or(parts) => match parts.split_last() {
                None => self.jump(no),
                Some((last, parts)) => self.with_parts(true, |f| {
                    f.chain(parts, |next| (yes, next))?;
                    f.branch(last, yes, no)
                })?,
            },
            Expr::If { cond, then, other } => self.without_exits(|f| {
                let (a, b) = (f.b.create_block(), f.b.create_block());
                f.branch(cond, a, b)?;
                f.enter(a);
                f.branch(then, yes, no)?;
                f.enter(b);
                f.branch(other, yes, no)
            })?,
            Expr::Binary { op, left, right, .. } if compare(*op).is_some() => {
                let (yes, no) = self.exits_for(expr, yes, no);
                let left = self.expr(left)?;
                let right = self.expr(right)?;
                match Range::binary(*op, left.range, right.range).0.constant() {
                    Some(truth) => self.jump(if truth == 0 { no } else { yes }),
                    None => {
                        let flag = self.compare(*op, left.v, right.v);
                        self.brif(flag, yes, no);
                    }
                }
            }
            Expr::Quantified { all, var, over, body } => {
                if self.unrolled_quantifier((*all, *var), over, body, (yes, no))? {
                    return Ok(());
                }
                self.exits_after(over);
                let looping = self.begin_loop(*var, over)?;
                self.without_exits(|f| {
                    f.quantified_body((*all, *var), body, looping.next, (yes, no))
                })?;
                self.end_loop(&looping);
                self.jump(if *all { yes } else { no });
            }
            Expr::Block { body, value } => {
                // It leads nowhere else, but what comes after it may not pass over it.
                self.exits_for(expr, yes, no);
                self.without_exits(|f| {
                    if !f.stmts(body)? {
                        f.dead();
                    }
                    f.branch(value, yes, no)
                })?;
            }
            _ => {
                let (yes, no) = self.exits_for(expr, yes, no);
                let value = self.expr(expr)?;
                self.brif(value.v, yes, no);
            }
        }
        Ok(())
    }

    fn chain(&mut self, parts: &'f [Expr], targets: impl Fn(Block) -> (Block, Block)) -> Res<()> {
        for part in parts {
            let next = self.b.create_block();
            let (yes, no) = targets(next);
            self.branch(part, yes, no)?;
            self.enter(next);
        }
        Ok(())
    }

    fn unary(&mut self, op: &'f UnaryOp, arg: Val, site: Site) -> Val {
        let (range, faults) = Range::unary(*op, arg.range);
        let v = match op {
            UnaryOp::Neg => {
                if faults {
                    let bad = self.icmp_imm(IntCC::Equal, arg.v, i64::MIN);
                    self.check(bad, FaultKind::Overflow, site, arg.v);
                }
                self.b.ins().ineg(arg.v)
            }
            UnaryOp::Not => {
                let flag = self.icmp_imm(IntCC::Equal, arg.v, 0);
                self.b.ins().uextend(I64, flag)
            }
            UnaryOp::BitNot => self.b.ins().bnot(arg.v),
            UnaryOp::ToReal if let Some(bits) = range.constant() => self.int(bits),
            UnaryOp::ToReal => {
                let real = self.b.ins().fcvt_from_sint(types::F64, arg.v);
                self.bits_of(real)
            }
            UnaryOp::RealNeg => {
                // Not `fneg`: zero has one form.
                let (zero, real) = (self.b.ins().f64const(0.0), self.real_of(arg.v));
                let real = self.b.ins().fsub(zero, real);
                self.bits_of(real)
            }
            real => {
                let real = self.int(std::ptr::from_ref(real) as i64);
                let args = [self.ctx, real, arg.v];
                self.real(runtime::real_unary as *const u8, &args, site)
            }
        };
        Val { v, range, ty: None }
    }

    /// Calls a helper for reals, which may fault.
    fn real(&mut self, address: *const u8, args: &[Value], site: Site) -> Value {
        let status = self.ask(address, args);
        let value = self.ctx_load(offset_of!(Ctx, temp));
        let (bad, next) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(bad);
        self.brif(status, bad, next);
        self.enter(bad);
        let kind = self.b.ins().iadd_imm_s(status, -1);
        let kind = self.b.ins().ishl_imm_u(kind, 32);
        let what = self.b.ins().bor_imm_u(kind, i64::from(site.0));
        let args = self.tagged(&[what, value]);
        let fault = self.fault;
        self.b.ins().jump(fault, &args);
        self.enter(next);
        value
    }

    /// The real that travels as these bits.
    fn real_of(&mut self, bits: Value) -> Value {
        self.b.ins().bitcast(types::F64, MemFlagsData::new(), bits)
    }

    /// The bits as which a real travels.
    fn bits_of(&mut self, real: Value) -> Value {
        self.b.ins().bitcast(I64, MemFlagsData::new(), real)
    }

    /// Sum, difference, product or quotient of two finite reals, which must be finite. Minus zero plus zero
    /// is zero, which has one form only ([`ergodic_ir::ops::finite`]).
    fn real_arithmetic(&mut self, op: BinaryOp, a: Value, b: Value, site: Site) -> Value {
        let (left, right) = (self.real_of(a), self.real_of(b));
        let zero = self.b.ins().f64const(0.0);
        let result = match op {
            BinaryOp::RealAdd => self.b.ins().fadd(left, right),
            BinaryOp::RealSub => self.b.ins().fsub(left, right),
            BinaryOp::RealMul => self.b.ins().fmul(left, right),
            _ => {
                let bad = self.b.ins().fcmp(FloatCC::Equal, right, zero);
                self.check(bad, FaultKind::DivisionByZero, site, a);
                self.b.ins().fdiv(left, right)
            }
        };
        let result = self.b.ins().fadd(result, zero);
        let (size, most) = (self.b.ins().fabs(result), self.b.ins().f64const(f64::MAX));
        let bad = self.b.ins().fcmp(FloatCC::GreaterThan, size, most);
        let bits = self.bits_of(result);
        self.check(bad, FaultKind::Overflow, site, bits);
        bits
    }

    fn compare(&mut self, op: BinaryOp, left: Value, right: Value) -> Value {
        match compare(op) {
            Some(Compare::Int(cc)) => self.b.ins().icmp(cc, left, right),
            Some(Compare::Real(cc)) => {
                let (left, right) = (self.real_of(left), self.real_of(right));
                self.b.ins().fcmp(cc, left, right)
            }
            None => left,
        }
    }

    /// A shift; a negative distance goes the other way, and 64 bits leave nothing.
    fn shift(&mut self, to_left: bool, a: Value, b: Value, distance: Range) -> Value {
        let plain = |f: &mut Self, to_left: bool, b: Value| match to_left {
            true => f.b.ins().ishl(a, b),
            false => f.b.ins().sshr(a, b),
        };
        let mut v = plain(self, to_left, b);
        if distance.lo < 0 {
            let opposite = self.b.ins().ineg(b);
            let back = plain(self, !to_left, opposite);
            let negative = self.icmp_imm(IntCC::SignedLessThan, b, 0);
            v = self.b.ins().select(negative, back, v);
        }
        if !distance.within(-63, 63) {
            let moved = self.b.ins().iadd_imm_s(b, 63);
            let small = self.icmp_imm(IntCC::UnsignedLessThanOrEqual, moved, 126);
            let zero = self.int(0);
            v = self.b.ins().select(small, v, zero);
        }
        v
    }

    fn binary(&mut self, op: &'f BinaryOp, left: Val, right: Val, site: Site) -> Val {
        if compare(*op).is_some() {
            let flag = self.compare(*op, left.v, right.v);
            return self.truth(flag);
        }
        let (range, faults) = Range::binary(*op, left.range, right.range);
        let (a, b) = (left.v, right.v);
        let v = match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul if faults => {
                let (result, over) = match op {
                    BinaryOp::Add => self.b.ins().sadd_overflow(a, b),
                    BinaryOp::Sub => self.b.ins().ssub_overflow(a, b),
                    _ => self.b.ins().smul_overflow(a, b),
                };
                self.check(over, FaultKind::Overflow, site, a);
                result
            }
            BinaryOp::Add => self.b.ins().iadd(a, b),
            BinaryOp::Sub => self.b.ins().isub(a, b),
            BinaryOp::Mul => self.b.ins().imul(a, b),
            BinaryOp::Div => {
                if right.range.has(0) {
                    let bad = self.icmp_imm(IntCC::Equal, b, 0);
                    self.check(bad, FaultKind::DivisionByZero, site, a);
                }
                if right.range.has(-1) && left.range.has(i64::MIN) {
                    let least = self.icmp_imm(IntCC::Equal, a, i64::MIN);
                    let minus = self.icmp_imm(IntCC::Equal, b, -1);
                    let bad = self.b.ins().band(least, minus);
                    self.check(bad, FaultKind::Overflow, site, a);
                }
                self.b.ins().sdiv(a, b)
            }
            BinaryOp::Rem => {
                if right.range.has(0) {
                    let bad = self.icmp_imm(IntCC::Equal, b, 0);
                    self.check(bad, FaultKind::DivisionByZero, site, a);
                }
                let mut divisor = b;
                if right.range.has(-1) {
                    let minus = self.icmp_imm(IntCC::Equal, b, -1);
                    let one = self.int(1);
                    divisor = self.b.ins().select(minus, one, b);
                }
                self.b.ins().srem(a, divisor)
            }
            BinaryOp::BitAnd => self.b.ins().band(a, b),
            BinaryOp::BitOr => self.b.ins().bor(a, b),
            BinaryOp::BitXor => self.b.ins().bxor(a, b),
            BinaryOp::Shl | BinaryOp::Shr => self.shift(*op == BinaryOp::Shl, a, b, right.range),
            BinaryOp::RealAdd | BinaryOp::RealSub | BinaryOp::RealMul | BinaryOp::RealDiv => {
                self.real_arithmetic(*op, a, b, site)
            }
            real => {
                let real = self.int(std::ptr::from_ref(real) as i64);
                let args = [self.ctx, real, a, b];
                self.real(runtime::real_binary as *const u8, &args, site)
            }
        };
        Val { v, range, ty: None }
    }

    pub(crate) fn bound_variable(&self, local: LocalId) -> Res<Variable> {
        match self.locals[local.0 as usize] {
            Loc::Bound(variable) => Ok(variable),
            _ => Err(JitError::new("a loop variable is no bound local")),
        }
    }

    /// Starts a loop and leaves the builder at the start of its body, the variable being set.
    pub(crate) fn begin_loop(&mut self, var: LocalId, over: &'f Iter) -> Res<Looping> {
        let variable = self.bound_variable(var)?;
        match over {
            Iter::Type(ty) => {
                let scalar = self.scalar_of(*ty)?;
                let (looping, ordinal) = self.begin_count(scalar.count() as i64);
                let code = self.code(ordinal, scalar, 0);
                self.b.def_var(variable, code);
                Ok(looping)
            }
            Iter::Slots(place) => {
                let set = self.memory_place(place)?;
                self.begin_slots(variable, set, place.ty)
            }
            Iter::Range { from, to, step, site } => {
                let from = self.expr(from)?;
                let to = self.expr(to)?;
                let step = self.expr(step)?;
                if step.range.has(0) {
                    let bad = self.icmp_imm(IntCC::Equal, step.v, 0);
                    self.check_zero(bad, FaultKind::Step, *site);
                }
                let positive = match step.range {
                    Range { lo, .. } if lo >= 0 => Some(true),
                    Range { hi, .. } if hi <= 0 => Some(false),
                    _ => None,
                };
                let (head, next, exit) =
                    (self.b.create_block(), self.b.create_block(), self.b.create_block());
                let up = |f: &mut Self| f.b.ins().icmp(IntCC::SignedLessThanOrEqual, from.v, to.v);
                let down =
                    |f: &mut Self| f.b.ins().icmp(IntCC::SignedGreaterThanOrEqual, from.v, to.v);
                let some = match positive {
                    Some(true) => up(self),
                    Some(false) => down(self),
                    None => {
                        let (a, b) = (up(self), down(self));
                        let rising = self.icmp_imm(IntCC::SignedGreaterThan, step.v, 0);
                        self.b.ins().select(rising, a, b)
                    }
                };
                let at = self.b.declare_var(I64);
                self.b.def_var(at, from.v);
                self.brif(some, head, exit);
                self.enter_loop(head);
                let value = self.b.use_var(at);
                self.b.def_var(variable, value);
                let advance = Advance::Range { at, to: to.v, step: step.v, positive };
                Ok(Looping { head, next, exit, advance })
            }
        }
    }

    /// Starts a loop over 0 up to `count`, which may be zero.
    fn begin_count(&mut self, count: i64) -> (Looping, Value) {
        let at = self.b.declare_var(I64);
        let zero = self.int(0);
        self.b.def_var(at, zero);
        let (head, body) = (self.b.create_block(), self.b.create_block());
        let (next, exit) = (self.b.create_block(), self.b.create_block());
        self.jump(head);
        self.enter_loop(head);
        let value = self.b.use_var(at);
        let more = self.b.ins().icmp_imm_s(IntCC::UnsignedLessThan, value, count);
        self.brif(more, body, exit);
        self.enter(body);
        (Looping { head, next, exit, advance: Advance::Ordinal(at) }, value)
    }

    /// Starts a loop over the filled slots of a multiset.
    pub(crate) fn begin_slots(
        &mut self,
        variable: Variable,
        set: Addr,
        ty: TypeId,
    ) -> Res<Looping> {
        let (capacity, _) = self.multiset_of(ty)?;
        let (looping, slot) = self.begin_count(i64::from(capacity));
        self.b.def_var(variable, slot);
        let range = Range { lo: 0, hi: i64::from(capacity).max(2) - 1 };
        let at =
            self.advance(set, Val { v: slot, range, ty: None }, 0, self.unit.layout.stride(ty));
        let filled = self.load(at, 1);
        let body = self.b.create_block();
        self.brif(filled, body, looping.next);
        self.enter(body);
        Ok(looping)
    }

    /// Ends a loop whose body has jumped to `next` (or elsewhere); goes on behind it.
    pub(crate) fn end_loop(&mut self, looping: &Looping) {
        self.enter(looping.next);
        match looping.advance {
            Advance::Ordinal(at) => {
                let value = self.b.use_var(at);
                let value = self.b.ins().iadd_imm_s(value, 1);
                self.b.def_var(at, value);
                self.jump(looping.head);
            }
            Advance::Range { at, to, step, positive } => {
                // Stops before the value that would pass the bound, so nothing overflows.
                let value = self.b.use_var(at);
                let up = |f: &mut Self| (f.b.ins().isub(to, value), step);
                let down = |f: &mut Self| (f.b.ins().isub(value, to), f.b.ins().ineg(step));
                let (left, size) = match positive {
                    Some(true) => up(self),
                    Some(false) => down(self),
                    None => {
                        let (a, b) = (up(self), down(self));
                        let rising = self.icmp_imm(IntCC::SignedGreaterThan, step, 0);
                        (
                            self.b.ins().select(rising, a.0, b.0),
                            self.b.ins().select(rising, a.1, b.1),
                        )
                    }
                };
                let more = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, left, size);
                let value = self.b.ins().iadd(value, step);
                self.b.def_var(at, value);
                self.brif(more, looping.head, looping.exit);
            }
        }
        self.b.seal_block(looping.head);
        self.enter(looping.exit);
    }

    fn count(&mut self, set: &'f Place, var: LocalId, body: &'f Expr) -> Res<Val> {
        let addr = self.memory_place(set)?;
        let variable = self.bound_variable(var)?;
        let (capacity, _) = self.multiset_of(set.ty)?;
        let range = Range { lo: 0, hi: i64::from(capacity) };
        if let (Expr::Int(1), None) = (body, addr.dynamic)
            && u64::from(capacity) <= COUNTED_SLOTS
        {
            let v = self.filled_slots(addr, capacity, self.unit.layout.stride(set.ty));
            return Ok(Val { v, range, ty: None });
        }
        let total = self.b.declare_var(I64);
        let zero = self.int(0);
        self.b.def_var(total, zero);
        let looping = self.begin_slots(variable, addr, set.ty)?;
        let yes = self.b.create_block();
        self.without_exits(|f| f.branch(body, yes, looping.next))?;
        self.enter(yes);
        let count = self.b.use_var(total);
        let count = self.b.ins().iadd_imm_s(count, 1);
        self.b.def_var(total, count);
        self.jump(looping.next);
        self.end_loop(&looping);
        let v = self.b.use_var(total);
        Ok(Val { v, range, ty: None })
    }

    /// The number of filled slots of a multiset at a constant place: bits that are set in its words.
    fn filled_slots(&mut self, set: Addr, capacity: u32, stride: usize) -> Value {
        let mut masks: BTreeMap<i64, u64> = BTreeMap::new();
        for slot in 0..capacity as usize {
            let at = Fun::plus(set, slot * stride).konst;
            *masks.entry(at & !63).or_default() |= 1 << (at & 63);
        }
        let mut total = self.int(0);
        for (konst, mask) in masks {
            let word = self.load(Addr { konst, ..set }, 64);
            let mask = self.int(mask as i64);
            let bits = self.b.ins().band(word, mask);
            let count = self.b.ins().popcnt(bits);
            total = self.b.ins().iadd(total, count);
        }
        total
    }

    /// Calls a subroutine: arguments in order, then the limit, then the body. The value is only
    /// meaningful for functions.
    pub(crate) fn call(&mut self, id: ProcId, args: &'f [Arg], site: Site) -> Res<Value> {
        let program = self.unit.program;
        let proc = &program.procs[id.0 as usize];
        let mut values = vec![self.ctx, self.state];
        if let (Some(source), None) = (self.source, &self.changed) {
            values[1] = source;
        }
        let mut refs = Vec::new();
        for (i, (arg, pass)) in args.iter().zip(&proc.params).enumerate() {
            let ty = proc.locals[i].ty;
            match (arg, pass) {
                (Arg::Value { value, site }, Pass::Value) => {
                    let value = self.expr(value)?;
                    values.push(self.encode(value, ty, *site)?);
                }
                (Arg::Copy { from, site }, Pass::Value) => {
                    let spot = self.place(from)?;
                    let raw = self.load_raw(spot, from.ty);
                    values.push(self.convert(raw, from.ty, ty, *site)?);
                }
                (Arg::Ref(place), Pass::Ref) => {
                    let Spot::Mem(addr) = self.place(place)? else {
                        return Err(JitError::new("a scalar local is passed by reference"));
                    };
                    let base = match addr.base {
                        Base::Global(_) => values[1],
                        other => self.target(other),
                    };
                    refs.push((i, addr, self.unit.layout.bits(place.ty)));
                    values.push(base);
                    let position = self.position(addr);
                    values.push(position);
                }
                _ => return Err(JitError::new("an argument does not fit its parameter")),
            }
        }
        let depth = self.unit.count_calls.then(|| self.ctx_load(offset_of!(Ctx, depth)));
        if let Some(depth) = depth {
            let limit = i64::from(program.call_limit);
            let bad = self.b.ins().icmp_imm_s(IntCC::UnsignedGreaterThanOrEqual, depth, limit);
            self.check_zero(bad, FaultKind::CallDepth, site);
            let deeper = self.b.ins().iadd_imm_s(depth, 1);
            self.ctx_store(offset_of!(Ctx, depth), deeper);
        }
        let callee = self.func(self.unit.proc_ids[id.0 as usize]);
        let call = self.b.ins().call(callee, &values);
        let (status, value) = match *self.b.inst_results(call) {
            [status, value] => (status, value),
            _ => return Err(JitError::new("a subroutine has another signature")),
        };
        let way_out = self.tagged(&[status]);
        self.leave_if(status, self.carry, &way_out);
        self.wrote_by_call(id, &refs);
        if let Some(depth) = depth {
            self.ctx_store(offset_of!(Ctx, depth), depth);
        }
        Ok(value)
    }

    /// Notes what a call may have written; `refs` are its arguments by reference: parameter, place,
    /// bits.
    fn wrote_by_call(&mut self, id: ProcId, refs: &[(usize, Addr, usize)]) {
        let (procs, layout) = (&self.unit.procs, self.unit.layout);
        for global in procs.globals_written(id) {
            let first = layout.global(*global) as i64;
            let ty = self.unit.program.globals[global.0 as usize].ty;
            self.flow.write(Mem::State, (first, first + layout.bits(ty) as i64));
        }
        for (param, addr, len) in refs {
            if procs.params_written(id).contains(param) {
                self.wrote(*addr, *len);
            }
        }
    }
}

enum Compare {
    Int(IntCC),
    Real(FloatCC),
}

fn compare(op: BinaryOp) -> Option<Compare> {
    Some(match op {
        BinaryOp::Eq => Compare::Int(IntCC::Equal),
        BinaryOp::Ne => Compare::Int(IntCC::NotEqual),
        BinaryOp::Lt => Compare::Int(IntCC::SignedLessThan),
        BinaryOp::Le => Compare::Int(IntCC::SignedLessThanOrEqual),
        BinaryOp::RealEq => Compare::Real(FloatCC::Equal),
        BinaryOp::RealNe => Compare::Real(FloatCC::NotEqual),
        BinaryOp::RealLt => Compare::Real(FloatCC::LessThan),
        BinaryOp::RealLe => Compare::Real(FloatCC::LessThanOrEqual),
        _ => return None,
    })
}
