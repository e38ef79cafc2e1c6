//! Breadth-first search with many threads: the same levels, the same counts, shortest
//! counterexamples.
//!
//! *Two phases.* At first one thread explores strictly in order, exactly as [`crate::bfs`] does, and
//! stops at the first violation with the counts up to it; the others only generate successors for it
//! (see [`ahead`]). When a level ends with more than a fixed number of states in all, and the next one is
//! not narrow, the second phase begins: the workers share the tasks of a level, and meet before the next one. There a violation does
//! not end the level; when the level ends, the smallest violation by an order that does not depend on
//! time is reported (see [`wrong`]). One thread goes through the same two phases. Several may begin the second one much
//! earlier ([`Team::in_haste`]), if who asks repeats the search in which something was wrong early.
//!
//! *What does not depend on the number of threads, or on time:* states, transitions, depth, levels,
//! firings per rule, cover goals, the verdict, what is violated and in which state. *What does, in
//! the second phase:* which of several rules is credited with a new state that both lead to (the sum
//! over the rules is fixed), which of several shortest paths is shown, the numbers of states, and
//! the counts of a search that a limit stops in the middle of a level: the limits are looked at once
//! per batch, so `max_states` may be passed by a batch per worker.
//!
//! *Coordination.* The calling thread is the coordinator and works itself; helpers wait at a
//! [`gate::Gate`] for rounds. All that workers share in a round is who takes which task, two
//! flags, and sums to which each adds once per batch. Between rounds the coordinator has everything
//! for itself: it numbers the new states, grows a full store and goes on with the same level. Levels
//! that are not worth waking the helpers for are expanded by the coordinator alone, so a long chain
//! of narrow levels costs hardly more than in [`crate::bfs`].
//!
//! *Memory and disk.* Given an [`Overflow`], the search does not end when memory is used up: it goes on
//! with an archive on disk, from where it is, with the same results (see [`late`]).
//!
//! A panic of a worker ends the round and is passed on to the caller of [`pbfs`], after all helpers
//! have ended.

mod ahead;
mod alone;
mod chunks;
mod gate;
mod handed;
mod late;
mod line;
#[cfg(test)]
mod loomed;
mod moment;
mod pace;
mod park;
mod place;
mod roomy;
mod runs;
mod save;
mod shares;
mod worker;
mod wrong;

/// What threads meet with; under loom that of loom.
mod sync {
    pub(crate) use super::place::Stay;
    pub(crate) use std::hint::spin_loop as spin;
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
}

use crate::bfs::{Enough, Explored, Levels, close_level, start_log};
use crate::forecast;
use crate::intake::{Intake, add};
use crate::snapshot::Saver;
use crate::{Ending, Findings, Limits, Observer, Outcome, ParentLog, Progress, Stats, Watch};
use alone::explore_saved;
pub use alone::{Keep, saved_bfs};
use chunks::{Chunk, Level, chunk_bytes};
use ergodic_system::{Archive, Exhausted, Frontier, NoArchive, Reason, Shared, System, Visited};
use gate::Gate;
use handed::{First, Handed};
use late::Late;
pub use late::{Opened, Overflow};
use moment::Moment;
use pace::Pace;
use roomy::Roomy;
use runs::Runs;
pub use save::Resume;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use worker::{Board, Sets, Worker};
use wrong::Wrongs;

/// Stack of a helper: models recurse.
const STACK: usize = 256 << 20;
/// Tasks per worker and level, at least, where levels are large enough.
const TASKS: u64 = 16;
/// States per task, at least.
const LEAST_TASK: usize = 32;

/// Who explores.
#[derive(Clone, Debug)]
pub struct Team {
    /// Threads, the calling one included. Results do not depend on it.
    pub threads: usize,
    /// The first phase ends with the level in which so many states were found. Results depend on it.
    pub in_order: u64,
    /// But not before a level of fewer states: they are not worth waking the others for ([`pace`]), and
    /// what threads share costs more than it brings. Results depend on it, too.
    pub narrow: u64,
    /// Levels that one thread can probably expand in this time are not worth waking the others for.
    pub worth: Duration,
    /// Whether in the first phase the others expand what the search will come to. If it ends before,
    /// that was in vain, so this is not for systems that count what they expand.
    pub ahead: bool,
}

