//! Expressions: the values that they can have, and what is read for them.

use super::values::{binary, unary};
use super::{Complex, Env, Frame, Known, MAX_ROUNDS, Name, Region, Values, Walk, Walked};
use ergodic_ir::{Arg, Expr, Iter, LocalId, Pass, Place, ProcId, Type, range_len};

/// What a loop or quantifier runs over.
pub(super) enum Rounds {
    /// These values, in order.
    Known(Vec<i64>),
    /// Some of these, some number of times.
    Unknown(Values),
}

/// An argument of a call.
enum Passed {
    Known(Known),
    Place(Region),
}

impl<'a> Walk<'a> {
    /// Evaluates an expression.
    pub(super) fn expr(&mut self, expr: &'a Expr) -> Walked<Values> {
        self.deeper(|walk| walk.expr_here(expr))
    }

    fn expr_here(&mut self, expr: &'a Expr) -> Walked<Values> {
        Ok(match expr {
            Expr::Int(code) => Values::one(*code),
            Expr::Real(_) => Values::Any,
            Expr::Bound(local) => match self.env.names.get(&(self.frame.number, local.0)) {
                Some(Name::Value(values)) => values.clone(),
                _ => Values::Any,
            },
            Expr::Read { place, .. } => {
                let (region, ty) = self.place(place)?;
                self.note_read(&region)?;
                self.held(&region, ty).values
            }
            Expr::Unary { op, arg, .. } => unary(*op, &self.expr(arg)?),
            Expr::Binary { op, left, right, .. } => {
                let left = self.expr(left)?;
                let right = self.expr(right)?;
                binary(*op, &left, &right)
            }
            Expr::And(list) => self.chain(list, true)?,
            Expr::Or(list) => self.chain(list, false)?,
            Expr::If { cond, then, other } => self.choice(cond, then, other)?,
            Expr::IsUndefined(place) => self.is_undefined(place)?,
            Expr::IsMember { value, ty } => {
                let values = self.expr(value)?;
                match (self.ty(*ty)?, values) {
                    (Type::Scalar(scalar), Values::Among(codes)) => {
                        Values::of(codes.iter().map(|c| i64::from(scalar.contains(*c))).collect())
                    }
                    _ => Values::truth(),
                }
            }
            Expr::Same { left, right, .. } => {
                for place in [left, right] {
                    let (region, _) = self.place(place)?;
                    self.note_read(&region)?;
                }
                Values::truth()
            }
            Expr::Quantified { all, var, over, body } => self.quantified(*all, *var, over, body)?,
            Expr::Count { set, var, body } => self.count(set, *var, body)?,
            Expr::Call { proc, args, .. } => self.call(*proc, args)?,
            Expr::Block { body, value } => {
                self.stmts(body)?;
                self.expr(value)?
            }
        })
    }

    /// `And` (with `goes_on` true) and `Or` (with false): the parts are evaluated as long as each is
    /// `goes_on`, with what that says about the state known in the next.
    fn chain(&mut self, list: &'a [Expr], goes_on: bool) -> Walked<Values> {
        let mut stopped = Env::nowhere();
        let mut may_stop = false;
        for part in list {
            let values = self.expr(part)?;
            let is = |wanted: bool| move |code: i64| (code != 0) == wanted;
            if values.may(is(!goes_on)) {
                may_stop = true;
                stopped = std::mem::replace(&mut stopped, Env::nowhere()).join(self.fork()?);
            }
            if !values.may(is(goes_on)) {
                self.go_on(stopped);
                return Ok(Values::one(i64::from(!goes_on)));
            }
            self.learn(part, goes_on)?;
        }
        self.merge(stopped)?;
        Ok(if may_stop { Values::truth() } else { Values::one(i64::from(goes_on)) })
    }

    fn choice(&mut self, cond: &'a Expr, then: &'a Expr, other: &'a Expr) -> Walked<Values> {
        let decided = self.expr(cond)?;
        let before = self.fork()?;
        let mut values = Values::Among(Vec::new());
        let mut after = Env::nowhere();
        for (truth, branch) in [(true, then), (false, other)] {
            if decided.may(|code| (code != 0) == truth) {
                self.env = before.clone();
                self.learn(cond, truth)?;
                values = values.union(self.expr(branch)?);
                after = after.join(std::mem::take(&mut self.env));
            }
        }
        self.env = before;
        self.go_on(after);
        Ok(values)
    }

    fn is_undefined(&mut self, place: &'a Place) -> Walked<Values> {
        let (region, ty) = self.place(place)?;
        self.note_read(&region)?;
        if !matches!(self.ty(ty)?, Type::Scalar(_)) {
            return Ok(Values::truth());
        }
        Ok(match self.held(&region, ty) {
            Known { undefined: false, .. } => Values::one(0),
            Known { values, .. } if !values.may(|_| true) => Values::one(1),
            _ => Values::truth(),
        })
    }

    /// What a loop or quantifier runs over; evaluates its bounds.
    pub(super) fn rounds(&mut self, over: &'a Iter) -> Walked<Rounds> {
        match over {
            Iter::Type(ty) => match self.ty(*ty)? {
                Type::Scalar(scalar) if scalar.count() <= MAX_ROUNDS => {
                    let codes = (0..scalar.count()).filter_map(|i| scalar.code(i));
                    Ok(Rounds::Known(codes.collect()))
                }
                _ => Ok(Rounds::Unknown(Values::of_type(&self.program.types, *ty))),
            },
            Iter::Slots(set) => {
                let (region, _) = self.place(set)?;
                self.note_read(&region)?;
                Ok(Rounds::Unknown(Values::Any))
            }
            Iter::Range { from, to, step, .. } => {
                let (from, to) = (self.expr(from)?, self.expr(to)?);
                let step = self.expr(step)?;
                Ok(range_rounds(&from, &to, &step))
            }
        }
    }

