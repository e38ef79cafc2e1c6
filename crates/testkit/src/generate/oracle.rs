//! The oracle: an exploration of a model so naive that it can be believed by reading it.
//!
//! States are vectors of values in a `HashSet`, the frontier is a `VecDeque`. The order is
//! CMurphi's: rules and start states in reverse source order, of a ruleset's quantifiers the
//! first varies fastest (enclosing quantifiers count as earlier ones), invariants in source order
//! when a state is new. Without a violation, no count depends on that order.

use super::eval::{Fault, Machine, Stop, Value, undefined};
use super::model::{Binder, Expr, Model, Rule, Stmt, Var};
use std::collections::{HashSet, VecDeque};

/// How far to explore, and what to look for.
#[derive(Copy, Clone, Debug)]
pub struct Limits {
    /// Give up beyond so many states.
    pub states: usize,
    /// Give up beyond so many steps of the interpreter.
    pub steps: u64,
    /// Whether deadlocks are violations.
    pub deadlock: Deadlock,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { states: 20_000, steps: 50_000_000, deadlock: Deadlock::Off }
    }
}

/// Which states count as deadlocks.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Deadlock {
    /// None.
    Off,
    /// Those where no rule is enabled or all lead back to the state itself, as in CMurphi.
    Stutter,
    /// Those where no rule is enabled.
    Stuck,
}

/// What the exploration found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OracleResult {
    /// Whether the model is correct.
    pub verdict: Verdict,
    /// Distinct states found so far, a violating one included.
    pub states: usize,
    /// Rules fired so far, start states and faulting rules excluded. A rule instance counts
    /// once per state in which it is enabled; equal elements of a `choose` count separately.
    pub transitions: usize,
    /// For a violation, the least number of transitions that lead to any violation: a fault while
    /// a rule of a state at depth d is evaluated counts as d + 1, a fault in a start state as 0, a
    /// bad or deadlocked state at depth d as d. Otherwise the greatest depth of a state.
    pub depth: usize,
    /// For a violation, the least number of transitions that lead to the one in the verdict. A deadlock is
    /// noticed when its state is expanded, so one that is a step nearer may come too late for the verdict.
    pub length: usize,
}

/// Whether a model is correct.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every reachable state was seen and none is bad.
    Holds,
    /// Something is wrong.
    Violated {
        /// What was found first in breadth-first order.
        kind: Violation,
    },
    /// A limit was reached first.
    TooBig,
}

/// The kinds of violation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Violation {
    /// A start state, guard, body or invariant went wrong.
    Fault(Fault),
    /// The invariant of this name was false.
    Invariant(String),
    /// No progress is possible.
    Deadlock,
}

/// Explores a model that [`check`](super::check) accepts.
///
/// # Panics
/// If the model is ill-formed.
pub fn explore(model: &Model, limits: Limits) -> OracleResult {
    let mut search = Search::new(model, limits);
    let verdict = match search.run() {
        Ok(()) => Verdict::Holds,
        Err(End::Violated(kind)) => Verdict::Violated { kind },
        Err(End::TooBig) => Verdict::TooBig,
    };
    OracleResult {
        verdict,
        states: search.seen.len(),
        transitions: search.transitions,
        depth: search.depth,
        length: search.length.unwrap_or(search.depth),
    }
}

type State = Vec<Value>;

/// Why a search ends before all states were seen.
enum End {
    Violated(Violation),
    TooBig,
}

impl From<Stop> for End {
    fn from(stop: Stop) -> End {
        match stop {
            Stop::Fault(f) => End::Violated(Violation::Fault(f)),
            Stop::Limit => End::TooBig,
        }
    }
}

/// What surrounds a rule, outermost first.
#[derive(Copy, Clone)]
enum Around<'m> {
    Binder(&'m Binder),
    Alias(&'m str, &'m Expr),
    Choose(&'m str, &'m str),
}

/// A rule, start state or invariant with its surroundings.
struct Flat<'m> {
    around: Vec<Around<'m>>,
    leaf: &'m Rule,
}

