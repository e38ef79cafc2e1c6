//! Random systems of guarded commands, and what brute force says about them.

#![allow(dead_code, reason = "each test file uses a part of it")]

use ergodic_system::toy::{Command, Commands, Update};
use ergodic_system::{Batch, Block, Cursor, Picks, Shape, Step, System, Violation};
use std::collections::{HashSet, VecDeque};
use std::sync::Mutex;

/// Numbers that differ with the seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % bound
    }
}

/// Small enough to be visited whole in no time, with loops and much independence: commands that each
/// move one variable, as a process would, or commands of any kind.
pub fn random_system(seed: u64) -> Commands {
    let mut random = Random(seed);
    let processes = random.below(4) == 0;
    let variables = if processes { 3 + random.below(3) } else { 7 } as u32;
    let values = if processes { 2 + random.below(2) } else { 2 };
    let command = |random: &mut Random| {
        let variable = |random: &mut Random| random.below(u64::from(variables)) as u32;
        if processes {
            let own = variable(random);
            let mut when = vec![(own, random.below(values))];
            if random.below(3) == 0 {
                when.push((variable(random), random.below(values)));
            }
            return Command { when, then: vec![(own, Update::Value(random.below(values)))] };
        }
        let conditions = random.below(3);
        let when = (0..conditions).map(|_| (variable(random), random.below(values))).collect();
        let updates = 1 + random.below(2);
        let update = |random: &mut Random| match random.below(5) {
            0 => Update::Of(variable(random)),
            _ => Update::Value(random.below(values)),
        };
        let then = (0..updates).map(|_| (variable(random), update(random))).collect();
        Command { when, then }
    };
    let count = 8 + random.below(6);
    let commands = (0..count).map(|_| command(&mut random)).collect();
    Commands { variables, commands, ..Commands::default() }
}

/// All reachable states, level by level.
pub fn reachable(system: &Commands) -> (HashSet<u64>, Vec<u64>) {
    let (mut seen, mut levels) = (HashSet::from([0]), Vec::new());
    let mut level = VecDeque::from([0]);
    while !level.is_empty() {
        levels.push(level.len() as u64);
        let mut next = VecDeque::new();
        for state in level {
            for command in 0..system.commands.len() {
                if let Some(successor) = system.fire(command, state)
                    && seen.insert(successor)
                {
                    next.push_back(successor);
                }
            }
        }
        level = next;
    }
    (seen, levels)
}

/// Remembers every state that was judged.
pub struct Recorded<'a> {
    pub system: &'a Commands,
    pub judged: Mutex<HashSet<u64>>,
}

impl System for Recorded<'_> {
    type Scratch = ();

    fn shape(&self) -> Shape {
        self.system.shape()
    }

    fn scratch(&self) {}

    fn rules(&self) -> usize {
        self.system.rules()
    }

    fn initial(&self, s: &mut (), at: &mut Cursor, out: &mut Batch) -> Step {
        self.system.initial(s, at, out)
    }

    fn expand(&self, s: &mut (), src: Block<'_>, at: &mut Cursor, out: &mut Batch) -> Step {
        self.system.expand(s, src, at, out)
    }

    fn judge(&self, s: &mut (), b: Block<'_>, fresh: &Picks, at: &mut usize) -> Option<Violation> {
        let mut judged = self.judged.lock().expect("nobody panicked");
        judged.extend(fresh.iter().map(|place| b.state(*place as usize)[0]));
        self.system.judge(s, b, fresh, at)
    }

    fn goals<'s>(&self, s: &'s ()) -> &'s [u64] {
        self.system.goals(s)
    }
}
