//! Saving a search and going on from what was saved (the format is in [`crate::snapshot`]).
//!
//! A search is saved between two blocks in its first phase, and in its second one when every worker
//! has finished the task it had: then what is left of a level are whole tasks. So what is saved is:
//! the states left to expand and the ones found behind them, those that the archive is still to be asked
//! for, all visited states, the parent log, and the counts; nothing of it depends on the number of
//! threads, or on how the states were stored. The search goes on with any number of threads and any
//! exact store. A set that cannot give its states back is saved as it is, and goes on as it is.
//!
//! Saving changes nothing of the search: no archive is asked, no task is cut in another way. So also a
//! search whose result depends on these goes on as if nothing had been, with one thread and the same
//! memory.

use super::chunks::{Chunk, chunk_states};
use super::handed::Handed;
use super::roomy::Roomy;
use super::{Coordinator, lock};
use crate::bfs::Levels;
use crate::intake::{Intake, add};
use crate::snapshot::{Head, Kind, RECORD_WORDS, Reader, Saver, Writer};
use crate::{Ending, Finding, Findings, ParentLog};
use ergodic_disk::{Dir, DiskError};
use ergodic_system::records::Put;
use ergodic_system::{
    Archive, Block, Exhausted, Fault, Frontier, Label, PAD_WORDS, Picks, Shared, System,
    ViolationKind, Visited,
};
use std::sync::PoisonError;

/// No parent.
const NONE: u64 = u64::MAX;

/// Writes what waits: the states left and those found behind them.
fn put_chunk(writer: &mut Writer, kind: Kind, chunk: &Chunk) -> Result<(), DiskError> {
    let first = if chunk.numbered { chunk.first } else { NONE };
    let log: Vec<u64> = chunk.steps().map(step_word).collect();
    let head = [first, chunk.base, log.len() as u64];
    chunk.with_states(|block| writer.put(kind, &[&head, &log, block.words()]))
}

/// A parent, relative to some number, and a label as one word.
fn step_word((parent, label): (u32, Label)) -> u64 {
    u64::from(parent) << 32 | u64::from(label.0)
}

fn step_of(word: u64) -> (u32, Label) {
    ((word >> 32) as u32, Label(word as u32))
}

/// Writes states that the archive was not asked for yet: each with its step and its rule.
fn put_candidates(writer: &mut Writer, chunk: &Chunk) -> Result<(), DiskError> {
    let log: Vec<u64> = chunk.steps().map(step_word).collect();
    let rules: Vec<u64> = chunk.rules.iter().map(|rule| u64::from(*rule)).collect();
    let head = [chunk.base, chunk.len() as u64];
    chunk.with_states(|block| writer.put(Kind::Candidate, &[&head, &log, &rules, block.words()]))
}

/// Reads what [`put_candidates`] wrote, of a system with so many rules.
fn parse_candidates(words: &[u64], width: usize, rules: usize) -> Option<Chunk> {
    let (&[base, len], rest) = words.split_first_chunk::<2>()?;
    let len = usize::try_from(len).ok().filter(|len| *len <= chunk_states(width))?;
    let (log, rest) = rest.split_at_checked(len)?;
    let (numbers, states) = rest.split_at_checked(len)?;
    if states.len() != len * width || numbers.iter().any(|rule| *rule >= rules as u64) {
        return None;
    }
    let mut chunk = Chunk::new(width);
    chunk.base = base;
    states.chunks(width).for_each(|state| chunk.push(state));
    chunk.log.extend(log.iter().map(|word| step_of(*word)));
    chunk.rules.extend(numbers.iter().map(|rule| *rule as u32));
    Some(chunk)
}

/// Writes states in records of bounded size.
struct States<'w> {
    writer: &'w mut Writer,
    words: Vec<u64>,
    answer: Result<(), DiskError>,
}

impl States<'_> {
    fn add(&mut self, state: &[u64]) {
        self.words.extend_from_slice(state);
        if self.words.len() >= RECORD_WORDS {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.answer.is_ok() && !self.words.is_empty() {
            self.answer = self.writer.put(Kind::Visited, &[&self.words]);
        }
        self.words.clear();
    }
}

