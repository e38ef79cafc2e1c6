//! A worker's link: pulls batches, and holds them until the worker is done.
//!
//! A pull asks for what is there, or else for the first that comes within half a second, and leaves the
//! rest to others. Batches that arrive although nobody waits for them any more (the server had sent them
//! already) are kept for the next pull. A batch that is held has a task that tells the broker so; batches
//! that are held when the link goes are given back, and so are those that the last pull still brings: the
//! server does not know that nobody waits for them, and would keep them for the time of redelivery.

use super::broker::{Broker, Hub, count, outgoing, status};
use super::stream::{ack_wait, consumer_name};
use super::wire::Carrier;
use super::{TICK, stream_name};
use crate::{Delivery, Job, Link, Outgoing, Request, Trouble, Wire};
use async_nats::{Message, StatusCode, Subject, Subscriber};
use futures_util::{FutureExt, StreamExt};
use serde_json::json;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// How long a pull waits for the first batch.
const EXPIRES: Duration = Duration::from_millis(500);

/// How long after that the server may take to say that there is none.
const GRACE: Duration = Duration::from_millis(500);

/// How long a pull waits for another batch that was promised.
const NEXT: Duration = Duration::from_millis(20);

/// How long a pull waits when there is nothing to pull from.
const NOTHING: Duration = Duration::from_millis(200);

/// A batch that the worker has and the broker knows of.
struct Held {
    reply: Subject,
    alive: Option<AbortHandle>,
}

/// How a pull ended.
enum End {
    /// There are no more batches, or enough.
    Done,
    /// There is no consumer: nothing is open, or something else than we think.
    Missing,
    /// The server cannot now, for another reason.
    Later,
}

/// A worker's link to its job. Each thread has its own.
pub struct NatsLink {
    carrier: Carrier,
    inbox: String,
    arrivals: Subscriber,
    /// The number of the last pull, the last part of its inbox.
    pulls: u64,
    /// How long the server may still send what the last pull asked for.
    pulling: Option<Instant>,
    tokens: u64,
    held: HashMap<u64, Held>,
    ready: VecDeque<Delivery>,
}

impl NatsLink {
    /// A link to a job.
    pub fn new(broker: &Broker, job: &Job) -> Result<NatsLink, String> {
        let carrier = Carrier::new(broker, job, true)?;
        let inbox = broker.hub().client.new_inbox();
        let arrivals = broker
            .block(broker.hub().client.subscribe(format!("{inbox}.*")))
            .map_err(|trouble| trouble.to_string())?
            .map_err(|error| format!("cannot receive the batches of job {}: {error}", job.id))?;
        let (held, ready) = (HashMap::new(), VecDeque::new());
        Ok(NatsLink { carrier, inbox, arrivals, pulls: 0, pulling: None, tokens: 0, held, ready })
    }

    /// How many batches are held: pulled, and not acknowledged, given back or rejected.
    pub fn holding(&self) -> usize {
        self.held.len()
    }

    fn hub(&self) -> &Hub {
        &self.carrier.watch.hub
    }

    /// One pull. Batches go to `ready`.
    async fn fetch(&mut self, most: usize) -> Result<(), Trouble> {
        while let Some(Some(message)) = self.arrivals.next().now_or_never() {
            self.take(message);
        }
        if !self.ready.is_empty() {
            return Ok(());
        }
        let level = match self.carrier.job.strict {
            false => None,
            true => match self.open_level().await {
                Some(level) => Some(level),
                None => return self.nothing().await,
            },
        };
        let began = Instant::now();
        match self.request(most, level).await? {
            // The server may have sent us away because others wait already: asking again at once would
            // only keep it busy.
            End::Done if self.ready.is_empty() && began.elapsed() < EXPIRES / 2 => {
                self.nothing().await
            }
            End::Done => Ok(()),
            // Servers before 2.10 say nothing about a consumer that is not there.
            End::Missing | End::Later => {
                if self.carrier.job.strict && self.carrier.watch.level() == level {
                    self.carrier.watch.ask_level().await;
                }
                // A level that has just been opened is there to be pulled from at once.
                if level.is_some() && self.carrier.watch.level() != level {
                    return Ok(());
                }
                self.nothing().await
            }
        }
    }

    async fn open_level(&self) -> Option<u32> {
        if self.carrier.watch.level().is_none() {
            self.carrier.watch.ask_level().await;
        }
        self.carrier.watch.level()
    }

