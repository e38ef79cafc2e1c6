//! Sleep sets of states that stand for their orbits, against brute force: no orbit is lost, and none is
//! found too late, whatever permutation leads to the member that stands for it; and a search that does not
//! rename what sleeps is caught.

mod commands;

use commands::Random;
use ergodic_queue::{DiskPile, MemoryQueue};
use ergodic_search::{
    Ending, Limits, Outcome, SleepPlan, SleepRule, Sleeping, Team, Unobserved, bfs, pbfs, sleep_dfs,
};
use ergodic_store::{FlatStore, LedgerOptions, LedgerStore, Oust};
use ergodic_system::toy::{Command, Commands, Update};
use ergodic_system::{
    Batch, Block, Cursor, Exhausted, Independence, Label, Picks, Renaming, Shape, Sole, Step,
    System, Violation,
};
use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

/// Systems per test; the heavy run asks for more.
fn systems(few: u64) -> u64 {
    let asked = std::env::var("ERGODIC_SLEEP_SYSTEMS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(few)
}

/// Variables of each process.
const OWN: u32 = 2;

/// A system of processes that can be exchanged. First come the variables of the processes, then shared
/// ones, and the last one names a process, counted from one, or none.
struct Processes {
    count: u32,
    commands: Commands,
    renaming: Renaming,
    /// All permutations.
    orders: Vec<Vec<u16>>,
    judged: Mutex<HashSet<u64>>,
}

/// What a command of a process looks at and changes.
#[derive(Clone, Copy)]
enum Place {
    Own(u32),
    Others(u32),
    Shared(u32),
}

/// A part of a command, for some process and another one.
#[derive(Clone, Copy)]
enum Part {
    Is(Place, u64),
    NamesMe(bool),
    Set(Place, u64),
    Copy(Place, Place),
    NameMe,
    NameNone,
}

impl Processes {
    fn random(seed: u64) -> Processes {
        let mut random = Random(seed);
        let count = [2, 3, 3, 4][random.below(4) as usize];
        let shared = count * OWN;
        let names = shared + 1;
        let mut commands = Commands { variables: names + 1, ..Commands::default() };
        let mut renaming = Renaming::new(count as usize);
        for _ in 0..3 + random.below(3) {
            let pairs = random.below(4) == 0;
            let parts = parts(&mut random, pairs);
            let base = commands.commands.len() as u32;
            let instances = if pairs { count * count } else { count };
            for i in 0..instances {
                let (me, other) = if pairs { (i / count, i % count) } else { (i, i) };
                let steps = if pairs { vec![(me, count), (other, 1)] } else { vec![(me, 1)] };
                renaming.push(base, &steps);
                let mut command = command(&parts, [me, other], [shared, names]);
                if pairs && me == other {
                    command.when.push((names, 15));
                }
                commands.commands.push(command);
            }
        }
        let judged = Mutex::default();
        Processes { count, commands, renaming, orders: orders(count as usize), judged }
    }

    fn permuted(&self, state: u64, to: &[u16]) -> u64 {
        let names = self.count * OWN + 1;
        let mut out = 0;
        for variable in 0..=names {
            let value = Commands::get(state, variable);
            let (at, value) = match variable {
                v if v == names && value > 0 => (v, u64::from(to[value as usize - 1]) + 1),
                v if v < self.count * OWN => {
                    (u32::from(to[(v / OWN) as usize]) * OWN + v % OWN, value)
                }
                v => (v, value),
            };
            out |= value << Commands::cell(at).0;
        }
        out
    }

    /// The least member of an orbit, and one of the permutations that lead to it.
    fn canonical(&self, state: u64) -> (u64, &[u16]) {
        let images = || self.orders.iter().map(|to| (self.permuted(state, to), to.as_slice()));
        let least = images().map(|(image, _)| image).min().expect("the identity at least");
        let all: Vec<_> = images().filter(|(image, _)| *image == least).collect();
        all[Random(state).below(all.len() as u64) as usize]
    }

    fn canonise(&self, from: usize, out: &mut Batch) {
        for i in from..out.len() {
            let (canonical, to) = self.canonical(out.state(i)[0]);
            if out.state(i)[0] != canonical {
                out.state_mut(i)[0] = canonical;
                if out.watches_renames() {
                    out.note_renamed(i, to);
                }
            }
        }
    }

    /// All orbits, level by level, by their least members.
    fn reachable(&self) -> (HashSet<u64>, Vec<u64>) {
        let (mut seen, mut level, mut levels) = (HashSet::from([0]), vec![0], Vec::new());
        while !level.is_empty() {
            levels.push(level.len() as u64);
            let mut next = Vec::new();
            for state in level {
                let fired =
                    (0..self.commands.commands.len()).filter_map(|c| self.commands.fire(c, state));
                next.extend(fired.map(|state| self.canonical(state).0).filter(|s| seen.insert(*s)));
            }
            level = next;
        }
        (seen, levels)
    }

    fn independence(&self) -> Independence {
        self.commands.independence().with_renaming(self.renaming.clone())
    }
}

fn parts(random: &mut Random, pairs: bool) -> Vec<Part> {
    let place = |random: &mut Random| match random.below(8) {
        0 => Place::Shared(0),
        1 | 2 if pairs => Place::Others(random.below(u64::from(OWN)) as u32),
        _ => Place::Own(random.below(u64::from(OWN)) as u32),
    };
    let mut parts = vec![Part::Is(place(random), random.below(2))];
    match random.below(6) {
        0 => parts.push(Part::NamesMe(random.below(2) == 0)),
        1 | 2 => parts.push(Part::Is(place(random), random.below(2))),
        _ => {}
    }
    for _ in 0..1 + random.below(2) {
        parts.push(match random.below(12) {
            0 => Part::NameMe,
            1 => Part::NameNone,
            2 => Part::Copy(place(random), place(random)),
            _ => Part::Set(place(random), random.below(3)),
        });
    }
    parts
}

fn command(parts: &[Part], [me, other]: [u32; 2], [shared, names]: [u32; 2]) -> Command {
    let variable = |place: Place| match place {
        Place::Own(i) => me * OWN + i,
        Place::Others(i) => other * OWN + i,
        Place::Shared(i) => shared + i,
    };
    let mine = u64::from(me) + 1;
    let mut command = Command::default();
    for part in parts {
        match *part {
            Part::Is(place, value) => command.when.push((variable(place), value)),
            Part::NamesMe(true) => command.when.push((names, mine)),
            Part::NamesMe(false) => command.when.push((names, 0)),
            Part::Set(place, value) => command.then.push((variable(place), Update::Value(value))),
            Part::Copy(to, of) => command.then.push((variable(to), Update::Of(variable(of)))),
            Part::NameMe => command.then.push((names, Update::Value(mine))),
            Part::NameNone => command.then.push((names, Update::Value(0))),
        }
    }
    command
}

fn orders(n: usize) -> Vec<Vec<u16>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let longer = |order: &Vec<u16>, at: usize| {
        let mut order = order.clone();
        order.insert(at, n as u16 - 1);
        order
    };
    orders(n - 1).iter().flat_map(|order| (0..n).map(move |at| longer(order, at))).collect()
}

