//! Jobs in which nothing goes wrong: counts and verdicts are those of `check`.

use super::models::{
    BOUNDED, CHAINS, CHAINS_BUG, COUNTERS, FAULT, FAULT_AT_START, LARGE_STATES, NOTHING,
    NOTHING_AT_ALL, UNCOVERED, shipped,
};
use super::run::{Fleet, HOLDS, VIOLATED, check};
use ergodic_testkit::broker::eventually;
use serde_json::Value;

const STRICT: &[&str] = &["--levels", "strict"];

fn counts(report: &Value) -> Vec<Value> {
    let keys = ["verdict", "reason", "states", "transitions", "covers", "compressed_paths"];
    keys.iter().map(|key| report[*key].clone()).collect()
}

/// Runs a model on a fleet and here, and compares what came out.
fn same(fleet: &Fleet, model: &str, shared: &[&str], own: &[&str]) -> (Value, Value) {
    let (code, expected) = check(&fleet.dir, model, shared);
    let args = [&["--workers", "2"][..], shared, own].concat();
    let report = fleet.serve(model, &args).wait().report(code);
    let what = format!("{model} {args:?}");
    assert_eq!(report["verdict"], expected["verdict"], "{what}");
    assert_eq!(report["reason"], expected["reason"], "{what}");
    if code == HOLDS {
        assert_eq!(counts(&report), counts(&expected), "{what}");
    }
    let strict = own.contains(&"strict");
    if code == HOLDS && strict {
        for key in ["depth", "levels", "max_frontier"] {
            assert_eq!(report[key], expected[key], "{what}: {key}");
        }
        let fired = |report: &Value| -> Vec<Value> {
            let rules = report["rules"].as_array().cloned().unwrap_or_default();
            rules.iter().map(|rule| rule["fired"].clone()).collect()
        };
        assert_eq!(fired(&report), fired(&expected), "{what}");
    }
    if code == VIOLATED {
        let steps = |report: &Value| report["trace"].as_array().map_or(0, Vec::len);
        let kind = |report: &Value| report["violations"][0]["kind"].clone();
        assert_eq!(kind(&report), kind(&expected), "{what}");
        // A way that the program did not find again itself would be an internal error.
        assert!(steps(&report) >= steps(&expected), "{what}: a way that is too short");
        if strict {
            assert_eq!(steps(&report), steps(&expected), "{what}");
            let shortest = |report: &Value| report["violations"][0]["shortest"].clone();
            assert_eq!(shortest(&report), shortest(&expected), "{what}");
        } else if steps(&report) > 1 {
            assert_ne!(report["violations"][0]["shortest"], true, "{what}");
        }
    }
    assert_eq!(report["search"], "fleet");
    assert!(fleet.jobs().is_empty(), "the job is withdrawn");
    (report, expected)
}

#[test]
fn loose_and_strict_levels_with_some_keepers() {
    let Some(fleet) = Fleet::new() else { return };
    let model = shipped("examples/two-phase-commit.m");
    let off = &["--symmetry", "off"];
    for keepers in ["1", "2", "3"] {
        for levels in ["loose", "strict"] {
            let own = ["--keepers", keepers, "--levels", levels];
            let (report, _) = same(&fleet, &model, off, &own);
            assert_eq!(report["figures"]["keepers"].as_f64(), keepers.parse().ok());
            assert_eq!(report["omission_bound"], 0.0);
        }
    }
    // As soon as can be: batches are delivered again while somebody works on them.
    same(&fleet, &model, off, &["--redeliver-after", "0"]);
    // Very small and very large batches.
    same(&fleet, &model, off, &["--batch-states", "7", "--keepers", "2"]);
    same(&fleet, &model, off, &["--batch-states", "100000000", "--levels", "strict"]);
}

