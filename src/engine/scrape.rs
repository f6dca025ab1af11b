//! The metrics as text. What lives on the scheduler's thread is read there, at one moment.

use std::sync::Arc;

use super::entry::{lock, JobEntry};
use super::instruments::reason;
use super::lifecycle::{Passage, Place};
use super::shared::Shared;
use super::slot::CPU;
use super::snapshot::{cells, deadlines, look, memory, process, View};
use super::status::MemoryStatus;
use crate::kind::ProofKind;
use crate::memory::usage;
use crate::schedule::{CircuitView, Wait};
use crate::telemetry::{metric, Exporter};
use crate::units::Bytes;

/// Every metric in Prometheus' text format.
pub(super) fn metrics(shared: &Shared) -> String {
    shared.instruments.exporter.text(|exporter| {
        let view = look(shared);
        engine(exporter, shared);
        budget(exporter, shared, &view);
        buffers(exporter, &view);
        partitions(exporter, &view);
        jobs(exporter, shared, &view);
        for circuit in &view.circuits {
            circuit_gauges(exporter, shared, circuit);
        }
        slots(exporter, shared, &view);
    })
}

fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

fn engine(out: &Exporter, shared: &Shared) {
    let config = &shared.config;
    let labels = [
        ("version", env!("CARGO_PKG_VERSION")),
        ("backend", if shared.slots.iter().any(|slot| slot.backend.name() != CPU) { "gpu" } else { CPU }),
        ("kernels", config.kernels.name().unwrap_or("unknown")),
    ];
    out.gauge(&metric::BUILD_INFO, &labels, 1.0);
    out.gauge(&metric::UPTIME, &[], shared.opened.elapsed().as_secs_f64());
    if let Some(journal) = &shared.journal {
        out.gauge(&metric::JOURNAL_PROOFS, &[], journal.len() as f64);
    }
    let missing = lock(&shared.missing).clone();
    for kind in ProofKind::ALL {
        let labels = [("proof_kind", kind.name())];
        out.gauge(&metric::PARAMETERS_MISSING, &labels, flag(missing.contains(&kind)));
    }
    let pauses = shared.priorities.pauses();
    out.total(&metric::PAUSES, &[], pauses.count);
    out.gauge(&metric::PAUSE_DELAY, &[], pauses.longest_delay.as_secs_f64());
}

fn budget(out: &Exporter, shared: &Shared, view: &View) {
    let promised = &view.memory;
    out.gauge(&metric::BUDGET, &[], promised.limit as f64);
    out.gauge(&metric::CEILING, &[], promised.ceiling as f64);
    out.gauge(&metric::RESERVED_PEAK, &[], promised.peak as f64);
    out.gauge(&metric::PRESSED, &[], flag(promised.pressed));
    out.total(&metric::OVERRUNS, &[], promised.overruns);
    let seen = memory(shared, MemoryStatus::default());
    out.gauge(&metric::LEFT, &[], seen.left as f64);
    out.gauge(&metric::PRESSURE, &[], seen.pressure / 100.0);
    let process = process(shared);
    out.gauge(&metric::UNBOOKED, &[], process.unbooked as f64);
    for (name, bytes) in [("anonymous", process.anonymous), ("file", process.file)] {
        out.gauge(&metric::RESIDENT, &[("type", name)], bytes as f64);
    }
}

fn buffers(out: &Exporter, view: &View) {
    for (class, stage) in cells() {
        let labels = [("class", class.name()), ("stage", stage.name())];
        let reserved = view.reserved.get(&(class, stage)).copied().unwrap_or(0);
        out.gauge(&metric::RESERVED, &labels, reserved as f64);
        let flow = usage::flow(class, stage);
        out.gauge(&metric::BUFFERS, &labels, flow.buffers() as f64);
        out.gauge(&metric::BUFFER_BYTES, &labels, flow.bytes.0 as f64);
        out.total(&metric::BUFFERS_ENTERED, &labels, flow.entered);
        out.total(&metric::BUFFERS_LEFT, &labels, flow.left);
    }
}

