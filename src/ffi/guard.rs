//! What stands at every export: panics stop here, out-parameters are checked and cleared, inputs are
//! bounded before they are read.

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};

use super::error::{self, forebay_error, FOREBAY_OK};
use super::fork;
use crate::error::{Code, Error, Result};

/// Runs the body of an export. What it returns, or the panic it ends in, becomes the call's code and, where
/// the caller gave a place for it, an error object.
///
/// # Safety
/// `error_out`, where not null, is writable until this returns.
pub(super) unsafe fn guarded(error_out: *mut *mut forebay_error, body: impl FnOnce() -> Result<()>) -> i32 {
    // SAFETY: this function's own contract.
    let place = match unsafe { Out::optional(error_out, "error") } {
        Ok(place) => place,
        Err(misaligned) => return error::number(misaligned.code()),
    };
    match caught(body).and_then(|result| result) {
        Ok(()) => FOREBAY_OK,
        // Neither a lock nor the host's log callback can be counted on there.
        Err(_) if fork::is_child() => {
            set_if(&place, error::in_child());
            error::number(Code::Closed)
        }
        Err(error) => {
            log(&error);
            set_if(&place, caught(|| error::hand_out(&error)).unwrap_or(std::ptr::null_mut()));
            error::number(error.code())
        }
    }
}

/// Hosts may pass no place for the error; the log has it all the same.
fn log(error: &Error) {
    let _ = caught(|| match error.code() {
        Code::Internal => tracing::error!("a call through the C ABI failed: {error}"),
        _ => tracing::debug!("a call through the C ABI failed: {error}"),
    });
}

/// Runs the body of an export that has no error to give; a panic gives `otherwise`.
pub(super) fn guarded_or<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    caught(body).unwrap_or(otherwise)
}

/// The body's result, or its panic as an [`Code::Internal`] error.
fn caught<T>(body: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        let error = Error::internal(format!("a panic was caught at the C boundary: {}", text(&*payload)));
        // The payload is foreign code's object: its drop may panic too.
        std::mem::forget(payload);
        error
    })
}

fn text(payload: &(dyn Any + Send)) -> &str {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// A checked out-parameter; cleared to the type's zero value, then set at most once.
pub(super) struct Out<T>(*mut T);

/// Types whose zero value is what a failed call leaves in its out-parameters.
pub(super) trait Zero: Copy {
    const ZERO: Self;
}

impl<T> Zero for *mut T {
    const ZERO: Self = std::ptr::null_mut();
}

impl Zero for bool {
    const ZERO: Self = false;
}

impl Zero for i32 {
    const ZERO: Self = 0;
}

impl Zero for u32 {
    const ZERO: Self = 0;
}

impl Zero for u64 {
    const ZERO: Self = 0;
}

impl<T: Zero> Out<T> {
    /// An out-parameter that the call cannot do without.
    ///
    /// # Safety
    /// `place`, where not null, is writable until the export returns.
    pub(super) unsafe fn required(place: *mut T, name: &str) -> Result<Out<T>> {
        // SAFETY: this function's own contract.
        unsafe { Out::optional(place, name)? }.ok_or_else(|| {
            Error::new(Code::InvalidArgument, format!("{name} is NULL; expected a place for the result"))
        })
    }

    /// An out-parameter that may be NULL.
    ///
    /// # Safety
    /// As [`Out::required`].
    pub(super) unsafe fn optional(place: *mut T, name: &str) -> Result<Option<Out<T>>> {
        if place.is_null() {
            return Ok(None);
        }
        if !place.is_aligned() {
            let align = std::mem::align_of::<T>();
            return Err(Error::new(
                Code::InvalidArgument,
                format!("{name} ({place:p}) is misaligned; expected a multiple of {align}"),
            ));
        }
        let out = Out(place);
        out.set(T::ZERO);
        Ok(Some(out))
    }

    pub(super) fn set(&self, value: T) {
        // SAFETY: not null, aligned and writable: checked and promised in `optional`.
        unsafe { self.0.write(value) }
    }
}

/// Sets an optional out-parameter.
pub(super) fn set_if<T: Zero>(place: &Option<Out<T>>, value: T) {
    if let Some(place) = place {
        place.set(value);
    }
}

/// The caller's bytes. `code` is the error of a length over `limit`.
///
/// # Safety
/// Unless null or over the limit, `data` points to `len` readable bytes that do not change while `'a` lasts.
pub(super) unsafe fn bytes<'a>(
    data: *const u8,
    len: usize,
    name: &str,
    limit: usize,
    code: Code,
) -> Result<&'a [u8]> {
    if len > limit {
        return Err(Error::new(code, format!("{name} has {len} bytes; expected at most {limit}")));
    }
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("{name} is NULL, but its length is {len}; expected {len} readable bytes"),
        ));
    }
    // SAFETY: not null; the length is under the limit, hence under isize::MAX; the rest is this function's
    // own contract.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// The caller's text, which is UTF-8 and need not end in NUL.
