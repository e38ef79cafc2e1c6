//! Execution of statements.

use crate::explain;
use crate::machine::{Blame, Eval, Machine, Stop};
use crate::memory::Address;
use ergodic_ir::{
    Expr, FaultKind, Iter, LocalId, Place, PropertyKind, PutPart, Site, Stmt, SwitchCase, TypeId,
    bits, show,
};

/// How statements end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// At their end.
    Next,
    /// By a return, with the result of a function.
    Return(Option<i64>),
}

impl<'a> Machine<'a, '_> {
    /// Executes statements up to the end or a return.
    pub(crate) fn run(&mut self, body: &'a [Stmt]) -> Eval<Flow> {
        for stmt in body {
            let flow = self.exec(stmt)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    /// Statements that hold statements; the others never return from the body they are in.
    fn exec(&mut self, stmt: &'a Stmt) -> Eval<Flow> {
        match stmt {
            Stmt::If { branches, other } => {
                for (cond, body) in branches {
                    if self.truth(cond)? {
                        return self.run(body);
                    }
                }
                self.run(other)
            }
            Stmt::Switch { subject, cases, other } => self.switch(subject, cases, other),
            Stmt::For { var, over, body } => self.run_for(*var, over, body),
            Stmt::While { cond, body, site } => self.run_while(cond, body, *site),
            Stmt::Return { value, site } => self.run_return(value.as_ref(), *site),
            simple => {
                self.simple(simple)?;
                Ok(Flow::Next)
            }
        }
    }

    #[inline(never)]
    fn simple(&mut self, stmt: &'a Stmt) -> Eval<()> {
        match stmt {
            Stmt::Assign { to, value, site } => self.assign(to, value, *site),
            Stmt::Copy { to, from, site } => self.copy(to, from, *site),
            Stmt::Undefine(place) => {
                let at = self.resolve(place)?;
                self.undefine(at, place.ty);
                Ok(())
            }
            Stmt::Clear(place) => {
                let at = self.resolve(place)?;
                self.clear(at, place.ty);
                Ok(())
            }
            Stmt::Bind { local, place } => {
                let at = self.resolve(place)?;
                self.bind(self.frame, *local, at);
                Ok(())
            }
            Stmt::Let { local, value } => {
                let value = self.eval(value)?;
                self.set_bound(*local, value);
                Ok(())
            }
            Stmt::Fresh(local) => {
                let at = self.address(*local);
                self.undefine(at, self.frame.locals[local.0 as usize].ty);
                Ok(())
            }
            Stmt::Call { proc, args, site } => self.call(*proc, args, *site).map(|_| ()),
            Stmt::Assert { cond, site } => match self.truth(cond)? {
                true => Ok(()),
                false => Err(self.fault(FaultKind::Assertion, *site, 0, Blame::Site)),
            },
            Stmt::Assume { cond } => match self.truth(cond)? {
                true => Ok(()),
                false => Err(Stop::Drop),
            },
            Stmt::Cover { cond, property } => self.cover(cond, *property),
            Stmt::Error { site } => Err(self.fault(FaultKind::Error, *site, 0, Blame::Site)),
            Stmt::Put(parts) => parts.iter().try_for_each(|part| self.put(part)),
            Stmt::Add { set, from, site } => self.add(set, from, *site),
            Stmt::AddValue { set, value, site } => self.add_value(set, value, *site),
            Stmt::Remove { set, slot, site } => self.remove(set, slot, *site),
            Stmt::RemoveWhere { set, var, cond } => self.remove_where(set, *var, cond),
            Stmt::If { .. }
            | Stmt::Switch { .. }
            | Stmt::For { .. }
            | Stmt::While { .. }
            | Stmt::Return { .. } => unreachable!("executed by exec"),
        }
    }

    #[inline(never)]
    fn switch(
        &mut self,
        subject: &'a Expr,
        cases: &'a [SwitchCase],
        other: &'a [Stmt],
    ) -> Eval<Flow> {
        let subject = self.eval(subject)?;
        for case in cases {
            for value in &case.values {
                if self.eval(value)? == subject {
                    return self.run(&case.body);
                }
            }
        }
        self.run(other)
    }

    #[inline(never)]
    fn run_for(&mut self, var: LocalId, over: &'a Iter, body: &'a [Stmt]) -> Eval<Flow> {
        let mut values = self.values(over)?;
        while let Some(value) = self.next(&mut values) {
            self.set_bound(var, value);
            let flow = self.run(body)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    #[inline(never)]
    fn run_while(&mut self, cond: &'a Expr, body: &'a [Stmt], site: Site) -> Eval<Flow> {
        let mut rounds = 0;
        while self.truth(cond)? {
            if rounds == self.program.loop_limit {
                return Err(self.fault(FaultKind::LoopLimit, site, 0, Blame::Site));
            }
            rounds += 1;
            let flow = self.run(body)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    /// A result is checked, and a real rounded, as if it were stored.
    #[inline(never)]
    fn run_return(&mut self, value: Option<&'a Expr>, site: Site) -> Eval<Flow> {
        let (Some(expr), Some(ty)) = (value, self.frame.result) else {
            return Ok(Flow::Return(None));
        };
        let value = self.eval(expr)?;
        match self.encode(ty, value) {
            Ok(raw) => Ok(Flow::Return(self.decode(ty, raw))),
            Err(kind) => Err(self.fault(kind, site, value, Blame::Result(ty))),
        }
    }

    #[inline(never)]
    fn assign(&mut self, to: &'a Place, value: &'a Expr, site: Site) -> Eval<()> {
        let value = self.eval(value)?;
        let at = self.resolve(to)?;
        self.store(at, to.ty, value, site, Blame::Store(to.ty))
    }

    #[inline(never)]
    fn copy(&mut self, to: &'a Place, from: &'a Place, site: Site) -> Eval<()> {
        let from_at = self.resolve(from)?;
        let name = self.place_name();
        let to_at = self.resolve(to)?;
        self.transfer((to_at, to.ty), (from_at, from.ty), name, site, Blame::Store(to.ty))
    }

    #[inline(never)]
    fn cover(&mut self, cond: &'a Expr, property: u32) -> Eval<()> {
        if self.truth(cond)? {
            debug_assert_eq!(
                self.program.properties[property as usize].kind,
                PropertyKind::Cover,
                "verified programs cover cover goals"
            );
            if let Some(goal) = self.code.goal_of(property) {
                self.mem.goals[goal] += 1;
            }
        }
        Ok(())
    }

    /// The parts are evaluated always, printed only if somebody reads it.
    #[inline(never)]
    fn put(&mut self, part: &'a PutPart) -> Eval<()> {
        match part {
            PutPart::Text(text) => self.print(|_| text.clone()),
            PutPart::Place { place, name } => {
                let at = self.resolve(place)?;
                self.print(|m| {
                    let (words, mut leaves) = (m.mem.words(at.memory), Vec::new());
                    let (program, layout) = (m.program, m.layout);
                    show::value_leaves(program, layout, words, at.bit, place.ty, name, &mut leaves);
                    let line = |leaf: show::Leaf| {
                        let value = leaf.value.as_deref().unwrap_or(show::UNDEFINED);
                        format!("{}:{value}\n", leaf.name)
                    };
                    leaves.into_iter().map(line).collect()
                });
            }
            PutPart::Value { value, ty } => {
                let code = self.eval(value)?;
                self.print(|m| match ty {
                    Some(ty) => explain::code(m.program, *ty, code),
                    None if m.is_real(value) => show::real(f64::from_bits(code as u64)),
                    None => code.to_string(),
                });
            }
        }
        Ok(())
    }

    fn print(&mut self, text: impl FnOnce(&Self) -> String) {
        if self.mem.explain.is_some() {
            let text = text(self);
            if let Some(explain) = &mut self.mem.explain {
                explain.printed.push_str(&text);
            }
        }
    }

    /// The first empty slot of a multiset.
    fn empty_slot(&mut self, set: Address, ty: TypeId, site: Site) -> Eval<Address> {
        let (capacity, _) = self.multiset(ty);
        match (0..i64::from(capacity)).find(|slot| !self.filled(set, ty, *slot)) {
            Some(slot) => Ok(set.plus(slot as usize * self.layout.stride(ty))),
            None => Err(self.fault(FaultKind::MultisetFull, site, 0, Blame::Place)),
        }
    }

    #[inline(never)]
    fn add(&mut self, set: &'a Place, from: &'a Place, site: Site) -> Eval<()> {
        let from_at = self.resolve(from)?;
        let name = self.place_name();
        let set_at = self.resolve(set)?;
        let slot = self.empty_slot(set_at, set.ty, site)?;
        let (_, elem) = self.multiset(set.ty);
        let to = slot.plus(self.layout.slot_element(set.ty, &self.program.types));
        self.transfer((to, elem), (from_at, from.ty), name, site, Blame::Store(elem))?;
        bits::write(self.mem.words_mut(slot.memory), slot.bit, 1, 1);
        Ok(())
    }

    #[inline(never)]
    fn add_value(&mut self, set: &'a Place, value: &'a Expr, site: Site) -> Eval<()> {
        let value = self.eval(value)?;
        let set_at = self.resolve(set)?;
        let slot = self.empty_slot(set_at, set.ty, site)?;
        let (_, elem) = self.multiset(set.ty);
        let to = slot.plus(self.layout.slot_element(set.ty, &self.program.types));
        self.store(to, elem, value, site, Blame::Store(elem))?;
        bits::write(self.mem.words_mut(slot.memory), slot.bit, 1, 1);
        Ok(())
    }

    #[inline(never)]
    fn remove(&mut self, set: &'a Place, slot: &'a Expr, site: Site) -> Eval<()> {
        let at = self.resolve(set)?;
        let name = self.place_name();
        let slot = self.eval(slot)?;
        if !self.filled(at, set.ty, slot) {
            self.set_place_name(name);
            return Err(self.fault(FaultKind::AbsentElement, site, slot, Blame::Place));
        }
        self.empty(at, set.ty, slot);
        Ok(())
    }

    #[inline(never)]
    fn remove_where(&mut self, set: &'a Place, var: LocalId, cond: &'a Expr) -> Eval<()> {
        let at = self.resolve(set)?;
        for slot in 0..i64::from(self.multiset(set.ty).0) {
            if self.filled(at, set.ty, slot) {
                self.set_bound(var, slot);
                if self.truth(cond)? {
                    self.empty(at, set.ty, slot);
                }
            }
        }
        Ok(())
    }

    /// Empties a slot.
    fn empty(&mut self, set: Address, ty: TypeId, slot: i64) {
        let stride = self.layout.stride(ty);
        let at = set.bit + slot as usize * stride;
        bits::zero(self.mem.words_mut(set.memory), at, stride);
    }
}
