//! States that wait on disk.
//!
//! The states of a level beyond what memory holds are written one chunk after the other to a file of
//! that level, and read back chunk by chunk when their turn comes. The file goes away with the last
//! chunk that stands in it.

use ergodic_disk::{Dir, DiskError, File, frames};
use std::sync::Arc;

/// Where the chunks of one level are parked.
#[derive(Debug)]
pub(crate) struct Parking {
    dir: Dir,
    file: Option<Arc<LevelFile>>,
    buffer: Vec<u8>,
}

/// A file that is removed when nothing refers to it any more.
#[derive(Debug)]
struct LevelFile(Option<File>);

impl Drop for LevelFile {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            // The directory goes away in the end, whatever happens here.
            let _ = file.remove();
        }
    }
}

/// A chunk on disk.
#[derive(Debug)]
pub(crate) struct Parked {
    file: Arc<LevelFile>,
    offset: u64,
}

impl Parking {
    /// Files will be made in `dir`.
    pub(crate) fn new(dir: Dir) -> Parking {
        Parking { dir, file: None, buffer: Vec::new() }
    }

    /// What is parked from now on belongs to another level.
    pub(crate) fn next_level(&mut self) {
        self.file = None;
    }

    /// Writes states.
    pub(crate) fn park(&mut self, words: &[u64]) -> Result<Parked, DiskError> {
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => {
                let file = Arc::new(LevelFile(Some(self.dir.create("level")?)));
                Arc::clone(self.file.insert(file))
            }
        };
        self.buffer.clear();
        self.buffer.resize(frames::HEADER, 0);
        self.buffer.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        frames::seal(&mut self.buffer);
        let offset = match &file.0 {
            Some(open) => open.append(&self.buffer)?,
            None => 0,
        };
        Ok(Parked { file, offset })
    }
}

impl Parked {
    /// Reads the states back.
    pub(crate) fn fetch(&self, words: &mut [u64]) -> Result<(), DiskError> {
        let Some(file) = &self.file.0 else { return Ok(()) };
        let mut bytes = Vec::new();
        frames::read(file, self.offset, &mut bytes)?;
        if bytes.len() != words.len() * 8 {
            let text = format!("the frame at byte {} has another size", self.offset);
            return Err(DiskError::damaged(file.path(), text));
        }
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Ok(())
    }
}
