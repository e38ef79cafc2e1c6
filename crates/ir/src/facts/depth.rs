//! How deeply code is nested, and stacks that are large enough for it.

use super::nodes::Node;
use crate::{Action, Domain, Program};

/// Levels of nesting for which the stack of any thread is large enough.
const SHALLOW: usize = 250;

/// Stack per level, generously: one level of nesting takes a handful of calls.
const BYTES_PER_LEVEL: usize = 8 << 10;

/// Largest stack asked for; pages are only used when touched.
const MAX_STACK: usize = 1 << 30;

/// How many expressions and statements lie inside each other at most.
pub(crate) fn depth<'a>(roots: impl IntoIterator<Item = Node<'a>>) -> usize {
    let mut deepest = 0;
    let mut stack: Vec<(Node<'a>, usize)> = roots.into_iter().map(|node| (node, 1)).collect();
    let mut below = Vec::new();
    while let Some((node, level)) = stack.pop() {
        node.children(&mut below);
        // A place is no level of its own: what is in it is as deep as it is.
        let next = if let Node::Place(_) = node { level } else { level + 1 };
        deepest = deepest.max(next - 1);
        stack.extend(below.drain(..).map(|node| (node, next)));
    }
    deepest
}

/// All code of an action, without what is nested.
pub(crate) fn action_nodes(action: &Action) -> Vec<Node<'_>> {
    let mut nodes = Vec::new();
    for param in &action.params {
        if let Domain::Slots(place) = &param.over {
            nodes.push(Node::Place(place));
        }
    }
    nodes.extend(action.prelude.iter().map(Node::Stmt));
    nodes.extend(action.guard.iter().map(Node::Expr));
    nodes.extend(action.body.iter().map(Node::Stmt));
    nodes
}

/// How deeply the code of a program is nested.
pub(crate) fn program_depth(program: &Program) -> usize {
    let mut nodes: Vec<Node<'_>> =
        program.starts.iter().chain(&program.actions).flat_map(action_nodes).collect();
    nodes.extend(program.procs.iter().flat_map(|proc| proc.body.iter().map(Node::Stmt)));
    nodes.extend(program.properties.iter().filter_map(|p| p.expr.as_ref().map(Node::Expr)));
    depth(nodes)
}

/// Runs something that recurses this deeply, on a stack of its own if need be.
pub(crate) fn with_stack<T: Send>(depth: usize, run: impl FnOnce() -> T + Send) -> T {
    if depth <= SHALLOW {
        return run();
    }
    let size = depth.saturating_mul(BYTES_PER_LEVEL).min(MAX_STACK);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(size);
        match thread.spawn_scoped(scope, run).map(|handle| handle.join()) {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => panic!("no stack of {size} bytes for code {depth} levels deep: {error}"),
        }
    })
}
