//! Compiles functions while others are still being generated, on several threads.
//!
//! To generate a function takes the module, of which there is one; to compile it takes most of the time,
//! and nothing but the function. So functions that were generated wait, helpers compile them, the
//! largest first, and the generator helps when many wait or it is done. Machine code goes into the module at
//! the end, in the order in which functions were generated: it does not depend on the threads.
//!
//! Contexts are used again and again, because that saves a sixth of the time.

use crate::{COMPILER_STACK, JitError, joined};
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::TargetIsa;
use cranelift_module::{FuncId, ModuleReloc};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, ScopedJoinHandle, scope};

/// Threads beyond these gain nothing.
const MOST_THREADS: usize = 8;

/// Functions that may wait for each helper.
const MOST_WAITING: usize = 32;

/// A function that was generated. Ordered by size.
struct Function {
    id: FuncId,
    context: Box<Context>,
    /// Instructions.
    size: usize,
    /// Its place among all functions.
    number: usize,
}

impl Ord for Function {
    fn cmp(&self, other: &Function) -> Ordering {
        (self.size, self.number).cmp(&(other.size, other.number))
    }
}

impl PartialOrd for Function {
    fn partial_cmp(&self, other: &Function) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Function {}

/// A function that is compiled.
pub(crate) struct Code {
    pub id: FuncId,
    number: usize,
    /// Instructions before optimisation.
    pub instructions: usize,
    pub bytes: Vec<u8>,
    pub align: u64,
    pub relocs: Vec<ModuleReloc>,
    /// Bytes of the native frame below the frame pointer.
    pub frame: usize,
}

impl Function {
    /// Compiles it; its context is empty then.
    fn compile(&mut self, isa: &dyn TargetIsa) -> Result<Code, JitError> {
        let context = &mut *self.context;
        if let Err(error) = context.compile(isa, &mut ControlPlane::default()) {
            return Err(JitError::new(&format!("{:?}", error.inner)));
        }
        let nothing = || JitError::new("the compiler returned no code");
        let code = context.compiled_code().ok_or_else(nothing)?;
        let relocs = code.buffer.relocs().iter();
        let relocs = relocs.map(|to| ModuleReloc::from_mach_reloc(to, &context.func, self.id));
        let layout = code.buffer.frame_layout();
        let code = Code {
            id: self.id,
            number: self.number,
            instructions: self.size,
            bytes: code.code_buffer().to_vec(),
            align: u64::from(code.buffer.alignment),
            relocs: relocs.collect(),
            frame: layout.map_or(0, |layout| layout.frame_to_fp_offset as usize),
        };
        context.clear();
        Ok(code)
    }
}

/// What the members of a crew share.
#[derive(Default)]
struct Shared {
    waiting: BinaryHeap<Function>,
    /// Functions that were handed over.
    count: usize,
    /// No more will come.
    ended: bool,
    /// Contexts to be used again.
    spare: Vec<Box<Context>>,
    done: Vec<Code>,
}

/// Who compiles.
pub(crate) struct Crew<'a> {
    isa: &'a dyn TargetIsa,
    helpers: usize,
    shared: Mutex<Shared>,
    changed: Condvar,
}

/// Tells the helpers that no more functions come, whatever happens.
struct End<'a>(&'a Crew<'a>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.shared().ended = true;
        self.0.changed.notify_all();
    }
}

impl Crew<'_> {
    /// What is shared is whole whenever the lock is free, even if its holder panicked.
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty context.
    pub(crate) fn context(&self) -> Box<Context> {
        self.shared().spare.pop().unwrap_or_else(|| Box::new(Context::new()))
    }

    /// Hands over a function that was generated.
    pub(crate) fn push(&self, id: FuncId, context: Box<Context>) -> Result<(), JitError> {
        let size = context.func.dfg.num_insts();
        let mut shared = self.shared();
        let number = shared.count;
        shared.count += 1;
        shared.waiting.push(Function { id, context, size, number });
        if shared.waiting.len() <= MOST_WAITING * self.helpers {
            self.changed.notify_one();
            return Ok(());
        }
        let next = shared.waiting.pop();
        drop(shared);
        next.map_or(Ok(()), |function| self.compile(function))
    }

    fn compile(&self, mut function: Function) -> Result<(), JitError> {
        let code = function.compile(self.isa)?;
        let mut shared = self.shared();
        shared.done.push(code);
        shared.spare.push(function.context);
        Ok(())
    }

    /// The largest function that waits, or none if all are taken and no more will come.
    fn next(&self) -> Option<Function> {
        let mut shared = self.shared();
        loop {
            match shared.waiting.pop() {
                None if !shared.ended => {
                    shared = self.changed.wait(shared).unwrap_or_else(PoisonError::into_inner);
                }
                next => return next,
            }
        }
    }

    /// Compiles functions until there are no more.
    fn work(&self) -> Result<(), JitError> {
        while let Some(function) = self.next() {
            self.compile(function)?;
        }
        Ok(())
    }
}

/// Runs `generate`, which hands functions over, and compiles these on so many threads, of which this is one.
/// Returns what it returned, and the code of all functions in their order.
pub(crate) fn compile_all<T>(
    isa: &dyn TargetIsa,
    threads: usize,
    generate: impl FnOnce(&Crew<'_>) -> Result<T, JitError>,
) -> Result<(T, Vec<Code>), JitError> {
    let helpers = threads.clamp(1, MOST_THREADS) - 1;
    let (shared, changed) = (Mutex::default(), Condvar::default());
    let crew = Crew { isa, helpers, shared, changed };
    let made = scope(|scope| {
        let helper = |_| {
            let thread = Builder::new().stack_size(COMPILER_STACK);
            thread.spawn_scoped(scope, || crew.work()).ok()
        };
        // If the system gives no thread, it takes longer.
        let helpers: Vec<ScopedJoinHandle<'_, _>> = (0..helpers).map_while(helper).collect();
        let end = End(&crew);
        let made = generate(&crew)?;
        drop(end);
        crew.work()?;
        helpers.into_iter().try_for_each(joined)?;
        Ok::<T, JitError>(made)
    })?;
    let mut done = std::mem::take(&mut crew.shared().done);
    done.sort_by_key(|code| code.number);
    Ok((made, done))
}
