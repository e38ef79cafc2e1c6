//! The number-crunching that is ours: how much memory Murphi needs, how a stopped search is marked,
//! ratios and averages, and how numbers are written.

use crate::printed::Mark;

/// Bytes of a packed state in Murphi: whole bytes, rounded up to words of four.
pub fn state_bytes(bits: u64) -> u64 {
    bits.div_ceil(8).div_ceil(4) * 4
}

/// M(p) in bytes with bit compression: the least memory in which Murphi holds `states` states of
/// `bytes` bytes and a queue of `queue`.
///
/// Murphi 3.1 makes room for N states and g N places in its queue (g is `gPercentActive`); a state takes
/// its bytes and a word of overhead, a place in the queue takes a pointer, and words are of four
/// bytes: M = N (bytes + 4 + 4 g). The least M has N = states and g N = longest queue. Printed figures
/// come out with that to the kilobyte.
pub fn least_memory(states: u64, bytes: u64, queue: u64) -> u64 {
    states * (bytes + 4) + 4 * queue
}

/// M(p) in bytes with 40 bits of hash compaction: five bytes per state and no overhead.
pub fn least_memory_compacted(states: u64, queue: u64) -> u64 {
    states * 5 + 4 * queue
}

/// The entries of a cache with the part `alpha` of M(p): M(p) holds just the reachable states, so
/// it is that part of them.
pub fn entries(alpha: f64, states: u64) -> u64 {
    ((alpha * states as f64).round() as u64).max(1)
}

/// The collision rate of a cache of n entries after n different states, if each of them tries so many
/// random entries for a free one before it overwrites one of them: 1 − x, where x is the share of entries
/// taken, dx/dt = 1 − x^tries and t = 1.
pub fn chain_collisions(tries: i32) -> f64 {
    const STEPS: u32 = 20_000;
    let mut taken = 0.0f64;
    for _ in 0..STEPS {
        taken += (1.0 - taken.powi(tries)) / f64::from(STEPS);
    }
    1.0 - taken
}

/// Kilobytes, rounded up as one has to.
pub fn kilobytes(bytes: u64) -> u64 {
    bytes.div_ceil(1024)
}

/// The mark of a search with a cache that was stopped at `depth` in a system of this diameter.
///
/// A state that such a search finds in its level d is reachable in d steps, and all states that are so are
/// found by the end of level d (forgetting makes states come again, not stay away). So when it was stopped
/// while finding states of level d, it had visited all states of the first d − 1 levels, and none that is
/// deeper than d.
pub fn mark(ended: bool, depth: u64, diameter: u64) -> Mark {
    match depth.cmp(&diameter) {
        _ if ended => Mark::Ended,
        std::cmp::Ordering::Less => Mark::StoppedPart,
        std::cmp::Ordering::Equal => Mark::StoppedLast,
        std::cmp::Ordering::Greater => Mark::StoppedAll,
    }
}

/// The mean, if there is something to average.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The largest.
pub fn largest(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

/// The geometric mean of positive values.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>()).map(f64::exp)
}

/// The mean and the half of its 90 % interval, by the normal approximation.
pub fn mean_with_interval(values: &[f64]) -> Option<(f64, f64)> {
    let mean = mean(values)?;
    let n = values.len() as f64;
    if n < 2.0 {
        return None;
    }
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some((mean, 1.645 * (square / n).sqrt()))
}

/// Ours as a multiple of the printed figure; 1 where both are zero.
pub fn ratio(ours: f64, printed: f64) -> Option<f64> {
    if ours == 0.0 && printed == 0.0 {
        return Some(1.0);
    }
    (printed != 0.0 && ours.is_finite()).then(|| ours / printed)
}

/// A number in the significant digits of a printed one, so that both can be compared.
pub fn like(value: f64, printed: &str) -> String {
    let mantissa = printed.split(['e', 'E']).next().unwrap_or(printed);
    let digits = mantissa.trim_start_matches(['0', '.', '-']);
    let digits = digits.chars().filter(char::is_ascii_digit).count();
    // Trailing zeros are not printed, so a number may have fewer than the usual six digits.
    significant(value, digits.max(6))
}

/// A number in so many significant digits, without trailing zeros.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_string();
    }
    let power = value.abs().log10().floor() as i32;
    if !(-5..15).contains(&power) {
        let text = format!("{value:.*e}", digits.saturating_sub(1));
        return match text.split_once('e') {
            Some((mantissa, power)) => format!("{}e{power}", trimmed(mantissa)),
            None => text,
        };
    }
    let decimals = (digits as i32 - 1 - power).max(0) as usize;
    trimmed(&format!("{value:.decimals$}"))
}

fn trimmed(text: &str) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text.to_string()
    }
}

