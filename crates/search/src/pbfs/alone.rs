//! Breadth-first search in one thread that is saved on the way (the format is in [`crate::snapshot`]).
//!
//! For sets that one worker owns, and for frontiers that are larger than memory. A search is saved
//! between two blocks. What waits is written while it goes once around its frontier, and stands there
//! as before then: it is never in memory as a whole.

use super::save::{
    Resume, Steps, put_findings, put_records, save_with, senseless, take_finding, take_log,
};
use crate::bfs::{Alone, Explored, Levels, NEVER, Stage, close_level, explore, start_log};
use crate::intake::Intake;
use crate::snapshot::{Head, Kind, Saver, Writer};
use crate::{Ending, Limits, Observer, Outcome, Watch};
use ergodic_disk::{Dir, DiskError};
use ergodic_system::{Block, Exhausted, Frontier, PAD_WORDS, System, Visited};
use std::cell::{Cell, RefCell};

/// Who keeps checkpoints of a search, and where it goes on from.
#[derive(Default)]
pub struct Keep<'s> {
    /// Who keeps them.
    pub saver: Option<&'s mut dyn Saver>,
    /// What it goes on from.
    pub resume: Option<Resume>,
}

impl std::fmt::Debug for Keep<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keep").field("resume", &self.resume).finish_non_exhaustive()
    }
}

/// The same as [`crate::bfs`]; it can be saved, and go on from where a saved one was.
pub fn saved_bfs<S: System, V: Visited, F: Frontier>(
    system: &S,
    visited: &mut V,
    frontier: &mut F,
    keep: Keep<'_>,
    limits: &Limits,
    observer: &mut dyn Observer,
) -> Outcome {
    let Keep { saver, resume } = keep;
    let mut intake = Intake::new(system, limits, Watch::new(limits, observer, 1));
    intake.hold = saver.is_some();
    let saver = RefCell::new(saver);
    let (parents, started) = start_log(limits);
    let mut levels = Levels::new(frontier, parents);
    let explored = started.and_then(|()| {
        if let Some(resume) = resume {
            resume.load_alone(&mut intake, visited, &mut levels)?;
        }
        explore_saved(&mut intake, visited, &mut levels, limits, &saver, |_| false)
    });
    let ending = explored.map(|_| ()).into();
    close_level(&mut intake, &mut levels);
    let parents = levels.parents.take();
    intake.finish(ending, visited, &levels, parents)
}

/// Explores in order until everything is expanded or the set is `full`, and saves when it is time to.
pub(super) fn explore_saved<S: System, V: Visited, F: Frontier>(
    intake: &mut Intake<'_, S>,
    visited: &mut V,
    levels: &mut Levels<'_, F>,
    limits: &Limits,
    saver: &RefCell<Option<&mut dyn Saver>>,
    full: impl Fn(&V) -> bool,
) -> Result<Explored, Ending> {
    let hands = &mut Alone::new(limits);
    loop {
        // A search that was saved goes on where one that was not would have left.
        if levels.stage != Stage::Start && full(visited) {
            return Ok(Explored::Paused);
        }
        let due = Cell::new(false);
        let pause = |set: &V, _| {
            let mut saver = saver.borrow_mut();
            due.set(due.get() || saver.as_mut().is_some_and(|saver| saver.due()));
            due.get() || full(set)
        };
        let explored = explore(intake, visited, levels, limits, NEVER, pause, hands)?;
        let held = intake.held.take();
        if explored == Explored::All || (held.is_none() && !due.get()) {
            return Ok(explored);
        }
        if let Some(saver) = &mut *saver.borrow_mut() {
            save(*saver, intake, visited, levels)?;
        }
        if let Some(ending) = held {
            return Err(ending);
        }
    }
}

/// Saves. It is an error only if what waits is not there any more.
fn save<S: System, V: Visited, F: Frontier>(
    saver: &mut dyn Saver,
    intake: &mut Intake<'_, S>,
    visited: &V,
    levels: &mut Levels<'_, F>,
) -> Result<(), Ending> {
    let midway = levels.stage == Stage::Midway;
    let head = Head {
        shape: intake.system().shape(),
        in_order: true,
        late: false,
        traces: levels.parents.is_some(),
        midway,
        // While a level is expanded, `levels` counts the one that is filled.
        depth: levels.depth - u64::from(midway),
        closed: levels.closed,
        numbered: levels.first + levels.frontier.len(),
        task: 0,
        stats: intake.stats.clone(),
        goals: intake.goals_met(),
    };
    let mut waiting = Ok(());
    save_with(saver, |dir| {
        let mut writer = begin(dir, &head, intake, levels).map_err(|why| why.to_string())?;
        let (mut written, mut first) = (Ok(()), levels.first);
        waiting = each_waiting(levels.frontier, |kind, block| {
            // What waits must go all around, also if it cannot be written.
            if written.is_ok() {
                written = writer.put(kind, &[&[first, 0, 0], block.words()]);
            }
            first += block.len() as u64;
        });
        written.map_err(|why| why.to_string())?;
        put_records(&mut writer, Kind::Store, |put| visited.dump(put))?;
        put_records(&mut writer, Kind::System, |put| intake.system().dump(put))?;
        writer.finish().map_err(|why| why.to_string())
    });
    waiting.map_err(Ending::from)
}

