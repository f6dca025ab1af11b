//! The pipeline: threads and channels that run what the pure scheduler decides.

mod config;
mod cost;
mod door;
mod driver;
mod entry;
mod footprints;
mod instruments;
mod journal;
mod lifecycle;
mod metered;
mod open;
mod registry;
mod scrape;
mod shared;
mod slot;
mod snapshot;
mod status;
#[cfg(test)]
mod tests;
pub mod toml_reader;
mod watch;
mod work;
mod workers;

use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

use crossbeam::channel::bounded;

pub use config::{BackendChoice, Config};
#[doc(hidden)]
pub use cost::telemetry_cost;
pub use slot::ProverSlot;
pub use status::{
    CellStatus, CircuitStatus, JobReport, MemoryStatus, PartitionStatus, ProcessStatus, QueueStatus,
    SlotStatus, Status, Totals, STATUS_VERSION,
};

use crate::error::{Code, Error, Result};
use crate::kind::{CircuitId, ProofKind};
use crate::prove::{Catalog, Footprint, ProofTask};
use crate::schedule::Event;
use crate::units::Bytes;
use crate::wire::{self, await_proof_response::Status as Answer};
use entry::lock;
use shared::{closed, Shared};
use work::Message;

/// The longest message that [`Engine::submit`] reads.
pub const MAX_MESSAGE: Bytes = Bytes::mib(256);

/// Turns a checked wire message into something that can be proved.
pub type Decoder = Arc<dyn Fn(&wire::SubmitProofRequest) -> Result<Arc<dyn ProofTask>> + Send + Sync>;

/// The parts an engine runs on.
pub struct Parts {
    /// Where circuits come from.
    pub catalog: Arc<dyn Catalog>,
    /// The prover slots. One at least serves all kinds; slots of different urgency have different pools.
    pub slots: Vec<ProverSlot>,
    /// Turns messages into tasks.
    pub decode: Decoder,
    /// Loads and projects circuits. Where slots differ in urgency it is the pool of none of them: nothing
    /// that is paused may hold up a load.
    pub pool: Arc<rayon::ThreadPool>,
}

/// An accepted request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The engine's name for the job.
    pub job_id: String,
    /// Unfinished requests that will be served before it.
    pub queue_position: u32,
}

/// What a preload did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preloaded {
    /// It was in memory before.
    pub already_loaded: bool,
    /// How long loading took.
    pub load_time: Duration,
}

/// What an eviction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// It was in memory.
    pub was_loaded: bool,
    /// Bytes given back.
    pub freed: Bytes,
}

/// How to shut down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Accept nothing more, finish what was accepted.
    Drain,
    /// End every job as cancelled, wait only for steps that cannot be interrupted.
    Abort,
}

/// A running prover. Shared as `Arc`; every method may be called from any thread.
pub struct Engine {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    own: Vec<ThreadId>,
    door: door::Gate,
    /// Tag of this engine's job names: a name of an earlier engine is unknown to this one.
    tag: u32,
}

impl Engine {
    /// Opens an engine on the real parts: this library's core and Filecoin's circuits.
    pub fn open(config: Config) -> Result<Arc<Engine>> {
        config.validate()?;
        let parts = open::real_parts(&config)?;
        Engine::with_parts(config, parts)
    }

    /// Opens an engine on given parts.
    pub fn with_parts(config: Config, parts: Parts) -> Result<Arc<Engine>> {
        config.validate()?;
        open::start(config, parts)
    }

    /// Takes a serialized `SubmitProofRequest` of at most [`MAX_MESSAGE`]. The same request again, while it
    /// is unfinished or its proof is kept, is the same job.
    ///
    /// `InvalidRequest`: it does not decode or its parts do not fit together; `DuplicateRequest`: its id is
    /// in use with other content; `Busy`: too many are unfinished, with a hint when to retry;
    /// `BudgetExceeded`: it can never fit, with need and limit; `ParametersMissing`; `Closed`.
    pub fn submit(&self, message: &[u8]) -> Result<Submitted> {
        self.take(message)
    }

    /// Waits for a job's answer; without one after `timeout` (`None`: for ever) its status is `TIMEOUT`.
    pub fn wait(&self, job_id: &str, timeout: Option<Duration>) -> Result<wire::AwaitProofResponse> {
        Ok(self.shared.registry.find(job_id)?.wait(timeout))
    }

    /// A job's answer, or status `UNKNOWN` while it is unfinished.
    pub fn poll(&self, job_id: &str) -> Result<wire::AwaitProofResponse> {
        Ok(self.shared.registry.find(job_id)?.poll(Answer::Unknown))
    }

    /// Has `watcher` called with the job's answer, once: now where there is one, else from the thread that
    /// answers, which it must not block. An engine that shuts down answers every job.
    pub fn when_answered(
        &self,
        job_id: &str,
        watcher: impl FnOnce(wire::AwaitProofResponse) + Send + 'static,
    ) -> Result<()> {
        self.shared.registry.find(job_id)?.watch(Box::new(watcher));
        Ok(())
    }

