//! Runs that outgrow memory, are stopped, killed, damaged and resumed, as a person would do it.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const HOLDS: i32 = 0;
const INCOMPLETE: i32 = 2;
const BAD_INPUT: i32 = 3;

/// Counters that count up independently, and one that slows the run down: `SIZE` to the third states.
const COUNTERS: &str = r#"
const SIZE: 60;
type count: 0..SIZE-1; which: 0..2;
var at: array [which] of count; sum: 0..3*SIZE;
startstate "zero" begin for i: which do at[i] := 0; end; sum := 0; end;
ruleset i: which do
  rule "up" at[i] < SIZE-1 ==> begin at[i] := at[i] + 1; sum := sum + 1; end;
  rule "swap" at[i] > 1 & at[0] > at[i] ==> begin at[i] := at[i] - 1; sum := sum - 1; end;
end;
invariant "sum" sum = at[0] + at[1] + at[2];
"#;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("ergodic-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a scratch directory");
        Scratch(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn model(&self) -> String {
        std::fs::write(self.0.join("counters.m"), COUNTERS).expect("a model");
        self.path("counters.m")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ergodic"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn ergodic(args: &[&str]) -> Output {
    command(args).output().expect("ergodic runs")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        panic!("{error}: {out}{err}")
    })
}

fn check(model: &str, more: &[&str]) -> Value {
    json(&ergodic(&[&["check", model, "--format", "json", "--deadlock", "off"], more].concat()))
}

