//! The classic models of the Murphi distribution: counts, verdicts and depths as published.
//!
//! They are not part of this repository; the tests look for them in `../shared/models/murphi` beside
//! it and say so when they are not there.

use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// One line of `expected.tsv`.
#[derive(Debug, Clone)]
struct Expected {
    model: String,
    constants: String,
    symmetry: String,
    states: Option<u64>,
    transitions: Option<u64>,
    depth: Option<u64>,
    verdict: String,
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models/murphi")
}

/// The lines, without those that are for CMurphi's normal form only.
fn expectations() -> Vec<Expected> {
    let mut lines = all_expectations();
    lines.retain(|e| e.symmetry != "cmurphi");
    lines
}

fn all_expectations() -> Vec<Expected> {
    let file = directory().join("expected.tsv");
    let Ok(text) = std::fs::read_to_string(&file) else {
        println!("skipped: the classic models are not there ({})", file.display());
        return Vec::new();
    };
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let parsed: Vec<Expected> = lines.map(parse).collect();
    assert!(parsed.len() > 40, "expected.tsv has lost its lines");
    parsed
}

fn parse(line: &str) -> Expected {
    let columns: Vec<&str> = line.split('\t').collect();
    let [model, constants, symmetry, states, transitions, depth, _queue, verdict] = columns[..]
    else {
        panic!("not eight columns: {line}");
    };
    Expected {
        model: model.to_string(),
        constants: constants.to_string(),
        symmetry: if symmetry == "paper" { "cmurphi" } else { symmetry }.to_string(),
        states: states.parse().ok(),
        transitions: transitions.parse().ok(),
        depth: depth.parse().ok(),
        verdict: verdict.to_string(),
    }
}

/// One way to run: engine, search, store, threads.
type Row = (&'static str, &'static str, &'static str, &'static str);

fn run(expected: &Expected, (engine, search, store, threads): Row) -> Value {
    run_with(
        expected,
        &["--engine", engine, "--search", search, "--store", store, "--threads", threads],
    )
}

fn run_with(expected: &Expected, more: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ergodic"));
    command.arg("check").arg(directory().join(&expected.model));
    command.args(["--format", "json", "--deadlock", "off", "--symmetry", &expected.symmetry]);
    command.args(more);
    if expected.constants != "-" {
        command.args(["--const", &expected.constants]);
    }
    if expected.states.is_none() {
        command.args(["--max-states", "5000"]);
    }
    let output = command.output().expect("ergodic runs");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{expected:?}: no JSON ({error}): {text}{}", String::from_utf8_lossy(&output.stderr))
    })
}

