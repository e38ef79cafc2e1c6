//! State variables that stay defined once they are.

use super::depth;
use super::nodes::{self, Node};
use crate::{GlobalId, Local, LocalKind, Place, Program, Root, Stmt, Type, TypeId};
use std::collections::BTreeSet;

/// The state variables no part of which any rule can make undefined. If all of their parts are defined
/// in all initial states, they are in all reachable ones.
pub fn stays_defined(program: &Program) -> BTreeSet<GlobalId> {
    let all = || (0..program.globals.len() as u32).map(GlobalId);
    // The elements of multisets come and go.
    let mut lost: BTreeSet<GlobalId> =
        all().filter(|id| has_multiset(program, program.globals[id.0 as usize].ty)).collect();
    loop {
        let before = lost.len();
        for action in &program.actions {
            let nodes = depth::action_nodes(action);
            nodes::for_each(nodes.iter().copied(), |node| {
                lose(node, &action.locals, &all, &mut lost)
            });
        }
        for proc in &program.procs {
            let nodes = proc.body.iter().map(Node::Stmt);
            nodes::for_each(nodes, |node| lose(node, &proc.locals, &all, &mut lost));
        }
        if lost.len() == before {
            return all().filter(|id| !lost.contains(id)).collect();
        }
    }
}

/// Adds what a statement can make undefined. A reference may be to anything.
fn lose<I: Iterator<Item = GlobalId>>(
    node: Node<'_>,
    locals: &[Local],
    all: &impl Fn() -> I,
    lost: &mut BTreeSet<GlobalId>,
) {
    let target = match node {
        Node::Stmt(Stmt::Undefine(place)) => place,
        Node::Stmt(Stmt::Copy { to, from, .. }) => match from.root {
            Root::Global(id) if !lost.contains(&id) => return,
            // Variables of a rule begin undefined.
            Root::Global(_) | Root::Local(_) => to,
        },
        _ => return,
    };
    match target.root {
        Root::Global(id) => {
            lost.insert(id);
        }
        Root::Local(_) if is_storage(target, locals) => {}
        Root::Local(_) => lost.extend(all()),
    }
}

fn is_storage(place: &Place, locals: &[Local]) -> bool {
    let Root::Local(id) = place.root else { return false };
    locals.get(id.0 as usize).is_some_and(|local| local.kind == LocalKind::Storage)
}

fn has_multiset(program: &Program, ty: TypeId) -> bool {
    match program.types.get(ty.0 as usize) {
        Some(Type::Record { fields, .. }) => fields.iter().any(|f| has_multiset(program, f.ty)),
        Some(Type::Array { elem, .. }) => has_multiset(program, *elem),
        Some(Type::Multiset { .. }) | None => true,
        Some(Type::Scalar(_) | Type::Real { .. }) => false,
    }
}
