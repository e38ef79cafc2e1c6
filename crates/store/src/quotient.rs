//! States of 64 and more bits in slots of eight bytes: what the place of a slot tells is not stored.
//!
//! A state of `bits` bits is first mixed, by a function with an inverse, into a well-spread word `t`
//! and the `bits - 64` bits of its second word as they are (Cleary's idea, 1984). Of a table of `L`
//! lines the *home* of the state is `t` scaled to `L`, the high word of the product `t * L`. Two
//! different `t` of one home differ by at least `L` in the low word of that product; so the low word
//! without its `log2 L` (rounded down) last bits tells them apart, and together with the second word
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

use crate::hash::{mix, multiplied, unmix};
use crate::memory::{Lines, look};
use crate::slots::{Claim, LINE, claim_seen};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Bits of a slot that hold the step.
const STEP_BITS: u32 = 4;
/// Lines of a walk.
pub(crate) const STEPS: u64 = (1 << STEP_BITS) - 1;
/// Bits of a slot that hold the rest.
const REST_BITS: u32 = 64 - STEP_BITS;

/// How states are split between place and slot in a table of a given size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    /// Bits of the second word.
    low: u32,
    /// `log2` of the number of lines, rounded down.
    scale: u32,
}

/// A state as home and rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Key {
    home: usize,
    rest: u64,
}

impl Split {
    /// How states of `bits` bits are split in a table of `lines` lines, if their rests fit into slots.
    pub(crate) fn of(bits: usize, lines: usize) -> Option<Split> {
        let low = bits.checked_sub(64)? as u32;
        let scale = lines.checked_ilog2()?;
        (64 + low <= REST_BITS + scale && low < 64).then_some(Split { low, scale })
    }

    /// Home and rest of a state of one or two words.
    #[inline]
    pub(crate) fn key<const W: usize>(self, lines: usize, state: &[u64; W]) -> Key {
        let second = if W == 1 { 0 } else { state[W - 1] };
        debug_assert!(second >> self.low == 0, "bits that are not used are zero");
        self.key_of(lines, (mix(state[0], second), second))
    }

    /// The mixed word and the second word of a state.
    #[inline]
    fn parts(self, lines: usize, key: Key) -> (u64, u64) {
        let second = key.rest & ((1 << self.low) - 1);
        // The one multiple of the number of lines that is not less than this, and less than 2^scale
        // above it.
        let from = (key.home as u128) << 64 | u128::from(key.rest >> self.low << self.scale);
        let mixed = if lines.is_power_of_two() {
            (from >> self.scale) as u64
        } else {
            from.div_ceil(lines as u128) as u64
        };
        (mixed, second)
    }

    /// Home and rest of a state, from the parts.
    #[inline]
    fn key_of(self, lines: usize, (mixed, second): (u64, u64)) -> Key {
        let product = u128::from(mixed) * lines as u128;
        let rest = product as u64 >> self.scale << self.low | second;
        Key { home: (product >> 64) as usize, rest }
    }

    /// The state of a home and a rest.
    #[inline]
    pub(crate) fn state(self, lines: usize, key: Key) -> [u64; 2] {
        let (mixed, second) = self.parts(lines, key);
        [unmix(mixed, second), second]
    }

    /// The line of a step (from zero on).
    #[inline]
    pub(crate) fn line(self, lines: usize, key: Key, step: u64) -> usize {
        if step < 2 {
            // The number of lines is even.
            return key.home ^ step as usize;
        }
        let line = key.home + jump(lines, key.rest, step);
        (if line >= lines { line - lines } else { line }) ^ (step as usize & 1)
    }

