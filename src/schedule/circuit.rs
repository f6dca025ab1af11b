//! One circuit that the scheduler has heard of: what it costs, whether it is in memory, who uses it.

use std::sync::Arc;

use super::contract::{Costs, Factors, Step};
use super::wait::Wait;
use crate::kind::{CircuitId, Urgency};
use crate::memory::ClaimId;
use crate::units::Bytes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Absent,
    /// One load is under way; `wanted` is false once nobody waits for it.
    Loading {
        claim: ClaimId,
        wanted: bool,
    },
    Resident {
        claim: ClaimId,
        idle_since: u64,
    },
    /// Dropped or failed; its bytes come back with its claim.
    Leaving {
        claim: ClaimId,
    },
}

/// The largest measured memory over its projection, in thousandths; zero where nothing was measured yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ratios {
    /// Compact witnesses.
    pub witness: u32,
    /// SRS and matrices.
    pub shared: u32,
    /// A slot's working set.
    pub working_set: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Circuit {
    pub label: Arc<str>,
    pub costs: Arc<Costs>,
    pub factors: Factors,
    pub ratios: Ratios,
    pub presence: Presence,
    pub pinned: bool,
    /// Room is kept for it, where it is PoSt's.
    pub known: bool,
    /// Open witness claims.
    pub users: usize,
    /// Unfinished jobs.
    pub jobs: usize,
    /// Partitions of the newest request.
    pub partitions: usize,
    /// The largest of its requests, as decoded.
    pub intake: Bytes,
    /// Bytes that its partitions hold: witnesses, turns and finishing sets.
    pub held: Bytes,
    /// Since when its first waiting partition lacks memory.
    pub blocked_since: Option<u64>,
    /// Why its first waiting partition was not admitted.
    pub wait: Wait,
    pub preload_asked: bool,
    pub evict_asked: bool,
}

/// `bytes` times `thousandths`, rounded up and capped.
fn scaled(bytes: Bytes, thousandths: u32) -> Bytes {
    let product = u128::from(bytes.0) * u128::from(thousandths);
    Bytes(u64::try_from(product.div_ceil(1000)).unwrap_or(u64::MAX))
}

/// Measured over projected in thousandths, rounded up.
fn thousandths(measured: Bytes, projected: Bytes) -> u32 {
    let ratio = (u128::from(measured.0) * 1000).div_ceil(u128::from(projected.0.max(1)));
    u32::try_from(ratio).unwrap_or(u32::MAX)
}

impl Circuit {
    pub fn new(costs: &Arc<Costs>, factors: Factors, pinned: bool) -> Circuit {
        Circuit {
            label: Arc::from(costs.circuit.to_string()),
            costs: costs.clone(),
            factors,
            ratios: Ratios::default(),
            presence: Presence::Absent,
            pinned,
            known: false,
            users: 0,
            jobs: 0,
            partitions: 1,
            intake: Bytes::ZERO,
            held: Bytes::ZERO,
            blocked_since: None,
            wait: Wait::Turn,
            preload_asked: false,
            evict_asked: false,
        }
    }

    /// Takes the newest projection. Where that has grown to what was measured, its factor is no longer needed.
    pub fn learn(&mut self, costs: &Arc<Costs>) {
        let (old, new) = (self.costs.witness, costs.witness);
        if new > old {
            let needed = u128::from(self.factors.witness) * u128::from(old.0);
            let needed = needed.div_ceil(u128::from(new.0)).max(1000);
            self.factors.witness = u32::try_from(needed).unwrap_or(self.factors.witness);
        }
        self.costs = costs.clone();
    }

    pub fn id(&self) -> CircuitId {
        self.costs.circuit
    }

    pub fn urgency(&self) -> Urgency {
        self.id().kind.urgency()
    }

    /// One witness.
    pub fn witness(&self) -> Bytes {
        scaled(self.costs.witness, self.factors.witness)
    }

    /// SRS and matrices.
    pub fn shared(&self) -> (Bytes, Bytes) {
        let factor = self.factors.shared;
        (scaled(self.costs.srs, factor), scaled(self.costs.matrices, factor))
    }

    /// SRS and matrices together.
    pub fn residency(&self) -> Bytes {
        let (srs, matrices) = self.shared();
        srs.saturating_add(matrices)
    }

    /// A whole turn of a slot.
    pub fn turn(&self, slot: usize) -> Bytes {
        scaled(self.costs.turn(slot), self.factors.working_set)
    }

    /// The rest of a proof after the turn of a slot.
    pub fn finish(&self, slot: usize) -> Bytes {
        let finish = self.costs.slots.get(slot).map_or(Bytes::ZERO, |cost| cost.finish);
        scaled(finish, self.factors.working_set)
    }

    /// Memory of the slot's device for a turn.
    pub fn device(&self, slot: usize) -> Bytes {
        self.costs.slots.get(slot).map_or(Bytes::ZERO, |cost| cost.device)
    }

    /// What one partition needs when everything else has gone, with turns of this slot.
    pub fn alone(&self, slot: usize) -> Bytes {
        self.witness().saturating_add(self.residency()).saturating_add(self.turn(slot))
    }

    /// What is missing for a request of one partition.
    pub fn missing(&self, slot: usize) -> Bytes {
        let intake = if self.jobs == 0 { self.intake } else { Bytes::ZERO };
        let partition = self.witness().saturating_add(self.turn(slot)).saturating_sub(self.held);
        let partition = partition.saturating_add(intake);
        match self.presence {
            Presence::Resident { .. } | Presence::Loading { wanted: true, .. } => partition,
            _ => partition.saturating_add(self.residency()),
        }
    }

    pub fn is_resident(&self) -> bool {
        matches!(self.presence, Presence::Resident { .. })
    }

    /// Since when nobody uses it, where it is in memory.
    pub fn idle_since(&self) -> Option<u64> {
        match self.presence {
            Presence::Resident { idle_since, .. } if self.users == 0 => Some(idle_since),
            _ => None,
        }
    }

    /// Hears what a witness came to; true where the factor rose.
    pub fn measured_witness(&mut self, bytes: Bytes) -> bool {
        let ratio = thousandths(bytes, self.costs.witness);
        raise(ratio, &mut self.ratios.witness, &mut self.factors.witness)
    }

    /// Hears what SRS and matrices came to; true where the factor rose.
    pub fn measured_shared(&mut self, bytes: Bytes) -> bool {
        let ratio = thousandths(bytes, self.costs.residency());
        raise(ratio, &mut self.ratios.shared, &mut self.factors.shared)
    }

    /// Hears what a step of a slot came to, of a whole turn or of a finishing claim; true where the factor
    /// rose.
    pub fn measured_step(&mut self, slot: usize, step: Step, whole_turn: bool, bytes: Bytes) -> bool {
        let cost = self.costs.slots.get(slot).copied().unwrap_or_default();
        let projected = match step {
            Step::Finish if !whole_turn => cost.finish,
            _ => cost.turn(),
        };
        let ratio = thousandths(bytes, projected);
        raise(ratio, &mut self.ratios.working_set, &mut self.factors.working_set)
    }
}

fn raise(ratio: u32, largest: &mut u32, factor: &mut u32) -> bool {
    *largest = ratio.max(*largest);
    let needed = ratio.min(Factors::LARGEST);
    let rises = needed > *factor;
    *factor = needed.max(*factor);
    rises
}
