//! Random expressions.

use super::super::check::{constant, is_scalar};
use super::super::model::{BOOLEAN, BinOp, Binder, Domain, Expr, Place, Type};
use super::{Entry, Random};

impl Random {
    /// A place of a type that may be read without fear, or in a risky model with some.
    fn readable(&mut self, ty: &str) -> Option<Place> {
        // In `x := y` the tools disagree about an undefined `y`.
        let fear = !self.risk(10) || !self.full();
        let found = self.place(|_, e, t| t == ty && !(fear && e.shaky));
        found.map(|(place, _)| place)
    }

    /// A place of any range type, or a name bound to integers.
    fn readable_int(&mut self) -> Option<Expr> {
        let ints: Vec<String> =
            self.scope.iter().filter(|e| e.ty.is_none()).map(|e| e.name.clone()).collect();
        if !ints.is_empty() && self.rng.chance(40) {
            return self.rng.pick(&ints).map(|n| Expr::name(n));
        }
        let fear = !self.risk(10);
        let found = self.place(|r, e, t| is_range(r, t) && !(fear && e.shaky));
        found.map(|(place, _)| Expr::Read(place))
    }

    /// A shaky scalar behind a test: `isundefined(p) ? literal : p`.
    fn guarded(&mut self, want: impl Fn(&Random, &str) -> bool) -> Option<Expr> {
        let scalar = |r: &Random, e: &Entry, t: &str| e.shaky && is_scalar(&r.model, t);
        let (place, ty) = self.place(|r, e, t| scalar(r, e, t) && want(r, t))?;
        let literal = match self.model.type_named(&ty) {
            Some(Type::Union(_)) => return None,
            _ => self.literal(&ty)?,
        };
        let test = Expr::IsUndefined(place.clone());
        Some(Expr::Cond(Box::new(test), Box::new(literal), Box::new(Expr::Read(place))))
    }

    fn int_leaf(&mut self) -> Expr {
        if self.rng.chance(70)
            && let Some(e) = self.readable_int()
        {
            return e;
        }
        if self.rng.chance(30)
            && let Some((name, _)) = self.rng.pick(&self.model.consts)
        {
            return Expr::Const(name.clone());
        }
        Expr::Int(self.rng.between(-2, 4))
    }

    /// An integer of any size.
    pub(super) fn int_expr(&mut self, depth: usize) -> Expr {
        if depth == 0 {
            return self.int_leaf();
        }
        let d = depth - 1;
        let e = match self.rng.weighted(&[6, 5, 4, 2, 3, 2, 2, 2, 1]) {
            0 => return self.int_leaf(),
            1 => Expr::binary(BinOp::Add, self.int_expr(d), self.int_expr(d)),
            2 => Expr::binary(BinOp::Sub, self.int_expr(d), self.int_expr(d)),
            3 => Expr::binary(BinOp::Mul, self.int_expr(d), self.int_leaf()),
            4 => self.division(d),
            5 => Expr::Neg(Box::new(self.int_expr(d))),
            6 => self.cond(|r| r.int_expr(d), d),
            7 => self.call_where(is_range).unwrap_or_else(|| self.int_leaf()),
            _ => self.count().or_else(|| self.guarded(is_range)).unwrap_or_else(|| self.int_leaf()),
        };
        // Compilers fold constants, each in its own way; leave them nothing to fold.
        match constant(&self.model, &e) {
            Some(n) => Expr::Int(n.clamp(-4, 4)),
            None => e,
        }
    }

    fn division(&mut self, depth: usize) -> Expr {
        let op = if self.rng.chance(60) { BinOp::Mod } else { BinOp::Div };
        let dividend = self.int_expr(depth);
        let divisor = if self.risk(35) {
            self.int_leaf()
        } else {
            Expr::Int(*self.rng.pick(&[2, 3, 2, -2]).expect("not empty"))
        };
        match constant(&self.model, &divisor) {
            Some(0) => Expr::binary(op, dividend, Expr::Int(2)),
            _ => Expr::binary(op, dividend, divisor),
        }
    }

