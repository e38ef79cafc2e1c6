//! The types of a model: one [`TypeId`] per distinct type, and how types are named in messages.
//!
//! Ranges, reals, records, arrays, multisets and unions are shared by structure, so two types that
//! can stand for each other have the same number; enumerations and scalarsets are themselves only.
//! Every enumeration and scalarset owns an interval of codes, disjoint from all others.

use std::collections::HashMap;

use ergodic_diag::Span;
use ergodic_ir::{Field, ScalarKind, ScalarType, Type, TypeId};

/// The type of an expression. Integers of all ranges are one type, as in the language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ty {
    /// Something wrong that was reported already; it suits every use.
    Error,
    Bool,
    Int,
    Real,
    /// An enumeration, scalarset or union.
    Scalar(TypeId),
    /// A record, array or multiset.
    Compound(TypeId),
    /// The number of an element of a multiset of the given type.
    Slot(TypeId),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Key {
    Range(i64, i64),
    Real(u32, u32),
    Record(Vec<(String, TypeId)>),
    Array(TypeId, TypeId),
    Multiset(u32, TypeId),
    Union(Vec<TypeId>),
}

#[derive(Clone, Debug, Default)]
struct Names {
    declared: Vec<String>,
    anonymous: bool,
    /// Where it is written first.
    written: Option<Span>,
}

/// All types made so far.
#[derive(Debug)]
pub(super) struct Types {
    list: Vec<Type>,
    names: Vec<Names>,
    shared: HashMap<Key, TypeId>,
    /// Enumerations and scalarsets by the place they are written.
    written: HashMap<(u32, u32), TypeId>,
    next_code: i64,
    anonymous_scalarsets: u32,
}

/// `boolean`, which always exists.
pub(super) const BOOLEAN: TypeId = TypeId(0);

/// The largest bound of a range; the least is one further from zero. All values between them, and
/// undefined, take 57 bits, the most that a field can have.
pub(super) const MAX_BOUND: i64 = (1 << 55) - 1;

/// The largest number of values of a scalarset, and of elements of a multiset.
pub(super) const MAX_SIZE: i64 = i32::MAX as i64;

fn scalar(kind: ScalarKind, intervals: Vec<(i64, i64)>) -> Type {
    Type::Scalar(ScalarType { name: None, kind, intervals, undefinable: true })
}

impl Types {
    pub(super) fn new() -> Types {
        let mut types = Types {
            list: Vec::new(),
            names: Vec::new(),
            shared: HashMap::new(),
            written: HashMap::new(),
            next_code: 2,
            anonymous_scalarsets: 0,
        };
        types.push(scalar(ScalarKind::Bool, vec![(0, 1)]));
        types
    }

    fn push(&mut self, ty: Type) -> TypeId {
        let id = TypeId(self.list.len() as u32);
        self.list.push(ty);
        self.names.push(Names::default());
        id
    }

    fn share(&mut self, key: Key, make: impl FnOnce() -> Type) -> TypeId {
        if let Some(id) = self.shared.get(&key) {
            return *id;
        }
        let id = self.push(make());
        self.shared.insert(key, id);
        id
    }

    pub(super) fn get(&self, id: TypeId) -> &Type {
        &self.list[id.0 as usize]
    }

