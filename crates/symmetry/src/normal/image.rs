//! States as CMurphi packs them with `-b`: variables, fields and elements in the order of their declaration,
//! the places of multisets behind their elements. States are compared in this form.

use ergodic_ir::bits;

/// Bits that say whether a place of a multiset is taken: a boolean, stored as 1 or 2.
const TAKEN_BITS: usize = 2;

/// Where the bits of a state go.
#[derive(Clone, Debug, Default)]
pub(super) struct Image {
    /// The fields as they were added: elements of multisets are compared by them, one after the other.
    fields: Vec<(usize, u32)>,
    runs: Vec<Run>,
    bags: Vec<BagRun>,
    bits: usize,
}

/// Up to 64 bits that stay together.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: usize,
    to: usize,
    width: u32,
}

/// A multiset: slots of a presence bit and an element.
#[derive(Clone, Debug)]
struct BagRun {
    from: usize,
    to: usize,
    stride: usize,
    capacity: usize,
    element: Image,
}

impl Image {
    /// Adds a field.
    pub(super) fn field(&mut self, from: usize, width: u32) {
        if width == 0 {
            return;
        }
        let to = self.bits;
        self.bits += width as usize;
        self.fields.push((from, width));
        if let Some(last) = self.runs.last_mut()
            && last.from + last.width as usize == from
            && last.to + last.width as usize == to
            && last.width + width <= 64
        {
            last.width += width;
            return;
        }
        self.runs.push(Run { from, to, width });
    }

    /// Adds a multiset; the fields of its element are relative to a slot.
    pub(super) fn bag(&mut self, from: usize, stride: usize, capacity: usize, element: Image) {
        let to = self.bits;
        self.bits += capacity * (element.bits + TAKEN_BITS);
        self.bags.push(BagRun { from, to, stride, capacity, element });
    }

    /// The image of a state with a word to spare, as words with signs.
    pub(super) fn of(&self, state: &[u64], out: &mut Vec<i32>) {
        let mut words = vec![0; self.bits.div_ceil(64) + 1];
        self.write(state, 0, &mut words, 0);
        out.clear();
        for word in &words {
            out.extend([*word as u32 as i32, (*word >> 32) as u32 as i32]);
        }
    }

    fn write(&self, state: &[u64], from: usize, out: &mut [u64], to: usize) {
        for run in &self.runs {
            let value = bits::read(state, from + run.from, run.width);
            bits::write(out, to + run.to, run.width, value);
        }
        for bag in &self.bags {
            bag.write(state, from + bag.from, out, to + bag.to);
        }
    }

    /// The fields of an element, in the order in which they are compared.
    fn key(&self, state: &[u64], from: usize) -> Vec<u64> {
        self.fields.iter().map(|(at, width)| bits::read(state, from + at, *width)).collect()
    }
}

impl BagRun {
    /// Elements come first, the least one in front.
    fn write(&self, state: &[u64], from: usize, out: &mut [u64], to: usize) {
        let slots = (0..self.capacity).map(|i| from + i * self.stride);
        let mut taken = Vec::from_iter(slots.filter(|slot| bits::read(state, *slot, 1) == 1));
        taken.sort_by_cached_key(|slot| self.element.key(state, *slot));
        let behind = to + self.capacity * self.element.bits;
        for i in 0..self.capacity {
            let at = behind + i * TAKEN_BITS;
            bits::write(out, at, TAKEN_BITS as u32, 1 + u64::from(i < taken.len()));
        }
        for (i, slot) in taken.iter().enumerate() {
            self.element.write(state, *slot, out, to + i * self.element.bits);
        }
    }
}
