//! Running `ergodic check` and `ergodic serve` with a meter: what the search took, and how much processor time
//! each role had (workers, keepers, broker, coordinator).
//!
//! Wall-clock time on a machine that does something else as well says little; processor time says what a
//! search costs wherever it runs. It is read from `/proc` while the processes live, so the last few
//! milliseconds of each are missing, and on systems without `/proc` all of it is zero. Sequential runs get the
//! niceness that `serve` gives its workers, so that a busy machine treats both alike. The meter also says
//! how much of the machine others had during a run: of several runs those count that were left alone, and
//! if there are none, the report must not conclude anything from their times ([`Metered::alone`]).

use crate::child::{Args, Ergodic};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The niceness of workers that `serve` starts.
const NICE: &str = "5";

/// How often the meter is read,
const READ_EVERY: Duration = Duration::from_millis(50);

/// and after how many readings it looks for new processes, which takes more time.
const LOOK_AFTER: u32 = 4;

/// What others may use of the machine, in processors, in a run whose time counts.
pub const OTHERS: f64 = 0.2;

/// How long is looked to see whether the machine is quiet.
const LOOK: Duration = Duration::from_millis(400);

/// Ticks of `/proc` in a second, on every Linux.
const TICKS: f64 = 100.0;

/// Processor seconds by role.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Those who expand states; the whole program in a sequential run.
    pub workers: f64,
    /// Those who keep states.
    pub keepers: f64,
    /// The NATS server.
    pub broker: f64,
    /// The program that serves, from the moment the first worker is there.
    pub coordinator: f64,
}

impl Effort {
    /// All together.
    pub fn sum(&self) -> f64 {
        self.workers + self.keepers + self.broker + self.coordinator
    }
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metered {
    /// States.
    pub states: f64,
    /// Rule firings.
    pub transitions: f64,
    /// Seconds of search.
    pub seconds: f64,
    /// Bits of a state.
    pub state_bits: f64,
    /// States per level, if the search knows them.
    pub levels: Vec<f64>,
    /// Further figures of the report.
    pub figures: BTreeMap<String, f64>,
    /// Processor time.
    pub effort: Effort,
    /// Processors that others used meanwhile, on average.
    pub others: f64,
}

impl Metered {
    /// Whether nobody else used the machine: only then its time says something.
    pub fn alone(&self) -> bool {
        self.others <= OTHERS
    }

    /// A figure of the report, 0 if it is not there.
    pub fn figure(&self, name: &str) -> f64 {
        self.figures.get(name).copied().unwrap_or(0.0)
    }

    /// Seconds per state.
    pub fn per_state(&self) -> f64 {
        self.seconds / self.states.max(1.0)
    }

    /// Successors that keepers were asked about.
    pub fn claims(&self) -> f64 {
        self.figure("claimed")
    }

    /// Bytes on the wire, counted once for each time they are sent by a worker or to one.
    pub fn wire_bytes(&self) -> f64 {
        self.figure("wire_bytes_per_state") * self.states
    }

    fn parse(value: &Value, effort: Effort, others: f64) -> Result<Metered, String> {
        let number = |name: &str| value.get(name).and_then(Value::as_f64);
        let verdict = value.get("verdict").and_then(Value::as_str).unwrap_or("nothing");
        let (Some(states), Some(transitions), Some(seconds)) =
            (number("states"), number("transitions"), number("seconds"))
        else {
            let why = value.get("reason").and_then(Value::as_str).unwrap_or("it gave no result");
            return Err(format!("`ergodic` failed: {why}"));
        };
        // What a search came to that did not get to its end cannot be compared.
        if verdict != "holds" {
            let why = value.get("reason").and_then(Value::as_str).unwrap_or("no reason given");
            return Err(format!("`ergodic` says {verdict} ({why}), and every model here holds"));
        }
        let figures = value.get("figures").and_then(Value::as_object).into_iter().flatten();
        let figures = figures.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)));
        let levels = value.get("levels").and_then(Value::as_array).into_iter().flatten();
        Ok(Metered {
            states,
            transitions,
            seconds,
            state_bits: number("state_bits").unwrap_or(0.0),
            levels: levels.filter_map(Value::as_f64).collect(),
            figures: figures.collect(),
            effort,
            others,
        })
    }
}

