//! Directories that go away, and what a server needs for TLS.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that goes away.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// An empty one. The name helps whoever finds it after a test that was killed.
    pub fn new(name: &str) -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("ergodic-{name}-{}-{number}", std::process::id());
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

    /// The text of a file.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).expect("a file")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes the certificate of an authority (`ca.pem`), and one of `localhost` with its key (`server.pem`,
/// `server.key`).
pub fn certificates(dir: &Scratch) {
    let openssl = |arguments: &str| {
        let done = Command::new("openssl").args(arguments.split(' ')).current_dir(&dir.0).output();
        let done = done.expect("this test needs the program openssl");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "openssl {arguments}: {said}");
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!("req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"));
    openssl(&format!("req {key} -keyout server.key -out server.csr -subj /CN=localhost"));
    dir.file("names", "subjectAltName = DNS:localhost\n");
    let sign = "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2";
    openssl(&format!("{sign} -extfile names -out server.pem"));
}
