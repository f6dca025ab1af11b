//! What every long parameter operation is given: arithmetic, a progress callback, cancellation.

use std::fmt::Display;
use std::path::Path;

use super::Arithmetic;
use crate::cancel::Cancel;
use crate::error::{Code, Error, Result};

/// What a long parameter operation is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Running the blank circuit; counts constraints.
    Synthesis,
    /// Computing the points of one query; counts points.
    Query(Query),
    /// Reading a parameter file to check it; counts bytes.
    Check,
    /// Reading a parameter file into its native form; counts bytes.
    Import,
    /// Reading a native file to compare its checksums; counts bytes.
    Verify,
}

impl Phase {
    /// A short lower-case name for progress bars.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Synthesis => "synthesis",
            Phase::Query(query) => query.name(),
            Phase::Check => "check",
            Phase::Import => "import",
            Phase::Verify => "verify",
        }
    }
}

/// The five point vectors of a proving key, in the order they have in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Query {
    /// τⁱ·t(τ)/δ in G1.
    H,
    /// (β·Aⱼ(τ) + α·Bⱼ(τ) + Cⱼ(τ))/δ of the private variables, in G1.
    L,
    /// Aⱼ(τ) in G1, inputs first, without the zero ones.
    A,
    /// Bⱼ(τ) in G1, inputs first, without the zero ones.
    BG1,
    /// Bⱼ(τ) in G2, inputs first, without the zero ones.
    BG2,
}

impl Query {
    /// All queries, in file order.
    pub const ALL: [Query; 5] = [Query::H, Query::L, Query::A, Query::BG1, Query::BG2];

    /// The query's name in messages and progress bars.
    pub fn name(self) -> &'static str {
        match self {
            Query::H => "h",
            Query::L => "l",
            Query::A => "a",
            Query::BG1 => "b_g1",
            Query::BG2 => "b_g2",
        }
    }

    /// Bytes of one point of this query, packed and uncompressed alike.
    pub const fn point_len(self) -> usize {
        match self {
            Query::BG2 => 192,
            _ => 96,
        }
    }
}

/// How far a long operation is, in the units of its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// Units done.
    pub done: u64,
    /// Units in all.
    pub total: u64,
}

/// What every long parameter operation is given.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// Group arithmetic.
    pub arithmetic: &'a dyn Arithmetic,
    /// Called between chunks, from the thread that runs the operation.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Looked at between chunks.
    pub cancel: &'a Cancel,
}

impl Work<'_> {
    /// Reports how far the operation is; an error where it was cancelled.
    pub(super) fn step(&self, phase: Phase, done: u64, total: u64) -> Result<()> {
        self.cancel.check()?;
        (self.progress)(Progress { phase, done, total });
        Ok(())
    }
}

/// A `ParametersInvalid` error that names the file.
pub(super) fn invalid(path: &Path, what: impl Display) -> Error {
    Error::new(Code::ParametersInvalid, format!("{}: {what}", path.display()))
}

/// A `System` error that names the file and what was attempted.
pub(super) fn system<'a>(doing: &'a str, path: &'a Path) -> impl FnOnce(std::io::Error) -> Error + 'a {
    move |e| Error::system(format!("{doing} {}", path.display()), e)
}
