//! A shared exact store for sets that may remain small: states stand in flat slots at first, and move to another store when
//! they are too many for that.
//!
//! Most models have some hundred or thousand states. What pays for many (numbers for the parts of states, a bit for each
//! state that there could be) takes several tables or a large one from the start, and time to set them up; slots that hold
//! states as they are take none of that. So this is a [`FlatStore`] of a few KB, and when that is full another store, into
//! which the states are entered once.
//!
//! **Invariant:** the move is made while nobody uses the set, and a store that cannot be moved is as it was.

use crate::shared::{FlatScratch, FlatStore};
use ergodic_system::{Block, Exhausted, Losses, PAD_WORDS, Picks, Shape, Shared, Sole, Visited};

/// A store of few states, and then another one.
#[derive(Debug)]
pub struct Early<V> {
    stage: Stage<V>,
    shape: Shape,
    /// Makes the store for many states.
    later: fn(Shape, Option<u64>) -> V,
    limit: Option<u64>,
    threads: usize,
    foreseen: Option<u64>,
}

#[derive(Debug)]
enum Stage<V> {
    Few(Box<FlatStore>),
    Many(V),
}

/// What one worker needs to ask an [`Early`] store.
#[derive(Debug)]
pub struct EarlyScratch<S> {
    few: FlatScratch,
    /// Made when it is used first.
    many: Option<S>,
}

/// So many times as much memory as the flat store may use is ample.
const AMPLE: u64 = 8;

/// Bytes of a flat store with nothing in it.
const EMPTY: u64 = 128;

impl<V: Shared> Early<V> {
    /// An empty store. As long as `few` bytes are enough it is flat, if that is more than nothing takes, states of this shape can be, and memory is not
    /// limited to little more; then it is the store that `later` makes, of the same shape and within the same limit.
    pub fn new(
        shape: Shape,
        few: u64,
        limit: Option<u64>,
        later: fn(Shape, Option<u64>) -> V,
    ) -> Early<V> {
        let ample = limit.is_none_or(|limit| limit / AMPLE >= few);
        let flat = few > EMPTY && ample && FlatStore::fits(shape);
        let stage = if flat {
            Stage::Few(Box::new(FlatStore::new(shape, Some(few))))
        } else {
            Stage::Many(later(shape, limit))
        };
        Early { stage, shape, later, limit, threads: 1, foreseen: None }
    }

    /// Moves all states to the store for many.
    fn move_on(&mut self) -> Result<(), Exhausted> {
        let Stage::Few(few) = &self.stage else { return Ok(()) };
        let mut many = (self.later)(self.shape, self.limit);
        many.set_threads(self.threads);
        many.foresee(self.foreseen);
        let mut words = Vec::new();
        few.each(&mut |state| words.extend_from_slice(state));
        let count = words.len() / self.shape.words;
        words.resize(words.len() + PAD_WORDS, 0);
        let states = Block::new(&words, self.shape.words, count);
        // Room for all of them at once. (Without this call n_peterson took 4 to 5 % longer, for no reason but how the rest was compiled.)
        many.grow_if_needed(count as u64)?;
        Sole::new(&mut many).offer(states, &mut Picks::new())?;
        self.stage = Stage::Many(many);
        Ok(())
    }
}

impl<V: Shared> Shared for Early<V> {
    type Scratch = EarlyScratch<V::Scratch>;

    fn scratch(&self) -> Self::Scratch {
        EarlyScratch { few: FlatScratch::default(), many: None }
    }

    #[inline]
    fn offer(
        &self,
        scratch: &mut Self::Scratch,
        new: Block<'_>,
        from: usize,
        fresh: &mut Picks,
    ) -> usize {
        match &self.stage {
            Stage::Few(few) => few.offer(&mut scratch.few, new, from, fresh),
            Stage::Many(many) => many.offer(scratch.of(many), new, from, fresh),
        }
    }

    fn contains(&self, state: &[u64]) -> bool {
        match &self.stage {
            Stage::Few(few) => few.contains(state),
            Stage::Many(many) => many.contains(state),
        }
    }

    fn retain_unknown(
        &self,
        scratch: &mut Self::Scratch,
        states: Block<'_>,
        from: usize,
        picks: &mut Picks,
    ) {
        match &self.stage {
            Stage::Few(few) => few.retain_unknown(&mut scratch.few, states, from, picks),
            Stage::Many(many) => many.retain_unknown(scratch.of(many), states, from, picks),
        }
    }

    fn each(&self, each: &mut dyn FnMut(&[u64])) -> bool {
        match &self.stage {
            Stage::Few(few) => few.each(each),
            Stage::Many(many) => many.each(each),
        }
    }

