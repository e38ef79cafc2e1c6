//! A profile as one page of HTML that needs nothing but itself: charts, and tables that can be sorted.
//!
//! Everything that comes from the model goes through [`escape`].

use crate::chart::{Chart, Mark, Series, escape, stacked};
use crate::html::{self, ROWS, number_cell, table_end, table_head};
use crate::profile::{
    branching, extremes, k_of, level_parts, note, remarks, scope, six_digits, used,
};
use crate::text::thousands;
use ergodic_driver::{Delta, Model, Profile, Scope};
use std::fmt::Write;

/// Places in a chart: more levels than this are drawn in groups.
const PLACES: usize = 240;

/// The page.
pub fn page(model: &Model, found: &Profile) -> String {
    let part = matches!(found.scope, Scope::Part(_));
    let mut out = html::head(&model.name, "profile", "");
    html::subtitle(&mut out, &format!("Profile of {}", scope(found)), part);
    tiles(&mut out, found);
    levels(&mut out, found);
    locality(&mut out, found);
    branching_chart(&mut out, found);
    rules(&mut out, found);
    variables(&mut out, found);
    let remarks = remarks(found);
    if !remarks.is_empty() {
        out.push_str("<h2>Notes</h2>\n");
    }
    for remark in remarks {
        let _ = writeln!(out, "<p>{}</p>", escape(&remark));
    }
    let seconds = found.elapsed.as_secs_f64();
    let how = format!("{}, symmetry {}, {seconds:.3} s", found.engine, found.symmetry);
    html::end(&mut out, &how, "");
    out
}

fn tiles(out: &mut String, found: &Profile) {
    let l = &found.locality;
    let (fewest, most) = extremes(found);
    let tiles = [
        (thousands(found.states), "states".to_string()),
        (thousands(found.transitions), "rule firings".to_string()),
        (thousands(found.depth), "depth (last level)".to_string()),
        (thousands(found.max_frontier), "states in the largest level".to_string()),
        (format!("{:.2}", branching(found)), format!("firings per state, {fewest} to {most}")),
        (six_digits(l.local()), "SumAvg: expected part of 1-local steps".to_string()),
        (thousands(l.stuck + l.idle), "states without a way on".to_string()),
        (format!("{} bits", found.state_bits), "per state".to_string()),
    ];
    html::tiles(out, &tiles);
}

/// Levels in at most [`PLACES`] groups of equal size, as ranges.
fn groups(found: &Profile) -> Vec<std::ops::Range<usize>> {
    let count = found.levels.len();
    let size = count.div_ceil(PLACES).max(1);
    (0..count).step_by(size).map(|from| from..count.min(from + size)).collect()
}

fn levels(out: &mut String, found: &Profile) {
    let groups = groups(found);
    let mean = |range: &std::ops::Range<usize>| {
        found.levels[range.clone()].iter().sum::<u64>() as f64 / range.len() as f64
    };
    let mark = if groups.len() <= 80 { Mark::Column } else { Mark::Area };
    let values = groups.iter().map(|range| (range.start as f64, mean(range)));
    let sizes = Chart {
        label: "states per level".to_string(),
        x_title: "level".to_string(),
        y_title: "states found in the level (= frontier of the next)".to_string(),
        series: vec![Series::new("states", mark, values)],
        ..Chart::default()
    };
    let mut known = 0;
    let mut sum = Vec::new();
    for range in &groups {
        known += found.levels[range.clone()].iter().sum::<u64>();
        sum.push((range.start as f64, known as f64));
    }
    let growth = Chart {
        label: "states found so far".to_string(),
        x_title: "level".to_string(),
        y_title: "states found so far".to_string(),
        series: vec![Series::new("states", Mark::Area, sum)],
        ..Chart::default()
    };
    out.push_str("<h2>Levels</h2>\n<p>States by their distance from a start state.");
    if let Some(size) = groups.first().map(|range| range.len()).filter(|size| *size > 1) {
        let _ = write!(out, " Drawn in groups of {size} levels, with their mean.");
    }
    let _ = writeln!(out, "</p>\n<div class=\"pair\">{}{}</div>", sizes.svg(), growth.svg());
    level_table(out, found);
}

fn level_table(out: &mut String, found: &Profile) {
    out.push_str("<details><summary>Table of levels</summary>\n");
    table_head(out, &["level", "states", "self-loops", "k = 1", "k = 0", "k = −1", "further back"]);
    for (level, states) in found.levels.iter().enumerate().take(ROWS) {
        let loops = found.locality.levels.get(level).map_or(0, |own| own.loops);
        let mut cells = vec![level as u64, *states, loops];
        cells.extend(level_parts(found, level));
        out.push_str("<tr>");
        cells.iter().for_each(|cell| number_cell(out, *cell));
        out.push_str("</tr>\n");
    }
    table_end(out, found.levels.len());
    out.push_str("</details>\n");
}

