//! What actions, subroutines and properties read and write, and whether they can fault.
//!
//! Everything is an estimate from above: what is not listed is not touched, and what is not said to
//! fault does not. Reads and writes come at two grains, whole state variables and [`Access`] paths
//! into them. The effects of subroutines are a least fixed point over the call graph; references are
//! followed to the places that they can be bound to.

mod access;
mod calls;
mod defined;
pub(crate) mod depth;
mod frame;
pub(crate) mod nodes;
mod values;
mod walk;

pub use access::{Access, AccessStep, Base, Key};
pub use defined::stays_defined;

use crate::{Action, Expr, GlobalId, Local, LocalId, Proc, Program, Property, Stmt};
use frame::Frame;
use nodes::Node;
use std::collections::BTreeSet;
use values::Values;
use walk::Walk;

/// What a piece of a program can touch, subroutines included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// State variables it may read.
    pub reads: BTreeSet<GlobalId>,
    /// State variables it may change.
    pub writes: BTreeSet<GlobalId>,
    /// By-reference parameters of the enclosing subroutine that it may read, by position.
    pub reads_params: BTreeSet<usize>,
    /// By-reference parameters of the enclosing subroutine that it may change, by position.
    pub writes_params: BTreeSet<usize>,
    /// The parts of state variables and parameters that it may read.
    pub read_parts: BTreeSet<Access>,
    /// The parts of state variables and parameters that it may change.
    pub write_parts: BTreeSet<Access>,
    /// Whether it can fault.
    pub faults: bool,
}

impl Effects {
    /// Adds the effects of another piece.
    fn absorb(&mut self, other: Effects) {
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
        self.reads_params.extend(other.reads_params);
        self.writes_params.extend(other.writes_params);
        for (set, parts) in
            [(&mut self.read_parts, other.read_parts), (&mut self.write_parts, other.write_parts)]
        {
            parts.into_iter().for_each(|part| access::add(set, part));
        }
        self.faults |= other.faults;
    }
}

/// The effects of all parts of a program.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Of each subroutine.
    pub procs: Vec<Effects>,
    /// Of the guard of each action, with its prelude and the multisets that its parameters run over.
    pub guards: Vec<Effects>,
    /// Of the body of each action.
    pub bodies: Vec<Effects>,
    /// Of each initial state, all of it.
    pub starts: Vec<Effects>,
    /// Of each property.
    pub properties: Vec<Effects>,
    /// State variables that are taken to be defined.
    defined: BTreeSet<GlobalId>,
}

impl Facts {
    /// Collects the facts of a program. The program need not be well formed.
    pub fn new(program: &Program) -> Facts {
        Facts::assuming(program, BTreeSet::new())
    }

    /// The same, for states in which these variables are defined: reading them does not fault.
    pub fn assuming(program: &Program, defined: BTreeSet<GlobalId>) -> Facts {
        depth::with_stack(depth::program_depth(program), || Facts::collect(program, defined))
    }

    fn collect(program: &Program, defined: BTreeSet<GlobalId>) -> Facts {
        let procs = calls::effects(program, &defined);
        let (guards, bodies, starts, properties) = (vec![], vec![], vec![], vec![]);
        let facts = Facts { procs, guards, bodies, starts, properties, defined };
        let mut starts = Vec::new();
        for start in &program.starts {
            let (mut all, body) = facts.action(program, start);
            all.absorb(body);
            starts.push(all);
        }
        let actions = program.actions.iter().map(|action| facts.action(program, action));
        let (guards, bodies) = actions.unzip();
        let property = |p: &Property| match &p.expr {
            Some(expr) => facts.expr(program, &p.locals, expr),
            None => Effects::default(),
        };
        let properties = program.properties.iter().map(property).collect();
        Facts { guards, bodies, starts, properties, ..facts }
    }

    /// Effects of an expression. Locals that are not bound inside it can be anything: a reference
    /// may refer to any state variable. [`Facts::scope`] knows more.
    pub fn expr(&self, program: &Program, locals: &[Local], expr: &Expr) -> Effects {
        let nodes = [Node::Expr(expr)];
        depth::with_stack(depth::depth(nodes), || {
            let frame = Frame::new(program, locals, &nodes, &[], None);
            let mut walk = self.walk(program, locals, frame);
            walk.expr(expr);
            walk.take()
        })
    }

