//! Liveness and graph output against brute force.

mod common;

use common::{Act, Model, Oracle, models, small_limits};
use ergodic_queue::memory::MemoryQueue;
use ergodic_search::{
    Control, Ending, Limits, LiveAnswer, Outcome, Progress, Sink, Unobserved, bfs, graph, liveness,
};
use ergodic_store::exact::ExactStore;
use ergodic_system::{Label, Reason, System};
use proptest::prelude::*;
use std::collections::HashSet;

fn explore(model: &Model, limits: &Limits) -> (ExactStore, Outcome) {
    let mut store = ExactStore::new(model.shape(), None);
    let mut queue = MemoryQueue::new(model.shape());
    let outcome = bfs(model, &mut store, &mut queue, limits, &mut Unobserved);
    (store, outcome)
}

fn successors(model: &Model, node: u32) -> impl Iterator<Item = u32> {
    model.acts[node as usize].iter().map(|act| match act {
        Act::Go { to, .. } => *to,
        Act::Fault { .. } => unreachable!("these models do not fault"),
    })
}

/// Whether a satisfying node can be reached, by a search from the node.
fn can_reach(model: &Model, from: u32, goal: &[u32]) -> bool {
    let (mut seen, mut todo) = (HashSet::from([from]), vec![from]);
    while let Some(node) = todo.pop() {
        if goal.contains(&node) {
            return true;
        }
        todo.extend(successors(model, node).filter(|next| seen.insert(*next)));
    }
    false
}

#[derive(Default)]
struct Collected {
    nodes: Vec<(u32, bool)>,
    edges: Vec<(u64, u64, Label)>,
}

impl Sink for Collected {
    fn node(&mut self, number: u64, state: &[u64], initial: bool) -> Control {
        assert_eq!(number, self.nodes.len() as u64);
        self.nodes.push((state[0] as u32, initial));
        Control::Continue
    }

    fn edge(&mut self, from: u64, to: u64, label: Label) -> Control {
        assert_eq!(from + 1, self.nodes.len() as u64);
        self.edges.push((from, to, label));
        Control::Continue
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn liveness_is_brute_force_reachability(model in models(false), limits in small_limits()) {
        let limits = Limits { traces: true, ..limits };
        let (store, found) = explore(&model, &limits);
        let outcome = liveness(&model, &store, &limits, &mut Unobserved);
        prop_assert_eq!(&outcome.ending, &Ending::Complete);
        prop_assert_eq!(outcome.answers.len(), model.live.len());
        for (goal, answer) in model.live.iter().zip(&outcome.answers) {
            let stuck = store.states().position(|s| !can_reach(&model, s[0] as u32, goal));
            let expected = stuck.map_or(LiveAnswer::Holds, |n| LiveAnswer::Fails { state: n as u64 });
            prop_assert_eq!(*answer, expected);
            if let LiveAnswer::Fails { state } = *answer {
                let path = found.parents.as_ref().expect("traces").path(state);
                let node = model.replay(&path).0.expect("a state");
                prop_assert_eq!(model.encode(node), store.state(state));
            }
        }
    }

    #[test]
    fn the_graph_has_all_nodes_and_edges(model in models(false), limits in small_limits()) {
        let (store, found) = explore(&model, &limits);
        let mut all = Collected::default();
        let ending = graph(&model, &store, &limits, &mut Unobserved, &mut all);
        prop_assert_eq!(ending, Ending::Complete);
        prop_assert_eq!(all.nodes.len() as u64, found.stats.states);
        prop_assert_eq!(all.edges.len() as u64, found.stats.transitions);
        let (_, depths) = Oracle::run(&model, &limits, false);
        for (node, initial) in &all.nodes {
            prop_assert_eq!(*initial, depths[node] == 0);
        }
        for (from, to, label) in &all.edges {
            let (from, to) = (all.nodes[*from as usize].0, all.nodes[*to as usize].0);
            let at = (label.0 % 64) as usize;
            prop_assert_eq!(*label, model.label(Some(from), at));
            prop_assert_eq!(successors(&model, from).nth(at), Some(to));
        }
    }
}

/// 0 → 1 → … → n → 0, with the goal in the middle: the way there wraps round.
fn ring(nodes: u32) -> Model {
    let acts = (0..nodes).map(|i| vec![Act::Go { rule: 0, to: (i + 1) % nodes }]).collect();
    let starts = vec![Act::Go { rule: 0, to: 0 }];
    Model { width: 1, starts, acts, live: vec![vec![nodes / 2], vec![]], ..Model::default() }
}

#[test]
fn few_sweeps_suffice_on_a_ring() {
    let (model, limits) = (ring(10_000), Limits::default());
    let (store, _) = explore(&model, &limits);
    let outcome = liveness(&model, &store, &limits, &mut Unobserved);
    assert_eq!(outcome.answers, [LiveAnswer::Holds, LiveAnswer::Fails { state: 0 }]);
    assert!(outcome.sweeps <= 4, "{} sweeps", outcome.sweeps);
    assert!(outcome.bytes < 2 * 10_000 / 8 + 16);
}

#[test]
fn a_stopped_check_does_not_guess() {
    let (model, limits) = (ring(10_000), Limits::default());
    let (store, _) = explore(&model, &limits);
    let mut stop = |p: &Progress| match p.depth {
        0 => Control::Continue,
        _ => Control::Stop(Reason::Interrupted),
    };
    let outcome = liveness(&model, &store, &limits, &mut stop);
    assert_eq!(outcome.ending, Ending::Stopped(Reason::Interrupted));
    assert_eq!(outcome.answers, [LiveAnswer::Unknown; 2]);
}
