//! Pipelines of the prior art: a partition is synthesised as vectors of scalars and waits with them.
//!
//! They exist here for comparison only: the published runs of them are what the simulator is tested against.

use std::collections::VecDeque;

use super::floor::{Ended, Floor, Phase, Place, Task};
use super::outcome::{Killed, Outcome, Shares, Tally};
use super::profile::{CircuitProfile, Materialised, Prior};
use super::recorder::{Doing, Recorder};
use super::scenario::{Drawn, Scenario, Stages};
use crate::error::{Code, Error, Result};
use crate::kind::{CircuitId, Urgency};
use crate::memory::Class;
use crate::units::Bytes;

/// What lets a partition be synthesised, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// One of as many as there are workers, given back when synthesis ends.
    UntilSynthesised,
    /// One of as many as there are workers, given back when the channel to the device has taken the partition.
    UntilTaken,
    /// The bytes of its vectors, of this budget, given back when it is proved.
    Bytes(Bytes),
}

/// How many synthesised partitions the channel to the devices takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// One.
    One,
    /// As many as there are workers.
    Workers,
}

/// A pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Who may be synthesised.
    pub permit: Permit,
    /// Where synthesised partitions wait.
    pub channel: Channel,
    /// Whether a, b and c are freed as soon as the kernels have used them, not when the proof is finished.
    pub frees_early: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Synthesis(usize),
    /// A device's worker: preparation, kernels that need the vectors, the other kernels.
    Device(usize),
    Finish(usize),
}

/// Bytes of the two classes that a partition has.
#[derive(Clone, Copy, Default)]
struct Held {
    vectors: f64,
    aux: f64,
}

struct Run<'a> {
    scenario: &'a Scenario<'a>,
    pipeline: Pipeline,
    circuit: &'a CircuitProfile,
    id: CircuitId,
    sizes: Materialised,
    prior: &'a Prior,
    floor: Floor<Work>,
    /// The stages of partitions that are begun and not proved.
    stages: Vec<Option<Stages>>,
    begun: usize,
    /// Synthesised, and not taken by the channel.
    blocked: VecDeque<usize>,
    channel: VecDeque<usize>,
    /// Partitions of each request that are not proved.
    missing: Vec<usize>,
    ended: usize,
    tally: Tally,
    recorder: Recorder,
    /// When each request ended that has ended, in this order.
    endings: Vec<f64>,
}

/// Runs a scenario of one kind until it ends, or until the process is killed.
pub(super) fn run(scenario: &Scenario, pipeline: Pipeline) -> Result<Outcome> {
    let mut run = Run::new(scenario, pipeline)?;
    let killed = run.go()?;
    let seconds = run.floor.now();
    Ok(Outcome {
        seconds,
        kinds: run.tally.kinds(seconds),
        peak: run.recorder.peak(),
        peak_classes: run.recorder.peak_classes,
        held: run.recorder.peak(),
        unfinished: run.recorder.unfinished,
        waiting: run.recorder.waiting,
        busy: Shares::of(run.floor.busy(), seconds, scenario.workers, scenario.cores),
        loads: 1,
        killed,
        timeline: run.recorder.finish(seconds),
    })
}

