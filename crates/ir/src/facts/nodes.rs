//! Places, expressions and statements as one kind of tree, walked without recursion.

use crate::{Arg, Expr, Iter, LocalId, Place, PutPart, Step, Stmt};

/// A node of the syntax.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node<'a> {
    /// An expression.
    Expr(&'a Expr),
    /// A statement.
    Stmt(&'a Stmt),
    /// A place.
    Place(&'a Place),
}

impl<'a> Node<'a> {
    /// Appends the nodes directly below this one.
    pub(crate) fn children(self, out: &mut Vec<Node<'a>>) {
        match self {
            Node::Expr(expr) => expr_children(expr, out),
            Node::Stmt(stmt) => stmt_children(stmt, out),
            Node::Place(place) => {
                for step in &place.path {
                    match step {
                        Step::Field(_) => {}
                        Step::Index { index: expr, .. } | Step::Slot { slot: expr, .. } => {
                            out.push(Node::Expr(expr));
                        }
                    }
                }
            }
        }
    }

    /// The bound local that this node gives its values, if it is such a node.
    pub(crate) fn binder(self) -> Option<LocalId> {
        match self {
            Node::Expr(Expr::Quantified { var, .. } | Expr::Count { var, .. }) => Some(*var),
            Node::Stmt(
                Stmt::Let { local: var, .. }
                | Stmt::For { var, .. }
                | Stmt::RemoveWhere { var, .. },
            ) => Some(*var),
            _ => None,
        }
    }
}

/// Calls `f` with all nodes below and including the given ones, in no particular order.
pub(crate) fn for_each<'a>(roots: impl IntoIterator<Item = Node<'a>>, mut f: impl FnMut(Node<'a>)) {
    let mut stack: Vec<Node<'a>> = roots.into_iter().collect();
    while let Some(node) = stack.pop() {
        f(node);
        node.children(&mut stack);
    }
}

fn exprs<'a>(list: impl IntoIterator<Item = &'a Expr>, out: &mut Vec<Node<'a>>) {
    out.extend(list.into_iter().map(Node::Expr));
}

fn stmts<'a>(list: &'a [Stmt], out: &mut Vec<Node<'a>>) {
    out.extend(list.iter().map(Node::Stmt));
}

fn places<'a>(list: impl IntoIterator<Item = &'a Place>, out: &mut Vec<Node<'a>>) {
    out.extend(list.into_iter().map(Node::Place));
}

fn args<'a>(list: &'a [Arg], out: &mut Vec<Node<'a>>) {
    out.extend(list.iter().map(|arg| match arg {
        Arg::Value { value, .. } => Node::Expr(value),
        Arg::Copy { from: place, .. } | Arg::Ref(place) => Node::Place(place),
    }));
}

fn iter<'a>(over: &'a Iter, out: &mut Vec<Node<'a>>) {
    match over {
        Iter::Type(_) => {}
        Iter::Range { from, to, step, .. } => exprs([from, to, step], out),
        Iter::Slots(place) => out.push(Node::Place(place)),
    }
}

fn expr_children<'a>(expr: &'a Expr, out: &mut Vec<Node<'a>>) {
    match expr {
        Expr::Int(_) | Expr::Real(_) | Expr::Bound(_) => {}
        Expr::Read { place, .. } | Expr::IsUndefined(place) => places([&**place], out),
        Expr::Unary { arg, .. } | Expr::IsMember { value: arg, .. } => exprs([&**arg], out),
        Expr::Binary { left, right, .. } => exprs([&**left, &**right], out),
        Expr::And(list) | Expr::Or(list) => exprs(list, out),
        Expr::If { cond, then, other } => exprs([&**cond, &**then, &**other], out),
        Expr::Same { left, right, .. } => places([&**left, &**right], out),
        Expr::Quantified { over, body, .. } => {
            iter(over, out);
            exprs([&**body], out);
        }
        Expr::Count { set, body, .. } => {
            places([&**set], out);
            exprs([&**body], out);
        }
        Expr::Call { args: list, .. } => args(list, out),
        Expr::Block { body, value } => {
            stmts(body, out);
            exprs([&**value], out);
        }
    }
}

fn stmt_children<'a>(stmt: &'a Stmt, out: &mut Vec<Node<'a>>) {
    match stmt {
        Stmt::Assign { to: place, value, .. } | Stmt::AddValue { set: place, value, .. } => {
            exprs([value], out);
            places([place], out);
        }
        Stmt::Copy { to, from, .. } | Stmt::Add { set: to, from, .. } => places([from, to], out),
        Stmt::Undefine(place) | Stmt::Clear(place) | Stmt::Bind { place, .. } => {
            places([place], out);
        }
        Stmt::Let { value: expr, .. }
        | Stmt::Assert { cond: expr, .. }
        | Stmt::Assume { cond: expr }
        | Stmt::Cover { cond: expr, .. } => exprs([expr], out),
        Stmt::Fresh(_) | Stmt::Error { .. } => {}
        Stmt::If { branches, other } => {
            for (cond, body) in branches {
                exprs([cond], out);
                stmts(body, out);
            }
            stmts(other, out);
        }
        Stmt::Switch { subject, cases, other } => {
            exprs([subject], out);
            for case in cases {
                exprs(&case.values, out);
                stmts(&case.body, out);
            }
            stmts(other, out);
        }
        Stmt::For { over, body, .. } => {
            iter(over, out);
            stmts(body, out);
        }
        Stmt::While { cond, body, .. } => {
            exprs([cond], out);
            stmts(body, out);
        }
        Stmt::Call { args: list, .. } => args(list, out),
        Stmt::Return { value, .. } => exprs(value, out),
        Stmt::Put(parts) => parts.iter().for_each(|part| match part {
            PutPart::Text(_) => {}
            PutPart::Place { place, .. } => places([place], out),
            PutPart::Value { value, .. } => exprs([value], out),
        }),
        Stmt::Remove { set, slot: expr, .. } | Stmt::RemoveWhere { set, cond: expr, .. } => {
            places([set], out);
            exprs([expr], out);
        }
    }
}
