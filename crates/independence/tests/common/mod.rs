//! The judge of everything that is claimed about rule instances: it fires them, in all orders, on
//! reachable states.
#![allow(dead_code, reason = "each test file uses a part of it")]

use ergodic_independence::{ConjunctKind, Independence, InstanceId, Why, has};
use ergodic_interp::{FireOne, Interpreter, Scratch};
use ergodic_ir::{Instances, Layout, Program, PropertyKind, bits, domain_value};
use ergodic_system::{
    Batch, Block, Cursor, DeadlockMode, Label, PAD_WORDS, RuleSystem, Step, System,
};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// What came of firing a label in a state, priorities considered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Disabled,
    /// Disabled by a rule of a smaller priority number.
    Outranked,
    Dropped,
    Fault(u16),
    State(Vec<u64>),
}

impl Outcome {
    pub fn off(&self) -> bool {
        matches!(self, Outcome::Disabled | Outcome::Outranked)
    }

    /// The same as far as another rule is concerned.
    fn like(&self, other: &Outcome) -> bool {
        match (self, other) {
            (Outcome::State(_), Outcome::State(_)) => true,
            _ => self.off() && other.off() || self == other,
        }
    }
}

/// A program with its reachable states.
pub struct Judge {
    pub program: Arc<Program>,
    pub relations: Independence,
    interpreter: Interpreter,
    guards: Interpreter,
    labels: Vec<Label>,
    ids: Vec<InstanceId>,
    pub states: Vec<Vec<u64>>,
    starts: Vec<Vec<u64>>,
    /// All reachable states are among them.
    complete: bool,
    cache: HashMap<Vec<u64>, Arc<Vec<Outcome>>>,
}

/// What was looked at, so that a test can tell that it looked at something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub pairs: u64,
    pub independent: u64,
    pub refined: u64,
    pub enabled: u64,
    /// Firings that sleep sets need, and all there are.
    pub needed: u64,
    pub all: u64,
}

impl Judge {
    /// Explores at most so many states of a program with at most so many labels.
    pub fn new(
        program: Arc<Program>,
        relations: Independence,
        max_states: usize,
        max_labels: u64,
    ) -> Option<Judge> {
        let interpreter = Interpreter::new(program.clone(), DeadlockMode::Off);
        let guards = Interpreter::new(relations.guards().program().clone(), DeadlockMode::Off);
        let instances = Instances::new(&program);
        let mut labels = Vec::new();
        for action in 0..program.actions.len() {
            let count = instances.count(false, action);
            if labels.len() as u64 + count > max_labels {
                return None;
            }
            labels.extend((0..count).map(|i| instances.label(false, action, i)));
        }
        let of = |label: &Label| relations.numbering().of_label(*label).expect("of an action");
        let ids = labels.iter().map(of).collect();
        let cache = HashMap::new();
        let (states, starts, complete) = (Vec::new(), Vec::new(), true);
        let mut judge = Judge {
            program,
            relations,
            interpreter,
            guards,
            labels,
            ids,
            states,
            starts,
            complete,
            cache,
        };
        judge.explore(max_states);
        Some(judge)
    }

    fn explore(&mut self, max_states: usize) {
        let mut seen: HashMap<Vec<u64>, ()> = HashMap::new();
        let mut waiting: VecDeque<Vec<u64>> = VecDeque::new();
        let mut scratch = RuleSystem::scratch(&self.interpreter);
        let mut batch = Batch::new(RuleSystem::shape(&self.interpreter), 64);
        let mut cursor = Cursor::default();
        loop {
            let step = self.interpreter.initial(&mut scratch, &mut cursor, &mut batch);
            (0..batch.len()).for_each(|i| waiting.push_back(batch.state(i).to_vec()));
            batch.clear();
            if step == Step::Done {
                break;
            }
        }
        self.starts = waiting.iter().cloned().collect();
        while let Some(state) = waiting.pop_front() {
            if seen.contains_key(&state) {
                continue;
            }
            if seen.len() >= max_states {
                self.complete = false;
                break;
            }
            seen.insert(state.clone(), ());
            let mut words = state.clone();
            words.resize(state.len() + PAD_WORDS, 0);
            let block = Block::new(&words, state.len(), 1);
            let mut cursor = Cursor::default();
            loop {
                let step = self.interpreter.expand(&mut scratch, block, &mut cursor, &mut batch);
                self.check_numbers(&batch);
                (0..batch.len()).for_each(|i| waiting.push_back(batch.state(i).to_vec()));
                batch.clear();
                if step == Step::Done {
                    break;
                }
            }
            self.states.push(state);
        }
    }

