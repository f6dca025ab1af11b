//! The scheduler alone: one step with ten thousand queued requests, and whether its memory grows.

use std::alloc::System;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use forebay::kind::{CircuitId, ProofKind};
use forebay::memory::ClaimId;
use forebay::schedule::{
    Action, Costs, Event, JobId, Outcome, Scheduler, Settings, SlotCost, SlotSettings, Submission,
};
use forebay::units::Bytes;
use stats_alloc::{Region, StatsAlloc, INSTRUMENTED_SYSTEM};

use crate::report::{Goal, Report};
use crate::Failure;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const QUEUED: u64 = 10_000;
/// Requests that pass through while the steps are timed.
const PASSING: u64 = 100_000;
/// Looks at the memory in each half of them.
const STRETCHES: u64 = 20;
const MICROSECONDS: f64 = 1e6;

/// Projected sizes of 32 GiB sectors, in MiB: witness, SRS, working set.
fn costs(kind: ProofKind) -> Result<Arc<Costs>, Failure> {
    let (witness, srs, turn) = match kind {
        ProofKind::WinningPost => (12, 190, 34),
        ProofKind::WindowPost => (3800, 57 << 10, 8192),
        ProofKind::PorepC2 => (100, 44 << 10, 8192),
        ProofKind::SnapUpdate => (80, 33 << 10, 8192),
    };
    let slot = SlotCost { start: Bytes::mib(turn), finish: Bytes::mib(turn / 4), device: Bytes::ZERO };
    Ok(Arc::new(Costs {
        circuit: CircuitId::new(kind, 32 << 30)?,
        witness: Bytes::mib(witness),
        matrices: Bytes::mib(64),
        srs: Bytes::mib(srs),
        slots: vec![slot; 2],
    }))
}

fn settings() -> Settings {
    Settings {
        budget: Bytes::gib(256),
        ceiling: Bytes::gib(256),
        workers: 8,
        urgent_workers: 2,
        ahead: 12,
        slots: vec![SlotSettings::CPU, SlotSettings::device(Bytes::gib(16))],
        max_requests: 1 << 20,
        max_intake: Bytes::gib(16),
        patience: 60_000_000_000,
        min_idle: 10_000_000_000,
        pinned: Default::default(),
        factors: Default::default(),
    }
}

/// Carries out at once whatever the scheduler decides, and times each of its steps.
struct Driver {
    scheduler: Scheduler,
    costs: Vec<Arc<Costs>>,
    events: VecDeque<Event>,
    /// By job: intake claim, witness claim, claim of the slot or of finishing.
    held: BTreeMap<JobId, [Option<ClaimId>; 3]>,
    circuits: BTreeMap<CircuitId, ClaimId>,
    submitted: u64,
    answered: u64,
    steps: Vec<f64>,
    timing: bool,
}

impl Driver {
    fn submit(&mut self) {
        let costs = self.costs[(self.submitted % self.costs.len() as u64) as usize].clone();
        let job = JobId(self.submitted);
        self.submitted += 1;
        let intake = Bytes::mib(1);
        let deadline = Some(u64::MAX / 2 + job.0 % 1000);
        let submission = Submission { job, costs, partitions: 1, intake, deadline };
        self.events.push_back(Event::Submitted(submission));
    }

    fn step(&mut self, event: Event) -> Result<(), Failure> {
        let begun = Instant::now();
        let actions = self.scheduler.on(self.submitted, event);
        if self.timing {
            self.steps.push(begun.elapsed().as_secs_f64());
        }
        actions.into_iter().try_for_each(|action| self.act(action))
    }

    fn give_back(&mut self, job: JobId, which: usize) {
        let claim = self.held.get_mut(&job).and_then(|held| held[which].take());
        self.events.extend(claim.map(|claim| Event::ClaimDropped { claim }));
    }

    fn hold(&mut self, job: JobId, which: usize, claim: ClaimId) {
        self.held.entry(job).or_default()[which] = Some(claim);
    }

