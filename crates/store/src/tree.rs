//! The shared exact store for larger states: tree compression.
//!
//! A state is cut into pieces, and these are interned: each place has references of its own for the values
//! that were seen there. Few were, so references are short, and those of all pieces fit into one word
//! (`form.rs`): the *root*, which stands in a table of its own. Where states share too little for that,
//! pairs of words are interned instead, the leaves of a tree, to references of 32 bits. Its nodes are up to
//! four references, interned as well, until two references remain: the root.
//!
//! All states of a store have the same form, so equal roots mean equal states and the store is exact. When
//! the references of a piece have become too long for their form, the store takes another one
//! (`reform.rs`), while it grows. Neighbouring states share nearly all of their parts: a state takes the
//! eight bytes of its root, divided by the load of the table, and little else.
//!
//! That a leaf and a node with the same bits have the same reference does no harm: the place in the
//! tree says which of the two is meant.
//!
//! How workers ask stands in `offers.rs`, and in `few.rs` for a few states at a time.
//!
//! What was tried. Before there were packed forms, all states were trees: a tenth more time on cache3 and
//! 22.2 bytes per state instead of 16.6, a sixth more time on ldash and 14.4 bytes instead of 12. Several
//! words of short references as the leaves of a tree: slower and larger on ldash than pairs of words.
//! Groups of 32 states, and one multiplication less in the hash of a piece: no faster. On plain trees: a
//! worker's own cache of 2^14 references gained nothing on cache3 and cost a sixth on ldash; a filter of
//! eight times the size takes out another tenth of what remains, without a gain in time; nodes of two
//! references instead of four were slower on ldash; to load into the second cache only made no
//! difference; to intern one half of a state and to keep the other in slots of sixteen bytes was 3 % faster
//! on cache3 and 15 % slower on cache3multi.

mod few;
mod form;
mod offers;
mod reform;

use crate::growth::{Growth, Old, worth_sharing};
use crate::hash::hash;
use crate::intern::{Interner, MAX_REFERENCES};
use crate::memory::Lines;
use crate::quota::Quota;
use crate::slots::{Claim, LINE};
use crate::table::{FEW, Sizing, Wanted, claim, enter, put_in};
use ergodic_system::{Block, Exhausted, Picks, Shape, Shared};
use few::offer_few;
use form::{Form, LEAF, Piece, Step, leaf, put_leaves, quad};
use offers::Pass;
pub use offers::TreeScratch;

/// Lines of the first table of roots.
const FIRST: usize = 1 << 4;
const FIRST_OF_MANY: usize = 1 << 8;

/// The first table of a piece has so many times fewer: most pieces have few values.
const PIECE: usize = 1 << 4;

/// Tables of pieces of fewer lines double, larger ones grow by half: they are moved seldom, and in a small set they are
/// half of the memory.
const PIECES_DOUBLE: usize = 1 << 10;

/// Kinds of forms that a store may go through.
const FORMS: usize = 3;

/// All states, as trees of shared parts.
#[derive(Debug)]
pub struct TreeStore {
    shape: Shape,
    form: Form,
    /// Counts changes of the form after which the working memory of workers is of no use.
    generation: u64,
    /// One for each piece of the form, if these have a word, or two.
    pieces: Vec<Interner<1>>,
    pairs: Vec<Interner<LEAF>>,
    /// Leaves and nodes.
    parts: Interner<LEAF>,
    roots: Lines,
    quota: Quota,
    sizing: Sizing,
    foreseen: Option<u64>,
    limit: Option<u64>,
    /// References there may be in each table.
    most: u64,
    /// Threads with which the tables of parts grow.
    threads: usize,
    /// While the table of roots grows: also the room in the larger one.
    moving: Option<(Growth<u64>, u64)>,
}

/// The keys of all references.
struct Keys {
    pieces: Vec<Vec<[u64; 1]>>,
    pairs: Vec<Vec<[u64; LEAF]>>,
    parts: Vec<[u64; LEAF]>,
}

impl TreeStore {
    /// An empty store that uses at most `memory_limit` bytes.
    pub fn new(shape: Shape, memory_limit: Option<u64>) -> TreeStore {
        TreeStore::first(shape, memory_limit, FIRST)
    }

