//! Every command and option: the one list from which parsing, help, man page, shell completions
//! and the option line of model tests are made.

pub mod fleet;
mod values;

pub use values::{
    ColorArg, DeadlockArg, EngineArg, ForgetArg, FormatArg, ReductionArg, ReplaceArg, RulesArg,
    SearchArg, SleepArg, StoreArg, StrategyArg, SymmetryArg, TraceArg,
};

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use ergodic_driver::{
    CacheLimit, CheckOptions, Forget, GraphFile, LoadOptions, ProfileOptions, ShortOptions,
    SimulateOptions, SleepOptions, StoreKind, Strategy,
};
use std::path::PathBuf;
use std::time::Duration;
use values::{parse_cache, parse_const, parse_graph, parse_probability, parse_size, parse_time};

/// What the exit codes mean.
pub const EXIT_CODES: &str =
    "Exit codes: 0 holds, 1 violated, 2 incomplete, 3 bad input, 4 internal error.";

/// Visits every reachable state of a protocol or concurrent design and says, with a proof or a
/// shortest counterexample, whether it can go wrong.
#[derive(Debug, Parser)]
#[command(name = "ergodic", version, max_term_width = 100, propagate_version = true)]
#[command(after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check a model: visit all of its states
    Check(Box<CheckArgs>),
    /// Go on with a run that was saved
    Resume(Box<ResumeArgs>),
    /// Walk through a model at random
    Simulate(SimulateArgs),
    /// Measure the state space of a model: levels, locality, branching, rules and variables
    ///
    /// Properties are not evaluated, so that no violation ends the exploration; a fault leaves out the
    /// successor that it prevented. After the exploration every state is expanded once more.
    Profile(Box<ProfileArgs>),
    /// Explain what Ergodic finds out about a model before it explores anything
    Explain(ExplainArgs),
    /// Check a model with the help of other computers
    ///
    /// Publishes the model as a job at a NATS server, keeps the states, and waits for workers, which may
    /// come, go and die at any time. `--nats embedded` starts a server and workers on this computer.
    Serve(Box<fleet::ServeArgs>),
    /// Help with whatever job there is, at low priority, until Ctrl-C
    Work(fleet::WorkArgs),
    /// Keep a part of the states of a job
    Keep(fleet::KeepArgs),
    /// List the jobs at a NATS server
    Jobs(fleet::JobsArgs),
    /// End a job
    Cancel(fleet::CancelArgs),
    /// Run models against the expectations in their headers
    Test(TestArgs),
    /// Print the program that a model is translated to
    #[command(hide = true)]
    Ir(IrArgs),
    /// Print the man page, in roff
    Man,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// How the model is read: common to all commands.
#[derive(Debug, Args, Clone)]
pub struct ModelArgs {
    /// Override a constant of the model, e.g. --const N=8; may be repeated
    #[arg(long = "const", value_name = "NAME=VALUE", value_parser = parse_const)]
    pub constants: Vec<(String, String)>,
    /// Make copying an undefined value a fault, as rumur does
    #[arg(long)]
    pub strict: bool,
    /// Accept what only old models need: functions with side effects in guards and invariants
    #[arg(long, value_name = "TOOL")]
    pub compat: Option<Compat>,
    /// Iterations a while loop may take before it is reported
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub loop_limit: u64,
    /// Calls that may be nested before it is reported
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub call_limit: u32,
}

/// Tools whose oddities can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compat {
    /// CMurphi 5.4.9
    Cmurphi,
}

impl ModelArgs {
    /// As the driver wants it.
    pub fn load_options(&self) -> LoadOptions {
        LoadOptions {
            constants: self.constants.clone(),
            strict: self.strict,
            compat_cmurphi: self.compat.is_some(),
            loop_limit: Some(self.loop_limit),
            call_limit: Some(self.call_limit),
        }
    }
}

