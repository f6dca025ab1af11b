//! The state machine: what each event changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::contract::{Action, Event, JobId, Outcome, Settings, Submission};
use super::job::{rank, Job, Key, State, RANKS, WRONG_PROOFS};
use super::residency::{CircuitView, Residency};
use super::slots::{SlotView, Slots};
use crate::error::{Code, Error, Result};
use crate::kind::{CircuitId, ProofKind};
use crate::memory::{ClaimId, Class, Demand, Ledger, Stage};
use crate::units::Bytes;

#[cfg(test)]
use super::mutation::Mutation;

/// What a claim stands for; decides what its return sets free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claimed {
    Intake,
    Witness(CircuitId),
    Residency(CircuitId),
    Turn(usize),
    Finish,
}

/// Unfinished requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Accepted, nothing started.
    pub pending: usize,
    /// Something started.
    pub in_progress: usize,
}

/// The scheduler. [`Scheduler::on`] is its only mutation.
#[derive(Clone, Debug)]
pub struct Scheduler {
    pub(super) settings: Settings,
    pub(super) ledger: Ledger,
    pub(super) claims: HashMap<ClaimId, Claimed>,
    pub(super) jobs: HashMap<JobId, Job>,
    pub(super) order: BTreeSet<Key>,
    /// Jobs with partitions that nothing was claimed for yet.
    pub(super) unstarted: BTreeSet<Key>,
    /// Witnesses that wait for a slot.
    pub(super) queued: BTreeSet<(Key, usize)>,
    /// Partitions in synthesis, with the rank they occupy a worker for; jobs may have ended.
    pub(super) synthesizing: BTreeMap<(JobId, usize), u8>,
    /// Open finishing claims.
    pub(super) finishing: usize,
    pub(super) expiries: BTreeSet<(u64, JobId)>,
    pub(super) residency: Residency,
    pub(super) slots: Slots,
    pub(super) by_rank: [usize; RANKS],
    pub(super) by_kind: [usize; ProofKind::ALL.len()],
    pub(super) draining: bool,
    pub(super) closing: bool,
    /// Nothing more is admitted before memory comes back.
    pub(super) blocked: bool,
    arrivals: u64,
    requests: Arc<str>,
    last_answer: Option<u64>,
    answer_interval: u64,
    /// A planted bug.
    #[cfg(test)]
    pub(super) mutation: Option<super::mutation::Mutation>,
}

