//! Sorted runs: immutable files of blocks, with a sparse index in memory.
//!
//! A run is a file of checksummed frames, each of which is one block of [`super::block`]. The index
//! gives the first state of every block and where the block is, in the order of states. The blocks
//! of a run written by several workers stand in the file as the workers came to write them; blocks
//! of one worker written together stand together, so that reading in order is mostly sequential.
//!
//! Invariants: blocks are not empty; all states of a block are less than the first of the next one
//! in the index; a run that is there was written completely, and is never changed.

use super::block::{Builder, Inside, head};
use super::code::{Coding, Key, SLACK};
use crate::hash::hash;
use ergodic_disk::{DiskError, File, frames};
use std::cmp::Ordering;

/// Most states of a block, so that looking for one does not decode too many.
const MAX_STATES: usize = 1 << 14;

/// Where a block is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub offset: u64,
    /// Bytes of its frame.
    pub len: u32,
    /// States in it.
    pub count: u32,
}

/// The blocks of a run in order.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The first state of each block.
    firsts: Vec<u64>,
    spots: Vec<Spot>,
}

impl Index {
    /// Puts the blocks of another index behind these.
    pub fn append(&mut self, mut other: Index) {
        self.firsts.append(&mut other.firsts);
        self.spots.append(&mut other.spots);
    }

    pub fn blocks(&self) -> usize {
        self.spots.len()
    }

    /// The first state of a block.
    #[inline]
    pub fn first(&self, block: usize, words: usize) -> &[u64] {
        &self.firsts[block * words..(block + 1) * words]
    }

    fn states(&self) -> u64 {
        self.spots.iter().map(|spot| u64::from(spot.count)).sum()
    }

    fn bytes(&self) -> u64 {
        8 * self.firsts.capacity() as u64 + (self.spots.capacity() * size_of::<Spot>()) as u64
    }

    /// A checksum of everything in it.
    fn sum(&self) -> u64 {
        let mut sum = hash(&self.firsts);
        for spot in &self.spots {
            sum = hash(&[sum, spot.offset, u64::from(spot.len) << 32 | u64::from(spot.count)]);
        }
        sum
    }

    fn shrink(&mut self) {
        self.firsts.shrink_to_fit();
        self.spots.shrink_to_fit();
    }
}

/// A run, in words that can be written to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    /// Name of its file.
    pub name: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// States in it.
    pub states: u64,
    /// Checksum of its index: of the first state and the place of every block.
    pub sum: u64,
}

/// A sorted file and its index.
#[derive(Debug)]
pub(super) struct Run {
    pub file: File,
    pub index: Index,
    pub states: u64,
}

impl Run {
    /// A run from its complete file.
    pub fn new(file: File, mut index: Index) -> Run {
        index.shrink();
        let states = index.states();
        Run { file, index, states }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
        size_of::<Run>() as u64 + self.index.bytes() + self.file.memory()
    }

    /// What a checkpoint needs to know.
    pub fn info(&self) -> RunInfo {
        let (name, bytes) = (self.file.name(), self.file.len());
        RunInfo { name, bytes, states: self.states, sum: self.index.sum() }
    }

    /// Reads the frames of a file through and makes the index of it again.
    pub fn reopen(file: File, info: &RunInfo, words: usize) -> Result<Run, DiskError> {
        let damaged = |text: String| DiskError::damaged(file.path(), text);
        if file.len() != info.bytes {
            let text = format!("it has {} bytes and should have {}", file.len(), info.bytes);
            return Err(damaged(text));
        }
        let (mut offset, mut payload, mut blocks) = (0, Vec::new(), Vec::new());
        while offset < file.len() {
            let end = frames::read(&file, offset, &mut payload)?;
            let Some((count, first)) = head(&payload, words) else {
                return Err(damaged(format!("the block at byte {offset} is too short")));
            };
            blocks.push((first, Spot { offset, len: (end - offset) as u32, count }));
            offset = end;
        }
        blocks.sort_by(|a, b| a.0.cmp(&b.0));
        let mut index = Index::default();
        for (first, spot) in blocks {
            index.firsts.extend(first);
            index.spots.push(spot);
        }
        let run = Run::new(file, index);
        if run.states != info.states || run.index.sum() != info.sum {
            let text = "its blocks are not those that the checkpoint names";
            return Err(DiskError::damaged(run.file.path(), text));
        }
        Ok(run)
    }
}

