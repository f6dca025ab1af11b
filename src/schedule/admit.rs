//! Admission: which witness goes into a slot, which is made next, and which circuits come and go.

use std::sync::Arc;

use super::contract::{Action, Costs, JobId, Outcome, Settings};
use super::job::{Key, State, FIRST_PATIENT_RANK};
use super::residency::Presence;
use super::scheduler::{Claimed, Scheduler};
use crate::error::{Code, Error, Result};
use crate::kind::CircuitId;
use crate::memory::{Class, Demand, Stage};
use crate::units::Bytes;

/// What became of the first waiting partition.
enum Step {
    Admitted,
    /// No worker, or enough is synthesised ahead.
    Enough,
    /// Memory must come back first.
    Blocked,
    /// The job was ended: it can never be admitted.
    Ended,
}

impl Scheduler {
    pub(super) fn advance(&mut self, now: u64, actions: &mut Vec<Action>) -> Result<()> {
        self.blocked = false;
        self.fill_slots(actions)?;
        while !self.blocked {
            let Some(key) = self.unstarted.first().copied() else { break };
            match self.admit(now, key, actions)? {
                Step::Admitted | Step::Ended => {}
                Step::Enough => break,
                Step::Blocked => self.blocked = true,
            }
        }
        self.answer_preloads(actions)?;
        if self.draining && self.jobs.is_empty() {
            for (circuit, _) in self.residency.idle(None) {
                self.drop_circuit(circuit, actions);
            }
        }
        Ok(())
    }

    fn fill_slots(&mut self, actions: &mut Vec<Action>) -> Result<()> {
        for slot in self.slots.free() {
            let ready =
                self.queued.iter().copied().find(|(key, partition)| self.may_run(slot, key.job, *partition));
            let Some((key, partition)) = ready else { continue };
            let Some(turn) = self.take_turn(slot, key.job, partition)? else { continue };
            self.queued.remove(&(key, partition));
            let job = key.job;
            actions.push(if self.exhausted(job, partition) {
                Action::Diagnose { job, partition, slot, turn }
            } else {
                Action::Prove { job, partition, slot, turn }
            });
        }
        Ok(())
    }

    fn may_run(&self, slot: usize, job: JobId, partition: usize) -> bool {
        let Some(entry) = self.jobs.get(&job) else { return false };
        let only_cpu = entry.parts.get(partition).is_some_and(|part| part.only_cpu);
        self.residency.is_resident(entry.circuit) && (!only_cpu || self.slots.cpu() == Some(slot))
    }

    fn take_turn(
        &mut self,
        slot: usize,
        job: JobId,
        partition: usize,
    ) -> Result<Option<crate::memory::ClaimId>> {
        let Some(entry) = self.jobs.get_mut(&job) else { return Ok(None) };
        let bytes = self.residency.get(entry.circuit).map_or(Bytes::ZERO, |c| c.costs.turn(slot));
        let Some(turn) = self.slots.take(slot, (job, partition), bytes, &mut self.ledger)? else {
            return Ok(None);
        };
        self.claims.insert(turn, Claimed::Turn(slot));
        if let Some(part) = entry.parts.get_mut(partition) {
            part.state = State::InSlot;
            part.slot = slot;
            if let Some(claim) = part.witness {
                self.ledger.move_to(claim, Stage::Proving)?;
            }
        }
        Ok(Some(turn))
    }

    /// The heavy step is over. Where a finishing claim of its own fits, the slot is free for the next
    /// partition; else the turn is kept to the end.
    pub(super) fn slot_done(
        &mut self,
        job: JobId,
        partition: usize,
        actions: &mut Vec<Action>,
    ) -> Result<()> {
        let Some(entry) = self.jobs.get_mut(&job) else { return Ok(()) };
        let Some(circuit) = self.residency.get(entry.circuit) else { return Ok(()) };
        let Some(part) = entry.part_in(partition, State::InSlot) else { return Ok(()) };
        part.state = State::Finishing;
        if let Some(claim) = part.witness {
            self.ledger.move_to(claim, Stage::Finishing)?;
        }
        let bytes = circuit.costs.slots.get(part.slot).map_or(Bytes::ZERO, |cost| cost.finish);
        let mut own = None;
        if self.finishing < self.slots.len() {
            let demand = Demand::of(Stage::Finishing, Class::WorkingSet, bytes);
            own = self.ledger.claim(&circuit.label, demand).ok();
        }
        if let Some(claim) = own {
            self.finishing += 1;
            self.claims.insert(claim, Claimed::Finish);
        }
        actions.push(Action::Finish { job, partition, claim: own });
        Ok(())
    }

