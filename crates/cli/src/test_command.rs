//! `ergodic test`: models against the expectations in their headers.

use crate::flags::{HeaderOptions, TestArgs};
use crate::paint::Paint;
use crate::{complain, exit, print};
use clap::Parser;
use ergodic_driver::{CheckOptions, LoadOptions};
use ergodic_testkit::{Job, Observed, Rows, bless, find_models, parse, run as run_job};
use std::path::Path;

/// States above which `--all-rows` spares the interpreter.
const INTERPRETER_STATES: u64 = 1_000_000;

/// Runs the models; ends with `N passed, N failed`.
pub fn run(args: &TestArgs) -> u8 {
    let models = match find_models(&args.paths) {
        Ok(models) => models,
        Err((path, error)) => {
            complain(&format!("error: cannot read {}: {error}", path.display()));
            return exit::BAD_INPUT;
        }
    };
    let paint = Paint::for_stdout(args.color);
    let (mut passed, mut failed, mut skipped) = (0u64, 0u64, 0u64);
    for path in models {
        if args.only.as_ref().is_some_and(|part| !path.to_string_lossy().contains(part.as_str())) {
            continue;
        }
        match run_model(&path, args, paint) {
            Tally::Ran { ok, bad } => (passed, failed) = (passed + ok, failed + bad),
            Tally::NothingExpected => skipped += 1,
        }
    }
    if passed + failed + skipped == 0 {
        complain("error: no model found; give files or directories with models");
        return exit::BAD_INPUT;
    }
    let rest = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
    print(&format!("{passed} passed, {failed} failed{rest}\n"));
    if failed == 0 { exit::HOLDS } else { exit::VIOLATED }
}

enum Tally {
    Ran { ok: u64, bad: u64 },
    NothingExpected,
}

fn run_model(path: &Path, args: &TestArgs, paint: Paint) -> Tally {
    let name = path.display();
    let sets = match std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()) {
        Ok(text) => match parse(&text) {
            Ok(sets) => sets,
            Err(error) => {
                print(&format!("{} {name}:{}: {}\n", paint.bad("FAIL"), error.line, error.message));
                return Tally::Ran { ok: 0, bad: 1 };
            }
        },
        Err(error) => {
            print(&format!("{} {name}: {error}\n", paint.bad("FAIL")));
            return Tally::Ran { ok: 0, bad: 1 };
        }
    };
    if sets.is_empty() {
        print(&format!("{} {name}: no expectation in its header\n", paint.warn("skip")));
        return Tally::NothingExpected;
    }
    let rows = if args.all_rows {
        Rows::All { interpreter_states: INTERPRETER_STATES }
    } else {
        Rows::Header
    };
    let (mut ok, mut bad) = (0, 0);
    let mut found = Vec::new();
    for set in &sets {
        let observed = run_job(&Job { path, set }, &parse_options, rows);
        let options: String = set.options.iter().flat_map(|word| [" ", word.as_str()]).collect();
        if observed.failures.is_empty() {
            ok += 1;
            print(&format!(
                "{} {name}{options} ({} run{})\n",
                paint.good("pass"),
                observed.runs,
                plural(observed.runs)
            ));
        } else {
            bad += 1;
            tell_failures(path, &options, &observed, paint);
        }
        found.push((set.line, observed.found));
    }
    if args.bless && bad > 0 {
        bless_model(path, &found);
    }
    Tally::Ran { ok, bad }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn tell_failures(path: &Path, options: &str, observed: &Observed, paint: Paint) {
    let mut out = format!("{} {}{options}\n", paint.bad("FAIL"), path.display());
    for failure in &observed.failures {
        out.push_str(&format!("     {}: {}\n", failure.row, failure.message));
    }
    print(&out);
}

fn bless_model(path: &Path, found: &[(usize, ergodic_testkit::Expect)]) {
    let rewritten =
        std::fs::read_to_string(path).and_then(|text| std::fs::write(path, bless(&text, found)));
    match rewritten {
        Ok(()) => print(&format!("     blessed {}\n", path.display())),
        Err(error) => complain(&format!("error: cannot bless {}: {error}", path.display())),
    }
}

fn parse_options(words: &[String]) -> Result<(LoadOptions, CheckOptions), String> {
    let options = HeaderOptions::try_parse_from(words).map_err(|error| error.to_string())?;
    Ok((options.explore.model.load_options(), options.explore.check_options()))
}
