//! State-space caching with sleep sets: Tables 1 and 2, Figs. 4 and 5 of Godefroid, Holzmann and
//! Pirottin, "State-space caching revisited", on models of our own of the same kinds (`models/papers`).
//!
//! The protocols of the paper are not ours, so counts are not compared, but what the paper concludes from
//! them: known states reached per state, transitions with and without sleep sets, and what a cache costs.
//! A run that explodes is stopped; smaller caches are then not tried, because they would not do better.

use crate::Work;
use crate::chart::{Chart, Mark as Draw, Series};
use crate::child::{Args, Outcome, Run, args};
use crate::numbers::{ratio, seconds, thousands, times};
use crate::printed::{SLEEPING, Searched};
use crate::report::{Block, Met, Table};
use std::path::Path;

/// A model of ours and the protocol it stands for.
struct Model {
    name: &'static str,
    /// In `SLEEPING`.
    protocol: &'static str,
    /// The size that is run here; tests run the file as it is.
    size: &'static str,
}

/// The models, in the order of the paper.
const MODELS: [Model; 4] = [
    Model {
        name: "file-transfer",
        protocol: "PFTP",
        size: "--const Blocks=4 --const Window=3 --const LineSize=4 --const Losses=2",
    },
    Model {
        name: "universal-receiver",
        protocol: "URP",
        size: "--const Blocks=4 --const BackLosses=0",
    },
    Model { name: "mutex-log-n", protocol: "MULOG3", size: "--const Rounds=3" },
    Model {
        name: "data-transfer",
        protocol: "DTP",
        size: "--const Items=8 --const Window=3 --const BackLosses=0",
    },
];

impl Model {
    fn file(&self) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/papers");
        root.join(format!("{}.m", self.name)).display().to_string()
    }

    fn flags(&self, sleep: &str, more: &str) -> Args {
        let size = self.size;
        args(&format!("{size} --search sleep-dfs --sleep {sleep} --trace off {more}"))
    }

    /// The figures of the paper, without and with sleep sets.
    fn printed(&self) -> Option<&'static (&'static str, Searched, Searched)> {
        SLEEPING.iter().find(|(protocol, _, _)| *protocol == self.protocol)
    }

    /// Algorithm 1 with all states stored, which all else is measured by.
    fn full(&self, work: &mut Work) -> Outcome {
        ended(work.ergodic.remembered(&self.file(), self.flags("off", "")))
    }
}

/// What a rule of sleep sets is called here.
const RULES: [(&str, &str); 3] =
    [("off", "none"), ("paper", "Algorithm 2"), ("stored", "stored with states")];

/// A run that came to its end, or why it did not.
fn ended(outcome: Outcome) -> Outcome {
    let run = outcome?;
    if run.ended() { Ok(run) } else { Err(format!("it did not end: {}", run.reason)) }
}

fn per(part: u64, whole: u64) -> Option<f64> {
    ratio(part as f64, whole as f64)
}

/// Columns of Table 1.
const TABLE1_HEAD: [&str; 11] = [
    "model",
    "stands for",
    "states, paper",
    "ours",
    "matched",
    "per state, paper",
    "ours",
    "transitions",
    "depth, paper",
    "ours",
    "time",
];

/// Table 1: depth-first search without sleep sets.
pub fn table1(work: &mut Work) {
    work.report.heading("State-space caching revisited, Table 1: without sleep sets");
    work.report.text(
        "**In form only**: the models (`models/papers`) are of the same kinds as the paper's, but our own, \
         and counts are not expected to be equal. They were adjusted with the paper's figures at hand (the manual \
         says how), so they show that its effects exist, not how common they are. To be compared are matched states (known ones reached again) \
         per state: without sleep sets nearly every state is reached several times. `--search sleep-dfs --sleep \
         off`, all states stored.",
    );
    let mut table = Table::new(&TABLE1_HEAD);
    for model in &MODELS {
        let mut raced = work.ergodic.race(&model.file(), &[model.flags("off", "")]);
        let (Some(outcome), Some((_, paper, _))) = (raced.pop(), model.printed()) else { continue };
        let run = match ended(outcome) {
            Ok(run) => run,
            Err(problem) => {
                table.row(vec![model.name.to_string(), problem]);
                continue;
            }
        };
        table.row(vec![
            model.name.to_string(),
            model.protocol.to_string(),
            thousands(paper.states),
            thousands(run.states),
            thousands(run.matched),
            times(per(paper.matched, paper.states)),
            times(per(run.matched, run.states)),
            thousands(run.transitions),
            thousands(paper.depth),
            thousands(run.stacked),
            seconds(run.seconds),
        ]);
    }
    work.report.table(table);
    sizes(work);
}

