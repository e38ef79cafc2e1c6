//! The frontier in memory.
//!
//! Each level is a list of chunks of about 256 KiB. A chunk is given back as soon as its last state
//! was pulled and the next pull or advance comes; a few are kept and filled again by pushes, so
//! that a search in which one level shrinks while the next one grows does not allocate.
//!
//! Invariant: every chunk is allocated with [`PAD_WORDS`] words behind its last state, so a block
//! can be handed out from it in place. Blocks never span chunks, so a pull may return fewer states
//! than it could.

use ergodic_system::{Block, Exhausted, Frontier, PAD_WORDS, Picks, Shape};
use std::collections::VecDeque;

const CHUNK_BYTES: usize = 1 << 18;
/// Empty chunks kept for pushes.
const SPARE_CHUNKS: usize = 4;

/// Two levels of states in memory.
#[derive(Debug)]
pub struct MemoryQueue {
    width: usize,
    /// States per chunk.
    per_chunk: usize,
    current: Level,
    next: Level,
    spare: Vec<Box<[u64]>>,
}

/// States of one level. All chunks but the last are full.
#[derive(Debug, Default)]
struct Level {
    chunks: VecDeque<Box<[u64]>>,
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
        MemoryQueue {
            width: shape.words,
            per_chunk: (CHUNK_BYTES / (8 * shape.words)).max(1),
            current: Level::default(),
            next: Level::default(),
            spare: Vec::new(),
        }
    }

    fn new_chunk(&mut self) -> Box<[u64]> {
        let words = self.per_chunk * self.width + PAD_WORDS;
        self.spare.pop().unwrap_or_else(|| vec![0; words].into_boxed_slice())
    }

    /// Gives back chunks of the current level that were pulled to the end.
    fn release(&mut self) {
        let level = &mut self.current;
        while level.taken == self.per_chunk || (level.len == 0 && !level.chunks.is_empty()) {
            level.taken = 0;
            let chunk = level.chunks.pop_front();
            if self.spare.len() < SPARE_CHUNKS {
                self.spare.extend(chunk);
            }
        }
    }
}

impl Frontier for MemoryQueue {
    fn push(&mut self, block: Block<'_>, picks: &Picks) -> Result<(), Exhausted> {
        for pick in picks {
            if self.next.chunks.is_empty() || self.next.filled == self.per_chunk {
                let chunk = self.new_chunk();
                self.next.chunks.push_back(chunk);
                self.next.filled = 0;
            }
            let at = self.next.filled * self.width;
            if let Some(chunk) = self.next.chunks.back_mut() {
                chunk[at..at + self.width].copy_from_slice(block.state(*pick as usize));
            }
            self.next.filled += 1;
        }
        self.next.len += picks.len() as u64;
        Ok(())
    }

    fn pull(&mut self, max: usize) -> Result<Option<Block<'_>>, Exhausted> {
        self.release();
        let level = &mut self.current;
        let last = level.chunks.len() == 1;
        let Some(chunk) = level.chunks.front() else { return Ok(None) };
        let end = if last { level.filled } else { self.per_chunk };
        let count = (end - level.taken).min(max);
        let from = level.taken * self.width;
        level.taken += count;
        level.len -= count as u64;
        Ok(Some(Block::new(&chunk[from..], self.width, count)))
    }

    /// What was left of the current level is forgotten.
    fn advance(&mut self) -> Result<u64, Exhausted> {
        self.current.len = 0;
        self.release();
        std::mem::swap(&mut self.current, &mut self.next);
        self.next = Level::default();
        Ok(self.current.len)
    }

    fn len(&self) -> u64 {
        self.current.len + self.next.len
    }

    fn bytes(&self) -> u64 {
        let chunks = self.current.chunks.len() + self.next.chunks.len() + self.spare.len();
        chunks as u64 * (self.per_chunk * self.width + PAD_WORDS) as u64 * 8
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
        assert!(queue.bytes() <= (SPARE_CHUNKS * (CHUNK_BYTES + 8)) as u64);
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
