//! What a worker computes on: the state being made, the storage of locals, the values of names.
//!
//! Storage locals of all active frames lie packed in one buffer of words, each starting at a word
//! border; a frame is a window of it and of the slots, one slot per local. Frames are pushed and
//! popped like a stack, and buffers keep their room from one firing to the next.

use crate::explain::Explain;
use ergodic_ir::{Layout, Local, LocalKind, TypeId};

/// Which words an address is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// The state.
    State,
    /// The storage of locals.
    Storage,
}

/// The first bit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) memory: Memory,
    pub(crate) bit: usize,
}

impl Address {
    /// The address `bits` further on.
    pub(crate) fn plus(self, bits: usize) -> Address {
        Address { bit: self.bit + bits, ..self }
    }
}

/// What a local stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    /// The value of a bound local.
    Value(i64),
    /// Where a storage local lies, or what a reference refers to.
    At(Address),
}

/// Where the locals of an action, subroutine or property lie in its frame.
#[derive(Clone, Debug)]
pub(crate) struct FrameShape {
    /// First bit of each storage local, relative to the frame, by local.
    storage: Vec<Option<usize>>,
    /// Words of storage.
    words: usize,
}

impl FrameShape {
    pub(crate) fn new(locals: &[Local], layout: &Layout) -> FrameShape {
        let mut words = 0;
        let mut place = |local: &Local| {
            (local.kind == LocalKind::Storage).then(|| {
                let at = words * 64;
                words += layout.bits(local.ty).div_ceil(64);
                at
            })
        };
        FrameShape { storage: locals.iter().map(&mut place).collect(), words }
    }
}

/// An active action, subroutine or property.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// Its first slot.
    pub(crate) base: usize,
    /// Its first word of storage.
    pub(crate) bottom: usize,
    /// Its locals.
    pub(crate) locals: &'a [Local],
    /// What it returns.
    pub(crate) result: Option<TypeId>,
}

/// Working memory of one worker.
#[derive(Debug)]
pub struct Scratch {
    /// The state being made or judged.
    pub(crate) state: Vec<u64>,
    /// Where `state` is kept while an impure property is evaluated.
    pub(crate) saved: Vec<u64>,
    /// Storage of locals.
    pub(crate) storage: Vec<u64>,
    /// Locals of all active frames.
    pub(crate) slots: Vec<Slot>,
    /// How often each cover goal was met.
    pub(crate) goals: Vec<u64>,
    /// Names and texts, when somebody wants to know them.
    pub(crate) explain: Option<Box<Explain>>,
}

impl Scratch {
    pub(crate) fn new(words: usize, goals: usize) -> Scratch {
        Scratch {
            state: vec![0; words],
            saved: vec![0; words],
            storage: Vec::new(),
            slots: Vec::new(),
            goals: vec![0; goals],
            explain: None,
        }
    }

    /// Drops all frames: what a fault leaves behind.
    pub(crate) fn reset(&mut self) {
        self.slots.clear();
        self.storage.clear();
        if let Some(explain) = &mut self.explain {
            explain.names.clear();
        }
    }

    pub(crate) fn words(&self, memory: Memory) -> &[u64] {
        match memory {
            Memory::State => &self.state,
            Memory::Storage => &self.storage,
        }
    }

    pub(crate) fn words_mut(&mut self, memory: Memory) -> &mut [u64] {
        match memory {
            Memory::State => &mut self.state,
            Memory::Storage => &mut self.storage,
        }
    }

    /// A new frame, all of its storage undefined.
    pub(crate) fn push_frame<'a>(
        &mut self,
        shape: &FrameShape,
        locals: &'a [Local],
        result: Option<TypeId>,
    ) -> Frame<'a> {
        let (base, bottom) = (self.slots.len(), self.storage.len());
        self.storage.resize(bottom + shape.words, 0);
        let slot = |at: &Option<usize>| match at {
            Some(bit) => Slot::At(Address { memory: Memory::Storage, bit: bottom * 64 + bit }),
            None => Slot::Value(0),
        };
        self.slots.extend(shape.storage.iter().map(slot));
        if let Some(explain) = &mut self.explain {
            explain.names.extend(locals.iter().map(|local| local.name.clone()));
        }
        Frame { base, bottom, locals, result }
    }

    /// Forgets the topmost frame.
    pub(crate) fn pop_frame(&mut self, frame: Frame<'_>) {
        self.slots.truncate(frame.base);
        self.storage.truncate(frame.bottom);
        if let Some(explain) = &mut self.explain {
            explain.names.truncate(frame.base);
        }
    }
}