/// How large the models were.
fn sizes(work: &mut Work) {
    let sizes: Vec<String> =
        MODELS.iter().map(|model| format!("{} `{}`", model.name, model.size)).collect();
    work.report.text(format!("Sizes: {}.", sizes.join("; ")));
}

/// Columns of Table 2.
const TABLE2_HEAD: [&str; 14] = [
    "model",
    "sleep sets",
    "states",
    "matched",
    "per state, paper",
    "ours",
    "transitions",
    "of those without, paper",
    "ours",
    "depth, paper",
    "ours",
    "time",
    "of that without, paper",
    "ours",
];

/// Table 2: with sleep sets.
pub fn table2(work: &mut Work) {
    work.report.heading("State-space caching revisited, Table 2: with sleep sets");
    work.report.text(
        "The same with sleep sets: by the rule of the paper (Algorithm 2, `--sleep paper`), and kept \
         beside states (`--sleep stored`, the default). All states are stored. Transitions and times are also given \
         as multiples of those without sleep sets; in the paper times doubled.",
    );
    let mut table = Table::new(&TABLE2_HEAD);
    let (mut most, mut wrong, mut models) = (Vec::new(), Vec::new(), 0);
    for model in &MODELS {
        let runs = match with_and_without(work, model) {
            Ok(runs) => runs,
            Err(problem) => {
                wrong.push(model.name);
                table.row(vec![model.name.to_string(), problem]);
                continue;
            }
        };
        models += 1;
        table2_rows(model, &runs, &mut table);
        let parts = runs.iter().skip(1).filter_map(|run| per(run.matched, run.states));
        most.push(format!("{} {}", model.name, times(parts.reduce(f64::min))));
    }
    work.report.table(table);
    work.report.goal(
        "Sleep sets: as many states as breadth-first search finds",
        "equal",
        match wrong.as_slice() {
            [] => format!("equal on {models} models; matched per state: {}", most.join(", ")),
            wrong => format!("not on {}", wrong.join(", ")),
        },
        if models == 0 { Met::Open } else { Met::when(wrong.is_empty()) },
    );
}

/// A run per rule of sleep sets, if all of them found the states that breadth-first search finds.
fn with_and_without(work: &mut Work, model: &Model) -> Result<Vec<Run>, String> {
    let contenders: Vec<Args> = RULES.iter().map(|(rule, _)| model.flags(rule, "")).collect();
    let raced = work.ergodic.race(&model.file(), &contenders).into_iter().map(ended);
    let runs: Vec<Run> = raced.collect::<Result<_, _>>()?;
    let all = work.ergodic.in_memory(&model.file(), &args(model.size))?.states;
    match runs.iter().zip(RULES).find(|(run, _)| run.states != all) {
        None => Ok(runs),
        Some((run, (_, words))) => {
            Err(format!("**states are lost**: {} of {all}, sleep sets: {words}", run.states))
        }
    }
}

fn table2_rows(model: &Model, runs: &[Run], table: &mut Table) {
    let (Some(full), Some((_, without, with))) = (runs.first(), model.printed()) else { return };
    for ((rule, words), run) in RULES.iter().zip(runs) {
        let paper = match *rule {
            "off" => Some(without),
            "paper" => Some(with),
            _ => None,
        };
        let printed = |figure: fn(&Searched, &Searched) -> Option<f64>| {
            times(paper.and_then(|paper| figure(paper, without)))
        };
        table.row(vec![
            model.name.to_string(),
            words.to_string(),
            thousands(run.states),
            thousands(run.matched),
            printed(|paper, _| per(paper.matched, paper.states)),
            times(per(run.matched, run.states)),
            thousands(run.transitions),
            printed(|paper, without| per(paper.transitions, without.transitions)),
            times(per(run.transitions, full.transitions)),
            paper.map_or("–".to_string(), |paper| thousands(paper.depth)),
            thousands(run.stacked),
            seconds(run.seconds),
            printed(|paper, without| ratio(paper.seconds, without.seconds)),
            times(ratio(run.seconds, full.seconds)),
        ]);
    }
}

