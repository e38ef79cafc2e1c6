//! What a process knows about the state of a job: whether it is over, and which level is open.
//!
//! Announcements come over core NATS and may be lost. So `over` is also concluded from the stream or the
//! registry entry being gone, and the level is asked for when its consumer is gone. Nothing but an answer
//! of the server that something does not exist counts as gone: silence does not.

use super::broker::{Broker, Fail, Hub, lock, outgoing, status};
use super::stream_name;
use crate::{Job, Trouble};
use async_nats::{Message, StatusCode, Subscriber};
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use serde_json::{Value, json};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// The server is not asked more often whether a job is over.
const CHECK: Duration = Duration::from_secs(1);

/// How long the coordinator may think about a question.
const DESK: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Known {
    over: AtomicBool,
    /// Whether we have left it.
    left: AtomicBool,
    /// Whether the server said that there is no stream.
    gone: AtomicBool,
    /// The level that is open and one, or zero.
    level: AtomicU64,
}

/// What is known about a job.
pub(super) struct Watch {
    pub hub: Hub,
    pub id: String,
    known: Arc<Known>,
    /// Whether it was seen in the registry: before that, its absence means nothing.
    registered: AtomicBool,
    checked: Mutex<Option<Instant>>,
    ears: Vec<AbortHandle>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ears.iter().for_each(AbortHandle::abort);
    }
}

impl Watch {
    /// Begins to listen.
    pub fn start(broker: &Broker, job: &Job) -> Result<Arc<Watch>, Trouble> {
        let hub = broker.hub().clone();
        let known = Arc::new(Known::default());
        let mut ears = Vec::new();
        for (what, hear) in [("level", hear_level as fn(&Known, &Message)), ("over", hear_over)] {
            let subject = format!("ergodic.{}.{what}", job.id);
            let heard = broker.block(hub.client.subscribe(subject))?.map_err(|error| {
                Trouble::Broken(format!("cannot listen to job {}: {error}", job.id))
            })?;
            ears.extend(broker.spawn(listen(heard, Arc::clone(&known), hear)));
        }
        let (registered, checked) = (AtomicBool::new(false), Mutex::new(None));
        Ok(Arc::new(Watch { hub, id: job.id.clone(), known, registered, checked, ears }))
    }

    /// Whether the job is known to be over, or is to be taken for that.
    pub fn over(&self) -> bool {
        self.known.over.load(Ordering::SeqCst) || self.left()
    }

    /// Whether we have left the job, which goes on without us.
    pub fn left(&self) -> bool {
        self.known.left.load(Ordering::SeqCst)
    }

    /// Takes the job for over, whatever others do with it.
    pub fn leave(&self) {
        self.known.left.store(true, Ordering::SeqCst);
    }

    /// Whether the work queue is known to be gone.
    pub fn gone(&self) -> bool {
        self.known.gone.load(Ordering::SeqCst)
    }

    /// The level that was open when we last heard.
    pub fn level(&self) -> Option<u32> {
        self.known
            .level
            .load(Ordering::SeqCst)
            .checked_sub(1)
            .and_then(|level| u32::try_from(level).ok())
    }

    /// Asks the coordinator which level is open.
    pub async fn ask_level(&self) {
        let question = json!({ "ask": "level" }).to_string().into_bytes();
        let message = outgoing(format!("ergodic.{}.desk.level", self.id), question);
        let Ok(answer) = self.hub.request(&message, DESK).await else { return };
        if let Some(level) = read_level(&answer.payload) {
            self.known.level.store(u64::from(level) + 1, Ordering::SeqCst);
        }
    }

    /// Finds out whether the job is over, at most once a second.
    pub async fn check(&self) {
        {
            let mut checked = lock(&self.checked);
            if checked.is_some_and(|at| at.elapsed() < CHECK) {
                return;
            }
            *checked = Some(Instant::now());
        }
        let info =
            self.hub.api(&format!("STREAM.INFO.{}", stream_name(&self.id)), &json!({})).await;
        if matches!(info, Err(Fail::Refused(10059, _))) {
            self.known.gone.store(true, Ordering::SeqCst);
            self.known.over.store(true, Ordering::SeqCst);
            return;
        }
        self.check_registry().await;
    }

    async fn check_registry(&self) {
        let body =
            json!({ "last_by_subj": format!("ergodic.jobs.{}", self.id) }).to_string().into_bytes();
        let message = outgoing(format!("$JS.API.DIRECT.GET.{}", super::registry::STREAM), body);
        let Ok(answer) = self.hub.request(&message, super::broker::PATIENCE).await else { return };
        match status(&answer) {
            None => self.registered.store(true, Ordering::SeqCst),
            Some(StatusCode::NOT_FOUND) if self.registered.load(Ordering::SeqCst) => {
                self.known.over.store(true, Ordering::SeqCst);
            }
            Some(_) => {}
        }
    }

    /// Waits for something, unless it is in vain: somebody asked to stop, or (if that is heeded) the job
    /// is over.
    pub async fn unless<T>(
        &self,
        heed_over: bool,
        future: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Trouble> {
        let vain = async {
            loop {
                if self.hub.shared.stop.asked() {
                    return Trouble::Stopped;
                }
                if heed_over && self.over() {
                    return Trouble::Over;
                }
                tokio::time::sleep(super::TICK).await;
            }
        };
        match select(pin!(future), pin!(vain)).await {
            Either::Left((output, _)) => output,
            Either::Right((trouble, _)) => Err(trouble),
        }
    }
}

async fn listen(mut heard: Subscriber, known: Arc<Known>, hear: fn(&Known, &Message)) {
    while let Some(message) = heard.next().await {
        hear(&known, &message);
    }
}

fn hear_over(known: &Known, _: &Message) {
    known.over.store(true, Ordering::SeqCst);
}

/// Levels only go up, so that an announcement that comes late changes nothing.
fn hear_level(known: &Known, message: &Message) {
    if let Some(level) = read_level(&message.payload) {
        known.level.fetch_max(u64::from(level) + 1, Ordering::SeqCst);
    }
}

fn read_level(body: &[u8]) -> Option<u32> {
    if body.len() > super::DESK_BYTES {
        return None;
    }
    let value: Value = serde_json::from_slice(body).ok()?;
    value.get("level")?.as_u64().and_then(|level| u32::try_from(level).ok())
}
