//! `ergodic explain`: what is known about a model before it is explored. One topic so far: which rule
//! instances commute.

mod json;
mod page;
mod pair;
mod text;

use crate::flags::{ExplainArgs, IndependenceArgs, ReportFormat, Topic};
use crate::paint::Paint;
use crate::text::percent;
use crate::{bad_model, complain, deliver, exit, refuse, warn};
use ergodic_driver::independence::{Causes, Commutation, Counts, UnknownName};
use ergodic_driver::{Diagnostic, Model, load};

/// Runs the command.
pub fn run(args: &ExplainArgs) -> u8 {
    match &args.topic {
        Topic::Independence(args) => independence(args),
    }
}

/// Everything that is shown.
struct Found<'m> {
    model: &'m Model,
    of: Commutation,
    counts: Counts,
    causes: Causes,
}

fn independence(args: &IndependenceArgs) -> u8 {
    let output = args.format.messages(args.color);
    if args.pair.is_some() && args.format == ReportFormat::Html {
        complain("error: there is no page for one pair\nhelp: use --format text or json");
        return exit::BAD_INPUT;
    }
    let model = match load(&args.path, &args.model.load_options()) {
        Ok(model) => model,
        Err(bad) => return bad_model(&args.path, &bad, &output),
    };
    warn(&model, &model.warnings, &output);
    let shown = match &args.pair {
        Some(names) => pair::show(&model, names, args),
        None => Commutation::new(&model, &args.rules).map(|of| whole(&model, of, args)),
    };
    match shown {
        Ok(text) if deliver(&text, args.output.as_deref(), "explanation") => exit::HOLDS,
        Ok(_) => exit::BAD_INPUT,
        Err(unknown) => {
            refuse(&model, unknown_name(&unknown), &output);
            exit::BAD_INPUT
        }
    }
}

fn whole(model: &Model, of: Commutation, args: &IndependenceArgs) -> String {
    let (counts, causes) = (of.counts(), Causes::new(&of));
    let found = Found { model, of, counts, causes };
    match args.format {
        ReportFormat::Text => {
            text::report(&found, Paint::for_file(args.output.as_deref(), args.color))
        }
        ReportFormat::Json => format!("{:#}\n", json::object(&found)),
        ReportFormat::Html => page::page(&found),
    }
}

fn unknown_name(unknown: &UnknownName) -> Diagnostic {
    let help = match unknown.near.as_slice() {
        [] => "without --pair and --rule, all rules are shown".to_string(),
        near => {
            let quoted: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
            format!("did you mean {}?", quoted.join(" or "))
        }
    };
    Diagnostic::error(format!("no rule or rule instance is named `{}`", unknown.name)).help(help)
}

/// Sleep sets are worth a try if this part of all pairs is independent, and hardly help below the
/// other. Pairs that only commute are left out: most of them are never enabled together, and models
/// with many of them saved nothing. The numbers are a rule of thumb from runs over some models, which
/// the manual lists with those that it gets wrong.
const MUCH: f64 = 0.5;
const LITTLE: f64 = 0.2;

/// Whether sleep sets are worth a try.
fn advice(found: &Found<'_>) -> String {
    let counts = &found.counts;
    if found.of.too_many() {
        return "Sleep sets are not possible: there are too many rule instances.".to_string();
    }
    if counts.pairs == 0 {
        return "Sleep sets cannot help: there are no two rule instances.".to_string();
    }
    let part = counts.usable_independent as f64 / counts.pairs as f64;
    let share = percent(counts.usable_independent, counts.pairs);
    let start = if part < LITTLE {
        "Sleep sets will hardly help: there is little independence"
    } else if part < MUCH {
        "Sleep sets may help or not: there is some independence"
    } else {
        "Sleep sets are worth a try (--reduction sleep): there is much independence"
    };
    format!(
        "{start} ({share} of the pairs are independent and of use to them). What they save depends on how often such \
         instances are enabled together, which only a run can tell."
    )
}

/// What a reader of the figures must know.
fn remarks(found: &Found<'_>) -> Vec<String> {
    let counts = &found.counts;
    let mut out = Vec::new();
    if found.of.is_lumped() {
        out.push("there are too many rules to tell any of them apart".to_string());
    }
    if counts.merged > 0 {
        out.push(format!(
            "{} stand for several firings each, because a parameter (shown as `*`) runs over a \
             multiset or there are too many: sleep sets do not use their pairs",
            some(counts.merged)
        ));
    }
    if counts.coarse > 0 {
        out.push(format!(
            "{} have code that is too complex to follow: they are taken to touch everything that \
             their rule could",
            some(counts.coarse)
        ));
    }
    out
}

fn some(instances: u64) -> String {
    let plural = if instances == 1 { "" } else { "s" };
    format!("{} instance{plural}", crate::text::thousands(instances))
}

/// The name of a part of the state, for people.
fn part_name(part: &str) -> &str {
    if part.is_empty() { "(too much to tell apart)" } else { part }
}

/// What an explanation is of, in one line.
fn title(found: &Found<'_>) -> String {
    let rules = found.of.rules.len();
    let plural = if rules == 1 { "" } else { "s" };
    format!("{} of {rules} rule{plural}", some(found.of.instances.len() as u64))
}
