//! What travels between the threads. A claim travels with the bytes it stands for, in a guard that is
//! dropped after them.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::Sender;

use super::entry::JobEntry;
use super::lifecycle::{Lifecycle, Passage};
use crate::circuit::Witness;
use crate::error::{Code, Error, Result};
use crate::kind::CircuitId;
use crate::memory::{ClaimId, Count, Meter, Observation};
use crate::prove::{CircuitData, Proof, ProofTask, Started, Step};
use crate::schedule::{Costs, Event, Factors, JobId, Outcome, Scheduler, Submission};
use crate::telemetry::Counter;
use crate::units::Bytes;

/// Booked bytes; dropping it is the event that returns them.
pub(super) struct Claim {
    id: ClaimId,
    returns: Sender<Message>,
}

impl Claim {
    pub fn new(id: ClaimId, returns: &Sender<Message>) -> Claim {
        Claim { id, returns: returns.clone() }
    }

    pub fn id(&self) -> ClaimId {
        self.id
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // The receiver is gone only once the scheduler is.
        let _ = self.returns.send(Message::Event(Event::ClaimDropped { claim: self.id }));
    }
}

/// The heap that a decoded request holds: counted where it exists, and booked.
pub(super) struct Intake {
    _count: Count,
    _claim: Claim,
}

impl Intake {
    pub fn new(count: Count, claim: Claim) -> Intake {
        Intake { _count: count, _claim: claim }
    }
}

/// A partition on its way. Fields drop in this order: memory first, its claims after it.
pub(super) struct Item {
    pub partition: usize,
    pub entry: Arc<JobEntry>,
    pub task: Arc<dyn ProofTask>,
    pub witness: Option<Witness>,
    pub started: Option<Started>,
    pub circuit: Option<CircuitData>,
    /// The slot of its last turn.
    pub slot: usize,
    /// The devices that made its proofs so far.
    pub devices: Vec<String>,
    /// Held in a slot, or to the end of finishing where that has no claim of its own.
    pub turn: Option<Claim>,
    pub finishing: Option<Claim>,
    /// The request exists as long as an item that works on it.
    pub _intake: Option<Arc<Intake>>,
    /// Held last and for the whole way; dropped when the item is.
    pub _witness_claim: Claim,
}

impl Item {
    pub fn job(&self) -> JobId {
        self.entry.identity.id
    }

    pub fn witness(&self) -> Result<&Witness> {
        self.witness.as_ref().ok_or_else(|| Error::internal("a partition without its witness"))
    }

    pub fn circuit(&self) -> Result<&CircuitData> {
        self.circuit.as_ref().ok_or_else(|| Error::internal("a partition without its circuit"))
    }

    /// What a step on it works with.
    pub fn step<'a>(&'a self, meter: &'a Meter) -> Result<Step<'a>> {
        Ok(Step { circuit: self.circuit()?, witness: self.witness()?, cancel: &self.entry.cancel, meter })
    }
}

/// A request on its way through the door.
pub(super) struct Door {
    pub entry: Arc<JobEntry>,
    pub task: Arc<dyn ProofTask>,
    pub submission: Submission,
}

impl Drop for Door {
    /// A request that nobody took in is answered all the same.
    fn drop(&mut self) {
        self.entry.admit(Err(Error::new(Code::Closed, "the engine is closed")));
    }
}

/// A question to the scheduler's thread.
pub(super) type Query = Box<dyn FnOnce(&Scheduler, &Lifecycle) + Send>;

/// Everything that the scheduler's thread is told.
pub(super) enum Message {
    Event(Event),
    Submit(Box<Door>),
    Synthesized(Box<Item>),
    Started(Box<Item>),
    Proved {
        job: JobId,
        partition: usize,
        proof: Box<Proof>,
    },
    NotVerified(Box<Item>),
    /// A partition took a step that no other message tells of in time.
    Passed {
        job: JobId,
        partition: usize,
        passage: Passage,
    },
    Loaded {
        circuit: CircuitId,
        data: Box<CircuitData>,
        claim: Claim,
        took: Duration,
    },
    /// What machine and control groups leave now.
    Observed(Box<Observation>),
    Preload {
        costs: Arc<Costs>,
        reply: Sender<Result<bool>>,
    },
    Evict {
        circuit: CircuitId,
        reply: Sender<Result<Option<Bytes>>>,
    },
    Query(Query),
}

/// A proof step for a slot.
pub(super) enum Turn {
    Prove(Box<Item>),
    Diagnose(Box<Item>),
}

/// A circuit's shared data in memory, with its claim.
pub(super) struct Resident {
    pub data: CircuitData,
    _claim: Claim,
}

impl Resident {
    pub fn new(data: CircuitData, claim: Claim) -> Resident {
        Resident { data, _claim: claim }
    }
}

/// What takes a while and nobody waits for.
pub(super) enum Chore {
    /// Unmapping large memory.
    Drop(Box<dyn Send>),
    /// Writing the state file.
    Remember(CircuitId, Factors),
}

/// A job's end.
pub(super) struct Ending {
    pub entry: Arc<JobEntry>,
    pub task: Arc<dyn ProofTask>,
    pub outcome: Outcome,
    pub proofs: Vec<Option<Proof>>,
    pub intake: Option<Arc<Intake>>,
}

/// Runs foreign or heavy code: a panic in it is counted and becomes the error of this call alone.
pub(super) fn guarded<T>(panics: &Counter, what: &str, body: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        panics.one();
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".into());
        tracing::error!(what, text, "caught a panic");
        Err(Error::internal(format!("panic in {what}: {text}")))
    })
}
