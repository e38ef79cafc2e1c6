//! Jobs in which processes die, sleep, are cut off and come back: nothing may be lost, and nothing counted
//! twice. What happens when is chosen by a seed that is printed; `ERGODIC_FLEET_SEED` repeats it, and
//! `ERGODIC_FLEET_RUNS` says how many storms there are.

use super::cut::Island;
use super::jobs::processes;
use super::models::COUNTERS;
use super::run::{Fleet, HOLDS, INCOMPLETE, Run, check, live};
use ergodic_testkit::broker::{Raw, Scratch, Server, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A million states.
const MILLION: &[&str] = &["--deadlock", "off"];
/// Few, in small batches, so that there are many of them.
const FEW: &[&str] = &["--deadlock", "off", "--const", "TOP=7", "--batch-states", "300"];
/// A batch whose worker is silent is delivered again after a second.
const SOON: &[&str] = &["--redeliver-after", "1"];

/// These tests fight for the processor: one at a time, so that what takes long is what hangs.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Random numbers from a seed.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// States that a report counts.
fn number_of(report: &Value) -> u64 {
    report["states"].as_u64().expect("a count")
}

/// Whether a report has the counts that `check` came to.
fn same(report: &Value, expected: &Value, what: &str) {
    for key in ["verdict", "states", "transitions", "covers"] {
        assert_eq!(report[key], expected[key], "{what}: {key} of {report:#}");
    }
}

/// States found so far, as the coordinator says when it is asked: lines of `--live json` come seldom.
fn states(fleet: &Fleet, serve: &Run) -> u64 {
    let job = live(serve).and_then(|live| live["job"].as_str().map(String::from));
    let Some(job) = job else { return 0 };
    let question = b"{\"ask\":\"status\"}";
    let answer = Raw::connect(&fleet.server).ask(&format!("ergodic.{job}.desk.status"), question);
    let status: Value = serde_json::from_slice(&answer).unwrap_or_default();
    status["states"].as_u64().unwrap_or(0)
}

/// Waits until a job is in the middle of its work, or over.
fn under_way(fleet: &Fleet, serve: &mut Run) {
    eventually("it runs", || !serve.running() || states(fleet, serve) > 1000);
}

/// Something happens to a job while it runs. One that was over too soon shows nothing: another try.
fn in_time(mut happens: impl FnMut() -> bool) {
    let in_time = (0..10).any(|_| happens());
    assert!(in_time, "ten jobs were over before anything could happen to them");
}

/// What `check` comes to.
fn expect(fleet: &Fleet, args: &[&str]) -> (String, Value) {
    let model = fleet.dir.file("counters.m", COUNTERS);
    // States per batch are of no interest on one machine.
    let args: Vec<&str> = match args.iter().position(|arg| *arg == "--batch-states") {
        Some(at) => [&args[..at], &args[at + 2..]].concat(),
        None => args.to_vec(),
    };
    let (code, expected) = check(&fleet.dir, &model, &args);
    assert_eq!(code, HOLDS);
    (model, expected)
}

/// Keepers that a coordinator has started.
fn keepers(job: &str) -> Vec<u32> {
    let (wanted, mut found) = (format!("keep --job {job} "), Vec::new());
    for process in std::fs::read_dir("/proc").expect("processes").flatten() {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).replace('\0', " ").contains(&wanted) {
            found.extend(process.file_name().to_string_lossy().parse::<u32>().ok());
        }
    }
    found
}

/// Kills a process of somebody else, unless it has just ended.
fn kill(process: u32) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
}

fn job_of(serve: &Run) -> String {
    let mut name = String::new();
    eventually("the job has a name", || {
        let line = live(serve).and_then(|live| live["job"].as_str().map(String::from));
        name = line.unwrap_or_default();
        !name.is_empty()
    });
    name
}

/// How a storm is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Weather {
    /// Workers die and sleep.
    Workers,
    /// Also keepers die, and the server is restarted as one does.
    All,
    /// All of that, and the server is killed.
    Lossy,
}

/// What happened in a storm.
#[derive(Debug, Default)]
struct Happened {
    killed: u32,
    paused: u32,
    interrupted: u32,
    keepers: u32,
    restarted: u32,
    server_killed: u32,
    lost: bool,
    seconds: f64,
}

/// A job in a storm.
struct Storm<'f> {
    fleet: &'f mut Fleet,
    dice: Dice,
    workers: Vec<Run>,
    asleep: Vec<(Run, Instant)>,
    leaving: Vec<Run>,
    /// A keeper on another computer, so to speak, and its directory.
    remote: Option<(Run, String)>,
    happened: Happened,
}

