//! The shared exact store for larger states: tree compression.
//!
//! A state of k words is a binary tree over its words, the left subtree of each node being the
//! largest power of two. Words and pairs of references are interned to references of 32 bits by one
//! interner; the root, a pair of references, is one 64-bit word and stands in a
//! table of its own. Trees have a fixed form, so equal roots mean equal states and the store is
//! exact. Neighbouring states share nearly all of their parts: a state takes the eight bytes of its
//! root, divided by the load of the table, and little else.
//!
//! Words and pairs share one set of references. That a word and a pair with the same bits have the
//! same reference does no harm: the place in the tree says which of the two is meant.
//!
//! Successive successors differ in few words. A worker remembers the last two contents of each place
//! in the tree (two, because a word that a rule changed is back to what it was in the next successor
//! of the same state) and looks up only what is neither: first in a small cache of its own, then in
//! the shared table. Words that changed are found without branches, and only nodes above them are
//! visited. The roots of one group of states are computed and the lines of their
//! slots begun to be loaded while the group before is probed.

use crate::hash::hash_word;
use crate::intern::{Interner, MAX_REFERENCES};
use crate::memory::Lines;
use crate::quota::{Permits, Quota};
use crate::slots::{Claim, LINE};
use crate::table::{GROUP, Sizing, Walk, claim, claim_group, larger};
use ergodic_system::{Block, Exhausted, Picks, Shape, Shared};

/// Entries of a worker's cache of references: 64 KiB. A quarter and twice of that made no difference
/// beyond the noise of the measurement.
const CACHE: usize = 1 << 12;

/// All states, as trees of shared parts.
#[derive(Debug)]
pub struct TreeStore {
    width: usize,
    /// The inner nodes, children first, the root last: places of both children, where places below
    /// `width` are words and the others inner nodes.
    nodes: Vec<(u32, u32)>,
    /// For each place the bit of its parent, zero below the root; if all places fit into 64 bits.
    parents: Option<Vec<u64>>,
    parts: Interner,
    roots: Lines,
    quota: Quota,
    sizing: Sizing,
    limit: Option<u64>,
}

/// A word or pair, and its reference (zero: none yet).
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    key: u64,
    reference: u32,
}

/// What one worker needs to ask a [`TreeStore`].
#[derive(Debug)]
pub struct TreeScratch {
    /// Permits for roots.
    roots: Permits,
    /// Permits for parts.
    parts: Permits,
    /// What each place of the tree is made of and refers to, and what it was before.
    keys: Box<[u64]>,
    references: Box<[u32]>,
    before: Box<[Part]>,
    /// Whether every place has a reference and every node is made of the places below it: not so at
    /// first, and after a state that found no room half way.
    whole: bool,
    cache: Box<[Part]>,
}

