//! A pipeline in a process of its own.

use std::ffi::OsStr;
use std::process::{Command, ExitStatus, Stdio};

use super::outcome::Outcome;
use super::policy::Policy;
use super::{engine, materialised, Options, KIND};
use crate::process::{anonymous, PeakSampler};
use crate::world::World;
use crate::Failure;

/// Starts this program again with `command` for one pipeline, and waits. `Err` inside: it was killed or failed,
/// and has said why.
pub fn start(
    world: &World,
    policy: Policy,
    options: &Options,
    command: impl FnOnce(&OsStr) -> Command,
) -> Result<Result<Outcome, ExitStatus>, Failure> {
    eprintln!("{policy}: {}", policy.meaning());
    let ended = command(std::env::current_exe()?.as_os_str())
        .args(["queue", "--json", "--policy", policy.name()])
        .args(["--partitions", &options.partitions.to_string(), "--workers", &options.workers.to_string()])
        .args(["--threads", &world.threads().to_string(), "--kernels", &world.kernels.to_string()])
        .arg("--cache")
        .arg(world.cache_folder())
        .stderr(Stdio::inherit())
        .output()?;
    if !ended.status.success() {
        return Ok(Err(ended.status));
    }
    Ok(Ok(serde_json::from_slice(&ended.stdout)?))
}

/// The body of that process: prints one line.
pub fn run(world: &World, policy: Policy, options: &Options) -> Result<(), Failure> {
    let messages = world.messages(KIND, options.partitions)?;
    let before = anonymous();
    let sampler = PeakSampler::start();
    let ran = if policy.is_forebay() {
        engine::run(world, options.workers, &messages)
    } else {
        materialised::run(world, policy, options.workers, &messages)
    };
    let peak = sampler.finish().saturating_sub(before);
    let ran = ran?;
    let accepted = ran.answers.iter().map(|answer| world.verifies(KIND, answer));
    let verified = accepted.collect::<Result<Vec<_>, _>>()?.into_iter().filter(|verified| *verified).count();
    let (budget, promised) = (ran.budget, ran.promised);
    let outcome = Outcome { peak, waiting: ran.waiting, seconds: ran.seconds, verified, budget, promised };
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(())
}
