//! A block of sorted states: groups, of which those that nobody asks for are passed over.
//!
//! The first state of a block stands in full. Its states are taken in groups of [`GROUP`]; the first of each
//! group stands as the difference from the first of the group before, the others as the difference from the
//! state before (see [`super::code`]). So whoever looks for a state goes from group to group until the next
//! one begins behind it, and only then from state to state.
//!
//! ```text
//! count (32 bits) | first state | bytes of the data of the firsts (32 bits)
//!     | controls of the firsts | data of the firsts | bytes of the data of each group but the last
//!     | controls of the others | data of the others
//! ```
//!
//! Invariants: all groups but the last have [`GROUP`] states; states ascend. Whatever the bytes of a block are,
//! reading it neither panics nor reads outside of it.

use super::code::{Coding, Key, Place, Streams};
use std::cmp::Ordering;

/// States of a group. The more, the fewer bytes for their firsts; the fewer, the less is read in vain.
const GROUP: usize = 32;

/// Bytes of the numbers in front.
const NUMBER: usize = 4;

/// Bytes of a block before its first control.
fn front(coding: &Coding) -> usize {
    2 * NUMBER + 8 * coding.words
}

/// Words of states of which a group has less than 2¹⁶ bytes of data, with 9 for each word.
const FEW_WORDS: usize = 200;
const _: () = assert!(GROUP * 9 * FEW_WORDS < 1 << 16);

/// Bytes of the number of bytes of a group.
#[inline]
fn length_bytes(coding: &Coding) -> usize {
    if coding.words <= FEW_WORDS { 2 } else { 4 }
}

/// The number of states of a block, which is not zero, and its first state.
pub(super) fn head(payload: &[u8], words: usize) -> Option<(u32, Vec<u64>)> {
    let (count, rest) = payload.split_first_chunk::<NUMBER>()?;
    if *count == [0; NUMBER] {
        return None;
    }
    let (first, _) = rest.get(..8 * words)?.as_chunks::<8>();
    let first = first.iter().map(|word| u64::from_le_bytes(*word)).collect();
    Some((u32::from_le_bytes(*count), first))
}

/// A block in the making.
pub(super) struct Builder<K> {
    count: u32,
    /// The first state of the block, that of the last group, and the last state.
    start: Vec<u64>,
    first: K,
    last: K,
    firsts: Streams,
    others: Streams,
    /// Bytes of the groups so far, and where the data of the last one begins.
    lengths: Vec<u8>,
    group_from: usize,
}

impl<K: Key> Builder<K> {
    pub fn new(coding: &Coding) -> Builder<K> {
        Builder {
            count: 0,
            start: Vec::new(),
            first: K::zero(coding.words),
            last: K::zero(coding.words),
            firsts: Streams::default(),
            others: Streams::default(),
            lengths: Vec::new(),
            group_from: 0,
        }
    }

    /// States so far.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The first state.
    pub fn start(&self) -> &[u64] {
        &self.start
    }

    /// Appends a state, which is greater than all before. `false` if it has bits that its shape excludes.
    #[inline]
    pub fn push(&mut self, state: K::Target<'_>, coding: &Coding) -> bool {
        if !(self.count as usize).is_multiple_of(GROUP) {
            self.count += 1;
            return self.last.encode(state, coding, &mut self.others);
        }
        let mut fits = true;
        if self.count == 0 {
            self.first.set(state);
            K::append(state, coding.words, &mut self.start);
        } else {
            fits = self.first.encode(state, coding, &mut self.firsts);
            let length = (self.others.data.len() - self.group_from) as u32;
            self.lengths.extend_from_slice(&length.to_le_bytes()[..length_bytes(coding)]);
        }
        self.group_from = self.others.data.len();
        self.last.set(state);
        self.count += 1;
        fits
    }

    /// Bytes of the block as it is.
    pub fn bytes(&self, coding: &Coding) -> usize {
        front(coding) + self.firsts.len() + self.lengths.len() + self.others.len()
    }

    /// Appends the block to `out`, and begins another one.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.count.to_le_bytes());
        for word in self.start.drain(..) {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&(self.firsts.data.len() as u32).to_le_bytes());
        out.append(&mut self.firsts.controls);
        out.append(&mut self.firsts.data);
        out.append(&mut self.lengths);
        out.append(&mut self.others.controls);
        out.append(&mut self.others.data);
        (self.count, self.group_from) = (0, 0);
    }
}

