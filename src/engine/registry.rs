//! Which jobs exist: by job, by request, and how long finished ones are kept.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use super::entry::{lock, Digest, JobEntry};
use crate::error::{Code, Error, Result};

#[derive(Default)]
struct Tables {
    by_job: HashMap<String, Arc<JobEntry>>,
    by_request: HashMap<String, Arc<JobEntry>>,
    finished: VecDeque<Arc<JobEntry>>,
}

impl Tables {
    fn remove(&mut self, old: &Arc<JobEntry>) {
        self.by_job.remove(&old.identity.job_id);
        let request = &old.identity.request_id;
        if self.by_request.get(request).is_some_and(|entry| Arc::ptr_eq(entry, old)) {
            self.by_request.remove(request);
        }
    }
}

/// All unfinished jobs and the newest finished ones.
pub(super) struct Registry {
    tables: Mutex<Tables>,
    keep: usize,
}

impl Registry {
    pub fn new(keep: usize) -> Registry {
        Registry { tables: Mutex::default(), keep }
    }

    /// The job that a request with this id and content is, if there is one: unfinished, or proved and
    /// kept. A request whose job failed or was cancelled may be tried again, so it is none.
    pub fn same(&self, request_id: &str, digest: &Digest) -> Result<Option<Arc<JobEntry>>> {
        same(&lock(&self.tables), request_id, digest)
    }

    /// Enters a job, unless its request has one.
    pub fn enter(&self, entry: &Arc<JobEntry>) -> Result<Option<Arc<JobEntry>>> {
        let mut tables = lock(&self.tables);
        let identity = &entry.identity;
        if let Some(same) = same(&tables, &identity.request_id, &identity.digest)? {
            return Ok(Some(same));
        }
        tables.by_job.insert(identity.job_id.clone(), entry.clone());
        tables.by_request.insert(identity.request_id.clone(), entry.clone());
        Ok(None)
    }

    /// Counts an answered job among the finished; the oldest beyond the bound is forgotten.
    pub fn finished(&self, entry: &Arc<JobEntry>) {
        let mut tables = lock(&self.tables);
        tables.finished.push_back(entry.clone());
        while tables.finished.len() > self.keep {
            let Some(old) = tables.finished.pop_front() else { return };
            tables.remove(&old);
        }
    }

    /// Takes a refused job out again.
    pub fn forget(&self, entry: &Arc<JobEntry>) {
        lock(&self.tables).remove(entry);
    }

    pub fn find(&self, job_id: &str) -> Result<Arc<JobEntry>> {
        lock(&self.tables).by_job.get(job_id).cloned().ok_or_else(|| {
            Error::new(
                Code::NotFound,
                format!(
                    "no job {job_id:?}: it never was, or more than {} jobs ended after it (keep_results)",
                    self.keep
                ),
            )
        })
    }

    /// The newest finished jobs, newest first.
    pub fn recent(&self, count: usize) -> Vec<Arc<JobEntry>> {
        lock(&self.tables).finished.iter().rev().take(count).cloned().collect()
    }

    /// Every job without an answer.
    pub fn unanswered(&self) -> Vec<Arc<JobEntry>> {
        lock(&self.tables).by_job.values().filter(|entry| !entry.is_answered()).cloned().collect()
    }
}

fn same(tables: &Tables, request_id: &str, digest: &Digest) -> Result<Option<Arc<JobEntry>>> {
    let Some(entry) = tables.by_request.get(request_id) else { return Ok(None) };
    let equal = entry.identity.digest == *digest;
    if !entry.is_answered() && !equal {
        return Err(Error::new(
            Code::DuplicateRequest,
            format!(
                "request_id {request_id:?} is in use by unfinished job {} with other content; wait for it or cancel it",
                entry.identity.job_id
            ),
        ));
    }
    let usable = equal && (!entry.is_answered() || entry.is_proved());
    Ok(usable.then(|| entry.clone()))
}
