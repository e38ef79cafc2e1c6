//! The shared exact store for states of a few words: rows of states and an index.
//!
//! Too large for the slots of [`crate::FlatStore`], and not large enough for a tree to pay: a tree of
//! four words asks up to seven tables per state, and few of its parts are shared. Here the states
//! stand one after the other, as *rows*; the index is a table of lines whose slots hold 32 bits of
//! the hash and the number of a row. A state costs its words and about twelve bytes.
//!
//! A worker that finds no state writes it into a row of its own and then tries to enter that row. If
//! another worker was faster with the same state, the row is kept for the next one. Rows are permits
//! of the quota plus one; zero is none. The protocol is that of references in `slots.rs`.
//!
//! [`Shared::offer`] works in groups: while one group is probed the lines of the next are loaded, and
//! before a group is probed the rows that its tags point to are.
//!
//! Measured on cache3 and cache3multi (193 and 197 bits), whole runs on one thread: about twice as fast
//! as with the tree store, at 1.5 to 1.9 times its memory.

use crate::hash::hash;
use crate::memory::{Lines, prefetch_atomic, zeroed_atomics};
use crate::quota::{Permits, Quota};
use crate::slots::{Claim, LINE, claim_reference_by};
use crate::sync::{AtomicU64, Ordering};
use crate::table::{GROUP, Sizing, Walk, larger};
use ergodic_system::{Block, Exhausted, Picks, Shape, Shared};

/// Rows there can be.
const MAX_ROWS: u64 = u32::MAX as u64 - 1;

/// All states in full, in rows.
#[derive(Debug)]
pub struct RowStore {
    width: usize,
    index: Lines,
    /// The words of each row; those of row zero are not used.
    rows: Vec<AtomicU64>,
    quota: Quota,
    sizing: Sizing,
    limit: Option<u64>,
}

/// What one worker needs to ask a [`RowStore`].
#[derive(Debug, Default)]
pub struct RowScratch {
    permits: Permits,
}

impl RowStore {
    /// The largest states for which this is the store of choice, in words.
    pub const MAX_WORDS: usize = 8;

    /// An empty store that uses at most `memory_limit` bytes.
    pub fn new(shape: Shape, memory_limit: Option<u64>) -> RowStore {
        RowStore::sized(shape, memory_limit, Sizing::default())
    }

    pub(crate) fn sized(shape: Shape, limit: Option<u64>, sizing: Sizing) -> RowStore {
        let index = Lines::new(sizing.first);
        let room = sizing.room(index.count(), LINE).min(MAX_ROWS);
        let rows = zeroed_atomics((room as usize + 1) * shape.words);
        RowStore { width: shape.words, index, rows, quota: Quota::new(0, room), sizing, limit }
    }

    #[inline]
    fn row(&self, number: u32) -> &[AtomicU64] {
        let at = number as usize * self.width;
        &self.rows[at..at + self.width]
    }

    #[inline]
    fn holds(&self, number: u32, state: &[u64]) -> bool {
        let row = self.row(number);
        row.iter().zip(state).all(|(word, wanted)| word.load(Ordering::Relaxed) == *wanted)
    }

    #[inline]
    fn claim(&self, hash: u64, state: &[u64], mine: Option<u32>) -> Claim {
        let mut walk = Walk::new(hash);
        loop {
            let line = self.index.line(walk.line(&self.index));
            let same = |number| self.holds(number, state);
            let (claim, _) = claim_reference_by(line, walk.start(), hash as u32, same, mine);
            if claim != Claim::Crowded {
                return claim;
            }
            walk.next();
        }
    }

    /// Marks one state; `None` if there is no room.
    #[inline]
    fn mark(&self, permits: &mut Permits, hash: u64, state: &[u64]) -> Option<Claim> {
        // Most states are known: a permit is taken and a row written only if they must be.
        if self.claim(hash, state, None) == Claim::Known {
            return Some(Claim::Known);
        }
        if !self.quota.ensure(permits) {
            return None;
        }
        let mine = permits.number() as u32 + 1;
        for (word, value) in self.row(mine).iter().zip(state) {
            word.store(*value, Ordering::Relaxed);
        }
        let claim = self.claim(hash, state, Some(mine));
        if claim == Claim::Inserted {
            permits.spend(1);
        }
        Some(claim)
    }

    /// Hashes a group of states and starts to load their lines.
    #[inline]
    fn hash_group(&self, states: Block<'_>, hashes: &mut [u64; GROUP]) {
        for (i, slot) in hashes.iter_mut().enumerate().take(states.len()) {
            *slot = hash(states.state(i));
            self.index.prefetch(Walk::new(*slot).line(&self.index));
        }
    }

