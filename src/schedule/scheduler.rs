//! The state machine: its parts, and which of them an event changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::circuit::Circuit;
use super::contract::{Action, Event, JobId, Outcome, Settings};
use super::job::{Job, Key};
#[cfg(test)]
use super::mutation::Mutation;
use super::residency::Residency;
use super::slots::Slots;
use crate::error::{Code, Error, Result};
use crate::kind::{CircuitId, ProofKind, Urgency};
use crate::memory::{ClaimId, Ledger};

/// What a claim stands for; decides what its return sets free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claimed {
    Intake,
    Witness(CircuitId),
    Residency(CircuitId),
    Turn { circuit: CircuitId, slot: usize },
    Finish { circuit: CircuitId, slot: usize },
}

/// The scheduler. [`Scheduler::on`] is its only mutation.
#[derive(Clone, Debug)]
pub struct Scheduler {
    pub(super) settings: Settings,
    pub(super) ledger: Ledger,
    pub(super) claims: BTreeMap<ClaimId, Claimed>,
    pub(super) jobs: BTreeMap<JobId, Job>,
    pub(super) order: BTreeSet<Key>,
    /// Jobs with partitions that nothing was claimed for yet, by circuit.
    pub(super) unstarted: BTreeMap<CircuitId, BTreeSet<Key>>,
    /// Witnesses that wait for a slot.
    pub(super) queued: BTreeSet<(Key, usize)>,
    /// Partitions in synthesis, with the urgency they occupy a worker for; jobs may have ended.
    pub(super) synthesizing: BTreeMap<(JobId, usize), Urgency>,
    /// Open intake claims: those of unfinished jobs, and of ended ones whose answer is on its way.
    pub(super) intakes: usize,
    /// Open finishing claims.
    pub(super) finishing: usize,
    pub(super) expiries: BTreeSet<(u64, JobId)>,
    pub(super) residency: Residency,
    pub(super) slots: Slots,
    pub(super) by_urgency: [usize; Urgency::ALL.len()],
    /// Unfinished jobs, and how many of them have started.
    pub(super) by_kind: [(usize, usize); ProofKind::ALL.len()],
    pub(super) draining: bool,
    pub(super) closing: bool,
    /// The machine is short of memory.
    pub(super) pressed: bool,
    /// A request waits for memory.
    pub(super) blocked: bool,
    /// When time alone changes what may be done.
    pub(super) wake: Option<u64>,
    pub(super) arrivals: u64,
    pub(super) requests: Arc<str>,
    pub(super) last_answer: Option<u64>,
    pub(super) answer_interval: u64,
    /// A planted bug.
    #[cfg(test)]
    pub(super) mutation: Option<Mutation>,
}

impl Scheduler {
    /// An empty scheduler; there must be a worker, and a first slot that serves all kinds.
    pub fn new(settings: Settings) -> Result<Scheduler> {
        if settings.slots.first().is_none_or(|slot| slot.serves != Urgency::Patient) || settings.workers == 0
        {
            return Err(Error::internal("a scheduler needs a slot for all kinds and a synthesis worker"));
        }
        let settings = Settings {
            ahead: settings.ahead.max(1),
            ceiling: settings.ceiling.max(settings.budget),
            ..settings
        };
        let mut ledger =
            Ledger::new(settings.budget).with_devices(settings.slots.iter().map(|slot| slot.memory));
        let slots = Slots::new(&settings.slots, &mut ledger)?;
        Ok(Scheduler {
            residency: Residency::new(settings.pinned.clone(), settings.factors.clone()),
            settings,
            ledger,
            claims: BTreeMap::new(),
            jobs: BTreeMap::new(),
            order: BTreeSet::new(),
            unstarted: BTreeMap::new(),
            queued: BTreeSet::new(),
            synthesizing: BTreeMap::new(),
            intakes: 0,
            finishing: 0,
            expiries: BTreeSet::new(),
            slots,
            by_urgency: Default::default(),
            by_kind: Default::default(),
            draining: false,
            closing: false,
            pressed: false,
            blocked: false,
            wake: None,
            arrivals: 0,
            requests: Arc::from("requests"),
            last_answer: None,
            answer_interval: 5_000_000_000,
            #[cfg(test)]
            mutation: None,
        })
    }

