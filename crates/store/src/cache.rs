//! A cache of visited states: of fixed size, it forgets, and so it never is full.
//!
//! After Tronci, Della Penna, Intrigila and Venturini Zilli, *Exploiting transition locality in
//! automatic verification* (CHARME 2001): most transitions lead to states of nearby levels, so
//! it is enough to remember those that were met recently. A state that was forgotten is called
//! fresh and visited again; when the search ends, *all* reachable states were visited. It need not end:
//! so the collision rate is watched (insertions that overwrite another state, of all insertions), and
//! beyond [`CacheOptions::max_rate`] the store gives up.
//!
//! *One way* is the cache of the paper: a state has one entry to go to and overwrites what is there. With
//! *several ways*, it has so many entries in a set, overwrites nothing while one of them is free, and
//! then the one that was found again least often (`worth.rs`), or the one whose state was found the most levels
//! ago, or any one. Levels are counted by [`Visited::settle`], which a breadth-first search calls at the end of each.
//!
//! *Oldest or random.* Tried on random layered graphs of 240,000 states with 0.6 of the memory. Up to 20 % of transitions
//! drawn to lead back, by two levels on average: eight ways visit each state once if the oldest goes,
//! one way does not end; at 50 % neither ends. Few that lead back to anywhere: random replacement
//! ends with 1.6 to 2 visits per state, the oldest does not end. So neither rule is best for all. (On
//! grids, making an entry young when it is met again made no difference.) On the classic protocols with
//! 0.6 of the memory, visits per state: 64 ways at random 1.1 to 4.2, close to the paper's own figures, 8
//! ways at random a tenth to a half more; the oldest of 8 ends on few of them, that of 64 on none, but with 0.8
//! of the memory or more it visits hardly any state twice. The oldest of three, or the newer of two, chosen at
//! random: worse than random, or better on some and endless on others. What was found again least often does better
//! than all of these there, and takes half a byte where the oldest takes one.
//!
//! *Entries* are full states, or signatures of b bits. A signature makes a state known wrongly with
//! probability 2⁻ᵇ per comparison, so the bound is the comparisons of look-ups that ended in an
//! insert, times 2⁻ᵇ (see `universal.rs`; until a state is taken for another one, what is in the cache
//! depends on places and not on signatures: the signatures of two states that are different agree with nothing else
//! then). The first time that a state is looked up is what counts for an omission;
//! counting all visits is on the safe side. (Tried and left out: as few bits as an allowed omission takes, and longer
//! ones, with all forgotten, when that is spent. With 10⁻³ there are a quarter more entries than with 40 bits, and what did not
//! end before does not end then.)
//!
//! *Layout.* Blocks of eight entries (or of one set, if that is more): a byte per entry, its *mark*, then the
//! states or signatures, bit by bit one after the other, because what counts is how many there are. A mark is
//! zero if the entry is free, else a byte of the hash that decides about the set. If ages count, there is a second
//! byte for that, or four bits if it counts how often entries were met. Marks are looked at sixteen at a time, so that 64
//! ways take about as long as eight, and a state or signature itself only if its mark agrees. (So signatures are compared
//! 200 times less often than there are entries in a set, and the bound is as much smaller.)

use crate::bounds;
use crate::memory::{equal_bytes, prefetch, zeroed_table};
use crate::universal::{Hashed, Universal, scale};
use crate::worth;
use ergodic_system::records::{Put, Record, SENSELESS, parse, put_head, put_table, take_table};
use ergodic_system::{Block, Coverage, Exhausted, Figure, Losses, Picks, Shape, Visited};

/// States that are looked up together; those of two groups more are on their way meanwhile.
const GROUP: usize = 16;

/// Words of a cache line.
const LINE: usize = 8;

/// In a cache of so many words or with states of so many bits, entries are loaded ahead; in others that
/// takes longer than to wait for them.
const FAR_WORDS: usize = (8 << 20) / 8;
const WIDE_BITS: usize = 1024;

/// The most entries of a set.
pub const MAX_WAYS: u32 = 64;