/// Writes the records that a part of the search hands out.
pub(super) fn put_records(
    writer: &mut Writer,
    kind: Kind,
    dump: impl FnOnce(&mut Put<'_>) -> Result<(), String>,
) -> Result<(), String> {
    dump(&mut |words| writer.put(kind, &[words]).map_err(|why| why.to_string()))
}

/// Writes all visited states: those of a set, and some more; or what the set hands out instead.
fn put_visited<V: Shared>(
    writer: &mut Writer,
    set: &V,
    extra: impl Iterator<Item = impl AsRef<[u64]>>,
) -> Result<(), String> {
    let mut states = States { writer, words: Vec::new(), answer: Ok(()) };
    if !set.each(&mut |state| states.add(state)) {
        return put_records(states.writer, Kind::Store, |put| set.dump(put));
    }
    extra.for_each(|state| states.add(state.as_ref()));
    states.flush();
    states.answer.map_err(|why| why.to_string())
}

pub(super) fn put_findings(writer: &mut Writer, findings: &Findings) -> Result<(), DiskError> {
    for (finding, rule) in findings.list() {
        let kind = match finding.kind {
            ViolationKind::Fault(f) => [0, u64::from(f.kind), u64::from(f.site), f.value as u64],
            ViolationKind::Property(number) => [1, u64::from(number), 0, 0],
            ViolationKind::Deadlock => [2, 0, 0, 0],
        };
        let rule = rule.map_or(NONE, u64::from);
        let path: Vec<u64> = finding.path.iter().map(|label| u64::from(label.0)).collect();
        writer.put(Kind::Finding, &[&kind, &[finding.depth, rule], &path])?;
    }
    Ok(())
}

fn parse_finding(words: &[u64]) -> Option<(Finding, Option<u32>)> {
    let (&[kind, a, b, c, depth, rule], path) = words.split_first_chunk::<6>()?;
    let kind = match kind {
        0 => ViolationKind::Fault(Fault { kind: a as u16, site: b as u32, value: c as i64 }),
        1 => ViolationKind::Property(a as u32),
        2 => ViolationKind::Deadlock,
        _ => return None,
    };
    let path = path.iter().map(|label| Label(*label as u32)).collect();
    let rule = (rule != NONE).then_some(rule as u32);
    Some((Finding { path, kind, depth }, rule))
}

/// Steps of the parent log, in records of bounded size.
pub(super) struct Steps<'w> {
    writer: &'w mut Writer,
    words: Vec<u64>,
}

impl<'w> Steps<'w> {
    pub(super) fn new(writer: &'w mut Writer) -> Steps<'w> {
        Steps { writer, words: Vec::new() }
    }

    pub(super) fn add(&mut self, parent: Option<u64>, label: Label) -> Result<(), DiskError> {
        self.words.extend([parent.unwrap_or(NONE), u64::from(label.0)]);
        if self.words.len() >= RECORD_WORDS { self.flush() } else { Ok(()) }
    }

    pub(super) fn flush(&mut self) -> Result<(), DiskError> {
        self.writer.put(Kind::Log, &[&self.words])?;
        self.words.clear();
        Ok(())
    }
}

/// Saves, and tells the saver how that went.
pub(super) fn save_with(saver: &mut dyn Saver, write: impl FnOnce(&Dir) -> Result<(), String>) {
    let saved = match saver.begin() {
        Ok(dir) => write(&dir).and_then(|()| saver.commit().map_err(|why| why.to_string())),
        Err(why) => Err(why.to_string()),
    };
    if let Err(why) = saved {
        saver.failed(why);
    }
}

/// Saves the first phase.
pub(super) fn save_first<S: System, V: Shared>(
    saver: &mut dyn Saver,
    intake: &mut Intake<'_, S>,
    roomy: &Roomy<'_, V>,
    handed: &Handed,
) {
    let head = Head {
        shape: intake.system().shape(),
        in_order: true,
        late: false,
        traces: handed.parents.is_some(),
        midway: handed.next.is_some(),
        depth: handed.depth,
        closed: handed.closed,
        numbered: handed.numbered,
        task: 0,
        stats: intake.stats.clone(),
        goals: intake.goals_met(),
    };
    save_with(saver, |dir| {
        let text = |why: DiskError| why.to_string();
        let mut writer = Writer::create(dir).map_err(text)?;
        head.write(&mut writer).map_err(text)?;
        put_findings(&mut writer, intake.findings()).map_err(text)?;
        if let Some(log) = &handed.parents {
            let mut steps = Steps::new(&mut writer);
            for (parent, label) in log.each() {
                steps.add(parent, label).map_err(text)?;
            }
            steps.flush().map_err(text)?;
        }
        for chunk in &handed.level {
            put_chunk(&mut writer, Kind::Level, chunk).map_err(text)?;
        }
        for chunk in handed.next.iter().flatten() {
            put_chunk(&mut writer, Kind::Next, chunk).map_err(text)?;
        }
        put_visited(&mut writer, roomy.set(), roomy.extra())?;
        put_records(&mut writer, Kind::System, |put| intake.system().dump(put))?;
        writer.finish().map_err(text)
    });
}

impl<S: System, V: Shared, A: Archive> Coordinator<'_, '_, '_, '_, S, V, A> {
    /// In the middle of a level, when no worker has anything in hand: saves, and leaves if it is time
    /// to.
    pub(super) fn pause(&mut self, depth: u64, before: u64) -> Result<(), Ending> {
        for worker in self.workers {
            self.wrongs.merge(&mut lock(worker).wrongs);
        }
        let Some(ending) = self.leaving.take() else {
            // What is wrong is reported when the level ends; there is nothing worth saving then.
            if self.wrongs.is_empty() {
                self.save(depth, before);
            }
            return Ok(());
        };
        if !self.report() {
            self.save(depth, before);
        }
        Err(ending)
    }

