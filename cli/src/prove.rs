//! `forebay prove`: one request through libforebay.so.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use forebay::filecoin::request_from_c1;
use forebay::wire::await_proof_response::Status;
use forebay::{Code, Error};
use prost::Message;

use crate::failure::{system, Result};
use crate::library::Library;

/// Proves one request, which the library verifies, and writes the proof.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("input").required(true))]
pub struct Args {
    /// C1 output of a sector: its raw JSON, or the miner's envelope around it.
    #[arg(long, value_name = "FILE", group = "input", requires_all = ["miner", "sector"])]
    c1: Option<PathBuf>,
    /// The miner's actor id, for --c1.
    #[arg(long, value_name = "N", conflicts_with = "request")]
    miner: Option<u64>,
    /// The sector's number, for --c1.
    #[arg(long, value_name = "N", conflicts_with = "request")]
    sector: Option<u64>,
    /// A serialized cuzk.v1.SubmitProofRequest of any kind.
    #[arg(long, value_name = "FILE", group = "input")]
    request: Option<PathBuf>,
    /// Where to write the proof's bytes [default: hexadecimal on standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The library's configuration, in TOML [default: all defaults]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The library to load [default: libforebay.so near this executable]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

impl Args {
    /// The serialized request.
    fn message(&self) -> Result<Vec<u8>> {
        match (&self.request, &self.c1, self.miner, self.sector) {
            (Some(request), ..) => read(request),
            (None, Some(c1), Some(miner), Some(sector)) => {
                Ok(request_from_c1(&read(c1)?, miner, sector)?.encode_to_vec())
            }
            _ => Err(Error::new(
                Code::InvalidArgument,
                "expected --request FILE, or --c1 FILE with --miner N and --sector N",
            )
            .into()),
        }
    }

    fn config(&self) -> Result<String> {
        let Some(path) = &self.config else { return Ok(String::new()) };
        String::from_utf8(read(path)?).map_err(|e| {
            Error::new(Code::InvalidConfig, format!("{} is not UTF-8: {e}", path.display())).into()
        })
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let message = args.message()?;
    let engine = Library::load(args.library.as_deref())?.open(&args.config()?)?;
    let job = engine.submit(&message)?;
    tracing::info!("job {job} is accepted");
    let answer = engine.wait(&job, None)?;
    engine.close()?;
    if answer.status() != Status::Completed {
        return Err(failure(&answer.error_message).into());
    }
    write_proof(args.out.as_deref(), &answer.proof)?;
    eprintln!(
        "proved and verified in {:.2} s ({} bytes; synthesis {:.2} s, prover {:.2} s)",
        answer.total_ms as f64 / 1000.0,
        answer.proof.len(),
        answer.synthesis_ms as f64 / 1000.0,
        answer.gpu_compute_ms as f64 / 1000.0,
    );
    Ok(())
}

/// The error that a failed answer's text tells: `code-name: message`.
fn failure(text: &str) -> Error {
    let named = text.split_once(": ").and_then(|(name, message)| {
        let code = Code::ALL.into_iter().find(|code| code.name() == name)?;
        Some(Error::new(code, message))
    });
    named.unwrap_or_else(|| Error::internal(text))
}

fn write_proof(out: Option<&Path>, proof: &[u8]) -> Result<()> {
    match out {
        Some(path) => fs::write(path, proof).map_err(system(format!("writing {}", path.display()))),
        None => {
            let hex: String = proof.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(io::stdout(), "{hex}").map_err(system("writing the proof"))
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(system(format!("reading {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answers_text_names_its_code() {
        let error = failure("parameters_missing: v28-x.params was not found");
        assert_eq!((error.code(), error.message()), (Code::ParametersMissing, "v28-x.params was not found"));
        assert_eq!(failure("something: else").code(), Code::Internal);
    }
}
