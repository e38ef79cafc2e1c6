//! States of 64 and more bits in slots of eight or sixteen bytes: what the place of a slot tells is not
//! stored.
//!
//! A state of `bits` bits is first mixed, by a function with an inverse, into a well-spread word `t`
//! and the `bits - 64` bits of its further words as they are (Cleary's idea, 1984). Of a table of `L`
//! lines the *home* of the state is `t` scaled to `L`, the high word of the product `t * L`. Two
//! different `t` of one home differ by at least `L` in the low word of that product; so the low word
//! without its `log2 L` (rounded down) last bits tells them apart, and together with the further words
//! it is the *rest* of the state: home and rest give the state back. The number of lines need not
//! be a power of two, and homes are in the order of `t`: growth is a sequential pass.
//!
//! A state whose home is crowded goes on to its neighbour and then to lines given by home, rest and
//! the number of the step. The step stands in the slot, below the rest, counted from one (so no slot
//! is zero). From a line and a slot in it one computes the home, hence the state: equal slots in one
//! line are equal states, and the store is exact. A walk has [`STEPS`] lines; a state that finds all
//! of them crowded is kept [`Apart`]. A crowded line stays crowded, so whoever looks for that state
//! later comes to the same end and looks there, too. At a load of 13/16 that happens to about one
//! state in a million.
//!
//! States of up to two words have rests and slots of one word, states of three words of two (`S`).

use crate::hash::{mix, multiplied, unmix};
use crate::memory::Lines;
use crate::slots::{Claim, LINE};
use crate::table::{claim_in, put_in};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Bits of a slot that hold the step.
const STEP_BITS: u32 = 4;
/// Lines of a walk.
pub(crate) const STEPS: u64 = (1 << STEP_BITS) - 1;
/// Bits of the first word of a slot that hold the rest, and of a second one, which must not be zero.
const REST_BITS: [u32; 2] = [64 - STEP_BITS, 63];

/// A state, filled up with zeros.
pub(crate) type Full = [u64; 3];

/// How states are split between place and slot in a table of a given size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    /// Bits of the words behind the first one.
    low: u32,
    /// `log2` of the number of lines, rounded down.
    scale: u32,
}

/// A state as home and rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key<const S: usize> {
    home: usize,
    rest: [u64; S],
}

impl<const S: usize> Default for Key<S> {
    fn default() -> Self {
        Key { home: 0, rest: [0; S] }
    }
}

/// Words of the slots of states of so many words.
pub(crate) const fn slot_words(words: usize) -> usize {
    if words > 2 { 2 } else { 1 }
}

/// A rest as one number.
#[inline]
fn joined<const S: usize>(rest: [u64; S]) -> u128 {
    let high = if S > 1 { u128::from(rest[S - 1]) << REST_BITS[0] } else { 0 };
    u128::from(rest[0]) | high
}

/// The words of a rest.
#[inline]
fn parted<const S: usize>(rest: u128) -> [u64; S] {
    let mut words = [rest as u64; S];
    if S > 1 {
        words[0] &= (1 << REST_BITS[0]) - 1;
        words[S - 1] = (rest >> REST_BITS[0]) as u64;
    }
    words
}

/// The slot of a rest in the line of a step.
#[inline]
fn slot_of<const S: usize>(rest: [u64; S], step: u64) -> [u64; S] {
    let mut slot = rest.map(|word| word << 1 | 1);
    slot[0] = rest[0] << STEP_BITS | (step + 1);
    slot
}

/// What the first word of a state is mixed with.
#[inline]
fn mixer<const S: usize>(others: u128) -> u64 {
    let (low, high) = (others as u64, (others >> 64) as u64);
    if S == 1 { low } else { low ^ multiplied(high).rotate_left(32) }
}

impl Split {
    /// How states of `bits` bits are split in a table of `lines` lines, if their rests fit into slots.
    pub(crate) fn of(bits: usize, lines: usize) -> Option<Split> {
        let low = bits.checked_sub(64)? as u32;
        let scale = lines.checked_ilog2()?;
        let rest: u32 = REST_BITS[..slot_words(bits.div_ceil(64))].iter().sum();
        (bits <= 192 && 64 + low <= rest + scale).then_some(Split { low, scale })
    }

    /// Home and rest of a state of one to three words.
    #[inline]
    pub(crate) fn key<const W: usize, const S: usize>(
        self,
        lines: usize,
        state: &[u64; W],
    ) -> Key<S> {
        let word = |k: usize| if k < W { u128::from(state[k]) } else { 0 };
        let others = word(1) | word(2) << 64;
        debug_assert!(others >> self.low == 0, "bits that are not used are zero");
        self.key_of(lines, (mix(state[0], mixer::<S>(others)), others))
    }

