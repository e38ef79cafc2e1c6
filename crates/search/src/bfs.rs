//! Breadth-first search, level by level, in one thread: shortest counterexamples.
//!
//! Invariants: the states of a level are expanded in the order in which they were found; the
//! number of a state in the parent log is its place in that order over all levels. States that
//! violate a property are neither expanded nor numbered.

use crate::forecast;
use crate::intake::{Intake, Keeper, Origin, demand_settled};
use crate::{Ending, Limits, Observer, Outcome, ParentLog, Watch};
use ergodic_system::{
    Batch, Block, Exhausted, Frontier, Label, PAD_WORDS, Picks, Reason, System, Visited,
};

/// Visits all states, nearest first.
pub fn bfs<S: System, V: Visited, F: Frontier>(
    system: &S,
    visited: &mut V,
    frontier: &mut F,
    limits: &Limits,
    observer: &mut dyn Observer,
) -> Outcome {
    let mut intake = Intake::new(system, limits, Watch::new(limits, observer, 1));
    let (parents, started) = start_log(limits);
    let mut levels = Levels::new(frontier, parents);
    let (hands, never) = (&mut Alone::new(limits), |_: &V, _| false);
    let explored = started
        .and_then(|()| explore(&mut intake, visited, &mut levels, limits, NEVER, never, hands));
    let ending = explored.map(|_| ()).into();
    close_level(&mut intake, &mut levels);
    let parents = levels.parents.take();
    intake.finish(ending, visited, &levels, parents)
}

/// The parent log that the limits ask for, in memory or on disk.
pub(crate) fn start_log(limits: &Limits) -> (Option<ParentLog>, Result<(), Ending>) {
    let mut log = limits.traces.then(ParentLog::default);
    let started = match (&mut log, &limits.log_dir) {
        (Some(log), Some(dir)) => log.spill(dir).map_err(Ending::from),
        _ => Ok(()),
    };
    (log, started)
}

/// Where the states of a breadth-first search wait.
pub(crate) struct Levels<'f, F> {
    pub(crate) frontier: &'f mut F,
    pub(crate) parents: Option<ParentLog>,
    /// Number of the first state of the block being expanded.
    pub(crate) first: u64,
    /// Depth of the level being filled.
    pub(crate) depth: u64,
    /// States of the levels that are closed.
    pub(crate) closed: u64,
    pub(crate) stage: Stage,
    /// States of the current level that the frontier does not hold any more, though they are not
    /// expanded: somebody expands them ahead.
    pub(crate) away: u64,
    /// When a level is left in the middle: those of its states that came back from there.
    pub(crate) back: Vec<u64>,
}

/// How far a breadth-first search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing is done.
    Start,
    /// The current level of the frontier is to be begun.
    Level,
    /// The current level of the frontier is expanded in part.
    Midway,
}

impl<'f, F> Levels<'f, F> {
    pub(crate) fn new(frontier: &'f mut F, parents: Option<ParentLog>) -> Levels<'f, F> {
        let (stage, back) = (Stage::Start, Vec::new());
        Levels { frontier, parents, first: 0, depth: 0, closed: 0, stage, away: 0, back }
    }
}

impl<F: Frontier> Keeper for Levels<'_, F> {
    fn keep(&mut self, batch: &Batch, picks: &Picks) -> Result<(), Exhausted> {
        if let Some(log) = &mut self.parents {
            let (sources, labels) = (batch.sources(), batch.labels());
            for place in picks {
                let place = *place as usize;
                let parent = (self.depth > 0).then(|| self.first + u64::from(sources[place]));
                log.push(parent, labels[place]);
            }
            log.write_out().map_err(|why| Exhausted::Other(why.to_string()))?;
        }
        self.frontier.push(batch.block(), picks)
    }

    fn path(&self, source: usize) -> Vec<Label> {
        match &self.parents {
            Some(log) if self.depth > 0 => log.path(self.first + source as u64),
            _ => Vec::new(),
        }
    }

    fn traces(&self) -> bool {
        self.parents.is_some()
    }

    fn depth(&self) -> u64 {
        self.depth
    }

    fn waiting(&self) -> u64 {
        self.frontier.len() + self.away
    }

    fn bytes(&self) -> u64 {
        self.frontier.bytes()
    }

    fn trace_bytes(&self) -> u64 {
        self.parents.as_ref().map_or(0, ParentLog::bytes)
    }
}

/// How far [`explore`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Explored {
    /// Everything was expanded.
    All,
    /// There are enough states; the current level of the frontier is to be expanded next.
    Some,
    /// In the middle of a level: what is left of the current level of the frontier comes first.
    Paused,
}

/// Who expands the states of a level.
pub(crate) trait Hands<S: System, V: Visited, F: Frontier> {
    /// Takes in the successors of what is left of the current level, in order, until `pause` says so
    /// between two blocks. Returns whether nothing is left. (Behind the last block the caller asks.)
    fn expand(
        &mut self,
        intake: &mut Intake<'_, S>,
        visited: &mut V,
        levels: &mut Levels<'_, F>,
        pause: &dyn Fn(&V, u64) -> bool,
    ) -> Result<bool, Ending>;
}

