//! A snapshot as text, for scripts.

use super::model::Status;
use super::view::{
    age, bytes, cells, class, deadline, error_line, failed, one_line, stages, works_on, CLASSES,
};
use crate::columns;

/// Failed requests that are named.
const ERRORS: usize = 8;

/// Everything, in paragraphs that are apart by an empty line.
pub fn plain(status: &Status) -> String {
    let mut parts = vec![summary(status), queues(status), slots(status), circuits(status), requests(status)];
    let errors: Vec<_> =
        status.recent.iter().filter(|job| failed(job)).take(ERRORS).map(error_line).collect();
    if !errors.is_empty() {
        parts.push(format!("last errors\n{}\n", errors.join("\n")));
    }
    parts.join("\n")
}

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| one_line(cell)).collect()
}

fn summary(status: &Status) -> String {
    let (memory, totals) = (&status.memory, &status.totals);
    let classes = CLASSES.map(|(name, title, _)| format!("{title} {}", bytes(class(status, name))));
    let stages = stages(status).map(|(name, count)| format!("{name} {count}"));
    let mut text = format!(
        "forebay {} ({}): {}, up {}\n",
        one_line(&status.library),
        one_line(&status.kernels),
        one_line(&status.state),
        age(status.uptime_seconds.saturating_mul(1000)),
    );
    text += &format!(
        "memory: {} promised of {}, most {}; resident {}, {} outside buffers; {} left; pressure {:.1} %{}; {} overruns\n",
        bytes(memory.reserved),
        bytes(memory.limit),
        bytes(memory.peak),
        bytes(status.process.resident),
        bytes(status.process.unbooked),
        bytes(memory.left),
        memory.pressure,
        if memory.pressed { ", sealing is slowed" } else { "" },
        memory.overruns,
    );
    text += &format!("by class: {}\npartitions: {}\n", classes.join(", "), stages.join(", "));
    text += &format!(
        "requests: {} proved, {} failed, {} cancelled, {} refused; proofs not verified: {}; panics: {}\n",
        totals.completed,
        totals.failed,
        totals.cancelled,
        totals.refused,
        totals.verification_failures,
        totals.panics,
    );
    text
}

fn queues(status: &Status) -> String {
    let mut rows = vec![row(&["kind", "waiting", "in progress", "headroom", "next deadline"])];
    rows.extend(status.queues.iter().map(|queue| {
        let counts = [queue.pending, queue.in_progress, queue.headroom].map(|count| count.to_string());
        row(&[&queue.kind, &counts[0], &counts[1], &counts[2], &deadline(queue.next_deadline_ms)])
    }));
    columns::render(&rows)
}

fn slots(status: &Status) -> String {
    let mut rows = vec![row(&["slot", "works on", "promised"])];
    rows.extend(status.slots.iter().map(|slot| {
        row(&[&slot.name, &works_on(status, &slot.job_id, slot.partition), &bytes(slot.reserved)])
    }));
    columns::render(&rows)
}

fn circuits(status: &Status) -> String {
    let mut rows = vec![row(&["circuit", "state", "promised", "users"])];
    rows.extend(status.circuits.iter().map(|circuit| {
        row(&[&circuit.circuit, &circuit.state, &bytes(circuit.bytes), &circuit.users.to_string()])
    }));
    columns::render(&rows)
}

fn requests(status: &Status) -> String {
    let mut rows = vec![row(&["request", "kind", "waits for", "proved", "age", "time left"])];
    rows.extend(status.jobs.iter().map(|job| row(&cells(job).each_ref().map(String::as_str))));
    columns::render(&rows)
}
