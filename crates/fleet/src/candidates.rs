//! Successors that a worker is about to ask keepers about: each once per batch, in the order in which
//! they were found.

use crate::keys::{Codec, Ref, Signature};
use ergodic_system::{Block, Label, PAD_WORDS};

/// Where a successor came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// Which of the batches at hand.
    pub batch: u32,
    pub parent: Ref,
    pub rule: u32,
    pub label: Label,
    pub signature: Signature,
}

/// The successors, as columns.
#[derive(Debug)]
pub(crate) struct Candidates {
    width: usize,
    /// States, and padding.
    states: Vec<u64>,
    origins: Vec<Origin>,
    /// Places of states, by their hashes; 0 is empty, else one more than the place.
    index: Vec<u32>,
}

impl Candidates {
    pub(crate) fn new(codec: &Codec) -> Candidates {
        Candidates {
            width: codec.shape.words,
            states: vec![0; PAD_WORDS],
            origins: Vec::new(),
            index: vec![0; 1 << 12],
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.origins.len()
    }

    pub(crate) fn origin(&self, i: usize) -> Origin {
        self.origins[i]
    }

    pub(crate) fn block(&self) -> Block<'_> {
        Block::new(&self.states, self.width, self.origins.len())
    }

    pub(crate) fn clear(&mut self) {
        self.states.clear();
        self.states.resize(PAD_WORDS, 0);
        self.origins.clear();
        self.index.fill(0);
    }

    /// Adds a successor, unless its batch has found it already.
    pub(crate) fn add(&mut self, state: &[u64], origin: Origin) {
        if 2 * self.origins.len() >= self.index.len() {
            self.grow();
        }
        let mask = self.index.len() - 1;
        let mut place = origin.signature.value as usize & mask;
        while let Some(known) = (self.index[place] as usize).checked_sub(1) {
            let same = &self.states[known * self.width..][..self.width] == state;
            if same && self.origins[known].batch == origin.batch {
                return;
            }
            place = (place + 1) & mask;
        }
        self.index[place] = self.origins.len() as u32 + 1;
        self.states.truncate(self.origins.len() * self.width);
        self.states.extend_from_slice(state);
        self.states.resize(self.states.len() + PAD_WORDS, 0);
        self.origins.push(origin);
    }

    fn grow(&mut self) {
        let size = self.index.len() * 2;
        self.index.clear();
        self.index.resize(size, 0);
        for (i, origin) in self.origins.iter().enumerate() {
            let mut place = origin.signature.value as usize & (size - 1);
            while self.index[place] != 0 {
                place = (place + 1) & (size - 1);
            }
            self.index[place] = i as u32 + 1;
        }
    }
}