fn counts(report: &Value) -> [Value; 5] {
    ["verdict", "states", "transitions", "depth", "max_frontier"].map(|key| report[key].clone())
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn exact_strategies_agree_however_little_memory_there_is() {
    let dir = Scratch::new("agree");
    let model = dir.model();
    let expected = check(&model, &["--strategy", "ram"]);
    assert_eq!(expected["states"], 216_000);
    for more in [
        &["--memory", "1M"][..],
        &["--memory", "200K", "--threads", "1"],
        &["--memory", "1M", "--store", "tree"],
        &["--memory", "1M", "--store", "disk"],
        &["--memory", "100K", "--strategy", "sorted", "--threads", "3"],
    ] {
        let report = check(&model, more);
        assert_eq!(counts(&report), counts(&expected), "{more:?}");
        assert!(report["figures"]["disk_bytes"].as_f64().expect("a figure") > 0.0, "{more:?}");
        assert_eq!(report["omission_bound"], 0.0);
    }
    // What fits does not go to disk.
    assert_eq!(check(&model, &[])["figures"]["disk_bytes"], Value::Null);
    let short = ergodic(&["check", &model, "--memory", "1M", "--strategy", "ram"]);
    assert_eq!(short.status.code(), Some(INCOMPLETE));
}

#[test]
fn forgetful_and_lossy_strategies_say_what_they_are_worth() {
    let dir = Scratch::new("worth");
    let model = dir.model();
    for more in [
        &["--strategy", "dbf", "--memory", "1M"][..],
        &["--strategy", "serial", "--memory", "512K"],
        &["--strategy", "cached", "--memory", "2M"],
    ] {
        let report = check(&model, more);
        assert_eq!(report["verdict"], "holds", "{more:?}: {report:#}");
        assert!(report["states"].as_u64() >= Some(216_000), "{more:?}");
    }
    // The serial search has signatures from the start, and their bound, whether it goes to disk or not.
    for memory in ["512K", "8M"] {
        let wide = check(&model, &["--strategy", "serial", "--memory", memory, "--bits", "80"]);
        assert_eq!(wide["verdict"], "holds");
        let bound = wide["omission_bound"].as_f64().expect("a bound");
        assert!(bound > 0.0 && bound < 1e-10, "{memory}: {bound}");
    }
    let starved = check(&model, &["--strategy", "cached", "--slots", "1000"]);
    assert_eq!(starved["verdict"], "incomplete");
    assert!(starved["reason"].to_string().contains("collision rate"), "{}", starved["reason"]);
    let compact = check(&model, &["--store", "compact", "--bits", "30", "--memory", "8M"]);
    let bound = compact["omission_bound"].as_f64().expect("a bound");
    assert!(bound > 1e-6 && bound < 1e-2, "{bound}");
    let twice =
        check(&model, &["--store", "compact", "--bits", "30", "--memory", "8M", "--reruns", "2"]);
    assert!(twice["omission_bound"].as_f64().expect("a bound") < bound * bound * 4.0);
    let exact = ergodic(&["check", &model, "--deadlock", "off", "--reruns", "2"]);
    assert!(String::from_utf8_lossy(&exact.stdout).contains("nothing to gain from --reruns"));
    let wide = check(&model, &["--store", "compact", "--omission", "1e-9"]);
    assert!(wide["omission_bound"].as_f64() < Some(1e-9));
    let bits = check(&model, &["--store", "bitstate", "--memory", "16M"]);
    assert_eq!(bits["verdict"], "incomplete");
    assert!(bits["reason"].to_string().contains("estimate"));
}

#[test]
fn what_does_not_go_together_is_refused_with_a_reason() {
    let dir = Scratch::new("refused");
    let model = dir.model();
    for (more, part) in [
        (&["--memory", "1K"][..], "at least 64 KiB"),
        (&["--store", "compact", "--strategy", "sorted"], "cannot go to disk"),
        (&["--search", "dfs", "--strategy", "cached"], "breadth first"),
        (&["--store", "compact", "--bits", "3"], "from 4 to 64"),
        (&["--search", "dfs", "--checkpoint", "c"], "use --search bfs"),
        (&["--search", "sleep-dfs", "--checkpoint", "c"], "use --search bfs"),
        (&["--omission", "2"], "at most 1"),
        (&["--checkpoint-every", "5s"], "--checkpoint"),
        (&["--graph", &dir.path("graph.dot"), "--checkpoint", "c"], "leave out --graph"),
    ] {
        let output = ergodic(&[&["check", &model][..], more].concat());
        assert_eq!(output.status.code(), Some(BAD_INPUT), "{more:?}: {}", message(&output));
        assert!(message(&output).contains(part), "{more:?}: {}", message(&output));
    }
    let live = dir.path("live.m");
    let property = "liveness \"full\" at[0] = SIZE-1;\n";
    std::fs::write(&live, format!("{COUNTERS}{property}")).expect("a model");
    let output = ergodic(&["check", &live, "--checkpoint", &dir.path("saved")]);
    assert_eq!(output.status.code(), Some(BAD_INPUT), "{}", message(&output));
    assert!(
        message(&output).contains("liveness properties cannot be saved"),
        "{}",
        message(&output)
    );
    let nowhere = ["check", &model, "--strategy", "sorted", "--disk", "/proc/nowhere"];
    let output = ergodic(&nowhere);
    let all = format!("{}{}", String::from_utf8_lossy(&output.stdout), message(&output));
    assert_eq!(output.status.code(), Some(INCOMPLETE), "{all}");
    assert!(all.contains("/proc/nowhere") && all.contains("--disk"), "{all}");
}

/// A run that its time limit stops long before it is done: interpreted, it takes seconds.
fn stopped_early(model: &str, saved: &str) -> Output {
    let args = ["check", model, "--deadlock", "off", "--engine", "interp", "--checkpoint", saved];
    let output = ergodic(&[&args[..], &["--time-limit", "0.05"]].concat());
    assert_eq!(output.status.code(), Some(INCOMPLETE), "{}", message(&output));
    output
}

#[test]
fn a_run_that_is_stopped_goes_on_with_other_threads_and_memory() {
    let dir = Scratch::new("stopped");
    let model = dir.model();
    let saved = dir.path("saved");
    let expected = check(&model, &[]);
    let output = stopped_early(&model, &saved);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("ergodic resume"), "{text}");
    let mut before = 0;
    for more in [&["--threads", "3"][..], &["--memory", "600K"], &["--threads", "1"]] {
        let limit = ["--time-limit", "0.05"];
        let args = [&["resume", &saved, "--format", "json"][..], more, &limit].concat();
        let report = json(&ergodic(&args));
        assert_eq!(report["verdict"], "incomplete", "{more:?}");
        let states = report["states"].as_u64().expect("a count");
        assert!(states >= before && states < 216_000, "{more:?}: {states} after {before}");
        before = states;
    }
    let last = json(&ergodic(&["resume", &saved, "--format", "json"]));
    assert_eq!(counts(&last), counts(&expected));
    assert!(last["seconds_before"].as_f64() > Some(0.0));
}

