//! From which cost per state on a search with helpers pays: runs of models of different cost per state,
//! a line through the times, and where it crosses what was asked for.

use crate::Work;
use crate::chart::{Chart, Mark, Series};
use crate::idle::{HEAVY, cores};
use crate::numbers::thousands;
use crate::report::{Met, Table};
use crate::team::{self, Metered};
use std::path::Path;

/// Additions per step of `data-link`: they make states expensive, and nothing else.
const WORK: [u32; 7] = [4, 40, 100, 200, 400, 800, 1600];

/// The share of the sequential rate that one worker is to reach.
const SHARE: f64 = 0.9;

/// A model of some cost per state: sequential, with one worker and with two.
struct Point {
    name: String,
    runs: [Metered; 3],
}

impl Point {
    /// Microseconds per state.
    fn micros(&self, run: usize) -> f64 {
        self.runs[run].per_state() * 1e6
    }
}

/// A line: y = a + b x.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    a: f64,
    b: f64,
}

impl Line {
    /// Through points, each weighted by its size, so that small ones count as much as large ones.
    fn through(points: &[(f64, f64)]) -> Option<Line> {
        let sum = |of: fn(f64, f64) -> f64| {
            points.iter().map(|(x, y)| of(*x, *y) / (y * y).max(1e-12)).sum::<f64>()
        };
        let (n, x, y) = (sum(|_, _| 1.0), sum(|x, _| x), sum(|_, y| y));
        let (xx, xy) = (sum(|x, _| x * x), sum(|x, y| x * y));
        let det = n * xx - x * x;
        let (a, b) = ((y * xx - x * xy) / det, (n * xy - x * y) / det);
        (points.len() > 1 && a.is_finite() && b.is_finite()).then_some(Line { a, b })
    }

    /// The least cost x with x ≥ share · y; none if it is never reached.
    fn reaches(&self, share: f64) -> Option<f64> {
        let slope = 1.0 - share * self.b;
        (slope > 0.0).then(|| (share * self.a / slope).max(0.0))
    }
}

/// The section.
pub fn cost(work: &mut Work) {
    work.report.heading("Idle office computers: from which cost per state on helpers pay");
    work.report.text(format!(
        "`data-link` with more and more work per step: the state space is the same, a state costs more. The time per \
         state with one and with two workers is fitted as a + b · cost, where the cost is the time per state of \
         `check --threads 1`. All processes share the {} cores of this machine.",
        cores()
    ));
    let points = match series(work) {
        Ok(points) => points,
        Err(problem) => return work.report.text(problem),
    };
    let line = |run: usize| {
        let of = |point: &Point| (point.micros(0), point.micros(run));
        Line::through(&points.iter().map(of).collect::<Vec<_>>())
    };
    let (Some(one), Some(two)) = (line(1), line(2)) else { return };
    let other = other(work).unwrap_or_default();
    work.report.table(table(points.iter().chain(&other), one, two));
    conclude(work, one, two);
    chart(work, &points);
}

/// The runs that the lines go through.
fn series(work: &mut Work) -> Result<Vec<Point>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/bench/data-link.m");
    let file = root.display().to_string();
    let mut points = Vec::new();
    for n in WORK {
        if work.quick && n > 400 {
            continue;
        }
        // Cheap states are run in larger numbers, so that the start of processes does not count.
        let size = if work.quick || n > 400 { "--const Values=3" } else { "--const Window=4" };
        points.push(point(work, &file, &format!("{size} --const Work={n}"), "data-link")?);
    }
    Ok(points)
}

/// A model of another kind, to see whether the lines say anything about it.
fn other(work: &mut Work) -> Result<Vec<Point>, String> {
    let sizes: &[u32] = if work.quick { &[7] } else { &[7, 8, 9] };
    let sizes = sizes.iter().map(|n| format!("--const Nodes={n}"));
    sizes.map(|size| point(work, &HEAVY.file(), &size, "directory")).collect()
}

fn point(work: &mut Work, file: &str, flags: &str, name: &str) -> Result<Point, String> {
    let mut commands = vec![team::alone(file, flags)];
    commands.extend([1, 2].map(|n| team::together(file, flags, n)));
    let runs = team::in_turns(&mut work.ergodic, &commands, work.rounds)?;
    let runs = runs.try_into().map_err(|_| "a run is missing".to_string())?;
    Ok(Point { name: format!("{name} `{flags}`"), runs })
}

