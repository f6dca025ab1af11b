//! Who waits for which job.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use forebay::engine::Engine;
use forebay::wire::await_proof_response::Status;
use forebay::wire::AwaitProofResponse;
use forebay::{Code, Error, Result};
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
    /// It is being cancelled.
    doomed: bool,
}

type Table = Arc<Mutex<HashMap<String, Awaited>>>;

/// All unfinished jobs that were asked for. A job that no call has submitted to stay is cancelled when the last call
/// that waited for it has been gone for the grace time.
#[derive(Clone)]
pub struct Jobs {
    engine: Arc<Engine>,
    table: Table,
    grace: Duration,
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
    pub fn call(&self, job_id: &str) -> Result<Caller> {
        let answer = self.enter(job_id, |job| job.callers += 1)?;
        Ok(Caller { jobs: self.clone(), job_id: job_id.to_owned(), answer })
    }

    /// Changes a job's entry, made where there is none; gives what its answer will be seen on.
    fn enter(&self, job_id: &str, change: impl FnOnce(&mut Awaited)) -> Result<Answer> {
        let mut table = lock(&self.table);
        if let Some(job) = table.get_mut(job_id) {
            if job.doomed {
                let why = format!("job {job_id} is being cancelled, as its callers went away");
                return Err(Error::busy(why, Duration::from_secs(1)));
            }
            change(job);
            return Ok(job.answer.clone());
        }
        let (sender, answer) = watch::channel(None);
        let mut job = Awaited { answer: answer.clone(), callers: 0, left: 0, kept: false, doomed: false };
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
            let abandoned = lock(&jobs.table).get_mut(&job_id).is_some_and(|job| {
                job.doomed |= job.callers == 0 && !job.kept && job.left == left;
                job.doomed
            });
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
        // Another call asked for it at the same time, and the engine knows no such job.
        let lost = |_| Error::new(Code::NotFound, format!("no job {:?}", self.job_id));
        Ok(answer.map_err(lost)?.clone())
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let mut table = lock(&self.jobs.table);
        let Some(job) = table.get_mut(&self.job_id) else { return };
        job.callers = job.callers.saturating_sub(1);
        if job.callers > 0 || job.kept {
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
