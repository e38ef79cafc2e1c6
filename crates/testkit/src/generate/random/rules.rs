//! Random functions, rules, start states and invariants.

use super::super::check::{is_pure, is_scalar};
use super::super::model::{
    BOOLEAN, BinOp, Binder, Domain, Expr, Function, Param, Place, Rule, Stmt, Type, Var,
};
use super::{Entry, Random, Signature};

impl Random {
    // ---- functions ----

    pub(super) fn function(&mut self) {
        let height = self.scope.len();
        let kind = self.rng.weighted(&[4, 2, 3, 2]);
        self.in_function = true;
        let (f, shaky) = match kind {
            0 => self.general_function(false, true),
            1 => (self.recursive_function(), vec![false]),
            2 => self.general_function(true, false),
            _ => self.general_function(true, true),
        };
        self.scope.truncate(height);
        self.effects = true;
        self.in_function = false;
        self.model.functions.push(f);
        let f = self.model.functions.last().expect("just pushed");
        let pure = f.result.is_some() && is_pure(&self.model, f);
        self.signatures.push(Signature { pure, shaky, recursive: kind == 1 });
    }

    fn general_function(&mut self, effects: bool, result: bool) -> (Function, Vec<bool>) {
        self.effects = effects;
        let name = self.fresh(if result { "fun" } else { "proc" });
        let types = self.type_names(|m, t| !matches!(m.type_named(t), Some(Type::Multiset { .. })));
        let (mut params, mut shakes) = (Vec::new(), Vec::new());
        for _ in 0..self.rng.below(3) {
            let by_ref = effects && self.rng.chance(60);
            let shaky = by_ref && self.rng.chance(15);
            let ty = self.pick_name(&types);
            let name = self.fresh("p");
            self.enter(&name, Some(&ty), by_ref, shaky);
            params.push(Param { name, ty, by_ref });
            shakes.push(shaky);
        }
        let scalars = self.type_names(|m, t| {
            is_scalar(m, t) && !matches!(m.type_named(t), Some(Type::Union(_) | Type::Scalarset(_)))
        });
        let result = result.then(|| self.pick_name(&scalars));
        let (mut locals, mut body) = self.locals();
        body.extend(self.block(1, &mut locals));
        if let Some(ty) = &result {
            self.returns(ty, &mut body);
        } else if self.rng.chance(15) {
            body.insert(0, Stmt::If(vec![(self.bool_expr(1), vec![Stmt::Return(None)])], None));
        }
        (Function { name, params, result, locals, body }, shakes)
    }

    /// A `return` under a condition, and one at the end.
    fn returns(&mut self, ty: &str, body: &mut Vec<Stmt>) {
        if self.rng.chance(40)
            && let Some(value) = self.safe_value(ty, 1)
        {
            let early = vec![Stmt::Return(Some(value))];
            body.push(Stmt::If(vec![(self.bool_expr(1), early)], None));
        }
        if !self.risk(15)
            && let Some(value) = self.safe_value(ty, 1)
        {
            body.push(Stmt::Return(Some(value)));
        }
    }

    /// `if n <= lo then return … end; return f(n - 1)`, or its sum with something.
    fn recursive_function(&mut self) -> Function {
        self.effects = false;
        let ranges = self.type_names(|m, t| matches!(m.type_named(t), Some(Type::Range(..))));
        let ty = self.pick_name(&ranges);
        let Some(Type::Range(lo, _)) = self.model.type_named(&ty).cloned() else {
            unreachable!("only ranges were offered")
        };
        let (name, n) = (self.fresh("fun"), self.fresh("p"));
        let param = Param { name: n.clone(), ty: ty.clone(), by_ref: false };
        let result = if self.rng.chance(50) { ty } else { BOOLEAN.to_owned() };
        let last = Expr::binary(BinOp::Le, Expr::name(&n), Expr::Int(lo));
        let base = self.safe_value(&result, 0).expect("ranges and booleans have literals");
        let less = Expr::binary(BinOp::Sub, Expr::name(&n), Expr::Int(1));
        let mut again = Expr::Call(name.clone(), vec![less]);
        if result == BOOLEAN && self.rng.chance(60) {
            again = Expr::Not(Box::new(again));
        }
        let body = vec![
            Stmt::If(vec![(last, vec![Stmt::Return(Some(base))])], None),
            Stmt::Return(Some(again)),
        ];
        Function { name, params: vec![param], result: Some(result), locals: Vec::new(), body }
    }

