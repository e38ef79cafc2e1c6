//! Colour refinement: tells points apart by what a state says about them.
//!
//! A state is read as a set of *facts*. A fact is a chunk that is not empty: a word of plain data
//! with the points that it involves, those on its path and those in its fields. Facts about one
//! point split cells once and for all; the others split them again and again, each point gathering
//! the hashes of its facts, in which the other points are represented by their cells. The hashes
//! are 64 bits wide. A collision leaves two points in one cell, which costs time and nothing else.
//!
//! Invariants:
//! * what is computed about a point depends on the state and on the cells only, never on numbers
//!   of points or slots: permuting the state permutes the result;
//! * cells are only ever split, so refinement ends.

use crate::apply::{Live, read};
use crate::plan::{ALWAYS, Symmetries};

/// An ordered partition of the points. Cells are runs of `order`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partition {
    /// The points, cell by cell.
    pub order: Vec<u32>,
    /// For each point the position in `order` where its cell starts.
    pub cell: Vec<u32>,
    /// For each position where a cell starts its size.
    pub size: Vec<u32>,
    /// Number of cells.
    pub cells: usize,
}

impl Partition {
    /// One cell for each group.
    pub(crate) fn reset(&mut self, plan: &Symmetries) {
        self.order.clear();
        self.order.extend(0..plan.points as u32);
        self.cell.clear();
        self.cell.extend_from_slice(&plan.first_of);
        self.size.resize(plan.points, 0);
        for group in &plan.searched {
            self.size[group.first as usize] = group.count;
        }
        self.cells = plan.searched.len();
    }

    pub(crate) fn copy_from(&mut self, other: &Partition) {
        self.order.clone_from(&other.order);
        self.cell.clone_from(&other.cell);
        self.size.clone_from(&other.size);
        self.cells = other.cells;
    }

    /// Whether every point has a cell of its own.
    pub(crate) fn is_discrete(&self) -> bool {
        self.cells == self.order.len()
    }

    /// Splits cells so that points with different keys are apart, smaller keys first. Tells whether
    /// anything was split.
    fn split(&mut self, key: &[u64]) -> bool {
        let before = self.cells;
        let mut start = 0;
        while start < self.order.len() {
            let end = start + self.size[start] as usize;
            if end - start > 1 {
                self.split_cell(start, end, key);
            }
            start = end;
        }
        self.cells > before
    }

    fn split_cell(&mut self, start: usize, end: usize, key: &[u64]) {
        let members = &mut self.order[start..end];
        if members.len() > 20 {
            members.sort_unstable_by_key(|point| key[*point as usize]);
        } else {
            for i in 1..members.len() {
                let mut j = i;
                while j > 0 && key[members[j - 1] as usize] > key[members[j] as usize] {
                    members.swap(j - 1, j);
                    j -= 1;
                }
            }
        }
        let mut from = start;
        for i in start + 1..end {
            let point = self.order[i] as usize;
            if key[point] != key[self.order[i - 1] as usize] {
                self.size[from] = (i - from) as u32;
                from = i;
                self.cells += 1;
            }
            self.cell[point] = from as u32;
        }
        self.size[from] = (end - from) as u32;
    }

    /// Makes a cell of its own, before the rest, of the points of a cell that `is_first` accepts.
    pub(crate) fn set_apart(&mut self, start: usize, is_first: impl Fn(u32) -> bool) {
        let end = start + self.size[start] as usize;
        let mut middle = start;
        for i in start..end {
            if is_first(self.order[i]) {
                self.order.swap(middle, i);
                middle += 1;
            }
        }
        if middle == start || middle == end {
            return;
        }
        self.size[start] = (middle - start) as u32;
        self.size[middle] = (end - middle) as u32;
        for point in &self.order[middle..end] {
            self.cell[*point as usize] = middle as u32;
        }
        self.cells += 1;
    }
}

/// What a state says: its chunks that are not empty, and the facts about several points.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub live: Vec<Live>,
    /// Hash of where and what, without the points.
    base: Vec<u64>,
    /// Where the points of each fact end in `points`.
    ends: Vec<u32>,
    points: Vec<u32>,
    /// What each point gathers in one round.
    gathered: Vec<u64>,
}

#[inline(always)]
fn fold(x: u64) -> u64 {
    let product = u128::from(x ^ 0x2d35_8dcc_aa6c_78a5) * 0x8bb8_4b93_962e_acc9_u128;
    (product as u64) ^ ((product >> 64) as u64)
}

const TAG: u64 = 0x9e37_79b9_7f4a_7c15;

