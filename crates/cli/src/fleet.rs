//! The commands for several machines: `serve`, `work`, `keep`, `jobs` and `cancel`.

use crate::flags::FormatArg;
use crate::flags::fleet::{
    CancelArgs, EMBEDDED, JobsArgs, KeepArgs, LiveArg, NatsArgs, ServeArgs, WorkArgs,
};
use crate::progress::{self, interrupt};
use crate::text::{bytes, thousands};
use crate::{bad_model, complain, exit, print, show, warn};
use ergodic_driver::fleet::{
    Broker, Crew, Embedded, Entry, JobStream, KeepEvent, Live, Phase, Stop, Trouble, WorkEvent,
    keep, serve, work,
};
use ergodic_driver::load;
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Says what went wrong; returns the exit code.
fn trouble(text: &str) -> u8 {
    complain(&format!("error: {text}"));
    exit::BAD_INPUT
}

fn connect(nats: &NatsArgs, stop: &Stop) -> Result<Broker, String> {
    if nats.nats == EMBEDDED {
        return Err(
            "only `ergodic serve` starts a server of its own: give its URL here".to_string()
        );
    }
    Broker::connect(&nats.access(), stop.clone())
}

/// Starts this program again for the roles of a job.
struct Processes {
    program: PathBuf,
    variables: Vec<(&'static str, String)>,
}

impl Processes {
    fn start(&self, args: &[&str]) -> std::io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.args(args).args(["--quiet", "--with-parent"]);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ERGODIC_") {
                command.env_remove(name);
            }
        }
        // Secrets go where other users of the computer cannot read them.
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()
    }
}

impl Crew for Processes {
    fn keeper(&mut self, job: &str, shard: u32, dir: &Path) -> std::io::Result<Child> {
        let dir = dir.display().to_string();
        self.start(&["keep", "--job", job, "--shard", &shard.to_string(), "--dir", &dir])
    }

    fn worker(&mut self, job: &str) -> std::io::Result<Child> {
        // Keepers and the broker go first: workers wait for them.
        self.start(&["work", "--job", job, "--threads", "1", "--nice", "5", "--once"])
    }
}

/// Starts a job and sees it to its end.
pub fn serve_command(args: &ServeArgs) -> u8 {
    let model = match load(&args.path, &args.model.load_options()) {
        Ok(model) => model,
        Err(bad) => return bad_model(&args.path, &bad, &args.output),
    };
    warn(&model, &model.warnings, &args.output);
    let stop = Stop::from(interrupt());
    let mut nats = args.nats.clone();
    let embedded = match args.nats.nats == EMBEDDED {
        true => match Embedded::start(args.disk.as_deref()) {
            Ok(server) => {
                nats.nats = server.url();
                Some(server)
            }
            Err(why) => return trouble(&why),
        },
        false => None,
    };
    let broker = match connect(&nats, &stop) {
        Ok(broker) => broker,
        Err(why) => return trouble(&why),
    };
    let Ok(program) = std::env::current_exe() else {
        return trouble("the system does not say where this program is");
    };
    let mut crew = Processes { program, variables: nats.variables() };
    let mut board = Board::new(args.live);
    let check = args.check_options();
    let result =
        serve(&model, &check, &args.serve_options(), &broker, &stop, &mut crew, &mut |live| {
            board.show(live)
        });
    board.clear();
    drop(broker);
    drop(embedded);
    show(&model, result, args.trace, args.rules, &args.output)
}

/// Shows a job while it runs.
struct Board {
    how: LiveArg,
    bar: Option<ProgressBar>,
    shown: Option<Instant>,
    /// What was said to be waited for, where nobody sees a board.
    waits: Option<Phase>,
}

/// How often a line of JSON is written.
const JSON_EVERY: Duration = Duration::from_secs(1);
/// After so many seconds it is said that a job waits.
const WAITS: f64 = 3.0;
/// Workers that are listed one by one.
const MOST_WORKERS: usize = 12;

impl Board {
    fn new(how: LiveArg) -> Board {
        let visible = how == LiveArg::Auto && std::io::stderr().is_terminal();
        let bar = visible.then(|| progress::bar("{msg}"));
        Board { how, bar, shown: None, waits: None }
    }

