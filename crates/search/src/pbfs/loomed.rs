//! The gate, the line and the shares under loom: every interleaving of a coordinator and two helpers.

/// What they are compiled with here.
mod sync {
    /// There are no processors.
    #[derive(Debug)]
    pub(crate) struct Stay;

    impl Stay {
        pub(crate) fn here() -> Stay {
            Stay
        }
    }

    /// Whoever looks out lets others go on.
    pub(crate) use loom::hint::spin_loop as spin;
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
}

#[path = "gate.rs"]
mod gate;
#[path = "line.rs"]
mod line;
#[allow(dead_code, reason = "how long a moment is, is decided here")]
#[path = "moment.rs"]
mod moment;
#[path = "shares.rs"]
mod shares;

use gate::Gate;
use line::{Line, Next};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use moment::Moment;
use shares::Shares;

/// What the workers of a round share. All accesses are relaxed: that values are seen must follow
/// from the gate alone.
#[derive(Default)]
struct Board {
    /// Tasks left, taken by all workers.
    tasks: AtomicU64,
    /// What each helper has done since the coordinator last looked.
    done: [AtomicU64; 2],
    stalled: AtomicBool,
}

fn helper(gate: &Gate, board: &Board, me: usize) -> u64 {
    let (mut round, mut rounds) = (0, 0);
    while gate.next(&mut round) {
        rounds += 1;
        let before = board.done[me].load(Ordering::Relaxed);
        board.done[me].store(before + 1, Ordering::Relaxed);
        gate.finish();
    }
    rounds
}

fn bounded(preemptions: usize, test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(test);
}

#[test]
fn every_helper_takes_part_in_every_round_once() {
    bounded(3, || {
        let (gate, board) = (Arc::new(Gate::new(Moment { looks: 0 })), Arc::new(Board::default()));
        let spawn = |me| {
            let (gate, board) = (Arc::clone(&gate), Arc::clone(&board));
            loom::thread::spawn(move || helper(&gate, &board, me))
        };
        let helpers = [spawn(0), spawn(1)];
        for _ in 0..2 {
            gate.open(2);
            gate.wait();
            for done in &board.done {
                assert_eq!(done.load(Ordering::Relaxed), 1, "once per round, and seen");
                done.store(0, Ordering::Relaxed);
            }
        }
        gate.close();
        for helper in helpers {
            assert_eq!(helper.join().expect("no panic"), 2);
        }
    });
}

/// A store with room for one value that grows between rounds, and a level of two tasks: whoever
/// finds it full keeps its task for the next round.
#[test]
fn a_level_goes_on_after_growth_and_loses_nothing() {
    bounded(3, || {
        let gate = Arc::new(Gate::new(Moment { looks: 1 }));
        let board = Arc::new(Board { tasks: AtomicU64::new(2), ..Board::default() });
        let room = Arc::new(AtomicU64::new(1));
        let work = |board: &Board, room: &AtomicU64, kept: &mut bool, done: &AtomicU64| {
            let one_less = |n: u64| n.checked_sub(1);
            let take = |from: &AtomicU64| {
                from.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
            };
            *kept = *kept || take(&board.tasks);
            if *kept {
                if take(room) {
                    *kept = false;
                    done.fetch_add(1, Ordering::Relaxed);
                } else {
                    board.stalled.store(true, Ordering::Relaxed);
                }
            }
        };
        let (gate2, board2, room2) = (gate.clone(), board.clone(), room.clone());
        let helper = loom::thread::spawn(move || {
            let (mut round, mut kept) = (0, false);
            while gate2.next(&mut round) {
                work(&board2, &room2, &mut kept, &board2.done[1]);
                gate2.finish();
            }
            assert!(!kept, "a task was lost");
        });
        let (mut kept, mut rounds) = (false, 0);
        loop {
            board.stalled.store(false, Ordering::Relaxed);
            gate.open(1);
            work(&board, &room, &mut kept, &board.done[0]);
            gate.wait();
            rounds += 1;
            let left = board.tasks.load(Ordering::Relaxed) > 0;
            if !board.stalled.load(Ordering::Relaxed) && !left {
                break;
            }
            room.fetch_add(1, Ordering::Relaxed);
        }
        gate.close();
        helper.join().expect("no panic");
        let done: u64 = board.done.iter().map(|done| done.load(Ordering::Relaxed)).sum();
        assert_eq!((done, kept), (2, false));
        assert!(rounds <= 3);
    });
}

/// A helper of a line: adds a hundred to each piece.
fn hasten(line: &Line<u64>) {
    while let Some((number, piece)) = line.take() {
        line.finish(number, piece + 100);
    }
}

#[test]
fn pieces_come_back_in_order_and_once() {
    bounded(3, || {
        let line = Arc::new(Line::new(Moment { looks: 1 }));
        let spawn = || {
            let line = Arc::clone(&line);
            loom::thread::spawn(move || hasten(&line))
        };
        let helpers = [spawn(), spawn()];
        let mut order = Vec::new();
        (0..2).for_each(|piece| line.push(piece));
        loop {
            match line.next() {
                Next::Done(piece) => order.push(piece - 100),
                Next::First(piece) => order.push(piece),
                Next::Later(number, piece) => line.finish(number, piece + 100),
                Next::Nothing => break,
            }
        }
        line.push(2);
        let rest = line.recall();
        assert!(rest == [2] || rest == [102], "done or not");
        line.close();
        helpers.into_iter().for_each(|helper| helper.join().expect("no panic"));
        assert_eq!(order, [0, 1]);
    });
}

#[test]
fn every_task_is_taken_once() {
    bounded(2, || {
        let mut shares = Shares::default();
        shares.deal(3, 2);
        let shares = Arc::new(shares);
        let work = |shares: &Shares, me| {
            let mut mine = Vec::new();
            while let Some(task) = shares.take(me) {
                mine.push(task);
            }
            mine
        };
        let theirs = Arc::clone(&shares);
        let helper = loom::thread::spawn(move || work(&theirs, 1));
        let mut all = work(&shares, 0);
        all.extend(helper.join().expect("no panic"));
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
        assert_eq!((shares.count(), shares.left().count()), (0, 0));
    });
}