impl System for &Processes {
    type Scratch = ();

    fn shape(&self) -> Shape {
        self.commands.shape()
    }

    fn scratch(&self) {}

    fn rules(&self) -> usize {
        self.commands.rules()
    }

    fn initial(&self, s: &mut (), at: &mut Cursor, out: &mut Batch) -> Step {
        self.commands.initial(s, at, out)
    }

    fn expand(&self, s: &mut (), src: Block<'_>, at: &mut Cursor, out: &mut Batch) -> Step {
        let from = out.len();
        let step = self.commands.expand(s, src, at, out);
        self.canonise(from, out);
        step
    }

    fn judge(&self, s: &mut (), b: Block<'_>, fresh: &Picks, at: &mut usize) -> Option<Violation> {
        let mut judged = self.judged.lock().expect("nobody panicked");
        judged.extend(fresh.iter().map(|place| b.state(*place as usize)[0]));
        self.commands.judge(s, b, fresh, at)
    }

    fn goals<'s>(&self, s: &'s ()) -> &'s [u64] {
        self.commands.goals(s)
    }
}

/// Breadth first, with sleep sets; no threads: in order.
fn run_bfs(system: &Processes, independence: Independence, threads: usize) -> Outcome {
    let mut store = FlatStore::new(system.shape(), None);
    let mut queue = MemoryQueue::new(system.shape());
    let limits = Limits { batch: 5, block: 3, ..Limits::default() };
    let system = Sleeping::new(system, independence);
    if threads == 0 {
        return bfs(&system, &mut Sole::new(&mut store), &mut queue, &limits, &mut Unobserved);
    }
    let team = Team { threads, in_order: 3, narrow: 0, worth: Duration::ZERO, ahead: false };
    pbfs(&system, &mut store, &mut queue, &team, &limits, &mut Unobserved)
}