    fn admit(&mut self, now: u64, key: Key, actions: &mut Vec<Action>) -> Result<Step> {
        if !self.worker_free(key.rank) || self.ahead_of(key.rank) >= self.settings.ahead {
            return Ok(Step::Enough);
        }
        let Some((id, partition)) = self.jobs.get(&key.job).map(|job| (job.circuit, job.next)) else {
            return Err(Error::internal("a waiting job is unknown"));
        };
        let Some(circuit) = self.residency.get(id) else {
            return Err(Error::internal("a waiting job's circuit is unknown"));
        };
        let load = match circuit.presence {
            Presence::Absent => true,
            Presence::Loading { wanted: true, .. } | Presence::Resident { .. } => false,
            Presence::Loading { wanted: false, .. } | Presence::Leaving { .. } => return Ok(Step::Blocked),
        };
        let shared = if load { circuit.costs.residency() } else { Bytes::ZERO };
        let turn = circuit.costs.turn(0);
        let need =
            circuit.witness.saturating_add(shared).saturating_add(self.slots.growth(&self.ledger, turn));
        if !self.ledger.fits(need) {
            return self.make_room(now, need, Some(id), Some(key.job), actions);
        }
        if load {
            self.load(id, actions)?;
        }
        self.slots.grow(&mut self.ledger, turn)?;
        self.start(key, id, partition, actions)?;
        Ok(Step::Admitted)
    }

    fn start(&mut self, key: Key, id: CircuitId, partition: usize, actions: &mut Vec<Action>) -> Result<()> {
        let unknown = || Error::internal("an admitted job or circuit is unknown");
        let circuit = self.residency.get_mut(id).ok_or_else(unknown)?;
        let demand = Demand::of(Stage::Synthesis, Class::Witness, circuit.witness);
        let claim = self.ledger.claim(&circuit.label, demand)?;
        circuit.users += 1;
        self.claims.insert(claim, Claimed::Witness(id));
        let job = self.jobs.get_mut(&key.job).ok_or_else(unknown)?;
        job.started = true;
        job.next += 1;
        if job.next == job.parts.len() {
            self.unstarted.remove(&key);
        }
        if let Some(part) = job.parts.get_mut(partition) {
            part.state = State::Synthesizing;
            part.witness = Some(claim);
        }
        self.synthesizing.insert((key.job, partition), key.rank);
        actions.push(Action::Synthesize { job: key.job, partition, claim });
        Ok(())
    }

    fn worker_free(&self, rank: u8) -> bool {
        let patient = self.synthesizing.values().filter(|r| **r >= FIRST_PATIENT_RANK).count();
        let all = self.synthesizing.len();
        let Settings { workers, urgent_workers, .. } = self.settings;
        all < workers + urgent_workers && (rank < FIRST_PATIENT_RANK || patient < workers)
    }

    /// Partitions that are served before a new one of this rank and have no slot yet.
    fn ahead_of(&self, rank: u8) -> usize {
        let queued = self.queued.iter().take_while(|(key, _)| key.rank <= rank).count();
        queued + self.synthesizing.values().filter(|r| **r <= rank).count()
    }

