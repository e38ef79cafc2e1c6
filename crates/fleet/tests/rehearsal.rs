//! The roles over a broker that does everything a broker may do: delivers again while somebody is still
//! at work, delivers twice, loses workers at any message and keepers at any request. What is found must
//! be what there is, every time.
//!
//! Every role is a thread, and only one of them runs at a time: at each message a seeded choice says who
//! goes on. So a failure is a seed, and comes back with it.

use ergodic_disk::Dir;
use ergodic_fleet::{
    Delivery, Desk, End, Ended, Expander, Job, Keeper, Keys, LEVELS_SENT, Link, Outgoing, PROTOCOL,
    Request, Rules, Set, Settings, Trouble, Waiting, Wire, Wish, coordinate, work,
};
use ergodic_store::universal::Random;
use ergodic_system::toy::Graph;
use ergodic_system::{Block, Coverage, Exhausted, Picks, Visited};
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// The simplest set.
#[derive(Default)]
struct Plain(HashSet<Vec<u64>>);

impl Visited for Plain {
    fn offer(&mut self, new: Block<'_>, fresh: &mut Picks) -> Result<(), Exhausted> {
        fresh.clear();
        let is_new = |i: &u32| self.0.insert(new.state(*i as usize).to_vec());
        fresh.extend((0..new.len() as u32).filter(is_new));
        Ok(())
    }

    fn coverage(&self) -> Coverage {
        Coverage { states: self.0.len() as u64, bytes: 0, omission: 0.0 }
    }
}

fn plain() -> Set {
    Box::<Plain>::default()
}

/// How bad a day it is: chances out of 1000, at each message.
#[derive(Clone, Copy, Debug)]
struct Day {
    worker_dies: u64,
    keeper_dies: u64,
    delivered_again: u64,
    dedup_fails: u64,
    asked_twice: u64,
}

struct Message {
    token: u64,
    outgoing: Outgoing,
    holder: Option<usize>,
}

struct Shard {
    dir: Dir,
    keeper: Option<Keeper>,
}

/// Everything that is shared.
struct World {
    random: Random,
    day: Day,
    job: Job,
    queue: VecDeque<Message>,
    seen: HashSet<u128>,
    tokens: u64,
    level: Option<Option<u32>>,
    shards: Vec<Shard>,
    over: bool,
    events: [u64; 4],
    /// Who waits for a turn, who has it, and how many there are.
    waiting: Vec<usize>,
    turn: Option<usize>,
    live: usize,
}

impl World {
    fn chance(&mut self, of_thousand: u64) -> bool {
        self.random.below(1000) < of_thousand
    }

    fn ask(&mut self, request: &Request) -> Vec<u8> {
        if self.chance(self.day.keeper_dies) {
            self.events[0] += 1;
            let shard = &mut self.shards[request.keeper as usize];
            // Killed: nothing is said good-bye to.
            shard.keeper = None;
            let again = Keeper::open(&self.job, request.keeper, plain(), &shard.dir);
            shard.keeper = Some(again.expect("a keeper comes back"));
        }
        let keeper = self.shards[request.keeper as usize].keeper.as_mut().expect("a keeper");
        keeper.answer(std::slice::from_ref(&request.body)).remove(0)
    }

    fn store(&mut self, outgoing: Outgoing) {
        let known = !self.seen.insert(outgoing.id);
        if known && !self.chance(self.day.dedup_fails) {
            return;
        }
        self.events[1] += u64::from(known);
        self.tokens += 1;
        self.queue.push_back(Message { token: self.tokens, outgoing, holder: None });
    }

    fn is_open(&self, level: u32) -> bool {
        self.level.is_some_and(|open| open.is_none_or(|open| open == level))
    }

    fn choose(&mut self) {
        if self.turn.is_none() && !self.waiting.is_empty() && self.waiting.len() == self.live {
            let at = self.random.below(self.waiting.len() as u64) as usize;
            self.waiting.sort_unstable();
            self.turn = Some(self.waiting.swap_remove(at));
        }
    }
}

struct Stage {
    world: Mutex<World>,
    changed: Condvar,
}

/// One role's place on the stage.
struct Actor {
    stage: Arc<Stage>,
    me: usize,
    /// Whether it was killed: what it does afterwards does not happen.
    dead: bool,
}

