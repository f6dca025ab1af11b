//! Admission: which partition's witness is made next, and with what memory.

use super::circuit::Presence;
use super::contract::{Action, Outcome, Settings};
use super::job::{Key, State};
#[cfg(test)]
use super::mutation::Mutation;
use super::scheduler::{Claimed, Scheduler};
use super::wait::Wait;
use crate::error::{Error, Result};
use crate::kind::{CircuitId, Urgency};
use crate::memory::{Class, Demand, Stage};
use crate::units::Bytes;

/// What became of the first waiting partition of a circuit.
pub(super) enum Step {
    Admitted,
    /// Nothing that memory could change keeps it out, or not under this budget.
    NotNow(Wait),
    /// Memory must come back first.
    Blocked(Wait),
    /// The job was ended: it can never be admitted.
    Ended,
}

impl Scheduler {
    pub(super) fn advance(&mut self, now: u64, actions: &mut Vec<Action>) -> Result<()> {
        self.wake = None;
        self.shrink(actions)?;
        self.fill_slots(actions)?;
        while self.admit_first(now, actions)? {}
        self.answer_preloads(now, actions)?;
        if self.draining && self.jobs.is_empty() {
            self.drop_idle(actions);
        }
        Ok(())
    }

    /// Looks at the first waiting partition of each circuit, in their order, until one is admitted; false
    /// where none can be.
    fn admit_first(&mut self, now: u64, actions: &mut Vec<Action>) -> Result<bool> {
        let mut heads: Vec<_> =
            self.unstarted.iter().filter_map(|(id, keys)| Some((*keys.first()?, *id))).collect();
        heads.sort_unstable();
        self.blocked = false;
        // The door is closed to work of this urgency and to what is less urgent.
        let mut door: Option<Urgency> = None;
        for (key, id) in heads {
            let step = match door {
                Some(closed) if key.urgency >= closed => Step::NotNow(Wait::Door),
                _ => self.admit(now, key, id, actions)?,
            };
            match step {
                Step::Admitted | Step::Ended => return Ok(true),
                Step::NotNow(wait) => self.circuit_mut(id)?.wait = wait,
                Step::Blocked(wait) => {
                    self.blocked = true;
                    let closed = self.close_door(now, key, id, wait)?;
                    door = door.into_iter().chain(closed).min();
                }
            }
        }
        Ok(false)
    }

    /// Whom a request that waits for memory keeps from passing it.
    fn close_door(&mut self, now: u64, key: Key, id: CircuitId, wait: Wait) -> Result<Option<Urgency>> {
        let patience = self.settings.patience;
        let circuit = self.circuit_mut(id)?;
        circuit.wait = wait;
        let until = circuit.blocked_since.get_or_insert(now).saturating_add(patience);
        if now >= until {
            #[cfg(test)]
            if self.mutated(Mutation::DoorLeftOpen) {
                return Ok(None);
            }
            return Ok(Some(key.urgency));
        }
        self.wake_at(until);
        Ok(Urgency::ALL.into_iter().find(|urgency| *urgency > key.urgency))
    }

    /// Whether this circuit's first waiting partition has waited for memory so long that nothing may pass it.
    fn out_of_patience(&self, now: u64, id: CircuitId) -> bool {
        let since = self.residency.get(id).and_then(|circuit| circuit.blocked_since);
        since.is_some_and(|since| now >= since.saturating_add(self.settings.patience))
    }

    pub(super) fn wake_at(&mut self, at: u64) {
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }

    fn admit(&mut self, now: u64, key: Key, id: CircuitId, actions: &mut Vec<Action>) -> Result<Step> {
        if let Some(wait) = self.held_up(key.urgency) {
            return Ok(Step::NotNow(wait));
        }
        if self.beyond_budget(id)? {
            return self.wait_for_budget(now, key, id, actions);
        }
        let circuit = self.circuit(id)?;
        let load = match circuit.presence {
            Presence::Absent => true,
            Presence::Loading { wanted: true, .. } | Presence::Resident { .. } => false,
            Presence::Loading { wanted: false, .. } | Presence::Leaving { .. } => {
                return Ok(Step::Blocked(Wait::Circuit))
            }
        };
        #[cfg(test)]
        let load = load || self.mutated(Mutation::LoadDoubled) && !circuit.is_resident();
        let home = self.slots.home(key.urgency);
        let (witness, turn) = (circuit.witness(), circuit.turn(home));
        let shared = if load { circuit.residency() } else { Bytes::ZERO };
        let need = witness
            .saturating_add(shared)
            .saturating_add(self.slots.growth(home, &self.ledger, turn))
            .saturating_add(self.kept_back(id)?);
        // Whoever passes another takes nothing that the other waits for but free bytes.
        let passes = self.blocked;
        if passes && (load || !self.ledger.fits(need)) {
            return Ok(Step::Blocked(Wait::Memory));
        }
        if !self.ledger.fits(need) {
            return self.clear_for(now, need, id, key, actions);
        }
        if load {
            self.load(id, actions)?;
        }
        self.slots.grow(home, &mut self.ledger, turn)?;
        self.bring_slot(id)?;
        self.start(key, id, actions)?;
        Ok(Step::Admitted)
    }

