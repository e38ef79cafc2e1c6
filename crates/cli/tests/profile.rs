//! `ergodic profile`: its three formats, limits, and the locality table of the paper.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn ergodic(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ergodic"));
    command.arg("profile").args(args).output().expect("ergodic runs")
}

fn profile(args: &[&str]) -> Value {
    let output = ergodic(&[args, &["--format", "json"]].concat());
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
        let path = std::env::temp_dir().join(format!("ergodic-{}-{name}", std::process::id()));
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

/// A counter that counts to 3, stays there or starts again; `<b>` and `y` never change.
const COUNTER: &str = r#"
var x: 0..9; y: 0..7; big: 0..100000;
startstate "zero" begin x := 0; y := 5; undefine big; end;
rule "up <b>&\"" x < 3 ==> begin x := x + 1; big := x * 1000; end;
rule "stay" x = 3 ==> begin end;
rule "again" x = 3 ==> begin x := 0; big := 0; end;
rule "bad" x = 2 ==> begin y := y / 0; end;
invariant "small" x < 3;
"#;

#[test]
fn figures_of_a_small_model() {
    let file = Scratch::new("figures.m", COUNTER);
    let found = profile(&[&file.path()]);
    // States: 0 with big undefined, 1, 2, 3, and 0 with big defined, which leads to 1 again.
    assert_eq!((&found["scope"], &found["states"]), (&"whole".into(), &5.into()));
    assert_eq!((&found["transitions"], &found["depth"]), (&6.into(), &4.into()));
    assert_eq!((&found["faults"], &found["max_frontier"]), (&1.into(), &1.into()));
    let locality = &found["locality"];
    assert_eq!((&locality["self_loops"], &locality["steps"]), (&1.into(), &5.into()));
    let by_k: Vec<(i64, u64)> = (locality["by_k"].as_array().expect("a list").iter())
        .map(|row| (row["k"].as_i64().unwrap_or(9), row["steps"].as_u64().unwrap_or(9)))
        .collect();
    assert_eq!(by_k, [(1, 4), (0, 0), (-1, 0), (-3, 1)]);
    assert_eq!(locality["by_k"][0]["mean"], 0.8);
    let deviation = locality["by_k"][0]["deviation"].as_f64();
    assert!(deviation.is_some_and(|deviation| (deviation - 0.4).abs() < 1e-12));
    assert_eq!(found["levels"][3]["self_loops"], 1);
    assert_eq!(found["branching"]["mean"], 1.2);
    assert_eq!(found["rules"][0]["new"], 3);
    assert_eq!(found["rules"][2]["new"], 1);
    let variables = found["variables"].as_array().expect("a list");
    let used: Vec<_> = variables.iter().map(|v| (&v["used"], &v["possible"])).collect();
    assert_eq!(used[0], (&4.into(), &10.into()));
    assert_eq!(used[1], (&1.into(), &8.into()));
    assert_eq!(used[2], (&4.into(), &100_001.into()));
    let constant: Vec<_> = variables.iter().map(|v| v["constant"] == true).collect();
    assert_eq!(constant, [false, true, false]);
    assert_eq!((&variables[0]["highest"], &variables[2]["undefined"]), (&"3".into(), &true.into()));
}

#[test]
fn the_text_has_all_tables() {
    let output = ergodic(&[&example("german.m")]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    for part in
        ["profile of all", "SumAvg", "levels", "branching", "rule  ", "variable  ", "self-loops"]
    {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

#[test]
fn limits_give_an_honest_part() {
    let model = example("german.m");
    let output = ergodic(&[&model, "--max-states", "100"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("incomplete profile of a part (100 found) – state limit"), "{text}");
    assert!(text.contains("expanded to the end"), "{text}");
    let found = profile(&[&model, "--max-states", "100"]);
    assert_eq!((&found["scope"], &found["states"]), (&"part".into(), &100.into()));
    assert!(found["locality"]["states"].as_u64().is_some_and(|states| states < 100));
}

#[test]
fn violations_stop_it_only_when_asked() {
    let file = Scratch::new("violated.m", COUNTER);
    let found = profile(&[&file.path(), "--until-violation"]);
    // The fault in x = 2 comes before the invariant: rules are tried last first.
    assert_eq!(found["scope"], "until-violation");
    assert_eq!((&found["reason"], &found["states"]), (&"fault".into(), &3.into()));
    assert_eq!(found["locality"]["states"], 2);
}

/// Tags are closed in the order in which they were opened.
fn assert_well_formed(page: &str) {
    const VOID: [&str; 3] = ["meta", "line", "rect"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[..end];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "closed in order");
        } else if !tag.starts_with('!') && !tag.ends_with('/') && !VOID[..1].contains(&name) {
            open.push(name);
        }
        rest = &rest[end + 1..];
        if matches!(name, "script" | "style") && !tag.starts_with('/') {
            let close = rest.find("</").expect("raw text ends");
            rest = &rest[close..];
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

#[test]
fn the_page_stands_alone_and_escapes_the_model() {
    let file = Scratch::new("page.m", COUNTER);
    let out = Scratch::new("page.html", "");
    let output = ergodic(&[&file.path(), "--format", "html", "-o", &out.path()]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{output:?}");
    let page = std::fs::read_to_string(&out.0).expect("the page was written");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(
        page.contains("up &lt;b&gt;&amp;") && !page.contains("<b>&\""),
        "model text is escaped"
    );
    for foreign in ["http:", "https:", "src=", "<link", "@import", "NaN"] {
        assert!(!page.contains(foreign), "the page has `{foreign}`");
    }
    assert_eq!(page.matches("<svg").count(), 5);
    assert_well_formed(&page);
    let nowhere = ergodic(&[&file.path(), "--format", "html", "-o", "/no/such/dir/x.html"]);
    assert_eq!(nowhere.status.code(), Some(3));
}

/// Rows of Fig. 1 of the paper (see `crates/search/src/locality.rs`) that do not depend on CMurphi's
/// normal form: E{Δ(k)} and σ(k) for k = −1, 0, 1. The last two are of models with an error.
const FIGURE_1: [(&str, bool, [&str; 6]); 5] = [
    (
        "others/cache3.m",
        false,
        ["0.0401213", "0.178884", "0.00476603", "0.0558438", "0.565482", "0.381654"],
    ),
    ("secur/ns-old.m", false, ["0.546833", "0.497802", "0", "0", "0.101695", "0.302247"]),
    ("secur/ns.m", false, ["0.585714", "0.492598", "0", "0", "0.0969388", "0.295874"]),
    (
        "others/arbiter.m",
        true,
        ["0.00848939", "0.057543", "0.0107366", "0.0537135", "0.92784", "0.168859"],
    ),
    ("toy/down.m", true, ["0", "0", "0.0776385", "0.142608", "0.922361", "0.142608"]),
];

/// Rows of models with scalarsets, as the paper has them by mistake.
const FIGURE_1_REDUCED: &[(&str, [&str; 6])] = &[
    ("sym/list6too.m", ["0", "0", "0", "0", "0.988378", "0.0621402"]),
    ("sym/list6.m", ["0.0183668", "0.0710808", "0.0246248", "0.0815233", "0.844018", "0.189053"]),
    ("sym/mcslock1.m", ["0.0128856", "0.0675736", "0", "0", "0.881379", "0.162002"]),
    ("sci/sci.m", ["0.215646", "0.238654", "0.0108192", "0.0617188", "0.642466", "0.265885"]),
];

#[test]
fn the_table_of_the_paper() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models/murphi");
    if !directory.is_dir() {
        println!("skipped: the classic models are not there ({})", directory.display());
        return;
    }
    for (model, violated, row) in FIGURE_1 {
        let path = directory.join(model).display().to_string();
        let mut args = vec![path.as_str()];
        args.extend(violated.then_some("--until-violation"));
        assert_figures(model, &profile(&args), &row);
    }
    // The paper looked successors up before they were normalised.
    for (model, row) in FIGURE_1_REDUCED {
        let path = directory.join(model).display().to_string();
        let found = profile(&[&path, "--symmetry", "cmurphi", "--look-up-first"]);
        assert_figures(model, &found, row);
        assert!(found["notes"].to_string().contains("mistake"), "{}", found["notes"]);
    }
}

fn assert_figures(model: &str, found: &Value, row: &[&str; 6]) {
    for (i, printed) in row.iter().enumerate() {
        let key = if i % 2 == 0 { "mean" } else { "deviation" };
        let value = found["locality"]["by_k"][2 - i / 2][key].as_f64().expect("a number");
        let expected: f64 = printed.parse().expect("a number");
        let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
        let slack = 0.51 * 10f64.powi(-decimals);
        let far = if expected == 0.0 { value != 0.0 } else { (value - expected).abs() > slack };
        assert!(!far, "{model}: {key} of row {i} is {value}, not {printed}");
    }
}