impl Actor {
    /// Waits for its turn.
    fn turn(&mut self) -> MutexGuard<'_, World> {
        let mut world = self.stage.world.lock().unwrap();
        world.turn = world.turn.filter(|turn| *turn != self.me);
        world.waiting.push(self.me);
        world.choose();
        self.stage.changed.notify_all();
        while world.turn != Some(self.me) {
            world = self.stage.changed.wait(world).unwrap();
        }
        world
    }

    fn leave(&mut self) {
        let mut world = self.stage.world.lock().unwrap();
        world.turn = world.turn.filter(|turn| *turn != self.me);
        world.live -= 1;
        world.choose();
        self.stage.changed.notify_all();
    }

    /// A worker may die at any message; what it holds goes back to the queue.
    fn dies(&mut self) -> bool {
        let me = self.me;
        if me == 0 || self.dead {
            return self.dead;
        }
        let mut world = self.turn();
        let day = world.day;
        let dies = world.chance(day.worker_dies);
        if dies {
            world.events[2] += 1;
            for message in &mut world.queue {
                if message.holder == Some(me) {
                    message.holder = None;
                }
            }
        }
        drop(world);
        self.dead = dies;
        dies
    }
}

impl Wire for Actor {
    fn ask(&mut self, requests: Vec<Request>) -> Result<Vec<Vec<u8>>, Trouble> {
        let mut answers = Vec::new();
        for request in &requests {
            // Each is a message of its own: others come between, and between it and its answer.
            if self.dies() {
                return Err(Trouble::Stopped);
            }
            let mut world = self.turn();
            let day = world.day;
            let mut answer = world.ask(request);
            if world.chance(day.asked_twice) {
                answer = world.ask(request);
            }
            answers.push(answer);
        }
        if self.dies() {
            return Err(Trouble::Stopped);
        }
        Ok(answers)
    }

    fn publish(&mut self, batches: Vec<Outgoing>) -> Result<(), Trouble> {
        for outgoing in batches {
            if self.dies() {
                return Err(Trouble::Stopped);
            }
            self.turn().store(outgoing);
        }
        if self.dies() { Err(Trouble::Stopped) } else { Ok(()) }
    }
}

impl Link for Actor {
    fn pull(&mut self, most: usize) -> Result<Vec<Delivery>, Trouble> {
        if self.dead {
            return Err(Trouble::Stopped);
        }
        let me = self.me;
        let mut world = self.turn();
        if world.over {
            return Err(Trouble::Over);
        }
        let again = world.day.delivered_again;
        let mut got = Vec::new();
        for i in 0..world.queue.len() {
            let Message { token, ref outgoing, holder } = world.queue[i];
            let (level, body) = (outgoing.level, outgoing.body.clone());
            // Somebody who holds it may have been forgotten, and goes on all the same.
            let free = holder.is_none() || (holder != Some(me) && world.chance(again));
            if got.len() < most && free && world.is_open(level) {
                world.events[3] += u64::from(holder.is_some());
                world.queue[i].holder = Some(me);
                got.push(Delivery { body, token });
            }
        }
        Ok(got)
    }

    fn ack(&mut self, token: u64) {
        if !self.dies() {
            self.turn().queue.retain(|message| message.token != token);
        }
    }

    fn give_back(&mut self, token: u64) {
        if !self.dead {
            let mut world = self.turn();
            world.queue.iter_mut().filter(|m| m.token == token).for_each(|m| m.holder = None);
        }
    }

    fn reject(&mut self, token: u64) {
        panic!("nothing foreign was published, and {token} is said to be");
    }
}

impl Desk for Actor {
    fn open(&mut self, level: Option<u32>) -> Result<(), Trouble> {
        self.turn().level = Some(level);
        Ok(())
    }

    fn waiting(&mut self) -> Result<Waiting, Trouble> {
        let world = self.turn();
        let open = world.queue.iter().filter(|message| world.is_open(message.outgoing.level));
        let unacknowledged = open.clone().filter(|message| message.holder.is_some()).count() as u64;
        let undelivered = open.count() as u64 - unacknowledged;
        let stored = world.queue.len() as u64;
        Ok(Waiting { undelivered, unacknowledged, stored, ..Waiting::default() })
    }

    fn rest(&mut self, _: Duration) {
        drop(self.turn());
    }
}

/// What is searched, and how.
struct Play {
    graph: Graph,
    day: Day,
    keepers: u32,
    workers: usize,
    strict: bool,
    keys: Keys,
    batch_states: u32,
    claim_at: usize,
    least_piece: usize,
}

