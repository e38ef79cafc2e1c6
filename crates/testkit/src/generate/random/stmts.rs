//! Random statements.

use super::super::check::{clearable, is_scalar};
use super::super::model::{
    BOOLEAN, BinOp, Binder, Case, Domain, Expr, Place, Step, Stmt, Type, Var,
};
use super::{Entry, Random};

impl Random {
    /// Some statements in a row; `locals` receives the counters of loops.
    pub(super) fn block(&mut self, depth: usize, locals: &mut Vec<Var>) -> Vec<Stmt> {
        let n = if self.rng.chance(40) { 1 } else { 1 + self.rng.below(self.size.stmts) };
        let mut body = Vec::new();
        for _ in 0..n {
            let some = self.stmt(depth, locals);
            body.extend(some);
        }
        body
    }

    fn stmt(&mut self, depth: usize, locals: &mut Vec<Var>) -> Vec<Stmt> {
        let nest = depth.min(1);
        let weights = [20, 5 * nest, 3 * nest, 3 * nest, 2 * nest, 2 * nest, 2, 4, 4, 3, 2, 3];
        let made = match self.rng.weighted(&weights) {
            0 => None,
            1 => Some(self.if_stmt(depth - 1, locals)),
            2 => self.switch(depth - 1, locals),
            3 => Some(self.for_stmt(depth - 1, locals)),
            4 => return self.while_stmt(depth - 1, locals),
            5 => self.alias(depth - 1, locals),
            6 => self.reset(),
            7 => self.call(),
            8 => self.multiset_stmt(),
            9 => self.compound_copy(),
            10 => self.check_or_put(),
            _ => self.member_copy(),
        };
        made.or_else(|| self.assign()).into_iter().collect()
    }

    pub(super) fn target(
        &mut self,
        want: impl Fn(&Random, &Entry, &str) -> bool,
    ) -> Option<(Place, String)> {
        self.place(|r, e, t| e.writable && (r.effects || !r.is_global(&e.name)) && want(r, e, t))
    }

    fn assign(&mut self) -> Option<Stmt> {
        let (place, ty) = self.target(|r, _, t| is_scalar(&r.model, t))?;
        if self.rng.chance(50)
            && let Some(step) = self.increment(&place, &ty)
        {
            return Some(step);
        }
        let value = self.value(&ty, self.size.depth.min(2))?;
        Some(Stmt::Assign(place, value))
    }

    /// `if x < hi then x := x + 1 end`, sometimes without the test; `x := !x` for booleans.
    pub(super) fn increment(&mut self, place: &Place, ty: &str) -> Option<Stmt> {
        let firm = self.scope.iter().any(|e| e.name == place.root && !e.shaky);
        if ty == BOOLEAN && firm {
            let flipped = Expr::Not(Box::new(Expr::Read(place.clone())));
            return Some(Stmt::Assign(place.clone(), flipped));
        }
        let Some(Type::Range(lo, hi)) = self.model.type_named(ty) else { return None };
        let (lo, hi) = (*lo, *hi);
        let up = self.rng.chance(60);
        let (cmp, bound, op) =
            if up { (BinOp::Lt, hi, BinOp::Add) } else { (BinOp::Gt, lo, BinOp::Sub) };
        let read = || Box::new(Expr::Read(place.clone()));
        let shaky = self.scope.iter().any(|e| e.name == place.root && e.shaky);
        let step = Expr::Binary(op, read(), Box::new(Expr::Int(1)));
        let step = Stmt::Assign(place.clone(), step);
        if self.risk(15) {
            return Some(step);
        }
        let mut test = Expr::Binary(cmp, read(), Box::new(Expr::Int(bound)));
        if shaky {
            let defined = Expr::Not(Box::new(Expr::IsUndefined(place.clone())));
            test = Expr::binary(BinOp::And, defined, test);
        }
        Some(Stmt::If(vec![(test, vec![step])], None))
    }

    fn if_stmt(&mut self, depth: usize, locals: &mut Vec<Var>) -> Stmt {
        let mut branches = Vec::new();
        for _ in 0..1 + usize::from(self.rng.chance(30)) {
            branches.push((self.bool_expr(2), self.block(depth, locals)));
        }
        let otherwise = self.rng.chance(50).then(|| self.block(depth, locals));
        Stmt::If(branches, otherwise)
    }