/// Options of `check` that decide what is explored; also allowed in the headers of model tests.
#[derive(Debug, Args, Clone)]
pub struct ExploreArgs {
    /// How the model is read.
    #[command(flatten)]
    pub model: ModelArgs,
    /// What counts as a deadlock: no rule enabled or only steps back to the same state (stutter), no
    /// rule enabled (stuck), nothing (off)
    #[arg(long, value_name = "MODE", default_value = "stutter")]
    pub deadlock: DeadlockArg,
    /// Symmetry reduction over scalarsets: exact, one state per orbit; multisets are always reduced
    #[arg(long, value_name = "MODE", default_value = "exact")]
    pub symmetry: SymmetryArg,
    /// Order of exploration; counterexamples of bfs are shortest. sleep-dfs needs little memory where
    /// many rules commute (see --cache)
    #[arg(long, value_name = "ORDER", default_value = "bfs")]
    pub search: SearchArg,
    /// Leave out transitions that others commute with: with sleep sets the same states are found with
    /// fewer transitions, with stubborn sets fewer states are found, and the verdict is the same
    #[arg(long, value_name = "KIND", default_value = "none")]
    pub reduction: ReductionArg,
    /// Walk through chains of states with one successor each, and do not store them; counterexamples
    /// are then not always shortest
    #[arg(long)]
    pub compress_paths: bool,
    /// States that --search sleep-dfs remembers, those on its stack included, e.g. 500, or a size, e.g.
    /// 64M; as many as memory has room for if not given
    #[arg(long, value_name = "N", value_parser = parse_cache)]
    pub cache: Option<CacheLimit>,
    /// Sleep sets of --search sleep-dfs: kept beside states, as in the paper, or none
    #[arg(long, value_name = "RULE", default_value = "stored")]
    pub sleep: SleepArg,
    /// Which state --search sleep-dfs forgets when its cache is full, of a few that are not on the stack
    #[arg(long, value_name = "WHICH", default_value = "smallest-subtree")]
    pub replace: ReplaceArg,
    /// Executor: compiled machine code, or the reference interpreter
    #[arg(long, value_name = "ENGINE", default_value = "jit")]
    pub engine: EngineArg,
    /// How visited states are kept: in full (exact), as a few bits of a hash with a bound on what may be
    /// omitted (compact), in a table that forgets (cache), as a Bloom filter for bug hunting
    /// (bitstate), on disk (disk)
    #[arg(long, value_name = "STORE", default_value = "exact")]
    pub store: StoreArg,
    /// What is done when memory is short: go on from disk (auto), stop (ram), forget states (cached),
    /// signatures on disk (dbf), both in turn (serial), or sorted states on disk from the start (sorted)
    #[arg(long, value_name = "STRATEGY", default_value = "auto")]
    pub strategy: StrategyArg,
    /// Bits kept of each state by --store compact (default 48), of a signature by --strategy dbf and
    /// serial (80), of a cached state by --strategy cached (all)
    #[arg(long, value_name = "B")]
    pub bits: Option<u32>,
    /// Choose the bits of --store compact so that the probability of an omission stays below P
    #[arg(long, value_name = "P", value_parser = parse_probability, conflicts_with = "bits")]
    pub omission: Option<f64>,
    /// Run --store compact N times with different hash functions; the omission bounds multiply
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub reruns: u32,
    /// Slots of the table of --store compact, entries of --store cache, bits of --store bitstate,
    /// instead of what --memory has room for
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub slots: Option<u64>,
    /// Entries of the cache in which a state can be, a power of two; 1 is direct-mapped
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub ways: u32,
    /// Which of these entries is overwritten
    #[arg(long, value_name = "WHICH", default_value = "least-met")]
    pub forget: ForgetArg,
    /// Stop a cached search when more than this part of its insertions overwrote a state
    #[arg(long, value_name = "R", default_value_t = 0.9, value_parser = parse_probability)]
    pub max_collision_rate: f64,
    /// Collision rate at which --strategy serial goes to disk
    #[arg(long, value_name = "R", default_value_t = 0.1, value_parser = parse_probability)]
    pub switch_at: f64,
    /// Bits set per state by --store bitstate
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub bloom: u32,
    /// Lay the table of --store compact out as in its paper: for reproducing it
    #[arg(long, hide = true)]
    pub paper_layout: bool,
    /// Directory for files when memory is short; a temporary one if not given. A directory of our own
    /// is made in it and removed at the end
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub disk: Option<PathBuf>,
    /// Threads of breadth-first search; all cores if not given. Results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Stop after N states; the verdict is then at best incomplete
    #[arg(long, value_name = "N")]
    pub max_states: Option<u64>,
    /// Do not expand states at depth N
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u64>,
    /// Stop after this time, e.g. 90, 10s, 5m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time_limit: Option<Duration>,
    /// Memory for states, frontier and trace log, e.g. 500M, 8G; most of what is free if not given. When
    /// it is used up the search goes on from disk (see --strategy)
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Go on until N distinct violations were found
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_errors: u32,
}

