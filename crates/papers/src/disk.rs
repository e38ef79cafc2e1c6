//! Searches from disk: Table 1 of Serial-Murphi, and the sorted search, which no paper has.

use crate::Work;
use crate::chart::{Chart, Mark as Draw, Series};
use crate::child::{Args, Run, TIMEABLE, args};
use crate::numbers::{
    geometric_mean, largest, least_memory, mean, ratio, seconds, state_bytes, thousands, three,
    times,
};
use crate::printed::{self, SERIAL_ALPHAS, find};
use crate::report::{Met, Table};

/// The least memory that the program takes.
const FLOOR: u64 = 64 * 1024;

/// A part of M(p) for a model, by its run in memory.
pub fn memory(alpha: f64, run: &Run) -> u64 {
    let all = least_memory(run.states, state_bytes(run.state_bits), run.max_frontier);
    ((alpha * all as f64) as u64).max(FLOOR)
}

/// The flags of a search from disk.
fn flags(strategy: &str, memory: u64) -> Args {
    args(&format!("--strategy {strategy} --memory {memory} --switch-at 0.1 --trace off"))
}

/// Table 1 of Serial-Murphi: the serial search against the one from disk.
pub fn table1(work: &mut Work) {
    work.report.heading("Serial-Murphi, Table 1: serial against disk");
    work.report.text(
        "`--strategy serial` (a cache until its collision rate is 0.1, then from disk) as a multiple of \
         `--strategy dbf` (from disk from the start), with 0.5, 0.4 and 0.3 of M(p), at least 64 KB.",
    );
    let table = printed::serial();
    let mut head = vec!["protocol".to_string(), "".to_string()];
    for alpha in SERIAL_ALPHAS {
        head.extend([format!("{alpha} paper"), "ours".to_string(), "ratio".to_string()]);
    }
    head.push("disk, serial (s) at 0.3".to_string());
    let mut out = Table::new(&head);
    let mut all: Vec<(f64, f64, String)> = Vec::new();
    for protocol in printed::protocols(&table) {
        if work.too_large(&protocol) {
            continue;
        }
        let columns = match serial_columns(work, &protocol) {
            Ok(columns) => columns,
            Err(problem) => {
                out.row(vec![protocol, problem]);
                continue;
            }
        };
        for kind in ["rules", "states", "time"] {
            let mut cells = vec![protocol.clone(), kind.to_string()];
            for (column, (disk, serial)) in columns.iter().enumerate() {
                let ours = match kind {
                    "rules" => ratio(serial.transitions as f64, disk.transitions as f64),
                    "states" => ratio(serial.states as f64, disk.states as f64),
                    _ => ratio(serial.seconds, disk.seconds),
                };
                if let (Some(ours), "time") = (ours, kind) {
                    all.push((SERIAL_ALPHAS[column], ours, protocol.clone()));
                }
                let paper = find(&table, &protocol, kind, column);
                cells.push(paper.map_or("–".to_string(), printed::Printed::shown));
                cells.push(three(ours));
                let part = ours.zip(paper).and_then(|(ours, paper)| ratio(ours, paper.value));
                cells.push(times(part));
            }
            if let (Some((disk, serial)), "time") = (columns.last(), kind) {
                cells.push(format!("{}, {}", seconds(disk.seconds), seconds(serial.seconds)));
            }
            out.row(cells);
        }
    }
    work.report.table(out);
    serial_summary(work, &table, &all);
}

/// For each column the run from disk and the serial one.
fn serial_columns(work: &mut Work, protocol: &str) -> Result<Vec<(Run, Run)>, String> {
    let file = printed::file_of(protocol).ok_or("not available")?;
    let base = work.ergodic.in_memory(file, &[])?;
    let mut columns = Vec::new();
    for alpha in SERIAL_ALPHAS {
        let memory = memory(alpha, &base);
        let raced = work.ergodic.race(file, &[flags("dbf", memory), flags("serial", memory)]);
        let mut raced = raced.into_iter();
        let mut next = || raced.next().unwrap_or_else(|| Err("it was not run".to_string()));
        let (disk, serial) = (next()?, next()?);
        for run in [&disk, &serial] {
            if !run.ended() {
                return Err(format!("it did not end: {}", run.reason));
            }
        }
        columns.push((disk, serial));
    }
    Ok(columns)
}

