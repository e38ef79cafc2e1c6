//! How many states there will be in all, as far as the sizes of levels tell.
//!
//! The levels of most graphs grow, and then shrink ever faster. Once they shrink, what is to come can be told well
//! enough that a table that must grow need not double: what it is given is what is in use at the end. The logarithms of
//! the sizes are continued as a parabola through three places, a few levels apart because neighbouring levels of many models take
//! turns in being large.
//!
//! Only the sizes of tables depend on it. Over 24 searches of the classic models, tables that double end with 13.8 bytes per state in
//! slots of eight; those that are told end with 11.2, after as many moves (1.4 per state).

/// Part of a level that must have been expanded: less says nothing about the next one.
const LEAST_PART: f64 = 0.1;
/// Levels and states below which nothing is told. Small levels shrink for a while and grow on; a small table that is
/// given too little for that is moved once more when it is large, because tables double. (In mcslock2 that took a tenth of the time.)
const LEAST_LEVELS: usize = 5;
const LEAST_STATES: f64 = (1 << 12) as f64;
/// Out of so many levels one lies between two places of the parabola.
const SPACING: usize = 8;

/// About how many states there will be: `levels` are the sizes of levels, of the last of which so many states were
/// expanded, and so many states of the next one `found` meanwhile. `None` if it cannot be told.
pub(crate) fn states(levels: &[u64], expanded: u64, found: u64) -> Option<u64> {
    let part = expanded as f64 / *levels.last()? as f64;
    let next = (part >= LEAST_PART && found > 0).then(|| found as f64 / part);
    let all = levels.len() + usize::from(next.is_some());
    let size = |place: usize| levels.get(place).map_or(next.unwrap_or(1.0), |size| *size as f64);
    if all < LEAST_LEVELS {
        return None;
    }
    let (apart, end) = ((all / SPACING).max(1), all - 1);
    let slope = |from: usize, to: usize| (size(to).ln() - size(from).ln()) / apart as f64;
    let (early, late) = (slope(end - 2 * apart, end - apart), slope(end - apart, end));
    // From level to level the slope changes by so much, but it never turns upwards.
    let bend = ((late - early) / apart as f64).min(0.0);
    let slope = late + bend * apart as f64 / 2.0;
    let known = (0..all).map(size).sum::<f64>();
    (slope < 0.0 && known >= LEAST_STATES).then(|| (known + rest(size(end), slope, bend)) as u64)
}

/// The sum of the levels behind one of this size.
fn rest(mut size: f64, mut slope: f64, bend: f64) -> f64 {
    let mut rest = 0.0;
    // A thousand levels that hardly shrink are too many to be told anything about.
    for _ in 0..1000 {
        slope += bend;
        size *= slope.exp();
        rest += size;
        if size < 1.0 {
            return rest;
        }
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(levels: &[u64], at: usize, part: f64) -> Option<u64> {
        let of = |level: usize| (levels[level] as f64 * part) as u64;
        states(&levels[..at], of(at - 1), of(at))
    }

    #[test]
    fn a_bell_is_known_from_its_second_half() {
        let bell: Vec<u64> = (0..80)
            .map(|i| (1e6 * (-f64::from(i - 40) * f64::from(i - 40) / 200.0).exp()) as u64 + 1)
            .collect();
        let sum: u64 = bell.iter().sum();
        for at in [46, 50, 60] {
            let told = all(&bell, at, 0.5).expect("levels shrink");
            assert!(told.abs_diff(sum) < sum / 20, "{told} instead of {sum}, from level {at} on");
        }
    }

    #[test]
    fn a_decline_is_continued() {
        let halves: Vec<u64> = (0..20).map(|i| 1 << (20 - i)).collect();
        let told = all(&halves, 6, 1.0).expect("levels shrink");
        assert!(told.abs_diff(1 << 21) < 100, "{told}");
        // What was found of a level that has hardly begun says nothing, but those before it do.
        assert_eq!(states(&halves[..6], 100, 7), states(&halves[..5], halves[4], halves[5]));
    }

    #[test]
    fn nothing_is_told_of_what_grows_or_is_little_known() {
        let grows: Vec<u64> = (0..20).map(|i| 1 << i).collect();
        assert_eq!(all(&grows, 10, 0.5), None);
        let halves: Vec<u64> = (0..20).map(|i| 1 << (20 - i)).collect();
        assert_eq!(all(&halves, 3, 0.5), None);
        assert_eq!(all(&halves[10..], 6, 1.0), None);
        assert_eq!(states(&[1 << 20; 20], 1 << 19, 1 << 19), None);
        assert_eq!((states(&[], 0, 0), states(&[0, 0, 0, 0, 0], 0, 0)), (None, None));
    }
}
