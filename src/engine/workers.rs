//! The bodies of the worker threads. Each piece of work is guarded and ends in exactly one message.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam::channel::Receiver;

use super::entry::{millis, JobEntry};
use super::footprints::Footprints;
use super::instruments::{Ended, Timed};
use super::journal::{Keeper, Record};
use super::lifecycle::Passage;
use super::metered::Metered;
use super::shared::Shared;
use super::slot::Place;
use super::status::JobReport;
use super::work::{guarded, Chore, Claim, Ending, Item, Message, Turn};
use crate::cancel::{Cancel, Running};
use crate::error::{Code, Error, Result};
use crate::kind::CircuitId;
use crate::memory::Stage;
use crate::prove::{verify, Blinding, Proof};
use crate::schedule::{Event, Outcome, Step as Heavy};
use crate::wire::await_proof_response::Status;

/// Runs one piece of work of a partition, timed and guarded; a cancelled job's work does not begin.
fn step<T>(
    shared: &Shared,
    item: &Item,
    stage: Timed,
    body: impl FnOnce() -> Result<T>,
) -> Result<(T, Duration)> {
    let mut started = Instant::now();
    let result = guarded(&shared.instruments.panics, stage.name(), || {
        item.entry.cancel.begin()?;
        started = Instant::now();
        body()
    });
    let took = started.elapsed();
    shared.instruments.kinds.get(item.entry.identity.kind).took(stage, took);
    result.map(|value| (value, took))
}

fn send(shared: &Shared, message: Message) {
    if shared.send(message).is_err() {
        tracing::debug!("a result came after the engine had closed");
    }
}

/// Makes witnesses, one at a time, on this thread.
pub(super) fn synthesis(shared: &Arc<Shared>, work: &Receiver<Box<Item>>) {
    for mut item in work {
        let (job, partition) = (item.job(), item.partition);
        let circuit = item.entry.identity.circuit;
        let made = step(shared, &item, Timed::Synthesis, || {
            let hint = shared.projection(circuit)?.footprint.wide_hint;
            item.task.synthesize(partition, usize::try_from(hint).unwrap_or(0), &item.entry.cancel)
        });
        match made {
            Ok((mut witness, took)) => {
                witness.set_stage(Stage::Queued);
                let bytes = witness.mapped().0;
                let wide = witness.wide_values().len() as u64;
                item.entry.note(|report| {
                    report.synthesis_ms += millis(took);
                    report.witness_bytes = report.witness_bytes.max(bytes);
                });
                item.witness = Some(witness);
                send(shared, Message::Synthesized(item));
                shared.learn(circuit, wide);
            }
            Err(error) => {
                drop(item);
                send(shared, Message::Event(Event::SynthesisFailed { job, partition, error }));
            }
        }
    }
}

/// Runs the heavy step of one prover slot.
pub(super) fn slot(shared: &Arc<Shared>, work: &Receiver<Turn>) {
    for turn in work {
        match turn {
            Turn::Prove(item) => start(shared, item),
            Turn::Diagnose(item) => diagnose(shared, item),
        }
    }
}

fn start(shared: &Shared, mut item: Box<Item>) {
    let (job, partition) = (item.job(), item.partition);
    if let Some(witness) = &mut item.witness {
        witness.set_stage(Stage::Proving);
    }
    let running = enter(shared, &item);
    let meter = Metered::new(shared, &item, Heavy::Start);
    let started = step(shared, &item, Timed::Start, || {
        let Place { backend, pool, .. } = place(shared, &item)?;
        let work = item.step(meter.meter())?;
        pool.install(|| backend.start(&work))
    });
    drop((meter, running));
    match started {
        Ok((started, took)) => {
            note_slot(shared, &item, took);
            item.started = Some(started);
            if let Some(witness) = &mut item.witness {
                witness.set_stage(Stage::Finishing);
            }
            send(shared, Message::Started(item));
        }
        Err(error) => {
            drop(item);
            send(shared, Message::Event(Event::SlotFailed { job, partition, error }));
        }
    }
}

fn note_slot(shared: &Shared, item: &Item, took: Duration) {
    if let Some(slot) = shared.instruments.slot(item.slot) {
        slot.was_busy(took);
    }
    let working_set = shared.projection(item.entry.identity.circuit).map_or(0, |p| p.costs.turn(item.slot).0);
    let device = shared.slots.device(item.slot).to_owned();
    item.entry.note(|report| {
        report.start_ms += millis(took);
        report.working_set_bytes = report.working_set_bytes.max(working_set);
        report.device = device;
        if let Some(circuit) = &item.circuit {
            report.srs_bytes = circuit.srs.mapped().0;
            report.matrices_bytes = circuit.matrices.mapped().0;
        }
    });
}

