//! Rule instances and their numbers.
//!
//! A search sees a firing as an entry of a batch: a rule number ([`ergodic_system::Batch::rules`], the
//! position of the action in the program) and a label ([`ergodic_system::Batch::labels`], the number
//! of the rule instance over all initial states and actions, see [`ergodic_ir::Instances`]).
//! Instances here are numbered densely over the actions alone, in the order of labels:
//!
//! * if no parameter of the program runs over a multiset and there are not too many instances, the
//!   number is the label less the first label of the actions;
//! * a parameter that runs over the slots of a multiset is left out, so that one instance stands for
//!   all slots: slots are sorted again after every firing, and a slot number means nothing in another
//!   state (nor does it in a permuted one);
//! * if there are more instances than wanted, the rules with the most of them lose parameters, the
//!   last ones first, until they are few enough; if there are more rules than that, everything is one
//!   instance.
//!
//! An instance that stands for several labels touches what any of them touches, so all relations
//! hold for each of them.

use ergodic_ir::{Action, Domain, Instances, Program, ScalarKind, Type, domain_value, show};
use ergodic_system::{Label, Renaming};

/// Number of a rule instance, below [`Numbering::len`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceId(pub u32);

impl InstanceId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The numbers of the rule instances of a program.
#[derive(Clone, Debug)]
pub struct Numbering {
    labels: Instances,
    families: Vec<Family>,
    total: u32,
    /// There are too many rules: all are one instance.
    lumped: bool,
}

/// The instances of one action.
#[derive(Clone, Debug)]
struct Family {
    /// Number of the first.
    base: u32,
    /// How many there are.
    count: u64,
    /// Label of the first.
    first_label: u32,
    /// For each parameter its number of values, and whether they are told apart.
    radices: Vec<(u64, bool)>,
    /// Every label is an instance of its own.
    direct: bool,
}

impl Numbering {
    /// Numbers the instances of a verified program, at most `limit` of them.
    pub fn new(program: &Program, limit: usize) -> Numbering {
        let labels = Instances::new(program);
        let limit = limit.clamp(1, u32::MAX as usize) as u64;
        let mut families: Vec<Family> = (0..program.actions.len())
            .map(|action| family(&labels, action, &program.actions[action]))
            .collect();
        let lumped = families.len() as u64 > limit;
        let mut left = families.iter().fold(0u64, |n, f| n.saturating_add(f.count));
        while left > limit && !lumped {
            let largest = families.iter_mut().max_by_key(|family| family.count);
            let Some(family) = largest.filter(|family| family.count > 1) else { break };
            left -= family.count;
            family.merge_one();
            left += family.count;
        }
        let mut total = 0;
        for family in &mut families {
            if lumped {
                family.merge_all();
            } else {
                family.base = total;
                total += family.count as u32;
            }
        }
        let total = if lumped { 1 } else { total };
        Numbering { labels, families, total, lumped }
    }

    /// How many instances there are.
    pub fn len(&self) -> usize {
        self.total as usize
    }

    /// Whether the program has no rule that can fire.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Whether all rules together are one instance, because there are too many.
    pub fn is_lumped(&self) -> bool {
        self.lumped
    }

    /// All instances.
    pub fn all(&self) -> impl Iterator<Item = InstanceId> + use<> {
        (0..self.total).map(InstanceId)
    }

    /// The instance of a firing: entry `i` of a batch is `of(batch.rules()[i], batch.labels()[i])`.
    ///
    /// # Panics
    /// If there is no such rule.
    pub fn of(&self, rule: u32, label: Label) -> InstanceId {
        let family = &self.families[rule as usize];
        let at = label.0.wrapping_sub(family.first_label);
        if family.direct {
            return InstanceId(family.base + at);
        }
        let (mut rest, mut number, mut scale) = (u64::from(at), 0, 1);
        for (radix, kept) in family.radices.iter().rev() {
            if *kept {
                number += rest % radix * scale;
                scale *= radix;
            }
            rest /= radix;
        }
        InstanceId(family.base + number as u32)
    }

    /// The instance of a label; `None` for an initial state.
    ///
    /// # Panics
    /// If the label is not of this program.
    pub fn of_label(&self, label: Label) -> Option<InstanceId> {
        let (initial, action, _) = self.labels.locate(label);
        (!initial).then(|| self.of(action as u32, label))
    }

    /// The rules that an instance belongs to: one, unless all are lumped together.
    pub fn rules(&self, id: InstanceId) -> std::ops::Range<usize> {
        if self.lumped { 0..self.families.len() } else { self.rule(id)..self.rule(id) + 1 }
    }

    /// The (first) rule of an instance.
    pub fn rule(&self, id: InstanceId) -> usize {
        if self.lumped {
            return 0;
        }
        // Rules without instances have the base of the next one.
        self.families.partition_point(|family| family.base <= id.0).saturating_sub(1)
    }

    /// Whether an instance stands for more than one label.
    pub fn is_merged(&self, id: InstanceId) -> bool {
        self.lumped || !self.families[self.rule(id)].direct
    }

    /// For each parameter of the rule its value; `None` where the instance stands for all.
    pub fn values(&self, program: &Program, id: InstanceId) -> Vec<Option<i64>> {
        let rule = self.rule(id);
        let (family, action) = (&self.families[rule], &program.actions[rule]);
        let mut rest = u64::from(id.0 - family.base);
        let mut values = vec![None; family.radices.len()];
        for (i, (radix, kept)) in family.radices.iter().enumerate().rev() {
            if *kept {
                let over = &action.params[i].over;
                values[i] = Some(domain_value(over, &program.types, rest % radix));
                rest /= radix;
            }
        }
        values
    }