impl Team {
    /// So many threads, and what was measured to be good for the rest.
    pub fn of(threads: usize) -> Team {
        // Helpers that do not sleep between levels are quick to come.
        let worth = Duration::from_micros(if Moment::of(threads).is_none() { 200 } else { 25 });
        Team { threads: threads.max(1), in_order: 1 << 14, narrow: 1 << 5, worth, ahead: true }
    }

    /// The same in haste: levels are shared as soon as it pays, and what comes before is not worth starting threads twice. Where
    /// nothing is wrong that makes no difference to what is found; where something is, [`Team::is_confirmed`] tells.
    #[must_use]
    pub fn in_haste(&self) -> Team {
        Team { in_order: self.in_order >> 5, ahead: false, ..self.clone() }
    }

    /// Whether this team comes to the same result as the one in haste that came to this outcome: unless something
    /// is wrong that only this team would have met in its first phase.
    pub fn is_confirmed(&self, outcome: &Outcome) -> bool {
        let levels = &outcome.stats.levels;
        // What lies in a level is met when the one before is expanded, or when it is itself. Where the one in haste
        // has not shared levels, this one would not.
        let depth = outcome.findings.iter().map(|finding| finding.depth as usize).min();
        depth.is_none_or(|depth| {
            self.shares(&levels[..levels.len().min(depth)]) || !self.in_haste().shares(levels)
        })
    }

    /// Whether the second phase begins with one of these levels.
    fn shares(&self, levels: &[u64]) -> bool {
        let mut all = 0;
        levels.iter().any(|len| {
            all += len;
            all >= self.in_order && *len >= self.narrow
        })
    }
}

/// Visits all states, nearest first, with many threads. The frontier is used in the first phase
/// only. [`Outcome::parents`] is `None`: states have no numbers that mean anything elsewhere.
///
/// # Panics
/// If the system or the store panics in one of the threads.
pub fn pbfs<S: System, V: Shared, F: Frontier>(
    system: &S,
    visited: &mut V,
    frontier: &mut F,
    team: &Team,
    limits: &Limits,
    observer: &mut dyn Observer,
) -> Outcome {
    let plan = Plan::<V, NoArchive>::default();
    overflowing(system, visited, frontier, plan, team, limits, observer)
}

/// What a search does beside searching.
pub struct Plan<'o, 's, V, A> {
    /// How it goes on when memory is used up.
    pub overflow: Option<Overflow<'o, V, A>>,
    /// Who keeps checkpoints of it.
    pub saver: Option<&'s mut dyn Saver>,
    /// Where it goes on from.
    pub resume: Option<Resume>,
}

impl<V, A> std::fmt::Debug for Plan<'_, '_, V, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan").field("overflow", &self.overflow).finish_non_exhaustive()
    }
}

impl<V, A> Default for Plan<'_, '_, V, A> {
    fn default() -> Self {
        Plan { overflow: None, saver: None, resume: None }
    }
}

