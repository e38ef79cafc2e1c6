//! Stubborn sets against brute force: every deadlock and every violation that there is is found, with
//! fewer states, and the choice does not depend on threads.

mod commands;
mod pieces;

use commands::{Random, Recorded, random_system, reachable};
use ergodic_queue::MemoryQueue;
use ergodic_search::{
    Condition, Limits, Outcome, Plan, Stubborn, StubbornRelations, Team, Truth, Unobserved, bfs,
    dfs, overflowing, pbfs,
};
use ergodic_store::FlatStore;
use ergodic_system::toy::{Command, Commands, Update};
use ergodic_system::{
    Batch, Block, Cursor, NoArchive, PAD_WORDS, Picks, Shape, Sole, Step, System, Violation,
    ViolationKind,
};
use std::sync::Mutex;
use std::time::Duration;

/// What is known about the commands of a system. `vague`: nothing is known about conditions.
fn relations(system: &Commands, vague: bool) -> StubbornRelations {
    let (count, independence) = (system.commands.len(), system.independence());
    let set = |wanted: &dyn Fn(usize) -> bool| {
        vec![(0..count).filter(|b| wanted(*b)).fold(0u64, |set, b| set | 1 << b)]
    };
    let clashes = (0..count).map(|a| set(&|b| b != a && !independence.holds(a, b))).collect();
    let mut enabling = Vec::new();
    let mut conditions = Vec::new();
    for command in &system.commands {
        let condition = |(variable, value): &(u32, u64)| {
            let makes = |b: usize| {
                let then = &system.commands[b].then;
                then.iter().any(|(v, update)| {
                    *v == *variable && !matches!(update, Update::Value(other) if other != value)
                })
            };
            enabling.push(set(&makes));
            let truth = Truth { cells: vec![Commands::cell(*variable)], bits: vec![1 << value] };
            Condition { enabling: enabling.len() as u32 - 1, truth: (!vague).then_some(truth) }
        };
        conditions.push(command.when.iter().map(condition).collect());
    }
    let seen = system.bad.iter().flatten().fold(0u32, |set, (variable, _)| set | 1 << variable);
    let visible = set(&|b| system.writes(b) & seen != 0);
    let numbers = (0..count as u32).collect();
    let goes_on = system.bad.is_some();
    let moving = Vec::new();
    StubbornRelations { first: 1, numbers, clashes, conditions, enabling, visible, goes_on, moving }
}

/// Variables that only grow, now and then waiting for each other: many deadlocks, and much that need not
/// be interleaved.
fn growing(seed: u64) -> Commands {
    let mut random = Random(seed);
    let variables = 3 + random.below(2) as u32;
    let mut commands = Vec::new();
    for variable in 0..variables {
        for value in 0..2 + random.below(2) {
            let mut when = vec![(variable, value)];
            if random.below(3) == 0 {
                when.push((random.below(u64::from(variables)) as u32, random.below(3)));
            }
            let then = vec![(variable, Update::Value(value + 1))];
            commands.push(Command { when, then });
        }
    }
    Commands { variables, commands, ..Commands::default() }
}

fn run(system: &impl System, threads: usize, batch: usize) -> Outcome {
    run_in_blocks(system, threads, batch, 3)
}

fn run_in_blocks(system: &impl System, threads: usize, batch: usize, block: usize) -> Outcome {
    let mut store = FlatStore::new(system.shape(), None);
    let mut queue = MemoryQueue::new(system.shape());
    let limits = Limits { batch, block, ..Limits::default() };
    if threads == 0 {
        return bfs(system, &mut Sole::new(&mut store), &mut queue, &limits, &mut Unobserved);
    }
    let team = Team { threads, in_order: 3, narrow: 0, worth: Duration::ZERO, ahead: false };
    pbfs(system, &mut store, &mut queue, &team, &limits, &mut Unobserved)
}

