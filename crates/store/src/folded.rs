//! A cache of large states, in which each word is a short reference to a dictionary.
//!
//! States of protocols have many words, and most of them take few values: a node that does nothing looks
//! the same in all states. So a word is replaced by the number of its value among those that this word of
//! a state has had, in 16 bits, and the cache keeps a quarter of what it would keep otherwise. (Collapse
//! compression, after Holzmann, *State compression in SPIN*, 1997, with words for processes.)
//!
//! Invariants:
//! * it is exact: two states are equal if and only if their references are;
//! * the dictionary only grows, to an eighth of the memory or 128 KiB, and 65,536 values for each word. When
//!   it is full, dictionary and cache are given up, and a cache of plain states takes all of the memory, once
//!   and for all: all is forgotten, which a cache may do. That is known early in a search of many states, and
//!   costs at most as much as was done until then.

use crate::cache::{CacheEntry, CacheOptions, CacheSize, CacheStore};
use ergodic_system::records::{Put, Record, SENSELESS, parse, put_head, put_table, take_table};
use ergodic_system::{
    Block, Coverage, Exhausted, Figure, Losses, PAD_WORDS, Picks, Shape, Visited,
};

/// Bits of a reference, and how many there are in a word.
const REFERENCE_BITS: usize = 16;
const REFERENCES: usize = 64 / REFERENCE_BITS;
/// Values that a word can have.
const MOST_VALUES: u32 = 1 << REFERENCE_BITS;
/// Words of states for which it is worth while, and words for which there are positions.
const LEAST_WORDS: usize = 5;
const MOST_WORDS: usize = 1 << 12;
/// The part of the memory that is for the dictionary; but up to half of it if that is little. (The classic
/// protocols have 1,200 to 3,500 different words, some of them in a quarter of a million states.)
const DICTIONARY_SHARE: u64 = 8;
const LITTLE: u64 = 128 << 10;
/// Slots of a dictionary at first.
const FIRST_SLOTS: usize = 256;
/// Bytes of a slot.
const SLOT_BYTES: u64 = 12;

/// What it is called in a checkpoint, and the tables of the dictionary there; the cache has table 0.
const KIND: &str = "folded";
const VALUES: usize = 1;
const NAMES: usize = 2;

/// The cache.
#[derive(Debug)]
pub struct FoldedCache {
    shape: Shape,
    options: CacheOptions,
    /// Of references while there is a dictionary; else of plain states.
    cache: CacheStore,
    dictionary: Option<Dictionary>,
    /// States of a block as references.
    folded: Vec<u64>,
}

/// The values of words, each with a number.
#[derive(Debug)]
struct Dictionary {
    /// Open addresses: values, and 0 or one more than the position of the word and the number of the value.
    values: Vec<u64>,
    names: Vec<u32>,
    used: usize,
    most_slots: usize,
    /// How many values each word has had.
    counts: Vec<u32>,
    /// The words and references of the last state: the next one mostly has the same.
    last: Vec<(u64, u16)>,
}

impl FoldedCache {
    /// An empty cache. States that are small, signatures, and caches of a given number of entries are
    /// kept as they are.
    ///
    /// # Errors
    /// As [`CacheStore::new`].
    pub fn new(shape: Shape, options: CacheOptions) -> Result<FoldedCache, String> {
        if let (CacheEntry::Full, CacheSize::Bytes(bytes)) = (options.entry, options.size)
            && (LEAST_WORDS..=MOST_WORDS).contains(&shape.words)
        {
            let share = (bytes / DICTIONARY_SHARE).max((bytes / 2).min(LITTLE));
            let size = CacheSize::Bytes(bytes - share);
            let cache = CacheStore::new(folded(shape), CacheOptions { size, ..options });
            let dictionary = Dictionary::new(shape.words, share);
            if let (Ok(cache), Some(dictionary)) = (cache, dictionary) {
                return Ok(FoldedCache::of(shape, options, cache, Some(dictionary)));
            }
        }
        let cache = CacheStore::new(shape, options)?;
        Ok(FoldedCache::of(shape, options, cache, None))
    }

    fn of(
        shape: Shape,
        options: CacheOptions,
        cache: CacheStore,
        dictionary: Option<Dictionary>,
    ) -> FoldedCache {
        FoldedCache { shape, options, cache, dictionary, folded: Vec::new() }
    }

