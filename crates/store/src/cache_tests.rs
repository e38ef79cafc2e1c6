//! Tests of the cache: it loses nothing, forgets what it is told to, and gives up in time.

use super::*;
use crate::{bounds, lossy};
use ergodic_system::PAD_WORDS;
use std::collections::HashSet;

fn options(entry: CacheEntry, ways: u32, size: CacheSize) -> CacheOptions {
    CacheOptions { entry, ways, max_rate: None, ..CacheOptions::new(size) }
}

fn cache(shape: Shape, entry: CacheEntry, ways: u32, entries: u64) -> CacheStore {
    CacheStore::new(shape, options(entry, ways, CacheSize::Entries(entries))).expect("a cache")
}

/// Offers numbers; returns those that were fresh.
fn offer(store: &mut CacheStore, numbers: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut words: Vec<u64> = numbers.collect();
    let len = words.len();
    words.extend([0; PAD_WORDS]);
    let mut fresh = Picks::new();
    store.offer(Block::new(&words, 1, len), &mut fresh).expect("room");
    fresh.iter().map(|place| words[*place as usize]).collect()
}

fn settle(store: &mut CacheStore) {
    store.settle(&mut |_| panic!("nothing is late")).expect("it settles");
}

const REPLACEMENTS: [Replacement; 3] =
    [Replacement::LeastMet, Replacement::Oldest, Replacement::Random];

const ENTRIES: [CacheEntry; 4] = [
    CacheEntry::Full,
    CacheEntry::Signature(40),
    CacheEntry::Signature(57),
    CacheEntry::Signature(64),
];

#[test]
fn conforms() {
    for entry in ENTRIES {
        for ways in [1, 2, 8, 32] {
            for entries in [1, 3, 100, 5000] {
                for replacement in REPLACEMENTS {
                    let full = entry == CacheEntry::Full;
                    let options = options(entry, ways, CacheSize::Entries(entries));
                    let options = CacheOptions { replacement, ..options };
                    lossy::forgetful(full, |shape| {
                        CacheStore::new(shape, options).expect("a cache")
                    });
                }
            }
        }
    }
}

/// Without collisions the cache is exact, and with them every state is fresh at least once.
#[test]
fn nothing_is_lost_and_what_fits_is_remembered() {
    for entry in ENTRIES {
        for ways in [1, 8] {
            let mut store = cache(Shape::of_bits(64), entry, ways, 100_000);
            assert_eq!(offer(&mut store, 0..50).len(), 50);
            assert_eq!(offer(&mut store, (0..50).rev()), Vec::<u64>::new());
            let (collisions, forgets) = (store.collisions(), store.losses().forgets);
            assert!(collisions == 0 && !forgets);
            // Much more than fits.
            for from in (0..400_000).step_by(1000) {
                offer(&mut store, from..from + 1000);
                if from % 50_000 == 0 {
                    settle(&mut store);
                }
            }
            assert!(store.losses().forgets && store.collision_rate() > 0.7);
            assert_eq!(store.coverage().states, store.insertions());
            let mut held = 0;
            store.each(&mut |_| held += 1);
            assert!(held <= store.entries() && held > store.entries() * 9 / 10);
            assert_eq!(held, store.insertions() - store.collisions());
        }
    }
}

#[test]
fn equal_states_of_a_block_are_fresh_once() {
    for entry in ENTRIES {
        let mut store = cache(Shape::of_bits(64), entry, 8, 1000);
        let twice = (0..100).chain(0..100).chain([7; 100]);
        assert_eq!(offer(&mut store, twice), (0..100).collect::<Vec<_>>());
    }
}

#[test]
fn the_oldest_level_goes_first() {
    // One set of eight.
    let options = options(CacheEntry::Full, 8, CacheSize::Entries(8));
    let options = CacheOptions { replacement: Replacement::Oldest, ..options };
    let mut store = CacheStore::new(Shape::of_bits(64), options).expect("a cache");
    for level in 0..4 {
        assert_eq!(offer(&mut store, level * 2..level * 2 + 2).len(), 2);
        settle(&mut store);
    }
    // Two more states push out those of level 0, and then those of level 1.
    assert_eq!(offer(&mut store, 100..102).len(), 2);
    assert_eq!(offer(&mut store, 2..8), Vec::<u64>::new());
    assert_eq!(offer(&mut store, 102..104).len(), 2);
    assert_eq!(offer(&mut store, 4..8), Vec::<u64>::new());
    let mut held = HashSet::new();
    store.each(&mut |state| assert!(held.insert(state[0])));
    assert_eq!(held, HashSet::from([4, 5, 6, 7, 100, 101, 102, 103]));
    // Ages go round: after many levels the oldest is still found.
    for level in 0..300 {
        settle(&mut store);
        offer(&mut store, [1000 + level].into_iter());
    }
    let mut held = HashSet::new();
    store.each(&mut |state| assert!(held.insert(state[0])));
    assert_eq!(held, (1292..1300).collect());
}

