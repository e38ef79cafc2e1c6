//! Canonical forms against all permutations of all values, on random types and states.

mod common;

use common::{
    Maker, Random, Value, all_perms, decode, encode, least, permute, random_perm, scalar,
};
use ergodic_ir::{Layout, Program, Type, TypeId};
use ergodic_symmetry::{CanonScratch, Symmetries};
use std::collections::{HashMap, HashSet};

/// Random types over some scalarsets.
struct Types<'a> {
    maker: Maker,
    random: &'a mut Random,
    sets: Vec<TypeId>,
    scalars: Vec<TypeId>,
    indices: Vec<TypeId>,
}

impl Types<'_> {
    fn new<'a>(random: &'a mut Random, sizes: &[i64]) -> Types<'a> {
        let mut maker = Maker::default();
        let mut sets = Vec::new();
        let mut indices = Vec::new();
        let mut scalars = Vec::new();
        for (i, size) in sizes.iter().enumerate() {
            let set = maker.scalarset(i as i64, *size, true);
            sets.push(set);
            indices.push(set);
            scalars.push(set);
            if random.chance(40) {
                // Never undefined: zero bits mean the first value.
                scalars.push(maker.scalarset(i as i64, *size, false));
            }
        }
        let lone = maker.scalarset(7, 1, true);
        let range = maker.range(0, 2);
        let boolean = maker.boolean();
        scalars.extend([range, boolean, boolean]);
        indices.push(boolean);
        for (a, b) in [(0, sets.len() - 1), (0, 0)] {
            let members = if a == b { vec![lone, sets[a]] } else { vec![sets[b], lone, sets[a]] };
            let undefinable = random.chance(70);
            let union = maker.union(&members, undefinable);
            scalars.push(union);
            indices.push(union);
        }
        Types { maker, random, sets, scalars, indices }
    }

    fn pick(random: &mut Random, list: &[TypeId]) -> TypeId {
        list[random.below(list.len() as u64) as usize]
    }

    /// A type without points: rows of these make a scalarset plain, to be sorted by its rows.
    fn data(&mut self, depth: u64) -> TypeId {
        match self.random.below(if depth == 0 { 3 } else { 8 }) {
            0 => self.maker.range(0, 2),
            1 | 2 => self.maker.boolean(),
            3 => self.maker.ty(Type::Real { digits: 5, exponent: 9 }),
            4 => {
                let (index, elem) = (self.maker.boolean(), self.data(depth - 1));
                self.maker.array(index, elem)
            }
            5 => {
                let (capacity, elem) = (self.random.below(3) as u32 + 1, self.data(depth - 1));
                self.maker.multiset(capacity, elem)
            }
            _ => {
                let count = self.random.below(3) + 1;
                let fields: Vec<TypeId> = (0..count).map(|_| self.data(depth - 1)).collect();
                self.maker.record(&fields)
            }
        }
    }

    /// A type in which points stand by themselves: as values, or as indices of rows of data.
    fn plain(&mut self, depth: u64) -> TypeId {
        match self.random.below(if depth == 0 { 2 } else { 6 }) {
            0 => Self::pick(self.random, &self.scalars),
            1 | 2 => {
                let elem = self.data(2);
                let index = Self::pick(self.random, &self.indices);
                self.maker.array(index, elem)
            }
            3 => {
                let (index, elem) = (self.maker.range(0, 3), self.plain(depth - 1));
                self.maker.array(index, elem)
            }
            _ => {
                let count = self.random.below(3) + 1;
                let fields: Vec<TypeId> = (0..count).map(|_| self.plain(depth - 1)).collect();
                self.maker.record(&fields)
            }
        }
    }

    fn any(&mut self, depth: u64) -> TypeId {
        if depth == 0 || self.random.chance(25) {
            if self.random.chance(4) {
                return self.maker.ty(Type::Real { digits: 5, exponent: 9 });
            }
            return Self::pick(self.random, &self.scalars);
        }
        match self.random.below(5) {
            0 | 1 => {
                let elem = self.any(depth - 1);
                let index = Self::pick(self.random, &self.indices);
                self.maker.array(index, elem)
            }
            2 => {
                let count = self.random.below(3) + 1;
                let fields: Vec<TypeId> = (0..count).map(|_| self.any(depth - 1)).collect();
                self.maker.record(&fields)
            }
            3 => {
                let elem = self.any(depth - 1);
                let capacity = self.random.below(3) as u32 + 1;
                self.maker.multiset(capacity, elem)
            }
            _ => {
                let set = Self::pick(self.random, &self.sets);
                let elem = self.any(depth - 1);
                self.maker.array(set, elem)
            }
        }
    }
}

