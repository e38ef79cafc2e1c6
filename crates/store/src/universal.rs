//! Strongly universal hashing of packed states, from a seed.
//!
//! A store that keeps no full states owes its users a bound, and a bound needs a hash function that
//! is drawn at random from a family about which something is proved. (The fast hash of the exact
//! stores is one fixed function: for some models it could be wrong every time.)
//!
//! *The family.* A state of words s₁ … sₙ hashes to a₀ + a₁s₁ + … + aₙsₙ mod 2¹²⁸, of which the top
//! 64 bits are kept; the aᵢ are random numbers of 128 bits. It is the family `Multilinear` of Lemire
//! and Kaser, *Strongly universal string hashing is fast* (Computer Journal 2014), with K = 128 and
//! characters of 64 bits, where the top K − 64 + 1 = 65 bits are strongly universal.
//!
//! *The claim.* For two different states, the pair of their hashes is uniform over all pairs of
//! values. Proof: let the states differ in word i, by d = 2ᵗ·odd with t ≤ 63. As a function of aᵢ,
//! the difference D of the two sums is a constant plus aᵢd, and aᵢd is uniform over the multiples of
//! 2ᵗ. So given anything that does not depend on aᵢ, the bits of D from t on are uniform, and with
//! them the top 65 bits of D plus any constant. By a₀, the first sum is uniform and independent of D.
//! Hence given the first hash, the second one is uniform.
//!
//! *Two evaluations.* [`Universal::of`] evaluates two members drawn independently: one says where a
//! state is looked for, the other is what is stored of it. Given the places of *all* states, the
//! stored values of any two are still uniform and independent, so each comparison of a new state
//! with another one errs with probability exactly 2⁻ᵇ when b bits are stored, whatever decided that
//! the two were compared. By linearity of expectation the probability that some state is taken for
//! another one is at most the expected number of comparisons times 2⁻ᵇ. No independence between
//! more than two states is needed.
//!
//! *The mixer.* Both results go through a fixed bijection of 64 bits. That changes nothing of what
//! was claimed about pairs, because a bijection maps uniform pairs to uniform pairs; and it destroys
//! the linear structure, with which regular states make rarer but clumped errors and longer probes
//! (measured for the linear family H₃ of the hash-compaction paper).
//!
//! The coefficients come from a generator of 64 bits of seed. So the claims hold to the extent to
//! which its output cannot be told from random numbers by a model that does not know the seed.

/// A generator of random numbers (xoshiro256**, seeded by splitmix64), the same on all machines.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The generator of this seed. All seeds are good.
    pub fn new(seed: u64) -> Random {
        let mut at = seed;
        let state = std::array::from_fn(|_| {
            at = at.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(at)
        });
        Random { state }
    }

    /// Where it is: another one from there gives the same numbers.
    pub(crate) fn state(&self) -> [u64; 4] {
        self.state
    }

    /// The generator that is there.
    pub(crate) fn at(state: [u64; 4]) -> Random {
        Random { state }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `end` (0 if `end` is 0). The bias is below `end` / 2⁶⁴.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        scale(self.bits(), end)
    }

    fn wide(&mut self) -> u128 {
        u128::from(self.bits()) << 64 | u128::from(self.bits())
    }
}

/// A bijection of 64 bits that leaves no linear structure (the finaliser of splitmix64).
#[inline]
pub fn mix(word: u64) -> u64 {
    let z = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A hash scaled to a number below `end`.
#[inline]
pub(crate) fn scale(hash: u64, end: u64) -> u64 {
    ((u128::from(hash) * u128::from(end)) >> 64) as u64
}

/// The two hashes of a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hashed {
    /// Where to look for it.
    pub place: u64,
    /// What to keep of it: any of its bits will do.
    pub value: u64,
}

/// A random member of the family, for states of a fixed number of words.
#[derive(Clone, Debug)]
pub struct Universal {
    /// What is added to each sum.
    start: [u128; 2],
    /// For each word its coefficients, for the place and for the value.
    coefficients: Vec<[u128; 2]>,
}

impl Universal {
    /// The member that `seed` selects, for states of `words` words.
    pub fn new(words: usize, seed: u64) -> Universal {
        let mut random = Random::new(seed);
        let mut pair = || [random.wide(), random.wide()];
        Universal { start: pair(), coefficients: (0..words).map(|_| pair()).collect() }
    }

    /// Words of the states that it is for.
    pub fn words(&self) -> usize {
        self.coefficients.len()
    }

    /// Both hashes of a state.
    #[inline]
    pub fn of(&self, state: &[u64]) -> Hashed {
        debug_assert_eq!(state.len(), self.coefficients.len(), "a state of another shape");
        let [mut place, mut value] = self.start;
        for (word, [a, b]) in state.iter().zip(&self.coefficients) {
            place = place.wrapping_add(a.wrapping_mul(u128::from(*word)));
            value = value.wrapping_add(b.wrapping_mul(u128::from(*word)));
        }
        Hashed { place: mix((place >> 64) as u64), value: mix((value >> 64) as u64) }
    }

