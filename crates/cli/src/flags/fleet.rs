//! Options of the commands for several machines.

use super::values::{parse_size, parse_time};
use super::{DeadlockArg, EngineArg, ModelArgs, OutputArgs, RulesArg, SymmetryArg, TraceArg};
use clap::{Args, ValueEnum, ValueHint};
use ergodic_driver::CheckOptions;
use ergodic_driver::fleet::{Access, KeepOptions, KeeperStore, Keys, ServeOptions, WorkOptions};
use std::path::PathBuf;
use std::time::Duration;

/// The value of `--nats` that starts a server.
pub const EMBEDDED: &str = "embedded";

/// Adds to the message about a missing `--nats` that a variable will do: it is what most people want to
/// set once.
pub fn name_variable(error: &mut clap::Error) {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let missing = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => {
            missing.iter().any(|arg| arg.starts_with("--nats "))
        }
        _ => false,
    };
    if missing && error.kind() == ErrorKind::MissingRequiredArgument {
        let tip = "the address can also stand in the variable ERGODIC_NATS";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
}

/// How the NATS server is reached: common to all of these commands.
#[derive(Debug, Args, Clone)]
pub struct NatsArgs {
    /// The NATS server, with JetStream: nats://HOST:PORT or tls://HOST:PORT, or several of a cluster,
    /// separated by commas
    #[arg(long, value_name = "URL", env = "ERGODIC_NATS", hide_env_values = true)]
    pub nats: String,
    /// The token that the server wants; better in the variable than on the command line
    #[arg(long, value_name = "TOKEN", env = "ERGODIC_NATS_TOKEN", hide_env_values = true)]
    pub nats_token: Option<String>,
    /// The user that the server knows, with the password in ERGODIC_NATS_PASSWORD
    #[arg(long, value_name = "NAME", env = "ERGODIC_NATS_USER")]
    pub nats_user: Option<String>,
    /// The password of --nats-user
    #[arg(long, value_name = "PASSWORD", env = "ERGODIC_NATS_PASSWORD", hide = true)]
    pub nats_password: Option<String>,
    /// A file of credentials, as nsc writes it
    #[arg(long, value_name = "FILE", env = "ERGODIC_NATS_CREDS", value_hint = ValueHint::FilePath)]
    pub nats_creds: Option<PathBuf>,
    /// A file with the seed of an nkey
    #[arg(long, value_name = "FILE", env = "ERGODIC_NATS_NKEY", value_hint = ValueHint::FilePath)]
    pub nats_nkey: Option<PathBuf>,
    /// Refuse to talk without TLS (a URL with tls:// does so, too)
    #[arg(long, env = "ERGODIC_TLS")]
    pub tls: bool,
    /// Certificates of the authority that signed the server's
    #[arg(long, value_name = "FILE", env = "ERGODIC_TLS_CA", value_hint = ValueHint::FilePath)]
    pub tls_ca: Option<PathBuf>,
    /// Our own certificate, if the server wants one
    #[arg(long, value_name = "FILE", env = "ERGODIC_TLS_CERT", requires = "tls_key",
        value_hint = ValueHint::FilePath)]
    pub tls_cert: Option<PathBuf>,
    /// The key of our own certificate
    #[arg(long, value_name = "FILE", env = "ERGODIC_TLS_KEY", requires = "tls_cert",
        value_hint = ValueHint::FilePath)]
    pub tls_key: Option<PathBuf>,
    /// What the subjects of answers begin with, where the server allows only some
    #[arg(long, value_name = "PREFIX", env = "ERGODIC_INBOX", default_value = "_INBOX_ergodic")]
    pub inbox_prefix: String,
}

impl NatsArgs {
    /// As the driver wants it.
    pub fn access(&self) -> Access {
        let user = self.nats_user.clone();
        Access {
            url: self.nats.clone(),
            token: self.nats_token.clone(),
            user: user.map(|user| (user, self.nats_password.clone().unwrap_or_default())),
            creds: self.nats_creds.clone(),
            nkey_seed_file: self.nats_nkey.clone(),
            tls_ca: self.tls_ca.clone(),
            tls_identity: self.tls_cert.clone().zip(self.tls_key.clone()),
            tls_required: self.tls,
            inbox_prefix: self.inbox_prefix.clone(),
            ..Access::default()
        }
    }

