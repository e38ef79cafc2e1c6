//! Which values the variables of a model take in a set of states.
//!
//! A variable here is a scalar part of the state, as in `cache[Node_1].state`; the slots of a multiset
//! are taken together, as in `net{}.kind`, because a slot has no meaning of its own. The bookkeeping is
//! bounded: narrow variables have a bit per value, wide ones a set of at most [`MOST_VALUES`].

use ergodic_ir::{GlobalId, Layout, Program, ScalarKind, Type, TypeId, bits, show};
use std::collections::{BTreeMap, HashSet};

/// Values of one variable that are told apart; beyond that there are "at least" so many.
pub const MOST_VALUES: usize = 4096;

/// Scalar parts of a state that are followed; the rest is left out.
pub const MOST_PLACES: usize = 1 << 14;

/// A variable with up to this many bits has a bit per value.
const NARROW: u32 = MOST_VALUES.ilog2();

/// The values that one variable takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableStats {
    /// Its full name.
    pub name: String,
    /// Bits it takes in a state (in each slot, if in a multiset).
    pub bits: u32,
    /// How many defined values its type has; `None` for reals.
    pub possible: Option<u64>,
    /// How many defined values occur, or at least so many if `more`.
    pub used: u64,
    /// Whether the bookkeeping was full.
    pub more: bool,
    /// Whether it is undefined in some state.
    pub undefined: bool,
    /// Lowest and highest value that occur, where values have an order.
    pub range: Option<(String, String)>,
    /// Whether permuting scalarset values moves or changes it: then symmetry reduction hides values.
    pub permuted: bool,
}

impl VariableStats {
    /// Whether it never changes.
    pub fn constant(&self) -> bool {
        !self.more && self.used + u64::from(self.undefined) == 1
    }
}

/// Follows the variables of a program through states.
pub(crate) struct Variables<'p> {
    program: &'p Program,
    layout: Layout,
    list: Vec<Variable>,
    index: BTreeMap<String, usize>,
    places: Vec<Place>,
    /// How many arrays with permuted indices are around the part being walked.
    permuted: u32,
    /// Whether there are more scalar parts than are followed.
    pub(crate) more: bool,
}

struct Variable {
    name: String,
    ty: TypeId,
    bits: u32,
    /// Whether stored zero means undefined.
    undefinable: bool,
    permuted: bool,
    seen: Seen,
    undefined: bool,
    low: u64,
    high: u64,
}

/// Where a variable lies.
struct Place {
    at: usize,
    variable: usize,
    /// The presence bits of the multiset slots around it.
    slots: Vec<usize>,
}

enum Seen {
    Narrow(Vec<u64>),
    Wide(HashSet<u64>),
}

