//! A real nats-server for tests, on the loopback device, with a port and a directory of its own; and a
//! client that speaks the protocol by hand, to do what ours never does.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long the server may take to begin: machines of CI are slow, and it reads what it has stored.
const BEGIN: Duration = Duration::from_secs(30);

/// A directory that goes away.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("ergodic-fleet-test-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a scratch directory");
        Scratch(dir)
    }

    /// The name of something in it.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Writes a file; returns its name.
    pub fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.join(name), text).expect("a file");
        self.path(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server that runs as long as this lives.
pub struct Server {
    child: Option<Child>,
    pub dir: Scratch,
    pub host: String,
    pub port: u16,
    program: PathBuf,
    config: String,
}

/// What a server needs to hold work.
pub const JETSTREAM: &str = "jetstream { store_dir: \"storage\" }\n";

impl Server {
    /// With JetStream, for everybody.
    pub fn start() -> Option<Server> {
        Server::with("")
    }

    /// With JetStream and this in its configuration.
    pub fn with(config: &str) -> Option<Server> {
        Server::inside(Scratch::new(), "127.0.0.1", config)
    }

    /// With its files in a directory that may hold some already, and at this address.
    pub fn inside(dir: Scratch, host: &str, config: &str) -> Option<Server> {
        let (program, host) = (ergodic_testkit::nats_server()?, host.to_string());
        let config = format!("{JETSTREAM}{config}");
        let mut server = Server { child: None, dir, host, port: 0, program, config };
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
        let head = format!(
            "host: {host}\nport: {port}\nports_file_dir: \".\"\nlog_file: \"server.log\"\n"
        );
        std::fs::write(dir.join("server.conf"), head + &self.config).expect("a configuration");
        let mut command = Command::new(&self.program);
        command.args(["-c", "server.conf"]).current_dir(dir);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(command.spawn().expect("the server starts"));
        let began = Instant::now();
        self.port = loop {
            let written = ports(dir).and_then(|file| {
                let text: Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
                text.pointer("/nats/0")?.as_str()?.rsplit(':').next()?.parse().ok()
            });
            if let Some(port) = written {
                break port;
            }
            let log = || std::fs::read_to_string(dir.join("server.log")).unwrap_or_default();
            assert!(began.elapsed() < BEGIN, "the server does not start: {}", log());
            std::thread::sleep(Duration::from_millis(10));
        };
    }

    /// Ends it, gently or not.
    pub fn end(&mut self, gently: bool) {
        let Some(mut child) = self.child.take() else { return };
        signal(child.id(), if gently { Signal::TERM } else { Signal::KILL });
        child.wait().expect("the server ends");
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("nats://{}:{}", self.host, self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end(false);
    }
}

/// The file in which a server wrote down its port.
fn ports(dir: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(dir).expect("a directory").flatten().map(|file| file.path());
    files.into_iter().find(|file| file.extension().is_some_and(|end| end == "ports"))
}

/// Sends a signal to a process. One that has ended and was not waited for takes it, too.
pub fn signal(process: u32, signal: Signal) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(pid, signal).expect("a signal");
}

/// A client that does what it is told, byte by byte.
pub struct Raw(BufReader<TcpStream>);

impl Raw {
    pub fn connect(server: &Server) -> Raw {
        let stream = TcpStream::connect((server.host.as_str(), server.port)).expect("a server");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket");
        let mut raw = Raw(BufReader::new(stream));
        assert!(raw.line().starts_with("INFO"));
        raw.say("CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\nPING\r\n");
        assert_eq!(raw.line(), "PONG");
        raw
    }

    fn say(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).expect("a server that listens");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a server that answers");
        line.trim_end().to_string()
    }

    /// Publishes; an empty reply wants no answer.
    pub fn publish(&mut self, subject: &str, reply: &str, body: &[u8]) {
        self.say(&format!("PUB {subject} {reply} {}\r\n", body.len()));
        self.0.get_mut().write_all(body).expect("a server that listens");
        self.say("\r\n");
    }

    /// Makes sure that the server has read everything.
    pub fn settle(&mut self) {
        self.say("PING\r\n");
        loop {
            match self.line().as_str() {
                "PONG" => return,
                "PING" => self.say("PONG\r\n"),
                "" => panic!("the server hung up"),
                _ => {}
            }
        }
    }

    /// Asks, and returns the body of the first answer.
    pub fn ask(&mut self, subject: &str, body: &[u8]) -> Vec<u8> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let inbox = format!("_INBOX.raw.{}.{number}", std::process::id());
        self.say(&format!("SUB {inbox} {number}\r\nUNSUB {number} 1\r\n"));
        self.publish(subject, &inbox, body);
        loop {
            let line = self.line();
            let parts: Vec<&str> = line.split_whitespace().collect();
            match parts.first() {
                Some(&"PING") => self.say("PONG\r\n"),
                Some(&"MSG" | &"HMSG") => {
                    let size = |i: usize| parts[parts.len() - i].parse::<usize>().expect("a size");
                    let head = if parts[0] == "HMSG" { size(2) } else { 0 };
                    let mut body = vec![0; size(1) + 2];
                    self.0.read_exact(&mut body).expect("a message");
                    body.truncate(body.len() - 2);
                    return body.split_off(head);
                }
                None => panic!("the server hung up"),
                _ => {}
            }
        }
    }

    /// The job that is registered under a name, as it was published.
    pub fn job(&mut self, id: &str) -> Value {
        let question = format!("{{\"last_by_subj\":\"ergodic.jobs.{id}\"}}");
        let body = self.ask("$JS.API.DIRECT.GET.ERGODIC_JOBS", question.as_bytes());
        serde_json::from_slice(&body).expect("a job")
    }
}
