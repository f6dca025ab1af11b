//! One engine under load, the requests it gets, and how it comes to rest.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use forebay::engine::{Config, Engine};
use forebay::kind::{CircuitId, ProofKind};
use forebay::memory::{usage, Class, Stage};
use forebay::units::Bytes;
use forebay::wire::await_proof_response::Status;
use forebay_sector::Request;

use super::counts::{Counts, What};
use crate::load;
use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;

/// Longer than everything that can be unfinished takes.
const PATIENCE: Duration = Duration::from_secs(240);
const LOOK: Duration = Duration::from_millis(5);
/// Few, so that what is kept of ended jobs has its level soon.
const KEPT: usize = 16;
const QUEUED: usize = 12;

/// An engine and what it is asked.
pub struct Ground {
    pub engine: Arc<Engine>,
    /// The most that it may hold.
    pub limit: Bytes,
    /// What the largest circuit needs alone.
    pub least: Bytes,
    pub requests: Vec<(ProofKind, Request)>,
    pub circuits: Vec<CircuitId>,
    completions: Arc<AtomicU64>,
    numbers: AtomicU64,
    /// Jobs whose clients gave up waiting.
    left: Mutex<Vec<String>>,
}

/// A configuration for an engine under load.
pub fn config(world: &World, limit: Bytes, workers: usize) -> Config {
    Config { keep_results: KEPT, intake_max_requests: QUEUED, ..load::config(world, limit, workers) }
}

/// What the largest circuit of these kinds needs alone, and what all need together.
pub fn needs(world: &World, kinds: &[ProofKind]) -> Result<(Bytes, Bytes), Failure> {
    let (mut least, mut all) = (0, 0);
    for kind in kinds {
        let alone = world.needs(*kind)?.alone().0;
        least = alone.max(least);
        all += alone;
    }
    Ok((Bytes(least), Bytes(all)))
}

impl Ground {
    /// An engine on the real parts, all four kinds.
    pub fn real(world: &World) -> Result<Ground, Failure> {
        let (_, all) = needs(world, &ProofKind::ALL)?;
        let limit = Bytes(all.0 + Bytes::mib(96).0);
        Ground::on(world, Engine::open(config(world, limit, 2))?, limit, &ProofKind::ALL)
    }

    /// Requests of these kinds for an engine that is there.
    pub fn on(
        world: &World,
        engine: Arc<Engine>,
        limit: Bytes,
        kinds: &[ProofKind],
    ) -> Result<Ground, Failure> {
        let (least, _) = needs(world, kinds)?;
        let completions = Arc::<AtomicU64>::default();
        let heard = completions.clone();
        engine.on_completion(Arc::new(move || {
            heard.fetch_add(1, Ordering::Relaxed);
        }));
        let requests = kinds.iter().map(|kind| Ok((*kind, world.request(*kind)?)));
        let circuits = kinds.iter().map(|kind| world.circuit_id(*kind));
        Ok(Ground {
            engine,
            limit,
            least: Bytes(least.0 + Bytes::mib(48).0),
            requests: requests.collect::<Result<_, Failure>>()?,
            circuits: circuits.collect::<Result<_, _>>()?,
            completions,
            numbers: AtomicU64::new(0),
            left: Mutex::default(),
        })
    }

    /// A name that no request had before.
    pub fn name(&self) -> String {
        format!("soak-{}", self.numbers.fetch_add(1, Ordering::Relaxed))
    }

    /// Answers that the completion hook heard of.
    pub fn completions(&self) -> u64 {
        self.completions.load(Ordering::Relaxed)
    }

    /// Nobody waits for this job any more.
    pub fn leave(&self, job: String) {
        self.left().push(job);
    }

    fn left(&self) -> MutexGuard<'_, Vec<String>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the answers of jobs that were left alone and have ended.
    pub fn collect(&self, counts: &Counts) -> Result<(), Failure> {
        let mut ended = Vec::new();
        // Nothing may be locked while jobs are looked at.
        let left = std::mem::take(&mut *self.left());
        for job in left {
            match self.engine.poll(&job)?.status() {
                Status::Unknown => self.leave(job),
                _ => ended.push(job),
            }
        }
        ended.iter().try_for_each(|job| self.answer(job, counts))
    }

    /// The answer to a job, counted; a wait without an end is a failure.
    pub fn answer(&self, job: &str, counts: &Counts) -> Result<(), Failure> {
        let answer = self.engine.wait(job, Some(PATIENCE))?;
        match answer.status() {
            Status::Completed => counts.add(What::Proved),
            Status::Failed => counts.add(What::Failed),
            Status::Cancelled => counts.add(What::Cancelled),
            other => {
                let status = serde_json::to_string(&self.engine.status())?;
                return Err(format!("{job} hangs ({other:?}): {status}").into());
            }
        }
        if answer.status() == Status::Completed && answer.proof.is_empty() {
            counts.wrong(&format!("{job} completed without a proof"));
        }
        Ok(())
    }

    /// One request of each kind, so that all code has run and every table is there.
    pub fn warm(&self, counts: &Counts) -> Result<(), Failure> {
        for (_, request) in &self.requests {
            let job = self.engine.submit(&World::named(request, &self.name()))?.job_id;
            counts.add(What::Submitted);
            self.answer(&job, counts)?;
        }
        Ok(())
    }

    /// Every job is answered, every claim has come back, every circuit leaves.
    pub fn settle(&self, counts: &Counts) -> Result<(), Failure> {
        self.engine.set_memory_limit(self.limit)?;
        let left = std::mem::take(&mut *self.left());
        left.iter().try_for_each(|job| self.answer(job, counts))?;
        let begun = Instant::now();
        loop {
            let status = self.engine.status();
            let shared: u64 = status.circuits.iter().map(|circuit| circuit.bytes).sum();
            let resident = status.circuits.iter().all(|circuit| circuit.state == "resident");
            if status.jobs.is_empty() && resident && status.memory.reserved == shared {
                break;
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("does not come to rest: {}", serde_json::to_string(&status)?).into());
            }
            std::thread::sleep(LOOK);
        }
        for circuit in &self.circuits {
            self.engine.evict(*circuit)?;
        }
        Ok(())
    }
}

/// Large buffers that are still there.
pub fn counters(report: &mut Report) {
    let cells =
        Class::ALL.into_iter().flat_map(|class| Stage::ALL.into_iter().map(move |stage| (class, stage)));
    let (buffers, bytes) = cells.fold((0, 0), |(buffers, bytes), (class, stage)| {
        let (more, size) = usage::mapped(class, stage);
        (buffers + more, bytes + size.0)
    });
    report.value("large buffers at the end", buffers as f64, "", Goal::AtMost(0.0));
    report.value("their bytes", bytes as f64, "bytes", Goal::AtMost(0.0));
}
