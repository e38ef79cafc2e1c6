//! Bytes of messages: numbers in little-endian order or as variable-length integers, read with checks.
//! Whatever comes over the network goes through [`Reader`], which answers `None` instead of panicking.

/// Appends a number of 32 bits.
pub(crate) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a number of 64 bits.
pub(crate) fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a number of 128 bits.
pub(crate) fn put_u128(out: &mut Vec<u8>, value: u128) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a number in as many bytes as it takes, seven bits each.
pub(crate) fn put_var(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A signed difference of two numbers as an unsigned one that is small if the difference is.
pub(crate) fn zigzag(from: u64, to: u64) -> u64 {
    let delta = to.wrapping_sub(from) as i64;
    ((delta << 1) ^ (delta >> 63)) as u64
}

/// The number that a difference leads to.
pub(crate) fn unzigzag(from: u64, coded: u64) -> u64 {
    let delta = (coded >> 1) as i64 ^ -((coded & 1) as i64);
    from.wrapping_add(delta as u64)
}

/// Reads what was put. Nothing is taken for granted.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next so many bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn u128(&mut self) -> Option<u128> {
        self.array().map(u128::from_le_bytes)
    }

    pub(crate) fn var(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A count of things that take at least `each` bytes: no more than there is room for.
    pub(crate) fn count(&mut self, each: usize) -> Option<usize> {
        let count = usize::try_from(self.var()?).ok()?;
        (count.checked_mul(each.max(1))? <= self.rest.len()).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put_var(&mut out, value);
            let mut reader = Reader::new(&out);
            assert_eq!(reader.var(), Some(value));
            assert!(reader.is_empty());
        }
        for (from, to) in [(0, 0), (5, 3), (3, 5), (0, u64::MAX), (u64::MAX, 0), (1 << 48, 7)] {
            assert_eq!(unzigzag(from, zigzag(from, to)), to);
        }
    }

    #[test]
    fn what_is_cut_or_too_long_is_refused() {
        assert_eq!(Reader::new(&[0x80]).var(), None);
        assert_eq!(Reader::new(&[0xff; 10]).var(), None, "more than 64 bits");
        assert_eq!(Reader::new(&[1, 2, 3]).u32(), None);
        assert_eq!(Reader::new(&[200, 1, 0]).count(1), None, "claims 200 things, has room for one");
    }
}
