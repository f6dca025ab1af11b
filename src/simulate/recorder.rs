//! What happened when: memory by class, and the stages of every partition.

use std::collections::BTreeMap;

use crate::kind::CircuitId;
use crate::memory::Class;
use crate::units::Bytes;

/// Memory at one moment; constant until the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Seconds since the start.
    pub at: f64,
    /// Promised bytes (of the prior art: held ones), in the order of [`Class::ALL`].
    pub classes: [u64; Class::ALL.len()],
    /// What buffers held.
    pub held: u64,
}

/// What a partition was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Doing {
    /// Its request waits.
    Queued,
    /// Its witness is made.
    Synthesis,
    /// It waits for a slot.
    Waiting,
    /// The heavy step.
    Start,
    /// The rest of the proof, and verification.
    Finish,
}

impl Doing {
    /// All, in order.
    pub const ALL: [Doing; 5] =
        [Doing::Queued, Doing::Synthesis, Doing::Waiting, Doing::Start, Doing::Finish];
}

/// One partition.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// Which request; later ones have higher numbers.
    pub request: usize,
    /// Which partition of it.
    pub partition: usize,
    /// What it did, from, to.
    pub steps: Vec<(Doing, f64, f64)>,
}

/// A recorded run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// In order of time.
    pub samples: Vec<Sample>,
    /// In the order in which the partitions were begun.
    pub lanes: Vec<Lane>,
    /// Of each request.
    pub circuits: BTreeMap<usize, CircuitId>,
}

/// Keeps peaks always, and everything where it was asked to.
#[derive(Clone, Debug)]
pub(super) struct Recorder {
    timeline: Option<Timeline>,
    lanes: BTreeMap<(usize, usize), usize>,
    pub held: u64,
    pub waiting: usize,
    pub unfinished: usize,
    /// Of the moment at which most was promised.
    pub peak_classes: [Bytes; Class::ALL.len()],
}

impl Recorder {
    pub fn new(record: bool) -> Recorder {
        Recorder {
            timeline: record.then(Timeline::default),
            lanes: BTreeMap::new(),
            held: 0,
            waiting: 0,
            unfinished: 0,
            peak_classes: [Bytes::ZERO; Class::ALL.len()],
        }
    }

    pub fn memory(&mut self, at: f64, classes: [Bytes; Class::ALL.len()], held: u64) {
        self.held = self.held.max(held);
        let sum =
            |classes: &[Bytes]| classes.iter().fold(Bytes::ZERO, |sum, class| sum.saturating_add(*class));
        if sum(&classes) > sum(&self.peak_classes) {
            self.peak_classes = classes;
        }
        let Some(timeline) = &mut self.timeline else { return };
        let sample = Sample { at, classes: classes.map(|bytes| bytes.0), held };
        match timeline.samples.last_mut() {
            Some(last) if last.classes == sample.classes && last.held == held => {}
            _ => timeline.samples.push(sample),
        }
    }

    pub fn counts(&mut self, waiting: usize, unfinished: usize) {
        self.waiting = self.waiting.max(waiting);
        self.unfinished = self.unfinished.max(unfinished);
    }

    /// The most that was promised at one moment.
    pub fn peak(&self) -> Bytes {
        self.peak_classes.iter().fold(Bytes::ZERO, |sum, class| sum.saturating_add(*class))
    }

    /// A request of this circuit has come.
    pub fn request(&mut self, request: usize, circuit: CircuitId) {
        if let Some(timeline) = &mut self.timeline {
            timeline.circuits.insert(request, circuit);
        }
    }

    /// From now on a partition does this; `None`: it is proved.
    pub fn doing(&mut self, at: f64, (request, partition): (usize, usize), doing: Option<Doing>) {
        let Some(timeline) = &mut self.timeline else { return };
        let lanes = &mut timeline.lanes;
        let lane = *self.lanes.entry((request, partition)).or_insert_with(|| {
            lanes.push(Lane { request, partition, steps: Vec::new() });
            lanes.len() - 1
        });
        let steps = &mut lanes[lane].steps;
        if let Some(last) = steps.last_mut() {
            last.2 = at;
        }
        steps.extend(doing.map(|doing| (doing, at, at)));
    }

    pub fn finish(self, end: f64) -> Option<Timeline> {
        let mut timeline = self.timeline?;
        if let Some(last) = timeline.samples.last().copied() {
            timeline.samples.push(Sample { at: end.max(last.at), ..last });
        }
        Some(timeline)
    }
}
