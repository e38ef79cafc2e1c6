//! The sorted archive: delayed duplicate detection over sorted, compressed runs on disk.
//!
//! States are kept in full and compared in full, so it is exact; or, if asked for, as wide
//! signatures, with a bound on what they may lose. The offered states are sorted and joined with
//! every run in one pass upwards; those that are in none are written as a new run, in the same pass.
//! Blocks without a candidate are not read. Runs are merged in geometric tiers, so that each state is
//! written about log₄(states / states per call) times.
//!
//! What no run has is known without reading, mostly, by a filter in memory over all of them (`sorted/sketch.rs`). It helps where what
//! was found lately fits into memory, so that those who ask have new states: a power plant of many narrow levels reads a fifth of what it
//! read, and takes 79 s instead of 137. Where memory is shorter, what is asked for is old as often as new, and time stays within noise.
//!
//! Delayed duplicate detection is Stern and Dill's (CAV 1998) and Korf's (AAAI 2004); tiers are those
//! of log-structured merge trees (O'Neil et al. 1996). The format of blocks is in `sorted/block.rs`.
//!
//! Invariants: the runs have no state in common; a call that fails leaves the runs as they were, so
//! that the same states can be offered again; merging comes before joining, so that no answer is lost
//! by a merge that fails. Files of runs never change, so a checkpoint shares them (as second names of
//! the same files, where the file system can do that).

mod block;
mod code;
mod order;
mod pack;
mod passes;
mod run;
mod sketch;
#[cfg(test)]
mod tests;

use crate::hash::hash;
use crate::signatures::Signer;
use code::{Coding, Key, Narrow, Wide};
use ergodic_disk::{Dir, DiskError, File, Trouble};
use ergodic_system::{Archive, Block, Exhausted, Figure, Losses, Shape};
use order::{Entry, Offer, Offered};
use passes::{Part, Plan, share};
pub use run::RunInfo;
use run::{Cursor, Index, Run};
use sketch::Sketch;
use std::path::Path;

/// Runs of similar size that are merged.
const FAN: usize = 4;
/// With more runs than this the smaller ones are merged, whatever their sizes.
const MAX_RUNS: usize = 12;
/// Runs with fewer states are all of similar size.
const SMALL_RUN: u64 = 1 << 12;
/// Fewer states are not worth a thread. (Tests have few states and want threads all the same.)
const STATES_PER_THREAD: u64 = if cfg!(test) { 16 } else { 1 << 15 };
/// No single read or write is larger.
const MAX_BATCH: u64 = 1 << 20;
/// Bytes of a block, about.
const BLOCK_BYTES: usize = 1 << 15;
/// The part of an archive's memory that is for its sketch.
const SKETCH_PERCENT: u64 = 40;
/// Ranges of one join or merge, at most.
const MAX_RANGES: usize = 4096;

/// States that go into the sketch together.
const HASHES: usize = 1024;

/// What is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// The states themselves.
    States,
    /// Signatures of 16 to 128 bits, of a universal hash function chosen by `seed`.
    Signatures {
        /// Their width.
        bits: u32,
        /// Which function.
        seed: u64,
    },
}

/// How a [`SortedArchive`] works.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes of memory for buffers of all kinds, besides the index.
    pub buffer_bytes: u64,
    /// Bytes of memory for telling what the runs do not have.
    pub sketch_bytes: u64,
    /// Threads that work on a call.
    pub threads: usize,
    /// What is sorted.
    pub keys: Keys,
    /// Bytes of a block; only tests want other than the default.
    pub block_bytes: usize,
}

impl Settings {
    /// Exact, with so many bytes of memory, besides the index, and so many threads.
    pub fn new(bytes: u64, threads: usize) -> Settings {
        let sketch_bytes = bytes / 100 * SKETCH_PERCENT;
        let (buffer_bytes, keys) = (bytes - sketch_bytes, Keys::States);
        Settings { buffer_bytes, sketch_bytes, threads, keys, block_bytes: BLOCK_BYTES }
    }
}

/// Visited states in sorted runs on disk.
pub struct SortedArchive {
    dir: Dir,
    coding: Coding,
    signer: Option<Signer>,
    settings: Settings,
    /// The oldest, and mostly the largest, first.
    runs: Vec<Run>,
    /// Of all runs; `None` if there are too many states for it.
    sketch: Option<Sketch>,
    /// Bits of a key.
    bits: usize,
    states: u64,
    read: u64,
    written: u64,
    /// With fewer runs no merge is tried: the disk was too full for one.
    patience: usize,
}

