//! The way of a partition through synthesis, slot and finishing.

use super::contract::{Action, JobId, Outcome};
use super::job::{State, WRONG_PROOFS};
#[cfg(test)]
use super::mutation::Mutation;
use super::scheduler::{Claimed, Scheduler};
use super::slots::Ask;
use crate::error::Result;
use crate::kind::Urgency;
use crate::memory::{ClaimId, Class, Demand, Stage};
use crate::units::Bytes;

impl Scheduler {
    pub(super) fn synthesized(
        &mut self,
        job: JobId,
        partition: usize,
        bytes: Bytes,
        actions: &mut Vec<Action>,
    ) -> Result<()> {
        self.synthesizing.remove(&(job, partition));
        let Some(entry) = self.jobs.get_mut(&job) else { return Ok(()) };
        let (key, id) = (entry.key, entry.circuit);
        let Some(part) = entry.part_in(partition, State::Synthesizing) else { return Ok(()) };
        part.state = State::Queued;
        if let Some(claim) = part.witness {
            let promised = self.ledger.held(claim).map_or(Bytes::ZERO, |held| held.total());
            self.ledger.correct(claim, Demand::of(Stage::Queued, Class::Witness, bytes))?;
            let circuit = self.circuit_mut(id)?;
            circuit.held = circuit.held.saturating_add(bytes).saturating_sub(promised);
            if circuit.measured_witness(bytes) {
                self.corrected(id, actions)?;
            }
        }
        #[cfg(test)]
        self.return_permit_early(job, partition)?;
        self.queued.insert((key, partition));
        Ok(())
    }

    /// Each free slot takes the first partition that may run on it and has memory there.
    pub(super) fn fill_slots(&mut self, actions: &mut Vec<Action>) -> Result<()> {
        for slot in self.slots.free() {
            let ready: Vec<_> = self
                .queued
                .iter()
                .filter(|(key, partition)| self.may_run(slot, key.job, *partition))
                .copied()
                .collect();
            for (key, partition) in ready {
                let job = key.job;
                let Some(turn) = self.take_turn(slot, job, partition)? else { continue };
                self.queued.remove(&(key, partition));
                actions.push(if self.exhausted(job, partition) {
                    Action::Diagnose { job, partition, slot, turn }
                } else {
                    Action::Prove { job, partition, slot, turn }
                });
                break;
            }
        }
        Ok(())
    }

    fn may_run(&self, slot: usize, job: JobId, partition: usize) -> bool {
        let Some(entry) = self.jobs.get(&job) else { return false };
        let only_cpu = entry.parts.get(partition).is_some_and(|part| part.only_cpu);
        #[cfg(test)]
        if self.mutated(Mutation::LaneForAll) {
            return self.residency.is_resident(entry.circuit);
        }
        self.slots.takes(slot, entry.key.urgency)
            && self.residency.is_resident(entry.circuit)
            && (!only_cpu || self.slots.is_cpu(slot))
    }

    fn take_turn(&mut self, slot: usize, job: JobId, partition: usize) -> Result<Option<ClaimId>> {
        let Some(entry) = self.jobs.get(&job) else { return Ok(None) };
        let (id, urgency) = (entry.circuit, entry.key.urgency);
        let circuit = self.circuit(id)?;
        let (bytes, device) = (circuit.turn(slot), circuit.device(slot));
        let home = self.slots.home(urgency) == slot;
        let mut kept = self.kept_back(id)?;
        if !home && urgency == Urgency::Patient {
            kept = kept.saturating_add(self.kept_from_slot(id, slot)?);
        }
        let ask = Ask { slot, job, partition, bytes, device, kept };
        let Some(turn) = self.slots.take(ask, home, &mut self.ledger)? else { return Ok(None) };
        self.claims.insert(turn, Claimed::Turn { circuit: id, slot });
        let held = self.ledger.held(turn).map_or(Bytes::ZERO, |held| held.total());
        let circuit = self.circuit_mut(id)?;
        circuit.held = circuit.held.saturating_add(held);
        let part = self.jobs.get_mut(&job).and_then(|entry| entry.parts.get_mut(partition));
        if let Some(part) = part {
            part.state = State::InSlot;
            part.slot = slot;
            if let Some(claim) = part.witness {
                self.ledger.move_to(claim, Stage::Proving)?;
            }
        }
        Ok(Some(turn))
    }

