//! A small simulation of a search on many machines: workers that compute, keepers, a broker and its
//! network, as queues that batches go through.
//!
//! A worker has one processor and one lane more: while one lane waits, the other computes. A batch is computed,
//! its successors go through the broker to all keepers at once and the answers back, and its children to the broker,
//! which gives out the next batch. There is always another batch: what is simulated is the middle of a search, not its
//! first levels. Everything is decided by a seed.
//!
//! Processes of one computer share its processors in turns of a millisecond ([`Site::shared`]): so the
//! simulation can be held against runs on one machine before it is believed about a thousand.

use ergodic_driver::fleet::lanes;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Lanes of a worker with its one processor.
const LANES: usize = lanes(1);

/// What one step costs, in seconds and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// Seconds that a sequential search takes per state.
    pub state: f64,
    /// What a worker takes more, per state and per batch.
    pub worker: Linear,
    /// A keeper's seconds per batch and per successor asked about.
    pub keeper: Linear,
    /// The broker's seconds per batch and per byte that it receives and sends on.
    pub broker: Linear,
    /// Successors asked about, per state.
    pub claims: f64,
    /// Bytes of question and answer, per successor asked about.
    pub claim_bytes: f64,
    /// Bytes of a state in a batch.
    pub work_bytes: f64,
    /// States of a batch.
    pub batch: f64,
}

/// So much per batch, and so much per unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Linear {
    /// Per batch.
    pub batch: f64,
    /// Per unit.
    pub unit: f64,
}

impl Linear {
    /// For one batch with so many units.
    pub fn of(&self, units: f64) -> f64 {
        self.batch + self.unit * units
    }
}

impl Costs {
    /// Bytes that the broker receives per batch, which are as many as it sends.
    pub fn bytes(&self) -> f64 {
        self.batch * (self.claims * self.claim_bytes + self.work_bytes)
    }

    /// Seconds of a worker per batch.
    pub fn compute(&self) -> f64 {
        self.batch * self.state + self.worker.of(self.batch).max(-0.5 * self.batch * self.state)
    }
}

/// Who takes part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    /// Workers, one processor each.
    pub workers: usize,
    /// Keepers, one processor each.
    pub keepers: usize,
    /// Processors of the broker.
    pub broker: usize,
    /// Bytes per second into the broker, and as many out of it.
    pub bandwidth: f64,
    /// Seconds from a worker to a keeper and back.
    pub round_trip: f64,
    /// All of them are on one computer with so many processors.
    pub shared: Option<usize>,
}

/// The parts that can be the limit.
pub const PARTS: [&str; 4] = ["workers", "keepers", "broker", "network"];

/// The only part that needs no processor.
const NETWORK: usize = 3;

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// States per second.
    pub rate: f64,
    /// How busy the parts were, as in [`PARTS`].
    pub load: [f64; 4],
}

impl Outcome {
    /// The busiest part.
    pub fn limit(&self) -> &'static str {
        let best = (0..PARTS.len()).max_by(|a, b| self.load[*a].total_cmp(&self.load[*b]));
        PARTS[best.unwrap_or(0)]
    }
}

/// Round trips of a batch: it is pulled, its successors are claimed, recorded, published, called done.
const ROUND_TRIPS: f64 = 5.0;

/// A turn at a shared processor, in nanoseconds.
const TURN: u64 = 1_000_000;

/// Batches that are simulated, and how many of them are not counted, because things have to get going.
const BATCHES: u64 = 4_000;
const WARM: u64 = 1_000;

type Nanos = u64;

fn nanos(seconds: f64) -> Nanos {
    (seconds.max(0.0) * 1e9) as Nanos
}

/// Something that a station does for a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    lane: usize,
    station: usize,
    left: Nanos,
}

/// A queue with some servers.
#[derive(Default)]
struct Station {
    servers: usize,
    busy: usize,
    waiting: VecDeque<Job>,
    used: Nanos,
    /// Which of [`PARTS`] it is.
    part: usize,
}

/// Where a lane is on its way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Compute,
    Ask,
    AskBroker,
    Keep,
    Hand,
    HandBroker,
    Rest,
}

struct Lane {
    worker: usize,
    step: Step,
    /// Keepers that have not answered.
    answers: usize,
}

/// A simulation under way.
struct World {
    costs: Costs,
    site: Site,
    now: Nanos,
    /// Ends of jobs, or of turns, in their order.
    events: BinaryHeap<Reverse<(Nanos, u64, Job)>>,
    numbers: u64,
    stations: Vec<Station>,
    /// Jobs that wait for a shared processor.
    ready: VecDeque<Job>,
    free: usize,
    lanes: Vec<Lane>,
    random: u64,
    done: u64,
}

/// The station that is none: a delay.
const DELAY: usize = usize::MAX;