/// Runs that are compared: each several times, in turns.
///
/// # Errors
/// With the first message of a child.
pub fn in_turns(
    ergodic: &mut Ergodic,
    commands: &[Args],
    rounds: usize,
) -> Result<Vec<Metered>, String> {
    let mut runs: Vec<Vec<Metered>> = vec![Vec::new(); commands.len()];
    for _ in 0..rounds.max(1) {
        for (command, runs) in commands.iter().zip(&mut runs) {
            runs.push(run(ergodic, command)?);
        }
    }
    Ok(runs.into_iter().filter_map(median).collect())
}

/// The run with the median time, of those that were left alone, or else the one that was most so; its
/// processor times are medians of their own.
fn median(mut runs: Vec<Metered>) -> Option<Metered> {
    let middle = |of: fn(&Metered) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
    };
    let effort = Effort {
        workers: middle(|run| run.effort.workers),
        keepers: middle(|run| run.effort.keepers),
        broker: middle(|run| run.effort.broker),
        coordinator: middle(|run| run.effort.coordinator),
    };
    runs.sort_by(|a, b| a.others.total_cmp(&b.others));
    runs.truncate(runs.iter().filter(|run| run.alone()).count().max(1));
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let at = runs.len().saturating_sub(1) / 2;
    (!runs.is_empty()).then(|| Metered { effort, ..runs.swap_remove(at) })
}

/// `check` with one thread.
pub fn alone(file: &str, flags: &str) -> Args {
    let mut out = vec!["check".to_string(), file.to_string()];
    out.extend(crate::child::args(flags));
    out.extend(crate::child::args("--threads 1 --no-progress"));
    out
}

/// The sequential run, and those with one worker to so many.
pub fn alone_and_together(file: &str, flags: &str, workers: usize) -> Vec<Args> {
    let teams = (1..=workers).map(|n| together(file, flags, n));
    std::iter::once(alone(file, flags)).chain(teams).collect()
}

/// `serve` with workers on this computer.
pub fn together(file: &str, flags: &str, workers: usize) -> Args {
    let mut out = vec!["serve".to_string(), file.to_string()];
    out.extend(crate::child::args(flags));
    out.extend(crate::child::args(&format!("--nats embedded --workers {workers} --live off")));
    out
}

