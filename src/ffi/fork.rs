//! A child of `fork` has this library's memory and none of its threads; locks that another thread held at that
//! moment stay held in it for ever. So in a child every call is refused before it takes one.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Code, Error, Result};

static CHILD: AtomicBool = AtomicBool::new(false);

/// Ends in NUL, for the error object that a child cannot make.
pub(super) const REFUSAL: &std::ffi::CStr =
    c"this process was forked from one that had opened an engine; call exec before using the library";

/// From now on children are told apart.
pub(super) fn watch() -> Result<()> {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if WATCHED.load(Ordering::Acquire) {
        return Ok(());
    }
    // SAFETY: a function without arguments that lives as long as the library, which is never unmapped. Called
    // twice by two threads at once it is kept twice, to the same effect.
    let refused = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    if refused != 0 {
        let error = std::io::Error::from_raw_os_error(refused);
        return Err(Error::system("registering what happens after a fork", error));
    }
    WATCHED.store(true, Ordering::Release);
    Ok(())
}

unsafe extern "C" fn in_child() {
    CHILD.store(true, Ordering::Relaxed);
}

pub(super) fn is_child() -> bool {
    CHILD.load(Ordering::Relaxed)
}

/// An error in a child of the process that opened an engine.
pub(super) fn refuse() -> Result<()> {
    match is_child() {
        true => Err(Error::new(Code::Closed, REFUSAL.to_string_lossy())),
        false => Ok(()),
    }
}
