//! Sleep sets against brute force: no state is lost, and none is found too late, on many small systems
//! of guarded commands; and a search that lacks one of the tests it needs is caught.

mod commands;

use commands::{Recorded, random_system, reachable};
use ergodic_queue::{DiskPile, MemoryQueue};
use ergodic_search::{
    Ending, Limits, Outcome, SleepPlan, SleepRule, Sleeping, StackTest, Team, Unobserved, bfs,
    pbfs, sleep_dfs,
};
use ergodic_store::{FlatStore, LedgerOptions, LedgerStore, Oust};
use ergodic_system::{Exhausted, Independence, Sole, System};
use std::sync::Mutex;
use std::time::Duration;

/// Systems per test; the heavy run asks for more.
fn systems(few: u64) -> u64 {
    let asked = std::env::var("ERGODIC_SLEEP_SYSTEMS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(few)
}

fn run_dfs(
    system: &impl System,
    independence: &Independence,
    rule: SleepRule,
    without: Option<StackTest>,
    cache: u64,
) -> Outcome {
    let note_words = if rule == SleepRule::Stored { independence.words() } else { 0 };
    let options = LedgerOptions { states: cache, note_words, oust: Oust::Random, seed: 1 };
    let mut ledger = LedgerStore::new(system.shape(), options);
    let mut pile = DiskPile::new(1 << 20, || Err(Exhausted::Other("no disk".into())));
    let plan = SleepPlan { rule, independence, kinds: &[], without };
    let limits = Limits { batch: 3, max_states: Some(100_000), ..Limits::default() };
    sleep_dfs(system, &mut ledger, &mut pile, plan, &limits, &mut Unobserved)
}

#[test]
fn breadth_first_finds_every_state_at_its_depth() {
    let (mut plain, mut awake) = (0, 0);
    for seed in 0..systems(3000) {
        let system = random_system(seed);
        let (states, levels) = reachable(&system);
        let limits = Limits { batch: 5, block: 3, ..Limits::default() };
        let run = |sleeping: bool, threads: usize| {
            let mut store = FlatStore::new(system.shape(), None);
            let mut queue = MemoryQueue::new(system.shape());
            let relation = match sleeping {
                true => system.independence(),
                false => Independence::none(ergodic_system::Label(1), system.commands.len()),
            };
            let system = Sleeping::new(system.clone(), relation);
            let outcome = if threads == 0 {
                let mut sole = Sole::new(&mut store);
                bfs(&system, &mut sole, &mut queue, &limits, &mut Unobserved)
            } else {
                let team = Team {
                    threads,
                    in_order: seed % 7,
                    narrow: 0,
                    worth: Duration::ZERO,
                    ahead: false,
                };
                pbfs(&system, &mut store, &mut queue, &team, &limits, &mut Unobserved)
            };
            assert_eq!(outcome.ending, Ending::Complete);
            assert_eq!(outcome.stats.levels, levels, "seed {seed}, threads {threads}");
            assert_eq!(outcome.stats.states, states.len() as u64);
            outcome.stats.transitions
        };
        plain += run(false, 0);
        let slept = run(true, 0);
        awake += slept;
        if seed % 8 == 0 {
            run(true, 1);
            run(true, 2);
        }
    }
    assert!(awake * 10 < plain * 9, "{awake} of {plain} transitions are fired");
}

#[test]
fn depth_first_finds_every_state_whatever_is_forgotten() {
    let mut fired = [0; 3];
    for seed in 0..systems(5000) {
        let system = random_system(seed);
        let (states, _) = reachable(&system);
        let independence = system.independence();
        for (i, rule) in
            [SleepRule::Off, SleepRule::Paper, SleepRule::Stored].into_iter().enumerate()
        {
            let outcome = run_dfs(&system, &independence, rule, None, 1 << 20);
            assert_eq!(outcome.ending, Ending::Complete);
            assert_eq!(outcome.stats.states, states.len() as u64, "seed {seed}, {rule:?}");
            fired[i] += outcome.stats.transitions;
            // A cache of the stack and a little more.
            let depth = outcome.stats.depth + 4;
            let recorded = Recorded { system: &system, judged: Mutex::default() };
            let outcome = run_dfs(&recorded, &independence, rule, None, depth);
            // A search with few states in memory can take very long, or a longer stack.
            if outcome.ending == Ending::Complete {
                let judged = recorded.judged.into_inner().expect("nobody panicked");
                assert_eq!(judged, states, "seed {seed}, {rule:?}, cached");
            }
        }
    }
    let [off, paper, stored] = fired;
    assert!(stored < paper && paper < off, "{fired:?}");
}

/// The systems that lose states.
fn losers(test: StackTest, seeds: std::ops::Range<u64>) -> Vec<u64> {
    let loses = |seed: &u64| {
        let system = random_system(*seed);
        let outcome =
            run_dfs(&system, &system.independence(), SleepRule::Paper, Some(test), 1 << 20);
        outcome.stats.states < reachable(&system).0.len() as u64
    };
    seeds.filter(loses).collect()
}

#[test]
fn a_search_without_one_of_its_tests_is_caught() {
    let count = systems(20_000);
    let backtracked = losers(StackTest::Backtracked, 0..count);
    let asleep = losers(StackTest::Asleep, 0..count);
    // Line 11 is needed by one system in 250,000: this is the first of these.
    assert_eq!(losers(StackTest::Asleep, 180_580..180_600), [180_588]);
    println!("of {count} systems, these lose states without line 21: {backtracked:?}");
    println!("and these without line 11: {asleep:?}");
    assert!(!backtracked.is_empty());
}
