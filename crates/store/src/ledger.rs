//! The cache of states of a depth-first search: bounded, exact, and it never forgets the stack.
//!
//! The store of state-space caching (Godefroid, Holzmann and Pirottin): states are held in full, with a
//! few words beside each (a sleep set). When it is full, a few entries that are not on the stack are
//! looked at, and the one that is worth the least is overwritten ([`Oust`]).
//!
//! Entries stand in arrays, chained by their hash: `heads` has the first entry of each chain, `next` the
//! one behind an entry. An entry has the same place from when it is entered until it is overwritten.

use crate::hash::hash;
use ergodic_system::{Coverage, Exhausted, Figure, Ledger, Losses, Shape};

/// Entries that are looked at to choose one to be overwritten.
const LOOK_AT: usize = 16;
/// No entry.
const NONE: u32 = u32::MAX;

/// Which entry is worth the least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Oust {
    /// Any one.
    #[default]
    Random,
    /// The one that was reached the fewest times.
    LeastVisited,
    /// The one that was reached the most times.
    MostVisited,
    /// The one below which the fewest states were found.
    SmallestSubtree,
    /// The one that only steps of the least important kinds lead to.
    Kind,
}

/// How large a ledger is, and what it forgets.
#[derive(Clone, Copy, Debug)]
pub struct LedgerOptions {
    /// States, at most.
    pub states: u64,
    /// Words beside each.
    pub note_words: usize,
    /// What is forgotten.
    pub oust: Oust,
    /// Seed of random choices.
    pub seed: u64,
}

/// See the module.
#[derive(Debug)]
pub struct LedgerStore {
    width: usize,
    options: LedgerOptions,
    states: Vec<u64>,
    notes: Vec<u64>,
    entries: Vec<Entry>,
    /// First entry of each chain; a power of two of them.
    heads: Vec<u32>,
    random: u64,
    entered: u64,
    forgotten: u64,
    stacked: u64,
    most_stacked: u64,
}

/// What is known about a state that is held.
#[derive(Clone, Copy, Debug)]
struct Entry {
    next: u32,
    visits: u32,
    /// How often it is on the stack.
    stacked: u32,
    /// States found below it, when it was popped last.
    below: u32,
    kind: u8,
}

impl LedgerStore {
    /// An empty ledger.
    pub fn new(shape: Shape, options: LedgerOptions) -> LedgerStore {
        let options =
            LedgerOptions { states: options.states.clamp(1, u64::from(NONE) - 1), ..options };
        LedgerStore {
            width: shape.words,
            options,
            states: Vec::new(),
            notes: Vec::new(),
            entries: Vec::new(),
            heads: vec![NONE; 64],
            random: options.seed ^ 0x9e37_79b9_7f4a_7c15,
            entered: 0,
            forgotten: 0,
            stacked: 0,
            most_stacked: 0,
        }
    }

    /// Bytes that a state takes in such a ledger.
    pub fn state_bytes(shape: Shape, note_words: usize) -> u64 {
        // Up to two heads per entry.
        (shape.words + note_words) as u64 * 8 + size_of::<Entry>() as u64 + 8
    }

    fn state(&self, place: u32) -> &[u64] {
        let from = place as usize * self.width;
        &self.states[from..from + self.width]
    }

    fn chain(&self, state: &[u64]) -> usize {
        hash(state) as usize & (self.heads.len() - 1)
    }

    /// A number below `bound`.
    fn draw(&mut self, bound: usize) -> usize {
        // Xorshift: nothing depends on its quality but what is forgotten.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((u128::from(self.random) * bound as u128) >> 64) as usize
    }

    /// Makes room for one more: a new place, or that of a state that is forgotten.
    fn make_room(&mut self) -> Result<u32, Exhausted> {
        if (self.entries.len() as u64) < self.options.states {
            if self.entries.len() >= self.heads.len() {
                self.more_heads();
            }
            let place = self.entries.len() as u32;
            self.states.resize(self.states.len() + self.width, 0);
            self.notes.resize(self.notes.len() + self.options.note_words, 0);
            self.entries.push(Entry { next: NONE, visits: 0, stacked: 0, below: 0, kind: 0 });
            return Ok(place);
        }
        let Some(place) = self.choose() else {
            let text = format!(
                "the stack of {} states fills the cache: give --cache more",
                self.options.states
            );
            return Err(Exhausted::Other(text));
        };
        self.unlink(place);
        self.forgotten += 1;
        Ok(place)
    }

