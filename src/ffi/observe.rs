//! What an engine tells about itself: status, metrics, a job's report, completions.

use std::ffi::c_char;

use super::buffer::{self, forebay_buffer};
use super::error::forebay_error;
use super::guard::{guarded, Out};
use super::handle::{forebay_engine, Call};
use super::job::name;
use crate::error::{Code, Error, Result};

/// A snapshot of the whole engine as a JSON object: `version`, `state`, memory promised and measured, queues,
/// circuits, slots, unfinished and recent jobs. `*json` is owned by the caller.
///
/// # Safety
/// `json` and, where not NULL, `error` are writable.
#[no_mangle]
pub unsafe extern "C" fn forebay_status(
    engine: *mut forebay_engine,
    json: *mut *mut forebay_buffer,
    error: *mut *mut forebay_error,
) -> i32 {
    // SAFETY: the caller's promise, above.
    unsafe {
        guarded(error, || {
            let place = Out::required(json, "json")?;
            let call = Call::enter(engine)?;
            buffer::hand_out(&place, to_json(&call.engine().status())?)
        })
    }
}

/// Every metric in Prometheus' text format. `*text` is owned by the caller.
///
/// # Safety
/// `text` and, where not NULL, `error` are writable.
#[no_mangle]
pub unsafe extern "C" fn forebay_metrics(
    engine: *mut forebay_engine,
    text: *mut *mut forebay_buffer,
    error: *mut *mut forebay_error,
) -> i32 {
    // SAFETY: the caller's promise, above.
    unsafe {
        guarded(error, || {
            let place = Out::required(text, "text")?;
            let call = Call::enter(engine)?;
            buffer::hand_out(&place, call.engine().metrics().into_bytes())
        })
    }
}

/// One job's facts as a JSON object: kind, circuit, state, bytes by use, milliseconds by stage. `*json` is owned by
/// the caller. Fails with FOREBAY_CODE_NOT_FOUND for a job that is unknown or no longer kept.
///
/// # Safety
/// `job_id` points to `job_id_len` readable bytes; `json` and, where not NULL, `error` are writable.
#[no_mangle]
pub unsafe extern "C" fn forebay_report(
    engine: *mut forebay_engine,
    job_id: *const c_char,
    job_id_len: usize,
    json: *mut *mut forebay_buffer,
    error: *mut *mut forebay_error,
) -> i32 {
    // SAFETY: the caller's promise, above.
    unsafe {
        guarded(error, || {
            let place = Out::required(json, "json")?;
            let call = Call::enter(engine)?;
            let id = name(job_id, job_id_len, "job_id")?;
            let report = call.engine().report(id).ok_or_else(|| {
                Error::new(
                    Code::NotFound,
                    format!("no job {id:?}; it never was, or its result is no longer kept"),
                )
            })?;
            buffer::hand_out(&place, to_json(&report)?)
        })
    }
}

/// An eventfd that becomes readable when jobs end: every answer of this engine after the first such call, and the
/// engine's close, adds one. Ask for it before the first submit, and poll a job once after its submit: a kept proof is
/// answered before that returns.
///
/// `*fd` is a descriptor of its own (non-blocking, close-on-exec) that the caller owns and closes, before or after the
/// engine. All descriptors of one engine share one counter: reading it (8 bytes) sets it to 0 for all, so give one
/// to one event loop, which then polls its jobs.
///
/// # Safety
/// `fd` and, where not NULL, `error` are writable.
#[no_mangle]
pub unsafe extern "C" fn forebay_completion_fd(
    engine: *mut forebay_engine,
    fd: *mut i32,
    error: *mut *mut forebay_error,
) -> i32 {
    // SAFETY: the caller's promise, above.
    unsafe {
        guarded(error, || {
            let place = Out::required(fd, "fd")?;
            // 0 is a real descriptor: a caller that ignores the code must not close it.
            place.set(-1);
            let call = Call::enter(engine)?;
            place.set(call.completion_fd()?);
            Ok(())
        })
    }
}

fn to_json(document: &impl serde::Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(document).map_err(|e| Error::internal(format!("writing JSON: {e}")))
}
