//! Signatures of states that carry a bound.
//!
//! They are made of two members of the family of [`crate::universal`], drawn independently: two
//! different states have equal signatures of b bits with probability 2⁻ᵇ over the choice of the
//! members, whatever the states are.

use crate::universal::Universal;

/// A hash function of states to signatures of up to 128 bits, chosen by a seed.
#[derive(Clone, Debug)]
pub struct Signer {
    bits: u32,
    family: Universal,
}

impl Signer {
    /// The function for states of `words` words to signatures of `bits` bits, 8 to 128.
    pub fn new(words: usize, bits: u32, seed: u64) -> Signer {
        Signer { bits: bits.clamp(8, 128), family: Universal::new(words, seed) }
    }

    /// Bits of a signature.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Words of a state.
    pub(crate) fn words(&self) -> usize {
        self.family.words()
    }

    /// The signature as two words: 64 bits, or all if there are fewer, and the rest.
    #[inline]
    pub fn pair(&self, state: &[u64]) -> (u64, u64) {
        if self.bits <= 64 {
            return (self.family.place(state) >> (64 - self.bits), 0);
        }
        let both = self.family.of(state);
        (both.place, both.value >> (128 - self.bits))
    }

    /// The signature as one number.
    #[inline]
    pub fn sign(&self, state: &[u64]) -> u128 {
        let (low, high) = self.pair(state);
        u128::from(high) << 64 | u128::from(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of structured states collide as often as the theory says, over the choice of keys.
    #[test]
    fn pairs_collide_with_their_probability() {
        let pairs: [([u64; 3], [u64; 3]); 4] = [
            ([0, 0, 0], [0, 0, 1]),
            ([1, 2, 3], [3, 2, 1]),
            ([u64::MAX, 0, 1 << 63], [0, 0, 1 << 63]),
            ([5, 1 << 32, 9], [5, 1 << 33, 9]),
        ];
        for bits in [8, 12] {
            for (a, b) in pairs {
                let seeds = 200_000;
                let equal = (0..seeds).filter(|seed| {
                    let signer = Signer::new(3, bits, *seed);
                    signer.sign(&a) == signer.sign(&b)
                });
                let (got, expected) = (equal.count() as f64, seeds as f64 / (bits as f64).exp2());
                assert!((got - expected).abs() < 5.0 * expected.sqrt(), "{got} for {expected}");
            }
        }
    }

    #[test]
    fn signatures_have_their_width() {
        for bits in [8, 63, 64, 65, 80, 127, 128] {
            let signer = Signer::new(2, bits, 7);
            let all = (0..1000u64).fold(0, |all, i| all | signer.sign(&[i, i * i]));
            assert_eq!(128 - all.leading_zeros(), bits);
            assert!(all.count_ones() == bits, "every bit is used");
        }
    }
}