    /// Gives the dictionary up, and everything with it.
    fn unfold(&mut self) -> Result<(), Exhausted> {
        self.dictionary = None;
        self.folded = Vec::new();
        self.cache.begin_again(self.shape, self.options).map_err(Exhausted::Other)
    }

    fn restore_head(&mut self, numbers: &[u64]) -> Result<(), String> {
        let senseless = || SENSELESS.to_string();
        let Some((&[slots, used, most_slots], counts)) = numbers.split_first_chunk::<3>() else {
            return Err(senseless());
        };
        if slots == 0 {
            self.dictionary = None;
            return self.cache.begin_again(self.shape, self.options);
        }
        let dictionary = self.dictionary.as_mut().ok_or_else(senseless)?;
        let sound = slots.is_power_of_two() && slots <= most_slots && used < slots;
        let count = |count: &u64| u32::try_from(*count).ok().filter(|c| *c <= MOST_VALUES);
        let counts: Option<Vec<u32>> = counts.iter().map(count).collect();
        let counts = counts.filter(|counts| sound && counts.len() == dictionary.counts.len());
        let mut made = Dictionary::with_slots(self.shape.words, slots).ok_or_else(senseless)?;
        made.counts = counts.ok_or_else(senseless)?;
        (made.used, made.most_slots) = (used as usize, most_slots as usize);
        *dictionary = made;
        Ok(())
    }
}

/// The shape of references to the words of a state.
fn folded(shape: Shape) -> Shape {
    Shape::of_bits(shape.words * REFERENCE_BITS)
}

impl Dictionary {
    /// Nothing if there is too little memory.
    fn new(words: usize, bytes: u64) -> Option<Dictionary> {
        let most_slots = 1 << (bytes / SLOT_BYTES).checked_ilog2()?;
        let made = Dictionary::with_slots(words, FIRST_SLOTS as u64)?;
        (most_slots >= FIRST_SLOTS).then_some(Dictionary { most_slots, ..made })
    }

    /// With so many slots, if there is so much memory.
    fn with_slots(words: usize, slots: u64) -> Option<Dictionary> {
        let slots = usize::try_from(slots).ok()?;
        let (mut values, mut names) = (Vec::new(), Vec::new());
        values.try_reserve_exact(slots).ok()?;
        names.try_reserve_exact(slots).ok()?;
        values.resize(slots, 0);
        names.resize(slots, 0);
        // No reference is remembered for the first state: its words are looked up.
        let last = Vec::new();
        Some(Dictionary { values, names, used: 0, most_slots: slots, counts: vec![0; words], last })
    }

    /// Appends the references of a state, in whole words; `false` if there is no room.
    fn fold(&mut self, state: &[u64], out: &mut Vec<u64>) -> bool {
        if self.last.is_empty() {
            for (position, word) in state.iter().enumerate() {
                let Some(reference) = self.reference(position, *word) else {
                    self.last.clear();
                    return false;
                };
                self.last.push((*word, reference));
            }
        }
        for first in (0..state.len()).step_by(REFERENCES) {
            let mut folded = 0;
            for (i, word) in state[first..].iter().take(REFERENCES).enumerate() {
                let position = first + i;
                if self.last[position].0 != *word {
                    let Some(reference) = self.reference(position, *word) else { return false };
                    self.last[position] = (*word, reference);
                }
                folded |= u64::from(self.last[position].1) << (REFERENCE_BITS * i);
            }
            out.push(folded);
        }
        true
    }

    /// The number of a value, a new one if need be; nothing if there is no room.
    fn reference(&mut self, position: usize, value: u64) -> Option<u16> {
        let mut slot = self.slot(position, value);
        loop {
            let name = self.names[slot];
            if name == 0 {
                break;
            }
            if self.values[slot] == value && (name - 1) >> REFERENCE_BITS == position as u32 {
                return Some((name - 1) as u16);
            }
            slot = (slot + 1) & (self.names.len() - 1);
        }
        if self.used >= self.names.len() / 4 * 3 {
            self.grow()?;
            return self.reference(position, value);
        }
        let number = self.counts[position];
        if number == MOST_VALUES {
            return None;
        }
        self.values[slot] = value;
        self.names[slot] = 1 + ((position as u32) << REFERENCE_BITS | number);
        self.counts[position] += 1;
        self.used += 1;
        Some(number as u16)
    }