/// Compares a run with its line. Depth and the counts of a violated run are those of breadth first,
/// where a violated run ends depends, under symmetry, on which member of an orbit stands for it:
/// that is known to make a difference in one model.
fn compare(expected: &Expected, row: Row, report: &Value, wrong: &mut Vec<String>) {
    let search = row.1;
    let mut differ = |what: &str, expected_value: String, got: String| {
        if expected_value != got {
            let Expected { model, constants, symmetry, .. } = expected;
            wrong.push(format!(
                "{model} {constants} {symmetry} {row:?}: {what} {got}, expected {expected_value}"
            ));
        }
    };
    let (word, what) = expected.verdict.split_once(": ").unwrap_or((&expected.verdict, ""));
    let Some(states) = expected.states else {
        return differ("verdict", "incomplete".to_string(), text(&report["verdict"]));
    };
    differ("verdict", word.to_string(), text(&report["verdict"]));
    if word == "violated" && search == "bfs" {
        differ("violation", what.to_string(), text(&report["reason"]));
        assert!(!report["trace"].as_array().is_none_or(Vec::is_empty), "a trace is shown");
    }
    let by_member = expected.model == "sci/scierr.m" && report["symmetry"] == "exact";
    if word == "holds" || (search == "bfs" && !by_member) {
        differ("states", states.to_string(), text(&report["states"]));
        if let Some(transitions) = expected.transitions {
            differ("transitions", transitions.to_string(), text(&report["transitions"]));
        }
    }
    if let (Some(depth), "bfs") = (expected.depth, search) {
        differ("depth", depth.to_string(), text(&report["depth"]));
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

fn run_all(lines: impl Iterator<Item = Expected>, rows: &[Row]) {
    let (mut wrong, mut ran) = (Vec::new(), 0);
    for expected in lines {
        for row in rows {
            let report = run(&expected, *row);
            ran += 1;
            compare(&expected, *row, &report, &mut wrong);
        }
    }
    println!("{ran} runs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// States above which only the fast rows are taken.
const LARGE: u64 = 1_000_000;

/// The same where nobody asks for more: `ERGODIC_ALL_CLASSICS=1`.
const MEDIUM: u64 = 100_000;

/// The states of the largest models that all rows are tried on.
fn most(usual: u64, all: u64) -> u64 {
    if std::env::var_os("ERGODIC_ALL_CLASSICS").is_some() { all } else { usual }
}

/// Rows for every model.
const FAST: &[Row] = &[("jit", "bfs", "auto", "1"), ("jit", "bfs", "auto", "2")];

/// Further rows for all but the large ones.
const OTHERS: &[Row] = &[
    ("jit", "dfs", "auto", "1"),
    ("jit", "bfs", "tree", "1"),
    ("jit", "bfs", "tree", "2"),
    ("jit", "bfs", "numbered", "1"),
    ("interp", "bfs", "auto", "1"),
    ("interp", "dfs", "numbered", "1"),
];

#[test]
fn classics_give_the_published_counts_on_one_and_two_threads() {
    run_all(expectations().into_iter(), FAST);
}

#[test]
fn classics_give_the_published_counts_on_every_other_row() {
    let most = most(MEDIUM, LARGE);
    let small = expectations().into_iter().filter(|e| e.states.is_none_or(|n| n <= most));
    run_all(small, OTHERS);
}

#[test]
fn classics_give_the_published_counts_from_disk() {
    // A violated search from disk ends with its level: other counts, the same verdict.
    let held = expectations().into_iter().filter(|e| e.verdict == "holds");
    let most = most(MEDIUM, LARGE);
    let small = held.filter(|e| e.states.is_some_and(|n| n <= most));
    run_all(small, &[("jit", "bfs", "disk", "2")]);
}

#[test]
fn large_classics_give_the_published_counts_depth_first() {
    let large = expectations().into_iter().filter(|e| e.states.is_some_and(|n| n > LARGE));
    run_all(large, &[("jit", "dfs", "auto", "1")]);
}

#[test]
fn cmurphis_normal_form_gives_its_counts() {
    let lines = all_expectations();
    let split: Vec<&str> =
        lines.iter().filter(|e| e.symmetry == "cmurphi").map(|e| e.model.as_str()).collect();
    // Where a line of its own is missing, CMurphi's default gives the exact counts.
    let of_default = |e: &&Expected| {
        e.symmetry == "cmurphi" || e.symmetry == "exact" && !split.contains(&e.model.as_str())
    };
    let most = most(MEDIUM, LARGE);
    let small = lines.iter().filter(of_default).filter(|e| e.states.is_some_and(|n| n <= most));
    let small = small.map(|e| Expected { symmetry: "cmurphi".to_string(), ..e.clone() });
    run_all(
        small,
        &[("jit", "bfs", "auto", "1"), ("interp", "bfs", "tree", "2"), ("jit", "dfs", "auto", "1")],
    );
}

/// Runs of one line that must all be alike.
const REPEATS: usize = 20;

/// Both exact stores with several threads.
const PARALLEL: [Row; 2] = [("jit", "bfs", "flat", "2"), ("jit", "bfs", "tree", "2")];

#[test]
fn parallel_runs_repeat_themselves() {
    let wanted = [("sym/mcslock1.m", "off"), ("sym/adash.m", "off"), ("sym/list6.m", "exact")];
    let lines = expectations().into_iter();
    let chosen: Vec<Expected> =
        lines.filter(|e| wanted.contains(&(e.model.as_str(), e.symmetry.as_str()))).collect();
    let rows = [("jit", "bfs", "auto", "2"), ("jit", "bfs", "tree", "3")];
    for _ in 0..REPEATS / rows.len() {
        run_all(chosen.iter().cloned(), &rows);
    }
}

/// The heavy one: every line, up to the largest, in both exact stores; `ERGODIC_ALL_CLASSICS=1`.
#[test]
fn all_parallel_runs_repeat_themselves() {
    if std::env::var_os("ERGODIC_ALL_CLASSICS").is_none() {
        return println!("skipped: takes some minutes; ERGODIC_ALL_CLASSICS=1 runs it");
    }
    run_all(
        expectations().into_iter(),
        &PARALLEL.map(|(engine, search, store, _)| (engine, search, store, "1")),
    );
    for _ in 0..REPEATS {
        run_all(expectations().into_iter(), &PARALLEL);
    }
}

#[test]
fn symmetry_reduction_stands_the_audit() {
    let lines = expectations().into_iter().filter(|e| e.symmetry == "off");
    let most = most(MEDIUM, LARGE);
    for expected in lines.filter(|e| e.states.is_some_and(|n| n < most)) {
        let output = Command::new(env!("CARGO_BIN_EXE_ergodic"))
            .arg("check")
            .arg(directory().join(&expected.model))
            .args(["--audit-symmetry", "--deadlock", "off"])
            .output()
            .expect("ergodic runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("the verdicts agree"), "{text}");
    }
}

/// States above which reductions are tried only if somebody asks for it: `ERGODIC_ALL_CLASSICS=1`.
const REDUCED: u64 = 20_000;

#[test]
fn reductions_keep_the_verdicts_and_sleep_sets_the_states() {
    let most = most(REDUCED, u64::MAX);
    let mut wrong = Vec::new();
    for expected in expectations().into_iter().filter(|e| e.states.is_some_and(|n| n <= most)) {
        for more in [
            &["--reduction", "sleep"][..],
            &["--reduction", "stubborn"],
            &["--compress-paths"],
            &["--search", "sleep-dfs"],
            &["--search", "sleep-dfs", "--sleep", "paper"],
        ] {
            let report = run_with(&expected, more);
            let verdict =
                expected.verdict.split_once(": ").map_or(expected.verdict.as_str(), |v| v.0);
            let same_states = match more {
                ["--reduction", "sleep"] | ["--search", ..] if verdict == "holds" => {
                    report["states"].as_u64() == expected.states
                }
                _ => true,
            };
            let depth = more != ["--reduction", "sleep"]
                || verdict != "holds"
                || expected.depth.is_none_or(|depth| report["depth"] == depth);
            if report["verdict"] != verdict || !same_states || !depth {
                let Expected { model, symmetry, states, .. } = &expected;
                wrong.push(format!(
                    "{model} {symmetry} {more:?}: {} with {} states at depth {}, expected {verdict} with {states:?}",
                    report["verdict"], report["states"], report["depth"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
