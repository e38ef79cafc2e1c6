//! From which cost per state on a search with helpers pays: runs of models of different cost per state,
//! a line through the times, and where it crosses what was asked for.
//!
//! On a machine that others use, wall-clock times say nothing. Then the line goes through what processor times
//! allow: with n workers a search takes no less than the n-th part of what its workers used, and
//! no less than what all roles used, shared by all processors. That leaves waiting out, so it flatters.

use crate::Work;
use crate::chart::{Chart, Mark, Series};
use crate::idle::{CHAINS, HEAVY, cores};
use crate::numbers::thousands;
use crate::report::{Met, Table};
use crate::team::{self, Metered, OTHERS};

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
    /// Microseconds of a processor per state of the sequential search.
    fn cost(&self) -> f64 {
        let alone = &self.runs[0];
        let seconds = if alone.alone() { alone.seconds } else { alone.effort.workers };
        seconds / alone.states.max(1.0) * 1e6
    }

    /// Whether times count.
    fn quiet(&self) -> bool {
        self.runs.iter().all(Metered::alone)
    }

    /// Microseconds per state with so many workers, as measured.
    fn measured(&self, workers: usize) -> f64 {
        self.runs[workers].per_state() * 1e6
    }

    /// What processor times allow.
    fn allowed(&self, workers: usize) -> f64 {
        let (run, cores) = (&self.runs[workers], cores() as f64);
        let seconds = (run.effort.workers / workers as f64).max(run.effort.sum() / cores);
        seconds / run.states.max(1.0) * 1e6
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

/// The lines of one and two workers.
type Lines = [Line; 2];

/// The section.
pub fn cost(work: &mut Work) {
    work.report.heading("Idle office computers: from which cost per state on helpers pay");
    work.report.text(format!(
        "`data-link` with more and more work per step: the state space is the same, a state costs more. The time per \
         state with one and with two workers is fitted as a + b · cost, where the cost is what `check --threads 1` \
         takes per state. All processes share the {} cores of this machine. **Allowed** is what processor times \
         allow if nobody waits: the n-th part of what n workers used, or what all roles used, shared by the \
         cores. The fit of times takes rows only in which others used at most {OTHERS} processors.",
        cores()
    ));
    let points = match series(work) {
        Ok(points) => points,
        Err(problem) => return work.report.text(problem),
    };
    let quiet: Vec<&Point> = points.iter().filter(|point| point.quiet()).collect();
    let measured = lines(&quiet, Point::measured).filter(|_| quiet.len() > 2);
    let allowed = lines(&points.iter().collect::<Vec<_>>(), Point::allowed);
    let other = other(work).unwrap_or_else(|problem| {
        work.report.text(problem);
        Vec::new()
    });
    work.report.table(table(points.iter().chain(&other), measured, allowed));
    conclude(work, measured, allowed);
    chart(work, &points, measured.is_some());
}

fn lines(points: &[&Point], of: fn(&Point, usize) -> f64) -> Option<Lines> {
    let line = |workers: usize| {
        let at = |point: &&Point| (point.cost(), of(point, workers));
        Line::through(&points.iter().map(at).collect::<Vec<_>>())
    };
    Some([line(1)?, line(2)?])
}

/// The runs that the lines go through.
fn series(work: &mut Work) -> Result<Vec<Point>, String> {
    let file = CHAINS.file();
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
    let commands = team::alone_and_together(file, flags, 2);
    let runs = team::in_turns(&mut work.ergodic, &commands, work.rounds)?;
    let runs = runs.try_into().map_err(|_| "a run is missing".to_string())?;
    Ok(Point { name: format!("{name} `{flags}`"), runs })
}

fn table<'a>(
    points: impl Iterator<Item = &'a Point>,
    measured: Option<Lines>,
    allowed: Option<Lines>,
) -> Table {
    let mut table = Table::new(&[
        "model",
        "states",
        "µs per state, alone",
        "1 worker",
        "fit",
        "allowed",
        "fit",
        "2 workers",
        "fit",
        "allowed",
        "fit",
        "processor time, 1 worker",
        "2 workers",
        "others",
    ]);
    for point in points {
        let cost = point.cost();
        let mut row =
            vec![point.name.clone(), thousands(point.runs[0].states as u64), format!("{cost:.2}")];
        let fit = |lines: Option<Lines>, workers: usize| {
            let line = lines.map(|lines| lines[workers - 1]);
            line.map_or("–".to_string(), |line| format!("{:.2}", line.a + line.b * cost))
        };
        for workers in [1, 2] {
            row.push(format!("{:.2}", point.measured(workers)));
            row.push(fit(measured, workers));
            row.push(format!("{:.2}", point.allowed(workers)));
            row.push(fit(allowed, workers));
        }
        for run in &point.runs[1..] {
            let alone = point.runs[0].effort.sum().max(1e-9);
            row.push(format!("{:.2}", run.effort.sum() / alone));
        }
        let others = point.runs.iter().map(|run| run.others).fold(0.0, f64::max);
        row.push(format!("{others:.1}"));
        table.row(row);
    }
    table
}

