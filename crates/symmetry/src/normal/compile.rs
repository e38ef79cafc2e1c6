//! What CMurphi's compiler makes of the types of a program: which variables tell points apart, in which
//! order, and what is looked at in each.
//!
//! CMurphi sorts types into kinds by how they involve scalarsets (`Kind`), and variables by their kinds,
//! simple ones first. Variables of one kind stand in an order that looks arbitrary, but is not: its compiler
//! reverses the lists of all kinds with each entry of its symbol table (`Compiler::variables`).
//!
//! Entries of types without names are counted as if each variable had written its type down: the program
//! does not say which arrays and ranges were declared with names. Where that is wrong, variables of one
//! kind come in another order, and some other members of orbits are taken.

use super::{Bag, Edge, Image, Leaf, PointAt, Step};
use crate::plan::{Symmetries, member_codes};
use ergodic_ir::{GlobalId, Layout, Program, ScalarKind, ScalarType, Type, TypeId};

/// How a type involves scalarsets, from simple to complicated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Not at all.
    Free,
    /// It holds points.
    Points,
    /// Arrays indexed by points, of plain data; perhaps beside points.
    Rows,
    /// Multisets of plain data; perhaps beside those.
    Bags,
    /// Arrays indexed by points, of points.
    Links,
    /// Anything else.
    Complex,
}