fn serial_summary(work: &mut Work, table: &[printed::Row], all: &[(f64, f64, String)]) {
    let ours: Vec<f64> = all.iter().map(|(_, ratio, _)| *ratio).collect();
    let times_of = |row: &&printed::Row| row.kind == "time";
    let paper: Vec<f64> =
        table.iter().filter(times_of).flat_map(|row| &row.values).map(|p| p.value).collect();
    let mut summary = Table::new(&["time, serial / disk", "paper", "ours", "ratio"]);
    let mut say = |what: &str, paper: Option<f64>, ours: Option<f64>| {
        let part = ours.zip(paper).and_then(|(ours, paper)| ratio(ours, paper));
        summary.row(vec![what.to_string(), three(paper), three(ours), times(part)]);
    };
    say("mean", mean(&paper), mean(&ours));
    say("geometric mean", geometric_mean(&paper), geometric_mean(&ours));
    say("largest", largest(&paper), largest(&ours));
    work.report.table(summary);
    let of_protocols = |alpha: f64| all.iter().filter(move |(at, _, _)| *at == alpha);
    let series: Vec<Series> = SERIAL_ALPHAS
        .iter()
        .map(|alpha| {
            let points =
                of_protocols(*alpha).enumerate().map(|(i, (_, ratio, _))| (i as f64, *ratio));
            Series::new(&format!("{alpha} of M(p)"), Draw::Line, points)
        })
        .collect();
    let names: Vec<String> = of_protocols(SERIAL_ALPHAS[0])
        .enumerate()
        .map(|(i, (_, _, name))| format!("{i} {name}"))
        .collect();
    let chart = Chart {
        label: "Time of the serial search against the one from disk".to_string(),
        x_title: names.join(", "),
        y_title: "time, serial / disk".to_string(),
        series,
        ..Chart::default()
    };
    work.report.chart(chart, "Serial-Murphi, Table 1: time ratios of ours, by protocol");
    let (average, most) = (mean(&ours), largest(&ours));
    work.report.goal(
        "Serial: mean time ratio at most 0.99",
        "0.99",
        three(average),
        average.map_or(Met::Open, |mean| Met::when(mean <= 0.99)),
    );
    work.report.goal(
        "Serial: no time ratio above 1.1",
        &three(largest(&paper)),
        three(most),
        most.map_or(Met::Open, |most| Met::when(most <= 1.1)),
    );
}

/// Runs in memory may take so long to be compared with (seconds).
const PATIENCE: u64 = 300;

/// Runs in memory that take longer than this are left out of a quick report (seconds).
const QUICK: f64 = 0.5;

