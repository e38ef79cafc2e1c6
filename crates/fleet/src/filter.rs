//! What a worker remembers of states that it need not ask about: a table of fixed size in which a
//! later state takes the place of an earlier one.
//!
//! Invariant, and it is the caller's: only states of batches that are done. They are compared in full,
//! so that nothing new is ever taken for known.

use crate::keys::Signature;
use ergodic_store::universal::mix;

/// A bounded set that forgets.
#[derive(Debug)]
pub(crate) struct Filter {
    words: usize,
    /// One less than the number of places, a power of two.
    mask: u64,
    keys: Vec<u64>,
    /// A few bits of the hash of what is in a place; 0 if nothing is. Most states that are not in the
    /// filter are told by these alone, which fit into the processor's cache where keys do not.
    tags: Vec<u32>,
}

/// Where a key would be in the filter, and what is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    place: u32,
    /// Whether the tag of the key and its first word are there.
    alike: bool,
}

impl Filter {
    /// A filter of about so many bytes, for keys of so many words.
    pub(crate) fn new(words: usize, bytes: usize) -> Filter {
        let each = words * 8 + 4;
        let places = (bytes / each).clamp(1, 1 << 31);
        // The largest power of two that fits.
        let places = 1_usize << places.ilog2();
        let (keys, tags) = (vec![0; places * words], vec![0; places]);
        Filter { words, mask: places as u64 - 1, keys, tags }
    }

    fn place(&self, signature: Signature) -> usize {
        // The keys of one keeper share the upper bits of their places, and tables the lower ones.
        (mix(signature.place) & self.mask) as usize
    }

    fn tag(signature: Signature) -> u32 {
        (signature.value >> 32) as u32 | 1
    }

    /// Looks at the place of a key. To be done for some keys before the first of them is compared: there
    /// is no branch here that would have to wait for memory, so the processor fetches them at the same time.
    pub(crate) fn spot(&self, key: &[u64], signature: Signature) -> Spot {
        let place = self.place(signature);
        let same_tag = self.tags[place] == Filter::tag(signature);
        let same_word = key.first() == self.keys.get(place * self.words);
        Spot { place: place as u32, alike: same_tag & same_word }
    }

    /// Whether the key of this spot is in the filter.
    pub(crate) fn knows(&self, key: &[u64], spot: Spot) -> bool {
        spot.alike && &self.keys[spot.place as usize * self.words..][..self.words] == key
    }

    /// Puts a key in.
    pub(crate) fn take(&mut self, key: &[u64], signature: Signature) {
        let place = self.place(signature);
        self.tags[place] = Filter::tag(signature);
        self.keys[place * self.words..][..self.words].copy_from_slice(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_forgets_and_never_invents() {
        let mut filter = Filter::new(2, 2 * 20);
        let sign = |place| Signature { place, value: 0 };
        assert!(
            !filter.knows(&[0, 0], filter.spot(&[0, 0], sign(0))),
            "a state of zeros is not there from the start"
        );
        for i in 0..100 {
            filter.take(&[i, i], sign(i));
            assert!(filter.knows(&[i, i], filter.spot(&[i, i], sign(i))));
            assert!(
                !filter.knows(&[i, i + 1], filter.spot(&[i, i + 1], sign(i))),
                "another state with the same hash"
            );
        }
        let known =
            (0..100).filter(|i| filter.knows(&[*i, *i], filter.spot(&[*i, *i], sign(*i)))).count();
        assert!(known <= 2, "two places");
    }
}
