//! Depth-first search in one thread: small memory beside the store, long counterexamples.
//!
//! A state is expanded completely when it is reached; its new successors wait on the stack, the
//! first one on top. So the search visits the same states and transitions as breadth first. The
//! path to the current state is the stack itself.
//!
//! Memory: a waiting state takes its words and a label, a state on the path eight bytes. Nothing
//! recurses, so the depth is bounded by memory alone.
//!
//! A state is *on the stack* from when it is found until it and all that was found from it is done. So of
//! two states the one that was found from the other leaves the stack first, and one that is not on the
//! stack has left it or was never found. A system that wants to know is told ([`System::stack_changes`]).
//!
//! A depth limit cuts differently from breadth first: a state found first at the limit is not
//! expanded, even if a shorter way to it is found later. The ending says so.

use crate::intake::{Intake, Keeper, Origin, demand_settled};
use crate::{Ending, Limits, Observer, Outcome, Watch};
use ergodic_system::{
    Batch, Block, Exhausted, Label, PAD_WORDS, Picks, Reason, Shape, System, Visited,
};

/// The clock is read once in so many states.
const WATCH_EVERY: u32 = 16;

/// Visits all states, deepest first.
pub fn dfs<S: System, V: Visited>(
    system: &S,
    visited: &mut V,
    limits: &Limits,
    observer: &mut dyn Observer,
) -> Outcome {
    let mut intake = Intake::new(system, limits, Watch::new(limits, observer, WATCH_EVERY));
    let mut stack = Stack::new(system.shape(), limits.traces);
    stack.watched = system.watches_stack();
    let ending = explore(system, &mut intake, visited, &mut stack, limits).into();
    intake.stats.max_frontier = stack.most_waiting;
    intake.finish(ending, visited, &stack, None)
}

/// A state on the path; the root frame stands for none and holds the initial states.
#[derive(Debug)]
struct Frame {
    /// How the state was reached.
    label: Label,
    /// How many of its successors wait on top of the stack (below those of deeper frames).
    waiting: u32,
}

/// The path and the states that wait beside it.
#[derive(Debug)]
struct Stack {
    width: usize,
    /// Words of the waiting states, the next one last.
    words: Vec<u64>,
    /// Their labels.
    labels: Vec<Label>,
    frames: Vec<Frame>,
    traces: bool,
    most_waiting: u64,
    /// Whether somebody wants to know what is on it; if so, the words of the states on the path.
    watched: bool,
    path: Vec<u64>,
}

impl Stack {
    fn new(shape: Shape, traces: bool) -> Stack {
        Stack {
            width: shape.words,
            words: Vec::new(),
            labels: Vec::new(),
            frames: vec![Frame { label: Label(0), waiting: 0 }],
            traces,
            most_waiting: 0,
            watched: false,
            path: Vec::new(),
        }
    }

    /// Turns the new states of the top frame round, so that the first one is on top.
    fn arrange(&mut self) {
        let Some(count) = self.frames.last().map(|frame| frame.waiting as usize) else { return };
        let from = self.labels.len() - count;
        self.labels[from..].reverse();
        let words = &mut self.words[from * self.width..];
        for i in 0..count / 2 {
            let (left, right) = words.split_at_mut((count - 1 - i) * self.width);
            left[i * self.width..(i + 1) * self.width].swap_with_slice(&mut right[..self.width]);
        }
    }

    /// The states that wait for the end of the path, in any order.
    fn newest(&self) -> impl Iterator<Item = &[u64]> {
        let count = self.frames.last().map_or(0, |frame| frame.waiting as usize);
        self.words[self.words.len() - count * self.width..].chunks_exact(self.width)
    }

    /// Moves the next waiting state to `out` and makes it the end of the path. `leaves` is told of states
    /// that are done.
    fn descend(&mut self, out: &mut [u64], leaves: impl Fn(&[u64])) -> bool {
        while let Some(top) = self.frames.last_mut() {
            if top.waiting > 0
                && let Some(label) = self.labels.pop()
            {
                top.waiting -= 1;
                let rest = self.words.len() - self.width;
                out[..self.width].copy_from_slice(&self.words[rest..]);
                self.words.truncate(rest);
                self.frames.push(Frame { label, waiting: 0 });
                if self.watched {
                    self.path.extend_from_slice(&out[..self.width]);
                }
                return true;
            }
            self.frames.pop();
            if let Some(rest) = self.path.len().checked_sub(self.width) {
                leaves(&self.path[rest..]);
                self.path.truncate(rest);
            }
        }
        false
    }
}

impl Keeper for Stack {
    fn keep(&mut self, batch: &Batch, picks: &Picks) -> Result<(), Exhausted> {
        for place in picks {
            self.words.extend_from_slice(batch.state(*place as usize));
            self.labels.push(batch.labels()[*place as usize]);
        }
        if let Some(top) = self.frames.last_mut() {
            top.waiting += picks.len() as u32;
        }
        self.most_waiting = self.most_waiting.max(self.labels.len() as u64);
        Ok(())
    }

    fn path(&self, _: usize) -> Vec<Label> {
        self.frames.iter().skip(1).map(|frame| frame.label).collect()
    }

    fn traces(&self) -> bool {
        self.traces
    }

    fn depth(&self) -> u64 {
        self.frames.len().saturating_sub(1) as u64
    }

    fn waiting(&self) -> u64 {
        self.labels.len() as u64
    }

    fn bytes(&self) -> u64 {
        let frames = self.frames.capacity() * size_of::<Frame>();
        let words = self.words.capacity() + self.path.capacity();
        (words * 8 + self.labels.capacity() * 4 + frames) as u64
    }

    fn trace_bytes(&self) -> u64 {
        0
    }
}

fn explore<S: System, V: Visited>(
    system: &S,
    intake: &mut Intake<'_, S>,
    visited: &mut V,
    stack: &mut Stack,
    limits: &Limits,
) -> Result<(), Ending> {
    let mut current = vec![0; stack.width + PAD_WORDS];
    let mut cut = None;
    let arrange = |stack: &mut Stack| {
        stack.arrange();
        if stack.watched {
            stack.newest().for_each(|state| system.stack_changes(state, true));
        }
    };
    intake.run(Origin::Initial, visited, stack)?;
    arrange(stack);
    while stack.descend(&mut current, |state| system.stack_changes(state, false)) {
        let depth = stack.depth() - 1;
        if limits.max_depth == Some(depth) {
            cut = Some(depth);
            continue;
        }
        let block = Block::new(&current, stack.width, 1);
        intake.run(Origin::Successors(block), visited, stack)?;
        arrange(stack);
    }
    demand_settled(visited)?;
    cut.map_or(Ok(()), |depth| Err(Ending::Stopped(Reason::DepthLimit(depth))))
}