/// What the cache is called in a checkpoint.
const KIND: &str = "cache";

/// Levels are counted from 1 to this, a multiple of what notes of entries count to, and again from 1.
const AGES: u64 = 248;

/// Words for aligning the blocks to cache lines.
const SPARE: usize = 8;

/// What is kept of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheEntry {
    /// All of it: no state is taken for another one.
    Full,
    /// So many bits (4 to 64) of a universal hash.
    Signature(u32),
}

/// How large a cache is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheSize {
    /// At most so many bytes.
    Bytes(u64),
    /// So many entries (rounded down to whole sets).
    Entries(u64),
}

/// Which entry of a full set is overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The one whose state was found again least often, two levels after it was found or later.
    LeastMet,
    /// The one whose state was found the most levels ago.
    Oldest,
    /// Any one.
    Random,
}

/// What a [`CacheStore`] is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheOptions {
    /// What is kept of a state.
    pub entry: CacheEntry,
    /// Entries of a set, a power of two: 1 as in the paper, 8 by default.
    pub ways: u32,
    /// Which entry of a full set is overwritten.
    pub replacement: Replacement,
    /// Size of the cache, which is allocated at once.
    pub size: CacheSize,
    /// The collision rate beyond which the cache gives up, from as many insertions on as it has
    /// entries. The paper stops at 0.9.
    pub max_rate: Option<f64>,
    /// Selects the hash functions.
    pub seed: u64,
}

impl CacheOptions {
    /// Full states, eight ways, what was met least often goes, a rate of at most 0.9.
    pub fn new(size: CacheSize) -> CacheOptions {
        CacheOptions {
            entry: CacheEntry::Full,
            ways: 8,
            replacement: Replacement::LeastMet,
            size,
            max_rate: Some(0.9),
            seed: 0,
        }
    }
}

/// The cache.
#[derive(Debug)]
pub struct CacheStore {
    shape: Shape,
    family: Universal,
    options: CacheOptions,
    layout: Layout,
    words: Vec<u64>,
    /// Words before the first whole cache line.
    skip: usize,
    /// Age of what is found now.
    now: u64,
    insertions: u64,
    collisions: u64,
    /// Insertions that are not among these, because everything was forgotten since.
    forgotten: u64,
    /// Comparisons by look-ups that ended in an insert, and the most for one.
    comparisons: u64,
    longest: u64,
}

/// Where things lie.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Bits of a signature; `None` if states are kept in full.
    signature: Option<u32>,
    /// Bits of what is kept.
    bits: usize,
    ways: usize,
    /// Entries of a block, at least eight.
    block: usize,
    /// Words of a block, and those of them that precede its states.
    block_words: usize,
    head_words: usize,
    /// Where the ages or the notes are, in words from the marks on, if there are any.
    ages: Option<usize>,
    sets: u64,
}

/// A state is in the cache, here.
struct Known(Place);

/// The mark of a state.
#[inline]
fn mark(hashed: Hashed) -> u8 {
    1 + (hashed.place as u8).min(0xfe)
}

/// An entry: its block (number of its first word) and its place there.
#[derive(Clone, Copy)]
struct Place {
    block: usize,
    entry: usize,
}

