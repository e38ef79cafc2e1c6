//! The parent log: how each state was found first, in about two bytes.
//!
//! A breadth-first search numbers its states in the order in which it keeps them, which is the
//! order in which it expands them; so the log needs no help from a store. The parents of states that
//! follow each other are equal or follow each other, nearly always: a step is written as its label
//! and how far its parent is from the parent of the step before, in groups of seven bits
//! ([`Steps`]). An initial state is its own parent.
//!
//! The log is a list of segments that can be read without any other; nothing is copied when it grows, and
//! several threads can write segments of their own.
//! A path is read backwards, and numbers fall on the way back, so each segment is decoded at most
//! once. With [`ParentLog::spill`] the segments go to a file, one frame each, and only the last one and
//! an index of 32 bytes per segment stay in memory.

use ergodic_disk::{Dir, DiskError, File, frames};
use ergodic_system::Label;

/// Bytes of a segment, about.
const SEGMENT: usize = 1 << 16;
/// Bytes of a step, at most: a label and two bits, and a distance.
const LONGEST: usize = 5 + 10;
/// In place of a small distance: the distance follows.
const FAR: u64 = 3;

/// Steps, each written relative to the one before.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    bytes: Vec<u8>,
    /// Parent of the last step.
    last: u64,
    len: u64,
}

impl Steps {
    /// Appends a step.
    #[inline]
    pub(crate) fn push(&mut self, parent: u64, label: Label) {
        let distance = parent.wrapping_sub(self.last);
        let code = u64::from(label.0) << 2 | distance.min(FAR);
        match code {
            0..0x80 => self.bytes.push(code as u8),
            0x80..0x4000 => self.bytes.extend([code as u8 | 0x80, (code >> 7) as u8]),
            _ => self.write(code),
        }
        if distance >= FAR {
            // Backwards distances are rare: they may as well take ten bytes.
            self.write(distance);
        }
        self.last = parent;
        self.len += 1;
    }

    /// Gives back room that is not needed.
    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }

    /// All steps, in order: number of the parent, and label.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, Label)> {
        Reader::new(&self.bytes)
    }

    fn write(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

/// Reads what [`Steps`] wrote.
struct Reader<'a> {
    bytes: std::slice::Iter<'a, u8>,
    last: u64,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes: bytes.iter(), last: 0 }
    }

    fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = *self.bytes.next()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
            shift += 7;
        }
    }
}

impl Iterator for Reader<'_> {
    type Item = (u64, Label);

    fn next(&mut self) -> Option<(u64, Label)> {
        let code = self.number()?;
        let distance = if code & 3 == FAR { self.number()? } else { code & 3 };
        self.last = self.last.wrapping_add(distance);
        Some((self.last, Label((code >> 2) as u32)))
    }
}

/// Where the bytes of a segment are.
#[derive(Debug)]
enum Place {
    Memory(Box<[u8]>),
    /// The frame in the file that begins there.
    File(u64),
}

/// A run of steps that is complete.
#[derive(Debug)]
struct Segment {
    /// Number of its first state.
    first: u64,
    place: Place,
}

/// Parent and label of each state of a breadth-first search.
#[derive(Debug, Default)]
pub struct ParentLog {
    segments: Vec<Segment>,
    /// Segments that are in the file; the others follow.
    written: usize,
    /// Bytes of segments in memory.
    held: u64,
    /// The last steps.
    open: Steps,
    /// Number of the first of them.
    first: u64,
    file: Option<Box<File>>,
}

impl ParentLog {
    /// Number of states.
    pub fn len(&self) -> u64 {
        self.first + self.open.len
    }

    /// Whether there is no state.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the next state, with the number of its parent unless it is initial.
    ///
    /// # Panics
    /// If the parent is not an earlier state.
    pub fn push(&mut self, parent: Option<u64>, label: Label) {
        let number = self.len();
        assert!(parent.is_none_or(|parent| parent < number), "a parent comes before its children");
        self.push_step(parent.unwrap_or(number), label);
    }