#[test]
fn every_deadlock_is_found() {
    let (mut all, mut visited, mut stuck) = (0, 0, 0);
    for seed in 0..6000 {
        let system = if seed % 2 == 0 { growing(seed) } else { random_system(seed) };
        let (states, _) = reachable(&system);
        let enabled =
            |state: u64| (0..system.commands.len()).any(|c| system.fire(c, state).is_some());
        let mut counts = Vec::new();
        for (threads, batch) in [(0, 5), (1, 1), (2, 2)] {
            let recorded = Recorded { system: &system, judged: Mutex::default() };
            // Few places on purpose, in one of the runs: states share them.
            let stubborn = Stubborn::new(recorded, relations(&system, seed % 5 == 0), 1 << 14);
            let outcome = run(&stubborn, threads, batch);
            let judged = stubborn.inner().judged.lock().expect("nobody panicked");
            for state in states.iter().filter(|state| !enabled(**state)) {
                assert!(judged.contains(state), "seed {seed} loses the deadlock {state:x}");
                stuck += 1;
            }
            assert!(judged.is_subset(&states));
            counts.push((outcome.stats.states, outcome.stats.transitions, outcome.stats.depth));
            (all, visited) = (all + states.len(), visited + judged.len());
        }
        assert_eq!(counts[1], counts[2], "seed {seed}");
        assert_eq!(counts[0], counts[1], "seed {seed}");
    }
    println!("{visited} of {all} states are visited; {stuck} deadlocks");
    assert!(visited * 10 < all * 9 && stuck > 1000);
}

/// States that have no successors but themselves are found, too, if rules that can lead back to the same state
/// are known; and not if they are not, which shows that there is something to be found out here.
#[test]
fn every_state_that_only_stutters_is_found() {
    let (mut all, mut visited, mut still, mut lost) = (0, 0, 0, 0);
    for seed in 0..4000 {
        let mut system = if seed % 2 == 0 { growing(seed) } else { random_system(seed) };
        let (mut random, variables) = (Random(seed * 3 + 2), u64::from(system.variables));
        for _ in 0..2 {
            let own = (random.below(variables) as u32, random.below(2));
            let then = vec![(own.0, Update::Value(own.1))];
            let other = (random.below(variables) as u32, random.below(2));
            system.commands.push(Command { when: vec![own, other], then });
        }
        let (states, _) = reachable(&system);
        let moves = |c: usize, state: u64| system.fire(c, state).is_some_and(|next| next != state);
        let commands = 0..system.commands.len();
        let stutters = |c: usize| states.iter().any(|s| system.fire(c, *s) == Some(*s));
        let moving = commands.clone().filter(|c| !stutters(*c)).fold(0, |set, c| set | 1 << c);
        for careless in [false, true] {
            let relations = StubbornRelations {
                goes_on: !careless,
                moving: vec![moving],
                ..relations(&system, false)
            };
            let recorded = Recorded { system: &system, judged: Mutex::default() };
            let stubborn = match seed % 4 {
                0 | 1 => Stubborn::new(recorded, relations, 1 << 20),
                _ => Stubborn::depth_first(recorded, relations, 1 << 20),
            };
            if seed % 4 < 2 {
                run(&stubborn, 2, 4)
            } else {
                run_deep(&stubborn)
            };
            let judged = stubborn.inner().judged.lock().expect("nobody panicked");
            let is_still = |s: &&u64| !commands.clone().any(|c| moves(c, **s));
            let missing = states.iter().filter(is_still).filter(|s| !judged.contains(s)).count();
            if careless {
                lost += missing;
            } else {
                assert_eq!(missing, 0, "seed {seed}");
                still += states.iter().filter(is_still).count();
                (all, visited) = (all + states.len(), visited + judged.len());
            }
        }
    }
    println!("{visited} of {all} states are visited; {still} stand still, {lost} would be lost");
    assert!(visited * 10 < all * 9 && still > 1000 && lost > 10);
}

/// A system with a property, and whether it is violated.
fn with_property(seed: u64) -> (Commands, bool) {
    let mut system = if seed.is_multiple_of(2) { growing(seed) } else { random_system(seed) };
    let mut random = Random(seed * 7 + 1);
    let variable = random.below(u64::from(system.variables)) as u32;
    let other = random.below(u64::from(system.variables)) as u32;
    let mut bad = vec![(variable, random.below(3))];
    if random.below(2) == 0 && other != variable {
        bad.push((other, random.below(2)));
    }
    system.bad = Some(bad);
    let violated = reachable(&system).0.iter().any(|state| system.is_bad(*state));
    (system, violated)
}

/// Depth first, in one thread.
fn run_deep(system: &impl System) -> Outcome {
    let mut store = FlatStore::new(system.shape(), None);
    let limits = Limits { batch: 4, ..Limits::default() };
    dfs(system, &mut Sole::new(&mut store), &limits, &mut Unobserved)
}

