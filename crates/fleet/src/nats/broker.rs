//! The connection that all roles of a process share, and the requests that everything else is made of.
//!
//! Requests to JetStream are plain requests with JSON, so that there is one place that knows about lost
//! connections, silence and refusals. A request waits for a connection before it is sent: requests that
//! pile up while the server is away would all be sent when it is back.

use super::access::{Access, no_answer};
use super::watch::Watch;
use super::{Pause, Stop, TICK};
use crate::{Job, Trouble};
use async_nats::connection::State;
use async_nats::message::OutboundMessage;
use async_nats::{Client, Event, HeaderMap, Message, Request, RequestErrorKind, StatusCode};
use futures_util::future::{Either, select};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

/// How long connecting may take, all in all.
const CONNECT: Duration = Duration::from_secs(5);

/// How long the server may think about a request of ours.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// How long somebody who is there may take to say so.
const MOMENT: Duration = Duration::from_secs(1);

/// Requests that come in faster than they are taken wait in a row of this length.
const ROW: usize = 1 << 16;

/// What happened to the connection so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// How often it broke.
    pub disconnects: u64,
    /// How often it came back.
    pub reconnects: u64,
    /// How often a message was dropped because we did not take it soon enough.
    pub slow: u64,
    /// The last thing worth telling.
    pub last: Option<String>,
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What went over the wire so far, as this process sees it. Bytes are of messages, without
        /// what the protocols put around them.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Traffic { $($(#[$doc])* pub $name: u64,)* }

        /// The same, as it is counted.
        #[derive(Default)]
        pub(super) struct Meter { $(pub $name: AtomicU64,)* }

        impl Meter {
            fn read(&self) -> Traffic {
                Traffic { $($name: self.$name.load(Ordering::Relaxed),)* }
            }
        }
    };
}

counters! {
    /// Bytes of requests to keepers.
    claims_out,
    /// Bytes of their answers.
    claims_in,
    /// Bytes of requests that came to keepers of this process.
    served_in,
    /// Bytes of the answers that they gave.
    served_out,
    /// Bytes of published batches.
    work_out,
    /// Bytes of pulled batches.
    work_in,
    /// Batches that the broker had no room for, each time they were tried.
    refused,
    /// Requests and batches that were sent again because there was no answer.
    retries,
    /// Messages that were none of ours, or malformed, or too long.
    rejected,
    /// Batches that were pulled.
    deliveries,
    /// Those among them that somebody had been given before.
    redeliveries,
}

/// Adds to a counter.
pub(super) fn count(counter: &AtomicU64, by: usize) {
    counter.fetch_add(by as u64, Ordering::Relaxed);
}

/// A lock that another thread's panic does not spoil: what it guards is always whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a request got no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fail {
    /// The connection broke in between, or the answer did not come in time.
    Silence,
    /// Nobody listens on that subject.
    Nobody,
    /// The server takes messages up to the first size; this one has the second.
    TooLong(usize, usize),
    /// The server does not let us.
    Forbidden(String),
    /// JetStream says no: the number of the error and its text.
    Refused(u64, String),
}

impl Fail {
    /// Whether trying again can help.
    pub fn passes(&self) -> bool {
        matches!(self, Fail::Silence | Fail::Nobody)
    }

    /// In words, for a request that was about `what`.
    pub fn explain(&self, what: &str, url: &str) -> String {
        match self {
            Fail::Silence => format!(
                "{what}: the NATS server at {url} gave no answer; is it overloaded, or cut off?"
            ),
            Fail::Nobody => format!(
                "{what}: nobody answers at {url}; is JetStream running there? (nats-server -js)"
            ),
            Fail::TooLong(limit, size) => format!(
                "{what}: a message has {size} bytes, and the NATS server at {url} takes {limit} at most; raise max_payload in its configuration"
            ),
            Fail::Forbidden(text) => format!(
                "{what}: the NATS server at {url} does not allow it ({text}); give this user the permission"
            ),
            Fail::Refused(number, text) => {
                format!("{what}: the NATS server at {url} refuses: {text} (error {number})")
            }
        }
    }
}

