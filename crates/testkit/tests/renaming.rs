//! Sleep sets with symmetry, on random models and on real ones: what becomes of rule instances when a
//! successor is replaced by another member of its orbit, against firing them in both; and whole checks with
//! and without sleep sets.
//!
//! A failure is shrunk and printed as a model. More seeds:
//! `ERGODIC_SEEDS=100000..101000 cargo test -p ergodic-testkit --test renaming`.

use ergodic_driver::{
    CheckOptions, DeadlockMode, LoadOptions, Reduction, SearchKind, Sleep, Unobserved, Verdict,
    check, load, load_text,
};
use ergodic_independence::{Independence, InstanceId, Options};
use ergodic_interp::{FireOne, Interpreter, Scratch};
use ergodic_ir::{Layout, Program};
use ergodic_symmetry::{CanonScratch, Reduced, Symmetries, check_program};
use ergodic_system::{Batch, Block, Cursor, PAD_WORDS, Renaming, RuleSystem, Step, System};
use ergodic_testkit::find_models;
use ergodic_testkit::generate::{Model, Size, render, shrink};
use std::collections::HashSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

fn seeds(default: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("ERGODIC_SEEDS") else { return default };
    let (from, to) = text.split_once("..").expect("ERGODIC_SEEDS is FROM..TO");
    from.parse().expect("a number")..to.parse().expect("a number")
}

/// The interpreter needs room for deep calls.
fn on_large_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(256 << 20);
    match thread.spawn(work).expect("a thread").join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    renamed: u64,
    fired: u64,
    moved: u64,
}

/// A program, and what it takes to look at its orbits.
struct Orbits {
    plain: Interpreter,
    reduced: Reduced<Interpreter>,
    relations: Independence,
    renaming: Renaming,
}

/// What comes of firing an instance.
#[derive(Debug, PartialEq)]
enum Fired {
    Disabled,
    Dropped,
    Fault(u16),
    /// A successor, by the member that stands for its orbit.
    Orbit(Vec<u64>),
}

impl Orbits {
    /// `None` if there is nothing to permute, or there are too many instances.
    fn new(program: &Arc<Program>) -> Option<Orbits> {
        let left_out: Vec<_> = check_program(program).iter().map(|broken| broken.ty).collect();
        let symmetries = Symmetries::new(program, &Layout::new(program), &left_out);
        let options = Options { refine: false, ..Options::default() };
        let relations = Independence::new(program, &options);
        if symmetries.is_trivial() || relations.len() > 600 {
            return None;
        }
        let codes: Vec<_> = symmetries.groups().iter().map(|group| group.codes).collect();
        let renaming = relations.renaming(&codes);
        let plain = Interpreter::new(program.clone(), DeadlockMode::Off);
        let reduced = Interpreter::new(program.clone(), DeadlockMode::Off);
        Some(Orbits { plain, reduced: Reduced::new(reduced, symmetries), relations, renaming })
    }

    fn fire(
        &self,
        (machine, canon): &mut (Scratch, CanonScratch),
        state: &[u64],
        id: InstanceId,
    ) -> Option<Fired> {
        let label = self.relations.numbering().label(id)?;
        Some(match self.plain.fire_label(machine, state, label) {
            Ok(FireOne::Disabled) => Fired::Disabled,
            Ok(FireOne::Dropped) => Fired::Dropped,
            Ok(FireOne::State(mut state)) => {
                self.reduced.symmetries().canonise(canon, &mut state);
                Fired::Orbit(state)
            }
            Err(fault) => Fired::Fault(fault.kind),
        })
    }

    /// Follows at most so many orbits; in each successor that was renamed, fires all instances.
    fn check(&self, states: usize) -> Seen {
        let mut seen = Seen::default();
        let mut scratch = (RuleSystem::scratch(&self.plain), self.reduced.symmetries().scratch());
        let mut inner = System::scratch(&self.plain);
        let mut outer = self.reduced.scratch();
        let (mut known, mut waiting) = (HashSet::new(), Vec::new());
        let mut batches = [0; 2].map(|_| Batch::new(self.reduced.shape(), 4096));
        let [before, after] = &mut batches;
        after.watch_renames(true);
        let mut cursor = Cursor::default();
        while self.reduced.initial(&mut outer, &mut cursor, after) == Step::Full {}
        (0..after.len()).for_each(|i| waiting.push(after.state(i).to_vec()));
        while let Some(state) = waiting.pop() {
            if known.len() >= states || !known.insert(state.clone()) {
                continue;
            }
            let mut words = state.clone();
            words.resize(state.len() + PAD_WORDS, 0);
            let block = Block::new(&words, state.len(), 1);
            before.clear();
            after.clear();
            let first = self.plain.expand(&mut inner, block, &mut Cursor::default(), before);
            let second = self.reduced.expand(&mut outer, block, &mut Cursor::default(), after);
            assert_eq!(first, second);
            assert_eq!(before.labels(), after.labels());
            for i in 0..after.len() {
                waiting.push(after.state(i).to_vec());
                assert_eq!(after.renamed(i).is_some(), before.state(i) != after.state(i));
                if let Some(to) = after.renamed(i) {
                    seen.renamed += 1;
                    self.compare(&mut scratch, (before.state(i), after.state(i)), to, &mut seen);
                }
            }
        }
        seen
    }