    /// Starts to load the rows that the states of a group may stand in.
    #[inline]
    fn load_rows(&self, hashes: &[u64]) {
        for hash in hashes {
            let line = self.index.line(Walk::new(*hash).line(&self.index));
            for slot in line {
                let seen = slot.load(Ordering::Relaxed);
                if seen != 0 && (seen >> 32) as u32 == *hash as u32 {
                    prefetch_atomic(&self.row(seen as u32)[0]);
                    break;
                }
            }
        }
    }

    /// Moves everything to an index of `lines` lines and rows to match.
    fn move_to(&mut self, lines: usize) {
        let room = self.sizing.room(lines, LINE).min(MAX_ROWS);
        let rows = zeroed_atomics((room as usize + 1) * self.width);
        for (new, old) in rows.iter().zip(&self.rows) {
            new.store(old.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.rows = rows;
        self.quota = Quota::new(self.quota.taken(), room);
        let old = std::mem::replace(&mut self.index, Lines::new(lines));
        let mut state = vec![0; self.width];
        old.drain(|line| {
            for entry in line.into_iter().filter(|entry| *entry != 0) {
                let row = self.row(entry as u32).iter();
                state.iter_mut().zip(row).for_each(|(s, word)| *s = word.load(Ordering::Relaxed));
                self.claim(hash(&state), &state, Some(entry as u32));
            }
        });
    }
}

impl Shared for RowStore {
    type Scratch = RowScratch;

    fn scratch(&self) -> RowScratch {
        RowScratch::default()
    }

    fn offer(
        &self,
        scratch: &mut RowScratch,
        new: Block<'_>,
        from: usize,
        fresh: &mut Picks,
    ) -> usize {
        let mut ahead = [0; GROUP];
        self.hash_group(new.slice(from, GROUP), &mut ahead);
        let mut at = from;
        while at < new.len() {
            let hashes = ahead;
            let len = (new.len() - at).min(GROUP);
            self.hash_group(new.slice(at + len, GROUP), &mut ahead);
            self.load_rows(&hashes[..len]);
            for (i, hash) in hashes[..len].iter().enumerate() {
                match self.mark(&mut scratch.permits, *hash, new.state(at + i)) {
                    Some(Claim::Inserted) => fresh.push((at + i) as u32),
                    Some(_) => {}
                    None => return at + i,
                }
            }
            at += len;
        }
        at
    }

    fn contains(&self, state: &[u64]) -> bool {
        self.claim(hash(state), state, None) == Claim::Known
    }

    fn grow_if_needed(&mut self, expected: u64) -> Result<(), Exhausted> {
        let wanted = self.quota.taken().saturating_add(expected.max(1));
        if wanted <= self.quota.limit() {
            return Ok(());
        }
        // A line of the index and the rows for its share of slots.
        let line_bytes = (64 + LINE * self.width * 8 * self.sizing.load / 16) as u64;
        let most = self.limit.map_or(usize::MAX, |limit| (limit / line_bytes) as usize);
        let room = |lines| self.sizing.room(lines, LINE).min(MAX_ROWS);
        match larger(self.index.count(), most, wanted.min(MAX_ROWS), room) {
            Some(lines) if self.quota.limit() < MAX_ROWS => {
                self.move_to(lines);
                Ok(())
            }
            _ => Err(Exhausted::Memory { limit: self.limit.unwrap_or(u64::MAX) }),
        }
    }

    fn bytes(&self) -> u64 {
        self.index.bytes() + self.rows.len() as u64 * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;

    fn tiny() -> Sizing {
        Sizing { first: 2, load: 14 }
    }

    #[test]
    fn conforms() {
        let shapes = [1, 64, 129, 200, 512, 700].map(Shape::of_bits);
        conformance::shared(&shapes, |shape| RowStore::new(shape, None));
        conformance::shared(&shapes, |shape| RowStore::sized(shape, None, tiny()));
    }

    #[test]
    fn workers_agree() {
        for bits in [64, 129, 300] {
            let shape = Shape::of_bits(bits);
            conformance::workers(shape, || RowStore::sized(shape, None, tiny()));
        }
    }

    #[test]
    fn the_memory_limit_is_kept() {
        let (shape, limit) = (Shape::of_bits(200), 400_000);
        let mut store = RowStore::new(shape, Some(limit));
        let (why, seen) = conformance::fill_shared_until_exhausted(&mut store, shape);
        assert_eq!(why, Exhausted::Memory { limit });
        assert!(store.bytes() <= limit && seen > 3_000, "{seen} states in {}", store.bytes());
    }
}
