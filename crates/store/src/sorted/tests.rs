//! The sorted archive against a set in memory, with tiny blocks and buffers, on good and bad disks.

use super::*;
use ergodic_disk::{Fault, Faulty};
use ergodic_system::PAD_WORDS;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

fn fresh_dir() -> Dir {
    Dir::fresh(&std::env::temp_dir()).unwrap()
}

fn tiny(threads: usize, buffer_bytes: u64, block_bytes: usize) -> Settings {
    Settings { block_bytes, ..Settings::new(buffer_bytes, threads) }
}

/// State number `seed` of a small or large space.
fn state(seed: u64, words: usize, bits: usize) -> Vec<u64> {
    let mut state: Vec<u64> = (0..words as u64)
        .map(|i| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ i << 13) >> (i % 3 * 20) << (i % 2 * 9))
        .collect();
    if !bits.is_multiple_of(64) {
        state[words - 1] &= (1 << (bits % 64)) - 1;
    }
    state
}

/// Offers different states in blocks of `per_block`, and checks the answer against the set.
fn offer(
    archive: &mut SortedArchive,
    held: &mut BTreeSet<Vec<u64>>,
    states: &[Vec<u64>],
    per_block: usize,
) -> Result<(), Exhausted> {
    let width = states.first().map_or(1, Vec::len);
    let blocks: Vec<Vec<u64>> = states
        .chunks(per_block)
        .map(|chunk| chunk.concat().into_iter().chain([0; PAD_WORDS]).collect())
        .collect();
    let blocks: Vec<Block<'_>> = blocks
        .iter()
        .map(|words| Block::new(words, width, (words.len() - PAD_WORDS) / width))
        .collect();
    let mut fresh = vec![(7, 7)];
    let result = archive.admit(&blocks, &mut fresh);
    if let Err(error) = result {
        assert!(fresh.is_empty());
        return Err(error);
    }
    let got: Vec<&[u64]> =
        fresh.iter().map(|(b, i)| blocks[*b as usize].state(*i as usize)).collect();
    let expected: BTreeSet<&[u64]> =
        states.iter().filter(|s| !held.contains(*s)).map(Vec::as_slice).collect();
    assert!(got.is_sorted(), "in the order of states");
    assert!(got.iter().eq(expected.iter()), "{} fresh, not {}", got.len(), expected.len());
    held.extend(states.iter().cloned());
    assert_eq!(archive.states(), held.len() as u64);
    Ok(())
}

fn contents(archive: &mut SortedArchive) -> Result<BTreeSet<Vec<u64>>, DiskError> {
    let mut all = BTreeSet::new();
    archive.each(|state| assert!(all.insert(state.to_vec()), "held twice"))?;
    Ok(all)
}

fn distinct(seeds: &[u64], space: u64, words: usize, bits: usize) -> Vec<Vec<u64>> {
    let all: BTreeSet<Vec<u64>> =
        seeds.iter().map(|seed| state(seed % space, words, bits)).collect();
    // Not in sorted order.
    let mut all: Vec<Vec<u64>> = all.into_iter().collect();
    all.sort_by_key(|state| crate::hash::hash(state));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn answers_as_a_set(
        bits in prop_oneof![Just(40usize), Just(64), Just(72), Just(128), Just(192), Just(448)],
        space in prop_oneof![Just(50u64), Just(2000), Just(u64::MAX)],
        calls in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..300), 1..40),
        threads in prop_oneof![Just(1usize), Just(3)],
        buffer in prop_oneof![Just(0u64), Just(3000), Just(1 << 20)],
        block in prop_oneof![Just(1usize), Just(100), Just(4000)],
        per_block in 1..200usize,
    ) {
        let words = bits.div_ceil(64);
        let dir = fresh_dir();
        let settings = tiny(threads, buffer, block);
        let shape = Shape::of_bits(bits);
        let mut archive = SortedArchive::new(dir.clone(), shape, settings);
        let mut held = BTreeSet::new();
        for (i, seeds) in calls.iter().enumerate() {
            let states = distinct(seeds, space, words, bits);
            offer(&mut archive, &mut held, &states, per_block).unwrap();
            if i % 7 == 6 {
                let checkpoint = fresh_dir();
                let saved = archive.save(checkpoint.path()).unwrap();
                archive =
                    SortedArchive::open(dir.clone(), shape, checkpoint.path(), &saved, settings).unwrap();
            }
        }
        prop_assert_eq!(contents(&mut archive).unwrap(), held);
        prop_assert!(archive.runs.len() <= MAX_RUNS + 1);
    }
}