#[test]
fn every_violation_is_found() {
    let mut found = [0; 2];
    let mut states = [0; 2];
    for seed in 0..20_000 {
        let (system, expected) = with_property(seed);
        let stubborn = Stubborn::new(system.clone(), relations(&system, seed % 5 == 0), 1 << 14);
        let outcome = run(&stubborn, (seed % 3) as usize, 4);
        assert_eq!(!outcome.findings.is_empty(), expected, "seed {seed}");
        let relations = relations(&system, seed % 5 == 1);
        let outcome = run_deep(&Stubborn::depth_first(system.clone(), relations, 1 << 14));
        assert_eq!(!outcome.findings.is_empty(), expected, "seed {seed}, depth first");
        if !expected {
            states[0] += reachable(&system).0.len() as u64;
            states[1] += outcome.stats.states;
        }
        found[usize::from(expected)] += 1;
    }
    println!("{states:?} states where nothing is wrong: all, and depth first");
    assert!(found.iter().all(|count| *count > 1000), "{found:?}");
    assert!(states[1] < states[0], "{states:?}");
}

/// If something may be put off for ever, violations are lost, breadth first and depth first.
#[test]
fn a_search_without_its_proviso_is_caught() {
    let mut lost = [0; 2];
    for seed in 0..4000 {
        let (system, expected) = with_property(seed);
        let careless = StubbornRelations { goes_on: false, ..relations(&system, false) };
        let wide = run(&Stubborn::new(system.clone(), careless.clone(), 1 << 14), 0, 4);
        let deep = run_deep(&Stubborn::depth_first(system, careless, 1 << 14));
        for (lost, outcome) in lost.iter_mut().zip([wide, deep]) {
            *lost += u64::from(expected && outcome.findings.is_empty());
        }
    }
    println!("systems that lose their violation: {lost:?}");
    assert!(lost.iter().all(|count| *count > 0), "{lost:?}");
}

/// The states of a block share a batch, which may be full anywhere in the successors of one of them.
#[test]
fn the_choice_does_not_depend_on_what_else_is_expanded() {
    let mut whole = [0; 3];
    for seed in 0..3000 {
        let mut system = if seed % 2 == 0 { growing(seed) } else { random_system(seed) };
        let (states, _) = reachable(&system);
        let enabled =
            |state: u64| (0..system.commands.len()).any(|c| system.fire(c, state).is_some());
        let dead: Vec<&u64> = states.iter().filter(|state| !enabled(**state)).collect();
        for (i, room) in [1, 3, 512].into_iter().enumerate() {
            let mut counts = Vec::new();
            for (threads, batch, block) in [(0, 1, 1), (0, 7, 2), (1, 64, 40), (2, 3, 5)] {
                let recorded = Recorded { system: &system, judged: Mutex::default() };
                let stubborn = Stubborn::new(recorded, relations(&system, false), 1 << 14);
                let stubborn = stubborn.with_room(room);
                let outcome = run_in_blocks(&stubborn, threads, batch, block);
                let judged = stubborn.inner().judged.lock().expect("nobody panicked");
                assert!(dead.iter().all(|state| judged.contains(state)), "seed {seed}");
                let stats = &outcome.stats;
                let (whole, part) = stubborn.expanded();
                assert_eq!(whole + part, stats.states, "every state is counted once");
                counts.push((stats.states, stats.transitions, stats.depth, stubborn.expanded()));
            }
            assert!(counts.iter().all(|count| *count == counts[0]), "seed {seed}: {counts:?}");
            if room == 1 {
                assert_eq!(counts[0].0, states.len() as u64, "seed {seed}");
            }
            whole[i] += counts[0].3.0;
        }
        let stuck = !dead.is_empty();
        // A state without successors is reported, wherever in its block it stands.
        system.deadlocks = true;
        let stubborn = Stubborn::new(system.clone(), relations(&system, false), 1 << 14);
        let outcome = run_in_blocks(&stubborn.with_room(3), (seed % 3) as usize, 7, 5);
        assert_eq!(outcome.findings.is_empty(), !stuck, "seed {seed}");
    }
    assert!(whole[0] > whole[1] && whole[1] > whole[2], "{whole:?}");
}

