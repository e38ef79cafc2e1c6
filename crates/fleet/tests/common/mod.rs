//! A real nats-server for tests, on the loopback device, in a directory of its own; and a client that
//! speaks the protocol by hand, to do what ours never does.

use ergodic_fleet::nats::{Access, Broker, JobStream, NatsDesk, Stop};
use ergodic_fleet::{Desk, Job, Keys, Outgoing, PROTOCOL};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A directory that goes away.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let dir =
            std::env::temp_dir().join(format!("ergodic-nats-test-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server that runs as long as this lives.
pub struct Server {
    child: Option<Child>,
    pub dir: Scratch,
    pub port: u16,
    program: PathBuf,
    config: String,
}

pub const JETSTREAM: &str = "jetstream { store_dir: \"storage\" }\n";

impl Server {
    /// With JetStream, for everybody.
    pub fn start() -> Option<Server> {
        Server::with(JETSTREAM)
    }

    /// With this in its configuration.
    pub fn with(config: &str) -> Option<Server> {
        Server::inside(Scratch::new(), config)
    }

    pub fn inside(dir: Scratch, config: &str) -> Option<Server> {
        let program = ergodic_testkit::nats_server()?;
        let mut server = Server { child: None, dir, port: 0, program, config: config.into() };
        server.run();
        Some(server)
    }

    /// Starts, on the port that it had before, if it had one.
    pub fn run(&mut self) {
        let dir = &self.dir.0;
        for file in fs::read_dir(dir).unwrap().flatten().filter(|file| ports(&file.path())) {
            fs::remove_file(file.path()).unwrap();
        }
        let port = if self.port == 0 { -1 } else { i32::from(self.port) };
        let head = format!(
            "host: 127.0.0.1\nport: {port}\nports_file_dir: \".\"\nlog_file: \"server.log\"\n"
        );
        fs::write(dir.join("server.conf"), head + &self.config).unwrap();
        let child = Command::new(&self.program)
            .args(["-c", "server.conf"])
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.child = Some(child);
        let began = Instant::now();
        self.port = loop {
            let file = fs::read_dir(dir)
                .unwrap()
                .flatten()
                .map(|file| file.path())
                .find(|file| ports(file));
            let port = file.and_then(|file| {
                let text: serde_json::Value = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
                text.pointer("/nats/0")?.as_str()?.rsplit(':').next()?.parse().ok()
            });
            if let Some(port) = port {
                break port;
            }
            let log = || fs::read_to_string(dir.join("server.log")).unwrap_or_default();
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "the server does not start: {}",
                log()
            );
            std::thread::sleep(Duration::from_millis(10));
        };
    }

    /// Ends it, gently or not.
    pub fn end(&mut self, gently: bool) {
        let Some(mut child) = self.child.take() else { return };
        let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
        let signal =
            if gently { rustix::process::Signal::TERM } else { rustix::process::Signal::KILL };
        rustix::process::kill_process(pid, signal).unwrap();
        child.wait().unwrap();
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn broker(&self) -> Broker {
        Broker::connect(&Access::at(self.url()), Stop::new()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end(false);
    }
}

fn ports(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "ports")
}

/// A job that is as small as can be.
pub fn job(id: &str) -> Job {
    Job {
        protocol: PROTOCOL,
        version: "0.0.0".into(),
        id: id.into(),
        model: "m.m".into(),
        source: String::new(),
        options: serde_json::json!({ "threads": 2 }),
        program: "00".into(),
        bits: 7,
        keepers: 2,
        keys: Keys::Exact,
        seed: 9,
        batch_states: 10,
        strict: false,
        redeliver_ms: 30_000,
        queue_bytes: None,
        replicas: 1,
        began: 1_700_000_000,
        host: "here".into(),
    }
}

/// A posted job with its queue, opened (from level 0 if it is strict).
pub fn begin(broker: &Broker, job: &Job) -> NatsDesk {
    JobStream::create(broker, job).unwrap();
    broker.post(job).unwrap();
    let mut desk = NatsDesk::new(broker, job).unwrap();
    desk.open(job.strict.then_some(0)).unwrap();
    desk
}

/// A batch whose identity is its content.
pub fn batch(level: u32, body: &[u8]) -> Outgoing {
    let id = body.iter().fold(0xcbf2_9ce4_8422_2325u128, |sum, byte| {
        (sum ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    Outgoing { level, id, body: body.to_vec() }
}

/// A client that does what it is told, byte by byte.
pub struct Raw(BufReader<TcpStream>);

impl Raw {
    pub fn connect(server: &Server) -> Raw {
        let stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut raw = Raw(BufReader::new(stream));
        assert!(raw.line().starts_with("INFO"));
        raw.say("CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\nPING\r\n");
        assert_eq!(raw.line(), "PONG");
        raw
    }

    pub fn say(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub fn publish(&mut self, subject: &str, reply: &str, body: &[u8]) {
        self.say(&format!("PUB {subject} {reply} {}\r\n", body.len()));
        self.0.get_mut().write_all(body).unwrap();
        self.say("\r\n");
    }

    /// Makes sure that the server has read everything.
    pub fn settle(&mut self) {
        self.say("PING\r\n");
        while self.line() != "PONG" {}
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_string()
    }

    /// The next message: its subject, its reply and its body.
    pub fn message(&mut self) -> (String, Option<String>, Vec<u8>) {
        loop {
            let line = self.line();
            let parts: Vec<&str> = line.split_whitespace().collect();
            if !matches!(parts.first(), Some(&"MSG" | &"HMSG")) {
                assert!(!line.is_empty(), "the server hung up");
                continue;
            }
            let fixed = if parts[0] == "MSG" { 4 } else { 5 };
            let reply = (parts.len() > fixed).then(|| parts[3].to_string());
            let mut body = vec![0; parts.last().unwrap().parse::<usize>().unwrap() + 2];
            self.0.read_exact(&mut body).unwrap();
            body.truncate(body.len() - 2);
            return (parts[1].to_string(), reply, body);
        }
    }
}

/// Waits until something is so.
pub fn eventually(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < Duration::from_secs(20), "it never came to this: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// An authority, and a certificate for `broker.test`.
pub fn certificates(dir: &Scratch) {
    let openssl = |arguments: &str| {
        let done = Command::new("openssl").args(arguments.split(' ')).current_dir(&dir.0).output();
        let done = done.expect("these tests need the program openssl");
        assert!(
            done.status.success(),
            "openssl {arguments}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!("req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"));
    openssl(&format!("req {key} -keyout server.key -out server.csr -subj /CN=broker.test"));
    fs::write(dir.0.join("names"), "subjectAltName=DNS:broker.test,DNS:localhost\n").unwrap();
    let sign =
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names";
    openssl(&format!("{sign} -out server.pem"));
}
