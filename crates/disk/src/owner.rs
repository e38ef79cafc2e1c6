//! Directories that a process left when it was killed, and how the next one knows that nobody needs them.
//!
//! A directory that is *owned* holds a file that its process keeps locked: the system gives the lock back when
//! the process ends, however it ends. The file names the boot of the computer, so that only a directory of this very
//! system is ever judged by its lock: a file system that computers share may keep locks from each other, and
//! process numbers are used again.
//!
//! Invariants: the file has its name only after it is locked; nothing is removed that is not named like a
//! directory of ours, does not belong to this user, was not owned, or is locked by anybody.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file in a directory that its process keeps locked.
const OWNER: &str = "owner";
/// What other processes that use a part of a directory keep locked in theirs.
const LOCK: &str = "lock";

/// Which start of which computer this is; `None` where the system does not tell.
fn boot() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let id = id.trim();
    (!id.is_empty()).then(|| format!("ergodic {id}\n"))
}

/// Owns a directory for as long as what is returned lives. Nothing, where the system does not tell what is
/// needed: such a directory is never taken for one that was left.
pub(crate) fn own(dir: &Path) -> io::Result<Option<File>> {
    let Some(boot) = boot() else { return Ok(None) };
    let new = dir.join("owner.new");
    fs::write(&new, boot)?;
    let file = File::open(&new)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    fs::rename(&new, dir.join(OWNER))?;
    Ok(Some(file))
}

/// Removes directories in `parent` that were owned by processes which are gone; returns which. What cannot be
/// read or removed stays.
pub fn sweep(parent: &Path) -> Vec<PathBuf> {
    let (Some(boot), Ok(entries)) = (boot(), fs::read_dir(parent)) else { return Vec::new() };
    let paths =
        entries.flatten().filter(|entry| named_as_ours(&entry.file_name().to_string_lossy()));
    let mut removed: Vec<PathBuf> =
        paths.map(|entry| entry.path()).filter(|path| remove(path, &boot).is_some()).collect();
    removed.sort();
    removed
}

/// Whether a name is one of those that [`crate::Dir::fresh`] gives.
fn named_as_ours(name: &str) -> bool {
    let numbers = name.strip_prefix("ergodic-").and_then(|rest| rest.split_once('-'));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    numbers.is_some_and(|(process, number)| digits(process) && digits(number))
}

/// Removes a directory if its owner is gone, and nobody else uses a part of it.
fn remove(path: &Path, boot: &str) -> Option<()> {
    let dir = fs::symlink_metadata(path).ok()?;
    if !dir.is_dir() || dir.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let owner = locked(&path.join(OWNER))?;
    if io::read_to_string(&owner).ok()? != boot {
        return None;
    }
    let mut locks = vec![owner];
    for part in fs::read_dir(path).ok()?.flatten() {
        let lock = part.path().join(LOCK);
        // Also one that we are not allowed to look at.
        if fs::symlink_metadata(&lock).is_ok() {
            locks.push(locked(&lock)?);
        }
    }
    fs::remove_dir_all(path).ok()
}

/// A file that nobody else had locked, and we have now.
fn locked(path: &Path) -> Option<File> {
    // Opening anything else could wait for ever.
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    // Somebody may have removed it in between, and somebody else made another one.
    let (held, there) = (file.metadata().ok()?, fs::symlink_metadata(path).ok()?);
    (held.ino() == there.ino() && held.dev() == there.dev()).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dir;

    /// A directory as a killed process leaves it.
    fn leave(parent: &Path) -> PathBuf {
        let dir = Dir::fresh(parent).unwrap();
        dir.own();
        dir.keep();
        fs::write(dir.path().join("log"), "states").unwrap();
        dir.path().to_owned()
    }

    #[test]
    fn only_what_was_left_is_removed() {
        let above = Dir::fresh(&std::env::temp_dir()).unwrap();
        let parent = above.path();
        let living = Dir::fresh(parent).unwrap();
        living.own();
        let unowned = Dir::fresh(parent).unwrap();
        unowned.keep();
        // The computer was started again since, or this is another one.
        let older = leave(parent);
        fs::write(older.join(OWNER), "ergodic 0000\n").unwrap();
        // Somebody else is still at work in a part of it.
        let shared = leave(parent);
        fs::create_dir(shared.join("keeper-0")).unwrap();
        let lock = shared.join("keeper-0").join(LOCK);
        fs::write(&lock, "").unwrap();
        let held = File::open(&lock).unwrap();
        flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
        let strange = parent.join("ergodic-nats-0");
        fs::create_dir(&strange).unwrap();
        fs::write(strange.join(OWNER), boot().unwrap_or_default()).unwrap();
        let link = parent.join("ergodic-1-1");
        std::os::unix::fs::symlink(&strange, &link).unwrap();
        let left = leave(parent);

        let removed = sweep(parent);
        assert_eq!(removed, if boot().is_some() { vec![left] } else { Vec::new() });
        let stay = [living.path(), unowned.path(), &older, &shared, &strange, &link];
        assert!(stay.iter().all(|path| path.exists()), "{stay:?}");
        assert!(sweep(parent).is_empty());
        drop(held);
        assert_eq!(sweep(parent).len(), usize::from(boot().is_some()));
        assert!(sweep(Path::new("/proc/none")).is_empty());
    }

    #[test]
    fn names_are_those_of_fresh_directories() {
        assert!(named_as_ours("ergodic-4711-0"));
        for other in ["ergodic-4711", "ergodic--0", "ergodic-x-0", "ergodic-1-0x", "xergodic-1-0"] {
            assert!(!named_as_ours(other), "{other}");
        }
    }
}
