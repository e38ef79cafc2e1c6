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
    let table = vec![0; len];
    advise_huge(&table);
    table
}

#[cfg(target_os = "linux")]
fn advise_huge(table: &[u64]) {
    const HUGE_PAGE: usize = 2 << 20;
    const MADV_HUGEPAGE: i32 = 14;
    unsafe extern "C" {
        fn madvise(start: *mut core::ffi::c_void, len: usize, advice: i32) -> i32;
    }
    let start = table.as_ptr() as usize;
    let from = start.next_multiple_of(HUGE_PAGE);
    let to = (start + size_of_val(table)) / HUGE_PAGE * HUGE_PAGE;
    if from < to {
        // SAFETY: from..to lies in the allocation of `table`; the advice changes the size of its
        // pages and neither its contents nor its mapping. A refusal is of no consequence.
        unsafe { madvise(std::ptr::without_provenance_mut(from), to - from, MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise_huge(_: &[u64]) {}