/// The same as [`pbfs`], with a plan: when memory is used up the search can go on with an archive, it
/// can be saved, and it can go on from where a saved one was.
///
/// # Panics
/// If the system or the store panics in one of the threads.
pub fn overflowing<S: System, V: Shared, F: Frontier, A: Archive>(
    system: &S,
    visited: &mut V,
    frontier: &mut F,
    plan: Plan<'_, '_, V, A>,
    team: &Team,
    limits: &Limits,
    observer: &mut dyn Observer,
) -> Outcome {
    let Plan { overflow, saver, resume } = plan;
    let limits = &match &overflow {
        // What is used up is not the end.
        Some(_) => Limits { memory: None, ..limits.clone() },
        None => limits.clone(),
    };
    let mut intake = Intake::new(system, limits, Watch::new(limits, observer, 1));
    intake.hold = saver.is_some();
    let mut levels = Levels::new(frontier, limits.traces.then(ParentLog::default));
    let mut roomy = Roomy::new(visited, overflow.is_some());
    let enough = Enough { all: team.in_order, level: team.narrow };
    let (enough, most) = match &overflow {
        Some(overflow) if overflow.at_once => (Enough { all: 0, level: 0 }, u64::MAX),
        Some(overflow) => (enough, overflow.memory),
        None => (enough, u64::MAX),
    };
    let mut late = overflow.as_ref().is_some_and(|overflow| overflow.at_once);
    let mut resumed = None;
    if let Some(resume) = resume {
        match resume.load(&mut intake, &mut roomy, &mut levels) {
            Ok(save::Loaded::InOrder) => {}
            Ok(save::Loaded::Apart(handed, was_late)) => {
                resumed = Some(*handed);
                late |= was_late;
            }
            Err(why) => return intake.finish(why, &roomy, &levels, None),
        }
    }
    let saver = RefCell::new(saver);
    let (handed, scratches) = match resumed {
        Some(handed) => (handed, Vec::new()),
        None => {
            let first = First { enough, most, team, limits, saver: &saver };
            match first.explore(&mut intake, &mut roomy, &mut levels) {
                Ok(handed) => handed,
                Err(ending) => {
                    close_level(&mut intake, &mut levels);
                    levels.parents = None;
                    return intake.finish(ending, &roomy, &levels, None);
                }
            }
        }
    };
    let late = late || roomy.is_full();
    let (asking, extra) = roomy.into_parts();
    let saver = saver.into_inner();
    let hands = Crew { asking, scratches };
    let second = Second { system, visited, hands, intake, team, limits, overflow, saver, extra };
    second.explore(handed, late)
}

/// The same as [`overflowing`], but the first phase keeps what it visits in a set of another kind,
/// until `full` says that it is time to go on with the archive. `open` is asked for that when the second
/// phase begins, and when it goes on from where it was saved.
///
/// # Panics
/// If the system or a store panics in one of the threads.
#[allow(clippy::too_many_arguments, reason = "each is another part of the search")]
pub fn serial<'o, S: System, C: Visited, V: Shared, F: Frontier, A: Archive>(
    system: &S,
    cache: &mut C,
    full: impl Fn(&C) -> bool,
    visited: &mut V,
    frontier: &mut F,
    open: impl FnOnce(&mut C) -> Overflow<'o, V, A>,
    keep: Keep<'_>,
    team: &Team,
    limits: &Limits,
    observer: &mut dyn Observer,
) -> Outcome {
    let limits = &Limits { memory: None, ..limits.clone() };
    let mut intake = Intake::new(system, limits, Watch::new(limits, observer, 1));
    let Keep { saver, resume } = keep;
    intake.hold = saver.is_some();
    let (parents, started) = start_log(limits);
    let mut levels = Levels::new(frontier, parents);
    let mut roomy = Roomy::new(visited, true);
    let saver = RefCell::new(saver);
    let handed = started.and_then(|()| {
        match resume {
            Some(resume) if !resume.in_order() => {
                return resume.load_apart(&mut intake, &mut roomy, &mut levels);
            }
            Some(resume) => resume.load_alone(&mut intake, cache, &mut levels)?,
            None => {}
        }
        match explore_saved(&mut intake, cache, &mut levels, limits, &saver, full)? {
            Explored::All => Err(Ending::Complete),
            _ => Handed::new(&mut levels, system.shape().words).map_err(Ending::from),
        }
    });
    let handed = match handed {
        Ok(handed) => handed,
        Err(ending) => {
            close_level(&mut intake, &mut levels);
            levels.parents = None;
            return intake.finish(ending, cache, &levels, None);
        }
    };
    let (asking, extra) = roomy.into_parts();
    let (saver, overflow) = (saver.into_inner(), Some(open(cache)));
    let hands = Crew { asking, scratches: Vec::new() };
    let second = Second { system, visited, hands, intake, team, limits, overflow, saver, extra };
    second.explore(handed, true)
}