    /// Sends idle circuits away, the longest idle first, where that lets `need` fit. Where nothing that
    /// could give memory back is left, `job` is ended: it would wait for ever.
    fn make_room(
        &mut self,
        now: u64,
        need: Bytes,
        keep: Option<CircuitId>,
        job: Option<JobId>,
        actions: &mut Vec<Action>,
    ) -> Result<Step> {
        let mut soon = self.ledger.free().saturating_add(self.residency.leaving());
        let mut leave = Vec::new();
        for (circuit, bytes) in self.residency.idle(keep) {
            if soon >= need {
                break;
            }
            soon = soon.saturating_add(bytes);
            leave.push(circuit);
        }
        if soon >= need {
            for circuit in leave {
                self.drop_circuit(circuit, actions);
            }
            return Ok(Step::Blocked);
        }
        let moving = self.residency.moving() || self.residency.users() > 0 || self.slots.any_busy();
        let Some(job) = job.filter(|_| !moving) else { return Ok(Step::Blocked) };
        let error = Error::from(self.ledger.refusal(need));
        self.end(now, job, Outcome::Failed(error), actions)?;
        Ok(Step::Ended)
    }

    fn load(&mut self, id: CircuitId, actions: &mut Vec<Action>) -> Result<()> {
        let unknown = || Error::internal("a circuit to load is unknown");
        let circuit = self.residency.get_mut(id).ok_or_else(unknown)?;
        let demand = Demand::of(Stage::Shared, Class::Srs, circuit.costs.srs)
            .with(Class::Matrices, circuit.costs.matrices);
        let claim = self.ledger.claim(&circuit.label, demand)?;
        circuit.presence = Presence::Loading { claim, wanted: true };
        self.claims.insert(claim, Claimed::Residency(id));
        actions.push(Action::LoadCircuit { circuit: id, claim });
        Ok(())
    }

    /// Loads that nobody waits for any more are stopped.
    pub(super) fn give_up_loads(&mut self, actions: &mut Vec<Action>) {
        for (id, circuit) in self.residency.iter_mut() {
            if self.closing && std::mem::take(&mut circuit.preload_asked) {
                let error = Error::new(Code::Closed, "the engine is shutting down");
                actions.push(Action::Preloaded { circuit: id, result: Err(error) });
            }
            let Presence::Loading { claim, wanted: true } = circuit.presence else { continue };
            if circuit.jobs == 0 && !circuit.preload_asked {
                circuit.presence = Presence::Loading { claim, wanted: false };
                actions.push(Action::CancelLoad { circuit: id });
            }
        }
    }

    fn drop_circuit(&mut self, id: CircuitId, actions: &mut Vec<Action>) {
        let Some(circuit) = self.residency.get_mut(id) else { return };
        if let Presence::Resident { claim, .. } = circuit.presence {
            circuit.presence = Presence::Leaving { claim };
            actions.push(Action::DropCircuit { circuit: id });
        }
    }

    pub(super) fn circuit_loaded(
        &mut self,
        now: u64,
        id: CircuitId,
        actions: &mut Vec<Action>,
    ) -> Result<()> {
        let Some(circuit) = self.residency.get_mut(id) else { return Ok(()) };
        let Presence::Loading { claim, .. } = circuit.presence else { return Ok(()) };
        circuit.presence = Presence::Resident { claim, idle_since: now };
        if std::mem::take(&mut circuit.preload_asked) {
            actions.push(Action::Preloaded { circuit: id, result: Ok(false) });
        }
        Ok(())
    }

    /// One load failed: every request that waited for it has its error. The next request tries again.
    pub(super) fn load_failed(
        &mut self,
        now: u64,
        id: CircuitId,
        error: Error,
        actions: &mut Vec<Action>,
    ) -> Result<()> {
        let Some(circuit) = self.residency.get_mut(id) else { return Ok(()) };
        let Presence::Loading { claim, wanted } = circuit.presence else { return Ok(()) };
        circuit.presence = Presence::Leaving { claim };
        if !wanted {
            return Ok(());
        }
        if std::mem::take(&mut circuit.preload_asked) {
            actions.push(Action::Preloaded { circuit: id, result: Err(error.clone()) });
        }
        let waiting: Vec<_> = self
            .order
            .iter()
            .map(|key| key.job)
            .filter(|job| self.jobs.get(job).is_some_and(|j| j.circuit == id))
            .collect();
        for job in waiting {
            self.end(now, job, Outcome::Failed(error.clone()), actions)?;
        }
        Ok(())
    }