/// Searches that are saved with tables or signatures, in one thread: then they do the same each time.
const WITH_TABLES: [&[&str]; 7] = [
    &["--store", "compact", "--bits", "24", "--memory", "8M"],
    &["--store", "compact", "--bits", "24", "--paper-layout", "--slots", "300007"],
    &["--store", "compact", "--bits", "24", "--memory", "8M", "--reruns", "2", "--seed", "5"],
    &["--store", "bitstate", "--memory", "1M"],
    &["--strategy", "dbf", "--memory", "1M"],
    &["--strategy", "cached", "--memory", "1M", "--bits", "40"],
    &["--strategy", "serial", "--memory", "512K"],
];

/// All of a report that does not depend on time; numbers without their last digits.
fn worth(report: &Value) -> String {
    let mut text = format!("{:?} {}", counts(report), report["reason"]);
    let figures = report["figures"].as_object().expect("figures").iter();
    let bound = [("bound", report["omission_bound"].as_f64())];
    let figures = figures.map(|(key, value)| (key.as_str(), value.as_f64()));
    for (key, value) in figures.chain(bound) {
        text += &format!(" {key} {:.12e}", value.unwrap_or(0.0));
    }
    text
}

#[test]
fn tables_and_signatures_go_on_as_if_nothing_had_been() {
    let dir = Scratch::new("tables");
    let model = dir.model();
    for (number, more) in WITH_TABLES.into_iter().enumerate() {
        let more = [more, &["--threads", "1", "--engine", "interp"]].concat();
        let expected = check(&model, &more);
        let saved = dir.path(&format!("saved-{number}"));
        let stop = ["--checkpoint", &saved, "--time-limit", "0.05"];
        let mut report = check(&model, &[&more[..], &stop].concat());
        let mut pieces = 0;
        while report["reason"].to_string().contains("time limit") {
            // Enough for all of it at last, also on a machine with other things to do.
            let limit = format!("{}", 0.2 * f64::powi(1.4, pieces));
            let args = ["resume", &saved, "--format", "json", "--threads", "1", "--time-limit"];
            report = json(&ergodic(&[&args[..], &[&limit]].concat()));
            pieces += 1;
        }
        assert!(pieces > 0, "{more:?} was not stopped");
        assert_eq!(worth(&report), worth(&expected), "{more:?} after {pieces} pieces");
    }
}

#[test]
fn tables_go_on_with_other_threads() {
    let dir = Scratch::new("others");
    let model = dir.model();
    for more in [
        &["--store", "compact"][..],
        &["--strategy", "dbf", "--memory", "1M"],
        &["--strategy", "serial", "--memory", "512K"],
    ] {
        let saved = dir.path("saved");
        let expected = check(&model, more);
        let stop = ["--engine", "interp", "--checkpoint", &saved, "--time-limit", "0.05"];
        check(&model, &[more, &stop].concat());
        for (threads, limit) in [("3", "0.05"), ("1", "0.05"), ("2", "60")] {
            let args = ["resume", &saved, "--format", "json", "--threads", threads];
            let report = json(&ergodic(&[&args[..], &["--time-limit", limit]].concat()));
            if report["verdict"] == "holds" {
                // Where states are forgotten, visits are counted, and how many depends on threads; there
                // are at least as many as states.
                assert!(report["states"].as_u64() >= Some(216_000), "{more:?}: {report:#}");
                let bound = report["omission_bound"].as_f64().expect("a bound");
                assert!(bound < 1e-4, "{more:?}: {bound}");
                let forgets = more.contains(&"--strategy");
                assert!(forgets || counts(&report) == counts(&expected), "{more:?}: {report:#}");
                break;
            }
            assert!(threads != "2", "{more:?}: {report:#}");
        }
        std::fs::remove_dir_all(&saved).expect("a checkpoint");
    }
}

