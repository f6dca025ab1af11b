//! Jobs: submit, wait, poll, cancel.

use std::ffi::c_char;
use std::time::Duration;

use prost::Message;

use super::buffer::{self, forebay_buffer};
use super::error::forebay_error;
use super::guard::{bytes, guarded, set_if, utf8, Out};
use super::handle::{forebay_engine, Call};
use super::{MAX_NAME, MAX_REQUEST};
use crate::error::{Code, Result};

/// Hands in a request and returns at once.
///
/// `request` is a serialized `cuzk.v1.SubmitProofRequest` of at most 256 MiB; the library copies what it needs. On
/// success `*job_id` is a buffer, owned by the caller, with the job's id as text, and `*queue_position` (may be NULL)
/// the number of unfinished requests that are served before it. A request that repeats the `request_id` and content
/// of an earlier one is the same job.
///
/// Fails with FOREBAY_CODE_INVALID_REQUEST, FOREBAY_CODE_UNSUPPORTED, FOREBAY_CODE_DUPLICATE_REQUEST (the id is in use
/// with other content), FOREBAY_CODE_BUSY (the intake is full: the message has a retry hint),
/// FOREBAY_CODE_BUDGET_EXCEEDED, FOREBAY_CODE_PARAMETERS_MISSING or FOREBAY_CODE_CLOSED; nothing is kept then.
///
/// # Safety
/// `request` points to `request_len` readable bytes; `job_id` and, where not NULL, `queue_position` and `error` are
/// writable.
#[no_mangle]
pub unsafe extern "C" fn forebay_submit(
    engine: *mut forebay_engine,
    request: *const u8,
    request_len: usize,
    job_id: *mut *mut forebay_buffer,
    queue_position: *mut u32,
    error: *mut *mut forebay_error,
) -> i32 {
    // SAFETY: the caller's promise, above.
    unsafe {
        guarded(error, || {
            let place = Out::required(job_id, "job_id")?;
            let position = Out::optional(queue_position, "queue_position")?;
            let call = Call::enter(engine)?;
            let message = bytes(request, request_len, "request", MAX_REQUEST, Code::InvalidRequest)?;
            let submitted = call.engine().submit(message)?;
            buffer::hand_out(&place, submitted.job_id.into_bytes())?;
            set_if(&position, submitted.queue_position);
            Ok(())
        })
    }
}

/// Waits for a job's answer, for at most `timeout_ms` milliseconds; 0 waits for ever.
///
/// On success `*response` is a buffer, owned by the caller, with a serialized `cuzk.v1.AwaitProofResponse`: status
/// COMPLETED with the proof, which was verified, FAILED or CANCELLED with the reason in `error_message`, or TIMEOUT where the
/// job is not finished yet (it goes on, and may be waited for again). A job that failed is a successful call. Any
/// number of threads may wait for the same job; forebay_close wakes them.
///
/// Fails with FOREBAY_CODE_NOT_FOUND for a job that is unknown or no longer kept, and with FOREBAY_CODE_CLOSED.
///
/// # Safety
/// `job_id` points to `job_id_len` readable bytes; `response` and, where not NULL, `error` are writable.
#[no_mangle]
pub unsafe extern "C" fn forebay_wait(
    engine: *mut forebay_engine,
    job_id: *const c_char,
    job_id_len: usize,
    timeout_ms: u64,
    response: *mut *mut forebay_buffer,
    error: *mut *mut forebay_error,
) -> i32 {
    // SAFETY: the caller's promise, above.
    unsafe {
        guarded(error, || {
            let place = Out::required(response, "response")?;
            let call = Call::enter(engine)?;
            let id = name(job_id, job_id_len, "job_id")?;
            let timeout = (timeout_ms != 0).then(|| Duration::from_millis(timeout_ms));
            let answer = call.engine().wait(id, timeout)?;
            buffer::hand_out(&place, answer.encode_to_vec())
        })
    }
}

/// Looks at a job without waiting. As forebay_wait, but an unfinished job has status UNKNOWN.
///
/// # Safety
/// As forebay_wait.
#[no_mangle]
pub unsafe extern "C" fn forebay_poll(
    engine: *mut forebay_engine,
    job_id: *const c_char,
    job_id_len: usize,
    response: *mut *mut forebay_buffer,
    error: *mut *mut forebay_error,
) -> i32 {
    // SAFETY: the caller's promise, above.
    unsafe {
        guarded(error, || {
            let place = Out::required(response, "response")?;
            let call = Call::enter(engine)?;
            let id = name(job_id, job_id_len, "job_id")?;
            let answer = call.engine().poll(id)?;
            buffer::hand_out(&place, answer.encode_to_vec())
        })
    }
}

/// Ends a job as cancelled and frees what it holds, except inside a step that cannot be interrupted.
///
/// `*was_running` (may be NULL) tells whether it was unfinished. Its waiters get status CANCELLED.
/// Fails with FOREBAY_CODE_NOT_FOUND and FOREBAY_CODE_CLOSED.
///
/// # Safety
/// `job_id` points to `job_id_len` readable bytes; `was_running` and `error`, where not NULL, are writable.
#[no_mangle]
pub unsafe extern "C" fn forebay_cancel(
    engine: *mut forebay_engine,
    job_id: *const c_char,
    job_id_len: usize,
    was_running: *mut bool,
    error: *mut *mut forebay_error,
) -> i32 {
    // SAFETY: the caller's promise, above.
    unsafe {
        guarded(error, || {
            let place = Out::optional(was_running, "was_running")?;
            let call = Call::enter(engine)?;
            let id = name(job_id, job_id_len, "job_id")?;
            set_if(&place, call.engine().cancel(id)?);
            Ok(())
        })
    }
}

/// A short text of the caller: a job id, a kind, a circuit.
///
/// # Safety
/// As [`bytes`].
pub(super) unsafe fn name<'a>(text: *const c_char, len: usize, what: &str) -> Result<&'a str> {
    // SAFETY: this function's own contract.
    unsafe { utf8(text, len, what, MAX_NAME, Code::InvalidArgument) }
}
