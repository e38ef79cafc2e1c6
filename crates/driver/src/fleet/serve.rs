//! The coordinator's process: publishes a job, sees to its keepers, watches, and reports.

use super::live::{KeeperView, Live, Phase, Roll};
use super::reception::{Front, Reception};
use super::staff::{Crew, Nurse, Staff};
use super::{Broker, Job, JobOptions, JobStream, KeeperStore, Keys, Stop, VERSION};
use super::{expander, host, lock, program_hash, random_bits, sets};
use crate::build::{Built, with_system};
use crate::check::{CheckError, Run, check, restore};
use crate::combine::{Explored, text};
use crate::load::Model;
use crate::options::{CheckOptions, Reduction, SearchKind, StoreKind, Strategy};
use crate::place::Place;
use crate::report::Report;
use ergodic_diag::SourceId;
use ergodic_disk::Dir;
use ergodic_fleet::nats::{NatsDesk, keeper_present};
use ergodic_fleet::{
    End, Ended, Expander, PROTOCOL, Rules, Totals, Trouble, View, Way, Wish, coordinate,
};
use ergodic_ir::Layout;
use ergodic_search::{Compressed, Ending, Finding, Outcome, Stats, Unobserved};
use ergodic_system::{Erased, Figure, Losses, Reason, Shape, Verdict};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How a job is run.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Keepers on this computer.
    pub keepers: u32,
    /// Keepers on other computers.
    pub remote_keepers: u32,
    /// Workers on this computer.
    pub workers: usize,
    /// What keepers keep states in.
    pub store: KeeperStore,
    /// What they keep of a state.
    pub keys: Keys,
    /// Level after level.
    pub strict: bool,
    /// A batch that nobody says anything about for so long is delivered again.
    pub redeliver: Duration,
    /// Bytes of batches at the broker, at most.
    pub queue_bytes: Option<u64>,
    /// How many servers of a cluster hold each batch.
    pub replicas: u32,
    /// States per batch; measured if not given.
    pub batch_states: Option<u32>,
    /// Where the keepers' files go; `None` is a temporary directory.
    pub disk: Option<PathBuf>,
}

/// A batch should keep a worker busy for about so long,
pub const BATCH_SECONDS: f64 = 0.15;
/// and not be larger than that, in bytes before they are packed (to a third or less, mostly),
pub const BATCH_BYTES: usize = 640 << 10;
/// nor smaller than that, in states.
pub const LEAST_STATES: usize = 64;
/// The largest message that the server must take, in bytes; it takes twice that if nobody says otherwise.
const LEAST_PAYLOAD: usize = 512 << 10;
/// Where a state costs less than that on one thread here, two workers that share this computer with broker
/// and keeper are slower than the thread (2.6 µs measured on two cores: the manual, several machines).
const BREAK_EVEN: f64 = 3e-6;
/// What is explored beforehand to see how fast one thread is here.
const TRIAL_STATES: u64 = 50_000;
const TRIAL_TIME: Duration = Duration::from_millis(700);
/// A search that is over after fewer states has mostly been starting: its rate says nothing about states.
const LEAST_TRIAL: u64 = 5_000;
/// How often keepers are asked how far they are.
const LOOK: Duration = Duration::from_millis(250);
/// How long workers may take for their last word.
const LAST_WORDS: Duration = Duration::from_millis(50);
/// Without progress for so many redelivery times, a full queue will stay full.
const STUCK: u32 = 3;

/// Bytes of a state of so many bits in a batch before it is packed: whole words, and the place at which its
/// keeper knows it.
pub fn bytes_in_batch(bits: usize) -> usize {
    Shape::of_bits(bits).words * 8 + 8
}

