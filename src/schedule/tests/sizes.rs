//! The circuits and settings of the tests: a few bytes each, in the proportions of the real ones.

use std::sync::Arc;

use crate::kind::{CircuitId, ProofKind};
use crate::schedule::{Costs, Settings, SlotCost, SlotKind, SlotSettings};
use crate::units::Bytes;

pub fn circuit(kind: ProofKind) -> CircuitId {
    CircuitId::new(kind, 2048).unwrap()
}

pub fn costs(kind: ProofKind, slots: usize) -> Arc<Costs> {
    let (witness, shared, start) = match kind {
        ProofKind::WinningPost => (2, 5, 4),
        ProofKind::WindowPost => (1, 3, 2),
        ProofKind::PorepC2 => (5, 30, 20),
        ProofKind::SnapUpdate => (4, 20, 15),
    };
    let slot = SlotCost { start: Bytes(start), finish: Bytes(start / 3), device: Bytes::ZERO };
    Arc::new(Costs {
        circuit: circuit(kind),
        witness: Bytes(witness),
        matrices: Bytes(1),
        srs: Bytes(shared - 1),
        slots: vec![slot; slots],
    })
}

/// The costs of every kind.
pub fn all(slots: usize) -> Vec<Arc<Costs>> {
    ProofKind::ALL.into_iter().map(|kind| costs(kind, slots)).collect()
}

pub fn settings(budget: u64, slots: &[SlotKind]) -> Settings {
    let slot = |kind: &SlotKind| match kind {
        SlotKind::Cpu => SlotSettings::CPU,
        SlotKind::Device => SlotSettings::device(Bytes(u64::MAX)),
    };
    Settings {
        budget: Bytes(budget),
        ceiling: Bytes(budget),
        workers: 2,
        urgent_workers: 1,
        ahead: 6,
        slots: slots.iter().map(slot).collect(),
        max_requests: 100,
        max_intake: Bytes(64),
        patience: 1000,
        min_idle: 0,
        pinned: Default::default(),
        factors: Default::default(),
    }
}
