//! Rules and start states, with the rulesets, aliases and choices around them.
//!
//! The order of exploration is CMurphi's: rules and start states in reverse order of the source. Of
//! the parameters of a rule, those that its guard does not mention vary fastest, the outermost of them
//! first; those that it mentions vary slowest, the outermost of them last. (So a guard that is false
//! is false for a whole run of instances.) The parameters of a start state count as not mentioned.

use std::collections::HashSet;

use ergodic_diag::{Diagnostic, Span};
use ergodic_ir::{Action, Domain as IrDomain, Expr as Ir, LocalKind, Param, Stmt as IrStmt};

use super::expr::Typed;
use super::scope::EntityId;
use super::stmt::unescape;
use super::types::MAX_BOUND;
use super::{Lower, Role};
use crate::ast::{
    Alias, ChooseRule, Decl, Domain, Expr, Quantifier, Rule, SimpleRule, StartState, Stmt, Text,
};

/// Something around a rule.
#[derive(Clone, Copy)]
pub(super) enum Enclosure<'a> {
    Quantifier(&'a Quantifier),
    Alias(&'a Alias),
    Choose(&'a ChooseRule),
}

/// A parameter of a rule, or a name that depends on parameters.
struct Enclosed {
    entity: EntityId,
    param: Option<Param>,
    /// What its definition mentions.
    mentions: HashSet<EntityId>,
}

/// The values of a parameter that are known in advance.
pub(super) fn range_type(lower: &mut Lower<'_>, from: i64, to: i64) -> ergodic_ir::TypeId {
    let clamp = |v: i64| v.clamp(-MAX_BOUND - 1, MAX_BOUND);
    lower.types.range(clamp(from.min(to)), clamp(from.max(to)))
}

impl<'a> Lower<'a> {
    /// Translates what stands in the rule section.
    pub(super) fn rule(&mut self, rule: &'a Rule, around: &mut Vec<Enclosure<'a>>) {
        let depth = around.len();
        match rule {
            Rule::Simple(rule) => self.simple_rule(rule, around),
            Rule::StartState(start) => self.start_state(start, around),
            Rule::Property(property) => self.property(property, around),
            Rule::Ruleset(set) => {
                around.extend(set.quantifiers.iter().map(Enclosure::Quantifier));
                set.rules.iter().for_each(|rule| self.rule(rule, around));
            }
            Rule::Alias(group) => {
                around.extend(group.aliases.iter().map(Enclosure::Alias));
                group.rules.iter().for_each(|rule| self.rule(rule, around));
            }
            Rule::Choose(choose) => {
                around.push(Enclosure::Choose(choose));
                choose.rules.iter().for_each(|rule| self.rule(rule, around));
            }
        }
        around.truncate(depth);
    }

    fn simple_rule(&mut self, rule: &'a SimpleRule, around: &[Enclosure<'a>]) {
        let name = self.property_name(rule.name.as_ref(), "Rule");
        let guard = rule.guard.as_ref();
        let mut action = self.action(name, guard, &rule.decls, &rule.body, around);
        action.span = rule.head;
        action.priority = rule.priority.map_or(0, |p| p.value);
        self.program.actions.push(action);
    }

    fn start_state(&mut self, start: &'a StartState, around: &[Enclosure<'a>]) {
        let name = self.property_name(start.name.as_ref(), "Startstate");
        let mut action = self.action(name, None, &start.decls, &start.body, around);
        action.span = start.head;
        self.program.starts.push(action);
    }

    /// The given name, or the noun with the number of unnamed ones so far.
    pub(super) fn property_name(&mut self, given: Option<&Text>, noun: &'static str) -> String {
        match given {
            Some(text) => unescape(&text.raw),
            None => {
                let number = self.unnamed.entry(noun).or_default();
                *number += 1;
                format!("{noun} {}", *number - 1)
            }
        }
    }

    fn action(
        &mut self,
        name: String,
        guard: Option<&'a Expr>,
        decls: &'a [Decl],
        body: &'a [Stmt],
        around: &[Enclosure<'a>],
    ) -> Action {
        let outer = self.scope;
        let (mut action, locals) = self.in_frame(Role::Action, |lower| {
            let mut prelude = Vec::new();
            let enclosed = lower.open(around, &mut prelude);
            let (guard, mentioned) = lower.guard(guard, &enclosed);
            lower.enter();
            lower.declare_locals(decls);
            let body = lower.block(body);
            let params = order(enclosed, mentioned);
            let (span, priority) = (Span::default(), 0);
            let (locals, impure_guard) = (Vec::new(), false);
            Action { name, span, params, locals, prelude, guard, body, priority, impure_guard }
        });
        self.leave(outer);
        action.locals = locals;
        action
    }

    /// The conjuncts of a guard, and what it mentions.
    fn guard(
        &mut self,
        guard: Option<&'a Expr>,
        enclosed: &[Enclosed],
    ) -> (Vec<Ir>, HashSet<EntityId>) {
        let Some(guard) = guard else { return (Vec::new(), HashSet::new()) };
        let watched: Vec<EntityId> = enclosed.iter().map(|e| e.entity).collect();
        let (expr, mut mentioned) =
            self.mentions(&watched, |lower| lower.boolean(guard, "the guard of a rule"));
        for e in enclosed.iter().rev() {
            if e.param.is_none() && mentioned.contains(&e.entity) {
                mentioned.extend(&e.mentions);
            }
        }
        let conjuncts = match expr {
            Ir::And(list) => list,
            Ir::Int(1) => Vec::new(),
            expr => vec![expr],
        };
        (conjuncts, mentioned)
    }

    /// Does something, and tells which of the watched names it looked up.
    fn mentions<T>(
        &mut self,
        watched: &[EntityId],
        work: impl FnOnce(&mut Self) -> T,
    ) -> (T, HashSet<EntityId>) {
        let before: Vec<bool> = watched.iter().map(|id| self.entity(*id).used).collect();
        for id in watched {
            self.entities[id.0].used = false;
        }
        let result = work(self);
        let mut found = HashSet::new();
        for (id, used) in watched.iter().zip(before) {
            if self.entity(*id).used {
                found.insert(*id);
            }
            self.entities[id.0].used |= used;
        }
        (result, found)
    }

    /// Opens the scopes around a rule; the caller goes back to the scope before.
    fn open(&mut self, around: &[Enclosure<'a>], prelude: &mut Vec<IrStmt>) -> Vec<Enclosed> {
        let mut all: Vec<Enclosed> = Vec::new();
        for enclosure in around {
            let watched: Vec<EntityId> = all.iter().map(|e| e.entity).collect();
            let first = self.entities.len();
            let (param, mentions) = self.mentions(&watched, |lower| match enclosure {
                Enclosure::Quantifier(q) => lower.parameter(q),
                Enclosure::Choose(choose) => lower.choice(choose),
                Enclosure::Alias(alias) => {
                    lower.rule_alias(alias, prelude);
                    None
                }
            });
            match enclosure {
                Enclosure::Alias(alias) => {
                    let count = alias.names.len();
                    for i in self.entities.len() - count..self.entities.len() {
                        let (entity, mentions) = (EntityId(i), mentions.clone());
                        all.push(Enclosed { entity, param: None, mentions });
                    }
                }
                _ if self.entities.len() > first => {
                    let entity = EntityId(self.entities.len() - 1);
                    all.push(Enclosed { entity, param, mentions });
                }
                _ => {}
            }
        }
        all
    }

    /// An alias around rules. What it does on entry is done before the guard.
    pub(super) fn rule_alias(&mut self, alias: &'a Alias, out: &mut Vec<IrStmt>) {
        let start = out.len();
        self.alias(alias, out);
        let simple = |s: &IrStmt| matches!(s, IrStmt::Bind { .. } | IrStmt::Let { .. });
        if !out[start..].iter().all(simple) {
            let d = Diagnostic::error("an alias of rules cannot stand for a compound result")
                .at(alias.value.span, "a function makes this anew each time")
                .help("write the alias inside the rule, as a statement");
            self.report(d);
            out.truncate(start);
        }
    }

    fn parameter(&mut self, q: &'a Quantifier) -> Option<Param> {
        let over = self.parameter_domain(q);
        let ty = match &over {
            Some(IrDomain::Type(id)) => Some(*id),
            Some(IrDomain::Range { from, to, .. }) => Some(range_type(self, *from, *to)),
            _ => None,
        };
        let Some((ty, over)) = ty.zip(over) else {
            self.declare_bound(&q.name, Typed::error());
            return None;
        };
        let local = self.local(&q.name.text, ty, LocalKind::Bound);
        let value = Typed::new(Ir::Bound(local), self.types.ty(ty));
        self.declare_bound(&q.name, value);
        Some(Param { local, over })
    }

    /// Opens a scope for a parameter, and says what it ranges over.
    pub(super) fn parameter_domain(&mut self, q: &'a Quantifier) -> Option<IrDomain> {
        match &q.domain {
            Domain::Type(ty) => {
                self.enter();
                self.declare_enums(ty, None);
                self.quantifier_type(ty).map(IrDomain::Type)
            }
            Domain::Range { from, to, by } => {
                let from = self.constant_int(from, "the first value of a rule parameter");
                let to = self.constant_int(to, "the last value of a rule parameter");
                let step = match by {
                    Some(by) => self.constant_int(by, "the step of a rule parameter"),
                    None => Some(1),
                };
                self.enter();
                if let (Some(0), Some(by)) = (step, by) {
                    self.error(by.span, "a step of zero goes nowhere", "must not be zero");
                    return None;
                }
                Some(IrDomain::Range { from: from?, to: to?, step: step? })
            }
        }
    }

    fn choice(&mut self, choose: &'a ChooseRule) -> Option<Param> {
        let Some(set) = self.chosen_multiset(choose) else {
            self.enter();
            self.declare_bound(&choose.index, Typed::error());
            return None;
        };
        self.enter();
        let local = self.declare_slot(&choose.index, &set);
        Some(Param { local, over: IrDomain::Slots(set) })
    }

    /// The multiset of a `choose`. It is looked at before aliases are bound, so those it uses are
    /// replaced by what they stand for.
    fn chosen_multiset(&mut self, choose: &'a ChooseRule) -> Option<ergodic_ir::Place> {
        let outer = std::mem::replace(&mut self.expand_aliases, true);
        let pending = std::mem::take(&mut self.pending);
        let set = self.multiset_place(&choose.multiset);
        let before = std::mem::replace(&mut self.pending, pending);
        self.expand_aliases = outer;
        if !before.is_empty() {
            let label = "a function makes this anew each time";
            self.error(choose.multiset.span, "`choose` needs a variable", label);
            return None;
        }
        set.map(|set| set.place)
    }
}

/// The parameters in the order of the representation: the last varies fastest.
fn order(enclosed: Vec<Enclosed>, mentioned: HashSet<EntityId>) -> Vec<Param> {
    let (slow, fast): (Vec<_>, Vec<_>) = enclosed
        .into_iter()
        .filter(|e| e.param.is_some())
        .partition(|e| mentioned.contains(&e.entity));
    let mut waiting: Vec<Enclosed> = slow.into_iter().chain(fast.into_iter().rev()).collect();
    // A multiset may depend on parameters, which must come before it.
    let mut params = Vec::new();
    while !waiting.is_empty() {
        let missing: HashSet<EntityId> = waiting.iter().map(|e| e.entity).collect();
        let ready = |e: &Enclosed| e.mentions.is_disjoint(&missing);
        let next = waiting.iter().position(ready).unwrap_or(0);
        params.extend(waiting.remove(next).param);
    }
    params
}
