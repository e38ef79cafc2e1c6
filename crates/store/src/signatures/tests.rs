//! The signature file: nothing is lost but by equal signatures, and searches end.

use super::*;
use ergodic_disk::Trouble;
use ergodic_disk::{Fault, Faulty};
use ergodic_system::PAD_WORDS;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

fn fresh_dir() -> Dir {
    Dir::fresh(&std::env::temp_dir()).unwrap()
}

fn tiny(bits: u32, seed: u64) -> Settings {
    Settings { bits, seed, full_every: 10, block: 50 }
}

fn open(settings: Settings) -> SignatureFile {
    SignatureFile::new(fresh_dir(), Shape::of_bits(64), settings).unwrap()
}

/// Offers one-word states; gives the fresh ones.
fn offer(archive: &mut SignatureFile, states: &[u64]) -> Result<Vec<u64>, Exhausted> {
    let words: Vec<u64> = states.iter().copied().chain([0; PAD_WORDS]).collect();
    let block = Block::new(&words, 1, states.len());
    let half = states.len() / 2;
    let blocks = [block.slice(0, half), block.slice(half, states.len())];
    let mut fresh = Vec::new();
    archive.admit(&blocks, &mut fresh)?;
    Ok(fresh.iter().map(|(b, i)| blocks[*b as usize].state(*i as usize)[0]).collect())
}

/// A breadth-first search of a random graph with room for `room` candidates in memory. Returns the
/// states expanded and how often any was.
fn explore(archive: &mut SignatureFile, nodes: u64, room: usize, levels: usize) -> (usize, u64) {
    let mut random = Random::new(nodes);
    // Edges lead mostly to near nodes, as transitions do, and sometimes far back.
    let next = |node: u64, random: &mut Random| {
        let far = unit(random) < 0.1;
        let step = random.bits() % if far { node + 1 } else { 40 };
        if far { step } else { (node + step) % nodes }
    };
    let edges: Vec<[u64; 3]> =
        (0..nodes).map(|n| [next(n, &mut random), next(n, &mut random), (n + 1) % nodes]).collect();
    let (mut seen, mut visits) = (HashSet::new(), 0);
    let mut level = offer(archive, &[0]).unwrap();
    for _ in 0..levels {
        visits += level.len() as u64;
        seen.extend(level.iter().copied());
        let (mut memory, mut coming) = (BTreeSet::new(), Vec::new());
        for node in &level {
            memory.extend(edges[*node as usize]);
            if memory.len() >= room {
                let states: Vec<u64> = std::mem::take(&mut memory).into_iter().collect();
                coming.extend(offer(archive, &states).unwrap());
            }
        }
        archive.level_ends();
        let states: Vec<u64> = memory.into_iter().collect();
        coming.extend(offer(archive, &states).unwrap());
        if coming.is_empty() {
            return (seen.len(), visits);
        }
        level = coming;
    }
    panic!("no end after {levels} levels");
}

#[test]
fn searches_end_and_visit_everything() {
    for (nodes, room) in [(5_000, 20), (5_000, 300), (20_000, 100)] {
        let mut archive = open(tiny(80, nodes));
        let (seen, visits) = explore(&mut archive, nodes, room, 20_000);
        assert_eq!(seen as u64, nodes);
        assert_eq!(visits, archive.states());
        let losses = archive.losses();
        assert!(losses.forgets && losses.omission < 1e-10 && losses.omission > 0.0);
        let read = losses.figures.iter().find(|f| f.key == "fraction_read").unwrap().value;
        assert!(read > 0.0 && read < 1.0, "{read} of all was read");
    }
}

#[test]
fn what_was_seeded_is_known() {
    let mut archive = open(Settings { full_every: 1, ..tiny(128, 1) });
    let signer = archive.signer.clone();
    let seeds = |push: &mut dyn FnMut(u128)| (0..1000u64).for_each(|i| push(signer.sign(&[i])));
    archive.begin_with(7.0, 5.0, seeds).unwrap();
    assert!(archive.comparisons == (7.0, 5.0));
    let all: Vec<u64> = (500..1500).collect();
    archive.level_ends();
    assert_eq!(offer(&mut archive, &all).unwrap(), (1000..1500).collect::<Vec<u64>>());
    assert_eq!(archive.states(), 1500);
}

