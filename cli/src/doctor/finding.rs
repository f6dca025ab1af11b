//! What a check found.

use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Ok,
    /// Proofs are made, but worse than they could be; or it could not be told.
    Warning,
    /// Proofs fail, or will.
    Problem,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Problem => "problem",
        }
    }

    /// The terminal's sequence for it.
    pub fn colour(self) -> &'static str {
        match self {
            State::Ok => "\x1b[32m",
            State::Warning => "\x1b[33m",
            State::Problem => "\x1b[31m",
        }
    }
}

/// One line of the doctor's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: String,
    pub state: State,
    /// What is there.
    pub what: String,
    /// What to do; empty where nothing is to be done.
    pub remedy: String,
}

impl Finding {
    pub fn ok(check: &str, what: impl Into<String>) -> Finding {
        Finding { check: check.into(), state: State::Ok, what: what.into(), remedy: String::new() }
    }

    pub fn warning(check: &str, what: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { check: check.into(), state: State::Warning, what: what.into(), remedy: remedy.into() }
    }

    pub fn problem(check: &str, what: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { check: check.into(), state: State::Problem, what: what.into(), remedy: remedy.into() }
    }
}
