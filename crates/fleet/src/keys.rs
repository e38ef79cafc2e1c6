//! What keepers know states by, who keeps which, and what batches are known by.

use crate::bytes::put_u64;
use crate::job::{Job, Keys};
use ergodic_store::universal::{Universal, mix};
use ergodic_system::Shape;

/// Identity of a batch: a hash of its content and the job's seed.
pub type Id = u128;

/// A state as keeper and record, as in the parents of states: the keeper's number in the upper bits.
pub(crate) type Ref = u64;

/// The parent of initial states.
pub(crate) const NOBODY: Ref = u64::MAX;

/// Bits of a reference that number a keeper's records.
const RECORD_BITS: u32 = 48;

/// Most keepers of a job.
pub const MOST_KEEPERS: u32 = 4096;

pub(crate) fn reference(keeper: u32, record: u64) -> Ref {
    u64::from(keeper) << RECORD_BITS | record
}

/// Keeper and record of a reference.
pub(crate) fn place(reference: Ref) -> (u32, u64) {
    ((reference >> RECORD_BITS) as u32, reference & ((1 << RECORD_BITS) - 1))
}

/// How the states of a job are hashed, shared out and written.
#[derive(Clone, Debug)]
pub struct Codec {
    /// Size of states.
    pub(crate) shape: Shape,
    /// Size of keys.
    pub(crate) key: Shape,
    kind: Keys,
    keepers: u32,
    hash: Universal,
    seed: u64,
}

/// The hash of a state: who keeps it, and where tables look for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub place: u64,
    pub value: u64,
}

impl Codec {
    /// That of a job.
    pub fn new(job: &Job) -> Codec {
        let shape = Shape::of_bits(job.bits);
        let key = match job.keys {
            Keys::Exact => shape,
            Keys::Signatures => Shape::of_bits(128),
        };
        let hash = Universal::new(shape.words, job.seed);
        let (kind, keepers, seed) = (job.keys, job.keepers.clamp(1, MOST_KEEPERS), job.seed);
        Codec { shape, key, kind, keepers, hash, seed }
    }

    /// Size of what keepers hold per state.
    pub fn key_shape(&self) -> Shape {
        self.key
    }

    /// How many keepers there are.
    pub fn keepers(&self) -> u32 {
        self.keepers
    }

    pub(crate) fn sign(&self, state: &[u64]) -> Signature {
        let hashed = self.hash.of(state);
        Signature { place: hashed.place, value: hashed.value }
    }

    /// Who keeps a state.
    pub(crate) fn keeper(&self, signature: Signature) -> u32 {
        // The upper bits: tables use the lower ones.
        ((u128::from(signature.place) * u128::from(self.keepers)) >> 64) as u32
    }

    /// Appends the words of the key of a state.
    pub(crate) fn put_key(&self, state: &[u64], signature: Signature, out: &mut Vec<u64>) {
        match self.kind {
            Keys::Exact => out.extend_from_slice(state),
            Keys::Signatures => out.extend([signature.place, signature.value]),
        }
    }

    /// Who counts what a batch did.
    pub(crate) fn home(&self, batch: Id) -> u32 {
        (((batch >> 64) * u128::from(self.keepers)) >> 64) as u32
    }

    /// The identity of a message.
    pub(crate) fn identify(&self, body: &[u8]) -> Id {
        identity(self.seed, body)
    }

    /// The batch that initial states belong to.
    pub(crate) fn root(&self) -> Id {
        self.identify(b"root")
    }

    /// What tells the messages of this job from others.
    pub(crate) fn tag(&self) -> u64 {
        mix(self.seed ^ 0x0065_7267_6f64_6963)
    }
}

/// What a text is known by, in hex.
pub fn fingerprint(text: &str) -> String {
    format!("{:032x}", identity(0, text.as_bytes()))
}

fn identity(seed: u64, body: &[u8]) -> Id {
    let mut words = body.chunks_exact(8);
    let (mut a, mut b) = (mix(seed), mix(!seed));
    let mut take = |word: u64| {
        a = mix(a ^ word);
        b = mix(b.wrapping_add(word)).rotate_left(23);
    };
    for word in &mut words {
        take(u64::from_le_bytes(word.try_into().unwrap_or_default()));
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    take(u64::from_le_bytes(last));
    take(body.len() as u64);
    u128::from(a) << 64 | u128::from(b)
}

/// Bytes of a packed state or key on the wire, at least one.
pub(crate) fn packed(shape: Shape) -> usize {
    shape.bits.div_ceil(8).max(1)
}

/// Appends the bytes of a state or key.
pub(crate) fn pack(words: &[u64], shape: Shape, out: &mut Vec<u8>) {
    let end = out.len() + packed(shape);
    words.iter().for_each(|word| put_u64(out, *word));
    out.truncate(end);
}

/// Appends the words of a state or key; `false` if it has bits that there are not.
pub(crate) fn unpack(bytes: &[u8], shape: Shape, out: &mut Vec<u64>) -> bool {
    let end = out.len() + shape.words;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        out.push(u64::from_le_bytes(word));
    }
    out.resize(end, 0);
    let used = shape.bits - 64 * (shape.words - 1);
    used == 64 || out[end - 1] >> used == 0
}
