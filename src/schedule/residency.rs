//! Which circuits are in memory, who uses them, and which may leave.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::circuit::{Circuit, Presence, Ratios};
use super::contract::{Costs, Factors};
use crate::kind::{CircuitId, Urgency};
use crate::memory::Ledger;
use crate::units::Bytes;

/// One circuit, for status and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CircuitView {
    /// Which.
    pub circuit: CircuitId,
    /// `absent`, `loading`, `resident` or `leaving`.
    pub state: &'static str,
    /// Bytes promised for its SRS and matrices.
    pub bytes: Bytes,
    /// Partitions that use it.
    pub users: usize,
    /// It is never evicted to make room.
    pub pinned: bool,
    /// Measured over projected memory.
    pub ratios: Ratios,
    /// What its projections are multiplied by.
    pub factors: Factors,
}

/// An idle circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Idle {
    pub since: u64,
    pub circuit: CircuitId,
    pub bytes: Bytes,
}

/// Every circuit that the scheduler has heard of; a handful.
#[derive(Clone, Debug)]
pub(super) struct Residency {
    circuits: BTreeMap<CircuitId, Circuit>,
    pinned: BTreeSet<CircuitId>,
    factors: BTreeMap<CircuitId, Factors>,
}

impl Residency {
    pub fn new(pinned: BTreeSet<CircuitId>, factors: BTreeMap<CircuitId, Factors>) -> Residency {
        Residency { circuits: BTreeMap::new(), pinned, factors }
    }

    /// The circuit's entry, with its newest projection.
    pub fn learn(&mut self, costs: &Arc<Costs>) -> &mut Circuit {
        let id = costs.circuit;
        let (pinned, factors) = (&self.pinned, &self.factors);
        let circuit = self.circuits.entry(id).or_insert_with(|| {
            Circuit::new(costs, factors.get(&id).copied().unwrap_or_default(), pinned.contains(&id))
        });
        circuit.learn(costs);
        circuit
    }

    pub fn get(&self, id: CircuitId) -> Option<&Circuit> {
        self.circuits.get(&id)
    }

    pub fn get_mut(&mut self, id: CircuitId) -> Option<&mut Circuit> {
        self.circuits.get_mut(&id)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Circuit> {
        self.circuits.values()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Circuit> {
        self.circuits.values_mut()
    }

    pub fn is_resident(&self, id: CircuitId) -> bool {
        self.get(id).is_some_and(Circuit::is_resident)
    }

    /// Open witness claims of circuits of this urgency.
    pub fn users_of(&self, urgency: Urgency) -> usize {
        self.iter().filter(|c| c.urgency() == urgency).map(|c| c.users).sum()
    }

    /// Idle circuits that may leave for one of `urgency`, the longest idle first. Circuits that room is kept
    /// for stay: what they give back would be kept for them.
    pub fn idle(&self, keep: Option<CircuitId>, urgency: Urgency, ledger: &Ledger) -> Vec<Idle> {
        let mut idle: Vec<_> = self
            .iter()
            .filter(|c| Some(c.id()) != keep && !c.pinned && !(c.known && c.urgency() < urgency))
            .filter_map(|c| Some(Idle { since: c.idle_since()?, circuit: c.id(), bytes: booked(c, ledger) }))
            .collect();
        idle.sort();
        idle
    }

    /// Bytes on their way out.
    pub fn leaving(&self, ledger: &Ledger) -> Bytes {
        self.iter()
            .filter(|c| matches!(c.presence, Presence::Leaving { .. }))
            .fold(Bytes::ZERO, |sum, c| sum.saturating_add(booked(c, ledger)))
    }

    /// Whether any circuit is being loaded or dropped.
    pub fn moving(&self) -> bool {
        self.iter().any(|c| matches!(c.presence, Presence::Loading { .. } | Presence::Leaving { .. }))
    }

    /// Open witness claims of all circuits.
    pub fn users(&self) -> usize {
        self.iter().map(|c| c.users).sum()
    }

    /// Bytes of pinned circuits other than `except`, in memory or not.
    pub fn pinned(&self, except: CircuitId) -> Bytes {
        self.iter()
            .filter(|c| c.pinned && c.id() != except)
            .fold(Bytes::ZERO, |sum, c| sum.saturating_add(c.residency()))
    }

    pub fn views(&self, ledger: &Ledger) -> Vec<CircuitView> {
        let state = |presence| match presence {
            Presence::Absent => "absent",
            Presence::Loading { .. } => "loading",
            Presence::Resident { .. } => "resident",
            Presence::Leaving { .. } => "leaving",
        };
        let view = |c: &Circuit| CircuitView {
            circuit: c.id(),
            state: state(c.presence),
            bytes: booked(c, ledger),
            users: c.users,
            pinned: c.pinned,
            ratios: c.ratios,
            factors: c.factors,
        };
        self.iter().map(view).collect()
    }
}

/// Bytes that are promised for a circuit's SRS and matrices.
pub(super) fn booked(circuit: &Circuit, ledger: &Ledger) -> Bytes {
    match circuit.presence {
        Presence::Absent => Bytes::ZERO,
        Presence::Loading { claim, .. } | Presence::Resident { claim, .. } | Presence::Leaving { claim } => {
            ledger.held(claim).map_or(Bytes::ZERO, |demand| demand.total())
        }
    }
}
