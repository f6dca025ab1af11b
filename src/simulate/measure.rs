//! A machine's profile from real proofs on it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prost::Message;

use super::profile::{CircuitProfile, Profile, Seconds, Threads};
use crate::cancel::Cancel;
use crate::engine::{Config, Engine, JobReport, Shutdown};
use crate::error::{Code, Error, Result};
use crate::filecoin;
use crate::kind::CircuitId;
use crate::prove::{Footprint, ProofTask};
use crate::units::Bytes;
use crate::wire::{await_proof_response::Status, SubmitProofRequest};

/// Processor ticks a second in `/proc`: the same on every Linux.
const TICKS: f64 = 100.0;
/// A circuit's proofs are repeated until they have taken this long together.
const ENOUGH: Duration = Duration::from_secs(4);
const MOST_REPEATED: usize = 12;
/// Syntheses at once, to see how they slow each other.
const MOST_AT_ONCE: usize = 8;

/// Proves every request alone, the smaller ones several times, and makes a profile of what that took.
/// `progress` hears what is done next.
pub fn measure(
    name: &str,
    config: &Config,
    requests: &[SubmitProofRequest],
    progress: &dyn Fn(&str),
) -> Result<Profile> {
    if requests.is_empty() {
        return Err(Error::new(Code::InvalidArgument, "nothing to measure: expected a request of each kind"));
    }
    let engine = Engine::open(config.clone())?;
    let measured = all(&engine, config, requests, progress);
    engine.shutdown(Shutdown::Abort);
    let Measured { circuits, spread, synthesis_slowdown, disk } = measured?;
    let cores = processors().min(config.threads);
    Ok(Profile {
        name: name.to_owned(),
        about: format!("Measured: forebay {} on {cores} threads.", env!("CARGO_PKG_VERSION")),
        cores,
        workers: Some(config.synthesis_workers),
        kernels: Some(config.kernels.name()?.to_owned()),
        disk,
        spread,
        synthesis_slowdown,
        device: None,
        prior: None,
        circuits,
    })
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

struct Measured {
    circuits: BTreeMap<CircuitId, CircuitProfile>,
    spread: f64,
    synthesis_slowdown: f64,
    disk: Bytes,
}

fn all(
    engine: &Engine,
    config: &Config,
    requests: &[SubmitProofRequest],
    progress: &dyn Fn(&str),
) -> Result<Measured> {
    let mut circuits = BTreeMap::new();
    let mut variations = Vec::new();
    let (mut read, mut reading) = (0u64, Duration::ZERO);
    let mut slowest: Option<(f64, Arc<dyn ProofTask>, u64)> = None;
    for (number, request) in requests.iter().enumerate() {
        let task = filecoin::decode(request)?;
        let circuit = task.circuit();
        if circuits.contains_key(&circuit) {
            let text =
                format!("request {number} is of {circuit}, as one before it; name one of each circuit");
            return Err(Error::new(Code::InvalidArgument, text));
        }
        progress(&format!("loading {circuit}"));
        let loaded = engine.preload(circuit)?;
        let footprint = engine.footprint(circuit)?;
        if !loaded.already_loaded {
            read = read.saturating_add(footprint.srs.0);
            reading += loaded.load_time;
        }
        progress(&format!("proving {circuit}"));
        let runs = prove_alone(engine, request)?;
        variations.extend(variation(&runs));
        let profile = of_runs(&runs, &footprint, config.threads)?;
        if slowest.as_ref().is_none_or(|(seconds, ..)| profile.seconds.synthesis > *seconds) {
            slowest = Some((profile.seconds.synthesis, task, footprint.wide_hint));
        }
        circuits.insert(circuit, profile);
        // Whoever is measured next has the memory for itself.
        engine.evict(circuit)?;
    }
    progress("synthesising several at once");
    let synthesis_slowdown = match slowest {
        Some((_, task, hint)) => slowdown(&*task, hint)?,
        None => 0.0,
    };
    let spread = variations.iter().sum::<f64>() / variations.len().max(1) as f64;
    let disk = Bytes((read as f64 / reading.as_secs_f64().max(1e-3)) as u64).max(Bytes(1));
    Ok(Measured { circuits, spread, synthesis_slowdown, disk })
}

/// One proof that had the machine for itself.
struct Alone {
    report: JobReport,
    /// Processor seconds of the whole process.
    processor: f64,
}

/// The first proof warms caches and is not counted.
fn prove_alone(engine: &Engine, request: &SubmitProofRequest) -> Result<Vec<Alone>> {
    let mut runs = Vec::new();
    let mut begun = Instant::now();
    for number in 0..=MOST_REPEATED {
        let named = SubmitProofRequest { request_id: format!("measure-{number}"), ..request.clone() };
        let before = processor_seconds()?;
        let job = engine.submit(&named.encode_to_vec())?.job_id;
        let answer = engine.wait(&job, None)?;
        if answer.status() != Status::Completed {
            return Err(Error::new(
                Code::InvalidRequest,
                format!("a request to measure: {}", answer.error_message),
            ));
        }
        let report = engine.report(&job).ok_or_else(|| Error::internal("a proof left no report"))?;
        if number == 0 {
            begun = Instant::now();
            continue;
        }
        runs.push(Alone { report, processor: processor_seconds()? - before });
        if begun.elapsed() >= ENOUGH {
            break;
        }
    }
    Ok(runs)
}

/// User and system time of all threads of this process.
fn processor_seconds() -> Result<f64> {
    const FILE: &str = "/proc/self/stat";
    let text = std::fs::read_to_string(FILE).map_err(|e| Error::system(format!("reading {FILE}"), e))?;
    // The second field is a name in brackets and may hold spaces; utime and stime are fields 14 and 15.
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    match ticks.as_slice() {
        [user, system] => Ok((user + system) / TICKS),
        _ => Err(Error::new(Code::System, format!("{FILE} has no processor times"))),
    }
}

fn mean(runs: &[Alone], of: impl Fn(&JobReport) -> u64) -> f64 {
    runs.iter().map(|run| of(&run.report) as f64 / 1000.0).sum::<f64>() / runs.len().max(1) as f64
}

/// The coefficient of variation of one partition's heavy step.
fn variation(runs: &[Alone]) -> Option<f64> {
    let mean = mean(runs, |report| report.start_ms);
    let deviation = |run: &Alone| (run.report.start_ms as f64 / 1000.0 - mean).powi(2);
    let variance =
        runs.iter().map(deviation).sum::<f64>() / runs.len().checked_sub(1).filter(|n| *n > 0)? as f64;
    // The sum over the partitions of a request varies less than each of them.
    let partitions = runs.first()?.report.partitions.max(1) as f64;
    Some((variance.sqrt() * partitions.sqrt() / mean.max(1e-3)).min(1.0))
}

fn of_runs(runs: &[Alone], footprint: &Footprint, threads: usize) -> Result<CircuitProfile> {
    let first = runs.first().ok_or_else(|| Error::internal("nothing was measured"))?;
    let partitions = first.report.partitions.max(1);
    let each = |of: fn(&JobReport) -> u64| (mean(runs, of) / partitions as f64).max(1e-4);
    let seconds = Seconds {
        synthesis: each(|report| report.synthesis_ms),
        start: each(|report| report.start_ms),
        kernels: 0.0,
        finish: each(|report| report.finish_ms),
        verify: each(|report| report.verify_ms),
    };
    // What the processor did beyond synthesis, which is one thread's, it did in the other stages.
    let processor = runs.iter().map(|run| run.processor).sum::<f64>() / (runs.len() * partitions) as f64;
    let others = seconds.start + seconds.finish + seconds.verify;
    let busy = ((processor - seconds.synthesis) / others).clamp(1.0, threads as f64);
    let shape = &footprint.shape;
    Ok(CircuitProfile {
        partitions,
        inputs: shape.inputs,
        aux: shape.aux,
        constraints: shape.constraints,
        wide: footprint.wide_hint,
        densities: Some([shape.a_aux_density, shape.b_aux_density, shape.b_input_density]),
        srs: Some(footprint.srs),
        matrices: Some(footprint.matrices),
        intake: Bytes(first.report.intake_bytes),
        seconds,
        threads: Threads { start: busy, finish: busy },
        materialised: None,
    })
}

/// By how much each further synthesis at the same time slows all of them.
fn slowdown(task: &dyn ProofTask, hint: u64) -> Result<f64> {
    let hint = usize::try_from(hint).unwrap_or(0);
    let at_once = |count: usize| {
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let one = || task.synthesize(0, hint, &Cancel::new()).map(drop);
            let threads: Vec<_> = (0..count).map(|_| scope.spawn(one)).collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().map_err(|_| Error::internal("a synthesis panicked"))?)
        })?;
        Ok::<_, Error>(begun.elapsed().as_secs_f64())
    };
    let count = processors().min(MOST_AT_ONCE);
    if count < 2 {
        return Ok(0.0);
    }
    // The quicker of two of each: a neighbour on the machine only ever adds.
    let quicker = |count| Ok::<_, Error>(at_once(count)?.min(at_once(count)?));
    let (alone, together) = (quicker(1)?, quicker(count)?);
    Ok(((together / alone - 1.0) / (count - 1) as f64).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::Shape;

    fn alone(start_ms: u64, processor: f64) -> Alone {
        let report = JobReport {
            partitions: 2,
            synthesis_ms: 400,
            start_ms,
            finish_ms: 600,
            verify_ms: 0,
            ..JobReport::default()
        };
        Alone { report, processor }
    }

    fn footprint() -> Footprint {
        let shape = Shape { inputs: 3, aux: 100, constraints: 90, ..Shape::default() };
        Footprint { shape, witness: Bytes(1), wide_hint: 7, matrices: Bytes(2), srs: Bytes(3) }
    }

    #[test]
    fn stage_times_are_means_of_one_partition() {
        let circuit = of_runs(&[alone(3800, 8.0), alone(4200, 8.0)], &footprint(), 4).unwrap();
        let Seconds { synthesis, start, finish, .. } = circuit.seconds;
        assert_eq!((synthesis, start, finish), (0.2, 2.0, 0.3));
        // 4 s of processor time a partition, less 0.2 s of synthesis, in 2.3 s.
        assert!((circuit.threads.start - 3.8 / 2.3001).abs() < 1e-3, "{}", circuit.threads.start);
        assert_eq!((circuit.wide, circuit.srs, circuit.matrices), (7, Some(Bytes(3)), Some(Bytes(2))));
    }

    #[test]
    fn no_stage_keeps_more_threads_busy_than_there_are_or_less_than_one() {
        assert_eq!(of_runs(&[alone(4000, 99.0)], &footprint(), 4).unwrap().threads.start, 4.0);
        assert_eq!(of_runs(&[alone(4000, 0.0)], &footprint(), 4).unwrap().threads.start, 1.0);
    }

    #[test]
    fn variation_needs_two_runs() {
        assert_eq!(variation(&[alone(4000, 1.0)]), None);
        let variation = variation(&[alone(3000, 1.0), alone(5000, 1.0)]).unwrap();
        // Two partitions: deviation 1.414 of 4 for their sum, 1 of 2 for each.
        assert!((variation - 0.5).abs() < 1e-9, "{variation}");
    }

    #[test]
    fn processor_time_goes_on_while_we_work() {
        let (before, begun) = (processor_seconds().unwrap(), Instant::now());
        let worked = || processor_seconds().unwrap() - before;
        while worked() < 0.05 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{}", worked());
        }
    }

    #[test]
    fn nothing_to_measure_is_an_error() {
        let error = measure("x", &Config::default(), &[], &|_| ()).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
    }
}
