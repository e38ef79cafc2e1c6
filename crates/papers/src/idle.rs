//! Idle office computers: Tables 1 to 4 and Fig. 1 of M. Mäkelä, "Efficiently verifying safety properties with
//! idle office computers" (2002), in form.
//!
//! The paper's benchmark, a radio link protocol of 20,000 lines for Maria, is not ours, and a state of it took five
//! milliseconds. Two models of ours stand for what it shows: `directory` has expensive states (symmetry),
//! `data-link` little branching. The light model, Jensen's data base, is the paper's own. What is compared is the
//! efficiency: sequential time ÷ (time × workers).

use crate::Work;
use crate::chart::{Chart, Mark, Series};
use crate::numbers::{ratio, seconds, thousands, times};
use crate::report::{Met, Table};
use crate::team::{self, Metered, OTHERS};
use std::path::Path;

/// A model of `models/bench`, and the size that is run here; tests run the file as it is.
#[derive(Clone, Copy)]
pub struct Model {
    /// What it is called in the report.
    pub name: &'static str,
    file: &'static str,
    size: &'static str,
    /// For a quick run.
    small: &'static str,
}

impl Model {
    /// Where it is.
    pub fn file(&self) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/bench");
        root.join(self.file).display().to_string()
    }

    /// Its size.
    pub fn flags(&self, quick: bool) -> &'static str {
        if quick { self.small } else { self.size }
    }
}

/// Expensive states: symmetry. Large enough that starting and ending, some tenths of a second, hardly count: the
/// runs of the paper took minutes.
pub const HEAVY: Model = Model {
    name: "directory",
    file: "directory.m",
    size: "--const Nodes=12",
    small: "--const Nodes=7",
};

/// Little branching.
pub const CHAINS: Model = Model {
    name: "data-link",
    file: "data-link.m",
    size: "--const Values=3 --const Work=2000",
    small: "--const Work=500",
};

/// The light model of the paper, of two sizes.
pub const LIGHT: [Model; 2] = [
    Model {
        name: "data-base, 8 nodes",
        file: "data-base.m",
        size: "--const N=8 --symmetry off",
        small: "--const N=8 --symmetry off",
    },
    Model {
        name: "data-base, 9 nodes",
        file: "data-base.m",
        size: "--const N=9 --symmetry off",
        small: "--const N=9 --symmetry off",
    },
];

/// What the paper prints.
mod printed {
    /// Table 1: processor, seconds, seconds with path compression.
    pub const TABLE1: [(&str, f64, f64); 4] = [
        ("AMD Athlon, 1 GHz", 100.0, 210.0),
        ("Intel Pentium III, 450 MHz", 183.0, 361.0),
        ("Intel Pentium II, 266 MHz", 304.0, 591.0),
        ("MIPS R12000, 300 MHz", 258.0, 517.0),
    ];

    /// A row of Tables 2 to 4: sequential seconds, then seconds and efficiency in per cent with 1, 2, … workers.
    pub struct Row {
        pub name: &'static str,
        pub sequential: f64,
        pub seconds: &'static [f64],
        pub percent: &'static [u32],
    }

    /// Table 2, n MIPS R12000.
    pub const TABLE2: Row = Row {
        name: "paper, RLC",
        sequential: 258.0,
        seconds: &[261.0, 132.0, 89.0, 70.0, 59.0, 53.0, 46.0],
        percent: &[99, 98, 97, 92, 87, 81, 80],
    };

    /// Table 3, n MIPS R12000, path compression.
    pub const TABLE3: Row = Row {
        name: "paper, RLC",
        sequential: 517.0,
        seconds: &[520.0, 257.0, 174.0, 130.0, 105.0, 88.0, 76.0, 67.0, 60.0, 56.0, 51.0, 47.0],
        percent: &[99, 100, 99, 99, 99, 98, 97, 96, 95, 93, 92, 90],
    };