impl<'p> Variables<'p> {
    pub(crate) fn new(program: &'p Program) -> Variables<'p> {
        let mut variables = Variables {
            program,
            layout: Layout::new(program),
            list: Vec::new(),
            index: BTreeMap::new(),
            places: Vec::new(),
            permuted: 0,
            more: false,
        };
        for (i, global) in program.globals.iter().enumerate() {
            let at = variables.layout.global(GlobalId(i as u32));
            variables.walk(global.ty, at, &global.name, &[]);
        }
        variables
    }

    fn walk(&mut self, ty: TypeId, at: usize, name: &str, slots: &[usize]) {
        if self.places.len() >= MOST_PLACES {
            self.more = true;
            return;
        }
        match &self.program.types[ty.0 as usize] {
            Type::Scalar(scalar) => self.place(ty, at, name, slots, scalar.bits()),
            Type::Real { .. } => self.place(ty, at, name, slots, 64),
            Type::Record { fields, .. } => {
                for (i, field) in fields.iter().enumerate() {
                    let offset = self.layout.field(ty, i as u32);
                    self.walk(field.ty, at + offset, &format!("{name}.{}", field.name), slots);
                }
            }
            Type::Array { index, elem } => {
                let Type::Scalar(range) = &self.program.types[index.0 as usize] else { return };
                let permuted = u32::from(is_permuted(&range.kind));
                self.permuted += permuted;
                for i in 0..range.count().min(MOST_PLACES as u64 + 1) {
                    let label =
                        show::scalar(self.program, *index, range.code(i).unwrap_or_default());
                    let offset = i as usize * self.layout.stride(ty);
                    self.walk(*elem, at + offset, &format!("{name}[{label}]"), slots);
                }
                self.permuted -= permuted;
            }
            Type::Multiset { capacity, elem } => {
                let inside = self.layout.slot_element(ty, &self.program.types);
                for slot in 0..(*capacity as usize).min(MOST_PLACES + 1) {
                    let offset = at + slot * self.layout.stride(ty);
                    let around = [slots, &[offset]].concat();
                    self.walk(*elem, offset + inside, &format!("{name}{{}}"), &around);
                }
            }
        }
    }

    fn place(&mut self, ty: TypeId, at: usize, name: &str, slots: &[usize], bits: u32) {
        let next = self.list.len();
        let variable = *self.index.entry(name.to_string()).or_insert(next);
        if variable == next {
            let (undefinable, permuted) = match &self.program.types[ty.0 as usize] {
                Type::Scalar(scalar) => (scalar.undefinable, is_permuted(&scalar.kind)),
                _ => (true, false),
            };
            let permuted = permuted || self.permuted > 0;
            let seen = if bits <= NARROW {
                Seen::Narrow(vec![0; (1usize << bits).div_ceil(64)])
            } else {
                Seen::Wide(HashSet::new())
            };
            let (low, high) = (u64::MAX, 0);
            let name = name.to_string();
            self.list.push(Variable {
                name,
                ty,
                bits,
                undefinable,
                permuted,
                seen,
                undefined: false,
                low,
                high,
            });
        }
        self.places.push(Place { at, variable, slots: slots.to_vec() });
    }

    /// Takes note of a state.
    pub(crate) fn see(&mut self, state: &[u64]) {
        for place in &self.places {
            if place.slots.iter().all(|slot| bits::read(state, *slot, 1) == 1) {
                let variable = &mut self.list[place.variable];
                variable.see(bits::read(state, place.at, variable.bits));
            }
        }
    }

    pub(crate) fn stats(&self) -> Vec<VariableStats> {
        self.list.iter().map(|variable| variable.stats(self.program)).collect()
    }
}

/// Whether a permutation of scalarset values can change values of this kind.
fn is_permuted(kind: &ScalarKind) -> bool {
    matches!(kind, ScalarKind::Scalarset { .. } | ScalarKind::Union { .. })
}

impl Variable {
    fn see(&mut self, raw: u64) {
        if self.undefinable && raw == 0 {
            self.undefined = true;
            return;
        }
        (self.low, self.high) = (self.low.min(raw), self.high.max(raw));
        match &mut self.seen {
            Seen::Narrow(words) => words[(raw / 64) as usize] |= 1 << (raw % 64),
            Seen::Wide(set) if set.len() <= MOST_VALUES => {
                set.insert(raw);
            }
            Seen::Wide(_) => {}
        }
    }

    fn stats(&self, program: &Program) -> VariableStats {
        let (used, more) = match &self.seen {
            Seen::Narrow(words) => {
                (words.iter().map(|word| u64::from(word.count_ones())).sum(), false)
            }
            Seen::Wide(set) => (set.len().min(MOST_VALUES) as u64, set.len() > MOST_VALUES),
        };
        let (mut possible, mut range) = (None, None);
        if let Type::Scalar(scalar) = &program.types[self.ty.0 as usize] {
            possible = Some(scalar.count());
            let ordered =
                matches!(scalar.kind, ScalarKind::Int | ScalarKind::Bool | ScalarKind::Enum { .. });
            let show = |raw| Some(show::scalar(program, self.ty, scalar.decode(raw)?));
            range = if ordered { show(self.low).zip(show(self.high)) } else { None };
        }
        VariableStats {
            name: self.name.clone(),
            bits: self.bits,
            possible,
            used,
            more,
            undefined: self.undefined,
            range: range.filter(|_| used > 0),
            permuted: self.permuted,
        }
    }
}
