//! Systems made of prioritised rules: the loop over states, priority classes, rules and instances
//! that every executor of such a system shares.
//!
//! Of the enabled rules of a state only those of the first class (lowest priority number) with an
//! enabled rule fire. A state is *stuck* if no rule is enabled and *stutters* if in addition every
//! firing leads back to it; which of them counts as a deadlock is an option.

use crate::{
    Batch, Block, Cursor, Fault, Label, Picks, Shape, Step, System, Violation, ViolationKind,
};

/// What counts as a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DeadlockMode {
    /// Nothing does.
    Off,
    /// No rule is enabled.
    Stuck,
    /// No rule is enabled, or all firings lead back to the same state.
    #[default]
    Stutter,
}

/// Why the firing of one rule returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fired {
    /// All instances were tried; this many successors were dropped by an assumption.
    Done {
        /// Dropped by an assumption: the rule was enabled, the successor is out of scope.
        dropped: u32,
    },
    /// No room; the instance to go on with is in `at`.
    Full {
        /// As above.
        dropped: u32,
    },
    /// The instance in `at` faulted; the ones before it are done.
    Fault {
        /// What happened.
        fault: Fault,
        /// As above.
        dropped: u32,
    },
}

/// A system that can fire one rule in one state. Everything else follows.
pub trait RuleSystem: Sync {
    /// What one worker needs to execute it.
    type Scratch: Send;

    /// Size of its packed states.
    fn shape(&self) -> Shape;

    /// Fresh working memory for one worker.
    fn scratch(&self) -> Self::Scratch;

    /// Rule numbers in the order of firing, grouped by ascending priority number.
    fn classes(&self) -> &[Vec<u32>];

    /// Number of initial-state rules.
    fn starts(&self) -> usize;

    /// What counts as a deadlock.
    fn deadlock(&self) -> DeadlockMode;

    /// Runs the instances of initial-state rule `start` from `at` on.
    fn start(&self, s: &mut Self::Scratch, start: u32, at: &mut u64, out: &mut Batch) -> Fired;

    /// Fires the enabled instances of `rule` in state `source` of `src` from instance `at` on.
    fn fire(
        &self,
        s: &mut Self::Scratch,
        rule: u32,
        src: Block<'_>,
        source: usize,
        at: &mut u64,
        out: &mut Batch,
    ) -> Fired;

    /// The label of an instance of a rule (or of an initial-state rule).
    fn label(&self, initial: bool, rule: u32, instance: u64) -> Label;

    /// Expands what is left of the source state at `at` and moves `at` to the next one; a step other
    /// than `Done` if something came between.
    fn expand_source(
        &self,
        s: &mut Self::Scratch,
        src: Block<'_>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Option<Step>
    where
        Self: Sized,
    {
        if let Some(step) = fire_all(self, s, src, at, out) {
            return Some(step);
        }
        let stopped = match self.deadlock() {
            DeadlockMode::Off => false,
            DeadlockMode::Stuck => !at.enabled,
            DeadlockMode::Stutter => !at.moved,
        };
        let source = at.source;
        *at = Cursor { source: source + 1, ..Cursor::default() };
        let kind = ViolationKind::Deadlock;
        stopped.then_some(Step::Violation(Violation { at: source, label: None, kind }))
    }

    /// As [`System::expand`]. An executor that can fire all rules on many states at once does so here;
    /// the results must be those of this loop, step by step, cursors included.
    fn expand_block(
        &self,
        s: &mut Self::Scratch,
        src: Block<'_>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Step
    where
        Self: Sized,
    {
        while at.source < src.len() {
            if let Some(step) = self.expand_source(s, src, at, out) {
                return step;
            }
        }
        Step::Done
    }

    /// As [`System::judge`].
    fn judge(
        &self,
        s: &mut Self::Scratch,
        b: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation>;

    /// As [`System::goals`].
    fn goals<'s>(&self, s: &'s Self::Scratch) -> &'s [u64];
}

impl<R: RuleSystem> System for R {
    type Scratch = R::Scratch;

    fn shape(&self) -> Shape {
        RuleSystem::shape(self)
    }

    fn scratch(&self) -> Self::Scratch {
        RuleSystem::scratch(self)
    }

    fn rules(&self) -> usize {
        self.classes().iter().map(Vec::len).sum()
    }

    fn initial(&self, s: &mut Self::Scratch, at: &mut Cursor, out: &mut Batch) -> Step {
        while at.rule < self.starts() {
            let start = at.rule as u32;
            match self.start(s, start, &mut at.instance, out) {
                Fired::Done { .. } => {
                    at.rule += 1;
                    at.instance = 0;
                }
                Fired::Full { .. } => return Step::Full,
                Fired::Fault { fault, .. } => {
                    let label = self.label(true, start, at.instance);
                    at.instance += 1;
                    return fault_step(0, label, fault);
                }
            }
        }
        Step::Done
    }

    fn expand(
        &self,
        s: &mut Self::Scratch,
        src: Block<'_>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Step {
        self.expand_block(s, src, at, out)
    }

    fn judge(
        &self,
        s: &mut Self::Scratch,
        b: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation> {
        RuleSystem::judge(self, s, b, fresh, at)
    }

    fn goals<'s>(&self, s: &'s Self::Scratch) -> &'s [u64] {
        RuleSystem::goals(self, s)
    }
}

/// Fires the rules of the first enabled class of one state; `None` when they are all done.
fn fire_all<R: RuleSystem>(
    system: &R,
    s: &mut R::Scratch,
    src: Block<'_>,
    at: &mut Cursor,
    out: &mut Batch,
) -> Option<Step> {
    let classes = system.classes();
    while at.class < classes.len() {
        let class = &classes[at.class];
        while at.rule < class.len() {
            let rule = class[at.rule];
            let (before, loops) = (out.len(), out.loops());
            let fired = system.fire(s, rule, src, at.source, &mut at.instance, out);
            let (Fired::Done { dropped } | Fired::Full { dropped } | Fired::Fault { dropped, .. }) =
                fired;
            out.note_dropped(rule, dropped);
            at.enabled |= dropped > 0 || out.len() > before || out.loops() > loops;
            let here = src.state(at.source);
            at.moved |= dropped > 0 || (before..out.len()).any(|i| out.state(i) != here);
            match fired {
                Fired::Done { .. } => {
                    at.rule += 1;
                    at.instance = 0;
                }
                Fired::Full { .. } => return Some(Step::Full),
                Fired::Fault { fault, .. } => {
                    // A faulting rule was enabled (or its guard is broken): no deadlock on top.
                    (at.enabled, at.moved) = (true, true);
                    let label = system.label(false, rule, at.instance);
                    at.instance += 1;
                    return Some(fault_step(at.source, label, fault));
                }
            }
        }
        if at.enabled {
            break;
        }
        at.class += 1;
        at.rule = 0;
    }
    None
}

fn fault_step(at: usize, label: Label, fault: Fault) -> Step {
    let kind = ViolationKind::Fault(fault);
    Step::Violation(Violation { at, label: Some(label), kind })
}