/// Checks a model on all computers that want to help.
pub fn serve(
    model: &Model,
    check: &CheckOptions,
    options: &ServeOptions,
    broker: &Broker,
    stop: &Stop,
    crew: &mut dyn Crew,
    watch: &mut (dyn FnMut(&Live) + Send),
) -> Result<Report, CheckError> {
    refuse(model, check, options)?;
    let began = Instant::now();
    let place = Place::new(options.disk.as_deref());
    let left = place.sweep();
    let place = place.open().map_err(|why| CheckError::Output(text(why)))?;
    let pace = trial(model, check)?;
    let job = describe(model, check, options, broker, pace.rate)?;
    with_system(model, check, |built: Built<'_>| {
        let system = built.system;
        let mut run = Run::new(model, check, None, began);
        run.built(built);
        if let Some(rate) = pace.of_states().filter(|rate| rate * BREAK_EVEN > 1.0) {
            run.note(format!(
                "a state takes {:.1} µs on one thread of this computer; below about {:.0} µs, asking others \
                 takes longer than they save: ergodic check is faster",
                1e6 / rate,
                BREAK_EVEN * 1e6
            ));
        }
        if !left.is_empty() {
            let left: Vec<String> = left.iter().map(|path| path.display().to_string()).collect();
            run.note(format!("removed what runs that were killed had left: {}", left.join(", ")));
        }
        run.loose = !options.strict;
        run.ready();
        let mut serving = Serving {
            options,
            broker,
            stop,
            job: &job,
            place: &place,
            rate: pace.of_states(),
            watch,
            roll: Arc::default(),
            last: View::default(),
            began: run.began(),
            elapsed: Duration::ZERO,
        };
        let chains = Compressed::new(system);
        // It finds the initial states, and no more.
        let mut expander = expander(&chains, &job, check, 0);
        let (mut outcome, figures) = serving.run(&mut expander, crew, check)?;
        if check.compress {
            restore(&chains, &mut outcome);
        }
        run.fleet_report(&system, serving.explored(outcome), serving.elapsed, figures)
    })
}

/// What cannot be done on several machines.
fn refuse(model: &Model, check: &CheckOptions, options: &ServeOptions) -> Result<(), CheckError> {
    let why = if model.has_liveness() || check.graph.is_some() {
        "liveness properties and graphs need all states in one memory: use ergodic check"
    } else if check.reduction != Reduction::None || check.search != SearchKind::Bfs {
        "a search on several machines fires all rules, in no particular order: leave out --reduction and \
         --search"
    } else if check.store != StoreKind::Auto || check.strategy != Strategy::Auto {
        "keepers have stores of their own: use --store exact, compact or disk"
    } else if check.checkpoint.is_some() {
        "keepers keep a log of their own: leave out --checkpoint"
    } else if check.max_depth.is_some() && !options.strict {
        "without strict levels a state may be found on a longer way first: add --levels strict to \
         --max-depth"
    } else if options.keepers.saturating_add(options.remote_keepers) == 0 {
        "somebody must keep the states: give --keepers or --remote-keepers"
    } else if options.keepers.saturating_add(options.remote_keepers) > ergodic_fleet::MOST_KEEPERS {
        "these are too many keepers"
    } else {
        return Ok(());
    };
    Err(CheckError::Options(why.to_string()))
}

/// How fast one thread of this computer was in a short search.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// States per second, with the time that the search took to start.
    rate: f64,
    /// How many states there were.
    states: u64,
    /// Whether it ended only because its time was over: then few states are slow ones, and starting does
    /// not matter.
    cut_off: bool,
}

impl Pace {
    /// States per second, if that was measured and not how long a search takes to start.
    fn of_states(self) -> Option<f64> {
        (self.cut_off || self.states >= LEAST_TRIAL).then_some(self.rate)
    }
}

/// Measures one thread of this computer.
fn trial(model: &Model, options: &CheckOptions) -> Result<Pace, CheckError> {
    let options = CheckOptions {
        threads: 1,
        traces: false,
        max_states: Some(TRIAL_STATES),
        time_limit: Some(TRIAL_TIME),
        strategy: Strategy::Ram,
        ..options.clone()
    };
    let report = check(model, &options, &mut Unobserved)?;
    let cut_off = matches!(report.verdict, Verdict::Incomplete(Reason::TimeLimit(_)));
    Ok(Pace { rate: report.stats.states_per_second(), states: report.stats.states, cut_off })
}