impl std::fmt::Debug for SortedArchive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("SortedArchive");
        shown.field("states", &self.states).field("runs", &self.runs).finish_non_exhaustive()
    }
}

impl SortedArchive {
    /// An empty archive for states of this shape with its files in `dir`.
    pub fn new(dir: Dir, shape: Shape, settings: Settings) -> SortedArchive {
        let signer = match settings.keys {
            Keys::States => None,
            Keys::Signatures { bits, seed } => Some(Signer::new(shape.words, bits, seed)),
        };
        let kept = signer.as_ref().map_or(shape, |signer| Shape::of_bits(signer.bits() as usize));
        SortedArchive {
            dir,
            coding: Coding::new(kept.words, kept.bits),
            signer,
            settings,
            runs: Vec::new(),
            sketch: Sketch::new(settings.sketch_bytes),
            bits: kept.bits,
            states: 0,
            read: 0,
            written: 0,
            patience: 0,
        }
    }

    /// The archive that [`Archive::save`] put into the directory `from` and described so, with the
    /// same shape and keys. Every frame is read and checked. It works in `dir` and leaves what is in
    /// `from` as it is.
    pub fn open(
        dir: Dir,
        shape: Shape,
        from: &Path,
        description: &[u8],
        settings: Settings,
    ) -> Result<SortedArchive, DiskError> {
        let mut archive = SortedArchive::new(dir, shape, settings);
        let runs = archive.read_description(description).map_err(|text| {
            DiskError::damaged(from, format!("the description of the sorted archive {text}"))
        })?;
        for info in &runs {
            let file = archive.dir.adopt("run", &from.join(&info.name))?;
            let run = Run::reopen(file, info, archive.coding.words)?;
            archive.read += info.bytes;
            archive.states += run.states;
            archive.runs.push(run);
        }
        archive.fill_sketch()?;
        Ok(archive)
    }

    /// Puts all states of all runs into an empty sketch.
    fn fill_sketch(&mut self) -> Result<(), DiskError> {
        let sketch = self.sketch.take().filter(|sketch| sketch.has_room(self.states));
        let Some(mut sketch) = sketch else {
            self.give_sketch_up();
            return Ok(());
        };
        let (narrow, mut hashes) = (self.coding.words <= 2, Vec::with_capacity(HASHES));
        self.each(|state| {
            hashes.push(match narrow {
                true => Narrow::hash(Narrow::target(state)),
                false => Wide::hash(state),
            });
            if hashes.len() == HASHES {
                sketch.put(&hashes);
                hashes.clear();
            }
        })?;
        sketch.put(&hashes);
        self.sketch = Some(sketch);
        Ok(())
    }

    /// Buffers get the memory of the sketch.
    fn give_sketch_up(&mut self) {
        self.sketch = None;
        self.settings.buffer_bytes += std::mem::take(&mut self.settings.sketch_bytes);
    }

