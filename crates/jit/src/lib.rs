//! The executor that compiles a program to machine code, with Cranelift.
//!
//! [`Jit`] computes exactly what the reference interpreter computes: the same successors in the same
//! order, the same faults, the same counts of cover goals. It is the only part of Ergodic that names
//! Cranelift.
//!
//! How the parts fit:
//! * `analysis`, `range`, `walk`: what has to be known before code is generated;
//! * `emit`: constants, jumps and checks, on top of Cranelift's builder; `field`: bit fields;
//! * `facts`: what is known where code is generated, so that nothing is read or checked twice;
//! * `place`, `expr`, `stmt`: one piece of code for each kind of place, expression and statement;
//! * `unroll`: loops of few rounds;
//! * `exits`: quantifiers are left when a part that is the same in all rounds decides;
//! * `action`: whole functions, and the loops over the parameters of actions;
//! * `append`: what becomes of a finished successor;
//! * `sweep`: all rules on all states of a block, all invariants on all fresh states;
//! * `crew`: compiles functions on several threads;
//! * `module`: all functions of a program, and the owner of the code;
//! * `runtime`: the context that code and Rust share, and the helpers that code calls.
//!
//! Shape of the code. One function per action tries its instances from a given one on. The parameters
//! are nested loops; each conjunct of the guard stands in the outermost loop where it can be without
//! changing which fault is seen first. An enabled instance copies the source state to the next slot
//! of the batch and edits it there. Faults jump to one cold block per function, which stores kind,
//! site and value in the context. Subroutines return a status next to their value.
//!
//! Invariants:
//! * a program passed [`ergodic_ir::verify`];
//! * every state is followed by one readable word, and so is every storage local, so that one
//!   unaligned access reaches any field of up to 57 bits;
//! * code reads the source state as constant memory and writes only to the slot of the successor, to
//!   locals, and to the context of its worker.

mod action;
mod analysis;
mod append;
mod crew;
mod emit;
mod exits;
mod expr;
mod facts;
mod field;
mod module;
mod place;
mod range;
mod runtime;
mod stmt;
mod sweep;
mod unroll;
mod walk;

pub use module::CompileStats;

use ergodic_ir::{Action, Instances, Layout, Program, PropertyKind};
use ergodic_system::{
    Apart, Batch, BatchParts, Block, Cursor, DeadlockMode, Fault, Fired, Label, Live, Picks,
    RuleSystem, Shape, Step, Violation, ViolationKind,
};
use module::{ActionFn, Compiled, PropertyFn};
use runtime::{Arena, Ctx, DEADLOCK, FAULT, FULL, Tables};
use std::ptr::null_mut;
use std::sync::Arc;
use std::thread::ScopedJoinHandle;

/// Why a program could not be compiled. The interpreter can still run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JitError(String);

impl JitError {
    pub(crate) fn new(text: &str) -> JitError {
        JitError(text.to_string())
    }
}

impl std::fmt::Display for JitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot compile the model to machine code: {}", self.0)
    }
}

impl std::error::Error for JitError {}

/// A program as machine code.
pub struct Jit {
    // Tables are referred to by the code, so they have an address of their own and outlive it.
    code: Compiled,
    tables: Box<Tables>,
    instances: Instances,
    deadlock: DeadlockMode,
    classes: Vec<Vec<u32>>,
    /// Properties by kind.
    invariants: Vec<u32>,
    covers: Vec<u32>,
    live: Vec<u32>,
    /// A state that is undefined throughout, and its padding.
    nothing: Vec<u64>,
    /// Most parameters of an action.
    params: usize,
}

impl std::fmt::Debug for Jit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jit").field("stats", &self.code.stats).finish_non_exhaustive()
    }
}

/// Working memory of one worker.
#[derive(Debug)]
pub struct Scratch {
    ctx: Box<Ctx>,
    goals: Apart,
    copy: Apart,
    starts: Apart,
    drops: Apart,
    loops: Apart,
    arena: Arena,
}

