//! The protocol of a shared slot: how workers agree, without locks, on who was first.
//!
//! A slot is free while it holds zero and is written once. A line of slots is walked from a start
//! that depends on the hash, round to where it began; whoever meets a free slot before the value is
//! sure that the value is not in the table, because values are put into the first free slot of their
//! walk and are never taken away.
//!
//! *One word.* Walks begin with the first slot of a line. One look at all slots, without a branch per
//! slot, tells whether the value was seen (most offered states are known) and which slot is the first
//! that was seen free; from there on the walk goes slot by slot. The value takes the slot by one compare-and-swap from zero. Whoever loses looks at
//! what the winner wrote and goes on from there. The word is all there is, so no order between
//! different slots matters and all accesses are relaxed.
//!
//! *Several words.* The first word takes the slot as above, then the others are written. None is
//! ever zero, so who meets its own first word before a zero knows that the winner is about to write
//! another word there, and waits. A slot with another first word needs no waiting.
//!
//! *Reference.* A slot of the interning table holds 32 bits of the hash and a reference to the place
//! where the value stands. The value is written before the slot is taken, with release, and read
//! after the slot was read, with acquire.
//!
//! `models/self/table.m` is a model of the protocol for two words; the tests run all three under loom.

use super::sync::{AtomicU64, Ordering, spin_loop};

/// Words of a cache line.
pub(crate) const LINE: usize = 8;

/// A cache line of slots.
pub(crate) type Line = [AtomicU64; LINE];

/// What became of a value in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It was there.
    Known,
    /// It took a slot.
    Inserted,
    /// It is not in the table, and it may not take the free slot that it met.
    Refused,
    /// The line is full of other values: try the next one.
    Crowded,
}

/// Whether a line holds a value of several words, without a branch per slot: most offered states are
/// known, and where in the line they stand cannot be predicted. That a value is not found means
/// nothing.
#[inline]
pub(crate) fn holds_words<const W: usize>(line: &Line, value: [u64; W]) -> bool {
    line.as_chunks::<W>().0.iter().fold(false, |found, slot| {
        let same = |k: usize| slot[k].load(Ordering::Relaxed) == value[k];
        found | (0..W).fold(true, |all, k| all & same(k))
    })
}

/// What one look at all slots of a line found, each slot loaded once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Whether a slot held the value.
    pub found: bool,
    /// The first slot that was free, or [`LINE`].
    pub free: u32,
}

/// Looks at all slots of a line. `memory.rs` has a faster way.
#[inline]
pub(crate) fn look(line: &Line, value: u64) -> Seen {
    let mut seen = Seen { found: false, free: LINE as u32 };
    for (i, slot) in line.iter().enumerate().rev() {
        let word = slot.load(Ordering::Relaxed);
        seen.found |= word == value;
        seen.free = if word == 0 { i as u32 } else { seen.free };
    }
    seen
}

/// Looks for `value` (not zero) in a line that was just looked at, and puts it there if it `may` be.
/// Lines are walked from their first slot on.
#[inline]
pub(crate) fn claim_seen(line: &Line, value: u64, seen: Seen, may: bool) -> Claim {
    if seen.found {
        return Claim::Known;
    }
    if !may {
        return if seen.free < LINE as u32 { Claim::Refused } else { Claim::Crowded };
    }
    // The slots before the first free one hold other values, for good. Slots behind it may have been
    // seen taken, by a load that was later; they are tried all the same.
    for slot in line.iter().skip(seen.free as usize) {
        match slot.compare_exchange(0, value, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Claim::Inserted,
            Err(winner) if winner == value => return Claim::Known,
            Err(_) => {}
        }
    }
    Claim::Crowded
}

/// As [`claim_seen`], for several words (none of them zero), from slot `start` on.
#[inline]
pub(crate) fn claim_words<const W: usize>(
    line: &Line,
    start: usize,
    value: [u64; W],
    may: bool,
) -> Claim {
    let slots = line.as_chunks::<W>().0;
    for i in 0..slots.len() {
        let slot = &slots[(start + i) % slots.len()];
        let mut seen = slot[0].load(Ordering::Relaxed);
        if seen == 0 {
            if !may {
                return Claim::Refused;
            }
            match slot[0].compare_exchange(0, value[0], Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    for (word, own) in slot.iter().zip(value).skip(1) {
                        word.store(own, Ordering::Relaxed);
                    }
                    return Claim::Inserted;
                }
                Err(winner) => seen = winner,
            }
        }
        let mut others = slot.iter().zip(value).skip(1);
        if seen == value[0] && others.all(|(word, own)| settled(word) == own) {
            return Claim::Known;
        }
    }
    Claim::Crowded
}

/// A further word of a slot that was taken, as soon as it is written.
#[inline]
fn settled(word: &AtomicU64) -> u64 {
    loop {
        match word.load(Ordering::Relaxed) {
            0 => spin_loop(),
            word => return word,
        }
    }
}