    /// Takes one event and says what to do, in order.
    pub fn on(&mut self, now: u64, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        for result in [
            self.take(now, event, &mut actions),
            self.expire(now, &mut actions),
            self.advance(now, &mut actions),
        ] {
            if let Err(error) = result {
                actions.push(Action::Fault { error });
            }
        }
        actions
    }

    fn take(&mut self, now: u64, event: Event, actions: &mut Vec<Action>) -> Result<()> {
        match event {
            Event::Submitted(submission) => self.submitted(submission, actions),
            Event::SynthesisDone { job, partition, bytes } => {
                self.synthesized(job, partition, bytes, actions)
            }
            Event::SynthesisFailed { job, partition, error } => {
                self.synthesizing.remove(&(job, partition));
                self.fail(now, job, error, actions)
            }
            Event::SlotDone { job, partition } => self.slot_done(job, partition, actions),
            Event::FinishDone { job, partition } => self.verified(now, job, partition, actions),
            Event::VerifyFailed { job, partition } => self.not_verified(job, partition),
            Event::SlotFailed { job, error, .. }
            | Event::FinishFailed { job, error, .. }
            | Event::Diagnosed { job, error, .. } => self.fail(now, job, error, actions),
            Event::Cancelled { job } => {
                let error = Error::new(Code::Cancelled, "the job was cancelled");
                self.end(now, job, Outcome::Cancelled(error), actions)
            }
            Event::CircuitLoaded { circuit, srs, matrices } => {
                self.circuit_loaded(now, circuit, (srs, matrices), actions)
            }
            Event::LoadFailed { circuit, error } => self.load_failed(now, circuit, error, actions),
            Event::ClaimDropped { claim } => self.claim_dropped(now, claim, actions),
            Event::Measured { claim, step, bytes } => self.measured(claim, step, bytes, actions),
            Event::Budget { bytes, pressed } => self.budget(bytes, pressed),
            Event::Known { costs } => {
                self.residency.learn(&costs).known = costs.circuit.kind.urgency() < Urgency::Patient;
                Ok(())
            }
            Event::Preload { costs } => self.preload(&costs, actions),
            Event::Evict { circuit } => self.evict(circuit, actions),
            Event::Tick => Ok(()),
            Event::Drain => {
                self.draining = true;
                Ok(())
            }
            Event::Shutdown => self.shutdown(now, actions),
        }
    }

    /// A job came to an end by an error of its own.
    pub(super) fn fail(
        &mut self,
        now: u64,
        job: JobId,
        error: Error,
        actions: &mut Vec<Action>,
    ) -> Result<()> {
        self.end(now, job, Outcome::Failed(error), actions)
    }

    /// The one place that ends a job; its claims come back as their guards are dropped.
    pub(super) fn end(
        &mut self,
        now: u64,
        job: JobId,
        outcome: Outcome,
        actions: &mut Vec<Action>,
    ) -> Result<()> {
        let Some(entry) = self.jobs.remove(&job) else { return Ok(()) };
        let key = entry.key;
        self.order.remove(&key);
        self.no_more_to_start(entry.circuit, &key);
        self.expiries.remove(&(key.deadline, job));
        for partition in 0..entry.parts.len() {
            self.queued.remove(&(key, partition));
        }
        self.by_urgency[key.urgency as usize] -= 1;
        let (unfinished, started) = &mut self.by_kind[entry.circuit.kind as usize];
        *unfinished -= 1;
        *started -= usize::from(entry.started);
        if let Some(last) = self.last_answer.replace(now) {
            self.answer_interval = (self.answer_interval * 7 + now.saturating_sub(last)) / 8;
        }
        #[cfg(test)]
        if self.mutated(Mutation::AnsweredTwice) && matches!(outcome, Outcome::Failed(_)) {
            actions.push(Action::Complete { job, outcome: outcome.clone() });
        }
        actions.push(Action::Complete { job, outcome });
        if let Some(circuit) = self.residency.get_mut(entry.circuit) {
            circuit.jobs -= 1;
        }
        self.give_up_loads(actions);
        Ok(())
    }

