//! Files that are made when they have become large: until then their bytes are in memory.
//!
//! To make a file and to remove it takes longer than to fill a small one. What is safe after a sync, or has
//! a second name, is on disk: a sync makes the file, whatever its size.
//!
//! Invariant: the bytes are in memory or on disk, not in both; a file that cannot be made leaves them in
//! memory, so that writing can be tried again.

use crate::{Device, RawFile};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// A file that may not be there yet.
pub(crate) struct Late {
    device: Arc<dyn Device>,
    path: PathBuf,
    /// Bytes that are kept in memory at most.
    most: u64,
    bytes: RwLock<Bytes>,
}

enum Bytes {
    Memory(Vec<u8>),
    Disk(Box<dyn RawFile>),
}

impl Late {
    /// An empty file of this path.
    pub(crate) fn new(device: Arc<dyn Device>, path: PathBuf, most: u64) -> Late {
        Late { device, path, most, bytes: RwLock::new(Bytes::Memory(Vec::new())) }
    }

    /// Whoever panicked with the lock had not begun to change anything.
    fn bytes(&self) -> RwLockReadGuard<'_, Bytes> {
        self.bytes.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the bytes in memory so that there are `len`, if they may stay there, or makes the file. Returns
    /// whether that was done: if not, the file is there.
    fn in_memory(&self, len: u64, change: impl FnOnce(&mut Vec<u8>)) -> io::Result<bool> {
        let mut bytes = self.bytes.write().unwrap_or_else(PoisonError::into_inner);
        let Bytes::Memory(memory) = &mut *bytes else { return Ok(false) };
        if len <= self.most {
            change(memory);
            return Ok(true);
        }
        let file = self.device.create(&self.path)?;
        if let Err(why) = fill(&*file, memory) {
            // It would be in the way when this is tried again.
            let _ = self.device.remove(&self.path);
            return Err(why);
        }
        *bytes = Bytes::Disk(file);
        Ok(false)
    }
}

/// Writes all bytes to an empty file.
fn fill(file: &dyn RawFile, bytes: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match file.write_at(&bytes[done..], done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

impl RawFile for Late {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        if let Bytes::Disk(file) = &*self.bytes() {
            return file.write_at(bytes, offset);
        }
        let end = offset + bytes.len() as u64;
        let done = self.in_memory(end, |memory| {
            let (start, end) = (offset as usize, end as usize);
            memory.resize(memory.len().max(end), 0);
            memory[start..end].copy_from_slice(bytes);
        })?;
        if done { Ok(bytes.len()) } else { self.write_at(bytes, offset) }
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        match &*self.bytes() {
            Bytes::Disk(file) => file.read_at(bytes, offset),
            Bytes::Memory(memory) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(memory.len());
                let len = bytes.len().min(memory.len() - from);
                bytes[..len].copy_from_slice(&memory[from..from + len]);
                Ok(len)
            }
        }
    }

    fn len(&self) -> io::Result<u64> {
        match &*self.bytes() {
            Bytes::Disk(file) => file.len(),
            Bytes::Memory(memory) => Ok(memory.len() as u64),
        }
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        match self.in_memory(len, |memory| memory.resize(len as usize, 0))? {
            true => Ok(()),
            false => match &*self.bytes() {
                Bytes::Disk(file) => file.truncate(len),
                Bytes::Memory(_) => Ok(()),
            },
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.in_memory(u64::MAX, |_| ())?;
        match &*self.bytes() {
            Bytes::Disk(file) => file.sync(),
            Bytes::Memory(_) => Ok(()),
        }
    }

    fn memory(&self) -> u64 {
        match &*self.bytes() {
            Bytes::Disk(_) => 0,
            Bytes::Memory(memory) => memory.capacity() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Dir, Fault, Faulty};
    use std::sync::Arc;

    fn files(dir: &Dir) -> usize {
        std::fs::read_dir(dir.path()).map_or(0, Iterator::count)
    }

    #[test]
    fn a_file_is_made_when_it_is_large() {
        let dir = Dir::fresh(&std::env::temp_dir()).expect("a directory");
        let file = dir.create_late("late", 100).expect("a file");
        assert_eq!(file.append(&[7; 60]).expect("memory"), 0);
        file.write_at(&[8; 10], 70).expect("memory");
        assert_eq!((files(&dir), file.len()), (0, 80));
        assert!(file.memory() >= 80);
        let mut read = [1; 80];
        file.read_at(&mut read, 0).expect("it is there");
        assert!(read[..60] == [7; 60] && read[60..70] == [0; 10] && read[70..] == [8; 10]);
        assert!(file.read_at(&mut read, 1).is_err());
        assert_eq!(file.append(&[9; 30]).expect("disk"), 80);
        assert_eq!((files(&dir), file.len(), file.memory()), (1, 110, 0));
        let mut read = [1; 110];
        file.read_at(&mut read, 0).expect("it is there");
        assert!(read[..60] == [7; 60] && read[80..] == [9; 30]);
        file.truncate(5).expect("disk");
        assert!(file.len() == 5 && file.read_at(&mut read[..6], 0).is_err());
        file.remove().expect("it goes away");
        assert_eq!(files(&dir), 0);
    }

    #[test]
    fn what_has_two_names_is_on_disk() {
        let dir = Dir::fresh(&std::env::temp_dir()).expect("a directory");
        let other = Dir::fresh(&std::env::temp_dir()).expect("a directory");
        let file = dir.create_late("late", 100).expect("a file");
        file.append(b"some bytes").expect("memory");
        file.share_with(other.path()).expect("a second name");
        let copy = std::fs::read(other.path().join(file.name())).expect("it is there");
        assert_eq!((copy.as_slice(), files(&dir)), (b"some bytes".as_slice(), 1));
    }

    #[test]
    fn a_small_file_that_is_removed_never_was() {
        let dir = Dir::fresh(&std::env::temp_dir()).expect("a directory");
        let file = dir.create_late("late", 100).expect("a file");
        file.append(&[1; 100]).expect("memory");
        file.remove().expect("nothing to do");
        assert_eq!(files(&dir), 0);
    }

    #[test]
    fn a_file_that_cannot_be_written_loses_nothing() {
        let device = Arc::new(Faulty::new(Fault::FailWrite(0)));
        let dir = Dir::fresh_on(device, &std::env::temp_dir()).expect("a directory");
        let file = dir.create_late("late", 10).expect("a file");
        file.append(&[3; 10]).expect("memory");
        assert!(file.write_at(&[4; 5], 10).is_err());
        let mut read = [0; 10];
        file.read_at(&mut read, 0).expect("memory");
        assert_eq!((read, files(&dir)), ([3; 10], 0));
        file.write_at(&[4; 5], 10).expect("disk");
        let mut read = [0; 15];
        file.read_at(&mut read, 0).expect("disk");
        assert!(read[..10] == [3; 10] && read[10..] == [4; 5] && files(&dir) == 1);
    }
}
