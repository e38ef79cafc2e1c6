//! The states that one worker offered last: a filter before the shared table.
//!
//! Most successors are known, and most of the known ones were offered a moment ago: the rules of
//! independent processes reach the same state on several ways. A small direct-mapped table of whole
//! states, in the worker's own cache, tells these apart without a miss. It compares all words, so it
//! is exact: what it calls seen was put into it before.
//!
//! **Invariant:** who puts a state in sees to it that the state is marked, or calls
//! [`Recent::forget`].

/// States offered lately.
#[derive(Debug)]
pub(crate) struct Recent {
    /// The number of entries is two to this, less than 64.
    bits: u32,
    width: usize,
    /// Per entry the hash, made odd (zero: none), and the state.
    entries: Box<[u64]>,
}

impl Recent {
    /// A filter for states of `width` words that takes about `bytes` bytes.
    pub(crate) fn new(width: usize, bytes: usize) -> Recent {
        let bits = (bytes / (8 * (width + 1))).max(2).ilog2();
        Recent { bits, width, entries: vec![0; (width + 1) << bits].into_boxed_slice() }
    }

    /// Whether a state is in it; it is now.
    #[inline]
    pub(crate) fn seen(&mut self, hash: u64, state: &[u64]) -> bool {
        let at = (hash >> (64 - self.bits)) as usize * (self.width + 1);
        let entry = &mut self.entries[at..=at + self.width];
        let mut differs = entry[0] ^ (hash | 1);
        entry[0] = hash | 1;
        // Writes without asking: whether the state is there cannot be predicted.
        for (word, new) in entry[1..].iter_mut().zip(state) {
            differs |= *word ^ new;
            *word = *new;
        }
        differs == 0
    }

    /// Forgets all states.
    pub(crate) fn forget(&mut self) {
        self.entries.fill(0);
    }
}
