//! A device that fails on purpose: for tests.

use crate::{Device, RawFile, Real};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// What goes wrong, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Writes take at most this many bytes at a time. Nothing is lost if callers go on.
    ShortWrites(usize),
    /// Reads give at most this many bytes at a time.
    ShortReads(usize),
    /// After so many bytes the device is full.
    FullAfter(u64),
    /// In the read with this number, counted from 0, one bit is flipped.
    FlipOnRead(u64),
    /// The write with this number, counted from 0, fails.
    FailWrite(u64),
    /// The read with this number, counted from 0, fails.
    FailRead(u64),
}

/// The real device, with faults.
#[derive(Clone, Debug)]
pub struct Faulty {
    plan: Arc<Plan>,
}

#[derive(Debug)]
struct Plan {
    fault: Fault,
    /// Bytes that can still be written.
    room: AtomicI64,
    reads: AtomicU64,
    writes: AtomicU64,
}

impl Faulty {
    /// A device on which this goes wrong.
    pub fn new(fault: Fault) -> Faulty {
        let room = match fault {
            Fault::FullAfter(bytes) => bytes as i64,
            _ => i64::MAX,
        };
        let plan =
            Plan { fault, room: room.into(), reads: AtomicU64::new(0), writes: AtomicU64::new(0) };
        Faulty { plan: Arc::new(plan) }
    }

    /// Reads and writes so far.
    pub fn used(&self) -> (u64, u64) {
        (self.plan.reads.load(Ordering::Relaxed), self.plan.writes.load(Ordering::Relaxed))
    }

    fn wrap(&self, inner: Box<dyn RawFile>) -> Box<dyn RawFile> {
        Box::new(FaultyFile { inner, plan: Arc::clone(&self.plan) })
    }
}

struct FaultyFile {
    inner: Box<dyn RawFile>,
    plan: Arc<Plan>,
}

fn failed() -> io::Error {
    io::Error::other("input/output error (injected)")
}

impl RawFile for FaultyFile {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let number = self.plan.writes.fetch_add(1, Ordering::Relaxed);
        let mut most = bytes.len();
        match self.plan.fault {
            Fault::ShortWrites(n) => most = most.min(n.max(1)),
            Fault::FailWrite(n) if n == number => return Err(failed()),
            _ => {}
        }
        let left = self.plan.room.fetch_sub(most as i64, Ordering::Relaxed);
        if left < most as i64 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.inner.write_at(&bytes[..most], offset)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let number = self.plan.reads.fetch_add(1, Ordering::Relaxed);
        let most = match self.plan.fault {
            Fault::ShortReads(n) => bytes.len().min(n.max(1)),
            Fault::FailRead(n) if n == number => return Err(failed()),
            _ => bytes.len(),
        };
        let got = self.inner.read_at(&mut bytes[..most], offset)?;
        if self.plan.fault == Fault::FlipOnRead(number) && got > 0 {
            bytes[got / 2] ^= 1 << (number % 8);
        }
        Ok(got)
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.inner.truncate(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }
}

impl Device for Faulty {
    fn create(&self, path: &Path) -> io::Result<Box<dyn RawFile>> {
        Ok(self.wrap(Real.create(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn RawFile>> {
        Ok(self.wrap(Real.open(path)?))
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        Real.make_dir(path)
    }

    fn make_new_dir(&self, path: &Path) -> io::Result<()> {
        Real.make_new_dir(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Real.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        Real.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Real.remove(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        Real.remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        Real.sync_dir(path)
    }

    fn free(&self, path: &Path) -> io::Result<u64> {
        match self.plan.fault {
            Fault::FullAfter(_) => Ok(self.plan.room.load(Ordering::Relaxed).max(0) as u64),
            _ => Real.free(path),
        }
    }
}