/// Waits for a while, then kills without mercy; `None` if it ended before.
fn kill_after(mut child: Child, time: Duration) -> Option<Output> {
    let began = Instant::now();
    while began.elapsed() < time {
        if child.try_wait().expect("a child").is_some() {
            return Some(child.wait_with_output().expect("its output"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("a kill");
    let _ = child.wait();
    None
}

/// Kills a run and its resumed ones at odd moments until one of them ends.
fn killed_again_and_again(dir: &Scratch, model: &str, more: &[&str], again: &[&str]) -> Value {
    let saved = dir.path("saved");
    let every = ["--checkpoint-every", "20ms", "--disk", &dir.path("work")];
    let first = ["check", model, "--deadlock", "off", "--format", "json", "--checkpoint", &saved];
    let first = [&first[..], &["--engine", "interp"], more].concat();
    let again = [&["resume", &saved, "--format", "json"], again].concat();
    let (mut ended, mut resumed) = (None, 0);
    for attempt in 0..400u64 {
        let begun = Path::new(&saved).join("CURRENT").exists();
        resumed += u64::from(begun);
        let args = [if begun { &again[..] } else { &first[..] }, &every].concat();
        let child = command(&args).spawn().expect("ergodic runs");
        // At odd moments, and for long enough at last.
        let time = Duration::from_millis(60 + attempt * attempt % 97 + attempt * 8);
        ended = kill_after(child, time);
        if ended.is_some() {
            break;
        }
    }
    assert!(resumed > 0, "it was never resumed");
    json(&ended.expect("it ends"))
}

#[test]
fn killed_again_and_again_it_ends_with_the_same_counts() {
    for memory in ["64M", "800K"] {
        let dir = Scratch::new(&format!("killed-{memory}"));
        let model = dir.model();
        let expected = check(&model, &[]);
        let memory = ["--memory", memory];
        let report = killed_again_and_again(&dir, &model, &memory, &memory);
        assert_eq!(counts(&report), counts(&expected), "with {memory:?}");
    }
}

#[test]
fn killed_again_and_again_tables_and_signatures_end_with_the_same_bound() {
    for number in [0, 4] {
        let dir = Scratch::new(&format!("killed-{number}"));
        let model = dir.model();
        let alone = ["--threads", "1"];
        let more = [WITH_TABLES[number], &alone].concat();
        let expected = check(&model, &more);
        let report = killed_again_and_again(&dir, &model, &more, &alone);
        assert_eq!(worth(&report), worth(&expected), "{more:?}");
    }
}

#[test]
fn damaged_and_foreign_checkpoints_are_never_half_loaded() {
    let dir = Scratch::new("damaged");
    let model = dir.model();
    let saved = dir.path("saved");
    stopped_early(&model, &saved);
    let refused = |what: &str, parts: &[&str]| {
        let output = ergodic(&["resume", &saved]);
        let text = message(&output);
        assert_eq!(output.status.code(), Some(BAD_INPUT), "{what}: {text}");
        for part in parts {
            assert!(text.contains(part), "{what}: `{part}` is not in: {text}");
        }
    };
    let current = std::fs::read_to_string(Path::new(&saved).join("CURRENT")).expect("a name");
    let search = Path::new(&saved).join(current.trim()).join("search");
    let good = std::fs::read(&search).expect("a file");
    for at in [0, 9, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        std::fs::write(&search, &bad).expect("a write");
        refused("a flipped bit", &["search", "not the one that was saved"]);
    }
    std::fs::write(&search, &good[..good.len() / 2]).expect("a write");
    refused("a file cut short", &["search"]);
    std::fs::remove_file(&search).expect("a removal");
    refused("a missing file", &["search", "missing"]);
    std::fs::write(&search, &good).expect("a write");
    let run = search.with_file_name("run.json");
    let description = std::fs::read_to_string(&run).expect("a description");
    std::fs::write(&run, description.replace("\"version\": 2", "\"version\": 99"))
        .expect("a write");
    refused("another version", &["version 99"]);
    std::fs::write(&run, description.replace("SIZE: 60", "SIZE: 61")).expect("a write");
    refused("another model", &["translates the model differently"]);
    std::fs::write(&run, "{}").expect("a write");
    refused("something else", &["does not describe a checkpoint"]);
    std::fs::write(&run, &description).expect("a write");
    assert_eq!(ergodic(&["resume", &saved]).status.code(), Some(HOLDS), "whole again");
    std::fs::write(Path::new(&saved).join("CURRENT"), "../../etc").expect("a write");
    refused("a strange name", &["does not name a checkpoint"]);
    let output = ergodic(&["resume", &dir.path("")]);
    assert!(message(&output).contains("no checkpoint"), "{}", message(&output));
}

#[test]
fn damaged_and_foreign_tables_are_never_half_loaded() {
    let dir = Scratch::new("damaged-tables");
    let model = dir.model();
    for (more, name, limit) in [
        (&["--store", "compact", "--memory", "8M"][..], "search", "0.05"),
        // Long enough for some thousand signatures: fewer are not in the file yet.
        (&["--strategy", "dbf", "--memory", "1M", "--threads", "1"], "signatures", "0.15"),
    ] {
        let saved = dir.path(name);
        let stop = ["--engine", "interp", "--checkpoint", &saved, "--time-limit", limit];
        let report = check(&model, &[more, &stop].concat());
        assert_eq!(report["verdict"], "incomplete", "{more:?}");
        let refused = |part: &str| {
            let output = ergodic(&["resume", &saved]);
            assert_eq!(output.status.code(), Some(BAD_INPUT), "{more:?}: {}", message(&output));
            assert!(message(&output).contains(part), "{more:?}: {}", message(&output));
        };
        let current = std::fs::read_to_string(Path::new(&saved).join("CURRENT")).expect("a name");
        let file = Path::new(&saved).join(current.trim()).join(name);
        let good = std::fs::read(&file).expect("a file");
        for at in [0, good.len() / 3, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 0x20;
            std::fs::write(&file, &bad).expect("a write");
            refused("is not the one that was saved");
        }
        std::fs::write(&file, &good[..good.len() / 2]).expect("a write");
        refused("is not the one that was saved");
        std::fs::write(&file, &good).expect("a write");
        let run = file.with_file_name("run.json");
        let description = std::fs::read_to_string(&run).expect("a description");
        let other = description.replace("\"store\": \"Compact\"", "\"store\": \"Bitstate\"");
        if other != description {
            std::fs::write(&run, other).expect("a write");
            refused("another kind of table");
            std::fs::write(&run, &description).expect("a write");
            let plain = description.replace("\"store\": \"Compact\"", "\"store\": \"Auto\"");
            std::fs::write(&run, plain).expect("a write");
            refused("another kind of store");
            std::fs::write(&run, &description).expect("a write");
        }
        assert_eq!(ergodic(&["resume", &saved]).status.code(), Some(HOLDS), "whole again");
    }
}

#[test]
fn files_that_others_remove_do_no_harm_and_none_are_left() {
    let dir = Scratch::new("removed");
    let model = dir.model();
    let work = dir.path("work");
    let expected = check(&model, &[]);
    let args = ["check", &model, "--deadlock", "off", "--format", "json", "--strategy", "sorted"];
    let more = ["--engine", "interp", "--memory", "200K", "--disk", &work];
    let mut child = command(&[&args[..], &more].concat()).spawn().expect("ergodic runs");
    let mut removed = 0;
    while removed < 10 && child.try_wait().expect("a child").is_none() {
        for entry in std::fs::read_dir(&work).into_iter().flatten().flatten() {
            for file in std::fs::read_dir(entry.path()).into_iter().flatten().flatten() {
                removed += u64::from(std::fs::remove_file(file.path()).is_ok());
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(removed > 0, "there were no files to remove");
    let report = json(&child.wait_with_output().expect("its output"));
    assert_eq!(counts(&report), counts(&expected));
    let left = std::fs::read_dir(&work).into_iter().flatten().count();
    assert_eq!(left, 0, "the directory of the run is removed");
}
