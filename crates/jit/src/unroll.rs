//! Loops of few rounds are unrolled: their variable is a constant then, and so are the positions of
//! the bits that it leads to. Instructions of generated code per transition, without and with
//! it, over the first 40,000 states: 267/217 (mcslock2), 804/620 (cache3), 1058/877 (cache3multi),
//! 369/358 (list6too).

use crate::analysis::Known;
use crate::emit::{Addr, Fun, Res};
use crate::range::Range;
use crate::walk::{Node, walk_expr, walk_stmts};
use cranelift_codegen::ir::Block;
use ergodic_ir::{Expr, Iter, LocalId, Stmt, range_len};

/// Rounds of a loop that is unrolled.
const ROUNDS: u64 = 8;

/// Nodes of all rounds of one loop.
const LOOP_NODES: u64 = 300;

/// A loop to be unrolled.
pub(crate) struct Rounds {
    values: Vec<i64>,
    /// The multiset whose filled slots are gone through, and its stride.
    set: Option<(Addr, usize)>,
    /// What was known about the variable.
    before: Known,
}

impl<'f> Fun<'f> {
    /// The rounds of a loop over `body`, if it is worth unrolling.
    fn rounds(&mut self, var: LocalId, over: &'f Iter, nodes: u64) -> Res<Option<Rounds>> {
        let i = var.0 as usize;
        if !self.hot || self.uses.rebound[i] {
            return Ok(None);
        }
        let program = self.unit.program;
        let count = match over {
            Iter::Type(ty) => self.scalar_of(*ty)?.count(),
            Iter::Slots(place) => u64::from(self.multiset_of(place.ty)?.0),
            Iter::Range { from, to, step, .. } => {
                match (self.known(from), self.known(to), self.known(step)) {
                    (Some(from), Some(to), Some(step)) if step != 0 => range_len(from, to, step),
                    _ => return Ok(None),
                }
            }
        };
        let cost = nodes.saturating_mul(count);
        let left = self.unit.unroll.get();
        if count > ROUNDS || cost > LOOP_NODES.min(left) {
            return Ok(None);
        }
        self.unit.unroll.set(left - cost);
        let mut set = None;
        let values = match over {
            Iter::Type(ty) => {
                let scalar = self.scalar_of(*ty)?;
                (0..count).filter_map(|ordinal| scalar.code(ordinal)).collect()
            }
            Iter::Slots(place) => {
                let stride = self.unit.layout.stride(place.ty);
                set = Some((self.memory_place(place)?, stride));
                (0..count as i64).collect()
            }
            Iter::Range { from, step, .. } => {
                let from = self.uses.range(program, from).lo;
                let step = self.uses.range(program, step).lo;
                (0..count as i64).map(|i| from.wrapping_add(step.wrapping_mul(i))).collect()
            }
        };
        Ok(Some(Rounds { values, set, before: self.uses.known[i] }))
    }

    /// The value of an expression that is the same always.
    fn known(&self, expr: &Expr) -> Option<i64> {
        let program = self.unit.program;
        let value = self.uses.range(program, expr).constant()?;
        (!self.uses.faults(program, self.decls, expr)).then_some(value)
    }

    /// Begins a round; empty slots go to `next`.
    fn round(&mut self, var: LocalId, rounds: &Rounds, value: i64, next: Block) -> Res<()> {
        let variable = self.bound_variable(var)?;
        let v = self.int(value);
        self.b.def_var(variable, v);
        self.uses.known[var.0 as usize] = Known { range: Range::one(value), ..rounds.before };
        if let Some((set, stride)) = rounds.set {
            let filled = self.load(Fun::plus(set, value as usize * stride), 1);
            let body = self.b.create_block();
            self.brif(filled, body, next);
            self.enter(body);
        }
        Ok(())
    }

    /// Generates a loop without a loop, if that is worth it.
    pub(crate) fn unrolled_for(
        &mut self,
        var: LocalId,
        over: &'f Iter,
        body: &'f [Stmt],
    ) -> Res<bool> {
        let nodes = count(|f| walk_stmts(body, f));
        let Some(rounds) = self.rounds(var, over, nodes)? else { return Ok(false) };
        for value in &rounds.values {
            let next = self.b.create_block();
            self.round(var, &rounds, *value, next)?;
            let on = self.stmts_to(body, next)?;
            self.enter(next);
            if !on && rounds.set.is_none() {
                break; // the first round leaves for good
            }
        }
        self.uses.known[var.0 as usize] = rounds.before;
        Ok(true)
    }

    /// Generates a quantifier without a loop, if that is worth it.
    pub(crate) fn unrolled_quantifier(
        &mut self,
        (all, var): (bool, LocalId),
        over: &'f Iter,
        body: &'f Expr,
        (yes, no): (Block, Block),
    ) -> Res<bool> {
        let nodes = count(|f| walk_expr(body, f));
        let Some(rounds) = self.rounds(var, over, nodes)? else { return Ok(false) };
        self.exits_after(over);
        for value in &rounds.values {
            let next = self.b.create_block();
            self.round(var, &rounds, *value, next)?;
            if rounds.values.len() == 1 && rounds.set.is_none() {
                // The body is all there is.
                let (yes, no) = if all { (next, no) } else { (yes, next) };
                self.branch(body, yes, no)?;
            } else {
                self.quantified_body((all, var), body, next, (yes, no))?;
            }
            self.enter(next);
        }
        self.uses.known[var.0 as usize] = rounds.before;
        self.jump(if all { yes } else { no });
        Ok(true)
    }
}

fn count<'a>(walk: impl FnOnce(&mut dyn FnMut(Node<'a>))) -> u64 {
    let mut nodes = 0;
    walk(&mut |_| nodes += 1);
    nodes
}
