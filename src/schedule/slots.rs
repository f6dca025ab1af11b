//! The prover slots and the memory they own.

use std::sync::Arc;

use super::circuit::Circuit;
use super::contract::{JobId, SlotKind, SlotSettings};
use super::residency::Residency;
use crate::error::Result;
use crate::kind::Urgency;
use crate::memory::{ClaimId, Class, Demand, Ledger, Stage};
use crate::units::Bytes;

#[derive(Clone, Debug)]
struct Slot {
    settings: SlotSettings,
    label: Arc<str>,
    /// What the slot holds beside its current turn.
    reserve: ClaimId,
    turn: Option<(ClaimId, JobId, usize)>,
}

/// One slot, for status and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotView {
    /// Bytes promised for its working set.
    pub reserved: Bytes,
    /// Bytes promised of its device's memory.
    pub device: Bytes,
    /// The partition it works on.
    pub turn: Option<(JobId, usize)>,
}

/// All slots. A partition's home is the slot that is meant for its urgency; the home's working set, for the
/// largest circuit with admitted partitions, is booked before their witnesses are: a witness that exists
/// always finds its way through its home. The other slots that serve all kinds book theirs as soon as there
/// are partitions enough to fill them and memory is free.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
}

fn working_set(bytes: Bytes) -> Demand {
    Demand::of(Stage::Proving, Class::WorkingSet, bytes)
}

/// A turn that is asked for.
#[derive(Clone, Copy)]
pub(super) struct Ask {
    pub slot: usize,
    pub job: JobId,
    pub partition: usize,
    /// Bytes of the host and of the slot's device.
    pub bytes: Bytes,
    pub device: Bytes,
    /// Bytes that must stay free where the slot's reservation has to grow.
    pub kept: Bytes,
}