fn job(play: &Play) -> Job {
    Job {
        protocol: PROTOCOL,
        version: "test".into(),
        id: "rehearsal".into(),
        model: "graph.m".into(),
        source: String::new(),
        options: serde_json::Value::Null,
        program: String::new(),
        bits: 32,
        keepers: play.keepers,
        keys: play.keys,
        seed: 7,
        batch_states: play.batch_states,
        strict: play.strict,
        redeliver_ms: 1000,
        queue_bytes: None,
        replicas: 1,
        began: 0,
        host: String::new(),
    }
}

fn expander(play: &Play, job: &Job, filter_bytes: usize) -> Expander<Graph> {
    let (claim_at, least_piece) = (play.claim_at, play.least_piece);
    let settings = Settings { max_depth: None, filter_bytes, claim_at, least_piece };
    Expander::new(play.graph.clone(), job, settings, Box::new(|| 0))
}

/// Runs a job with everything that can happen to it.
fn rehearse(play: &Play, seed: u64) -> (Ended, [u64; 4]) {
    let job = job(play);
    let shards = (0..play.keepers).map(|shard| {
        let dir = Dir::fresh(&std::env::temp_dir()).unwrap();
        let keeper = Some(Keeper::open(&job, shard, plain(), &dir).unwrap());
        Shard { dir, keeper }
    });
    let world = World {
        random: Random::new(seed),
        day: play.day,
        job: job.clone(),
        queue: VecDeque::new(),
        seen: HashSet::new(),
        tokens: 0,
        level: None,
        shards: shards.collect(),
        over: false,
        events: [0; 4],
        waiting: Vec::new(),
        turn: None,
        live: play.workers + 1,
    };
    let stage = Arc::new(Stage { world: Mutex::new(world), changed: Condvar::new() });
    let actor = |me| Actor { stage: Arc::clone(&stage), me, dead: false };
    let ended = std::thread::scope(|scope| {
        for me in 1..=play.workers {
            let (mut actor, job) = (actor(me), &job);
            scope.spawn(move || {
                // A worker that dies is replaced by one that knows nothing.
                while work(&mut expander(play, job, 1 << 12), &mut actor, &mut |_| ())
                    != Trouble::Over
                {
                    actor.dead = false;
                }
                actor.leave();
            });
        }
        let mut desk = actor(0);
        let look_every = Duration::ZERO;
        let patience = Duration::MAX;
        let rules = Rules { strict: play.strict, most_ways: 1, look_every, patience };
        let ended =
            coordinate(&mut expander(play, &job, 1 << 12), &mut desk, rules, &mut |_| Wish::GoOn);
        desk.turn().over = true;
        desk.leave();
        ended.expect("the coordinator does not fail")
    });
    let events = stage.world.lock().unwrap().events;
    (ended, events)
}

fn random_graph(random: &mut Random, nodes: u32) -> Graph {
    let mut edges: Vec<Vec<u32>> = (0..nodes)
        .map(|_| {
            let degree = random.below(4);
            (0..degree).map(|_| random.below(u64::from(nodes)) as u32).collect()
        })
        .collect();
    // Long enough to have something to lose.
    for node in 0..nodes / 2 {
        edges[node as usize].push(node + 1);
    }
    Graph { edges, ..Graph::default() }
}

/// Distances from node 0.
fn distances(graph: &Graph) -> Vec<Option<u32>> {
    let mut distance = vec![None; graph.edges.len()];
    distance[0] = Some(0);
    let mut queue = VecDeque::from([0_u32]);
    while let Some(node) = queue.pop_front() {
        for next in &graph.edges[node as usize] {
            if distance[*next as usize].is_none() {
                distance[*next as usize] = distance[node as usize].map(|d| d + 1);
                queue.push_back(*next);
            }
        }
    }
    distance
}

