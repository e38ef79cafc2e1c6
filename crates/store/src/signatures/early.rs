//! The cache of the serial search, before it goes to disk: of signatures, as its archive has them.
//!
//! A signature is a state of its own width for a [`CacheStore`] that keeps its entries in full.
//!
//! *The bound.* Some two of n states have equal signatures of b bits with a probability of at most
//! n(n − 1)/2 · 2⁻ᵇ, whatever was compared with what. Visits are counted instead of states, which is on
//! the safe side. What was counted is handed over as well.

use super::{Settings, SignatureFile, Signer};
use crate::bounds;
use crate::cache::{CacheEntry, CacheOptions, CacheStore};
use ergodic_system::records::Put;
use ergodic_system::{
    Block, Coverage, Exhausted, Figure, Losses, PAD_WORDS, Picks, Shape, Visited,
};

/// A cache of the signatures of states.
#[derive(Debug)]
pub struct EarlyCache {
    signer: Signer,
    cache: CacheStore,
    /// Words of a signature, and those of a block.
    width: usize,
    words: Vec<u64>,
}

impl EarlyCache {
    /// An empty cache for states of this shape, whose signatures are those of a [`SignatureFile`] with
    /// these settings.
    ///
    /// # Errors
    /// As [`CacheStore::new`].
    pub fn new(
        shape: Shape,
        settings: Settings,
        options: CacheOptions,
    ) -> Result<EarlyCache, String> {
        let signer = Signer::new(shape.words, settings.bits, settings.seed);
        let kept = Shape::of_bits(signer.bits() as usize);
        let options = CacheOptions { entry: CacheEntry::Full, ..options };
        let cache = CacheStore::new(kept, options)?;
        Ok(EarlyCache { signer, cache, width: kept.words, words: Vec::new() })
    }

    /// States that were entered: the number of visits.
    pub fn insertions(&self) -> u64 {
        self.cache.insertions()
    }

    /// Collisions per insertion.
    pub fn collision_rate(&self) -> f64 {
        self.cache.collision_rate()
    }

    /// Hands over what is in it to an empty archive.
    pub fn hand_over(&self, archive: &mut SignatureFile) -> Result<(), Exhausted> {
        let visits = self.insertions() as f64;
        archive.begin_with(self.pairs(), visits, |push| {
            self.cache.each(&mut |words| {
                let high = words.get(1).copied().unwrap_or(0);
                push(u128::from(high) << 64 | u128::from(words[0]));
            });
        })
    }

    /// Pairs of visits.
    fn pairs(&self) -> f64 {
        let visits = self.insertions() as f64;
        visits * (visits - 1.0).max(0.0) / 2.0
    }
}

impl Visited for EarlyCache {
    fn offer(&mut self, new: Block<'_>, fresh: &mut Picks) -> Result<(), Exhausted> {
        self.words.clear();
        for i in 0..new.len() {
            let (low, high) = self.signer.pair(new.state(i));
            self.words.extend_from_slice(&[low, high][..self.width]);
        }
        self.words.resize(self.width * new.len() + PAD_WORDS, 0);
        self.cache.offer(Block::new(&self.words, self.width, new.len()), fresh)
    }

    fn settle(&mut self, emit: &mut dyn FnMut(Block<'_>)) -> Result<(), Exhausted> {
        self.cache.settle(emit)
    }

    fn coverage(&self) -> Coverage {
        Coverage { omission: self.losses().omission, ..self.cache.coverage() }
    }

    fn losses(&self) -> Losses {
        let bits = f64::from(self.signer.bits());
        let mut losses = self.cache.losses();
        losses.omission = bounds::counted(self.pairs(), bits);
        losses.path_omission = bounds::counted(self.insertions() as f64, bits);
        losses.figures.push(Figure { key: "bits", title: "bits compared", value: bits });
        losses
    }

    fn dump(&self, put: &mut Put<'_>) -> Result<(), String> {
        self.cache.dump(put)
    }

    fn restore(&mut self, record: &[u64]) -> Result<(), String> {
        self.cache.restore(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::CacheSize;
    use ergodic_disk::Dir;
    use ergodic_system::Archive;

    fn offer(set: &mut impl Visited, numbers: std::ops::Range<u64>) -> usize {
        let count = (numbers.end - numbers.start) as usize;
        let mut words: Vec<u64> = numbers.flat_map(|i| [i, 3 * i, 7]).collect();
        words.resize(words.len() + PAD_WORDS, 0);
        let mut fresh = Picks::new();
        set.offer(Block::new(&words, 3, count), &mut fresh).expect("it forgets instead");
        fresh.len()
    }

    #[test]
    fn the_archive_knows_what_the_cache_knew() {
        let shape = Shape::of_bits(150);
        for bits in [40, 64, 80, 128] {
            let settings = Settings { bits, ..Settings::default() };
            let options =
                CacheOptions { ways: 64, ..CacheOptions::new(CacheSize::Entries(1 << 14)) };
            let mut cache = EarlyCache::new(shape, settings, options).expect("memory");
            assert_eq!(offer(&mut cache, 0..1000), 1000);
            assert_eq!(offer(&mut cache, 500..1500), 500);
            let losses = cache.losses();
            let bound = 1500.0 * 1499.0 / 2.0 * (-f64::from(bits)).exp2();
            assert!((losses.omission / bound - 1.0).abs() < 1e-9 && !losses.forgets);
            let dir = Dir::fresh(&std::env::temp_dir()).expect("a directory");
            let mut archive = SignatureFile::new(dir, shape, settings).expect("a file");
            cache.hand_over(&mut archive).expect("disk");
            assert_eq!(archive.signatures(), 1500);
            assert!(archive.losses().omission >= losses.omission);
            let mut words: Vec<u64> = (1400..1600).flat_map(|i| [i, 3 * i, 7]).collect();
            words.resize(words.len() + PAD_WORDS, 0);
            let mut fresh = Vec::new();
            archive.admit(&[Block::new(&words, 3, 200)], &mut fresh).expect("disk");
            // All is read at first, so that nothing is new twice.
            assert_eq!(fresh.len(), 100);
        }
    }
}
