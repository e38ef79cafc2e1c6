//! A whole program: declares and generates all functions, and owns the code.

use crate::JitError;
use crate::action::{Numbers, Site, action, body, proc, property};
use crate::analysis::Procs;
use crate::crew::{Code, Crew, compile_all};
use crate::emit::{I64, Pool, Unit};
use crate::runtime::{Ctx, Tables};
use crate::sweep;
use cranelift_codegen::ir::AbiParam;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
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

/// The code generator for this machine.
fn native() -> Result<OwnedTargetIsa, JitError> {
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
    cranelift_native::builder()
        .map_err(JitError::new)?
        .finish(settings::Flags::new(flags))
        .map_err(|error| JitError::new(&error.to_string()))
}

fn new_module(isa: OwnedTargetIsa) -> Result<JITModule, JitError> {
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    let memory = ArenaMemoryProvider::new_with_size(CODE_BYTES)
        .map_err(|error| JitError::new(&error.to_string()))?;
    builder.memory_provider(Box::new(memory));
    Ok(JITModule::new(builder))
}

/// The functions of a program.
struct Ids {
    procs: Vec<FuncId>,
    starts: Vec<FuncId>,
    actions: Vec<FuncId>,
    properties: Vec<FuncId>,
    /// Bodies of actions that are functions of their own.
    bodies: Vec<Option<FuncId>>,
    /// Parts of the sweep.
    chunks: Vec<FuncId>,
    sweep: FuncId,
    judge: FuncId,
}

/// Functions while they are generated.
struct Builder<'p> {
    unit: Unit<'p>,
    module: JITModule,
    pool: Pool,
    functions: FunctionBuilderContext,
    crew: &'p Crew<'p>,
}

impl<'p> Builder<'p> {
    fn new(unit: Unit<'p>, module: JITModule, crew: &'p Crew<'p>) -> Builder<'p> {
        let functions = FunctionBuilderContext::new();
        Builder { unit, module, pool: Pool::default(), functions, crew }
    }

    /// Generates one function with `fill` and hands it over.
    fn define(
        &mut self,
        id: FuncId,
        fill: impl for<'f> FnOnce(&'f Unit<'f>, Site<'f>) -> Result<(), JitError>,
    ) -> Result<(), JitError> {
        let mut context = self.crew.context();
        let declaration = self.module.declarations().get_function_decl(id);
        context.func.signature = declaration.signature.clone();
        let site = Site {
            module: &mut self.module,
            pool: &mut self.pool,
            func: &mut context.func,
            builder: &mut self.functions,
        };
        fill(&self.unit, site)?;
        self.crew.push(id, context)
    }

    /// Generates all functions.
    fn define_all(
        &mut self,
        ids: &Ids,
        plan: &[Vec<sweep::Piece>],
        instances: &Instances,
        deadlock: DeadlockMode,
    ) -> Result<(), JitError> {
        for (i, id) in ids.procs.iter().enumerate() {
            self.define(*id, |unit, site| proc(unit, site, &unit.program.procs[i]))?;
        }
        for (i, id) in ids.properties.iter().enumerate() {
            self.define(*id, |unit, site| property(unit, site, &unit.program.properties[i]))?;
        }
        self.define_actions(ids, plan, instances)?;
        let functions = sweep::Functions { actions: &ids.actions, bodies: &ids.bodies };
        for (pieces, id) in plan.iter().zip(&ids.chunks) {
            self.define(*id, |unit, site| sweep::chunk(unit, site, pieces, functions, instances))?;
        }
        self.define(ids.sweep, |unit, site| sweep::sweep(unit, site, &ids.chunks, deadlock))?;
        let invariants = of_kind(self.unit.program, &ids.properties, PropertyKind::Invariant);
        self.define(ids.judge, |unit, site| sweep::judge(unit, site, &invariants))
    }

