//! Rounding of reals when they are stored.
//!
//! What counts is the number itself, not what is nearest to it in binary: it is rounded to so many
//! decimal digits exactly, half to even, and the result is the double nearest to that decimal number.
//! [`by_text`] says what that means, by way of the standard library's formatter and parser. [`scaled`] does
//! the same without text where the power of ten between the number and an integer of that many digits is
//! itself a double: then one multiplication or division leads there, off by a rounding error that matters only
//! halfway between two integers and can be computed exactly, and another one leads back (Clinger, *How to read
//! floating point numbers accurately*, 1990).

/// Powers of ten that are doubles exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// So many digits survive the way through a double: what is rounded to them stays what it is when it is
/// rounded again.
pub const MOST_DIGITS: u32 = 15;

/// Rounds to `digits` significant decimal digits; `None` if the decimal exponent is larger than
/// `exponent`. Numbers too small for the exponent become zero.
pub fn store(value: f64, digits: u32, exponent: u32) -> Option<f64> {
    if value == 0.0 || !value.is_finite() {
        return value.is_finite().then_some(0.0);
    }
    let digits = digits.clamp(1, 17);
    let (rounded, power) = scaled(value, digits).or_else(|| by_text(value, digits))?;
    if power > i64::from(exponent) {
        return None;
    }
    Some(if power < -i64::from(exponent) || rounded == 0.0 { 0.0 } else { rounded })
}

/// A number rounded, and its decimal exponent then.
fn by_text(value: f64, digits: u32) -> Option<(f64, i64)> {
    let behind = digits as usize - 1;
    let text = format!("{value:.behind$e}");
    Some((text.parse().ok()?, text.split('e').nth(1)?.parse().ok()?))
}

/// The same, for numbers that are neither very large nor very small and not many digits.
fn scaled(value: f64, digits: u32) -> Option<(f64, i64)> {
    if digits > MOST_DIGITS {
        return None;
    }
    let (least, most) = (POWERS[digits as usize - 1], POWERS[digits as usize]);
    let magnitude = value.abs();
    // The decimal exponent, or one less: log10(2) is 1233 / 4096 and a little more.
    let binary = (magnitude.to_bits() >> 52) as i64 - 1023;
    let mut power = (binary * 1233) >> 12;
    let mut shift = i64::from(digits) - 1 - power;
    let mut number = shifted(magnitude, shift)?;
    if number >= most {
        (power, shift) = (power + 1, shift - 1);
        number = shifted(magnitude, shift)?;
    }
    if !(least..most).contains(&number) {
        return None;
    }
    let whole = number as i64;
    let over = number - whole as f64 - 0.5; // exact: `number` has at most fifteen digits before the point
    let up = if over == 0.0 { is_past_half(magnitude, number, shift, whole) } else { over > 0.0 };
    let integer = (whole + i64::from(up)) as f64;
    let power_then = power + i64::from(integer == most);
    // An integer below 2⁵³ and an exact power of ten: the result is the nearest double.
    let by = POWERS[shift.unsigned_abs() as usize];
    let rounded = if shift >= 0 { integer / by } else { integer * by };
    Some((rounded.copysign(value), power_then))
}

/// `magnitude · 10^shift`, rounded.
fn shifted(magnitude: f64, shift: i64) -> Option<f64> {
    let by = *POWERS.get(shift.unsigned_abs() as usize)?;
    Some(if shift >= 0 { magnitude * by } else { magnitude / by })
}

/// Whether a number whose rounded multiple is half an integer more than `whole` is rounded up: the
/// rounding may have taken something away, or added it.
#[cold]
fn is_past_half(magnitude: f64, number: f64, shift: i64, whole: i64) -> bool {
    let by = POWERS[shift.unsigned_abs() as usize];
    let lost =
        if shift >= 0 { magnitude.mul_add(by, -number) } else { (-number).mul_add(by, magnitude) };
    lost > 0.0 || lost == 0.0 && whole % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::{POWERS, by_text, scaled, store};
    use proptest::prelude::*;

    #[test]
    fn rounds_to_significant_digits() {
        assert_eq!(store(1234.56, 4, 99), Some(1235.0));
        assert_eq!(store(-0.001_234_56, 3, 99), Some(-0.001_23));
        assert_eq!(store(9_999.7, 4, 99), Some(10_000.0));
        assert_eq!(store(1e10, 4, 9), None);
        assert_eq!(store(1e-10, 4, 9), Some(0.0));
        assert_eq!(store(-0.0, 4, 9).map(f64::to_bits), Some(0));
    }

    /// Numbers as models have them: with few digits or many, near and far from where rounding turns,
    /// and any.
    fn numbers() -> impl Strategy<Value = f64> {
        let few = (-1_000_000_i64..1_000_000, 0..12_usize);
        let few = few.prop_map(|(digits, shift)| digits as f64 / POWERS[shift]);
        let half = (1_u64..100_000, 0..20_usize, -3_i64..=3).prop_map(|(digits, shift, by)| {
            let half = (digits as f64 + 0.5) / POWERS[shift];
            f64::from_bits((half.to_bits() as i64 + by) as u64)
        });
        let power = (0..23_usize, -3_i64..=3, any::<bool>()).prop_map(|(power, by, below)| {
            let power = if below { 1.0 / POWERS[power] } else { POWERS[power] };
            f64::from_bits((power.to_bits() as i64 + by) as u64)
        });
        prop_oneof![few, half, power, any::<f64>()]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn fast_rounding_is_exact(value in numbers(), digits in 1_u32..=15) {
            prop_assume!(value.is_finite() && value != 0.0);
            if let Some((rounded, power)) = scaled(value, digits) {
                let (exact, exact_power) = by_text(value, digits).unwrap();
                prop_assert_eq!((rounded.to_bits(), power), (exact.to_bits(), exact_power));
            }
        }
    }

    #[test]
    fn usual_numbers_are_rounded_fast() {
        for value in [1.0, -1.0, 9.99995, 2000.0, 0.1 * 552.0, 1e15, 1e-15, 1234.5, 99_999.5] {
            assert!(scaled(value, 4).is_some(), "{value}");
        }
    }
}
