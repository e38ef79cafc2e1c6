//! `papers`: runs what the tables of the papers need and puts the papers' figures beside ours.
//!
//! The program `ergodic` is run as a child process, as a user would run it; nothing of it is linked
//! in but the formulas of hash compaction. Everything in the report is computed, except for what the papers
//! print (`printed.rs`). One module per group of tables; each takes the children it needs and adds its
//! blocks to the report, which is written as `papers.md` and `papers.html`.

mod caching;
// The charts of the program's own pages; they know nothing of it.
#[path = "../../cli/src/chart.rs"]
#[allow(dead_code, reason = "not all marks are needed here")]
mod chart;
mod child;
mod compaction;
mod disk;
mod idle;
mod idle_cost;
mod locality;
mod numbers;
mod omissions;
mod printed;
mod report;
mod scale;
mod simulation;
mod sleeping;
mod team;

use child::{Args, Ergodic};
use report::Report;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// What to run.
struct Options {
    models: PathBuf,
    ergodic: PathBuf,
    out: PathBuf,
    only: Vec<String>,
    skip: Vec<String>,
    /// Caches of Figs. 5 to 7: flags of `ergodic check`; the last one is ours.
    caches: Vec<Args>,
    /// Workers in the tables of the idle computers, at most.
    workers: usize,
    /// How often the runs of those tables take turns.
    rounds: usize,
    /// Seconds that each of those runs may wait until nobody else uses the machine.
    quiet: u64,
    quick: bool,
}

/// What the sections work with.
pub struct Work {
    /// The program.
    pub ergodic: Ergodic,
    /// Small models and few seeds only.
    pub quick: bool,
    /// Flags of the caches that are compared.
    pub caches: Vec<Args>,
    /// Workers in the tables of the idle computers, at most.
    pub workers: usize,
    /// How often the runs of those tables take turns.
    pub rounds: usize,
    /// The report.
    pub report: Report,
}

impl Work {
    /// Whether a protocol is too large for a quick run: by the number of states in the paper.
    pub fn too_large(&self, protocol: &str) -> bool {
        const LARGE: f64 = 50_000.0;
        let states = printed::find(&printed::fig4(), protocol, "", 1).map(|states| states.value);
        self.quick && states.is_some_and(|states| states > LARGE)
    }
}

/// A section of the report: its name for `--only`, and what it does.
type Section = (&'static str, fn(&mut Work));

/// The sections, in the order of the report.
const SECTIONS: [Section; 21] = [
    ("cached-fig1", locality::fig1),
    ("cached-fig4", locality::fig4),
    ("cached-fig5", caching::fig5),
    ("cached-fig6", caching::fig6),
    ("cached-fig7", caching::fig7),
    ("compaction-fig2", omissions::fig2),
    ("compaction-fig4", omissions::fig4),
    ("compaction-table1", omissions::table1),
    ("compaction-table2", compaction::table2),
    ("compaction-fig6", compaction::fig6),
    ("serial-table1", disk::table1),
    ("sorted", disk::sorted),
    ("sleep-table1", sleeping::table1),
    ("sleep-table2", sleeping::table2),
    ("sleep-fig4", sleeping::fig4),
    ("sleep-fig5", sleeping::fig5),
    ("idle-tables", idle::tables),
    ("idle-fig1", idle::fig1),
    ("idle-wire", idle::wire),
    ("idle-cost", idle_cost::cost),
    ("scale", scale::scale),
];

const USAGE: &str = "usage: papers [--models DIR] [--ergodic BIN] [--out DIR] [--quick]
              [--only SECTION] [--skip SECTION] [--cache FLAGS] [--workers N] [--rounds N]
              [--quiet SECONDS]
--only and --skip take a part of a section's name and may be repeated, as --cache may, which gives the
flags of a cache to compare, e.g. --cache '--ways 64'; the last one counts as ours. --workers (4) and --rounds
(3) are those of the tables of the idle computers; each of their runs waits at most --quiet seconds (0) for
others to leave the machine alone.
Sections:";

fn main() -> ExitCode {
    let result = options(std::env::args().skip(1)).and_then(|options| run(&options));
    match result {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("papers: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    let names: Vec<&str> = SECTIONS.iter().map(|(name, _)| *name).collect();
    format!("{USAGE} {}", names.join(", "))
}

fn options(args: impl Iterator<Item = String>) -> Result<Options, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut options = Options {
        models: root.join("../shared/models/murphi"),
        ergodic: PathBuf::from("ergodic"),
        out: PathBuf::from("."),
        only: Vec::new(),
        skip: Vec::new(),
        caches: Vec::new(),
        workers: 4,
        rounds: 3,
        quiet: 0,
        quick: false,
    };
    let mut args = args;
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--models" => options.models = value()?.into(),
            "--ergodic" => options.ergodic = value()?.into(),
            "--out" => options.out = value()?.into(),
            "--only" => options.only.push(value()?),
            "--skip" => options.skip.push(value()?),
            "--cache" => options.caches.push(child::args(&value()?)),
            "--workers" => options.workers = number(&value()?)?,
            "--rounds" => options.rounds = number(&value()?)?,
            "--quiet" => options.quiet = number(&value()?)? as u64,
            "--quick" => options.quick = true,
            "--help" | "-h" => return Err(usage()),
            _ => return Err(format!("unknown option {arg}\n{}", usage())),
        }
    }
    if options.caches.is_empty() {
        options.caches = ["--ways 1", "--ways 64"].map(child::args).to_vec();
    }
    let known = |part: &String| SECTIONS.iter().any(|(name, _)| name.contains(part.as_str()));
    match options.only.iter().chain(&options.skip).find(|part| !known(part)) {
        Some(part) => Err(format!("no section has `{part}` in its name\n{}", usage())),
        None => Ok(options),
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| format!("`{text}` is no number above zero"))
}

