//! Sets of codes that an expression can yield, from above: enough to see that constants and bound
//! variables are fine where a range is checked.

use crate::{BinaryOp, ScalarType, Type, TypeId, UnaryOp};

/// More intervals than this are merged into one.
const MAX_INTERVALS: usize = 64;

/// A set of codes: ascending intervals that neither overlap nor touch; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Values(Vec<(i64, i64)>);

impl Values {
    /// All codes.
    pub(super) fn any() -> Values {
        Values(vec![(i64::MIN, i64::MAX)])
    }

    /// One code.
    pub(super) fn one(code: i64) -> Values {
        Values(vec![(code, code)])
    }

    /// 0 and 1.
    pub(super) fn truth() -> Values {
        Values(vec![(0, 1)])
    }

    /// From `lo` to `hi`; all codes if that is empty.
    pub(super) fn between(lo: i64, hi: i64) -> Values {
        Values::normalised(vec![(lo, hi)])
    }

    /// The codes of a type; all codes if it is not scalar.
    pub(super) fn of_type(types: &[Type], ty: TypeId) -> Values {
        match types.get(ty.0 as usize) {
            Some(Type::Scalar(scalar)) => Values::of_scalar(scalar),
            _ => Values::any(),
        }
    }

    fn of_scalar(scalar: &ScalarType) -> Values {
        Values::normalised(scalar.intervals.clone())
    }

    fn normalised(mut intervals: Vec<(i64, i64)>) -> Values {
        intervals.retain(|(lo, hi)| lo <= hi);
        intervals.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::with_capacity(intervals.len());
        for (lo, hi) in intervals {
            match merged.last_mut() {
                Some(last) if lo <= last.1.saturating_add(1) => last.1 = last.1.max(hi),
                _ => merged.push((lo, hi)),
            }
        }
        match (merged.first(), merged.last()) {
            (Some(first), Some(last)) if merged.len() > MAX_INTERVALS => {
                Values(vec![(first.0, last.1)])
            }
            (Some(_), _) => Values(merged),
            _ => Values::any(),
        }
    }

    /// What is in one or the other.
    pub(super) fn union(mut self, other: Values) -> Values {
        self.0.extend(other.0);
        Values::normalised(self.0)
    }

    /// Whether all codes are values of a scalar type.
    pub(super) fn within(&self, types: &[Type], ty: TypeId) -> bool {
        let Some(Type::Scalar(scalar)) = types.get(ty.0 as usize) else { return false };
        if scalar.intervals.is_empty() {
            return false;
        }
        let target = Values::of_scalar(scalar);
        let inside = |(lo, hi): &(i64, i64)| target.0.iter().any(|(a, b)| a <= lo && hi <= b);
        self.0.iter().all(inside)
    }

    /// The code, if there is just one.
    pub(super) fn single(&self) -> Option<i64> {
        let (lo, hi) = self.hull();
        (lo == hi).then_some(lo)
    }

    /// The least and the largest code.
    pub(super) fn hull(&self) -> (i64, i64) {
        (self.0[0].0, self.0[self.0.len() - 1].1)
    }
}

/// What an operator can yield, and whether it can fault.
pub(super) fn unary(op: UnaryOp, arg: &Values) -> (Values, bool) {
    let (lo, hi) = arg.hull();
    match op {
        UnaryOp::Neg if lo == i64::MIN => (Values::any(), true),
        UnaryOp::Neg => (Values::between(-hi, -lo), false),
        UnaryOp::Not => (Values::truth(), false),
        UnaryOp::BitNot => (Values::between(!hi, !lo), false),
        // These are finite for every finite argument.
        UnaryOp::RealNeg
        | UnaryOp::ToReal
        | UnaryOp::Sin
        | UnaryOp::Cos
        | UnaryOp::Atan
        | UnaryOp::Tanh
        | UnaryOp::RealAbs
        | UnaryOp::Floor
        | UnaryOp::Ceil => (Values::any(), false),
        UnaryOp::Sqrt
        | UnaryOp::Tan
        | UnaryOp::Asin
        | UnaryOp::Acos
        | UnaryOp::Sinh
        | UnaryOp::Cosh
        | UnaryOp::Exp
        | UnaryOp::Log
        | UnaryOp::Log10
        | UnaryOp::Truncate => (Values::any(), true),
    }
}

