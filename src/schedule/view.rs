//! What can be read of the scheduler.

use super::contract::JobId;
use super::job::State;
use super::residency::CircuitView;
use super::scheduler::{Claimed, Scheduler};
use super::slots::SlotView;
use super::wait::Wait;
use crate::kind::{CircuitId, ProofKind};
use crate::memory::Ledger;
use crate::units::Bytes;

/// Unfinished requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Accepted, nothing started.
    pub pending: usize,
    /// Something started.
    pub in_progress: usize,
}

/// Open claims of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Partitions whose witness is promised.
    pub witness: usize,
    /// Turns of slots.
    pub turn: usize,
    /// Proofs that are finished with a claim of their own.
    pub finish: usize,
}

/// Per-kind figures.
type ByKind<T> = [T; ProofKind::ALL.len()];

impl Scheduler {
    /// The ledger, to read.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The most that the budget can become.
    pub fn ceiling(&self) -> Bytes {
        self.settings.ceiling
    }

    /// When time alone changes what is to be done: tell [`super::Event::Tick`] then.
    pub fn next_wakeup(&self) -> Option<u64> {
        self.expiries.first().map(|(at, _)| *at).into_iter().chain(self.wake).min()
    }

    /// Unfinished jobs, in the order they are served.
    pub fn jobs(&self) -> impl Iterator<Item = JobId> + '_ {
        self.order.iter().map(|key| key.job)
    }

    /// What an unfinished job waits for.
    pub fn wait_of(&self, job: JobId) -> Wait {
        let Some(entry) = self.jobs.get(&job) else { return Wait::Nothing };
        let busy = |state| matches!(state, State::Synthesizing | State::InSlot | State::Finishing);
        if entry.parts.iter().any(|part| busy(part.state)) {
            return Wait::Nothing;
        }
        let Some(circuit) = self.residency.get(entry.circuit) else { return Wait::Nothing };
        if entry.parts.iter().any(|part| part.state == State::Queued) {
            return if circuit.is_resident() { Wait::Slot } else { Wait::Circuit };
        }
        let first = self.unstarted.get(&entry.circuit).and_then(|keys| keys.first());
        if first.is_some_and(|key| key.job == job) {
            circuit.wait
        } else {
            Wait::Turn
        }
    }

    /// What the next partition of each circuit that has partitions to start waits for.
    pub fn waits(&self) -> impl Iterator<Item = Wait> + '_ {
        self.unstarted.keys().filter_map(|id| self.residency.get(*id)).map(|circuit| circuit.wait)
    }

    /// Unfinished requests of one kind.
    pub fn counts(&self, kind: ProofKind) -> Counts {
        let (unfinished, started) = self.by_kind[kind as usize];
        Counts { pending: unfinished - started, in_progress: started }
    }

    /// Each circuit that has partitions to start, and what the next one waits for.
    pub fn heads(&self) -> impl Iterator<Item = (CircuitId, Wait)> + '_ {
        self.unstarted.keys().filter_map(|id| Some((*id, self.residency.get(*id)?.wait)))
    }

    /// Partitions that nothing was claimed for yet.
    pub fn waiting(&self) -> ByKind<usize> {
        let mut waiting = ByKind::default();
        for job in self.jobs.values() {
            waiting[job.circuit.kind as usize] += job.parts.len().saturating_sub(job.next);
        }
        waiting
    }

    /// Open claims.
    pub fn claims(&self) -> ByKind<Claims> {
        let mut claims = ByKind::<Claims>::default();
        for claimed in self.claims.values() {
            match claimed {
                Claimed::Witness(circuit) => claims[circuit.kind as usize].witness += 1,
                Claimed::Turn { circuit, .. } => claims[circuit.kind as usize].turn += 1,
                Claimed::Finish { circuit, .. } => claims[circuit.kind as usize].finish += 1,
                Claimed::Intake | Claimed::Residency(_) => {}
            }
        }
        claims
    }

    /// Where each partition of an unfinished job is: `.` waits, `s` synthesis, `q` queued for a slot, `p` in a slot,
    /// `f` finishing, `d` done.
    pub fn stages(&self, job: JobId) -> String {
        let letter = |state| match state {
            State::Waiting => '.',
            State::Synthesizing => 's',
            State::Queued => 'q',
            State::InSlot => 'p',
            State::Finishing => 'f',
            State::Verified => 'd',
        };
        self.jobs
            .get(&job)
            .map_or_else(String::new, |job| job.parts.iter().map(|part| letter(part.state)).collect())
    }

    /// Every circuit that the scheduler has heard of.
    pub fn circuits(&self) -> Vec<CircuitView> {
        self.residency.views(&self.ledger)
    }

    /// Bytes that claims for this circuit leave free for more urgent ones.
    pub fn kept_for_urgent(&self, circuit: CircuitId) -> Bytes {
        self.kept_back(circuit).unwrap_or_default()
    }

    /// The prover slots.
    pub fn slots(&self) -> Vec<SlotView> {
        self.slots.views(&self.ledger)
    }

    /// Whether the machine is short of memory.
    pub fn is_pressed(&self) -> bool {
        self.pressed
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
