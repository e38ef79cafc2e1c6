//! The levels of a parallel breadth-first search: chunks of packed states, taken task by task.
//!
//! Each worker fills chunks of its own with the new states that it finds. At the end of a level the
//! coordinator numbers the states, chunk after chunk, and cuts the chunks into tasks for the next
//! level. A task is a run of states within one chunk (who takes which is in [`super::shares`]). The
//! worker that finishes the last task of a chunk gives its memory back, or fills it again.
//!
//! When memory is short, the states of a chunk wait on disk (they are *parked*), and are read when the
//! first task of the chunk is taken.

use super::park::{Parked, Parking};
use super::shares::Shares;
use crate::trace::Steps;
use ergodic_disk::DiskError;
use ergodic_system::{Block, Label, PAD_WORDS};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of states in a chunk, about.
const CHUNK_BYTES: usize = 1 << 16;

/// Steps that are worth a segment of the log.
const LEAST_SEALED: usize = 256;

/// States per chunk.
pub(crate) fn chunk_states(width: usize) -> usize {
    (CHUNK_BYTES / (8 * width)).max(1)
}

/// Bytes of the states of a chunk.
pub(crate) fn chunk_bytes(width: usize) -> u64 {
    ((chunk_states(width) * width + PAD_WORDS) * 8) as u64
}

/// Bytes of a chunk whose states are not known to be new: with parents, labels and rules.
pub(crate) fn candidate_bytes(width: usize) -> u64 {
    chunk_bytes(width) + chunk_states(width) as u64 * 12
}

/// States of one level, found by one worker, and how they were found.
#[derive(Debug)]
pub(crate) struct Chunk {
    width: usize,
    /// Room for all states, and padding; nothing if they are parked.
    words: Box<[u64]>,
    len: usize,
    parked: Option<Parked>,
    /// Number of the first state; the others follow. Known when the level ends, or before.
    pub(crate) first: u64,
    /// Whether the states have their numbers, and stand in the log.
    pub(crate) numbered: bool,
    /// Number to which the parents in `log` are relative.
    pub(crate) base: u64,
    /// Parent and label of each state, if traces are kept. Parents ascend but for few places, because
    /// workers take tasks in ascending order as long as they have tasks of their own.
    pub(crate) log: Vec<(u32, Label)>,
    /// The same of the first states, as the log of the search has it, if the worker has written that down.
    pub(crate) sealed: Option<Steps>,
    /// The rule that led to each state, while it is not known whether the states are new.
    pub(crate) rules: Vec<u32>,
}

impl Chunk {
    /// An empty chunk.
    pub(crate) fn new(width: usize) -> Chunk {
        Chunk {
            width,
            words: room(width),
            len: 0,
            parked: None,
            first: 0,
            numbered: false,
            base: 0,
            log: Vec::new(),
            sealed: None,
            rules: Vec::new(),
        }
    }

