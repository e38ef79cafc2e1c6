//! The vocabulary that every other part of Ergodic speaks: packed states, batches of them, the
//! traits between models, stores, frontiers and searches, and the verdicts.
//!
//! Nothing here knows a language, a program representation, a store or a search. The unit of work
//! is a batch of about a thousand states: one call per batch crosses each boundary, so that the
//! parts behind a boundary can hash, prefetch and probe many states at a time.
//!
//! Invariants:
//! * a state is `Shape::words` 64-bit words; bits past `Shape::bits` are zero, so that equal
//!   states are equal word by word;
//! * a [`Block`] is followed by at least one readable word, so that an executor may read a bit
//!   field with one unaligned eight-byte load wherever the field lies;
//! * successors stand in a [`Batch`] in the order in which they were found, so that the first
//!   violation of a sequential search is well defined.

mod apart;
mod batch;
mod checked;
mod erased;
mod independence;
mod parts;
pub mod records;
pub mod renaming;
mod rules;
mod sole;
mod stacked;
mod state;
pub mod toy;
mod verdict;

pub use apart::Apart;
pub use batch::{Batch, BatchParts, Cursor, Step};
pub use checked::{Checked, CheckedScratch};
pub use erased::Erased;
pub use independence::Independence;
pub use parts::{
    Archive, Coverage, Exhausted, Figure, Frontier, Live, Losses, NoArchive, Numbered, Shared,
    System, Visited,
};
pub use renaming::Renaming;
pub use rules::{DeadlockMode, Fired, RuleSystem};
pub use sole::Sole;
pub use stacked::{Ledger, Pile};
pub use state::{Block, PAD_WORDS, Picks, Shape};
pub use verdict::{Assurance, Fault, Label, Reason, Verdict, Violation, ViolationKind};
