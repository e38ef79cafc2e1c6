//! Tables that become larger where they stand.
//!
//! Lines are in the order of hashes ([`crate::table`]): what stands in line `i` of `n` goes to line
//! `i * m / n` of `m` or soon behind it. So the lines are emptied from the last one down, in rounds: the
//! lines of a round are those whose new places lie behind all lines that are still full. What is
//! entered then meets nothing old; within a round all lines are independent, and threads share them. All
//! wait while a table grows, and it does so often, so the threads of a growth are the same from the first
//! round to the last, and small rounds are shared, too.
//!
//! Neighbours go to neighbours, so a thread that spreads a part of the lines has the lines to which they go for
//! itself ([`cut`]), and enters without any order among threads. Values that belong elsewhere, because they
//! had found their line crowded, are put off to the end. Both the lines to be emptied and those to be filled were last
//! written by whatever core; they are asked for before they are used ([`ahead`]).
//!
//! Where the table cannot grow in place, its lines are drained into a new one.

use crate::memory::{Lines, MOST_PART};
use crate::slots::LINE;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Lines that are left to the last round, in which they stand elsewhere meanwhile.
const LAST: usize = if cfg!(miri) { 1 << 4 } else { 1 << 8 };
/// Lines that are worth a second thread: some milliseconds of work. (With 2,048 the growths of n_peterson, of up
/// to 1 MB, took 8 ms with two threads and 5 ms with one: to start and end a thread makes all wait for the kernel.)
const WORTH: usize = match (cfg!(miri), cfg!(test)) {
    (true, _) => 1 << 5,
    (false, true) => 1 << 11,
    (false, false) => 1 << 15,
};
/// Lines that a thread takes at a time, at least.
const PART: usize = 1 << 5;
/// How often a thread looks for the others before it lets somebody else run.
const LOOKS: u32 = 1 << 10;

/// A line of the table as it was.
pub(crate) struct Old<'a> {
    pub number: usize,
    pub words: [u64; LINE],
    /// The lines into which something may be entered now; nobody else uses them.
    pub own: &'a Range<usize>,
}

/// The line from which on goes what stood in `line` and behind it, when a table grows from `old` to `new` lines. It is
/// even: a value may stand in either line of a pair.
fn cut(line: usize, (old, new): (usize, usize)) -> usize {
    (line as u128 * new as u128 / old as u128) as usize & !1
}

/// Lines that a thread asks for before it comes to them.
const AHEAD: usize = 8;

/// Starts to load what is about to be written: a line that is spread soon, and those to which it goes.
#[inline]
fn ahead(lines: &Lines, line: usize, (old, new): (usize, usize)) {
    if line < old {
        let to = cut(line, (old, new));
        [line, to, to + 1].into_iter().for_each(|line| lines.prefetch_to_write(line));
    }
}

