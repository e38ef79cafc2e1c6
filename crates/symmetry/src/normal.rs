//! CMurphi's normal form: which member of an orbit its default, `-sym3` with `-permlimit 10`, stores.
//!
//! It is a heuristic, and no canonical form: members of one orbit may have several normal forms, so that
//! an orbit is stored more than once. Any member may stand for an orbit, hence verdicts are the same as ever;
//! the normal form is for comparing counts with CMurphi's, and with papers that used it.
//!
//! 1. The points of each group are in classes that have an order. They are told apart, in this order, by
//!    variables that hold them, one after the other ([`Step::Mention`]); by the data of arrays that they index
//!    ([`Step::Weigh`]); by the multisets that hold them ([`Step::Bag`]); by the graphs that arrays of points
//!    are ([`Step::Link`]), until nothing changes. Simple variables come first (see [`compile`]).
//! 2. A permutation puts points where their classes are. Of the first ten permutations that remain, in
//!    lexicographic order, the one with the least state is taken, as CMurphi compares states: by words of 32
//!    bits with signs, of states packed with `-b`.
//!
//! All of this depends on the numbers of points where there is a choice left, on purpose: that is what makes
//! it this normal form. The algorithm is that of C. N. Ip and D. Dill, *Better verification through
//! symmetry*, as CMurphi 5.4.9 compiles it, its oddities included: a point that is mentioned is only set
//! apart if it is in the last class; refinement by graphs needs both defined and undefined edges between
//! groups.
//!
//! Invariants:
//! * the normal form of a state is a member of its orbit: it is computed as a permutation, and applied by the
//!   plan that all of this crate uses;
//! * classes are numbered without gaps from zero.

mod compile;
mod image;

use crate::apply::{Live, read};
use crate::plan::{ALWAYS, NEVER, Symmetries};
use compile::Compiler;
use ergodic_ir::{Layout, Program, TypeId};
use image::Image;

/// CMurphi's default of `-permlimit`.
const PERMUTATIONS: usize = 10;

/// How normal forms of the states of one program are found.
#[derive(Clone, Debug)]
pub(crate) struct NormalForm {
    /// Permutes; all groups are searched in it.
    plan: Symmetries,
    steps: Vec<Step>,
    /// The groups whose permutations are counted through, fastest first.
    turns: Vec<usize>,
    image: Image,
}

/// Something that tells points apart.
#[derive(Clone, Debug)]
enum Step {
    /// Points, in the order in which variables hold them.
    Mention(Vec<PointAt>),
    /// The rows of an array, each with the same leaves.
    Weigh { set: usize, places: Vec<u32>, leaves: Vec<Leaf> },
    /// The points in the rows of an array: of the group that indexes it, and of others.
    Link { sets: Vec<usize>, own: Vec<Edge>, cross: Vec<Edge> },
    /// A multiset whose elements hold points.
    Bag(Bag),
}

/// A field that can hold points of a group.
#[derive(Clone, Copy, Debug)]
struct PointAt {
    at: u32,
    width: u32,
    /// Stored form of the first.
    low: u64,
    set: usize,
    count: u64,
}

/// A field by which rows and elements are compared.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    at: u32,
    width: u32,
    /// Only whether it is defined counts.
    only_defined: bool,
}

/// A field in all rows of an array.
#[derive(Clone, Debug)]
struct Edge {
    /// The group that indexes the array.
    from: usize,
    /// Where its rows start.
    places: Vec<u32>,
    /// The field in a row.
    to: PointAt,
}

/// A multiset, whose slots are sorted so that elements come first.
#[derive(Clone, Debug)]
struct Bag {
    at: u32,
    stride: u32,
    capacity: u32,
    sets: Vec<usize>,
    /// Relative to a slot, as are the points.
    leaves: Vec<Leaf>,
    points: Vec<PointAt>,
    /// What is done instead if there is just one element, in the first slot.
    single: Vec<Step>,
}

/// An ordered partition: the class of each member, numbered from zero without gaps.
#[derive(Clone, Debug, Default)]
struct Classes {
    of: Vec<u32>,
    count: u32,
}

impl Classes {
    fn whole(&mut self, members: usize) {
        self.of.clear();
        self.of.resize(members, 0);
        self.count = 1;
    }

    /// Whether a class has several members.
    fn several(&self) -> bool {
        (self.count as usize) < self.of.len()
    }

