//! Hints to the processor and the operating system. Every hint may be ignored; none changes a
//! result.

use crate::slots::{LINE, Line};
use crate::sync::{AtomicU64, Ordering};

/// Starts to load the cache line of `at`.
#[inline(always)]
pub(crate) fn prefetch(at: &u64) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the pointer comes from a reference; a prefetch has no effect but on caches.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(at).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// `len` zero words, in huge pages where the system grants them. Random access to a large table
/// misses the translation buffer each time otherwise; that costs more than the cache miss.
pub(crate) fn zeroed_table(len: usize) -> Vec<u64> {
    let mut table = vec![0; len];
    advise_huge(table.as_mut_ptr(), len);
    table
}

/// Room for `len` words, in huge pages where the system grants them.
pub(crate) fn room_for(len: usize) -> Vec<u64> {
    let mut room = Vec::with_capacity(len);
    advise_huge(room.as_mut_ptr(), len);
    room
}

/// Shared words, zero at first, in lines: line `i` is one cache line, and lines `2 i` and `2 i + 1`
/// are 128 aligned bytes.
#[derive(Debug)]
pub(crate) struct Lines {
    words: Vec<AtomicU64>,
    /// Words before the first whole cache line.
    skip: usize,
    count: usize,
}

impl Lines {
    /// `count` lines of zeros. The memory is touched when it is used.
    pub(crate) fn new(count: usize) -> Lines {
        // Aligned by hand: an aligned allocation of the library is written over at once.
        let words = atomic(zeroed_table(count * LINE + 2 * LINE - 1));
        let skip = words.as_ptr().addr().next_multiple_of(128) - words.as_ptr().addr();
        Lines { words, skip: skip / 8, count }
    }

    /// Number of lines.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Bytes of all lines.
    pub(crate) fn bytes(&self) -> u64 {
        self.count as u64 * 64
    }

    /// Line `i`.
    #[inline]
    pub(crate) fn line(&self, i: usize) -> &Line {
        let at = self.skip + i * LINE;
        // The slice has the length of the array; the compiler sees it.
        self.words[at..at + LINE].try_into().expect("a line")
    }

    /// Starts to load line `i`.
    #[inline]
    pub(crate) fn prefetch(&self, i: usize) {
        prefetch_atomic(&self.words[self.skip + i * LINE]);
    }

    /// Hands the words of all lines to `each`, line by line, and gives their memory back on the
    /// way: what moves from an old table to a larger one never takes the memory of both.
    pub(crate) fn drain(mut self, mut each: impl FnMut([u64; LINE])) {
        const STEP: usize = 1 << 20; // lines: 64 MiB
        for from in (0..self.count).step_by(STEP) {
            let to = (from + STEP).min(self.count);
            for i in from..to {
                each(std::array::from_fn(|k| self.line(i)[k].load(Ordering::Relaxed)));
            }
            let skip = self.skip;
            release(&mut self.words[skip + from * LINE..skip + to * LINE]);
        }
    }
}

/// Shared words, zero at first.
pub(crate) fn zeroed_atomics(len: usize) -> Vec<AtomicU64> {
    atomic(zeroed_table(len))
}

fn atomic(words: Vec<u64>) -> Vec<AtomicU64> {
    let mut words = std::mem::ManuallyDrop::new(words);
    let (start, len, capacity) = (words.as_mut_ptr(), words.len(), words.capacity());
    // SAFETY: the parts come from a vector that is not used again; an atomic word has the size,
    // the alignment and the bit patterns of a word.
    unsafe { Vec::from_raw_parts(start.cast::<AtomicU64>(), len, capacity) }
}

/// Starts to load the cache line of `at`.
#[inline(always)]
pub(crate) fn prefetch_atomic(at: &AtomicU64) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the pointer comes from a reference; a prefetch has no effect but on caches.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(at).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Gives the memory of words that are not needed any more back to the system; they may become zero.
#[cfg(target_os = "linux")]
fn release(words: &mut [AtomicU64]) {
    const PAGE: usize = 2 << 20; // whole huge pages only, so that none is split
    const MADV_DONTNEED: i32 = 4;
    unsafe extern "C" {
        fn madvise(start: *mut core::ffi::c_void, len: usize, advice: i32) -> i32;
    }
    let start = words.as_mut_ptr();
    let from = start.addr().next_multiple_of(PAGE);
    let to = (start.addr() + words.len() * 8) / PAGE * PAGE;
    if from < to {
        // SAFETY: from..to are whole pages within `words`, to which we have the only reference.
        // They are anonymous memory of the allocator; the advice leaves them mapped and, at worst,
        // full of zeros, which are valid words. A refusal has no consequence.
        unsafe { madvise(start.with_addr(from).cast(), to - from, MADV_DONTNEED) };
    }
}

#[cfg(not(target_os = "linux"))]
fn release(_: &mut [AtomicU64]) {}

#[cfg(target_os = "linux")]
fn advise_huge(words: *mut u64, len: usize) {
    const HUGE_PAGE: usize = 2 << 20;
    const MADV_HUGEPAGE: i32 = 14;
    unsafe extern "C" {
        fn madvise(start: *mut core::ffi::c_void, len: usize, advice: i32) -> i32;
    }
    let start = words.addr();
    let from = start.next_multiple_of(HUGE_PAGE);
    let to = (start + len * 8) / HUGE_PAGE * HUGE_PAGE;
    if from < to {
        // SAFETY: from..to lies in the caller's allocation of `len` words; the advice changes the
        // size of its pages and neither its contents nor its mapping. A refusal has no consequence.
        unsafe { madvise(words.with_addr(from).cast(), to - from, MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise_huge(_: *mut u64, _: usize) {}
