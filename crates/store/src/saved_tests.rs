//! Stores that hand out their tables: what comes back answers as the one that was saved, and what was
//! not handed out by one of its kind is refused.

use crate::compact::{CompactOptions, CompactSize};
use crate::universal::Random;
use crate::{
    BitstateOptions, BitstateSize, BitstateStore, CacheEntry, CacheOptions, CacheSize, CacheStore,
    CompactStore, PaperCompactStore, Replacement,
};
use ergodic_system::{Block, PAD_WORDS, Picks, Shape, Shared, Sole, Visited};

/// A shared set with its worker, as a set of one worker.
struct Owned<V: Shared>(V, Option<V::Scratch>);

impl<V: Shared> Owned<V> {
    fn new(set: V) -> Owned<V> {
        let scratch = set.scratch();
        Owned(set, Some(scratch))
    }
}

impl<V: Shared> Visited for Owned<V> {
    fn offer(
        &mut self,
        new: Block<'_>,
        fresh: &mut Picks,
    ) -> Result<(), ergodic_system::Exhausted> {
        let scratch = self.1.take().unwrap_or_else(|| self.0.scratch());
        let mut sole = Sole::again(&mut self.0, scratch);
        let answer = sole.offer(new, fresh);
        self.1 = Some(sole.into_scratch());
        answer
    }

    fn dump(&self, put: &mut ergodic_system::records::Put<'_>) -> Result<(), String> {
        self.0.dump(put)
    }

    fn restore(&mut self, record: &[u64]) -> Result<(), String> {
        self.0.restore(record)
    }

    fn coverage(&self) -> ergodic_system::Coverage {
        ergodic_system::Coverage { states: 0, bytes: self.0.bytes(), omission: 0.0 }
    }

    fn losses(&self) -> ergodic_system::Losses {
        self.0.losses()
    }
}

fn records(store: &impl Visited) -> Vec<Vec<u64>> {
    let mut records = Vec::new();
    let put = &mut |record: &[u64]| {
        records.push(record.to_vec());
        Ok(())
    };
    store.dump(put).expect("it can be saved");
    records
}

/// Offers random states of two words; gives those that were fresh.
fn offer(store: &mut impl Visited, random: &mut Random, count: usize) -> Picks {
    let mut words: Vec<u64> = (0..2 * count).map(|i| random.below(4000) << (i % 2)).collect();
    words.extend([0; PAD_WORDS]);
    let mut fresh = Picks::new();
    store.offer(Block::new(&words, 2, count), &mut fresh).expect("room");
    fresh
}

/// Saves a store after so many states, and compares what another one does from there on.
fn goes_on<V: Visited>(make: impl Fn(u64) -> V, before: usize) {
    let (mut store, mut random) = (make(1), Random::new(before as u64));
    for _ in 0..before / 500 {
        offer(&mut store, &mut random, 500);
        store.settle(&mut |_| {}).expect("it settles");
    }
    let saved = records(&store);
    // It was made for other memory.
    let mut again = make(3);
    saved.iter().for_each(|record| again.restore(record).expect("its own record"));
    assert_eq!(again.coverage().bytes, store.coverage().bytes);
    assert_eq!(records(&again), saved);
    for _ in 0..20 {
        let mut same = random.clone();
        let (one, other) = (offer(&mut store, &mut random, 500), offer(&mut again, &mut same, 500));
        assert_eq!(one, other);
        store.settle(&mut |_| {}).expect("it settles");
        again.settle(&mut |_| {}).expect("it settles");
        assert_eq!(store.losses(), again.losses());
    }
    assert_eq!(records(&store), records(&again));
}

fn shape() -> Shape {
    Shape::of_bits(128)
}

fn compact(bits: u32, size: CompactSize) -> Owned<CompactStore> {
    let options = CompactOptions { bits, seed: 7, size };
    Owned::new(CompactStore::new(shape(), options).expect("a table"))
}

fn bitstate(size: u64) -> Owned<BitstateStore> {
    let options = BitstateOptions { bits_per_state: 4, seed: 7, size: BitstateSize::Bits(size) };
    Owned::new(BitstateStore::new(shape(), options).expect("a table"))
}

fn cache(entry: CacheEntry, replacement: Replacement, entries: u64) -> CacheStore {
    let options = CacheOptions {
        entry,
        replacement,
        max_rate: None,
        ..CacheOptions::new(CacheSize::Entries(entries))
    };
    CacheStore::new(shape(), options).expect("a cache")
}

