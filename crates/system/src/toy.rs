//! Small systems with known counts, for the tests of stores and searches.

use crate::{Batch, Block, Cursor, Label, Picks, Shape, Step, System, Violation, ViolationKind};

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
