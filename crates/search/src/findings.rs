//! Which violations are worth reporting.
//!
//! With a wish for several findings, a search goes on behind a violation. The same mistake then
//! shows in thousands of states; only *distinct* findings count:
//! * a violated property is distinct by its number and the rule that led into the violating state
//!   (initial states count as one more rule): different rules that break one invariant are different
//!   mistakes, different instances of one rule are not;
//! * a fault is distinct by its kind and its place in the program, which names the rule already;
//! * a deadlock is reported once.
//!
//! A state that violates a property is not expanded, distinct or not.

use crate::Finding;
use ergodic_system::{Label, ViolationKind};

/// What makes a finding distinct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Property { number: u32, rule: Option<u32> },
    Fault { kind: u16, site: u32 },
    Deadlock,
}

impl Key {
    fn of(kind: &ViolationKind, rule: Option<u32>) -> Key {
        match *kind {
            ViolationKind::Property(number) => Key::Property { number, rule },
            ViolationKind::Fault(fault) => Key::Fault { kind: fault.kind, site: fault.site },
            ViolationKind::Deadlock => Key::Deadlock,
        }
    }
}

/// The distinct findings so far.
#[derive(Debug)]
pub struct Findings {
    list: Vec<Finding>,
    keys: Vec<Key>,
    wanted: usize,
}

impl Findings {
    /// None so far; `wanted` (at least one) are enough.
    pub fn new(wanted: usize) -> Findings {
        Findings { list: Vec::new(), keys: Vec::new(), wanted: wanted.max(1) }
    }

    /// Findings so far, with the rule that makes each distinct.
    pub(crate) fn list(&self) -> impl Iterator<Item = (&Finding, Option<u32>)> {
        let rule = |key: &Key| match key {
            Key::Property { rule, .. } => *rule,
            Key::Fault { .. } | Key::Deadlock => None,
        };
        self.list.iter().zip(self.keys.iter().map(rule))
    }

    /// Adds a violation if it is distinct. `rule` made the violating state; `path` is asked only if
    /// it is distinct. Returns whether there are enough findings now.
    pub fn add(
        &mut self,
        kind: ViolationKind,
        rule: Option<u32>,
        depth: u64,
        path: impl FnOnce() -> Vec<Label>,
    ) -> bool {
        let key = Key::of(&kind, rule);
        if !self.keys.contains(&key) {
            self.keys.push(key);
            self.list.push(Finding { path: path(), kind, depth });
        }
        self.list.len() >= self.wanted
    }

    /// As [`Findings::add`] for a search that does not know which rule came first: a property counts
    /// once, whatever led into its violation.
    pub(crate) fn add_once(
        &mut self,
        kind: ViolationKind,
        depth: u64,
        path: impl FnOnce() -> Vec<Label>,
    ) -> bool {
        let known = |key: &Key| match (key, kind) {
            (Key::Property { number, .. }, ViolationKind::Property(p)) => *number == p,
            _ => *key == Key::of(&kind, None),
        };
        if self.keys.iter().any(known) {
            return self.list.len() >= self.wanted;
        }
        self.add(kind, None, depth, path)
    }

    /// The findings, in the order in which they were found.
    pub fn into_vec(self) -> Vec<Finding> {
        self.list
    }
}