#[test]
fn kinds_of_keys_and_stores() {
    let Some(fleet) = Fleet::new() else { return };
    let model = shipped("examples/german.m");
    let off = &["--symmetry", "off"];
    for own in [
        &["--keys", "signatures", "--keepers", "2"][..],
        &["--keys", "signatures", "--store", "disk", "--memory", "100K", "--levels", "strict"],
        &["--store", "compact", "--memory", "4M", "--levels", "strict"],
        &["--store", "compact", "--keys", "signatures"],
    ] {
        let (report, _) = same(&fleet, &model, off, own);
        let omission = report["omission_bound"].as_f64().expect("a bound");
        assert!(omission > 0.0 && omission < 1e-3, "{own:?}: {omission}");
    }
}

#[test]
fn large_states() {
    let Some(fleet) = Fleet::new() else { return };
    let model = fleet.dir.file("large.m", LARGE_STATES);
    same(&fleet, &model, &["--deadlock", "off"], &["--keepers", "2"]);
    same(&fleet, &model, &["--deadlock", "off"], &["--keys", "signatures"]);
}

/// States that do not fit into memory go to disk, and that changes nothing.
#[test]
fn little_memory() {
    let Some(fleet) = Fleet::new() else { return };
    let model = fleet.dir.file("counters.m", COUNTERS);
    let shared = ["--const", "MANY=5", "--const", "TOP=11", "--deadlock", "off"];
    let (code, expected) = check(&fleet.dir, &model, &shared);
    for own in [
        &["--store", "exact", "--memory", "100K", "--keepers", "2"][..],
        &["--store", "disk", "--memory", "100K", "--levels", "strict"],
    ] {
        let disk = fleet.dir.path("disk");
        let fixed = ["--workers", "2", "--disk", &disk];
        let mut run = fleet.serve(&model, &[&fixed[..], &shared, own].concat());
        let mut used = false;
        eventually("the job ends", || {
            used |= files_of_sets(&disk) > 0;
            !run.running()
        });
        let report = run.wait().report(code);
        assert_eq!(counts(&report), counts(&expected), "{own:?}");
        assert!(used, "{own:?}: nothing went to disk");
        let left = std::fs::read_dir(&disk).map(Iterator::count).unwrap_or(0);
        assert_eq!(left, 0, "the directory is left as it was");
    }
}

/// Files of keepers' sets on disk.
fn files_of_sets(disk: &str) -> usize {
    let list = |path: std::path::PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    let keepers = list(disk.into()).flat_map(|serve| list(serve.path()));
    let keepers = keepers.map(|keeper| keeper.path().join("set"));
    keepers.flat_map(list).count()
}

#[test]
fn symmetry() {
    let Some(fleet) = Fleet::new() else { return };
    for model in ["examples/german.m", "examples/msi.m", "bench/data-base.m"] {
        same(&fleet, &shipped(model), &["--symmetry", "exact"], &["--keepers", "2"]);
    }
    same(&fleet, &shipped("examples/mesi.m"), &["--symmetry", "exact"], STRICT);
    same(&fleet, &shipped("examples/mesi-bug.m"), &["--symmetry", "exact"], STRICT);
}

#[test]
fn chains() {
    let Some(fleet) = Fleet::new() else { return };
    let chains = fleet.dir.file("chains.m", CHAINS);
    let bug = fleet.dir.file("chains-bug.m", CHAINS_BUG);
    let off = ["--compress-paths", "--deadlock", "off"];
    let (report, _) = same(&fleet, &chains, &off, &["--keepers", "2"]);
    assert!(report["figures"]["passed_states"].as_f64() > Some(0.0), "{report:#}");
    same(&fleet, &chains, &off, STRICT);
    let args = ["--compress-paths", "--deadlock", "stuck"];
    same(&fleet, &bug, &args, &["--keepers", "2"]);
    same(&fleet, &bug, &args, &["--keepers", "2", "--levels", "strict"]);
    same(&fleet, &shipped("examples/alternating-bit.m"), &["--compress-paths"], STRICT);
}

