//! `libforebay.so`, loaded at run time and driven through its table of functions, as any host does it.

use std::ffi::{c_char, c_void, CStr};
use std::path::{Path, PathBuf};
use std::ptr;
use std::time::{Duration, SystemTime};

use forebay::ffi::{
    forebay_api_v1, forebay_buffer, forebay_engine, forebay_error, FOREBAY_ABI_VERSION, FOREBAY_CLOSE_CANCEL,
    FOREBAY_LOG_DEBUG, FOREBAY_LOG_ERROR, FOREBAY_LOG_INFO, FOREBAY_LOG_TRACE, FOREBAY_LOG_WARN, FOREBAY_OK,
};
use forebay::wire::AwaitProofResponse;
use forebay::{Code, Error, Result};
use prost::Message;

const FILE: &str = "libforebay.so";

/// The loaded library; it stays loaded until the process ends.
#[derive(Clone, Copy)]
pub struct Library {
    api: &'static forebay_api_v1,
}

impl Library {
    /// Loads the library at `path`, or else the newest one that lies where a build or an installation puts it.
    pub fn load(path: Option<&Path>) -> Result<Library> {
        let path = match path {
            Some(path) => path.to_owned(),
            None => beside_executable()?,
        };
        tracing::info!("loading {}", path.display());
        let refused = |e: libloading::Error| {
            Error::new(
                Code::NotFound,
                format!("loading {}: {e}; build it or name it with --library", path.display()),
            )
        };
        // SAFETY: the initialisers of the named library run; it is one of forebay's or the user's own choice.
        let library = unsafe { libloading::Library::new(&path) }.map_err(refused)?;
        type Table = unsafe extern "C" fn(u32) -> *const forebay_api_v1;
        // SAFETY: every forebay library exports this function with this signature.
        let table = unsafe { library.get::<Table>(b"forebay_api\0") }.map_err(refused)?;
        // SAFETY: it takes any number.
        let table = unsafe { table(FOREBAY_ABI_VERSION) };
        // SAFETY: null, or a table of this ABI version that is static in a library which is never unloaded.
        let api = unsafe { table.as_ref() }.ok_or_else(|| {
            Error::new(
                Code::Unsupported,
                format!("{} does not speak ABI version {FOREBAY_ABI_VERSION}", path.display()),
            )
        })?;
        std::mem::forget(library);
        let loaded = Library { api };
        loaded.forward_log()?;
        Ok(loaded)
    }

    /// Opens an engine with this configuration.
    pub fn open(self, config: &str) -> Result<Engine> {
        let mut handle = ptr::null_mut();
        // SAFETY: pointer and length of a live text, and places of our own.
        self.call(|error| unsafe {
            (self.api.open)(config.as_ptr().cast(), config.len(), &mut handle, error)
        })?;
        Ok(Engine { library: self, handle })
    }

    /// Runs one call and turns its code and error object into an error.
    fn call(self, call: impl FnOnce(*mut *mut forebay_error) -> i32) -> Result<()> {
        let mut error = ptr::null_mut();
        let number = call(&mut error);
        if number == FOREBAY_OK {
            return Ok(());
        }
        // SAFETY: the library's messages end in NUL, and live until the error is freed, below.
        let message =
            unsafe { CStr::from_ptr((self.api.error_message)(error)) }.to_string_lossy().into_owned();
        // SAFETY: an error is freed once; null is allowed.
        unsafe { (self.api.error_free)(error) };
        let code = Code::ALL.into_iter().find(|code| *code as i32 == number);
        Err(Error::new(code.unwrap_or(Code::Internal), message))
    }

    /// Runs one call that hands out a buffer, and takes its bytes.
    fn fetch(
        self,
        call: impl FnOnce(*mut *mut forebay_buffer, *mut *mut forebay_error) -> i32,
    ) -> Result<Vec<u8>> {
        let mut buffer = ptr::null_mut();
        self.call(|error| call(&mut buffer, error))?;
        // SAFETY: a live buffer; its bytes are read before it is freed, once.
        unsafe {
            let (data, len) = ((self.api.buffer_data)(buffer), (self.api.buffer_len)(buffer));
            let bytes =
                if data.is_null() { Vec::new() } else { std::slice::from_raw_parts(data, len).to_vec() };
            (self.api.buffer_free)(buffer);
            Ok(bytes)
        }
    }

    /// Lets the library's log lines come out among ours.
    fn forward_log(self) -> Result<()> {
        let level = match tracing::level_filters::LevelFilter::current().into_level() {
            None => return Ok(()),
            Some(tracing::Level::ERROR) => FOREBAY_LOG_ERROR,
            Some(tracing::Level::WARN) => FOREBAY_LOG_WARN,
            Some(tracing::Level::INFO) => FOREBAY_LOG_INFO,
            Some(tracing::Level::DEBUG) => FOREBAY_LOG_DEBUG,
            Some(tracing::Level::TRACE) => FOREBAY_LOG_TRACE,
        };
        // SAFETY: the callback needs no user data and lives as long as the process.
        self.call(|error| unsafe { (self.api.set_log)(level, Some(log_line), ptr::null_mut(), error) })
    }
}