/// What the types of a random program are made of.
#[derive(Clone, Copy, PartialEq)]
enum Mixture {
    Anything,
    Plain,
    Both,
}

fn random_program(random: &mut Random, sizes: &[i64], mixture: Mixture) -> Program {
    loop {
        let globals = random.below(3) + 1;
        let mut types = Types::new(random, sizes);
        for _ in 0..globals {
            let plain =
                mixture == Mixture::Plain || mixture == Mixture::Both && types.random.chance(50);
            let ty = if plain { types.plain(2) } else { types.any(3) };
            types.maker.global(ty);
        }
        let program = types.maker.program;
        if Layout::new(&program).shape().bits < 1500 {
            return program;
        }
    }
}

/// A random value; `bias` is the chance of the first value of a type, which makes for symmetry.
fn random_value(program: &Program, ty: TypeId, bias: u64, random: &mut Random) -> Value {
    match &program.types[ty.0 as usize] {
        Type::Scalar(scalar) => {
            if scalar.undefinable && random.chance(bias / 2) {
                return Value::Scalar(None);
            }
            let plain = scalar.kind == ergodic_ir::ScalarKind::Bool;
            let ordinal = match plain && random.chance(bias) {
                true => 0,
                false => random.below(scalar.count()),
            };
            Value::Scalar(scalar.code(ordinal))
        }
        Type::Real { .. } => Value::Real(random.below(2)),
        Type::Record { fields, .. } => {
            Value::Parts(fields.iter().map(|f| random_value(program, f.ty, bias, random)).collect())
        }
        Type::Array { index, elem } => {
            let count = scalar(program, *index).count();
            Value::Parts((0..count).map(|_| random_value(program, *elem, bias, random)).collect())
        }
        Type::Multiset { capacity, elem } => {
            let count = random.below(u64::from(*capacity) + 1);
            let mut bag: Vec<Value> =
                (0..count).map(|_| random_value(program, *elem, bias, random)).collect();
            bag.sort();
            Value::Bag(bag)
        }
    }
}

/// Checks random states of one program.
fn check(program: &Program, random: &mut Random, states: usize, hash_bits: u64) {
    let layout = Layout::new(program);
    let symmetries = match random.chance(80) {
        true => Symmetries::new(program, &layout, &[]),
        false => Symmetries::without_sorting(program, &layout, &[]),
    };
    check_symmetries(program, symmetries, random, states, hash_bits);
}

