//! Figs. 5 to 7 of cached-Murphi: a cache in place of the table, with less and less memory.

use crate::Work;
use crate::chart::{Chart, Mark as Draw, Series};
use crate::child::{Args, Outcome, Run, TIMEABLE, args};
use crate::disk::memory;
use crate::numbers::{
    chain_collisions, entries, largest, mark, mean, percent, ratio, thousands, three, times,
};
use crate::printed::{self, ALPHAS, FIG7, FIG7_CONSTANTS, Mark, Row, find};
use crate::report::{Block, Met, Table};

/// The column with 0.6 of the memory.
const SIX_TENTHS: usize = 4;

/// Stands for a part of the memory among the flags of a cache.
const PART: &str = "α·M(p)";

/// The rows of a protocol in the figures.
const KINDS: [&str; 4] = ["states", "rules", "time", "coll"];

/// All runs of a protocol.
struct Sweep {
    protocol: String,
    /// In memory.
    base: Run,
    /// For each cache and each column; columns that were left out have none.
    runs: Vec<Vec<Option<Outcome>>>,
}

/// A figure of ours, as the paper has it.
#[derive(Clone, Copy)]
struct Cell {
    value: f64,
    mark: Mark,
}

impl Sweep {
    /// A figure of a run: a multiple of the run in memory, or the collision rate.
    fn cell(&self, cache: usize, column: usize, kind: &str) -> Option<Cell> {
        let run = self.runs.get(cache)?.get(column)?.as_ref()?.as_ref().ok()?;
        let value = match kind {
            "states" => ratio(run.states as f64, self.base.states as f64),
            "rules" => ratio(run.transitions as f64, self.base.transitions as f64),
            "time" if self.base.seconds < TIMEABLE => None,
            "time" => ratio(run.seconds, self.base.seconds),
            _ => run.collision_rate,
        }?;
        Some(Cell { value, mark: mark(run.ended(), run.depth, self.base.depth) })
    }

    fn shown(&self, cache: usize, column: usize, kind: &str) -> String {
        let cell = self.cell(cache, column, kind);
        cell.map_or("–".to_string(), |cell| format!("{:.3}{}", cell.value, cell.mark.sign()))
    }

    /// Messages of children that failed.
    fn problems(&self) -> impl Iterator<Item = &String> {
        self.runs.iter().flatten().flatten().filter_map(|run| run.as_ref().err())
    }
}

/// Fig. 5: full states in the cache.
pub fn fig5(work: &mut Work) {
    work.report.heading("Cached-Murphi, Fig. 5: a cache of full states");
    work.report.text(
        "For each protocol and α, a cache with `--ways` has α · states entries (see Fig. 4), as the paper's had; \
         one with `--memory` gets α · M(p) bytes, at least 64 KB, for itself and the ends of its queue, which is what a \
         user gives. **states**, **rules** and \
         **time** are multiples of the run that keeps all states in memory (`--strategy ram`), **coll** is the \
         collision rate, above 0.9 of which a search is stopped. ∗: stopped, but all states had been visited; ∞: \
         stopped, and not all had been. We know that from the depth: a search with a cache finds in its level d \
         only states that are reachable in d steps, and all of them, so it was ∗ if it was deeper than the \
         diameter and ∞ if not (? if it was stopped within the last level). Ratios compare the last of our \
         columns with the paper. A dash for the time: the run in memory took less than 10 ms.",
    );
    let mut chains = Table::new(&["entries tried", "collision rate at α = 1"]);
    for tries in [1, 2, 8, 10, 64, 100] {
        chains.row(vec![tries.to_string(), format!("{:.3}", chain_collisions(tries))]);
    }
    work.report.text(
        "**What the paper's cache was.** Its text says that a state overwrites what is in its entry \
         (`--ways 1`). Its figures say otherwise: n states that have one entry each leave 1/e of n entries free, \
         so that 37 % of insertions collide at α = 1, where Fig. 5 prints 0.06 and Fig. 6 0.006. These \
         are the rates of chains of ten and of a hundred tries (computed below), and the source of CMurphi that \
         was published later does just that: double hashing along a chain of limited length, then \
         a random place of it is overwritten. So `--ways 1` is the cache that the paper describes, not the one \
         it measured.",
    );
    work.report.table(chains);
    let mut caches = work.caches.clone();
    caches.push(args(&format!("--memory {PART}")));
    let sweeps = sweep(work, &printed::fig5(), &caches, &[]);
    figures(work, "Fig. 5", &printed::fig5(), &sweeps, &caches, 0.5);
}

