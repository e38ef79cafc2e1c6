//! How long a random insert takes in a table far larger than the caches: nanoseconds per offered state,
//! one thread, states new and known.
//!
//!     cargo run --release -p ergodic-store --example insert_speed [MILLIONS]

use ergodic_store::universal::mix;
use ergodic_store::{CompactOptions, CompactSize, CompactStore, FlatStore, TreeStore};
use ergodic_system::{Block, PAD_WORDS, Picks, Shape, Shared};
use std::time::Instant;

/// States per call, as searches offer them.
const BATCH: usize = 2048;

/// Offers states number `from` to `to`, in an order and with values that look random.
fn offer<V: Shared>(store: &mut V, shape: Shape, from: u64, to: u64) -> (f64, u64) {
    let mut scratch = store.scratch();
    let mut words = vec![0; BATCH * shape.words + PAD_WORDS];
    let (mut fresh, mut found, mut spent) = (Picks::new(), 0, 0.0);
    let mut at = from;
    while at < to {
        let len = ((to - at) as usize).min(BATCH);
        for (i, state) in words.chunks_exact_mut(shape.words).take(len).enumerate() {
            let number = mix(at + i as u64);
            for (k, word) in state.iter_mut().enumerate() {
                // The last word is not used to the full.
                let bits = (shape.bits - 64 * k).min(64);
                *word = mix(number ^ (k as u64) << 56) >> (64 - bits);
            }
        }
        fresh.clear();
        let mut taken = 0;
        while taken < len {
            let began = Instant::now();
            let block = Block::new(&words, shape.words, len);
            taken = store.offer(&mut scratch, block, taken, &mut fresh);
            spent += began.elapsed().as_secs_f64();
            // The parts of trees are more than was asked for at first. Growth is not measured.
            if taken < len {
                store.grow_if_needed(1).expect("memory");
            }
        }
        found += fresh.len() as u64;
        at += len as u64;
    }
    (spent * 1e9 / (to - from) as f64, found)
}

fn measure<V: Shared>(name: &str, mut store: V, shape: Shape, states: u64) {
    if let Err(why) = store.grow_if_needed(states + states / 8) {
        return println!("{name:<28} {why:?}");
    }
    let half = states / 2;
    let (first, _) = offer(&mut store, shape, 0, half);
    let (second, found) = offer(&mut store, shape, half, states);
    let (known, again) = offer(&mut store, shape, 0, half);
    println!(
        "{name:<28} {:>7.0} MiB  new: {first:>5.1} ns, {second:>5.1} ns in the second half; known: \
         {known:>5.1} ns  ({found} and {again} called new)",
        store.bytes() as f64 / f64::from(1 << 20)
    );
}

fn main() {
    let millions = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(100u64);
    let states = millions * 1_000_000;
    for bits in [40, 64, 72, 120, 140] {
        let shape = Shape::of_bits(bits);
        measure(&format!("flat, {bits} bits"), FlatStore::new(shape, None), shape, states);
    }
    let shape = Shape::of_bits(448);
    for bits in [40, 48] {
        let size = CompactSize::Slots(states + states / 8);
        match CompactStore::new(shape, CompactOptions { bits, seed: 1, size }) {
            Ok(store) => measure(&format!("compact, {bits} bits"), store, shape, states),
            Err(why) => println!("compact, {bits} bits: {why}"),
        }
    }
    let shape = Shape::of_bits(256);
    measure("tree, 256 random bits", TreeStore::new(shape, None), shape, states / 4);
}