    fn save(&mut self, depth: u64, before: u64) {
        let Some(saver) = self.saver.take() else { return };
        if self.late.is_none() {
            for worker in self.workers {
                self.chunks.append(&mut lock(worker).out);
            }
        }
        save_with(saver, |dir| self.write(dir, depth, before));
        self.saver = Some(saver);
    }

    fn head(&self, depth: u64, before: u64) -> Head {
        let mut stats = self.stats.clone();
        let mut goals = self.goals.clone();
        for worker in self.workers {
            let worker = lock(worker);
            stats.states += worker.counts.states;
            stats.transitions += worker.counts.transitions;
            add(&mut stats.fired, &worker.counts.fired);
            add(&mut stats.fresh, &worker.counts.fresh);
            add(&mut goals, self.board.system.goals(&worker.scratch));
        }
        Head {
            shape: self.board.system.shape(),
            in_order: false,
            late: self.late.is_some(),
            traces: self.runs.is_some(),
            midway: true,
            depth: depth - 1,
            closed: before,
            numbered: self.numbered,
            task: self.board.level.read().unwrap_or_else(PoisonError::into_inner).task_len as u64,
            stats,
            goals,
        }
    }

    fn write(&mut self, dir: &Dir, depth: u64, before: u64) -> Result<(), String> {
        let text = |why: DiskError| why.to_string();
        let mut writer = Writer::create(dir).map_err(text)?;
        self.head(depth, before).write(&mut writer).map_err(text)?;
        put_findings(&mut writer, &self.findings).map_err(text)?;
        if let Some(runs) = &self.runs {
            let mut steps = Steps::new(&mut writer);
            runs.each(|parent, label| steps.add(parent, label)).map_err(text)?;
            steps.flush().map_err(text)?;
        }
        let level = self.board.level.read().unwrap_or_else(PoisonError::into_inner);
        let left = level
            .each_left(|first, block| writer.put(Kind::Level, &[&[first, 0, 0], block.words()]));
        left.map_err(text)?;
        for chunk in &self.chunks {
            put_chunk(&mut writer, Kind::Next, chunk).map_err(text)?;
        }
        if let Some(late) = &mut self.late {
            let saved = late.archive.save(dir.path()).map_err(|why| match why {
                Exhausted::Other(text) => text,
                Exhausted::Memory { .. } => "memory is used up".to_string(),
            })?;
            let words: Vec<u64> = saved.iter().map(|byte| u64::from(*byte)).collect();
            writer.put(Kind::Archive, &[&words]).map_err(text)?;
            for worker in self.workers {
                for chunk in &lock(worker).out {
                    put_candidates(&mut writer, chunk).map_err(text)?;
                }
            }
        }
        let sets = self.board.sets.read().unwrap_or_else(PoisonError::into_inner);
        put_visited(&mut writer, &*sets.all, std::iter::empty::<&[u64]>())?;
        put_records(&mut writer, Kind::System, |put| self.board.system.dump(put))?;
        writer.finish().map_err(text)
    }
}

/// A search that was saved, checked to be whole.
#[derive(Debug)]
pub struct Resume {
    pub(super) reader: Reader,
    pub(super) head: Head,
    archive: Option<Vec<u8>>,
}

impl Resume {
    /// Opens a checkpoint and reads all of it once, so that nothing damaged is loaded in part.
    pub fn open(dir: &Dir) -> Result<Resume, DiskError> {
        let mut reader = Reader::open(dir)?;
        let head = Head::read(&mut reader)?;
        let mut archive = None;
        reader.verify(|kind, words| {
            if kind == Kind::Archive {
                archive = Some(words.iter().map(|word| *word as u8).collect());
            }
        })?;
        Ok(Resume { reader, head, archive })
    }

