//! The log callback: a tracing layer that hands every event to the host.

use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, Once, PoisonError, RwLock};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_log::{LogTracer, NormalizeEvent};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use super::callback::{self, LogCallback};
use super::error::forebay_error;
use super::fork;
use super::guard::guarded;
use crate::error::{Code, Error, Result};

/// Log level: nothing.
pub const FOREBAY_LOG_OFF: i32 = 0;
/// Log level: failures.
pub const FOREBAY_LOG_ERROR: i32 = 1;
/// Log level: failures and what may become one.
pub const FOREBAY_LOG_WARN: i32 = 2;
/// Log level: the life of jobs and circuits.
pub const FOREBAY_LOG_INFO: i32 = 3;
/// Log level: the steps of every partition.
pub const FOREBAY_LOG_DEBUG: i32 = 4;
/// Log level: everything.
pub const FOREBAY_LOG_TRACE: i32 = 5;

/// A log callback. `level` is FOREBAY_LOG_ERROR to FOREBAY_LOG_TRACE; `target` (the module) and `message` are
/// UTF-8, do not end in NUL, and are valid only during the call.
///
/// It may come from any thread, from several at once. It must return: a longjmp out of it, the end of its thread inside
/// it, a panic of another language or a fork that returns are not survived; a C++ exception is, and loses the event. It
/// must not block for long, nor call forebay_close or forebay_set_log; any other call is allowed and what it logs is
/// dropped.
pub type forebay_log_fn = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        level: i32,
        target: *const c_char,
        target_len: usize,
        message: *const c_char,
        message_len: usize,
    ),
>;

struct Sink {
    callback: LogCallback,
    /// The host's pointer, as a number: the library only carries it.
    user_data: usize,
}

// Writers wait for calls in progress, so nothing is called once `forebay_set_log` has returned.
static SINK: RwLock<Option<Sink>> = RwLock::new(None);
static LEVEL: AtomicI32 = AtomicI32::new(FOREBAY_LOG_OFF);

thread_local! {
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Sets, replaces or (with NULL) removes the log callback of this copy of the library, for all its handles.
///
/// `level` is the most verbose level that is delivered, FOREBAY_LOG_OFF to FOREBAY_LOG_TRACE. `user_data` is
/// handed to every call. When this returns, the callback set before is not running and is not called again, so what
/// its `user_data` points to may be freed.
///
/// Fails with FOREBAY_CODE_INVALID_ARGUMENT for a level that does not exist and from inside a callback, with
/// FOREBAY_CODE_UNSUPPORTED where the host installed a Rust tracing subscriber of its own into this copy.
///
/// # Safety
/// `callback` is a function of this signature that may be called from any thread until it is replaced or removed;
/// `error`, where not NULL, is writable.
#[no_mangle]
pub unsafe extern "C" fn forebay_set_log(
    level: i32,
    callback: forebay_log_fn,
    user_data: *mut c_void,
    error: *mut *mut forebay_error,
) -> i32 {
    // SAFETY: the caller's promise, above.
    unsafe { guarded(error, || set(level, callback, user_data.expose_provenance())) }
}

fn set(level: i32, callback: forebay_log_fn, user_data: usize) -> Result<()> {
    static CHANGING: Mutex<()> = Mutex::new(());
    fork::refuse()?;
    if !(FOREBAY_LOG_OFF..=FOREBAY_LOG_TRACE).contains(&level) {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("log level {level} does not exist; expected 0 (off) to 5 (trace)"),
        ));
    }
    refuse_inside_callback("forebay_set_log")?;
    let _one_at_a_time = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
    if callback.is_some() {
        install()?;
    }
    let level = if callback.is_some() { level } else { FOREBAY_LOG_OFF };
    *SINK.write().unwrap_or_else(PoisonError::into_inner) =
        callback.map(|callback| Sink { callback, user_data });
    LEVEL.store(level, Ordering::Release);
    tracing::callsite::rebuild_interest_cache();
    log::set_max_level(filter_of_log(level));
    Ok(())
}