/// Makes a table larger, to `count` lines, with so many threads. `each` enters what stood in a line
/// into the table that it is given, and puts off what belongs before the floor. Returns what was put
/// off, to be entered by the caller; `None` if there is no memory, and nothing has changed.
pub(crate) fn grow<T: Send>(
    lines: &mut Lines,
    count: usize,
    threads: usize,
    each: impl Fn(&Lines, Old, &mut Vec<T>) + Sync,
) -> Option<Vec<T>> {
    let old = lines.count();
    if lines.extend(count) {
        return Some(spread(lines, old, threads, each));
    }
    let new = Lines::possible(count)?;
    let all = Mutex::new(Vec::new());
    std::mem::replace(lines, new).drain_shared(threads, |part, number, words| {
        let (own, mut put_off) = (own(part, (old, count)), Vec::new());
        each(lines, Old { number, words, own: &own }, &mut put_off);
        if !put_off.is_empty() {
            all.lock().unwrap_or_else(PoisonError::into_inner).append(&mut put_off);
        }
    });
    Some(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The lines to which a part of the old ones goes.
fn own(part: &Range<usize>, counts: (usize, usize)) -> Range<usize> {
    cut(part.start, counts)..cut(part.end, counts)
}

/// Spreads what stands in the first `old` lines over all.
fn spread<T: Send>(
    lines: &Lines,
    old: usize,
    threads: usize,
    each: impl Fn(&Lines, Old, &mut Vec<T>) + Sync,
) -> Vec<T> {
    let counts = (old, lines.count());
    let (rounds, end) = rounds(old, lines.count());
    let mut put_off = Vec::new();
    if threads < 2 || old < WORTH {
        for Round { lines: round, .. } in &rounds {
            let own = round.end..lines.count();
            for number in round.clone() {
                ahead(lines, number + AHEAD, counts);
                each(lines, Old { number, words: lines.take(number), own: &own }, &mut put_off);
            }
        }
    } else {
        put_off = together(threads, &rounds, |part, put_off| {
            let own = own(&part, counts);
            for number in part {
                ahead(lines, number + AHEAD, counts);
                each(lines, Old { number, words: lines.take(number), own: &own }, put_off);
            }
        });
    }
    let last: Vec<[u64; LINE]> = (0..end).map(|number| lines.take(number)).collect();
    for (number, words) in last.into_iter().enumerate() {
        each(lines, Old { number, words, own: &(0..lines.count()) }, &mut put_off);
    }
    put_off
}

/// Lines that are independent of each other.
struct Round {
    lines: Range<usize>,
    /// How many of them are taken.
    taken: AtomicUsize,
}

/// The rounds in which `old` lines are spread over `new`, and the lines that are left over.
fn rounds(old: usize, new: usize) -> (Vec<Round>, usize) {
    let (mut rounds, mut end) = (Vec::new(), old);
    while end > LAST {
        // The first line whose new place lies behind `end`. Pairs of neighbours stay together.
        let from = (end as u128 * old as u128).div_ceil(new as u128) as usize;
        let from = from.next_multiple_of(2);
        if from >= end {
            break;
        }
        rounds.push(Round { lines: from..end, taken: AtomicUsize::new(0) });
        end = from;
    }
    (rounds, end)
}

/// Does rounds of work in several threads, each of which takes part after part of a round; nobody begins a
/// round before the one before is done. `work` is given the lines of a part.
fn together<T: Send>(
    threads: usize,
    rounds: &[Round],
    work: impl Fn(Range<usize>, &mut Vec<T>) + Sync,
) -> Vec<T> {
    let (meeting, all) = (Meeting::default(), Mutex::new(Vec::new()));
    let run = || {
        let _leaving = Leaving(&meeting);
        let mut own = Vec::new();
        for Round { lines, taken } in rounds {
            let part = (lines.len() / (4 * threads)).clamp(PART, MOST_PART).next_multiple_of(2);
            loop {
                let from = lines.start + taken.fetch_add(part, Ordering::Relaxed);
                if from >= lines.end {
                    break;
                }
                work(from..lines.end.min(from + part), &mut own);
            }
            if !meeting.wait() {
                return;
            }
        }
        all.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own);
    };
    std::thread::scope(|scope| {
        let spawn = |_: &usize| std::thread::Builder::new().spawn_scoped(scope, run).is_ok();
        // Without a thread the others do its work.
        meeting.expect((1..threads).filter(spawn).count() + 1);
        run();
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Where threads wait for each other between two rounds. These are short, so nobody sleeps.
#[derive(Debug, Default)]
struct Meeting {
    /// Threads that take part; zero while that is not known.
    members: AtomicUsize,
    arrived: AtomicUsize,
    /// Meetings that are over.
    over: AtomicUsize,
    /// Somebody will not come any more.
    broken: AtomicBool,
}

impl Meeting {
    /// So many threads take part.
    fn expect(&self, members: usize) {
        self.members.store(members, Ordering::Release);
    }

    /// Waits for all others; `false` if somebody will not come.
    fn wait(&self) -> bool {
        let over = self.over.load(Ordering::Acquire);
        // Who is the last to arrive sees the number of members, because the thread that knows it has
        // arrived before, or is the last itself.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.members.load(Ordering::Acquire) {
            self.arrived.store(0, Ordering::Relaxed);
            self.over.store(over + 1, Ordering::Release);
        }
        let mut looks = 0;
        while self.over.load(Ordering::Acquire) == over {
            if self.broken.load(Ordering::Relaxed) {
                return false;
            }
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        true
    }
}

/// Tells the others if a thread panics.
struct Leaving<'a>(&'a Meeting);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::hash_word;
    use crate::slots::Claim;
    use crate::table::{claim, enter, put_in};

    fn put(table: &Lines, own: &Range<usize>, value: u64) -> bool {
        enter(table, own, hash_word(value), |line, _| put_in(line, 0, [value]))
    }

    /// All lines of a round are done before the next one begins, once each.
    #[test]
    fn rounds_come_one_after_the_other() {
        for (old, new, threads) in [(5000, 7500, 3), (3000, 6000, 2), (2048, 2050, 2)] {
            let (rounds, end) = rounds(old, new);
            let done = AtomicUsize::new(0);
            let lines = together(threads, &rounds, |part, lines| {
                let round = rounds.iter().find(|round| round.lines.contains(&part.start));
                let round = &round.expect("part of a round").lines;
                assert!(part.end <= round.end);
                // Whatever lies behind this round is done.
                assert!(done.fetch_add(part.len(), Ordering::Relaxed) >= old - round.end);
                // Nobody else writes to where these lines go, and nothing old stands there.
                let own = own(&part, (old, new));
                assert!(own.start >= round.end && own.start.is_multiple_of(2));
                assert_eq!(own.end == new, part.end == old);
                lines.extend(part);
            });
            let mut lines = lines;
            lines.sort_unstable();
            assert!(lines.into_iter().eq(end..old), "{old} lines to {new}");
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panicked() {
        let (rounds, _) = rounds(5000, 7500);
        let work =
            |part: Range<usize>, _: &mut Vec<()>| assert!(!part.contains(&4000), "as planned");
        let grown = std::panic::AssertUnwindSafe(|| together(3, &rounds, work));
        assert!(std::panic::catch_unwind(grown).is_err());
    }

    /// Crowded tables of many sizes grow by little and by much: no value is lost, none is there twice.
    #[test]
    fn everything_is_found_again() {
        let tables = [(34, 2), (6, 1), (1 << 10, 2), (3000, 1), (100_000, 3)];
        for (first, threads) in tables.into_iter().take(if cfg!(miri) { 1 } else { 5 }) {
            let (mut lines, mut values) = (Lines::new(first), 0u64);
            for (up, down) in [(3, 2), (17, 16), (2, 1), (5, 4)] {
                let room = lines.count() as u64 * LINE as u64 * 15 / 16;
                for value in values + 1..=room {
                    assert_eq!(claim(&lines, hash_word(value), [value], true), Claim::Inserted);
                }
                values = room;
                let count = (lines.count() * up / down).next_multiple_of(2);
                let put_off = grow(&mut lines, count, threads, |table, old, put_off| {
                    for value in old.words.into_iter().filter(|value| *value != 0) {
                        if !put(table, old.own, value) {
                            put_off.push(value);
                        }
                    }
                });
                let put_off = put_off.expect("memory");
                assert!(put_off.len() as u64 <= values / 4, "{} of {values}", put_off.len());
                let all = 0..lines.count();
                assert!(put_off.into_iter().all(|value| put(&lines, &all, value)));
                assert_eq!(lines.count(), count);
                let taken = (0..count).flat_map(|i| lines.words(i)).filter(|word| *word != 0);
                assert_eq!(taken.count() as u64, values);
                for value in 1..=values {
                    assert_eq!(claim(&lines, hash_word(value), [value], false), Claim::Known);
                }
            }
        }
    }
}
