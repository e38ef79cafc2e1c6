//! The parallel search against the sequential one and the oracle: random models, tiny tables, one,
//! two and four threads, everything forced through the second phase.

mod common;

use common::{Model, Oracle, models, run_bfs, small_limits, summary};
use ergodic_queue::MemoryQueue;
use ergodic_search::{Control, Ending, Limits, Outcome, Progress, Team, Unobserved, bfs, pbfs};
use ergodic_store::{ExactStore, FlatStore, TreeStore};
use ergodic_system::toy::Graph;
use ergodic_system::{
    Batch, Block, Cursor, Label, Picks, Reason, Shape, Step, System, Violation, ViolationKind,
};
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// Everybody is woken for everything, after so many states.
fn eager(threads: usize, in_order: u64) -> Team {
    Team { threads, in_order, narrow: in_order % 4, worth: Duration::ZERO, ahead: true }
}

fn run<S: System>(system: &S, team: &Team, limits: &Limits) -> Outcome {
    let mut queue = MemoryQueue::new(system.shape());
    if FlatStore::fits(system.shape()) {
        let mut store = FlatStore::new(system.shape(), None);
        pbfs(system, &mut store, &mut queue, team, limits, &mut Unobserved)
    } else {
        let mut store = TreeStore::new(system.shape(), None);
        pbfs(system, &mut store, &mut queue, team, limits, &mut Unobserved)
    }
}

/// What must not depend on threads and time.
fn fixed(outcome: &Outcome) -> impl PartialEq + std::fmt::Debug + use<> {
    let stats = &outcome.stats;
    let findings: Vec<_> = outcome.findings.iter().map(|f| (f.kind, f.depth)).collect();
    let fresh: u64 = stats.fresh.iter().sum();
    (
        outcome.ending.clone(),
        (stats.states, stats.transitions, stats.depth, stats.max_frontier),
        stats.levels.clone(),
        (stats.fired.clone(), fresh, outcome.goals.clone()),
        findings,
    )
}