fn filter_of_log(level: i32) -> log::LevelFilter {
    match level {
        FOREBAY_LOG_ERROR => log::LevelFilter::Error,
        FOREBAY_LOG_WARN => log::LevelFilter::Warn,
        FOREBAY_LOG_INFO => log::LevelFilter::Info,
        FOREBAY_LOG_DEBUG => log::LevelFilter::Debug,
        FOREBAY_LOG_TRACE => log::LevelFilter::Trace,
        _ => log::LevelFilter::Off,
    }
}

/// An error where the calling thread is inside a log callback, in which `what` would wait for itself.
pub(super) fn refuse_inside_callback(what: &str) -> Result<()> {
    if IN_CALLBACK.get() {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("{what} was called from inside a log callback; call it from another place"),
        ));
    }
    Ok(())
}

fn install() -> Result<()> {
    static ONCE: Once = Once::new();
    static INSTALLED: Mutex<bool> = Mutex::new(false);
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::registry().with(ToHost);
        let installed = tracing::subscriber::set_global_default(subscriber).is_ok();
        // Filecoin's crates write through `log`. A Rust host that reads those events already goes on doing so.
        let _ = installed && LogTracer::init().is_ok();
        *INSTALLED.lock().unwrap_or_else(PoisonError::into_inner) = installed;
    });
    if *INSTALLED.lock().unwrap_or_else(PoisonError::into_inner) {
        return Ok(());
    }
    Err(Error::new(
        Code::Unsupported,
        "this process already has a Rust tracing subscriber; read forebay's events there",
    ))
}

fn number(level: &Level) -> i32 {
    match *level {
        Level::ERROR => FOREBAY_LOG_ERROR,
        Level::WARN => FOREBAY_LOG_WARN,
        Level::INFO => FOREBAY_LOG_INFO,
        Level::DEBUG => FOREBAY_LOG_DEBUG,
        Level::TRACE => FOREBAY_LOG_TRACE,
    }
}

struct ToHost;

/// A span's fields, as text.
struct SpanText(String);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for ToHost {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        number(metadata.level()) <= LEVEL.load(Ordering::Acquire)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(match LEVEL.load(Ordering::Acquire) {
            FOREBAY_LOG_ERROR => LevelFilter::ERROR,
            FOREBAY_LOG_WARN => LevelFilter::WARN,
            FOREBAY_LOG_INFO => LevelFilter::INFO,
            FOREBAY_LOG_DEBUG => LevelFilter::DEBUG,
            FOREBAY_LOG_TRACE => LevelFilter::TRACE,
            _ => LevelFilter::OFF,
        })
    }

    fn on_new_span(&self, attrs: &tracing::span::Attributes<'_>, id: &tracing::Id, ctx: Context<'_, S>) {
        let mut text = Text::default();
        attrs.record(&mut text);
        if let Some(span) = ctx.span(id) {
            span.extensions_mut().replace(SpanText(text.done()));
        }
    }

    fn on_event(&self, event: &Event<'_>, ctx: Context<'_, S>) {
        // An event out of the callback itself would call it again without end.
        if IN_CALLBACK.get() {
            return;
        }
        let mut text = Text::default();
        event.record(&mut text);
        let mut message = text.done();
        for span in ctx.event_scope(event).into_iter().flatten() {
            let extensions = span.extensions();
            let fields = extensions.get::<SpanText>().map_or("", |t| t.0.as_str());
            let _ = write!(message, " {}{{{fields}}}", span.name());
        }
        let of_log = event.normalized_metadata();
        let metadata = of_log.as_ref().unwrap_or_else(|| event.metadata());
        deliver(number(metadata.level()), metadata.target(), &message);
    }
}

