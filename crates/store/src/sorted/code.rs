//! How sorted states are written one after the other: front coding by words.
//!
//! A state stands as its difference (exclusive or) from the one before. As in Stream VByte (Lemire, Kurz and
//! Rupp 2018) the lengths stand apart from the bytes, as controls and data, so that finding where the next
//! state starts does not wait for decoding this one.
//!
//! *Narrow* states have one or two words. Of each word of the difference the bytes from the first
//! to the last that is not zero are data; where they lie in both words is one symbol, the control.
//! It takes one byte if the second word uses at most two bytes, else two. *Wide* states have a
//! control of one bit for each word that changed; for each of these the data is a mask of the bytes
//! that are not zero, and these bytes.
//!
//! Invariants: states ascend, as sequences of words. Whatever the bytes of a block are, decoding
//! neither panics nor reads outside of it; what is read beyond its end is zero.

#[cfg(target_arch = "x86_64")]
use super::pack::Shuffled;
use super::pack::{Packing, Plain, can_shuffle};
use crate::hash::hash;
use std::cmp::Ordering;

/// Readable bytes wanted behind a block, so that eight bytes can be loaded wherever data is.
pub(super) const SLACK: usize = 8;
/// Where the bytes of a word can lie: 36 spans, and nowhere.
const SPANS: usize = 37;
/// Symbols of the narrow coding, rounded up to a power of two so that an index can be masked.
const SYMBOLS: usize = 2048;
const _: () = assert!(SPANS * SPANS <= SYMBOLS);
/// No span: the word uses fewer bytes.
const NO_SPAN: u8 = u8::MAX;
/// The low bytes of a word, by number; longer than needed so that an index can be masked.
const LOW: [u64; 16] = {
    let mut masks = [u64::MAX; 16];
    let mut bytes = 0;
    while bytes < 8 {
        masks[bytes] = (1 << (8 * bytes)) - 1;
        bytes += 1;
    }
    masks
};

/// The numbers of spans by first byte and length, for words that use their low `used` bytes.
type Spans = [[u8; 9]; 8];

/// A symbol: the shift in bits and the length in bytes of both words of the difference.
type Symbol = [u8; 4];

/// The coding of states of one shape.
pub(super) struct Coding {
    /// Words per state.
    pub words: usize,
    /// Bytes of control per state.
    pub control: usize,
    head: Spans,
    tail: Spans,
    /// Spans of the second word.
    tails: usize,
    symbols: Box<[Symbol; SYMBOLS]>,
    /// Whether words of wide states are packed with all bytes at once.
    shuffles: bool,
}

impl Coding {
    /// The coding of states of `bits` bits, as in [`ergodic_system::Shape`].
    pub fn new(words: usize, bits: usize) -> Coding {
        let used = if words == 2 { bits.saturating_sub(64).div_ceil(8).min(8) } else { 0 };
        let (head, heads) = spans(8);
        let (tail, tails) = spans(used);
        let mut symbols = Box::new([[0; 4]; SYMBOLS]);
        for (i, (lo0, len0)) in heads.iter().enumerate() {
            for (j, (lo1, len1)) in tails.iter().enumerate() {
                symbols[i * tails.len() + j] = [8 * lo0, *len0, 8 * lo1, *len1];
            }
        }
        let narrow = if heads.len() * tails.len() <= 256 { 1 } else { 2 };
        let control = if words <= 2 { narrow } else { words.div_ceil(8) };
        let shuffles = can_shuffle();
        Coding { words, control, head, tail, tails: tails.len(), symbols, shuffles }
    }
}

/// All spans in the low `used` bytes of a word, the empty one first, and their numbers.
fn spans(used: usize) -> (Spans, Vec<(u8, u8)>) {
    let (mut numbers, mut list) = ([[NO_SPAN; 9]; 8], vec![(0, 0)]);
    for row in &mut numbers {
        row[0] = 0;
    }
    for (lo, row) in numbers.iter_mut().enumerate() {
        for (len, number) in row.iter_mut().enumerate().skip(1).take(used.saturating_sub(lo)) {
            *number = list.len() as u8;
            list.push((lo as u8, len as u8));
        }
    }
    (numbers, list)
}