fn place<'a>(shared: &'a Shared, item: &Item) -> Result<Place<'a>> {
    shared.slots.place(item.slot, item.entry.identity.kind.urgency())
}

/// While it is held, work that is less urgent than what runs on this partition's pool is paused.
fn enter(shared: &Shared, item: &Item) -> Option<Running> {
    place(shared, item).ok().map(|place| shared.priorities.enter(place.serves))
}

/// Finishes and verifies proofs.
pub(super) fn finish(shared: &Arc<Shared>, work: &Receiver<Box<Item>>) {
    for item in work {
        finish_one(shared, item);
    }
}

fn finish_one(shared: &Shared, mut item: Box<Item>) {
    let (job, partition) = (item.job(), item.partition);
    let running = enter(shared, &item);
    let proof = finish_proof(shared, &item);
    item.turn = None;
    item.finishing = None;
    let verified = proof.and_then(|proof| Ok((proof, verify_proof(shared, &item, &proof)?)));
    drop(running);
    match verified {
        Ok((proof, true)) => {
            if let Some(slot) = shared.instruments.slot(item.slot) {
                slot.proofs.get(item.entry.identity.kind).one();
            }
            item.entry.note(|report| report.partitions_done += 1);
            // Its memory is gone before the proof is told of.
            send(shared, Message::Passed { job, partition, passage: Passage::FinishDone });
            drop(item);
            send(shared, Message::Proved { job, partition, proof: Box::new(proof) });
        }
        Ok((_, false)) => {
            not_verified(shared, &mut item);
            send(shared, Message::NotVerified(item));
        }
        Err(error) => {
            drop(item);
            send(shared, Message::Event(Event::FinishFailed { job, partition, error }));
        }
    }
}

fn finish_proof(shared: &Shared, item: &Item) -> Result<Proof> {
    let meter = Metered::new(shared, item, Heavy::Finish);
    let (proof, took) = step(shared, item, Timed::Finish, || {
        let Place { backend, finishing, .. } = place(shared, item)?;
        let started = item.started.ok_or_else(|| Error::internal("a proof to finish was not started"))?;
        let work = item.step(meter.meter())?;
        finishing.install(|| backend.finish(&work, started, Blinding::random()))
    })?;
    item.entry.note(|report| report.finish_ms += millis(took));
    Ok(proof)
}

fn verify_proof(shared: &Shared, item: &Item, proof: &Proof) -> Result<bool> {
    let (verified, took) = step(shared, item, Timed::Verify, || {
        let circuit = item.circuit()?;
        let inputs = || item.task.public_inputs(item.partition);
        place(shared, item)?.finishing.install(|| verify(circuit, proof, &inputs()?))
    })?;
    item.entry.note(|report| report.verify_ms += millis(took));
    if verified {
        item.entry.verified_with(item.circuit()?.srs.source_digest());
    }
    Ok(verified)
}

fn not_verified(shared: &Shared, item: &mut Item) {
    let device = shared.slots.device(item.slot).to_owned();
    if let Some(slot) = shared.instruments.slot(item.slot) {
        slot.not_verified.one();
    }
    let identity = &item.entry.identity;
    tracing::warn!(job = identity.job_id, circuit = %identity.circuit, partition = item.partition, device, "a proof did not verify");
    item.entry.note(|report| report.reproved += 1);
    item.devices.push(device);
    item.started = None;
    item.circuit = None;
    if let Some(witness) = &mut item.witness {
        witness.set_stage(Stage::Queued);
    }
}

/// Says whose fault it is that proofs of a partition do not verify.
fn diagnose(shared: &Shared, item: Box<Item>) {
    let (job, partition) = (item.job(), item.partition);
    let circuit = item.entry.identity.circuit;
    let devices = item.devices.join(" and ");
    let found =
        step(shared, &item, Timed::Diagnose, || shared.pool.install(|| item.task.diagnose(partition)));
    let error = match found {
        Ok((Some(violated), _)) => Error::new(
            Code::Unsatisfied,
            format!("partition {partition} of {circuit}: the witness does not satisfy the circuit: {violated}"),
        ),
        Ok((None, _)) => Error::new(
            Code::VerificationFailed,
            format!(
                "partition {partition} of {circuit}: proofs made on {devices} did not verify though the witness satisfies \
                 the circuit; check the device and the parameters"
            ),
        ),
        Err(error) => error.at(format!("proofs of {circuit} made on {devices} did not verify; looking for the reason")),
    };
    drop(item);
    send(shared, Message::Event(Event::Diagnosed { job, partition, error }));
}

