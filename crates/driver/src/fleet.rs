//! Checks a model on several machines: the job that is published, and the three roles that work on it,
//! each with its model, its executor and its sets, which `ergodic_fleet` knows nothing about.
//!
//! The model travels as source text with its options. Whoever takes part translates it on its own, and
//! refuses a job whose program comes out differently.

mod keep;
mod live;
mod reception;
mod serve;
mod sets;
mod staff;
mod work;

pub use ergodic_fleet::nats::{Access, Broker, Embedded, Entry, JobStream, Stop};
pub use ergodic_fleet::{Job, Keys, Trouble};
pub use keep::{KeepEvent, KeepOptions, keep};
pub use live::{KeeperView, Live, Phase, WorkerView};
pub use serve::{BATCH_BYTES, BATCH_SECONDS, LEAST_STATES, ServeOptions, bytes_in_batch, serve};
pub use sets::KeeperStore;
pub use staff::Crew;
pub use work::{WorkEvent, WorkOptions, lanes, work};

use crate::load::{Model, load_text};
use crate::options::{CheckOptions, LoadOptions};
use ergodic_fleet::{Expander, PROTOCOL, Settings, fingerprint};
use ergodic_ir::Layout;
use ergodic_search::Compressed;
use ergodic_system::Erased;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The version of this program, as jobs name it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The options of a job, as they are published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobOptions {
    pub load: LoadOptions,
    pub check: CheckOptions,
    /// What keepers keep states in.
    pub store: KeeperStore,
    /// Bytes of memory of each keeper.
    pub memory: Option<u64>,
}

/// A model as it was received, if it can be taken part in; else why not.
pub(crate) struct Received {
    pub model: Model,
    pub options: JobOptions,
}

/// Text of a model, at most, in bytes.
const MOST_SOURCE: usize = 16 << 20;
/// Bits of a state, at most.
const MOST_BITS: usize = 8 << 20;

/// Translates the model of a job, and compares it with what the job says.
pub(crate) fn receive(job: &Job) -> Result<Received, String> {
    acceptable(job)?;
    let options = options_of(job)?;
    let model = load_text(&job.model, job.source.clone(), &options.load)
        .map_err(|bad| format!("its model has {} errors", bad.diagnostics.len()))?;
    let bits = Layout::new(&model.program).shape().bits;
    if program_hash(&model) != job.program || bits != job.bits {
        return Err(
            "its model is translated to another program here: use the same version on all \
             computers"
                .to_string(),
        );
    }
    Ok(Received { model, options })
}

/// Refuses a job of another version, or one whose sizes are out of all proportion.
pub(crate) fn acceptable(job: &Job) -> Result<(), String> {
    if job.protocol != PROTOCOL || job.version != VERSION {
        let version: String = job.version.chars().take(64).collect();
        return Err(format!(
            "it was published by version {version} (protocol {}), and this is version {VERSION} (protocol \
             {PROTOCOL}): use the same version on all computers",
            job.protocol
        ));
    }
    if job.source.len() > MOST_SOURCE || job.bits > MOST_BITS {
        return Err(format!(
            "its model is too large: {} bytes of text, states of {} bits",
            job.source.len(),
            job.bits
        ));
    }
    Ok(())
}

/// The options of a job. Those that this version does not know are no reason to guess.
pub(crate) fn options_of(job: &Job) -> Result<JobOptions, String> {
    let options: JobOptions = serde_json::from_value(job.options.clone())
        .map_err(|why| format!("its options make no sense here: {why}"))?;
    let again = serde_json::to_value(&options).unwrap_or_default();
    if again != job.options {
        return Err("it has options that this version does not know".to_string());
    }
    Ok(options)
}

/// What the program of a model and its states are known by.
pub(crate) fn program_hash(model: &Model) -> String {
    fingerprint(&crate::identity_text(model))
}

/// What expands the states of a job, with or without those inside of chains.
pub(crate) fn expander<'a>(
    chains: &'a Compressed<Erased<'a>>,
    job: &Job,
    check: &CheckOptions,
    filter_bytes: usize,
) -> Expander<Erased<'a>> {
    let max_depth = check.max_depth.map(|depth| depth.min(u64::from(u32::MAX)) as u32);
    let settings = Settings { max_depth, filter_bytes, ..Settings::default() };
    match check.compress {
        true => Expander::new(Erased::new(chains), job, settings, chains.passed_counter()),
        false => Expander::new(*chains.inner(), job, settings, Box::new(|| 0)),
    }
}

/// A lock that another thread's panic does not spoil: what it guards is always whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The computer's name, for people.
pub fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: String =
        name.trim().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(32).collect();
    if name.is_empty() { "somewhere".to_string() } else { name }
}

/// Random bits that nobody can guess, as far as the system has some.
pub(crate) fn random_bits() -> u64 {
    use std::io::Read;
    let mut bytes = [0; 8];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut bytes));
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    match read {
        Ok(()) => u64::from_le_bytes(bytes),
        Err(_) => clock.map_or(1, |t| t.as_nanos() as u64) ^ u64::from(std::process::id()) << 40,
    }
}
