//! The C ABI of `libforebay.so`. `include/forebay.h` is generated from the exports of this room; what they promise is
//! written at each of them and in `docs/abi.md`.
#![allow(non_camel_case_types)]

mod api;
mod buffer;
mod callback;
mod circuit;
mod completion;
mod error;
mod fork;
mod guard;
mod handle;
#[cfg(target_os = "linux")]
mod hidden;
mod job;
mod log;
mod observe;
mod registry;
mod signals;

pub use api::{forebay_abi_version, forebay_api, forebay_api_v1, forebay_version, FOREBAY_ABI_VERSION};
pub use buffer::{forebay_buffer, forebay_buffer_data, forebay_buffer_free, forebay_buffer_len};
pub use circuit::{forebay_evict, forebay_headroom, forebay_preload};
pub use error::{
    forebay_code_name, forebay_error, forebay_error_code, forebay_error_free, forebay_error_message,
    forebay_error_retry_ms, FOREBAY_OK,
};
pub use handle::{forebay_close, forebay_engine, forebay_open, FOREBAY_CLOSE_CANCEL, FOREBAY_CLOSE_DRAIN};
pub use job::{forebay_cancel, forebay_poll, forebay_submit, forebay_wait};
pub use log::{
    forebay_log_fn, forebay_set_log, FOREBAY_LOG_DEBUG, FOREBAY_LOG_ERROR, FOREBAY_LOG_INFO, FOREBAY_LOG_OFF,
    FOREBAY_LOG_TRACE, FOREBAY_LOG_WARN,
};
pub use observe::{forebay_completion_fd, forebay_metrics, forebay_report, forebay_status};

/// Longest configuration text, in bytes.
pub(crate) const MAX_CONFIG: usize = 1 << 20;
/// Longest serialized request, in bytes.
pub(crate) const MAX_REQUEST: usize = 256 << 20;
/// Longest job id, kind or circuit name, in bytes.
pub(crate) const MAX_NAME: usize = 4 << 10;