/// Options of `check`.
#[derive(Debug, Args, Clone)]
pub struct CheckArgs {
    /// The model
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,
    /// What is explored.
    #[command(flatten)]
    pub explore: ExploreArgs,
    /// How counterexamples are shown: changes only, full states, or not at all
    #[arg(long, value_name = "STYLE", default_value = "diff")]
    pub trace: TraceArg,
    /// Which rules to list with their counts
    #[arg(long, value_name = "WHICH", default_value = "auto")]
    pub rules: RulesArg,
    /// Write the state graph with all edges; the format follows the ending: .dot or .gv for
    /// Graphviz, .jsonl, .ndjson or .json for JSON lines
    #[arg(long, value_name = "FILE", value_parser = parse_graph, value_hint = ValueHint::FilePath)]
    pub graph: Option<GraphFile>,
    /// No progress line, on a terminal either
    #[arg(long)]
    pub no_progress: bool,
    /// Explore with and without symmetry reduction and compare: for small instances
    #[arg(long)]
    pub audit_symmetry: bool,
    /// Explore with the reduction that is asked for and with all transitions, and compare: for small
    /// instances
    #[arg(long, conflicts_with = "audit_symmetry")]
    pub audit_reduction: bool,
    /// Seed of the hash functions of stores that may omit or forget states; exact searches do not
    /// depend on it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Save the run here when it is stopped by Ctrl-C, SIGTERM or --time-limit; `ergodic resume DIR`
    /// goes on with it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub checkpoint: Option<PathBuf>,
    /// Save the run this often as well, e.g. 10m
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "checkpoint")]
    pub checkpoint_every: Option<Duration>,
    /// How results are shown.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Options of `resume`.
#[derive(Debug, Args, Clone)]
pub struct ResumeArgs {
    /// The directory that was given to --checkpoint
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub path: PathBuf,
    /// Threads; all cores if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Memory for states, frontier and trace log; as before if not given
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Directory for files when memory is short; as before if not given
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub disk: Option<PathBuf>,
    /// Stop after this time, and save again; without a limit if not given
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time_limit: Option<Duration>,
    /// Save the run this often as well; as before if not given
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub checkpoint_every: Option<Duration>,
    /// How counterexamples are shown: changes only, full states, or not at all
    #[arg(long, value_name = "STYLE", default_value = "diff")]
    pub trace: TraceArg,
    /// Which rules to list with their counts
    #[arg(long, value_name = "WHICH", default_value = "auto")]
    pub rules: RulesArg,
    /// No progress line, on a terminal either
    #[arg(long)]
    pub no_progress: bool,
    /// How results are shown.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl ResumeArgs {
    /// The options of the saved run, with what is given now.
    pub fn check_options(&self, saved: &CheckOptions) -> CheckOptions {
        CheckOptions {
            threads: self.threads.map_or_else(cores, usize::from),
            memory: self.memory.or(saved.memory),
            disk: self.disk.clone().or_else(|| saved.disk.clone()),
            time_limit: self.time_limit,
            checkpoint: Some(self.path.clone()),
            checkpoint_every: self.checkpoint_every.or(saved.checkpoint_every),
            ..saved.clone()
        }
    }
}

/// How results are shown.
#[derive(Debug, Args, Clone)]
pub struct OutputArgs {
    /// Output for people or for programs
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: FormatArg,
    /// Colours: on a terminal only, always, or never
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorArg,
}