impl Storm<'_> {
    fn worker(&self) -> Run {
        self.fleet.work(&["--once", "--quiet"])
    }

    fn any_worker(&mut self) -> Run {
        let at = self.dice.below(self.workers.len());
        let fresh = self.worker();
        std::mem::replace(&mut self.workers[at], fresh)
    }

    /// Something goes wrong.
    fn strike(&mut self, weather: Weather, serve: &Run) {
        let what = match weather {
            // So that it happens in every such storm.
            Weather::Lossy if self.happened.server_killed == 0 => 10,
            Weather::Workers => self.dice.below(7),
            Weather::All => self.dice.below(10),
            Weather::Lossy => self.dice.below(11),
        };
        match what {
            0..4 => {
                self.any_worker().kill();
                self.happened.killed += 1;
            }
            4 => {
                let worker = self.any_worker();
                worker.signal(Signal::STOP);
                let pause = Duration::from_millis(1200 + self.dice.next() % 1500);
                self.asleep.push((worker, Instant::now() + pause));
                self.happened.paused += 1;
            }
            5 => {
                let worker = self.any_worker();
                worker.signal(Signal::INT);
                self.leaving.push(worker);
                self.happened.interrupted += 1;
            }
            6 => std::thread::sleep(Duration::from_millis(700)),
            7 | 8 if self.happened.keepers < 3 => self.keeper_dies(serve),
            9 if self.happened.restarted < 2 => {
                self.fleet.server.end(true);
                std::thread::sleep(Duration::from_millis(self.dice.next() % 500));
                self.fleet.server.run();
                self.happened.restarted += 1;
            }
            10 if self.happened.server_killed < 2 => {
                self.fleet.server.end(false);
                self.fleet.server.run();
                self.happened.server_killed += 1;
            }
            _ => {}
        }
    }

    fn keeper_dies(&mut self, serve: &Run) {
        self.happened.keepers += 1;
        if self.dice.below(2) == 0
            && let Some((mut keeper, dir)) = self.remote.take()
        {
            keeper.kill();
            let again = self.fleet.start("keep", &["--dir", &dir]);
            self.remote = Some((again, dir));
            return;
        }
        let here = keepers(&job_of(serve));
        if !here.is_empty() {
            kill(self.dice.one(&here));
        }
    }

    /// Wakes those who have slept long enough.
    fn wake(&mut self) {
        for (worker, until) in std::mem::take(&mut self.asleep) {
            match Instant::now() < until {
                true => self.asleep.push((worker, until)),
                false => {
                    worker.signal(Signal::CONT);
                    self.workers.push(worker);
                }
            }
        }
        // Not more of them than the computer can bear.
        while self.workers.len() > 4 {
            self.workers.remove(0).kill();
        }
    }
}

/// One job in a storm: its counts must be right, or, if the server was killed, it says that batches are lost.
fn storm(seed: u64, weather: Weather) -> Option<Happened> {
    let mut fleet = Fleet::new()?;
    let mut dice = Dice(seed);
    let (model, expected) = expect(&fleet, MILLION);
    let remote = weather != Weather::Workers && dice.below(2) == 0;
    let args = [
        MILLION,
        SOON,
        &["--levels", dice.one(&["loose", "loose", "strict"])],
        &["--keys", dice.one(&["exact", "signatures"])],
        &["--keepers", dice.one(&["1", "2", "3"])],
        &["--batch-states", dice.one(&["400", "2000", "10000"])],
        &["--remote-keepers", if remote { "1" } else { "0" }],
    ]
    .concat();
    eprintln!("storm {seed}: {weather:?} {args:?}");
    let began = Instant::now();
    let mut serve = fleet.serve(&model, &args);
    let remote = remote.then(|| {
        let dir = fleet.dir.path("remote");
        (fleet.start("keep", &["--dir", &dir]), dir)
    });
    let happened = Happened::default();
    let (workers, asleep, leaving) = (Vec::new(), Vec::new(), Vec::new());
    let mut storm = Storm { fleet: &mut fleet, dice, workers, asleep, leaving, remote, happened };
    storm.workers = (0..3).map(|_| storm.worker()).collect();
    eventually("it runs", || !serve.running() || states(storm.fleet, &serve) > 0);
    let limit = Duration::from_secs(180);
    let calm = Duration::from_secs(if number("ERGODIC_FLEET_RUNS").is_some() { 30 } else { 4 });
    while serve.running() {
        if began.elapsed() > limit {
            let (queue, live) = (storm.fleet.queue(&job_of(&serve)), live(&serve));
            panic!("storm {seed} hangs: {:?}\n{live:?}\n{queue}", storm.happened);
        }
        std::thread::sleep(Duration::from_millis(100 + storm.dice.next() % 400));
        storm.wake();
        // Then it calms down, so that slow computers get to the end.
        if began.elapsed() < calm {
            storm.strike(weather, &serve);
        }
    }
    storm.happened.seconds = began.elapsed().as_secs_f64();
    let happened = std::mem::take(&mut storm.happened);
    drop(storm);
    let ended = serve.wait();
    let what = format!("storm {seed}: {happened:?}");
    let killed = happened.server_killed > 0;
    if killed && ended.code == Some(INCOMPLETE) {
        let report = ended.report(INCOMPLETE);
        let honest =
            report["reason"].as_str().is_some_and(|why| why.contains("the NATS server lost"));
        assert!(honest, "{what}: {report:#}");
        return Some(Happened { lost: true, ..happened });
    }
    let report = ended.report(HOLDS);
    same(&report, &expected, &what);
    if args.contains(&"strict") {
        assert_eq!(report["depth"], expected["depth"], "{what}");
    }
    Some(happened)
}

