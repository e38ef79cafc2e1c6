//! Random walks: one path at a time, nothing remembered but the current state and the path.
//!
//! Every successor of the current state is equally likely, so a rule with many enabled instances is
//! taken more often. A fault in *any* enabled instance ends the walk, because it was seen; a
//! property is judged in the states that the walk enters.

use ergodic_system::{Batch, Block, Cursor, Label, PAD_WORDS, Picks, Step, System, ViolationKind};

/// The splitmix generator: small, seeded, the same on every platform.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence that depends on the seed alone.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "an endless sequence is no iterator")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0. Biased by less than `bound / 2^64`.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// Why a walk cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEnd {
    /// Something is wrong. For a fault while firing, the label of the instance is the last of
    /// [`Walk::path`].
    Violated(ViolationKind),
    /// There is no way on, and that is no violation; or there is no initial state.
    Stuck,
}

/// One step of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// To another state, by this instance.
    Step(Label),
    /// Nowhere: the walk has ended.
    End(WalkEnd),
}

/// A random walk through a system.
#[derive(Debug)]
pub struct Walk<'a, S: System> {
    system: &'a S,
    scratch: S::Scratch,
    random: Random,
    batch: Batch,
    /// The current state, padded.
    current: Vec<u64>,
    /// The successor chosen so far, padded.
    chosen: Vec<u64>,
    path: Vec<Label>,
    end: Option<WalkEnd>,
    /// Picks the only state of a block.
    only: Picks,
}

impl<'a, S: System> Walk<'a, S> {
    /// A walk that has not chosen its initial state yet.
    pub fn new(system: &'a S, seed: u64, batch: usize) -> Walk<'a, S> {
        let words = system.shape().words + PAD_WORDS;
        Walk {
            system,
            scratch: system.scratch(),
            random: Random::new(seed),
            batch: Batch::new(system.shape(), batch.max(1)),
            current: vec![0; words],
            chosen: vec![0; words],
            path: Vec::new(),
            end: None,
            only: vec![0],
        }
    }

    /// Goes one step: to an initial state first, then to successors. A violation in the state that
    /// was entered is what the next call answers.
    pub fn advance(&mut self) -> Moved {
        if let Some(end) = self.end {
            return Moved::End(end);
        }
        match self.choose() {
            Ok(label) => {
                self.enter(label);
                Moved::Step(label)
            }
            Err(end) => {
                self.end = Some(end);
                Moved::End(end)
            }
        }
    }

    /// Walks until `steps` steps are done in all (the choice of the initial state is none), with a
    /// call for each state entered. `None` if the walk could go on.
    pub fn run(&mut self, steps: u64, mut each: impl FnMut(Label, &[u64])) -> Option<WalkEnd> {
        while self.path.len() as u64 <= steps {
            match self.advance() {
                Moved::Step(label) => each(label, self.state()),
                Moved::End(end) => return Some(end),
            }
        }
        self.end
    }

    /// Goes back to before the choice of the initial state; the random sequence goes on.
    pub fn restart(&mut self) {
        self.path.clear();
        self.end = None;
    }

    /// Generates all successors and leaves one of them in `chosen`.
    fn choose(&mut self) -> Result<Label, WalkEnd> {
        let width = self.current.len() - PAD_WORDS;
        let block = Block::new(&self.current, width, 1);
        let (mut cursor, mut seen, mut choice) = (Cursor::default(), 0, None);
        loop {
            self.batch.clear();
            let (scratch, batch) = (&mut self.scratch, &mut self.batch);
            let step = if self.path.is_empty() {
                self.system.initial(scratch, &mut cursor, batch)
            } else {
                self.system.expand(scratch, block, &mut cursor, batch)
            };
            // Of all successors seen, one of this batch with the right probability.
            seen += batch.len() as u64;
            if !batch.is_empty() {
                let at = self.random.below(seen) as usize;
                if at < batch.len() {
                    self.chosen[..width].copy_from_slice(batch.state(at));
                    choice = Some(batch.labels()[at]);
                }
            }
            match step {
                Step::Full => {}
                Step::Done => return choice.ok_or(WalkEnd::Stuck),
                Step::Violation(violation) => {
                    self.path.extend(violation.label);
                    return Err(WalkEnd::Violated(violation.kind));
                }
            }
        }
    }

    /// Enters the chosen state and judges it.
    fn enter(&mut self, label: Label) {
        std::mem::swap(&mut self.current, &mut self.chosen);
        self.path.push(label);
        let block = Block::new(&self.current, self.current.len() - PAD_WORDS, 1);
        let found = self.system.judge(&mut self.scratch, block, &self.only, &mut 0);
        self.end = found.map(|violation| WalkEnd::Violated(violation.kind));
    }

    /// The current state.
    pub fn state(&self) -> &[u64] {
        &self.current[..self.current.len() - PAD_WORDS]
    }

    /// The initial-state instance and the rule instances so far.
    pub fn path(&self) -> &[Label] {
        &self.path
    }

    /// How often each cover goal was met.
    pub fn goals(&self) -> &[u64] {
        self.system.goals(&self.scratch)
    }
}
