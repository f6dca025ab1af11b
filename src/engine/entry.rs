//! One job as its waiters see it.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::instruments::Ended;
use super::status::JobReport;
use crate::cancel::Cancel;
use crate::error::Result;
use crate::kind::{CircuitId, ProofKind};
use crate::prove::KeyDigest;
use crate::schedule::JobId;
use crate::wire::{await_proof_response::Status, AwaitProofResponse};

/// A lock that a panic elsewhere cannot make unusable: what it protects is consistent at every step.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Content hash of a request's message.
pub(super) type Digest = [u8; 32];

/// What is known of a job before it is queued.
pub(super) struct Identity {
    pub id: JobId,
    pub job_id: String,
    pub request_id: String,
    pub digest: Digest,
    pub kind: ProofKind,
    pub circuit: CircuitId,
    /// When it is too late.
    pub deadline: Option<Instant>,
}

/// Called with a job's answer, once.
pub(super) type Watcher = Box<dyn FnOnce(AwaitProofResponse) + Send>;

struct Progress {
    report: JobReport,
    /// The door's word: the position in the queue, or why the request is refused.
    admission: Option<Result<usize>>,
    answer: Option<AwaitProofResponse>,
    watchers: Vec<Watcher>,
    /// The keys that its partitions' proofs were verified with.
    keys: BTreeSet<KeyDigest>,
}

/// One accepted job: identity, cancellation, facts so far and, in the end, the answer.
pub(super) struct JobEntry {
    pub identity: Identity,
    pub cancel: Cancel,
    pub accepted: Instant,
    progress: Mutex<Progress>,
    changed: Condvar,
}

impl JobEntry {
    pub fn new(identity: Identity, cancel: Cancel, report: JobReport) -> Arc<JobEntry> {
        JobEntry::begun(identity, cancel, report, None)
    }

    /// A job that has its proof already.
    pub fn proved(identity: Identity, report: JobReport, proof: Vec<u8>) -> Arc<JobEntry> {
        JobEntry::begun(identity, Cancel::new(), report, Some(proof))
    }

    fn begun(identity: Identity, cancel: Cancel, report: JobReport, proof: Option<Vec<u8>>) -> Arc<JobEntry> {
        let mut report = JobReport {
            job_id: identity.job_id.clone(),
            request_id: identity.request_id.clone(),
            kind: identity.kind.name(),
            circuit: identity.circuit.to_string(),
            state: "queued",
            ..report
        };
        let admission = proof.is_some().then_some(Ok(0));
        let answer = proof.map(|proof| {
            report.state = Ended::Completed.name();
            response(&report, Status::Completed, proof)
        });
        Arc::new(JobEntry {
            identity,
            cancel,
            accepted: Instant::now(),
            progress: Mutex::new(Progress {
                report,
                admission,
                answer,
                watchers: Vec::new(),
                keys: BTreeSet::new(),
            }),
            changed: Condvar::new(),
        })
    }

    /// Changes the facts so far.
    pub fn note(&self, change: impl FnOnce(&mut JobReport)) {
        change(&mut lock(&self.progress).report);
    }

    /// Notes with which key a proof of it was verified.
    pub fn verified_with(&self, key: &KeyDigest) {
        lock(&self.progress).keys.insert(*key);
    }

    /// The one key of all its proofs.
    pub fn key(&self) -> Option<KeyDigest> {
        let progress = lock(&self.progress);
        progress.keys.first().filter(|_| progress.keys.len() == 1).copied()
    }

    /// The facts so far.
    pub fn report(&self) -> JobReport {
        let mut report = lock(&self.progress).report.clone();
        if report.total_ms == 0 {
            report.total_ms = millis(self.accepted.elapsed());
            report.deadline_ms = self.left();
        }
        report
    }

    /// Milliseconds that are left; negative: it is late by so much.
    pub fn left(&self) -> Option<i64> {
        let (deadline, now) = (self.identity.deadline?, Instant::now());
        let signed = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        Some(match deadline.checked_duration_since(now) {
            Some(left) => signed(left),
            None => -signed(now - deadline),
        })
    }

    /// The door's word; everybody who submitted the request hears it.
    pub fn admit(&self, word: Result<usize>) {
        lock(&self.progress).admission.get_or_insert(word);
        self.changed.notify_all();
    }

    /// Waits for the door's word.
    pub fn admission(&self) -> Result<usize> {
        let mut progress = lock(&self.progress);
        loop {
            if let Some(word) = &progress.admission {
                return word.clone();
            }
            progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub fn is_answered(&self) -> bool {
        lock(&self.progress).answer.is_some()
    }

    /// Whether it ended with a proof.
    pub fn is_proved(&self) -> bool {
        lock(&self.progress).answer.as_ref().is_some_and(|a| a.status() == Status::Completed)
    }

    /// Sets the answer and wakes every waiter; the first answer stays.
    pub fn answer(&self, status: Status, proof: Vec<u8>, error: Option<String>) {
        let mut progress = lock(&self.progress);
        if progress.answer.is_some() {
            return;
        }
        let report = &mut progress.report;
        report.state = Ended::from(status).name();
        report.total_ms = millis(self.accepted.elapsed()).max(1);
        report.deadline_ms = self.left();
        report.error = error.unwrap_or_default();
        let answer = response(report, status, proof);
        progress.answer = Some(answer.clone());
        self.changed.notify_all();
        let watchers = std::mem::take(&mut progress.watchers);
        drop(progress);
        for watcher in watchers {
            tell(watcher, answer.clone());
        }
    }

    /// Has the watcher called with the answer, now where there is one.
    pub fn watch(&self, watcher: Watcher) {
        let mut progress = lock(&self.progress);
        match progress.answer.clone() {
            None => progress.watchers.push(watcher),
            Some(answer) => {
                drop(progress);
                tell(watcher, answer);
            }
        }
    }

    /// The answer, or the job's name with this status.
    pub fn poll(&self, otherwise: Status) -> AwaitProofResponse {
        lock(&self.progress).answer.clone().unwrap_or_else(|| self.without_answer(otherwise))
    }

    /// The answer as soon as it is there; after `timeout` (`None`: never) status `TIMEOUT`.
    pub fn wait(&self, timeout: Option<Duration>) -> AwaitProofResponse {
        let until = timeout.and_then(|t| Instant::now().checked_add(t));
        let mut progress = lock(&self.progress);
        loop {
            if let Some(answer) = &progress.answer {
                return answer.clone();
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            progress = match left {
                Some(left) if left.is_zero() => return self.without_answer(Status::Timeout),
                Some(left) => {
                    self.changed.wait_timeout(progress, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn without_answer(&self, status: Status) -> AwaitProofResponse {
        let job_id = self.identity.job_id.clone();
        AwaitProofResponse { job_id, status: status.into(), ..AwaitProofResponse::default() }
    }
}

/// A watcher is foreign code: its panic ends here.
fn tell(watcher: Watcher, answer: AwaitProofResponse) {
    if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| watcher(answer))).is_err() {
        tracing::error!("a function that was to hear of an answer ended in a panic");
    }
}

fn response(report: &JobReport, status: Status, proof: Vec<u8>) -> AwaitProofResponse {
    AwaitProofResponse {
        job_id: report.job_id.clone(),
        status: status.into(),
        proof,
        error_message: report.error.clone(),
        queue_wait_ms: report.queue_wait_ms,
        srs_load_ms: report.srs_load_ms,
        synthesis_ms: report.synthesis_ms,
        gpu_compute_ms: report.start_ms,
        total_ms: report.total_ms,
    }
}

/// Whole milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