    /// What the archive of the search gave to be opened again with.
    pub fn archive(&self) -> Option<&[u8]> {
        self.archive.as_deref()
    }

    /// States found before.
    pub fn states(&self) -> u64 {
        self.head.stats.states
    }

    /// Whether the search had gone to disk.
    pub fn late(&self) -> bool {
        self.head.late
    }

    /// Whether the search was strictly in order so far.
    pub(super) fn in_order(&self) -> bool {
        self.head.in_order
    }

    /// It is an error if the checkpoint is of another system.
    pub(super) fn check<S: System>(&self, system: &S) -> Result<(), Ending> {
        let head = &self.head;
        if head.shape != system.shape() || head.stats.fired.len() != system.rules() {
            let why = self.reader.wrong("it belongs to another model, or to other options");
            return Err(why.into());
        }
        Ok(())
    }

    /// It is an error if the system notes something about a search and the checkpoint has nothing of
    /// that: what was found before would seem new to it.
    pub(super) fn check_noted<S: System>(
        reader: &Reader,
        system: &S,
        noted: bool,
    ) -> Result<(), Ending> {
        let mut notes = false;
        // The first record is enough to know.
        let _ = system.dump(&mut |_| {
            notes = true;
            Err(String::new())
        });
        if notes && !noted {
            return Err(reader.wrong("it was saved with another reduction").into());
        }
        Ok(())
    }

    /// Puts everything back in its place, for a search that is not in order any more.
    pub(super) fn load_apart<S: System, V: Shared, F: Frontier>(
        self,
        intake: &mut Intake<'_, S>,
        roomy: &mut Roomy<'_, V>,
        levels: &mut Levels<'_, F>,
    ) -> Result<Handed, Ending> {
        let path = self.reader.wrong("it belongs to another search");
        match self.load(intake, roomy, levels)? {
            Loaded::Apart(handed, _) => Ok(*handed),
            Loaded::InOrder => Err(path.into()),
        }
    }

