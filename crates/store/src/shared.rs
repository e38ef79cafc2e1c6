//! The shared exact store for small states: the state itself is in the slot.
//!
//! States of one word take eight bytes, states of up to 126 bits sixteen. A slot must not be zero:
//! * one word is stored plus one; the one word for which that is zero has a place of its own;
//! * two words are stored as (w0 << 1 | 1, w1 << 2 | top bit of w0 << 1 | 1).
//!
//! Both ways back are simple, so growth needs nothing but the old table, and hashes are not stored.
//!
//! Many workers insert at the same time (the protocol stands in `slots.rs`), and one alone pays
//! for that with one uncontended compare-and-swap per *new* state. [`Shared::offer`] works in groups:
//! it computes the hashes of one group and starts to load their lines while it probes the group
//! before. A line is 64 bytes, aligned, so a look-up touches one line nearly always; states that need
//! another one are put off while it is loaded.
//!
//! Measured, one thread, a table of 67 MB (states of one word): about 24 ns per offered state beside
//! the executor. What paid: a look at all slots of a line without branches before the walk, putting
//! off, a load of at most 13/16 (11/16 for two words). What made no difference beyond noise: to go
//! on in the neighbouring line first (kept: it makes growth more sequential).

use crate::hash::{hash, hash_word};
use crate::memory::Lines;
use crate::quota::{Permits, Quota};
use crate::slots::{Claim, LINE};
use crate::sync::{AtomicU64, Ordering};
use crate::table::{GROUP, Sizing, Walk, claim, claim_group, larger};
use ergodic_system::{Block, Exhausted, Picks, Shape, Shared};

/// The largest states that fit, in bits.
pub const MAX_BITS: usize = 126;

/// States on the way into the table.
struct Group<const W: usize> {
    hashes: [u64; GROUP],
    slots: [[u64; W]; GROUP],
    len: usize,
}

/// All states in full, in the slots of one table.
#[derive(Debug)]
pub struct FlatStore {
    /// Words of a state, one or two.
    width: usize,
    lines: Lines,
    quota: Quota,
    /// Whether the state of one word of ones was seen (0 or 1).
    ones: AtomicU64,
    sizing: Sizing,
    limit: Option<u64>,
}

/// What one worker needs to ask a [`FlatStore`].
#[derive(Debug, Default)]
pub struct FlatScratch {
    permits: Permits,
}

impl FlatStore {
    /// Whether states of this shape fit.
    pub fn fits(shape: Shape) -> bool {
        shape.words == 1 || shape.bits <= MAX_BITS
    }

    /// An empty store that uses at most `memory_limit` bytes.
    ///
    /// # Panics
    /// If states of this shape do not fit.
    pub fn new(shape: Shape, memory_limit: Option<u64>) -> FlatStore {
        FlatStore::sized(shape, memory_limit, Sizing::default())
    }

    pub(crate) fn sized(shape: Shape, limit: Option<u64>, sizing: Sizing) -> FlatStore {
        assert!(FlatStore::fits(shape), "states of {} bits do not fit", shape.bits);
        let lines = Lines::new(sizing.first);
        let quota = Quota::new(0, sizing.room(lines.count(), LINE / shape.words));
        FlatStore { width: shape.words, lines, quota, ones: AtomicU64::new(0), sizing, limit }
    }

    /// Room of so many lines.
    fn room(&self, lines: usize) -> u64 {
        self.sizing.room(lines, LINE / self.width)
    }

    /// Looks for a state and puts it into the table if it `may` be.
    #[inline]
    fn claim<const W: usize>(&self, hash: u64, slot: [u64; W], may: bool) -> Claim {
        if slot[0] == 0 { self.claim_ones(may) } else { claim(&self.lines, hash, slot, may) }
    }

    #[cold]
    fn claim_ones(&self, may: bool) -> Claim {
        if self.ones.load(Ordering::Relaxed) == 1 {
            Claim::Known
        } else if !may {
            Claim::Refused
        } else if self.ones.swap(1, Ordering::Relaxed) == 0 {
            Claim::Inserted
        } else {
            Claim::Known
        }
    }

    /// Hashes a group of states and starts to load their lines.
    #[inline]
    fn group<const W: usize>(&self, states: Block<'_>) -> Group<W> {
        let mut group = Group { hashes: [0; GROUP], slots: [[0; W]; GROUP], len: states.len() };
        for (i, state) in states.words().as_chunks::<W>().0.iter().enumerate() {
            group.hashes[i] = hash_of(state);
            group.slots[i] = encode(*state);
            self.lines.prefetch(Walk::new(group.hashes[i]).line(&self.lines));
        }
        group
    }

    #[inline]
    fn offer_as<const W: usize>(
        &self,
        scratch: &mut FlatScratch,
        new: Block<'_>,
        from: usize,
        fresh: &mut Picks,
    ) -> usize {
        let mut ahead = self.group::<W>(new.slice(from, GROUP));
        let mut at = from;
        while ahead.len > 0 {
            let group = ahead;
            ahead = self.group::<W>(new.slice(at + group.len, GROUP));
            let handled = self.offer_group(scratch, &group, at, fresh);
            at += handled;
            if handled < group.len {
                break;
            }
        }
        at
    }

