//! Statements.

use super::exprs::Rounds;
use super::{Complex, Env, Known, Name, Region, Values, Walk, Walked};
use ergodic_ir::{Expr, Iter, LocalId, Place, PutPart, ScalarType, Stmt, SwitchCase, Type, TypeId};

impl<'a> Walk<'a> {
    /// Does statements, as far as they are reached.
    pub(super) fn stmts(&mut self, stmts: &'a [Stmt]) -> Walked<()> {
        for stmt in stmts {
            if self.env.dead {
                break;
            }
            self.deeper(|walk| walk.stmt(stmt))?;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> Walked<()> {
        match stmt {
            Stmt::Assign { to, value, .. } => {
                let values = self.expr(value)?;
                let (region, ty) = self.place(to)?;
                self.put(&region, ty, Known { values, undefined: false })
            }
            Stmt::Copy { to, from, .. } => self.copy(to, from),
            Stmt::Undefine(place) => {
                let (region, ty) = self.place(place)?;
                self.undefine(&region, ty)
            }
            Stmt::Clear(place) => self.clear(place),
            Stmt::Bind { local, place } => {
                let (region, _) = self.place(place)?;
                self.name(local.0, Name::Place(region));
                Ok(())
            }
            Stmt::Let { local, value } => {
                let values = self.expr(value)?;
                self.name(local.0, Name::Value(values));
                Ok(())
            }
            Stmt::Fresh(local) => {
                let Some(Name::Place(region)) = self.env.names.get(&(self.frame.number, local.0))
                else {
                    return Err(Complex);
                };
                let (region, ty) =
                    (region.clone(), self.frame.locals.get(local.0 as usize).ok_or(Complex)?.ty);
                self.undefine(&region, ty)
            }
            Stmt::Call { proc, args, .. } => self.call(*proc, args).map(drop),
            Stmt::Return { value, .. } => self.leave(value.as_ref()),
            Stmt::Assert { cond, .. } | Stmt::Assume { cond } => {
                if !self.expr(cond)?.may(|code| code != 0) {
                    self.env.kill();
                }
                self.learn(cond, true)
            }
            Stmt::Cover { cond, .. } => self.expr(cond).map(drop),
            Stmt::Error { .. } => {
                self.env.kill();
                Ok(())
            }
            Stmt::Put(parts) => parts.iter().try_for_each(|part| self.print(part)),
            Stmt::Add { .. }
            | Stmt::AddValue { .. }
            | Stmt::Remove { .. }
            | Stmt::RemoveWhere { .. } => self.change(stmt),
            Stmt::If { branches, other } => self.branches(branches, other),
            Stmt::Switch { subject, cases, other } => self.switch(subject, cases, other),
            Stmt::For { var, over, body } => self.run_for(*var, over, body),
            Stmt::While { cond, body, .. } => self.run_while(cond, body),
        }
    }

    fn copy(&mut self, to: &'a Place, from: &'a Place) -> Walked<()> {
        let (source, from_ty) = self.place(from)?;
        self.note_read(&source)?;
        let (target, to_ty) = self.place(to)?;
        if let Type::Scalar(_) = self.ty(to_ty)? {
            let known = self.held(&source, from_ty);
            return self.put(&target, to_ty, known);
        }
        let before = self.fork()?;
        self.note_write(&target)?;
        self.copy_known(&source, &target, &before)
    }

    fn undefine(&mut self, region: &Region, ty: TypeId) -> Walked<()> {
        self.note_write(region)?;
        if let Type::Scalar(ScalarType { undefinable: true, .. }) = self.ty(ty)? {
            let known = Known { values: Values::Among(Vec::new()), undefined: true };
            self.set_cell(region, ty, known);
        }
        Ok(())
    }

    fn clear(&mut self, place: &'a Place) -> Walked<()> {
        let (region, ty) = self.place(place)?;
        self.note_write(&region)?;
        if let Type::Scalar(scalar) = self.ty(ty)?
            && let Some(first) = scalar.code(0)
        {
            self.set_cell(&region, ty, Known { values: Values::one(first), undefined: false });
        }
        Ok(())
    }

    /// A return.
    fn leave(&mut self, value: Option<&'a Expr>) -> Walked<()> {
        if let Some(value) = value {
            let values = self.expr(value)?;
            let so_far = std::mem::replace(&mut self.frame.returned, Values::Any);
            // A result is rounded to its type as if it were stored: reals are any value anyway.
            let values = match self.frame.result {
                Some(ty) => values.within(&self.program.types, ty),
                None => values,
            };
            self.frame.returned = so_far.union(values);
        }
        let here = self.fork()?;
        self.env.kill();
        let exit = std::mem::replace(&mut self.frame.exit, Env::nowhere());
        self.spend((here.size() + exit.size()) / 4)?;
        self.frame.exit = exit.join(here);
        Ok(())
    }

    fn print(&mut self, part: &'a PutPart) -> Walked<()> {
        match part {
            PutPart::Text(_) => Ok(()),
            PutPart::Place { place, .. } => {
                let (region, _) = self.place(place)?;
                self.note_read(&region)
            }
            PutPart::Value { value, .. } => self.expr(value).map(drop),
        }
    }

    /// The statements that change multisets: what becomes of one depends on what it holds.
    fn change(&mut self, stmt: &'a Stmt) -> Walked<()> {
        match stmt {
            Stmt::Add { set, from, .. } => {
                let (source, _) = self.place(from)?;
                self.note_read(&source)?;
                self.update(set, true)
            }
            Stmt::AddValue { set, value, .. } => {
                self.expr(value)?;
                self.update(set, true)
            }
            Stmt::Remove { set, slot, .. } => {
                self.expr(slot)?;
                self.update(set, false)
            }
            Stmt::RemoveWhere { set, var, cond } => {
                self.update(set, false)?;
                self.repeat(|walk| {
                    walk.name(var.0, Name::Value(Values::Any));
                    walk.expr(cond).map(drop)
                })
            }
            _ => Err(Complex),
        }
    }

    fn update(&mut self, set: &'a Place, adds: bool) -> Walked<()> {
        let (region, _) = self.place(set)?;
        self.note_read(&region)?;
        self.note_write(&region)?;
        if Walk::in_state(&region) {
            self.touched.adds |= adds;
            self.touched.removes |= !adds;
        }
        Ok(())
    }

    fn branches(&mut self, branches: &'a [(Expr, Vec<Stmt>)], other: &'a [Stmt]) -> Walked<()> {
        let mut after = Env::nowhere();
        for (cond, body) in branches {
            if self.env.dead {
                break;
            }
            let decided = self.expr(cond)?;
            if !decided.may(|code| code != 0) {
                continue;
            }
            let before = self.fork()?;
            self.learn(cond, true)?;
            self.stmts(body)?;
            after = after.join(std::mem::replace(&mut self.env, before));
            if decided.may(|code| code == 0) {
                self.learn(cond, false)?;
            } else {
                self.env.kill();
            }
        }
        self.stmts(other)?;
        self.merge(after)
    }

    fn switch(
        &mut self,
        subject: &'a Expr,
        cases: &'a [SwitchCase],
        other: &'a [Stmt],
    ) -> Walked<()> {
        let mut left = self.expr(subject)?;
        let mut after = Env::nowhere();
        for case in cases {
            // The values of a case are tried in order; what none of them can be is left for the next.
            let mut here = Values::Among(Vec::new());
            for value in &case.values {
                let values = self.expr(value)?;
                here = here.union(left.clone().and(&values));
                if let Some(code) = values.single() {
                    left = left.keep(|it| it != code);
                }
            }
            if !here.may(|_| true) {
                continue;
            }
            let before = self.fork()?;
            self.limit_to(subject, &here)?;
            self.stmts(&case.body)?;
            after = after.join(std::mem::replace(&mut self.env, before));
        }
        if left.may(|_| true) {
            self.limit_to(subject, &left)?;
            self.stmts(other)?;
        } else {
            self.env.kill();
        }
        self.merge(after)
    }

    fn run_for(&mut self, var: LocalId, over: &'a Iter, body: &'a [Stmt]) -> Walked<()> {
        match self.rounds(over)? {
            Rounds::Known(codes) => {
                for code in codes {
                    if self.env.dead {
                        break;
                    }
                    self.name(var.0, Name::Value(Values::one(code)));
                    self.stmts(body)?;
                }
                Ok(())
            }
            Rounds::Unknown(values) => self.repeat(|walk| {
                walk.name(var.0, Name::Value(values.clone()));
                walk.stmts(body)
            }),
        }
    }

    fn run_while(&mut self, cond: &'a Expr, body: &'a [Stmt]) -> Walked<()> {
        if !self.expr(cond)?.may(|code| code != 0) {
            return Ok(());
        }
        self.repeat(|walk| {
            walk.expr(cond)?;
            walk.learn(cond, true)?;
            walk.stmts(body)
        })?;
        // The loop ends after the condition was evaluated once more.
        self.expr(cond)?;
        self.learn(cond, false)
    }
}
