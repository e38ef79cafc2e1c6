//! The canonical member of an orbit.
//!
//! 1. Points are put into cells by colour refinement ([`crate::refine`]). Usually each has a cell
//!    of its own then, which is a permutation.
//! 2. Two points of a cell whose exchange leaves the state as it is are *twins*. The order of twins
//!    does not matter, so a cell of twins needs no more work.
//! 3. Otherwise a class of twins is set apart from its cell and cells are refined again, for each
//!    class of the cell in turn: a tree, whose leaves are permutations. The least permuted state
//!    wins. Two leaves with equal states give an automorphism of the state; the subtrees that it
//!    maps to ones that were searched before are skipped.
//!
//! Each step is equivariant, hence the states at the leaves are the same for all members of an orbit
//! and so is the least of them; it is a member of the orbit, hence two states have equal canonical
//! forms exactly if they are in the same orbit. Neither the hashes nor the pruning enter into this.
//!
//! After T. Junttila, *New canonical representative marking algorithms for place/transition-nets*
//! (HUT-TCS-A72) and B. McKay, *Practical graph isomorphism*; the scalarsets are those of C. N. Ip
//! and D. Dill, *Better verification through symmetry*.

use crate::normal::NormalScratch;
use crate::plan::Symmetries;
use crate::refine::{Facts, Partition};
use crate::sorter::Sorter;
use ergodic_system::Apart;
use std::cmp::Ordering;

/// More automorphisms than this are forgotten.
const MAX_AUTOMORPHISMS: usize = 64;

/// What one worker needs to canonise; made by [`Symmetries::scratch`].
#[derive(Clone, Debug)]
pub struct CanonScratch {
    /// The state to canonise, and room for permuted ones, each with a word to spare.
    state: Vec<u64>,
    out: Vec<u64>,
    slots: Vec<u64>,
    /// For groups that are sorted.
    keys: Apart,
    cells: Partition,
    facts: Facts,
    /// Where each point goes, as a number in its group.
    to: Vec<u32>,
    /// Where each point is.
    identity: Vec<u32>,
    tree: Tree,
    /// For normal forms.
    pub(crate) normal: Option<NormalScratch>,
}

/// How a state became canonical.
enum Put {
    /// It was.
    Stayed,
    /// By [`CanonScratch::to`].
    ByCells,
    /// By the order of the best leaf.
    ByTree,
}

/// What the search for the least state keeps.
#[derive(Clone, Debug, Default)]
struct Tree {
    /// For each point of a cell with several the first of its twins.
    twin: Vec<u32>,
    /// The cells of the nodes on the way, and the point that was set apart in each.
    levels: Vec<Partition>,
    path: Vec<u32>,
    first: Leaf,
    best: Leaf,
    leaves: usize,
    /// Automorphisms of the state, one after the other, as maps of points.
    automorphisms: Vec<u32>,
    /// Working memory for orbits.
    orbit: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Leaf {
    state: Vec<u64>,
    path: Vec<u32>,
    /// The points in the order in which they were put.
    order: Vec<u32>,
}

impl Leaf {
    fn set(&mut self, state: &[u64], path: &[u32], order: &[u32]) {
        self.state.clear();
        self.state.extend_from_slice(state);
        self.path.clear();
        self.path.extend_from_slice(path);
        self.order.clear();
        self.order.extend_from_slice(order);
    }
}

impl Symmetries {
    /// Working memory for one worker.
    pub fn scratch(&self) -> CanonScratch {
        let identity: Vec<u32> = self.searched.iter().flat_map(|group| 0..group.count).collect();
        CanonScratch {
            state: vec![0; self.words + 1],
            out: vec![0; self.words + 1],
            slots: Vec::new(),
            keys: Apart::new(self.sorters.iter().map(Sorter::spare_words).max().unwrap_or(0)),
            cells: Partition::default(),
            facts: Facts::default(),
            to: identity.clone(),
            identity,
            tree: Tree { twin: vec![0; self.points], ..Tree::default() },
            normal: self.normal.as_ref().map(|normal| normal.scratch()),
        }
    }

    /// Replaces a state by what stands for its orbit: the canonical member, or a normal form if these were
    /// asked for.
    pub fn represent(&self, s: &mut CanonScratch, state: &mut [u64]) {
        match (&self.normal, &mut s.normal) {
            (Some(normal), Some(scratch)) => normal.normalise(scratch, state),
            _ => self.canonise(s, state),
        }
    }