#[test]
fn omissions_are_within_the_bound() {
    let runs = 4000;
    let (mut lost, mut bound, mut path) = (0, 0.0, 0.0);
    for seed in 0..runs {
        let mut archive = open(Settings { full_every: 1, ..tiny(16, seed) });
        let mut fresh = 0;
        for call in 0..3u64 {
            archive.level_ends();
            // Structured states would collide in clusters: as many pairs, but in fewer runs.
            let states: Vec<u64> = (0..30).map(|i| crate::hash::hash(&[call * 30 + i])).collect();
            fresh += offer(&mut archive, &states).unwrap().len();
        }
        lost += u64::from(fresh < 90);
        bound = archive.losses().omission;
        path = archive.losses().path_omission;
    }
    let (got, deviation) = (lost as f64 / runs as f64, (bound / runs as f64).sqrt());
    assert!(got < bound + 3.0 * deviation && got > bound / 2.0, "{got} for {bound}");
    assert!(path < bound && path > 0.0);
}

#[test]
fn clouds_prefer_recent_blocks() {
    let mut archive = open(tiny(80, 3));
    archive.alpha = 0.3;
    let mut counts = [0u32; 100];
    for _ in 0..2000 {
        let cloud = archive.cloud(100);
        assert_eq!(cloud.iter().filter(|c| **c).count(), 30);
        cloud.iter().enumerate().for_each(|(i, chosen)| counts[i] += u32::from(*chosen));
    }
    let of = |range: std::ops::Range<usize>| counts[range].iter().sum::<u32>();
    assert!(of(0..10) * 2 < of(45..55) && of(45..55) < of(90..100));
    assert!(counts.iter().all(|count| *count > 0));
    assert!(archive.cloud(0).is_empty());
}

#[test]
fn the_cloud_follows_the_hits() {
    let mut archive = open(tiny(80, 3));
    archive.calibrate(1, 9);
    assert!((archive.alpha - 0.575).abs() < 1e-9);
    archive.calibrate(6, 4);
    assert!((archive.alpha - 0.575).abs() < 1e-9);
    archive.calibrate(9, 1);
    assert!((archive.alpha - 0.48875).abs() < 1e-9);
    let mut resets = 0;
    for _ in 0..100 {
        archive.calibrate(0, 1);
        resets += u32::from(archive.alpha == 0.5);
        assert!(archive.alpha <= 1.0);
    }
    assert!(resets > 0);
}

#[test]
fn what_was_saved_goes_on_as_it_was() {
    let settings = tiny(30, 9);
    let mut archive = open(settings);
    let mut random = Random::new(4);
    let mut states = |count| (0..count).map(|_| random.bits() % 3000).collect::<Vec<u64>>();
    for call in 0..20 {
        if call % 3 == 0 {
            archive.level_ends();
        }
        offer(&mut archive, &states(120)).unwrap();
        let checkpoint = fresh_dir();
        let saved = archive.save(checkpoint.path()).unwrap();
        let reopen = |from: &Dir| {
            let (shape, from) = (Shape::of_bits(64), from.path());
            SignatureFile::open(fresh_dir(), shape, from, &saved, settings).unwrap()
        };
        let mut again = reopen(&checkpoint);
        assert_eq!(again.losses(), archive.losses());
        // What goes on leaves the checkpoint alone.
        let more = states(300);
        again.level_ends();
        offer(&mut again, &more).unwrap();
        let mut third = reopen(&checkpoint);
        third.level_ends();
        archive.level_ends();
        assert_eq!(offer(&mut archive, &more).unwrap(), offer(&mut third, &more).unwrap());
        assert_eq!(archive.losses(), third.losses());
        archive = third;
    }
    assert!(archive.losses().omission > 0.0 && archive.signatures() > 2500);
}

