//! A search on disk, between two pieces of work: what it takes to go on.
//!
//! One file of checksummed frames; each holds a record: a kind and words of 64 bits. The first record
//! holds the version, the size of states and all counts; the last one closes the file, so a file that
//! was cut short is recognised. States, the parent log and what waits stand in records of bounded
//! size, so neither side needs memory for more than one. A set that cannot give its states back, and a
//! reduction that notes something, stand there as the records that they hand out
//! ([`ergodic_system::records`]).
//!
//! Who saves decides where ([`Saver`]), and makes the new file the valid one in one step when it is
//! complete.

use crate::Stats;
use ergodic_disk::{Dir, DiskError, File, frames};
use ergodic_system::Shape;

/// Name of the file in the directory of a checkpoint.
pub const FILE: &str = "search";
/// Grows when the meaning of a record changes.
pub const VERSION: u64 = 5;
/// Words per record, about.
pub(crate) const RECORD_WORDS: usize = 1 << 16;

/// The kinds of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The head: counts and position.
    Head = 1,
    /// A finding.
    Finding = 2,
    /// States that are to be expanded next, with the number of the first.
    Level = 3,
    /// States found for the level behind it.
    Next = 4,
    /// Steps of the parent log.
    Log = 5,
    /// Visited states.
    Visited = 6,
    /// What the archive needs to be opened again.
    Archive = 7,
    /// The end.
    End = 8,
    /// What a set holds that cannot give its states back.
    Store = 9,
    /// What the system noted about the search so far.
    System = 10,
    /// States that the archive was not asked for yet, with how they were found.
    Candidate = 11,
}

impl Kind {
    fn of(word: u64) -> Option<Kind> {
        use Kind::{
            Archive, Candidate, End, Finding, Head, Level, Log, Next, Store, System, Visited,
        };
        let all =
            [Head, Finding, Level, Next, Log, Visited, Archive, End, Store, System, Candidate];
        all.into_iter().find(|kind| *kind as u64 == word)
    }
}

/// Who keeps checkpoints.
pub trait Saver {
    /// Whether it is time to save. Asked between two pieces of work, so it must be cheap.
    fn due(&mut self) -> bool;

    /// An empty directory to write to.
    fn begin(&mut self) -> Result<Dir, DiskError>;

    /// What was written to the directory is complete: makes it the valid checkpoint.
    fn commit(&mut self) -> Result<(), DiskError>;

    /// Saving failed. The search goes on, and the last valid checkpoint stays.
    fn failed(&mut self, why: String);
}

/// Writes the file.
pub(crate) struct Writer {
    file: File,
    records: u64,
    buffer: Vec<u8>,
}

impl Writer {
    pub(crate) fn create(dir: &Dir) -> Result<Writer, DiskError> {
        Ok(Writer { file: dir.create_named(FILE)?, records: 0, buffer: Vec::new() })
    }

    /// Writes a record.
    pub(crate) fn put(&mut self, kind: Kind, parts: &[&[u64]]) -> Result<(), DiskError> {
        self.buffer.clear();
        self.buffer.resize(frames::HEADER, 0);
        self.buffer.extend_from_slice(&(kind as u64).to_le_bytes());
        for part in parts {
            self.buffer.extend(part.iter().flat_map(|word| word.to_le_bytes()));
        }
        frames::seal(&mut self.buffer);
        self.records += 1;
        self.file.append(&self.buffer)?;
        Ok(())
    }

    /// Closes the file; it is safe on disk then.
    pub(crate) fn finish(mut self) -> Result<(), DiskError> {
        let records = self.records;
        self.put(Kind::End, &[&[records]])?;
        self.file.sync()
    }
}

/// Reads the file.
#[derive(Debug)]
pub(crate) struct Reader {
    file: File,
    at: u64,
    records: u64,
    buffer: Vec<u8>,
    /// The words of the record read last.
    pub(crate) words: Vec<u64>,
}

impl Reader {
    /// Opens the file of a checkpoint.
    pub(crate) fn open(dir: &Dir) -> Result<Reader, DiskError> {
        let file = dir.open(FILE)?;
        Ok(Reader { file, at: 0, records: 0, buffer: Vec::new(), words: Vec::new() })
    }

    /// Reads the records that are left, so that nothing damaged is half-loaded, and shows each of
    /// them; then starts again behind the first one.
    pub(crate) fn verify(&mut self, mut each: impl FnMut(Kind, &[u64])) -> Result<(), DiskError> {
        let behind_the_head = (self.at, self.records);
        loop {
            match self.next()? {
                Kind::End => break,
                kind => each(kind, &self.words),
            }
        }
        if self.at != self.file.len() {
            return Err(self.wrong("there is something behind its end"));
        }
        (self.at, self.records) = behind_the_head;
        Ok(())
    }

