//! A worker's process: joins whatever job there is, compiles its model, and expands batches.

use super::{Broker, Entry, Job, Received, Stop, expander, host, receive};
use crate::build::{Built, with_system};
use crate::options::CheckOptions;
use ergodic_fleet::nats::{NatsLink, Traffic};
use ergodic_fleet::{Done, Paced, Permits, Trouble, work as work_on};
use ergodic_search::Compressed;
use ergodic_system::Erased;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// What a worker is told.
#[derive(Clone, Debug)]
pub struct WorkOptions {
    /// Threads that compute.
    pub threads: usize,
    /// Bytes of states that it need not ask about, over all threads.
    pub filter_bytes: usize,
    /// Work for this job only, and end with it.
    pub job: Option<String>,
    /// End when a job that was worked on is over.
    pub once: bool,
}

/// What a worker tells.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkEvent {
    /// There is no job.
    Waiting,
    /// It works on a job.
    Joined {
        /// The job.
        job: String,
        /// Its model.
        model: String,
        /// Where it was started.
        host: String,
        /// How long it took to compile the model.
        compile: Duration,
    },
    /// It does not work on a job.
    Refused {
        /// The job.
        job: String,
        /// Why.
        why: String,
    },
    /// The server says that nobody serves a job, and has said so for a while.
    Unserved {
        /// The job.
        job: String,
    },
    /// It has left a job that nobody serves; if somebody does again, it comes back.
    Deserted {
        /// The job.
        job: String,
        /// States that it expanded.
        states: u64,
    },
    /// It works.
    Working {
        /// States expanded so far.
        states: u64,
        /// Batches so far.
        batches: u64,
    },
    /// Its work on a job has ended.
    Left {
        /// The job.
        job: String,
        /// Why.
        why: Trouble,
        /// States that it expanded.
        states: u64,
    },
}

/// How often a worker looks for jobs.
const POLL: Duration = Duration::from_millis(500);
/// How often it gives a sign of life.
const BEAT: Duration = Duration::from_secs(1);
/// How long it rests when something does not work.
const REST: Duration = Duration::from_secs(1);
/// How often a worker that has nothing to do finds out whether anybody serves its job.
const ASK: Duration = Duration::from_secs(5);
/// A coordinator that is cut off, or whose server was restarted, comes back within this time, mostly.
const NOBODY: Duration = Duration::from_secs(10);
/// Stack of its threads: a state's guards and rules may call deeply.
const STACK: usize = 256 << 20;

/// Lanes of a worker that computes with so many threads: while one waits for an answer, another computes.
pub const fn lanes(threads: usize) -> usize {
    threads + 1
}

/// Jobs that nobody serves, as far as the server says.
#[derive(Default)]
struct Orphans(HashMap<String, Orphan>);

struct Orphan {
    since: Instant,
    told: bool,
}

impl Orphans {
    /// For how long nobody has served a job; `None` if somebody does, or nobody knows. Once it is more than
    /// a moment, that is told.
    fn look(
        &mut self,
        broker: &Broker,
        id: &str,
        tell: &mut (dyn FnMut(WorkEvent) + Send),
    ) -> Option<Duration> {
        if !broker.nobody_serves(id) {
            self.0.remove(id);
            return None;
        }
        let first = || Orphan { since: Instant::now(), told: false };
        let orphan = self.0.entry(id.to_string()).or_insert_with(first);
        let lasts = orphan.since.elapsed();
        if lasts >= NOBODY && !std::mem::replace(&mut orphan.told, true) {
            tell(WorkEvent::Unserved { job: id.to_string() });
        }
        Some(lasts)
    }
}

/// Works on jobs until it is asked to stop.
pub fn work(
    broker: &Broker,
    stop: &Stop,
    options: &WorkOptions,
    tell: &mut (dyn FnMut(WorkEvent) + Send),
) -> Result<(), String> {
    let mut refused = HashSet::new();
    let mut ended = HashSet::new();
    let mut orphans = Orphans::default();
    let mut worked = false;
    while !stop.asked() {
        let jobs = match choose(broker, options, &mut refused, &ended, tell) {
            Ok(jobs) => jobs,
            Err(_) if stop.asked() => return Ok(()),
            // What has worked before will work again: the server may just have been restarted.
            Err(_) if worked => {
                std::thread::sleep(REST);
                continue;
            }
            Err(why) => return Err(why),
        };
        worked = true;
        let taken = take(broker, jobs, options, &mut refused, &mut orphans, tell);
        let Some((job, received)) = taken else {
            tell(WorkEvent::Waiting);
            std::thread::sleep(POLL);
            continue;
        };
        let (why, states, deserted) = join(broker, &job, &received, options, &mut orphans, tell);
        if deserted && why == Trouble::Over {
            tell(WorkEvent::Deserted { job: job.id, states });
            continue;
        }
        tell(WorkEvent::Left { job: job.id.clone(), why: why.clone(), states });
        match why {
            Trouble::Over => {
                // A name is never used again: there is nothing to wait for.
                if options.once || options.job.is_some() {
                    return Ok(());
                }
                ended.insert(job.id);
            }
            Trouble::Stopped => return Ok(()),
            Trouble::Broken(_) => std::thread::sleep(REST),
        }
    }
    Ok(())
}

