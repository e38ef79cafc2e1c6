//! Random models: what is claimed about rule instances, against firing them in all orders.
//!
//! A failure is shrunk and printed as a model. More seeds:
//! `ERGODIC_SEEDS=100000..101000 cargo test -p ergodic-testkit --test independence`.

#[path = "../../independence/tests/common/mod.rs"]
mod common;

use common::{Judge, Seen};
use ergodic_driver::{LoadOptions, load, load_text};
use ergodic_independence::{Independence, Options};
use ergodic_testkit::find_models;
use ergodic_testkit::generate::{Model, Size, render, shrink};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

fn seeds(default: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("ERGODIC_SEEDS") else { return default };
    let (from, to) = text.split_once("..").expect("ERGODIC_SEEDS is FROM..TO");
    from.parse().expect("a number")..to.parse().expect("a number")
}

/// The options of a seed: walks and proofs of all sizes, so that every way out is taken.
fn options(seed: u64) -> Options {
    let all = Options::default();
    match seed % 5 {
        0 => Options { steps: 0, ..all },
        1 => Options { refine: false, ..all },
        2 => Options { max_instances: 6, ..all },
        3 => Options { valuations: 16, total_valuations: 200, ..all },
        _ => all,
    }
}

/// What is wrong with the claims about a model, if anything.
fn judge(model: &Model, options: &Options) -> Result<Seen, String> {
    let Ok(loaded) = load_text("random.m", render(model), &LoadOptions::default()) else {
        return Ok(Seen::default());
    };
    let work = || {
        let relations = Independence::new(&loaded.program, options);
        let judge = Judge::new(loaded.program.clone(), relations, 60, 60);
        judge.map_or(Seen::default(), |mut judge| judge.check())
    };
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.unwrap_or_else(|| panic.downcast_ref::<&str>().copied().unwrap_or("?").to_string())
    })
}

fn run_seeds(seeds: Range<u64>, size: Size) -> Seen {
    let mut total = Seen::default();
    for seed in seeds {
        let model = Model::random(seed, size);
        let options = options(seed);
        match judge(&model, &options) {
            Ok(seen) => {
                total.pairs += seen.pairs;
                total.independent += seen.independent;
                total.refined += seen.refined;
                total.enabled += seen.enabled;
                total.needed += seen.needed;
                total.all += seen.all;
            }
            Err(first) => {
                let small = shrink(&model, |candidate| judge(candidate, &options).is_err());
                let message = judge(&small, &options).err().unwrap_or(first);
                panic!("seed {seed}: {message}\n\n{}", render(&small));
            }
        }
    }
    total
}

/// The interpreter needs room for deep calls.
fn on_large_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(256 << 20);
    match thread.spawn(work).expect("a thread").join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

#[test]
fn small_models_are_judged_rightly() {
    let seen = on_large_stack(|| run_seeds(seeds(0..400), Size::SMALL));
    println!("{seen:?}");
    assert!(seen.independent > 0 && seen.refined > 0 && seen.enabled > 0, "{seen:?}");
    assert!(seen.needed < seen.all, "{seen:?}");
}

#[test]
fn medium_models_are_judged_rightly() {
    let seen = on_large_stack(|| run_seeds(seeds(5000..5150), Size::MEDIUM));
    println!("{seen:?}");
    assert!(seen.independent > 0 && seen.refined > 0 && seen.enabled > 0, "{seen:?}");
    assert!(seen.needed < seen.all, "{seen:?}");
}

fn models_in(folder: &str, max_states: usize, max_labels: u64) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    if !folder.is_dir() {
        println!("skipped: {} is not there", folder.display());
        return 0;
    }
    let models = find_models(&[folder]).expect("a readable folder");
    on_large_stack(move || {
        let mut judged = 0;
        for path in models {
            let Ok(model) = load(&path, &LoadOptions::default()) else { continue };
            let relations = Independence::new(&model.program, &Options::default());
            let judge = Judge::new(model.program.clone(), relations, max_states, max_labels);
            let Some(mut judge) = judge else { continue };
            let seen = judge.check();
            println!("{}: {seen:?}", path.display());
            judged += 1;
        }
        judged
    })
}

#[test]
fn our_models_are_judged_rightly() {
    assert!(models_in("../../models", 150, 200) > 0);
}

#[test]
fn classic_models_are_judged_rightly() {
    models_in("../../../shared/models/murphi", 100, 400);
}