/// What is known about the connection, and counted.
#[derive(Default)]
pub(super) struct Shared {
    pub stop: Stop,
    pub url: String,
    inbox: String,
    pub meter: Meter,
    connects: AtomicU64,
    disconnects: AtomicU64,
    slow: AtomicU64,
    last: Mutex<Option<String>>,
    /// What the server lately did not allow.
    denied: Mutex<VecDeque<String>>,
}

impl Shared {
    fn hear(&self, event: &Event) {
        match event {
            Event::Connected => count(&self.connects, 1),
            Event::Disconnected => count(&self.disconnects, 1),
            Event::SlowConsumer(_) => count(&self.slow, 1),
            _ => {}
        }
        if let Event::ServerError(error) = event {
            let text = error.to_string();
            if text.contains("ermissions") {
                let mut denied = lock(&self.denied);
                denied.push_back(text);
                if denied.len() > 64 {
                    denied.pop_front();
                }
            }
        }
        if *event != Event::Connected || self.connects.load(Ordering::Relaxed) > 1 {
            self.note(event.to_string());
        }
    }

    /// Keeps something worth telling.
    pub fn note(&self, text: String) {
        *lock(&self.last) = Some(text);
    }

    /// What the server said about a subject that it does not allow, or about our inbox.
    pub fn denial(&self, subject: &str) -> Option<String> {
        let denied = lock(&self.denied);
        if denied.is_empty() {
            return None;
        }
        let (quoted, inbox) = (format!("\"{subject}\""), format!("\"{}.", self.inbox));
        // Not being allowed to listen there: an answer of ours that another role does not get is another
        // matter, and passes.
        let deaf = |text: &str| text.contains("Subscription") && text.contains(&inbox);
        denied.iter().find(|text| text.contains(&quoted) || deaf(text)).cloned()
    }
}

/// What tasks hold of a connection: everything but the runtime.
#[derive(Clone)]
pub(super) struct Hub {
    pub client: Client,
    pub shared: Arc<Shared>,
}

/// A message to be sent, with an empty reply and no headers.
pub(super) fn outgoing(subject: String, body: Vec<u8>) -> OutboundMessage {
    OutboundMessage { subject: subject.into(), reply: None, payload: body.into(), headers: None }
}

impl Hub {
    /// Waits for the connection.
    pub async fn connected(&self) {
        while self.client.connection_state() != State::Connected {
            sleep(TICK).await;
        }
    }

    /// Ends when an answer that is under way will not come any more.
    async fn hopeless(&self, subject: &str, breaks: u64) -> Fail {
        loop {
            sleep(TICK).await;
            let broken = self.shared.disconnects.load(Ordering::Relaxed) != breaks;
            if broken || self.client.connection_state() != State::Connected {
                return Fail::Silence;
            }
            if let Some(text) = self.shared.denial(subject) {
                return Fail::Forbidden(text);
            }
        }
    }

    /// Asks once.
    pub async fn request(
        &self,
        message: &OutboundMessage,
        patience: Duration,
    ) -> Result<Message, Fail> {
        self.connected().await;
        let breaks = self.shared.disconnects.load(Ordering::Relaxed);
        let mut request = Request::new().payload(message.payload.clone()).timeout(Some(patience));
        if let Some(headers) = &message.headers {
            request = request.headers(headers.clone());
        }
        let answer = pin!(self.client.send_request(message.subject.clone(), request));
        let hopeless = pin!(self.hopeless(&message.subject, breaks));
        match select(answer, hopeless).await {
            Either::Left((Ok(answer), _)) => Ok(answer),
            Either::Left((Err(error), _)) => Err(match error.kind() {
                RequestErrorKind::NoResponders => Fail::Nobody,
                RequestErrorKind::MaxPayloadExceeded => {
                    Fail::TooLong(self.client.max_payload(), message.payload.len())
                }
                RequestErrorKind::InvalidSubject => Fail::Forbidden(error.to_string()),
                _ => self.shared.denial(&message.subject).map_or(Fail::Silence, Fail::Forbidden),
            }),
            Either::Right((fail, _)) => Err(fail),
        }
    }

