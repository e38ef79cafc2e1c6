//! How likely it is that hash compaction omits a state: the formulas of Stern and Dill, *Improved
//! probabilistic verification by hash compaction* (CHARME 1995), and what replaces them.
//!
//! Throughout, n states are entered into a table of m slots, each of which holds b bits, l = 2ᵇ; an
//! *omission* is a new state that is taken for another one because it meets its b bits on the way to
//! a free slot. The numbers in parentheses are those of the paper.
//!
//! * (5) [`formula_5`]: uniform hashing, comparisons taken as independent. The most exact one.
//! * (12) [`formula_12`]: the same with the expected number of comparisons in the exponent.
//! * (13) [`formula_13`]: a true upper bound, for uniform hashing.
//! * [`counted`]: a true upper bound for every layout of the table, from the comparisons that were
//!   made. (13) is its special case for uniform hashing. Tables of cache lines compare two to three
//!   times as often as (13) assumes, so for them only the counted bound is true.
//!
//! *In print*, the third term of the exponent of (12) is (2n + 2m − n²) / (12 (m+1) (m−n+1)²). Its
//! derivation from (10) and (11) gives 2n + 2mn − n² above the line, and that is used here: only with
//! it (13) is off by the 0.06 % and 21 % that the paper gives for full tables.
//!
//! All functions are total: states that do not fit (n > m) make omission certain.

use crate::universal::Random;

/// The largest number of states for which sums are taken term by term.
const TERM_BY_TERM: f64 = 4096.0;

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// 2^−bits, the probability that one comparison of different states finds them equal.
pub fn chance(bits: f64) -> f64 {
    (-bits).exp2()
}

/// The harmonic number H_n by (11), for a real n ≥ 0.
pub fn harmonic(n: f64) -> f64 {
    if n < 64.0 {
        // H(n) = H(n + k) − 1/(n+1) − … − 1/(n+k); (11) is good to 1e-10 from 64 on.
        let shift = 64;
        let terms: f64 = (1..=shift).map(|i| 1.0 / (n + f64::from(i))).sum();
        return harmonic(n + f64::from(shift)) - terms;
    }
    n.ln() + EULER + 1.0 / (2.0 * n) - 1.0 / (12.0 * n * n)
}

/// (10): the expected comparisons of n inserts in all, under uniform hashing:
/// (m+1)(H_{m+1} − H_{m−n+1}) − n.
pub fn expected_comparisons(n: f64, m: f64) -> f64 {
    if n.is_nan() || n <= 0.0 {
        return 0.0;
    }
    if n > m {
        return f64::INFINITY;
    }
    if n <= TERM_BY_TERM && n.fract() == 0.0 {
        // Without the cancellation of the closed form: the sum of (9).
        return (0..n as u32).map(|k| f64::from(k) / (m + 1.0 - f64::from(k))).sum();
    }
    ((m + 1.0) * (harmonic(m + 1.0) - harmonic(m - n + 1.0)) - n).max(0.0)
}

/// (5): the probability of an omission when n states enter, comparisons taken as independent. Takes
/// n² steps.
pub fn formula_5(n: u64, m: u64, bits: f64) -> f64 {
    if n > m {
        return 1.0;
    }
    let stays = 1.0 - chance(bits);
    let (slots, mut none) = (m as f64, 0.0);
    for k in 0..n {
        // Pr(C_k = j) by (1), each from the one before.
        let k = k as f64;
        let (mut j, mut probability, mut weight, mut sum) = (0.0, (slots - k) / slots, 1.0, 0.0);
        while j <= k && probability * weight > sum * 1e-18 {
            sum += weight * probability;
            probability *= (k - j) / (slots - j - 1.0);
            weight *= stays;
            j += 1.0;
        }
        none += sum.ln();
    }
    -none.exp_m1()
}

/// The exponent of (12): the expected comparisons with (11) for the harmonic numbers.
fn exponent_12(n: f64, m: f64) -> f64 {
    let left = m - n + 1.0;
    (m + 1.0) * (-(-n / (m + 1.0)).ln_1p()) - n / (2.0 * left)
        + (2.0 * n + 2.0 * m * n - n * n) / (12.0 * (m + 1.0) * left * left)
        - n
}

