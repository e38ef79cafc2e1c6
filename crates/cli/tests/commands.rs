//! What a person meets: messages, exit codes, formats.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const HOLDS: i32 = 0;
const VIOLATED: i32 = 1;
const INCOMPLETE: i32 = 2;
const BAD_INPUT: i32 = 3;

fn ergodic(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ergodic"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("ergodic runs")
}

fn example(name: &str) -> String {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/examples");
    models.join(name).display().to_string()
}

/// A scratch directory of one test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("ergodic-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a scratch directory");
        Scratch(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("a scratch file");
        path.display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs and expects an exit code and parts of the messages.
fn expect(args: &[&str], code: i32, parts: &[&str]) -> String {
    let output = ergodic(args);
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let all = format!("{out}{err}");
    assert_eq!(output.status.code(), Some(code), "{args:?}:\n{all}");
    for part in parts {
        assert!(all.contains(part), "{args:?}: `{part}` is not in:\n{all}");
    }
    all
}

fn json(args: &[&str]) -> Value {
    let output = ergodic(args);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{args:?}: {error}: {}", String::from_utf8_lossy(&output.stdout))
    })
}

const COUNTER: &str = r#"
const N: 5;
var x: 0..N;
startstate "zero" begin x := 0; end;
rule "up" x < N ==> begin x := x + 1; end;
rule "reset" x = N ==> begin x := 0; end;
invariant "small" x <= N;
"#;

#[test]
fn unreadable_inputs_are_named_with_a_way_out() {
    let dir = Scratch::new("unreadable");
    let missing = dir.0.join("missing.m").display().to_string();
    expect(&["check", &missing], BAD_INPUT, &["missing.m", "help"]);
    let folder = dir.0.join("folder.m");
    std::fs::create_dir_all(&folder).expect("a folder");
    expect(&["check", &folder.display().to_string()], BAD_INPUT, &["directory"]);
    let binary = dir.file("binary.m", [0u8, 159, 146, 150, 0, 0]);
    expect(&["check", &binary], BAD_INPUT, &["binary"]);
    let huge = dir.0.join("huge.m");
    let file = std::fs::File::create(&huge).expect("a file");
    file.set_len(100 << 20).expect("a long file");
    expect(&["check", &huge.display().to_string()], BAD_INPUT, &["huge.m", "MiB"]);
    let unknown = dir.file("model.xyz", "");
    expect(&["check", &unknown], BAD_INPUT, &["cannot tell the language", ".m"]);
    let empty = dir.file("empty.m", "");
    expect(&["check", &empty], BAD_INPUT, &["no rule"]);
}

#[test]
fn mistakes_in_a_model_are_shown_where_they_are() {
    let dir = Scratch::new("mistakes");
    let syntax = dir.file("syntax.m", "var x: 0..1\nvar y 0..1;\nrule x = 0 ==> x = 1; end;\n");
    let all = expect(&["check", &syntax], BAD_INPUT, &["syntax.m:", "error"]);
    assert!(all.matches("error").count() >= 2, "several errors in one run:\n{all}");
    let types = dir.file(
        "types.m",
        "type P: scalarset(2);\nvar b: boolean; p: P;\nstartstate b := 3; end;\nrule p < p ==> b := true; end;\n",
    );
    expect(&["check", &types], BAD_INPUT, &["types.m:3:", "types.m:4:"]);
    let deep = format!(
        "var x: 0..1; startstate x := {}1{}; end; rule true ==> end;",
        "(".repeat(50_000),
        ")".repeat(50_000)
    );
    let deep = dir.file("deep.m", deep);
    expect(&["check", &deep], BAD_INPUT, &["deep.m:1:"]);
    let counter = dir.file("counter.m", COUNTER);
    expect(&["check", &counter, "--const", "M=3"], BAD_INPUT, &["M", "N"]);
    expect(&["check", &counter, "--const", "N=1/0"], BAD_INPUT, &["N"]);
}

