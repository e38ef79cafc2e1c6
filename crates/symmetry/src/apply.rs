//! Permuting a packed state.

use crate::plan::{Chunk, Symmetries, group_bit};
use ergodic_ir::{MultisetAt, bits, normalise_multiset};

/// A chunk of a state that is not empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Live {
    /// Which chunk.
    pub chunk: u32,
    /// Its bits.
    pub value: u64,
}

/// Reads a bit field of a slice with a word to spare.
#[inline(always)]
pub(crate) fn read(words: &[u64], at: u32, width: u32) -> u64 {
    let (word, shift) = ((at / 64) as usize, at % 64);
    let value = (words[word] >> shift) | ((words[word + 1] << 1) << (63 - shift));
    value & (u64::MAX >> (64 - width))
}

/// Fills a bit field that is zero.
#[inline(always)]
fn fill(words: &mut [u64], at: u32, width: u32, value: u64) {
    let (word, shift) = ((at / 64) as usize, at % 64);
    words[word] |= value << shift;
    if shift + width > 64 {
        words[word + 1] |= value >> (64 - shift);
    }
}

impl Symmetries {
    /// Where a chunk goes.
    #[inline(always)]
    fn target(&self, chunk: &Chunk, to: &[u32]) -> u32 {
        let steps = self.path(chunk.path).iter();
        chunk.origin + steps.map(|step| step.stride * to[step.point as usize]).sum::<u32>()
    }

    /// What becomes of the bits of a chunk.
    #[inline(always)]
    fn mapped(&self, chunk: &Chunk, to: &[u32], mut value: u64) -> u64 {
        for field in self.point_fields(chunk) {
            let stored = (value >> field.shift) & field.mask;
            let local = stored.wrapping_sub(field.low);
            if local < field.count {
                let to = field.low + u64::from(to[field.first as usize + local as usize]);
                value ^= (stored ^ to) << field.shift;
            }
        }
        value
    }

    /// Permutes a state with the given chunks. Slices have a word to spare; that of `out` stays as
    /// it is.
    pub(crate) fn apply(
        &self,
        to: &[u32],
        state: &[u64],
        live: &[Live],
        out: &mut [u64],
        slots: &mut Vec<u64>,
    ) {
        for ((out, word), fixed) in out.iter_mut().zip(state).zip(&self.fixed) {
            *out = word & fixed;
        }
        for Live { chunk, value } in live {
            let chunk = &self.chunks[*chunk as usize];
            fill(out, self.target(chunk, to), chunk.width, self.mapped(chunk, to, *value));
        }
        for multiset in &self.multisets {
            sort(out, *multiset, slots);
        }
    }

    /// Whether the exchange of two points of one group leaves a state as it is; `to` is that
    /// permutation. (It suffices that chunks which are not empty come to equal ones: as many are
    /// empty before as after. Rows of other points stay where they are.)
    pub(crate) fn is_fixed(
        &self,
        group: usize,
        (a, b): (u32, u32),
        to: &[u32],
        state: &[u64],
        live: &[Live],
        spare: (&mut [u64], &mut Vec<u64>),
    ) -> bool {
        let mut sorted = false;
        let bit = group_bit(group);
        for Live { chunk, value } in live {
            let chunk = &self.chunks[*chunk as usize];
            if chunk.groups & bit == 0 {
                continue;
            }
            if chunk.sorted {
                sorted = true;
                continue;
            }
            if chunk.fields.0 == chunk.fields.1
                && let [step] = self.path(chunk.path)
                && step.point != a
                && step.point != b
            {
                continue;
            }
            let there = read(state, self.target(chunk, to), chunk.width);
            if self.mapped(chunk, to, *value) != there {
                return false;
            }
        }
        if !sorted {
            return true;
        }
        let (out, slots) = spare;
        self.apply(to, state, live, out, slots);
        out[..self.words] == state[..self.words]
    }
}

/// Sorts the slots of a multiset, largest first, as [`ergodic_ir::Layout`] wants them.
fn sort(state: &mut [u64], multiset: MultisetAt, slots: &mut Vec<u64>) {
    let MultisetAt { at, capacity, stride, .. } = multiset;
    if stride > 64 {
        return normalise_multiset(state, multiset);
    }
    let place = |i: usize| (at + i * stride) as u32;
    slots.clear();
    let mut in_order = true;
    let mut last = u64::MAX;
    for i in 0..capacity as usize {
        let slot = read(state, place(i), stride as u32);
        in_order &= slot <= last;
        last = slot;
        slots.push(slot);
    }
    if in_order {
        return;
    }
    slots.sort_unstable_by(|a, b| b.cmp(a));
    for (i, slot) in slots.iter().enumerate() {
        bits::write(state, at + i * stride, stride as u32, *slot);
    }
}
