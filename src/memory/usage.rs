//! Resident bytes of the large buffers by class and stage, carried by the buffers themselves.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::units::Bytes;

/// What a large buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Decoded requests that wait or run.
    Intake,
    /// Compact witnesses.
    Witness,
    /// Evaluation vectors and scratch of a prover slot.
    WorkingSet,
    /// Groth16 proving keys.
    Srs,
    /// Compact constraint matrices and densities.
    Matrices,
}

/// Where in the life of a partition a large buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Decoded, waiting for admission.
    Waiting,
    /// Being filled by synthesis.
    Synthesis,
    /// Synthesised, waiting for a prover slot.
    Queued,
    /// In a prover slot.
    Proving,
    /// Past the slot's heavy step.
    Finishing,
    /// Shared by all partitions of a circuit.
    Shared,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 5] =
        [Class::Intake, Class::Witness, Class::WorkingSet, Class::Srs, Class::Matrices];

    /// Name in metrics and status.
    pub fn name(self) -> &'static str {
        match self {
            Class::Intake => "intake",
            Class::Witness => "witness",
            Class::WorkingSet => "working_set",
            Class::Srs => "srs",
            Class::Matrices => "matrices",
        }
    }
}

impl Stage {
    /// All stages.
    pub const ALL: [Stage; 6] =
        [Stage::Waiting, Stage::Synthesis, Stage::Queued, Stage::Proving, Stage::Finishing, Stage::Shared];

    /// Name in metrics and status.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Waiting => "waiting",
            Stage::Synthesis => "synthesis",
            Stage::Queued => "queued",
            Stage::Proving => "proving",
            Stage::Finishing => "finishing",
            Stage::Shared => "shared",
        }
    }
}

const CELLS: usize = Class::ALL.len() * Stage::ALL.len();

struct Cell {
    buffers: AtomicU64,
    bytes: AtomicU64,
}

static CELLS_OF: [Cell; CELLS] =
    [const { Cell { buffers: AtomicU64::new(0), bytes: AtomicU64::new(0) } }; CELLS];

fn cell(class: Class, stage: Stage) -> &'static Cell {
    &CELLS_OF[class as usize * Stage::ALL.len() + stage as usize]
}

/// Large buffers of this class and stage that exist now: how many, and their bytes.
pub fn mapped(class: Class, stage: Stage) -> (u64, Bytes) {
    let cell = cell(class, stage);
    (cell.buffers.load(Ordering::Relaxed), Bytes(cell.bytes.load(Ordering::Relaxed)))
}

/// A buffer's entry in the counters; it leaves them when dropped.
#[derive(Debug)]
pub(super) struct Counted {
    class: Class,
    stage: Stage,
    bytes: u64,
}

impl Counted {
    pub(super) fn new(class: Class, stage: Stage, bytes: u64) -> Self {
        let cell = cell(class, stage);
        cell.buffers.fetch_add(1, Ordering::Relaxed);
        cell.bytes.fetch_add(bytes, Ordering::Relaxed);
        Counted { class, stage, bytes }
    }

    pub(super) fn move_to(&mut self, stage: Stage) {
        *self = Counted::new(self.class, stage, self.bytes);
    }

    pub(super) fn resize(&mut self, bytes: u64) {
        *self = Counted::new(self.class, self.stage, bytes);
    }

    pub(super) fn class(&self) -> Class {
        self.class
    }

    pub(super) fn stage(&self) -> Stage {
        self.stage
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let cell = cell(self.class, self.stage);
        cell.buffers.fetch_sub(1, Ordering::Relaxed);
        cell.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
