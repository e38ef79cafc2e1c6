//! Intervals of integers: what saves overflow, range and index checks.

use ergodic_ir::{BinaryOp, ScalarType, UnaryOp};

/// An inclusive interval of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub lo: i64,
    pub hi: i64,
}

impl Range {
    pub(crate) const FULL: Range = Range { lo: i64::MIN, hi: i64::MAX };
    pub(crate) const TRUTH: Range = Range { lo: 0, hi: 1 };

    pub(crate) fn one(value: i64) -> Range {
        Range { lo: value, hi: value }
    }

    pub(crate) fn hull(self, other: Range) -> Range {
        Range { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    pub(crate) fn within(self, lo: i64, hi: i64) -> bool {
        lo <= self.lo && self.hi <= hi
    }

    pub(crate) fn has(self, value: i64) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// The single value, if there is only one.
    pub(crate) fn constant(self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// The smallest interval that holds all codes of a type.
    pub(crate) fn of(scalar: &ScalarType) -> Range {
        let lo = scalar.intervals.iter().map(|i| i.0).min().unwrap_or(i64::MIN);
        let hi = scalar.intervals.iter().map(|i| i.1).max().unwrap_or(i64::MAX);
        Range { lo, hi }
    }

    /// Whether every code of the interval belongs to the type.
    pub(crate) fn fits(self, scalar: &ScalarType) -> bool {
        scalar.intervals.iter().any(|(lo, hi)| self.within(*lo, *hi))
    }

    /// Whether values are equal, if their intervals say so.
    fn equal(a: Range, b: Range) -> Option<bool> {
        match (a.constant(), b.constant()) {
            (Some(x), Some(y)) => Some(x == y),
            _ if a.hi < b.lo || b.hi < a.lo => Some(false),
            _ => None,
        }
    }

    /// Whether one value is less than another, if their intervals say so.
    fn below(a: Range, b: Range) -> Option<bool> {
        if a.hi < b.lo {
            Some(true)
        } else if a.lo >= b.hi {
            Some(false)
        } else {
            None
        }
    }

    fn wide(lo: i128, hi: i128) -> (Range, bool) {
        match (i64::try_from(lo), i64::try_from(hi)) {
            (Ok(lo), Ok(hi)) => (Range { lo, hi }, false),
            _ => (Range::FULL, true),
        }
    }

    /// Interval of a result, and whether the operation can fault.
    pub(crate) fn unary(op: UnaryOp, arg: Range) -> (Range, bool) {
        match op {
            UnaryOp::Neg => Range::wide(-i128::from(arg.hi), -i128::from(arg.lo)),
            UnaryOp::Not => (Range::TRUTH, false),
            UnaryOp::BitNot => (Range { lo: !arg.hi, hi: !arg.lo }, false),
            UnaryOp::ToReal => {
                // Reals travel as their bits.
                let bits = arg.constant().map(|value| (value as f64).to_bits() as i64);
                (bits.map_or(Range::FULL, Range::one), false)
            }
            _ => (Range::FULL, true),
        }
    }

    /// Interval of a result, and whether the operation can fault.
    pub(crate) fn binary(op: BinaryOp, a: Range, b: Range) -> (Range, bool) {
        let (al, ah, bl, bh) =
            (i128::from(a.lo), i128::from(a.hi), i128::from(b.lo), i128::from(b.hi));
        match op {
            BinaryOp::Add => Range::wide(al + bl, ah + bh),
            BinaryOp::Sub => Range::wide(al - bh, ah - bl),
            BinaryOp::Mul => {
                let corners = [al * bl, al * bh, ah * bl, ah * bh];
                let lo = corners.iter().copied().min().unwrap_or(0);
                let hi = corners.iter().copied().max().unwrap_or(0);
                Range::wide(lo, hi)
            }
            BinaryOp::Div => {
                let most = al.abs().max(ah.abs());
                let lo = if al >= 0 && bl >= 0 { 0 } else { -most };
                let (range, overflow) = Range::wide(lo, most);
                (range, b.has(0) || (overflow && b.has(-1) && a.has(i64::MIN)))
            }
            BinaryOp::Rem => {
                let most = al.abs().max(ah.abs()).min(bl.abs().max(bh.abs()) - 1).max(0);
                let (lo, hi) = (if al < 0 { -most } else { 0 }, if ah > 0 { most } else { 0 });
                (Range::wide(lo, hi).0, b.has(0))
            }
            BinaryOp::BitAnd => match (a.lo >= 0, b.lo >= 0) {
                (true, true) => (Range { lo: 0, hi: a.hi.min(b.hi) }, false),
                (true, false) => (Range { lo: 0, hi: a.hi }, false),
                (false, true) => (Range { lo: 0, hi: b.hi }, false),
                (false, false) => (Range::FULL, false),
            },
            BinaryOp::BitOr | BinaryOp::BitXor if a.lo >= 0 && b.lo >= 0 => {
                let bits = 64 - (a.hi.max(b.hi) as u64).leading_zeros();
                let hi = if bits >= 63 { i64::MAX } else { (1 << bits) - 1 };
                (Range { lo: 0, hi }, false)
            }
            BinaryOp::BitOr | BinaryOp::BitXor => (Range::FULL, false),
            BinaryOp::Shl => {
                let safe = b.within(0, 63);
                let (range, lost) = if safe && a.lo >= 0 {
                    Range::wide(al << bl, ah.checked_shl(b.hi as u32).unwrap_or(i128::MAX))
                } else {
                    (Range::FULL, true)
                };
                (if lost { Range::FULL } else { range }, false)
            }
            BinaryOp::Shr if b.lo < 0 => (Range::FULL, false),
            BinaryOp::Shr => (Range { lo: a.lo.min(0), hi: a.hi.max(0) }, false),
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le => {
                let known = match op {
                    BinaryOp::Eq => Range::equal(a, b),
                    BinaryOp::Ne => Range::equal(a, b).map(|equal| !equal),
                    BinaryOp::Lt => Range::below(a, b),
                    _ => Range::below(b, a).map(|above| !above),
                };
                (known.map_or(Range::TRUTH, |truth| Range::one(i64::from(truth))), false)
            }
            BinaryOp::RealEq | BinaryOp::RealNe | BinaryOp::RealLt | BinaryOp::RealLe => {
                (Range::TRUTH, false)
            }
            BinaryOp::RealAdd
            | BinaryOp::RealSub
            | BinaryOp::RealMul
            | BinaryOp::RealDiv
            | BinaryOp::RealRem
            | BinaryOp::RealPow => (Range::FULL, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ergodic_ir::ops;

    /// Every result of every operator lies in the interval, and no fault is forgotten.
    #[test]
    fn intervals_hold_all_results() {
        let edges =
            [i64::MIN, i64::MIN + 1, -65, -3, -1, 0, 1, 2, 5, 63, 64, i64::MAX - 1, i64::MAX];
        let int_ops = [
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Div,
            BinaryOp::Rem,
            BinaryOp::BitAnd,
            BinaryOp::BitOr,
            BinaryOp::BitXor,
            BinaryOp::Shl,
            BinaryOp::Shr,
            BinaryOp::Eq,
            BinaryOp::Ne,
            BinaryOp::Lt,
            BinaryOp::Le,
        ];
        let ranges: Vec<Range> = edges
            .iter()
            .flat_map(|lo| {
                edges.iter().filter(move |hi| lo <= hi).map(|hi| Range { lo: *lo, hi: *hi })
            })
            .collect();
        let inside = |r: Range| edges.into_iter().filter(move |v| r.has(*v));
        for a in &ranges {
            for op in [UnaryOp::Neg, UnaryOp::Not, UnaryOp::BitNot] {
                let (range, faults) = Range::unary(op, *a);
                for x in inside(*a) {
                    match ops::unary(op, x) {
                        Ok(value) => assert!(range.has(value), "{op:?} {a:?} {x}"),
                        Err(_) => assert!(faults, "{op:?} {a:?} {x}"),
                    }
                }
            }
            for b in &ranges {
                for op in int_ops {
                    let (range, faults) = Range::binary(op, *a, *b);
                    for x in inside(*a) {
                        for y in inside(*b) {
                            match ops::binary(op, x, y) {
                                Ok(value) => {
                                    assert!(range.has(value), "{op:?} {a:?} {b:?} {x} {y}");
                                }
                                Err(_) => assert!(faults, "{op:?} {a:?} {b:?} {x} {y}"),
                            }
                        }
                    }
                }
            }
        }
    }
}
