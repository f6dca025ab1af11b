//! Memory: what is kept for PoSt, who must leave to make room, and what measurements change.

use super::circuit::Circuit;
use super::contract::{Action, Step};
#[cfg(test)]
use super::mutation::Mutation;
use super::residency::Idle;
use super::scheduler::{Claimed, Scheduler};
use crate::error::{Error, Result};
use crate::kind::{CircuitId, Urgency};
use crate::memory::{ClaimId, Class};
use crate::units::Bytes;

impl Scheduler {
    /// What one partition of a circuit needs when everything else has gone.
    pub(super) fn alone(&self, id: CircuitId) -> Result<Bytes> {
        Ok(self.circuit(id)?.alone(self.slots.home(id.kind.urgency())))
    }

    /// The most that one partition needs of this circuit, or of those with unfinished jobs that are at least
    /// so urgent. The intake leaves room for it: any accepted request can be served once all others have
    /// gone, and what sealing needs is no reason to refuse PoSt.
    pub(super) fn largest_beside(&self, id: CircuitId) -> Result<Bytes> {
        let urgency = id.kind.urgency();
        // Pinned circuits never leave.
        let whole = |c: &Circuit| {
            let beside = self.residency.pinned(c.id());
            c.alone(self.slots.home(c.urgency())).saturating_add(beside)
        };
        let circuits = self.residency.iter().filter(|c| c.jobs > 0 && c.urgency() <= urgency);
        Ok(whole(self.circuit(id)?).max(circuits.map(whole).max().unwrap_or_default()))
    }

    /// Whether one partition does not fit into the present budget, whoever leaves.
    pub(super) fn beyond_budget(&self, id: CircuitId) -> Result<bool> {
        let beside = self.ledger.class(Class::Intake).saturating_add(self.residency.pinned(id));
        Ok(self.alone(id)?.saturating_add(beside) > self.ledger.budget())
    }

    /// Bytes that a claim for this circuit must leave free: what more urgent circuits, which may be asked for
    /// at any time, still miss for one partition. Where the budget cannot hold both, the least urgent's part
    /// is given up first.
    pub(super) fn kept_back(&self, id: CircuitId) -> Result<Bytes> {
        #[cfg(test)]
        if self.mutated(Mutation::RoomNotKept) {
            return Ok(Bytes::ZERO);
        }
        let more_urgent: Vec<_> =
            Urgency::ALL.into_iter().filter(|urgency| *urgency < id.kind.urgency()).collect();
        if more_urgent.is_empty() {
            return Ok(Bytes::ZERO);
        }
        let elsewhere = self
            .residency
            .iter()
            .filter(|c| c.pinned && c.id() != id && !(c.known && more_urgent.contains(&c.urgency())))
            .fold(self.ledger.class(Class::Intake), |sum, c| sum.saturating_add(c.residency()));
        let mut whole = self.alone(id)?.saturating_add(elsewhere);
        let mut kept = Bytes::ZERO;
        for urgency in more_urgent {
            whole = whole.saturating_add(self.whole_of(urgency));
            if whole > self.ledger.budget() {
                break;
            }
            let home = self.slots.home(urgency);
            let missing = self.known(urgency).map(|c| c.missing(home)).max();
            kept = kept.saturating_add(missing.unwrap_or_default());
        }
        Ok(kept)
    }

    fn known(&self, urgency: Urgency) -> impl Iterator<Item = &Circuit> {
        self.residency.iter().filter(move |c| c.known && c.urgency() == urgency)
    }

    /// What the known circuits of an urgency need for one partition: the pinned ones are all in memory.
    fn whole_of(&self, urgency: Urgency) -> Bytes {
        let home = self.slots.home(urgency);
        let pinned = self.known(urgency).filter(|c| c.pinned);
        let pinned = pinned.fold(Bytes::ZERO, |sum, c| sum.saturating_add(c.residency()));
        let beside = |c: &Circuit| {
            let whole = c.alone(home).saturating_add(c.intake);
            whole.saturating_sub(if c.pinned { c.residency() } else { Bytes::ZERO })
        };
        let largest = self.known(urgency).map(beside).max();
        pinned.saturating_add(largest.unwrap_or_default())
    }

