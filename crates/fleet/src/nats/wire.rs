//! Asking keepers and publishing batches: what workers and the coordinator have in common.
//!
//! Both go on until it is done, the job is over or somebody asks to stop. Keepers give the same answer to
//! the same question, and a batch has an identity of its content, so doing either twice does no harm.

use super::broker::{Broker, Fail, PATIENCE, count, outgoing, refusal};
use super::watch::Watch;
use super::{Pause, TROUBLE, stream_name};
use crate::{Job, Outgoing, Request, Trouble};
use async_nats::HeaderMap;
use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// So many batches are on their way to the broker at the same time.
const IN_FLIGHT: usize = 256;

/// A keeper that is busy gets more time with each attempt, up to this: asking again makes it busier.
const LONGEST: Duration = Duration::from_secs(60);

/// What [`crate::Wire`] needs of a connection.
pub(super) struct Carrier {
    pub broker: Broker,
    pub job: Job,
    pub watch: Arc<Watch>,
    /// Whether the end of the job ends waiting. It does not for the coordinator, who declares it.
    pub heed_over: bool,
}

impl Carrier {
    pub fn new(broker: &Broker, job: &Job, heed_over: bool) -> Result<Carrier, String> {
        let watch = broker.watch(job)?;
        Ok(Carrier { broker: broker.clone(), job: job.clone(), watch, heed_over })
    }

    pub fn ask(&self, requests: Vec<Request>) -> Result<Vec<Vec<u8>>, Trouble> {
        let asking = try_join_all(requests.into_iter().map(|request| self.ask_one(request)));
        self.broker.block(self.watch.unless(self.heed_over, asking))?
    }

    pub fn publish(&self, batches: Vec<Outgoing>) -> Result<(), Trouble> {
        let publishing = stream::iter(batches)
            .map(|batch| self.publish_one(batch))
            .buffer_unordered(IN_FLIGHT)
            .try_for_each(|()| async { Ok(()) });
        self.broker.block(self.watch.unless(self.heed_over, publishing))?
    }

    async fn ask_one(&self, request: Request) -> Result<Vec<u8>, Trouble> {
        let hub = &self.watch.hub;
        let meter = &hub.shared.meter;
        let size = request.body.len();
        let message =
            outgoing(format!("ergodic.{}.keep.{}", self.job.id, request.keeper), request.body);
        let mut patience = PATIENCE;
        let mut pause = Pause::new();
        loop {
            count(&meter.claims_out, size);
            match hub.request(&message, patience).await {
                Ok(answer) => {
                    count(&meter.claims_in, answer.payload.len());
                    let trouble = answer.headers.as_ref().and_then(|headers| headers.get(TROUBLE));
                    return match trouble {
                        Some(text) => {
                            Err(Trouble::Broken(format!("keeper {}: {text}", request.keeper)))
                        }
                        None => Ok(answer.payload.into()),
                    };
                }
                Err(Fail::Silence) => patience = (patience * 2).min(LONGEST),
                Err(Fail::Nobody) => {
                    hub.shared.note(format!("keeper {} is away", request.keeper));
                    pause.rest().await;
                }
                Err(fail) => {
                    let what = format!("cannot ask keeper {}", request.keeper);
                    return Err(Trouble::Broken(fail.explain(&what, &hub.shared.url)));
                }
            }
            count(&meter.retries, 1);
            self.still_on().await?;
        }
    }

    async fn publish_one(&self, batch: Outgoing) -> Result<(), Trouble> {
        let hub = &self.watch.hub;
        let meter = &hub.shared.meter;
        let size = batch.body.len();
        let mut message =
            outgoing(format!("ergodic.{}.work.{}", self.job.id, batch.level), batch.body);
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", format!("{:032x}", batch.id));
        message.headers = Some(headers);
        let unpublished =
            |fail: &Fail| Trouble::Broken(fail.explain("cannot publish a batch", &hub.shared.url));
        let mut pause = Pause::new();
        loop {
            match hub
                .request(&message, PATIENCE)
                .await
                .and_then(|answer| self.stored(&answer.payload))
            {
                Ok(()) => {
                    count(&meter.work_out, size);
                    return Ok(());
                }
                // Longer than what this stream takes: it will never fit.
                Err(fail @ Fail::Refused(10054, _)) => return Err(unpublished(&fail)),
                Err(Fail::Refused(number, text)) => {
                    count(&meter.refused, 1);
                    hub.shared.note(format!("a batch was refused: {text} (error {number})"));
                    self.still_on().await?;
                    pause.rest().await;
                }
                Err(fail) if fail.passes() => {
                    count(&meter.retries, 1);
                    self.still_on().await?;
                    pause.rest().await;
                }
                Err(fail) => return Err(unpublished(&fail)),
            }
        }
    }

    /// Reads what the broker says about a batch.
    fn stored(&self, answer: &[u8]) -> Result<(), Fail> {
        let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        match refusal(&answer) {
            Some(fail) => Err(fail),
            None if answer.get("stream").and_then(Value::as_str)
                == Some(&stream_name(&self.job.id)) =>
            {
                Ok(())
            }
            None => Err(Fail::Refused(0, "the answer does not come from the work queue".into())),
        }
    }

    /// Whether it makes sense to go on.
    pub async fn still_on(&self) -> Result<(), Trouble> {
        self.watch.check().await;
        match self.heed_over {
            true if self.watch.over() => Err(Trouble::Over),
            false if self.watch.gone() => Err(self.lost()),
            _ => Ok(()),
        }
    }

    /// What the coordinator says when the queue is gone that it has not deleted.
    pub fn lost(&self) -> Trouble {
        Trouble::Broken(format!(
            "the work queue of job {} is gone from the NATS server at {}: somebody deleted it, or the server lost its storage; start the job again",
            self.job.id, self.watch.hub.shared.url
        ))
    }
}