/// Runs the program once.
///
/// # Errors
/// With the child's message.
pub fn run(ergodic: &mut Ergodic, command: &[String]) -> Result<Metered, String> {
    await_quiet(Duration::from_secs(ergodic.quiet));
    let (began, busy) = (Instant::now(), busy_seconds());
    let child = Command::new("nice")
        .args(if command.first().is_some_and(|c| c == "check") {
            ["-n", NICE]
        } else {
            ["-n", "0"]
        })
        .arg(ergodic.program())
        .args(command)
        .args(["--format", "json", "--trace", "off"])
        .args(["--time-limit", &format!("{}s", ergodic.patience)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", ergodic.program().display()))?;
    ergodic.children += 1;
    let (text, said, effort, own) = watch(child)?;
    let used = busy_seconds().zip(busy).map_or(own, |(after, before)| after - before);
    let others = ((used - own) / began.elapsed().as_secs_f64()).max(0.0);
    let words = command.iter().map(|word| word.rsplit('/').next().unwrap_or(word));
    let words: Vec<&str> = words.collect();
    eprintln!(
        "papers: {} ({:.1} s, others {others:.2})",
        words.join(" "),
        began.elapsed().as_secs_f64()
    );
    let value: Value = serde_json::from_str(&text).map_err(|_| {
        let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("no output");
        format!("`ergodic {}` failed: {}", words.join(" "), line.trim())
    })?;
    Metered::parse(&value, effort, others)
}

/// Processor seconds that the whole machine has used so far.
fn busy_seconds() -> Option<f64> {
    busy(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// The same, from the text: everything but idling and waiting.
fn busy(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("cpu "))?;
    let ticks = line.split_whitespace().skip(1).take(8).enumerate();
    let ticks = ticks.filter(|(i, _)| ![3, 4].contains(i));
    Some(ticks.filter_map(|(_, word)| word.parse::<f64>().ok()).sum::<f64>() / TICKS)
}

/// Waits until nobody else uses the machine, but not longer than that.
fn await_quiet(most: Duration) {
    let began = Instant::now();
    while began.elapsed() < most {
        let before = busy_seconds();
        std::thread::sleep(LOOK);
        let used = busy_seconds().zip(before).map_or(0.0, |(after, before)| after - before);
        if used <= OTHERS * LOOK.as_secs_f64() {
            return;
        }
    }
}

/// Reads the meter until a child ends; returns what it wrote, its processor times by role, and all of them.
fn watch(mut child: Child) -> Result<(String, String, Effort, f64), String> {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let reader = |from: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut text = String::new();
            // What is not text gives no JSON, and that is reported.
            let _ = from.map(|mut from| from.read_to_string(&mut text));
            text
        })
    };
    let out = reader(out.map(|out| Box::new(out) as Box<dyn Read + Send>));
    let err = reader(err.map(|err| Box::new(err) as Box<dyn Read + Send>));
    let mut meter = Meter::default();
    loop {
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(_)) => break,
            Err(error) => return Err(error.to_string()),
        }
        meter.read(child.id());
        std::thread::sleep(READ_EVERY);
    }
    let join = |thread: std::thread::JoinHandle<String>| thread.join().unwrap_or_default();
    let own = meter.latest.values().map(|(_, seconds)| seconds).sum();
    Ok((join(out), join(err), meter.effort(), own))
}

/// What a process is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Worker,
    Keeper,
    Broker,
    Coordinator,
}

/// The role of a process, by its command line.
fn role(command: &str) -> Option<Role> {
    let mut words = command.split('\0');
    let program = words.next()?.rsplit('/').next()?;
    if program.starts_with("nats-server") {
        return Some(Role::Broker);
    }
    match words.next()? {
        "work" | "check" => Some(Role::Worker),
        "keep" => Some(Role::Keeper),
        "serve" => Some(Role::Coordinator),
        _ => None,
    }
}

/// Processor times of the processes below one.
#[derive(Default)]
struct Meter {
    /// By process.
    latest: HashMap<u32, (Role, f64)>,
    /// What the coordinator had used before the search began.
    before: Option<f64>,
    readings: u32,
}

impl Meter {
    fn read(&mut self, root: u32) {
        if self.readings.is_multiple_of(LOOK_AFTER) {
            self.look(root);
        } else {
            for (id, (_, seconds)) in &mut self.latest {
                // A process that has ended keeps what it had.
                if let Some((_, now)) = read_stat(*id) {
                    *seconds = now;
                }
            }
        }
        self.readings += 1;
        if self.before.is_none() && self.latest.values().any(|(role, _)| *role == Role::Worker) {
            self.before = Some(self.sum(Role::Coordinator));
        }
    }

    /// Finds the processes below one.
    fn look(&mut self, root: u32) {
        let Ok(entries) = std::fs::read_dir("/proc") else { return };
        let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let all: HashMap<u32, (u32, f64)> =
            ids.filter_map(|id: u32| Some((id, read_stat(id)?))).collect();
        let below = |mut id: u32| {
            // No process is its own ancestor, but `/proc` changes while it is read.
            for _ in 0..64 {
                if id == root {
                    return true;
                }
                match all.get(&id) {
                    Some((parent, _)) => id = *parent,
                    None => return false,
                }
            }
            false
        };
        for (id, (_, seconds)) in all.iter().filter(|(id, _)| below(**id)) {
            let command = std::fs::read_to_string(format!("/proc/{id}/cmdline"));
            if let Some(role) = command.ok().as_deref().and_then(role) {
                self.latest.insert(*id, (role, *seconds));
            }
        }
    }

