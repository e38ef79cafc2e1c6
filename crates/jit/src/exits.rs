//! Quantifiers are left as soon as their result is known.
//!
//! In `forall j do !(i != j) | !(a[i] = Busy & a[j] = Busy) end` a look at `a[i]` decides for all `j`
//! at once. So a part of the body that alone decides a round in the way that goes on to the next one
//! (`true` for `forall`), and that is the same in all rounds, leads to the end instead.
//!
//! Other rounds must not fault before they come to that part. What stands before it and can fault is
//! the same in all rounds, too, and was evaluated in this one, since it also decides alone; else the
//! quantifier is *unclean* from there on.
//!
//! The body of a loop that is not unrolled stands for many rounds, of which the code shows one; so nothing
//! in it leads out of the quantifiers around the loop.
//!
//! **Invariant:** while the code of an expression is generated, an exit is active exactly if the
//! expression, by being `want`, decides a round of its quantifier.

use crate::emit::{Fun, Res};
use crate::walk::{Node, walk_expr};
use cranelift_codegen::ir::Block;
use ergodic_ir::{Expr, Iter, LocalId};

/// The way out of a quantifier whose body is being generated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exit {
    var: LocalId,
    /// What decides a round.
    want: bool,
    active: bool,
    clean: bool,
    end: Block,
}

impl Exit {
    /// For an expression whose negation is what was meant.
    pub(crate) fn negate(&mut self) {
        self.want = !self.want;
    }
}

impl<'f> Fun<'f> {
    /// Generates one round of a quantifier: goes to `next` if the next one decides, to `yes` or `no` if
    /// the result is known.
    pub(crate) fn quantified_body(
        &mut self,
        (all, var): (bool, LocalId),
        body: &'f Expr,
        next: Block,
        (yes, no): (Block, Block),
    ) -> Res<()> {
        let end = if all { yes } else { no };
        let own = Exit { var, want: all, active: true, clean: true, end };
        // One round in the other way decides what is around.
        self.with_exits(
            |exit| exit.active &= exit.want != all,
            |f| {
                f.exits.push(own);
                let generated =
                    if all { f.branch(body, next, no) } else { f.branch(body, yes, next) };
                f.exits.pop();
                generated
            },
        )
    }

    /// Generates code with some exits changed; what became unclean stays so.
    pub(crate) fn with_exits(
        &mut self,
        change: impl Fn(&mut Exit),
        generate: impl FnOnce(&mut Self) -> Res<()>,
    ) -> Res<()> {
        let before = self.exits.clone();
        self.exits.iter_mut().for_each(change);
        let generated = generate(self);
        for (exit, before) in self.exits.iter_mut().zip(before) {
            *exit = Exit { clean: exit.clean, ..before };
        }
        generated
    }

    /// The parts of a conjunction, or of a disjunction: each decides alone if it is `truth`.
    pub(crate) fn with_parts(
        &mut self,
        truth: bool,
        generate: impl FnOnce(&mut Self) -> Res<()>,
    ) -> Res<()> {
        self.with_exits(|exit| exit.active &= exit.want == truth, generate)
    }

    /// Parts that decide nothing alone.
    pub(crate) fn without_exits(&mut self, generate: impl FnOnce(&mut Self) -> Res<()>) -> Res<()> {
        self.with_exits(|exit| exit.active = false, generate)
    }

    /// Where to go after an expression that is no more than its value: out of the outermost quantifier
    /// that it decides and in all rounds of which it is the same. Notes what it makes unclean.
    pub(crate) fn exits_for(&mut self, expr: &Expr, yes: Block, no: Block) -> (Block, Block) {
        if self.exits.is_empty() {
            return (yes, no);
        }
        let faults = self.uses.faults(self.unit.program, self.decls, expr);
        let (mut targets, mut outermost) = ((yes, no), true);
        for exit in &mut self.exits {
            let same = is_same(expr, exit.var);
            if outermost && exit.active && exit.clean && same {
                match exit.want {
                    true => targets.0 = exit.end,
                    false => targets.1 = exit.end,
                }
                outermost = false;
            }
            exit.clean &= !faults || (exit.active && same);
        }
        targets
    }

    /// What a quantifier ranges over may fault: no round after it is sure not to.
    pub(crate) fn exits_after(&mut self, over: &Iter) {
        if !matches!(over, Iter::Type(_)) {
            self.exits.iter_mut().for_each(|exit| exit.clean = false);
        }
    }
}

/// Whether an expression has the same value whatever a variable is.
fn is_same(expr: &Expr, var: LocalId) -> bool {
    let mut same = true;
    walk_expr(expr, &mut |node| {
        same &= match node {
            Node::Expr(Expr::Bound(id)) => *id != var,
            Node::Expr(Expr::Call { .. } | Expr::Block { .. }) | Node::Stmt(_) => false,
            _ => true,
        };
    });
    same
}