impl Slots {
    pub fn new(settings: &[SlotSettings], ledger: &mut Ledger) -> Result<Slots> {
        let mut slots = Vec::with_capacity(settings.len());
        for (i, settings) in settings.iter().enumerate() {
            let label: Arc<str> = Arc::from(format!("slot {i}"));
            let reserve = ledger.claim(&label, working_set(Bytes::ZERO))?;
            slots.push(Slot { settings: *settings, label, reserve, turn: None });
        }
        Ok(Slots { slots })
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn is_cpu(&self, slot: usize) -> bool {
        self.slots.get(slot).is_some_and(|slot| slot.settings.kind == SlotKind::Cpu)
    }

    /// Whether a slot takes work of this urgency.
    pub fn serves(&self, slot: usize, urgency: Urgency) -> bool {
        self.slots.get(slot).is_some_and(|slot| urgency <= slot.settings.serves)
    }

    /// Whether a slot takes turns of this urgency. Where the processor has a lane for just that, its other slots
    /// would only hold memory: the work runs on the lane's threads.
    pub fn takes(&self, slot: usize, urgency: Urgency) -> bool {
        let home = self.home(urgency);
        let exact = |i: usize| self.slots.get(i).is_some_and(|slot| slot.settings.serves == urgency);
        let elsewhere = self.is_cpu(slot) && self.is_cpu(home) && exact(home) && !exact(slot);
        self.serves(slot, urgency) && !elsewhere
    }

    /// The slot that partitions of this urgency can always rely on.
    pub fn home(&self, urgency: Urgency) -> usize {
        let lanes = self.slots.iter().enumerate();
        lanes
            .filter(|(_, slot)| slot.settings.serves != Urgency::Patient && urgency <= slot.settings.serves)
            .min_by_key(|(i, slot)| (slot.settings.serves, *i))
            .map_or(0, |(i, _)| i)
    }

    /// Free slots: devices first, then the lanes that serve least.
    pub fn free(&self) -> impl Iterator<Item = usize> {
        let mut free: Vec<_> = (0..self.slots.len()).filter(|i| self.slots[*i].turn.is_none()).collect();
        free.sort_by_key(|i| (self.is_cpu(*i), self.slots[*i].settings.serves));
        free.into_iter()
    }

    pub fn any_busy(&self) -> bool {
        self.slots.iter().any(|slot| slot.turn.is_some())
    }

    fn held(&self, ledger: &Ledger, claim: ClaimId) -> Bytes {
        ledger.held(claim).map_or(Bytes::ZERO, |demand| demand.total())
    }

    fn reserve(&self, slot: usize, ledger: &Ledger) -> Bytes {
        self.slots.get(slot).map_or(Bytes::ZERO, |slot| self.held(ledger, slot.reserve))
    }

    fn owned(&self, slot: usize, ledger: &Ledger) -> Bytes {
        let turn = self.slots.get(slot).and_then(|slot| slot.turn);
        let turn = turn.map_or(Bytes::ZERO, |(claim, ..)| self.held(ledger, claim));
        turn.saturating_add(self.reserve(slot, ledger))
    }

    /// How much a slot's reservation must grow for a turn of this size.
    pub fn growth(&self, slot: usize, ledger: &Ledger, turn: Bytes) -> Bytes {
        turn.saturating_sub(self.owned(slot, ledger))
    }

    /// Grows a slot's reservation for turns of this size; the caller knows that it fits.
    pub fn grow(&self, slot: usize, ledger: &mut Ledger, turn: Bytes) -> Result<()> {
        let Some(entry) = self.slots.get(slot) else { return Ok(()) };
        let growth = self.growth(slot, ledger, turn);
        let reserve = self.held(ledger, entry.reserve).saturating_add(growth);
        Ok(ledger.resize(entry.reserve, working_set(reserve))??)
    }

    /// The slot that one partition more than `patients` in flight could fill, beside the first.
    pub fn next_patient(&self, patients: usize) -> Option<usize> {
        let mut serving = (1..self.slots.len()).filter(|i| self.serves(*i, Urgency::Patient));
        serving.nth(patients.checked_sub(1)?)
    }

    /// Books a turn out of the slot's reservation; `None` where memory for it is not free.
    pub fn take(&mut self, ask: Ask, home: bool, ledger: &mut Ledger) -> Result<Option<ClaimId>> {
        let Ask { slot, job, partition, bytes, device, kept } = ask;
        let Some(entry) = self.slots.get(slot) else { return Ok(None) };
        let (label, reserve_claim) = (entry.label.clone(), entry.reserve);
        let mut reserve = self.held(ledger, reserve_claim);
        if bytes > reserve {
            if ledger.fits(bytes.saturating_sub(reserve).saturating_add(kept)) {
                ledger.resize(reserve_claim, working_set(bytes))??;
                reserve = bytes;
            } else if !home {
                return Ok(None);
            }
        }
        let Ok(claim) = ledger.claim(&label, working_set(Bytes::ZERO).on_device(slot, device)) else {
            return Ok(None);
        };
        // A home's reservation falls short only where a projection grew after the witness was admitted.
        let turn = working_set(bytes.min(reserve)).on_device(slot, device);
        let rest = working_set(reserve.saturating_sub(bytes));
        ledger.rebalance((reserve_claim, rest), (claim, turn))?;
        self.slots[slot].turn = Some((claim, job, partition));
        Ok(Some(claim))
    }

    /// A turn's memory is free again; the slot keeps what admitted partitions still need.
    pub fn turn_over(
        &mut self,
        slot: usize,
        claim: ClaimId,
        residency: &Residency,
        ledger: &mut Ledger,
    ) -> Result<()> {
        let sum = self.owned(slot, ledger);
        if let Some(entry) = self.slots.get_mut(slot) {
            let gone = working_set(Bytes::ZERO);
            ledger.rebalance((claim, gone), (entry.reserve, working_set(sum)))?;
            entry.turn = None;
        }
        ledger.release(claim)?;
        self.settle(residency, ledger)
    }

    /// What a slot must own for the partitions that count on it.
    fn needed(&self, slot: usize, residency: &Residency, ledger: &Ledger) -> Bytes {
        let beside = slot > 0 && self.serves(slot, Urgency::Patient);
        let patients = residency.users_of(Urgency::Patient);
        let places = (1..=slot).filter(|i| self.serves(*i, Urgency::Patient)).count();
        if beside && (patients <= places || ledger.reserved() > ledger.budget()) {
            return Bytes::ZERO;
        }
        let counts = |c: &&Circuit| {
            c.users > 0 && (beside && c.urgency() == Urgency::Patient || self.home(c.urgency()) == slot)
        };
        residency.iter().filter(counts).map(|c| c.turn(slot)).max().unwrap_or_default()
    }

    /// Gives back what no admitted partition needs any more.
    pub fn settle(&self, residency: &Residency, ledger: &mut Ledger) -> Result<()> {
        for (i, slot) in self.slots.iter().enumerate() {
            let reserve = self.held(ledger, slot.reserve);
            let turn = self.owned(i, ledger).saturating_sub(reserve);
            let needed = self.needed(i, residency, ledger).saturating_sub(turn);
            if needed < reserve {
                ledger.resize(slot.reserve, working_set(needed))??;
            }
        }
        Ok(())
    }

    pub fn views(&self, ledger: &Ledger) -> Vec<SlotView> {
        let view = |(i, slot): (usize, &Slot)| SlotView {
            reserved: self.owned(i, ledger),
            device: ledger.device(i).reserved,
            turn: slot.turn.map(|(_, job, partition)| (job, partition)),
        };
        self.slots.iter().enumerate().map(view).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn post_takes_the_lane_that_is_its_own_and_devices() {
        let device = SlotSettings::device(Bytes(1));
        let [urgent, critical] = [Urgency::Urgent, Urgency::Critical].map(SlotSettings::cpu_lane);
        let taken = |settings: &[SlotSettings], urgency| -> Vec<usize> {
            let mut ledger = Ledger::new(Bytes(1));
            let slots = Slots::new(settings, &mut ledger).unwrap();
            (0..slots.len()).filter(|slot| slots.takes(*slot, urgency)).collect()
        };
        let lanes = [SlotSettings::CPU, device, urgent, critical];
        assert_eq!(taken(&lanes, Urgency::Critical), [1, 3]);
        assert_eq!(taken(&lanes, Urgency::Urgent), [1, 2]);
        assert_eq!(taken(&lanes, Urgency::Patient), [0, 1]);
        assert_eq!(taken(&[SlotSettings::CPU, urgent], Urgency::Critical), [0, 1]);
        assert_eq!(taken(&[SlotSettings::CPU, critical, critical], Urgency::Critical), [1, 2]);
        assert_eq!(taken(&[SlotSettings::CPU], Urgency::Critical), [0]);
    }
}
