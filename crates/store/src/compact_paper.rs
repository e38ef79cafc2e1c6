//! Hash compaction as in the paper, for reproducing its figures: single slots, double hashing.
//!
//! After Stern and Dill, *Improved probabilistic verification by hash compaction* (CHARME 1995),
//! Sect. 2 and Fig. 1: a table of m slots (m a prime number) of b bits; a new state is compared with the
//! slots at h′, h′ + h″, h′ + 2 h″ … mod m until it meets a free one, which it takes, or its own b
//! bits, which make it known. Place and value come from independent universal hash functions. The
//! formulas (12) and (13) of `bounds.rs` are about this table.
//!
//! For one worker, and simple: use `CompactStore` for work.

use crate::bounds;
use crate::compact::figures;
use crate::universal::{Universal, mix, scale};
use ergodic_system::records::{Put, Record, SENSELESS, parse, put_head, put_table, take_table};
use ergodic_system::{Block, Coverage, Exhausted, Losses, Picks, Shape, Visited};

/// What the table is called in a checkpoint.
const KIND: &str = "paper";

/// The table of the paper.
#[derive(Debug)]
pub struct PaperCompactStore {
    family: Universal,
    seed: u64,
    bits: u32,
    values: Vec<u64>,
    /// A bit per slot: whether it is taken.
    taken: Vec<u64>,
    states: u64,
    /// Comparisons of look-ups that ended in an insert, and the most for one.
    comparisons: u64,
    longest: u64,
}

impl PaperCompactStore {
    /// An empty table of exactly `slots` slots of `bits` bits.
    ///
    /// # Errors
    /// If there is no slot, no bit or no memory, or there are more than 64 bits.
    pub fn new(
        shape: Shape,
        slots: u64,
        bits: u32,
        seed: u64,
    ) -> Result<PaperCompactStore, String> {
        if !(1..=64).contains(&bits) {
            return Err(format!("slots of {bits} bits are not possible: give 1 to 64 bits"));
        }
        if slots == 0 {
            return Err("a table of no slots takes no states: give at least one slot".to_owned());
        }
        let mut values = Vec::new();
        let len = usize::try_from(slots).ok().filter(|len| values.try_reserve_exact(*len).is_ok());
        let Some(len) = len else {
            return Err(format!("a table of {slots} slots cannot be allocated: give fewer slots"));
        };
        values.resize(len, 0);
        Ok(PaperCompactStore {
            family: Universal::new(shape.words, seed),
            seed,
            bits,
            values,
            taken: vec![0; len.div_ceil(64)],
            states: 0,
            comparisons: 0,
            longest: 0,
        })
    }

    /// An empty table with the numbers of a saved one, for states of so many words.
    fn with_numbers(words: usize, numbers: &[u64]) -> Result<PaperCompactStore, String> {
        let senseless = || SENSELESS.to_string();
        let &[width, seed, bits, slots, states, comparisons, longest] =
            <&[u64; 7]>::try_from(numbers).map_err(|_| senseless())?;
        let shape = Shape { words, bits: 64 * words };
        let bits = u32::try_from(bits).unwrap_or(u32::MAX);
        let table = PaperCompactStore::new(shape, slots, bits, seed)?;
        let table = PaperCompactStore { states, comparisons, longest, ..table };
        if width == words as u64 { Ok(table) } else { Err(senseless()) }
    }

    /// Comparisons of look-ups that ended in an insert.
    pub fn comparisons(&self) -> u64 {
        self.comparisons
    }

    /// Whether a state is new; if so, it is in the table now. `None` if it has no room.
    fn enter(&mut self, state: &[u64]) -> Option<bool> {
        let slots = self.values.len() as u64;
        let hashed = self.family.of(state);
        let value = hashed.value >> (64 - self.bits);
        let mut at = scale(hashed.place, slots);
        let step = coprime(1 + scale(mix(hashed.place), slots - 1), slots);
        for compared in 0..slots {
            let (word, bit) = ((at / 64) as usize, 1 << (at % 64));
            if self.taken[word] & bit == 0 {
                self.taken[word] |= bit;
                self.values[at as usize] = value;
                self.states += 1;
                self.comparisons += compared;
                self.longest = self.longest.max(compared);
                return Some(true);
            }
            if self.values[at as usize] == value {
                return Some(false);
            }
            at = (at + step) % slots;
        }
        None
    }
}

impl Visited for PaperCompactStore {
    fn offer(&mut self, new: Block<'_>, fresh: &mut Picks) -> Result<(), Exhausted> {
        fresh.clear();
        for i in 0..new.len() {
            match self.enter(new.state(i)) {
                Some(true) => fresh.push(i as u32),
                Some(false) => {}
                None => {
                    return Err(Exhausted::Other(format!(
                        "all {} slots of the table are taken: give it more slots",
                        self.values.len()
                    )));
                }
            }
        }
        Ok(())
    }

    fn dump(&self, put: &mut Put<'_>) -> Result<(), String> {
        let numbers = [
            self.family.words() as u64,
            self.seed,
            u64::from(self.bits),
            self.values.len() as u64,
            self.states,
            self.comparisons,
            self.longest,
        ];
        put_head(KIND, &numbers, put)?;
        put_table(0, self.taken.len(), |i| self.taken[i], put)?;
        put_table(1, self.values.len(), |i| self.values[i], put)
    }

