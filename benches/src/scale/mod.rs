//! Proofs of growing synthetic circuits: core-seconds and bytes, and what they say of 2^27.

mod circuit;
mod fit;
mod key;

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use forebay::cancel::Cancel;
use forebay::circuit::{first_violation, Expected, Matrices, Witness};
use forebay::kind::ProofKind;
use forebay::memory::Meter;
use forebay::prove::{Backend, Blinding, CircuitData, Step};

use crate::process::{anonymous, on_cores, PeakSampler};
use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;
use circuit::WitnessLike;
use fit::Fit;
use key::Repeated;

/// What a partition of a 32 GiB PoRep needs.
const TARGET_LOG: u32 = 27;
/// The least core-seconds that a size is measured for.
const LEAST_SECONDS: f64 = 8.0;

/// Which sizes.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// scale: the smallest domain, as a power of two
    #[arg(long, default_value_t = 18, value_parser = clap::value_parser!(u32).range(12..=24), value_name = "LOG")]
    min_log: u32,
    /// scale: the largest domain, as a power of two (2^24 takes 20 GB of disk)
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(13..=26), value_name = "LOG")]
    max_log: u32,
}

struct Cost {
    log: u32,
    constraints: f64,
    core_seconds: f64,
    peak: f64,
}

impl Cost {
    /// n·log n.
    fn work(&self) -> f64 {
        work(self.log)
    }
}

fn work(log: u32) -> f64 {
    2f64.powi(log as i32) * f64::from(log)
}

/// Proves every size.
pub fn run(world: &World, options: &Options) -> Result<Report, Failure> {
    if options.max_log <= options.min_log {
        return Err("--max-log must be above --min-log: a law takes two sizes".into());
    }
    if let Some(violation) = first_violation(WitnessLike::filling(12))? {
        return Err(format!("the synthetic circuit is not satisfied: {violation}").into());
    }
    let mut report = Report::default();
    let repeated = Repeated::new(world)?;
    let folder = tempfile::tempdir_in(world.cache_folder())?;
    let mut costs: Vec<Cost> = Vec::new();
    for log in options.min_log..=options.max_log {
        let cost = measure(world, log, &repeated, folder.path())?;
        show(&cost, costs.last(), &mut report);
        costs.push(cost);
    }
    project(&costs, &mut report);
    report.note(format!(
        "{} threads, {} kernels; 98 % of the private variables are bits. The key's points are valid and random but not \
         those of a setup, so the proofs do not verify; their work is that of real ones. Peak: anonymous memory of \
         witness and proof; the key is a mapped file.",
        world.threads(),
        world.kernels.name()?
    ));
    Ok(report)
}

fn measure(world: &World, log: u32, repeated: &Repeated, folder: &Path) -> Result<Cost, Failure> {
    let (id, mix) = (world.circuit_id(ProofKind::PorepC2)?, WitnessLike::filling(log));
    let matrices = Arc::new(Matrices::compile("scale", mix)?);
    let srs = repeated.key(world, id, mix, matrices.shape(), folder)?;
    let native = srs.path().to_owned();
    let circuit = CircuitData { id, matrices, srs: Arc::new(srs) };
    world.pool.install(|| circuit.srs.populate(&Cancel::new()))?;
    let mut cost =
        Cost { log, constraints: mix.constraints() as f64, core_seconds: f64::INFINITY, peak: 0.0 };
    let mut spent = 0.0;
    while spent < LEAST_SECONDS {
        let (done, seconds) = on_cores(|| prove(world, &circuit, mix));
        done?;
        spent += seconds;
        cost.core_seconds = cost.core_seconds.min(seconds);
    }
    // Apart, as sampling takes time itself.
    let before = anonymous();
    let sampler = PeakSampler::start();
    let done = prove(world, &circuit, mix);
    cost.peak = sampler.finish().saturating_sub(before) as f64;
    done?;
    drop(circuit);
    std::fs::remove_file(native)?;
    Ok(cost)
}

/// One proof, from its witness on.
fn prove(world: &World, circuit: &CircuitData, mix: WitnessLike) -> Result<(), Failure> {
    let cancel = Cancel::new();
    let expected = Expected { aux: mix.aux(), wide: mix.wide() };
    let witness = Witness::generate(mix, expected, &cancel)?;
    let step = Step { circuit, witness: &witness, cancel: &cancel, meter: &Meter::unlimited() };
    world.pool.install(|| {
        let started = world.core.start(&step)?;
        world.core.finish(&step, started, Blinding::random())
    })?;
    Ok(())
}

fn show(cost: &Cost, before: Option<&Cost>, report: &mut Report) {
    let log = cost.log;
    report.value(&format!("2^{log}, core-seconds"), cost.core_seconds, "s", Goal::None);
    report.value(&format!("2^{log}, peak"), cost.peak, "bytes", Goal::None);
    report.value(&format!("2^{log}, peak a constraint"), cost.peak / cost.constraints, "bytes", Goal::None);
    if let Some(before) = before {
        let growth = cost.core_seconds / before.core_seconds / (cost.work() / before.work());
        report.value(&format!("2^{log}, growth over n log n"), growth, "times", Goal::AtMost(1.1));
    }
}

fn project(costs: &[Cost], report: &mut Report) {
    let points = |of: fn(&Cost) -> (f64, f64)| costs.iter().map(of).collect::<Vec<_>>();
    let seconds = Fit::proportional(&points(|cost| (cost.work(), cost.core_seconds)));
    let bytes = Fit::linear(&points(|cost| (cost.constraints, cost.peak)));
    let name = |what: &str| format!("2^{TARGET_LOG} projected, {what}");
    report.value(&name("core-seconds"), seconds.at(work(TARGET_LOG)), "s", Goal::None);
    report.value(&name("error of the fit"), 100.0 * seconds.error, "%", Goal::None);
    report.value(&name("peak"), bytes.at(2f64.powi(TARGET_LOG as i32)), "bytes", Goal::None);
    report.value(&name("error of the fit (peak)"), 100.0 * bytes.error, "%", Goal::None);
}
