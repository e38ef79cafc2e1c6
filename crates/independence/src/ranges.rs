//! Sets of bits of a packed state, as ascending ranges.

/// More ranges than this are merged to fewer: rules that touch so many places touch everything.
const MAX_RANGES: usize = 4096;

/// A set of bits: ascending half-open ranges that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ranges(Vec<(usize, usize)>);

impl Ranges {
    /// The union of some ranges, in any order.
    pub fn new(mut list: Vec<(usize, usize)>) -> Ranges {
        list.retain(|(start, end)| start < end);
        list.sort_unstable();
        let mut merged: Vec<(usize, usize)> = Vec::with_capacity(list.len());
        for (start, end) in list {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        let mut ranges = Ranges(merged);
        ranges.coarsen();
        ranges
    }

    /// Swallows gaps between neighbours until few ranges are left: a larger set, never a smaller one.
    fn coarsen(&mut self) {
        while self.0.len() > MAX_RANGES {
            let pairs = self.0.chunks(2);
            self.0 = pairs.map(|pair| (pair[0].0, pair[pair.len() - 1].1)).collect();
        }
    }

    /// The ranges, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.0.iter().copied()
    }

    /// How many ranges there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no bit.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is in one or the other.
    #[must_use]
    pub fn union(&self, other: &Ranges) -> Ranges {
        if other.is_empty() {
            return self.clone();
        }
        if self.is_empty() {
            return other.clone();
        }
        Ranges::new(self.iter().chain(other.iter()).collect())
    }

    /// The first range of bits that both have.
    pub fn first_common(&self, other: &Ranges) -> Option<(usize, usize)> {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            let common = (x.0.max(y.0), x.1.min(y.1));
            if common.0 < common.1 {
                return Some(common);
            }
            if x.1 <= y.1 {
                a.next();
            } else {
                b.next();
            }
        }
        None
    }

    /// Whether the two have a bit in common.
    pub fn meets(&self, other: &Ranges) -> bool {
        self.first_common(other).is_some()
    }

    /// Whether a bit is in the set.
    pub fn contains(&self, bit: usize) -> bool {
        let after = self.0.partition_point(|(start, _)| *start <= bit);
        after > 0 && bit < self.0[after - 1].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_merged_and_met() {
        let a = Ranges::new(vec![(8, 10), (0, 3), (3, 4), (5, 5)]);
        assert_eq!(a.iter().collect::<Vec<_>>(), [(0, 4), (8, 10)]);
        assert!(a.contains(3) && !a.contains(4) && a.contains(9) && !a.contains(10));
        let b = Ranges::new(vec![(4, 8), (9, 20)]);
        assert_eq!(a.first_common(&b), Some((9, 10)));
        assert!(!a.meets(&Ranges::new(vec![(4, 8), (10, 11)])));
        assert_eq!(a.union(&b), Ranges::new(vec![(0, 20)]));
    }

    #[test]
    fn large_sets_become_coarse_and_lose_nothing() {
        let list: Vec<_> = (0..20_000).map(|i| (3 * i, 3 * i + 1)).collect();
        let ranges = Ranges::new(list.clone());
        assert!(ranges.len() <= MAX_RANGES);
        assert!(list.iter().all(|(start, _)| ranges.contains(*start)));
    }
}
