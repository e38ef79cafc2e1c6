//! Packed states and borrowed runs of them.

/// How large a packed state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// 64-bit words per state, at least one.
    pub words: usize,
    /// Bits in use; the rest of the last word is zero.
    pub bits: usize,
}

impl Shape {
    /// The shape of a state of `bits` bits.
    pub fn of_bits(bits: usize) -> Shape {
        Shape { words: bits.div_ceil(64).max(1), bits }
    }
}

/// Words that must be readable behind the last state of a block (see the crate's invariants).
pub const PAD_WORDS: usize = 1;

/// A borrowed run of packed states of equal width, followed by [`PAD_WORDS`] readable words.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    words: &'a [u64],
    width: usize,
    len: usize,
}

impl<'a> Block<'a> {
    /// A block of `len` states at the start of `words`.
    ///
    /// # Panics
    /// If `words` does not hold the states and the padding behind them: that is a bug of the caller.
    pub fn new(words: &'a [u64], width: usize, len: usize) -> Block<'a> {
        assert!(words.len() >= len * width + PAD_WORDS, "a block needs its padding");
        Block { words, width, len }
    }

    /// Number of states.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no state.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Words per state.
    pub fn width(&self) -> usize {
        self.width
    }

    /// State number `i`.
    #[inline]
    pub fn state(&self, i: usize) -> &'a [u64] {
        &self.words[i * self.width..(i + 1) * self.width]
    }

    /// State number `i` and everything readable behind it, padding included.
    #[inline]
    pub fn padded(&self, i: usize) -> &'a [u64] {
        assert!(i < self.len);
        &self.words[i * self.width..]
    }

    /// The states as one slice, without the padding.
    pub fn words(&self) -> &'a [u64] {
        &self.words[..self.len * self.width]
    }

    /// Puts a copy of the states, with padding, into the place of `words`.
    pub fn copy_to(&self, words: &mut Vec<u64>) {
        words.clear();
        words.extend_from_slice(self.words());
        words.extend_from_slice(&[0; PAD_WORDS]);
    }

    /// The states from `from` on, at most `count` of them.
    pub fn slice(&self, from: usize, count: usize) -> Block<'a> {
        let len = count.min(self.len - from);
        Block { words: &self.words[from * self.width..], width: self.width, len }
    }
}

/// Positions in a block, ascending: which of the offered states were fresh.
pub type Picks = Vec<u32>;
