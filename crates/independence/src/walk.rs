//! One walk over the code of a rule instance: which bits of the state it can read and write.
//!
//! This is an abstract execution. Parameters are constants, loops with known bounds are run value by
//! value, calls are followed into the subroutine, conditions that are known decide branches, and the
//! values of scalars with a known address are followed through assignments and learned from guards
//! and conditions. So `a[i]`, `a[(i + 1) % n]`, `for j … if j != i then a[j]` and an index that was
//! passed to a procedure, kept in a local, or compared with a parameter by the guard are all told
//! apart element by element; what is still unknown is any value of its type.
//!
//! Invariants:
//! * everything that an execution can read or write is noted, whatever the state: sets are from above;
//! * an evaluation that faults ends the firing, so what comes after it may take for granted that it
//!   did not fault;
//! * multisets are one thing: touching an element touches all of it, for slots are sorted again;
//! * work is bounded: nesting, calls, and steps. A walk that exceeds a bound ends with [`Complex`],
//!   and the caller takes the coarser facts of [`ergodic_ir::Facts`].

mod conditions;
mod env;
mod exprs;
mod places;
mod stmts;
mod values;

pub(crate) use env::{Env, Known, Memory, Name, Region, Spot};
pub(crate) use values::Values;

use crate::ranges::Ranges;
use ergodic_ir::{Action, Domain, Expr, Layout, Local, LocalKind, Program, Type, TypeId};

/// Levels of expressions, statements and calls inside each other: what any stack has room for.
const MAX_DEPTH: u32 = 150;

/// Candidates for a place that are told apart.
const MAX_SPOTS: usize = 1024;

/// Rounds of a loop that are walked one by one.
const MAX_ROUNDS: u64 = 256;

/// The code takes too much work to be walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Complex;

/// A result, or none because it is too much work.
pub(crate) type Walked<T> = Result<T, Complex>;

/// What was touched, as noted on the way.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub(crate) reads: Vec<(usize, usize)>,
    pub(crate) writes: Vec<(usize, usize)>,
    /// Elements are added to a multiset of the state.
    pub(crate) adds: bool,
    /// Elements are removed from a multiset of the state.
    pub(crate) removes: bool,
}

/// What an instance of an action does.
#[derive(Debug, Default)]
pub(crate) struct Walkthrough {
    /// Read by the bindings before the guard, and by asking which slots are filled.
    pub(crate) prelude: Ranges,
    /// Read by each conjunct of the guard.
    pub(crate) conjuncts: Vec<Ranges>,
    /// Read by the body.
    pub(crate) body: Ranges,
    /// Written by guard and body.
    pub(crate) writes: Ranges,
    /// Cells that hold one of the given values, and are not undefined, whenever it has fired.
    pub(crate) exit: Vec<(usize, Vec<i64>)>,
    pub(crate) adds: bool,
    pub(crate) removes: bool,
}

/// A walk.
pub(crate) struct Walk<'a> {
    program: &'a Program,
    layout: &'a Layout,
    /// Steps that are left; shared by all walks of a program.
    fuel: &'a mut u64,
    touched: Touched,
    env: Env,
    depth: u32,
    frame: Frame<'a>,
    /// Frames so far.
    frames: u32,
    /// Bits of storage so far.
    storage: usize,
}

/// An active action, subroutine or property.
struct Frame<'a> {
    number: u32,
    locals: &'a [Local],
    result: Option<TypeId>,
    /// What is known where it returns, and the values that it returns.
    exit: Env,
    returned: Values,
}

