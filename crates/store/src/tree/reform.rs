//! How a [`TreeStore`] takes another form, when the references of a piece no longer fit into the old one.
//!
//! If they fit with other widths, the roots are written anew where they stand: their lines do not depend on
//! widths. Else the states are entered into a new store of another kind of form. Either way this is done while
//! nobody uses the store.
//!
//! **Invariant:** a store that cannot take another form, for lack of memory, is as it was.

use super::TreeStore;
use super::form::Form;
use crate::intern::Interner;
use crate::memory::{in_parallel, part_of};
use crate::sync::Ordering;
use ergodic_system::{Block, Exhausted, PAD_WORDS, Picks, Shared};

/// States that are entered at a time.
const BATCH: usize = 1000;

impl TreeStore {
    /// Takes the form that suits the number of values of the pieces.
    pub(super) fn reform(&mut self) -> Result<(), Exhausted> {
        let (pieces, pairs) = (self.pieces.iter(), self.pairs.iter());
        let counts = pieces.map(Interner::taken).chain(pairs.map(Interner::taken));
        let form = self.form.next(self.shape, &Vec::from_iter(counts));
        if !form.is_like(&self.form) {
            return self.rebuild(form);
        }
        let (roots, before) = (&self.roots, &self.form);
        let part = part_of(roots.count(), self.threads);
        let parts = (0..roots.count()).step_by(part).map(|from| from..from + part);
        in_parallel(self.threads, parts, |part| {
            for line in part.start..part.end.min(roots.count()) {
                for slot in roots.line(line) {
                    let root = slot.load(Ordering::Relaxed);
                    slot.store(before.repacked(root, &form), Ordering::Relaxed);
                }
            }
        });
        self.form = form;
        self.allow_widths();
        Ok(())
    }

    /// Enters all states into a store of another form, and becomes that.
    fn rebuild(&mut self, form: Form) -> Result<(), Exhausted> {
        if self.spare(self.bytes()) < self.bytes() {
            return Err(Exhausted::Memory { limit: self.limit.unwrap_or(u64::MAX) });
        }
        let mut new = TreeStore::formed(self.shape, None, self.sizing, self.most, form);
        let (mut entry, mut result) = (Entry::new(&new), Ok(()));
        self.each_state(&self.keys(), |state| {
            if result.is_ok() {
                result = entry.push(&mut new, state);
            }
        });
        result.and_then(|()| entry.enter(&mut new))?;
        (new.limit, new.threads) = (self.limit, self.threads);
        new.generation = self.generation + 1;
        *self = new;
        Ok(())
    }
}

/// States on their way into another store.
struct Entry {
    scratch: <TreeStore as Shared>::Scratch,
    words: Vec<u64>,
    count: usize,
    fresh: Picks,
}

impl Entry {
    fn new(store: &TreeStore) -> Entry {
        let words = vec![0; BATCH * store.shape.words + PAD_WORDS];
        Entry { scratch: store.scratch(), words, count: 0, fresh: Picks::new() }
    }

    fn push(&mut self, store: &mut TreeStore, state: &[u64]) -> Result<(), Exhausted> {
        self.words[self.count * state.len()..][..state.len()].copy_from_slice(state);
        self.count += 1;
        if self.count == BATCH { self.enter(store) } else { Ok(()) }
    }

