//! What bounds a search, and who watches it.

use ergodic_disk::Dir;
use ergodic_system::Reason;
use std::time::Instant;

/// When to stop, and how large the units of work are. The default has no bounds.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Count no more states than this; finding one more stops the search.
    pub max_states: Option<u64>,
    /// States at this depth are judged and not expanded.
    pub max_depth: Option<u64>,
    /// When to stop.
    pub deadline: Option<Instant>,
    /// Bytes of store, frontier and parent log together.
    pub memory: Option<u64>,
    /// Distinct findings after which to stop, at least one (see [`crate::Findings`]).
    pub max_errors: usize,
    /// Whether to keep what the paths of findings are made of.
    pub traces: bool,
    /// Where the parent log goes, if not into memory.
    pub log_dir: Option<Dir>,
    /// Successors per batch.
    pub batch: usize,
    /// Source states per block.
    pub block: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_states: None,
            max_depth: None,
            deadline: None,
            memory: None,
            max_errors: 1,
            traces: true,
            log_dir: None,
            batch: 2048,
            block: 512,
        }
    }
}

/// How far a search is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// States found.
    pub states: u64,
    /// Successors generated.
    pub transitions: u64,
    /// Depth being explored; for a liveness check the number of the sweep.
    pub depth: u64,
    /// States that wait for expansion.
    pub waiting: u64,
    /// Bytes in use by store, frontier and parent log.
    pub bytes: u64,
}

/// Whether to go on.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Stop, for this reason.
    Stop(Reason),
}

/// Watches a search from outside and may stop it.
pub trait Observer {
    /// Called about once per batch, so it must be cheap.
    fn progress(&mut self, progress: &Progress) -> Control;

    /// Something that whoever waits for the search should know now, and not when it ends.
    fn warn(&mut self, text: &str) {
        let _ = text;
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn progress(&mut self, _: &Progress) -> Control {
        Control::Continue
    }
}

impl<F: FnMut(&Progress) -> Control> Observer for F {
    fn progress(&mut self, progress: &Progress) -> Control {
        self(progress)
    }
}
