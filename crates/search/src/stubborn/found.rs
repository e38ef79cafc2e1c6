//! Which states were found in levels that were begun: what keeps stubborn sets from putting something off
//! for ever.
//!
//! A set of hashes in open addresses, each with a mark of the level in which it was noted. To take an old
//! state for a new one would be wrong; to take a new one for an old one costs the reduction of one state,
//! and with it that of all that follows. So 48 bits of a hash are kept, what finds no room near its place
//! waits for the end of the level, when the table grows, and when it may not grow any more, everything
//! counts as old.
//!
//! What it says about levels that were begun does not change until the next one is, so what is chosen does
//! not depend on the number of threads. It goes into checkpoints whole.

use ergodic_system::records::{Put, Record, SENSELESS, parse, put_head, put_table, take_table};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Which states were found.
#[derive(Debug)]
pub(super) struct Found {
    /// For each place nothing, or the upper bits of a hash and a mark; a power of two, or none at all.
    places: Vec<AtomicU64>,
    /// States of this level that found no room.
    spilled: Mutex<Vec<u64>>,
    /// States of the levels so far, and places at which the table no longer grows.
    states: u64,
    most: u64,
    /// The mark of what is noted now. What has another one was found in a level that was begun.
    next: u64,
    /// Places that are looked at for a state.
    reach: usize,
    /// There was no room: everything counts as old.
    full: bool,
}

/// Bits of an entry that are the mark; the others are the upper ones of the hash.
const MARK_BITS: u32 = 16;
const MARKS: u64 = (1 << MARK_BITS) - 1;
/// What was found long ago has this mark.
const LONG_AGO: u64 = 1;
/// Places at first, in terms of those before, and at most.
const FIRST_PLACES: u64 = 1 << 11;
const MORE_PLACES: u64 = 4;
const MOST_PLACES: u64 = 1 << 28;
/// So many places stay in a cache of the processor.
const NEAR_PLACES: usize = 1 << 15;
/// Places that are tried while others note states, too.
const NEAR: usize = 64;

/// What it is called in a checkpoint.
const KIND: &str = "stubborn";

impl Found {
    /// For a search level by level, with so many bytes for the table. Without `needed` nothing is
    /// noted, and everything seems new.
    pub(super) fn by_level(needed: bool, bytes: u64) -> Found {
        let most = 1 << (bytes / 8).clamp(FIRST_PLACES, MOST_PLACES).ilog2();
        Found {
            places: if needed { table(FIRST_PLACES) } else { Vec::new() },
            spilled: Mutex::default(),
            states: 0,
            most,
            next: LONG_AGO + 1,
            reach: NEAR,
            full: false,
        }
    }

    /// Whether anything is noted.
    pub(super) fn notes(&self) -> bool {
        !self.places.is_empty()
    }

    /// Whether there was no room for what is to be noted.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// The places of a state, the nearest first.
    #[inline]
    fn places(&self, hash: u64, count: usize) -> impl Iterator<Item = &AtomicU64> {
        let last = self.places.len() - 1;
        // The upper bits, because an entry has these: so it finds its place in a larger table.
        let first = (hash >> MARK_BITS) as usize;
        (0..count).map(move |i| &self.places[(first + i) & last])
    }

    /// Whether questions wait for memory.
    pub(super) fn is_far(&self) -> bool {
        self.places.len() > NEAR_PLACES
    }

    /// Fetches the places of states, all at the same time.
    pub(super) fn fetch(&self, hashes: &[u64]) {
        let last = self.places.len() - 1;
        let place = |hash: &u64| &self.places[(*hash >> MARK_BITS) as usize & last];
        let fetched = hashes.iter().fold(0, |all, hash| all | place(hash).load(Ordering::Relaxed));
        std::hint::black_box(fetched);
    }

    /// Whether a state was found in a level that was begun.
    #[inline]
    pub(super) fn is_old(&self, hash: u64) -> bool {
        for place in self.places(hash, self.reach) {
            let entry = place.load(Ordering::Relaxed);
            if (entry ^ hash) >> MARK_BITS == 0 && entry != 0 {
                return entry & MARKS != self.next || self.full;
            }
            if entry == 0 {
                break;
            }
        }
        self.full
    }

    /// Notes that a state was found, for the level after this one.
    pub(super) fn note(&self, hash: u64) {
        if self.notes() && !self.full && self.put(hash & !MARKS | self.next, self.reach).is_none() {
            self.spilled.lock().unwrap_or_else(PoisonError::into_inner).push(hash);
        }
    }

    /// Puts an entry where there is room, unless its state is there already. How far from its place.
    fn put(&self, entry: u64, reach: usize) -> Option<usize> {
        self.places(entry, reach).position(|place| {
            let is_there = |old: u64| (old ^ entry) >> MARK_BITS == 0;
            match place.load(Ordering::Relaxed) {
                0 => place
                    .compare_exchange(0, entry, Ordering::Relaxed, Ordering::Relaxed)
                    .map_or_else(is_there, |_| true),
                old => is_there(old),
            }
        })
    }

    /// What was noted counts as found. Makes the table larger when it is half full.
    pub(super) fn begin_level(&mut self, states: u64) {
        self.states += states;
        let mut spilled =
            std::mem::take(self.spilled.get_mut().unwrap_or_else(PoisonError::into_inner));
        spilled.iter_mut().for_each(|hash| *hash = *hash & !MARKS | LONG_AGO);
        let mut places = self.places.len() as u64;
        // (Stores that omit states count fewer than were noted: then what has spilled tells.)
        while places < self.most && (self.states * 2 > places || spilled.len() as u64 * 8 > places)
        {
            places = (places * MORE_PLACES).min(self.most);
        }
        if places > self.places.len() as u64 {
            let old = std::mem::replace(&mut self.places, table(places));
            self.reach = NEAR;
            self.take_in(old.into_iter().map(AtomicU64::into_inner).filter(|entry| *entry != 0));
        }
        self.take_in(spilled.into_iter());
        self.full |= self.states > places / 4 * 3;
        self.next += 1;
        if self.next > MARKS {
            self.forget_marks();
        }
    }

