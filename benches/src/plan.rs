//! The simulator against reality: a mix of real requests, run by the engine and simulated from a profile that was
//! measured here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay::engine::{Config, Engine, Shutdown};
use forebay::kind::ProofKind;
use forebay::simulate::{measure, Entry, Mix, Outcome, Profile, Scenario};
use forebay::units::Bytes;
use forebay::wire::await_proof_response::Status;
use forebay::wire::SubmitProofRequest;
use forebay_sector::SECTOR_SIZE;
use prost::Message;

use crate::load;
use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;

/// Options of this measurement alone.
#[derive(clap::Args)]
pub struct Options {
    /// plan: the real requests, as of `forebay plan`.
    #[arg(long, value_name = "MIX", default_value = "winning_post=6,window_post=6,porep_c2=3,snap_update=2")]
    planned: String,
    /// plan: memory.limit [default: what two PoRep slots and all circuits need, and what makes requests wait]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,
    /// plan: synthesis workers.
    #[arg(long, value_name = "N", default_value_t = 2)]
    synthesis_workers: usize,
    /// plan: where the measured profile is kept.
    #[arg(long, value_name = "FILE")]
    profile: Option<std::path::PathBuf>,
}

/// The time between two looks at what buffers hold.
const LOOK: Duration = Duration::from_millis(2);
/// How far the simulator may be off.
const TOLERANCE: f64 = 0.10;

/// What really happened.
struct Real {
    seconds: f64,
    promised: f64,
    held: f64,
    /// By entry of the mix: mean seconds from submission to the answer.
    latencies: Vec<f64>,
}

/// Measures a profile, runs the mix, simulates it.
pub fn run(world: &World, options: &Options) -> Result<Report, Failure> {
    let mix = Mix::parse(&options.planned, SECTOR_SIZE, usize::MAX)?;
    let kinds: Vec<ProofKind> = mix.entries.iter().map(|entry| entry.circuit.kind).collect();
    for kind in &kinds {
        drop(world.load(*kind)?);
    }
    let config = config(world, options, &kinds)?;
    let requests = kinds.iter().map(|kind| Ok(SubmitProofRequest::decode(&*message(world, *kind)?)?));
    let requests = requests.collect::<Result<Vec<_>, Failure>>()?;
    let unlimited = Config { memory_limit: None, ..config.clone() };
    let profile = measure("here", &unlimited, &requests, &|doing| eprintln!("  {doing}"))?;
    if let Some(file) = &options.profile {
        std::fs::write(file, profile.to_toml()?)?;
    }
    let real = reality(world, &config, &mix)?;
    let simulated = simulation(&config, &profile, &mix)?;
    Ok(report(&mix, &real, &simulated))
}

fn message(world: &World, kind: ProofKind) -> Result<Vec<u8>, Failure> {
    Ok(World::named(&world.request(kind)?, "plan"))
}

fn config(world: &World, options: &Options, kinds: &[ProofKind]) -> Result<Config, Failure> {
    let limit = match options.memory {
        Some(limit) => limit,
        None => default_limit(world, kinds)?,
    };
    Ok(Config { kinds: kinds.to_vec(), ..load::config(world, limit, options.synthesis_workers) })
}

/// All circuits, a slot for the largest, and a little: slots and witnesses have to wait for memory.
fn default_limit(world: &World, kinds: &[ProofKind]) -> Result<Bytes, Failure> {
    let needs = kinds.iter().map(|kind| world.needs(*kind)).collect::<Result<Vec<_>, Failure>>()?;
    let shared: u64 = needs.iter().map(|need| need.shared.0 + need.witness.0).sum();
    let slots: u64 = needs.iter().map(|need| need.turn.0).sum();
    Ok(Bytes(shared + slots + Bytes::mib(64).0))
}

/// Runs the mix, all requests at once.
fn reality(world: &World, config: &Config, mix: &Mix) -> Result<Real, Failure> {
    let engine = Engine::open(config.clone())?;
    let ran = all_at_once(world, &engine, mix);
    engine.shutdown(Shutdown::Abort);
    ran
}

fn all_at_once(world: &World, engine: &Arc<Engine>, mix: &Mix) -> Result<Real, Failure> {
    let mut messages = Vec::new();
    for (index, entry) in mix.entries.iter().enumerate() {
        let named = world.messages(entry.circuit.kind, entry.count)?;
        messages.extend(named.into_iter().map(|message| (index, message)));
    }
    let begun = Instant::now();
    let mut running = Vec::new();
    for (index, message) in messages {
        running.push((index, engine.submit(&message)?.job_id));
    }
    let (mut held, mut latencies) = (0, vec![0.0; mix.entries.len()]);
    let mut seconds = 0f64;
    while !running.is_empty() {
        let status = engine.status();
        held = held.max(status.cells.iter().map(|cell| cell.mapped).sum::<u64>());
        let mut open = Vec::new();
        for (index, job) in running {
            let answer = engine.poll(&job)?;
            match answer.status() {
                Status::Unknown => open.push((index, job)),
                Status::Completed => {
                    seconds = begun.elapsed().as_secs_f64();
                    latencies[index] += seconds / mix.entries[index].count as f64;
                }
                other => return Err(format!("{job} ended as {other:?}: {}", answer.error_message).into()),
            }
        }
        running = open;
        std::thread::sleep(LOOK);
    }
    Ok(Real { seconds, promised: engine.status().memory.peak as f64, held: held as f64, latencies })
}

fn simulation(config: &Config, profile: &Profile, mix: &Mix) -> Result<Outcome, Failure> {
    let limit = config.memory_limit.ok_or("the run had no limit")?;
    let memory = limit.saturating_sub(config.memory_margin);
    let scenario = Scenario { workers: config.synthesis_workers, ..Scenario::new(profile, mix, memory) };
    Ok(scenario.run()?)
}

fn report(mix: &Mix, real: &Real, simulated: &Outcome) -> Report {
    let mut report = Report::default();
    let requests = mix.requests() as f64;
    let pairs = [
        ("requests an hour", requests * 3600.0 / simulated.seconds, requests * 3600.0 / real.seconds, "1/h"),
        ("most promised", simulated.peak.0 as f64, real.promised, "bytes"),
        ("most held by large buffers", simulated.held.0 as f64, real.held, "bytes"),
    ];
    for (name, ours, theirs, unit) in pairs {
        report.near(name, ours, unit, ("real", theirs), TOLERANCE);
    }
    for ((entry, kind), real) in mix.entries.iter().zip(&simulated.kinds).zip(&real.latencies) {
        let Entry { circuit, count, .. } = entry;
        let name = format!("{count} {circuit}: to the answer, mean");
        report.more(&name, kind.mean_latency, "s", ("real", *real), Goal::None);
    }
    report
}