    /// Offers a group that starts at position `at`; returns how many of its states were handled.
    #[inline]
    fn offer_group<const W: usize>(
        &self,
        scratch: &mut FlatScratch,
        group: &Group<W>,
        at: usize,
        fresh: &mut Picks,
    ) -> usize {
        let (hashes, slots) = (&group.hashes[..group.len], &group.slots[..group.len]);
        let permits = &mut scratch.permits;
        if permits.left() >= GROUP as u64 && slots.iter().all(|slot| slot[0] != 0) {
            let mut inserted = claim_group(&self.lines, permits, hashes, slots);
            while inserted != 0 {
                fresh.push((at + inserted.trailing_zeros() as usize) as u32);
                inserted &= inserted - 1;
            }
            return group.len;
        }
        for (i, (hash, slot)) in hashes.iter().zip(slots).enumerate() {
            let may = self.quota.ensure(permits);
            match self.claim(*hash, *slot, may) {
                Claim::Known | Claim::Crowded => {}
                Claim::Inserted => {
                    permits.spend(1);
                    fresh.push((at + i) as u32);
                }
                Claim::Refused => return i,
            }
        }
        group.len
    }

    /// Moves everything to a table of `count` lines.
    fn move_to(&mut self, count: usize) {
        let old = std::mem::replace(&mut self.lines, Lines::new(count));
        let taken = self.quota.taken();
        self.quota = Quota::new(taken, self.room(count));
        match self.width {
            1 => old.drain(|line| self.enter_line::<1>(line)),
            _ => old.drain(|line| self.enter_line::<2>(line)),
        }
    }

    fn enter_line<const W: usize>(&self, line: [u64; LINE]) {
        for slot in line.as_chunks::<W>().0.iter().filter(|slot| slot[0] != 0) {
            self.claim(hash_of(&decode(*slot)), *slot, true);
        }
    }
}

impl Shared for FlatStore {
    type Scratch = FlatScratch;

    fn scratch(&self) -> FlatScratch {
        FlatScratch::default()
    }

    fn offer(
        &self,
        scratch: &mut FlatScratch,
        new: Block<'_>,
        from: usize,
        fresh: &mut Picks,
    ) -> usize {
        match self.width {
            1 => self.offer_as::<1>(scratch, new, from, fresh),
            _ => self.offer_as::<2>(scratch, new, from, fresh),
        }
    }

    fn contains(&self, state: &[u64]) -> bool {
        let claim = match *state {
            [word] => self.claim(hash_word(word), encode([word]), false),
            [low, high] => self.claim(hash(&[low, high]), encode([low, high]), false),
            _ => Claim::Refused,
        };
        claim == Claim::Known
    }

    fn grow_if_needed(&mut self, expected: u64) -> Result<(), Exhausted> {
        let wanted = self.quota.taken().saturating_add(expected.max(1));
        if wanted <= self.quota.limit() {
            return Ok(());
        }
        let most = self.limit.map_or(usize::MAX, |limit| (limit / 64) as usize);
        let next = larger(self.lines.count(), most, wanted, |lines| self.room(lines));
        match next {
            Some(next) => {
                self.move_to(next);
                Ok(())
            }
            None => {
                let most = self.sizing.crowded(self.lines.count(), LINE / self.width);
                if self.quota.raise(most) {
                    return Ok(());
                }
                Err(Exhausted::Memory { limit: self.limit.unwrap_or(u64::MAX) })
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.lines.bytes()
    }
}

#[inline]
fn hash_of<const W: usize>(state: &[u64; W]) -> u64 {
    if W == 1 { hash_word(state[0]) } else { hash(state) }
}

/// A state as its slot holds it.
#[inline]
fn encode<const W: usize>(state: [u64; W]) -> [u64; W] {
    let mut slot = state;
    if W == 1 {
        slot[0] = state[0].wrapping_add(1);
    } else {
        slot[0] = state[0] << 1 | 1;
        slot[1] = state[1] << 2 | state[0] >> 63 << 1 | 1;
    }
    slot
}

/// The state that a slot holds.
#[inline]
fn decode<const W: usize>(slot: [u64; W]) -> [u64; W] {
    let mut state = slot;
    if W == 1 {
        state[0] = slot[0].wrapping_sub(1);
    } else {
        state[0] = slot[0] >> 1 | slot[1] >> 1 << 63;
        state[1] = slot[1] >> 2;
    }
    state
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
        let shapes = [1, 20, 64, 65, 100, MAX_BITS].map(Shape::of_bits);
        conformance::shared(&shapes, |shape| FlatStore::new(shape, None));
        conformance::shared(&shapes, |shape| FlatStore::sized(shape, None, tiny()));
        let full = Sizing { first: 2, load: 16 };
        conformance::shared(&shapes, |shape| FlatStore::sized(shape, None, full));
    }

    #[test]
    fn workers_agree() {
        for bits in [10, 64, 90] {
            let shape = Shape::of_bits(bits);
            conformance::workers(shape, || FlatStore::sized(shape, None, tiny()));
        }
    }

    #[test]
    fn every_state_comes_back_from_its_slot() {
        for word in [0, 1, 1 << 63, u64::MAX, u64::MAX - 1, 0x1234_5678_9abc_def0] {
            assert_eq!(decode(encode([word])), [word]);
            for high in [0, 1, (1 << 62) - 1, 1 << 61] {
                let slot = encode([word, high]);
                assert!(slot[0] != 0 && slot[1] != 0);
                assert_eq!(decode(slot), [word, high]);
            }
        }
    }

    #[test]
    fn the_memory_limit_is_kept_and_used() {
        for (bits, limit) in [(40, 100_000), (100, 100_000), (64, 3 << 20)] {
            let shape = Shape::of_bits(bits);
            let mut store = FlatStore::new(shape, Some(limit));
            let (why, seen) = conformance::fill_shared_until_exhausted(&mut store, shape);
            assert_eq!(why, Exhausted::Memory { limit });
            assert!(store.bytes() <= limit);
            let least = limit * 3 / 4 / (8 * shape.words as u64);
            assert!(seen >= least, "{seen} states in {limit} bytes");
        }
    }
}
