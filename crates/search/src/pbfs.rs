//! Breadth-first search with many threads: the same levels, the same counts, shortest
//! counterexamples.
//!
//! *Two phases.* At first one thread explores strictly in order, exactly as [`crate::bfs`] does, and
//! stops at the first violation with the counts up to it. When a level ends with more than a fixed
//! number of states in all, the second phase begins: the workers share the tasks of a level, and meet
//! before the next one. There a violation does not end the level; when the level ends, the smallest
//! violation by an order that does not depend on time is reported (see [`wrong`]). One thread goes
//! through the same two phases.
//!
//! *What does not depend on the number of threads, or on time:* states, transitions, depth, levels,
//! firings per rule, cover goals, the verdict, what is violated and in which state. *What does, in
//! the second phase:* which of several rules is credited with a new state that both lead to (the sum
//! over the rules is fixed), which of several shortest paths is shown, the numbers of states, and
//! the counts of a search that a limit stops in the middle of a level: the limits are looked at once
//! per batch, so `max_states` may be passed by a batch per worker.
//!
//! *Coordination.* The calling thread is the coordinator and works itself; helpers wait at a
//! [`gate::Gate`] for rounds. All that workers share in a round is the index of the next task, two
//! flags, and sums to which each adds once per batch. Between rounds the coordinator has everything
//! for itself: it numbers the new states, grows a full store and goes on with the same level. Levels
//! that are not worth waking the helpers for are expanded by the coordinator alone, so a long chain
//! of narrow levels costs hardly more than in [`crate::bfs`].
//!
//! A panic of a worker ends the round and is passed on to the caller of [`pbfs`], after all helpers
//! have ended.

mod chunks;
mod gate;
#[cfg(test)]
mod loomed;
mod runs;
mod worker;
mod wrong;

/// The locks of the gate; under loom those of loom.
mod sync {
    pub(crate) use std::sync::{Condvar, Mutex};
}

use crate::bfs::{Explored, Levels, close_level, explore};
use crate::intake::Intake;
use crate::{Ending, Findings, Limits, Observer, Outcome, ParentLog, Progress, Stats, Watch};
use chunks::{Chunk, Level, chunk_bytes};
use ergodic_system::{Exhausted, Frontier, Reason, Shared, Sole, System};
use gate::Gate;
use runs::Runs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};
use worker::{Board, Worker};
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
    /// Levels that one thread can probably expand in this time are not worth waking the others for.
    pub worth: Duration,
}

