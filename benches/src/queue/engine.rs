//! The same queue through forebay's engine.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use forebay::engine::{BackendChoice, Config, Engine, Shutdown};
use forebay::memory::{usage, Class, Stage};
use forebay::wire::await_proof_response::Status;

use super::outcome::Ran;
use super::KIND;
use crate::world::World;
use crate::Failure;

/// Time between two looks at what waits.
const PERIOD: Duration = Duration::from_millis(1);

/// Runs the requests through an engine that finds its memory limit itself.
pub fn run(world: &World, workers: usize, messages: &[Vec<u8>]) -> Result<Ran, Failure> {
    let engine = Engine::open(Config {
        memory_limit: None,
        threads: world.threads(),
        synthesis_workers: workers,
        backend: BackendChoice::Cpu,
        kernels: world.kernels,
        kinds: vec![KIND],
        allow_development_parameters: true,
        intake_max_requests: messages.len(),
        parameter_directories: vec![world.parameter_folder()],
        cache_directory: world.cache_folder().to_owned(),
        ..Config::default()
    })?;
    let budget = engine.status().memory.limit;
    engine.preload(world.circuit_id(KIND)?)?;
    let begun = Instant::now();
    let (answers, most) = beside_a_watch(|| answers(&engine, messages));
    let seconds = begun.elapsed().as_secs_f64();
    let (answers, witness) = answers?;
    let promised = engine.status().memory.peak;
    engine.shutdown(Shutdown::Drain);
    let waiting = (most as f64 / witness as f64).round() as u64;
    Ok(Ran { answers, waiting, seconds, budget: Some(budget), promised: Some(promised) })
}

/// The answers, and the bytes of one witness: those of one circuit are of one size.
fn answers(engine: &Engine, messages: &[Vec<u8>]) -> Result<(Vec<Vec<u8>>, u64), Failure> {
    let submitted = messages.iter().map(|message| Ok(engine.submit(message)?.job_id));
    let jobs: Vec<String> = submitted.collect::<Result<_, Failure>>()?;
    let (mut answers, mut witness) = (Vec::new(), 1);
    for job in &jobs {
        let answer = engine.wait(job, None)?;
        if answer.status() != Status::Completed {
            return Err(format!("{job} ended without a proof: {}", answer.error_message).into());
        }
        answers.push(answer.proof);
        witness = engine.report(job).map_or(witness, |report| witness.max(report.witness_bytes));
    }
    Ok((answers, witness))
}

/// Runs `body`; also the most bytes that witnesses held between synthesis and prover meanwhile.
fn beside_a_watch<T>(body: impl FnOnce() -> T) -> (T, u64) {
    let (ended, most) = (AtomicBool::new(false), AtomicU64::new(0));
    let value = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                most.fetch_max(usage::mapped(Class::Witness, Stage::Queued).1 .0, Ordering::Relaxed);
                std::thread::sleep(PERIOD);
            }
        });
        let value = body();
        ended.store(true, Ordering::Relaxed);
        value
    });
    (value, most.into_inner())
}
