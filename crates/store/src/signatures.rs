//! The signature file: the archive of disk-based Murphi (Della Penna et al., FMCAD 2002; the disk
//! part of their serial search), with guaranteed termination and a bound that is true.
//!
//! Signatures of all states ever called fresh stand in one file D, in the order of time. A call reads
//! some blocks of D, mostly recent ones, because transitions lead mostly to recent states, and calls
//! fresh what is in none of them: old states come back now and then, but none is lost. How much is
//! read (the *cloud*, a fraction α of D) follows from measuring: every tenth call reads all blocks
//! and counts the hits inside and outside of the cloud.
//!
//! Two things differ from the original. *Termination*: partial reads could feed old states for ever,
//! so in every K-th level all calls read all of D; once all states are in D such a level gives
//! nothing. *The bound*: every candidate is compared with every signature read, on all b bits, so
//! omissions are as likely as (comparisons made) / 2ᵇ and not less; 40 bits as in the original would
//! be too few. The bound reported is that sum, so signatures are 80 bits wide unless asked otherwise.
//!
//! Invariants: a signature is in D only if its state was called fresh; D is whole frames of equally
//! many signatures, and a tail in memory, which is always compared; a call that fails leaves D as it
//! was.

mod early;
mod saved;
mod signer;
#[cfg(test)]
mod tests;

use crate::universal::Random;
pub use early::EarlyCache;
use ergodic_disk::{Dir, DiskError, File, frames};
use ergodic_system::{Archive, Block, Exhausted, Figure, Losses, Shape};
pub use signer::Signer;

/// Blocks of D, if it is large enough.
const BLOCKS: usize = 100;
/// Frames of the smallest block.
const BLOCK_FRAMES: usize = 10;
/// Bytes read or written at a time, about.
const BATCH_BYTES: usize = 1 << 20;
/// One call in so many reads everything to measure.
const CALIBRATE_EVERY: u64 = 10;
/// The cloud at first, where D begins with what another search has visited: that stands in no order of time, so
/// nearly all of it is worth reading until measuring tells more. (With a half, as for an empty D, sym/cache3 with
/// 0.3 of the memory was visited once and a half; with all of it, n_peterson took a tenth longer.)
const HANDED_OVER: f64 = 0.9;
/// Likelihood of a block by its age: 0 is the start of D, 1 its end.
const LIKELIHOOD: [(f64, f64); 4] = [(0.0, 0.1), (0.4, 0.4), (0.7, 0.6), (1.0, 1.0)];

/// How a [`SignatureFile`] works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Bits of a signature, 8 to 128.
    pub bits: u32,
    /// Chooses the hash function, and the blocks that are read.
    pub seed: u64,
    /// In one level of so many all calls read all of D.
    pub full_every: u32,
    /// Signatures of the smallest block, a multiple of ten; only tests want other than the default.
    pub block: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { bits: 80, seed: 0, full_every: 10, block: 10_000 }
    }
}

/// Signatures of visited states in a file.
#[derive(Debug)]
pub struct SignatureFile {
    dir: Dir,
    file: File,
    signer: Signer,
    settings: Settings,
    random: Random,
    /// Whole frames in the file.
    frames: usize,
    /// The signatures behind them.
    tail: Vec<u8>,
    /// Fraction of the blocks that is read.
    alpha: f64,
    /// Calibrations that found it high.
    high: u32,
    calls: u64,
    /// Whether the next call ends a level.
    ending: bool,
    /// Levels since one in which everything was read, and whether that is true of this one so far.
    levels: u32,
    full_so_far: bool,
    /// Comparisons of candidates with signatures, and the most for one candidate.
    comparisons: (f64, f64),
    blocks_read: u64,
    /// Signatures read, and those that a full read each time would have read.
    read: (f64, f64),
}

impl SignatureFile {
    /// An empty archive for states of this shape with its file in `dir`.
    pub fn new(dir: Dir, shape: Shape, settings: Settings) -> Result<SignatureFile, DiskError> {
        let file = dir.create("signatures")?;
        let signer = Signer::new(shape.words, settings.bits, settings.seed);
        Ok(SignatureFile {
            dir,
            file,
            signer,
            settings,
            random: Random::new(settings.seed ^ 0x6469_736b),
            frames: 0,
            tail: Vec::new(),
            alpha: 0.5,
            high: 0,
            calls: 0,
            ending: false,
            levels: 0,
            full_so_far: true,
            comparisons: (0.0, 0.0),
            blocks_read: 0,
            read: (0.0, 0.0),
        })
    }

