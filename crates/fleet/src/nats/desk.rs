//! The coordinator's desk: opens levels, counts what waits, answers questions and collects signs of life.
//!
//! Why [`NatsDesk::waiting`] never says too early that nothing is left. The stream is one, and the broker
//! deletes a message from it when the message is acknowledged, which a worker does after the broker has
//! said that it stored all children. So at every moment until the end, for every piece of work that is
//! left there is a message in the stream: its own, or that of an ancestor. The number of messages in the
//! stream is one number that the server reads at one moment; if it is zero, nothing was left at that
//! moment, and nobody was left who could make more than a repetition. The counts of a consumer follow the
//! stream with a delay, and are only used to tell what is out from what is not: `undelivered` and
//! `unacknowledged` together are never less than the number of messages of the open level that the stream
//! holds. With strict levels the same holds level by level, as all messages of a level are stored before
//! the level before has ended.
//!
//! Why it does not say too late either. A server that ends, above all one that is killed, loses none of
//! the messages that it has confirmed; but it forgets that some were acknowledged, while their consumer
//! remembers: those lie in the stream and are never delivered (seen with 2.9.10, in about half of the kills
//! under load). It may also remember as out what is not in the stream any more, and wait for it for ever. So a
//! consumer that stands still for a while, although it has something to deliver and there are takers, or does
//! not know of all messages that the stream holds for it, or has something out for much longer than a
//! redelivery takes, is made anew, and delivers them all; and what appears in a level that has ended is deleted. At worst that repeats what was done,
//! which every role is made for.

use super::broker::{Broker, Fail, Hub, count, lock, status};
use super::stream::{JobStream, ack_wait, consumer_config, consumer_name, work_subject};
use super::wire::Carrier;
use super::{DESK_BYTES, stream_name};
use crate::{Desk, Job, Outgoing, Request, Trouble, Waiting, Wire};
use async_nats::{Message, Subscriber};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// So many signs of life are kept for a coordinator that does not look.
const BEATS: usize = 1 << 14;

/// A consumer that for so long does not know of messages that are there has forgotten them.
const FORGOTTEN: Duration = Duration::from_secs(3);

/// A consumer that for so long delivers nothing of what it has, though there are takers, is stuck.
const STALLED: Duration = Duration::from_secs(10);

/// A consumer that for so many times of redelivery, and no less than [`LEAST_STILL`], has only what is out may
/// wait for what is not there. A batch that really takes so long is worked on twice.
const STILL: u32 = 4;
const LEAST_STILL: Duration = Duration::from_secs(20);

/// What answers questions.
type Handler = Arc<dyn Fn(Value) -> Value + Send + Sync>;

#[derive(Default)]
struct Counter {
    /// What is open: nothing, all, or a level.
    open: Mutex<Option<Option<u32>>>,
    handler: Mutex<Option<Handler>>,
    beats: Mutex<VecDeque<(String, Value)>>,
}

/// The coordinator's end of a job.
pub struct NatsDesk {
    carrier: Carrier,
    counter: Arc<Counter>,
    clerks: Vec<AbortHandle>,
    /// Since when the consumer that is open stands still, and how; and how many messages there are for it.
    odd: Option<(Instant, Counts, u64)>,
}

/// What a consumer counts.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    undelivered: u64,
    unacknowledged: u64,
    redelivered: u64,
    /// Pulls that wait.
    takers: u64,
    /// Deliveries so far.
    delivered: u64,
}

/// What the stream holds.
struct Holds {
    messages: u64,
    bytes: u64,
    /// Those of what is open.
    here: u64,
    /// Subjects of levels that have ended, and are not empty.
    ended: Vec<String>,
}

impl Drop for NatsDesk {
    fn drop(&mut self) {
        // It may own a copy of the broker, whose runtime owns the tasks, which own it.
        *lock(&self.counter.handler) = None;
        self.clerks.iter().for_each(AbortHandle::abort);
    }
}

impl NatsDesk {
    /// Opens the desk of a job: questions are answered from now on.
    pub fn new(broker: &Broker, job: &Job) -> Result<NatsDesk, String> {
        let carrier = Carrier::new(broker, job, false)?;
        let counter = Arc::new(Counter::default());
        let listen = |subject: String| {
            broker
                .block(broker.hub().client.subscribe(subject))
                .map_err(|trouble| trouble.to_string())?
                .map_err(|error| format!("cannot listen to job {}: {error}", job.id))
        };
        let questions = listen(format!("ergodic.{}.desk.*", job.id))?;
        let beats = listen(format!("ergodic.{}.beat.*", job.id))?;
        let (hub, shared) = (broker.hub().clone(), Arc::clone(&counter));
        let mut clerks = Vec::new();
        clerks.extend(broker.spawn(answer(hub.clone(), questions, Arc::clone(&shared))));
        clerks.extend(broker.spawn(collect(hub, beats, shared)));
        Ok(NatsDesk { carrier, counter, clerks, odd: None })
    }

    /// Lets this answer all questions but those about the level. It runs on a thread of its own, one
    /// question at a time.
    pub fn serve_desk(&self, handler: Arc<dyn Fn(Value) -> Value + Send + Sync>) {
        *lock(&self.counter.handler) = Some(handler);
    }

