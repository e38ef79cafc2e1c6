//! A system in which each orbit is one state.

use crate::memo::Memo;
use crate::{CanonScratch, Symmetries};
use ergodic_system::{Batch, Block, Cursor, Fault, Live, Picks, Shape, Step, System, Violation};

/// A system whose states are the canonical members of the orbits of another.
///
/// Initial states and successors of the inner system are canonised in the batch. Everything else is
/// the inner system's: deadlocks are decided before its successors are canonised, and properties are
/// the same for all members of an orbit.
#[derive(Clone, Debug)]
pub struct Reduced<S> {
    inner: S,
    symmetries: Symmetries,
}

impl<S: System> Reduced<S> {
    /// Reduces a system by the symmetries of its states, which are tuned to its first initial state:
    /// whoever canonises states for comparison with those of this system asks it for them.
    pub fn new(inner: S, mut symmetries: Symmetries) -> Reduced<S> {
        let mut first = Batch::new(inner.shape(), 1);
        inner.initial(&mut inner.scratch(), &mut Cursor::default(), &mut first);
        if !first.is_empty() {
            symmetries.tune(first.state(0));
        }
        Reduced { inner, symmetries }
    }

    /// The system that is reduced.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// What it is reduced by.
    pub fn symmetries(&self) -> &Symmetries {
        &self.symmetries
    }

    /// `sources`: the states whose successors stand in the batch.
    fn canonise(
        &self,
        scratch: &mut ReducedScratch<S>,
        sources: Option<Block<'_>>,
        from: usize,
        out: &mut Batch,
    ) {
        if out.watches_renames() {
            return self.canonise_noting(scratch, sources, from, out);
        }
        if self.symmetries.splits_orbits() {
            return self.normalise(scratch, sources, from, out);
        }
        for i in from..out.len() {
            let state = out.state_mut(i);
            let mut canonise =
                |state: &mut [u64]| self.symmetries.canonise(&mut scratch.canon, state);
            match &mut scratch.memo {
                Some(memo) => memo.apply(state, canonise),
                None => canonise(state),
            }
        }
    }

    /// The same with normal forms. A successor that is its own source stays as it is: normal forms may have
    /// other normal forms, and CMurphi drops such a successor before it normalises any.
    fn normalise(
        &self,
        scratch: &mut ReducedScratch<S>,
        sources: Option<Block<'_>>,
        from: usize,
        out: &mut Batch,
    ) {
        let ReducedScratch { canon, memo, .. } = scratch;
        let memo = memo.get_or_insert_with(|| Memo::new(self.inner.shape().words));
        for i in from..out.len() {
            if is_loop(sources, out, i) {
                continue;
            }
            memo.apply(out.state_mut(i), |state| self.symmetries.represent(canon, state));
        }
    }

    /// The same, and notes which successors became others, and how.
    fn canonise_noting(
        &self,
        scratch: &mut ReducedScratch<S>,
        sources: Option<Block<'_>>,
        from: usize,
        out: &mut Batch,
    ) {
        let ReducedScratch { canon, noted: Noted { memo, before, to }, .. } = scratch;
        let (symmetries, words) = (&self.symmetries, self.inner.shape().words);
        for i in from..out.len() {
            if symmetries.splits_orbits() && is_loop(sources, out, i) {
                continue;
            }
            before.clear();
            before.extend_from_slice(out.state(i));
            let state = out.state_mut(i);
            let mut canonise = |state: &mut [u64], to: &mut Vec<u16>| {
                symmetries.represent_by(canon, state, to);
            };
            if symmetries.has_others() || symmetries.splits_orbits() {
                memo.get_or_insert_with(|| Memo::with_permutations(words, symmetries.all_points()))
                    .apply_by(state, to, canonise);
            } else {
                canonise(state, to);
            }
            if before != state {
                out.note_renamed(i, to);
            }
        }
    }
}

/// Whether a successor is its own source.
fn is_loop(sources: Option<Block<'_>>, out: &Batch, i: usize) -> bool {
    sources.is_some_and(|block| block.state(out.sources()[i] as usize) == out.state(i))
}

/// Working memory of the inner system and of the reduction.
#[derive(Debug)]
pub struct ReducedScratch<S: System> {
    inner: S::Scratch,
    canon: CanonScratch,
    /// None if it would take longer than canonising does.
    memo: Option<Memo>,
    noted: Noted,
}

/// What is needed if somebody wants to know which states are changed, and how.
#[derive(Debug, Default)]
struct Noted {
    /// Instead of the other one.
    memo: Option<Memo>,
    /// A state before it is canonised, and the permutation.
    before: Vec<u64>,
    to: Vec<u16>,
}

impl<S: System> System for Reduced<S> {
    type Scratch = ReducedScratch<S>;

    fn shape(&self) -> Shape {
        self.inner.shape()
    }

    fn scratch(&self) -> Self::Scratch {
        ReducedScratch {
            inner: self.inner.scratch(),
            canon: self.symmetries.scratch(),
            memo: self.symmetries.has_others().then(|| Memo::new(self.inner.shape().words)),
            noted: Noted::default(),
        }
    }

    fn rules(&self) -> usize {
        self.inner.rules()
    }

    fn initial(&self, scratch: &mut Self::Scratch, at: &mut Cursor, out: &mut Batch) -> Step {
        let from = out.len();
        let step = self.inner.initial(&mut scratch.inner, at, out);
        self.canonise(scratch, None, from, out);
        step
    }

    fn expand(
        &self,
        scratch: &mut Self::Scratch,
        src: Block<'_>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Step {
        let from = out.len();
        let step = self.inner.expand(&mut scratch.inner, src, at, out);
        self.canonise(scratch, Some(src), from, out);
        step
    }

    fn judge(
        &self,
        scratch: &mut Self::Scratch,
        b: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation> {
        self.inner.judge(&mut scratch.inner, b, fresh, at)
    }

    fn goals<'s>(&self, scratch: &'s Self::Scratch) -> &'s [u64] {
        self.inner.goals(&scratch.inner)
    }

    fn level_begins(&self, states: u64) {
        self.inner.level_begins(states);
    }
}

impl<S: Live> Live for Reduced<S> {
    fn live_properties(&self) -> usize {
        self.inner.live_properties()
    }

    fn satisfies(
        &self,
        scratch: &mut Self::Scratch,
        state: Block<'_>,
        property: usize,
    ) -> Result<bool, Fault> {
        self.inner.satisfies(&mut scratch.inner, state, property)
    }
}