impl Team {
    /// So many threads, and what was measured to be good for the rest.
    pub fn of(threads: usize) -> Team {
        Team { threads: threads.max(1), in_order: 1 << 17, worth: Duration::from_micros(200) }
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
    let mut intake = Intake::new(system, limits, Watch::new(limits, observer, 1));
    let mut levels = Levels::new(frontier, limits.traces.then(ParentLog::default));
    let mut sole = Sole::new(visited);
    let explored = explore(&mut intake, &mut sole, &mut levels, limits, team.in_order);
    close_level(&mut intake, &mut levels);
    if explored != Ok(Explored::Some) {
        let ending = explored.map(|_| ()).into();
        levels.parents = None;
        return intake.finish(ending, &sole, &levels, None);
    }
    let asking = sole.into_scratch();
    parallel(system, visited, asking, intake, levels, team, limits)
}

/// The second phase, from the level that waits in the frontier on.
fn parallel<S: System, V: Shared, F: Frontier>(
    system: &S,
    visited: &mut V,
    asking: V::Scratch,
    intake: Intake<'_, S>,
    mut levels: Levels<'_, F>,
    team: &Team,
    limits: &Limits,
) -> Outcome {
    let mut chunks = Vec::new();
    let pulled = pull_all(&mut levels, system.shape().words, &mut chunks);
    let (scratch, findings, watch, stats) = intake.into_parts();
    let worker = |scratch, asking| Mutex::new(Worker::new(system, scratch, asking, limits.batch));
    let mut workers = vec![worker(scratch, asking)];
    workers.extend((1..team.threads.max(1)).map(|_| worker(system.scratch(), visited.scratch())));
    let width = system.shape().words;
    let board = Board {
        system,
        store: RwLock::new(visited),
        level: RwLock::new(Level::default()),
        depth: AtomicU64::new(levels.depth),
        stalled: AtomicBool::new(false),
        stop: AtomicBool::new(false),
        states: AtomicU64::new(stats.states),
        transitions: AtomicU64::new(stats.transitions),
        bytes: AtomicU64::new(chunks.len() as u64 * chunk_bytes(width)),
        panic: Mutex::new(None),
        traces: limits.traces,
        max_states: limits.max_states.unwrap_or(u64::MAX),
    };
    let mut coordinator = Coordinator {
        board: &board,
        gate: &Gate::new(),
        workers: &workers,
        helpers: 0,
        team,
        limits,
        watch,
        stats,
        findings,
        runs: levels.parents.take().map(Runs::new),
        numbered: levels.first,
        chunks,
        wrongs: Wrongs::default(),
        pace: 1000.0,
    };
    let ending = coordinator.run(pulled, levels.depth).into();
    coordinator.finish(ending)
}

/// Moves the current level of the frontier to chunks.
fn pull_all<F: Frontier>(
    levels: &mut Levels<'_, F>,
    width: usize,
    chunks: &mut Vec<Chunk>,
) -> Result<(), Exhausted> {
    while let Some(block) = levels.frontier.pull(1 << 10)? {
        for i in 0..block.len() {
            if chunks.last().is_none_or(Chunk::is_full) {
                chunks.push(Chunk::new(width));
            }
            if let Some(chunk) = chunks.last_mut() {
                chunk.push(block.state(i));
            }
        }
    }
    Ok(())
}

/// The calling thread in the second phase.
struct Coordinator<'a, 'w, S: System, V: Shared> {
    board: &'a Board<'a, S, V>,
    gate: &'a Gate,
    workers: &'a [Mutex<Worker<S, V>>],
    /// Threads that wait at the gate.
    helpers: usize,
    team: &'a Team,
    limits: &'a Limits,
    watch: Watch<'w>,
    stats: Stats,
    findings: Findings,
    runs: Option<Runs>,
    /// States that have a number: those kept for expansion.
    numbered: u64,
    /// New chunks, between levels.
    chunks: Vec<Chunk>,
    wrongs: Wrongs,
    /// Nanoseconds that one worker takes per state, lately.
    pace: f64,
}

/// Lets the helpers go, however the coordinator ends.
struct Closing<'a, S, V>(&'a Gate, &'a Board<'a, S, V>);

impl<S, V> Drop for Closing<'_, S, V> {
    fn drop(&mut self) {
        self.1.stop.store(true, Ordering::Relaxed);
        self.0.close();
    }
}

impl<S: System, V: Shared> Coordinator<'_, '_, S, V> {
    /// Starts the helpers and explores.
    fn run(&mut self, pulled: Result<(), Exhausted>, depth: u64) -> Result<(), Ending> {
        pulled?;
        let (gate, board, workers) = (self.gate, self.board, self.workers);
        std::thread::scope(|scope| {
            let _closing = Closing(gate, board);
            for worker in &workers[1..] {
                let builder = std::thread::Builder::new().stack_size(STACK);
                // Without a thread the others do its work.
                let started = builder.spawn_scoped(scope, move || help(gate, board, worker));
                self.helpers += usize::from(started.is_ok());
            }
            self.explore(depth)
        })
    }

    fn explore(&mut self, mut depth: u64) -> Result<(), Ending> {
        loop {
            let len = self.open_level();
            if len == 0 {
                return Ok(());
            }
            if self.limits.max_depth == Some(depth) {
                return Err(Ending::Stopped(Reason::DepthLimit(depth)));
            }
            depth += 1;
            self.board.depth.store(depth, Ordering::Relaxed);
            let states = self.stats.states;
            // Neither the clock nor the helpers for a task or two.
            let clock = (self.helpers > 0 && len > LEAST_TASK as u64).then(Instant::now);
            let together = clock.is_some() && self.is_worth(len);
            let ended = self.expand_level(together, depth);
            if let Some(began) = clock {
                self.learn(began.elapsed(), together, len);
            }
            self.close_level(together, depth, states)?;
            ended?;
        }
    }

    /// Learns from a level how long a state takes.
    fn learn(&mut self, elapsed: Duration, together: bool, len: u64) {
        let hands = if together { 1.0 + self.helpers as f64 } else { 1.0 };
        let pace = elapsed.as_nanos() as f64 * hands / len as f64;
        self.pace = (self.pace + pace) / 2.0;
    }

    /// Numbers the new states and makes them the level to be expanded; returns how many there are.
    fn open_level(&mut self) -> u64 {
        let mut len = 0;
        for chunk in &mut self.chunks {
            chunk.first = self.numbered;
            self.numbered += chunk.len() as u64;
            len += chunk.len() as u64;
            if let Some(runs) = &mut self.runs {
                runs.add(chunk);
            }
        }
        let share = (len / (self.workers.len() as u64 * TASKS)) as usize;
        let task = share.max(LEAST_TASK).min(self.limits.block.max(1));
        let mut level = self.board.level.write().unwrap_or_else(PoisonError::into_inner);
        level.fill(self.chunks.drain(..), task);
        len
    }