impl Layout {
    fn new(shape: Shape, options: &CacheOptions) -> Result<Layout, String> {
        let signature = match options.entry {
            CacheEntry::Full => None,
            CacheEntry::Signature(bits) if (4..=64).contains(&bits) => Some(bits),
            CacheEntry::Signature(bits) => {
                return Err(format!("signatures of {bits} bits are not possible: give 4 to 64"));
            }
        };
        if !options.ways.is_power_of_two() || options.ways > MAX_WAYS {
            return Err(format!(
                "a cache of {} ways is not possible: give a power of two up to {MAX_WAYS}",
                options.ways
            ));
        }
        let mut ways = options.ways as usize;
        if let CacheSize::Entries(entries) = options.size {
            // Fewer entries than ways: one small set.
            let fit = entries.checked_ilog2().ok_or("a cache needs at least one entry")?;
            ways = ways.min(1 << fit.min(6));
        }
        let block = ways.max(8);
        // Where there is one way, there is nothing to choose.
        let age_words = match options.replacement {
            Replacement::LeastMet if ways > 1 => block.div_ceil(worth::NOTES),
            Replacement::Oldest if ways > 1 => block / 8,
            _ => 0,
        };
        let ages = (age_words > 0).then_some(block / 8);
        let head_words = block / 8 + age_words;
        let bits = signature.map_or(shape.bits, |bits| bits as usize);
        let block_words = head_words + (block * bits).div_ceil(64);
        let sets = match options.size {
            CacheSize::Entries(entries) => entries / ways as u64,
            CacheSize::Bytes(bytes) => {
                let blocks = bytes.saturating_sub(SPARE as u64 * 8) / (block_words as u64 * 8);
                blocks.saturating_mul((block / ways) as u64)
            }
        };
        if sets == 0 {
            let least = (block_words + SPARE) * 8;
            return Err(format!("a cache of these states needs at least {least} bytes"));
        }
        Ok(Layout { signature, bits, ways, block, block_words, head_words, ages, sets })
    }

    /// Words of all blocks, if that is a number.
    fn words(&self) -> Option<usize> {
        let blocks = self.sets.div_ceil((self.block / self.ways) as u64);
        usize::try_from(blocks).ok()?.checked_mul(self.block_words)
    }

    /// The first entry of the set of a state.
    #[inline]
    fn set(&self, place: u64) -> Place {
        // Both are powers of two, and this is asked three times for each state.
        let first = (scale(place, self.sets) as usize) << self.ways.trailing_zeros();
        let block = first >> self.block.trailing_zeros();
        Place { block: block * self.block_words, entry: first & (self.block - 1) }
    }
}

impl CacheStore {
    /// An empty cache for states of this shape.
    ///
    /// # Errors
    /// If the options are not possible, the size is too small, or there is no such memory.
    pub fn new(shape: Shape, options: CacheOptions) -> Result<CacheStore, String> {
        let layout = Layout::new(shape, &options)?;
        let words = layout.words().and_then(|words| words.checked_add(SPARE));
        let possible = |words: &usize| Vec::<u64>::new().try_reserve_exact(*words).is_ok();
        let Some(words) = words.filter(possible) else {
            return Err("a cache of this size cannot be allocated: give it less memory".to_owned());
        };
        let words = zeroed_table(words);
        let address = words.as_ptr().addr();
        let skip = (address.next_multiple_of(64) - address) / 8;
        Ok(CacheStore {
            shape,
            family: Universal::new(shape.words, options.seed),
            options,
            layout,
            words,
            skip,
            now: 1,
            insertions: 0,
            collisions: 0,
            forgotten: 0,
            comparisons: 0,
            longest: 0,
        })
    }

    /// Forgets everything, and goes on with states of another shape and another size. The collision rate is
    /// that of insertions from here on.
    ///
    /// # Errors
    /// As [`CacheStore::new`].
    pub(crate) fn begin_again(
        &mut self,
        shape: Shape,
        options: CacheOptions,
    ) -> Result<(), String> {
        // There is not memory for both.
        self.words = Vec::new();
        let begun = CacheStore::new(shape, options)?;
        let (now, forgotten) = (self.now, self.forgotten + self.insertions);
        *self = CacheStore { now, forgotten, ..begun };
        Ok(())
    }

    /// The bound on omissions by so many comparisons.
    fn bound(&self, comparisons: u64) -> f64 {
        let bound = |bits| bounds::counted(comparisons as f64, f64::from(bits));
        self.layout.signature.map_or(0.0, bound)
    }

    /// Entries of the cache.
    pub fn entries(&self) -> u64 {
        self.layout.sets * self.layout.ways as u64
    }

    /// States that were entered: the number of visits.
    pub fn insertions(&self) -> u64 {
        self.insertions + self.forgotten
    }

    /// Insertions that overwrote another state.
    pub fn collisions(&self) -> u64 {
        self.collisions
    }

