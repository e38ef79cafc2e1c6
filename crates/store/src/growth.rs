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
/// Lines that are worth the help of a thread that waits anyway.
const WORTH_SHARING: usize = if cfg!(any(miri, test)) { 1 << 5 } else { 1 << 9 };
/// Lines that are worth starting a thread: some milliseconds of work. (With 2,048 the growths of n_peterson, of up
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

/// How many of the threads that wait are to help a table of so many lines to grow.
pub(crate) fn worth_sharing(lines: usize, threads: usize) -> usize {
    if lines < WORTH_SHARING { 1 } else { threads }
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

/// A growth that threads share: it is begun by one thread, all take part, and one ends it.
#[derive(Debug)]
pub(crate) struct Growth<T> {
    /// Lines before and after.
    counts: (usize, usize),
    threads: usize,
    rounds: Vec<Round>,
    /// Lines that are left to who ends it.
    left: usize,
    meeting: Meeting,
    /// What is to be entered in the end.
    put_off: Mutex<Vec<T>>,
}

impl<T: Send> Growth<T> {
    /// Makes a table larger, to `count` lines; exactly so many threads will take part. `None` if there is no memory, and
    /// nothing has changed. `each` enters what stood in a line, and puts off what it may not enter.
    pub(crate) fn begin(
        lines: &mut Lines,
        count: usize,
        threads: usize,
        each: impl Fn(&Lines, Old<'_>, &mut Vec<T>) + Sync,
    ) -> Option<Growth<T>> {
        let counts = (lines.count(), count);
        let meeting = Meeting::default();
        meeting.expect(threads.max(1));
        let mut growth = Growth {
            counts,
            threads,
            rounds: Vec::new(),
            left: 0,
            meeting,
            put_off: Mutex::default(),
        };
        if lines.extend(count) {
            (growth.rounds, growth.left) = rounds(counts.0, counts.1);
            return Some(growth);
        }
        let new = Lines::possible(count)?;
        std::mem::replace(lines, new).drain_shared(threads, |part, number, words| {
            let (own, mut put_off) = (own(part, counts), Vec::new());
            each(lines, Old { number, words, own: &own }, &mut put_off);
            growth.put_off(&mut put_off);
        });
        Some(growth)
    }

    /// What one of the threads does; it returns when all have done their part.
    pub(crate) fn take_part(&self, lines: &Lines, each: impl Fn(&Lines, Old<'_>, &mut Vec<T>)) {
        let mut put_off = Vec::new();
        self.share(|part, end| {
            // Who is alone may enter wherever nothing old stands.
            let own = if self.threads < 2 { end..self.counts.1 } else { own(&part, self.counts) };
            for number in part {
                ahead(lines, number + AHEAD, self.counts);
                each(lines, Old { number, words: lines.take(number), own: &own }, &mut put_off);
            }
        });
        self.put_off(&mut put_off);
    }

    /// Does rounds of work with the others, part after part of a round; nobody begins a round before the one before
    /// is done. `work` is given the lines of a part and the end of its round.
    fn share(&self, mut work: impl FnMut(Range<usize>, usize)) {
        let _leaving = Leaving(&self.meeting);
        for Round { lines, taken } in &self.rounds {
            let part = (lines.len() / (4 * self.threads)).clamp(PART, MOST_PART);
            let part = if self.threads < 2 { lines.len() } else { part.next_multiple_of(2) };
            loop {
                let from = lines.start + taken.fetch_add(part, Ordering::Relaxed);
                if from >= lines.end {
                    break;
                }
                work(from..lines.end.min(from + part), lines.end);
            }
            if !self.meeting.wait() {
                return;
            }
        }
    }

    /// Enters what is left over; what this puts off is to be entered by the caller.
    pub(crate) fn end(self, lines: &Lines, each: impl Fn(&Lines, Old<'_>, &mut Vec<T>)) -> Vec<T> {
        let mut put_off = self.put_off.into_inner().unwrap_or_else(PoisonError::into_inner);
        let last: Vec<[u64; LINE]> = (0..self.left).map(|number| lines.take(number)).collect();
        for (number, words) in last.into_iter().enumerate() {
            each(lines, Old { number, words, own: &(0..lines.count()) }, &mut put_off);
        }
        put_off
    }

    fn put_off(&self, more: &mut Vec<T>) {
        if !more.is_empty() {
            self.put_off.lock().unwrap_or_else(PoisonError::into_inner).append(more);
        }
    }
}

/// A whole growth, with threads of its own if it is worth that. Returns what is to be entered by the caller.
pub(crate) fn grow<T: Send>(
    lines: &mut Lines,
    count: usize,
    threads: usize,
    each: impl Fn(&Lines, Old<'_>, &mut Vec<T>) + Sync,
) -> Option<Vec<T>> {
    let threads = if lines.count() < WORTH { 1 } else { threads };
    let growth = Growth::begin(lines, count, threads, &each)?;
    std::thread::scope(|scope| {
        let part = || growth.take_part(lines, &each);
        let spawn = |_: &usize| std::thread::Builder::new().spawn_scoped(scope, part).is_ok();
        // How many there are is known later. Without a thread the others do its work.
        growth.meeting.expect(0);
        growth.meeting.expect((1..threads).filter(spawn).count() + 1);
        part();
    });
    Some(growth.end(lines, each))
}

/// The lines to which a part of the old ones goes.
fn own(part: &Range<usize>, counts: (usize, usize)) -> Range<usize> {
    cut(part.start, counts)..cut(part.end, counts)
}

/// Lines that are independent of each other.
#[derive(Debug)]
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

    fn planned(old: usize, new: usize, threads: usize) -> Growth<u64> {
        let (meeting, (rounds, left)) = (Meeting::default(), rounds(old, new));
        meeting.expect(threads);
        Growth { counts: (old, new), threads, rounds, left, meeting, put_off: Mutex::default() }
    }

    /// All lines of a round are done before the next one begins, once each.
    #[test]
    fn rounds_come_one_after_the_other() {
        for (old, new, threads) in [(5000, 7500, 3), (3000, 6000, 2), (2048, 2050, 2)] {
            let (growth, done) = (planned(old, new, threads), AtomicUsize::new(0));
            let lines = Mutex::new(Vec::new());
            let part = || {
                growth.share(|part, end| {
                    // Whatever lies behind this round is done.
                    assert!(done.fetch_add(part.len(), Ordering::Relaxed) >= old - end);
                    // Nobody else writes to where these lines go, and nothing old stands there.
                    let own = own(&part, (old, new));
                    assert!(part.end <= end && own.start >= end && own.start.is_multiple_of(2));
                    assert_eq!(own.end == new, part.end == old);
                    lines.lock().expect("a lock").extend(part);
                });
            };
            std::thread::scope(|scope| {
                (0..threads).for_each(|_| drop(scope.spawn(part)));
            });
            let mut lines = lines.into_inner().expect("a lock");
            lines.sort_unstable();
            assert!(lines.into_iter().eq(growth.left..old), "{old} lines to {new}");
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panicked() {
        let growth = planned(5000, 7500, 3);
        let part = || growth.share(|part, _| assert!(!part.contains(&4000), "as planned"));
        let ended = std::thread::scope(|scope| {
            let threads = [(); 3].map(|()| scope.spawn(part));
            threads.map(|thread| thread.join().is_ok())
        });
        assert_eq!(ended.into_iter().filter(|well| !well).count(), 1);
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
