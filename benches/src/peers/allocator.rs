//! The C library's allocator, which keeps what is freed for later.

/// Gives the pages of freed heap back to the system: what stays resident is in use.
pub fn give_back() {
    // SAFETY: takes no pointers; may be called at any time from any thread.
    unsafe { libc::malloc_trim(0) };
}