    /// Table 4, 8 and 9 nodes.
    pub const TABLE4: [Row; 2] = [
        Row {
            name: "paper, 8 nodes",
            sequential: 4.85,
            seconds: &[6.14, 3.17, 2.09, 1.48, 1.16, 0.94, 0.83, 0.72, 0.70, 0.70],
            percent: &[79, 76, 77, 82, 84, 86, 83, 84, 77, 69],
        },
        Row {
            name: "paper, 9 nodes",
            sequential: 20.82,
            seconds: &[25.02, 12.60, 8.39, 6.03, 4.72, 3.79, 3.26, 2.87, 2.54, 2.33],
            percent: &[83, 83, 83, 86, 88, 92, 91, 91, 91, 89],
        },
    ];

    /// States of the radio link protocol.
    pub const STATES: f64 = 19_890.0;

    /// Fig. 1 and section 4.1: states and arcs without and with path compression, of the first 39 levels
    /// and of all.
    pub const FIG1: [(&str, [f64; 2], [f64; 2]); 2] = [
        ("the first 39 levels", [56.0, 79.0], [9.0, 10.0]),
        ("all", [STATES, 23_233.0], [5_236.0, 9_677.0]),
    ];

    /// Successors computed without and with path compression.
    pub const COMPUTED: [f64; 2] = [23_233.0, 45_238.0];
}

/// The sequential run and those with 1, 2, … workers.
struct Runs {
    alone: Metered,
    teams: Vec<Metered>,
}

impl Runs {
    fn of(work: &mut Work, model: Model, more: &str) -> Result<Runs, String> {
        let flags = format!("{} {more}", model.flags(work.quick));
        let commands = team::alone_and_together(&model.file(), &flags, work.workers);
        let mut teams = team::in_turns(&mut work.ergodic, &commands, work.rounds)?;
        let alone = teams.remove(0);
        match teams.iter().find(|run| run.states != alone.states) {
            Some(run) => Err(format!("{} states, but {} of `check`", run.states, alone.states)),
            None => Ok(Runs { alone, teams }),
        }
    }

    /// Sequential time ÷ (time × workers), in per cent.
    fn efficiency(&self, workers: usize) -> Option<f64> {
        let run = self.teams.get(workers.checked_sub(1)?)?;
        Some(100.0 * self.alone.seconds / (run.seconds * workers as f64))
    }

    /// How much faster than the sequential search.
    fn gain(&self, workers: usize) -> Option<f64> {
        Some(self.efficiency(workers)? * workers as f64 / 100.0)
    }
}

/// Processors of this machine.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Tables 1 to 4.
pub fn tables(work: &mut Work) {
    work.report.heading("Idle office computers, Tables 1–4: efficiency");
    work.report.text(format!(
        "`ergodic check --threads 1` against `ergodic serve --nats embedded --workers n`: server, broker, one keeper \
         and n workers are processes of this machine, which has {} cores. Times are medians of {} rounds in \
         turns. **Efficiency** is the paper's: sequential time ÷ (time × workers). With more workers than cores it \
         measures nothing but overhead, and the server, the keeper and the broker need a part of a core as well: the \
         last columns have the processor time of all processes, as a multiple of that of the sequential search, and the \
         gain over it that this leaves to so many cores. **Others** are the processors that other programs used \
         meanwhile: where that is more than {OTHERS}, times say nothing, and goals stay open.",
        cores(),
        work.rounds
    ));
    let plain = [(HEAVY, Runs::of(work, HEAVY, "")), (CHAINS, Runs::of(work, CHAINS, ""))];
    let compressed =
        [HEAVY, CHAINS].map(|model| (model, Runs::of(work, model, "--compress-paths")));
    table1(work, &plain, &compressed);
    let title = "Table 2: the heavy model, and the one with little branching";
    speeds(work, title, &plain, &[&printed::TABLE2, &printed::TABLE2]);
    let title = "Table 3: the same with path compression";
    speeds(work, title, &compressed, &[&printed::TABLE3, &printed::TABLE3]);
    let light = LIGHT.map(|model| (model, Runs::of(work, model, "")));
    let title = "Table 4: the light model";
    speeds(work, title, &light, &[&printed::TABLE4[0], &printed::TABLE4[1]]);
    let light = LIGHT.map(|model| (model, Runs::of(work, model, "--compress-paths")));
    let title = "Table 4 with path compression (not in the paper)";
    speeds(work, title, &light, &[]);
    goals(work, &plain[0].1);
}

