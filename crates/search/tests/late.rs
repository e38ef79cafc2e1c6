//! The search that goes to disk against the one that stays in memory: random models, archives of the
//! simplest kind, memory for a handful of states, so that it goes there anywhere.

mod common;
mod pieces;

use common::{Model, models, small_limits};
use ergodic_disk::{Dir, Fault, Faulty, Real};
use ergodic_queue::MemoryQueue;
use ergodic_search::{
    Control, Ending, Keep, Limits, Opened, Outcome, Overflow, Plan, Progress, Resume, Team,
    Unobserved, overflowing, pbfs, serial,
};
use ergodic_store::{ExactStore, FlatStore, TreeStore};
use ergodic_system::{
    Archive, Block, Exhausted, Losses, Picks, Reason, Shape, Shared, System, ViolationKind, Visited,
};
use pieces::Keeper;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Remembers everything, or only the last few.
#[derive(Default)]
struct Plain {
    seen: BTreeSet<Vec<u64>>,
    order: Vec<Vec<u64>>,
    at_most: Option<usize>,
    forget_offered: bool,
    /// Ends of levels; every third asks for everything that was ever seen.
    levels: u64,
    ever: BTreeSet<Vec<u64>>,
}

impl Archive for Plain {
    fn admit(
        &mut self,
        offered: &[Block<'_>],
        fresh: &mut Vec<(u32, u32)>,
    ) -> Result<(), Exhausted> {
        fresh.clear();
        let whole = self.levels % 3 == 2;
        for (b, block) in offered.iter().enumerate() {
            for i in 0..block.len() {
                let state = block.state(i).to_vec();
                if whole && self.ever.contains(&state) {
                    continue;
                }
                if self.seen.insert(state.clone()) {
                    self.ever.insert(state.clone());
                    self.order.push(state);
                    fresh.push((b as u32, i as u32));
                }
            }
        }
        while self.at_most.is_some_and(|most| self.order.len() > most) {
            let oldest = self.order.remove(0);
            self.seen.remove(&oldest);
        }
        Ok(())
    }

    fn level_ends(&mut self) {
        self.levels += 1;
    }

    fn forget_offered(&self) -> bool {
        self.forget_offered
    }

    fn save(&mut self, dir: &std::path::Path) -> Result<Vec<u8>, Exhausted> {
        let text: Vec<String> = self.ever.iter().map(|state| format!("{state:?}")).collect();
        std::fs::write(dir.join("plain"), text.join("\n")).unwrap();
        Ok(vec![1, 2, 3])
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn states(&self) -> u64 {
        self.order.len() as u64
    }

    fn losses(&self) -> Losses {
        Losses { forgets: self.at_most.is_some(), ..Losses::default() }
    }
}

/// A shared set that takes so many states and no more.
struct Small {
    inner: FlatOrTree,
    room: std::sync::atomic::AtomicU64,
    list: std::sync::Mutex<Vec<Vec<u64>>>,
}

enum FlatOrTree {
    Flat(Box<FlatStore>),
    Tree(Box<TreeStore>),
}

enum Asking {
    Flat(<FlatStore as Shared>::Scratch),
    Tree(<TreeStore as Shared>::Scratch),
}

impl Small {
    fn new(shape: Shape, room: u64) -> Small {
        let inner = if FlatStore::fits(shape) {
            FlatOrTree::Flat(Box::new(FlatStore::new(shape, None)))
        } else {
            FlatOrTree::Tree(Box::new(TreeStore::new(shape, None)))
        };
        Small { inner, room: room.into(), list: Vec::new().into() }
    }
}

impl Shared for Small {
    type Scratch = Asking;

    fn scratch(&self) -> Asking {
        match &self.inner {
            FlatOrTree::Flat(store) => Asking::Flat(store.scratch()),
            FlatOrTree::Tree(store) => Asking::Tree(store.scratch()),
        }
    }

    fn offer(&self, s: &mut Asking, new: Block<'_>, from: usize, fresh: &mut Picks) -> usize {
        use std::sync::atomic::Ordering::Relaxed;
        for at in from..new.len() {
            let take = |room: u64| room.checked_sub(1);
            if !self.contains(new.state(at))
                && self.room.fetch_update(Relaxed, Relaxed, take).is_err()
            {
                return at;
            }
            let one = new.slice(at, 1);
            let mut answer = Picks::new();
            let taken = match (&self.inner, &mut *s) {
                (FlatOrTree::Flat(store), Asking::Flat(s)) => store.offer(s, one, 0, &mut answer),
                (FlatOrTree::Tree(store), Asking::Tree(s)) => store.offer(s, one, 0, &mut answer),
                _ => unreachable!("the scratch of another set"),
            };
            if taken == 0 {
                self.room.fetch_add(1, Relaxed);
                return at;
            }
            if !answer.is_empty() {
                fresh.push(at as u32);
                self.list.lock().unwrap().push(new.state(at).to_vec());
            }
        }
        new.len()
    }

    fn contains(&self, state: &[u64]) -> bool {
        match &self.inner {
            FlatOrTree::Flat(store) => store.contains(state),
            FlatOrTree::Tree(store) => store.contains(state),
        }
    }

    fn each(&self, each: &mut dyn FnMut(&[u64])) -> bool {
        self.list.lock().unwrap().iter().for_each(|state| each(state));
        true
    }

    fn grow_if_needed(&mut self, expected: u64) -> Result<(), Exhausted> {
        match (*self.room.get_mut(), &mut self.inner) {
            (0, _) => Err(Exhausted::Memory { limit: 0 }),
            (_, FlatOrTree::Flat(store)) => store.grow_if_needed(expected),
            (_, FlatOrTree::Tree(store)) => store.grow_if_needed(expected),
        }
    }

    fn bytes(&self) -> u64 {
        0
    }
}

#[derive(Clone, Debug)]
struct Setup {
    threads: usize,
    in_order: u64,
    room: u64,
    lately: u64,
    candidates: u64,
    at_once: bool,
    forget_offered: bool,
}

fn setups() -> impl Strategy<Value = Setup> {
    let bytes = prop_oneof![Just(1u64), Just(1 << 17), Just(1 << 30)];
    (1..4usize, 0..20u64, 0..30u64, 1..12u64, bytes, any::<(bool, bool)>()).prop_map(
        |(threads, in_order, room, lately, candidates, (at_once, forget_offered))| Setup {
            threads,
            in_order,
            room,
            lately,
            candidates,
            at_once,
            forget_offered,
        },
    )
}

/// When the first phase ends is part of what a search is, not of how it is run.
fn pieces_in_order(model: &Model) -> u64 {
    (model.acts.len() / 2) as u64
}

fn team(setup: &Setup) -> Team {
    Team {
        threads: setup.threads,
        in_order: setup.in_order,
        narrow: setup.in_order % 3,
        worth: Duration::ZERO,
        ahead: true,
    }
}

fn overflow<'a>(
    setup: &Setup,
    shape: Shape,
    archive: Plain,
    dir: Dir,
) -> Overflow<'a, Small, Plain> {
    let lately = setup.lately;
    let make = move || Small::new(shape, lately);
    Overflow {
        open: Box::new(move || Ok(Opened { lately: Box::new(make), archive, dir })),
        memory: u64::MAX,
        candidates: setup.candidates,
        frontier: 0,
        at_once: setup.at_once,
    }
}

