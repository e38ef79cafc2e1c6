//! The plan: which bits of a state a permutation of scalarset values moves and maps.
//!
//! A *group* is a scalarset with more than one value; its values are numbered densely over all
//! groups and are then called *points*. The state is cut into *chunks* of at most 64 bits. All bits
//! of a chunk lie under the same array indices that are points (its *path*), so permuting a state
//! is: take each chunk, map the fields in it that hold points, write it where its path goes.
//! Chunks that no permutation touches are one mask, and chunks of zeros go without saying.
//!
//! Invariants:
//! * chunks are cut alike in all rows of an array and in all slots of a multiset, so that chunks
//!   with equal `seed` are images of each other;
//! * a chunk lies in one slot of a multiset or in none.

use crate::normal::NormalForm;
use crate::sorter::Sorter;
use ergodic_ir::{Layout, MultisetAt, Program, ScalarKind, ScalarType, Type, TypeId, bits};
use std::collections::HashMap;
use std::sync::Arc;

/// The symmetries of the states of one program. Made once, shared by all workers.
#[derive(Clone, Debug)]
pub struct Symmetries {
    /// All groups.
    groups: Vec<Group>,
    /// What sorts the plain ones among them. The rest of the plan is about the others.
    pub(crate) sorters: Vec<Sorter>,
    /// The first point of each group that is sorted, and of each other, among those of all groups.
    pub(crate) sorted_from: Vec<u32>,
    pub(crate) searched_from: Vec<u32>,
    /// The others, with numbers of points of their own.
    pub(crate) searched: Vec<Group>,
    /// Points of the others together.
    pub(crate) points: usize,
    /// Words of a state.
    pub(crate) words: usize,
    /// The bits that no permutation touches.
    pub(crate) fixed: Vec<u64>,
    /// A state that no permutation changes; states are seen as their difference from it.
    pub(crate) zero: Vec<u64>,
    /// In the order of the state.
    pub(crate) chunks: Vec<Chunk>,
    /// The bit after each chunk.
    pub(crate) ends: Vec<u32>,
    /// For each word of the state the first chunk that ends in it or behind it.
    pub(crate) first_in: Vec<u32>,
    /// Chunks that can hold points when all their bits are zero.
    pub(crate) holders: Vec<u32>,
    pub(crate) steps: Vec<PathStep>,
    pub(crate) fields: Vec<PointField>,
    /// Multisets whose order a permutation can disturb, inner ones first.
    pub(crate) multisets: Vec<MultisetAt>,
    /// A colour for every cell that starts at a point.
    pub(crate) colours: Vec<u64>,
    /// The first point of the group of each point.
    pub(crate) first_of: Vec<u32>,
    /// The bits of hashes that are used.
    pub(crate) hash_bits: u64,
    /// What stands for an orbit instead of its canonical member.
    pub(crate) normal: Option<Arc<NormalForm>>,
}

/// A scalarset with more than one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The (first) type of the program with these values.
    pub ty: TypeId,
    /// First and last code.
    pub codes: (i64, i64),
    /// Number of its first value among the values of all groups.
    pub first: u32,
    /// How many values it has.
    pub count: u32,
}

/// Up to 64 bits that move together.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    /// First bit.
    pub at: u32,
    /// First bit, were all indices of the path zero.
    pub origin: u32,
    pub width: u32,
    /// Where path and fields lie in `steps` and `fields`.
    pub path: (u32, u32),
    pub fields: (u32, u32),
    /// The presence bit that tells whether a chunk of zeros is there at all; [`NEVER`] if a chunk
    /// of zeros never holds a point, [`ALWAYS`] if it always does.
    pub guard: u32,
    /// The groups that touch it, one bit each; the last bit is for all groups from there on.
    pub groups: u64,
    /// Whether it lies in a multiset.
    pub in_slot: bool,
    /// Whether it lies in a multiset that must be sorted again.
    pub sorted: bool,
    /// Equal for chunks that are images of each other.
    pub seed: u64,
}

