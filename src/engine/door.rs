//! The way in: what is checked before a request is queued.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prost::Message as _;

use super::entry::{Digest, Identity, JobEntry};
use super::status::JobReport;
use super::work::{guarded, Door, Message};
use super::{Engine, Submitted, MAX_MESSAGE};
use crate::cancel::Cancel;
use crate::error::{Code, Error, Result};
use crate::filecoin;
use crate::kind::ProofKind;
use crate::prove::ProofTask;
use crate::schedule::{JobId, Submission};
use crate::units::Bytes;
use crate::wire::SubmitProofRequest;

/// The longest request id.
const MAX_REQUEST_ID: usize = 1024;

/// Bounds the bytes that are being decoded, and numbers the jobs.
#[derive(Default)]
pub(super) struct Gate {
    decoding: AtomicU64,
    jobs: AtomicU64,
}

struct Passing<'a> {
    gate: &'a Gate,
    bytes: u64,
}

impl Gate {
    fn pass(&self, bytes: u64, limit: Bytes) -> Result<Passing<'_>> {
        if bytes > limit.0 {
            return Err(Error::new(
                Code::BudgetExceeded,
                format!(
                    "the request has {}, all unfinished ones may hold {limit}; raise intake.max_bytes",
                    Bytes(bytes)
                ),
            ));
        }
        let before = self.decoding.fetch_add(bytes, Ordering::Relaxed);
        let passing = Passing { gate: self, bytes };
        if before.saturating_add(bytes) > limit.0 {
            let why = format!("requests of {} are being decoded", Bytes(before));
            return Err(Error::busy(why, Duration::from_secs(1)));
        }
        Ok(passing)
    }
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        self.gate.decoding.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Engine {
    pub(super) fn take(&self, message: &[u8]) -> Result<Submitted> {
        let result = self.pass(message);
        let shared = &self.shared;
        match &result {
            Ok((submitted, Some(kind))) => {
                shared.instruments.kinds.get(*kind).accepted.one();
                tracing::debug!(job_id = submitted.job_id, kind = kind.name(), "accepted");
            }
            Ok((_, None)) => {}
            Err(error) => shared.instruments.refused(error.code()),
        }
        result.map(|(submitted, _)| submitted)
    }

    /// The job of a message, and its kind where the job is new.
    fn pass(&self, message: &[u8]) -> Result<(Submitted, Option<ProofKind>)> {
        let len = message.len() as u64;
        if len > MAX_MESSAGE.0 {
            let text =
                format!("the request has {len} bytes; at most {} ({MAX_MESSAGE}) are read", MAX_MESSAGE.0);
            return Err(Error::new(Code::InvalidRequest, text));
        }
        let _passing = self.door.pass(len, self.shared.config.intake_max_bytes)?;
        let request = SubmitProofRequest::decode(message).map_err(|e| {
            Error::new(Code::InvalidRequest, format!("not a cuzk.v1.SubmitProofRequest of {len} bytes: {e}"))
        })?;
        self.check(&request)?;
        let digest = digest(message);
        if let Some(entry) = self.shared.registry.same(&request.request_id, &digest)? {
            return again(&entry);
        }
        if let Some(kept) = self.kept(&request.request_id, &digest)? {
            return Ok(kept);
        }
        let task = guarded(&self.shared.instruments.panics, "decoding a request", || {
            (self.shared.decode)(&request)
        })?;
        self.queue(request.request_id, digest, task)
    }

    fn check(&self, request: &SubmitProofRequest) -> Result<()> {
        let invalid = |text: String| Err(Error::new(Code::InvalidRequest, text));
        if request.request_id.is_empty() {
            return invalid("request_id is empty; it names the request across retries".into());
        }
        let len = request.request_id.len();
        if len > MAX_REQUEST_ID {
            return invalid(format!("request_id has {len} bytes; at most {MAX_REQUEST_ID} are allowed"));
        }
        let kind = filecoin::proof_kind(request.proof_kind)?;
        if !self.shared.config.kinds.contains(&kind) {
            return Err(Error::new(Code::Unsupported, format!("kind {kind} is not enabled here (kinds)")));
        }
        Ok(())
    }

    /// The job of a request whose proof is in the journal, answered from its beginning. A proof of another key
    /// than the one that is there now is of no use.
    fn kept(&self, request_id: &str, digest: &Digest) -> Result<Option<(Submitted, Option<ProofKind>)>> {
        let shared = &self.shared;
        let found =
            shared.journal.as_ref().and_then(|j| j.find(request_id, digest, &shared.instruments.journal));
        let Some(record) = found else { return Ok(None) };
        let circuit = record.circuit()?;
        let key = guarded(&shared.instruments.panics, "the catalog", || shared.catalog.key(circuit));
        if !key.is_ok_and(|key| key.is_some_and(|key| record.is_of_key(&key))) {
            tracing::info!(request_id, %circuit, "a kept proof is of another key; it is made again");
            return Ok(None);
        }
        let (id, job_id) = self.new_job();
        let kind = circuit.kind;
        let (name, digest) = (request_id.to_owned(), *digest);
        let identity = Identity { id, job_id, request_id: name, digest, kind, circuit, deadline: None };
        let report = record.report();
        let entry = JobEntry::proved(identity, report, record.proof);
        if let Some(other) = shared.registry.enter(&entry)? {
            return again(&other).map(Some);
        }
        shared.registry.finished(&entry);
        shared.instruments.kinds.get(kind).from_journal.one();
        tracing::info!(request_id, %circuit, answered_ms = record.answered_ms, "answered from the journal");
        shared.call_hook();
        again(&entry).map(Some)
    }

    fn new_job(&self) -> (JobId, String) {
        let id = JobId(self.door.jobs.fetch_add(1, Ordering::Relaxed));
        (id, format!("{:08x}-{}", self.tag, id.0))
    }

    fn queue(
        &self,
        request_id: String,
        digest: Digest,
        task: Arc<dyn ProofTask>,
    ) -> Result<(Submitted, Option<ProofKind>)> {
        let shared = &self.shared;
        let circuit = task.circuit();
        let projection = shared.projection(circuit)?;
        let (id, job_id) = self.new_job();
        let (kind, partitions, intake) = (circuit.kind, task.partitions(), task.intake_bytes());
        let timeout = shared.config.timeouts.get(&kind);
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(*timeout));
        let job = job_id.clone();
        let identity = Identity { id, job_id: job, request_id, digest, kind, circuit, deadline };
        let entry = JobEntry::new(
            identity,
            Cancel::yielding(&shared.priorities, kind.urgency()),
            JobReport {
                partitions,
                constraints: projection.footprint.shape.constraints,
                intake_bytes: intake.0,
                ..JobReport::default()
            },
        );
        if let Some(other) = shared.registry.enter(&entry)? {
            return again(&other);
        }
        let deadline = entry.identity.deadline.map(|at| shared.time_of(at));
        let submission = Submission { job: id, costs: projection.costs, partitions, intake, deadline };
        let door = Door { entry: entry.clone(), task, submission };
        // Where nobody listens any more, the door itself gives the word as it drops.
        let _ = shared.send(Message::Submit(Box::new(door)));
        match entry.admission() {
            Ok(position) => {
                let queue_position = u32::try_from(position).unwrap_or(u32::MAX);
                Ok((Submitted { job_id, queue_position }, Some(kind)))
            }
            Err(error) => {
                shared.registry.forget(&entry);
                Err(error)
            }
        }
    }
}

fn again(entry: &JobEntry) -> Result<(Submitted, Option<ProofKind>)> {
    entry.admission()?;
    Ok((Submitted { job_id: entry.identity.job_id.clone(), queue_position: 0 }, None))
}

fn digest(message: &[u8]) -> Digest {
    let hash = blake2b_simd::Params::new().hash_length(32).hash(message);
    let mut digest = Digest::default();
    digest.copy_from_slice(hash.as_bytes());
    digest
}