fn check_symmetries(
    program: &Program,
    mut symmetries: Symmetries,
    random: &mut Random,
    states: usize,
    hash_bits: u64,
) {
    let layout = Layout::new(program);
    symmetries.weaken_hashes(hash_bits);
    if random.chance(50) {
        let globals = program.globals.iter();
        let values: Vec<Value> = globals.map(|g| random_value(program, g.ty, 50, random)).collect();
        symmetries.tune(&encode(program, &layout, &values));
    }
    let mut scratch = symmetries.scratch();
    let perms = all_perms(program);
    let mut canon_of: HashMap<Vec<Value>, Vec<u64>> = HashMap::new();
    let mut orbit_of: HashMap<Vec<u64>, Vec<Value>> = HashMap::new();
    for _ in 0..states {
        let bias = [0, 50, 90, 98][random.below(4) as usize];
        let globals = program.globals.iter();
        let values: Vec<Value> =
            globals.map(|g| random_value(program, g.ty, bias, random)).collect();
        let orbit = least(program, &perms, &values);
        for image in 0..4 {
            let perm = random_perm(program, random);
            let moved = if image == 0 { values.clone() } else { permute(program, &perm, &values) };
            let mut canon = encode(program, &layout, &moved);
            assert_eq!(decode(program, &layout, &canon), moved);
            symmetries.canonise(&mut scratch, &mut canon);
            check_permutation(program, &symmetries, Symmetries::canonise_by, &moved, &canon);
            let seen = canon_of.entry(orbit.clone()).or_insert_with(|| canon.clone());
            assert_eq!(*seen, canon, "one orbit, two forms: {values:?} of {program:?}");
            let seen = orbit_of.entry(canon.clone()).or_insert_with(|| orbit.clone());
            assert_eq!(*seen, orbit, "two orbits, one form: {values:?} of {program:?}");
            let back = decode(program, &layout, &canon);
            assert_eq!(encode(program, &layout, &back), canon, "a well-formed state");
            assert_eq!(least(program, &perms, &back), orbit, "a member of the orbit");
            let mut again = canon.clone();
            symmetries.canonise(&mut scratch, &mut again);
            assert_eq!(again, canon, "idempotent");
        }
    }
}

/// A form of a state, and the permutation that leads to it.
type By = fn(&Symmetries, &mut CanonScratch, &mut [u64], &mut Vec<u16>);

/// The permutation that is told leads from a state to its form.
fn check_permutation(
    program: &Program,
    symmetries: &Symmetries,
    by: By,
    from: &[Value],
    canon: &[u64],
) {
    let layout = Layout::new(program);
    let (mut state, mut to) = (encode(program, &layout, from), vec![7; 3]);
    by(symmetries, &mut symmetries.scratch(), &mut state, &mut to);
    assert_eq!(state, canon, "the same form");
    let mut rest = to.as_slice();
    let mut perm = Vec::new();
    for group in symmetries.groups() {
        let (own, others) = rest.split_at(group.count as usize);
        perm.push((group.codes, own.iter().map(|place| usize::from(*place)).collect()));
        rest = others;
    }
    assert!(rest.is_empty());
    let image = permute(program, &perm, from);
    assert_eq!(encode(program, &layout, &image), canon, "{to:?} of {from:?} in {program:?}");
}

fn check_sizes(seed: u64, sizes: &[i64], programs: usize, states: usize) {
    let mut random = Random(seed);
    for _ in 0..programs {
        let program = random_program(&mut random, sizes, Mixture::Anything);
        check(&program, &mut random, states, u64::MAX);
    }
}

#[test]
fn colliding_hashes_cost_nothing_but_time() {
    let mut random = Random(11);
    for hash_bits in [0, 1, 0b11] {
        for sizes in [&[3][..], &[4], &[5], &[2, 3], &[3, 3], &[2, 3, 2]] {
            for _ in 0..25 {
                let program = random_program(&mut random, sizes, Mixture::Anything);
                check(&program, &mut random, 6, hash_bits);
            }
        }
    }
}

#[test]
fn one_group() {
    check_sizes(1, &[2], 150, 25);
    check_sizes(2, &[3], 150, 25);
    check_sizes(3, &[4], 80, 20);
    check_sizes(4, &[5], 25, 10);
}

#[test]
fn several_groups() {
    check_sizes(5, &[2, 2], 150, 20);
    check_sizes(6, &[3, 2], 150, 20);
    check_sizes(7, &[3, 3], 60, 15);
    check_sizes(8, &[4, 3], 20, 10);
    check_sizes(9, &[2, 3, 2], 60, 15);
    check_sizes(10, &[3, 3, 2], 30, 10);
}

#[test]
fn plain_groups_are_sorted() {
    let mut random = Random(12);
    let (mut sorted, mut groups) = (0, 0);
    for sizes in [&[2][..], &[3], &[4], &[5], &[2, 3], &[3, 3], &[2, 3, 2], &[3, 2, 3]] {
        for _ in 0..40 {
            let program = random_program(&mut random, sizes, Mixture::Plain);
            let symmetries = Symmetries::new(&program, &Layout::new(&program), &[]);
            sorted += symmetries.sorted_groups();
            groups += sizes.len();
            check_symmetries(&program, symmetries, &mut random, 10, u64::MAX);
        }
    }
    assert!(sorted * 100 > groups * 97, "{sorted} of {groups}: all but those with long keys");
}

