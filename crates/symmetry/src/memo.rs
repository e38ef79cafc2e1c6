//! Recently canonised states: many successors are generated again and again, from neighbours in the
//! same level, and the canonical form of such a one need not be computed twice.
//!
//! A direct-mapped table of (state, canonical form), compared in full: it saves time and decides
//! nothing. Measured, it answers 20 % of the successors of mcslock2, 39 % of ldash, 58 % of eadash and
//! 79 % of adash. Where sorting is all there is to do there is no table: it answers 40 % of the successors
//! of n_peterson, and its cache misses cost more than sorting them. A table of a quarter of the size
//! answers a little less and was faster for some models and slower for as many.

use ergodic_system::renaming::{pack, packed_words, unpack};

/// Memory of one table, at most.
const BYTES: usize = 2 << 20;

/// And at first: pages that a small search hardly uses take it longer than what they answer. (Of sci, 18,193 states,
/// a third of the time in two threads went into them.)
const FIRST: usize = 1 << 15;

/// A table becomes larger when so many answers per entry were computed since it has its size.
const PATIENCE: usize = 8;

/// A table of recent answers.
#[derive(Clone, Debug)]
pub(crate) struct Memo {
    width: usize,
    /// Entries of two states each, and in a table of permutations the places of the points; an entry of
    /// zeros is empty or says that the zero state is canonical, so it is never consulted for the zero state.
    entries: Vec<u64>,
    /// Words of an entry.
    entry: usize,
    shift: u32,
    /// Answers that are computed before the table becomes larger.
    patience: usize,
    /// Points of a permutation.
    points: usize,
}

impl Memo {
    /// An empty table for states of this many words.
    pub(crate) fn new(width: usize) -> Memo {
        Memo::of(width, 2 * width, 0)
    }

    /// An empty table that also keeps permutations of so many points; it is asked by [`Memo::apply_by`].
    pub(crate) fn with_permutations(width: usize, points: usize) -> Memo {
        Memo::of(width, 2 * width + packed_words(points), points)
    }

    fn of(width: usize, entry: usize, points: usize) -> Memo {
        let count = (FIRST / (8 * entry)).max(16).ilog2();
        let mut memo = Memo { width, entries: Vec::new(), entry, shift: 0, patience: 0, points };
        memo.resize(count);
        memo
    }

    /// Makes room for so many entries, a power of two; they are empty.
    fn resize(&mut self, count: u32) {
        self.entries = vec![0; self.entry << count];
        self.shift = 64 - count;
        let is_full = self.entries.len() * 16 > BYTES;
        self.patience = if is_full { usize::MAX } else { PATIENCE << count };
    }

    /// Notes that an answer was computed.
    #[inline]
    fn note_computed(&mut self) {
        self.patience -= 1;
        if self.patience == 0 {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.entries);
        self.resize(64 - self.shift + 1);
        let width = self.width;
        let is_taken = |entry: &&[u64]| entry[..width].iter().any(|word| *word != 0);
        for entry in old.chunks_exact(self.entry).filter(is_taken) {
            let at = self.place(&entry[..width]);
            self.entries[at..at + self.entry].copy_from_slice(entry);
        }
    }

    /// Where the entry of a state stands.
    #[inline]
    fn place(&self, state: &[u64]) -> usize {
        (hash(state) >> self.shift) as usize * self.entry
    }

    /// Replaces `state` by what `compute` makes of it, or made of it before.
    #[inline]
    pub(crate) fn apply(&mut self, state: &mut [u64], compute: impl FnOnce(&mut [u64])) {
        let (at, width) = (self.place(state), self.width);
        let (known, answer) = self.entries[at..at + 2 * width].split_at_mut(width);
        if known == state && state.iter().any(|word| *word != 0) {
            state.copy_from_slice(answer);
            return;
        }
        known.copy_from_slice(state);
        compute(state);
        answer.copy_from_slice(state);
        self.note_computed();
    }

    /// The same with the permutation that leads to the answer.
    pub(crate) fn apply_by(
        &mut self,
        state: &mut [u64],
        to: &mut Vec<u16>,
        compute: impl FnOnce(&mut [u64], &mut Vec<u16>),
    ) {
        let at = self.place(state);
        let (known, answer) = self.entries[at..at + self.entry].split_at_mut(self.width);
        let (answer, places) = answer.split_at_mut(self.width);
        if known == state && state.iter().any(|word| *word != 0) {
            state.copy_from_slice(answer);
            return unpack(places, self.points, to);
        }
        known.copy_from_slice(state);
        compute(state, to);
        answer.copy_from_slice(state);
        pack(to, places);
        self.note_computed();
    }
}

/// Products of pairs of words, which do not wait for each other.
#[inline]
fn hash(words: &[u64]) -> u64 {
    let product = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product >> 64) as u64 ^ product as u64
    };
    let mut salt = 0x2545_f491_4f6c_dd1d_u64;
    let mut sum = 0u64;
    let (pairs, last) = words.as_chunks::<2>();
    for [a, b] in pairs {
        sum = sum.wrapping_add(product(a ^ salt, b ^ salt.rotate_left(29)));
        salt = salt.wrapping_add(0x9e37_79b9_7f4a_7c15);
    }
    for word in last {
        sum = sum.wrapping_add(product(word ^ salt, 0xd6e8_feb8_6659_fd93));
    }
    sum.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::Memo;

    #[test]
    fn answers_are_those_computed() {
        let mut memo = Memo::new(1);
        let mut computed = 0;
        for round in 0..2 {
            for value in 0..200u64 {
                let mut state = [value];
                memo.apply(&mut state, |state| {
                    computed += 1;
                    state[0] = value / 2;
                });
                assert_eq!(state, [value / 2], "round {round}");
            }
        }
        assert!(computed < 220, "{computed}");
    }

    #[test]
    fn tables_become_larger_and_forget_nothing_then() {
        let mut memo = Memo::new(1);
        let first = memo.entries.len();
        let mut computed = 0;
        for value in (1..1 << 18).map(|value: u64| value.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
            let before = memo.entries.len();
            // What was computed just before is known, also where the table has grown since.
            for _ in 0..2 {
                let mut state = [value];
                memo.apply(&mut state, |state| {
                    computed += 1;
                    state[0] = !value;
                });
                assert_eq!(state, [!value]);
            }
            assert!([before, 2 * before].contains(&memo.entries.len()));
        }
        assert_eq!(computed, (1 << 18) - 1);
        assert!(memo.entries.len() > first && memo.entries.len() * 8 <= super::BYTES);
    }

    #[test]
    fn permutations_are_those_computed() {
        for points in 1..11 {
            let (mut memo, mut to) = (Memo::with_permutations(2, points), Vec::new());
            let mut computed = 0;
            for value in (0..100u64).chain(0..100) {
                let mut state = [value, value];
                let places: Vec<u16> = (0..points as u16).map(|i| i * 37 + value as u16).collect();
                memo.apply_by(&mut state, &mut to, |state, to| {
                    computed += 1;
                    state[1] = 7;
                    to.clone_from(&places);
                });
                assert_eq!((state, &to), ([value, 7], &places));
            }
            assert!(computed < 120, "{computed}");
        }
    }
}
