//! `cargo xtask peers`: Ergodic and every peer found on this machine, on the same models, side by
//! side in one run.
//!
//! Runs are interleaved (every tool once per round) and the best of the rounds counts, so that noise
//! of the machine hits all alike; what matters are the ratios. Rumur is used if `rumur` and `cc` are
//! there, CMurphi if `mu` and `g++` are (its headers are looked for in `CMURPHI_INCLUDE`, or in
//! `../include` beside `mu`). The time that a peer needs to generate and compile a verifier is
//! given apart; Ergodic's includes it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One job: the same question to every tool.
struct Job {
    model: &'static str,
    constant: Option<(&'static str, u64)>,
    symmetry: bool,
}

const fn job(model: &'static str, symmetry: bool) -> Job {
    Job { model, constant: None, symmetry }
}

/// The jobs of the speed table: no deadlock check, one thread.
const JOBS: &[Job] = &[
    job("sym/mcslock2.m", false),
    job("sym/cache3.m", false),
    job("multiset+sym/cache3multi.m", false),
    job("sym/ldash.m", false),
    job("sym/list6too.m", false),
    job("sym/ldash.m", true),
    job("sym/eadash.m", true),
    job("sym/n_peterson.m", true),
    Job { model: "sym/n_peterson.m", constant: Some(("N", 9)), symmetry: true },
];

/// What to run.
pub struct Options {
    /// Directory of the classic models.
    pub models: PathBuf,
    /// Rounds.
    pub rounds: u32,
    /// Only jobs whose model contains this.
    pub only: Option<String>,
    /// Where to keep the output.
    pub out: Option<PathBuf>,
    /// Leave the peers out.
    pub alone: bool,
}

/// One way to run a job.
struct Contender {
    name: &'static str,
    command: Vec<String>,
    /// Seconds to generate and compile it.
    build: f64,
    best: Option<f64>,
    states: Option<u64>,
    gave_up: bool,
}

/// Runs everything and returns the table.
pub fn run(root: &Path, options: &Options) -> Result<String, Vec<String>> {
    let fail = |text: String| vec![text];
    if !options.models.is_dir() {
        return Err(fail(format!("{} is not there; give --models DIR", options.models.display())));
    }
    let ergodic = build_ergodic(root).map_err(fail)?;
    let work = std::env::temp_dir().join(format!("ergodic-peers-{}", std::process::id()));
    std::fs::create_dir_all(&work).map_err(|e| fail(e.to_string()))?;
    let mut out = machine();
    let _ = writeln!(
        out,
        "best of {} interleaved rounds; seconds of search, without building verifiers\n",
        options.rounds
    );
    let _ = writeln!(
        out,
        "{:<34} {:<12} {:>9} {:>9} {:>12} {:>8}",
        "job", "tool", "seconds", "build", "states", "ratio"
    );
    for job in JOBS {
        if options.only.as_ref().is_some_and(|part| !job.model.contains(part.as_str())) {
            continue;
        }
        let mut contenders = contenders(job, &ergodic, options, &work);
        for _ in 0..options.rounds {
            for contender in &mut contenders {
                race(contender);
            }
        }
        table(&mut out, job, &contenders);
        eprintln!("{} done", job.model);
    }
    let _ = std::fs::remove_dir_all(&work);
    if let Some(path) = &options.out {
        std::fs::write(path, &out).map_err(|e| fail(format!("{}: {e}", path.display())))?;
    }
    Ok(out)
}

/// Builds the program for release and says where it is.
pub fn build_ergodic(root: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    let status = Command::new(cargo)
        .current_dir(root)
        .args(["build", "--release", "-p", "ergodic-cli"])
        .status()
        .map_err(|error| error.to_string())?;
    if !status.success() {
        return Err("ergodic does not build".to_string());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    Ok(target.join("release/ergodic"))
}

fn contenders(job: &Job, ergodic: &Path, options: &Options, work: &Path) -> Vec<Contender> {
    let model = options.models.join(job.model);
    let mut list = Vec::new();
    for threads in [1, 2] {
        let mut command = vec![
            ergodic.display().to_string(),
            "check".into(),
            model.display().to_string(),
            "--deadlock=off".into(),
            "--format=json".into(),
            "--trace=off".into(),
            format!("--threads={threads}"),
            format!("--symmetry={}", if job.symmetry { "exact" } else { "off" }),
        ];
        if let Some((name, value)) = job.constant {
            command.push(format!("--const={name}={value}"));
        }
        let name = if threads == 1 { "ergodic" } else { "ergodic 2thr" };
        list.push(Contender {
            name,
            command,
            build: 0.0,
            best: None,
            states: None,
            gave_up: false,
        });
    }
    if !options.alone {
        list.extend(rumur(job, &model, work));
        list.extend(cmurphi(job, &model, work));
    }
    list
}

fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// A copy of the model with the constant replaced: peers cannot override constants.
fn copy(job: &Job, model: &Path, work: &Path) -> Option<PathBuf> {
    let text: String = std::fs::read(model).ok()?.iter().map(|b| *b as char).collect();
    let text = match job.constant {
        None => text,
        Some((name, value)) => {
            let mut done = false;
            let replaced = text.lines().map(|line| {
                let start = line.trim_start();
                let rest = start.strip_prefix(name).map(str::trim_start);
                if !done && rest.is_some_and(|rest| rest.starts_with(':')) {
                    done = true;
                    return format!("{name}: {value};");
                }
                line.to_string()
            });
            replaced.collect::<Vec<_>>().join("\n")
        }
    };
    let stem = model.file_stem()?.to_str()?.replace('-', "_");
    let path = work.join(format!("{stem}.m"));
    std::fs::write(
        &path,
        text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect::<String>(),
    )
    .ok()?;
    Some(path)
}

fn rumur(job: &Job, model: &Path, work: &Path) -> Option<Contender> {
    found("rumur")?;
    let model = copy(job, model, work)?;
    let (source, binary) = (work.join("rumur.c"), work.join("rumur.exe"));
    let began = Instant::now();
    let symmetry = if job.symmetry { "heuristic" } else { "off" };
    let generated = Command::new("rumur")
        .args(["--threads", "1", "--deadlock-detection", "off", "--counterexample-trace", "off"])
        .args(["--symmetry-reduction", symmetry, "--output"])
        .args([&source, &model])
        .output()
        .ok()?;
    let compiled = generated.status.success()
        && Command::new("cc")
            .args(["-O3", "-march=native", "-std=c11", "-o"])
            .args([&binary, &source])
            .args(["-lpthread", "-latomic"])
            .output()
            .ok()?
            .status
            .success();
    compiled.then(|| Contender {
        name: "rumur",
        command: vec![binary.display().to_string()],
        build: began.elapsed().as_secs_f64(),
        best: None,
        states: None,
        gave_up: false,
    })
}

fn cmurphi(job: &Job, model: &Path, work: &Path) -> Option<Contender> {
    let mu = found("mu")?;
    let include = std::env::var_os("CMURPHI_INCLUDE")
        .map(PathBuf::from)
        .or_else(|| Some(mu.parent()?.parent()?.join("include")))?;
    let model = copy(job, model, work)?;
    let binary = work.join("cmurphi.exe");
    let began = Instant::now();
    let generated = Command::new(&mu).arg("-b").arg(&model).current_dir(work).output().ok()?;
    let source = model.with_extension("cpp");
    let compiled = generated.status.success()
        && Command::new("g++")
            .args(["-O3", "-march=native", "-w", "-fpermissive", "-o"])
            .arg(&binary)
            .arg(&source)
            .arg("-I")
            .arg(&include)
            .output()
            .ok()?
            .status
            .success();
    let mut command = vec![binary.display().to_string()];
    command.extend(["-ndl", "-pn", "-m4000"].map(str::to_string));
    if !job.symmetry {
        command.push("-nosym".to_string());
    }
    compiled.then(|| Contender {
        name: "cmurphi",
        command,
        build: began.elapsed().as_secs_f64(),
        best: None,
        states: None,
        gave_up: false,
    })
}

/// Seconds after which a peer is stopped; it is not raced again then.
const PATIENCE: f64 = 180.0;

fn race(contender: &mut Contender) {
    if contender.gave_up {
        return;
    }
    let began = Instant::now();
    // A file, because a pipe that nobody reads would stop a talkative peer.
    let told = std::env::temp_dir().join(format!("ergodic-peers-{}.out", std::process::id()));
    let Ok(file) = std::fs::File::create(&told) else { return };
    let spawned = Command::new(&contender.command[0])
        .args(&contender.command[1..])
        .stdout(file)
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = spawned else { return };
    while matches!(child.try_wait(), Ok(None)) {
        if began.elapsed().as_secs_f64() > PATIENCE {
            contender.gave_up = true;
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let seconds = began.elapsed().as_secs_f64();
    if !contender.gave_up {
        contender.best = Some(contender.best.map_or(seconds, |best| best.min(seconds)));
    }
    let text = std::fs::read(&told).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let _ = std::fs::remove_file(&told);
    contender.states = contender.states.or_else(|| states(&text));
}

/// The number of states in the output of any of the tools.
fn states(text: &str) -> Option<u64> {
    let digits = |s: &str| s.chars().filter(char::is_ascii_digit).collect::<String>().parse().ok();
    for line in text.lines() {
        if let Some(rest) = line.trim().strip_prefix("\"states\":") {
            return digits(rest);
        }
        if let Some(at) = line.find(" states,") {
            return digits(line[..at].rsplit([' ', '\t']).next()?);
        }
    }
    None
}

fn table(out: &mut String, job: &Job, contenders: &[Contender]) {
    let own = contenders.first().and_then(|c| c.best);
    for contender in contenders {
        let mut name = format!("{} {}", job.model, if job.symmetry { "symmetry" } else { "plain" });
        if let Some((constant, value)) = job.constant {
            let _ = write!(name, " {constant}={value}");
        }
        let seconds = match contender.best {
            Some(seconds) => format!("{seconds:.2}"),
            None if contender.gave_up => format!(">{PATIENCE:.0}"),
            None => "failed".to_string(),
        };
        let ratio = match (own, contender.best) {
            (Some(own), Some(best)) => format!("{:.2}x", best / own),
            _ => "-".to_string(),
        };
        let states = contender.states.map_or("-".to_string(), |n| n.to_string());
        let build =
            if contender.build > 0.0 { format!("{:.1}", contender.build) } else { "-".into() };
        let _ = writeln!(
            out,
            "{name:<34} {:<12} {seconds:>9} {build:>9} {states:>12} {ratio:>8}",
            contender.name
        );
    }
}

/// The machine, in words.
fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|l| l.strip_prefix("model name"))
        .map_or("unknown", |l| l.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total =
        memory.lines().find_map(|l| l.strip_prefix("MemTotal:")).map_or("unknown", str::trim);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!("machine: {model}, {cores} cores, memory {total}, load before {}\n", load.trim())
}