/// A chunk of zeros holds no point.
pub(crate) const NEVER: u32 = u32::MAX;

/// A chunk of zeros holds points.
pub(crate) const ALWAYS: u32 = u32::MAX - 1;

/// An array index on the path of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathStep {
    pub point: u32,
    pub stride: u32,
}

/// A field of a chunk that can hold the points of one group. A union of several has one each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PointField {
    pub shift: u32,
    pub mask: u64,
    /// Stored form of the first point.
    pub low: u64,
    pub count: u64,
    pub first: u32,
}

/// The bit of a group in [`Chunk::groups`].
pub(crate) fn group_bit(group: usize) -> u64 {
    1 << group.min(63)
}

impl Symmetries {
    /// The symmetries of a program: all permutations of the values of each scalarset type, except
    /// those in `leave_out` (which [`crate::check_program`] found to be told apart).
    pub fn new(program: &Program, layout: &Layout, leave_out: &[TypeId]) -> Symmetries {
        let whole = Symmetries::without_sorting(program, layout, leave_out);
        let (mut sorters, mut sorted_from) = (Vec::new(), Vec::new());
        let mut searched_from = Vec::new();
        let mut leave_out = leave_out.to_vec();
        for group in &whole.searched {
            let plain = whole.is_plain(group).then(|| whole.sorter(group)).flatten();
            if let Some(sorter) = plain {
                sorters.push(sorter);
                sorted_from.push(group.first);
                leave_out.push(group.ty);
            } else {
                searched_from.push(group.first);
            }
        }
        if sorters.is_empty() {
            return whole;
        }
        let others = Symmetries::without_sorting(program, layout, &leave_out);
        Symmetries { groups: whole.groups, sorters, sorted_from, searched_from, ..others }
    }

    /// The same permutations, with CMurphi's normal form for what stands for an orbit.
    pub fn with_normal_form(
        program: &Program,
        layout: &Layout,
        leave_out: &[TypeId],
    ) -> Symmetries {
        let normal = Some(Arc::new(NormalForm::new(program, layout, leave_out)));
        Symmetries { normal, ..Symmetries::new(program, layout, leave_out) }
    }

    /// The same permutations, with the general algorithm for all groups: for tests.
    #[doc(hidden)]
    pub fn without_sorting(program: &Program, layout: &Layout, leave_out: &[TypeId]) -> Symmetries {
        let groups = groups(program, leave_out);
        let points = groups.last().map_or(0, |group| group.first + group.count) as usize;
        let words = layout.shape().words;
        let plan = Symmetries {
            groups: groups.clone(),
            sorters: Vec::new(),
            sorted_from: Vec::new(),
            searched_from: groups.iter().map(|group| group.first).collect(),
            points,
            words,
            fixed: vec![u64::MAX; words],
            zero: vec![0; words],
            chunks: Vec::new(),
            steps: Vec::new(),
            fields: Vec::new(),
            multisets: Vec::new(),
            ends: Vec::new(),
            first_in: Vec::new(),
            holders: Vec::new(),
            colours: (0..points as u64).map(|i| scramble(i + 1)).collect(),
            hash_bits: u64::MAX,
            first_of: groups.iter().flat_map(|g| (0..g.count).map(|_| g.first)).collect(),
            searched: groups,
            normal: None,
        };
        let mut cutter = Cutter { program, layout, plan, path: Vec::new(), open: None };
        if cutter.plan.points > 0 {
            for id in layout.globals_in_order() {
                cutter.value(program.globals[id.0 as usize].ty, layout.global(id), None);
            }
            cutter.close();
        }
        cutter.plan.finish(layout);
        cutter.plan
    }

