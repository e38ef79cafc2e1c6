//! What is wrong in a level: one violation per mistake, whatever the order in which they are found.
//!
//! Two violations show the same mistake if they break the same property, or fault in the same way at
//! the same place, or are both deadlocks. (Which rule led into a bad state first depends on who was
//! faster, so it does not count here.) Of those the one with the smallest state is kept.

use ergodic_system::{Label, ViolationKind};
use std::cmp::Ordering;

/// A violation in a state that was found or expanded.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    pub(crate) kind: ViolationKind,
    /// Depth as in a [`crate::Finding`].
    pub(crate) depth: u64,
    /// The violating state, or the one in which the faulting rule was fired.
    pub(crate) state: Vec<u64>,
    /// The state from which `label` leads on.
    pub(crate) source: u64,
    pub(crate) label: Option<Label>,
}

/// Orders mistakes: faults, then properties, then deadlocks, by their numbers.
fn mistake(kind: &ViolationKind) -> (u8, u32, u16) {
    match kind {
        ViolationKind::Fault(fault) => (0, fault.site, fault.kind),
        ViolationKind::Property(number) => (1, *number, 0),
        ViolationKind::Deadlock => (2, 0, 0),
    }
}

/// Mistakes of a level, in order.
#[derive(Debug, Default)]
pub(crate) struct Wrongs {
    list: Vec<Wrong>,
}

impl Wrongs {
    /// Keeps a violation if it is the smallest of its mistake so far.
    pub(crate) fn note(
        &mut self,
        kind: ViolationKind,
        depth: u64,
        state: &[u64],
        source: u64,
        label: Option<Label>,
    ) {
        let key = (depth, state, label);
        let place = self.list.binary_search_by_key(&mistake(&kind), |w| mistake(&w.kind));
        let new = || Wrong { kind, depth, state: state.to_vec(), source, label };
        match place {
            Err(place) => self.list.insert(place, new()),
            Ok(place) => {
                let old = &self.list[place];
                if key.cmp(&(old.depth, old.state.as_slice(), old.label)) == Ordering::Less {
                    self.list[place] = new();
                }
            }
        }
    }

    /// Takes over those of another worker.
    pub(crate) fn merge(&mut self, others: &mut Wrongs) {
        for w in others.list.drain(..) {
            self.note(w.kind, w.depth, &w.state, w.source, w.label);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Takes all out, in order.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Wrong> {
        self.list.drain(..)
    }
}
