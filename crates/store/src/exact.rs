//! The exact store in memory: every state in full, none lost, none compared by hash alone.
//!
//! Two parts. The *arena* holds the packed states in the order in which they were fresh, so a
//! state's number is its position and nothing is stored beside it. The *index* is an
//! open-addressing table of 64-bit entries (24 bits of the hash, 40 bits of number + 1, zero means
//! empty) with linear probing; the home slot comes from the top bits of the hash, the tag from the
//! low ones.
//!
//! The index holds nothing that the arena does not: it grows by dropping the old table before the
//! new one is allocated and entering all states again, in order, without comparing any. So growth
//! needs no memory beyond the new table.
//!
//! [`Visited::offer`] works in groups: hash and prefetch all home slots, one group ahead; look for
//! the tags and prefetch the candidates in the arena; then probe and insert. Both misses of a
//! look-up (slot, then state) are thus overlapped over a group.
//!
//! Invariants: the table is a power of two and never full; `room` is the number of states up to
//! which neither arena nor index must grow; entry numbers are below `len`.

use crate::hash::hash as hash_of;
use crate::memory::{prefetch, room_for, zeroed_table};
use ergodic_system::{Block, Coverage, Exhausted, Numbered, Picks, Shape, Visited};

const NUMBER_BITS: u32 = 40;
const NUMBER_MASK: u64 = (1 << NUMBER_BITS) - 1;
/// States looked up together: enough to hide the latency, few enough to stay in the L1 cache.
const GROUP: usize = 64;
/// The first table: small, because small models are many.
const FIRST_SLOTS: usize = 1 << 10;
/// Bytes of an arena chunk, about.
const CHUNK_BYTES: usize = 1 << 24;

/// Where a look-up ended.
enum Probe {
    /// The state is there, under this number.
    Known(u64),
    /// It is not; this slot is free for it.
    Free(usize),
}

/// All states in full, in memory.
#[derive(Debug)]
pub struct ExactStore {
    arena: Arena,
    /// Open-addressing table.
    table: Vec<u64>,
    /// 64 minus the logarithm of the table's size.
    shift: u32,
    /// States up to which nothing must grow.
    room: u64,
    /// Bytes in use may not pass this.
    limit: Option<u64>,
}

impl ExactStore {
    /// An empty store for states of this shape that uses at most `memory_limit` bytes.
    pub fn new(shape: Shape, memory_limit: Option<u64>) -> ExactStore {
        ExactStore {
            arena: Arena::new(shape.words),
            table: zeroed_table(FIRST_SLOTS),
            shift: 64 - FIRST_SLOTS.ilog2(),
            room: 0,
            limit: memory_limit,
        }
    }

    /// Number of states.
    pub fn len(&self) -> u64 {
        self.arena.len
    }

    /// Whether no state was seen.
    pub fn is_empty(&self) -> bool {
        self.arena.len == 0
    }

    /// State `number`.
    ///
    /// # Panics
    /// If there is no such state.
    pub fn state(&self, number: u64) -> &[u64] {
        self.arena.state(number)
    }

    /// All states in the order of their numbers.
    pub fn states(&self) -> impl Iterator<Item = &[u64]> {
        (0..self.len()).map(|number| self.arena.state(number))
    }

    /// Bytes in use.
    pub fn bytes(&self) -> u64 {
        self.arena.bytes() + table_bytes(self.table.len())
    }

    #[inline]
    fn probe(&self, hash: u64, state: &[u64]) -> Probe {
        let mask = self.table.len() - 1;
        let mut slot = (hash >> self.shift) as usize;
        loop {
            let entry = self.table[slot & mask];
            if entry == 0 {
                return Probe::Free(slot & mask);
            }
            if (entry ^ (hash << NUMBER_BITS)) >> NUMBER_BITS == 0 {
                let number = (entry & NUMBER_MASK) - 1;
                if same(self.arena.state(number), state) {
                    return Probe::Known(number);
                }
            }
            slot += 1;
        }
    }

    /// Starts to load the first state whose tag fits.
    #[inline]
    fn prefetch_candidate(&self, hash: u64) {
        let mask = self.table.len() - 1;
        let mut slot = (hash >> self.shift) as usize;
        loop {
            let entry = self.table[slot & mask];
            if entry == 0 {
                return;
            }
            if (entry ^ (hash << NUMBER_BITS)) >> NUMBER_BITS == 0 {
                let state = self.arena.state((entry & NUMBER_MASK) - 1);
                prefetch(&state[0]);
                return prefetch(&state[state.len() - 1]);
            }
            slot += 1;
        }
    }

