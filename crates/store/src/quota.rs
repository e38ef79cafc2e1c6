//! How many more values a shared table takes, without a shared count per value.
//!
//! The table has a quota of places. Workers take permits from it, some hundreds at a time, and use
//! one up per value they insert; the values of a table are thus never more than its quota, and a
//! walk always meets a free slot. Permits that a worker holds and does not use are places that stay
//! free; they are few against the size of the table.

use super::sync::{AtomicU64, Ordering};

/// The places of a table.
#[derive(Debug)]
pub(crate) struct Quota {
    taken: AtomicU64,
    limit: u64,
    /// Permits handed out at a time.
    step: u64,
}

/// Permits of one worker: consecutive numbers from `next` to below `end`, which no other worker has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Permits {
    next: u64,
    end: u64,
}

impl Quota {
    /// `taken` permits out of `limit` are handed out already.
    pub(crate) fn new(taken: u64, limit: u64) -> Quota {
        Quota { taken: AtomicU64::new(taken), limit, step: (limit >> 10).clamp(1, 1 << 10) }
    }

    /// Permits handed out so far; at least as many as there are values.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Permits in all.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Raises the limit to `limit` if it is lower; returns whether there are permits left.
    pub(crate) fn raise(&mut self, limit: u64) -> bool {
        self.limit = self.limit.max(limit);
        self.taken() < self.limit
    }

    /// Makes sure that `permits` has at least one left; `false` if the quota is used up.
    #[inline]
    pub(crate) fn ensure(&self, permits: &mut Permits) -> bool {
        permits.next < permits.end || self.refill(permits)
    }

    #[cold]
    fn refill(&self, permits: &mut Permits) -> bool {
        let more = |taken: u64| (taken < self.limit).then(|| (taken + self.step).min(self.limit));
        match self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(taken) => {
                *permits = Permits { next: taken, end: (taken + self.step).min(self.limit) };
                true
            }
            Err(_) => false,
        }
    }
}

impl Permits {
    /// The number of the next permit.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        debug_assert!(self.next < self.end);
        self.next
    }

    /// How many there are.
    #[inline]
    pub(crate) fn left(&self) -> u64 {
        self.end - self.next
    }

    /// Uses up some permits.
    #[inline]
    pub(crate) fn spend(&mut self, count: u64) {
        debug_assert!(count <= self.left());
        self.next += count;
    }
}