/// So many storms of one kind; one if nobody wants more.
fn storms(weather: Weather) {
    let runs = number("ERGODIC_FLEET_RUNS").unwrap_or(1);
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let first = number("ERGODIC_FLEET_SEED").unwrap_or(clock.map_or(1, |time| time.as_secs()));
    let mut lost = 0;
    for seed in first..first + runs {
        let _alone = alone();
        let Some(happened) = storm(seed, weather) else { return };
        eprintln!("storm {seed}: {happened:?}");
        lost += u32::from(happened.lost);
    }
    eprintln!("{runs} storms ({weather:?}), in {lost} of them the server lost batches");
}

#[test]
fn workers_die_and_sleep() {
    storms(Weather::Workers);
}

#[test]
fn everybody_dies_at_times() {
    storms(Weather::All);
}

#[test]
fn the_server_is_killed_among_others() {
    storms(Weather::Lossy);
}

/// A worker that sleeps longer than its batches wait for it wakes up as one whom nobody needs.
#[test]
fn a_worker_sleeps() {
    let Some(fleet) = Fleet::new() else { return };
    let _alone = alone();
    let (model, expected) = expect(&fleet, FEW);
    in_time(|| {
        let mut serve = fleet.serve(&model, &[FEW, SOON, &["--keepers", "2"]].concat());
        let sleeper = fleet.work(&["--once"]);
        under_way(&fleet, &mut serve);
        sleeper.signal(Signal::STOP);
        let before = states(&fleet, &serve);
        let _other = fleet.work(&["--once"]);
        // What the sleeper holds comes to the other after a second; only then can the job end.
        std::thread::sleep(Duration::from_millis(2500));
        sleeper.signal(Signal::CONT);
        same(&serve.wait().report(HOLDS), &expected, "a sleeper");
        sleeper.wait().complaint(HOLDS, &["the job is over"]);
        (1..number_of(&expected)).contains(&before)
    });
}

/// A job whose only worker never wakes up again is finished by another.
#[test]
fn a_worker_sleeps_for_ever() {
    let Some(fleet) = Fleet::new() else { return };
    let _alone = alone();
    let (model, expected) = expect(&fleet, FEW);
    in_time(|| {
        let mut serve = fleet.serve(&model, &[FEW, SOON].concat());
        let sleeper = fleet.work(&["--once"]);
        under_way(&fleet, &mut serve);
        sleeper.signal(Signal::STOP);
        let before = states(&fleet, &serve);
        let _other = fleet.work(&["--once"]);
        let report = serve.wait().report(HOLDS);
        same(&report, &expected, "a sleeper");
        let asleep = (1..number_of(&expected)).contains(&before);
        assert!(!asleep || report["figures"]["redeliveries"].as_f64() > Some(0.0), "{report:#}");
        asleep
    });
}

/// Whoever is asked to leave hands back what it holds: nobody waits for the time of redelivery.
#[test]
fn an_interrupted_worker_hands_its_work_back() {
    let Some(fleet) = Fleet::new() else { return };
    let _alone = alone();
    let (model, expected) = expect(&fleet, FEW);
    for which in [Signal::INT, Signal::TERM] {
        in_time(|| {
            let mut serve = fleet.serve(&model, &[FEW, &["--redeliver-after", "1h"]].concat());
            let first = fleet.work(&["--once"]);
            under_way(&fleet, &mut serve);
            first.signal(which);
            let left = first.wait();
            let before = states(&fleet, &serve);
            let _second = fleet.work(&["--once"]);
            same(&serve.wait().report(HOLDS), &expected, "an interrupted worker");
            let in_time = (1..number_of(&expected)).contains(&before);
            left.complaint(HOLDS, if in_time { &["stopped"] } else { &[] });
            in_time
        });
    }
}