    fn switch(&mut self, depth: usize, locals: &mut Vec<Var>) -> Option<Stmt> {
        let (place, ty) = self.place(|r, e, t| !e.shaky && is_scalar(&r.model, t))?;
        let mut values: Vec<Expr> = Vec::new();
        for _ in 0..1 + self.rng.below(4) {
            if let Some(literal) = self.literal(&ty).filter(|l| !values.contains(l)) {
                values.push(literal);
            }
        }
        let mut cases = Vec::new();
        while let Some(first) = values.pop() {
            let mut group = vec![first];
            if self.rng.chance(25) {
                group.extend(values.pop());
            }
            cases.push(Case { values: group, body: self.block(depth, locals) });
        }
        if cases.is_empty() {
            return None;
        }
        let otherwise = self.rng.chance(50).then(|| self.block(depth, locals));
        Some(Stmt::Switch(Expr::Read(place), cases, otherwise))
    }

    fn for_stmt(&mut self, depth: usize, locals: &mut Vec<Var>) -> Stmt {
        let height = self.scope.len();
        if self.rng.chance(40)
            && let Some(stmt) = self.for_unordered()
        {
            return stmt;
        }
        let binder = self.binder(false);
        let body = self.block(depth, locals);
        self.scope.truncate(height);
        Stmt::For(binder, body)
    }

    /// `for s: Scalarset do array[s] := constant end`
    fn for_unordered(&mut self) -> Option<Stmt> {
        let scalarset = |r: &Random, t: &str| match r.model.type_named(t) {
            Some(Type::Array { index, .. }) => {
                matches!(r.model.type_named(index), Some(Type::Scalarset(_)))
            }
            _ => false,
        };
        let (array, ty) = self.target(|r, e, t| !e.shaky && scalarset(r, t))?;
        let Some(Type::Array { index, element }) = self.model.type_named(&ty).cloned() else {
            return None;
        };
        let name = self.fresh("i");
        self.enter_bound(&name, Some(&index));
        let one = array.then(Step::Index(Expr::name(&name)));
        let mut body = Vec::new();
        self.closed(|r| r.initialise(one, &element, &mut body));
        self.scope.pop();
        Some(Stmt::For(Binder { name, domain: Domain::Type(index) }, body))
    }

    fn while_stmt(&mut self, depth: usize, locals: &mut Vec<Var>) -> Vec<Stmt> {
        let ranges = self.type_names(|m, t| matches!(m.type_named(t), Some(Type::Range(..))));
        let ty = self.pick_name(&ranges);
        let Some(Type::Range(lo, hi)) = self.model.type_named(&ty).cloned() else {
            return Vec::new();
        };
        let cond = self.bool_expr(1);
        let body = self.block(depth.min(1), locals);
        if self.full() && self.risk(10) {
            return vec![Stmt::While(cond, body)];
        }
        let counter = self.fresh("w");
        locals.push(Var { name: counter.clone(), ty });
        let read = Expr::name(&counter);
        let more = Expr::binary(BinOp::Lt, read.clone(), Expr::Int(hi));
        let step = Expr::binary(BinOp::Add, read, Expr::Int(1));
        let mut looped = vec![Stmt::Assign(Place::root(&counter), step)];
        looped.extend(body);
        vec![
            Stmt::Assign(Place::root(&counter), Expr::Int(lo)),
            Stmt::While(Expr::binary(BinOp::And, more, cond), looped),
        ]
    }

    fn alias(&mut self, depth: usize, locals: &mut Vec<Var>) -> Option<Stmt> {
        let height = self.scope.len();
        let mut aliases = Vec::new();
        for _ in 0..1 + usize::from(self.rng.chance(30)) {
            let alias = self.one_alias(true)?;
            aliases.push(alias);
        }
        let body = self.block(depth, locals);
        self.scope.truncate(height);
        Some(Stmt::Alias(aliases, body))
    }

    /// A name for a place, entered into the scope.
    pub(super) fn one_alias(&mut self, inside: bool) -> Option<(String, Expr)> {
        let name = self.fresh("a");
        if inside && self.full() && self.rng.chance(20) {
            let meaning = Expr::binary(BinOp::Add, self.int_expr(1), Expr::Int(1));
            self.enter(&name, None, false, false);
            return Some((name, meaning));
        }
        let roots: Vec<Entry> = self.scope.clone();
        let bag =
            |r: &Random, t: &str| matches!(r.model.type_named(t), Some(Type::Multiset { .. }));
        let want = |r: &Random, e: &Entry, t: &str| !e.bound && !bag(r, t);
        let open = self.full() && inside;
        let (place, ty) = if open { self.place(want)? } else { self.steady_place(want)? };
        let entry = roots.iter().find(|e| e.name == place.root)?;
        let global = self.is_global(&entry.name);
        let writable = entry.writable && (self.effects || !global);
        self.enter(&name, Some(&ty), writable, entry.shaky);
        Some((name, Expr::Read(place)))
    }

