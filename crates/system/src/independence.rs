//! Which rule instances commute, as a matrix of bits.
//!
//! Two instances are *independent* if, in every state in which one is enabled, firing it neither
//! enables nor disables the other, and firing both leads to the same state in either order, with the
//! same faults. The relation is symmetric, and no instance is independent of itself.

use crate::{Label, Renaming};

/// A symmetric relation between the instances of the rules of a system. Several labels may share a
/// number; such an instance must be independent of none, because firing one of its labels says nothing
/// about the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Independence {
    /// The first label of a rule, and the numbers of the instances from there on.
    first: u32,
    numbers: Vec<u32>,
    count: usize,
    words: usize,
    bits: Vec<u64>,
    renaming: Renaming,
}

impl Independence {
    /// No two of `count` instances, whose labels begin with `first`, are independent.
    pub fn none(first: Label, count: usize) -> Independence {
        Independence::numbered(first, (0..count as u32).collect())
    }

    /// The same for instances whose numbers are given, label by label.
    pub fn numbered(first: Label, numbers: Vec<u32>) -> Independence {
        let count = numbers.iter().max().map_or(0, |last| *last as usize + 1);
        let words = count.div_ceil(64).max(1);
        let bits = vec![0; count * words];
        let renaming = Renaming::default();
        Independence { first: first.0, numbers, count, words, bits, renaming }
    }

    /// Makes two instances independent.
    ///
    /// # Panics
    /// If they are one instance, or there is no such instance.
    pub fn add(&mut self, a: usize, b: usize) {
        assert!(a != b && a < self.count && b < self.count, "{a} and {b} of {}", self.count);
        self.bits[a * self.words + b / 64] |= 1 << (b % 64);
        self.bits[b * self.words + a / 64] |= 1 << (a % 64);
    }

    /// Tells what becomes of the instances when the values of symmetric types are permuted: those that
    /// images are known of sleep on in a successor that was replaced by another member of its orbit.
    #[must_use]
    pub fn with_renaming(self, renaming: Renaming) -> Independence {
        Independence { renaming, ..self }
    }

    /// What becomes of the instances when the values of symmetric types are permuted.
    pub fn renaming(&self) -> &Renaming {
        &self.renaming
    }

    /// How many instances there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Words of a set of instances.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The number of the instance with a label.
    ///
    /// # Panics
    /// If it is not the label of a rule.
    #[inline]
    pub fn number(&self, label: Label) -> usize {
        self.numbers[label.0.wrapping_sub(self.first) as usize] as usize
    }

    /// The instances that are independent of an instance.
    #[inline]
    pub fn row(&self, number: usize) -> &[u64] {
        &self.bits[number * self.words..(number + 1) * self.words]
    }

    /// Whether two instances are independent.
    pub fn holds(&self, a: usize, b: usize) -> bool {
        self.row(a)[b / 64] >> (b % 64) & 1 == 1
    }

    /// Pairs of independent instances.
    pub fn pairs(&self) -> u64 {
        self.bits.iter().map(|word| u64::from(word.count_ones())).sum::<u64>() / 2
    }

    /// The part of all pairs of different instances that is independent, from 0 to 1.
    pub fn share(&self) -> f64 {
        let all = self.count as f64 * (self.count as f64 - 1.0) / 2.0;
        if all > 0.0 { self.pairs() as f64 / all } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relation_is_symmetric() {
        let mut relation = Independence::none(Label(7), 100);
        relation.add(3, 99);
        relation.add(64, 3);
        assert!(relation.holds(99, 3) && relation.holds(3, 64) && !relation.holds(64, 99));
        assert_eq!((relation.pairs(), relation.words(), relation.number(Label(10))), (2, 2, 3));
        assert!((relation.share() - 2.0 / 4950.0).abs() < 1e-12);
    }
}
