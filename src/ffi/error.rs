//! Error objects: a stable code and a text, owned by the caller until freed.

use std::ffi::{c_char, CStr, CString};
use std::ptr;

use super::fork;
use super::guard::guarded_or;
use super::registry::{Registry, Sort};
use crate::error::{Code, Error};

static ERRORS: Registry<ErrorObject> = Registry::new(Sort::Error);

/// What a call returns when all went well.
pub const FOREBAY_OK: i32 = 0;

/// An error: a code and a message. Opaque; free with forebay_error_free.
pub struct forebay_error {
    _opaque: [u8; 0],
}

struct ErrorObject {
    code: Code,
    message: CString,
    retry_ms: u64,
}

/// The number of a code as calls return it.
pub(super) fn number(code: Code) -> i32 {
    code as i32
}

/// A new object that the caller owns; NULL where none can be had.
pub(super) fn hand_out(error: &Error) -> *mut forebay_error {
    let text = error.message().replace('\0', "\u{FFFD}");
    let message = CString::new(text).unwrap_or_default();
    let retry_ms = error.retry_after().map_or(0, |hint| u64::try_from(hint.as_millis()).unwrap_or(u64::MAX));
    ERRORS
        .insert(ErrorObject { code: error.code(), message, retry_ms })
        .map_or(ptr::null_mut(), ptr::without_provenance_mut)
}

/// The handle that every failing call gives in a child of `fork`: no object, since none can be made there.
pub(super) fn in_child() -> *mut forebay_error {
    ptr::without_provenance_mut(ERRORS.no_object())
}

#[cfg(test)]
pub(super) fn look(error: *mut forebay_error) -> crate::Result<(Code, String)> {
    ERRORS.get(error.addr()).map(|e| (e.code, e.message.to_string_lossy().into_owned()))
}

/// The error's code, one of forebay_code. FOREBAY_OK for NULL; FOREBAY_CODE_INVALID_ARGUMENT or
/// FOREBAY_CODE_CLOSED where `error` is not a live error object.
#[no_mangle]
pub extern "C" fn forebay_error_code(error: *const forebay_error) -> i32 {
    guarded_or(number(Code::Internal), || {
        if error.is_null() {
            return FOREBAY_OK;
        }
        match ERRORS.get(error.addr()) {
            Ok(found) => number(found.code),
            Err(e) => number(e.code()),
        }
    })
}

/// The error's message: UTF-8, ends in NUL, valid until the error is freed. Never NULL: it is a fixed text
/// where `error` is NULL or not a live error object.
#[no_mangle]
pub extern "C" fn forebay_error_message(error: *const forebay_error) -> *const c_char {
    const NONE: &CStr = c"no error";
    const UNKNOWN: &CStr = c"not a live error object";
    guarded_or(UNKNOWN.as_ptr(), || {
        if error.is_null() {
            return NONE.as_ptr();
        }
        if fork::is_child() {
            return fork::REFUSAL.as_ptr();
        }
        // The registry keeps the text where it is until the object is freed.
        ERRORS.get(error.addr()).map_or(UNKNOWN.as_ptr(), |found| found.message.as_ptr())
    })
}

/// Milliseconds after which the same call may be tried again: where the code is FOREBAY_CODE_BUSY. 0 where there
/// is no such hint, and where `error` is NULL or not a live error object.
#[no_mangle]
pub extern "C" fn forebay_error_retry_ms(error: *const forebay_error) -> u64 {
    guarded_or(0, || ERRORS.get(error.addr()).map_or(0, |found| found.retry_ms))
}

/// Frees an error. NULL, a freed or a foreign handle does nothing.
#[no_mangle]
pub extern "C" fn forebay_error_free(error: *mut forebay_error) {
    guarded_or((), || {
        let _ = ERRORS.remove(error.addr());
    })
}

/// The stable lower-case name of a code, such as "invalid_config": "ok" for FOREBAY_OK, "unknown" for a
/// number that this version does not know. A static text that ends in NUL.
#[no_mangle]
pub extern "C" fn forebay_code_name(code: i32) -> *const c_char {
    name_of(code).as_ptr()
}

fn name_of(code: i32) -> &'static CStr {
    const NAMES: [&CStr; 19] = [
        c"ok",
        c"internal",
        c"invalid_argument",
        c"invalid_config",
        c"invalid_request",
        c"unsupported",
        c"duplicate_request",
        c"not_found",
        c"busy",
        c"budget_exceeded",
        c"parameters_missing",
        c"parameters_invalid",
        c"unsatisfied",
        c"verification_failed",
        c"cancelled",
        c"timeout",
        c"closed",
        c"system",
        c"backend",
    ];
    usize::try_from(code).ok().and_then(|i| NAMES.get(i).copied()).unwrap_or(c"unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_codes() {
        for code in Code::ALL {
            assert_eq!(name_of(number(code)).to_str().unwrap(), code.name());
        }
        assert_eq!(name_of(0), c"ok");
        for unknown in [-1, Code::ALL.len() as i32 + 1, i32::MIN, i32::MAX] {
            assert_eq!(name_of(unknown), c"unknown");
        }
    }

    #[test]
    fn an_error_lives_until_it_is_freed() {
        let error = hand_out(&Error::new(Code::NotFound, "no\0job"));
        assert_eq!(forebay_error_code(error), Code::NotFound as i32);
        assert_eq!(look(error).unwrap().1, "no\u{FFFD}job");
        assert_eq!(forebay_error_retry_ms(error), 0);
        forebay_error_free(error);
        forebay_error_free(error);
        assert_eq!(forebay_error_code(error), Code::Closed as i32);
        let busy = hand_out(&Error::busy("full", std::time::Duration::from_secs(2)));
        assert_eq!(forebay_error_retry_ms(busy), 2000);
        forebay_error_free(busy);
        assert_eq!(forebay_error_retry_ms(busy), 0);
        assert_eq!(forebay_error_code(std::ptr::dangling()), Code::InvalidArgument as i32);
        assert_eq!(forebay_error_code(ptr::null()), 0);
    }
}
