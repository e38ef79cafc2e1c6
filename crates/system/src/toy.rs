//! Small systems with known counts, for the tests of stores and searches.

use crate::{
    Batch, Block, Cursor, Independence, Label, Picks, Shape, Step, System, Violation, ViolationKind,
};

/// A finite graph given by its edges: node 0 is initial, a state is one word with the node number.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Successors of each node.
    pub edges: Vec<Vec<u32>>,
    /// Nodes that violate property 0.
    pub bad: Vec<u32>,
    /// Whether a node without successors is a deadlock.
    pub deadlocks: bool,
}

impl Graph {
    /// An n-dimensional grid of `side` nodes per axis, steps along each axis:
    /// `side^n` nodes, `n * (side - 1) * side^(n-1)` edges, depth `n * (side - 1)`.
    pub fn grid(n: u32, side: u32) -> Graph {
        let nodes = side.pow(n);
        let step = |v: u32| -> Vec<u32> {
            let axes = (0..n).map(|axis| side.pow(axis));
            axes.filter(|unit| (v / unit) % side + 1 < side).map(|unit| v + unit).collect()
        };
        Graph { edges: (0..nodes).map(step).collect(), ..Graph::default() }
    }
}

impl System for Graph {
    type Scratch = ();

    fn shape(&self) -> Shape {
        Shape::of_bits(32)
    }

    fn scratch(&self) {}

    fn rules(&self) -> usize {
        1
    }

    fn initial(&self, (): &mut (), at: &mut Cursor, out: &mut Batch) -> Step {
        if at.source == 0 {
            out.push(&[0], 0, 0, Label(0));
            at.source = 1;
        }
        Step::Done
    }

    fn expand(&self, (): &mut (), src: Block<'_>, at: &mut Cursor, out: &mut Batch) -> Step {
        while at.source < src.len() {
            let node = src.state(at.source)[0] as usize;
            for (i, next) in self.edges[node].iter().enumerate().skip(at.instance as usize) {
                if out.is_full() {
                    return Step::Full;
                }
                out.push(&[u64::from(*next)], at.source as u32, 0, Label(i as u32));
                at.instance += 1;
            }
            let source = at.source;
            *at = Cursor { source: source + 1, ..Cursor::default() };
            if self.deadlocks && self.edges[node].is_empty() {
                let kind = ViolationKind::Deadlock;
                return Step::Violation(Violation { at: source, label: None, kind });
            }
        }
        Step::Done
    }

    fn judge(&self, (): &mut (), b: Block<'_>, fresh: &Picks, at: &mut usize) -> Option<Violation> {
        while *at < fresh.len() {
            let place = fresh[*at] as usize;
            *at += 1;
            if self.bad.contains(&(b.state(place)[0] as u32)) {
                let kind = ViolationKind::Property(0);
                return Some(Violation { at: place, label: None, kind });
            }
        }
        None
    }

    fn goals<'s>(&self, (): &'s ()) -> &'s [u64] {
        &[]
    }
}

/// Bits of one variable of [`Commands`].
const VARIABLE_BITS: u32 = 4;

/// Guarded commands over a few small variables, all zero at first. A state is one word.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    /// Number of variables, at most 16.
    pub variables: u32,
    /// The commands, in the order in which they are fired.
    pub commands: Vec<Command>,
    /// Variables whose values, all together, violate property 0.
    pub bad: Option<Vec<(u32, u64)>>,
    /// Whether a state in which nothing is enabled is a deadlock.
    pub deadlocks: bool,
}

/// When all conditions hold, all updates are made, from the values before.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// Variables and the values that they must have.
    pub when: Vec<(u32, u64)>,
    /// Variables and what they become.
    pub then: Vec<(u32, Update)>,
}

/// What a variable becomes.
#[derive(Clone, Copy, Debug)]
pub enum Update {
    /// A value.
    Value(u64),
    /// The value of a variable.
    Of(u32),
}

impl Commands {
    /// The first bit and the width of a variable.
    pub fn cell(variable: u32) -> (u32, u32) {
        (variable * VARIABLE_BITS, VARIABLE_BITS)
    }