    /// Appends the next state; an initial one is its own parent.
    #[inline]
    pub(crate) fn push_step(&mut self, parent: u64, label: Label) {
        if self.open.bytes.len() + LONGEST > SEGMENT {
            self.close_segment();
        }
        self.open.push(parent, label);
    }

    #[cold]
    fn close_segment(&mut self) {
        let steps = std::mem::take(&mut self.open);
        self.add_segment(steps);
        // The first segment grows as needed, because small models are many.
        self.open.bytes.reserve_exact(SEGMENT);
    }

    /// Appends the next states: somebody else has written down how they were found.
    pub(crate) fn append(&mut self, steps: Steps) {
        if self.open.len > 0 {
            let open = std::mem::take(&mut self.open);
            self.add_segment(open);
        }
        self.add_segment(steps);
    }

    fn add_segment(&mut self, steps: Steps) {
        let first = self.first;
        self.first += steps.len;
        self.held += steps.bytes.len() as u64;
        let place = Place::Memory(steps.bytes.into_boxed_slice());
        self.segments.push(Segment { first, place });
    }

    /// Moves all complete segments to a file under `dir`, and lets [`ParentLog::write_out`] do so with
    /// those that come later.
    pub(crate) fn spill(&mut self, dir: &Dir) -> Result<(), DiskError> {
        if self.file.is_none() {
            self.file = Some(Box::new(dir.create("parents")?));
        }
        self.write_out()
    }

