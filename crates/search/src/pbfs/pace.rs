//! Whether a level is worth waking helpers for.

use std::time::{Duration, Instant};

/// Levels of so few states are worth neither the helpers nor a look at the clock.
const FEW: u64 = 32;

/// How long a state takes, lately.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Nanoseconds that one worker takes per state.
    nanos: f64,
    /// What one worker can probably expand in this time is not worth it.
    worth: Duration,
}

impl Pace {
    /// Nothing is known so far.
    pub(crate) fn new(worth: Duration) -> Pace {
        Pace { nanos: 1000.0, worth }
    }

    /// A level of so many states begins. The time, if it is worth looking at the clock.
    pub(crate) fn begin(&self, len: u64) -> Option<Instant> {
        (len > FEW || self.worth.is_zero()).then(Instant::now)
    }

    /// Whether a level is worth waking helpers for, `times` as much as usual.
    pub(crate) fn is_worth(&self, len: u64, times: u32) -> bool {
        len as f64 * self.nanos >= (self.worth * times).as_nanos() as f64
    }

    /// Learns from a level, which so many workers have expanded.
    pub(crate) fn learn(&mut self, elapsed: Duration, workers: usize, len: u64) {
        let nanos = elapsed.as_nanos() as f64 * workers as f64 / len.max(1) as f64;
        self.nanos = f64::midpoint(self.nanos, nanos);
    }
}