/// Working memory that the first phase leaves.
struct Crew<S: System, V: Shared> {
    /// Of the calling thread, for the set of visited states.
    asking: V::Scratch,
    /// Of the others, for the system.
    scratches: Vec<S::Scratch>,
}

/// What the second phase needs.
struct Second<'a, 'w, 'o, 's, S: System, V: Shared, A: Archive> {
    system: &'a S,
    visited: &'a mut V,
    hands: Crew<S, V>,
    intake: Intake<'w, S>,
    team: &'a Team,
    limits: &'a Limits,
    overflow: Option<Overflow<'o, V, A>>,
    saver: Option<&'s mut dyn Saver>,
    /// States that are visited and that `visited` had no room for.
    extra: Vec<Box<[u64]>>,
}

impl<S: System, V: Shared, A: Archive> Second<'_, '_, '_, '_, S, V, A> {
    fn explore(self, handed: Handed, late: bool) -> Outcome {
        let Second { system, visited, hands, intake, team, limits, overflow, saver, extra } = self;
        let extra = handed.but_for_candidates(extra);
        let width = system.shape().words;
        visited.set_threads(team.threads);
        let (scratch, findings, watch, stats, goals) = intake.into_parts();
        let worker = |number, scratch, asking| {
            Mutex::new(Worker::new(number, system, scratch, asking, limits.batch))
        };
        let mut workers = vec![worker(0, scratch, hands.asking)];
        let mut known = hands.scratches.into_iter();
        workers.extend((1..team.threads.max(1)).map(|number| {
            let scratch = known.next().unwrap_or_else(|| system.scratch());
            worker(number, scratch, visited.scratch())
        }));
        let chunks = handed.level.len() + handed.next.as_ref().map_or(0, Vec::len);
        let board = Board {
            system,
            sets: RwLock::new(Sets { all: visited, lately: None }),
            level: RwLock::new(Level::default()),
            depth: AtomicU64::new(handed.depth),
            stalled: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            growing: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            states: AtomicU64::new(stats.states),
            transitions: AtomicU64::new(stats.transitions),
            bytes: AtomicU64::new(chunks as u64 * chunk_bytes(width)),
            candidates: AtomicU64::new(0),
            most_candidates: AtomicU64::new(u64::MAX),
            panic: Mutex::new(None),
            trouble: Mutex::new(None),
            traces: limits.traces,
            max_states: limits.max_states.unwrap_or(u64::MAX),
        };
        let mut coordinator = Coordinator {
            board: &board,
            gate: &Gate::new(Moment::of(team.threads)),
            workers: &workers,
            helpers: 0,
            limits,
            watch,
            stats,
            findings,
            goals,
            runs: handed.parents.map(Runs::new),
            numbered: handed.numbered,
            chunks: handed.next.unwrap_or_default(),
            wrongs: Wrongs::default(),
            pace: Pace::new(team.worth),
            overflow,
            crowded: false,
            late: None,
            saver,
            leaving: None,
        };
        let ending = if late { coordinator.go_to_disk(&extra) } else { Ok(()) };
        coordinator.take_candidates(handed.candidates);
        let Handed { level, depth, closed, task, .. } = handed;
        let begun = Begun { level, depth, closed, task };
        let ending = ending.and_then(|()| coordinator.run(begun)).into();
        coordinator.finish(ending)
    }
}

/// The level with which the second phase begins.
struct Begun {
    level: Vec<Chunk>,
    depth: u64,
    closed: u64,
    /// States per task, if that is known.
    task: Option<usize>,
}

