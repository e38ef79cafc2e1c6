//! A set for one owner: in memory, and when that is full the rest in an archive.
//!
//! Unlike the searches, which put candidates off until a level ends, it answers at once. So whoever uses
//! it should offer many states at a time: each offer of states that memory does not know reads the
//! archive. Of equal states in one block the first is fresh, as [`Visited`] wants it.

use ergodic_system::{
    Archive, Block, Coverage, Exhausted, Losses, PAD_WORDS, Picks, Shared, Sole, Visited,
};
use std::collections::HashSet;

/// How to open the archive, when memory is full.
pub type OpenArchive = Box<dyn FnOnce() -> Result<Box<dyn Archive>, Exhausted> + Send>;

/// A shared set in the hands of one owner, with an archive behind it.
pub struct Layered<V: Shared> {
    set: V,
    /// Of the last offer.
    scratch: Option<V::Scratch>,
    open: Option<OpenArchive>,
    archive: Option<Box<dyn Archive>>,
    states: u64,
    /// Offered states that memory does not know: their places and their words.
    places: Vec<u32>,
    words: Vec<u64>,
}

impl<V: Shared> std::fmt::Debug for Layered<V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layered").field("states", &self.states).finish_non_exhaustive()
    }
}

impl<V: Shared> Layered<V> {
    /// A set that ends when memory does, if there is no way to open an archive.
    pub fn new(set: V, open: Option<OpenArchive>) -> Layered<V> {
        let (places, words) = (Vec::new(), Vec::new());
        Layered { set, scratch: None, open, archive: None, states: 0, places, words }
    }

    /// Offers states to the set in memory, as far as there is room; says how far that was.
    fn offer_memory(&mut self, new: Block<'_>, fresh: &mut Picks) -> Result<usize, Exhausted> {
        let scratch = self.scratch.take().unwrap_or_else(|| self.set.scratch());
        let mut sole = Sole::again(&mut self.set, scratch);
        let (from, answer) = sole.offer_up_to(new, fresh);
        self.scratch = Some(sole.into_scratch());
        if let Err(why) = answer {
            let Some(open) = self.open.take() else { return Err(why) };
            self.archive = Some(open()?);
        }
        Ok(from)
    }

    /// Offers the states from `from` on to the archive, but for those that memory knows.
    fn offer_archive(
        &mut self,
        archive: &mut dyn Archive,
        new: Block<'_>,
        from: usize,
        fresh: &mut Picks,
    ) -> Result<(), Exhausted> {
        let mut unknown: Picks = (from as u32..new.len() as u32).collect();
        let mut scratch = self.scratch.take().unwrap_or_else(|| self.set.scratch());
        self.set.retain_unknown(&mut scratch, new, 0, &mut unknown);
        self.scratch = Some(scratch);
        let mut seen = HashSet::new();
        unknown.retain(|i| seen.insert(new.state(*i as usize)));
        self.places.clear();
        self.places.extend(unknown);
        self.words.clear();
        self.places.iter().for_each(|i| self.words.extend_from_slice(new.state(*i as usize)));
        self.words.resize(self.words.len() + PAD_WORDS, 0);
        if self.places.is_empty() {
            return Ok(());
        }
        let block = Block::new(&self.words, new.width(), self.places.len());
        let mut admitted = Vec::new();
        archive.admit(&[block], &mut admitted)?;
        let first = fresh.len();
        fresh.extend(admitted.iter().map(|(_, i)| self.places[*i as usize]));
        fresh[first..].sort_unstable();
        Ok(())
    }
}

impl<V: Shared> Visited for Layered<V> {
    fn offer(&mut self, new: Block<'_>, fresh: &mut Picks) -> Result<(), Exhausted> {
        fresh.clear();
        let from = if self.archive.is_some() { 0 } else { self.offer_memory(new, fresh)? };
        if let Some(mut archive) = self.archive.take() {
            let offered = self.offer_archive(archive.as_mut(), new, from, fresh);
            self.archive = Some(archive);
            offered?;
        }
        self.states += fresh.len() as u64;
        Ok(())
    }

    fn coverage(&self) -> Coverage {
        let bytes = self.set.bytes() + self.archive.as_ref().map_or(0, |archive| archive.bytes());
        Coverage { states: self.states, bytes, omission: self.losses().omission }
    }

    fn losses(&self) -> Losses {
        let mut losses = self.set.losses();
        if let Some(archive) = &self.archive {
            let more = archive.losses();
            losses.omission += more.omission;
            losses.path_omission = losses.path_omission.max(more.path_omission);
            losses.figures.extend(more.figures);
        }
        losses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::universal::Random;
    use crate::{FlatStore, SortedArchive, sorted};
    use ergodic_disk::Dir;
    use ergodic_system::Shape;

    fn set(memory: u64, archive: bool) -> Layered<FlatStore> {
        let shape = Shape::of_bits(64);
        let open = move || {
            let dir = Dir::fresh(&std::env::temp_dir()).unwrap();
            let settings = sorted::Settings::new(1 << 20, 1);
            Ok(Box::new(SortedArchive::new(dir, shape, settings)) as Box<dyn Archive>)
        };
        let open = archive.then(|| Box::new(open) as OpenArchive);
        Layered::new(FlatStore::new(shape, Some(memory)), open)
    }

    #[test]
    fn it_answers_as_a_set_does_before_and_after_memory_is_full() {
        let (mut layered, mut plain) = (set(64 << 10, true), HashSet::new());
        let mut random = Random::new(5);
        let mut fresh = Picks::new();
        for _ in 0..200 {
            let states: Vec<u64> = (0..500).map(|_| random.below(60_000)).collect();
            let mut words = states.clone();
            words.push(0);
            layered.offer(Block::new(&words, 1, states.len()), &mut fresh).unwrap();
            let expected: Picks =
                (0..500_u32).filter(|i| plain.insert(states[*i as usize])).collect();
            assert_eq!(fresh, expected);
        }
        assert!(layered.archive.is_some(), "it did not get full");
        assert_eq!(layered.coverage().states, plain.len() as u64);
    }

    #[test]
    fn without_an_archive_it_ends() {
        let mut layered = set(64 << 10, false);
        let words: Vec<u64> = (0..100_001).collect();
        let why = layered.offer(Block::new(&words, 1, 100_000), &mut Picks::new()).unwrap_err();
        assert!(matches!(why, Exhausted::Memory { .. }), "{why:?}");
    }
}
