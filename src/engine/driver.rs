//! The scheduler's thread: turns messages into events and actions into work.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender};

use super::entry::{lock, millis, Identity, JobEntry};
use super::lifecycle::{At, Lifecycle, Passage};
use super::shared::{closed, Shared};
use super::slot::CPU;
use super::work::{guarded, Chore, Claim, Door, Ending, Intake, Item, Message, Resident, Turn};
use super::workers;
use crate::cancel::Cancel;
use crate::error::{Code, Error, Result};
use crate::kind::CircuitId;
use crate::memory::{probe, ClaimId, Class, Count, Observation, Stage};
use crate::prove::{Proof, ProofTask};
use crate::schedule::{Action, Event, Factors, JobId, Outcome, Scheduler, Wait};
use crate::units::Bytes;

/// Where the work goes.
pub(super) struct Outlets {
    pub synthesis: Sender<Box<Item>>,
    pub slots: Vec<Sender<Turn>>,
    /// By urgency.
    pub finish: Vec<Sender<Box<Item>>>,
    pub delivery: Sender<Box<Ending>>,
    pub chores: Sender<Chore>,
}

struct Running {
    entry: Arc<JobEntry>,
    task: Arc<dyn ProofTask>,
    intake: Option<Arc<Intake>>,
    intake_bytes: Bytes,
    /// Partitions that wait here.
    waiting: HashMap<usize, Box<Item>>,
    proofs: Vec<Option<Proof>>,
}

pub(super) struct Driver {
    shared: Arc<Shared>,
    scheduler: Scheduler,
    outlets: Outlets,
    lifecycle: Lifecycle,
    /// What the next partition of each circuit waited for before the event that is told now.
    heads: HashMap<CircuitId, Wait>,
    /// Events that came of carrying out actions; told when these are done.
    events: VecDeque<Event>,
    telling: bool,
    /// Closed with this: the watch ends.
    _watched: Sender<()>,
    jobs: HashMap<JobId, Running>,
    circuits: HashMap<CircuitId, Resident>,
    loads: HashMap<CircuitId, Cancel>,
    preloads: HashMap<CircuitId, Vec<Sender<Result<bool>>>>,
    evictions: HashMap<CircuitId, Vec<Sender<Result<Option<Bytes>>>>>,
}

impl Driver {
    pub fn new(shared: Arc<Shared>, scheduler: Scheduler, outlets: Outlets, watched: Sender<()>) -> Driver {
        Driver {
            shared,
            scheduler,
            outlets,
            lifecycle: Lifecycle::default(),
            heads: HashMap::new(),
            events: VecDeque::new(),
            telling: false,
            _watched: watched,
            jobs: HashMap::new(),
            circuits: HashMap::new(),
            loads: HashMap::new(),
            preloads: HashMap::new(),
            evictions: HashMap::new(),
        }
    }

