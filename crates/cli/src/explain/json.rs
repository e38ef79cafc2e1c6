//! What commutes, for programs: described in the manual's page on independence.

use super::{Found, advice, remarks};
use crate::json::VERSION;
use ergodic_driver::independence::{Commutation, Culprit, Instance, Kind, Relation, Rule, Why};
use serde_json::{Value, json};

/// The object.
pub fn object(found: &Found<'_>) -> Value {
    let (of, counts) = (&found.of, &found.counts);
    json!({
        "version": VERSION,
        "tool": concat!("ergodic ", env!("CARGO_PKG_VERSION")),
        "kind": "independence",
        "model": found.model.name,
        "pairs": counts.pairs,
        "independent": counts.independent,
        "commuting": counts.commuting,
        "dependent": counts.pairs - counts.commuting,
        "usable": counts.usable,
        "usable_independent": counts.usable_independent,
        "merged": counts.merged,
        "coarse": counts.coarse,
        "visible": counts.visible,
        "firings": u64::try_from(of.firings).ok(),
        "advice": advice(found),
        "notes": remarks(found),
        "rules": of.rules.iter().map(rule).collect::<Vec<_>>(),
        "instances": of.instances.iter().map(instance).collect::<Vec<_>>(),
        "matrix": (0..of.instances.len()).map(|row| matrix_row(of, row)).collect::<Vec<_>>(),
        "causes": found.causes.culprits.iter().map(culprit).collect::<Vec<_>>(),
    })
}

fn rule(rule: &Rule) -> Value {
    json!({
        "name": rule.name,
        "first": rule.instances.start,
        "instances": rule.instances.len(),
        "guard_reads": rule.guard,
        "body_reads": rule.body,
        "context_reads": rule.context,
        "writes": rule.writes,
    })
}

fn instance(instance: &Instance) -> Value {
    json!({
        "name": instance.name,
        "rule": instance.rule,
        "merged": instance.merged,
        "coarse": instance.coarse,
        "visible": instance.visible,
        "step": match instance.kind {
            Kind::Control => "control",
            Kind::Receive => "receive",
            Kind::Send => "send",
            Kind::Assign => "assign",
            Kind::Other => "other",
        },
    })
}

/// A letter per instance.
fn matrix_row(of: &Commutation, row: usize) -> String {
    let letter = |column: usize| match of.relation(row, column) {
        Relation::Same => '-',
        Relation::Independent => 'i',
        Relation::Commutes => 'c',
        Relation::Dependent => 'd',
    };
    (0..of.instances.len()).map(letter).collect()
}

fn culprit(culprit: &Culprit) -> Value {
    json!({
        "part": culprit.part,
        "parts": culprit.parts,
        "dependent": culprit.dependent,
        "commuting": culprit.commuting,
        "why": why(culprit.example.why),
        "example": culprit.example.text,
        "example_pair": [culprit.example.writer, culprit.example.other],
    })
}

/// The word for what two instances have to do with each other.
pub fn relation(relation: Relation) -> &'static str {
    match relation {
        Relation::Same => "same",
        Relation::Independent => "independent",
        Relation::Commutes => "commuting",
        Relation::Dependent => "dependent",
    }
}

/// The word for a kind of reason.
pub fn why(why: Why) -> &'static str {
    match why {
        Why::Same => "same",
        Why::BothWrite => "both-write",
        Why::Guard => "guard-reads",
        Why::Body => "body-reads",
        Why::Priority => "priority",
        Why::Assumption => "assumption",
        Why::Coarse => "coarse",
    }
}
