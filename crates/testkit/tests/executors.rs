//! The JIT against the interpreter, successor by successor: on random states of random models
//! (reachable or not), and on whole explorations of our own models and of the classic ones.

use ergodic_driver::{LoadOptions, load, load_text};
use ergodic_interp::Interpreter;
use ergodic_ir::{GlobalId, Layout, Program, Type, TypeId, UNDEFINED_REAL, bits, ops};
use ergodic_jit::Jit;
use ergodic_queue::memory::MemoryQueue;
use ergodic_search::{Limits, Unobserved, bfs};
use ergodic_store::exact::ExactStore;
use ergodic_system::{Batch, Block, Checked, Cursor, DeadlockMode, PAD_WORDS, Picks, Step, System};
use ergodic_testkit::find_models;
use ergodic_testkit::generate::{Model, Rng, Size, render};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn pair(program: &Arc<Program>, deadlock: DeadlockMode) -> Checked<Interpreter, Jit> {
    let jit = Jit::new(program.clone(), deadlock).expect("the compiler takes the model");
    Checked::new(Interpreter::new(program.clone(), deadlock), jit)
}

/// A state with a random value, or none, in every scalar.
fn random_state(program: &Program, layout: &Layout, rng: &mut Rng) -> Vec<u64> {
    let mut state = vec![0; layout.shape().words];
    for (i, global) in program.globals.iter().enumerate() {
        fill(program, layout, &mut state, layout.global(GlobalId(i as u32)), global.ty, rng);
    }
    layout.normalise(&mut state);
    state
}

fn fill(
    program: &Program,
    layout: &Layout,
    state: &mut [u64],
    at: usize,
    ty: TypeId,
    rng: &mut Rng,
) {
    match &program.types[ty.0 as usize] {
        Type::Scalar(scalar) => {
            // One in ten is undefined, or faults would hide everything else.
            let defined = !scalar.undefinable || rng.below(10) > 0;
            let raw = u64::from(scalar.undefinable) + rng.below(scalar.count() as usize) as u64;
            bits::write(state, at, scalar.bits(), if defined { raw } else { 0 });
        }
        Type::Real { .. } => {
            let value = ops::finite(rng.below(100) as f64 / 4.0).expect("finite") as u64;
            bits::write(state, at, 64, value ^ UNDEFINED_REAL);
        }
        Type::Record { fields, .. } => {
            for (i, field) in fields.iter().enumerate() {
                let offset = layout.field(ty, i as u32);
                fill(program, layout, state, at + offset, field.ty, rng);
            }
        }
        Type::Array { index, elem } => {
            let Type::Scalar(range) = &program.types[index.0 as usize] else { return };
            for i in 0..range.count() as usize {
                fill(program, layout, state, at + i * layout.stride(ty), *elem, rng);
            }
        }
        Type::Multiset { capacity, elem } => {
            let inside = layout.slot_element(ty, &program.types);
            for slot in 0..*capacity as usize {
                let slot_at = at + slot * layout.stride(ty);
                if rng.below(2) == 1 {
                    bits::write(state, slot_at, 1, 1);
                    fill(program, layout, state, slot_at + inside, *elem, rng);
                }
            }
        }
    }
}

/// Expands and judges a block of states; `Checked` panics on any difference.
fn expand_all<S: System>(system: &S, states: &[Vec<u64>], capacity: usize, skip_loops: bool) {
    let width = system.shape().words;
    let mut words: Vec<u64> = states.concat();
    words.extend([u64::MAX; PAD_WORDS]);
    let block = Block::new(&words, width, states.len());
    let mut scratch = system.scratch();
    let mut batch = Batch::new(system.shape(), capacity);
    if skip_loops {
        batch.skip_loops();
    }
    let mut cursor = Cursor::default();
    loop {
        batch.clear();
        let step = system.expand(&mut scratch, block, &mut cursor, &mut batch);
        if step == Step::Done {
            break;
        }
    }
    let all: Picks = (0..states.len() as u32).collect();
    let mut at = 0;
    while system.judge(&mut scratch, block, &all, &mut at).is_some() {}
}

/// Generated code and the interpreter need room for deep calls.
fn on_large_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(256 << 20);
    let handle = thread.spawn(work).expect("a thread");
    if let Err(panic) = handle.join() {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn random_states_of_random_models() {
    on_large_stack(|| {
        for seed in 0..250 {
            let text = render(&Model::random(seed, Size::MEDIUM));
            let loaded = load_text("random.m", text, &LoadOptions::default());
            let model = loaded.expect("random models are legal");
            let layout = Layout::new(&model.program);
            let mut rng = Rng::new(seed);
            let states: Vec<_> =
                (0..40).map(|_| random_state(&model.program, &layout, &mut rng)).collect();
            let system = pair(&model.program, DeadlockMode::Stutter);
            for capacity in [1, 3, 1024] {
                expand_all(&system, &states, capacity, capacity != 3);
            }
        }
    });
}

/// Explores at most `states` states of a model with both executors.
fn explore(path: &Path, states: u64) {
    let Ok(model) = load(path, &LoadOptions::default()) else { return };
    let system = pair(&model.program, DeadlockMode::Stutter);
    let limits = Limits { max_states: Some(states), max_errors: 3, ..Limits::default() };
    let mut store = ExactStore::new(system.shape(), None);
    let mut frontier = MemoryQueue::new(system.shape());
    let outcome = bfs(&system, &mut store, &mut frontier, &limits, &mut Unobserved);
    assert!(outcome.stats.states > 0 || !outcome.findings.is_empty(), "{}", path.display());
}

fn explore_all(folder: &str, states: u64) {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    if !folder.is_dir() {
        println!("skipped: {} is not there", folder.display());
        return;
    }
    let models = find_models(&[folder]).expect("a readable folder");
    on_large_stack(move || {
        for model in models {
            explore(&model, states);
        }
    });
}

#[test]
fn our_models_in_lock_step() {
    explore_all("../../models", 20_000);
}

#[test]
fn classic_models_in_lock_step() {
    explore_all("../../../shared/models/murphi", 5_000);
}
