//! Invariants, assumptions, cover goals and liveness properties.
//!
//! An invariant or assumption inside rulesets holds for all values of the parameters and becomes one
//! property; so does a cover goal, which is to be met for some values. A liveness property becomes
//! one property for each combination of values.

use ergodic_diag::Diagnostic;
use ergodic_ir::{
    Domain, Expr as Ir, Iter, LocalId, Property, PropertyKind as IrKind, Stmt as IrStmt, range_len,
};

use super::expr::Typed;
use super::rules::Enclosure;
use super::{Lower, Role};
use crate::ast::{self, Expr, PropertyKind};

/// Into how many properties a liveness property may be split.
const MAX_INSTANCES: u64 = 10_000;

/// What is put around a condition, outermost first.
enum Wrap {
    Over(LocalId, Iter),
    Do(Vec<IrStmt>),
}

impl<'a> Lower<'a> {
    /// Translates a property of the model.
    pub(super) fn property(&mut self, property: &'a ast::Property, around: &[Enclosure<'a>]) {
        let (kind, noun) = match property.kind {
            PropertyKind::Assert | PropertyKind::Invariant => (IrKind::Invariant, "Invariant"),
            PropertyKind::Assume => (IrKind::Assumption, "Assumption"),
            PropertyKind::Cover => (IrKind::Cover, "Cover"),
            PropertyKind::Liveness => (IrKind::Liveness, "Liveness"),
        };
        let name = self.property_name(property.message.as_ref(), noun);
        if kind != IrKind::Liveness {
            self.one_property(property, kind, name, around, None);
            return;
        }
        if let Some(Enclosure::Choose(choose)) =
            around.iter().find(|e| matches!(e, Enclosure::Choose(_)))
        {
            let label = "the element may be gone later";
            self.error(choose.index.span, "`liveness` cannot be used inside `choose`", label);
            return;
        }
        self.property_instances(property, kind, &name, around);
    }

    /// One property for each combination of parameter values.
    fn property_instances(
        &mut self,
        property: &'a ast::Property,
        kind: IrKind,
        name: &str,
        around: &[Enclosure<'a>],
    ) {
        let Some(domains) = self.domains(around) else { return };
        let total = domains.iter().fold(1u64, |n, d| n.saturating_mul(d.1));
        if total > MAX_INSTANCES {
            let d = Diagnostic::error(format!("this property stands for {total} properties"))
                .at(property.span, format!("more than {MAX_INSTANCES}"))
                .help("use `exists` or `forall` instead of rulesets");
            self.report(d);
            return;
        }
        for instance in 0..total {
            let mut rest = instance;
            let mut values = Vec::new();
            for (domain, count) in domains.iter().rev() {
                values.push(self.domain_value(domain, rest % count));
                rest /= count;
            }
            values.reverse();
            let mut label = name.to_owned();
            for ((shown, _), quantifier) in values.iter().zip(quantifiers(around)) {
                label.push_str(&format!(", {}:{shown}", quantifier.name.text));
            }
            let values: Vec<Typed> = values.into_iter().map(|(_, value)| value).collect();
            self.one_property(property, kind, label, around, Some(&values));
        }
    }

    /// What the parameters range over, with the numbers of values.
    fn domains(&mut self, around: &[Enclosure<'a>]) -> Option<Vec<(Domain, u64)>> {
        let outer = self.scope;
        let mut domains = Some(Vec::new());
        for quantifier in quantifiers(around) {
            let domain = self.parameter_domain(quantifier);
            domains = domains.zip(domain).map(|(mut list, domain)| {
                let count = match &domain {
                    Domain::Type(id) => self.types.scalar(*id).map_or(0, |s| s.count()),
                    Domain::Range { from, to, step } => range_len(*from, *to, *step),
                    Domain::Slots(_) => 0,
                };
                list.push((domain, count));
                list
            });
        }
        self.leave(outer);
        domains
    }

    /// A value of a parameter, and how it is shown.
    fn domain_value(&self, domain: &Domain, ordinal: u64) -> (String, Typed) {
        match domain {
            Domain::Type(id) => {
                let code = self.types.scalar(*id).and_then(|s| s.code(ordinal)).unwrap_or(0);
                (self.types.value(*id, code), Typed::new(Ir::Int(code), self.types.ty(*id)))
            }
            Domain::Range { from, step, .. } => {
                let value = from.wrapping_add(step.wrapping_mul(ordinal as i64));
                (value.to_string(), Typed::int(value))
            }
            Domain::Slots(_) => (String::new(), Typed::error()),
        }
    }

    fn one_property(
        &mut self,
        property: &'a ast::Property,
        kind: IrKind,
        name: String,
        around: &[Enclosure<'a>],
        values: Option<&[Typed]>,
    ) {
        let outer = self.scope;
        let (expr, locals) = self.in_frame(Role::Action, |lower| {
            let wraps = lower.surround(around, values);
            let what = format!("the condition of `{}`", property.kind.keyword());
            let condition: &'a Expr = &property.condition;
            let mut expr = lower.boolean(condition, &what);
            let all = kind != IrKind::Cover;
            for wrap in wraps.into_iter().rev() {
                let body = Box::new(expr);
                expr = match wrap {
                    Wrap::Over(var, over) => {
                        Ir::Quantified { all, var, over: Box::new(over), body }
                    }
                    Wrap::Do(stmts) => Ir::Block { body: stmts, value: body },
                };
            }
            expr
        });
        self.leave(outer);
        let (span, expr) = (property.span, Some(expr));
        let property = Property { kind, name, span, locals, expr, impure: false };
        self.program.properties.push(property);
    }

    /// Opens the scopes around a property; the caller goes back to the scope before.
    fn surround(&mut self, around: &[Enclosure<'a>], values: Option<&[Typed]>) -> Vec<Wrap> {
        let mut wraps = Vec::new();
        let mut values = values.map(<[Typed]>::iter);
        for enclosure in around {
            match enclosure {
                Enclosure::Quantifier(q) => match &mut values {
                    Some(values) => {
                        self.parameter_domain(q);
                        let value = values.next().cloned().unwrap_or_else(Typed::error);
                        self.declare_bound(&q.name, value);
                    }
                    None => {
                        wraps.extend(self.quantifier(q).map(|(var, over)| Wrap::Over(var, over)));
                    }
                },
                Enclosure::Alias(alias) => {
                    let mut stmts = Vec::new();
                    self.alias(alias, &mut stmts);
                    if !stmts.is_empty() {
                        wraps.push(Wrap::Do(stmts));
                    }
                }
                Enclosure::Choose(choose) => wraps.extend(self.choose_wrap(choose)),
            }
        }
        wraps
    }

    fn choose_wrap(&mut self, choose: &'a ast::ChooseRule) -> Option<Wrap> {
        let set = self.multiset_place(&choose.multiset);
        self.enter();
        let Some(set) = set else {
            self.declare_bound(&choose.index, Typed::error());
            return None;
        };
        let var = self.declare_slot(&choose.index, &set.place);
        Some(Wrap::Over(var, Iter::Slots(set.place)))
    }
}

fn quantifiers<'a, 'b>(
    around: &'b [Enclosure<'a>],
) -> impl Iterator<Item = &'a ast::Quantifier> + use<'a, 'b> {
    around.iter().filter_map(|e| match e {
        Enclosure::Quantifier(q) => Some(*q),
        _ => None,
    })
}