/// (12): the approximation of the probability of an omission that takes constant time. It is very
/// close to (5), and above it.
pub fn formula_12(n: f64, m: f64, bits: f64) -> f64 {
    if n.is_nan() || n <= 1.0 {
        return 0.0;
    }
    if n > m {
        return 1.0;
    }
    at_least_one(exponent_12(n, m).max(0.0), bits)
}

/// (13): the upper bound of the probability of an omission, for uniform hashing. May exceed 1.
pub fn formula_13(n: f64, m: f64, bits: f64) -> f64 {
    if n > m {
        return f64::INFINITY;
    }
    expected_comparisons(n, m) * chance(bits)
}

/// (14): the rule of thumb for a full table, m (ln m − 1) / 2ᵇ. It is too high by
/// 0.42 m / 2ᵇ: the sum (10) is m (ln m + γ − 2) for n = m.
pub fn formula_14(m: f64, bits: f64) -> f64 {
    m * (m.ln() - 1.0) * chance(bits)
}

/// The probability that at least one of so many independent comparisons errs: 1 − (1 − 2⁻ᵇ)^N.
pub fn at_least_one(comparisons: f64, bits: f64) -> f64 {
    -(comparisons * (-chance(bits)).ln_1p()).exp_m1()
}

/// Wolper and Leroy's formula: the probability that two of n values of b bits are equal. It is also
/// what holds where a state is known by its b bits alone, without a place of its own, as in files of
/// signatures.
pub fn wolper_leroy(n: f64, bits: f64) -> f64 {
    let values = bits.exp2();
    if n.is_nan() || n <= 1.0 {
        return 0.0;
    }
    if n > values {
        return 1.0;
    }
    if n <= TERM_BY_TERM {
        let none: f64 = (1..n.ceil() as u32).map(|i| (-f64::from(i) / values).ln_1p()).sum();
        return -none.exp_m1();
    }
    // ln of the product (1 − i/l), i < n, with the second term of the logarithm.
    let squares = (n - 1.0) * n * (2.0 * n - 1.0) / 6.0;
    let none = -n * (n - 1.0) / (2.0 * values) - squares / (2.0 * values * values);
    -none.exp_m1()
}

/// The bound from comparisons that were made: N / 2ᵇ, at most 1. The comparisons are those of
/// look-ups that ended in an insert.
///
/// It holds for every table and every order of look-ups, if the hash is strongly universal (see
/// [`crate::universal`]). What it is worth: N is observed in the run in question, so it is an
/// estimate of the expected number, with a relative error of about 1/√N.
pub fn counted(comparisons: f64, bits: f64) -> f64 {
    (comparisons * chance(bits)).min(1.0)
}

/// What remains of a bound when the check is made again with other seeds: the product.
pub fn with_reruns(bound: f64, runs: u32) -> f64 {
    bound.clamp(0.0, 1.0).powf(f64::from(runs))
}

/// Table 1: the bits (a real number) with which a *full* table of so many bytes has the omission
/// probability `omission` by (12). The number of slots follows from the bits.
pub fn bits_for_table(bytes: f64, omission: f64) -> f64 {
    let excess = |bits: f64| {
        let slots = bytes * 8.0 / bits;
        formula_12(slots, slots, bits) - omission
    };
    solve(excess, 1.0, 256.0)
}

/// The bits (a real number) with which n states in m slots have the omission probability `omission`
/// by (12).
pub fn bits_for(n: f64, m: f64, omission: f64) -> f64 {
    solve(|bits| formula_12(n, m, bits) - omission, 0.0, 256.0)
}