    /// Puts entries in, however far from their places.
    fn take_in(&mut self, entries: impl Iterator<Item = u64>) {
        for entry in entries {
            match self.put(entry, self.places.len()) {
                Some(far) => self.reach = self.reach.max(far + 1),
                None => self.full = true,
            }
        }
    }

    /// Begins with the first mark again.
    fn forget_marks(&mut self) {
        for entry in self.places.iter_mut().map(AtomicU64::get_mut).filter(|entry| **entry != 0) {
            *entry = *entry & !MARKS | LONG_AGO;
        }
        self.next = LONG_AGO + 1;
    }

    /// Hands out everything, and two numbers of whoever asks.
    pub(super) fn dump(&self, numbers: [u64; 2], put: &mut Put<'_>) -> Result<(), String> {
        let spilled = self.spilled.lock().unwrap_or_else(PoisonError::into_inner);
        let [first, second] = numbers;
        let sizes = [self.places.len() as u64, spilled.len() as u64];
        let own = [self.states, self.most, self.next, self.reach as u64, self.full.into()];
        put_head(KIND, &[&[first, second][..], &sizes, &own].concat(), put)?;
        put_table(0, self.places.len(), |at| self.places[at].load(Ordering::Relaxed), put)?;
        put_table(1, spilled.len(), |at| spilled[at], put)
    }

    /// Takes a record back; gives the two numbers, if they are in it.
    pub(super) fn restore(&mut self, record: &[u64]) -> Result<Option<[u64; 2]>, String> {
        let senseless = || SENSELESS.to_string();
        match parse(KIND, record)? {
            Record::Head(numbers) => {
                let &[first, second, places, spilled, states, most, next, reach, full] = numbers
                else {
                    return Err(senseless());
                };
                let sound = places.is_power_of_two() && places <= most && most <= MOST_PLACES;
                let as_many = (places == 0) != self.notes() && (places == 0 || sound);
                let in_reach = reach >= NEAR as u64 && reach <= places.max(NEAR as u64);
                let marked = (LONG_AGO + 1..=MARKS).contains(&next);
                if !as_many || !in_reach || !marked || spilled > MOST_PLACES {
                    return Err(senseless());
                }
                let places = if places == 0 { Vec::new() } else { table(places) };
                let spilled = Mutex::new(vec![0; spilled as usize]);
                let (reach, full) = (reach as usize, full != 0);
                *self = Found { places, spilled, states, most, next, reach, full };
                Ok(Some([first, second]))
            }
            Record::Table(0, runs) => {
                let places = &self.places;
                take_table(runs, places.len(), |at, entry| {
                    places[at].store(entry, Ordering::Relaxed);
                    true
                })?;
                Ok(None)
            }
            Record::Table(_, runs) => {
                let spilled = self.spilled.get_mut().unwrap_or_else(PoisonError::into_inner);
                let len = spilled.len();
                take_table(runs, len, |at, hash| {
                    spilled[at] = hash;
                    true
                })?;
                Ok(None)
            }
        }
    }
}

fn table(places: u64) -> Vec<AtomicU64> {
    (0..places).map(|_| AtomicU64::new(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Hashes that differ.
    fn hash(i: u64) -> u64 {
        crate::sleep::hash(&[i, 7])
    }

    #[test]
    fn what_was_noted_is_old_from_the_next_level_on() {
        let mut found = Found::by_level(true, 1 << 26);
        let mut old = HashSet::new();
        let mut next = 0;
        // The table is too small for the states of a level: some wait for its end.
        for states in [1, 10, 300, 5000, 40_000, 7, 200_000, 1] {
            let level: Vec<u64> = (next..next + states).map(hash).collect();
            level.iter().for_each(|hash| found.note(*hash));
            assert!(level.iter().all(|hash| !found.is_old(*hash)), "they are of this level");
            // Noted once more, old ones stay old.
            old.iter().take(50).for_each(|hash| found.note(*hash));
            next += states;
            found.begin_level(states);
            old.extend(level);
            assert!(old.iter().all(|hash| found.is_old(*hash)));
            assert!((next..next + 1000).all(|i| !found.is_old(hash(i))), "hardly any share a hash");
        }
        assert!(!found.is_full());
    }

    #[test]
    fn marks_begin_again() {
        let mut found = Found::by_level(true, 1 << 26);
        for i in 0..3 * MARKS {
            found.note(hash(i));
            found.begin_level(1);
            assert!(found.is_old(hash(i)) && found.is_old(hash(i / 2)));
            assert!(!found.is_old(hash(i + 1)));
        }
    }

    #[test]
    fn without_room_everything_is_old() {
        for states in [1_000, 2_000, 100_000] {
            let mut found = Found::by_level(true, 1 << 14);
            (0..states).for_each(|i| found.note(hash(i)));
            found.begin_level(states);
            assert_eq!(found.is_full(), states > 1_536);
            assert!((0..states).all(|i| found.is_old(hash(i))));
            assert_eq!(found.is_old(hash(states)), found.is_full());
        }
        // A store that omits states does not count them.
        let mut found = Found::by_level(true, 1 << 14);
        (0..9_000).for_each(|i| found.note(hash(i)));
        found.begin_level(1);
        assert!(found.is_full() && (0..9_000).all(|i| found.is_old(hash(i))));
    }
}