    /// The same, and tells which permutation led there, as [`Symmetries::canonise_by`] does.
    pub fn represent_by(&self, s: &mut CanonScratch, state: &mut [u64], to: &mut Vec<u16>) {
        match (&self.normal, &mut s.normal) {
            (Some(normal), Some(scratch)) => normal.normalise_by(scratch, state, to),
            _ => self.canonise_by(s, state, to),
        }
    }

    /// Replaces a state by the canonical member of its orbit.
    pub fn canonise(&self, s: &mut CanonScratch, state: &mut [u64]) {
        for sorter in &self.sorters {
            sorter.sort(&mut s.keys, state);
        }
        self.put_least(s, state);
    }

    /// The same, and tells which permutation led there: for each point of [`Symmetries::groups`], its new
    /// place in its group.
    pub fn canonise_by(&self, s: &mut CanonScratch, state: &mut [u64], to: &mut Vec<u16>) {
        to.clear();
        to.extend(self.groups().iter().flat_map(|group| 0..group.count as u16));
        for (sorter, first) in self.sorters.iter().zip(&self.sorted_from) {
            sorter.sort(&mut s.keys, state);
            sorter.places(&s.keys, &mut to[*first as usize..]);
        }
        match self.put_least(s, state) {
            Put::Stayed => return,
            Put::ByCells => {}
            Put::ByTree => self.take_order(&s.tree.best.order, &mut s.to),
        }
        for (group, first) in self.searched.iter().zip(&self.searched_from) {
            let places = &s.to[group.first as usize..][..group.count as usize];
            let own = to[*first as usize..].iter_mut();
            own.zip(places).for_each(|(to, place)| *to = *place as u16);
        }
    }

    /// Puts the points of the groups that are not sorted.
    #[inline]
    fn put_least(&self, s: &mut CanonScratch, state: &mut [u64]) -> Put {
        if self.chunks.is_empty() {
            return Put::Stayed;
        }
        difference(&mut s.state, state, &self.zero);
        s.cells.reset(self);
        s.facts.collect(self, &s.state, &mut s.cells);
        s.facts.refine(self, &mut s.cells);
        if s.cells.is_discrete() || self.find_twins(s) {
            if !self.take_permutation(s) {
                return Put::Stayed;
            }
            self.apply(&s.to, &s.state, &s.facts.live, &mut s.out, &mut s.slots);
            difference(state, &s.out, &self.zero);
            return Put::ByCells;
        }
        s.tree.leaves = 0;
        s.tree.automorphisms.clear();
        s.tree.path.clear();
        self.search(s, 0);
        difference(state, &s.tree.best.state, &self.zero);
        Put::ByTree
    }

    /// Sorts the points of cells into classes of twins. Tells whether there are no other cells.
    fn find_twins(&self, s: &mut CanonScratch) -> bool {
        let mut only_twins = true;
        let mut start = 0;
        while start < self.points {
            let size = s.cells.size[start] as usize;
            for i in start..start + size {
                let point = s.cells.order[i];
                s.tree.twin[point as usize] = point;
                for j in start..i {
                    let other = s.cells.order[j];
                    let is_class = s.tree.twin[other as usize] == other;
                    if is_class && self.are_twins(s, point, other) {
                        s.tree.twin[point as usize] = other;
                        break;
                    }
                }
                only_twins &= i == start || s.tree.twin[point as usize] != point;
            }
            start += size;
        }
        only_twins
    }

    fn are_twins(&self, s: &mut CanonScratch, a: u32, b: u32) -> bool {
        s.identity.swap(a as usize, b as usize);
        let group = self.group_of(a);
        let spare = (s.out.as_mut_slice(), &mut s.slots);
        let twins = self.is_fixed(group, (a, b), &s.identity, &s.state, &s.facts.live, spare);
        s.identity.swap(a as usize, b as usize);
        twins
    }

    /// Reads the cells as a permutation: each point goes where it stands. Tells whether it is not
    /// the identity.
    fn take_permutation(&self, s: &mut CanonScratch) -> bool {
        let mut moves = false;
        for (to, point) in s.cells.order.iter().enumerate() {
            s.to[*point as usize] = to as u32 - self.first_of[to];
            moves |= to as u32 != *point;
        }
        moves
    }

    /// The same for points in the order in which they were put.
    fn take_order(&self, order: &[u32], to: &mut [u32]) {
        for (place, point) in order.iter().enumerate() {
            to[*point as usize] = place as u32 - self.first_of[place];
        }
    }