/// The runs of one setting with ever smaller caches, until one of them was stopped.
struct Curve {
    name: &'static str,
    runs: Vec<(u64, Run)>,
}

impl Curve {
    /// The run with a cache, if it was tried.
    fn at(&self, cache: u64) -> Option<&Run> {
        self.runs.iter().find(|(size, _)| *size == cache).map(|(_, run)| run)
    }

    /// The smallest cache with which the search came to its end.
    fn least(&self) -> Option<u64> {
        self.runs.iter().filter(|(_, run)| run.ended()).map(|(cache, _)| *cache).min()
    }

    /// What a cache cost, as a multiple of what the full search did.
    fn cell(&self, cache: u64, full: &Run) -> String {
        let Some(run) = self.at(cache) else { return "not tried".to_string() };
        let part = times(per(run.transitions, full.transitions));
        if run.ended() {
            format!("{part} ({})", seconds(run.seconds))
        } else if run.stacked >= cache {
            "the stack does not fit".to_string()
        } else {
            format!("**> {part}** (stopped after {})", seconds(run.seconds))
        }
    }

    /// For a chart; small caches would all be at one place without the logarithm.
    fn series(&self, value: impl Fn(&Run) -> f64) -> Series {
        let drawn =
            self.runs.iter().rev().filter(|(cache, run)| run.ended() || run.stacked < *cache);
        let points = drawn.map(|(cache, run)| ((*cache as f64).log10(), value(run)));
        Series::new(self.name, Draw::Line, points)
    }
}

/// Seconds after which a run with a cache is stopped, as a multiple of the full search, and at least.
const STOP: (f64, f64, f64) = (8.0, 2.0, 4.0);

/// Runs a setting with caches of falling sizes.
fn curve(
    work: &mut Work,
    model: &Model,
    name: &'static str,
    flags: (&str, &str),
    caches: &[u64],
) -> Result<Curve, String> {
    let full = model.full(work)?;
    let (patience, (factor, quick, least)) = (work.ergodic.patience, STOP);
    let stop = (factor * full.seconds).max(if work.quick { quick } else { least });
    let mut runs = Vec::new();
    for cache in caches {
        let more = format!("--cache {cache} --replace {}", flags.1);
        work.ergodic.patience = (stop.ceil() as u64).min(patience);
        let outcome = work.ergodic.remembered(&model.file(), model.flags(flags.0, &more));
        work.ergodic.patience = patience;
        let run = outcome?;
        let ended = run.ended();
        runs.push((*cache, run));
        if !ended {
            break;
        }
    }
    Ok(Curve { name, runs })
}

/// The cache that the goal is about.
const SMALL: u64 = 500;

/// Cache sizes: parts of the states, and `SMALL` if that is fewer.
fn caches(states: u64, parts: &[f64]) -> Vec<u64> {
    let mut out: Vec<u64> = parts.iter().map(|part| (part * states as f64) as u64).collect();
    out.retain(|cache| *cache > SMALL);
    out.push(SMALL);
    out
}

/// Fig. 4: what a cache costs, with and without sleep sets.
pub fn fig4(work: &mut Work) {
    work.report.heading("State-space caching revisited, Fig. 4: smaller and smaller caches");
    work.report.text(
        "Transitions as a multiple of those of Algorithm 1 with all states stored, and the time of the \
         search, with random replacement. In the paper the time explodes without sleep sets at a half to a third \
         of the states; with them at a fourth for PFTP, and not at all for the other three, which take two to four \
         times as many transitions with no more than 500 states. A run is stopped after eight times the \
         seconds of the full search (at least 4, 2 in a quick report), and smaller caches are not tried then.",
    );
    let parts: &[f64] =
        if work.quick { &[1.0, 0.35, 0.1] } else { &[1.0, 0.7, 0.5, 0.35, 0.25, 0.1, 0.03] };
    let mut met = Vec::new();
    for model in &MODELS {
        match fig4_model(work, model, parts) {
            Ok(curves) => met.push((model, curves)),
            Err(problem) => work.report.text(format!("{}: {problem}", model.name)),
        }
    }
    fig4_goals(work, &met);
}