/// Fig. 6: 40 bits of each state in the cache.
pub fn fig6(work: &mut Work) {
    work.report.heading("Cached-Murphi, Fig. 6: a cache of 40-bit signatures");
    work.report.text(
        "As Fig. 5, with `--bits 40`. Times are multiples of the run with all states in full in memory, \
         as in Fig. 5 (the paper's are of the run with hash compaction, which took the same time within 4 %).",
    );
    let caches = work.caches.clone();
    let sweeps = sweep(work, &printed::fig6(), &caches, &args("--bits 40"));
    figures(work, "Fig. 6", &printed::fig6(), &sweeps, &caches, 1.0);
}

/// Runs all caches on all protocols of a table.
fn sweep(
    work: &mut Work,
    table: &[Row],
    caches: &[Args],
    extra: &[String],
) -> Vec<Result<Sweep, (String, String)>> {
    let mut out = Vec::new();
    for protocol in printed::protocols(table) {
        if work.too_large(&protocol) {
            continue;
        }
        let swept = sweep_one(work, &protocol, caches, extra);
        out.push(swept.map_err(|problem| (protocol, problem)));
    }
    out
}

fn sweep_one(
    work: &mut Work,
    protocol: &str,
    caches: &[Args],
    extra: &[String],
) -> Result<Sweep, String> {
    let file = printed::file_of(protocol).ok_or("not available")?;
    let whole = work.ergodic.in_memory(file, &[])?;
    let columns: Vec<usize> = if work.quick { vec![0, 2, 4, 6, 8] } else { (0..10).collect() };
    let mut contenders = vec![args("--strategy ram --trace off")];
    for cache in caches {
        for column in &columns {
            contenders.push(cached(cache, Size::part(cache, ALPHAS[*column], &whole), extra));
        }
    }
    let mut raced = work.ergodic.race(file, &contenders).into_iter();
    let base = raced.next().unwrap_or_else(|| Err("it was not run".to_string()))?;
    let runs = caches.iter().map(|_| {
        let mut row: Vec<Option<Outcome>> = vec![None; ALPHAS.len()];
        for column in &columns {
            row[*column] = raced.next();
        }
        row
    });
    Ok(Sweep { protocol: protocol.to_string(), base, runs: runs.collect() })
}

/// How large a cache is.
#[derive(Clone, Copy)]
enum Size {
    Entries(u64),
    Bytes(u64),
}

impl Size {
    /// A part of what a run that keeps all states needs, for a cache with these flags.
    fn part(cache: &[String], alpha: f64, whole: &Run) -> Size {
        match cache.iter().any(|flag| flag == PART) {
            true => Size::Bytes(memory(alpha, whole)),
            false => Size::Entries(entries(alpha, whole.states)),
        }
    }
}

/// The flags of a search with a cache.
fn cached(cache: &[String], size: Size, extra: &[String]) -> Args {
    let mut flags = args("--strategy cached --trace off --max-collision-rate 0.9");
    let part = match size {
        Size::Bytes(bytes) => bytes.to_string(),
        Size::Entries(entries) => {
            flags.extend(["--slots".to_string(), entries.to_string()]);
            String::new()
        }
    };
    let cache = cache.iter().map(|flag| if flag == PART { &part } else { flag });
    flags.extend(cache.chain(extra).cloned());
    flags
}

