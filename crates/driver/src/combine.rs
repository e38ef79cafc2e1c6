//! The one table of combinations: which executor, search, store and strategy go together, and where
//! a check instantiates the generic searches (a profile and the audit have breadth-first runs of
//! their own).

use crate::options::{
    CacheLimit, CheckOptions, Engine, Forget, Reduction, Replace, SearchKind, ShortOptions, Sleep,
    StoreKind, Strategy,
};
use crate::place::Place;
use crate::reduce::Commuting;
use ergodic_queue::{DiskPile, DiskQueue, MemoryQueue};
use ergodic_search::{
    Ending, Keep, Limits, LiveOutcome, Observer, Opened, Outcome, Overflow, Plan, Resume, Saver,
    Sink, SleepPlan, SleepRule, Team, bfs, dfs, graph, liveness, overflowing, saved_bfs, serial,
    sleep_dfs,
};
use ergodic_store::bitstate::{BitstateOptions, BitstateSize};
use ergodic_store::cache::{CacheEntry, CacheOptions, CacheSize, Replacement};
use ergodic_store::compact::{CompactOptions, CompactSize};
use ergodic_store::signatures::EarlyCache;
use ergodic_store::{
    BitstateStore, CompactStore, DenseStore, Early, ExactStore, FlatStore, FoldedCache,
    LedgerOptions, LedgerStore, Oust, PaperCompactStore, SignatureFile, SortedArchive, TreeStore,
    signatures, sorted,
};
use ergodic_system::{Archive, Erased, Exhausted, Live, Shape, Shared, Sole, System};
use std::path::PathBuf;

/// A legal combination. Breadth first runs on any number of threads with the same results, over
/// any store but those that say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The executor.
    pub engine: Engine,
    /// The search.
    pub search: SearchKind,
    /// The store.
    pub store: StoreKind,
    /// What is done when memory is short.
    pub strategy: Strategy,
    /// Which transitions need not be fired.
    pub reduction: Reduction,
    /// Whether chains of states are walked through and not stored.
    pub compress: bool,
    /// Threads.
    pub threads: usize,
    /// Bytes of memory, if the row is about having little of it.
    pub memory: Option<u64>,
}

/// What the counts of a row are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Every state once.
    Exact,
    /// States may be missing.
    Fewer,
    /// States may be visited again.
    More,
    /// Every state once, and not every transition.
    FewerTransitions,
    /// Some states are left out, because the others decide the verdict.
    Compressed,
}

impl Row {
    /// The row that options ask for.
    pub fn of(options: &CheckOptions) -> Row {
        let CheckOptions { engine, search, store, strategy, reduction, compress, .. } = *options;
        let CheckOptions { threads, memory, .. } = *options;
        Row { engine, search, store, strategy, reduction, compress, threads, memory }
    }

    /// Options that ask for this row, and otherwise for what these ask for.
    pub fn applied_to(&self, options: &CheckOptions) -> CheckOptions {
        let Row { engine, search, store, strategy, reduction, compress, threads, memory } = *self;
        let memory = memory.or(options.memory);
        let options = options.clone();
        CheckOptions {
            engine,
            search,
            store,
            strategy,
            reduction,
            compress,
            threads,
            memory,
            ..options
        }
    }

    /// What its counts are worth.
    pub fn counts(&self) -> Counts {
        match (self.store, self.strategy) {
            _ if self.compress || self.reduction == Reduction::Stubborn => Counts::Compressed,
            _ if self.reduction == Reduction::Sleep || self.search == SearchKind::SleepDfs => {
                Counts::FewerTransitions
            }
            (StoreKind::Compact | StoreKind::Bitstate, _) => Counts::Fewer,
            (StoreKind::Cache, _) => Counts::More,
            (_, Strategy::Cached | Strategy::Dbf | Strategy::Serial) => Counts::More,
            _ => Counts::Exact,
        }
    }
}

const fn row(engine: Engine, search: SearchKind, store: StoreKind, threads: usize) -> Row {
    let (strategy, reduction) = (Strategy::Auto, Reduction::None);
    Row { engine, search, store, strategy, reduction, compress: false, threads, memory: None }
}

