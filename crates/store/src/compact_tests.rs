//! Tests of the compacted set: what is lost is what the bound says, nothing is counted twice.

use super::*;
use crate::{bounds, conformance, lossy};
use ergodic_system::{PAD_WORDS, Sole, Visited};

fn options(bits: u32, seed: u64, size: CompactSize) -> CompactOptions {
    CompactOptions { bits, seed, size }
}

/// A set that starts with few lines and doubles up to the given size.
fn growing_from(first: u64, bits: u32, seed: u64, bytes: u64) -> CompactStore {
    let options = options(bits, seed, CompactSize::UpTo(bytes));
    CompactStore::starting_with(Shape::of_bits(64), options, first).expect("a table")
}

/// A set that starts with two lines and doubles up to the given size.
fn growing(shape: Shape, bits: u32, seed: u64, bytes: u64) -> CompactStore {
    let options = options(bits, seed, CompactSize::UpTo(bytes));
    CompactStore::starting_with(shape, options, 2).expect("a table")
}

fn fixed(shape: Shape, bits: u32, seed: u64, slots: u64) -> CompactStore {
    CompactStore::new(shape, options(bits, seed, CompactSize::Slots(slots))).expect("a table")
}

/// Offers the numbers below `count`; returns how many were omitted.
fn omitted(store: &mut CompactStore, count: u64) -> u64 {
    let mut words: Vec<u64> = (0..count).collect();
    words.extend([0; PAD_WORDS]);
    let (mut sole, mut fresh) = (Sole::new(store), Picks::new());
    sole.offer(Block::new(&words, 1, count as usize), &mut fresh).expect("room");
    count - fresh.len() as u64
}

#[test]
fn conforms_with_wide_values() {
    // 48 bits and more: as good as exact on some thousands of states.
    for (bits, seed) in [(48, 1), (57, 2), (64, 3)] {
        lossy::shared_lossy(true, |shape| fixed(shape, bits, seed, 30_000));
        lossy::shared_lossy(true, |shape| growing(shape, bits.min(50), seed, 1 << 20));
    }
    lossy::lossy(true, |shape| LeakySole::new(fixed(shape, 48, 1, 30_000)));
}

#[test]
fn conforms_with_narrow_values() {
    for bits in [4, 5, 12, 17] {
        lossy::shared_lossy(false, |shape| fixed(shape, bits, 5, 30_000));
        lossy::shared_lossy(false, |shape| growing(shape, bits, 5, 1 << 18));
    }
}

#[test]
fn workers_agree() {
    let shape = Shape::of_bits(64);
    conformance::workers(shape, || growing(shape, 50, 9, 1 << 22));
    conformance::workers(shape, || fixed(shape, 64, 9, 100_000));
    for threads in [2, 4] {
        for (name, store) in [
            ("fixed", fixed(shape, 60, 1, 40_000)),
            ("growing", growing(shape, 48, 1, 1 << 20)),
            ("full", fixed(shape, 64, 1, 31_000)),
        ] {
            let (store, times) = lossy::race(store, threads, 30_000);
            assert!(times.iter().all(|count| *count == 1), "{name}, {threads} threads");
            assert_eq!(store.states(), 30_000);
        }
        // Few bits: nothing twice, and losses.
        let (store, times) = lossy::race(fixed(shape, 10, 1, 40_000), threads, 30_000);
        let once = times.iter().filter(|count| **count == 1).count() as u64;
        assert!(times.iter().all(|count| *count <= 1) && once < 30_000);
        assert_eq!(store.states(), once);
    }
}

/// The omission frequency of many small runs against the counted bound of each.
fn measured_and_counted(
    runs: u64,
    states: u64,
    mut run: impl FnMut(u64) -> (bool, CompactStore),
) -> (u64, f64) {
    let (mut hits, mut predicted) = (0, 0.0);
    for seed in 0..runs {
        let (hit, store) = run(seed);
        hits += u64::from(hit);
        let bound = store.losses().omission;
        // The comparisons of a run that omitted states are those of fewer inserts.
        predicted += -(-bound * states as f64 / store.states() as f64).exp_m1();
    }
    (hits, predicted / runs as f64)
}