/// Which sets are chosen depends on what was found in which level: that is saved with the rest.
#[test]
fn in_pieces_the_same_is_chosen() {
    let mut stopped = 0;
    for seed in 0..100 {
        let mut system = if seed % 2 == 0 { growing(seed) } else { random_system(seed) };
        // A value that there is not: so nothing goes wrong, and levels are noted all the same.
        system.bad = (seed % 4 > 0).then(|| vec![(0, 7)]);
        let fresh = || Stubborn::new(system.clone(), relations(&system, false), 1 << 14);
        let whole = fresh();
        let expected = run_in_blocks(&whole, 1, 4, 3);
        let mut chosen = (0, 0);
        let (outcome, count) = pieces::in_pieces(1 + seed % 3, |from, saver, observer| {
            let part = fresh();
            let mut store = FlatStore::new(system.shape(), None);
            let mut queue = MemoryQueue::new(system.shape());
            let limits = Limits { batch: 4, block: 3, ..Limits::default() };
            let threads = 1 + (seed % 2) as usize;
            let team =
                Team { threads, in_order: 3, narrow: 0, worth: Duration::ZERO, ahead: false };
            let resume = from.map(|(resume, _)| resume);
            let plan = Plan::<_, NoArchive> { overflow: None, saver: Some(saver), resume };
            let outcome =
                overflowing(&part, &mut store, &mut queue, plan, &team, &limits, observer);
            chosen = part.expanded();
            outcome
        });
        let counts = |o: &Outcome| (o.stats.states, o.stats.transitions, o.stats.levels.clone());
        assert_eq!(counts(&outcome), counts(&expected), "seed {seed}");
        assert_eq!(chosen, whole.expanded(), "seed {seed}");
        stopped += count;
    }
    assert!(stopped > 100, "{stopped}");
}

/// A system that reports something wrong with states that have several successors: behind the second.
struct Broken(Commands);

impl System for Broken {
    type Scratch = ();

    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn scratch(&self) {}

    fn rules(&self) -> usize {
        self.0.rules()
    }

    fn initial(&self, s: &mut (), at: &mut Cursor, out: &mut Batch) -> Step {
        self.0.initial(s, at, out)
    }

    fn expand(&self, s: &mut (), src: Block<'_>, at: &mut Cursor, out: &mut Batch) -> Step {
        while at.source < src.len() {
            let (source, words) = (at.source, src.state(at.source).len());
            let own = [src.state(source), &[0; PAD_WORDS]].concat();
            let mut all = Batch::new(self.shape(), self.rules() + 1);
            self.0.expand(s, Block::new(&own, words, 1), &mut Cursor::default(), &mut all);
            let wrong = all.len() > 2 && !at.enabled;
            let from = 2 * usize::from(at.enabled);
            for i in from..if wrong { 2 } else { all.len() } {
                out.push(all.state(i), source as u32, all.rules()[i], all.labels()[i]);
            }
            *at = Cursor {
                source: source + usize::from(!wrong),
                enabled: wrong,
                ..Cursor::default()
            };
            if wrong {
                let kind = ViolationKind::Property(0);
                return Step::Violation(Violation { at: source, label: None, kind });
            }
        }
        Step::Done
    }

    fn judge(&self, _: &mut (), _: Block<'_>, _: &Picks, _: &mut usize) -> Option<Violation> {
        None
    }

    fn goals<'s>(&self, (): &'s ()) -> &'s [u64] {
        &[]
    }
}

/// Of a state with which something is wrong all successors are passed on, and it is counted once.
#[test]
fn what_is_wrong_is_not_reduced() {
    let mut wrongs = 0;
    for seed in 0..500 {
        let system = if seed % 2 == 0 { growing(seed) } else { random_system(seed) };
        let states: Vec<u64> = reachable(&system).0.into_iter().collect();
        let count = states.len();
        let words = [states, vec![0; PAD_WORDS]].concat();
        let relations = relations(&system, false);
        let stubborn = Stubborn::new(Broken(system.clone()), relations, 1 << 14);
        let (mut scratch, mut at) = (stubborn.scratch(), Cursor::default());
        let mut out = Batch::new(system.shape(), 1 << 14);
        let src = Block::new(&words, 1, count);
        while let Step::Violation(_) = stubborn.expand(&mut scratch, src, &mut at, &mut out) {
            wrongs += 1;
        }
        for (i, state) in words[..count].iter().enumerate() {
            let fires = |c: &usize| system.fire(*c, *state).is_some();
            let all = (0..system.commands.len()).filter(fires).count();
            let passed = out.sources().iter().filter(|source| **source as usize == i).count();
            assert!(passed == all || all < 3, "seed {seed}: {passed} of {all}");
        }
        let (whole, part) = stubborn.expanded();
        assert_eq!(whole + part, count as u64, "seed {seed}");
    }
    assert!(wrongs > 1000, "{wrongs}");
}