#[test]
fn bad_flags_are_refused() {
    let model = example("peterson.m");
    expect(&["check", &model, "--frobnicate"], BAD_INPUT, &["--frobnicate"]);
    expect(&["check", &model, "--memory", "lots"], BAD_INPUT, &["lots"]);
    expect(&["check", &model, "--threads", "0"], BAD_INPUT, &["--threads"]);
    expect(&["check", &model, "--graph", "x.png"], BAD_INPUT, &[".dot"]);
    expect(&["check", &model, "--const", "N"], BAD_INPUT, &["NAME=VALUE"]);
    expect(&["frob"], BAD_INPUT, &["frob"]);
    expect(&["--help"], HOLDS, &["check", "simulate", "test", "Exit codes"]);
    expect(&["--version"], HOLDS, &["ergodic "]);
}

#[test]
fn verdicts_and_exit_codes() {
    let dir = Scratch::new("verdicts");
    let counter = dir.file("counter.m", COUNTER);
    expect(&["check", &counter], HOLDS, &["holds", "states       6", "reset"]);
    expect(&["check", &counter, "--const", "N=9"], HOLDS, &["states       10"]);
    expect(
        &["check", &counter, "--max-states", "3"],
        INCOMPLETE,
        &["incomplete", "state limit of 3"],
    );
    expect(&["check", &counter, "--max-depth", "2"], INCOMPLETE, &["depth limit of 2"]);
    expect(&["check", &counter, "--time-limit", "0ms"], INCOMPLETE, &["time limit"]);
    let bug = dir.file("bug.m", COUNTER.replace("x <= N", "x < 3"));
    let all = expect(
        &["check", &bug],
        VIOLATED,
        &["violated", "invariant \"small\"", "3 steps", "x: 2 -> 3"],
    );
    assert!(all.contains("bug.m:7:1"), "the place of the invariant:\n{all}");
    expect(&["check", &bug, "--trace", "off"], VIOLATED, &["violated"]);
    expect(&["check", &bug, "--trace", "full"], VIOLATED, &["x: 3"]);
    let idle =
        dir.file("idle.m", format!("{COUNTER}rule \"never\" x > N ==> begin x := 0; end;\n"));
    expect(&["check", &idle], HOLDS, &["rule \"never\" never fired", "idle.m:8:1"]);
    let stuck =
        dir.file("stuck.m", COUNTER.replace("rule \"reset\" x = N", "rule \"reset\" x > N"));
    expect(&["check", &stuck], VIOLATED, &["deadlock", "--deadlock off"]);
    expect(&["check", &stuck, "--deadlock", "off"], HOLDS, &["holds"]);
}

#[test]
fn faults_name_the_place_and_the_value() {
    let dir = Scratch::new("faults");
    let cases: &[(&str, &[&str])] = &[
        ("x := x + 7;", &["x := 7", "0..5"]),
        ("x := 6 / x;", &["division by zero"]),
        ("undefine x; if x = 1 then x := 2; end;", &["x is undefined"]),
        ("a[x + 9] := 1;", &["index 9"]),
        ("while true do x := 1; end;", &["1000 iterations"]),
        ("error \"no way\";", &["no way"]),
        ("assert x = 1 \"one\";", &["assertion", "one"]),
        ("x := f(3);", &["nests deeper"]),
        ("multisetadd(x, m); multisetadd(x, m); multisetadd(x, m);", &["multiset m is full"]),
        ("x := 4611686018427387904 * 4 - 4;", &["out of the range"]),
    ];
    for (i, (statement, parts)) in cases.iter().enumerate() {
        let model = format!(
            "var x: 0..5; a: array [0..3] of 0..5; m: multiset [2] of 0..5;\n\
             function f(n: 0..5): 0..5; begin return f(n); end;\n\
             startstate begin x := 0; end;\nrule \"step\" begin\n  {statement}\nend;\n"
        );
        let path = dir.file(&format!("fault{i}.m"), model);
        for engine in ["jit", "interp"] {
            let all = expect(&["check", &path, "--engine", engine], VIOLATED, parts);
            // The recursive call is in line 2, all else in line 5.
            let line = if statement.contains("f(3)") { 2 } else { 5 };
            assert!(all.contains(&format!("fault{i}.m:{line}:")), "the line of the fault:\n{all}");
        }
    }
}

