//! Subroutines: the call graph, and effects as a fixed point over it.

use super::frame::Frame;
use super::nodes::{self, Node};
use super::{Effects, proc_effects};
use crate::{Expr, GlobalId, Proc, Program, Stmt};
use std::collections::{BTreeSet, VecDeque};

/// Effects of all subroutines.
pub(super) fn effects(program: &Program, defined: &BTreeSet<GlobalId>) -> Vec<Effects> {
    let callees: Vec<BTreeSet<usize>> =
        program.procs.iter().map(|proc| callees(program, proc)).collect();
    let mut callers = vec![Vec::new(); callees.len()];
    for (caller, called) in callees.iter().enumerate() {
        called.iter().for_each(|callee| callers[*callee].push(caller));
    }
    let heights = heights(&callees, &callers);
    let start = |height: &Option<u32>| Effects {
        faults: height.is_none_or(|height| height >= program.call_limit),
        ..Effects::default()
    };
    let mut effects: Vec<Effects> = heights.iter().map(start).collect();
    let frames: Vec<Frame> = program.procs.iter().map(|proc| frame(program, proc)).collect();
    let mut waiting: VecDeque<usize> = (0..callees.len()).collect();
    let mut queued = vec![true; callees.len()];
    while let Some(next) = waiting.pop_front() {
        queued[next] = false;
        let proc = &program.procs[next];
        let mut new = effects[next].clone();
        new.absorb(proc_effects(program, &effects, defined, proc, frames[next].clone()));
        if new != effects[next] {
            effects[next] = new;
            for caller in &callers[next] {
                if !std::mem::replace(&mut queued[*caller], true) {
                    waiting.push_back(*caller);
                }
            }
        }
    }
    effects
}

fn frame(program: &Program, proc: &Proc) -> Frame {
    let nodes: Vec<Node<'_>> = proc.body.iter().map(Node::Stmt).collect();
    Frame::new(program, &proc.locals, &nodes, &[], Some(proc))
}

fn callees(program: &Program, proc: &Proc) -> BTreeSet<usize> {
    let mut called = BTreeSet::new();
    nodes::for_each(proc.body.iter().map(Node::Stmt), |node| {
        if let Node::Expr(Expr::Call { proc, .. }) | Node::Stmt(Stmt::Call { proc, .. }) = node {
            called.insert(proc.0 as usize);
        }
    });
    called.retain(|callee| *callee < program.procs.len());
    called
}

/// How deeply a call of each subroutine nests calls, itself included; `None` if that is unbounded.
fn heights(callees: &[BTreeSet<usize>], callers: &[Vec<usize>]) -> Vec<Option<u32>> {
    let mut heights = vec![None; callees.len()];
    let mut open: Vec<usize> = callees.iter().map(BTreeSet::len).collect();
    let mut ready: Vec<usize> = (0..callees.len()).filter(|proc| open[*proc] == 0).collect();
    while let Some(proc) = ready.pop() {
        let below = callees[proc].iter().filter_map(|callee| heights[*callee]).max();
        heights[proc] = Some(below.unwrap_or(0u32) + 1);
        for caller in &callers[proc] {
            open[*caller] -= 1;
            if open[*caller] == 0 {
                ready.push(*caller);
            }
        }
    }
    heights
}
