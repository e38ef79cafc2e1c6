//! `ergodic profile`: what the state space of a model looks like, as text, JSON or a page.

use crate::flags::{ProfileArgs, ReportFormat};
use crate::paint::Paint;
use crate::progress::{Line, interrupt};
use crate::text::{percent, shortened, thousands};
use crate::{bad_model, deliver, exit, failed, json, page, warn};
use ergodic_driver::{Model, Profile, Scope, VariableStats, load, profile};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::IsTerminal;

/// Runs the command.
pub fn run(args: &ProfileArgs) -> u8 {
    let output = args.format.messages(args.color);
    let model = match load(&args.path, &args.model.load_options()) {
        Ok(model) => model,
        Err(bad) => return bad_model(&args.path, &bad, &output),
    };
    warn(&model, &model.warnings, &output);
    let options = args.profile_options();
    let visible = !args.no_progress && std::io::stderr().is_terminal();
    let mut line = Line::new(visible, interrupt(), options.max_states);
    let result = profile(&model, &options, &mut line);
    line.clear();
    let found = match result {
        Ok(found) => found,
        Err(error) => return failed(&model, &error, &output),
    };
    let text = match args.format {
        ReportFormat::Text => {
            report(&model, &found, Paint::for_file(args.output.as_deref(), args.color))
        }
        ReportFormat::Json => format!("{:#}\n", object(&model, &found)),
        ReportFormat::Html => page::page(&model, &found),
    };
    if !deliver(&text, args.output.as_deref(), "profile") {
        return exit::BAD_INPUT;
    }
    warn(&model, &found.warnings, &output);
    match found.scope {
        Scope::Whole | Scope::UntilViolation(_) => exit::HOLDS,
        Scope::Part(_) => exit::INCOMPLETE,
    }
}

/// What a profile is of, in one sentence.
pub fn scope(found: &Profile) -> String {
    let states = thousands(found.states);
    match &found.scope {
        Scope::Whole => format!("all {states} reachable states"),
        Scope::UntilViolation(name) => {
            format!("the {states} states up to the first violation (\"{name}\")")
        }
        Scope::Part(reason) => format!("a part ({states} found) – {reason}"),
    }
}

/// Names in a remark.
const FEW: usize = 4;

/// What a reader of the figures must know.
pub fn remarks(found: &Profile) -> Vec<String> {
    let mut out = Vec::new();
    let measured = found.locality.states;
    if measured < found.states {
        out.push(format!(
            "locality and branching are those of the first {} states, expanded to the end and measured",
            thousands(measured)
        ));
    }
    if found.faults > 0 {
        let plural = if found.faults == 1 { "" } else { "s" };
        out.push(format!(
            "rules fault ({} kind{plural} of fault): their successors are left out; \
             `ergodic check` shows them",
            found.faults
        ));
    }
    let hidden = |v: &VariableStats| v.permuted && found.symmetry != "off";
    let free = |v: &&VariableStats| v.constant() && v.possible != Some(1) && !hidden(v);
    let fixed: Vec<&str> = found.variables.iter().filter(free).map(|v| v.name.as_str()).collect();
    if !fixed.is_empty() && found.scope == Scope::Whole {
        let more = if fixed.len() > FEW { ", …" } else { "" };
        out.push(format!(
            "never changed, though its type allows it: {} of {} variables ({}{more})",
            fixed.len(),
            found.variables.len(),
            fixed[..fixed.len().min(FEW)].join(", ")
        ));
    }
    out.extend(found.notes.iter().cloned());
    out
}

/// Mean firings per state that was expanded to the end.
pub fn branching(found: &Profile) -> f64 {
    found.locality.firings as f64 / found.locality.states.max(1) as f64
}

/// Fewest and most firings in a state.
pub fn extremes(found: &Profile) -> (u64, u64) {
    let counts = &found.locality.branching;
    let first = counts.first_key_value().map_or(0, |(firings, _)| *firings);
    (first, counts.last_key_value().map_or(0, |(firings, _)| *firings))
}

/// How many of how many values are used.
pub fn used(variable: &VariableStats) -> String {
    let least = if variable.more { "≥ " } else { "" };
    let count = format!("{least}{}", thousands(variable.used));
    match variable.possible {
        Some(possible) => format!("{count} of {}", thousands(possible)),
        None => count,
    }
}

