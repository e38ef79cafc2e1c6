//! A directory of our own, and the files in it.

use crate::error::{MAKE_DIR, USUAL_OPTION};
use crate::late::Late;
use crate::{Device, DiskError, RawFile, Real};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A directory and the device it is on. Clones share it; the last one removes it, unless it is kept.
#[derive(Clone, Debug)]
pub struct Dir {
    inner: Arc<Inner>,
    /// The option with which a user gives another one.
    option: &'static str,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    device: Arc<dyn Device>,
    remove: AtomicBool,
    /// Files made so far, for their names.
    files: AtomicU64,
    read: AtomicU64,
    written: AtomicU64,
    /// Shows others that this process lives.
    owner: OnceLock<std::fs::File>,
}

impl Dir {
    /// A new directory of our own under `parent`, removed at the end.
    pub fn fresh(parent: &Path) -> Result<Dir, DiskError> {
        Dir::fresh_on(Arc::new(Real), parent)
    }

    /// A new directory of our own on some device.
    pub fn fresh_on(device: Arc<dyn Device>, parent: &Path) -> Result<Dir, DiskError> {
        let above = |e| DiskError::io(MAKE_DIR, parent, &e);
        device.make_dir(parent).map_err(above)?;
        let mut number = 0;
        loop {
            let path = parent.join(format!("ergodic-{}-{number}", std::process::id()));
            match device.make_new_dir(&path) {
                Ok(()) => return Ok(Dir::made(device, path, true)),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(e) => return Err(DiskError::io(MAKE_DIR, &path, &e)),
            }
        }
    }

    /// A directory by name, made if it is not there, and kept.
    pub fn at(path: &Path) -> Result<Dir, DiskError> {
        Dir::at_on(Arc::new(Real), path)
    }

    /// A directory by name on some device.
    pub fn at_on(device: Arc<dyn Device>, path: &Path) -> Result<Dir, DiskError> {
        device.make_dir(path).map_err(|e| DiskError::io(MAKE_DIR, path, &e))?;
        Ok(Dir::made(device, path.to_owned(), false))
    }

    fn made(device: Arc<dyn Device>, path: PathBuf, remove: bool) -> Dir {
        let inner = Inner {
            path,
            device,
            remove: AtomicBool::new(remove),
            files: AtomicU64::new(0),
            read: AtomicU64::new(0),
            written: AtomicU64::new(0),
            owner: OnceLock::new(),
        };
        Dir { inner: Arc::new(inner), option: USUAL_OPTION }
    }

    /// The same for a user who gives another directory with this option: errors name it.
    #[must_use]
    pub fn called(self, option: &'static str) -> Dir {
        Dir { option, ..self }
    }

    /// What the system said about a file in here.
    pub fn failed(&self, action: &'static str, path: &Path, error: &std::io::Error) -> DiskError {
        DiskError::io(action, path, error).called(self.option)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The device it is on.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.inner.device
    }

    /// Leaves it where it is at the end.
    pub fn keep(&self) {
        self.inner.remove.store(false, Ordering::Relaxed);
    }

    /// Lets [`crate::sweep`] remove it if this process is killed. Where that is not possible, it would stay.
    pub fn own(&self) {
        if let Ok(Some(owner)) = crate::owner::own(&self.inner.path) {
            let _ = self.inner.owner.set(owner);
        }
    }

    /// Bytes that can still be written.
    pub fn free(&self) -> Result<u64, DiskError> {
        let path = &self.inner.path;
        self.inner.device.free(path).map_err(|e| self.failed("ask for free space on", path, &e))
    }

    /// Bytes read from and written to files of this directory so far.
    pub fn traffic(&self) -> (u64, u64) {
        (self.inner.read.load(Ordering::Relaxed), self.inner.written.load(Ordering::Relaxed))
    }

