//! What the entries of a cache are worth: which one of a full set is forgotten.
//!
//! A state that was forgotten costs something only when it is found again: it is expanded again, and so is what
//! it leads to and was forgotten, and so on, which does not end if each forgotten state has more than one such
//! successor on average. So a cache keeps what is found again. In a breadth-first search every state is found
//! again by its own level and the next one: that says nothing. Who is found again *later* has transitions
//! that lead back to it, and there will be more of them.
//!
//! Each entry has a *note* of four bits. Until it is two levels old that is its level, modulo 8, and
//! it is worth as much as one that was met twice; then it is how often it was met since, up to seven times.
//! The least worth of sixteen entries is forgotten.
//!
//! Tried on the classic protocols, 64 ways, 0.6 of the entries, visits per state: 1.0 to 1.3, where random replacement
//! makes 1.0 to 6; n_peterson, eadash and newcache3 end, which did not, and ldash ends with neither. One bit
//! instead of a count, to count meetings in the next level as well, or to make less of what was passed over (as
//! clocks do): n_peterson and eadash do not end. Four times or nine times for young entries instead of twice, counts up
//! to three or thirteen, sixty-four entries to choose from: no difference beyond chance.
//!
//! Levels are known modulo 8, and notes are brought up to date when something in their sixteen is
//! forgotten: an entry that nobody looked at for eight levels may be taken for a young one. That only
//! makes the choice worse.

/// Notes of a word, and bits of one.
pub(crate) const NOTES: usize = 16;
const BITS: usize = 4;
/// Notes from here on are levels of young entries; below they are counts.
const YOUNG: u64 = 8;
/// Levels until an entry is not young any more.
const YOUTH: u64 = 2;
/// How often an entry must have been met to be worth as much as a young one.
const YOUNG_WORTH: u64 = 2;
/// The greatest count.
const MOST: u64 = YOUNG - 1;

/// The note of what is found in a level.
#[inline]
pub(crate) fn found(level: u64) -> u64 {
    YOUNG | (level % YOUNG)
}

/// A note of a word.
#[inline]
pub(crate) fn note(word: u64, at: usize) -> u64 {
    word >> (at * BITS) & 0xf
}

/// A word with another note.
#[inline]
pub(crate) fn noted(word: u64, at: usize, note: u64) -> u64 {
    word & !(0xf << (at * BITS)) | note << (at * BITS)
}

/// Whether a note says that the entry is young.
#[inline]
fn is_young(note: u64, level: u64) -> bool {
    note >= YOUNG && (level + YOUNG - note % YOUNG) % YOUNG < YOUTH
}

/// The note of an entry that was met again.
#[inline]
pub(crate) fn met(note: u64, level: u64) -> u64 {
    match note {
        count @ 0..YOUNG => (count + 1).min(MOST),
        _ if is_young(note, level) => note,
        _ => 1,
    }
}

/// Brings `len` notes (a power of two) up to date, from the one at `first` on, and returns the place of the least worth. Of
/// equals it is the next one after the place `from`, which should be a random one.
#[inline]
pub(crate) fn least(word: &mut u64, first: usize, len: usize, from: usize, level: u64) -> usize {
    let mut best = (u64::MAX, first);
    for i in 0..len {
        let at = first + ((from + i) & (len - 1));
        let mut worth = note(*word, at);
        if worth >= YOUNG {
            worth = if is_young(worth, level) {
                YOUNG_WORTH
            } else {
                *word = noted(*word, at, 0);
                0
            };
        }
        if worth < best.0 {
            best = (worth, at);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meetings_count_when_an_entry_is_two_levels_old() {
        for level in 0..20 {
            let young = found(level);
            assert_eq!([met(young, level), met(young, level + 1)], [young; 2]);
            assert_eq!(met(young, level + 2), 1);
            let often = (0..5).fold(young, |note, _| met(note, level + 3));
            assert_eq!(often, 5);
            assert_eq!((0..50).fold(young, |note, _| met(note, level + 3)), MOST);
        }
    }

    #[test]
    fn the_least_met_goes() {
        let level = 13;
        // Old ones that were met 3, 1, 7, 1, 2, 4 and 5 times, one that is no longer young.
        let notes = [3, 1, 7, 1, 2, 4, 5, found(level - 4)];
        let word = || (0..).zip(notes).fold(0, |word, (at, note)| noted(word, at, note));
        let mut all = word();
        assert_eq!(least(&mut all, 0, 8, 3, level), 7);
        assert_eq!(all, noted(word(), 7, 0), "what was young is not");
        for (from, goes) in [(0, 1), (1, 1), (2, 3), (3, 3)] {
            assert_eq!(least(&mut word(), 0, 4, from, level), goes);
        }
        // Among the first of those that were met twice and the young one chance decides.
        let mut two = noted(noted(0, 14, 2), 15, found(level));
        assert_eq!([0, 1].map(|from| least(&mut two, 14, 2, from, level)), [14, 15]);
        // Only what was asked for is looked at.
        assert_eq!(least(&mut word(), 4, 2, 0, level), 4);
    }
}