    /// Searches the tree below the current cells. Returns the level at which to go on.
    fn search(&self, s: &mut CanonScratch, level: usize) -> usize {
        let Some(start) = target(&s.cells, &s.tree.twin) else { return self.leaf(s) };
        if s.tree.levels.len() == level {
            s.tree.levels.push(Partition::default());
        }
        s.tree.levels[level].copy_from(&s.cells);
        for i in start..start + s.cells.size[start] as usize {
            let point = s.tree.levels[level].order[i];
            if self.is_done(&mut s.tree, level, start, i) {
                continue;
            }
            s.cells.copy_from(&s.tree.levels[level]);
            s.tree.path.truncate(level);
            s.tree.path.push(point);
            let (twin, class) = (&s.tree.twin, s.tree.twin[point as usize]);
            s.cells.set_apart(start, |other| twin[other as usize] == class);
            s.facts.refine(self, &mut s.cells);
            let back = self.search(s, level + 1);
            if back < level {
                return back;
            }
        }
        usize::MAX
    }

    /// Whether a point of the target cell needs no search: a twin, or an image under automorphisms
    /// that fix the way to here, stands before it in the cell.
    fn is_done(&self, tree: &mut Tree, level: usize, start: usize, i: usize) -> bool {
        let Tree { twin, levels, path, automorphisms, orbit, .. } = tree;
        let earlier = &levels[level].order[start..i];
        let point = levels[level].order[i];
        let class = |point: u32| twin[point as usize];
        if earlier.iter().any(|other| class(*other) == class(point)) {
            return true;
        }
        orbit.clear();
        orbit.extend_from_slice(twin);
        for map in automorphisms.chunks(self.points) {
            if path[..level].iter().all(|point| class(map[*point as usize]) == class(*point)) {
                for (from, to) in map.iter().enumerate() {
                    let (a, b) = (root(orbit, from as u32), root(orbit, *to));
                    orbit[a as usize] = b;
                }
            }
        }
        let here = root(orbit, point);
        earlier.iter().any(|other| root(orbit, *other) == here)
    }

    /// Looks at a permutation. Returns the level at which to go on.
    fn leaf(&self, s: &mut CanonScratch) -> usize {
        self.take_permutation(s);
        self.apply(&s.to, &s.state, &s.facts.live, &mut s.out, &mut s.slots);
        let state = &s.out[..self.words];
        let tree = &mut s.tree;
        tree.leaves += 1;
        if tree.leaves == 1 {
            tree.first.set(state, &tree.path, &s.cells.order);
            tree.best.set(state, &tree.path, &s.cells.order);
            return usize::MAX;
        }
        let order = state.cmp(&tree.best.state);
        if order == Ordering::Less {
            tree.best.set(state, &tree.path, &s.cells.order);
        }
        let twin = if order == Ordering::Equal {
            &tree.best
        } else if tree.first.state == state {
            &tree.first
        } else {
            return usize::MAX;
        };
        if tree.automorphisms.len() < MAX_AUTOMORPHISMS * self.points {
            let places = s.to.iter().zip(&self.first_of).map(|(to, first)| to + first);
            tree.automorphisms.extend(places.map(|place| twin.order[place as usize]));
        }
        tree.path.iter().zip(&twin.path).take_while(|(a, b)| a == b).count()
    }
}

/// The bits in which two states differ.
#[inline]
fn difference(out: &mut [u64], a: &[u64], b: &[u64]) {
    out.iter_mut().zip(a).zip(b).for_each(|((out, a), b)| *out = a ^ b);
}

/// The first of the smallest cells with points that are not twins.
fn target(cells: &Partition, twin: &[u32]) -> Option<usize> {
    let mut found: Option<(usize, usize)> = None;
    let mut start = 0;
    while start < cells.order.len() {
        let size = cells.size[start] as usize;
        let members = &cells.order[start..start + size];
        let class = twin[members[0] as usize];
        let mixed = size > 1 && members.iter().any(|point| twin[*point as usize] != class);
        if mixed && found.is_none_or(|(_, least)| size < least) {
            found = Some((start, size));
        }
        start += size;
    }
    found.map(|(start, _)| start)
}

/// The representative of a set of points.
fn root(sets: &mut [u32], point: u32) -> u32 {
    let mut at = point;
    while sets[at as usize] != at {
        let next = sets[at as usize];
        sets[at as usize] = sets[next as usize];
        at = next;
    }
    at
}