/// Whether a number is a printed one to its last digit (and to one unit there, for rounding).
pub fn agrees(value: f64, printed: &str) -> bool {
    let Ok(number) = printed.parse::<f64>() else { return false };
    let (mantissa, power) = printed.split_once('e').unwrap_or((printed, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, digits)| digits.len()) as i32;
    let unit = 10f64.powi(power.parse::<i32>().unwrap_or(0) - decimals);
    // At least six significant digits are meant, also where trailing zeros were dropped.
    let unit = unit.min(number.abs().max(1e-6) * 1e-5);
    (value - number).abs() <= unit
}

/// A whole number with separators.
pub fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number with three decimals, or a dash.
pub fn three(value: Option<f64>) -> String {
    value.map_or("–".to_string(), |value| format!("{value:.3}"))
}

/// A ratio with two decimals, or a dash.
pub fn times(value: Option<f64>) -> String {
    value.map_or("–".to_string(), |value| {
        if value.abs() < 0.01 { format!("{value:.4}") } else { format!("{value:.2}") }
    })
}

/// Per cent.
pub fn percent(value: f64) -> String {
    format!("{} %", significant(value * 100.0, 4))
}

/// Seconds.
pub fn seconds(value: f64) -> String {
    if value < 1.0 { format!("{:.1} ms", value * 1e3) } else { format!("{value:.2} s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::printed;

    /// The formula of M(p) against all rows of Fig. 4.
    #[test]
    fn the_memory_of_fig_4_follows_from_its_other_columns() {
        for row in printed::fig4() {
            let v: Vec<f64> = row.values.iter().map(|printed| printed.value).collect();
            let (bytes, states, queue) = (v[0] as u64, v[1] as u64, v[3] as u64);
            // Within a kilobyte or 0.1 %: M was found by trial with a rough g.
            let near = |ours: u64, printed: f64| {
                (ours as f64 / 1024.0 - printed).abs() <= (printed * 0.003).max(3.0)
            };
            assert!(near(least_memory(states, bytes, queue), v[5]), "{}", row.protocol);
            assert!(near(least_memory_compacted(states, queue), v[8]), "{}", row.protocol);
        }
    }

    #[test]
    fn states_take_whole_words() {
        assert_eq!([101, 1126, 62, 69, 18, 64, 65].map(state_bytes), [16, 144, 8, 12, 4, 8, 12]);
        assert_eq!(entries(0.6, 10_466), 6280);
        assert_eq!(entries(0.1, 1), 1);
        assert_eq!(kilobytes(1025), 2);
    }

    #[test]
    fn a_stopped_search_is_marked_by_its_depth() {
        assert_eq!(mark(true, 3, 9), Mark::Ended);
        assert_eq!(mark(false, 8, 9), Mark::StoppedPart);
        assert_eq!(mark(false, 9, 9), Mark::StoppedLast);
        assert_eq!(mark(false, 10, 9), Mark::StoppedAll);
    }

    #[test]
    fn digits_are_compared_as_printed() {
        assert!(agrees(0.927_840_2, "0.92784"));
        assert!(agrees(0.0, "0"));
        assert!(agrees(1.533_27e-5, "1.53327e-05"));
        assert!(!agrees(0.9197802, "0.958174"));
        assert!(!agrees(0.12305, "0.122"));
        assert_eq!(like(0.927_840_199_7, "0.92784"), "0.92784");
        assert_eq!(like(0.057_543_037_8, "0.057543"), "0.057543");
        assert_eq!(like(0.947_066_167, "0.94706599"), "0.94706617");
        assert_eq!(significant(1.533_27e-5, 6), "0.0000153327");
        assert_eq!(significant(3.2e-16, 3), "3.2e-16");
        assert_eq!(significant(0.0, 6), "0");
    }

    #[test]
    fn one_try_leaves_a_part_of_1_in_e() {
        assert!((chain_collisions(1) - (-1f64).exp()).abs() < 1e-4);
        assert!((0.05..0.07).contains(&chain_collisions(10)), "{}", chain_collisions(10));
        assert!((0.004..0.01).contains(&chain_collisions(100)), "{}", chain_collisions(100));
    }

    #[test]
    fn averages() {
        assert_eq!(mean(&[1.0, 2.0, 3.0]), Some(2.0));
        assert_eq!(mean(&[]), None);
        assert_eq!(largest(&[1.0, 3.0, 2.0]), Some(3.0));
        assert_eq!(geometric_mean(&[1.0, 4.0]), Some(2.0));
        assert_eq!(ratio(0.0, 0.0), Some(1.0));
        assert_eq!(ratio(1.0, 0.0), None);
        assert_eq!(mean_with_interval(&[1.0]), None);
        assert!(
            mean_with_interval(&[1.0, 3.0]).is_some_and(|(mean, half)| mean == 2.0 && half > 1.0)
        );
    }

    #[test]
    fn numbers_in_words() {
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(12), "12");
        assert_eq!(three(None), "–");
        assert_eq!(times(Some(1.005)), "1.00");
        assert_eq!(percent(0.00122), "0.122 %");
        assert_eq!(seconds(0.01234), "12.3 ms");
    }
}
