//! The atomics of the shared stores, under one name: the tests compile the protocols in `slots` and
//! `quota` a second time, with those of the model checker `loom` in their place.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
