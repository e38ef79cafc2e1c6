//! What each rule instance reads and writes, in bits of the packed state.
//!
//! Besides what its own code touches (see [`crate::walk`]), whether a firing leads anywhere can depend
//! on more of the state:
//!
//! * *Priorities.* An action fires only if no action with a smaller priority number is enabled, so it
//!   reads what the guards of all those read.
//! * *Assumptions.* A successor in which an assumption is false is dropped. All reachable states
//!   satisfy all assumptions, so this matters only to an instance that writes something that an
//!   assumption reads; such an instance reads all that the assumption reads.
//!
//! Faults need nothing of their own: everything that is looked at before a fault is a read.

use crate::coarse;
use crate::defined::always_defined;
use crate::numbers::{InstanceId, Numbering};
use crate::ranges::Ranges;
use crate::walk::{Complex, Walk, Walkthrough};
use ergodic_ir::{Domain, Facts, Layout, Program, PropertyKind};
use std::sync::Arc;

/// What an instance touches.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    /// Read by each conjunct of the guard, with the bindings before it. An instance that stands for
    /// several labels and a guard that writes have one conjunct only, the whole guard: their
    /// conjuncts have no truth value of their own in a state.
    pub conjuncts: Vec<Ranges>,
    /// Read by the guard.
    pub guard: Ranges,
    /// Read by the body.
    pub body: Ranges,
    /// Read to find out whether an action of a smaller priority number is enabled.
    pub rank: Ranges,
    /// Read by assumptions that it can make false.
    pub assumed: Ranges,
    /// Written.
    pub writes: Ranges,
    /// All that is read.
    pub reads: Ranges,
    /// Cells (by first bit) that hold one of some values whenever it has fired.
    pub(crate) exit: Vec<(usize, Vec<i64>)>,
    /// It adds elements to multisets.
    pub adds: bool,
    /// It removes elements from multisets.
    pub removes: bool,
    /// It has one conjunct only, the whole guard.
    pub(crate) whole: bool,
    /// Its code was too complex to be walked: coarser facts were taken.
    pub coarse: bool,
    /// It can fault, in a reachable state.
    pub faults: bool,
    /// Its guard can fault, in a reachable state.
    pub guard_faults: bool,
}

/// What all instances and properties touch.
#[derive(Debug)]
pub(crate) struct Footprints {
    pub(crate) instances: Vec<Footprint>,
    /// Read by each property.
    pub(crate) properties: Vec<Ranges>,
}

impl Footprints {
    /// Of a verified program; `fuel` bounds the work.
    pub(crate) fn new(
        program: &Arc<Program>,
        layout: &Layout,
        numbering: &Numbering,
        mut fuel: u64,
    ) -> Footprints {
        let facts = Facts::assuming(program, always_defined(program, layout));
        let mut maker = Maker { program, layout, facts: &facts, fuel: &mut fuel };
        let properties: Vec<Ranges> =
            (0..program.properties.len()).map(|i| maker.property(i)).collect();
        let mut instances: Vec<Footprint> = if numbering.is_lumped() {
            vec![everything(layout)]
        } else {
            numbering.all().map(|id| maker.instance(numbering, id)).collect()
        };
        add_ranks(program, numbering, &mut instances);
        for footprint in &mut instances {
            add_assumptions(program, &properties, footprint);
            let parts = [&footprint.body, &footprint.rank, &footprint.assumed];
            footprint.reads = parts.into_iter().fold(footprint.guard.clone(), |a, b| a.union(b));
        }
        Footprints { instances, properties }
    }
}

/// An instance that stands for all rules.
fn everything(layout: &Layout) -> Footprint {
    let all = Ranges::new(vec![(0, layout.shape().bits)]);
    Footprint {
        conjuncts: vec![all.clone()],
        guard: all.clone(),
        writes: all,
        whole: true,
        coarse: true,
        faults: true,
        guard_faults: true,
        ..Footprint::default()
    }
}

struct Maker<'a> {
    program: &'a Program,
    layout: &'a Layout,
    facts: &'a Facts,
    fuel: &'a mut u64,
}

/// Steps that the walk of one instance may take.
const STEPS_PER_INSTANCE: u64 = 200_000;