fn fig4_model(work: &mut Work, model: &Model, parts: &[f64]) -> Result<Vec<Curve>, String> {
    let full = model.full(work)?;
    let sizes = caches(full.states, parts);
    let mut curves = Vec::new();
    for (rule, words) in RULES {
        curves.push(curve(work, model, words, (rule, "random"), &sizes)?);
    }
    curves_table(work, model, &full, &sizes, &curves);
    let series = |value: &dyn Fn(&Run) -> f64| curves.iter().map(|c| c.series(value)).collect();
    let share = |run: &Run| run.transitions as f64 / full.transitions.max(1) as f64;
    let caption = |what: &str| {
        format!("Fig. 4, {}: {what}; a line that ends early has its stopped run there", model.name)
    };
    let (shares, spent) = (series(&share), series(&|run: &Run| run.seconds));
    work.report.chart(chart(model, SHARE, Some(TOP), shares), &caption("transitions"));
    work.report.chart(chart(model, "seconds", None, spent), &caption("run time"));
    Ok(curves)
}

/// What is drawn of transitions, and how high: a stopped run would flatten everything else.
const SHARE: &str = "transitions / full search";
const TOP: f64 = 8.0;

fn chart(model: &Model, what: &str, top: Option<f64>, series: Vec<Series>) -> Chart {
    Chart {
        label: format!("{what} against the size of the cache, {}", model.name),
        x_title: "states in the cache, logarithm to base 10".to_string(),
        y_title: what.to_string(),
        top,
        series,
    }
}

/// One row per cache size, one column per curve.
fn curves_table(work: &mut Work, model: &Model, full: &Run, sizes: &[u64], curves: &[Curve]) {
    let title = format!(
        "{}: {} states, {} transitions",
        model.name,
        thousands(full.states),
        thousands(full.transitions)
    );
    work.report.blocks.push(Block::Heading(3, title));
    let mut head = vec!["cache", "of the states"];
    head.extend(curves.iter().map(|curve| curve.name));
    let mut table = Table::new(&head);
    for cache in sizes {
        let part = per(*cache, full.states).unwrap_or(0.0) * 100.0;
        let mut cells = vec![thousands(*cache), format!("{part:.1} %")];
        cells.extend(curves.iter().map(|curve| curve.cell(*cache, full)));
        table.row(cells);
    }
    work.report.table(table);
}

/// States that a model must have for the goal, and what a small cache may cost.
const LARGE: u64 = 250_000;
const COST: f64 = 4.0;

fn fig4_goals(work: &mut Work, models: &[(&Model, Vec<Curve>)]) {
    let (mut said, mut met, mut large) = (Vec::new(), Met::No, Vec::new());
    for (model, curves) in models {
        let Ok(full) = model.full(work) else { continue };
        let cost = |curve: &Curve| {
            let run = curve.at(SMALL).filter(|run| run.ended())?;
            Some((curve.name, per(run.transitions, full.transitions)?))
        };
        let costs: Vec<(&str, f64)> = curves.iter().filter_map(cost).collect();
        let Some(best) = costs.iter().map(|(_, cost)| *cost).reduce(f64::min) else {
            said.push(format!("{}: none", model.name));
            continue;
        };
        let words = costs.iter().map(|(name, cost)| format!("{name} {}", times(Some(*cost))));
        said.push(format!("{}: {}", model.name, words.collect::<Vec<_>>().join(", ")));
        if full.states >= LARGE {
            large.push(format!("{} with {} states", model.name, thousands(full.states)));
            if best <= COST {
                met = Met::Yes;
            }
        }
    }
    work.report.goal(
        "250,000 states or more with a cache of 500, at most 4 times the transitions",
        "2 … 4",
        format!("{}; large enough: {}", said.join("; "), large.join(", ")),
        if models.is_empty() { Met::Open } else { met },
    );
}