    /// Asks JetStream once.
    pub async fn api(&self, call: &str, body: &Value) -> Result<Value, Fail> {
        let message = outgoing(format!("$JS.API.{call}"), body.to_string().into_bytes());
        let answer = self.request(&message, PATIENCE).await?;
        let value: Value = serde_json::from_slice(&answer.payload)
            .map_err(|error| Fail::Refused(0, format!("an answer that is no JSON ({error})")))?;
        match refusal(&value) {
            Some(fail) => Err(fail),
            None => Ok(value),
        }
    }

    /// Asks JetStream until there is an answer, at most for so long.
    pub async fn api_patient(
        &self,
        call: &str,
        body: &Value,
        limit: Option<Duration>,
    ) -> Result<Value, Fail> {
        let began = tokio::time::Instant::now();
        let mut pause = Pause::new();
        loop {
            match self.api(call, body).await {
                Err(fail) if fail.passes() && limit.is_none_or(|limit| began.elapsed() < limit) => {
                    pause.rest().await;
                }
                answer => return answer,
            }
        }
    }

    /// Sends, and expects nothing back.
    pub async fn send(&self, subject: String, body: Vec<u8>) {
        // An error means that the message is too long or the client is gone: both have been told
        // elsewhere, and nobody waits for this message.
        let _ = self.client.publish(subject, body.into()).await;
    }

    /// Answers a message. Whoever sends a question chooses where the answer goes; nobody gets us to talk
    /// to the server, or to play a role, in our name.
    pub async fn reply(
        &self,
        to: &Message,
        body: Vec<u8>,
        headers: Option<HeaderMap>,
    ) -> Result<(), String> {
        let Some(subject) = to.reply.clone() else { return Ok(()) };
        if subject.starts_with('$') || subject.starts_with("ergodic.") {
            count(&self.shared.meter.rejected, 1);
            return Ok(());
        }
        let sent = match headers {
            Some(headers) => self.client.publish_with_headers(subject, headers, body.into()).await,
            None => self.client.publish(subject, body.into()).await,
        };
        sent.map_err(|error| error.to_string())
    }
}

/// The error in an answer of JetStream.
pub(super) fn refusal(value: &Value) -> Option<Fail> {
    let error = value.get("error")?;
    let number =
        error.get("err_code").or_else(|| error.get("code")).and_then(Value::as_u64).unwrap_or(0);
    let text = error.get("description").and_then(Value::as_str).unwrap_or("no reason given");
    Some(Fail::Refused(number, text.to_string()))
}

struct Inner {
    runtime: Option<Runtime>,
    hub: Hub,
    watches: Mutex<HashMap<String, Weak<Watch>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        let inside = tokio::runtime::Handle::try_current().is_ok();
        if !inside && self.hub.client.connection_state() == State::Connected {
            // Acknowledgements that are still in our buffers save others the work of doing it again.
            let client = self.hub.client.clone();
            let _ = runtime
                .block_on(async move { timeout(Duration::from_millis(500), client.flush()).await });
        }
        runtime.shutdown_background();
    }
}

/// A connection to a NATS server, for all roles of this process. Copies share it.
#[derive(Clone)]
pub struct Broker(Arc<Inner>);

impl std::fmt::Debug for Broker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Broker").field(&self.url()).finish()
    }
}