    /// Collisions per insertion, over all insertions since it was empty.
    pub fn collision_rate(&self) -> f64 {
        self.collisions as f64 / self.insertions.max(1) as f64
    }

    /// Shows what is in the cache: full states, or signatures of one word.
    pub fn each(&self, f: &mut dyn FnMut(&[u64])) {
        let mut state = vec![0; if self.layout.signature.is_some() { 1 } else { self.shape.words }];
        for number in 0..self.entries() as usize {
            let block = number / self.layout.block * self.layout.block_words;
            let place = Place { block, entry: number % self.layout.block };
            if self.mark(place) != 0 {
                for (k, word) in state.iter_mut().enumerate() {
                    *word = self.word(place, k);
                }
                f(&state);
            }
        }
    }

    /// The first word of a block.
    #[inline]
    fn at(&self, place: Place) -> usize {
        self.skip + place.block
    }

    #[inline]
    fn byte(&self, row: usize, entry: usize) -> u64 {
        self.words[row + entry / 8] >> (entry % 8 * 8) & 0xff
    }

    #[inline]
    fn set_byte(&mut self, row: usize, entry: usize, byte: u64) {
        let (word, shift) = (&mut self.words[row + entry / 8], entry % 8 * 8);
        *word = *word & !(0xff << shift) | byte << shift;
    }

    #[inline]
    fn mark(&self, place: Place) -> u64 {
        self.byte(self.at(place), place.entry)
    }

    /// How many levels ago the state of an entry was found.
    #[inline]
    fn levels_ago(&self, ages: usize, place: Place) -> u64 {
        let age = self.byte(self.at(place) + ages, place.entry);
        (self.now + AGES - age) % AGES
    }

    /// The word with the note of an entry, and where in it that is.
    #[inline]
    fn note_at(&self, notes: usize, place: Place) -> (usize, usize) {
        (self.at(place) + notes + place.entry / worth::NOTES, place.entry % worth::NOTES)
    }

    /// An entry was met again.
    #[inline]
    fn met(&mut self, place: Place) {
        if let (Replacement::LeastMet, Some(notes)) = (self.options.replacement, self.layout.ages) {
            let (word, at) = self.note_at(notes, place);
            let before = worth::note(self.words[word], at);
            let after = worth::met(before, self.now);
            if after != before {
                self.words[word] = worth::noted(self.words[word], at, after);
            }
        }
    }

    /// Notes when the state of an entry was found: now.
    #[inline]
    fn set_age(&mut self, place: Place) {
        match (self.options.replacement, self.layout.ages) {
            (Replacement::LeastMet, Some(notes)) => {
                let (word, at) = self.note_at(notes, place);
                self.words[word] = worth::noted(self.words[word], at, worth::found(self.now));
            }
            (Replacement::Oldest, Some(ages)) => {
                self.set_byte(self.at(place) + ages, place.entry, self.now);
            }
            _ => {}
        }
    }

    /// The word and the bit where word `k` of what an entry keeps begins, and how many bits it has.
    #[inline]
    fn bits_at(&self, place: Place, k: usize) -> (usize, usize, usize) {
        let bit = place.entry * self.layout.bits + 64 * k;
        let word = self.at(place) + self.layout.head_words + bit / 64;
        (word, bit % 64, (self.layout.bits - 64 * k).min(64))
    }

    /// Word `k` of what an entry keeps.
    #[inline]
    fn word(&self, place: Place, k: usize) -> u64 {
        let (at, shift, bits) = self.bits_at(place, k);
        let mut word = self.words[at] >> shift;
        if shift + bits > 64 {
            word |= self.words[at + 1] << (64 - shift);
        }
        word & (u64::MAX >> (64 - bits))
    }

    #[inline]
    fn set_word(&mut self, place: Place, k: usize, value: u64) {
        let (at, shift, bits) = self.bits_at(place, k);
        let mask = u64::MAX >> (64 - bits);
        self.words[at] = self.words[at] & !(mask << shift) | value << shift;
        if shift + bits > 64 {
            let next = &mut self.words[at + 1];
            *next = *next & !(mask >> (64 - shift)) | value >> (64 - shift);
        }
    }