/// A row with sleep sets.
const fn sleepy(row: Row) -> Row {
    Row { reduction: Reduction::Sleep, ..row }
}

/// A row with stubborn sets.
const fn stubborn(row: Row) -> Row {
    Row { reduction: Reduction::Stubborn, ..row }
}

/// A row that does not store what is inside of chains.
const fn compressed(row: Row) -> Row {
    Row { compress: true, ..row }
}

/// A breadth-first search with little memory.
const fn short(store: StoreKind, strategy: Strategy, threads: usize) -> Row {
    let row = row(Engine::Jit, SearchKind::Bfs, store, threads);
    // Tables of fixed size are to have room for all states of a test.
    let table = matches!(store, StoreKind::Compact | StoreKind::Bitstate | StoreKind::Cache);
    let memory = if table { 16 << 20 } else { LEAST_MEMORY };
    Row { strategy, memory: Some(memory), ..row }
}

/// Every legal combination (of threads: one and several). Model tests run through all of them.
pub const ROWS: &[Row] = &[
    row(Engine::Jit, SearchKind::Bfs, StoreKind::Auto, 1),
    row(Engine::Jit, SearchKind::Bfs, StoreKind::Auto, 2),
    row(Engine::Jit, SearchKind::Bfs, StoreKind::Tree, 2),
    row(Engine::Jit, SearchKind::Bfs, StoreKind::Tree, 1),
    row(Engine::Jit, SearchKind::Bfs, StoreKind::Tree, 3),
    row(Engine::Jit, SearchKind::Bfs, StoreKind::Numbered, 1),
    row(Engine::Jit, SearchKind::Dfs, StoreKind::Auto, 1),
    row(Engine::Jit, SearchKind::Dfs, StoreKind::Tree, 1),
    row(Engine::Jit, SearchKind::Dfs, StoreKind::Numbered, 1),
    row(Engine::Interp, SearchKind::Bfs, StoreKind::Auto, 1),
    row(Engine::Interp, SearchKind::Dfs, StoreKind::Numbered, 1),
    short(StoreKind::Compact, Strategy::Auto, 2),
    short(StoreKind::Bitstate, Strategy::Auto, 2),
    short(StoreKind::Auto, Strategy::Auto, 2),
    short(StoreKind::Tree, Strategy::Auto, 1),
    short(StoreKind::Auto, Strategy::Sorted, 1),
    short(StoreKind::Tree, Strategy::Sorted, 2),
    short(StoreKind::Cache, Strategy::Cached, 1),
    short(StoreKind::Auto, Strategy::Dbf, 2),
    short(StoreKind::Auto, Strategy::Serial, 1),
    sleepy(row(Engine::Jit, SearchKind::Bfs, StoreKind::Auto, 1)),
    sleepy(row(Engine::Interp, SearchKind::Bfs, StoreKind::Tree, 2)),
    sleepy(short(StoreKind::Auto, Strategy::Auto, 2)),
    stubborn(row(Engine::Jit, SearchKind::Bfs, StoreKind::Auto, 2)),
    stubborn(short(StoreKind::Tree, Strategy::Sorted, 1)),
    stubborn(row(Engine::Jit, SearchKind::Dfs, StoreKind::Auto, 1)),
    compressed(row(Engine::Jit, SearchKind::Bfs, StoreKind::Auto, 2)),
    compressed(short(StoreKind::Tree, Strategy::Auto, 1)),
    row(Engine::Jit, SearchKind::SleepDfs, StoreKind::Auto, 1),
];

/// The least memory that a search can be given, in bytes.
pub const LEAST_MEMORY: u64 = 64 << 10;

/// What a combination found.
pub(crate) struct Explored {
    pub outcome: Outcome,
    /// The liveness properties, if the search was complete and there are any.
    pub live: Option<LiveOutcome>,
    /// How the writing of the graph ended, if it was asked for.
    pub graph: Option<Ending>,
    /// The store that was used.
    pub store: &'static str,
    /// The threads that were used.
    pub threads: usize,
}

