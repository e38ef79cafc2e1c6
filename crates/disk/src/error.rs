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

/// The option with which most callers let their user choose a directory; the others say which is theirs,
/// with [`DiskError::called`] and [`crate::Dir::called`].
pub(crate) const USUAL_OPTION: &str = "--disk DIR";

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
    /// The option that takes another directory.
    pub option: &'static str,
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
        let (path, text) = (path.to_owned(), error.to_string());
        DiskError { action, path, trouble, text, option: USUAL_OPTION }
    }

    /// The data of a file is not what it should be.
    pub fn damaged(path: &Path, text: impl Into<String>) -> DiskError {
        let (action, trouble) = ("read", Trouble::Damaged);
        let (path, text) = (path.to_owned(), text.into());
        DiskError { action, path, trouble, text, option: USUAL_OPTION }
    }

    /// The same for a user who gives another directory with this option, as in `--disk DIR`.
    #[must_use]
    pub fn called(self, option: &'static str) -> DiskError {
        DiskError { option, ..self }
    }
}

impl std::fmt::Display for DiskError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot {} {}: {}", self.action, self.path.display(), self.text)?;
        let way_out = match self.trouble {
            Trouble::Full => "free some space or give another directory",
            Trouble::Denied => "give a directory that can be written",
            Trouble::Missing | Trouble::Other if self.action == MAKE_DIR => {
                "give another directory"
            }
            Trouble::Missing | Trouble::Damaged | Trouble::Other => return Ok(()),
        };
        write!(f, "; {way_out} with {}", self.option)
    }
}

impl std::error::Error for DiskError {}