    /// The numbers of firings, from what a search sees of them.
    fn check_numbers(&self, batch: &Batch) {
        let numbering = self.relations.numbering();
        let instances = Instances::new(&self.program);
        for (rule, label) in batch.rules().iter().zip(batch.labels()) {
            let id = self.relations.instance(*rule, *label);
            assert!(id.index() < self.relations.len());
            assert_eq!(numbering.of_label(*label), Some(id));
            assert!(numbering.rules(id).contains(&(*rule as usize)));
            if !numbering.is_merged(id) {
                assert_eq!(numbering.label(id), Some(*label));
            }
            let (_, action, number) = instances.locate(*label);
            let params = &self.program.actions[action].params;
            let ordinals = instances.ordinals(false, action, number);
            for ((param, ordinal), value) in
                params.iter().zip(ordinals).zip(numbering.values(&self.program, id))
            {
                let is = domain_value(&param.over, &self.program.types, ordinal);
                assert!(value.is_none_or(|value| value == is));
            }
        }
    }

    fn fire(&self, scratch: &mut Scratch, state: &[u64], label: Label) -> Outcome {
        match self.interpreter.fire_label(scratch, state, label) {
            Ok(FireOne::Disabled) => Outcome::Disabled,
            Ok(FireOne::Dropped) => Outcome::Dropped,
            Ok(FireOne::State(state)) => Outcome::State(state),
            Err(fault) => Outcome::Fault(fault.kind),
        }
    }

    /// What all labels do in a state.
    fn outcomes(&mut self, state: &[u64]) -> Arc<Vec<Outcome>> {
        if let Some(known) = self.cache.get(state) {
            return known.clone();
        }
        let mut scratch = RuleSystem::scratch(&self.interpreter);
        let mut all: Vec<Outcome> =
            self.labels.iter().map(|label| self.fire(&mut scratch, state, *label)).collect();
        let priority =
            |i: usize| self.program.actions[self.relations.numbering().rule(self.ids[i])].priority;
        let on = (0..all.len()).filter(|i| !all[*i].off());
        if let Some(best) = on.map(priority).min() {
            for (i, outcome) in all.iter_mut().enumerate() {
                if priority(i) > best {
                    *outcome = Outcome::Outranked;
                }
            }
        }
        let all = Arc::new(all);
        self.cache.insert(state.to_vec(), all.clone());
        all
    }

    /// Checks everything; panics on the first thing that is wrong.
    pub fn check(&mut self) -> Seen {
        self.check_shapes();
        let mut seen = Seen::default();
        for state in self.states.clone() {
            let here = self.outcomes(&state);
            for a in 0..self.labels.len() {
                if let Outcome::State(after) = &here[a] {
                    self.check_writes(a, &state, after);
                    let there = self.outcomes(after);
                    for b in 0..self.labels.len() {
                        if self.ids[a] != self.ids[b] {
                            self.check_pair((a, b), &here, &there, &mut seen);
                        }
                    }
                    seen.enabled += self.check_enabling(a, &state, &here, &there);
                }
            }
        }
        self.check_reads();
        (seen.needed, seen.all) = self.check_sleep();
        seen
    }

