//! The frontier on disk: the queue of cached Murphi (Tronci et al., CHARME 2001, Fig. 3).
//!
//! States are pushed to the *tail* window in memory. When it is full it is appended to the swap-out
//! file. States are pulled from the *head* window; when it is empty it is loaded from the swap-in
//! file; when that is used up the two files change places; when there is nothing in either, head and
//! tail change places. So a queue that fits into its windows never touches the disk, and one that does
//! not is written once and read once, in order.
//!
//! Windows are lists of chunks. A chunk becomes one checksummed frame; the head is loaded chunk by
//! chunk, so that the tail has nearly all of the memory. Levels are counts: the queue is one queue,
//! in which the rest of the current level stands before the next one.
//!
//! Invariants: the order is head, swap-in file from `at` on, swap-out file, tail; all chunks are
//! allocated with [`PAD_WORDS`] words behind their last state; no state is dropped before it was
//! pulled, also when reading or writing fails.

use ergodic_disk::{Dir, DiskError, File, frames};
use ergodic_system::{Block, Exhausted, Frontier, PAD_WORDS, Picks, Shape};
use std::collections::VecDeque;

/// Bytes of a chunk, unless the windows are smaller.
const CHUNK_BYTES: usize = 1 << 18;

/// Two levels of states, in memory as far as they fit, else on disk.
#[derive(Debug)]
pub struct DiskQueue {
    dir: Dir,
    width: usize,
    /// States per chunk.
    per_chunk: usize,
    /// Chunks of the tail that are written together.
    window: usize,
    head: VecDeque<Chunk>,
    tail: VecDeque<Chunk>,
    swap_in: Option<Swap>,
    swap_out: Option<Swap>,
    /// States waiting in each level.
    current: u64,
    next: u64,
    /// A chunk to fill again, and working memory for frames.
    spare: Option<Chunk>,
    bytes: Vec<u8>,
    /// States written to disk so far.
    swapped: u64,
}

/// States in memory.
#[derive(Debug)]
struct Chunk {
    words: Box<[u64]>,
    /// States pulled and pushed.
    taken: usize,
    filled: usize,
}

/// A swap file: frames from `at` on are to be read, up to `end`.
#[derive(Debug)]
struct Swap {
    file: File,
    at: u64,
    end: u64,
}

impl Swap {
    fn is_empty(&self) -> bool {
        self.at == self.end
    }

    /// Drops everything, if anything is there.
    fn clear(&mut self) -> Result<(), DiskError> {
        if self.end > 0 {
            self.file.truncate(0)?;
        }
        (self.at, self.end) = (0, 0);
        Ok(())
    }
}

impl DiskQueue {
    /// An empty frontier for states of this shape that uses about `memory` bytes of memory, and
    /// files in `dir` when that is not enough.
    pub fn new(dir: Dir, shape: Shape, memory: u64) -> DiskQueue {
        let state = 8 * shape.words as u64;
        // One chunk in the head, one spare, one as bytes, and at least one in the tail.
        let chunk = (memory / 4).min(CHUNK_BYTES as u64);
        let per_chunk = (chunk / state).max(1);
        let window = (memory / (per_chunk * state)).saturating_sub(3).max(1);
        DiskQueue {
            dir,
            width: shape.words,
            per_chunk: per_chunk as usize,
            window: window as usize,
            head: VecDeque::new(),
            tail: VecDeque::new(),
            swap_in: None,
            swap_out: None,
            current: 0,
            next: 0,
            spare: None,
            bytes: Vec::new(),
            swapped: 0,
        }
    }

    /// Bytes in the swap files that are still to be read.
    pub fn disk_bytes(&self) -> u64 {
        let swaps = [&self.swap_in, &self.swap_out];
        swaps.into_iter().flatten().map(|swap| swap.end - swap.at).sum()
    }

    /// States that were written to disk so far.
    pub fn swapped(&self) -> u64 {
        self.swapped
    }

    fn new_chunk(&mut self) -> Chunk {
        let words = self.per_chunk * self.width + PAD_WORDS;
        match self.spare.take() {
            Some(spare) => Chunk { taken: 0, filled: 0, ..spare },
            None => Chunk { words: vec![0; words].into_boxed_slice(), taken: 0, filled: 0 },
        }
    }

    /// Appends the tail to the swap-out file.
    fn swap_out(&mut self) -> Result<(), DiskError> {
        let mut swap = match self.swap_out.take() {
            Some(swap) => swap,
            None => Swap { file: self.dir.create("queue")?, at: 0, end: 0 },
        };
        let result = self.write_tail(&mut swap);
        self.swap_out = Some(swap);
        result
    }