    /// Holds the signatures that `visit` gives to its argument as well: what another search has visited
    /// before this one goes on. It has made so many comparisons, and so many for one state at most.
    fn begin_with(
        &mut self,
        comparisons: f64,
        most: f64,
        visit: impl FnOnce(&mut dyn FnMut(u128)),
    ) -> Result<(), Exhausted> {
        let mut writer = Appender::new(self);
        let mut result = Ok(());
        visit(&mut |signature| {
            if result.is_ok() {
                result = writer.push(signature);
            }
        });
        let written = result.and_then(|()| writer.finish());
        written.map_err(|e| Exhausted::Other(e.to_string()))?;
        self.comparisons.0 += comparisons;
        self.comparisons.1 += most;
        self.alpha = HANDED_OVER;
        Ok(())
    }

    /// Signatures in D.
    pub fn signatures(&self) -> u64 {
        (self.frames * self.frame_signatures() + self.tail.len() / self.width()) as u64
    }

    /// Bytes of a signature.
    fn width(&self) -> usize {
        self.signer.bits().div_ceil(8) as usize
    }

    fn frame_signatures(&self) -> usize {
        (self.settings.block / BLOCK_FRAMES).max(1)
    }

    /// Bytes of a frame with its header.
    fn frame_bytes(&self) -> usize {
        frames::HEADER + self.full_tail()
    }

    /// Bytes of a tail that becomes a frame.
    fn full_tail(&self) -> usize {
        self.frame_signatures() * self.width()
    }

    /// Frames of a block: at most [`BLOCKS`] blocks, each of at least [`BLOCK_FRAMES`].
    fn block_frames(&self) -> usize {
        self.frames.div_ceil(BLOCKS).max(BLOCK_FRAMES)
    }

    /// Chooses the blocks of the cloud: `true` for those in it.
    fn cloud(&mut self, blocks: usize) -> Vec<bool> {
        let wanted = ((self.alpha * blocks as f64).ceil() as usize).min(blocks);
        let age = |i: usize| (i as f64 + 0.5) / blocks as f64;
        let mut weights: Vec<f64> = (0..blocks).map(|i| likelihood(age(i))).collect();
        let mut total: f64 = weights.iter().sum();
        let mut chosen = vec![false; blocks];
        for _ in 0..wanted {
            let mut point = unit(&mut self.random) * total;
            let mut pick = None;
            for (i, weight) in weights.iter().enumerate().filter(|(i, _)| !chosen[*i]) {
                pick = Some(i);
                point -= weight;
                if point < 0.0 {
                    break;
                }
            }
            if let Some(pick) = pick {
                chosen[pick] = true;
                total -= std::mem::take(&mut weights[pick]);
            }
        }
        chosen
    }

    /// Calls `f` with the signatures of some frames.
    fn read_frames(
        &self,
        range: std::ops::Range<usize>,
        buffer: &mut Vec<u8>,
        f: &mut dyn FnMut(u128),
    ) -> Result<(), DiskError> {
        let (size, width) = (self.frame_bytes(), self.width());
        let together = (BATCH_BYTES / size).max(1);
        for start in range.clone().step_by(together) {
            let count = together.min(range.end - start);
            buffer.resize(count * size, 0);
            let offset = (start * size) as u64;
            self.file.read_at(buffer, offset)?;
            for (i, frame) in buffer.chunks_exact(size).enumerate() {
                let payload = frames::check(&self.file, offset + (i * size) as u64, frame)?;
                payload.chunks_exact(width).for_each(|bytes| f(number(bytes)));
            }
        }
        Ok(())
    }

    /// Strikes the candidates that are in D, as far as it is read. Returns whether all was read.
    fn strike(&mut self, candidates: &mut Candidates) -> Result<bool, DiskError> {
        let length = self.block_frames();
        let blocks = self.frames.div_ceil(length);
        let cloud = self.cloud(blocks);
        let calibrating = self.calls % CALIBRATE_EVERY == CALIBRATE_EVERY - 1;
        let full = calibrating || self.levels + 1 >= self.settings.full_every;
        self.tail.chunks_exact(self.width()).for_each(|bytes| {
            candidates.strike(number(bytes));
        });
        let (mut buffer, mut inside, mut outside) = (Vec::new(), 0, 0);
        let mut read = self.tail.len() / self.width();
        for block in (0..blocks).filter(|block| full || cloud[*block]) {
            let frames = block * length..((block + 1) * length).min(self.frames);
            read += frames.len() * self.frame_signatures();
            let hits = if cloud[block] { &mut inside } else { &mut outside };
            self.read_frames(frames, &mut buffer, &mut |signature| {
                *hits += u64::from(candidates.strike(signature));
            })?;
            self.blocks_read += 1;
        }
        if calibrating && cloud.contains(&false) && inside + outside > 0 {
            self.calibrate(inside, outside);
        }
        self.count(candidates.len(), read);
        Ok(full || !cloud.contains(&false))
    }

