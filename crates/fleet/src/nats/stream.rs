//! The work queue of a job: a stream that forgets a message when it is acknowledged and refuses new ones
//! when it is full.
//!
//! It is full when it holds a number of messages, never when it holds a number of bytes: up to 2.10 the
//! server compares the limit of bytes with less than what a message takes, stores it, confirms it, and then
//! deletes the oldest messages until the limit holds, even if it was told to refuse new ones
//! (nats-server issues 4771 and 4775; seen with 2.9.10). A limit of messages is kept exactly. For the same
//! reason a limit is never lowered: that deletes the oldest messages, too (issue 2589).

use super::broker::{Broker, Fail};
use super::registry::LIMIT;
use super::{DUPLICATES, stream_name, valid_id};
use crate::Job;
use serde_json::{Value, json};
use std::time::Duration;

/// How many batches may be out at the same time.
const OUT: u64 = 100_000;

/// How many workers may wait for batches at the same time.
const WAITING: u64 = 16_384;

/// The work queue of a job, as whoever published the job handles it.
pub struct JobStream;

impl JobStream {
    /// Makes it. One that is there already, made the same way, is taken over.
    pub fn create(broker: &Broker, job: &Job) -> Result<(), String> {
        let what = format!("cannot make the work queue of job {}", job.id);
        if !valid_id(&job.id) {
            return Err(format!("{what}: its name takes lower-case letters and digits"));
        }
        let call = format!("STREAM.CREATE.{}", stream_name(&job.id));
        let config = config(job);
        let creating = broker.hub().api_patient(&call, &config, Some(LIMIT));
        let created = broker.block(creating);
        // A server on its own, or a cluster of fewer servers.
        let alone = matches!(created, Ok(Err(Fail::Refused(10074 | 10005, _))));
        broker.said(&what, created).map(drop).map_err(|why| match alone && job.replicas > 1 {
            true => {
                let replicas = job.replicas;
                format!(
                    "{why}; use a cluster of {replicas} servers or more, or leave out --replicas"
                )
            }
            false => why,
        })
    }

    /// Deletes it, and whatever waits in it. It is no error if it is not there.
    pub fn delete(broker: &Broker, id: &str) -> Result<(), String> {
        let what = format!("cannot delete the work queue of job {id}");
        if !valid_id(id) {
            return Err(format!("{what}: this is no name of a job"));
        }
        let call = format!("STREAM.DELETE.{}", stream_name(id));
        let deleting = async {
            match broker.hub().api_patient(&call, &json!({}), Some(LIMIT)).await {
                Ok(_) | Err(Fail::Refused(10059, _)) => Ok(()),
                Err(fail) => Err(fail),
            }
        };
        // As with a job's withdrawal: also by whoever was asked to stop.
        broker.said(&what, broker.block_briefly(deleting, LIMIT).ok_or(crate::Trouble::Stopped))
    }

    /// Lets more bytes wait in it; with `None`, as many as the server has room for. It never gets
    /// smaller.
    pub fn grow(broker: &Broker, job: &Job, bytes: Option<u64>) -> Result<(), String> {
        let what = format!("cannot enlarge the work queue of job {}", job.id);
        if !valid_id(&job.id) {
            return Err(format!("{what}: this is no name of a job"));
        }
        let name = stream_name(&job.id);
        let growing = async {
            let info = broker
                .hub()
                .api_patient(&format!("STREAM.INFO.{name}"), &json!({}), Some(LIMIT))
                .await?;
            let mut config = info.get("config").cloned().unwrap_or_default();
            let wanted = max_messages(job, bytes);
            // All of its configuration goes back with the one change, so that nothing else is changed.
            match config.get_mut("max_msgs") {
                Some(limit)
                    if limit
                        .as_i64()
                        .is_some_and(|now| now > 0 && (now < wanted || wanted < 0)) =>
                {
                    *limit = json!(wanted);
                }
                _ => return Ok(()),
            }
            broker
                .hub()
                .api_patient(&format!("STREAM.UPDATE.{name}"), &config, Some(LIMIT))
                .await
                .map(drop)
        };
        broker.said(&what, broker.block(growing))
    }
}

/// What a full batch takes at the broker, at most: each state with its reference, and what stands around
/// the batch and around the message.
fn batch_bytes(job: &Job) -> u64 {
    let state = (job.bits as u64).div_ceil(64).saturating_mul(9).saturating_add(24);
    u64::from(job.batch_states).saturating_mul(state).saturating_add(512)
}

/// How many messages take at most so many bytes; -1 is any number.
fn max_messages(job: &Job, bytes: Option<u64>) -> i64 {
    bytes.map_or(-1, |bytes| i64::try_from((bytes / batch_bytes(job)).max(1)).unwrap_or(i64::MAX))
}

fn config(job: &Job) -> Value {
    json!({
        "name": stream_name(&job.id),
        "description": "work of a job of ergodic",
        "subjects": [format!("ergodic.{}.work.*", job.id)],
        "retention": "workqueue",
        "storage": "file",
        "discard": "new",
        "max_consumers": -1,
        "max_msgs": max_messages(job, job.queue_bytes),
        "max_msgs_per_subject": -1,
        "max_bytes": -1,
        "max_age": 0,
        "num_replicas": job.replicas.clamp(1, 5),
        "duplicate_window": DUPLICATES.as_nanos() as u64,
    })
}

/// How long a batch may go without a sign of life before somebody else gets it.
pub(super) fn ack_wait(job: &Job) -> Duration {
    // Zero would mean the server's own idea.
    Duration::from_millis(job.redeliver_ms.clamp(100, 86_400_000))
}

/// The consumer that hands out a level, or all.
pub(super) fn consumer_name(level: Option<u32>) -> String {
    level.map_or("work".into(), |level| format!("level{level}"))
}

/// The subject of the batches of a level, or of all.
pub(super) fn work_subject(id: &str, level: Option<u32>) -> String {
    match level {
        Some(level) => format!("ergodic.{id}.work.{level}"),
        None => format!("ergodic.{id}.work.*"),
    }
}

pub(super) fn consumer_config(job: &Job, level: Option<u32>) -> Value {
    json!({
        "stream_name": stream_name(&job.id),
        "config": {
            "durable_name": consumer_name(level),
            "filter_subject": work_subject(&job.id, level),
            "deliver_policy": "all",
            "ack_policy": "explicit",
            "replay_policy": "instant",
            "ack_wait": ack_wait(job).as_nanos() as u64,
            "max_deliver": -1,
            "max_ack_pending": OUT,
            "max_waiting": WAITING,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_messages() {
        let job = |bits, batch_states| Job { bits, batch_states, ..crate::nats::tests::job() };
        assert_eq!(max_messages(&job(7, 10), None), -1);
        assert_eq!(max_messages(&job(7, 10), Some(0)), 1);
        assert_eq!(max_messages(&job(7, 10), Some(842 * 20)), 20);
        assert_eq!(max_messages(&job(7, 10), Some(842 * 20 - 1)), 19);
        assert_eq!(max_messages(&job(usize::MAX, u32::MAX), Some(u64::MAX)), 1);
        assert_eq!(max_messages(&job(0, 0), Some(u64::MAX)), (u64::MAX / 512) as i64);
    }
}