    fn enter(&mut self, store: &mut TreeStore) -> Result<(), Exhausted> {
        let block = Block::new(&self.words, store.shape.words, self.count);
        let mut from = 0;
        self.fresh.clear();
        loop {
            from = store.offer(&mut self.scratch, block, from, &mut self.fresh);
            if from == self.count {
                self.count = 0;
                return Ok(());
            }
            store.grow_if_needed(1)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::form::Step;
    use ergodic_system::{Shape, Sole, Visited};
    use std::collections::HashSet;

    const WORDS: usize = 12;

    fn filled(threads: usize, count: u64, word: impl Fn(u64, u64) -> u64) -> TreeStore {
        filled_with(WORDS, threads, count, word)
    }

    /// Offers so many states of so many words, some of them twice, and checks that exactly these are in
    /// the store then.
    fn filled_with(
        words: usize,
        threads: usize,
        count: u64,
        word: impl Fn(u64, u64) -> u64,
    ) -> TreeStore {
        let (shape, length) = (Shape::of_bits(64 * words), words);
        let mut store = TreeStore::new(shape, None);
        store.set_threads(threads);
        let (mut seen, mut fresh) = (HashSet::new(), Picks::new());
        for from in (0..count).step_by(50) {
            let numbers = (from..from + 60).flat_map(|i| (0..length as u64).map(move |k| (i, k)));
            let mut words: Vec<u64> = numbers.map(|(i, k)| word(i, k)).collect();
            let new: Picks = (0..60)
                .zip(words.chunks(length))
                .filter_map(|(i, state)| seen.insert(state.to_vec()).then_some(i))
                .collect();
            words.resize(words.len() + PAD_WORDS, 0);
            let mut sole = Sole::new(&mut store);
            sole.offer(Block::new(&words, length, 60), &mut fresh).expect("memory");
            assert_eq!(fresh, new);
        }
        assert!(seen.iter().all(|state| store.contains(state)));
        assert!(!store.contains(&vec![u64::MAX; length]));
        let mut back = HashSet::new();
        assert!(store.each(&mut |state| assert!(back.insert(state.to_vec()))));
        assert!(back == seen);
        store
    }

    fn spread(number: u64) -> u64 {
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[test]
    fn widths_follow_the_number_of_values() {
        for threads in [1, 2] {
            // The first word has 4,000 values, the last 60, the others one or two.
            let store = filled(threads, 4_000, |i, k| match k {
                0 => spread(i),
                11 => spread(i / 70),
                _ => i >> k & 1,
            });
            assert_eq!(store.form.steps, [Step::Pieces]);
            let widths: Vec<u32> = store.form.pieces.iter().map(|piece| piece.width).collect();
            assert!(widths[0] >= 12 && widths[11] >= 6 && widths.iter().sum::<u32>() <= 64);
            assert_eq!(store.generation, 0);
        }
    }

    #[test]
    fn words_that_change_together_become_pairs() {
        // Twelve words of 200 values each, which are six pairs of 200 values.
        let store = filled(1, 5_000, |i, k| spread(i.wrapping_mul(k / 2 + 3) % 200) ^ k);
        assert_eq!(store.form.steps, [Step::Pairs]);
        assert_eq!((store.form.pieces.len(), store.generation), (6, 1));
    }

    /// Of 18 words the last has most values. When it has 127 they no longer fit, and in pairs these are as
    /// many as the last pair may have at first.
    #[test]
    fn a_new_form_may_be_used_up_at_once() {
        let store = filled_with(18, 1, 300, |i, k| match k {
            0..=5 => i % 7,
            6..=16 => i % 3,
            _ => spread(i),
        });
        assert_eq!((&store.form.steps[0], store.generation), (&Step::Pairs, 1));
    }

    #[test]
    fn states_of_two_words_are_cut_into_four_or_into_halves() {
        // Each quarter has 300 values.
        let quarters = |i: u64, k: u64| {
            let value = |of: u64| spread(i.wrapping_mul(2 * of + 3) % 300) >> 32;
            value(2 * k) | value(2 * k + 1) << 32
        };
        let store = filled_with(2, 1, 5_000, quarters);
        assert_eq!((store.form.pieces.len(), store.generation), (4, 0));
        let store = filled_with(2, 2, 200_000, |i, k| spread(2 * i + k));
        assert_eq!((store.form.pieces.len(), store.generation), (2, 1));
        assert_eq!(store.form.steps, [Step::Pieces]);
    }

    #[test]
    fn states_that_share_nothing_become_plain() {
        let store = filled(2, 5_000, |i, k| spread(i * 12 + k));
        assert_eq!(store.form.steps[0], Step::Leaves);
        assert!(store.pieces.is_empty() && store.pairs.is_empty());
    }

    #[test]
    fn without_memory_for_another_form_a_store_stays_as_it_was() {
        let shape = Shape::of_bits(64 * WORDS);
        let mut store = TreeStore::new(shape, Some(300_000));
        let (mut scratch, mut fresh) = (store.scratch(), Picks::new());
        let mut words = vec![0; WORDS + PAD_WORDS];
        let mut taken = 0;
        let why = loop {
            for (k, word) in words[..WORDS].iter_mut().enumerate() {
                *word = spread(taken * 12 + k as u64);
            }
            let block = Block::new(&words, WORDS, 1);
            if store.offer(&mut scratch, block, 0, &mut fresh) == 1 {
                taken += 1;
            } else if let Err(why) = store.grow_if_needed(1) {
                break why;
            }
        };
        assert_eq!(why, Exhausted::Memory { limit: 300_000 });
        assert!(store.bytes() <= 300_000);
        assert_eq!(fresh.len() as u64, taken);
        for number in 0..taken {
            let state = Vec::from_iter((0..12).map(|k| spread(number * 12 + k)));
            assert!(store.contains(&state));
        }
    }
}