    /// Whether an entry keeps this state.
    #[inline]
    fn keeps(&self, place: Place, state: &[u64]) -> bool {
        let Some((last, others)) = state.split_last() else { return true };
        let (at, shift, _) = self.bits_at(place, 0);
        let kept = &self.words[at..=at + others.len()];
        let mut differs = 0;
        for (k, own) in others.iter().enumerate() {
            // Two shifts, because one by all bits is none.
            differs |= (kept[k] >> shift | kept[k + 1] << 1 << (63 - shift)) ^ own;
        }
        differs == 0 && self.word(place, others.len()) == *last
    }

    /// The entries of a set with this mark: a bit for each, from the first on.
    #[inline]
    fn marked(&self, set: Place, mark: u8) -> u64 {
        let (row, ways) = (self.at(set) + set.entry / 8, self.layout.ways);
        if ways < 16 {
            // Sets of fewer than eight entries share a word of marks.
            let equal = equal_bytes([self.words[row], 0], mark) & 0xff;
            return equal >> (set.entry % 8) & ((1 << ways) - 1);
        }
        let pairs = self.words[row..row + ways / 8].chunks_exact(2).enumerate();
        pairs.fold(0, |all, (i, pair)| all | equal_bytes([pair[0], pair[1]], mark) << (16 * i))
    }

    /// The first of these entries of a set.
    #[inline]
    fn first_of(set: Place, entries: u64) -> Option<Place> {
        let entry = set.entry + entries.trailing_zeros() as usize;
        (entries != 0).then_some(Place { entry, ..set })
    }

    /// Starts to load the entry in which a state is kept, or the one that it may be written to.
    #[inline]
    fn load_entry(&self, hashed: Hashed) {
        let set = self.layout.set(hashed.place);
        let kept = Self::first_of(set, self.marked(set, mark(hashed)));
        let place = kept.or_else(|| Self::first_of(set, self.marked(set, 0)));
        let Some(place) = place else { return };
        if let Some(notes) = self.layout.ages {
            prefetch(&self.words[self.note_at(notes, place).0]);
        }
        let (at, shift, _) = self.bits_at(place, 0);
        let end = at + (shift + self.layout.bits - 1) / 64;
        (at..end).step_by(LINE).for_each(|word| prefetch(&self.words[word]));
        prefetch(&self.words[end]);
    }

    /// Looks among the entries with this mark for one that keeps a state. Returns a free entry of the set, if
    /// there is one, and how many were compared; or that the state is known.
    #[inline]
    fn find(
        &self,
        set: Place,
        mark: u8,
        keeps: impl Fn(Place) -> bool,
    ) -> Result<(Option<Place>, u64), Known> {
        let (mut equal, mut compared) = (self.marked(set, mark), 0);
        while let Some(place) = Self::first_of(set, equal) {
            if keeps(place) {
                return Err(Known(place));
            }
            equal &= equal - 1;
            compared += 1;
        }
        Ok((Self::first_of(set, self.marked(set, 0)), compared))
    }

    /// The entry of a full set to overwrite. Among equals chance decides: the walk starts
    /// anywhere, each time elsewhere. (If a state always overwrote the same entry, two states of a cycle
    /// could do so for ever.)
    #[inline]
    fn victim(&mut self, set: Place, hashed: Hashed) -> Place {
        let ways = self.layout.ways;
        let turn = self.insertions.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let start = ((hashed.place >> 8).wrapping_add(turn) as u32) as usize;
        let place = |i: usize| Place { entry: set.entry + ((start + i) & (ways - 1)), ..set };
        match (self.options.replacement, self.layout.ages) {
            (Replacement::LeastMet, Some(notes)) => {
                // The entries of the set that share a word of notes with a random one.
                let len = ways.min(worth::NOTES);
                let group = Place { entry: set.entry + (start & (ways - len)), ..set };
                let (word, first) = self.note_at(notes, group);
                let (from, now) = (start >> 8, self.now);
                let at = worth::least(&mut self.words[word], first, len, from, now);
                Place { entry: group.entry + at - first, ..set }
            }
            (Replacement::Oldest, Some(ages)) => {
                let places = (0..ways).map(place).rev();
                places.max_by_key(|place| self.levels_ago(ages, *place)).unwrap_or(set)
            }
            _ => place(0),
        }
    }