/// The sorted search with a tenth of M(p), on every model.
pub fn sorted(work: &mut Work) {
    work.report.heading("Beyond the papers: the sorted search with 0.1 of M(p)");
    work.report.text(
        "`--strategy sorted` with 0.1 of M(p) by the formula of Fig. 4, at least 64 KB, against `--strategy ram`, on \
         every model of the directory: counts must be equal, or for a violated model the violation and its depth (the \
         sorted search sees it at the end of a level). (The paper's search from disk took 1.4 to \
         5.3 times as long with a tenth of the memory.) A dash for the ratio: the run in memory took less \
         than 10 ms.",
    );
    let mut table = Table::new(&[
        "model",
        "verdict",
        "states in memory",
        "sorted",
        "equal",
        "memory (KB)",
        "of M(p)",
        "time in memory",
        "sorted",
        "ratio",
    ]);
    let (mut wrong, mut ratios, mut models) = (Vec::new(), Vec::new(), 0);
    let (mut left_out, patience) = (Vec::new(), work.ergodic.patience);
    for file in work.ergodic.all_models() {
        work.ergodic.patience = patience.min(PATIENCE);
        let base = match work.ergodic.in_memory(&file, &[]) {
            Ok(base) => base,
            Err(problem) => {
                table.row(vec![file, problem]);
                continue;
            }
        };
        if !base.ended() {
            left_out.push(file);
            continue;
        }
        if work.quick && base.seconds > QUICK {
            continue;
        }
        work.ergodic.patience = patience;
        let memory = memory(0.1, &base);
        let contenders = [args("--strategy ram --trace off"), flags("sorted", memory)];
        let raced = work.ergodic.race(&file, &contenders);
        models += 1;
        let (base, sorted) = match raced.as_slice() {
            [Ok(base), Ok(sorted)] => (base, sorted),
            other => {
                let problem = other.iter().find_map(|one| one.as_ref().err().cloned());
                wrong.push(file.clone());
                table.row(vec![file, problem.unwrap_or_default()]);
                continue;
            }
        };
        let equal = equal(base, sorted);
        if equal.is_none() {
            wrong.push(file.clone());
        }
        let part = if base.seconds < TIMEABLE { None } else { ratio(sorted.seconds, base.seconds) };
        ratios.extend(part.map(|part| (part, file.clone())));
        let all = least_memory(base.states, state_bytes(base.state_bits), base.max_frontier);
        table.row(vec![
            file,
            base.verdict.clone(),
            thousands(base.states),
            thousands(sorted.states),
            equal.map_or_else(|| format!("**no**: {}", sorted.reason), str::to_string),
            thousands(memory / 1024),
            format!("{:.2}", memory as f64 / all.max(1) as f64),
            seconds(base.seconds),
            seconds(sorted.seconds),
            times(part),
        ]);
    }
    work.report.table(table);
    work.ergodic.patience = patience;
    if !left_out.is_empty() {
        work.report.text(format!(
            "Left out, because the run in memory did not end within {} seconds: {}.",
            patience.min(PATIENCE),
            left_out.join(", ")
        ));
    }
    let mut ours = format!("{models} models, {} of them equal", models - wrong.len());
    for (what, files) in [("not equal", &wrong), ("not tried", &left_out)] {
        if !files.is_empty() {
            ours = format!("{ours}; {what}: {}", files.join(", "));
        }
    }
    let met = if models == 0 || !left_out.is_empty() { Met::Open } else { Met::Yes };
    work.report.goal(
        "Sorted: every classic model with 0.1 of M(p), equal results",
        "",
        ours,
        if wrong.is_empty() { met } else { Met::No },
    );
    let values: Vec<f64> = ratios.iter().map(|(part, _)| *part).collect();
    let slow: Vec<&str> =
        ratios.iter().filter(|(part, _)| *part > 2.0).map(|(_, file)| file.as_str()).collect();
    let mut ours = format!(
        "{} on average, {} at most, over {} models",
        three(mean(&values)),
        three(largest(&values)),
        values.len()
    );
    if !slow.is_empty() {
        ours = format!("{ours}; above 2: {}", slow.join(", "));
    }
    work.report.goal(
        "Sorted: at most twice the time of the run in memory",
        "1.4 … 5.3",
        ours,
        if values.is_empty() { Met::Open } else { Met::when(slow.is_empty()) },
    );
}

/// What two runs have found in common, if they agree.
fn equal(a: &Run, b: &Run) -> Option<&'static str> {
    let found = |run: &Run| (run.verdict.clone(), run.depth, run.states, run.transitions);
    let violated = a.verdict == "violated" && b.verdict == "violated";
    if found(a) == found(b) {
        Some("counts")
    } else if violated && a.reason == b.reason && a.depth == b.depth {
        Some("violation")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_a_part_of_m_but_not_too_little() {
        let run = Run { states: 10_466, state_bits: 1126, max_frontier: 734, ..Run::default() };
        assert_eq!(memory(0.5, &run), (10_466 * 148 + 4 * 734) / 2);
        assert_eq!(memory(0.01, &run), FLOOR);
        assert!(flags("dbf", 70_000).join(" ").starts_with("--strategy dbf --memory 70000"));
    }

    #[test]
    fn runs_are_compared_by_what_they_found() {
        let one = Run { states: 3, seconds: 1.0, ..Run::default() };
        assert_eq!(equal(&one, &Run { seconds: 2.0, ..one.clone() }), Some("counts"));
        assert_eq!(equal(&one, &Run { depth: 1, ..one.clone() }), None);
        let bad = Run { verdict: "violated".to_string(), ..one };
        assert_eq!(equal(&bad, &Run { states: 4, ..bad.clone() }), Some("violation"));
        assert_eq!(equal(&bad, &Run { states: 4, reason: "x".into(), ..bad.clone() }), None);
    }
}