    fn quantified(
        &mut self,
        all: bool,
        var: LocalId,
        over: &'a Iter,
        body: &'a Expr,
    ) -> Walked<Values> {
        let mut may_stop = false;
        match self.rounds(over)? {
            Rounds::Known(codes) => {
                let mut stopped = Env::nowhere();
                for code in codes {
                    self.name(var.0, Name::Value(Values::one(code)));
                    let values = self.expr(body)?;
                    if values.may(|code| (code != 0) != all) {
                        may_stop = true;
                        stopped = stopped.join(self.fork()?);
                    }
                    if !values.may(|code| (code != 0) == all) {
                        self.go_on(stopped);
                        return Ok(Values::one(i64::from(!all)));
                    }
                }
                self.merge(stopped)?;
            }
            Rounds::Unknown(values) => {
                may_stop = true;
                self.repeat(|walk| {
                    walk.name(var.0, Name::Value(values.clone()));
                    walk.expr(body).map(drop)
                })?;
            }
        }
        Ok(if may_stop { Values::truth() } else { Values::one(i64::from(all)) })
    }

    fn count(&mut self, set: &'a Place, var: LocalId, body: &'a Expr) -> Walked<Values> {
        let (region, ty) = self.place(set)?;
        self.note_read(&region)?;
        let Type::Multiset { capacity, .. } = self.ty(ty)? else { return Err(Complex) };
        self.repeat(|walk| {
            walk.name(var.0, Name::Value(Values::Any));
            walk.expr(body).map(drop)
        })?;
        Ok(Values::series(0, 1, u64::from(*capacity) + 1))
    }

    /// Something that is done any number of times. Nothing is known about cells before and after
    /// any round; names are followed until they stand for the same in every round.
    pub(super) fn repeat(&mut self, mut round: impl FnMut(&mut Self) -> Walked<()>) -> Walked<()> {
        for _ in 0..4 {
            self.env.cells.clear();
            let before = self.fork()?;
            round(self)?;
            let mut after = std::mem::replace(&mut self.env, Env::nowhere());
            after.cells.clear();
            self.env = before.clone();
            self.merge(after)?;
            if self.env.names == before.names {
                return Ok(());
            }
        }
        Err(Complex)
    }

    /// Follows a call.
    pub(super) fn call(&mut self, id: ProcId, args: &'a [Arg]) -> Walked<Values> {
        self.deeper(|walk| walk.call_here(id, args))
    }

    fn call_here(&mut self, id: ProcId, args: &'a [Arg]) -> Walked<Values> {
        let program = self.program;
        let proc = program.procs.get(id.0 as usize).ok_or(Complex)?;
        let passed: Vec<Passed> = args.iter().map(|arg| self.pass(arg)).collect::<Walked<_>>()?;
        let number = self.frames;
        self.frames += 1;
        self.place_storage(number, &proc.locals);
        let callee = Frame::new(number, &proc.locals, proc.result);
        let caller = std::mem::replace(&mut self.frame, callee);
        for (i, (passed, pass)) in passed.into_iter().zip(&proc.params).enumerate() {
            match (passed, pass) {
                (Passed::Place(region), Pass::Ref) => self.name(i as u32, Name::Place(region)),
                (Passed::Known(known), Pass::Value) => {
                    let Some(Name::Place(region)) = self.env.names.get(&(number, i as u32)) else {
                        return Err(Complex);
                    };
                    let (region, ty) = (region.clone(), proc.locals[i].ty);
                    self.put(&region, ty, known)?;
                }
                _ => return Err(Complex),
            }
        }
        self.stmts(&proc.body)?;
        let callee = std::mem::replace(&mut self.frame, caller);
        self.merge(callee.exit)?;
        self.env.names.retain(|(frame, _), _| *frame != number);
        Ok(match proc.result {
            Some(ty) => callee.returned.within(&program.types, ty),
            None => Values::Any,
        })
    }

    fn pass(&mut self, arg: &'a Arg) -> Walked<Passed> {
        Ok(match arg {
            Arg::Value { value, .. } => {
                Passed::Known(Known { values: self.expr(value)?, undefined: false })
            }
            Arg::Copy { from, .. } => {
                let (region, ty) = self.place(from)?;
                self.note_read(&region)?;
                Passed::Known(self.held(&region, ty))
            }
            Arg::Ref(place) => Passed::Place(self.place(place)?.0),
        })
    }
}

fn range_rounds(from: &Values, to: &Values, step: &Values) -> Rounds {
    if let (Some(from), Some(to), Some(step)) = (from.single(), to.single(), step.single()) {
        let count = range_len(from, to, step);
        if count <= MAX_ROUNDS {
            let at = |i: u64| from.wrapping_add(step.wrapping_mul(i as i64));
            return Rounds::Known((0..count).map(at).collect());
        }
    }
    let values = match (from.hull(), to.hull(), step.hull()) {
        (Some(from), Some(to), Some(step)) if step.0 > 0 => {
            Values::series(from.0, 1, range_len(from.0, to.1, 1))
        }
        (Some(from), Some(to), Some(step)) if step.1 < 0 => {
            Values::series(to.0, 1, range_len(to.0, from.1, 1))
        }
        _ => Values::Any,
    };
    Rounds::Unknown(values)
}
