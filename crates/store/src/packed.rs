//! A cache line of packed slots that many workers append to.
//!
//! A line is 512 bits: slots of equal width from the bottom up, and on top of its last word the
//! number of slots in use and a lock. Slots are appended and never change. Invariants:
//! * The slots below the count are complete. Whoever reads the last word (acquire) may read them
//!   without the lock, because the count is raised (release) after the slot was written.
//! * Only who holds the lock writes. The lock is taken by exchanging the very word in which the
//!   worker read the count up to which it compared, so what it appends was not appended by another
//!   one in between; of workers with equal values exactly one appends.
//! * Bits of slots that are not in use are zero, so a slot is written by or-ing it in.
//!
//! A reader that finds its value never waits. One that does not find it in a locked line waits for
//! the few instructions of the writer: what is appended may be its value.

use crate::slots::{Claim, LINE, Line};
use crate::sync::{AtomicU64, Ordering, spin_loop};

/// The last word of a line, which holds its head.
pub(crate) const HEAD: usize = LINE - 1;

/// The lock of a line, in its last word.
pub(crate) const LOCK: u64 = 1 << 63;

/// Bits of a line.
const LINE_BITS: u32 = 512;

/// How slots lie in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packing {
    bits: u32,
    slots: u32,
    /// Where the count begins in the last word; it ends below the lock.
    count_at: u32,
    mask: u64,
    /// The lowest bits of a slot, which are not compared, and those that are.
    free: u32,
    compared: u64,
}

impl Packing {
    /// Slots of 1 to 64 bits, of which the lowest `free` are not compared.
    pub(crate) fn new(bits: u32, free: u32) -> Packing {
        debug_assert!((1..=64).contains(&bits) && free < bits);
        let fits = |slots: &u32| slots * bits + 1 + count_bits(*slots) <= LINE_BITS;
        let slots = (1..=LINE_BITS / bits).rev().find(fits).unwrap_or(1);
        let mask = u64::MAX >> (64 - bits);
        let compared = mask >> free << free;
        Packing { bits, slots, count_at: 63 - count_bits(slots), mask, free, compared }
    }

    /// Slots of a line.
    pub(crate) fn slots(self) -> u32 {
        self.slots
    }

    /// Bits of a slot that are not compared.
    #[inline]
    pub(crate) fn free(self) -> u32 {
        self.free
    }

    /// Slots in use, from the last word of a line.
    #[inline]
    pub(crate) fn count(self, head: u64) -> u32 {
        ((head & !LOCK) >> self.count_at) as u32
    }

    /// Whether all slots are in use.
    #[inline]
    pub(crate) fn is_full(self, line: &Line) -> bool {
        self.count(line[HEAD].load(Ordering::Relaxed)) == self.slots
    }

    /// Slot `i` of a line.
    #[inline]
    pub(crate) fn slot(self, words: &[u64; LINE], i: u32) -> u64 {
        read(words, i * self.bits) & self.mask
    }

    /// Whether one of the slots from `from` to below `to` holds `value`.
    #[inline]
    fn holds(self, words: &[u64; LINE], from: u32, to: u32, value: u64) -> bool {
        // How many slots are in use cannot be predicted: to look at all of them, used or not, took 27
        // instead of 36 ns per look-up (in the processor's cache). The compiler must know the width.
        let equal = match (self.bits, self.free) {
            (32, 0) => equal_slots::<32, 15>(words, value),
            (40, 0) => equal_slots::<40, 12>(words, value),
            (48, 0) => equal_slots::<48, 10>(words, value),
            (56, 0) => equal_slots::<56, 9>(words, value),
            (64, 0) => equal_slots::<64, 7>(words, value),
            _ => {
                let same = |i: u32| (self.slot(words, i) ^ value) & self.compared == 0;
                return (from..to).fold(false, |found, i| found | same(i));
            }
        };
        equal & ((1 << to) - (1 << from)) != 0
    }

    /// Looks for `value` in a line and appends it if it `may` be. Returns also how many slots it was
    /// compared with (if it was not found: all in use).
    #[inline]
    pub(crate) fn claim(self, line: &Line, value: u64, may: bool) -> (Claim, u32) {
        let (mut checked, mut waits) = (0, 0);
        loop {
            let head = line[HEAD].load(Ordering::Acquire);
            let count = self.count(head);
            if count > checked {
                if self.holds(&load(line, head), checked, count, value) {
                    return (Claim::Known, count);
                }
                checked = count;
            }
            if count == self.slots {
                return (Claim::Crowded, count);
            }
            if head & LOCK != 0 {
                wait(&mut waits);
            } else if !may {
                return (Claim::Refused, count);
            } else if lock(&line[HEAD], head) {
                self.append(line, head, value);
                return (Claim::Inserted, count);
            }
        }
    }

