//! Running `ergodic` as a child process and reading its JSON.
//!
//! A child that fails gives its own message, never a panic. What is timed is what the program says about its
//! search (`seconds`), without the time for reading and compiling the model. Times are compared only within
//! one call of [`Ergodic::race`]: it runs all contenders in turn, several rounds of that if they are
//! short, and keeps the best time of each, so that other work on the machine hits all alike.

use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Rounds of short runs.
const ROUNDS: usize = 3;

/// Runs that take longer than this (seconds of search) are not repeated.
const SHORT: f64 = 2.0;

/// Searches shorter than this (seconds) are not compared: fixed costs are all there is.
pub const TIMEABLE: f64 = 0.01;

/// What a check came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// `holds`, `violated` or `incomplete`.
    pub verdict: String,
    /// Why, if it is not `holds`.
    pub reason: String,
    /// States, visits repeated by a search that forgets included.
    pub states: u64,
    /// Rule firings.
    pub transitions: u64,
    /// Last level.
    pub depth: u64,
    /// Largest level.
    pub max_frontier: u64,
    /// Bits of a state.
    pub state_bits: u64,
    /// Seconds of search.
    pub seconds: f64,
    /// The probability that a state was omitted is at most this.
    pub omission_bound: Option<f64>,
    /// Collision rate of a cache.
    pub collision_rate: Option<f64>,
    /// Memory of the process at its highest.
    pub peak_memory: u64,
    /// Known states that a search with sleep sets came upon.
    pub matched: u64,
    /// The longest stack of such a search.
    pub stacked: u64,
}

impl Run {
    /// Whether the search came to its end (or to a violation, which ends it as well).
    pub fn ended(&self) -> bool {
        self.verdict != "incomplete"
    }

    /// From the JSON of `ergodic check`.
    fn parse(value: &Value) -> Option<Run> {
        let number = |name: &str| value.get(name).and_then(Value::as_u64);
        let text =
            |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
        let figure = |name: &str| value.get("figures")?.get(name)?.as_f64();
        Some(Run {
            verdict: value.get("verdict")?.as_str()?.to_string(),
            reason: text("reason"),
            states: number("states")?,
            transitions: number("transitions")?,
            depth: number("depth")?,
            max_frontier: number("max_frontier").unwrap_or(0),
            state_bits: number("state_bits").unwrap_or(0),
            seconds: value.get("seconds")?.as_f64()?,
            omission_bound: value.get("omission_bound").and_then(Value::as_f64),
            collision_rate: figure("collision_rate"),
            peak_memory: number("peak_memory_bytes").unwrap_or(0),
            matched: figure("matched_states").unwrap_or(0.0) as u64,
            stacked: figure("most_stacked_states").unwrap_or(0.0) as u64,
        })
    }
}

/// The part of a profile that Fig. 1 needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// `whole`, `until-violation` or `part`.
    pub scope: String,
    /// Whether symmetry was reduced.
    pub reduced: bool,
    /// States.
    pub states: u64,
    /// E{Δ(k)} and σ(k) for k = −1, 0, 1, in this order, and SumAvg.
    pub values: [f64; 7],
}

impl Profile {
    fn parse(value: &Value) -> Option<Profile> {
        let locality = value.get("locality")?;
        let mut values = [0.0; 7];
        for one in locality.get("by_k")?.as_array()? {
            let k = one.get("k")?.as_i64()?;
            if (-1..=1).contains(&k) {
                let at = 2 * (k + 1) as usize;
                values[at] = one.get("mean")?.as_f64()?;
                values[at + 1] = one.get("deviation")?.as_f64()?;
            }
        }
        values[6] = locality.get("sum_avg")?.as_f64()?;
        Some(Profile {
            scope: value.get("scope")?.as_str()?.to_string(),
            reduced: value.get("symmetry").and_then(Value::as_str) != Some("off"),
            states: value.get("states")?.as_u64()?,
            values,
        })
    }
}

/// What comes of a child.
pub type Outcome = Result<Run, String>;

/// A child's arguments after `check MODEL`.
pub type Args = Vec<String>;

/// Words as arguments.
pub fn args(text: &str) -> Args {
    text.split_whitespace().map(str::to_string).collect()
}

/// The program, and where the models are.
pub struct Ergodic {
    program: PathBuf,
    models: PathBuf,
    /// Seconds that one child may take.
    pub patience: u64,
    /// Runs by model and arguments, for their counts.
    known: HashMap<(String, Args), Outcome>,
    /// Children run so far.
    pub children: usize,
    /// Seconds that a run whose time counts may wait until nobody else uses the machine.
    pub quiet: u64,
}

impl Ergodic {
    /// The program at a path.
    pub fn new(program: PathBuf, models: PathBuf, patience: u64) -> Ergodic {
        Ergodic { program, models, patience, known: HashMap::new(), children: 0, quiet: 0 }
    }