/// Reads the types of a program.
pub(super) struct Compiler<'a> {
    program: &'a Program,
    layout: &'a Layout,
    plan: &'a Symmetries,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(program: &'a Program, layout: &'a Layout, plan: &'a Symmetries) -> Self {
        Compiler { program, layout, plan }
    }

    fn ty(&self, id: TypeId) -> &'a Type {
        &self.program.types[id.0 as usize]
    }

    /// The groups whose points a scalar type has, in order of declaration.
    fn sets(&self, scalar: &ScalarType) -> Vec<usize> {
        let codes = member_codes(&self.program.types, scalar);
        let group = |codes: &(i64, i64)| self.plan.searched.iter().position(|g| g.codes == *codes);
        codes.iter().filter_map(group).collect()
    }

    /// The same for the index of an array, with the ordinals of first points.
    fn index_sets(&self, index: TypeId) -> Vec<(usize, u64)> {
        let Type::Scalar(scalar) = self.ty(index) else { return Vec::new() };
        let first = |set: usize| scalar.ordinal(self.plan.searched[set].codes.0);
        self.sets(scalar).into_iter().filter_map(|set| Some((set, first(set)?))).collect()
    }

    fn count(&self, index: TypeId) -> u64 {
        match self.ty(index) {
            Type::Scalar(scalar) => scalar.count(),
            _ => 0,
        }
    }

    fn kind(&self, id: TypeId) -> Kind {
        match self.ty(id) {
            Type::Scalar(scalar) if !self.sets(scalar).is_empty() => Kind::Points,
            Type::Scalar(_) | Type::Real { .. } => Kind::Free,
            Type::Record { fields, .. } => {
                fields.iter().map(|field| self.kind(field.ty)).max().unwrap_or(Kind::Free)
            }
            Type::Array { index, elem } => match (self.kind(*index), self.kind(*elem)) {
                (Kind::Free, kind) => kind,
                (_, Kind::Free) => Kind::Rows,
                (_, Kind::Points) => Kind::Links,
                _ => Kind::Complex,
            },
            Type::Multiset { elem, .. } => match self.kind(*elem) {
                Kind::Free => Kind::Bags,
                _ => Kind::Complex,
            },
        }
    }

    /// Whether points stand in a type outside of arrays indexed by points and of multisets.
    fn has_points(&self, id: TypeId) -> bool {
        match self.ty(id) {
            Type::Scalar(scalar) => match &scalar.kind {
                ScalarKind::Union { members } => members.iter().any(|m| self.is_scalarset(*m)),
                _ => !self.sets(scalar).is_empty(),
            },
            Type::Record { fields, .. } => fields.iter().any(|field| self.has_points(field.ty)),
            Type::Array { index, elem } => self.is_free(*index) && self.has_points(*elem),
            Type::Real { .. } | Type::Multiset { .. } => false,
        }
    }

    fn is_scalarset(&self, id: TypeId) -> bool {
        matches!(self.ty(id), Type::Scalar(ScalarType { kind: ScalarKind::Scalarset { .. }, .. }))
    }

    fn is_free(&self, id: TypeId) -> bool {
        self.kind(id) == Kind::Free
    }

    /// Whether plain data does.
    fn has_data(&self, id: TypeId) -> bool {
        match self.ty(id) {
            Type::Scalar(scalar) => {
                !matches!(scalar.kind, ScalarKind::Union { .. }) && self.sets(scalar).is_empty()
            }
            Type::Real { .. } => true,
            Type::Record { fields, .. } => fields.iter().any(|field| self.has_data(field.ty)),
            Type::Array { index, elem } => self.is_free(*index) && self.has_data(*elem),
            Type::Multiset { .. } => false,
        }
    }

    /// Whether a type holds arrays indexed by points in which something of a sort stands.
    fn has_rows_of(&self, id: TypeId, of: fn(&Self, TypeId) -> bool) -> bool {
        match self.ty(id) {
            Type::Record { fields, .. } => fields.iter().any(|f| self.has_rows_of(f.ty, of)),
            Type::Array { index, elem } if self.is_free(*index) => self.has_rows_of(*elem, of),
            Type::Array { elem, .. } => of(self, *elem),
            _ => false,
        }
    }

    fn has_rows(&self, id: TypeId) -> bool {
        self.has_rows_of(id, Self::has_data)
    }

    fn has_links(&self, id: TypeId) -> bool {
        self.has_rows_of(id, Self::has_points)
    }

    /// Whether a type holds multisets of elements with points.
    fn has_bags(&self, id: TypeId) -> bool {
        match self.ty(id) {
            Type::Record { fields, .. } => fields.iter().any(|field| self.has_bags(field.ty)),
            Type::Array { index, elem } => self.is_free(*index) && self.has_bags(*elem),
            Type::Multiset { elem, .. } => self.has_points(*elem),
            Type::Scalar(_) | Type::Real { .. } => false,
        }
    }

    /// The parts of a record, or of an array, with their places.
    fn parts(&self, id: TypeId, at: usize) -> Vec<(TypeId, usize)> {
        match self.ty(id) {
            Type::Record { fields, .. } => {
                let place = |i: usize| at + self.layout.field(id, i as u32);
                fields.iter().enumerate().map(|(i, field)| (field.ty, place(i))).collect()
            }
            Type::Array { index, elem } => {
                let place = |i: u64| at + i as usize * self.layout.stride(id);
                (0..self.count(*index)).map(|i| (*elem, place(i))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The groups in the order in which permutations are counted through, fastest first: the last one
    /// that was declared is, and those that no variable involves are left out.
    pub(super) fn turns(&self) -> Vec<usize> {
        let mut used = Vec::new();
        self.program.globals.iter().for_each(|global| self.all_sets(global.ty, &mut used));
        (0..self.plan.searched.len()).rev().filter(|set| used.contains(set)).collect()
    }

    /// All groups in a type, indices included.
    fn all_sets(&self, id: TypeId, out: &mut Vec<usize>) {
        match self.ty(id) {
            Type::Scalar(scalar) => {
                for set in self.sets(scalar) {
                    if !out.contains(&set) {
                        out.push(set);
                    }
                }
            }
            Type::Real { .. } => {}
            Type::Record { fields, .. } => fields.iter().for_each(|f| self.all_sets(f.ty, out)),
            Type::Array { index, elem } => {
                self.all_sets(*elem, out);
                self.all_sets(*index, out);
            }
            Type::Multiset { elem, .. } => self.all_sets(*elem, out),
        }
    }

    /// The variables, kind by kind, in CMurphi's order.
    fn variables(&self) -> Vec<(TypeId, usize)> {
        let mut kinds: [Vec<(TypeId, usize)>; 6] = Default::default();
        for (i, global) in self.program.globals.iter().enumerate() {
            // The variable comes last in its kind; each entry before it reverses the lists.
            if self.entries(global.ty) % 2 == 1 {
                kinds.iter_mut().for_each(|list| list.reverse());
            }
            kinds[self.kind(global.ty) as usize]
                .insert(0, (global.ty, self.layout.global(GlobalId(i as u32))));
            kinds.iter_mut().for_each(|list| list.reverse());
        }
        kinds.concat()
    }

    /// Entries that CMurphi makes in its symbol table for a type that a variable or a field is declared with.
    fn entries(&self, id: TypeId) -> usize {
        match self.ty(id) {
            Type::Scalar(scalar) if scalar.name.is_some() => 0,
            Type::Scalar(scalar) => match &scalar.kind {
                ScalarKind::Bool => 0,
                ScalarKind::Int | ScalarKind::Union { .. } => 1,
                ScalarKind::Enum { .. } | ScalarKind::Scalarset { .. } => {
                    1 + scalar.count() as usize
                }
            },
            Type::Real { .. } => 1,
            Type::Record { name: Some(_), .. } => 0,
            Type::Record { fields, .. } => {
                1 + fields.iter().map(|field| self.entries(field.ty)).sum::<usize>()
            }
            Type::Array { elem, .. } | Type::Multiset { elem, .. } => 1 + self.entries(*elem),
        }
    }

    /// What is done to tell points apart.
    pub(super) fn steps(&self) -> Vec<Step> {
        let variables = self.variables();
        let simple = |kind: Kind| kind <= Kind::Bags;
        let mut steps = Vec::new();
        for is_simple in [true, false] {
            let of = variables.iter().filter(|(ty, _)| simple(self.kind(*ty)) == is_simple);
            let mut points = Vec::new();
            of.clone().for_each(|(ty, at)| self.mention(*ty, *at, &mut points));
            steps.push(Step::Mention(points));
            of.for_each(|(ty, at)| self.rows(*ty, *at, &mut steps));
        }
        variables.iter().for_each(|(ty, at)| self.bags(*ty, *at, &mut steps));
        variables.iter().for_each(|(ty, at)| self.links(*ty, *at, &mut steps));
        steps
    }

    /// Points that stand by themselves.
    fn mention(&self, id: TypeId, at: usize, out: &mut Vec<PointAt>) {
        if !self.has_points(id) {
            return;
        }
        match self.ty(id) {
            Type::Scalar(scalar) => {
                out.extend(self.sets(scalar).into_iter().map(|set| self.point(scalar, set, at)));
            }
            _ => self.parts(id, at).into_iter().for_each(|(ty, at)| self.mention(ty, at, out)),
        }
    }

    fn point(&self, scalar: &ScalarType, set: usize, at: usize) -> PointAt {
        let group = &self.plan.searched[set];
        PointAt {
            at: at as u32,
            width: scalar.bits(),
            low: scalar.encode(group.codes.0).unwrap_or_default(),
            set,
            count: u64::from(group.count),
        }
    }

    /// Arrays indexed by points, of data.
    fn rows(&self, id: TypeId, at: usize, steps: &mut Vec<Step>) {
        if !self.has_rows(id) {
            return;
        }
        match self.ty(id) {
            Type::Array { index, elem } if !self.is_free(*index) => {
                let rows = self.parts(id, at);
                for (set, first) in self.index_sets(*index) {
                    let count = self.plan.searched[set].count as usize;
                    let own = rows.iter().skip(first as usize).take(count);
                    let places = own.map(|(_, at)| *at as u32).collect();
                    let mut leaves = Vec::new();
                    self.weight(*elem, 0, &mut leaves);
                    steps.push(Step::Weigh { set, places, leaves });
                }
            }
            _ => self.parts(id, at).into_iter().for_each(|(ty, at)| self.rows(ty, at, steps)),
        }
    }

    /// By what data is compared: all of it, but of points only whether they are defined.
    fn weight(&self, id: TypeId, at: usize, out: &mut Vec<Leaf>) {
        match self.ty(id) {
            Type::Scalar(scalar) => {
                let only_defined =
                    matches!(scalar.kind, ScalarKind::Scalarset { .. } | ScalarKind::Union { .. });
                if scalar.undefinable || !only_defined {
                    out.push(Leaf { at: at as u32, width: scalar.bits(), only_defined });
                }
            }
            Type::Real { .. } => out.push(Leaf { at: at as u32, width: 64, only_defined: false }),
            Type::Array { index, .. } if !self.is_free(*index) => {}
            _ => self.parts(id, at).into_iter().for_each(|(ty, at)| self.weight(ty, at, out)),
        }
    }

    /// Arrays indexed by points, of points: graphs.
    fn links(&self, id: TypeId, at: usize, steps: &mut Vec<Step>) {
        if !self.has_links(id) {
            return;
        }
        match self.ty(id) {
            Type::Array { index, elem } if !self.is_free(*index) => {
                let (mut own, mut cross, mut sets) = (Vec::new(), Vec::new(), Vec::new());
                self.all_sets(id, &mut sets);
                let rows = self.parts(id, at);
                let mut points = Vec::new();
                self.held(*elem, 0, &mut points);
                for (set, first) in self.index_sets(*index).into_iter().rev() {
                    let count = self.plan.searched[set].count as usize;
                    let places = rows.iter().skip(first as usize).take(count);
                    let places: Vec<u32> = places.map(|(_, at)| *at as u32).collect();
                    for point in &points {
                        let edge = Edge { from: set, places: places.clone(), to: *point };
                        (if point.set == set { &mut own } else { &mut cross }).push(edge);
                    }
                }
                steps.push(Step::Link { sets, own, cross });
            }
            Type::Record { fields, .. } => {
                for (field, (ty, at)) in fields.iter().zip(self.parts(id, at)) {
                    if self.kind(field.ty) >= Kind::Links {
                        self.links(ty, at, steps);
                    }
                }
            }
            _ => self.parts(id, at).into_iter().for_each(|(ty, at)| self.links(ty, at, steps)),
        }
    }

    /// The points in an element that refinement looks at, those of the last member of a union first.
    fn held(&self, id: TypeId, at: usize, out: &mut Vec<PointAt>) {
        match self.ty(id) {
            Type::Scalar(scalar) => {
                let sets = self.sets(scalar).into_iter().rev();
                out.extend(sets.map(|set| self.point(scalar, set, at)));
            }
            Type::Record { .. } => {
                self.parts(id, at).into_iter().for_each(|(ty, at)| self.held(ty, at, out));
            }
            Type::Array { index, .. } => {
                let sets = self.index_sets(*index);
                for (i, (ty, at)) in self.parts(id, at).into_iter().enumerate() {
                    let holds = |(set, first): &(usize, u64)| {
                        (*first..*first + u64::from(self.plan.searched[*set].count))
                            .contains(&(i as u64))
                    };
                    if !sets.iter().any(holds) {
                        self.held(ty, at, out);
                    }
                }
            }
            Type::Real { .. } | Type::Multiset { .. } => {}
        }
    }

    /// Multisets of elements with points.
    fn bags(&self, id: TypeId, at: usize, steps: &mut Vec<Step>) {
        if !self.has_bags(id) {
            return;
        }
        let Type::Multiset { capacity, elem } = self.ty(id) else {
            return self.parts(id, at).into_iter().for_each(|(ty, at)| self.bags(ty, at, steps));
        };
        let inside = self.layout.slot_element(id, &self.program.types);
        let (mut leaves, mut points, mut sets) = (Vec::new(), Vec::new(), Vec::new());
        self.weight(*elem, inside, &mut leaves);
        self.held(*elem, inside, &mut points);
        self.all_sets(*elem, &mut sets);
        // A single element is looked at like a variable.
        let (mut mentioned, mut single) = (Vec::new(), Vec::new());
        self.mention(*elem, at + inside, &mut mentioned);
        single.push(Step::Mention(mentioned));
        self.rows(*elem, at + inside, &mut single);
        self.links(*elem, at + inside, &mut single);
        let stride = self.layout.stride(id) as u32;
        let (at, capacity) = (at as u32, *capacity);
        steps.push(Step::Bag(Bag { at, stride, capacity, sets, leaves, points, single }));
    }

    /// Where each bit of a state is in CMurphi's.
    pub(super) fn image(&self) -> Image {
        let mut image = Image::default();
        for (i, global) in self.program.globals.iter().enumerate() {
            self.imaged(global.ty, self.layout.global(GlobalId(i as u32)), &mut image);
        }
        image
    }

    fn imaged(&self, id: TypeId, at: usize, image: &mut Image) {
        match self.ty(id) {
            Type::Scalar(scalar) => image.field(at, scalar.bits()),
            Type::Real { .. } => image.field(at, 64),
            Type::Record { .. } | Type::Array { .. } => {
                self.parts(id, at).into_iter().for_each(|(ty, at)| self.imaged(ty, at, image));
            }
            Type::Multiset { capacity, elem } => {
                let mut element = Image::default();
                let inside = self.layout.slot_element(id, &self.program.types);
                self.imaged(*elem, inside, &mut element);
                image.bag(at, self.layout.stride(id), *capacity as usize, element);
            }
        }
    }
}
