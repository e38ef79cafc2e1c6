//! From footprints to relations between instances.
//!
//! The borders of all ranges cut the state into *atoms*, which an instance reads (writes) as a whole
//! or not at all. For every atom there is a row of the instances that read it and one of those that
//! write it, so that a row of the relation is the union of a few rows: no pair is ever looked at.

use crate::footprint::Footprint;
use crate::matrix::{BitMatrix, join};
use crate::ranges::Ranges;

/// Words that the rows of atoms may take; with more of them, neighbouring atoms become one.
const MAX_WORDS: usize = 1 << 24;

/// Who reads and writes which part of the state.
#[derive(Debug)]
pub(crate) struct Users {
    /// Atom `i` goes from `borders[i]` to `borders[i + 1]`.
    borders: Vec<usize>,
    readers: BitMatrix,
    writers: BitMatrix,
}

impl Users {
    pub(crate) fn new(footprints: &[Footprint]) -> Users {
        let mut borders: Vec<usize> = footprints
            .iter()
            .flat_map(|f| f.reads.iter().chain(f.writes.iter()))
            .flat_map(|(start, end)| [start, end])
            .collect();
        borders.sort_unstable();
        borders.dedup();
        let words = footprints.len().div_ceil(64).max(1);
        while borders.len().saturating_mul(words) > MAX_WORDS && borders.len() > 2 {
            let last = borders[borders.len() - 1];
            borders = borders.iter().step_by(2).copied().collect();
            if borders.last() != Some(&last) {
                borders.push(last);
            }
        }
        let atoms = borders.len().saturating_sub(1);
        let mut users = Users {
            borders,
            readers: BitMatrix::new(atoms, footprints.len()),
            writers: BitMatrix::new(atoms, footprints.len()),
        };
        for (id, footprint) in footprints.iter().enumerate() {
            for atom in users.atoms(&footprint.reads) {
                users.readers.set(atom, id);
            }
            for atom in users.atoms(&footprint.writes) {
                users.writers.set(atom, id);
            }
        }
        users
    }

    /// The atoms that a set meets.
    fn atoms(&self, ranges: &Ranges) -> Vec<usize> {
        let mut out: Vec<usize> = Vec::new();
        for (start, end) in ranges.iter() {
            let first = self.borders.partition_point(|b| *b <= start).saturating_sub(1);
            let last = self.borders.partition_point(|b| *b < end);
            let next = out.last().map_or(0, |atom| atom + 1);
            out.extend(first.max(next)..last.min(self.writers.rows()));
        }
        out
    }

    /// Adds the instances that write something of a set to a row.
    pub(crate) fn add_writers(&self, ranges: &Ranges, row: &mut [u64]) {
        for atom in self.atoms(ranges) {
            join(row, self.writers.row(atom));
        }
    }

    fn add_readers(&self, ranges: &Ranges, row: &mut [u64]) {
        for atom in self.atoms(ranges) {
            join(row, self.readers.row(atom));
        }
    }

    /// Pairs of which one writes what the other reads or writes; every instance with itself.
    pub(crate) fn dependence(&self, footprints: &[Footprint]) -> BitMatrix {
        let mut out = BitMatrix::new(footprints.len(), footprints.len());
        for (id, footprint) in footprints.iter().enumerate() {
            let row = out.row_mut(id);
            self.add_writers(&footprint.writes, row);
            self.add_readers(&footprint.writes, row);
            self.add_writers(&footprint.reads, row);
            out.set(id, id);
        }
        out
    }
}
