//! The pipeline: threads and channels that run what the pure scheduler decides.

mod config;
mod status;
mod toml_reader;

use std::sync::Arc;
use std::time::Duration;

pub use config::{BackendChoice, Config};
pub use status::{
    CellStatus, CircuitStatus, JobReport, MemoryStatus, ProcessStatus, QueueStatus, SlotStatus, Status,
    Totals, STATUS_VERSION,
};

use crate::error::{Error, Result};
use crate::kind::{CircuitId, ProofKind};
use crate::prove::{Backend, Catalog, ProofTask};
use crate::units::Bytes;
use crate::wire;

/// The longest message that [`Engine::submit`] reads.
pub const MAX_MESSAGE: Bytes = Bytes::mib(256);

/// Turns a checked wire message into something that can be proved.
pub type Decoder = Arc<dyn Fn(&wire::SubmitProofRequest) -> Result<Arc<dyn ProofTask>> + Send + Sync>;

/// The parts an engine runs on.
pub struct Parts {
    /// Where circuits come from.
    pub catalog: Arc<dyn Catalog>,
    /// One prover slot each; the first one's working set is always kept in reserve.
    pub backends: Vec<Arc<dyn Backend>>,
    /// Turns messages into tasks.
    pub decode: Decoder,
    /// The one pool that all heavy work runs on.
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
pub struct Engine {}

impl Engine {
    /// Opens an engine on the real parts.
    pub fn open(config: Config) -> Result<Arc<Engine>> {
        config.validate()?;
        Err(Error::internal("not wired yet"))
    }

    /// Opens an engine on given parts.
    pub fn with_parts(config: Config, parts: Parts) -> Result<Arc<Engine>> {
        config.validate()?;
        let _ = parts;
        Err(Error::internal("not wired yet"))
    }

    /// Takes a serialized `SubmitProofRequest` of at most [`MAX_MESSAGE`].
    pub fn submit(&self, message: &[u8]) -> Result<Submitted> {
        let _ = message;
        Err(Error::internal("not wired yet"))
    }

    /// Waits for a job's answer; without one after `timeout` (`None`: for ever) its status is `TIMEOUT`.
    pub fn wait(&self, job_id: &str, timeout: Option<Duration>) -> Result<wire::AwaitProofResponse> {
        let _ = (job_id, timeout);
        Err(Error::internal("not wired yet"))
    }

    /// A job's answer, or status `UNKNOWN` while it is unfinished.
    pub fn poll(&self, job_id: &str) -> Result<wire::AwaitProofResponse> {
        let _ = job_id;
        Err(Error::internal("not wired yet"))
    }

    /// Ends a job as cancelled; false where it had ended before.
    pub fn cancel(&self, job_id: &str) -> Result<bool> {
        let _ = job_id;
        Err(Error::internal("not wired yet"))
    }

    /// How many more requests of a kind would be accepted now without making an earlier one wait longer
    /// for memory.
    pub fn headroom(&self, kind: ProofKind) -> u32 {
        let _ = kind;
        0
    }

    /// Loads a circuit ahead of its first proof.
    pub fn preload(&self, circuit: CircuitId) -> Result<Preloaded> {
        let _ = circuit;
        Err(Error::internal("not wired yet"))
    }

    /// Gives an idle circuit's memory back; `Busy` while it is in use.
    pub fn evict(&self, circuit: CircuitId) -> Result<Evicted> {
        let _ = circuit;
        Err(Error::internal("not wired yet"))
    }

    /// A snapshot.
    pub fn status(&self) -> Status {
        Status::default()
    }

    /// One job's facts, running or kept.
    pub fn report(&self, job_id: &str) -> Option<JobReport> {
        let _ = job_id;
        None
    }

    /// Every metric as Prometheus text.
    pub fn metrics(&self) -> String {
        String::new()
    }

    /// Called after every answer, from a thread of the engine; must not block.
    pub fn on_completion(&self, hook: Arc<dyn Fn() + Send + Sync>) {
        let _ = hook;
    }

    /// Stops the engine; returns when its threads have ended. A second call waits for the first.
    pub fn shutdown(&self, mode: Shutdown) {
        let _ = mode;
    }
}
