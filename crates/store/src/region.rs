//! Words that are zero at first, in a range of addresses that leaves room to grow in place.
//!
//! A table that grows by moving to a larger one needs fresh pages for all of that, and the system fills
//! each with zeros: on large models that was a tenth of the time, and for a moment the memory of both
//! tables was in use. So addresses are reserved for as much as the machine has memory, which costs
//! nothing, and become memory when the table gets there. Where addresses are counted (`ulimit -v`), or
//! the system has no such calls, there is just what was asked for, and [`Region::extend`] says no.
//!
//! A few pages come from the heap until they no longer suffice: to reserve and to give back addresses
//! takes longer than the search of a small model, and most stores have several small tables.
//!
//! Miri, which checks what is done with memory, knows no such calls either.
//!
//! Pages are huge where the system grants that: random access to a large table misses the translation
//! buffer each time otherwise, which costs more than the cache miss. That is so from the first page of a mapping on: a table of 1 MB
//! in small pages took three times as long to grow, because the system gave it 256 more of them one by one.
//!
//! **Invariants:** the words `0..len` are readable, writable and initialised for as long as the region
//! lives; it starts at a multiple of 128 bytes.

#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use mapped::Region;
#[cfg(any(not(target_os = "linux"), miri))]
pub(crate) use plain::Region;

#[cfg(all(target_os = "linux", not(miri)))]
mod mapped {
    use crate::sync::AtomicU64;
    use rustix::mm::{
        Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap,
    };
    use rustix::process::{Resource, getrlimit};
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ops::{Deref, DerefMut};
    use std::ptr::{NonNull, null_mut};

    const SMALL_PAGE: usize = 4 << 10;
    const HUGE_PAGE: usize = 2 << 20;
    /// Bytes that the heap gives, at most.
    const HEAP: usize = 128 << 10;
    /// What a region starts at a multiple of.
    const ALIGN: usize = 128;

    /// Words with room to grow.
    #[derive(Debug)]
    pub(crate) struct Region {
        start: NonNull<AtomicU64>,
        len: usize,
        /// Bytes from `start` on that are memory.
        backed: usize,
        /// Bytes from `start` on whose addresses are ours.
        reserved: usize,
        origin: Origin,
    }

    /// Where the memory of a region comes from.
    #[derive(Debug)]
    enum Origin {
        Heap(Layout),
        /// The address of the mapping, and its bytes.
        Mapping(NonNull<u8>, usize),
    }

    // SAFETY: the memory belongs to the region alone, and is only given out as atomic words.
    unsafe impl Send for Region {}
    // SAFETY: as above; shared words are atomic.
    unsafe impl Sync for Region {}

    impl Region {
        /// So many words; `None` if there is no memory for them.
        pub(crate) fn new(words: usize) -> Option<Region> {
            let from_heap = if words <= HEAP / 8 { Region::from_heap(words) } else { None };
            let mapped = || Region::reserve(words, ahead());
            from_heap.or_else(mapped).or_else(|| Region::reserve(words, 0))
        }

        fn from_heap(words: usize) -> Option<Region> {
            let layout = Layout::from_size_align(words.max(1) * 8, ALIGN).ok()?;
            // SAFETY: the layout has at least eight bytes.
            let start = NonNull::new(unsafe { alloc_zeroed(layout) })?.cast::<AtomicU64>();
            let backed = layout.size();
            Some(Region {
                start,
                len: words,
                backed,
                reserved: backed,
                origin: Origin::Heap(layout),
            })
        }

        fn reserve(words: usize, ahead: usize) -> Option<Region> {
            let bytes = rounded(words)?;
            let reserved = bytes.max(ahead).next_multiple_of(HUGE_PAGE);
            let whole = reserved.checked_add(HUGE_PAGE)?;
            // SAFETY: the system chooses the place, so nobody else's memory is touched.
            let mapping =
                unsafe { mmap_anonymous(null_mut(), whole, ProtFlags::empty(), MapFlags::PRIVATE) };
            let mapping = NonNull::new(mapping.ok()?.cast::<u8>())?;
            let skip = mapping.addr().get().next_multiple_of(HUGE_PAGE) - mapping.addr().get();
            // SAFETY: the mapping has a huge page more than is reserved, so this is inside of it.
            let start = unsafe { mapping.add(skip) };
            // SAFETY: the range lies in our mapping; the advice changes the size of pages only. A
            // refusal has no consequence.
            let _ = unsafe { madvise(start.as_ptr().cast(), reserved, Advice::LinuxHugepage) };
            let start = start.cast::<AtomicU64>();
            let origin = Origin::Mapping(mapping, whole);
            let mut region = Region { start, len: 0, backed: 0, reserved, origin };
            region.extend(words).then_some(region)
        }

        /// Makes it `words` words long, if there is room; the new ones are zero.
        pub(crate) fn extend(&mut self, words: usize) -> bool {
            if let Origin::Heap(_) = self.origin {
                return self.move_on(words);
            }
            let Some(bytes) = rounded(words).filter(|bytes| *bytes <= self.reserved) else {
                return false;
            };
            if bytes > self.backed {
                let access = MprotectFlags::READ | MprotectFlags::WRITE;
                let from = self.start.as_ptr().cast::<u8>().wrapping_add(self.backed);
                // SAFETY: the range is a part of our mapping that nobody could use so far.
                if unsafe { mprotect(from.cast(), bytes - self.backed, access) }.is_err() {
                    return false;
                }
                self.backed = bytes;
            }
            self.populate(words * 8);
            self.len = self.len.max(words);
            true
        }

