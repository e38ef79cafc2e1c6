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

fn expectations() -> Vec<Expected> {
    let file = directory().join("expected.tsv");
    let Ok(text) = std::fs::read_to_string(&file) else {
        println!("skipped: the classic models are not there ({})", file.display());
        return Vec::new();
    };
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let parsed: Vec<Expected> = lines.map(parse).filter(|e| e.symmetry != "paper").collect();
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
        symmetry: symmetry.to_string(),
        states: states.parse().ok(),
        transitions: transitions.parse().ok(),
        depth: depth.parse().ok(),
        verdict: verdict.to_string(),
    }
}

/// Runs one line; `None` if this version cannot (yet) run it.
fn run(expected: &Expected, engine: &str, search: &str) -> Option<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ergodic"));
    command.arg("check").arg(directory().join(&expected.model));
    command.args(["--format", "json", "--deadlock", "off"]);
    command.args(["--engine", engine, "--search", search, "--symmetry", &expected.symmetry]);
    if expected.constants != "-" {
        command.args(["--const", &expected.constants]);
    }
    if expected.states.is_none() {
        command.args(["--max-states", "5000"]);
    }
    let output = command.output().expect("ergodic runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{expected:?}: no JSON ({error}): {text}{}", String::from_utf8_lossy(&output.stderr))
    });
    let reason = report["reason"].as_str().unwrap_or_default();
    (!reason.contains("not available for scalarsets")).then_some(report)
}

/// Compares a run with its line. Depth and the counts of a violated run are those of breadth first.
fn compare(
    expected: &Expected,
    engine: &str,
    search: &str,
    report: &Value,
    wrong: &mut Vec<String>,
) {
    let mut differ = |what: &str, expected_value: String, got: String| {
        if expected_value != got {
            let Expected { model, constants, symmetry, .. } = expected;
            wrong.push(format!(
                "{model} {constants} {symmetry} {engine} {search}: {what} {got}, expected {expected_value}"
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
    if word == "holds" || search == "bfs" {
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

fn run_all(lines: impl Iterator<Item = Expected>, rows: &[(&str, &str)]) {
    let (mut wrong, mut ran, mut skipped) = (Vec::new(), 0, Vec::new());
    for expected in lines {
        for (engine, search) in rows {
            match run(&expected, engine, search) {
                Some(report) => {
                    ran += 1;
                    compare(&expected, engine, search, &report, &mut wrong);
                }
                None => skipped.push(format!("{} {}", expected.model, expected.symmetry)),
            }
        }
    }
    skipped.dedup();
    println!("{ran} runs; skipped for want of symmetry reduction: {skipped:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// States above which the interpreter is spared.
const LARGE: u64 = 1_000_000;

const COMPILED: &[(&str, &str)] = &[("jit", "bfs"), ("jit", "dfs")];
const INTERPRETED: &[(&str, &str)] = &[("interp", "bfs"), ("interp", "dfs")];

#[test]
fn compiled_classics_give_the_published_counts() {
    run_all(expectations().into_iter(), COMPILED);
}

#[test]
fn interpreted_classics_give_the_published_counts() {
    let small = expectations().into_iter().filter(|e| e.states.is_none_or(|n| n <= LARGE));
    run_all(small, INTERPRETED);
}
