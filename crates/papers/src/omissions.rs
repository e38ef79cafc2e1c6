//! What hash compaction computes: its Figs. 2 to 5 and its Table 1, from the formulas.

use crate::Work;
use crate::chart::{Chart, Mark as Draw, Point, Series};
use crate::numbers::{percent, ratio, significant, thousands, times};
use crate::printed::{TABLE1, TABLE1_BYTES};
use crate::report::{Met, Table};
use ergodic_store::bounds::{
    Probing, bits_for_table, confidence_90, first_omissions, formula_5, formula_12, formula_13,
    formula_14, wolper_leroy,
};

/// Slots and bits of the simulation.
const SLOTS: usize = 199;
const BITS: u32 = 10;

/// What is known about one number of states in Figs. 2 and 3.
struct Place {
    n: usize,
    /// Measured, and its 90 % interval.
    simulated: f64,
    interval: (f64, f64),
    /// Double hashing instead of uniform hashing.
    double: f64,
    five: f64,
    twelve: f64,
    thirteen: f64,
    wolper_leroy: f64,
}

/// Figs. 2 and 3: a simulation against the formulas.
pub fn fig2(work: &mut Work) {
    let runs: u64 = if work.quick { 200_000 } else { 10_000_000 };
    work.report.heading("Hash compaction, Figs. 2 and 3: simulation and formulas");
    work.report.text(format!(
        "m = {SLOTS} slots, b = {BITS} bits, N = {} runs (the paper: 10,000,000), uniform hashing; n states enter. \
         The paper prints these as curves. Formula (12) is used with 2n + 2mn − n² above the line of its third \
         term, as its derivation gives it; in print, an n is missing.",
        thousands(runs)
    ));
    eprintln!("papers: simulating {runs} runs, twice");
    let places = simulate(runs);
    let mut table = Table::new(&[
        "n",
        "simulation",
        "90 % interval",
        "double hashing",
        "(5)",
        "(12)",
        "(13)",
        "Wolper-Leroy",
        "error of (5)",
        "error of (12)",
        "error of (13)",
        "± of the interval",
    ]);
    for place in &places {
        let off = |value: f64| format!("{:+.2} %", (value / place.simulated - 1.0) * 100.0);
        let six = |value: f64| format!("{value:.6}");
        table.row(vec![
            place.n.to_string(),
            six(place.simulated),
            format!("{:.6} … {:.6}", place.interval.0, place.interval.1),
            six(place.double),
            six(place.five),
            six(place.twelve),
            six(place.thirteen),
            six(place.wolper_leroy),
            off(place.five),
            off(place.twelve),
            off(place.thirteen),
            format!("{:.2} %", half_width(place) * 100.0),
        ]);
    }
    work.report.table(table);
    statements(work, &places);
    fig2_charts(work, &places);
}

fn simulate(runs: u64) -> Vec<Place> {
    let uniform = first_omissions(SLOTS, BITS, runs, Probing::Uniform, 1);
    let double = first_omissions(SLOTS, BITS, runs, Probing::Double, 2);
    let hits = |first: &[u64], n: usize| first.iter().take(n).sum::<u64>();
    let place = |n: usize| Place {
        n,
        simulated: hits(&uniform, n) as f64 / runs as f64,
        interval: confidence_90(hits(&uniform, n), runs),
        double: hits(&double, n) as f64 / runs as f64,
        five: formula_5(n as u64, SLOTS as u64, f64::from(BITS)),
        twelve: formula_12(n as f64, SLOTS as f64, f64::from(BITS)),
        thirteen: formula_13(n as f64, SLOTS as f64, f64::from(BITS)),
        wolper_leroy: wolper_leroy(n as f64, f64::from(BITS)),
    };
    (19..=SLOTS).step_by(20).map(place).collect()
}

/// Half of the interval, as a part of the measured probability.
fn half_width(place: &Place) -> f64 {
    (place.interval.1 - place.interval.0) / 2.0 / place.simulated
}