    fn write_tail(&mut self, swap: &mut Swap) -> Result<(), DiskError> {
        while let Some(chunk) = self.tail.front() {
            self.bytes.clear();
            self.bytes.resize(frames::HEADER, 0);
            for word in &chunk.words[chunk.taken * self.width..chunk.filled * self.width] {
                self.bytes.extend_from_slice(&word.to_le_bytes());
            }
            frames::seal(&mut self.bytes);
            if let Err(error) = swap.file.append(&self.bytes) {
                // What was written of the frame must not stand before the next one.
                swap.file.truncate(swap.end)?;
                return Err(error);
            }
            swap.end += self.bytes.len() as u64;
            self.swapped += (chunk.filled - chunk.taken) as u64;
            self.spare = self.tail.pop_front();
        }
        Ok(())
    }

    /// Makes sure that the first chunk of the head has a state, if the queue has any.
    fn swap_in(&mut self) -> Result<(), DiskError> {
        while self.head.front().is_some_and(|chunk| chunk.taken == chunk.filled) {
            self.spare = self.head.pop_front();
        }
        if !self.head.is_empty() {
            return Ok(());
        }
        if self.swap_in.as_ref().is_none_or(Swap::is_empty) {
            if let Some(used) = &mut self.swap_in {
                used.clear()?;
            }
            std::mem::swap(&mut self.swap_in, &mut self.swap_out);
        }
        match &mut self.swap_in {
            Some(swap) if !swap.is_empty() => {
                let end = frames::read(&swap.file, swap.at, &mut self.bytes)?;
                let (words, _) = self.bytes.as_chunks::<8>();
                let room = self.per_chunk * self.width;
                if words.len() > room || !words.len().is_multiple_of(self.width) || end > swap.end {
                    let text = format!("the frame at byte {} is not of this queue", swap.at);
                    return Err(DiskError::damaged(swap.file.path(), text));
                }
                swap.at = end;
                self.take_bytes();
            }
            _ => std::mem::swap(&mut self.head, &mut self.tail),
        }
        Ok(())
    }

    /// Makes a chunk of the head from a frame that was read.
    fn take_bytes(&mut self) {
        let mut chunk = self.new_chunk();
        let (words, _) = self.bytes.as_chunks::<8>();
        for (to, from) in chunk.words.iter_mut().zip(words) {
            *to = u64::from_le_bytes(*from);
        }
        chunk.filled = words.len() / self.width;
        self.head.push_back(chunk);
    }

    /// The next at most `max` states of the queue.
    fn take(&mut self, max: u64) -> Result<Option<Block<'_>>, DiskError> {
        self.swap_in()?;
        let Some(chunk) = self.head.front_mut() else { return Ok(None) };
        let count = ((chunk.filled - chunk.taken) as u64).min(max) as usize;
        let from = chunk.taken * self.width;
        chunk.taken += count;
        Ok(Some(Block::new(&chunk.words[from..], self.width, count)))
    }

    /// Drops what is left of the current level.
    fn drop_current(&mut self) -> Result<(), DiskError> {
        while self.current > 0 {
            let dropped = self.take(self.current)?.map_or(0, |block| block.len() as u64);
            if dropped == 0 {
                break;
            }
            self.current -= dropped;
        }
        Ok(())
    }
}

fn other(error: DiskError) -> Exhausted {
    Exhausted::Other(error.to_string())
}

impl Frontier for DiskQueue {
    fn push(&mut self, block: Block<'_>, picks: &Picks) -> Result<(), Exhausted> {
        for pick in picks {
            if self.tail.back().is_none_or(|chunk| chunk.filled == self.per_chunk) {
                if self.tail.len() >= self.window {
                    self.swap_out().map_err(other)?;
                }
                let chunk = self.new_chunk();
                self.tail.push_back(chunk);
            }
            if let Some(chunk) = self.tail.back_mut() {
                let at = chunk.filled * self.width;
                chunk.words[at..at + self.width].copy_from_slice(block.state(*pick as usize));
                chunk.filled += 1;
                self.next += 1;
            }
        }
        Ok(())
    }

