//! A whole program: declares and generates all functions, and owns the code.

use crate::JitError;
use crate::action::{Numbers, Site, action, body, proc, property};
use crate::analysis::Procs;
use crate::emit::{I64, Pool, Unit};
use crate::runtime::{Ctx, Tables};
use crate::sweep;
use cranelift_codegen::ir::{AbiParam, Signature};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{Context, control::ControlPlane};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleError, default_libcall_names};
use ergodic_ir::{Instances, LocalKind, Pass, Program, PropertyKind, Type};
use ergodic_system::DeadlockMode;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Bytes of locals that a function keeps on the native stack at most.
const FRAME_BUDGET: usize = 64 << 10;

/// Native stack that nested calls may take together; workers have 256 MiB.
const STACK_BUDGET: usize = 192 << 20;

/// Part of a frame above the frame pointer: return address, saved registers, arguments on the stack.
const CALL_BYTES: usize = 256;

/// Room in a frame for what the compiler spills, in recursive programs.
const SPILL_ROOM: usize = 8 << 10;

/// Nodes that the loops of a program may be unrolled to. Each costs some microseconds.
const UNROLL_NODES: u64 = 5000;

/// Address space reserved for code: near calls reach all of it.
const CODE_BYTES: usize = 256 << 20;

/// An action: context and source state in, status out.
pub(crate) type ActionFn = unsafe extern "C" fn(*mut Ctx, *const u64) -> u64;

/// A property: context and state in, truth or fault out.
pub(crate) type PropertyFn = unsafe extern "C" fn(*mut Ctx, *const u64) -> u64;

/// What compiling took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompileStats {
    /// Functions: one per initial state, action, subroutine and property.
    pub functions: usize,
    /// Instructions of Cranelift's representation before optimisation.
    pub instructions: usize,
    /// Bytes of machine code.
    pub code_bytes: usize,
    /// Largest native frame in bytes.
    pub largest_frame: usize,
    /// Time to generate and compile.
    pub time: Duration,
}

/// The code of a program. Function pointers point into memory that it owns.
pub(crate) struct Compiled {
    module: Option<JITModule>,
    /// Data that the code points to.
    _pool: Pool,
    pub starts: Vec<ActionFn>,
    pub actions: Vec<ActionFn>,
    /// One per property of the program.
    pub properties: Vec<PropertyFn>,
    /// All rules on many states, if there is a single class of priority.
    pub sweep: Option<ActionFn>,
    /// All invariants on many states.
    pub judge: PropertyFn,
    pub stats: CompileStats,
}

// SAFETY: after construction the module is not touched any more until it is dropped; the code is
// read-only memory, its constant data too; all mutable data comes in by the context.
unsafe impl Sync for Compiled {}
// SAFETY: as above; nothing in it is tied to a thread.
unsafe impl Send for Compiled {}

impl Drop for Compiled {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: function pointers never leave this crate, and they are only called through a
            // borrow of the executor that owns this value; so none is running or will be called.
            unsafe { module.free_memory() };
        }
    }
}

fn module_error(error: ModuleError) -> JitError {
    JitError::new(&format!("{error:?}"))
}

fn new_module() -> Result<JITModule, JitError> {
    let mut flags = settings::builder();
    let verifier = if cfg!(any(debug_assertions, test)) { "true" } else { "false" };
    let options = [
        ("opt_level", "speed"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("enable_verifier", verifier),
        ("unwind_info", "false"),
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
    ];
    for (name, value) in options {
        flags.set(name, value).map_err(|error| JitError::new(&error.to_string()))?;
    }
    let isa = cranelift_native::builder()
        .map_err(JitError::new)?
        .finish(settings::Flags::new(flags))
        .map_err(|error| JitError::new(&error.to_string()))?;
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    let memory = ArenaMemoryProvider::new_with_size(CODE_BYTES)
        .map_err(|error| JitError::new(&error.to_string()))?;
    builder.memory_provider(Box::new(memory));
    Ok(JITModule::new(builder))
}

/// Functions while they are generated.
struct Builder<'p> {
    unit: Unit<'p>,
    module: JITModule,
    pool: Pool,
    context: Context,
    functions: FunctionBuilderContext,
    stats: CompileStats,
}

impl<'p> Builder<'p> {
    fn signature(module: &JITModule, params: usize, returns: usize) -> Signature {
        let mut signature = module.make_signature();
        signature.params.extend((0..params).map(|_| AbiParam::new(I64)));
        signature.returns.extend((0..returns).map(|_| AbiParam::new(I64)));
        signature
    }