        /// Asks for the memory of a region that is smaller than a huge page: it is written to now, and where the system gives small pages,
        /// to be given them one by one takes longer. A refusal has no consequence.
        fn populate(&mut self, bytes: usize) {
            let (from, to) = (self.len * 8 / SMALL_PAGE * SMALL_PAGE, bytes.min(HUGE_PAGE));
            if from < to {
                let start = self.start.as_ptr().cast::<u8>().wrapping_add(from);
                // SAFETY: the range is a part of our mapping that may be written, and its content stays.
                let _ = unsafe { madvise(start.cast(), to - from, Advice::LinuxPopulateWrite) };
            }
        }

        /// [`Region::extend`] for what is in the heap: it moves, which is little.
        fn move_on(&mut self, words: usize) -> bool {
            if words <= self.len {
                return true;
            }
            let Some(mut larger) = Region::new(words) else { return false };
            for (new, old) in larger.iter_mut().zip(&mut **self) {
                std::mem::swap(new, old);
            }
            *self = larger;
            true
        }
    }

    impl Deref for Region {
        type Target = [AtomicU64];

        #[inline(always)]
        fn deref(&self) -> &[AtomicU64] {
            // SAFETY: by the invariant; the memory is zero at first, a valid atomic word.
            unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
        }
    }

    impl DerefMut for Region {
        #[inline]
        fn deref_mut(&mut self) -> &mut [AtomicU64] {
            // SAFETY: as above, and there is no other reference.
            unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
        }
    }

    impl Drop for Region {
        fn drop(&mut self) {
            match self.origin {
                // SAFETY: it was allocated with this layout, and nobody has a reference into it any more.
                Origin::Heap(layout) => unsafe { dealloc(self.start.as_ptr().cast(), layout) },
                Origin::Mapping(start, bytes) => {
                    // SAFETY: the mapping is ours, and nobody has a reference into it any more.
                    let _ = unsafe { munmap(start.as_ptr().cast(), bytes) };
                }
            }
        }
    }

    /// The bytes of so many words, in whole huge pages.
    fn rounded(words: usize) -> Option<usize> {
        let bytes = words.checked_mul(8).filter(|bytes| *bytes <= isize::MAX as usize / 2)?;
        bytes.checked_next_multiple_of(HUGE_PAGE)
    }

    /// Bytes for which to reserve addresses: no table gets larger than the memory of the machine.
    /// Nothing where addresses are counted.
    fn ahead() -> usize {
        if getrlimit(Resource::As).current.is_some() {
            return 0;
        }
        let machine = rustix::system::sysinfo();
        usize::try_from(machine.totalram.saturating_mul(machine.mem_unit.into())).unwrap_or(0)
    }
}

#[cfg(any(not(target_os = "linux"), miri))]
mod plain {
    use crate::memory::{atomic, zeroed_table};
    use crate::sync::AtomicU64;
    use std::ops::{Deref, DerefMut};

    /// Words without room to grow.
    #[derive(Debug)]
    pub(crate) struct Region {
        words: Vec<AtomicU64>,
        skip: usize,
    }

    impl Region {
        /// So many words; `None` if there is no memory for them.
        pub(crate) fn new(words: usize) -> Option<Region> {
            // Aligned by hand: an aligned allocation of the library is written over at once.
            let words = words.checked_add(15)?;
            Vec::<u64>::new().try_reserve_exact(words).ok()?;
            let words = atomic(zeroed_table(words));
            let skip = words.as_ptr().addr().next_multiple_of(128) - words.as_ptr().addr();
            Some(Region { words, skip: skip / 8 })
        }

        /// There is no room.
        pub(crate) fn extend(&mut self, words: usize) -> bool {
            words <= self.len()
        }
    }

    impl Deref for Region {
        type Target = [AtomicU64];

        #[inline(always)]
        fn deref(&self) -> &[AtomicU64] {
            &self.words[self.skip..self.words.len() - (15 - self.skip)]
        }
    }

    impl DerefMut for Region {
        fn deref_mut(&mut self) -> &mut [AtomicU64] {
            let end = self.words.len() - (15 - self.skip);
            &mut self.words[self.skip..end]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Region;
    use crate::sync::Ordering;

    #[test]
    fn what_was_written_stays_and_the_rest_is_zero() {
        let mut region = Region::new(100).expect("a page");
        assert_eq!(region.as_ptr().addr() % 128, 0);
        let mut len = 100;
        region[99].store(7, Ordering::Relaxed);
        for more in [500, 512, 513, 1 << 13, (1 << 13) + 1, 1 << 18, (1 << 18) + 1, 1 << 20] {
            if !region.extend(more) {
                return;
            }
            assert_eq!(region.len(), more);
            assert_eq!(region[99].load(Ordering::Relaxed), 7);
            assert!(region[len..].iter().all(|word| word.load(Ordering::Relaxed) == 0));
            region[more - 1].store(1, Ordering::Relaxed);
            len = more;
        }
        assert!(!region.extend(usize::MAX) && !region.extend(usize::MAX / 16));
        assert_eq!(region.len(), len);
    }
}