    fn more_heads(&mut self) {
        self.heads = vec![NONE; self.heads.len() * 2];
        for place in 0..self.entries.len() as u32 {
            self.link(place);
        }
    }

    fn link(&mut self, place: u32) {
        let chain = self.chain(self.state(place));
        self.entries[place as usize].next = self.heads[chain];
        self.heads[chain] = place;
    }

    fn unlink(&mut self, place: u32) {
        let chain = self.chain(self.state(place));
        let next = self.entries[place as usize].next;
        if self.heads[chain] == place {
            self.heads[chain] = next;
            return;
        }
        let mut at = self.heads[chain];
        while at != NONE {
            let behind = self.entries[at as usize].next;
            if behind == place {
                self.entries[at as usize].next = next;
                return;
            }
            at = behind;
        }
    }

    /// The entry that is worth the least of a few.
    fn choose(&mut self) -> Option<u32> {
        let mut best: Option<(u64, u32)> = None;
        for _ in 0..LOOK_AT {
            let place = self.draw(self.entries.len());
            let entry = &self.entries[place];
            if entry.stacked > 0 {
                continue;
            }
            let worth = match self.options.oust {
                Oust::Random => return Some(place as u32),
                Oust::LeastVisited => u64::from(entry.visits),
                Oust::MostVisited => u64::MAX - u64::from(entry.visits),
                Oust::SmallestSubtree => u64::from(entry.below),
                Oust::Kind => u64::MAX - u64::from(entry.kind),
            };
            if best.is_none_or(|(least, _)| worth < least) {
                best = Some((worth, place as u32));
            }
        }
        best.map(|(_, place)| place).or_else(|| self.any_unstacked())
    }

    /// Nearly all are on the stack: the first one that is not, from somewhere on.
    fn any_unstacked(&mut self) -> Option<u32> {
        let from = self.draw(self.entries.len());
        let free = |place: &usize| self.entries[*place].stacked == 0;
        let place = (from..self.entries.len()).find(free).or_else(|| (0..from).find(free));
        place.map(|place| place as u32)
    }
}

impl Ledger for LedgerStore {
    fn note_words(&self) -> usize {
        self.options.note_words
    }

    fn find(&self, state: &[u64]) -> Option<u32> {
        let mut at = self.heads[self.chain(state)];
        while at != NONE {
            if self.state(at) == state {
                return Some(at);
            }
            at = self.entries[at as usize].next;
        }
        None
    }

    fn enter(&mut self, state: &[u64], kind: u8) -> Result<u32, Exhausted> {
        let place = self.make_room()?;
        let from = place as usize * self.width;
        self.states[from..from + self.width].copy_from_slice(state);
        self.note(place).fill(0);
        self.entries[place as usize] = Entry { next: NONE, visits: 1, stacked: 0, below: 0, kind };
        self.link(place);
        self.entered += 1;
        self.push(place);
        Ok(place)
    }

    fn note(&mut self, place: u32) -> &mut [u64] {
        let from = place as usize * self.options.note_words;
        &mut self.notes[from..from + self.options.note_words]
    }

    fn reached(&mut self, place: u32, kind: u8) {
        let entry = &mut self.entries[place as usize];
        entry.visits = entry.visits.saturating_add(1);
        entry.kind = entry.kind.min(kind);
    }

    fn push(&mut self, place: u32) {
        let entry = &mut self.entries[place as usize];
        entry.stacked += 1;
        self.stacked += u64::from(entry.stacked == 1);
        self.most_stacked = self.most_stacked.max(self.stacked);
    }

    fn pop(&mut self, place: u32, below: u64) {
        let entry = &mut self.entries[place as usize];
        entry.stacked = entry.stacked.saturating_sub(1);
        self.stacked -= u64::from(entry.stacked == 0);
        entry.below = u32::try_from(below).unwrap_or(u32::MAX);
    }