/// The server ends as it should and comes back, with the job in its storage.
#[test]
fn the_server_is_restarted() {
    let Some(mut fleet) = Fleet::new() else { return };
    let _alone = alone();
    let (model, expected) = expect(&fleet, FEW);
    for levels in ["loose", "strict"] {
        let args = ["--workers", "2", "--keepers", "2", "--levels", levels];
        in_time(|| {
            let mut serve = fleet.serve(&model, &[FEW, SOON, &args].concat());
            under_way(&fleet, &mut serve);
            let before = states(&fleet, &serve);
            fleet.server.end(true);
            std::thread::sleep(Duration::from_millis(700));
            fleet.server.run();
            same(&serve.wait().report(HOLDS), &expected, levels);
            (1..number_of(&expected)).contains(&before)
        });
    }
}

/// Keepers that die come back with all that they have said they know.
#[test]
fn keepers_die() {
    let Some(fleet) = Fleet::new() else { return };
    let _alone = alone();
    let (model, expected) = expect(&fleet, MILLION);
    let mut tries = 0;
    in_time(|| {
        tries += 1;
        let args = ["--workers", "1", "--keepers", "1", "--remote-keepers", "1"];
        let mut serve = fleet.serve(&model, &[MILLION, SOON, &args].concat());
        let dir = fleet.dir.path(&format!("elsewhere-{tries}"));
        let mut remote = fleet.start("keep", &["--dir", &dir]);
        let job = job_of(&serve);
        let mut killed = 0;
        for least in [1, 300_000, 500_000] {
            eventually("it goes on", || !serve.running() || states(&fleet, &serve) > least);
            let here = keepers(&job);
            if here.is_empty() {
                break;
            }
            here.into_iter().for_each(kill);
            remote.kill();
            remote = fleet.start("keep", &["--dir", &dir]);
            killed += 1;
            eventually("it is back", || !serve.running() || remote.err().contains("from the log"));
        }
        let ended = serve.wait();
        let last =
            ended.err.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
        same(&ended.report(HOLDS), &expected, "keepers that die");
        let restarts = last.and_then(|live| live["restarts"].as_u64());
        // The last keeper may have been killed when it was not needed any more.
        assert!(killed < 2 || restarts >= Some(1), "{killed} killed, {restarts:?} restarts");
        drop(remote);
        eventually("all are gone", || processes(&format!("--job {job} ")).is_empty());
        killed > 1
    });
}

/// A worker whose cable is pulled, and put back in: its requests get lost, and so do the answers.
#[test]
fn a_worker_is_cut_off() {
    let Some(server) = Server::inside(Scratch::new("fleet"), "0.0.0.0", "") else { return };
    let mut fleet = Fleet { server, dir: Scratch::new("fleet") };
    fleet.server.host = "127.0.0.1".to_string();
    let _alone = alone();
    let (model, expected) = expect(&fleet, FEW);
    let island = match Island::new() {
        Ok(island) => Some(island),
        Err(why) => {
            eprintln!(
                "no network of its own can be made for a worker ({why}): it is paused instead"
            );
            None
        }
    };
    in_time(|| {
        let mut serve = fleet.serve(&model, &[FEW, SOON, &["--keepers", "2"]].concat());
        let worker = match &island {
            Some(island) => {
                let url = format!("nats://{}:{}", island.address(), fleet.server.port);
                let args = ["work", "--nats", &url, "--threads", "1", "--once"];
                Run::start_with(&fleet.dir, island.command(), &args)
            }
            None => fleet.work(&["--once"]),
        };
        under_way(&fleet, &mut serve);
        match &island {
            Some(island) => island.cut(true),
            None => worker.signal(Signal::STOP),
        }
        let before = states(&fleet, &serve);
        let _other = fleet.work(&["--once"]);
        std::thread::sleep(Duration::from_millis(2500));
        match &island {
            Some(island) => island.cut(false),
            None => worker.signal(Signal::CONT),
        }
        same(&serve.wait().report(HOLDS), &expected, "a worker that is cut off");
        worker.wait().complaint(HOLDS, &["the job is over"]);
        (1..number_of(&expected)).contains(&before)
    });
}
