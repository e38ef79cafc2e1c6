//! Groups whose points are put in order by sorting keys, without refinement and without search.
//!
//! A group is *plain* if what a state says about one of its points involves no other point: arrays
//! indexed by the group hold plain data, and variables that hold its points lie neither in an array
//! indexed by points nor in a multiset. The *key* of a point is its row of those arrays together with
//! the set of the variables that hold it. A permutation of the group permutes the keys and does
//! nothing else to the state, and the keys and the rest of the state give the state back. So two
//! states are in one orbit exactly if their keys, sorted, and the bits that no permutation touches
//! are equal: sorting is canonising. Points with equal keys are held by no variable, so their order
//! does not matter. Other groups neither change the keys nor are changed by the order of these
//! points: plain groups are sorted first, one by one, and are plain data to the general algorithm.
//!
//! The bits of a key are the bits of the row: rows are gathered into keys, the keys are sorted, and
//! the rows are written back from them. The lowest bits of a key are the number of its point, which
//! makes keys different and sorting a permutation. Data in the order of the state fills a key from
//! its low end: program counters, which change with every step, tend to be declared first, and a key
//! that changes in its low bits moves the least; successors of sorted states are almost sorted, and
//! of n_peterson six in ten are sorted: nothing is written then.
//!
//! Invariant: pieces and runs lie within the state, and their bits within the words of a key.

use crate::plan::{Chunk, Group, Symmetries};
use ergodic_ir::bits;
use std::collections::BTreeMap;

/// The longest key in words; a group that needs a longer one is left to the general algorithm.
const MAX_WORDS: usize = 8;

/// Up to this many keys are sorted by insertion.
const FEW: usize = 24;

/// How one group is sorted.
#[derive(Clone, Debug)]
pub(crate) struct Sorter {
    /// Points of the group.
    count: usize,
    /// Words of a key: 1, 2, 4 or 8.
    words: usize,
    /// The bits of a key that hold the number of its point.
    number: u64,
    pieces: Vec<Piece>,
    runs: Vec<Run>,
}

/// Up to 64 bits of a state.
#[derive(Clone, Copy, Debug)]
struct Window {
    word: usize,
    shift: u32,
    /// Whether it reaches into the next word.
    straddles: bool,
}

/// Cells of one array for consecutive points, in one window.
#[derive(Clone, Debug)]
struct Piece {
    window: Window,
    /// The bits of the window that belong to it.
    all: u64,
    /// The first point, and how many.
    first: usize,
    rows: usize,
    stride: u32,
    /// Where a cell goes in a key: which word, how far up, and which bits of it.
    key: usize,
    key_shift: u32,
    key_mask: u64,
}

/// Variables that can hold points of the group, at regular distances in one window.
#[derive(Clone, Debug)]
struct Run {
    window: Window,
    all: u64,
    fields: usize,
    stride: u32,
    mask: u64,
    /// Stored form of the first point.
    low: u64,
    /// The bit of the first variable in a key; the next bits are those of the others.
    key: usize,
    key_shift: u32,
}

impl Window {
    fn new(at: usize, width: u32) -> Window {
        let shift = (at % 64) as u32;
        Window { word: at / 64, shift, straddles: shift + width > 64 }
    }

    /// The bits from its first on; those behind it may be anything.
    #[inline(always)]
    fn read(self, state: &[u64]) -> u64 {
        let mut value = state[self.word] >> self.shift;
        if self.straddles {
            value |= state[self.word + 1] << (64 - self.shift);
        }
        value
    }

    /// Writes the bits of `mask`.
    #[inline(always)]
    fn write(self, state: &mut [u64], mask: u64, value: u64) {
        let low = &mut state[self.word];
        *low = *low & !(mask << self.shift) | value << self.shift;
        if self.straddles {
            let high = &mut state[self.word + 1];
            let done = 64 - self.shift;
            *high = *high & !(mask >> done) | value >> done;
        }
    }
}

impl Sorter {
    /// Sorts the points of the group. `spare` is working memory of at least [`Sorter::spare_words`].
    #[inline]
    pub(crate) fn sort(&self, spare: &mut [u64], state: &mut [u64]) {
        match self.words {
            1 => self.sort_keys::<1>(spare, state),
            2 => self.sort_keys::<2>(spare, state),
            4 => self.sort_keys::<4>(spare, state),
            _ => self.sort_keys::<MAX_WORDS>(spare, state),
        }
    }

