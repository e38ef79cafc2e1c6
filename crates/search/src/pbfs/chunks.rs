//! The levels of a parallel breadth-first search: chunks of packed states, taken task by task.
//!
//! Each worker fills chunks of its own with the new states that it finds. At the end of a level the
//! coordinator numbers the states, chunk after chunk, and cuts the chunks into tasks for the next
//! level. A task is a run of states within one chunk, taken by adding one to a shared index. The
//! worker that finishes the last task of a chunk gives its memory back, or fills it again.

use ergodic_system::{Block, Label, PAD_WORDS};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of states in a chunk, about.
const CHUNK_BYTES: usize = 1 << 16;

/// States per chunk.
pub(crate) fn chunk_states(width: usize) -> usize {
    (CHUNK_BYTES / (8 * width)).max(1)
}

/// Bytes of the states of a chunk.
pub(crate) fn chunk_bytes(width: usize) -> u64 {
    ((chunk_states(width) * width + PAD_WORDS) * 8) as u64
}

/// States of one level, found by one worker, and how they were found.
#[derive(Debug)]
pub(crate) struct Chunk {
    width: usize,
    /// Room for all states, and padding.
    words: Box<[u64]>,
    len: usize,
    /// Number of the first state; the others follow. Known when the level ends.
    pub(crate) first: u64,
    /// Number to which the parents in `log` are relative.
    pub(crate) base: u64,
    /// Parent and label of each state, if traces are kept. Parents ascend, because workers take
    /// tasks in ascending order.
    pub(crate) log: Vec<(u32, Label)>,
}

impl Chunk {
    /// An empty chunk.
    pub(crate) fn new(width: usize) -> Chunk {
        let words = vec![0; chunk_states(width) * width + PAD_WORDS].into_boxed_slice();
        Chunk { width, words, len: 0, first: 0, base: 0, log: Vec::new() }
    }

    /// Forgets all states.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.log.clear();
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

    /// At most `count` states from `from` on.
    pub(crate) fn block(&self, from: usize, count: usize) -> Block<'_> {
        Block::new(&self.words, self.width, self.len).slice(from, count)
    }
}

/// A run of states to expand.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) chunk: Arc<Chunk>,
    pub(crate) from: usize,
    pub(crate) len: usize,
    place: usize,
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
    task_len: usize,
    next: AtomicUsize,
    /// States in all.
    pub(crate) len: u64,
}

impl Level {
    /// Replaces the level, which is finished, by another one.
    pub(crate) fn fill(&mut self, chunks: impl Iterator<Item = Chunk>, task_len: usize) {
        self.shelves.clear();
        self.tasks.clear();
        self.task_len = task_len;
        *self.next.get_mut() = 0;
        self.len = 0;
        for chunk in chunks {
            self.len += chunk.len() as u64;
            let place = self.shelves.len() as u32;
            let starts = (0..chunk.len()).step_by(task_len);
            let left = AtomicU32::new(starts.len() as u32);
            self.tasks.extend(starts.map(|from| (place, from as u32)));
            self.shelves.push(Shelf { chunk: Mutex::new(Some(Arc::new(chunk))), left });
        }
    }

    /// The next task; `None` if all are taken.
    pub(crate) fn take(&self) -> Option<Task> {
        let &(place, from) = self.tasks.get(self.next.fetch_add(1, Ordering::Relaxed))?;
        let (place, from) = (place as usize, from as usize);
        let shelf = self.shelves[place].chunk.lock().unwrap_or_else(PoisonError::into_inner);
        // The chunk is there until its last task is finished.
        let chunk = Arc::clone(shelf.as_ref()?);
        let len = self.task_len.min(chunk.len() - from);
        Some(Task { chunk, from, len, place })
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
        let taken = self.next.load(Ordering::Relaxed) * self.task_len;
        self.len.saturating_sub(taken as u64)
    }
}
