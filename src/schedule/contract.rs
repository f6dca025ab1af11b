//! What goes into the scheduler and what comes out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::kind::{CircuitId, Urgency};
use crate::memory::ClaimId;
use crate::units::Bytes;

/// Names one accepted or refused request; chosen by the driver, never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// Bytes of one partition's work in one slot, beyond witness, SRS and matrices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCost {
    /// The heavy step.
    pub start: Bytes,
    /// The rest of the proof, after the evaluation buffers are free.
    pub finish: Bytes,
    /// Memory of the slot's device, for the whole turn.
    pub device: Bytes,
}

impl SlotCost {
    /// What a whole turn of the slot needs: the larger of its steps.
    pub fn turn(&self) -> Bytes {
        self.start.max(self.finish)
    }
}

/// Projected bytes of one circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Which circuit.
    pub circuit: CircuitId,
    /// One compact witness.
    pub witness: Bytes,
    /// The constraint matrices.
    pub matrices: Bytes,
    /// The proving key.
    pub srs: Bytes,
    /// By slot, in the order of [`Settings::slots`].
    pub slots: Vec<SlotCost>,
}

impl Costs {
    /// What the circuit's shared data needs.
    pub fn residency(&self) -> Bytes {
        self.srs.saturating_add(self.matrices)
    }

    /// What a turn of slot `slot` needs.
    pub fn turn(&self, slot: usize) -> Bytes {
        self.slots.get(slot).map_or(Bytes::ZERO, SlotCost::turn)
    }
}

/// What a slot runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotKind {
    /// The processor: the reference for proofs that did not verify.
    Cpu,
    /// A device.
    Device,
}

/// One prover slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotSettings {
    /// What it runs on.
    pub kind: SlotKind,
    /// It takes work that is at least this urgent.
    pub serves: Urgency,
    /// The device's memory that its turns may use; slots of the processor have none.
    pub memory: Bytes,
}

impl SlotSettings {
    /// The processor's slot for all kinds.
    pub const CPU: SlotSettings =
        SlotSettings { kind: SlotKind::Cpu, serves: Urgency::Patient, memory: Bytes::ZERO };

    /// A slot of the processor for work that does not wait for a running proof to end.
    pub fn cpu_lane(serves: Urgency) -> SlotSettings {
        SlotSettings { serves, ..SlotSettings::CPU }
    }

    /// A device's slot for all kinds.
    pub fn device(memory: Bytes) -> SlotSettings {
        SlotSettings { kind: SlotKind::Device, serves: Urgency::Patient, memory }
    }
}

/// How much larger than its projection a circuit's memory has been, in thousandths; at least 1,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factors {
    /// Compact witnesses.
    pub witness: u32,
    /// SRS and matrices.
    pub shared: u32,
    /// A slot's working set.
    pub working_set: u32,
}

impl Factors {
    /// A factor beyond this is no measurement.
    pub const LARGEST: u32 = 1_000_000;
}

impl Default for Factors {
    fn default() -> Self {
        Factors { witness: 1000, shared: 1000, working_set: 1000 }
    }
}

/// The facts that one scheduler starts with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes that may be promised now; [`Event::Budget`] changes it.
    pub budget: Bytes,
    /// The most that the budget can become: what does not fit in it never will.
    pub ceiling: Bytes,
    /// Partitions synthesised at once.
    pub workers: usize,
    /// Synthesis workers beside those, for window_post and winning_post only.
    pub urgent_workers: usize,
    /// Partitions that may be synthesised or waiting for a slot at once; PoSt does not wait for others'.
    pub ahead: usize,
    /// The prover slots. The first one serves all kinds; where it is the processor, it proves again what
    /// did not verify.
    pub slots: Vec<SlotSettings>,
    /// Unfinished requests of one kind.
    pub max_requests: usize,
    /// Bytes of unfinished decoded requests.
    pub max_intake: Bytes,
    /// How long others may pass a request that waits for memory, in nanoseconds; then the door is closed to
    /// new work until it is served. PoSt closes it at once.
    pub patience: u64,
    /// How long a circuit is kept that nobody uses, in nanoseconds, where its memory is not needed by PoSt
    /// or by a request that closed the door.
    pub min_idle: u64,
    /// Circuits that are never evicted to make room.
    pub pinned: BTreeSet<CircuitId>,
    /// What was learnt about projections before.
    pub factors: BTreeMap<CircuitId, Factors>,
}

/// A request at the door.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Its name.
    pub job: JobId,
    /// Its circuit's projection.
    pub costs: Arc<Costs>,
    /// How many partitions; at least one.
    pub partitions: usize,
    /// Bytes that the decoded request holds.
    pub intake: Bytes,
    /// When it is too late, in the driver's nanoseconds.
    pub deadline: Option<u64>,
}