    /// The place of a state alone.
    #[inline]
    pub fn place(&self, state: &[u64]) -> u64 {
        debug_assert_eq!(state.len(), self.coefficients.len(), "a state of another shape");
        let mut place = self.start[0];
        for (word, [a, _]) in state.iter().zip(&self.coefficients) {
            place = place.wrapping_add(a.wrapping_mul(u128::from(*word)));
        }
        mix((place >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square of counts against equal expectations, as distance from its mean in deviations.
    fn deviations(counts: &[u32], total: u32) -> f64 {
        let expected = f64::from(total) / counts.len() as f64;
        let chi: f64 = counts.iter().map(|c| (f64::from(*c) - expected).powi(2) / expected).sum();
        let freedom = counts.len() as f64 - 1.0;
        (chi - freedom) / (2.0 * freedom).sqrt()
    }

    /// Structured states: counters in each place and each shift.
    fn structured(words: usize, place: usize, shift: u32, i: u64) -> Vec<u64> {
        let mut state = vec![0; words];
        state[place] = i << shift;
        state
    }

    #[test]
    fn one_state_is_uniform_over_seeds() {
        const RUNS: u32 = 40_000;
        for state in [vec![0], vec![u64::MAX], vec![1 << 63, 0, 1], vec![0; 5]] {
            let (mut high, mut low) = ([0; 64], [0; 64]);
            for seed in 0..u64::from(RUNS) {
                let hashed = Universal::new(state.len(), seed).of(&state);
                high[(hashed.place >> 58) as usize] += 1;
                low[(hashed.value & 63) as usize] += 1;
            }
            assert!(deviations(&high, RUNS).abs() < 4.0, "{state:?} place");
            assert!(deviations(&low, RUNS).abs() < 4.0, "{state:?} value");
        }
    }

    #[test]
    fn pairs_are_uniform_over_seeds() {
        const RUNS: u32 = 60_000;
        // The hard pairs differ in one bit, the highest of all.
        let pairs = [
            (vec![0], vec![1 << 63]),
            (vec![5], vec![6]),
            (vec![1, 2], vec![2, 1]),
            (vec![0, 0, 1 << 63], vec![0, 0, 0]),
            (vec![u64::MAX; 4], vec![u64::MAX - 1; 4]),
        ];
        for (one, other) in pairs {
            // 4 bits of each value, 8 × 8 of place and value: all combinations equally often.
            let (mut values, mut mixed) = ([0; 256], [0; 64]);
            for seed in 0..u64::from(RUNS) {
                let family = Universal::new(one.len(), seed);
                let (a, b) = (family.of(&one), family.of(&other));
                values[(a.value & 15 | (b.value & 15) << 4) as usize] += 1;
                mixed[(a.place >> 61 | b.value >> 61 << 3) as usize] += 1;
            }
            assert!(deviations(&values, RUNS).abs() < 4.0, "{one:?} {other:?}");
            assert!(deviations(&mixed, RUNS).abs() < 4.0, "{one:?} {other:?}");
        }
    }

    #[test]
    fn pairs_collide_as_often_as_they_should() {
        // 256 structured states on 12 bits: 32 640 pairs, so about 8 collisions per seed.
        const RUNS: u64 = 400;
        for (words, place, shift) in [(1, 0, 0), (1, 0, 56), (3, 1, 20), (6, 5, 50)] {
            let mut collisions = 0;
            for seed in 0..RUNS {
                let family = Universal::new(words, seed);
                let mut values: Vec<u64> = (0..256)
                    .map(|i| family.of(&structured(words, place, shift, i)).value >> 52)
                    .collect();
                values.sort_unstable();
                let runs = values.chunk_by(|a, b| a == b).map(|run| run.len() as u64);
                collisions += runs.map(|len| len * (len - 1) / 2).sum::<u64>();
            }
            let expected = (RUNS * 32_640) as f64 / 4096.0;
            // Pairwise independence: the number of collisions has variance at most its mean.
            let distance = (collisions as f64 - expected) / expected.sqrt();
            assert!(distance.abs() < 4.0, "{collisions} collisions instead of {expected}");
        }
    }

    #[test]
    fn places_of_structured_states_spread() {
        const COUNT: u32 = 1 << 16;
        for (words, place, shift) in [(1, 0, 0), (1, 0, 48), (2, 1, 7), (5, 0, 31)] {
            let family = Universal::new(words, 77);
            let mut counts = [0; 1024];
            for i in 0..u64::from(COUNT) {
                let state = structured(words, place, shift, i);
                assert_eq!(family.of(&state).place, family.place(&state));
                counts[(family.place(&state) >> 54) as usize] += 1;
            }
            assert!(deviations(&counts, COUNT) < 6.0, "width {words} shift {shift}");
        }
    }

    #[test]
    fn a_seed_says_it_all() {
        let state = [1, 2, 3];
        assert_eq!(Universal::new(3, 9).of(&state), Universal::new(3, 9).of(&state));
        assert_ne!(Universal::new(3, 9).of(&state), Universal::new(3, 10).of(&state));
        assert_ne!(Universal::new(3, 0).of(&state), Universal::new(3, 1 << 63).of(&state));
        // The generator is part of what a seed means: results must not change between releases.
        let mut random = Random::new(0);
        assert_eq!([random.bits(), random.bits()], [0x99ec_5f36_cb75_f2b4, 0xbf6e_1f78_4956_452a]);
        assert_eq!(random.below(0), 0);
        assert!((0..1000).all(|_| random.below(3) < 3));
        assert_eq!(mix(0), 0);
    }
}