/// The job, ready to be published.
fn describe(
    model: &Model,
    check: &CheckOptions,
    options: &ServeOptions,
    broker: &Broker,
    rate: f64,
) -> Result<Job, CheckError> {
    let shape = Layout::new(&model.program).shape();
    let each = bytes_in_batch(shape.bits);
    if broker.max_payload() < LEAST_PAYLOAD {
        return Err(CheckError::Output(format!(
            "the NATS server takes messages of up to {} bytes, and questions to keepers need up to \
             {LEAST_PAYLOAD}: raise max_payload there",
            broker.max_payload()
        )));
    }
    let room = BATCH_BYTES.min(broker.max_payload() / 4 * 3);
    if each > room {
        return Err(CheckError::Options(format!(
            "a state of {each} bytes does not fit into a message of {room}: raise max_payload at the \
             NATS server"
        )));
    }
    let measured = ((rate * BATCH_SECONDS) as usize).max(LEAST_STATES);
    let batch_states = options.batch_states.map_or(measured, |states| states as usize);
    let keepers = options.keepers + options.remote_keepers;
    let sharing = options.keepers.max(1);
    let share = || (options.remote_keepers == 0).then(|| sets::memory_for(None, sharing));
    let memory = check.memory.or_else(share);
    // What concerns this computer alone is not published.
    let check = CheckOptions {
        disk: None,
        memory: None,
        threads: 1,
        time_limit: None,
        max_states: None,
        ..check.clone()
    };
    let asked = JobOptions { load: model.options.clone(), check, store: options.store, memory };
    let source = model.sources.text(SourceId::default()).to_string();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Ok(Job {
        protocol: PROTOCOL,
        version: VERSION.to_string(),
        id: job_id(random_bits()),
        model: model.name.clone(),
        source,
        options: serde_json::to_value(&asked).unwrap_or_default(),
        program: program_hash(model),
        bits: shape.bits,
        keepers,
        keys: options.keys,
        seed: random_bits(),
        batch_states: batch_states.min(room / each).max(1) as u32,
        strict: options.strict,
        redeliver_ms: options.redeliver.as_millis().max(100) as u64,
        queue_bytes: options.queue_bytes,
        replicas: options.replicas,
        began: now.map_or(0, |since| since.as_secs()),
        host: host(),
    })
}

/// Bytes for each of so many, as far as there are any.
fn per(bytes: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { bytes as f64 / of as f64 }
}

/// A short name that nobody else has.
fn job_id(mut bits: u64) -> String {
    let letters = b"abcdefghijkmnpqrstuvwxyz23456789";
    let letter = |_| {
        let letter = letters[(bits % 32) as usize];
        bits /= 32;
        char::from(letter)
    };
    (0..8).map(letter).collect()
}

/// A job that is being served.
struct Serving<'a> {
    options: &'a ServeOptions,
    broker: &'a Broker,
    stop: &'a Stop,
    job: &'a Job,
    /// Where keepers of this computer write.
    place: &'a Dir,
    /// States per second of one thread here, if that is known.
    rate: Option<f64>,
    watch: &'a mut (dyn FnMut(&Live) + Send),
    roll: Arc<Mutex<Roll>>,
    last: View,
    began: Instant,
    /// How long the search took.
    elapsed: Duration,
}

/// Withdraws a job, whatever happens.
struct Posted<'a>(&'a Broker, &'a str);

impl Drop for Posted<'_> {
    fn drop(&mut self) {
        // The broker may be gone: `ergodic cancel` removes what is left.
        let _ = self.0.withdraw(self.1);
        let _ = JobStream::delete(self.0, self.1);
    }
}

