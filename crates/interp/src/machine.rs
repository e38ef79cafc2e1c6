//! What expressions and statements share: names, places, calls and faults.

use crate::Interpreter;
use crate::explain::{self, Explained};
use crate::memory::{Address, Frame, FrameShape, Memory, Scratch, Slot};
use crate::stmt::Flow;
use ergodic_ir::{
    Arg, FaultKind, Iter, Layout, Local, LocalId, Place, Proc, ProcId, Program, Root, ScalarType,
    Site, Step, Type, TypeId, bits,
};
use ergodic_system::Fault;

/// Why evaluation ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A fault.
    Fault(Fault),
    /// An assumption is false: what is being made is out of scope.
    Drop,
}

/// A result, or why there is none.
pub(crate) type Eval<T> = Result<T, Stop>;

/// What a fault is about; only looked at when faults are explained.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Blame<'a> {
    /// The text of the site.
    Site,
    /// The place resolved last.
    Place,
    /// The value does not fit this type, stored in the place resolved last.
    Store(TypeId),
    /// The value is no index of this type into the place resolved last.
    Index(TypeId),
    /// The value does not fit this parameter.
    Param(&'a Local, &'a Proc),
    /// The value does not fit the result type.
    Result(TypeId),
    /// This subroutine.
    Proc(&'a Proc),
}

/// One evaluation: of an instance of an action, or of a property.
pub(crate) struct Machine<'a, 's> {
    pub(crate) code: &'a Interpreter,
    pub(crate) program: &'a Program,
    pub(crate) layout: &'a Layout,
    pub(crate) mem: &'s mut Scratch,
    pub(crate) frame: Frame<'a>,
    /// Nested calls.
    pub(crate) depth: u32,
}

impl<'a, 's> Machine<'a, 's> {
    /// A machine about to run something with these locals on the state in `mem`.
    pub(crate) fn enter(
        code: &'a Interpreter,
        mem: &'s mut Scratch,
        shape: &FrameShape,
        locals: &'a [Local],
    ) -> Machine<'a, 's> {
        mem.reset();
        let frame = mem.push_frame(shape, locals, None);
        Machine { code, program: code.program(), layout: code.layout(), mem, frame, depth: 0 }
    }