/// Options of `simulate`.
#[derive(Debug, Args, Clone)]
pub struct SimulateArgs {
    /// The model
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,
    /// How the model is read.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Seed of the random choices; the same seed gives the same walk
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Random walks to take
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub walks: u64,
    /// Steps of one walk at most
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub steps: u64,
    /// Print every step with what it changed, not only the summary
    #[arg(long, short)]
    pub verbose: bool,
    /// What counts as a deadlock
    #[arg(long, value_name = "MODE", default_value = "stutter")]
    pub deadlock: DeadlockArg,
    /// Executor
    #[arg(long, value_name = "ENGINE", default_value = "jit")]
    pub engine: EngineArg,
    /// How steps and counterexamples are shown
    #[arg(long, value_name = "STYLE", default_value = "diff")]
    pub trace: TraceArg,
    /// Stop after this time, e.g. 90, 10s, 5m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time_limit: Option<Duration>,
    /// How results are shown.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Options of `profile`.
#[derive(Debug, Args, Clone)]
pub struct ProfileArgs {
    /// The model
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,
    /// How the model is read.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Symmetry reduction over scalarsets: exact, one state per orbit; multisets are always reduced
    #[arg(long, value_name = "MODE", default_value = "exact")]
    pub symmetry: SymmetryArg,
    /// Executor: compiled machine code, or the reference interpreter
    #[arg(long, value_name = "ENGINE", default_value = "jit")]
    pub engine: EngineArg,
    /// Look successors up before they are reduced, which is a mistake: for comparison with a paper that did
    #[arg(long)]
    pub look_up_first: bool,
    /// Evaluate properties and stop at the first violation, as `check` does
    #[arg(long)]
    pub until_violation: bool,
    /// With --until-violation: what counts as a deadlock
    #[arg(long, value_name = "MODE", default_value = "off")]
    pub deadlock: DeadlockArg,
    /// Stop after N states; the profile is then of a part
    #[arg(long, value_name = "N")]
    pub max_states: Option<u64>,
    /// Do not expand states at depth N
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u64>,
    /// Stop after this time, e.g. 90, 10s, 5m, 2h: half of it is for exploring, half for measuring
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time_limit: Option<Duration>,
    /// Memory for states and frontier, e.g. 500M, 8G
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// No progress line, on a terminal either
    #[arg(long)]
    pub no_progress: bool,
    /// Output for people, for programs, or as one page with charts
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: ReportFormat,
    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Colours: on a terminal only, always, or never
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorArg,
}

/// Values of `--format` of commands that can make a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For people
    Text,
    /// One JSON object
    Json,
    /// One page of HTML that needs no other file
    Html,
}

impl ReportFormat {
    /// How messages about the input are shown.
    pub fn messages(self, color: ColorArg) -> OutputArgs {
        let format = match self {
            ReportFormat::Json => FormatArg::Json,
            ReportFormat::Text | ReportFormat::Html => FormatArg::Text,
        };
        OutputArgs { format, color }
    }
}

impl ProfileArgs {
    /// As the driver wants it.
    pub fn profile_options(&self) -> ProfileOptions {
        ProfileOptions {
            engine: self.engine.engine(),
            symmetry: self.symmetry.symmetry(),
            look_up_first: self.look_up_first,
            until_violation: self.until_violation,
            deadlock: self.deadlock.mode(),
            max_states: self.max_states,
            max_depth: self.max_depth,
            time_limit: self.time_limit,
            memory: self.memory,
        }
    }
}

/// Options of `explain`.
#[derive(Debug, Args, Clone)]
pub struct ExplainArgs {
    /// What to explain.
    #[command(subcommand)]
    pub topic: Topic,
}

/// What can be explained.
#[derive(Debug, Subcommand, Clone)]
pub enum Topic {
    /// Which rule instances commute, and why others depend on each other
    ///
    /// From the text of the model alone: no state is visited. Searches with sleep sets go by this.
    Independence(Box<IndependenceArgs>),
}

