//! The driver of the tests: carries out what the scheduler decides as the engine does, with the same
//! guards dropped at the same places, and knows what really exists. Every step is checked.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::model::{Item, Place, Presence, Request, Role, Shared, Work};
use crate::error::Error;
use crate::kind::CircuitId;
use crate::memory::ClaimId;
use crate::schedule::{Action, Costs, Event, JobId, Outcome, Scheduler, Settings, Submission};
use crate::units::Bytes;

/// `Err` says which rule was broken.
pub type Checked = Result<(), String>;

#[derive(Clone)]
pub struct World {
    pub scheduler: Scheduler,
    pub settings: Arc<Settings>,
    pub costs: Arc<BTreeMap<CircuitId, Arc<Costs>>>,
    pub now: u64,
    /// In flight, in the order in which it began.
    pub work: Vec<Work>,
    /// The channel to the scheduler's thread.
    pub mail: VecDeque<Event>,
    pub items: BTreeMap<(JobId, usize), Item>,
    pub jobs: BTreeMap<JobId, Request>,
    pub circuits: BTreeMap<CircuitId, Shared>,
    pub roles: BTreeMap<ClaimId, Role>,
    pub answers: BTreeMap<JobId, Outcome>,
    pub refusals: BTreeMap<JobId, Error>,
    pub proved: Vec<(JobId, usize, usize)>,
    pub replies: Vec<Action>,
    pub unanswered: BTreeMap<(CircuitId, bool), usize>,
    /// Loads since a request was last served.
    pub idle_loads: usize,
    /// No size was wrong and the budget was never lowered: PoSt is admitted where it comes.
    pub calm: bool,
    /// The budget as the scheduler was told.
    pub limit: Bytes,
    /// A winning_post must be admitted where it comes, in a calm world.
    pub post_at_once: bool,
    /// Random faults include sizes that were not projected.
    pub lies: bool,
    /// Sizes are told though they are as projected.
    pub tells_sizes: bool,
    pub submitted: u64,
    /// The circuit of every request that ever came.
    pub homes: BTreeMap<JobId, CircuitId>,
    /// Real bytes of decoded requests.
    pub intake: Bytes,
    pub story: Option<Vec<String>>,
}

impl World {
    pub fn new(settings: Settings, costs: impl IntoIterator<Item = Arc<Costs>>) -> World {
        let costs: BTreeMap<_, _> = costs.into_iter().map(|costs| (costs.circuit, costs)).collect();
        let limit = settings.budget;
        World {
            scheduler: Scheduler::new(settings.clone()).unwrap(),
            settings: Arc::new(settings),
            costs: Arc::new(costs),
            now: 0,
            work: Vec::new(),
            mail: VecDeque::new(),
            items: BTreeMap::new(),
            jobs: BTreeMap::new(),
            circuits: BTreeMap::new(),
            roles: BTreeMap::new(),
            answers: BTreeMap::new(),
            refusals: BTreeMap::new(),
            proved: Vec::new(),
            replies: Vec::new(),
            unanswered: BTreeMap::new(),
            idle_loads: 0,
            calm: true,
            limit,
            post_at_once: false,
            lies: false,
            tells_sizes: false,
            submitted: 0,
            homes: BTreeMap::new(),
            intake: Bytes::ZERO,
            story: None,
        }
    }

    /// Tells the scheduler one event, does what it says and checks what came of it.
    pub fn tell(&mut self, event: Event) -> Checked {
        let before = self.before(&event);
        self.heard(&event);
        let actions = self.scheduler.on(self.now, event.clone());
        if let Some(story) = &mut self.story {
            story.push(format!("  {event:?}"));
            story.extend(actions.iter().map(|action| format!("    -> {action:?}")));
        }
        for action in actions {
            self.act(&event, action)?;
        }
        self.check(&event, &before)
    }

    /// The first message in the channel reaches the scheduler.
    pub fn deliver(&mut self) -> Checked {
        let Some(event) = self.mail.pop_front() else { return Ok(()) };
        match &event {
            Event::SynthesisDone { job, partition, .. }
            | Event::SlotDone { job, partition }
            | Event::VerifyFailed { job, partition } => self.keep(*job, *partition),
            Event::CircuitLoaded { circuit, .. } => {
                if let Some(shared) = self.circuits.get_mut(circuit) {
                    shared.state = Presence::Resident;
                    shared.idle_since = self.now;
                }
            }
            Event::LoadFailed { circuit, .. } => {
                if let Some(shared) = self.circuits.get_mut(circuit) {
                    shared.state = Presence::Leaving;
                }
            }
            Event::ClaimDropped { claim } => {
                if let Some(Role::Shared(circuit)) = self.roles.get(claim) {
                    self.circuits.remove(circuit);
                }
            }
            _ => {}
        }
        self.tell(event)
    }

