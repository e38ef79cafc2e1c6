//! Results for people.

use crate::flags::{RulesArg, TraceArg};
use crate::paint::Paint;
use ergodic_driver::{
    Assurance, Diagnostic, Finding, FindingKind, Model, Reason, Report, RuleStats, TraceStep,
    UNDEFINED, Verdict, render,
};
use std::fmt::Write;

/// How a report is shown.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Counterexamples.
    pub trace: TraceArg,
    /// Rule statistics.
    pub rules: RulesArg,
    /// Colours.
    pub paint: Paint,
}

/// A whole report.
pub fn report(model: &Model, report: &Report, style: Style) -> String {
    let mut out = String::new();
    headline(&mut out, model, report, style.paint);
    for (i, finding) in report.findings.iter().enumerate() {
        if report.findings.len() > 1 {
            let _ = writeln!(out, "\nViolation {} of {}", i + 1, report.findings.len());
        }
        self::finding(&mut out, model, finding, style);
    }
    counts(&mut out, report);
    figures(&mut out, report);
    covers(&mut out, model, report);
    rules(&mut out, &report.rules, style.rules);
    for note in &report.notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

fn headline(out: &mut String, model: &Model, report: &Report, paint: Paint) {
    let name = &model.name;
    let visited = match report.stats.reduction {
        "stubborn" => "every state that can decide it",
        _ => "every reachable state",
    };
    let _ = match &report.verdict {
        Verdict::Holds(Assurance::Exact) => writeln!(
            out,
            "{name}: {} – {visited} was visited and nothing went wrong",
            paint.good("holds")
        ),
        Verdict::Holds(Assurance::OmissionBound(p)) => writeln!(
            out,
            "{name}: {} – with probability at most {p:.3e} that a state was omitted",
            paint.good("holds")
        ),
        Verdict::Violated => {
            let what = report.findings.first().map(Finding::title).unwrap_or_default();
            writeln!(out, "{name}: {} – {what}", paint.bad("violated"))
        }
        Verdict::Incomplete(reason @ Reason::Partial(_)) => {
            writeln!(
                out,
                "{name}: {} – {reason}; nothing went wrong in them",
                paint.warn("incomplete")
            )
        }
        Verdict::Incomplete(reason) => writeln!(
            out,
            "{name}: {} – {reason}; nothing went wrong in the states visited, but not all were",
            paint.warn("incomplete")
        ),
    };
}

/// One violation with its counterexample.
pub fn finding(out: &mut String, model: &Model, finding: &Finding, style: Style) {
    let mut diagnostic = Diagnostic::error(finding.message.clone());
    if let Some(span) = finding.span {
        let label = match finding.kind {
            FindingKind::Invariant => "this does not hold in a reachable state",
            FindingKind::Liveness => "no state with this can be reached any more",
            FindingKind::Cover => "no reachable state has this",
            FindingKind::Deadlock => "",
            FindingKind::Assertion | FindingKind::Error | FindingKind::Fault => "here",
        };
        diagnostic = diagnostic.at(span, label);
    }
    if let Some(help) = &finding.help {
        diagnostic = diagnostic.help(help.clone());
    }
    let _ = writeln!(out, "\n{}", render(&diagnostic, &model.sources, style.paint.on).trim_end());
    if finding.trace.is_empty() || style.trace == TraceArg::Off {
        return;
    }
    let steps = finding.trace.len() - 1;
    let plural = if steps == 1 { "" } else { "s" };
    let quality = if finding.shortest { ", the fewest to this violation" } else { "" };
    let _ = writeln!(out, "\nCounterexample: {steps} step{plural}{quality}; replayed.\n");
    trace(out, model, &finding.trace, style);
}

/// The steps of a counterexample or walk.
pub fn trace(out: &mut String, model: &Model, steps: &[TraceStep], style: Style) {
    for (i, step) in steps.iter().enumerate() {
        let previous = i.checked_sub(1).map(|p| &steps[p]);
        trace_step(out, model, i, previous, step, style);
    }
}

/// One step: the rule, what it printed, and the state after it.
pub fn trace_step(
    out: &mut String,
    model: &Model,
    number: usize,
    previous: Option<&TraceStep>,
    step: &TraceStep,
    style: Style,
) {
    let mut title = step.rule.clone();
    for (name, value) in &step.params {
        let _ = write!(title, ", {name}: {value}");
    }
    let place = model.place(step.span);
    let _ =
        writeln!(out, "{number:>4}  {}  {}", style.paint.strong(&title), style.paint.faint(&place));
    for line in step.output.lines() {
        let _ = writeln!(out, "        | {line}");
    }
    if step.faulted {
        let _ = writeln!(out, "        (the step did not end; the state as far as it came)");
    }
    match (previous, style.trace) {
        (_, TraceArg::Off) => {}
        (Some(previous), TraceArg::Diff) => changes(out, previous, step),
        (_, trace) => full_state(out, step, trace == TraceArg::Full),
    }
}

fn changes(out: &mut String, previous: &TraceStep, step: &TraceStep) {
    let old: std::collections::BTreeMap<&str, &Option<String>> =
        previous.state.iter().map(|leaf| (leaf.name.as_str(), &leaf.value)).collect();
    let new: std::collections::BTreeSet<&str> =
        step.state.iter().map(|leaf| leaf.name.as_str()).collect();
    let mut any = false;
    for leaf in &previous.state {
        if !new.contains(leaf.name.as_str()) {
            any = true;
            let _ = writeln!(out, "        {}: {} -> gone", leaf.name, value(&leaf.value));
        }
    }
    for leaf in &step.state {
        match old.get(leaf.name.as_str()) {
            Some(before) if **before == leaf.value => continue,
            Some(before) => {
                let _ = writeln!(
                    out,
                    "        {}: {} -> {}",
                    leaf.name,
                    value(before),
                    value(&leaf.value)
                );
            }
            None => {
                let _ = writeln!(out, "        {}: {}", leaf.name, value(&leaf.value));
            }
        }
        any = true;
    }
    if !any {
        let _ = writeln!(out, "        (no change)");
    }
}

fn full_state(out: &mut String, step: &TraceStep, with_undefined: bool) {
    let mut hidden = 0;
    for leaf in &step.state {
        if leaf.value.is_some() || with_undefined {
            let _ = writeln!(out, "        {}: {}", leaf.name, value(&leaf.value));
        } else {
            hidden += 1;
        }
    }
    if hidden > 0 {
        let _ = writeln!(out, "        ({hidden} undefined, not shown; --trace full shows all)");
    }
}

fn value(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or(UNDEFINED)
}

fn counts(out: &mut String, report: &Report) {
    let s = &report.stats;
    let left = |text: String| format!("{text:<22}");
    let _ = writeln!(out);
    let _ = writeln!(
        out,
        "  states       {}transitions   {}",
        left(thousands(s.states)),
        thousands(s.transitions)
    );
    let depth = if s.search == "dfs" { "deepest path" } else { "depth" };
    let _ = writeln!(
        out,
        "  {depth:<13}{}max frontier  {}",
        left(thousands(s.depth)),
        thousands(s.max_frontier)
    );
    let store = format!(
        "{}, {:.1} bytes per state ({})",
        bytes(s.store_bytes),
        s.bytes_per_state(),
        s.store
    );
    let _ = writeln!(
        out,
        "  state        {}memory        {store}",
        left(format!("{} bits", s.state_bits))
    );
    let _ = writeln!(
        out,
        "  time         {}speed         {} states/s, {} transitions/s",
        left(format!("{:.3} s", s.elapsed.as_secs_f64())),
        thousands(s.states_per_second() as u64),
        thousands((s.transitions as f64 / s.elapsed.as_secs_f64().max(1e-9)) as u64)
    );
    let threads =
        if s.threads == 1 { "1 thread".to_string() } else { format!("{} threads", s.threads) };
    let reduced = match (s.reduction, s.compressed) {
        ("none", false) => String::new(),
        ("none", true) => " with compressed paths".to_string(),
        (reduction, _) => format!(" with {reduction} sets"),
    };
    let peak = s.peak_memory.map(|b| format!(", peak memory {}", bytes(b))).unwrap_or_default();
    let _ = writeln!(
        out,
        "  engine       {}, {}{reduced}, {threads}, ready in {:.0} ms{peak}",
        s.engine,
        s.search,
        s.compile.as_secs_f64() * 1e3
    );
}

/// What the store measured about itself.
fn figures(out: &mut String, report: &Report) {
    let figures = &report.stats.figures;
    let width = figures.iter().map(|figure| figure.title.chars().count()).max().unwrap_or(0);
    if !figures.is_empty() {
        let _ = writeln!(out);
    }
    for figure in figures {
        let number = match figure.value {
            v if figure.key.contains("bytes_") && !figure.key.contains("per") => bytes(v as u64),
            v if figure.key == "disk_bytes" => bytes(v as u64),
            v if v.fract() == 0.0 && v.abs() < 1e15 => thousands(v as u64),
            v if v != 0.0 && v.abs() < 1e-3 => format!("{v:.3e}"),
            v => format!("{v:.4}"),
        };
        let _ = writeln!(out, "  {:<width$}  {number}", figure.title);
    }
}

fn covers(out: &mut String, model: &Model, report: &Report) {
    if report.covers.is_empty() {
        return;
    }
    let names: Vec<String> =
        report.covers.iter().map(|c| format!("{} ({})", c.name, model.place(c.span))).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(20);
    let _ = writeln!(out, "\n  {:<width$} {:>14}", "cover goal", "met");
    for (name, cover) in names.iter().zip(&report.covers) {
        let _ = writeln!(out, "  {name:<width$} {:>14}", thousands(cover.hits));
    }
}

/// Rules listed in full by `--rules auto`.
const FEW_RULES: usize = 24;

fn rules(out: &mut String, rules: &[RuleStats], which: RulesArg) {
    if which == RulesArg::Off || rules.is_empty() {
        return;
    }
    let mut listed: Vec<&RuleStats> = rules.iter().collect();
    let mut left_out = 0;
    if which == RulesArg::Auto && rules.len() > FEW_RULES {
        listed.sort_by_key(|rule| std::cmp::Reverse(rule.fired));
        listed.truncate(FEW_RULES / 2);
        left_out = rules.len() - listed.len();
    }
    let width =
        listed.iter().map(|rule| rule.name.chars().count()).max().unwrap_or(0).clamp(20, 60);
    let _ = writeln!(out, "\n  {:<width$} {:>14} {:>14}", "rule", "fired", "new states");
    for rule in listed {
        let name = shortened(&rule.name, width);
        let _ = writeln!(
            out,
            "  {name:<width$} {:>14} {:>14}",
            thousands(rule.fired),
            thousands(rule.fresh)
        );
    }
    if left_out > 0 {
        let _ = writeln!(out, "  … and {left_out} other rules; --rules all lists them");
    }
}

/// A number with its digits in groups of three.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A part of a whole.
pub fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// A text of at most so many characters, with a mark where it was cut.
pub fn shortened(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_string(),
    }
}

/// An amount of memory.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(bytes(1536), "1.5 KiB");
    }
}
