//! Searches over stores that omit or forget states, in pieces: with one thread they do what they would
//! have done in one piece, and say the same about what may have been lost. And checkpoints on a device
//! that fails are errors, never other results.

mod common;
mod pieces;

use common::{Model, models, small_limits};
use ergodic_disk::{Dir, Fault, Faulty, Real};
use ergodic_queue::{DiskQueue, MemoryQueue};
use ergodic_search::{
    Ending, Keep, Limits, Observer, Opened, Outcome, Overflow, Plan, Resume, Saver, Team,
    Unobserved, overflowing, saved_bfs, serial,
};
use ergodic_store::signatures::EarlyCache;
use ergodic_store::{
    BitstateOptions, BitstateSize, BitstateStore, CacheEntry, CacheOptions, CacheSize, CacheStore,
    CompactOptions, CompactSize, CompactStore, FlatStore, PaperCompactStore, Replacement,
    SignatureFile, TreeStore, signatures,
};
use ergodic_system::{NoArchive, Reason, Shared, System, Visited};
use pieces::{From, Keeper, in_pieces};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;

fn temporary() -> Dir {
    Dir::fresh(&std::env::temp_dir()).unwrap()
}

/// All that must be equal.
fn all(outcome: &Outcome) -> impl PartialEq + std::fmt::Debug + use<> {
    let stats = &outcome.stats;
    (
        outcome.ending.clone(),
        (stats.states, stats.transitions, stats.depth, stats.max_frontier),
        (stats.levels.clone(), stats.fired.clone(), stats.fresh.clone(), outcome.goals.clone()),
        (rounded(outcome.losses.omission), rounded(outcome.losses.path_omission)),
        outcome.losses.figures.iter().map(|f| (f.key, rounded(f.value))).collect::<Vec<_>>(),
    )
}

/// The estimate of a bitstate table is a sum of rounded numbers, and depends on their order.
fn rounded(value: f64) -> String {
    format!("{value:.10e}")
}

fn team(in_order: u64) -> Team {
    Team { threads: 1, in_order, narrow: in_order % 4, worth: Duration::ZERO, ahead: true }
}

fn compact(model: &Model, slots: u64) -> CompactStore {
    let options = CompactOptions { bits: 6, seed: 3, size: CompactSize::Slots(slots) };
    CompactStore::new(model.shape(), options).unwrap()
}

fn bitstate(model: &Model, bits: u64) -> BitstateStore {
    let options = BitstateOptions { bits_per_state: 3, seed: 3, size: BitstateSize::Bits(bits) };
    BitstateStore::new(model.shape(), options).unwrap()
}

fn cache_options(bits: Option<u32>, entries: u64) -> CacheOptions {
    CacheOptions {
        entry: bits.map_or(CacheEntry::Full, CacheEntry::Signature),
        replacement: Replacement::Random,
        ways: 4,
        max_rate: None,
        ..CacheOptions::new(CacheSize::Entries(entries))
    }
}

fn cache(model: &Model, bits: Option<u32>, entries: u64) -> CacheStore {
    CacheStore::new(model.shape(), cache_options(bits, entries)).unwrap()
}

/// A table of lossy states in memory; where a run goes on, it is given a table of another size.
fn shared<V: Shared>(
    model: &Model,
    limits: &Limits,
    (in_order, looks): (u64, u64),
    make: impl Fn(u64) -> V,
) -> (Outcome, Outcome) {
    let piece = |from: From<'_>, saver: Option<&mut dyn Saver>, observer: &mut dyn Observer| {
        let mut store = make(if from.is_some() { 900 } else { 300 });
        let mut queue = MemoryQueue::new(model.shape());
        let resume = from.map(|(resume, _)| resume);
        let plan = Plan::<V, NoArchive> { overflow: None, saver, resume };
        overflowing(model, &mut store, &mut queue, plan, &team(in_order), limits, observer)
    };
    let expected = piece(None, None, &mut Unobserved);
    (in_pieces(looks, |from, saver, observer| piece(from, Some(saver), observer)).0, expected)
}

