//! Buffers that the library hands out: bytes with one owner, the caller.

use std::ptr;

use super::guard::{guarded_or, Out};
use super::registry::{Registry, Sort};
use crate::error::Result;

static BUFFERS: Registry<Buffer> = Registry::new(Sort::Buffer);

/// Bytes handed out by the library. Opaque; free with forebay_buffer_free.
pub struct forebay_buffer {
    _opaque: [u8; 0],
}

struct Buffer {
    /// The bytes and a final NUL that is not counted.
    data: Box<[u8]>,
}

/// Puts the bytes into a new buffer that the caller owns.
pub(super) fn hand_out(place: &Out<*mut forebay_buffer>, mut bytes: Vec<u8>) -> Result<()> {
    bytes.push(0);
    let handle = BUFFERS.insert(Buffer { data: bytes.into_boxed_slice() })?;
    place.set(ptr::without_provenance_mut(handle));
    Ok(())
}

/// The buffer's first byte; valid until the buffer is freed. One NUL that is not counted follows the last
/// byte, so a text is a C string. NULL where `buffer` is NULL or not a live buffer.
#[no_mangle]
pub extern "C" fn forebay_buffer_data(buffer: *const forebay_buffer) -> *const u8 {
    // The registry keeps the bytes where they are until the buffer is freed.
    guarded_or(ptr::null(), || BUFFERS.get(buffer.addr()).map_or(ptr::null(), |found| found.data.as_ptr()))
}

/// The number of bytes; 0 where `buffer` is NULL or not a live buffer.
#[no_mangle]
pub extern "C" fn forebay_buffer_len(buffer: *const forebay_buffer) -> usize {
    guarded_or(0, || BUFFERS.get(buffer.addr()).map_or(0, |found| found.data.len().saturating_sub(1)))
}

/// Frees a buffer. NULL, a freed or a foreign handle does nothing.
#[no_mangle]
pub extern "C" fn forebay_buffer_free(buffer: *mut forebay_buffer) {
    guarded_or((), || {
        let _ = BUFFERS.remove(buffer.addr());
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_lives_until_it_is_freed() {
        let mut buffer = ptr::null_mut();
        // SAFETY: a place of the test's own.
        let place = unsafe { Out::required(&mut buffer, "out").unwrap() };
        hand_out(&place, b"abc".to_vec()).unwrap();
        assert_eq!(forebay_buffer_len(buffer), 3);
        // SAFETY: the buffer is live; its three bytes are followed by a NUL.
        let found = unsafe { std::slice::from_raw_parts(forebay_buffer_data(buffer), 4) };
        assert_eq!(found, b"abc\0");
        forebay_buffer_free(buffer);
        forebay_buffer_free(buffer);
        assert!(forebay_buffer_data(buffer).is_null());
        assert_eq!(forebay_buffer_len(buffer), 0);
        assert!(forebay_buffer_data(ptr::null()).is_null());
    }
}
