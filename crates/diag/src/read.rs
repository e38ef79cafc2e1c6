//! Reading a source file, with a clear message for everything that can be wrong with it.
//!
//! Old models carry Latin-1 bytes in their comments, so bytes that are not UTF-8 are read as
//! Latin-1 instead of being refused. Both line endings are accepted and kept as they are.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::Diagnostic;

/// The largest source file that is read.
pub const MAX_SOURCE_BYTES: u64 = 64 * 1024 * 1024;

/// Reads a text file: UTF-8, with or without a byte order mark, or else Latin-1.
///
/// # Errors
/// A diagnostic without a place, if the file is missing, unreadable, a directory, too large, or
/// not text.
#[expect(clippy::result_large_err, reason = "the error ends the run; callers want it unboxed")]
pub fn read_source(path: &Path) -> Result<String, Diagnostic> {
    let bytes = read_bytes(path)?;
    decode(path, bytes)
}

#[expect(clippy::result_large_err, reason = "as for `read_source`")]
fn read_bytes(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let meta = std::fs::metadata(path).map_err(|e| cannot_read(path, &e))?;
    if meta.is_dir() {
        return Err(Diagnostic::error(format!("`{}` is a directory", path.display()))
            .help("give the path of a model file"));
    }
    if meta.len() > MAX_SOURCE_BYTES {
        return Err(too_large(path));
    }
    let file = File::open(path).map_err(|e| cannot_read(path, &e))?;
    let mut bytes = Vec::new();
    // Devices and pipes have no length to check beforehand.
    file.take(MAX_SOURCE_BYTES + 1).read_to_end(&mut bytes).map_err(|e| cannot_read(path, &e))?;
    if bytes.len() as u64 > MAX_SOURCE_BYTES {
        return Err(too_large(path));
    }
    Ok(bytes)
}

fn cannot_read(path: &Path, error: &io::Error) -> Diagnostic {
    let shown = path.display();
    match error.kind() {
        ErrorKind::NotFound => Diagnostic::error(format!("there is no file `{shown}`"))
            .help("check the spelling of the path, and the directory you are in"),
        ErrorKind::PermissionDenied => Diagnostic::error(format!("`{shown}` may not be read"))
            .help("check the permissions of the file and of the directories above it"),
        _ => Diagnostic::error(format!("cannot read `{shown}`: {error}"))
            .help("check that the path names an ordinary file"),
    }
}

fn too_large(path: &Path) -> Diagnostic {
    let limit = MAX_SOURCE_BYTES / (1024 * 1024);
    Diagnostic::error(format!(
        "`{}` is larger than {limit} MiB, the limit for a source file",
        path.display()
    ))
    .help("check that this is a model, and not a log or a data file")
}

#[expect(clippy::result_large_err, reason = "as for `read_source`")]
fn decode(path: &Path, mut bytes: Vec<u8>) -> Result<String, Diagnostic> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Diagnostic::error(format!("`{}` is encoded as UTF-16", path.display()))
            .help("save the file as UTF-8"));
    }
    if bytes.contains(&0) {
        return Err(Diagnostic::error(format!(
            "`{}` is a binary file: it contains NUL bytes",
            path.display()
        ))
        .help("give the path of a model in text form"));
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|e| e.into_bytes().into_iter().map(char::from).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A temporary file, removed when dropped.
    struct Scratch(std::path::PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn scratch(name: &str, bytes: &[u8]) -> Scratch {
        let name = format!("ergodic-diag-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        Scratch(path)
    }

    fn failure(path: &Path) -> String {
        let d = read_source(path).unwrap_err();
        assert_eq!(d.help.len(), 1);
        d.message
    }

    #[test]
    fn texts_are_decoded() {
        let bom = scratch("bom", b"\xef\xbb\xbfvar\r\n");
        assert_eq!(read_source(&bom.0).unwrap(), "var\r\n");
        let latin = scratch("latin", b"-- M\xfcller \xd7");
        assert_eq!(read_source(&latin.0).unwrap(), "-- Müller ×");
        let utf8 = scratch("utf8", "-- Müller ∀".as_bytes());
        assert_eq!(read_source(&utf8.0).unwrap(), "-- Müller ∀");
    }

    #[test]
    fn everything_else_is_explained() {
        let missing = failure(Path::new("no/such/model.m"));
        assert_eq!(missing, "there is no file `no/such/model.m`");
        let dir = failure(&std::env::temp_dir());
        assert!(dir.ends_with("is a directory"), "{dir}");
        let binary = failure(&scratch("binary", b"a\0b").0);
        assert!(binary.contains("binary file"), "{binary}");
        let wide = failure(&scratch("wide", b"\xff\xfea\0").0);
        assert!(wide.contains("UTF-16"), "{wide}");
    }

    #[test]
    fn large_files_are_refused_unread() {
        let path = scratch("large", b"");
        let file = File::options().write(true).open(&path.0).unwrap();
        file.set_len(MAX_SOURCE_BYTES + 1).unwrap();
        let message = failure(&path.0);
        assert!(message.contains("larger than 64 MiB"), "{message}");
    }
}
