//! The shared exact store for states of more than two words: tree compression.
//!
//! The words of a state are taken two by two; these *leaves* are interned to references of 32 bits.
//! Above them stands a tree whose nodes are up to four references, which are two words again and
//! interned in the same table, until two references remain: the root, one 64-bit word, which stands
//! in a table of its own. Trees have a fixed form, so equal roots mean equal states and the store is
//! exact. Neighbouring states share nearly all of their parts: a state takes the eight bytes of its
//! root, divided by the load of the table, and little else.
//!
//! That a leaf and a node with the same bits have the same reference does no harm: the place in the
//! tree says which of the two is meant.
//!
//! A worker asks in groups of states. A filter takes out those that it offered lately (`recent.rs`):
//! about half of them. Of the others only the leaves and nodes are looked up in which a state
//! differs from the one before it, level by level: all lines of a level are begun to be loaded before
//! the first is read, so that the misses of a group overlap. The lines of the roots are loaded while
//! the group before is probed.
//!
//! **Invariant:** a state stands in the filter only if it was marked, or is about to be by the call
//! that put it there; a call that ends before its last state empties the filter.
//!
//! Tried on recorded offers of cache3 and ldash, on a busy machine. A worker's own cache of 2^14
//! references: no gain on cache3, a sixth slower on ldash. A filter of eight times the size takes out
//! another tenth of what remains; no gain in time was seen. Nodes of two references instead of four:
//! slower on ldash (unpaired runs), 12.6 instead of 14.4 bytes. Counted, not timed: the contents of a
//! place two states ago would answer 1 % of the questions of cache3 and 15 % of those of ldash.

use crate::hash::{hash, hash_word};
use crate::intern::{Interner, MAX_REFERENCES, more_lines};
use crate::memory::Lines;
use crate::quota::{Permits, Quota};
use crate::recent::Recent;
use crate::slots::{Claim, LINE, Line};
use crate::sync::Ordering;
use crate::table::{GROUP, Sizing, Walk, claim, claim_group};
use ergodic_system::{Block, Exhausted, Picks, Shape, Shared};
use std::ops::Range;

/// Words of a leaf.
const LEAF: usize = 2;
/// Bytes of a worker's filter.
const RECENT: usize = 128 << 10;

/// All states, as trees of shared parts.
#[derive(Debug)]
pub struct TreeStore {
    width: usize,
    /// Where states of two leaves are cut; see [`leaf`].
    cut: u32,
    tree: Tree,
    parts: Interner<LEAF>,
    roots: Lines,
    quota: Quota,
    sizing: Sizing,
    limit: Option<u64>,
    /// Threads that may take part when it grows.
    threads: usize,
}

/// The form of all trees. Places below `leaves` are leaves, then come the nodes below the root; in
/// place `places` there is nothing, and a reference of zero.
#[derive(Debug, PartialEq, Eq)]
struct Tree {
    leaves: usize,
    places: usize,
    /// The children of each node below the root.
    nodes: Vec<[u32; 4]>,
    /// The nodes by their height, lowest first.
    levels: Vec<Range<usize>>,
    root: [u32; 2],
}

/// A leaf or node whose reference is asked for.
#[derive(Clone, Copy, Debug)]
struct Question {
    /// Which state of the group asks.
    state: u32,
    /// Where in the tree.
    place: u32,
    key: [u64; LEAF],
    hash: u64,
}

/// What one worker needs to ask a [`TreeStore`].
#[derive(Debug)]
pub struct TreeScratch {
    roots: Permits,
    parts: Permits,
    questions: Vec<Question>,
    /// A row per state of a group, behind one for a state before the group: what each place of its
    /// tree refers to.
    references: Box<[u32]>,
    /// The state of the first row, which is the last of a group that found room, if there `was` one.
    last: Box<[u64]>,
    was: bool,
    recent: Recent,
}

