//! Bit fields in slices of words, little end first. Plain and safe: the reference for generated code.

/// Reads `width` (at most 64) bits at bit `at`.
pub fn read(words: &[u64], at: usize, width: u32) -> u64 {
    if width == 0 {
        return 0;
    }
    let (word, shift) = (at / 64, (at % 64) as u32);
    let mut value = words[word] >> shift;
    if shift + width > 64 {
        value |= words[word + 1] << (64 - shift);
    }
    value & mask(width)
}

/// Writes the low `width` (at most 64) bits of `value` at bit `at`.
pub fn write(words: &mut [u64], at: usize, width: u32, value: u64) {
    if width == 0 {
        return;
    }
    let (word, shift) = (at / 64, (at % 64) as u32);
    let value = value & mask(width);
    words[word] = words[word] & !(mask(width) << shift) | value << shift;
    if shift + width > 64 {
        let done = 64 - shift;
        words[word + 1] = words[word + 1] & !(mask(width) >> done) | value >> done;
    }
}

/// The `width` lowest bits set.
pub fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// Runs over a bit range in pieces of at most 64 bits: `(offset, width)`.
fn pieces(len: usize) -> impl DoubleEndedIterator<Item = (usize, u32)> {
    (0..len.div_ceil(64)).map(move |i| (i * 64, (len - i * 64).min(64) as u32))
}

/// Copies `len` bits.
pub fn copy(to: &mut [u64], to_at: usize, from: &[u64], from_at: usize, len: usize) {
    for (offset, width) in pieces(len) {
        write(to, to_at + offset, width, read(from, from_at + offset, width));
    }
}

/// Copies `len` bits inside one slice; the ranges may overlap.
pub fn copy_within(words: &mut [u64], to_at: usize, from_at: usize, len: usize) {
    let mut buffer = vec![0; len.div_ceil(64)];
    copy(&mut buffer, 0, words, from_at, len);
    copy(words, to_at, &buffer, 0, len);
}

/// Sets `len` bits to zero.
pub fn zero(words: &mut [u64], at: usize, len: usize) {
    for (offset, width) in pieces(len) {
        write(words, at + offset, width, 0);
    }
}

/// Compares two runs of `len` bits as unsigned numbers, the last bit being the most significant.
pub fn compare(words: &[u64], left: usize, right: usize, len: usize) -> std::cmp::Ordering {
    for (offset, width) in pieces(len).rev() {
        let order = read(words, left + offset, width).cmp(&read(words, right + offset, width));
        if order.is_ne() {
            return order;
        }
    }
    std::cmp::Ordering::Equal
}

/// Swaps two disjoint runs of `len` bits.
pub fn swap(words: &mut [u64], a: usize, b: usize, len: usize) {
    for (offset, width) in pieces(len) {
        let (x, y) = (read(words, a + offset, width), read(words, b + offset, width));
        write(words, a + offset, width, y);
        write(words, b + offset, width, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_across_word_borders_keep_their_neighbours() {
        for at in 0..130 {
            for width in 1..=64 {
                let mut words = [u64::MAX, 0x5555_5555_5555_5555, u64::MAX, 0];
                let before = words;
                let value = 0x0123_4567_89ab_cdef & mask(width);
                write(&mut words, at, width, value);
                assert_eq!(read(&words, at, width), value);
                write(&mut words, at, width, read(&before, at, width));
                assert_eq!(words, before);
            }
        }
    }

    #[test]
    fn long_runs_are_compared_from_the_top() {
        let mut words = [0u64; 6];
        write(&mut words, 3, 64, 9);
        write(&mut words, 103, 64, 1);
        write(&mut words, 103 + 70, 5, 1);
        assert_eq!(compare(&words, 3, 103, 80), std::cmp::Ordering::Less);
        swap(&mut words, 3, 103, 80);
        assert_eq!(compare(&words, 3, 103, 80), std::cmp::Ordering::Greater);
        assert_eq!(read(&words, 103, 64), 9);
    }
}
