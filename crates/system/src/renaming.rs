//! What becomes of rule instances when the values of symmetric types are permuted.
//!
//! The values of all symmetric types together are *points*, numbered densely, those of one type (a
//! *group*) one after the other. A permutation gives for each point its new place in its group. Where a
//! permutation leads from one state to another, an instance that is enabled in the one has an image that
//! is enabled in the other, with the same values permuted, and the successors by both are images, too.

/// The images of the instances of a system under permutations. Without instances it knows none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renaming {
    /// For each instance: its image, were all its points to go to the first place of their group, and
    /// the end of its steps.
    instances: Vec<(u32, u32)>,
    /// Points, and what one place more adds to the number of the image.
    steps: Vec<(u32, u32)>,
    /// Points of a permutation.
    points: usize,
}

/// Places in a word.
const PLACES: usize = 4;

/// Words of a permutation of so many points.
pub fn packed_words(points: usize) -> usize {
    points.div_ceil(PLACES)
}

/// Writes a permutation to words.
pub fn pack(to: &[u16], words: &mut [u64]) {
    for (word, places) in words.iter_mut().zip(to.chunks(PLACES)) {
        *word = places.iter().rev().fold(0, |word, place| word << 16 | u64::from(*place));
    }
}

/// Reads a permutation of so many points from words.
pub fn unpack(words: &[u64], points: usize, to: &mut Vec<u16>) {
    to.clear();
    let places = words.iter().flat_map(|word| (0..PLACES).map(move |i| (word >> (16 * i)) as u16));
    to.extend(places.take(points));
}

impl Renaming {
    /// No images yet, for permutations of so many points.
    pub fn new(points: usize) -> Renaming {
        Renaming { points, ..Renaming::default() }
    }

    /// How many points a permutation has.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Adds the next instance: its number, were all its points the first ones of their groups, and for
    /// each of its parameters that is a point: which one, and what the next point in its place would add
    /// to the number.
    pub fn push(&mut self, origin: u32, steps: &[(u32, u32)]) {
        self.steps.extend_from_slice(steps);
        self.instances.push((origin, self.steps.len() as u32));
    }

    /// The image of an instance, if its images are known.
    #[inline]
    pub fn image(&self, number: usize, to: &[u16]) -> Option<usize> {
        let (origin, end) = *self.instances.get(number)?;
        let from = if number > 0 { self.instances[number - 1].1 } else { 0 };
        let steps = self.steps[from as usize..end as usize].iter();
        let places = steps.map(|(point, stride)| stride * u32::from(to[*point as usize]));
        Some((origin + places.sum::<u32>()) as usize)
    }

    /// Replaces a set of instances by its image, without those whose images are not known. `spare` is
    /// working memory.
    pub fn rename(&self, set: &mut [u64], to: &[u16], spare: &mut Vec<u64>) {
        spare.clear();
        spare.extend_from_slice(set);
        set.fill(0);
        for (word, rest) in spare.iter().enumerate() {
            let mut rest = *rest;
            while rest != 0 {
                let number = word * 64 + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                if let Some(image) = self.image(number, to) {
                    set[image / 64] |= 1 << (image % 64);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_move_with_their_points() {
        // Two points and three; a rule over both types, and one over none.
        let mut renaming = Renaming::new(5);
        for (a, b) in (0..6).map(|i| (i / 3, i % 3)) {
            renaming.push(0, &[(a, 3), (2 + b, 1)]);
        }
        renaming.push(6, &[]);
        let to = [1, 0, 2, 0, 1];
        assert_eq!(renaming.image(1, &to), Some(3));
        assert_eq!(renaming.image(6, &to), Some(6));
        assert_eq!(renaming.image(7, &to), None);
        let mut set = [1 << 0 | 1 << 4 | 1 << 6 | 1 << 9];
        renaming.rename(&mut set, &to, &mut Vec::new());
        assert_eq!(set, [1 << 5 | 1 << 0 | 1 << 6]);
    }

    #[test]
    fn permutations_are_packed() {
        for points in 0..11 {
            let to: Vec<u16> = (0..points as u16).map(|i| i * 5003 + 9).collect();
            let (mut words, mut back) = (vec![0; packed_words(points)], Vec::new());
            pack(&to, &mut words);
            unpack(&words, points, &mut back);
            assert_eq!(back, to);
        }
    }
}
