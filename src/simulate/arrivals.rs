//! Where a plan begins: its requests, whether they fit, and the slots they are for.

use std::sync::Arc;

use super::mix::Entry;
use super::scenario::Scenario;
use crate::error::{Code, Error, Result};
use crate::kind::Urgency;
use crate::schedule::{Costs, SlotSettings};
use crate::units::Bytes;

/// Requests of one kind that have not come yet.
pub(super) struct Source {
    pub entry: Entry,
    /// The projection of their circuit.
    pub costs: Arc<Costs>,
    /// How many have come.
    pub come: usize,
    /// How many of these have no answer.
    pub unfinished: usize,
}

impl Source {
    /// When the next one comes; `None`: not before another of its kind has ended, or never.
    pub fn next(&self, queued: usize) -> Option<f64> {
        if self.come == self.entry.count {
            return None;
        }
        match self.entry.every {
            Some(every) => Some(every * self.come as f64),
            None if self.unfinished < queued => Some(0.0),
            None => None,
        }
    }
}

/// Without a device the slots that an engine makes; with devices their slots in turns, so that the first of each
/// come before the second of any.
pub(super) fn slots(scenario: &Scenario) -> Vec<SlotSettings> {
    match scenario.devices {
        0 => vec![
            SlotSettings::CPU,
            SlotSettings::cpu_lane(Urgency::Urgent),
            SlotSettings::cpu_lane(Urgency::Critical),
        ],
        devices => vec![SlotSettings::device(Bytes(u64::MAX)); devices * scenario.slots],
    }
}

/// Whether one partition of a circuit fits; what would fit, where it does not.
pub(super) fn fits(costs: &Costs, intake: Bytes, memory: Bytes) -> Result<()> {
    let turn = costs.turn(0);
    let sum = [costs.residency(), costs.witness, turn, intake];
    let need = sum.into_iter().fold(Bytes::ZERO, Bytes::saturating_add);
    if need <= memory {
        return Ok(());
    }
    Err(Error::new(
        Code::BudgetExceeded,
        format!(
            "{} does not fit into {memory}: one partition needs {need} (SRS {}, matrices {}, witness {}, prover slot {turn}, request \
             {intake}); it fits with {need} or more for forebay",
            costs.circuit, costs.srs, costs.matrices, costs.witness
        ),
    ))
}
