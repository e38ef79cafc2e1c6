//! Rounding of reals when they are stored.

/// Rounds to `digits` significant decimal digits; `None` if the decimal exponent is larger than
/// `exponent`. Numbers too small for the exponent become zero.
pub fn store(value: f64, digits: u32, exponent: u32) -> Option<f64> {
    if value == 0.0 || !value.is_finite() {
        return value.is_finite().then_some(0.0);
    }
    // Shortest correct way to decimal rounding: the formatter rounds exactly, half to even.
    let digits = digits.clamp(1, 17) as usize - 1;
    let text = format!("{value:.digits$e}");
    let rounded: f64 = text.parse().ok()?;
    let power: i64 = text.split('e').nth(1)?.parse().ok()?;
    if power > i64::from(exponent) {
        return None;
    }
    Some(if power < -i64::from(exponent) || rounded == 0.0 { 0.0 } else { rounded })
}

#[cfg(test)]
mod tests {
    use super::store;

    #[test]
    fn rounds_to_significant_digits() {
        assert_eq!(store(1234.56, 4, 99), Some(1235.0));
        assert_eq!(store(-0.001_234_56, 3, 99), Some(-0.001_23));
        assert_eq!(store(9_999.7, 4, 99), Some(10_000.0));
        assert_eq!(store(1e10, 4, 9), None);
        assert_eq!(store(1e-10, 4, 9), Some(0.0));
        assert_eq!(store(-0.0, 4, 9).map(f64::to_bits), Some(0));
    }
}
