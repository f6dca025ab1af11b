//! The one place where panics of Filecoin's crates are caught.

use std::any::Any;
use std::fmt;
use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::error::{Code, Error, Result};

/// Runs code that reaches into Filecoin's crates with foreign input; what was not foreseen there and
/// panics comes back as `InvalidRequest` with the panic's text.
pub(super) fn guarded<T>(doing: impl fmt::Display, work: impl FnOnce() -> Result<T>) -> Result<T> {
    // Whatever `work` was changing is dropped with it: callers only hand in shared references.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Error::new(
            Code::InvalidRequest,
            format!("{doing} failed inside Filecoin's proofs: {}", panic_text(&*panic)),
        ))
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        return (*text).to_string();
    }
    if let Some(text) = panic.downcast_ref::<String>() {
        return text.clone();
    }
    "a panic without text".to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_its_text() {
        let error = guarded("decoding", || -> Result<()> { panic!("length {} is odd", 3) }).unwrap_err();
        assert_eq!(error.code(), Code::InvalidRequest);
        assert!(error.message().contains("decoding") && error.message().contains("length 3 is odd"));
        assert_eq!(guarded("decoding", || Ok(7)).unwrap(), 7);
    }
}
