//! Reductions as a person would use them: what they give, what they refuse, and that they agree.

use serde_json::Value;
use std::process::{Command, Output};

const BAD_INPUT: i32 = 3;
const INCOMPLETE: i32 = 2;

fn ergodic(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ergodic")).args(args).output().expect("ergodic runs")
}

fn model(name: &str) -> String {
    format!("{}/../../models/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn check(name: &str, more: &[&str]) -> Value {
    let path = model(name);
    let output = ergodic(&[&["check", path.as_str(), "--format", "json"][..], more].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
    })
}

fn count(report: &Value, key: &str) -> u64 {
    report[key].as_u64().unwrap_or_else(|| panic!("{key} in {report:#}"))
}

fn figure(report: &Value, key: &str) -> u64 {
    report["figures"][key].as_f64().unwrap_or_else(|| panic!("{key} in {report:#}")) as u64
}

const PHILOSOPHERS: &str = "bench/dining-philosophers.m";
const STUCK: [&str; 4] = ["--deadlock", "stuck", "--const", "N=8"];

#[test]
fn sleep_sets_find_all_states_with_fewer_transitions() {
    let plain = check(PHILOSOPHERS, &STUCK);
    for threads in ["1", "3"] {
        let more = [&STUCK[..], &["--reduction", "sleep", "--threads", threads]].concat();
        let asleep = check(PHILOSOPHERS, &more);
        assert_eq!(asleep["verdict"], "holds");
        assert_eq!(asleep["states"], plain["states"]);
        assert_eq!(asleep["depth"], plain["depth"]);
        let fired = count(&asleep, "transitions");
        assert!(fired * 10 < count(&plain, "transitions") * 9, "{fired}");
        assert_eq!(fired + figure(&asleep, "slept_transitions"), count(&plain, "transitions"));
        assert_eq!(asleep["reduction"], "sleep");
    }
}

/// What sleeps is renamed with the state; it was a third of this when it was dropped.
#[test]
fn transitions_sleep_in_permuted_states() {
    for name in ["examples/two-phase-commit.m", "examples/msi.m"] {
        let plain = check(name, &[]);
        let all = count(&plain, "transitions");
        for more in [
            &["--reduction", "sleep", "--threads", "1"][..],
            &["--reduction", "sleep", "--threads", "3"],
            &["--search", "sleep-dfs"],
            &["--search", "sleep-dfs", "--sleep", "paper"],
        ] {
            let asleep = check(name, more);
            assert_eq!(asleep["verdict"], "holds", "{name} {more:?}");
            assert_eq!(asleep["symmetry"], "exact");
            assert_eq!(asleep["states"], plain["states"], "{name} {more:?}");
            let fired = count(&asleep, "transitions");
            assert!(fired * 5 < all * 4, "{name} {more:?}: {fired} of {all}");
        }
    }
}

#[test]
fn depth_first_stubborn_sets_look_at_the_stack() {
    let ring = "bench/leader-election.m";
    let stubborn = ["--deadlock", "off", "--reduction", "stubborn"];
    let wide = check(ring, &stubborn);
    let deep = check(ring, &[&stubborn[..], &["--search", "dfs"]].concat());
    assert_eq!((&wide["verdict"], &deep["verdict"]), (&"holds".into(), &"holds".into()));
    // Three times as many if only states that were never found would do.
    let (wide, deep) = (count(&wide, "states"), count(&deep, "states"));
    assert!(deep < wide * 3 / 2, "{deep} and {wide}");
}

#[test]
fn stubborn_sets_find_what_is_wrong_with_few_states() {
    let plain = check(PHILOSOPHERS, &STUCK);
    let one =
        check(PHILOSOPHERS, &[&STUCK[..], &["--reduction", "stubborn", "--threads", "1"]].concat());
    let three =
        check(PHILOSOPHERS, &[&STUCK[..], &["--reduction", "stubborn", "--threads", "3"]].concat());
    assert_eq!((&one["states"], &one["transitions"]), (&three["states"], &three["transitions"]));
    assert!(count(&one, "states") * 5 < count(&plain, "states"), "{}", one["states"]);
    let stuck = "examples/dining-philosophers-deadlock.m";
    let broken = check(stuck, &["--reduction", "stubborn"]);
    assert_eq!(broken["verdict"], "violated");
    assert_eq!(broken["violations"][0]["kind"], "deadlock");
    let wrong = check("examples/peterson-bug.m", &["--reduction", "stubborn"]);
    assert_eq!(wrong["verdict"], "violated");
}

#[test]
fn stubborn_sets_leave_less_than_a_tenth_of_the_states() {
    for name in
        [PHILOSOPHERS, "bench/leader-election.m", "bench/message-ring.m", "bench/colour-ring.m"]
    {
        for deadlock in ["stuck", "stutter"] {
            let plain = check(name, &["--deadlock", deadlock]);
            let few = check(name, &["--deadlock", deadlock, "--reduction", "stubborn"]);
            assert_eq!(few["verdict"], plain["verdict"], "{name} --deadlock {deadlock}");
            let (few, all) = (count(&few, "states"), count(&plain, "states"));
            assert!(few * 10 < all, "{name} --deadlock {deadlock}: {few} of {all}");
        }
    }
}