#[test]
fn plain_groups_stand_beside_others() {
    let mut random = Random(13);
    let mut mixed = 0;
    for sizes in [&[2, 2][..], &[2, 3], &[3, 3], &[4, 2], &[2, 3, 2]] {
        for _ in 0..60 {
            let program = random_program(&mut random, sizes, Mixture::Both);
            let symmetries = Symmetries::new(&program, &Layout::new(&program), &[]);
            mixed += usize::from((1..sizes.len()).contains(&symmetries.sorted_groups()));
            check_symmetries(&program, symmetries, &mut random, 10, u64::MAX);
        }
    }
    assert!(mixed > 25, "{mixed}");
}

#[test]
fn points_that_involve_others_are_not_plain() {
    let sorted = |make: &dyn Fn(&mut Maker, [TypeId; 3]) -> TypeId| {
        let mut maker = Maker::default();
        let sets = [0, 1].map(|i| maker.scalarset(i, 3, true));
        let boolean = maker.boolean();
        let ty = make(&mut maker, [sets[0], sets[1], boolean]);
        maker.global(ty);
        let layout = Layout::new(&maker.program);
        Symmetries::new(&maker.program, &layout, &[]).sorted_groups()
    };
    // Two indices, pointers in rows, bags of points and of rows: neither or one of two groups.
    let nested = |m: &mut Maker, [a, b, data]: [TypeId; 3]| {
        let row = m.array(b, data);
        m.array(a, row)
    };
    assert_eq!(sorted(&nested), 0);
    assert_eq!(sorted(&|m, [a, b, _]| m.array(a, b)), 0);
    assert_eq!(sorted(&|m, [a, _, _]| m.array(a, a)), 1);
    assert_eq!(sorted(&|m, [a, _, _]| m.multiset(2, a)), 1);
    let bag = |m: &mut Maker, [a, _, data]: [TypeId; 3]| {
        let row = m.array(a, data);
        m.multiset(2, row)
    };
    assert_eq!(sorted(&bag), 1);
    let rows = |m: &mut Maker, [a, b, data]: [TypeId; 3]| {
        let bag = m.multiset(2, data);
        let (rows, union) = (m.array(a, bag), m.union(&[a, b], true));
        m.record(&[rows, union])
    };
    assert_eq!(sorted(&rows), 2);
}

/// Keys of one word and of several, rows within a word and beyond, few points and many.
#[test]
fn rows_of_all_sizes_are_sorted() {
    let mut random = Random(14);
    for (points, reals, holders, is_sorted) in
        [(9, 0, 10, true), (30, 0, 3, true), (12, 1, 20, true), (5, 3, 5, true)]
            .into_iter()
            .chain([(4, 7, 2, true), (3, 8, 2, false), (40, 1, 90, true), (70, 0, 0, true)])
    {
        let mut maker = Maker::default();
        let set = maker.scalarset(0, points, true);
        let (data, real) = (maker.range(0, 2), maker.ty(Type::Real { digits: 5, exponent: 9 }));
        let row = maker.record(&[vec![data], vec![real; reals], vec![data]].concat());
        let rows = maker.array(set, row);
        let index = maker.range(1, holders.max(1));
        let held = maker.array(index, set);
        maker.global(rows);
        maker.global(held);
        let program = maker.program;
        let layout = Layout::new(&program);
        let symmetries = Symmetries::new(&program, &layout, &[]);
        assert_eq!(symmetries.sorted_groups(), usize::from(is_sorted), "{points} {reals}");
        let mut scratch = symmetries.scratch();
        let mut forms = HashMap::new();
        for _ in 0..40 {
            let globals = program.globals.iter();
            let values: Vec<Value> =
                globals.map(|g| random_value(&program, g.ty, 50, &mut random)).collect();
            for _ in 0..3 {
                let perm = random_perm(&program, &mut random);
                let mut state = encode(&program, &layout, &permute(&program, &perm, &values));
                symmetries.canonise(&mut scratch, &mut state);
                let form = decode(&program, &layout, &state);
                assert_eq!(facts(&form), facts(&values), "a member of the orbit");
                let known = forms.entry(facts(&values)).or_insert_with(|| state.clone());
                assert_eq!(*known, state, "one orbit, one form");
            }
        }
    }
}

