//! The hash of exact stores: multiply and mix, in the manner of wyhash.
//!
//! It is fast and well mixed in all 64 bits, and the same on every platform and in every run. It
//! is *not* universal, so it must not carry an omission bound: a store that keeps no full states
//! needs another function.

const SEEDS: [u64; 4] =
    [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db, 0x8ebc_6af0_9c88_c6e3, 0x5899_65cc_7537_4cc3];

/// Both halves of the 128-bit product, folded.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The hash of one word.
#[inline]
pub(crate) fn hash_word(word: u64) -> u64 {
    fold(fold(word ^ SEEDS[0], SEEDS[1]) ^ word ^ SEEDS[2], SEEDS[3])
}

/// Another hash, from a hash: where a walk goes on when its line is full.
#[inline]
pub(crate) fn rehash(hash: u64) -> u64 {
    fold(hash ^ SEEDS[1], SEEDS[2])
}

/// The hash of a packed state.
#[inline(always)] // where the length is known, the loop is unrolled
pub(crate) fn hash(state: &[u64]) -> u64 {
    // One word is the common case of small models: two dependent multiplications.
    if let [word] = state {
        return hash_word(*word);
    }
    let mut h = SEEDS[0];
    let mut pairs = state.chunks_exact(2);
    for pair in &mut pairs {
        h = fold(pair[0] ^ SEEDS[1], pair[1] ^ h);
    }
    if let [word] = pairs.remainder() {
        h = fold(word ^ SEEDS[2], h ^ SEEDS[1]);
    }
    fold(h ^ SEEDS[2], SEEDS[3] ^ state.len() as u64)
}

const MIXERS: [u64; 2] = [0x9fb2_1c65_1e98_df25, 0xd6e8_feb8_6659_fd93];
const UNMIXERS: [u64; 2] = [inverse(MIXERS[0]), inverse(MIXERS[1])];

/// The number that undoes a multiplication by the odd number `n`.
const fn inverse(n: u64) -> u64 {
    // Newton's method: each step doubles the number of right bits, and n itself has three.
    let (mut x, mut i) = (n, 0);
    while i < 5 {
        x = x.wrapping_mul(2u64.wrapping_sub(n.wrapping_mul(x)));
        i += 1;
    }
    x
}

/// Mixes a state of two words so that the first one can be got back: for each `second` a
/// permutation of `first`. The high bits depend on all bits, the low ones on fewer.
#[inline]
pub(crate) fn mix(first: u64, second: u64) -> u64 {
    let mut x = first ^ multiplied(second);
    x ^= x >> 32;
    x = x.wrapping_mul(MIXERS[0]);
    x ^= x >> 32;
    x.wrapping_mul(MIXERS[1])
}

/// What was mixed with `second` to `mixed`.
#[inline]
pub(crate) fn unmix(mixed: u64, second: u64) -> u64 {
    let mut x = mixed.wrapping_mul(UNMIXERS[1]);
    x ^= x >> 32;
    x = x.wrapping_mul(UNMIXERS[0]);
    x ^= x >> 32;
    x ^ multiplied(second)
}

/// A word spread over all bits, zero for zero.
#[inline]
pub(crate) fn multiplied(word: u64) -> u64 {
    fold(word, SEEDS[3])
}

#[cfg(test)]
mod tests {
    use super::{hash, mix, unmix};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn mixing_can_be_undone(first: u64, second: u64) {
            prop_assert_eq!(unmix(mix(first, second), second), first);
        }
    }

    #[test]
    fn mixed_states_spread_like_random_ones() {
        for shift in [0u32, 7, 20, 31, 48] {
            for of_second in [0, 3, 6] {
                let mut tops: Vec<u64> = (0..1u64 << 16)
                    .map(|i| mix(i >> of_second << shift, i & ((1 << of_second) - 1)) >> 48)
                    .collect();
                tops.sort_unstable();
                tops.dedup();
                assert!(tops.len() > 40_000, "shift {shift}/{of_second}: {}", tops.len());
            }
        }
    }

    /// Counts how many distinct values the top 16 and the low 24 bits take; random would be ~ full.
    fn spread(states: impl Iterator<Item = Vec<u64>>) -> (usize, usize) {
        let hashes: Vec<u64> = states.map(|s| hash(&s)).collect();
        let distinct = |key: fn(u64) -> u64| {
            let mut keys: Vec<u64> = hashes.iter().map(|h| key(*h)).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.len()
        };
        (distinct(|h| h >> 48), distinct(|h| h & 0xff_ffff))
    }

    #[test]
    fn structured_states_spread_like_random_ones() {
        // 65536 random balls in 65536 bins fill about 41 427 of them; in 2^24 bins about 65 408.
        for width in [1usize, 2, 3, 5] {
            for shift in [0u32, 7, 31, 48] {
                let counted = (0..1u64 << 16).map(|i| {
                    let mut s = vec![0; width];
                    s[width - 1] = i << shift;
                    s
                });
                let (top, low) = spread(counted);
                assert!(top > 41_000, "width {width} shift {shift}: {top} buckets");
                assert!(low > 65_200, "width {width} shift {shift}: {low} tags");
            }
        }
    }

    #[test]
    fn every_word_and_its_place_count() {
        let mut seen = std::collections::HashSet::new();
        for width in 1..9 {
            for place in 0..width {
                for bit in 0..64 {
                    let mut s = vec![0; width];
                    s[place] = 1 << bit;
                    assert!(seen.insert(hash(&s)));
                }
            }
            assert!(seen.insert(hash(&vec![0; width])));
        }
    }
}