    fn declare(
        module: &mut JITModule,
        signature: &Signature,
        name: &str,
    ) -> Result<FuncId, JitError> {
        module.declare_function(name, Linkage::Local, signature).map_err(module_error)
    }

    /// Generates one function with `fill` and compiles it.
    fn define(
        &mut self,
        id: FuncId,
        fill: impl for<'f> FnOnce(&'f Unit<'f>, Site<'f>) -> Result<(), JitError>,
    ) -> Result<(), JitError>
    where
        Unit<'p>: Sized,
    {
        let declaration = self.module.declarations().get_function_decl(id);
        self.context.func.signature = declaration.signature.clone();
        let site = Site {
            module: &mut self.module,
            pool: &mut self.pool,
            func: &mut self.context.func,
            builder: &mut self.functions,
        };
        fill(&self.unit, site)?;
        self.stats.functions += 1;
        self.stats.instructions += self.context.func.dfg.num_insts();
        let mut control = ControlPlane::default();
        self.module
            .define_function_with_control_plane(id, &mut self.context, &mut control)
            .map_err(module_error)?;
        if let Some(code) = self.context.compiled_code() {
            self.stats.code_bytes += code.code_buffer().len();
            let frame = code.buffer.frame_layout().map_or(0, |layout| layout.frame_to_fp_offset);
            self.stats.largest_frame = self.stats.largest_frame.max(frame as usize + CALL_BYTES);
        }
        self.module.clear_context(&mut self.context);
        Ok(())
    }
}