/// The rows of a state with the places that hold their points, sorted: the same for all of an orbit.
fn facts(values: &[Value]) -> Vec<(Value, Vec<usize>)> {
    let [Value::Parts(rows), Value::Parts(held)] = values else { panic!("rows and holders") };
    let held_at = |point: usize| {
        let code = Value::Scalar(Some(1000 + point as i64));
        held.iter().enumerate().filter(|(_, v)| **v == code).map(|(i, _)| i).collect()
    };
    let mut facts: Vec<(Value, Vec<usize>)> =
        rows.iter().enumerate().map(|(i, row)| (row.clone(), held_at(i))).collect();
    facts.sort();
    facts
}

#[test]
fn a_left_out_type_is_not_permuted() {
    let mut maker = Maker::default();
    let (a, b) = (maker.scalarset(0, 2, true), maker.scalarset(1, 2, true));
    maker.global(a);
    maker.global(b);
    let program = maker.program;
    let layout = Layout::new(&program);
    let symmetries = Symmetries::new(&program, &layout, &[a]);
    assert_eq!(symmetries.groups().len(), 1);
    assert_eq!(symmetries.groups()[0].ty, b);
    let mut scratch = symmetries.scratch();
    let mut forms = std::collections::HashSet::new();
    for x in 1000..1002 {
        for y in 2000..2002 {
            let values = [Value::Scalar(Some(x)), Value::Scalar(Some(y))];
            let mut state = encode(&program, &layout, &values);
            symmetries.canonise(&mut scratch, &mut state);
            forms.insert(state);
        }
    }
    assert_eq!(forms.len(), 2);
}

#[test]
fn normal_forms_are_members_of_the_orbit() {
    let mut random = Random(14);
    let (mut forms, mut orbits) = (0, 0);
    for sizes in [&[2][..], &[3], &[4], &[2, 3], &[3, 3], &[2, 3, 2]] {
        for _ in 0..60 {
            let program = random_program(&mut random, sizes, Mixture::Anything);
            let (found, of) = check_normal_forms(&program, &mut random);
            forms += found;
            orbits += of;
        }
    }
    assert!(orbits < forms && forms < 3 * orbits, "{forms} normal forms of {orbits} orbits");
}

/// Checks random states of a program. Returns how many normal forms they have, and how many orbits.
fn check_normal_forms(program: &Program, random: &mut Random) -> (usize, usize) {
    let layout = Layout::new(program);
    let symmetries = Symmetries::with_normal_form(program, &layout, &[]);
    assert!(symmetries.splits_orbits());
    let mut scratch = symmetries.scratch();
    let (mut forms, mut orbits) = (HashSet::new(), HashSet::new());
    for _ in 0..12 {
        let bias = [0, 50, 90, 98][random.below(4) as usize];
        let globals = program.globals.iter();
        let values: Vec<Value> =
            globals.map(|g| random_value(program, g.ty, bias, random)).collect();
        for _ in 0..3 {
            let moved = permute(program, &random_perm(program, random), &values);
            let (mut normal, mut canon) = (encode(program, &layout, &moved), Vec::new());
            canon.clone_from(&normal);
            symmetries.represent(&mut scratch, &mut normal);
            check_permutation(program, &symmetries, Symmetries::represent_by, &moved, &normal);
            symmetries.canonise(&mut scratch, &mut canon);
            let mut of_normal = normal.clone();
            symmetries.canonise(&mut scratch, &mut of_normal);
            assert_eq!(of_normal, canon, "a member of the orbit of {moved:?} in {program:?}");
            forms.insert(normal);
            orbits.insert(canon);
        }
    }
    (forms.len(), orbits.len())
}