/// What a search is given beside its limits.
pub(crate) struct Extras<'a, 's> {
    pub options: &'a CheckOptions,
    pub saver: Option<&'s mut dyn Saver>,
    pub resume: Option<Resume>,
    /// The directory of the checkpoint that it goes on from.
    pub resume_from: Option<PathBuf>,
    /// Which transitions commute, if the search wants to know.
    pub commuting: Option<&'a Commuting>,
}

impl<'s> Extras<'_, 's> {
    fn short(&self) -> &ShortOptions {
        &self.options.short
    }

    /// The archive of the checkpoint that it goes on from: where it is, and its description.
    fn saved_archive(&self) -> Option<(PathBuf, Vec<u8>)> {
        let description = self.resume.as_ref()?.archive()?.to_vec();
        Some((self.resume_from.clone()?, description))
    }

    /// What a search in one thread is given.
    fn keep(self) -> Keep<'s> {
        Keep { saver: self.saver, resume: self.resume }
    }
}

/// Up to so many bits a flat store soon has slots of eight bytes, and nothing is smaller or faster. Beyond
/// that a tree takes half of its memory, and hardly more time.
const FLAT_BITS: usize = 76;

/// Bytes of flat slots before a tree takes less: some thousand states of two words.
const FEW_BYTES: u64 = 16 << 10;

/// The exact store to use: liveness and the graph need numbered states.
pub(crate) fn store_for(wanted: StoreKind, shape: Shape, numbered: bool) -> StoreKind {
    match wanted {
        _ if numbered => StoreKind::Numbered,
        StoreKind::Auto if shape.bits > FLAT_BITS => StoreKind::Tree,
        StoreKind::Auto | StoreKind::Flat if FlatStore::fits(shape) => StoreKind::Flat,
        StoreKind::Auto | StoreKind::Flat => StoreKind::Tree,
        chosen => chosen,
    }
}

/// Why a combination is not in the table, for people.
pub(crate) fn illegal(row: Row, numbered: bool) -> Option<String> {
    let lossy = matches!(row.store, StoreKind::Compact | StoreKind::Bitstate | StoreKind::Cache);
    let disk = matches!(
        row.strategy,
        Strategy::Cached | Strategy::Dbf | Strategy::Serial | Strategy::Sorted
    );
    let forgets = matches!(row.strategy, Strategy::Cached | Strategy::Dbf | Strategy::Serial);
    let reduced = row.reduction != Reduction::None;
    let why = if numbered && (reduced || row.compress || row.search == SearchKind::SleepDfs) {
        "liveness properties and graphs need all states and transitions: leave out --reduction, \
         --compress-paths and --search sleep-dfs"
    } else if row.search == SearchKind::SleepDfs
        && (reduced || row.compress || lossy || disk || row.store != StoreKind::Auto)
    {
        "a depth-first search with sleep sets has a cache of its own: leave out --store, --strategy, \
         --reduction and --compress-paths"
    } else if row.search == SearchKind::Dfs && (row.reduction == Reduction::Sleep || row.compress) {
        "--reduction sleep and --compress-paths are for breadth-first search: leave out --search dfs, or \
         use --search sleep-dfs"
    } else if reduced && (lossy || forgets) {
        "sleep and stubborn sets need a store that neither omits nor forgets states: use --store exact, and --strategy \
         auto, ram or sorted"
    } else if reduced && row.compress {
        "path compression does not go together with sleep or stubborn sets: leave out one of them"
    } else if numbered && (lossy || disk) {
        "liveness properties and graphs need all states in memory, with numbers: \
         leave out --store and --strategy"
    } else if row.search == SearchKind::Dfs && (disk || row.store == StoreKind::Cache) {
        "the strategies for short memory are breadth first: leave out --search dfs"
    } else if row.store == StoreKind::Numbered && disk {
        "a numbered store keeps all states in memory: leave out --strategy, or use another store"
    } else if matches!(row.store, StoreKind::Compact | StoreKind::Bitstate) && disk {
        "compacted states cannot go to disk: leave out --strategy, or use --store exact"
    } else if row.store == StoreKind::Cache
        && !matches!(row.strategy, Strategy::Auto | Strategy::Cached | Strategy::Serial)
    {
        "a cache goes with --strategy cached or serial"
    } else {
        return None;
    };
    Some(why.to_string())
}

