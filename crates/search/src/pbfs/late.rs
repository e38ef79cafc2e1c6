//! Going on from disk: delayed duplicate detection in the levels of a parallel search.
//!
//! When memory is used up the set of all states stays as it is and takes no more. From then on workers
//! look a successor up in a second, small set of what was found *lately* and in the set of all; what
//! neither knows is a *candidate*: kept with parent, label and rule, not yet counted, judged or
//! expanded. At the end of a level, or when there are many candidates, an [`Archive`] on disk decides
//! which of them are new. These are counted, judged and expanded as any other state. So no work is
//! lost when the search goes to disk, and states, transitions, depth and verdict stay the same; with
//! an archive that forgets, more states may be visited, never fewer.
//!
//! The set of what was found lately is only a filter: it may be emptied at any time. A state that was
//! a candidate before is then a candidate again, and the archive knows it, or finds it twice among
//! the candidates.
//!
//! What waits for expansion beyond a bound is parked on disk, and the parent log goes there too, so
//! memory does not grow with the number of states any more (but for a few bytes per ten thousand).
//!
//! Papers: Stern and Dill, "Using magnetic disk instead of main memory in the Murphi verifier" (the
//! delay); serial-murphi-ram-to-disk (the switch that keeps the work).

use super::chunks::{Chunk, candidate_bytes, chunk_bytes};
use super::park::Parking;
use super::{Coordinator, lock};
use crate::Ending;
use ergodic_disk::Dir;
use ergodic_system::{
    Archive, Block, Exhausted, Label, Losses, PAD_WORDS, Picks, Reason, Shared, Sole, System,
    Visited,
};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// How a search goes on when memory is used up.
pub struct Overflow<'a, V, A> {
    /// Called when that happens, once.
    #[allow(clippy::type_complexity, reason = "a function")]
    pub open: Box<dyn FnOnce() -> Result<Opened<'a, V, A>, Exhausted> + 'a>,
    /// Bytes of store, frontier and parent log at which it happens.
    pub memory: u64,
    /// Bytes of candidates before the archive is asked.
    pub candidates: u64,
    /// Bytes of states that wait in memory; more of them wait on disk.
    pub frontier: u64,
    /// Do not use memory for all states at all.
    pub at_once: bool,
}

impl<V, A> std::fmt::Debug for Overflow<'_, V, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Overflow").field("memory", &self.memory).finish_non_exhaustive()
    }
}

/// What a search goes on with.
pub struct Opened<'a, V, A> {
    /// Makes an empty set for what was found lately; it is made again when it is full.
    pub lately: Box<dyn Fn() -> V + 'a>,
    /// What decides which candidates are new.
    pub archive: A,
    /// Where the states that wait and the parent log go.
    pub dir: Dir,
}

impl<V, A> std::fmt::Debug for Opened<'_, V, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").field("dir", &self.dir).finish_non_exhaustive()
    }
}

/// The part of the coordinator that deals with the archive.
pub(super) struct Late<'a, V, A> {
    make_lately: Box<dyn Fn() -> V + 'a>,
    pub(super) archive: A,
    parking: Parking,
    /// Chunks of the next level in memory, at most, and so far.
    most_waiting: u64,
    waiting: u64,
    candidates: Vec<Chunk>,
    fresh: Vec<(u32, u32)>,
    taken: Taken,
}

/// New states on their way from the candidates to the next level.
#[derive(Debug, Default)]
struct Taken {
    words: Vec<u64>,
    /// Parent, label and rule of each.
    steps: Vec<(u64, Label, u32)>,
    picks: Picks,
    rejected: Picks,
}

/// Candidates that are taken in at a time.
const TAKEN: usize = 1024;

impl<V: Shared, A: Archive> Late<'_, V, A> {
    /// Another level is found from now on.
    pub(super) fn next_level(&mut self) {
        self.parking.next_level();
        self.waiting = 0;
    }

    /// What the whole search may have lost: the set in memory, and the archive.
    pub(super) fn losses(&self, memory: Losses) -> Losses {
        let mut losses = self.archive.losses();
        losses.omission = (losses.omission + memory.omission).min(1.0);
        losses.path_omission += memory.path_omission;
        losses.forgets |= memory.forgets;
        losses.figures.extend(memory.figures);
        losses
    }
}