fn table<'a>(points: impl Iterator<Item = &'a Point>, one: Line, two: Line) -> Table {
    let mut table = Table::new(&[
        "model",
        "states",
        "µs per state, alone",
        "1 worker",
        "fit",
        "of the sequential rate",
        "2 workers",
        "fit",
        "of the sequential rate",
        "processor time, 1 worker",
        "2 workers",
    ]);
    for point in points {
        let cost = point.micros(0);
        let fit = |line: Line| format!("{:.2}", line.a + line.b * cost);
        let share = |run: usize| format!("{:.2}", cost / point.micros(run));
        let busy = |run: usize| {
            let (all, alone) = (point.runs[run].effort.sum(), point.runs[0].effort.sum());
            format!("{:.2}", all / alone.max(1e-9))
        };
        table.row(vec![
            point.name.clone(),
            thousands(point.runs[0].states as u64),
            format!("{cost:.2}"),
            format!("{:.2}", point.micros(1)),
            fit(one),
            share(1),
            format!("{:.2}", point.micros(2)),
            fit(two),
            share(2),
            busy(1),
            busy(2),
        ]);
    }
    table
}

/// What the lines say.
fn conclude(work: &mut Work, one: Line, two: Line) {
    let micros = |cost: Option<f64>| {
        cost.map_or("at no cost per state".to_string(), |cost| format!("{cost:.1} µs per state"))
    };
    let (share, even, better) = (one.reaches(SHARE), two.reaches(1.0), two.reaches(1.5));
    work.report.text(format!(
        "One worker: {:.2} + {:.3} · cost; two workers: {:.2} + {:.3} · cost (µs). So one worker reaches 90 % of \
         the sequential rate from **{}** on, two workers are faster than one local thread from **{}** on, and half as \
         fast again from {} on. Below that, `ergodic check` with all threads of one machine is the better choice: it \
         asks its own memory, not a keeper. Models of ours that are no scalarset models take 0.2 to 2 µs per \
         state, those with symmetry 1 to 30.",
        one.a,
        one.b,
        two.a,
        two.b,
        micros(share),
        micros(even),
        micros(better),
    ));
    work.report.goal(
        "Idle: the break-even cost per state on the light model, stated",
        "",
        format!("90 % with one worker: {}; two pay: {}", micros(share), micros(even)),
        if share.is_some() || even.is_some() { Met::Yes } else { Met::Open },
    );
}

fn chart(work: &mut Work, points: &[Point]) {
    let share = |name: &str, run: usize| {
        let of = |point: &Point| (point.micros(0), point.micros(0) / point.micros(run));
        Series::new(name, Mark::Line, points.iter().map(of))
    };
    let chart = Chart {
        label: "rate against the sequential one, by cost per state".to_string(),
        x_title: "µs per state of the sequential search".to_string(),
        y_title: "times the sequential rate".to_string(),
        top: Some(2.0),
        series: vec![share("1 worker", 1), share("2 workers", 2)],
    };
    work.report.chart(chart, "Rate with one and two workers against that of `check --threads 1`.");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_fitted_and_crossed() {
        let points: Vec<(f64, f64)> =
            [1.0, 2.0, 10.0, 50.0].iter().map(|x| (*x, 3.0 + 0.6 * x)).collect();
        let line = Line::through(&points).unwrap_or(Line { a: 0.0, b: 0.0 });
        assert!((line.a - 3.0).abs() < 1e-9 && (line.b - 0.6).abs() < 1e-9, "{line:?}");
        // x = 3 + 0.6 x at 7.5.
        assert!(line.reaches(1.0).is_some_and(|cost| (cost - 7.5).abs() < 1e-9));
        assert_eq!(Line { a: 1.0, b: 1.2 }.reaches(0.9), None, "too much per unit of cost");
        assert_eq!(Line { a: -1.0, b: 0.5 }.reaches(1.0), Some(0.0));
        assert_eq!(Line::through(&[(1.0, 1.0)]), None);
    }
}