    /// Local variables, and the statements that define the firm ones.
    fn locals(&mut self) -> (Vec<Var>, Vec<Stmt>) {
        let types = self.type_names(|m, t| !matches!(m.type_named(t), Some(Type::Multiset { .. })));
        let (mut locals, mut body) = (Vec::new(), Vec::new());
        for _ in 0..self.rng.weighted(&[6, 3, 1]) {
            let (name, ty) = (self.fresh("l"), self.pick_name(&types));
            let shaky = self.rng.chance(20) || !self.can_initialise(&ty);
            if !shaky {
                self.initialise(Place::root(&name), &ty, &mut body);
            }
            self.enter(&name, Some(&ty), true, shaky);
            locals.push(Var { name, ty });
        }
        (locals, body)
    }

    fn can_initialise(&self, ty: &str) -> bool {
        self.scalarset_in(ty).is_none_or(|set| {
            self.scope.iter().any(|e| e.bound && e.ty.as_deref() == Some(set.as_str()))
        })
    }

    // ---- rules ----

    pub(super) fn all_rules(&mut self) {
        let mut rules = Vec::new();
        let starts = self.rng.weighted(&[0, 6, 3, 1]);
        for _ in 0..starts {
            rules.push(self.start());
        }
        for _ in 0..1 + self.size.rules / 3 + self.rng.below(self.size.rules) {
            let rule = self.rule_group();
            rules.push(rule);
        }
        for _ in 0..self.rng.below(3) {
            let invariant = self.invariant();
            rules.push(invariant);
        }
        // Order matters only among rules, among start states and among invariants.
        for i in (1..rules.len()).rev() {
            let j = self.rng.below(i + 1);
            rules.swap(i, j);
        }
        self.model.rules = rules;
    }

    fn start(&mut self) -> Rule {
        let height = self.scope.len();
        let mut binders =
            if self.rng.chance(20) { vec![self.ruleset_binder()] } else { Vec::new() };
        for i in 0..self.model.vars.len() {
            let needed = self.scalarset_in(&self.model.vars[i].ty);
            if let Some(set) = needed.filter(|set| !self.can_initialise(set)) {
                let name = self.fresh("i");
                self.enter_bound(&name, Some(&set));
                binders.push(Binder { name, domain: Domain::Type(set) });
            }
        }
        let mut body = Vec::new();
        for i in 0..self.model.vars.len() {
            let Var { name, ty } = self.model.vars[i].clone();
            let shaky = self.scope.iter().any(|e| e.name == name && e.shaky);
            if !shaky || self.rng.chance(50) {
                self.initialise(Place::root(&name), &ty, &mut body);
            }
        }
        let mut locals = Vec::new();
        if self.rng.chance(15) {
            body.extend(self.block(1, &mut locals));
        }
        self.scope.truncate(height);
        let start = Rule::Start { name: self.fresh("start"), locals, body };
        if binders.is_empty() { start } else { Rule::Ruleset { binders, rules: vec![start] } }
    }

    fn rule_group(&mut self) -> Rule {
        let height = self.scope.len();
        let rule = match self.rng.weighted(&[4, 5, 2, 3, 8]) {
            4 => self.mover(),
            1 => {
                let n = 1 + usize::from(self.rng.chance(35));
                let binders = (0..n).map(|_| self.ruleset_binder()).collect();
                Rule::Ruleset { binders, rules: self.some_rules() }
            }
            2 => match self.one_alias(false) {
                Some(alias) => Rule::Alias { aliases: vec![alias], rules: self.some_rules() },
                None => self.rule(),
            },
            3 => self.choose(),
            _ => self.rule(),
        };
        self.scope.truncate(height);
        rule
    }

    /// A rule that moves one variable a little; a few of these make a product of state spaces.
    fn mover(&mut self) -> Rule {
        let mut binders = Vec::new();
        let mut body = Vec::new();
        if let Some((place, ty)) = self.target(|r, _, t| is_scalar(&r.model, t)) {
            let step = self.rng.chance(50).then(|| self.increment(&place, &ty)).flatten();
            body.push(step.unwrap_or_else(|| {
                let name = self.fresh("i");
                self.enter_bound(&name, Some(&ty));
                let value = Expr::name(&name);
                binders.push(Binder { name, domain: Domain::Type(ty) });
                Stmt::Assign(place, value)
            }));
        }
        let guard = self.rng.chance(50).then(|| self.bool_expr(1));
        let rule = Rule::Simple { name: self.fresh("rule"), guard, locals: Vec::new(), body };
        if binders.is_empty() { rule } else { Rule::Ruleset { binders, rules: vec![rule] } }
    }

