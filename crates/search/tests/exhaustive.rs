//! Breadth first and depth first against an oracle, for all sizes of batches and blocks.

mod common;

use common::{Model, Oracle, models, run_bfs, run_dfs, small_limits, summary};
use ergodic_search::{Finding, Limits};
use ergodic_system::ViolationKind;
use proptest::prelude::*;

/// The path must lead to what it claims to show.
fn check_path(model: &Model, finding: &Finding, shortest: Option<u64>) {
    let (node, fault) = model.replay(&finding.path);
    let steps = finding.path.len() as u64 - 1;
    match finding.kind {
        ViolationKind::Property(p) => {
            assert_eq!(model.bad[&node.expect("a state")], p);
            assert_eq!((fault, steps), (None, finding.depth));
        }
        ViolationKind::Fault(f) => {
            assert_eq!(fault, Some(f.site));
            assert_eq!(steps, finding.depth + u64::from(node.is_some()));
        }
        ViolationKind::Deadlock => {
            assert!(model.acts[node.expect("a state") as usize].is_empty());
            assert_eq!(steps, finding.depth);
        }
    }
    if let (Some(shortest), Some(_)) = (shortest, node) {
        assert_eq!(finding.depth, shortest);
    }
}

fn both_agree(model: &Model, limits: &Limits) -> Result<(), TestCaseError> {
    let (expected, depths) = Oracle::run(model, limits, false);
    let outcome = run_bfs(model, limits);
    prop_assert_eq!(summary(&outcome), expected);
    prop_assert_eq!(outcome.stats.levels.iter().sum::<u64>(), outcome.stats.states);
    let deep = run_dfs(model, limits);
    let (expected, _) = Oracle::run(model, limits, true);
    prop_assert_eq!(summary(&deep), expected);
    for (outcome, breadth) in [(&outcome, true), (&deep, false)] {
        for finding in &outcome.findings {
            if limits.traces {
                let node = model.replay(&finding.path).0;
                let shortest = node.filter(|_| breadth).map(|n| depths[&n]);
                check_path(model, finding, shortest);
            } else {
                prop_assert!(finding.path.is_empty());
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn first_violation(model in models(true), limits in small_limits()) {
        both_agree(&model, &limits)?;
    }

    #[test]
    fn several_violations(model in models(true), limits in small_limits(), max_errors in 2..9usize) {
        both_agree(&model, &Limits { max_errors, ..limits })?;
    }

    #[test]
    fn bounded(model in models(true), limits in small_limits(),
               max_states in prop::option::of(0..30u64), max_depth in prop::option::of(0..8u64),
               max_errors in 1..4usize) {
        both_agree(&model, &Limits { max_states, max_depth, max_errors, ..limits })?;
    }

    #[test]
    fn full_exploration(model in models(false), limits in small_limits()) {
        both_agree(&model, &limits)?;
        let (wide, deep) = (run_bfs(&model, &limits), run_dfs(&model, &limits));
        prop_assert_eq!(wide.stats.states, deep.stats.states);
        prop_assert_eq!(wide.stats.transitions, deep.stats.transitions);
        prop_assert_eq!(&wide.goals, &vec![wide.stats.states; usize::from(model.goal)]);
        prop_assert_eq!(&deep.goals, &wide.goals);
        // Every state of the parent log is reached by the shortest path.
        let (_, depths) = Oracle::run(&model, &limits, false);
        for number in 0..wide.parents.as_ref().map_or(0, |log| log.len()) {
            let path = wide.parents.as_ref().expect("a log").path(number);
            let node = model.replay(&path).0.expect("a state");
            prop_assert_eq!(path.len() as u64 - 1, depths[&node]);
        }
    }
}