/// Tables, charts and goals of a figure.
fn figures(
    work: &mut Work,
    name: &str,
    table: &[Row],
    sweeps: &[Result<Sweep, (String, String)>],
    caches: &[Args],
    cost: f64,
) {
    let caches: Vec<String> = caches.iter().map(|cache| cache.join(" ")).collect();
    let swept: Vec<&Sweep> = sweeps.iter().filter_map(|one| one.as_ref().ok()).collect();

    work.report.blocks.push(Block::Heading(3, format!("{name} at α = 0.6")));
    let mut head = vec!["protocol".to_string()];
    for kind in KINDS {
        head.push(format!("{kind} paper"));
        head.extend(caches.iter().map(|cache| format!("`{cache}`")));
        head.push("ratio".to_string());
    }
    let mut at_six = Table::new(&head);
    for one in sweeps {
        match one {
            Ok(sweep) => at_six.row(row(sweep, table, SIX_TENTHS, sweep.protocol.clone())),
            Err((protocol, problem)) => at_six.row(vec![protocol.clone(), problem.clone()]),
        }
    }
    work.report.table(at_six);

    for sweep in &swept {
        head[0] = "α".to_string();
        let mut one = Table::new(&head);
        for (column, alpha) in ALPHAS.iter().enumerate() {
            if sweep.runs.iter().any(|runs| runs[column].is_some()) {
                one.row(row(sweep, table, column, format!("{alpha}")));
            }
        }
        let mut blocks = vec![Block::Table(one)];
        blocks.extend(sweep.problems().take(1).map(|problem| Block::Text(problem.clone())));
        let title = format!("{name}: {}, {} states", sweep.protocol, thousands(sweep.base.states));
        work.report.blocks.push(Block::Fold(title, blocks));
    }
    charts(work, name, table, &swept, &caches);
    averages(work, name, table, &swept, &caches, cost);
}

/// The cells of a row: for each kind the paper's figure, ours for each cache, and the ratio of the last.
fn row(sweep: &Sweep, table: &[Row], column: usize, title: String) -> Vec<String> {
    let mut cells = vec![title];
    for kind in KINDS {
        let paper = find(table, &sweep.protocol, kind, column);
        cells.push(paper.map_or("–".to_string(), printed::Printed::shown));
        cells.extend((0..sweep.runs.len()).map(|cache| sweep.shown(cache, column, kind)));
        let ours = sweep.cell(sweep.runs.len().saturating_sub(1), column, kind);
        cells.push(times(ours.zip(paper).and_then(|(ours, paper)| ratio(ours.value, paper.value))));
    }
    cells
}

fn charts(work: &mut Work, name: &str, table: &[Row], swept: &[&Sweep], caches: &[String]) {
    let columns: Vec<usize> = (0..ALPHAS.len())
        .rev()
        .filter(|c| swept.iter().any(|s| s.runs.iter().any(|runs| runs[*c].is_some())))
        .collect();
    for kind in ["states", "time"] {
        let paper = |column: usize| {
            let values = swept.iter().filter_map(|s| find(table, &s.protocol, kind, column));
            mean(&values.map(|printed| printed.value).collect::<Vec<_>>())
        };
        let ours = |cache: usize, column: usize| {
            let values = swept.iter().filter_map(|s| s.cell(cache, column, kind));
            mean(&values.map(|cell| cell.value).collect::<Vec<_>>())
        };
        let mut series = vec![line("paper", &columns, &paper)];
        for (cache, flags) in caches.iter().enumerate() {
            series.push(line(flags, &columns, &|column| ours(cache, column)));
        }
        let chart = Chart {
            label: format!("{name}: {kind} against memory"),
            x_title: "memory, in parts of M(p)".to_string(),
            y_title: format!("{kind}, in multiples of the run in memory"),
            series,
            ..Chart::default()
        };
        let caption = format!(
            "{name}: {kind}, mean over the protocols, runs that were stopped included: a line falls again \
             where more and more runs are stopped early"
        );
        work.report.chart(chart, &caption);
    }
    let ended = |cache: Option<usize>, column: usize| {
        let ended = |s: &&&Sweep| {
            let mark = match cache {
                None => find(table, &s.protocol, "states", column).map(|printed| printed.mark),
                Some(cache) => s.cell(cache, column, "states").map(|cell| cell.mark),
            };
            mark == Some(Mark::Ended)
        };
        Some(swept.iter().filter(ended).count() as f64)
    };
    let mut series = vec![line("paper", &columns, &|column| ended(None, column))];
    for (cache, flags) in caches.iter().enumerate() {
        series.push(line(flags, &columns, &|column| ended(Some(cache), column)));
    }
    let chart = Chart {
        label: format!("{name}: searches that ended"),
        x_title: "memory, in parts of M(p)".to_string(),
        y_title: "protocols".to_string(),
        top: Some(swept.len() as f64),
        series,
    };
    work.report.chart(chart, &format!("{name}: protocols whose search came to its end"));
}

