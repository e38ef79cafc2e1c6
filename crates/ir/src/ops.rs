//! What the operators compute: one definition for the interpreter, for constant folding in front
//! ends, and for the tests of generated code. Reals travel as their bits in a 64-bit integer.

use crate::{BinaryOp, FaultKind, UnaryOp};

/// A fault with the value to blame.
pub type OpResult = Result<i64, (FaultKind, i64)>;

/// Applies an operator to one argument.
pub fn unary(op: UnaryOp, arg: i64) -> OpResult {
    let real = || f64::from_bits(arg as u64);
    match op {
        UnaryOp::Neg => arg.checked_neg().ok_or((FaultKind::Overflow, arg)),
        UnaryOp::Not => Ok(i64::from(arg == 0)),
        UnaryOp::BitNot => Ok(!arg),
        UnaryOp::RealNeg => finite(-real()),
        UnaryOp::ToReal => finite(arg as f64),
        UnaryOp::Sqrt => finite(real().sqrt()),
        UnaryOp::Sin => finite(real().sin()),
        UnaryOp::Cos => finite(real().cos()),
        UnaryOp::Tan => finite(real().tan()),
        UnaryOp::Asin => finite(real().asin()),
        UnaryOp::Acos => finite(real().acos()),
        UnaryOp::Atan => finite(real().atan()),
        UnaryOp::Sinh => finite(real().sinh()),
        UnaryOp::Cosh => finite(real().cosh()),
        UnaryOp::Tanh => finite(real().tanh()),
        UnaryOp::Log10 => finite(real().log10()),
        UnaryOp::Exp => finite(real().exp()),
        UnaryOp::Log => finite(real().ln()),
        UnaryOp::RealAbs => finite(real().abs()),
        UnaryOp::Floor => finite(real().floor()),
        UnaryOp::Ceil => finite(real().ceil()),
        UnaryOp::Truncate => truncate(real()),
    }
}

/// Applies an operator to two arguments.
pub fn binary(op: BinaryOp, left: i64, right: i64) -> OpResult {
    let overflow = (FaultKind::Overflow, left);
    let reals = || (f64::from_bits(left as u64), f64::from_bits(right as u64));
    let real = |f: fn(f64, f64) -> f64| {
        let (a, b) = reals();
        finite(f(a, b))
    };
    let truth = |b: bool| Ok(i64::from(b));
    match op {
        BinaryOp::Add => left.checked_add(right).ok_or(overflow),
        BinaryOp::Sub => left.checked_sub(right).ok_or(overflow),
        BinaryOp::Mul => left.checked_mul(right).ok_or(overflow),
        BinaryOp::Div | BinaryOp::Rem if right == 0 => Err((FaultKind::DivisionByZero, left)),
        BinaryOp::Div => left.checked_div(right).ok_or(overflow),
        BinaryOp::Rem => Ok(left.wrapping_rem(right)),
        BinaryOp::BitAnd => Ok(left & right),
        BinaryOp::BitOr => Ok(left | right),
        BinaryOp::BitXor => Ok(left ^ right),
        BinaryOp::Shl => Ok(shift_left(left, right)),
        BinaryOp::Shr => Ok(shift_left(left, right.saturating_neg())),
        BinaryOp::Eq => truth(left == right),
        BinaryOp::Ne => truth(left != right),
        BinaryOp::Lt => truth(left < right),
        BinaryOp::Le => truth(left <= right),
        BinaryOp::RealAdd => real(|a, b| a + b),
        BinaryOp::RealSub => real(|a, b| a - b),
        BinaryOp::RealMul => real(|a, b| a * b),
        BinaryOp::RealDiv | BinaryOp::RealRem if reals().1 == 0.0 => {
            Err((FaultKind::DivisionByZero, left))
        }
        BinaryOp::RealDiv => real(|a, b| a / b),
        BinaryOp::RealRem => real(|a, b| a % b),
        BinaryOp::RealPow => real(f64::powf),
        BinaryOp::RealEq => truth(reals().0 == reals().1),
        BinaryOp::RealNe => truth(reals().0 != reals().1),
        BinaryOp::RealLt => truth(reals().0 < reals().1),
        BinaryOp::RealLe => truth(reals().0 <= reals().1),
    }
}

/// A negative distance shifts to the right; nothing is left after 64 bits, in either direction.
fn shift_left(value: i64, distance: i64) -> i64 {
    match distance {
        0..=63 => value << distance,
        -63..=-1 => value >> -distance,
        _ => 0,
    }
}

/// A real as it travels. Zero has one form only, so that equal states are equal bit by bit.
pub fn finite(value: f64) -> OpResult {
    let value = if value == 0.0 { 0.0 } else { value };
    let bits = value.to_bits() as i64;
    if value.is_finite() { Ok(bits) } else { Err((FaultKind::Overflow, bits)) }
}

fn truncate(value: f64) -> OpResult {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0; // 2^63, exactly representable
    let whole = value.trunc();
    if (-LIMIT..LIMIT).contains(&whole) {
        Ok(whole as i64)
    } else {
        Err((FaultKind::Overflow, value.to_bits() as i64))
    }
}
