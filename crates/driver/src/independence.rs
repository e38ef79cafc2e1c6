//! Which rule instances commute, and why the others do not: the relations that searches with sleep
//! sets go by, with names, for people to look at.
//!
//! Everything is said of pairs of different instances. `reduce` computes the same relations with the
//! same limits, so that what is shown here is what a search would use.

mod parts;

use crate::load::{Model, on_large_stack};
use crate::reduce::{MOST_INSTANCES, MOST_LABELS};
use ergodic_independence::{Independence, InstanceId, Options, has};
use ergodic_ir::Instances;
use parts::Parts;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

pub use ergodic_independence::{Kind, Why};
pub use parts::pattern;

/// What two instances have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They are the same instance.
    Same,
    /// Neither touches what the other depends on.
    Independent,
    /// Wherever both are enabled, both orders lead to the same state; or they are never both enabled.
    Commutes,
    /// Nothing of the kind is known.
    Dependent,
}

/// A rule and what its instances touch: parts as in `chan[*].len` for some element of an array, and
/// `chan` for all of it.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// Its instances.
    pub instances: Range<usize>,
    /// Read by its guard.
    pub guard: Vec<String>,
    /// Read by its body.
    pub body: Vec<String>,
    /// What else decides whether it leads anywhere: guards of rules with priority, assumptions.
    pub context: Vec<String>,
    /// Written.
    pub writes: Vec<String>,
}

/// A rule instance.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Its name, as in `send(i: 1)`.
    pub name: String,
    /// The position of its rule.
    pub rule: usize,
    /// Whether it stands for several firings that are not told apart.
    pub merged: bool,
    /// Whether its code was too complex to be followed.
    pub coarse: bool,
    /// Whether it writes something that a property reads.
    pub visible: bool,
    /// What kind of step it is.
    pub kind: Kind,
}

/// Counts over instances and over pairs of different ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pairs.
    pub pairs: u64,
    /// Pairs that are independent.
    pub independent: u64,
    /// Pairs that commute wherever both are enabled, the independent ones among them.
    pub commuting: u64,
    /// Commuting pairs that sleep sets can use: those of instances that stand for one firing.
    pub usable: u64,
    /// Usable pairs that are independent.
    pub usable_independent: u64,
    /// Instances that stand for several firings.
    pub merged: u64,
    /// Instances whose code was too complex.
    pub coarse: u64,
    /// Instances that properties see.
    pub visible: u64,
}

/// Why two instances are not independent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What kind of reason.
    pub why: Why,
    /// The instance that writes.
    pub writer: usize,
    /// The other.
    pub other: usize,
    /// The part of the state; empty if the reason is about none.
    pub part: String,
    /// A sentence.
    pub text: String,
}

/// A name that no rule and no instance has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// The name.
    pub name: String,
    /// Names that are like it, the most similar first.
    pub near: Vec<String>,
}

/// The instances of a model, or of some of its rules, and what they have to do with each other.
#[derive(Debug)]
pub struct Commutation {
    /// The rules, in source order.
    pub rules: Vec<Rule>,
    /// Their instances, rule by rule.
    pub instances: Vec<Instance>,
    /// All instances of rules, before any are taken together.
    pub firings: u128,
    relations: Independence,
    ids: Vec<InstanceId>,
}

impl Commutation {
    /// Of the rules with these names, or of all if there is none.
    pub fn new(model: &Model, names: &[String]) -> Result<Commutation, UnknownName> {
        let actions = &model.program.actions;
        for name in names {
            if !actions.iter().any(|action| action.name == *name) {
                let known = actions.iter().map(|action| action.name.clone());
                return Err(UnknownName { name: name.clone(), near: near(name, known) });
            }
        }
        Ok(on_large_stack(|| of_rules(model, names)))
    }

    /// Whether there are too many rules to tell any of them apart.
    pub fn is_lumped(&self) -> bool {
        self.relations.numbering().is_lumped()
    }

    /// Whether there are so many firings that searches refuse sleep sets.
    pub fn too_many(&self) -> bool {
        self.firings > MOST_LABELS
    }

    /// What two instances have to do with each other.
    pub fn relation(&self, a: usize, b: usize) -> Relation {
        let (x, y) = (self.ids[a].index(), self.ids[b].index());
        if a == b {
            Relation::Same
        } else if self.relations.independent().get(x, y) {
            Relation::Independent
        } else if self.relations.accords().get(x, y) {
            Relation::Commutes
        } else {
            Relation::Dependent
        }
    }