    fn cond(&mut self, mut branch: impl FnMut(&mut Random) -> Expr, depth: usize) -> Expr {
        let test = self.bool_expr(depth);
        let (yes, no) = (branch(self), branch(self));
        Expr::Cond(Box::new(test), Box::new(yes), Box::new(no))
    }

    fn count(&mut self) -> Option<Expr> {
        let (multiset, cond, index) = self.element_condition()?;
        Some(Expr::Count { index, multiset, cond: Box::new(cond) })
    }

    /// A multiset, a condition about one of its elements, and the name of that element's index.
    pub(super) fn element_condition(&mut self) -> Option<(String, Expr, String)> {
        let bags: Vec<String> = self.model.vars.iter().map(|v| v.name.clone()).collect();
        let bags: Vec<String> =
            bags.into_iter().filter(|b| self.model.element_type(b).is_some()).collect();
        if !self.open || self.elements.len() > self.chosen.len() {
            return None;
        }
        let multiset = self.rng.pick(&bags)?.clone();
        let index = self.fresh("m");
        if self.rng.chance(35) {
            return Some((multiset, Expr::Bool(true), index));
        }
        self.elements.push((index.clone(), multiset.clone()));
        let cond = self.bool_expr(1);
        self.elements.pop();
        Some((multiset, cond, index))
    }

    /// A call of a pure function whose result type satisfies `want`.
    fn call_where(&mut self, want: impl Fn(&Random, &str) -> bool) -> Option<Expr> {
        if !self.open {
            return None;
        }
        let fit = |i: &usize| {
            let result = self.model.functions[*i].result.as_deref();
            self.signatures[*i].pure && result.is_some_and(|t| want(self, t))
        };
        let candidates: Vec<usize> = (0..self.signatures.len()).filter(fit).collect();
        let i = *self.rng.pick(&candidates)?;
        let args = self.arguments(i)?;
        Some(Expr::Call(self.model.functions[i].name.clone(), args))
    }

    /// Arguments for a function.
    pub(super) fn arguments(&mut self, i: usize) -> Option<Vec<Expr>> {
        let signature = self.signatures[i].clone();
        let params = self.model.functions[i].params.clone();
        let mut args = Vec::new();
        for (p, shaky) in params.iter().zip(signature.shaky) {
            let arg = if p.by_ref {
                let want =
                    |_: &Random, e: &Entry, t: &str| t == p.ty && e.writable && e.shaky == shaky;
                Expr::Read(self.place(want)?.0)
            } else if !is_scalar(&self.model, &p.ty) {
                Expr::Read(self.readable(&p.ty)?)
            } else if signature.pure || self.full() {
                self.safe_value(&p.ty, 1)?
            } else {
                self.closed(|r| r.safe_value(&p.ty, 1))?
            };
            args.push(arg);
        }
        Some(args)
    }

    /// Runs `f` while expressions may use bound names and literals only.
    pub(super) fn closed<T>(&mut self, f: impl FnOnce(&mut Random) -> T) -> T {
        let open = std::mem::replace(&mut self.open, false);
        let result = f(self);
        self.open = open;
        result
    }

    // ---- conditions ----

    fn bool_leaf(&mut self) -> Expr {
        match self.rng.weighted(&[3, 5, 1]) {
            0 => match self.readable(BOOLEAN) {
                Some(place) => Expr::Read(place),
                None => self.comparison(0),
            },
            1 => self.comparison(0),
            _ => Expr::Bool(self.rng.chance(70)),
        }
    }

    fn comparison(&mut self, depth: usize) -> Expr {
        if self.rng.chance(45)
            && let Some(e) = self.member_comparison()
        {
            return e;
        }
        let ops = [BinOp::Eq, BinOp::Ne, BinOp::Lt, BinOp::Le, BinOp::Gt, BinOp::Ge];
        let op = *self.rng.pick(&ops).expect("not empty");
        let (a, b) = (self.int_expr(depth), self.int_leaf());
        Expr::binary(op, a, b)
    }