/// Runs a search, then what needs the states it visited. An error is a mistake in the options.
pub(crate) fn explore(
    system: &Erased<'_>,
    row: Row,
    limits: &Limits,
    observer: &mut dyn Observer,
    sink: Option<&mut dyn Sink>,
    extras: Extras<'_, '_>,
) -> Result<Explored, String> {
    let numbered = sink.is_some() || system.live_properties() > 0;
    if let Some(why) = illegal(row, numbered) {
        return Err(why);
    }
    if let Some(memory) = limits.memory.filter(|memory| *memory < LEAST_MEMORY) {
        return Err(format!(
            "--memory {memory} is too small: a search needs at least {} KiB for its buffers",
            LEAST_MEMORY >> 10
        ));
    }
    if is_hurried(row, limits, numbered, &extras) {
        let extras = Extras { saver: None, resume: None, resume_from: None, ..extras };
        let job = Job { system, row, limits, observer: &mut *observer, extras, hurried: true };
        let explored = job.run(numbered, None)?;
        if Team::of(row.threads).is_confirmed(&explored.outcome) {
            return Ok(explored);
        }
    }
    Job { system, row, limits, observer, extras, hurried: false }.run(numbered, sink)
}

/// Memory that is not short for a small search.
const AMPLE: u64 = 64 << 20;

/// Whether threads share levels early, at the risk of doing a small search again: those that only
/// search, in memory that is not short.
fn is_hurried(row: Row, limits: &Limits, numbered: bool, extras: &Extras<'_, '_>) -> bool {
    let exact = matches!(row.store, StoreKind::Auto | StoreKind::Flat | StoreKind::Tree);
    let plain = row.search == SearchKind::Bfs && row.reduction == Reduction::None && !row.compress;
    let alone = extras.saver.is_none() && extras.resume.is_none() && !numbered;
    let at_ease = limits.memory.is_none_or(|memory| memory >= AMPLE) && limits.max_states.is_none();
    let in_memory = matches!(row.strategy, Strategy::Auto | Strategy::Ram);
    row.threads > 1 && exact && plain && alone && at_ease && in_memory
}

impl Job<'_, '_, '_> {
    fn run(self, numbered: bool, sink: Option<&mut dyn Sink>) -> Result<Explored, String> {
        let (row, shape) = (self.row, self.shape());
        if row.search == SearchKind::SleepDfs {
            return self.sleep_dfs();
        }
        match store_for(row.store, shape, numbered) {
            StoreKind::Numbered => Ok(self.numbered(sink)),
            StoreKind::Compact => self.compact(),
            StoreKind::Bitstate => self.bitstate(),
            StoreKind::Cache => self.cached(),
            _ if row.strategy == Strategy::Cached => self.cached(),
            StoreKind::Flat if self.is_dense() => {
                let dense = |shape, _| DenseStore::new(shape);
                // By then there are as many states as make a bit for each worth it.
                let few = DenseStore::bytes_for(shape) / 8 * 5;
                self.exact("dense", move |limit| Early::new(shape, few, limit, dense))
            }
            StoreKind::Flat => self.exact("flat", move |limit| FlatStore::new(shape, limit)),
            StoreKind::Auto | StoreKind::Tree => {
                let few = self.few();
                let tree = if few > 0 { TreeStore::of_many } else { TreeStore::new };
                self.exact("tree", move |limit| Early::new(shape, few, limit, tree))
            }
        }
    }
}

/// Archives are asked once per level or so: one kind for the searches is enough.
type AnyArchive = Box<dyn Archive>;

fn boxed<A: Archive + 'static>(archive: A) -> AnyArchive {
    Box::new(archive)
}

/// A search that is about to run.
struct Job<'a, 'b, 's> {
    system: &'a Erased<'a>,
    row: Row,
    limits: &'a Limits,
    observer: &'b mut dyn Observer,
    extras: Extras<'a, 's>,
    /// See [`Team::in_haste`].
    hurried: bool,
}

