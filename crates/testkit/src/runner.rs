//! Runs models against their headers.

use crate::header::{Expect, Set, Word};
use ergodic_driver::{
    BadModel, CheckOptions, Counts, Engine, Finding, FindingKind, LoadOptions, Model, ROWS,
    Reduction, Report, Row, SearchKind, StoreKind, Strategy, Verdict, check, languages, load,
};
use std::path::{Path, PathBuf};

/// Turns the options of a header into those of the driver.
pub type Parse<'a> = &'a dyn Fn(&[String]) -> Result<(LoadOptions, CheckOptions), String>;

/// Through which combinations a model goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Only what the header asks for.
    Header,
    /// Every legal one; the interpreter is spared models with more states than this.
    All {
        /// Bound for the interpreter.
        interpreter_states: u64,
    },
}

/// One run of one model.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The model.
    pub path: &'a Path,
    /// Options and expectations.
    pub set: &'a Set,
}

/// What a run differs in from its expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The combination, as in `jit bfs exact`.
    pub row: String,
    /// What was expected and what came out.
    pub message: String,
}

/// What came out of the first combination, and all failures.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// For blessing.
    pub found: Expect,
    /// Differences.
    pub failures: Vec<Failure>,
    /// Combinations run.
    pub runs: usize,
}

/// All models under the given paths, sorted: files as they are, directories searched.
pub fn find_models(paths: &[PathBuf]) -> Result<Vec<PathBuf>, (PathBuf, std::io::Error)> {
    let mut out = Vec::new();
    for path in paths {
        collect(path, true, &mut out)?;
    }
    out.sort();
    out.dedup();
    Ok(out)
}

fn collect(
    path: &Path,
    named: bool,
    out: &mut Vec<PathBuf>,
) -> Result<(), (PathBuf, std::io::Error)> {
    let fail = |error| (path.to_path_buf(), error);
    if std::fs::metadata(path).map_err(fail)?.is_dir() {
        for entry in std::fs::read_dir(path).map_err(fail)? {
            collect(&entry.map_err(fail)?.path(), false, out)?;
        }
    } else if named || path.to_str().is_some_and(|name| languages::of(name).is_some()) {
        out.push(path.to_path_buf());
    }
    Ok(())
}

/// Runs one set of one model through its combinations.
pub fn run(job: &Job<'_>, parse: Parse<'_>, rows: Rows) -> Observed {
    let mut observed = Observed::default();
    let (load_options, options) = match parse(&job.set.options) {
        Ok(options) => options,
        Err(message) => {
            observed.failures.push(Failure { row: "options".to_string(), message });
            return observed;
        }
    };
    let expect = &job.set.expect;
    let model = match load(job.path, &load_options) {
        Ok(model) => model,
        Err(bad) => {
            observed.runs = 1;
            observed.found.verdict = Some(Word::Error);
            compare_bad(expect, &bad, &mut observed.failures);
            return observed;
        }
    };
    for row in chosen(rows, &options, expect, &model) {
        let options = row.applied_to(&options);
        let result = check(&model, &options, &mut ergodic_driver::Unobserved);
        let name = row_name(row);
        observed.runs += 1;
        match result {
            Ok(report) => {
                if observed.runs == 1 {
                    observed.found = found(&report);
                }
                match row.counts() {
                    Counts::Exact => {
                        compare(expect, &report, &row, &name, &mut observed.failures);
                    }
                    counts => {
                        compare_bound(expect, &report, counts, &name, &mut observed.failures);
                    }
                }
            }
            Err(error) => {
                observed.failures.push(Failure { row: name, message: error.to_string() });
            }
        }
    }
    observed
}

fn chosen(rows: Rows, options: &CheckOptions, expect: &Expect, model: &Model) -> Vec<Row> {
    let asked = Row::of(options);
    let live = model.has_liveness() || options.graph.is_some();
    match rows {
        Rows::Header => vec![asked],
        Rows::All { interpreter_states } => {
            let small = expect.states.is_none_or(|n| n <= interpreter_states);
            let others = ROWS.iter().filter(|row| **row != asked);
            let others = others.filter(|row| small || row.engine != Engine::Interp);
            // Liveness needs all states in memory; limits stop rows at different places; a violation
            // may hide others from a reduced search.
            let limited = options.max_states.is_some() || options.max_depth.is_some();
            let whole = !live && !limited && options.max_errors == 1;
            let others = others.filter(|row| whole || is_plain(row));
            std::iter::once(asked).chain(others.copied()).collect()
        }
    }
}

/// Whether a row keeps all states, once, in memory.
fn is_plain(row: &Row) -> bool {
    row.counts() == Counts::Exact && row.strategy == Strategy::Auto && row.memory.is_none()
}

fn row_name(row: Row) -> String {
    let strategy = match row.strategy {
        Strategy::Auto if row.memory.is_some() => " to disk",
        Strategy::Auto => "",
        Strategy::Ram => " ram",
        Strategy::Cached => " cached",
        Strategy::Dbf => " dbf",
        Strategy::Serial => " serial",
        Strategy::Sorted => " sorted",
    };
    let store = match row.store {
        StoreKind::Auto => "auto",
        StoreKind::Flat => "flat",
        StoreKind::Tree => "tree",
        StoreKind::Numbered => "numbered",
        StoreKind::Compact => "compact",
        StoreKind::Bitstate => "bitstate",
        StoreKind::Cache => "cache",
    };
    let (engine, search) = (engine_word(row.engine), search_word(row.search));
    let reduction = match (row.reduction, row.compress) {
        (Reduction::Sleep, _) => " sleep",
        (Reduction::Stubborn, _) => " stubborn",
        (Reduction::None, true) => " compressed",
        (Reduction::None, false) => "",
    };
    let plural = if row.threads == 1 { "" } else { "s" };
    format!("{engine} {search} {store}{strategy}{reduction} {} thread{plural}", row.threads)
}

