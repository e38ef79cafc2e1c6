//! The offered states in sorted order, range by range.
//!
//! The states stay where they are; what is sorted are entries of a word of the state and its place.
//! Entries are sorted by the first word; those with equal words then by the next word, and so on, so
//! that most comparisons need no state. Ranges are bounded by states of a sample, so that ranges are
//! of about equal size whatever the states look like; each is selected and sorted by one worker, and
//! only as many as fit into the memory for it are in work at a time.

use super::code::{Key, Narrow, Wide};
use crate::signatures::Signer;
use ergodic_system::Block;

/// Places sampled for each range.
const SAMPLES: usize = 128;
/// Groups of equal words up to this size are sorted by whole states.
const SMALL: usize = 24;
/// And so are groups that are equal in so many words: recursion must end.
const DEEP: usize = 512;

/// A word of a state and, in the low half, its place: block and position.
pub(super) type Entry = u128;

/// Block and position of an entry.
pub(super) fn place(entry: Entry) -> (u32, u32) {
    ((entry >> 32) as u32, entry as u32)
}

/// The states that are asked for.
#[derive(Clone, Copy)]
pub(super) struct Offered<'a> {
    pub blocks: &'a [Block<'a>],
    /// If the keys are not the states themselves.
    pub signer: Option<&'a Signer>,
}

/// Keys that can be made of offered states.
pub(super) trait Offer: Key {
    /// The key of a state as a target.
    fn of<'a>(state: &'a [u64], signer: Option<&Signer>) -> Self::Target<'a>;
}

impl Offer for Narrow {
    #[inline]
    fn of(state: &[u64], signer: Option<&Signer>) -> (u64, u64) {
        match signer {
            None => Narrow::target(state),
            Some(signer) => signer.pair(state),
        }
    }
}

impl Offer for Wide {
    /// Signatures are narrow.
    #[inline]
    fn of<'a>(state: &'a [u64], _: Option<&Signer>) -> &'a [u64] {
        state
    }
}

impl<'a> Offered<'a> {
    /// Number of states.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(Block::len).sum()
    }

    /// The key of the state of an entry.
    #[inline]
    pub fn target<K: Offer>(&self, entry: Entry) -> K::Target<'a> {
        let (block, at) = place(entry);
        K::of(self.blocks[block as usize].state(at as usize), self.signer)
    }

    fn word(&self, entry: Entry, word: usize) -> u64 {
        let (block, at) = place(entry);
        let state = self.blocks[block as usize].state(at as usize);
        match self.signer {
            None => state.get(word).copied().unwrap_or(0),
            Some(signer) => {
                let pair = signer.pair(state);
                if word == 0 { pair.0 } else { pair.1 }
            }
        }
    }

    /// The states that divide all into `ranges` of about equal size, ascending.
    pub fn splitters<K: Offer>(&self, ranges: usize) -> Vec<K::Target<'a>> {
        let (total, wanted) = (self.len(), ranges * SAMPLES);
        let step = (total / wanted.max(1)).max(1);
        let mut samples = Vec::new();
        let (mut next, mut before) = (step / 2, 0);
        for block in self.blocks {
            while next < before + block.len() {
                samples.push(K::of(block.state(next - before), self.signer));
                next += step;
            }
            before += block.len();
        }
        samples.sort_unstable();
        (1..ranges).filter_map(|i| samples.get(i * samples.len() / ranges).copied()).collect()
    }

    /// The entries from `low` on and below `high`, sorted.
    pub fn sorted<K: Offer>(
        &self,
        low: Option<K::Target<'_>>,
        high: Option<K::Target<'_>>,
        expected: usize,
        words: usize,
    ) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::with_capacity(expected);
        for (b, block) in self.blocks.iter().enumerate() {
            for i in 0..block.len() {
                let target = K::of(block.state(i), self.signer);
                let from_low = low.is_none_or(|low| !K::less(target, low));
                if from_low && high.is_none_or(|high| K::less(target, high)) {
                    let word = u128::from(K::first_word(target));
                    entries.push(word << 64 | (b as u128) << 32 | i as u128);
                }
            }
        }
        self.sort_by_word::<K>(&mut entries, 0, words);
        entries
    }

    /// Sorts entries of states that are equal before word `word`, which is in the entries.
    fn sort_by_word<K: Offer>(&self, entries: &mut [Entry], word: usize, words: usize) {
        entries.sort_unstable();
        for group in entries.chunk_by_mut(|a, b| a >> 64 == b >> 64) {
            if group.len() > 1 && word + 1 < words {
                self.sort::<K>(group, word + 1, words);
            }
        }
    }

    /// Sorts entries of states that are equal before word `word`.
    fn sort<K: Offer>(&self, entries: &mut [Entry], mut word: usize, words: usize) {
        if entries.len() <= SMALL || word > DEEP {
            entries.sort_unstable_by_key(|entry| (self.target::<K>(*entry), place(*entry)));
            return;
        }
        // Words that do not differ tell nothing.
        while word < words {
            let mut differ = 0;
            let first = self.word(entries[0], word);
            for entry in &mut *entries {
                let key = self.word(*entry, word);
                differ |= key ^ first;
                *entry = u128::from(key) << 64 | *entry & u128::from(u64::MAX);
            }
            if differ != 0 {
                break;
            }
            word += 1;
        }
        if word < words {
            self.sort_by_word::<K>(entries, word, words);
        }
    }
}
