//! Path compression against brute force: every state is still judged, verdicts stay, and the paths of
//! counterexamples can be walked step by step.

mod commands;

use commands::{Random, Recorded, random_system, reachable};
use ergodic_queue::MemoryQueue;
use ergodic_search::{Compressed, Ending, Limits, Outcome, Team, Unobserved, bfs, pbfs};
use ergodic_store::FlatStore;
use ergodic_system::toy::{Command, Commands, Update};
use ergodic_system::{Label, Sole, System, ViolationKind};
use std::sync::Mutex;
use std::time::Duration;

/// Breadth first, in order or with threads.
fn run(system: &impl System, threads: usize, batch: usize) -> Outcome {
    let mut store = FlatStore::new(system.shape(), None);
    let mut queue = MemoryQueue::new(system.shape());
    let limits = Limits { batch, block: 3, ..Limits::default() };
    if threads == 0 {
        return bfs(system, &mut Sole::new(&mut store), &mut queue, &limits, &mut Unobserved);
    }
    let team = Team { threads, in_order: 3, narrow: 0, worth: Duration::ZERO, ahead: false };
    pbfs(system, &mut store, &mut queue, &team, &limits, &mut Unobserved)
}

/// Where a path leads, if every step of it is enabled.
fn walked(system: &Commands, path: &[Label]) -> Option<u64> {
    assert_eq!(path.first(), Some(&Label(0)));
    path[1..].iter().try_fold(0, |state, label| system.fire(label.0 as usize - 1, state))
}

fn enabled(system: &Commands, state: u64) -> bool {
    (0..system.commands.len()).any(|command| system.fire(command, state).is_some())
}

/// Commands that move one counter round in a circle, and others that come in from the side: much to
/// compress.
fn chains(seed: u64) -> Commands {
    let mut random = Random(seed);
    let mut commands = Vec::new();
    for value in 0..12u64 {
        if random.below(8) > 0 {
            let to = if random.below(6) == 0 { random.below(12) } else { (value + 1) % 12 };
            commands.push(Command { when: vec![(0, value)], then: vec![(0, Update::Value(to))] });
        }
        if random.below(4) == 0 {
            let then =
                vec![(0, Update::Value(random.below(12))), (1, Update::Value(random.below(3)))];
            commands.push(Command { when: vec![(0, value), (1, random.below(3))], then });
        }
    }
    Commands { variables: 2, commands, ..Commands::default() }
}

#[test]
fn every_state_is_judged() {
    let (mut all, mut stored) = (0, 0);
    for seed in 0..3000 {
        let system = if seed % 3 == 0 { random_system(seed) } else { chains(seed) };
        let (states, _) = reachable(&system);
        for (threads, batch) in [(0, 5), (1, 1), (2, 2)] {
            let recorded = Recorded { system: &system, judged: Mutex::default() };
            let compressed = Compressed::new(recorded);
            let outcome = run(&compressed, threads, batch);
            assert_eq!(outcome.ending, Ending::Complete);
            let judged = compressed.inner().judged.lock().expect("nobody panicked");
            assert_eq!(*judged, states, "seed {seed}");
            assert!(outcome.stats.states <= states.len() as u64);
            assert!(outcome.stats.states + compressed.passed() >= states.len() as u64);
            (all, stored) = (all + states.len() as u64, stored + outcome.stats.states);
        }
    }
    assert!(stored * 4 < all * 3, "{stored} of {all} states are stored");
}

#[test]
fn what_is_wrong_is_found_and_its_path_can_be_walked() {
    let mut found = [0; 2];
    for seed in 0..4000 {
        let mut system = if seed % 3 == 0 { random_system(seed) } else { chains(seed) };
        let (states, _) = reachable(&system);
        let mut sorted: Vec<u64> = states.iter().copied().collect();
        sorted.sort_unstable();
        if seed % 2 == 0 {
            let state = sorted[seed as usize % sorted.len()];
            let value = |variable| (variable, Commands::get(state, variable));
            system.bad = Some((0..system.variables).map(value).collect());
        }
        system.deadlocks = seed % 4 != 0;
        let plain = run(&system, 0, 7);
        for threads in [0, 2] {
            let compressed = Compressed::new(system.clone());
            let outcome = run(&compressed, threads, 7);
            assert_eq!(outcome.findings.is_empty(), plain.findings.is_empty(), "seed {seed}");
            for finding in &outcome.findings {
                let path = compressed.full_path(&finding.path, finding.kind);
                let end = walked(&system, &path).expect("a path that can be walked");
                match finding.kind {
                    ViolationKind::Property(_) => assert!(system.is_bad(end), "seed {seed}"),
                    _ => assert!(!enabled(&system, end), "seed {seed}"),
                }
                found[usize::from(finding.kind == ViolationKind::Deadlock)] += 1;
            }
        }
    }
    assert!(found.iter().all(|count| *count > 500), "{found:?}");
}
