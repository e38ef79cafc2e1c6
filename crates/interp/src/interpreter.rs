//! Firing, judging, and the traits of the waist.

use crate::machine::{Eval, Machine, Stop};
use crate::memory::{FrameShape, Scratch};
use ergodic_ir::{
    Action, Domain, Instances, Layout, Local, ProcId, Program, PropertyKind, domain_value,
};
use ergodic_system::{
    Batch, Block, Cursor, DeadlockMode, Fault, Fired, Label, Live, PAD_WORDS, Picks, RuleSystem,
    Shape, Step, System, Violation, ViolationKind,
};
use std::sync::Arc;

/// The reference executor of a program.
#[derive(Debug)]
pub struct Interpreter {
    program: Arc<Program>,
    layout: Layout,
    instances: Instances,
    deadlock: DeadlockMode,
    classes: Vec<Vec<u32>>,
    frames: Frames,
    invariants: Vec<u32>,
    assumptions: Vec<u32>,
    covers: Vec<u32>,
    live: Vec<u32>,
}

/// The frames of everything that has locals.
#[derive(Debug)]
struct Frames {
    starts: Vec<FrameShape>,
    actions: Vec<FrameShape>,
    procs: Vec<FrameShape>,
    properties: Vec<FrameShape>,
}

/// What came of firing one instance of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FireOne {
    /// Its guard is false, or a parameter is a slot that holds no element.
    Disabled,
    /// An assumption is false.
    Dropped,
    /// This successor.
    State(Vec<u64>),
}

/// As [`FireOne`], with the successor in `Scratch::state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    Disabled,
    Dropped,
    Made,
}