    /// The mixed word and the further words of a state.
    #[inline]
    fn parts<const S: usize>(self, lines: usize, key: Key<S>) -> (u64, u128) {
        let rest = joined(key.rest);
        let others = rest & ((1 << self.low) - 1);
        // The one multiple of the number of lines that is not less than this, and less than 2^scale
        // above it.
        let from = (key.home as u128) << 64 | rest >> self.low << self.scale;
        let mixed = if lines.is_power_of_two() {
            (from >> self.scale) as u64
        } else {
            from.div_ceil(lines as u128) as u64
        };
        (mixed, others)
    }

    /// Home and rest of a state, from the parts.
    #[inline]
    fn key_of<const S: usize>(self, lines: usize, (mixed, others): (u64, u128)) -> Key<S> {
        let product = u128::from(mixed) * lines as u128;
        let top = product as u64 >> self.scale;
        let rest = if S == 1 {
            [top << self.low | others as u64; S]
        } else {
            parted(u128::from(top) << self.low | others)
        };
        Key { home: (product >> 64) as usize, rest }
    }

    /// The state of a home and a rest.
    #[inline]
    pub(crate) fn state<const S: usize>(self, lines: usize, key: Key<S>) -> Full {
        let (mixed, others) = self.parts(lines, key);
        [unmix(mixed, mixer::<S>(others)), others as u64, (others >> 64) as u64]
    }

    /// The line of a step (from zero on).
    #[inline]
    pub(crate) fn line<const S: usize>(self, lines: usize, key: Key<S>, step: u64) -> usize {
        if step < 2 {
            // The number of lines is even.
            return key.home ^ step as usize;
        }
        let line = key.home + jump(lines, key.rest, step);
        (if line >= lines { line - lines } else { line }) ^ (step as usize & 1)
    }

    /// Home and rest of what stands in a slot of `line`.
    #[inline]
    fn key_at<const S: usize>(self, lines: usize, line: usize, slot: [u64; S]) -> Key<S> {
        let mut rest = slot.map(|word| word >> 1);
        rest[0] = slot[0] >> STEP_BITS;
        let step = (slot[0] & STEPS) - 1;
        let line = line ^ (step as usize & 1);
        if step < 2 {
            return Key { home: line, rest };
        }
        let jump = jump(lines, rest, step);
        let home = if line >= jump { line - jump } else { line + lines - jump };
        Key { home, rest }
    }

    /// Hands the states of a line to `each`: homes and rests in a table of `more` lines, which are
    /// split by `new`.
    #[inline]
    pub(crate) fn each<const S: usize>(
        self,
        (lines, line): (usize, usize),
        words: [u64; LINE],
        (new, more): (Split, usize),
        mut each: impl FnMut(Key<S>),
    ) {
        for slot in taken(&words) {
            each(new.key_of(more, self.parts(lines, self.key_at::<S>(lines, line, slot))));
        }
    }

    /// Hands the states of a line to `each`.
    pub(crate) fn states<const S: usize>(
        self,
        (lines, line): (usize, usize),
        words: [u64; LINE],
        mut each: impl FnMut(Full),
    ) {
        for slot in taken(&words) {
            each(self.state(lines, self.key_at::<S>(lines, line, slot)));
        }
    }

    /// Looks for a state in the line of one step and puts it there if it `may` be.
    #[inline(always)] // or every state pays for a call
    pub(crate) fn claim_at<const S: usize>(
        self,
        lines: &Lines,
        key: Key<S>,
        step: u64,
        may: bool,
    ) -> Claim {
        let line = lines.line(self.line(lines.count(), key, step));
        claim_in(line, 0, slot_of(key.rest, step), may)
    }

    /// Looks for a state in all lines of its walk and puts it into the first free slot if it `may`
    /// be. If all are crowded, it stands apart or nowhere.
    #[inline]
    pub(crate) fn claim<const S: usize>(self, lines: &Lines, key: Key<S>, may: bool) -> Claim {
        for step in 0..STEPS {
            let claim = self.claim_at(lines, key, step, may);
            if claim != Claim::Crowded {
                return claim;
            }
        }
        Claim::Crowded
    }

