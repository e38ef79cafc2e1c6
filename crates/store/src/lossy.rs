//! What every store that may lose or forget states must do, as functions to call from its tests.
//!
//! A lossy store never calls a state fresh twice; a forgetful one calls every state fresh at least
//! once. Both never do what the other may, and say in their losses what they may do.

use crate::universal::Random;
use ergodic_system::{Block, PAD_WORDS, Picks, Shape, Shared, Sole, Visited};
use std::collections::HashMap;
use std::sync::{Barrier, RwLock};

/// States of this shape, with many repeats and few differences, in blocks.
fn inputs(shape: Shape, seed: u64, spread: u64, blocks: usize) -> Vec<(Vec<u64>, usize)> {
    let mut random = Random::new(seed);
    (0..blocks)
        .map(|i| {
            let len = [0, 1, 7, 33, 500][i % 5];
            let mut words = vec![0; len * shape.words + PAD_WORDS];
            for state in words.chunks_exact_mut(shape.words).take(len) {
                let value = random.below(spread);
                state[(value % shape.words as u64) as usize] = value;
                let unused = shape.words * 64 - shape.bits;
                state[shape.words - 1] &= u64::MAX >> unused;
            }
            (words, len)
        })
        .collect()
}

/// How often each state was called fresh, of the states that were offered at least once.
fn calls<V: Visited>(store: &mut V, shape: Shape, spread: u64) -> HashMap<Vec<u64>, u64> {
    let (mut calls, mut fresh) = (HashMap::new(), vec![77]);
    for (words, len) in inputs(shape, spread, spread, 60) {
        let block = Block::new(&words, shape.words, len);
        store.offer(block, &mut fresh).expect("room");
        assert!(fresh.is_sorted_by(|a, b| a < b), "positions ascend");
        for i in 0..len {
            *calls.entry(block.state(i).to_vec()).or_insert(0) +=
                u64::from(fresh.binary_search(&(i as u32)).is_ok());
        }
    }
    assert_eq!(store.coverage().states, calls.values().sum::<u64>());
    calls
}

const SHAPES: [usize; 5] = [20, 64, 100, 320, 1000];

/// Checks a store that never forgets; `exact` if it is to lose nothing on some thousands of states.
pub(crate) fn lossy<V: Visited>(exact: bool, make: impl Fn(Shape) -> V) {
    for shape in SHAPES.map(Shape::of_bits) {
        for spread in [1, 50, 4000, 1 << 18] {
            let mut store = make(shape);
            let calls = calls(&mut store, shape, spread);
            assert!(calls.values().all(|count| *count <= 1), "a state was fresh twice");
            assert!(!exact || calls.values().all(|count| *count == 1), "a state was lost");
            let losses = store.losses();
            assert!(!losses.forgets && losses.omission > 0.0 || calls.len() < 60);
            assert!((0.0..=1.0).contains(&losses.omission));
            assert!((0.0..=1.0).contains(&losses.path_omission));
            assert!(losses.figures.iter().all(|figure| figure.value.is_finite()));
        }
    }
}

/// Checks a shared store as [`lossy`] does, and that what was offered is contained.
pub(crate) fn shared_lossy<V: Shared>(exact: bool, make: impl Fn(Shape) -> V) {
    for shape in SHAPES.map(Shape::of_bits) {
        for spread in [50, 1 << 18] {
            let mut store = make(shape);
            let mut sole = Sole::new(&mut store);
            let calls = calls(&mut sole, shape, spread);
            assert!(calls.values().all(|count| *count <= 1), "a state was fresh twice");
            assert!(!exact || calls.values().all(|count| *count == 1), "a state was lost");
            assert!(calls.keys().all(|state| sole.contains(state)));
        }
    }
}

/// Checks a store that forgets; `exact` if it is to take no state for another one.
pub(crate) fn forgetful<V: Visited>(exact: bool, make: impl Fn(Shape) -> V) {
    for shape in SHAPES.map(Shape::of_bits) {
        for spread in [1, 50, 4000, 1 << 18] {
            let mut store = make(shape);
            let calls = calls(&mut store, shape, spread);
            assert!(!exact || calls.values().all(|count| *count >= 1), "a state was lost");
            let losses = store.losses();
            let visits = calls.values().sum::<u64>();
            assert!(losses.forgets || visits <= calls.len() as u64, "forgot without saying so");
            assert!(!exact || losses.omission == 0.0);
            assert!(losses.figures.iter().all(|figure| figure.value.is_finite()));
        }
    }
}

/// Lets `threads` workers offer the numbers below `count` to a store, each all of them in an order of
/// its own, with growth at barriers. Returns how often each was called fresh.
pub(crate) fn race<V: Shared>(store: V, threads: usize, count: u64) -> (V, Vec<u32>) {
    const BLOCK: usize = 100;
    let (store, barrier) = (RwLock::new(store), Barrier::new(threads));
    let rounds = count.div_ceil(BLOCK as u64);
    let picked: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let worker = |worker: usize| {
            let (store, barrier) = (&store, &barrier);
            move || {
                let mut scratch = store.read().expect("a lock").scratch();
                let (mut picked, mut fresh) = (Vec::new(), Picks::new());
                for round in 0..rounds {
                    // All workers offer the same block, half of them from its end.
                    let number = |i: u64| (round * BLOCK as u64 + i) % count;
                    let mut words: Vec<u64> = (0..BLOCK as u64).map(number).collect();
                    if worker % 2 == 1 {
                        words.reverse();
                    }
                    words.extend([0; PAD_WORDS]);
                    let block = Block::new(&words, 1, BLOCK);
                    let mut from = 0;
                    fresh.clear();
                    for _ in 0..3 {
                        let guard = store.read().expect("a lock");
                        from = guard.offer(&mut scratch, block, from, &mut fresh);
                        drop(guard);
                        if barrier.wait().is_leader() {
                            store.write().expect("a lock").grow_if_needed(500).expect("room");
                        }
                        barrier.wait();
                    }
                    assert_eq!(from, BLOCK);
                    picked.extend(fresh.iter().map(|place| words[*place as usize]));
                }
                picked
            }
        };
        let handles: Vec<_> = (0..threads).map(|i| scope.spawn(worker(i))).collect();
        handles.into_iter().map(|handle| handle.join().expect("a worker")).collect()
    });
    let mut times = vec![0; count as usize];
    picked.iter().flatten().for_each(|number| times[*number as usize] += 1);
    (store.into_inner().expect("a lock"), times)
}

/// Checks that a measured frequency is what was predicted, within three deviations (and a share
/// `slack` of it).
pub(crate) fn agrees(hits: u64, runs: u64, predicted: f64, slack: f64) -> bool {
    let sigma = (predicted * (1.0 - predicted) / runs as f64).sqrt();
    (hits as f64 / runs as f64 - predicted).abs() <= 3.0 * sigma + slack * predicted
}