#[test]
fn damaged_checkpoints_are_not_opened() {
    let (dir, settings) = (fresh_dir(), tiny(80, 5));
    let mut archive = open(settings);
    offer(&mut archive, &(0..233).collect::<Vec<u64>>()).unwrap();
    let saved = archive.save(dir.path()).unwrap();
    let path = dir.path().join("signatures");
    let good = std::fs::read(&path).unwrap();
    let opens = |saved: &[u8], settings, words: usize| {
        let (shape, from) = (Shape::of_bits(64 * words), dir.path());
        SignatureFile::open(fresh_dir(), shape, from, saved, settings).map(|_| ())
    };
    for at in (0..good.len()).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        std::fs::write(&path, bad).unwrap();
        assert_eq!(opens(&saved, settings, 1).unwrap_err().trouble, Trouble::Damaged);
    }
    for len in [0, good.len() - 1, good.len() - 58] {
        std::fs::write(&path, &good[..len]).unwrap();
        assert_eq!(opens(&saved, settings, 1).unwrap_err().trouble, Trouble::Damaged);
    }
    std::fs::write(&path, &good).unwrap();
    opens(&saved, settings, 1).unwrap();
    for at in 0..saved.len() {
        let mut bad = saved.clone();
        bad[at] ^= 1;
        assert_eq!(opens(&bad, settings, 1).unwrap_err().trouble, Trouble::Damaged, "byte {at}");
        assert_eq!(opens(&saved[..at], settings, 1).unwrap_err().trouble, Trouble::Damaged);
    }
    for (other, words) in [(tiny(79, 5), 1), (tiny(80, 6), 1), (settings, 2)] {
        let error = opens(&saved, other, words).unwrap_err();
        assert!(error.text.contains("seed 5"), "{error}");
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(opens(&saved, settings, 1).unwrap_err().trouble, Trouble::Missing);
}

/// Calls that are right or fail; those that fail change nothing.
fn some_calls(dir: Dir) -> Result<(), Exhausted> {
    let settings = Settings { full_every: 1, ..tiny(80, 5) };
    let other = |e: DiskError| Exhausted::Other(e.to_string());
    let shape = Shape::of_bits(64);
    let mut archive = SignatureFile::new(dir.clone(), shape, settings).map_err(other)?;
    let (mut held, mut result) = (BTreeSet::new(), Ok(()));
    for call in 0..15u64 {
        let states: Vec<u64> = (0..40).map(|i| call * 20 + i).collect();
        archive.level_ends();
        match offer(&mut archive, &states) {
            Ok(fresh) => {
                let new: Vec<u64> = states.into_iter().filter(|s| !held.contains(s)).collect();
                assert_eq!(fresh, new);
                held.extend(new);
            }
            Err(error) => result = Err(error),
        }
        assert_eq!(archive.states(), held.len() as u64);
    }
    let states: Vec<u64> = held.into_iter().collect();
    archive.level_ends();
    assert!(offer(&mut archive, &states)?.is_empty());
    let checkpoint = fresh_dir();
    let saved = archive.save(checkpoint.path())?;
    let mut again =
        SignatureFile::open(dir, shape, checkpoint.path(), &saved, settings).map_err(other)?;
    again.level_ends();
    assert!(offer(&mut again, &states)?.is_empty());
    result
}

#[test]
fn faults_are_errors_never_answers() {
    let on = |fault| Dir::fresh_on(Arc::new(Faulty::new(fault)), &std::env::temp_dir()).unwrap();
    some_calls(on(Fault::ShortWrites(3))).unwrap();
    some_calls(on(Fault::ShortReads(3))).unwrap();
    let counting = Faulty::new(Fault::FullAfter(1 << 40));
    let dir = Dir::fresh_on(Arc::new(counting.clone()), &std::env::temp_dir()).unwrap();
    some_calls(dir).unwrap();
    let (reads, writes) = counting.used();
    for number in 0..reads {
        some_calls(on(Fault::FlipOnRead(number))).unwrap_err();
        some_calls(on(Fault::FailRead(number))).unwrap_err();
    }
    for number in 0..writes {
        some_calls(on(Fault::FailWrite(number))).unwrap_err();
    }
    for bytes in (0..2000).step_by(37) {
        some_calls(on(Fault::FullAfter(bytes))).unwrap_err();
    }
}