fn locality(out: &mut String, found: &Profile) {
    let l = &found.locality;
    out.push_str(
        "<h2>Locality</h2>\n<p>A step is a k-transition if its target is k levels after its source; \
         self-loops are no steps. E{Δ(k)} and σ(k) are mean and deviation, over all states, of the part \
         of a state’s steps that are k-transitions.</p>\n",
    );
    let rows: Vec<(usize, &Delta)> =
        l.deltas.iter().enumerate().filter(|(i, delta)| *i < 3 || delta.steps > 0).collect();
    let share = |delta: &Delta| delta.steps as f64 / l.steps().max(1) as f64;
    let all = l.deltas.iter().enumerate().rev().map(|(i, d)| (1.0 - i as f64, share(d)));
    let distribution = Chart {
        label: "part of the steps by k".to_string(),
        x_title: "k".to_string(),
        y_title: "part of all steps".to_string(),
        series: vec![Series::new("part", Mark::Column, all)],
        ..Chart::default()
    };
    let _ = writeln!(out, "<div class=\"pair\">{}{}</div>", distribution.svg(), per_level(found));
    table_head(out, &["k", "steps", "of all", "E{Δ(k)}", "σ(k)"]);
    for (i, delta) in rows.iter().take(ROWS) {
        let _ = write!(out, "<tr><td data-v=\"{}\">{}</td>", 1 - *i as i64, k_of(*i));
        number_cell(out, delta.steps);
        let (mean, deviation) = (delta.mean(l.states), delta.deviation(l.states));
        let _ = writeln!(
            out,
            "<td data-v=\"{0}\">{1:.2} %</td><td data-v=\"{mean}\">{2}</td><td data-v=\"{deviation}\">{3}</td></tr>",
            share(delta),
            100.0 * share(delta),
            six_digits(mean),
            six_digits(deviation)
        );
    }
    table_end(out, rows.len());
}

/// How the steps of each level divide.
fn per_level(found: &Profile) -> String {
    let groups = groups(found);
    let (mut xs, mut columns) = (Vec::new(), Vec::new());
    for range in &groups {
        let mut parts = [0; 4];
        for level in range.clone() {
            for (sum, part) in parts.iter_mut().zip(level_parts(found, level)) {
                *sum += part;
            }
        }
        let whole = parts.iter().sum::<u64>();
        if whole > 0 {
            xs.push(range.start as f64);
            columns.push(parts.map(|part| part as f64 / whole as f64).to_vec());
        }
    }
    Chart {
        label: "locality per level".to_string(),
        x_title: "level of the source".to_string(),
        y_title: "part of the steps".to_string(),
        top: Some(1.0),
        series: stacked(&["k = 1", "k = 0", "k = −1", "k < −1"], &xs, &columns),
    }
    .svg()
}

fn branching_chart(out: &mut String, found: &Profile) {
    let counts = &found.locality.branching;
    let (fewest, most) = extremes(found);
    let width = (most - fewest + 1).div_ceil(PLACES as u64 / 2).max(1);
    let places = (most - fewest) / width + 1;
    let states = |i: u64| {
        let from = fewest + i * width;
        counts.range(from..from + width).map(|(_, states)| *states).sum::<u64>() as f64
    };
    let values = (0..places).map(|i| ((fewest + i * width) as f64, states(i)));
    let chart = Chart {
        label: "states by rule firings".to_string(),
        x_title: "rule firings in a state".to_string(),
        y_title: "states".to_string(),
        series: vec![Series::new("states", Mark::Column, values)],
        ..Chart::default()
    };
    let l = &found.locality;
    let _ = writeln!(
        out,
        "<h2>Branching</h2>\n<p>{} of {} firings lead back to their own state. In {} states nothing \
         fires, in {} only self-loops do.</p>\n<div class=\"pair\">{}</div>",
        thousands(l.loops),
        thousands(l.firings),
        thousands(l.stuck),
        thousands(l.idle),
        chart.svg()
    );
}

fn rules(out: &mut String, found: &Profile) {
    out.push_str("<h2>Rules</h2>\n<p>Which rules find new states, and which fire in vain.</p>\n");
    table_head(
        out,
        &["*rule", "instances", "fired", "new states", "new per firing", "*new states"],
    );
    let most = found.rules.iter().map(|rule| rule.fresh).max().unwrap_or(0).max(1) as f64;
    for rule in found.rules.iter().take(ROWS) {
        let _ = write!(out, "<tr><td class=\"t\">{}</td>", escape(&rule.name));
        [rule.instances, rule.fired, rule.fresh].iter().for_each(|cell| number_cell(out, *cell));
        let part = rule.fresh as f64 / rule.fired.max(1) as f64;
        let _ = writeln!(
            out,
            "<td data-v=\"{part}\">{:.1} %</td><td class=\"bar\" data-v=\"{}\"><i style=\"width: {:.1}%\"></i></td></tr>",
            100.0 * part,
            rule.fresh,
            100.0 * rule.fresh as f64 / most
        );
    }
    table_end(out, found.rules.len());
}

fn variables(out: &mut String, found: &Profile) {
    out.push_str(
        "<h2>Variables</h2>\n<p>How many of its possible values each part of the state takes; a part that \
         uses few could have a smaller type.</p>\n",
    );
    table_head(out, &["*variable", "bits", "values used", "of possible", "*remarks"]);
    for variable in found.variables.iter().take(ROWS) {
        let part = variable.possible.map_or(0.0, |all| variable.used as f64 / all.max(1) as f64);
        let share =
            variable.possible.map_or("–".to_string(), |_| format!("{:.1} %", 100.0 * part));
        let _ = writeln!(
            out,
            "<tr><td class=\"t\">{}</td><td data-v=\"{1}\">{1}</td><td data-v=\"{2}\">{3}</td>\
             <td data-v=\"{part}\">{share}</td><td class=\"t\">{4}</td></tr>",
            escape(&variable.name),
            variable.bits,
            variable.used,
            used(variable),
            escape(&note(variable))
        );
    }
    table_end(out, found.variables.len());
}