    /// Effects of statements. Locals that are not bound inside them can be anything, as above.
    pub fn stmts(&self, program: &Program, locals: &[Local], stmts: &[Stmt]) -> Effects {
        let nodes: Vec<Node<'_>> = stmts.iter().map(Node::Stmt).collect();
        depth::with_stack(depth::depth(nodes.iter().copied()), || {
            let frame = Frame::new(program, locals, &nodes, &[], None);
            let mut walk = self.walk(program, locals, frame);
            walk.stmts(stmts);
            walk.take()
        })
    }

    /// Whether something with these effects leaves all state variables alone.
    pub fn is_pure(effects: &Effects) -> bool {
        effects.writes.is_empty()
    }

    /// What is known inside an action, after its prelude.
    pub fn scope<'a>(&'a self, program: &'a Program, action: &'a Action) -> Scope<'a> {
        let nodes = depth::action_nodes(action);
        depth::with_stack(depth::depth(nodes.iter().copied()), || {
            let mut walk = self.walk_action(program, action, &nodes);
            walk.stmts(&action.prelude);
            walk.take();
            Scope { walk }
        })
    }

    /// Effects of the guard and of the body of an action.
    fn action(&self, program: &Program, action: &Action) -> (Effects, Effects) {
        let mut walk = self.walk_action(program, action, &depth::action_nodes(action));
        walk.stmts(&action.prelude);
        action.guard.iter().for_each(|conjunct| drop(walk.expr(conjunct)));
        let guard = walk.take();
        walk.stmts(&action.body);
        (guard, walk.take())
    }

    /// A walk that has passed the parameters of an action.
    fn walk_action<'a>(
        &'a self,
        program: &'a Program,
        action: &'a Action,
        nodes: &[Node<'_>],
    ) -> Walk<'a> {
        let values = |over| frame::domain_values(program, over);
        let params: Vec<(LocalId, Values)> =
            action.params.iter().map(|param| (param.local, values(&param.over))).collect();
        let frame = Frame::new(program, &action.locals, nodes, &params, None);
        let mut walk = self.walk(program, &action.locals, frame);
        for (param, (local, values)) in action.params.iter().zip(params) {
            if let crate::Domain::Slots(set) = &param.over {
                walk.read(set);
            }
            walk.frame.bind(local, values);
        }
        walk
    }

    fn walk<'a>(&'a self, program: &'a Program, locals: &'a [Local], frame: Frame) -> Walk<'a> {
        let out = Effects::default();
        let (procs, defined) = (self.procs.as_slice(), &self.defined);
        Walk { program, procs, defined, locals, result: None, frame, out }
    }
}

/// The inside of an action: asks for the effects of single conjuncts and statements, with the
/// parameters and the bindings of the prelude known.
#[derive(Clone, Debug)]
pub struct Scope<'a> {
    walk: Walk<'a>,
}

impl Scope<'_> {
    /// Effects of an expression of the action.
    pub fn expr(&self, expr: &Expr) -> Effects {
        depth::with_stack(depth::depth([Node::Expr(expr)]), || {
            let mut walk = self.walk.clone();
            walk.expr(expr);
            walk.take()
        })
    }

    /// Effects of statements of the action.
    pub fn stmts(&self, stmts: &[Stmt]) -> Effects {
        depth::with_stack(depth::depth(stmts.iter().map(Node::Stmt)), || {
            let mut walk = self.walk.clone();
            walk.stmts(stmts);
            walk.take()
        })
    }
}

/// Effects of a subroutine, given those of the ones it calls.
fn proc_effects(
    program: &Program,
    procs: &[Effects],
    defined: &BTreeSet<GlobalId>,
    proc: &Proc,
    frame: Frame,
) -> Effects {
    let (out, locals) = (Effects::default(), proc.locals.as_slice());
    let mut walk = Walk { program, procs, defined, locals, result: proc.result, frame, out };
    walk.stmts(&proc.body);
    let mut effects = walk.take();
    effects.faults |= proc.result.is_some() && !walk::always_returns(&proc.body);
    effects
}
