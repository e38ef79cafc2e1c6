//! The interpreter of the oracle: recursion over the syntax tree, one Rust `match` per construct,
//! values as plain enums. Written for obviousness; speed does not matter.

use super::model::{
    BOOLEAN, BinOp, Binder, Case, Domain, Expr, Function, Model, Place, Step, Stmt, Type, Var,
};

/// A value; `Undef` is the value of a scalar that was never assigned.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Value {
    Undef,
    Int(i64),
    Bool(bool),
    /// A literal of an enum or an element of a scalarset: the type's name and the position.
    Member(String, usize),
    Record(Vec<Value>),
    Array(Vec<Value>),
    Multiset(Vec<Value>),
}

/// What can go wrong while a rule is evaluated.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// An undefined value was read.
    Undefined,
    /// A value outside the target's type was assigned.
    Range,
    /// An array index was outside the index type.
    Index,
    /// The right operand of `/` or `%` was 0.
    DivisionByZero,
    /// A number left the 64-bit range.
    Overflow,
    /// An `assert` failed.
    Assertion,
    /// An `error` statement was reached.
    Error,
    /// An element was added to a full multiset.
    MultisetFull,
    /// A function ended without `return`.
    NoReturn,
    /// A `while` loop took more than [`LOOP_LIMIT`] iterations.
    LoopLimit,
}

/// How many iterations a `while` loop may take.
pub const LOOP_LIMIT: usize = 1_000;

const CALL_LIMIT: usize = 50;

/// Why evaluation stopped early.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    Fault(Fault),
    /// The step limit, or calls nested beyond reason.
    Limit,
}

type Eval<T> = Result<T, Stop>;

fn fault<T>(f: Fault) -> Eval<T> {
    Err(Stop::Fault(f))
}

/// What a statement does to its successor.
enum Flow {
    Next,
    Return(Option<Value>),
}

/// A place found: where it starts and which components to follow.
#[derive(Clone)]
struct Loc {
    base: Base,
    path: Vec<usize>,
}

#[derive(Copy, Clone)]
enum Base {
    Global(usize),
    Stack(usize),
}

/// What a local name stands for.
enum Slot {
    /// A local variable, copied parameter, bound name, or alias of a value.
    Value(Value),
    /// A `var` parameter or the alias of a place.
    Ref(Loc),
}

struct Cell<'m> {
    name: &'m str,
    /// Absent for integers without declared bounds, and for indices of multisets.
    ty: Option<&'m str>,
    slot: Slot,
}

/// The globals and the stack of local names.
pub(super) struct Machine<'m> {
    model: &'m Model,
    pub(super) globals: Vec<Value>,
    stack: Vec<Cell<'m>>,
    /// Names below this position belong to callers and are invisible.
    frame: usize,
    calls: usize,
    pub(super) steps: u64,
}

/// All parts undefined; multisets empty.
pub(super) fn undefined(model: &Model, ty: &str) -> Value {
    match lookup(model, ty) {
        Type::Record(fields) => {
            Value::Record(fields.iter().map(|f| undefined(model, &f.ty)).collect())
        }
        Type::Array { index, element } => {
            Value::Array(vec![undefined(model, element); values_of(model, index).len()])
        }
        Type::Multiset { .. } => Value::Multiset(Vec::new()),
        _ => Value::Undef,
    }
}

/// The least value of each part.
fn cleared(model: &Model, ty: &str) -> Value {
    match lookup(model, ty) {
        Type::Record(fields) => {
            Value::Record(fields.iter().map(|f| cleared(model, &f.ty)).collect())
        }
        Type::Array { index, element } => {
            Value::Array(vec![cleared(model, element); values_of(model, index).len()])
        }
        Type::Multiset { .. } => Value::Multiset(Vec::new()),
        _ => values_of(model, ty).swap_remove(0),
    }
}

fn lookup<'m>(model: &'m Model, ty: &str) -> &'m Type {
    model.type_named(ty).expect("the model is well-formed")
}