    /// The same for some thousand states at least: to become that large takes as long as to find them.
    pub fn of_many(shape: Shape, memory_limit: Option<u64>) -> TreeStore {
        TreeStore::first(shape, memory_limit, FIRST_OF_MANY)
    }

    /// An empty store whose table of roots has so many lines at first.
    fn first(shape: Shape, memory_limit: Option<u64>, first: usize) -> TreeStore {
        // Large states are many bytes each: what a doubled table wastes is worth a few more moves.
        let doubles = if shape.words > 4 { 1 << 14 } else { Sizing::default().doubles };
        // There are many tables, each of which may just have grown.
        let sizing = Sizing { first, doubles, eighths: 3, ..Sizing::default() };
        let form = Form::first(shape);
        TreeStore::formed(shape, memory_limit, sizing, MAX_REFERENCES, form)
    }

    fn formed(
        shape: Shape,
        limit: Option<u64>,
        sizing: Sizing,
        most: u64,
        form: Form,
    ) -> TreeStore {
        let roots = Lines::new(sizing.first);
        let (first, doubles) =
            ((sizing.first / PIECE).max(4).min(sizing.first), sizing.doubles.min(PIECES_DOUBLE));
        let small = Sizing { first, doubles, ..sizing };
        let places = |step| if form.steps[0] == step { form.pieces.len() } else { 0 };
        let mut store = TreeStore {
            shape,
            generation: 0,
            pieces: (0..places(Step::Pieces)).map(|_| Interner::new(small, 1)).collect(),
            pairs: (0..places(Step::Pairs)).map(|_| Interner::new(small, 1)).collect(),
            // Where pieces are all there is, parts only come with another form.
            parts: Interner::new(if form.is_packed() { small } else { sizing }, most),
            form,
            quota: Quota::new(0, sizing.room(roots.count(), LINE)),
            roots,
            sizing,
            foreseen: None,
            limit,
            most,
            threads: 1,
            moving: None,
        };
        store.allow_widths();
        store
    }

    /// Lets pieces have as many references as fit into the widths of the form.
    fn allow_widths(&mut self) {
        let most = |piece: &Piece| ((1 << piece.width) - 1).min(self.most);
        for (interner, piece) in self.pieces.iter_mut().zip(&self.form.pieces) {
            interner.allow(most(piece));
        }
        for (interner, piece) in self.pairs.iter_mut().zip(&self.form.pieces) {
            interner.allow(most(piece));
        }
    }

    /// The root of a state whose parts all have references.
    fn known_root(&self, state: &[u64]) -> Option<u64> {
        let form = &self.form;
        let mut row = vec![0; form.row()];
        for step in &form.steps {
            for (i, place) in form.places(step).enumerate() {
                row[place] = match step {
                    Step::Pieces => {
                        let key = form.pieces[i].of(state);
                        self.pieces[i].known(hash(&[key]), [key])?
                    }
                    Step::Pairs => {
                        let key = leaf(state, i, 64);
                        self.pairs[i].known(hash(&key), key)?
                    }
                    Step::Leaves => {
                        let key = leaf(state, i, form.cut);
                        self.parts.known(hash(&key), key)?
                    }
                    Step::Nodes(level) => {
                        let key = quad(&row, form.tree.nodes[level.start + i]);
                        self.parts.known(hash(&key), key)?
                    }
                };
            }
        }
        Some(form.root(&row))
    }

    /// Whether some piece can have no further reference.
    fn is_used_up(&self) -> bool {
        self.pieces.iter().any(Interner::is_used_up) || self.pairs.iter().any(Interner::is_used_up)
    }