impl Scheduler {
    /// An empty scheduler; there must be a slot and a worker.
    pub fn new(settings: Settings) -> Result<Scheduler> {
        if settings.slots.is_empty() || settings.workers == 0 {
            return Err(Error::internal("a scheduler needs at least one slot and one synthesis worker"));
        }
        let settings = Settings { ahead: settings.ahead.max(1), ..settings };
        let mut ledger = Ledger::new(settings.budget);
        let slots = Slots::new(&settings.slots, &mut ledger)?;
        Ok(Scheduler {
            settings,
            ledger,
            claims: HashMap::new(),
            jobs: HashMap::new(),
            order: BTreeSet::new(),
            unstarted: BTreeSet::new(),
            queued: BTreeSet::new(),
            synthesizing: BTreeMap::new(),
            finishing: 0,
            expiries: BTreeSet::new(),
            residency: Residency::default(),
            slots,
            by_rank: [0; RANKS],
            by_kind: [0; ProofKind::ALL.len()],
            draining: false,
            closing: false,
            blocked: false,
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
            Event::SynthesisDone { job, partition, bytes } => self.synthesized(job, partition, bytes),
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
            Event::CircuitLoaded { circuit, .. } => self.circuit_loaded(now, circuit, actions),
            Event::LoadFailed { circuit, error } => self.load_failed(now, circuit, error, actions),
            Event::ClaimDropped { claim } => self.claim_dropped(now, claim, actions),
            Event::Preload { costs } => self.preload(&costs, actions),
            Event::Evict { circuit } => self.evict(circuit, actions),
            Event::Tick | Event::Measured { .. } | Event::Budget { .. } | Event::Known { .. } => Ok(()),
            Event::Drain => {
                self.draining = true;
                Ok(())
            }
            Event::Shutdown => self.shutdown(now, actions),
        }
    }

    fn submitted(&mut self, submission: Submission, actions: &mut Vec<Action>) -> Result<()> {
        let job = submission.job;
        match self.admissible(&submission) {
            Err(error) => actions.push(Action::Refuse { job, error }),
            Ok(()) => {
                let demand = Demand::of(Stage::Waiting, Class::Intake, submission.intake);
                match self.ledger.claim(&self.requests, demand) {
                    Err(refusal) => {
                        actions.push(Action::Refuse { job, error: self.busy(&refusal.to_string()) })
                    }
                    Ok(claim) => {
                        self.claims.insert(claim, Claimed::Intake);
                        let position = self.enqueue(submission);
                        actions.push(Action::Accept { job, position, claim });
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the request may be accepted now; the error says whether it ever may.
    fn admissible(&mut self, submission: &Submission) -> Result<()> {
        let kind = submission.costs.circuit.kind;
        if self.draining {
            return Err(Error::new(Code::Closed, "the engine is shutting down; it accepts no more requests"));
        }
        if submission.partitions == 0 || self.jobs.contains_key(&submission.job) {
            return Err(Error::internal("a request without partitions, or with a number in use"));
        }
        let alone = self.residency.learn(&submission.costs).alone();
        let need = alone.saturating_add(submission.intake);
        if need > self.settings.budget {
            let refusal = Error::from(self.ledger.refusal(need));
            return Err(refusal.at(format!("one partition of {}", submission.costs.circuit)));
        }
        let unfinished = self.by_kind[kind as usize];
        if unfinished >= self.settings.max_requests {
            return Err(self.busy(&format!("{unfinished} requests of kind {kind} are unfinished")));
        }
        let intake = self.ledger.class(Class::Intake).saturating_add(submission.intake);
        let cap = if rank(kind) < super::job::FIRST_PATIENT_RANK {
            self.settings.max_intake
        } else {
            Bytes(self.settings.max_intake.0 / 8 * 7)
        };
        if intake > cap {
            return Err(
                self.busy(&format!("unfinished requests would hold {intake}, at most {cap} are allowed"))
            );
        }
        // Any accepted request can be served once all others have gone: intake is never what blocks it.
        let largest = alone.max(self.residency.largest_alone());
        if intake.saturating_add(largest) > self.settings.budget {
            return Err(self.busy("the waiting requests leave no memory to prove in"));
        }
        Ok(())
    }

    fn busy(&self, why: &str) -> Error {
        let seconds = self.answer_interval.div_ceil(1_000_000_000).clamp(1, 60);
        Error::new(Code::Busy, format!("{why}; retry in {seconds} s"))
    }

    fn enqueue(&mut self, submission: Submission) -> usize {
        let circuit = submission.costs.circuit;
        let rank = rank(circuit.kind);
        #[cfg(test)]
        let rank = if self.mutated(Mutation::UrgencyInverted) { 2 - rank } else { rank };
        let deadline = submission.deadline.unwrap_or(u64::MAX);
        let key = Key { rank, deadline, arrival: self.arrivals, job: submission.job };
        self.arrivals += 1;
        let position = self.by_rank.iter().take(usize::from(rank) + 1).sum();
        self.by_rank[usize::from(rank)] += 1;
        self.by_kind[circuit.kind as usize] += 1;
        self.order.insert(key);
        self.unstarted.insert(key);
        if let Some(at) = submission.deadline {
            self.expiries.insert((at, key.job));
        }
        let entry = self.residency.learn(&submission.costs);
        entry.jobs += 1;
        entry.partitions = submission.partitions;
        self.jobs.insert(key.job, Job::new(key, circuit, submission.partitions));
        position
    }

    fn synthesized(&mut self, job: JobId, partition: usize, bytes: Bytes) -> Result<()> {
        self.synthesizing.remove(&(job, partition));
        let Some(entry) = self.jobs.get_mut(&job) else { return Ok(()) };
        let (key, circuit) = (entry.key, entry.circuit);
        let Some(part) = entry.part_in(partition, State::Synthesizing) else { return Ok(()) };
        part.state = State::Queued;
        if let Some(claim) = part.witness {
            self.ledger.correct(claim, Demand::of(Stage::Queued, Class::Witness, bytes))?;
        }
        if let Some(circuit) = self.residency.get_mut(circuit) {
            circuit.witness = circuit.witness.max(bytes);
        }
        #[cfg(test)]
        if let Some(claim) = part.witness.filter(|_| self.mutation == Some(Mutation::PermitReturnedEarly)) {
            self.ledger.correct(claim, Demand::of(Stage::Queued, Class::Witness, Bytes::ZERO))?;
        }
        self.queued.insert((key, partition));
        Ok(())
    }

    fn verified(&mut self, now: u64, job: JobId, partition: usize, actions: &mut Vec<Action>) -> Result<()> {
        let Some(entry) = self.jobs.get_mut(&job) else { return Ok(()) };
        let Some(part) = entry.part_in(partition, State::Finishing) else { return Ok(()) };
        part.state = State::Verified;
        entry.verified += 1;
        if entry.verified == entry.parts.len() {
            self.end(now, job, Outcome::Proved, actions)?;
        }
        Ok(())
    }

    fn not_verified(&mut self, job: JobId, partition: usize) -> Result<()> {
        let only_cpu = self.slots.cpu() == Some(0);
        let Some(entry) = self.jobs.get_mut(&job) else { return Ok(()) };
        let key = entry.key;
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

    fn fail(&mut self, now: u64, job: JobId, error: Error, actions: &mut Vec<Action>) -> Result<()> {
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
        self.unstarted.remove(&key);
        self.expiries.remove(&(key.deadline, job));
        for partition in 0..entry.parts.len() {
            self.queued.remove(&(key, partition));
        }
        self.by_rank[usize::from(key.rank)] -= 1;
        self.by_kind[entry.circuit.kind as usize] -= 1;
        if let Some(last) = self.last_answer.replace(now) {
            self.answer_interval = (self.answer_interval * 7 + now.saturating_sub(last)) / 8;
        }
        #[cfg(test)]
        if self.mutated(Mutation::AnsweredTwice) && matches!(outcome, Outcome::Failed(_)) {
            actions.extend(entry.parts.iter().map(|_| Action::Complete { job, outcome: outcome.clone() }));
            return Ok(());
        }
        actions.push(Action::Complete { job, outcome });
        if let Some(circuit) = self.residency.get_mut(entry.circuit) {
            circuit.jobs -= 1;
        }
        self.give_up_loads(actions);
        Ok(())
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
        match claimed {
            Claimed::Intake => drop(self.ledger.release(claim)?),
            #[cfg(test)]
            Claimed::Finish if self.mutated(Mutation::FinishForgotten) => {}
            #[cfg(test)]
            Claimed::Turn(slot) if self.mutated(Mutation::TurnForgotten) && self.orphaned(slot) => {}
            Claimed::Finish => {
                self.finishing -= 1;
                self.ledger.release(claim)?;
            }
            Claimed::Turn(slot) => {
                self.slots.turn_over(slot, claim, &self.residency, &mut self.ledger)?;
            }
            Claimed::Witness(circuit) => {
                self.ledger.release(claim)?;
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

    /// Whether this partition's proofs failed to verify so often that its witness must be examined.
    pub(super) fn exhausted(&self, job: JobId, partition: usize) -> bool {
        self.jobs.get(&job).and_then(|j| j.parts.get(partition)).is_some_and(|p| p.wrong >= WRONG_PROOFS)
    }

    /// The ledger, to read.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// When the next deadline runs out.
    pub fn next_deadline(&self) -> Option<u64> {
        self.expiries.first().map(|(at, _)| *at)
    }

    /// Unfinished jobs, in the order they are served.
    pub fn jobs(&self) -> impl Iterator<Item = JobId> + '_ {
        self.order.iter().map(|key| key.job)
    }

    /// Unfinished requests of one kind.
    pub fn counts(&self, kind: ProofKind) -> Counts {
        let mut counts = Counts::default();
        for job in self.jobs.values().filter(|job| job.kind() == kind) {
            *(if job.started { &mut counts.in_progress } else { &mut counts.pending }) += 1;
        }
        counts
    }

    /// Circuits in memory or on their way.
    pub fn circuits(&self) -> Vec<CircuitView> {
        self.residency.views()
    }

    /// The prover slots.
    pub fn slots(&self) -> Vec<SlotView> {
        self.slots.views(&self.ledger)
    }

    /// Whether new requests are refused.
    pub fn is_draining(&self) -> bool {
        self.draining
    }

    /// Nothing more will happen: no job, no claim, and no new ones are accepted.
    pub fn finished(&self) -> bool {
        self.draining && self.jobs.is_empty() && self.claims.is_empty()
    }
}