/// Large enough for several threads and ranges, full buffers and many blocks.
#[test]
fn threads_and_ranges_agree() {
    for bits in [64, 72, 192] {
        for threads in [1, 3] {
            let dir = fresh_dir();
            let settings = tiny(threads, 1 << 19, 2000);
            let mut archive = SortedArchive::new(dir, Shape::of_bits(bits), settings);
            let mut held = BTreeSet::new();
            for call in 0..6u64 {
                let seeds: Vec<u64> = (0..30_000).map(|i| i * 3 + call * 20_000).collect();
                let states = distinct(&seeds, u64::MAX, bits.div_ceil(64), bits);
                offer(&mut archive, &mut held, &states, 1000).unwrap();
            }
            assert_eq!(contents(&mut archive).unwrap(), held);
        }
    }
}

#[test]
fn blocks_without_candidates_are_not_read() {
    let dir = fresh_dir();
    let mut archive = SortedArchive::new(dir.clone(), Shape::of_bits(64), tiny(1, 1 << 20, 1000));
    let mut held = BTreeSet::new();
    let states: Vec<Vec<u64>> = (0..100_000u64).map(|i| vec![i * 1000]).collect();
    offer(&mut archive, &mut held, &states, 1000).unwrap();
    let (before, _) = dir.traffic();
    offer(&mut archive, &mut held, &[vec![5_000_001]], 1).unwrap();
    let (after, _) = dir.traffic();
    assert!(after - before < 1500, "{} bytes for one state", after - before);
    // Without candidates, or with those that the index decides, nothing is read.
    offer(&mut archive, &mut held, &[], 1).unwrap();
    offer(&mut archive, &mut held, &[vec![0]], 1).unwrap();
    assert_eq!(dir.traffic().0, after);
    let losses = archive.losses();
    assert_eq!((losses.omission, losses.forgets), (0.0, false));
    let per_state = losses.figures.iter().find(|f| f.key == "bytes_per_state").unwrap().value;
    assert!(per_state < 4.0, "{per_state} bytes per state");
}

#[test]
fn equal_states_are_fresh_once() {
    let mut archive = SortedArchive::new(fresh_dir(), Shape::of_bits(64), tiny(1, 1000, 100));
    let words: Vec<u64> = (0..10_000u64).map(|i| i % 77).chain([0]).collect();
    let mut fresh = Vec::new();
    archive.admit(&[Block::new(&words, 1, 10_000)], &mut fresh).unwrap();
    assert_eq!((fresh.len(), archive.states()), (77, 77));
}

/// Some calls, of which each is right or fails. Checks that failed calls changed nothing.
fn some_calls(dir: Dir, threads: usize, bits: usize) -> Result<(), Exhausted> {
    let settings = tiny(threads, 4000, 300);
    let shape = Shape::of_bits(bits);
    let mut archive = SortedArchive::new(dir.clone(), shape, settings);
    let mut held = BTreeSet::new();
    let mut result = Ok(());
    for call in 0..12u64 {
        let seeds: Vec<u64> = (0..150).map(|i| i * 5 + call * 300).collect();
        let states = distinct(&seeds, u64::MAX, bits.div_ceil(64), bits);
        let before = archive.states();
        if let Err(error) = offer(&mut archive, &mut held, &states, 40) {
            assert_eq!(archive.states(), before);
            result = Err(error);
        }
    }
    let other = |e: DiskError| Exhausted::Other(e.to_string());
    assert_eq!(contents(&mut archive).map_err(other)?, held);
    let checkpoint =
        Dir::fresh_on(Arc::clone(dir.device()), &std::env::temp_dir()).map_err(other)?;
    let saved = archive.save(checkpoint.path())?;
    drop(archive);
    let mut again =
        SortedArchive::open(dir, shape, checkpoint.path(), &saved, settings).map_err(other)?;
    assert_eq!(contents(&mut again).map_err(other)?, held);
    result
}

