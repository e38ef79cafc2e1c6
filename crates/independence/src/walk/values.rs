//! Small sets of codes: what an expression can yield, from above.

use ergodic_ir::{BinaryOp, ScalarType, Type, TypeId, UnaryOp, ops};

/// Larger sets are not told from all codes.
const MAX_VALUES: usize = 128;

/// Pairs of values that an operator is tried on.
const MAX_PAIRS: usize = 4096;

/// A set of codes. The empty set belongs to code that is not reached or always faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// These, ascending.
    Among(Vec<i64>),
    /// Any.
    Any,
}

impl Values {
    /// One code.
    pub(crate) fn one(code: i64) -> Values {
        Values::Among(vec![code])
    }

    /// 0 and 1.
    pub(crate) fn truth() -> Values {
        Values::Among(vec![0, 1])
    }

    /// A set of codes, in any order.
    pub(crate) fn of(mut codes: Vec<i64>) -> Values {
        codes.sort_unstable();
        codes.dedup();
        if codes.len() > MAX_VALUES { Values::Any } else { Values::Among(codes) }
    }

    /// `first`, `first + step`, and so on, `count` of them.
    pub(crate) fn series(first: i64, step: i64, count: u64) -> Values {
        if count > MAX_VALUES as u64 {
            return Values::Any;
        }
        Values::of((0..count as i64).map(|i| first.wrapping_add(step.wrapping_mul(i))).collect())
    }

    /// The values of a type; any code if it is not scalar or large.
    pub(crate) fn of_type(types: &[Type], ty: TypeId) -> Values {
        match types.get(ty.0 as usize) {
            Some(Type::Scalar(scalar)) if scalar.count() <= MAX_VALUES as u64 => {
                Values::of((0..scalar.count()).filter_map(|i| scalar.code(i)).collect())
            }
            _ => Values::Any,
        }
    }

    /// What is in one or the other.
    pub(crate) fn union(self, other: Values) -> Values {
        match (self, other) {
            (Values::Among(mut a), Values::Among(b)) => {
                a.extend(b);
                Values::of(a)
            }
            _ => Values::Any,
        }
    }

    /// Whether there can be a value that satisfies a condition.
    pub(crate) fn may(&self, condition: impl Fn(i64) -> bool) -> bool {
        match self {
            Values::Among(codes) => codes.iter().any(|code| condition(*code)),
            Values::Any => true,
        }
    }

    /// The values that satisfy a condition.
    #[must_use]
    pub(crate) fn keep(self, condition: impl Fn(i64) -> bool) -> Values {
        match self {
            Values::Among(mut codes) => {
                codes.retain(|code| condition(*code));
                Values::Among(codes)
            }
            Values::Any => Values::Any,
        }
    }

    /// The values that are also in another set.
    #[must_use]
    pub(crate) fn and(self, other: &Values) -> Values {
        match (self, other) {
            (Values::Any, other) => other.clone(),
            (mine, other) => mine.keep(|code| other.may(|it| it == code)),
        }
    }

    /// The values that fit a scalar type.
    #[must_use]
    pub(crate) fn within(self, types: &[Type], ty: TypeId) -> Values {
        match (self, types.get(ty.0 as usize)) {
            (Values::Any, _) => Values::of_type(types, ty),
            (values, Some(Type::Scalar(scalar))) => values.keep(|code| scalar.contains(code)),
            _ => Values::Any,
        }
    }

    /// The code, if there is just one.
    pub(crate) fn single(&self) -> Option<i64> {
        match self {
            Values::Among(codes) if codes.len() == 1 => Some(codes[0]),
            _ => None,
        }
    }

    /// Least and largest code.
    pub(crate) fn hull(&self) -> Option<(i64, i64)> {
        match self {
            Values::Among(codes) => Some((*codes.first()?, *codes.last()?)),
            Values::Any => None,
        }
    }

    /// Positions of the values in an index type; `None` if they can be all.
    pub(crate) fn ordinals(&self, index: &ScalarType) -> Option<Vec<u64>> {
        match self {
            Values::Among(codes) => Some(codes.iter().filter_map(|c| index.ordinal(*c)).collect()),
            Values::Any => None,
        }
    }
}

/// What an operator yields where it does not fault.
pub(crate) fn unary(op: UnaryOp, arg: &Values) -> Values {
    match arg {
        Values::Among(codes) => {
            Values::of(codes.iter().filter_map(|code| ops::unary(op, *code).ok()).collect())
        }
        Values::Any if op == UnaryOp::Not => Values::truth(),
        Values::Any => Values::Any,
    }
}

/// What an operator yields where it does not fault.
pub(crate) fn binary(op: BinaryOp, left: &Values, right: &Values) -> Values {
    match (left, right) {
        (Values::Among(a), Values::Among(b)) if a.len().saturating_mul(b.len()) <= MAX_PAIRS => {
            let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (*x, *y)));
            Values::of(pairs.filter_map(|(x, y)| ops::binary(op, x, y).ok()).collect())
        }
        _ => match op {
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::RealEq
            | BinaryOp::RealNe
            | BinaryOp::RealLt
            | BinaryOp::RealLe => Values::truth(),
            _ => Values::Any,
        },
    }
}
