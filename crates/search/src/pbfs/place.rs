//! On which processors threads run that wait for each other.
//!
//! Rounds of work are short, so a thread that the system wakes on the processor of the one that woke it keeps
//! this one from working: one does the round after the other. Linux does that where it takes no other processor for
//! idle, which is the rule on virtual machines, and it puts such threads apart only some milliseconds later. (Of
//! sci, whose search takes 16 ms, half the rounds went that way.) So a thread [`starts`](start) on a processor of
//! its own, and [`stays`](Stay) where it is while it sleeps. While it runs the system may move it as ever: who else
//! uses the machine, and how, is not known here.
//!
//! Whatever the system refuses is left as it is.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Where the calling thread runs.
#[cfg(target_os = "linux")]
pub(crate) fn here() -> usize {
    sched_getcpu()
}

/// Moves the calling thread, which was just started, to a processor of its own, if there are enough: `number` is its
/// place, from one on, among those whom a thread on the processor `from` has started.
#[cfg(target_os = "linux")]
pub(crate) fn start(from: usize, number: usize) {
    let Ok(all) = sched_getaffinity(None) else { return };
    if let Some(processor) = processor(&all, from, number) {
        drop(Stay::on(processor, all));
    }
}

/// The processor for a thread, if there are enough. They are counted from that of who started it: several searches do
/// not all crowd the first ones.
#[cfg(target_os = "linux")]
fn processor(all: &CpuSet, from: usize, number: usize) -> Option<usize> {
    let others: Vec<usize> =
        (0..CpuSet::MAX_CPU).filter(|i| all.is_set(*i) && *i != from).collect();
    let first = others.partition_point(|i| *i < from);
    let place = (1..=others.len()).contains(&number).then(|| (first + number - 1) % others.len());
    place.map(|place| others[place])
}

/// As long as this lives the thread that made it does not move to another processor.
#[derive(Debug)]
pub(crate) struct Stay {
    /// Where it may run otherwise.
    #[cfg(target_os = "linux")]
    all: Option<CpuSet>,
}

#[cfg(target_os = "linux")]
impl Stay {
    /// The calling thread stays where it is.
    pub(crate) fn here() -> Stay {
        match sched_getaffinity(None) {
            Ok(all) if all.count() > 1 => Stay::on(here(), all),
            _ => Stay { all: None },
        }
    }

    fn on(processor: usize, all: CpuSet) -> Stay {
        let mut one = CpuSet::new();
        one.set(processor);
        Stay { all: sched_setaffinity(None, &one).is_ok().then_some(all) }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Stay {
    fn drop(&mut self) {
        if let Some(all) = &self.all {
            let _ = sched_setaffinity(None, all);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    /// Nobody asks where a thread runs.
    pub(crate) fn here() -> usize {
        0
    }

    /// It runs where it runs.
    pub(crate) fn start(_from: usize, _number: usize) {}

    impl super::Stay {
        /// The system decides.
        pub(crate) fn here() -> super::Stay {
            super::Stay {}
        }
    }
}
#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{here, start};

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Threads that were started stand on processors of their own, and may move again; who stays, may not.
    #[test]
    fn threads_are_told_apart_and_free_afterwards() {
        let all = sched_getaffinity(None).expect("processors");
        let from = here();
        std::thread::scope(|scope| {
            for number in 1..4 {
                scope.spawn(move || {
                    start(from, number);
                    assert_eq!(sched_getaffinity(None), Ok(all));
                });
            }
        });
        {
            let _stay = Stay::here();
            let now = sched_getaffinity(None).expect("processors");
            assert!(all.count() == 1 || (now.count() == 1 && now.is_set(here())));
        }
        assert_eq!(sched_getaffinity(None), Ok(all));
    }

    /// In what order processors are taken.
    #[test]
    fn processors_are_counted_from_who_starts() {
        let mut all = CpuSet::new();
        [0, 2, 3, 7].into_iter().for_each(|i| all.set(i));
        let of = |from, number| processor(&all, from, number);
        assert_eq!([1, 2, 3, 4].map(|number| of(2, number)), [Some(3), Some(7), Some(0), None]);
        assert_eq!([1, 2, 3].map(|number| of(7, number)), [Some(0), Some(2), Some(3)]);
        assert_eq!(of(0, 0), None);
    }
}
