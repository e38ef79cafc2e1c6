//! Tests as data: a model file carries its expectations in its header, and the runner takes it
//! through the combinations of the driver's table.
//!
//! [`generate`] makes random models with an independent oracle and a shrinker; [`broker`] is what
//! tests of several machines share.

pub mod broker;
pub mod generate;
mod header;
mod runner;

pub use header::{Expect, HeaderError, Set, Word, bless, parse};
pub use runner::{Failure, Job, Observed, Parse, Rows, find_models, run};
