//! The shared exact store for the smallest states: a bit for each state that there could be.
//!
//! A state of a few bits is a number, and whether it is visited is the bit of that number. There is nothing to
//! hash, to compare or to grow; a state takes a bit whether it is reached or not, so this is for states of so
//! few bits that all of them take hardly more than an empty table.
//!
//! **Invariant:** a bit that is set stays set, and whoever sets it is the only one who is told that the state is fresh.

use crate::memory::Lines;
use crate::slots::LINE;
use crate::sync::{AtomicU64, Ordering};
use ergodic_system::{Block, Exhausted, Picks, Shape, Shared};

/// States of more bits are for other stores: this takes 32 KB with so many, as a table of some thousand states does.
const MOST_BITS: usize = 18;

/// All states as bits.
#[derive(Debug)]
pub struct DenseStore {
    lines: Lines,
}

impl DenseStore {
    /// Whether states of this shape are few enough, and so much memory, if it is limited, is not short for them.
    pub fn fits(shape: Shape, memory_limit: Option<u64>) -> bool {
        let ample = |limit| limit >= 1 << MOST_BITS;
        shape.words == 1 && shape.bits <= MOST_BITS && memory_limit.is_none_or(ample)
    }

    /// Bytes that it takes for states of this shape.
    pub fn bytes_for(shape: Shape) -> u64 {
        (1u64 << shape.bits).div_ceil(8 * 64) * 64
    }

    /// An empty store.
    ///
    /// # Panics
    /// If states of this shape are too many.
    pub fn new(shape: Shape) -> DenseStore {
        assert!(DenseStore::fits(shape, None), "states of {} bits are too many", shape.bits);
        DenseStore { lines: Lines::new(DenseStore::bytes_for(shape) as usize / 64) }
    }

    /// The word and the bit of a state.
    #[inline]
    fn bit(&self, state: &[u64]) -> (&AtomicU64, u64) {
        let number = state[0] as usize;
        (&self.lines.line(number / (64 * LINE))[number / 64 % LINE], 1 << (number % 64))
    }
}

impl Shared for DenseStore {
    type Scratch = ();

    fn scratch(&self) {}

    fn offer(&self, (): &mut (), new: Block<'_>, from: usize, fresh: &mut Picks) -> usize {
        for place in from..new.len() {
            let (word, bit) = self.bit(new.state(place));
            // Most are known, and reading leaves the line to all.
            if word.load(Ordering::Relaxed) & bit == 0
                && word.fetch_or(bit, Ordering::Relaxed) & bit == 0
            {
                fresh.push(place as u32);
            }
        }
        new.len()
    }

    fn contains(&self, state: &[u64]) -> bool {
        let (word, bit) = self.bit(state);
        word.load(Ordering::Relaxed) & bit != 0
    }

    fn each(&self, each: &mut dyn FnMut(&[u64])) -> bool {
        for i in 0..self.lines.count() {
            for (k, mut word) in self.lines.words(i).into_iter().enumerate() {
                while word != 0 {
                    each(&[((i * LINE + k) * 64) as u64 + u64::from(word.trailing_zeros())]);
                    word &= word - 1;
                }
            }
        }
        true
    }

    fn grow_if_needed(&mut self, _: u64) -> Result<(), Exhausted> {
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.lines.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;

    #[test]
    fn conforms() {
        let shapes = [1, 6, 9, 10, 13, MOST_BITS].map(Shape::of_bits);
        conformance::shared(&shapes, DenseStore::new);
    }

    #[test]
    fn workers_agree() {
        for bits in [7, MOST_BITS] {
            let shape = Shape::of_bits(bits);
            conformance::workers(shape, || DenseStore::new(shape));
        }
    }

    #[test]
    fn few_bits_and_ample_memory_fit() {
        let fits = |bits, limit| DenseStore::fits(Shape::of_bits(bits), limit);
        assert!(fits(1, None) && fits(MOST_BITS, None) && fits(MOST_BITS, Some(1 << 20)));
        assert!(!fits(MOST_BITS + 1, None) && !fits(65, None) && !fits(4, Some(1 << 16)));
        assert_eq!(DenseStore::new(Shape::of_bits(MOST_BITS)).bytes(), 1 << 15);
        assert_eq!(DenseStore::new(Shape::of_bits(3)).bytes(), 64);
    }
}
