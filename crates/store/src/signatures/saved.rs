//! A signature file in a checkpoint: a copy of the file, and a description of all that is not in it.
//!
//! The file grows at its end, so a checkpoint cannot share it as it shares sorted runs. It is copied;
//! a call in ten reads all of it anyway. Frames are checked on the way, in both directions, so what is
//! damaged is neither saved nor opened.

use super::{Settings, SignatureFile};
use crate::universal::Random;
use ergodic_disk::{Dir, DiskError, File, frames};
use ergodic_system::Shape;
use std::path::Path;

/// Name of the file in a checkpoint.
const NAME: &str = "signatures";

/// The numbers of a description, in order.
const NUMBERS: usize = 16;

impl SignatureFile {
    /// The archive that [`ergodic_system::Archive::save`] put into the directory `from` and described
    /// so, for states of the same shape and with the same settings. It works in `dir` and leaves what is
    /// in `from` as it is.
    pub fn open(
        dir: Dir,
        shape: Shape,
        from: &Path,
        description: &[u8],
        settings: Settings,
    ) -> Result<SignatureFile, DiskError> {
        let mut archive = SignatureFile::new(dir.clone(), shape, settings)?;
        archive.describe_back(shape, description).map_err(|text| {
            DiskError::damaged(from, format!("the description of the signature file {text}"))
        })?;
        let source = Dir::at_on(dir.device().clone(), from)?.open(NAME)?;
        let expected = (archive.frames * archive.frame_bytes()) as u64;
        if source.len() != expected {
            let text = format!("it has {} bytes and should have {expected}", source.len());
            return Err(DiskError::damaged(source.path(), text));
        }
        archive.copy_frames(&source, &archive.file)?;
        Ok(archive)
    }

    /// Puts a copy of the file into a directory.
    pub(super) fn save_to(&self, dir: &Path) -> Result<Vec<u8>, DiskError> {
        let copy = Dir::at_on(self.dir.device().clone(), dir)?.create_named(NAME)?;
        self.copy_frames(&self.file, &copy)?;
        copy.sync()?;
        Ok(self.describe().into_bytes())
    }

    /// Copies all frames from one file to another and checks them.
    fn copy_frames(&self, from: &File, to: &File) -> Result<(), DiskError> {
        let size = self.frame_bytes();
        let together = (super::BATCH_BYTES / size).max(1);
        let mut buffer = Vec::new();
        for start in (0..self.frames).step_by(together) {
            buffer.resize(together.min(self.frames - start) * size, 0);
            let offset = (start * size) as u64;
            from.read_at(&mut buffer, offset)?;
            for (i, frame) in buffer.chunks_exact(size).enumerate() {
                frames::check(from, offset + (i * size) as u64, frame)?;
            }
            to.append(&buffer)?;
        }
        Ok(())
    }

    /// First line of a description.
    fn heading(&self, words: usize) -> String {
        let Settings { bits, seed, full_every, block } = self.settings;
        format!(
            "signatures 1: {words} words, {bits} bits, seed {seed}, all in {full_every}, block {block}"
        )
    }

    fn describe(&self) -> String {
        let [a, b, c, d] = self.random.state();
        let numbers: [u64; NUMBERS] = [
            self.frames as u64,
            self.alpha.to_bits(),
            u64::from(self.high),
            self.calls,
            u64::from(self.ending),
            u64::from(self.levels),
            u64::from(self.full_so_far),
            self.comparisons.0.to_bits(),
            self.comparisons.1.to_bits(),
            self.blocks_read,
            self.read.0.to_bits(),
            self.read.1.to_bits(),
            a,
            b,
            c,
            d,
        ];
        let numbers = numbers.map(|number| number.to_string()).join(" ");
        let tail: String = self.tail.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = format!("{}\n{numbers}\n{tail}", self.heading(self.signer.words()));
        let sum = checksum(&text);
        format!("{text}\nend {sum}")
    }

    /// Takes over what a description says, or tells what is wrong with it.
    fn describe_back(&mut self, shape: Shape, description: &[u8]) -> Result<(), String> {
        let text = std::str::from_utf8(description).map_err(|_| "is damaged")?;
        let (body, end) = text.rsplit_once("\nend ").ok_or("is cut short")?;
        if end.parse() != Ok(checksum(body)) {
            return Err("is damaged".into());
        }
        let mut lines = body.split('\n');
        let (found, expected) = (lines.next().unwrap_or_default(), self.heading(shape.words));
        if found != expected {
            return Err(format!("is for \"{found}\", not \"{expected}\""));
        }
        let numbers = lines.next().unwrap_or_default().split(' ');
        let numbers: Option<Vec<u64>> = numbers.map(|number| number.parse().ok()).collect();
        let numbers = numbers.and_then(|all| <[u64; NUMBERS]>::try_from(all).ok());
        let tail = bytes(lines.next().unwrap_or_default());
        let (Some(numbers), Some(tail)) = (numbers, tail) else {
            return Err("makes no sense".into());
        };
        if tail.len() % self.width() != 0 || tail.len() >= self.full_tail() {
            return Err("makes no sense".into());
        }
        self.tail = tail;
        self.take_numbers(numbers).ok_or_else(|| "makes no sense".into())
    }

    fn take_numbers(&mut self, numbers: [u64; NUMBERS]) -> Option<()> {
        let [frames, alpha, high, calls, ending, levels, full_so_far, rest @ ..] = numbers;
        let [all, most, blocks_read, read, wanted, a, b, c, d] = rest;
        self.frames = usize::try_from(frames).ok()?;
        self.frames.checked_mul(self.frame_bytes())?;
        self.alpha = Some(f64::from_bits(alpha)).filter(|alpha| (0.0..=1.0).contains(alpha))?;
        (self.high, self.levels) = (u32::try_from(high).ok()?, u32::try_from(levels).ok()?);
        (self.ending, self.full_so_far) = (ending != 0, full_so_far != 0);
        (self.calls, self.blocks_read) = (calls, blocks_read);
        self.comparisons = (f64::from_bits(all), f64::from_bits(most));
        self.read = (f64::from_bits(read), f64::from_bits(wanted));
        self.random = Random::at([a, b, c, d]);
        Some(())
    }
}

fn checksum(text: &str) -> u64 {
    let words: Vec<u64> = text.bytes().map(u64::from).collect();
    crate::hash::hash(&words)
}

/// The bytes that pairs of digits stand for.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| Some((digit(high)? << 4 | digit(low)?) as u8);
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}