    /// Runs until the engine is shut down and everything has come back.
    pub fn run(mut self, messages: &Receiver<Message>) {
        while !self.scheduler.finished() {
            let message = match self.scheduler.next_wakeup() {
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => messages.recv_timeout(Duration::from_nanos(at.saturating_sub(self.shared.now()))),
            };
            let message = match message {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => Message::Event(Event::Tick),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let shared = self.shared.clone();
            let handled = guarded(&shared.instruments.panics, "the scheduler", || {
                self.handle(message);
                Ok(())
            });
            if let Err(error) = handled {
                self.telling = false;
                self.fault(&error);
            }
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Event(event) => {
                if let Event::LoadFailed { circuit, .. } = &event {
                    self.loads.remove(circuit);
                }
                self.tell(event);
            }
            Message::Submit(door) => self.enter(&door),
            Message::Synthesized(item) => {
                let bytes = item.witness.as_ref().map_or(Bytes::ZERO, |w| w.mapped());
                let (job, partition) = self.keep(item, Passage::SynthesisDone);
                self.tell(Event::SynthesisDone { job, partition, bytes });
            }
            Message::Started(item) => {
                let (job, partition) = self.keep(item, Passage::EvaluationFreed);
                self.tell(Event::SlotDone { job, partition });
            }
            Message::NotVerified(item) => {
                let (job, partition) = self.keep(item, Passage::NotVerified);
                self.tell(Event::VerifyFailed { job, partition });
            }
            Message::Passed { job, partition, passage } => self.pass((job, partition), passage),
            Message::Proved { job, partition, proof } => {
                let slot = self.jobs.get_mut(&job).and_then(|running| running.proofs.get_mut(partition));
                if let Some(slot) = slot {
                    *slot = Some(*proof);
                }
                self.tell(Event::FinishDone { job, partition });
            }
            Message::Loaded { circuit, data, claim, took } => {
                for running in self.jobs.values().filter(|r| r.entry.identity.circuit == circuit) {
                    running.entry.note(|report| report.srs_load_ms = millis(took));
                }
                self.shared.instruments.loaded(circuit, Some(took));
                self.loads.remove(&circuit);
                let (srs, matrices) = (data.srs.mapped(), data.matrices.mapped());
                self.circuits.insert(circuit, Resident::new(*data, claim));
                self.tell(Event::CircuitLoaded { circuit, srs, matrices });
            }
            Message::Preload { costs, reply } => {
                self.preloads.entry(costs.circuit).or_default().push(reply);
                self.tell(Event::Preload { costs });
            }
            Message::Evict { circuit, reply } => {
                self.evictions.entry(circuit).or_default().push(reply);
                self.tell(Event::Evict { circuit });
            }
            Message::Observed(observation) => self.observed(&observation),
            Message::Query(query) => query(&self.scheduler, &self.lifecycle),
        }
    }

    /// The budget follows what machine and control groups leave.
    fn observed(&mut self, observation: &Observation) {
        let config = &self.shared.config;
        let ledger = self.scheduler.ledger();
        // Files are not missing from what is left, and another engine's buffers are not ours to count on.
        let promised = ledger.reserved().saturating_sub(ledger.class(Class::Srs));
        let ours = observation.ours.min(promised);
        let margin = config.memory_margin;
        let bytes = probe::budget(config.memory_limit, margin, ours, observation);
        let changed = *lock(&self.shared.limit);
        let bytes = changed.map_or(bytes, |limit| bytes.min(limit.saturating_sub(margin)));
        let threshold = f64::from(config.memory_pressure);
        // Slowed above the threshold, until it has fallen to half of it.
        let threshold = if self.scheduler.is_pressed() { threshold / 2.0 } else { threshold };
        let pressed = threshold > 0.0 && observation.pressure > threshold;
        if bytes != ledger.budget() || pressed != self.scheduler.is_pressed() {
            self.tell(Event::Budget { bytes, pressed });
        }
    }

    /// A projection was too small; remembered for the next start too.
    fn corrected(&self, circuit: CircuitId, factors: Factors) {
        tracing::warn!(%circuit, ?factors, "memory exceeded its projection; the next claims are larger");
        // Where nobody does chores any more the engine is closed.
        let _ = self.outlets.chores.send(Chore::Remember(circuit, factors));
    }

    fn enter(&mut self, door: &Door) {
        let (entry, task) = (door.entry.clone(), door.task.clone());
        let submission = door.submission.clone();
        let proofs = vec![None; submission.partitions];
        let intake_bytes = submission.intake;
        let running = Running { entry, task, intake: None, intake_bytes, waiting: HashMap::new(), proofs };
        self.jobs.insert(submission.job, running);
        self.tell(Event::Submitted(submission));
    }

    /// Puts an item down until the scheduler says where it goes; of a job that has ended it is dropped.
    fn keep(&mut self, item: Box<Item>, passage: Passage) -> At {
        let at = (item.job(), item.partition);
        self.pass(at, passage);
        if let Some(running) = self.jobs.get_mut(&at.0) {
            running.waiting.insert(at.1, item);
        }
        at
    }

    fn pass(&mut self, at: At, passage: Passage) {
        if !self.lifecycle.pass(at, passage) {
            let text =
                format!("partition {} of job {} is not where {} begins", at.1, at.0 .0, passage.name());
            self.fault(&Error::internal(text));
        }
    }

    /// Follows what an event means for a partition or a circuit.
    fn follow(&mut self, event: &Event) {
        match event {
            Event::SynthesisFailed { job, partition, .. } => {
                self.pass((*job, *partition), Passage::SynthesisFailed)
            }
            Event::SlotFailed { job, partition, .. } | Event::Diagnosed { job, partition, .. } => {
                self.pass((*job, *partition), Passage::ProvingFailed);
            }
            Event::FinishFailed { job, partition, .. } => {
                self.pass((*job, *partition), Passage::FinishFailed)
            }
            Event::ClaimDropped { claim } => self.lifecycle.freed(*claim),
            Event::LoadFailed { circuit, error } if error.code() != Code::Cancelled => {
                self.shared.instruments.loaded(*circuit, None);
            }
            _ => {}
        }
    }

    /// Tells the scheduler and does what it says. What comes of that is told after it, never amid it.
    fn tell(&mut self, event: Event) {
        self.events.push_back(event);
        if self.telling {
            return;
        }
        self.telling = true;
        while let Some(event) = self.events.pop_front() {
            self.follow(&event);
            self.heads.clear();
            self.heads.extend(self.scheduler.heads());
            for action in self.scheduler.on(self.shared.now(), event) {
                let failure = failure_of(&action);
                if let Err(error) = self.act(action) {
                    self.fault(&error);
                    self.events.extend(failure.map(|failed| failed(error)));
                }
            }
        }
        self.telling = false;
    }

    fn fault(&self, error: &Error) {
        self.shared.instruments.faults.one();
        tracing::error!(%error, "broken invariant of the pipeline");
    }

    fn claim(&self, id: ClaimId) -> Claim {
        Claim::new(id, &self.shared.messages)
    }

    fn act(&mut self, action: Action) -> Result<()> {
        match action {
            Action::Accept { job, position, claim } => {
                let claim = self.claim(claim);
                let running = self.running(job)?;
                let count = Count::heap(Class::Intake, Stage::Waiting, running.intake_bytes);
                running.intake = Some(Arc::new(Intake::new(count, claim)));
                running.entry.admit(Ok(position));
            }
            Action::Refuse { job, error } => {
                let running = self.jobs.remove(&job).ok_or_else(|| unknown(job))?;
                running.entry.admit(Err(error));
            }
            Action::LoadCircuit { circuit, claim } => self.load(circuit, claim),
            Action::CancelLoad { circuit } => {
                if let Some(cancel) = self.loads.get(&circuit) {
                    cancel.cancel();
                }
            }
            Action::DropCircuit { circuit } => {
                let resident = self.circuits.remove(&circuit);
                let resident =
                    resident.ok_or_else(|| Error::internal(format!("{circuit} is not in memory")))?;
                self.shared.instruments.evicted(circuit);
                deliver(&self.outlets.chores, Chore::Drop(Box::new(resident)))?;
            }
            Action::Synthesize { job, partition, claim } => self.synthesize(job, partition, claim)?,
            Action::Prove { job, partition, slot, turn } => {
                let item = self.take(job, partition, slot, turn)?;
                if falls_back(&item, self.shared.slots.device(slot)) {
                    self.shared.instruments.fallbacks.one();
                }
                self.turn(slot, Turn::Prove(item))?;
            }
            Action::Diagnose { job, partition, slot, turn } => {
                let item = self.take(job, partition, slot, turn)?;
                self.turn(slot, Turn::Diagnose(item))?;
            }
            Action::Finish { job, partition, claim } => self.finish(job, partition, claim)?,
            Action::Complete { job, outcome } => self.complete(job, outcome)?,
            Action::Preloaded { circuit, result } => {
                answer(self.preloads.remove(&circuit), &result);
            }
            Action::Evicted { circuit, result } => {
                answer(self.evictions.remove(&circuit), &result);
            }
            Action::Corrected { circuit, factors } => self.corrected(circuit, factors),
            Action::Fault { error } => self.fault(&error),
        }
        Ok(())
    }

    fn running(&mut self, job: JobId) -> Result<&mut Running> {
        self.jobs.get_mut(&job).ok_or_else(|| unknown(job))
    }

    fn waiting(&mut self, job: JobId, partition: usize) -> Result<Box<Item>> {
        let item = self.running(job)?.waiting.remove(&partition);
        item.ok_or_else(|| Error::internal(format!("partition {partition} of job {} is not waiting", job.0)))
    }

    fn synthesize(&mut self, job: JobId, partition: usize, claim: ClaimId) -> Result<()> {
        let witness_claim = self.claim(claim);
        let entry = self.running(job)?.entry.clone();
        self.lifecycle.enter((job, partition), &entry, claim);
        self.admitted(&entry);
        let running = self.running(job)?;
        let item = Item {
            partition,
            entry: running.entry.clone(),
            task: running.task.clone(),
            witness: None,
            started: None,
            circuit: None,
            slot: 0,
            devices: Vec::new(),
            turn: None,
            finishing: None,
            _intake: running.intake.clone(),
            _witness_claim: witness_claim,
        };
        deliver(&self.outlets.synthesis, Box::new(item))
    }

    /// Notes how long a job waited, at its first synthesis.
    fn admitted(&self, entry: &JobEntry) {
        let waited = entry.accepted.elapsed();
        let mut first = false;
        entry.note(|report| {
            first = report.state == "queued";
            if first {
                report.state = "running";
                report.queue_wait_ms = millis(waited);
            }
        });
        if first {
            let Identity { kind, circuit, .. } = &entry.identity;
            let wait = self.heads.get(circuit).copied().unwrap_or(Wait::Nothing);
            let counts = &self.shared.instruments;
            counts.kinds.get(*kind).admitted(&counts.exporter, wait, waited);
        }
    }

    fn take(&mut self, job: JobId, partition: usize, slot: usize, turn: ClaimId) -> Result<Box<Item>> {
        let turn = self.claim(turn);
        self.pass((job, partition), Passage::ProvingStarted);
        let mut item = self.waiting(job, partition)?;
        let circuit = item.entry.identity.circuit;
        let resident = self.circuits.get(&circuit);
        let resident = resident.ok_or_else(|| Error::internal(format!("{circuit} is not in memory")))?;
        item.circuit = Some(resident.data.clone());
        item.turn = Some(turn);
        item.slot = slot;
        Ok(item)
    }

    fn finish(&mut self, job: JobId, partition: usize, claim: Option<ClaimId>) -> Result<()> {
        let claim = claim.map(|id| self.claim(id));
        self.pass((job, partition), Passage::FinishStarted);
        let mut item = self.waiting(job, partition)?;
        if claim.is_some() {
            item.finishing = claim;
            item.turn = None;
        }
        let urgency = item.entry.identity.kind.urgency();
        let outlet = self.outlets.finish.get(urgency as usize);
        deliver(outlet.ok_or_else(|| Error::internal("nobody finishes proofs"))?, item)
    }

    fn turn(&self, slot: usize, turn: Turn) -> Result<()> {
        let outlet = self.outlets.slots.get(slot);
        deliver(outlet.ok_or_else(|| Error::internal(format!("no slot {slot}")))?, turn)
    }

    fn load(&mut self, circuit: CircuitId, claim: ClaimId) {
        let cancel = Cancel::new();
        self.loads.insert(circuit, cancel.clone());
        let claim = self.claim(claim);
        let shared = self.shared.clone();
        let started = Instant::now();
        let spawned = std::thread::Builder::new()
            .name(format!("load-{circuit}"))
            .spawn(move || workers::load(&shared, circuit, claim, &cancel, started));
        if let Err(e) = spawned {
            let error = Error::system(format!("starting a thread to load {circuit}"), e);
            // The claim went down with the thread's closure; its return is already on its way, after this.
            self.tell(Event::LoadFailed { circuit, error });
        }
    }

    fn complete(&mut self, job: JobId, outcome: Outcome) -> Result<()> {
        let running = self.jobs.remove(&job).ok_or_else(|| unknown(job))?;
        let Running { entry, task, intake, waiting, proofs, .. } = running;
        if outcome != Outcome::Proved {
            entry.cancel.cancel();
        }
        deliver(&self.outlets.chores, Chore::Drop(Box::new(waiting)))?;
        let ending = Ending { entry, task, outcome, proofs, intake };
        deliver(&self.outlets.delivery, Box::new(ending))
    }
}

/// Whether the processor proves what a device got wrong.
fn falls_back(item: &Item, device: &str) -> bool {
    device == CPU && item.devices.iter().any(|earlier| earlier != CPU)
}

/// What the scheduler hears where work of an action could not be handed on.
fn failure_of(action: &Action) -> Option<impl FnOnce(Error) -> Event> {
    let (job, partition, event): (_, _, fn(JobId, usize, Error) -> Event) = match action {
        Action::Synthesize { job, partition, .. } => {
            (*job, *partition, |job, partition, error| Event::SynthesisFailed { job, partition, error })
        }
        Action::Prove { job, partition, .. } | Action::Diagnose { job, partition, .. } => {
            (*job, *partition, |job, partition, error| Event::SlotFailed { job, partition, error })
        }
        Action::Finish { job, partition, .. } => {
            (*job, *partition, |job, partition, error| Event::FinishFailed { job, partition, error })
        }
        _ => return None,
    };
    Some(move |error| event(job, partition, error))
}

fn unknown(job: JobId) -> Error {
    Error::internal(format!("job {} is unknown", job.0))
}

fn deliver<T>(outlet: &Sender<T>, work: T) -> Result<()> {
    outlet.send(work).map_err(|_| closed())
}

fn answer<T: Clone>(waiting: Option<Vec<Sender<T>>>, result: &T) {
    for reply in waiting.into_iter().flatten() {
        // Whoever asked may have given up.
        let _ = reply.send(result.clone());
    }
}