#[test]
fn a_small_cache_visits_everything() {
    let transfer = "papers/data-transfer.m";
    let whole = check(transfer, &["--search", "sleep-dfs"]);
    assert_eq!(count(&whole, "states"), count(&check(transfer, &[]), "states"));
    assert_eq!(figure(&whole, "forgotten_states"), 0);
    for sleep in ["stored", "paper"] {
        for replace in ["random", "least-visited", "most-visited", "smallest-subtree", "kind"] {
            let more = ["--cache", "60", "--sleep", sleep, "--replace", replace];
            let small = check(transfer, &[&["--search", "sleep-dfs"][..], &more].concat());
            assert_eq!(small["verdict"], "holds", "{replace}");
            assert_eq!(small["revisits"], true);
            assert_eq!(figure(&small, "cached_states"), 60);
            assert!(count(&small, "states") >= count(&whole, "states"));
        }
    }
    let path = model(PHILOSOPHERS);
    let tiny = ["check", &path, "--deadlock", "stuck", "--search", "sleep-dfs", "--cache", "5"];
    let output = ergodic(&tiny);
    assert_eq!(output.status.code(), Some(INCOMPLETE));
    assert!(String::from_utf8_lossy(&output.stdout).contains("give --cache more"));
}

#[test]
fn compressed_counterexamples_have_all_their_steps() {
    for name in ["examples/alternating-bit-bug.m", "examples/two-phase-commit-bug.m"] {
        let plain = check(name, &[]);
        let compressed = check(name, &["--compress-paths"]);
        assert_eq!(compressed["verdict"], "violated", "{name}");
        let steps = |report: &Value| report["trace"].as_array().map_or(0, Vec::len);
        assert!(steps(&compressed) >= steps(&plain), "{name}");
        assert_eq!(compressed["compressed_paths"], true);
    }
}

#[test]
fn audits_agree() {
    for name in ["examples/msi.m", "examples/peterson.m", "examples/mesi-bug.m"] {
        for more in [
            &["--reduction", "sleep"][..],
            &["--reduction", "stubborn"],
            &["--compress-paths"],
            &["--search", "sleep-dfs"],
        ] {
            let path = model(name);
            let output =
                ergodic(&[&["check", path.as_str(), "--audit-reduction"][..], more].concat());
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(output.status.code(), Some(0), "{name} {more:?}: {text}");
            assert!(text.contains("the verdicts agree"), "{text}");
        }
    }
}

#[test]
fn what_does_not_go_together_is_refused_with_a_reason() {
    let path = model(PHILOSOPHERS);
    for (more, part) in [
        (&["--reduction", "sleep", "--store", "compact"][..], "neither omits nor forgets"),
        (&["--reduction", "stubborn", "--strategy", "cached"], "neither omits nor forgets"),
        (&["--reduction", "sleep", "--search", "dfs"], "are for breadth-first"),
        (&["--reduction", "sleep", "--compress-paths"], "leave out one of them"),
        (&["--search", "sleep-dfs", "--strategy", "sorted"], "a cache of its own"),
        (&["--reduction", "sleep", "--max-errors", "3"], "leave out --max-errors"),
        (&["--reduction", "sleep", "--graph", "g.dot"], "need all states and transitions"),
        (&["--audit-reduction"], "no reduction to be compared"),
        (&["--search", "sleep-dfs", "--cache", "0"], "no use"),
    ] {
        let output = ergodic(&[&["check", path.as_str()][..], more].concat());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(BAD_INPUT), "{more:?}: {text}");
        assert!(text.contains(part), "{more:?}: {text}");
    }
}

/// What is chosen depends on the levels in which states were found, and that is saved.
#[test]
fn a_run_with_stubborn_sets_goes_on_with_the_same_choice() {
    let more =
        ["--deadlock", "stuck", "--const", "N=14", "--reduction", "stubborn", "--engine", "interp"];
    let expected = check(PHILOSOPHERS, &more);
    let saved = std::env::temp_dir().join(format!("ergodic-stubborn-{}", std::process::id()));
    let path = saved.display().to_string();
    let stop = ["--checkpoint", path.as_str(), "--time-limit", "0.15"];
    assert_eq!(check(PHILOSOPHERS, &[&more[..], &stop].concat())["verdict"], "incomplete");
    let output = ergodic(&["resume", &path, "--format", "json", "--threads", "1"]);
    let resumed: Value = serde_json::from_slice(&output.stdout).expect("a report");
    for key in ["verdict", "states", "transitions", "depth", "figures"] {
        assert_eq!(resumed[key], expected[key], "{key}");
    }
    std::fs::remove_dir_all(saved).expect("a checkpoint");
}
