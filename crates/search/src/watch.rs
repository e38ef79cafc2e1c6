//! Deadline, memory budget and observer, asked from time to time.

use crate::{Control, Ending, Limits, Observer, Progress};
use ergodic_system::Reason;
use std::time::Instant;

/// Decides between two pieces of work whether to go on.
pub struct Watch<'a> {
    observer: &'a mut dyn Observer,
    deadline: Option<Instant>,
    memory: Option<u64>,
    started: Instant,
    /// Look only every so often.
    every: u32,
    calls: u32,
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("started", &self.started).finish_non_exhaustive()
    }
}

impl<'a> Watch<'a> {
    /// A watch that looks at every `every`-th call: a search with tiny units of work would spend
    /// its time reading the clock otherwise.
    pub fn new(limits: &Limits, observer: &'a mut dyn Observer, every: u32) -> Watch<'a> {
        Watch {
            observer,
            deadline: limits.deadline,
            memory: limits.memory,
            started: Instant::now(),
            every,
            calls: 0,
        }
    }

    /// Whether it is time to look.
    #[inline]
    pub fn due(&mut self) -> bool {
        self.calls += 1;
        if self.calls < self.every {
            return false;
        }
        self.calls = 0;
        true
    }

    /// Tells whoever watches.
    pub fn warn(&mut self, text: &str) {
        self.observer.warn(text);
    }

    /// Looks.
    pub fn look(&mut self, progress: &Progress) -> Result<(), Ending> {
        if let Some(deadline) = self.deadline.filter(|deadline| Instant::now() >= *deadline) {
            let seconds = deadline.saturating_duration_since(self.started).as_secs_f64();
            return Err(Ending::Stopped(Reason::TimeLimit(seconds)));
        }
        if let Some(limit) = self.memory.filter(|limit| progress.bytes > *limit) {
            return Err(Ending::Stopped(Reason::MemoryLimit(limit)));
        }
        match self.observer.progress(progress) {
            Control::Continue => Ok(()),
            Control::Stop(reason) => Err(Ending::Stopped(reason)),
        }
    }
}