/// The calling thread in the second phase.
struct Coordinator<'a, 'w, 'o, 's, S: System, V: Shared, A: Archive> {
    board: &'a Board<'a, S, V>,
    gate: &'a Gate,
    workers: &'a [Mutex<Worker<S, V>>],
    /// Threads that wait at the gate.
    helpers: usize,
    limits: &'a Limits,
    watch: Watch<'w>,
    stats: Stats,
    findings: Findings,
    /// Cover goals met before.
    goals: Vec<u64>,
    runs: Option<Runs>,
    /// States that have a number: those kept for expansion.
    numbered: u64,
    /// New chunks, between levels.
    chunks: Vec<Chunk>,
    wrongs: Wrongs,
    pace: Pace,
    /// How to go on when memory is used up.
    overflow: Option<Overflow<'o, V, A>>,
    /// Memory is used up, though the store could grow.
    crowded: bool,
    /// After the search has gone to disk.
    late: Option<Late<'o, V, A>>,
    saver: Option<&'s mut dyn Saver>,
    /// What ends the search as soon as it is saved.
    leaving: Option<Ending>,
}

/// Lets the helpers go, however the coordinator ends.
struct Closing<'a, S, V>(&'a Gate, &'a Board<'a, S, V>);

impl<S, V> Drop for Closing<'_, S, V> {
    fn drop(&mut self) {
        self.1.stop.store(true, Ordering::Relaxed);
        self.0.close();
    }
}

impl<S: System, V: Shared, A: Archive> Coordinator<'_, '_, '_, '_, S, V, A> {
    /// Starts the helpers and explores.
    fn run(&mut self, begun: Begun) -> Result<(), Ending> {
        let (gate, board, workers) = (self.gate, self.board, self.workers);
        std::thread::scope(|scope| {
            let _closing = Closing(gate, board);
            let here = place::here();
            for (number, worker) in workers.iter().enumerate().skip(1) {
                let builder = std::thread::Builder::new().stack_size(STACK);
                let work = move || {
                    place::start(here, number);
                    help(gate, board, worker);
                };
                // Without a thread the others do its work.
                let started = builder.spawn_scoped(scope, work);
                self.helpers += usize::from(started.is_ok());
            }
            self.explore(begun)
        })
    }

    fn explore(&mut self, begun: Begun) -> Result<(), Ending> {
        let mut depth = begun.depth;
        let mut before = begun.closed;
        let mut len = self.fill(begun.level, begun.task);
        // What is left of the level can be nothing, if only part of it was handed over.
        let candidates = self.board.candidates.load(Ordering::Relaxed);
        let mut partly = !self.chunks.is_empty() || candidates > 0;
        loop {
            if len == 0 && !std::mem::take(&mut partly) {
                return Ok(());
            }
            if self.limits.max_depth == Some(depth) {
                return Err(Ending::Stopped(Reason::DepthLimit(depth)));
            }
            depth += 1;
            self.board.depth.store(depth, Ordering::Relaxed);
            let clock = if self.helpers > 0 { self.pace.begin(len) } else { None };
            let together = clock.is_some() && self.pace.is_worth(len, 1);
            if together {
                let mut level = self.board.level.write().unwrap_or_else(PoisonError::into_inner);
                level.deal(self.workers.len());
            }
            let ended = self.expand_level(together, depth, before);
            if let Some(began) = clock {
                let workers = if together { 1 + self.helpers } else { 1 };
                self.pace.learn(began.elapsed(), workers, len);
            }
            self.close_level(together, depth, before)?;
            ended?;
            before = self.stats.states;
            len = self.open_level()?;
        }
    }

    /// Numbers the new states and makes them the level to be expanded; returns how many there are.
    fn open_level(&mut self) -> Result<u64, Ending> {
        let mut chunks = std::mem::take(&mut self.chunks);
        for chunk in &mut chunks {
            if chunk.numbered {
                continue;
            }
            (chunk.first, chunk.numbered) = (self.numbered, true);
            self.numbered += chunk.len() as u64;
            if let Some(runs) = &mut self.runs {
                runs.add(chunk)?;
            }
        }
        if let Some(late) = &mut self.late {
            late.next_level();
        }
        let len = self.fill(chunks, None);
        self.board.system.level_begins(len);
        Ok(len)
    }

    /// Makes states that have numbers the level to be expanded; in tasks of so many states, if that was
    /// decided before.
    fn fill(&mut self, chunks: Vec<Chunk>, task: Option<usize>) -> u64 {
        let len: u64 = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        let share = (len / (self.workers.len() as u64 * TASKS)) as usize;
        let task = task.unwrap_or(share.max(LEAST_TASK)).min(self.limits.block.max(1));
        let mut level = self.board.level.write().unwrap_or_else(PoisonError::into_inner);
        level.fill(chunks.into_iter(), task);
        len
    }

