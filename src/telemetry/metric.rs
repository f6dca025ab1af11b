//! Every metric: name, kind, unit, labels and help. Nothing else names one.

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts values by size, in [`BUCKETS`].
    Histogram,
}

/// What a value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// A share or a quotient; 1 is the whole.
    Ratio,
    /// 0 or 1.
    Flag,
}

impl Kind {
    /// The word in the exposition's `TYPE` line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

impl Unit {
    /// The word for people.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Count => "count",
            Unit::Bytes => "bytes",
            Unit::Seconds => "seconds",
            Unit::Ratio => "ratio",
            Unit::Flag => "0 or 1",
        }
    }

    /// How the names of such metrics end, `_total` aside.
    pub fn suffix(self) -> Option<&'static str> {
        match self {
            Unit::Count | Unit::Flag => None,
            Unit::Bytes => Some("_bytes"),
            Unit::Seconds => Some("_seconds"),
            Unit::Ratio => Some("_ratio"),
        }
    }
}

/// Upper bounds of a histogram's buckets, in seconds: the miner's own for its tasks, and smaller ones for PoSt.
pub const BUCKETS: [f64; 20] = [
    0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 3.0, 6.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0,
    7200.0, 18000.0, 36000.0,
];

/// One metric family.
#[derive(Debug)]
pub struct Metric {
    /// Full name; ends in its unit, and in `_total` where it is a counter.
    pub name: &'static str,
    /// How it behaves.
    pub kind: Kind,
    /// What its values are of.
    pub unit: Unit,
    /// The labels of its samples, in order.
    pub labels: &'static [&'static str],
    /// Its help text.
    pub help: &'static str,
}

macro_rules! metrics {
    ($($constant:ident: $kind:ident $unit:ident $name:literal [$($label:literal),*], $help:literal;)*) => {
        $(#[doc = $help] pub static $constant: Metric = Metric {
            name: $name, kind: Kind::$kind, unit: Unit::$unit, labels: &[$($label),*], help: $help,
        };)*
        /// Every metric.
        pub static ALL: &[&Metric] = &[$(&$constant),*];
    };
}

