//! What keepers know states by, who keeps which, and what batches are known by.

use crate::bytes::{Reader, put_u64};
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

    /// The key of a state: itself, or its signature, which is written to `room`.
    pub(crate) fn key<'a>(
        &self,
        state: &'a [u64],
        signature: Signature,
        room: &'a mut [u64; 2],
    ) -> &'a [u64] {
        match self.kind {
            Keys::Exact => state,
            Keys::Signatures => {
                *room = [signature.place, signature.value];
                room
            }
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

/// Hashes what is a state or a hash already.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mixer(u64);

impl std::hash::Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0 ^ word);
    }

    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }

    fn write_usize(&mut self, _: usize) {
        // The length of a key: all are of the same.
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Bytes that a packed state or key takes on the wire, at most.
pub(crate) fn packed(shape: Shape) -> usize {
    // A mask for eight words each, and one for each word.
    shape.words.div_ceil(8) + 9 * shape.words
}

/// Writes states or keys one after the other, each as its difference to the one before: states of one
/// batch differ in few bytes. Signatures differ in all, and are written as they are.
#[derive(Debug)]
pub(crate) struct Packer {
    before: Vec<u64>,
    plain: bool,
}

impl Packer {
    pub(crate) fn states(codec: &Codec) -> Packer {
        Packer { before: vec![0; codec.shape.words], plain: false }
    }

    pub(crate) fn keys(codec: &Codec) -> Packer {
        let plain = codec.kind == Keys::Signatures;
        Packer { before: vec![0; codec.key.words], plain }
    }

    /// Appends the next one.
    pub(crate) fn put(&mut self, words: &[u64], out: &mut Vec<u8>) {
        if self.plain {
            words.iter().for_each(|word| put_u64(out, *word));
            return;
        }
        for (before, words) in self.before.chunks_mut(8).zip(words.chunks(8)) {
            let at = out.len();
            out.push(0);
            let mut changed = 0;
            for (i, (before, word)) in before.iter_mut().zip(words).enumerate() {
                let difference = (*before ^ *word).to_le_bytes();
                *before = *word;
                if difference != [0; 8] {
                    changed |= 1 << i;
                    put_bytes(difference, out);
                }
            }
            out[at] = changed;
        }
    }

    /// Reads the next one; `false` if it is cut or has bits that there are not.
    pub(crate) fn take(
        &mut self,
        reader: &mut Reader<'_>,
        shape: Shape,
        out: &mut Vec<u64>,
    ) -> bool {
        self.read(reader, out).is_some() && {
            let used = shape.bits - 64 * (shape.words - 1);
            used == 64 || out.last().is_some_and(|last| last >> used == 0)
        }
    }

    fn read(&mut self, reader: &mut Reader<'_>, out: &mut Vec<u64>) -> Option<()> {
        if self.plain {
            for _ in 0..self.before.len() {
                out.push(reader.u64()?);
            }
            return Some(());
        }
        for before in self.before.chunks_mut(8) {
            let changed = reader.u8()?;
            for (i, before) in before.iter_mut().enumerate() {
                if changed >> i & 1 != 0 {
                    *before ^= read_bytes(reader)?;
                }
                out.push(*before);
            }
        }
        Some(())
    }
}

/// Appends the bytes of a word that are not zero, after a mask that says which they are.
fn put_bytes(word: [u8; 8], out: &mut Vec<u8>) {
    let at = out.len();
    out.push(0);
    let mut mask = 0;
    for (i, byte) in word.into_iter().enumerate() {
        if byte != 0 {
            mask |= 1 << i;
            out.push(byte);
        }
    }
    out[at] = mask;
}

fn read_bytes(reader: &mut Reader<'_>) -> Option<u64> {
    let mask = reader.u8()?;
    let mut word = 0;
    for i in 0..8 {
        if mask >> i & 1 != 0 {
            word |= u64::from(reader.u8()?) << (8 * i);
        }
    }
    Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ergodic_store::universal::Random;

    fn job(bits: usize, keys: Keys) -> Job {
        Job {
            protocol: 0,
            version: String::new(),
            id: String::new(),
            model: String::new(),
            source: String::new(),
            options: serde_json::Value::Null,
            program: String::new(),
            bits,
            keepers: 3,
            keys,
            seed: 1,
            batch_states: 1,
            strict: false,
            redeliver_ms: 1,
            queue_bytes: None,
            replicas: 1,
            began: 0,
            host: String::new(),
        }
    }

    #[test]
    fn states_and_keys_come_back() {
        let mut random = Random::new(2);
        for bits in [0, 1, 63, 64, 65, 130, 512, 513, 1000] {
            let codec = Codec::new(&job(bits, Keys::Exact));
            let shape = codec.shape;
            let mut states = vec![0_u64; shape.words];
            for _ in 0..50 {
                // Few bits change from one to the next.
                let mut next = states[states.len() - shape.words..].to_vec();
                if bits > 0 {
                    let bit = random.below(bits as u64) as usize;
                    next[bit / 64] ^= 1 << (bit % 64);
                }
                states.extend(next);
            }
            let (mut packer, mut out) = (Packer::states(&codec), Vec::new());
            states.chunks(shape.words).for_each(|state| packer.put(state, &mut out));
            let (mut packer, mut again) = (Packer::states(&codec), Vec::new());
            let mut reader = Reader::new(&out);
            for _ in 0..51 {
                assert!(packer.take(&mut reader, shape, &mut again), "{bits} bits");
            }
            assert!(reader.is_empty());
            assert_eq!(again, states);
            for cut in 0..out.len() {
                let (mut packer, mut reader) = (Packer::states(&codec), Reader::new(&out[..cut]));
                let whole = (0..51).all(|_| packer.take(&mut reader, shape, &mut Vec::new()));
                assert!(!whole, "cut at {cut} of {}", out.len());
            }
        }
    }

    #[test]
    fn bits_that_there_are_not_are_refused() {
        let codec = Codec::new(&job(10, Keys::Exact));
        let mut out = Vec::new();
        Packer::states(&codec).put(&[1 << 10], &mut out);
        let mut reader = Reader::new(&out);
        assert!(!Packer::states(&codec).take(&mut reader, codec.shape, &mut Vec::new()));
    }

    #[test]
    fn signatures_take_sixteen_bytes() {
        let codec = Codec::new(&job(500, Keys::Signatures));
        let mut out = Vec::new();
        Packer::keys(&codec).put(&[u64::MAX, 1], &mut out);
        assert_eq!(out.len(), 16);
    }
}