/// States that are not in the filter, and their roots, up to the first for which there is no room.
struct Group {
    positions: [u32; GROUP + 1],
    roots: [[u64; 1]; GROUP],
    hashes: [u64; GROUP],
    count: usize,
    /// The position behind the group.
    end: usize,
    /// Whether it ends because there is no room.
    full: bool,
}

impl TreeStore {
    /// An empty store that uses at most `memory_limit` bytes.
    pub fn new(shape: Shape, memory_limit: Option<u64>) -> TreeStore {
        TreeStore::sized(shape, memory_limit, Sizing::default(), MAX_REFERENCES)
    }

    pub(crate) fn sized(
        shape: Shape,
        limit: Option<u64>,
        sizing: Sizing,
        most_parts: u64,
    ) -> TreeStore {
        let roots = Lines::new(sizing.first);
        TreeStore {
            width: shape.words,
            cut: if matches!(shape.words, 3 | 4) { shape.bits.div_ceil(2) as u32 - 64 } else { 64 },
            tree: Tree::over(shape.words.div_ceil(LEAF)),
            parts: Interner::new(sizing, most_parts),
            quota: Quota::new(0, sizing.room(roots.count(), LINE)),
            roots,
            sizing,
            limit,
            threads: 1,
        }
    }

    /// Collects a group of states from position `at` on, computes their roots and starts to load
    /// their lines.
    #[inline]
    fn group(&self, scratch: &mut TreeScratch, new: Block<'_>, mut at: usize) -> Group {
        let mut group = Group {
            positions: [0; GROUP + 1],
            roots: [[0]; GROUP],
            hashes: [0; GROUP],
            count: 0,
            end: at,
            full: false,
        };
        while at < new.len() && group.count < GROUP {
            let state = new.state(at);
            group.positions[group.count] = at as u32;
            group.count += usize::from(!scratch.recent.seen(hash(state), state));
            at += 1;
        }
        group.end = at;
        let count = self.refer(scratch, new, &group.positions[..group.count]);
        if count < group.count {
            (group.end, group.full) = (group.positions[count] as usize, true);
        }
        group.count = count;
        let rows = scratch.references.chunks_exact(self.tree.places + 1).skip(1);
        for (i, row) in rows.take(count).enumerate() {
            let root = pair(row, self.tree.root);
            let hash = hash_word(root);
            self.roots.prefetch(Walk::new(hash).line(&self.roots));
            group.roots[i] = [root];
            group.hashes[i] = hash;
        }
        group
    }

    /// Computes the references of a group of states, level by level; returns for how many there was
    /// room.
    #[inline]
    fn refer(&self, scratch: &mut TreeScratch, new: Block<'_>, positions: &[u32]) -> usize {
        self.ask_leaves(scratch, new, positions);
        let mut count = self.answer(scratch, 0..self.tree.leaves, positions.len());
        for level in &self.tree.levels {
            self.ask_nodes(scratch, level.clone(), count);
            let places = self.tree.leaves + level.start..self.tree.leaves + level.end;
            count = self.answer(scratch, places, count);
        }
        if let (true, Some(last)) = (count == positions.len(), positions.last()) {
            scratch.was = true;
            scratch.last.copy_from_slice(new.state(*last as usize));
            let row = self.tree.places + 1;
            scratch.references.copy_within(count * row..(count + 1) * row, 0);
        }
        count
    }

    /// Asks for the leaves in which states differ from those before them.
    #[inline]
    fn ask_leaves(&self, scratch: &mut TreeScratch, new: Block<'_>, positions: &[u32]) {
        scratch.questions.clear();
        let (mut last, mut was) = (&*scratch.last, scratch.was);
        for (state, at) in positions.iter().enumerate() {
            let words = new.state(*at as usize);
            for place in 0..self.tree.leaves {
                let key = leaf(words, place, self.cut);
                if key != leaf(last, place, self.cut) || !was {
                    self.ask(&mut scratch.questions, state, place, key);
                }
            }
            (last, was) = (words, true);
        }
    }