/// Bytes for the parts of a search that has gone to disk.
#[derive(Clone, Copy)]
struct Shares {
    /// Store, frontier and parent log together, before it goes there.
    before: u64,
    /// The store of all states.
    all: u64,
    lately: u64,
    candidates: u64,
    archive: u64,
    frontier: u64,
}

impl Shares {
    /// `at_once`: no store of all states.
    fn of(memory: u64, at_once: bool) -> Shares {
        let part = |percent: u64| (memory / 100).saturating_mul(percent);
        // With less than that the archive would be asked for every few states.
        let part_at_least = |percent| part(percent).max(LEAST_BUFFER);
        if at_once {
            Shares {
                before: u64::MAX,
                all: part(1),
                lately: part_at_least(40),
                candidates: part_at_least(20),
                archive: part_at_least(20),
                frontier: part_at_least(15),
            }
        } else {
            // A store that grows holds the old table and the new one for a while.
            Shares {
                before: part(75),
                all: part(55),
                lately: part_at_least(15),
                candidates: part_at_least(10),
                archive: part_at_least(10),
                frontier: part_at_least(10),
            }
        }
    }
}

impl Job<'_, '_, '_> {
    fn memory(&self) -> u64 {
        self.limits.memory.unwrap_or(1 << 30)
    }

    fn shape(&self) -> Shape {
        self.system.shape()
    }

    /// Whether a bit for each possible state is the smallest store, and nobody asked for another one.
    fn is_dense(&self) -> bool {
        self.row.store == StoreKind::Auto && DenseStore::fits(self.shape(), self.limits.memory)
    }

    /// Up to so many bytes states stand in flat slots, if nobody asked for a tree and they have no more than two words.
    fn few(&self) -> u64 {
        if self.row.store == StoreKind::Auto && self.shape().words <= 2 { FEW_BYTES } else { 0 }
    }

    /// Who explores. Reductions say how much they did, so nothing may be done in vain.
    fn team(&self) -> Team {
        let ahead = self.row.reduction == Reduction::None && !self.row.compress;
        let team = Team { ahead, ..Team::of(self.row.threads) };
        if self.hurried { team.in_haste() } else { team }
    }

    /// All states in memory as far as it goes, in full.
    fn exact<V: Shared>(
        self,
        name: &'static str,
        make: impl Fn(Option<u64>) -> V + Copy + 'static,
    ) -> Result<Explored, String> {
        let (shape, team) = (self.shape(), self.team());
        let strategy = match self.row.search {
            SearchKind::Dfs | SearchKind::SleepDfs => Strategy::Ram,
            SearchKind::Bfs => self.row.strategy,
        };
        match strategy {
            Strategy::Ram => {
                let store = make(self.limits.memory);
                self.in_memory(store, name)
            }
            Strategy::Serial => self.serial(make),
            Strategy::Dbf => {
                let settings = signature_settings(self.extras.short());
                let saved = self.extras.saved_archive();
                let archive = move |dir| signature_file(dir, shape, settings, saved).map(boxed);
                self.on_disk(make, true, "signatures", archive)
            }
            Strategy::Auto | Strategy::Sorted | Strategy::Cached => {
                let at_once = strategy == Strategy::Sorted;
                let bytes = Shares::of(self.memory(), at_once).archive;
                let settings = sorted::Settings::new(bytes, team.threads);
                let saved = self.extras.saved_archive();
                let archive = move |dir| match &saved {
                    Some((from, saved)) => SortedArchive::open(dir, shape, from, saved, settings)
                        .map(boxed)
                        .map_err(|why| Exhausted::Other(why.to_string())),
                    None => Ok(boxed(SortedArchive::new(dir, shape, settings))),
                };
                self.on_disk(make, at_once, if at_once { "sorted" } else { name }, archive)
            }
        }
    }

    /// Breadth first with an archive, when memory is used up or at once.
    fn on_disk<V: Shared>(
        self,
        make: impl Fn(Option<u64>) -> V + Copy + 'static,
        at_once: bool,
        name: &'static str,
        archive: impl FnOnce(ergodic_disk::Dir) -> Result<AnyArchive, Exhausted> + 'static,
    ) -> Result<Explored, String> {
        let shares = Shares::of(self.memory(), at_once);
        let team = self.team();
        let place = Place::new(self.extras.options.disk.as_deref());
        let mut store = make(Some(shares.all));
        let mut frontier = MemoryQueue::new(self.shape());
        let overflow = Overflow {
            open: Box::new(move || {
                let dir = place.open()?;
                let archive = archive(dir.clone())?;
                let lately = Box::new(move || make(Some(shares.lately)));
                Ok(Opened { lately, archive, dir })
            }),
            memory: shares.before,
            candidates: shares.candidates,
            frontier: shares.frontier,
            at_once,
        };
        let Extras { saver, resume, .. } = self.extras;
        let plan = Plan { overflow: Some(overflow), saver, resume };
        let (system, limits, observer) = (self.system, self.limits, self.observer);
        let outcome = overflowing(system, &mut store, &mut frontier, plan, &team, limits, observer);
        Ok(Explored { outcome, live: None, graph: None, store: name, threads: team.threads })
    }

    /// All states in memory, and the end when it is used up.
    fn in_memory<V: Shared>(self, mut store: V, name: &'static str) -> Result<Explored, String> {
        let team = self.team();
        let (system, limits, observer) = (self.system, self.limits, self.observer);
        let (outcome, threads) = match self.row.search {
            SearchKind::Bfs => {
                let mut frontier = MemoryQueue::new(system.shape());
                let Extras { saver, resume, .. } = self.extras;
                let plan = Plan::<V, AnyArchive> { overflow: None, saver, resume };
                let store = &mut store;
                let outcome =
                    overflowing(system, store, &mut frontier, plan, &team, limits, observer);
                (outcome, team.threads)
            }
            SearchKind::Dfs | SearchKind::SleepDfs => {
                (dfs(system, &mut Sole::new(&mut store), limits, observer), 1)
            }
        };
        Ok(Explored { outcome, live: None, graph: None, store: name, threads })
    }

    /// As [`Job::in_memory`], for a table that takes most of the memory from the start: the buffers of
    /// the queue come on top, so that there is some for small ones.
    fn beside_a_table<V: Shared>(self, store: V, name: &'static str) -> Result<Explored, String> {
        let buffers = BUFFERS.saturating_mul(self.row.threads as u64);
        let memory = self.limits.memory.map(|memory| memory.saturating_add(buffers));
        let limits = Limits { memory, ..self.limits.clone() };
        Job { limits: &limits, ..self }.in_memory(store, name)
    }

    fn compact(self) -> Result<Explored, String> {
        let short = self.extras.short();
        // A growing table needs room for the old one and the new one.
        let most = self.memory() / 10 * 6;
        let bits = match (short.bits, short.omission) {
            (Some(bits), _) => bits,
            (None, Some(omission)) => CompactStore::bits_for(most, omission)?,
            (None, None) => COMPACT_BITS,
        };
        let size = match (short.slots, self.extras.options.memory) {
            (Some(slots), _) => CompactSize::Slots(slots),
            // Asked for: take it all at once.
            (None, Some(memory)) => CompactSize::Bytes(memory / 10 * 8),
            (None, None) => CompactSize::UpTo(most),
        };
        if short.paper_layout {
            let slots = short.slots.unwrap_or(most / 8);
            let mut store = PaperCompactStore::new(self.shape(), slots, bits, short.seed)?;
            let mut frontier = MemoryQueue::new(self.shape());
            let (system, limits, keep) = (self.system, self.limits, self.extras.keep());
            let outcome = saved_bfs(system, &mut store, &mut frontier, keep, limits, self.observer);
            return Ok(Explored { outcome, live: None, graph: None, store: "compact", threads: 1 });
        }
        let options = CompactOptions { bits, seed: short.seed, size };
        let store = CompactStore::new(self.shape(), options)?;
        self.beside_a_table(store, "compact")
    }

    fn bitstate(self) -> Result<Explored, String> {
        let short = self.extras.short();
        let bytes = match self.extras.options.memory {
            Some(memory) => memory / 10 * 8,
            None => self.memory() / 4,
        };
        let size = match short.slots {
            Some(bits) => BitstateSize::Bits(bits),
            None => BitstateSize::Bytes(bytes),
        };
        let options = BitstateOptions { bits_per_state: short.bloom, seed: short.seed, size };
        let store = BitstateStore::new(self.shape(), options)?;
        self.beside_a_table(store, "bitstate")
    }

    /// What the cache of the strategies that have one is to be.
    fn cache_options(&self, entry: CacheEntry, max_rate: Option<f64>) -> CacheOptions {
        let short = self.extras.short();
        CacheOptions {
            entry,
            ways: short.ways as u32,
            replacement: match short.forget {
                Forget::LeastMet => Replacement::LeastMet,
                Forget::Random => Replacement::Random,
                Forget::Oldest => Replacement::Oldest,
            },
            size: match short.slots {
                Some(entries) => CacheSize::Entries(entries),
                None => CacheSize::Bytes(self.memory() / 16 * 15),
            },
            max_rate,
            seed: short.seed,
        }
    }

    /// A cache of states, and the queue on disk.
    fn cached(self) -> Result<Explored, String> {
        let short = self.extras.short();
        let entry = short.bits.map_or(CacheEntry::Full, CacheEntry::Signature);
        let options = self.cache_options(entry, Some(short.max_collision_rate));
        let mut cache = FoldedCache::new(self.shape(), options)?;
        let place = Place::new(self.extras.options.disk.as_deref());
        let dir = place.open().map_err(text)?;
        let mut frontier = DiskQueue::new(dir.clone(), self.shape(), self.memory() / 20);
        let limits = &Limits { memory: None, log_dir: Some(dir), ..self.limits.clone() };
        let (system, keep) = (self.system, self.extras.keep());
        let outcome = saved_bfs(system, &mut cache, &mut frontier, keep, limits, self.observer);
        Ok(Explored { outcome, live: None, graph: None, store: "cache", threads: 1 })
    }

    /// A cache until it forgets too often, then signatures on disk.
    fn serial<V: Shared>(
        self,
        make: impl Fn(Option<u64>) -> V + Copy + 'static,
    ) -> Result<Explored, String> {
        let (shape, team) = (self.shape(), self.team());
        let switch_at = self.extras.short().switch_at;
        let settings = signature_settings(self.extras.short());
        let mut cache =
            EarlyCache::new(shape, settings, self.cache_options(CacheEntry::Full, None))?;
        let place = Place::new(self.extras.options.disk.as_deref());
        let dir = place.open().map_err(text)?;
        let mut frontier = DiskQueue::new(dir.clone(), shape, self.memory() / 20);
        let shares = Shares::of(self.memory(), true);
        let mut nothing = make(Some(shares.all));
        let saved = self.extras.saved_archive();
        let open = |cache: &mut EarlyCache| {
            let seeded = saved.is_some();
            let archive =
                signature_file(dir.clone(), shape, settings, saved).and_then(|mut archive| {
                    if !seeded {
                        cache.hand_over(&mut archive)?;
                    }
                    Ok(boxed(archive))
                });
            let dir = dir.clone();
            let lately = Box::new(move || make(Some(shares.lately)));
            Overflow {
                open: Box::new(move || Ok(Opened { lately, archive: archive?, dir })),
                memory: u64::MAX,
                candidates: shares.candidates,
                frontier: shares.frontier,
                at_once: true,
            }
        };
        let full = |cache: &EarlyCache| {
            cache.insertions() >= LEAST_INSERTIONS && cache.collision_rate() >= switch_at
        };
        let limits = Limits { log_dir: Some(dir.clone()), ..self.limits.clone() };
        let outcome = serial(
            self.system,
            &mut cache,
            full,
            &mut nothing,
            &mut frontier,
            open,
            self.extras.keep(),
            &team,
            &limits,
            self.observer,
        );
        let threads = team.threads;
        Ok(Explored { outcome, live: None, graph: None, store: "cache, signatures", threads })
    }

    /// Depth first with sleep sets, over a cache.
    fn sleep_dfs(self) -> Result<Explored, String> {
        let Some(commuting) = self.extras.commuting else {
            return Err("nothing is known about which transitions commute".to_string());
        };
        let asked = self.extras.options.sleep;
        let rule = match asked.sleep {
            Sleep::Stored => SleepRule::Stored,
            Sleep::Paper => SleepRule::Paper,
            Sleep::Off => SleepRule::Off,
        };
        let note_words = if rule == SleepRule::Stored { commuting.relation.words() } else { 0 };
        let each = LedgerStore::state_bytes(self.shape(), note_words);
        let states = match asked.cache {
            Some(CacheLimit::States(states)) => states,
            Some(CacheLimit::Bytes(bytes)) => bytes / each,
            // Arrays that grow take twice as much for a while.
            None => self.memory() / 10 * 4 / each,
        };
        let oust = match asked.replace {
            Replace::Random => Oust::Random,
            Replace::LeastVisited => Oust::LeastVisited,
            Replace::MostVisited => Oust::MostVisited,
            Replace::SmallestSubtree => Oust::SmallestSubtree,
            Replace::Kind => Oust::Kind,
        };
        let seed = self.extras.short().seed;
        let options = LedgerOptions { states, note_words, oust, seed };
        let mut ledger = LedgerStore::new(self.shape(), options);
        let place = Place::new(self.extras.options.disk.as_deref());
        let mut pile = DiskPile::new(self.memory() / 10, move || place.open());
        let (independence, kinds) = (&commuting.relation, commuting.kinds.as_slice());
        let plan = SleepPlan { rule, independence, kinds, without: None };
        let (system, limits) = (self.system, self.limits);
        let outcome = sleep_dfs(system, &mut ledger, &mut pile, plan, limits, self.observer);
        Ok(Explored { outcome, live: None, graph: None, store: "cache", threads: 1 })
    }

    fn numbered(self, sink: Option<&mut dyn Sink>) -> Explored {
        let (system, limits, observer) = (self.system, self.limits, self.observer);
        let mut store = ExactStore::new(system.shape(), limits.memory);
        let outcome = match self.row.search {
            SearchKind::Bfs => {
                let mut frontier = MemoryQueue::new(system.shape());
                bfs(system, &mut store, &mut frontier, limits, observer)
            }
            SearchKind::Dfs | SearchKind::SleepDfs => dfs(system, &mut store, limits, observer),
        };
        let complete = outcome.ending == Ending::Complete && outcome.findings.is_empty();
        let live = (complete && system.live_properties() > 0)
            .then(|| liveness(system, &store, limits, observer));
        let graph = sink.map(|sink| graph(system, &store, limits, observer, sink));
        Explored { outcome, live, graph, store: "numbered", threads: 1 }
    }
}

