//! The operations on files that are used here, and the real device.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// An open file. Many threads may use it at the same time.
#[allow(clippy::len_without_is_empty, reason = "files are asked for their length only")]
pub trait RawFile: Send + Sync {
    /// Writes some of `bytes` at `offset`; returns how many.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Reads some bytes from `offset` on; returns how many, 0 at the end of the file.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Bytes in the file.
    fn len(&self) -> io::Result<u64>;

    /// Cuts the file.
    fn truncate(&self, len: u64) -> io::Result<()>;

    /// Returns when what was written is safe.
    fn sync(&self) -> io::Result<()>;

    /// Bytes of memory that it takes because they are not on disk yet.
    fn memory(&self) -> u64 {
        0
    }
}

/// Where files are.
pub trait Device: Send + Sync + std::fmt::Debug {
    /// Opens a new file, which must not be there.
    fn create(&self, path: &Path) -> io::Result<Box<dyn RawFile>>;

    /// Opens a file for reading and writing.
    fn open(&self, path: &Path) -> io::Result<Box<dyn RawFile>>;

    /// Makes a directory and those above it.
    fn make_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes a directory that must not be there; those above it must.
    fn make_new_dir(&self, path: &Path) -> io::Result<()>;

    /// Gives a file or directory another name, in one step.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives a file a second name, on the same file system.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let _ = (from, to);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes a directory and everything in it.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Returns when the names in a directory are safe.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Bytes that can still be written.
    fn free(&self, path: &Path) -> io::Result<u64>;
}

/// The file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Real;

impl RawFile for fs::File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

impl Device for Real {
    fn create(&self, path: &Path) -> io::Result<Box<dyn RawFile>> {
        let mut options = fs::OpenOptions::new();
        Ok(Box::new(options.read(true).write(true).create_new(true).open(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn RawFile>> {
        Ok(Box::new(fs::OpenOptions::new().read(true).write(true).open(path)?))
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn make_new_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        fs::File::open(path)?.sync_all()
    }

    fn free(&self, path: &Path) -> io::Result<u64> {
        let found = rustix::fs::statvfs(path)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }
}