    /// Bytes that remain for one part of the store beside the others.
    fn spare(&self, others: u64) -> u64 {
        self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(others))
    }

    /// Lets all tables grow but that of the roots, where that is necessary.
    fn grow_parts(&mut self) -> Result<(), Exhausted> {
        let mut all = self.bytes();
        // Parts become more at most as states do.
        let taken = self.quota.taken().max(1) as f64;
        let how = How {
            limit: self.limit.unwrap_or(u64::MAX),
            foreseen: self.foreseen.map(|states| states as f64 / taken),
            threads: self.threads,
        };
        for interner in &mut self.pieces {
            how.grow(interner, &mut all)?;
        }
        for interner in self.pairs.iter_mut().chain([&mut self.parts]) {
            how.grow(interner, &mut all)?;
        }
        Ok(())
    }

    /// Begins to make the table of roots larger; whether so many threads are to take part.
    fn grow_roots(&mut self, wanted: u64, threads: usize) -> Result<bool, Exhausted> {
        let spare = self.spare(self.bytes() - self.roots.bytes());
        let most = usize::try_from(spare / 64).unwrap_or(usize::MAX);
        let room = |lines| self.sizing.room(lines, LINE);
        let wanted = Wanted { least: wanted, foreseen: self.foreseen };
        let Some(lines) = self.sizing.larger(self.roots.count(), most, wanted, room) else {
            return self.crowd_roots().map(|()| false);
        };
        let room = room(lines);
        let threads = worth_sharing(self.roots.count(), threads);
        let spread = spread(&self.form);
        let Some(growth) = Growth::begin(&mut self.roots, lines, threads, spread) else {
            return self.crowd_roots().map(|()| false);
        };
        self.moving = Some((growth, room));
        if threads < 2 {
            self.help_to_grow();
            self.end_moving();
        }
        Ok(threads > 1)
    }

    /// Ends the growth of the table of roots that was begun.
    fn end_moving(&mut self) {
        let Some((growth, room)) = self.moving.take() else { return };
        for root in growth.end(&self.roots, spread(&self.form)) {
            let all = 0..self.roots.count();
            enter(&self.roots, &all, self.form.hash(root), |line, _| put_in(line, 0, [root]));
        }
        self.quota = Quota::new(self.quota.taken(), room);
    }

    /// Lets the table of roots be fuller than is good for it.
    fn crowd_roots(&mut self) -> Result<(), Exhausted> {
        let most = self.sizing.crowded(self.roots.count(), LINE);
        let limit = self.limit.unwrap_or(u64::MAX);
        if self.quota.raise(most) { Ok(()) } else { Err(Exhausted::Memory { limit }) }
    }

    /// The keys of all references.
    fn keys(&self) -> Keys {
        Keys {
            pieces: self.pieces.iter().map(Interner::keys).collect(),
            pairs: self.pairs.iter().map(Interner::keys).collect(),
            parts: self.parts.keys(),
        }
    }

    /// The state of a root, given the keys of all references, and a row of zeros to work with.
    fn state_of(&self, root: u64, keys: &Keys, state: &mut [u64], row: &mut [u32]) {
        let form = &self.form;
        if form.is_packed() {
            form.unpack(root, row);
            state.fill(0);
            for ((keys, piece), reference) in keys.pieces.iter().zip(&form.pieces).zip(&*row) {
                piece.put(keys[*reference as usize][0], state);
            }
            let pairs = keys.pairs.iter().zip(&*row);
            if !keys.pairs.is_empty() {
                put_leaves(pairs.map(|(keys, reference)| keys[*reference as usize]), 64, state);
            }
            return;
        }
        let (tree, [left, right]) = (&form.tree, form.tree.root);
        row[right as usize] = root as u32;
        row[left as usize] = (root >> 32) as u32;
        // Nodes stand behind their children: from the top down each has its reference already.
        for (node, children) in tree.nodes.iter().enumerate().rev() {
            let key = keys.parts[row[tree.leaves + node] as usize];
            for (i, child) in children.iter().enumerate() {
                row[*child as usize] = (key[i / 2] >> (32 * (1 - i % 2))) as u32;
            }
        }
        let leaves = row[..tree.leaves].iter();
        put_leaves(leaves.map(|at| keys.parts[*at as usize]), form.cut, state);
    }

    /// Calls `each` with all states.
    fn each_state(&self, keys: &Keys, mut each: impl FnMut(&[u64])) {
        let (mut state, mut row) = (vec![0; self.shape.words], vec![0; self.form.row()]);
        for i in 0..self.roots.count() {
            for root in self.roots.words(i).into_iter().filter(|root| *root != 0) {
                self.state_of(root, keys, &mut state, &mut row);
                each(&state);
            }
        }
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
        if new.len() - from <= FEW {
            return offer_few(self, scratch, new, from, fresh);
        }
        Pass::<true>::new(self, scratch, new, from, fresh).run()
    }

    fn contains(&self, state: &[u64]) -> bool {
        let root = self.known_root(state);
        root.is_some_and(|root| {
            claim(&self.roots, self.form.hash(root), [root], false) == Claim::Known
        })
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
        self.begin_to_grow(expected, 1).map(drop)
    }

    fn foresee(&mut self, states: Option<u64>) {
        self.foreseen = states;
    }

    fn begin_to_grow(&mut self, expected: u64, threads: usize) -> Result<bool, Exhausted> {
        self.end_moving();
        // A form of another kind may be used up as soon as all states are in it; its widths are the last
        // thing to change.
        for _ in 0..FORMS {
            if self.is_used_up() {
                self.reform()?;
            }
        }
        self.grow_parts()?;
        let wanted = self.quota.taken().saturating_add(expected.max(1));
        if wanted > self.quota.limit() { self.grow_roots(wanted, threads) } else { Ok(false) }
    }

    fn help_to_grow(&self) {
        if let Some((growth, _)) = &self.moving {
            growth.take_part(&self.roots, spread(&self.form));
        }
    }

    fn each(&self, each: &mut dyn FnMut(&[u64])) -> bool {
        self.each_state(&self.keys(), each);
        true
    }

    fn set_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    fn bytes(&self) -> u64 {
        let pieces = self.pieces.iter().map(Interner::bytes).sum::<u64>();
        let pairs = self.pairs.iter().map(Interner::bytes).sum::<u64>();
        self.roots.bytes() + self.parts.bytes() + pieces + pairs
    }
}

