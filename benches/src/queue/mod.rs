//! The field's crash and its cure: one queue of PoRep partitions through pipelines that keep evaluation vectors
//! while they wait, and through forebay. Each runs in a process of its own, so that peaks are clean and one that
//! the kernel kills can be told.

mod child;
mod engine;
mod grouped;
mod materialised;
mod outcome;
mod partition;
mod permits;
mod policy;
mod verdict;

use std::process::Command;

use forebay::cancel::Cancel;
use forebay::kind::ProofKind;
use forebay::units::Bytes;

use crate::report::Report;
use crate::world::World;
use crate::Failure;
use policy::Policy;

/// The circuit of the queue.
const KIND: ProofKind = ProofKind::PorepC2;

/// Options of this measurement alone.
#[derive(clap::Args)]
pub struct Options {
    /// queue: partitions that arrive at once.
    #[arg(long, value_name = "N", default_value_t = 12)]
    partitions: usize,
    /// queue: partitions synthesised at once.
    #[arg(long, value_name = "W", default_value_t = 4)]
    workers: usize,
    /// queue: which pipelines [default: all; with --cgroup a and d]
    #[arg(long, value_delimiter = ',', value_name = "POLICY,…")]
    policies: Vec<Policy>,
    /// queue: run each pipeline in a memory control group of this size; needs root.
    #[arg(long, value_name = "SIZE")]
    cgroup: Option<Bytes>,
    /// Run this pipeline here and print what came of it.
    #[arg(long, hide = true)]
    policy: Option<Policy>,
}

/// Runs the pipelines one after the other and compares them.
pub fn run(world: &World, options: &Options) -> Result<Report, Failure> {
    if options.partitions == 0 || options.workers == 0 {
        return Err("--partitions and --workers must be at least 1".into());
    }
    if let Some(policy) = options.policy {
        child::run(world, policy, options)?;
        return Ok(Report::default());
    }
    // Whatever is missing is made here, and the key's pages are read, before anything is measured.
    world.load(KIND)?.srs.populate(&Cancel::new())?;
    match options.cgroup {
        Some(limit) => grouped::run(world, options, limit),
        None => alone(world, options),
    }
}

fn alone(world: &World, options: &Options) -> Result<Report, Failure> {
    let mut report = Report::default();
    let mut outcomes = Vec::new();
    for policy in selected(options, &Policy::ALL) {
        let outcome = child::start(world, policy, options, |program| Command::new(program))?
            .map_err(|ending| format!("{policy} ended with {ending}"))?;
        verdict::rows(&mut report, policy, &outcome, options.partitions);
        outcomes.push((policy, outcome));
    }
    // Those at the workers, one in the channel, one in the prover.
    let full = options.partitions >= options.workers + 2;
    verdict::compare(&mut report, &outcomes, full);
    Ok(report)
}

fn selected(options: &Options, default: &[Policy]) -> Vec<Policy> {
    match options.policies.as_slice() {
        [] => default.to_vec(),
        chosen => chosen.to_vec(),
    }
}
