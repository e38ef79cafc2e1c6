//! Which transitions commute, as the searches want to know it.

use crate::load::{Model, on_large_stack};
use ergodic_independence::{Independence as Relations, Options};
use ergodic_ir::Instances;
use ergodic_system::{Independence, Label};

/// Instances that are told apart: a sleep set has a bit for each.
const MOST_INSTANCES: usize = 2048;
/// Labels that can be given a number each.
const MOST_LABELS: u128 = 1 << 24;

/// What a search with sleep sets needs to know about a model.
#[derive(Debug)]
pub(crate) struct Commuting {
    /// Which instances commute wherever both are enabled.
    pub(crate) relation: Independence,
    /// What kind of step each instance is.
    pub(crate) kinds: Vec<u8>,
}

impl Commuting {
    /// Finds out. An error says why that is not possible.
    pub(crate) fn new(model: &Model) -> Result<Commuting, String> {
        let program = &model.program;
        let instances = Instances::new(program);
        let total = instances.total();
        if total > MOST_LABELS {
            return Err(format!(
                "the model has {total} instances of rules, too many for sleep sets (at most \
                 {MOST_LABELS})"
            ));
        }
        let options = Options { max_instances: MOST_INSTANCES, ..Options::default() };
        let relations = on_large_stack(|| Relations::new(program, &options));
        let (first, numbers) = numbers(&instances, program.actions.len(), &relations);
        let mut relation = Independence::numbered(first, numbers);
        for a in relations.numbering().all() {
            for b in relations.numbering().all().take_while(|b| b.index() < a.index()) {
                // Of an instance that stands for several labels, one may be fired and another not.
                let single = |id| !relations.numbering().is_merged(id);
                if single(a) && single(b) && relations.accords().get(a.index(), b.index()) {
                    relation.add(a.index(), b.index());
                }
            }
        }
        let kinds = relations.numbering().all().map(|id| relations.kind(id) as u8).collect();
        Ok(Commuting { relation, kinds })
    }
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
