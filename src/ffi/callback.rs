//! Calls into the host.

use std::ffi::{c_char, c_void};

/// The host's log callback.
pub(super) type LogCallback =
    unsafe extern "C" fn(*mut c_void, i32, *const c_char, usize, *const c_char, usize);

extern "C" {
    fn forebay_core_call_log(
        callback: LogCallback,
        user_data: *mut c_void,
        level: i32,
        target: *const c_char,
        target_len: usize,
        message: *const c_char,
        message_len: usize,
    ) -> bool;
}

/// Calls it through C++, which catches what it throws; false where it threw.
///
/// # Safety
/// The host vouches for the callback and its data.
pub(super) unsafe fn log(
    callback: LogCallback,
    user_data: *mut c_void,
    level: i32,
    target: &str,
    message: &str,
) -> bool {
    // SAFETY: this function's own contract; both texts outlive the call.
    unsafe {
        forebay_core_call_log(
            callback,
            user_data,
            level,
            target.as_ptr().cast(),
            target.len(),
            message.as_ptr().cast(),
            message.len(),
        )
    }
}