/// The jobs to work on, the oldest first.
fn choose(
    broker: &Broker,
    options: &WorkOptions,
    refused: &mut HashSet<String>,
    ended: &HashSet<String>,
    tell: &mut (dyn FnMut(WorkEvent) + Send),
) -> Result<Vec<Job>, String> {
    let mut jobs = Vec::new();
    for entry in broker.jobs()? {
        match entry {
            Entry::Job(job) => jobs.push(*job),
            Entry::Unreadable { id, why } => {
                if refused.insert(id.clone()) {
                    tell(WorkEvent::Refused { job: id, why });
                }
            }
        }
    }
    jobs.retain(|job| {
        let wanted = options.job.as_ref().is_none_or(|wanted| *wanted == job.id);
        wanted && !refused.contains(&job.id) && !ended.contains(&job.id)
    });
    jobs.sort_by_key(|job| job.began);
    Ok(jobs)
}

/// The first of these jobs that we can work on. One that nobody serves must not keep us from others; but
/// whoever wants no other waits there, and learns that it was cancelled.
fn take(
    broker: &Broker,
    jobs: Vec<Job>,
    options: &WorkOptions,
    refused: &mut HashSet<String>,
    orphans: &mut Orphans,
    tell: &mut (dyn FnMut(WorkEvent) + Send),
) -> Option<(Job, Received)> {
    let only = options.job.is_some();
    orphans.0.retain(|id, _| jobs.iter().any(|job| job.id == *id));
    for job in jobs {
        // Its model need not be translated again and again.
        let known = !only && orphans.0.contains_key(&job.id);
        if known && orphans.look(broker, &job.id, tell).is_some() {
            continue;
        }
        match receive(&job) {
            Err(why) => {
                refused.insert(job.id.clone());
                tell(WorkEvent::Refused { job: job.id.clone(), why });
            }
            Ok(received) => {
                if only || orphans.look(broker, &job.id, tell).is_none() {
                    return Some((job, received));
                }
            }
        }
    }
    None
}

/// Works on one job; returns why that ended, how many states were expanded, and whether it was left because
/// nobody serves it.
fn join(
    broker: &Broker,
    job: &Job,
    received: &Received,
    options: &WorkOptions,
    orphans: &mut Orphans,
    tell: &mut (dyn FnMut(WorkEvent) + Send),
) -> (Trouble, u64, bool) {
    let began = Instant::now();
    let check = &received.options.check;
    with_system(&received.model, check, |built: Built<'_>| {
        let (id, model, host) = (job.id.clone(), job.model.clone(), job.host.clone());
        tell(WorkEvent::Joined { job: id, model, host, compile: began.elapsed() });
        let before = broker.traffic();
        Team { broker, job, options, check, before }.run(built.system, orphans, tell)
    })
}

/// The threads that work on one job.
struct Team<'a> {
    broker: &'a Broker,
    job: &'a Job,
    options: &'a WorkOptions,
    check: &'a CheckOptions,
    /// What had gone over the wire for other jobs.
    before: Traffic,
}

/// What a thread tells the one that watches.
struct News {
    lane: usize,
    done: Done,
    /// Why it ended, when it has.
    ended: Option<Trouble>,
}