    /// Where it is.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// What the program says it is.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn version(&self) -> Result<String, String> {
        let out = Command::new(&self.program).arg("--version").output();
        let out = out.map_err(|error| format!("{}: {error}", self.program.display()))?;
        Ok(String::from_utf8_lossy(&out.stdout).trim().to_string())
    }

    /// A model's file.
    ///
    /// # Errors
    /// If it is not there.
    pub fn model(&self, file: &str) -> Result<PathBuf, String> {
        let path = self.models.join(file);
        if path.is_file() { Ok(path) } else { Err(format!("{file} is not there")) }
    }

    /// All models, sorted, as paths below the directory.
    pub fn all_models(&self) -> Vec<String> {
        let mut out = Vec::new();
        collect(&self.models, &self.models, &mut out);
        out.sort();
        out
    }

    /// Runs a check once.
    pub fn check(&mut self, file: &str, args: &[String]) -> Outcome {
        let value = self.json("check", file, &["--deadlock", "off", "--threads", "1"], args)?;
        Run::parse(&value).ok_or_else(|| complaint(&value))
    }

    /// The run in memory, remembered: for counts, not for times.
    pub fn in_memory(&mut self, file: &str, extra: &[String]) -> Outcome {
        let mut args = args("--strategy ram --trace off");
        args.extend(extra.iter().cloned());
        self.remembered(file, args)
    }

    /// A check that is run once only, however often it is asked for.
    pub fn remembered(&mut self, file: &str, args: Args) -> Outcome {
        let key = (file.to_string(), args);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let outcome = self.check(file, &key.1);
        self.known.insert(key, outcome.clone());
        outcome
    }

    /// Runs checks of one model in turn, short ones several times; each has its best time in the end.
    pub fn race(&mut self, file: &str, contenders: &[Args]) -> Vec<Outcome> {
        let mut best: Vec<Outcome> = contenders.iter().map(|args| self.check(file, args)).collect();
        for _ in 1..ROUNDS {
            for (args, best) in contenders.iter().zip(&mut best) {
                let Ok(first) = best else { continue };
                // The first is what the others are measured by.
                if first.seconds > SHORT && args != &contenders[0] {
                    continue;
                }
                if let Ok(again) = self.check(file, args)
                    && again.seconds < first.seconds
                {
                    *first = again;
                }
            }
        }
        best
    }

    /// Runs a profile.
    ///
    /// # Errors
    /// With the child's message.
    pub fn profile(&mut self, file: &str, args: &[String]) -> Result<Profile, String> {
        let value = self.json("profile", file, &[], args)?;
        Profile::parse(&value).ok_or_else(|| complaint(&value))
    }

    fn json(
        &mut self,
        command: &str,
        file: &str,
        common: &[&str],
        args: &[String],
    ) -> Result<Value, String> {
        let model = self.model(file)?;
        self.children += 1;
        let began = Instant::now();
        let out = Command::new(&self.program)
            .arg(command)
            .arg(&model)
            .args(["--format", "json", "--no-progress"])
            .args(["--time-limit", &format!("{}s", self.patience)])
            .args(common)
            .args(args)
            .output()
            .map_err(|error| format!("{}: {error}", self.program.display()))?;
        eprintln!(
            "papers: {command} {file} {} ({:.1} s)",
            args.join(" "),
            began.elapsed().as_secs_f64()
        );
        serde_json::from_slice(&out.stdout).map_err(|_| {
            let told = String::from_utf8_lossy(&out.stderr);
            let line = told.lines().find(|line| !line.trim().is_empty()).unwrap_or("no output");
            format!("`ergodic {command}` failed ({}): {}", out.status, line.trim())
        })
    }
}

/// What a child said instead of a result.
fn complaint(value: &Value) -> String {
    let words = value.get("reason").and_then(Value::as_str).unwrap_or("it gave no result");
    format!("`ergodic` failed: {words}")
}

fn collect(root: &Path, folder: &Path, out: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, out);
        } else if path.extension().is_some_and(|ending| ending == "m")
            && let Ok(inside) = path.strip_prefix(root)
        {
            out.push(inside.display().to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn checks_are_read() {
        let value = json!({"verdict": "incomplete", "reason": "so", "states": 7, "transitions": 8,
            "depth": 3, "max_frontier": 4, "state_bits": 5, "seconds": 0.25, "omission_bound": null,
            "figures": {"collision_rate": 0.9, "matched_states": 6.0, "most_stacked_states": 2.0},
            "peak_memory_bytes": 1000});
        let run = Run::parse(&value).unwrap_or_default();
        assert_eq!((run.matched, run.stacked), (6, 2));
        assert_eq!((run.states, run.transitions, run.depth), (7, 8, 3));
        assert_eq!((run.omission_bound, run.collision_rate), (None, Some(0.9)));
        assert!(!run.ended());
        assert_eq!(Run::parse(&json!({"verdict": "holds"})), None);
    }

    #[test]
    fn profiles_are_read() {
        let value = json!({"scope": "whole", "symmetry": "off", "states": 5, "locality": {
            "sum_avg": 0.75, "by_k": [{"k": 1, "mean": 0.5, "deviation": 0.1},
            {"k": -1, "mean": 0.25, "deviation": 0.2}, {"k": -7, "mean": 0.25, "deviation": 0.3}]}});
        let profile = Profile::parse(&value).unwrap_or_default();
        assert_eq!(profile.values, [0.25, 0.2, 0.0, 0.0, 0.5, 0.1, 0.75]);
        assert!(!profile.reduced);
    }

    #[test]
    fn failures_keep_their_message() {
        let value = json!({"verdict": "error", "reason": "no such constant"});
        assert_eq!(complaint(&value), "`ergodic` failed: no such constant");
        assert_eq!(complaint(&json!({})), "`ergodic` failed: it gave no result");
        let mut nobody = Ergodic::new("/nowhere/ergodic".into(), "/nowhere".into(), 1);
        assert!(nobody.check("a.m", &[]).is_err_and(|e| e.contains("a.m is not there")));
        assert!(nobody.version().is_err() && nobody.all_models().is_empty());
    }
}
