//! Numbering of rule instances: an action with parameters stands for one rule per valuation.
//!
//! Instances of an action are numbered with the last parameter varying fastest; over the whole
//! program the instances of the initial states come first, then those of the actions in order. A
//! multiset parameter counts all slots, filled or not.

use crate::{Action, Domain, Program, ScalarType, Type};
use ergodic_system::Label;

/// Counts and offsets of the instances of a program.
#[derive(Clone, Debug)]
pub struct Instances {
    starts: Vec<Family>,
    actions: Vec<Family>,
    total: u128,
}

#[derive(Clone, Debug)]
struct Family {
    base: u64,
    /// Number of values of each parameter.
    radices: Vec<u64>,
    count: u128,
}

impl Instances {
    /// Numbers the instances of a program.
    pub fn new(program: &Program) -> Instances {
        let mut total = 0u128;
        let mut number = |actions: &[Action]| -> Vec<Family> {
            let family = |action: &Action| {
                let radices: Vec<u64> =
                    action.params.iter().map(|p| domain_size(&p.over, program)).collect();
                let count = radices.iter().fold(1u128, |n, r| n.saturating_mul(u128::from(*r)));
                let base = total as u64;
                total = total.saturating_add(count);
                Family { base, radices, count }
            };
            actions.iter().map(family).collect()
        };
        let starts = number(&program.starts);
        let actions = number(&program.actions);
        Instances { starts, actions, total }
    }

    /// All instances together; [`crate::verify`] sees to it that labels can hold their numbers.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// Number of instances of an action (or of an initial state).
    pub fn count(&self, initial: bool, action: usize) -> u64 {
        u64::try_from(self.family(initial, action).count).unwrap_or(u64::MAX)
    }

    /// Number of values of each parameter.
    pub fn radices(&self, initial: bool, action: usize) -> &[u64] {
        &self.family(initial, action).radices
    }

    /// The label of an instance.
    pub fn label(&self, initial: bool, action: usize, instance: u64) -> Label {
        Label((self.family(initial, action).base + instance) as u32)
    }

    /// The first label of an action (or of an initial state).
    pub fn base(&self, initial: bool, action: usize) -> u32 {
        self.family(initial, action).base as u32
    }

    /// The action (or initial state) and instance of a label.
    ///
    /// # Panics
    /// If the label was not made by this numbering.
    pub fn locate(&self, label: Label) -> (bool, usize, u64) {
        let number = u64::from(label.0);
        for (initial, families) in [(true, &self.starts), (false, &self.actions)] {
            let after = families.partition_point(|family| family.base <= number);
            for action in (0..after).rev() {
                let family = &families[action];
                if family.count > u128::from(number - family.base) {
                    return (initial, action, number - family.base);
                }
                if family.count > 0 {
                    break;
                }
            }
        }
        panic!("label {number} is not of this program");
    }

    /// Positions of the parameter values of an instance, one per parameter.
    pub fn ordinals(&self, initial: bool, action: usize, instance: u64) -> Vec<u64> {
        let radices = self.radices(initial, action);
        let mut rest = instance;
        let mut ordinals = vec![0; radices.len()];
        for (ordinal, radix) in ordinals.iter_mut().zip(radices).rev() {
            *ordinal = rest % radix;
            rest /= radix;
        }
        ordinals
    }

    fn family(&self, initial: bool, action: usize) -> &Family {
        if initial { &self.starts[action] } else { &self.actions[action] }
    }
}

/// How many values a parameter can take.
pub fn domain_size(domain: &Domain, program: &Program) -> u64 {
    match domain {
        Domain::Type(ty) => match &program.types[ty.0 as usize] {
            Type::Scalar(scalar) => scalar.count(),
            _ => 0,
        },
        Domain::Range { from, to, step } => range_len(*from, *to, *step),
        Domain::Slots(place) => match &program.types[place.ty.0 as usize] {
            Type::Multiset { capacity, .. } => u64::from(*capacity),
            _ => 0,
        },
    }
}

/// Number of values in `from`, `from + step`, … `to`.
pub fn range_len(from: i64, to: i64, step: i64) -> u64 {
    let reachable = if step > 0 { from <= to } else { from >= to };
    if step == 0 || !reachable {
        0
    } else {
        (from.abs_diff(to) / step.unsigned_abs()).saturating_add(1)
    }
}

/// The value of a parameter at a position.
pub fn domain_value(domain: &Domain, types: &[Type], ordinal: u64) -> i64 {
    match domain {
        Domain::Type(ty) => match &types[ty.0 as usize] {
            Type::Scalar(scalar) => ScalarType::code(scalar, ordinal).unwrap_or_default(),
            _ => 0,
        },
        Domain::Range { from, step, .. } => from.wrapping_add(step.wrapping_mul(ordinal as i64)),
        Domain::Slots(_) => ordinal as i64,
    }
}
