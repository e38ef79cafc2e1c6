//! Where a run puts its files.

use ergodic_disk::Dir;
use ergodic_system::Exhausted;
use std::path::{Path, PathBuf};

/// With less than this free there is no use in beginning.
const LEAST_FREE: u64 = 64 << 20;

/// A directory in which a run makes one of its own, which goes away with it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    parent: PathBuf,
}

impl Place {
    /// In this directory, or where temporary files go.
    pub(crate) fn new(parent: Option<&Path>) -> Place {
        Place { parent: parent.map_or_else(std::env::temp_dir, Path::to_owned) }
    }

    /// Removes what runs that were killed have left there; returns which directories.
    pub(crate) fn sweep(&self) -> Vec<PathBuf> {
        ergodic_disk::sweep(&self.parent)
    }

    /// Makes the directory, if there is space for something.
    pub(crate) fn open(&self) -> Result<Dir, Exhausted> {
        // There is more space afterwards. In the middle of a search nobody wants to know.
        self.sweep();
        let other = |why: ergodic_disk::DiskError| Exhausted::Other(why.to_string());
        let dir = Dir::fresh(&self.parent).map_err(other)?;
        dir.own();
        let free = dir.free().map_err(other)?;
        if free < LEAST_FREE {
            return Err(Exhausted::Other(format!(
                "only {} MiB are free in {}; free some space or give another directory with \
                 --disk DIR",
                free >> 20,
                self.parent.display()
            )));
        }
        Ok(dir)
    }
}
