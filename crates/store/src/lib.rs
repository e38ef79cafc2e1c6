//! Sets of visited states, all of them behind [`ergodic_system::Visited`].
//!
//! A store is asked in batches, so that it can compute all hashes and start all memory accesses
//! before it waits for the first one. A store knows no search and no language. Adding one means
//! one file here, one row in the driver's table, and a call of [`conformance::exact`] in its tests.

pub mod conformance;
pub mod exact;
mod hash;
mod memory;