metrics! {
    BUILD_INFO: Gauge Count "forebay_build_info" ["version", "backend", "kernels"], "1; the labels say which library this is and what it proves with.";
    UPTIME: Gauge Seconds "forebay_uptime_seconds" [], "Time since the engine was opened.";

    BUDGET: Gauge Bytes "forebay_memory_budget_bytes" [], "The budget: bytes that may be promised now.";
    CEILING: Gauge Bytes "forebay_memory_ceiling_bytes" [], "The most that the budget can become.";
    RESERVED: Gauge Bytes "forebay_memory_reserved_bytes" ["class", "stage"], "Bytes promised now.";
    RESERVED_PEAK: Gauge Bytes "forebay_memory_reserved_peak_bytes" [], "Most bytes ever promised.";
    OVERRUNS: Counter Count "forebay_memory_overruns_total" [], "Times a step held more than was promised for it.";
    LEFT: Gauge Bytes "forebay_memory_left_bytes" [], "Bytes that the machine or its tightest control group leaves.";
    PRESSURE: Gauge Ratio "forebay_memory_pressure_ratio" [], "Share of the last ten seconds in which something on the machine waited for memory (PSI).";
    PRESSED: Gauge Flag "forebay_memory_pressed" [], "Whether sealing is slowed because of that.";
    BUFFERS: Gauge Count "forebay_memory_buffers" ["class", "stage"], "Large buffers in flight, of the whole process.";
    BUFFER_BYTES: Gauge Bytes "forebay_memory_buffer_bytes" ["class", "stage"], "Bytes of the large buffers in flight.";
    BUFFERS_ENTERED: Counter Count "forebay_memory_buffers_entered_total" ["class", "stage"], "Large buffers that were made in a stage or came into it.";
    BUFFERS_LEFT: Counter Count "forebay_memory_buffers_left_total" ["class", "stage"], "Large buffers that left a stage or were freed in it.";
    RESIDENT: Gauge Bytes "forebay_process_resident_bytes" ["type"], "Resident bytes of the process, the host included.";
    UNBOOKED: Gauge Bytes "forebay_process_unbooked_bytes" [], "Anonymous bytes that no large buffer accounts for: heap, stacks, and the host's own.";
    PROJECTED: Gauge Bytes "forebay_footprint_projected_bytes" ["circuit", "class"], "Projected bytes of one witness, of what all partitions share, of a slot's largest working set.";
    MEASURED: Gauge Ratio "forebay_footprint_measured_ratio" ["circuit", "class"], "Largest measured memory over its projection; 0: not measured yet.";
    FACTOR: Gauge Ratio "forebay_footprint_factor_ratio" ["circuit", "class"], "What projections are multiplied by, because more was measured; 1: nothing.";

    PARTITIONS: Gauge Count "forebay_partitions" ["proof_kind", "stage"], "Partitions by stage; those of ended requests too, as long as their memory exists.";
    PARTITION_EVENTS: Counter Count "forebay_partition_events_total" ["proof_kind", "event"], "Partitions that went from one stage to the next; agrees with the gauges at every scrape.";
    CLAIMS: Gauge Count "forebay_claims" ["proof_kind", "class"], "Claims that hold promised bytes.";
    JOBS: Gauge Count "forebay_jobs" ["proof_kind", "state"], "Unfinished requests.";
    WAITING: Gauge Count "forebay_jobs_waiting" ["reason"], "Unfinished requests that wait.";
    ACCEPTED: Counter Count "forebay_jobs_accepted_total" ["proof_kind"], "Requests accepted.";
    REFUSED: Counter Count "forebay_jobs_refused_total" ["reason"], "Requests refused at the door, by error code.";
    ANSWERED: Counter Count "forebay_jobs_answered_total" ["proof_kind", "result"], "Requests answered.";
    HEADROOM: Gauge Count "forebay_headroom_requests" ["proof_kind"], "Requests that would be accepted now without making an earlier one wait longer for memory.";
    OLDEST: Gauge Seconds "forebay_oldest_request_seconds" ["proof_kind"], "Age of the oldest unfinished request; 0 without one.";
    DEADLINE_LEFT: Gauge Seconds "forebay_deadline_left_seconds" ["proof_kind"], "Least time that an unfinished request has left (timeouts.*); NaN while there is none, absent where the kind has no limit.";
    DEADLINE_MISSES: Counter Count "forebay_deadline_misses_total" ["proof_kind"], "Requests whose time ran out before they were proved.";
    PROOFS: Counter Count "forebay_proofs_total" ["proof_kind", "device"], "Partitions proved and verified.";
    VERIFICATION_FAILURES: Counter Count "forebay_verification_failures_total" ["device"], "Finished proofs that did not verify.";
    FALLBACKS: Counter Count "forebay_fallbacks_total" ["reason"], "Partitions that the processor proved in a device's place.";
    PANICS: Counter Count "forebay_panics_total" [], "Panics caught; each failed one job at most.";
    FAULTS: Counter Count "forebay_scheduler_faults_total" [], "Broken invariants of the pipeline; a bug each.";

    STAGE_SECONDS: Histogram Seconds "forebay_stage_seconds" ["proof_kind", "stage"], "How long a stage took for one partition.";
    JOB_SECONDS: Histogram Seconds "forebay_job_seconds" ["proof_kind", "result"], "From acceptance to the answer.";
    ADMISSION_SECONDS: Histogram Seconds "forebay_admission_wait_seconds" ["proof_kind", "reason"], "From acceptance to the first synthesis, by what it waited for last.";
    DEADLINE_SLACK: Histogram Seconds "forebay_deadline_slack_seconds" ["proof_kind"], "Time that a proved request had left.";

    CIRCUIT_BYTES: Gauge Bytes "forebay_circuit_bytes" ["circuit", "state"], "Bytes promised for a circuit's proving key and matrices.";
    CIRCUIT_USERS: Gauge Count "forebay_circuit_users" ["circuit"], "Partitions that use a circuit.";
    CIRCUIT_LOADS: Counter Count "forebay_circuit_loads_total" ["circuit", "result"], "Loads of a circuit.";
    CIRCUIT_LOAD_SECONDS: Histogram Seconds "forebay_circuit_load_seconds" ["circuit"], "How long loading a circuit took.";
    CIRCUIT_EVICTIONS: Counter Count "forebay_circuit_evictions_total" ["circuit"], "Times a circuit left memory.";
    PARAMETERS_MISSING: Gauge Flag "forebay_parameters_missing" ["proof_kind"], "Whether an enabled kind has no parameters of any sector size.";
    SLOT_BUSY: Gauge Flag "forebay_slot_busy" ["slot"], "Whether a prover slot works on a partition.";
    DEVICE_BUSY_SECONDS: Histogram Seconds "forebay_device_busy_seconds" ["device"], "How long a heavy step occupied its device.";
    DEVICE_MEMORY: Gauge Bytes "forebay_device_memory_bytes" ["device"], "Bytes of a device's memory that proofs may use.";
    DEVICE_RESERVED: Gauge Bytes "forebay_device_reserved_bytes" ["device"], "Bytes of a device's memory promised now.";

    PAUSES: Counter Count "forebay_pauses_total" [], "Times a thread stopped between two chunks of work because more urgent work ran.";
    PAUSE_SECONDS: Histogram Seconds "forebay_pause_seconds" [], "How long a paused thread stood still.";
    PAUSE_DELAY: Gauge Seconds "forebay_pause_delay_seconds" [], "Longest time from the beginning of an urgent step until every less urgent thread had stopped.";

    JOURNAL_PROOFS: Gauge Count "forebay_journal_proofs" [], "Finished proofs that the journal holds; absent without a journal.";
    JOURNAL_KEPT: Counter Count "forebay_journal_kept_total" [], "Finished proofs written to the journal and synced.";
    JOURNAL_ANSWERED: Counter Count "forebay_journal_answered_total" ["proof_kind"], "Requests answered from the journal.";
    JOURNAL_DROPPED: Counter Count "forebay_journal_dropped_total" [], "Finished proofs that were not kept: the journal was locked, failing or too slow.";
    JOURNAL_UNREADABLE: Counter Count "forebay_journal_unreadable_total" [], "Kept proofs that could not be read back.";
    JOURNAL_SET_ASIDE: Counter Count "forebay_journal_set_aside_total" [], "Journal files that could not be read and were set aside.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_say_their_unit() {
        let mut names = std::collections::HashSet::new();
        for metric in ALL {
            let name = metric.name;
            assert!(names.insert(name), "{name}");
            assert!(name.starts_with("forebay_") && metric.help.ends_with('.'), "{name}");
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
            assert_eq!(name.ends_with("_total"), metric.kind == Kind::Counter, "{name}");
            let stem = name.strip_suffix("_total").unwrap_or(name);
            assert!(metric.unit.suffix().is_none_or(|suffix| stem.ends_with(suffix)), "{name}");
            assert!(metric.kind != Kind::Histogram || metric.unit == Unit::Seconds, "{name}");
        }
    }

    #[test]
    fn buckets_grow() {
        assert!(BUCKETS.is_sorted_by(|a, b| a < b));
    }
}
