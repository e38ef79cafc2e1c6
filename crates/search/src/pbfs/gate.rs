//! Rounds of work: one coordinator, some helpers.
//!
//! The coordinator opens a round, works itself, and waits until every helper has finished it. Between
//! rounds no helper does anything, so the coordinator may change what they share. A level of the
//! search is one round; if the store is full in the middle of it, the helpers finish the round early
//! and keep what is left, the coordinator grows the store, and another round goes on with the level.
//! So there is no other waiting than this, and none within a round.
//!
//! A helper takes part in each round exactly once: it remembers the last one that it took part in.
//! It must finish a round that it has begun, whatever happens in between; panics are caught around
//! the work. Closing the gate ends the helpers before their next round.
//!
//! Levels may take no longer than it takes to put a thread to sleep and wake it again. So whoever waits
//! looks out for a moment first (see [`super::moment`]), at counters that say when a look under the lock is
//! worth it, and nothing else.
//!
//! `models/self/barrier.m` is a model of this; the tests run it under loom.

use super::moment::Moment;
use super::sync::{AtomicU64, Condvar, Mutex, Ordering};
use std::sync::PoisonError;

/// Where helpers wait for a round and the coordinator for the helpers.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<State>,
    moment: Moment,
    /// Rounds opened, and the closing of the gate.
    openings: AtomicU64,
    /// Rounds that the last helper has finished.
    ends: AtomicU64,
    /// A round was opened, or the gate closed.
    opened: Condvar,
    /// The last helper finished the round.
    finished: Condvar,
}

#[derive(Debug)]
struct State {
    /// Number of the last round that was opened; none is 0.
    round: u64,
    /// Helpers that have not finished it.
    busy: usize,
    /// Helpers that sleep, and whether the coordinator does.
    asleep: usize,
    awaited: bool,
    closed: bool,
}

impl Gate {
    /// No round so far.
    pub(crate) fn new(moment: Moment) -> Gate {
        let state = State { round: 0, busy: 0, asleep: 0, awaited: false, closed: false };
        Gate {
            state: Mutex::new(state),
            moment,
            openings: AtomicU64::new(0),
            ends: AtomicU64::new(0),
            opened: Condvar::new(),
            finished: Condvar::new(),
        }
    }

    /// Coordinator: opens a round for so many helpers, which are all there are.
    pub(crate) fn open(&self, helpers: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.round += 1;
        state.busy = helpers;
        self.openings.fetch_add(1, Ordering::Relaxed);
        let asleep = state.asleep > 0;
        drop(state);
        if asleep {
            self.opened.notify_all();
        }
    }

    /// Coordinator: waits until every helper has finished the round.
    pub(crate) fn wait(&self) {
        // A round ends once, so there are as many ends as openings then.
        let round = self.openings.load(Ordering::Relaxed);
        let _stay = self.moment.look_out(|| self.ends.load(Ordering::Relaxed) == round);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.busy > 0 {
            state.awaited = true;
            state = self.finished.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.awaited = false;
        }
    }

    /// Coordinator: no further rounds.
    pub(crate) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.openings.fetch_add(1, Ordering::Relaxed);
        self.opened.notify_all();
    }

    /// Helper: waits for a round after `last`, which becomes its number; `false` if there are no
    /// more.
    pub(crate) fn next(&self, last: &mut u64) -> bool {
        let _stay = self.moment.look_out(|| self.openings.load(Ordering::Relaxed) > *last);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // A round that was opened before the gate was closed is still to be finished.
            if state.round > *last {
                *last = state.round;
                return true;
            }
            if state.closed {
                return false;
            }
            state.asleep += 1;
            state = self.opened.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.asleep -= 1;
        }
    }

    /// Helper: has finished the round.
    pub(crate) fn finish(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.busy -= 1;
        if state.busy == 0 {
            self.ends.fetch_add(1, Ordering::Relaxed);
            let awaited = state.awaited;
            drop(state);
            if awaited {
                self.finished.notify_one();
            }
        }
    }
}
