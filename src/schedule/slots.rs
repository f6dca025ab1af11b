//! The prover slots and the memory they own.

use std::sync::Arc;

use super::contract::{JobId, SlotKind, SlotSettings};
use super::residency::Residency;
use crate::error::Result;
use crate::memory::{ClaimId, Class, Demand, Ledger, Stage};
use crate::units::Bytes;

#[derive(Clone, Debug)]
struct Slot {
    kind: SlotKind,
    label: Arc<str>,
    turn: Option<(ClaimId, JobId, usize)>,
}

/// One slot, for status and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotView {
    /// Bytes promised for its working set.
    pub reserved: Bytes,
    /// The partition it works on.
    pub turn: Option<(JobId, usize)>,
}

/// All slots. The first one's working set, for the largest circuit with admitted partitions, is booked
/// before their witnesses are: a witness that exists always finds its way through that slot. Turns of the
/// other slots are booked from what is free.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    /// What the first slot holds beside its current turn.
    reserve: ClaimId,
}

fn working_set(bytes: Bytes) -> Demand {
    Demand::of(Stage::Proving, Class::WorkingSet, bytes)
}

impl Slots {
    pub fn new(kinds: &[SlotSettings], ledger: &mut Ledger) -> Result<Slots> {
        let slots: Vec<_> = kinds
            .iter()
            .enumerate()
            .map(|(i, slot)| Slot { kind: slot.kind, label: Arc::from(format!("slot {i}")), turn: None })
            .collect();
        let label = slots.first().map_or_else(|| Arc::from("slot"), |slot| slot.label.clone());
        let reserve = ledger.claim(&label, working_set(Bytes::ZERO))?;
        Ok(Slots { slots, reserve })
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// The slot that runs on the processor.
    pub fn cpu(&self) -> Option<usize> {
        self.slots.iter().position(|slot| slot.kind == SlotKind::Cpu)
    }

    /// Free slots, devices first.
    pub fn free(&self) -> Vec<usize> {
        let mut free: Vec<_> = (0..self.slots.len()).filter(|i| self.slots[*i].turn.is_none()).collect();
        free.sort_by_key(|i| self.slots[*i].kind == SlotKind::Cpu);
        free
    }

    pub fn any_busy(&self) -> bool {
        self.slots.iter().any(|slot| slot.turn.is_some())
    }

    fn held(&self, ledger: &Ledger, claim: ClaimId) -> Bytes {
        ledger.held(claim).map_or(Bytes::ZERO, |demand| demand.total())
    }

    fn first_turn(&self, ledger: &Ledger) -> Bytes {
        let turn = self.slots.first().and_then(|slot| slot.turn);
        turn.map_or(Bytes::ZERO, |(claim, ..)| self.held(ledger, claim))
    }

    /// How much the first slot's reservation must grow for a turn of this size.
    pub fn growth(&self, ledger: &Ledger, turn: Bytes) -> Bytes {
        turn.saturating_sub(self.first_turn(ledger).saturating_add(self.held(ledger, self.reserve)))
    }

    /// Grows the first slot's reservation for turns of this size; the caller knows that it fits.
    pub fn grow(&mut self, ledger: &mut Ledger, turn: Bytes) -> Result<()> {
        let growth = self.growth(ledger, turn);
        let reserve = self.held(ledger, self.reserve).saturating_add(growth);
        Ok(ledger.resize(self.reserve, working_set(reserve))??)
    }

    /// Books a turn; `None` where its memory is not free.
    pub fn take(
        &mut self,
        slot: usize,
        (job, partition): (JobId, usize),
        bytes: Bytes,
        ledger: &mut Ledger,
    ) -> Result<Option<ClaimId>> {
        let Some(entry) = self.slots.get(slot) else { return Ok(None) };
        let claim = if slot == 0 {
            let reserve = ledger.held(self.reserve).map_or(Bytes::ZERO, |d| d.total());
            let claim = ledger.claim(&entry.label, working_set(Bytes::ZERO))?;
            let rest = working_set(reserve.saturating_sub(bytes));
            ledger.rebalance((self.reserve, rest), (claim, working_set(bytes.min(reserve))))?;
            claim
        } else {
            match ledger.claim(&entry.label, working_set(bytes)) {
                Ok(claim) => claim,
                Err(_) => return Ok(None),
            }
        };
        self.slots[slot].turn = Some((claim, job, partition));
        Ok(Some(claim))
    }

    /// A turn's memory is free again; the first slot keeps what admitted partitions still need.
    pub fn turn_over(
        &mut self,
        slot: usize,
        claim: ClaimId,
        residency: &Residency,
        ledger: &mut Ledger,
    ) -> Result<()> {
        if slot == 0 {
            let sum = self.held(ledger, self.reserve).saturating_add(self.held(ledger, claim));
            let keep = residency.largest_turn(0).min(sum);
            ledger.rebalance((claim, working_set(Bytes::ZERO)), (self.reserve, working_set(keep)))?;
        }
        ledger.release(claim)?;
        if let Some(entry) = self.slots.get_mut(slot) {
            entry.turn = None;
        }
        Ok(())
    }

    /// Gives back what no admitted partition needs any more.
    pub fn settle(&mut self, residency: &Residency, ledger: &mut Ledger) -> Result<()> {
        let needed = residency.largest_turn(0).saturating_sub(self.first_turn(ledger));
        if needed < self.held(ledger, self.reserve) {
            return Ok(ledger.resize(self.reserve, working_set(needed))??);
        }
        Ok(())
    }

    pub fn views(&self, ledger: &Ledger) -> Vec<SlotView> {
        let reserve = self.held(ledger, self.reserve);
        self.slots
            .iter()
            .enumerate()
            .map(|(i, slot)| {
                let turn = slot.turn.map_or(Bytes::ZERO, |(claim, ..)| self.held(ledger, claim));
                let reserved = if i == 0 { turn.saturating_add(reserve) } else { turn };
                SlotView { reserved, turn: slot.turn.map(|(_, job, partition)| (job, partition)) }
            })
            .collect()
    }
}
