//! What tests of several machines need: the broker (found, or installed where that is allowed), a
//! client that does what ours never does, and processes and directories that go away.

mod place;
mod process;
mod raw;
mod server;

pub use place::{Scratch, certificates};
pub use process::{PATIENCE, Running, eventually, signal};
pub use raw::Raw;
pub use server::{Server, launch};

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;

/// The variable that leaves out all tests that need a broker.
const WITHOUT: &str = "ERGODIC_WITHOUT_NATS";

/// The program `nats-server`; `None` if tests are to do without it, which they say. Nobody does without by
/// accident.
///
/// # Panics
/// If it is not there, cannot be installed, and nobody said to do without.
pub fn nats_server() -> Option<PathBuf> {
    if std::env::var_os(WITHOUT).is_some_and(|value| value == "1") {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            say(&format!("SKIPPED: {WITHOUT}=1 is set, nothing is tested against a NATS server\n"));
        });
        return None;
    }
    let found = find().or_else(|| {
        install();
        find()
    });
    assert!(
        found.is_some(),
        "these tests need a NATS server: install the Debian package nats-server, or set {WITHOUT}=1 to \
         do without"
    );
    found
}

/// Says something past the harness, which swallows what tests that pass have printed.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from))
        .map(|dir| dir.join("nats-server"))
        .find(|file| file.is_file())
}

/// Installs the package, if this may do so. Tests in other processes may want the same.
fn install() {
    if !Path::new("/usr/bin/apt-get").exists() {
        return;
    }
    let lock = std::fs::File::create(std::env::temp_dir().join("ergodic-install.lock"));
    let Ok(lock) = lock else { return };
    if lock.lock().is_err() || find().is_some() {
        return;
    }
    say("there is no nats-server: installing the Debian package\n");
    let apt = |args: &[&str]| {
        let mut command = Command::new("timeout");
        command.args(["300", "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120"]).args(args);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let wanted = ["install", "-y", "--no-install-recommends", "nats-server"];
    if !apt(&wanted) {
        // Lists of packages may be missing or old.
        let _ = apt(&["update"]) && apt(&wanted);
    }
}