/// All values of a scalar type, ascending.
fn values_of(model: &Model, ty: &str) -> Vec<Value> {
    let member = |i| Value::Member(ty.to_owned(), i);
    match lookup(model, ty) {
        Type::Boolean => vec![Value::Bool(false), Value::Bool(true)],
        Type::Enum(names) => (0..names.len()).map(member).collect(),
        Type::Range(lo, hi) => (*lo..=*hi).map(Value::Int).collect(),
        Type::Scalarset(n) => (0..*n).map(member).collect(),
        Type::Union(members) => members.iter().flat_map(|m| values_of(model, m)).collect(),
        _ => panic!("{ty} is not scalar"),
    }
}

impl<'m> Machine<'m> {
    pub(super) fn new(model: &'m Model, globals: Vec<Value>, steps: u64) -> Machine<'m> {
        Machine { model, globals, stack: Vec::new(), frame: 0, calls: 0, steps }
    }

    fn step(&mut self) -> Eval<()> {
        self.steps = self.steps.checked_sub(1).ok_or(Stop::Limit)?;
        Ok(())
    }

    fn push(&mut self, name: &'m str, ty: Option<&'m str>, slot: Slot) {
        self.stack.push(Cell { name, ty, slot });
    }

    /// The values a quantifier takes, in order.
    pub(super) fn domain(&self, binder: &Binder) -> Vec<Value> {
        match &binder.domain {
            Domain::Type(ty) => values_of(self.model, ty),
            Domain::Range { from, to, by } => {
                let mut values = Vec::new();
                let mut i = *from;
                while if *by > 0 { i <= *to } else { i >= *to } {
                    values.push(Value::Int(i));
                    i += by;
                }
                values
            }
        }
    }

    /// How many elements a global multiset has.
    pub(super) fn size_of(&mut self, multiset: &str) -> usize {
        self.elements(multiset).len()
    }

    fn elements(&mut self, multiset: &str) -> &mut Vec<Value> {
        let i = self.model.vars.iter().position(|v| v.name == multiset);
        match &mut self.globals[i.expect("the model is well-formed")] {
            Value::Multiset(elements) => elements,
            other => panic!("{multiset} is {other:?}, not a multiset"),
        }
    }

    pub(super) fn bind(&mut self, binder: &'m Binder, value: Value) {
        let ty = match &binder.domain {
            Domain::Type(ty) => Some(ty.as_str()),
            Domain::Range { .. } => None,
        };
        self.push(&binder.name, ty, Slot::Value(value));
    }

    pub(super) fn bind_element(&mut self, index: &'m str, position: usize) {
        self.push(index, None, Slot::Value(Value::Int(position as i64)));
    }

    pub(super) fn bind_alias(&mut self, name: &'m str, meaning: &'m Expr) -> Eval<()> {
        if let Expr::Read(place) = meaning {
            let (loc, ty) = self.resolve(place)?;
            self.push(name, ty, Slot::Ref(loc));
        } else {
            let value = self.eval(meaning)?;
            self.push(name, None, Slot::Value(value));
        }
        Ok(())
    }

    fn declare(&mut self, locals: &'m [Var]) {
        for v in locals {
            let value = undefined(self.model, &v.ty);
            self.push(&v.name, Some(&v.ty), Slot::Value(value));
        }
    }

    /// Runs the body of a rule or start state to its end or `return`.
    pub(super) fn run(&mut self, locals: &'m [Var], body: &'m [Stmt]) -> Eval<()> {
        self.declare(locals);
        self.block(body)?;
        Ok(())
    }

    // ---- places ----

    fn resolve(&mut self, place: &'m Place) -> Eval<(Loc, Option<&'m str>)> {
        let (mut loc, mut ty) = self.resolve_root(&place.root);
        for step in &place.path {
            let here = ty.expect("only declared types have components");
            let (position, inner) = self.resolve_step(step, here)?;
            loc.path.push(position);
            ty = Some(inner);
        }
        Ok((loc, ty))
    }

    fn resolve_root(&self, name: &str) -> (Loc, Option<&'m str>) {
        let visible = self.stack[self.frame..].iter().rposition(|c| c.name == name);
        if let Some(i) = visible {
            let i = self.frame + i;
            let cell = &self.stack[i];
            return match &cell.slot {
                Slot::Ref(loc) => (loc.clone(), cell.ty),
                Slot::Value(_) => (Loc { base: Base::Stack(i), path: Vec::new() }, cell.ty),
            };
        }
        let i = self.model.vars.iter().position(|v| v.name == name);
        let i = i.unwrap_or_else(|| panic!("unknown name {name}"));
        (Loc { base: Base::Global(i), path: Vec::new() }, Some(&self.model.vars[i].ty))
    }

    fn resolve_step(&mut self, step: &'m Step, ty: &'m str) -> Eval<(usize, &'m str)> {
        match (step, lookup(self.model, ty)) {
            (Step::Field(name), Type::Record(fields)) => {
                let i = fields.iter().position(|f| f.name == *name);
                let i = i.expect("the model is well-formed");
                Ok((i, &fields[i].ty))
            }
            (Step::Index(e), Type::Array { index, element }) => {
                let value = self.eval(e)?;
                match values_of(self.model, index).iter().position(|v| *v == value) {
                    Some(i) => Ok((i, element)),
                    None => fault(Fault::Index),
                }
            }
            (Step::Element(index), Type::Multiset { element, .. }) => {
                let (loc, _) = self.resolve_root(index);
                match self.at(&loc) {
                    Some(Value::Int(i)) => Ok((*i as usize, element)),
                    other => panic!("{index} is {other:?}, not an index"),
                }
            }
            (step, ty) => panic!("{step:?} does not fit {ty:?}"),
        }
    }

    /// The value at a place; none only for an element that was removed.
    fn at(&self, loc: &Loc) -> Option<&Value> {
        let mut value = match loc.base {
            Base::Global(i) => &self.globals[i],
            Base::Stack(i) => match &self.stack[i].slot {
                Slot::Value(v) => v,
                Slot::Ref(_) => panic!("references are followed when a name is resolved"),
            },
        };
        for &i in &loc.path {
            value = match value {
                Value::Record(parts) | Value::Array(parts) | Value::Multiset(parts) => {
                    parts.get(i)?
                }
                scalar => panic!("{scalar:?} has no parts"),
            };
        }
        Some(value)
    }

    fn store(&mut self, loc: &Loc, new: Value) -> Eval<()> {
        let mut value = match loc.base {
            Base::Global(i) => &mut self.globals[i],
            Base::Stack(i) => match &mut self.stack[i].slot {
                Slot::Value(v) => v,
                Slot::Ref(_) => panic!("references are followed when a name is resolved"),
            },
        };
        for &i in &loc.path {
            value = match value {
                Value::Record(parts) | Value::Array(parts) | Value::Multiset(parts) => {
                    parts.get_mut(i).ok_or(Stop::Fault(Fault::Index))?
                }
                scalar => panic!("{scalar:?} has no parts"),
            };
        }
        *value = new;
        Ok(())
    }

    /// The value of a place, which may be undefined.
    fn copy(&mut self, place: &'m Place) -> Eval<Value> {
        let (loc, _) = self.resolve(place)?;
        self.at(&loc).cloned().ok_or(Stop::Fault(Fault::Index))
    }

    /// The value to assign: a bare designator may be undefined, anything else may not.
    fn copy_or_eval(&mut self, e: &'m Expr) -> Eval<Value> {
        match e {
            Expr::Read(place) => self.copy(place),
            _ => self.eval(e),
        }
    }

    /// Fails unless the value belongs to the type. Undefined belongs to every type.
    fn check_range(&self, value: &Value, ty: Option<&str>) -> Eval<()> {
        let Some(ty) = ty else { return Ok(()) };
        let scalar = matches!(value, Value::Int(_) | Value::Bool(_) | Value::Member(..));
        if scalar && !values_of(self.model, ty).contains(value) {
            return fault(Fault::Range);
        }
        Ok(())
    }

    // ---- expressions ----

    /// The value of an expression; never `Undef`.
    pub(super) fn eval(&mut self, e: &'m Expr) -> Eval<Value> {
        self.step()?;
        match e {
            Expr::Int(n) => Ok(Value::Int(*n)),
            Expr::Bool(b) => Ok(Value::Bool(*b)),
            Expr::Enum(name) => {
                let (ty, i) = self.model.enum_of(name).expect("the model is well-formed");
                Ok(Value::Member(ty.to_owned(), i))
            }
            Expr::Const(name) => {
                let found = self.model.consts.iter().find(|(n, _)| n == name);
                Ok(Value::Int(found.expect("the model is well-formed").1))
            }
            Expr::Read(place) => match self.copy(place)? {
                Value::Undef => fault(Fault::Undefined),
                value => Ok(value),
            },
            Expr::Neg(a) => checked(self.int(a)?.checked_neg()),
            Expr::Not(a) => Ok(Value::Bool(!self.bool(a)?)),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::Cond(c, a, b) => {
                if self.bool(c)? {
                    self.eval(a)
                } else {
                    self.eval(b)
                }
            }
            Expr::Quant { all, binder, body } => self.quantified(*all, binder, body),
            Expr::IsUndefined(place) => Ok(Value::Bool(self.copy(place)? == Value::Undef)),
            Expr::IsMember(place, ty) => match self.copy(place)? {
                Value::Undef => fault(Fault::Undefined),
                Value::Member(actual, _) => Ok(Value::Bool(actual == *ty)),
                other => panic!("{other:?} is not a value of a union"),
            },
            Expr::Call(name, args) => match self.call(name, args)? {
                Some(value) => Ok(value),
                None => fault(Fault::NoReturn),
            },
            Expr::Count { index, multiset, cond } => {
                let chosen = self.matching(index, multiset, cond)?;
                Ok(Value::Int(chosen.iter().filter(|c| **c).count() as i64))
            }
        }
    }

    pub(super) fn bool(&mut self, e: &'m Expr) -> Eval<bool> {
        match self.eval(e)? {
            Value::Bool(b) => Ok(b),
            other => panic!("{other:?} is not boolean"),
        }
    }

    fn int(&mut self, e: &'m Expr) -> Eval<i64> {
        match self.eval(e)? {
            Value::Int(n) => Ok(n),
            other => panic!("{other:?} is not an integer"),
        }
    }

    fn binary(&mut self, op: BinOp, a: &'m Expr, b: &'m Expr) -> Eval<Value> {
        match op {
            BinOp::And => Ok(Value::Bool(self.bool(a)? && self.bool(b)?)),
            BinOp::Or => Ok(Value::Bool(self.bool(a)? || self.bool(b)?)),
            BinOp::Implies => Ok(Value::Bool(!self.bool(a)? || self.bool(b)?)),
            BinOp::Eq => Ok(Value::Bool(self.eval(a)? == self.eval(b)?)),
            BinOp::Ne => Ok(Value::Bool(self.eval(a)? != self.eval(b)?)),
            BinOp::Lt => Ok(Value::Bool(self.int(a)? < self.int(b)?)),
            BinOp::Le => Ok(Value::Bool(self.int(a)? <= self.int(b)?)),
            BinOp::Gt => Ok(Value::Bool(self.int(a)? > self.int(b)?)),
            BinOp::Ge => Ok(Value::Bool(self.int(a)? >= self.int(b)?)),
            BinOp::Add => checked(self.int(a)?.checked_add(self.int(b)?)),
            BinOp::Sub => checked(self.int(a)?.checked_sub(self.int(b)?)),
            BinOp::Mul => checked(self.int(a)?.checked_mul(self.int(b)?)),
            BinOp::Div | BinOp::Mod => {
                let (a, b) = (self.int(a)?, self.int(b)?);
                if b == 0 {
                    return fault(Fault::DivisionByZero);
                }
                checked(if op == BinOp::Div { a.checked_div(b) } else { a.checked_rem(b) })
            }
        }
    }

    fn quantified(&mut self, all: bool, binder: &'m Binder, body: &'m Expr) -> Eval<Value> {
        for value in self.domain(binder) {
            self.bind(binder, value);
            let holds = self.bool(body);
            self.stack.pop();
            if holds? != all {
                return Ok(Value::Bool(!all));
            }
        }
        Ok(Value::Bool(all))
    }

    /// For each element of a multiset, whether the condition holds.
    fn matching(&mut self, index: &'m str, ms: &'m str, cond: &'m Expr) -> Eval<Vec<bool>> {
        let mut chosen = Vec::new();
        for i in 0..self.size_of(ms) {
            self.bind_element(index, i);
            let holds = self.bool(cond);
            self.stack.pop();
            chosen.push(holds?);
        }
        Ok(chosen)
    }

    // ---- calls ----

    fn call(&mut self, name: &str, args: &'m [Expr]) -> Eval<Option<Value>> {
        let f: &'m Function = self.model.function(name).expect("the model is well-formed");
        let mut cells = Vec::new();
        for (param, arg) in f.params.iter().zip(args) {
            let slot = match arg {
                Expr::Read(place) if param.by_ref => Slot::Ref(self.resolve(place)?.0),
                _ => {
                    let value = self.copy_or_eval(arg)?;
                    self.check_range(&value, Some(&param.ty))?;
                    Slot::Value(value)
                }
            };
            cells.push(Cell { name: &param.name, ty: Some(&param.ty), slot });
        }
        if self.calls == CALL_LIMIT {
            return Err(Stop::Limit);
        }
        let caller = self.frame;
        let height = self.stack.len();
        self.frame = height;
        self.calls += 1;
        self.stack.extend(cells);
        self.declare(&f.locals);
        let flow = self.block(&f.body);
        self.stack.truncate(height);
        self.calls -= 1;
        self.frame = caller;
        match flow? {
            Flow::Return(Some(value)) => {
                self.check_range(&value, f.result.as_deref())?;
                Ok(Some(value))
            }
            Flow::Return(None) | Flow::Next => Ok(None),
        }
    }

    // ---- statements ----

    fn block(&mut self, body: &'m [Stmt]) -> Eval<Flow> {
        for stmt in body {
            if let Flow::Return(value) = self.stmt(stmt)? {
                return Ok(Flow::Return(value));
            }
        }
        Ok(Flow::Next)
    }

    fn stmt(&mut self, stmt: &'m Stmt) -> Eval<Flow> {
        self.step()?;
        match stmt {
            Stmt::Assign(place, value) => self.assign(place, value)?,
            Stmt::Call(name, args) => {
                self.call(name, args)?;
            }
            Stmt::If(branches, otherwise) => return self.branch(branches, otherwise),
            Stmt::Switch(subject, cases, otherwise) => {
                return self.switch(subject, cases, otherwise);
            }
            Stmt::For(binder, body) => return self.for_loop(binder, body),
            Stmt::While(cond, body) => return self.while_loop(cond, body),
            Stmt::Alias(aliases, body) => return self.alias(aliases, body),
            Stmt::Clear(place) => {
                let (loc, ty) = self.resolve(place)?;
                self.store(&loc, cleared(self.model, ty.unwrap_or(BOOLEAN)))?;
            }
            Stmt::Undefine(place) => {
                let (loc, ty) = self.resolve(place)?;
                self.store(&loc, undefined(self.model, ty.unwrap_or(BOOLEAN)))?;
            }
            Stmt::Error(_) => return fault(Fault::Error),
            Stmt::Assert(cond, _) => {
                if !self.bool(cond)? {
                    return fault(Fault::Assertion);
                }
            }
            Stmt::PutText(_) => {}
            Stmt::PutExpr(value) => {
                self.eval(value)?;
            }
            Stmt::Return(None) => return Ok(Flow::Return(None)),
            Stmt::Return(Some(value)) => return Ok(Flow::Return(Some(self.eval(value)?))),
            Stmt::Add(..) | Stmt::Remove { .. } | Stmt::RemovePred { .. } => {
                self.multiset_stmt(stmt)?;
            }
        }
        Ok(Flow::Next)
    }

    fn assign(&mut self, place: &'m Place, value: &'m Expr) -> Eval<()> {
        let (loc, ty) = self.resolve(place)?;
        let value = self.copy_or_eval(value)?;
        self.check_range(&value, ty)?;
        self.store(&loc, value)
    }

    fn branch(
        &mut self,
        branches: &'m [(Expr, Vec<Stmt>)],
        otherwise: &'m Option<Vec<Stmt>>,
    ) -> Eval<Flow> {
        for (cond, body) in branches {
            if self.bool(cond)? {
                return self.block(body);
            }
        }
        otherwise.as_ref().map_or(Ok(Flow::Next), |body| self.block(body))
    }

    fn switch(
        &mut self,
        subject: &'m Expr,
        cases: &'m [Case],
        otherwise: &'m Option<Vec<Stmt>>,
    ) -> Eval<Flow> {
        let subject = self.eval(subject)?;
        for case in cases {
            for value in &case.values {
                if self.eval(value)? == subject {
                    return self.block(&case.body);
                }
            }
        }
        otherwise.as_ref().map_or(Ok(Flow::Next), |body| self.block(body))
    }

    fn for_loop(&mut self, binder: &'m Binder, body: &'m [Stmt]) -> Eval<Flow> {
        for value in self.domain(binder) {
            self.bind(binder, value);
            let flow = self.block(body);
            self.stack.pop();
            if let Flow::Return(value) = flow? {
                return Ok(Flow::Return(value));
            }
        }
        Ok(Flow::Next)
    }

    fn while_loop(&mut self, cond: &'m Expr, body: &'m [Stmt]) -> Eval<Flow> {
        let mut iterations = 0;
        while self.bool(cond)? {
            if iterations == LOOP_LIMIT {
                return fault(Fault::LoopLimit);
            }
            iterations += 1;
            if let Flow::Return(value) = self.block(body)? {
                return Ok(Flow::Return(value));
            }
        }
        Ok(Flow::Next)
    }

    fn alias(&mut self, aliases: &'m [(String, Expr)], body: &'m [Stmt]) -> Eval<Flow> {
        let height = self.stack.len();
        for (name, meaning) in aliases {
            self.bind_alias(name, meaning)?;
        }
        let flow = self.block(body)?;
        self.stack.truncate(height);
        Ok(flow)
    }

    fn multiset_stmt(&mut self, stmt: &'m Stmt) -> Eval<()> {
        match stmt {
            Stmt::Add(value, ms) => {
                let value = self.copy_or_eval(value)?;
                if value == Value::Undef {
                    return fault(Fault::Undefined);
                }
                self.check_range(&value, self.model.element_type(ms))?;
                if self.size_of(ms) == self.capacity(ms) {
                    return fault(Fault::MultisetFull);
                }
                self.elements(ms).push(value);
            }
            Stmt::Remove { index, multiset } => {
                let (loc, _) = self.resolve_root(index);
                let position = match self.at(&loc) {
                    Some(Value::Int(i)) => *i as usize,
                    other => panic!("{index} is {other:?}, not an index"),
                };
                if position >= self.size_of(multiset) {
                    return fault(Fault::Index);
                }
                self.elements(multiset).remove(position);
            }
            Stmt::RemovePred { index, multiset, cond } => {
                let mut chosen = self.matching(index, multiset, cond)?.into_iter();
                self.elements(multiset).retain(|_| !chosen.next().unwrap_or(false));
            }
            other => panic!("{other:?} is not about multisets"),
        }
        Ok(())
    }

    fn capacity(&self, multiset: &str) -> usize {
        let var = self.model.vars.iter().find(|v| v.name == multiset);
        match lookup(self.model, &var.expect("the model is well-formed").ty) {
            Type::Multiset { capacity, .. } => *capacity,
            other => panic!("{other:?} is not a multiset"),
        }
    }
}

fn checked(n: Option<i64>) -> Eval<Value> {
    n.map(Value::Int).ok_or(Stop::Fault(Fault::Overflow))
}
