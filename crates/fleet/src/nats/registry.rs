//! The jobs that a server knows: one message for each, kept until it is withdrawn. What cannot be read is
//! listed as such, so that a job of another version is seen and not taken for none.

use super::broker::{Broker, Fail, outgoing, refusal, status};
use super::valid_id;
use crate::{Job, PROTOCOL};
use async_nats::StatusCode;
use serde_json::{Value, json};
use std::time::Duration;

/// The stream that keeps the jobs.
pub(super) const STREAM: &str = "ERGODIC_JOBS";

/// How long a command waits for a server that is away for a moment.
pub(super) const LIMIT: Duration = Duration::from_secs(10);

/// Something that is registered as a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A job that we can take part in.
    Job(Box<Job>),
    /// A job of another version, or no job at all.
    Unreadable {
        /// What it is registered as.
        id: String,
        /// Why it cannot be read; names the version of whoever published it, where that is known.
        why: String,
    },
}

impl Broker {
    /// Publishes a job, in place of an older one of the same name.
    pub fn post(&self, job: &Job) -> Result<(), String> {
        if !valid_id(&job.id) {
            return Err(format!(
                "`{}` is no name of a job; it takes lower-case letters and digits",
                job.id
            ));
        }
        let what = format!("cannot publish job {}", job.id);
        let body = serde_json::to_vec(job).map_err(|error| format!("{what}: {error}"))?;
        if body.len() > self.max_payload() {
            return Err(Fail::TooLong(self.max_payload(), body.len()).explain(&what, &self.url()));
        }
        let message = outgoing(format!("ergodic.jobs.{}", job.id), body);
        let posting = async {
            self.hub()
                .api_patient(&format!("STREAM.CREATE.{STREAM}"), &config(), Some(LIMIT))
                .await
                .or_else(existing)?;
            let answer = self.hub().request(&message, LIMIT).await?;
            let answer: Value = serde_json::from_slice(&answer.payload).unwrap_or_default();
            match refusal(&answer) {
                Some(fail) => Err(fail),
                None if answer.get("stream").and_then(Value::as_str) == Some(STREAM) => Ok(()),
                None => Err(Fail::Refused(0, "somebody else answered".into())),
            }
        };
        self.said(&what, self.block(posting))
    }

    /// All that is registered, by name.
    pub fn jobs(&self) -> Result<Vec<Entry>, String> {
        let listing = async {
            let mut entries = Vec::new();
            for id in self.job_ids().await? {
                entries.extend(self.job_entry(id).await?);
            }
            Ok(entries)
        };
        self.said("cannot list the jobs", self.block(listing))
    }

    /// Takes a job off the list. It is no error if it is not there.
    pub fn withdraw(&self, id: &str) -> Result<(), String> {
        if !valid_id(id) {
            return Err(format!(
                "`{id}` is no name of a job; it takes lower-case letters and digits"
            ));
        }
        let filter = json!({ "filter": format!("ergodic.jobs.{id}") });
        let call = format!("STREAM.PURGE.{STREAM}");
        let purging = async {
            match self.hub().api_patient(&call, &filter, Some(LIMIT)).await {
                Ok(_) | Err(Fail::Refused(10059, _)) => Ok(()),
                Err(fail) => Err(fail),
            }
        };
        // Whoever was asked to stop withdraws its job all the same.
        let done = self.block_briefly(purging, LIMIT).ok_or(crate::Trouble::Stopped);
        self.said(&format!("cannot withdraw job {id}"), done)
    }