/// What the paper says about its Figs. 2 and 3.
fn statements(work: &mut Work, places: &[Place]) {
    // By more than the simulation can tell, an error is an error.
    let worst = |value: &dyn Fn(&Place) -> f64| {
        places
            .iter()
            .map(|place| {
                ((value(place) / place.simulated - 1.0).abs() - half_width(place)).max(0.0)
            })
            .fold(0.0, f64::max)
    };
    let (five, twelve) = (worst(&|place| place.five), worst(&|place| place.twelve));
    let bigger = places.iter().filter(|place| place.twelve > place.five).count();
    let below = places.iter().filter(|place| place.simulated < place.wolper_leroy).count();
    let mut table = Table::new(&["the paper says", "paper", "ours", ""]);
    let mut say = |what: &str, paper: &str, ours: String, good: bool| {
        let good = if good { "agrees" } else { "**differs**" };
        table.row(vec![what.to_string(), paper.to_string(), ours, good.to_string()]);
    };
    say("largest error of (5), beyond the interval", "< 0.8 %", percent(five), five < 0.008);
    say("largest error of (12), beyond the interval", "< 0.8 %", percent(twelve), twelve < 0.008);
    let of = |count: usize| format!("{count} of {}", places.len());
    say("(12) is above (5)", "always", of(bigger), bigger == places.len());
    say("Wolper and Leroy overestimate", "clearly", of(below), below == places.len());
    work.report.table(table);
    work.report.goal(
        "Hash compaction, Figs. 2–3: (5) and (12) within 0.8 % of the simulation",
        "< 0.8 %",
        format!("{} and {}", percent(five), percent(twelve)),
        Met::when(five < 0.008 && twelve < 0.008),
    );
}

fn fig2_charts(work: &mut Work, places: &[Place]) {
    let line = |name: &str, value: &dyn Fn(&Place) -> f64| {
        Series::new(name, Draw::Line, places.iter().map(|place| (place.n as f64, value(place))))
    };
    let column = |name: &str, value: &dyn Fn(&Place) -> f64| {
        Series::new(name, Draw::Column, places.iter().map(|place| (place.n as f64, value(place))))
    };
    let chart = Chart {
        label: "Omission probability against states".to_string(),
        x_title: "states n".to_string(),
        y_title: "probability".to_string(),
        top: Some(1.0),
        series: vec![
            column("simulation", &|place| place.simulated),
            line("(5)", &|place| place.five),
            line("(12)", &|place| place.twelve),
            line("(13)", &|place| place.thirteen.min(1.0)),
            line("Wolper-Leroy", &|place| place.wolper_leroy),
        ],
    };
    work.report.chart(
        chart,
        "Fig. 2: the simulation (columns), (5) and (12), which lie on each other, \
        the bound (13), and Wolper and Leroy's formula",
    );
    let off = |value: f64, place: &Place| (value / place.simulated - 1.0).abs() * 100.0;
    let chart = Chart {
        label: "Relative errors of the formulas".to_string(),
        x_title: "states n".to_string(),
        y_title: "relative error, per cent".to_string(),
        series: vec![
            Series {
                name: "90 % interval".to_string(),
                mark: Draw::Area,
                points: places
                    .iter()
                    .map(|place| Point {
                        x: place.n as f64,
                        low: 0.0,
                        high: half_width(place) * 100.0,
                    })
                    .collect(),
            },
            line("(5)", &|place| off(place.five, place)),
            line("(12)", &|place| off(place.twelve, place)),
        ],
        ..Chart::default()
    };
    work.report.chart(
        chart,
        "Fig. 3: relative errors of (5) and (12), without their signs, and what \
        the simulation can tell (area)",
    );
}