#[test]
fn tables_go_on_as_they_were() {
    for before in [0, 500, 40_000] {
        for bits in [9, 16, 48] {
            goes_on(|n| compact(bits, CompactSize::Slots(70_000 * n)), before);
        }
        goes_on(|n| bitstate(100_000 * n), before);
        goes_on(|n| PaperCompactStore::new(shape(), 70_001 * n, 14, 7).expect("a table"), before);
        for entry in [CacheEntry::Full, CacheEntry::Signature(19)] {
            for replacement in [Replacement::LeastMet, Replacement::Oldest, Replacement::Random] {
                goes_on(|n| cache(entry, replacement, 3000 * n), before);
            }
        }
    }
}

/// Growing tables take bits from their values: where a table was saved, and how large it may become, is
/// part of what it is.
#[test]
fn growing_tables_go_on_growing() {
    for before in [50_000, 200_000, 400_000] {
        let megabytes = |n: u64| CompactSize::UpTo((4 * n) << 20);
        let make = |n| compact(20, megabytes(n));
        let (mut store, mut random) = (make(1), Random::new(5));
        let some = |store: &mut Owned<CompactStore>, random: &mut Random, count: usize| {
            let mut words: Vec<u64> = (0..2 * count).map(|_| random.bits()).collect();
            words.extend([0; PAD_WORDS]);
            let mut fresh = Picks::new();
            store.offer(Block::new(&words, 2, count), &mut fresh).expect("room");
            fresh
        };
        some(&mut store, &mut random, before);
        let mut again = make(5);
        records(&store).iter().for_each(|record| again.restore(record).expect("its own record"));
        assert_eq!(again.0.bits(), store.0.bits());
        let mut same = random.clone();
        assert_eq!(some(&mut store, &mut random, 900_000), some(&mut again, &mut same, 900_000));
        assert_eq!((again.0.bits(), again.losses()), (store.0.bits(), store.losses()));
        assert_eq!(store.0.bits(), 20, "it grew as far as it can");
        assert!(store.losses().omission > 0.0);
    }
}

#[test]
fn records_of_others_are_refused_and_none_panics() {
    let mut stores: Vec<Box<dyn Visited>> = vec![
        Box::new(compact(12, CompactSize::Slots(2000))),
        Box::new(bitstate(2000)),
        Box::new(cache(CacheEntry::Full, Replacement::Oldest, 200)),
        Box::new(PaperCompactStore::new(shape(), 1000, 12, 7).expect("a table")),
    ];
    let saved: Vec<Vec<Vec<u64>>> = stores
        .iter_mut()
        .map(|store| {
            let mut words: Vec<u64> = (0..200).collect();
            words.extend([0; PAD_WORDS]);
            store.offer(Block::new(&words, 2, 100), &mut Picks::new()).expect("room");
            let mut records = Vec::new();
            let put = &mut |record: &[u64]| {
                records.push(record.to_vec());
                Ok(())
            };
            store.dump(put).expect("it can be saved");
            records
        })
        .collect();
    for (i, store) in stores.iter_mut().enumerate() {
        for (other, records) in saved.iter().enumerate() {
            let answer = store.restore(&records[0]);
            assert_eq!(answer.is_ok(), i == other, "{i} takes {other}: {answer:?}");
        }
        // Numbers that are out of all bounds; an answer of any kind will do, and good ones still work.
        for at in 2..saved[i][0].len() {
            for wrong in [0, 1, 63, 65, u64::MAX] {
                let mut head = saved[i][0].clone();
                head[at] = wrong;
                let _ = store.restore(&head);
            }
        }
        assert!(store.restore(&[]).is_err() && store.restore(&[0]).is_err());
        saved[i].iter().for_each(|record| store.restore(record).expect("its own record"));
        let mut cut = saved[i][1].clone();
        cut.pop();
        assert!(store.restore(&cut).is_err());
    }
    // A line that is locked would be waited for, for ever; one that is more than full would be read beyond.
    for locked in [1 << 63, u64::MAX >> 1] {
        assert!(stores[0].restore(&[1, 0, 8, 0, 0, 0, 0, 0, 0, 0, locked]).is_err());
    }
    assert!(stores[1].restore(&[1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1 << 63]).is_err());
}