    /// The image of what an instance does in a state is what its image does in the image of the state.
    fn compare(
        &self,
        scratch: &mut (Scratch, CanonScratch),
        (state, image): (&[u64], &[u64]),
        to: &[u16],
        seen: &mut Seen,
    ) {
        for id in self.relations.numbering().all() {
            let Some(here) = self.fire(scratch, state, id) else { continue };
            let there = self.renaming.image(id.index(), to).expect("an image");
            let there = InstanceId(there as u32);
            let name = |id| self.relations.name(id);
            let then = self.fire(scratch, image, there);
            assert_eq!(Some(&here), then.as_ref(), "{} and {}", name(id), name(there));
            seen.fired += u64::from(here != Fired::Disabled);
            seen.moved += u64::from(here != Fired::Disabled && id != there);
        }
    }
}

fn attempt<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.unwrap_or_else(|| panic.downcast_ref::<&str>().copied().unwrap_or("?").to_string())
    })
}

/// Runs a judgement on random models; a failure is made small.
fn judge_all<T>(seeds: Range<u64>, judge: impl Fn(&Model) -> Result<T, String>) -> Vec<T> {
    let mut results = Vec::new();
    for seed in seeds {
        let model = Model::random(seed, Size::SMALL);
        match judge(&model) {
            Ok(result) => results.push(result),
            Err(first) => {
                let small = shrink(&model, |candidate| judge(candidate).is_err());
                let message = judge(&small).err().unwrap_or(first);
                panic!("seed {seed}: {message}\n\n{}", render(&small));
            }
        }
    }
    results
}

fn program(model: &Model) -> Option<Arc<Program>> {
    let loaded = load_text("random.m", render(model), &LoadOptions::default());
    loaded.ok().map(|model| model.program)
}

fn sum(all: &[Seen]) -> Seen {
    all.iter().fold(Seen::default(), |sum, seen| Seen {
        renamed: sum.renamed + seen.renamed,
        fired: sum.fired + seen.fired,
        moved: sum.moved + seen.moved,
    })
}

#[test]
fn instances_of_random_models_move_with_the_state() {
    let seen = on_large_stack(|| {
        let judge = |model: &Model| {
            let orbits = program(model).and_then(|program| Orbits::new(&program));
            attempt(|| orbits.map(|orbits| orbits.check(60)).unwrap_or_default())
        };
        sum(&judge_all(seeds(0..1500), judge))
    });
    println!("{seen:?}");
    assert!(seen.renamed > 1000 && seen.moved > 1000, "{seen:?}");
}

fn models_in(folder: &str, states: usize) -> usize {
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
            let Some(orbits) = Orbits::new(&model.program) else { continue };
            let seen = orbits.check(states);
            println!("{}: {seen:?}", path.display());
            judged += usize::from(seen.moved > 0);
        }
        judged
    })
}

#[test]
fn instances_of_our_models_move_with_the_state() {
    assert!(models_in("../../models", 100) > 5);
}

#[test]
fn instances_of_classic_models_move_with_the_state() {
    models_in("../../../shared/models/murphi", 60);
}

/// States, transitions and depth of a check with symmetry, if everything was visited.
fn counts(text: &str, change: impl Fn(&mut CheckOptions)) -> Option<(u64, u64, u64)> {
    let model = load_text("random.m", text.to_string(), &LoadOptions::default()).ok()?;
    let mut options = CheckOptions { deadlock: DeadlockMode::Off, ..CheckOptions::default() };
    options.engine = ergodic_driver::Engine::Interp;
    options.threads = 1;
    options.max_states = Some(3000);
    change(&mut options);
    let report = check(&model, &options, &mut Unobserved).ok()?;
    let stats = report.stats;
    matches!(report.verdict, Verdict::Holds(_)).then_some((
        stats.states,
        stats.transitions,
        stats.depth,
    ))
}

#[test]
fn random_models_keep_their_orbits() {
    let judge = |model: &Model| {
        let text = render(model);
        let Some((states, transitions, depth)) = counts(&text, |_| {}) else { return Ok((0, 0)) };
        let found = counts(&text, |options| options.reduction = Reduction::Sleep);
        let Some((found, fired, deep)) = found else { return Err("another verdict".to_string()) };
        if (found, deep) != (states, depth) || fired > transitions {
            return Err(format!("{found} of {states} orbits, depth {deep} of {depth}"));
        }
        for rule in [Sleep::Stored, Sleep::Paper] {
            let found = counts(&text, |options| {
                options.search = SearchKind::SleepDfs;
                options.sleep.sleep = rule;
            });
            let found = found.map(|(states, ..)| states);
            if found != Some(states) {
                return Err(format!("{found:?} of {states} orbits, depth first, {rule:?}"));
            }
        }
        Ok((transitions, fired))
    };
    let all = judge_all(seeds(10_000..10_300), judge);
    let (transitions, fired) = all.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("{fired} of {transitions} transitions are fired");
    assert!(fired < transitions);
}