    /// The value of a variable.
    pub fn get(state: u64, variable: u32) -> u64 {
        state >> (variable * VARIABLE_BITS) & ((1 << VARIABLE_BITS) - 1)
    }

    /// Whether a state violates property 0.
    pub fn is_bad(&self, state: u64) -> bool {
        let all = |bad: &Vec<(u32, u64)>| bad.iter().all(|(v, x)| Commands::get(state, *v) == *x);
        self.bad.as_ref().is_some_and(all)
    }

    /// The variables that a command writes, as bits.
    pub fn writes(&self, command: usize) -> u32 {
        self.commands[command].then.iter().fold(0, |set, (variable, _)| set | 1 << variable)
    }

    /// The successor by a command, if it is enabled.
    pub fn fire(&self, command: usize, state: u64) -> Option<u64> {
        let Command { when, then } = &self.commands[command];
        if when.iter().any(|(variable, value)| Commands::get(state, *variable) != *value) {
            return None;
        }
        let mut next = state;
        for (variable, update) in then {
            let value = match update {
                Update::Value(value) => *value,
                Update::Of(other) => Commands::get(state, *other),
            };
            let shift = variable * VARIABLE_BITS;
            next = next & !(((1 << VARIABLE_BITS) - 1) << shift) | value << shift;
        }
        Some(next)
    }

    /// Commands of which neither writes what the other reads or writes.
    pub fn independence(&self) -> Independence {
        let mut relation = Independence::none(Label(1), self.commands.len());
        let touched = |command: &Command| {
            let writes = command.then.iter().fold(0u32, |set, (v, _)| set | 1 << v);
            let reads = command.when.iter().fold(0u32, |set, (v, _)| set | 1 << v);
            let copied = command.then.iter().filter_map(|(_, update)| match update {
                Update::Of(variable) => Some(1 << variable),
                Update::Value(_) => None,
            });
            (reads | copied.fold(0, |set, bit: u32| set | bit), writes)
        };
        for a in 0..self.commands.len() {
            for b in 0..a {
                let ((ra, wa), (rb, wb)) = (touched(&self.commands[a]), touched(&self.commands[b]));
                if wa & (rb | wb) == 0 && wb & (ra | wa) == 0 {
                    relation.add(a, b);
                }
            }
        }
        relation
    }
}

impl System for Commands {
    type Scratch = ();

    fn shape(&self) -> Shape {
        Shape::of_bits((self.variables * VARIABLE_BITS) as usize)
    }

    fn scratch(&self) {}

    fn rules(&self) -> usize {
        self.commands.len()
    }

    fn initial(&self, (): &mut (), at: &mut Cursor, out: &mut Batch) -> Step {
        if at.source == 0 {
            out.push(&[0], 0, 0, Label(0));
            at.source = 1;
        }
        Step::Done
    }

    fn expand(&self, (): &mut (), src: Block<'_>, at: &mut Cursor, out: &mut Batch) -> Step {
        while at.source < src.len() {
            let state = src.state(at.source)[0];
            for command in at.rule..self.commands.len() {
                if let Some(next) = self.fire(command, state) {
                    if out.is_full() {
                        return Step::Full;
                    }
                    let label = Label(command as u32 + 1);
                    out.push(&[next], at.source as u32, command as u32, label);
                    at.enabled = true;
                }
                at.rule = command + 1;
            }
            let (source, enabled) = (at.source, at.enabled);
            *at = Cursor { source: source + 1, ..Cursor::default() };
            if self.deadlocks && !enabled {
                let kind = ViolationKind::Deadlock;
                return Step::Violation(Violation { at: source, label: None, kind });
            }
        }
        Step::Done
    }

    fn judge(&self, (): &mut (), b: Block<'_>, fresh: &Picks, at: &mut usize) -> Option<Violation> {
        while *at < fresh.len() {
            let place = fresh[*at] as usize;
            *at += 1;
            if self.is_bad(b.state(place)[0]) {
                let kind = ViolationKind::Property(0);
                return Some(Violation { at: place, label: None, kind });
            }
        }
        None
    }

    fn goals<'s>(&self, (): &'s ()) -> &'s [u64] {
        &[]
    }
}