    /// Generates initial states and actions.
    fn define_actions(
        &mut self,
        ids: &Ids,
        plan: &[Vec<sweep::Piece>],
        instances: &Instances,
    ) -> Result<(), JitError> {
        for (initial, list) in [(true, &ids.starts), (false, &ids.actions)] {
            for (i, id) in list.iter().enumerate() {
                let rule = if initial { 0 } else { i as u32 };
                let (base, radices) = (instances.base(initial, i), instances.radices(initial, i));
                let in_chunk = |piece: &sweep::Piece| piece.rule == i && piece.is_whole();
                let hot = !initial && !plan.iter().flatten().any(in_chunk);
                let numbers = Numbers { rule, base, radices, hot };
                let own = if initial { None } else { ids.bodies[i] };
                if let Some(own) = own {
                    self.define(own, |unit, site| {
                        body(unit, site, &unit.program.actions[i], rule)
                    })?;
                }
                self.define(*id, |unit, site| {
                    let list = if initial { &unit.program.starts } else { &unit.program.actions };
                    action(unit, site, &list[i], numbers, own)
                })?;
            }
        }
        Ok(())
    }
}

/// The properties of a kind, with their numbers.
fn of_kind(program: &Program, ids: &[FuncId], kind: PropertyKind) -> Vec<(u32, FuncId)> {
    let all = program.properties.iter().zip(ids).enumerate();
    let of_kind = all.filter(|(_, (property, _))| property.kind == kind);
    of_kind.map(|(i, (_, id))| (i as u32, *id)).collect()
}

/// What functions need to know of their program.
fn unit<'p>(tables: &'p Tables, procs: Procs, ids: (&[FuncId], &[FuncId])) -> Unit<'p> {
    let (proc_ids, properties) = ids;
    let program = &*tables.program;
    let frame_budget = frame_budget(program, procs.nesting);
    let mut goal = 0..;
    let goals = program.properties.iter().map(|property| match property.kind {
        PropertyKind::Cover => goal.next(),
        _ => None,
    });
    let assumptions = of_kind(program, properties, PropertyKind::Assumption);
    Unit {
        program,
        layout: &tables.layout,
        tables,
        proc_ids: proc_ids.to_vec(),
        assumptions: assumptions.into_iter().map(|(_, id)| id).collect(),
        count_calls: procs.nesting.is_none_or(|nesting| nesting > program.call_limit),
        procs,
        frame_budget,
        arena: needs_arena(tables, frame_budget),
        goals: goals.collect(),
        unroll: Cell::new(UNROLL_NODES),
    }
}

/// Declares functions.
struct Declarations<'m> {
    module: &'m mut JITModule,
}

impl Declarations<'_> {
    fn one(&mut self, params: usize, returns: usize, name: &str) -> Result<FuncId, JitError> {
        let mut signature = self.module.make_signature();
        signature.params.extend((0..params).map(|_| AbiParam::new(I64)));
        signature.returns.extend((0..returns).map(|_| AbiParam::new(I64)));
        self.module.declare_function(name, Linkage::Local, &signature).map_err(module_error)
    }

    /// Functions that take a context and a state.
    fn many(&mut self, stem: &str, count: usize) -> Result<Vec<FuncId>, JitError> {
        (0..count).map(|i| self.one(2, 1, &format!("{stem}{i}"))).collect()
    }

    fn procs(&mut self, program: &Program) -> Result<Vec<FuncId>, JitError> {
        let procs = program.procs.iter().enumerate();
        let declared = procs.map(|(i, proc)| {
            let words: usize = proc.params.iter().map(|p| 1 + usize::from(*p == Pass::Ref)).sum();
            self.one(2 + words, 2, &format!("proc{i}"))
        });
        declared.collect()
    }

    fn bodies(
        &mut self,
        program: &Program,
        plan: &[Vec<sweep::Piece>],
    ) -> Result<Vec<Option<FuncId>>, JitError> {
        let mut bodies: Vec<Option<FuncId>> = vec![None; program.actions.len()];
        for piece in plan.iter().flatten().filter(|piece| piece.has_own_body()) {
            let params = program.actions[piece.rule].params.len();
            let name = format!("body{}", piece.rule);
            bodies[piece.rule] = Some(self.one(3 + params, 1, &name)?);
        }
        Ok(bodies)
    }
}