    /// Why two instances are not independent; `None` if they are.
    pub fn cause(&self, a: usize, b: usize) -> Option<Cause> {
        let reason = self.relations.reason(self.ids[a], self.ids[b])?;
        let (writer, other) = if reason.writer == self.ids[a] { (a, b) } else { (b, a) };
        Some(Cause { why: reason.why, writer, other, part: reason.part, text: reason.text })
    }

    /// All pairs of different instances, the larger number first.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        (0..self.instances.len()).flat_map(|a| (0..a).map(move |b| (a, b)))
    }

    /// Counts.
    pub fn counts(&self) -> Counts {
        let count = |which: fn(&Instance) -> bool| {
            self.instances.iter().filter(|instance| which(instance)).count() as u64
        };
        let mut counts = Counts {
            merged: count(|instance| instance.merged),
            coarse: count(|instance| instance.coarse),
            visible: count(|instance| instance.visible),
            ..Counts::default()
        };
        for (a, b) in self.pairs() {
            let relation = self.relation(a, b);
            let usable = !self.instances[a].merged && !self.instances[b].merged;
            let independent = relation == Relation::Independent;
            let commuting = independent || relation == Relation::Commutes;
            counts.pairs += 1;
            counts.independent += u64::from(independent);
            counts.commuting += u64::from(commuting);
            counts.usable += u64::from(commuting && usable);
            counts.usable_independent += u64::from(independent && usable);
        }
        counts
    }

    /// The instances that a name means: the instance of that name (spaces do not matter), or all
    /// instances of the rules of that name.
    pub fn find(&self, name: &str) -> Result<Vec<usize>, UnknownName> {
        let bare = |name: &str| name.split_whitespace().collect::<String>();
        let wanted = bare(name);
        let is_it = |i: &usize| bare(&self.instances[*i].name) == wanted;
        if let Some(instance) = (0..self.instances.len()).find(is_it) {
            return Ok(vec![instance]);
        }
        let rules: Vec<&Rule> = self.rules.iter().filter(|r| bare(&r.name) == wanted).collect();
        if !rules.is_empty() {
            return Ok(rules.iter().flat_map(|rule| rule.instances.clone()).collect());
        }
        let rules = self.rules.iter().map(|rule| rule.name.clone());
        let known = rules.chain(self.instances.iter().map(|instance| instance.name.clone()));
        Err(UnknownName { name: name.to_string(), near: near(name, known) })
    }
}

fn of_rules(model: &Model, names: &[String]) -> Commutation {
    let program = &model.program;
    let options = Options { max_instances: MOST_INSTANCES, ..Options::default() };
    let relations = Independence::new(program, &options);
    let parts = Parts::new(program);
    let numbering = relations.numbering();
    let lumped = numbering.is_lumped();
    let mut own: Vec<Vec<InstanceId>> = vec![Vec::new(); program.actions.len()];
    for id in numbering.all() {
        own[numbering.rule(id)].push(id);
    }
    // All rules as one have the first one's place.
    let mut order: Vec<usize> = (0..if lumped { 1 } else { own.len() }).collect();
    order.sort_by_key(|action| program.actions[*action].span.start);
    let (mut rules, mut instances, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    for action in order {
        let name = &program.actions[action].name;
        if !(names.is_empty() || lumped || names.contains(name)) {
            continue;
        }
        let (own, first) = (&own[action], instances.len());
        let name = if lumped { "any rule".to_string() } else { name.clone() };
        instances.extend(own.iter().map(|id| instance(&relations, *id, rules.len())));
        rules.push(rule(&relations, &parts, name, first, own));
        ids.extend(own);
    }
    // Labels of start states come first.
    let labels = Instances::new(program);
    let starts = program.actions.first().map_or(0, |_| labels.base(false, 0));
    let firings = labels.total().saturating_sub(u128::from(starts));
    Commutation { rules, instances, firings, relations, ids }
}

fn instance(relations: &Independence, id: InstanceId, rule: usize) -> Instance {
    Instance {
        name: relations.name(id),
        rule,
        merged: relations.numbering().is_merged(id),
        coarse: relations.footprint(id).coarse,
        visible: has(relations.visible(), id.index()),
        kind: relations.kind(id),
    }
}

fn rule(
    relations: &Independence,
    parts: &Parts<'_>,
    name: String,
    first: usize,
    own: &[InstanceId],
) -> Rule {
    let footprints = || own.iter().map(|id| relations.footprint(*id));
    Rule {
        name,
        instances: first..first + own.len(),
        guard: parts.names(footprints().map(|f| &f.guard)),
        body: parts.names(footprints().map(|f| &f.body)),
        context: parts.names(footprints().flat_map(|f| [&f.rank, &f.assumed])),
        writes: parts.names(footprints().map(|f| &f.writes)),
    }
}

/// A part of the state, or all elements of arrays at one place, and the pairs that it keeps from
/// being independent. A pair counts once, for the first part that is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Culprit {
    /// Its name, as in `chan[*].len`; empty for pairs that touch too much to name a part.
    pub part: String,
    /// How many parts of that form there are.
    pub parts: usize,
    /// Pairs that are dependent because of it.
    pub dependent: u64,
    /// Pairs that commute in spite of it wherever both are enabled.
    pub commuting: u64,
    /// Such a pair, a dependent one if there is one.
    pub example: Cause,
}

