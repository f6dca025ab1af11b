//! The status document and the metrics, read from the scheduler and the counters.

use std::collections::HashMap;
use std::sync::Arc;

use crossbeam::channel::bounded;

use super::entry::{lock, JobEntry};
use super::shared::{closed, Shared};
use super::status::{
    CellStatus, CircuitStatus, JobReport, MemoryStatus, ProcessStatus, QueueStatus, SlotStatus, Status,
    Totals, STATUS_VERSION,
};
use super::work::Message;
use crate::error::Result;
use crate::kind::ProofKind;
use crate::memory::{usage, Class, Stage};
use crate::schedule::{CircuitView, Counts, JobId, Scheduler, SlotView, Wait};
use crate::telemetry::{metric, Exposition};

/// Finished jobs in the status document.
const RECENT: usize = 32;
/// Unfinished jobs in the status document.
const LISTED: usize = 256;

impl Shared {
    /// Asks the scheduler's thread; an error where the engine is closed.
    pub fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Scheduler) -> T + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = bounded(1);
        self.send(Message::Query(Box::new(move |scheduler| {
            // Whoever asked may have given up.
            let _ = reply.send(question(scheduler));
        })))?;
        answer.recv().map_err(|_| closed())
    }
}

#[derive(Default)]
struct View {
    state: &'static str,
    memory: MemoryStatus,
    reserved: HashMap<(Class, Stage), u64>,
    queues: Vec<(ProofKind, Counts, usize)>,
    circuits: Vec<CircuitView>,
    slots: Vec<SlotView>,
    jobs: Vec<(JobId, Wait)>,
    waits: HashMap<&'static str, u64>,
}

fn cells() -> impl Iterator<Item = (Class, Stage)> {
    Class::ALL.into_iter().flat_map(|class| Stage::ALL.into_iter().map(move |stage| (class, stage)))
}

fn view(scheduler: &Scheduler) -> View {
    let ledger = scheduler.ledger();
    let mut waits = HashMap::new();
    for job in scheduler.jobs() {
        *waits.entry(scheduler.wait_of(job).name()).or_default() += 1;
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
        jobs: scheduler.jobs().take(LISTED).map(|job| (job, scheduler.wait_of(job))).collect(),
        waits,
    }
}

fn look(shared: &Shared) -> View {
    shared.ask(view).unwrap_or(View { state: "closed", ..View::default() })
}

pub(super) fn status(shared: &Shared) -> Status {
    let view = look(shared);
    let entries: HashMap<JobId, Arc<JobEntry>> =
        shared.registry.unanswered().into_iter().map(|entry| (entry.identity.id, entry)).collect();
    let report = |(job, wait): &(JobId, Wait)| {
        let report = entries.get(job)?.report();
        Some(JobReport { waits_for: wait.name(), ..report })
    };
    Status {
        version: STATUS_VERSION,
        library: env!("CARGO_PKG_VERSION"),
        kernels: shared.config.kernels.name().unwrap_or("unknown"),
        state: view.state,
        uptime_seconds: shared.opened.elapsed().as_secs(),
        process: process(shared),
        cells: cell_statuses(&view),
        queues: view.queues.iter().map(queue).collect(),
        circuits: view.circuits.iter().filter(|c| c.state != "absent").map(circuit).collect(),
        slots: slots(shared, &view, &entries),
        jobs: view.jobs.iter().filter_map(report).collect(),
        recent: recent(shared),
        totals: totals(shared),
        memory: memory(shared, view.memory),
    }
}

fn recent(shared: &Shared) -> Vec<JobReport> {
    shared.registry.recent(RECENT).iter().map(|entry| entry.report()).collect()
}

fn process(shared: &Shared) -> ProcessStatus {
    let resident = shared.probe.resident();
    ProcessStatus {
        resident: resident.total.0,
        anonymous: resident.anonymous.0,
        unbooked: resident.anonymous.saturating_sub(usage::anonymous()).0,
        file: resident.file.0,
        peak: resident.peak.0,
    }
}

