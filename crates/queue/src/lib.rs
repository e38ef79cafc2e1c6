//! Frontiers: the states that wait for expansion, behind [`ergodic_system::Frontier`].
//!
//! A frontier is two levels, first in first out in each. It knows neither what a state means nor
//! which search uses it.

pub mod disk;
pub mod memory;

pub use disk::DiskQueue;
pub use memory::MemoryQueue;