    /// A larger budget is waited for, unless none can be large enough: a measurement showed it after the
    /// request was accepted.
    fn wait_for_budget(
        &mut self,
        now: u64,
        key: Key,
        id: CircuitId,
        actions: &mut Vec<Action>,
    ) -> Result<Step> {
        let need = self.alone(id)?.saturating_add(self.residency.pinned(id));
        let more_comes_back = self.anything_moves() || self.intakes > self.jobs.len();
        if need <= self.settings.ceiling && (self.ledger.budget() < self.settings.ceiling || more_comes_back)
        {
            return Ok(Step::NotNow(Wait::Memory));
        }
        let error = Error::from(self.ledger.refusal(need)).at(format!("{id} turned out larger"));
        self.end(now, key.job, Outcome::Failed(error), actions)?;
        Ok(Step::Ended)
    }

    /// Makes room, or finds that there will never be any.
    fn clear_for(
        &mut self,
        now: u64,
        need: Bytes,
        id: CircuitId,
        key: Key,
        actions: &mut Vec<Action>,
    ) -> Result<Step> {
        let hurry = key.urgency < Urgency::Patient || self.out_of_patience(now, id);
        if self.make_room(now, need, id, hurry, actions) || self.anything_moves() {
            return Ok(Step::Blocked(Wait::Memory));
        }
        let refusal = self.ledger.refusal(need);
        self.end(now, key.job, Outcome::Failed(Error::from(refusal).at(id)), actions)?;
        Ok(Step::Ended)
    }

    /// What keeps work of this urgency out, beside memory.
    fn held_up(&self, urgency: Urgency) -> Option<Wait> {
        if !self.worker_free(urgency) {
            return Some(Wait::Worker);
        }
        if self.ahead_of(urgency) >= self.settings.ahead {
            return Some(Wait::Ahead);
        }
        let patient = urgency == Urgency::Patient;
        (patient && self.pressed && self.residency.users_of(urgency) > 0).then_some(Wait::Pressure)
    }

    /// A partition that another slot could work on brings that slot's working set, where it is free.
    fn bring_slot(&mut self, id: CircuitId) -> Result<()> {
        if id.kind.urgency() != Urgency::Patient {
            return Ok(());
        }
        let Some(slot) = self.slots.next_patient(self.residency.users_of(Urgency::Patient)) else {
            return Ok(());
        };
        let circuit = self.circuit(id)?;
        let turn = circuit.turn(slot);
        let beside =
            self.kept_from_slot(id, slot)?.max(circuit.witness()).saturating_add(self.kept_back(id)?);
        let growth = self.slots.growth(slot, &self.ledger, turn);
        if self.ledger.fits(growth.saturating_add(beside)) {
            self.slots.grow(slot, &mut self.ledger, turn)?;
        }
        Ok(())
    }

    /// What sealing's slots beside the home leave free: all witnesses that may be made ahead, and a proof's finish.
    /// A slot that nothing feeds, or whose turns last until their proofs are finished, is worth less than what it
    /// takes from the others.
    pub(super) fn kept_from_slot(&self, id: CircuitId, slot: usize) -> Result<Bytes> {
        let circuit = self.circuit(id)?;
        let ahead = self.settings.ahead.saturating_sub(self.ahead_of(id.kind.urgency()));
        let witnesses = Bytes(circuit.witness().0.saturating_mul(ahead as u64));
        Ok(witnesses.saturating_add(circuit.finish(slot)))
    }

    fn start(&mut self, key: Key, id: CircuitId, actions: &mut Vec<Action>) -> Result<()> {
        let circuit = self.circuit(id)?;
        let demand = Demand::of(Stage::Synthesis, Class::Witness, circuit.witness());
        let label = circuit.label.clone();
        let claim = self.ledger.claim(&label, demand)?;
        self.claims.insert(claim, Claimed::Witness(id));
        let circuit = self.circuit_mut(id)?;
        circuit.users += 1;
        circuit.held = circuit.held.saturating_add(demand.total());
        circuit.blocked_since = None;
        circuit.wait = Wait::Turn;
        let job = self.jobs.get_mut(&key.job).ok_or_else(|| Error::internal("a waiting job is unknown"))?;
        if !std::mem::replace(&mut job.started, true) {
            self.by_kind[id.kind as usize].1 += 1;
        }
        let partition = job.next;
        job.next += 1;
        let all = job.next == job.parts.len();
        if let Some(part) = job.parts.get_mut(partition) {
            part.state = State::Synthesizing;
            part.witness = Some(claim);
        }
        if all {
            self.no_more_to_start(id, &key);
        }
        self.synthesizing.insert((key.job, partition), key.urgency);
        actions.push(Action::Synthesize { job: key.job, partition, claim });
        Ok(())
    }

    /// Sealing has its workers; PoSt has more, of which the last is winning_post's.
    fn worker_free(&self, urgency: Urgency) -> bool {
        let Settings { workers, urgent_workers, .. } = self.settings;
        let busy = |limit: Urgency| self.synthesizing.values().filter(|u| **u >= limit).count();
        let all = workers + urgent_workers;
        match urgency {
            Urgency::Patient => {
                busy(Urgency::Patient) < workers
                    && self.synthesizing.len() < all - usize::from(urgent_workers > 1)
            }
            Urgency::Urgent => {
                busy(Urgency::Urgent) < all - usize::from(urgent_workers > 1) && self.synthesizing.len() < all
            }
            Urgency::Critical => self.synthesizing.len() < all,
        }
    }

    /// Partitions that are served before a new one of this urgency and have no slot yet.
    fn ahead_of(&self, urgency: Urgency) -> usize {
        let queued = self.queued.iter().take_while(|(key, _)| key.urgency <= urgency).count();
        queued + self.synthesizing.values().filter(|u| **u <= urgency).count()
    }
}
