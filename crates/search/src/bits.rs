//! A fixed set of small numbers, one bit each.

/// Numbers below a bound.
#[derive(Clone, Debug)]
pub(crate) struct Bits {
    words: Vec<u64>,
    len: u64,
}

impl Bits {
    /// None of the numbers below `len`.
    pub(crate) fn new(len: u64) -> Bits {
        Bits { words: vec![0; len.div_ceil(64) as usize], len }
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.words[(number / 64) as usize] >> (number % 64) & 1 == 1
    }

    pub(crate) fn insert(&mut self, number: u64) {
        self.words[(number / 64) as usize] |= 1 << (number % 64);
    }

    /// The lowest number that is not in the set.
    pub(crate) fn first_absent(&self) -> Option<u64> {
        let at = self.words.iter().position(|word| *word != u64::MAX)?;
        let number = at as u64 * 64 + u64::from(self.words[at].trailing_ones());
        (number < self.len).then_some(number)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.words.len() as u64 * 8
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn the_first_absent_is_found_at_every_border() {
        for len in [0, 1, 63, 64, 65, 130] {
            let mut bits = Bits::new(len);
            for number in 0..len {
                assert_eq!(bits.first_absent(), Some(number));
                assert!(!bits.contains(number));
                bits.insert(number);
                assert!(bits.contains(number));
            }
            assert_eq!(bits.first_absent(), None);
        }
    }
}