    fn restore(&mut self, record: &[u64]) -> Result<(), String> {
        let (table, runs) = match parse(KIND, record)? {
            Record::Head(numbers) => {
                *self = PaperCompactStore::with_numbers(self.family.words(), numbers)?;
                return Ok(());
            }
            Record::Table(0, runs) => (&mut self.taken, runs),
            Record::Table(_, runs) => (&mut self.values, runs),
        };
        take_table(runs, table.len(), |i, word| {
            table[i] = word;
            true
        })
    }

    fn coverage(&self) -> Coverage {
        let bytes = (self.values.len() + self.taken.len()) as u64 * 8;
        Coverage { states: self.states, bytes, omission: self.losses().omission }
    }

    fn losses(&self) -> Losses {
        let bits = f64::from(self.bits);
        let omission = bounds::counted(self.comparisons as f64, bits);
        let slots = self.values.len() as u64;
        let mut figures = figures(self.states, slots, self.bits, self.comparisons, self.seed);
        for figure in &mut figures {
            match figure.key {
                "formula_12" => figure.title = "formula (12)",
                "formula_13" => figure.title = "formula (13)",
                _ => {}
            }
        }
        let path_omission = bounds::counted(self.longest as f64, bits);
        Losses { omission, path_omission, forgets: false, figures }
    }
}

/// The least number from `step` on that has no common divisor with `slots`: itself if that is prime.
fn coprime(step: u64, slots: u64) -> u64 {
    let gcd = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    (step..).find(|step| gcd(slots, *step) == 1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;
    use ergodic_system::PAD_WORDS;

    /// Enters `n` different states; returns how many were omitted.
    fn omitted(n: u64, slots: u64, bits: u32, seed: u64) -> (u64, PaperCompactStore) {
        let shape = Shape::of_bits(64);
        let mut store = PaperCompactStore::new(shape, slots, bits, seed).expect("a table");
        let mut words: Vec<u64> = (0..n).collect();
        words.extend([0; PAD_WORDS]);
        let mut fresh = Picks::new();
        store.offer(Block::new(&words, 1, n as usize), &mut fresh).expect("room");
        assert_eq!(store.coverage().states, fresh.len() as u64);
        (n - fresh.len() as u64, store)
    }

    /// Figs. 2 and 3 with the store itself: m = 199, b = 10.
    #[test]
    fn omissions_happen_as_often_as_the_formulas_say() {
        const RUNS: u64 = 6000;
        for n in [39, 99, 159, 199] {
            let (mut hits, mut counted) = (0, 0.0);
            for seed in 0..RUNS {
                let (missing, store) = omitted(n, 199, 10, seed);
                hits += u64::from(missing > 0);
                counted += bounds::at_least_one(store.comparisons() as f64, 10.0);
            }
            let (measured, counted) = (hits as f64 / RUNS as f64, counted / RUNS as f64);
            let p = bounds::formula_12(n as f64, 199.0, 10.0);
            let sigma = (p * (1.0 - p) / RUNS as f64).sqrt();
            assert!((measured - p).abs() < 3.0 * sigma + 0.01 * p, "{n}: {measured}, (12) {p}");
            // A run that omits a state has compared less often: that shows in a full table.
            let slack = if n == 199 { 0.1 * p } else { 0.02 * p };
            assert!((measured - counted).abs() < 3.0 * sigma + slack, "{n}: {measured} {counted}");
            assert!(measured < bounds::formula_13(n as f64, 199.0, 10.0) + 3.0 * sigma);
        }
    }

    #[test]
    fn wide_slots_omit_nothing() {
        let (missing, store) = omitted(5000, 5003, 64, 3);
        assert_eq!(missing, 0);
        let losses = store.losses();
        assert!(losses.omission < 1e-12 && losses.path_omission < losses.omission);
        let expected = bounds::expected_comparisons(5000.0, 5003.0);
        assert!((store.comparisons() as f64 / expected - 1.0).abs() < 0.1);
        conformance::fill(
            &mut PaperCompactStore::new(Shape::of_bits(130), 3001, 60, 1).expect("a table"),
            Shape::of_bits(130),
            3000,
        );
    }

    #[test]
    fn every_slot_is_used_and_no_more() {
        for slots in [1, 2, 6, 199, 256, 1000] {
            let shape = Shape::of_bits(64);
            let mut store = PaperCompactStore::new(shape, slots, 64, 5).expect("a table");
            let (why, seen) = conformance::fill_until_exhausted(&mut store, shape);
            assert_eq!(seen, slots);
            assert!(matches!(why, Exhausted::Other(text) if text.contains("more slots")));
        }
    }

    #[test]
    fn impossible_tables_are_refused() {
        let shape = Shape::of_bits(64);
        for (slots, bits) in [(0, 40), (10, 0), (10, 65), (u64::MAX, 40), (1 << 60, 40)] {
            assert!(PaperCompactStore::new(shape, slots, bits, 0).is_err());
        }
    }
}