/// Where reading stands in a block. The current state is kept beside it.
pub(super) struct Inside<K> {
    /// In the current group.
    group: Place,
    /// States behind the current group.
    behind: usize,
    /// The first state of the next group, if there is one, and where its controls and data begin.
    next: K,
    controls: usize,
    data: usize,
    /// In the firsts of groups, behind that one; and where the number of bytes of the group behind it stands.
    firsts: Place,
    lengths: usize,
    end: usize,
}

impl<K: Key> Inside<K> {
    /// In no block.
    pub fn new(coding: &Coding) -> Inside<K> {
        let (group, firsts) = (Place::default(), Place::default());
        let next = K::zero(coding.words);
        Inside { group, behind: 0, next, controls: 0, data: 0, firsts, lengths: 0, end: 0 }
    }

    /// Goes to the beginning of a block of so many states, which stands in a buffer from `from` to `end`;
    /// `first` is its first state.
    pub fn enter(
        &mut self,
        coding: &Coding,
        buffer: &[u8],
        (from, end): (usize, usize),
        count: usize,
        first: K::Target<'_>,
    ) {
        let groups = count.div_ceil(GROUP);
        let at = from + NUMBER + 8 * coding.words;
        let data_of_firsts = number(buffer, at, NUMBER);
        let controls = from + front(coding);
        let data = controls + (groups - 1) * coding.control;
        self.firsts = Place { left: groups - 1, control: controls, data };
        self.lengths = data + data_of_firsts;
        self.controls = self.lengths + (groups - 1) * length_bytes(coding);
        self.data = self.controls + (count - groups) * coding.control;
        (self.behind, self.end) = (count, end);
        self.next.set(first);
        self.begin_group(coding, buffer);
    }

    /// Goes on to the next group, whose first state is `next`, and finds out about the one behind it.
    #[inline]
    fn begin_group(&mut self, coding: &Coding, buffer: &[u8]) {
        let left = self.behind.min(GROUP) - 1;
        self.group = Place { left, control: self.controls, data: self.data };
        self.behind -= left + 1;
        self.controls += left * coding.control;
        if self.behind > 0 {
            self.next.step(coding, buffer, &mut self.firsts);
            self.data += number(buffer, self.lengths, length_bytes(coding));
            self.lengths += length_bytes(coding);
        }
    }

    /// Takes the first state of the next group; `false` if there is none.
    #[inline]
    fn next_group(&mut self, key: &mut K, coding: &Coding, buffer: &[u8]) -> bool {
        if self.behind == 0 {
            return false;
        }
        key.set(self.next.as_target());
        self.begin_group(coding, buffer);
        true
    }

    /// Goes on to the next state; `false` behind the last one.
    #[inline]
    pub fn step(&mut self, key: &mut K, coding: &Coding, buffer: &[u8]) -> bool {
        if self.group.left == 0 {
            return self.next_group(key, coding, buffer);
        }
        key.step(coding, buffer, &mut self.group);
        true
    }

    /// Goes on until the key, which is less than `target`, is not; `false` if the block ends before.
    #[inline]
    pub fn seek(
        &mut self,
        key: &mut K,
        coding: &Coding,
        buffer: &[u8],
        target: K::Target<'_>,
    ) -> bool {
        let mut moved = false;
        while self.behind > 0 && !K::less(target, self.next.as_target()) {
            moved = self.next_group(key, coding, buffer);
        }
        if moved && key.compare(target) == Ordering::Equal {
            return true;
        }
        key.seek(coding, buffer, &mut self.group, target) || self.next_group(key, coding, buffer)
    }

    /// Whether reading stands at the end of the block.
    pub fn is_at_end(&self) -> bool {
        self.behind == 0 && self.group.left == 0 && self.group.data == self.end
    }
}

