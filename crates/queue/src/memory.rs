//! The frontier in memory.
//!
//! Each level is a list of chunks of about 256 KiB. A chunk is given back when all of its states were
//! pulled and the next pull or advance comes; a few are kept and filled again by pushes, so
//! that a search in which one level shrinks while the next one grows does not allocate. The first
//! chunk of a level is small: most levels of small models fit into it, and the system hands out a page
//! in half a microsecond.
//!
//! Invariant: every chunk is allocated with [`PAD_WORDS`] words behind its last state, so a block
//! can be handed out from it in place. Blocks never span chunks, so a pull may return fewer states
//! than it could.

use ergodic_system::{Block, Exhausted, Frontier, PAD_WORDS, Picks, Shape};
use std::collections::VecDeque;

const CHUNK_BYTES: usize = 1 << 18;
/// Bytes of the first chunk of a level.
const FIRST_BYTES: usize = 1 << 11;
/// Empty chunks kept for pushes, and first ones: each level has one.
const SPARE_CHUNKS: usize = 4;
const SPARE_FIRST: usize = 2;

/// Two levels of states in memory.
#[derive(Debug)]
pub struct MemoryQueue {
    width: usize,
    /// States per chunk, and in the first one of a level.
    per_chunk: usize,
    per_first: usize,
    current: Level,
    next: Level,
    /// Chunks that are not in use: of full size, and first ones.
    spare: Vec<Chunk>,
    spare_first: Vec<Chunk>,
    /// Words of all chunks.
    words: u64,
}

/// Room for some states.
#[derive(Debug)]
struct Chunk {
    words: Box<[u64]>,
    room: usize,
}

/// States of one level. All chunks but the last are full.
#[derive(Debug, Default)]
struct Level {
    chunks: VecDeque<Chunk>,
    /// States pulled from the first chunk.
    taken: usize,
    /// States pushed to the last chunk.
    filled: usize,
    /// States waiting.
    len: u64,
}

impl MemoryQueue {
    /// An empty frontier for states of this shape.
    pub fn new(shape: Shape) -> MemoryQueue {
        let room = |bytes: usize| (bytes / (8 * shape.words)).max(1);
        MemoryQueue {
            width: shape.words,
            per_chunk: room(CHUNK_BYTES),
            per_first: room(FIRST_BYTES),
            current: Level::default(),
            next: Level::default(),
            spare: Vec::new(),
            spare_first: Vec::new(),
            words: 0,
        }
    }

    /// Appends a chunk to the next level.
    fn add_chunk(&mut self) {
        let first = self.next.chunks.is_empty();
        let (room, spare) = match first {
            true => (self.per_first, &mut self.spare_first),
            false => (self.per_chunk, &mut self.spare),
        };
        let chunk = spare.pop().unwrap_or_else(|| {
            let words = vec![0; room * self.width + PAD_WORDS].into_boxed_slice();
            self.words += words.len() as u64;
            Chunk { words, room }
        });
        self.next.chunks.push_back(chunk);
        self.next.filled = 0;
    }

    /// Gives back the first chunk of the current level, whose states were all pulled.
    #[cold]
    fn release(&mut self) {
        self.current.taken = 0;
        let Some(chunk) = self.current.chunks.pop_front() else { return };
        let (spare, most) = match chunk.room == self.per_first {
            true => (&mut self.spare_first, SPARE_FIRST),
            false => (&mut self.spare, SPARE_CHUNKS),
        };
        if spare.len() < most {
            spare.push(chunk);
        } else {
            self.words -= chunk.words.len() as u64;
        }
    }
}

impl Frontier for MemoryQueue {
    fn push(&mut self, block: Block<'_>, picks: &Picks) -> Result<(), Exhausted> {
        for pick in picks {
            let room = self.next.chunks.back().map_or(0, |chunk| chunk.room);
            if self.next.filled == room {
                self.add_chunk();
            }
            let at = self.next.filled * self.width;
            if let Some(chunk) = self.next.chunks.back_mut() {
                chunk.words[at..at + self.width].copy_from_slice(block.state(*pick as usize));
            }
            self.next.filled += 1;
        }
        self.next.len += picks.len() as u64;
        Ok(())
    }