    /// The next record.
    pub(crate) fn next(&mut self) -> Result<Kind, DiskError> {
        self.at = frames::read(&self.file, self.at, &mut self.buffer)?;
        let (words, rest) = self.buffer.as_chunks::<8>();
        self.words.clear();
        self.words.extend(words.iter().skip(1).map(|bytes| u64::from_le_bytes(*bytes)));
        let kind = words.first().and_then(|word| Kind::of(u64::from_le_bytes(*word)));
        let Some(kind) = kind.filter(|_| rest.is_empty()) else {
            return Err(self.wrong("it holds a record of an unknown kind"));
        };
        if kind == Kind::End && self.words != [self.records] {
            return Err(self.wrong("records are missing"));
        }
        self.records += 1;
        Ok(kind)
    }

    pub(crate) fn wrong(&self, text: &str) -> DiskError {
        DiskError::damaged(self.file.path(), text)
    }
}

/// The first record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Head {
    /// Words and bits of a state.
    pub(crate) shape: Shape,
    /// The search is strictly in order so far.
    pub(crate) in_order: bool,
    /// The search has gone to disk.
    pub(crate) late: bool,
    /// There is a parent log.
    pub(crate) traces: bool,
    /// The level to be expanded is expanded in part.
    pub(crate) midway: bool,
    /// Depth of the level to be expanded.
    pub(crate) depth: u64,
    /// States of the levels up to that one.
    pub(crate) closed: u64,
    /// States that have a number.
    pub(crate) numbered: u64,
    /// States per task of the level being expanded; 0 if it has no tasks.
    pub(crate) task: u64,
    pub(crate) stats: Stats,
    pub(crate) goals: Vec<u64>,
}

impl Head {
    pub(crate) fn write(&self, writer: &mut Writer) -> Result<(), DiskError> {
        let stats = &self.stats;
        let fixed = [
            VERSION,
            self.shape.words as u64,
            self.shape.bits as u64,
            u64::from(self.in_order),
            u64::from(self.late),
            u64::from(self.traces),
            u64::from(self.midway),
            self.depth,
            self.closed,
            self.numbered,
            self.task,
            stats.states,
            stats.transitions,
            stats.depth,
            stats.max_frontier,
            stats.frontier_bytes,
        ];
        let lists = [&stats.levels, &stats.fired, &stats.fresh, &self.goals];
        let lens = lists.map(|list| list.len() as u64);
        let [levels, fired, fresh, goals] = lists.map(Vec::as_slice);
        writer.put(Kind::Head, &[&fixed, &lens, levels, fired, fresh, goals])
    }

    pub(crate) fn read(reader: &mut Reader) -> Result<Head, DiskError> {
        if reader.next()? != Kind::Head {
            return Err(reader.wrong("it does not begin as it should"));
        }
        if reader.words.first() != Some(&VERSION) {
            let text = format!(
                "it is of version {}, and this program reads version {VERSION}",
                reader.words.first().copied().unwrap_or_default()
            );
            return Err(reader.wrong(&text));
        }
        Head::parse(&reader.words).ok_or_else(|| reader.wrong("its head is incomplete"))
    }

    fn parse(words: &[u64]) -> Option<Head> {
        let (&[_, width, bits, in_order, late, traces, midway], rest) =
            words.split_first_chunk::<7>()?;
        let (&[depth, closed, numbered, task], rest) = rest.split_first_chunk::<4>()?;
        let (&[states, transitions, deepest, max_frontier, frontier_bytes], rest) =
            rest.split_first_chunk::<5>()?;
        let (&lens, mut rest) = rest.split_first_chunk::<4>()?;
        let mut lists = [const { Vec::new() }; 4];
        for (list, len) in lists.iter_mut().zip(lens) {
            let (now, later) = rest.split_at_checked(usize::try_from(len).ok()?)?;
            *list = now.to_vec();
            rest = later;
        }
        let [levels, fired, fresh, goals] = lists;
        let stats = Stats {
            states,
            transitions,
            depth: deepest,
            max_frontier,
            levels,
            fired,
            fresh,
            frontier_bytes,
            ..Stats::default()
        };
        Some(Head {
            shape: Shape { words: width as usize, bits: bits as usize },
            in_order: in_order != 0,
            late: late != 0,
            traces: traces != 0,
            midway: midway != 0,
            depth,
            closed,
            numbered,
            task,
            stats,
            goals,
        })
    }
}
