//! Processes that end with the test, whatever happens.

use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Nothing that a test waits for takes longer, even on a computer that has other things to do.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something is so.
///
/// # Panics
/// If it never is.
pub fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < PATIENCE, "it never came to this: {what}");
        sleep(Duration::from_millis(10));
    }
}

/// Sends a signal to a process. One that has ended and was not waited for takes it, too.
pub fn signal(process: u32, signal: Signal) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(pid, signal).expect("a signal");
}

/// A process that ends with the test.
pub struct Running(pub Child);

impl Running {
    /// Whether it still runs.
    pub fn running(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// Waits for its end; `None` if it still runs after so long.
    pub fn wait_for(&mut self, limit: Duration) -> Option<ExitStatus> {
        let began = Instant::now();
        while self.running() && began.elapsed() <= limit {
            sleep(Duration::from_millis(5));
        }
        self.0.try_wait().expect("a child")
    }

    /// Ends it at once, without a chance to say anything.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