    fn pull(&mut self, max: usize) -> Result<Option<Block<'_>>, Exhausted> {
        if self.current == 0 || max == 0 {
            return Ok(None);
        }
        // The count is known before the block is borrowed.
        self.swap_in().map_err(other)?;
        let most = self.current.min(max as u64);
        let ready = self.head.front().map_or(0, |chunk| (chunk.filled - chunk.taken) as u64);
        self.current -= ready.min(most);
        self.take(most).map_err(other)
    }

    /// What was left of the current level is forgotten.
    fn advance(&mut self) -> Result<u64, Exhausted> {
        self.drop_current().map_err(other)?;
        self.current = std::mem::take(&mut self.next);
        Ok(self.current)
    }

    fn len(&self) -> u64 {
        self.current + self.next
    }

    fn bytes(&self) -> u64 {
        let chunks = self.head.len() + self.tail.len() + usize::from(self.spare.is_some());
        let chunk = 8 * (self.per_chunk * self.width + PAD_WORDS);
        (chunks * chunk + self.bytes.capacity()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::tests::{Act, acts, behaves_as_two_deques, block_of, picks};
    use ergodic_disk::{Fault, Faulty};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn fresh_dir() -> Dir {
        Dir::fresh(&std::env::temp_dir()).unwrap()
    }

    proptest! {
        #[test]
        fn acts_as_two_deques(width in prop_oneof![1..4usize, Just(77), Just(40_000)],
                              memory in prop_oneof![Just(0u64), Just(1000), Just(50_000), Just(1 << 22)],
                              acts in acts()) {
            let mut queue = DiskQueue::new(fresh_dir(), Shape::of_bits(64 * width), memory);
            behaves_as_two_deques(&mut queue, width, acts)?;
        }
    }

    #[test]
    fn memory_is_bounded_and_files_are_used_again() {
        let dir = fresh_dir();
        let memory = 1 << 16;
        let mut queue = DiskQueue::new(dir.clone(), Shape::of_bits(64), memory);
        let words = block_of(1, 0, 1000);
        let push = |queue: &mut DiskQueue| {
            queue.push(Block::new(&words, 1, 1000), &picks(1000)).unwrap();
            assert!(queue.bytes() <= memory + 100, "{} bytes in use", queue.bytes());
        };
        (0..50).for_each(|_| push(&mut queue));
        for level in 0..20 {
            assert_eq!(queue.advance(), Ok(50_000));
            assert!(queue.disk_bytes() > 300_000, "level {level}");
            let mut pulled = 0;
            while let Some(block) = queue.pull(1000).unwrap() {
                pulled += block.len();
                // As many as were pulled go to the next level.
                while level < 19 && queue.next + 1000 <= pulled as u64 {
                    push(&mut queue);
                }
            }
            assert_eq!(pulled, 50_000);
        }
        assert!(queue.is_empty());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
        let sizes =
            std::fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().metadata().unwrap().len());
        assert!(sizes.sum::<u64>() < 1_000_000);
    }

    #[test]
    fn what_fits_stays_in_memory() {
        let dir = fresh_dir();
        let mut queue = DiskQueue::new(dir.clone(), Shape::of_bits(64), 1 << 24);
        let words = block_of(1, 0, 1000);
        for _ in 0..1000 {
            queue.push(Block::new(&words, 1, 1000), &picks(1000)).unwrap();
        }
        queue.advance().unwrap();
        while queue.pull(1000).unwrap().is_some() {}
        assert_eq!((queue.swapped(), dir.traffic()), (0, (0, 0)));
    }

    /// Goes through some levels; a failed call is tried once more. Checks all that comes out.
    fn some_levels(dir: Dir) -> Result<(), Exhausted> {
        let mut queue = DiskQueue::new(dir, Shape::of_bits(128), 2000);
        let (mut made, mut expected, mut result) = (0, 0, Ok(()));
        for _ in 0..6 {
            for _ in 0..5 {
                let words = block_of(2, made, 100);
                let from = queue.next;
                if let Err(error) = queue.push(Block::new(&words, 2, 100), &picks(100)) {
                    result = Err(error);
                    let rest: Picks = ((queue.next - from) as u32..100).collect();
                    queue.push(Block::new(&words, 2, 100), &rest)?;
                }
                made += 100;
            }
            assert_eq!(queue.advance(), Ok(500));
            for _ in 0..1000 {
                match queue.pull(33) {
                    Ok(None) => break,
                    Ok(Some(block)) => {
                        for i in 0..block.len() {
                            assert_eq!(block.state(i), [expected, expected + (1 << 32)]);
                            expected += 1;
                        }
                    }
                    Err(error) => result = Err(error),
                }
            }
            if expected < made {
                // The error does not go away.
                return result;
            }
        }
        result
    }

    #[test]
    fn faults_are_errors_never_states() {
        let on =
            |fault| Dir::fresh_on(Arc::new(Faulty::new(fault)), &std::env::temp_dir()).unwrap();
        some_levels(on(Fault::ShortWrites(7))).unwrap();
        some_levels(on(Fault::ShortReads(7))).unwrap();
        let counting = Faulty::new(Fault::FullAfter(1 << 40));
        some_levels(Dir::fresh_on(Arc::new(counting.clone()), &std::env::temp_dir()).unwrap())
            .unwrap();
        let (reads, writes) = counting.used();
        assert!(reads > 20 && writes > 20);
        for number in 0..reads {
            some_levels(on(Fault::FlipOnRead(number))).unwrap_err();
            some_levels(on(Fault::FailRead(number))).unwrap_err();
        }
        for number in 0..writes {
            some_levels(on(Fault::FailWrite(number))).unwrap_err();
        }
        for bytes in (0..8000).step_by(211) {
            let error = some_levels(on(Fault::FullAfter(bytes))).unwrap_err();
            assert!(matches!(error, Exhausted::Other(text) if text.contains("--disk")));
        }
    }

    #[test]
    fn the_rest_of_a_level_can_be_forgotten() {
        let acts = vec![
            Act::Push(2000),
            Act::Advance,
            Act::Pull(10),
            Act::Push(900),
            Act::Advance,
            Act::Pull(500),
        ];
        let mut queue = DiskQueue::new(fresh_dir(), Shape::of_bits(64), 1000);
        behaves_as_two_deques(&mut queue, 1, acts).unwrap();
    }
}