/// A number of a few bytes; zero where there are none.
#[inline]
fn number(buffer: &[u8], at: usize, bytes: usize) -> usize {
    let found = buffer.get(at..).and_then(|rest| rest.get(..bytes)).unwrap_or_default();
    found.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::super::code::{Narrow, SLACK, Wide};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// A block of these states in a buffer that begins with other bytes, and where it stands.
    fn block<K: Key>(coding: &Coding, states: &[Vec<u64>]) -> (Vec<u8>, (usize, usize)) {
        let mut builder = Builder::<K>::new(coding);
        let mut buffer = vec![0xee; 5];
        for state in states {
            assert!(builder.push(K::target(state), coding));
        }
        assert_eq!((builder.count() as usize, builder.start()), (states.len(), &states[0][..]));
        let (from, bytes) = (buffer.len(), builder.bytes(coding));
        builder.finish(&mut buffer);
        assert_eq!(buffer.len(), from + bytes);
        assert_eq!((builder.count(), builder.bytes(coding)), (0, front(coding)));
        let found = head(&buffer[from..], coding.words);
        assert_eq!(found, Some((states.len() as u32, states[0].clone())));
        buffer.resize(from + bytes + SLACK, 0xee);
        (buffer, (from, from + bytes))
    }

    /// Reads a block through, and looks for ascending targets in it.
    fn round_trip<K: Key>(states: &[Vec<u64>], targets: &[Vec<u64>]) {
        let words = states[0].len();
        let coding = Coding::new(words, 64 * words);
        let (buffer, place) = block::<K>(&coding, states);
        let (mut key, mut inside) = (K::zero(words), Inside::new(&coding));
        key.set(K::target(&states[0]));
        inside.enter(&coding, &buffer, place, states.len(), key.as_target());
        for (i, state) in states.iter().enumerate() {
            assert_eq!(key.compare(K::target(state)), Ordering::Equal);
            let more = i + 1 < states.len();
            assert_eq!(inside.is_at_end(), !more);
            assert_eq!(inside.step(&mut key, &coding, &buffer), more);
        }
        key.set(K::target(&states[0]));
        inside.enter(&coding, &buffer, place, states.len(), key.as_target());
        for target in targets {
            let wanted = states.iter().find(|state| *state >= target);
            if key.compare(K::target(target)) == Ordering::Less {
                let found = inside.seek(&mut key, &coding, &buffer, K::target(target));
                assert_eq!(found, wanted.is_some());
            }
            match wanted {
                Some(wanted) => assert_eq!(key.compare(K::target(wanted)), Ordering::Equal),
                None => assert!(inside.is_at_end()),
            }
        }
    }

    proptest! {
        #[test]
        fn states_come_back_and_are_found(
            words in 1..9usize,
            states in prop::collection::btree_set(prop::collection::vec(0..700u64, 9), 1..200),
            targets in prop::collection::btree_set(prop::collection::vec(0..700u64, 9), 1..30),
        ) {
            // Few values in the first words, so that states differ late, and in several words.
            let cut = |all: BTreeSet<Vec<u64>>| -> Vec<Vec<u64>> {
                let cut = |state: &Vec<u64>| -> Vec<u64> {
                    (0..words).map(|i| if i + 2 < words { state[i] % 2 } else { state[i] << (8 * i) }).collect()
                };
                all.iter().map(cut).collect::<BTreeSet<_>>().into_iter().collect()
            };
            let (states, mut targets) = (cut(states), cut(targets));
            targets.extend(states.iter().step_by(7).cloned());
            targets.sort();
            if words <= 2 {
                round_trip::<Narrow>(&states, &targets);
            } else {
                round_trip::<Wide>(&states, &targets);
            }
        }

        #[test]
        fn any_bytes_are_harmless(
            words in 1..12usize,
            count in 1..300usize,
            bytes in prop::collection::vec(any::<u8>(), 0..400),
        ) {
            fn read<K: Key>(coding: &Coding, bytes: &[u8], count: usize) {
                let target = vec![u64::MAX / 3; coding.words];
                let (mut key, mut inside) = (K::zero(coding.words), Inside::<K>::new(coding));
                inside.enter(coding, bytes, (0, bytes.len()), count, K::target(&target));
                let mut steps = 1;
                while inside.step(&mut key, coding, bytes) {
                    steps += 1;
                }
                assert_eq!(steps, count);
                inside.enter(coding, bytes, (0, bytes.len()), count, K::target(&target));
                inside.seek(&mut key, coding, bytes, K::target(&target));
            }
            let coding = Coding::new(words, 64 * words);
            if words <= 2 {
                read::<Narrow>(&coding, &bytes, count);
            } else {
                read::<Wide>(&coding, &bytes, count);
            }
        }
    }
}