    /// Where the points went when `spare` was last used to sort: the keys are still there, in order.
    pub(crate) fn places(&self, spare: &[u64], to: &mut [u16]) {
        let keys = spare.chunks_exact(self.words).take(self.count);
        for (place, key) in keys.enumerate() {
            to[(key[self.words - 1] & self.number) as usize] = place as u16;
        }
    }

    /// Words of working memory: one key more, for variables that hold no point of the group, and a table of
    /// places.
    pub(crate) fn spare_words(&self) -> usize {
        (self.count + 1) * (self.words + 1)
    }

    fn sort_keys<const W: usize>(&self, spare: &mut [u64], state: &mut [u64]) {
        let (keys, places) = spare.split_at_mut((self.count + 1) * W);
        let (keys, _) = keys.as_chunks_mut::<W>();
        self.gather(keys, state);
        let keys = &mut keys[..self.count];
        if order(keys) {
            return;
        }
        for (place, key) in keys.iter().enumerate() {
            places[(key[W - 1] & self.number) as usize] = place as u64;
        }
        self.scatter(keys, places, state);
    }

    /// Makes the keys of a state.
    #[inline(always)]
    fn gather<const W: usize>(&self, keys: &mut [[u64; W]], state: &[u64]) {
        for (i, key) in keys.iter_mut().enumerate() {
            *key = [0; W];
            key[W - 1] = i as u64;
        }
        for piece in &self.pieces {
            // The window is turned so that one cell after the other comes to its place in a key.
            let mut turned = piece.window.read(state).rotate_left(piece.key_shift);
            for key in &mut keys[piece.first..piece.first + piece.rows] {
                key[piece.key % W] |= turned & piece.key_mask;
                turned = turned.rotate_right(piece.stride);
            }
        }
        let nowhere = self.count as u64;
        for run in &self.runs {
            let mut rest = run.window.read(state);
            let mut bit = 1 << run.key_shift;
            for _ in 0..run.fields {
                let point = (rest & run.mask).wrapping_sub(run.low).min(nowhere);
                keys[point as usize][run.key % W] |= bit;
                bit <<= 1;
                rest = rest.wrapping_shr(run.stride);
            }
        }
    }

    /// Writes the rows back in the order of the keys, and the new numbers of the points.
    #[inline(always)]
    fn scatter<const W: usize>(&self, keys: &[[u64; W]], places: &[u64], state: &mut [u64]) {
        for piece in &self.pieces {
            let mut turned = 0u64;
            for key in keys[piece.first..piece.first + piece.rows].iter().rev() {
                turned = turned.rotate_left(piece.stride) | key[piece.key % W] & piece.key_mask;
            }
            piece.window.write(state, piece.all, turned.rotate_right(piece.key_shift));
        }
        let nowhere = self.count as u64;
        for run in &self.runs {
            let mut rest = run.window.read(state);
            let mut value = 0;
            let mut shift = 0;
            for _ in 0..run.fields {
                let stored = rest & run.mask;
                let point = stored.wrapping_sub(run.low).min(nowhere);
                let place = places[point as usize] + run.low;
                value |= if point < nowhere { place } else { stored } << shift;
                shift += run.stride;
                rest = rest.wrapping_shr(run.stride);
            }
            run.window.write(state, run.all, value);
        }
    }
}

/// Sorts different keys. Tells whether they were sorted.
#[inline(always)]
fn order<const W: usize>(keys: &mut [[u64; W]]) -> bool {
    let Some(first) = (1..keys.len()).find(|i| is_less(&keys[*i], &keys[*i - 1])) else {
        return true;
    };
    if keys.len() > FEW {
        keys.sort_unstable();
        return false;
    }
    for i in first..keys.len() {
        let key = keys[i];
        let mut j = i;
        while j > 0 && is_less(&key, &keys[j - 1]) {
            keys[j] = keys[j - 1];
            j -= 1;
        }
        keys[j] = key;
    }
    false
}

/// Compares keys.
#[inline(always)]
fn is_less<const W: usize>(a: &[u64; W], b: &[u64; W]) -> bool {
    if W == 1 { a[0] < b[0] } else { a < b }
}

/// The bits used in each word of a key, the last word first.
struct Used(Vec<u32>);

impl Used {
    /// The word, counted from the last, and the shift for this many bits: where there is room.
    fn take(&mut self, width: u32) -> (usize, u32) {
        let room = self.0.iter().position(|used| used + width <= 64);
        let word = room.unwrap_or(self.0.len());
        if word == self.0.len() {
            self.0.push(0);
        }
        self.0[word] += width;
        (word, self.0[word] - width)
    }
}