    /// Where a value is looked for first.
    fn slot(&self, position: usize, value: u64) -> usize {
        let mixed = value ^ (position as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        let product = u128::from(mixed ^ mixed >> 32) * 0x9e37_79b9_7f4a_7c15_u128;
        ((product >> 64) ^ product) as usize & (self.names.len() - 1)
    }

    fn grow(&mut self) -> Option<()> {
        let slots = self.names.len() * 2;
        if slots > self.most_slots {
            return None;
        }
        let larger = Dictionary::with_slots(0, slots as u64)?;
        let values = std::mem::replace(&mut self.values, larger.values);
        let names = std::mem::replace(&mut self.names, larger.names);
        for (value, name) in values.into_iter().zip(names).filter(|(_, name)| *name != 0) {
            let mut slot = self.slot(((name - 1) >> REFERENCE_BITS) as usize, value);
            while self.names[slot] != 0 {
                slot = (slot + 1) & (slots - 1);
            }
            (self.values[slot], self.names[slot]) = (value, name);
        }
        Some(())
    }

    fn bytes(&self) -> u64 {
        self.names.len() as u64 * SLOT_BYTES
    }
}

impl Visited for FoldedCache {
    fn offer(&mut self, new: Block<'_>, fresh: &mut Picks) -> Result<(), Exhausted> {
        let Some(dictionary) = &mut self.dictionary else {
            return self.cache.offer(new, fresh);
        };
        self.folded.clear();
        let mut states = 0..new.len();
        if states.all(|i| dictionary.fold(new.state(i), &mut self.folded)) {
            self.folded.extend([0; PAD_WORDS]);
            let block = Block::new(&self.folded, folded(self.shape).words, new.len());
            return self.cache.offer(block, fresh);
        }
        self.unfold()?;
        self.cache.offer(new, fresh)
    }

