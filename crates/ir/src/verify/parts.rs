//! Rules of state variables, subroutines, actions and properties.

use super::check::{Check, Returns};
use crate::facts::nodes::{self, Node};
use crate::{
    Action, Domain, Expr, Local, LocalId, LocalKind, Param, Pass, Place, Proc, Program, Property,
    PropertyKind, Root, Stmt, Type,
};
use std::collections::BTreeSet;

/// Checks the state variables.
pub(super) fn globals(check: &mut Check<'_>) {
    for (number, global) in check.program.globals.iter().enumerate() {
        check.enter("state variable", number, &global.name);
        check.ty(global.ty);
    }
}

/// Checks everything that holds code.
pub(super) fn parts(check: &mut Check<'_>) {
    let program = check.program;
    for (number, item) in program.procs.iter().enumerate() {
        check.enter("subroutine", number, &item.name);
        proc(check, item);
    }
    for (number, start) in program.starts.iter().enumerate() {
        check.enter("start", number, &start.name);
        if !start.guard.is_empty() {
            check.error("an initial state has no guard");
        }
        action(check, start);
    }
    for (number, item) in program.actions.iter().enumerate() {
        check.enter("action", number, &item.name);
        action(check, item);
    }
    for (number, item) in program.properties.iter().enumerate() {
        check.enter("property", number, &item.name);
        property(check, item);
    }
}

fn locals<'a>(check: &mut Check<'a>, locals: &'a [Local]) {
    check.locals = locals;
    for local in locals {
        if local.kind == LocalKind::Bound {
            check.simple(local.ty, "a bound local");
        } else {
            check.ty(local.ty);
        }
    }
}

fn proc<'a>(check: &mut Check<'a>, proc: &'a Proc) {
    locals(check, &proc.locals);
    check.site(proc.end);
    if proc.params.len() > proc.locals.len() {
        let (params, count) = (proc.params.len(), proc.locals.len());
        check.error(format!("{params} parameters, but only {count} locals"));
    }
    for (pass, local) in proc.params.iter().zip(&proc.locals) {
        let name = &local.name;
        let wanted = match pass {
            Pass::Value => {
                check.simple(local.ty, "a by-value parameter");
                LocalKind::Storage
            }
            Pass::Ref => LocalKind::Ref,
        };
        if local.kind != wanted {
            check.error(format!("parameter {name:?} passed by {pass:?} must be {wanted:?}"));
        }
    }
    check.returns = Returns::Nothing;
    if let Some(result) = proc.result {
        check.simple(result, "a result");
        check.returns = Returns::Value(result);
    }
    check.stmts(&proc.body);
}

fn action<'a>(check: &mut Check<'a>, action: &'a Action) {
    locals(check, &action.locals);
    let mut earlier = BTreeSet::new();
    for param in &action.params {
        self::param(check, param, &earlier);
        if !earlier.insert(param.local) {
            check.error(format!("two parameters share local {}", param.local.0));
        }
    }
    for stmt in &action.prelude {
        if !matches!(stmt, Stmt::Bind { .. } | Stmt::Let { .. }) {
            check.error("a prelude holds Bind and Let only");
        }
        check.stmt(stmt);
    }
    for conjunct in &action.guard {
        check.int(conjunct, "a guard");
    }
    check.returns = Returns::Nothing;
    check.stmts(&action.body);
}

fn param<'a>(check: &mut Check<'a>, param: &'a Param, earlier: &BTreeSet<LocalId>) {
    check.variable(param.local, "a parameter");
    match &param.over {
        Domain::Type(ty) => drop(check.scalar(*ty, "the domain of a parameter")),
        Domain::Range { step, .. } => {
            if *step == 0 {
                check.error("the step of a parameter must not be zero");
            }
        }
        Domain::Slots(place) => {
            check.multiset(place);
            uses_earlier_only(check, place, earlier);
        }
    }
}

/// The domain of a parameter is evaluated when only earlier parameters have values.
fn uses_earlier_only(check: &mut Check<'_>, place: &Place, earlier: &BTreeSet<LocalId>) {
    let mut bound = earlier.clone();
    nodes::for_each([Node::Place(place)], |node| bound.extend(node.binder()));
    nodes::for_each([Node::Place(place)], |node| {
        let local = match node {
            Node::Expr(Expr::Bound(local)) if !bound.contains(local) => local,
            Node::Place(Place { root: Root::Local(local), .. }) => local,
            _ => return,
        };
        let local = local.0;
        check.error(format!("a parameter's multiset uses local {local}, not an earlier parameter"));
    });
}

fn property<'a>(check: &mut Check<'a>, property: &'a Property) {
    locals(check, &property.locals);
    match &property.expr {
        Some(expr) => check.int(expr, "a condition"),
        None if property.kind == PropertyKind::Cover => {}
        None => check.error("only a cover goal can do without a condition"),
    }
}

/// Checks that labels can number all instances of all actions.
pub(super) fn instances(check: &mut Check<'_>) {
    let program = check.program;
    let count = |action: &Action| {
        let sizes = action.params.iter().map(|param| domain_size(program, &param.over));
        sizes.fold(1u128, u128::saturating_mul)
    };
    let counts = program.starts.iter().chain(&program.actions).map(count);
    let total = counts.fold(0u128, u128::saturating_add);
    if total >= u128::from(u32::MAX) {
        check.enter_program();
        check.error(format!("{total} rule instances, more than can be numbered"));
    }
    // A size of zero must not hide one that does not fit 64 bits.
    for action in program.starts.iter().chain(&program.actions) {
        for param in &action.params {
            if domain_size(program, &param.over) >= u128::from(u32::MAX) {
                check.enter_program();
                check.error(format!("too many values for a parameter of {:?}", action.name));
            }
        }
    }
}

/// As [`crate::domain_size`], but without overflow.
fn domain_size(program: &Program, domain: &Domain) -> u128 {
    let ty = |id: &crate::TypeId| program.types.get(id.0 as usize);
    match domain {
        Domain::Type(id) => match ty(id) {
            Some(Type::Scalar(scalar)) => u128::from(scalar.count()),
            _ => 0,
        },
        Domain::Range { from, to, step } => {
            let reachable = if *step > 0 { from <= to } else { from >= to };
            let distance = u128::from(step.unsigned_abs()).max(1);
            if reachable { u128::from(from.abs_diff(*to)) / distance + 1 } else { 0 }
        }
        Domain::Slots(place) => match ty(&place.ty) {
            Some(Type::Multiset { capacity, .. }) => u128::from(*capacity),
            _ => 0,
        },
    }
}
