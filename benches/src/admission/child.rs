//! One mix in a process of its own: what it held, and what was promised for it.

use std::process::{Command, Stdio};
use std::time::Instant;

use forebay::engine::{Engine, Shutdown};
use forebay::kind::ProofKind;
use forebay::units::Bytes;
use forebay::wire::await_proof_response::Status;
use serde::{Deserialize, Serialize};

use super::mix::Mix;
use super::sampler::{ByClass, Peaks, Sampler};
use crate::load;
use crate::process::resident;
use crate::world::World;
use crate::Failure;

/// What came of one mix.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The highest resident bytes, less those before the engine was opened.
    pub measured: u64,
    /// The same less those before this process had proved anything: program and tables included.
    pub whole: u64,
    /// The most that the ledger had promised.
    pub projected: u64,
    /// `memory.limit`.
    pub limit: u64,
    /// Times a step held more than was promised for it.
    pub overruns: u64,
    /// Requests answered with a proof; the engine has verified each.
    pub proved: usize,
    /// Seconds from opening the engine to the last answer.
    pub seconds: f64,
    /// By class when resident memory was highest.
    pub counted: ByClass,
    /// By class when most was promised.
    pub promised: ByClass,
}

impl Outcome {
    pub fn ratio(&self) -> f64 {
        self.measured as f64 / self.projected as f64
    }
}

/// Runs a mix in a process of its own.
pub fn start(world: &World, seed: u64, number: u64) -> Result<Outcome, Failure> {
    let ended = Command::new(std::env::current_exe()?)
        .args(["admission", "--json", "--seed", &seed.to_string(), "--mix", &number.to_string()])
        .args(["--threads", &world.threads().to_string(), "--kernels", &world.kernels.to_string()])
        .arg("--cache")
        .arg(world.cache_folder())
        .stderr(Stdio::inherit())
        .output()?;
    if !ended.status.success() {
        return Err(format!("mix {number} ended with {}", ended.status).into());
    }
    Ok(serde_json::from_slice(&ended.stdout)?)
}

/// The body of that process: prints one line.
pub fn run(world: &World, mix: &Mix) -> Result<(), Failure> {
    let messages = mix.messages(world)?;
    let limit = mix.limit(world, &messages)?;
    let first = resident();
    warm_up(world)?;
    let before = resident();
    let (begun, workers) = (Instant::now(), mix.workers);
    let engine = Engine::open(load::config(world, limit, workers))?;
    let sampler = Sampler::start(&engine);
    let proved = prove(&engine, &messages);
    let Peaks { resident, counted, promised } = sampler.finish();
    let memory = engine.status().memory;
    engine.shutdown(Shutdown::Drain);
    let outcome = Outcome {
        measured: resident.saturating_sub(before),
        whole: resident.saturating_sub(first),
        projected: memory.peak,
        limit: limit.0,
        overruns: memory.overruns,
        proved: proved?,
        seconds: begun.elapsed().as_secs_f64(),
        counted,
        promised,
    };
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(())
}

/// One small proof, so that what stays in the process for ever (pages of the program, tables, the allocator's
/// arenas) is not taken for the mix's.
fn warm_up(world: &World) -> Result<(), Failure> {
    let kind = ProofKind::WindowPost;
    let engine = Engine::open(load::config(world, Bytes::gib(1), 1))?;
    prove(&engine, &world.messages(kind, 1)?)?;
    engine.shutdown(Shutdown::Drain);
    Ok(())
}

fn prove(engine: &Engine, messages: &[Vec<u8>]) -> Result<usize, Failure> {
    let submitted = messages.iter().map(|message| Ok(engine.submit(message)?.job_id));
    let jobs: Vec<String> = submitted.collect::<Result<_, Failure>>()?;
    for job in &jobs {
        let answer = engine.wait(job, None)?;
        if answer.status() != Status::Completed {
            return Err(format!("{job} ended without a proof: {}", answer.error_message).into());
        }
    }
    Ok(jobs.len())
}
