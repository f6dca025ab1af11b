//! Who waits for which job.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use forebay::engine::Engine;
use forebay::wire::await_proof_response::Status;
use forebay::wire::AwaitProofResponse;
use forebay::{Error, Result};
use tokio::sync::watch;

type Answer = watch::Receiver<Option<AwaitProofResponse>>;

/// One unfinished job that somebody asked for.
struct Awaited {
    answer: Answer,
    /// Calls that wait for it now.
    callers: usize,
    /// How often it was left alone: only the last time counts.
    left: u64,
    /// Submitted by a call that does not wait: it goes on without callers.
    kept: bool,
}

type Table = Arc<Mutex<HashMap<String, Awaited>>>;

/// All unfinished jobs that were asked for. A job that only `Prove` calls asked for is cancelled when the last of
/// them has been gone for the grace time.
#[derive(Clone)]
pub struct Jobs {
    engine: Arc<Engine>,
    table: Table,
    grace: Duration,
}

/// What a call is to its job.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// The job is for this call: `Prove`.
    Own,
    /// The job goes on without it.
    Look,
}

fn lock(table: &Table) -> MutexGuard<'_, HashMap<String, Awaited>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Jobs {
    pub fn new(engine: Arc<Engine>, grace: Duration) -> Jobs {
        Jobs { engine, table: Table::default(), grace }
    }

    /// Lets a submitted job go on without callers.
    pub fn keep(&self, job_id: &str) -> Result<()> {
        self.enter(job_id, |job| job.kept = true).map(|_| ())
    }

    /// A call that waits for a job until it is dropped.
    pub fn call(&self, job_id: &str, interest: Interest) -> Result<Caller> {
        let answer = self.enter(job_id, |job| job.callers += 1)?;
        Ok(Caller { jobs: self.clone(), job_id: job_id.to_owned(), interest, answer })
    }

    /// Changes a job's entry, made where there is none; gives what its answer will be seen on.
    fn enter(&self, job_id: &str, change: impl FnOnce(&mut Awaited)) -> Result<Answer> {
        let mut table = lock(&self.table);
        if let Some(job) = table.get_mut(job_id) {
            change(job);
            return Ok(job.answer.clone());
        }
        let (sender, answer) = watch::channel(None);
        let mut job = Awaited { answer: answer.clone(), callers: 0, left: 0, kept: false };
        change(&mut job);
        table.insert(job_id.to_owned(), job);
        drop(table);
        let (own, name) = (self.table.clone(), job_id.to_owned());
        let told = self.engine.when_answered(job_id, move |answer| {
            lock(&own).remove(&name);
            sender.send_replace(Some(answer));
        });
        told.inspect_err(|_| drop(lock(&self.table).remove(job_id)))?;
        Ok(answer)
    }

    /// Cancels a job that nobody has asked for since its last caller went.
    fn abandon(&self, job_id: String, left: u64) {
        let jobs = self.clone();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            tokio::time::sleep(jobs.grace).await;
            let alone = |job: &Awaited| job.callers == 0 && !job.kept && job.left == left;
            let abandoned = lock(&jobs.table).get(&job_id).is_some_and(alone);
            if abandoned && jobs.engine.cancel(&job_id).unwrap_or(false) {
                tracing::info!(job_id, "cancelled: its caller went away");
            }
        });
    }
}

/// One call that waits.
pub struct Caller {
    jobs: Jobs,
    job_id: String,
    interest: Interest,
    answer: Answer,
}

impl Caller {
    /// The job's answer; `None` when there is none after `timeout`.
    pub async fn wait(&mut self, timeout: Option<Duration>) -> Result<Option<AwaitProofResponse>> {
        let answered = self.answer.wait_for(Option::is_some);
        let answer = match timeout {
            None => answered.await,
            Some(timeout) => match tokio::time::timeout(timeout, answered).await {
                Ok(answer) => answer,
                Err(_) => return Ok(None),
            },
        };
        let lost = |_| Error::internal(format!("job {} was forgotten unanswered", self.job_id));
        Ok(answer.map_err(lost)?.clone())
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let mut table = lock(&self.jobs.table);
        let Some(job) = table.get_mut(&self.job_id) else { return };
        job.callers = job.callers.saturating_sub(1);
        if job.callers > 0 || job.kept || self.interest == Interest::Look {
            return;
        }
        job.left += 1;
        let left = job.left;
        drop(table);
        self.jobs.abandon(std::mem::take(&mut self.job_id), left);
    }
}

/// An unfinished job as a call that stopped waiting sees it.
pub fn unfinished(job_id: &str, status: Status) -> AwaitProofResponse {
    AwaitProofResponse { job_id: job_id.to_owned(), status: status.into(), ..AwaitProofResponse::default() }
}
