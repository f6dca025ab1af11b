//! Requests and their partitions.

use super::contract::JobId;
use crate::kind::{CircuitId, Urgency};
use crate::memory::ClaimId;

/// The order in which jobs are served: urgency of the kind, deadline, arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub urgency: Urgency,
    pub deadline: u64,
    pub arrival: u64,
    pub job: JobId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing was claimed for it yet.
    Waiting,
    Synthesizing,
    /// Its witness waits for a slot.
    Queued,
    /// In a slot: the heavy step, or a diagnosis.
    InSlot,
    Finishing,
    Verified,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub state: State,
    pub witness: Option<ClaimId>,
    /// Slot of its last turn.
    pub slot: usize,
    /// Proofs of it that did not verify.
    pub wrong: u8,
    /// Only the processor may prove it again.
    pub only_cpu: bool,
}

/// Proofs of one partition that may fail to verify before its witness is examined.
pub(super) const WRONG_PROOFS: u8 = 2;

#[derive(Clone, Debug)]
pub(super) struct Job {
    pub key: Key,
    pub circuit: CircuitId,
    pub parts: Vec<Part>,
    /// The first partition that nothing was claimed for yet.
    pub next: usize,
    pub verified: usize,
    pub started: bool,
}

impl Job {
    pub fn new(key: Key, circuit: CircuitId, partitions: usize) -> Job {
        let part = Part { state: State::Waiting, witness: None, slot: 0, wrong: 0, only_cpu: false };
        Job { key, circuit, parts: vec![part; partitions], next: 0, verified: 0, started: false }
    }

    /// The partition, where it is in the state that an event about it presumes.
    pub fn part_in(&mut self, partition: usize, state: State) -> Option<&mut Part> {
        self.parts.get_mut(partition).filter(|part| part.state == state)
    }
}