#[test]
fn the_json_object_has_its_fields() {
    let bug = example("msi-bug.m");
    let report = json(&["check", &bug, "--format", "json"]);
    let fields = [
        "version",
        "model",
        "verdict",
        "reason",
        "states",
        "transitions",
        "depth",
        "max_frontier",
        "state_bits",
        "seconds",
        "states_per_second",
        "peak_memory_bytes",
        "bytes_per_state",
        "omission_bound",
        "threads",
        "store",
        "search",
        "rules",
        "trace",
    ];
    for field in fields {
        assert!(report.get(field).is_some(), "{field} is missing: {report:#}");
    }
    assert_eq!(report["verdict"], "violated");
    let trace = report["trace"].as_array().expect("a trace");
    assert_eq!(trace.len() as u64, report["violations"][0]["depth"].as_u64().unwrap() + 1);
    assert!(trace[1]["changes"].as_object().is_some_and(|changes| !changes.is_empty()));
    assert!(report["rules"][0].get("fired").is_some() && report["rules"][0].get("new").is_some());
    let missing = json(&["check", "no-such-model.m", "--format", "json"]);
    assert_eq!(missing["verdict"], "error");
}

#[test]
fn symmetry_is_reduced_audited_and_undone_in_counterexamples() {
    let reduced = json(&["check", &example("german.m"), "--format", "json"]);
    let plain = json(&["check", &example("german.m"), "--format", "json", "--symmetry", "off"]);
    assert_eq!((&reduced["symmetry"], &plain["symmetry"]), (&"exact".into(), &"off".into()));
    assert!(reduced["states"].as_u64() < plain["states"].as_u64());
    for model in ["german.m", "msi.m", "peterson.m", "raft-election.m"] {
        expect(&["check", &example(model), "--audit-symmetry"], HOLDS, &["the verdicts agree"]);
    }
    // Every step of a counterexample found under symmetry is a step of the model: it was replayed,
    // or it would not be shown.
    for model in ["msi-bug.m", "mesi-bug.m", "peterson-bug.m", "raft-election-bug.m"] {
        let reduced = json(&["check", &example(model), "--format", "json"]);
        let plain = json(&["check", &example(model), "--format", "json", "--symmetry", "off"]);
        assert_eq!(reduced["violations"][0]["depth"], plain["violations"][0]["depth"], "{model}");
    }
}

#[test]
fn a_scalarset_that_is_told_apart_is_not_reduced() {
    let dir = Scratch::new("broken");
    let model = dir.file(
        "broken.m",
        "type P: scalarset(3);\nvar last: P; x: 0..1;\nstartstate begin x := 0; end;\n\
         rule \"pick\" begin for p: P do last := p; end; x := 1 - x; end;\n",
    );
    let all = expect(&["check", &model], HOLDS, &["not interchangeable", "broken.m:4:"]);
    assert!(all.contains("not reduced"), "{all}");
}

#[test]
fn several_errors_are_distinct() {
    let dir = Scratch::new("several");
    let model = format!("{COUNTER}invariant \"tiny\" x < 2;\ninvariant \"odd\" x != 4;\n");
    let path = dir.file("several.m", model);
    let report = json(&["check", &path, "--format", "json", "--max-errors", "5"]);
    let names: Vec<&str> = report["violations"]
        .as_array()
        .expect("violations")
        .iter()
        .filter_map(|v| v["name"].as_str())
        .collect();
    assert_eq!(names, ["tiny"], "states that violate are not expanded: {report:#}");
    let report =
        json(&["check", &example("peterson-bug.m"), "--format", "json", "--max-errors", "3"]);
    assert_eq!(report["verdict"], "violated");
}