    fn is_worth(&self, len: u64) -> bool {
        len as f64 * self.pace >= self.team.worth.as_nanos() as f64
    }

    /// Expands a level, in as many rounds as the store must grow.
    fn expand_level(&mut self, together: bool, depth: u64) -> Result<(), Ending> {
        loop {
            self.board.stalled.store(false, Ordering::Relaxed);
            if together {
                self.gate.open(self.helpers);
            }
            let looked = self.work(depth);
            if together {
                self.gate.wait();
            }
            let panic = self.board.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(panic) = panic {
                resume_unwind(panic);
            }
            looked?;
            if self.board.states.load(Ordering::Relaxed) > self.board.max_states {
                return Err(Ending::Stopped(Reason::StateLimit(self.board.max_states)));
            }
            if !self.board.stalled.load(Ordering::Relaxed) {
                debug_assert!(self.workers.iter().all(|worker| lock(worker).is_idle()));
                return Ok(());
            }
            let mut store = self.board.store.write().unwrap_or_else(PoisonError::into_inner);
            store.grow_if_needed(1)?;
        }
    }

    /// The coordinator's own part of a round. Looks at the limits after each batch.
    fn work(&mut self, depth: u64) -> Result<(), Ending> {
        let (board, watch, stats) = (self.board, &mut self.watch, &mut self.stats);
        let logged = self.runs.as_ref().map_or(0, Runs::bytes);
        let numbered = self.numbered;
        let mut looked = Ok(());
        lock(&self.workers[0]).run(board, &mut |store, level| {
            if looked.is_err() || !watch.due() {
                return;
            }
            let states = board.states.load(Ordering::Relaxed);
            let frontier = board.bytes.load(Ordering::Relaxed);
            stats.frontier_bytes = stats.frontier_bytes.max(frontier);
            let found = states.saturating_sub(numbered);
            let log = if board.traces { logged + 8 * found } else { 0 };
            looked = watch.look(&Progress {
                states,
                transitions: board.transitions.load(Ordering::Relaxed),
                depth: depth - 1,
                waiting: level.waiting() + found,
                bytes: store.bytes() + frontier + log,
            });
            if looked.is_err() {
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
            self.chunks.append(&mut worker.out);
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
        let mut enough = false;
        let runs = self.runs.as_ref();
        for wrong in self.wrongs.drain() {
            if enough {
                break;
            }
            let path = || {
                let mut path = runs.map(|runs| runs.path(wrong.source)).unwrap_or_default();
                path.extend(runs.and(wrong.label));
                path
            };
            enough = self.findings.add_once(wrong.kind, wrong.depth, path);
        }
        if enough { Err(Ending::Enough) } else { Ok(()) }
    }

    fn finish(mut self, ending: Ending) -> Outcome {
        let mut goals = Vec::new();
        for worker in self.workers {
            let worker = lock(worker);
            add(&mut self.stats.fired, &worker.counts.fired);
            add(&mut self.stats.fresh, &worker.counts.fresh);
            add(&mut goals, self.board.system.goals(&worker.scratch));
        }
        let store = self.board.store.read().unwrap_or_else(PoisonError::into_inner);
        self.stats.store_bytes = store.bytes();
        self.stats.trace_bytes = self.runs.as_ref().map_or(0, Runs::bytes);
        let frontier = self.board.bytes.load(Ordering::Relaxed);
        self.stats.frontier_bytes = self.stats.frontier_bytes.max(frontier);
        let findings = self.findings.into_vec();
        Outcome { ending, findings, stats: self.stats, goals, parents: None }
    }
}

/// What a helper does: its part of every round.
fn help<S: System, V: Shared>(gate: &Gate, board: &Board<'_, S, V>, worker: &Mutex<Worker<S, V>>) {
    let mut round = 0;
    while gate.next(&mut round) {
        let work = AssertUnwindSafe(|| lock(worker).run(board, &mut |_, _| ()));
        if let Err(panic) = catch_unwind(work) {
            board.panicked(panic);
        }
        gate.finish();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds numbers place by place.
fn add(sums: &mut Vec<u64>, more: &[u64]) {
    sums.resize(sums.len().max(more.len()), 0);
    sums.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
}