    /// The variables that give another process the same access.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let all = [
            ("ERGODIC_NATS", Some(self.nats.clone())),
            ("ERGODIC_NATS_TOKEN", self.nats_token.clone()),
            ("ERGODIC_NATS_USER", self.nats_user.clone()),
            ("ERGODIC_NATS_PASSWORD", self.nats_password.clone()),
            ("ERGODIC_NATS_CREDS", path(&self.nats_creds)),
            ("ERGODIC_NATS_NKEY", path(&self.nats_nkey)),
            ("ERGODIC_TLS", self.tls.then(|| "true".to_string())),
            ("ERGODIC_TLS_CA", path(&self.tls_ca)),
            ("ERGODIC_TLS_CERT", path(&self.tls_cert)),
            ("ERGODIC_TLS_KEY", path(&self.tls_key)),
            ("ERGODIC_INBOX", Some(self.inbox_prefix.clone())),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// Values of `--store` of keepers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeeperStoreArg {
    /// In memory, in full; on disk when memory is used up
    Exact,
    /// 48 bits of a hash of each state, with an omission bound
    Compact,
    /// On disk from the start
    Disk,
}

impl KeeperStoreArg {
    fn store(self) -> KeeperStore {
        match self {
            KeeperStoreArg::Exact => KeeperStore::Exact,
            KeeperStoreArg::Compact => KeeperStore::Compact,
            KeeperStoreArg::Disk => KeeperStore::Disk,
        }
    }
}

/// Values of `--keys`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeysArg {
    /// Whole states
    Exact,
    /// Signatures of 128 bits, with an omission bound
    Signatures,
}

/// Values of `--levels`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LevelsArg {
    /// As they come
    Loose,
    /// One after the other
    Strict,
}

/// Values of `--live`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LiveArg {
    /// On a terminal, for people
    Auto,
    /// A JSON object per line on standard error
    Json,
    /// Not at all
    Off,
}

/// Options of `serve`.
#[derive(Debug, Args, Clone)]
pub struct ServeArgs {
    /// The model
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub path: PathBuf,
    /// How the server is reached; `--nats embedded` starts one of our own on this computer.
    #[command(flatten)]
    pub nats: NatsArgs,
    /// Keepers on this computer: each holds a part of the states
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub keepers: u32,
    /// Keepers on other computers, where `ergodic keep` is to be started
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub remote_keepers: u32,
    /// Workers on this computer, one thread each; with --nats embedded as many as it has cores
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// What keepers keep states in
    #[arg(long, value_name = "KIND", default_value = "exact")]
    pub store: KeeperStoreArg,
    /// What they keep of a state; signatures make messages of large states shorter
    #[arg(long, value_name = "KIND", default_value = "exact")]
    pub keys: KeysArg,
    /// Levels: as they come, or one after the other, which gives shortest counterexamples and the counts
    /// and depth of `check`
    #[arg(long, value_name = "ORDER", default_value = "loose")]
    pub levels: LevelsArg,
    /// Deliver a batch again when its worker has been silent for so long
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    pub redeliver_after: Duration,
    /// Bytes of batches that may wait at the server, e.g. 10G; as many as its disk holds if not given
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub queue_bytes: Option<u64>,
    /// How many servers of a cluster hold each batch: with 3, one may be lost with its disk
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=5))]
    pub replicas: u32,
    /// States per batch; about 30 ms of work if not given
    #[arg(long, value_name = "N")]
    pub batch_states: Option<u32>,
    /// Where keepers on this computer write their logs; a temporary directory if not given
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub disk: Option<PathBuf>,
    /// Memory of each keeper, e.g. 500M, 8G; a share of what is free if not given
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// How the model is read.
    #[command(flatten)]
    pub model: ModelArgs,
    /// What counts as a deadlock
    #[arg(long, value_name = "MODE", default_value = "stutter")]
    pub deadlock: DeadlockArg,
    /// Symmetry reduction over scalarsets
    #[arg(long, value_name = "MODE", default_value = "exact")]
    pub symmetry: SymmetryArg,
    /// Executor of all workers
    #[arg(long, value_name = "ENGINE", default_value = "jit")]
    pub engine: EngineArg,
    /// Walk through chains of states with one successor each, and do not store them
    #[arg(long)]
    pub compress_paths: bool,
    /// Stop after about N states
    #[arg(long, value_name = "N")]
    pub max_states: Option<u64>,
    /// Do not expand states at depth N (with --levels strict)
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u64>,
    /// Stop after this time, e.g. 90, 10s, 5m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time_limit: Option<Duration>,
    /// How counterexamples are shown
    #[arg(long, value_name = "STYLE", default_value = "diff")]
    pub trace: TraceArg,
    /// Whether to list the rules with their counts
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub rules: RulesArg,
    /// How the job is shown while it runs
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub live: LiveArg,
    /// How results are shown.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl ServeArgs {
    /// As the driver wants it.
    pub fn check_options(&self) -> CheckOptions {
        CheckOptions {
            engine: self.engine.engine(),
            symmetry: self.symmetry.symmetry(),
            compress: self.compress_paths,
            deadlock: self.deadlock.mode(),
            max_states: self.max_states,
            max_depth: self.max_depth,
            time_limit: self.time_limit,
            memory: self.memory,
            traces: self.trace != TraceArg::Off,
            ..CheckOptions::default()
        }
    }

    /// As the driver wants it.
    pub fn serve_options(&self) -> ServeOptions {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = if self.nats.nats == EMBEDDED { cores } else { 0 };
        ServeOptions {
            keepers: self.keepers,
            remote_keepers: self.remote_keepers,
            workers: self.workers.unwrap_or(workers),
            store: self.store.store(),
            keys: match self.keys {
                KeysArg::Exact => Keys::Exact,
                KeysArg::Signatures => Keys::Signatures,
            },
            strict: self.levels == LevelsArg::Strict,
            redeliver: self.redeliver_after,
            queue_bytes: self.queue_bytes,
            replicas: self.replicas,
            batch_states: self.batch_states,
            disk: self.disk.clone(),
        }
    }
}

