//! The library's own scheduler, driven with virtual time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::arrivals::{fits, slots, Source};
use super::floor::{Ended, Floor, Phase, Place};
use super::outcome::{Outcome, Shares, Tally};
use super::recorder::{Doing, Recorder};
use super::scenario::{Drawn, Scenario, Stages};
use crate::engine::Config;
use crate::error::{Code, Error, Result};
use crate::kind::{CircuitId, Urgency};
use crate::memory::{ClaimId, Class};
use crate::schedule::{Action, Costs, Event, JobId, Outcome as Ending, Scheduler, Submission, Wait};
use crate::units::Bytes;

/// Work on the floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Load(CircuitId),
    Synthesis(JobId, usize),
    Start(JobId, usize),
    Finish(JobId, usize),
}

/// Thirty years: every moment of it is told apart to less than a microsecond.
const LONGEST: f64 = 1e9;

/// An accepted partition.
#[derive(Default)]
struct Part {
    stages: Option<Stages>,
    slot: usize,
    witness: Option<ClaimId>,
    turn: Option<ClaimId>,
    finishing: Option<ClaimId>,
}

struct Job {
    circuit: CircuitId,
    arrived: f64,
    /// Which of its kind's requests, and which kind of the mix.
    number: (usize, usize),
    intake: Option<ClaimId>,
    parts: Vec<Part>,
}

struct Run<'a> {
    scenario: &'a Scenario<'a>,
    scheduler: Scheduler,
    /// The scheduler's time.
    clock: u64,
    floor: Floor<Work>,
    events: VecDeque<Event>,
    sources: Vec<Source>,
    /// Who found no room and comes again when something has changed.
    refused: BTreeSet<usize>,
    jobs: BTreeMap<JobId, Job>,
    circuits: BTreeMap<CircuitId, ClaimId>,
    tally: Tally,
    recorder: Recorder,
    arrivals: u64,
    loads: usize,
    /// Synthesis threads, PoSt's own included where there is PoSt.
    workers: usize,
    /// Partitions that wait for a slot.
    waiting: usize,
    /// Slots with a turn.
    turns: usize,
    /// Turns that are kept while their proof is finished: memory to finish it beside them was not free.
    kept_turns: usize,
    /// Bytes that buffers hold.
    held: u64,
    waited_for_memory: f64,
    busy_slots: f64,
}

/// Runs a scenario to the end of its mix.
pub(super) fn run(scenario: &Scenario) -> Result<Outcome> {
    let mut run = Run::new(scenario)?;
    run.go()?;
    let seconds = run.floor.now();
    let mut busy = Shares::of(run.floor.busy(), seconds, run.workers, scenario.cores);
    busy.memory = run.waited_for_memory / seconds.max(f64::MIN_POSITIVE);
    busy.slots = run.busy_slots / seconds.max(f64::MIN_POSITIVE);
    Ok(Outcome {
        seconds,
        kinds: run.tally.kinds(seconds),
        peak: run.recorder.peak(),
        peak_classes: run.recorder.peak_classes,
        held: Bytes(run.recorder.held),
        unfinished: run.recorder.unfinished,
        waiting: run.recorder.waiting,
        busy,
        loads: run.loads,
        killed: None,
        timeline: run.recorder.finish(seconds),
    })
}