/// Loads one circuit.
pub(super) fn load(shared: &Shared, circuit: CircuitId, claim: Claim, cancel: &Cancel, started: Instant) {
    let data = guarded(&shared.instruments.panics, "loading a circuit", || {
        cancel.check()?;
        shared.pool.install(|| {
            let data = shared.catalog.load(circuit, cancel)?;
            // What is booked for it is then really there, and its first proof does not wait for the disk.
            data.srs.populate(cancel)?;
            Ok(data)
        })
    });
    match data {
        Ok(data) => {
            let took = started.elapsed();
            send(shared, Message::Loaded { circuit, data: Box::new(data), claim, took });
        }
        Err(error) => {
            // The failure is told before the claim returns: its bytes mean the circuit has gone.
            send(shared, Message::Event(Event::LoadFailed { circuit, error }));
            drop(claim);
        }
    }
}

/// Answers jobs.
pub(super) fn delivery(shared: &Shared, mut keeper: Option<Keeper>, work: &Receiver<Box<Ending>>) {
    for ending in work {
        let entry = ending.entry.clone();
        answer(shared, *ending);
        if let Some(keeper) = &mut keeper {
            keep(shared, keeper, &entry);
        }
    }
}

/// Leaves a job's proof to the journal, after the job has its answer.
fn keep(shared: &Shared, keeper: &mut Keeper, entry: &JobEntry) {
    let Some(key) = entry.key().filter(|_| entry.is_proved()) else { return };
    let proof = entry.poll(Status::Unknown).proof;
    keeper.keep(Record::new(&entry.identity, &entry.report(), &key, proof), &shared.instruments.journal);
}

/// Drops what takes long to drop and keeps the state file.
pub(super) fn chores(shared: &Shared, mut footprints: Footprints, work: &Receiver<Chore>) {
    for chore in work {
        let done = guarded(&shared.instruments.panics, "a chore", || match chore {
            Chore::Drop(memory) => {
                drop(memory);
                Ok(())
            }
            Chore::Remember(circuit, factors) => footprints.remember(circuit, factors),
        });
        if let Err(error) = done {
            tracing::warn!(%error, "the next start may not know the corrected footprints");
        }
    }
}

/// The one place where a job gets its answer.
fn answer(shared: &Shared, ending: Ending) {
    let Ending { entry, task, outcome, proofs, intake } = ending;
    let exporter = &shared.instruments.exporter;
    let counts = shared.instruments.kinds.get(entry.identity.kind);
    let outcome = match outcome {
        Outcome::Proved => guarded(&shared.instruments.panics, "assembling the proof", || {
            let proofs: Option<Vec<_>> = proofs.into_iter().collect();
            task.assemble(&proofs.ok_or_else(|| Error::internal("a proved job lacks a proof"))?)
        })
        .map_err(|error| (Status::Failed, error)),
        Outcome::Failed(error) => {
            if error.code() == Code::Timeout {
                counts.missed.one();
            }
            Err((Status::Failed, error))
        }
        Outcome::Cancelled(error) => Err((Status::Cancelled, error)),
    };
    drop(task);
    drop(intake);
    let (status, proof, error) = match outcome {
        Ok(proof) => (Status::Completed, proof, None),
        Err((status, error)) => (status, Vec::new(), Some(error.to_string())),
    };
    counts.ended(exporter, Ended::from(status), entry.accepted.elapsed());
    let left = entry.identity.deadline.map(|at| at.saturating_duration_since(Instant::now()));
    if let Some(left) = left.filter(|_| status == Status::Completed) {
        counts.slack(exporter, left);
    }
    shared.registry.finished(&entry);
    entry.answer(status, proof, error);
    log_answer(&entry.report());
    shared.call_hook();
}

fn log_answer(report: &JobReport) {
    let JobReport { job_id, request_id, circuit, state, total_ms, error, .. } = report;
    if error.is_empty() {
        tracing::info!(job_id, request_id, circuit, state, total_ms, "job ended");
    } else {
        tracing::warn!(job_id, request_id, circuit, state, total_ms, error, "job ended");
    }
}
