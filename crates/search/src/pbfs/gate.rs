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
//! `models/self/barrier.m` is a model of this; the tests run it under loom.

use super::sync::{Condvar, Mutex};
use std::sync::PoisonError;

/// Where helpers wait for a round and the coordinator for the helpers.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<State>,
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
    closed: bool,
}

impl Gate {
    /// No round so far.
    pub(crate) fn new() -> Gate {
        let state = State { round: 0, busy: 0, closed: false };
        Gate { state: Mutex::new(state), opened: Condvar::new(), finished: Condvar::new() }
    }

    /// Coordinator: opens a round for so many helpers, which are all there are.
    pub(crate) fn open(&self, helpers: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.round += 1;
        state.busy = helpers;
        drop(state);
        self.opened.notify_all();
    }

    /// Coordinator: waits until every helper has finished the round.
    pub(crate) fn wait(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.busy > 0 {
            state = self.finished.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Coordinator: no further rounds.
    pub(crate) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.opened.notify_all();
    }

    /// Helper: waits for a round after `last`, which becomes its number; `false` if there are no
    /// more.
    pub(crate) fn next(&self, last: &mut u64) -> bool {
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
            state = self.opened.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Helper: has finished the round.
    pub(crate) fn finish(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.busy -= 1;
        if state.busy == 0 {
            drop(state);
            self.finished.notify_one();
        }
    }
}
