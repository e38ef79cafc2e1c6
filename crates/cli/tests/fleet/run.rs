//! Processes of the program under test. Each has a deadline and ends with the test, whatever happens.

use ergodic_testkit::broker::{Raw, Running, Scratch, Server, eventually, signal};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub const HOLDS: i32 = 0;
pub const VIOLATED: i32 = 1;
pub const INCOMPLETE: i32 = 2;
pub const BAD_INPUT: i32 = 3;

/// No process of a test takes longer: what does, hangs.
const LONGEST: Duration = Duration::from_secs(120);

/// A process that has ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// Its report, if it ended with this exit code.
    pub fn report(&self, code: i32) -> Value {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        serde_json::from_str(&self.out)
            .unwrap_or_else(|why| panic!("{why}: {}{}", self.out, self.err))
    }

    /// What it complained about, if it ended with this exit code and says all of this.
    pub fn complaint(&self, code: i32, says: &[&str]) {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        let all = format!("{}{}", self.out, self.err);
        assert!(!all.contains("panicked"), "{all}");
        for text in says {
            assert!(all.contains(text), "no `{text}` in: {all}");
        }
    }
}

/// A process that runs. What it writes goes to files, so that it never waits for a reader.
pub struct Run {
    process: Running,
    files: [String; 2],
}

impl Run {
    pub fn start(dir: &Scratch, args: &[&str]) -> Run {
        Run::start_with(dir, Command::new(env!("CARGO_BIN_EXE_ergodic")), args)
    }

    /// The same with another beginning of the command, or with variables.
    pub fn start_with(dir: &Scratch, mut command: Command, args: &[&str]) -> Run {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let files = ["out", "err"].map(|end| dir.path(&format!("{number}.{end}")));
        let [out, err] = files.each_ref().map(|name| File::create(name).expect("a file"));
        command.args(args).stdin(Stdio::null()).stdout(out).stderr(err);
        Run { process: Running(command.spawn().expect("ergodic starts")), files }
    }

    /// What it has complained about so far.
    pub fn err(&self) -> String {
        std::fs::read_to_string(&self.files[1]).unwrap_or_default()
    }

    pub fn running(&mut self) -> bool {
        self.process.running()
    }

    pub fn signal(&self, which: Signal) {
        signal(self.process.0.id(), which);
    }

    /// Ends it at once, without a chance to say anything.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Ended {
        let Some(status) = self.process.wait_for(LONGEST) else {
            let (id, err) = (self.process.0.id(), self.err());
            let last = err.lines().next_back().unwrap_or_default();
            panic!("{id} still runs after {LONGEST:?}; last words: {last}");
        };
        let [out, err] =
            self.files.each_ref().map(|name| std::fs::read_to_string(name).unwrap_or_default());
        Ended { code: status.code(), out, err }
    }
}

/// A server, and a directory for models and what processes say.
pub struct Fleet {
    pub server: Server,
    pub dir: Scratch,
}

impl Fleet {
    /// `None` if tests are to do without a server.
    pub fn new() -> Option<Fleet> {
        Server::start().map(|server| Fleet { server, dir: Scratch::new("fleet") })
    }

    pub fn with(config: &str) -> Option<Fleet> {
        Server::with(config).map(|server| Fleet { server, dir: Scratch::new("fleet") })
    }

    /// Starts a command that talks to the server.
    pub fn start(&self, command: &str, args: &[&str]) -> Run {
        let url = self.server.url();
        Run::start(&self.dir, &[&[command, "--nats", &url][..], args].concat())
    }

    /// Starts a job whose report comes as JSON.
    pub fn serve(&self, model: &str, args: &[&str]) -> Run {
        let fixed = [model, "--format", "json", "--live", "json"];
        self.start("serve", &[&fixed[..], args].concat())
    }

    /// Starts a worker of one thread.
    pub fn work(&self, args: &[&str]) -> Run {
        self.start("work", &[&["--threads", "1"][..], args].concat())
    }

    /// What `ergodic jobs` lists.
    pub fn jobs(&self) -> Vec<Value> {
        let listed = self.start("jobs", &["--format", "json"]).wait().report(HOLDS);
        listed["jobs"].as_array().expect("a list").clone()
    }

    /// Whether the server has a work queue of this job.
    pub fn has_queue(&self, id: &str) -> bool {
        let call = format!("$JS.API.STREAM.INFO.ERGODIC_{}", id.to_ascii_uppercase());
        let answer = Raw::connect(&self.server).ask(&call, b"{}");
        let answer: Value = serde_json::from_slice(&answer).expect("an answer of JetStream");
        answer.get("error").is_none()
    }

    /// What the server says about the work queue of a job and those who take from it.
    pub fn queue(&self, id: &str) -> String {
        let mut raw = Raw::connect(&self.server);
        let stream = format!("ERGODIC_{}", id.to_ascii_uppercase());
        let mut ask = |call: &str, body: &str| {
            let answer = raw.ask(&format!("$JS.API.{call}.{stream}"), body.as_bytes());
            String::from_utf8_lossy(&answer).into_owned()
        };
        let queue = ask("STREAM.INFO", "{\"subjects_filter\":\">\"}");
        format!("{queue}\n{}", ask("CONSUMER.LIST", ""))
    }

    /// The name of the one job, as soon as there is one.
    pub fn job(&self) -> String {
        let mut name = None;
        eventually("there is a job", || {
            name = self.jobs().first().and_then(|job| job["id"].as_str().map(String::from));
            name.is_some()
        });
        name.unwrap_or_default()
    }
}

/// What `ergodic check` says about a model.
pub fn check(dir: &Scratch, model: &str, args: &[&str]) -> (i32, Value) {
    let fixed = ["check", model, "--format", "json"];
    let ended = Run::start(dir, &[&fixed[..], args].concat()).wait();
    let code = ended.code.expect("an exit code");
    (code, ended.report(code))
}

/// The last line of `--live json`, if there is one.
pub fn live(run: &Run) -> Option<Value> {
    run.err().lines().rev().find_map(|line| serde_json::from_str(line).ok())
}