    /// Asks for the nodes of one level in which states differ from those before them.
    #[inline]
    fn ask_nodes(&self, scratch: &mut TreeScratch, level: Range<usize>, count: usize) {
        scratch.questions.clear();
        let rows = scratch.references.chunks_exact(self.tree.places + 1);
        for (state, (last, row)) in rows.clone().zip(rows.skip(1)).take(count).enumerate() {
            for node in level.clone() {
                let children = self.tree.nodes[node];
                let key = quad(row, children);
                // Before the first state stands a row of zeros, which no key is made of.
                if key != quad(last, children) {
                    self.ask(&mut scratch.questions, state, self.tree.leaves + node, key);
                }
            }
        }
    }

    #[inline]
    fn ask(&self, questions: &mut Vec<Question>, state: usize, place: usize, key: [u64; LEAF]) {
        let hash = hash(&key);
        self.parts.prefetch(hash);
        questions.push(Question { state: state as u32, place: place as u32, key, hash });
    }

    /// Answers the questions of one level, which takes `places` of the rows; what was not asked for
    /// is as in the row before. Returns for how many of the first `count` states there was room.
    #[inline]
    fn answer(&self, scratch: &mut TreeScratch, places: Range<usize>, count: usize) -> usize {
        let width = self.tree.places + 1;
        let mut questions = scratch.questions.iter().peekable();
        for state in 0..count {
            let rows = &mut scratch.references[state * width..(state + 2) * width];
            let (last, row) = rows.split_at_mut(width);
            for (new, old) in row[places.clone()].iter_mut().zip(&last[places.clone()]) {
                *new = *old;
            }
            while let Some(question) = questions.next_if(|q| q.state as usize == state) {
                match self.parts.reference(question.hash, question.key, &mut scratch.parts) {
                    Some(reference) => row[question.place as usize] = reference,
                    None => return state,
                }
            }
        }
        count
    }

    /// Offers the roots of a group; returns the position of the first for which there is no room.
    #[inline]
    fn offer_group(
        &self,
        scratch: &mut TreeScratch,
        group: &Group,
        fresh: &mut Picks,
    ) -> Option<usize> {
        let (hashes, roots) = (&group.hashes[..group.count], &group.roots[..group.count]);
        let permits = &mut scratch.roots;
        if permits.left() >= GROUP as u64 {
            let mut inserted = claim_group(&self.roots, permits, hashes, roots);
            while inserted != 0 {
                fresh.push(group.positions[inserted.trailing_zeros() as usize]);
                inserted &= inserted - 1;
            }
            return None;
        }
        for (i, (hash, root)) in hashes.iter().zip(roots).enumerate() {
            let may = self.quota.ensure(permits);
            match claim(&self.roots, *hash, *root, may) {
                Claim::Known | Claim::Crowded => {}
                Claim::Inserted => {
                    permits.spend(1);
                    fresh.push(group.positions[i]);
                }
                Claim::Refused => return Some(group.positions[i] as usize),
            }
        }
        None
    }

    /// Offers states from position `at` on, group by group.
    fn offer_from(
        &self,
        scratch: &mut TreeScratch,
        new: Block<'_>,
        at: usize,
        fresh: &mut Picks,
    ) -> usize {
        let mut group = self.group(scratch, new, at);
        loop {
            let ends = group.full || group.end == new.len();
            let ahead = (!ends).then(|| self.group(scratch, new, group.end));
            if let Some(at) = self.offer_group(scratch, &group, fresh) {
                return at;
            }
            match ahead {
                Some(next) => group = next,
                None => return group.end,
            }
        }
    }

    /// The root of a state whose parts all have references.
    fn known_root(&self, state: &[u64]) -> Option<u64> {
        let mut references = vec![0; self.tree.places + 1];
        for place in 0..self.tree.places {
            let key = match place.checked_sub(self.tree.leaves) {
                None => leaf(state, place, self.cut),
                Some(node) => quad(&references, self.tree.nodes[node]),
            };
            references[place] = self.parts.known(hash(&key), key)?;
        }
        Some(pair(&references, self.tree.root))
    }