    /// Changes the size of the cloud by where the hits were.
    fn calibrate(&mut self, inside: u64, outside: u64) {
        let missed = outside as f64 / (inside + outside) as f64;
        if missed > 0.5 {
            self.alpha *= 1.15;
        } else if missed < 0.3 {
            self.alpha *= 0.85;
        }
        self.alpha = self.alpha.clamp(0.0, 1.0);
        if self.alpha >= 0.95 {
            self.high += 1;
            if self.high >= 2 {
                self.high = 0;
                if unit(&mut self.random) < 0.5 {
                    self.alpha = 0.5;
                }
            }
        }
    }

    /// Counts the comparisons of a call.
    fn count(&mut self, candidates: usize, read: usize) {
        let (candidates, read) = (candidates as f64, read as f64);
        self.comparisons.0 += candidates * read + candidates * (candidates - 1.0).max(0.0) / 2.0;
        self.comparisons.1 = self.comparisons.1.max(read + candidates);
        self.read.0 += read;
        self.read.1 += self.signatures() as f64;
    }

    fn take_over(
        &mut self,
        offered: &[Block<'_>],
        fresh: &mut Vec<(u32, u32)>,
    ) -> Result<(), DiskError> {
        let total = offered.iter().map(Block::len).sum::<usize>();
        if u32::try_from(total).is_err() {
            let text = format!("{total} states at a time are too many");
            return Err(DiskError::damaged(self.file.path(), text));
        }
        let mut candidates = Candidates::new(offered, &self.signer);
        // No need to read anything for no candidates.
        let full = total == 0 || self.strike(&mut candidates)?;
        let mut writer = Appender::new(self);
        let mut i = 0;
        for (b, block) in offered.iter().enumerate() {
            for at in 0..block.len() {
                if let Some(signature) = candidates.waiting(i) {
                    writer.push(signature)?;
                    fresh.push((b as u32, at as u32));
                }
                i += 1;
            }
        }
        writer.finish()?;
        self.calls += u64::from(total > 0);
        self.full_so_far &= full;
        if std::mem::take(&mut self.ending) {
            self.levels = if self.full_so_far { 0 } else { self.levels + 1 };
            self.full_so_far = true;
        }
        Ok(())
    }
}

/// A random number, at least 0 and less than 1.
fn unit(random: &mut Random) -> f64 {
    (random.bits() >> 11) as f64 / (1u64 << 53) as f64
}

/// The likelihood of a block of this age.
fn likelihood(age: f64) -> f64 {
    for pair in LIKELIHOOD.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        if age <= x1 {
            return y0 + (y1 - y0) * (age - x0) / (x1 - x0);
        }
    }
    1.0
}

fn number(bytes: &[u8]) -> u128 {
    let mut all = [0; 16];
    all[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(all)
}

/// Puts signatures behind D, all or none: what was not finished is taken back when it is dropped.
struct Appender<'a> {
    archive: &'a mut SignatureFile,
    /// The tail as it was, and frames that are not written yet.
    old_tail: Vec<u8>,
    waiting: Vec<u8>,
    /// Frames in the file with those that this one wrote, and with those that wait.
    frames: usize,
    done: bool,
}

impl<'a> Appender<'a> {
    fn new(archive: &'a mut SignatureFile) -> Appender<'a> {
        let (old_tail, frames) = (archive.tail.clone(), archive.frames);
        Appender { archive, old_tail, waiting: Vec::new(), frames, done: false }
    }

    fn push(&mut self, signature: u128) -> Result<(), DiskError> {
        let (width, full) = (self.archive.width(), self.archive.full_tail());
        self.archive.tail.extend_from_slice(&signature.to_le_bytes()[..width]);
        if self.archive.tail.len() == full {
            let start = self.waiting.len();
            self.waiting.resize(start + frames::HEADER, 0);
            self.waiting.append(&mut self.archive.tail);
            frames::seal(&mut self.waiting[start..]);
            if self.waiting.len() >= BATCH_BYTES {
                self.write()?;
            }
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), DiskError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let size = self.archive.frame_bytes();
        let at = self.archive.file.append(&self.waiting)?;
        if at != (self.frames * size) as u64 {
            let text = format!("it ends at byte {at} and should end after {} frames", self.frames);
            return Err(DiskError::damaged(self.archive.file.path(), text));
        }
        self.frames += self.waiting.len() / size;
        self.waiting.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<(), DiskError> {
        self.write()?;
        self.archive.frames = self.frames;
        self.done = true;
        Ok(())
    }
}

impl Drop for Appender<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.archive.tail = std::mem::take(&mut self.old_tail);
            let len = (self.archive.frames * self.archive.frame_bytes()) as u64;
            // If this fails too, the next write finds the file too long and says so.
            let _ = self.archive.file.truncate(len);
        }
    }
}