/// What happened. Each `Synthesize`, `Prove`, `Diagnose` and `Finish` is answered by exactly one of its
/// events; an event of a job that has ended changes only what it occupied.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "fields are named by their types")]
pub enum Event {
    /// A request came.
    Submitted(Submission),
    /// A witness is ready; its bytes as measured.
    SynthesisDone { job: JobId, partition: usize, bytes: Bytes },
    /// A witness could not be made.
    SynthesisFailed { job: JobId, partition: usize, error: Error },
    /// The heavy step is over and its evaluation buffers are free.
    SlotDone { job: JobId, partition: usize },
    /// The heavy step failed.
    SlotFailed { job: JobId, partition: usize, error: Error },
    /// A proof is finished and verified.
    FinishDone { job: JobId, partition: usize },
    /// A proof could not be finished.
    FinishFailed { job: JobId, partition: usize, error: Error },
    /// A finished proof did not verify.
    VerifyFailed { job: JobId, partition: usize },
    /// Why proofs of this partition do not verify.
    Diagnosed { job: JobId, partition: usize, error: Error },
    /// Somebody gave the job up.
    Cancelled { job: JobId },
    /// A circuit is in memory; its bytes as measured.
    CircuitLoaded { circuit: CircuitId, srs: Bytes, matrices: Bytes },
    /// A circuit could not be loaded.
    LoadFailed { circuit: CircuitId, error: Error },
    /// A claim's guard was dropped: its bytes are free.
    ClaimDropped { claim: ClaimId },
    /// The most that a step's working set has come to so far; told before the step's claim is dropped.
    Measured { claim: ClaimId, step: Step, bytes: Bytes },
    /// What may be promised from now on, and whether the machine is short of memory (PSI).
    Budget { bytes: Bytes, pressed: bool },
    /// A circuit that may be asked for: PoSt's are kept room for from now on.
    Known { costs: Arc<Costs> },
    /// Somebody wants a circuit in memory ahead of time.
    Preload { costs: Arc<Costs> },
    /// Somebody wants an idle circuit out of memory.
    Evict { circuit: CircuitId },
    /// Time has passed.
    Tick,
    /// Accept nothing more.
    Drain,
    /// Accept nothing more and end every job.
    Shutdown,
}

/// A step of a slot's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The heavy step.
    Start,
    /// The rest of the proof.
    Finish,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every partition is proved and verified.
    Proved,
    /// It cannot be proved.
    Failed(Error),
    /// It was given up.
    Cancelled(Error),
}

/// What the driver must do. A claim named in an action is handed over: the driver wraps it in a guard and
/// answers `ClaimDropped` exactly once, when the last byte it stands for is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named by their types")]
pub enum Action {
    /// The request is accepted; `claim` holds its decoded bytes.
    Accept { job: JobId, position: usize, claim: ClaimId },
    /// The request is not accepted.
    Refuse { job: JobId, error: Error },
    /// Load a circuit's shared data.
    LoadCircuit { circuit: CircuitId, claim: ClaimId },
    /// Nobody waits for this load any more: stop it if it can be stopped.
    CancelLoad { circuit: CircuitId },
    /// Drop a circuit's shared data and its claim.
    DropCircuit { circuit: CircuitId },
    /// Make a witness.
    Synthesize { job: JobId, partition: usize, claim: ClaimId },
    /// Run the heavy step on a slot.
    Prove { job: JobId, partition: usize, slot: usize, turn: ClaimId },
    /// Find out why proofs of this partition do not verify, with a slot's memory.
    Diagnose { job: JobId, partition: usize, slot: usize, turn: ClaimId },
    /// Finish and verify; with a claim of its own the turn is dropped first, without one it is kept until
    /// the proof is finished.
    Finish { job: JobId, partition: usize, claim: Option<ClaimId> },
    /// The answer: exactly one for each accepted job. Everything of it that does not run is dropped.
    Complete { job: JobId, outcome: Outcome },
    /// Answers every `Preload` of this circuit: whether it was in memory before.
    Preloaded { circuit: CircuitId, result: Result<bool> },
    /// Answers every `Evict` of this circuit: the bytes given back, `None` where it was not in memory.
    Evicted { circuit: CircuitId, result: Result<Option<Bytes>> },
    /// A projection was too small: remember these for the circuit.
    Corrected { circuit: CircuitId, factors: Factors },
    /// An invariant of the scheduler did not hold: report it.
    Fault { error: Error },
}
