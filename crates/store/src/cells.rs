//! The protocol of a line of interned keys: how workers agree, without locks, on the reference of a
//! key.
//!
//! A line is a cache line. It holds a few keys of `K` words, from the front, and behind them their
//! references of 32 bits, two to a word: five keys of one word, or three of two. So a look-up is one
//! miss; there is no second place where the key stands.
//!
//! A slot is free while its reference is zero. Slots are taken in order, and never given back: who
//! has seen that all taken slots hold other keys, and that one is free, knows that the key is not in
//! the table. Who wants a slot swaps its reference from zero to [`BUSY`], writes the key, and then
//! puts the reference in the place of `BUSY`, with release. Who meets `BUSY`, and did not find its
//! key elsewhere in the line, waits: it may be its own key that is being written. Keys are read
//! after references, which are read with acquire, and count only below a settled reference. All
//! changes of a word of references are read-modify-writes, so who reads a later one of its two
//! halves synchronises with the writers of both.
//!
//! Any key may be interned, zero too. The tests run the protocol under loom.

use super::slots::{LINE, Line};
use super::sync::{Ordering, spin_loop};

/// In the place of a reference: the key is being written.
const BUSY: u32 = u32::MAX;

/// The largest reference.
pub(crate) const MAX_REFERENCE: u32 = BUSY - 1;

/// What was found in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// The key, with this reference.
    Known(u32),
    /// Not the key, and this slot is free.
    Free(usize),
    /// Other keys only: try the next line.
    Crowded,
}

/// Keys of `words` words that a line has slots for.
pub(crate) const fn per_line(words: usize) -> usize {
    (2 * LINE) / (2 * words + 1)
}

/// The half of a word of references that belongs to a slot.
#[inline]
fn half(word: u64, slot: usize) -> u32 {
    (word >> (slot % 2 * 32)) as u32
}

/// Looks for a key in a line.
#[inline]
pub(crate) fn find<const K: usize>(line: &Line, key: [u64; K]) -> Cell {
    let slots = per_line(K);
    loop {
        let references: [u64; 3] = std::array::from_fn(|i| {
            if 2 * i < slots { line[K * slots + i].load(Ordering::Acquire) } else { 0 }
        });
        let reference = |slot: usize| half(references[slot / 2], slot);
        let mut equal = 0u32;
        for slot in 0..slots {
            let same = |k: usize| line[K * slot + k].load(Ordering::Relaxed) == key[k];
            equal |= u32::from((0..K).fold(true, |all, k| all & same(k))) << slot;
        }
        // A free slot looks like one with a key of zeros.
        while equal != 0 {
            let found = reference(equal.trailing_zeros() as usize);
            if found != 0 && found != BUSY {
                return Cell::Known(found);
            }
            equal &= equal - 1;
        }
        match (0..slots).find(|slot| reference(*slot) == 0 || reference(*slot) == BUSY) {
            None => return Cell::Crowded,
            Some(slot) if reference(slot) == 0 => return Cell::Free(slot),
            Some(_) => spin_loop(),
        }
    }
}

/// Puts a key and its reference into a slot that was found to be free; `false` if another worker was
/// faster: look again.
#[inline]
pub(crate) fn take<const K: usize>(line: &Line, slot: usize, key: [u64; K], own: u32) -> bool {
    debug_assert!(own != 0 && own != BUSY);
    let (word, shift) = (&line[K * per_line(K) + slot / 2], slot % 2 * 32);
    let seen = word.load(Ordering::Relaxed);
    let busy = seen | u64::from(BUSY) << shift;
    if half(seen, slot) != 0
        || word.compare_exchange(seen, busy, Ordering::Relaxed, Ordering::Relaxed).is_err()
    {
        return false;
    }
    for (k, part) in key.iter().enumerate() {
        line[K * slot + k].store(*part, Ordering::Relaxed);
    }
    word.fetch_xor(u64::from(BUSY ^ own) << shift, Ordering::Release);
    true
}

/// Puts a key that is not in the table and its reference into the first free slot of a line, if there
/// is one. For a table that nobody else uses.
#[inline]
pub(crate) fn put<const K: usize>(line: &Line, key: [u64; K], reference: u32) -> bool {
    for slot in 0..per_line(K) {
        let word = &line[K * per_line(K) + slot / 2];
        let seen = word.load(Ordering::Relaxed);
        if half(seen, slot) == 0 {
            for (k, part) in key.iter().enumerate() {
                line[K * slot + k].store(*part, Ordering::Relaxed);
            }
            word.store(seen | u64::from(reference) << (slot % 2 * 32), Ordering::Relaxed);
            return true;
        }
    }
    false
}

/// The keys of a line, with their references. For a line that no worker uses.
pub(crate) fn entries<const K: usize>(line: [u64; LINE]) -> impl Iterator<Item = ([u64; K], u32)> {
    let slots = per_line(K);
    (0..slots).filter_map(move |slot| {
        let reference = half(line[K * slots + slot / 2], slot);
        let key = std::array::from_fn(|k| line[K * slot + k]);
        (reference != 0).then_some((key, reference))
    })
}