fn check(play: &Play, seed: u64) -> [u64; 4] {
    let (ended, events) = rehearse(play, seed);
    let distance = distances(&play.graph);
    let bad = play.graph.bad.iter().filter_map(|bad| distance[*bad as usize]).min();
    if let Some(shortest) = bad {
        assert_eq!(ended.end, End::Violated, "seed {seed}");
        let way = &ended.ways[0];
        let mut node = 0;
        for label in &way.path[1..] {
            node = play.graph.edges[node as usize][label.0 as usize];
        }
        assert!(play.graph.bad.contains(&node), "seed {seed}: the way leads elsewhere");
        if play.strict {
            assert_eq!(way.path.len() as u32 - 1, shortest, "seed {seed}: not the shortest way");
        }
        return events;
    }
    assert_eq!(ended.end, End::Complete, "seed {seed}");
    let reached: Vec<usize> = (0..distance.len()).filter(|i| distance[*i].is_some()).collect();
    let totals = &ended.view.totals;
    assert_eq!(totals.states, reached.len() as u64, "seed {seed}: states");
    let edges: usize = reached.iter().map(|i| play.graph.edges[*i].len()).sum();
    assert_eq!(totals.tally.transitions, edges as u64, "seed {seed}: transitions");
    assert_eq!(totals.pending, 0, "seed {seed}: all batches are done everywhere");
    assert_eq!(totals.rejected, 0, "seed {seed}");
    if play.strict {
        let mut levels = vec![0; ended.view.levels.len()];
        distance.iter().flatten().for_each(|d| levels[*d as usize] += 1);
        assert_eq!(ended.view.levels, levels, "seed {seed}: levels");
    }
    events
}

const FINE: Day =
    Day { worker_dies: 0, keeper_dies: 0, delivered_again: 0, dedup_fails: 0, asked_twice: 0 };
const AWFUL: Day = Day {
    worker_dies: 25,
    keeper_dies: 30,
    delivered_again: 300,
    dedup_fails: 500,
    asked_twice: 100,
};

fn play(seed: u64, day: Day) -> Play {
    let mut random = Random::new(seed);
    let nodes = 5 + random.below(60) as u32;
    let graph = random_graph(&mut random, nodes);
    Play {
        graph,
        day,
        keepers: 1 + random.below(3) as u32,
        workers: 1 + random.below(3) as usize,
        strict: random.below(2) == 0,
        keys: if random.below(2) == 0 { Keys::Exact } else { Keys::Signatures },
        batch_states: 1 + random.below(8) as u32,
        claim_at: 1 + random.below(12) as usize,
        least_piece: 1 + random.below(9) as usize,
    }
}

fn seeds(default: u64) -> std::ops::Range<u64> {
    let number = std::env::var("ERGODIC_REHEARSALS").ok().and_then(|text| text.parse().ok());
    0..number.unwrap_or(default)
}

#[test]
fn on_a_fine_day_everything_is_found() {
    for seed in seeds(100) {
        check(&play(seed, FINE), seed);
    }
}

#[test]
fn on_an_awful_day_nothing_is_lost_or_counted_twice() {
    let mut happened = [0; 4];
    for seed in seeds(300) {
        let events = check(&play(seed, AWFUL), seed);
        happened.iter_mut().zip(events).for_each(|(sum, count)| *sum += count);
    }
    assert!(happened.iter().all(|count| *count > 100), "it was no awful day: {happened:?}");
}

#[test]
fn a_violation_is_found_with_a_way_there() {
    for seed in seeds(300) {
        let mut play = play(seed, AWFUL);
        let last = play.graph.edges.len() as u32 - 1;
        play.graph.bad = vec![last / 2, last / 3];
        check(&play, seed);
    }
}

#[test]
fn a_search_may_be_deeper_than_one_answer_tells() {
    let nodes = LEVELS_SENT as u32 * 2 + 100;
    let edges = (0..nodes).map(|node| (node + 1..nodes).take(1).collect()).collect();
    let graph = Graph { edges, ..Graph::default() };
    check(&Play { graph, keepers: 2, workers: 1, strict: true, ..play(0, FINE) }, 0);
}

#[test]
fn strangers_get_nothing_and_are_counted() {
    let play = play(1, FINE);
    let job = job(&play);
    let dir = Dir::fresh(&std::env::temp_dir()).unwrap();
    let mut keeper = Keeper::open(&job, 0, plain(), &dir).unwrap();
    let mut random = Random::new(3);
    for length in 0..400 {
        let junk: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
        assert_eq!(keeper.answer(&[junk]), [Vec::<u8>::new()]);
    }
    assert_eq!(keeper.states(), 0);
}

#[test]
fn a_keeper_takes_only_its_own_files() {
    let play = play(1, FINE);
    let (job, dir) = (job(&play), Dir::fresh(&std::env::temp_dir()).unwrap());
    let first = Keeper::open(&job, 0, plain(), &dir).unwrap();
    let why = Keeper::open(&job, 0, plain(), &dir).unwrap_err();
    assert!(why.contains("in use"), "{why}");
    drop(first);
    let why = Keeper::open(&job, 1, plain(), &dir).unwrap_err();
    assert!(why.contains("another job or another keeper"), "{why}");
}