    /// A search by levels with sleep sets that uses accord: it must reach all states. Returns how
    /// many firings it needs, and how many there are.
    pub fn check_sleep(&mut self) -> (u64, u64) {
        if !self.complete {
            return (0, 0);
        }
        let words = self.relations.len().div_ceil(64);
        let (mut needed, mut all) = (0, 0);
        let mut known: HashSet<Vec<u64>> = HashSet::new();
        let mut level: HashMap<Vec<u64>, Vec<u64>> =
            self.starts.clone().into_iter().map(|state| (state, vec![0; words])).collect();
        while !level.is_empty() {
            known.extend(level.keys().cloned());
            let mut next: HashMap<Vec<u64>, Vec<u64>> = HashMap::new();
            for (state, sleep) in level {
                let here = self.outcomes(&state);
                all += here.iter().filter(|o| matches!(o, Outcome::State(_))).count() as u64;
                needed += self.wake(&here, sleep, &known, &mut next);
            }
            level = next;
        }
        for state in &self.states {
            assert!(known.contains(state), "sleep sets lose a state");
        }
        (needed, all)
    }

    /// Fires what does not sleep, and gives what is reached its sleep set.
    fn wake(
        &self,
        here: &[Outcome],
        mut sleep: Vec<u64>,
        known: &HashSet<Vec<u64>>,
        next: &mut HashMap<Vec<u64>, Vec<u64>>,
    ) -> u64 {
        let mut fired = 0;
        for id in self.relations.numbering().all() {
            // What sleeps now slept from the start, or was fired before, which comes by once only.
            if has(&sleep, id.index()) {
                continue;
            }
            let mine: Vec<&Outcome> =
                (0..here.len()).filter(|i| self.ids[*i] == id).map(|i| &here[i]).collect();
            for outcome in &mine {
                let Outcome::State(after) = outcome else { continue };
                fired += 1;
                if known.contains(after) {
                    continue;
                }
                let accords = self.relations.accords().row(id.index());
                let given: Vec<u64> = sleep.iter().zip(accords).map(|(a, b)| a & b).collect();
                next.entry(after.clone())
                    .and_modify(|all| all.iter_mut().zip(&given).for_each(|(a, b)| *a &= b))
                    .or_insert(given);
            }
            let faulted = mine.iter().any(|outcome| matches!(outcome, Outcome::Fault(_)));
            if !faulted && mine.iter().any(|outcome| !outcome.off()) {
                sleep[id.index() / 64] |= 1 << (id.index() % 64);
            }
        }
        fired
    }

    fn check_pair(
        &mut self,
        (a, b): (usize, usize),
        here: &[Outcome],
        there: &[Outcome],
        seen: &mut Seen,
    ) {
        let (x, y) = (self.ids[a].index(), self.ids[b].index());
        seen.pairs += 1;
        let independent = self.relations.independent().get(x, y);
        let both = !here[b].off() && !matches!(here[b], Outcome::Fault(_));
        let accord = self.relations.accords().get(x, y) && both;
        if !independent && !accord {
            return;
        }
        seen.independent += u64::from(independent);
        seen.refined += u64::from(!independent);
        assert!(
            there[b].like(&here[b]),
            "{} changes {}: {:?} to {:?}",
            self.relations.name(self.ids[a]),
            self.relations.name(self.ids[b]),
            here[b],
            there[b]
        );
        if let (Outcome::State(after_b), Outcome::State(end)) = (&here[b], &there[b]) {
            let other = self.outcomes(after_b);
            let names = (self.relations.name(self.ids[a]), self.relations.name(self.ids[b]));
            assert_eq!(other[a], Outcome::State(end.clone()), "{names:?} do not commute");
        }
    }

    /// Bits that change are written.
    fn check_writes(&self, a: usize, before: &[u64], after: &[u64]) {
        let moves = has(self.relations.moving(), self.ids[a].index());
        assert!(!moves || before != after, "{} moves nothing", self.relations.name(self.ids[a]));
        let writes = &self.relations.footprint(self.ids[a]).writes;
        for (i, (x, y)) in before.iter().zip(after).enumerate() {
            let mut changed = x ^ y;
            while changed != 0 {
                let bit = i * 64 + changed.trailing_zeros() as usize;
                changed &= changed - 1;
                assert!(
                    writes.contains(bit),
                    "{} writes {}",
                    self.relations.name(self.ids[a]),
                    self.relations.part_name((bit, bit + 1))
                );
            }
        }
    }