    /// Bytes that remain for one part of the store beside the others.
    fn spare(&self, others: u64) -> u64 {
        self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(others))
    }

    fn grow_parts(&mut self) -> Result<(), Exhausted> {
        let spare = self.spare(self.roots.bytes());
        let limit = self.limit.unwrap_or(u64::MAX);
        self.parts.grow(spare, self.threads, |key| hash(key)).map_err(|why| match why {
            Exhausted::Memory { .. } => Exhausted::Memory { limit },
            other => other,
        })
    }

    fn grow_roots(&mut self, wanted: u64) -> Result<(), Exhausted> {
        let spare = self.spare(self.parts.bytes());
        let most = usize::try_from(spare / 64).unwrap_or(usize::MAX);
        let room = |lines| self.sizing.room(lines, LINE);
        let Some(lines) = more_lines(self.roots.count(), most, wanted, room) else {
            let most = self.sizing.crowded(self.roots.count(), LINE);
            let limit = self.limit.unwrap_or(u64::MAX);
            return if self.quota.raise(most) { Ok(()) } else { Err(Exhausted::Memory { limit }) };
        };
        self.quota = Quota::new(self.quota.taken(), room(lines));
        let old = std::mem::replace(&mut self.roots, Lines::new(lines));
        if self.threads > 1 {
            old.drain_shared(self.threads, |_, line| {
                for root in line.into_iter().filter(|root| *root != 0) {
                    claim(&self.roots, hash_word(root), [root], true);
                }
            });
            return Ok(());
        }
        old.drain(|line| {
            for root in line.into_iter().filter(|root| *root != 0) {
                let mut walk = Walk::new(hash_word(root));
                while !put(self.roots.line(walk.line(&self.roots)), root) {
                    walk.next();
                }
            }
        });
        Ok(())
    }

    /// The state of a root, given the keys of all references.
    fn state_of(&self, root: u64, keys: &[[u64; LEAF]], state: &mut [u64], references: &mut [u32]) {
        let [left, right] = self.tree.root;
        references[right as usize] = root as u32;
        references[left as usize] = (root >> 32) as u32;
        // Nodes stand behind their children: from the top down each has its reference already.
        for (node, children) in self.tree.nodes.iter().enumerate().rev() {
            let key = keys[references[self.tree.leaves + node] as usize];
            for (i, child) in children.iter().enumerate() {
                references[*child as usize] = (key[i / 2] >> (32 * (1 - i % 2))) as u32;
            }
        }
        let leaves = references[..self.tree.leaves].iter();
        put_leaves(leaves.map(|reference| keys[*reference as usize]), self.cut, state);
    }
}

impl Shared for TreeStore {
    type Scratch = TreeScratch;

    fn scratch(&self) -> TreeScratch {
        TreeScratch {
            roots: Permits::default(),
            parts: Permits::default(),
            questions: Vec::new(),
            references: vec![0; (self.tree.places + 1) * (GROUP + 1)].into_boxed_slice(),
            last: vec![0; self.width].into_boxed_slice(),
            was: false,
            recent: Recent::new(self.width, RECENT),
        }
    }

    fn offer(
        &self,
        scratch: &mut TreeScratch,
        new: Block<'_>,
        from: usize,
        fresh: &mut Picks,
    ) -> usize {
        let at = self.offer_from(scratch, new, from, fresh);
        if at < new.len() {
            scratch.recent.forget();
        }
        at
    }

    fn contains(&self, state: &[u64]) -> bool {
        let root = self.known_root(state);
        root.is_some_and(|root| claim(&self.roots, hash_word(root), [root], false) == Claim::Known)
    }

    fn grow_if_needed(&mut self, expected: u64) -> Result<(), Exhausted> {
        if self.parts.is_full() {
            self.grow_parts()?;
        }
        let wanted = self.quota.taken().saturating_add(expected.max(1));
        if wanted > self.quota.limit() { self.grow_roots(wanted) } else { Ok(()) }
    }