/// A set for one worker, and the queue on disk.
fn alone<V: Visited>(
    model: &Model,
    limits: &Limits,
    looks: u64,
    make: impl Fn(u64) -> V,
) -> (Outcome, Outcome) {
    let piece = |from: From<'_>, saver: Option<&mut dyn Saver>, observer: &mut dyn Observer| {
        let mut store = make(if from.is_some() { 60 } else { 30 });
        let dir = temporary();
        let mut queue = DiskQueue::new(dir.clone(), model.shape(), 64);
        let keep = Keep { saver, resume: from.map(|(resume, _)| resume) };
        let limits = Limits { log_dir: Some(dir), ..limits.clone() };
        saved_bfs(model, &mut store, &mut queue, keep, &limits, observer)
    };
    let expected = piece(None, None, &mut Unobserved);
    (in_pieces(looks, |from, saver, observer| piece(from, Some(saver), observer)).0, expected)
}

const SIGNATURES: signatures::Settings =
    signatures::Settings { bits: 24, seed: 5, full_every: 4, block: 10 };

/// The signature file of a checkpoint, or a new one.
fn signature_file(model: &Model, saved: Option<&(Vec<u8>, Dir)>) -> SignatureFile {
    match saved {
        Some((saved, dir)) => {
            SignatureFile::open(temporary(), model.shape(), dir.path(), saved, SIGNATURES).unwrap()
        }
        None => SignatureFile::new(temporary(), model.shape(), SIGNATURES).unwrap(),
    }
}

fn saved_archive(from: &From<'_>) -> Option<(Vec<u8>, Dir)> {
    let (resume, dir) = from.as_ref()?;
    Some((resume.archive()?.to_vec(), (*dir).clone()))
}

fn overflow<'a>(
    model: &Model,
    archive: SignatureFile,
    candidates: u64,
) -> Overflow<'a, FlatStore, SignatureFile> {
    let shape = model.shape();
    let lately = move || FlatStore::new(shape, None);
    let dir = temporary();
    Overflow {
        open: Box::new(move || Ok(Opened { lately: Box::new(lately), archive, dir })),
        memory: u64::MAX,
        candidates,
        frontier: 0,
        at_once: true,
    }
}

/// Signatures on disk from the start.
fn dbf(model: &Model, limits: &Limits, looks: u64, candidates: u64) -> (Outcome, Outcome) {
    let piece = |from: From<'_>, saver: Option<&mut dyn Saver>, observer: &mut dyn Observer| {
        let archive = signature_file(model, saved_archive(&from).as_ref());
        let mut store = FlatStore::new(model.shape(), None);
        let mut queue = MemoryQueue::new(model.shape());
        let overflow = Some(overflow(model, archive, candidates));
        let plan = Plan { overflow, saver, resume: from.map(|(resume, _)| resume) };
        overflowing(model, &mut store, &mut queue, plan, &team(0), limits, observer)
    };
    let expected = piece(None, None, &mut Unobserved);
    (in_pieces(looks, |from, saver, observer| piece(from, Some(saver), observer)).0, expected)
}

/// A cache, and signatures on disk when it has taken so many states.
fn cache_then_dbf(model: &Model, limits: &Limits, looks: u64, most: u64) -> (Outcome, Outcome) {
    let piece = |from: From<'_>, saver: Option<&mut dyn Saver>, observer: &mut dyn Observer| {
        let saved = saved_archive(&from);
        let options = cache_options(None, if from.is_some() { 50 } else { 20 });
        let mut cache = EarlyCache::new(model.shape(), SIGNATURES, options).unwrap();
        let mut store = FlatStore::new(model.shape(), None);
        let mut queue = MemoryQueue::new(model.shape());
        let open = |cache: &mut EarlyCache| {
            let mut archive = signature_file(model, saved.as_ref());
            if saved.is_none() {
                cache.hand_over(&mut archive).unwrap();
            }
            overflow(model, archive, 1 << 30)
        };
        let full = |cache: &EarlyCache| cache.insertions() >= most;
        let keep = Keep { saver, resume: from.map(|(resume, _)| resume) };
        let (cache, store, queue, team) = (&mut cache, &mut store, &mut queue, &team(0));
        serial(model, cache, full, store, queue, open, keep, team, limits, observer)
    };
    let expected = piece(None, None, &mut Unobserved);
    (in_pieces(looks, |from, saver, observer| piece(from, Some(saver), observer)).0, expected)
}