fn flatten<'m>(rules: &'m [Rule], around: &mut Vec<Around<'m>>, out: &mut Vec<Flat<'m>>) {
    for rule in rules {
        let height = around.len();
        match rule {
            Rule::Simple { .. } | Rule::Start { .. } | Rule::Invariant { .. } => {
                out.push(Flat { around: around.clone(), leaf: rule });
            }
            Rule::Ruleset { binders, rules } => {
                around.extend(binders.iter().map(Around::Binder));
                flatten(rules, around, out);
            }
            Rule::Alias { aliases, rules } => {
                around.extend(aliases.iter().map(|(name, e)| Around::Alias(name, e)));
                flatten(rules, around, out);
            }
            Rule::Choose { index, multiset, rules } => {
                around.push(Around::Choose(index, multiset));
                flatten(rules, around, out);
            }
        }
        around.truncate(height);
    }
}

struct Search<'m> {
    model: &'m Model,
    limits: Limits,
    steps: u64,
    /// All in source order.
    rules: Vec<Flat<'m>>,
    starts: Vec<Flat<'m>>,
    invariants: Vec<Flat<'m>>,
    seen: HashSet<State>,
    queue: VecDeque<(State, usize)>,
    transitions: usize,
    depth: usize,
    /// How far the violation is, if a deadlock is nearer.
    length: Option<usize>,
}

impl<'m> Search<'m> {
    fn new(model: &'m Model, limits: Limits) -> Search<'m> {
        let mut all = Vec::new();
        flatten(&model.rules, &mut Vec::new(), &mut all);
        let (starts, all): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|f| matches!(f.leaf, Rule::Start { .. }));
        let (invariants, rules) =
            all.into_iter().partition(|f| matches!(f.leaf, Rule::Invariant { .. }));
        Search {
            model,
            limits,
            steps: limits.steps,
            rules,
            starts,
            invariants,
            seen: HashSet::new(),
            queue: VecDeque::new(),
            transitions: 0,
            depth: 0,
            length: None,
        }
    }

    fn run(&mut self) -> Result<(), End> {
        let blank: State = self.model.vars.iter().map(|v| undefined(self.model, &v.ty)).collect();
        for i in (0..self.starts.len()).rev() {
            for choice in self.choices(&self.starts[i].around, &blank) {
                let state = self.fire(i, true, &choice, &blank)?;
                self.insert(state.expect("a start state has no guard"), 0)?;
            }
        }
        while let Some((state, depth)) = self.queue.pop_front() {
            self.depth = depth + 1;
            match self.expand(&state, depth) {
                Ok(false) => self.depth = depth,
                Ok(true) => {
                    self.depth = depth;
                    return Err(End::Violated(Violation::Deadlock));
                }
                Err(end) => {
                    if matches!(end, End::Violated(_)) && self.deadlock_remains(depth) {
                        self.length = Some(depth + 1);
                        self.depth = depth;
                    }
                    return Err(end);
                }
            }
        }
        Ok(())
    }

    /// Fires all rules of a state; tells whether it is a deadlock.
    fn expand(&mut self, state: &State, depth: usize) -> Result<bool, End> {
        let mut enabled = false;
        let mut progress = false;
        for i in (0..self.rules.len()).rev() {
            for choice in self.choices(&self.rules[i].around, state) {
                if let Some(next) = self.fire(i, false, &choice, state)? {
                    enabled = true;
                    progress |= next != *state;
                    self.transitions += 1;
                    self.insert(next, depth + 1)?;
                }
            }
        }
        Ok(match self.limits.deadlock {
            Deadlock::Off => false,
            Deadlock::Stutter => !progress,
            Deadlock::Stuck => !enabled,
        })
    }

    /// Whether a state still waiting at this depth is a deadlock: then a violation one deeper,
    /// though found first, is not the nearest.
    fn deadlock_remains(&mut self, depth: usize) -> bool {
        if self.limits.deadlock == Deadlock::Off {
            return false;
        }
        let waiting = std::mem::take(&mut self.queue);
        let (seen, transitions) = (self.seen.clone(), self.transitions);
        let mut same = waiting.into_iter().filter(|(_, d)| *d == depth);
        let found = same.any(|(state, _)| matches!(self.expand(&state, depth), Ok(true)));
        self.seen = seen;
        self.transitions = transitions;
        found
    }

