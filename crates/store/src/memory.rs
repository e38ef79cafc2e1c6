//! Hints to the processor and the operating system. Every hint may be ignored; none changes a
//! result.

use crate::region::Region;
use crate::slots::{LINE, Line, Seen};
use crate::sync::{AtomicU64, Ordering};
use std::alloc::{Layout, handle_alloc_error};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

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

/// Which of sixteen bytes have a value: a bit for each.
#[inline(always)]
pub(crate) fn equal_bytes(words: [u64; 2], byte: u8) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8,
        };
        // SAFETY: all processors of this architecture have these instructions, which touch no memory.
        let bits = unsafe {
            let bytes = _mm_set_epi64x(words[1] as i64, words[0] as i64);
            _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8)))
        };
        u64::from(bits as u16)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let bytes = words.into_iter().flat_map(u64::to_le_bytes).enumerate();
        bytes.fold(0, |all, (i, other)| all | u64::from(other == byte) << i)
    }
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
    words: Region,
    count: usize,
}

impl Lines {
    /// `count` lines of zeros. The memory is touched when it is used.
    pub(crate) fn new(count: usize) -> Lines {
        let layout = Layout::array::<Line>(count).unwrap_or(Layout::new::<Line>());
        Lines::possible(count).unwrap_or_else(|| handle_alloc_error(layout))
    }

    /// `count` lines of zeros, if there is memory for them.
    pub(crate) fn possible(count: usize) -> Option<Lines> {
        Some(Lines { words: Region::new(count.checked_mul(LINE)?)?, count })
    }

    /// Adds lines of zeros behind the others until there are `count`, if that can be.
    pub(crate) fn extend(&mut self, count: usize) -> bool {
        let possible = count.checked_mul(LINE).is_some_and(|words| self.words.extend(words));
        self.count = if possible { count } else { self.count };
        possible
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
        let at = i * LINE;
        // The slice has the length of the array; the compiler sees it.
        self.words[at..at + LINE].try_into().expect("a line")
    }

    /// The words of line `i`.
    pub(crate) fn words(&self, i: usize) -> [u64; LINE] {
        let line = self.line(i);
        std::array::from_fn(|k| line[k].load(Ordering::Relaxed))
    }

    /// Takes the words of line `i` away.
    #[inline]
    pub(crate) fn take(&self, i: usize) -> [u64; LINE] {
        let line = self.line(i);
        std::array::from_fn(|k| {
            let word = line[k].load(Ordering::Relaxed);
            line[k].store(0, Ordering::Relaxed);
            word
        })
    }

    /// Starts to load line `i`, to look at it.
    #[inline]
    pub(crate) fn prefetch(&self, i: usize) {
        prefetch_atomic(&self.words[i * LINE]);
    }

    /// Starts to load line `i`, to write there.
    ///
    /// Who only loads a line that another core has written shares it with that core, and waits once more,
    /// with nothing else to do, when it takes a slot. (mcslock2 with two threads on cores with a cache each: 0.21 s with loads,
    /// 0.18 s with this; with one thread there is no difference.)
    #[inline]
    pub(crate) fn prefetch_to_write(&self, i: usize) {
        prefetch_to_write(&self.words[i * LINE]);
    }

    /// Hands the words of all lines to `each`, line by line, and gives their memory back on the
    /// way: what moves from an old table to a larger one never takes the memory of both.
    pub(crate) fn drain(mut self, mut each: impl FnMut([u64; LINE])) {
        drain_words(&mut self.words, 0, &mut |_, line| each(line));
    }

    /// As [`Lines::drain`], by several threads, each of which takes part after part. `each` is given the lines of its
    /// part, too.
    pub(crate) fn drain_shared(
        mut self,
        threads: usize,
        each: impl Fn(&Range<usize>, usize, [u64; LINE]) + Sync,
    ) {
        let (part, count) = (part_of(self.count, threads), self.count);
        let parts = self.words.chunks_mut(part * LINE).enumerate();
        in_parallel(threads, parts, |(k, words)| {
            let own = k * part..count.min((k + 1) * part);
            drain_words(words, own.start, &mut |i, line| each(&own, i, line));
        });
    }
}