fn check_paths(model: &Model, outcome: &Outcome) {
    for finding in &outcome.findings {
        let (node, fault) = model.replay(&finding.path);
        let steps = finding.path.len() as u64 - 1;
        match finding.kind {
            ViolationKind::Property(p) => {
                assert_eq!(model.bad[&node.expect("a state")], p);
                assert_eq!((fault, steps), (None, finding.depth));
            }
            ViolationKind::Fault(f) => assert_eq!(fault, Some(f.site)),
            ViolationKind::Deadlock => {
                assert!(model.acts[node.expect("a state") as usize].is_empty());
                assert_eq!(steps, finding.depth);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn full_explorations_are_those_of_one_thread(model in models(false), limits in small_limits(),
                                                 in_order in 0..20u64) {
        let expected = run_bfs(&model, &limits);
        for threads in [1, 2, 4] {
            let outcome = run(&model, &eager(threads, in_order), &limits);
            prop_assert_eq!(fixed(&outcome), fixed(&expected));
        }
    }

    #[test]
    fn violations_are_the_same_for_all_threads(model in models(true), limits in small_limits(),
                                               in_order in 0..20u64, max_errors in 1..4usize) {
        let limits = Limits { max_errors, traces: true, ..limits };
        let expected = run(&model, &eager(1, in_order), &limits);
        check_paths(&model, &expected);
        for threads in [2, 4] {
            let outcome = run(&model, &eager(threads, in_order), &limits);
            prop_assert_eq!(fixed(&outcome), fixed(&expected));
            check_paths(&model, &outcome);
        }
        // A verdict and a depth are those of the sequential search, too.
        let sequential = run_bfs(&model, &limits);
        prop_assert_eq!(sequential.findings.is_empty(), expected.findings.is_empty());
        if max_errors == 1 && let (Some(a), Some(b)) = (sequential.findings.first(), expected.findings.first()) {
            prop_assert!(a.depth.abs_diff(b.depth) <= 1);
        }
    }

    /// A search in haste that is confirmed has the results of one that is not in haste.
    #[test]
    fn haste_changes_nothing_that_is_confirmed(model in models(true), limits in small_limits(),
                                               in_order in 0..40u64, max_errors in 1..4usize,
                                               threads in 1..4usize) {
        let limits = Limits { max_errors, ..limits };
        let team = Team { narrow: in_order % 3, ..eager(threads, in_order) };
        let hasty = run(&model, &team.in_haste(), &limits);
        let patient = run(&model, &team, &limits);
        let confirmed = team.is_confirmed(&hasty);
        if confirmed {
            prop_assert_eq!(fixed(&hasty), fixed(&patient));
        }
        prop_assert!(confirmed || !hasty.findings.is_empty());
        prop_assert_eq!(hasty.findings.is_empty(), patient.findings.is_empty());
    }

    #[test]
    fn the_first_phase_is_the_sequential_search(model in models(true), limits in small_limits(),
                                                max_states in prop::option::of(0..30u64)) {
        let limits = Limits { max_states, ..limits };
        let (expected, _) = Oracle::run(&model, &limits, false);
        prop_assert_eq!(summary(&run(&model, &Team::of(2), &limits)), expected);
    }

    #[test]
    fn helpers_change_nothing_in_the_first_phase(model in models(true), limits in small_limits(),
                                                 max_states in prop::option::of(0..30u64),
                                                 max_errors in 1..4usize, threads in 2..5usize) {
        let limits = Limits { max_states, max_errors, ..limits };
        let (expected, _) = Oracle::run(&model, &limits, false);
        let outcome = run(&model, &eager(threads, u64::MAX), &limits);
        prop_assert_eq!(summary(&outcome), expected);
        let alone = run(&model, &eager(1, u64::MAX), &limits);
        prop_assert_eq!(outcome.goals, alone.goals);
        prop_assert_eq!(outcome.findings, alone.findings);
    }

    #[test]
    fn depth_limits_cut_alike(model in models(false), limits in small_limits(), depth in 0..8u64) {
        let limits = Limits { max_depth: Some(depth), ..limits };
        let expected = run_bfs(&model, &limits);
        prop_assert_eq!(fixed(&run(&model, &eager(3, 0), &limits)), fixed(&expected));
    }
}

/// A random graph over states of `words` words, made on the fly: every state has `ways` successors.
struct Random {
    words: usize,
    nodes: u64,
    ways: u64,
    bad: Option<u64>,
    panics_at: Option<u64>,
}

impl Random {
    fn encode(&self, node: u64, out: &mut [u64]) {
        for (i, word) in out.iter_mut().enumerate() {
            *word = (node >> (i * 7)) & 0xff;
        }
        out[0] = node;
    }
}

impl System for Random {
    type Scratch = Vec<u64>;

    fn shape(&self) -> Shape {
        Shape::of_bits(self.words * 64)
    }

    fn scratch(&self) -> Vec<u64> {
        vec![0; self.words]
    }

    fn rules(&self) -> usize {
        self.ways as usize
    }

    fn initial(&self, s: &mut Vec<u64>, _: &mut Cursor, out: &mut Batch) -> Step {
        self.encode(0, s);
        out.push(s, 0, 0, Label(0));
        Step::Done
    }

    fn expand(&self, s: &mut Vec<u64>, src: Block<'_>, at: &mut Cursor, out: &mut Batch) -> Step {
        while at.source < src.len() {
            let node = src.state(at.source)[0];
            assert_ne!(Some(node), self.panics_at, "a wrong turn");
            while at.instance < self.ways {
                if out.is_full() {
                    return Step::Full;
                }
                let way = at.instance;
                let next = (node * self.ways + way + 1)
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                    .rotate_left(17)
                    .wrapping_mul(0xbf58_476d_1ce4_e5b9)
                    % self.nodes;
                self.encode(next, s);
                out.push(s, at.source as u32, way as u32, Label(way as u32));
                at.instance += 1;
            }
            *at = Cursor { source: at.source + 1, ..Cursor::default() };
        }
        Step::Done
    }

    fn judge(
        &self,
        _: &mut Vec<u64>,
        b: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation> {
        while *at < fresh.len() {
            let place = fresh[*at] as usize;
            *at += 1;
            if self.bad.is_some_and(|bad| b.state(place)[0] % bad == bad - 1) {
                let kind = ViolationKind::Property(0);
                return Some(Violation { at: place, label: None, kind });
            }
        }
        None
    }

    fn goals<'s>(&self, _: &'s Vec<u64>) -> &'s [u64] {
        &[]
    }
}

fn random(words: usize, nodes: u64) -> Random {
    Random { words, nodes, ways: 3, bad: None, panics_at: None }
}

#[test]
fn large_random_graphs_while_tables_grow_in_the_middle_of_levels() {
    for words in [1, 2, 5] {
        let system = random(words, 200_000);
        let limits = Limits { batch: 300, ..Limits::default() };
        let mut store = ExactStore::new(system.shape(), None);
        let mut queue = MemoryQueue::new(system.shape());
        let expected = bfs(&system, &mut store, &mut queue, &limits, &mut Unobserved);
        for threads in [1, 2, 4] {
            let outcome = run(&system, &eager(threads, 100), &limits);
            assert_eq!(fixed(&outcome), fixed(&expected));
            assert!(outcome.stats.trace_bytes < 9 * outcome.stats.states + (600 << 10));
        }
    }
}

#[test]
fn twenty_repetitions_give_the_same() {
    let system = Random { bad: Some(30_011), ..random(2, 60_000) };
    let expected = run(&system, &eager(1, 1000), &Limits::default());
    assert_eq!(expected.ending, Ending::Enough);
    for _ in 0..20 {
        let outcome = run(&system, &eager(4, 1000), &Limits::default());
        assert_eq!(fixed(&outcome), fixed(&expected));
        assert_eq!(outcome.findings[0].path.len(), expected.findings[0].path.len());
    }
}

/// Violations before, at and behind the end of the first phase.
#[test]
fn who_helps_makes_no_difference_around_the_end_of_the_first_phase() {
    let limits = Limits { batch: 300, block: 64, ..Limits::default() };
    let (mut first, mut second) = (0, 0);
    for bad in (500..20_000).step_by(311) {
        let system = Random { bad: Some(bad), ..random(2, 40_000) };
        let expected = run(&system, &eager(1, 1000), &limits);
        // In the first phase a violation ends the search before the level is full.
        let in_order = expected.stats.levels.iter().rev().skip(1).sum::<u64>() < 1000;
        *if in_order { &mut first } else { &mut second } += 1;
        for threads in [2, 3] {
            let outcome = run(&system, &eager(threads, 1000), &limits);
            assert_eq!(fixed(&outcome), fixed(&expected), "{bad}");
            if in_order {
                assert_eq!(outcome.stats.fresh, expected.stats.fresh, "{bad}");
                assert_eq!(outcome.findings, expected.findings, "{bad}");
            }
        }
    }
    assert!(first > 5 && second > 5, "{first}, {second}");
}

/// Expands slowly, and knows who did.
struct Slow(Random, std::sync::Mutex<std::collections::HashSet<std::thread::ThreadId>>);

impl System for Slow {
    type Scratch = Vec<u64>;

    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn scratch(&self) -> Vec<u64> {
        self.0.scratch()
    }

    fn rules(&self) -> usize {
        self.0.rules()
    }

    fn initial(&self, s: &mut Vec<u64>, at: &mut Cursor, out: &mut Batch) -> Step {
        self.0.initial(s, at, out)
    }

    fn expand(&self, s: &mut Vec<u64>, src: Block<'_>, at: &mut Cursor, out: &mut Batch) -> Step {
        self.1.lock().unwrap().insert(std::thread::current().id());
        std::thread::sleep(Duration::from_micros(100));
        self.0.expand(s, src, at, out)
    }

    fn judge(
        &self,
        s: &mut Vec<u64>,
        b: Block<'_>,
        f: &Picks,
        at: &mut usize,
    ) -> Option<Violation> {
        self.0.judge(s, b, f, at)
    }

    fn goals<'s>(&self, s: &'s Vec<u64>) -> &'s [u64] {
        self.0.goals(s)
    }
}

