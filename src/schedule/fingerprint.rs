//! What of the scheduler's state decides its future, free of claim numbers, arrival counters and clock.

use std::hash::{Hash, Hasher};
use std::mem::discriminant;

use super::circuit::{Circuit, Presence};
use super::scheduler::Scheduler;
use crate::memory::{Class, Stage};

impl Scheduler {
    /// Feeds everything that can change what comes next; times count from `now`.
    pub(super) fn fingerprint(&self, now: u64, hasher: &mut impl Hasher) {
        (self.ledger.budget().0, self.ledger.reserved().0, self.ledger.claims()).hash(hasher);
        for class in Class::ALL {
            for stage in Stage::ALL {
                self.ledger.cell(class, stage).0.hash(hasher);
            }
        }
        (self.finishing, self.draining, self.closing, self.pressed, self.claims.len()).hash(hasher);
        self.hash_jobs(now, hasher);
        self.residency.iter().for_each(|circuit| self.hash_circuit(circuit, now, hasher));
        for slot in self.slots() {
            (slot.reserved.0, slot.device.0, slot.turn).hash(hasher);
        }
    }

    fn hash_jobs(&self, now: u64, hasher: &mut impl Hasher) {
        for key in &self.order {
            let Some(job) = self.jobs.get(&key.job) else { continue };
            (key.job, key.deadline.saturating_sub(now), job.next, job.verified, job.started).hash(hasher);
            for part in &job.parts {
                discriminant(&part.state).hash(hasher);
                (part.witness.is_some(), part.slot, part.wrong, part.only_cpu).hash(hasher);
            }
        }
        for (key, partition) in &self.queued {
            (key.job, partition).hash(hasher);
        }
        self.synthesizing.hash(hasher);
    }

    fn hash_circuit(&self, circuit: &Circuit, now: u64, hasher: &mut impl Hasher) {
        circuit.id().hash(hasher);
        discriminant(&circuit.presence).hash(hasher);
        match circuit.presence {
            Presence::Loading { wanted, .. } => wanted.hash(hasher),
            Presence::Resident { idle_since, .. } => {
                now.saturating_sub(idle_since).min(self.settings.min_idle).hash(hasher);
                let older = |other: &&Circuit| other.idle_since().is_some_and(|since| since < idle_since);
                self.residency.iter().filter(older).count().hash(hasher);
            }
            Presence::Absent | Presence::Leaving { .. } => {}
        }
        let patience = self.settings.patience;
        circuit.blocked_since.map(|since| now.saturating_sub(since).min(patience)).hash(hasher);
        (circuit.users, circuit.jobs, circuit.partitions, circuit.held.0, circuit.intake.0, circuit.known)
            .hash(hasher);
        (circuit.factors.witness, circuit.factors.shared, circuit.factors.working_set).hash(hasher);
        (circuit.preload_asked, circuit.evict_asked).hash(hasher);
    }
}