impl Scratch {
    /// The context, ready for a call: it points to the buffers of this scratch.
    fn ready(&mut self) -> &mut Ctx {
        self.arena.clear();
        let ctx = &mut *self.ctx;
        ctx.goals = self.goals.as_mut_ptr();
        ctx.copy = self.copy.as_mut_ptr();
        ctx.starts = self.starts.as_mut_ptr();
        ctx.drops = self.drops.as_mut_ptr();
        ctx.loops = self.loops.as_mut_ptr();
        ctx.arena = &raw mut self.arena;
        ctx.depth = 0;
        ctx
    }
}

// SAFETY: the pointers in the context are set anew from a borrow before every call; between calls
// they are not looked at.
unsafe impl Send for Scratch {}

/// Stack for walks over deeply nested programs; only what is used takes memory.
const COMPILER_STACK: usize = 1 << 30;

/// Runs the compiler where deep nesting cannot overflow the stack and a panic (it is large and young)
/// becomes an error.
fn with_stack<T: Send>(run: impl FnOnce() -> Result<T, JitError> + Send) -> Result<T, JitError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(COMPILER_STACK);
        let thread = thread
            .spawn_scoped(scope, run)
            .map_err(|error| JitError::new(&format!("no thread for the compiler: {error}")))?;
        joined(thread)
    })
}

/// What a thread of the compiler returned, or how it panicked.
fn joined<T>(thread: ScopedJoinHandle<'_, Result<T, JitError>>) -> Result<T, JitError> {
    thread.join().unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(JitError::new(text.unwrap_or("the compiler panicked")))
    })
}

/// Numbers of the actions, grouped by ascending priority, in program order in each group.
fn classes(actions: &[Action]) -> Vec<Vec<u32>> {
    let mut numbers: Vec<u32> = (0..actions.len() as u32).collect();
    numbers.sort_by_key(|i| actions[*i as usize].priority);
    let same = |a: &u32, b: &u32| actions[*a as usize].priority == actions[*b as usize].priority;
    numbers.chunk_by(same).map(<[u32]>::to_vec).collect()
}

impl Jit {
    /// Compiles a program that passed [`ergodic_ir::verify`].
    pub fn new(program: Arc<Program>, deadlock: DeadlockMode) -> Result<Jit, JitError> {
        Jit::with_threads(program, deadlock, 1)
    }

    /// As [`Jit::new`], on so many threads.
    pub fn with_threads(
        program: Arc<Program>,
        deadlock: DeadlockMode,
        threads: usize,
    ) -> Result<Jit, JitError> {
        let layout = Layout::new(&program);
        let instances = Instances::new(&program);
        let tables = Box::new(Tables { program: Arc::clone(&program), layout });
        let code = with_stack(|| module::compile(&tables, &instances, deadlock, threads))?;
        let of_kind = |kind: PropertyKind| -> Vec<u32> {
            let indices = 0..program.properties.len() as u32;
            indices.filter(|i| program.properties[*i as usize].kind == kind).collect()
        };
        let all = program.starts.iter().chain(&program.actions);
        Ok(Jit {
            code,
            instances,
            deadlock,
            classes: classes(&program.actions),
            invariants: of_kind(PropertyKind::Invariant),
            covers: of_kind(PropertyKind::Cover),
            live: of_kind(PropertyKind::Liveness),
            nothing: vec![0; tables.layout.shape().words + ergodic_system::PAD_WORDS],
            params: all.map(|action| action.params.len()).max().unwrap_or(0),
            tables,
        })
    }

    /// What compiling took.
    pub fn stats(&self) -> CompileStats {
        self.code.stats
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.tables.program
    }

    /// Where its variables lie.
    pub fn layout(&self) -> &Layout {
        &self.tables.layout
    }

    /// How its rule instances are numbered.
    pub fn instances(&self) -> &Instances {
        &self.instances
    }

    /// Indices in [`Program::properties`] of the cover goals, in the order of
    /// [`ergodic_system::System::goals`].
    pub fn covers(&self) -> &[u32] {
        &self.covers
    }

    /// Indices in [`Program::properties`] of the liveness properties, in the order of [`Live`].
    pub fn live(&self) -> &[u32] {
        &self.live
    }