    /// A new file with a name of its own that starts with `stem`.
    pub fn create(&self, stem: &str) -> Result<File, DiskError> {
        let (raw, path) = self.free_name(stem, "create", |path| self.inner.device.create(path))?;
        Ok(File { raw, path, dir: self.clone(), len: AtomicU64::new(0) })
    }

    /// A new file, as by [`Dir::create`], whose bytes are kept in memory as long as there are at most so
    /// many of them.
    pub fn create_late(&self, stem: &str, most: u64) -> Result<File, DiskError> {
        if most == 0 {
            return self.create(stem);
        }
        let number = self.inner.files.fetch_add(1, Ordering::Relaxed);
        let path = self.inner.path.join(format!("{stem}-{number}"));
        let raw = Box::new(Late::new(Arc::clone(&self.inner.device), path.clone(), most));
        Ok(File { raw, path, dir: self.clone(), len: AtomicU64::new(0) })
    }

    /// Does `make` with new names that start with `stem`, until there is no such file.
    fn free_name<T>(
        &self,
        stem: &str,
        action: &'static str,
        make: impl Fn(&Path) -> std::io::Result<T>,
    ) -> Result<(T, PathBuf), DiskError> {
        loop {
            let number = self.inner.files.fetch_add(1, Ordering::Relaxed);
            let path = self.inner.path.join(format!("{stem}-{number}"));
            match make(&path) {
                Ok(made) => return Ok((made, path)),
                // Left by an earlier run in a directory that was kept.
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(self.failed(action, &path, &e)),
            }
        }
    }

    /// Takes over a file from elsewhere under a name of its own that starts with `stem`. It may be
    /// the same file under a second name, so it must not be changed.
    pub fn adopt(&self, stem: &str, from: &Path) -> Result<File, DiskError> {
        match self.free_name(stem, "link", |path| self.inner.device.link(from, path)) {
            Ok((_, path)) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                self.open(&name)
            }
            // Another file system, or one without links.
            Err(_) => {
                let file = self.create(stem)?;
                copy(self, from, &file, u64::MAX)?;
                Ok(file)
            }
        }
    }

    /// A new file by name, which must not be there.
    pub fn create_named(&self, name: &str) -> Result<File, DiskError> {
        let path = self.inner.path.join(name);
        let raw = self.inner.device.create(&path);
        let raw = raw.map_err(|e| self.failed("create", &path, &e))?;
        Ok(File { raw, path, dir: self.clone(), len: AtomicU64::new(0) })
    }

    /// A file by name, which must be there.
    pub fn open(&self, name: &str) -> Result<File, DiskError> {
        let path = self.inner.path.join(name);
        let raw = self.inner.device.open(&path).map_err(|e| self.failed("open", &path, &e))?;
        let len = raw.len().map_err(|e| self.failed("open", &path, &e))?;
        Ok(File { raw, path, dir: self.clone(), len: AtomicU64::new(len) })
    }

    /// Replaces the contents of a file in one step: a reader sees the old or the new contents.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), DiskError> {
        let (path, device) = (self.inner.path.join(name), &self.inner.device);
        let file = self.create(&format!("{name}.new"))?;
        file.append(bytes)?;
        file.sync()?;
        let renamed = device.rename(&file.path, &path);
        renamed.map_err(|e| self.failed("rename a new file to", &path, &e))?;
        self.sync()
    }

    /// Returns when the names in the directory are safe.
    pub fn sync(&self) -> Result<(), DiskError> {
        let path = &self.inner.path;
        self.inner.device.sync_dir(path).map_err(|e| self.failed("sync", path, &e))
    }
}

/// Appends the first `most` bytes of the file `from` to another; how many there were.
pub(crate) fn copy(dir: &Dir, from: &Path, to: &File, most: u64) -> Result<u64, DiskError> {
    let failed = |e| dir.failed("read", from, &e);
    let source = dir.inner.device.open(from).map_err(failed)?;
    let (mut buffer, mut done) = (vec![0; 1 << 18], 0);
    while done < most {
        let want = (most - done).min(buffer.len() as u64) as usize;
        match source.read_at(&mut buffer[..want], done) {
            Ok(0) => break,
            Ok(n) => {
                to.append(&buffer[..n])?;
                done += n as u64;
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(failed(e)),
        }
    }
    Ok(done)
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.remove.load(Ordering::Relaxed) {
            // Nothing depends on it any more, and nobody could be told.
            let _ = self.device.remove_dir(&self.path);
        }
    }
}