    /// Puts everything back in its place.
    pub(super) fn load<S: System, V: Shared, F: Frontier>(
        self,
        intake: &mut Intake<'_, S>,
        roomy: &mut Roomy<'_, V>,
        levels: &mut Levels<'_, F>,
    ) -> Result<Loaded, Ending> {
        self.check(intake.system())?;
        let Resume { mut reader, head, .. } = self;
        let mut parts = Parts {
            handed: Handed {
                level: Vec::new(),
                next: head.midway.then(Vec::new),
                parents: head.traces.then(ParentLog::default),
                numbered: head.numbered,
                depth: head.depth,
                closed: head.closed,
                candidates: Vec::new(),
                task: usize::try_from(head.task).ok().filter(|task| *task > 0),
            },
            width: head.shape.words,
            fresh: Picks::new(),
        };
        let mut noted = false;
        loop {
            let kind = reader.next()?;
            if kind == Kind::End {
                break;
            }
            noted |= kind == Kind::System;
            parts.take(kind, &reader, intake, roomy)?;
        }
        Resume::check_noted(&reader, intake.system(), noted)?;
        if !head.late && !parts.handed.candidates.is_empty() {
            return Err(reader.wrong("it holds candidates though it has no archive").into());
        }
        intake.stats = head.stats;
        intake.goals = head.goals;
        if head.in_order {
            parts.handed.refill(levels)?;
            return Ok(Loaded::InOrder);
        }
        Ok(Loaded::Apart(Box::new(parts.handed), head.late))
    }
}

/// What was loaded.
pub(super) enum Loaded {
    /// The first phase goes on.
    InOrder,
    /// The second phase begins here; whether it had gone to disk.
    Apart(Box<Handed>, bool),
}

struct Parts {
    handed: Handed,
    width: usize,
    fresh: Picks,
}

impl Parts {
    fn take<S: System, V: Shared>(
        &mut self,
        kind: Kind,
        reader: &Reader,
        intake: &mut Intake<'_, S>,
        roomy: &mut Roomy<'_, V>,
    ) -> Result<(), Ending> {
        let wrong = || senseless(reader);
        let words = reader.words.as_slice();
        match kind {
            Kind::Head | Kind::Archive | Kind::End => {}
            Kind::Finding => take_finding(words, intake.findings()).ok_or_else(wrong)?,
            Kind::Log => take_log(words, self.handed.parents.as_mut()).ok_or_else(wrong)?,
            Kind::Store => roomy.restore(words).map_err(|why| reader.wrong(&why))?,
            Kind::System => intake.system().restore(words).map_err(|why| reader.wrong(&why))?,
            Kind::Candidate => {
                let chunk = parse_candidates(words, self.width, intake.system().rules());
                self.handed.candidates.push(chunk.ok_or_else(wrong)?);
            }
            Kind::Level => {
                parse_chunks(words, self.width, &mut self.handed.level).ok_or_else(wrong)?;
            }
            Kind::Next => {
                let next = self.handed.next.get_or_insert_default();
                parse_chunks(words, self.width, next).ok_or_else(wrong)?;
            }
            Kind::Visited => {
                if !words.len().is_multiple_of(self.width) {
                    return Err(wrong());
                }
                let len = words.len() / self.width;
                let padded = [words, &[0; PAD_WORDS]].concat();
                roomy.offer(Block::new(&padded, self.width, len), &mut self.fresh)?;
            }
        }
        Ok(())
    }
}

/// What is wrong with a record that nobody can have written.
pub(super) fn senseless(reader: &Reader) -> Ending {
    reader.wrong("a record of it makes no sense").into()
}

pub(super) fn take_finding(words: &[u64], findings: &mut Findings) -> Option<()> {
    let (Finding { path, kind, depth }, rule) = parse_finding(words)?;
    findings.add(kind, rule, depth, || path);
    Some(())
}

pub(super) fn take_log(words: &[u64], log: Option<&mut ParentLog>) -> Option<()> {
    let log = log?;
    for step in words.as_chunks::<2>().0 {
        let parent = (step[0] != NONE).then_some(step[0]);
        if parent.is_some_and(|parent| parent >= log.len()) {
            return None;
        }
        log.push(parent, Label(step[1] as u32));
    }
    Some(())
}

/// Reads what [`put_chunk`] wrote.
fn parse_chunks(words: &[u64], width: usize, chunks: &mut Vec<Chunk>) -> Option<()> {
    let (&[first, base, logged], rest) = words.split_first_chunk::<3>()?;
    let (log, states) = rest.split_at_checked(usize::try_from(logged).ok()?)?;
    if !states.len().is_multiple_of(width) {
        return None;
    }
    for (i, state) in states.chunks(width).enumerate() {
        let fits = |chunk: &Chunk| !chunk.is_full() && i > 0;
        if !chunks.last().is_some_and(fits) {
            let mut chunk = Chunk::new(width);
            chunk.numbered = first != NONE;
            chunk.first = if chunk.numbered { first + i as u64 } else { 0 };
            chunk.base = base;
            chunks.push(chunk);
        }
        let chunk = chunks.last_mut()?;
        chunk.push(state);
        if let Some(step) = log.get(i) {
            chunk.log.push(step_of(*step));
        }
    }
    Some(())
}
