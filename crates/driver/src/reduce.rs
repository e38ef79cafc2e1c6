//! Which transitions commute, as the searches and reductions want to know it.

use crate::load::{Model, on_large_stack};
use ergodic_independence::{
    BitMatrix, Footprint, Independence as Relations, InstanceId, Options, has,
};
use ergodic_ir::Instances;
use ergodic_search::{Condition, StubbornRelations, Truth};
use ergodic_symmetry::Symmetries;
use ergodic_system::{DeadlockMode, Independence, Label};

/// Instances that are told apart: a sleep set has a bit for each.
pub(crate) const MOST_INSTANCES: usize = 2048;
/// Labels that can be given a number each.
pub(crate) const MOST_LABELS: u128 = 1 << 24;

/// What is known about the rule instances of a model.
#[derive(Debug)]
pub(crate) struct Commuting {
    /// Which instances commute wherever both are enabled.
    pub(crate) relation: Independence,
    /// What kind of step each instance is.
    pub(crate) kinds: Vec<u8>,
    relations: Relations,
    first: Label,
    numbers: Vec<u32>,
}

impl Commuting {
    /// Finds out. An error says why that is not possible. `symmetries`: what states are reduced by.
    pub(crate) fn new(model: &Model, symmetries: Option<&Symmetries>) -> Result<Commuting, String> {
        let program = &model.program;
        let instances = Instances::new(program);
        let total = instances.total();
        if total > MOST_LABELS {
            return Err(format!(
                "the model has {total} instances of rules, too many for a reduction (at most \
                 {MOST_LABELS})"
            ));
        }
        let options = Options { max_instances: MOST_INSTANCES, ..Options::default() };
        let relations = on_large_stack(|| Relations::new(program, &options));
        let (first, numbers) = numbers(&instances, program.actions.len(), &relations);
        let mut relation = Independence::numbered(first, numbers.clone());
        for a in relations.numbering().all() {
            for b in relations.numbering().all().take_while(|b| b.index() < a.index()) {
                // Of an instance that stands for several labels, one may be fired and another not.
                let single = |id| !relations.numbering().is_merged(id);
                if single(a) && single(b) && relations.accords().get(a.index(), b.index()) {
                    relation.add(a.index(), b.index());
                }
            }
        }
        if let Some(symmetries) = symmetries {
            let codes = symmetries.groups().iter().map(|group| group.codes);
            relation = relation.with_renaming(relations.renaming(&codes.collect::<Vec<_>>()));
        }
        let kinds = relations.numbering().all().map(|id| relations.kind(id) as u8).collect();
        Ok(Commuting { relation, kinds, relations, first, numbers })
    }

    /// The part of all pairs of instances that commute wherever both are enabled, from 0 to 1.
    pub(crate) fn share(&self) -> f64 {
        let statistics = self.relations.statistics();
        statistics.accord as f64 / statistics.pairs.max(1) as f64
    }

    /// What stubborn sets are chosen by. A rule that can lead back to the same state can put off others for
    /// ever, which matters if states that only stutter count as deadlocks.
    pub(crate) fn stubborn(&self, deadlock: DeadlockMode) -> StubbornRelations {
        let relations = &self.relations;
        let ids = || relations.numbering().all();
        // What else can go wrong than that there are no successors; what they can be besides.
        let wrong = relations.visible().iter().any(|word| *word != 0)
            || ids().any(|id| can_fault(relations.footprint(id)));
        let stutters = deadlock == DeadlockMode::Stutter
            && !ids().all(|id| has(relations.moving(), id.index()));
        StubbornRelations {
            first: self.first.0,
            numbers: self.numbers.clone(),
            clashes: ids().map(|id| relations.do_not_accord().row(id.index()).to_vec()).collect(),
            conditions: ids().map(|id| self.conditions(id)).collect(),
            enabling: rows(relations.conjuncts().enabling()),
            visible: relations.visible().to_vec(),
            goes_on: wrong || stutters,
            moving: if wrong { Vec::new() } else { relations.moving().to_vec() },
        }
    }

    fn conditions(&self, id: InstanceId) -> Vec<Condition> {
        let conjuncts = self.relations.conjuncts();
        let pairs = conjuncts.of(id).iter().zip(conjuncts.truths(id));
        let condition = |(conjunct, truth): (&ergodic_independence::Conjunct, &Option<_>)| {
            let truth = truth.as_ref().map(|truth: &ergodic_independence::Truth| Truth {
                cells: truth.cells.iter().map(|(bit, width)| (*bit as u32, *width)).collect(),
                bits: truth.bits.clone(),
            });
            Condition { enabling: conjunct.enabling, truth }
        };
        pairs.map(condition).collect()
    }
}

fn can_fault(footprint: &Footprint) -> bool {
    footprint.faults || footprint.guard_faults
}

fn rows(matrix: &BitMatrix) -> Vec<Vec<u64>> {
    (0..matrix.rows()).map(|row| matrix.row(row).to_vec()).collect()
}

/// The first label of a rule, and the number of each label from there on.
fn numbers(instances: &Instances, actions: usize, relations: &Relations) -> (Label, Vec<u32>) {
    let first = if actions > 0 { instances.base(false, 0) } else { 0 };
    let mut numbers = Vec::new();
    for action in 0..actions {
        for instance in 0..instances.count(false, action) {
            let label = instances.label(false, action, instance);
            numbers.push(relations.instance(action as u32, label).index() as u32);
        }
    }
    (Label(first), numbers)
}