    /// Expands a level, in as many rounds as room must be made.
    fn expand_level(&mut self, together: bool, depth: u64, before: u64) -> Result<(), Ending> {
        loop {
            self.board.stalled.store(false, Ordering::Relaxed);
            if together {
                self.gate.open(self.helpers);
            }
            let looked = self.work(depth);
            if together {
                self.gate.wait();
            }
            self.pass_on_panic();
            let trouble = self.board.trouble.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(why) = trouble {
                return Err(why.into());
            }
            match looked {
                Err(ending) if self.saver.is_some() => {
                    self.leaving.get_or_insert(ending);
                }
                looked => looked?,
            }
            if self.board.states.load(Ordering::Relaxed) > self.board.max_states {
                return Err(Ending::Stopped(Reason::StateLimit(self.board.max_states)));
            }
            if !self.board.stalled.load(Ordering::Relaxed) {
                if self.board.draining.swap(false, Ordering::Relaxed) {
                    self.pause(depth, before)?;
                    continue;
                }
                debug_assert!(self.workers.iter().all(|worker| lock(worker).is_idle()));
                return self.settle(depth, true);
            }
            self.make_room(depth)?;
        }
    }

    /// Makes room in the middle of a level.
    fn make_room(&mut self, depth: u64) -> Result<(), Ending> {
        if self.late.is_some() {
            return self.make_room_late(depth);
        }
        if !std::mem::take(&mut self.crowded) {
            match self.grow() {
                Err(Exhausted::Memory { .. }) if self.overflow.is_some() => {}
                answer => return answer.map_err(Ending::from),
            }
        }
        self.go_to_disk(&[])
    }

    /// Lets the store grow; the helpers, who wait for that anyway, take part if it is worth it.
    fn grow(&mut self) -> Result<(), Exhausted> {
        let (board, threads) = (self.board, 1 + self.helpers);
        let foreseen = self.foreseen();
        let begin = || {
            let mut sets = board.sets.write().unwrap_or_else(PoisonError::into_inner);
            sets.all.foresee(foreseen);
            sets.all.begin_to_grow(1, threads)
        };
        while begin()? {
            board.growing.store(true, Ordering::Relaxed);
            self.gate.open(self.helpers);
            board.help_to_grow();
            self.gate.wait();
            board.growing.store(false, Ordering::Relaxed);
            self.pass_on_panic();
        }
        Ok(())
    }

    /// About how many states there will be, as far as can be told in the middle of a level.
    fn foreseen(&self) -> Option<u64> {
        let waiting = self.board.level.read().unwrap_or_else(PoisonError::into_inner).waiting();
        let found = self.board.states.load(Ordering::Relaxed).saturating_sub(self.numbered);
        let last = *self.stats.levels.last()?;
        forecast::states(&self.stats.levels, last.saturating_sub(waiting), found)
    }