/// The roots of a group of states, up to the first for which there is no room.
struct Group {
    roots: [[u64; 1]; GROUP],
    hashes: [u64; GROUP],
    count: usize,
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
        let mut nodes = Vec::new();
        if shape.words == 1 {
            nodes.push((0, 0));
        } else {
            plant(&mut nodes, shape.words, 0, shape.words);
        }
        let roots = Lines::new(sizing.first);
        TreeStore {
            width: shape.words,
            parents: parents(&nodes, shape.words),
            nodes,
            parts: Interner::new(sizing, most_parts),
            quota: Quota::new(0, sizing.room(roots.count(), LINE)),
            roots,
            sizing,
            limit,
        }
    }

    /// The root of a state; `None` if there is no room for its parts.
    #[inline]
    fn root(&self, scratch: &mut TreeScratch, state: &[u64]) -> Option<u64> {
        let (root, inner) = self.nodes.split_last()?;
        let Some(parents) = &self.parents else { return self.root_of_many(scratch, state) };
        let whole = std::mem::replace(&mut scratch.whole, false);
        let pairs = scratch.keys.iter().zip(state).enumerate();
        let mut changed =
            pairs.fold(0, |set, (i, (key, word))| set | u64::from(!whole | (key != word)) << i);
        // Children have lower places than their parents, so they come first.
        while changed != 0 {
            let place = changed.trailing_zeros() as usize;
            let key = match place.checked_sub(self.width) {
                None => state[place],
                Some(node) => pair(&scratch.references, inner[node]),
            };
            self.update(scratch, place, key)?;
            changed = changed & (changed - 1) | parents[place];
        }
        scratch.whole = true;
        Some(pair(&scratch.references, *root))
    }

    /// As [`TreeStore::root`], for very large states: visits all places.
    fn root_of_many(&self, scratch: &mut TreeScratch, state: &[u64]) -> Option<u64> {
        let whole = std::mem::replace(&mut scratch.whole, false);
        for (place, word) in state.iter().enumerate() {
            if scratch.keys[place] != *word || !whole {
                self.update(scratch, place, *word)?;
            }
        }
        let (root, inner) = self.nodes.split_last()?;
        for (place, children) in (self.width..).zip(inner) {
            let key = pair(&scratch.references, *children);
            if scratch.keys[place] != key || !whole {
                self.update(scratch, place, key)?;
            }
        }
        scratch.whole = true;
        Some(pair(&scratch.references, *root))
    }

    /// Gives a place of the tree another content, unless there is no room for that.
    #[inline]
    fn update(&self, scratch: &mut TreeScratch, place: usize, key: u64) -> Option<()> {
        let old = Part { key: scratch.keys[place], reference: scratch.references[place] };
        let before = scratch.before[place];
        let reference = if before.key == key && before.reference != 0 {
            before.reference
        } else {
            self.look_up(scratch, key)?
        };
        scratch.before[place] = old;
        scratch.keys[place] = key;
        scratch.references[place] = reference;
        Some(())
    }

    #[inline]
    fn look_up(&self, scratch: &mut TreeScratch, key: u64) -> Option<u32> {
        let cached = &mut scratch.cache[(key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize];
        if cached.key != key || cached.reference == 0 {
            let reference = self.parts.reference(key, &mut scratch.parts)?;
            *cached = Part { key, reference };
        }
        Some(cached.reference)
    }

    /// Computes the roots of a group and starts to load their lines.
    #[inline]
    fn group(&self, scratch: &mut TreeScratch, states: Block<'_>) -> Group {
        let mut group = Group { roots: [[0]; GROUP], hashes: [0; GROUP], count: 0 };
        for i in 0..states.len() {
            let Some(root) = self.root(scratch, states.state(i)) else { break };
            let hash = hash_word(root);
            self.roots.prefetch(Walk::new(hash).line(&self.roots));
            group.roots[i] = [root];
            group.hashes[i] = hash;
            group.count += 1;
        }
        group
    }

    /// Offers the roots of a group that starts at position `at`; returns how many were handled.
    #[inline]
    fn offer_group(
        &self,
        scratch: &mut TreeScratch,
        group: &Group,
        at: usize,
        fresh: &mut Picks,
    ) -> usize {
        let (hashes, roots) = (&group.hashes[..group.count], &group.roots[..group.count]);
        let permits = &mut scratch.roots;
        if permits.left() >= GROUP as u64 {
            let mut inserted = claim_group(&self.roots, permits, hashes, roots);
            while inserted != 0 {
                fresh.push((at + inserted.trailing_zeros() as usize) as u32);
                inserted &= inserted - 1;
            }
            return group.count;
        }
        for (i, (hash, root)) in hashes.iter().zip(roots).enumerate() {
            let may = self.quota.ensure(permits);
            match claim(&self.roots, *hash, *root, may) {
                Claim::Known | Claim::Crowded => {}
                Claim::Inserted => {
                    permits.spend(1);
                    fresh.push((at + i) as u32);
                }
                Claim::Refused => return i,
            }
        }
        group.count
    }

    /// The root of a state whose parts all have references.
    fn known_root(&self, state: &[u64]) -> Option<u64> {
        let words = state.iter().map(|word| self.parts.known(*word));
        let mut references: Vec<u32> = words.collect::<Option<_>>()?;
        let (root, inner) = self.nodes.split_last()?;
        for children in inner {
            references.push(self.parts.known(pair(&references, *children))?);
        }
        Some(pair(&references, *root))
    }

    /// Bytes that remain for one part of the store beside the others.
    fn spare(&self, others: u64) -> u64 {
        self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(others))
    }

    fn grow_roots(&mut self, wanted: u64) -> Result<(), Exhausted> {
        let most = usize::try_from(self.spare(self.parts.bytes()) / 64).unwrap_or(usize::MAX);
        let room = |lines| self.sizing.room(lines, LINE);
        let Some(lines) = larger(self.roots.count(), most, wanted, room) else {
            let most = self.sizing.crowded(self.roots.count(), LINE);
            return if self.quota.raise(most) { Ok(()) } else { Err(self.exhausted()) };
        };
        self.quota = Quota::new(self.quota.taken(), room(lines));
        let old = std::mem::replace(&mut self.roots, Lines::new(lines));
        old.drain(|line| {
            for root in line.into_iter().filter(|root| *root != 0) {
                claim(&self.roots, hash_word(root), [root], true);
            }
        });
        Ok(())
    }

    fn exhausted(&self) -> Exhausted {
        Exhausted::Memory { limit: self.limit.unwrap_or(u64::MAX) }
    }
}