/// Options of `explain independence`.
#[derive(Debug, Args, Clone)]
pub struct IndependenceArgs {
    /// The model
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,
    /// How the model is read.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Only why these two depend on each other: rule instances as they are printed, e.g.
    /// 'send(i: 1)', or rules
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with = "rules")]
    pub pair: Option<Vec<String>>,
    /// Only the instances of this rule; may be repeated
    #[arg(long = "rule", value_name = "NAME")]
    pub rules: Vec<String>,
    /// Output for people, for programs, or as one page with the matrix as a picture
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: ReportFormat,
    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Colours: on a terminal only, always, or never
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorArg,
}

/// Options of `test`.
#[derive(Debug, Args, Clone)]
pub struct TestArgs {
    /// Models, and directories that are searched for models
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// Run every model through every legal combination of engine, search and store as well
    #[arg(long)]
    pub all_rows: bool,
    /// Rewrite the expectations in the headers to what was found
    #[arg(long)]
    pub bless: bool,
    /// Run only models whose path contains this text
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Colours: on a terminal only, always, or never
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorArg,
}

/// Options of `ir`.
#[derive(Debug, Args, Clone)]
pub struct IrArgs {
    /// The model
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,
    /// How the model is read.
    #[command(flatten)]
    pub model: ModelArgs,
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl ExploreArgs {
    /// As the driver wants it.
    pub fn check_options(&self) -> CheckOptions {
        CheckOptions {
            engine: self.engine.engine(),
            search: self.search.kind(),
            reduction: self.reduction.kind(),
            compress: self.compress_paths,
            sleep: SleepOptions {
                sleep: self.sleep.rule(),
                cache: self.cache,
                replace: self.replace.which(),
            },
            symmetry: self.symmetry.symmetry(),
            deadlock: self.deadlock.mode(),
            store: match self.store {
                StoreArg::Exact | StoreArg::Disk => StoreKind::Auto,
                StoreArg::Flat => StoreKind::Flat,
                StoreArg::Tree => StoreKind::Tree,
                StoreArg::Numbered => StoreKind::Numbered,
                StoreArg::Compact => StoreKind::Compact,
                StoreArg::Cache => StoreKind::Cache,
                StoreArg::Bitstate => StoreKind::Bitstate,
            },
            strategy: match (self.store, self.strategy) {
                (StoreArg::Disk, StrategyArg::Auto) => Strategy::Sorted,
                (_, StrategyArg::Auto) => Strategy::Auto,
                (_, StrategyArg::Ram) => Strategy::Ram,
                (_, StrategyArg::Cached) => Strategy::Cached,
                (_, StrategyArg::Dbf) => Strategy::Dbf,
                (_, StrategyArg::Serial) => Strategy::Serial,
                (_, StrategyArg::Sorted) => Strategy::Sorted,
            },
            short: ShortOptions {
                bits: self.bits,
                omission: self.omission,
                reruns: self.reruns,
                seed: 0,
                slots: self.slots,
                ways: self.ways as usize,
                forget: match self.forget {
                    ForgetArg::LeastMet => Forget::LeastMet,
                    ForgetArg::Random => Forget::Random,
                    ForgetArg::Oldest => Forget::Oldest,
                },
                max_collision_rate: self.max_collision_rate,
                switch_at: self.switch_at,
                bloom: self.bloom,
                paper_layout: self.paper_layout,
            },
            disk: self.disk.clone(),
            checkpoint: None,
            checkpoint_every: None,
            threads: self.threads.map_or_else(cores, usize::from),
            max_states: self.max_states,
            max_depth: self.max_depth,
            time_limit: self.time_limit,
            memory: self.memory,
            max_errors: self.max_errors as usize,
            traces: true,
            graph: None,
        }
    }
}

impl SimulateArgs {
    /// As the driver wants it.
    pub fn simulate_options(&self) -> SimulateOptions {
        SimulateOptions {
            engine: self.engine.engine(),
            deadlock: self.deadlock.mode(),
            seed: self.seed,
            walks: self.walks,
            steps: self.steps,
            time_limit: self.time_limit,
        }
    }
}

/// The options line of a model test, parsed like those of `check`.
#[derive(Debug, Parser)]
#[command(name = "options", no_binary_name = true, disable_help_flag = true)]
pub struct HeaderOptions {
    /// What is explored.
    #[command(flatten)]
    pub explore: ExploreArgs,
}
