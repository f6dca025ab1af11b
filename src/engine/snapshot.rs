//! The status document, read from the scheduler and the counters.

use std::collections::HashMap;
use std::sync::Arc;

use crossbeam::channel::bounded;

use super::entry::{lock, JobEntry};
use super::instruments::Ended;
use super::lifecycle::{KindSteps, Lifecycle, Place};
use super::shared::{closed, Shared};
use super::status::{
    CellStatus, CircuitStatus, JobReport, MemoryStatus, PartitionStatus, ProcessStatus, QueueStatus,
    SlotStatus, Status, Totals, STATUS_VERSION,
};
use super::work::Message;
use crate::error::Result;
use crate::kind::ProofKind;
use crate::memory::{usage, Class, Stage};
use crate::schedule::{CircuitView, Claims, Counts, JobId, Scheduler, SlotView, Wait};

/// Finished jobs in the status document.
const RECENT: usize = 32;
/// Unfinished jobs in the status document.
const LISTED: usize = 256;

impl Shared {
    /// Asks the scheduler's thread; an error where the engine is closed.
    pub fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Scheduler, &Lifecycle) -> T + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = bounded(1);
        self.send(Message::Query(Box::new(move |scheduler, lifecycle| {
            // Whoever asked may have given up.
            let _ = reply.send(question(scheduler, lifecycle));
        })))?;
        answer.recv().map_err(|_| closed())
    }
}

/// What the scheduler's thread knows at one moment.
#[derive(Default)]
pub(super) struct View {
    pub state: &'static str,
    pub memory: MemoryStatus,
    pub reserved: HashMap<(Class, Stage), u64>,
    pub queues: Vec<(ProofKind, Counts, usize)>,
    pub circuits: Vec<CircuitView>,
    pub slots: Vec<SlotView>,
    pub waits: HashMap<Wait, u64>,
    /// By kind: partitions that nothing is claimed for, all others, and open claims.
    pub waiting: [usize; ProofKind::ALL.len()],
    pub steps: [KindSteps; ProofKind::ALL.len()],
    pub claims: [Claims; ProofKind::ALL.len()],
}

pub(super) fn cells() -> impl Iterator<Item = (Class, Stage)> {
    Class::ALL.into_iter().flat_map(|class| Stage::ALL.into_iter().map(move |stage| (class, stage)))
}

fn view(scheduler: &Scheduler, lifecycle: &Lifecycle) -> View {
    let ledger = scheduler.ledger();
    let mut waits = HashMap::new();
    for job in scheduler.jobs() {
        *waits.entry(scheduler.wait_of(job)).or_default() += 1;
    }
    View {
        state: if scheduler.is_draining() { "draining" } else { "running" },
        memory: MemoryStatus {
            limit: ledger.budget().0,
            reserved: ledger.reserved().0,
            peak: ledger.peak().0,
            overruns: ledger.overruns(),
            ceiling: scheduler.ceiling().0,
            pressed: scheduler.is_pressed(),
            ..MemoryStatus::default()
        },
        reserved: cells().map(|(class, stage)| ((class, stage), ledger.cell(class, stage).0)).collect(),
        queues: ProofKind::ALL.map(|k| (k, scheduler.counts(k), scheduler.headroom(k))).to_vec(),
        circuits: scheduler.circuits(),
        slots: scheduler.slots(),
        waits,
        waiting: scheduler.waiting(),
        steps: lifecycle.steps(),
        claims: scheduler.claims(),
    }
}

/// A listed job: what it waits for, and where its partitions are.
type Listed = (JobId, Wait, String);

fn listed(scheduler: &Scheduler) -> Vec<Listed> {
    let jobs = scheduler.jobs().take(LISTED);
    jobs.map(|job| (job, scheduler.wait_of(job), scheduler.stages(job))).collect()
}

fn closed_view() -> View {
    View { state: "closed", ..View::default() }
}

pub(super) fn look(shared: &Shared) -> View {
    shared.ask(view).unwrap_or_else(|_| closed_view())
}

pub(super) fn status(shared: &Shared) -> Status {
    let both = shared.ask(|scheduler, lifecycle| (view(scheduler, lifecycle), listed(scheduler)));
    let (view, listed) = both.unwrap_or_else(|_| (closed_view(), Vec::new()));
    let unanswered = shared.registry.unanswered();
    let next = deadlines(&unanswered);
    let entries: HashMap<JobId, Arc<JobEntry>> =
        unanswered.into_iter().map(|entry| (entry.identity.id, entry)).collect();
    let report = |(job, wait, stages): Listed| {
        let report = entries.get(&job)?.report();
        Some(JobReport { waits_for: wait.name(), stages, ..report })
    };
    Status {
        version: STATUS_VERSION,
        library: env!("CARGO_PKG_VERSION"),
        kernels: shared.config.kernels.name().unwrap_or("unknown"),
        state: view.state,
        uptime_seconds: shared.opened.elapsed().as_secs(),
        process: process(shared),
        cells: cell_statuses(&view),
        queues: view.queues.iter().map(|known| queue(known, next[known.0 as usize])).collect(),
        circuits: view.circuits.iter().filter(|c| c.state != "absent").map(circuit).collect(),
        slots: slots(shared, &view, &entries),
        partitions: partitions(&view),
        jobs: listed.into_iter().filter_map(report).collect(),
        recent: recent(shared),
        totals: totals(shared),
        memory: memory(shared, view.memory),
    }
}

