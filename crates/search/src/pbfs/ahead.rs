//! The first phase with many hands: helpers expand what the search will come to, and the calling
//! thread takes in their successors strictly in order.
//!
//! What a search finds, counts and stops at is decided by the order in which successors are offered,
//! judged and counted, and all of that is done by one thread, exactly as when it is alone. Only the
//! generation of successors, which is most of the work, is spread: it depends on the source states
//! and on nothing else. What was generated behind the end of the search is thrown away.
//!
//! A piece of work is a block of states whose successors probably fill half a batch. If there are more
//! than fit into one, or if something is wrong, the piece comes back undone and the calling thread does
//! it again in its turn, in the usual way; so there is one place only where violations are reported.
//!
//! Systems that count what they expand (cover goals, wrappers that say how often they did something)
//! would count what is thrown away: for them the calling thread is alone.

use super::line::{Line, Next};
use super::pace::Pace;
use super::{STACK, Team, place};
use crate::bfs::{Alone, Hands, Levels};
use crate::intake::{Intake, Keeper, Origin, generate};
use crate::{Ending, Limits};
use ergodic_system::{Batch, Block, Frontier, System, Visited};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::{Scope, ScopedJoinHandle};

/// Helpers at most: more of them would wait for the thread that takes in what they do.
const HELPERS: usize = 7;
/// Pieces per worker and level, at least, where levels are large enough.
const PIECES: u64 = 8;
/// States per piece, at least, as far as their successors have room.
const LEAST_PIECE: u64 = 16;
/// Starting helpers takes so many times as long as waking them.
const START: u32 = 4;

/// A block of states and their successors.
#[derive(Debug)]
pub(super) struct Piece {
    /// The states, with padding.
    words: Vec<u64>,
    width: usize,
    len: usize,
    batch: Batch,
    /// Whether the batch holds all successors, and nothing is wrong.
    whole: bool,
    /// What the helper that had it panicked with.
    panic: Option<Box<dyn Any + Send>>,
}

impl Piece {
    fn block(&self) -> Block<'_> {
        Block::new(&self.words, self.width, self.len)
    }
}

/// The calling thread and its helpers, which are started when there is enough to do.
pub(super) struct Ahead<'scope, 'env, S: System> {
    scope: &'scope Scope<'scope, 'env>,
    system: &'env S,
    line: &'env Line<Piece>,
    helpers: Vec<ScopedJoinHandle<'scope, Option<S::Scratch>>>,
    /// Helpers that may be started.
    most: usize,
    alone: Alone,
    batch: usize,
    block: usize,
    pace: Pace,
    /// Pieces that are not in use.
    spare: Vec<Piece>,
}

