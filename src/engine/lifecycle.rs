//! Where every partition is, and which steps partitions took so far. Lives on the scheduler's thread: whoever reads it
//! there sees events, gauges and claims of one moment.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::entry::JobEntry;
use crate::kind::ProofKind;
use crate::memory::ClaimId;
use crate::schedule::JobId;

/// Where a partition is once its memory is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Synthesis,
    Queued,
    Proving,
    Proved,
    Finishing,
    /// Nothing more happens with it; its memory still exists.
    Freeing,
}

impl Place {
    pub const ALL: [Place; 6] =
        [Place::Synthesis, Place::Queued, Place::Proving, Place::Proved, Place::Finishing, Place::Freeing];

    pub fn name(self) -> &'static str {
        match self {
            Place::Synthesis => "synthesis",
            Place::Queued => "queued",
            Place::Proving => "proving",
            Place::Proved => "proved",
            Place::Finishing => "finishing",
            Place::Freeing => "freeing",
        }
    }

    /// The step that its memory's end means where nothing else was told.
    fn given_up(self) -> Option<Passage> {
        match self {
            Place::Synthesis => Some(Passage::SynthesisFailed),
            Place::Queued => Some(Passage::Withdrawn),
            Place::Proving => Some(Passage::ProvingFailed),
            Place::Proved => Some(Passage::ProofWithdrawn),
            Place::Finishing => Some(Passage::FinishFailed),
            Place::Freeing => None,
        }
    }
}

/// A step from one place to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Passage {
    SynthesisStarted,
    SynthesisDone,
    SynthesisFailed,
    ProvingStarted,
    EvaluationFreed,
    ProvingFailed,
    FinishStarted,
    FinishDone,
    FinishFailed,
    NotVerified,
    Withdrawn,
    ProofWithdrawn,
    DeallocDone,
}

impl Passage {
    pub const ALL: [Passage; 13] = [
        Passage::SynthesisStarted,
        Passage::SynthesisDone,
        Passage::SynthesisFailed,
        Passage::ProvingStarted,
        Passage::EvaluationFreed,
        Passage::ProvingFailed,
        Passage::FinishStarted,
        Passage::FinishDone,
        Passage::FinishFailed,
        Passage::NotVerified,
        Passage::Withdrawn,
        Passage::ProofWithdrawn,
        Passage::DeallocDone,
    ];

    /// Its name, whence and whither.
    fn table(self) -> (&'static str, Option<Place>, Option<Place>) {
        use Place::{Finishing, Freeing, Proved, Proving, Queued, Synthesis};
        match self {
            Passage::SynthesisStarted => ("synthesis_started", None, Some(Synthesis)),
            Passage::SynthesisDone => ("synthesis_done", Some(Synthesis), Some(Queued)),
            Passage::SynthesisFailed => ("synthesis_failed", Some(Synthesis), Some(Freeing)),
            Passage::ProvingStarted => ("proving_started", Some(Queued), Some(Proving)),
            Passage::EvaluationFreed => ("evaluation_freed", Some(Proving), Some(Proved)),
            Passage::ProvingFailed => ("proving_failed", Some(Proving), Some(Freeing)),
            Passage::FinishStarted => ("finish_started", Some(Proved), Some(Finishing)),
            Passage::FinishDone => ("finish_done", Some(Finishing), Some(Freeing)),
            Passage::FinishFailed => ("finish_failed", Some(Finishing), Some(Freeing)),
            Passage::NotVerified => ("not_verified", Some(Finishing), Some(Queued)),
            Passage::Withdrawn => ("withdrawn", Some(Queued), Some(Freeing)),
            Passage::ProofWithdrawn => ("proof_withdrawn", Some(Proved), Some(Freeing)),
            Passage::DeallocDone => ("dealloc_done", Some(Freeing), None),
        }
    }

    pub fn name(self) -> &'static str {
        self.table().0
    }

    pub fn from(self) -> Option<Place> {
        self.table().1
    }

    pub fn to(self) -> Option<Place> {
        self.table().2
    }
}

struct Inside {
    entry: Arc<JobEntry>,
    place: Place,
    since: Instant,
}

/// A partition of a job.
pub(super) type At = (JobId, usize);

/// Counts of one kind at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KindSteps {
    /// By [`Passage`]: how often.
    pub events: [u64; Passage::ALL.len()],
    /// By [`Place`]: how many are there.
    pub places: [u64; Place::ALL.len()],
}

