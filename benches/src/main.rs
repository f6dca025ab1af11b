//! `forebay-bench NAME`: measures forebay beside its peers in one run and prints a table. Every figure in
//! the documents comes from here.

mod process;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use report::Report;

/// Measures forebay beside its peers, in one run, on the same inputs.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    /// What to measure.
    name: Bench,
    /// Prints one JSON object a row.
    #[arg(long)]
    json: bool,
    /// Exits with status 1 when a goal is missed.
    #[arg(long)]
    check: bool,
    /// Threads for ours and for the peers (default: all cores).
    #[arg(long)]
    threads: Option<usize>,
    /// The proof kind, where the measurement works on one circuit.
    #[arg(long, default_value = "winning_post")]
    kind: forebay::kind::ProofKind,
    /// Where sectors, development parameters and matrices are kept between runs.
    #[arg(long)]
    cache: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Bench {
    /// Resident bytes: a queued partition, the matrices, the prover's working set.
    Memory,
    /// Development setup against bellperson's generator.
    Setup,
    /// The native SRS against the .params file: bytes, and time to open.
    Srs,
    /// One proof against bellperson's CPU prover: same circuit, same randomness, same bytes.
    Prove,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    todo_run(arguments)
}
