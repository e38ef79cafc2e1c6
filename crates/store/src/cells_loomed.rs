//! The protocol of interned keys under loom: every interleaving of two workers, and every value that
//! a relaxed load may see.

/// What [`cells`] is compiled with here.
mod sync {
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
}

#[path = "cells.rs"]
#[expect(dead_code, reason = "what needs no protocol is not tested here")]
mod cells;
mod slots {
    pub(crate) const LINE: usize = 8;
    pub(crate) type Line = [super::sync::AtomicU64; LINE];
}

use cells::{Cell, find, take};
use loom::sync::Arc;
use loom::thread::spawn;
use slots::Line;

/// The reference of a key; `own` if there was none.
fn reference<const K: usize>(line: &Line, key: [u64; K], own: u32) -> u32 {
    loop {
        match find(line, key) {
            Cell::Known(reference) => return reference,
            Cell::Free(slot) if take(line, slot, key, own) => return own,
            Cell::Free(_) => loom::thread::yield_now(),
            Cell::Crowded => panic!("there is room"),
        }
    }
}

/// Two workers ask for two keys each; returns nothing, but checks that equal keys, and only those,
/// have equal references.
fn race<const K: usize>(first: [[u64; K]; 2], second: [[u64; K]; 2]) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || {
        let line: Arc<Line> = Arc::new(std::array::from_fn(|_| sync::AtomicU64::new(0)));
        let ask = |keys: [[u64; K]; 2], own: u32| {
            let line = Arc::clone(&line);
            spawn(move || [reference(&line, keys[0], own), reference(&line, keys[1], own + 1)])
        };
        let (one, two) = (ask(first, 1), ask(second, 3));
        let (one, two) = (one.join().expect("no panic"), two.join().expect("no panic"));
        let mut all: Vec<_> = first.iter().zip(one).chain(second.iter().zip(two)).collect();
        for (key, reference) in &all {
            assert_eq!(find(&line, **key), Cell::Known(*reference));
        }
        all.sort_unstable();
        all.dedup();
        let keys = all.chunk_by(|a, b| a.0 == b.0).count();
        let mut references: Vec<u32> = all.iter().map(|pair| pair.1).collect();
        references.sort_unstable();
        references.dedup();
        assert_eq!((all.len(), references.len()), (keys, keys));
    });
}

#[test]
fn keys_of_one_word_have_one_reference() {
    race([[7], [0]], [[0], [7]]);
    race([[7], [8]], [[7], [9]]);
}

#[test]
fn keys_of_two_words_have_one_reference() {
    race([[7, 0], [0, 0]], [[0, 0], [7, 1]]);
    race([[7, 8], [7, 9]], [[7, 9], [7, 8]]);
}
