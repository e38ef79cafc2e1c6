//! What one worker does in a round, and what it shares with the others.
//!
//! A worker takes a task, expands it batch by batch, offers each batch to the store, judges and
//! counts what is new, and appends it to its own chunks. It can be interrupted at two places and
//! goes on there in the next round: between two batches (somebody else is stalled, or the search is
//! to stop), and in the middle of an offer (the store is full). In the second case the batch, the
//! position up to which it was offered, and what was fresh so far stay as they are; nothing of the
//! batch is judged, counted or kept before all of it was offered. So nothing is lost or done twice.
//!
//! When the search has gone to disk, what memory does not know is put off: it is kept as a candidate,
//! neither counted as a state nor judged, until the archive has answered (see [`super::late`]).

use super::chunks::{Chunk, Level, Task, candidate_bytes, chunk_bytes, chunk_states};
use super::wrong::Wrongs;
use ergodic_system::{Batch, Cursor, Exhausted, Label, Picks, Shared, Step, System};
use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

/// Chunks of memory that a worker keeps from one level to the next, at least.
const SPARE_CHUNKS: usize = 4;

/// A chunk takes states of tasks up to this distance only, and of none before the one with which it
/// was begun, so that parents fit into 32 bits.
const FAR: u64 = 1 << 31;

/// What all workers share.
pub(super) struct Board<'a, S, V> {
    pub(super) system: &'a S,
    pub(super) sets: RwLock<Sets<'a, V>>,
    pub(super) level: RwLock<Level>,
    /// Depth of the states being found.
    pub(super) depth: AtomicU64,
    /// The store is full: finish the round, there will be another one for the same level.
    pub(super) stalled: AtomicBool,
    /// Finish the round, there will be no other.
    pub(super) stop: AtomicBool,
    /// In this round all help the store to grow.
    pub(super) growing: AtomicBool,
    /// Take no more tasks, but finish those that were taken.
    pub(super) draining: AtomicBool,
    /// States found, successors generated, bytes of chunks: added up once per batch.
    pub(super) states: AtomicU64,
    pub(super) transitions: AtomicU64,
    pub(super) bytes: AtomicU64,
    /// Bytes of candidates: states that the archive was not asked for yet.
    pub(super) candidates: AtomicU64,
    /// Bytes of candidates at which the round is to be finished early, to ask the archive.
    pub(super) most_candidates: AtomicU64,
    /// What a worker panicked with.
    pub(super) panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// What a worker could not read from disk.
    pub(super) trouble: Mutex<Option<Exhausted>>,
    pub(super) traces: bool,
    pub(super) max_states: u64,
}

/// The sets of visited states in memory.
pub(super) struct Sets<'a, V> {
    /// All states, as long as there is room.
    pub(super) all: &'a mut V,
    /// Once the search has gone to disk: what was found lately, a filter before the archive.
    pub(super) lately: Option<V>,
}

impl<V: Shared> Sets<'_, V> {
    pub(super) fn bytes(&self) -> u64 {
        self.all.bytes() + self.lately.as_ref().map_or(0, V::bytes)
    }
}

impl<S, V> Board<'_, S, V> {
    /// Whether the round is to be finished early.
    fn is_over(&self) -> bool {
        self.stalled.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed)
    }

    /// The part of one thread in a growth of the store.
    pub(super) fn help_to_grow(&self)
    where
        V: Shared,
    {
        self.sets.read().unwrap_or_else(PoisonError::into_inner).all.help_to_grow();
    }

    /// Ends the search because something cannot be read.
    fn fails(&self, why: Exhausted) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends the search with a panic, on the thread of the caller.
    pub(super) fn panicked(&self, panic: Box<dyn Any + Send>) {
        *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Counts of one worker since they were last taken.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) states: u64,
    pub(super) transitions: u64,
    pub(super) fired: Vec<u64>,
    pub(super) fresh: Vec<u64>,
}

/// One worker between rounds. Workers stand side by side and share no cache line.
#[repr(align(128))]
pub(super) struct Worker<S: System, V: Shared> {
    /// Its place among the workers.
    number: usize,
    pub(super) scratch: S::Scratch,
    asking: V::Scratch,
    /// The same for the set of what was found lately.
    pub(super) filtering: Option<V::Scratch>,
    width: usize,
    batch: Batch,
    fresh: Picks,
    /// Positions of new states that violate a property.
    rejected: Picks,
    /// What is being expanded, and where it goes on.
    task: Option<Task>,
    cursor: Cursor,
    /// A batch that is not taken in yet: how its expansion ended, and up to where it was offered.
    open: Option<(Step, usize)>,
    /// So many of the fresh states of the open batch are new for certain, though the set of all
    /// states has them: it took them just before the search went to disk.
    certain: usize,
    pub(super) counts: Counts,
    /// New states.
    pub(super) out: Vec<Chunk>,
    pub(super) wrongs: Wrongs,
    spare: Vec<Chunk>,
    /// Room for the log of a chunk.
    log_room: Vec<(u32, Label)>,
}