    /// Words for what went wrong.
    pub(super) fn said<T>(
        &self,
        what: &str,
        result: Result<Result<T, Fail>, crate::Trouble>,
    ) -> Result<T, String> {
        match result {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(fail)) => Err(fail.explain(what, &self.url())),
            Err(trouble) => Err(format!("{what}: {trouble}")),
        }
    }

    /// The names under which something is registered. The server lists subjects in pages.
    async fn job_ids(&self) -> Result<Vec<String>, Fail> {
        let call = format!("STREAM.INFO.{STREAM}");
        let mut ids: Vec<String> = Vec::new();
        loop {
            let body = json!({ "subjects_filter": "ergodic.jobs.*", "offset": ids.len() });
            let info = match self.hub().api_patient(&call, &body, Some(LIMIT)).await {
                Err(Fail::Refused(10059, _)) => return Ok(Vec::new()),
                answer => answer?,
            };
            let page = info.pointer("/state/subjects").and_then(Value::as_object);
            let before = ids.len();
            for subject in page.into_iter().flat_map(|page| page.keys()) {
                ids.push(subject.strip_prefix("ergodic.jobs.").unwrap_or(subject).to_string());
            }
            let total = info.get("total").and_then(Value::as_u64).unwrap_or(0);
            if ids.len() == before || ids.len() as u64 >= total {
                ids.sort();
                return Ok(ids);
            }
        }
    }

    /// What is registered under a name; nothing if it has just been withdrawn.
    async fn job_entry(&self, id: String) -> Result<Option<Entry>, Fail> {
        let body = json!({ "last_by_subj": format!("ergodic.jobs.{id}") }).to_string().into_bytes();
        let message = outgoing(format!("$JS.API.DIRECT.GET.{STREAM}"), body);
        let answer = self.hub().request(&message, LIMIT).await?;
        match status(&answer) {
            None => Ok(Some(read(id, &answer.payload))),
            Some(StatusCode::NOT_FOUND) => Ok(None),
            Some(status) => {
                let text = answer.description.as_deref().unwrap_or("no reason given");
                Err(Fail::Refused(u64::from(status.as_u16()), text.to_string()))
            }
        }
    }
}

/// A stream that is there already, perhaps configured by hand, will do.
pub(super) fn existing(fail: Fail) -> Result<Value, Fail> {
    match fail {
        Fail::Refused(10058, _) => Ok(Value::Null),
        fail => Err(fail),
    }
}

fn config() -> Value {
    json!({
        "name": STREAM,
        "description": "jobs of ergodic",
        "subjects": ["ergodic.jobs.*"],
        "retention": "limits",
        "storage": "file",
        "discard": "old",
        "max_msgs_per_subject": 1,
        "max_consumers": -1,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_age": 0,
        "num_replicas": 1,
        "allow_direct": true,
    })
}

/// What a registered message says.
fn read(id: String, body: &[u8]) -> Entry {
    match read_job(&id, body) {
        Ok(job) => Entry::Job(Box::new(job)),
        Err(why) => Entry::Unreadable { id, why },
    }
}

fn read_job(id: &str, body: &[u8]) -> Result<Job, String> {
    let value: Value =
        serde_json::from_slice(body).map_err(|error| format!("not a job: {error}"))?;
    let protocol =
        value.get("protocol").and_then(Value::as_u64).ok_or("not a job: it tells no protocol")?;
    if protocol != u64::from(PROTOCOL) {
        let version: String = value
            .get("version")
            .and_then(Value::as_str)
            .unwrap_or("unknown")
            .chars()
            .take(64)
            .collect();
        return Err(format!(
            "it was published by version {version} with protocol {protocol}, and this version speaks protocol {PROTOCOL}; use the same version everywhere"
        ));
    }
    let job: Job = serde_json::from_value(value).map_err(|error| format!("not a job: {error}"))?;
    if job.id != id || !valid_id(id) {
        return Err("the name in it is not the one it is registered as".into());
    }
    Ok(job)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(body: &str) -> String {
        match read("x".into(), body.as_bytes()) {
            Entry::Job(_) => panic!("read as a job"),
            Entry::Unreadable { id, why } => {
                assert_eq!(id, "x");
                why
            }
        }
    }

    #[test]
    fn what_is_no_job_is_said_so() {
        assert!(why("{").contains("not a job"));
        assert!(why("[]").contains("no protocol"));
        assert!(why(r#"{"protocol":1}"#).contains("missing field"));
        let other = why(r#"{"protocol":99,"version":"7.0","shape":["new"]}"#);
        assert!(other.contains("7.0") && other.contains("99"), "{other}");
    }
}