impl Team<'_> {
    fn run(
        &self,
        system: Erased<'_>,
        orphans: &mut Orphans,
        tell: &mut (dyn FnMut(WorkEvent) + Send),
    ) -> (Trouble, u64, bool) {
        let lanes = lanes(self.options.threads);
        let permits = Permits::new(self.options.threads);
        let (news, arriving) = channel();
        std::thread::scope(|scope| {
            for lane in 0..lanes {
                let (to, permits) = (news.clone(), &permits);
                let run = move || {
                    let ended = self.lane(lane, system, lanes, permits, &to);
                    let done = Done::default();
                    // The watcher is gone only if this scope is.
                    let _ = to.send(News { lane, done, ended: Some(ended) });
                };
                let thread = std::thread::Builder::new().stack_size(STACK);
                if thread.spawn_scoped(scope, run).is_err() {
                    let ended = Some(Trouble::Broken("the system gives no more threads".into()));
                    let _ = news.send(News { lane, done: Done::default(), ended });
                }
            }
            self.watch(lanes, &arriving, orphans, tell)
        })
    }

    /// Gives signs of life until all threads have ended.
    fn watch(
        &self,
        lanes: usize,
        arriving: &std::sync::mpsc::Receiver<News>,
        orphans: &mut Orphans,
        tell: &mut (dyn FnMut(WorkEvent) + Send),
    ) -> (Trouble, u64, bool) {
        let name = format!("{}-{}", host(), std::process::id());
        let mut latest = vec![Done::default(); lanes];
        let (mut left, mut why) = (lanes, Trouble::Over);
        let mut beaten: Option<Instant> = None;
        // When there was something to do, or it was asked why there is not.
        let (mut stirred, mut deserted) = (Instant::now(), false);
        while left > 0 {
            match arriving.recv_timeout(BEAT / 4) {
                Ok(News { ended: Some(trouble), .. }) => {
                    left -= 1;
                    if trouble != Trouble::Over {
                        why = trouble;
                    }
                }
                Ok(news) => {
                    latest[news.lane] = news.done;
                    stirred = Instant::now();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if beaten.is_none_or(|at| at.elapsed() >= BEAT) {
                beaten = Some(Instant::now());
                let sum = |of: fn(&Done) -> u64| latest.iter().map(of).sum();
                let (states, batches) = (sum(|done| done.states), sum(|done| done.batches));
                self.beat(&name, &latest);
                tell(WorkEvent::Working { states, batches });
            }
            if left > 0 && stirred.elapsed() >= ASK {
                let lasts = orphans.look(self.broker, &self.job.id, tell);
                if lasts.is_some_and(|lasts| self.leaves_after(lasts)) {
                    self.broker.leave(&self.job.id);
                    deserted = true;
                }
                stirred = Instant::now();
            }
        }
        // The last word, so that the coordinator's sums are whole.
        self.beat(&name, &latest);
        (why, latest.iter().map(|done| done.states).sum(), deserted)
    }

    /// Whether a job that nobody has served for so long is left: not before even a coordinator that was cut
    /// off for long would have come back, and not by whoever is to see the job to its end.
    fn leaves_after(&self, lasts: Duration) -> bool {
        let patience = Duration::from_millis(self.job.redeliver_ms).saturating_mul(2).max(NOBODY);
        self.options.job.is_none() && !self.options.once && lasts >= patience
    }

    fn beat(&self, name: &str, latest: &[Done]) {
        let sum = |of: fn(&Done) -> u64| latest.iter().map(of).sum::<u64>();
        let now = self.broker.traffic();
        let since = |of: fn(&Traffic) -> u64| of(&now).saturating_sub(of(&self.before));
        let news = json!({
            "threads": self.options.threads,
            "states": sum(|done| done.states),
            "batches": sum(|done| done.batches),
            "successors": sum(|done| done.successors),
            "claimed": sum(|done| done.claimed),
            "new": sum(|done| done.new),
            "rejected": since(|wire| wire.rejected),
            "claim_bytes": since(|wire| wire.claims_out + wire.claims_in),
            "work_bytes": since(|wire| wire.work_out + wire.work_in),
            "refused": since(|wire| wire.refused),
            "retries": since(|wire| wire.retries),
            "redeliveries": since(|wire| wire.redeliveries),
        });
        // A sign of life that does not arrive is followed by another one.
        let _ = self.broker.beat(&self.job.id, name, &news);
    }

    /// One thread.
    fn lane(
        &self,
        lane: usize,
        system: Erased<'_>,
        lanes: usize,
        permits: &Arc<Permits>,
        news: &Sender<News>,
    ) -> Trouble {
        let chains = Compressed::new(system);
        let filter_bytes = self.options.filter_bytes / lanes;
        let mut expander = expander(&chains, self.job, self.check, filter_bytes);
        let link = match NatsLink::new(self.broker, self.job) {
            Ok(link) => link,
            Err(why) => return Trouble::Broken(why),
        };
        work_on(&mut expander, &mut Paced::new(link, permits), &mut |done| {
            let _ = news.send(News { lane, done: *done, ended: None });
        })
    }
}
