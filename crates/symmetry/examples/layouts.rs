//! What canonising costs for typical layouts, without any model:
//! `cargo run --release -p ergodic-symmetry --example layouts`.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Maker, Random, Value, encode, scalar};
use ergodic_ir::{Layout, Program, ScalarKind, Type, TypeId};
use ergodic_symmetry::Symmetries;
use std::time::Instant;

fn main() {
    for (name, program) in [
        ("directory, 4 processors, 2 values", directory(4, 2, 2)),
        ("directory, 6 processors, 3 values", directory(6, 3, 2)),
        ("5 x 5 channels of 3 messages", channels(5)),
        ("multiset of 6 messages, 4 nodes", bag(4, 6)),
        ("linked list of 6 cells", list(6)),
        ("graph on 6 nodes", graph(6)),
    ] {
        // Few and many of the things in a state differ from the usual.
        for busy in [10, 40, 90] {
            measure(name, &program, busy);
        }
    }
}

/// Processors with a cache line per address, and a directory.
fn directory(processors: i64, values: i64, addresses: i64) -> Program {
    let mut m = Maker::default();
    let pid = m.scalarset(0, processors, true);
    let val = m.scalarset(1, values, true);
    let adr = m.scalarset(2, addresses, true);
    let status = m.range(0, 5);
    let line = m.record(&[status, val]);
    let lines = m.array(adr, line);
    let procs = m.array(pid, lines);
    let flag = m.boolean();
    let sharers = m.array(pid, flag);
    let entry = m.record(&[status, val, pid, sharers]);
    let entries = m.array(adr, entry);
    m.global(procs);
    m.global(entries);
    m.program
}

fn channels(n: i64) -> Program {
    let mut m = Maker::default();
    let pid = m.scalarset(0, n, true);
    let (kind, count, slot) = (m.range(0, 6), m.range(0, 3), m.range(0, 2));
    let message = m.record(&[kind, pid]);
    let messages = m.array(slot, message);
    let channel = m.record(&[count, messages]);
    let row = m.array(pid, channel);
    let net = m.array(pid, row);
    m.global(net);
    m.program
}

fn bag(n: i64, capacity: u32) -> Program {
    let mut m = Maker::default();
    let pid = m.scalarset(0, n, true);
    let kind = m.range(0, 12);
    let message = m.record(&[kind, pid, pid]);
    let net = m.multiset(capacity, message);
    let status = m.array(pid, kind);
    m.global(net);
    m.global(status);
    m.program
}

fn list(n: i64) -> Program {
    let mut m = Maker::default();
    let pid = m.scalarset(0, n, true);
    let kind = m.range(0, 3);
    let cell = m.record(&[kind, pid]);
    let cells = m.array(pid, cell);
    m.global(cells);
    m.global(pid);
    m.program
}

fn graph(n: i64) -> Program {
    let mut m = Maker::default();
    let pid = m.scalarset(0, n, true);
    let flag = m.boolean();
    let row = m.array(pid, flag);
    let rows = m.array(pid, row);
    m.global(rows);
    m.program
}

/// A random value: scalarset values are undefined and others first unless they are `busy`.
fn value(program: &Program, ty: TypeId, busy: u64, random: &mut Random) -> Value {
    let mut parts = |ty: TypeId, count: u64| {
        (0..count).map(|_| value(program, ty, busy, random)).collect::<Vec<_>>()
    };
    match &program.types[ty.0 as usize] {
        Type::Scalar(s) => {
            let ordinal = random.below(s.count());
            match (random.chance(busy), &s.kind) {
                (true, _) => Value::Scalar(s.code(ordinal)),
                (false, ScalarKind::Scalarset { .. }) => Value::Scalar(None),
                (false, _) => Value::Scalar(s.code(0)),
            }
        }
        Type::Real { .. } => Value::Real(0),
        Type::Record { fields, .. } => {
            Value::Parts(fields.iter().flat_map(|field| parts(field.ty, 1)).collect())
        }
        Type::Array { index, elem } => Value::Parts(parts(*elem, scalar(program, *index).count())),
        Type::Multiset { capacity, elem } => {
            let mut bag = parts(*elem, u64::from(*capacity) * busy / 100);
            bag.sort();
            Value::Bag(bag)
        }
    }
}

fn measure(name: &str, program: &Program, busy: u64) {
    const BLOCK: usize = 50;
    let layout = Layout::new(program);
    let mut random = Random(1);
    let mut state = |busy: u64| {
        let globals = program.globals.iter();
        let values: Vec<Value> = globals.map(|g| value(program, g.ty, busy, &mut random)).collect();
        encode(program, &layout, &values)
    };
    let mut symmetries = Symmetries::new(program, &layout, &[]);
    symmetries.tune(&state(0));
    let mut scratch = symmetries.scratch();
    let (mut total, mut count) = (0.0, 0);
    for _ in 0..40 {
        let states: Vec<Vec<u64>> = (0..BLOCK).map(|_| state(busy)).collect();
        let mut best = f64::MAX;
        for _ in 0..9 {
            let mut copy = states.clone();
            let start = Instant::now();
            copy.iter_mut().for_each(|state| symmetries.canonise(&mut scratch, state));
            best = best.min(start.elapsed().as_nanos() as f64);
        }
        total += best;
        count += BLOCK;
    }
    let bits = layout.shape().bits;
    println!("{name:36} {bits:5} bits, {busy:2}% busy: {:6.0} ns", total / f64::from(count as u32));
}