impl<S: System, V: Shared> Worker<S, V> {
    pub(super) fn new(
        number: usize,
        system: &S,
        scratch: S::Scratch,
        asking: V::Scratch,
        batch: usize,
    ) -> Worker<S, V> {
        let zeros = vec![0; system.rules()];
        let mut batch = Batch::new(system.shape(), batch.max(1));
        batch.skip_loops();
        Worker {
            number,
            scratch,
            asking,
            filtering: None,
            width: system.shape().words,
            batch,
            fresh: Picks::new(),
            rejected: Picks::new(),
            task: None,
            cursor: Cursor::default(),
            open: None,
            certain: 0,
            counts: Counts { fired: zeros.clone(), fresh: zeros, ..Counts::default() },
            out: Vec::new(),
            wrongs: Wrongs::default(),
            spare: Vec::new(),
            log_room: Vec::new(),
        }
    }

    /// Whether nothing of the level is left in the hands of this worker.
    pub(super) fn is_idle(&self) -> bool {
        self.task.is_none()
    }

    /// The search goes to disk: what this worker has in hand was not checked by the archive.
    pub(super) fn go_to_disk(&mut self) {
        self.certain = if self.open.is_some() { self.fresh.len() } else { 0 };
    }

    /// Works until the round is over. `look` is called after each batch.
    pub(super) fn run(&mut self, board: &Board<'_, S, V>, look: &mut dyn FnMut(u64, &Level)) {
        let level = board.level.read().unwrap_or_else(PoisonError::into_inner);
        let sets = board.sets.read().unwrap_or_else(PoisonError::into_inner);
        while !board.is_over() {
            if self.task.is_none() {
                if board.draining.load(Ordering::Relaxed) {
                    return;
                }
                match level.take(self.number) {
                    Ok(task) => {
                        if task.as_ref().is_some_and(|task| task.fetched) {
                            board.bytes.fetch_add(chunk_bytes(self.width), Ordering::Relaxed);
                        }
                        self.task = task;
                    }
                    Err(why) => return board.fails(Exhausted::Other(why.to_string())),
                }
                self.cursor = Cursor::default();
            }
            let Some(task) = &self.task else { return self.seal(sets.lately.is_some()) };
            let (step, offered) = self.open.take().unwrap_or_else(|| {
                self.batch.clear();
                self.fresh.clear();
                let (scratch, batch) = (&mut self.scratch, &mut self.batch);
                (board.system.expand(scratch, task.block(), &mut self.cursor, batch), 0)
            });
            let offered = self.offer(&sets, offered);
            if offered < self.batch.len() {
                self.open = Some((step, offered));
                board.stalled.store(true, Ordering::Relaxed);
                return;
            }
            self.take_in(board, &sets, &step);
            if step == Step::Done
                && let Some(task) = self.task.take()
                && let Some(chunk) = level.finish(task)
            {
                self.recycle(board, sets.lately.is_some(), chunk);
            }
            look(sets.bytes(), &level);
        }
    }

    /// Offers the batch, from a position on, to the set that takes new states.
    fn offer(&mut self, sets: &Sets<'_, V>, from: usize) -> usize {
        let block = self.batch.block();
        match &sets.lately {
            None => sets.all.offer(&mut self.asking, block, from, &mut self.fresh),
            Some(lately) => {
                let scratch = self.filtering.get_or_insert_with(|| lately.scratch());
                lately.offer(scratch, block, from, &mut self.fresh)
            }
        }
    }

    /// Judges, counts and keeps the batch, all of which was offered.
    fn take_in(&mut self, board: &Board<'_, S, V>, sets: &Sets<'_, V>, step: &Step) {
        let Some(task) = &self.task else { return };
        let (first, depth) = (task.first(), board.depth.load(Ordering::Relaxed));
        let late = sets.lately.is_some();
        self.rejected.clear();
        if late {
            let certain = std::mem::take(&mut self.certain);
            let (block, fresh) = (self.batch.block(), &mut self.fresh);
            sets.all.retain_unknown(&mut self.asking, block, certain, fresh);
        } else {
            self.judge(board.system, first, depth);
        }
        if let (Step::Violation(v), Some(task)) = (step, &self.task) {
            let state = task.block().state(v.at);
            self.wrongs.note(v.kind, depth.saturating_sub(1), state, first + v.at as u64, v.label);
        }
        self.count(board, late);
        if !self.rejected.is_empty() {
            let rejected = &self.rejected;
            self.fresh.retain(|place| rejected.binary_search(place).is_err());
        }
        self.keep(board, first, late);
    }

