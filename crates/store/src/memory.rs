//! Hints to the processor and the operating system. Every hint may be ignored; none changes a
//! result.

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