/// What an operator can yield, and whether it can fault.
pub(super) fn binary(op: BinaryOp, left: &Values, right: &Values) -> (Values, bool) {
    let (a, b) = (left.hull(), right.hull());
    match op {
        BinaryOp::Add => corners(a, b, |x, y| x + y),
        BinaryOp::Sub => corners(a, b, |x, y| x - y),
        BinaryOp::Mul => corners(a, b, |x, y| x * y),
        BinaryOp::Div if b.0 <= 0 && b.1 >= 0 => (Values::any(), true),
        BinaryOp::Div => corners(a, b, |x, y| x / y),
        BinaryOp::Rem => remainder(a, b),
        BinaryOp::BitAnd if a.0 >= 0 && b.0 >= 0 => (Values::between(0, a.1.min(b.1)), false),
        BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor => (Values::any(), false),
        BinaryOp::Shl => (Values::any(), false),
        BinaryOp::Shr if b.0 < 0 || b.1 > 63 => (Values::any(), false),
        BinaryOp::Shr => corners(a, b, |x, y| x >> y),
        BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::RealEq
        | BinaryOp::RealNe
        | BinaryOp::RealLt
        | BinaryOp::RealLe => (Values::truth(), false),
        BinaryOp::RealAdd
        | BinaryOp::RealSub
        | BinaryOp::RealMul
        | BinaryOp::RealDiv
        | BinaryOp::RealRem
        | BinaryOp::RealPow => (Values::any(), true),
    }
}

/// For operators that are monotone in each argument: the extremes are at the corners.
fn corners(a: (i64, i64), b: (i64, i64), f: fn(i128, i128) -> i128) -> (Values, bool) {
    let pairs = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)];
    let results = pairs.map(|(x, y)| f(i128::from(x), i128::from(y)));
    let (mut lo, mut hi) = (results[0], results[0]);
    for result in results {
        lo = lo.min(result);
        hi = hi.max(result);
    }
    match (i64::try_from(lo), i64::try_from(hi)) {
        (Ok(lo), Ok(hi)) => (Values::between(lo, hi), false),
        _ => (Values::any(), true),
    }
}

fn remainder(a: (i64, i64), b: (i64, i64)) -> (Values, bool) {
    let faults = b.0 <= 0 && b.1 >= 0;
    let largest = b.0.unsigned_abs().max(b.1.unsigned_abs()).saturating_sub(1);
    let largest = i64::try_from(largest).unwrap_or(i64::MAX);
    let lo = if a.0 >= 0 { 0 } else { (-largest).max(a.0) };
    let hi = if a.1 <= 0 { 0 } else { largest.min(a.1) };
    (Values::between(lo, hi), faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_cover_what_they_compute() {
        let ranges = [(-3, 4), (0, 5), (2, 2), (-7, -1), (1, 66)];
        let ops = [
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Div,
            BinaryOp::Rem,
            BinaryOp::BitAnd,
            BinaryOp::Shl,
            BinaryOp::Shr,
            BinaryOp::Lt,
        ];
        for (a, b, op) in ranges
            .iter()
            .flat_map(|a| ranges.iter().map(move |b| (a, b)))
            .flat_map(|(a, b)| ops.map(|op| (a, b, op)))
        {
            let (values, faults) =
                binary(op, &Values::between(a.0, a.1), &Values::between(b.0, b.1));
            let (lo, hi) = values.hull();
            for (x, y) in (a.0..=a.1).flat_map(|x| (b.0..=b.1).map(move |y| (x, y))) {
                match crate::ops::binary(op, x, y) {
                    Ok(z) => assert!((lo..=hi).contains(&z), "{op:?} {x} {y}"),
                    Err(_) => assert!(faults, "{op:?} {x} {y}"),
                }
            }
        }
    }

    #[test]
    fn overflow_is_seen() {
        let big = Values::between(0, i64::MAX);
        assert!(binary(BinaryOp::Add, &big, &Values::one(1)).1);
        assert!(!binary(BinaryOp::Sub, &big, &Values::one(1)).1);
        assert!(unary(UnaryOp::Neg, &Values::any()).1);
        assert!(!unary(UnaryOp::Neg, &big).1);
    }

    #[test]
    fn unions_touch() {
        let values = Values::between(4, 6).union(Values::between(1, 3));
        assert_eq!(values, Values::between(1, 6));
        assert_eq!(values.single(), None);
        assert_eq!(Values::one(9).single(), Some(9));
    }
}
