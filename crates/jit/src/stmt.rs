//! Statements.

use crate::JitError;
use crate::emit::{Addr, Base, Dynamic, Fun, I64, Leave, Loc, Res, Spot, Val};
use crate::facts::{ALL, Key};
use crate::range::Range;
use crate::runtime::{self, OK};
use cranelift_codegen::ir::{Block, InstBuilder, condcodes::IntCC};
use cranelift_frontend::Switch;
use ergodic_ir::{Expr, FaultKind, LocalId, Place, PutPart, Site, Stmt, SwitchCase, TypeId};
use std::collections::HashSet;

/// Interval checks and jump tables pay from this number of cases on.
const SWITCH_CASES: usize = 3;

impl<'f> Fun<'f> {
    /// Generates statements; false if control never reaches their end.
    pub(crate) fn stmts(&mut self, stmts: &'f [Stmt]) -> Res<bool> {
        for stmt in stmts {
            if !self.stmt(stmt)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Statements, then a jump if control reaches their end.
    pub(crate) fn stmts_to(&mut self, stmts: &'f [Stmt], end: Block) -> Res<bool> {
        let reached = self.stmts(stmts)?;
        if reached {
            self.jump(end);
        }
        Ok(reached)
    }

    fn stmt(&mut self, stmt: &'f Stmt) -> Res<bool> {
        match stmt {
            Stmt::Assign { to, value, site } => {
                let value = self.expr(value)?;
                let spot = self.place(to)?;
                let raw = self.encode(value, to.ty, *site)?;
                self.store_raw(spot, to.ty, raw);
                if self.undefinable(to.ty) {
                    self.flow.learn(Key::Nonzero, raw);
                }
            }
            Stmt::Copy { to, from, site } => {
                let from_spot = self.place(from)?;
                let to_spot = self.place(to)?;
                self.transfer((to_spot, to.ty), (from_spot, from.ty), *site)?;
            }
            Stmt::Undefine(place) => {
                let spot = self.place(place)?;
                self.undefine(spot, place.ty);
            }
            Stmt::Clear(place) => {
                let spot = self.place(place)?;
                self.clear(spot, place.ty)?;
            }
            Stmt::Bind { local, place } => self.bind(*local, place)?,
            Stmt::Let { local, value } => {
                let value = self.expr(value)?;
                let variable = self.bound_variable(*local)?;
                self.b.def_var(variable, value.v);
            }
            Stmt::Fresh(local) => self.fresh(*local),
            Stmt::If { branches, other } => return self.conditional(branches, other),
            Stmt::Switch { subject, cases, other } => return self.switch(subject, cases, other),
            Stmt::For { var, over, body } => {
                if self.unrolled_for(*var, over, body)? {
                    return Ok(true);
                }
                let looping = self.begin_loop(*var, over)?;
                self.stmts_to(body, looping.next)?;
                self.end_loop(&looping);
            }
            Stmt::While { cond, body, site } => self.while_loop(cond, body, *site)?,
            Stmt::Call { proc, args, site } => {
                self.call(*proc, args, *site)?;
            }
            Stmt::Return { value, site } => {
                self.leave(value.as_ref(), *site)?;
                return Ok(false);
            }
            Stmt::Assert { cond, site } => {
                let (yes, no) = (self.b.create_block(), self.b.create_block());
                self.branch(cond, yes, no)?;
                self.b.set_cold_block(no);
                self.enter(no);
                self.fail(FaultKind::Assertion, *site);
                self.enter(yes);
            }
            Stmt::Assume { cond } => {
                let yes = self.b.create_block();
                let drop = self.drop;
                self.branch(cond, yes, drop)?;
                self.enter(yes);
            }
            Stmt::Cover { cond, property } => {
                let (yes, end) = (self.b.create_block(), self.b.create_block());
                self.branch(cond, yes, end)?;
                self.enter(yes);
                if let Some(goal) = self.unit.goals.get(*property as usize).copied().flatten() {
                    self.count_goal(goal);
                }
                self.jump(end);
                self.enter(end);
            }
            Stmt::Error { site } => {
                self.fail(FaultKind::Error, *site);
                return Ok(false);
            }
            Stmt::Put(parts) => {
                for part in parts {
                    match part {
                        PutPart::Text(_) => {}
                        PutPart::Place { place, .. } => {
                            self.place(place)?;
                        }
                        PutPart::Value { value, .. } => {
                            self.expr(value)?;
                        }
                    }
                }
            }
            Stmt::Add { set, from, site } => {
                let from_spot = self.place(from)?;
                let (slot, element, elem) = self.empty_slot(set, *site)?;
                self.transfer((Spot::Mem(element), elem), (from_spot, from.ty), *site)?;
                let one = self.int(1);
                self.store(slot, 1, one);
            }
            Stmt::AddValue { set, value, site } => {
                let value = self.expr(value)?;
                let (slot, element, elem) = self.empty_slot(set, *site)?;
                let raw = self.encode(value, elem, *site)?;
                self.store_raw(Spot::Mem(element), elem, raw);
                let one = self.int(1);
                self.store(slot, 1, one);
            }
            Stmt::Remove { set, slot, site } => {
                let addr = self.memory_place(set)?;
                let slot = self.expr(slot)?;
                let at = self.filled_slot(addr, set.ty, slot, *site)?;
                self.zero(at, self.unit.layout.stride(set.ty));
            }
            Stmt::RemoveWhere { set, var, cond } => {
                let addr = self.memory_place(set)?;
                let variable = self.bound_variable(*var)?;
                let looping = self.begin_slots(variable, addr, set.ty)?;
                let yes = self.b.create_block();
                self.branch(cond, yes, looping.next)?;
                self.enter(yes);
                let v = self.b.use_var(variable);
                let range = self.uses.known[var.0 as usize].range;
                let stride = self.unit.layout.stride(set.ty);
                let at = self.advance(addr, Val { v, range, ty: None }, 0, stride);
                self.zero(at, stride);
                self.jump(looping.next);
                self.end_loop(&looping);
            }
        }
        Ok(true)
    }

    fn bind(&mut self, local: LocalId, place: &'f Place) -> Res<()> {
        let Spot::Mem(addr) = self.place(place)? else {
            return Err(JitError::new("a reference to a scalar local that has no address"));
        };
        let i = local.0 as usize;
        if self.uses.rebound[i] {
            // Bound in several places: pointer and whole position in variables.
            let (pointer, position) = match self.locals[i] {
                Loc::Ref {
                    base: Base::Pointer(pointer), dynamic: Some(Dynamic { v, .. }), ..
                } => (pointer, v),
                _ => (self.b.declare_var(I64), self.b.declare_var(I64)),
            };
            let base = match addr.base {
                Base::Global(_) => match (self.source, &self.changed) {
                    (Some(source), None) => source,
                    _ => self.state,
                },
                other => self.target(other),
            };
            let at = self.position(addr);
            self.b.def_var(pointer, base);
            self.b.def_var(position, at);
            self.locals[i] = Loc::Ref {
                base: Base::Pointer(pointer),
                konst: 0,
                dynamic: Some(Dynamic { v: position, bytes: false, grain: 1, origin: 0 }),
                span: ALL,
            };
            return Ok(());
        }
        let dynamic = addr.dynamic.map(|d| {
            let variable = self.b.declare_var(I64);
            self.b.def_var(variable, d.v);
            Dynamic { v: variable, bytes: d.bytes, grain: d.grain, origin: d.origin }
        });
        let span = addr.extent(self.unit.layout.bits(place.ty));
        self.locals[i] = Loc::Ref { base: addr.base, konst: addr.konst, dynamic, span };
        Ok(())
    }

    fn conditional(&mut self, branches: &'f [(Expr, Vec<Stmt>)], other: &'f [Stmt]) -> Res<bool> {
        let end = self.b.create_block();
        let mut reached = false;
        for (cond, body) in branches {
            let (yes, no) = (self.b.create_block(), self.b.create_block());
            self.branch(cond, yes, no)?;
            self.enter(yes);
            reached |= self.stmts_to(body, end)?;
            self.enter(no);
        }
        reached |= self.stmts_to(other, end)?;
        if reached {
            self.enter(end);
        }
        Ok(reached)
    }

    fn switch(
        &mut self,
        subject: &'f Expr,
        cases: &'f [SwitchCase],
        other: &'f [Stmt],
    ) -> Res<bool> {
        let subject = self.expr(subject)?;
        let end = self.b.create_block();
        let bodies: Vec<Block> = cases.iter().map(|_| self.b.create_block()).collect();
        let default = self.b.create_block();
        let mut constants = HashSet::new();
        let simple = cases
            .iter()
            .flat_map(|case| &case.values)
            .all(|value| matches!(value, Expr::Int(code) if constants.insert(*code)));
        if simple && constants.len() >= SWITCH_CASES {
            let mut table = Switch::new();
            for (case, body) in cases.iter().zip(&bodies) {
                for value in &case.values {
                    if let Expr::Int(code) = value {
                        table.set_entry(u128::from(*code as u64), *body);
                    }
                }
            }
            bodies.iter().chain([&default]).for_each(|to| self.flow.edge(*to));
            table.emit(&mut self.b, subject.v, default);
        } else {
            for (case, body) in cases.iter().zip(&bodies) {
                for value in &case.values {
                    let value = self.expr(value)?;
                    let equal = self.b.ins().icmp(IntCC::Equal, value.v, subject.v);
                    let next = self.b.create_block();
                    self.brif(equal, *body, next);
                    self.enter(next);
                }
            }
            self.jump(default);
        }
        let mut reached = false;
        for (case, body) in cases.iter().zip(&bodies) {
            self.enter(*body);
            reached |= self.stmts_to(&case.body, end)?;
        }
        self.enter(default);
        reached |= self.stmts_to(other, end)?;
        if reached {
            self.enter(end);
        }
        Ok(reached)
    }

    fn while_loop(&mut self, cond: &'f Expr, body: &'f [Stmt], site: Site) -> Res<()> {
        let rounds = self.b.declare_var(I64);
        let zero = self.int(0);
        self.b.def_var(rounds, zero);
        let (head, yes, exit) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.jump(head);
        self.enter_loop(head);
        self.branch(cond, yes, exit)?;
        self.enter(yes);
        let done = self.b.use_var(rounds);
        let limit = self.unit.program.loop_limit as i64;
        let bad = self.icmp_imm(IntCC::Equal, done, limit);
        self.check_zero(bad, FaultKind::LoopLimit, site);
        let done = self.b.ins().iadd_imm_s(done, 1);
        self.b.def_var(rounds, done);
        self.stmts_to(body, head)?;
        self.b.seal_block(head);
        self.enter(exit);
        Ok(())
    }

    fn leave(&mut self, value: Option<&'f Expr>, site: Site) -> Res<()> {
        match self.leave {
            Leave::Action(done) => self.jump(done),
            Leave::Property => return Err(JitError::new("a property returns")),
            Leave::Proc { result, mark } => {
                let mut v = self.int(0);
                match (value, result) {
                    (Some(value), Some(ty)) => {
                        let value = self.expr(value)?;
                        let raw = self.encode(value, ty, site)?;
                        v = if self.scalar(ty).is_some() {
                            value.v // encoding and decoding a scalar gives it back
                        } else {
                            self.decode(raw, ty)?.v
                        };
                    }
                    (_, None) => {}
                    (None, Some(_)) => return self.no_result(),
                }
                if let Some(mark) = mark {
                    let args = [self.ctx, mark];
                    self.helper(runtime::arena_release as *const u8, &args, false);
                }
                let status = self.int(OK as i64);
                self.b.ins().return_(&[status, v]);
            }
        }
        Ok(())
    }

    /// A function returns without a result.
    fn no_result(&mut self) -> Res<()> {
        let what = self.end_fault;
        let (what, zero) = (self.int(what), self.int(0));
        let args = self.tagged(&[what, zero]);
        let fault = self.fault;
        self.b.ins().jump(fault, &args);
        Ok(())
    }

    /// The first empty slot of a multiset, the element in it, and its type.
    fn empty_slot(&mut self, set: &'f Place, site: Site) -> Res<(Addr, Addr, TypeId)> {
        let addr = self.memory_place(set)?;
        let (capacity, elem) = self.multiset_of(set.ty)?;
        let stride = self.unit.layout.stride(set.ty);
        // for slot in 0.. { if slot == capacity { fault } if empty { break } }
        let at = self.b.declare_var(I64);
        let zero = self.int(0);
        self.b.def_var(at, zero);
        let (head, next, found) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.jump(head);
        self.enter_loop(head);
        let slot = self.b.use_var(at);
        let bad = self.icmp_imm(IntCC::Equal, slot, i64::from(capacity));
        self.check_zero(bad, FaultKind::MultisetFull, site);
        let value = Val { v: slot, range: Range::FULL, ty: None };
        let slot_addr = self.advance(addr, value, 0, stride);
        let filled = self.load(slot_addr, 1);
        self.brif(filled, next, found);
        self.enter(next);
        let more = self.b.ins().iadd_imm_s(slot, 1);
        self.b.def_var(at, more);
        self.jump(head);
        self.b.seal_block(head);
        self.enter(found);
        let inside = self.unit.layout.slot_element(set.ty, &self.unit.program.types);
        Ok((slot_addr, Fun::plus(slot_addr, inside), elem))
    }
}
