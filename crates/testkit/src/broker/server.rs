//! A real nats-server, on the loopback device if not told otherwise, with a port and a directory of its own.

use super::{PATIENCE, Running, Scratch, nats_server, signal};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A server that runs as long as this lives.
pub struct Server {
    process: Option<Running>,
    /// Its configuration, its storage and its log.
    pub dir: Scratch,
    /// The address that clients use.
    pub host: String,
    /// The port that it chose.
    pub port: u16,
    config: String,
}

/// What a server needs to hold work.
const JETSTREAM: &str = "jetstream { store_dir: \"storage\" }\n";

const CONFIG: &str = "server.conf";

impl Server {
    /// With JetStream, for everybody. `None`, here and below, if tests are to do without a server.
    pub fn start() -> Option<Server> {
        Server::with("")
    }

    /// With JetStream and this in its configuration.
    pub fn with(config: &str) -> Option<Server> {
        Server::inside(Scratch::new("server"), "127.0.0.1", config)
    }

    /// With its files in a directory that may hold some already, and at this address.
    pub fn inside(dir: Scratch, host: &str, config: &str) -> Option<Server> {
        Server::configured(dir, host, format!("{JETSTREAM}{config}"))
    }

    /// A server that cannot hold work.
    pub fn without_jetstream() -> Option<Server> {
        Server::configured(Scratch::new("server"), "127.0.0.1", String::new())
    }

    fn configured(dir: Scratch, host: &str, config: String) -> Option<Server> {
        nats_server()?;
        let mut server = Server { process: None, dir, host: host.to_string(), port: 0, config };
        server.run();
        Some(server)
    }

    /// Starts, on the port that it had before, if it had one.
    pub fn run(&mut self) {
        let dir = &self.dir.0;
        if let Some(file) = ports(dir) {
            std::fs::remove_file(file).expect("the old file of ports goes");
        }
        let (host, port) = (&self.host, if self.port == 0 { -1 } else { i32::from(self.port) });
        let head = format!("host: {host}\nport: {port}\nports_file_dir: \".\"\n");
        self.dir.file(CONFIG, &(head + &self.config));
        let (process, port) = launch(dir, CONFIG, || {
            let text: Value = serde_json::from_slice(&std::fs::read(ports(dir)?).ok()?).ok()?;
            text.pointer("/nats/0")?.as_str()?.rsplit(':').next()?.parse().ok()
        });
        (self.process, self.port) = (Some(process), port);
    }

    /// Ends it, gently or not.
    pub fn end(&mut self, gently: bool) {
        let Some(mut process) = self.process.take() else { return };
        signal(process.0.id(), if gently { Signal::TERM } else { Signal::KILL });
        process.0.wait().expect("the server ends");
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("nats://{}:{}", self.host, self.port)
    }
}

/// Starts a server with a configuration that lies in its directory, and waits until `ready` finds what shows
/// that it has begun. Its log goes to a file beside the configuration.
///
/// # Panics
/// If it ends, or does not begin.
pub fn launch<T>(dir: &Path, config: &str, ready: impl Fn() -> Option<T>) -> (Running, T) {
    let log = dir.join(format!("{config}.log"));
    let errors = OpenOptions::new().create(true).append(true).open(&log).expect("a log");
    let mut command = Command::new(nats_server().expect("nats-server"));
    command.args(["-c", config]).current_dir(dir);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    let mut server = Running(command.spawn().expect("nats-server starts"));
    let began = Instant::now();
    loop {
        if let Some(found) = ready() {
            return (server, found);
        }
        let begins = server.running() && began.elapsed() < PATIENCE;
        let log = || std::fs::read_to_string(&log).unwrap_or_default();
        assert!(begins, "the server does not begin: {}", log());
        sleep(Duration::from_millis(10));
    }
}

/// The file in which a server wrote down its port.
fn ports(dir: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(dir).expect("a directory").flatten().map(|file| file.path());
    files.into_iter().find(|file| file.extension().is_some_and(|end| end == "ports"))
}