/// An open file of a [`Dir`]. Many threads may use it at the same time.
pub struct File {
    raw: Box<dyn RawFile>,
    path: PathBuf,
    /// Keeps the directory.
    dir: Dir,
    /// Bytes in it, as far as this handle knows.
    len: AtomicU64,
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File").field("path", &self.path).finish_non_exhaustive()
    }
}

impl File {
    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name in the directory.
    pub fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Bytes in it.
    pub fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    /// Bytes of memory that it takes because they are not on disk yet.
    pub fn memory(&self) -> u64 {
        self.raw.memory()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes at the end; returns where that was. What failed is not counted as written.
    pub fn append(&self, bytes: &[u8]) -> Result<u64, DiskError> {
        let at = self.len.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.put(bytes, at)?;
        Ok(at)
    }

    /// Writes somewhere; a gap before it reads as zeros.
    pub fn write_at(&self, bytes: &[u8], at: u64) -> Result<(), DiskError> {
        self.put(bytes, at)?;
        self.len.fetch_max(at + bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn put(&self, bytes: &[u8], at: u64) -> Result<(), DiskError> {
        let mut done = 0;
        while done < bytes.len() {
            match self.raw.write_at(&bytes[done..], at + done as u64) {
                Ok(0) => {
                    let zero = std::io::ErrorKind::WriteZero.into();
                    return Err(self.dir.failed("write", &self.path, &zero));
                }
                Ok(n) => done += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.dir.failed("write", &self.path, &e)),
            }
        }
        self.dir.inner.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Fills `bytes` from `at` on; it is an error if the file ends before.
    pub fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<(), DiskError> {
        let mut done = 0;
        while done < bytes.len() {
            match self.raw.read_at(&mut bytes[done..], at + done as u64) {
                Ok(0) => {
                    let text = format!("it ends at byte {}, too early", at + done as u64);
                    return Err(DiskError::damaged(&self.path, text));
                }
                Ok(n) => done += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.dir.failed("read", &self.path, &e)),
            }
        }
        self.dir.inner.read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Cuts it.
    pub fn truncate(&self, len: u64) -> Result<(), DiskError> {
        self.raw.truncate(len).map_err(|e| self.dir.failed("cut", &self.path, &e))?;
        self.len.store(len, Ordering::Relaxed);
        Ok(())
    }

    /// Returns when what was written is safe.
    pub fn sync(&self) -> Result<(), DiskError> {
        self.raw.sync().map_err(|e| self.dir.failed("sync", &self.path, &e))
    }

    /// Makes it safe and gives it its name in another directory, too; if that is not possible, puts a
    /// copy there.
    pub fn share_with(&self, other: &Path) -> Result<(), DiskError> {
        self.sync()?;
        let to = other.join(self.name());
        if self.dir.inner.device.link(&self.path, &to).is_err() {
            let other = Dir::at_on(Arc::clone(&self.dir.inner.device), other)
                .map_err(|why| why.called(self.dir.option))?
                .called(self.dir.option);
            let file = other.create_named(&self.name())?;
            copy(&self.dir, &self.path, &file, self.len())?;
            file.sync()?;
        }
        Ok(())
    }

    /// Closes it and removes it from the directory.
    pub fn remove(self) -> Result<(), DiskError> {
        match self.dir.inner.device.remove(&self.path) {
            // Somebody else was faster.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(e) => Err(self.dir.failed("remove", &self.path, &e)),
            Ok(()) => Ok(()),
        }
    }
}