fn deliver(level: i32, target: &str, message: &str) {
    struct Inside;
    impl Drop for Inside {
        fn drop(&mut self) {
            IN_CALLBACK.set(false);
        }
    }
    let sink = SINK.read().unwrap_or_else(PoisonError::into_inner);
    let Some(sink) = sink.as_ref() else { return };
    IN_CALLBACK.set(true);
    let _inside = Inside;
    let user_data = std::ptr::with_exposed_provenance_mut(sink.user_data);
    // SAFETY: the host vouches for the callback until forebay_set_log replaces it, which waits for the read
    // lock held here. An event whose callback throws is lost.
    unsafe { callback::log(sink.callback, user_data, level, target, message) };
}

/// Collects `message key=value …`.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Text {
    fn done(self) -> String {
        match (self.message.is_empty(), self.fields.is_empty()) {
            (true, _) => self.fields,
            (_, true) => self.message,
            _ => format!("{} {}", self.message, self.fields),
        }
    }

    fn add(&mut self, name: &str, value: fmt::Arguments<'_>) {
        let _ = match name {
            "message" => self.message.write_fmt(value),
            // Where an event of `log` came from; its target says enough.
            _ if name.starts_with("log.") => Ok(()),
            _ if self.fields.is_empty() => write!(self.fields, "{name}={value}"),
            _ => write!(self.fields, " {name}={value}"),
        };
    }
}

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field.name(), format_args!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    struct Heard(Mutex<Vec<(i32, String)>>);

    unsafe extern "C" fn hear(
        user_data: *mut c_void,
        level: i32,
        _: *const c_char,
        _: usize,
        message: *const c_char,
        len: usize,
    ) {
        // SAFETY: the test hands in a `Heard` that outlives the callback, and the library a text of `len` bytes.
        let (heard, text) =
            unsafe { (&*user_data.cast::<Heard>(), std::slice::from_raw_parts(message.cast(), len)) };
        tracing::error!("an event from inside the callback is dropped");
        let nested = set_log(FOREBAY_LOG_OFF, None, null_mut());
        assert_eq!(nested, Code::InvalidArgument as i32);
        heard.0.lock().unwrap().push((level, String::from_utf8_lossy(text).into_owned()));
    }

    fn set_log(level: i32, callback: forebay_log_fn, user_data: *mut c_void) -> i32 {
        // SAFETY: `hear` is sound for the user data that the tests hand in.
        unsafe { forebay_set_log(level, callback, user_data, null_mut()) }
    }

    fn emit(round: u32) {
        let span = tracing::info_span!("ffi_log_job", id = "j1");
        let _inside = span.enter();
        tracing::info!(round, "ffi_log_test");
        log::warn!(target: "filecoin", "ffi_log_test of log {round}");
        log::debug!(target: "filecoin", "ffi_log_test too verbose");
        tracing::debug!("ffi_log_test too verbose");
    }

    #[test]
    fn a_callback_can_be_set_removed_and_set_again() {
        let heard = Heard(Mutex::new(Vec::new()));
        let user_data = (&raw const heard).cast_mut().cast();
        for round in 0..3 {
            assert_eq!(set_log(FOREBAY_LOG_INFO, Some(hear), user_data), 0);
            emit(round);
            assert_eq!(set_log(FOREBAY_LOG_TRACE, None, null_mut()), 0);
            emit(99);
        }
        let mut heard = heard.0.into_inner().unwrap();
        heard.retain(|(_, text)| text.contains("ffi_log_test"));
        let expected = (0..3).flat_map(|n| {
            let own = format!("ffi_log_test round={n} ffi_log_job{{id=j1}}");
            let of_log = format!("ffi_log_test of log {n} ffi_log_job{{id=j1}}");
            [(FOREBAY_LOG_INFO, own), (FOREBAY_LOG_WARN, of_log)]
        });
        assert_eq!(heard, expected.collect::<Vec<_>>());
    }

    #[test]
    fn levels_that_do_not_exist_are_refused() {
        for level in [-1, 6, i32::MIN, i32::MAX] {
            let code = set_log(level, Some(hear), null_mut());
            assert_eq!(code, Code::InvalidArgument as i32);
        }
    }
}
