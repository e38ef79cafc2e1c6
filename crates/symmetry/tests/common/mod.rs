//! States as trees of values, with permutations applied to the values: slow, and independent of how
//! the crate works on packed states.
#![allow(dead_code, reason = "each test file uses its part")]

use ergodic_diag::{SourceId, Span};
use ergodic_ir::{
    Field, Global, GlobalId, Layout, Program, ScalarKind, ScalarType, Type, TypeId, bits,
};

/// Random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn shuffled(&mut self, n: usize) -> Vec<usize> {
        let mut list: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            list.swap(i, self.below(i as u64 + 1) as usize);
        }
        list
    }
}

/// A program under construction: only types and state variables.
#[derive(Default)]
pub struct Maker {
    pub program: Program,
}

impl Maker {
    pub fn ty(&mut self, ty: Type) -> TypeId {
        self.program.types.push(ty);
        TypeId(self.program.types.len() as u32 - 1)
    }

    pub fn scalar(
        &mut self,
        kind: ScalarKind,
        intervals: Vec<(i64, i64)>,
        undefinable: bool,
    ) -> TypeId {
        self.ty(Type::Scalar(ScalarType { name: None, kind, intervals, undefinable }))
    }

    /// A scalarset; `number` keeps the codes of several apart.
    pub fn scalarset(&mut self, number: i64, count: i64, undefinable: bool) -> TypeId {
        let low = 1000 * (number + 1);
        let kind = ScalarKind::Scalarset { stem: format!("S{number}") };
        self.scalar(kind, vec![(low, low + count - 1)], undefinable)
    }

    pub fn range(&mut self, low: i64, high: i64) -> TypeId {
        self.scalar(ScalarKind::Int, vec![(low, high)], true)
    }

    pub fn boolean(&mut self) -> TypeId {
        self.scalar(ScalarKind::Bool, vec![(0, 1)], false)
    }

    pub fn union(&mut self, members: &[TypeId], undefinable: bool) -> TypeId {
        let intervals = members.iter().map(|m| scalar(&self.program, *m).intervals[0]).collect();
        self.scalar(ScalarKind::Union { members: members.to_vec() }, intervals, undefinable)
    }

    pub fn array(&mut self, index: TypeId, elem: TypeId) -> TypeId {
        self.ty(Type::Array { index, elem })
    }

    pub fn record(&mut self, fields: &[TypeId]) -> TypeId {
        let named = fields.iter().enumerate();
        let fields = named.map(|(i, ty)| Field { name: format!("f{i}"), ty: *ty }).collect();
        self.ty(Type::Record { name: None, fields })
    }

    pub fn multiset(&mut self, capacity: u32, elem: TypeId) -> TypeId {
        self.ty(Type::Multiset { capacity, elem })
    }

    pub fn global(&mut self, ty: TypeId) -> GlobalId {
        let span = Span { source: SourceId(0), start: 0, end: 0 };
        let name = format!("g{}", self.program.globals.len());
        self.program.globals.push(Global { name, ty, span });
        GlobalId(self.program.globals.len() as u32 - 1)
    }
}

pub fn scalar(program: &Program, ty: TypeId) -> &ScalarType {
    match &program.types[ty.0 as usize] {
        Type::Scalar(scalar) => scalar,
        _ => panic!("not a scalar"),
    }
}

/// A value of any type. Bags are sorted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    Scalar(Option<i64>),
    Real(u64),
    Parts(Vec<Value>),
    Bag(Vec<Value>),
}

pub fn decode(program: &Program, layout: &Layout, state: &[u64]) -> Vec<Value> {
    let globals = program.globals.iter().enumerate();
    globals
        .map(|(i, g)| decode_at(program, layout, state, g.ty, layout.global(GlobalId(i as u32))))
        .collect()
}

fn decode_at(program: &Program, layout: &Layout, state: &[u64], ty: TypeId, at: usize) -> Value {
    let inner = |ty, at| decode_at(program, layout, state, ty, at);
    match &program.types[ty.0 as usize] {
        Type::Scalar(scalar) => Value::Scalar(scalar.decode(bits::read(state, at, scalar.bits()))),
        Type::Real { .. } => Value::Real(bits::read(state, at, 64)),
        Type::Record { fields, .. } => {
            let part = |(i, f): (usize, &Field)| inner(f.ty, at + layout.field(ty, i as u32));
            Value::Parts(fields.iter().enumerate().map(part).collect())
        }
        Type::Array { index, elem } => {
            let count = scalar(program, *index).count() as usize;
            Value::Parts((0..count).map(|i| inner(*elem, at + i * layout.stride(ty))).collect())
        }
        Type::Multiset { capacity, elem } => {
            let inside = layout.slot_element(ty, &program.types);
            let slots = (0..*capacity as usize).map(|i| at + i * layout.stride(ty));
            let filled = slots.filter(|slot| bits::read(state, *slot, 1) == 1);
            let mut bag: Vec<Value> = filled.map(|slot| inner(*elem, slot + inside)).collect();
            bag.sort();
            Value::Bag(bag)
        }
    }
}

pub fn encode(program: &Program, layout: &Layout, values: &[Value]) -> Vec<u64> {
    let mut state = vec![0; layout.shape().words];
    for (i, (global, value)) in program.globals.iter().zip(values).enumerate() {
        let at = layout.global(GlobalId(i as u32));
        encode_at(program, layout, &mut state, global.ty, at, value);
    }
    layout.normalise(&mut state);
    state
}

