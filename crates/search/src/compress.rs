//! Path compression: chains of states with one successor each are walked through and not stored
//! (Algorithm 4 of Mäkelä's *Applying Idle Office Computers…*; a wrapper for every breadth-first store).
//!
//! The successors of a state are those of the end of the chain that begins in it: of the first state on
//! its way that has none, or several. The states in between are judged and their deadlocks and faults
//! reported, every time somebody passes; they are neither offered to a store nor numbered. All reachable
//! states are still visited, so what holds or is violated stays the same. Counterexamples have the
//! fewest stored states, and not always the fewest steps.
//!
//! *Loops.* A chain may run in a circle. The walk remembers one of its states and replaces it after 1,
//! 2, 4, … steps (Brent); when it meets that state again, it stops, and the state is stored. So a walk
//! takes constant memory, and it depends on nothing but the state in which it begins.
//!
//! *Counts.* Steps inside of chains are noted as firings without a successor, so that transitions are
//! all that were fired. The states passed are counted by [`Compressed::passed`], once per pass.
//!
//! *Labels.* A successor has the label of the last step of the walk. [`Compressed::full_path`] puts the
//! others back.

use ergodic_system::{
    Batch, Block, Cursor, Fault, Label, Live, PAD_WORDS, Picks, Shape, Step, System, Violation,
    ViolationKind,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A system without the states inside of chains.
#[derive(Debug)]
pub struct Compressed<S> {
    inner: S,
    passed: Arc<AtomicU64>,
}

/// Working memory of the inner system, and the walk.
#[derive(Debug)]
pub struct CompressedScratch<T> {
    inner: T,
    walk: Walk,
    /// Whether the walk of the current source is at its end, and what it found is being passed on.
    at_end: bool,
}

/// A walk along a chain.
#[derive(Debug)]
struct Walk {
    /// Where it is, with padding.
    state: Vec<u64>,
    /// Where it was, to notice a circle: the state, steps since, steps until the next one.
    before: Vec<u64>,
    since: u64,
    until: u64,
    /// The first successors of where it is, of which so many were passed on; the expansion goes on at
    /// the cursor, unless it is done.
    probe: Batch,
    copied: usize,
    cursor: Cursor,
    step: Step,
    /// The first state of a block.
    first: Picks,
}

/// What is next on a chain.
#[derive(Debug, PartialEq)]
enum Next {
    /// The only successor, by this rule and label.
    Link(u32, Label),
    /// There are none or several, or something is wrong.
    End,
}

impl Walk {
    fn new(shape: Shape) -> Walk {
        Walk {
            state: vec![0; shape.words + PAD_WORDS],
            before: vec![0; shape.words],
            since: 0,
            until: 1,
            probe: Batch::new(shape, 2),
            copied: 0,
            cursor: Cursor::default(),
            step: Step::Done,
            first: vec![0],
        }
    }

    fn words(&self) -> usize {
        self.before.len()
    }

    fn begin(&mut self, state: &[u64]) {
        let words = self.words();
        self.state[..words].copy_from_slice(state);
        self.before.copy_from_slice(state);
        (self.since, self.until) = (0, 1);
    }

    /// Looks at up to two successors of where it is.
    fn look<S: System>(&mut self, system: &S, scratch: &mut S::Scratch) -> Next {
        self.probe.clear();
        (self.copied, self.cursor) = (0, Cursor::default());
        let block = Block::new(&self.state, self.before.len(), 1);
        self.step = system.expand(scratch, block, &mut self.cursor, &mut self.probe);
        if self.step == Step::Done && self.probe.len() == 1 && !self.closes() {
            return Next::Link(self.probe.rules()[0], self.probe.labels()[0]);
        }
        Next::End
    }

    /// Whether the only successor is the state that is remembered: a circle.
    fn closes(&self) -> bool {
        self.probe.state(0) == self.before
    }

    /// Takes the step that [`Walk::look`] found.
    fn advance(&mut self) {
        let words = self.words();
        self.state[..words].copy_from_slice(self.probe.state(0));
        self.since += 1;
        if self.since == self.until {
            self.before.copy_from_slice(&self.state[..words]);
            (self.since, self.until) = (0, self.until * 2);
        }
    }

    /// What is wrong with the state where it is.
    fn judge<S: System>(&self, system: &S, scratch: &mut S::Scratch) -> Option<ViolationKind> {
        let block = Block::new(&self.state, self.before.len(), 1);
        system.judge(scratch, block, &self.first, &mut 0).map(|violation| violation.kind)
    }
}

impl<S: System> Compressed<S> {
    /// Leaves the states inside of chains out of a system.
    pub fn new(inner: S) -> Compressed<S> {
        Compressed { inner, passed: Arc::new(AtomicU64::new(0)) }
    }

    /// The system that is compressed.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// How often a state inside of a chain was passed.
    pub fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// The same, for somebody who gives the system away.
    pub fn passed_counter(&self) -> Box<dyn Fn() -> u64 + Send> {
        let passed = Arc::clone(&self.passed);
        Box::new(move || passed.load(Ordering::Relaxed))
    }

    /// Walks to the end of the chain; a violation in a state on the way ends it.
    fn walk(
        &self,
        scratch: &mut CompressedScratch<S::Scratch>,
        out: &mut Batch,
    ) -> Option<(Label, ViolationKind)> {
        let CompressedScratch { inner, walk, .. } = scratch;
        let mut steps = 0;
        let mut wrong = None;
        while let Next::Link(rule, label) = walk.look(&self.inner, inner) {
            walk.advance();
            steps += 1;
            out.note_dropped(rule, 1);
            walk.probe.dropped().iter().for_each(|(rule, count)| out.note_dropped(*rule, *count));
            if let Some(kind) = walk.judge(&self.inner, inner) {
                wrong = Some((label, kind));
                break;
            }
        }
        self.passed.fetch_add(steps, Ordering::Relaxed);
        wrong
    }

    /// Passes on what was found at the end of the chain of source `at.source`; a step if something came
    /// between.
    fn pass_on(
        &self,
        scratch: &mut CompressedScratch<S::Scratch>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Option<Step> {
        let CompressedScratch { inner, walk, .. } = scratch;
        let source = at.source as u32;
        loop {
            while walk.copied < walk.probe.len() {
                if out.is_full() {
                    return Some(Step::Full);
                }
                let i = walk.copied;
                out.push(
                    walk.probe.state(i),
                    source,
                    walk.probe.rules()[i],
                    walk.probe.labels()[i],
                );
                walk.copied += 1;
            }
            for (rule, count) in walk.probe.dropped() {
                out.note_dropped(*rule, *count);
            }
            walk.probe.clear();
            walk.copied = 0;
            match std::mem::replace(&mut walk.step, Step::Full) {
                Step::Done => {
                    scratch.at_end = false;
                    *at = Cursor { source: at.source + 1, ..Cursor::default() };
                    return None;
                }
                Step::Violation(violation) => {
                    return Some(Step::Violation(Violation { at: at.source, ..violation }));
                }
                Step::Full => {
                    let block = Block::new(&walk.state, walk.before.len(), 1);
                    walk.step = self.inner.expand(inner, block, &mut walk.cursor, &mut walk.probe);
                }
            }
        }
    }

    /// A path with all of its steps. `wrong`: what is found at its end, which may be inside of a chain.
    /// The path as it is, if it cannot be walked.
    pub fn full_path(&self, path: &[Label], wrong: ViolationKind) -> Vec<Label> {
        self.walk_path(path, wrong).unwrap_or_else(|| path.to_vec())
    }

    fn walk_path(&self, path: &[Label], wrong: ViolationKind) -> Option<Vec<Label>> {
        let (mut scratch, words) = (self.scratch(), self.inner.shape().words);
        let (first, rest) = path.split_first()?;
        let mut state = vec![0; words + PAD_WORDS];
        let mut full = vec![*first];
        self.find(None, *first, &mut scratch, &mut state)?;
        for (i, label) in rest.iter().enumerate() {
            let last = (i + 1 == rest.len()).then_some(wrong);
            if self.walk_from(&mut state, last, &mut scratch, &mut full) {
                return Some(full);
            }
            let source = state.clone();
            full.push(*label);
            if self.find(Some(&source), *label, &mut scratch, &mut state).is_none() {
                // The last step faults, and leads nowhere.
                return last.map(|_| full);
            }
        }
        // A deadlock or a fault behind the last step, at the end of a chain.
        if wrong == ViolationKind::Deadlock {
            self.walk_from(&mut state, None, &mut scratch, &mut full);
        }
        Some(full)
    }

    /// Appends the steps from a state to the end of its chain. Stops, and says so, in a state that
    /// violates `wrong`.
    fn walk_from(
        &self,
        state: &mut [u64],
        wrong: Option<ViolationKind>,
        scratch: &mut CompressedScratch<S::Scratch>,
        full: &mut Vec<Label>,
    ) -> bool {
        let CompressedScratch { inner, walk, .. } = scratch;
        let words = walk.words();
        walk.begin(&state[..words]);
        while let Next::Link(_, label) = walk.look(&self.inner, inner) {
            walk.advance();
            full.push(label);
            if wrong.is_some() && walk.judge(&self.inner, inner) == wrong {
                return true;
            }
        }
        state[..words].copy_from_slice(&walk.state[..words]);
        false
    }

    /// Finds the successor of a state (or the initial state) with a label.
    fn find(
        &self,
        source: Option<&[u64]>,
        label: Label,
        scratch: &mut CompressedScratch<S::Scratch>,
        state: &mut [u64],
    ) -> Option<()> {
        let (words, inner) = (scratch.walk.words(), &mut scratch.inner);
        let mut cursor = Cursor::default();
        let mut batch = Batch::new(self.inner.shape(), 64);
        loop {
            batch.clear();
            let step = match source {
                None => self.inner.initial(inner, &mut cursor, &mut batch),
                Some(source) => {
                    let block = Block::new(source, words, 1);
                    self.inner.expand(inner, block, &mut cursor, &mut batch)
                }
            };
            if let Some(i) = batch.labels().iter().position(|l| *l == label) {
                state[..words].copy_from_slice(batch.state(i));
                return Some(());
            }
            if step == Step::Done {
                return None;
            }
        }
    }
}

impl<S: System> System for Compressed<S> {
    type Scratch = CompressedScratch<S::Scratch>;

    fn shape(&self) -> Shape {
        self.inner.shape()
    }

    fn scratch(&self) -> Self::Scratch {
        let walk = Walk::new(self.inner.shape());
        CompressedScratch { inner: self.inner.scratch(), walk, at_end: false }
    }

    fn rules(&self) -> usize {
        self.inner.rules()
    }

    fn initial(&self, scratch: &mut Self::Scratch, at: &mut Cursor, out: &mut Batch) -> Step {
        self.inner.initial(&mut scratch.inner, at, out)
    }

    fn expand(
        &self,
        scratch: &mut Self::Scratch,
        src: Block<'_>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Step {
        if *at == Cursor::default() {
            scratch.at_end = false;
        }
        while at.source < src.len() {
            if !scratch.at_end {
                scratch.walk.begin(src.state(at.source));
                if let Some((label, kind)) = self.walk(scratch, out) {
                    let violation = Violation { at: at.source, label: Some(label), kind };
                    at.source += 1;
                    return Step::Violation(violation);
                }
                // From here on the cursor says that this source is begun.
                (scratch.at_end, at.enabled) = (true, true);
            }
            if let Some(step) = self.pass_on(scratch, at, out) {
                return step;
            }
        }
        Step::Done
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

impl<S: Live> Live for Compressed<S> {
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