    /// Whether this partition's proofs failed to verify so often that its witness must be examined.
    fn exhausted(&self, job: JobId, partition: usize) -> bool {
        self.jobs.get(&job).and_then(|j| j.parts.get(partition)).is_some_and(|p| p.wrong >= WRONG_PROOFS)
    }

    /// Whether a partition with a witness, or one that makes it, could use the slot.
    fn is_wanted(&self, slot: usize) -> bool {
        self.queued.iter().any(|(key, _)| self.slots.takes(slot, key.urgency))
            || self.synthesizing.values().any(|urgency| self.slots.takes(slot, *urgency))
    }

    /// The heavy step is over. Where others want the slot and a finishing claim of its own fits, the slot is
    /// free for them; else the turn is kept to the end: nothing is promised twice.
    pub(super) fn slot_done(
        &mut self,
        job: JobId,
        partition: usize,
        actions: &mut Vec<Action>,
    ) -> Result<()> {
        let Some(entry) = self.jobs.get_mut(&job) else { return Ok(()) };
        let id = entry.circuit;
        let Some(part) = entry.part_in(partition, State::InSlot) else { return Ok(()) };
        part.state = State::Finishing;
        let slot = part.slot;
        if let Some(claim) = part.witness {
            self.ledger.move_to(claim, Stage::Finishing)?;
        }
        let circuit = self.circuit(id)?;
        let (bytes, label) = (circuit.finish(slot), circuit.label.clone());
        let mut own = None;
        if self.finishing < self.slots.len()
            && self.is_wanted(slot)
            && self.ledger.fits(bytes.saturating_add(self.kept_back(id)?))
        {
            let demand = Demand::of(Stage::Finishing, Class::WorkingSet, bytes);
            own = self.ledger.claim(&label, demand).ok();
        }
        if let Some(claim) = own {
            self.finishing += 1;
            self.claims.insert(claim, Claimed::Finish { circuit: id, slot });
            let circuit = self.circuit_mut(id)?;
            circuit.held = circuit.held.saturating_add(bytes);
        }
        actions.push(Action::Finish { job, partition, claim: own });
        Ok(())
    }

    pub(super) fn verified(
        &mut self,
        now: u64,
        job: JobId,
        partition: usize,
        actions: &mut Vec<Action>,
    ) -> Result<()> {
        let Some(entry) = self.jobs.get_mut(&job) else { return Ok(()) };
        let Some(part) = entry.part_in(partition, State::Finishing) else { return Ok(()) };
        part.state = State::Verified;
        entry.verified += 1;
        if entry.verified == entry.parts.len() {
            self.end(now, job, Outcome::Proved, actions)?;
        }
        Ok(())
    }

    /// Proved once more, on the processor where there is one for this urgency.
    pub(super) fn not_verified(&mut self, job: JobId, partition: usize) -> Result<()> {
        let Some(entry) = self.jobs.get_mut(&job) else { return Ok(()) };
        let key = entry.key;
        let only_cpu = self.slots.is_cpu(self.slots.home(key.urgency));
        let Some(part) = entry.part_in(partition, State::Finishing) else { return Ok(()) };
        part.state = State::Queued;
        part.wrong += 1;
        part.only_cpu = only_cpu;
        if let Some(claim) = part.witness {
            self.ledger.move_to(claim, Stage::Queued)?;
        }
        self.queued.insert((key, partition));
        Ok(())
    }
}
