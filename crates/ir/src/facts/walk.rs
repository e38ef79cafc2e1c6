//! The walk over code that collects its effects.

use super::Effects;
use super::access::{self, Access, AccessStep, Base};
use super::frame::{Frame, slot_values};
use super::values::{self, Values};
use crate::{
    Arg, BinaryOp, Expr, GlobalId, Iter, Local, LocalId, Place, ProcId, Program, PutPart, Root,
    Step, Stmt, Type, TypeId, real,
};
use std::collections::BTreeSet;

/// A walk over one piece of code.
#[derive(Clone, Debug)]
pub(super) struct Walk<'a> {
    pub(super) program: &'a Program,
    /// What subroutines do, as far as that is known.
    pub(super) procs: &'a [Effects],
    /// State variables that are taken to be defined.
    pub(super) defined: &'a BTreeSet<GlobalId>,
    pub(super) locals: &'a [Local],
    pub(super) result: Option<TypeId>,
    pub(super) frame: Frame,
    pub(super) out: Effects,
}

impl Walk<'_> {
    /// What was collected since the last call.
    pub(super) fn take(&mut self) -> Effects {
        std::mem::take(&mut self.out)
    }

    fn reads(&mut self, accesses: &[Access]) {
        for access in accesses {
            match access.base {
                Base::Global(id) => self.out.reads.insert(id),
                Base::Param(position) => self.out.reads_params.insert(position),
            };
            access::add(&mut self.out.read_parts, access.clone());
        }
    }

    fn writes(&mut self, accesses: &[Access]) {
        for access in accesses {
            match access.base {
                Base::Global(id) => self.out.writes.insert(id),
                Base::Param(position) => self.out.writes_params.insert(position),
            };
            access::add(&mut self.out.write_parts, access.clone());
        }
    }

    fn may_fault(&mut self, faults: bool) {
        self.out.faults |= faults;
    }

    /// Whether some part of a place can be undefined.
    fn may_be_undefined(&self, place: &Place) -> bool {
        let defined = matches!(place.root, Root::Global(id) if self.defined.contains(&id));
        !defined && undefinable(self.program, place.ty)
    }

    /// Evaluates a place, and says what it can be.
    pub(super) fn place(&mut self, place: &Place) -> Vec<Access> {
        let mut ty = match place.root {
            Root::Global(id) => self.program.globals.get(id.0 as usize).map(|global| global.ty),
            Root::Local(id) => self.locals.get(id.0 as usize).map(|local| local.ty),
        };
        for step in &place.path {
            let here = ty.and_then(|ty| self.program.types.get(ty.0 as usize));
            ty = match (step, here) {
                (Step::Field(field), Some(Type::Record { fields, .. })) => {
                    fields.get(*field as usize).map(|field| field.ty)
                }
                (Step::Index { index, .. }, Some(Type::Array { index: over, elem })) => {
                    let values = self.expr(index);
                    self.may_fault(!values.within(&self.program.types, *over));
                    Some(*elem)
                }
                (Step::Slot { slot, .. }, Some(Type::Multiset { elem, .. })) => {
                    self.expr(slot);
                    self.may_fault(true);
                    Some(*elem)
                }
                (Step::Index { index: expr, .. } | Step::Slot { slot: expr, .. }, _) => {
                    self.expr(expr);
                    self.may_fault(true);
                    None
                }
                (Step::Field(_), _) => None,
            };
        }
        let denoted = self.frame.denoted(place);
        // Stepping into a multiset asks whether the slot is filled.
        let inside = |access: &&Access| access.path.last() == Some(&AccessStep::Slot);
        let asked: Vec<Access> = denoted.iter().filter(inside).cloned().collect();
        self.reads(&asked);
        denoted
    }

    /// Evaluates a place and reads what is there.
    pub(super) fn read(&mut self, place: &Place) {
        let accesses = self.place(place);
        self.reads(&accesses);
    }

    fn write(&mut self, place: &Place) {
        let accesses = self.place(place);
        self.writes(&accesses);
    }

    /// Changes a multiset: depends on what it holds.
    fn update(&mut self, place: &Place) {
        let accesses = self.place(place);
        self.reads(&accesses);
        self.writes(&accesses);
    }

    /// Evaluates an expression, and says which values it can have.
    pub(super) fn expr(&mut self, expr: &Expr) -> Values {
        match expr {
            Expr::Int(code) => Values::one(*code),
            Expr::Real(value) => {
                self.may_fault(!value.is_finite());
                Values::any()
            }
            Expr::Bound(local) => self.frame.values(*local),
            Expr::Read { place, .. } => {
                self.read(place);
                self.may_fault(self.may_be_undefined(place));
                Values::of_type(&self.program.types, place.ty)
            }
            Expr::Unary { op, arg, .. } => {
                let arg = self.expr(arg);
                let (values, faults) = values::unary(*op, &arg);
                self.may_fault(faults);
                values
            }
            Expr::Binary { op, left, right, .. } => self.binary(*op, left, right),
            Expr::And(list) | Expr::Or(list) => {
                list.iter().for_each(|expr| drop(self.expr(expr)));
                Values::truth()
            }
            Expr::If { cond, then, other } => {
                self.expr(cond);
                let then = self.expr(then);
                then.union(self.expr(other))
            }
            Expr::Call { proc, args, .. } => self.call(*proc, args),
            Expr::Block { body, value } => {
                self.stmts(body);
                self.expr(value)
            }
            Expr::IsUndefined(_)
            | Expr::IsMember { .. }
            | Expr::Same { .. }
            | Expr::Quantified { .. }
            | Expr::Count { .. } => self.question(expr),
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Values {
        let left = self.expr(left);
        let right = self.expr(right);
        let (values, faults) = values::binary(op, &left, &right);
        self.may_fault(faults);
        values
    }

    /// The expressions that ask about places, types and many values.
    fn question(&mut self, expr: &Expr) -> Values {
        match expr {
            Expr::IsUndefined(place) => self.read(place),
            Expr::IsMember { value, .. } => drop(self.expr(value)),
            Expr::Same { left, right, .. } => {
                self.read(left);
                self.read(right);
                let faults = [left, right].iter().any(|place| self.may_be_undefined(place));
                self.may_fault(faults);
            }
            Expr::Quantified { var, over, body, .. } => {
                self.iter(*var, over);
                self.expr(body);
            }
            Expr::Count { set, var, body } => {
                self.slots(*var, set);
                self.expr(body);
                let (_, last) = slot_values(self.program, set).hull();
                return Values::between(0, last.saturating_add(1));
            }
            _ => {}
        }
        Values::truth()
    }

    fn iter(&mut self, var: LocalId, over: &Iter) {
        match over {
            Iter::Type(ty) => self.frame.bind(var, Values::of_type(&self.program.types, *ty)),
            Iter::Slots(set) => self.slots(var, set),
            Iter::Range { from, to, step, .. } => {
                let [from, to, step] = [from, to, step].map(|expr| self.expr(expr).hull());
                self.may_fault(step.0 <= 0 && step.1 >= 0);
                let values = if step.0 > 0 {
                    Values::between(from.0, to.1)
                } else if step.1 < 0 {
                    Values::between(to.0, from.1)
                } else {
                    Values::any()
                };
                self.frame.bind(var, values);
            }
        }
    }

    fn slots(&mut self, var: LocalId, set: &Place) {
        self.read(set);
        self.frame.bind(var, slot_values(self.program, set));
    }

    /// Does statements.
    pub(super) fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Assign { to, value, .. } => {
                self.stored(value, to.ty);
                self.write(to);
            }
            Stmt::Copy { to, from, .. } => {
                self.read(from);
                self.copied(from.ty, to.ty);
                self.write(to);
            }
            Stmt::Undefine(place) | Stmt::Clear(place) => self.write(place),
            Stmt::Bind { place, .. } => drop(self.place(place)),
            Stmt::Let { local, value } => {
                let values = self.expr(value);
                self.frame.bind(*local, values);
            }
            Stmt::Fresh(_) => {}
            Stmt::Call { proc, args, .. } => drop(self.call(*proc, args)),
            Stmt::Return { value, .. } => match (value, self.result) {
                (Some(value), Some(result)) => self.stored(value, result),
                (Some(value), None) => {
                    self.expr(value);
                    self.may_fault(true);
                }
                (None, _) => {}
            },
            Stmt::Assert { cond, .. } => {
                let holds = self.expr(cond).hull().0 > 0;
                self.may_fault(!holds);
            }
            Stmt::Assume { cond } | Stmt::Cover { cond, .. } => drop(self.expr(cond)),
            Stmt::Error { .. } => self.may_fault(true),
            Stmt::Put(parts) => self.put(parts),
            Stmt::Add { set, from, .. } => {
                self.read(from);
                self.update(set);
                self.may_fault(true);
            }
            Stmt::AddValue { set, value: expr, .. } | Stmt::Remove { set, slot: expr, .. } => {
                self.expr(expr);
                self.update(set);
                self.may_fault(true);
            }
            Stmt::RemoveWhere { set, var, cond } => {
                self.update(set);
                self.frame.bind(*var, slot_values(self.program, set));
                self.expr(cond);
            }
            Stmt::If { .. } | Stmt::Switch { .. } | Stmt::For { .. } | Stmt::While { .. } => {
                self.control(stmt);
            }
        }
    }

    /// The statements that hold statements.
    fn control(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::If { branches, other } => {
                for (cond, body) in branches {
                    self.expr(cond);
                    self.stmts(body);
                }
                self.stmts(other);
            }
            Stmt::Switch { subject, cases, other } => {
                self.expr(subject);
                for case in cases {
                    case.values.iter().for_each(|value| drop(self.expr(value)));
                    self.stmts(&case.body);
                }
                self.stmts(other);
            }
            Stmt::For { var, over, body } => {
                self.iter(*var, over);
                self.stmts(body);
            }
            Stmt::While { cond, body, .. } => {
                self.expr(cond);
                self.stmts(body);
                self.may_fault(true);
            }
            _ => {}
        }
    }

    fn put(&mut self, parts: &[PutPart]) {
        for part in parts {
            match part {
                PutPart::Text(_) => {}
                PutPart::Place { place, .. } => self.read(place),
                PutPart::Value { value, .. } => drop(self.expr(value)),
            }
        }
    }

    /// A value that is stored to a place of a type.
    fn stored(&mut self, value: &Expr, ty: TypeId) {
        let values = self.expr(value);
        let fits = match (value, self.program.types.get(ty.0 as usize)) {
            (Expr::Real(value), Some(Type::Real { digits, exponent })) => {
                real::store(*value, *digits, *exponent).is_some()
            }
            _ => values.within(&self.program.types, ty),
        };
        self.may_fault(!fits);
    }

    /// A copy between places of these types.
    fn copied(&mut self, from: TypeId, to: TypeId) {
        let types = &self.program.types;
        let fits = from == to
            || Values::of_type(types, from).within(types, to)
                && (undefinable(self.program, to) || !undefinable(self.program, from));
        self.may_fault(!fits);
    }

    fn call(&mut self, id: ProcId, args: &[Arg]) -> Values {
        let program = self.program;
        let Some(proc) = program.procs.get(id.0 as usize) else {
            self.may_fault(true);
            return Values::any();
        };
        let mut referred: Vec<Vec<Access>> = vec![Vec::new(); args.len()];
        for (position, arg) in args.iter().enumerate() {
            let ty = proc.locals.get(position).map_or(TypeId(u32::MAX), |local| local.ty);
            match arg {
                Arg::Value { value, .. } => self.stored(value, ty),
                Arg::Copy { from, .. } => {
                    self.read(from);
                    self.copied(from.ty, ty);
                }
                Arg::Ref(place) => referred[position] = self.place(place),
            }
        }
        if let Some(effects) = self.procs.get(id.0 as usize) {
            let reads = at_call(effects.read_parts.iter(), &referred);
            let writes = at_call(effects.write_parts.iter(), &referred);
            self.reads(&reads);
            self.writes(&writes);
            self.may_fault(effects.faults);
        }
        proc.result.map_or_else(Values::any, |ty| Values::of_type(&program.types, ty))
    }
}

