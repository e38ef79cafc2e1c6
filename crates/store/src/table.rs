//! The size and the growth of a table of lines.
//!
//! The line of a value is the top of its hash scaled to the number of lines, so a table of any
//! number of lines can be used, and lines are in the order of hashes. Growth (`growth.rs`) is one pass
//! over the table that writes it anew nearly in order; only values that had found their line crowded
//! jump. A value that meets a crowded line goes on in its neighbour, the other half of 128 aligned
//! bytes, which processors tend to load together, and then in lines given by further hashes.

use crate::hash::rehash;
use crate::memory::{Lines, look};
use crate::slots::{Claim, LINE, Line, claim_seen, claim_words, holds_words};
use crate::sync::Ordering;
use std::ops::Range;

/// Tables from this number of lines on (256 MiB) grow by a quarter: moving is cheap against finding
/// the states, memory is not.
const LARGE: usize = 1 << 22;

/// Tables of fewer lines (1 MiB) grow by half as soon as anything is foreseen.
const SMALL: usize = 1 << 14;

/// Tables of at most so many lines (16 KiB) are small to begin with and become nearly full: most models have some hundred states, which
/// should not take more for being few. They lie in the first cache, where to look at a further line costs next to nothing. (But to
/// move states does: with steps of two fifths a run of 3,000 states took a fifth longer.)
const TINY: usize = 1 << 8;
/// Slots in use out of 16 at which such a table is full.
const TINY_LOAD: usize = 15;

/// Whether a table of so many lines takes next to nothing, in memory and in time.
pub(crate) fn is_tiny(lines: usize) -> bool {
    lines <= TINY
}

/// How large a table is, at first and at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizing {
    /// Lines of the first table, an even number.
    pub first: usize,
    /// Slots in use out of 16 at which a table is full. Beyond 13 the lines that are crowded cost more
    /// than the memory is worth: 14 was 10 % slower in slots of one word. In slots of two words 13
    /// instead of 11 costs 5 ns of 36 in a table that is nearly full, which moving it less often
    /// gives back.
    pub load: usize,
    /// Tables of fewer lines double, if they are not [`TINY`], larger ones grow by half.
    pub doubles: usize,
    /// By how many eighths of their lines tables that are [`TINY`] grow.
    pub eighths: usize,
}

impl Default for Sizing {
    fn default() -> Sizing {
        Sizing { first: 2, load: 13, doubles: 1 << 20, eighths: 7 }
    }
}

impl Sizing {
    /// Values for which `lines` lines have room, at `per_line` slots per line.
    pub(crate) fn room(self, lines: usize, per_line: usize) -> u64 {
        let load = if is_tiny(lines) { self.load.max(TINY_LOAD) } else { self.load };
        let slots = lines as u64 * per_line as u64;
        (slots * load as u64 / 16).min(slots - 1)
    }

    /// As [`Sizing::room`], where the memory limit forbids to grow: slow, but not the end yet.
    pub(crate) fn crowded(self, lines: usize, per_line: usize) -> u64 {
        let slots = lines as u64 * per_line as u64;
        (slots * 15 / 16).min(slots - 1)
    }

    /// The number of lines to grow to from `lines` so that there is `room` for what is wanted, if at
    /// most `most` lines are allowed.
    pub(crate) fn larger(
        self,
        lines: usize,
        most: usize,
        wanted: Wanted,
        room: impl Fn(usize) -> u64,
    ) -> Option<usize> {
        let mut next = lines;
        while next == lines || room(next) < wanted.least {
            let step = match next {
                _ if next < TINY => (next * self.eighths / 8).max(2),
                _ if next < self.doubles => next,
                _ if next < LARGE => next / 2,
                _ => next / 4,
            };
            let to = match next + step {
                to if next >= TINY || to < TINY / 8 * 7 => to,
                // Those that are larger have the sizes that they are tuned for.
                _ if next + next / 8 < TINY => TINY,
                _ => 2 * TINY,
            };
            let to = to.min(most) / 2 * 2;
            if to <= next {
                return None;
            }
            next = to;
        }
        let next = wanted.trimmed(lines, next, room);
        // A table that hardly grows would be grown again at once.
        (next - lines >= lines / 16).then_some(next)
    }
}

/// What a table that grows is to have room for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub least: u64,
    /// About how many values there will be in all, if somebody knows.
    pub foreseen: Option<u64>,
}