/// Figs. 4 and 5: 5 and 4 bytes in 400 million bytes.
pub fn fig4(work: &mut Work) {
    work.report.heading("Hash compaction, Figs. 4 and 5: five and four bytes in 400 million bytes");
    let mut table = Table::new(&["the paper says", "paper", "ours", "ratio"]);
    let full =
        |slots: f64, bits: f64| (formula_12(slots, slots, bits), formula_13(slots, slots, bits));
    let (five, five_bound) = full(80e6, 40.0);
    let (four, four_bound) = full(100e6, 32.0);
    let mut say = |what: &str, paper: f64, ours: f64, sign: &str| {
        table.row(vec![
            what.to_string(),
            format!("{sign}{}", percent(paper)),
            percent(ours),
            times(ratio(ours, paper)),
        ]);
    };
    say("a full table, 5 bytes, (12)", 0.0013, five, "< ");
    say("a full table, 4 bytes, (12)", 0.33, four, "< ");
    say(
        "error of (13), 5 bytes, full (0.06 % with (11) for H₁, as in (12))",
        0.0006,
        five_bound / five - 1.0,
        "",
    );
    say("error of (13), 4 bytes, full", 0.21, four_bound / four - 1.0, "");
    let slots = 700e6 / 4.0;
    say("4 bytes in 700 million bytes", 0.5, formula_12(slots, slots, 32.0), "about ");
    say("rule of thumb (14), 5 bytes, against (13)", five_bound, formula_14(80e6, 40.0), "");
    work.report.table(table);
    for (name, slots, bits) in [("Fig. 4", 80e6, 40.0), ("Fig. 5", 100e6, 32.0)] {
        let places = (0..=100).map(|i| slots * f64::from(i) / 100.0);
        let curve = |name: &str, value: &dyn Fn(f64) -> f64| {
            Series::new(name, Draw::Line, places.clone().map(|n| (n, value(n) * 100.0)))
        };
        let chart = Chart {
            label: format!("{name}: omission probability, {bits} bits"),
            x_title: "states n".to_string(),
            y_title: "probability of an omission, per cent".to_string(),
            series: vec![
                curve("(12)", &|n| formula_12(n, slots, bits)),
                curve("(13)", &|n| formula_13(n, slots, bits)),
            ],
            ..Chart::default()
        };
        let caption = format!("{name}: {bits} bits, {} slots", thousands(slots as u64));
        work.report.chart(chart, &caption);
    }
    work.report.goal(
        "Hash compaction, Figs. 4–5: full tables",
        "< 0.13 %, < 33 %",
        format!("{}, {}", percent(five), percent(four)),
        Met::when(five < 0.0013 && four < 0.33),
    );
}

/// Table 1: the bits for a size and a probability.
pub fn table1(work: &mut Work) {
    work.report.heading("Hash compaction, Table 1: bits for a full table");
    let mut head = vec!["P".to_string()];
    for (_, size) in TABLE1_BYTES {
        head.extend([format!("{size} paper"), "ours".to_string(), "ratio".to_string()]);
    }
    let mut table = Table::new(&head);
    let (mut equal, mut all) = (0, 0);
    for (omission, printed) in TABLE1 {
        let mut cells = vec![percent(omission)];
        for ((bytes, _), paper) in TABLE1_BYTES.iter().zip(printed) {
            let bits = bits_for_table(*bytes, omission);
            let ours = format!("{bits:.1}");
            equal += usize::from(ours == paper);
            all += 1;
            let part = paper.parse().ok().and_then(|paper: f64| ratio(bits, paper));
            cells.extend([
                paper.to_string(),
                ours,
                part.map_or_else(String::new, |r| significant(r, 4)),
            ]);
        }
        table.row(cells);
    }
    work.report.table(table);
    work.report.goal(
        "Hash compaction, Table 1 to the digit",
        "35 figures",
        format!("{equal} of {all} equal"),
        Met::when(equal == all),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simulation_has_the_places_of_the_paper() {
        let places = simulate(2000);
        let ns: Vec<usize> = places.iter().map(|place| place.n).collect();
        assert_eq!(ns, [19, 39, 59, 79, 99, 119, 139, 159, 179, 199]);
        let last = &places[9];
        assert!(last.interval.0 <= last.simulated && last.simulated <= last.interval.1);
        assert!(last.five <= last.twelve && last.twelve <= last.thirteen.min(1.0));
        assert!(half_width(last) < 0.1);
    }
}
