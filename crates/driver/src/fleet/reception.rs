//! The coordinator's desk: what it is asked from outside, and what workers say of themselves.

use super::live::Roll;
use super::lock;
use ergodic_fleet::nats::NatsDesk;
use ergodic_fleet::{Desk, Outgoing, Request, Trouble, Waiting, Wire};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the desk is asked about from outside.
pub(super) struct Front {
    pub status: Value,
    pub cancelled: bool,
    /// Who keeps the shards that are kept elsewhere.
    remote: BTreeMap<u32, (u64, Instant)>,
    shards: Range<u32>,
}

/// A keeper that got a shard and did not come for so long before the job began has lost it.
const PATIENCE: Duration = Duration::from_secs(10);

impl Front {
    /// Of a job whose shards in this range are kept elsewhere.
    pub(super) fn new(shards: Range<u32>) -> Front {
        Front { status: Value::Null, cancelled: false, remote: BTreeMap::new(), shards }
    }

    /// Gives a shard whose keeper does not come to another one. To be called only before the job begins:
    /// from then on the keeper has states.
    pub(super) fn forget_silent(&mut self, shard: u32) {
        self.remote.retain(|kept, (_, since)| *kept != shard || since.elapsed() < PATIENCE);
    }

    fn answer(&mut self, question: &Value, level: Option<u32>) -> Value {
        match question.get("ask").and_then(Value::as_str) {
            Some("status") => self.status.clone(),
            Some("level") => json!({ "level": level }),
            Some("cancel") => {
                self.cancelled = true;
                json!({ "cancelled": true })
            }
            Some("keep") => {
                let who = question.get("who").and_then(Value::as_u64).unwrap_or(0);
                let known = self.remote.iter().find(|(_, (keeper, _))| *keeper == who);
                let free = || self.shards.clone().find(|shard| !self.remote.contains_key(shard));
                let shard = known.map(|(shard, _)| *shard).or_else(free);
                if let Some(shard) = shard {
                    self.remote.insert(shard, (who, Instant::now()));
                }
                json!({ "shard": shard })
            }
            _ => json!({ "error": "no such question" }),
        }
    }
}

/// The desk, with somebody who takes note of workers' signs of life.
pub(super) struct Reception {
    desk: NatsDesk,
    roll: Arc<Mutex<Roll>>,
    level: Arc<Mutex<Option<u32>>>,
}

impl Reception {
    pub(super) fn new(desk: NatsDesk, roll: &Arc<Mutex<Roll>>) -> Reception {
        Reception { desk, roll: Arc::clone(roll), level: Arc::default() }
    }

    /// Tells everybody that the job is over.
    pub(super) fn announce_over(&self) {
        self.desk.announce_over();
    }

    /// Takes note of what workers have said of themselves.
    pub(super) fn take_note(&self) {
        let mut roll = lock(&self.roll);
        self.desk.beats().into_iter().for_each(|(name, news)| roll.note(name, news));
    }

    /// Answers questions from outside.
    pub(super) fn answer_with(&self, front: &Arc<Mutex<Front>>) {
        let (front, level) = (Arc::clone(front), Arc::clone(&self.level));
        self.desk.serve_desk(Arc::new(move |question| {
            let level = *lock(&level);
            lock(&front).answer(&question, level)
        }));
    }
}

impl Wire for Reception {
    fn ask(&mut self, requests: Vec<Request>) -> Result<Vec<Vec<u8>>, Trouble> {
        self.desk.ask(requests)
    }

    fn publish(&mut self, batches: Vec<Outgoing>) -> Result<(), Trouble> {
        self.desk.publish(batches)
    }
}

impl Desk for Reception {
    fn open(&mut self, level: Option<u32>) -> Result<(), Trouble> {
        self.desk.open(level)?;
        *lock(&self.level) = level;
        Ok(())
    }

    fn waiting(&mut self) -> Result<Waiting, Trouble> {
        self.take_note();
        self.desk.waiting()
    }
}
