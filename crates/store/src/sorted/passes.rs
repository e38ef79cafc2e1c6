//! The two passes over runs: joining with offered states, and merging. Both work on contiguous
//! ranges of states, so that workers share nothing but files.
//!
//! A join takes the sorted entries of its range in chunks. For each chunk it asks the sketch which states
//! may be in the runs, and for these run by run, the newest first, those that are not known yet; then the
//! rest is fresh and is written. So the states of a chunk are fetched once and stay in the cache, and every
//! run is read upwards, once.

use super::code::{Coding, Key};
use super::order::{Entry, Offer, Offered, place};
use super::run::{Cursor, Index, Run, RunWriter};
use super::sketch::Sketch;
use ergodic_disk::{DiskError, File};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// States of a chunk.
const CHUNK: usize = 4096;

/// What both passes work with.
#[derive(Clone, Copy)]
pub(super) struct Plan<'a> {
    pub coding: &'a Coding,
    /// Runs to read, the oldest first.
    pub runs: &'a [Run],
    /// What the runs surely do not have.
    pub sketch: Option<&'a Sketch>,
    /// Where the new run is written.
    pub file: &'a File,
    /// Bytes of a block.
    pub block_bytes: usize,
    /// Bytes that a cursor or writer may read or write at a time.
    pub batch_bytes: usize,
}

/// What one range gave.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// Places of fresh states, in the order of states.
    pub fresh: Vec<(u32, u32)>,
    /// The blocks that were written.
    pub index: Index,
    /// Bytes read.
    pub read: u64,
}

impl<'a> Plan<'a> {
    fn cursors<K: Key>(&self) -> Vec<Cursor<'a, K>> {
        let most = self.batch_bytes;
        self.runs.iter().map(|run| Cursor::new(run, self.coding, most)).collect()
    }

    fn writer<K: Key>(&self) -> RunWriter<'a, K> {
        RunWriter::new(self.file, self.coding, self.block_bytes, self.batch_bytes)
    }

    /// Looks for sorted offered states in all runs and writes those that are in none.
    pub fn join<K: Offer>(
        &self,
        offered: &Offered<'_>,
        entries: &[Entry],
    ) -> Result<Part, DiskError> {
        let (mut cursors, mut writer) = (self.cursors::<K>(), self.writer::<K>());
        let (mut targets, mut known) = (Vec::with_capacity(CHUNK), Vec::with_capacity(CHUNK));
        let (mut hashes, mut may_be) = (Vec::new(), Vec::new());
        let (mut part, mut last) = (Part::default(), None);
        for chunk in entries.chunks(CHUNK) {
            targets.clear();
            targets.extend(chunk.iter().map(|entry| offered.target::<K>(*entry)));
            known.clear();
            // Of equal ones the first counts.
            for target in &targets {
                known.push(last.replace(*target) == Some(*target));
            }
            match self.sketch {
                Some(sketch) => {
                    hashes.clear();
                    hashes.extend(targets.iter().map(|target| K::hash(*target)));
                    sketch.ask(&hashes, &mut may_be);
                }
                None => may_be.resize(targets.len(), true),
            }
            for cursor in cursors.iter_mut().rev() {
                for ((target, known), may_be) in targets.iter().zip(&mut known).zip(&may_be) {
                    if !*known && *may_be {
                        *known = cursor.seek(*target)?;
                    }
                }
            }
            for ((target, entry), known) in targets.iter().zip(chunk).zip(&known) {
                if !known {
                    writer.push(*target)?;
                    part.fresh.push(place(*entry));
                }
            }
        }
        part.index = writer.finish()?;
        part.read = cursors.iter().map(|cursor| cursor.read).sum();
        Ok(part)
    }

    /// Merges the states from `low` on and below `high` of all runs, which have none in common.
    pub fn merge<K: Key>(
        &self,
        low: Option<K::Target<'_>>,
        high: Option<K::Target<'_>>,
    ) -> Result<Part, DiskError> {
        let (mut cursors, mut writer) = (self.cursors::<K>(), self.writer::<K>());
        if let Some(low) = low {
            for cursor in &mut cursors {
                cursor.seek(low)?;
            }
        }
        let inside = |cursor: &Cursor<'_, K>| {
            cursor.current().is_some_and(|state| high.is_none_or(|high| K::less(state, high)))
        };
        // Cursors by their states: the smallest first, so that mostly little moves.
        let mut order: Vec<usize> = (0..cursors.len()).filter(|i| inside(&cursors[*i])).collect();
        order.sort_by(|a, b| cursors[*a].current().cmp(&cursors[*b].current()));
        while let Some(smallest) = order.first().copied() {
            let cursor = &mut cursors[smallest];
            if let Some(state) = cursor.current() {
                writer.push(state)?;
            }
            cursor.next()?;
            if !inside(cursor) {
                order.remove(0);
                continue;
            }
            let mut i = 1;
            while i < order.len() && cursors[order[i]].current() < cursors[smallest].current() {
                order.swap(i - 1, i);
                i += 1;
            }
        }
        let read = cursors.iter().map(|cursor| cursor.read).sum();
        Ok(Part { fresh: Vec::new(), index: writer.finish()?, read })
    }
}

/// Does `jobs` jobs on at most `threads` threads; their results in order, or the first error.
pub(super) fn share<T: Send>(
    jobs: usize,
    threads: usize,
    work: impl Fn(usize) -> Result<T, DiskError> + Sync,
) -> Result<Vec<T>, DiskError> {
    if threads <= 1 || jobs <= 1 {
        return (0..jobs).map(work).collect();
    }
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let worker = || {
        let mut done = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                break;
            }
            let result = work(job);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.push((job, result));
        }
        done
    };
    let mut results = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..threads.min(jobs)).map(|_| scope.spawn(worker)).collect();
        let mut results = worker();
        for worker in workers {
            match worker.join() {
                Ok(done) => results.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_by_key(|(job, _)| *job);
    results.into_iter().map(|(_, result)| result).collect()
}