/// Compiles a program.
pub(crate) fn compile(
    tables: &Tables,
    instances: &Instances,
    deadlock: DeadlockMode,
) -> Result<Compiled, JitError> {
    let begin = Instant::now();
    let program = &*tables.program;
    reject(program)?;
    let procs = Procs::new(program);
    let nesting = procs.nesting;
    let frame_budget = frame_budget(program, nesting);
    let mut module = new_module()?;
    let mut proc_ids = Vec::with_capacity(program.procs.len());
    for (i, proc) in program.procs.iter().enumerate() {
        let words: usize = proc.params.iter().map(|p| 1 + usize::from(*p == Pass::Ref)).sum();
        let signature = Builder::signature(&module, 2 + words, 2);
        proc_ids.push(Builder::declare(&mut module, &signature, &format!("proc{i}"))?);
    }
    let plain = Builder::signature(&module, 2, 1);
    let many = |module: &mut JITModule, stem: &str, count: usize| {
        let one = |i| Builder::declare(module, &plain, &format!("{stem}{i}"));
        (0..count).map(one).collect::<Result<Vec<FuncId>, JitError>>()
    };
    let starts = many(&mut module, "start", program.starts.len())?;
    let actions = many(&mut module, "action", program.actions.len())?;
    let properties = many(&mut module, "property", program.properties.len())?;
    let of_kind = |kind: PropertyKind| {
        let all = program.properties.iter().zip(&properties).enumerate();
        let of_kind = all.filter(move |(_, (property, _))| property.kind == kind);
        of_kind.map(|(i, (_, id))| (i as u32, *id))
    };
    let invariants: Vec<(u32, FuncId)> = of_kind(PropertyKind::Invariant).collect();
    let mut goal = 0..;
    let goals = program.properties.iter().map(|property| match property.kind {
        PropertyKind::Cover => goal.next(),
        _ => None,
    });
    let unit = Unit {
        program,
        layout: &tables.layout,
        tables,
        procs,
        proc_ids: proc_ids.clone(),
        assumptions: of_kind(PropertyKind::Assumption).map(|(_, id)| id).collect(),
        count_calls: nesting.is_none_or(|nesting| nesting > program.call_limit),
        frame_budget,
        arena: needs_arena(tables, frame_budget),
        goals: goals.collect(),
        unroll: Cell::new(UNROLL_NODES),
    };
    let plan = match sweep::one_class(program) {
        true => sweep::plan(&unit, instances),
        false => Vec::new(),
    };
    let mut bodies: Vec<Option<FuncId>> = vec![None; program.actions.len()];
    for piece in plan.iter().flatten().filter(|piece| piece.has_own_body()) {
        let params = program.actions[piece.rule].params.len();
        let signature = Builder::signature(&module, 3 + params, 1);
        let name = format!("body{}", piece.rule);
        bodies[piece.rule] = Some(Builder::declare(&mut module, &signature, &name)?);
    }
    let chunks = many(&mut module, "chunk", plan.len())?;
    let several = many(&mut module, "several", 2)?;
    let context = module.make_context();
    let mut builder = Builder {
        unit,
        module,
        pool: Pool::default(),
        context,
        functions: FunctionBuilderContext::new(),
        stats: CompileStats::default(),
    };
    for (i, id) in proc_ids.iter().enumerate() {
        builder.define(*id, |unit, site| proc(unit, site, &unit.program.procs[i]))?;
    }
    let nested = nesting.map_or(program.call_limit, |n| n.min(program.call_limit)) as usize;
    if nested.saturating_mul(builder.stats.largest_frame) > STACK_BUDGET {
        let text = format!("{nested} nested calls need more stack than a worker has");
        return Err(JitError::new(&text));
    }
    for (i, id) in properties.iter().enumerate() {
        builder.define(*id, |unit, site| property(unit, site, &unit.program.properties[i]))?;
    }
    for (initial, ids) in [(true, &starts), (false, &actions)] {
        for (i, id) in ids.iter().enumerate() {
            let rule = if initial { 0 } else { i as u32 };
            let (base, radices) = (instances.base(initial, i), instances.radices(initial, i));
            let in_chunk = |piece: &sweep::Piece| piece.rule == i && piece.is_whole();
            let hot = !initial && !plan.iter().flatten().any(in_chunk);
            let numbers = Numbers { rule, base, radices, hot };
            let own = if initial { None } else { bodies[i] };
            if let Some(own) = own {
                builder
                    .define(own, |unit, site| body(unit, site, &unit.program.actions[i], rule))?;
            }
            builder.define(*id, |unit, site| {
                let list = if initial { &unit.program.starts } else { &unit.program.actions };
                action(unit, site, &list[i], numbers, own)
            })?;
        }
    }
    for (pieces, id) in plan.iter().zip(&chunks) {
        let functions = sweep::Functions { actions: &actions, bodies: &bodies };
        builder.define(*id, |unit, site| sweep::chunk(unit, site, pieces, functions, instances))?;
    }
    builder.define(several[0], |unit, site| sweep::sweep(unit, site, &chunks, deadlock))?;
    builder.define(several[1], |unit, site| sweep::judge(unit, site, &invariants))?;
    let Builder { mut module, pool, mut stats, .. } = builder;
    module.finalize_definitions().map_err(module_error)?;
    // SAFETY: the functions were generated with exactly this signature and calling convention.
    let plain = |id: &FuncId| unsafe {
        std::mem::transmute::<*const u8, ActionFn>(module.get_finalized_function(*id))
    };
    let (starts, actions) =
        (starts.iter().map(plain).collect(), actions.iter().map(plain).collect());
    let properties = properties.iter().map(plain).collect();
    let sweep = sweep::one_class(program).then(|| plain(&several[0]));
    let judge = plain(&several[1]);
    stats.time = begin.elapsed();
    let module = Some(module);
    Ok(Compiled { module, _pool: pool, starts, actions, properties, sweep, judge, stats })
}

/// Programs that no code is generated for.
fn reject(program: &Program) -> Result<(), JitError> {
    let wide = |ty: &Type| matches!(ty, Type::Scalar(scalar) if scalar.bits() > 64);
    if program.types.iter().any(wide) {
        return Err(JitError::new("a scalar type needs more than 64 bits"));
    }
    if cfg!(target_endian = "big") {
        return Err(JitError::new("bit fields are laid out for little-endian machines"));
    }
    Ok(())
}

/// Bytes of locals per function such that nested calls fit the stack of a worker.
fn frame_budget(program: &Program, nesting: Option<u32>) -> usize {
    let nested = nesting.map_or(program.call_limit, |n| n.min(program.call_limit)) as usize;
    (STACK_BUDGET / (nested + 1)).saturating_sub(SPILL_ROOM).min(FRAME_BUDGET)
}

/// Whether a subroutine may keep locals in the arena.
fn needs_arena(tables: &Tables, budget: usize) -> bool {
    tables.program.procs.iter().any(|proc| {
        let storage = proc.locals.iter().filter(|local| local.kind == LocalKind::Storage);
        let bytes: usize =
            storage.map(|local| tables.layout.bits(local.ty).div_ceil(64) * 8 + 8).sum();
        bytes > budget
    })
}