impl<'scope, 'env: 'scope, S: System> Ahead<'scope, 'env, S> {
    /// Nobody is started so far.
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        line: &'env Line<Piece>,
        system: &'env S,
        team: &Team,
        limits: &Limits,
    ) -> Ahead<'scope, 'env, S> {
        Ahead {
            scope,
            system,
            line,
            helpers: Vec::new(),
            most: if team.ahead { team.threads.saturating_sub(1).min(HELPERS) } else { 0 },
            alone: Alone::new(limits),
            batch: limits.batch.max(1),
            block: limits.block.max(1),
            pace: Pace::new(team.worth),
            spare: Vec::new(),
        }
    }

    /// Lets the helpers go. Returns their working memory, which may know things worth knowing.
    pub(super) fn dismiss(self) -> Vec<S::Scratch> {
        self.line.close();
        self.helpers.into_iter().filter_map(|helper| helper.join().ok().flatten()).collect()
    }

    /// Whether there are helpers for a level; starts them if it is large enough.
    fn ready(&mut self, len: u64) -> bool {
        if self.helpers.is_empty() && self.most > 0 && self.pace.is_worth(len, START) {
            self.start();
        }
        !self.helpers.is_empty() && self.pace.is_worth(len, 1)
    }

    fn start(&mut self) {
        let here = place::here();
        for number in 1..=self.most {
            let (system, line) = (self.system, self.line);
            let builder = std::thread::Builder::new().stack_size(STACK);
            let work = move || {
                place::start(here, number);
                help(system, line)
            };
            // Without a thread the others do its work.
            self.helpers.extend(builder.spawn_scoped(self.scope, work));
        }
        self.most = self.helpers.len();
    }

    /// States per piece in a level of so many.
    fn piece_len(&self, intake: &Intake<'_, S>, expanded: u64, len: u64) -> usize {
        let workers = self.helpers.len() as u64 + 1;
        let share = (len / (workers * PIECES)).max(LEAST_PIECE);
        // As many states as probably fill half a batch.
        let successors = intake.stats.transitions.max(1);
        let room = (self.batch as u64 / 2).saturating_mul(expanded.max(1)) / successors;
        (share.min(room).max(1) as usize).min(self.block)
    }

    /// Appends pieces to the line, as far as they are wanted.
    fn append<F: Frontier>(
        &mut self,
        levels: &mut Levels<'_, F>,
        len: usize,
        room: &mut usize,
    ) -> Result<(), Ending> {
        while *room > 0 {
            let Some(block) = levels.frontier.pull(len)? else { break };
            let mut piece = self.spare.pop().unwrap_or_else(|| Piece {
                words: Vec::new(),
                width: block.width(),
                len: 0,
                batch: Batch::new(self.system.shape(), self.batch),
                whole: false,
                panic: None,
            });
            block.copy_to(&mut piece.words);
            (piece.len, piece.whole) = (block.len(), false);
            levels.away += block.len() as u64;
            self.line.push(piece);
            *room -= 1;
        }
        Ok(())
    }

    /// The level is left in the middle: what is not taken in comes back.
    fn recall<F: Frontier>(&mut self, levels: &mut Levels<'_, F>) {
        for mut piece in self.line.recall() {
            levels.back.extend_from_slice(piece.block().words());
            piece.panic = None; // it will happen again when its turn comes
            self.spare.push(piece);
        }
        levels.away = 0;
    }

    /// Expands what is left of a level, with helpers.
    fn expand_ahead<V: Visited, F: Frontier>(
        &mut self,
        intake: &mut Intake<'_, S>,
        visited: &mut V,
        levels: &mut Levels<'_, F>,
        pause: &dyn Fn(&V, u64) -> bool,
        len: usize,
    ) -> Result<bool, Ending> {
        let mut room = 2 * (self.helpers.len() + 1) + 2;
        loop {
            self.append(levels, len, &mut room)?;
            let mut piece = match self.line.next() {
                Next::Nothing => return Ok(true),
                Next::Later(number, mut piece) => {
                    let block = Block::new(&piece.words, piece.width, piece.len);
                    piece.whole = intake.generate(block, &mut piece.batch);
                    self.line.finish(number, piece);
                    continue;
                }
                Next::First(piece) | Next::Done(piece) => piece,
            };
            if let Some(panic) = piece.panic.take() {
                resume_unwind(panic);
            }
            levels.away -= piece.len as u64;
            let block = Block::new(&piece.words, piece.width, piece.len);
            if piece.whole {
                intake.take_over(block, &mut piece.batch, visited, levels)?;
            } else {
                intake.run(Origin::Successors(block), visited, levels)?;
            }
            levels.first += piece.len as u64;
            self.spare.push(piece);
            room += 1;
            if intake.held.is_some() || pause(visited, levels.bytes() + levels.trace_bytes()) {
                self.recall(levels);
                return Ok(false);
            }
        }
    }
}

impl<'env: 'scope, 'scope, S: System, V: Visited, F: Frontier> Hands<S, V, F>
    for Ahead<'scope, 'env, S>
{
    fn expand(
        &mut self,
        intake: &mut Intake<'_, S>,
        visited: &mut V,
        levels: &mut Levels<'_, F>,
        pause: &dyn Fn(&V, u64) -> bool,
    ) -> Result<bool, Ending> {
        let len = levels.frontier.len();
        let clock = if self.most > 0 { self.pace.begin(len) } else { None };
        let together = clock.is_some() && self.ready(len);
        let ended = if together {
            let piece = self.piece_len(intake, levels.first, len);
            self.expand_ahead(intake, visited, levels, pause, piece)?
        } else {
            self.alone.expand(intake, visited, levels, pause)?
        };
        if let Some(began) = clock {
            let workers = if together { self.helpers.len() + 1 } else { 1 };
            self.pace.learn(began.elapsed(), workers, len);
        }
        Ok(ended)
    }
}

/// Lets the helpers go, however the search ends.
pub(super) struct Closing<'a>(pub(super) &'a Line<Piece>);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What a helper does. Returns its working memory, unless it panicked.
fn help<S: System>(system: &S, line: &Line<Piece>) -> Option<S::Scratch> {
    let mut scratch = system.scratch();
    while let Some((number, mut piece)) = line.take() {
        let Piece { words, width, len, batch, .. } = &mut piece;
        let block = Block::new(words, *width, *len);
        let work = AssertUnwindSafe(|| generate(system, &mut scratch, block, batch));
        let done = catch_unwind(work);
        let fine = done.is_ok();
        match done {
            Ok(whole) => piece.whole = whole,
            Err(panic) => piece.panic = Some(panic),
        }
        line.finish(number, piece);
        if !fine {
            return None;
        }
    }
    Some(scratch)
}