    /// Panics if a worker did.
    fn pass_on_panic(&self) {
        let panic = self.board.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// The coordinator's own part of a round. Looks at the limits after each batch.
    fn work(&mut self, depth: u64) -> Result<(), Ending> {
        let (board, watch, stats) = (self.board, &mut self.watch, &mut self.stats);
        let logged = self.runs.as_ref().map_or(0, Runs::bytes);
        let archive = self.late.as_ref().map_or(0, |late| late.archive.bytes());
        let most = match (&self.late, &self.overflow) {
            (None, Some(overflow)) => overflow.memory,
            _ => u64::MAX,
        };
        let (crowded, saver) = (&mut self.crowded, &mut self.saver);
        let numbered = self.numbered;
        let mut looked = Ok(());
        lock(&self.workers[0]).run(board, &mut |sets, level| {
            if looked.is_err() || !watch.due() {
                return;
            }
            let states = board.states.load(Ordering::Relaxed);
            let frontier = board.bytes.load(Ordering::Relaxed);
            stats.frontier_bytes = stats.frontier_bytes.max(frontier);
            let found = states.saturating_sub(numbered);
            let log = if board.traces { logged + 2 * found } else { 0 };
            let bytes = sets + frontier + log + archive;
            if bytes > most {
                *crowded = true;
                board.stalled.store(true, Ordering::Relaxed);
            }
            looked = watch.look(&Progress {
                states,
                transitions: board.transitions.load(Ordering::Relaxed),
                depth: depth - 1,
                waiting: level.waiting() + found,
                bytes,
            });
            let due = saver.as_mut().is_some_and(|saver| saver.due());
            if due || (saver.is_some() && looked.is_err()) {
                board.draining.store(true, Ordering::Relaxed);
            } else if looked.is_err() {
                board.stop.store(true, Ordering::Relaxed);
            }
        });
        looked
    }

    /// Adds up what the workers found.
    fn close_level(&mut self, together: bool, depth: u64, before: u64) -> Result<(), Ending> {
        let active = if together { self.workers } else { &self.workers[..1] };
        for worker in active {
            let mut worker = lock(worker);
            worker.trim(self.board);
            if self.late.is_none() {
                self.chunks.append(&mut worker.out);
            }
            self.wrongs.merge(&mut worker.wrongs);
            let counts = &mut worker.counts;
            self.stats.states += std::mem::take(&mut counts.states);
            self.stats.transitions += std::mem::take(&mut counts.transitions);
        }
        let size = self.stats.states - before;
        if size > 0 {
            self.stats.depth = depth;
            self.stats.levels.push(size);
            self.stats.max_frontier = self.stats.max_frontier.max(size);
        }
        if self.report() { Err(Ending::Enough) } else { Ok(()) }
    }

    /// Makes findings of what is wrong in the level; whether there are enough of them.
    fn report(&mut self) -> bool {
        let mut enough = false;
        let runs = self.runs.as_ref();
        for wrong in self.wrongs.drain() {
            if enough {
                break;
            }
            let path = || {
                // A path that cannot be read back is none; the violation stands.
                let path = runs.and_then(|runs| runs.path(wrong.source).ok());
                path.map_or(Vec::new(), |mut path| {
                    path.extend(wrong.label);
                    path
                })
            };
            enough = self.findings.add_once(wrong.kind, wrong.depth, path);
        }
        enough
    }

    fn finish(mut self, ending: Ending) -> Outcome {
        let mut goals = std::mem::take(&mut self.goals);
        for worker in self.workers {
            let worker = lock(worker);
            add(&mut self.stats.fired, &worker.counts.fired);
            add(&mut self.stats.fresh, &worker.counts.fresh);
            add(&mut goals, self.board.system.goals(&worker.scratch));
        }
        let sets = self.board.sets.read().unwrap_or_else(PoisonError::into_inner);
        self.stats.store_bytes = sets.bytes();
        let mut losses = sets.all.losses();
        if let Some(late) = &self.late {
            self.stats.store_bytes += late.archive.bytes();
            losses = late.losses(losses);
        }
        self.stats.trace_bytes = self.runs.as_ref().map_or(0, Runs::bytes);
        let frontier = self.board.bytes.load(Ordering::Relaxed);
        self.stats.frontier_bytes = self.stats.frontier_bytes.max(frontier);
        let findings = self.findings.into_vec();
        Outcome { ending, findings, stats: self.stats, goals, losses, parents: None }
    }
}

/// What a helper does: its part of every round.
fn help<S: System, V: Shared>(gate: &Gate, board: &Board<'_, S, V>, worker: &Mutex<Worker<S, V>>) {
    let mut round = 0;
    while gate.next(&mut round) {
        let work = AssertUnwindSafe(|| match board.growing.load(Ordering::Relaxed) {
            true => board.help_to_grow(),
            false => lock(worker).run(board, &mut |_, _| ()),
        });
        if let Err(panic) = catch_unwind(work) {
            board.panicked(panic);
        }
        gate.finish();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