impl Facts {
    /// Reads a state and splits cells by the facts about single points.
    pub(crate) fn collect(&mut self, plan: &Symmetries, state: &[u64], cells: &mut Partition) {
        self.live.clear();
        self.base.clear();
        self.ends.clear();
        self.points.clear();
        self.gathered.clear();
        self.gathered.resize(plan.points, 0);
        self.find_live(plan, state);
        for i in 0..self.live.len() {
            self.read_fact(plan, self.live[i]);
        }
        self.split(plan, cells);
    }

    fn split(&mut self, plan: &Symmetries, cells: &mut Partition) -> bool {
        self.gathered.iter_mut().for_each(|hash| *hash &= plan.hash_bits);
        cells.split(&self.gathered)
    }

    /// Finds the chunks that are not empty.
    fn find_live(&mut self, plan: &Symmetries, state: &[u64]) {
        let mut done = 0;
        for (i, (word, fixed)) in state.iter().zip(&plan.fixed).enumerate() {
            let low = i as u32 * 64;
            let mut rest = word & !fixed;
            if done > low {
                // The last chunk reaches into this word (and not beyond it).
                rest &= u64::MAX.checked_shl(done - low).unwrap_or(0);
            }
            if rest == 0 {
                continue;
            }
            let mut number = plan.first_in[i] as usize;
            while rest != 0 {
                let bit = low + rest.trailing_zeros();
                while plan.ends[number] <= bit {
                    number += 1;
                }
                let chunk = &plan.chunks[number];
                let value = read(state, chunk.at, chunk.width);
                self.live.push(Live { chunk: number as u32, value });
                done = plan.ends[number];
                rest &= u64::MAX.checked_shl(done - low).unwrap_or(0);
            }
        }
        for number in &plan.holders {
            let chunk = &plan.chunks[*number as usize];
            let present = chunk.guard == ALWAYS || read(state, chunk.guard, 1) == 1;
            if present && read(state, chunk.at, chunk.width) == 0 {
                self.live.push(Live { chunk: *number, value: 0 });
            }
        }
    }

    /// Takes the points out of a chunk.
    fn read_fact(&mut self, plan: &Symmetries, live: Live) {
        let chunk = &plan.chunks[live.chunk as usize];
        let mut value = live.value;
        let path = plan.path(chunk.path);
        let fields = plan.point_fields(chunk);
        if let ([step], []) = (path, fields) {
            let sum = &mut self.gathered[step.point as usize];
            *sum = sum.wrapping_add(fold(chunk.seed ^ fold(value)));
            return;
        }
        let start = self.points.len();
        self.points.extend(path.iter().map(|step| step.point));
        let mut equal = 0u64;
        for field in fields {
            let stored = (value >> field.shift) & field.mask;
            let local = stored.wrapping_sub(field.low);
            if local < field.count {
                value ^= (stored ^ field.low) << field.shift;
                let point = field.first + local as u32;
                let place = (self.points.len() - start) << 16;
                for (i, other) in self.points[start..].iter().enumerate() {
                    if *other == point {
                        equal = fold(equal ^ (place + i + 1) as u64);
                    }
                }
                self.points.push(point);
            }
        }
        self.note(start, fold(chunk.seed ^ fold(value) ^ equal));
    }

    /// Keeps a fact whose points are the last ones.
    fn note(&mut self, start: usize, base: u64) {
        match self.points[start..] {
            [] => {}
            [point] => {
                let sum = &mut self.gathered[point as usize];
                *sum = sum.wrapping_add(base);
                self.points.truncate(start);
            }
            _ => {
                self.base.push(base);
                self.ends.push(self.points.len() as u32);
            }
        }
    }

    /// Splits cells by the facts about several points until that changes nothing.
    pub(crate) fn refine(&mut self, plan: &Symmetries, cells: &mut Partition) {
        while !cells.is_discrete() && !self.base.is_empty() {
            self.gathered.fill(0);
            let mut start = 0;
            for (base, end) in self.base.iter().zip(&self.ends) {
                let points = &self.points[start..*end as usize];
                start = *end as usize;
                let mut sum = *base;
                for (i, point) in points.iter().enumerate() {
                    let colour = plan.colours[cells.cell[*point as usize] as usize];
                    sum = sum.wrapping_add(colour.rotate_left(11 * i as u32));
                }
                let hash = fold(sum);
                for (i, point) in points.iter().enumerate() {
                    let share = fold(hash ^ TAG.wrapping_mul(i as u64 + 1));
                    let gathered = &mut self.gathered[*point as usize];
                    *gathered = gathered.wrapping_add(share);
                }
            }
            if !self.split(plan, cells) {
                break;
            }
        }
    }
}