/// A state is one word, so that the flat store takes it.
fn narrow(model: Model) -> Model {
    Model { width: 1, ..model }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn compacted_states_go_on(model in models(false), limits in small_limits(), looks in 1..5u64,
                              in_order in 0..30u64) {
        let pace = (in_order, looks);
        let (outcome, expected) = shared(&model, &limits, pace, |slots| compact(&model, slots));
        prop_assert_eq!(all(&outcome), all(&expected));
        let (outcome, expected) = shared(&model, &limits, pace, |bits| bitstate(&model, bits));
        prop_assert_eq!(all(&outcome), all(&expected));
        let make = |slots| PaperCompactStore::new(model.shape(), slots + 41, 6, 3).unwrap();
        let (outcome, expected) = alone(&model, &limits, looks, make);
        prop_assert_eq!(all(&outcome), all(&expected));
    }

    #[test]
    fn caches_go_on(model in models(false), limits in small_limits(), looks in 1..5u64,
                    bits in prop_oneof![Just(None), Just(Some(30))]) {
        let limits = Limits { max_states: Some(3000), ..limits };
        let (outcome, expected) = alone(&model, &limits, looks, |entries| cache(&model, bits, entries));
        prop_assert_eq!(all(&outcome), all(&expected));
    }

    #[test]
    fn signature_files_go_on(model in models(false), limits in small_limits(), looks in 1..5u64,
                             candidates in prop_oneof![Just(1u64), Just(1 << 17), Just(1 << 30)]) {
        let model = narrow(model);
        let (outcome, expected) = dbf(&model, &limits, looks, candidates);
        prop_assert_eq!(all(&outcome), all(&expected));
    }

    #[test]
    fn the_cache_before_a_signature_file_goes_on(model in models(false), limits in small_limits(),
                                                 looks in 1..5u64, most in 0..60u64) {
        let model = narrow(model);
        let limits = Limits { max_states: Some(3000), ..limits };
        let (outcome, expected) = cache_then_dbf(&model, &limits, looks, most);
        prop_assert_eq!(all(&outcome), all(&expected));
    }

    /// A checkpoint that could not be written is not there, and the search is what it would have been;
    /// one that cannot be read is not opened, or the search says so.
    #[test]
    fn a_failing_device_changes_no_result(model in models(false), number in 0..30u64, reads: bool,
                                          which in 0..4u32) {
        let model = narrow(model);
        let run = |keep: Keep<'_>| faulty_run(&model, which, keep);
        let expected = run(Keep::default());
        let fault = if reads { Fault::FlipOnRead(number) } else { Fault::FailWrite(number) };
        let device = Arc::new(Faulty::new(fault));
        let written = if reads { Arc::new(Real) as _ } else { Arc::clone(&device) as _ };
        let mut keeper = Keeper::new(written, 3);
        let outcome = run(Keep { saver: Some(&mut keeper), resume: None });
        prop_assert_eq!(all(&outcome), all(&expected));
        prop_assert!(keeper.failed.iter().all(|why| why.contains("injected")), "{:?}", keeper.failed);
        let Some(dir) = &keeper.last else { return Ok(()) };
        let dir = if reads { Dir::at_on(device, dir.path()).unwrap() } else { dir.clone() };
        match Resume::open(&dir) {
            Err(why) => prop_assert!(reads && why.to_string().contains("ergodic-"), "{why}"),
            Ok(resume) => {
                let outcome = run(Keep { saver: None, resume: Some(resume) });
                match &outcome.ending {
                    Ending::Stopped(Reason::Exhausted(why)) => prop_assert!(reads, "{why}"),
                    _ => prop_assert_eq!(all(&outcome), all(&expected)),
                }
            }
        }
    }
}

