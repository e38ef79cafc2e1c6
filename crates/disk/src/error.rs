//! What can go wrong with a file, in words.

use std::io;
use std::path::{Path, PathBuf};

/// The kinds of trouble that callers tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// No space left, or a quota is used up.
    Full,
    /// Not allowed.
    Denied,
    /// The file or directory is not there.
    Missing,
    /// What was read is not what was written, or not ours.
    Damaged,
    /// Anything else.
    Other,
}

/// The action of making a directory.
pub(crate) const MAKE_DIR: &str = "make the directory";

/// A failed operation on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskError {
    /// What was tried, as in "write".
    pub action: &'static str,
    /// On which file.
    pub path: PathBuf,
    /// The kind of trouble.
    pub trouble: Trouble,
    /// What the system said, or what is wrong with the data.
    pub text: String,
}

impl DiskError {
    /// From what the system said.
    pub fn io(action: &'static str, path: &Path, error: &io::Error) -> DiskError {
        let trouble = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Trouble::Full,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Trouble::Denied,
            io::ErrorKind::NotFound => Trouble::Missing,
            io::ErrorKind::UnexpectedEof => Trouble::Damaged,
            _ => Trouble::Other,
        };
        DiskError { action, path: path.to_owned(), trouble, text: error.to_string() }
    }

    /// The data of a file is not what it should be.
    pub fn damaged(path: &Path, text: impl Into<String>) -> DiskError {
        let (action, trouble) = ("read", Trouble::Damaged);
        DiskError { action, path: path.to_owned(), trouble, text: text.into() }
    }
}

impl std::fmt::Display for DiskError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot {} {}: {}", self.action, self.path.display(), self.text)?;
        f.write_str(match self.trouble {
            Trouble::Full => "; free some space or give another directory with --disk DIR",
            Trouble::Denied => "; give a directory that can be written with --disk DIR",
            Trouble::Missing | Trouble::Other if self.action == MAKE_DIR => {
                "; give another directory with --disk DIR"
            }
            Trouble::Missing | Trouble::Damaged | Trouble::Other => "",
        })
    }
}

impl std::error::Error for DiskError {}