    /// A place whose indices do not depend on variables.
    fn steady_place(
        &mut self,
        want: impl Fn(&Random, &Entry, &str) -> bool,
    ) -> Option<(Place, String)> {
        let (place, ty) = self.place(want)?;
        let steady = |e: &Expr| match e {
            Expr::Read(p) => self.scope.iter().any(|e| e.name == p.root && e.bound),
            Expr::Int(_) | Expr::Bool(_) | Expr::Enum(_) => true,
            _ => false,
        };
        let ok = place.path.iter().all(|s| match s {
            Step::Index(e) => steady(e),
            Step::Field(_) | Step::Element(_) => true,
        });
        ok.then_some((place, ty))
    }

    fn reset(&mut self) -> Option<Stmt> {
        if self.rng.chance(50) {
            let (place, _) = self.target(|_, e, _| e.shaky)?;
            return Some(Stmt::Undefine(place));
        }
        let (place, _) = self.target(|r, _, t| clearable(&r.model, t))?;
        Some(Stmt::Clear(place))
    }

    fn call(&mut self) -> Option<Stmt> {
        let allowed: Vec<usize> = (0..self.signatures.len())
            .filter(|&i| self.effects && !self.signatures[i].pure && !self.signatures[i].recursive)
            .collect();
        let i = *self.rng.pick(&allowed)?;
        let args = self.arguments(i)?;
        let f = &self.model.functions[i];
        let name = f.name.clone();
        match f.result.clone() {
            None => Some(Stmt::Call(name, args)),
            Some(ty) => {
                let whole: Vec<String> = self
                    .scope
                    .iter()
                    .filter(|e| e.writable && e.ty.as_deref() == Some(ty.as_str()))
                    .map(|e| e.name.clone())
                    .collect();
                let target = self.rng.pick(&whole)?;
                Some(Stmt::Assign(Place::root(target), Expr::Call(name, args)))
            }
        }
    }

    fn multiset_stmt(&mut self) -> Option<Stmt> {
        if !self.effects {
            return None;
        }
        if self.rng.chance(25) {
            let (multiset, cond, index) = self.element_condition()?;
            // Never where an enclosing `choose` may hold an index of it.
            let free = !self.in_function && !self.chosen.contains(&multiset);
            return free.then_some(Stmt::RemovePred { index, multiset, cond });
        }
        let bags: Vec<Var> = self.model.vars.clone();
        let bags: Vec<&Var> =
            bags.iter().filter(|v| self.model.element_type(&v.name).is_some()).collect();
        let bag = self.rng.pick(&bags)?;
        let element = self.model.element_type(&bag.name)?.to_owned();
        let value = if is_scalar(&self.model, &element) {
            self.defined_value(&element)?
        } else {
            Expr::Read(self.place(|_, e, t| t == element && !e.shaky)?.0)
        };
        let add = Stmt::Add(value, bag.name.clone());
        let Some(Type::Multiset { capacity, .. }) = self.model.type_named(&bag.ty) else {
            return None;
        };
        let capacity = *capacity as i64;
        if self.risk(20) {
            return Some(add);
        }
        let index = self.fresh("m");
        let all = Box::new(Expr::Bool(true));
        let count = Expr::Count { index, multiset: bag.name.clone(), cond: all };
        let room = Expr::binary(BinOp::Lt, count, Expr::Int(capacity));
        Some(Stmt::If(vec![(room, vec![add])], None))
    }

    /// A scalar that is not the bare name of a variable.
    fn defined_value(&mut self, ty: &str) -> Option<Expr> {
        match self.safe_value(ty, 1)? {
            Expr::Read(place) => {
                let firm = |e: &Entry| e.name == place.root && !e.shaky;
                self.scope.iter().any(firm).then_some(Expr::Read(place))
            }
            other => Some(other),
        }
    }

    /// `x := y` for whole records and arrays, and for scalars that may be undefined.
    fn compound_copy(&mut self) -> Option<Stmt> {
        let full = self.full();
        let (target, ty) = self.target(|r, e, t| {
            let bag = matches!(r.model.type_named(t), Some(Type::Multiset { .. }));
            !bag && (!is_scalar(&r.model, t) || (full && e.shaky))
        })?;
        let shaky = self.scope.iter().any(|e| e.name == target.root && e.shaky);
        let (source, _) = self.place(|_, e, t| t == ty && (shaky || !e.shaky))?;
        Some(Stmt::Assign(target, Expr::Read(source)))
    }

