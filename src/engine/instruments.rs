//! What one engine counts and times. What a worker touches is registered when the engine is opened, and used without a
//! lock: the proving path takes none that a scrape takes.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::Histogram;

use super::slot::Slots;
use crate::error::{Code, Result};
use crate::kind::{CircuitId, ProofKind};
use crate::schedule::Wait;
use crate::telemetry::metric::{self, Metric};
use crate::telemetry::{Counter, Exporter};
use crate::wire::await_proof_response::Status;

/// One of each for every proof kind.
pub(super) struct PerKind<T>([T; ProofKind::ALL.len()]);

impl<T> PerKind<T> {
    fn of(make: impl FnMut(ProofKind) -> T) -> PerKind<T> {
        PerKind(ProofKind::ALL.map(make))
    }

    pub fn get(&self, kind: ProofKind) -> &T {
        &self.0[kind as usize]
    }

    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
}

/// Work on one partition that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timed {
    Synthesis,
    Start,
    Finish,
    Verify,
    Diagnose,
}

impl Timed {
    const ALL: [Timed; 5] = [Timed::Synthesis, Timed::Start, Timed::Finish, Timed::Verify, Timed::Diagnose];

    pub fn name(self) -> &'static str {
        match self {
            Timed::Synthesis => "synthesis",
            Timed::Start => "start",
            Timed::Finish => "finish",
            Timed::Verify => "verify",
            Timed::Diagnose => "diagnose",
        }
    }
}

/// How jobs end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Completed,
    Failed,
    Cancelled,
}

impl Ended {
    const ALL: [Ended; 3] = [Ended::Completed, Ended::Failed, Ended::Cancelled];

    pub fn name(self) -> &'static str {
        match self {
            Ended::Completed => "completed",
            Ended::Failed => "failed",
            Ended::Cancelled => "cancelled",
        }
    }
}

impl From<Status> for Ended {
    fn from(status: Status) -> Ended {
        match status {
            Status::Completed => Ended::Completed,
            Status::Cancelled => Ended::Cancelled,
            _ => Ended::Failed,
        }
    }
}

/// The journal's counters.
pub(super) struct JournalCounts {
    pub kept: Counter,
    pub dropped: Counter,
    pub unreadable: Counter,
    pub set_aside: Counter,
}

/// Counters and times of one kind.
pub(super) struct KindCounts {
    pub accepted: Counter,
    pub from_journal: Counter,
    pub missed: Counter,
    answered: [(Counter, Late); Ended::ALL.len()],
    stages: [Histogram; Timed::ALL.len()],
    admissions: [Late; Wait::ALL.len()],
    slack: Late,
}

/// A histogram of what may never happen: in the text from its first value on, so that scrapes stay small.
struct Late {
    metric: &'static Metric,
    labels: Vec<(&'static str, &'static str)>,
    made: OnceLock<Histogram>,
}

impl Late {
    fn new(metric: &'static Metric, labels: &[(&'static str, &'static str)]) -> Late {
        Late { metric, labels: labels.to_vec(), made: OnceLock::new() }
    }

    fn record(&self, exporter: &Exporter, time: Duration) {
        let made = self.made.get_or_init(|| exporter.histogram(self.metric, &self.labels));
        made.record(time.as_secs_f64());
    }
}

/// Counters and times of one slot.
pub(super) struct SlotCounts {
    pub proofs: PerKind<Counter>,
    pub not_verified: Counter,
    busy: Histogram,
}

/// Everything that one engine counts and times.
pub(super) struct Instruments {
    pub exporter: Exporter,
    pub kinds: PerKind<KindCounts>,
    slots: Vec<SlotCounts>,
    refused: [Counter; Code::ALL.len()],
    pub fallbacks: Counter,
    pub panics: Counter,
    pub faults: Counter,
    pub pauses: Histogram,
    pub journal: JournalCounts,
}

impl JournalCounts {
    pub fn new(exporter: &Exporter) -> JournalCounts {
        let plain = |metric| exporter.counter(metric, &[]);
        JournalCounts {
            kept: plain(&metric::JOURNAL_KEPT),
            dropped: plain(&metric::JOURNAL_DROPPED),
            unreadable: plain(&metric::JOURNAL_UNREADABLE),
            set_aside: plain(&metric::JOURNAL_SET_ASIDE),
        }
    }
}

impl KindCounts {
    fn new(exporter: &Exporter, kind: ProofKind) -> KindCounts {
        let kind = ("proof_kind", kind.name());
        let counter = |metric: &'static Metric| exporter.counter(metric, &[kind]);
        let histogram = |metric, label, value| exporter.histogram(metric, &[kind, (label, value)]);
        KindCounts {
            accepted: counter(&metric::ACCEPTED),
            from_journal: counter(&metric::JOURNAL_ANSWERED),
            missed: counter(&metric::DEADLINE_MISSES),
            answered: Ended::ALL.map(|ended| {
                let labels = [kind, ("result", ended.name())];
                (exporter.counter(&metric::ANSWERED, &labels), Late::new(&metric::JOB_SECONDS, &labels))
            }),
            stages: Timed::ALL.map(|stage| histogram(&metric::STAGE_SECONDS, "stage", stage.name())),
            admissions: Wait::ALL
                .map(|wait| Late::new(&metric::ADMISSION_SECONDS, &[kind, ("reason", reason(wait))])),
            slack: Late::new(&metric::DEADLINE_SLACK, &[kind]),
        }
    }