/// What else there is to say about a variable.
pub fn note(variable: &VariableStats) -> String {
    let range = variable.range.as_ref().map(|(low, high)| match low == high {
        true => low.clone(),
        false => format!("{low} … {high}"),
    });
    let undefined = (variable.undefined).then(|| "undefined at times".to_string());
    let constant = variable.constant().then(|| "one value only".to_string());
    let undefined = if variable.used == 0 && variable.undefined {
        Some("always undefined".to_string())
    } else {
        undefined
    };
    [range, undefined, constant].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Lines of a table in the text; longer ones are shortened.
const MANY: usize = 24;

/// The profile for people.
fn report(model: &Model, found: &Profile, paint: Paint) -> String {
    let mut out = String::new();
    let part = matches!(found.scope, Scope::Part(_));
    let title = if part { paint.warn("incomplete profile") } else { paint.good("profile") };
    let _ = writeln!(out, "{}: {title} of {}", model.name, scope(found));
    summary(&mut out, found);
    locality_table(&mut out, found, paint);
    level_table(&mut out, found, paint);
    branching_table(&mut out, found, paint);
    rule_table(&mut out, found, paint);
    variable_table(&mut out, found, paint);
    let remarks = remarks(found);
    if !remarks.is_empty() {
        out.push('\n');
    }
    for remark in remarks {
        let _ = writeln!(out, "note: {remark}");
    }
    out
}

fn summary(out: &mut String, found: &Profile) {
    let l = &found.locality;
    let (fewest, most) = extremes(found);
    out.push('\n');
    let mut pair = |left: &str, value: String, right: &str, other: String| {
        let _ = writeln!(out, "  {left:<13}{value:<22}{right:<14}{other}");
    };
    pair("states", thousands(found.states), "transitions", thousands(found.transitions));
    pair("depth", thousands(found.depth), "max frontier", thousands(found.max_frontier));
    let branching = format!("{:.2} on average, {fewest} to {most}", branching(found));
    pair("state", format!("{} bits", found.state_bits), "branching", branching);
    pair("dead ends", thousands(l.stuck + l.idle), "self-loops", thousands(l.loops));
    pair(
        "time",
        format!("{:.3} s", found.elapsed.as_secs_f64()),
        "engine",
        format!("{}, symmetry {}", found.engine, found.symmetry),
    );
}

fn bar(part: u64, most: u64) -> String {
    const WIDTH: u64 = 24;
    let eighths = (part as f64 / most.max(1) as f64 * (8 * WIDTH) as f64).round() as usize;
    let mut bar = "█".repeat(eighths / 8);
    bar.extend(['▏', '▎', '▍', '▌', '▋', '▊', '▉'].get((eighths % 8).wrapping_sub(1)));
    if bar.is_empty() && part > 0 { "▏".to_string() } else { bar }
}

fn locality_table(out: &mut String, found: &Profile, paint: Paint) {
    let l = &found.locality;
    let title = "locality: steps by k = level of the target − level of the source";
    let _ = writeln!(out, "\n  {}", paint.strong(title));
    let heads = ("k", "steps", "of all", "E{Δ(k)}", "σ(k)");
    let _ = writeln!(
        out,
        "  {:>6} {:>14} {:>9} {:>13} {:>13}",
        heads.0, heads.1, heads.2, heads.3, heads.4
    );
    let occurring = |(i, delta): &(usize, &ergodic_driver::Delta)| *i < 3 || delta.steps > 0;
    let rows: Vec<_> = l.deltas.iter().enumerate().filter(occurring).collect();
    let shown = if rows.len() > MANY { MANY / 2 } else { rows.len() };
    for (i, delta) in &rows[..shown] {
        let (mean, deviation) = (delta.mean(l.states), delta.deviation(l.states));
        let part = percent(delta.steps, l.steps());
        let _ = writeln!(
            out,
            "  {:>6} {:>14} {part:>9} {:>13} {:>13}",
            k_of(*i),
            thousands(delta.steps),
            six_digits(mean),
            six_digits(deviation)
        );
    }
    if let (Some((i, _)), rest) = (rows.last(), &rows[shown..])
        && !rest.is_empty()
    {
        let steps: u64 = rest.iter().map(|(_, delta)| delta.steps).sum();
        let part = percent(steps, l.steps());
        let least = k_of(*i);
        let _ = writeln!(out, "  {:>6} {:>14} {part:>9}  down to {least}", "…", thousands(steps));
    }
    let _ = writeln!(out, "  SumAvg (k = −1, 0, 1)           {:>13}", six_digits(l.local()));
}

/// The k of an entry of the table, for people.
pub fn k_of(entry: usize) -> String {
    (1 - entry as i64).to_string().replace('-', "−")
}

/// Six significant digits, as the paper prints them.
pub fn six_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    let decimals = 5 - value.abs().log10().floor() as i32;
    if decimals > 9 {
        return format!("{value:.5e}");
    }
    let text = format!("{value:.*}", decimals.max(0) as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn level_table(out: &mut String, found: &Profile, paint: Paint) {
    let _ = writeln!(out, "\n  {}", paint.strong("levels"));
    let _ = writeln!(
        out,
        "  {:>6} {:>14} {:>9} {:>9} {:>9} {:>9}",
        "level", "states", "k = 1", "k = 0", "k = −1", "further"
    );
    let stride = found.levels.len().div_ceil(MANY).max(1);
    for (level, states) in found.levels.iter().enumerate().step_by(stride) {
        let parts = level_parts(found, level);
        let shares = parts.map(|part| percent(part, parts.iter().sum()));
        let _ = writeln!(
            out,
            "  {level:>6} {:>14} {:>9} {:>9} {:>9} {:>9}  {}",
            thousands(*states),
            shares[0],
            shares[1],
            shares[2],
            shares[3],
            bar(*states, found.max_frontier)
        );
    }
    if stride > 1 {
        let _ = writeln!(out, "  (one of {stride} levels; --format json has all)");
    }
}

/// Steps of a level with k = 1, 0, −1 and below.
pub fn level_parts(found: &Profile, level: usize) -> [u64; 4] {
    let mut parts = [0; 4];
    for (k, count) in found.locality.levels.get(level).map_or(&[][..], |l| &l.steps) {
        let class = usize::try_from(1 - k).map_or(3, |i| i.min(3));
        parts[class] += count;
    }
    parts
}

fn branching_table(out: &mut String, found: &Profile, paint: Paint) {
    let counts = &found.locality.branching;
    let _ = writeln!(out, "\n  {}", paint.strong("branching: rule firings per state"));
    let _ = writeln!(out, "  {:>9} {:>14} {:>9}", "firings", "states", "of all");
    let width = counts.len().div_ceil(MANY).max(1);
    let all: Vec<(u64, u64)> = counts.iter().map(|(firings, states)| (*firings, *states)).collect();
    let sum = |group: &[(u64, u64)]| group.iter().map(|(_, states)| states).sum::<u64>();
    let most = all.chunks(width).map(sum).max().unwrap_or(0);
    for group in all.chunks(width) {
        let (first, last) = (group[0].0, group[group.len() - 1].0);
        let name = if first == last { first.to_string() } else { format!("{first}–{last}") };
        let states = sum(group);
        let part = percent(states, found.locality.states);
        let (count, bar) = (thousands(states), bar(states, most));
        let _ = writeln!(out, "  {name:>9} {count:>14} {part:>9}  {bar}");
    }
}

fn rule_table(out: &mut String, found: &Profile, paint: Paint) {
    let mut rules: Vec<_> = found.rules.iter().collect();
    if rules.len() > MANY {
        rules.sort_by_key(|rule| std::cmp::Reverse((rule.fresh, rule.fired)));
    }
    let width = rules.iter().map(|rule| rule.name.chars().count()).max().unwrap_or(0);
    let width = width.clamp(20, 48);
    let _ = writeln!(
        out,
        "\n  {}{} {:>14} {:>14} {:>9}",
        paint.strong("rule"),
        " ".repeat(width - 4),
        "fired",
        "new states",
        "of fired"
    );
    let most = rules.iter().map(|rule| rule.fresh).max().unwrap_or(0);
    for rule in rules.iter().take(MANY) {
        let _ = writeln!(
            out,
            "  {:<width$} {:>14} {:>14} {:>9}  {}",
            shortened(&rule.name, width),
            thousands(rule.fired),
            thousands(rule.fresh),
            percent(rule.fresh, rule.fired),
            bar(rule.fresh, most)
        );
    }
    left_out(out, rules.len(), "rules");
}

fn variable_table(out: &mut String, found: &Profile, paint: Paint) {
    let variables = &found.variables;
    let width = variables.iter().take(MANY).map(|v| v.name.chars().count()).max().unwrap_or(0);
    let width = width.clamp(20, 48);
    let _ = writeln!(
        out,
        "\n  {}{} {:>5} {:>18}",
        paint.strong("variable"),
        " ".repeat(width - 8),
        "bits",
        "values used"
    );
    for variable in variables.iter().take(MANY) {
        let name = shortened(&variable.name, width);
        let line = format!(
            "  {name:<width$} {:>5} {:>18}  {}",
            variable.bits,
            used(variable),
            note(variable)
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    left_out(out, variables.len(), "variables");
    let hidden = variables.iter().skip(MANY).filter(|v| v.constant()).count();
    if hidden > 0 {
        let _ = writeln!(out, "  {hidden} of those have one value only");
    }
}

fn left_out(out: &mut String, count: usize, what: &str) {
    if count > MANY {
        let rest = count - MANY;
        let _ = writeln!(out, "  … and {rest} other {what}; --format json and html have all");
    }
}

/// The profile for programs.
fn object(model: &Model, found: &Profile) -> Value {
    let (scope, reason) = match &found.scope {
        Scope::Whole => ("whole", None),
        Scope::UntilViolation(name) => ("until-violation", Some(name.clone())),
        Scope::Part(reason) => ("part", Some(reason.to_string())),
    };
    let (fewest, most) = extremes(found);
    json!({
        "version": json::VERSION,
        "tool": concat!("ergodic ", env!("CARGO_PKG_VERSION")),
        "kind": "profile",
        "model": model.name,
        "scope": scope,
        "reason": reason,
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "max_frontier": found.max_frontier,
        "state_bits": found.state_bits,
        "faults": found.faults,
        "seconds": found.elapsed.as_secs_f64(),
        "engine": found.engine,
        "symmetry": found.symmetry,
        "locality": locality_object(found),
        "levels": levels(found),
        "branching": {
            "mean": branching(found),
            "min": fewest,
            "max": most,
            "histogram": found.locality.branching.iter()
                .map(|(firings, states)| json!({ "firings": firings, "states": states }))
                .collect::<Vec<_>>(),
        },
        "rules": found.rules.iter().map(|r| json!({
            "name": r.name, "instances": r.instances, "fired": r.fired, "new": r.fresh,
        })).collect::<Vec<_>>(),
        "variables": found.variables.iter().map(variable).collect::<Vec<_>>(),
        "notes": remarks(found),
    })
}

fn locality_object(found: &Profile) -> Value {
    let l = &found.locality;
    let rows = l.deltas.iter().enumerate().filter(|(i, delta)| *i < 3 || delta.steps > 0);
    let row = |(i, delta): (usize, &ergodic_driver::Delta)| {
        json!({
            "k": 1 - i as i64,
            "steps": delta.steps,
            "mean": delta.mean(l.states),
            "deviation": delta.deviation(l.states),
        })
    };
    json!({
        "states": l.states,
        "firings": l.firings,
        "self_loops": l.loops,
        "stuck_states": l.stuck,
        "idle_states": l.idle,
        "steps": l.steps(),
        "sum_avg": l.local(),
        "by_k": rows.map(row).collect::<Vec<_>>(),
    })
}

fn levels(found: &Profile) -> Vec<Value> {
    let level = |(i, states): (usize, &u64)| {
        let own = found.locality.levels.get(i);
        let steps = own.map_or(&[][..], |own| &own.steps);
        json!({
            "states": states,
            "expanded": own.map_or(0, |own| own.states),
            "self_loops": own.map_or(0, |own| own.loops),
            "by_k": steps.iter().map(|(k, count)| json!({ "k": k, "steps": count }))
                .collect::<Vec<_>>(),
        })
    };
    found.levels.iter().enumerate().map(level).collect()
}

fn variable(variable: &VariableStats) -> Value {
    json!({
        "name": variable.name,
        "bits": variable.bits,
        "possible": variable.possible,
        "used": variable.used,
        "used_is_lower_bound": variable.more,
        "undefined": variable.undefined,
        "lowest": variable.range.as_ref().map(|(low, _)| low),
        "highest": variable.range.as_ref().map(|(_, high)| high),
        "constant": variable.constant(),
        "permuted": variable.permuted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_are_those_of_the_paper() {
        let texts = [0.958174, 0.0877715, 1.53327e-5, 0.122, 0.0, 0.00556];
        let shown = texts.map(six_digits);
        assert_eq!(shown, ["0.958174", "0.0877715", "1.53327e-5", "0.122", "0", "0.00556"]);
    }

    #[test]
    fn bars_grow() {
        assert_eq!(
            (bar(0, 10), bar(1, 100_000), bar(5, 10)),
            (String::new(), "▏".into(), "█".repeat(12))
        );
        assert_eq!(bar(10, 10), "█".repeat(24));
    }
}