    /// Hashes a group of states and starts to load their home slots.
    #[inline]
    fn hash_group(&self, group: Block<'_>) -> [u64; GROUP] {
        let mut hashes = [0; GROUP];
        for (i, hash) in hashes[..group.len()].iter_mut().enumerate() {
            *hash = hash_of(group.state(i));
            prefetch(&self.table[(*hash >> self.shift) as usize]);
        }
        hashes
    }

    /// Offers a group of states that starts at position `from` of its block.
    #[inline]
    fn offer_group(
        &mut self,
        group: Block<'_>,
        hashes: &[u64; GROUP],
        from: usize,
        fresh: &mut Picks,
    ) -> Result<(), Exhausted> {
        for hash in &hashes[..group.len()] {
            self.prefetch_candidate(*hash);
        }
        for (i, hash) in hashes[..group.len()].iter().copied().enumerate() {
            let state = group.state(i);
            let Probe::Free(mut slot) = self.probe(hash, state) else { continue };
            if self.arena.len == self.room {
                self.make_room()?;
                slot = self.free_slot(hash);
            }
            self.table[slot] = entry(hash, self.arena.len);
            self.arena.push(state);
            fresh.push((from + i) as u32);
        }
        Ok(())
    }

    /// The first free slot for a state that is known to be absent.
    #[inline]
    fn free_slot(&self, hash: u64) -> usize {
        let mask = self.table.len() - 1;
        let mut slot = (hash >> self.shift) as usize;
        while self.table[slot & mask] != 0 {
            slot += 1;
        }
        slot & mask
    }

    /// Bytes up to the limit.
    fn spare(&self) -> u64 {
        self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.bytes()))
    }

    fn exhausted(&self) -> Exhausted {
        Exhausted::Memory { limit: self.limit.unwrap_or(u64::MAX) }
    }

    /// Makes room for at least one more state in the index and in the arena.
    #[cold]
    fn make_room(&mut self) -> Result<(), Exhausted> {
        if self.arena.len == NUMBER_MASK - 1 {
            let most = NUMBER_MASK - 1;
            return Err(Exhausted::Other(format!("the exact store numbers at most {most} states")));
        }
        let index = self.make_index_room()?;
        if self.arena.len == self.arena.capacity {
            let step = self.arena.step().min(self.spare() / self.arena.state_bytes());
            if step == 0 {
                return Err(self.exhausted());
            }
            self.arena.grow(step);
        }
        self.room = index.min(self.arena.capacity);
        Ok(())
    }

    /// Doubles the table if it is loaded; where the limit forbids that, lets it be crowded. Returns
    /// the number of states for which it has room, more than there are.
    fn make_index_room(&mut self) -> Result<u64, Exhausted> {
        let slots = self.table.len();
        if self.arena.len < comfortable(slots) {
            return Ok(comfortable(slots));
        }
        if table_bytes(slots) + self.arena.state_bytes() <= self.spare() {
            self.double();
            return Ok(comfortable(slots * 2));
        }
        if self.arena.len < crowded(slots) { Ok(crowded(slots)) } else { Err(self.exhausted()) }
    }

    /// Doubles the table and enters all states again.
    fn double(&mut self) {
        let slots = self.table.len() * 2;
        self.table = Vec::new(); // first gives back the old one
        self.table = zeroed_table(slots);
        self.shift -= 1;
        let mut hashes = [0; GROUP];
        for from in (0..self.arena.len).step_by(GROUP) {
            let group = &mut hashes[..(self.arena.len - from).min(GROUP as u64) as usize];
            for (number, hash) in (from..).zip(group.iter_mut()) {
                *hash = hash_of(self.arena.state(number));
                prefetch(&self.table[(*hash >> self.shift) as usize]);
            }
            for (number, hash) in (from..).zip(group.iter()) {
                let slot = self.free_slot(*hash);
                self.table[slot] = entry(*hash, number);
            }
        }
    }
}

impl Visited for ExactStore {
    fn offer(&mut self, new: Block<'_>, fresh: &mut Picks) -> Result<(), Exhausted> {
        fresh.clear();
        let mut ahead = self.hash_group(new.slice(0, GROUP));
        for from in (0..new.len()).step_by(GROUP) {
            let hashes = ahead;
            let next = (from + GROUP).min(new.len());
            ahead = self.hash_group(new.slice(next, GROUP));
            self.offer_group(new.slice(from, GROUP), &hashes, from, fresh)?;
        }
        Ok(())
    }

    fn coverage(&self) -> Coverage {
        Coverage { states: self.len(), bytes: self.bytes(), omission: 0.0 }
    }
}