    fn sum(&self, of: Role) -> f64 {
        self.latest.values().filter(|(role, _)| *role == of).map(|(_, seconds)| seconds).sum()
    }

    fn effort(&self) -> Effort {
        Effort {
            workers: self.sum(Role::Worker),
            keepers: self.sum(Role::Keeper),
            broker: self.sum(Role::Broker),
            coordinator: self.sum(Role::Coordinator) - self.before.unwrap_or(0.0),
        }
    }
}

/// Parent and processor seconds of a process.
fn read_stat(id: u32) -> Option<(u32, f64)> {
    stat(&std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// Parent and processor seconds, from `/proc/PID/stat`.
fn stat(text: &str) -> Option<(u32, f64)> {
    // The name stands in parentheses and may hold anything.
    let (_, rest) = text.rsplit_once(')')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |at: usize| words.get(at)?.parse::<f64>().ok();
    Some((words.get(1)?.parse().ok()?, (ticks(11)? + ticks(12)?) / TICKS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn processes_are_told_apart() {
        assert_eq!(role("/usr/sbin/nats-server\0-c\0server.conf\0"), Some(Role::Broker));
        assert_eq!(role("/x/ergodic\0work\0--job\0a\0"), Some(Role::Worker));
        assert_eq!(role("ergodic\0keep\0"), Some(Role::Keeper));
        assert_eq!(role("ergodic\0serve\0m.m\0"), Some(Role::Coordinator));
        assert_eq!(role("sh\0-c\0"), None);
        assert_eq!(role(""), None);
    }

    #[test]
    fn the_meter_reads_what_linux_writes() {
        let text = "12 (a) b) S 7 12 12 0 -1 4194560 1 0 0 0 150 50 0 0 20 0";
        assert_eq!(stat(text), Some((7, 2.0)));
        assert_eq!(stat("12 (a"), None);
        assert_eq!(busy("cpu  100 20 30 900 40 5 6 7 0 0\ncpu0 1 2"), Some(1.68));
        assert_eq!(busy(""), None);
    }

    #[test]
    fn runs_are_read_and_the_median_counts() {
        let value = json!({"verdict": "holds", "states": 10, "transitions": 20, "seconds": 2.0,
            "state_bits": 16, "levels": [1, 9], "figures": {"wire_bytes_per_state": 28.0,
            "claimed": 12.0, "batches": 2.0}});
        let run = Metered::parse(&value, Effort::default(), 0.0).unwrap_or_default();
        assert_eq!((run.states, run.per_state(), run.wire_bytes()), (10.0, 0.2, 280.0));
        assert_eq!((run.claims(), run.figure("batches"), run.figure("none")), (12.0, 2.0, 0.0));
        assert_eq!(run.levels, [1.0, 9.0]);
        let of = |seconds| Metered { seconds, ..run.clone() };
        let found = median(vec![of(3.0), of(1.0), of(2.0)]);
        assert_eq!(found.map(|run| run.seconds), Some(2.0));
        assert_eq!(median(Vec::new()), None);
        // Runs that were disturbed do not count, unless there is nothing else.
        let crowded = |seconds, others| Metered { others, ..of(seconds) };
        let found = median(vec![crowded(9.0, 1.0), of(3.0), crowded(8.0, 0.5)]);
        assert_eq!(found.map(|run| run.seconds), Some(3.0));
        let found = median(vec![crowded(9.0, 1.0), crowded(8.0, 0.5)]);
        assert!(found.is_some_and(|run| run.seconds == 8.0 && !run.alone()));
        let failed = |value| Metered::parse(&value, Effort::default(), 0.0).err();
        assert_eq!(failed(json!({"reason": "so"})), Some("`ergodic` failed: so".to_string()));
        let part = json!({"verdict": "incomplete", "reason": "time limit", "states": 1,
            "transitions": 1, "seconds": 1.0});
        assert!(failed(part).is_some_and(|why| why.contains("incomplete (time limit)")));
    }
}
