//! Makes a failing model small.
//!
//! A model has a numbered list of edits: delete this rule, statement, variable, type; replace this
//! statement by its body; replace this expression by a part of it or by a constant; narrow this
//! type. The shrinker tries them one after the other and keeps an edit if the model stays
//! well-formed, becomes lighter and still fails. Weights are natural numbers, so it terminates.

use super::check::check;
use super::model::{Binder, Domain, Expr, Function, Model, Place, Rule, Step, Stmt, Type};
use super::render::render;

/// The smallest model reachable by greedy edits for which `still_fails` is true. The result is
/// well-formed if `model` is, and `still_fails` holds of it if it holds of `model`.
pub fn shrink(model: &Model, still_fails: impl Fn(&Model) -> bool) -> Model {
    let mut best = model.clone();
    let mut best_weight = weight(&best);
    loop {
        let before = best_weight;
        let mut n = 0;
        while let Some(candidate) = edited(&best, n) {
            let lighter = weight(&candidate);
            if lighter < best_weight && check(&candidate).is_ok() && still_fails(&candidate) {
                best = candidate;
                best_weight = lighter;
            } else {
                n += 1;
            }
        }
        if best_weight == before {
            return best;
        }
    }
}

/// How much there is to read: names weigh more than literals, large numbers more than small ones.
pub(super) fn weight(model: &Model) -> u64 {
    let text = render(model);
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let symbols = text.chars().filter(|c| c.is_ascii_punctuation()).count() as u64;
    let word = |w: &str| match (w, w.parse::<u64>()) {
        ("", _) => 0,
        (_, Ok(n)) => 1 + n,
        ("true", _) => 1,
        ("false", _) => 2,
        _ if model.enum_of(w).is_some() => 4,
        _ => 8,
    };
    symbols + words.map(word).sum::<u64>()
}

/// The model after its `n`-th edit, if it has so many.
fn edited(model: &Model, n: usize) -> Option<Model> {
    let mut copy = model.clone();
    let literals = model.types.iter().filter_map(|t| match &t.ty {
        Type::Enum(names) => names.first().cloned(),
        _ => None,
    });
    let mut edit = Edit { left: n, done: false, literals: literals.collect() };
    edit.model(&mut copy);
    edit.done.then_some(copy)
}

/// A walk over the model that makes one edit: the one met after `left` others.
struct Edit {
    left: usize,
    done: bool,
    /// A literal of each enum, to try as a value.
    literals: Vec<String>,
}

impl Edit {
    /// Whether the edit met now is the one to make.
    fn hit(&mut self) -> bool {
        if self.done {
            return false;
        }
        self.done = self.left == 0;
        self.left = self.left.saturating_sub(1);
        self.done
    }

    fn delete_one<T>(&mut self, list: &mut Vec<T>) {
        for i in 0..list.len() {
            if self.hit() {
                list.remove(i);
                return;
            }
        }
    }

    fn clear_option<T>(&mut self, option: &mut Option<T>) {
        if option.is_some() && self.hit() {
            *option = None;
        }
    }

    fn model(&mut self, model: &mut Model) {
        self.rules(&mut model.rules);
        self.delete_one(&mut model.functions);
        self.delete_one(&mut model.vars);
        self.delete_one(&mut model.types);
        self.delete_one(&mut model.consts);
        for f in &mut model.functions {
            self.function(f);
        }
        for t in &mut model.types {
            self.narrow(&mut t.ty);
        }
    }

    fn function(&mut self, f: &mut Function) {
        self.block(&mut f.body);
        self.delete_one(&mut f.locals);
    }

    fn narrow(&mut self, ty: &mut Type) {
        match ty {
            Type::Enum(literals) => self.delete_one(literals),
            Type::Union(members) => self.delete_one(members),
            Type::Record(fields) => self.delete_one(fields),
            Type::Range(lo, hi) => {
                let (l, h) = (*lo, *hi);
                if self.hit() {
                    *hi = l + (h - l) / 2;
                }
                if self.hit() {
                    *hi = h - 1;
                }
                if self.hit() {
                    *lo = l + 1;
                }
            }
            Type::Scalarset(n) | Type::Multiset { capacity: n, .. } => {
                if self.hit() {
                    *n -= 1;
                }
            }
            Type::Boolean | Type::Array { .. } => {}
        }
    }

    // ---- rules ----

    fn rules(&mut self, rules: &mut Vec<Rule>) {
        self.delete_one(rules);
        for i in 0..rules.len() {
            let inner = match &rules[i] {
                Rule::Ruleset { rules, .. }
                | Rule::Alias { rules, .. }
                | Rule::Choose { rules, .. } => rules.clone(),
                _ => continue,
            };
            if self.hit() {
                rules.splice(i..=i, inner);
                return;
            }
        }
        for rule in rules {
            if !self.done {
                self.rule(rule);
            }
        }
    }

    fn rule(&mut self, rule: &mut Rule) {
        match rule {
            Rule::Simple { guard, locals, body, .. } => {
                self.clear_option(guard);
                self.block(body);
                self.delete_one(locals);
                if let Some(guard) = guard {
                    self.expr(guard);
                }
            }
            Rule::Start { locals, body, .. } => {
                self.block(body);
                self.delete_one(locals);
            }
            Rule::Invariant { cond, .. } => self.expr(cond),
            Rule::Ruleset { binders, rules } => {
                self.delete_one(binders);
                self.rules(rules);
                binders.iter_mut().for_each(|b| self.binder(b));
            }
            Rule::Alias { aliases, rules } => {
                self.delete_one(aliases);
                self.rules(rules);
                aliases.iter_mut().for_each(|(_, e)| self.expr(e));
            }
            Rule::Choose { rules, .. } => self.rules(rules),
        }
    }

