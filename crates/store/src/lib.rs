//! Sets of visited states, all of them behind [`ergodic_system::Visited`].
//!
//! A store is asked in batches, so that it can compute all hashes and start all memory accesses
//! before it waits for the first one. A store knows no search and no language. Adding one means
//! one file here, one row in the driver's table, and a call of [`conformance::exact`] in its tests.

#![cfg_attr(
    test,
    allow(clippy::duplicate_mod, reason = "the slots and quotas are compiled again under loom")
)]

//!
//! | store | for | bytes per state |
//! |---|---|---|
//! | [`ExactStore`] | one worker; numbers its states and gives them back | the state and about 16 |
//! | [`FlatStore`] | many workers, states of at most 126 bits (or one word) | 9 to 14, or 18 to 28 |
//! | [`RowStore`] | many workers, states of up to eight words | the state and about 12 |
//! | [`TreeStore`] | many workers, larger states | 9 to 14, and shared parts |
//!
//! The shared ones stand behind [`ergodic_system::Shared`]; [`ergodic_system::Sole`] makes them
//! usable for one worker.

pub mod conformance;
pub mod exact;
mod hash;
mod intern;
#[cfg(test)]
mod loomed;
mod memory;
mod quota;
pub mod rows;
pub mod shared;
mod slots;
mod sync;
mod table;
pub mod tree;

pub use exact::ExactStore;
pub use rows::RowStore;
pub use shared::FlatStore;
pub use tree::TreeStore;