impl Wanted {
    /// The number of lines to grow to from `lines`, if nobody knew more of it than that `next` are usual.
    fn trimmed(self, lines: usize, next: usize, room: impl Fn(usize) -> u64) -> usize {
        let Some(foreseen) = self.foreseen else { return next };
        // Whoever foresees too little has everything moved once more.
        let enough = u128::from(foreseen) * 9 / 8;
        let share = next as u128 * enough / u128::from(room(next)).max(1);
        let trimmed = (share as usize / 2 * 2 + 2).max((lines + lines / 4) / 2 * 2);
        // A small table is moved in no time, and somewhat later more is known.
        let most = if lines < SMALL { (lines + lines / 2) / 2 * 2 } else { next };
        let trimmed = trimmed.min(most);
        if trimmed < next && room(trimmed) >= self.least { trimmed } else { next }
    }
}

/// Lines tried by hash before the rest is tried in order. So far the walk goes practically never;
/// but then it must end, even if hashes run in a circle.
const BY_HASH: u32 = 64;

/// The lines in which a value may stand, nearest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    hash: u64,
    steps: u32,
}

impl Walk {
    #[inline]
    pub(crate) fn new(hash: u64) -> Walk {
        Walk { hash, steps: 0 }
    }

    /// The line where the walk stands.
    #[inline]
    pub(crate) fn line(self, lines: &Lines) -> usize {
        let line = ((u128::from(self.hash) * lines.count() as u128) >> 64) as usize;
        match self.steps {
            0 => line,
            // The number of lines is even.
            1..=BY_HASH => line ^ (self.steps as usize & 1),
            more => (line + more as usize) % lines.count(),
        }
    }

    /// The slot of the line with which to begin.
    #[inline]
    pub(crate) fn start(self) -> usize {
        self.hash as usize % LINE
    }

    /// Goes on to the next line.
    #[inline]
    pub(crate) fn next(&mut self) {
        self.steps += 1;
        if self.steps <= BY_HASH && self.steps.is_multiple_of(2) {
            self.hash = rehash(self.hash);
        }
    }
}

/// Slots probed together: enough to hide the latency of memory, few enough to stay in the L1 cache.
pub(crate) const GROUP: usize = 32;

/// Questions that are not worth setting up groups for.
pub(crate) const FEW: usize = 4;

/// Works through a range of questions in groups. `key` computes what is asked for and starts to load
/// its line, for all questions of a group, before `probe` is given the first question of the group
/// before it and the keys of that. `probe` returns how many it could answer: all, or that is the end.
/// Returns the first question without an answer.
#[inline]
pub(crate) fn in_groups<K: Copy + Default>(
    range: Range<usize>,
    key: impl Fn(usize) -> K,
    mut probe: impl FnMut(usize, &[K]) -> usize,
) -> usize {
    let fill = |keys: &mut [K], from: usize| {
        let len = keys.len().min(range.end - from);
        for (i, place) in keys[..len].iter_mut().enumerate() {
            *place = key(from + i);
        }
        len
    };
    let (mut now, mut ahead) = (&mut [K::default(); GROUP], &mut [K::default(); GROUP]);
    let (mut at, mut len) = (range.start, fill(now, range.start));
    while len > 0 {
        let next = fill(ahead, at + len);
        let answered = probe(at, &now[..len]);
        at += answered;
        if answered < len {
            break;
        }
        (now, ahead, len) = (ahead, now, next);
    }
    at
}

/// Looks for a slot value in one line and puts it there if it `may` be.
#[inline(always)]
pub(crate) fn claim_in<const W: usize>(
    line: &Line,
    start: usize,
    slot: [u64; W],
    may: bool,
) -> Claim {
    match slot.as_slice() {
        [word] => claim_seen(line, *word, look(line, *word), may),
        _ if holds_words(line, slot) => Claim::Known,
        _ => claim_words(line, start, slot, may),
    }
}

/// Looks for a slot value in its first line and puts it there unless that is crowded.
#[inline]
pub(crate) fn claim_first<const W: usize>(lines: &Lines, hash: u64, slot: [u64; W]) -> Claim {
    let walk = Walk::new(hash);
    claim_in(lines.line(walk.line(lines)), walk.start(), slot, true)
}

/// Looks for a slot value in a table and puts it there if it `may` be.
#[inline]
pub(crate) fn claim<const W: usize>(lines: &Lines, hash: u64, slot: [u64; W], may: bool) -> Claim {
    let mut walk = Walk::new(hash);
    loop {
        let claim = claim_in(lines.line(walk.line(lines)), walk.start(), slot, may);
        if claim != Claim::Crowded {
            return claim;
        }
        walk.next();
    }
}

/// Puts a slot value that is not in the table into a line, if that has room. For lines that nobody else uses; in the
/// order of [`claim_in`].
#[inline(always)]
pub(crate) fn put_in<const W: usize>(line: &Line, start: usize, slot: [u64; W]) -> bool {
    let slots = line.as_chunks::<W>().0;
    let free = match slot.as_slice() {
        [word] => look(line, *word).free as usize,
        _ => {
            let mut walk = (0..slots.len()).map(|i| (start + i) % slots.len());
            walk.find(|i| slots[*i][0].load(Ordering::Relaxed) == 0).unwrap_or(LINE)
        }
    };
    let Some(free) = slots.get(free) else { return false };
    free.iter().zip(slot).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
    true
}

