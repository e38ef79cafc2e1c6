//! A search in pieces: stopped after a few looks, saved, and resumed, until it is done.
#![allow(dead_code, reason = "each test file uses a part of it")]

use ergodic_disk::{Device, Dir, DiskError, Real};
use ergodic_search::{Control, Ending, Observer, Outcome, Progress, Resume, Saver};
use ergodic_system::Reason;
use std::sync::Arc;

/// Keeps the last checkpoint; is due at every `every`-th question.
pub struct Keeper {
    pub device: Arc<dyn Device>,
    pub every: u64,
    asked: u64,
    begun: Option<Dir>,
    pub last: Option<Dir>,
    /// Why saving failed.
    pub failed: Vec<String>,
}

impl Keeper {
    pub fn new(device: Arc<dyn Device>, every: u64) -> Keeper {
        Keeper { device, every, asked: 0, begun: None, last: None, failed: Vec::new() }
    }
}

impl Saver for Keeper {
    fn due(&mut self) -> bool {
        self.asked += 1;
        self.asked.is_multiple_of(self.every)
    }

    fn begin(&mut self) -> Result<Dir, DiskError> {
        let dir = Dir::fresh_on(Arc::clone(&self.device), &std::env::temp_dir())?;
        self.begun = Some(dir.clone());
        Ok(dir)
    }

    fn commit(&mut self) -> Result<(), DiskError> {
        self.last = self.begun.take();
        Ok(())
    }

    fn failed(&mut self, why: String) {
        self.failed.push(why);
    }
}

/// A checkpoint that a piece goes on from, and where it is.
pub type From<'a> = Option<(Resume, &'a Dir)>;

/// Runs pieces until one of them ends otherwise than by being stopped; gives also their number.
pub fn in_pieces(
    looks: u64,
    mut piece: impl FnMut(From<'_>, &mut dyn Saver, &mut dyn Observer) -> Outcome,
) -> (Outcome, usize) {
    let mut last: Option<Dir> = None;
    for pieces in 0..10_000 {
        let from = last.as_ref().map(|dir| (Resume::open(dir).unwrap(), dir));
        let mut keeper = Keeper::new(Arc::new(Real), 5);
        let mut left = looks;
        let mut observer = |_: &Progress| {
            left = left.saturating_sub(1);
            if left == 0 { Control::Stop(Reason::Interrupted) } else { Control::Continue }
        };
        let outcome = piece(from, &mut keeper, &mut observer);
        assert_eq!(keeper.failed, Vec::<String>::new());
        if outcome.ending != Ending::Stopped(Reason::Interrupted) {
            return (outcome, pieces);
        }
        last = Some(keeper.last.expect("a stopped run is saved"));
    }
    panic!("it never ends");
}