    /// Labels that `a` enables have it in the necessary enabling sets of false conjuncts.
    fn check_enabling(&self, a: usize, state: &[u64], here: &[Outcome], there: &[Outcome]) -> u64 {
        let mut checked = 0;
        let mut scratch = RuleSystem::scratch(&self.guards);
        for b in 0..self.labels.len() {
            let same = |i: &usize| self.ids[*i] == self.ids[b];
            let was_off = (0..here.len()).filter(same).all(|i| here[i].off());
            if there[b].off() || !was_off {
                continue;
            }
            let mut first = true;
            let fine = matches!(there[b], Outcome::State(_));
            for (i, conjunct) in self.relations.conjuncts().of(self.ids[b]).iter().enumerate() {
                let is_false = match conjunct.kind {
                    ConjunctKind::Part(position) => {
                        let label = self.relations.conjunct_label(self.ids[b], position);
                        let label = label.expect("an instance of its own");
                        let fired = self.guards.fire_label(&mut scratch, state, label);
                        fired == Ok(FireOne::Disabled)
                    }
                    ConjunctKind::Whole => here[b] == Outcome::Disabled,
                    ConjunctKind::Rank => here[b] == Outcome::Outranked,
                };
                if is_false && (first || fine) {
                    checked += 1;
                    let row = self.relations.conjuncts().enabling().row(conjunct.enabling as usize);
                    assert!(
                        has(row, self.ids[a].index()),
                        "{} makes conjunct {i} of {} true",
                        self.relations.name(self.ids[a]),
                        self.relations.name(self.ids[b])
                    );
                }
                first &= !is_false;
            }
        }
        checked
    }

    /// Firing does not depend on bits that are not read: those of another state do as well.
    fn check_reads(&mut self) {
        let assumes = |p: &ergodic_ir::Property| p.kind == PropertyKind::Assumption;
        if self.program.properties.iter().any(assumes) {
            return;
        }
        let mut scratch = RuleSystem::scratch(&self.interpreter);
        let n = self.states.len();
        for i in 0..n.min(100) {
            let (one, other) = (&self.states[i], &self.states[(i * 7 + 3) % n]);
            for (a, label) in self.labels.iter().enumerate() {
                let footprint = self.relations.footprint(self.ids[a]);
                let mut mixed = other.clone();
                for (start, end) in footprint.reads.iter() {
                    bits::copy(&mut mixed, start, one, start, end - start);
                }
                let (x, y) =
                    (self.fire(&mut scratch, one, *label), self.fire(&mut scratch, &mixed, *label));
                let name = self.relations.name(self.ids[a]);
                assert!(x.like(&y), "{name} reads more than it should: {x:?} and {y:?}");
                let (Outcome::State(x), Outcome::State(y)) = (x, y) else { continue };
                for bit in footprint.writes.iter().flat_map(|(start, end)| start..end) {
                    let at = |words: &[u64]| bits::read(words, bit, 1);
                    let left_alone = at(&x) == at(one) && at(&y) == at(&mixed);
                    assert!(at(&x) == at(&y) || left_alone, "{name} reads more, writing bit {bit}");
                }
            }
        }
    }

    /// Relations are symmetric and have reasons.
    fn check_shapes(&self) {
        let relations = &self.relations;
        for a in relations.numbering().all() {
            assert!(!relations.independent().get(a.index(), a.index()));
            for b in relations.numbering().all() {
                let pair = (a.index(), b.index());
                let independent = relations.independent().get(pair.0, pair.1);
                assert_eq!(independent, relations.independent().get(pair.1, pair.0));
                let accords = relations.accords().get(pair.0, pair.1);
                assert_eq!(accords, relations.accords().get(pair.1, pair.0));
                assert!(accords || !independent);
                let open = relations.do_not_accord().get(pair.0, pair.1);
                assert_eq!(open, a != b && !accords);
                match relations.reason(a, b) {
                    None => assert!(independent),
                    Some(reason) => {
                        assert!(!independent && !reason.text.is_empty());
                        assert_eq!(reason.why == Why::Same, a == b);
                        assert_ne!(reason.why, Why::Coarse, "{}", reason.text);
                        assert_eq!(reason.part.is_empty(), a == b);
                    }
                }
            }
        }
    }

    /// Where variables lie.
    pub fn layout(&self) -> Layout {
        Layout::new(&self.program)
    }
}
