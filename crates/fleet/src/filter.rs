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
    used: Vec<bool>,
}

impl Filter {
    /// A filter of about so many bytes, for keys of so many words.
    pub(crate) fn new(words: usize, bytes: usize) -> Filter {
        let each = words * 8 + 1;
        let places = (bytes / each).max(1);
        // The largest power of two that fits.
        let places = 1_usize << places.ilog2();
        let (keys, used) = (vec![0; places * words], vec![false; places]);
        Filter { words, mask: places as u64 - 1, keys, used }
    }

    fn place(&self, signature: Signature) -> usize {
        // The keys of one keeper share the upper bits of their places, and tables the lower ones.
        (mix(signature.place) & self.mask) as usize
    }

    /// Whether a key is in it.
    pub(crate) fn knows(&self, key: &[u64], signature: Signature) -> bool {
        let place = self.place(signature);
        self.used[place] && &self.keys[place * self.words..][..self.words] == key
    }

    /// Puts a key in.
    pub(crate) fn take(&mut self, key: &[u64], signature: Signature) {
        let place = self.place(signature);
        self.used[place] = true;
        self.keys[place * self.words..][..self.words].copy_from_slice(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_forgets_and_never_invents() {
        let mut filter = Filter::new(2, 2 * 17);
        let sign = |place| Signature { place, value: 0 };
        assert!(!filter.knows(&[0, 0], sign(0)), "a state of zeros is not there from the start");
        for i in 0..100 {
            filter.take(&[i, i], sign(i));
            assert!(filter.knows(&[i, i], sign(i)));
            assert!(!filter.knows(&[i, i + 1], sign(i)), "another state with the same hash");
        }
        let known = (0..100).filter(|i| filter.knows(&[*i, *i], sign(*i))).count();
        assert!(known <= 2, "two places");
    }
}
