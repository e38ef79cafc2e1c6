//! Sets of visited states, all of them behind [`ergodic_system::Visited`].
//!
//! A store is asked in batches, so that it can compute all hashes and start all memory accesses
//! before it waits for the first one. A store knows no search and no language. Adding one means
//! one file here, one row in the driver's table, and a call of [`conformance::exact`] in its tests.
//! What may be lost, and how likely that is, stands in [`bounds`] and [`universal`].

#![cfg_attr(
    test,
    allow(clippy::duplicate_mod, reason = "the slots and quotas are compiled again under loom")
)]

//!
//! | store | for | bytes per state |
//! |---|---|---|
//! | [`ExactStore`] | one worker; numbers its states and gives them back | the state and about 16 |
//! | [`DenseStore`] | many workers, states of at most 18 bits | a bit for each possible state |
//! | [`Early`] | many workers; few states in flat slots, and then another one of these | as theirs |
//! | [`FlatStore`] | many workers, states of at most 143 bits (but 127 and 128) | 10 to 15 up to about 80 bits, 20 to 30 beyond |
//! | [`TreeStore`] | many workers, larger states | 10 to 45 with the parts, the fewer the more states share |
//! | [`CompactStore`] | many workers; may omit states, with a bound | 5 to 8, whatever the state |
//! | [`PaperCompactStore`] | one worker; hash compaction as in its paper, for reproducing it | 8 |
//! | [`BitstateStore`] | many workers; omits states, with an estimate; never full | as many as there are |
//! | [`CacheStore`] | one worker; forgets states, and may omit some with signatures; never full | as many as there are |
//! | [`FoldedCache`] | the same for large states, with a dictionary of their words | as many as there are |
//! | [`LedgerStore`] | one worker, depth first; forgets states, never those on the stack | the state, its note and 24 |
//! | [`Layered`] | one owner; any of the shared ones, and an archive when it is full | as theirs |
//! | [`SortedArchive`] | what memory does not hold, exactly or as signatures, in sorted files | on disk 2 to 8 |
//! | [`SignatureFile`] | the same as in disk-based Murphi: forgets states, and may omit some | on disk 10 |
//!
//! The archives stand behind [`ergodic_system::Archive`], the shared ones behind
//! [`ergodic_system::Shared`]; [`ergodic_system::Sole`] makes these usable for one worker.

pub mod bitstate;
pub mod bounds;
pub mod cache;
mod cells;
#[cfg(test)]
mod cells_loomed;
pub mod compact;
pub mod compact_paper;
pub mod conformance;
pub mod dense;
pub mod early;
pub mod exact;
mod folded;
mod growth;
mod hash;
mod intern;
mod layered;
pub mod ledger;
#[cfg(test)]
mod loomed;
#[cfg(test)]
mod lossy;
mod memory;
mod packed;
mod quota;
mod quotient;
mod recent;
mod region;
#[cfg(test)]
mod saved_tests;
pub mod shared;
pub mod signatures;
mod slots;
pub mod sorted;
mod sync;
mod table;
pub mod tree;
pub mod universal;
mod worth;

pub use bitstate::{BitstateOptions, BitstateSize, BitstateStore};
pub use cache::{CacheEntry, CacheOptions, CacheSize, CacheStore, Replacement};
pub use compact::{CompactOptions, CompactSize, CompactStore};
pub use compact_paper::PaperCompactStore;
pub use dense::DenseStore;
pub use early::Early;
pub use exact::ExactStore;
pub use folded::FoldedCache;
pub use layered::{Layered, OpenArchive};
pub use ledger::{LedgerOptions, LedgerStore, Oust};
pub use shared::FlatStore;
pub use signatures::SignatureFile;
pub use sorted::SortedArchive;
pub use tree::TreeStore;
