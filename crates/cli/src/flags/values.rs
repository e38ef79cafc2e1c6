//! The values that options take, and how they are read.

use clap::ValueEnum;
use ergodic_driver::{
    CacheLimit, DeadlockMode, Engine, GraphFile, GraphFormat, Reduction, Replace, SearchKind,
    Sleep, Symmetry,
};
use std::path::PathBuf;
use std::time::Duration;

/// Values of `--deadlock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeadlockArg {
    /// No rule enabled, or only steps back to the same state
    Stutter,
    /// No rule enabled
    Stuck,
    /// No check
    Off,
}

impl DeadlockArg {
    pub(super) fn mode(self) -> DeadlockMode {
        match self {
            DeadlockArg::Stutter => DeadlockMode::Stutter,
            DeadlockArg::Stuck => DeadlockMode::Stuck,
            DeadlockArg::Off => DeadlockMode::Off,
        }
    }
}

/// Values of `--symmetry`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SymmetryArg {
    /// One state per orbit
    Exact,
    /// The normal form of CMurphi's default, for comparing counts: some orbits have several states
    Cmurphi,
    /// No reduction
    Off,
}

impl SymmetryArg {
    pub(super) fn symmetry(self) -> Symmetry {
        match self {
            SymmetryArg::Exact => Symmetry::Exact,
            SymmetryArg::Cmurphi => Symmetry::Cmurphi,
            SymmetryArg::Off => Symmetry::Off,
        }
    }
}

/// Values of `--store`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoreArg {
    /// In full: flat for small states, a tree for larger ones, bits for the smallest
    #[value(alias = "auto")]
    Exact,
    /// States in the slots of one table; for states of at most 143 bits, else a tree
    Flat,
    /// Parts that states share are stored once: the least memory for large states
    Tree,
    /// States in order, with numbers, as liveness and graphs need them; one thread
    Numbered,
    /// A few bits of a hash of each state: states may be omitted, with a bound
    Compact,
    /// A table of fixed size that forgets states; the same as --strategy cached
    Cache,
    /// A Bloom filter, for bug hunting: says how much it has covered
    Bitstate,
    /// Sorted on disk; the same as --strategy sorted
    Disk,
}

/// Values of `--forget`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ForgetArg {
    /// The one whose state was found again least often by later levels
    LeastMet,
    /// Any one
    Random,
    /// The one whose state was found the most levels ago
    Oldest,
}

/// Values of `--strategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StrategyArg {
    /// All states in memory; when it is used up, go on from disk
    Auto,
    /// All states in memory; when it is used up, stop
    Ram,
    /// A cache of states that forgets, and the queue on disk
    Cached,
    /// Signatures of states on disk, read in part
    Dbf,
    /// A cache until it forgets too often, then signatures on disk
    Serial,
    /// States on disk, sorted, from the start
    Sorted,
}

/// Values of `--search`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SearchArg {
    /// Breadth first
    Bfs,
    /// Depth first
    Dfs,
    /// Depth first with sleep sets, over a cache of states; one thread
    SleepDfs,
}

/// Values of `--reduction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReductionArg {
    /// All transitions
    None,
    /// Sleep sets: all states, fewer transitions
    Sleep,
    /// Stubborn sets: fewer states, the same verdict
    Stubborn,
}

/// Values of `--sleep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SleepArg {
    /// Kept beside states
    Stored,
    /// With the tests on the stack of the paper
    Paper,
    /// None
    Off,
}

/// Values of `--replace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReplaceArg {
    /// Any one that is not on the stack
    Random,
    /// The one reached the fewest times
    LeastVisited,
    /// The one reached the most times
    MostVisited,
    /// The one with the fewest states below it
    SmallestSubtree,
    /// The one that only unimportant kinds of steps lead to
    Kind,
}

/// Values of `--engine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineArg {
    /// Machine code
    Jit,
    /// Reference interpreter
    Interp,
}

impl EngineArg {
    pub(super) fn engine(self) -> Engine {
        match self {
            EngineArg::Jit => Engine::Jit,
            EngineArg::Interp => Engine::Interp,
        }
    }
}