    /// Copies between unions and their members, and of scalarset values that may be undefined.
    fn member_copy(&mut self) -> Option<Stmt> {
        let (source, ty) = self.place(|r, _, t| {
            matches!(r.model.type_named(t), Some(Type::Union(_) | Type::Scalarset(_)))
        })?;
        let entry = self.scope.iter().find(|e| e.name == source.root)?;
        let (shaky, bound) = (entry.shaky, entry.bound && source.path.is_empty());
        let mut tests = Vec::new();
        if shaky && !bound {
            tests.push(Expr::Not(Box::new(Expr::IsUndefined(source.clone()))));
        }
        let mut wanted = ty.clone();
        if let Some(Type::Union(members)) = self.model.type_named(&ty).cloned() {
            wanted = self.pick_name(&members);
            if !self.risk(25) {
                tests.push(Expr::IsMember(source.clone(), wanted.clone()));
            }
        }
        let (target, _) = self.target(|_, _, t| t == wanted)?;
        let copy = Stmt::Assign(target, Expr::Read(source));
        let test = tests.into_iter().reduce(|a, b| Expr::binary(BinOp::And, a, b));
        Some(match test {
            Some(test) => Stmt::If(vec![(test, vec![copy])], None),
            None => copy,
        })
    }

    fn check_or_put(&mut self) -> Option<Stmt> {
        match self.rng.weighted(&[3, 2, 1, 1]) {
            0 => {
                let weak = self.bool_expr(2);
                let cond = if self.risk(25) { weak } else { self.tautology(weak) };
                Some(Stmt::Assert(cond, "as expected".to_owned()))
            }
            1 if self.risk(50) => {
                let error = Stmt::Error("on purpose".to_owned());
                Some(Stmt::If(vec![(self.bool_expr(2), vec![error])], None))
            }
            2 if self.effects => Some(Stmt::PutText("text".to_owned())),
            3 if self.effects => {
                let value = Expr::binary(BinOp::Add, self.int_expr(1), Expr::Int(1));
                Some(Stmt::PutExpr(value))
            }
            _ => None,
        }
    }

    /// A condition that holds whatever `e` is.
    pub(super) fn tautology(&mut self, e: Expr) -> Expr {
        if self.rng.chance(50) {
            let not = Expr::Not(Box::new(e.clone()));
            return Expr::binary(BinOp::Or, e, not);
        }
        Expr::binary(BinOp::Implies, e.clone(), e)
    }

    /// Statements that define every part of a place.
    pub(super) fn initialise(&mut self, place: Place, ty: &str, out: &mut Vec<Stmt>) {
        if clearable(&self.model, ty) && self.rng.chance(20) {
            out.push(Stmt::Clear(place));
            return;
        }
        match self.model.type_named(ty).cloned() {
            Some(Type::Record(fields)) => {
                for f in fields {
                    let part = place.clone().then(Step::Field(f.name.clone()));
                    self.initialise(part, &f.ty, out);
                }
            }
            Some(Type::Array { index, element }) => {
                let name = self.fresh("i");
                self.enter_bound(&name, Some(&index));
                let mut body = Vec::new();
                let part = place.then(Step::Index(Expr::name(&name)));
                self.initialise(part, &element, &mut body);
                self.scope.pop();
                out.push(Stmt::For(Binder { name, domain: Domain::Type(index) }, body));
            }
            Some(Type::Multiset { .. }) => {
                let multiset = place.root.clone();
                let index = self.fresh("m");
                out.push(Stmt::Undefine(place));
                out.push(Stmt::RemovePred { index, multiset, cond: Expr::Bool(true) });
            }
            _ => self.initialise_scalar(place, ty, out),
        }
    }

    fn initialise_scalar(&mut self, place: Place, ty: &str, out: &mut Vec<Stmt>) {
        if let Some(value) = self.closed(|r| r.safe_value(ty, 1)) {
            out.push(Stmt::Assign(place, value));
        }
    }

    /// The scalarset of which a bound name must be in scope to [`Self::initialise`] a type.
    pub(super) fn scalarset_in(&self, ty: &str) -> Option<String> {
        match self.model.type_named(ty)? {
            Type::Scalarset(_) => Some(ty.to_owned()),
            Type::Record(fields) => fields.iter().find_map(|f| self.scalarset_in(&f.ty)),
            Type::Array { element, .. } => self.scalarset_in(element),
            _ => None,
        }
    }
}