#[test]
fn omissions_happen_as_often_as_counted() {
    let shape = Shape::of_bits(64);
    // (bits, slots, states): half full, nearly full, several lines per walk.
    for (bits, slots, states) in [(13, 800, 400), (15, 1000, 900), (16, 2000, 1900), (12, 120, 114)]
    {
        let (hits, predicted) = measured_and_counted(2500, states, |seed| {
            let mut store = fixed(shape, bits, seed, slots);
            (omitted(&mut store, states) > 0, store)
        });
        assert!(lossy::agrees(hits, 2500, predicted, 0.02), "{bits}: {hits} of 2500, {predicted}");
    }
}

#[test]
fn omissions_of_two_workers_happen_as_often_as_counted() {
    let shape = Shape::of_bits(64);
    let (hits, predicted) = measured_and_counted(700, 900, |seed| {
        let (store, times) = lossy::race(fixed(shape, 15, seed, 1000), 2, 900);
        (times.contains(&0), store)
    });
    assert!(lossy::agrees(hits, 700, predicted, 0.02), "{hits} of 700, {predicted}");
}

#[test]
fn omissions_of_growing_tables_happen_as_often_as_counted() {
    // 8 to 128 lines: four doublings.
    for (bits, states) in [(17, 2700), (14, 1500), (12, 400)] {
        let (hits, predicted) = measured_and_counted(1500, states, |seed| {
            let mut store = growing_from(8, bits, seed, 128 * 64);
            assert_eq!(store.bits(), bits + 4);
            (omitted(&mut store, states) > 0, store)
        });
        assert!(lossy::agrees(hits, 1500, predicted, 0.02), "{bits}: {hits} of 1500, {predicted}");
    }
}

#[test]
fn lines_compare_as_often_as_predicted() {
    for (bits, load) in [(64, 0.8), (48, 0.9), (40, 0.95), (12, 0.98)] {
        let mut store = fixed(Shape::of_bits(64), bits.max(48), 7, 100_000);
        let per_line = store.packing.slots() as usize;
        let count = (store.slots() as f64 * load) as u64;
        assert_eq!(omitted(&mut store, count), 0);
        let each = store.comparisons() as f64 / count as f64;
        let predicted = bounds::line_comparisons(per_line, load);
        assert!((each / predicted - 1.0).abs() < 0.03, "{bits}: {each} instead of {predicted}");
    }
}

#[test]
fn a_path_is_worth_its_longest_insert() {
    let mut store = fixed(Shape::of_bits(64), 48, 7, 1000);
    omitted(&mut store, 950);
    let losses = store.losses();
    let longest = losses.path_omission * 2f64.powi(48);
    assert!(longest.fract() == 0.0 && (10.0..=950.0).contains(&longest), "{longest}");
    assert!(losses.path_omission * 950.0 >= losses.omission);
    let value = |key: &str| losses.figures.iter().find(|f| f.key == key).expect("a figure").value;
    assert_eq!(value("bits"), 48.0);
    assert_eq!(value("comparisons"), store.comparisons() as f64);
    assert!((value("load") - 0.95).abs() < 0.01);
    assert!(value("formula_12") < losses.omission && value("formula_13") < losses.omission);
}

#[test]
fn a_growing_table_keeps_its_bits_and_its_limit() {
    for (bits, limit) in [(16, 300_000), (24, 70_000), (40, 2_345_678), (61, 100_000), (64, 64)] {
        let mut store = growing_from(300, bits, 3, limit);
        assert!(store.bits() >= bits);
        let (mut from, mut words, mut fresh) = (0u64, Vec::new(), Picks::new());
        let mut sole = Sole::new(&mut store);
        let why = loop {
            words.clear();
            words.extend(from..from + 500);
            words.extend([0; PAD_WORDS]);
            from += 500;
            match sole.offer(Block::new(&words, 1, 500), &mut fresh) {
                Ok(()) => assert!(from < 1 << 24),
                Err(why) => break why,
            }
        };
        assert_eq!(why, Exhausted::Memory { limit });
        assert!(store.bytes() <= limit && store.bytes() >= limit - limit / 2);
        let least = store.slots() * 9 / 10;
        assert!(store.states() >= least, "{bits}: {} of {}", store.states(), store.slots());
        assert_eq!(store.bits(), bits);
    }
}