    fn settle(&mut self, emit: &mut dyn FnMut(Block<'_>)) -> Result<(), Exhausted> {
        self.cache.settle(emit)
    }

    fn dump(&self, put: &mut Put<'_>) -> Result<(), String> {
        let Some(dictionary) = &self.dictionary else {
            put_head(KIND, &[0, 0, 0], put)?;
            return self.cache.dump(put);
        };
        let Dictionary { values, names, used, most_slots, counts, .. } = dictionary;
        let mut numbers = vec![names.len() as u64, *used as u64, *most_slots as u64];
        numbers.extend(counts.iter().map(|count| u64::from(*count)));
        put_head(KIND, &numbers, put)?;
        put_table(VALUES, values.len(), |i| values[i], put)?;
        put_table(NAMES, names.len(), |i| u64::from(names[i]), put)?;
        self.cache.dump(put)
    }

    fn restore(&mut self, record: &[u64]) -> Result<(), String> {
        match (parse(KIND, record), &mut self.dictionary) {
            (Ok(Record::Head(numbers)), _) => self.restore_head(numbers),
            (Ok(Record::Table(VALUES, runs)), Some(dictionary)) => {
                let values = &mut dictionary.values;
                take_table(runs, values.len(), |i, value| {
                    values[i] = value;
                    true
                })
            }
            (Ok(Record::Table(NAMES, runs)), Some(Dictionary { names, counts, .. })) => {
                let sound = |name: u32| {
                    let (position, number) = ((name - 1) >> REFERENCE_BITS, (name - 1) as u16);
                    counts.get(position as usize).is_some_and(|count| u32::from(number) < *count)
                };
                take_table(runs, names.len(), |i, name| {
                    let name = u32::try_from(name).ok().filter(|name| *name == 0 || sound(*name));
                    names[i] = name.unwrap_or(0);
                    name.is_some()
                })
            }
            _ => self.cache.restore(record),
        }
    }

    fn coverage(&self) -> Coverage {
        let coverage = self.cache.coverage();
        let dictionary = self.dictionary.as_ref().map_or(0, Dictionary::bytes);
        Coverage { bytes: coverage.bytes + dictionary, ..coverage }
    }

    fn losses(&self) -> Losses {
        let mut losses = self.cache.losses();
        if let Some(Dictionary { used, .. }) = self.dictionary {
            let (key, title) = ("distinct_words", "distinct words of states");
            losses.figures.push(Figure { key, title, value: used as f64 });
        }
        losses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lossy;
    use std::collections::HashSet;

    fn options(bytes: u64) -> CacheOptions {
        CacheOptions { max_rate: None, ways: 64, ..CacheOptions::new(CacheSize::Bytes(bytes)) }
    }

    fn cache(words: usize, bytes: u64) -> FoldedCache {
        FoldedCache::new(Shape::of_bits(words * 64 - 7), options(bytes)).expect("a cache")
    }

    /// A state with words of few values, that differ with the number.
    fn state(words: usize, number: u64, values: u64) -> Vec<u64> {
        let power = |i: usize| values.checked_pow(i as u32 % 8);
        let digit = |i: usize| power(i).map_or(0, |power| number / power % values * 0x0101_0101);
        (0..words).map(digit).collect()
    }

    /// Offers states in blocks; returns the numbers of those that were fresh.
    fn offer(store: &mut FoldedCache, values: u64, numbers: impl Iterator<Item = u64>) -> Vec<u64> {
        let (numbers, words) = (numbers.collect::<Vec<_>>(), store.shape.words);
        let mut fresh = Picks::new();
        let mut out = Vec::new();
        for block in numbers.chunks(100) {
            let states = block.iter().flat_map(|number| state(words, *number, values));
            let states: Vec<u64> = states.chain([0; PAD_WORDS]).collect();
            store.offer(Block::new(&states, words, block.len()), &mut fresh).expect("room");
            out.extend(fresh.iter().map(|i| block[*i as usize]));
        }
        out
    }

    #[test]
    fn conforms() {
        for bytes in [20_000, 200_000, 5_000_000] {
            lossy::forgetful(true, |shape| {
                FoldedCache::new(shape, options(bytes)).expect("a cache")
            });
        }
    }

    #[test]
    fn it_keeps_more_and_takes_none_for_another() {
        let mut store = cache(16, 300_000);
        // A state has 128 bytes.
        assert_eq!(offer(&mut store, 5, 0..3_000).len(), 3_000);
        assert_eq!(offer(&mut store, 5, (0..3_000).rev()), Vec::<u64>::new());
        assert_eq!(offer(&mut store, 5, 2_990..3_010), (3_000..3_010).collect::<Vec<_>>());
        assert!(!store.losses().forgets && store.dictionary.is_some());
        assert!(store.coverage().bytes < 300_000);
    }

    #[test]
    fn a_full_dictionary_is_given_up() {
        // Too little memory for the values, or too many values for one word.
        for (bytes, count) in [(100_000, 9_000), (1 << 25, 70_000)] {
            let mut store = cache(16, bytes);
            let fresh = offer(&mut store, 1 << 20, 0..count);
            assert_eq!(fresh.iter().collect::<HashSet<_>>().len(), count as usize);
            assert!(store.dictionary.is_none() && store.losses().forgets);
            assert!(store.coverage().bytes <= bytes);
            assert!(store.cache.collision_rate() < 0.9, "what was given up does not count");
            assert_eq!(store.coverage().states, fresh.len() as u64);
            // From then on it is a cache as any other.
            assert_eq!(offer(&mut store, 1 << 20, count - 10..count), Vec::<u64>::new());
        }
    }

    #[test]
    fn saved_and_restored_it_is_the_same() {
        for count in [50, 1_000, 9_000] {
            let values = if count > 5_000 { 1 << 20 } else { 7 };
            let mut store = cache(9, 150_000);
            offer(&mut store, values, 0..count);
            let mut records = Vec::new();
            let mut put = |record: &[u64]| {
                records.push(record.to_vec());
                Ok(())
            };
            store.dump(&mut put).expect("records");
            let mut other = cache(9, 400_000);
            records.iter().for_each(|record| other.restore(record).expect("a record"));
            assert_eq!(other.dictionary.is_some(), store.dictionary.is_some());
            let more = || (count / 2..count + 300).chain(0..100);
            assert_eq!(offer(&mut other, values, more()), offer(&mut store, values, more()));
            assert_eq!(other.losses().figures, store.losses().figures);
            // Damaged records are refused or taken, but nothing breaks.
            for (i, record) in records.iter().enumerate() {
                let mut damaged = record.clone();
                damaged.iter_mut().skip(i % 3).step_by(3).for_each(|word| *word ^= 0x5555);
                let _ = cache(9, 400_000).restore(&damaged);
            }
        }
    }
}