#[test]
fn violations() {
    let Some(fleet) = Fleet::new() else { return };
    let bounded = fleet.dir.file("bounded.m", BOUNDED);
    let fault = fleet.dir.file("fault.m", FAULT);
    let start = fleet.dir.file("start.m", FAULT_AT_START);
    for (model, shared) in [
        (shipped("examples/peterson-bug.m"), &[][..]),
        (shipped("examples/dining-philosophers-deadlock.m"), &["--deadlock", "stutter"][..]),
        (shipped("examples/alternating-bit-bug.m"), &[]),
        (shipped("tour/undefined-fault.m"), &[]),
        (bounded, &["--deadlock", "off"]),
        (fault, &["--deadlock", "off"]),
        (start, &[]),
    ] {
        same(&fleet, &model, shared, &["--keepers", "2"]);
        same(&fleet, &model, shared, &["--keepers", "2", "--levels", "strict"]);
    }
}

#[test]
fn goals() {
    let Some(fleet) = Fleet::new() else { return };
    let counters = fleet.dir.file("counters.m", COUNTERS);
    let uncovered = fleet.dir.file("uncovered.m", UNCOVERED);
    let off = ["--deadlock", "off", "--const", "MANY=4"];
    same(&fleet, &counters, &off, &[]);
    let (report, _) = same(&fleet, &uncovered, &["--deadlock", "off"], STRICT);
    assert!(report["covers"].as_array().is_some_and(|covers| covers.len() == 2), "{report:#}");
    same(&fleet, &shipped("regress/cover-in-ruleset.m"), &[], &[]);
}

#[test]
fn models_with_next_to_nothing() {
    let Some(fleet) = Fleet::new() else { return };
    let nothing = fleet.dir.file("nothing.m", NOTHING);
    let at_all = fleet.dir.file("at-all.m", NOTHING_AT_ALL);
    for model in [&nothing, &at_all] {
        for own in [&[][..], STRICT, &["--keys", "signatures", "--keepers", "3"]] {
            same(&fleet, model, &["--deadlock", "off"], own);
        }
    }
    same(&fleet, &at_all, &["--deadlock", "stuck"], &[]);
    same(&fleet, &nothing, &["--compress-paths"], &["--store", "compact"]);
    same(&fleet, &nothing, &[], &["--store", "disk"]);
}

/// Limits end a job as they end a check.
#[test]
fn limits() {
    let Some(fleet) = Fleet::new() else { return };
    let model = fleet.dir.file("counters.m", COUNTERS);
    let shared = ["--deadlock", "off", "--max-depth", "9"];
    let (code, expected) = check(&fleet.dir, &model, &shared);
    let args = [&["--workers", "1"][..], STRICT, &shared].concat();
    let report = fleet.serve(&model, &args).wait().report(code);
    for key in ["verdict", "reason", "states", "transitions", "depth"] {
        assert_eq!(report[key], expected[key], "{key}");
    }
    // So many states that nobody gets through them in time.
    let endless = ["--workers", "1", "--deadlock", "off", "--const", "MANY=60"];
    for limit in [["--max-states", "1000"], ["--time-limit", "1"], ["--time-limit", "0"]] {
        let args = [&endless[..], &limit].concat();
        let report = fleet.serve(&model, &args).wait().report(super::run::INCOMPLETE);
        assert_eq!(report["verdict"], "incomplete");
        // Figures are of the same moment: keepers were asked about every state that they have.
        let asked = report["figures"]["claimed"].as_f64();
        assert!(asked >= report["states"].as_f64(), "{limit:?}: {report:#}");
    }
    assert!(fleet.jobs().is_empty());
}

/// Of a model that is explored in a moment nobody knows what a state costs, and nothing is said about it.
#[test]
fn a_small_model_is_no_measure() {
    let Some(fleet) = Fleet::new() else { return };
    let model = shipped("examples/peterson.m");
    let ended = fleet.serve(&model, &["--workers", "1"]).wait();
    let report = ended.report(HOLDS);
    assert!(report["figures"]["local_rate"].is_null(), "{report:#}");
    assert!(!ended.out.contains("ergodic check is faster"), "{report:#}");
    let lines = ended.err.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    for live in lines {
        assert!(live["efficiency"].is_null() && live["local_rate"].is_null(), "{live:#}");
    }
}
