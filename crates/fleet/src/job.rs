//! What a job is: everything a worker or keeper needs, as data. The model travels as source text and is
//! compiled by whoever receives it.

use serde::{Deserialize, Serialize};

/// Version of messages and logs. Roles of different versions do not work together.
pub const PROTOCOL: u32 = 1;

/// What keepers hold of a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keys {
    /// All of it.
    #[default]
    Exact,
    /// A signature of 128 bits.
    Signatures,
}

/// A job, as published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// [`PROTOCOL`] of whoever published it.
    pub protocol: u32,
    /// Version of the program that published it.
    pub version: String,
    /// Lower-case letters and digits, new for each job; part of subjects and of the stream's name.
    pub id: String,
    /// Name of the model; its ending tells the language.
    pub model: String,
    /// Its text.
    pub source: String,
    /// How it is read and explored, as the driver writes it.
    pub options: serde_json::Value,
    /// A hash of the program that the source is translated to, in hex.
    pub program: String,
    /// Bits of a packed state.
    pub bits: usize,
    /// How many keepers share the states.
    pub keepers: u32,
    /// What they hold of a state.
    pub keys: Keys,
    /// Seed of signatures; also makes messages of other jobs unreadable.
    pub seed: u64,
    /// States per batch, at most.
    pub batch_states: u32,
    /// Level after level, instead of as they come.
    pub strict: bool,
    /// A batch that is not acknowledged for so long is delivered again, in milliseconds.
    pub redeliver_ms: u64,
    /// Bytes that may wait at the broker; `None` is as many as it takes.
    pub queue_bytes: Option<u64>,
    /// How many servers of a cluster hold each batch.
    pub replicas: u32,
    /// When it began, in seconds since 1970.
    pub began: u64,
    /// The computer that it was started on.
    pub host: String,
}
