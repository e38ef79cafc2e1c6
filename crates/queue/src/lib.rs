//! Frontiers: the states that wait for expansion, behind [`ergodic_system::Frontier`].
//!
//! A frontier is two levels, first in first out in each. It knows neither what a state means nor
//! which search uses it. A stack that can go to disk, for depth-first search, is behind
//! [`ergodic_system::Pile`].

pub mod disk;
pub mod memory;
pub mod pile;

pub use disk::DiskQueue;
pub use memory::MemoryQueue;
pub use pile::DiskPile;
