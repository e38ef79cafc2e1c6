//! How each state was found first: the parent log of a parallel search.
//!
//! Chunks of new states come with the steps that led to them; when they are numbered, the steps are
//! appended to the [`ParentLog`] of the first, sequential part. (One thread does that while the others
//! wait, so workers write segments of the log themselves, where these are long enough.) When memory is short the log goes to a
//! file.

use super::chunks::Chunk;
use crate::ParentLog;
use ergodic_disk::{Dir, DiskError};
use ergodic_system::Label;

/// Parent and label of each state.
#[derive(Debug)]
pub(crate) struct Runs {
    log: ParentLog,
}

impl Runs {
    /// Goes on behind the states of `log`.
    pub(crate) fn new(log: ParentLog) -> Runs {
        Runs { log }
    }

    /// Moves what there is to disk, and what comes later as well.
    pub(crate) fn spill(&mut self, dir: &Dir) -> Result<(), DiskError> {
        self.log.spill(dir)
    }

    /// Takes over the log of a chunk that was just numbered.
    pub(crate) fn add(&mut self, chunk: &mut Chunk) -> Result<(), DiskError> {
        if let Some(steps) = chunk.sealed.take() {
            debug_assert!(chunk.first == self.log.len());
            self.log.append(steps);
        }
        for (parent, label) in chunk.log.drain(..) {
            self.log.push_step(chunk.base + u64::from(parent), label);
        }
        self.log.write_out()
    }

    /// The labels from an initial state to state `number`, both included.
    pub(crate) fn path(&self, number: u64) -> Result<Vec<Label>, DiskError> {
        self.log.try_path(number)
    }

    /// Calls `each` with parent and label of each state, in order.
    pub(crate) fn each(
        &self,
        each: impl FnMut(Option<u64>, Label) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        self.log.each_step(each)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.log.bytes()
    }
}