#[test]
fn a_real_growing_table_starts_with_a_megabyte() {
    let shape = Shape::of_bits(64);
    let store = |bits| {
        CompactStore::new(shape, options(bits, 1, CompactSize::UpTo(100 << 20))).expect("a table")
    };
    let mut grown = store(48);
    assert!(grown.bytes() >= 1 << 20 && grown.bytes() < 2 << 20);
    assert_eq!(grown.bits(), 48 + 6);
    assert_eq!(omitted(&mut grown, 500_000), 0);
    assert!(grown.bits() >= 48 && grown.bytes() <= 16 << 20);
    grown.grow_if_needed(5_000_000).expect("room");
    assert!(grown.bytes() > 40 << 20 && grown.bytes() <= 100 << 20);
    assert!((0..500_000).all(|i| grown.contains(&[i])));
    assert!(!(500_000..600_000).any(|i| grown.contains(&[i])));
    // Values of 62 bits leave none to take: the table is allocated at once.
    assert_eq!(store(62).bytes(), 100 << 20);
}

#[test]
fn fixed_tables_fill_up_to_a_64th() {
    for (bits, bytes) in [(48, 6400), (64, 64), (20, 64), (40, 1 << 20)] {
        let options = options(bits, 5, CompactSize::Bytes(bytes));
        let mut store = CompactStore::new(Shape::of_bits(64), options).expect("a table");
        let slots = store.slots();
        let (mut next, mut fresh) = (0u64, Picks::new());
        let mut sole = Sole::new(&mut store);
        while sole.offer(Block::new(&[next, 0], 1, 1), &mut fresh).is_ok() {
            next += 1;
        }
        assert_eq!(store.states(), full(slots));
        assert_eq!(store.bytes(), bytes);
        // What is in is still known.
        let words: Vec<u64> = (0..6).chain([0; PAD_WORDS]).collect();
        Sole::new(&mut store).offer(Block::new(&words, 1, 6), &mut fresh).expect("all known");
        assert!(fresh.is_empty());
    }
}

#[test]
fn impossible_sets_are_refused_with_a_reason() {
    let shape = Shape::of_bits(64);
    let huge = [u64::MAX, 1 << 62, 1 << 58];
    for bits in 0..80 {
        for seed in [0, u64::MAX] {
            let size = CompactSize::Slots(1);
            assert_eq!(
                CompactStore::new(shape, options(bits, seed, size)).is_ok(),
                BITS.contains(&bits)
            );
        }
    }
    for size in [0, 63]
        .into_iter()
        .chain(huge)
        .flat_map(|bytes| [CompactSize::Bytes(bytes), CompactSize::Slots(bytes.max(1 << 58))])
    {
        let why = CompactStore::new(shape, options(64, 1, size)).expect_err("impossible");
        assert!(why.contains("bytes"), "{why}");
    }
    // A growing table is not allocated at once, so it may have any limit.
    let mut store =
        CompactStore::new(shape, options(20, 1, CompactSize::UpTo(1 << 62))).expect("it");
    assert_eq!(omitted(&mut store, 1000), 0);
    assert!(CompactStore::new(shape, options(20, 1, CompactSize::UpTo(63))).is_err());
}

#[test]
fn bits_are_chosen_for_a_bound() {
    let bits = |bytes, omission| CompactStore::bits_for(bytes, omission).expect("possible");
    assert!((44..=52).contains(&bits(8 << 30, 1e-4)), "{}", bits(8 << 30, 1e-4));
    assert!(bits(1 << 20, 0.5) < bits(1 << 30, 0.5));
    assert!(CompactStore::bits_for(0, 1.0).is_ok_and(|bits| bits < 9));
    let why = CompactStore::bits_for(1 << 40, 1e-12).expect_err("impossible");
    assert!(why.contains("exact store"), "{why}");
    assert!(CompactStore::bits_for(1 << 30, f64::NAN).is_err());
    // It keeps what it promises, in a table that is full.
    let bits = bits(1 << 16, 1e-3);
    let options = options(bits, 5, CompactSize::Bytes(1 << 16));
    let mut store = CompactStore::new(Shape::of_bits(64), options).expect("a table");
    let count = full(store.slots()) - 10;
    omitted(&mut store, count);
    let bound = store.losses().omission;
    assert!(bound <= 1e-3 && bound > 1e-4, "{bits} bits: {bound}");
}

/// One worker that owns its set.
struct LeakySole(Sole<'static, CompactStore>);

impl LeakySole {
    fn new(store: CompactStore) -> LeakySole {
        LeakySole(Sole::new(Box::leak(Box::new(store))))
    }
}

impl Visited for LeakySole {
    fn offer(&mut self, new: Block<'_>, fresh: &mut Picks) -> Result<(), Exhausted> {
        self.0.offer(new, fresh)
    }

    fn coverage(&self) -> ergodic_system::Coverage {
        self.0.coverage()
    }

    fn losses(&self) -> Losses {
        self.0.losses()
    }
}