    fn some_rules(&mut self) -> Vec<Rule> {
        let mut rules = vec![self.rule()];
        if self.rng.chance(25) {
            rules.push(self.rule());
        }
        if self.rng.chance(10) {
            rules.push(self.invariant());
        }
        rules
    }

    fn choose(&mut self) -> Rule {
        let bags: Vec<String> = self.model.vars.iter().map(|v| v.name.clone()).collect();
        let bags: Vec<String> =
            bags.into_iter().filter(|b| self.model.element_type(b).is_some()).collect();
        let Some(multiset) = self.rng.pick(&bags).cloned() else { return self.rule() };
        let index = self.fresh("c");
        self.elements.push((index.clone(), multiset.clone()));
        self.chosen.push(multiset.clone());
        let mut rule = self.rule();
        self.elements.pop();
        self.chosen.pop();
        if let Rule::Simple { body, .. } = &mut rule
            && self.rng.chance(70)
        {
            // Last, because nothing may look at the element afterwards.
            let remove = Stmt::Remove { index: index.clone(), multiset: multiset.clone() };
            body.push(if self.rng.chance(25) {
                Stmt::If(vec![(self.bool_expr(1), vec![remove])], None)
            } else {
                remove
            });
        }
        Rule::Choose { index, multiset, rules: vec![rule] }
    }

    fn rule(&mut self) -> Rule {
        let height = self.scope.len();
        let guard = match self.rng.weighted(&[2, 2, 3, 6]) {
            0 => None,
            1 => Some(Expr::Bool(true)),
            2 => {
                let (a, b) = (self.bool_expr(1), self.bool_expr(1));
                Some(Expr::binary(BinOp::Or, a, b))
            }
            _ => Some(self.bool_expr(self.size.depth)),
        };
        let (mut locals, mut body) = self.locals();
        body.extend(self.block(2, &mut locals));
        if self.rng.chance(8) {
            let leave = vec![Stmt::Return(None)];
            body.insert(0, Stmt::If(vec![(self.bool_expr(1), leave)], None));
        }
        self.scope.truncate(height);
        Rule::Simple { name: self.fresh("rule"), guard, locals, body }
    }

    // ---- invariants ----

    fn invariant(&mut self) -> Rule {
        let name = self.fresh("inv");
        let cond = match self.rng.weighted(&[4, 3, 2]) {
            0 => self.bounds(),
            1 => {
                let e = self.bool_expr(self.size.depth);
                Some(self.tautology(e))
            }
            _ if self.risk(70) => {
                let (a, b) = (self.bool_expr(self.size.depth), self.bool_expr(1));
                Some(Expr::binary(BinOp::Or, a, b))
            }
            _ => None,
        };
        Rule::Invariant { name, cond: cond.unwrap_or(Expr::Bool(true)) }
    }

    /// What the types promise: a range variable is within its range, an array in each element.
    fn bounds(&mut self) -> Option<Expr> {
        let height = self.scope.len();
        let binder = self.binder(true);
        let range = |r: &Random, e: &Entry, t: &str| {
            !e.bound && matches!(r.model.type_named(t), Some(Type::Range(..)))
        };
        let found = self.place(range);
        self.scope.truncate(height);
        let (place, ty) = found?;
        let Some(Type::Range(lo, hi)) = self.model.type_named(&ty).cloned() else { return None };
        let read = || Expr::Read(place.clone());
        let low = Expr::binary(BinOp::Ge, read(), Expr::Int(lo));
        let high = Expr::binary(BinOp::Le, read(), Expr::Int(hi));
        let within = Expr::binary(BinOp::And, low, high);
        let within = Expr::binary(BinOp::Or, Expr::IsUndefined(place.clone()), within);
        Some(quantify(binder, within))
    }
}

fn quantify(binder: Binder, body: Expr) -> Expr {
    let used = matches!(binder.domain, Domain::Type(_));
    if used { Expr::Quant { all: true, binder, body: Box::new(body) } } else { body }
}