/// Writes one ascending sequence of states as blocks. Several writers may append to one file.
pub(super) struct RunWriter<'a, K> {
    file: &'a File,
    coding: &'a Coding,
    /// A block ends when it has so many bytes.
    block_bytes: usize,
    /// Blocks are written together when they have so many bytes.
    batch_bytes: usize,
    block: Builder<K>,
    /// Finished frames.
    out: Vec<u8>,
    index: Index,
    /// Blocks of the index that are written.
    written: usize,
}

impl<'a, K: Key> RunWriter<'a, K> {
    pub fn new(file: &'a File, coding: &'a Coding, block_bytes: usize, batch_bytes: usize) -> Self {
        RunWriter {
            file,
            coding,
            block_bytes,
            batch_bytes,
            block: Builder::new(coding),
            out: Vec::new(),
            index: Index::default(),
            written: 0,
        }
    }

    /// Appends a state, which is greater than all before.
    #[inline]
    pub fn push(&mut self, state: K::Target<'_>) -> Result<(), DiskError> {
        if !self.block.push(state, self.coding) {
            let text = "a state has bits that its shape excludes";
            return Err(DiskError::damaged(self.file.path(), text));
        }
        let full = self.block.count() as usize == MAX_STATES;
        if full || self.block.bytes(self.coding) >= self.block_bytes {
            self.end_block()?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), DiskError> {
        let count = self.block.count();
        if count == 0 {
            return Ok(());
        }
        let start = self.out.len();
        self.index.firsts.extend_from_slice(self.block.start());
        self.out.resize(start + frames::HEADER, 0);
        self.block.finish(&mut self.out);
        frames::seal(&mut self.out[start..]);
        let len = (self.out.len() - start) as u32;
        self.index.spots.push(Spot { offset: start as u64, len, count });
        if self.out.len() >= self.batch_bytes { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), DiskError> {
        if !self.out.is_empty() {
            let at = self.file.append(&self.out)?;
            for spot in &mut self.index.spots[self.written..] {
                spot.offset += at;
            }
            self.written = self.index.blocks();
            self.out.clear();
        }
        Ok(())
    }

    /// Writes what is left and gives the blocks.
    pub fn finish(mut self) -> Result<Index, DiskError> {
        self.end_block()?;
        self.flush()?;
        Ok(self.index)
    }
}

/// Goes through a run upwards, and skips blocks where it can.
pub(super) struct Cursor<'a, K> {
    run: &'a Run,
    coding: &'a Coding,
    /// The current state, unless `block` is behind the last block.
    key: K,
    block: usize,
    /// Where reading stands in the block; only its first state is known if it is not loaded.
    inside: Inside<K>,
    loaded: bool,
    buffer: Vec<u8>,
    /// Where in the file the buffer starts, and how many bytes of it are of the file.
    from: u64,
    filled: usize,
    /// Bytes to read at a time when reading in order.
    most: usize,
    /// Bytes read.
    pub read: u64,
}

impl<'a, K: Key> Cursor<'a, K> {
    /// At the first state of a run. Reads at most `most` bytes at a time, or one block.
    pub fn new(run: &'a Run, coding: &'a Coding, most: usize) -> Self {
        let mut cursor = Cursor {
            run,
            coding,
            key: K::zero(coding.words),
            block: 0,
            inside: Inside::new(coding),
            loaded: false,
            buffer: Vec::new(),
            from: 0,
            filled: 0,
            most,
            read: 0,
        };
        cursor.go_to(0);
        cursor
    }

    fn first(&self, block: usize) -> Option<K::Target<'a>> {
        let index: &'a Index = &self.run.index;
        (block < index.blocks()).then(|| K::target(index.first(block, self.coding.words)))
    }

    fn go_to(&mut self, block: usize) {
        self.block = block;
        self.loaded = false;
        if let Some(first) = self.first(block) {
            self.key.set(first);
        }
    }