    /// Moves complete segments to the file, if there is one.
    pub(crate) fn write_out(&mut self) -> Result<(), DiskError> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut buffer = Vec::new();
        for segment in &mut self.segments[self.written..] {
            if let Place::Memory(bytes) = &segment.place {
                let offset = frames::append(file, bytes, &mut buffer)?;
                self.held -= bytes.len() as u64;
                segment.place = Place::File(offset);
            }
            self.written += 1;
        }
        Ok(())
    }

    /// The labels from an initial state to state `number`, both included; none if a file cannot be
    /// read any more.
    ///
    /// # Panics
    /// If there is no such state.
    pub fn path(&self, number: u64) -> Vec<Label> {
        assert!(number < self.len(), "state {number} is not in the log");
        self.try_path(number).unwrap_or_default()
    }

    /// As [`ParentLog::path`]; an error if a file cannot be read.
    pub(crate) fn try_path(&self, mut number: u64) -> Result<Vec<Label>, DiskError> {
        let (mut path, mut first, mut steps) = (Vec::new(), self.len(), Vec::new());
        loop {
            if number < first {
                first = self.decode(number, &mut steps)?;
            }
            let Some(&(parent, label)) = steps.get((number - first) as usize) else { break };
            path.push(label);
            if parent >= number {
                break;
            }
            number = parent;
        }
        path.reverse();
        Ok(path)
    }

    /// Decodes the segment of a state; returns the number of its first one.
    fn decode(&self, number: u64, steps: &mut Vec<(u64, Label)>) -> Result<u64, DiskError> {
        steps.clear();
        let next = self.segments.partition_point(|segment| segment.first <= number);
        if number >= self.first || next == 0 {
            steps.extend(Reader::new(&self.open.bytes));
            return Ok(self.first);
        }
        let segment = &self.segments[next - 1];
        match (&segment.place, &self.file) {
            (Place::Memory(bytes), _) => steps.extend(Reader::new(bytes)),
            (Place::File(offset), Some(file)) => {
                let mut bytes = Vec::new();
                frames::read(file, *offset, &mut bytes)?;
                steps.extend(Reader::new(&bytes));
            }
            (Place::File(_), None) => {}
        }
        let end = self.segments.get(next).map_or(self.first, |next| next.first);
        match &self.file {
            Some(file) if steps.len() as u64 != end - segment.first => {
                let text = format!("the steps from state {} on are not all there", segment.first);
                Err(DiskError::damaged(file.path(), text))
            }
            _ => Ok(segment.first),
        }
    }

    /// Parent and label of each state, in order, of a log that is in memory.
    pub(crate) fn each(&self) -> impl Iterator<Item = (Option<u64>, Label)> {
        let segments = self.segments.iter().map(|segment| match &segment.place {
            Place::Memory(bytes) => &bytes[..],
            Place::File(_) => &[],
        });
        let steps = segments.chain([self.open.bytes.as_slice()]).flat_map(Reader::new);
        (0..)
            .zip(steps)
            .map(|(number, (parent, label))| ((parent < number).then_some(parent), label))
    }

    /// Calls `each` with parent and label of each state, in order.
    pub(crate) fn each_step(
        &self,
        mut each: impl FnMut(Option<u64>, Label) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let (mut number, mut steps) = (0, Vec::new());
        while number < self.len() {
            self.decode(number, &mut steps)?;
            for (parent, label) in &steps {
                each((*parent < number).then_some(*parent), *label)?;
                number += 1;
            }
            if steps.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> u64 {
        let index = self.segments.capacity() * size_of::<Segment>();
        self.held + (self.open.bytes.capacity() + index) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_go_back_to_the_root() {
        let mut log = ParentLog::default();
        log.push(None, Label(7));
        log.push(None, Label(8));
        log.push(Some(0), Label(1));
        log.push(Some(0), Label(2));
        log.push(Some(3), Label(u32::MAX));
        assert_eq!(log.path(1), [Label(8)]);
        assert_eq!(log.path(4), [Label(7), Label(2), Label(u32::MAX)]);
    }

    #[test]
    fn a_few_bytes_per_state() {
        let mut log = ParentLog::default();
        log.push(None, Label(0));
        for i in 0..1_000_000 {
            log.push(Some(i), Label(1));
        }
        assert!(log.bytes() < 2_000_000);
        assert_eq!(log.path(1_000_000).len(), 1_000_001);
    }

    /// Parents and labels, and the log as it should be.
    fn naive(parents: &[Option<u64>], labels: &[u32], mut number: u64) -> Vec<Label> {
        let mut path = vec![Label(labels[number as usize])];
        while let Some(parent) = parents[number as usize] {
            number = parent;
            path.push(Label(labels[number as usize]));
        }
        path.reverse();
        path
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_log_comes_back(seeds in prop::collection::vec((any::<u64>(), any::<u32>()), 1..400),
                              times in 1..150usize, spilled: bool, apart in 0..5usize) {
            let (mut parents, mut labels) = (Vec::new(), Vec::new());
            for i in 0..seeds.len() * times {
                let (seed, label) = seeds[i % seeds.len()];
                // Mostly near, sometimes anywhere, forwards and backwards.
                let near = (i as u64 * 3 / 4).saturating_sub(seed % 3);
                let any = if seed % 16 == 0 { seed % (i as u64 + 1) } else { near };
                parents.push((any < i as u64).then_some(any));
                labels.push(if seed % 3 == 0 { label } else { label % 50 });
            }
            let dir = Dir::fresh(&std::env::temp_dir()).unwrap();
            let mut log = ParentLog::default();
            let mut own = Steps::default();
            for (i, (parent, label)) in parents.iter().zip(&labels).enumerate() {
                // Some are written down by somebody else.
                if apart > 0 && i / 300 % 3 == apart % 3 {
                    own.push(parent.unwrap_or(i as u64), Label(*label));
                    if i % 300 == 299 || i + 1 == parents.len() {
                        own.shrink();
                        log.append(std::mem::take(&mut own));
                    }
                } else {
                    log.push(*parent, Label(*label));
                }
                if spilled && i == parents.len() / 2 {
                    log.spill(&dir).unwrap();
                }
                log.write_out().unwrap();
            }
            prop_assert_eq!(log.len(), parents.len() as u64);
            prop_assert!(!spilled || log.bytes() <= 3 * SEGMENT as u64);
            for i in (0..parents.len()).rev().step_by(parents.len() / 7 + 1) {
                prop_assert_eq!(log.path(i as u64), naive(&parents, &labels, i as u64));
            }
            let mut all = parents.iter().copied().zip(labels.iter().map(|label| Label(*label)));
            prop_assert!(spilled || log.each().eq(all.clone()));
            log.each_step(|parent, label| {
                assert_eq!(all.next(), Some((parent, label)));
                Ok(())
            }).unwrap();
            prop_assert!(all.next().is_none());
        }
    }
}