    /// Waits a while, and finds out whether waiting is in vain.
    async fn nothing(&self) -> Result<(), Trouble> {
        if self.carrier.broker.connected() {
            self.carrier.still_on().await?;
        }
        sleep(NOTHING).await;
        Ok(())
    }

    /// Asks the consumer for batches and takes what comes.
    async fn request(&mut self, most: usize, level: Option<u32>) -> Result<End, Trouble> {
        if !self.carrier.broker.connected() {
            return Ok(End::Later);
        }
        let hub = self.hub().clone();
        self.pulls += 1;
        let inbox = format!("{}.{}", self.inbox, self.pulls);
        let (stream, consumer) = (stream_name(&self.carrier.job.id), consumer_name(level));
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}");
        // With both, the server sends what there is, or else waits for the first.
        let body = json!({ "batch": most, "no_wait": true, "expires": EXPIRES.as_nanos() as u64 });
        let message = outgoing(subject.clone(), body.to_string().into_bytes());
        let sent = hub.client.publish_with_reply(message.subject, inbox.clone(), message.payload);
        sent.await.map_err(|error| Trouble::Broken(format!("cannot ask for batches: {error}")))?;
        self.pulling = Some(Instant::now() + EXPIRES);
        let until = Instant::now() + EXPIRES + GRACE;
        while self.ready.len() < most {
            let patience = match self.ready.is_empty() {
                true => until.saturating_duration_since(Instant::now()),
                false => NEXT,
            };
            let Ok(arrived) = timeout(patience, self.arrivals.next()).await else {
                return self.silence(&subject);
            };
            let Some(message) = arrived else { return Ok(End::Later) };
            match status(&message) {
                None => self.take(message),
                Some(status) if message.subject.as_str() == inbox => {
                    self.pulling = None;
                    return Ok(end(status, &message));
                }
                Some(_) => {}
            }
        }
        self.pulling = None;
        Ok(End::Done)
    }

    /// No answer to a pull: the connection is gone, or the server does not let us.
    fn silence(&self, subject: &str) -> Result<End, Trouble> {
        if !self.ready.is_empty() {
            return Ok(End::Done);
        }
        let denied = self.hub().shared.denial(subject).map(super::broker::Fail::Forbidden);
        match denied {
            Some(fail) => {
                Err(Trouble::Broken(fail.explain("cannot ask for batches", &self.hub().shared.url)))
            }
            None => Ok(End::Later),
        }
    }

    /// Holds a message that has arrived.
    fn take(&mut self, message: Message) {
        let hub = self.hub().clone();
        let meter = &hub.shared.meter;
        if status(&message).is_some() {
            return;
        }
        let ours = message.subject.starts_with(&format!("ergodic.{}.work.", self.carrier.job.id));
        let Some((reply, times)) =
            message.reply.clone().and_then(|reply| deliveries(&reply).map(|n| (reply, n)))
        else {
            // It does not come from JetStream: there is nobody to tell.
            return count(&meter.rejected, 1);
        };
        if !ours {
            count(&meter.rejected, 1);
            let _ = self
                .carrier
                .broker
                .spawn(async move { hub.send(reply.to_string(), b"+TERM".to_vec()).await });
            return;
        }
        count(&meter.deliveries, 1);
        count(&meter.redeliveries, usize::from(times > 1));
        count(&meter.work_in, message.payload.len());
        self.tokens += 1;
        let every = ack_wait(&self.carrier.job) / 3;
        let alive = self.carrier.broker.spawn(keep_alive(hub.clone(), reply.clone(), every));
        self.held.insert(self.tokens, Held { reply, alive });
        self.ready.push_back(Delivery { body: message.payload.into(), token: self.tokens });
    }

    /// Ends the holding of a batch. If the broker does not hear of it, it delivers the batch again.
    fn let_go(&mut self, token: u64, how: &'static [u8]) {
        let Some(held) = self.held.remove(&token) else { return };
        if let Some(alive) = held.alive {
            alive.abort();
        }
        let hub = self.hub().clone();
        let sending = hub.send(held.reply.to_string(), how.to_vec());
        let _ = self.carrier.broker.block_briefly(sending, Duration::from_secs(1));
    }
}

/// How often a message was delivered, from the subject that it is acknowledged on:
/// `$JS.ACK.<stream>.<consumer>.<deliveries>...`, in newer servers with the domain and a hash of the
/// account in front of the stream.
fn deliveries(reply: &str) -> Option<u64> {
    let parts: Vec<&str> = reply.split('.').collect();
    if parts.first() != Some(&"$JS") || parts.get(1) != Some(&"ACK") {
        return None;
    }
    let at = match parts.len() {
        9 => 4,
        11.. => 6,
        _ => return None,
    };
    parts.get(at)?.parse().ok()
}

