//! Every metric: name, unit, kind and help. Nothing else names one.

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
}

impl Kind {
    /// The word in the exposition's `TYPE` line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        }
    }
}

/// One metric family.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Metric {
    /// Full name; ends in its unit, and in `_total` where it is a counter.
    pub name: &'static str,
    /// Its help text.
    pub help: &'static str,
}

impl Metric {
    /// Counters end in `_total`, all others are gauges.
    pub fn kind(&self) -> Kind {
        if self.name.ends_with("_total") {
            Kind::Counter
        } else {
            Kind::Gauge
        }
    }
}

macro_rules! metrics {
    ($($constant:ident = $name:literal, $help:literal;)*) => {
        $(#[doc = $help] pub const $constant: &Metric = &Metric { name: $name, help: $help };)*
        /// Every metric.
        pub const ALL: &[&Metric] = &[$($constant),*];
    };
}

metrics! {
    BUDGET_BYTES = "forebay_memory_budget_bytes", "The budget: bytes that may be promised now.";
    RESERVED_BYTES = "forebay_memory_reserved_bytes", "Bytes promised now, by class and stage.";
    PEAK_BYTES = "forebay_memory_reserved_peak_bytes", "Most bytes ever promised.";
    OVERRUNS = "forebay_memory_overruns_total", "Times a step held more than was promised for it.";
    LEFT_BYTES = "forebay_memory_left_bytes", "Bytes that the machine or its tightest control group leaves now.";
    PRESSURE = "forebay_memory_pressure_ratio", "Share of the last ten seconds in which something on the machine waited for memory (PSI).";
    UNBOOKED_BYTES = "forebay_process_unbooked_bytes", "Anonymous bytes that no large buffer accounts for: heap, stacks, and the host's own.";
    FOOTPRINT_RATIO = "forebay_footprint_measured_ratio", "Largest measured memory over its projection, by circuit and class; 0: not measured yet.";
    FOOTPRINT_FACTOR = "forebay_footprint_factor_ratio", "What a circuit's projections are multiplied by, because more was measured.";
    WAITING = "forebay_jobs_waiting", "Unfinished requests that wait, by reason.";
    BUFFERS = "forebay_memory_buffers", "Large buffers of this process, by class and stage.";
    BUFFER_BYTES = "forebay_memory_buffer_bytes", "Bytes of the large buffers of this process, by class and stage.";
    RESIDENT_BYTES = "forebay_process_resident_bytes", "Resident bytes of the process, the host included, by type.";
    JOBS = "forebay_jobs", "Unfinished requests, by kind and state.";
    HEADROOM = "forebay_headroom_requests", "Requests of a kind that would be accepted now without making an earlier one wait longer for memory.";
    ACCEPTED = "forebay_jobs_accepted_total", "Requests accepted, by kind.";
    REFUSED = "forebay_jobs_refused_total", "Requests refused at the door, by code.";
    ANSWERED = "forebay_jobs_answered_total", "Requests answered, by kind and result.";
    PROOFS = "forebay_proofs_total", "Partitions proved and verified, by kind and device.";
    STAGE_SECONDS = "forebay_stage_seconds_total", "Seconds spent in a stage, summed over partitions, by kind and stage.";
    STAGE_RUNS = "forebay_stage_runs_total", "Runs of a stage, by kind and stage.";
    VERIFICATION_FAILURES = "forebay_verification_failures_total", "Finished proofs that did not verify, by device.";
    PANICS = "forebay_panics_total", "Panics caught; each failed one job at most.";
    FAULTS = "forebay_scheduler_faults_total", "Broken invariants of the scheduler; a bug each.";
    CIRCUIT_BYTES = "forebay_circuit_bytes", "Bytes promised for a circuit's proving key and matrices, by circuit and state.";
    CIRCUIT_USERS = "forebay_circuit_users", "Partitions that use a circuit.";
    SLOT_BUSY = "forebay_slot_busy", "Whether a prover slot works on a partition, by slot.";
    PAUSES = "forebay_pauses_total", "Times a thread stopped between two chunks of work because more urgent work ran.";
    PAUSED_SECONDS = "forebay_paused_seconds_total", "Seconds that paused threads stood still, summed over threads.";
    PAUSE_DELAY_SECONDS = "forebay_pause_delay_seconds", "Longest time from the beginning of an urgent step until every less urgent thread had stopped.";
    JOURNAL_PROOFS = "forebay_journal_proofs", "Finished proofs that the journal holds.";
    JOURNAL_KEPT = "forebay_journal_kept_total", "Finished proofs written to the journal and synced.";
    JOURNAL_ANSWERED = "forebay_journal_answered_total", "Requests answered from the journal, by kind.";
    JOURNAL_DROPPED = "forebay_journal_dropped_total", "Finished proofs that were not kept: the journal was locked, failing or too slow.";
    JOURNAL_UNREADABLE = "forebay_journal_unreadable_total", "Kept proofs that could not be read back.";
    JOURNAL_SET_ASIDE = "forebay_journal_set_aside_total", "Journal files that could not be read and were set aside.";
    UPTIME_SECONDS = "forebay_uptime_seconds", "Seconds since the engine was opened.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_well_formed() {
        let mut names = std::collections::HashSet::new();
        for metric in ALL {
            assert!(names.insert(metric.name), "{}", metric.name);
            assert!(metric.name.starts_with("forebay_") && metric.help.ends_with('.'), "{}", metric.name);
            assert!(metric.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", metric.name);
        }
    }
}