fn run_dfs(
    system: &Processes,
    independence: &Independence,
    rule: SleepRule,
    cache: u64,
) -> Outcome {
    let note_words = if rule == SleepRule::Stored { independence.words() } else { 0 };
    let options = LedgerOptions { states: cache, note_words, oust: Oust::Random, seed: 1 };
    let mut ledger = LedgerStore::new(system.shape(), options);
    let mut pile = DiskPile::new(1 << 20, || Err(Exhausted::Other("no disk".into())));
    let plan = SleepPlan { rule, independence, kinds: &[], without: None };
    let limits = Limits { batch: 3, max_states: Some(100_000), ..Limits::default() };
    sleep_dfs(&system, &mut ledger, &mut pile, plan, &limits, &mut Unobserved)
}

#[test]
fn breadth_first_finds_every_orbit_at_its_depth() {
    // Transitions: all; with sets that are dropped where a state is renamed; with renamed ones.
    let mut fired = [0; 3];
    for seed in 0..systems(1000) {
        let system = Processes::random(seed);
        let (states, levels) = system.reachable();
        let relations = [
            Independence::none(Label(1), system.commands.commands.len()),
            system.commands.independence(),
            system.independence(),
        ];
        for (i, relation) in relations.into_iter().enumerate() {
            let outcome = run_bfs(&system, relation.clone(), 0);
            assert_eq!(outcome.ending, Ending::Complete);
            assert_eq!(outcome.stats.levels, levels, "seed {seed}");
            assert_eq!(outcome.stats.states, states.len() as u64);
            fired[i] += outcome.stats.transitions;
            for threads in (1..3).filter(|_| i == 2 && seed % 8 == 0) {
                let other = run_bfs(&system, relation.clone(), threads);
                assert_eq!(other.stats.levels, levels, "seed {seed}, threads {threads}");
                assert_eq!(other.stats.transitions, outcome.stats.transitions, "seed {seed}");
            }
        }
    }
    let [all, dropped, renamed] = fired;
    println!("{all} transitions; {dropped} and {renamed} with sleep sets");
    assert!((all - dropped) * 3 < (all - renamed) * 2, "{fired:?}");
}

#[test]
fn depth_first_finds_every_orbit_whatever_is_forgotten() {
    let mut fired = [0; 3];
    for seed in 0..systems(600) {
        let system = Processes::random(seed);
        let (states, _) = system.reachable();
        let independence = system.independence();
        for (i, rule) in
            [SleepRule::Off, SleepRule::Paper, SleepRule::Stored].into_iter().enumerate()
        {
            let outcome = run_dfs(&system, &independence, rule, 1 << 20);
            assert_eq!(outcome.ending, Ending::Complete);
            assert_eq!(outcome.stats.states, states.len() as u64, "seed {seed}, {rule:?}");
            fired[i] += outcome.stats.transitions;
            // A cache of the stack and a little more: it may take very long, or a longer stack.
            system.judged.lock().expect("nobody panicked").clear();
            let outcome = run_dfs(&system, &independence, rule, outcome.stats.depth + 4);
            if outcome.ending == Ending::Complete {
                let judged = system.judged.lock().expect("nobody panicked");
                assert_eq!(*judged, states, "seed {seed}, {rule:?}, cached");
            }
        }
    }
    let [off, paper, stored] = fired;
    println!("{off} transitions; {paper} by the rule of the paper, {stored} with stored sets");
    assert!(stored < paper && paper < off, "{fired:?}");
}

/// The systems that lose orbits, or find them too late, if what sleeps keeps its names though the state
/// is another member of its orbit; breadth first, and depth first by both rules.
fn losers(seeds: std::ops::Range<u64>) -> [Vec<u64>; 3] {
    let mut lost = [Vec::new(), Vec::new(), Vec::new()];
    for seed in seeds {
        let system = Processes::random(seed);
        let mut names = Renaming::new(system.count as usize);
        (0..system.commands.commands.len() as u32).for_each(|number| names.push(number, &[]));
        let relation = system.commands.independence().with_renaming(names);
        let (states, levels) = system.reachable();
        if run_bfs(&system, relation.clone(), 0).stats.levels != levels {
            lost[0].push(seed);
        }
        for (i, rule) in [(1, SleepRule::Paper), (2, SleepRule::Stored)] {
            if run_dfs(&system, &relation, rule, 1 << 20).stats.states < states.len() as u64 {
                lost[i].push(seed);
            }
        }
    }
    lost
}

#[test]
fn a_search_that_does_not_rename_is_caught() {
    let lost = losers(500..700);
    println!("systems that lose orbits without renaming: {lost:?}");
    assert!(lost.iter().all(|seeds| !seeds.is_empty()), "{lost:?}");
}
