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
#[inline]
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

#[cfg(test)]
mod tests {
    use super::hash;

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
