//! The world's part of a state's fingerprint: names instead of claim numbers, ages instead of times.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

use super::world::World;
use crate::memory::ClaimId;
use crate::schedule::Event;

impl World {
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.scheduler.fingerprint(self.now, &mut hasher);
        self.hash_work(&mut hasher);
        self.hash_requests(&mut hasher);
        self.hash_circuits(&mut hasher);
        self.mail.iter().for_each(|event| self.hash_mail(event, &mut hasher));
        hasher.finish()
    }

    fn hash_work(&self, hasher: &mut impl Hasher) {
        let mut work = self.work.clone();
        work.sort_unstable();
        work.hash(hasher);
        for (at, item) in &self.items {
            (at, item.place, item.slot, item.wrong, item.started, item.uses_circuit).hash(hasher);
            (item.witness_bytes.0, item.set.0, item.unreported).hash(hasher);
            self.held(item.witness).0.hash(hasher);
            (item.turn.map(|c| self.held(c).0), item.finish.map(|c| self.held(c).0)).hash(hasher);
        }
    }

    fn hash_requests(&self, hasher: &mut impl Hasher) {
        for (job, request) in &self.jobs {
            let patience = self.settings.patience;
            let passed = request.passed_since.map(|at| self.now.saturating_sub(at).min(patience));
            (job, request.started, passed, request.turns_waited).hash(hasher);
        }
        (self.submitted, self.idle_loads, self.calm).hash(hasher);
        self.answers.keys().chain(self.refusals.keys()).for_each(|job| job.hash(hasher));
        self.unanswered.hash(hasher);
    }

    fn hash_circuits(&self, hasher: &mut impl Hasher) {
        for (id, shared) in &self.circuits {
            let idle = self.now.saturating_sub(shared.idle_since).min(self.settings.min_idle);
            (id, shared.state, shared.srs.0, shared.unreported, idle, self.held(shared.claim).0).hash(hasher);
        }
    }

    fn hash_mail(&self, event: &Event, hasher: &mut impl Hasher) {
        let role = |claim: &ClaimId| self.roles.get(claim).copied();
        discriminant(event).hash(hasher);
        match event {
            Event::ClaimDropped { claim } => (role(claim), self.held(*claim).0).hash(hasher),
            Event::Measured { claim, step, bytes } => (role(claim), step, bytes.0).hash(hasher),
            Event::SynthesisDone { job, partition, bytes } => (job, partition, bytes.0).hash(hasher),
            Event::SynthesisFailed { job, partition, .. }
            | Event::SlotDone { job, partition }
            | Event::SlotFailed { job, partition, .. }
            | Event::FinishDone { job, partition }
            | Event::FinishFailed { job, partition, .. }
            | Event::VerifyFailed { job, partition }
            | Event::Diagnosed { job, partition, .. } => (job, partition).hash(hasher),
            Event::CircuitLoaded { circuit, srs, .. } => (circuit, srs.0).hash(hasher),
            Event::LoadFailed { circuit, .. } => circuit.hash(hasher),
            _ => {}
        }
    }
}
