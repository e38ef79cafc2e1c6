//! `ergodic explain independence`: its three formats, single pairs, and names that are wrong.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn explain(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ergodic"));
    command.args(["explain", "independence"]).args(args).output().expect("ergodic runs")
}

fn text(args: &[&str], code: i32) -> String {
    let output = explain(args);
    let all = [output.stdout, output.stderr].concat();
    let all = String::from_utf8_lossy(&all).to_string();
    assert_eq!(output.status.code(), Some(code), "{args:?}:\n{all}");
    all
}

fn object(args: &[&str]) -> Value {
    let output = explain(&[args, &["--format", "json"]].concat());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{args:?}: {error}: {output:?}"))
}

fn example(name: &str) -> String {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/examples");
    models.join(name).display().to_string()
}

/// A file of one test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: &str) -> Scratch {
        let name = format!("ergodic-explain-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).expect("a scratch file");
        Scratch(path)
    }

    fn path(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Steps of two processes are independent, `sum` reads them all, and two rules exclude each other.
const MODEL: &str = r#"
var a: array [0..1] of record n: 0..3; old: 0..3; end; total: 0..9; on: boolean;
startstate a[0].n := 0; a[0].old := 0; a[1].n := 0; a[1].old := 0; total := 0; on := false; end;
ruleset i: 0..1 do rule "step" a[i].n < 3 ==> a[i].old := a[i].n; a[i].n := a[i].n + 1; end; end;
rule "sum </script><b>" true ==> total := a[0].n + a[1].n; end;
rule "on" !on ==> on := true; end;
rule "off" on ==> on := false; end;
invariant "small" total <= 6;
"#;

#[test]
fn the_object_has_everything() {
    let file = Scratch::new("object.m", MODEL);
    let found = object(&[&file.path()]);
    assert_eq!((&found["version"], &found["kind"]), (&1.into(), &"independence".into()));
    let names: Vec<_> = (found["instances"].as_array().expect("a list").iter())
        .map(|instance| instance["name"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(names, ["step(i: 0)", "step(i: 1)", "sum </script><b>", "on", "off"]);
    let rows: Vec<_> =
        found["matrix"].as_array().expect("rows").iter().filter_map(Value::as_str).collect();
    assert_eq!(rows, ["-idii", "i-dii", "dd-ii", "iii-c", "iiic-"]);
    let counts = ["pairs", "independent", "commuting", "dependent", "usable", "visible", "merged"];
    let counts = counts.map(|key| found[key].as_u64().unwrap_or(99));
    assert_eq!(counts, [10, 7, 8, 2, 8, 1, 0]);
    let rule = &found["rules"][0];
    assert_eq!((&rule["name"], &rule["instances"]), (&"step".into(), &2.into()));
    assert_eq!(rule["guard_reads"], serde_json::json!(["a[*].n"]));
    assert_eq!(rule["writes"], serde_json::json!(["a[*]"]));
    let cause = &found["causes"][0];
    assert_eq!((&cause["part"], &cause["parts"]), (&"a[*].n".into(), &2.into()));
    assert_eq!((&cause["dependent"], &cause["why"]), (&2.into(), &"body-reads".into()));
    assert_eq!(found["instances"][2]["visible"], true);
}

#[test]
fn the_text_has_a_matrix_and_says_why() {
    let file = Scratch::new("text.m", MODEL);
    let all = text(&[&file.path()], 0);
    for part in [
        "independence of 5 instances of 4 rules",
        "independent  7 (70.0 %)",
        "Sleep sets are worth a try",
        "1 step(i: 0)       ╲ · █ · ·",
        "5 off              · · · ○ ╲",
        "writes `a[0].n`, which the body of `sum </script><b>`",
        "writes a[*]",
    ] {
        assert!(all.contains(part), "`{part}` is not in:\n{all}");
    }
    assert!(all.lines().skip(1).all(|line| line.chars().count() <= 80), "{all}");
}

#[test]
fn many_instances_are_shown_by_rule() {
    let all = text(&[&example("msi.m")], 0);
    assert!(all.contains("matrix of rules") && all.contains("▒ some"), "{all}");
    assert!(all.lines().skip(1).all(|line| line.chars().count() <= 80), "{all}");
    let some = text(&[&example("peterson.m"), "--rule", "Leave", "--rule", "Write last"], 0);
    assert!(some.contains("6 instances of 2 rules") && !some.contains("Start"), "{some}");
}

#[test]
fn little_independence_is_said() {
    let file = Scratch::new(
        "little.m",
        "var x: 0..9; startstate x := 0; end;
         ruleset i: 1..3 do rule \"add\" x + i < 9 ==> x := x * 2 + i; end; end;",
    );
    let all = text(&[&file.path()], 0);
    assert!(all.contains("there is little independence"), "{all}");
    let one = Scratch::new("one.m", "var x: 0..9; startstate x := 0; end; rule x := 1; end;");
    assert!(text(&[&one.path()], 0).contains("no two rule instances"));
}

#[test]
fn pairs_are_explained() {
    let file = Scratch::new("pair.m", MODEL);
    let path = file.path();
    let pair = |a: &str, b: &str| text(&[&path, "--pair", a, b], 0);
    assert!(pair("step(i: 0)", "step(i:1)").contains("step(i: 0) and step(i: 1): independent"));
    let sum = "sum </script><b>";
    let all = pair("step(i: 1)", sum);
    assert!(all.contains(": dependent"), "{all}");
    assert!(all.contains("`step(i: 1)` writes `a[1].n`, which the body of"), "{all}");
    let all = pair("on", "off");
    assert!(all.contains("commute wherever both are enabled"), "{all}");
    assert!(all.contains("both write `on`"), "{all}");
    let all = pair("step", sum);
    assert!(all.contains("2 pairs of instances") && all.contains("2 e.g. `step(i: 0)`"), "{all}");
    assert!(pair("step", "step").contains("step and step: independent"), "one pair");
    assert!(pair("on", "on").contains("is one instance"));
    let found = object(&[&path, "--pair", "step", sum]);
    assert_eq!((&found["kind"], &found["dependent"]), (&"independence-pair".into(), &2.into()));
    assert_eq!(found["causes"][0]["part"], "a[*].n");
}

#[test]
fn wrong_names_get_near_ones() {
    let file = Scratch::new("wrong.m", MODEL);
    let path = file.path();
    let all = text(&[&path, "--pair", "step(i: 7)", "on"], 3);
    assert!(all.contains("named `step(i: 7)`") && all.contains("`step(i: 0)`"), "{all}");
    let all = text(&[&path, "--rule", "stp"], 3);
    assert!(all.contains("did you mean `step`"), "{all}");
    text(&[&path, "--rule", ""], 3);
    text(&[&path, "--pair", "", "\u{1f600}"], 3);
    let found = object(&[&path, "--pair", "steps", "on"]);
    assert_eq!(found["verdict"], "error");
    assert!(text(&[&path, "--pair", "on", "off", "--format", "html"], 3).contains("no page"));
    assert!(text(&[&path, "--pair", "on"], 3).contains("2 values required"));
    text(&["/no/such/file.m"], 3);
}

#[test]
fn the_page_stands_alone_and_escapes_the_model() {
    let file = Scratch::new("page.m", MODEL);
    let out = Scratch::new("page.html", "");
    let output = explain(&[&file.path(), "--format", "html", "-o", &out.path()]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{output:?}");
    let page = std::fs::read_to_string(&out.0).expect("the page was written");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("sum &lt;/script&gt;&lt;b&gt;") && !page.contains("sum </script>"));
    assert_eq!(page.matches("</script>").count(), 2, "nothing ends a script early");
    for foreign in ["http:", "https:", "src=", "<link", "@import", "innerHTML"] {
        assert!(!page.contains(foreign), "the page has `{foreign}`");
    }
    let data = page.split("id=\"matrix-data\">").nth(1).and_then(|rest| rest.split("</").next());
    let data: Value = serde_json::from_str(data.expect("data")).expect("JSON");
    // Independent pairs are 0; the two causes are the parts that `sum` reads; `on` and `off` commute.
    assert_eq!(data["rows"], serde_json::json!(["", "0", "1 3", "0*3", "0*3 6"]));
    assert_eq!(data["parts"], serde_json::json!(["a[0].n", "a[1].n", "on"]));
    let nowhere = explain(&[&file.path(), "--format", "html", "-o", "/no/such/dir/x.html"]);
    assert_eq!(nowhere.status.code(), Some(3));
}

#[test]
fn every_topic_is_in_the_man_page() {
    let man = Command::new(env!("CARGO_BIN_EXE_ergodic")).arg("man").output().expect("it runs");
    let man = String::from_utf8_lossy(&man.stdout).to_string();
    assert!(man.contains("COMMAND: EXPLAIN INDEPENDENCE") && man.contains("\\-\\-pair"), "{man}");
}