fn on_disk(model: &Model, setup: &Setup, limits: &Limits, archive: Plain, dir: Dir) -> Outcome {
    let shape = model.shape();
    let mut store = Small::new(shape, setup.room);
    let mut queue = MemoryQueue::new(shape);
    let overflow = Some(overflow(setup, shape, archive, dir));
    let (team, observer) = (team(setup), &mut Unobserved);
    let plan = Plan { overflow, ..Plan::default() };
    overflowing(model, &mut store, &mut queue, plan, &team, limits, observer)
}

fn in_memory(model: &Model, setup: &Setup, limits: &Limits) -> Outcome {
    let mut store = Small::new(model.shape(), u64::MAX);
    let mut queue = MemoryQueue::new(model.shape());
    let in_order = if setup.at_once { 0 } else { setup.in_order };
    let team = Team { in_order, ..team(setup) };
    pbfs(model, &mut store, &mut queue, &team, limits, &mut Unobserved)
}

fn temporary() -> Dir {
    Dir::fresh(&std::env::temp_dir()).unwrap()
}

fn fixed(outcome: &Outcome) -> impl PartialEq + std::fmt::Debug + use<> {
    let stats = &outcome.stats;
    let findings: Vec<_> = outcome.findings.iter().map(|f| (f.kind, f.depth)).collect();
    let fresh: u64 = stats.fresh.iter().sum();
    (
        outcome.ending.clone(),
        (stats.states, stats.transitions, stats.depth, stats.max_frontier),
        (stats.levels.clone(), stats.fired.clone(), fresh, outcome.goals.clone()),
        findings,
    )
}