    /// Tries the instances of an action (or initial state) from `at` on.
    fn run(&self, s: &mut Scratch, call: Call<'_>, at: &mut u64, out: &mut Batch) -> Fired {
        let (initial, number) = (call.initial, call.number as usize);
        if *at >= self.instances.count(initial, number) {
            return Fired::Done { dropped: 0 };
        }
        if out.is_full() {
            return Fired::Full { dropped: 0 };
        }
        let radices = self.instances.radices(initial, number);
        let starts = &mut s.starts[..radices.len()];
        if *at == 0 {
            starts.fill(0);
        } else {
            let mut rest = *at;
            for (start, radix) in starts.iter_mut().zip(radices).rev() {
                *start = rest % radix;
                rest /= radix;
            }
        }
        let words = self.tables.layout.shape().words;
        assert!(call.source.len() > words, "a state needs its padding");
        let keep_loops = initial || !out.skips_loops();
        let mut batch = out.parts();
        let ctx = s.ready();
        aim(ctx, &mut batch, words);
        ctx.source = call.position as u64;
        ctx.dropped = 0;
        ctx.keep_loops = u64::from(keep_loops);
        // SAFETY: the code was generated for this program. It reads the source state and one word
        // behind it (asserted), writes at most `cap - len` states from `slot` on and one word behind
        // them unchanged (asserted), as many entries of the columns, which have `cap` entries, and
        // the memory of the scratch, which has the sizes that `scratch` gave it.
        let status = unsafe { (call.code)(ctx, call.source.as_ptr()) };
        *batch.len = ctx.len as usize;
        let dropped = ctx.dropped as u32;
        if !keep_loops {
            out.note_loops(call.number, std::mem::take(&mut s.loops[number]) as u32);
        }
        let ctx = &*s.ctx;
        match status {
            FULL => {
                *at = ctx.instance + 1;
                match *at >= self.instances.count(initial, number) {
                    true => Fired::Done { dropped },
                    false => Fired::Full { dropped },
                }
            }
            FAULT => {
                *at = ctx.instance;
                Fired::Fault { fault: fault_of(ctx), dropped }
            }
            _ => {
                *at = self.instances.count(initial, number);
                Fired::Done { dropped }
            }
        }
    }

    /// Expands sources from `at`, the beginning of one, on, until the block is done or something
    /// stops it; in the first case `at` is behind the last source.
    fn sweep(
        &self,
        s: &mut Scratch,
        code: ActionFn,
        src: Block<'_>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Option<Step> {
        let words = self.tables.layout.shape().words;
        let before = out.len();
        s.starts.fill(0);
        assert!(!out.is_full() && src.width() == words, "room for one, and states of this width");
        let keep_loops = !out.skips_loops();
        let states = src.padded(at.source);
        let mut batch = out.parts();
        let ctx = s.ready();
        aim(ctx, &mut batch, words);
        ctx.source = at.source as u64;
        ctx.count = src.len() as u64;
        (ctx.dropped, ctx.drop_sum, ctx.drop_sum_before) = (0, 0, 0);
        (ctx.keep_loops, ctx.loop_sum, ctx.loop_sum_before) = (u64::from(keep_loops), 0, 0);
        // SAFETY: as in `run`, for the sources from `at.source` to the last of the block, which is
        // followed by its padding; every rule stops when the batch is full, and there is room now.
        let status = unsafe { code(ctx, states.as_ptr()) };
        *batch.len = ctx.len as usize;
        let (source, label) = (ctx.source as usize, Label(ctx.label as u32));
        let dropped_here = ctx.drop_sum != ctx.drop_sum_before;
        let looped_here = ctx.loop_sum != ctx.loop_sum_before;
        let fault = fault_of(ctx);
        let (dropped, looped) = (ctx.drop_sum, ctx.loop_sum);
        if looped > 0 && !keep_loops {
            for (rule, count) in s.loops.iter_mut().enumerate() {
                out.note_loops(rule as u32, std::mem::take(count) as u32);
            }
        }
        if dropped > 0 {
            for (rule, count) in s.drops.iter_mut().enumerate() {
                out.note_dropped(rule as u32, std::mem::take(count) as u32);
            }
        }
        match status {
            DEADLOCK => {
                *at = Cursor { source: source + 1, ..Cursor::default() };
                let kind = ViolationKind::Deadlock;
                Some(Step::Violation(Violation { at: source, label: None, kind }))
            }
            FULL | FAULT => {
                let (_, rule, instance) = self.instances.locate(label);
                // With a single class, rules fire in the order of the program.
                *at = Cursor { source, class: 0, rule, instance: instance + 1, ..*at };
                if status == FAULT {
                    (at.enabled, at.moved) = (true, true);
                    let kind = ViolationKind::Fault(fault);
                    return Some(Step::Violation(Violation {
                        at: source,
                        label: Some(label),
                        kind,
                    }));
                }
                let mine = (before..out.len()).rev();
                let mut mine = mine.take_while(|i| out.sources()[*i] == source as u32).peekable();
                at.enabled = dropped_here || looped_here || mine.peek().is_some();
                at.moved = dropped_here || mine.any(|i| out.state(i) != src.state(source));
                None
            }
            _ => {
                *at = Cursor { source: src.len(), ..Cursor::default() };
                None
            }
        }
    }

