//! Capacity and residency: headroom, preload, evict.

use std::ffi::c_char;

use super::error::forebay_error;
use super::guard::{guarded, set_if, Out};
use super::handle::{forebay_engine, Call};
use super::job::name;
use crate::error::Result;
use crate::kind::{CircuitId, ProofKind};

/// How many more requests of a kind would be accepted now without making an earlier one wait longer for memory.
///
/// `kind` is "porep_c2", "snap_update", "window_post" or "winning_post".
///
/// # Safety
/// `kind` points to `kind_len` readable bytes; `count` and, where not NULL, `error` are writable.
#[no_mangle]
pub unsafe extern "C" fn forebay_headroom(
    engine: *mut forebay_engine,
    kind: *const c_char,
    kind_len: usize,
    count: *mut u32,
    error: *mut *mut forebay_error,
) -> i32 {
    // SAFETY: the caller's promise, above.
    unsafe {
        guarded(error, || {
            let place = Out::required(count, "count")?;
            let call = Call::enter(engine)?;
            let kind: ProofKind = name(kind, kind_len, "kind")?.parse()?;
            place.set(call.engine().headroom(kind));
            Ok(())
        })
    }
}

/// Loads a circuit's parameters and matrices ahead of its first proof, and returns when they are in memory.
///
/// `circuit` is such as "porep-32g": porep, snap, wpost or winning, and 2k, 8m, 512m, 32g or 64g. `*already_loaded`
/// and `*load_time_ms` may be NULL. Fails with FOREBAY_CODE_PARAMETERS_MISSING, FOREBAY_CODE_PARAMETERS_INVALID or
/// FOREBAY_CODE_BUDGET_EXCEEDED.
///
/// # Safety
/// `circuit` points to `circuit_len` readable bytes; the out-parameters, where not NULL, are writable.
#[no_mangle]
pub unsafe extern "C" fn forebay_preload(
    engine: *mut forebay_engine,
    circuit: *const c_char,
    circuit_len: usize,
    already_loaded: *mut bool,
    load_time_ms: *mut u64,
    error: *mut *mut forebay_error,
) -> i32 {
    // SAFETY: the caller's promise, above.
    unsafe {
        guarded(error, || {
            let already = Out::optional(already_loaded, "already_loaded")?;
            let time = Out::optional(load_time_ms, "load_time_ms")?;
            let call = Call::enter(engine)?;
            let circuit = circuit_id(circuit, circuit_len)?;
            let loaded = call.engine().preload(circuit)?;
            set_if(&already, loaded.already_loaded);
            set_if(&time, u64::try_from(loaded.load_time.as_millis()).unwrap_or(u64::MAX));
            Ok(())
        })
    }
}

/// Gives an idle circuit's memory back.
///
/// `*was_loaded` and `*freed_bytes` may be NULL. A circuit that is not in memory is no error. Fails with
/// FOREBAY_CODE_BUSY while a job uses it.
///
/// # Safety
/// As forebay_preload.
#[no_mangle]
pub unsafe extern "C" fn forebay_evict(
    engine: *mut forebay_engine,
    circuit: *const c_char,
    circuit_len: usize,
    was_loaded: *mut bool,
    freed_bytes: *mut u64,
    error: *mut *mut forebay_error,
) -> i32 {
    // SAFETY: the caller's promise, above.
    unsafe {
        guarded(error, || {
            let was = Out::optional(was_loaded, "was_loaded")?;
            let freed = Out::optional(freed_bytes, "freed_bytes")?;
            let call = Call::enter(engine)?;
            let circuit = circuit_id(circuit, circuit_len)?;
            let evicted = call.engine().evict(circuit)?;
            set_if(&was, evicted.was_loaded);
            set_if(&freed, evicted.freed.0);
            Ok(())
        })
    }
}

/// # Safety
/// As [`name`].
unsafe fn circuit_id(text: *const c_char, len: usize) -> Result<CircuitId> {
    // SAFETY: this function's own contract.
    unsafe { name(text, len, "circuit")? }.parse()
}