/// Enters the roots that stood in a line.
fn spread(form: &Form) -> impl Fn(&Lines, Old<'_>, &mut Vec<u64>) + Sync {
    move |table, old, put_off| {
        for root in old.words.into_iter().filter(|root| *root != 0) {
            if !enter(table, old.own, form.hash(root), |line, _| put_in(line, 0, [root])) {
                put_off.push(root);
            }
        }
    }
}

/// How tables of parts grow.
#[derive(Clone, Copy, Debug)]
struct How {
    /// Bytes for the whole store.
    limit: u64,
    /// So many times as many states may be all.
    foreseen: Option<f64>,
    threads: usize,
}

impl How {
    /// Lets one of the tables grow if that is necessary, or soon will be. `all` are the bytes of the store.
    fn grow<const K: usize>(
        self,
        interner: &mut Interner<K>,
        all: &mut u64,
    ) -> Result<(), Exhausted> {
        let full = interner.is_full();
        if !full && !interner.is_nearly_full() {
            return Ok(());
        }
        let others = *all - interner.bytes();
        let room = self.limit.saturating_sub(others);
        let grown = interner.grow(room, self.foreseen, self.threads, |key| hash(key));
        *all = others + interner.bytes();
        match grown {
            // It is said in the words of the whole store.
            Err(Exhausted::Memory { .. }) if full => Err(Exhausted::Memory { limit: self.limit }),
            Err(why) if full => Err(why),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;

    fn tiny() -> Sizing {
        Sizing { first: 2, load: 14, ..Sizing::default() }
    }

    fn packed(shape: Shape) -> TreeStore {
        TreeStore::formed(shape, None, tiny(), MAX_REFERENCES, Form::first(shape))
    }

    fn plain(shape: Shape) -> TreeStore {
        TreeStore::formed(shape, None, tiny(), MAX_REFERENCES, Form::plain(shape))
    }

    #[test]
    fn conforms() {
        let shapes =
            [40, 65, 128, 129, 192, 193, 250, 256, 7 * 64, 9 * 64, 33 * 64].map(Shape::of_bits);
        conformance::shared(&shapes, |shape| TreeStore::new(shape, None));
        conformance::shared(&shapes, packed);
        conformance::shared(&shapes, plain);
    }

    #[test]
    fn workers_agree() {
        for words in [3, 2, 8, 17].into_iter().take(if cfg!(miri) { 1 } else { 4 }) {
            let shape = Shape::of_bits(64 * words);
            conformance::workers(shape, || packed(shape));
            conformance::workers(shape, || plain(shape));
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
            let mut store = TreeStore::new(Shape::of_bits(64 * words), None);
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
                let mut from = 0;
                while from < 40 {
                    from = store.offer(&mut scratch, block, from, &mut fresh);
                    store.grow_if_needed(1).expect("memory");
                }
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
        let mut store = TreeStore::formed(shape, None, tiny(), 1000, Form::plain(shape));
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
