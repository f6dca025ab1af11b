//! How a command ends when it does not succeed.

use std::process::ExitCode;

use forebay::{Code, Error};

/// Result of every command.
pub type Result<T> = std::result::Result<T, Failure>;

/// Why a command failed.
pub enum Failure {
    /// The library or the system refused.
    Error(Error),
    /// Everything ran, and what was asked does not hold: a proof that does not verify, a file that is not sound.
    Unsound(String),
}

impl Failure {
    /// Prints one line to standard error and gives the exit code.
    pub fn report(&self) -> ExitCode {
        match self {
            Failure::Error(error) => {
                eprintln!("forebay: {}", one_line(&error.to_string()));
                ExitCode::from(10 + error.code() as u8)
            }
            Failure::Unsound(what) => {
                eprintln!("forebay: {what}");
                ExitCode::FAILURE
            }
        }
    }
}

/// The same text, where others' messages in it have several lines.
fn one_line(text: &str) -> String {
    match text.contains('\n') {
        true => text.split_whitespace().collect::<Vec<_>>().join(" "),
        false => text.to_owned(),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Error(error)
    }
}

/// An I/O error, with what was attempted.
pub fn system(doing: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Failure {
    move |e| Failure::Error(Error::system(doing, e))
}

/// An error of forebay-sector.
pub fn sector_error(doing: &str) -> impl FnOnce(forebay_sector::Error) -> Failure + '_ {
    move |e| Failure::Error(Error::new(Code::Internal, format!("{doing}: {e}")))
}
