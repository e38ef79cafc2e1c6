//! Which states are on the stack of a depth-first search: what keeps stubborn sets from putting something
//! off for ever there.
//!
//! A table without keys: each place counts the states on the stack that have it. A state that shares its place
//! with one on the stack seems to be there, too; then more is fired than necessary, and that is all.

use std::sync::atomic::{AtomicU32, Ordering};

/// Places, at least and at most.
const LEAST_PLACES: u64 = 1 << 14;
const MOST_PLACES: u64 = 1 << 22;

/// The states on the stack.
#[derive(Debug)]
pub(super) struct OnStack {
    places: Vec<AtomicU32>,
}

impl OnStack {
    /// An empty stack, with so many bytes for the table.
    pub(super) fn new(bytes: u64) -> OnStack {
        let places = 1 << (bytes / 4).clamp(LEAST_PLACES, MOST_PLACES).ilog2();
        OnStack { places: (0..places).map(|_| AtomicU32::new(0)).collect() }
    }

    fn place(&self, hash: u64) -> &AtomicU32 {
        &self.places[hash as usize & (self.places.len() - 1)]
    }

    /// Whether a state may be on the stack.
    pub(super) fn has(&self, hash: u64) -> bool {
        self.place(hash).load(Ordering::Relaxed) > 0
    }

    /// Puts a state on the stack, or takes it off. (One thread searches; a place that would count too many
    /// stays as it is for ever.)
    pub(super) fn change(&self, hash: u64, put: bool) {
        let place = self.place(hash);
        let count = place.load(Ordering::Relaxed);
        if count < u32::MAX {
            let count = if put { count + 1 } else { count.saturating_sub(1) };
            place.store(count, Ordering::Relaxed);
        }
    }
}