/// The zero of a falling function between `low` and `high`.
fn solve(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if f(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The expected comparisons *per insert*, averaged from an empty table to one with the share `load`
/// of its slots taken, where a new state goes to a random line of `per_line` slots and on to another
/// random one as long as the line is full. It is what `CompactStore` does; (9) is the case
/// of one slot per line.
pub fn line_comparisons(per_line: usize, load: f64) -> f64 {
    let slots = per_line.max(1);
    let load = load.clamp(0.0, 1.0 - 1e-9);
    // The share of lines with i slots taken, for large tables: every insert ends in a random line
    // among those that are not full.
    let mut share = vec![0.0; slots + 1];
    share[0] = 1.0;
    let steps = 400 * slots;
    let step = load * slots as f64 / steps as f64; // inserts per line
    let mut sum = 0.0;
    for _ in 0..steps {
        let open = 1.0 - share[slots];
        let taken: f64 = (0..slots).map(|i| i as f64 * share[i]).sum();
        sum += taken / open + slots as f64 * share[slots] / open;
        for i in (0..slots).rev() {
            let moved = (step / open * share[i]).min(share[i]);
            share[i] -= moved;
            share[i + 1] += moved;
        }
    }
    sum / steps as f64
}

/// How a slot is looked for in [`first_omissions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probing {
    /// All orders of slots are equally likely: what the formulas assume.
    Uniform,
    /// Steps of equal size from a random slot; m should be a prime number.
    Double,
}

/// The simulation of the paper's Figs. 2 and 3: `runs` times, random states enter a table of `m` slots
/// of `bits` bits until the first omission or until the table is full. Returns for each k from 0 to
/// below m in how many runs the first omission happened to state k + 1, so that the sum over k < n is
/// the number of runs with an omission among n states, for all n at once.
pub fn first_omissions(m: usize, bits: u32, runs: u64, probing: Probing, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    let mut first = vec![0; m];
    let mut table = vec![Slot::default(); m];
    for run in 1..=runs {
        for (k, count) in first.iter_mut().enumerate() {
            let value = random.bits() >> (64 - bits.clamp(1, 64));
            let omitted = match probing {
                Probing::Uniform => enter_uniformly(&mut table, run, k as u64, value, &mut random),
                Probing::Double => enter_by_steps(&mut table, run, value, &mut random),
            };
            if omitted {
                *count += 1;
                break;
            }
        }
    }
    first
}

/// A slot of the simulation.
#[derive(Clone, Copy, Default)]
struct Slot {
    value: u64,
    /// The run in which it was taken.
    run: u64,
    /// The run and the state that probed it last.
    probe: (u64, u64),
}

/// Enters a value; returns whether it met an equal one. There must be a free slot.
fn enter_uniformly(table: &mut [Slot], run: u64, k: u64, value: u64, random: &mut Random) -> bool {
    loop {
        let slot = &mut table[random.below(table.len() as u64) as usize];
        if slot.probe == (run, k) {
            continue; // an order of slots has no slot twice
        }
        slot.probe = (run, k);
        if slot.run != run {
            (slot.run, slot.value) = (run, value);
            return false;
        }
        if slot.value == value {
            return true;
        }
    }
}

fn enter_by_steps(table: &mut [Slot], run: u64, value: u64, random: &mut Random) -> bool {
    let len = table.len();
    let mut at = random.below(len as u64) as usize;
    let mut step = 1 + random.below(len as u64 - 1) as usize;
    for probe in 0.. {
        let slot = &mut table[at];
        if slot.run != run {
            (slot.run, slot.value) = (run, value);
            break;
        }
        if slot.value == value {
            return true;
        }
        if probe == len {
            step = 1; // the steps run in a circle: m is no prime number
        }
        at = (at + step) % len;
    }
    false
}

/// The interval in which the true probability lies with 90 % confidence if `hits` out of `runs` runs
/// hit (Wilson's score interval).
pub fn confidence_90(hits: u64, runs: u64) -> (f64, f64) {
    const Z: f64 = 1.644_853_626_951_472_7;
    if runs == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (runs as f64, hits as f64 / runs as f64);
    let middle = p + Z * Z / (2.0 * n);
    let spread = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    (((middle - spread) / scale).max(0.0), ((middle + spread) / scale).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, relative: f64) -> bool {
        (a - b).abs() <= relative * b.abs()
    }

    #[test]
    fn the_numbers_of_the_abstract() {
        // 80 million states, 5 bytes: less than 0.13 %; twice: less than 1.69e-6.
        let full = formula_12(80e6, 80e6, 40.0);
        assert!(full < 0.0013 && close(full, 0.001_22, 0.001), "{full}");
        assert!(with_reruns(full, 2) < 1.69e-6);
        // (13) is off by 0.06 % there, with (11) for H_1 as in (12); with H_1 = 1 by 0.02 %.
        let off = |bound: f64| format!("{:.2}", (bound / full - 1.0) * 100.0);
        assert_eq!(off(exponent_12(80e6, 80e6) * chance(40.0)), "0.06");
        assert_eq!(off(formula_13(80e6, 80e6, 40.0)), "0.02");
        // Not with the third term as printed: it is wrong by n / 6 in a full table.
        let printed = at_least_one(exponent_12(80e6, 80e6) - 80e6 / 6.0, 40.0);
        assert!(formula_13(80e6, 80e6, 40.0) / printed > 1.01);
    }

    #[test]
    fn the_numbers_of_section_4() {
        // 100 million states, 4 bytes: below 33 %, and (13) is off by 21 %.
        let full = formula_12(100e6, 100e6, 32.0);
        assert!(full < 0.33 && full > 0.32, "{full}");
        let bound = formula_13(100e6, 100e6, 32.0);
        assert_eq!(format!("{:.0}", (bound / full - 1.0) * 100.0), "21");
        // "4-byte compression until the table exceeds roughly 700 million bytes" at 50 %.
        let slots = 700e6 / 4.0;
        assert!(close(formula_12(slots, slots, 32.0), 0.5, 0.05));
    }

    #[test]
    fn table_1_to_the_digit() {
        let sizes = [100e6, 200e6, 500e6, 1e9, 2e9, 5e9, 10e9];
        let rows = [
            (0.001, "38.2 39.3 40.6 41.6 42.6 44.0 45.0"),
            (0.01, "35.0 36.1 37.4 38.4 39.4 40.8 41.8"),
            (0.1, "31.8 32.8 34.2 35.2 36.2 37.5 38.5"),
            (0.5, "29.2 30.2 31.6 32.6 33.6 34.9 35.9"),
            (0.99, "26.6 27.6 29.0 30.0 31.0 32.3 33.3"),
        ];
        for (omission, printed) in rows {
            let ours: Vec<String> =
                sizes.iter().map(|b| format!("{:.1}", bits_for_table(*b, omission))).collect();
            assert_eq!(ours.join(" "), printed, "{omission}");
        }
    }

    #[test]
    fn the_formulas_agree_with_each_other() {
        for n in (19..=199).step_by(20) {
            let (five, twelve) = (formula_5(n, 199, 10.0), formula_12(n as f64, 199.0, 10.0));
            let thirteen = formula_13(n as f64, 199.0, 10.0);
            // "Always bigger", "relative errors smaller than 0.8 %": both are that close to a third.
            assert!(five <= twelve && close(five, twelve, 0.016), "{n}: {five} {twelve}");
            // With less than one comparison expected, (12) is above (13): by the factor 1 + 1 / 2l.
            assert!(twelve <= thirteen * 1.0005, "{n}: {twelve} {thirteen}");
            let sum: f64 = (0..n).map(|k| k as f64 / (200 - k) as f64).sum();
            assert!(close(expected_comparisons(n as f64, 199.0), sum, 1e-12));
            assert!(close(exponent_12(n as f64, 199.0), sum, 0.01), "{n}");
        }
        // Term by term and in closed form, at the border between them.
        let (m, n) = (1e5, 5000.0);
        let sum: f64 = (0..5000).map(|k| f64::from(k) / (m + 1.0 - f64::from(k))).sum();
        assert!(close(expected_comparisons(n, m), sum, 1e-9));
        // (14) overestimates by (1 + γ − … ) m, as documented.
        let rule = formula_14(1e6, 40.0) - formula_13(1e6, 1e6, 40.0);
        assert!(close(rule, (1.0 - EULER) * 1e6 * chance(40.0), 1e-3), "{rule}");
    }

    #[test]
    fn harmonic_numbers() {
        for (n, h) in [(0.0, 0.0), (1.0, 1.0), (4.0, 25.0 / 12.0), (100.0, 5.187_377_517_639_621)] {
            assert!((harmonic(n) - h).abs() < 1e-9, "H({n})");
        }
    }

    #[test]
    fn wolper_and_leroy_are_the_birthday_problem() {
        assert!(close(wolper_leroy(23.0, 365f64.log2()), 0.507, 0.001));
        // The recommendation of 8 bytes: 80 million states.
        assert!(close(wolper_leroy(80e6, 64.0), 80e6 * 80e6 / 2f64.powi(65), 1e-3));
        // 945,950,806 states by 40 bits in a file: hopeless.
        assert!(wolper_leroy(945_950_806.0, 40.0) > 0.999_999);
        assert_eq!(wolper_leroy(2000.0, 10.0), 1.0);
        let (sum, closed) = (wolper_leroy(4096.0, 24.0), wolper_leroy(4097.0, 24.0));
        assert!(closed > sum && close(sum, closed, 1e-3));
    }

    #[test]
    fn nothing_falls_off_the_edges() {
        for m in [0u64, 1, 2, 100] {
            for n in [0u64, 1, 2, 100, 101] {
                for bits in [0.0, 1.0, 64.0, 1e6] {
                    let all = [
                        formula_5(n, m, bits),
                        formula_12(n as f64, m as f64, bits),
                        wolper_leroy(n as f64, bits),
                        counted(n as f64, bits),
                    ];
                    assert!(all.iter().all(|p| (0.0..=1.0).contains(p)), "{n} {m} {bits} {all:?}");
                    assert!(formula_13(n as f64, m as f64, bits) >= 0.0);
                }
            }
        }
        assert_eq!(formula_12(5.0, 4.0, 40.0), 1.0);
        assert_eq!(counted(1e30, 40.0), 1.0);
        assert!(bits_for(1e6, 1e6, 0.0).is_finite() && bits_for_table(0.0, 0.5).is_finite());
        assert!(first_omissions(0, 10, 10, Probing::Double, 1).is_empty());
        assert_eq!(first_omissions(1, 10, 10, Probing::Double, 1), [0]);
        assert_eq!(first_omissions(6, 64, 10, Probing::Double, 1), [0; 6]);
        assert_eq!(confidence_90(0, 0), (0.0, 1.0));
    }

    #[test]
    fn bits_for_is_the_inverse() {
        for (n, m, p) in [(1e6, 2e6, 0.01), (109_080.0, 116_531.0, 0.55), (5e8, 1e9, 1e-6)] {
            assert!(close(formula_12(n, m, bits_for(n, m, p)), p, 1e-6));
        }
    }

    /// Figs. 2 and 3: m = 199, b = 10.
    #[test]
    fn the_simulation_agrees_with_the_formulas() {
        const RUNS: u64 = 60_000;
        for probing in [Probing::Uniform, Probing::Double] {
            let first = first_omissions(199, 10, RUNS, probing, 4);
            for n in (19..=199).step_by(20) {
                let hits: u64 = first[..n].iter().sum();
                let measured = hits as f64 / RUNS as f64;
                let p = formula_5(n as u64, 199, 10.0);
                let sigma = (p * (1.0 - p) / RUNS as f64).sqrt();
                // Double hashing differs from uniform hashing by a few comparisons in a full table.
                let slack = if probing == Probing::Double { 0.01 * p } else { 0.004 * p };
                assert!(
                    (measured - p).abs() < 3.5 * sigma + slack,
                    "{probing:?} {n} {measured} {p}"
                );
            }
        }
    }

    #[test]
    fn confidence_intervals() {
        let (low, high) = confidence_90(55, 100);
        assert!(close(low, 0.468, 0.01) && close(high, 0.630, 0.01), "{low} {high}");
        assert_eq!(confidence_90(0, 100).0, 0.0);
        assert_eq!(confidence_90(100, 100).1, 1.0);
    }

    #[test]
    fn lines_compare_more_often_than_slots() {
        // One slot per line is uniform hashing: (10) per insert, about 1.23 at a load of 0.85.
        let alone = line_comparisons(1, 0.85);
        assert!(close(alone, -(0.15f64.ln()) / 0.85 - 1.0, 0.02), "{alone}");
        // The measured figure for lines of eight at a load of 0.85.
        assert!(close(line_comparisons(8, 0.85), 4.3, 0.1), "{}", line_comparisons(8, 0.85));
        assert!(line_comparisons(0, 2.0) > 0.0 && line_comparisons(12, 0.0) == 0.0);
    }
}