/// The calling thread expands block by block.
#[derive(Debug)]
pub(crate) struct Alone {
    /// States per block.
    block: usize,
    source: Vec<u64>,
}

impl Alone {
    pub(crate) fn new(limits: &Limits) -> Alone {
        Alone { block: limits.block.max(1), source: Vec::new() }
    }

    /// Takes the next states of the current level; how many. They are copied, because the frontier is
    /// pushed to while they are expanded; and they are as many as there can be, so that where a block
    /// ends does not depend on how the frontier keeps its states.
    fn fill<F: Frontier>(&mut self, frontier: &mut F) -> Result<usize, Exhausted> {
        self.source.clear();
        let mut len = 0;
        while len < self.block
            && let Some(block) = frontier.pull(self.block - len)?
        {
            self.source.extend_from_slice(block.words());
            len += block.len();
        }
        self.source.extend_from_slice(&[0; PAD_WORDS]);
        Ok(len)
    }
}

impl<S: System, V: Visited, F: Frontier> Hands<S, V, F> for Alone {
    fn expand(
        &mut self,
        intake: &mut Intake<'_, S>,
        visited: &mut V,
        levels: &mut Levels<'_, F>,
        pause: &dyn Fn(&V, u64) -> bool,
    ) -> Result<bool, Ending> {
        let width = intake.system().shape().words;
        loop {
            let len = self.fill(levels.frontier)?;
            if len == 0 {
                return Ok(true);
            }
            let block = Block::new(&self.source, width, len);
            intake.run(Origin::Successors(block), visited, levels)?;
            levels.first += len as u64;
            if len < self.block {
                return Ok(true);
            }
            if intake.held.is_some() || pause(visited, levels.bytes() + levels.trace_bytes()) {
                return Ok(false);
            }
        }
    }
}

/// When states are enough: before a level of at least `level` states, if `all` were found in all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Enough {
    pub(crate) all: u64,
    pub(crate) level: u64,
}

/// There are never enough.
pub(crate) const NEVER: Enough = Enough { all: u64::MAX, level: u64::MAX };

/// Expands level by level, until there are `enough` states, or `pause` says so between two blocks, given
/// the store and the bytes of frontier and parent log. Goes on from the stage at which `levels` is.
pub(crate) fn explore<S: System, V: Visited, F: Frontier>(
    intake: &mut Intake<'_, S>,
    visited: &mut V,
    levels: &mut Levels<'_, F>,
    limits: &Limits,
    enough: Enough,
    pause: impl Fn(&V, u64) -> bool,
    hands: &mut impl Hands<S, V, F>,
) -> Result<Explored, Ending> {
    if levels.stage == Stage::Start {
        intake.run(Origin::Initial, visited, levels)?;
        if next_level(intake, visited, levels)? == 0 {
            return Ok(Explored::All);
        }
    }
    loop {
        if levels.stage == Stage::Level {
            let enough = intake.stats.states >= enough.all && levels.frontier.len() >= enough.level;
            if enough
                || intake.held.is_some()
                || pause(visited, levels.bytes() + levels.trace_bytes())
            {
                return Ok(Explored::Some);
            }
            if limits.max_depth == Some(levels.depth) {
                return Err(Ending::Stopped(Reason::DepthLimit(levels.depth)));
            }
            levels.depth += 1;
            levels.stage = Stage::Midway;
        }
        if !hands.expand(intake, visited, levels, &pause)? {
            return Ok(Explored::Paused);
        }
        if next_level(intake, visited, levels)? == 0 {
            return Ok(Explored::All);
        }
    }
}

/// States of a level that take so long that it may be asked what is to come.
const WORTH_FORESEEING: u64 = 1 << 7;

/// Closes the level that was filled and makes it the one to be begun; returns its size.
fn next_level<S: System, V: Visited, F: Frontier>(
    intake: &mut Intake<'_, S>,
    visited: &mut V,
    levels: &mut Levels<'_, F>,
) -> Result<u64, Ending> {
    close_level(intake, levels);
    demand_settled(visited)?;
    levels.stage = Stage::Level;
    let size = levels.frontier.advance()?;
    if size >= WORTH_FORESEEING {
        visited.foresee(&|| forecast::states(&intake.stats.levels, 0, 0));
    }
    intake.system().level_begins(size);
    Ok(size)
}

/// Counts the states found since the last level was closed as a level.
pub(crate) fn close_level<S: System, F>(intake: &mut Intake<'_, S>, levels: &mut Levels<'_, F>) {
    let stats = &mut intake.stats;
    let size = stats.states - levels.closed;
    levels.closed = stats.states;
    if size > 0 {
        stats.levels.push(size);
        stats.max_frontier = stats.max_frontier.max(size);
    }
}
