//! Two systems that must be one: runs both, compares everything, passes on what the first says.
//!
//! It is itself a [`System`], so it works under every search. A difference panics with what differs:
//! this wrapper is for tests, where nothing else may happen after a difference is seen.

use crate::{Batch, Block, Cursor, Fault, Live, Picks, Shape, Step, System, Violation};
use std::collections::BTreeMap;

/// Runs `A` and `B` in lock-step.
#[derive(Clone, Debug)]
pub struct Checked<A, B> {
    first: A,
    second: B,
}

/// Working memory of both, and the successors of the second.
#[derive(Debug)]
pub struct CheckedScratch<A: System, B: System> {
    first: A::Scratch,
    second: B::Scratch,
    batch: Batch,
}

impl<A: System, B: System> Checked<A, B> {
    /// Pairs two systems.
    ///
    /// # Panics
    /// If they differ in shape or number of rules.
    pub fn new(first: A, second: B) -> Checked<A, B> {
        assert_eq!(first.shape(), second.shape(), "shapes");
        assert_eq!(first.rules(), second.rules(), "numbers of rules");
        Checked { first, second }
    }

    /// Lets both generate into batches with the same room, then compares.
    fn generate(
        scratch: &mut CheckedScratch<A, B>,
        at: &mut Cursor,
        out: &mut Batch,
        one: impl FnOnce(&mut A::Scratch, &mut Cursor, &mut Batch) -> Step,
        other: impl FnOnce(&mut B::Scratch, &mut Cursor, &mut Batch) -> Step,
    ) -> Step {
        if scratch.batch.capacity() != out.capacity() {
            let words = out.block().width();
            scratch.batch = Batch::new(Shape { words, bits: words * 64 }, out.capacity());
        }
        // The second must have the same room left, so it starts with what is there already.
        scratch.batch.clone_from(out);
        let mut second_at = at.clone();
        let step = one(&mut scratch.first, at, out);
        let second_step = other(&mut scratch.second, &mut second_at, &mut scratch.batch);
        compare(out, &scratch.batch);
        assert_eq!(step, second_step, "how the step ended");
        step
    }
}

fn compare(first: &Batch, second: &Batch) {
    assert_eq!(first.labels(), second.labels(), "labels of the successors");
    assert_eq!(first.rules(), second.rules(), "rules of the successors");
    assert_eq!(first.sources(), second.sources(), "sources of the successors");
    assert_eq!(dropped(first), dropped(second), "firings whose successors are left out");
    assert_eq!(first.loops(), second.loops(), "firings that lead back");
    for i in 0..first.len() {
        let (label, rule) = (first.labels()[i], first.rules()[i]);
        assert_eq!(first.state(i), second.state(i), "successor {i}, rule {rule}, {label:?}");
    }
}

/// Dropped firings per rule: a batch may note them in several parts.
fn dropped(batch: &Batch) -> BTreeMap<u32, u32> {
    let mut sums = BTreeMap::new();
    for (rule, count) in batch.dropped() {
        *sums.entry(*rule).or_default() += count;
    }
    sums
}

impl<A: System, B: System> System for Checked<A, B> {
    type Scratch = CheckedScratch<A, B>;

    fn shape(&self) -> Shape {
        self.first.shape()
    }

    fn scratch(&self) -> Self::Scratch {
        CheckedScratch {
            first: self.first.scratch(),
            second: self.second.scratch(),
            batch: Batch::new(self.first.shape(), 1),
        }
    }

    fn rules(&self) -> usize {
        self.first.rules()
    }

    fn initial(&self, s: &mut Self::Scratch, at: &mut Cursor, out: &mut Batch) -> Step {
        Self::generate(
            s,
            at,
            out,
            |s, at, out| self.first.initial(s, at, out),
            |s, at, out| self.second.initial(s, at, out),
        )
    }

    fn expand(
        &self,
        s: &mut Self::Scratch,
        src: Block<'_>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Step {
        Self::generate(
            s,
            at,
            out,
            |s, at, out| self.first.expand(s, src, at, out),
            |s, at, out| self.second.expand(s, src, at, out),
        )
    }

    fn judge(
        &self,
        s: &mut Self::Scratch,
        b: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation> {
        let mut second_at = *at;
        let violation = self.first.judge(&mut s.first, b, fresh, at);
        let second = self.second.judge(&mut s.second, b, fresh, &mut second_at);
        assert_eq!((&violation, *at), (&second, second_at), "judgement");
        assert_eq!(self.first.goals(&s.first), self.second.goals(&s.second), "cover goals");
        violation
    }

    fn goals<'s>(&self, s: &'s Self::Scratch) -> &'s [u64] {
        self.first.goals(&s.first)
    }

    fn level_begins(&self, states: u64) {
        self.first.level_begins(states);
        self.second.level_begins(states);
    }
}

impl<A: Live, B: Live> Live for Checked<A, B> {
    fn live_properties(&self) -> usize {
        self.first.live_properties()
    }

    fn satisfies(
        &self,
        s: &mut Self::Scratch,
        state: Block<'_>,
        property: usize,
    ) -> Result<bool, Fault> {
        let first = self.first.satisfies(&mut s.first, state, property);
        assert_eq!(first, self.second.satisfies(&mut s.second, state, property), "liveness body");
        first
    }
}
