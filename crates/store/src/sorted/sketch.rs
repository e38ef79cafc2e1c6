//! What the runs surely do not have: a Bloom filter in memory over all of them.
//!
//! A search from disk asks mostly for states that are new, if what was found lately is filtered well: then
//! every run is read for nothing, and where levels are small it is read nearly whole for each of them. The
//! sketch answers for such states without reading. It has two bits or more for each state that was admitted, in the
//! memory that it was given; when there are fewer it tells too little and is given up, and the runs are asked for everything.
//!
//! All bits of a state stand in one line of the cache, so that a look-up waits for memory once (Putze, Sanders and
//! Singler, *Cache-, hash- and space-efficient Bloom filters*, 2007).
//!
//! One sketch for all runs, because what counts is whether any of them has the state; so merging does not
//! touch it. It is not saved: who opens an archive again fills it from the runs.

use crate::hash::rehash;
use crate::memory::{prefetch, zeroed_table};

/// Words of a line.
const LINE: usize = 8;
/// Bits of a state. With eight bits of memory per state one new state in thirty seems known, with four one in seven.
const BITS: u32 = 3;
/// With fewer bits of memory per state every second state seems known.
const LEAST_BITS: u64 = 2;
/// States whose lines are on their way together.
const GROUP: usize = 32;

/// The filter.
pub(super) struct Sketch {
    words: Vec<u64>,
    states: u64,
}

impl Sketch {
    /// An empty one of at most so many bytes; `None` if they are too few for anything.
    pub fn new(bytes: u64) -> Option<Sketch> {
        let lines = usize::try_from(bytes / (8 * LINE as u64)).ok().filter(|lines| *lines > 0)?;
        let words = lines.checked_mul(LINE)?;
        Vec::<u64>::new().try_reserve_exact(words).ok()?;
        Some(Sketch { words: zeroed_table(words), states: 0 })
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
        8 * self.words.len() as u64
    }

    /// Whether it tells anything if it has so many states more.
    pub fn has_room(&self, more: u64) -> bool {
        (self.states + more).saturating_mul(LEAST_BITS) <= 64 * self.words.len() as u64
    }

    /// The first word of the line of a state.
    #[inline]
    fn line(&self, hash: u64) -> usize {
        let lines = (self.words.len() / LINE) as u128;
        ((u128::from(hash) * lines) >> 64) as usize * LINE
    }

    /// Bits of a state in its line: words and masks.
    #[inline]
    fn bits(hash: u64) -> impl Iterator<Item = (usize, u64)> {
        // The line is chosen by the upper bits of the hash.
        let bits = rehash(hash);
        (0..BITS).map(move |i| {
            let bit = (bits >> (9 * i)) as usize % (64 * LINE);
            (bit / 64, 1 << (bit % 64))
        })
    }

    /// For each of the hashes whether its state may be there.
    pub fn ask(&self, hashes: &[u64], may_be: &mut Vec<bool>) {
        may_be.clear();
        for group in hashes.chunks(GROUP) {
            group.iter().for_each(|hash| prefetch(&self.words[self.line(*hash)]));
            may_be.extend(group.iter().map(|hash| {
                let line = self.line(*hash);
                Sketch::bits(*hash).all(|(word, mask)| self.words[line + word] & mask != 0)
            }));
        }
    }

    /// Notes states by their hashes.
    pub fn put(&mut self, hashes: &[u64]) {
        for group in hashes.chunks(GROUP) {
            group.iter().for_each(|hash| prefetch(&self.words[self.line(*hash)]));
            for hash in group {
                let line = self.line(*hash);
                Sketch::bits(*hash).for_each(|(word, mask)| self.words[line + word] |= mask);
            }
        }
        self.states += hashes.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::hash_word;

    #[test]
    fn what_was_put_in_is_never_denied_and_most_else_is() {
        let mut sketch = Sketch::new(10_000).unwrap();
        assert!(sketch.bytes() <= 10_000);
        let (inside, outside): (Vec<u64>, Vec<u64>) =
            ((0..10_000).map(hash_word).collect(), (10_000..60_000).map(hash_word).collect());
        let mut answers = Vec::new();
        sketch.ask(&inside, &mut answers);
        assert!(answers.iter().all(|may_be| !may_be));
        sketch.put(&inside);
        sketch.ask(&inside, &mut answers);
        assert!(answers.len() == inside.len() && answers.iter().all(|may_be| *may_be));
        sketch.ask(&outside, &mut answers);
        let wrong = answers.iter().filter(|may_be| **may_be).count();
        // Eight bits per state: 3.1 % with one large line, a little more with small ones.
        assert!((1_000..2_500).contains(&wrong), "{wrong} of {}", outside.len());
        assert!(sketch.has_room(29_000) && !sketch.has_room(31_000));
    }

    #[test]
    fn too_little_memory_is_none() {
        assert!(Sketch::new(0).is_none() && Sketch::new(63).is_none());
        assert!(Sketch::new(u64::MAX).is_none());
        assert_eq!(Sketch::new(64).map(|sketch| sketch.bytes()), Some(64));
    }
}