/// One set of 64, in which a quarter of what was found first is found again two levels later, and sixteen times
/// something new comes: what goes is what was found first and never again.
#[test]
fn what_is_met_again_later_stays() {
    for entry in ENTRIES {
        let mut store = cache(Shape::of_bits(64), entry, 64, 64);
        assert_eq!(offer(&mut store, 0..64).len(), 64);
        settle(&mut store);
        // Found again by the next level: that says nothing, as the rest shows.
        assert_eq!(offer(&mut store, (0..64).filter(|n| n % 4 != 0)), Vec::<u64>::new());
        settle(&mut store);
        let again = || (0..64).step_by(4);
        assert_eq!(offer(&mut store, again()), Vec::<u64>::new());
        assert_eq!(offer(&mut store, 100..116).len(), 16);
        assert_eq!(store.collisions(), 16);
        settle(&mut store);
        assert_eq!(offer(&mut store, again().chain(100..116)), Vec::<u64>::new());
        // All of the others that are left go before what was met and what is young.
        assert_eq!(offer(&mut store, 200..216).len(), 16);
        assert_eq!(offer(&mut store, again().chain(100..116)), Vec::<u64>::new());
        let gone = offer(&mut store, (0..64).filter(|n| n % 4 != 0)).len();
        assert!(gone >= 32, "{gone}");
    }
}

#[test]
fn random_replacement_spares_no_level() {
    let size = CacheSize::Entries(1 << 12);
    let options =
        CacheOptions { replacement: Replacement::Random, ..options(CacheEntry::Full, 8, size) };
    let mut store = CacheStore::new(Shape::of_bits(64), options).expect("a cache");
    for level in 0..4 {
        offer(&mut store, level << 12..(level + 1) << 12);
        settle(&mut store);
    }
    let mut levels = [0; 4];
    store.each(&mut |state| levels[(state[0] >> 12) as usize] += 1);
    // Each level takes its share from those before: about 1/e of each remains.
    assert!(levels[3] > levels[2] && levels[2] > levels[1] && levels[1] > levels[0]);
    assert!(levels[0] > 100, "{levels:?}");
}

/// The paper: the collision rate counts overwriting insertions. With one way and random places, the
/// expected number of entries in use is m (1 − (1 − 1/m)ⁿ).
#[test]
fn one_way_collides_as_random_places_do() {
    let (m, n) = (10_000, 15_000);
    let mut store = cache(Shape::of_bits(64), CacheEntry::Full, 1, m);
    assert_eq!(store.entries(), m);
    assert_eq!(offer(&mut store, 0..n).len() as u64, n);
    let used = m as f64 * (1.0 - (-(n as f64) / m as f64).exp());
    let rate = (n as f64 - used) / n as f64;
    assert!((store.collision_rate() - rate).abs() < 0.01, "{} {rate}", store.collision_rate());
    // More ways waste less.
    let mut wide = cache(Shape::of_bits(64), CacheEntry::Full, 8, m);
    offer(&mut wide, 0..m);
    let mut narrow = cache(Shape::of_bits(64), CacheEntry::Full, 1, m);
    offer(&mut narrow, 0..m);
    assert!(wide.collision_rate() < 0.2 && narrow.collision_rate() > 0.35);
}

