//! Versions, and the table of all functions for hosts that load the library at run time.

use std::ffi::{c_char, c_void};

use super::*;

/// The version of this ABI. It changes only when something is taken away or changes its meaning.
pub const FOREBAY_ABI_VERSION: u32 = 1;

/// Every function of ABI version 1, for hosts that look up one symbol (forebay_api) and no more. New functions are
/// added at the end; `size` tells how far the table of the loaded library goes. Each member is the function
/// forebay_<member>, described there.
#[repr(C)]
pub struct forebay_api_v1 {
    /// FOREBAY_ABI_VERSION of the library.
    pub version: u32,
    /// Bytes of this table in the library.
    pub size: u32,
    /// forebay_version
    pub library_version: unsafe extern "C" fn() -> *const c_char,
    /// forebay_open
    pub open: unsafe extern "C" fn(
        config: *const c_char,
        config_len: usize,
        engine: *mut *mut forebay_engine,
        error: *mut *mut forebay_error,
    ) -> i32,
    /// forebay_close
    pub close:
        unsafe extern "C" fn(engine: *mut forebay_engine, mode: u32, error: *mut *mut forebay_error) -> i32,
    /// forebay_submit
    pub submit: unsafe extern "C" fn(
        engine: *mut forebay_engine,
        request: *const u8,
        request_len: usize,
        job_id: *mut *mut forebay_buffer,
        queue_position: *mut u32,
        error: *mut *mut forebay_error,
    ) -> i32,
    /// forebay_wait
    pub wait: unsafe extern "C" fn(
        engine: *mut forebay_engine,
        job_id: *const c_char,
        job_id_len: usize,
        timeout_ms: u64,
        response: *mut *mut forebay_buffer,
        error: *mut *mut forebay_error,
    ) -> i32,
    /// forebay_poll
    pub poll: unsafe extern "C" fn(
        engine: *mut forebay_engine,
        job_id: *const c_char,
        job_id_len: usize,
        response: *mut *mut forebay_buffer,
        error: *mut *mut forebay_error,
    ) -> i32,
    /// forebay_cancel
    pub cancel: unsafe extern "C" fn(
        engine: *mut forebay_engine,
        job_id: *const c_char,
        job_id_len: usize,
        was_running: *mut bool,
        error: *mut *mut forebay_error,
    ) -> i32,
    /// forebay_headroom
    pub headroom: unsafe extern "C" fn(
        engine: *mut forebay_engine,
        kind: *const c_char,
        kind_len: usize,
        count: *mut u32,
        error: *mut *mut forebay_error,
    ) -> i32,
    /// forebay_preload
    pub preload: unsafe extern "C" fn(
        engine: *mut forebay_engine,
        circuit: *const c_char,
        circuit_len: usize,
        already_loaded: *mut bool,
        load_time_ms: *mut u64,
        error: *mut *mut forebay_error,
    ) -> i32,
    /// forebay_evict
    pub evict: unsafe extern "C" fn(
        engine: *mut forebay_engine,
        circuit: *const c_char,
        circuit_len: usize,
        was_loaded: *mut bool,
        freed_bytes: *mut u64,
        error: *mut *mut forebay_error,
    ) -> i32,
    /// forebay_status
    pub status: unsafe extern "C" fn(
        engine: *mut forebay_engine,
        json: *mut *mut forebay_buffer,
        error: *mut *mut forebay_error,
    ) -> i32,
    /// forebay_metrics
    pub metrics: unsafe extern "C" fn(
        engine: *mut forebay_engine,
        text: *mut *mut forebay_buffer,
        error: *mut *mut forebay_error,
    ) -> i32,
    /// forebay_report
    pub report: unsafe extern "C" fn(
        engine: *mut forebay_engine,
        job_id: *const c_char,
        job_id_len: usize,
        json: *mut *mut forebay_buffer,
        error: *mut *mut forebay_error,
    ) -> i32,
    /// forebay_completion_fd
    pub completion_fd: unsafe extern "C" fn(
        engine: *mut forebay_engine,
        fd: *mut i32,
        error: *mut *mut forebay_error,
    ) -> i32,
    /// forebay_set_log
    pub set_log: unsafe extern "C" fn(
        level: i32,
        callback: forebay_log_fn,
        user_data: *mut c_void,
        error: *mut *mut forebay_error,
    ) -> i32,
    /// forebay_buffer_data
    pub buffer_data: unsafe extern "C" fn(buffer: *const forebay_buffer) -> *const u8,
    /// forebay_buffer_len
    pub buffer_len: unsafe extern "C" fn(buffer: *const forebay_buffer) -> usize,
    /// forebay_buffer_free
    pub buffer_free: unsafe extern "C" fn(buffer: *mut forebay_buffer),
    /// forebay_error_code
    pub error_code: unsafe extern "C" fn(error: *const forebay_error) -> i32,
    /// forebay_error_message
    pub error_message: unsafe extern "C" fn(error: *const forebay_error) -> *const c_char,
    /// forebay_error_free
    pub error_free: unsafe extern "C" fn(error: *mut forebay_error),
    /// forebay_code_name
    pub code_name: unsafe extern "C" fn(code: i32) -> *const c_char,
    /// forebay_error_retry_ms
    pub error_retry_ms: unsafe extern "C" fn(error: *const forebay_error) -> u64,
}

static API_V1: forebay_api_v1 = forebay_api_v1 {
    version: FOREBAY_ABI_VERSION,
    size: std::mem::size_of::<forebay_api_v1>() as u32,
    library_version: forebay_version,
    open: forebay_open,
    close: forebay_close,
    submit: forebay_submit,
    wait: forebay_wait,
    poll: forebay_poll,
    cancel: forebay_cancel,
    headroom: forebay_headroom,
    preload: forebay_preload,
    evict: forebay_evict,
    status: forebay_status,
    metrics: forebay_metrics,
    report: forebay_report,
    completion_fd: forebay_completion_fd,
    set_log: forebay_set_log,
    buffer_data: forebay_buffer_data,
    buffer_len: forebay_buffer_len,
    buffer_free: forebay_buffer_free,
    error_code: forebay_error_code,
    error_message: forebay_error_message,
    error_free: forebay_error_free,
    code_name: forebay_code_name,
    error_retry_ms: forebay_error_retry_ms,
};

/// The ABI version of the loaded library; compare with FOREBAY_ABI_VERSION.
#[no_mangle]
pub extern "C" fn forebay_abi_version() -> u32 {
    FOREBAY_ABI_VERSION
}

/// The library's version, such as "0.1.0". A static text that ends in NUL.
#[no_mangle]
pub extern "C" fn forebay_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// The table of all functions of an ABI version; NULL where the library does not speak that version. It is static.
#[no_mangle]
pub extern "C" fn forebay_api(version: u32) -> *const forebay_api_v1 {
    match version {
        FOREBAY_ABI_VERSION => &API_V1,
        _ => std::ptr::null(),
    }
}