    /// Home and rest of what stands in a slot of `line`.
    #[inline]
    fn key_at(self, lines: usize, line: usize, slot: u64) -> Key {
        let (rest, step) = (slot >> STEP_BITS, (slot & STEPS) - 1);
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
    pub(crate) fn each(
        self,
        (lines, line): (usize, usize),
        slots: [u64; LINE],
        (new, more): (Split, usize),
        mut each: impl FnMut(Key),
    ) {
        for slot in slots.into_iter().take_while(|slot| *slot != 0) {
            each(new.key_of(more, self.parts(lines, self.key_at(lines, line, slot))));
        }
    }

    /// Hands the states of a line to `each`.
    pub(crate) fn states(
        self,
        lines: usize,
        line: usize,
        slots: [u64; LINE],
        mut each: impl FnMut([u64; 2]),
    ) {
        for slot in slots.into_iter().take_while(|slot| *slot != 0) {
            each(self.state(lines, self.key_at(lines, line, slot)));
        }
    }

    /// Looks for a state in the line of one step and puts it there if it `may` be.
    #[inline]
    pub(crate) fn claim_at(self, lines: &Lines, key: Key, step: u64, may: bool) -> Claim {
        let line = lines.line(self.line(lines.count(), key, step));
        let slot = key.rest << STEP_BITS | (step + 1);
        claim_seen(line, slot, look(line, slot), may)
    }

    /// Looks for a state in all lines of its walk and puts it into the first free slot if it `may`
    /// be. If all are crowded, it stands apart or nowhere.
    #[inline]
    pub(crate) fn claim(self, lines: &Lines, key: Key, may: bool) -> Claim {
        for step in 0..STEPS {
            let claim = self.claim_at(lines, key, step, may);
            if claim != Claim::Crowded {
                return claim;
            }
        }
        Claim::Crowded
    }
}

/// How far from home a walk is at a step from the third on: both lines of a pair are as far.
#[inline]
fn jump(lines: usize, rest: u64, step: u64) -> usize {
    // The number of lines is even: an even jump keeps neighbours neighbours.
    let hash = multiplied(rest ^ (step / 2) << 59);
    ((u128::from(hash) * (lines / 2) as u128) >> 64) as usize * 2
}

/// States for which all lines of their walk were crowded.
#[derive(Debug, Default)]
pub(crate) struct Apart {
    states: Mutex<HashSet<[u64; 2]>>,
}

impl Apart {
    /// Looks for a state and keeps it if it `may` be.
    #[cold]
    pub(crate) fn claim(&self, state: [u64; 2], may: bool) -> Claim {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        match may {
            false if states.contains(&state) => Claim::Known,
            false => Claim::Refused,
            true if states.insert(state) => Claim::Inserted,
            true => Claim::Known,
        }
    }

    /// Takes all out.
    pub(crate) fn take(&mut self) -> HashSet<[u64; 2]> {
        std::mem::take(self.states.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Hands all states to `each`.
    pub(crate) fn each(&self, each: impl FnMut(&[u64; 2])) {
        self.states.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(each);
    }

    /// Bytes in use, about.
    pub(crate) fn bytes(&self) -> u64 {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.capacity() as u64 * 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(*seed, 0)
    }

    #[test]
    fn every_state_comes_back_from_every_place() {
        let mut seed = 1;
        for bits in [64usize, 65, 70, 76, 90] {
            let least = 1usize << (bits - 60);
            for lines in [least, least + 2, least + least / 2 + 2, 3 * least - 2] {
                let split = Split::of(bits, lines).expect("large enough");
                for i in 0..2000 {
                    let word = [0, u64::MAX, i, i << 40, random(&mut seed)][i as usize % 5];
                    let second = random(&mut seed) & ((1 << (bits - 64)) - 1);
                    let key = split.key(lines, &[word, second]);
                    assert!(key.home < lines && key.rest >> REST_BITS == 0);
                    assert_eq!(split.state(lines, key), [word, second]);
                    for step in 0..STEPS {
                        let line = split.line(lines, key, step);
                        assert!(line < lines);
                        let slot = key.rest << STEP_BITS | (step + 1);
                        assert_eq!(split.key_at(lines, line, slot), key);
                    }
                }
            }
        }
    }

    #[test]
    fn too_small_tables_do_not_split() {
        assert!(Split::of(63, 1 << 20).is_none());
        assert!(Split::of(64, 15).is_none() && Split::of(64, 16).is_some());
        assert!(Split::of(70, 1023).is_none() && Split::of(70, 1024).is_some());
        assert!(Split::of(126, 1 << 40).is_none());
        assert!(Split::of(70, 0).is_none());
    }
}