/// What a status says about a pull.
fn end(status: StatusCode, message: &Message) -> End {
    let text = message.description.as_deref().unwrap_or_default().to_ascii_lowercase();
    match status {
        StatusCode::NO_RESPONDERS => End::Missing,
        StatusCode::NOT_FOUND | StatusCode::TIMEOUT => End::Done,
        _ if text.contains("consumer deleted") => End::Missing,
        _ => End::Later,
    }
}

/// Tells the broker again and again that a batch is being worked on.
async fn keep_alive(hub: Hub, reply: Subject, every: Duration) {
    let mut next = Instant::now() + every;
    loop {
        tokio::time::sleep_until(next).await;
        hub.connected().await;
        hub.send(reply.to_string(), b"+WPI".to_vec()).await;
        next = Instant::now() + every;
    }
}

impl Wire for NatsLink {
    fn ask(&mut self, requests: Vec<Request>) -> Result<Vec<Vec<u8>>, Trouble> {
        self.carrier.ask(requests)
    }

    fn publish(&mut self, batches: Vec<Outgoing>) -> Result<(), Trouble> {
        self.carrier.publish(batches)
    }
}

impl Link for NatsLink {
    fn pull(&mut self, most: usize) -> Result<Vec<Delivery>, Trouble> {
        let most = most.clamp(1, 256);
        let (broker, watch) = (self.carrier.broker.clone(), self.carrier.watch.clone());
        if self.ready.is_empty() {
            broker.block(watch.unless(true, self.fetch(most)))??;
        }
        if watch.over() {
            return Err(Trouble::Over);
        }
        let many = most.min(self.ready.len());
        Ok(self.ready.drain(..many).collect())
    }

    fn ack(&mut self, token: u64) {
        self.let_go(token, b"+ACK");
    }

    fn give_back(&mut self, token: u64) {
        self.let_go(token, b"-NAK");
    }

    fn reject(&mut self, token: u64) {
        if self.held.contains_key(&token) {
            count(&self.hub().shared.meter.rejected, 1);
        }
        self.let_go(token, b"+TERM");
    }
}

impl Drop for NatsLink {
    fn drop(&mut self) {
        let hub = self.hub().clone();
        let mut replies = Vec::new();
        for (_, held) in self.held.drain() {
            if let Some(alive) = held.alive {
                alive.abort();
            }
            replies.push(held.reply);
        }
        // Of a job that is over nobody wants anything back.
        let over = self.carrier.watch.over() && !self.carrier.watch.left();
        if over || tokio::runtime::Handle::try_current().is_ok() {
            return;
        }
        let broker = self.carrier.broker.clone();
        let last = format!("{}.{}", self.inbox, self.pulls);
        let until = self.pulling.map_or_else(Instant::now, |until| until + TICK);
        let arrivals = &mut self.arrivals;
        let giving_back = async {
            for reply in replies {
                hub.send(reply.to_string(), b"-NAK".to_vec()).await;
            }
            while let Ok(Some(message)) = timeout_at(until, arrivals.next()).await {
                match (status(&message), message.reply) {
                    (None, Some(reply)) if deliveries(&reply).is_some() => {
                        hub.send(reply.to_string(), b"-NAK".to_vec()).await;
                    }
                    (Some(_), _) if message.subject.as_str() == last => break,
                    _ => {}
                }
            }
            let _ = hub.client.flush().await;
        };
        let _ = broker.block_briefly(giving_back, EXPIRES + TICK * 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_of_acknowledgements() {
        assert_eq!(deliveries("$JS.ACK.S.C.3.100.7.1790230470084404000.42"), Some(3));
        assert_eq!(deliveries("$JS.ACK.hub.hash.S.C.2.50.9.1790230470084404000.0"), Some(2));
        assert_eq!(deliveries("$JS.ACK.hub.hash.S.C.2.50.9.1790230470084404000.0.rand"), Some(2));
        for odd in [
            "",
            "$JS.ACK",
            "$JS.ACK.S.C.x.100.7.1.42",
            "_INBOX.a.b.c.d.1.1.1.1",
            "$JS.ACK.S.C.1.2.3.4",
        ] {
            assert_eq!(deliveries(odd), None, "{odd}");
        }
    }
}
