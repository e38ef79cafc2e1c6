//! The states that one worker offered last: a filter before the shared table.
//!
//! Most successors are known, and most of the known ones were offered a moment ago: the rules of
//! independent processes reach the same state on several ways. A small direct-mapped table of whole
//! states, in the worker's own cache, tells these apart without a miss. It compares all words, so it
//! is exact: what it calls seen was put into it before.
//!
//! **Invariant:** who puts a state in sees to it that the state is marked, or calls
//! [`Recent::forget`].

/// Bytes at first: for the search of a small model a filter of full size would be set up in vain.
const FIRST_BYTES: usize = 8 << 10;

/// States offered lately.
#[derive(Debug)]
pub(crate) struct Recent {
    /// The number of entries is two to this, less than 64, and at most two to the `most`.
    bits: u32,
    most: u32,
    width: usize,
    /// Per entry the hash, made odd (zero: none), and the state.
    entries: Box<[u64]>,
    /// States that may be put in before there are more entries.
    left: usize,
}

impl Recent {
    /// A filter for states of `width` words that takes about `bytes` bytes, once it was used enough.
    pub(crate) fn new(width: usize, bytes: usize) -> Recent {
        let bits = |bytes: usize| (bytes / (8 * (width + 1))).max(2).ilog2();
        let (first, most) = (bits(FIRST_BYTES.min(bytes)), bits(bytes));
        Recent { bits: first, most, width, entries: Box::default(), left: 0 }
    }

    /// Makes room for what will be put in now: about so many states.
    pub(crate) fn prepare(&mut self, states: usize) {
        if self.left < states && (self.bits < self.most || self.entries.is_empty()) {
            if !self.entries.is_empty() {
                self.bits = (self.bits + 2).min(self.most);
            }
            self.left = 2 << self.bits;
            self.entries = vec![0; (self.width + 1) << self.bits].into_boxed_slice();
        }
        self.left = self.left.saturating_sub(states);
    }

    /// Whether a state is in it; it is now. Needs [`Recent::prepare`] before.
    #[inline(always)] // where the length of states is known, the loop is unrolled
    pub(crate) fn seen(&mut self, hash: u64, state: &[u64]) -> bool {
        debug_assert_eq!(state.len(), self.width);
        let at = (hash >> (64 - self.bits)) as usize * (state.len() + 1);
        let entry = &mut self.entries[at..=at + state.len()];
        let mut differs = entry[0] ^ (hash | 1);
        entry[0] = hash | 1;
        // Writes without asking: whether the state is there cannot be predicted.
        for (word, new) in entry[1..].iter_mut().zip(state) {
            differs |= *word ^ new;
            *word = *new;
        }
        differs == 0
    }

    /// Forgets a state that may be in it, and with it perhaps another one.
    pub(crate) fn forget(&mut self, hash: u64) {
        let at = (hash >> (64 - self.bits)) as usize * (self.width + 1);
        self.entries[at] = 0;
    }
}