    /// Evaluates a property.
    fn holds(&self, s: &mut Scratch, property: u32, state: &[u64]) -> Result<bool, Fault> {
        assert!(state.len() > self.tables.layout.shape().words, "a state needs its padding");
        let code: PropertyFn = self.code.properties[property as usize];
        let ctx = s.ready();
        // SAFETY: as in `run`; a property only reads the state, and writes to the scratch.
        match unsafe { code(ctx, state.as_ptr()) } {
            FAULT => Err(fault_of(ctx)),
            truth => Ok(truth == 1),
        }
    }

    /// Judges the picked states by the invariants, from position `at` on.
    fn judge_all(
        &self,
        s: &mut Scratch,
        b: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation> {
        assert!(fresh[*at..].iter().all(|pick| (*pick as usize) < b.len()), "picks in the block");
        assert!(b.width() == self.tables.layout.shape().words, "states have another width");
        let ctx = s.ready();
        ctx.source = *at as u64;
        ctx.count = fresh.len() as u64;
        ctx.picks = fresh.as_ptr();
        // SAFETY: as in `holds`, for the states of a block at positions that were checked to lie in
        // it; it is followed by its padding.
        let status = unsafe { (self.code.judge)(ctx, b.padded(0).as_ptr()) };
        if status == 1 {
            *at = fresh.len();
            return None;
        }
        let position = ctx.source as usize;
        *at = position + 1;
        let kind = match status {
            FAULT => ViolationKind::Fault(fault_of(ctx)),
            _ => ViolationKind::Property(ctx.label as u32),
        };
        Some(Violation { at: fresh[position] as usize, label: None, kind })
    }

    fn judge_one(&self, s: &mut Scratch, state: &[u64]) -> Option<ViolationKind> {
        for index in &self.invariants {
            match self.holds(s, *index, state) {
                Ok(true) => {}
                Ok(false) => return Some(ViolationKind::Property(*index)),
                Err(fault) => return Some(ViolationKind::Fault(fault)),
            }
        }
        for (goal, index) in self.covers.iter().enumerate() {
            match self.holds(s, *index, state) {
                Ok(met) => s.goals[goal] += u64::from(met),
                Err(fault) => return Some(ViolationKind::Fault(fault)),
            }
        }
        None
    }
}

/// Lets generated code write to what is left of a batch.
fn aim(ctx: &mut Ctx, batch: &mut BatchParts<'_>, words: usize) {
    let (len, cap) = (*batch.len, batch.labels.len());
    assert!(batch.states.len() >= cap * words + ergodic_system::PAD_WORDS, "narrow batch");
    ctx.slot = batch.states[len * words..].as_mut_ptr();
    (ctx.len, ctx.cap) = (len as u64, cap as u64);
    ctx.sources = batch.sources.as_mut_ptr();
    ctx.rules = batch.rules.as_mut_ptr();
    // `Label` is a transparent number.
    ctx.labels = batch.labels.as_mut_ptr().cast();
}

/// What to run on what.
struct Call<'a> {
    code: ActionFn,
    initial: bool,
    number: u32,
    /// The source state and what is behind it.
    source: &'a [u64],
    position: usize,
}