#[test]
fn faults_are_errors_never_answers() {
    let on = |fault| Dir::fresh_on(Arc::new(Faulty::new(fault)), &std::env::temp_dir()).unwrap();
    for bits in [72, 200] {
        for fault in [Fault::ShortWrites(5), Fault::ShortReads(7)] {
            some_calls(on(fault), 1, bits).unwrap();
        }
        let counting = Faulty::new(Fault::FullAfter(1 << 40));
        let dir = Dir::fresh_on(Arc::new(counting.clone()), &std::env::temp_dir()).unwrap();
        some_calls(dir, 1, bits).unwrap();
        let (reads, writes) = counting.used();
        let mut unnoticed = 0;
        for number in (0..reads).step_by(3) {
            let error = some_calls(on(Fault::FailRead(number)), 1, bits).unwrap_err();
            assert!(error_text(&error).contains("ergodic-"), "names the file: {error:?}");
            // A flipped bit in a block that was read ahead and not used does no harm.
            unnoticed += u64::from(some_calls(on(Fault::FlipOnRead(number)), 1, bits).is_ok());
        }
        assert!(unnoticed < reads / 30, "{unnoticed} of {reads}");
        for number in 0..writes {
            some_calls(on(Fault::FailWrite(number)), 1, bits).unwrap_err();
        }
        // With several threads it is not known whose read or write it is.
        for number in (0..reads).step_by(23) {
            for fault in
                [Fault::FailRead(number), Fault::FlipOnRead(number), Fault::FailWrite(number)]
            {
                let _ = some_calls(on(fault), 3, bits);
            }
        }
        for bytes in (0..30_000).step_by(401) {
            if let Err(error) = some_calls(on(Fault::FullAfter(bytes)), 1, bits) {
                assert!(error_text(&error).contains("--disk"), "names the way out: {error:?}");
            }
        }
    }
}

fn error_text(error: &Exhausted) -> &str {
    match error {
        Exhausted::Other(text) => text,
        Exhausted::Memory { .. } => "",
    }
}

#[test]
fn checkpoints_stay_as_they_are() {
    let (shape, settings) = (Shape::of_bits(128), tiny(1, 4000, 300));
    let mut archive = SortedArchive::new(fresh_dir(), shape, settings);
    let mut held = BTreeSet::new();
    let mut offer_some = |archive: &mut SortedArchive, call: u64| {
        let states: Vec<Vec<u64>> = (0..50).map(|i| vec![call, i]).collect();
        offer(archive, &mut held, &states, 7).unwrap();
        held.clone()
    };
    (0..6).for_each(|call| drop(offer_some(&mut archive, call)));
    let then = offer_some(&mut archive, 6);
    let checkpoint = fresh_dir();
    let saved = archive.save(checkpoint.path()).unwrap();
    // Merges go on, here and in what was opened from the checkpoint.
    (7..40).for_each(|call| drop(offer_some(&mut archive, call)));
    for _ in 0..2 {
        let from = checkpoint.path();
        let mut again = SortedArchive::open(fresh_dir(), shape, from, &saved, settings).unwrap();
        assert_eq!(contents(&mut again).unwrap(), then);
        let mut held = then.clone();
        for call in 7..20 {
            let states: Vec<Vec<u64>> = (0..50).map(|i| vec![call, i]).collect();
            offer(&mut again, &mut held, &states, 7).unwrap();
        }
        assert_eq!(contents(&mut again).unwrap(), held);
    }
}

