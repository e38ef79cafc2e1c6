//! Graphs with known counts, limits, and extremes.

use ergodic_queue::memory::MemoryQueue;
use ergodic_search::{
    Control, Ending, Limits, Moved, Outcome, Progress, Unobserved, Walk, WalkEnd, bfs, dfs,
};
use ergodic_store::exact::ExactStore;
use ergodic_system::toy::Graph;
use ergodic_system::{
    Assurance, Block, Coverage, Exhausted, Label, Picks, Reason, System, Verdict, ViolationKind,
    Visited,
};
use std::time::{Duration, Instant};

fn wide(graph: &Graph, limits: &Limits) -> Outcome {
    let mut store = ExactStore::new(graph.shape(), None);
    let mut queue = MemoryQueue::new(graph.shape());
    bfs(graph, &mut store, &mut queue, limits, &mut Unobserved)
}

fn deep(graph: &Graph, limits: &Limits) -> Outcome {
    dfs(graph, &mut ExactStore::new(graph.shape(), None), limits, &mut Unobserved)
}

fn line(nodes: u32) -> Graph {
    let next = |i| if i + 1 < nodes { vec![i + 1] } else { vec![] };
    Graph { edges: (0..nodes).map(next).collect(), ..Graph::default() }
}

#[test]
fn grids_have_their_known_counts() {
    for (n, side) in [(1, 10), (2, 30), (3, 17), (4, 8)] {
        let graph = Graph::grid(n, side);
        let states = u64::from(side.pow(n));
        let edges = u64::from(n * (side - 1) * side.pow(n - 1));
        for outcome in [wide(&graph, &Limits::default()), deep(&graph, &Limits::default())] {
            assert_eq!(outcome.ending, Ending::Complete);
            assert_eq!(outcome.stats.states, states);
            assert_eq!(outcome.stats.transitions, edges);
            assert_eq!(outcome.stats.fired, [edges]);
            assert_eq!(outcome.stats.fresh, [states - 1]);
            assert_eq!(outcome.stats.depth, u64::from(n * (side - 1)));
            assert_eq!(outcome.verdict(Assurance::Exact), Verdict::Holds(Assurance::Exact));
        }
    }
    let square = wide(&Graph::grid(2, 4), &Limits::default());
    assert_eq!(square.stats.levels, [1, 2, 3, 4, 3, 2, 1]);
    assert_eq!(square.stats.max_frontier, 4);
}

#[test]
fn counts_stop_at_the_violation_within_a_batch() {
    // Node 5 of a 4 × 4 grid is found third in level 2, by the first of two ways.
    let graph = Graph { bad: vec![5], ..Graph::grid(2, 4) };
    let outcome = wide(&graph, &Limits::default());
    assert_eq!(outcome.ending, Ending::Enough);
    assert_eq!((outcome.stats.states, outcome.stats.transitions), (5, 4));
    assert_eq!(outcome.findings.len(), 1);
    assert_eq!(outcome.findings[0].path, [Label(0), Label(0), Label(1)]);
    assert_eq!(outcome.verdict(Assurance::Exact), Verdict::Violated);
}

#[test]
fn deadlocks_are_found_in_the_last_corner() {
    let graph = Graph { deadlocks: true, ..Graph::grid(2, 5) };
    for outcome in [wide(&graph, &Limits::default()), deep(&graph, &Limits::default())] {
        assert_eq!(outcome.findings[0].kind, ViolationKind::Deadlock);
        assert_eq!(outcome.findings[0].depth, 8);
        assert_eq!(outcome.findings[0].path.len(), 9);
    }
}

#[test]
fn a_million_deep() {
    let graph = line(1_000_000);
    for limits in [Limits::default(), Limits { batch: 1, block: 1, ..Limits::default() }] {
        for outcome in [wide(&graph, &limits), deep(&graph, &limits)] {
            assert_eq!(outcome.ending, Ending::Complete);
            assert_eq!((outcome.stats.states, outcome.stats.depth), (1_000_000, 999_999));
        }
    }
    // Eight bytes per state on the path, with the slack of a growing vector.
    assert!(deep(&graph, &Limits::default()).stats.frontier_bytes < 2 * 8 * 1_048_576);
}

#[test]
fn the_memory_limit_holds_for_store_frontier_and_stack_together() {
    let limits = Limits { memory: Some(4 << 20), ..Limits::default() };
    for outcome in [wide(&line(1_000_000), &limits), deep(&line(1_000_000), &limits)] {
        assert_eq!(outcome.ending, Ending::Stopped(Reason::MemoryLimit(4 << 20)));
        assert!(outcome.stats.states > 10_000);
    }
}

#[test]
fn a_store_that_is_full_ends_the_search_with_what_it_took() {
    let graph = Graph::grid(3, 40);
    let mut store = ExactStore::new(graph.shape(), Some(100_000));
    let mut queue = MemoryQueue::new(graph.shape());
    let outcome = bfs(&graph, &mut store, &mut queue, &Limits::default(), &mut Unobserved);
    assert_eq!(outcome.ending, Ending::Stopped(Reason::MemoryLimit(100_000)));
    assert_eq!(outcome.stats.states, store.len());
    assert!(outcome.stats.store_bytes <= 100_000);
    let reason = Reason::MemoryLimit(100_000);
    assert_eq!(outcome.verdict(Assurance::Exact), Verdict::Incomplete(reason));
}