fn encode_at(
    p: &Program,
    layout: &Layout,
    state: &mut [u64],
    ty: TypeId,
    at: usize,
    value: &Value,
) {
    match (&p.types[ty.0 as usize], value) {
        (Type::Scalar(scalar), Value::Scalar(code)) => {
            let raw = code.map_or(0, |code| scalar.encode(code).expect("a value of the type"));
            bits::write(state, at, scalar.bits(), raw);
        }
        (Type::Real { .. }, Value::Real(raw)) => bits::write(state, at, 64, *raw),
        (Type::Record { fields, .. }, Value::Parts(parts)) => {
            for (i, (field, part)) in fields.iter().zip(parts).enumerate() {
                encode_at(p, layout, state, field.ty, at + layout.field(ty, i as u32), part);
            }
        }
        (Type::Array { elem, .. }, Value::Parts(parts)) => {
            for (i, part) in parts.iter().enumerate() {
                encode_at(p, layout, state, *elem, at + i * layout.stride(ty), part);
            }
        }
        (Type::Multiset { elem, .. }, Value::Bag(bag)) => {
            for (i, part) in bag.iter().enumerate() {
                let slot = at + i * layout.stride(ty);
                bits::write(state, slot, 1, 1);
                let inside = slot + layout.slot_element(ty, &p.types);
                encode_at(p, layout, state, *elem, inside, part);
            }
        }
        _ => panic!("a value of another type"),
    }
}

/// A permutation: for some scalarsets (first code, last code) the order of their values.
pub type Perm = Vec<((i64, i64), Vec<usize>)>;

fn map_code(perm: &Perm, code: i64) -> i64 {
    let group = perm.iter().find(|((low, high), _)| (*low..=*high).contains(&code));
    group.map_or(code, |((low, _), order)| low + order[(code - low) as usize] as i64)
}

pub fn permute(program: &Program, perm: &Perm, values: &[Value]) -> Vec<Value> {
    program.globals.iter().zip(values).map(|(g, v)| permute_at(program, perm, g.ty, v)).collect()
}

fn permute_at(program: &Program, perm: &Perm, ty: TypeId, value: &Value) -> Value {
    match (&program.types[ty.0 as usize], value) {
        (
            Type::Scalar(ScalarType {
                kind: ScalarKind::Scalarset { .. } | ScalarKind::Union { .. },
                ..
            }),
            Value::Scalar(code),
        ) => Value::Scalar(code.map(|code| map_code(perm, code))),
        (Type::Record { fields, .. }, Value::Parts(parts)) => {
            let pairs = fields.iter().zip(parts);
            Value::Parts(pairs.map(|(f, v)| permute_at(program, perm, f.ty, v)).collect())
        }
        (Type::Array { index, elem }, Value::Parts(parts)) => {
            let index = scalar(program, *index);
            let symmetric =
                matches!(index.kind, ScalarKind::Scalarset { .. } | ScalarKind::Union { .. });
            let mut out = parts.clone();
            for (i, part) in parts.iter().enumerate() {
                let code = index.code(i as u64).expect("in range");
                let to = if symmetric { map_code(perm, code) } else { code };
                let to = index.ordinal(to).expect("in range") as usize;
                out[to] = permute_at(program, perm, *elem, part);
            }
            Value::Parts(out)
        }
        (Type::Multiset { elem, .. }, Value::Bag(bag)) => {
            let mut bag: Vec<Value> =
                bag.iter().map(|v| permute_at(program, perm, *elem, v)).collect();
            bag.sort();
            Value::Bag(bag)
        }
        _ => value.clone(),
    }
}

/// The scalarsets of a program: first and last codes, each once.
pub fn scalarsets(program: &Program) -> Vec<(i64, i64)> {
    let mut found = Vec::new();
    for ty in &program.types {
        if let Type::Scalar(ScalarType { kind: ScalarKind::Scalarset { .. }, intervals, .. }) = ty
            && !found.contains(&intervals[0])
        {
            found.push(intervals[0]);
        }
    }
    found
}

pub fn all_orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![vec![]];
    }
    let mut out = Vec::new();
    for shorter in all_orders(n - 1) {
        for at in 0..n {
            let mut order = shorter.clone();
            order.insert(at, n - 1);
            out.push(order);
        }
    }
    out
}

/// All permutations of all scalarsets.
pub fn all_perms(program: &Program) -> Vec<Perm> {
    let mut perms: Vec<Perm> = vec![vec![]];
    for codes in scalarsets(program) {
        let orders = all_orders((codes.1 - codes.0 + 1) as usize);
        let longer = |perm: &Perm| {
            let perm = perm.clone();
            orders
                .iter()
                .map(move |order| {
                    let mut perm = perm.clone();
                    perm.push((codes, order.clone()));
                    perm
                })
                .collect::<Vec<Perm>>()
        };
        perms = perms.iter().flat_map(longer).collect();
    }
    perms
}

pub fn random_perm(program: &Program, random: &mut Random) -> Perm {
    let size = |codes: (i64, i64)| (codes.1 - codes.0 + 1) as usize;
    scalarsets(program).into_iter().map(|codes| (codes, random.shuffled(size(codes)))).collect()
}

/// The least member of an orbit, by trying everything.
pub fn least(program: &Program, perms: &[Perm], values: &[Value]) -> Vec<Value> {
    perms.iter().map(|perm| permute(program, perm, values)).min().expect("the identity at least")
}