/// The candidates of a call by signature.
struct Candidates {
    /// Open addressing: position of a candidate plus one; zero is free.
    slots: Vec<u32>,
    shift: u32,
    signatures: Vec<u128>,
    /// Those that were not found yet. Of equal signatures only the first is.
    waiting: Vec<bool>,
}

impl Candidates {
    fn new(offered: &[Block<'_>], signer: &Signer) -> Candidates {
        let total: usize = offered.iter().map(Block::len).sum();
        let size = (2 * total).next_power_of_two().max(2);
        let mut candidates = Candidates {
            slots: vec![0; size],
            shift: 64 - size.ilog2(),
            signatures: Vec::with_capacity(total),
            waiting: Vec::with_capacity(total),
        };
        for block in offered {
            for i in 0..block.len() {
                candidates.enter(signer.sign(block.state(i)));
            }
        }
        candidates
    }

    fn len(&self) -> usize {
        self.signatures.len()
    }

    /// The slot of a signature, or the free one where it would be.
    #[inline]
    fn find(&self, signature: u128) -> usize {
        let mixed =
            (signature as u64 ^ (signature >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut slot = (mixed >> self.shift) as usize;
        loop {
            match self.slots[slot] {
                0 => return slot,
                i if self.signatures[i as usize - 1] == signature => return slot,
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    fn enter(&mut self, signature: u128) {
        let slot = self.find(signature);
        self.signatures.push(signature);
        self.waiting.push(self.slots[slot] == 0);
        if self.slots[slot] == 0 {
            self.slots[slot] = self.signatures.len() as u32;
        }
    }

    /// Whether the signature was that of a candidate that still waited; it does not any more.
    #[inline]
    fn strike(&mut self, signature: u128) -> bool {
        match self.slots[self.find(signature)] {
            0 => false,
            i => std::mem::take(&mut self.waiting[i as usize - 1]),
        }
    }

    /// The signature of a candidate that still waits.
    fn waiting(&self, i: usize) -> Option<u128> {
        self.waiting[i].then(|| self.signatures[i])
    }
}

impl Archive for SignatureFile {
    /// Needs up to 34 bytes of memory for each offered state while it works.
    fn admit(
        &mut self,
        offered: &[Block<'_>],
        fresh: &mut Vec<(u32, u32)>,
    ) -> Result<(), Exhausted> {
        fresh.clear();
        let result = self.take_over(offered, fresh);
        if result.is_err() {
            fresh.clear();
        }
        result.map_err(|e| Exhausted::Other(e.to_string()))
    }

    fn level_ends(&mut self) {
        self.ending = true;
    }

    /// The description is for [`SignatureFile::open`].
    fn save(&mut self, dir: &std::path::Path) -> Result<Vec<u8>, Exhausted> {
        self.save_to(dir).map_err(|e| Exhausted::Other(e.to_string()))
    }

    /// As in the original: memory holds what was found since the last call.
    fn forget_offered(&self) -> bool {
        true
    }

    fn bytes(&self) -> u64 {
        (size_of::<SignatureFile>() + 2 * self.full_tail() + 2 * BATCH_BYTES) as u64
    }

    fn states(&self) -> u64 {
        self.signatures()
    }

    fn losses(&self) -> Losses {
        let apart = (-f64::from(self.signer.bits())).exp2();
        let figure = |key, title, value| Figure { key, title, value };
        Losses {
            omission: (self.comparisons.0 * apart).min(1.0),
            path_omission: (self.comparisons.1 * apart).min(1.0),
            forgets: true,
            figures: vec![
                figure("disk_reads", "blocks read", self.blocks_read as f64),
                figure("fraction_read", "fraction read", self.read.0 / self.read.1.max(1.0)),
                figure("alpha", "fraction to read", self.alpha),
                figure("signatures", "signatures on disk", self.signatures() as f64),
                figure("disk_bytes", "bytes on disk", self.file.len() as f64),
            ],
        }
    }
}