impl<'a> Run<'a> {
    fn new(scenario: &'a Scenario<'a>, pipeline: Pipeline) -> Result<Run<'a>> {
        let [entry] = scenario.mix.entries.as_slice() else {
            return Err(Error::new(
                Code::Unsupported,
                "the prior art's pipelines are simulated with one kind",
            ));
        };
        if entry.every.is_some() {
            return Err(Error::new(
                Code::Unsupported,
                "the prior art's pipelines are simulated with all requests queued: leave out the interval",
            ));
        }
        let missing = |what: &str| {
            let name = &scenario.profile.name;
            Error::new(
                Code::Unsupported,
                format!("profile {name} says nothing of the prior art: it lacks {what}"),
            )
        };
        let circuit = scenario.circuit(entry.circuit)?;
        let sizes = circuit.materialised.ok_or_else(|| missing("circuits.*.materialised"))?;
        let prior = scenario.profile.prior.as_ref().ok_or_else(|| missing("prior"))?;
        if scenario.devices == 0 {
            return Err(Error::new(Code::Unsupported, "the prior art's pipelines are simulated with a GPU"));
        }
        let each = sizes.vectors.saturating_add(sizes.aux);
        if let Permit::Bytes(budget) = pipeline.permit {
            if budget < each {
                let text = format!("a budget of {budget} admits nothing: one partition needs {each}");
                return Err(Error::new(Code::InvalidArgument, text));
            }
        }
        Ok(Run {
            pipeline,
            circuit,
            id: entry.circuit,
            sizes,
            prior,
            floor: Floor::new(scenario.resources(), scenario.devices),
            stages: vec![None; entry.count * circuit.partitions],
            begun: 0,
            blocked: VecDeque::new(),
            channel: VecDeque::new(),
            missing: vec![circuit.partitions; entry.count],
            ended: 0,
            tally: Tally::new([entry.circuit]),
            recorder: Recorder::new(scenario.record),
            endings: Vec::new(),
            scenario,
        })
    }

    fn go(&mut self) -> Result<Option<Killed>> {
        while self.ended < self.missing.len() {
            self.begin()?;
            let before = self.note();
            let next =
                self.floor.next().ok_or_else(|| Error::internal("the simulated pipeline stands still"))?;
            let ended = self.floor.advance(next);
            // Vectors grow between two events: the most is held just before the second.
            let held = self.note().max(before);
            if held > self.scenario.memory.0 as f64 {
                return Ok(Some(Killed { at: self.floor.now(), held: Bytes(held as u64) }));
            }
            ended.into_iter().try_for_each(|ended| self.phase_ended(ended))?;
        }
        Ok(None)
    }

    /// Moves on whatever can move, until nothing can.
    fn begin(&mut self) -> Result<()> {
        let room = match self.pipeline.channel {
            Channel::One => 1,
            Channel::Workers => self.scenario.workers,
        };
        loop {
            while self.channel.len() < room {
                let Some(partition) = self.blocked.pop_front() else { break };
                self.channel.push_back(partition);
            }
            if let Some((device, partition)) = self.free_device().zip(self.channel.front().copied()) {
                self.channel.pop_front();
                self.send_to_device(device, partition)?;
            } else if self.may_synthesise() {
                self.synthesise()?;
            } else {
                return Ok(());
            }
        }
    }

    fn running(&self, which: fn(&Work) -> bool) -> usize {
        self.floor.tasks().iter().filter(|task| which(&task.key)).count()
    }

    /// A device with a worker that has nothing to do, the least busy one.
    fn free_device(&self) -> Option<usize> {
        let mut workers = vec![0; self.scenario.devices];
        for task in self.floor.tasks() {
            if let Work::Device(partition) = task.key {
                workers[self.device_of(partition)] += 1;
            }
        }
        let least = (0..workers.len()).min_by_key(|device| workers[*device])?;
        (workers[least] < self.scenario.slots).then_some(least)
    }

    fn device_of(&self, partition: usize) -> usize {
        match self.stages.get(partition) {
            Some(Some(stages)) => stages.device,
            _ => 0,
        }
    }

    fn may_synthesise(&self) -> bool {
        let request = self.begun / self.circuit.partitions;
        if self.begun == self.stages.len() || request >= self.ended.saturating_add(self.scenario.mix.queued) {
            return false;
        }
        let synthesising = self.running(|work| matches!(work, Work::Synthesis(_)));
        match self.pipeline.permit {
            Permit::UntilSynthesised => synthesising < self.scenario.workers,
            Permit::UntilTaken => synthesising + self.blocked.len() < self.scenario.workers,
            Permit::Bytes(budget) => {
                let each = self.sizes.vectors.saturating_add(self.sizes.aux).0;
                let in_flight = self.stages.iter().flatten().count() as u64;
                synthesising < self.scenario.workers && (in_flight + 1).saturating_mul(each) <= budget.0
            }
        }
    }

    fn synthesise(&mut self) -> Result<()> {
        let partition = self.begun;
        self.begun += 1;
        let (request, part) = self.place(partition);
        let place = Drawn { kind: 0, request, partition: part };
        let stages = Stages::draw(self.scenario, self.circuit, place);
        let evaluation = stages.synthesis * self.prior.evaluation;
        let worker = |seconds| Phase { place: Place::Worker, seconds };
        let phases = vec![worker(stages.synthesis - evaluation), worker(evaluation)];
        self.stages[partition] = Some(stages);
        self.doing(partition, Some(Doing::Synthesis));
        self.floor.start(Work::Synthesis(partition), Urgency::Patient, false, phases);
        Ok(())
    }

    fn send_to_device(&mut self, device: usize, partition: usize) -> Result<()> {
        let stages =
            self.stages[partition].as_mut().ok_or_else(|| Error::internal("a device got nothing"))?;
        stages.device = device;
        let used = stages.kernels * self.prior.vectors_used;
        let kernels = |seconds| Phase { place: Place::Device(device), seconds };
        let phases = vec![stages.start, kernels(used), kernels(stages.kernels - used)];
        self.doing(partition, Some(Doing::Start));
        self.floor.start(Work::Device(partition), Urgency::Patient, false, phases);
        Ok(())
    }

    fn phase_ended(&mut self, Ended { key, last, .. }: Ended<Work>) -> Result<()> {
        match key {
            Work::Synthesis(partition) if last => {
                self.doing(partition, Some(Doing::Waiting));
                self.blocked.push_back(partition);
            }
            Work::Device(partition) if last => {
                let stages = self.stages[partition].as_ref();
                let stages = stages.ok_or_else(|| Error::internal("nothing left the device"))?;
                let phases = vec![stages.finish, stages.verify];
                self.doing(partition, Some(Doing::Finish));
                self.floor.start(Work::Finish(partition), Urgency::Patient, false, phases);
            }
            Work::Finish(partition) if last => {
                self.doing(partition, None);
                self.stages[partition] = None;
                let (request, _) = self.place(partition);
                self.missing[request] -= 1;
                if self.missing[request] == 0 {
                    self.ended += 1;
                    let now = self.floor.now();
                    self.endings.push(now);
                    let before = request.checked_sub(self.scenario.mix.queued);
                    let arrived = before.and_then(|before| self.endings.get(before)).copied().unwrap_or(0.0);
                    self.tally.answered(self.id, arrived, now);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn place(&self, partition: usize) -> (usize, usize) {
        (partition / self.circuit.partitions, partition % self.circuit.partitions)
    }

    fn doing(&mut self, partition: usize, doing: Option<Doing>) {
        let place = self.place(partition);
        self.recorder.request(place.0, self.id);
        self.recorder.doing(self.floor.now(), place, doing);
    }

    /// What is held now; remembered.
    fn note(&mut self) -> f64 {
        let whole = Held { vectors: self.sizes.vectors.0 as f64, aux: self.sizes.aux.0 as f64 };
        let waiting = self.blocked.len() + self.channel.len();
        let mut held = Held { vectors: whole.vectors * waiting as f64, aux: whole.aux * waiting as f64 };
        for task in self.floor.tasks() {
            let Held { vectors, aux } = self.held_by(task, whole);
            held.vectors += vectors;
            held.aux += aux;
        }
        let shared = (self.circuit.srs().0 as f64, self.sizes.matrices.0 as f64);
        let all = held.vectors + held.aux + shared.0 + shared.1;
        let classes = Class::ALL.map(|class| match class {
            Class::Srs => Bytes(shared.0 as u64),
            Class::Matrices => Bytes(shared.1 as u64),
            Class::Witness => Bytes(held.aux as u64),
            Class::WorkingSet => Bytes(held.vectors as u64),
            Class::Intake => Bytes::ZERO,
        });
        self.recorder.memory(self.floor.now(), classes, all as u64);
        let begun = self.begun.div_ceil(self.circuit.partitions);
        self.recorder.counts(waiting, begun - self.ended);
        all
    }

    fn held_by(&self, task: &Task<Work>, whole: Held) -> Held {
        let (phase, done) = task.progress();
        match (task.key, phase) {
            // The private variables come one by one; then a, b and c beside copies of these.
            (Work::Synthesis(_), 0) => Held { vectors: 0.0, aux: whole.aux * done },
            (Work::Synthesis(_), _) => {
                Held { vectors: whole.vectors * done, aux: whole.aux * (1.0 + self.prior.copies) }
            }
            (Work::Device(_), 0 | 1) => whole,
            (Work::Device(_), _) | (Work::Finish(_), _) => {
                let vectors = if self.pipeline.frees_early { 0.0 } else { whole.vectors };
                Held { vectors, ..whole }
            }
        }
    }
}