    /// Puts the good members of a class before its others. Tells whether there are both.
    fn split(&mut self, class: u32, good: &[bool]) -> bool {
        let is = |(of, good): (&u32, &bool), wanted| *of == class && *good == wanted;
        let has = |wanted| self.of.iter().zip(good).any(|member| is(member, wanted));
        if !has(true) || !has(false) {
            return false;
        }
        for (of, good) in self.of.iter_mut().zip(good) {
            *of += u32::from(*of > class || *of == class && !good);
        }
        self.count += 1;
        true
    }

    /// Splits all classes by keys, smaller ones first. Returns how many classes are new.
    fn split_by<K: Ord>(&mut self, keys: &[K]) -> u32 {
        let mut order = Vec::from_iter(0..self.of.len());
        order.sort_by_key(|i| (self.of[*i], &keys[*i]));
        let (before, old) = (self.count, self.of.clone());
        self.count = 0;
        for (i, member) in order.iter().enumerate() {
            if i > 0 {
                let last = order[i - 1];
                let same = old[last] == old[*member] && keys[last] == keys[*member];
                self.count += u32::from(!same);
            }
            self.of[*member] = self.count;
        }
        self.count += 1;
        self.count - before
    }
}

/// What one worker needs to find normal forms.
#[derive(Clone, Debug)]
pub(crate) struct NormalScratch {
    /// The state, and room for permuted ones, each with a word to spare.
    state: Vec<u64>,
    out: Vec<u64>,
    best: Vec<u64>,
    slots: Vec<u64>,
    live: Vec<Live>,
    /// The classes of each group, and those that a step is working on.
    classes: Vec<Classes>,
    finer: Vec<Classes>,
    /// For each group the class whose points are set apart when they are mentioned; usually the last.
    open: Vec<u32>,
    /// For each group its points in the order in which they are put.
    order: Vec<Vec<u32>>,
    /// Where each point goes, for this permutation and for the best.
    to: Vec<u32>,
    best_to: Vec<u32>,
    image: Vec<i32>,
    best_image: Vec<i32>,
}

impl NormalForm {
    pub(crate) fn new(program: &Program, layout: &Layout, leave_out: &[TypeId]) -> NormalForm {
        let plan = Symmetries::without_sorting(program, layout, leave_out);
        let compiler = Compiler::new(program, layout, &plan);
        let (steps, turns) = (compiler.steps(), compiler.turns());
        let image = compiler.image();
        NormalForm { plan, steps, turns, image }
    }

    /// Working memory for one worker.
    pub(crate) fn scratch(&self) -> NormalScratch {
        let (words, groups) = (self.plan.words, self.plan.searched.len());
        NormalScratch {
            state: vec![0; words + 1],
            out: vec![0; words + 1],
            best: vec![0; words],
            slots: Vec::new(),
            live: Vec::new(),
            classes: vec![Classes::default(); groups],
            finer: vec![Classes::default(); groups],
            open: vec![0; groups],
            order: vec![Vec::new(); groups],
            to: vec![0; self.plan.points],
            best_to: vec![0; self.plan.points],
            image: Vec::new(),
            best_image: Vec::new(),
        }
    }

    /// Replaces a state by its normal form; afterwards `best_to` is the permutation that led there.
    pub(crate) fn normalise(&self, s: &mut NormalScratch, state: &mut [u64]) {
        s.state[..state.len()].copy_from_slice(state);
        for (classes, group) in s.classes.iter_mut().zip(&self.plan.searched) {
            classes.whole(group.count as usize);
        }
        s.open.fill(0);
        self.steps.iter().for_each(|step| self.step(s, step));
        self.put_first(s);
        self.collect(s);
        self.permute(s);
        s.best.copy_from_slice(&s.out[..self.plan.words]);
        s.best_to.clone_from(&s.to);
        let several = self.turns.iter().any(|set| s.classes[*set].several());
        if several {
            self.image.of(&s.out, &mut s.best_image);
            for _ in 1..PERMUTATIONS {
                if !self.put_next(s) {
                    break;
                }
                self.permute(s);
                self.image.of(&s.out, &mut s.image);
                if s.image < s.best_image {
                    std::mem::swap(&mut s.image, &mut s.best_image);
                    s.best.copy_from_slice(&s.out[..self.plan.words]);
                    s.best_to.clone_from(&s.to);
                }
            }
        }
        state.copy_from_slice(&s.best);
    }

    /// The same, and tells which permutation led there: for each point its new place in its group.
    pub(crate) fn normalise_by(&self, s: &mut NormalScratch, state: &mut [u64], to: &mut Vec<u16>) {
        self.normalise(s, state);
        to.clear();
        to.extend(s.best_to.iter().map(|place| *place as u16));
    }

