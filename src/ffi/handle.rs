//! Engine handles: open, close, and the count of calls in progress that close waits for.

use std::ffi::c_char;
use std::ptr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::completion::Completion;
use super::error::forebay_error;
use super::fork;
use super::guard::{guarded, utf8, Out};
use super::log::refuse_inside_callback;
use super::registry::{Registry, Sort};
use super::signals::Blocked;
use super::MAX_CONFIG;
use crate::engine::{Config, Engine, Shutdown};
use crate::error::{Code, Error, Result};

static ENGINES: Registry<Opened> = Registry::new(Sort::Engine);

/// forebay_close: unfinished jobs end as cancelled.
pub const FOREBAY_CLOSE_CANCEL: u32 = 0;
/// forebay_close: unfinished jobs are finished first; new ones are refused.
pub const FOREBAY_CLOSE_DRAIN: u32 = 1;

/// An open engine. Opaque; close with forebay_close.
pub struct forebay_engine {
    _opaque: [u8; 0],
}

struct Opened {
    engine: Arc<Engine>,
    completion: Mutex<Option<Completion>>,
    calls: Mutex<Calls>,
    idle: Condvar,
}

#[derive(Default)]
struct Calls {
    running: usize,
    closed: bool,
}

impl Opened {
    fn completion(&self) -> MutexGuard<'_, Option<Completion>> {
        self.completion.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call in progress on an open engine; [`forebay_close`] waits until it is dropped.
pub(super) struct Call(Arc<Opened>);

impl Call {
    pub(super) fn enter(handle: *mut forebay_engine) -> Result<Call> {
        let opened = ENGINES.get(handle.addr())?;
        let mut calls = opened.calls();
        if calls.closed {
            return Err(Error::new(Code::Closed, "the engine is closed"));
        }
        calls.running += 1;
        drop(calls);
        Ok(Call(opened))
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// A descriptor of the engine's completion signal, which is hooked up on first use.
    pub(super) fn completion_fd(&self) -> Result<i32> {
        let mut completion = self.0.completion();
        if let Some(completion) = completion.as_ref() {
            return completion.duplicate();
        }
        let fresh = Completion::new()?;
        let fd = fresh.duplicate()?;
        self.0.engine.on_completion(fresh.hook());
        *completion = Some(fresh);
        Ok(fd)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut calls = self.0.calls();
        calls.running -= 1;
        if calls.running == 0 {
            self.0.idle.notify_all();
        }
    }
}

/// Opens an engine: reads the configuration, checks what it names, and starts the engine's threads.
///
/// `config` is a TOML text in UTF-8 of `config_len` bytes, at most 1 MiB; of length 0 it stands for all defaults. On
/// success `*engine` is a handle that the caller owns and gives to forebay_close.
///
/// Fails with FOREBAY_CODE_INVALID_CONFIG, naming the nearest known key where one is unknown, and with whatever keeps
/// an engine from starting: FOREBAY_CODE_BUDGET_EXCEEDED, FOREBAY_CODE_PARAMETERS_MISSING, FOREBAY_CODE_BACKEND,
/// FOREBAY_CODE_SYSTEM. Several engines may be open at once.
///
/// # Safety
/// `config` points to `config_len` readable bytes; `engine` and, where not NULL, `error` are writable.
#[no_mangle]
pub unsafe extern "C" fn forebay_open(
    config: *const c_char,
    config_len: usize,
    engine: *mut *mut forebay_engine,
    error: *mut *mut forebay_error,
) -> i32 {
    // SAFETY: the caller's promise, above.
    unsafe {
        guarded(error, || {
            let place = Out::required(engine, "engine")?;
            let text = utf8(config, config_len, "config", MAX_CONFIG, Code::InvalidConfig)?;
            let config = Config::from_toml(text)?;
            fork::refuse()?;
            fork::watch()?;
            let engine = {
                let _inherited = Blocked::new();
                Engine::open(config)?
            };
            let opened = Opened {
                engine: Arc::clone(&engine),
                completion: Mutex::default(),
                calls: Mutex::default(),
                idle: Condvar::new(),
            };
            match ENGINES.insert(opened) {
                Ok(handle) => {
                    place.set(ptr::without_provenance_mut(handle));
                    Ok(())
                }
                Err(e) => {
                    engine.shutdown(Shutdown::Abort);
                    Err(e)
                }
            }
        })
    }
}

/// Closes an engine and returns when its threads have ended and every other call on the handle has returned.
///
/// With FOREBAY_CLOSE_CANCEL unfinished jobs end as cancelled and waiters wake at once; a step that cannot be
/// interrupted is waited for. With FOREBAY_CLOSE_DRAIN what was accepted is finished first. The handle is dead as
/// soon as the call begins: any use of it, a second close included, is FOREBAY_CODE_CLOSED and does no harm. Error
/// objects and buffers stay valid. Not to be called from inside a log callback (FOREBAY_CODE_INVALID_ARGUMENT).
///
/// # Safety
/// `error`, where not NULL, is writable.
#[no_mangle]
pub unsafe extern "C" fn forebay_close(
    engine: *mut forebay_engine,
    mode: u32,
    error: *mut *mut forebay_error,
) -> i32 {
    // SAFETY: the caller's promise, above.
    unsafe {
        guarded(error, || {
            refuse_inside_callback("forebay_close")?;
            let mode = match mode {
                FOREBAY_CLOSE_CANCEL => Shutdown::Abort,
                FOREBAY_CLOSE_DRAIN => Shutdown::Drain,
                other => {
                    return Err(Error::new(
                        Code::InvalidArgument,
                        format!("close mode {other} does not exist; expected 0 (cancel) or 1 (drain)"),
                    ))
                }
            };
            let opened = ENGINES.remove(engine.addr())?;
            opened.calls().closed = true;
            opened.engine.shutdown(mode);
            if let Some(completion) = opened.completion().as_ref() {
                completion.signal();
            }
            let calls = opened.calls();
            drop(opened.idle.wait_while(calls, |calls| calls.running > 0));
            Ok(())
        })
    }
}