impl Broker {
    /// Connects, within five seconds or not at all. A connection that breaks later comes back by
    /// itself, however long that takes.
    pub fn connect(access: &Access, stop: Stop) -> Result<Broker, String> {
        let (addresses, options) = access.options()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("nats")
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start threads for the connection: {error}"))?;
        let shared = Arc::new(Shared {
            stop,
            url: access.shown(),
            inbox: access.inbox_prefix.clone(),
            ..Shared::default()
        });
        let ear = Arc::clone(&shared);
        let options = options
            .connection_timeout(CONNECT)
            .subscription_capacity(ROW)
            .ping_interval(Duration::from_secs(20))
            .max_reconnects(None)
            .event_callback(move |event| {
                ear.hear(&event);
                std::future::ready(())
            });
        let connecting = async { timeout(CONNECT, options.connect(addresses)).await };
        let client = match runtime.block_on(unless_stopped(&shared.stop, connecting)) {
            None => return Err("stopped while connecting".into()),
            Some(Err(_)) => return Err(no_answer(&shared.url)),
            Some(Ok(Err(error))) => return Err(access.explain(&error)),
            Some(Ok(Ok(client))) => client,
        };
        let hub = Hub { client, shared };
        let broker =
            Broker(Arc::new(Inner { runtime: Some(runtime), hub, watches: Mutex::default() }));
        broker.check_server()?;
        Ok(broker)
    }

    /// Refuses a server that cannot do what we need.
    fn check_server(&self) -> Result<(), String> {
        let url = self.url();
        let version = self.hub().client.server_info().version;
        if !self.hub().client.is_server_compatible(2, 9, 0) {
            return Err(format!(
                "the NATS server at {url} is version {version}; 2.9 or later is needed"
            ));
        }
        // A server that has just begun may need a moment; one that has no JetStream says so at once.
        let limit =
            Duration::from_secs(if self.hub().client.server_info().jetstream { 2 } else { 0 });
        let asked = self.block(self.hub().api_patient("INFO", &json!({}), Some(limit)));
        match asked.map_err(|trouble| trouble.to_string())? {
            Ok(_) => Ok(()),
            // Whoever may not ask about the account may still be allowed all that is needed; but nothing
            // works without answers.
            Err(Fail::Forbidden(text)) if !text.contains(&self.hub().shared.inbox) => Ok(()),
            Err(Fail::Nobody | Fail::Refused(10039 | 10076, _)) => Err(format!(
                "the NATS server at {url} runs without JetStream, which holds the work; start it with `nats-server -js`, or enable JetStream for this account"
            )),
            Err(fail) => Err(fail.explain("cannot use JetStream", &url)),
        }
    }

    /// The server, without credentials.
    pub fn url(&self) -> String {
        self.hub().shared.url.clone()
    }

    /// What happened to the connection.
    pub fn events(&self) -> Events {
        let shared = &self.hub().shared;
        Events {
            disconnects: shared.disconnects.load(Ordering::Relaxed),
            reconnects: shared.connects.load(Ordering::Relaxed).saturating_sub(1),
            slow: shared.slow.load(Ordering::Relaxed),
            last: lock(&shared.last).clone(),
        }
    }

    /// What went over the wire.
    pub fn traffic(&self) -> Traffic {
        self.hub().shared.meter.read()
    }

    /// The largest message that the server takes, in bytes.
    pub fn max_payload(&self) -> usize {
        self.hub().client.max_payload()
    }

    /// The version of the server.
    pub fn server_version(&self) -> String {
        self.hub().client.server_info().version
    }

    /// Whether there is a connection at this moment.
    pub fn connected(&self) -> bool {
        self.hub().client.connection_state() == State::Connected
    }

    /// The handle that ends all waiting here.
    pub fn stop(&self) -> Stop {
        self.hub().shared.stop.clone()
    }

    /// Asks the coordinator of a job; `None` if it gives no answer in time.
    pub fn ask_desk(&self, id: &str, question: &Value, patience: Duration) -> Option<Value> {
        let ask = question.get("ask").and_then(Value::as_str).unwrap_or_default();
        if !super::valid_id(id) || !super::valid_token(ask) {
            return None;
        }
        let subject = format!("ergodic.{id}.desk.{ask}");
        let message = outgoing(subject, question.to_string().into_bytes());
        let asking = async { timeout(patience, self.hub().request(&message, patience)).await };
        match self.block(asking) {
            Ok(Ok(Ok(answer))) => serde_json::from_slice(&answer.payload).ok(),
            _ => None,
        }
    }