    /// Forgets all states.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.numbered = false;
        self.log.clear();
        self.sealed = None;
        self.rules.clear();
    }

    /// Writes down how its states were found, as the log of the search wants it; nothing will be added.
    /// The memory that is free then goes to `room`.
    pub(crate) fn seal(&mut self, room: &mut Vec<(u32, Label)>) {
        if self.sealed.is_some() || self.log.len() < LEAST_SEALED {
            return;
        }
        let mut steps = Steps::default();
        for (parent, label) in self.log.drain(..) {
            steps.push(self.base + u64::from(parent), label);
        }
        steps.shrink();
        self.sealed = Some(steps);
        *room = std::mem::take(&mut self.log);
    }

    /// How its states were found, in order: parents relative to `base`, and labels.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (u32, Label)> {
        let sealed = self.sealed.iter().flat_map(Steps::iter);
        let relative = |(parent, label): (u64, Label)| ((parent - self.base) as u32, label);
        sealed.map(relative).chain(self.log.iter().copied())
    }

    /// Calls `each` with all states.
    pub(crate) fn with_states<T>(
        &self,
        each: impl FnOnce(Block<'_>) -> Result<T, DiskError>,
    ) -> Result<T, DiskError> {
        match &self.parked {
            None => each(self.block(0, self.len)),
            Some(parked) => each(self.fetched(parked)?.block(0, self.len)),
        }
    }

    /// Lets the states wait on disk. The log stays.
    pub(crate) fn park(&mut self, parking: &mut Parking) -> Result<(), DiskError> {
        if self.parked.is_none() {
            self.parked = Some(parking.park(&self.words[..self.len * self.width])?);
            self.words = Box::default();
        }
        Ok(())
    }

    pub(crate) fn is_parked(&self) -> bool {
        self.parked.is_some()
    }

    /// The chunk with its states in memory.
    fn fetched(&self, parked: &Parked) -> Result<Chunk, DiskError> {
        let mut chunk = Chunk::new(self.width);
        parked.fetch(&mut chunk.words[..self.len * self.width])?;
        (chunk.len, chunk.first, chunk.numbered) = (self.len, self.first, self.numbered);
        Ok(chunk)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_full(&self) -> bool {
        (self.len + 1) * self.width + PAD_WORDS > self.words.len()
    }

    /// Appends a state; there is room.
    #[inline]
    pub(crate) fn push(&mut self, state: &[u64]) {
        let at = self.len * self.width;
        self.words[at..at + self.width].copy_from_slice(state);
        self.len += 1;
    }

    /// Appends the picked states of a block; there is room.
    pub(crate) fn take(&mut self, block: Block<'_>, picks: &[u32]) {
        // States of a few words are not worth a call per copy.
        match self.width {
            1 => self.copy::<1>(block, picks),
            2 => self.copy::<2>(block, picks),
            3 => self.copy::<3>(block, picks),
            4 => self.copy::<4>(block, picks),
            _ => picks.iter().for_each(|place| self.push(block.state(*place as usize))),
        }
    }

    #[inline]
    fn copy<const W: usize>(&mut self, block: Block<'_>, picks: &[u32]) {
        let (from, _) = block.words().as_chunks::<W>();
        let (to, _) = self.words[self.len * W..].as_chunks_mut::<W>();
        for (to, place) in to.iter_mut().zip(picks) {
            *to = from[*place as usize];
        }
        self.len += picks.len();
    }

    /// At most `count` states from `from` on.
    pub(crate) fn block(&self, from: usize, count: usize) -> Block<'_> {
        Block::new(&self.words, self.width, self.len).slice(from, count)
    }
}

/// Room for the states of a chunk.
fn room(width: usize) -> Box<[u64]> {
    vec![0; chunk_states(width) * width + PAD_WORDS].into_boxed_slice()
}

/// A run of states to expand.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) chunk: Arc<Chunk>,
    pub(crate) from: usize,
    pub(crate) len: usize,
    place: usize,
    /// Whether its chunk was just read from disk.
    pub(crate) fetched: bool,
}

impl Task {
    pub(crate) fn block(&self) -> Block<'_> {
        self.chunk.block(self.from, self.len)
    }

    /// Number of the first state.
    pub(crate) fn first(&self) -> u64 {
        self.chunk.first + self.from as u64
    }
}

/// A chunk of the level being expanded.
#[derive(Debug)]
struct Shelf {
    chunk: Mutex<Option<Arc<Chunk>>>,
    /// Tasks of the chunk that are not finished.
    left: AtomicU32,
}

/// The level being expanded.
#[derive(Debug, Default)]
pub(crate) struct Level {
    shelves: Vec<Shelf>,
    /// Chunk and first state of each task.
    tasks: Vec<(u32, u32)>,
    /// States per task, but for the last one of a chunk.
    pub(crate) task_len: usize,
    shares: Shares,
    /// States in all.
    pub(crate) len: u64,
    /// The least number of a state.
    pub(crate) first: u64,
}

