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
//! How workers ask stands in `offers.rs`, the form of the trees in `form.rs`.
//!
//! Tried on cache3 and ldash, on a busy machine. A worker's own cache of 2^14 references: no gain on
//! cache3, a sixth slower on ldash. A filter of eight times the size takes out another tenth of what
//! remains; no gain in time was seen. Nodes of two references instead of four: slower on ldash
//! (unpaired runs), 12.6 instead of 14.4 bytes. Counted, not timed: the contents of a place two states
//! ago would answer 1 % of the questions of cache3 and 15 % of those of ldash. On cache3 a state that
//! passes the filter asks for both of its leaves nearly always (1.98 on average): its rules change
//! both halves, so the references of the parent would not help. What is left are three misses, each
//! about 20 ns (estimated from samples): to begin loading a whole group earlier, in groups of 16, took
//! 5 to 10 % off the offers of cache3 and put 0 to 9 % on those of ldash, in few and noisy runs; to
//! load into the second cache only made no difference. To intern 94 bits of a state and to keep the
//! others in slots of sixteen bytes, two misses instead of three: 3 % faster on cache3, 15 % slower
//! on cache3multi, with half as much memory again.

mod form;
mod offers;

use crate::growth::grow;
use crate::hash::{hash, hash_word};
use crate::intern::{Interner, MAX_REFERENCES};
use crate::memory::Lines;
use crate::quota::Quota;
use crate::slots::{Claim, LINE, Line};
use crate::sync::Ordering;
use crate::table::{Sizing, claim, claim_in, enter};
use ergodic_system::{Block, Exhausted, Picks, Shape, Shared};
use form::{LEAF, Tree, leaf, pair, put_leaves, quad};
use offers::Pass;
pub use offers::TreeScratch;

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

impl TreeStore {
    /// An empty store that uses at most `memory_limit` bytes.
    pub fn new(shape: Shape, memory_limit: Option<u64>) -> TreeStore {
        // Large states are many bytes each: what a doubled table wastes is worth a few more moves.
        let sizing = Sizing { doubles: 1 << 14, ..Sizing::default() };
        TreeStore::sized(shape, memory_limit, sizing, MAX_REFERENCES)
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
        let Some(lines) = self.sizing.larger(self.roots.count(), most, wanted, room) else {
            return self.crowd_roots();
        };
        let (room, alone) = (room(lines), self.threads < 2);
        let enter = |table: &Lines, floor: usize, root: u64| {
            enter(table, floor, hash_word(root), |line, _| match alone {
                true => put(line, root),
                false => claim_in(line, 0, [root], true) != Claim::Crowded,
            })
        };
        let put_off = grow(&mut self.roots, lines, self.threads, |table, old, put_off| {
            for root in old.words.into_iter().filter(|root| *root != 0) {
                if !enter(table, old.floor, root) {
                    put_off.push(root);
                }
            }
        });
        let Some(put_off) = put_off else { return self.crowd_roots() };
        for root in put_off {
            enter(&self.roots, 0, root);
        }
        self.quota = Quota::new(self.quota.taken(), room);
        Ok(())
    }

    /// Lets the table of roots be fuller than is good for it.
    fn crowd_roots(&mut self) -> Result<(), Exhausted> {
        let most = self.sizing.crowded(self.roots.count(), LINE);
        let limit = self.limit.unwrap_or(u64::MAX);
        if self.quota.raise(most) { Ok(()) } else { Err(Exhausted::Memory { limit }) }
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
        TreeScratch::new(self)
    }

    fn offer(
        &self,
        scratch: &mut TreeScratch,
        new: Block<'_>,
        from: usize,
        fresh: &mut Picks,
    ) -> usize {
        Pass::<true>::new(self, scratch, new, from, fresh).run()
    }

    fn contains(&self, state: &[u64]) -> bool {
        let root = self.known_root(state);
        root.is_some_and(|root| claim(&self.roots, hash_word(root), [root], false) == Claim::Known)
    }

    fn retain_unknown(
        &self,
        scratch: &mut TreeScratch,
        states: Block<'_>,
        from: usize,
        picks: &mut Picks,
    ) {
        Pass::<false>::new(self, scratch, states, from, picks).run();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;

    fn tiny() -> Sizing {
        Sizing { first: 2, load: 14, ..Sizing::default() }
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
    fn looking_for_states_leaves_no_trace() {
        for words in [2, 4, 9, 20] {
            let (shape, sizing) =
                (Shape::of_bits(64 * words), Sizing { first: 1 << 11, ..Sizing::default() });
            let store = TreeStore::sized(shape, None, sizing, MAX_REFERENCES);
            let (mut scratch, mut fresh) = (store.scratch(), Picks::new());
            for round in 0..8 {
                // Neighbours share most of their parts, in the round before as well.
                let mut states = vec![7; 40 * words + ergodic_system::PAD_WORDS];
                for (i, state) in states.chunks_exact_mut(words).take(40).enumerate() {
                    state[i % words] = round * 1000 + i as u64;
                }
                let block = Block::new(&states, words, 40);
                let all = Picks::from_iter(0..40);
                let mut picks = all.clone();
                store.retain_unknown(&mut scratch, block, 0, &mut picks);
                assert_eq!(picks, all);
                fresh.clear();
                assert_eq!(store.offer(&mut scratch, block, 0, &mut fresh), 40);
                assert_eq!(fresh, all);
                store.retain_unknown(&mut scratch, block, 0, &mut picks);
                assert!(picks.is_empty());
                assert!((0..40).all(|i| store.contains(block.state(i))));
            }
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