/// The least time that an unfinished job of each kind has left, in milliseconds.
pub(super) fn deadlines(unanswered: &[Arc<JobEntry>]) -> [Option<i64>; ProofKind::ALL.len()] {
    let mut next = [None; ProofKind::ALL.len()];
    for entry in unanswered {
        let least: &mut Option<i64> = &mut next[entry.identity.kind as usize];
        *least = [*least, entry.left()].into_iter().flatten().min();
    }
    next
}

fn partitions(view: &View) -> PartitionStatus {
    let at = |place: Place| view.steps.iter().map(|kind| kind.places[place as usize]).sum();
    PartitionStatus {
        waiting: view.waiting.iter().map(|waiting| *waiting as u64).sum(),
        synthesis: at(Place::Synthesis),
        queued: at(Place::Queued),
        proving: at(Place::Proving),
        proved: at(Place::Proved),
        finishing: at(Place::Finishing),
        freeing: at(Place::Freeing),
    }
}

fn recent(shared: &Shared) -> Vec<JobReport> {
    shared.registry.recent(RECENT).iter().map(|entry| entry.report()).collect()
}

pub(super) fn process(shared: &Shared) -> ProcessStatus {
    let resident = shared.probe.resident();
    ProcessStatus {
        resident: resident.total.0,
        anonymous: resident.anonymous.0,
        unbooked: resident.anonymous.saturating_sub(usage::anonymous()).0,
        file: resident.file.0,
        peak: resident.peak.0,
    }
}

pub(super) fn memory(shared: &Shared, promised: MemoryStatus) -> MemoryStatus {
    let seen = lock(&shared.observed);
    MemoryStatus {
        left: seen.left().0,
        group: seen.group.as_ref().map_or_else(String::new, |group| group.path.display().to_string()),
        pressure: seen.pressure,
        ..promised
    }
}

fn cell_statuses(view: &View) -> Vec<CellStatus> {
    cells()
        .map(|(class, stage)| {
            let (buffers, mapped) = usage::mapped(class, stage);
            let reserved = view.reserved.get(&(class, stage)).copied().unwrap_or(0);
            CellStatus { class: class.name(), stage: stage.name(), reserved, buffers, mapped: mapped.0 }
        })
        .filter(|cell| cell.reserved > 0 || cell.buffers > 0)
        .collect()
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn queue((kind, counts, headroom): &(ProofKind, Counts, usize), next: Option<i64>) -> QueueStatus {
    QueueStatus {
        kind: kind.name(),
        pending: count(counts.pending),
        in_progress: count(counts.in_progress),
        headroom: count(*headroom),
        next_deadline_ms: next,
    }
}

fn circuit(view: &CircuitView) -> CircuitStatus {
    CircuitStatus {
        circuit: view.circuit.to_string(),
        state: view.state,
        bytes: view.bytes.0,
        users: count(view.users),
        pinned: view.pinned,
    }
}

fn slots(shared: &Shared, view: &View, entries: &HashMap<JobId, Arc<JobEntry>>) -> Vec<SlotStatus> {
    let slots = shared.slots.iter().zip(&view.slots);
    slots
        .map(|(prover, slot)| SlotStatus {
            name: prover.name(),
            reserved: slot.reserved.0,
            device_reserved: slot.device.0,
            job_id: slot
                .turn
                .and_then(|(job, _)| entries.get(&job))
                .map_or_else(String::new, |entry| entry.identity.job_id.clone()),
            partition: slot.turn.map(|(_, partition)| partition),
        })
        .collect()
}

fn totals(shared: &Shared) -> Totals {
    let counts = &shared.instruments;
    let answered = |ended| counts.kinds.iter().map(|kind| kind.count(ended)).sum();
    Totals {
        accepted: counts.kinds.iter().map(|kind| kind.accepted.value()).sum(),
        refused: counts.refusals(),
        completed: answered(Ended::Completed),
        failed: answered(Ended::Failed),
        cancelled: answered(Ended::Cancelled),
        proofs: counts.proofs(),
        verification_failures: counts.failures(),
        panics: counts.panics.value(),
    }
}
