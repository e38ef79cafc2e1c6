//! Words with many zero bytes, as a mask of the bytes that are not zero and these bytes.
//!
//! Runs of wide states are made of such words, and to find where the bytes go takes most of the time of
//! reading and writing them. A processor that can move the bytes of a word at once, to where a table says
//! (Intel: SSSE3, 2006), does so; others go byte by byte. What is written is the same.

/// A way to pack words.
pub(super) trait Packing {
    /// The word whose bytes in `mask` are the first ones of `data`, and whose others are zero.
    fn spread(data: u64, mask: u8) -> u64;

    /// The mask of the bytes that are not zero, and these bytes, the first lowest.
    fn gather(word: u64) -> (u8, u64);
}

/// Byte by byte.
#[derive(Debug)]
pub(super) struct Plain;

impl Packing for Plain {
    #[inline(always)]
    fn spread(data: u64, mut mask: u8) -> u64 {
        let lo = mask.trailing_zeros() & 7;
        let len = mask.count_ones();
        // Bytes side by side are the common case.
        if u32::from(mask >> lo) == (1 << len) - 1 {
            return (data & low_bytes(len)) << (8 * lo);
        }
        let (mut word, mut rest) = (0, data);
        while mask != 0 {
            word |= (rest & 0xff) << (8 * mask.trailing_zeros());
            rest >>= 8;
            mask &= mask - 1;
        }
        word
    }

    #[inline(always)]
    fn gather(word: u64) -> (u8, u64) {
        let (mut mask, mut data, mut shift) = (0, 0, 0);
        for (i, byte) in word.to_le_bytes().into_iter().enumerate() {
            if byte != 0 {
                mask |= 1 << i;
                data |= u64::from(byte) << shift;
                shift += 8;
            }
        }
        (mask, data)
    }
}

/// The low bytes of a word.
#[inline(always)]
fn low_bytes(count: u32) -> u64 {
    u64::MAX.checked_shr(64 - 8 * count).unwrap_or(0)
}

/// Whether this processor has what [`Shuffled`] wants.
pub(super) fn can_shuffle() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("ssse3")
        && std::arch::is_x86_feature_detected!("popcnt");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// All bytes at once. Only where [`can_shuffle`] has said yes; in functions with the target features that it asks
/// for, because elsewhere each word would be a call.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub(super) struct Shuffled;

#[cfg(target_arch = "x86_64")]
impl Packing for Shuffled {
    #[inline(always)]
    fn spread(data: u64, mask: u8) -> u64 {
        // SAFETY: by the condition on `Shuffled` the processor has the instruction.
        unsafe { shuffle(data, SPREAD[usize::from(mask)]) }
    }

    #[inline(always)]
    fn gather(word: u64) -> (u8, u64) {
        // The upper bit of each byte says whether it is not zero; the product puts these side by side.
        const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let bits = (((word & LOW) + LOW) | word) >> 7 & 0x0101_0101_0101_0101;
        let mask = (bits.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
        // SAFETY: as above.
        (mask, unsafe { shuffle(word, GATHER[usize::from(mask)]) })
    }
}

/// The bytes of `data` at the places that the bytes of `places` name; zero for those that name none.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "ssse3")]
fn shuffle(data: u64, places: u64) -> u64 {
    use std::arch::x86_64::{_mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_shuffle_epi8};
    let (data, places) = (_mm_cvtsi64_si128(data as i64), _mm_cvtsi64_si128(places as i64));
    _mm_cvtsi128_si64(_mm_shuffle_epi8(data, places)) as u64
}

/// Where no byte goes.
#[cfg(target_arch = "x86_64")]
const NOWHERE: u64 = 0x80;

/// For each mask: which of the packed bytes goes where, and which byte of a word is packed where.
#[cfg(target_arch = "x86_64")]
static SPREAD: [u64; 256] = tables().0;
#[cfg(target_arch = "x86_64")]
static GATHER: [u64; 256] = tables().1;

#[cfg(target_arch = "x86_64")]
const fn tables() -> ([u64; 256], [u64; 256]) {
    let (mut spread, mut gather) = ([0; 256], [NOWHERE * 0x0101_0101_0101_0101; 256]);
    let mut mask = 0;
    while mask < 256 {
        let (mut byte, mut packed) = (0, 0);
        while byte < 8 {
            if mask >> byte & 1 == 1 {
                spread[mask] |= packed << (8 * byte);
                gather[mask] ^= (NOWHERE ^ byte) << (8 * packed);
                packed += 1;
            } else {
                spread[mask] |= NOWHERE << (8 * byte);
            }
            byte += 1;
        }
        mask += 1;
    }
    (spread, gather)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words in which each set of bytes is not zero, with other values behind the packed ones.
    fn words() -> impl Iterator<Item = (u8, u64)> {
        (0..=u8::MAX).flat_map(|mask| {
            [0x8040_2010_0804_0201_u64, u64::MAX, 0x0102_0380_ff7f_8101].map(|word| {
                let bytes = word.to_le_bytes();
                let kept = |i: usize| if mask >> i & 1 == 1 { bytes[i] } else { 0 };
                (mask, u64::from_le_bytes(std::array::from_fn(kept)))
            })
        })
    }

    fn round_trips<P: Packing>() {
        for (mask, word) in words() {
            let (found, data) = P::gather(word);
            assert_eq!((found, data), Plain::gather(word));
            assert_eq!(found, mask);
            let behind = !low_bytes(mask.count_ones()) & 0xa5a5_a5a5_a5a5_a5a5;
            assert_eq!(P::spread(data | behind, mask), word);
        }
    }

    #[test]
    fn words_come_back() {
        round_trips::<Plain>();
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn shuffling_is_the_same() {
        if can_shuffle() {
            round_trips::<Shuffled>();
        }
    }
}
