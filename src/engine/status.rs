//! What the engine tells about itself: the status document and one job's report.

use serde::Serialize;

/// Version of the [`Status`] document; raised when a field changes its meaning or goes away.
pub const STATUS_VERSION: u32 = 1;

/// A snapshot of the whole engine.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Status {
    /// [`STATUS_VERSION`].
    pub version: u32,
    /// The library's version.
    pub library: &'static str,
    /// The kernels that the processor's core runs, such as `portable`.
    pub kernels: &'static str,
    /// `running`, `draining` or `closed`.
    pub state: &'static str,
    /// Seconds since open.
    pub uptime_seconds: u64,
    /// Promised bytes.
    pub memory: MemoryStatus,
    /// What the kernel says of this process, the host included.
    pub process: ProcessStatus,
    /// Promised and mapped bytes by class and stage, where either is not zero.
    pub cells: Vec<CellStatus>,
    /// Requests by kind.
    pub queues: Vec<QueueStatus>,
    /// Circuits in memory or on their way.
    pub circuits: Vec<CircuitStatus>,
    /// Prover slots.
    pub slots: Vec<SlotStatus>,
    /// Partitions of all unfinished jobs, and of ended ones whose memory still exists, by stage.
    pub partitions: PartitionStatus,
    /// Unfinished jobs, in the order they will be served.
    pub jobs: Vec<JobReport>,
    /// The newest finished jobs, newest first.
    pub recent: Vec<JobReport>,
    /// Totals since open.
    pub totals: Totals,
}

/// The ledger's sums, in bytes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MemoryStatus {
    /// The budget.
    pub limit: u64,
    /// Promised now.
    pub reserved: u64,
    /// Most ever promised.
    pub peak: u64,
    /// Times a step held more than was promised for it.
    pub overruns: u64,
    /// The most that the limit can become.
    pub ceiling: u64,
    /// What machine and control groups leave now.
    pub left: u64,
    /// The control group that leaves the least; empty where none is limited.
    pub group: String,
    /// Percent of the last ten seconds in which something on the machine waited for memory.
    pub pressure: f64,
    /// Sealing is slowed because of that.
    pub pressed: bool,
}

/// Resident bytes of the process.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProcessStatus {
    /// All resident bytes.
    pub resident: u64,
    /// Anonymous memory.
    pub anonymous: u64,
    /// Anonymous memory that no large buffer accounts for: program, stacks, heap, and the host's own.
    pub unbooked: u64,
    /// Mapped files and shared memory.
    pub file: u64,
    /// The highest resident bytes so far.
    pub peak: u64,
}

/// One class and stage of large buffers.
#[derive(Clone, Debug, Serialize)]
pub struct CellStatus {
    /// What for.
    pub class: &'static str,
    /// Where in the life of a partition.
    pub stage: &'static str,
    /// Promised bytes.
    pub reserved: u64,
    /// Buffers that exist in this process.
    pub buffers: u64,
    /// Their bytes.
    pub mapped: u64,
}

/// Requests of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct QueueStatus {
    /// The proof kind.
    pub kind: &'static str,
    /// Accepted, nothing started.
    pub pending: u32,
    /// Something started.
    pub in_progress: u32,
    /// How many more would be accepted without making an earlier one wait longer for memory.
    pub headroom: u32,
    /// The least time that an unfinished one has left, in milliseconds; null: none has a limit.
    pub next_deadline_ms: Option<i64>,
}

/// Partitions by stage.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct PartitionStatus {
    /// Nothing is claimed for them.
    pub waiting: u64,
    /// Their witness is being made.
    pub synthesis: u64,
    /// Their witness waits for a slot.
    pub queued: u64,
    /// In a slot.
    pub proving: u64,
    /// Their slot's work is done.
    pub proved: u64,
    /// Being finished and verified.
    pub finishing: u64,
    /// Done or given up; their memory is on its way back.
    pub freeing: u64,
}