    /// The current state; `None` behind the last.
    #[inline]
    pub fn current(&self) -> Option<K::Target<'_>> {
        (self.block < self.run.index.blocks()).then(|| self.key.as_target())
    }

    /// Goes up to the first state that is not less than `target`; whether it is equal.
    #[inline]
    pub fn seek(&mut self, target: K::Target<'_>) -> Result<bool, DiskError> {
        while self.block < self.run.index.blocks() {
            match self.key.compare(target) {
                Ordering::Less => {}
                Ordering::Equal => return Ok(true),
                Ordering::Greater => return Ok(false),
            }
            if self.first(self.block + 1).is_some_and(|first| !K::less(target, first)) {
                self.skip(target);
                continue;
            }
            self.load()?;
            if !self.inside.seek(&mut self.key, self.coding, &self.buffer, target) {
                self.end_block()?;
            }
        }
        Ok(false)
    }

    /// Goes to the last block that does not start behind `target`: doubling steps, then halving.
    fn skip(&mut self, target: K::Target<'_>) {
        let not_behind = |block| self.first(block).is_some_and(|first| !K::less(target, first));
        let (mut low, mut step) = (self.block + 1, 1);
        while not_behind(low + step) {
            low += step;
            step *= 2;
        }
        while step > 1 {
            step /= 2;
            if not_behind(low + step) {
                low += step;
            }
        }
        self.go_to(low);
    }

    /// Goes to the next state.
    #[inline]
    pub fn next(&mut self) -> Result<(), DiskError> {
        if self.block < self.run.index.blocks() {
            self.load()?;
            if !self.inside.step(&mut self.key, self.coding, &self.buffer) {
                return self.end_block();
            }
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), DiskError> {
        if !self.inside.is_at_end() {
            return Err(self.damaged());
        }
        self.go_to(self.block + 1);
        Ok(())
    }

    fn damaged(&self) -> DiskError {
        let offset = self.run.index.spots[self.block].offset;
        let text = format!("the block at byte {offset} is not what was written there");
        DiskError::damaged(self.run.file.path(), text)
    }

    /// Makes sure that the current block is in the buffer.
    #[inline]
    fn load(&mut self) -> Result<(), DiskError> {
        if self.loaded { Ok(()) } else { self.read_block() }
    }

    fn read_block(&mut self) -> Result<(), DiskError> {
        let spot = self.run.index.spots[self.block];
        let buffered = self.from..self.from + self.filled as u64;
        if !(buffered.contains(&spot.offset) && spot.offset + u64::from(spot.len) <= buffered.end) {
            self.fill(spot)?;
        }
        let start = (spot.offset - self.from) as usize;
        let frame = &self.buffer[start..start + spot.len as usize];
        let payload = frames::check(&self.run.file, spot.offset, frame)?;
        let words = self.coding.words;
        if !head(payload, words).is_some_and(|(count, first)| {
            count == spot.count && first == self.run.index.first(self.block, words)
        }) {
            return Err(self.damaged());
        }
        let place = (start + frames::HEADER, start + spot.len as usize);
        let first = self.key.as_target();
        self.inside.enter(self.coding, &self.buffer, place, spot.count as usize, first);
        self.loaded = true;
        Ok(())
    }

    /// Reads a block and, if it follows what was read before, twice as much as before.
    fn fill(&mut self, spot: Spot) -> Result<(), DiskError> {
        let follows = self.filled > 0 && spot.offset == self.from + self.filled as u64;
        let want = if follows { (2 * self.filled).min(self.most) } else { 0 };
        let mut len = spot.len as usize;
        for next in &self.run.index.spots[self.block + 1..] {
            if next.offset != spot.offset + len as u64 || len + next.len as usize > want {
                break;
            }
            len += next.len as usize;
        }
        if self.buffer.len() < len + SLACK {
            self.buffer.resize(len + SLACK, 0);
        }
        // If reading fails the buffer holds nothing.
        self.filled = 0;
        self.run.file.read_at(&mut self.buffer[..len], spot.offset)?;
        (self.from, self.filled) = (spot.offset, len);
        if self.run.file.memory() == 0 {
            self.read += len as u64;
        }
        Ok(())
    }
}