    /// Makes canonising faster for states that have much in common with this one (an initial state,
    /// say). Changes which member of an orbit is the canonical one, so it is done once, before the
    /// first state is canonised.
    pub fn tune(&mut self, typical: &[u64]) {
        // Chunks that are images of each other get the plain data of the first of them. Multisets
        // are sorted by all their bits and stay as they are.
        let mut kinds: HashMap<u32, u64> = HashMap::new();
        self.zero.fill(0);
        for chunk in self.chunks.iter().filter(|chunk| !chunk.in_slot) {
            let points = self.point_fields(chunk).iter();
            let taken = points.fold(0, |taken, field| taken | (field.mask << field.shift));
            let plain = bits::read(typical, chunk.at as usize, chunk.width) & !taken;
            let plain = *kinds.entry(chunk.origin).or_insert(plain);
            bits::write(&mut self.zero, chunk.at as usize, chunk.width, plain);
        }
    }

    /// Uses only some bits of each hash: for tests, which show that nothing but time depends on them.
    #[doc(hidden)]
    pub fn weaken_hashes(&mut self, bits: u64) {
        self.hash_bits = bits;
    }

    /// The groups whose product is factored out.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// How many points they have together.
    pub fn all_points(&self) -> usize {
        self.groups.last().map_or(0, |group| (group.first + group.count) as usize)
    }

    /// How many of them are sorted.
    #[doc(hidden)]
    pub fn sorted_groups(&self) -> usize {
        self.sorters.len()
    }

    /// Whether there is nothing to permute.
    pub fn is_trivial(&self) -> bool {
        self.groups.is_empty()
    }

    /// Whether an orbit has several members that may stand for it.
    pub fn splits_orbits(&self) -> bool {
        self.normal.is_some()
    }

