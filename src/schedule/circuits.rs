//! Circuits come and go: loads, preloads, evictions.

use std::sync::Arc;

use super::circuit::Presence;
use super::contract::{Action, Costs, Outcome};
use super::scheduler::{Claimed, Scheduler};
use crate::error::{Code, Error, Result};
use crate::kind::{CircuitId, Urgency};
use crate::memory::{Class, Demand, Stage};
use crate::units::Bytes;

impl Scheduler {
    pub(super) fn load(&mut self, id: CircuitId, actions: &mut Vec<Action>) -> Result<()> {
        let circuit = self.circuit(id)?;
        let ((srs, matrices), label) = (circuit.shared(), circuit.label.clone());
        let demand = Demand::of(Stage::Shared, Class::Srs, srs).with(Class::Matrices, matrices);
        let claim = self.ledger.claim(&label, demand)?;
        self.circuit_mut(id)?.presence = Presence::Loading { claim, wanted: true };
        self.claims.insert(claim, Claimed::Residency(id));
        actions.push(Action::LoadCircuit { circuit: id, claim });
        Ok(())
    }

    /// Loads that nobody waits for any more are stopped.
    pub(super) fn give_up_loads(&mut self, actions: &mut Vec<Action>) {
        let closing = self.closing;
        for circuit in self.residency.iter_mut() {
            let id = circuit.id();
            if closing && std::mem::take(&mut circuit.preload_asked) {
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

    pub(super) fn drop_circuit(&mut self, id: CircuitId, actions: &mut Vec<Action>) {
        let Some(circuit) = self.residency.get_mut(id) else { return };
        if let Presence::Resident { claim, .. } = circuit.presence {
            circuit.presence = Presence::Leaving { claim };
            actions.push(Action::DropCircuit { circuit: id });
        }
    }

    /// Every idle circuit leaves, pinned ones too.
    pub(super) fn drop_idle(&mut self, actions: &mut Vec<Action>) {
        let idle: Vec<_> =
            self.residency.iter().filter(|c| c.idle_since().is_some()).map(|c| c.id()).collect();
        idle.into_iter().for_each(|circuit| self.drop_circuit(circuit, actions));
    }

    /// A circuit is in memory: from now on what it really takes is booked.
    pub(super) fn circuit_loaded(
        &mut self,
        now: u64,
        id: CircuitId,
        (srs, matrices): (Bytes, Bytes),
        actions: &mut Vec<Action>,
    ) -> Result<()> {
        let Some(circuit) = self.residency.get_mut(id) else { return Ok(()) };
        let Presence::Loading { claim, .. } = circuit.presence else { return Ok(()) };
        circuit.presence = Presence::Resident { claim, idle_since: now };
        if std::mem::take(&mut circuit.preload_asked) {
            actions.push(Action::Preloaded { circuit: id, result: Ok(false) });
        }
        let demand = Demand::of(Stage::Shared, Class::Srs, srs).with(Class::Matrices, matrices);
        self.ledger.correct(claim, demand)?;
        if self.circuit_mut(id)?.measured_shared(demand.total()) {
            self.corrected(id, actions)?;
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
        if circuit.is_resident() {
            actions.push(Action::Preloaded { circuit: id, result: Ok(true) });
            return Ok(());
        }
        let need = self.alone(id)?.saturating_add(self.residency.pinned(id));
        if need > self.settings.ceiling {
            let mut refusal = self.ledger.refusal(need);
            refusal.limit = self.settings.ceiling;
            let error = Error::from(refusal).at(format!("one partition of {id}"));
            actions.push(Action::Preloaded { circuit: id, result: Err(error) });
            return Ok(());
        }
        self.circuit_mut(id)?.preload_asked = true;
        Ok(())
    }

    pub(super) fn answer_preloads(&mut self, now: u64, actions: &mut Vec<Action>) -> Result<()> {
        let absent = |p: &Presence| *p == Presence::Absent;
        let asked: Vec<_> = self
            .residency
            .iter()
            .filter(|c| c.preload_asked && absent(&c.presence))
            .map(|c| c.id())
            .collect();
        for id in asked {
            let Some(error) = self.preload_now(now, id, actions)? else { continue };
            self.circuit_mut(id)?.preload_asked = false;
            actions.push(Action::Preloaded { circuit: id, result: Err(error) });
        }
        Ok(())
    }

    /// Loads the circuit or makes room for it; else says why not.
    fn preload_now(&mut self, now: u64, id: CircuitId, actions: &mut Vec<Action>) -> Result<Option<Error>> {
        if self.draining {
            return Ok(Some(Error::new(Code::Closed, "the engine is shutting down")));
        }
        if self.blocked {
            return Ok(Some(Error::new(Code::Busy, "a request waits for memory; preload later")));
        }
        let circuit = self.circuit(id)?;
        let (residency, hurry) =
            (circuit.residency(), circuit.pinned || circuit.urgency() < Urgency::Patient);
        let need = residency.saturating_add(self.kept_back(id)?);
        if self.ledger.fits(need) {
            self.load(id, actions)?;
            return Ok(None);
        }
        if self.make_room(now, need, id, hurry, actions) {
            return Ok(None);
        }
        Ok(Some(Error::new(Code::Busy, format!("{}; preload later", self.ledger.refusal(need)))))
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