    /// Ends a job as cancelled; false where it had ended before.
    pub fn cancel(&self, job_id: &str) -> Result<bool> {
        let entry = self.shared.registry.find(job_id)?;
        if entry.is_answered() {
            return Ok(false);
        }
        self.shared.send(Message::Event(Event::Cancelled { job: entry.identity.id }))?;
        Ok(true)
    }

    /// How many more requests of a kind would be accepted now without making an earlier one wait longer
    /// for memory.
    pub fn headroom(&self, kind: ProofKind) -> u32 {
        if !self.shared.config.kinds.contains(&kind) {
            return 0;
        }
        let headroom = self.shared.ask(move |scheduler, _| scheduler.headroom(kind));
        headroom.map_or(0, |n| u32::try_from(n).unwrap_or(u32::MAX))
    }

    /// Loads a circuit ahead of its first proof.
    pub fn preload(&self, circuit: CircuitId) -> Result<Preloaded> {
        let started = std::time::Instant::now();
        let already_loaded = self.shared.preload(circuit)?;
        Ok(Preloaded { already_loaded, load_time: started.elapsed() })
    }

    /// A circuit's projected sizes; may compile its matrices on first use.
    pub fn footprint(&self, circuit: CircuitId) -> Result<Footprint> {
        Ok(self.shared.projection(circuit)?.footprint)
    }

    /// The circuits of the enabled kinds whose parameters are there, with their sizes where they are known. Looks
    /// at the parameter folders; loads and compiles nothing.
    pub fn available(&self) -> Vec<(CircuitId, Option<Footprint>)> {
        let shared = &self.shared;
        let enabled = CircuitId::all().filter(|circuit| shared.config.kinds.contains(&circuit.kind));
        let there = enabled.filter(|circuit| shared.catalog.available(*circuit).is_ok());
        there.map(|circuit| (circuit, shared.known(circuit))).collect()
    }

    /// Gives an idle circuit's memory back; `Busy` while it is in use.
    pub fn evict(&self, circuit: CircuitId) -> Result<Evicted> {
        let (reply, answer) = bounded(1);
        self.shared.send(Message::Evict { circuit, reply })?;
        let freed = answer.recv().map_err(|_| closed())??;
        Ok(Evicted { was_loaded: freed.is_some(), freed: freed.unwrap_or_default() })
    }

    /// Changes `memory.limit` while the engine runs. What is promised stays promised; nothing new is until it
    /// fits. A limit above the one that the engine was opened with counts as that one.
    pub fn set_memory_limit(&self, limit: Bytes) -> Result<()> {
        if limit <= self.shared.config.memory_margin {
            let text = format!(
                "a limit of {limit} is not above memory.margin ({})",
                self.shared.config.memory_margin
            );
            return Err(Error::new(Code::InvalidArgument, text));
        }
        *lock(&self.shared.limit) = Some(limit);
        let observation = lock(&self.shared.observed).clone();
        self.shared.send(Message::Observed(Box::new(observation)))
    }

    /// A snapshot.
    pub fn status(&self) -> Status {
        snapshot::status(&self.shared)
    }

    /// One job's facts, running or kept.
    pub fn report(&self, job_id: &str) -> Option<JobReport> {
        Some(self.shared.registry.find(job_id).ok()?.report())
    }

    /// Every metric as Prometheus text.
    pub fn metrics(&self) -> String {
        scrape::metrics(&self.shared)
    }

    /// Called after every answer, from a thread of the engine; must not block. Replaces an earlier hook.
    pub fn on_completion(&self, hook: Arc<dyn Fn() + Send + Sync>) {
        *lock(&self.shared.hook) = Some(hook);
    }

    /// Stops the engine: every job gets its answer, every waiter wakes, and the call returns when the
    /// threads have ended. Steps that cannot be interrupted are waited for. May be called again, also to
    /// abort while another thread drains. On a thread of this engine, such as in its hook, the call only begins
    /// it and does not wait.
    pub fn shutdown(&self, mode: Shutdown) {
        let event = match mode {
            Shutdown::Drain => Event::Drain,
            Shutdown::Abort => Event::Shutdown,
        };
        // Where nobody listens any more the engine is stopped already.
        let _ = self.shared.send(Message::Event(event));
        if self.own.contains(&std::thread::current().id()) {
            return;
        }
        let mut threads = lock(&self.threads);
        for thread in threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the engine ended in a panic");
            }
        }
        for entry in self.shared.registry.unanswered() {
            entry.admit(Err(closed()));
            entry.answer(Answer::Cancelled, Vec::new(), Some(closed().to_string()));
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shutdown(Shutdown::Abort);
    }
}