/// Options of `work`.
#[derive(Debug, Args, Clone)]
pub struct WorkArgs {
    /// How the server is reached.
    #[command(flatten)]
    pub nats: NatsArgs,
    /// Threads that compute; all cores if not given
    #[arg(long, short, value_name = "N")]
    pub threads: Option<usize>,
    /// How much to give way to other programs, from 0 (not at all) to 19
    #[arg(long, value_name = "N", default_value_t = 19, value_parser = clap::value_parser!(i32).range(0..=19))]
    pub nice: i32,
    /// Work for this job only, and end with it
    #[arg(long, value_name = "ID")]
    pub job: Option<String>,
    /// End when the job is over, instead of waiting for the next
    #[arg(long)]
    pub once: bool,
    /// Memory for states that need not be asked about, e.g. 64M
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = parse_size)]
    pub filter: u64,
    /// Memory that a job may make this process use, e.g. 4G: whoever publishes one that takes more gets no
    /// help from here
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = parse_size)]
    pub memory: u64,
    /// Say nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
    /// End when the process that started this one does
    #[arg(long, hide = true)]
    pub with_parent: bool,
}

impl WorkArgs {
    /// As the driver wants it.
    pub fn work_options(&self) -> WorkOptions {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        WorkOptions {
            threads: self.threads.unwrap_or(cores).max(1),
            filter_bytes: self.filter as usize,
            job: self.job.clone(),
            once: self.once,
        }
    }
}

/// Options of `keep`.
#[derive(Debug, Args, Clone)]
pub struct KeepArgs {
    /// How the server is reached.
    #[command(flatten)]
    pub nats: NatsArgs,
    /// Where the keeper writes its log; with the same directory it goes on where it was
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Keep states of this job only
    #[arg(long, value_name = "ID")]
    pub job: Option<String>,
    /// The part of the states to keep; the coordinator chooses if not given
    #[arg(long, value_name = "N", hide = true)]
    pub shard: Option<u32>,
    /// Memory, e.g. 8G, instead of what the job says
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// What to keep states in, instead of what the job says
    #[arg(long, value_name = "KIND")]
    pub store: Option<KeeperStoreArg>,
    /// Say nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
    /// End when the process that started this one does
    #[arg(long, hide = true)]
    pub with_parent: bool,
}

impl KeepArgs {
    /// As the driver wants it.
    pub fn keep_options(&self) -> KeepOptions {
        KeepOptions {
            job: self.job.clone(),
            shard: self.shard,
            dir: self.dir.clone(),
            // One that `serve` started writes where its user said with another option.
            dir_option: if self.with_parent { "--disk DIR" } else { "--dir DIR" },
            memory: self.memory,
            store: self.store.map(KeeperStoreArg::store),
        }
    }
}

/// Options of `jobs`.
#[derive(Debug, Args, Clone)]
pub struct JobsArgs {
    /// How the server is reached.
    #[command(flatten)]
    pub nats: NatsArgs,
    /// How results are shown.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Options of `cancel`.
#[derive(Debug, Args, Clone)]
pub struct CancelArgs {
    /// The job, as `ergodic jobs` names it
    #[arg(value_name = "ID")]
    pub job: String,
    /// How the server is reached.
    #[command(flatten)]
    pub nats: NatsArgs,
}