impl<S: System, V: Shared, A: Archive> Coordinator<'_, '_, '_, '_, S, V, A> {
    /// Memory is used up: opens the archive. `extra` are states that are visited, though the set of
    /// all states had no room for them.
    pub(super) fn go_to_disk(&mut self, extra: &[Box<[u64]>]) -> Result<(), Ending> {
        let Some(overflow) = self.overflow.take() else {
            let why = Exhausted::Memory { limit: self.limits.memory.unwrap_or(u64::MAX) };
            return Err(why.into());
        };
        let Opened { lately, mut archive, dir } = (overflow.open)()?;
        admit_all(&mut archive, extra)?;
        for worker in self.workers {
            let mut worker = lock(worker);
            // What was found so far is new for certain.
            self.chunks.append(&mut worker.out);
            worker.go_to_disk();
        }
        if let Some(runs) = &mut self.runs {
            runs.spill(&dir)?;
        }
        let mut sets = self.board.sets.write().unwrap_or_else(PoisonError::into_inner);
        sets.lately = Some(lately());
        self.board.most_candidates.store(overflow.candidates.max(1), Ordering::Relaxed);
        // The level being expanded takes as much again.
        let chunk = 2 * chunk_bytes(self.board.system.shape().words);
        self.late = Some(Late {
            make_lately: lately,
            archive,
            parking: Parking::new(dir),
            most_waiting: overflow.frontier / chunk,
            waiting: self.chunks.len() as u64,
            candidates: Vec::new(),
            fresh: Vec::new(),
            taken: Taken::default(),
        });
        Ok(())
    }

    /// Takes back the candidates of a search that was saved, after it has gone to disk: the archive is
    /// asked for them when it would have been.
    pub(super) fn take_candidates(&mut self, chunks: Vec<Chunk>) {
        let (width, count) = (self.board.system.shape().words, chunks.len() as u64);
        let mut worker = lock(&self.workers[0]);
        let mut sets = self.board.sets.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(lately) = &mut sets.lately {
            let (mut sole, mut fresh) = (Sole::new(lately), Picks::new());
            // It is only a filter: what it has no room for does no harm.
            let mut take = |chunk: &Chunk| sole.offer(chunk.block(0, chunk.len()), &mut fresh);
            let _ = chunks.iter().try_for_each(&mut take);
            worker.filtering = Some(sole.into_scratch());
        }
        self.board.bytes.fetch_add(count * chunk_bytes(width), Ordering::Relaxed);
        self.board.candidates.fetch_add(count * candidate_bytes(width), Ordering::Relaxed);
        worker.out = chunks;
    }

    /// Makes room in the middle of a level, after the search has gone to disk.
    pub(super) fn make_room_late(&mut self, depth: u64) -> Result<(), Ending> {
        let most = self.board.most_candidates.load(Ordering::Relaxed);
        if self.board.candidates.load(Ordering::Relaxed) >= most {
            return self.settle(depth, false);
        }
        let mut sets = self.board.sets.write().unwrap_or_else(PoisonError::into_inner);
        let Some(lately) = &mut sets.lately else { return Ok(()) };
        match lately.grow_if_needed(1) {
            Ok(()) => return Ok(()),
            Err(Exhausted::Memory { .. }) => {}
            Err(why) => return Err(why.into()),
        }
        drop(sets);
        self.forget_lately();
        Ok(())
    }

    /// Empties the filter.
    fn forget_lately(&mut self) {
        let Some(late) = &self.late else { return };
        let mut sets = self.board.sets.write().unwrap_or_else(PoisonError::into_inner);
        sets.lately = None;
        sets.lately = Some((late.make_lately)());
        for worker in self.workers {
            lock(worker).filtering = None;
        }
    }

    /// Asks the archive for all candidates and takes in those that are new. Does nothing before the
    /// search has gone to disk.
    pub(super) fn settle(&mut self, depth: u64, level_ends: bool) -> Result<(), Ending> {
        let Some(mut late) = self.late.take() else { return Ok(()) };
        for worker in self.workers {
            late.candidates.append(&mut lock(worker).out);
        }
        if level_ends {
            late.archive.level_ends();
        }
        let blocks: Vec<Block<'_>> =
            late.candidates.iter().map(|chunk| chunk.block(0, chunk.len())).collect();
        let admitted = late.archive.admit(&blocks, &mut late.fresh);
        drop(blocks);
        let taken = match admitted {
            Ok(()) => self.take_in(&mut late, depth),
            Err(why) => Err(why.into()),
        };
        let bytes = late.candidates.len() as u64 * chunk_bytes(self.board.system.shape().words);
        self.board.bytes.fetch_sub(bytes, Ordering::Relaxed);
        late.candidates.clear();
        self.board.candidates.store(0, Ordering::Relaxed);
        let forget = late.archive.forget_offered();
        self.late = Some(late);
        if forget {
            self.forget_lately();
        }
        taken
    }