    /// The label of an instance that stands for just one.
    pub fn label(&self, id: InstanceId) -> Option<Label> {
        let family = self.families.get(self.rule(id))?;
        (!self.is_merged(id)).then(|| Label(family.first_label + (id.0 - family.base)))
    }

    /// How labels are numbered.
    pub(crate) fn labels(&self) -> &Instances {
        &self.labels
    }

    /// The name of an instance, as in `send(i: 1, j: 2)`; parameters that are not told apart are `*`.
    pub fn name(&self, program: &Program, id: InstanceId) -> String {
        if self.lumped {
            return "any rule".to_string();
        }
        let action = &program.actions[self.rule(id)];
        if action.params.is_empty() {
            return action.name.clone();
        }
        // Front ends number the locals of parameters as written; the order of firing may differ.
        let mut params: Vec<_> = action.params.iter().zip(self.values(program, id)).collect();
        params.sort_by_key(|(param, _)| param.local);
        let shown = params.into_iter().map(|(param, value)| {
            let local = &action.locals[param.local.0 as usize];
            let value = value.map_or("*".to_string(), |v| show::scalar(program, local.ty, v));
            format!("{}: {value}", local.name)
        });
        format!("{}({})", action.name, shown.collect::<Vec<_>>().join(", "))
    }

    /// What becomes of instances when values of scalarsets are permuted; `groups` are the first and last
    /// codes of these. Parameters of other types stay as they are. Slots of multisets are not told apart, so
    /// nothing is said about them.
    pub fn renaming(&self, program: &Program, groups: &[(i64, i64)]) -> Renaming {
        let mut renaming = Renaming::new(groups.iter().map(|codes| size(*codes)).sum());
        for id in self.all() {
            let (mut origin, mut steps) = (id.0, Vec::new());
            if !self.lumped {
                self.moves(program, groups, id, |point, place, stride| {
                    origin -= place * stride;
                    steps.push((point, stride));
                });
            }
            renaming.push(origin, &steps);
        }
        renaming
    }

    /// Tells for each parameter of an instance that is a value of a group: which point it is, its place in
    /// its group, and by how much numbers of instances differ that differ by one place.
    fn moves(
        &self,
        program: &Program,
        groups: &[(i64, i64)],
        id: InstanceId,
        mut each: impl FnMut(u32, u32, u32),
    ) {
        let rule = self.rule(id);
        let (family, action) = (&self.families[rule], &program.actions[rule]);
        let (mut rest, mut scale) = (u64::from(id.0 - family.base), 1);
        for (param, (radix, kept)) in action.params.iter().zip(&family.radices).rev() {
            if *kept {
                if let Some((point, place)) = point(program, &param.over, rest % radix, groups) {
                    each(point, place, scale as u32);
                }
                scale *= radix;
                rest /= radix;
            }
        }
    }
}

impl Family {
    /// Stops telling the values of the last parameter apart that still are.
    fn merge_one(&mut self) {
        if let Some(last) = self.radices.iter_mut().rfind(|(_, kept)| *kept) {
            last.1 = false;
        }
        self.count_again();
    }

    /// Makes one instance of all.
    fn merge_all(&mut self) {
        self.radices.iter_mut().for_each(|(_, kept)| *kept = false);
        self.count_again();
    }

    fn count_again(&mut self) {
        // A parameter without values leaves no instance at all, told apart or not.
        let none = self.radices.iter().any(|(radix, _)| *radix == 0);
        let told = self.radices.iter().filter(|(_, kept)| *kept);
        let count = told.fold(1u64, |n, (radix, _)| n.saturating_mul(*radix));
        self.count = if none { 0 } else { count };
        self.direct = self.radices.iter().all(|(_, kept)| *kept);
    }
}

fn family(labels: &Instances, action: usize, of: &Action) -> Family {
    let kept = |domain: &Domain| !matches!(domain, Domain::Slots(_));
    let radices = labels
        .radices(false, action)
        .iter()
        .zip(&of.params)
        .map(|(radix, param)| (*radix, kept(&param.over)))
        .collect();
    let first_label = labels.base(false, action);
    let mut family = Family { base: 0, count: 0, first_label, radices, direct: true };
    family.count_again();
    family
}

fn size((first, last): (i64, i64)) -> usize {
    (last - first + 1) as usize
}

/// The point that is a value of a domain, numbered over all groups, and its place in its group. (All values
/// of a group have neighbouring ordinals, since the group is one of the intervals of the type.)
fn point(
    program: &Program,
    over: &Domain,
    ordinal: u64,
    groups: &[(i64, i64)],
) -> Option<(u32, u32)> {
    let Domain::Type(ty) = over else { return None };
    let Type::Scalar(scalar) = &program.types[ty.0 as usize] else { return None };
    let moves = matches!(scalar.kind, ScalarKind::Scalarset { .. } | ScalarKind::Union { .. });
    let code = scalar.code(ordinal).filter(|_| moves)?;
    let mut first = 0;
    for group in groups {
        if scalar.intervals.contains(group) && (group.0..=group.1).contains(&code) {
            let place = (code - group.0) as u32;
            return Some((first + place, place));
        }
        first += size(*group) as u32;
    }
    None
}