    fn binder(&mut self, binder: &mut Binder) {
        if let Domain::Range { from, to, by } = &mut binder.domain {
            if self.hit() {
                *to = *from;
            }
            if self.hit() {
                *from = *to;
            }
            if self.hit() {
                *by = by.signum();
            }
        }
    }

    // ---- statements ----

    fn block(&mut self, body: &mut Vec<Stmt>) {
        self.delete_one(body);
        for i in 0..body.len() {
            for inner in bodies(&body[i]) {
                if self.hit() {
                    body.splice(i..=i, inner);
                    return;
                }
            }
        }
        for stmt in body {
            if !self.done {
                self.stmt(stmt);
            }
        }
    }

    fn otherwise(&mut self, otherwise: &mut Option<Vec<Stmt>>) {
        self.clear_option(otherwise);
        if let Some(body) = otherwise {
            self.block(body);
        }
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        match stmt {
            Stmt::Assign(place, value) => {
                self.place(place);
                self.expr(value);
            }
            Stmt::Call(_, args) => args.iter_mut().for_each(|a| self.expr(a)),
            Stmt::If(branches, otherwise) => {
                self.delete_one(branches);
                for (cond, body) in branches {
                    self.block(body);
                    self.expr(cond);
                }
                self.otherwise(otherwise);
            }
            Stmt::Switch(subject, cases, otherwise) => {
                self.delete_one(cases);
                for case in cases {
                    self.delete_one(&mut case.values);
                    self.block(&mut case.body);
                }
                self.otherwise(otherwise);
                self.expr(subject);
            }
            Stmt::For(binder, body) => {
                self.block(body);
                self.binder(binder);
            }
            Stmt::While(cond, body) => {
                self.block(body);
                self.expr(cond);
            }
            Stmt::Alias(aliases, body) => {
                self.delete_one(aliases);
                self.block(body);
                aliases.iter_mut().for_each(|(_, e)| self.expr(e));
            }
            Stmt::Clear(place) | Stmt::Undefine(place) => self.place(place),
            Stmt::Assert(e, _) | Stmt::PutExpr(e) | Stmt::Return(Some(e)) => self.expr(e),
            Stmt::Add(e, _) | Stmt::RemovePred { cond: e, .. } => self.expr(e),
            Stmt::Error(_) | Stmt::PutText(_) | Stmt::Return(None) | Stmt::Remove { .. } => {}
        }
    }

    // ---- expressions ----

    fn place(&mut self, place: &mut Place) {
        for step in &mut place.path {
            if let Step::Index(e) = step {
                self.expr(e);
            }
        }
    }

    fn expr(&mut self, e: &mut Expr) {
        for simpler in self.simpler(e) {
            if self.hit() {
                *e = simpler;
                return;
            }
        }
        match e {
            Expr::Read(place) | Expr::IsUndefined(place) | Expr::IsMember(place, _) => {
                self.place(place);
            }
            Expr::Neg(a) | Expr::Not(a) => self.expr(a),
            Expr::Binary(_, a, b) => {
                self.expr(a);
                self.expr(b);
            }
            Expr::Cond(c, a, b) => [c, a, b].into_iter().for_each(|e| self.expr(e)),
            Expr::Quant { binder, body, .. } => {
                self.expr(body);
                self.binder(binder);
            }
            Expr::Call(_, args) => args.iter_mut().for_each(|a| self.expr(a)),
            Expr::Count { cond, .. } => self.expr(cond),
            Expr::Int(_) | Expr::Bool(_) | Expr::Enum(_) | Expr::Const(_) => {}
        }
    }

    /// Expressions to try instead of one, whatever their type.
    fn simpler(&self, e: &Expr) -> Vec<Expr> {
        let mut list = match e {
            Expr::Bool(_) => return vec![Expr::Bool(true)],
            Expr::Int(n) => return vec![Expr::Int(0), Expr::Int(n / 2), Expr::Int(n - n.signum())],
            Expr::Enum(_) => return Vec::new(),
            Expr::Const(_) | Expr::Read(_) | Expr::IsUndefined(_) | Expr::IsMember(..) => {
                Vec::new()
            }
            Expr::Neg(a) | Expr::Not(a) => vec![(**a).clone()],
            Expr::Binary(_, a, b) => vec![(**a).clone(), (**b).clone()],
            Expr::Cond(c, a, b) => vec![(**a).clone(), (**b).clone(), (**c).clone()],
            Expr::Quant { body: inner, .. } | Expr::Count { cond: inner, .. } => {
                vec![(**inner).clone()]
            }
            Expr::Call(_, args) => args.clone(),
        };
        list.extend([Expr::Bool(true), Expr::Bool(false), Expr::Int(0), Expr::Int(1)]);
        list.extend(self.literals.iter().map(|l| Expr::Enum(l.clone())));
        list
    }
}

/// The statements inside a statement, to be tried in its place.
fn bodies(stmt: &Stmt) -> Vec<Vec<Stmt>> {
    match stmt {
        Stmt::If(branches, otherwise) => {
            let branches = branches.iter().map(|(_, body)| body.clone());
            branches.chain(otherwise.clone()).collect()
        }
        Stmt::Switch(_, cases, otherwise) => {
            let cases = cases.iter().map(|c| c.body.clone());
            cases.chain(otherwise.clone()).collect()
        }
        Stmt::For(_, body) | Stmt::While(_, body) | Stmt::Alias(_, body) => vec![body.clone()],
        _ => Vec::new(),
    }
}