    fn each(&self, each: &mut dyn FnMut(&[u64])) -> bool {
        let keys = self.parts.keys();
        let mut state = vec![0; self.width];
        let mut references = vec![0; self.tree.places + 1];
        for i in 0..self.roots.count() {
            for root in self.roots.words(i).into_iter().filter(|root| *root != 0) {
                self.state_of(root, &keys, &mut state, &mut references);
                each(&state);
            }
        }
        true
    }

    fn set_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    fn bytes(&self) -> u64 {
        self.roots.bytes() + self.parts.bytes()
    }
}

/// Puts a root that is not in the table into the first free slot of a line, if there is one. For a
/// table that nobody else uses.
#[inline]
fn put(line: &Line, root: u64) -> bool {
    let free = line.iter().find(|slot| slot.load(Ordering::Relaxed) == 0);
    free.map(|slot| slot.store(root, Ordering::Relaxed)).is_some()
}

/// Leaf `i` of a state; a word that is missing is zero. States of two leaves are cut at bit
/// `64 + cut`, in the middle: two halves have fewer values than a large and a small part. For larger
/// states `cut` is 64.
#[inline]
fn leaf(state: &[u64], i: usize, cut: u32) -> [u64; LEAF] {
    let word = |k: usize| state.get(k).copied().unwrap_or(0);
    if cut == 64 {
        return [state[LEAF * i], word(LEAF * i + 1)];
    }
    match i {
        0 => [word(0), word(1) & ((1 << cut) - 1)],
        _ => [word(1) >> cut | word(2) << (64 - cut), word(2) >> cut | word(3) << (64 - cut)],
    }
}

/// Puts the leaves of a state together again: the way back from [`leaf`].
fn put_leaves(mut leaves: impl Iterator<Item = [u64; LEAF]>, cut: u32, state: &mut [u64]) {
    if cut == 64 {
        for (words, leaf) in state.chunks_mut(LEAF).zip(leaves) {
            words.copy_from_slice(&leaf[..words.len()]);
        }
        return;
    }
    let [a, b] = leaves.next().unwrap_or_default();
    let [c, d] = leaves.next().unwrap_or_default();
    let whole = [a, b | c << cut, c >> (64 - cut) | d << cut, d >> (64 - cut)];
    state.copy_from_slice(&whole[..state.len()]);
}

/// Two references as one word.
#[inline]
fn pair(references: &[u32], [left, right]: [u32; 2]) -> u64 {
    let (left, right) = (references[left as usize], references[right as usize]);
    u64::from(left) << 32 | u64::from(right)
}

/// Four references as two words.
#[inline]
fn quad(references: &[u32], [a, b, c, d]: [u32; 4]) -> [u64; LEAF] {
    [pair(references, [a, b]), pair(references, [c, d])]
}