/// Lines that a thread moves at a time, at least: half a megabyte, some 500 microseconds of work.
const LEAST_PART: usize = if cfg!(miri) { 1 << 5 } else { 1 << 13 };
/// The same at most (16 MiB): memory is given back when a part is done.
pub(crate) const MOST_PART: usize = 1 << 18;

/// Lines that each of some threads moves at a time.
pub(crate) fn part_of(lines: usize, threads: usize) -> usize {
    (lines / (4 * threads.max(1))).clamp(LEAST_PART, MOST_PART)
}

/// Does the parts of some work in several threads, each of which takes part after part. What has one
/// part is not worth a second thread.
pub(crate) fn in_parallel<P>(
    threads: usize,
    parts: impl ExactSizeIterator<Item = P> + Send,
    work: impl Fn(P) + Sync,
) {
    let threads = threads.min(parts.len()).max(1);
    let parts = Mutex::new(parts);
    let work = || {
        loop {
            let next = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(part) = next else { return };
            work(part);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Without a thread the others do its work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}

/// Hands lines, numbered from `first` on, to `each` and gives their memory back.
fn drain_words(words: &mut [AtomicU64], first: usize, each: &mut impl FnMut(usize, [u64; LINE])) {
    const STEP: usize = 1 << 23; // words: 64 MiB
    let mut at = first;
    for words in words.chunks_mut(STEP) {
        for line in words.as_chunks::<LINE>().0 {
            each(at, std::array::from_fn(|k| line[k].load(Ordering::Relaxed)));
            at += 1;
        }
        release(words);
    }
}

#[cfg(any(not(target_os = "linux"), miri))]
pub(crate) fn atomic(words: Vec<u64>) -> Vec<AtomicU64> {
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

/// Starts to load the cache line of `at` for this core alone.
#[inline(always)]
pub(crate) fn prefetch_to_write(at: &AtomicU64) {
    // (The library has no such function for processors of whatever kind, and Miri no assembly.)
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch has no effect but on caches. Processors of this architecture that do not know the
    // instruction pass over it.
    unsafe {
        std::arch::asm!(
            "prefetchw [{}]",
            in(reg) std::ptr::from_ref(at),
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    prefetch_atomic(at);
}

/// Looks at all slots of a line: [`crate::slots::look`] with four vector loads where there are such. A
/// compiler makes a branch per slot of that, and what a line holds cannot be predicted.
#[inline]
pub(crate) fn look(line: &Line, value: u64) -> Seen {
    // (Miri knows no assembly.)
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if std::arch::is_x86_feature_detected!("avx") {
        return look_avx(line, value);
    }
    crate::slots::look(line, value)
}

/// [`look`] for processors with AVX.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn look_avx(line: &Line, value: u64) -> Seen {
    let (same, free): (u32, u32);
    // SAFETY: the code reads the 64 bytes of the line and writes nothing but its registers. The caller
    // has made sure that the processor knows the instructions. Other threads may write the slots at
    // the same time: the loads are in assembly, where a race has the meaning that the processor gives
    // it, and processors with AVX load 16 aligned bytes at once, so each slot is as a relaxed load
    // sees it. Slots are at least aligned to 8 bytes, which loads do not split within a cache line.
    unsafe {
        std::arch::asm!(
            "vmovq {v}, {value}",
            "vpunpcklqdq {v}, {v}, {v}",
            "vpxor {z}, {z}, {z}",
            "vmovdqu {a}, [{line}]",
            "vmovdqu {b}, [{line} + 16]",
            "vmovdqu {c}, [{line} + 32]",
            "vmovdqu {d}, [{line} + 48]",
            "vpcmpeqq {e}, {a}, {v}",
            "vpcmpeqq {f}, {b}, {v}",
            "vpackssdw {e}, {e}, {f}",
            "vpcmpeqq {f}, {c}, {v}",
            "vpcmpeqq {v}, {d}, {v}",
            "vpackssdw {f}, {f}, {v}",
            "vpor {e}, {e}, {f}",
            "vpmovmskb {same:e}, {e}",
            "vpcmpeqq {a}, {a}, {z}",
            "vpcmpeqq {b}, {b}, {z}",
            "vpackssdw {a}, {a}, {b}",
            "vpcmpeqq {c}, {c}, {z}",
            "vpcmpeqq {d}, {d}, {z}",
            "vpackssdw {c}, {c}, {d}",
            "vpacksswb {a}, {a}, {c}",
            "vpmovmskb {free:e}, {a}",
            value = in(reg) value,
            line = in(reg) line.as_ptr(),
            same = out(reg) same,
            free = lateout(reg) free,
            v = out(xmm_reg) _, z = out(xmm_reg) _,
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _,
            d = out(xmm_reg) _, e = out(xmm_reg) _, f = out(xmm_reg) _,
            options(nostack, readonly, preserves_flags),
        );
    }
    // Two bits per slot; a seventeenth for none.
    Seen { found: same != 0, free: (free | 1 << 16).trailing_zeros() / 2 }
}

/// Gives the memory of words that are not needed any more back to the system; they may become zero.
#[cfg(all(target_os = "linux", not(miri)))]
fn release(words: &mut [AtomicU64]) {
    const PAGE: usize = 2 << 20; // whole huge pages only, so that none is split
    let start = words.as_mut_ptr();
    let from = start.addr().next_multiple_of(PAGE);
    let to = (start.addr() + words.len() * 8) / PAGE * PAGE;
    if from < to {
        let advice = rustix::mm::Advice::LinuxDontNeed;
        // SAFETY: from..to are whole pages within `words`, to which we have the only reference.
        // They are anonymous memory; the advice leaves them mapped and, at worst, full of zeros,
        // which are valid words. A refusal has no consequence.
        let _ = unsafe { rustix::mm::madvise(start.with_addr(from).cast(), to - from, advice) };
    }
}

#[cfg(any(not(target_os = "linux"), miri))]
fn release(_: &mut [AtomicU64]) {}

#[cfg(all(target_os = "linux", not(miri)))]
fn advise_huge(words: *mut u64, len: usize) {
    const HUGE_PAGE: usize = 2 << 20;
    let start = words.addr();
    let from = start.next_multiple_of(HUGE_PAGE);
    let to = (start + len * 8) / HUGE_PAGE * HUGE_PAGE;
    if from < to {
        let advice = rustix::mm::Advice::LinuxHugepage;
        // SAFETY: from..to lies in the caller's allocation of `len` words; the advice changes the
        // size of its pages and neither its contents nor its mapping. A refusal has no consequence.
        let _ = unsafe { rustix::mm::madvise(words.with_addr(from).cast(), to - from, advice) };
    }
}

#[cfg(any(not(target_os = "linux"), miri))]
fn advise_huge(_: *mut u64, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_looks_see_the_same() {
        let lines = Lines::new(2);
        for taken in 0..=LINE {
            for (i, slot) in lines.line(1).iter().enumerate() {
                slot.store(if i < taken { 100 + i as u64 } else { 0 }, Ordering::Relaxed);
            }
            for value in [1, 100, 101, 106, 107, 101 | 1 << 32, u64::MAX] {
                let (a, b) = (look(lines.line(1), value), crate::slots::look(lines.line(1), value));
                assert_eq!((a.found, a.free), (b.found, b.free));
                let holds = (100..100 + taken as u64).contains(&value);
                assert_eq!((a.found, a.free as usize), (holds, taken));
            }
        }
        lines.line(1)[2].store(0, Ordering::Relaxed);
        assert_eq!(look(lines.line(1), 107).free, 2);
        assert!(look(lines.line(1), 107).found);
    }

    #[test]
    fn all_lines_are_drained_once() {
        let parts = if cfg!(miri) { 3 * LEAST_PART } else { 3 * MOST_PART };
        let lines = Lines::new(parts + 6);
        let sum = AtomicU64::new(0);
        for i in 0..lines.count() {
            lines.line(i)[i % LINE].store(i as u64 + 1, Ordering::Relaxed);
        }
        let count = lines.count() as u64;
        lines.drain_shared(2, |own, i, line| {
            assert!(own.contains(&i));
            assert_eq!(line[i % LINE], i as u64 + 1);
            sum.fetch_add(i as u64, Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), count * (count - 1) / 2);
    }
}