fn fault_of(ctx: &Ctx) -> Fault {
    Fault { kind: (ctx.fault >> 32) as u16, site: ctx.fault as u32, value: ctx.fault_value }
}

impl RuleSystem for Jit {
    type Scratch = Scratch;

    fn shape(&self) -> Shape {
        self.tables.layout.shape()
    }

    fn scratch(&self) -> Scratch {
        let ctx = Box::new(Ctx {
            slot: null_mut(),
            len: 0,
            cap: 0,
            sources: null_mut(),
            rules: null_mut(),
            labels: null_mut(),
            source: 0,
            dropped: 0,
            instance: 0,
            fault: 0,
            fault_value: 0,
            depth: 0,
            goals: null_mut(),
            copy: null_mut(),
            starts: null_mut(),
            temp: 0,
            arena: null_mut(),
            count: 0,
            label: 0,
            drops: null_mut(),
            drop_sum: 0,
            drop_sum_before: 0,
            keep_loops: 1,
            loops: null_mut(),
            loop_sum: 0,
            loop_sum_before: 0,
            picks: std::ptr::null(),
        });
        Scratch {
            ctx,
            goals: Apart::new(self.covers.len()),
            copy: Apart::new(self.shape().words + ergodic_system::PAD_WORDS),
            starts: Apart::new(self.params),
            drops: Apart::new(self.tables.program.actions.len()),
            loops: Apart::new(self.tables.program.actions.len()),
            arena: Arena::default(),
        }
    }

    fn classes(&self) -> &[Vec<u32>] {
        &self.classes
    }

    fn starts(&self) -> usize {
        self.tables.program.starts.len()
    }

    fn deadlock(&self) -> DeadlockMode {
        self.deadlock
    }

    fn start(&self, s: &mut Scratch, start: u32, at: &mut u64, out: &mut Batch) -> Fired {
        let code = self.code.starts[start as usize];
        let call = Call { code, initial: true, number: start, source: &self.nothing, position: 0 };
        self.run(s, call, at, out)
    }

    fn fire(
        &self,
        s: &mut Scratch,
        rule: u32,
        src: Block<'_>,
        source: usize,
        at: &mut u64,
        out: &mut Batch,
    ) -> Fired {
        let code = self.code.actions[rule as usize];
        let state = src.padded(source);
        let call = Call { code, initial: false, number: rule, source: state, position: source };
        self.run(s, call, at, out)
    }

    fn label(&self, initial: bool, rule: u32, instance: u64) -> Label {
        self.instances.label(initial, rule as usize, instance)
    }

    fn expand_block(
        &self,
        s: &mut Scratch,
        src: Block<'_>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Step {
        while at.source < src.len() {
            // A source that was begun is finished rule by rule.
            let begun = at.class + at.rule > 0 || at.instance > 0 || at.enabled || at.moved;
            let step = match self.code.sweep {
                Some(code) if !begun && !out.is_full() => self.sweep(s, code, src, at, out),
                _ => self.expand_source(s, src, at, out),
            };
            if let Some(step) = step {
                return step;
            }
        }
        Step::Done
    }

    fn judge(
        &self,
        s: &mut Scratch,
        b: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation> {
        if self.covers.is_empty() && *at < fresh.len() {
            if self.invariants.is_empty() {
                *at = fresh.len();
                return None;
            }
            return self.judge_all(s, b, fresh, at);
        }
        while *at < fresh.len() {
            let place = fresh[*at] as usize;
            *at += 1;
            if let Some(kind) = self.judge_one(s, b.padded(place)) {
                return Some(Violation { at: place, label: None, kind });
            }
        }
        None
    }

    fn goals<'s>(&self, s: &'s Scratch) -> &'s [u64] {
        &s.goals
    }
}

impl Live for Jit {
    fn live_properties(&self) -> usize {
        self.live.len()
    }

    fn satisfies(&self, s: &mut Scratch, state: Block<'_>, property: usize) -> Result<bool, Fault> {
        self.holds(s, self.live[property], state.padded(0))
    }
}
