//! Bytes of what grows with the work, by class and stage, carried by the buffers themselves so that they cannot drift.
//!
//! Counted is what is mapped (or asked of the heap), not what is resident: a page becomes resident when it is first
//! written, and [`Region::discard`](super::Region::discard) gives it back. The counts of one cell are exact at rest; while a
//! buffer moves between cells a reader may miss it, never see it twice.

use std::sync::atomic::{AtomicU64, Ordering};

use super::meter::Meter;
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

/// Buffers that came and went, of which the difference is there: the count of what is there cannot disagree with them.
struct Cell {
    entered: AtomicU64,
    left: AtomicU64,
    bytes: AtomicU64,
}

/// Counts of one class and stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Buffers that were made there or came there so far.
    pub entered: u64,
    /// Buffers that went on or were freed so far.
    pub left: u64,
    /// Bytes of those that are there.
    pub bytes: Bytes,
}

impl Flow {
    /// Buffers that are there.
    pub fn buffers(&self) -> u64 {
        self.entered.saturating_sub(self.left)
    }
}

/// The bytes of all counts that are not of files.
static ANONYMOUS: AtomicU64 = AtomicU64::new(0);

static CELLS_OF: [Cell; CELLS] =
    [const { Cell { entered: AtomicU64::new(0), left: AtomicU64::new(0), bytes: AtomicU64::new(0) } }; CELLS];

fn cell(class: Class, stage: Stage) -> &'static Cell {
    &CELLS_OF[class as usize * Stage::ALL.len() + stage as usize]
}

/// What is counted under this class and stage now: how many buffers, and their bytes.
pub fn mapped(class: Class, stage: Stage) -> (u64, Bytes) {
    let flow = flow(class, stage);
    (flow.buffers(), flow.bytes)
}

/// What came and went under this class and stage.
pub fn flow(class: Class, stage: Stage) -> Flow {
    let cell = cell(class, stage);
    // This order: what left had entered.
    let left = cell.left.load(Ordering::Acquire);
    let entered = cell.entered.load(Ordering::Relaxed);
    Flow { entered, left, bytes: Bytes(cell.bytes.load(Ordering::Relaxed)) }
}

/// Anonymous bytes that are counted now, of regions and of the heap, without mapped files.
pub fn anonymous() -> Bytes {
    Bytes(ANONYMOUS.load(Ordering::Relaxed))
}

/// What the counted bytes are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backing {
    Anonymous,
    File,
}

/// An entry in the counters, for as long as it lives. Regions carry one; whoever holds heap memory that grows with the
/// work (a decoded request) carries one beside it.
#[derive(Debug)]
pub struct Count {
    class: Class,
    stage: Stage,
    bytes: u64,
    backing: Backing,
    meter: Meter,
}

impl Count {
    /// Counts `bytes` of heap memory.
    pub fn heap(class: Class, stage: Stage, bytes: Bytes) -> Count {
        Count::new(class, stage, bytes, Backing::Anonymous, &Meter::none())
    }

    /// Counts `bytes`, in the meter as well.
    pub(super) fn new(class: Class, stage: Stage, bytes: Bytes, backing: Backing, meter: &Meter) -> Count {
        let mut count = Count { class, stage, bytes: 0, backing, meter: meter.clone() };
        count.enter();
        count.resize(bytes);
        count
    }

    /// What it is counted as.
    pub fn class(&self) -> Class {
        self.class
    }

    /// Where it is counted.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// The bytes counted.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    /// Counts it under another stage from now on.
    pub fn set_stage(&mut self, stage: Stage) {
        self.leave();
        self.stage = stage;
        self.enter();
    }

    /// Counts other bytes from now on.
    pub fn resize(&mut self, bytes: Bytes) {
        let old = std::mem::replace(&mut self.bytes, bytes.0);
        let cell = &cell(self.class, self.stage).bytes;
        let (change, grows) = (bytes.0.abs_diff(old), bytes.0 > old);
        let apply = |counter: &AtomicU64| match grows {
            true => counter.fetch_add(change, Ordering::Relaxed),
            false => counter.fetch_sub(change, Ordering::Relaxed),
        };
        apply(cell);
        if self.backing == Backing::Anonymous {
            apply(&ANONYMOUS);
        }
        // Last: it may call out, and a panic there must find the counters whole.
        if grows {
            self.meter.add(change);
        } else {
            self.meter.sub(change);
        }
    }

    /// Counts it in another step's meter from now on.
    pub(super) fn set_meter(&mut self, meter: &Meter) {
        self.meter.sub(self.bytes);
        self.meter = meter.clone();
        self.meter.add(self.bytes);
    }

    /// The meter it is counted in.
    pub(super) fn meter(&self) -> &Meter {
        &self.meter
    }

    fn enter(&self) {
        let cell = cell(self.class, self.stage);
        cell.entered.fetch_add(1, Ordering::Relaxed);
        cell.bytes.fetch_add(self.bytes, Ordering::Relaxed);
    }

    fn leave(&self) {
        let cell = cell(self.class, self.stage);
        cell.left.fetch_add(1, Ordering::Release);
        cell.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.leave();
        if self.backing == Backing::Anonymous {
            ANONYMOUS.fetch_sub(self.bytes, Ordering::Relaxed);
        }
        self.meter.sub(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn heap_memory_is_counted_where_it_exists() {
        // No other test counts keys in these stages.
        let of = |stage| mapped(Class::Srs, stage);
        let mut count = Count::heap(Class::Srs, Stage::Synthesis, Bytes(7 << 20));
        assert_eq!(of(Stage::Synthesis), (1, Bytes(7 << 20)));
        assert!(anonymous() >= Bytes(7 << 20));
        count.set_stage(Stage::Proving);
        assert_eq!((of(Stage::Synthesis), of(Stage::Proving)), ((0, Bytes::ZERO), (1, Bytes(7 << 20))));
        assert_eq!(
            (count.class(), count.stage(), count.bytes()),
            (Class::Srs, Stage::Proving, Bytes(7 << 20))
        );
        drop(count);
        assert_eq!(of(Stage::Proving), (0, Bytes::ZERO));
    }

    proptest! {
        #[test]
        fn counters_end_where_they_began(
            steps in proptest::collection::vec((0_usize..4, any::<usize>(), 0_u64..1 << 40), 1..80),
        ) {
            // No other test counts matrices in these stages.
            let stages = [Stage::Waiting, Stage::Queued, Stage::Proving];
            let all = || stages.map(|stage| mapped(Class::Matrices, stage));
            let before = all();
            let mut held = Vec::new();
            for (what, which, bytes) in steps {
                let (bytes, stage) = (Bytes(bytes), stages[which % 3]);
                let which = which % held.len().max(1);
                match (what, held.get_mut(which)) {
                    (0, _) => held.push(Count::heap(Class::Matrices, stage, bytes)),
                    (1, Some(_)) => drop(held.swap_remove(which)),
                    (2, Some(count)) => count.set_stage(stage),
                    (_, Some(count)) => count.resize(bytes),
                    (_, None) => (),
                }
                let sums = stages.map(|stage| {
                    let here = held.iter().filter(|count| count.stage() == stage);
                    here.fold((0, 0), |sum, count| (sum.0 + 1, sum.1 + count.bytes().0))
                });
                prop_assert_eq!(all().map(|(n, bytes)| (n, bytes.0)), sums);
            }
            drop(held);
            prop_assert_eq!(all(), before);
        }
    }
}