/// Runs a simulation.
pub fn simulate(costs: &Costs, site: &Site, seed: u64) -> Outcome {
    let mut world = World::new(*costs, *site, seed);
    let first = (0..world.lanes.len()).collect::<Vec<_>>();
    first.into_iter().for_each(|lane| world.enter(lane));
    let batches = BATCHES.max(site.workers as u64 * 12);
    let warm = batches * WARM / BATCHES;
    let (mut began, mut used) = (0, [0; 4]);
    while world.done < batches && world.step() {
        if began == 0 && world.done >= warm {
            (began, used) = (world.now, world.used());
        }
    }
    let seconds = ((world.now - began) as f64 / 1e9).max(1e-9);
    let after = world.used();
    let servers = [site.workers, site.keepers, site.broker, 1];
    let load = |i: usize| (after[i] - used[i]) as f64 / 1e9 / seconds / servers[i].max(1) as f64;
    Outcome {
        // Where nobody works, nothing gets going.
        rate: world.done.saturating_sub(warm) as f64 * costs.batch / seconds,
        load: [load(0), load(1), load(2), load(3)],
    }
}

impl World {
    fn new(costs: Costs, site: Site, seed: u64) -> World {
        let station = |servers: usize, part: usize| Station { servers, part, ..Station::default() };
        let mut stations = vec![station(1, NETWORK), station(site.broker.max(1), 2)];
        stations.extend((0..site.keepers.max(1)).map(|_| station(1, 1)));
        stations.extend((0..site.workers).map(|_| station(1, 0)));
        let lane = |i: usize| Lane { worker: i / LANES, step: Step::Compute, answers: 0 };
        World {
            costs,
            site,
            now: 0,
            events: BinaryHeap::new(),
            numbers: 0,
            stations,
            ready: VecDeque::new(),
            free: site.shared.unwrap_or(0),
            lanes: (0..LANES * site.workers).map(lane).collect(),
            random: seed | 1,
            done: 0,
        }
    }

    fn used(&self) -> [Nanos; 4] {
        let mut used = [0; 4];
        self.stations.iter().for_each(|station| used[station.part] += station.used);
        used
    }