#[test]
fn too_many_collisions_end_it() {
    let size = CacheSize::Entries(1000);
    let options = CacheOptions { ways: 1, ..CacheOptions::new(size) };
    let mut store = CacheStore::new(Shape::of_bits(64), options).expect("a cache");
    let (mut fresh, mut next) = (Picks::new(), 0);
    let why = loop {
        let words: Vec<u64> = (next..next + 101).collect();
        match store.offer(Block::new(&words, 1, 100), &mut fresh) {
            Ok(()) => assert_eq!(fresh.len(), 100),
            Err(why) => break why,
        }
        next += 100;
        assert!(next < 1_000_000);
    };
    let Exhausted::Other(text) = why else { panic!("{why:?}") };
    assert!(text.contains("0.90") && text.contains("--max-collision-rate 0.9"), "{text}");
    // 1000 entries are full, so n insertions have 1 − 1000/n collisions.
    assert!((9_900..10_200).contains(&store.insertions()), "{}", store.insertions());
    // What was entered before the end is told.
    assert_eq!(store.insertions(), next + fresh.len() as u64);
    // A rate that is no number, or negative, does not end anything before the cache is filled once.
    let options = CacheOptions { max_rate: Some(-1.0), ..options };
    let mut store = CacheStore::new(Shape::of_bits(64), options).expect("a cache");
    assert_eq!(offer(&mut store, 0..900).len(), 900);
}

#[test]
fn signatures_are_wrong_as_often_as_counted() {
    for (bits, ways, entries, states) in [(4, 1, 256, 700), (6, 8, 256, 700), (5, 4, 64, 500)] {
        const RUNS: u64 = 2500;
        let (mut hits, mut predicted) = (0, 0.0);
        for seed in 0..RUNS {
            let size = CacheSize::Entries(entries);
            let options = CacheOptions { seed, ..options(CacheEntry::Signature(bits), ways, size) };
            let mut store = CacheStore::new(Shape::of_bits(64), options).expect("a cache");
            let fresh = offer(&mut store, 0..states).len() as u64;
            hits += u64::from(fresh < states);
            let bound = store.losses().omission;
            assert_eq!(bound, bounds::counted(store.comparisons as f64, f64::from(bits)));
            predicted += -(-bound * states as f64 / fresh as f64).exp_m1() / RUNS as f64;
        }
        assert!(
            lossy::agrees(hits, RUNS, predicted, 0.02),
            "{bits}: {hits} of {RUNS}, {predicted}"
        );
    }
}

#[test]
fn sizes_are_kept() {
    for entry in ENTRIES {
        for ways in [1, 2, 4, 8, 16, 64] {
            for bits in [1, 64, 65, 700] {
                let shape = Shape::of_bits(bits);
                for bytes in [0, 1, 100, 5000, 123_456] {
                    let made =
                        CacheStore::new(shape, options(entry, ways, CacheSize::Bytes(bytes)));
                    let Ok(store) = made else { continue };
                    assert!(store.coverage().bytes <= bytes);
                }
                for entries in [1, 2, 7, 8, 9, 1000] {
                    let store = cache(shape, entry, ways, entries);
                    assert!(store.entries() <= entries && store.entries() * 2 > entries);
                }
            }
        }
    }
    // Signatures of 40 bits and a mark: 48 bits per entry; with an age 56, with a note 52.
    let shape = Shape::of_bits(640);
    for (replacement, bytes) in REPLACEMENTS.into_iter().zip([52_064, 56_064, 48_064]) {
        let options = options(CacheEntry::Signature(40), 16, CacheSize::Bytes(bytes));
        let made = CacheStore::new(shape, CacheOptions { replacement, ..options });
        assert_eq!(made.expect("a cache").entries(), 8000);
    }
}

#[test]
fn impossible_caches_are_refused() {
    let shape = Shape::of_bits(64);
    let refused = |entry, ways, size| {
        CacheStore::new(shape, options(entry, ways, size)).expect_err("impossible")
    };
    let some = CacheSize::Entries(10);
    for bits in [0, 3, 65] {
        assert!(refused(CacheEntry::Signature(bits), 8, some).contains("4 to 64"));
    }
    for ways in [0, 3, 7, 65, 128] {
        assert!(refused(CacheEntry::Full, ways, some).contains("power of two"));
    }
    assert!(refused(CacheEntry::Full, 8, CacheSize::Entries(0)).contains("one entry"));
    assert!(refused(CacheEntry::Full, 8, CacheSize::Bytes(10)).contains("at least 144 bytes"));
    for huge in [u64::MAX, 1 << 60] {
        assert!(refused(CacheEntry::Full, 8, CacheSize::Entries(huge)).contains("less memory"));
        assert!(refused(CacheEntry::Full, 1, CacheSize::Bytes(huge)).contains("less memory"));
    }
}
