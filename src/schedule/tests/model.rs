//! What is in the world of the tests, beside the scheduler.

use crate::kind::{CircuitId, Urgency};
use crate::memory::ClaimId;
use crate::schedule::JobId;
use crate::units::Bytes;

/// What runs outside the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    Load(CircuitId),
    Unload(CircuitId),
    Synthesis(JobId, usize),
    Slot(JobId, usize),
    Diagnosis(JobId, usize),
    Finish(JobId, usize),
}

/// How a piece of work ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    None,
    Fails,
    WrongProof,
    /// It holds half as much again as was projected.
    Oversized,
}

/// What a claim stands for: its name wherever claim numbers must not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Intake(JobId),
    Shared(CircuitId),
    Witness(JobId, usize),
    /// Of a slot.
    Turn(JobId, usize, usize),
    Finish(JobId, usize),
}

/// Where a partition is that has its witness claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Some thread works on it.
    Working,
    /// In a message to the driver.
    Travelling,
    /// With the driver.
    Waiting,
}

/// A partition on its way, as the engine's `Item`.
#[derive(Clone, Debug)]
pub struct Item {
    pub circuit: CircuitId,
    pub witness: ClaimId,
    pub turn: Option<ClaimId>,
    pub finish: Option<ClaimId>,
    pub place: Place,
    pub slot: usize,
    pub wrong: u8,
    /// The heavy step is over; the rest of the proof is not.
    pub started: bool,
    /// It holds on to the circuit's data.
    pub uses_circuit: bool,
    /// Real bytes of the witness and of the working set.
    pub witness_bytes: Bytes,
    pub set: Bytes,
    /// More than was promised, and the scheduler was not told yet.
    pub unreported: bool,
}

impl Item {
    /// Its witness waits for a slot.
    pub fn is_ready(&self) -> bool {
        self.place == Place::Waiting && !self.started
    }
}

/// An accepted request without its answer.
#[derive(Clone, Debug)]
pub struct Request {
    pub key: (Urgency, u64, u64),
    pub circuit: CircuitId,
    pub partitions: usize,
    /// How many were synthesised or are being.
    pub started: usize,
    pub intake: Option<ClaimId>,
    pub intake_bytes: Bytes,
    /// When another request of its urgency first went past it.
    pub passed_since: Option<u64>,
    /// Turns of others that ended, in slots that take it, while it was ready.
    pub turns_waited: usize,
}

impl Request {
    pub fn urgency(&self) -> Urgency {
        self.key.0
    }

    pub fn waits(&self) -> bool {
        self.started < self.partitions
    }
}

/// A circuit's shared data.
#[derive(Clone, Debug)]
pub struct Shared {
    pub claim: ClaimId,
    pub state: Presence,
    pub srs: Bytes,
    pub matrices: Bytes,
    pub idle_since: u64,
    pub unreported: bool,
}

impl Shared {
    /// Nothing of it exists any more; its claim is on the way.
    pub fn free(&mut self) {
        (self.srs, self.matrices) = (Bytes::ZERO, Bytes::ZERO);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    Loading,
    Resident,
    Leaving,
}