    /// An equation between values of an enum, scalarset or union.
    fn member_comparison(&mut self) -> Option<Expr> {
        let fear = !self.risk(10);
        let (place, ty) =
            self.place(|r, e, t| is_scalar(&r.model, t) && !is_range(r, t) && !(fear && e.shaky))?;
        let members = match self.model.type_named(&ty) {
            Some(Type::Union(members)) => members.clone(),
            _ => Vec::new(),
        };
        if !members.is_empty() && self.rng.chance(30) {
            return Some(Expr::IsMember(place, self.pick_name(&members)));
        }
        let other = match self.rng.pick(&members) {
            Some(member) => self.rng.chance(70).then(|| member.clone()),
            None => None,
        };
        let other = self.safe_value(&other.unwrap_or(ty), 0)?;
        let op = if self.rng.chance(50) { BinOp::Eq } else { BinOp::Ne };
        Some(Expr::binary(op, Expr::Read(place), other))
    }

    /// A condition.
    pub(super) fn bool_expr(&mut self, depth: usize) -> Expr {
        if depth == 0 {
            return self.bool_leaf();
        }
        let d = depth - 1;
        match self.rng.weighted(&[5, 4, 3, 4, 2, 2, 3, 2, 1, 2]) {
            0 => self.bool_leaf(),
            1 => self.comparison(d),
            2 => Expr::binary(BinOp::And, self.bool_expr(d), self.bool_expr(d)),
            3 => Expr::binary(BinOp::Or, self.bool_expr(d), self.bool_expr(d)),
            4 => Expr::binary(BinOp::Implies, self.bool_expr(d), self.bool_expr(d)),
            5 => Expr::Not(Box::new(self.bool_expr(d))),
            6 => self.quantified(d),
            7 => self.shaky_condition(),
            8 => self.cond(|r| r.bool_expr(d), d),
            _ => self.call_where(|_, t| t == BOOLEAN).unwrap_or_else(|| self.bool_leaf()),
        }
    }

    fn quantified(&mut self, depth: usize) -> Expr {
        let height = self.scope.len();
        let binder = self.binder(true);
        let body = Box::new(self.bool_expr(depth));
        self.scope.truncate(height);
        Expr::Quant { all: self.rng.chance(40), binder, body }
    }

    /// A quantifier, its name already in scope. `for` loops do not run over unordered types.
    pub(super) fn binder(&mut self, unordered: bool) -> Binder {
        let name = self.fresh("i");
        if self.rng.chance(20) {
            let from = self.rng.between(-1, 1);
            let steps = self.rng.between(0, 2);
            let by = if self.rng.chance(70) { 1 } else { 2 };
            let by = if !unordered && self.rng.chance(20) { -by } else { by };
            self.enter(&name, None, false, false);
            let to = from + steps * by;
            return Binder { name, domain: Domain::Range { from, to, by } };
        }
        let types = self.type_names(|m, t| {
            let no_order = matches!(m.type_named(t), Some(Type::Scalarset(_) | Type::Union(_)));
            is_scalar(m, t) && (unordered || !no_order)
        });
        let ty = self.pick_name(&types);
        self.enter_bound(&name, Some(&ty));
        Binder { name, domain: Domain::Type(ty) }
    }

    /// A quantifier of a ruleset. rumur crashes on `ruleset i := 0 to 2`.
    pub(super) fn ruleset_binder(&mut self) -> Binder {
        loop {
            let height = self.scope.len();
            let binder = self.binder(true);
            if self.full() || matches!(binder.domain, Domain::Type(_)) {
                return binder;
            }
            self.scope.truncate(height);
        }
    }

    /// `isundefined` of a shaky place, alone or protecting a read.
    fn shaky_condition(&mut self) -> Expr {
        let found = self.place(|r, e, t| e.shaky && is_scalar(&r.model, t));
        let Some((place, ty)) = found else { return self.comparison(1) };
        let test = Expr::IsUndefined(place.clone());
        match self.safe_value(&ty, 0) {
            Some(value) if self.rng.chance(60) => {
                let same = Expr::binary(BinOp::Eq, Expr::Read(place), value);
                Expr::binary(BinOp::Or, test, same)
            }
            _ => test,
        }
    }

