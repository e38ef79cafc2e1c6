//! A keeper's process: takes a shard of a job, or goes on with the one that its directory holds.

use super::{Broker, Entry, Job, KeeperStore, Stop, acceptable, options_of, random_bits, sets};
use ergodic_disk::Dir;
use ergodic_fleet::nats::serve_keeper;
use ergodic_fleet::{Codec, Keeper, Trouble};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a keeper is told.
#[derive(Clone, Debug, Default)]
pub struct KeepOptions {
    /// Its job; any that wants a keeper if not given.
    pub job: Option<String>,
    /// Its shard; the coordinator chooses if not given.
    pub shard: Option<u32>,
    /// Where its files go.
    pub dir: PathBuf,
    /// The option with which its user gives another directory, as in `--dir DIR`.
    pub dir_option: &'static str,
    /// Bytes of memory, instead of what the job says.
    pub memory: Option<u64>,
    /// What it keeps states in, instead of what the job says.
    pub store: Option<KeeperStore>,
}

/// What a keeper tells.
#[derive(Clone, Debug, PartialEq)]
pub enum KeepEvent {
    /// No job wants a keeper.
    Waiting,
    /// It keeps a shard, and has so many states already.
    Keeping {
        /// The job.
        job: String,
        /// The shard.
        shard: u32,
        /// States that its log brought back.
        states: u64,
    },
}

/// What a keeper remembers of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Myself {
    who: u64,
    job: String,
    shard: u32,
}

const MYSELF: &str = "keeper.json";
const POLL: Duration = Duration::from_millis(500);

/// Keeps a shard until its job is over; says why it ended.
pub fn keep(
    broker: &Broker,
    stop: &Stop,
    options: &KeepOptions,
    tell: &mut dyn FnMut(KeepEvent),
) -> Result<Trouble, String> {
    let called = options.dir_option;
    let dir = Dir::at(&options.dir).map_err(|why| why.called(called).to_string())?.called(called);
    let mut worked = false;
    let (job, shard) = loop {
        // What has worked before will work again: the server may just have been restarted.
        let jobs = match broker.jobs() {
            Err(why) if !worked && !stop.asked() => return Err(why),
            jobs => jobs.unwrap_or_default(),
        };
        worked = true;
        if stop.asked() {
            return Ok(Trouble::Stopped);
        }
        if let Some(found) = find(broker, jobs, options, &dir)? {
            break found;
        }
        tell(KeepEvent::Waiting);
        std::thread::sleep(POLL);
    };
    let refused = |why: String| format!("job {} is refused: {why}", job.id);
    let asked = acceptable(&job).and_then(|()| options_of(&job)).map_err(refused)?;
    let codec = Codec::new(&job);
    // Of a keeper that was killed: its log has all that is in there.
    let files = options.dir.join("set");
    let _ = std::fs::remove_dir_all(&files);
    // Others of this job are on other computers, as far as a keeper knows: whoever starts several on one
    // says how much each may have.
    let memory = sets::memory_for(options.memory.or(asked.memory), 1);
    let store = options.store.unwrap_or(asked.store);
    let set = sets::make(store, codec.key_shape(), memory, job.seed, &files, called)?;
    let mut keeper = Keeper::open(&job, shard, set, &dir)?;
    tell(KeepEvent::Keeping { job: job.id.clone(), shard, states: keeper.states() });
    let ended = serve_keeper(broker, &job, shard, stop, |requests| keeper.answer(requests));
    drop(keeper);
    if ended == Trouble::Over {
        for name in ["claims", "parents", MYSELF, "lock"] {
            let _ = std::fs::remove_file(options.dir.join(name));
        }
        let _ = std::fs::remove_dir_all(&files);
    }
    Ok(ended)
}

/// The job and shard to keep, if there is one.
fn find(
    broker: &Broker,
    jobs: Vec<Entry>,
    options: &KeepOptions,
    dir: &Dir,
) -> Result<Option<(Job, u32)>, String> {
    let before = read_myself(&options.dir);
    let who = before.as_ref().map_or_else(random_bits, |myself| myself.who);
    // States of a job are there: no other will do.
    let bound = before.as_ref().filter(|_| options.dir.join("claims").exists());
    if let (Some(myself), Some(wanted)) = (bound, &options.job)
        && myself.job != *wanted
    {
        return Err(format!(
            "{} holds states of job {}: give this one another directory",
            options.dir.display(),
            myself.job
        ));
    }
    for entry in jobs {
        let Entry::Job(job) = entry else { continue };
        let wanted = bound.map(|myself| &myself.job).or(options.job.as_ref());
        if wanted.is_some_and(|wanted| *wanted != job.id) {
            continue;
        }
        let known = before.as_ref().filter(|myself| myself.job == job.id).map(|m| m.shard);
        let shard = match known.or(options.shard) {
            Some(shard) => Some(shard),
            None => ask_for_shard(broker, &job.id, who),
        };
        if let Some(shard) = shard.filter(|shard| *shard < job.keepers) {
            write_myself(dir, &Myself { who, job: job.id.clone(), shard })?;
            return Ok(Some((*job, shard)));
        }
    }
    match bound {
        Some(myself) => Err(format!(
            "{} holds states of job {}, which is not there: give another directory, or empty it",
            options.dir.display(),
            myself.job
        )),
        None => Ok(None),
    }
}

/// Asks the coordinator for a shard that nobody keeps.
fn ask_for_shard(broker: &Broker, job: &str, who: u64) -> Option<u32> {
    let answer =
        broker.ask_desk(job, &json!({"ask": "keep", "who": who}), Duration::from_secs(1))?;
    answer.get("shard")?.as_u64()?.try_into().ok()
}

fn read_myself(dir: &Path) -> Option<Myself> {
    serde_json::from_slice(&std::fs::read(dir.join(MYSELF)).ok()?).ok()
}

fn write_myself(dir: &Dir, myself: &Myself) -> Result<(), String> {
    let path = dir.path().join(MYSELF);
    let text = serde_json::to_vec(myself).unwrap_or_default();
    std::fs::write(&path, text).map_err(|why| dir.failed("write", &path, &why).to_string())
}