impl Tree {
    /// The tree over so many leaves: four by four, as long as more than four are left, and then two
    /// by two.
    fn over(leaves: usize) -> Tree {
        let mut top: Vec<u32> = (0..leaves as u32).collect();
        let (mut nodes, mut levels) = (Vec::new(), Vec::new());
        while top.len() > 2 {
            let first = nodes.len();
            let by = if top.len() > 4 { 4 } else { 2 };
            top = Vec::from_iter(top.chunks(by).map(|children| match children {
                [child] => *child,
                _ => {
                    let child = |i: usize| children.get(i).copied().unwrap_or(u32::MAX);
                    nodes.push(std::array::from_fn(child));
                    (leaves + nodes.len() - 1) as u32
                }
            }));
            levels.push(first..nodes.len());
        }
        let places = leaves + nodes.len();
        let nothing = places as u32;
        nodes.iter_mut().flatten().for_each(|child| *child = nothing.min(*child));
        let child = |i: usize| top.get(i).copied().unwrap_or(nothing);
        Tree { leaves, places, nodes, levels, root: [child(0), child(1)] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;

    fn tiny() -> Sizing {
        Sizing { first: 2, load: 14 }
    }

    #[test]
    fn conforms() {
        let shapes =
            [40, 65, 128, 129, 192, 193, 250, 256, 7 * 64, 9 * 64, 33 * 64].map(Shape::of_bits);
        conformance::shared(&shapes, |shape| TreeStore::new(shape, None));
        let make = |shape| TreeStore::sized(shape, None, tiny(), MAX_REFERENCES);
        conformance::shared(&shapes, make);
    }

    #[test]
    fn workers_agree() {
        for words in [2, 3, 8, 17] {
            let shape = Shape::of_bits(64 * words);
            let make = || TreeStore::sized(shape, None, tiny(), MAX_REFERENCES);
            conformance::workers(shape, make);
        }
    }

    #[test]
    fn trees_have_two_children_at_the_root() {
        let tree = |leaves| {
            let Tree { nodes, levels, root, .. } = Tree::over(leaves);
            let ends: Vec<usize> = levels.iter().map(|level| level.end).collect();
            (nodes, ends, root)
        };
        assert_eq!(tree(1), (vec![], vec![], [0, 1]));
        assert_eq!(tree(2), (vec![], vec![], [0, 1]));
        assert_eq!(tree(3), (vec![[0, 1, 4, 4]], vec![1], [3, 2]));
        assert_eq!(tree(5), (vec![[0, 1, 2, 3]], vec![1], [5, 4]));
        assert_eq!(tree(7), (vec![[0, 1, 2, 3], [4, 5, 6, 9]], vec![2], [7, 8]));
        let nine = vec![[0, 1, 2, 3], [4, 5, 6, 7], [9, 10, 12, 12]];
        assert_eq!(tree(9), (nine, vec![2, 3], [11, 8]));
    }

    #[test]
    fn nothing_before_a_state_of_zeros() {
        for words in 1..12 {
            let store = TreeStore::new(Shape::of_bits(64 * words), None);
            let (mut scratch, mut fresh) = (store.scratch(), Picks::new());
            let zeros = vec![0; 2 * words + ergodic_system::PAD_WORDS];
            assert_eq!(store.offer(&mut scratch, Block::new(&zeros, words, 0), 0, &mut fresh), 0);
            assert_eq!(store.offer(&mut scratch, Block::new(&zeros, words, 2), 0, &mut fresh), 2);
            assert_eq!(fresh, [0]);
            assert!(store.contains(&zeros[..words]));
        }
    }

    #[test]
    fn references_run_out_with_an_error() {
        let shape = Shape::of_bits(128);
        let mut store = TreeStore::sized(shape, None, tiny(), 1000);
        let (why, seen) = conformance::fill_shared_until_exhausted(&mut store, shape);
        assert!(matches!(&why, Exhausted::Other(text) if text.contains("1000")), "{why:?}");
        assert!(seen >= 900, "{seen} states");
    }

    #[test]
    fn the_memory_limit_is_kept_and_used() {
        for (words, limit) in [(2, 200_000), (8, 1 << 20)] {
            let shape = Shape::of_bits(64 * words);
            let mut store = TreeStore::new(shape, Some(limit));
            let (why, seen) = conformance::fill_shared_until_exhausted(&mut store, shape);
            assert_eq!(why, Exhausted::Memory { limit });
            assert!(store.bytes() <= limit);
            // One new leaf and up to log2(words) - 1 new pairs per state, at most.
            assert!(seen >= limit / 160, "{seen} states in {limit} bytes");
        }
    }

    /// Eight words of counters, about 2^22 states: what remains is the table of roots.
    #[test]
    fn large_sets_take_little() {
        let shape = Shape::of_bits(512);
        let mut store = TreeStore::new(shape, None);
        let states = conformance::fill_with_counters(&mut store, shape, 6);
        let each = store.bytes() as f64 / states as f64;
        assert!(each < 20.0, "{each} bytes per state");
    }
}
