//! What is known at a point of the code: values of cells, values and places of names.
//!
//! A cell is a scalar with a fixed address. What is not in the table is not known, so forgetting is
//! always sound. Storage of locals has addresses of its own, new ones for every call, so nothing
//! stale is ever found there.

use super::values::Values;
use std::collections::BTreeMap;

/// Which words an address is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Memory {
    /// The state.
    State,
    /// The storage of locals.
    Storage,
}

/// A run of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) memory: Memory,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Where a place can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// The candidates, ascending.
    pub(crate) spots: Vec<Spot>,
    /// The place is one of the spots; otherwise it lies somewhere inside of one.
    pub(crate) exact: bool,
}

impl Region {
    /// A place with a known address.
    pub(crate) fn at(spot: Spot) -> Region {
        Region { spots: vec![spot], exact: true }
    }

    /// The address, if there is just one (and the value takes any bits at all: values without bits
    /// share their address with what follows).
    pub(crate) fn address(&self) -> Option<(Memory, usize)> {
        match self.spots.as_slice() {
            [spot] if self.exact && spot.start < spot.end => Some((spot.memory, spot.start)),
            _ => None,
        }
    }

    fn union(mut self, other: &Region) -> Region {
        self.spots.extend(&other.spots);
        self.spots.sort_unstable();
        self.spots.dedup();
        self.exact &= other.exact;
        self
    }
}

/// What a cell can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// Its value, if it has one.
    pub(crate) values: Values,
    /// Whether it can be undefined.
    pub(crate) undefined: bool,
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// A value.
    Value(Values),
    /// A place.
    Place(Region),
}

/// All that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Env {
    /// By address.
    pub(crate) cells: BTreeMap<(Memory, usize), Known>,
    /// By frame and local.
    pub(crate) names: BTreeMap<(u32, u32), Name>,
    /// This point is never reached.
    pub(crate) dead: bool,
}

impl Env {
    /// A point that is never reached.
    pub(crate) fn nowhere() -> Env {
        Env { dead: true, ..Env::default() }
    }

    /// Notes that this point is never reached. Names stay: what is walked here all the same needs them.
    pub(crate) fn kill(&mut self) {
        self.cells.clear();
        self.dead = true;
    }

    /// What is known where two ways meet.
    #[must_use]
    pub(crate) fn join(mut self, other: Env) -> Env {
        if other.dead {
            return self;
        }
        if self.dead {
            return other;
        }
        self.cells.retain(|at, mine| match other.cells.get(at) {
            Some(theirs) => {
                let values = std::mem::replace(&mut mine.values, Values::Any);
                mine.values = values.union(theirs.values.clone());
                mine.undefined |= theirs.undefined;
                true
            }
            None => false,
        });
        for (key, theirs) in other.names {
            let joined = match (self.names.remove(&key), theirs) {
                (None, theirs) => theirs,
                (Some(Name::Value(a)), Name::Value(b)) => Name::Value(a.union(b)),
                (Some(Name::Place(a)), Name::Place(b)) => Name::Place(a.union(&b)),
                // A local is either a value or a place.
                (Some(mine), _) => mine,
            };
            self.names.insert(key, joined);
        }
        self
    }

    /// Forgets all cells in a run of bits.
    pub(crate) fn forget(&mut self, spot: Spot) {
        let range = (spot.memory, spot.start)..(spot.memory, spot.end.max(spot.start));
        let gone: Vec<_> = self.cells.range(range).map(|(at, _)| *at).collect();
        gone.iter().for_each(|at| drop(self.cells.remove(at)));
    }

    /// How much there is to copy.
    pub(crate) fn size(&self) -> u64 {
        (self.cells.len() + self.names.len()) as u64
    }
}
