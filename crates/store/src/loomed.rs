//! The slot protocols and the quota under loom: every interleaving of two or three workers, and
//! every value that a relaxed load may see.

/// What [`slots`] and [`quota`] are compiled with here.
mod sync {
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

#[path = "quota.rs"]
mod quota;
#[path = "slots.rs"]
mod slots;

use loom::sync::Arc;
use loom::thread::spawn;
use quota::{Permits, Quota};
use slots::{Claim, Line, claim_seen, claim_words, holds_words, look};
use sync::AtomicU64;

fn line() -> Line {
    std::array::from_fn(|_| AtomicU64::new(0))
}

/// Lets each list of values be inserted by a worker of its own; returns how often each was told that
/// it inserted a value.
fn race(
    lists: &'static [&'static [u64]],
    claim: fn(&Line, u64) -> Claim,
    check: fn(&Line, &[(u64, Claim)]),
) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || {
        let shared = Arc::new(line());
        let workers: Vec<_> = lists
            .iter()
            .map(|list| {
                let shared = Arc::clone(&shared);
                spawn(move || list.iter().map(|v| (*v, claim(&shared, *v))).collect::<Vec<_>>())
            })
            .collect();
        let answers: Vec<_> =
            workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect();
        check(&shared, &answers);
    });
}

/// Each value was called new exactly once and is known now.
fn once(shared: &Line, answers: &[(u64, Claim)], claim: fn(&Line, u64) -> Claim) {
    for (value, _) in answers {
        let new = answers.iter().filter(|a| a.0 == *value && a.1 == Claim::Inserted).count();
        assert_eq!(new, 1, "{value} in {answers:?}");
        assert_eq!(claim(shared, *value), Claim::Known);
    }
}

#[test]
fn one_word_is_new_once() {
    fn claim(line: &Line, value: u64) -> Claim {
        claim_seen(line, value, look(line, value), true)
    }
    race(&[&[5, 6], &[6, 5]], claim, |line, answers| once(line, answers, claim));
    race(&[&[5], &[5], &[6]], claim, |line, answers| once(line, answers, claim));
}

#[test]
fn two_words_are_new_once() {
    /// Values 50..60 have equal first words.
    fn claim(line: &Line, value: u64) -> Claim {
        let value = [value / 10, value];
        if holds_words(line, value) { Claim::Known } else { claim_words(line, 3, value, true) }
    }
    // Waiting makes long executions: fewer values than above.
    race(&[&[51], &[51]], claim, |line, answers| once(line, answers, claim));
    race(&[&[51], &[52]], claim, |line, answers| once(line, answers, claim));
    race(&[&[51, 60], &[60]], claim, |line, answers| once(line, answers, claim));
}

#[test]
fn three_words_are_new_once() {
    /// Values 50..60 have equal first words, and 50 and 51 equal second words.
    fn claim(line: &Line, value: u64) -> Claim {
        let value = [value / 10, value / 2, value];
        if holds_words(line, value) { Claim::Known } else { claim_words(line, 1, value, true) }
    }
    race(&[&[51], &[51]], claim, |line, answers| once(line, answers, claim));
    race(&[&[50], &[51]], claim, |line, answers| once(line, answers, claim));
}

#[test]
fn a_quota_is_not_overdrawn() {
    loom::model(|| {
        let mut quota = Quota::new(0, 2);
        assert!(quota.raise(3));
        let quota = Arc::new(quota);
        let draw = |quota: &Quota| {
            let (mut permits, mut numbers) = (Permits::default(), Vec::new());
            while numbers.len() < 2 && quota.ensure(&mut permits) {
                numbers.push(permits.number());
                permits.spend(1);
            }
            numbers
        };
        let other = Arc::clone(&quota);
        let worker = spawn(move || draw(&other));
        let mut all = draw(&quota);
        all.extend(worker.join().expect("no panic"));
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
        assert_eq!((quota.taken(), quota.limit()), (3, 3));
        assert_eq!(Permits::default().left(), 0);
    });
}
