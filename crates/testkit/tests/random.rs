//! Random models: front end, both executors and both searches against the independent oracle.
//!
//! A failure is shrunk and printed as a model; it belongs under `models/regress` then. More seeds:
//! `ERGODIC_SEEDS=100000..101000 cargo test -p ergodic-testkit --test random`.

use ergodic_driver::{
    CheckOptions, Counts, DeadlockMode, Finding, FindingKind, LoadOptions, ROWS, Reason, Report,
    Row, SearchKind, Unobserved, Verdict, check, load_text,
};
use ergodic_testkit::generate::{
    self, Deadlock, Fault, Limits, Model, OracleResult, Size, Violation, explore, render, shrink,
};
use std::ops::Range;

const LIMITS: Limits = Limits { states: 20_000, steps: 2_000_000, deadlock: Deadlock::Off };

fn limits(deadlock: DeadlockMode) -> Limits {
    let deadlock = match deadlock {
        DeadlockMode::Off => Deadlock::Off,
        DeadlockMode::Stuck => Deadlock::Stuck,
        DeadlockMode::Stutter => Deadlock::Stutter,
    };
    Limits { deadlock, ..LIMITS }
}

fn run(text: &str, row: Row, deadlock: DeadlockMode) -> Result<Report, String> {
    let model =
        load_text("random.m", text.to_string(), &LoadOptions::default()).map_err(|bad| {
            bad.diagnostics.iter().map(|d| d.message.as_str()).collect::<Vec<_>>().join("; ")
        })?;
    let options = CheckOptions {
        symmetry: ergodic_driver::Symmetry::Off,
        deadlock,
        ..CheckOptions::default()
    };
    let options = row.applied_to(&options);
    check(&model, &options, &mut Unobserved).map_err(|error| error.to_string())
}

/// What differs between the oracle and a row.
fn difference(expected: &OracleResult, row: Row, got: &Report) -> Option<String> {
    let mut wrong = Vec::new();
    let mut compare = |what: &str, expected: String, got: String| {
        if expected != got {
            wrong.push(format!("{what}: oracle {expected}, {row:?} {got}"));
        }
    };
    match (&expected.verdict, &got.verdict) {
        (generate::Verdict::Holds, Verdict::Holds(_)) if row.counts() == Counts::More => {
            let enough = got.stats.states >= expected.states as u64;
            compare("at least the states", "true".to_string(), enough.to_string());
        }
        (generate::Verdict::Holds, Verdict::Holds(_)) if row.counts() == Counts::Compressed => {
            let few = got.stats.states <= expected.states as u64;
            compare("at most the states", "true".to_string(), few.to_string());
        }
        (generate::Verdict::Holds, Verdict::Holds(_))
            if row.counts() == Counts::FewerTransitions =>
        {
            compare("states", expected.states.to_string(), got.stats.states.to_string());
            let few = got.stats.transitions <= expected.transitions as u64;
            compare("at most the transitions", "true".to_string(), few.to_string());
            if row.search == SearchKind::Bfs {
                compare("depth", expected.depth.to_string(), got.stats.depth.to_string());
            }
        }
        // Models this small lose nothing to hashes of so many bits.
        (generate::Verdict::Holds, Verdict::Incomplete(Reason::Partial(_))) => {
            compare("states", expected.states.to_string(), got.stats.states.to_string());
        }
        (generate::Verdict::Holds, Verdict::Holds(_)) => {
            compare("states", expected.states.to_string(), got.stats.states.to_string());
            let transitions = (expected.transitions, got.stats.transitions);
            compare("transitions", transitions.0.to_string(), transitions.1.to_string());
            if row.search == SearchKind::Bfs {
                compare("depth", expected.depth.to_string(), got.stats.depth.to_string());
            }
        }
        (generate::Verdict::Violated { kind }, Verdict::Violated) => {
            // With little memory a search leaves the strict order before the violation.
            let in_order = row.search == SearchKind::Bfs && row.memory.is_none();
            if in_order && row.counts() == Counts::Exact {
                let finding = got.findings.first();
                let found = finding.map_or(String::new(), found_kind);
                compare("kind", expected_kind(kind), found);
                if let Some(finding) = finding {
                    compare("length", expected.length.to_string(), finding.depth.to_string());
                }
            }
        }
        (expected, got) => compare("verdict", format!("{expected:?}"), format!("{got:?}")),
    }
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

fn expected_kind(kind: &Violation) -> String {
    match kind {
        Violation::Deadlock => "deadlock".to_string(),
        Violation::Invariant(name) => format!("invariant {name}"),
        Violation::Fault(Fault::Assertion) => "assertion".to_string(),
        Violation::Fault(Fault::Error) => "error".to_string(),
        Violation::Fault(_) => "fault".to_string(),
    }
}

fn found_kind(finding: &Finding) -> String {
    match finding.kind {
        FindingKind::Invariant => format!("invariant {}", finding.name),
        kind => kind.word().to_string(),
    }
}

/// Rows with little memory make tables and files: only one model in so many goes through them.
const SHORT_EVERY: u64 = 8;

/// The first difference of any row, or nothing.
fn check_model(model: &Model, deadlock: DeadlockMode, short: bool) -> Option<String> {
    let expected = explore(model, limits(deadlock));
    if expected.verdict == generate::Verdict::TooBig {
        return None;
    }
    let text = render(model);
    for row in ROWS.iter().filter(|row| short || row.memory.is_none()) {
        match run(&text, *row, deadlock) {
            Ok(report) => {
                if let Some(difference) = difference(&expected, *row, &report) {
                    return Some(difference);
                }
            }
            Err(message) => return Some(format!("{row:?}: {message}")),
        }
    }
    None
}

fn seeds(default: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("ERGODIC_SEEDS") else { return default };
    let (from, to) = text.split_once("..").expect("ERGODIC_SEEDS is FROM..TO");
    from.parse().expect("a number")..to.parse().expect("a number")
}

fn run_seeds(seeds: Range<u64>, size: Size, deadlock: DeadlockMode) {
    for seed in seeds {
        let model = Model::random(seed, size);
        let check = |model: &Model| check_model(model, deadlock, seed.is_multiple_of(SHORT_EVERY));
        let Some(first) = check(&model) else { continue };
        let small = shrink(&model, |candidate| check(candidate).is_some());
        let difference = check(&small).unwrap_or(first);
        panic!("seed {seed}: {difference}\n\n{}", render(&small));
    }
}

#[test]
fn small_models_agree_with_the_oracle() {
    run_seeds(seeds(0..200), Size::SMALL, DeadlockMode::Off);
}

#[test]
fn medium_models_agree_with_the_oracle() {
    run_seeds(seeds(0..160), Size::MEDIUM, DeadlockMode::Off);
}

#[test]
fn deadlocks_agree_with_the_oracle() {
    run_seeds(seeds(1000..1060), Size::SMALL, DeadlockMode::Stutter);
    run_seeds(seeds(2000..2060), Size::SMALL, DeadlockMode::Stuck);
}