impl Interpreter {
    /// An executor for a program that passed [`ergodic_ir::verify`].
    pub fn new(program: Arc<Program>, deadlock: DeadlockMode) -> Interpreter {
        let layout = Layout::new(&program);
        let shape = |locals: &[Local]| FrameShape::new(locals, &layout);
        let frames = Frames {
            starts: program.starts.iter().map(|a| shape(&a.locals)).collect(),
            actions: program.actions.iter().map(|a| shape(&a.locals)).collect(),
            procs: program.procs.iter().map(|p| shape(&p.locals)).collect(),
            properties: program.properties.iter().map(|p| shape(&p.locals)).collect(),
        };
        let of_kind = |kind: PropertyKind| -> Vec<u32> {
            let indices = 0..program.properties.len() as u32;
            indices.filter(|i| program.properties[*i as usize].kind == kind).collect()
        };
        Interpreter {
            instances: Instances::new(&program),
            deadlock,
            classes: classes(&program.actions),
            frames,
            invariants: of_kind(PropertyKind::Invariant),
            assumptions: of_kind(PropertyKind::Assumption),
            covers: of_kind(PropertyKind::Cover),
            live: of_kind(PropertyKind::Liveness),
            layout,
            program,
        }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Where its variables lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// How its rule instances are numbered.
    pub fn instances(&self) -> &Instances {
        &self.instances
    }

    /// Indices in [`Program::properties`] of the cover goals, in the order of
    /// [`System::goals`].
    pub fn covers(&self) -> &[u32] {
        &self.covers
    }

    /// Indices in [`Program::properties`] of the liveness properties, in the order of [`Live`].
    pub fn live(&self) -> &[u32] {
        &self.live
    }

    pub(crate) fn proc_frame(&self, id: ProcId) -> &FrameShape {
        &self.frames.procs[id.0 as usize]
    }

    /// The counter of a cover property.
    pub(crate) fn goal_of(&self, property: u32) -> Option<usize> {
        self.covers.iter().position(|cover| *cover == property)
    }

    fn action(&self, initial: bool, number: usize) -> &Action {
        if initial { &self.program.starts[number] } else { &self.program.actions[number] }
    }

    /// Fires one instance: of an initial state on a state that is undefined throughout, whatever
    /// `source` is, of an action on `source`. Priorities are not looked at.
    ///
    /// # Panics
    /// If the label is not of this program.
    pub fn fire_label(
        &self,
        scratch: &mut Scratch,
        source: &[u64],
        label: Label,
    ) -> Result<FireOne, Fault> {
        let (initial, number, instance) = self.instances.locate(label);
        let source = (!initial).then_some(source);
        Ok(match self.attempt(scratch, source, number, instance)? {
            Attempt::Disabled => FireOne::Disabled,
            Attempt::Dropped => FireOne::Dropped,
            Attempt::Made => FireOne::State(scratch.state.clone()),
        })
    }

    /// Whether a property holds in a state. A cover goal without a condition does not.
    pub fn eval_property(
        &self,
        scratch: &mut Scratch,
        state: &[u64],
        property: usize,
    ) -> Result<bool, Fault> {
        scratch.state.copy_from_slice(state);
        self.holds(scratch, property)
    }

    /// Whether a claim about a single state is true: that it violates a property (for a liveness
    /// property: that the condition does not hold in it), that it is a deadlock, or that judging it
    /// or expanding it faults like this.
    pub fn check_state(&self, scratch: &mut Scratch, state: &[u64], claim: ViolationKind) -> bool {
        match claim {
            ViolationKind::Property(index) => match self.program.properties.get(index as usize) {
                None => false,
                Some(property) => {
                    matches!(property.kind, PropertyKind::Invariant | PropertyKind::Liveness)
                        && self.eval_property(scratch, state, index as usize) == Ok(false)
                }
            },
            ViolationKind::Deadlock => self.expansion_shows(scratch, state, claim),
            ViolationKind::Fault(fault) => {
                let all = 0..self.program.properties.len();
                let mut inside = all.map(|i| self.eval_property(scratch, state, i));
                inside.any(|result| result == Err(fault))
                    || self.expansion_shows(scratch, state, claim)
            }
        }
    }

    fn expansion_shows(&self, s: &mut Scratch, state: &[u64], claim: ViolationKind) -> bool {
        let mut padded = state.to_vec();
        padded.resize(state.len() + PAD_WORDS, 0);
        let block = Block::new(&padded, state.len(), 1);
        let mut batch = Batch::new(self.layout.shape(), 64);
        let mut at = Cursor::default();
        loop {
            match System::expand(self, s, block, &mut at, &mut batch) {
                Step::Done => return false,
                Step::Full => batch.clear(),
                Step::Violation(violation) if violation.kind == claim => return true,
                Step::Violation(_) => {}
            }
        }
    }

    /// Whether some rule of a class before that of `rule` is enabled (or faults) in a state, so that
    /// `rule` may not fire.
    pub(crate) fn outranked(&self, s: &mut Scratch, source: &[u64], rule: u32) -> bool {
        let before = self.classes.iter().take_while(|class| !class.contains(&rule));
        before.flatten().any(|other| {
            let count = self.instances.count(false, *other as usize);
            (0..count).any(|instance| {
                self.attempt(s, Some(source), *other as usize, instance) != Ok(Attempt::Disabled)
            })
        })
    }

    /// Runs an instance: of action `number` on a copy of `source`, or of initial state `number` if
    /// there is no source.
    fn attempt(
        &self,
        s: &mut Scratch,
        source: Option<&[u64]>,
        number: usize,
        instance: u64,
    ) -> Result<Attempt, Fault> {
        let initial = source.is_none();
        match source {
            Some(source) => s.state.copy_from_slice(source),
            None => s.state.fill(0),
        }
        let action = self.action(initial, number);
        let frames = if initial { &self.frames.starts } else { &self.frames.actions };
        let mut machine = Machine::enter(self, s, &frames[number], &action.locals);
        let radices = self.instances.radices(initial, number);
        match machine.act(action, radices, instance) {
            Ok(true) => {}
            Ok(false) => return Ok(Attempt::Disabled),
            Err(Stop::Drop) => return Ok(Attempt::Dropped),
            Err(Stop::Fault(fault)) => return Err(fault),
        }
        self.layout.normalise(&mut s.state);
        for assumption in &self.assumptions {
            if !self.holds(s, *assumption as usize)? {
                return Ok(Attempt::Dropped);
            }
        }
        Ok(Attempt::Made)
    }

    /// Whether a property holds in the state in `s`, which stays as it is. A false assumption inside
    /// the property ends its evaluation: an invariant holds then, the other kinds do not.
    fn holds(&self, s: &mut Scratch, property: usize) -> Result<bool, Fault> {
        let Some(expr) = &self.program.properties[property].expr else { return Ok(false) };
        let property_of = &self.program.properties[property];
        if property_of.impure {
            s.saved.copy_from_slice(&s.state);
        }
        let shape = &self.frames.properties[property];
        let truth = Machine::enter(self, s, shape, &property_of.locals).truth(expr);
        if property_of.impure {
            s.state.copy_from_slice(&s.saved);
        }
        match truth {
            Ok(truth) => Ok(truth),
            Err(Stop::Drop) => Ok(property_of.kind == PropertyKind::Invariant),
            Err(Stop::Fault(fault)) => Err(fault),
        }
    }

    /// Invariants in order, then cover goals, of the state in `s`.
    fn judge_one(&self, s: &mut Scratch) -> Option<ViolationKind> {
        for index in &self.invariants {
            match self.holds(s, *index as usize) {
                Ok(true) => {}
                Ok(false) => return Some(ViolationKind::Property(*index)),
                Err(fault) => return Some(ViolationKind::Fault(fault)),
            }
        }
        for (goal, index) in self.covers.iter().enumerate() {
            match self.holds(s, *index as usize) {
                Ok(met) => s.goals[goal] += u64::from(met),
                Err(fault) => return Some(ViolationKind::Fault(fault)),
            }
        }
        None
    }

    /// Tries the instances of an action (or of an initial state, without a source) from `at` on.
    fn fire_from(
        &self,
        s: &mut Scratch,
        source: Option<(usize, &[u64])>,
        number: u32,
        at: &mut u64,
        out: &mut Batch,
    ) -> Fired {
        let initial = source.is_none();
        let count = self.instances.count(initial, number as usize);
        let mut dropped = 0;
        while *at < count {
            if out.is_full() {
                return Fired::Full { dropped };
            }
            match self.attempt(s, source.map(|(_, state)| state), number as usize, *at) {
                Ok(Attempt::Disabled) => {}
                Ok(Attempt::Dropped) => dropped += 1,
                Ok(Attempt::Made)
                    if out.skips_loops() && source.is_some_and(|(_, state)| state == s.state) =>
                {
                    out.note_loops(number, 1);
                }
                Ok(Attempt::Made) => {
                    let label = self.instances.label(initial, number as usize, *at);
                    let (position, rule) = source.map_or((0, 0), |(i, _)| (i as u32, number));
                    out.push(&s.state, position, rule, label);
                }
                Err(fault) => return Fired::Fault { fault, dropped },
            }
            *at += 1;
        }
        Fired::Done { dropped }
    }
}

/// Numbers of the actions, grouped by ascending priority, in program order in each group.
fn classes(actions: &[Action]) -> Vec<Vec<u32>> {
    let mut numbers: Vec<u32> = (0..actions.len() as u32).collect();
    numbers.sort_by_key(|i| actions[*i as usize].priority);
    let same = |a: &u32, b: &u32| actions[*a as usize].priority == actions[*b as usize].priority;
    numbers.chunk_by(same).map(<[u32]>::to_vec).collect()
}

impl<'a> Machine<'a, '_> {
    /// Runs an instance of an action on the state; false if it is not enabled.
    fn act(&mut self, action: &'a Action, radices: &[u64], instance: u64) -> Eval<bool> {
        let mut rest = instance;
        for (param, radix) in action.params.iter().zip(radices).rev() {
            let value = domain_value(&param.over, &self.program.types, rest % radix);
            self.set_bound(param.local, value);
            rest /= radix;
        }
        for param in &action.params {
            if let Domain::Slots(place) = &param.over {
                let set = self.resolve(place)?;
                if !self.filled(set, place.ty, self.bound(param.local)) {
                    return Ok(false);
                }
            }
        }
        self.run(&action.prelude)?;
        if !self.all(&action.guard)? {
            return Ok(false);
        }
        self.run(&action.body)?;
        Ok(true)
    }
}