    /// Appends a value to a line that is not full and whose last word is `head` without the lock;
    /// unlocks it.
    #[inline]
    pub(crate) fn append(self, line: &Line, head: u64, value: u64) {
        let at = self.count(head) * self.bits;
        let (word, shift) = ((at / 64) as usize, at % 64);
        let mut head = head + (1 << self.count_at);
        let mut or = |word: usize, bits: u64| {
            if word == HEAD {
                head |= bits;
            } else if bits != 0 {
                let old = line[word].load(Ordering::Relaxed);
                line[word].store(old | bits, Ordering::Relaxed);
            }
        };
        or(word, value << shift);
        if shift + self.bits > 64 {
            or(word + 1, value >> (64 - shift));
        }
        line[HEAD].store(head, Ordering::Release);
    }
}

/// The 64 bits of a line from bit `at` on; beyond its end there is anything.
#[inline(always)]
fn read(words: &[u64; LINE], at: u32) -> u64 {
    let (word, shift) = ((at / 64) as usize, at % 64);
    words[word] >> shift | words[(word + 1) % LINE] << 1 << (63 - shift)
}

/// The set of those of `SLOTS` slots of `BITS` bits that hold `value`, used or not.
#[inline]
fn equal_slots<const BITS: u32, const SLOTS: u32>(words: &[u64; LINE], value: u64) -> u32 {
    let same = |i: u32| (read(words, i * BITS) ^ value) << (64 - BITS) == 0;
    (0..SLOTS).fold(0, |set, i| set | u32::from(same(i)) << i)
}

/// Takes the lock of a line whose last word was `head`, unless it has changed.
#[inline]
pub(crate) fn lock(last: &AtomicU64, head: u64) -> bool {
    last.compare_exchange(head, head | LOCK, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Waits for the holder of a lock; lets it run if it takes long.
#[inline]
pub(crate) fn wait(waits: &mut u32) {
    *waits += 1;
    if waits.is_multiple_of(64) {
        std::thread::yield_now();
    } else {
        spin_loop();
    }
}

/// The words of a line, of which the last one was read before.
#[inline]
pub(crate) fn load(line: &Line, head: u64) -> [u64; LINE] {
    std::array::from_fn(|i| if i == HEAD { head } else { line[i].load(Ordering::Relaxed) })
}

/// Bits of a count up to `slots`.
fn count_bits(slots: u32) -> u32 {
    u32::BITS - slots.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Line {
        std::array::from_fn(|_| AtomicU64::new(0))
    }

    #[test]
    fn lines_hold_as_many_slots_as_fit() {
        for (bits, slots) in [(4, 126), (12, 42), (32, 15), (40, 12), (46, 11), (48, 10), (64, 7)] {
            assert_eq!(Packing::new(bits, 0).slots(), slots, "{bits} bits");
        }
    }

    #[test]
    fn slots_of_every_width_come_back() {
        for bits in 1..=64 {
            let packing = Packing::new(bits, 0);
            let value =
                |i: u32| 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(u64::from(i) + 5) >> (64 - bits);
            let line = empty();
            for i in 0..packing.slots() {
                let head = line[HEAD].load(Ordering::Relaxed);
                assert_eq!(packing.count(head), i);
                assert!(!packing.is_full(&line));
                packing.append(&line, head, value(i));
                let words = load(&line, line[HEAD].load(Ordering::Relaxed));
                assert!((0..=i).all(|k| packing.slot(&words, k) == value(k)), "{bits} bits");
            }
            assert!(packing.is_full(&line));
            assert_eq!(line[HEAD].load(Ordering::Relaxed) & LOCK, 0);
        }
    }

    #[test]
    fn a_value_is_claimed_once() {
        for (bits, free) in [(4, 0), (11, 3), (48, 0), (64, 3)] {
            let (packing, line) = (Packing::new(bits, free), empty());
            assert_eq!(packing.claim(&line, 3 << free, false), (Claim::Refused, 0));
            for i in 0..packing.slots().min(16) {
                let value = u64::from(i) << free;
                assert_eq!(packing.claim(&line, value, true), (Claim::Inserted, i));
                assert_eq!(packing.claim(&line, value, true).0, Claim::Known);
                assert_eq!(packing.claim(&line, value | ((1 << free) - 1), false).0, Claim::Known);
            }
        }
        let (packing, line) = (Packing::new(64, 0), empty());
        (0..7).for_each(|i| assert_eq!(packing.claim(&line, i, true).0, Claim::Inserted));
        assert_eq!(packing.claim(&line, 7, true), (Claim::Crowded, 7));
    }

    #[test]
    fn workers_fill_a_line_together() {
        for _ in 0..300 {
            let (packing, line) = (Packing::new(12, 0), empty());
            let inserted = AtomicU64::new(0);
            std::thread::scope(|scope| {
                for worker in 0..3 {
                    let (line, inserted) = (&line, &inserted);
                    scope.spawn(move || {
                        for i in 0..40 {
                            let value = (i * 7 + worker) % 40;
                            if packing.claim(line, value, true).0 == Claim::Inserted {
                                inserted.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    });
                }
            });
            assert_eq!(inserted.into_inner(), 40);
            let head = line[HEAD].load(Ordering::Relaxed);
            let words = load(&line, head);
            let mut values: Vec<u64> = (0..40).map(|i| packing.slot(&words, i)).collect();
            values.sort_unstable();
            assert_eq!(values, (0..40).collect::<Vec<_>>());
        }
    }
}
