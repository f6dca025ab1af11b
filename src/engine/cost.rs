//! What counting and timing cost a partition, for the benches.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::entry::{Identity, JobEntry};
use super::instruments::{Ended, Instruments, Timed};
use super::lifecycle::{Lifecycle, Passage};
use super::slot::Slots;
use super::status::JobReport;
use crate::cancel::Cancel;
use crate::error::Result;
use crate::kind::CircuitId;
use crate::memory::ClaimId;
use crate::schedule::{JobId, Wait};
use crate::telemetry::Exporter;

/// Everything that is counted and timed of a request with one partition, from acceptance to the answer: the mean over so
/// many of them.
pub fn telemetry_cost(circuit: CircuitId, requests: u32) -> Result<Duration> {
    let instruments = Instruments::new(Exporter::new()?, &Slots::empty());
    let device = instruments.device("cpu");
    let mut lifecycle = Lifecycle::default();
    let mut spent = Duration::ZERO;
    for request in 0..requests {
        let entry = entry(circuit, request);
        let begun = Instant::now();
        let counts = instruments.kinds.get(circuit.kind);
        let (at, claim) = ((entry.identity.id, 0), ClaimId(u64::from(request)));
        counts.accepted.one();
        lifecycle.enter(at, &entry, claim);
        counts.admitted(&instruments.exporter, Wait::Nothing, begun.elapsed());
        for (stage, passage) in [
            (Timed::Synthesis, Passage::SynthesisDone),
            (Timed::Start, Passage::ProvingStarted),
            (Timed::Start, Passage::EvaluationFreed),
            (Timed::Finish, Passage::FinishStarted),
            (Timed::Verify, Passage::FinishDone),
        ] {
            counts.took(stage, begun.elapsed());
            lifecycle.pass(at, passage);
        }
        device.was_busy(begun.elapsed());
        device.proofs.get(circuit.kind).one();
        lifecycle.freed(claim);
        counts.ended(&instruments.exporter, Ended::Completed, begun.elapsed());
        spent += begun.elapsed();
        // As the engine does every few seconds.
        if request % 1000 == 0 {
            instruments.exporter.upkeep();
        }
    }
    Ok(spent / requests.max(1))
}

fn entry(circuit: CircuitId, request: u32) -> Arc<JobEntry> {
    let identity = Identity {
        id: JobId(u64::from(request)),
        job_id: request.to_string(),
        request_id: request.to_string(),
        digest: Default::default(),
        kind: circuit.kind,
        circuit,
        deadline: None,
    };
    JobEntry::new(identity, Cancel::new(), JobReport::default())
}