impl Symmetries {
    /// Whether a group is plain.
    pub(crate) fn is_plain(&self, group: &Group) -> bool {
        let points = group.first..group.first + group.count;
        self.chunks.iter().all(|chunk| {
            let path = self.path(chunk.path);
            let fields = self.point_fields(chunk);
            let indexes = path.iter().any(|step| points.contains(&step.point));
            let held = fields.iter().any(|field| field.first == group.first);
            let alone = match (indexes, held) {
                (false, false) => true,
                (true, false) => path.len() == 1 && fields.is_empty(),
                (false, true) => path.is_empty(),
                (true, true) => false,
            };
            alone && !(chunk.sorted && (indexes || held))
        })
    }

    /// How to sort a plain group; none if its keys are too long.
    pub(crate) fn sorter(&self, group: &Group) -> Option<Sorter> {
        let number = u64::BITS - u64::from(group.count).leading_zeros();
        let mut used = Used(vec![number]);
        let pieces = self.pieces(group, &mut used)?;
        let runs = self.runs(group, &mut used);
        let words = used.0.len().next_power_of_two();
        if words > MAX_WORDS {
            return None;
        }
        let mut sorter =
            Sorter { count: group.count as usize, words, number: bits::mask(number), pieces, runs };
        let places = sorter.pieces.iter_mut().map(|piece| &mut piece.key);
        let places = places.chain(sorter.runs.iter_mut().map(|run| &mut run.key));
        places.for_each(|key| *key = words - 1 - *key);
        Some(sorter)
    }

    /// The pieces of the rows of a group.
    fn pieces(&self, group: &Group, used: &mut Used) -> Option<Vec<Piece>> {
        let mut columns: BTreeMap<u32, Vec<&Chunk>> = BTreeMap::new();
        for chunk in &self.chunks {
            if self.path(chunk.path).iter().any(|step| self.group_start(step.point) == group.first)
            {
                columns.entry(chunk.origin).or_default().push(chunk);
            }
        }
        let mut pieces = Vec::new();
        for column in columns.values() {
            let [step] = self.path(column[0].path) else { return None };
            let (stride, width) = (step.stride, column[0].width);
            let alike = column.iter().all(|chunk| chunk.width == width);
            if !alike || column.len() != group.count as usize {
                return None;
            }
            let (key, key_shift) = used.take(width);
            let mask = bits::mask(width);
            let at_once =
                if width + stride > 64 { 1 } else { 1 + ((64 - width) / stride) as usize };
            for first in (0..column.len()).step_by(at_once) {
                let rows = at_once.min(column.len() - first);
                let reach = (rows - 1) as u32 * stride + width;
                let window = Window::new(column[first].at as usize, reach);
                let all = (0..rows as u32).fold(0, |all, i| all | mask << (i * stride));
                let key_mask = mask << key_shift;
                pieces.push(Piece { window, all, first, rows, stride, key, key_shift, key_mask });
            }
        }
        Some(pieces)
    }

    /// The variables that hold points of a group.
    fn runs(&self, group: &Group, used: &mut Used) -> Vec<Run> {
        let mut runs: Vec<(usize, Run)> = Vec::new();
        for chunk in &self.chunks {
            let fields = self.point_fields(chunk).iter();
            for field in fields.filter(|field| field.first == group.first) {
                let at = (chunk.at + field.shift) as usize;
                let width = field.mask.count_ones();
                let (key, key_shift) = used.take(1);
                let run = Run {
                    window: Window::new(at, width),
                    all: field.mask,
                    fields: 1,
                    stride: 0,
                    mask: field.mask,
                    low: field.low,
                    key,
                    key_shift,
                };
                let joined =
                    runs.last_mut().is_some_and(|(start, last)| last.join(*start, &run, at));
                if !joined {
                    runs.push((at, run));
                }
            }
        }
        runs.into_iter().map(|(_, run)| run).collect()
    }

    fn group_start(&self, point: u32) -> u32 {
        self.first_of[point as usize]
    }
}

impl Run {
    /// Takes one more variable at bit `at`, if it goes on as this run does that starts at `start`.
    fn join(&mut self, start: usize, other: &Run, at: usize) -> bool {
        let width = self.mask.count_ones() as usize;
        let distance = at - start;
        let stride = if self.fields == 1 { distance } else { self.stride as usize };
        let fits = other.mask == self.mask
            && other.low == self.low
            && other.key == self.key
            && other.key_shift == self.key_shift + self.fields as u32
            && stride >= width
            && distance == stride * self.fields
            && distance + width <= 64;
        if fits {
            self.stride = stride as u32;
            self.fields += 1;
            self.all |= self.mask << distance;
            self.window = Window::new(start, (distance + width) as u32);
        }
        fits
    }
}
