//! A search on several machines: keepers that own the states, workers that expand them and come, go
//! and die as they please, and a coordinator that knows when everything is done.
//!
//! It is the client–server algorithm of *Efficiently Verifying Safety Properties with Idle Office
//! Computers* (Mäkelä 2002, Algorithms 2 and 3), with the state set shared by any number of keepers as
//! in parallel Murphi (Stern and Dill 1997), over a broker that delivers at least once.
//!
//! Invariants (also modelled, in `models/self/fleet.m`):
//! * a state belongs to the batch that claimed it first, and whoever works on that batch, again or at
//!   the same time, is told so: a batch that is delivered again loses nothing;
//! * a batch is called done after its children are stored by the broker, and acknowledged after it is
//!   called done: nothing waiting at the broker means that nothing is left to do;
//! * a worker's filter holds states of done batches only;
//! * nothing that comes over the network makes a role panic: it is decoded with checks, rejected and
//!   counted.

mod bytes;
mod candidates;
mod coordinator;
mod expander;
mod filter;
mod job;
mod keeper;
mod keys;
mod link;
mod log;
mod messages;
pub mod nats;
mod permits;
mod worker;

pub use coordinator::{End, Ended, Rules, View, Way, Wish, coordinate};
pub use expander::{Done, Expander, Settings};
pub use job::{Job, Keys, PROTOCOL};
pub use keeper::{Keeper, Set};
pub use keys::{Codec, Id, MOST_KEEPERS, fingerprint};
pub use link::{Delivery, Desk, Link, Outgoing, Request, Trouble, Waiting, Wire};
pub use messages::{LEVELS_SENT, Tally, Totals};
pub use permits::{Paced, Permits};
pub use worker::work;