#[test]
fn the_state_limit_is_exact_and_not_reached_by_reaching_it() {
    let graph = Graph::grid(2, 10);
    for (limit, complete) in [(0, false), (1, false), (57, false), (99, false), (100, true)] {
        let limits = Limits { max_states: Some(limit), ..Limits::default() };
        for outcome in [wide(&graph, &limits), deep(&graph, &limits)] {
            assert_eq!(outcome.stats.states, limit);
            assert_eq!(outcome.ending == Ending::Complete, complete);
        }
    }
}

#[test]
fn the_depth_limit_is_incomplete_only_if_it_cuts() {
    for (limit, states) in [(0, 1), (3, 10), (17, 99), (18, 100)] {
        let limits = Limits { max_depth: Some(limit), ..Limits::default() };
        let outcome = wide(&Graph::grid(2, 10), &limits);
        assert_eq!(outcome.stats.states, states);
        assert_eq!(outcome.ending, Ending::Stopped(Reason::DepthLimit(limit)));
    }
    let limits = Limits { max_depth: Some(19), ..Limits::default() };
    assert_eq!(wide(&Graph::grid(2, 10), &limits).ending, Ending::Complete);
    assert_eq!(deep(&Graph::grid(2, 10), &limits).ending, Ending::Complete);
}

#[test]
fn deadline_and_observer_stop_it() {
    let graph = Graph::grid(2, 500);
    let limits = Limits { deadline: Some(Instant::now()), ..Limits::default() };
    for outcome in [wide(&graph, &limits), deep(&graph, &limits)] {
        assert!(matches!(outcome.ending, Ending::Stopped(Reason::TimeLimit(_))));
        assert!(outcome.stats.states < 10_000);
    }
    let limits =
        Limits { deadline: Some(Instant::now() + Duration::from_secs(3600)), ..Limits::default() };
    let mut last = Progress::default();
    let mut watch = |p: &Progress| {
        assert!(p.states >= last.states && p.transitions >= last.transitions);
        last = *p;
        if p.states < 5_000 { Control::Continue } else { Control::Stop(Reason::Interrupted) }
    };
    let outcome = dfs(&graph, &mut ExactStore::new(graph.shape(), None), &limits, &mut watch);
    assert_eq!(outcome.ending, Ending::Stopped(Reason::Interrupted));
    assert_eq!(outcome.stats.states, last.states);
    assert!(last.bytes > 0 && last.waiting > 0);
}

/// A store that answers only when asked to settle.
struct Late(bool);

impl Visited for Late {
    fn offer(&mut self, _: Block<'_>, fresh: &mut Picks) -> Result<(), Exhausted> {
        fresh.clear();
        Ok(())
    }

    fn settle(&mut self, emit: &mut dyn FnMut(Block<'_>)) -> Result<(), Exhausted> {
        if std::mem::take(&mut self.0) {
            emit(Block::new(&[0, 0], 1, 1));
        }
        Ok(())
    }

    fn coverage(&self) -> Coverage {
        Coverage { states: 0, bytes: 0, omission: 0.0 }
    }
}

#[test]
fn a_late_store_is_no_silent_loss() {
    let graph = line(3);
    let mut queue = MemoryQueue::new(graph.shape());
    let outcome = bfs(&graph, &mut Late(true), &mut queue, &Limits::default(), &mut Unobserved);
    assert!(matches!(outcome.ending, Ending::Stopped(Reason::Exhausted(_))));
    let outcome = dfs(&graph, &mut Late(true), &Limits::default(), &mut Unobserved);
    assert!(matches!(outcome.ending, Ending::Stopped(Reason::Exhausted(_))));
}

#[test]
fn walks_are_repeatable_and_end_where_they_must() {
    let graph = Graph::grid(3, 6);
    let trail = |seed| {
        let mut walk = Walk::new(&graph, seed, 2);
        let mut nodes = Vec::new();
        assert_eq!(walk.run(1000, |_, state| nodes.push(state[0])), Some(WalkEnd::Stuck));
        assert_eq!(walk.path().len(), nodes.len());
        nodes
    };
    assert_eq!(trail(1), trail(1));
    assert_ne!(trail(1), trail(2));
    assert_eq!(trail(3).len(), 16);
    assert_eq!(trail(3).last(), Some(&215));

    let mut short = Walk::new(&graph, 5, 64);
    assert_eq!(short.run(4, |_, _| ()), None);
    assert_eq!(short.path().len(), 5);
    short.restart();
    assert_eq!(short.advance(), Moved::Step(Label(0)));

    let bad = Graph { bad: vec![3], ..line(10) };
    let mut walk = Walk::new(&bad, 0, 64);
    let mut entered = 0;
    let end = walk.run(100, |_, _| entered += 1);
    assert_eq!(end, Some(WalkEnd::Violated(ViolationKind::Property(0))));
    assert_eq!((entered, walk.state()), (4, &[3][..]));

    let dead = Graph { deadlocks: true, ..line(3) };
    let end = Walk::new(&dead, 0, 1).run(100, |_, _| ());
    assert_eq!(end, Some(WalkEnd::Violated(ViolationKind::Deadlock)));
}

#[test]
fn a_walk_chooses_uniformly_over_full_batches() {
    let star = Graph { edges: vec![(1..=7).collect(), vec![]], ..Graph::default() };
    let mut counts = [0u32; 8];
    let mut walk = Walk::new(&star, 42, 3);
    for _ in 0..7000 {
        walk.restart();
        assert_eq!(walk.run(1, |_, state| counts[state[0] as usize] += 1), None);
    }
    assert!(counts[1..].iter().all(|n| (880..1120).contains(n)), "{counts:?}");
}
