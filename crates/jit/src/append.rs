//! What becomes of a finished successor: it is added to the batch, or, if it is its own source and the
//! search does not want such, counted.

use crate::emit::{Fun, I64, memory};
use crate::runtime::{self, Ctx};
use cranelift_codegen::ir::{Block, InstBuilder, Value, condcodes::IntCC, types};
use std::mem::offset_of;

/// Words that are compared in generated code; more are left to a helper.
const MOST_COMPARED: usize = 24;
/// Words between two branches: to compare a few more is cheaper than to guess wrong.
const COMPARED_AT_ONCE: usize = 6;

impl Fun<'_> {
    /// Adds a finished successor to the batch, unless it is its own source and such are not wanted;
    /// whether there is room for another.
    pub(crate) fn append(&mut self, rule: u32, label: Value) -> Value {
        let (add, join) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(join, types::I8);
        self.pass_loop(rule, add, join);
        self.enter(add);
        let room = self.add(rule, label);
        self.jump_with(join, &[room]);
        self.enter(join);
        self.b.block_params(join)[0]
    }

    /// Goes to `add`, or counts a successor that is its own source and goes to `join`.
    fn pass_loop(&mut self, rule: u32, add: Block, join: Block) {
        let Some(source) = self.source else { return self.jump(add) };
        self.branch_changed(source, add);
        let sum = self.ctx_load(offset_of!(Ctx, loop_sum));
        let sum = self.b.ins().iadd_imm_s(sum, 1);
        self.ctx_store(offset_of!(Ctx, loop_sum), sum);
        let looped = self.b.create_block();
        let keep = self.ctx_load(offset_of!(Ctx, keep_loops));
        self.brif(keep, add, looped);
        self.enter(looped);
        let (loops, offset) = (self.ctx_load(offset_of!(Ctx, loops)), rule as i32 * 8);
        let count = self.b.ins().load(I64, memory(), loops, offset);
        let count = self.b.ins().iadd_imm_s(count, 1);
        self.b.ins().store(memory(), count, loops, offset);
        let room = self.b.ins().iconst(types::I8, 1);
        self.jump_with(join, &[room]);
    }

    /// Goes to `yes` if the successor differs from its source, and else goes on.
    fn branch_changed(&mut self, source: Value, yes: Block) {
        let (words, state) = (self.changed_words(), self.state);
        if words.len() > MOST_COMPARED {
            let width = self.unit.layout.shape().words as i64;
            let width = self.int(width);
            let differs = self.ask(runtime::differs as *const u8, &[source, state, width]);
            return self.leave_to(differs, yes);
        }
        for group in words.chunks(COMPARED_AT_ONCE) {
            let mut differs = self.int(0);
            for word in group {
                let offset = (word * 8) as i32;
                let old = self.b.ins().load(I64, memory(), source, offset);
                let new = self.b.ins().load(I64, memory(), state, offset);
                let bits = self.b.ins().bxor(new, old);
                differs = self.b.ins().bor(differs, bits);
            }
            self.leave_to(differs, yes);
        }
    }

    /// Goes to a block if a condition is not zero, and else goes on.
    fn leave_to(&mut self, condition: Value, block: Block) {
        let on = self.b.create_block();
        self.brif(condition, block, on);
        self.enter(on);
    }

    /// The words in which the successor can differ from its source.
    fn changed_words(&self) -> Vec<usize> {
        let (layout, globals) = (self.unit.layout, &self.unit.program.globals);
        let mut words: Vec<usize> = Vec::new();
        for id in self.changed.iter().flatten() {
            let first = layout.global(*id);
            let bits = layout.bits(globals[id.0 as usize].ty);
            words.extend(first / 64..(first + bits).div_ceil(64));
        }
        words.sort_unstable();
        words.dedup();
        words
    }

    /// Adds a finished successor to the batch; whether there is room for another.
    fn add(&mut self, rule: u32, label: Value) -> Value {
        let words = self.unit.layout.shape().words;
        let len = self.ctx_load(offset_of!(Ctx, len));
        let column = self.b.ins().ishl_imm_u(len, 2);
        let source = self.ctx_load(offset_of!(Ctx, source));
        let rule = self.int(i64::from(rule));
        let columns = [
            (offset_of!(Ctx, sources), source),
            (offset_of!(Ctx, rules), rule),
            (offset_of!(Ctx, labels), label),
        ];
        for (offset, value) in columns {
            let base = self.ctx_load(offset);
            let at = self.b.ins().iadd(base, column);
            self.b.ins().istore32(memory(), value, at, 0);
        }
        let next_slot = self.b.ins().iadd_imm_s(self.state, words as i64 * 8);
        self.ctx_store(offset_of!(Ctx, slot), next_slot);
        let len = self.b.ins().iadd_imm_s(len, 1);
        self.ctx_store(offset_of!(Ctx, len), len);
        let cap = self.ctx_load(offset_of!(Ctx, cap));
        self.b.ins().icmp(IntCC::UnsignedLessThan, len, cap)
    }
}
