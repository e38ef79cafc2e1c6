//! Why two instances, or the instances of two rules, depend on each other.

use crate::flags::{IndependenceArgs, ReportFormat};
use crate::json::VERSION;
use crate::paint::Paint;
use crate::text::thousands;
use ergodic_driver::Model;
use ergodic_driver::independence::{Cause, Commutation, Relation, UnknownName, pattern};
use serde_json::{Value, json};
use std::fmt::Write;

/// What there is between the instances of two names.
#[derive(Default)]
struct Between {
    independent: u64,
    commuting: u64,
    dependent: u64,
    /// By form of part and relation, with the number of pairs, the most first.
    causes: Vec<(u64, Relation, Cause)>,
}

/// Parts in the text.
const FEW: usize = 8;

/// The answer for two names.
pub fn show(
    model: &Model,
    names: &[String],
    args: &IndependenceArgs,
) -> Result<String, UnknownName> {
    let of = Commutation::new(model, &[])?;
    let [a, b] = [names.first(), names.last()].map(|name| name.map_or("", String::as_str));
    let (left, right) = (of.find(a)?, of.find(b)?);
    let found = between(&of, &left, &right);
    let title = |name: &str, ids: &[usize]| match ids {
        [one] => of.instances[*one].name.clone(),
        _ => name.trim().to_string(),
    };
    let titles = [title(a, &left), title(b, &right)];
    Ok(match args.format {
        ReportFormat::Json => format!("{:#}\n", object(model, &titles, &found)),
        ReportFormat::Text | ReportFormat::Html => {
            let paint = Paint::for_file(args.output.as_deref(), args.color);
            report(&titles, &found, left.len() == 1 && left == right, paint)
        }
    })
}

fn between(of: &Commutation, left: &[usize], right: &[usize]) -> Between {
    let mut found = Between::default();
    let mut seen = std::collections::HashSet::new();
    for (a, b) in left.iter().flat_map(|a| right.iter().map(|b| (*a, *b))) {
        // Of a rule and itself each pair comes twice.
        if a == b || !seen.insert((a.min(b), a.max(b))) {
            continue;
        }
        let relation = of.relation(a, b);
        match relation {
            Relation::Same => {}
            Relation::Independent => found.independent += 1,
            Relation::Commutes => found.commuting += 1,
            Relation::Dependent => found.dependent += 1,
        }
        let Some(cause) = of.cause(a, b) else { continue };
        let form = pattern(&cause.part);
        let like = |(_, r, c): &&mut (u64, Relation, Cause)| {
            *r == relation && c.why == cause.why && pattern(&c.part) == form
        };
        match found.causes.iter_mut().find(like) {
            Some(known) => known.0 += 1,
            None => found.causes.push((1, relation, cause)),
        }
    }
    let weight = |(pairs, relation, _): &(u64, Relation, Cause)| {
        (*relation != Relation::Dependent, std::cmp::Reverse(*pairs))
    };
    found.causes.sort_by_key(weight);
    found
}

fn report([a, b]: &[String; 2], found: &Between, same: bool, paint: Paint) -> String {
    let pairs = found.independent + found.commuting + found.dependent;
    match (pairs, found.causes.first()) {
        (0, _) if same => format!("{a} is one instance: it is not independent of itself\n"),
        (0, _) => format!("{a} and {b}: there is no pair of different instances\n"),
        (1, None) => {
            format!(
                "{a} and {b}: {}\n\n  neither has an effect on the other: it does not enable or disable it,\n  and both orders lead to the same state\n",
                paint.good("independent")
            )
        }
        (1, Some((_, Relation::Dependent, cause))) => {
            format!("{a} and {b}: {}\n\n  {}\n", paint.bad("dependent"), cause.text)
        }
        (1, Some((_, _, cause))) => format!(
            "{a} and {b}: {} wherever both are enabled\n\n  They are not independent: {}.\n  But they \
             are never enabled together, or both orders lead to the same state.\n",
            paint.warn("commute"),
            cause.text
        ),
        _ => many(a, b, pairs, found, paint),
    }
}

fn many(a: &str, b: &str, pairs: u64, found: &Between, paint: Paint) -> String {
    let mut out = format!(
        "{a} and {b}: {} pairs of instances\n\n  {:>9} independent\n  {:>9} commute wherever both are \
         enabled\n  {:>9} dependent\n",
        thousands(pairs),
        thousands(found.independent),
        thousands(found.commuting),
        thousands(found.dependent)
    );
    for (heading, dependent) in
        [("why pairs are dependent", true), ("in spite of this, pairs commute", false)]
    {
        let some = || found.causes.iter().filter(|c| (c.1 == Relation::Dependent) == dependent);
        if some().next().is_some() {
            let _ = writeln!(out, "\n  {}", paint.strong(heading));
        }
        for (pairs, _, cause) in some().take(FEW) {
            let eg = if *pairs == 1 { "" } else { "e.g. " };
            let _ = writeln!(out, "  {:>9} {eg}{}", thousands(*pairs), cause.text);
        }
        if some().count() > FEW {
            let _ = writeln!(
                out,
                "          … and {} more; --format json has all",
                some().count() - FEW
            );
        }
    }
    out
}

fn object(model: &Model, names: &[String; 2], found: &Between) -> Value {
    let cause = |(pairs, relation, cause): &(u64, Relation, Cause)| {
        json!({
            "part": pattern(&cause.part),
            "why": super::json::why(cause.why),
            "relation": super::json::relation(*relation),
            "pairs": pairs,
            "example": cause.text,
        })
    };
    json!({
        "version": VERSION,
        "tool": concat!("ergodic ", env!("CARGO_PKG_VERSION")),
        "kind": "independence-pair",
        "model": model.name,
        "names": names,
        "pairs": found.independent + found.commuting + found.dependent,
        "independent": found.independent,
        "commuting": found.commuting,
        "dependent": found.dependent,
        "causes": found.causes.iter().map(cause).collect::<Vec<_>>(),
    })
}
