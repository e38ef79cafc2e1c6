//! Searches: one file and one generic function per algorithm.
//!
//! A search knows no store, no frontier and no language, only the traits of [`ergodic_system`].
//! What the exhaustive searches share lives in [`intake`]: a batch of successors is counted,
//! offered to the store, judged, and what is new is handed to a [`intake::Keeper`] (the frontier
//! and parent log of [`bfs`], the stack of [`dfs`]). A new exhaustive search is a new keeper and the
//! loop that decides what to expand next. [`pbfs`] is [`bfs`] with many threads.
//!
//! Results are those of a search that handles one successor at a time, whatever the sizes of batches
//! and blocks: where it stops in the middle of a batch, only the successors up to there count.

#![cfg_attr(test, allow(clippy::duplicate_mod, reason = "the gate is compiled again under loom"))]

mod bfs;
mod bits;
mod compress;
mod dfs;
mod findings;
mod forecast;
mod graph;
pub mod intake;
mod limits;
mod liveness;
mod locality;
mod outcome;
mod pbfs;
mod revisit;
mod simulate;
mod sleep;
mod sleep_dfs;
mod snapshot;
mod stubborn;
mod trace;
mod watch;

pub use bfs::bfs;
pub use compress::{Compressed, CompressedScratch};
pub use dfs::dfs;
pub use findings::Findings;
pub use graph::{Sink, graph};
pub use limits::{Control, Limits, Observer, Progress, Unobserved};
pub use liveness::{LiveAnswer, LiveOutcome, liveness};
pub use locality::{Delta, LevelSteps, Locality, LookUp, locality};
pub use outcome::{Ending, Finding, Outcome, Stats};
pub use pbfs::{Keep, Opened, Overflow, Plan, Resume, Team, overflowing, pbfs, saved_bfs, serial};
pub use simulate::{Moved, Random, Walk, WalkEnd};
pub use sleep::{Sleeping, SleepingScratch};
pub use sleep_dfs::{SleepPlan, SleepRule, StackTest, sleep_dfs};
pub use snapshot::Saver;
pub use stubborn::{Condition, Stubborn, StubbornRelations, StubbornScratch, Truth};
pub use trace::ParentLog;
pub use watch::Watch;
