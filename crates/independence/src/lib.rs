//! Which rule instances have nothing to do with each other, from the program alone.
//!
//! Everything is computed before a search. Except for faults, of which it matters that some cannot occur
//! in reachable states, it holds in all states:
//!
//! * [`Numbering`]: rulesets expanded to instances with dense numbers that a search gets from what it
//!   sees of a firing;
//! * [`Footprint`]: the bits of the state that an instance can read and write, element by element of
//!   arrays (an abstract execution of its code, `walk`);
//! * *independence*: neither instance writes what the other reads or writes. Then neither enables or
//!   disables the other, both orders of firing lead to the same state, and each faults (or is dropped
//!   by an assumption) before the other if and only if it does after it;
//! * *accord*: the same, but only in states in which both are enabled (`accord`), with what can be
//!   proved by enumeration about guards that exclude each other and updates that commute;
//! * [`Conjuncts`]: the conjuncts of guards with their necessary enabling sets, for stubborn sets;
//! * what properties see ([`Independence::visible`]), and the kinds of steps ([`Kind`]).
//!
//! Invariants:
//! * every claim is from below: a pair that is not said to be independent may be so; a set of
//!   readers, writers or enabling instances is never too small;
//! * all relations between instances are symmetric, and no instance is independent of itself;
//! * the program passed [`ergodic_ir::verify`].
//!
//! Sleep sets may use accord instead of independence: an instance that sleeps in a state is enabled
//! there, and so are those that are fired in it. An instance that stands for several labels may fire
//! several times in a state, and others in between: it has been fired, and may sleep in what is
//! reached by later firings, only after the last of its labels; and one that faulted may not sleep,
//! since where a guard faults an instance is not enabled. An instance whose guard is true but whose successor
//! an assumption drops counts as enabled; a search that picks a stubborn set must see to it that some
//! member of it really leads to a successor.
//!
//! Papers: Godefroid, "Partial-order methods for the verification of concurrent systems", 1996 (what
//! independence is for); Laarman and others, "Guard-based partial-order reduction", STTT 2016 (the
//! relations for stubborn sets); Godefroid and Pirottin, CAV 1993 (refinements).

mod accord;
mod coarse;
mod conjuncts;
mod defined;
mod domains;
mod footprint;
mod kinds;
mod matrix;
mod numbers;
mod ranges;
mod reason;
mod relation;
mod walk;

pub use conjuncts::{Conjunct, ConjunctKind, Conjuncts, Guards, Truth};
pub use footprint::Footprint;
pub use kinds::Kind;
pub use matrix::{BitMatrix, columns, has};
pub use numbers::{InstanceId, Numbering};
pub use ranges::Ranges;
pub use reason::{Reason, Why};

use conjuncts::{Allowed, Trial};
use ergodic_ir::{Layout, Program};
use ergodic_system::{Label, Renaming};
use footprint::Footprints;
use relation::Users;
use std::sync::Arc;

/// How much work to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Instances that are told apart; relations take the square of this in bits.
    pub max_instances: usize,
    /// Steps of all walks over code together; rules that are left are treated more coarsely.
    pub steps: u64,
    /// Whether to prove by enumeration what footprints do not show.
    pub refine: bool,
    /// Valuations of cells that one proof may try.
    pub valuations: u64,
    /// Valuations that all proofs together may try.
    pub total_valuations: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_instances: 16_384,
            steps: 50_000_000,
            refine: true,
            valuations: 4096,
            total_valuations: 2_000_000,
        }
    }
}

/// What may still be tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Per proof.
    pub(crate) valuations: u64,
    left: u64,
}

impl Budget {
    /// Takes some, if there is so much left.
    pub(crate) fn take(&mut self, valuations: u64) -> bool {
        let enough = valuations <= self.left;
        if enough {
            self.left -= valuations;
        }
        enough
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left == 0
    }
}