    fn judge(&mut self, system: &S, first: u64, depth: u64) {
        let block = self.batch.block();
        let mut at = 0;
        while let Some(v) = system.judge(&mut self.scratch, block, &self.fresh, &mut at) {
            self.rejected.push(v.at as u32);
            let source = first + u64::from(self.batch.sources()[v.at]);
            let label = self.batch.labels()[v.at];
            self.wrongs.note(v.kind, depth, block.state(v.at), source, Some(label));
        }
    }

    fn count(&mut self, board: &Board<'_, S, V>, late: bool) {
        let rules = self.batch.rules();
        let mut transitions = rules.len() as u64;
        for rule in rules {
            self.counts.fired[*rule as usize] += 1;
        }
        for (rule, count) in self.batch.dropped() {
            transitions += u64::from(*count);
            self.counts.fired[*rule as usize] += u64::from(*count);
        }
        self.counts.transitions += transitions;
        board.transitions.fetch_add(transitions, Ordering::Relaxed);
        if late {
            return;
        }
        for place in &self.fresh {
            self.counts.fresh[rules[*place as usize] as usize] += 1;
        }
        let states = self.fresh.len() as u64;
        self.counts.states += states;
        if board.states.fetch_add(states, Ordering::Relaxed) + states > board.max_states {
            board.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Appends the new states, whose sources are numbered from `first` on, to the next level, or to
    /// the candidates for it.
    fn keep(&mut self, board: &Board<'_, S, V>, first: u64, late: bool) {
        let mut picks = self.fresh.as_slice();
        while !picks.is_empty() {
            let chunk = match self.out.last_mut() {
                Some(chunk) if !chunk.is_full() && first.wrapping_sub(chunk.base) < FAR => chunk,
                _ => {
                    let mut chunk = self.spare.pop().unwrap_or_else(|| {
                        board.bytes.fetch_add(chunk_bytes(self.width), Ordering::Relaxed);
                        Chunk::new(self.width)
                    });
                    if let Some(last) = self.out.last_mut().filter(|_| !late) {
                        last.seal(&mut self.log_room);
                    }
                    if late {
                        let candidates = &board.candidates;
                        let size = candidate_bytes(self.width);
                        let bytes = candidates.fetch_add(size, Ordering::Relaxed) + size;
                        if bytes >= board.most_candidates.load(Ordering::Relaxed) {
                            board.stalled.store(true, Ordering::Relaxed);
                        }
                    }
                    chunk.base = first;
                    if chunk.log.capacity() == 0 {
                        chunk.log = std::mem::take(&mut self.log_room);
                    }
                    self.out.push(chunk);
                    continue;
                }
            };
            let room = chunk_states(self.width) - chunk.len();
            let (now, later) = picks.split_at(room.min(picks.len()));
            chunk.take(self.batch.block(), now);
            if late {
                let rules = self.batch.rules();
                chunk.rules.extend(now.iter().map(|place| rules[*place as usize]));
            }
            if board.traces || late {
                let (sources, labels, base) =
                    (self.batch.sources(), self.batch.labels(), chunk.base);
                let step = |place: &u32| {
                    let parent = first + u64::from(sources[*place as usize]);
                    ((parent - base) as u32, labels[*place as usize])
                };
                chunk.log.extend(now.iter().map(step));
            }
            picks = later;
        }
    }

    /// There is nothing left to expand: the last chunk is complete.
    fn seal(&mut self, late: bool) {
        if let Some(last) = self.out.last_mut().filter(|_| !late) {
            last.seal(&mut self.log_room);
        }
    }

    /// Keeps the memory of a chunk for new states: within a level what was expanded makes room for
    /// what is found. Once memory is short, only a little of it.
    fn recycle(&mut self, board: &Board<'_, S, V>, late: bool, mut chunk: Chunk) {
        if !late || self.spare.len() < SPARE_CHUNKS {
            chunk.clear();
            self.spare.push(chunk);
        } else {
            board.bytes.fetch_sub(chunk_bytes(self.width), Ordering::Relaxed);
        }
    }

    /// Gives memory back that the next level will hardly need.
    pub(super) fn trim(&mut self, board: &Board<'_, S, V>) {
        let surplus = self.spare.len().saturating_sub(self.out.len() / 4 + SPARE_CHUNKS);
        self.spare.truncate(self.spare.len() - surplus);
        board.bytes.fetch_sub(surplus as u64 * chunk_bytes(self.width), Ordering::Relaxed);
    }
}