/// First byte and number of bytes of a word between those that are zero at both ends.
#[inline]
fn span(word: u64) -> (usize, usize) {
    if word == 0 {
        return (0, 0);
    }
    let lo = word.trailing_zeros() as usize / 8;
    (lo, 8 - word.leading_zeros() as usize / 8 - lo)
}

#[inline]
fn load(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        Some(word) => u64::from_le_bytes(*word),
        None => 0,
    }
}

#[inline]
fn store(out: &mut Vec<u8>, word: u64, len: usize) {
    let at = out.len();
    out.extend_from_slice(&word.to_le_bytes());
    out.truncate(at + len);
}

/// Where decoding stands in a buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// States behind the current one.
    pub left: usize,
    /// The control of the next one.
    pub control: usize,
    /// Its data.
    pub data: usize,
}

/// A state as a key of sorted order, and its coding.
pub(super) trait Key: Send {
    /// A state to look for or to write.
    type Target<'a>: Copy + Ord + Send + Sync;

    /// Zeros.
    fn zero(words: usize) -> Self;

    /// The target of this state.
    fn target(state: &[u64]) -> Self::Target<'_>;

    /// The first word of a target.
    fn first_word(target: Self::Target<'_>) -> u64;

    /// A hash of a target.
    fn hash(target: Self::Target<'_>) -> u64;

    /// This key as a target.
    fn as_target(&self) -> Self::Target<'_>;

    /// Appends the words of a target.
    fn append(target: Self::Target<'_>, words: usize, out: &mut Vec<u64>);

    /// Takes the value of a target.
    fn set(&mut self, target: Self::Target<'_>);

    /// Whether one target is less than another. (Targets of different lifetimes are of different
    /// types, so operators do not do.)
    fn less(a: Self::Target<'_>, b: Self::Target<'_>) -> bool;

    /// Compares with a target.
    fn compare(&self, target: Self::Target<'_>) -> Ordering;

    /// Goes on to the next state of a block.
    fn step(&mut self, coding: &Coding, bytes: &[u8], place: &mut Place);

    /// Writes the difference to the next state, and becomes that. `false` if the state has bits
    /// that its shape excludes.
    fn encode(&mut self, next: Self::Target<'_>, coding: &Coding, into: &mut Streams) -> bool;

    /// Goes on until the key is not less than `target`; `false` if the states end before.
    fn seek(
        &mut self,
        coding: &Coding,
        bytes: &[u8],
        place: &mut Place,
        target: Self::Target<'_>,
    ) -> bool;
}

/// States in the making, of a block.
#[derive(Debug, Default)]
pub(super) struct Streams {
    pub controls: Vec<u8>,
    pub data: Vec<u8>,
}

impl Streams {
    /// Bytes of both.
    pub fn len(&self) -> usize {
        self.controls.len() + self.data.len()
    }
}

/// A state of one or two words; the second is zero if there is only one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Narrow(u64, u64);

impl Key for Narrow {
    type Target<'a> = (u64, u64);

    fn zero(_: usize) -> Narrow {
        Narrow(0, 0)
    }

    #[inline]
    fn target(state: &[u64]) -> (u64, u64) {
        (state.first().copied().unwrap_or(0), state.get(1).copied().unwrap_or(0))
    }

    #[inline]
    fn first_word(target: (u64, u64)) -> u64 {
        target.0
    }

    #[inline]
    fn hash(target: (u64, u64)) -> u64 {
        hash(&[target.0, target.1])
    }

    #[inline]
    fn as_target(&self) -> (u64, u64) {
        (self.0, self.1)
    }

    fn append(target: (u64, u64), words: usize, out: &mut Vec<u64>) {
        out.extend_from_slice(&[target.0, target.1][..words.min(2)]);
    }

    fn set(&mut self, target: (u64, u64)) {
        (self.0, self.1) = target;
    }

    #[inline]
    fn less(a: (u64, u64), b: (u64, u64)) -> bool {
        wide(a) < wide(b)
    }

    #[inline]
    fn compare(&self, target: (u64, u64)) -> Ordering {
        wide(self.as_target()).cmp(&wide(target))
    }

    #[inline]
    fn step(&mut self, coding: &Coding, bytes: &[u8], place: &mut Place) {
        let raw = bytes.get(place.control..).unwrap_or_default();
        let symbol = match (coding.control, raw) {
            (1, [low, ..]) => usize::from(*low),
            (_, [low, high, ..]) => usize::from(u16::from_le_bytes([*low, *high])),
            _ => 0,
        };
        self.change(coding, symbol, bytes, &mut place.data);
        place.control += coding.control;
        place.left -= 1;
    }

    /// All controls are at hand, so that they are not checked one by one.
    #[inline]
    fn seek(
        &mut self,
        coding: &Coding,
        bytes: &[u8],
        place: &mut Place,
        target: (u64, u64),
    ) -> bool {
        let end = place.control + place.left * coding.control;
        let controls = bytes.get(place.control..end).unwrap_or_default();
        let (mut key, mut data, goal) = (*self, place.data, wide(target));
        let mut less = |symbol: usize| {
            key.change(coding, symbol, bytes, &mut data);
            wide(key.as_target()) < goal
        };
        // The number of states that are less.
        let passed = match coding.control {
            1 => controls.iter().position(|low| !less(usize::from(*low))),
            _ => {
                let (symbols, _) = controls.as_chunks::<2>();
                symbols.iter().position(|pair| !less(usize::from(u16::from_le_bytes(*pair))))
            }
        };
        let steps = passed.map_or(place.left, |passed| passed + 1);
        *self = key;
        place.data = data;
        place.control += steps * coding.control;
        place.left -= steps;
        passed.is_some()
    }

    #[inline]
    fn encode(&mut self, next: (u64, u64), coding: &Coding, into: &mut Streams) -> bool {
        let (word0, word1) = (self.0 ^ next.0, self.1 ^ next.1);
        let ((lo0, len0), (lo1, len1)) = (span(word0), span(word1));
        let tail = coding.tail[lo1][len1];
        if tail == NO_SPAN {
            return false;
        }
        let symbol = usize::from(coding.head[lo0][len0]) * coding.tails + usize::from(tail);
        store(&mut into.controls, symbol as u64, coding.control);
        store(&mut into.data, word0 >> (8 * lo0), len0);
        store(&mut into.data, word1 >> (8 * lo1), len1);
        self.set(next);
        true
    }
}

impl Narrow {
    /// Goes on to the next state, whose control is `symbol`.
    #[inline]
    fn change(&mut self, coding: &Coding, symbol: usize, bytes: &[u8], data: &mut usize) {
        let [shift0, len0, shift1, len1] = coding.symbols[symbol % SYMBOLS];
        let (at, word) = (*data, load(bytes, *data));
        let (len0, len1) = (usize::from(len0), usize::from(len1));
        self.0 ^= (word & LOW[len0 & 15]) << (shift0 & 63);
        // Mostly the bytes of both words were loaded together.
        let together = len0 + len1 <= 8;
        let rest = if together { word >> ((8 * len0) & 63) } else { load(bytes, at + len0) };
        self.1 ^= (rest & LOW[len1 & 15]) << (shift1 & 63);
        *data = at + len0 + len1;
    }
}

#[inline]
fn wide(pair: (u64, u64)) -> u128 {
    u128::from(pair.0) << 64 | u128::from(pair.1)
}

/// A state of any number of words.
#[derive(Clone, Debug, Default)]
pub(super) struct Wide(Vec<u64>);

impl Key for Wide {
    type Target<'a> = &'a [u64];

    fn zero(words: usize) -> Wide {
        Wide(vec![0; words])
    }

    #[inline]
    fn target(state: &[u64]) -> &[u64] {
        state
    }

    #[inline]
    fn first_word(target: &[u64]) -> u64 {
        target.first().copied().unwrap_or(0)
    }

    #[inline]
    fn hash(target: &[u64]) -> u64 {
        hash(target)
    }

    #[inline]
    fn as_target(&self) -> &[u64] {
        &self.0
    }

    fn append(target: &[u64], _: usize, out: &mut Vec<u64>) {
        out.extend_from_slice(target);
    }

    fn set(&mut self, target: &[u64]) {
        self.0.clear();
        self.0.extend_from_slice(target);
    }

    #[inline]
    fn less(a: &[u64], b: &[u64]) -> bool {
        a < b
    }

    #[inline]
    fn compare(&self, target: &[u64]) -> Ordering {
        self.0.as_slice().cmp(target)
    }

    #[inline]
    fn step(&mut self, coding: &Coding, bytes: &[u8], place: &mut Place) {
        #[cfg(target_arch = "x86_64")]
        if coding.shuffles {
            // SAFETY: the processor was asked whether it can.
            unsafe { self.step_shuffled(coding, bytes, place) };
            return;
        }
        self.change::<Plain>(coding, bytes, place);
    }

    #[inline]
    fn seek(&mut self, coding: &Coding, bytes: &[u8], place: &mut Place, target: &[u64]) -> bool {
        #[cfg(target_arch = "x86_64")]
        if coding.shuffles {
            // SAFETY: the processor was asked whether it can.
            return unsafe { self.seek_shuffled(coding, bytes, place, target) };
        }
        self.seek_with::<Plain>(coding, bytes, place, target)
    }

    #[inline]
    fn encode(&mut self, next: &[u64], coding: &Coding, into: &mut Streams) -> bool {
        #[cfg(target_arch = "x86_64")]
        if coding.shuffles {
            // SAFETY: the processor was asked whether it can.
            unsafe { self.encode_shuffled(next, coding, into) };
            return true;
        }
        self.encode_with::<Plain>(next, coding, into);
        true
    }
}

/// The same functions for processors that move all bytes of a word at once.
#[cfg(target_arch = "x86_64")]
impl Wide {
    #[target_feature(enable = "ssse3,popcnt")]
    fn step_shuffled(&mut self, coding: &Coding, bytes: &[u8], place: &mut Place) {
        self.change::<Shuffled>(coding, bytes, place);
    }

    #[target_feature(enable = "ssse3,popcnt")]
    fn seek_shuffled(
        &mut self,
        coding: &Coding,
        bytes: &[u8],
        place: &mut Place,
        target: &[u64],
    ) -> bool {
        self.seek_with::<Shuffled>(coding, bytes, place, target)
    }

    #[target_feature(enable = "ssse3,popcnt")]
    fn encode_shuffled(&mut self, next: &[u64], coding: &Coding, into: &mut Streams) {
        self.encode_with::<Shuffled>(next, coding, into);
    }
}

impl Wide {
    /// What is known of the comparison with the state before says most of the next one: only where the
    /// first word that changes is the one that decided, a word is looked at.
    #[inline(always)]
    fn seek_with<P: Packing>(
        &mut self,
        coding: &Coding,
        bytes: &[u8],
        place: &mut Place,
        target: &[u64],
    ) -> bool {
        let mut at = *place;
        // The words before this one are those of the target.
        let mut equal = common(&self.0, target, 0);
        let mut found = false;
        while at.left > 0 && !found {
            let first = self.change::<P>(coding, bytes, &mut at);
            if first == equal {
                equal = common(&self.0, target, equal);
                found = self.0.get(equal) >= target.get(equal);
            } else {
                // A word that was equal has grown, because states ascend.
                found = first < equal;
            }
        }
        *place = at;
        found
    }

    #[inline(always)]
    fn encode_with<P: Packing>(&mut self, next: &[u64], coding: &Coding, into: &mut Streams) {
        let Streams { controls, data } = into;
        let mut at = data.len();
        // Room for all words: a mask and eight bytes each.
        data.resize(at + 9 * next.len(), 0);
        for (old, new) in self.0.chunks_mut(64).zip(next.chunks(64)) {
            let mut changed = 0;
            for (i, (old, new)) in old.iter().zip(new).enumerate() {
                changed |= u64::from(old != new) << i;
            }
            controls.extend_from_slice(&changed.to_le_bytes()[..new.len().div_ceil(8)]);
            while changed != 0 {
                let i = changed.trailing_zeros() as usize;
                changed &= changed - 1;
                let (mask, bytes) = P::gather(old[i] ^ new[i]);
                data[at] = mask;
                data[at + 1..at + 9].copy_from_slice(&bytes.to_le_bytes());
                at += 1 + mask.count_ones() as usize;
            }
        }
        self.0.copy_from_slice(next);
        data.truncate(at);
        debug_assert_eq!(controls.len() % coding.control, 0, "one for each state");
    }

    /// Goes on to the next state of a block. Returns the first word that changed.
    #[inline(always)]
    fn change<P: Packing>(&mut self, coding: &Coding, bytes: &[u8], place: &mut Place) -> usize {
        let (mut at, mut first) = (place.data, usize::MAX);
        for group in (0..coding.control).step_by(8) {
            let left = (coding.control - group).min(8);
            let mut changed = load(bytes, place.control + group) & LOW[left];
            if changed != 0 && first == usize::MAX {
                first = 8 * group + changed.trailing_zeros() as usize;
            }
            while changed != 0 {
                let mask = bytes.get(at).copied().unwrap_or(0);
                let difference = P::spread(load(bytes, at + 1), mask);
                at += 1 + mask.count_ones() as usize;
                if let Some(word) = self.0.get_mut(8 * group + changed.trailing_zeros() as usize) {
                    *word ^= difference;
                }
                changed &= changed - 1;
            }
        }
        place.data = at;
        place.control += coding.control;
        place.left -= 1;
        first
    }
}

/// Words from `from` on that two states have in common, before the first in which they differ: where that
/// one is.
#[inline]
fn common(a: &[u64], b: &[u64], from: usize) -> usize {
    let differ = a.iter().zip(b).skip(from).position(|(a, b)| a != b);
    differ.map_or(a.len(), |at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The coding as it is here, and as it is where bytes cannot be moved at once.
    fn codings(words: usize, bits: usize) -> [Coding; 2] {
        [Coding::new(words, bits), Coding { shuffles: false, ..Coding::new(words, bits) }]
    }

    fn round_trip<K: Key>(states: &[Vec<u64>], bits: usize) -> usize {
        let written =
            codings(states[0].len(), bits).map(|coding| round_trip_with::<K>(states, &coding));
        assert_eq!(written[0], written[1], "what is written is the same");
        written[0].len()
    }

    fn round_trip_with<K: Key>(states: &[Vec<u64>], coding: &Coding) -> Vec<u8> {
        let words = states[0].len();
        let mut streams = Streams::default();
        let mut key = K::zero(words);
        key.set(K::target(&states[0]));
        for state in &states[1..] {
            assert!(key.encode(K::target(state), coding, &mut streams));
        }
        let mut bytes = streams.controls.clone();
        bytes.extend_from_slice(&streams.data);
        let end = bytes.len();
        bytes.resize(end + SLACK, 0xee);
        let control = 0;
        let mut place = Place { left: states.len() - 1, control, data: streams.controls.len() };
        key.set(K::target(&states[0]));
        for state in &states[1..] {
            key.step(coding, &bytes, &mut place);
            let mut got = Vec::new();
            K::append(key.as_target(), words, &mut got);
            assert_eq!(&got, state);
        }
        assert_eq!((place.left, place.data), (0, end));
        bytes.truncate(end);
        bytes
    }

    /// Looks for ascending targets in a block of these states.
    fn seek_all<K: Key>(states: &[Vec<u64>], targets: &[Vec<u64>]) {
        let words = states[0].len();
        for coding in codings(words, 64 * words) {
            seek_all_with::<K>(states, targets, &coding);
        }
    }

    fn seek_all_with<K: Key>(states: &[Vec<u64>], targets: &[Vec<u64>], coding: &Coding) {
        let words = states[0].len();
        let (mut streams, mut key) = (Streams::default(), K::zero(words));
        key.set(K::target(&states[0]));
        for state in &states[1..] {
            assert!(key.encode(K::target(state), coding, &mut streams));
        }
        let mut bytes = streams.controls.clone();
        bytes.extend_from_slice(&streams.data);
        let (left, control, data) = (states.len() - 1, 0, streams.controls.len());
        let mut place = Place { left, control, data };
        bytes.resize(bytes.len() + SLACK, 0xee);
        key.set(K::target(&states[0]));
        for target in targets {
            let wanted = states.iter().find(|state| *state >= target);
            if key.compare(K::target(target)) == Ordering::Less {
                let found = key.seek(coding, &bytes, &mut place, K::target(target));
                assert_eq!(found, wanted.is_some());
            }
            if let Some(wanted) = wanted {
                assert_eq!(key.compare(K::target(wanted)), Ordering::Equal);
            }
        }
    }

    proptest! {
        #[test]
        fn states_come_back(bits in prop_oneof![1..140usize, 140..700usize],
                            seeds in prop::collection::vec((any::<u64>(), 0..64u32), 2..60)) {
            let words = bits.div_ceil(64);
            let mut states: Vec<Vec<u64>> = Vec::new();
            for (seed, shift) in seeds {
                let mut state: Vec<u64> = (0..words as u64)
                    .map(|i| seed.rotate_left(i as u32 * 7).wrapping_mul(i + 3) >> shift << (shift / 2))
                    .collect();
                if !bits.is_multiple_of(64) {
                    state[words - 1] &= (1 << (bits % 64)) - 1;
                }
                states.push(state);
            }
            if words <= 2 {
                round_trip::<Narrow>(&states, bits);
            } else {
                round_trip::<Wide>(&states, bits);
            }
        }

        #[test]
        fn seeking_finds_the_first_that_is_not_less(
            words in 1..12usize,
            states in prop::collection::btree_set(prop::collection::vec(0..3u64, 11), 2..80),
            targets in prop::collection::btree_set(prop::collection::vec(0..3u64, 11), 1..40),
        ) {
            // Few values, so that states differ late, and in several words.
            let cut = |all: BTreeSet<Vec<u64>>| -> Vec<Vec<u64>> {
                let cut: BTreeSet<Vec<u64>> = all.iter().map(|state| state[..words].to_vec()).collect();
                cut.into_iter().collect()
            };
            let (states, targets) = (cut(states), cut(targets));
            if words <= 2 {
                seek_all::<Narrow>(&states, &targets);
            } else {
                seek_all::<Wide>(&states, &targets);
            }
        }

        #[test]
        fn any_bytes_are_harmless(words in 1..20usize, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let coding = Coding::new(words, words * 64);
            let mut place = Place { left: 50, control: 0, data: 20 };
            let mut again = place;
            let (mut narrow, mut wide) = (Narrow::zero(words), Wide::zero(words));
            while place.left > 0 {
                narrow.step(&coding, &bytes, &mut place);
            }
            while again.left > 0 {
                wide.step(&coding, &bytes, &mut again);
            }
        }
    }

    #[test]
    fn controls_are_small() {
        assert_eq!(Coding::new(1, 64).control, 1);
        assert_eq!(Coding::new(2, 80).control, 1);
        assert_eq!(Coding::new(2, 81).control, 2);
        assert_eq!(Coding::new(8, 512).control, 1);
        let counter: Vec<Vec<u64>> = (0..100).map(|i| vec![7, i]).collect();
        assert!(round_trip::<Narrow>(&counter, 72) <= 2 * 100);
    }

    #[test]
    fn bits_outside_of_the_shape_are_refused() {
        let (coding, mut streams) = (Coding::new(2, 72), Streams::default());
        assert!(Narrow(0, 0).encode((0, 255), &coding, &mut streams));
        assert!(!Narrow(0, 0).encode((0, 256), &coding, &mut streams));
    }
}