/// The goals, on the heavy model.
fn goals(work: &mut Work, heavy: &Result<Runs, String>) {
    let runs = heavy.as_ref().ok();
    let one = runs.and_then(|runs| runs.efficiency(1));
    let two = runs.and_then(|runs| runs.gain(2));
    let shown = |value: Option<f64>, unit: &str, workers: usize| {
        let value = value.map_or("not run".to_string(), |value| format!("{value:.2}{unit}"));
        let run = runs.and_then(|runs| runs.teams.get(workers - 1).map(|run| (run, runs)));
        let Some((run, runs)) = run else { return (value, false) };
        let cpu = busy(run, &runs.alone).map_or(String::new(), |cpu| {
            format!("; processor time {cpu:.2} of the sequential search")
        });
        if run.alone() && runs.alone.alone() {
            return (value + &cpu, true);
        }
        let others = run.others.max(runs.alone.others);
        (format!("{value}, but others used {others:.1} processors meanwhile{cpu}"), false)
    };
    let met = |value: Option<f64>, counts: bool, least: f64| match value {
        Some(value) if counts && !work.quick => Met::when(value >= least),
        _ => Met::Open,
    };
    let ((one_shown, one_counts), (two_shown, two_counts)) =
        (shown(one, " %", 1), shown(two, "", 2));
    let (met_one, met_two) = (met(one, one_counts, 90.0), met(two, two_counts, 1.7));
    let goal = "Idle: server, broker and one worker at 90 % of the sequential rate, heavy model";
    work.report.goal(goal, "95 … 99 %", one_shown, met_one);
    let goal = "Idle: two workers at least 1.7 times as fast as the sequential search, heavy model";
    work.report.goal(goal, "1.86 … 1.96", two_shown, met_two);
}

/// Processor time of a run as a multiple of that of the sequential one, if that was long enough for the meter.
fn busy(run: &Metered, alone: &Metered) -> Option<f64> {
    const LEAST: f64 = 0.05;
    ratio(run.effort.sum(), alone.effort.sum()).filter(|_| alone.effort.sum() >= LEAST)
}

type Found = (Model, Result<Runs, String>);

fn table1(work: &mut Work, plain: &[Found], compressed: &[Found]) {
    work.report.text("**Table 1**: sequential times without and with path compression.");
    let mut table = Table::new(&[
        "processor and model",
        "states",
        "µs per state",
        "time",
        "with path compression",
        "ratio",
    ]);
    for (name, without, with) in printed::TABLE1 {
        let each = format!("{:.0}", without / printed::STATES * 1e6);
        let states = thousands(printed::STATES as u64);
        let row = [states, each, seconds(without), seconds(with)];
        let name = format!("paper: {name}, RLC");
        table.row([vec![name], row.to_vec(), vec![times(ratio(with, without))]].concat());
    }
    for ((model, without), (_, with)) in plain.iter().zip(compressed) {
        let name = format!("ours: this machine, {} `{}`", model.name, model.flags(work.quick));
        match (without, with) {
            (Ok(without), Ok(with)) => {
                let (without, with) = (&without.alone, &with.alone);
                table.row(vec![
                    name,
                    thousands(without.states as u64),
                    format!("{:.1}", without.per_state() * 1e6),
                    seconds(without.seconds),
                    seconds(with.seconds),
                    times(ratio(with.seconds, without.seconds)),
                ]);
            }
            (Err(problem), _) | (_, Err(problem)) => table.row(vec![name, problem.clone()]),
        }
    }
    work.report.table(table);
}