#[test]
fn walks_repeat_with_their_seed() {
    let model = example("peterson.m");
    let strip =
        |text: String| text.lines().filter(|l| !l.contains("time")).collect::<Vec<_>>().join("\n");
    let args = ["simulate", &model, "--seed", "7", "--steps", "50", "--verbose"];
    let first = strip(expect(&args, HOLDS, &["Walk 1", "steps"]));
    assert_eq!(first, strip(expect(&args, HOLDS, &[])));
    let interp: Vec<&str> = args.iter().copied().chain(["--engine", "interp"]).collect();
    assert_eq!(first, strip(expect(&interp, HOLDS, &[])), "both engines walk alike");
    let bug = example("peterson-bug.m");
    expect(
        &["simulate", &bug, "--steps", "100000", "--walks", "50"],
        VIOLATED,
        &["Mutual exclusion"],
    );
}

#[test]
fn graphs_have_every_state_and_edge() {
    let dir = Scratch::new("graphs");
    let counter = dir.file("counter.m", COUNTER);
    let dot = dir.0.join("g.dot").display().to_string();
    expect(&["check", &counter, "--graph", &dot], HOLDS, &[]);
    let text = std::fs::read_to_string(&dot).expect("a graph");
    assert_eq!(text.matches(" -> ").count(), 6, "{text}");
    assert_eq!(text.matches("peripheries").count(), 1, "{text}");
    let lines = dir.0.join("g.jsonl").display().to_string();
    expect(&["check", &counter, "--graph", &lines, "--search", "dfs"], HOLDS, &[]);
    let text = std::fs::read_to_string(&lines).expect("a graph");
    let objects: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("one object per line")).collect();
    assert_eq!(objects.iter().filter(|o| o["kind"] == "node").count(), 6);
    assert_eq!(objects.iter().filter(|o| o["kind"] == "edge").count(), 6);
    let nowhere = dir.0.join("no/such/dir/g.dot").display().to_string();
    expect(&["check", &counter, "--graph", &nowhere], BAD_INPUT, &["cannot write the graph"]);
}

#[test]
fn model_tests_count_and_fail() {
    let dir = Scratch::new("modeltests");
    let good = dir.file("good.m", format!("--@ verdict: holds\n--@ states: 6\n{COUNTER}"));
    expect(&["test", &good, "--all-rows"], HOLDS, &["1 passed, 0 failed"]);
    let bad = dir.file("bad.m", format!("--@ verdict: holds\n--@ states: 7\n{COUNTER}"));
    expect(&["test", &good, &bad], VIOLATED, &["1 passed, 1 failed", "expected 7, got 6"]);
    expect(&["test", &bad, "--bless"], VIOLATED, &["blessed"]);
    expect(&["test", &bad], HOLDS, &["1 passed, 0 failed"]);
    let none = dir.file("none.m", COUNTER);
    expect(&["test", &none], HOLDS, &["0 passed, 0 failed, 1 skipped"]);
    let error = dir.file(
        "error.m",
        "--@ verdict: error\n--@ message: no start state\nvar x: 0..1; rule x := 0; end;\n",
    );
    expect(&["test", &error], HOLDS, &["1 passed"]);
    let options =
        dir.file("options.m", format!("--@ verdict: holds\n--@ options: --frob\n{COUNTER}"));
    expect(&["test", &options], VIOLATED, &["--frob"]);
}

#[test]
fn pages_are_made_from_the_flags() {
    let man = expect(&["man"], HOLDS, &[".TH ergodic"]);
    for option in ["max\\-states", "deadlock", "graph", "walks", "all\\-rows"] {
        assert!(man.contains(option), "{option} is not in the man page");
    }
    for shell in ["bash", "zsh", "fish"] {
        expect(&["completions", shell], HOLDS, &["ergodic", "max-states"]);
    }
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ergodic"))
        .args(["check", &example("msi-bug.m"), "--trace", "full"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ergodic runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(VIOLATED));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Where address space is short the large stacks are refused; smaller ones must do.
#[cfg(target_os = "linux")]
#[test]
fn short_address_space_is_no_panic() {
    let program = env!("CARGO_BIN_EXE_ergodic");
    let script = format!("ulimit -v 900000; '{program}' check '{}'", example("peterson.m"));
    let output = Command::new("sh").args(["-c", &script]).output().expect("a shell");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(HOLDS), "{out}{err}");
}