    /// Whether a state is not in the cache; if so, it is now.
    #[inline]
    fn enter(&mut self, state: &[u64], hashed: Hashed) -> bool {
        let (set, mark) = (self.layout.set(hashed.place), mark(hashed));
        let signature = self.layout.signature.map(|bits| hashed.value >> (64 - bits));
        let found = match signature {
            Some(signature) => self.find(set, mark, |place| self.word(place, 0) == signature),
            None => self.find(set, mark, |place| self.keeps(place, state)),
        };
        let (free, compared) = match found {
            Ok(new) => new,
            Err(Known(place)) => {
                self.met(place);
                return false;
            }
        };
        self.comparisons += compared;
        self.longest = self.longest.max(compared);
        self.insertions += 1;
        self.collisions += u64::from(free.is_none());
        let place = free.unwrap_or_else(|| self.victim(set, hashed));
        self.set_byte(self.at(place), place.entry, mark.into());
        match signature {
            Some(signature) => self.set_word(place, 0, signature),
            None => {
                for (k, word) in state.iter().enumerate() {
                    self.set_word(place, k, *word);
                }
            }
        }
        self.set_age(place);
        true
    }

    /// Hashes a group of states and starts to load where they are looked for.
    #[inline]
    fn group(&self, states: Block<'_>, out: &mut [Hashed; GROUP]) {
        for (i, hashed) in out[..states.len()].iter_mut().enumerate() {
            let state = states.state(i);
            *hashed = match self.layout.signature {
                Some(_) => self.family.of(state),
                None => Hashed { place: self.family.place(state), value: 0 },
            };
            let set = self.layout.set(hashed.place);
            prefetch(&self.words[self.at(set) + set.entry / 8]);
        }
    }

    /// An empty cache with the numbers of a saved one, and these options for the rest. It has the size
    /// that it had, whatever memory there is: which states are remembered depends on it.
    fn with_numbers(options: CacheOptions, shape: Shape, n: &[u64]) -> Result<CacheStore, String> {
        let senseless = || SENSELESS.to_string();
        let (&[words, seed, bits, ways, sets, now], counts) =
            n.split_first_chunk::<6>().ok_or_else(senseless)?;
        let &[insertions, collisions, forgotten, comparisons, longest] =
            <&[u64; 5]>::try_from(counts).map_err(|_| senseless())?;
        let entry = match u32::try_from(bits).map_err(|_| senseless())? {
            0 => CacheEntry::Full,
            bits => CacheEntry::Signature(bits),
        };
        let entries = sets.checked_mul(ways).ok_or_else(senseless)?;
        let ways = u32::try_from(ways).map_err(|_| senseless())?;
        let size = CacheSize::Entries(entries);
        let options = CacheOptions { entry, ways, size, seed, ..options };
        let cache = CacheStore::new(shape, options)?;
        let same = cache.layout.sets == sets && cache.layout.ways == ways as usize;
        if words != shape.words as u64 || !same || !(1..=AGES).contains(&now) {
            return Err(senseless());
        }
        Ok(CacheStore { now, insertions, collisions, forgotten, comparisons, longest, ..cache })
    }

    /// Gives up if there are too many collisions.
    fn check_rate(&self) -> Result<(), Exhausted> {
        let Some(most) = self.options.max_rate else { return Ok(()) };
        let rate = self.collision_rate();
        let judged = self.insertions >= self.entries() && rate > most;
        if !judged {
            return Ok(());
        }
        let smaller = match self.layout.signature {
            None => "keep signatures instead of full states (--bits)",
            Some(_) => "shorter signatures (--bits)",
        };
        Err(Exhausted::Other(format!(
            "the collision rate of the cache reached {rate:.3}, above --max-collision-rate {most}: \
             the search may never end; give the cache more memory (it has {} entries), {smaller}, \
             or use --strategy sorted, which forgets nothing",
            self.entries()
        )))
    }
}