fn line(name: &str, columns: &[usize], value: &dyn Fn(usize) -> Option<f64>) -> Series {
    let points = columns.iter().filter_map(|column| Some((ALPHAS[*column], value(*column)?)));
    Series::new(name, Draw::Line, points)
}

/// The averages at 0.6, and the goal. `cost` is what the paper says more memory costs on average.
fn averages(
    work: &mut Work,
    name: &str,
    table: &[Row],
    swept: &[&Sweep],
    caches: &[String],
    cost: f64,
) {
    let times_of = |values: &[f64]| match (mean(values), largest(values)) {
        (Some(mean), Some(most)) => {
            format!("{mean:.3} on average, {most:.3} at most, over {}", values.len())
        }
        _ => "none".to_string(),
    };
    let paper: Vec<f64> = table
        .iter()
        .filter(|row| row.kind == "time")
        .filter_map(|row| row.values.get(SIX_TENTHS))
        .filter(|printed| printed.mark == Mark::Ended)
        .map(|printed| printed.value)
        .collect();
    let mut summary = Table::new(&["at α = 0.6", "time of searches that ended", "did not end"]);
    summary.row(vec![
        "paper".to_string(),
        times_of(&paper),
        table
            .iter()
            .filter(|row| row.kind == "states")
            .filter(|row| row.values.get(SIX_TENTHS).is_some_and(|p| p.mark != Mark::Ended))
            .map(|row| row.protocol.clone())
            .collect::<Vec<_>>()
            .join(", "),
    ]);
    let mut verdict = (Vec::new(), Vec::new());
    for (cache, flags) in caches.iter().enumerate() {
        let (mut ended, mut open, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        for sweep in swept {
            let Some(cell) = sweep.cell(cache, SIX_TENTHS, "states") else { continue };
            if cell.mark == Mark::Ended {
                ended.extend(sweep.cell(cache, SIX_TENTHS, "time").map(|cell| cell.value));
                continue;
            }
            open.push(sweep.protocol.clone());
            let theirs = find(table, &sweep.protocol, "states", SIX_TENTHS);
            if theirs.is_some_and(|printed| printed.mark == Mark::Ended) {
                lost.push(sweep.protocol.clone());
            }
        }
        summary.row(vec![format!("`{flags}`"), times_of(&ended), open.join(", ")]);
        if cache + 1 == caches.len() {
            verdict = (ended, lost);
        }
    }
    work.report.table(summary);
    let (ended, lost) = verdict;
    let average = mean(&ended);
    let mut ours = average.map_or("no run".to_string(), |mean| {
        format!("{} more over {} searches that ended", percent(mean - 1.0), ended.len())
    });
    if !lost.is_empty() {
        ours = format!("{ours}; not ended, but ended in the paper: {}", lost.join(", "));
    }
    let met = match average {
        None => Met::Open,
        Some(mean) => Met::when(mean < 1.25 && lost.is_empty()),
    };
    work.report.goal(
        &format!("Cached-Murphi, {name}: at 0.6 of the memory less than 25 % more time on average"),
        &percent(cost),
        ours,
        met,
    );
}

/// Fig. 7: the security protocol with 44.8 million states.
pub fn fig7(work: &mut Work) {
    work.report.heading("Cached-Murphi, Fig. 7: 44.8 million states");
    if work.quick {
        work.report.text("Left out: it takes long.");
        return;
    }
    work.report.text(format!(
        "`secur/ns.m` with {}, 40 bits per state, and as many entries as the paper's cache had (SizeC). \
         The seconds of the paper are those of a Pentium III at 866 MHz.",
        FIG7_CONSTANTS.join(", ")
    ));
    let mut head = vec!["m (MB)".to_string(), "SizeC".to_string(), "flags".to_string()];
    for name in ["visited", "coll", "longest queue", "seconds"] {
        head.extend([format!("{name} paper"), "ours".to_string(), "ratio".to_string()]);
    }
    head.extend(["ended".to_string(), "peak memory (MB)".to_string()]);
    let mut table = Table::new(&head);
    let mut ended = Vec::new();
    for paper in FIG7 {
        for cache in work.caches.clone() {
            let mut flags = cached(&cache, Size::Entries(paper.entries), &args("--bits 40"));
            flags.extend(FIG7_CONSTANTS.iter().flat_map(|one| ["--const".into(), one.to_string()]));
            let title = [
                paper.megabytes.to_string(),
                thousands(paper.entries),
                format!("`{}`", cache.join(" ")),
            ];
            let run = match work.ergodic.check("secur/ns.m", &flags) {
                Ok(run) => run,
                Err(problem) => {
                    table.row(title.into_iter().chain([problem]).collect());
                    continue;
                }
            };
            let part = |ours: f64, paper: f64| times(ratio(ours, paper));
            let rate = run.collision_rate.unwrap_or(0.0);
            let mut cells = title.to_vec();
            cells.extend([
                thousands(paper.visited),
                thousands(run.states),
                part(run.states as f64, paper.visited as f64),
                format!("{}", paper.rate),
                three(run.collision_rate),
                part(rate, paper.rate),
                thousands(paper.queue),
                thousands(run.max_frontier),
                part(run.max_frontier as f64, paper.queue as f64),
                format!("{:.0}", paper.seconds),
                format!("{:.0}", run.seconds),
                part(run.seconds, paper.seconds),
                if run.ended() { run.verdict.clone() } else { format!("no: {}", run.reason) },
                thousands(run.peak_memory / 1_000_000),
            ]);
            table.row(cells);
            if Some(&cache) == work.caches.last() {
                ended.push(run.ended());
            }
        }
    }
    work.report.table(table);
    let count = ended.iter().filter(|ended| **ended).count();
    work.report.goal(
        "Cached-Murphi, Fig. 7: all three rows complete",
        "3 of 3",
        format!("{count} of {}", FIG7.len()),
        if ended.is_empty() { Met::Open } else { Met::when(count == FIG7.len()) },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(states: u64, seconds: f64, depth: u64, verdict: &str) -> Run {
        Run {
            verdict: verdict.to_string(),
            states,
            transitions: 2 * states,
            depth,
            seconds,
            collision_rate: Some(0.5),
            ..Run::default()
        }
    }

    #[test]
    fn rows_put_the_paper_beside_ours() {
        let mut runs = vec![vec![None; ALPHAS.len()]; 2];
        runs[0][SIX_TENTHS] = Some(Ok(run(400, 1.0, 50, "incomplete")));
        runs[1][SIX_TENTHS] = Some(Ok(run(150, 0.3, 37, "holds")));
        let base = run(100, 0.2, 37, "holds");
        let sweep = Sweep { protocol: "adash".to_string(), base, runs };
        let cells = row(&sweep, &printed::fig5(), SIX_TENTHS, "adash".to_string());
        assert_eq!(cells[..5], ["adash", "1.738", "4.000∗", "1.500", "0.86"]);
        assert_eq!(cells[9..13], ["1.747", "5.000∗", "1.500", "0.86"]);
        assert_eq!(cells[13..], ["0.655", "0.500∗", "0.500", "0.76"]);
        let cells = row(&sweep, &printed::fig5(), 0, "1".to_string());
        assert_eq!(cells[..5], ["1", "1.006", "–", "–", "–"]);
    }

    #[test]
    fn short_runs_are_not_timed() {
        let runs = vec![vec![Some(Ok(run(2, 0.1, 1, "holds")))]];
        let sweep = Sweep { protocol: String::new(), base: run(2, 0.001, 1, "holds"), runs };
        assert!(sweep.cell(0, 0, "time").is_none() && sweep.cell(0, 0, "states").is_some());
        assert_eq!(sweep.shown(0, 1, "states"), "–");
    }

    #[test]
    fn flags_of_a_cache() {
        let flags = cached(&args("--ways 1"), Size::Entries(60), &args("--bits 40")).join(" ");
        assert!(flags.ends_with("--slots 60 --ways 1 --bits 40"), "{flags}");
        let by_bytes = args(&format!("--memory {PART}"));
        let whole = Run { states: 100_000, state_bits: 64, ..Run::default() };
        let Size::Bytes(bytes) = Size::part(&by_bytes, 0.6, &whole) else { panic!("it has bytes") };
        let flags = cached(&by_bytes, Size::Bytes(bytes), &[]).join(" ");
        assert!(bytes > 64 << 10 && flags.ends_with(&format!("0.9 --memory {bytes}")), "{flags}");
    }
}