const SPEED_HEAD: [&str; 12] = [
    "model",
    "workers",
    "time, paper",
    "ours",
    "efficiency, paper",
    "ours",
    "ratio",
    "gain, paper",
    "ours",
    "processor time",
    "gain it allows here",
    "others",
];

/// One of Tables 2 to 4.
fn speeds(work: &mut Work, title: &str, found: &[Found], paper: &[&printed::Row]) {
    work.report.text(format!("**{title}.** A worker that has no core of its own is marked +."));
    let mut table = Table::new(&SPEED_HEAD);
    let mut series = Vec::new();
    for (i, (model, runs)) in found.iter().enumerate() {
        let runs = match runs {
            Ok(runs) => runs,
            Err(problem) => {
                table.row(vec![model.name.to_string(), problem.clone()]);
                continue;
            }
        };
        speed_rows(model, runs, paper.get(i).copied(), &mut table);
        let points = (1..=runs.teams.len()).filter_map(|n| Some((n as f64, runs.efficiency(n)?)));
        series.push(Series::new(&format!("ours, {}", model.name), Mark::Line, points));
        if let Some(paper) = paper.get(i).filter(|row| i == 0 || !std::ptr::eq(**row, paper[0])) {
            let points = paper.percent.iter().zip(1..).map(|(p, n)| (f64::from(n), f64::from(*p)));
            let points = points.take(runs.teams.len());
            series.push(Series::new(paper.name, Mark::Line, points));
        }
    }
    work.report.table(table);
    let chart = Chart {
        label: title.to_string(),
        x_title: "workers".to_string(),
        y_title: "efficiency in %".to_string(),
        top: Some(110.0),
        series,
    };
    work.report.chart(chart, title);
}

fn speed_rows(model: &Model, runs: &Runs, paper: Option<&printed::Row>, table: &mut Table) {
    let dash = || "–".to_string();
    let printed = |of: Option<f64>, text: fn(f64) -> String| of.map_or_else(dash, text);
    let sequential = paper.map(|row| row.sequential);
    let first = [
        model.name.to_string(),
        "sequential".to_string(),
        printed(sequential, seconds),
        seconds(runs.alone.seconds),
    ];
    let mut row = first.to_vec();
    row.resize(SPEED_HEAD.len() - 1, String::new());
    row.push(format!("{:.1}", runs.alone.others));
    table.row(row);
    for (n, run) in (1..).zip(&runs.teams) {
        let percent = paper.and_then(|row| row.percent.get(n - 1)).map(|p| f64::from(*p));
        let theirs = paper.and_then(|row| row.seconds.get(n - 1)).copied();
        let ours = runs.efficiency(n).unwrap_or(0.0);
        let busy = busy(run, &runs.alone);
        let workers = format!("{n}{}", if n > cores() { "+" } else { "" });
        table.row(vec![
            model.name.to_string(),
            workers,
            printed(theirs, seconds),
            seconds(run.seconds),
            printed(percent, |percent| format!("{percent:.0} %")),
            format!("{ours:.0} %"),
            times(percent.and_then(|percent| ratio(ours, percent))),
            times(sequential.zip(theirs).and_then(|(all, theirs)| ratio(all, theirs))),
            times(runs.gain(n)),
            times(busy),
            times(busy.map(|busy| (cores() as f64 / busy).min(n as f64))),
            format!("{:.1}", run.others),
        ]);
    }
}

