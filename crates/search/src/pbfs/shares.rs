//! Who expands which tasks of a level: each worker has a share of its own, a run of tasks that follow
//! each other, and when it has done with that it takes over half of what is left of the largest.
//!
//! States that were found one after the other have many successors in common, which the filters of one
//! worker recognise; those of two workers do not know of each other. So runs are better than tasks here
//! and there, and what a worker found in one level is, by and large, its share of the next.
//!
//! **Invariant:** a task that is not taken is in exactly one share, or in the hands of the worker who
//! takes over half a share.

use super::sync::{AtomicU64, Ordering};

/// The tasks of one worker: the next one, and behind the last one in the upper half.
///
/// Shares stand side by side and share no cache line.
#[derive(Debug)]
#[repr(align(128))]
struct Share(AtomicU64);

fn pack(from: u32, to: u32) -> u64 {
    u64::from(to) << 32 | u64::from(from)
}

fn unpack(run: u64) -> (u32, u32) {
    (run as u32, (run >> 32) as u32)
}

impl Share {
    /// What is left of it.
    fn run(&self) -> (u32, u32) {
        unpack(self.0.load(Ordering::Relaxed))
    }

    /// Takes a part of what is left, as long as `part` says that there is something in it. `part` is
    /// given what is left and returns what is to be left then.
    fn change(&self, part: impl Fn(u32, u32) -> Option<(u32, u32)>) -> Option<(u32, u32)> {
        let left = |run| unpack(run);
        let change = |run| {
            let (from, to) = left(run);
            part(from, to).map(|(from, to)| pack(from, to))
        };
        // Nothing is read or written on the strength of it: the tasks stand there since the round began.
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change).ok().map(left)
    }
}

/// The shares of all workers in a level.
#[derive(Debug, Default)]
pub(crate) struct Shares(Vec<Share>);

impl Shares {
    /// Deals tasks out to so many workers. Nobody takes tasks meanwhile.
    pub(crate) fn deal(&mut self, tasks: usize, workers: usize) {
        let (tasks, workers) = (tasks as u64, workers.max(1) as u64);
        let cut = |worker: u64| (tasks * worker / workers) as u32;
        let share = |worker| Share(AtomicU64::new(pack(cut(worker), cut(worker + 1))));
        self.0.clear();
        self.0.extend((0..workers).map(share));
    }

    /// The next task of a worker; `None` if all are taken.
    pub(crate) fn take(&self, worker: usize) -> Option<usize> {
        loop {
            let own = self.0.get(worker)?;
            let next = |from: u32, to| (from < to).then(|| (from + 1, to));
            if let Some((task, _)) = own.change(next) {
                return Some(task as usize);
            }
            self.take_over(own)?;
        }
    }

    /// Takes over half of what is left of the largest share.
    fn take_over(&self, own: &Share) -> Option<()> {
        loop {
            let left = |share: &&Share| {
                let (from, to) = share.run();
                to.saturating_sub(from)
            };
            let largest = self.0.iter().max_by_key(left)?;
            if left(&largest) == 0 {
                return None;
            }
            let half = |from: u32, to: u32| from + (to - from) / 2;
            let rest = |from: u32, to| (from < to).then(|| (from, half(from, to)));
            if let Some((from, to)) = largest.change(rest) {
                // Nobody else writes to a share of which nothing is left.
                own.0.store(pack(half(from, to), to), Ordering::Relaxed);
                return Some(());
            }
        }
    }

    /// The tasks that nobody has taken, in order. Nobody takes any meanwhile.
    pub(crate) fn left(&self) -> impl Iterator<Item = usize> {
        let mut runs: Vec<_> = self.0.iter().map(Share::run).collect();
        runs.sort_unstable();
        runs.into_iter().flat_map(|(from, to)| from as usize..to as usize)
    }

    /// About how many tasks nobody has taken.
    pub(crate) fn count(&self) -> usize {
        let left = |share: &Share| {
            let (from, to) = share.run();
            to.saturating_sub(from) as usize
        };
        self.0.iter().map(left).sum()
    }
}