/// Whether a section is run.
fn wanted(options: &Options, name: &str) -> bool {
    let some = |parts: &[String]| parts.iter().any(|part| name.contains(part.as_str()));
    (options.only.is_empty() || some(&options.only)) && !some(&options.skip)
}

/// Whether a section needs the classic models: those with models of our own do not.
fn classic(name: &str) -> bool {
    !["idle", "scale", "sleep"].iter().any(|own| name.starts_with(own))
}

fn run(options: &Options) -> Result<String, String> {
    let mut sections = SECTIONS.iter().filter(|(name, _)| wanted(options, name));
    if !options.models.is_dir() && sections.any(|(name, _)| classic(name)) {
        return Err(format!("{} is not there; give --models DIR", options.models.display()));
    }
    let patience = if options.quick { 60 } else { 1800 };
    let mut ergodic = Ergodic::new(options.ergodic.clone(), options.models.clone(), patience);
    ergodic.quiet = options.quiet;
    let version = ergodic.version()?;
    let began = Instant::now();
    let (quick, caches) = (options.quick, options.caches.clone());
    let rounds = if quick { 1 } else { options.rounds };
    let (workers, report) = (options.workers, Report::default());
    let mut work = Work { ergodic, quick, caches, workers, rounds, report };
    let machine = machine();
    for (name, section) in SECTIONS {
        if !wanted(options, name) {
            continue;
        }
        eprintln!("papers: == {name}");
        section(&mut work);
    }
    work.report.about = vec![
        format!(
            "Written by `cargo xtask papers{}` with {version}, {} runs in {:.0} minutes.",
            if quick { " --quick" } else { "" },
            work.ergodic.children,
            began.elapsed().as_secs_f64() / 60.0
        ),
        machine,
        "Times are those of the search, with one thread unless something else is said, without reading and \
         compiling the model. They are compared only \
         within one group of runs that took turns, short ones three times, of which the best counts. What else \
         the machine did then still shows: ratios of times are good to about a tenth, worse if the load \
         above is high. Counts do not depend on the machine."
            .to_string(),
    ];
    let (markdown, page) = (options.out.join("papers.md"), options.out.join("papers.html"));
    let write = |path: &Path, text: String| {
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    std::fs::create_dir_all(&options.out)
        .map_err(|error| format!("{}: {error}", options.out.display()))?;
    write(&markdown, work.report.markdown())?;
    write(&page, work.report.html())?;
    Ok(format!("papers: {} and {}", markdown.display(), page.display()))
}

/// The machine, in words.
fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown processor", |line| line.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total =
        memory.lines().find_map(|line| line.strip_prefix("MemTotal:")).map_or("unknown", str::trim);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!("machine: {model}, {cores} cores, memory {total}, load before {}", load.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        options(text.split_whitespace().map(str::to_string))
    }

    #[test]
    fn options_are_read() {
        let found = parse("--quick --only fig5 --out x --ergodic e");
        assert!(found.is_ok_and(|o| o.quick && o.only == ["fig5"] && o.caches.len() == 2));
        assert!(parse("--only fig9").is_err_and(|e| e.contains("no section")));
        assert!(parse("--out").is_err_and(|e| e.contains("needs a value")));
        assert!(parse("--frobnicate").is_err_and(|e| e.contains("unknown option")));
    }
}
