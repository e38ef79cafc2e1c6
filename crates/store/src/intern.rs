//! Numbers for words: equal words have equal references of 32 bits, different words different ones.
//!
//! Two parts, as in the exact store. The *values* stand in the order of their references; the
//! *index* is a table of lines whose slots hold 32 bits of the hash and the reference. References
//! never change, so what refers to a word survives all growth: only the index is built anew.
//! References are permits of the quota plus one; zero is none.
//!
//! A worker that finds no word writes it under a reference of its own and then tries to enter that
//! reference. If another worker was faster with the same word, the reference is kept for the next.

use crate::hash::hash_word;
use crate::memory::{Lines, zeroed_atomics};
use crate::quota::{Permits, Quota};
use crate::slots::{Claim, LINE, claim_reference};
use crate::sync::{AtomicU64, Ordering};
use crate::table::{Sizing, Walk, larger};
use ergodic_system::Exhausted;

/// References there can be.
pub(crate) const MAX_REFERENCES: u64 = u32::MAX as u64 - 1;

/// Words with references.
#[derive(Debug)]
pub(crate) struct Interner {
    index: Lines,
    /// The word of each reference; that of zero is not used.
    values: Vec<AtomicU64>,
    quota: Quota,
    sizing: Sizing,
    /// References there may be.
    most: u64,
}

impl Interner {
    pub(crate) fn new(sizing: Sizing, most: u64) -> Interner {
        let index = Lines::new(sizing.first);
        let room = sizing.room(index.count(), LINE).min(most);
        let values = zeroed_atomics(room as usize + 1);
        Interner { index, values, quota: Quota::new(0, room), sizing, most }
    }

    /// The reference of a word, given out now if there is none; `None` if there is no room.
    #[inline]
    pub(crate) fn reference(&self, word: u64, permits: &mut Permits) -> Option<u32> {
        let hash = hash_word(word);
        // Most words are known: a permit is taken and the word written only if they must be.
        match self.claim(hash, word, None) {
            (Claim::Known, reference) => return Some(reference),
            _ if !self.quota.ensure(permits) => return None,
            _ => {}
        }
        let mine = permits.number() as u32 + 1;
        self.values[mine as usize].store(word, Ordering::Relaxed);
        let (claim, reference) = self.claim(hash, word, Some(mine));
        if claim == Claim::Inserted {
            permits.spend(1);
        }
        Some(reference)
    }

    /// The reference of a word that has one.
    pub(crate) fn known(&self, word: u64) -> Option<u32> {
        let (claim, reference) = self.claim(hash_word(word), word, None);
        (claim == Claim::Known).then_some(reference)
    }

    #[inline]
    fn claim(&self, hash: u64, word: u64, mine: Option<u32>) -> (Claim, u32) {
        let mut walk = Walk::new(hash);
        loop {
            let line = self.index.line(walk.line(&self.index));
            let tag = hash as u32;
            let answer = claim_reference(line, walk.start(), tag, word, &self.values, mine);
            if answer.0 != Claim::Crowded {
                return answer;
            }
            walk.next();
        }
    }

    /// Whether no further reference can be given out before it has grown.
    pub(crate) fn is_full(&self) -> bool {
        self.quota.taken() >= self.quota.limit()
    }

    /// Grows, to at most `bytes` bytes.
    pub(crate) fn grow(&mut self, bytes: u64) -> Result<(), Exhausted> {
        if self.quota.limit() >= self.most {
            let most = self.most;
            return Err(Exhausted::Other(format!(
                "the tree store refers to at most {most} different parts of states"
            )));
        }
        // A line of the index and the values for its share of slots.
        let line_bytes = (64 + LINE * 8 * self.sizing.load / 16) as u64;
        let most_lines = usize::try_from(bytes / line_bytes).unwrap_or(usize::MAX);
        let wanted = self.quota.taken() + 1;
        let room = |lines| self.sizing.room(lines, LINE);
        match larger(self.index.count(), most_lines, wanted, room) {
            Some(lines) => self.move_to(lines),
            None => return Err(Exhausted::Memory { limit: bytes }),
        }
        Ok(())
    }

    fn move_to(&mut self, lines: usize) {
        let room = self.sizing.room(lines, LINE).min(self.most);
        let values = zeroed_atomics(room as usize + 1);
        for (new, old) in values.iter().zip(&self.values) {
            new.store(old.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.values = values;
        self.quota = Quota::new(self.quota.taken(), room);
        let old = std::mem::replace(&mut self.index, Lines::new(lines));
        old.drain(|line| {
            for entry in line.into_iter().filter(|entry| *entry != 0) {
                let word = self.values[entry as u32 as usize].load(Ordering::Relaxed);
                self.claim(hash_word(word), word, Some(entry as u32));
            }
        });
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.index.bytes() + self.values.len() as u64 * 8
    }
}