/// Walks with a value that is not in a table until `put` has put it into a line; `false` if the walk
/// comes to a line that is not one of its `own`.
#[inline]
pub(crate) fn enter(
    lines: &Lines,
    own: &Range<usize>,
    hash: u64,
    mut put: impl FnMut(&Line, Walk) -> bool,
) -> bool {
    let mut walk = Walk::new(hash);
    loop {
        let at = walk.line(lines);
        if !own.contains(&at) {
            return false;
        }
        if put(lines.line(at), walk) {
            return true;
        }
        walk.next();
    }
}

/// Looks for a group of slot values of one word in the first line of each and puts them there if there is room. Returns the set of
/// those that were inserted, and of those whose line is crowded, the second line of which is being loaded.
///
/// Which values are new cannot be predicted, so that is found out first, without a branch.
#[inline]
pub(crate) fn claim_firsts(lines: &Lines, hashes: &[u64], slots: &[[u64; 1]]) -> (u32, u32) {
    let first = |i: usize| lines.line(Walk::new(hashes[i]).line(lines));
    let (mut inserted, mut crowded, mut missing) = (0u32, 0u32, 0u32);
    for (i, [word]) in slots.iter().enumerate() {
        missing |= u32::from(!look(first(i), *word).found) << i;
    }
    while missing != 0 {
        let i = missing.trailing_zeros() as usize;
        missing &= missing - 1;
        match claim_in(first(i), 0, slots[i], true) {
            Claim::Known | Claim::Refused => {}
            Claim::Inserted => inserted |= 1 << i,
            Claim::Crowded => {
                let mut walk = Walk::new(hashes[i]);
                walk.next();
                lines.prefetch_to_write(walk.line(lines));
                crowded |= 1 << i;
            }
        }
    }
    (inserted, crowded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_rise_to_what_is_wanted_and_allowed() {
        let sizing = Sizing { doubles: 1 << 11, ..Sizing::default() };
        let room = |lines: usize| sizing.room(lines, 8);
        let larger =
            |lines, most, least| sizing.larger(lines, most, Wanted { least, foreseen: None }, room);
        assert_eq!(larger(4, usize::MAX, 1), Some(6));
        assert_eq!(larger(4, usize::MAX, 100), Some(18));
        assert_eq!(
            (larger(200, usize::MAX, 1), larger(250, usize::MAX, 1)),
            (Some(TINY), Some(2 * TINY))
        );
        assert_eq!(larger(1 << 11, usize::MAX, 1), Some(3 << 10));
        assert_eq!(larger(LARGE, usize::MAX, 1), Some(5 * LARGE / 4));
        assert_eq!(larger(4, 4, 1), None);
        assert_eq!(larger(1 << 10, 1500, 1), Some(1500));
        assert_eq!(larger(1 << 10, 1025, 1), None);
        assert_eq!(larger(8, 10, 1000), None);
        // Whatever the sizes were, a table that may grow does.
        for lines in (2..1000).step_by(2) {
            for foreseen in [None, Some(1), Some(10 * lines as u64), Some(u64::MAX)] {
                let wanted = Wanted { least: room(lines) + 1, foreseen };
                let next = sizing.larger(lines, usize::MAX, wanted, room);
                assert!(next.is_some_and(|next| room(next) > room(lines)), "{lines} lines");
            }
        }
    }

    #[test]
    fn what_is_foreseen_limits_sizes() {
        let sizing = Sizing::default();
        let room = |lines: usize| sizing.room(lines, 8);
        let larger = |lines: usize, foreseen| {
            let wanted = Wanted { least: room(lines) + 1, foreseen: Some(foreseen) };
            sizing.larger(lines, usize::MAX, wanted, room)
        };
        for (lines, limit) in [(SMALL, 2.0), (SMALL / 4, 1.5)] {
            for (part, least, most) in
                [(110, 1.2, 1.3), (130, 1.4, 1.5), (160, 1.75, 1.85), (500, 2.0, 2.0)]
            {
                let next = larger(lines, room(lines) * part / 100).expect("it grows") as f64;
                let (times, least, most) =
                    (next / lines as f64, f64::min(least, limit), f64::min(most, limit));
                assert!((least..=most).contains(&times), "{times} times for {part} %");
            }
            // Fewer than there are: what is foreseen is wrong.
            assert_eq!(larger(lines, 1), Some(lines / 4 * 5));
            assert_eq!(larger(lines, u64::MAX), Some((lines as f64 * limit) as usize));
        }
        assert_eq!(larger(4, 1), Some(6));
    }
}
