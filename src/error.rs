//! One error type for the whole library, with codes that are stable across versions.

use std::fmt;
use std::time::Duration;

/// Result of every fallible function of this library.
pub type Result<T> = std::result::Result<T, Error>;

/// Stable error codes. Append only: a number, once published, keeps its meaning.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// A bug in this library: an invariant did not hold or a panic was caught.
    Internal = 1,
    /// An argument of a call is malformed: null pointer, bad UTF-8, wrong length.
    InvalidArgument = 2,
    /// The configuration is malformed or holds an unknown key.
    InvalidConfig = 3,
    /// The request is malformed: it does not decode, or its parts do not fit together.
    InvalidRequest = 4,
    /// The request is well formed, but asks for something this build does not do.
    Unsupported = 5,
    /// The same request id is in use with other content.
    DuplicateRequest = 6,
    /// No such job, handle or file.
    NotFound = 7,
    /// The intake is full; retry after the hinted delay.
    Busy = 8,
    /// The memory budget can never hold the request.
    BudgetExceeded = 9,
    /// Groth16 parameters are missing.
    ParametersMissing = 10,
    /// Groth16 parameters are truncated, corrupt, foreign, or not allowed.
    ParametersInvalid = 11,
    /// The witness does not satisfy the circuit.
    Unsatisfied = 12,
    /// A finished proof did not verify.
    VerificationFailed = 13,
    /// The job was cancelled.
    Cancelled = 14,
    /// A wait or a deadline ran out.
    Timeout = 15,
    /// The handle is closed or the engine is shutting down.
    Closed = 16,
    /// The operating system refused: I/O, memory mapping, threads.
    System = 17,
    /// The prover backend failed or is not available.
    Backend = 18,
}

impl Code {
    /// Every code, in order of its number.
    /// cbindgen:ignore
    pub const ALL: [Code; 18] = [
        Code::Internal,
        Code::InvalidArgument,
        Code::InvalidConfig,
        Code::InvalidRequest,
        Code::Unsupported,
        Code::DuplicateRequest,
        Code::NotFound,
        Code::Busy,
        Code::BudgetExceeded,
        Code::ParametersMissing,
        Code::ParametersInvalid,
        Code::Unsatisfied,
        Code::VerificationFailed,
        Code::Cancelled,
        Code::Timeout,
        Code::Closed,
        Code::System,
        Code::Backend,
    ];

    /// The code's stable lower-case name, used in logs, metrics and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Code::Internal => "internal",
            Code::InvalidArgument => "invalid_argument",
            Code::InvalidConfig => "invalid_config",
            Code::InvalidRequest => "invalid_request",
            Code::Unsupported => "unsupported",
            Code::DuplicateRequest => "duplicate_request",
            Code::NotFound => "not_found",
            Code::Busy => "busy",
            Code::BudgetExceeded => "budget_exceeded",
            Code::ParametersMissing => "parameters_missing",
            Code::ParametersInvalid => "parameters_invalid",
            Code::Unsatisfied => "unsatisfied",
            Code::VerificationFailed => "verification_failed",
            Code::Cancelled => "cancelled",
            Code::Timeout => "timeout",
            Code::Closed => "closed",
            Code::System => "system",
            Code::Backend => "backend",
        }
    }
}

/// What went wrong: a stable [`Code`] and a message that says what was expected, what came, where,
/// and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: Code,
    message: String,
    retry_after: Option<Duration>,
}

impl Error {
    /// An error with this code and message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error { code, message: message.into(), retry_after: None }
    }

    /// [`Code::Busy`]: the same call may succeed after a while, in whole seconds.
    pub fn busy(why: impl fmt::Display, retry_after: Duration) -> Self {
        let message = format!("{why}; retry in {} s", retry_after.as_secs());
        Error { code: Code::Busy, message, retry_after: Some(retry_after) }
    }

    /// An operating-system error, with what was attempted.
    pub fn system(doing: impl fmt::Display, error: std::io::Error) -> Self {
        Error::new(Code::System, format!("{doing}: {error}"))
    }

    /// A broken invariant of this library.
    pub fn internal(message: impl Into<String>) -> Self {
        Error::new(Code::Internal, message)
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The text, without the code's name.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// When the same call may be tried again, where that is worth it.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The same error, with where it happened put before its message.
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_dense_and_their_names_distinct() {
        let mut names = std::collections::HashSet::new();
        for (i, code) in Code::ALL.into_iter().enumerate() {
            assert_eq!(code as usize, i + 1);
            assert!(names.insert(code.name()));
        }
    }

    #[test]
    fn place_comes_before_the_message() {
        let e = Error::new(Code::NotFound, "no job").at("cancel");
        assert_eq!(e.to_string(), "not_found: cancel: no job");
    }

    #[test]
    fn busy_has_a_hint_in_words_and_in_numbers() {
        let e = Error::busy("the intake is full", Duration::from_secs(7)).at("submit");
        assert_eq!(e.to_string(), "busy: submit: the intake is full; retry in 7 s");
        assert_eq!(e.retry_after(), Some(Duration::from_secs(7)));
    }
}
