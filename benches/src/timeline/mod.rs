//! Memory over time: PoRep-like requests run through the engine under a limit, sampled and drawn as SVG.

mod picture;
mod recording;

use std::path::PathBuf;
use std::sync::Arc;

use forebay::engine::{Config, Engine, Shutdown};
use forebay::kind::ProofKind;
use forebay::units::Bytes;
use forebay::wire::await_proof_response::Status;

use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;
use recording::Recording;

/// Options of this measurement alone.
#[derive(clap::Args)]
pub struct Options {
    /// timeline: where the picture goes.
    #[arg(long, value_name = "FILE", default_value = "memory-timeline.svg")]
    out: PathBuf,
    /// timeline: requests that arrive at once.
    #[arg(long, value_name = "N", default_value_t = 4)]
    requests: usize,
    /// timeline: the engine's memory.limit.
    #[arg(long, value_name = "SIZE", default_value = "1536MiB")]
    limit: Bytes,
}

/// Runs the requests, draws the picture, and reports what was held against what was promised.
pub fn run(world: &World, kind: ProofKind, threads: usize, options: &Options) -> Result<Report, Failure> {
    drop(world.load(kind)?);
    let engine = Engine::open(Config {
        memory_limit: Some(options.limit),
        threads,
        kinds: vec![kind],
        allow_development_parameters: true,
        parameter_directories: vec![world.parameter_folder()],
        cache_directory: world.cache_folder().to_owned(),
        ..Config::default()
    })?;
    let recorded = record(world, kind, &engine, options.requests);
    engine.shutdown(Shutdown::Abort);
    let recording = recorded?;
    std::fs::write(&options.out, picture::picture(&recording, world.circuit_id(kind)?, threads))?;
    eprintln!("  wrote {}", options.out.display());
    Ok(report(&recording))
}

fn record(
    world: &World,
    kind: ProofKind,
    engine: &Arc<Engine>,
    requests: usize,
) -> Result<Recording, Failure> {
    let mut recording = Recording::start(engine);
    for message in world.messages(kind, requests)? {
        recording.follow(engine.submit(&message)?.job_id);
    }
    recording.run(engine);
    for job in recording.jobs() {
        let answer = engine.poll(job)?;
        if answer.status() != Status::Completed {
            return Err(format!("job {job} ended without a proof: {}", answer.error_message).into());
        }
    }
    Ok(recording)
}

fn report(recording: &Recording) -> Report {
    let mut report = Report::default();
    let most = |value: fn(&recording::Sample) -> u64| recording.samples.iter().map(value).max().unwrap_or(0);
    let limit = recording.limit as f64;
    report.value("limit", limit, "bytes", Goal::None);
    report.value("most promised", most(|s| s.promised) as f64, "bytes", Goal::AtMost(limit));
    report.value("most mapped by large buffers", most(|s| s.mapped()) as f64, "bytes", Goal::AtMost(limit));
    report.value("most resident, whole process", most(|s| s.resident) as f64, "bytes", Goal::None);
    report.value("requests", recording.lanes.len() as f64, "", Goal::None);
    report.value("from the first request to the last answer", recording.seconds(), "s", Goal::None);
    report
}
