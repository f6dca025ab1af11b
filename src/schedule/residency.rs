//! Which circuits are in memory, who uses them, and which may leave.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::contract::Costs;
use crate::kind::CircuitId;
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

/// One circuit that the scheduler has heard of.
#[derive(Clone, Debug)]
pub(super) struct Circuit {
    pub label: Arc<str>,
    pub costs: Arc<Costs>,
    /// One witness: the projection, or the largest that was measured.
    pub witness: Bytes,
    pub presence: Presence,
    /// Open witness claims.
    pub users: usize,
    /// Unfinished jobs.
    pub jobs: usize,
    /// Partitions of the newest request.
    pub partitions: usize,
    pub preload_asked: bool,
    pub evict_asked: bool,
}

impl Circuit {
    /// What one partition needs when everything else has gone.
    pub fn alone(&self) -> Bytes {
        self.witness.saturating_add(self.costs.residency()).saturating_add(self.costs.turn(0))
    }

    fn idle(&self) -> Option<u64> {
        match self.presence {
            Presence::Resident { idle_since, .. } if self.users == 0 => Some(idle_since),
            _ => None,
        }
    }
}

/// One circuit, for status and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CircuitView {
    /// Which.
    pub circuit: CircuitId,
    /// `loading`, `resident` or `leaving`.
    pub state: &'static str,
    /// Bytes of its SRS and matrices.
    pub bytes: Bytes,
    /// Partitions that use it.
    pub users: usize,
}

/// Every circuit that the scheduler has heard of; a handful.
#[derive(Clone, Debug, Default)]
pub(super) struct Residency {
    circuits: BTreeMap<CircuitId, Circuit>,
}

impl Residency {
    /// The circuit's entry, with its newest projection.
    pub fn learn(&mut self, costs: &Arc<Costs>) -> &mut Circuit {
        let circuit = self.circuits.entry(costs.circuit).or_insert_with(|| Circuit {
            label: Arc::from(costs.circuit.to_string()),
            costs: costs.clone(),
            witness: costs.witness,
            presence: Presence::Absent,
            users: 0,
            jobs: 0,
            partitions: 1,
            preload_asked: false,
            evict_asked: false,
        });
        if circuit.jobs == 0 && circuit.users == 0 && circuit.presence == Presence::Absent {
            circuit.costs = costs.clone();
        }
        circuit.witness = circuit.witness.max(costs.witness);
        circuit
    }

    pub fn get(&self, id: CircuitId) -> Option<&Circuit> {
        self.circuits.get(&id)
    }

    pub fn get_mut(&mut self, id: CircuitId) -> Option<&mut Circuit> {
        self.circuits.get_mut(&id)
    }

    pub fn iter(&self) -> impl Iterator<Item = (CircuitId, &Circuit)> {
        self.circuits.iter().map(|(id, circuit)| (*id, circuit))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (CircuitId, &mut Circuit)> {
        self.circuits.iter_mut().map(|(id, circuit)| (*id, circuit))
    }

    pub fn is_resident(&self, id: CircuitId) -> bool {
        matches!(self.get(id).map(|c| c.presence), Some(Presence::Resident { .. }))
    }

    /// Bytes that the largest circuit with unfinished jobs needs for one partition.
    pub fn largest_alone(&self) -> Bytes {
        self.circuits.values().filter(|c| c.jobs > 0).map(Circuit::alone).max().unwrap_or_default()
    }

    /// The largest turn of a slot among the circuits with open witness claims.
    pub fn largest_turn(&self, slot: usize) -> Bytes {
        self.circuits.values().filter(|c| c.users > 0).map(|c| c.costs.turn(slot)).max().unwrap_or_default()
    }

    /// Idle circuits except `keep`, the longest idle first.
    pub fn idle(&self, keep: Option<CircuitId>) -> Vec<(CircuitId, Bytes)> {
        let mut idle: Vec<_> = self
            .circuits
            .iter()
            .filter(|(id, _)| Some(**id) != keep)
            .filter_map(|(id, c)| Some((c.idle()?, *id, c.costs.residency())))
            .collect();
        idle.sort();
        idle.into_iter().map(|(_, id, bytes)| (id, bytes)).collect()
    }

    /// Bytes on their way out.
    pub fn leaving(&self) -> Bytes {
        self.circuits
            .values()
            .filter(|c| matches!(c.presence, Presence::Leaving { .. }))
            .fold(Bytes::ZERO, |sum, c| sum.saturating_add(c.costs.residency()))
    }

    /// Whether any circuit is being loaded or dropped.
    pub fn moving(&self) -> bool {
        self.circuits
            .values()
            .any(|c| matches!(c.presence, Presence::Loading { .. } | Presence::Leaving { .. }))
    }

    /// Open witness claims of all circuits.
    pub fn users(&self) -> usize {
        self.circuits.values().map(|c| c.users).sum()
    }

    pub fn views(&self) -> Vec<CircuitView> {
        let state = |presence| match presence {
            Presence::Absent => None,
            Presence::Loading { .. } => Some("loading"),
            Presence::Resident { .. } => Some("resident"),
            Presence::Leaving { .. } => Some("leaving"),
        };
        self.circuits
            .iter()
            .filter_map(|(id, c)| {
                let bytes = c.costs.residency();
                Some(CircuitView { circuit: *id, state: state(c.presence)?, bytes, users: c.users })
            })
            .collect()
    }
}
