//! The C library's allocator, which keeps what is freed for later.

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