impl<'a> Walk<'a> {
    /// A walk over code with these locals.
    pub(crate) fn new(
        program: &'a Program,
        layout: &'a Layout,
        locals: &'a [Local],
        fuel: &'a mut u64,
    ) -> Walk<'a> {
        let mut walk = Walk {
            program,
            layout,
            fuel,
            touched: Touched::default(),
            env: Env::default(),
            depth: 0,
            frame: Frame::new(0, locals, None),
            frames: 1,
            storage: 0,
        };
        walk.place_storage(0, locals);
        walk
    }

    /// Walks an instance of an action; `None` for a parameter stands for all of its values.
    pub(crate) fn action(
        mut self,
        action: &'a Action,
        params: &[Option<i64>],
    ) -> Walked<Walkthrough> {
        let mut out = Walkthrough::default();
        let mut writes = Vec::new();
        for (param, value) in action.params.iter().zip(params) {
            let values = self.param_values(&param.over, *value);
            self.name(param.local.0, Name::Value(values));
        }
        for param in &action.params {
            if let Domain::Slots(set) = &param.over {
                let (region, _) = self.place(set)?;
                self.note_read(&region)?;
            }
        }
        self.stmts(&action.prelude)?;
        out.prelude = self.take_reads(&mut writes);
        for conjunct in &action.guard {
            if !self.expr(conjunct)?.may(|code| code != 0) {
                self.env.kill();
            }
            out.conjuncts.push(self.take_reads(&mut writes));
            self.learn(conjunct, true)?;
            self.touched.reads.clear();
        }
        self.stmts(&action.body)?;
        out.body = self.take_reads(&mut writes);
        out.writes = Ranges::new(writes);
        let end = std::mem::take(&mut self.env).join(std::mem::take(&mut self.frame.exit));
        out.exit = exit_values(&end);
        (out.adds, out.removes) = (self.touched.adds, self.touched.removes);
        Ok(out)
    }

    /// Walks a single expression, of a property.
    pub(crate) fn reads_of(mut self, expr: &'a Expr) -> Walked<Ranges> {
        self.expr(expr)?;
        Ok(self.take_reads(&mut Vec::new()))
    }

    fn param_values(&self, over: &Domain, value: Option<i64>) -> Values {
        match (value, over) {
            (Some(code), _) => Values::one(code),
            (None, Domain::Type(ty)) => Values::of_type(&self.program.types, *ty),
            (None, Domain::Range { from, to, step }) => {
                Values::series(*from, *step, ergodic_ir::range_len(*from, *to, *step))
            }
            (None, Domain::Slots(_)) => Values::Any,
        }
    }

    /// What was read since the last call; what was written goes to `writes`.
    fn take_reads(&mut self, writes: &mut Vec<(usize, usize)>) -> Ranges {
        writes.append(&mut self.touched.writes);
        Ranges::new(std::mem::take(&mut self.touched.reads))
    }

    /// Takes steps.
    fn spend(&mut self, steps: u64) -> Walked<()> {
        *self.fuel = self.fuel.checked_sub(steps).ok_or(Complex)?;
        Ok(())
    }

    /// Runs something one level deeper.
    fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Walked<T>) -> Walked<T> {
        self.spend(1)?;
        if self.depth >= MAX_DEPTH {
            return Err(Complex);
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    /// A copy of what is known.
    fn fork(&mut self) -> Walked<Env> {
        self.spend(self.env.size() / 4)?;
        Ok(self.env.clone())
    }

    /// Adds what is known at the end of another way.
    fn merge(&mut self, other: Env) -> Walked<()> {
        self.spend((self.env.size() + other.size()) / 4)?;
        self.env = std::mem::take(&mut self.env).join(other);
        Ok(())
    }

    /// Goes on with what is known elsewhere.
    fn go_on(&mut self, env: Env) {
        if env.dead {
            self.env.kill();
        } else {
            self.env = env;
        }
    }

    /// Gives a local of the current frame its meaning.
    fn name(&mut self, local: u32, name: Name) {
        self.env.names.insert((self.frame.number, local), name);
    }

    /// Gives the storage locals of a frame addresses.
    fn place_storage(&mut self, frame: u32, locals: &[Local]) {
        for (i, local) in locals.iter().enumerate() {
            if local.kind == LocalKind::Storage {
                let start = self.storage;
                self.storage += self.layout.bits(local.ty);
                let spot = Spot { memory: Memory::Storage, start, end: self.storage };
                self.env.names.insert((frame, i as u32), Name::Place(Region::at(spot)));
            }
        }
    }

    fn ty(&self, ty: TypeId) -> Walked<&'a Type> {
        self.program.types.get(ty.0 as usize).ok_or(Complex)
    }
}

impl<'a> Frame<'a> {
    fn new(number: u32, locals: &'a [Local], result: Option<TypeId>) -> Frame<'a> {
        let returned = Values::Among(Vec::new());
        Frame { number, locals, result, exit: Env::nowhere(), returned }
    }
}

/// Cells of the state that are known to be defined, with their values.
fn exit_values(end: &Env) -> Vec<(usize, Vec<i64>)> {
    let cells = end.cells.iter().filter_map(|((memory, bit), known)| match known {
        Known { values: Values::Among(codes), undefined: false } if *memory == Memory::State => {
            Some((*bit, codes.clone()))
        }
        _ => None,
    });
    cells.collect()
}