    fn act(&mut self, action: Action) -> Result<(), Failure> {
        match action {
            Action::Accept { job, claim, .. } => self.hold(job, 0, claim),
            Action::LoadCircuit { circuit, claim } => {
                self.circuits.insert(circuit, claim);
                let costs =
                    self.costs.iter().find(|costs| costs.circuit == circuit).ok_or("no such circuit")?;
                let (srs, matrices) = (costs.srs, costs.matrices);
                self.events.push_back(Event::CircuitLoaded { circuit, srs, matrices });
            }
            Action::DropCircuit { circuit } => {
                let claim = self.circuits.remove(&circuit).ok_or("a circuit is dropped twice")?;
                self.events.push_back(Event::ClaimDropped { claim });
            }
            Action::Synthesize { job, partition, claim } => {
                self.hold(job, 1, claim);
                let bytes = self.scheduler.ledger().held(claim).ok_or("no such claim")?.total();
                self.events.push_back(Event::SynthesisDone { job, partition, bytes });
            }
            Action::Prove { job, partition, turn, .. } => {
                self.hold(job, 2, turn);
                self.events.push_back(Event::SlotDone { job, partition });
            }
            Action::Finish { job, partition, claim } => {
                if let Some(claim) = claim {
                    self.give_back(job, 2);
                    self.hold(job, 2, claim);
                }
                self.events.push_back(Event::FinishDone { job, partition });
            }
            Action::Complete { job, outcome } => {
                if outcome != Outcome::Proved {
                    return Err(format!("a request was not proved: {outcome:?}").into());
                }
                (0..3).for_each(|which| self.give_back(job, which));
                self.held.remove(&job);
                self.answered += 1;
                self.submit();
            }
            other => return Err(format!("the scheduler does what it was not asked for: {other:?}").into()),
        }
        Ok(())
    }

    /// Runs until so many more requests have been answered.
    fn run(&mut self, requests: u64) -> Result<(), Failure> {
        let until = self.answered + requests;
        while self.answered < until {
            let event = self.events.pop_front().ok_or("the scheduler stands still")?;
            self.step(event)?;
        }
        Ok(())
    }
}

/// Times the scheduler's steps.
pub fn run() -> Result<Report, Failure> {
    let kinds = [ProofKind::PorepC2, ProofKind::SnapUpdate, ProofKind::WinningPost];
    let mut driver = Driver {
        scheduler: Scheduler::new(settings())?,
        costs: kinds.into_iter().map(costs).collect::<Result<_, _>>()?,
        events: VecDeque::new(),
        held: Default::default(),
        circuits: Default::default(),
        submitted: 0,
        answered: 0,
        steps: Vec::with_capacity(16 * PASSING as usize),
        timing: false,
    };
    (0..QUEUED).for_each(|_| driver.submit());
    // Until the queues consist of what came and went, as they will for ever.
    driver.run(4 * QUEUED)?;
    driver.timing = true;
    let memory = Region::new(ALLOCATOR);
    let held = |memory: &Region<System>| {
        let change = memory.change();
        change.bytes_allocated as f64 - change.bytes_deallocated as f64
    };
    // Queues breathe; what stays with the steps lifts the highest level of each stretch above the last one's.
    let mut highest = [f64::MIN; 2];
    for highest in &mut highest {
        for _ in 0..STRETCHES {
            driver.run(PASSING / 2 / STRETCHES)?;
            *highest = highest.max(held(&memory));
        }
    }
    let grown = (highest[1] - highest[0]).max(0.0);
    let mut steps = std::mem::take(&mut driver.steps);
    steps.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| steps[((steps.len() - 1) as f64 * share) as usize] * MICROSECONDS;
    let mut report = Report::default();
    let queued = driver.submitted - driver.answered;
    report.note(format!("{queued} requests of three kinds are queued; {} steps are timed", steps.len()));
    report.value("one step, median", at(0.5), "us", Goal::AtMost(5.0));
    report.value("one step, 99 of 100 below", at(0.99), "us", Goal::None);
    // Nodes that fill differently come to some hundredths; a word that stayed with each request would be one.
    let growth = grown / (steps.len() / 2) as f64;
    report.value("growth per step", growth, "bytes", Goal::AtMost(0.5));
    Ok(report)
}