    /// Counts, judges and keeps the new ones of the candidates.
    fn take_in(&mut self, late: &mut Late<'_, V, A>, depth: u64) -> Result<(), Ending> {
        let fresh = std::mem::take(&mut late.fresh);
        let width = self.board.system.shape().words;
        let mut ended = Ok(());
        for places in fresh.chunks(TAKEN) {
            let room =
                self.board.max_states.saturating_sub(self.board.states.load(Ordering::Relaxed));
            let some = &places[..places.len().min(room as usize)];
            gather(&late.candidates, some, &mut late.taken, width);
            self.judge(&mut late.taken, width, depth);
            self.count_taken(&late.taken);
            self.keep_taken(late, width)?;
            if some.len() < places.len() {
                ended = Err(Ending::Stopped(Reason::StateLimit(self.board.max_states)));
                break;
            }
        }
        late.fresh = fresh;
        ended
    }

    fn judge(&mut self, taken: &mut Taken, width: usize, depth: u64) {
        taken.rejected.clear();
        let block = Block::new(&taken.words, width, taken.steps.len());
        let mut worker = lock(&self.workers[0]);
        let mut at = 0;
        while let Some(v) =
            self.board.system.judge(&mut worker.scratch, block, &taken.picks, &mut at)
        {
            taken.rejected.push(v.at as u32);
            let (parent, label, _) = taken.steps[v.at];
            self.wrongs.note(v.kind, depth, block.state(v.at), parent, Some(label));
        }
    }

    fn count_taken(&mut self, taken: &Taken) {
        let mut worker = lock(&self.workers[0]);
        for (_, _, rule) in &taken.steps {
            worker.counts.fresh[*rule as usize] += 1;
        }
        worker.counts.states += taken.steps.len() as u64;
        self.board.states.fetch_add(taken.steps.len() as u64, Ordering::Relaxed);
    }

    /// Appends what was taken, but for what was rejected, to the next level.
    fn keep_taken(&mut self, late: &mut Late<'_, V, A>, width: usize) -> Result<(), Ending> {
        for place in 0..late.taken.steps.len() {
            if late.taken.rejected.binary_search(&(place as u32)).is_ok() {
                continue;
            }
            let (parent, label, _) = late.taken.steps[place];
            let fits = |chunk: &Chunk| {
                !chunk.numbered
                    && !chunk.is_parked()
                    && !chunk.is_full()
                    && chunk.base <= parent
                    && parent - chunk.base < u64::from(u32::MAX)
            };
            if !self.chunks.last().is_some_and(fits) {
                self.park_last(late, width)?;
                let mut chunk = Chunk::new(width);
                self.board.bytes.fetch_add(chunk_bytes(width), Ordering::Relaxed);
                // Parents come in any order, from the level being expanded.
                chunk.base = self.level_first().min(parent);
                self.chunks.push(chunk);
                late.waiting += 1;
            }
            if let Some(chunk) = self.chunks.last_mut() {
                chunk.push(&late.taken.words[place * width..(place + 1) * width]);
                if self.runs.is_some() {
                    chunk.log.push(((parent - chunk.base) as u32, label));
                }
            }
        }
        Ok(())
    }

    /// Number of the first state of the level being expanded.
    fn level_first(&self) -> u64 {
        self.board.level.read().unwrap_or_else(PoisonError::into_inner).first
    }

    /// Parks the last chunk of the next level on disk, if enough states wait in memory.
    fn park_last(&mut self, late: &mut Late<'_, V, A>, width: usize) -> Result<(), Ending> {
        if late.waiting > late.most_waiting
            && let Some(chunk) = self.chunks.last_mut()
            && !chunk.is_parked()
        {
            chunk.park(&mut late.parking)?;
            self.board.bytes.fetch_sub(chunk_bytes(width), Ordering::Relaxed);
            late.waiting -= 1;
        }
        Ok(())
    }
}

/// Copies new states and how they were found.
fn gather(candidates: &[Chunk], places: &[(u32, u32)], taken: &mut Taken, width: usize) {
    taken.words.clear();
    taken.steps.clear();
    taken.picks.clear();
    for (i, (chunk, place)) in places.iter().enumerate() {
        let (chunk, place) = (&candidates[*chunk as usize], *place as usize);
        taken.words.extend_from_slice(chunk.block(place, 1).state(0));
        let (parent, label) = chunk.log[place];
        taken.steps.push((chunk.base + u64::from(parent), label, chunk.rules[place]));
        taken.picks.push(i as u32);
    }
    taken.words.extend_from_slice(&[0; PAD_WORDS]);
    debug_assert!(taken.words.len() == places.len() * width + PAD_WORDS);
}

/// Puts states that are visited into an archive.
fn admit_all<A: Archive>(archive: &mut A, states: &[Box<[u64]>]) -> Result<(), Ending> {
    let Some(first) = states.first() else { return Ok(()) };
    let mut words: Vec<u64> = states.concat();
    words.extend_from_slice(&[0; PAD_WORDS]);
    let block = Block::new(&words, first.len(), states.len());
    archive.admit(&[block], &mut Vec::new())?;
    Ok(())
}