    // ---- values for a type ----

    /// A value to assign to a scalar type; nothing if only variables could provide one and none
    /// is in scope. In risky models it may lie outside the type.
    pub(super) fn value(&mut self, ty: &str, depth: usize) -> Option<Expr> {
        if is_range(self, ty) && self.risk(15) {
            let e = self.int_expr(depth.max(1));
            let bare = matches!(e, Expr::Read(_)) && !self.full();
            let folded = constant(&self.model, &e).is_some();
            return if folded || bare { self.literal(ty) } else { Some(e) };
        }
        self.safe_value(ty, depth)
    }

    /// A value that certainly belongs to a scalar type.
    pub(super) fn safe_value(&mut self, ty: &str, depth: usize) -> Option<Expr> {
        let fits = |e: &&Entry| e.bound && e.ty.as_deref() == Some(ty);
        let bound: Vec<String> = self.scope.iter().filter(fits).map(|e| e.name.clone()).collect();
        if self.rng.chance(40)
            && let Some(name) = self.rng.pick(&bound)
        {
            return Some(Expr::name(name));
        }
        match self.model.type_named(ty)?.clone() {
            Type::Boolean => Some(self.bool_expr(depth)),
            Type::Range(lo, hi) => Some(self.range_value(ty, lo, hi, depth)),
            Type::Enum(_) => match self.rng.weighted(&[5, 3, depth.min(1) * 2, depth.min(1)]) {
                1 => self.readable(ty).map(Expr::Read).or_else(|| self.literal(ty)),
                2 => {
                    let (a, b) = (self.literal(ty)?, self.safe_value(ty, depth - 1)?);
                    let test = self.bool_expr(depth - 1);
                    Some(Expr::Cond(Box::new(test), Box::new(a), Box::new(b)))
                }
                3 => self.call_where(|_, t| t == ty).or_else(|| self.guarded(|_, t| t == ty)),
                _ => None,
            }
            .or_else(|| self.literal(ty)),
            Type::Scalarset(_) => self.readable(ty).map(Expr::Read),
            Type::Union(members) => {
                let member = self.pick_name(&members);
                match self.rng.chance(30) {
                    true => self.readable(ty).map(Expr::Read),
                    false => self.safe_value(&member, 0),
                }
                .or_else(|| self.literal(ty))
            }
            _ => None,
        }
    }

    fn range_value(&mut self, ty: &str, lo: i64, hi: i64, depth: usize) -> Expr {
        let n = hi - lo + 1;
        let choice = self.rng.weighted(&[4, 2, depth.min(1) * 3, depth.min(1) * 4]);
        if choice == 1
            && let Some(place) = self.readable(ty)
        {
            return Expr::Read(place);
        }
        if choice < 2 {
            return Expr::Int(self.rng.between(lo, hi));
        }
        let e = self.int_expr(depth - 1);
        if constant(&self.model, &e).is_some() {
            return Expr::Int(self.rng.between(lo, hi));
        }
        let step = Expr::binary(BinOp::Add, e, Expr::Int(self.rng.between(1, 2)));
        if choice == 2 {
            let above = Expr::binary(BinOp::Ge, step.clone(), Expr::Int(lo));
            let below = Expr::binary(BinOp::Le, step.clone(), Expr::Int(hi));
            let test = Expr::binary(BinOp::And, above, below);
            let literal = Expr::Int(self.rng.between(lo, hi));
            return Expr::Cond(Box::new(test), Box::new(step), Box::new(literal));
        }
        // ((e % n) + n) % n + lo
        let rest = Expr::binary(BinOp::Mod, step, Expr::Int(n));
        let positive = Expr::binary(BinOp::Add, rest, Expr::Int(n));
        let rest = Expr::binary(BinOp::Mod, positive, Expr::Int(n));
        if lo == 0 { rest } else { Expr::binary(BinOp::Add, rest, Expr::Int(lo)) }
    }
}

fn is_range(r: &Random, ty: &str) -> bool {
    matches!(r.model.type_named(ty), Some(Type::Range(..)))
}