    /// Collects the chunks of the state that are not empty.
    fn collect(&self, s: &mut NormalScratch) {
        let holds = |guard: u32| match guard {
            NEVER => false,
            ALWAYS => true,
            present => read(&s.state, present, 1) == 1,
        };
        s.live.clear();
        for (i, chunk) in self.plan.chunks.iter().enumerate() {
            let value = read(&s.state, chunk.at, chunk.width);
            if value != 0 || holds(chunk.guard) {
                s.live.push(Live { chunk: i as u32, value });
            }
        }
    }

    fn permute(&self, s: &mut NormalScratch) {
        for (group, order) in self.plan.searched.iter().zip(&s.order) {
            for (place, point) in order.iter().enumerate() {
                s.to[(group.first + point) as usize] = place as u32;
            }
        }
        self.plan.apply(&s.to, &s.state, &s.live, &mut s.out, &mut s.slots);
    }

    /// Puts all points class by class.
    fn put_first(&self, s: &mut NormalScratch) {
        for (order, classes) in s.order.iter_mut().zip(&s.classes) {
            order.clear();
            order.extend(0..classes.of.len() as u32);
            order.sort_by_key(|point| classes.of[*point as usize]);
        }
    }

    /// Puts them in the next order in which classes stay where they are. Tells whether there is one.
    fn put_next(&self, s: &mut NormalScratch) -> bool {
        self.turns.iter().any(|set| {
            let (order, classes) = (&mut s.order[*set], &s.classes[*set]);
            order
                .chunk_by_mut(|a, b| classes.of[*a as usize] == classes.of[*b as usize])
                .any(next_permutation)
        })
    }

    fn step(&self, s: &mut NormalScratch, step: &Step) {
        match step {
            Step::Mention(points) => points.iter().for_each(|point| mention(s, *point)),
            Step::Weigh { set, places, leaves } => weigh(s, *set, places, leaves),
            Step::Link { sets, own, cross } => link(s, sets, own, cross),
            Step::Bag(bag) => self.bag(s, bag),
        }
    }

    /// Points that elements of a multiset hold.
    fn bag(&self, s: &mut NormalScratch, bag: &Bag) {
        let slots = (0..bag.capacity).map(|i| bag.at + i * bag.stride);
        let slots = Vec::from_iter(slots.take_while(|at| read(&s.state, *at, 1) == 1));
        if slots.len() == 1 {
            return bag.single.iter().for_each(|step| self.step(s, step));
        }
        let keys: Vec<Vec<u64>> = slots.iter().map(|at| key(&s.state, *at, &bag.leaves)).collect();
        let mut elements = Classes::default();
        elements.whole(slots.len());
        elements.split_by(&keys);
        begin(s, &bag.sets);
        loop {
            let before = counts(s, &bag.sets) + elements.count;
            for point in &bag.points {
                let held = Vec::from_iter(slots.iter().map(|at| local(&s.state, *at, *point)));
                if elements.several() || unsettled(s, point.set) {
                    split_pairs(&mut elements, &mut s.finer[point.set], &held);
                }
            }
            if before == counts(s, &bag.sets) + elements.count {
                break;
            }
        }
        finish(s, &bag.sets);
    }
}

/// The next order of numbers; after the last one the first again, and false.
fn next_permutation(order: &mut [u32]) -> bool {
    let Some(pivot) = order.windows(2).rposition(|pair| pair[0] < pair[1]) else {
        order.reverse();
        return false;
    };
    if let Some(next) = order.iter().rposition(|number| *number > order[pivot]) {
        order.swap(pivot, next);
    }
    order[pivot + 1..].reverse();
    true
}

/// The point in a field, numbered in its group.
fn local(state: &[u64], from: u32, point: PointAt) -> Option<usize> {
    let stored = read_field(state, from + point.at, point.width);
    let local = stored.wrapping_sub(point.low);
    (local < point.count).then_some(local as usize)
}

/// Fields of no bits are zero.
fn read_field(state: &[u64], at: u32, width: u32) -> u64 {
    if width == 0 { 0 } else { read(state, at, width) }
}

fn key(state: &[u64], from: u32, leaves: &[Leaf]) -> Vec<u64> {
    let value = |leaf: &Leaf| {
        let value = read_field(state, from + leaf.at, leaf.width);
        if leaf.only_defined { u64::from(value != 0) } else { value }
    };
    leaves.iter().map(value).collect()
}

