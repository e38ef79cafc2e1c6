//! Parts of state variables: what is read and written, index by index.

use crate::GlobalId;
use std::collections::BTreeSet;

/// Longer paths are cut, and then stand for everything below.
const MAX_STEPS: usize = 16;

/// More accesses than this are replaced by one per variable.
const MAX_ACCESSES: usize = 512;

/// Where an access starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Base {
    /// A state variable.
    Global(GlobalId),
    /// A by-reference parameter of the enclosing subroutine, by position.
    Param(usize),
}

/// Which element of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// The one with this code.
    Const(i64),
    /// The one given by a parameter of the enclosing action, by position.
    Param(usize),
    /// Any.
    Any,
}

/// One step into a compound value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessStep {
    /// A component of a record, by position.
    Field(u32),
    /// An element of an array.
    Index(Key),
    /// Some element of a multiset. Always the last step: slots are sorted again after every firing,
    /// so touching one element touches the whole multiset.
    Slot,
}

/// A part of a state variable, with everything below it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Access {
    /// Where it starts.
    pub base: Base,
    /// How it goes on.
    pub path: Vec<AccessStep>,
}

impl Access {
    /// All of a state variable or parameter.
    pub fn whole(base: Base) -> Access {
        Access { base, path: Vec::new() }
    }

    /// Whether the two can have a bit in common, whatever the parameters are: [`Key::Param`] is
    /// taken to be any element, so the answer holds for any two instances of any two actions.
    pub fn may_overlap(&self, other: &Access) -> bool {
        self.overlap(other, |a, b| !matches!((a, b), (Key::Const(x), Key::Const(y)) if x != y))
    }

    /// Whether the two can have a bit in common, given the codes of the parameters of the actions
    /// that they belong to.
    pub fn may_overlap_at(&self, params: &[i64], other: &Access, other_params: &[i64]) -> bool {
        self.overlap(other, |a, b| match (a.code(params), b.code(other_params)) {
            (Some(x), Some(y)) => x == y,
            _ => true,
        })
    }

    fn overlap(&self, other: &Access, keys: impl Fn(Key, Key) -> bool) -> bool {
        let mut steps = self.path.iter().zip(&other.path);
        self.base == other.base
            && steps.all(|pair| match pair {
                (AccessStep::Field(a), AccessStep::Field(b)) => a == b,
                (AccessStep::Index(a), AccessStep::Index(b)) => keys(*a, *b),
                _ => true,
            })
    }

    /// A part of this one.
    #[must_use]
    pub(super) fn then(&self, steps: &[AccessStep]) -> Access {
        let mut access = self.clone();
        for step in steps {
            if access.path.len() >= MAX_STEPS || access.path.last() == Some(&AccessStep::Slot) {
                break;
            }
            access.path.push(*step);
        }
        access
    }
}

impl Key {
    fn code(self, params: &[i64]) -> Option<i64> {
        match self {
            Key::Const(code) => Some(code),
            Key::Param(position) => params.get(position).copied(),
            Key::Any => None,
        }
    }
}

/// Adds an access to a set, which becomes coarser when it grows too large.
pub(super) fn add(set: &mut BTreeSet<Access>, access: Access) {
    let whole = Access::whole(access.base);
    if set.contains(&whole) {
        return;
    }
    set.insert(access);
    if set.len() > MAX_ACCESSES {
        let bases: BTreeSet<Base> = set.iter().map(|access| access.base).collect();
        *set = bases.into_iter().map(Access::whole).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &[AccessStep]) -> Access {
        Access { base: Base::Global(GlobalId(0)), path: path.to_vec() }
    }

    #[test]
    fn overlap_is_decided_step_by_step() {
        let index = |key| at(&[AccessStep::Index(key)]);
        assert!(!index(Key::Const(1)).may_overlap(&index(Key::Const(2))));
        assert!(index(Key::Const(1)).may_overlap(&index(Key::Param(0))));
        assert!(!index(Key::Const(1)).may_overlap_at(&[], &index(Key::Param(0)), &[2]));
        assert!(index(Key::Const(1)).may_overlap_at(&[], &index(Key::Param(0)), &[1]));
        assert!(index(Key::Any).may_overlap_at(&[], &index(Key::Param(0)), &[1]));
        assert!(!at(&[AccessStep::Field(0)]).may_overlap(&at(&[AccessStep::Field(1)])));
        assert!(at(&[]).may_overlap(&at(&[AccessStep::Field(1)])));
        let other = Access::whole(Base::Global(GlobalId(1)));
        assert!(!at(&[]).may_overlap(&other));
    }

    #[test]
    fn multisets_are_one_thing() {
        let element = at(&[AccessStep::Slot]);
        assert_eq!(element.then(&[AccessStep::Field(3)]), element);
    }

    #[test]
    fn large_sets_become_coarse() {
        let mut set = BTreeSet::new();
        for i in 0..2000 {
            add(&mut set, at(&[AccessStep::Index(Key::Const(i))]));
        }
        assert_eq!(set, BTreeSet::from([at(&[])]));
    }
}