impl Shared for TreeStore {
    type Scratch = TreeScratch;

    fn scratch(&self) -> TreeScratch {
        let places = self.width + self.nodes.len() - 1;
        TreeScratch {
            roots: Permits::default(),
            parts: Permits::default(),
            keys: vec![0; places].into_boxed_slice(),
            references: vec![0; places].into_boxed_slice(),
            before: vec![Part::default(); places].into_boxed_slice(),
            whole: false,
            cache: vec![Part::default(); CACHE].into_boxed_slice(),
        }
    }

    fn offer(
        &self,
        scratch: &mut TreeScratch,
        new: Block<'_>,
        from: usize,
        fresh: &mut Picks,
    ) -> usize {
        let mut at = from;
        let mut ahead = self.group(scratch, new.slice(at, GROUP));
        while ahead.count > 0 {
            let group = ahead;
            ahead = self.group(scratch, new.slice(at + group.count, GROUP));
            let handled = self.offer_group(scratch, &group, at, fresh);
            at += handled;
            if handled < group.count {
                break;
            }
        }
        at
    }

    fn contains(&self, state: &[u64]) -> bool {
        let root = self.known_root(state);
        root.is_some_and(|root| claim(&self.roots, hash_word(root), [root], false) == Claim::Known)
    }

    fn grow_if_needed(&mut self, expected: u64) -> Result<(), Exhausted> {
        if self.parts.is_full() {
            let bytes = self.spare(self.roots.bytes());
            self.parts.grow(bytes).map_err(|why| match why {
                Exhausted::Memory { .. } => self.exhausted(),
                other => other,
            })?;
        }
        let wanted = self.quota.taken().saturating_add(expected.max(1));
        if wanted > self.quota.limit() { self.grow_roots(wanted) } else { Ok(()) }
    }

    fn bytes(&self) -> u64 {
        self.roots.bytes() + self.parts.bytes()
    }
}

/// Both references of a node as one word.
#[inline]
fn pair(references: &[u32], (left, right): (u32, u32)) -> u64 {
    let (left, right) = (references[left as usize], references[right as usize]);
    u64::from(left) << 32 | u64::from(right)
}

/// Plants the tree over `len` words from `first` on; returns the place of its root.
fn plant(nodes: &mut Vec<(u32, u32)>, width: usize, first: usize, len: usize) -> u32 {
    if len == 1 {
        return first as u32;
    }
    let left = len.next_power_of_two() / 2;
    let children =
        (plant(nodes, width, first, left), plant(nodes, width, first + left, len - left));
    nodes.push(children);
    (width + nodes.len() - 1) as u32
}

/// For each place below the root the bit of its parent, if all of them fit into a word.
fn parents(nodes: &[(u32, u32)], width: usize) -> Option<Vec<u64>> {
    let places = width + nodes.len() - 1;
    let mut parents = (places <= 64).then(|| vec![0; places])?;
    for (i, (left, right)) in nodes[..nodes.len() - 1].iter().enumerate() {
        parents[*left as usize] = 1 << (width + i);
        parents[*right as usize] = 1 << (width + i);
    }
    Some(parents)
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
        let shapes = [40, 65, 128, 192, 250, 7 * 64, 9 * 64, 33 * 64].map(Shape::of_bits);
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
    fn left_subtrees_are_powers_of_two() {
        let tree = |words| {
            let mut nodes = Vec::new();
            plant(&mut nodes, words, 0, words);
            nodes
        };
        assert_eq!(tree(2), [(0, 1)]);
        assert_eq!(tree(3), [(0, 1), (3, 2)]);
        assert_eq!(tree(5), [(0, 1), (2, 3), (5, 6), (7, 4)]);
        assert_eq!(tree(6), [(0, 1), (2, 3), (6, 7), (4, 5), (8, 9)]);
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