    pub fn deliver_all(&mut self) -> Checked {
        while !self.mail.is_empty() {
            self.deliver()?;
        }
        Ok(())
    }

    /// A partition comes back to the driver; of a job that has ended it is dropped.
    fn keep(&mut self, job: JobId, partition: usize) {
        if self.jobs.contains_key(&job) {
            if let Some(item) = self.items.get_mut(&(job, partition)) {
                item.place = Place::Waiting;
            }
        } else {
            self.drop_item((job, partition));
        }
    }

    pub fn submit(
        &mut self,
        job: JobId,
        circuit: CircuitId,
        partitions: usize,
        deadline: Option<u64>,
    ) -> Checked {
        self.submit_bytes(job, circuit, partitions, deadline, Bytes(1))
    }

    /// A request that holds so many bytes while it is unfinished.
    pub fn submit_bytes(
        &mut self,
        job: JobId,
        circuit: CircuitId,
        partitions: usize,
        deadline: Option<u64>,
        intake: Bytes,
    ) -> Checked {
        let costs = self.costs[&circuit].clone();
        let key = (circuit.kind.urgency(), deadline.unwrap_or(u64::MAX), self.submitted);
        self.submitted += 1;
        let request = Request {
            key,
            circuit,
            partitions,
            started: 0,
            intake: None,
            intake_bytes: intake,
            passed_since: None,
            turns_waited: 0,
        };
        self.jobs.insert(job, request);
        self.homes.insert(job, circuit);
        self.intake = self.intake.saturating_add(intake);
        self.tell(Event::Submitted(Submission { job, costs, partitions, intake, deadline }))
    }

    pub fn preload(&mut self, circuit: CircuitId) -> Checked {
        self.tell(Event::Preload { costs: self.costs[&circuit].clone() })
    }

    /// Time goes on to when the scheduler wants to be woken.
    pub fn wait(&mut self) -> Checked {
        if let Some(at) = self.wakeup() {
            self.now = self.now.max(at);
        }
        self.tell(Event::Tick)
    }

    pub fn wakeup(&self) -> Option<u64> {
        self.scheduler.next_wakeup()
    }

    pub fn budget(&mut self, bytes: Bytes, pressed: bool) -> Checked {
        self.calm &= bytes >= self.settings.budget && !pressed;
        self.limit = bytes;
        self.tell(Event::Budget { bytes, pressed })
    }

    fn act(&mut self, event: &Event, action: Action) -> Checked {
        match action {
            Action::Accept { job, claim, .. } => {
                self.open(job)?.intake = Some(claim);
                self.roles.insert(claim, Role::Intake(job));
            }
            Action::Refuse { job, error } => {
                let bytes = self.open(job)?.intake_bytes;
                self.intake = self.intake.saturating_sub(bytes);
                self.jobs.remove(&job);
                if self.refusals.insert(job, error).is_some() {
                    return Err(format!("{job:?} is refused twice"));
                }
            }
            Action::LoadCircuit { circuit, claim } => self.load(circuit, claim)?,
            Action::CancelLoad { circuit } => {
                if self.circuits.get(&circuit).is_none_or(|s| s.state != Presence::Loading) {
                    return Err(format!("{circuit} is not being loaded"));
                }
            }
            Action::DropCircuit { circuit } => {
                self.may_drop(event, circuit)?;
                self.circuits.get_mut(&circuit).ok_or("unknown circuit")?.state = Presence::Leaving;
                self.work.push(Work::Unload(circuit));
            }
            Action::Synthesize { job, partition, claim } => self.synthesize(job, partition, claim)?,
            Action::Prove { job, partition, slot, turn } => {
                self.may_prove(job, partition, slot)?;
                self.proved.push((job, partition, slot));
                self.enter_slot((job, partition), slot, turn, Work::Slot(job, partition))?;
            }
            Action::Diagnose { job, partition, slot, turn } => {
                self.may_prove(job, partition, slot)?;
                self.enter_slot((job, partition), slot, turn, Work::Diagnosis(job, partition))?;
            }
            Action::Finish { job, partition, claim } => self.finish(job, partition, claim)?,
            Action::Complete { job, outcome } => self.complete(job, outcome)?,
            Action::Corrected { .. } => {}
            Action::Fault { error } => return Err(format!("the scheduler reports a fault: {error}")),
            Action::Preloaded { circuit, .. } => self.replied(circuit, false, action)?,
            Action::Evicted { circuit, .. } => self.replied(circuit, true, action)?,
        }
        Ok(())
    }