    fn insert(&mut self, state: State, depth: usize) -> Result<(), End> {
        if !self.seen.insert(state.clone()) {
            return Ok(());
        }
        if self.seen.len() > self.limits.states {
            return Err(End::TooBig);
        }
        self.depth = self.depth.max(depth);
        self.check_invariants(&state)?;
        self.queue.push_back((state, depth));
        Ok(())
    }

    fn check_invariants(&mut self, state: &State) -> Result<(), End> {
        for i in 0..self.invariants.len() {
            for choice in self.choices(&self.invariants[i].around, state) {
                let flat = &self.invariants[i];
                let Rule::Invariant { name, cond } = flat.leaf else { continue };
                let mut machine = Machine::new(self.model, state.clone(), self.steps);
                enter(&mut machine, &flat.around, &choice)?;
                let holds = machine.bool(cond)?;
                self.steps = machine.steps;
                if !holds {
                    return Err(End::Violated(Violation::Invariant(name.clone())));
                }
            }
        }
        Ok(())
    }

    /// Every way to choose the quantified values and elements around a rule, the first varying
    /// fastest. A choice has one entry per quantifier: its value, or the element's position.
    fn choices(&self, around: &[Around<'m>], state: &State) -> Vec<Vec<Value>> {
        let mut machine = Machine::new(self.model, state.clone(), 0);
        let mut choices = vec![Vec::new()];
        for a in around {
            let values: Vec<Value> = match a {
                Around::Binder(binder) => machine.domain(binder),
                Around::Choose(_, multiset) => {
                    (0..machine.size_of(multiset)).map(|i| Value::Int(i as i64)).collect()
                }
                Around::Alias(..) => continue,
            };
            let mut longer = Vec::new();
            for value in values {
                for choice in &choices {
                    let mut choice: Vec<Value> = choice.clone();
                    choice.push(value.clone());
                    longer.push(choice);
                }
            }
            choices = longer;
        }
        choices
    }

    /// The successor by one instance of a rule or start state, or nothing if its guard is false.
    fn fire(
        &mut self,
        i: usize,
        start: bool,
        choice: &[Value],
        state: &State,
    ) -> Result<Option<State>, End> {
        let flat = if start { &self.starts[i] } else { &self.rules[i] };
        let mut machine = Machine::new(self.model, state.clone(), self.steps);
        enter(&mut machine, &flat.around, choice)?;
        let (guard, locals, body): (_, &'m [Var], &'m [Stmt]) = match flat.leaf {
            Rule::Simple { guard, locals, body, .. } => (guard.as_ref(), locals, body),
            Rule::Start { locals, body, .. } => (None, locals, body),
            _ => return Ok(None),
        };
        let enabled = guard.map_or(Ok(true), |g| machine.bool(g))?;
        if enabled {
            machine.run(locals, body)?;
        }
        self.steps = machine.steps;
        Ok(enabled.then(|| sorted(machine.globals)))
    }
}

/// The same state with the elements of its multisets in their one canonical order.
fn sorted(mut state: State) -> State {
    for value in &mut state {
        if let Value::Multiset(elements) = value {
            elements.sort();
        }
    }
    state
}

/// Binds the names around a rule.
fn enter<'m>(
    machine: &mut Machine<'m>,
    around: &[Around<'m>],
    choice: &[Value],
) -> Result<(), Stop> {
    let mut chosen = choice.iter();
    for a in around {
        match *a {
            Around::Binder(binder) => {
                machine.bind(binder, chosen.next().expect("one value each").clone());
            }
            Around::Choose(index, _) => match chosen.next() {
                Some(Value::Int(i)) => machine.bind_element(index, *i as usize),
                other => panic!("{other:?} is not a position"),
            },
            Around::Alias(name, meaning) => machine.bind_alias(name, meaning)?,
        }
    }
    Ok(())
}