impl Visited for CacheStore {
    fn offer(&mut self, new: Block<'_>, fresh: &mut Picks) -> Result<(), Exhausted> {
        fresh.clear();
        // Each look-up waits for memory twice, for marks and for an entry: so they are begun two groups ahead.
        let mut stages = [[Hashed::default(); GROUP]; 3];
        let groups = new.len().div_ceil(GROUP);
        let ahead = self.words.len() >= FAR_WORDS || self.layout.bits >= WIDE_BITS;
        for number in 0..groups + 2 {
            if number < groups {
                self.group(new.slice(number * GROUP, GROUP), &mut stages[number % 3]);
            }
            let len = |number: usize| (new.len() - number * GROUP).min(GROUP);
            if let Some(second) = number.checked_sub(1).filter(|n| *n < groups && ahead) {
                let hashed = &stages[second % 3][..len(second)];
                hashed.iter().for_each(|hashed| self.load_entry(*hashed));
            }
            let Some(third) = number.checked_sub(2) else { continue };
            for (i, hashed) in stages[third % 3][..len(third)].iter().enumerate() {
                let at = third * GROUP + i;
                if self.enter(new.state(at), *hashed) {
                    fresh.push(at as u32);
                }
            }
            self.check_rate()?;
        }
        Ok(())
    }

    fn settle(&mut self, _: &mut dyn FnMut(Block<'_>)) -> Result<(), Exhausted> {
        self.now = self.now % AGES + 1;
        Ok(())
    }

    fn dump(&self, put: &mut Put<'_>) -> Result<(), String> {
        let numbers = [
            self.shape.words as u64,
            self.options.seed,
            u64::from(self.layout.signature.unwrap_or(0)),
            self.layout.ways as u64,
            self.layout.sets,
            self.now,
            self.insertions,
            self.collisions,
            self.forgotten,
            self.comparisons,
            self.longest,
        ];
        put_head(KIND, &numbers, put)?;
        let words = self.layout.words().unwrap_or(0);
        put_table(0, words, |i| self.words[self.skip + i], put)
    }

    fn restore(&mut self, record: &[u64]) -> Result<(), String> {
        match parse(KIND, record)? {
            Record::Head(numbers) => {
                *self = CacheStore::with_numbers(self.options, self.shape, numbers)?;
                Ok(())
            }
            Record::Table(_, runs) => {
                let words = self.layout.words().unwrap_or(0);
                let table = &mut self.words[self.skip..self.skip + words];
                take_table(runs, words, |i, word| {
                    table[i] = word;
                    true
                })
            }
        }
    }

    fn coverage(&self) -> Coverage {
        let bytes = self.words.len() as u64 * 8;
        Coverage { states: self.insertions(), bytes, omission: self.losses().omission }
    }

    fn losses(&self) -> Losses {
        let figure = |key, title, value| Figure { key, title, value };
        let mut figures = vec![
            figure("collision_rate", "collision rate", self.collision_rate()),
            figure("insertions", "insertions", self.insertions() as f64),
            figure("collisions", "collisions", self.collisions as f64),
            figure("cache_entries", "entries of the cache", self.entries() as f64),
            figure("ways", "ways", self.layout.ways as f64),
        ];
        let (omission, path_omission) = (self.bound(self.comparisons), self.bound(self.longest));
        if let Some(bits) = self.layout.signature {
            figures.push(figure("bits", "bits compared", f64::from(bits)));
            figures.push(figure("comparisons", "comparisons of inserts", self.comparisons as f64));
            figures.push(figure("seed", "seed", self.options.seed as f64));
        }
        if self.forgotten > 0 {
            let title = "of these forgotten at once";
            figures.insert(2, figure("forgotten_at_once", title, self.forgotten as f64));
        }
        let forgets = self.collisions > 0 || self.forgotten > 0;
        Losses { omission, path_omission, forgets, figures }
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