/// Which states are forgotten: what the paper compares, and the best of ours.
const REPLACEMENTS: [(&str, &str); 3] =
    [("random", "random"), ("kind", "by kind of step"), ("smallest-subtree", "smallest subtree")];

/// Fig. 5: random against type-oriented replacement.
pub fn fig5(work: &mut Work) {
    work.report.heading("State-space caching revisited, Fig. 5: which states are forgotten");
    work.report.text(
        "Algorithm 2 with a cache, as in Fig. 4, and three rules of which state goes when the cache is full: \
         any (`--replace random`), by the kind of the step that led to it (`kind`, the paper's type-oriented rule, \
         with which PFTP took half the cache), and the one with the fewest states below it \
         (`smallest-subtree`; an older study, cited by the paper, found nothing better than random). For the other \
         three protocols the paper saw no difference.",
    );
    let parts: &[f64] = if work.quick {
        &[0.5, 0.25, 0.1]
    } else {
        &[0.5, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.07, 0.05]
    };
    let mut told = Vec::new();
    for (i, model) in MODELS.iter().enumerate() {
        // The others do not explode, so the small cache is all there is to see.
        match fig5_model(work, model, if i == 0 { parts } else { &[] }) {
            Ok(words) => told.push(words),
            Err(problem) => work.report.text(format!("{}: {problem}", model.name)),
        }
    }
    if !told.is_empty() {
        work.report.text(format!("The smallest caches that sufficed: {}.", told.join("; ")));
    }
}

/// Adds a table and a chart; gives the smallest caches in words.
fn fig5_model(work: &mut Work, model: &Model, parts: &[f64]) -> Result<String, String> {
    let full = model.full(work)?;
    let sizes = caches(full.states, parts);
    let mut curves = Vec::new();
    for (replace, words) in REPLACEMENTS {
        curves.push(curve(work, model, words, ("paper", replace), &sizes)?);
    }
    curves_table(work, model, &full, &sizes, &curves);
    let share = |run: &Run| run.transitions as f64 / full.transitions.max(1) as f64;
    let series = curves.iter().map(|curve| curve.series(share)).collect();
    let caption =
        format!("Fig. 5, {}; a line that ends early has its stopped run there", model.name);
    work.report.chart(chart(model, SHARE, Some(TOP), series), &caption);
    let least = curves.iter().map(|curve| {
        format!("{} {}", curve.name, curve.least().map_or("none".to_string(), thousands))
    });
    Ok(format!("{}: {}", model.name, least.collect::<Vec<_>>().join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_is_there_and_stands_for_a_protocol_of_the_paper() {
        for model in &MODELS {
            assert!(Path::new(&model.file()).is_file(), "{}", model.file());
            assert!(model.printed().is_some(), "{}", model.name);
        }
    }

    #[test]
    fn caches_fall_and_end_with_the_small_one() {
        assert_eq!(caches(10_000, &[1.0, 0.5, 0.04]), [10_000, 5000, SMALL]);
        assert_eq!(caches(100, &[1.0]), [SMALL]);
    }

    #[test]
    fn a_stopped_run_is_shown_as_such() {
        let full = Run { transitions: 100, ..Run::default() };
        let run = |verdict: &str, transitions| Run {
            verdict: verdict.to_string(),
            transitions,
            seconds: 2.0,
            ..Run::default()
        };
        let deep = Run { stacked: 300, ..run("incomplete", 300) };
        let runs = vec![(900, run("holds", 150)), (500, run("incomplete", 1000)), (300, deep)];
        let curve = Curve { name: "a", runs };
        assert_eq!(curve.cell(900, &full), "1.50 (2.00 s)");
        assert_eq!(curve.cell(500, &full), "**> 10.00** (stopped after 2.00 s)");
        assert_eq!(curve.cell(300, &full), "the stack does not fit");
        assert_eq!(curve.cell(400, &full), "not tried");
        assert_eq!(curve.least(), Some(900));
        let series = curve.series(|run| run.transitions as f64);
        let places: Vec<u64> =
            series.points.iter().map(|point| 10f64.powf(point.x).round() as u64).collect();
        assert_eq!(places, [500, 900], "ascending, and without what did not fit");
    }
}