    /// Enters a state that is not in the table, nor crowded out of it; `None` if its walk comes to a line that is not one of its `own`,
    /// which nobody else uses.
    #[inline]
    pub(crate) fn enter<const S: usize>(
        self,
        lines: &Lines,
        own: &Range<usize>,
        key: Key<S>,
    ) -> Option<Claim> {
        for step in 0..STEPS {
            let line = self.line(lines.count(), key, step);
            if !own.contains(&line) {
                return None;
            }
            if put_in(lines.line(line), 0, slot_of(key.rest, step)) {
                return Some(Claim::Inserted);
            }
        }
        Some(Claim::Crowded)
    }
}

/// The slots of a line that are taken: slots are taken in order.
#[inline]
fn taken<const S: usize>(words: &[u64; LINE]) -> impl Iterator<Item = [u64; S]> {
    words.as_chunks::<S>().0.iter().copied().take_while(|slot| slot[0] != 0)
}

/// How far from home a walk is at a step from the third on: both lines of a pair are as far.
#[inline]
fn jump<const S: usize>(lines: usize, rest: [u64; S], step: u64) -> usize {
    let rest = if S == 1 { rest[0] } else { rest[0] ^ multiplied(rest[S - 1]) };
    // The number of lines is even: an even jump keeps neighbours neighbours.
    let hash = multiplied(rest ^ (step / 2) << 59);
    ((u128::from(hash) * (lines / 2) as u128) >> 64) as usize * 2
}

/// States for which all lines of their walk were crowded.
#[derive(Debug, Default)]
pub(crate) struct Apart {
    states: Mutex<BTreeSet<Full>>,
    /// How many there are; searches ask for that all the time.
    count: AtomicU64,
}

impl Apart {
    /// Looks for a state and keeps it if it `may` be.
    #[cold]
    pub(crate) fn claim(&self, state: Full, may: bool) -> Claim {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        match may {
            false if states.contains(&state) => Claim::Known,
            false => Claim::Refused,
            true if states.insert(state) => {
                self.count.fetch_add(1, Ordering::Relaxed);
                Claim::Inserted
            }
            true => Claim::Known,
        }
    }

    /// Takes all out.
    pub(crate) fn take(&mut self) -> BTreeSet<Full> {
        self.count.store(0, Ordering::Relaxed);
        std::mem::take(self.states.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Hands all states to `each`.
    pub(crate) fn each(&self, each: impl FnMut(&Full)) {
        self.states.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(each);
    }

    /// Bytes in use, about.
    pub(crate) fn bytes(&self) -> u64 {
        self.count.load(Ordering::Relaxed) * 40
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(*seed, 0)
    }

    /// States of `bits` bits in `W` words come back from all lines of their walks in tables of
    /// `least` lines and some more.
    fn come_back<const W: usize, const S: usize>(bits: usize, least: usize) {
        let mut seed = 1;
        for lines in [least, least + 2, least + least / 2 + 2, 3 * least - 2] {
            let split = Split::of(bits, lines).expect("large enough");
            for i in 0..2000 {
                let mut state: [u64; W] = std::array::from_fn(|_| random(&mut seed));
                state[0] = [0, u64::MAX, i, i << 40, state[0]][i as usize % 5];
                if !bits.is_multiple_of(64) {
                    state[W - 1] &= (1 << (bits % 64)) - 1;
                }
                let key = split.key::<W, S>(lines, &state);
                assert!(key.home < lines);
                assert!((0..S).all(|k| key.rest[k] >> REST_BITS[k] == 0));
                assert_eq!(split.state(lines, key)[..W], state);
                for step in 0..STEPS {
                    let line = split.line(lines, key, step);
                    assert!(line < lines);
                    let slot = slot_of(key.rest, step);
                    assert!(slot.iter().all(|word| *word != 0));
                    assert_eq!(split.key_at(lines, line, slot), key);
                }
            }
        }
    }

    #[test]
    fn every_state_comes_back_from_every_place() {
        come_back::<1, 1>(64, 16);
        for bits in [65, 70, 76, 90] {
            come_back::<2, 1>(bits, 1 << (bits - 60));
        }
        for bits in [129, 137, 139, 143] {
            come_back::<3, 2>(bits, 1 << (bits - 123));
        }
    }

    #[test]
    fn too_small_tables_do_not_split() {
        assert!(Split::of(63, 1 << 20).is_none());
        assert!(Split::of(64, 15).is_none() && Split::of(64, 16).is_some());
        assert!(Split::of(70, 1023).is_none() && Split::of(70, 1024).is_some());
        assert!(Split::of(126, 1 << 40).is_none());
        assert!(Split::of(70, 0).is_none());
        assert!(Split::of(133, 1023).is_none() && Split::of(133, 1024).is_some());
        assert!(Split::of(193, usize::MAX).is_none());
    }
}