/// One of the searches that are saved with a table, in units of work that are small.
fn faulty_run(model: &Model, which: u32, keep: Keep<'_>) -> Outcome {
    let limits = Limits { batch: 3, block: 2, ..Limits::default() };
    let mut queue = MemoryQueue::new(model.shape());
    match which {
        0 | 1 => {
            let mut cache = cache(model, Some(20 + which), 1000);
            saved_bfs(model, &mut cache, &mut queue, keep, &limits, &mut Unobserved)
        }
        2 => {
            let plan =
                Plan::<_, NoArchive> { overflow: None, saver: keep.saver, resume: keep.resume };
            let store = &mut compact(model, 300);
            overflowing(model, store, &mut queue, plan, &team(5), &limits, &mut Unobserved)
        }
        _ => {
            let plan =
                Plan::<_, NoArchive> { overflow: None, saver: keep.saver, resume: keep.resume };
            let store = &mut bitstate(model, 300);
            overflowing(model, store, &mut queue, plan, &team(5), &limits, &mut Unobserved)
        }
    }
}

/// Levels of many tasks, and an archive that is asked after each of them: how a level is cut into tasks is
/// saved as well.
#[test]
fn a_level_is_cut_as_before() {
    let next = |node: u32| [7 * node + 1, 11 * node + 3, node + 1].map(|to| to % 3000);
    let go = |to: u32| common::Act::Go { rule: to % 3, to };
    let acts = (0..3000).map(|node| next(node).map(go).to_vec()).collect();
    let model = Model { width: 1, starts: vec![go(0)], acts, ..Model::default() };
    let (outcome, expected) = dbf(&model, &Limits::default(), 40, 1);
    assert_eq!(all(&outcome), all(&expected));
    assert!(expected.stats.max_frontier > 32 * 16, "{}", expected.stats.max_frontier);
}

/// Chunks are full long before their level is done, so that workers have written segments of the parent log
/// that are saved before the coordinator takes them over: the way to the last state is still found.
#[test]
fn logs_of_full_chunks_go_on() {
    const NODES: u32 = 20_000;
    let next = |node: u32| [7 * node + 1, 11 * node + 3, node + 1].map(|to| to % NODES);
    let go = |to: u32| common::Act::Go { rule: to % 3, to };
    let (mut depths, mut order) = (vec![None; NODES as usize], vec![0]);
    depths[0] = Some(0);
    for at in 0..NODES as usize {
        for to in order.get(at).map_or([0; 3], |node| next(*node)) {
            if depths[to as usize].is_none() {
                depths[to as usize] = depths[order[at] as usize].map(|depth: usize| depth + 1);
                order.push(to);
            }
        }
    }
    let last = order[order.len() - 1];
    let acts = (0..NODES).map(|node| next(node).map(go).to_vec()).collect();
    let bad = [(last, 0)].into();
    let model = Model { width: 16, starts: vec![go(0)], acts, bad, ..Model::default() };
    let make = |_| TreeStore::new(model.shape(), None);
    let (outcome, expected) = shared(&model, &Limits::default(), (10, 40), make);
    assert_eq!(all(&outcome), all(&expected));
    assert!(expected.stats.max_frontier > 4 * 512, "{}", expected.stats.max_frontier);
    for outcome in [&outcome, &expected] {
        let path = &outcome.findings[0].path;
        assert_eq!(model.replay(path), (Some(last), None));
        assert_eq!(Some(path.len() - 1), depths[last as usize]);
    }
}

/// What was saved with one kind of store is not taken for another.
#[test]
fn a_checkpoint_of_another_store_is_refused() {
    let acts = |node: u32| vec![common::Act::Go { rule: 0, to: (node + 1) % 40 }];
    let model =
        Model { width: 1, starts: acts(39), acts: (0..40).map(acts).collect(), ..Model::default() };
    let mut keeper = Keeper::new(Arc::new(Real), 3);
    faulty_run(&model, 2, Keep { saver: Some(&mut keeper), resume: None });
    let dir = keeper.last.expect("it was saved");
    for which in [0, 3] {
        let keep = Keep { saver: None, resume: Some(Resume::open(&dir).unwrap()) };
        let outcome = faulty_run(&model, which, keep);
        let Ending::Stopped(reason) = &outcome.ending else { panic!("{:?}", outcome.ending) };
        assert!(reason.to_string().contains("another"), "{reason}");
        assert_eq!(outcome.stats.states, 0);
    }
}