    /// The signs of life since the last call: who, and what.
    pub fn beats(&self) -> Vec<(String, Value)> {
        lock(&self.counter.beats).drain(..).collect()
    }

    /// Tells everybody that the job is over. Workers and keepers of it end, so this comes after the last
    /// question to a keeper.
    pub fn announce_over(&self) {
        self.announce("over", json!({ "over": true }));
    }

    /// Lets more bytes wait at the broker; with `None`, as many as it has room for. Never fewer.
    pub fn grow_queue(&self, bytes: Option<u64>) -> Result<(), String> {
        JobStream::grow(&self.carrier.broker, &self.carrier.job, bytes)
    }

    fn announce(&self, what: &str, news: Value) {
        let hub = self.carrier.watch.hub.clone();
        let subject = format!("ergodic.{}.{what}", self.carrier.job.id);
        let sending = async {
            hub.send(subject, news.to_string().into_bytes()).await;
            let _ = hub.client.flush().await;
        };
        let _ = self.carrier.broker.block_briefly(sending, Duration::from_secs(1));
    }

    /// A request to JetStream, until it is answered.
    fn api(&self, call: String, body: Value) -> Result<Result<Value, Fail>, Trouble> {
        let hub = &self.carrier.watch.hub;
        match self.carrier.broker.block(hub.api_patient(&call, &body, None))? {
            Err(Fail::Refused(10059, _)) => Err(self.carrier.lost()),
            answer => Ok(answer),
        }
    }

    fn broken(&self, what: &str, fail: &Fail) -> Trouble {
        Trouble::Broken(fail.explain(what, &self.carrier.watch.hub.shared.url))
    }

    fn stream(&self) -> String {
        stream_name(&self.carrier.job.id)
    }

    /// What the consumer of the open level says.
    fn consumer_counts(&self, level: Option<u32>) -> Result<Counts, Trouble> {
        let name = consumer_name(level);
        match self.api(format!("CONSUMER.INFO.{}.{name}", self.stream()), json!({}))? {
            Ok(info) => {
                let number = |path: &str| info.pointer(path).and_then(Value::as_u64).unwrap_or(0);
                Ok(Counts {
                    undelivered: number("/num_pending"),
                    unacknowledged: number("/num_ack_pending"),
                    redelivered: number("/num_redelivered"),
                    takers: number("/num_waiting"),
                    delivered: number("/delivered/consumer_seq"),
                })
            }
            // Somebody deleted it: it is made again, and nothing is lost but who has what.
            Err(Fail::Refused(10014, _)) => {
                self.create_consumer(level)?;
                Ok(Counts::default())
            }
            Err(fail) => Err(self.broken("cannot count the batches that are out", &fail)),
        }
    }

    /// What the stream holds, with the number of each level if one is open.
    fn holds(&self, level: Option<u32>) -> Result<Holds, Trouble> {
        let body = match level {
            Some(_) => json!({ "subjects_filter": work_subject(&self.carrier.job.id, None) }),
            None => json!({}),
        };
        let uncounted = |fail: &Fail| self.broken("cannot count the batches that wait", fail);
        let info = self
            .api(format!("STREAM.INFO.{}", self.stream()), body)?
            .map_err(|fail| uncounted(&fail))?;
        let number = |path: &str| info.pointer(path).and_then(Value::as_u64);
        let (Some(messages), Some(bytes)) = (number("/state/messages"), number("/state/bytes"))
        else {
            return Err(uncounted(&Fail::Refused(
                0,
                "the answer tells no number of messages".into(),
            )));
        };
        let Some(level) = level else {
            return Ok(Holds { messages, bytes, here: messages, ended: Vec::new() });
        };
        let mut holds = Holds { messages, bytes, here: 0, ended: Vec::new() };
        let levels = info.pointer("/state/subjects").and_then(Value::as_object);
        for (subject, count) in levels.into_iter().flatten() {
            match subject.rsplit('.').next().and_then(|level| level.parse::<u32>().ok()) {
                Some(at) if at == level => holds.here = count.as_u64().unwrap_or(0),
                Some(at) if at < level => holds.ended.push(subject.clone()),
                _ => {}
            }
        }
        Ok(holds)
    }

    /// Makes the consumer that is open anew if it has forgotten messages, and deletes what appears in
    /// levels that have ended.
    fn mend(&mut self, level: Option<u32>, counts: &Counts, holds: &Holds) -> Result<(), Trouble> {
        for subject in &holds.ended {
            let _ =
                self.api(format!("STREAM.PURGE.{}", self.stream()), json!({ "filter": subject }))?;
        }
        if holds.here == 0 {
            self.odd = None;
            return Ok(());
        }
        let takers = counts.takers > 0;
        let counts = Counts { takers: 0, ..*counts };
        let since = match self.odd {
            Some((since, before, here)) if (before, here) == (counts, holds.here) => since,
            _ => Instant::now(),
        };
        self.odd = Some((since, counts, holds.here));
        let patience = if counts.undelivered > 0 {
            // It knows of messages, and yet nothing goes out: somebody must want it.
            if takers { STALLED } else { Duration::MAX }
        } else if counts.unacknowledged < holds.here {
            FORGOTTEN
        } else {
            (ack_wait(&self.carrier.job) * STILL).max(LEAST_STILL)
        };
        if since.elapsed() < patience {
            return Ok(());
        }
        self.odd = None;
        let name = consumer_name(level);
        self.carrier.watch.hub.shared.note(format!(
            "the server has forgotten to deliver {} batches; its consumer {name} is made anew",
            holds.here
        ));
        let _ = self.api(format!("CONSUMER.DELETE.{}.{name}", self.stream()), json!({}))?;
        self.create_consumer(level)
    }