impl Level {
    /// Replaces the level, which is finished, by another one.
    pub(crate) fn fill(&mut self, chunks: impl Iterator<Item = Chunk>, task_len: usize) {
        self.shelves.clear();
        self.tasks.clear();
        self.task_len = task_len;
        self.len = 0;
        self.first = u64::MAX;
        for chunk in chunks {
            self.len += chunk.len() as u64;
            self.first = self.first.min(chunk.first);
            let place = self.shelves.len() as u32;
            let starts = (0..chunk.len()).step_by(task_len);
            let left = AtomicU32::new(starts.len() as u32);
            self.tasks.extend(starts.map(|from| (place, from as u32)));
            self.shelves.push(Shelf { chunk: Mutex::new(Some(Arc::new(chunk))), left });
        }
        self.shares.deal(self.tasks.len(), 1);
    }

    /// Deals the level, which is not begun, out to so many workers.
    pub(crate) fn deal(&mut self, workers: usize) {
        self.shares.deal(self.tasks.len(), workers);
    }

    /// The next task of a worker; `None` if all are taken.
    pub(crate) fn take(&self, worker: usize) -> Result<Option<Task>, DiskError> {
        let next = self.shares.take(worker);
        let Some(&(place, from)) = next.and_then(|next| self.tasks.get(next)) else {
            return Ok(None);
        };
        let (place, from) = (place as usize, from as usize);
        let mut shelf = self.shelves[place].chunk.lock().unwrap_or_else(PoisonError::into_inner);
        // The chunk is there until its last task is finished.
        let Some(chunk) = shelf.as_mut() else { return Ok(None) };
        let mut fetched = false;
        if let Some(parked) = &chunk.parked {
            *chunk = Arc::new(chunk.fetched(parked)?);
            fetched = true;
        }
        let chunk = Arc::clone(chunk);
        let len = self.task_len.min(chunk.len() - from);
        Ok(Some(Task { chunk, from, len, place, fetched }))
    }

    /// Calls `each` with the states of the tasks that nobody has taken yet, and the number of the first
    /// of each run of them.
    pub(crate) fn each_left(
        &self,
        mut each: impl FnMut(u64, Block<'_>) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        for task in self.shares.left() {
            let (place, from) = self.tasks[task];
            let shelf = &self.shelves[place as usize].chunk;
            let shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(chunk) = shelf.as_ref() else { continue };
            let (first, from) = (chunk.first + u64::from(from), from as usize);
            match &chunk.parked {
                None => each(first, chunk.block(from, self.task_len))?,
                Some(parked) => each(first, chunk.fetched(parked)?.block(from, self.task_len))?,
            }
        }
        Ok(())
    }

    /// A task is finished; returns its chunk if it was the last one.
    pub(crate) fn finish(&self, task: Task) -> Option<Chunk> {
        let shelf = &self.shelves[task.place];
        drop(task); // before it counts as finished: so the last one finds no other reference
        if shelf.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return None;
        }
        let chunk = shelf.chunk.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Arc::into_inner(chunk)
    }

    /// States in tasks that nobody has taken yet.
    pub(crate) fn waiting(&self) -> u64 {
        self.len.min((self.shares.count() * self.task_len) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_reads_as_before() {
        let (mut chunk, mut room) = (Chunk::new(1), Vec::new());
        chunk.base = 1 << 40;
        let steps: Vec<(u32, Label)> =
            (0..LEAST_SEALED as u32).map(|i| (i * 7 % 1000, Label(i / 3))).collect();
        chunk.log.extend(&steps[1..]);
        chunk.seal(&mut room);
        assert!(chunk.sealed.is_none(), "it is not worth a segment");
        chunk.log.insert(0, steps[0]);
        chunk.seal(&mut room);
        assert!(chunk.sealed.is_some() && chunk.log.is_empty() && room.capacity() > 0);
        // States of which the archive knew nothing come behind.
        chunk.log.push((5, Label(9)));
        let all: Vec<(u32, Label)> = chunk.steps().collect();
        assert_eq!(all, [&steps[..], &[(5, Label(9))]].concat());
        chunk.clear();
        assert_eq!(chunk.steps().count(), 0);
    }
}
