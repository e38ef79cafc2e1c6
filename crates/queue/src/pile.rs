//! A stack of records that goes to disk beyond a bound.
//!
//! The upper part is in memory. When it takes more than the bound, its lower half becomes one
//! checksummed frame at the end of a file; when it is used up, the last frame is read back and cut off.
//! So a search that moves up and down near the bound reads and writes once per half of the bound.
//!
//! Invariants: records stand one after the other, each followed by its length; what is in the file lies
//! below what is in memory; nothing is dropped before it was popped, also when the disk fails.

use ergodic_disk::{Dir, DiskError, File, frames};
use ergodic_system::{Exhausted, Pile};

/// Where the directory for the file comes from: there is none until it is needed.
type Place = Box<dyn FnMut() -> Result<Dir, Exhausted>>;

/// A stack of records, in memory as far as it fits, else on disk.
pub struct DiskPile {
    place: Place,
    /// Words that may be in memory.
    most: usize,
    words: Vec<u64>,
    file: Option<File>,
    /// Where each frame begins.
    frames: Vec<u64>,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for DiskPile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (words, frames) = (self.words.len(), self.frames.len());
        f.debug_struct("DiskPile")
            .field("words", &words)
            .field("frames", &frames)
            .finish_non_exhaustive()
    }
}

impl DiskPile {
    /// An empty stack that uses about `memory` bytes, and a file in a directory that `place` gives
    /// when that is not enough.
    pub fn new(memory: u64, place: impl FnMut() -> Result<Dir, Exhausted> + 'static) -> DiskPile {
        // The bytes of a frame take as much again as the words in it.
        let most = usize::try_from(memory / 12).unwrap_or(usize::MAX).max(64);
        let (words, frames, bytes) = (Vec::new(), Vec::new(), Vec::new());
        DiskPile { place: Box::new(place), most, words, file: None, frames, bytes }
    }

    /// Writes the records that lie wholly in the lower half, or else the lowest one.
    fn write_out(&mut self) -> Result<(), Exhausted> {
        let mut cut = self.words.len();
        while cut > self.most / 2 {
            match cut - (self.words[cut - 1] as usize + 1) {
                0 => break,
                below => cut = below,
            }
        }
        let file = match self.file.take() {
            Some(file) => file,
            None => (self.place)()?.create("stack").map_err(other)?,
        };
        let file = self.file.insert(file);
        self.bytes.clear();
        self.bytes.resize(frames::HEADER, 0);
        for word in &self.words[..cut] {
            self.bytes.extend_from_slice(&word.to_le_bytes());
        }
        frames::seal(&mut self.bytes);
        let at = file.len();
        if let Err(error) = file.append(&self.bytes) {
            file.truncate(at).map_err(other)?;
            return Err(other(error));
        }
        self.frames.push(at);
        self.words.drain(..cut);
        Ok(())
    }

    /// Reads the last frame back.
    fn read_back(&mut self) -> Result<(), DiskError> {
        let (Some(at), Some(file)) = (self.frames.last().copied(), &self.file) else {
            return Ok(());
        };
        frames::read(file, at, &mut self.bytes)?;
        let (words, _) = self.bytes.as_chunks::<8>();
        self.words.extend(words.iter().map(|bytes| u64::from_le_bytes(*bytes)));
        file.truncate(at)?;
        self.frames.pop();
        Ok(())
    }
}

fn other(error: DiskError) -> Exhausted {
    Exhausted::Other(error.to_string())
}

impl Pile for DiskPile {
    fn push(&mut self, record: &[u64]) -> Result<(), Exhausted> {
        if self.words.len() + record.len() >= self.most && !self.words.is_empty() {
            self.write_out()?;
        }
        self.words.extend_from_slice(record);
        self.words.push(record.len() as u64);
        Ok(())
    }

    fn pop(&mut self, record: &mut Vec<u64>) -> Result<bool, Exhausted> {
        record.clear();
        if self.words.is_empty() {
            self.read_back().map_err(other)?;
        }
        let Some(len) = self.words.pop() else { return Ok(false) };
        let from = self.words.len().checked_sub(len as usize);
        let Some(from) = from else {
            return Err(Exhausted::Other("the stack on disk is not the one written".into()));
        };
        record.extend(self.words.drain(from..));
        Ok(true)
    }

    fn bytes(&self) -> u64 {
        (self.words.capacity() * 8 + self.bytes.capacity()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pile(memory: u64) -> DiskPile {
        DiskPile::new(memory, || Dir::fresh(&std::env::temp_dir()).map_err(other))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn it_is_a_stack(
            steps in prop::collection::vec((any::<bool>(), 0usize..40), 1..400),
            memory in 0u64..4000,
        ) {
            let mut pile = pile(memory);
            let mut model: Vec<Vec<u64>> = Vec::new();
            let mut record = Vec::new();
            for (i, (push, len)) in steps.into_iter().enumerate() {
                if push {
                    let new: Vec<u64> = (0..len as u64).map(|k| k + (i as u64) * 100).collect();
                    pile.push(&new).unwrap();
                    model.push(new);
                } else {
                    let there = pile.pop(&mut record).unwrap();
                    prop_assert_eq!(there.then(|| record.clone()), model.pop());
                }
            }
            while let Some(last) = model.pop() {
                prop_assert!(pile.pop(&mut record).unwrap());
                prop_assert_eq!(&record, &last);
            }
            prop_assert!(!pile.pop(&mut record).unwrap());
        }
    }

    #[test]
    fn most_of_a_high_stack_is_on_disk() {
        let mut pile = pile(10_000);
        for i in 0..100_000u64 {
            pile.push(&[i, i]).unwrap();
            assert!(pile.bytes() < 40_000, "{}", pile.bytes());
        }
        let mut record = Vec::new();
        for i in (0..100_000u64).rev() {
            assert!(pile.pop(&mut record).unwrap());
            assert_eq!(record, [i, i]);
        }
        assert!(!pile.pop(&mut record).unwrap());
    }
}
