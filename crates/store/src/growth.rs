//! Tables that become larger where they stand.
//!
//! Lines are in the order of hashes ([`crate::table`]): what stands in line `i` of `n` goes to line
//! `i * m / n` of `m` or soon behind it. So the lines are emptied from the last one down, in rounds: the
//! lines of a round are those whose new places lie behind all lines that are still full. What is
//! entered then meets nothing old; within a round all lines are independent, and threads share them.
//! Values that had found their line crowded, and now belong before the round, are put off to the end.
//!
//! Where the table cannot grow in place, its lines are drained into a new one.

use crate::memory::{Lines, in_parallel, part_of};
use crate::slots::LINE;
use std::sync::{Mutex, PoisonError};

/// Lines that are left to the last round, in which they stand elsewhere meanwhile.
const LAST: usize = 1 << 10;

/// A line of the table as it was.
pub(crate) struct Old {
    pub number: usize,
    pub words: [u64; LINE],
    /// Nothing may be entered before this line now.
    pub floor: usize,
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
    std::mem::replace(lines, new).drain_shared(threads, |number, words| {
        let mut put_off = Vec::new();
        each(lines, Old { number, words, floor: 0 }, &mut put_off);
        assert!(put_off.is_empty(), "nothing lies before the first line");
    });
    Some(Vec::new())
}

/// Spreads what stands in the first `old` lines over all.
fn spread<T: Send>(
    lines: &Lines,
    old: usize,
    threads: usize,
    each: impl Fn(&Lines, Old, &mut Vec<T>) + Sync,
) -> Vec<T> {
    let put_off = Mutex::new(Vec::new());
    let mut end = old;
    while end > LAST {
        // The first line whose new place lies behind `end`. Pairs of neighbours stay together.
        let from = (end as u128 * old as u128).div_ceil(lines.count() as u128) as usize;
        let from = from.next_multiple_of(2);
        if from >= end {
            break;
        }
        let part = part_of(end - from, threads).next_multiple_of(2);
        let parts = (from..end).step_by(part).map(|first| first..end.min(first + part));
        in_parallel(threads, parts, |part| {
            let mut own = Vec::new();
            for number in part {
                each(lines, Old { number, words: lines.take(number), floor: end }, &mut own);
            }
            put_off.lock().unwrap_or_else(PoisonError::into_inner).append(&mut own);
        });
        end = from;
    }
    let mut put_off = put_off.into_inner().unwrap_or_else(PoisonError::into_inner);
    let last: Vec<[u64; LINE]> = (0..end).map(|number| lines.take(number)).collect();
    for (number, words) in last.into_iter().enumerate() {
        each(lines, Old { number, words, floor: 0 }, &mut put_off);
    }
    put_off
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::hash_word;
    use crate::slots::Claim;
    use crate::table::{claim, claim_in, enter};

    fn put(table: &Lines, floor: usize, value: u64) -> bool {
        enter(table, floor, hash_word(value), |line, _| {
            claim_in(line, 0, [value], true) != Claim::Crowded
        })
    }

    /// Crowded tables of many sizes grow by little and by much: no value is lost, none is there twice.
    #[test]
    fn everything_is_found_again() {
        for (first, threads) in [(6, 1), (1 << 10, 2), (3000, 1), (100_000, 3)] {
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
                        if !put(table, old.floor, value) {
                            put_off.push(value);
                        }
                    }
                });
                let put_off = put_off.expect("memory");
                assert!(put_off.len() as u64 <= values / 4, "{} of {values}", put_off.len());
                assert!(put_off.into_iter().all(|value| put(&lines, 0, value)));
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