/// Every partition whose memory is claimed.
#[derive(Default)]
pub(super) struct Lifecycle {
    inside: HashMap<At, Inside>,
    witnesses: HashMap<ClaimId, At>,
    events: [[u64; Passage::ALL.len()]; ProofKind::ALL.len()],
    log: Log,
}

impl Lifecycle {
    /// A partition's memory is claimed and its synthesis begins.
    pub fn enter(&mut self, at: At, entry: &Arc<JobEntry>, witness: ClaimId) {
        let now = Instant::now();
        self.count(entry, at.1, Passage::SynthesisStarted, Duration::ZERO, now);
        self.witnesses.insert(witness, at);
        self.inside.insert(at, Inside { entry: entry.clone(), place: Place::Synthesis, since: now });
    }

    /// A partition takes a step. One whose memory is gone took its last step with that; whether it was where the step
    /// begins.
    pub fn pass(&mut self, at: At, passage: Passage) -> bool {
        let Some(inside) = self.inside.get_mut(&at) else { return true };
        if passage.from() != Some(inside.place) {
            return false;
        }
        let now = Instant::now();
        let stayed = now - inside.since;
        inside.since = now;
        if let Some(to) = passage.to() {
            inside.place = to;
        }
        let entry = inside.entry.clone();
        self.count(&entry, at.1, passage, stayed, now);
        true
    }

    /// A claim came back: where it was a witness's, its partition is gone.
    pub fn freed(&mut self, claim: ClaimId) {
        let Some(at) = self.witnesses.remove(&claim) else { return };
        let last = self.inside.get(&at).and_then(|inside| inside.place.given_up());
        if let Some(last) = last {
            self.pass(at, last);
        }
        self.pass(at, Passage::DeallocDone);
        self.inside.remove(&at);
    }

    /// How a kind's partitions stand.
    pub fn steps(&self) -> [KindSteps; ProofKind::ALL.len()] {
        let mut steps = self.events.map(|events| KindSteps { events, ..KindSteps::default() });
        for inside in self.inside.values() {
            steps[inside.entry.identity.kind as usize].places[inside.place as usize] += 1;
        }
        steps
    }

    fn count(
        &mut self,
        entry: &JobEntry,
        partition: usize,
        passage: Passage,
        stayed: Duration,
        now: Instant,
    ) {
        self.events[entry.identity.kind as usize][passage as usize] += 1;
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return;
        }
        let Some(omitted) = self.log.line(now) else { return };
        let identity = &entry.identity;
        tracing::debug!(
            event = passage.name(),
            job_id = identity.job_id,
            request_id = identity.request_id,
            kind = identity.kind.name(),
            circuit = %identity.circuit,
            partition,
            stage_ms = u64::try_from(stayed.as_millis()).unwrap_or(u64::MAX),
            omitted,
            "partition"
        );
    }
}

/// So many lines at once, and a second.
const LINES: f64 = 200.0;

/// How many lines may be written now: a flood of steps is not one of lines.
struct Log {
    left: f64,
    filled: Option<Instant>,
    omitted: u64,
}

impl Default for Log {
    fn default() -> Log {
        Log { left: LINES, filled: None, omitted: 0 }
    }
}

impl Log {
    /// How many lines were left out before this one; none where it is left out itself.
    fn line(&mut self, now: Instant) -> Option<u64> {
        let since = self.filled.replace(now).map_or(Duration::ZERO, |filled| now - filled);
        self.left = (self.left + since.as_secs_f64() * LINES).min(LINES);
        if self.left < 1.0 {
            self.omitted += 1;
            return None;
        }
        self.left -= 1.0;
        Some(std::mem::take(&mut self.omitted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_connect() {
        for (i, passage) in Passage::ALL.into_iter().enumerate() {
            assert_eq!(passage as usize, i);
            assert_ne!(passage.from(), passage.to());
        }
        for (i, place) in Place::ALL.into_iter().enumerate() {
            assert_eq!(place as usize, i);
            let end = place.given_up().unwrap_or(Passage::DeallocDone);
            assert_eq!(end.from(), Some(place));
            assert!(Passage::ALL.iter().any(|passage| passage.to() == Some(place)));
        }
    }

    #[test]
    fn a_flood_of_steps_is_not_one_of_lines() {
        let (mut log, begun) = (Log::default(), Instant::now());
        let written = (0..10_000).filter(|_| log.line(begun).is_some()).count();
        assert_eq!(written, 200);
        assert_eq!(log.line(begun + Duration::from_millis(10)), Some(9_800));
        let later = begun + Duration::from_secs(60);
        assert_eq!((0..1_000).filter(|_| log.line(later).is_some()).count(), 200);
    }
}