    /// A piece of work on a partition took so long.
    pub fn took(&self, stage: Timed, time: Duration) {
        self.stages[stage as usize].record(time.as_secs_f64());
    }

    /// A request waited so long for its first synthesis, last for this.
    pub fn admitted(&self, exporter: &Exporter, wait: Wait, time: Duration) {
        self.admissions[wait as usize].record(exporter, time);
    }

    /// A request has its answer, so long after it was accepted.
    pub fn ended(&self, exporter: &Exporter, ended: Ended, time: Duration) {
        let (count, times) = &self.answered[ended as usize];
        count.one();
        times.record(exporter, time);
    }

    /// A proved request had so much time left.
    pub fn slack(&self, exporter: &Exporter, left: Duration) {
        self.slack.record(exporter, left);
    }

    /// Requests that ended so.
    pub fn count(&self, ended: Ended) -> u64 {
        self.answered[ended as usize].0.value()
    }
}

/// A wait's name as a label.
pub(super) fn reason(wait: Wait) -> &'static str {
    match wait {
        Wait::Nothing => "none",
        wait => wait.name(),
    }
}

impl SlotCounts {
    fn new(exporter: &Exporter, device: &str) -> SlotCounts {
        let device = ("device", device);
        SlotCounts {
            proofs: PerKind::of(|kind| {
                exporter.counter(&metric::PROOFS, &[("proof_kind", kind.name()), device])
            }),
            not_verified: exporter.counter(&metric::VERIFICATION_FAILURES, &[device]),
            busy: exporter.histogram(&metric::DEVICE_BUSY_SECONDS, &[device]),
        }
    }

    /// Its device was occupied for so long.
    pub fn was_busy(&self, time: Duration) {
        self.busy.record(time.as_secs_f64());
    }
}

impl Instruments {
    pub fn new(exporter: Exporter, slots: &Slots) -> Instruments {
        let plain = |metric| exporter.counter(metric, &[]);
        let slot = |device| SlotCounts::new(&exporter, device);
        Instruments {
            kinds: PerKind::of(|kind| KindCounts::new(&exporter, kind)),
            slots: slots.iter().map(|prover| slot(prover.backend.name())).collect(),
            refused: Code::ALL.map(|code| exporter.counter(&metric::REFUSED, &[("reason", code.name())])),
            fallbacks: exporter.counter(&metric::FALLBACKS, &[("reason", "not_verified")]),
            panics: plain(&metric::PANICS),
            faults: plain(&metric::FAULTS),
            pauses: exporter.histogram(&metric::PAUSE_SECONDS, &[]),
            journal: JournalCounts::new(&exporter),
            exporter,
        }
    }

    /// A slot's counters; none of a slot that is not there.
    pub fn slot(&self, slot: usize) -> Option<&SlotCounts> {
        self.slots.get(slot)
    }

    /// Counters of a device.
    pub fn device(&self, name: &str) -> SlotCounts {
        SlotCounts::new(&self.exporter, name)
    }

    /// A request was refused with this code.
    pub fn refused(&self, code: Code) {
        if let Some(at) = Code::ALL.iter().position(|known| *known == code) {
            self.refused[at].one();
        }
    }

    /// Requests refused.
    pub fn refusals(&self) -> u64 {
        self.refused.iter().map(Counter::value).sum()
    }

    /// Partitions proved and verified.
    pub fn proofs(&self) -> u64 {
        self.slots.iter().flat_map(|slot| slot.proofs.iter()).map(Counter::value).sum()
    }

    /// Proofs that did not verify.
    pub fn failures(&self) -> u64 {
        self.slots.iter().map(|slot| slot.not_verified.value()).sum()
    }

    /// A circuit was loaded, or could not be. Loads are rare: their counters are made when they happen.
    pub fn loaded(&self, circuit: CircuitId, took: Option<Duration>) {
        let circuit = circuit.to_string();
        let result = if took.is_some() { "loaded" } else { "failed" };
        let labels = [("circuit", circuit.as_str()), ("result", result)];
        self.exporter.counter(&metric::CIRCUIT_LOADS, &labels).one();
        self.exporter.counter(&metric::CIRCUIT_EVICTIONS, &labels[..1]);
        if let Some(took) = took {
            let times = self.exporter.histogram(&metric::CIRCUIT_LOAD_SECONDS, &labels[..1]);
            times.record(took.as_secs_f64());
        }
    }

    /// A circuit left memory.
    pub fn evicted(&self, circuit: CircuitId) {
        let circuit = circuit.to_string();
        self.exporter.counter(&metric::CIRCUIT_EVICTIONS, &[("circuit", &circuit)]).one();
    }
}

impl Instruments {
    /// Opens an exporter with everything in it.
    pub fn open(slots: &Slots) -> Result<Instruments> {
        Ok(Instruments::new(Exporter::new()?, slots))
    }
}