    /// Whether there are groups that need more than sorting.
    pub(crate) fn has_others(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// How many permutations there are, as a floating-point number.
    pub fn order(&self) -> f64 {
        self.groups.iter().flat_map(|group| 1..=group.count).map(f64::from).product()
    }

    pub(crate) fn group_of(&self, point: u32) -> usize {
        self.searched.partition_point(|group| group.first + group.count <= point)
    }

    pub(crate) fn path(&self, range: (u32, u32)) -> &[PathStep] {
        &self.steps[range.0 as usize..range.1 as usize]
    }

    pub(crate) fn point_fields(&self, chunk: &Chunk) -> &[PointField] {
        &self.fields[chunk.fields.0 as usize..chunk.fields.1 as usize]
    }

    /// What follows from the chunks.
    fn finish(&mut self, layout: &Layout) {
        for i in 0..self.chunks.len() {
            let chunk = &self.chunks[i];
            bits::zero(&mut self.fixed, chunk.at as usize, chunk.width as usize);
            let steps = self.path(chunk.path).iter().map(|step| step.point);
            let fields = self.point_fields(chunk).iter().map(|field| field.first);
            let points = steps.chain(fields);
            let groups = points.fold(0, |set, point| set | group_bit(self.group_of(point)));
            if chunk.guard != NEVER {
                self.holders.push(i as u32);
            }
            self.ends.push(chunk.at + chunk.width);
            self.chunks[i].groups = groups;
        }
        let first =
            |word: usize| self.ends.partition_point(|end| *end as usize <= word * 64) as u32;
        self.first_in = (0..self.words).map(first).collect();
        for multiset in layout.multisets() {
            let end = multiset.at + multiset.capacity as usize * multiset.stride;
            let from = self.chunks.partition_point(|chunk| (chunk.at as usize) < multiset.at);
            let to = self.chunks.partition_point(|chunk| (chunk.at as usize) < end);
            let depth = self.depth_at(multiset.at);
            let inside = &mut self.chunks[from..to];
            let disturbs = |chunk: &Chunk| {
                chunk.path.1 - chunk.path.0 > depth || chunk.fields.0 < chunk.fields.1
            };
            if inside.iter().any(disturbs) {
                inside.iter_mut().for_each(|chunk| chunk.sorted = true);
                self.multisets.push(*multiset);
            }
        }
    }

    /// Length of the path of the chunk that starts at a bit (a multiset starts with a presence bit).
    fn depth_at(&self, at: usize) -> u32 {
        let i = self.chunks.partition_point(|chunk| (chunk.at + chunk.width) as usize <= at);
        match self.chunks.get(i) {
            Some(chunk) if chunk.at as usize <= at => chunk.path.1 - chunk.path.0,
            _ => 0,
        }
    }
}

/// The scalarsets of a program with more than one value. Types with the same codes are one group.
fn groups(program: &Program, leave_out: &[TypeId]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let codes_of = |ty: &TypeId| match &program.types[ty.0 as usize] {
        Type::Scalar(scalar) => scalar.intervals[0],
        _ => (0, -1),
    };
    let left_out: Vec<(i64, i64)> = leave_out.iter().map(codes_of).collect();
    let mut first = 0;
    for (i, ty) in program.types.iter().enumerate() {
        let Type::Scalar(scalar) = ty else { continue };
        let codes = scalar.intervals[0];
        let known = groups.iter().any(|group| group.codes == codes) || left_out.contains(&codes);
        if !is_group(scalar) || known {
            continue;
        }
        let count = scalar.count() as u32;
        groups.push(Group { ty: TypeId(i as u32), codes, first, count });
        first += count;
    }
    groups
}

/// Whether a type is a scalarset with something to permute. Absurdly large ones are left alone.
pub(crate) fn is_group(scalar: &ScalarType) -> bool {
    matches!(scalar.kind, ScalarKind::Scalarset { .. }) && (2..=1 << 12).contains(&scalar.count())
}

/// The codes of all scalarsets in a scalar type.
pub(crate) fn member_codes(types: &[Type], scalar: &ScalarType) -> Vec<(i64, i64)> {
    match &scalar.kind {
        ScalarKind::Scalarset { .. } => vec![scalar.intervals[0]],
        ScalarKind::Union { members } => members
            .iter()
            .filter_map(|member| match &types[member.0 as usize] {
                Type::Scalar(member) if is_group(member) => Some(member.intervals[0]),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// A 64-bit number without visible structure.
pub(crate) fn scramble(x: u64) -> u64 {
    let x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Cuts the state into chunks.
struct Cutter<'a> {
    program: &'a Program,
    layout: &'a Layout,
    plan: Symmetries,
    path: Vec<PathStep>,
    /// The chunk being made, and the slot that it lies in.
    open: Option<(Chunk, Option<Slot>)>,
}

/// A slot of a multiset.
#[derive(Clone, Copy, PartialEq)]
struct Slot {
    /// Its presence bit.
    at: u32,
    /// How far it is from slot zero, slots around it included.
    offset: u32,
}

impl Cutter<'_> {
    /// Cuts a value of a type at a bit. Chunks come in the order in which they lie.
    fn value(&mut self, ty: TypeId, at: usize, slot: Option<Slot>) {
        match &self.program.types[ty.0 as usize] {
            Type::Scalar(scalar) => self.scalar(scalar, at, slot),
            Type::Real { .. } => self.leaf(at, 64, slot, &[]),
            Type::Record { fields, .. } => {
                for i in self.layout.fields_in_order(ty) {
                    let field = &fields[i as usize];
                    self.value(field.ty, at + self.layout.field(ty, i), slot);
                }
            }
            Type::Array { index, elem } => self.array(ty, *index, *elem, at, slot),
            Type::Multiset { capacity, elem } => {
                let stride = self.layout.stride(ty);
                let inside = self.layout.slot_element(ty, &self.program.types);
                let around = slot.map_or(0, |slot| slot.offset);
                for i in 0..*capacity as usize {
                    let at = at + i * stride;
                    let offset = around + (i * stride) as u32;
                    let slot = Some(Slot { at: at as u32, offset });
                    self.leaf(at, 1, slot, &[]);
                    self.value(*elem, at + inside, slot);
                }
            }
        }
    }

    fn array(&mut self, ty: TypeId, index: TypeId, elem: TypeId, at: usize, slot: Option<Slot>) {
        let Type::Scalar(index) = &self.program.types[index.0 as usize] else { return };
        let stride = self.layout.stride(ty);
        for ordinal in 0..index.count() {
            let code = index.code(ordinal).unwrap_or_default();
            let point = self.point(index, code);
            if let Some(point) = point {
                self.path.push(PathStep { point, stride: stride as u32 });
            }
            self.value(elem, at + ordinal as usize * stride, slot);
            if point.is_some() {
                self.path.pop();
            }
        }
    }

    /// The point with a code, if the type has it as a member of a group.
    fn point(&self, scalar: &ScalarType, code: i64) -> Option<u32> {
        let members = member_codes(&self.program.types, scalar);
        let holds = |group: &&Group| {
            members.contains(&group.codes) && (group.codes.0..=group.codes.1).contains(&code)
        };
        let group = self.plan.searched.iter().find(holds)?;
        Some(group.first + (code - group.codes.0) as u32)
    }

    fn scalar(&mut self, scalar: &ScalarType, at: usize, slot: Option<Slot>) {
        let members = member_codes(&self.program.types, scalar);
        let field = |group: &Group| PointField {
            shift: 0,
            mask: bits::mask(scalar.bits()),
            low: scalar.encode(group.codes.0).unwrap_or_default(),
            count: u64::from(group.count),
            first: group.first,
        };
        let held = self.plan.searched.iter().filter(|group| members.contains(&group.codes));
        let fields: Vec<PointField> = held.map(field).collect();
        self.leaf(at, scalar.bits(), slot, &fields);
    }

    /// Adds a field to the open chunk, or opens another.
    fn leaf(&mut self, at: usize, width: u32, slot: Option<Slot>, fields: &[PointField]) {
        if width == 0 {
            return; // one value only, so no point either
        }
        let fits = self.open.as_ref().is_some_and(|(chunk, open_slot)| {
            (chunk.at + chunk.width) as usize == at
                && chunk.width + width <= 64
                && *open_slot == slot
                && self.plan.path(chunk.path) == self.path.as_slice()
        });
        if !fits {
            self.close();
            self.open(at as u32, slot);
        }
        let Some((chunk, _)) = &mut self.open else { return };
        let shift = at as u32 - chunk.at;
        chunk.width += width;
        self.plan.fields.extend(fields.iter().map(|field| PointField { shift, ..*field }));
        chunk.fields.1 = self.plan.fields.len() as u32;
        if fields.iter().any(|field| field.low == 0) && chunk.guard == NEVER {
            chunk.guard = match slot {
                None => ALWAYS,
                Some(slot) => slot.at,
            };
        }
    }

    fn open(&mut self, at: u32, slot: Option<Slot>) {
        let plan = &mut self.plan;
        let start = plan.steps.len() as u32;
        plan.steps.extend_from_slice(&self.path);
        let origin = at - plan.offset(&self.path);
        let fields = plan.fields.len() as u32;
        let chunk = Chunk {
            at,
            origin,
            width: 0,
            path: (start, plan.steps.len() as u32),
            fields: (fields, fields),
            guard: NEVER,
            groups: 0,
            in_slot: slot.is_some(),
            sorted: false,
            seed: seed(&self.path, origin - slot.map_or(0, |slot| slot.offset)),
        };
        self.open = Some((chunk, slot));
    }

    /// Keeps the open chunk, if permutations touch it.
    fn close(&mut self) {
        if let Some((chunk, _)) = self.open.take()
            && (chunk.path.0 < chunk.path.1 || chunk.fields.0 < chunk.fields.1)
        {
            self.plan.chunks.push(chunk);
        }
    }
}

impl Symmetries {
    /// How far a path leads from the place with all indices zero.
    fn offset(&self, path: &[PathStep]) -> u32 {
        let local = |point: u32| point - self.first_of[point as usize];
        path.iter().map(|step| step.stride * local(step.point)).sum()
    }
}

/// The colour of a chunk: where it is, and which indices of its path are equal.
fn seed(path: &[PathStep], origin: u32) -> u64 {
    let mut seed = scramble(u64::from(origin) + (1 << 40));
    for (i, a) in path.iter().enumerate() {
        for (j, b) in path[..i].iter().enumerate() {
            if a.point == b.point {
                seed = scramble(seed ^ (i * 64 + j + 1) as u64);
            }
        }
    }
    seed
}
