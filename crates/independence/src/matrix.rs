//! Relations as rows of bits.

/// A relation between two numbered sets: one row of bits per element of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitMatrix {
    rows: usize,
    columns: usize,
    words: usize,
    bits: Vec<u64>,
}

impl BitMatrix {
    /// The empty relation.
    pub fn new(rows: usize, columns: usize) -> BitMatrix {
        let words = columns.div_ceil(64);
        BitMatrix { rows, columns, words, bits: vec![0; rows * words] }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Row `row`: bit `column % 64` of word `column / 64`. Bits behind the last column are zero.
    pub fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..(row + 1) * self.words]
    }

    /// Row `row`, to be changed.
    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.bits[row * self.words..(row + 1) * self.words]
    }

    /// Whether a pair is in the relation.
    pub fn get(&self, row: usize, column: usize) -> bool {
        has(self.row(row), column)
    }

    /// Puts a pair into the relation.
    pub(crate) fn set(&mut self, row: usize, column: usize) {
        put(self.row_mut(row), column);
    }

    /// Takes a pair out of the relation.
    pub(crate) fn unset(&mut self, row: usize, column: usize) {
        self.row_mut(row)[column / 64] &= !(1 << (column % 64));
    }

    /// All pairs that are not in the relation.
    #[must_use]
    pub(crate) fn complement(&self) -> BitMatrix {
        let mut out = BitMatrix::new(self.rows, self.columns);
        for row in 0..self.rows {
            out.row_mut(row).copy_from_slice(&complement(self.row(row), self.columns));
        }
        out
    }

    /// Number of pairs in the relation.
    pub fn count(&self) -> u64 {
        self.bits.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// Whether a row has a bit.
pub fn has(row: &[u64], column: usize) -> bool {
    row[column / 64] >> (column % 64) & 1 == 1
}

/// The columns of a row, ascending.
pub fn columns(row: &[u64]) -> impl Iterator<Item = usize> + '_ {
    row.iter().enumerate().flat_map(|(i, word)| {
        let mut rest = *word;
        std::iter::from_fn(move || {
            let bit = rest.trailing_zeros();
            rest &= rest.wrapping_sub(1);
            (bit < 64).then(|| i * 64 + bit as usize)
        })
    })
}

/// The columns that a row does not have.
pub(crate) fn complement(row: &[u64], columns: usize) -> Vec<u64> {
    let mut out: Vec<u64> = row.iter().map(|word| !word).collect();
    if let (Some(last), rest) = (out.last_mut(), columns % 64)
        && rest > 0
    {
        *last &= (1 << rest) - 1;
    }
    out
}

/// Sets a bit of a row.
pub(crate) fn put(row: &mut [u64], column: usize) {
    row[column / 64] |= 1 << (column % 64);
}

/// Adds the bits of another row.
pub(crate) fn join(row: &mut [u64], other: &[u64]) {
    row.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_what_was_put_in() {
        let mut matrix = BitMatrix::new(3, 70);
        matrix.set(1, 0);
        matrix.set(1, 69);
        assert!(matrix.get(1, 69) && !matrix.get(0, 69) && !matrix.get(1, 68));
        assert_eq!(columns(matrix.row(1)).collect::<Vec<_>>(), [0, 69]);
        let other = matrix.complement();
        assert_eq!(other.count() + matrix.count(), 210);
        assert_eq!(other.complement(), matrix);
        matrix.unset(1, 69);
        assert_eq!(matrix.count(), 1);
    }
}