    /// Between a half and one and a half: no two batches take the same time.
    fn vary(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        0.5 + (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A lane begins its step.
    fn enter(&mut self, lane: usize) {
        let (costs, keepers) = (self.costs, self.site.keepers.max(1));
        let claims = costs.batch * costs.claims;
        let (questions, children) = (claims * costs.claim_bytes, costs.batch * costs.work_bytes);
        let send = |bytes: f64, site: &Site| bytes / site.bandwidth;
        match self.lanes[lane].step {
            Step::Compute => {
                let seconds = costs.compute() * self.vary();
                self.submit(lane, 2 + keepers + self.lanes[lane].worker, seconds);
            }
            Step::Ask => self.submit(lane, 0, send(questions, &self.site)),
            Step::AskBroker => {
                let seconds = costs.broker.batch / 2.0 + costs.broker.unit * questions;
                self.submit(lane, 1, seconds);
            }
            Step::Keep => {
                self.lanes[lane].answers = keepers;
                for keeper in 0..keepers {
                    // Each keeper has its part of the claims, but hears of every batch.
                    self.submit(lane, 2 + keeper, costs.keeper.of(claims / keepers as f64));
                }
            }
            Step::Hand => self.submit(lane, 0, send(children, &self.site)),
            Step::HandBroker => {
                let seconds = costs.broker.batch / 2.0 + costs.broker.unit * children;
                self.submit(lane, 1, seconds);
            }
            Step::Rest => self.submit(lane, DELAY, self.site.round_trip * ROUND_TRIPS),
        }
    }

    /// A lane wants something from a station.
    fn submit(&mut self, lane: usize, station: usize, seconds: f64) {
        let job = Job { lane, station, left: nanos(seconds) };
        if station == DELAY {
            return self.ends(self.now + job.left, job);
        }
        let place = &mut self.stations[station];
        place.used += job.left;
        if place.busy < place.servers {
            place.busy += 1;
            self.begin(job);
        } else {
            place.waiting.push_back(job);
        }
    }

    /// A server of a station takes up a job.
    fn begin(&mut self, job: Job) {
        let processor = self.stations[job.station].part != NETWORK;
        if processor && self.site.shared.is_some() {
            self.ready.push_back(job);
            self.dispatch();
        } else {
            self.ends(self.now + job.left, Job { left: 0, ..job });
        }
    }

    /// Gives free shared processors to jobs that wait for one.
    fn dispatch(&mut self) {
        while self.free > 0 {
            let Some(job) = self.ready.pop_front() else { return };
            self.free -= 1;
            let turn = job.left.min(TURN);
            self.ends(self.now + turn, Job { left: job.left - turn, ..job });
        }
    }

    fn ends(&mut self, at: Nanos, job: Job) {
        self.numbers += 1;
        self.events.push(Reverse((at, self.numbers, job)));
    }

    /// The next event; none if nothing is under way.
    fn step(&mut self) -> bool {
        let Some(Reverse((at, _, job))) = self.events.pop() else { return false };
        self.now = at;
        if job.station != DELAY {
            if self.site.shared.is_some() && self.stations[job.station].part != NETWORK {
                self.free += 1;
                if job.left > 0 {
                    self.ready.push_back(job);
                    self.dispatch();
                    return true;
                }
                self.dispatch();
            }
            match self.stations[job.station].waiting.pop_front() {
                Some(next) => self.begin(next),
                None => self.stations[job.station].busy -= 1,
            }
        }
        self.left(job.lane);
        true
    }

    /// A job of a lane is done.
    fn left(&mut self, lane: usize) {
        let own = &mut self.lanes[lane];
        own.step = match own.step {
            Step::Compute => Step::Ask,
            Step::Ask => Step::AskBroker,
            Step::AskBroker => Step::Keep,
            Step::Keep => {
                own.answers -= 1;
                if own.answers > 0 {
                    return;
                }
                Step::Hand
            }
            Step::Hand => Step::HandBroker,
            Step::HandBroker => {
                self.done += 1;
                Step::Rest
            }
            Step::Rest => Step::Compute,
        };
        self.enter(lane);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs {
        state: 20e-6,
        worker: Linear { batch: 1e-3, unit: 0.0 },
        keeper: Linear { batch: 1e-4, unit: 1e-6 },
        broker: Linear { batch: 1e-4, unit: 5e-9 },
        claims: 1.5,
        claim_bytes: 20.0,
        work_bytes: 45.0,
        batch: 4000.0,
    };

    const SITE: Site = Site {
        workers: 10,
        keepers: 1,
        broker: 4,
        bandwidth: 125e6,
        round_trip: 1e-3,
        shared: None,
    };

    #[test]
    fn few_workers_work_all_the_time() {
        let found = simulate(&COSTS, &SITE, 1);
        let most = 10.0 * COSTS.batch / COSTS.compute();
        assert_eq!(found.limit(), "workers");
        assert!(found.rate > 0.95 * most && found.rate < 1.02 * most, "{found:?} of {most}");
        assert_eq!(found, simulate(&COSTS, &SITE, 1), "a seed decides everything");
    }

    #[test]
    fn one_keeper_is_the_limit_of_many_and_more_keepers_are_not() {
        let many = Site { workers: 200, bandwidth: 1.25e9, ..SITE };
        let found = simulate(&COSTS, &many, 2);
        let most = COSTS.batch / COSTS.keeper.of(COSTS.batch * COSTS.claims);
        assert_eq!(found.limit(), "keepers");
        assert!((found.rate / most - 1.0).abs() < 0.05, "{found:?} of {most}");
        let more = simulate(&COSTS, &Site { keepers: 16, ..many }, 2);
        assert!(more.rate > 5.0 * found.rate, "{more:?}");
    }

    #[test]
    fn nobody_does_nothing() {
        let nobody = simulate(&COSTS, &Site { workers: 0, ..SITE }, 5);
        assert_eq!((nobody.rate, nobody.load), (0.0, [0.0; 4]));
        let somebody = simulate(&COSTS, &Site { keepers: 0, ..SITE }, 5);
        assert_eq!(somebody, simulate(&COSTS, &SITE, 5), "there is always a keeper");
    }

    #[test]
    fn a_slow_network_is_the_limit() {
        let slow = Site { workers: 200, keepers: 16, bandwidth: 1e6, ..SITE };
        let found = simulate(&COSTS, &slow, 3);
        assert_eq!(found.limit(), "network");
        let most = 1e6 / (COSTS.bytes() / COSTS.batch);
        assert!((found.rate / most - 1.0).abs() < 0.05, "{found:?} of {most}");
    }

    #[test]
    fn two_processors_do_the_work_of_two() {
        let light = Costs { worker: Linear::default(), ..COSTS };
        let site =
            |workers| Site { workers, shared: Some(2), round_trip: 0.0, bandwidth: 1e12, ..SITE };
        let four = simulate(&light, &site(4), 4);
        let busy = light.compute() + light.keeper.of(6000.0) + light.broker.of(light.bytes());
        let most = 2.0 * light.batch / busy;
        assert!((four.rate / most - 1.0).abs() < 0.05, "{four:?} of {most}");
        let one = simulate(&light, &site(1), 4);
        assert!((one.rate * light.state - 1.0).abs() < 0.05, "the keeper has a processor: {one:?}");
    }
}
