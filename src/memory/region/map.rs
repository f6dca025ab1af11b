//! The kernel's calls.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use crate::error::{Error, Result};
use crate::units::Bytes;

pub(super) const PAGE: usize = 4096;
const HUGE_PAGE: usize = 2 << 20;

pub(super) fn page_ceil(len: usize) -> usize {
    len.div_ceil(PAGE).saturating_mul(PAGE)
}

fn out_of_memory(len: usize) -> Error {
    Error::system(format!("mapping {} of memory", Bytes(len as u64)), std::io::Error::last_os_error())
}

/// More bytes than can be told.
pub(super) fn too_large() -> Error {
    Error::system("sizing a buffer", std::io::Error::from_raw_os_error(libc::ENOMEM))
}

fn mapped(address: *mut libc::c_void, len: usize) -> Result<NonNull<u8>> {
    if address == libc::MAP_FAILED {
        return Err(out_of_memory(len));
    }
    NonNull::new(address.cast()).ok_or_else(|| out_of_memory(len))
}

/// `len` zeroed, writable bytes.
pub(super) fn anonymous(len: usize) -> Result<NonNull<u8>> {
    if len == 0 {
        return Ok(NonNull::dangling());
    }
    // SAFETY: a fresh private mapping at an address of the kernel's choice.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            page_ceil(len),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    let address = mapped(address, len)?;
    // SAFETY: the mapping made above.
    unsafe { advise(address, len) };
    Ok(address)
}

/// The first `len` bytes (not 0) of a file, read-only and shared.
pub(super) fn file(file: &File, len: usize) -> Result<NonNull<u8>> {
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let address = unsafe {
        libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    let address = mapped(address, len)?;
    // Points are read in an order without locality: where kernel and file system can, few large pages are read in.
    // SAFETY: the mapping was just made.
    unsafe { advise(address, len) };
    Ok(address)
}

/// Asks for huge pages where the mapping is large enough; a mapping that grew must ask again. Such a mapping is
/// not copied into a child of `fork`, which has no use for it: what this process writes meanwhile would exist twice.
///
/// # Safety
/// `address` must be the start of a mapping of `len` bytes.
unsafe fn advise(address: NonNull<u8>, len: usize) {
    if len >= HUGE_PAGE {
        for advice in [libc::MADV_HUGEPAGE, libc::MADV_DONTFORK] {
            // SAFETY: advice on a mapping, as the caller promises.
            unsafe { libc::madvise(address.as_ptr().cast(), page_ceil(len), advice) };
        }
    }
}

/// Changes a mapping's length, and its address where it must.
///
/// # Safety
/// `address` must be the start of an anonymous mapping of `old` bytes; neither length may be 0. Where this succeeds, the
/// mapping is at the new address alone.
pub(super) unsafe fn resized(address: NonNull<u8>, old: usize, new: usize) -> Result<NonNull<u8>> {
    if page_ceil(old) == page_ceil(new) {
        return Ok(address);
    }
    // SAFETY: the range is a mapping, as the caller promises; the kernel may move it.
    let moved = unsafe {
        libc::mremap(address.as_ptr().cast(), page_ceil(old), page_ceil(new), libc::MREMAP_MAYMOVE)
    };
    let moved = mapped(moved, new)?;
    if new > old {
        // SAFETY: the mapping as it is now.
        unsafe { advise(moved, new) };
    }
    Ok(moved)
}

/// Gives the pages of a mapping back; false where the kernel refuses.
///
/// # Safety
/// `address` must be the start of an anonymous mapping of `len` bytes that nobody reads or writes meanwhile.
pub(super) unsafe fn discarded(address: NonNull<u8>, len: usize) -> bool {
    // SAFETY: anonymous pages read as zero afterwards, which the owner expects.
    unsafe { libc::madvise(address.as_ptr().cast(), page_ceil(len), libc::MADV_DONTNEED) == 0 }
}

/// Ends a mapping.
///
/// # Safety
/// `address` must be the start of a mapping of `len` bytes that is not used again, or `len` 0.
pub(super) unsafe fn unmap(address: NonNull<u8>, len: usize) {
    if len == 0 {
        return;
    }
    // SAFETY: the range is a mapping, as the caller promises.
    let kept = unsafe { libc::munmap(address.as_ptr().cast(), page_ceil(len)) != 0 };
    if kept {
        // The kernel may refuse to split a mapping it merged with others; the pages at least must go.
        // SAFETY: as above.
        unsafe { discarded(address, len) };
    }
}