#[test]
fn helpers_help_in_the_first_phase_if_they_may() {
    for (ahead, hands) in [(true, 2), (false, 1)] {
        let slow = Slow(random(1, 5_000), std::sync::Mutex::default());
        let team = Team { ahead, ..eager(2, u64::MAX) };
        let outcome = run(&slow, &team, &Limits::default());
        assert_eq!(outcome.ending, Ending::Complete);
        assert_eq!(slow.1.lock().unwrap().len(), hands);
    }
}

#[test]
fn a_panic_of_any_worker_reaches_the_caller() {
    for panics_at in [1_111, 7_777, 40_000] {
        let system = Random { panics_at: Some(panics_at), ..random(1, 50_000) };
        for (threads, in_order) in [(1, 10), (4, 10), (4, u64::MAX)] {
            let attempt = std::panic::catch_unwind(|| {
                run(&system, &eager(threads, in_order), &Limits::default());
            });
            assert!(attempt.is_err());
        }
    }
}

#[test]
fn a_long_chain_pays_no_barriers() {
    let nodes = 300_000u32;
    let next = |i| if i + 1 < nodes { vec![i + 1] } else { vec![] };
    let graph = Graph { edges: (0..nodes).map(next).collect(), ..Graph::default() };
    let team = Team { in_order: 1000, ..Team::of(4) };
    let outcome = run(&graph, &team, &Limits::default());
    assert_eq!((outcome.stats.states, outcome.stats.depth), (300_000, 299_999));
    assert!(outcome.stats.trace_bytes < 10 * 300_000, "{}", outcome.stats.trace_bytes);
}