fn memory(shared: &Shared, promised: MemoryStatus) -> MemoryStatus {
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

fn queue((kind, counts, headroom): &(ProofKind, Counts, usize)) -> QueueStatus {
    QueueStatus {
        kind: kind.name(),
        pending: count(counts.pending),
        in_progress: count(counts.in_progress),
        headroom: count(*headroom),
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
    let sum = |m, pass: &dyn Fn(&str, &str) -> bool| shared.tally.sum(m, pass) as u64;
    let all = |m| sum(m, &|_, _| true);
    let answered = |result: &str| sum(metric::ANSWERED, &|name, value| name != "result" || value == result);
    Totals {
        accepted: all(metric::ACCEPTED),
        refused: all(metric::REFUSED),
        completed: answered("completed"),
        failed: answered("failed"),
        cancelled: answered("cancelled"),
        proofs: all(metric::PROOFS),
        verification_failures: all(metric::VERIFICATION_FAILURES),
        panics: all(metric::PANICS),
    }
}

pub(super) fn metrics(shared: &Shared) -> String {
    let view = look(shared);
    let mut out = Exposition::default();
    out.gauge(metric::BUDGET_BYTES, &[], view.memory.limit as f64);
    out.gauge(metric::PEAK_BYTES, &[], view.memory.peak as f64);
    out.gauge(metric::OVERRUNS, &[], view.memory.overruns as f64);
    let seen = memory(shared, MemoryStatus::default());
    out.gauge(metric::LEFT_BYTES, &[], seen.left as f64);
    out.gauge(metric::PRESSURE, &[], seen.pressure / 100.0);
    for wait in Wait::ALL.into_iter().filter(|wait| *wait != Wait::Nothing) {
        let waiting = view.waits.get(wait.name()).copied().unwrap_or(0);
        out.gauge(metric::WAITING, &[("reason", wait.name())], waiting as f64);
    }
    if let Some(journal) = &shared.journal {
        out.gauge(metric::JOURNAL_PROOFS, &[], journal.len() as f64);
    }
    out.gauge(metric::UPTIME_SECONDS, &[], shared.opened.elapsed().as_secs_f64());
    for (class, stage) in cells() {
        let labels = [("class", class.name()), ("stage", stage.name())];
        let (buffers, mapped) = usage::mapped(class, stage);
        let reserved = view.reserved.get(&(class, stage)).copied().unwrap_or(0);
        out.gauge(metric::RESERVED_BYTES, &labels, reserved as f64);
        out.gauge(metric::BUFFERS, &labels, buffers as f64);
        out.gauge(metric::BUFFER_BYTES, &labels, mapped.0 as f64);
    }
    let process = process(shared);
    out.gauge(metric::UNBOOKED_BYTES, &[], process.unbooked as f64);
    for (name, bytes) in [("anonymous", process.anonymous), ("file", process.file)] {
        out.gauge(metric::RESIDENT_BYTES, &[("type", name)], bytes as f64);
    }
    for (kind, counts, headroom) in &view.queues {
        for (state, n) in [("pending", counts.pending), ("in_progress", counts.in_progress)] {
            out.gauge(metric::JOBS, &[("kind", kind.name()), ("state", state)], n as f64);
        }
        out.gauge(metric::HEADROOM, &[("kind", kind.name())], *headroom as f64);
    }
    for circuit in &view.circuits {
        let name = circuit.circuit.to_string();
        out.gauge(
            metric::CIRCUIT_BYTES,
            &[("circuit", &name), ("state", circuit.state)],
            circuit.bytes.0 as f64,
        );
        out.gauge(metric::CIRCUIT_USERS, &[("circuit", &name)], circuit.users as f64);
        let (ratios, factors) = (circuit.ratios, circuit.factors);
        for (class, ratio, factor) in [
            ("witness", ratios.witness, factors.witness),
            ("shared", ratios.shared, factors.shared),
            ("working_set", ratios.working_set, factors.working_set),
        ] {
            let labels = [("circuit", name.as_str()), ("class", class)];
            out.gauge(metric::FOOTPRINT_RATIO, &labels, f64::from(ratio) / 1000.0);
            out.gauge(metric::FOOTPRINT_FACTOR, &labels, f64::from(factor) / 1000.0);
        }
    }
    for (prover, slot) in shared.slots.iter().zip(&view.slots) {
        out.gauge(metric::SLOT_BUSY, &[("slot", &prover.name())], f64::from(u8::from(slot.turn.is_some())));
    }
    let pauses = shared.priorities.pauses();
    out.gauge(metric::PAUSES, &[], pauses.count as f64);
    out.gauge(metric::PAUSED_SECONDS, &[], pauses.paused.as_secs_f64());
    out.gauge(metric::PAUSE_DELAY_SECONDS, &[], pauses.longest_delay.as_secs_f64());
    out.text(&shared.tally)
}
