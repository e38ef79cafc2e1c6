//! A NATS server of our own, for one computer: on the loopback device, with a secret that only we know and
//! a directory that goes away.
//!
//! It must not outlive us, however we end. The server does not watch its parent, and nothing that is safe
//! tells the kernel to end it with us; so it is started by a small shell script that waits for the end of
//! a pipe whose other end we hold. When we are gone, for whatever reason, the kernel closes the pipe.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long the server may take to begin.
const BEGIN: Duration = Duration::from_secs(15);

/// How long it may take to end.
const END: Duration = Duration::from_secs(5);

/// The largest message that it takes, in bytes.
const MAX_PAYLOAD: usize = 8 << 20;

/// `$0` is the server, `$1` its directory. `read` ends when the pipe does. The directory is removed here
/// too, because nobody else may be left to do it.
const WATCHDOG: &str = r#"
"$0" -c server.conf </dev/null >/dev/null 2>server.err &
server=$!
read -r nothing
kill -TERM $server 2>/dev/null
( sleep 3; kill -KILL $server 2>/dev/null ) &
guard=$!
wait $server
kill $guard 2>/dev/null
cd / && rm -rf -- "$1"
"#;

/// A server that runs as long as this lives.
pub struct Embedded {
    watchdog: Child,
    dir: PathBuf,
    port: u16,
    token: String,
}

impl Embedded {
    /// Starts `nats-server` with its storage in a new directory, inside of `dir` or else of the system's
    /// directory for temporary files.
    pub fn start(dir: Option<&Path>) -> Result<Embedded, String> {
        let program = find().ok_or(
            "there is no nats-server on this computer; install the Debian package nats-server, or give --nats URL",
        )?;
        let parent = dir.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let dir = parent.join(format!("ergodic-nats-{}", random(8)?));
        let failed = |error: std::io::Error| {
            format!(
                "cannot make the directory {} for a NATS server: {error}; give another one with --disk DIR",
                dir.display()
            )
        };
        fs::create_dir_all(&parent).map_err(failed)?;
        DirBuilder::new().mode(0o700).create(&dir).map_err(failed)?;
        let started = Embedded::start_in(&program, &dir);
        if started.is_err() {
            let _ = fs::remove_dir_all(&dir);
        }
        started
    }

    fn start_in(program: &Path, dir: &Path) -> Result<Embedded, String> {
        let failed = |error: std::io::Error| format!("cannot start {}: {error}", program.display());
        let token = random(16)?;
        let mut config = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(dir.join("server.conf"))
            .map_err(failed)?;
        config.write_all(configuration(&token).as_bytes()).map_err(failed)?;
        drop(config);
        let watchdog = Command::new("sh")
            .arg("-c")
            .arg(WATCHDOG)
            .arg(program)
            .arg(dir)
            .current_dir(dir)
            // It copies messages all the time: with a little more memory it cleans up much less often.
            .env("GOGC", "400")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C at a terminal is for us: the server goes when we do.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let mut server = Embedded { watchdog, dir: dir.to_path_buf(), port: 0, token };
        server.port = server.wait_for_port()?;
        Ok(server)
    }

    /// Where it listens; the secret is in it.
    pub fn url(&self) -> String {
        format!("nats://{}@127.0.0.1:{}", self.token, self.port)
    }

    /// The directory of its storage.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Waits until the server has written down its port, and answers there.
    fn wait_for_port(&mut self) -> Result<u16, String> {
        let began = Instant::now();
        while began.elapsed() < BEGIN {
            if let Some(port) = self.written_port().filter(|port| answers(*port)) {
                return Ok(port);
            }
            // The watchdog would wait for us, whether the server runs or not: a server that cannot begin
            // says so and ends.
            let said = self.said();
            if said.contains("[FTL]") || !self.running() {
                return Err(format!("nats-server ended as soon as it had begun: {}", said.trim()));
            }
            sleep(Duration::from_millis(20));
        }
        Err(format!(
            "nats-server does not answer after {} seconds: {}",
            BEGIN.as_secs(),
            self.said().trim()
        ))
    }

    fn running(&mut self) -> bool {
        matches!(self.watchdog.try_wait(), Ok(None))
    }

    /// The end of what it has written.
    fn said(&self) -> String {
        let mut text = String::new();
        for name in ["server.err", "server.log"] {
            text += &fs::read_to_string(self.dir.join(name)).unwrap_or_default();
        }
        let mut lines: Vec<&str> = text.lines().rev().take(5).collect();
        lines.reverse();
        lines.join("; ")
    }

    fn written_port(&self) -> Option<u16> {
        let files = fs::read_dir(&self.dir).ok()?;
        let file = files
            .flatten()
            .find(|file| file.path().extension().is_some_and(|end| end == "ports"))?;
        let ports: serde_json::Value = serde_json::from_slice(&fs::read(file.path()).ok()?).ok()?;
        ports.pointer("/nats/0")?.as_str()?.rsplit(':').next()?.parse().ok()
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // The end of the pipe is what the watchdog waits for.
        drop(self.watchdog.stdin.take());
        let began = Instant::now();
        while self.running() && began.elapsed() < END {
            sleep(Duration::from_millis(10));
        }
        if self.running() {
            // Its number is the number of its group until we have waited for it.
            if let Some(group) =
                i32::try_from(self.watchdog.id()).ok().and_then(rustix::process::Pid::from_raw)
            {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            let _ = self.watchdog.wait();
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Paths in it are relative, so that no name of a directory needs quoting.
fn configuration(token: &str) -> String {
    format!(
        "host: 127.0.0.1\nport: -1\nports_file_dir: \".\"\nlog_file: \"server.log\"\n\
         max_payload: {MAX_PAYLOAD}\nauthorization {{ token: \"{token}\" }}\n\
         jetstream {{ store_dir: \"storage\" }}\n"
    )
}

/// Whether a NATS server greets us there.
fn answers(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_secs(1)) else {
        return false;
    };
    let mut greeting = [0; 4];
    let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
    stream.read_exact(&mut greeting).is_ok() && &greeting == b"INFO"
}

/// The server's program. Debian puts it where only the administrator looks.
fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/usr/local/sbin", "/usr/local/bin"].map(PathBuf::from))
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join("nats-server"))
        .find(|file| {
            rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok() && file.is_file()
        })
}

/// So many random bytes, in hex.
fn random(bytes: usize) -> Result<String, String> {
    let mut buffer = vec![0; bytes];
    fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut buffer))
        .map_err(|error| format!("cannot read /dev/urandom: {error}"))?;
    Ok(buffer.iter().map(|byte| format!("{byte:02x}")).collect())
}
