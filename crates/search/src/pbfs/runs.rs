//! How each state was found first: the parent log of a parallel search, eight bytes per state.
//!
//! The states of the first, sequential part stand in a [`ParentLog`]. The others stand in runs, one
//! per chunk of new states: the numbers of a run's states follow each other, and its parents are
//! given relative to a number of its own, so that 32 bits do. Short runs are joined, so that a long
//! chain of narrow levels does not take more than eight bytes per state either.
//!
//! When memory is short the runs go to a file, one frame each; what stays is where each begins.

use super::chunks::Chunk;
use crate::ParentLog;
use ergodic_disk::{Dir, DiskError, File, frames};
use ergodic_system::Label;

/// Runs are joined up to this length.
const JOINED: usize = 1 << 15;

/// Runs are joined if their bases are closer than this; parents are at most 2^31 and a task away
/// from their base, so the sum fits.
const NEAR: u64 = 1 << 30;

#[derive(Debug)]
struct Run {
    /// Number of its first state.
    first: u64,
    /// Parents are relative to this number.
    base: u64,
    steps: Vec<(u32, Label)>,
    /// Where the steps stand, if they are on disk.
    offset: Option<u64>,
}

/// Parent and label of each state.
#[derive(Debug)]
pub(crate) struct Runs {
    head: ParentLog,
    runs: Vec<Run>,
    bytes: u64,
    file: Option<File>,
    buffer: Vec<u8>,
}

impl Runs {
    /// Goes on behind the states of `head`.
    pub(crate) fn new(head: ParentLog) -> Runs {
        Runs { head, runs: Vec::new(), bytes: 0, file: None, buffer: Vec::new() }
    }

    /// Moves all runs to disk, and those that come later as well.
    pub(crate) fn spill(&mut self, dir: &Dir) -> Result<(), DiskError> {
        let file = self.file.insert(dir.create("parents")?);
        for run in &mut self.runs {
            run.write(file, &mut self.buffer)?;
        }
        self.bytes = (self.runs.len() * size_of::<Run>()) as u64;
        Ok(())
    }

    /// Takes over the log of a chunk that was just numbered.
    pub(crate) fn add(&mut self, chunk: &mut Chunk) -> Result<(), DiskError> {
        if chunk.log.is_empty() {
            return Ok(());
        }
        if let (Some(file), Some(last)) = (&self.file, self.runs.last_mut())
            && !last.joins(chunk)
        {
            last.write(file, &mut self.buffer)?;
            self.bytes = (self.runs.len() * size_of::<Run>()) as u64;
        }
        self.append(chunk);
        Ok(())
    }

    fn append(&mut self, chunk: &mut Chunk) {
        if let Some(run) = self.runs.last_mut()
            && run.joins(chunk)
        {
            let shift = (chunk.base - run.base) as u32;
            let before = run.steps.capacity();
            run.steps.extend(chunk.log.drain(..).map(|(parent, label)| (parent + shift, label)));
            self.bytes += (run.steps.capacity() - before) as u64 * 8;
            return;
        }
        if let Some(run) = self.runs.last_mut() {
            self.bytes -= (run.steps.capacity() * 8) as u64;
            run.steps.shrink_to_fit();
            self.bytes += (run.steps.capacity() * 8) as u64;
        }
        let mut steps = std::mem::take(&mut chunk.log);
        steps.shrink_to_fit();
        self.bytes += (steps.capacity() * 8 + size_of::<Run>()) as u64;
        self.runs.push(Run { first: chunk.first, base: chunk.base, steps, offset: None });
    }

    /// The labels from an initial state to state `number`, both included.
    pub(crate) fn path(&self, mut number: u64) -> Result<Vec<Label>, DiskError> {
        let mut path = Vec::new();
        let mut bytes = Vec::new();
        while number >= self.head.len() {
            let run = &self.runs[self.runs.partition_point(|run| run.first <= number) - 1];
            let (parent, label) =
                run.step((number - run.first) as usize, &self.file, &mut bytes)?;
            path.push(label);
            number = run.base + u64::from(parent);
        }
        path.reverse();
        let mut whole = self.head.path(number);
        whole.append(&mut path);
        Ok(whole)
    }

    /// Calls `each` with parent and label of each state, in order.
    pub(crate) fn each(
        &self,
        mut each: impl FnMut(Option<u64>, Label) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        for (parent, label) in self.head.each() {
            each(parent, label)?;
        }
        let mut bytes = Vec::new();
        for run in &self.runs {
            let len = match (run.offset, &self.file) {
                (Some(offset), Some(file)) => {
                    frames::read(file, offset, &mut bytes)?;
                    bytes.len() / 8
                }
                _ => run.steps.len(),
            };
            for i in 0..len {
                let (parent, label) = match run.offset {
                    None => run.steps[i],
                    Some(_) => parse(&bytes, i).unwrap_or((0, Label(0))),
                };
                each(Some(run.base + u64::from(parent)), label)?;
            }
        }
        Ok(())
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.head.bytes() + self.bytes
    }
}

/// The `i`-th step of a run as it is written.
fn parse(bytes: &[u8], i: usize) -> Option<(u32, Label)> {
    let &[a, b, c, d, e, f, g, h] = bytes.as_chunks::<8>().0.get(i)?;
    Some((u32::from_le_bytes([a, b, c, d]), Label(u32::from_le_bytes([e, f, g, h]))))
}

impl Run {
    /// Whether the log of a chunk can be appended.
    fn joins(&self, chunk: &Chunk) -> bool {
        self.offset.is_none()
            && self.steps.len() + chunk.log.len() <= JOINED
            && chunk.log.len() < JOINED / 8
            && self.base <= chunk.base
            && chunk.base - self.base < NEAR
    }

    /// Moves the steps to disk.
    fn write(&mut self, file: &File, buffer: &mut Vec<u8>) -> Result<(), DiskError> {
        if self.offset.is_some() {
            return Ok(());
        }
        buffer.clear();
        buffer.resize(frames::HEADER, 0);
        for (parent, label) in &self.steps {
            buffer.extend_from_slice(&parent.to_le_bytes());
            buffer.extend_from_slice(&label.0.to_le_bytes());
        }
        frames::seal(buffer);
        self.offset = Some(file.append(buffer)?);
        self.steps = Vec::new();
        Ok(())
    }

    /// Parent, relative to the base, and label of the `i`-th state.
    fn step(
        &self,
        i: usize,
        file: &Option<File>,
        bytes: &mut Vec<u8>,
    ) -> Result<(u32, Label), DiskError> {
        let (Some(offset), Some(file)) = (self.offset, file) else {
            return Ok(self.steps[i]);
        };
        frames::read(file, offset, bytes)?;
        parse(bytes, i).ok_or_else(|| {
            let text = format!("the frame at byte {offset} is too short");
            DiskError::damaged(file.path(), text)
        })
    }
}
