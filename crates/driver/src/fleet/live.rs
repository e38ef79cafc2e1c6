//! What can be seen of a job while it runs, for people and as JSON.

use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What a job is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Not all keepers are there.
    #[default]
    WaitingForKeepers,
    /// Nobody works.
    WaitingForWorkers,
    /// States are being expanded.
    Running,
}

/// One worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WorkerView {
    /// Computer and process.
    pub name: String,
    /// Threads that compute.
    pub threads: u64,
    /// States that it has expanded.
    pub states: u64,
    /// States per second, lately.
    pub rate: f64,
    /// Batches.
    pub batches: u64,
    /// Seconds since its last sign of life.
    pub silent: f64,
}

/// One keeper.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KeeperView {
    /// States that it holds.
    pub states: u64,
    /// Bytes of its set.
    pub bytes: u64,
    /// Bytes of its log.
    pub log_bytes: u64,
}

/// How far a job is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Live {
    /// Its name.
    pub job: String,
    /// The model.
    pub model: String,
    /// What it is doing.
    pub phase: Phase,
    /// Seconds since it began.
    pub seconds: f64,
    /// States found.
    pub states: u64,
    /// States per second, lately.
    pub rate: f64,
    /// Rule firings.
    pub transitions: u64,
    /// The deepest level with states.
    pub level: u64,
    /// Batches that wait.
    pub waiting: u64,
    /// Batches that are being worked on.
    pub in_work: u64,
    /// Bytes of batches at the broker.
    pub queue_bytes: u64,
    /// Batches that were delivered more than once.
    pub redeliveries: u64,
    /// How often the broker had no room for a batch.
    pub refused: u64,
    /// Bytes of requests, answers and batches, per state found.
    pub wire_bytes_per_state: f64,
    /// Bytes of requests and answers, per successor that keepers were asked about.
    pub wire_bytes_per_claim: f64,
    /// States per second of one thread on the coordinator's computer, measured before; not of models that
    /// have too few states for that.
    pub local_rate: Option<f64>,
    /// Rate of the whole against that of as many local threads, if that is known.
    pub efficiency: Option<f64>,
    /// Keepers.
    pub keepers: Vec<KeeperView>,
    /// Workers that were heard of lately.
    pub workers: Vec<WorkerView>,
    /// Messages that were rejected.
    pub rejected: u64,
    /// Processes that were started again.
    pub restarts: u64,
    /// The last thing worth telling.
    pub news: Option<String>,
}

/// After so long without a sign of life a worker counts as gone.
const GONE: Duration = Duration::from_secs(5);

struct Seen {
    at: Instant,
    news: Value,
    view: WorkerView,
}

/// What workers say of themselves.
#[derive(Default)]
pub(super) struct Roll {
    seen: BTreeMap<String, Seen>,
}

/// A number in what a worker says.
fn number(news: &Value, key: &str) -> u64 {
    news.get(key).and_then(Value::as_u64).unwrap_or(0)
}

impl Roll {
    /// Takes note of a sign of life.
    pub(super) fn note(&mut self, name: String, news: Value) {
        let now = Instant::now();
        let states = number(&news, "states");
        let before = self.seen.get(&name);
        let rate = before.map_or(0.0, |before| {
            let passed = now.duration_since(before.at).as_secs_f64().max(1e-3);
            states.saturating_sub(before.view.states) as f64 / passed
        });
        let (threads, batches) = (number(&news, "threads"), number(&news, "batches"));
        let view = WorkerView { name: name.clone(), threads, states, rate, batches, silent: 0.0 };
        self.seen.insert(name, Seen { at: now, news, view });
    }

    /// Workers that are there.
    pub(super) fn present(&self) -> Vec<WorkerView> {
        let present = self.seen.values().filter(|seen| seen.at.elapsed() < GONE);
        let view = |seen: &Seen| WorkerView {
            silent: seen.at.elapsed().as_secs_f64(),
            ..seen.view.clone()
        };
        present.map(view).collect()
    }

    /// The sum over all workers, gone or not, of what they say under a name.
    pub(super) fn sum(&self, key: &str) -> u64 {
        // Whoever may talk to the broker may say any number.
        self.seen.values().map(|seen| number(&seen.news, key)).fold(0, u64::saturating_add)
    }

    /// Workers that were ever heard of.
    pub(super) fn count(&self) -> usize {
        self.seen.len()
    }
}
