//! The table of sets that a keeper can have.

use crate::combine::{COMPACT_BITS, store_for};
use crate::memory;
use crate::options::StoreKind;
use ergodic_disk::Dir;
use ergodic_fleet::Set;
use ergodic_store::compact::{CompactOptions, CompactSize};
use ergodic_store::{
    CompactStore, FlatStore, Layered, OpenArchive, SortedArchive, TreeStore, sorted,
};
use ergodic_system::{
    Archive, Block, Coverage, Exhausted, Losses, PAD_WORDS, Picks, Shape, Shared, Visited,
};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a keeper keeps its states in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeeperStore {
    /// In memory, in full; when that is used up, on disk.
    #[default]
    Exact,
    /// A few bits of a hash of each: may omit states, with a bound.
    Compact,
    /// On disk from the start.
    Disk,
}

/// The part of free memory that keepers of one computer take, if nobody says how much.
const FREE_SHARE: f64 = 0.7;
/// Buffers of a set on disk, at most.
const MOST_BUFFER: u64 = 256 << 20;
/// What a set on disk keeps in memory from the start.
const FIRST: u64 = 1 << 20;

/// Bits of signatures, which are two whole words; the flat store takes three that are not all used.
const SIGNATURE_BITS: usize = 128;
const WIDE: Shape = Shape { words: 3, bits: 129 };
/// The flat store begins with a table of this size for three words.
const LEAST_WIDE: u64 = 256 << 20;

/// A set of keys of two words, kept as three.
struct Widened {
    set: Set,
    words: Vec<u64>,
}

impl Visited for Widened {
    fn offer(&mut self, new: Block<'_>, fresh: &mut Picks) -> Result<(), Exhausted> {
        self.words.clear();
        for i in 0..new.len() {
            self.words.extend_from_slice(new.state(i));
            self.words.push(0);
        }
        self.words.resize(self.words.len() + PAD_WORDS, 0);
        self.set.offer(Block::new(&self.words, WIDE.words, new.len()), fresh)
    }

    fn coverage(&self) -> Coverage {
        self.set.coverage()
    }

    fn losses(&self) -> Losses {
        self.set.losses()
    }
}

/// Bytes that a keeper may use, if nobody says how many and it shares the computer with others.
pub(crate) fn memory_for(asked: Option<u64>, keepers: u32) -> u64 {
    let free = || (memory::available().unwrap_or(4 << 30) as f64 * FREE_SHARE) as u64;
    asked.unwrap_or_else(|| free() / u64::from(keepers.max(1)))
}

/// An empty set for keys of this shape, with its files in `dir`, which its user gives with `option`.
pub(crate) fn make(
    store: KeeperStore,
    shape: Shape,
    memory: u64,
    seed: u64,
    dir: &Path,
    option: &'static str,
) -> Result<Set, String> {
    if store == KeeperStore::Compact {
        let size = CompactSize::UpTo(memory / 10 * 6);
        let options = CompactOptions { bits: COMPACT_BITS, seed, size };
        return Ok(Box::new(Layered::new(CompactStore::new(shape, options)?, None)));
    }
    // A table that grows holds the old one and the new one for a while.
    let first = if store == KeeperStore::Disk { FIRST } else { memory / 10 * 6 };
    let settings = sorted::Settings::new((memory / 4).clamp(FIRST, MOST_BUFFER), 1);
    let wide = shape.bits == SIGNATURE_BITS && first >= LEAST_WIDE;
    let (dir, shape_on_disk) = (dir.to_owned(), if wide { WIDE } else { shape });
    let open: OpenArchive = Box::new(move || {
        let dir =
            Dir::fresh(&dir).map_err(|why| Exhausted::Other(why.called(option).to_string()))?;
        Ok(Box::new(SortedArchive::new(dir.called(option), shape_on_disk, settings))
            as Box<dyn Archive>)
    });
    Ok(match store_for(StoreKind::Auto, shape, false) {
        StoreKind::Flat => boxed(FlatStore::new(shape, Some(first)), open),
        // Signatures have no parts in common that a tree could share.
        _ if wide => Box::new(Widened {
            set: boxed(FlatStore::new(WIDE, Some(first)), open),
            words: Vec::new(),
        }),
        _ => boxed(TreeStore::new(shape, Some(first)), open),
    })
}

fn boxed<V: Shared + 'static>(set: V, open: OpenArchive) -> Set {
    Box::new(Layered::new(set, Some(open)))
}