    /// Sends idle circuits away, the longest idle first, where that lets `need` fit; false where it would
    /// not, and then nobody leaves.
    pub(super) fn make_room(
        &mut self,
        now: u64,
        need: Bytes,
        keep: CircuitId,
        hurry: bool,
        actions: &mut Vec<Action>,
    ) -> bool {
        #[cfg(test)]
        let hurry = hurry || self.mutated(Mutation::EvictedTooSoon);
        let mut soon = self.ledger.free().saturating_add(self.residency.leaving(&self.ledger));
        let mut leave = Vec::new();
        let mut young = None;
        for idle in self.candidates(keep) {
            if soon >= need {
                break;
            }
            soon = soon.saturating_add(idle.bytes);
            let at = idle.since.saturating_add(self.settings.min_idle);
            if !hurry && now < at {
                young = Some(young.map_or(at, |known: u64| known.max(at)));
            }
            leave.push(idle.circuit);
        }
        if soon < need {
            return false;
        }
        match young {
            Some(at) => self.wake_at(at),
            None => leave.into_iter().for_each(|circuit| self.drop_circuit(circuit, actions)),
        }
        true
    }

    /// Idle circuits that may leave for this one. Those that room is kept for are among them only where
    /// nothing else can give memory back.
    fn candidates(&self, keep: CircuitId) -> Vec<Idle> {
        let urgency = if self.anything_moves() { keep.kind.urgency() } else { Urgency::Critical };
        self.residency.idle(Some(keep), urgency, &self.ledger)
    }

    /// Whether anything goes on that gives memory back.
    pub(super) fn anything_moves(&self) -> bool {
        self.residency.moving() || self.residency.users() > 0 || self.slots.any_busy()
    }

    /// Takes note of what may be promised from now on.
    pub(super) fn budget(&mut self, bytes: Bytes, pressed: bool) -> Result<()> {
        #[cfg(test)]
        if self.mutated(Mutation::BudgetNotFollowed) {
            return Ok(());
        }
        self.ledger.set_budget(bytes.min(self.settings.ceiling));
        self.pressed = pressed;
        self.slots.settle(&self.residency, &mut self.ledger)
    }

    /// Where more is promised than may be, idle circuits leave, those that room is kept for last.
    pub(super) fn shrink(&mut self, actions: &mut Vec<Action>) -> Result<()> {
        let over = self.ledger.reserved().saturating_sub(self.ledger.budget());
        if over == Bytes::ZERO {
            return Ok(());
        }
        let mut going = self.residency.leaving(&self.ledger);
        for urgency in [Urgency::Patient, Urgency::Critical] {
            for idle in self.residency.idle(None, urgency, &self.ledger) {
                if going >= over {
                    return Ok(());
                }
                going = going.saturating_add(idle.bytes);
                self.drop_circuit(idle.circuit, actions);
            }
        }
        Ok(())
    }

    /// What a step's working set came to: more than was promised is booked, and remembered for the next.
    pub(super) fn measured(
        &mut self,
        claim: ClaimId,
        step: Step,
        bytes: Bytes,
        actions: &mut Vec<Action>,
    ) -> Result<()> {
        #[cfg(test)]
        if self.mutated(Mutation::OverrunNotBooked) {
            return Ok(());
        }
        let (id, slot, whole_turn) = match self.claims.get(&claim) {
            Some(Claimed::Turn { circuit, slot }) => (*circuit, *slot, true),
            Some(Claimed::Finish { circuit, slot }) => (*circuit, *slot, false),
            _ => return Err(Error::internal(format!("claim {} is no working set", claim.0))),
        };
        if let Some(held) = self.ledger.held(claim).filter(|held| held.total() < bytes) {
            self.ledger.correct(claim, held.with(Class::WorkingSet, bytes))?;
            let circuit = self.circuit_mut(id)?;
            circuit.held = circuit.held.saturating_add(bytes.saturating_sub(held.total()));
        }
        if self.circuit_mut(id)?.measured_step(slot, step, whole_turn, bytes) {
            self.corrected(id, actions)?;
        }
        Ok(())
    }

    pub(super) fn corrected(&self, id: CircuitId, actions: &mut Vec<Action>) -> Result<()> {
        actions.push(Action::Corrected { circuit: id, factors: self.circuit(id)?.factors });
        Ok(())
    }

    /// Bytes of a circuit's partitions have come back.
    pub(super) fn gave_back(&mut self, id: CircuitId, bytes: Bytes) {
        if let Some(circuit) = self.residency.get_mut(id) {
            circuit.held = circuit.held.saturating_sub(bytes);
        }
    }
}