    pub(super) fn scalar(&self, id: TypeId) -> Option<&ScalarType> {
        match self.get(id) {
            Type::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// Notes that a declaration gives the type a name (or that it is used without one).
    pub(super) fn named(&mut self, id: TypeId, name: Option<&str>, at: Span) {
        let names = &mut self.names[id.0 as usize];
        names.written.get_or_insert(at);
        match name {
            Some(name) => names.declared.push(name.to_owned()),
            None => names.anonymous = true,
        }
    }

    pub(super) fn range(&mut self, lo: i64, hi: i64) -> TypeId {
        self.share(Key::Range(lo, hi), || scalar(ScalarKind::Int, vec![(lo, hi)]))
    }

    pub(super) fn real(&mut self, digits: u32, exponent: u32) -> TypeId {
        self.share(Key::Real(digits, exponent), || Type::Real { digits, exponent })
    }

    pub(super) fn array(&mut self, index: TypeId, elem: TypeId) -> TypeId {
        self.share(Key::Array(index, elem), || Type::Array { index, elem })
    }

    pub(super) fn multiset(&mut self, capacity: u32, elem: TypeId) -> TypeId {
        self.share(Key::Multiset(capacity, elem), || Type::Multiset { capacity, elem })
    }

    pub(super) fn record(&mut self, fields: Vec<(String, TypeId)>) -> TypeId {
        self.share(Key::Record(fields.clone()), || {
            let fields = fields.into_iter().map(|(name, ty)| Field { name, ty }).collect();
            Type::Record { name: None, fields }
        })
    }

    /// A union of enumerations and scalarsets, which must be different.
    pub(super) fn union(&mut self, members: Vec<TypeId>) -> TypeId {
        let of = |id: &TypeId| self.scalar(*id).map(|s| s.intervals.clone()).unwrap_or_default();
        let intervals = members.iter().flat_map(of).collect();
        self.share(Key::Union(members.clone()), || scalar(ScalarKind::Union { members }, intervals))
    }

    /// The enumeration or scalarset written at a place, if it was made before.
    pub(super) fn written(&self, span: Span) -> Option<TypeId> {
        self.written.get(&(span.start, span.end)).copied()
    }

    fn own(&mut self, span: Span, count: i64, make: impl FnOnce(i64, i64) -> Type) -> TypeId {
        let first = self.next_code;
        self.next_code = first.saturating_add(count);
        let id = self.push(make(first, first + count - 1));
        self.written.insert((span.start, span.end), id);
        id
    }

    /// The enumeration written at a place, of at least one value.
    pub(super) fn enumeration(&mut self, span: Span, names: Vec<String>) -> TypeId {
        let count = names.len().max(1) as i64;
        self.own(span, count, |lo, hi| scalar(ScalarKind::Enum { names }, vec![(lo, hi)]))
    }

    /// The scalarset written at a place, of at least one and at most [`MAX_SIZE`] values.
    pub(super) fn scalarset(&mut self, span: Span, size: i64, name: Option<&str>) -> TypeId {
        let stem = name.map_or_else(
            || {
                self.anonymous_scalarsets += 1;
                format!("scalarset{}", self.anonymous_scalarsets)
            },
            str::to_owned,
        );
        self.own(span, size, |lo, hi| scalar(ScalarKind::Scalarset { stem }, vec![(lo, hi)]))
    }

    /// The type that expressions over a variable of this type have.
    pub(super) fn ty(&self, id: TypeId) -> Ty {
        match self.get(id) {
            Type::Scalar(s) => match s.kind {
                ScalarKind::Bool => Ty::Bool,
                ScalarKind::Int => Ty::Int,
                _ => Ty::Scalar(id),
            },
            Type::Real { .. } => Ty::Real,
            _ => Ty::Compound(id),
        }
    }

    /// Whether two enumerations, scalarsets or unions have a value in common.
    pub(super) fn overlap(&self, a: TypeId, b: TypeId) -> bool {
        let (Some(a), Some(b)) = (self.scalar(a), self.scalar(b)) else {
            return false;
        };
        a.intervals.iter().any(|x| b.intervals.iter().any(|y| x.0 <= y.1 && y.0 <= x.1))
    }

    /// A scalarset among the values of a type: itself or a member.
    pub(super) fn scalarset_in(&self, id: TypeId) -> bool {
        match self.scalar(id).map(|s| &s.kind) {
            Some(ScalarKind::Scalarset { .. }) => true,
            Some(ScalarKind::Union { members }) => members.iter().any(|m| self.scalarset_in(*m)),
            _ => false,
        }
    }

    /// A scalarset or union that a variable of the type holds as a value.
    pub(super) fn symmetric_part(&self, id: TypeId) -> Option<TypeId> {
        match self.get(id) {
            Type::Scalar(s) => match s.kind {
                ScalarKind::Scalarset { .. } | ScalarKind::Union { .. } => Some(id),
                _ => None,
            },
            Type::Real { .. } => None,
            Type::Record { fields, .. } => fields.iter().find_map(|f| self.symmetric_part(f.ty)),
            Type::Array { elem, .. } | Type::Multiset { elem, .. } => self.symmetric_part(*elem),
        }
    }

    /// Whether a type is or holds a multiset.
    pub(super) fn holds_multiset(&self, id: TypeId) -> bool {
        match self.get(id) {
            Type::Scalar(_) | Type::Real { .. } => false,
            Type::Record { fields, .. } => fields.iter().any(|f| self.holds_multiset(f.ty)),
            Type::Array { elem, .. } => self.holds_multiset(*elem),
            Type::Multiset { .. } => true,
        }
    }

    /// A type as messages show it, in backquotes.
    pub(super) fn describe(&self, ty: Ty) -> String {
        match ty {
            Ty::Error => "something wrong".to_owned(),
            Ty::Bool => "`boolean`".to_owned(),
            Ty::Int => "an integer".to_owned(),
            Ty::Real => "a real".to_owned(),
            Ty::Scalar(id) | Ty::Compound(id) => self.show(id),
            Ty::Slot(id) => format!("an element number of {}", self.show(id)),
        }
    }

    /// A declared type as messages show it.
    pub(super) fn show(&self, id: TypeId) -> String {
        let kind = match self.get(id) {
            Type::Scalar(s) => match s.kind {
                ScalarKind::Bool | ScalarKind::Int => "",
                ScalarKind::Enum { .. } => "enumeration ",
                ScalarKind::Scalarset { .. } => "scalarset ",
                ScalarKind::Union { .. } => "union ",
            },
            Type::Real { .. } => "",
            Type::Record { .. } => "record ",
            Type::Array { .. } => "array ",
            Type::Multiset { .. } => "multiset ",
        };
        match self.name(id) {
            Some(name) => format!("{kind}`{name}`"),
            None => format!("`{}`", self.structure(id, 3)),
        }
    }

    /// The declared name of a type, unless it would be ambiguous.
    fn name(&self, id: TypeId) -> Option<&str> {
        let names = &self.names[id.0 as usize];
        let first = names.declared.first().map(String::as_str);
        let own = match self.get(id) {
            Type::Scalar(s) => !matches!(s.kind, ScalarKind::Bool | ScalarKind::Int),
            Type::Record { .. } => true,
            _ => false,
        };
        let only = names.declared.len() == 1 && !names.anonymous;
        first.filter(|_| own || only)
    }

    fn structure(&self, id: TypeId, depth: u32) -> String {
        let inner = |id: TypeId| match self.name(id) {
            Some(name) => name.to_owned(),
            None if depth == 0 => "…".to_owned(),
            None => self.structure(id, depth - 1),
        };
        match self.get(id) {
            Type::Scalar(s) => match &s.kind {
                ScalarKind::Bool => "boolean".to_owned(),
                ScalarKind::Int => format!("{}..{}", s.intervals[0].0, s.intervals[0].1),
                ScalarKind::Enum { names } => format!("enum {{ {} }}", few(names.iter().cloned())),
                ScalarKind::Scalarset { .. } => format!("scalarset({})", s.count()),
                ScalarKind::Union { members } => {
                    format!("union {{ {} }}", few(members.iter().map(|m| inner(*m))))
                }
            },
            Type::Real { digits, exponent } => format!("real({digits}, {exponent})"),
            Type::Record { fields, .. } => {
                let fields = few(fields.iter().map(|f| f.name.clone()));
                format!("record {fields} end")
            }
            Type::Array { index, elem } => format!("array [{}] of {}", inner(*index), inner(*elem)),
            Type::Multiset { capacity, elem } => {
                format!("multiset [{capacity}] of {}", inner(*elem))
            }
        }
    }

    /// A value as it is shown.
    pub(super) fn value(&self, id: TypeId, code: i64) -> String {
        let Some(scalar) = self.scalar(id) else { return code.to_string() };
        let offset = code - scalar.intervals[0].0;
        match &scalar.kind {
            ScalarKind::Bool => (code != 0).to_string(),
            ScalarKind::Int => code.to_string(),
            ScalarKind::Enum { names } => names.get(offset as usize).cloned().unwrap_or_default(),
            ScalarKind::Scalarset { stem } => format!("{stem}_{}", offset + 1),
            ScalarKind::Union { members } => {
                let holds = |m: &&TypeId| self.scalar(**m).is_some_and(|s| s.contains(code));
                members.iter().find(holds).map_or_else(String::new, |m| self.value(*m, code))
            }
        }
    }

    /// Where a type is written first, if it is.
    pub(super) fn place(&self, id: TypeId) -> Option<Span> {
        self.names.get(id.0 as usize)?.written
    }

    /// The finished list, with names filled in.
    pub(super) fn finish(&mut self) -> Vec<Type> {
        for i in 0..self.list.len() {
            let given = self.name(TypeId(i as u32)).map(str::to_owned);
            match &mut self.list[i] {
                Type::Scalar(ScalarType { name, .. }) | Type::Record { name, .. } => *name = given,
                _ => {}
            }
        }
        std::mem::take(&mut self.list)
    }
}

/// The first few items of a list, for messages.
fn few(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<String> = items.take(5).collect();
    if items.len() == 5 {
        items[4] = "…".to_owned();
    }
    items.join(", ")
}