/// Fig. 1: what path compression does to the first levels, and to all.
pub fn fig1(work: &mut Work) {
    work.report.heading("Idle office computers, Fig. 1: path compression");
    work.report.text(
        "States and arcs without and with path compression: of the paper's model, and of `data-link`, in which \
         everything that happens is followed by up to three steps without choice. An arc of the compressed graph is a \
         chain of steps; states inside of chains are passed, not stored. A chain that is entered in its middle is \
         computed again, so more successors are computed than without: twice as many in the paper.",
    );
    let file = CHAINS.file();
    let size = if work.quick { "" } else { "--const Values=3" };
    let commands =
        ["", "--compress-paths"].map(|more| team::alone(&file, &format!("{size} {more}")));
    let runs = match team::in_turns(&mut work.ergodic, &commands, 1) {
        Ok(runs) if runs.len() == 2 => runs,
        Ok(_) => return,
        Err(problem) => return work.report.text(problem),
    };
    work.report.table(fig1_table(&runs[0], &runs[1]));
    let levels = |name: &str, run: &Metered| {
        Series::new(name, Mark::Line, (0..40).zip(&run.levels).map(|(i, n)| (f64::from(i), *n)))
    };
    let chart = Chart {
        label: "states per level".to_string(),
        x_title: "level".to_string(),
        y_title: "states".to_string(),
        top: None,
        series: vec![levels("all states", &runs[0]), levels("compressed", &runs[1])],
    };
    work.report.chart(
        chart,
        "The first 40 levels of `data-link` without and with path compression: work for many comes earlier.",
    );
    let widths = |run: &Metered| {
        let first: Vec<String> = run.levels.iter().take(16).map(|n| thousands(*n as u64)).collect();
        first.join(", ")
    };
    work.report.text(format!(
        "States on levels 0, 1, 2, …: {}; compressed {}.",
        widths(&runs[0]),
        widths(&runs[1])
    ));
}

fn fig1_table(plain: &Metered, compressed: &Metered) -> Table {
    let mut table = Table::new(&[
        "model",
        "states",
        "arcs",
        "arcs per state",
        "states, compressed",
        "arcs",
        "arcs per state",
        "states of all",
        "successors computed",
    ]);
    let whole = |value: f64| thousands(value as u64);
    let mut add = |name: String, a: [f64; 2], b: [f64; 2], computed: Option<f64>| {
        table.row(vec![
            name,
            whole(a[0]),
            whole(a[1]),
            times(ratio(a[1], a[0])),
            whole(b[0]),
            whole(b[1]),
            times(ratio(b[1], b[0])),
            times(ratio(b[0], a[0])),
            times(computed),
        ]);
    };
    for (part, without, with) in printed::FIG1 {
        let computed = ratio(printed::COMPUTED[1], printed::COMPUTED[0]);
        add(format!("paper: RLC, {part}"), without, with, computed.filter(|_| part == "all"));
    }
    // Firing a rule inside of a chain makes no arc.
    let arcs = compressed.transitions - compressed.figure("passed_states");
    add(
        "ours: data-link, all".to_string(),
        [plain.states, plain.transitions],
        [compressed.states, arcs],
        ratio(compressed.transitions, plain.transitions),
    );
    table
}

/// What goes over the wire.
pub fn wire(work: &mut Work) {
    work.report.heading("Idle office computers: bytes on the wire, and batches");
    work.report.text(
        "One worker, whole states (`--keys exact`) and signatures of 128 bits (`--keys signatures`). Counted are bytes \
         of messages that the worker sends or receives: questions to keepers with their answers, per successor asked \
         about (what the worker's filter knows is not asked), and batches with them, per state found. \
         Bytes per batch are those of its states.",
    );
    let mut table = Table::new(&[
        "model",
        "keys",
        "state, bytes",
        "bytes per successor asked about",
        "bytes per state",
        "asked about, of all successors",
        "batches",
        "states per batch",
        "KiB per batch",
    ]);
    let mut worst: Option<f64> = None;
    for model in [HEAVY, CHAINS, LIGHT[1]] {
        for keys in ["exact", "signatures"] {
            let flags = format!("{} --keys {keys}", model.flags(work.quick));
            let command = team::together(&model.file(), &flags, 1);
            let row = match team::run(&mut work.ergodic, &command) {
                Ok(run) => {
                    let claim = run.figure("wire_bytes_per_claim");
                    if keys == "signatures" && claim > 0.0 {
                        worst = Some(worst.map_or(claim, |worst| worst.max(claim)));
                    }
                    wire_row(&run)
                }
                Err(problem) => vec![problem],
            };
            table.row([vec![model.name.to_string(), keys.to_string()], row].concat());
        }
    }
    work.report.table(table);
    work.report.goal(
        "Idle: at most 20 bytes on the wire per successor in signature mode, after the worker's filter",
        "",
        worst.map_or("not measured".to_string(), |worst| format!("{worst:.1} at most")),
        worst.map_or(Met::Open, |worst| Met::when(worst <= 20.0)),
    );
}