    fn show(&mut self, live: &Live) {
        match (&self.bar, self.how) {
            (Some(bar), _) => {
                bar.set_message(board(live));
                bar.tick();
            }
            (None, LiveArg::Auto) => self.say_waiting(live),
            (None, LiveArg::Json) if self.shown.is_none_or(|at| at.elapsed() >= JSON_EVERY) => {
                self.shown = Some(Instant::now());
                complain(&serde_json::to_string(live).unwrap_or_default());
            }
            (None, LiveArg::Json | LiveArg::Off) => {}
        }
    }

    /// Without a board, nobody would know that the job waits for somebody, nor what it is called.
    fn say_waiting(&mut self, live: &Live) {
        let waits = live.phase != Phase::Running && live.seconds >= WAITS;
        if waits && self.waits.replace(live.phase) != Some(live.phase) {
            complain(&format!("job {}: {}", live.job, doing(live.phase)));
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A phase in words.
fn doing(phase: Phase) -> &'static str {
    match phase {
        Phase::WaitingForKeepers => {
            "waiting for keepers: those elsewhere are started with `ergodic keep`"
        }
        Phase::WaitingForWorkers => "waiting for workers: start `ergodic work` on any computer",
        Phase::Running => "running",
    }
}

/// So many of something.
fn some(number: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// The board in words.
fn board(live: &Live) -> String {
    let mut text = String::new();
    let what = doing(live.phase);
    let _ = writeln!(text, "job {} · {} · {:.0} s · {what}", live.job, live.model, live.seconds);
    let _ = writeln!(
        text,
        "  {} · {}/s · {} · level {}",
        some(live.states, "state"),
        thousands(live.rate as u64),
        some(live.transitions, "transition"),
        live.level
    );
    let _ = writeln!(
        text,
        "  {} batches wait ({}), {} in work · {} delivered again · {:.0} bytes per state on the wire",
        thousands(live.waiting),
        bytes(live.queue_bytes),
        live.in_work,
        live.redeliveries,
        live.wire_bytes_per_state,
    );
    for (i, keeper) in live.keepers.iter().enumerate() {
        let _ = writeln!(
            text,
            "  keeper {i}: {}, {} of memory, {} of log",
            some(keeper.states, "state"),
            bytes(keeper.bytes),
            bytes(keeper.log_bytes)
        );
    }
    for worker in live.workers.iter().take(MOST_WORKERS) {
        let silent = match worker.silent {
            silent if silent > 2.5 => format!(" · silent for {silent:.0} s"),
            _ => String::new(),
        };
        let _ = writeln!(
            text,
            "  {}: {} · {}/s · {}{silent}",
            worker.name,
            some(worker.threads, "thread"),
            thousands(worker.rate as u64),
            some(worker.states, "state"),
        );
    }
    if live.workers.len() > MOST_WORKERS {
        let _ = writeln!(text, "  and {} more workers", live.workers.len() - MOST_WORKERS);
    }
    if let (Phase::Running, Some(efficiency), Some(one)) =
        (live.phase, live.efficiency, live.local_rate)
    {
        let (percent, one) = (efficiency * 100.0, thousands(one as u64));
        let _ = writeln!(text, "  efficiency {percent:.0} % (one thread here: {one}/s)");
    }
    if live.refused > 0 {
        let times = some(live.refused, "time");
        let _ = writeln!(text, "  the NATS server had no room for a batch {times}");
    }
    if live.rejected > 0 {
        let messages = some(live.rejected, "message");
        let _ = writeln!(text, "  {messages} rejected, being none of ours");
    }
    if let Some(news) = &live.news {
        let _ = writeln!(text, "  {news}");
    }
    text.trim_end().to_string()
}

/// Ends this process when the one that started it does.
fn end_with_parent(wanted: bool) {
    if wanted {
        // Where that cannot be done, the job's end is noticed a little later.
        let signal = Some(rustix::process::Signal::TERM);
        let _ = rustix::process::set_parent_process_death_signal(signal);
    }
}

/// Address space beside what is really used: stacks that fit the deepest models, and what allocators set
/// aside per thread.
const ADDRESS_SPACE: u64 = 8 << 30;

/// Lets the system refuse this process more memory than that: models come from elsewhere.
fn limit_memory(bytes: u64) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::As);
    let wanted = bytes.saturating_add(ADDRESS_SPACE);
    limit.current = Some(limit.maximum.map_or(wanted, |most| most.min(wanted)));
    // Where there is no such limit, states and batches are still bounded by their sizes.
    let _ = setrlimit(Resource::As, limit);
}

/// Works for jobs.
pub fn work_command(args: &WorkArgs) -> u8 {
    end_with_parent(args.with_parent);
    limit_memory(args.memory);
    if args.nice > 0 {
        // Not being allowed to be nice is no reason not to work.
        let _ = rustix::process::nice(args.nice);
    }
    let stop = Stop::from(interrupt());
    let broker = match connect(&args.nats, &stop) {
        Ok(broker) => broker,
        Err(why) => return trouble(&why),
    };
    let mut teller = Teller::new(args.quiet, &args.job);
    match work(&broker, &stop, &args.work_options(), &mut |event| teller.work(event)) {
        Ok(()) => exit::HOLDS,
        Err(why) => trouble(&why),
    }
}

/// Keeps states of a job.
pub fn keep_command(args: &KeepArgs) -> u8 {
    end_with_parent(args.with_parent);
    let stop = Stop::from(interrupt());
    let broker = match connect(&args.nats, &stop) {
        Ok(broker) => broker,
        Err(why) => return trouble(&why),
    };
    let mut teller = Teller::new(args.quiet, &args.job);
    match keep(&broker, &stop, &args.keep_options(), &mut |event| teller.keep(&event)) {
        Ok(Trouble::Over) => exit::HOLDS,
        Ok(Trouble::Stopped) => {
            teller.say(&match teller.waiting {
                true => "stopped".to_string(),
                false => format!("stopped; to go on: ergodic keep --dir {}", args.dir.display()),
            });
            exit::INCOMPLETE
        }
        Ok(Trouble::Broken(why)) | Err(why) => trouble(&why),
    }
}

/// Words that somebody else has chosen, as they may stand on a terminal.
fn plain(text: &str) -> String {
    text.chars().take(200).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Tells what a worker or keeper does, each thing once.
struct Teller {
    quiet: bool,
    /// The only job that it waits for.
    job: Option<String>,
    terminal: bool,
    waiting: bool,
    line: bool,
}

impl Teller {
    fn new(quiet: bool, job: &Option<String>) -> Teller {
        let (job, terminal) = (job.clone(), std::io::stderr().is_terminal());
        Teller { quiet, job, terminal, waiting: false, line: false }
    }

    fn say(&mut self, text: &str) {
        self.end_line();
        if !self.quiet {
            complain(text);
        }
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.line) {
            eprint!("\r\x1b[K");
        }
    }

    /// Says what it waits for: a job, or, if it is to take only one, that one.
    fn wait(&mut self, any: &str, this: &str) {
        if !std::mem::replace(&mut self.waiting, true) {
            self.say(&match &self.job {
                Some(job) => {
                    format!("waiting for job {job}{this}; `ergodic jobs` lists those there are")
                }
                None => format!("waiting for a job{any}"),
            });
        }
    }

    fn work(&mut self, event: WorkEvent) {
        match event {
            WorkEvent::Waiting => self.wait("", ""),
            WorkEvent::Joined { job, model, host, compile } => {
                self.waiting = false;
                let ms = compile.as_secs_f64() * 1000.0;
                let (model, host) = (plain(&model), plain(&host));
                self.say(&format!("job {job}: {model}, from {host}; compiled in {ms:.0} ms"));
            }
            WorkEvent::Refused { job, why } => {
                self.say(&format!("job {job} is refused: {}", plain(&why)));
            }
            WorkEvent::Unserved { job } => self.say(&format!(
                "job {job} is served by nobody: its coordinator has ended, or is cut off; `ergodic cancel \
                 {job}` removes it"
            )),
            WorkEvent::Deserted { job, states } => {
                let states = thousands(states);
                self.say(&format!("job {job} is left to itself; expanded {states} states"));
            }
            WorkEvent::Working { states, batches } => {
                if self.terminal && !self.quiet {
                    let (states, batches) = (thousands(states), thousands(batches));
                    eprint!("\r\x1b[K  {states} states in {batches} batches");
                    self.line = true;
                }
            }
            WorkEvent::Left { job, why: Trouble::Broken(why), .. } => {
                self.end_line();
                complain(&format!("error: job {job}: {why}"));
            }
            WorkEvent::Left { job, why, states } => {
                let states = thousands(states);
                self.say(&format!("job {job}: {why}; expanded {states} states"));
            }
        }
    }

    fn keep(&mut self, event: &KeepEvent) {
        match event {
            KeepEvent::Waiting => self.wait(" that wants a keeper", " to want a keeper"),
            KeepEvent::Keeping { job, shard, states } => {
                self.waiting = false;
                let states = match states {
                    0 => String::new(),
                    states => format!(", {} from the log", some(*states, "state")),
                };
                self.say(&format!("job {job}: keeping shard {shard}{states}"));
            }
        }
    }
}

/// How long a coordinator may take to say how far it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// Lists jobs.
pub fn jobs_command(args: &JobsArgs) -> u8 {
    let stop = Stop::from(interrupt());
    let entries = connect(&args.nats, &stop).and_then(|broker| {
        let entries = broker.jobs()?;
        let status = |entry: Entry| match entry {
            Entry::Job(job) => {
                let status = broker.ask_desk(&job.id, &json!({"ask": "status"}), PATIENCE);
                json!({
                    "id": job.id,
                    "model": job.model,
                    "host": job.host,
                    "version": job.version,
                    "began": job.began,
                    "status": status,
                })
            }
            Entry::Unreadable { id, why } => json!({ "id": id, "unreadable": why }),
        };
        Ok(entries.into_iter().map(status).collect::<Vec<Value>>())
    });
    let entries = match entries {
        Ok(entries) => entries,
        Err(why) => return trouble(&why),
    };
    print(&match args.output.format {
        FormatArg::Json => format!("{:#}\n", json!({ "version": 1, "jobs": entries })),
        FormatArg::Text if entries.is_empty() => "no jobs\n".to_string(),
        FormatArg::Text => entries.iter().map(job_line).collect(),
    });
    exit::HOLDS
}

fn job_line(job: &Value) -> String {
    let text = |key: &str| plain(job.get(key).and_then(Value::as_str).unwrap_or("?"));
    if job.get("unreadable").is_some() {
        return format!("{}  {}\n", text("id"), text("unreadable"));
    }
    let status = job.get("status").filter(|status| status.is_object());
    let how = match status {
        None => "nobody serves it; `ergodic cancel` removes it".to_string(),
        Some(status) => {
            let number = |key: &str| status.get(key).and_then(Value::as_f64).unwrap_or(0.0);
            let workers = status.get("workers").and_then(Value::as_array).map_or(0, Vec::len);
            format!(
                "{:.0} s, {}, {}/s, {}",
                number("seconds"),
                some(number("states") as u64, "state"),
                thousands(number("rate") as u64),
                some(workers as u64, "worker")
            )
        }
    };
    format!("{}  {}  from {}  {how}\n", text("id"), text("model"), text("host"))
}

/// Ends a job.
pub fn cancel_command(args: &CancelArgs) -> u8 {
    let stop = Stop::from(interrupt());
    let broker = match connect(&args.nats, &stop) {
        Ok(broker) => broker,
        Err(why) => return trouble(&why),
    };
    let known = broker.jobs().map(|entries| {
        entries.iter().any(|entry| match entry {
            Entry::Job(job) => job.id == args.job,
            Entry::Unreadable { id, .. } => *id == args.job,
        })
    });
    match known {
        Ok(true) => {}
        Ok(false) => {
            return trouble(&format!("there is no job {}; `ergodic jobs` lists them", args.job));
        }
        Err(why) => return trouble(&why),
    }
    if broker.ask_desk(&args.job, &json!({"ask": "cancel"}), PATIENCE).is_some() {
        print(&format!("job {} is being cancelled\n", args.job));
        return exit::HOLDS;
    }
    // Nobody serves it: its coordinator has died.
    let removed = broker.withdraw(&args.job).and_then(|()| JobStream::delete(&broker, &args.job));
    match removed {
        Ok(()) => {
            print(&format!("job {} was served by nobody and is removed\n", args.job));
            exit::HOLDS
        }
        Err(why) => trouble(&why),
    }
}