impl<'a> Run<'a> {
    fn new(scenario: &'a Scenario<'a>) -> Result<Run<'a>> {
        let slots = slots(scenario);
        let core = (scenario.devices > 0).then_some(scenario.core);
        let processor = scenario.profile.processor(scenario.cores)?;
        let config = Config { synthesis_workers: scenario.workers, ..Config::default() };
        let mut settings = config.scheduling(slots);
        (settings.budget, settings.ceiling) = (scenario.memory, scenario.memory);
        let count = settings.slots.len();
        let post = scenario.mix.entries.iter().any(|entry| entry.circuit.kind.urgency() < Urgency::Patient);
        let workers = settings.workers + if post { settings.urgent_workers } else { 0 };
        let mut sources = Vec::new();
        for entry in &scenario.mix.entries {
            let circuit = scenario.circuit(entry.circuit)?;
            let slot = circuit.slot(core, processor);
            let costs = Arc::new(circuit.costs(entry.circuit, count, slot));
            fits(&costs, circuit.intake, scenario.memory)?;
            sources.push(Source { entry: entry.clone(), costs, come: 0, unfinished: 0 });
        }
        let urgent = sources.iter().filter(|source| source.entry.circuit.kind.urgency() < Urgency::Patient);
        let events = urgent.map(|source| Event::Known { costs: source.costs.clone() }).collect();
        Ok(Run {
            scheduler: Scheduler::new(settings)?,
            clock: 0,
            floor: Floor::new(scenario.resources(), scenario.devices),
            events,
            refused: BTreeSet::new(),
            jobs: BTreeMap::new(),
            circuits: BTreeMap::new(),
            tally: Tally::new(scenario.mix.entries.iter().map(|entry| entry.circuit)),
            recorder: Recorder::new(scenario.record),
            arrivals: 0,
            loads: 0,
            workers,
            waiting: 0,
            turns: 0,
            kept_turns: 0,
            held: 0,
            waited_for_memory: 0.0,
            busy_slots: 0.0,
            sources,
            scenario,
        })
    }

    fn go(&mut self) -> Result<()> {
        // More at one moment than any plan has partitions is no progress.
        const MOST_AT_ONCE: usize = 1_000_000;
        let (mut since, mut rounds) = (0.0, 0);
        while rounds < MOST_AT_ONCE {
            rounds += 1;
            if self.floor.now() > since {
                (since, rounds) = (self.floor.now(), 0);
            }
            self.arrive()?;
            while let Some(event) = self.events.pop_front() {
                self.tell(event)?;
                self.arrive()?;
            }
            let Some(next) = self.next() else { break };
            self.count_until(next);
            for ended in self.floor.advance(next) {
                self.ended(ended)?;
            }
            if let Some(at) = self.scheduler.next_wakeup().filter(|at| seconds(*at) <= self.floor.now()) {
                self.clock = self.clock.max(at);
                self.events.push_back(Event::Tick);
            }
            if self.floor.now() > LONGEST {
                return Err(Error::new(
                    Code::InvalidArgument,
                    format!(
                        "the plan takes longer than {LONGEST:.0} s; ask for fewer requests or more workers"
                    ),
                ));
            }
        }
        if self.jobs.is_empty() && self.sources.iter().all(|source| source.come == source.entry.count) {
            return Ok(());
        }
        Err(Error::internal("the simulated scheduler stands still with work left"))
    }

    /// The scheduler's time, rounded up: nothing happens before it is due.
    fn now(&self) -> u64 {
        (self.floor.now() * 1e9).ceil() as u64
    }

    /// When something happens by itself.
    fn next(&self) -> Option<f64> {
        let queued = self.scenario.mix.queued;
        let coming = self.sources.iter().enumerate().filter(|(i, _)| !self.refused.contains(i));
        let arrival = coming.filter_map(|(_, source)| source.next(queued)).min_by(f64::total_cmp);
        let waiting = !self.jobs.is_empty() || !self.refused.is_empty();
        let wakeup = self.scheduler.next_wakeup().filter(|_| waiting).map(seconds);
        [self.floor.next(), arrival, wakeup].into_iter().flatten().min_by(f64::total_cmp)
    }

    /// What is counted over time, up to `next`.
    fn count_until(&mut self, next: f64) {
        let passed = (next - self.floor.now()).max(0.0);
        if self.waits_for_memory() {
            self.waited_for_memory += passed;
        }
        if self.floor.tasks().iter().any(|task| matches!(task.key, Work::Start(..))) {
            self.busy_slots += passed;
        }
    }

    /// Whether some partition waits for memory: to be synthesised, or with its witness for a slot that is free
    /// or would be.
    fn waits_for_memory(&self) -> bool {
        let slots = self.scenario.devices * self.scenario.slots;
        let slot_free = self.waiting > 0 && (self.turns < slots || self.kept_turns > 0);
        slot_free || self.scheduler.waits().any(|wait| matches!(wait, Wait::Memory | Wait::Door))
    }

    fn note(&mut self) {
        let ledger = self.scheduler.ledger();
        let classes = Class::ALL.map(|class| ledger.class(class));
        self.recorder.memory(self.floor.now(), classes, self.held);
        self.recorder.counts(self.waiting, self.jobs.len());
    }

    /// Submits what is due. A refused request comes again when something has changed.
    fn arrive(&mut self) -> Result<()> {
        if !self.events.is_empty() {
            return Ok(());
        }
        let (now, queued) = (self.floor.now(), self.scenario.mix.queued);
        let mut due = (0..self.sources.len()).filter(|i| {
            let source = &self.sources[*i];
            source.next(queued).is_some_and(|at| at <= now) && !self.refused.contains(i)
        });
        let Some(source) = due.next() else { return Ok(()) };
        drop(due);
        self.submit(source)
    }

    fn submit(&mut self, from: usize) -> Result<()> {
        let now = self.floor.now();
        let source = &mut self.sources[from];
        let come = source.come;
        let arrived = source.entry.every.map_or(now, |every| every * come as f64);
        let job = JobId(self.arrivals);
        self.arrivals += 1;
        source.come += 1;
        source.unfinished += 1;
        let circuit = source.entry.circuit;
        let profile = self.scenario.circuit(circuit)?;
        let parts = (0..profile.partitions).map(|_| Part::default()).collect();
        self.jobs.insert(job, Job { circuit, arrived, number: (from, come), intake: None, parts });
        let submission = Submission {
            job,
            costs: source.costs.clone(),
            partitions: profile.partitions,
            intake: profile.intake,
            deadline: None,
        };
        self.events.push_back(Event::Submitted(submission));
        Ok(())
    }

    fn tell(&mut self, event: Event) -> Result<()> {
        self.clock = self.clock.max(self.now());
        for action in self.scheduler.on(self.clock, event) {
            self.act(action)?;
        }
        self.note();
        Ok(())
    }

    fn dropped(&mut self, claim: Option<ClaimId>) {
        self.events.extend(claim.map(|claim| Event::ClaimDropped { claim }));
    }

    fn act(&mut self, action: Action) -> Result<()> {
        let now = self.floor.now();
        match action {
            Action::Accept { job, claim, .. } => {
                self.refused.clear();
                let parts = {
                    let job = self.job(job)?;
                    job.intake = Some(claim);
                    job.parts.len()
                };
                let circuit = self.job(job)?.circuit;
                self.held += self.scenario.circuit(circuit)?.intake.0;
                self.recorder.request(job.0 as usize, circuit);
                (0..parts).for_each(|part| self.recorder.doing(now, at(job, part), Some(Doing::Queued)));
            }
            Action::Refuse { job, error } => self.refuse(job, error)?,
            Action::LoadCircuit { circuit, claim } => {
                self.circuits.insert(circuit, claim);
                self.loads += 1;
                let costs = self.costs(circuit)?;
                self.held += costs.residency().0;
                let seconds = costs.srs.0 as f64 / self.scenario.profile.disk.0 as f64;
                let phases = vec![Phase { place: Place::Disk, seconds }];
                self.floor.start(Work::Load(circuit), circuit.kind.urgency(), false, phases);
            }
            Action::DropCircuit { circuit } => {
                self.held -= self.costs(circuit)?.residency().0;
                let claim = self.circuits.remove(&circuit);
                self.dropped(claim);
            }
            Action::Synthesize { job, partition, claim } => self.synthesize(job, partition, claim)?,
            Action::Prove { job, partition, slot, turn } => self.prove((job, partition), slot, turn)?,
            Action::Finish { job, partition, claim } => self.finish(job, partition, claim)?,
            Action::Complete { job, outcome } => self.complete(job, outcome)?,
            Action::Fault { error } => return Err(error),
            // A load that nobody waits for any more goes on to its end; nobody preloads or evicts.
            Action::CancelLoad { .. }
            | Action::Preloaded { .. }
            | Action::Evicted { .. }
            | Action::Corrected { .. } => {}
            Action::Diagnose { job, .. } => {
                return Err(Error::internal(format!("a proof of simulated job {} did not verify", job.0)))
            }
        }
        Ok(())
    }

    fn refuse(&mut self, job: JobId, error: Error) -> Result<()> {
        // Busy on an empty machine is for ever.
        let alone = self.jobs.len() == 1 && self.circuits.is_empty();
        if error.code() != Code::Busy || alone {
            return Err(error.at("the first request of the plan"));
        }
        let circuit = self.job(job)?.circuit;
        self.jobs.remove(&job);
        let from = self.sources.iter().position(|source| source.entry.circuit == circuit);
        if let Some(from) = from {
            self.sources[from].come -= 1;
            self.sources[from].unfinished -= 1;
        }
        self.refused.extend(from);
        Ok(())
    }

    fn synthesize(&mut self, job: JobId, partition: usize, claim: ClaimId) -> Result<()> {
        let entry = self.job(job)?;
        let circuit = entry.circuit;
        let place = Drawn { kind: entry.number.0, request: entry.number.1, partition };
        let stages = Stages::draw(self.scenario, self.scenario.circuit(circuit)?, place);
        let phases = vec![Phase { place: Place::Worker, seconds: stages.synthesis }];
        let part = self.part(job, partition)?;
        (part.stages, part.witness) = (Some(stages), Some(claim));
        self.held += self.costs(circuit)?.witness.0;
        self.recorder.doing(self.floor.now(), at(job, partition), Some(Doing::Synthesis));
        self.floor.start(Work::Synthesis(job, partition), circuit.kind.urgency(), false, phases);
        Ok(())
    }

    fn prove(&mut self, (job, partition): (JobId, usize), slot: usize, turn: ClaimId) -> Result<()> {
        let circuit = self.job(job)?.circuit;
        let on_device = self.scenario.devices > 0;
        let device = if on_device { slot % self.scenario.devices } else { 0 };
        let part = self.part(job, partition)?;
        (part.slot, part.turn) = (slot, Some(turn));
        let stages = part.stages.as_ref().ok_or_else(|| Error::internal("a slot got no witness"))?;
        let mut phases = vec![stages.start];
        if on_device {
            phases.push(Phase { place: Place::Device(device), seconds: stages.kernels });
        }
        self.waiting -= 1;
        self.turns += 1;
        self.held += self.slot_cost(job, partition)?.0 .0;
        self.recorder.doing(self.floor.now(), at(job, partition), Some(Doing::Start));
        self.floor.start(Work::Start(job, partition), circuit.kind.urgency(), !on_device, phases);
        Ok(())
    }

    fn finish(&mut self, job: JobId, partition: usize, claim: Option<ClaimId>) -> Result<()> {
        let circuit = self.job(job)?.circuit;
        let part = self.part(job, partition)?;
        let stages = part.stages.as_ref().ok_or_else(|| Error::internal("a proof was not started"))?;
        let phases = vec![stages.finish, stages.verify];
        part.finishing = claim;
        if claim.is_some() {
            let turn = part.turn.take();
            self.turns -= 1;
            self.dropped(turn);
        } else {
            self.kept_turns += 1;
        }
        self.held += self.slot_cost(job, partition)?.1 .0;
        self.recorder.doing(self.floor.now(), at(job, partition), Some(Doing::Finish));
        let overrides = self.scenario.devices == 0;
        self.floor.start(Work::Finish(job, partition), circuit.kind.urgency(), overrides, phases);
        Ok(())
    }

    fn complete(&mut self, job: JobId, outcome: Ending) -> Result<()> {
        if let Ending::Failed(error) | Ending::Cancelled(error) = outcome {
            return Err(error);
        }
        let entry = self.jobs.remove(&job).ok_or_else(|| unknown(job))?;
        self.held -= self.scenario.circuit(entry.circuit)?.intake.0;
        self.dropped(entry.intake);
        self.tally.answered(entry.circuit, entry.arrived, self.floor.now());
        for source in self.sources.iter_mut().filter(|source| source.entry.circuit == entry.circuit) {
            source.unfinished -= 1;
        }
        self.refused.clear();
        Ok(())
    }

    fn ended(&mut self, Ended { key, phase, last }: Ended<Work>) -> Result<()> {
        let now = self.floor.now();
        match key {
            Work::Load(circuit) => {
                let costs = self.costs(circuit)?;
                let (srs, matrices) = (costs.srs, costs.matrices);
                self.events.push_back(Event::CircuitLoaded { circuit, srs, matrices });
            }
            Work::Synthesis(job, partition) => {
                self.waiting += 1;
                self.recorder.doing(now, at(job, partition), Some(Doing::Waiting));
                let bytes = self.costs(self.jobs.get(&job).ok_or_else(|| unknown(job))?.circuit)?.witness;
                self.events.push_back(Event::SynthesisDone { job, partition, bytes });
            }
            Work::Start(job, partition) if last => {
                self.held -= self.slot_cost(job, partition)?.0 .0;
                self.events.push_back(Event::SlotDone { job, partition });
            }
            Work::Finish(job, partition) => {
                if phase == 0 {
                    self.held -= self.slot_cost(job, partition)?.1 .0;
                    let part = self.part(job, partition)?;
                    let claims = [part.turn.take(), part.finishing.take()];
                    let kept = usize::from(claims[0].is_some());
                    (self.turns, self.kept_turns) = (self.turns - kept, self.kept_turns - kept);
                    claims.into_iter().for_each(|claim| self.dropped(claim));
                }
                if last {
                    self.proved(job, partition)?;
                }
            }
            Work::Start(..) => {}
        }
        Ok(())
    }

    fn proved(&mut self, job: JobId, partition: usize) -> Result<()> {
        let witness = self.part(job, partition)?.witness.take();
        let circuit = self.job(job)?.circuit;
        self.held -= self.costs(circuit)?.witness.0;
        self.recorder.doing(self.floor.now(), at(job, partition), None);
        self.dropped(witness);
        self.events.push_back(Event::FinishDone { job, partition });
        Ok(())
    }

    fn job(&mut self, job: JobId) -> Result<&mut Job> {
        self.jobs.get_mut(&job).ok_or_else(|| unknown(job))
    }

    fn part(&mut self, job: JobId, partition: usize) -> Result<&mut Part> {
        self.job(job)?.parts.get_mut(partition).ok_or_else(|| unknown(job))
    }

    fn costs(&self, circuit: CircuitId) -> Result<Arc<Costs>> {
        let source = self.sources.iter().find(|source| source.entry.circuit == circuit);
        let source = source.ok_or_else(|| Error::internal(format!("nobody asked for {circuit}")))?;
        Ok(source.costs.clone())
    }

    /// What the steps of a partition's slot hold.
    fn slot_cost(&mut self, job: JobId, partition: usize) -> Result<(Bytes, Bytes)> {
        let circuit = self.job(job)?.circuit;
        let slot = self.part(job, partition)?.slot;
        let costs = self.costs(circuit)?;
        let cost = costs.slots.get(slot).copied().unwrap_or_default();
        Ok((cost.start, cost.finish))
    }
}

/// Of the scheduler's nanoseconds.
fn seconds(at: u64) -> f64 {
    at as f64 / 1e9
}

fn at(job: JobId, partition: usize) -> (usize, usize) {
    (job.0 as usize, partition)
}

fn unknown(job: JobId) -> Error {
    Error::internal(format!("simulated job {} is unknown", job.0))
}
