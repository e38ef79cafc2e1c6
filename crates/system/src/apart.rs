//! Working memory of one worker that no other one waits for.
//!
//! Small things that one thread writes all the time must not lie beside what another thread uses: both
//! would wait for the same line of the cache.

/// A few words that share no cache line with anything else.
#[derive(Debug)]
pub struct Apart {
    words: Box<[u64]>,
    from: usize,
    len: usize,
}

impl Apart {
    /// So many zeros.
    pub fn new(len: usize) -> Apart {
        const LINE: usize = 16; // two lines, which processors load together
        let words = vec![0; len.next_multiple_of(LINE) + LINE].into_boxed_slice();
        let from = words.as_ptr().align_offset(LINE * size_of::<u64>()).min(LINE);
        Apart { words, from, len }
    }
}

impl std::ops::Deref for Apart {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.words[self.from..self.from + self.len]
    }
}

impl std::ops::DerefMut for Apart {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.words[self.from..self.from + self.len]
    }
}

impl Clone for Apart {
    fn clone(&self) -> Apart {
        // Another place may be aligned otherwise.
        let mut copy = Apart::new(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_shared() {
        for len in [0, 1, 15, 16, 17, 200] {
            let mut words = Apart::new(len);
            assert_eq!(*words, vec![0; len]);
            words.iter_mut().enumerate().for_each(|(i, word)| *word = i as u64);
            let copy = words.clone();
            assert_eq!(*copy, *words);
            for words in [&words, &copy] {
                let (start, all) = (words.as_ptr().addr(), words.words.as_ptr_range());
                let end = (start + 8 * len).next_multiple_of(128);
                assert!(start.is_multiple_of(128) && end <= all.end.addr());
            }
        }
    }
}
