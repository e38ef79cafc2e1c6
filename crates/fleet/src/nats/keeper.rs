//! The service of a keeper: requests that have arrived are handled together, so that one flush of the
//! keeper's log is enough for all of them.

use super::broker::{Broker, Fail, Hub, count, outgoing, status};
use super::wire::Carrier;
use super::{Stop, TICK, TROUBLE};
use crate::{Job, Trouble};
use async_nats::{HeaderMap, Message, Subscriber};
use futures_util::{FutureExt, StreamExt};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// At most so many requests are handled together,
const TOGETHER: usize = 256;

/// or so many bytes.
const BYTES: usize = 16 << 20;

/// A keeper that nobody asks finds out so often whether its job is over.
const CHECK: Duration = Duration::from_secs(5);

/// Serves a shard until the job is over or somebody asks to stop; says which. The handler is called on
/// this thread with requests in the order of arrival, and its answers are sent in that order. If there
/// are fewer answers than requests, the rest goes unanswered, and will be asked again: so a keeper that
/// cannot go on asks to stop and answers nothing.
pub fn serve_keeper(
    broker: &Broker,
    job: &Job,
    shard: u32,
    stop: &Stop,
    mut handler: impl FnMut(&[Vec<u8>]) -> Vec<Vec<u8>>,
) -> Trouble {
    let carrier = match Carrier::new(broker, job, true) {
        Ok(carrier) => carrier,
        Err(text) => return Trouble::Broken(text),
    };
    let subject = format!("ergodic.{}.keep.{shard}", job.id);
    let mut arriving = match broker.block(broker.hub().client.subscribe(subject.clone())) {
        Ok(Ok(arriving)) => arriving,
        Ok(Err(error)) => return Trouble::Broken(format!("cannot receive requests: {error}")),
        Err(trouble) => return trouble,
    };
    let mut service = Service { carrier, subject, stop: stop.clone(), checked: Instant::now() };
    loop {
        let requests = match service.gather(&mut arriving) {
            Ok(requests) => requests,
            Err(trouble) => return trouble,
        };
        if requests.is_empty() {
            continue;
        }
        let bodies: Vec<Vec<u8>> =
            requests.iter().map(|request| request.payload.to_vec()).collect();
        let answers = handler(&bodies);
        if let Err(trouble) = service.answer(&requests, answers) {
            return trouble;
        }
    }
}

/// Whether somebody serves a shard at this moment.
pub fn keeper_present(broker: &Broker, job: &Job, shard: u32, patience: Duration) -> bool {
    // An empty request is answered by the service itself.
    let message = outgoing(format!("ergodic.{}.keep.{shard}", job.id), Vec::new());
    let asking = async { timeout(patience, broker.hub().request(&message, patience)).await };
    matches!(broker.block(asking), Ok(Ok(Ok(_))))
}

struct Service {
    carrier: Carrier,
    subject: String,
    stop: Stop,
    checked: Instant,
}

impl Service {
    fn hub(&self) -> &Hub {
        &self.carrier.watch.hub
    }

    /// The requests that have arrived, or none after a while.
    fn gather(&mut self, arriving: &mut Subscriber) -> Result<Vec<Message>, Trouble> {
        if self.stop.asked() {
            return Err(Trouble::Stopped);
        }
        if self.carrier.watch.over() {
            return Err(Trouble::Over);
        }
        let hub = self.hub().clone();
        let requests = self.carrier.broker.block(async {
            let Ok(first) = timeout(TICK * 2, arriving.next()).await else {
                return Some(Vec::new());
            };
            let mut requests = Vec::new();
            let mut bytes = 0;
            let mut next = Some(first?);
            while let Some(message) = next {
                bytes += message.payload.len();
                if let Some(message) = sift(&hub, message).await {
                    requests.push(message);
                }
                if requests.len() >= TOGETHER || bytes >= BYTES {
                    break;
                }
                next = arriving.next().now_or_never().flatten();
            }
            count(&hub.shared.meter.served_in, bytes);
            Some(requests)
        })?;
        let requests = requests.ok_or(Trouble::Stopped)?;
        if requests.is_empty() {
            self.idle()?;
        }
        Ok(requests)
    }

    /// Finds out what nobody may have told us.
    fn idle(&mut self) -> Result<(), Trouble> {
        if let Some(text) = self.hub().shared.denial(&self.subject) {
            let fail = Fail::Forbidden(text);
            return Err(Trouble::Broken(
                fail.explain("cannot receive requests", &self.hub().shared.url),
            ));
        }
        if self.checked.elapsed() < CHECK {
            return Ok(());
        }
        self.checked = Instant::now();
        // A server that is away must not keep us from noticing that we are to stop.
        let checking = async { timeout(CHECK, self.carrier.still_on()).await };
        match self.carrier.broker.block(checking)? {
            Ok(still) => still,
            Err(_) => Ok(()),
        }
    }

    fn answer(&self, requests: &[Message], answers: Vec<Vec<u8>>) -> Result<(), Trouble> {
        let hub = self.hub();
        self.carrier.broker.block(async {
            for (request, answer) in requests.iter().zip(answers) {
                let size = answer.len();
                count(&hub.shared.meter.served_out, size);
                if hub.reply(request, answer, None).await.is_err() {
                    // Without a word, whoever asked would ask for ever.
                    let text = Fail::TooLong(hub.client.max_payload(), size)
                        .explain("its answer", &hub.shared.url);
                    let mut headers = HeaderMap::new();
                    headers.insert(TROUBLE, text);
                    let _ = hub.reply(request, Vec::new(), Some(headers)).await;
                }
            }
        })
    }
}

/// Answers a question whether we are here, and leaves out what nobody wants an answer to.
async fn sift(hub: &Hub, message: Message) -> Option<Message> {
    if message.reply.is_none() || status(&message).is_some() {
        count(&hub.shared.meter.rejected, 1);
        return None;
    }
    if message.payload.is_empty() {
        let _ = hub.reply(&message, Vec::new(), None).await;
        return None;
    }
    Some(message)
}