/// Writes head, findings and parent log.
fn begin<S: System, F: Frontier>(
    dir: &Dir,
    head: &Head,
    intake: &mut Intake<'_, S>,
    levels: &Levels<'_, F>,
) -> Result<Writer, DiskError> {
    let mut writer = Writer::create(dir)?;
    head.write(&mut writer)?;
    put_findings(&mut writer, intake.findings())?;
    if let Some(log) = &levels.parents {
        let mut steps = Steps::new(&mut writer);
        log.each_step(|parent, label| steps.add(parent, label))?;
        steps.flush()?;
    }
    Ok(writer)
}

/// States that are written at a time.
const BLOCK: u64 = 1 << 10;

/// Calls `each` with all that waits: what is left of the current level, then the next one. Each state
/// is pushed again behind the others, so that in the end all stand where they were.
fn each_waiting<F: Frontier>(
    frontier: &mut F,
    mut each: impl FnMut(Kind, Block<'_>),
) -> Result<(), Exhausted> {
    let (all, mut states) = (frontier.len(), Vec::new());
    let mut around = |frontier: &mut F, kind, most: u64| {
        let mut done = 0;
        while done < most
            && let Some(block) = frontier.pull((most - done).min(BLOCK) as usize)?
        {
            let (width, len) = (block.width(), block.len());
            block.copy_to(&mut states);
            let block = Block::new(&states, width, len);
            each(kind, block);
            frontier.push(block, &(0..len as u32).collect())?;
            done += len as u64;
        }
        Ok::<u64, Exhausted>(done)
    };
    let current = around(frontier, Kind::Level, u64::MAX)?;
    frontier.advance()?;
    around(frontier, Kind::Next, all - current)?;
    Ok(())
}

impl Resume {
    /// Puts everything back in its place, for a search in one thread.
    pub(super) fn load_alone<S: System, V: Visited, F: Frontier>(
        self,
        intake: &mut Intake<'_, S>,
        visited: &mut V,
        levels: &mut Levels<'_, F>,
    ) -> Result<(), Ending> {
        self.check(intake.system())?;
        let Resume { mut reader, head, .. } = self;
        if !head.in_order || head.traces != levels.parents.is_some() {
            return Err(reader.wrong("it belongs to another search").into());
        }
        let (width, mut current, mut noted) = (head.shape.words, true, false);
        loop {
            let kind = reader.next()?;
            let words = reader.words.as_slice();
            noted |= kind == Kind::System;
            match kind {
                Kind::End => break,
                Kind::Finding => take_finding(words, intake.findings()),
                Kind::Log => take_log(words, levels.parents.as_mut()),
                Kind::Level | Kind::Next => {
                    if kind == Kind::Next && std::mem::take(&mut current) {
                        levels.frontier.advance()?;
                    }
                    push_states(levels.frontier, words, width)?
                }
                Kind::Store => Some(visited.restore(words).map_err(|why| reader.wrong(&why))?),
                Kind::System => {
                    Some(intake.system().restore(words).map_err(|why| reader.wrong(&why))?)
                }
                Kind::Head | Kind::Visited | Kind::Archive | Kind::Candidate => None,
            }
            .ok_or_else(|| senseless(&reader))?;
            if let Some(log) = &mut levels.parents {
                log.write_out()?;
            }
        }
        if current {
            levels.frontier.advance()?;
        }
        Resume::check_noted(&reader, intake.system(), noted)?;
        let first = head.numbered.checked_sub(levels.frontier.len());
        levels.first = first.ok_or_else(|| senseless(&reader))?;
        levels.depth = head.depth + u64::from(head.midway);
        levels.stage = if head.midway { Stage::Midway } else { Stage::Level };
        levels.closed = head.closed;
        intake.stats = head.stats;
        intake.goals = head.goals;
        Ok(())
    }
}

/// Appends the states of a record to the next level of a frontier; nothing if they are not whole.
fn push_states<F: Frontier>(
    frontier: &mut F,
    record: &[u64],
    width: usize,
) -> Result<Option<()>, Exhausted> {
    let Some(([_, _, 0], words)) = record.split_first_chunk::<3>() else { return Ok(None) };
    if !words.len().is_multiple_of(width) {
        return Ok(None);
    }
    let len = words.len() / width;
    let padded = [words, &[0; PAD_WORDS]].concat();
    frontier.push(Block::new(&padded, width, len), &(0..len as u32).collect())?;
    Ok(Some(()))
}