/// Values of `--trace`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceArg {
    /// The first state in full, then changes
    Diff,
    /// Every state in full
    Full,
    /// No counterexample, and no memory spent on it
    Off,
}

/// Values of `--rules`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RulesArg {
    /// All of a few; of many, the busiest
    Auto,
    /// All
    All,
    /// None
    Off,
}

/// Values of `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// For people
    Text,
    /// One JSON object on standard output
    Json,
}

/// Values of `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorArg {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl SearchArg {
    /// As the driver wants it.
    pub(super) fn kind(self) -> SearchKind {
        match self {
            SearchArg::Bfs => SearchKind::Bfs,
            SearchArg::Dfs => SearchKind::Dfs,
            SearchArg::SleepDfs => SearchKind::SleepDfs,
        }
    }
}

impl ReductionArg {
    /// As the driver wants it.
    pub(super) fn kind(self) -> Reduction {
        match self {
            ReductionArg::None => Reduction::None,
            ReductionArg::Sleep => Reduction::Sleep,
            ReductionArg::Stubborn => Reduction::Stubborn,
        }
    }
}

impl SleepArg {
    /// As the driver wants it.
    pub(super) fn rule(self) -> Sleep {
        match self {
            SleepArg::Stored => Sleep::Stored,
            SleepArg::Paper => Sleep::Paper,
            SleepArg::Off => Sleep::Off,
        }
    }
}

impl ReplaceArg {
    /// As the driver wants it.
    pub(super) fn which(self) -> Replace {
        match self {
            ReplaceArg::Random => Replace::Random,
            ReplaceArg::LeastVisited => Replace::LeastVisited,
            ReplaceArg::MostVisited => Replace::MostVisited,
            ReplaceArg::SmallestSubtree => Replace::SmallestSubtree,
            ReplaceArg::Kind => Replace::Kind,
        }
    }
}

pub(super) fn parse_const(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
            Ok((name.trim().to_string(), value.trim().to_string()))
        }
        _ => Err("expected NAME=VALUE, as in --const N=8".to_string()),
    }
}

pub(super) fn parse_probability(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(p) if p > 0.0 && p <= 1.0 => Ok(p),
        _ => Err("expected a number above 0 and at most 1, as in 1e-6".to_string()),
    }
}

pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let (number, unit) = match text.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return Err(format!("unknown unit `{unit}`; use ms, s, m, h or d")),
    };
    let seconds =
        number.parse::<f64>().map_err(|_| format!("`{number}` is not a number"))? * factor;
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("`{text}` is not a length of time"))
}

pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let (number, unit) = match text.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let unit = unit.to_ascii_uppercase();
    let power = match unit.trim_end_matches('B').trim_end_matches('I') {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return Err(format!("unknown unit `{unit}`; use K, M, G or T")),
    };
    let value = number.trim().parse::<f64>().map_err(|_| format!("`{number}` is not a number"))?;
    let bytes = value * 1024f64.powi(power);
    if bytes >= 1.0 && bytes < 2f64.powi(63) {
        Ok(bytes as u64)
    } else {
        Err(format!("`{text}` is not a possible amount of memory"))
    }
}

/// A number of states, or with a unit a size in bytes.
pub(super) fn parse_cache(text: &str) -> Result<CacheLimit, String> {
    match text.trim().parse::<u64>() {
        Ok(0) => Err("a cache of no states is of no use".to_string()),
        Ok(states) => Ok(CacheLimit::States(states)),
        Err(_) => parse_size(text).map(CacheLimit::Bytes),
    }
}

pub(super) fn parse_graph(text: &str) -> Result<GraphFile, String> {
    let path = PathBuf::from(text);
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    let format = match ending.as_str() {
        "dot" | "gv" => GraphFormat::Dot,
        "jsonl" | "json" | "ndjson" => GraphFormat::JsonLines,
        _ => return Err("the name must end in .dot, .gv, .jsonl, .ndjson or .json".to_string()),
    };
    Ok(GraphFile { path, format })
}
