//! In which level states were found: what keeps stubborn sets from putting something off for ever.
//!
//! It goes into checkpoints whole: which sets are chosen depends on it, also on the places that states
//! share.

use ergodic_system::records::{Put, Record, SENSELESS, parse, put_head, put_table, take_table};
use std::sync::atomic::{AtomicU32, Ordering};

/// In which level states were found.
#[derive(Debug)]
pub(super) struct Found {
    /// Tables, each larger than the one before: for each place the least level, plus one, in which a
    /// state was found, or 0. A state that was noted in one stays there, so all of them are asked.
    tables: Vec<Vec<AtomicU32>>,
    /// States of the levels so far, and places at which no larger table is made.
    states: u64,
    most: u64,
    /// The level being expanded, plus one, and the number that new states are noted with.
    level: u32,
    next: u32,
}

/// Places of the first table, and of the others in terms of the one before.
const FIRST_PLACES: u64 = 1 << 14;
const MORE_PLACES: u64 = 8;
/// Places of a table, at most, and tables.
const MOST_PLACES: u64 = 1 << 30;
const MOST_TABLES: usize = 16;

/// What it is called in a checkpoint.
const KIND: &str = "stubborn";

impl Found {
    /// For a search level by level, with so many bytes for the tables. Without `needed` nothing is
    /// noted, and everything seems new.
    pub(super) fn by_level(needed: bool, bytes: u64) -> Found {
        let most = 1 << (bytes / 4).clamp(FIRST_PLACES, MOST_PLACES).ilog2();
        let tables = needed.then(|| table(FIRST_PLACES)).into_iter().collect();
        Found { tables, states: 0, most, level: 0, next: 1 }
    }

    /// Whether anything is noted.
    pub(super) fn notes(&self) -> bool {
        !self.tables.is_empty()
    }

    /// Whether a state was found in a level that was begun.
    pub(super) fn is_old(&self, hash: u64) -> bool {
        // All tables are asked, though one may be enough: then the questions need not wait for each other.
        self.tables.iter().fold(false, |old, table| {
            let found = table[hash as usize & (table.len() - 1)].load(Ordering::Relaxed);
            old | (found.wrapping_sub(1) < self.level)
        })
    }

    /// Notes that a state was found, for the level after this one.
    pub(super) fn note(&self, hash: u64) {
        let Some(table) = self.tables.last() else { return };
        let place = &table[hash as usize & (table.len() - 1)];
        // Once set, a place holds a level that is not greater; and until the level ends, all workers
        // write the same number to one that is not set, so that nothing is lost between these two.
        if place.load(Ordering::Relaxed) == 0 {
            place.store(self.next, Ordering::Relaxed);
        }
    }

    /// Makes a larger table when states begin to share places.
    pub(super) fn begin_level(&mut self, states: u64) {
        (self.level, self.next) = (self.next, self.next + 1);
        self.states += states;
        let places = self.tables.last().map_or(0, |table| table.len() as u64);
        if self.states * 2 > places && places < self.most {
            let places = (places * MORE_PLACES).clamp(FIRST_PLACES, self.most);
            self.tables.push(table(places));
        }
    }

    /// Hands out everything, and two numbers of whoever asks.
    pub(super) fn dump(&self, numbers: [u64; 2], put: &mut Put<'_>) -> Result<(), String> {
        let [first, second] = numbers;
        let own = [first, second, self.states, self.most, self.level.into(), self.next.into()];
        let sizes: Vec<u64> = self.tables.iter().map(|table| table.len() as u64).collect();
        put_head(KIND, &[&own[..], &sizes].concat(), put)?;
        for (i, table) in self.tables.iter().enumerate() {
            let half = |at: usize| u64::from(table[at].load(Ordering::Relaxed));
            // Two places to a word.
            put_table(i, table.len() / 2, |at| half(2 * at) | half(2 * at + 1) << 32, put)?;
        }
        Ok(())
    }

    /// Takes a record back; gives the two numbers, if they are in it.
    pub(super) fn restore(&mut self, record: &[u64]) -> Result<Option<[u64; 2]>, String> {
        let senseless = || SENSELESS.to_string();
        match parse(KIND, record)? {
            Record::Head(numbers) => {
                let (&[first, second, states, most, level, next], sizes) =
                    numbers.split_first_chunk::<6>().ok_or_else(senseless)?;
                let small = |number: u64| u32::try_from(number).map_err(|_| senseless());
                let sound = |size: &u64| size.is_power_of_two() && (2..=MOST_PLACES).contains(size);
                let as_many = sizes.is_empty() != self.notes();
                if !sizes.iter().all(sound) || sizes.len() > MOST_TABLES || !as_many {
                    return Err(senseless());
                }
                let tables = sizes.iter().map(|size| table(*size)).collect();
                *self = Found { tables, states, most, level: small(level)?, next: small(next)? };
                Ok(Some([first, second]))
            }
            Record::Table(i, runs) => {
                let table = self.tables.get(i).ok_or_else(senseless)?;
                take_table(runs, table.len() / 2, |at, word| {
                    table[2 * at].store(word as u32, Ordering::Relaxed);
                    table[2 * at + 1].store((word >> 32) as u32, Ordering::Relaxed);
                    true
                })?;
                Ok(None)
            }
        }
    }
}

fn table(places: u64) -> Vec<AtomicU32> {
    (0..places).map(|_| AtomicU32::new(0)).collect()
}