/// The causes of all dependencies, each distinct one once.
#[derive(Clone, Debug, Default)]
pub struct Causes {
    /// Names of the parts of the state.
    pub parts: Vec<String>,
    /// Distinct causes: kind, part, and whether the first instance of a pair is the one that writes.
    pub list: Vec<(Why, usize, bool)>,
    /// For each pair, in the order of [`Commutation::pairs`], the position of its cause.
    pub of_pairs: Vec<Option<u32>>,
    /// By form of part, those with the most dependent pairs first.
    pub culprits: Vec<Culprit>,
}

impl Causes {
    /// Looks at all pairs.
    pub fn new(of: &Commutation) -> Causes {
        let mut causes = Causes::default();
        let (mut parts, mut list): (HashMap<_, usize>, HashMap<_, u32>) = Default::default();
        let mut culprits = BTreeMap::new();
        for (a, b) in of.pairs() {
            // Where both write, the sentence begins with the one that comes first in the model.
            let Some(cause) = of.cause(b, a) else {
                causes.of_pairs.push(None);
                continue;
            };
            let new = parts.len();
            let part = *parts.entry(cause.part.clone()).or_insert(new);
            if part == new {
                causes.parts.push(cause.part.clone());
            }
            let writes = cause.writer == a;
            let number = *list.entry((cause.why as u8, part, writes)).or_insert_with(|| {
                causes.list.push((cause.why, part, writes));
                causes.list.len() as u32 - 1
            });
            causes.of_pairs.push(Some(number));
            blame(&mut culprits, cause, part == new, of.relation(a, b));
        }
        causes.culprits = culprits.into_values().collect();
        let weight = |c: &Culprit| std::cmp::Reverse((c.dependent, c.commuting));
        causes.culprits.sort_by_key(weight);
        causes
    }
}

/// Counts a pair for its part.
fn blame(to: &mut BTreeMap<String, Culprit>, cause: Cause, new: bool, relation: Relation) {
    let dependent = relation == Relation::Dependent;
    let form = pattern(&cause.part);
    let culprit = to.entry(form.clone()).or_insert_with(|| Culprit {
        part: form,
        parts: 0,
        dependent: 0,
        commuting: 0,
        example: cause.clone(),
    });
    if dependent && culprit.dependent == 0 {
        culprit.example = cause;
    }
    culprit.parts += usize::from(new);
    culprit.dependent += u64::from(dependent);
    culprit.commuting += u64::from(!dependent);
}

/// Names that are shown for one that is unknown.
const NEAR: usize = 5;

/// The names most like a wrong one, by the pairs of neighbouring letters that they share.
fn near(wrong: &str, known: impl Iterator<Item = String>) -> Vec<String> {
    let letters = |name: &str| {
        let small = name.to_lowercase();
        let small = small.chars().filter(|c| !c.is_whitespace());
        // The ends count as letters, so that one letter is a name too.
        let small: Vec<char> = ['^'].into_iter().chain(small).chain(['$']).collect();
        let pairs = small.windows(2).map(|pair| (pair[0], pair[1]));
        pairs.collect::<std::collections::BTreeSet<_>>()
    };
    let wanted = letters(wrong);
    let likeness = |name: &str| {
        let own = letters(name);
        let common = own.intersection(&wanted).count();
        200 * common / (own.len() + wanted.len()).max(1)
    };
    let mut found: Vec<(usize, String)> = known.map(|name| (likeness(&name), name)).collect();
    found.retain(|(likeness, _)| *likeness >= 40);
    found.sort_by_key(|(likeness, _)| std::cmp::Reverse(*likeness));
    found.dedup();
    found.into_iter().take(NEAR).map(|(_, name)| name).collect()
}