/// What the lines say.
fn conclude(work: &mut Work, measured: Option<Lines>, allowed: Option<Lines>) {
    let micros = |cost: Option<f64>| {
        cost.map_or("no cost per state".to_string(), |cost| format!("{cost:.1} µs per state"))
    };
    let words = |[one, two]: Lines| {
        format!(
            "one worker {:.2} + {:.3} · cost, two workers {:.2} + {:.3} · cost: one worker reaches 90 % of the sequential \
             rate from **{}** on, two workers are faster than one local thread from **{}** on, and half as fast again \
             from {} on",
            one.a,
            one.b,
            two.a,
            two.b,
            micros(one.reaches(SHARE)),
            micros(two.reaches(1.0)),
            micros(two.reaches(1.5)),
        )
    };
    match measured {
        Some(lines) => work.report.text(format!("By the times: {}.", words(lines))),
        None => work.report.text(
            "The machine was never quiet for long enough: no line goes through the times, and what follows is what \
             processor times allow, which leaves waiting out. The true break-even is above it.",
        ),
    }
    if let Some(lines) = allowed {
        work.report.text(format!("By processor times: {}.", words(lines)));
    }
    work.report.text(
        "Below that, `ergodic check` with all threads of one machine is the better choice: it asks its own memory, not a \
         keeper.",
    );
    let short = |[one, two]: Lines| {
        format!(
            "90 % with one worker: {}; two pay: {}",
            micros(one.reaches(SHARE)),
            micros(two.reaches(1.0))
        )
    };
    let (ours, met) = match (measured, allowed) {
        (Some(lines), _) => (short(lines), Met::Yes),
        (None, Some(lines)) => (format!("by processor times only: {}", short(lines)), Met::Open),
        (None, None) => ("not measured".to_string(), Met::Open),
    };
    let goal = "Idle: the break-even cost per state, stated";
    work.report.goal(goal, "", ours, met);
}

fn chart(work: &mut Work, points: &[Point], measured: bool) {
    let of = if measured { Point::measured } else { Point::allowed };
    let share = |name: &str, workers: usize| {
        let of = |point: &Point| (point.cost(), point.cost() / of(point, workers));
        Series::new(name, Mark::Line, points.iter().filter(|p| p.quiet() || !measured).map(of))
    };
    let chart = Chart {
        label: "rate against the sequential one, by cost per state".to_string(),
        x_title: "µs per state of the sequential search".to_string(),
        y_title: "times the sequential rate".to_string(),
        top: Some(2.0),
        series: vec![share("1 worker", 1), share("2 workers", 2)],
    };
    let what = if measured { "" } else { " (what processor times allow)" };
    let caption = "Rate with one and two workers against that of `check --threads 1`";
    work.report.chart(chart, &format!("{caption}{what}."));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::Effort;

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

    #[test]
    fn a_busy_machine_is_noticed() {
        let run = |others: f64| Metered {
            states: 1e6,
            seconds: 30.0,
            effort: Effort { workers: 10.0, ..Effort::default() },
            others,
            ..Metered::default()
        };
        let busy = Point { name: String::new(), runs: [run(1.5), run(0.0), run(0.0)] };
        assert!(!busy.quiet());
        assert_eq!((busy.cost(), busy.allowed(1), busy.measured(1)), (10.0, 10.0, 30.0));
        let quiet = Point { name: String::new(), runs: [run(0.0), run(0.1), run(0.0)] };
        assert!(quiet.quiet() && quiet.cost() == 30.0);
    }
}
