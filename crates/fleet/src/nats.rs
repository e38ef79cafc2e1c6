//! The fleet over NATS: the broker behind [`crate::Link`] and [`crate::Desk`], the registry of jobs and
//! the service of a keeper. Everything here blocks; one small runtime behind [`Broker`] does the waiting.
//!
//! Subjects of a job `id`, and who sends to them:
//! * `ergodic.jobs.<id>`: the job itself, kept by the stream `ERGODIC_JOBS` (coordinator);
//! * `ergodic.<id>.work.<level>`: batches, kept by the work queue `ERGODIC_<ID>` (workers, coordinator);
//! * `ergodic.<id>.keep.<k>`: requests to keeper `k` (workers, coordinator);
//! * `ergodic.<id>.desk.<question>`: requests to the coordinator: `level` (workers), `keep` (keepers),
//!   `status` and `cancel` (people); a subject each, so that a server can let some ask and others not;
//! * `ergodic.<id>.level`, `ergodic.<id>.over`: announcements (coordinator);
//! * `ergodic.<id>.beat.<worker>`: signs of life (workers).
//!
//! Invariants:
//! * a batch counts as published when the broker has said that it stored it, never before; a refusal is
//!   a reason to wait and try again;
//! * announcements may be lost: whoever misses one finds the consumer or the stream gone, and asks;
//! * every wait ends within about 100 ms after [`Stop::ask`];
//! * no message from the network makes this panic, and no message of ours shows a secret;
//! * tasks of the runtime never own the runtime: it is always let go by a thread of the caller.

mod access;
mod broker;
mod desk;
mod embedded;
mod keeper;
mod link;
mod registry;
mod stream;
mod watch;
mod wire;

pub use access::Access;
pub use broker::{Broker, Events, Traffic};
pub use desk::NatsDesk;
pub use embedded::Embedded;
pub use keeper::{keeper_present, serve_keeper};
pub use link::NatsLink;
pub use registry::Entry;
pub use stream::JobStream;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a wait looks whether it is still wanted.
const TICK: Duration = Duration::from_millis(50);

/// How long the broker remembers the identities of batches, to drop repetitions.
const DUPLICATES: Duration = Duration::from_secs(120);

/// The longest JSON message that the desk reads, in bytes.
const DESK_BYTES: usize = 64 << 10;

/// The header by which a keeper says that it cannot answer.
const TROUBLE: &str = "Ergodic-Trouble";

/// A wish that everything ends, shared by all who should know.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl From<Arc<AtomicBool>> for Stop {
    /// Somebody asks by setting the flag.
    fn from(flag: Arc<AtomicBool>) -> Stop {
        Stop(flag)
    }
}

impl Stop {
    /// Nobody has asked yet.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Asks everybody who holds this handle to stop.
    pub fn ask(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether somebody has asked.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Whether a job may be called so: its name becomes a part of subjects and of a stream's name. (`jobs`
/// would be mistaken for the registry.)
fn valid_id(id: &str) -> bool {
    valid_token(id)
        && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        && id != "jobs"
}

/// Whether this can stand between two dots of a subject.
fn valid_token(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// The work queue of a job.
fn stream_name(id: &str) -> String {
    format!("ERGODIC_{}", id.to_ascii_uppercase())
}

/// The waiting time between attempts: it doubles.
struct Pause(Duration);

impl Pause {
    fn new() -> Pause {
        Pause(Duration::from_millis(100))
    }

    async fn rest(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(Duration::from_secs(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Job, Keys};

    /// A job that is as small as can be.
    pub(super) fn job() -> Job {
        Job {
            protocol: crate::PROTOCOL,
            version: String::new(),
            id: "x".into(),
            model: String::new(),
            source: String::new(),
            options: serde_json::Value::Null,
            program: String::new(),
            bits: 1,
            keepers: 1,
            keys: Keys::Exact,
            seed: 0,
            batch_states: 1,
            strict: false,
            redeliver_ms: 0,
            queue_bytes: None,
            replicas: 1,
            began: 0,
            host: String::new(),
        }
    }

    #[test]
    fn names_of_jobs() {
        for good in ["a", "x17", "0123456789abcdef"] {
            assert!(valid_id(good), "{good}");
        }
        for bad in ["", "A", "a.b", "a*", ">", "jobs", "a b", "ä", &"a".repeat(65)] {
            assert!(!valid_id(bad), "{bad}");
        }
        assert_eq!(stream_name("x17"), "ERGODIC_X17");
    }

    #[test]
    fn a_wish_to_stop_is_shared() {
        let stop = Stop::new();
        let other = stop.clone();
        assert!(!other.asked());
        stop.ask();
        assert!(other.asked());
    }
}