    /// Notes in the sketch what was admitted; gives it up if that is too much.
    fn note_in_sketch<K: Offer>(&mut self, offered: &[Block<'_>], fresh: &[(u32, u32)]) {
        let more = fresh.len() as u64;
        let Some(sketch) = self.sketch.as_mut().filter(|sketch| sketch.has_room(more)) else {
            return self.give_sketch_up();
        };
        let mut hashes = Vec::with_capacity(fresh.len().min(HASHES));
        for some in fresh.chunks(HASHES) {
            let state = |(block, at): &(u32, u32)| offered[*block as usize].state(*at as usize);
            let hash = |place| K::hash(K::of(state(place), self.signer.as_ref()));
            hashes.clear();
            hashes.extend(some.iter().map(hash));
            sketch.put(&hashes);
        }
    }

    /// The runs as they are.
    pub fn manifest(&self) -> Vec<RunInfo> {
        self.runs.iter().map(Run::info).collect()
    }

    /// First line of a description.
    fn heading(&self) -> String {
        let (words, bits) = (self.coding.words, self.bits);
        format!("sorted runs 2: {words} words, {bits} bits, {:?}", self.settings.keys)
    }

    fn describe(&self) -> String {
        let mut text = self.heading();
        for RunInfo { name, bytes, states, sum } in self.manifest() {
            text.push_str(&format!("\n{name} {bytes} {states} {sum}"));
        }
        text.push_str(&format!("\nend {}", checksum(&text)));
        text
    }

    /// The runs of a description, or what is wrong with it.
    fn read_description(&self, description: &[u8]) -> Result<Vec<RunInfo>, String> {
        let text = std::str::from_utf8(description).map_err(|_| "is damaged")?;
        let (body, end) = text.rsplit_once("\nend ").ok_or("is cut short")?;
        if end.parse() != Ok(checksum(body)) {
            return Err("is damaged".into());
        }
        let mut lines = body.lines();
        let (found, expected) = (lines.next().unwrap_or_default(), self.heading());
        if found != expected {
            return Err(format!("is for \"{found}\", not \"{expected}\""));
        }
        let run = |line: &str| {
            let mut parts = line.split(' ');
            let name = parts.next()?.to_owned();
            let mut number = || parts.next()?.parse().ok();
            Some(RunInfo { name, bytes: number()?, states: number()?, sum: number()? })
        };
        let runs = lines.map(|line| run(line).ok_or_else(|| format!("has a line \"{line}\"")));
        runs.collect()
    }

    /// Calls `f` with every state held (or signature, if these are the keys), in no useful order.
    pub fn each(&mut self, mut f: impl FnMut(&[u64])) -> Result<(), DiskError> {
        let mut state = Vec::new();
        for run in &self.runs {
            if self.coding.words <= 2 {
                each_of::<Narrow>(run, &self.coding, &mut state, &mut f)?;
            } else {
                each_of::<Wide>(run, &self.coding, &mut state, &mut f)?;
            }
            self.read += run.file.len();
        }
        Ok(())
    }

    /// Bytes of all runs on disk.
    pub fn disk_bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.file.len()).sum()
    }

    /// Bytes that one cursor or writer may use, if there are so many readers in each thread.
    fn batch_bytes(&self, readers: usize, threads: usize) -> usize {
        let buffers = (threads * (readers + 1)) as u64;
        (self.settings.buffer_bytes / 2 / buffers).min(MAX_BATCH) as usize
    }

    /// Runs of at most so many bytes stay in memory, until they are merged: to make a file takes longer than
    /// to write so little. There are few of them at a time.
    fn small_file(&self) -> u64 {
        let share = self.settings.buffer_bytes / (4 * FAN as u64);
        share.min(self.settings.block_bytes as u64)
    }

    fn threads_for(&self, states: u64) -> usize {
        let useful = states.div_ceil(STATES_PER_THREAD).max(1);
        useful.min(self.settings.threads as u64).max(1) as usize
    }

    /// Does a pass that writes a new run; the file is gone if it fails or nothing is written.
    fn write_run(
        &mut self,
        pass: impl FnOnce(&SortedArchive, &File) -> Result<Vec<Part>, DiskError>,
    ) -> Result<(Option<Run>, Vec<Part>), DiskError> {
        let file = self.dir.create_late("run", self.small_file())?;
        let mut parts = match pass(self, &file) {
            Ok(parts) => parts,
            Err(error) => {
                // The first error is the one to report.
                let _ = file.remove();
                return Err(error);
            }
        };
        let mut index = Index::default();
        for part in &mut parts {
            index.append(std::mem::take(&mut part.index));
            self.read += part.read;
        }
        self.written += if file.memory() > 0 { 0 } else { file.len() };
        if index.blocks() == 0 {
            file.remove()?;
            return Ok((None, parts));
        }
        Ok((Some(Run::new(file, index)), parts))
    }

    fn join<K: Offer>(
        &self,
        file: &File,
        offered: &Offered<'_>,
        threads: usize,
    ) -> Result<Vec<Part>, DiskError> {
        let total = offered.len();
        let entries = self.settings.buffer_bytes / 2 / threads as u64 / size_of::<Entry>() as u64;
        let ranges = (total as u64).div_ceil(entries.max(16)) as usize;
        let ranges = if threads == 1 { ranges } else { ranges.next_multiple_of(threads) };
        let ranges = ranges.clamp(1, MAX_RANGES);
        let splitters = offered.splitters::<K>(ranges);
        let plan = Plan {
            coding: &self.coding,
            runs: &self.runs,
            sketch: self.sketch.as_ref(),
            file,
            block_bytes: self.settings.block_bytes,
            batch_bytes: self.batch_bytes(self.runs.len(), threads),
        };
        share(splitters.len() + 1, threads, |range| {
            let low = range.checked_sub(1).map(|i| splitters[i]);
            let high = splitters.get(range).copied();
            let expected = total / ranges + total / ranges / 8;
            let entries = offered.sorted::<K>(low, high, expected, self.coding.words);
            plan.join::<K>(offered, &entries)
        })
    }

    /// Merges runs as the tiers want it.
    fn compact(&mut self) -> Result<(), DiskError> {
        loop {
            let sizes: Vec<u64> = self.runs.iter().map(|run| run.states).collect();
            let chosen = tier(&sizes);
            if chosen.is_empty() || self.runs.len() < self.patience {
                return Ok(());
            }
            let bytes: u64 = chosen.iter().map(|i| self.runs[*i].file.len()).sum();
            if self.dir.free()? < bytes + bytes / 8 {
                self.patience = self.runs.len() + FAN;
                return Ok(());
            }
            match self.merge(&chosen) {
                Ok(()) => self.patience = 0,
                // The runs are as they were: go on with more of them.
                Err(error) if error.trouble == Trouble::Full => {
                    self.patience = self.runs.len() + FAN;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes one run of those at the `chosen` positions, which ascend.
    fn merge(&mut self, chosen: &[usize]) -> Result<(), DiskError> {
        let all = std::mem::take(&mut self.runs);
        let (mut old, mut rest) = (Vec::new(), Vec::new());
        for (i, run) in all.into_iter().enumerate() {
            if chosen.contains(&i) { old.push(run) } else { rest.push(run) }
        }
        let states: u64 = old.iter().map(|run| run.states).sum();
        let written = self.write_run(|archive, file| {
            if archive.coding.words <= 2 {
                archive.merge_runs::<Narrow>(&old, file, states)
            } else {
                archive.merge_runs::<Wide>(&old, file, states)
            }
        });
        let whole = written.and_then(|(run, _)| match run {
            Some(run) if run.states == states => Ok(run),
            run => {
                let found = run.as_ref().map_or(0, |run| run.states);
                if let Some(run) = run {
                    run.file.remove()?;
                }
                let text = format!("merging gave {found} states and should give {states}");
                Err(DiskError::damaged(self.dir.path(), text))
            }
        });
        match whole {
            Err(error) => {
                self.runs = old;
                self.runs.append(&mut rest);
                self.sort_runs();
                Err(error)
            }
            Ok(run) => {
                self.runs = rest;
                self.runs.push(run);
                self.sort_runs();
                old.into_iter().try_for_each(|run| run.file.remove())
            }
        }
    }

    fn sort_runs(&mut self) {
        self.runs.sort_by_key(|run| std::cmp::Reverse(run.states));
    }

    fn merge_runs<K: Key>(
        &self,
        runs: &[Run],
        file: &File,
        states: u64,
    ) -> Result<Vec<Part>, DiskError> {
        let threads = self.threads_for(states);
        let Some(largest) = runs.iter().max_by_key(|run| run.states) else { return Ok(Vec::new()) };
        let blocks = largest.index.blocks();
        let ranges = threads.min(blocks);
        let bound = |i: usize| {
            let inner = i > 0 && i < ranges;
            inner.then(|| largest.index.first(i * blocks / ranges, self.coding.words))
        };
        let plan = Plan {
            coding: &self.coding,
            runs,
            sketch: None,
            file,
            block_bytes: self.settings.block_bytes,
            batch_bytes: self.batch_bytes(runs.len(), threads),
        };
        share(ranges, threads, |i| {
            plan.merge::<K>(bound(i).map(K::target), bound(i + 1).map(K::target))
        })
    }

    fn take_over(
        &mut self,
        blocks: &[Block<'_>],
        fresh: &mut Vec<(u32, u32)>,
    ) -> Result<(), DiskError> {
        self.compact()?;
        let total: usize = blocks.iter().map(Block::len).sum();
        if total == 0 {
            return Ok(());
        }
        let threads = self.threads_for(self.states + total as u64);
        let (run, parts) = self.write_run(|archive, file| {
            let offered = Offered { blocks, signer: archive.signer.as_ref() };
            if archive.coding.words <= 2 {
                archive.join::<Narrow>(file, &offered, threads)
            } else {
                archive.join::<Wide>(file, &offered, threads)
            }
        })?;
        for mut part in parts {
            fresh.append(&mut part.fresh);
        }
        if self.coding.words <= 2 {
            self.note_in_sketch::<Narrow>(blocks, fresh);
        } else {
            self.note_in_sketch::<Wide>(blocks, fresh);
        }
        self.states += fresh.len() as u64;
        self.runs.extend(run);
        Ok(())
    }
}

fn checksum(text: &str) -> u64 {
    let words: Vec<u64> = text.bytes().map(u64::from).collect();
    hash(&words)
}

/// Positions of the runs to merge, given their sizes: all that are not larger than the largest size
/// of which there are enough; if there are too many runs, the smaller half.
fn tier(sizes: &[u64]) -> Vec<usize> {
    let class = |size: u64| size.max(SMALL_RUN).ilog2() / FAN.ilog2();
    let enough = |c: &u32| sizes.iter().filter(|size| class(**size) == *c).count() >= FAN;
    let largest = sizes.iter().map(|size| class(*size)).filter(enough).max();
    if let Some(largest) = largest {
        return (0..sizes.len()).filter(|i| class(sizes[*i]) <= largest).collect();
    }
    if sizes.len() <= MAX_RUNS {
        return Vec::new();
    }
    let mut by_size: Vec<usize> = (0..sizes.len()).collect();
    by_size.sort_by_key(|i| sizes[*i]);
    by_size.truncate(sizes.len().div_ceil(2));
    by_size.sort_unstable();
    by_size
}

fn each_of<K: Key>(
    run: &Run,
    coding: &Coding,
    state: &mut Vec<u64>,
    f: &mut impl FnMut(&[u64]),
) -> Result<(), DiskError> {
    let mut cursor = Cursor::<K>::new(run, coding, MAX_BATCH as usize);
    while let Some(key) = cursor.current() {
        state.clear();
        K::append(key, coding.words, state);
        f(state);
        cursor.next()?;
    }
    Ok(())
}

impl Archive for SortedArchive {
    /// The fresh places are in the order of their states; of equal states the first is fresh.
    fn admit(
        &mut self,
        offered: &[Block<'_>],
        fresh: &mut Vec<(u32, u32)>,
    ) -> Result<(), Exhausted> {
        fresh.clear();
        self.take_over(offered, fresh).map_err(|e| Exhausted::Other(e.to_string()))
    }

    /// The description is for [`SortedArchive::open`].
    fn save(&mut self, dir: &Path) -> Result<Vec<u8>, Exhausted> {
        let mut files = self.runs.iter().map(|run| &run.file);
        let shared = files.try_for_each(|file| file.share_with(dir));
        shared.map_err(|e| Exhausted::Other(e.to_string()))?;
        Ok(self.describe().into_bytes())
    }

    /// The index, the sketch, and what buffers may use during a call.
    fn bytes(&self) -> u64 {
        let sketch = self.sketch.as_ref().map_or(0, Sketch::bytes);
        self.runs.iter().map(Run::bytes).sum::<u64>() + sketch + self.settings.buffer_bytes
    }

    fn states(&self) -> u64 {
        self.states
    }

    fn losses(&self) -> Losses {
        let states = self.states as f64;
        let apart = self.signer.as_ref().map_or(0.0, |signer| (-f64::from(signer.bits())).exp2());
        let disk = self.disk_bytes() as f64;
        let figure = |key, title, value| Figure { key, title, value };
        Losses {
            // Each of the n(n-1)/2 pairs of states has equal signatures with this probability.
            omission: (states * (states - 1.0).max(0.0) / 2.0 * apart).min(1.0),
            path_omission: (states * apart).min(1.0),
            forgets: false,
            figures: vec![
                figure("disk_bytes", "bytes on disk", disk),
                figure("bytes_read", "bytes read", self.read as f64),
                figure("bytes_written", "bytes written", self.written as f64),
                figure("runs", "sorted runs", self.runs.len() as f64),
                figure("bytes_per_state", "bytes per state on disk", disk / states.max(1.0)),
            ],
        }
    }
}