/// Compiles a program on so many threads.
pub(crate) fn compile(
    tables: &Tables,
    instances: &Instances,
    deadlock: DeadlockMode,
    threads: usize,
) -> Result<Compiled, JitError> {
    let begin = Instant::now();
    let program = &*tables.program;
    reject(program)?;
    let isa = native()?;
    let ((ids, mut module, pool, nesting), functions) = compile_all(&*isa, threads, |crew| {
        let mut module = new_module(isa.clone())?;
        let mut declare = Declarations { module: &mut module };
        let (procs, properties) =
            (declare.procs(program)?, declare.many("property", program.properties.len())?);
        let unit = unit(tables, Procs::new(program), (&procs, &properties));
        let plan = match sweep::one_class(program) {
            true => sweep::plan(&unit, instances),
            false => Vec::new(),
        };
        let ids = Ids {
            procs,
            properties,
            starts: declare.many("start", program.starts.len())?,
            actions: declare.many("action", program.actions.len())?,
            bodies: declare.bodies(program, &plan)?,
            chunks: declare.many("chunk", plan.len())?,
            sweep: declare.one(2, 1, "sweep")?,
            judge: declare.one(2, 1, "judge")?,
        };
        let mut builder = Builder::new(unit, module, crew);
        builder.define_all(&ids, &plan, instances, deadlock)?;
        Ok((ids, builder.module, builder.pool, builder.unit.procs.nesting))
    })?;
    let mut stats = define_code(&mut module, &functions)?;
    check_stack(most_nested(program, nesting), &ids, &functions)?;
    module.finalize_definitions().map_err(module_error)?;
    // SAFETY: the functions were generated with exactly this signature and calling convention.
    let plain = |id: &FuncId| unsafe {
        std::mem::transmute::<*const u8, ActionFn>(module.get_finalized_function(*id))
    };
    let all = |ids: &[FuncId]| ids.iter().map(plain).collect();
    let (starts, actions, properties) = (all(&ids.starts), all(&ids.actions), all(&ids.properties));
    let sweep = sweep::one_class(program).then(|| plain(&ids.sweep));
    let judge = plain(&ids.judge);
    stats.time = begin.elapsed();
    let module = Some(module);
    Ok(Compiled { module, _pool: pool, starts, actions, properties, sweep, judge, stats })
}

/// Puts machine code into the module.
fn define_code(module: &mut JITModule, functions: &[Code]) -> Result<CompileStats, JitError> {
    let mut stats = CompileStats::default();
    for code in functions {
        module
            .define_function_bytes(code.id, code.align, &code.bytes, &code.relocs)
            .map_err(module_error)?;
        stats.functions += 1;
        stats.instructions += code.instructions;
        stats.code_bytes += code.bytes.len();
        stats.largest_frame = stats.largest_frame.max(code.frame + CALL_BYTES);
    }
    Ok(stats)
}

/// Refuses programs whose calls, so many of them nested, need more stack than there is.
fn check_stack(nested: usize, ids: &Ids, functions: &[Code]) -> Result<(), JitError> {
    let procs = functions.iter().filter(|code| ids.procs.contains(&code.id));
    let largest = procs.map(|code| code.frame + CALL_BYTES).max().unwrap_or(0);
    if nested.saturating_mul(largest) > STACK_BUDGET {
        let text = format!("{nested} nested calls need more stack than a worker has");
        return Err(JitError::new(&text));
    }
    Ok(())
}

/// Calls that can be active at the same time.
fn most_nested(program: &Program, nesting: Option<u32>) -> usize {
    nesting.map_or(program.call_limit, |n| n.min(program.call_limit)) as usize
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
    let nested = most_nested(program, nesting);
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