    pub fn open(&mut self, job: JobId) -> Result<&mut Request, String> {
        self.jobs.get_mut(&job).ok_or_else(|| format!("{job:?} has ended or never came"))
    }

    fn load(&mut self, circuit: CircuitId, claim: ClaimId) -> Checked {
        let costs = &self.costs[&circuit];
        let shared = Shared {
            claim,
            state: Presence::Loading,
            srs: costs.srs,
            matrices: costs.matrices,
            idle_since: self.now,
            unreported: false,
        };
        if self.circuits.insert(circuit, shared).is_some() {
            return Err(format!("{circuit} is loaded while it is there or on its way"));
        }
        self.idle_loads += 1;
        if self.idle_loads > 2 * self.costs.len() {
            return Err("circuits come and go, and nothing is served".into());
        }
        self.roles.insert(claim, Role::Shared(circuit));
        self.work.push(Work::Load(circuit));
        Ok(())
    }

    fn synthesize(&mut self, job: JobId, partition: usize, claim: ClaimId) -> Checked {
        self.may_start(job)?;
        self.idle_loads = 0;
        let request = self.open(job)?;
        request.started += 1;
        let circuit = request.circuit;
        let same = self.jobs.values_mut().filter(|request| request.circuit == circuit);
        same.for_each(|request| request.passed_since = None);
        let item = Item {
            circuit,
            witness: claim,
            turn: None,
            finish: None,
            place: Place::Working,
            slot: 0,
            wrong: 0,
            started: false,
            uses_circuit: false,
            witness_bytes: self.costs[&circuit].witness,
            set: Bytes::ZERO,
            unreported: false,
        };
        self.roles.insert(claim, Role::Witness(job, partition));
        if self.items.insert((job, partition), item).is_some() {
            return Err(format!("partition {partition} of {job:?} is synthesised twice"));
        }
        self.work.push(Work::Synthesis(job, partition));
        Ok(())
    }

    fn waiting(&mut self, at: (JobId, usize)) -> Result<&mut Item, String> {
        self.open(at.0)?;
        let item = self.items.get_mut(&at).filter(|item| item.place == Place::Waiting);
        item.ok_or_else(|| format!("{at:?} does not wait here"))
    }

    fn enter_slot(&mut self, at: (JobId, usize), slot: usize, turn: ClaimId, work: Work) -> Checked {
        let costs = self.costs.clone();
        let item = self.waiting(at)?;
        let cost = costs[&item.circuit].slots.get(slot).ok_or("no such slot")?;
        item.place = Place::Working;
        item.turn = Some(turn);
        item.slot = slot;
        item.uses_circuit = true;
        item.set = cost.start;
        self.roles.insert(turn, Role::Turn(at.0, at.1, slot));
        self.work.push(work);
        self.open(at.0)?.turns_waited = 0;
        Ok(())
    }

    fn finish(&mut self, job: JobId, partition: usize, claim: Option<ClaimId>) -> Checked {
        let item = self.waiting((job, partition))?;
        if !item.started {
            return Err(format!("partition {partition} of {job:?} is finished before it was started"));
        }
        item.place = Place::Working;
        if let Some(claim) = claim {
            item.finish = Some(claim);
            let turn = item.turn.take().ok_or("a finishing partition without its turn")?;
            self.mail.push_back(Event::ClaimDropped { claim: turn });
            self.roles.insert(claim, Role::Finish(job, partition));
        }
        self.work.push(Work::Finish(job, partition));
        Ok(())
    }

    fn complete(&mut self, job: JobId, outcome: Outcome) -> Checked {
        self.idle_loads = 0;
        let request = self.jobs.remove(&job).ok_or_else(|| format!("{job:?} is answered again"))?;
        if self.answers.insert(job, outcome).is_some() {
            return Err(format!("{job:?} is answered twice"));
        }
        let here = self.items.range((job, 0)..=(job, usize::MAX));
        let here: Vec<_> = here.filter(|(_, i)| i.place == Place::Waiting).map(|(at, _)| *at).collect();
        here.into_iter().for_each(|at| self.drop_item(at));
        self.intake = self.intake.saturating_sub(request.intake_bytes);
        let claim = request.intake.ok_or("a request is answered that was not accepted")?;
        self.mail.push_back(Event::ClaimDropped { claim });
        Ok(())
    }

    /// The nth kind of work in flight, if any.
    pub fn find(&self, is: impl Fn(&Work) -> bool) -> Option<usize> {
        self.work.iter().position(is)
    }
}
