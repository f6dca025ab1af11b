//! One mix in a process of its own: what it held, and what was promised for it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use forebay::engine::{Engine, Shutdown};
use forebay::kind::ProofKind;
use forebay::units::Bytes;
use forebay::wire::await_proof_response::Status;
use serde::{Deserialize, Serialize};

use super::mix::Mix;
use super::sampler::{ByClass, Sampler};
use crate::load;
use crate::process::Resident;
use crate::world::World;
use crate::Failure;

/// Longer than any mix takes.
const PATIENCE: Duration = Duration::from_secs(180);

/// What came of one mix.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The highest resident bytes, less those before the engine was opened.
    pub measured: Resident,
    /// The same less those before this process had proved anything: program and tables included.
    pub whole: u64,
    /// The most that large buffers counted.
    pub buffers: u64,
    /// The most resident bytes beside the buffers that were counted then: heap, stacks, pages of the program.
    pub beside: u64,
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
    /// Measured over projected.
    pub fn ratio(&self) -> f64 {
        self.measured.total() as f64 / self.projected as f64
    }

    /// Such as `0.9312 (0.9278 in buffers) of 69.8 MB, 3.2 s: 1 winning_post`.
    pub fn line(&self, mix: &Mix) -> String {
        let (projected, seconds) = (self.projected as f64 / 1e6, self.seconds);
        let (ratio, booked) = (self.ratio(), self.booked());
        format!("{ratio:.4} ({booked:.4} in buffers) of {projected:.1} MB, {seconds:.1} s: {}", mix.name())
    }

    /// What large buffers counted over what was projected for them.
    pub fn booked(&self) -> f64 {
        self.buffers as f64 / self.projected as f64
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
    let first = Resident::now();
    warm_up(world)?;
    let before = Resident::now();
    let (begun, workers) = (Instant::now(), mix.workers);
    let engine = Engine::open(load::config(world, limit, workers))?;
    let sampler = Sampler::start(&engine, before);
    let proved = prove(&engine, &messages);
    let peaks = sampler.finish();
    let memory = engine.status().memory;
    engine.shutdown(Shutdown::Drain);
    let outcome = Outcome {
        measured: peaks.resident.since(before),
        whole: peaks.resident.since(first).total(),
        buffers: peaks.buffers,
        beside: peaks.beside,
        projected: memory.peak,
        limit: limit.0,
        overruns: memory.overruns,
        proved: proved?,
        seconds: begun.elapsed().as_secs_f64(),
        counted: peaks.counted,
        promised: peaks.promised,
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
        let answer = engine.wait(job, Some(PATIENCE))?;
        if answer.status() == Status::Timeout {
            let faults = load::metric(&engine.metrics(), "forebay_scheduler_faults_total", &[]);
            let status = serde_json::to_string(&engine.status())?;
            return Err(format!("{job} hangs, {faults} faults of the scheduler: {status}").into());
        }
        if answer.status() != Status::Completed {
            return Err(format!("{job} ended without a proof: {}", answer.error_message).into());
        }
    }
    Ok(jobs.len())
}
