//! States that colour refinement cannot take apart, and states with nothing to take apart.

mod common;

use common::{Maker, Random, Value, encode, permute, random_perm};
use ergodic_ir::{Layout, Program};
use ergodic_symmetry::Symmetries;
use std::collections::HashSet;

/// A graph on the values of one scalarset, as a matrix of truth values.
fn matrix(n: i64) -> Program {
    let mut maker = Maker::default();
    let set = maker.scalarset(0, n, true);
    let boolean = maker.boolean();
    let row = maker.array(set, boolean);
    let rows = maker.array(set, row);
    maker.global(rows);
    maker.program
}

fn graph(n: usize, edge: impl Fn(usize, usize) -> bool) -> Vec<Value> {
    let bit = |i, j| Value::Scalar(Some(i64::from(edge(i, j) || edge(j, i))));
    let row = |i| Value::Parts((0..n).map(|j| bit(i, j)).collect());
    vec![Value::Parts((0..n).map(row).collect())]
}

/// Canonical forms of random images of a state; there should be one.
fn forms(program: &Program, values: &[Value], images: usize) -> HashSet<Vec<u64>> {
    let layout = Layout::new(program);
    let symmetries = Symmetries::new(program, &layout, &[]);
    let mut scratch = symmetries.scratch();
    let mut random = Random(99);
    let image = |_| {
        let perm = random_perm(program, &mut random);
        let mut state = encode(program, &layout, &permute(program, &perm, values));
        symmetries.canonise(&mut scratch, &mut state);
        state
    };
    (0..images).map(image).collect()
}

#[test]
fn regular_graphs_on_six_and_eight_points() {
    // Two triangles and a hexagon; the cube, a Moebius ladder, two tetrahedra.
    let near = |n: usize, d: usize| move |i: usize, j: usize| (i + d) % n == j;
    let six = matrix(6);
    let triangles = graph(6, |i, j| i / 3 == j / 3 && i != j);
    let hexagon = graph(6, near(6, 1));
    let prism = graph(6, |i, j| i / 3 == j / 3 && i != j || i + 3 == j);
    let bipartite = graph(6, |i, j| i % 2 != j % 2);
    let mut all = HashSet::new();
    for values in [&triangles, &hexagon, &prism, &bipartite] {
        let found = forms(&six, values, 60);
        assert_eq!(found.len(), 1);
        all.extend(found);
    }
    assert_eq!(all.len(), 4);
    let eight = matrix(8);
    let cube = graph(8, |i, j| (i ^ j).is_power_of_two());
    let ladder = graph(8, |i, j| near(8, 1)(i, j) || near(8, 4)(i, j));
    let tetrahedra = graph(8, |i, j| i / 4 == j / 4 && i != j);
    let mut all = HashSet::new();
    for values in [&cube, &ladder, &tetrahedra] {
        let found = forms(&eight, values, 40);
        assert_eq!(found.len(), 1);
        all.extend(found);
    }
    assert_eq!(all.len(), 3);
}

#[test]
fn graphs_are_counted_up_to_isomorphism() {
    // Undirected graphs on n unlabelled nodes (OEIS A000088).
    for (n, count) in [(3usize, 4usize), (4, 11), (5, 34), (6, 156)] {
        let program = matrix(n as i64);
        let layout = Layout::new(&program);
        let symmetries = Symmetries::new(&program, &layout, &[]);
        let mut scratch = symmetries.scratch();
        let pairs: Vec<(usize, usize)> = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
        let mut found = HashSet::new();
        for edges in 0..1u32 << pairs.len() {
            let has =
                |i, j| pairs.iter().position(|p| *p == (i, j)).is_some_and(|k| edges >> k & 1 == 1);
            let mut state = encode(&program, &layout, &graph(n, has));
            symmetries.canonise(&mut scratch, &mut state);
            found.insert(state);
        }
        assert_eq!(found.len(), count);
    }
}

#[test]
fn functional_graphs_are_counted_up_to_isomorphism() {
    // Maps from n points to themselves (OEIS A001372): linked rings among them.
    for (n, count) in [(2u32, 3usize), (3, 7), (4, 19), (5, 47), (6, 130)] {
        let mut maker = Maker::default();
        let set = maker.scalarset(0, i64::from(n), true);
        let next = maker.array(set, set);
        maker.global(next);
        let program = maker.program;
        let layout = Layout::new(&program);
        let symmetries = Symmetries::new(&program, &layout, &[]);
        let mut scratch = symmetries.scratch();
        let mut found = HashSet::new();
        for map in 0..n.pow(n) {
            let to = |i: u32| Value::Scalar(Some(1000 + i64::from(map / n.pow(i) % n)));
            let values = [Value::Parts((0..n).map(to).collect())];
            let mut state = encode(&program, &layout, &values);
            symmetries.canonise(&mut scratch, &mut state);
            found.insert(state);
        }
        assert_eq!(found.len(), count);
    }
}

#[test]
fn large_symmetric_states_are_quick() {
    // 40 values: nothing known of them, one ring, many small rings.
    let mut maker = Maker::default();
    let set = maker.scalarset(0, 40, true);
    let next = maker.array(set, set);
    maker.global(next);
    let program = maker.program;
    let ring = |size: i64| {
        let to = |i: i64| Value::Scalar(Some(1000 + i / size * size + (i + 1) % size));
        vec![Value::Parts((0..40).map(to).collect())]
    };
    let nothing = vec![Value::Parts(vec![Value::Scalar(None); 40])];
    for values in [nothing, ring(40), ring(2), ring(4), ring(1)] {
        assert_eq!(forms(&program, &values, 20).len(), 1);
    }
    // Strongly regular: the Petersen graph, and a graph that is regular and has no symmetry at all.
    let ten = matrix(10);
    let petersen = graph(10, |i, j| match (i < 5, j < 5) {
        (true, true) => (i + 1) % 5 == j,
        (false, false) => (i - 5 + 2) % 5 == j - 5,
        _ => i + 5 == j,
    });
    assert_eq!(forms(&ten, &petersen, 30).len(), 1);
    let frucht = [
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 4),
        (4, 5),
        (5, 6),
        (6, 0),
        (0, 7),
        (1, 7),
        (2, 8),
        (3, 9),
        (4, 9),
        (5, 10),
        (6, 10),
        (7, 11),
        (8, 11),
        (8, 9),
        (10, 11),
    ];
    let twelve = matrix(12);
    let values = graph(12, |i, j| frucht.contains(&(i, j)));
    assert_eq!(forms(&twelve, &values, 30).len(), 1);
}
