//! What a keeper writes down before it answers, and how it comes back from that.
//!
//! *The log* holds, in the order in which they were decided, the new keys of every claim, the violations
//! and the batches that are done: reading it from the start makes the keeper again. One frame is
//! appended per group of requests, before the first of them is answered; so an answer that somebody has
//! is an answer that the log knows of. A frame that is cut at the end of the file was never
//! answered, and is dropped. *The parents* are a file of records of fixed size.
//!
//! Written means handed to the operating system: it outlives the process, not the computer.

use crate::bytes::Reader;
use crate::keys::{Codec, Ref};
use crate::messages::{Ask, Parent, put_ask, read_ask};
use ergodic_disk::{Dir, DiskError, File, frames};
use ergodic_system::Label;

const LOG: &str = "claims";
const PARENTS: &str = "parents";
/// Bytes of a record of the parents.
const PARENT: usize = 12;

/// The files of one keeper.
#[derive(Debug)]
pub(crate) struct Log {
    log: File,
    parents: File,
    /// How far it was read.
    read: u64,
    frame: Vec<u8>,
    buffer: Vec<u8>,
}

/// Whose files they are.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Owner {
    pub protocol: u32,
    pub job: String,
    pub shard: u32,
    pub program: String,
    pub seed: u64,
    pub key_bits: usize,
}

impl Log {
    /// Opens the files of a keeper, or makes them. What the log says is then to be read with
    /// [`Log::past`], to its end.
    pub(crate) fn open(dir: &Dir, owner: &Owner) -> Result<Log, DiskError> {
        let known = dir.path().join(LOG).exists();
        let (log, parents) = match known {
            true => (dir.open(LOG)?, dir.open(PARENTS)?),
            false => {
                let parents = dir.create_named(PARENTS)?;
                (dir.create_named(LOG)?, parents)
            }
        };
        let mut opened = Log { log, parents, read: 0, frame: Vec::new(), buffer: Vec::new() };
        let text = serde_json::to_vec(owner).unwrap_or_default();
        // Killed before anything was decided.
        if cut(&opened.log, 0)? {
            opened.log.truncate(0)?;
            frames::append(&opened.log, &text, &mut opened.buffer)?;
            opened.read = opened.log.len();
            return Ok(opened);
        }
        let mut payload = Vec::new();
        opened.read = frames::read(&opened.log, 0, &mut payload)?;
        if payload != text {
            let why =
                "it belongs to another job or another keeper: give this one another directory";
            return Err(DiskError::damaged(opened.log.path(), why));
        }
        Ok(opened)
    }

    /// What was decided next, after what was read; `None` when all was read.
    pub(crate) fn past(&mut self, codec: &Codec) -> Result<Option<Vec<Ask>>, DiskError> {
        let at = self.read;
        if at >= self.log.len() {
            return Ok(None);
        }
        if cut(&self.log, at)? {
            self.log.truncate(at)?;
            return Ok(None);
        }
        let mut payload = Vec::new();
        self.read = frames::read(&self.log, at, &mut payload)?;
        let mut reader = Reader::new(&payload);
        let mut asks = Vec::new();
        while !reader.is_empty() {
            let Some(ask) = read_ask(codec, &mut reader) else {
                let text = format!("the frame at byte {at} makes no sense");
                return Err(DiskError::damaged(self.log.path(), text));
            };
            asks.push(ask);
        }
        Ok(Some(asks))
    }

    /// Notes something, to be written with [`Log::commit`].
    pub(crate) fn note(&mut self, codec: &Codec, ask: &Ask) {
        put_ask(codec, ask, &mut self.frame);
    }

    /// Writes what was noted.
    pub(crate) fn commit(&mut self) -> Result<(), DiskError> {
        if !self.frame.is_empty() {
            frames::append(&self.log, &self.frame, &mut self.buffer)?;
            self.frame.clear();
        }
        Ok(())
    }

    /// Writes how records were found.
    pub(crate) fn write_parents(&mut self, parents: &[Parent]) -> Result<(), DiskError> {
        // Records of one batch mostly follow each other: one write per run of them.
        let mut i = 0;
        while i < parents.len() {
            self.buffer.clear();
            let first = parents[i].record;
            while i < parents.len()
                && parents[i].record == first + (self.buffer.len() / PARENT) as u64
            {
                self.buffer.extend_from_slice(&parents[i].from.to_le_bytes());
                self.buffer.extend_from_slice(&parents[i].label.0.to_le_bytes());
                i += 1;
            }
            self.parents.write_at(&self.buffer, first * PARENT as u64)?;
        }
        Ok(())
    }

    /// How a record was found.
    pub(crate) fn parent(&self, record: u64) -> Result<(Ref, Label), DiskError> {
        let mut bytes = [0; PARENT];
        self.parents.read_at(&mut bytes, record.saturating_mul(PARENT as u64))?;
        let [a, b, c, d, e, f, g, h, i, j, k, l] = bytes;
        let from = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        Ok((from, Label(u32::from_le_bytes([i, j, k, l]))))
    }

    /// Bytes of both files.
    pub(crate) fn bytes(&self) -> u64 {
        self.log.len() + self.parents.len()
    }
}

/// Whether the file ends inside of the frame at `at`.
fn cut(log: &File, at: u64) -> Result<bool, DiskError> {
    if at + frames::HEADER as u64 > log.len() {
        return Ok(true);
    }
    let mut len = [0; 4];
    log.read_at(&mut len, at)?;
    Ok(at + frames::HEADER as u64 + u64::from(u32::from_le_bytes(len)) > log.len())
}

/// Makes sure that no other process uses a directory, for as long as what is returned lives.
pub(crate) fn lock(dir: &Dir) -> Result<std::fs::File, String> {
    let path = dir.path().join("lock");
    let open = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = open.map_err(|why| dir.failed("write", &path, &why).to_string())?;
    let locked = rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    match locked {
        Ok(()) => Ok(file),
        Err(_) => {
            let dir = dir.path().display();
            Err(format!("{dir} is in use by another keeper: give this one another"))
        }
    }
}