fn check_paths(model: &Model, outcome: &Outcome) {
    for finding in &outcome.findings {
        let (node, fault) = model.replay(&finding.path);
        match finding.kind {
            ViolationKind::Property(p) => assert_eq!(model.bad[&node.expect("a state")], p),
            ViolationKind::Fault(f) => assert_eq!(fault, Some(f.site)),
            ViolationKind::Deadlock => {
                assert!(model.acts[node.expect("a state") as usize].is_empty());
            }
        }
    }
}

/// Runs piece by piece: stopped after so many looks, saved, and resumed with another setup.
fn in_pieces(model: &Model, setups: &[Setup], limits: &Limits, looks: u64) -> (Outcome, usize) {
    let shape = model.shape();
    let mut last: Option<Dir> = None;
    let mut pieces = 0;
    loop {
        let setup = &setups[pieces % setups.len()];
        let mut store = Small::new(shape, setup.room);
        let mut queue = MemoryQueue::new(shape);
        let resume = last.as_ref().map(|dir| Resume::open(dir).unwrap());
        let mut archive = Plain::default();
        if let Some(dir) = last.as_ref().filter(|_| resume.as_ref().unwrap().archive().is_some()) {
            assert_eq!(resume.as_ref().unwrap().archive(), Some(&[1, 2, 3][..]));
            let text = std::fs::read_to_string(dir.path().join("plain")).unwrap();
            for line in text.lines() {
                let words = line.trim_matches(['[', ']']).split(", ");
                let state: Vec<u64> = words.map(|word| word.parse().unwrap()).collect();
                archive.ever.insert(state.clone());
                archive.seen.insert(state);
            }
        }
        let mut keeper = Keeper::new(Arc::new(Real), 7);
        let plan = Plan {
            overflow: Some(overflow(setup, shape, archive, temporary())),
            saver: Some(&mut keeper),
            resume,
        };
        let mut left = looks;
        let mut observer = |_: &Progress| {
            left = left.saturating_sub(1);
            if left == 0 { Control::Stop(Reason::Interrupted) } else { Control::Continue }
        };
        let team = team(setup);
        let outcome =
            overflowing(model, &mut store, &mut queue, plan, &team, limits, &mut observer);
        assert_eq!(keeper.failed, Vec::<String>::new());
        if outcome.ending != Ending::Stopped(Reason::Interrupted) {
            return (outcome, pieces);
        }
        if !outcome.findings.is_empty() && keeper.last.is_none() {
            return (outcome, pieces);
        }
        last = Some(keeper.last.expect("a stopped run is saved"));
        pieces += 1;
        assert!(pieces < 10_000, "it never ends");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_changes_on_disk(model in models(false), limits in small_limits(), setup in setups()) {
        let expected = in_memory(&model, &setup, &limits);
        let archive = Plain { forget_offered: setup.forget_offered, ..Plain::default() };
        let outcome = on_disk(&model, &setup, &limits, archive, temporary());
        prop_assert_eq!(fixed(&outcome), fixed(&expected));
    }

    #[test]
    fn an_archive_that_forgets_loses_nothing(model in models(false), limits in small_limits(),
                                             setup in setups(), most in 1..10usize) {
        let expected = in_memory(&model, &setup, &limits);
        let archive = Plain { at_most: Some(most), ..Plain::default() };
        let outcome = on_disk(&model, &setup, &limits, archive, temporary());
        prop_assert_eq!(&outcome.ending, &Ending::Complete);
        prop_assert!(outcome.stats.states >= expected.stats.states);
        prop_assert!(outcome.stats.transitions >= expected.stats.transitions);
    }

    #[test]
    fn violations_have_paths(model in models(true), limits in small_limits(), setup in setups()) {
        let limits = Limits { traces: true, ..limits };
        // When the first phase ends early, it stops at other counts; what is wrong is found anyway.
        let expected = in_memory(&model, &setup, &limits);
        let outcome = on_disk(&model, &setup, &limits, Plain::default(), temporary());
        prop_assert_eq!(outcome.findings.len(), expected.findings.len());
        check_paths(&model, &outcome);
    }

    #[test]
    fn a_run_in_pieces_is_one_run(model in models(false), limits in small_limits(),
                                  mut pieces in prop::collection::vec(setups(), 1..4),
                                  looks in 1..6u64) {
        pieces.iter_mut().for_each(|setup| setup.in_order = pieces_in_order(&model));
        let expected = in_memory(&model, &Setup { at_once: false, ..pieces[0].clone() }, &limits);
        let (outcome, _) = in_pieces(&model, &pieces, &limits, looks);
        prop_assert_eq!(fixed(&outcome), fixed(&expected));
    }

    #[test]
    fn violations_are_found_in_pieces(model in models(true), limits in small_limits(),
                                      pieces in prop::collection::vec(setups(), 1..4),
                                      looks in 1..6u64, max_errors in 1..4usize) {
        let limits = Limits { traces: true, max_errors, ..limits };
        let (outcome, _) = in_pieces(&model, &pieces, &limits, looks);
        let expected = in_memory(&model, &pieces[0], &limits);
        prop_assert_eq!(outcome.findings.is_empty(), expected.findings.is_empty());
        check_paths(&model, &outcome);
    }

    #[test]
    fn a_cache_hands_over(model in models(false), limits in small_limits(), setup in setups(),
                          most in 0..30u64) {
        let expected = in_memory(&model, &Setup { at_once: true, ..setup.clone() }, &limits);
        let shape = model.shape();
        let mut cache = ExactStore::new(shape, None);
        let mut store = Small::new(shape, 0);
        let mut queue = MemoryQueue::new(shape);
        let setup = Setup { at_once: true, ..setup };
        let outcome = serial(
            &model,
            &mut cache,
            |cache| cache.coverage().states >= most,
            &mut store,
            &mut queue,
            |cache| {
                let mut archive = Plain::default();
                for number in 0..cache.coverage().states {
                    let mut state = vec![0; shape.words];
                    ergodic_system::Numbered::fetch(cache, number, &mut state);
                    archive.ever.insert(state.clone());
                    archive.seen.insert(state);
                }
                overflow(&setup, shape, archive, temporary())
            },
            Keep::default(),
            &team(&setup),
            &limits,
            &mut Unobserved,
        );
        prop_assert_eq!(fixed(&outcome), fixed(&expected));
    }

    #[test]
    fn a_failing_disk_ends_the_search_with_a_reason(model in models(false), setup in setups(),
                                                    number in 0..40u64, reads in any::<bool>()) {
        let limits = Limits::default();
        let expected = in_memory(&model, &setup, &limits);
        let fault = if reads { Fault::FlipOnRead(number) } else { Fault::FailWrite(number) };
        let dir = Dir::fresh_on(Arc::new(Faulty::new(fault)), &std::env::temp_dir()).unwrap();
        let outcome = on_disk(&model, &setup, &limits, Plain::default(), dir);
        match &outcome.ending {
            Ending::Stopped(reason) => prop_assert!(reason.to_string().contains("ergodic-")),
            _ => prop_assert_eq!(fixed(&outcome), fixed(&expected)),
        }
    }
}