/// One circuit's shared memory.
#[derive(Clone, Debug, Serialize)]
pub struct CircuitStatus {
    /// Such as `porep-32g`.
    pub circuit: String,
    /// `loading`, `resident` or `leaving`.
    pub state: &'static str,
    /// Promised bytes of its SRS and matrices.
    pub bytes: u64,
    /// Partitions that use it.
    pub users: u32,
    /// It never leaves to make room.
    pub pinned: bool,
}

/// One prover slot.
#[derive(Clone, Debug, Serialize)]
pub struct SlotStatus {
    /// `cpu`, or the device's name.
    pub name: String,
    /// Bytes of the slot's working set, promised now.
    pub reserved: u64,
    /// Bytes of its device's memory, promised now.
    pub device_reserved: u64,
    /// The job whose partition it works on; empty where it is free.
    pub job_id: String,
    /// That partition.
    pub partition: Option<usize>,
}

/// Counts since open.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Totals {
    /// Requests accepted.
    pub accepted: u64,
    /// Requests refused at the door.
    pub refused: u64,
    /// Requests answered with a proof.
    pub completed: u64,
    /// Requests answered with an error.
    pub failed: u64,
    /// Requests cancelled.
    pub cancelled: u64,
    /// Partitions proved and verified.
    pub proofs: u64,
    /// Proofs that did not verify.
    pub verification_failures: u64,
    /// Panics caught.
    pub panics: u64,
}

/// One job: where it is, and what it took so far.
#[derive(Clone, Debug, Default, Serialize)]
pub struct JobReport {
    /// The engine's name for the job.
    pub job_id: String,
    /// The miner's name for the request.
    pub request_id: String,
    /// The proof kind.
    pub kind: &'static str,
    /// The circuit, such as `porep-32g`.
    pub circuit: String,
    /// `queued`, `running`, `completed`, `failed`, `cancelled`.
    pub state: &'static str,
    /// What it waits for: `turn`, `worker`, `ahead`, `memory`, `door`, `pressure`, `circuit` or `slot`; empty
    /// where it is worked on or has ended.
    pub waits_for: &'static str,
    /// Partitions of the request.
    pub partitions: usize,
    /// Where each partition is, a letter each: `.` waits, `s` synthesis, `q` queued for a slot, `p` in a slot, `f`
    /// finishing, `d` done. Empty once the job has ended, and outside the status document.
    pub stages: String,
    /// Milliseconds until it is too late (`timeouts.*`); negative: late by so much; null: there is no limit.
    pub deadline_ms: Option<i64>,
    /// Partitions proved and verified.
    pub partitions_done: usize,
    /// Constraints of the circuit.
    pub constraints: u64,
    /// Bytes of the decoded request.
    pub intake_bytes: u64,
    /// Largest compact witness of a partition, as mapped.
    pub witness_bytes: u64,
    /// The largest slot working set promised for a partition.
    pub working_set_bytes: u64,
    /// Bytes of the circuit's SRS.
    pub srs_bytes: u64,
    /// Bytes of the circuit's matrices.
    pub matrices_bytes: u64,
    /// Acceptance to the first synthesis.
    pub queue_wait_ms: u64,
    /// Loading the circuit, where this job had to wait for it.
    pub srs_load_ms: u64,
    /// Witness generation, summed over the partitions.
    pub synthesis_ms: u64,
    /// The slot's heavy step, summed.
    pub start_ms: u64,
    /// The rest of the proofs, summed.
    pub finish_ms: u64,
    /// Verification, summed.
    pub verify_ms: u64,
    /// Acceptance to the answer.
    pub total_ms: u64,
    /// Proofs that did not verify and were made again.
    pub reproved: u32,
    /// The device of the last proof.
    pub device: String,
    /// The proof is from the journal: it was made, and its times were measured, before a restart.
    pub from_journal: bool,
    /// The error's text; empty without one.
    pub error: String,
}