/// What a subroutine touches, given what its parameters refer to.
fn at_call<'a>(parts: impl Iterator<Item = &'a Access>, referred: &[Vec<Access>]) -> Vec<Access> {
    let mut out = Vec::new();
    for part in parts {
        match part.base {
            Base::Global(_) => out.push(part.clone()),
            Base::Param(position) => {
                let starts = referred.get(position).map_or(&[][..], Vec::as_slice);
                out.extend(starts.iter().map(|start| start.then(&part.path)));
            }
        }
    }
    out
}

/// Whether reading a value of a type can find an undefined part.
fn undefinable(program: &Program, ty: TypeId) -> bool {
    let mut seen = BTreeSet::from([ty]);
    let mut stack = vec![ty];
    while let Some(ty) = stack.pop() {
        let parts = match program.types.get(ty.0 as usize) {
            Some(Type::Scalar(scalar)) if !scalar.undefinable => continue,
            Some(Type::Record { fields, .. }) => fields.iter().map(|field| field.ty).collect(),
            Some(Type::Array { elem, .. } | Type::Multiset { elem, .. }) => vec![*elem],
            _ => return true,
        };
        stack.extend(parts.into_iter().filter(|part| seen.insert(*part)));
    }
    false
}

/// Whether code that does these statements has returned when it is through.
pub(super) fn always_returns(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match stmt {
        Stmt::Return { .. } | Stmt::Error { .. } => true,
        Stmt::If { branches, other } => {
            always_returns(other) && branches.iter().all(|(_, body)| always_returns(body))
        }
        Stmt::Switch { cases, other, .. } => {
            always_returns(other) && cases.iter().all(|case| always_returns(&case.body))
        }
        _ => false,
    })
}