impl Numbered for ExactStore {
    fn number(&self, state: &[u64]) -> Option<u64> {
        match self.probe(hash_of(state), state) {
            Probe::Known(number) => Some(number),
            Probe::Free(_) => None,
        }
    }

    fn fetch(&self, number: u64, out: &mut [u64]) {
        out.copy_from_slice(self.arena.state(number));
    }
}

/// The entry of a state: tag above, number + 1 below.
#[inline]
fn entry(hash: u64, number: u64) -> u64 {
    hash << NUMBER_BITS | (number + 1)
}

/// Equality word by word: a call of `memcmp` costs more than it saves on short states.
#[inline]
fn same(a: &[u64], b: &[u64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x == y)
}

fn table_bytes(slots: usize) -> u64 {
    slots as u64 * 8
}

/// States at which the table is doubled.
fn comfortable(slots: usize) -> u64 {
    slots as u64 / 4 * 3
}

/// States at which it is full for good, where the memory limit forbids to double it.
fn crowded(slots: usize) -> u64 {
    slots as u64 / 8 * 7
}

/// States one after the other in chunks. The first chunk grows by doubling, so that a small model
/// takes little; the others are allocated at once, except close to the memory limit.
#[derive(Debug)]
struct Arena {
    width: usize,
    /// Logarithm of the states per chunk.
    log: u32,
    len: u64,
    /// States for which there is room.
    capacity: u64,
    chunks: Vec<Vec<u64>>,
}

impl Arena {
    fn new(width: usize) -> Arena {
        let log = (CHUNK_BYTES / (8 * width)).max(64).ilog2();
        Arena { width, log, len: 0, capacity: 0, chunks: Vec::new() }
    }

    #[inline]
    fn state(&self, number: u64) -> &[u64] {
        let at = (number as usize & ((1 << self.log) - 1)) * self.width;
        &self.chunks[(number >> self.log) as usize][at..at + self.width]
    }

    /// Appends a state; there is room.
    #[inline]
    fn push(&mut self, state: &[u64]) {
        debug_assert!(self.len < self.capacity);
        self.chunks[(self.len >> self.log) as usize].extend_from_slice(state);
        self.len += 1;
    }

    fn state_bytes(&self) -> u64 {
        self.width as u64 * 8
    }

    /// States for which to make room next: never more than the last chunk can still take.
    fn step(&self) -> u64 {
        let left = (1 << self.log) - self.capacity % (1 << self.log);
        if self.chunks.len() > 1 { left } else { left.min(self.capacity.max(64)) }
    }

    /// Makes room for `states` more, at most [`Arena::step`], when there is none left.
    fn grow(&mut self, states: u64) {
        let words = states as usize * self.width;
        match self.chunks.last_mut() {
            Some(chunk) if !self.capacity.is_multiple_of(1 << self.log) => {
                chunk.reserve_exact(words);
            }
            _ => self.chunks.push(room_for(words)),
        }
        self.capacity += states;
    }

    fn bytes(&self) -> u64 {
        self.capacity * self.state_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;

    #[test]
    fn conforms() {
        conformance::exact(|shape| ExactStore::new(shape, None));
    }

    #[test]
    fn the_limit_is_kept_and_the_accepted_prefix_reported() {
        for (words, limit) in [(1, 1 << 16), (1, 3 << 20), (7, 1 << 20), (40, 1 << 18)] {
            let shape = Shape::of_bits(64 * words);
            let mut store = ExactStore::new(shape, Some(limit));
            let seen = conformance::fill_until_exhausted(&mut store, shape);
            assert_eq!(seen.0, Exhausted::Memory { limit });
            assert_eq!(seen.1, store.len());
            assert!(store.bytes() <= limit, "{} of {limit} bytes", store.bytes());
            // Not wasteful either: an index of at most 8 words per state beside the states.
            let least = limit / (8 * words as u64 + 64);
            assert!(store.len() >= least, "{} states in {limit} bytes of {words}", store.len());
        }
    }

    #[test]
    fn one_word_states_take_arena_and_index_only() {
        let shape = Shape::of_bits(40);
        let mut store = ExactStore::new(shape, None);
        conformance::fill(&mut store, shape, 1 << 20);
        assert!(store.bytes() as f64 / (store.len() as f64) < 8.0 + 8.0 / 0.37);
    }

    #[test]
    fn states_come_back_in_order() {
        let shape = Shape::of_bits(130);
        let mut store = ExactStore::new(shape, None);
        conformance::fill(&mut store, shape, 100_000);
        for (number, state) in store.states().enumerate() {
            assert_eq!(store.number(state), Some(number as u64));
        }
    }
}