impl Serving<'_> {
    /// Runs the job to its end.
    fn run(
        &mut self,
        expander: &mut Expander<Erased<'_>>,
        crew: &mut dyn Crew,
        check: &CheckOptions,
    ) -> Result<(Outcome, Vec<Figure>), CheckError> {
        let output = CheckError::Output;
        JobStream::create(self.broker, self.job).map_err(output)?;
        let posted = Posted(self.broker, &self.job.id);
        self.broker.post(self.job).map_err(output)?;
        let desk = NatsDesk::new(self.broker, self.job).map_err(output)?;
        let local = self.options.keepers;
        let front = Arc::new(Mutex::new(Front::new(local..self.job.keepers)));
        let mut desk = Reception::new(desk, &self.roll);
        desk.answer_with(&front);
        let staff = Mutex::new(Staff::new(crew, &self.job.id));
        let (stop, began) = (self.stop, self.began);
        let vain = || {
            let late = check.time_limit.is_some_and(|limit| began.elapsed() >= limit);
            late || lock(&front).cancelled
        };
        let nurse = Nurse::new(&staff, stop, &vain);
        let mut reason = None;
        let (ended, lost) = std::thread::scope(|scope| {
            let on_duty = nurse.on_duty(scope)?;
            let ended = self.assemble(&staff, &front).and_then(|()| {
                let ways = check.max_errors;
                let patience = Duration::from_millis(self.job.redeliver_ms) * 2;
                let rules =
                    Rules { strict: self.job.strict, most_ways: ways, look_every: LOOK, patience };
                let mut stuck = (0, Instant::now());
                coordinate(expander, &mut desk, rules, &mut |view| {
                    self.look(view, check, &staff, &front, &mut reason, &mut stuck)
                })
            });
            drop(on_duty);
            Ok((ended, nurse.lost()))
        })
        .map_err(output)?;
        if let Some(why) = lost {
            reason = Some(Reason::Exhausted(why));
        } else if let (None, Err(_), Some(limit)) = (&reason, &ended, check.time_limit)
            && began.elapsed() >= limit
        {
            reason = Some(Reason::TimeLimit(limit.as_secs_f64()));
        }
        self.elapsed = began.elapsed();
        desk.announce_over();
        drop(posted);
        drop(staff);
        // Workers say how much they did in the end; those of this computer have, and others may.
        std::thread::sleep(LAST_WORDS);
        desk.take_note();
        if let Ok(ended) = &ended {
            self.last = ended.view.clone();
        }
        let complete = matches!(&ended, Ok(ended) if ended.end == End::Complete);
        let outcome = self.outcome(ended, reason, check)?;
        let figures = self.figures(check, complete);
        Ok((outcome, figures))
    }

    /// Starts what is to be started here, and waits for keepers elsewhere.
    fn assemble(&mut self, staff: &Mutex<Staff<'_>>, front: &Mutex<Front>) -> Result<(), Trouble> {
        for shard in 0..self.options.keepers {
            let dir = self.place.path().join(format!("keeper-{shard}"));
            lock(staff).keeper(shard, dir).map_err(Trouble::Broken)?;
        }
        for shard in 0..self.job.keepers {
            while !keeper_present(self.broker, self.job, shard, LOOK) {
                // Nobody has claimed anything yet: another one may do as well.
                lock(front).forget_silent(shard);
                if self.stop.asked() || lock(front).cancelled {
                    return Err(Trouble::Stopped);
                }
                self.show(&View::default(), Phase::WaitingForKeepers, staff, front);
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        (0..self.options.workers).try_for_each(|_| lock(staff).worker()).map_err(Trouble::Broken)
    }

    /// A look at the job: shows how far it is, and says whether to go on.
    fn look(
        &mut self,
        view: &View,
        check: &CheckOptions,
        staff: &Mutex<Staff<'_>>,
        front: &Mutex<Front>,
        reason: &mut Option<Reason>,
        stuck: &mut (u64, Instant),
    ) -> Wish {
        self.last = view.clone();
        let working = !lock(&self.roll).present().is_empty();
        let phase = if working { Phase::Running } else { Phase::WaitingForWorkers };
        self.show(view, phase, staff, front);
        let seconds = self.began.elapsed();
        if check.max_states.is_some_and(|most| view.totals.states >= most) {
            *reason = check.max_states.map(Reason::StateLimit);
        } else if check.time_limit.is_some_and(|limit| seconds >= limit) {
            *reason = check.time_limit.map(|limit| Reason::TimeLimit(limit.as_secs_f64()));
        } else if self.stop.asked() || lock(front).cancelled {
            *reason = Some(Reason::Interrupted);
        } else if self.is_stuck(view, working, stuck) {
            let way_out = match self.options.queue_bytes {
                Some(bytes) => format!("is full: give it more than --queue-bytes {bytes}"),
                None => "has no room: give JetStream more (max_file_store)".to_string(),
            };
            *reason = Some(Reason::Exhausted(format!(
                "no batch can be finished, because the queue at the NATS server {way_out}"
            )));
        }
        if reason.is_some() { Wish::Stop } else { Wish::GoOn }
    }

    /// Whether the queue is full and nothing has been finished for long, with workers at work: every
    /// batch waits for room for its children, and none is acknowledged before.
    fn is_stuck(&self, view: &View, working: bool, stuck: &mut (u64, Instant)) -> bool {
        let done = view.totals.done.0;
        let refused = lock(&self.roll).sum("refused");
        if done != stuck.0 || !working || refused == 0 {
            *stuck = (done, Instant::now());
        }
        stuck.1.elapsed() > Duration::from_millis(self.job.redeliver_ms) * STUCK
    }

    fn show(&mut self, view: &View, phase: Phase, staff: &Mutex<Staff<'_>>, front: &Mutex<Front>) {
        let live = self.live(view, phase, &mut lock(staff));
        lock(front).status = serde_json::to_value(&live).unwrap_or_default();
        (self.watch)(&live);
    }

    fn live(&self, view: &View, phase: Phase, staff: &mut Staff<'_>) -> Live {
        let (roll, totals) = (lock(&self.roll), &view.totals);
        let workers = roll.present();
        let rate = workers.iter().map(|worker| worker.rate).fold(0.0, |sum, rate| sum + rate);
        let threads = workers.iter().map(|worker| worker.threads).fold(0, u64::saturating_add);
        let (claims, work) = (roll.sum("claim_bytes"), roll.sum("work_bytes"));
        let keeper = |keeper: &Totals| KeeperView {
            states: keeper.states,
            bytes: keeper.bytes,
            log_bytes: keeper.log_bytes,
        };
        Live {
            job: self.job.id.clone(),
            model: self.job.model.clone(),
            phase,
            seconds: self.began.elapsed().as_secs_f64(),
            states: totals.states,
            rate,
            transitions: totals.tally.transitions,
            level: view.levels.len().saturating_sub(1) as u64,
            waiting: view.waiting.stored.saturating_sub(view.waiting.unacknowledged),
            in_work: view.waiting.unacknowledged,
            queue_bytes: view.waiting.bytes,
            redeliveries: roll.sum("redeliveries"),
            refused: roll.sum("refused"),
            wire_bytes_per_state: per(claims.saturating_add(work), totals.states),
            wire_bytes_per_claim: per(claims, roll.sum("claimed")),
            local_rate: self.rate,
            efficiency: self.rate.map(|one| rate / (one * threads.max(1) as f64).max(1e-9)),
            keepers: view.keepers.iter().map(keeper).collect(),
            workers,
            rejected: self.rejected(totals, &roll),
            restarts: staff.restarts,
            news: staff.notes.pop().or_else(|| self.broker.events().last),
        }
    }

    /// Messages that were none of ours, as far as we heard of them.
    fn rejected(&self, totals: &Totals, roll: &Roll) -> u64 {
        let counts = [totals.rejected, roll.sum("rejected"), self.broker.traffic().rejected];
        counts.into_iter().fold(0, u64::saturating_add)
    }

    fn outcome(
        &self,
        ended: Result<Ended, Trouble>,
        reason: Option<Reason>,
        check: &CheckOptions,
    ) -> Result<Outcome, CheckError> {
        let (end, ways, view) = match ended {
            Ok(Ended { end, ways, view }) => (end, ways, view),
            Err(Trouble::Broken(why)) => return Err(CheckError::Output(why)),
            Err(Trouble::Stopped | Trouble::Over) => (End::Stopped, Vec::new(), self.last.clone()),
        };
        let totals = view.totals;
        let ending = match end {
            End::Complete if totals.tally.cut > 0 => {
                Ending::Stopped(Reason::DepthLimit(check.max_depth.unwrap_or_default()))
            }
            End::Complete => Ending::Complete,
            End::Violated => Ending::Enough,
            End::Stopped => Ending::Stopped(reason.unwrap_or(Reason::Interrupted)),
            End::Lost(batches) => Ending::Stopped(Reason::Exhausted(format!(
                "the NATS server lost {batches} batches that it had called stored: run the job again, on a \
                 server whose disk does not lose what was written"
            ))),
            End::Trouble(why) => Ending::Stopped(Reason::Exhausted(why)),
        };
        let finding = |way: Way| Finding {
            path: if check.traces { way.path } else { Vec::new() },
            kind: way.kind,
            depth: way.depth,
        };
        let stats = Stats {
            states: totals.states,
            transitions: totals.tally.transitions,
            depth: view.levels.len().saturating_sub(1) as u64,
            max_frontier: view.levels.iter().copied().max().unwrap_or(0),
            levels: if self.job.strict { view.levels } else { Vec::new() },
            fired: totals.tally.fired,
            fresh: totals.tally.fresh,
            store_bytes: totals.bytes,
            frontier_bytes: view.waiting.bytes,
            trace_bytes: totals.log_bytes,
        };
        let losses = self.losses(stats.states, totals.omission, totals.path_omission);
        let findings = ways.into_iter().map(finding).collect();
        let goals = totals.tally.goals;
        Ok(Outcome { ending, findings, stats, goals, losses, parents: None })
    }

    /// What the keepers' sets may have lost, and what signatures may.
    fn losses(&self, states: u64, omission: f64, path_omission: f64) -> Losses {
        let mut losses = Losses { omission, path_omission, ..Losses::default() };
        if self.job.keys == Keys::Signatures {
            // Each pair of states has the same signature with probability 2^-128.
            let pair = (-128_f64).exp2();
            losses.omission += states as f64 * states as f64 / 2.0 * pair;
            losses.path_omission += states as f64 * pair;
        }
        losses
    }

    /// What else there is to say. States and transitions are those of the last look at the keepers. Workers
    /// who were not at the end go on until they hear that the job is over, and count all of that: so if
    /// the job was not complete, what they say is not put beside what keepers said.
    fn figures(&self, check: &CheckOptions, complete: bool) -> Vec<Figure> {
        let (roll, totals) = (lock(&self.roll), &self.last.totals);
        let mut figures = Vec::new();
        let mut add = |key, title, value: f64| figures.push(Figure { key, title, value });
        let (claims, work) = (roll.sum("claim_bytes"), roll.sum("work_bytes"));
        add("workers", "workers", roll.count() as f64);
        add("keepers", "keepers", f64::from(self.job.keepers));
        add("batches", "batches", totals.done.0 as f64);
        add("redeliveries", "batches delivered again", roll.sum("redeliveries") as f64);
        let bytes = claims.saturating_add(work);
        let states = if complete { totals.states } else { roll.sum("new") };
        if complete || states > 0 {
            add("wire_bytes_per_state", "bytes on the wire per state", per(bytes, states));
        }
        let asked = roll.sum("claimed");
        if complete || asked > 0 {
            let each = per(claims, asked);
            add("wire_bytes_per_claim", "bytes on the wire per successor asked about", each);
        }
        // A keeper that was started again does not know how often it was asked before.
        let asked = if complete { asked } else { totals.claimed };
        add("claimed", "successors asked about", asked as f64);
        if let Some(rate) = self.rate {
            add("local_rate", "states per second of one thread here", rate.round());
        }
        let rejected = self.rejected(totals, &roll);
        if rejected > 0 {
            add("rejected", "messages that were none of ours", rejected as f64);
        }
        if check.compress {
            add("passed_states", "states passed inside of chains", totals.tally.passed as f64);
        }
        figures
    }

    fn explored(&self, outcome: Outcome) -> Explored {
        let store = match (self.options.store, self.job.keys) {
            (KeeperStore::Compact, _) => "compact",
            (KeeperStore::Disk, Keys::Exact) => "disk",
            (KeeperStore::Exact, Keys::Exact) => "exact",
            (_, Keys::Signatures) => "signatures",
        };
        let threads = lock(&self.roll).sum("threads").max(1) as usize;
        Explored { outcome, live: None, graph: None, store, threads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_search_is_no_measure() {
        let pace = |states, cut_off| Pace { rate: 1e6, states, cut_off }.of_states();
        assert_eq!(pace(300, false), None);
        assert_eq!(pace(LEAST_TRIAL - 1, false), None);
        assert_eq!(pace(LEAST_TRIAL, false), Some(1e6));
        // States that take a millisecond each are few in the time there is, and well measured.
        assert_eq!(pace(300, true), Some(1e6));
    }
}
