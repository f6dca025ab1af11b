//! The C library's allocator, which keeps what is freed for later.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::Failure;

const TUNABLES: &str = "GLIBC_TUNABLES";
/// Freed memory that a thread keeps for itself would count as in use.
const NO_THREAD_CACHES: &str = "glibc.malloc.tcache_count=0";

/// Starts this program again, in this process, with an allocator whose count of bytes in use is exact; returns where it
/// is so already. The allocator reads its settings before `main`.
pub fn count_exactly() -> Result<(), Failure> {
    if std::env::var(TUNABLES).is_ok_and(|set| set.contains(NO_THREAD_CACHES)) {
        return Ok(());
    }
    let mut again = Command::new(std::env::current_exe()?);
    Err(again.args(std::env::args_os().skip(1)).env(TUNABLES, NO_THREAD_CACHES).exec().into())
}

/// From now on all threads share few heaps: each new one would keep pages of its own.
pub fn share_heaps() {
    // SAFETY: takes no pointers; it changes a number that the allocator reads when a thread first allocates.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 2) };
}

/// Gives the pages of freed heap back to the system: what stays resident is in use.
pub fn give_back() {
    // SAFETY: takes no pointers; may be called at any time from any thread.
    unsafe { libc::malloc_trim(0) };
}

/// Bytes of the heap in use, of all heaps and of single mappings; exact, unlike the pages that hold them.
pub fn in_use() -> u64 {
    // SAFETY: takes no pointers; may be called at any time from any thread.
    let info = unsafe { libc::mallinfo2() };
    (info.uordblks + info.hblkhd) as u64
}