    fn create_consumer(&self, level: Option<u32>) -> Result<(), Trouble> {
        let call = format!("CONSUMER.DURABLE.CREATE.{}.{}", self.stream(), consumer_name(level));
        match self.api(call, consumer_config(&self.carrier.job, level))? {
            Ok(_) => Ok(()),
            Err(fail) => Err(self.broken("cannot open the work queue", &fail)),
        }
    }
}

impl Wire for NatsDesk {
    fn ask(&mut self, requests: Vec<Request>) -> Result<Vec<Vec<u8>>, Trouble> {
        self.carrier.ask(requests)
    }

    fn publish(&mut self, batches: Vec<Outgoing>) -> Result<(), Trouble> {
        self.carrier.publish(batches)
    }
}

impl Desk for NatsDesk {
    fn open(&mut self, level: Option<u32>) -> Result<(), Trouble> {
        self.odd = None;
        let before = *lock(&self.counter.open);
        // A work queue gives each message to one consumer, so the old one has to go before the new one
        // may want the same messages. Between different levels there is nothing in common, and workers
        // that find the old one gone already find the new one.
        let overlap = before.is_some_and(|open| open.is_none() || level.is_none());
        let old = before.filter(|open| *open != level).map(consumer_name);
        let delete = |name: &String| {
            self.api(format!("CONSUMER.DELETE.{}.{name}", self.stream()), json!({}))
        };
        if let Some(name) = old.as_ref().filter(|_| overlap) {
            let _ = delete(name)?;
        }
        self.create_consumer(level)?;
        *lock(&self.counter.open) = Some(level);
        if level.is_some() {
            self.announce("level", json!({ "level": level }));
        }
        if let Some(name) = old.as_ref().filter(|_| !overlap) {
            let _ = delete(name)?;
        }
        Ok(())
    }

    fn waiting(&mut self) -> Result<Waiting, Trouble> {
        let open = *lock(&self.counter.open);
        let counts = match open {
            Some(level) => self.consumer_counts(level)?,
            None => Counts::default(),
        };
        let holds = self.holds(open.flatten())?;
        if let Some(level) = open {
            self.mend(level, &counts, &holds)?;
        }
        // What the stream does not hold any more is not out, whatever the consumer remembers.
        let unacknowledged = counts.unacknowledged.min(holds.here);
        Ok(Waiting {
            undelivered: holds.here - unacknowledged,
            unacknowledged,
            stored: holds.messages,
            bytes: holds.bytes,
            redelivered: counts.redelivered,
        })
    }
}

/// Reads a message of JSON, or counts it as none of ours.
fn read(hub: &Hub, message: &Message) -> Option<Value> {
    let value = match status(message) {
        None if message.payload.len() <= DESK_BYTES => {
            serde_json::from_slice(&message.payload).ok()
        }
        _ => None,
    };
    if value.is_none() {
        count(&hub.shared.meter.rejected, 1);
    }
    value
}

async fn answer(hub: Hub, mut questions: Subscriber, counter: Arc<Counter>) {
    while let Some(message) = questions.next().await {
        let Some(question) = read(&hub, &message) else { continue };
        let ask = question.get("ask").and_then(Value::as_str);
        // Who may ask what is decided by subjects: what is asked must be what was allowed.
        if ask != message.subject.rsplit('.').next() {
            count(&hub.shared.meter.rejected, 1);
            continue;
        }
        let answer = match ask {
            Some("level") => json!({ "level": lock(&counter.open).flatten() }),
            _ => {
                let handler = lock(&counter.handler).clone();
                let Some(handler) = handler else { continue };
                // What the handler does may block, which nothing may do on a thread of the runtime.
                match tokio::task::spawn_blocking(move || handler(question)).await {
                    Ok(answer) => answer,
                    Err(_) => continue,
                }
            }
        };
        let _ = hub.reply(&message, answer.to_string().into_bytes(), None).await;
    }
}

async fn collect(hub: Hub, mut arriving: Subscriber, counter: Arc<Counter>) {
    while let Some(message) = arriving.next().await {
        let Some(news) = read(&hub, &message) else { continue };
        let who = message.subject.rsplit('.').next().unwrap_or_default().to_string();
        let mut beats = lock(&counter.beats);
        if beats.len() >= BEATS {
            beats.pop_front();
            count(&hub.shared.meter.rejected, 1);
        }
        beats.push_back((who, news));
    }
}