unsafe extern "C" fn log_line(
    _: *mut c_void,
    level: i32,
    target: *const c_char,
    target_len: usize,
    message: *const c_char,
    message_len: usize,
) {
    // SAFETY: the library hands in two texts of these lengths, live during the call.
    let (target, message) = unsafe {
        (
            std::slice::from_raw_parts(target.cast::<u8>(), target_len),
            std::slice::from_raw_parts(message.cast::<u8>(), message_len),
        )
    };
    let (target, message) = (String::from_utf8_lossy(target), String::from_utf8_lossy(message));
    match level {
        FOREBAY_LOG_ERROR => tracing::error!(target: "libforebay", "{target}: {message}"),
        FOREBAY_LOG_WARN => tracing::warn!(target: "libforebay", "{target}: {message}"),
        FOREBAY_LOG_INFO => tracing::info!(target: "libforebay", "{target}: {message}"),
        FOREBAY_LOG_DEBUG => tracing::debug!(target: "libforebay", "{target}: {message}"),
        _ => tracing::trace!(target: "libforebay", "{target}: {message}"),
    }
}

/// An open engine; closed when dropped.
pub struct Engine {
    library: Library,
    handle: *mut forebay_engine,
}

impl Engine {
    /// Hands in a serialized request; gives the job's id.
    pub fn submit(&self, request: &[u8]) -> Result<String> {
        let Library { api } = self.library;
        // SAFETY: pointer and length of live bytes, and places of our own.
        let id = self.library.fetch(|id, error| unsafe {
            (api.submit)(self.handle, request.as_ptr(), request.len(), id, ptr::null_mut(), error)
        })?;
        String::from_utf8(id).map_err(|e| Error::internal(format!("a job id that is not UTF-8: {e}")))
    }

    /// Waits for a job's answer; `None` waits for ever.
    pub fn wait(&self, job_id: &str, timeout: Option<Duration>) -> Result<AwaitProofResponse> {
        let Library { api } = self.library;
        let timeout_ms = timeout.map_or(0, |t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX).max(1));
        // SAFETY: pointer and length of a live text, and places of our own.
        let answer = self.library.fetch(|answer, error| unsafe {
            (api.wait)(self.handle, job_id.as_ptr().cast(), job_id.len(), timeout_ms, answer, error)
        })?;
        AwaitProofResponse::decode(answer.as_slice())
            .map_err(|e| Error::internal(format!("an answer that does not decode: {e}")))
    }

    /// One job's facts, as JSON.
    pub fn report(&self, job_id: &str) -> Result<Vec<u8>> {
        let Library { api } = self.library;
        // SAFETY: pointer and length of a live text, and places of our own.
        self.library.fetch(|json, error| unsafe {
            (api.report)(self.handle, job_id.as_ptr().cast(), job_id.len(), json, error)
        })
    }

    /// Closes the engine; unfinished jobs are cancelled.
    pub fn close(self) -> Result<()> {
        let engine = std::mem::ManuallyDrop::new(self);
        engine.close_handle()
    }

    fn close_handle(&self) -> Result<()> {
        // SAFETY: the error's place is our own.
        self.library
            .call(|error| unsafe { (self.library.api.close)(self.handle, FOREBAY_CLOSE_CANCEL, error) })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Err(error) = self.close_handle() {
            tracing::warn!("closing the engine: {error}");
        }
    }
}

/// Cargo leaves the library beside the executable or in `deps`, an installation in `../lib`. After partial builds an
/// old one may lie beside a new one, so the newest counts.
fn beside_executable() -> Result<PathBuf> {
    let executable = std::env::current_exe().map_err(|e| Error::system("finding the executable", e))?;
    let folder = executable.parent().unwrap_or(Path::new("."));
    let candidates = [folder.join(FILE), folder.join("deps").join(FILE), folder.join("../lib").join(FILE)];
    let written = |path: &PathBuf| -> Option<SystemTime> { path.metadata().ok()?.modified().ok() };
    let newest = candidates.iter().filter_map(|path| Some((written(path)?, path))).max();
    newest.map(|(_, path)| path.clone()).ok_or_else(|| {
        let searched: Vec<_> = candidates.iter().map(|path| path.display().to_string()).collect();
        Error::new(
            Code::NotFound,
            format!(
                "{FILE} was not found; searched {}; build it or name it with --library",
                searched.join(", ")
            ),
        )
    })
}