    fn is_stacked(&self, place: u32) -> bool {
        self.entries[place as usize].stacked > 0
    }

    fn forgotten(&self) -> u64 {
        self.forgotten
    }

    fn coverage(&self) -> Coverage {
        let words = self.states.capacity() + self.notes.capacity();
        let entries = self.entries.capacity() * size_of::<Entry>() + self.heads.capacity() * 4;
        Coverage { states: self.entered, bytes: (words * 8 + entries) as u64, omission: 0.0 }
    }

    fn losses(&self) -> Losses {
        let figure = |key, title, value: u64| Figure { key, title, value: value as f64 };
        Losses {
            forgets: self.forgotten > 0,
            figures: vec![
                figure("cached_states", "states in the cache", self.entries.len() as u64),
                figure("forgotten_states", "states forgotten", self.forgotten),
                figure("most_stacked_states", "most states on the stack", self.most_stacked),
            ],
            ..Losses::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    const ALL: [Oust; 5] =
        [Oust::Random, Oust::LeastVisited, Oust::MostVisited, Oust::SmallestSubtree, Oust::Kind];

    fn ledger(states: u64, oust: Oust, seed: u64) -> LedgerStore {
        let options = LedgerOptions { states, note_words: 1, oust, seed };
        LedgerStore::new(Shape::of_bits(128), options)
    }

    #[test]
    fn what_is_found_was_entered_and_the_stack_stays() {
        for oust in ALL {
            let mut ledger = ledger(50, oust, 7);
            let mut stack = Vec::new();
            let mut notes = HashMap::new();
            for i in 0..5000u64 {
                let state = [i * 7919 % 300, i % 3];
                match ledger.find(&state) {
                    Some(place) => {
                        assert_eq!(ledger.note(place)[0], notes[&state]);
                        ledger.reached(place, (i % 5) as u8);
                    }
                    None => {
                        let place = ledger.enter(&state, (i % 5) as u8).unwrap();
                        ledger.note(place)[0] = i;
                        notes.insert(state, i);
                        stack.push((state, place));
                    }
                }
                if stack.len() > 40 || i % 3 == 0 {
                    let (_, place) = stack.pop().unwrap();
                    ledger.pop(place, i);
                }
                for (state, place) in &stack {
                    assert_eq!(ledger.find(state), Some(*place), "{oust:?}");
                }
            }
            assert!(ledger.forgotten() > 1000);
            assert!(ledger.entries.len() <= 50);
        }
    }

    #[test]
    fn a_stack_that_fills_it_is_refused_with_a_way_out() {
        let mut ledger = ledger(10, Oust::Random, 7);
        for i in 0..10 {
            ledger.enter(&[i, 0], 0).unwrap();
        }
        let why = ledger.enter(&[10, 0], 0).unwrap_err();
        assert!(matches!(why, Exhausted::Other(text) if text.contains("--cache")));
        let place = ledger.find(&[3, 0]).unwrap();
        ledger.pop(place, 0);
        assert_eq!(ledger.enter(&[10, 0], 0).unwrap(), place);
        assert_eq!(ledger.find(&[3, 0]), None);
    }

    #[test]
    fn the_least_worthy_of_those_looked_at_goes() {
        for (oust, gone) in [(Oust::LeastVisited, 4), (Oust::MostVisited, 5), (Oust::Kind, 6)] {
            let mut right = 0;
            for seed in 0..100 {
                let mut ledger = ledger(10, oust, seed);
                for i in 0..10u64 {
                    let kind = if i == 6 { 4 } else { 1 };
                    let place = ledger.enter(&[i, 0], kind).unwrap();
                    let more = if i == 5 { 9 } else { u64::from(i != 4) };
                    (0..more).for_each(|_| ledger.reached(place, kind));
                    ledger.pop(place, i);
                }
                ledger.enter(&[100, 0], 0).unwrap();
                right += u64::from(ledger.find(&[gone, 0]).is_none());
            }
            // Of sixteen looks at ten entries one meets it with probability 0.81.
            assert!(right > 60, "{oust:?}: {right}");
        }
    }
}