fn wire_row(run: &Metered) -> Vec<String> {
    let bytes = (run.state_bits / 8.0).ceil();
    let per_batch = run.states / run.figure("batches").max(1.0);
    // Runs that end before a worker has given its first sign of life have no such figures.
    let known = |value: f64, digits: usize, unit: &str| match value {
        0.0 => "–".to_string(),
        value => format!("{value:.digits$}{unit}"),
    };
    vec![
        format!("{bytes:.0}"),
        known(run.figure("wire_bytes_per_claim"), 1, ""),
        known(run.figure("wire_bytes_per_state"), 1, ""),
        known(100.0 * run.claims() / run.transitions.max(1.0), 1, " %"),
        known(run.figure("batches"), 0, ""),
        format!("{per_batch:.0}"),
        format!("{:.0}", per_batch * bytes / 1024.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The printed efficiencies follow from the printed times, to the rounding of both.
    #[test]
    fn the_paper_agrees_with_itself() {
        let tables = [&printed::TABLE2, &printed::TABLE3, &printed::TABLE4[0], &printed::TABLE4[1]];
        for row in tables {
            assert_eq!(row.seconds.len(), row.percent.len());
            for (i, (seconds, percent)) in row.seconds.iter().zip(row.percent).enumerate() {
                let found = 100.0 * row.sequential / (seconds * (i + 1) as f64);
                assert!((found - f64::from(*percent)).abs() < 2.0, "{seconds} s: {found}");
            }
        }
    }

    fn sample() -> Runs {
        let run =
            |seconds| Metered { states: 10.0, transitions: 20.0, seconds, ..Metered::default() };
        Runs { alone: run(10.0), teams: vec![run(12.5), run(5.0)] }
    }

    #[test]
    fn efficiency_is_the_papers() {
        let runs = sample();
        assert_eq!((runs.efficiency(1), runs.gain(1)), (Some(80.0), Some(0.8)));
        assert_eq!((runs.efficiency(2), runs.gain(2)), (Some(100.0), Some(2.0)));
        assert_eq!((runs.efficiency(3), runs.efficiency(0)), (None, None));
    }

    #[test]
    fn rows_have_the_papers_figures_beside_ours() {
        let mut table = Table::new(&SPEED_HEAD);
        speed_rows(&HEAVY, &sample(), Some(&printed::TABLE2), &mut table);
        assert_eq!(table.rows[0][..4], ["directory", "sequential", "258.00 s", "10.00 s"]);
        assert_eq!(table.rows[1][2..7], ["261.00 s", "12.50 s", "99 %", "80 %", "0.81"]);
        assert_eq!(table.rows[2][7..9], ["1.95", "2.00"]);
    }

    #[test]
    fn arcs_are_chains() {
        let plain = Metered { states: 8.0, transitions: 12.0, ..Metered::default() };
        let mut compressed = Metered { states: 4.0, transitions: 14.0, ..Metered::default() };
        compressed.figures.insert("passed_states".to_string(), 6.0);
        let table = fig1_table(&plain, &compressed);
        let ours = table.rows.last().cloned().unwrap_or_default();
        assert_eq!(ours[1..], ["8", "12", "1.50", "4", "8", "2.00", "0.50", "1.17"]);
        assert_eq!(table.rows[1][3], "1.17", "as the paper says");
    }
}
