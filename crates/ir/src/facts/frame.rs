//! What is known about the locals of an action, subroutine or property before it is walked.

use super::access::{self, Access, AccessStep, Base, Key};
use super::nodes::{self, Node};
use super::values::Values;
use crate::{
    Domain, Expr, GlobalId, Iter, Local, LocalId, LocalKind, Pass, Place, Proc, Program, Root,
    Step, Stmt, Type,
};
use std::collections::BTreeSet;

/// The values of a bound local.
#[derive(Clone, Debug)]
enum Known {
    /// It gets them at one place only: known once that was walked.
    Once(Option<Values>),
    /// At several places, or elsewhere.
    Fixed(Values),
}

/// Facts about locals.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    known: Vec<Known>,
    /// What a reference can refer to; nothing for other locals.
    roots: Vec<BTreeSet<Access>>,
    /// Positions of action parameters.
    positions: Vec<Option<usize>>,
}

impl Frame {
    /// For code with the given nodes, whose locals get values from these nodes only, from the
    /// parameters of an action, or from the arguments of a subroutine. Locals that get none there
    /// can be anything.
    pub(super) fn new(
        program: &Program,
        locals: &[Local],
        nodes: &[Node<'_>],
        params: &[(LocalId, Values)],
        proc: Option<&Proc>,
    ) -> Frame {
        let mut frame = Frame {
            known: vec![Known::Fixed(Values::any()); locals.len()],
            roots: vec![BTreeSet::new(); locals.len()],
            positions: vec![None; locals.len()],
        };
        for (position, (local, _)) in params.iter().enumerate() {
            if let Some(slot) = frame.positions.get_mut(local.0 as usize) {
                *slot = Some(position);
            }
        }
        frame.find_values(program, nodes, params);
        frame.find_roots(program, locals, nodes, proc);
        frame
    }

    fn find_values(&mut self, program: &Program, nodes: &[Node<'_>], params: &[(LocalId, Values)]) {
        let mut binders: Vec<Vec<Option<Values>>> = vec![Vec::new(); self.known.len()];
        let mut note = |local: LocalId, values: Option<Values>| {
            if let Some(list) = binders.get_mut(local.0 as usize) {
                list.push(values);
            }
        };
        for (local, values) in params {
            note(*local, Some(values.clone()));
        }
        nodes::for_each(nodes.iter().copied(), |node| {
            if let Some(local) = node.binder() {
                note(local, fixed_values(program, node));
            }
        });
        for (known, list) in self.known.iter_mut().zip(binders) {
            *known = match list.len() {
                0 => continue,
                1 => Known::Once(None),
                _ => {
                    let all: Option<Vec<Values>> = list.into_iter().collect();
                    let union = all.and_then(|all| all.into_iter().reduce(Values::union));
                    Known::Fixed(union.unwrap_or_else(Values::any))
                }
            };
        }
        // A local that is a parameter and bound again is no longer known by its position.
        for (known, position) in self.known.iter().zip(&mut self.positions) {
            if matches!(known, Known::Fixed(_)) {
                *position = None;
            }
        }
    }

    fn find_roots(
        &mut self,
        program: &Program,
        locals: &[Local],
        nodes: &[Node<'_>],
        proc: Option<&Proc>,
    ) {
        let mut binds: Vec<(usize, &Place)> = Vec::new();
        nodes::for_each(nodes.iter().copied(), |node| {
            if let Node::Stmt(Stmt::Bind { local, place }) = node
                && (local.0 as usize) < locals.len()
            {
                binds.push((local.0 as usize, place));
            }
        });
        for (i, local) in locals.iter().enumerate() {
            let pass = proc.and_then(|proc| proc.params.get(i));
            if pass == Some(&Pass::Ref) {
                self.roots[i].insert(Access::whole(Base::Param(i)));
            } else if local.kind == LocalKind::Ref && binds.iter().all(|(bound, _)| *bound != i) {
                let globals = (0..program.globals.len() as u32).map(GlobalId);
                self.roots[i] = globals.map(|id| Access::whole(Base::Global(id))).collect();
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for (local, place) in &binds {
                let mut set = self.roots[*local].clone();
                for found in self.denoted(place) {
                    access::add(&mut set, found);
                }
                if set != self.roots[*local] {
                    self.roots[*local] = set;
                    changed = true;
                }
            }
        }
    }

    /// The parts of state variables that a place can be.
    pub(super) fn denoted(&self, place: &Place) -> Vec<Access> {
        let steps: Vec<AccessStep> = place.path.iter().map(|step| self.step(step)).collect();
        self.starting(place.root).iter().map(|access| access.then(&steps)).collect()
    }

    /// The parts of state variables that a place can start with.
    fn starting(&self, root: Root) -> Vec<Access> {
        match root {
            Root::Global(id) => vec![Access::whole(Base::Global(id))],
            Root::Local(local) => {
                let roots = self.roots.get(local.0 as usize);
                roots.map(|set| set.iter().cloned().collect()).unwrap_or_default()
            }
        }
    }

    fn step(&self, step: &Step) -> AccessStep {
        match step {
            Step::Field(field) => AccessStep::Field(*field),
            Step::Index { index, .. } => AccessStep::Index(self.key(index)),
            Step::Slot { .. } => AccessStep::Slot,
        }
    }

    fn key(&self, index: &Expr) -> Key {
        match index {
            Expr::Int(code) => Key::Const(*code),
            Expr::Bound(local) => {
                let position = self.positions.get(local.0 as usize).copied().flatten();
                let constant = self.values(*local).single().map(Key::Const);
                position.map(Key::Param).or(constant).unwrap_or(Key::Any)
            }
            _ => Key::Any,
        }
    }

    /// The values of a bound local.
    pub(super) fn values(&self, local: LocalId) -> Values {
        match self.known.get(local.0 as usize) {
            Some(Known::Fixed(values) | Known::Once(Some(values))) => values.clone(),
            _ => Values::any(),
        }
    }

    /// Notes that a bound local gets its values here.
    pub(super) fn bind(&mut self, local: LocalId, values: Values) {
        if let Some(Known::Once(known)) = self.known.get_mut(local.0 as usize) {
            *known = Some(values);
        }
    }
}

/// What a binder gives its local, if that does not depend on other locals.
fn fixed_values(program: &Program, node: Node<'_>) -> Option<Values> {
    let over = match node {
        Node::Expr(Expr::Quantified { over, .. }) => over,
        Node::Stmt(Stmt::For { over, .. }) => over,
        Node::Expr(Expr::Count { set, .. }) => return Some(slot_values(program, set)),
        Node::Stmt(Stmt::RemoveWhere { set, .. }) => return Some(slot_values(program, set)),
        _ => return None,
    };
    match over {
        Iter::Type(ty) => Some(Values::of_type(&program.types, *ty)),
        Iter::Slots(set) => Some(slot_values(program, set)),
        Iter::Range { .. } => None,
    }
}

/// Slot numbers of a multiset.
pub(super) fn slot_values(program: &Program, set: &Place) -> Values {
    match program.types.get(set.ty.0 as usize) {
        Some(Type::Multiset { capacity, .. }) => {
            Values::between(0, i64::from(*capacity).saturating_sub(1).max(0))
        }
        _ => Values::any(),
    }
}

/// The values of an action's parameter.
pub(super) fn domain_values(program: &Program, domain: &Domain) -> Values {
    match domain {
        Domain::Type(ty) => Values::of_type(&program.types, *ty),
        Domain::Slots(set) => slot_values(program, set),
        Domain::Range { from, to, .. } => Values::between(*from.min(to), *from.max(to)),
    }
}