    /// Takes a job out of those that have partitions to start.
    pub(super) fn no_more_to_start(&mut self, circuit: CircuitId, key: &Key) {
        let Some(keys) = self.unstarted.get_mut(&circuit) else { return };
        keys.remove(key);
        if keys.is_empty() {
            self.unstarted.remove(&circuit);
            if let Some(circuit) = self.residency.get_mut(circuit) {
                circuit.blocked_since = None;
            }
        }
    }

    fn expire(&mut self, now: u64, actions: &mut Vec<Action>) -> Result<()> {
        #[cfg(test)]
        if self.mutated(Mutation::DeadlineIgnored) {
            return Ok(());
        }
        while let Some((at, job)) = self.expiries.first().copied().filter(|(at, _)| *at <= now) {
            self.expiries.remove(&(at, job));
            let error = Error::new(Code::Timeout, "the job's time ran out before it was proved (timeouts.*)");
            self.fail(now, job, error, actions)?;
        }
        Ok(())
    }

    fn shutdown(&mut self, now: u64, actions: &mut Vec<Action>) -> Result<()> {
        self.draining = true;
        self.closing = true;
        for job in self.order.iter().map(|key| key.job).collect::<Vec<_>>() {
            let error = Error::new(Code::Closed, "the engine was shut down before the job was proved");
            self.end(now, job, Outcome::Cancelled(error), actions)?;
        }
        self.give_up_loads(actions);
        Ok(())
    }

    fn claim_dropped(&mut self, now: u64, claim: ClaimId, actions: &mut Vec<Action>) -> Result<()> {
        let claimed = self
            .claims
            .remove(&claim)
            .ok_or_else(|| Error::internal(format!("claim {} was returned twice", claim.0)))?;
        let held = self.ledger.held(claim).map_or_else(Default::default, |demand| demand.total());
        match claimed {
            #[cfg(test)]
            Claimed::Finish { .. } if self.mutated(Mutation::FinishForgotten) => {}
            #[cfg(test)]
            Claimed::Turn { slot, .. } if self.mutated(Mutation::TurnForgotten) && self.orphaned(slot) => {}
            Claimed::Intake => {
                self.intakes -= 1;
                self.ledger.release(claim)?;
            }
            Claimed::Finish { circuit, .. } => {
                self.finishing -= 1;
                self.ledger.release(claim)?;
                self.gave_back(circuit, held);
            }
            Claimed::Turn { circuit, slot } => {
                self.slots.turn_over(slot, claim, &self.residency, &mut self.ledger)?;
                self.gave_back(circuit, held);
            }
            Claimed::Witness(circuit) => {
                self.ledger.release(claim)?;
                self.gave_back(circuit, held);
                self.unused(now, circuit);
                self.slots.settle(&self.residency, &mut self.ledger)?;
            }
            Claimed::Residency(circuit) => {
                let lost = Error::internal(format!("loading {circuit} ended without a result"));
                self.load_failed(now, circuit, lost, actions)?;
                let freed = self.ledger.release(claim)?.total();
                self.left(circuit, freed, actions);
            }
        }
        Ok(())
    }

    pub(super) fn circuit(&self, id: CircuitId) -> Result<&Circuit> {
        self.residency.get(id).ok_or_else(|| Error::internal(format!("the scheduler does not know {id}")))
    }

    pub(super) fn circuit_mut(&mut self, id: CircuitId) -> Result<&mut Circuit> {
        self.residency.get_mut(id).ok_or_else(|| Error::internal(format!("the scheduler does not know {id}")))
    }
}