#[test]
fn limits_stop_the_second_phase() {
    let system = random(1, 1_000_000);
    let over = |outcome: &Outcome, limit: u64| outcome.stats.states - limit;
    for threads in [1, 4] {
        let team = eager(threads, 100);
        let limits = Limits { max_states: Some(50_000), ..Limits::default() };
        let outcome = run(&system, &team, &limits);
        assert_eq!(outcome.ending, Ending::Stopped(Reason::StateLimit(50_000)));
        assert!(over(&outcome, 50_000) <= threads as u64 * 2048);
        let limits = Limits { deadline: Some(Instant::now()), ..Limits::default() };
        let outcome = run(&system, &eager(threads, 0), &limits);
        assert!(matches!(outcome.ending, Ending::Stopped(Reason::TimeLimit(_))));
        let limits = Limits { memory: Some(1 << 20), ..Limits::default() };
        let outcome = run(&system, &team, &limits);
        assert_eq!(outcome.ending, Ending::Stopped(Reason::MemoryLimit(1 << 20)));
        let mut store = FlatStore::new(system.shape(), Some(1 << 20));
        let mut queue = MemoryQueue::new(system.shape());
        let mut calls = 0;
        let mut observer = |p: &Progress| {
            calls += u64::from(p.waiting > 0);
            Control::Continue
        };
        let limits = Limits::default();
        let outcome = pbfs(&system, &mut store, &mut queue, &team, &limits, &mut observer);
        assert_eq!(outcome.ending, Ending::Stopped(Reason::MemoryLimit(1 << 20)));
        assert!(outcome.stats.states > 90_000, "{}", outcome.stats.states);
        // Of several threads only the first one looks, and the others may leave it nothing to do.
        assert!(threads > 1 || calls > 10, "{calls}");
    }
}

#[test]
fn the_state_limit_is_not_reached_by_reaching_it() {
    let graph = Graph::grid(2, 40);
    for (limit, complete) in [(1599, false), (1600, true)] {
        let limits = Limits { max_states: Some(limit), ..Limits::default() };
        let outcome = run(&graph, &eager(2, 10), &limits);
        assert_eq!(outcome.ending == Ending::Complete, complete);
    }
}