fn partitions(out: &Exporter, view: &View) {
    for kind in ProofKind::ALL {
        let name = ("proof_kind", kind.name());
        let at = |stage, count| out.gauge(&metric::PARTITIONS, &[name, ("stage", stage)], count);
        at("waiting", view.waiting[kind as usize] as f64);
        let steps = &view.steps[kind as usize];
        for place in Place::ALL {
            at(place.name(), steps.places[place as usize] as f64);
        }
        for passage in Passage::ALL {
            let count = steps.events[passage as usize];
            out.total(&metric::PARTITION_EVENTS, &[name, ("event", passage.name())], count);
        }
        let claims = view.claims[kind as usize];
        for (class, count) in [("witness", claims.witness), ("turn", claims.turn), ("finish", claims.finish)]
        {
            out.gauge(&metric::CLAIMS, &[name, ("class", class)], count as f64);
        }
    }
}

fn jobs(out: &Exporter, shared: &Shared, view: &View) {
    for wait in Wait::ALL.into_iter().filter(|wait| *wait != Wait::Nothing) {
        let waiting = view.waits.get(&wait).copied().unwrap_or(0);
        out.gauge(&metric::WAITING, &[("reason", reason(wait))], waiting as f64);
    }
    for (kind, counts, headroom) in &view.queues {
        let name = ("proof_kind", kind.name());
        for (state, count) in [("pending", counts.pending), ("in_progress", counts.in_progress)] {
            out.gauge(&metric::JOBS, &[name, ("state", state)], count as f64);
        }
        out.gauge(&metric::HEADROOM, &[name], *headroom as f64);
    }
    let unanswered = shared.registry.unanswered();
    let next = deadlines(&unanswered);
    for kind in ProofKind::ALL {
        let name = [("proof_kind", kind.name())];
        out.gauge(&metric::OLDEST, &name, oldest(&unanswered, kind));
        let left = next[kind as usize].map_or(f64::NAN, |left| left as f64 / 1000.0);
        // Only a kind with a limit has the gauge; without an unfinished request it says nothing.
        if shared.config.timeouts.contains_key(&kind) {
            out.gauge(&metric::DEADLINE_LEFT, &name, left);
        }
    }
}

fn oldest(unanswered: &[Arc<JobEntry>], kind: ProofKind) -> f64 {
    let of_kind = unanswered.iter().filter(|entry| entry.identity.kind == kind);
    of_kind.map(|entry| entry.accepted.elapsed().as_secs_f64()).fold(0.0, f64::max)
}

fn circuit_gauges(out: &Exporter, shared: &Shared, view: &CircuitView) {
    let name = view.circuit.to_string();
    let circuit = ("circuit", name.as_str());
    for state in ["loading", "resident", "leaving"] {
        let bytes = if view.state == state { view.bytes } else { Bytes::ZERO };
        out.gauge(&metric::CIRCUIT_BYTES, &[circuit, ("state", state)], bytes.0 as f64);
    }
    out.gauge(&metric::CIRCUIT_USERS, &[circuit], view.users as f64);
    let projected = shared.projected(view.circuit);
    let (ratios, factors) = (view.ratios, view.factors);
    for (class, bytes, ratio, factor) in [
        ("witness", projected.map(|p| p.witness), ratios.witness, factors.witness),
        ("shared", projected.map(|p| p.shared), ratios.shared, factors.shared),
        ("working_set", projected.map(|p| p.working_set), ratios.working_set, factors.working_set),
    ] {
        let labels = [circuit, ("class", class)];
        if let Some(bytes) = bytes {
            out.gauge(&metric::PROJECTED, &labels, bytes.0 as f64);
        }
        out.gauge(&metric::MEASURED, &labels, f64::from(ratio) / 1000.0);
        out.gauge(&metric::FACTOR, &labels, f64::from(factor) / 1000.0);
    }
}

fn slots(out: &Exporter, shared: &Shared, view: &View) {
    for (prover, slot) in shared.slots.iter().zip(&view.slots) {
        out.gauge(&metric::SLOT_BUSY, &[("slot", &prover.name())], flag(slot.turn.is_some()));
        let device = prover.backend.name();
        if device == CPU {
            continue;
        }
        let memory = prover.backend.device_memory();
        out.gauge(&metric::DEVICE_MEMORY, &[("device", device)], memory.0 as f64);
        out.gauge(&metric::DEVICE_RESERVED, &[("device", device)], slot.device.0 as f64);
    }
}