/// Counts over all pairs of different instances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Instances.
    pub instances: u64,
    /// Instances that stand for several labels.
    pub merged: u64,
    /// Instances whose code was too complex to be walked.
    pub coarse: u64,
    /// Unordered pairs of different instances.
    pub pairs: u64,
    /// Pairs whose footprints do not meet.
    pub disjoint: u64,
    /// Pairs that are independent, by their footprints or by enumeration.
    pub independent: u64,
    /// Pairs that accord.
    pub accord: u64,
}

/// The relations between the rule instances of a program.
#[derive(Debug)]
pub struct Independence {
    program: Arc<Program>,
    layout: Layout,
    numbering: Numbering,
    footprints: Footprints,
    independent: BitMatrix,
    accords: BitMatrix,
    do_not_accord: BitMatrix,
    conjuncts: Conjuncts,
    guards: Guards,
    visible_to: BitMatrix,
    visible: Vec<u64>,
    moving: Vec<u64>,
    kinds: Vec<Kind>,
    disjoint: u64,
}

impl Independence {
    /// Computes the relations of a program that passed [`ergodic_ir::verify`].
    pub fn new(program: &Arc<Program>, options: &Options) -> Independence {
        // Enumeration runs the interpreter, which recurses as deeply as the program.
        let stack = ergodic_interp::STACK_BYTES;
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(stack);
            match thread.spawn_scoped(scope, || compute(program, options)) {
                Ok(handle) => match handle.join() {
                    Ok(result) => result,
                    Err(panic) => std::panic::resume_unwind(panic),
                },
                Err(_) => compute(program, &Options { refine: false, ..*options }),
            }
        })
    }

    /// The numbers of instances.
    pub fn numbering(&self) -> &Numbering {
        &self.numbering
    }

    /// How many instances there are.
    pub fn len(&self) -> usize {
        self.numbering.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.numbering.is_empty()
    }

    /// The instance of a firing, from the entries of a batch. See [`Numbering::of`].
    pub fn instance(&self, rule: u32, label: Label) -> InstanceId {
        self.numbering.of(rule, label)
    }

    /// The name of an instance, as in `send(i: 1, j: 2)`.
    pub fn name(&self, id: InstanceId) -> String {
        self.numbering.name(&self.program, id)
    }

    /// What an instance touches.
    pub fn footprint(&self, id: InstanceId) -> &Footprint {
        &self.footprints.instances[id.index()]
    }

    /// The name of the smallest part of the state that holds all of a run of bits.
    pub fn part_name(&self, bits: (usize, usize)) -> String {
        reason::part_name(&self.program, &self.layout, bits)
    }

    /// Pairs that are independent.
    pub fn independent(&self) -> &BitMatrix {
        &self.independent
    }

    /// Pairs that commute wherever both are enabled; all independent pairs are among them.
    pub fn accords(&self) -> &BitMatrix {
        &self.accords
    }

    /// Pairs of different instances that may be enabled together and then need not commute.
    pub fn do_not_accord(&self) -> &BitMatrix {
        &self.do_not_accord
    }

    /// Why two instances are not independent; `None` if they are.
    pub fn reason(&self, a: InstanceId, b: InstanceId) -> Option<Reason> {
        let footprints = &self.footprints.instances;
        let name = |id: InstanceId| self.name(id);
        (!self.independent.get(a.index(), b.index()))
            .then(|| reason::find(&self.program, &self.layout, footprints, (a, b), &name))
    }

    /// Conjuncts of guards and their necessary enabling sets.
    pub fn conjuncts(&self) -> &Conjuncts {
        &self.conjuncts
    }

    /// A program that tells which conjuncts are true in a state.
    pub fn guards(&self) -> &Guards {
        &self.guards
    }

    /// The label, in the program of [`Independence::guards`], of a conjunct of an instance.
    pub fn conjunct_label(&self, id: InstanceId, position: usize) -> Option<Label> {
        self.guards.label(&self.program, &self.numbering, id, position)
    }

    /// The instances that write something that a property reads.
    pub fn visible_to(&self, property: usize) -> &[u64] {
        self.visible_to.row(property)
    }

    /// The instances that write something that an invariant, cover goal or liveness property reads.
    /// Assertions in rules are not among these: see [`Footprint::faults`].
    pub fn visible(&self) -> &[u64] {
        &self.visible
    }

    /// Instances of which it is known that they change every state in which they are enabled: they leave a
    /// value with which they are not.
    pub fn moving(&self) -> &[u64] {
        &self.moving
    }

    /// The kind of step that an instance is.
    pub fn kind(&self, id: InstanceId) -> Kind {
        self.kinds[id.index()]
    }

    /// What becomes of instances when values of scalarsets are permuted: see [`Numbering::renaming`].
    pub fn renaming(&self, groups: &[(i64, i64)]) -> Renaming {
        self.numbering.renaming(&self.program, groups)
    }

    /// Counts.
    pub fn statistics(&self) -> Statistics {
        let n = self.len() as u64;
        let count = |which: &dyn Fn(InstanceId) -> bool| {
            self.numbering.all().filter(|id| which(*id)).count() as u64
        };
        Statistics {
            instances: n,
            merged: count(&|id| self.numbering.is_merged(id)),
            coarse: count(&|id| self.footprint(id).coarse),
            pairs: n * n.saturating_sub(1) / 2,
            disjoint: self.disjoint,
            independent: self.independent.count() / 2,
            accord: self.accords.count() / 2,
        }
    }
}