#[test]
fn damaged_checkpoints_are_not_opened() {
    let dir = fresh_dir();
    let (shape, settings) = (Shape::of_bits(64), tiny(1, 4000, 300));
    let mut archive = SortedArchive::new(fresh_dir(), shape, settings);
    let states: Vec<Vec<u64>> = (0..500).map(|i| vec![i * i]).collect();
    offer(&mut archive, &mut BTreeSet::new(), &states, 500).unwrap();
    let saved = archive.save(dir.path()).unwrap();
    let path = dir.path().join(&archive.manifest()[0].name);
    drop(archive);
    let good = std::fs::read(&path).unwrap();
    let opens = |saved: &[u8], shape| {
        SortedArchive::open(fresh_dir(), shape, dir.path(), saved, settings).map(|_| ())
    };
    for at in (0..good.len()).step_by(3) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        std::fs::write(&path, bad).unwrap();
        assert_eq!(opens(&saved, shape).unwrap_err().trouble, Trouble::Damaged);
    }
    std::fs::write(&path, &good[..good.len() - 1]).unwrap();
    assert_eq!(opens(&saved, shape).unwrap_err().trouble, Trouble::Damaged);
    std::fs::write(&path, &good).unwrap();
    opens(&saved, shape).unwrap();
    for at in 0..saved.len() {
        let mut bad = saved.clone();
        bad[at] ^= 1;
        assert_eq!(opens(&bad, shape).unwrap_err().trouble, Trouble::Damaged, "byte {at}");
        assert_eq!(opens(&saved[..at], shape).unwrap_err().trouble, Trouble::Damaged);
    }
    let error = opens(&saved, Shape::of_bits(63)).unwrap_err();
    assert!(error.text.contains("64 bits"), "{error}");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(opens(&saved, shape).unwrap_err().trouble, Trouble::Missing);
}

#[test]
fn tiers_are_geometric() {
    assert_eq!(tier(&[]), []);
    assert_eq!(tier(&[1000, 1000, 1000]), []);
    assert_eq!(tier(&[1 << 20, 5, 1000, 70, 1000]), [1, 2, 3, 4]);
    let mut sizes: Vec<u64> = Vec::new();
    let mut merged = 0;
    for _ in 0..10_000 {
        sizes.push(SMALL_RUN);
        let chosen = tier(&sizes);
        if !chosen.is_empty() {
            let sum: u64 = chosen.iter().map(|i| sizes[*i]).sum();
            merged += sum / SMALL_RUN;
            let mut i = 0;
            sizes.retain(|_| (!chosen.contains(&i), i += 1).0);
            sizes.push(sum);
        }
        assert!(sizes.len() <= MAX_RUNS + 1);
    }
    assert!(merged < 10_000 * 9, "{merged} times rewritten");
}

#[test]
fn signatures_lose_what_their_bound_says() {
    let mut lost = 0;
    let (runs, states) = (3000u64, 60u64);
    // Structured states would collide in clusters: as many pairs, but in fewer runs.
    let words: Vec<u64> = (0..3 * states).map(|i| crate::hash::hash(&[i])).chain([0]).collect();
    let mut bound = 0.0;
    for seed in 0..runs {
        let keys = Keys::Signatures { bits: 16, seed };
        let settings = Settings { keys, ..tiny(1, 4000, 300) };
        let mut archive = SortedArchive::new(fresh_dir(), Shape::of_bits(192), settings);
        let all = Block::new(&words, 3, states as usize);
        let mut fresh = Vec::new();
        archive.admit(&[all.slice(0, 30)], &mut fresh).unwrap();
        archive.admit(&[all.slice(20, 20), all.slice(40, 20)], &mut fresh).unwrap();
        archive.admit(&[all], &mut fresh).unwrap();
        assert!(fresh.is_empty(), "a signature once held is known");
        lost += u64::from(archive.states() < states);
        bound = archive.losses().omission;
    }
    let got = lost as f64 / runs as f64;
    let deviation = (bound / runs as f64).sqrt();
    assert!(got < bound + 4.0 * deviation && got > bound / 2.0, "{got} for {bound}");
}
