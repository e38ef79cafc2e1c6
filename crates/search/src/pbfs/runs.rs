//! How each state was found first: the parent log of a parallel search, eight bytes per state.
//!
//! The states of the first, sequential part stand in a [`ParentLog`]. The others stand in runs, one
//! per chunk of new states: the numbers of a run's states follow each other, and its parents are
//! given relative to a number of its own, so that 32 bits do. Short runs are joined, so that a long
//! chain of narrow levels does not take more than eight bytes per state either.

use super::chunks::Chunk;
use crate::ParentLog;
use ergodic_system::Label;

/// Runs are joined up to this length.
const JOINED: usize = 1 << 15;

/// Runs are joined if their bases are closer than this; parents are at most 2^31 and a task away
/// from their base, so the sum fits.
const NEAR: u64 = 1 << 30;

#[derive(Debug)]
struct Run {
    /// Number of its first state.
    first: u64,
    /// Parents are relative to this number.
    base: u64,
    steps: Vec<(u32, Label)>,
}

/// Parent and label of each state.
#[derive(Debug)]
pub(crate) struct Runs {
    head: ParentLog,
    runs: Vec<Run>,
    bytes: u64,
}

impl Runs {
    /// Goes on behind the states of `head`.
    pub(crate) fn new(head: ParentLog) -> Runs {
        Runs { head, runs: Vec::new(), bytes: 0 }
    }

    /// Takes over the log of a chunk that was just numbered.
    pub(crate) fn add(&mut self, chunk: &mut Chunk) {
        if chunk.log.is_empty() {
            return;
        }
        if let Some(run) = self.runs.last_mut()
            && run.steps.len() + chunk.log.len() <= JOINED
            && chunk.log.len() < JOINED / 8
            && run.base <= chunk.base
            && chunk.base - run.base < NEAR
        {
            let shift = (chunk.base - run.base) as u32;
            let before = run.steps.capacity();
            run.steps.extend(chunk.log.drain(..).map(|(parent, label)| (parent + shift, label)));
            self.bytes += (run.steps.capacity() - before) as u64 * 8;
            return;
        }
        if let Some(run) = self.runs.last_mut() {
            self.bytes -= (run.steps.capacity() * 8) as u64;
            run.steps.shrink_to_fit();
            self.bytes += (run.steps.capacity() * 8) as u64;
        }
        let mut steps = std::mem::take(&mut chunk.log);
        steps.shrink_to_fit();
        self.bytes += (steps.capacity() * 8 + size_of::<Run>()) as u64;
        self.runs.push(Run { first: chunk.first, base: chunk.base, steps });
    }

    /// The labels from an initial state to state `number`, both included.
    pub(crate) fn path(&self, mut number: u64) -> Vec<Label> {
        let mut path = Vec::new();
        while number >= self.head.len() {
            let run = &self.runs[self.runs.partition_point(|run| run.first <= number) - 1];
            let (parent, label) = run.steps[(number - run.first) as usize];
            path.push(label);
            number = run.base + u64::from(parent);
        }
        path.reverse();
        let mut whole = self.head.path(number);
        whole.append(&mut path);
        whole
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.head.bytes() + self.bytes
    }
}