/// Sets a point apart that a variable holds, if it is in the open class.
fn mention(s: &mut NormalScratch, point: PointAt) {
    let Some(local) = local(&s.state, 0, point) else { return };
    let (classes, open) = (&mut s.classes[point.set], &mut s.open[point.set]);
    if classes.of[local] == *open {
        let good = Vec::from_iter((0..classes.of.len()).map(|other| other == local));
        classes.split(*open, &good);
        *open += 1;
    }
}

/// Tells points apart by their rows of an array.
fn weigh(s: &mut NormalScratch, set: usize, places: &[u32], leaves: &[Leaf]) {
    if s.classes[set].several() {
        let keys: Vec<Vec<u64>> = places.iter().map(|at| key(&s.state, *at, leaves)).collect();
        s.open[set] += s.classes[set].split_by(&keys);
    }
}

/// Starts to refine the classes of some groups.
fn begin(s: &mut NormalScratch, sets: &[usize]) {
    sets.iter().for_each(|set| s.finer[*set].clone_from(&s.classes[*set]));
}

/// Whether a group had points that were not told apart before this step, and still has.
fn unsettled(s: &NormalScratch, set: usize) -> bool {
    s.classes[set].several() && s.finer[set].several()
}

fn counts(s: &NormalScratch, sets: &[usize]) -> u32 {
    sets.iter().map(|set| s.finer[*set].count).sum()
}

/// Takes over what was found.
fn finish(s: &mut NormalScratch, sets: &[usize]) {
    for set in sets {
        if s.classes[*set].several() {
            s.classes[*set].clone_from(&s.finer[*set]);
            s.open[*set] = s.classes[*set].count - 1;
        }
    }
}

/// Refines by the graphs that an array of points is.
fn link(s: &mut NormalScratch, sets: &[usize], own: &[Edge], cross: &[Edge]) {
    begin(s, sets);
    let ends = |s: &NormalScratch, edge: &Edge| {
        Vec::from_iter(edge.places.iter().map(|at| local(&s.state, *at, edge.to)))
    };
    for edge in own {
        if unsettled(s, edge.from) {
            let ends = ends(s, edge);
            split_loops(&mut s.finer[edge.from], &ends);
        }
    }
    while sets.iter().any(|set| unsettled(s, *set)) {
        let before = counts(s, sets);
        for edge in own {
            if unsettled(s, edge.from) {
                let ends = ends(s, edge);
                split_edges(&mut s.finer[edge.from], &ends);
            }
        }
        for edge in cross {
            let ends = ends(s, edge);
            let both = ends.contains(&None) && ends.iter().any(Option::is_some);
            if both && (unsettled(s, edge.from) || unsettled(s, edge.to.set)) {
                let mut from = std::mem::take(&mut s.finer[edge.from]);
                split_pairs(&mut from, &mut s.finer[edge.to.set], &ends);
                s.finer[edge.from] = from;
            }
        }
        if before == counts(s, sets) {
            break;
        }
    }
    finish(s, sets);
}

/// Puts points that lead to themselves before others.
fn split_loops(classes: &mut Classes, ends: &[Option<usize>]) {
    let loops = Vec::from_iter(ends.iter().enumerate().map(|(i, end)| *end == Some(i)));
    let mut class = 0;
    while class < classes.count {
        class += 1 + u32::from(classes.split(class, &loops));
    }
}

/// Tells points apart by the classes of the others that they lead to.
fn split_edges(classes: &mut Classes, ends: &[Option<usize>]) {
    let mut i = 0;
    while i < classes.count {
        let mut j = 0;
        while j < classes.count {
            let leads = |(from, end): (usize, &Option<usize>)| {
                end.is_some_and(|end| end != from && classes.of[end] == j)
            };
            let good = Vec::from_iter(ends.iter().enumerate().map(leads));
            if classes.split(i, &good) {
                // CMurphi uses the same variable to move the classes behind.
                j = i;
            }
            j += 1;
        }
        i += 1;
    }
}

/// Tells members and points apart that lead to each other, by their classes.
fn split_pairs(from: &mut Classes, to: &mut Classes, ends: &[Option<usize>]) {
    let mut i = 0;
    while i < from.count {
        let mut j = 0;
        while j < to.count {
            let leads = |(member, end): (usize, &Option<usize>)| {
                from.of[member] == i && end.is_some_and(|end| to.of[end] == j)
            };
            let good = Vec::from_iter(ends.iter().enumerate().map(leads));
            let mut met = vec![false; to.of.len()];
            for (end, _) in ends.iter().zip(&good).filter(|(_, good)| **good) {
                end.iter().for_each(|end| met[*end] = true);
            }
            if good.contains(&true) {
                from.split(i, &good);
                to.split(j, &met);
            }
            j += 1;
        }
        i += 1;
    }
}