///
/// # Safety
/// As [`bytes`].
pub(super) unsafe fn utf8<'a>(
    text: *const std::ffi::c_char,
    len: usize,
    name: &str,
    limit: usize,
    code: Code,
) -> Result<&'a str> {
    // SAFETY: this function's own contract.
    let raw = unsafe { bytes(text.cast(), len, name, limit, code)? };
    std::str::from_utf8(raw).map_err(|e| {
        Error::new(code, format!("{name} is not UTF-8: byte {} of {len} is invalid", e.valid_up_to()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    fn call(error: *mut *mut forebay_error, body: impl FnOnce() -> Result<()>) -> i32 {
        // SAFETY: the tests hand in null or places of their own.
        unsafe { guarded(error, body) }
    }

    #[test]
    fn a_panic_becomes_an_internal_error() {
        let mut error = null_mut();
        let code = call(&mut error, || panic!("seven of {}", 9));
        assert_eq!(code, Code::Internal as i32);
        let (found, message) = error::look(error).unwrap();
        assert_eq!(found, Code::Internal);
        assert!(message.contains("seven of 9"), "{message}");
        error::forebay_error_free(error);
        assert_eq!(call(null_mut(), || std::panic::panic_any(7u8)), Code::Internal as i32);
    }

    #[test]
    fn a_payload_whose_drop_panics_stays_inside() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        assert_eq!(call(null_mut(), || std::panic::panic_any(Bomb)), Code::Internal as i32);
    }

    #[test]
    fn success_clears_the_error() {
        let mut error = std::ptr::without_provenance_mut(8);
        assert_eq!(call(&mut error, || Ok(())), FOREBAY_OK);
        assert!(error.is_null());
    }

    #[test]
    fn misaligned_and_null_places_are_refused() {
        let mut room = [0u64; 2];
        let odd = room.as_mut_ptr().cast::<u8>().wrapping_add(1);
        for place in [odd.cast::<u32>(), null_mut()] {
            // SAFETY: null, or inside `room`.
            let refused = unsafe { Out::required(place, "count") };
            assert_eq!(refused.err().unwrap().code(), Code::InvalidArgument);
        }
        let ran = std::cell::Cell::new(false);
        let code = call(odd.cast(), || {
            ran.set(true);
            Ok(())
        });
        assert_eq!((code, ran.get()), (Code::InvalidArgument as i32, false));
    }

    #[test]
    fn lengths_are_bounded_before_anything_is_read() {
        let byte = 7u8;
        // SAFETY: a length over the limit is refused unread; one byte is there.
        unsafe {
            for len in [2, usize::MAX, isize::MAX as usize + 1] {
                let e = bytes(&byte, len, "request", 1, Code::InvalidRequest).unwrap_err();
                assert_eq!(e.code(), Code::InvalidRequest);
            }
            assert_eq!(bytes(&byte, 1, "request", 1, Code::InvalidRequest).unwrap(), [7]);
            let e = bytes(std::ptr::null(), 1, "request", 1, Code::InvalidRequest).unwrap_err();
            assert_eq!(e.code(), Code::InvalidArgument);
            assert!(bytes(std::ptr::null(), 0, "request", 1, Code::InvalidRequest).unwrap().is_empty());
            let e = utf8(b"ab\xFFc".as_ptr().cast(), 4, "config", 9, Code::InvalidConfig).unwrap_err();
            assert!(e.message().contains("byte 2 of 4"), "{e}");
        }
    }
}