impl RuleSystem for Interpreter {
    type Scratch = Scratch;

    fn shape(&self) -> Shape {
        self.layout.shape()
    }

    fn scratch(&self) -> Scratch {
        Scratch::new(self.layout.shape().words, self.covers.len())
    }

    fn classes(&self) -> &[Vec<u32>] {
        &self.classes
    }

    fn starts(&self) -> usize {
        self.program.starts.len()
    }

    fn deadlock(&self) -> DeadlockMode {
        self.deadlock
    }

    fn start(&self, s: &mut Scratch, start: u32, at: &mut u64, out: &mut Batch) -> Fired {
        self.fire_from(s, None, start, at, out)
    }

    fn fire(
        &self,
        s: &mut Scratch,
        rule: u32,
        src: Block<'_>,
        source: usize,
        at: &mut u64,
        out: &mut Batch,
    ) -> Fired {
        self.fire_from(s, Some((source, src.state(source))), rule, at, out)
    }

    fn label(&self, initial: bool, rule: u32, instance: u64) -> Label {
        self.instances.label(initial, rule as usize, instance)
    }

    fn judge(
        &self,
        s: &mut Scratch,
        b: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation> {
        while *at < fresh.len() {
            let place = fresh[*at] as usize;
            *at += 1;
            s.state.copy_from_slice(b.state(place));
            if let Some(kind) = self.judge_one(s) {
                return Some(Violation { at: place, label: None, kind });
            }
        }
        None
    }

    fn goals<'s>(&self, s: &'s Scratch) -> &'s [u64] {
        &s.goals
    }
}

impl Live for Interpreter {
    fn live_properties(&self) -> usize {
        self.live.len()
    }

    fn satisfies(&self, s: &mut Scratch, state: Block<'_>, property: usize) -> Result<bool, Fault> {
        self.eval_property(s, state.state(0), self.live[property] as usize)
    }
}