    /// Whether the server says that nobody serves a job at this moment. A coordinator that is slow, or a server
    /// that is away, does not count: silence is no such answer.
    pub fn nobody_serves(&self, id: &str) -> bool {
        if !super::valid_id(id) || !self.connected() {
            return false;
        }
        // Of all questions, the one that workers may ask.
        let question = json!({ "ask": "level" }).to_string().into_bytes();
        let message = outgoing(format!("ergodic.{id}.desk.level"), question);
        let asking = async { timeout(MOMENT, self.hub().request(&message, MOMENT)).await };
        matches!(self.block(asking), Ok(Ok(Err(Fail::Nobody))))
    }

    /// Ends all work here on a job, as if it were over. Whoever takes part in it later begins anew.
    pub fn leave(&self, id: &str) {
        let watch = lock(&self.0.watches).remove(id);
        if let Some(watch) = watch.and_then(|watch| watch.upgrade()) {
            watch.leave();
        }
    }

    /// Tells the coordinator of a job that a worker is alive, and how it is. A message that cannot be
    /// sent now is of no use later, and is dropped.
    pub fn beat(&self, id: &str, worker: &str, news: &Value) -> Result<(), String> {
        if !super::valid_id(id) || !super::valid_token(worker) {
            return Err(format!("`{id}` or `{worker}` cannot be a part of a subject"));
        }
        let body = news.to_string().into_bytes();
        if body.len() > super::DESK_BYTES {
            return Err(format!(
                "a sign of life of {} bytes; {} are read",
                body.len(),
                super::DESK_BYTES
            ));
        }
        if self.connected() {
            let subject = format!("ergodic.{id}.beat.{worker}");
            let _ = self.block_briefly(self.hub().send(subject, body), TICK);
        }
        Ok(())
    }

    pub(super) fn hub(&self) -> &Hub {
        &self.0.hub
    }

    /// Runs something in the background.
    pub(super) fn spawn<F>(&self, future: F) -> Option<tokio::task::AbortHandle>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        // The runtime is taken away only when the last copy of the broker goes.
        self.0.runtime.as_ref().map(|runtime| runtime.spawn(future).abort_handle())
    }

    /// Waits for something, unless somebody asks to stop.
    pub(super) fn block<F: Future>(&self, future: F) -> Result<F::Output, Trouble> {
        let Some(runtime) = &self.0.runtime else { return Err(Trouble::Stopped) };
        runtime.block_on(unless_stopped(&self.hub().shared.stop, future)).ok_or(Trouble::Stopped)
    }

    /// Waits for something for a short while, even if somebody asked to stop.
    pub(super) fn block_briefly<F: Future>(&self, future: F, limit: Duration) -> Option<F::Output> {
        let runtime = self.0.runtime.as_ref()?;
        runtime.block_on(async { timeout(limit, future).await.ok() })
    }

    /// What this process knows about a job: one watch for all who ask.
    pub(super) fn watch(&self, job: &Job) -> Result<Arc<Watch>, String> {
        if !super::valid_id(&job.id) {
            return Err(format!(
                "`{}` is no name of a job; it takes lower-case letters and digits",
                job.id
            ));
        }
        let mut watches = lock(&self.0.watches);
        if let Some(watch) = watches.get(&job.id).and_then(Weak::upgrade) {
            return Ok(watch);
        }
        watches.retain(|_, watch| watch.strong_count() > 0);
        let watch = Watch::start(self, job).map_err(|trouble| trouble.to_string())?;
        watches.insert(job.id.clone(), Arc::downgrade(&watch));
        Ok(watch)
    }
}

/// The result, or nothing if somebody asked to stop.
async fn unless_stopped<F: Future>(stop: &Stop, future: F) -> Option<F::Output> {
    let asked = async {
        while !stop.asked() {
            sleep(TICK).await;
        }
    };
    match select(pin!(future), pin!(asked)).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(_) => None,
    }
}

/// Whether a message is a status of the server, and which.
pub(super) fn status(message: &Message) -> Option<StatusCode> {
    message.status.filter(|status| *status != StatusCode::OK)
}
