//! What the tests of the broker share: a connection, a small job and its batches.

pub mod operator;

use ergodic_fleet::nats::{Access, Broker, JobStream, NatsDesk, NatsLink, Stop};
use ergodic_fleet::{Delivery, Desk, Job, Keys, Link, Outgoing, PROTOCOL};
use ergodic_testkit::broker::{PATIENCE, Server};
use std::time::Instant;

/// A connection to this server.
pub fn connect(server: &Server) -> Broker {
    Broker::connect(&Access::at(server.url()), Stop::new()).unwrap()
}

/// A job that is as small as can be.
pub fn job(id: &str) -> Job {
    Job {
        protocol: PROTOCOL,
        version: "0.0.0".into(),
        id: id.into(),
        model: "m.m".into(),
        source: String::new(),
        options: serde_json::json!({ "threads": 2 }),
        program: "00".into(),
        bits: 7,
        keepers: 2,
        keys: Keys::Exact,
        seed: 9,
        batch_states: 10,
        strict: false,
        redeliver_ms: 30_000,
        queue_bytes: None,
        replicas: 1,
        began: 1_700_000_000,
        host: "here".into(),
    }
}

/// A posted job with its queue, opened (from level 0 if it is strict).
pub fn begin(broker: &Broker, job: &Job) -> NatsDesk {
    JobStream::create(broker, job).unwrap();
    broker.post(job).unwrap();
    let mut desk = NatsDesk::new(broker, job).unwrap();
    desk.open(job.strict.then_some(0)).unwrap();
    desk
}

/// A batch whose identity is its content.
pub fn batch(level: u32, body: &[u8]) -> Outgoing {
    let id = body.iter().fold(0xcbf2_9ce4_8422_2325u128, |sum, byte| {
        (sum ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    Outgoing { level, id, body: body.to_vec() }
}

/// Pulls until there is something.
pub fn pull(link: &mut NatsLink, most: usize) -> Vec<Delivery> {
    let began = Instant::now();
    loop {
        let pulled = link.pull(most).unwrap();
        if !pulled.is_empty() {
            return pulled;
        }
        assert!(began.elapsed() < PATIENCE, "nothing comes");
    }
}

/// What was delivered.
pub fn bodies(deliveries: &[Delivery]) -> Vec<&[u8]> {
    deliveries.iter().map(|delivery| &delivery.body[..]).collect()
}
