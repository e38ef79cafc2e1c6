//! Numbers for keys of one or two words: equal keys have equal references of 32 bits, different keys
//! different ones.
//!
//! One table of lines that hold keys and references side by side (`cells.rs`). References never
//! change, so what refers to a key survives all growth. They are permits of the quota plus one; zero
//! is none. Nobody asks for the key of a reference while workers are at work, so there is no way back
//! but to list all ([`Interner::keys`]).
//!
//! A key takes 12.8 or 21.3 bytes, divided by the load of the table.

use crate::cells::{Cell, MAX_REFERENCE, entries, find, per_line, put, take};
use crate::growth::grow;
use crate::memory::Lines;
use crate::quota::{Permits, Quota};
use crate::table::{Sizing, Walk, Wanted, enter, is_tiny};
use ergodic_system::Exhausted;

/// References there can be.
pub(crate) const MAX_REFERENCES: u64 = MAX_REFERENCE as u64;

/// Keys of `K` words with references.
#[derive(Debug)]
pub(crate) struct Interner<const K: usize> {
    lines: Lines,
    quota: Quota,
    sizing: Sizing,
    /// References there may be.
    most: u64,
}

impl<const K: usize> Interner<K> {
    pub(crate) fn new(sizing: Sizing, most: u64) -> Interner<K> {
        let lines = Lines::new(sizing.first);
        let room = Self::room(sizing, lines.count()).min(most);
        Interner { lines, quota: Quota::new(0, room), sizing, most }
    }

    /// Keys for which `lines` lines have room.
    fn room(sizing: Sizing, lines: usize) -> u64 {
        Sizing { load: sizing.load - 1, ..sizing }.room(lines, per_line(K))
    }

    /// Starts to load the line of a key.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        self.lines.prefetch(Walk::new(hash).line(&self.lines));
    }

    /// The reference of a key, given out now if there is none; `None` if there is no room.
    #[inline(always)] // or every part of a state pays for a call
    pub(crate) fn reference(&self, hash: u64, key: [u64; K], permits: &mut Permits) -> Option<u32> {
        let mut walk = Walk::new(hash);
        loop {
            let line = self.lines.line(walk.line(&self.lines));
            match find(line, key) {
                Cell::Known(reference) => return Some(reference),
                Cell::Crowded => walk.next(),
                Cell::Free(slot) => {
                    if !self.quota.ensure(permits) {
                        return None;
                    }
                    let mine = permits.number() as u32 + 1;
                    if take(line, slot, key, mine) {
                        permits.spend(1);
                        return Some(mine);
                    }
                }
            }
        }
    }

    /// The reference of a key that has one.
    pub(crate) fn known(&self, hash: u64, key: [u64; K]) -> Option<u32> {
        let mut walk = Walk::new(hash);
        loop {
            match find(self.lines.line(walk.line(&self.lines)), key) {
                Cell::Known(reference) => return Some(reference),
                Cell::Free(_) => return None,
                Cell::Crowded => walk.next(),
            }
        }
    }

    /// Whether no further reference can be given out before it has grown.
    pub(crate) fn is_full(&self) -> bool {
        self.quota.taken() >= self.quota.limit()
    }

    /// Whether no further reference can be given out at all.
    pub(crate) fn is_used_up(&self) -> bool {
        self.quota.taken() >= self.most
    }

    /// Whether little room is left in a table that can grow, so that it is better to do it now than to stop for it later.
    /// (For a table of some KB that would be half of its memory for nothing.)
    pub(crate) fn is_nearly_full(&self) -> bool {
        let limit = self.quota.limit();
        let nearly = self.quota.taken() >= limit - limit / 8 && limit < self.most;
        nearly && !is_tiny(self.lines.count())
    }

    /// References that were given out, or may be any moment.
    pub(crate) fn taken(&self) -> u64 {
        self.quota.taken()
    }

    /// From now on there may be so many references.
    pub(crate) fn allow(&mut self, most: u64) {
        self.most = most;
        let room = Self::room(self.sizing, self.lines.count()).min(most);
        self.quota = Quota::new(self.quota.taken(), room);
    }

    /// The keys by their references; in place zero there is nothing.
    pub(crate) fn keys(&self) -> Vec<[u64; K]> {
        let mut keys = vec![[0; K]; self.quota.taken() as usize + 1];
        for i in 0..self.lines.count() {
            for (key, reference) in entries::<K>(self.lines.words(i)) {
                let place = reference as usize;
                // Workers may hold permits that count as taken only later.
                if place >= keys.len() {
                    keys.resize(place + 1, [0; K]);
                }
                keys[place] = key;
            }
        }
        keys
    }

    /// Grows, to at most `bytes` bytes, with so many threads; `foreseen` times as many references may be all that is ever
    /// asked for. `hash` is that of all questions.
    pub(crate) fn grow(
        &mut self,
        bytes: u64,
        foreseen: Option<f64>,
        threads: usize,
        hash: impl Fn(&[u64; K]) -> u64 + Sync,
    ) -> Result<(), Exhausted> {
        if self.quota.limit() >= self.most {
            let most = self.most;
            return Err(Exhausted::Other(format!(
                "the tree store refers to at most {most} different parts of states"
            )));
        }
        let most_lines = usize::try_from(bytes / 64).unwrap_or(usize::MAX);
        let room = |lines| Self::room(self.sizing, lines);
        let taken = self.quota.taken();
        let foreseen = foreseen.map(|times| (taken as f64 * times) as u64);
        let wanted = Wanted { least: taken + 1, foreseen };
        let Some(lines) = self.sizing.larger(self.lines.count(), most_lines, wanted, room) else {
            return Err(Exhausted::Memory { limit: bytes });
        };
        let room = room(lines).min(self.most);
        let put_off = grow(&mut self.lines, lines, threads, |table, old, put_off| {
            for (key, reference) in entries::<K>(old.words) {
                if !enter(table, old.own, hash(&key), |line, _| put(line, key, reference)) {
                    put_off.push((key, reference));
                }
            }
        });
        let Some(put_off) = put_off else { return Err(Exhausted::Memory { limit: bytes }) };
        for (key, reference) in put_off {
            enter(&self.lines, &(0..lines), hash(&key), |line, _| put(line, key, reference));
        }
        self.quota = Quota::new(self.quota.taken(), room);
        Ok(())
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.lines.bytes()
    }
}