    pub(super) fn unused(&mut self, now: u64, id: CircuitId) {
        let Some(circuit) = self.residency.get_mut(id) else { return };
        circuit.users = circuit.users.saturating_sub(1);
        if let Presence::Resident { claim, .. } = circuit.presence {
            circuit.presence = Presence::Resident { claim, idle_since: now };
        }
    }

    /// A circuit's bytes have come back.
    pub(super) fn left(&mut self, id: CircuitId, freed: Bytes, actions: &mut Vec<Action>) {
        let Some(circuit) = self.residency.get_mut(id) else { return };
        circuit.presence = Presence::Absent;
        if std::mem::take(&mut circuit.evict_asked) {
            actions.push(Action::Evicted { circuit: id, result: Ok(Some(freed)) });
        }
    }

    pub(super) fn preload(&mut self, costs: &Arc<Costs>, actions: &mut Vec<Action>) -> Result<()> {
        let id = costs.circuit;
        if self.draining {
            let error = Error::new(Code::Closed, "the engine is shutting down");
            actions.push(Action::Preloaded { circuit: id, result: Err(error) });
            return Ok(());
        }
        let circuit = self.residency.learn(costs);
        if matches!(circuit.presence, Presence::Resident { .. }) {
            actions.push(Action::Preloaded { circuit: id, result: Ok(true) });
            return Ok(());
        }
        let alone = circuit.alone();
        if alone > self.settings.budget {
            let error = Error::from(self.ledger.refusal(alone)).at(format!("one partition of {id}"));
            actions.push(Action::Preloaded { circuit: id, result: Err(error) });
            return Ok(());
        }
        circuit.preload_asked = true;
        Ok(())
    }

    fn answer_preloads(&mut self, actions: &mut Vec<Action>) -> Result<()> {
        let asked: Vec<_> = self
            .residency
            .iter()
            .filter(|(_, c)| c.preload_asked && c.presence == Presence::Absent)
            .map(|(id, c)| (id, c.costs.residency()))
            .collect();
        for (id, need) in asked {
            let error = if self.draining {
                Error::new(Code::Closed, "the engine is shutting down")
            } else if self.blocked {
                Error::new(Code::Busy, "a request waits for memory; preload later")
            } else if self.ledger.fits(need) {
                self.load(id, actions)?;
                continue;
            } else {
                self.make_room(0, need, Some(id), None, actions)?;
                if self.ledger.free().saturating_add(self.residency.leaving()) >= need {
                    continue;
                }
                Error::new(Code::Busy, format!("{}; preload later", self.ledger.refusal(need)))
            };
            if let Some(circuit) = self.residency.get_mut(id) {
                circuit.preload_asked = false;
            }
            actions.push(Action::Preloaded { circuit: id, result: Err(error) });
        }
        Ok(())
    }

    pub(super) fn evict(&mut self, id: CircuitId, actions: &mut Vec<Action>) -> Result<()> {
        let Some(circuit) = self.residency.get_mut(id) else {
            actions.push(Action::Evicted { circuit: id, result: Ok(None) });
            return Ok(());
        };
        let in_use = circuit.users > 0 || circuit.jobs > 0;
        match circuit.presence {
            Presence::Absent => actions.push(Action::Evicted { circuit: id, result: Ok(None) }),
            Presence::Leaving { .. } => circuit.evict_asked = true,
            Presence::Resident { .. } if !in_use => {
                circuit.evict_asked = true;
                self.drop_circuit(id, actions);
            }
            Presence::Resident { .. } | Presence::Loading { .. } => {
                let error = Error::new(
                    Code::Busy,
                    format!("circuit {id} is in use; evict it when its jobs are done"),
                );
                actions.push(Action::Evicted { circuit: id, result: Err(error) });
            }
        }
        Ok(())
    }
}