/// Bits per state of hash compaction, unless somebody wants others.
pub(crate) const COMPACT_BITS: u32 = 48;
/// The least buffer of a search from disk, in bytes.
const LEAST_BUFFER: u64 = 512 << 10;
/// Bytes of buffers of one thread.
const BUFFERS: u64 = 2 << 20;
/// A rate of fewer insertions means nothing.
const LEAST_INSERTIONS: u64 = 100;

fn signature_settings(short: &ShortOptions) -> signatures::Settings {
    let defaults = signatures::Settings::default();
    signatures::Settings { bits: short.bits.unwrap_or(defaults.bits), seed: short.seed, ..defaults }
}

/// A new signature file, or the one of a checkpoint.
fn signature_file(
    dir: ergodic_disk::Dir,
    shape: Shape,
    settings: signatures::Settings,
    saved: Option<(PathBuf, Vec<u8>)>,
) -> Result<SignatureFile, Exhausted> {
    let file = match &saved {
        Some((from, saved)) => SignatureFile::open(dir, shape, from, saved, settings),
        None => SignatureFile::new(dir, shape, settings),
    };
    file.map_err(|why| Exhausted::Other(why.to_string()))
}

/// Why there is no more room, for people.
pub(crate) fn text(why: Exhausted) -> String {
    match why {
        Exhausted::Memory { limit } => format!("memory limit of {limit} bytes"),
        Exhausted::Other(text) => text,
    }
}