fn compute(program: &Arc<Program>, options: &Options) -> Independence {
    let layout = Layout::new(program);
    let numbering = Numbering::new(program, options.max_instances);
    let footprints = Footprints::new(program, &layout, &numbering, options.steps);
    let instances = &footprints.instances;
    let users = Users::new(instances);
    let mut independent = users.dependence(instances).complement();
    let disjoint = independent.count() / 2;
    let guards = Guards::new(program);
    let trial = options.refine.then(|| Trial::new(program, &layout, &numbering, &guards));
    // Conjuncts decide more than pairs, and there are fewer of them; but pairs get their share.
    let half = options.total_valuations / 2;
    let mut budget = Budget { valuations: options.valuations, left: half };
    let (conjuncts, enabled) =
        conjuncts::collect(program, &users, instances, trial.as_ref(), &mut budget);
    budget.left += half;
    let accords =
        accords(program, &numbering, instances, trial.as_ref(), &enabled, &mut independent, budget);
    let mut do_not_accord = accords.complement();
    (0..numbering.len()).for_each(|id| do_not_accord.unset(id, id));
    let (visible_to, visible) =
        kinds::visible(program, &users, &footprints.properties, numbering.len());
    let moving = conjuncts::moving(program, instances, &enabled);
    let kinds = kinds::kinds(program, &layout, &numbering, instances);
    Independence {
        program: program.clone(),
        layout,
        numbering,
        footprints,
        independent,
        accords,
        do_not_accord,
        conjuncts,
        guards,
        visible_to,
        visible,
        moving,
        kinds,
        disjoint,
    }
}

/// The pairs that accord; adds to the independent ones what is proved on the way.
fn accords(
    program: &Program,
    numbering: &Numbering,
    footprints: &[Footprint],
    trial: Option<&Trial<'_>>,
    enabled: &[Allowed],
    independent: &mut BitMatrix,
    mut budget: Budget,
) -> BitMatrix {
    let mut accords = accord::exclusive(program, numbering, enabled);
    for row in 0..accords.rows() {
        matrix::join(accords.row_mut(row), independent.row(row));
    }
    if let Some(trial) = trial {
        let pairs = accord::Pairs::new(trial, footprints, budget.valuations);
        pairs.prove(independent, &mut accords, &mut budget);
    }
    accords
}