    /// A scalar type.
    ///
    /// # Panics
    /// If it is none: the verifier rejects such programs.
    pub(crate) fn scalar(&self, ty: TypeId) -> &'a ScalarType {
        match &self.program.types[ty.0 as usize] {
            Type::Scalar(scalar) => scalar,
            other => panic!("verified programs have a scalar type here, not {other:?}"),
        }
    }

    /// Capacity and element type of a multiset type.
    ///
    /// # Panics
    /// As above.
    pub(crate) fn multiset(&self, ty: TypeId) -> (u32, TypeId) {
        match &self.program.types[ty.0 as usize] {
            Type::Multiset { capacity, elem } => (*capacity, *elem),
            other => panic!("verified programs have a multiset type here, not {other:?}"),
        }
    }

    /// The value of a bound local.
    pub(crate) fn bound(&self, local: LocalId) -> i64 {
        match self.mem.slots[self.frame.base + local.0 as usize] {
            Slot::Value(value) => value,
            Slot::At(_) => panic!("verified programs read places by Read"),
        }
    }

    /// Gives a bound local its value.
    pub(crate) fn set_bound(&mut self, local: LocalId, value: i64) {
        self.mem.slots[self.frame.base + local.0 as usize] = Slot::Value(value);
    }

    /// Where a storage local lies, or what a reference refers to.
    pub(crate) fn address(&self, local: LocalId) -> Address {
        match self.mem.slots[self.frame.base + local.0 as usize] {
            Slot::At(at) => at,
            Slot::Value(_) => panic!("verified programs bind references before use"),
        }
    }

    /// Makes local `local` of `frame` another name for the place resolved last.
    pub(crate) fn bind(&mut self, frame: Frame<'a>, local: LocalId, at: Address) {
        let slot = frame.base + local.0 as usize;
        self.mem.slots[slot] = Slot::At(at);
        if let Some(explain) = &mut self.mem.explain {
            explain.names[slot] = explain.place.clone();
        }
    }

    /// The name of the place resolved last, if names are wanted.
    pub(crate) fn place_name(&self) -> Option<String> {
        self.mem.explain.as_ref().map(|explain| explain.place.clone())
    }

    /// Makes `name` the place resolved last; for blame only.
    pub(crate) fn set_place_name(&mut self, name: Option<String>) {
        if let (Some(explain), Some(name)) = (&mut self.mem.explain, name) {
            explain.place = name;
        }
    }

    /// Evaluates the indices of a place and finds it.
    pub(crate) fn resolve(&mut self, place: &'a Place) -> Eval<Address> {
        let (mut at, mut ty) = match place.root {
            Root::Global(id) => {
                let bit = self.layout.global(id);
                let ty = self.program.globals[id.0 as usize].ty;
                (Address { memory: Memory::State, bit }, ty)
            }
            Root::Local(id) => (self.address(id), self.frame.locals[id.0 as usize].ty),
        };
        let mut name = self.root_name(place.root);
        for step in &place.path {
            (at, ty) = match step {
                Step::Field(field) => self.field(at, ty, *field, &mut name),
                Step::Index { index, site } => {
                    let index = self.eval(index)?;
                    self.element(at, ty, index, *site, &mut name)?
                }
                Step::Slot { slot, site } => {
                    let slot = self.eval(slot)?;
                    self.slot(at, ty, slot, *site, &mut name)?
                }
            };
        }
        self.set_place_name(name);
        Ok(at)
    }

    fn root_name(&self, root: Root) -> Option<String> {
        let explain = self.mem.explain.as_ref()?;
        Some(match root {
            Root::Global(id) => self.program.globals[id.0 as usize].name.clone(),
            Root::Local(id) => explain.names[self.frame.base + id.0 as usize].clone(),
        })
    }

    fn field(
        &self,
        at: Address,
        ty: TypeId,
        field: u32,
        name: &mut Option<String>,
    ) -> (Address, TypeId) {
        let Type::Record { fields, .. } = &self.program.types[ty.0 as usize] else {
            panic!("verified programs have a record here")
        };
        let component = &fields[field as usize];
        if let Some(name) = name {
            name.push('.');
            name.push_str(&component.name);
        }
        (at.plus(self.layout.field(ty, field)), component.ty)
    }

    fn element(
        &mut self,
        at: Address,
        ty: TypeId,
        index: i64,
        site: Site,
        name: &mut Option<String>,
    ) -> Eval<(Address, TypeId)> {
        let Type::Array { index: index_ty, elem } = &self.program.types[ty.0 as usize] else {
            panic!("verified programs have an array here")
        };
        let Some(ordinal) = self.scalar(*index_ty).ordinal(index) else {
            self.set_place_name(name.take());
            return Err(self.fault(FaultKind::Index, site, index, Blame::Index(*index_ty)));
        };
        if let Some(name) = name {
            let index = explain::code(self.program, *index_ty, index);
            name.push_str(&format!("[{index}]"));
        }
        Ok((at.plus(ordinal as usize * self.layout.stride(ty)), *elem))
    }

    fn slot(
        &mut self,
        at: Address,
        ty: TypeId,
        slot: i64,
        site: Site,
        name: &mut Option<String>,
    ) -> Eval<(Address, TypeId)> {
        let (_, elem) = self.multiset(ty);
        if !self.filled(at, ty, slot) {
            self.set_place_name(name.take());
            return Err(self.fault(FaultKind::AbsentElement, site, slot, Blame::Place));
        }
        if let Some(name) = name {
            name.push_str(&format!("{{{slot}}}"));
        }
        let inside = self.layout.slot_element(ty, &self.program.types);
        Ok((at.plus(slot as usize * self.layout.stride(ty) + inside), elem))
    }

    /// Whether the multiset of type `ty` at `at` has an element in a slot.
    pub(crate) fn filled(&self, at: Address, ty: TypeId, slot: i64) -> bool {
        let (capacity, _) = self.multiset(ty);
        (0..i64::from(capacity)).contains(&slot) && {
            let bit = at.bit + slot as usize * self.layout.stride(ty);
            bits::read(self.mem.words(at.memory), bit, 1) == 1
        }
    }

    /// Calls a subroutine: arguments in order, then the limit, then the body.
    #[inline(never)]
    pub(crate) fn call(&mut self, id: ProcId, args: &'a [Arg], site: Site) -> Eval<Option<i64>> {
        let proc = &self.program.procs[id.0 as usize];
        let shape = self.code.proc_frame(id);
        let callee = self.mem.push_frame(shape, &proc.locals, proc.result);
        for (i, arg) in args.iter().enumerate() {
            self.pass(callee, proc, LocalId(i as u32), arg)?;
        }
        if self.depth >= self.program.call_limit {
            return Err(self.fault(FaultKind::CallDepth, site, 0, Blame::Proc(proc)));
        }
        let caller = std::mem::replace(&mut self.frame, callee);
        self.depth += 1;
        let flow = self.run(&proc.body)?;
        self.depth -= 1;
        self.frame = caller;
        self.mem.pop_frame(callee);
        match flow {
            Flow::Return(Some(value)) => Ok(Some(value)),
            _ if proc.result.is_none() => Ok(None),
            _ => Err(self.fault(FaultKind::NoReturn, proc.end, 0, Blame::Proc(proc))),
        }
    }

    /// Evaluates an argument in the frame of the caller and puts it into the frame of the callee.
    #[inline(never)]
    fn pass(
        &mut self,
        callee: Frame<'a>,
        proc: &'a Proc,
        param: LocalId,
        arg: &'a Arg,
    ) -> Eval<()> {
        let local = &callee.locals[param.0 as usize];
        let to = self.mem.slots[callee.base + param.0 as usize];
        match arg {
            Arg::Ref(place) => {
                let at = self.resolve(place)?;
                self.bind(callee, param, at);
                Ok(())
            }
            Arg::Value { value, site } => {
                let value = self.eval(value)?;
                let Slot::At(to) = to else { panic!("value parameters are storage") };
                self.store(to, local.ty, value, *site, Blame::Param(local, proc))
            }
            Arg::Copy { from, site } => {
                let at = self.resolve(from)?;
                let Slot::At(to) = to else { panic!("value parameters are storage") };
                let name = self.place_name();
                let blame = Blame::Param(local, proc);
                self.transfer((to, local.ty), (at, from.ty), name, *site, blame)
            }
        }
    }

    /// Evaluates what a loop or quantifier runs over.
    pub(crate) fn values(&mut self, over: &'a Iter) -> Eval<Values> {
        match over {
            Iter::Type(ty) => Ok(Values::Type { ty: *ty, next: 0 }),
            Iter::Range { from, to, step, site } => {
                let (from, to) = (self.eval(from)?, self.eval(to)?);
                let step = self.eval(step)?;
                if step == 0 {
                    return Err(self.fault(FaultKind::Step, *site, 0, Blame::Site));
                }
                let some = if step > 0 { from <= to } else { from >= to };
                let left = some.then(|| from.abs_diff(to) / step.unsigned_abs());
                Ok(Values::Range { next: from, step, left })
            }
            Iter::Slots(place) => {
                let set = self.resolve(place)?;
                Ok(Values::Slots { set, ty: place.ty, next: 0 })
            }
        }
    }

    /// The next value to run over.
    pub(crate) fn next(&self, values: &mut Values) -> Option<i64> {
        match values {
            Values::Type { ty, next } => {
                *next += 1;
                self.scalar(*ty).code(*next - 1)
            }
            Values::Range { next, step, left } => {
                let value = *next;
                *left = match left {
                    None => return None,
                    Some(0) => None,
                    Some(left) => Some(*left - 1),
                };
                *next = next.wrapping_add(*step); // wraps only behind the last value
                Some(value)
            }
            Values::Slots { set, ty, next } => {
                let capacity = i64::from(self.multiset(*ty).0);
                while *next < capacity {
                    *next += 1;
                    if self.filled(*set, *ty, *next - 1) {
                        return Some(*next - 1);
                    }
                }
                None
            }
        }
    }

    /// Makes a fault, and the sentence about it if one is wanted.
    #[cold]
    #[inline(never)]
    pub(crate) fn fault(
        &mut self,
        kind: FaultKind,
        site: Site,
        value: i64,
        blame: Blame<'a>,
    ) -> Stop {
        if let Some(explain) = &mut self.mem.explain {
            let message = explain::sentence(self.program, kind, site, value, blame, &explain.place);
            explain.fault = Some(Explained { kind, site, value, message });
        }
        Stop::Fault(kind.at(site, value))
    }
}

/// The values of a loop or quantifier that are still to come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Values {
    /// Values of a scalar type from this ordinal on.
    Type { ty: TypeId, next: u64 },
    /// `left` values after `next`; no value if it is `None`.
    Range { next: i64, step: i64, left: Option<u64> },
    /// Filled slots of a multiset from this one on.
    Slots { set: Address, ty: TypeId, next: i64 },
}
