//! The first phase, strictly in order, and where it stands when another one takes over.

use super::Team;
use super::ahead::{Ahead, Closing};
use super::chunks::Chunk;
use super::line::Line;
use super::moment::Moment;
use super::roomy::Roomy;
use super::save;
use crate::bfs::{Enough, Explored, Levels, Stage, explore};
use crate::intake::Intake;
use crate::snapshot::Saver;
use crate::{Ending, Limits, ParentLog};
use ergodic_system::{Exhausted, Frontier, Shared, System};
use std::cell::RefCell;
use std::collections::HashSet;

/// The first phase.
pub(super) struct First<'a, 's> {
    /// It ends when so many states were found,
    pub(super) enough: Enough,
    /// or when so many bytes are used.
    pub(super) most: u64,
    pub(super) team: &'a Team,
    pub(super) limits: &'a Limits,
    pub(super) saver: &'a RefCell<Option<&'s mut dyn Saver>>,
}

impl First<'_, '_> {
    /// Explores in order. Returns where the second phase begins, and working memory of helpers; or
    /// how the search ended.
    pub(super) fn explore<S: System, V: Shared, F: Frontier>(
        &self,
        intake: &mut Intake<'_, S>,
        roomy: &mut Roomy<'_, V>,
        levels: &mut Levels<'_, F>,
    ) -> Result<(Handed, Vec<S::Scratch>), Ending> {
        let (line, system) = (Line::new(Moment::of(self.team.threads)), intake.system());
        let ahead = self.team.ahead && intake.goals_met().is_empty();
        let team = Team { ahead, ..self.team.clone() };
        std::thread::scope(|scope| {
            let _closing = Closing(&line);
            let mut hands = Ahead::new(scope, &line, system, &team, self.limits);
            let handed = self.explore_with(&mut hands, intake, roomy, levels)?;
            Ok((handed, hands.dismiss()))
        })
    }

    fn explore_with<S: System, V: Shared, F: Frontier>(
        &self,
        hands: &mut Ahead<'_, '_, S>,
        intake: &mut Intake<'_, S>,
        roomy: &mut Roomy<'_, V>,
        levels: &mut Levels<'_, F>,
    ) -> Result<Handed, Ending> {
        let width = intake.system().shape().words;
        loop {
            let due = std::cell::Cell::new(false);
            let pause = |set: &Roomy<'_, V>, frontier| {
                let mut saver = self.saver.borrow_mut();
                due.set(due.get() || saver.as_mut().is_some_and(|saver| saver.due()));
                due.get() || set.is_full() || set.bytes() + frontier > self.most
            };
            let explored = explore(intake, roomy, levels, self.limits, self.enough, pause, hands)?;
            if explored == Explored::All {
                return Err(Ending::Complete);
            }
            let handed = Handed::new(levels, width)?;
            let held = intake.held.take();
            if held.is_none() && !due.get() {
                return Ok(handed);
            }
            if let Some(saver) = &mut *self.saver.borrow_mut() {
                save::save_first(*saver, intake, roomy, &handed);
            }
            if let Some(ending) = held {
                return Err(ending);
            }
            handed.refill(levels)?;
        }
    }
}

/// Where a search stands between two blocks.
pub(super) struct Handed {
    /// What is left of the level being expanded.
    pub(super) level: Vec<Chunk>,
    /// What was found of the next one, if the level is expanded in part.
    pub(super) next: Option<Vec<Chunk>>,
    pub(super) parents: Option<ParentLog>,
    /// States that have a number.
    pub(super) numbered: u64,
    /// Depth of `level`.
    pub(super) depth: u64,
    /// States of the levels up to `level`.
    pub(super) closed: u64,
    /// States of the next level that the archive was not asked for yet.
    pub(super) candidates: Vec<Chunk>,
    /// States per task of `level`, if it was cut into tasks before.
    pub(super) task: Option<usize>,
}

impl Handed {
    /// Takes over the frontier of the first phase.
    pub(super) fn new<F: Frontier>(
        levels: &mut Levels<'_, F>,
        width: usize,
    ) -> Result<Handed, Exhausted> {
        let midway = levels.stage == Stage::Midway;
        let mut handed = Handed {
            level: Vec::new(),
            next: None,
            parents: None,
            numbered: levels.first,
            // While a level is expanded, `levels` counts the one that is filled.
            depth: levels.depth - u64::from(midway),
            closed: levels.closed,
            candidates: Vec::new(),
            task: None,
        };
        for state in std::mem::take(&mut levels.back).chunks(width) {
            append(state, &mut handed.numbered, &mut handed.level);
        }
        pull_all(levels, &mut handed.numbered, &mut handed.level)?;
        if midway {
            levels.frontier.advance()?;
            let mut next = Vec::new();
            pull_all(levels, &mut handed.numbered, &mut next)?;
            handed.next = Some(next);
        }
        handed.parents = levels.parents.take();
        Ok(handed)
    }

    /// Those of some visited states that the archive may be told about. A candidate can be among them: the
    /// set of all states took it just before the search went to disk, and it is counted when the archive
    /// has called it new.
    pub(super) fn but_for_candidates(&self, mut visited: Vec<Box<[u64]>>) -> Vec<Box<[u64]>> {
        if !visited.is_empty() {
            let blocks = self.candidates.iter().map(|chunk| chunk.block(0, chunk.len()));
            let states = blocks.flat_map(|block| (0..block.len()).map(move |i| block.state(i)));
            let candidates: HashSet<&[u64]> = states.collect();
            visited.retain(|state| !candidates.contains(&**state));
        }
        visited
    }

    /// Gives everything back to the first phase.
    pub(super) fn refill<F: Frontier>(self, levels: &mut Levels<'_, F>) -> Result<(), Exhausted> {
        let states = |chunks: &[Chunk]| chunks.iter().map(|c| c.len() as u64).sum::<u64>();
        let next = self.next.as_deref().unwrap_or_default();
        levels.first = self.numbered - states(&self.level) - states(next);
        levels.depth = self.depth + u64::from(self.next.is_some());
        levels.stage = if self.next.is_some() { Stage::Midway } else { Stage::Level };
        levels.closed = self.closed;
        levels.parents = self.parents;
        push_all(levels, &self.level)?;
        levels.frontier.advance()?;
        push_all(levels, next)
    }
}

/// Appends chunks to the next level of the frontier.
fn push_all<F: Frontier>(levels: &mut Levels<'_, F>, chunks: &[Chunk]) -> Result<(), Exhausted> {
    for chunk in chunks {
        let picks = (0..chunk.len() as u32).collect();
        levels.frontier.push(chunk.block(0, chunk.len()), &picks)?;
    }
    Ok(())
}

/// Moves the current level of the frontier to chunks, numbered from `first` on.
fn pull_all<F: Frontier>(
    levels: &mut Levels<'_, F>,
    first: &mut u64,
    chunks: &mut Vec<Chunk>,
) -> Result<(), Exhausted> {
    while let Some(block) = levels.frontier.pull(1 << 10)? {
        (0..block.len()).for_each(|i| append(block.state(i), first, chunks));
    }
    Ok(())
}

/// Appends a state, which has the number `first`, to chunks.
fn append(state: &[u64], first: &mut u64, chunks: &mut Vec<Chunk>) {
    if chunks.last().is_none_or(Chunk::is_full) {
        let mut chunk = Chunk::new(state.len());
        (chunk.first, chunk.numbered) = (*first, true);
        chunks.push(chunk);
    }
    if let Some(chunk) = chunks.last_mut() {
        chunk.push(state);
    }
    *first += 1;
}
