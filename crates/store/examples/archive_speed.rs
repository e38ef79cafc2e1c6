//! How fast the archives are, and how many bytes a state takes on disk.
//!
//! `cargo run --release -p ergodic-store --example archive_speed -- [MILLIONS] [THREADS] [DIR] [ONLY]`
//! (`ONLY` is part of the name of a case, as in "random 72".)
//!
//! Fills an archive in rounds: in each, half of the offered states are new and half are old. Then
//! offers known states only, few and spread evenly, so that every block is read: that is the cost of
//! scanning.

use ergodic_disk::Dir;
use ergodic_store::{SignatureFile, SortedArchive, signatures, sorted};
use ergodic_system::{Archive, Block, PAD_WORDS, Shape};
use std::time::Instant;

const ROUNDS: u64 = 8;
const SCANS: u64 = 5;
const BUFFERS: u64 = 256 << 20;

fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// State number `i`: different numbers give different states.
fn state(kind: &str, shape: Shape, i: u64, out: &mut Vec<u64>) {
    let from = out.len();
    out.resize(from + shape.words, 0);
    let words = &mut out[from..];
    if kind == "random" {
        for (w, word) in words.iter_mut().enumerate() {
            *word = mix(i + 1 + ((w as u64) << 40));
        }
    } else {
        // 28 bits of a number in random order, spread evenly: fields of which most values occur.
        let number = i.wrapping_mul(0x5851_f42d) % (1 << 28);
        for bit in 0..28 {
            let at = bit * shape.bits / 28;
            words[at / 64] |= (number >> bit & 1) << (at % 64);
        }
    }
    if !shape.bits.is_multiple_of(64) {
        words[shape.words - 1] &= (1 << (shape.bits % 64)) - 1;
    }
}

/// Seconds of processor time of all threads so far, where the system tells: on a busy machine time
/// that passes says little.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|f| f.parse::<f64>().ok()).sum();
    ticks / 100.0
}

fn offer(archive: &mut dyn Archive, words: &[u64], width: usize) -> (usize, f64, f64) {
    let total = (words.len() - PAD_WORDS) / width;
    let whole = Block::new(words, width, total);
    let blocks: Vec<Block<'_>> =
        (0..total).step_by(4096).map(|from| whole.slice(from, 4096)).collect();
    let mut fresh = Vec::new();
    let (start, used) = (Instant::now(), processor());
    archive.level_ends();
    archive.admit(&blocks, &mut fresh).expect("a working disk");
    (fresh.len(), start.elapsed().as_secs_f64(), processor() - used)
}

fn measure(name: &str, archive: &mut dyn Archive, kind: &str, shape: Shape, count: u64) {
    let name = format!("{name} {kind} {} bits", shape.bits);
    if !std::env::args().nth(4).is_none_or(|only| name.contains(&only)) {
        return;
    }
    let (mut seconds, mut used, mut offered) = (0.0, 0.0, 0);
    let per_round = count / ROUNDS;
    for round in 0..ROUNDS {
        let mut words = Vec::new();
        for i in 0..per_round {
            state(kind, shape, round * per_round + i, &mut words);
            if round > 0 {
                state(kind, shape, mix(i) % (round * per_round), &mut words);
            }
        }
        words.resize(words.len() + PAD_WORDS, 0);
        let (fresh, time, cpu) = offer(archive, &words, shape.words);
        assert!(fresh as u64 >= per_round, "{fresh} fresh of {per_round}");
        seconds += time;
        used += cpu;
        offered += (words.len() / shape.words) as u64;
    }
    let held = archive.states() as f64;
    let mut words = Vec::new();
    (0..count / 500).for_each(|i| state(kind, shape, i * 499 % count, &mut words));
    words.resize(words.len() + PAD_WORDS, 0);
    // The first call merges what is to be merged.
    offer(archive, &words, shape.words);
    let (mut scan, mut scan_used) = (0.0, 0.0);
    for _ in 0..SCANS {
        let (_, time, cpu) = offer(archive, &words, shape.words);
        scan += time / SCANS as f64;
        scan_used += cpu / SCANS as f64;
    }
    let per = |seconds: f64, states: f64| 1e9 * seconds / states;
    println!(
        "{name}: {:.1} ns ({:.1} of processor) per offered state, {:.2} ns ({:.2}) per state scanned",
        per(seconds, offered as f64),
        per(used, offered as f64),
        per(scan, held),
        per(scan_used, held),
    );
    let figures = archive.losses().figures;
    let shown: Vec<String> = figures.iter().map(|f| format!("{} {:.2}", f.key, f.value)).collect();
    println!("    {held} held, index and buffers {} bytes, {}", archive.bytes(), shown.join(", "));
}

fn main() {
    let mut args = std::env::args().skip(1);
    let mut number = |default| args.next().map_or(default, |a| a.parse().expect("a number"));
    let (count, threads) = (number(8) * 1_000_000, number(1) as usize);
    let parent = args.next().map_or_else(std::env::temp_dir, Into::into);
    let dir = || Dir::fresh(&parent).expect("a directory");
    for (kind, bits) in [
        ("random", 72),
        ("structured", 72),
        ("structured", 40),
        ("structured", 200),
        ("structured", 450),
    ] {
        let shape = Shape::of_bits(bits);
        let settings = sorted::Settings::new(BUFFERS, threads);
        measure("sorted", &mut SortedArchive::new(dir(), shape, settings), kind, shape, count);
    }
    let shape = Shape::of_bits(200);
    let keys = sorted::Keys::Signatures { bits: 80, seed: 1 };
    let settings = sorted::Settings { keys, ..sorted::Settings::new(BUFFERS, threads) };
    measure(
        "sorted-80",
        &mut SortedArchive::new(dir(), shape, settings),
        "structured",
        shape,
        count,
    );
    let settings = signatures::Settings::default();
    let mut dbf = SignatureFile::new(dir(), shape, settings).expect("a directory");
    measure("dbf-80", &mut dbf, "structured", shape, count);
}