fn engine_word(engine: Engine) -> &'static str {
    match engine {
        Engine::Jit => "jit",
        Engine::Interp => "interp",
    }
}

fn search_word(search: SearchKind) -> &'static str {
    match search {
        SearchKind::Bfs => "bfs",
        SearchKind::Dfs => "dfs",
        SearchKind::SleepDfs => "sleep-dfs",
    }
}

fn word(report: &Report) -> Word {
    match report.verdict {
        Verdict::Holds(_) => Word::Holds,
        Verdict::Violated => Word::Violated,
        Verdict::Incomplete(_) => Word::Incomplete,
    }
}

fn depth(report: &Report) -> u64 {
    report.findings.first().map_or(report.stats.depth, |finding| finding.depth)
}

fn found(report: &Report) -> Expect {
    Expect {
        verdict: Some(word(report)),
        violation: report.findings.first().map(Finding::title),
        message: None,
        states: Some(report.stats.states),
        transitions: Some(report.stats.transitions),
        depth: Some(depth(report)),
    }
}

/// Complete runs agree on all counts but the depth of depth-first search. A violated run is cut
/// short, where depends on the search: other searches than the header's must only find something.
fn compare(expect: &Expect, report: &Report, row: &Row, name: &str, out: &mut Vec<Failure>) {
    let mut differ = |what: &str, expected: String, got: String| {
        if expected != got {
            let message = format!("{what}: expected {expected}, got {got}");
            out.push(Failure { row: name.to_string(), message });
        }
    };
    let got = found(report);
    if let Some(verdict) = expect.verdict {
        differ("verdict", verdict.text().to_string(), word(report).text().to_string());
    }
    // With little memory a violated search has left the strict order before the violation.
    let violated = matches!(report.verdict, Verdict::Violated);
    let comparable = row.search == SearchKind::Bfs && !(violated && row.memory.is_some());
    let whole = matches!(report.verdict, Verdict::Holds(_));
    if whole || comparable {
        for (what, expected, got) in [
            ("states", expect.states, got.states),
            ("transitions", expect.transitions, got.transitions),
        ] {
            if let (Some(expected), Some(got)) = (expected, got) {
                differ(what, expected.to_string(), got.to_string());
            }
        }
    }
    if comparable {
        if let (Some(expected), Some(got)) = (expect.depth, got.depth) {
            differ("depth", expected.to_string(), got.to_string());
        }
        if let Some(violation) = &expect.violation
            && !report.findings.first().is_some_and(|f| matches_violation(f, violation))
        {
            differ("violation", violation.clone(), got.violation.unwrap_or("none".to_string()));
        }
    }
}

/// Rows that may omit states, and those that do not store all of them, never count more; rows that
/// forget never fewer; rows that leave out transitions count all states. What holds, holds on rows that
/// visit everything; what is violated may be missed only by rows that omit states.
fn compare_bound(
    expect: &Expect,
    report: &Report,
    counts: Counts,
    name: &str,
    out: &mut Vec<Failure>,
) {
    let mut fail = |message: String| out.push(Failure { row: name.to_string(), message });
    let got = word(report);
    match expect.verdict {
        Some(Word::Holds) if got == Word::Violated => {
            fail("verdict: expected holds, got violated".to_string());
        }
        Some(Word::Violated) if counts != Counts::Fewer && got == Word::Holds => {
            fail("verdict: expected violated, got holds".to_string());
        }
        _ => {}
    }
    if expect.verdict != Some(Word::Holds) || got != Word::Holds {
        return;
    }
    let Some(states) = expect.states else { return };
    let found = report.stats.states;
    let wrong = match counts {
        Counts::Exact | Counts::FewerTransitions => found != states,
        Counts::Fewer | Counts::Compressed => found > states,
        Counts::More => found < states,
    };
    if wrong {
        fail(format!("states: {found}, which a row of this kind cannot count; there are {states}"));
    }
    let found = report.stats.transitions;
    match expect.transitions {
        Some(transitions) if counts == Counts::FewerTransitions && found > transitions => {
            fail(format!("transitions: {found}, and there are only {transitions}"));
        }
        _ => {}
    }
}

fn matches_violation(finding: &Finding, expected: &str) -> bool {
    match expected.strip_prefix("fault") {
        Some(part) => finding.kind == FindingKind::Fault && finding.message.contains(part.trim()),
        None => finding.title() == expected,
    }
}

fn compare_bad(expect: &Expect, bad: &BadModel, out: &mut Vec<Failure>) {
    let messages: Vec<&str> = bad.diagnostics.iter().map(|d| d.message.as_str()).collect();
    let all = messages.join("; ");
    let fail = |message: String| Failure { row: "load".to_string(), message };
    if expect.verdict != Some(Word::Error) {
        let expected = expect.verdict.map_or("a model that loads", Word::text);
        out.push(fail(format!("expected {expected}, got error: {all}")));
    } else if let Some(part) = &expect.message
        && !messages.iter().any(|message| message.contains(part.as_str()))
    {
        out.push(fail(format!("expected a message with `{part}`, got: {all}")));
    }
}
