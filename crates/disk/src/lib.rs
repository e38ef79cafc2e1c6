//! Files for searches that outgrow memory: the one place where the program touches a disk with
//! anything but its input and its reports.
//!
//! Everything goes through a [`Device`], so that tests can put a faulty one in its place: short
//! writes, a full disk, flipped bits, missing files. What is written is framed and checksummed
//! ([`frames`]); a frame that does not check out is an error that names the file and the offset,
//! never data. Files stay open while they are in use, so that another process that removes their
//! names does no harm where the system works that way.
//!
//! Invariants: no error is dropped; every error names the file and, where there is one, the way out;
//! a [`Dir`] removes what it made when it is dropped, unless it was told to keep it; what a killed process left is
//! removed by the next one ([`sweep`]).

mod device;
mod dir;
mod error;
mod faulty;
pub mod frames;
mod late;
mod owner;

pub use device::{Device, RawFile, Real};
pub use dir::{Dir, File};
pub use error::{DiskError, Trouble};
pub use faulty::{Fault, Faulty};
pub use owner::sweep;
