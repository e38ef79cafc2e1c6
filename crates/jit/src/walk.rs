//! One walk over expressions and statements, for all analyses of this crate.

use ergodic_ir::{Action, Arg, Domain, Expr, Iter, Place, Proc, Property, PutPart, Step, Stmt};

/// What a walk comes across, outer things first, otherwise in the order of evaluation.
#[derive(Clone, Copy)]
pub(crate) enum Node<'a> {
    /// An expression.
    Expr(&'a Expr),
    /// A statement.
    Stmt(&'a Stmt),
    /// A place that is read, written or referred to.
    Place(&'a Place),
    /// The arguments of a call.
    Arg(&'a Arg),
}

type Sink<'s, 'a> = &'s mut dyn FnMut(Node<'a>);

pub(crate) fn walk_place<'a>(place: &'a Place, f: Sink<'_, 'a>) {
    f(Node::Place(place));
    for step in &place.path {
        match step {
            Step::Field(_) => {}
            Step::Index { index, .. } => walk_expr(index, f),
            Step::Slot { slot, .. } => walk_expr(slot, f),
        }
    }
}

pub(crate) fn walk_iter<'a>(iter: &'a Iter, f: Sink<'_, 'a>) {
    match iter {
        Iter::Type(_) => {}
        Iter::Range { from, to, step, .. } => {
            walk_expr(from, f);
            walk_expr(to, f);
            walk_expr(step, f);
        }
        Iter::Slots(place) => walk_place(place, f),
    }
}

fn walk_args<'a>(args: &'a [Arg], f: Sink<'_, 'a>) {
    for arg in args {
        f(Node::Arg(arg));
        match arg {
            Arg::Value { value, .. } => walk_expr(value, f),
            Arg::Copy { from, .. } => walk_place(from, f),
            Arg::Ref(place) => walk_place(place, f),
        }
    }
}

pub(crate) fn walk_expr<'a>(expr: &'a Expr, f: Sink<'_, 'a>) {
    f(Node::Expr(expr));
    match expr {
        Expr::Int(_) | Expr::Real(_) | Expr::Bound(_) => {}
        Expr::Read { place, .. } | Expr::IsUndefined(place) => walk_place(place, f),
        Expr::Unary { arg, .. } => walk_expr(arg, f),
        Expr::Binary { left, right, .. } => {
            walk_expr(left, f);
            walk_expr(right, f);
        }
        Expr::And(parts) | Expr::Or(parts) => parts.iter().for_each(|part| walk_expr(part, f)),
        Expr::If { cond, then, other } => {
            walk_expr(cond, f);
            walk_expr(then, f);
            walk_expr(other, f);
        }
        Expr::IsMember { value, .. } => walk_expr(value, f),
        Expr::Same { left, right, .. } => {
            walk_place(left, f);
            walk_place(right, f);
        }
        Expr::Quantified { over, body, .. } => {
            walk_iter(over, f);
            walk_expr(body, f);
        }
        Expr::Count { set, body, .. } => {
            walk_place(set, f);
            walk_expr(body, f);
        }
        Expr::Call { args, .. } => walk_args(args, f),
        Expr::Block { body, value } => {
            walk_stmts(body, f);
            walk_expr(value, f);
        }
    }
}

pub(crate) fn walk_stmts<'a>(stmts: &'a [Stmt], f: Sink<'_, 'a>) {
    stmts.iter().for_each(|stmt| walk_stmt(stmt, f));
}

pub(crate) fn walk_stmt<'a>(stmt: &'a Stmt, f: Sink<'_, 'a>) {
    f(Node::Stmt(stmt));
    match stmt {
        Stmt::Assign { to, value, .. } => {
            walk_expr(value, f);
            walk_place(to, f);
        }
        Stmt::Copy { to, from, .. } => {
            walk_place(from, f);
            walk_place(to, f);
        }
        Stmt::Undefine(place) | Stmt::Clear(place) | Stmt::Bind { place, .. } => {
            walk_place(place, f);
        }
        Stmt::Let { value, .. } => walk_expr(value, f),
        Stmt::Fresh(_) | Stmt::Error { .. } => {}
        Stmt::If { branches, other } => {
            for (cond, body) in branches {
                walk_expr(cond, f);
                walk_stmts(body, f);
            }
            walk_stmts(other, f);
        }
        Stmt::Switch { subject, cases, other } => {
            walk_expr(subject, f);
            for case in cases {
                case.values.iter().for_each(|value| walk_expr(value, f));
                walk_stmts(&case.body, f);
            }
            walk_stmts(other, f);
        }
        Stmt::For { over, body, .. } => {
            walk_iter(over, f);
            walk_stmts(body, f);
        }
        Stmt::While { cond, body, .. } => {
            walk_expr(cond, f);
            walk_stmts(body, f);
        }
        Stmt::Call { args, .. } => walk_args(args, f),
        Stmt::Return { value, .. } => {
            if let Some(value) = value {
                walk_expr(value, f);
            }
        }
        Stmt::Assert { cond, .. } | Stmt::Assume { cond } | Stmt::Cover { cond, .. } => {
            walk_expr(cond, f);
        }
        Stmt::Put(parts) => {
            for part in parts {
                match part {
                    PutPart::Text(_) => {}
                    PutPart::Place { place, .. } => walk_place(place, f),
                    PutPart::Value { value, .. } => walk_expr(value, f),
                }
            }
        }
        Stmt::Add { set, from, .. } => {
            walk_place(from, f);
            walk_place(set, f);
        }
        Stmt::AddValue { set, value, .. } => {
            walk_expr(value, f);
            walk_place(set, f);
        }
        Stmt::Remove { set, slot, .. } => {
            walk_place(set, f);
            walk_expr(slot, f);
        }
        Stmt::RemoveWhere { set, cond, .. } => {
            walk_place(set, f);
            walk_expr(cond, f);
        }
    }
}

/// Everything that one compiled function runs.
#[derive(Clone, Copy)]
pub(crate) enum Code<'a> {
    /// An action or initial state.
    Action(&'a Action),
    /// A subroutine.
    Proc(&'a Proc),
    /// A property.
    Property(&'a Property),
    /// What an action runs before its body.
    Guard(&'a Action),
}

impl<'a> Code<'a> {
    pub(crate) fn walk(self, f: Sink<'_, 'a>) {
        match self {
            Code::Action(action) => {
                Code::Guard(action).walk(f);
                walk_stmts(&action.body, f);
            }
            Code::Guard(action) => {
                for param in &action.params {
                    if let Domain::Slots(place) = &param.over {
                        walk_place(place, f);
                    }
                }
                walk_stmts(&action.prelude, f);
                action.guard.iter().for_each(|part| walk_expr(part, f));
            }
            Code::Proc(proc) => walk_stmts(&proc.body, f),
            Code::Property(property) => {
                if let Some(expr) = &property.expr {
                    walk_expr(expr, f);
                }
            }
        }
    }
}