    fn pull(&mut self, max: usize) -> Result<Option<Block<'_>>, Exhausted> {
        let (level, first) = (&self.current, self.per_first);
        let is_done =
            |chunk: &Chunk| level.taken == chunk.room || (level.len == 0 && chunk.room != first);
        if level.chunks.front().is_some_and(is_done) {
            self.release();
        }
        let level = &mut self.current;
        if level.len == 0 {
            return Ok(None);
        }
        let last = level.chunks.len() == 1;
        let Some(chunk) = level.chunks.front() else { return Ok(None) };
        let end = if last { level.filled } else { chunk.room };
        let count = (end - level.taken).min(max);
        let from = level.taken * self.width;
        level.taken += count;
        level.len -= count as u64;
        Ok(Some(Block::new(&chunk.words[from..], self.width, count)))
    }

    /// What was left of the current level is forgotten.
    fn advance(&mut self) -> Result<u64, Exhausted> {
        // A first chunk stays: it will be the first one again.
        while let Some(chunk) = self.current.chunks.back()
            && (chunk.room != self.per_first || self.current.chunks.len() > 1)
        {
            self.release();
        }
        (self.current.len, self.current.taken, self.current.filled) = (0, 0, 0);
        std::mem::swap(&mut self.current, &mut self.next);
        Ok(self.current.len)
    }

    fn len(&self) -> u64 {
        self.current.len + self.next.len
    }

    fn bytes(&self) -> u64 {
        self.words * 8
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn block_of(width: usize, from: u64, len: usize) -> Vec<u64> {
        let mut words = vec![0; len * width + PAD_WORDS];
        for (i, word) in words.iter_mut().enumerate().take(len * width) {
            *word = from + (i / width) as u64 + (((i % width) as u64) << 32);
        }
        words
    }

    pub(crate) fn picks(len: usize) -> Picks {
        (0..len as u32).collect()
    }

    #[derive(Clone, Debug)]
    pub(crate) enum Act {
        Push(usize),
        Pull(usize),
        Advance,
    }

    fn act() -> impl Strategy<Value = Act> {
        prop_oneof![
            (0..3000usize).prop_map(Act::Push),
            (1..5000usize).prop_map(Act::Pull),
            Just(Act::Advance),
        ]
    }

    pub(crate) fn acts() -> impl Strategy<Value = Vec<Act>> {
        prop::collection::vec(act(), 1..60)
    }

    /// Any frontier against two queues in memory.
    pub(crate) fn behaves_as_two_deques(
        queue: &mut impl Frontier,
        width: usize,
        acts: Vec<Act>,
    ) -> Result<(), TestCaseError> {
        let (mut current, mut next) = (VecDeque::<Vec<u64>>::new(), VecDeque::new());
        let mut made = 0;
        for act in acts {
            match act {
                Act::Push(n) => {
                    let n = if width > 100 { n % 5 } else { n };
                    let words = block_of(width, made, n);
                    let block = Block::new(&words, width, n);
                    // every second state only
                    let some: Picks = picks(n).into_iter().filter(|i| i % 2 == 0).collect();
                    queue.push(block, &some).unwrap();
                    next.extend(some.iter().map(|i| block.state(*i as usize).to_vec()));
                    made += n as u64;
                }
                Act::Pull(max) => match queue.pull(max).unwrap() {
                    None => prop_assert!(current.is_empty()),
                    Some(block) => {
                        prop_assert!(block.len() <= max && !block.is_empty());
                        for i in 0..block.len() {
                            let expected = current.pop_front();
                            prop_assert_eq!(Some(block.state(i)), expected.as_deref());
                        }
                    }
                },
                Act::Advance => {
                    current = std::mem::take(&mut next);
                    prop_assert_eq!(queue.advance().unwrap(), current.len() as u64);
                }
            }
            prop_assert_eq!(queue.len(), (current.len() + next.len()) as u64);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn acts_as_two_deques(width in prop_oneof![1..4usize, Just(77), Just(40_000)],
                              acts in acts()) {
            let mut queue = MemoryQueue::new(Shape::of_bits(64 * width));
            behaves_as_two_deques(&mut queue, width, acts)?;
        }
    }

    #[test]
    fn memory_falls_as_the_level_is_pulled() {
        let mut queue = MemoryQueue::new(Shape::of_bits(64));
        let words = block_of(1, 0, 1000);
        for _ in 0..1000 {
            queue.push(Block::new(&words, 1, 1000), &picks(1000)).unwrap();
        }
        queue.advance().unwrap();
        let full = queue.bytes();
        assert!(full >= 8_000_000);
        while queue.len() > 100_000 {
            queue.pull(1000).unwrap();
        }
        assert!(queue.bytes() < full / 3, "{} of {full}", queue.bytes());
        while queue.pull(1000).unwrap().is_some() {}
        assert!(queue.is_empty());
        assert!(
            queue.bytes()
                <= (SPARE_CHUNKS * (CHUNK_BYTES + 8) + SPARE_FIRST * (FIRST_BYTES + 8)) as u64
        );
    }

    #[test]
    fn nothing_to_pull_before_the_first_advance() {
        let mut queue = MemoryQueue::new(Shape::of_bits(1));
        queue.push(Block::new(&[1, 0], 1, 1), &vec![0]).unwrap();
        assert!(queue.pull(10).unwrap().is_none());
        assert_eq!(queue.advance(), Ok(1));
        assert_eq!(queue.pull(10).unwrap().unwrap().state(0), [1]);
        assert!(queue.pull(10).unwrap().is_none());
    }
}