    fn grow_if_needed(&mut self, expected: u64) -> Result<(), Exhausted> {
        self.begin_to_grow(expected, 1).map(drop)
    }

    fn foresee(&mut self, states: Option<u64>) {
        self.foreseen = states;
        match &mut self.stage {
            Stage::Few(few) => few.foresee(states),
            Stage::Many(many) => many.foresee(states),
        }
    }

    fn begin_to_grow(&mut self, expected: u64, threads: usize) -> Result<bool, Exhausted> {
        if let Stage::Few(few) = &mut self.stage {
            match few.begin_to_grow(expected, 1) {
                Err(Exhausted::Memory { .. }) => self.move_on()?,
                answer => return answer,
            }
        }
        match &mut self.stage {
            Stage::Few(_) => Ok(false),
            Stage::Many(many) => many.begin_to_grow(expected, threads),
        }
    }

    fn help_to_grow(&self) {
        if let Stage::Many(many) = &self.stage {
            many.help_to_grow();
        }
    }

    fn set_threads(&mut self, threads: usize) {
        self.threads = threads;
        if let Stage::Many(many) = &mut self.stage {
            many.set_threads(threads);
        }
    }

    fn bytes(&self) -> u64 {
        match &self.stage {
            Stage::Few(few) => few.bytes(),
            Stage::Many(many) => many.bytes(),
        }
    }

    fn losses(&self) -> Losses {
        match &self.stage {
            Stage::Few(few) => few.losses(),
            Stage::Many(many) => many.losses(),
        }
    }
}

impl<S> EarlyScratch<S> {
    /// The working memory for the store for many.
    #[inline]
    fn of<V: Shared<Scratch = S>>(&mut self, many: &V) -> &mut S {
        self.many.get_or_insert_with(|| many.scratch())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DenseStore, TreeStore, conformance};

    fn tree(shape: Shape, few: u64, limit: Option<u64>) -> Early<TreeStore> {
        Early::new(shape, few, limit, TreeStore::new)
    }

    fn dense(shape: Shape) -> Early<DenseStore> {
        Early::new(shape, 1 << 9, None, |shape, _| DenseStore::new(shape))
    }

    #[test]
    fn conforms() {
        for few in [0, 128, 1 << 12, 1 << 20] {
            let shapes = [65, 77, 126, 140, 200].map(Shape::of_bits);
            conformance::shared(&shapes, |shape| tree(shape, few, None));
        }
        conformance::shared(&[13, 18].map(Shape::of_bits), dense);
    }

    #[test]
    fn workers_agree() {
        for (bits, few) in [(100, 1 << 10), (80, 1 << 14)] {
            let shape = Shape::of_bits(bits);
            conformance::workers(shape, || tree(shape, few, None));
        }
        conformance::workers(Shape::of_bits(14), || dense(Shape::of_bits(14)));
    }

    #[test]
    fn few_states_take_little_and_many_no_more_than_later() {
        let shape = Shape::of_bits(100);
        for count in [10, 500, 5_000] {
            let (mut early, mut late) = (tree(shape, 1 << 14, None), TreeStore::new(shape, None));
            conformance::fill(&mut Sole::new(&mut early), shape, count);
            conformance::fill(&mut Sole::new(&mut late), shape, count);
            assert_eq!(matches!(early.stage, Stage::Few(_)), count < 1000);
            let (bytes, most) = (early.bytes(), late.bytes().min(64 + 30 * count));
            let most = if count < 1000 { most } else { late.bytes() };
            assert!(bytes <= most, "{bytes} bytes for {count} states, more than {most}");
        }
    }

    #[test]
    fn memory_limits_are_kept_and_used() {
        for limit in [1 << 14, 1 << 17, 1 << 18] {
            let shape = Shape::of_bits(100);
            let mut store = tree(shape, 1 << 14, Some(limit));
            assert_eq!(matches!(store.stage, Stage::Few(_)), limit >= 1 << 17);
            let (why, seen) = conformance::fill_shared_until_exhausted(&mut store, shape);
            assert_eq!(why, Exhausted::Memory { limit });
            assert!(store.bytes() <= limit && seen >= limit / 60, "{seen} in {limit} bytes");
        }
    }

    #[test]
    fn a_store_that_cannot_be_moved_is_as_it_was() {
        let shape = Shape::of_bits(100);
        let later = |shape, _| TreeStore::new(shape, Some(1 << 10));
        let mut store = Early::new(shape, 1 << 12, None, later);
        let (why, seen) = conformance::fill_shared_until_exhausted(&mut store, shape);
        assert_eq!(why, Exhausted::Memory { limit: 1 << 10 });
        let mut back = 0;
        assert!(store.each(&mut |_| back += 1));
        assert_eq!((back, matches!(store.stage, Stage::Few(_))), (seen, true));
    }
}