impl Maker<'_> {
    /// Runs a walk with its share of the fuel.
    fn walked<T>(&mut self, run: impl FnOnce(&mut u64) -> Result<T, Complex>) -> Option<T> {
        let share = STEPS_PER_INSTANCE.min(*self.fuel);
        let mut left = share;
        let result = run(&mut left);
        *self.fuel -= share - left;
        result.ok()
    }

    fn property(&mut self, index: usize) -> Ranges {
        let (program, layout) = (self.program, self.layout);
        let property = &program.properties[index];
        let Some(expr) = &property.expr else { return Ranges::default() };
        let walk = |fuel: &mut u64| -> Result<Ranges, Complex> {
            Walk::new(program, layout, &property.locals, fuel).reads_of(expr)
        };
        self.walked(walk).unwrap_or_else(|| {
            let reads = &self.facts.properties[index].read_parts;
            coarse::of_effects(program, layout, &[], &[reads])
        })
    }

    fn instance(&mut self, numbering: &Numbering, id: InstanceId) -> Footprint {
        let (program, layout) = (self.program, self.layout);
        let rule = numbering.rule(id);
        let action = &program.actions[rule];
        let params = numbering.values(program, id);
        let walk = |fuel: &mut u64| {
            Walk::new(program, layout, &action.locals, fuel).action(action, &params)
        };
        let found = self.walked(walk);
        let coarse = found.is_none();
        let found = found.unwrap_or_else(|| self.coarse_instance(rule, &params));
        let parts = found.conjuncts.iter().map(|reads| reads.union(&found.prelude));
        let mut conjuncts: Vec<Ranges> = parts.collect();
        let guard = conjuncts.iter().fold(found.prelude.clone(), |all, part| all.union(part));
        // Slots of multisets and bindings can decide without any conjunct.
        let whole = numbering.is_merged(id) || action.impure_guard;
        if whole {
            conjuncts = vec![guard.clone()];
        }
        Footprint {
            conjuncts,
            guard,
            body: found.body,
            writes: found.writes,
            exit: found.exit,
            adds: found.adds,
            removes: found.removes,
            whole,
            coarse,
            faults: self.facts.guards[rule].faults || self.facts.bodies[rule].faults,
            guard_faults: self.facts.guards[rule].faults,
            ..Footprint::default()
        }
    }

    fn coarse_instance(&self, rule: usize, params: &[Option<i64>]) -> Walkthrough {
        let (program, layout) = (self.program, self.layout);
        let action = &program.actions[rule];
        let (guard, body) = (&self.facts.guards[rule], &self.facts.bodies[rule]);
        let bits = |sets: &[_]| coarse::of_effects(program, layout, params, sets);
        let writes = bits(&[&guard.write_parts, &body.write_parts]);
        let touches_bag = layout.multisets().iter().any(|bag| {
            writes.meets(&Ranges::new(vec![(bag.at, bag.at + bag.capacity as usize * bag.stride)]))
        });
        let takes = action.params.iter().any(|param| matches!(param.over, Domain::Slots(_)));
        // The effects of the guard as a whole include those of the prelude.
        let whole = bits(&[&guard.read_parts]);
        Walkthrough {
            prelude: whole,
            conjuncts: vec![Ranges::default(); action.guard.len()],
            body: bits(&[&body.read_parts]),
            writes,
            exit: Vec::new(),
            adds: touches_bag && !takes,
            removes: touches_bag && takes,
        }
    }
}

fn add_ranks(program: &Program, numbering: &Numbering, instances: &mut [Footprint]) {
    let priority = |id: usize| program.actions[numbering.rule(InstanceId(id as u32))].priority;
    let mut order: Vec<usize> = (0..instances.len()).collect();
    if numbering.is_lumped() {
        return;
    }
    order.sort_by_key(|id| priority(*id));
    let mut above: Vec<(usize, usize)> = Vec::new();
    let mut rank = Ranges::default();
    for class in order.chunk_by(|a, b| priority(*a) == priority(*b)) {
        for id in class {
            instances[*id].rank = rank.clone();
            above.extend(instances[*id].guard.iter());
        }
        rank = Ranges::new(std::mem::take(&mut above));
        above.extend(rank.iter());
    }
}

fn add_assumptions(program: &Program, properties: &[Ranges], footprint: &mut Footprint) {
    for (property, reads) in program.properties.iter().zip(properties) {
        if property.kind == PropertyKind::Assumption && footprint.writes.meets(reads) {
            footprint.assumed = footprint.assumed.union(reads);
        }
    }
}
