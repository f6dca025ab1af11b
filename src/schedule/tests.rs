//! Random worlds around the scheduler: they do what it says, in any order and with any fault.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::error::{Code, Error};
use crate::kind::{CircuitId, ProofKind};
use crate::memory::ClaimId;
use crate::units::Bytes;

const ORDER: [ProofKind; 4] =
    [ProofKind::WinningPost, ProofKind::WindowPost, ProofKind::PorepC2, ProofKind::SnapUpdate];

fn circuit(kind: ProofKind) -> CircuitId {
    CircuitId::new(kind, 2048).unwrap()
}

fn costs(kind: ProofKind, slots: usize) -> Arc<Costs> {
    let (witness, shared, start) = match kind {
        ProofKind::WinningPost => (2, 5, 4),
        ProofKind::WindowPost => (1, 3, 2),
        ProofKind::PorepC2 => (5, 30, 20),
        ProofKind::SnapUpdate => (4, 20, 15),
    };
    let slot = SlotCost { start: Bytes(start), finish: Bytes(start / 3), device: Bytes::ZERO };
    Arc::new(Costs {
        circuit: circuit(kind),
        witness: Bytes(witness),
        matrices: Bytes(1),
        srs: Bytes(shared - 1),
        slots: vec![slot; slots],
    })
}

fn loaded(circuit: CircuitId) -> Event {
    let costs = costs(circuit.kind, 1);
    Event::CircuitLoaded { circuit, srs: costs.srs, matrices: costs.matrices }
}

fn settings(budget: u64, slots: &[SlotKind]) -> Settings {
    let slot = |kind: &SlotKind| match kind {
        SlotKind::Cpu => SlotSettings::CPU,
        SlotKind::Device => SlotSettings::device(Bytes(u64::MAX)),
    };
    Settings {
        budget: Bytes(budget),
        ceiling: Bytes(budget),
        workers: 2,
        urgent_workers: 1,
        ahead: 6,
        slots: slots.iter().map(slot).collect(),
        max_requests: 100,
        max_intake: Bytes(64),
        patience: 1000,
        min_idle: 0,
        pinned: Default::default(),
        factors: Default::default(),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Load(CircuitId),
    Synthesis(JobId, usize),
    Slot(JobId, usize),
    Diagnosis(JobId, usize),
    Finish(JobId, usize),
}

#[derive(Default)]
struct Held {
    witness: Option<ClaimId>,
    turn: Option<ClaimId>,
    finish: Option<ClaimId>,
    in_work: bool,
}

struct Request {
    rank: usize,
    unstarted: usize,
    intake: Option<ClaimId>,
}

struct World {
    scheduler: Scheduler,
    slots: usize,
    now: u64,
    next_job: u64,
    work: Vec<Work>,
    drops: VecDeque<ClaimId>,
    held: BTreeMap<(JobId, usize), Held>,
    open: BTreeMap<JobId, Request>,
    circuits: BTreeMap<CircuitId, ClaimId>,
    answers: BTreeMap<JobId, Outcome>,
    refusals: BTreeMap<JobId, Error>,
    proved: Vec<(JobId, usize, usize)>,
    replies: Vec<Action>,
}

impl World {
    fn new(settings: Settings) -> World {
        World {
            slots: settings.slots.len(),
            scheduler: Scheduler::new(settings).unwrap(),
            now: 0,
            next_job: 0,
            work: Vec::new(),
            drops: VecDeque::new(),
            held: BTreeMap::new(),
            open: BTreeMap::new(),
            circuits: BTreeMap::new(),
            answers: BTreeMap::new(),
            refusals: BTreeMap::new(),
            proved: Vec::new(),
            replies: Vec::new(),
        }
    }

    fn tell(&mut self, event: Event) {
        self.now += 1;
        for action in self.scheduler.on(self.now, event) {
            self.act(action);
        }
        let ledger = self.scheduler.ledger();
        assert!(ledger.reserved() <= ledger.budget(), "{} of {}", ledger.reserved(), ledger.budget());
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Accept { job, claim, .. } => self.open.get_mut(&job).unwrap().intake = Some(claim),
            Action::Refuse { job, error } => {
                self.open.remove(&job).unwrap();
                assert!(self.refusals.insert(job, error).is_none());
            }
            Action::LoadCircuit { circuit, claim } => {
                assert!(self.circuits.insert(circuit, claim).is_none(), "{circuit} is loaded once");
                self.work.push(Work::Load(circuit));
            }
            Action::CancelLoad { circuit } => assert!(self.work.contains(&Work::Load(circuit))),
            Action::DropCircuit { circuit } => self.drops.push_back(self.circuits.remove(&circuit).unwrap()),
            Action::Synthesize { job, partition, claim } => self.synthesize(job, partition, claim),
            Action::Prove { job, partition, slot, turn } => {
                let rank = self.open[&job].rank;
                self.proved.push((job, rank, slot));
                self.enter(job, partition, Work::Slot(job, partition)).turn = Some(turn);
            }
            Action::Diagnose { job, partition, turn, .. } => {
                self.enter(job, partition, Work::Diagnosis(job, partition)).turn = Some(turn);
            }
            Action::Finish { job, partition, claim } => {
                let held = self.enter(job, partition, Work::Finish(job, partition));
                if claim.is_some() {
                    held.finish = claim;
                    let turn = held.turn.take().unwrap();
                    self.drops.push_back(turn);
                }
            }
            Action::Complete { job, outcome } => self.complete(job, outcome),
            Action::Corrected { .. } => {}
            Action::Fault { error } => panic!("{error}"),
            reply @ (Action::Preloaded { .. } | Action::Evicted { .. }) => self.replies.push(reply),
        }
    }

    fn synthesize(&mut self, job: JobId, partition: usize, claim: ClaimId) {
        let rank = self.open[&job].rank;
        for (other, request) in &self.open {
            assert!(
                request.unstarted == 0 || request.rank > rank || (request.rank == rank && *other >= job),
                "{other:?} should have gone before {job:?}"
            );
        }
        self.open.get_mut(&job).unwrap().unstarted -= 1;
        self.enter(job, partition, Work::Synthesis(job, partition)).witness = Some(claim);
    }

    fn enter(&mut self, job: JobId, partition: usize, work: Work) -> &mut Held {
        self.work.push(work);
        let held = self.held.entry((job, partition)).or_default();
        assert!(!held.in_work, "{work:?} while something else works on it");
        held.in_work = true;
        held
    }

    fn complete(&mut self, job: JobId, outcome: Outcome) {
        let request = self.open.remove(&job).expect("an accepted job is answered once");
        assert!(self.answers.insert(job, outcome).is_none());
        self.drops.push_back(request.intake.unwrap());
        let waiting: Vec<_> = self
            .held
            .range((job, 0)..=(job, usize::MAX))
            .filter(|(_, h)| !h.in_work)
            .map(|(k, _)| *k)
            .collect();
        waiting.into_iter().for_each(|at| self.release(at));
    }

    fn release(&mut self, at: (JobId, usize)) {
        let held = self.held.remove(&at).unwrap();
        self.drops.extend(held.turn.into_iter().chain(held.finish).chain(held.witness));
    }

    fn submit(&mut self, kind: ProofKind, partitions: usize) -> JobId {
        let job = JobId(self.next_job);
        self.next_job += 1;
        let rank = ORDER.iter().position(|k| *k == kind).unwrap().min(2);
        self.open.insert(job, Request { rank, unstarted: partitions, intake: None });
        let costs = costs(kind, self.slots);
        self.tell(Event::Submitted(Submission { job, costs, partitions, intake: Bytes(1), deadline: None }));
        job
    }

    /// Ends the `pick`th piece of work; `fault` says how.
    fn step(&mut self, pick: usize, fault: u8) {
        if self.work.is_empty() {
            return;
        }
        let work = self.work.swap_remove(pick % self.work.len());
        let error = || Error::new(Code::Backend, "scripted");
        if let Work::Load(circuit) = work {
            if fault == 0 {
                self.drops.push_back(self.circuits.remove(&circuit).unwrap());
                return self.tell(Event::LoadFailed { circuit, error: error() });
            }
            return self.tell(loaded(circuit));
        }
        let (Work::Synthesis(job, partition)
        | Work::Slot(job, partition)
        | Work::Diagnosis(job, partition)
        | Work::Finish(job, partition)) = work
        else {
            return;
        };
        let held = self.held.get_mut(&(job, partition)).unwrap();
        held.in_work = false;
        let over = matches!(work, Work::Finish(..) | Work::Diagnosis(..)) || fault == 0;
        if over {
            self.drops.extend(held.turn.take().into_iter().chain(held.finish.take()));
        }
        let lost = fault == 0 || matches!(work, Work::Diagnosis(..));
        let verified = matches!(work, Work::Finish(..)) && fault > 1;
        if lost || verified || !self.open.contains_key(&job) {
            self.release((job, partition));
        }
        self.tell(match (work, fault) {
            (Work::Synthesis(..), 0) => Event::SynthesisFailed { job, partition, error: error() },
            (Work::Synthesis(..), _) => Event::SynthesisDone { job, partition, bytes: Bytes(1) },
            (Work::Slot(..), 0) => Event::SlotFailed { job, partition, error: error() },
            (Work::Slot(..), _) => Event::SlotDone { job, partition },
            (Work::Finish(..), 0) => Event::FinishFailed { job, partition, error: error() },
            (Work::Finish(..), 1) => Event::VerifyFailed { job, partition },
            (Work::Finish(..), _) => Event::FinishDone { job, partition },
            _ => Event::Diagnosed { job, partition, error: Error::new(Code::Unsatisfied, "scripted") },
        });
    }

    fn drop_one(&mut self) {
        if let Some(claim) = self.drops.pop_front() {
            self.tell(Event::ClaimDropped { claim });
        }
    }

    /// Everything runs to its end without further faults.
    fn settle(&mut self) {
        for _ in 0..100_000 {
            if self.drops.is_empty() && self.work.is_empty() {
                return;
            }
            self.drop_one();
            self.step(0, 9);
        }
        panic!("the world does not come to rest");
    }

    fn shut(mut self) {
        self.settle();
        assert!(self.open.is_empty(), "every accepted job has its answer");
        self.tell(Event::Drain);
        self.settle();
        assert!(self.scheduler.finished());
        assert_eq!(self.scheduler.ledger().reserved(), Bytes::ZERO);
        assert_eq!(self.answers.len() + self.refusals.len(), self.next_job as usize);
    }
}

#[test]
fn a_request_goes_through_every_step() {
    let mut world = World::new(settings(100, &[SlotKind::Cpu]));
    let job = world.submit(ProofKind::PorepC2, 3);
    world.settle();
    assert_eq!(world.answers[&job], Outcome::Proved);
    assert_eq!(world.scheduler.circuits()[0].state, "resident");
    assert_eq!(world.scheduler.ledger().reserved(), Bytes(30), "only the idle circuit stays");
    world.shut();
}

#[test]
fn a_budget_of_one_partition_still_serves_everything() {
    let mut world = World::new(settings(30 + 20 + 5 + 4, &[SlotKind::Cpu]));
    let jobs: Vec<_> =
        [ProofKind::PorepC2, ProofKind::SnapUpdate, ProofKind::WinningPost, ProofKind::PorepC2]
            .into_iter()
            .map(|kind| world.submit(kind, 4))
            .collect();
    world.settle();
    for job in jobs {
        assert_eq!(world.answers[&job], Outcome::Proved);
    }
    world.shut();
}

#[test]
fn what_can_never_fit_is_refused_at_once() {
    let mut world = World::new(settings(55, &[SlotKind::Cpu]));
    let job = world.submit(ProofKind::PorepC2, 1);
    let error = &world.refusals[&job];
    assert_eq!(error.code(), Code::BudgetExceeded);
    assert!(error.message().contains("56 B") && error.message().contains("55 B"), "{error}");
    let small = world.submit(ProofKind::WinningPost, 1);
    world.settle();
    assert_eq!(world.answers[&small], Outcome::Proved);
    world.shut();
}

#[test]
fn a_full_intake_is_busy_with_a_hint_and_loses_nothing() {
    let mut world = World::new(Settings { max_requests: 2, ..settings(200, &[SlotKind::Cpu]) });
    let jobs: Vec<_> = (0..3).map(|_| world.submit(ProofKind::PorepC2, 1)).collect();
    assert_eq!(world.refusals[&jobs[2]].code(), Code::Busy);
    assert!(world.refusals[&jobs[2]].message().contains("retry in"));
    let post = world.submit(ProofKind::WindowPost, 1);
    assert!(!world.refusals.contains_key(&post), "queued PoRep does not keep PoSt out");
    world.shut();
}

#[test]
fn waiting_requests_never_take_the_memory_to_prove_in() {
    let mut world = World::new(Settings { max_intake: Bytes(1000), ..settings(60, &[SlotKind::Cpu]) });
    let jobs: Vec<_> = (0..20).map(|_| world.submit(ProofKind::PorepC2, 1)).collect();
    assert!(jobs.iter().any(|job| world.refusals.contains_key(job)));
    world.shut();
}

#[test]
fn winning_post_waits_for_one_step_at_most() {
    let mut world = World::new(settings(200, &[SlotKind::Cpu]));
    for _ in 0..5 {
        world.submit(ProofKind::PorepC2, 10);
    }
    while world.proved.is_empty() {
        world.drop_one();
        world.step(0, 9);
    }
    let winning = world.submit(ProofKind::WinningPost, 1);
    assert!(world.work.contains(&Work::Synthesis(winning, 0)), "a worker is kept for it");
    while let Some(at) = world.work.iter().position(|w| {
        matches!(w, Work::Synthesis(j, _) if *j == winning)
            || matches!(w, Work::Load(c) if c.kind == ProofKind::WinningPost)
    }) {
        world.step(at, 9);
    }
    let before = world.proved.len();
    while world.proved.len() == before {
        world.drop_one();
        world.step(0, 9);
    }
    assert_eq!(world.proved[before].0, winning);
    world.shut();
}

#[test]
fn partitions_of_one_request_stay_together() {
    let mut world = World::new(settings(120, &[SlotKind::Cpu]));
    for _ in 0..3 {
        world.submit(ProofKind::PorepC2, 4);
    }
    world.settle();
    let jobs: Vec<_> = world.proved.iter().map(|(job, ..)| job.0).collect();
    assert_eq!(jobs, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    world.shut();
}

#[test]
fn the_first_failure_ends_the_request_and_its_siblings() {
    let mut world = World::new(settings(120, &[SlotKind::Cpu]));
    let job = world.submit(ProofKind::PorepC2, 4);
    let at = world.work.iter().position(|w| matches!(w, Work::Synthesis(..))).unwrap();
    world.step(at, 0);
    assert!(matches!(&world.answers[&job], Outcome::Failed(e) if e.code() == Code::Backend));
    world.settle();
    assert!(world.proved.is_empty());
    world.shut();
}

#[test]
fn a_wrong_proof_is_made_again_on_the_processor_and_then_examined() {
    let mut world = World::new(settings(200, &[SlotKind::Cpu, SlotKind::Device]));
    let job = world.submit(ProofKind::WindowPost, 1);
    let mut wrong = 0;
    while !world.answers.contains_key(&job) {
        world.drop_one();
        let finish = matches!(world.work.first(), Some(Work::Finish(..)));
        wrong += u32::from(finish);
        world.step(0, if finish { 1 } else { 9 });
    }
    assert!(matches!(&world.answers[&job], Outcome::Failed(e) if e.code() == Code::Unsatisfied));
    assert_eq!(wrong, 2);
    let slots: Vec<_> = world.proved.iter().map(|p| p.2).collect();
    assert_eq!(slots, [1, 0], "the device first, then the processor");
    world.shut();
}

#[test]
fn a_failed_load_is_told_to_all_that_waited_and_can_be_tried_again() {
    let mut world = World::new(settings(200, &[SlotKind::Cpu]));
    let jobs = [world.submit(ProofKind::PorepC2, 2), world.submit(ProofKind::PorepC2, 1)];
    let at = world.work.iter().position(|w| matches!(w, Work::Load(_))).unwrap();
    world.step(at, 0);
    for job in jobs {
        assert!(matches!(&world.answers[&job], Outcome::Failed(e) if e.code() == Code::Backend));
    }
    let again = world.submit(ProofKind::PorepC2, 1);
    world.settle();
    assert_eq!(world.answers[&again], Outcome::Proved);
    world.shut();
}

#[test]
fn idle_circuits_leave_oldest_first_when_memory_is_needed() {
    let mut world = World::new(settings(60, &[SlotKind::Cpu]));
    for kind in [ProofKind::WinningPost, ProofKind::WindowPost] {
        world.submit(kind, 1);
        world.settle();
    }
    world.submit(ProofKind::PorepC2, 1);
    world.settle();
    let left: Vec<_> = world.scheduler.circuits().iter().map(|c| c.circuit.kind).collect();
    assert_eq!(left, [ProofKind::WindowPost, ProofKind::PorepC2]);
    world.shut();
}

#[test]
fn a_request_that_becomes_too_large_after_it_was_accepted_ends_with_an_error() {
    let pinned = BTreeSet::from([circuit(ProofKind::PorepC2)]);
    let mut world = World::new(Settings { pinned, ..settings(60, &[SlotKind::Cpu]) });
    let job = world.submit(ProofKind::SnapUpdate, 10);
    world.tell(Event::Known { costs: costs(ProofKind::PorepC2, 1) });
    world.settle();
    let Outcome::Failed(error) = &world.answers[&job] else { panic!("{:?}", world.answers) };
    assert_eq!(error.code(), Code::BudgetExceeded, "{error}");
    assert!(error.message().contains("beside pinned circuits"), "{error}");
    world.submit(ProofKind::PorepC2, 2);
    world.settle();
    world.shut();
}

#[test]
fn preload_and_evict_answer_what_happened() {
    let mut world = World::new(settings(64, &[SlotKind::Cpu]));
    let id = circuit(ProofKind::PorepC2);
    let reply = |world: &World| world.replies.last().cloned().unwrap();
    world.tell(Event::Preload { costs: costs(ProofKind::PorepC2, 1) });
    world.settle();
    assert_eq!(reply(&world), Action::Preloaded { circuit: id, result: Ok(false) });
    world.tell(Event::Preload { costs: costs(ProofKind::PorepC2, 1) });
    assert_eq!(reply(&world), Action::Preloaded { circuit: id, result: Ok(true) });
    world.tell(Event::Evict { circuit: id });
    world.settle();
    assert_eq!(reply(&world), Action::Evicted { circuit: id, result: Ok(Some(Bytes(30))) });
    world.tell(Event::Evict { circuit: id });
    assert_eq!(reply(&world), Action::Evicted { circuit: id, result: Ok(None) });
    world.submit(ProofKind::PorepC2, 1);
    world.tell(Event::Evict { circuit: id });
    assert!(matches!(reply(&world), Action::Evicted { result: Err(e), .. } if e.code() == Code::Busy));
    world.shut();
}

#[test]
fn a_deadline_ends_a_job_and_earlier_deadlines_go_first() {
    let mut world = World::new(settings(64, &[SlotKind::Cpu]));
    let job = JobId(world.next_job);
    world.next_job += 1;
    world.open.insert(job, Request { rank: 0, unstarted: 1, intake: None });
    let costs = costs(ProofKind::WinningPost, 1);
    let deadline = Some(50);
    world.tell(Event::Submitted(Submission { job, costs, partitions: 1, intake: Bytes(1), deadline }));
    assert_eq!(world.scheduler.next_wakeup(), deadline);
    world.now = 49;
    world.tell(Event::Tick);
    assert!(matches!(&world.answers[&job], Outcome::Failed(e) if e.code() == Code::Timeout));
    world.shut();
}

#[test]
fn headroom_for_post_is_not_lost_to_porep() {
    let mut world = World::new(settings(60, &[SlotKind::Cpu]));
    world.submit(ProofKind::WinningPost, 1);
    world.settle();
    for _ in 0..3 {
        world.submit(ProofKind::PorepC2, 10);
    }
    assert_eq!(world.scheduler.headroom(ProofKind::PorepC2), 0);
    assert!(world.scheduler.headroom(ProofKind::WinningPost) >= 1);
    world.shut();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_lost_doubled_or_over_the_budget(
        budget in 56u64..160,
        device in any::<bool>(),
        script in proptest::collection::vec((0u8..12, 0usize..64, 0u8..12), 1..400),
    ) {
        let slots: &[SlotKind] = if device { &[SlotKind::Cpu, SlotKind::Device] } else { &[SlotKind::Cpu] };
        let mut world = World::new(settings(budget, slots));
        for (op, pick, fault) in script {
            match op {
                0 | 1 => { world.submit(ORDER[pick % 4], pick % 5 + 1); }
                2 => {
                    let open: BTreeSet<_> = world.open.keys().copied().collect();
                    if let Some(job) = open.iter().nth(pick % open.len().max(1)) {
                        world.tell(Event::Cancelled { job: *job });
                    }
                }
                3 => world.tell(Event::Evict { circuit: circuit(ORDER[pick % 4]) }),
                4 if pick % 4 == 0 => world.tell(Event::Preload { costs: costs(ORDER[pick % 3], slots.len()) }),
                5..=7 => world.drop_one(),
                _ => world.step(pick, fault),
            }
        }
        world.shut();
    }

    #[test]
    fn shutdown_answers_everything(jobs in proptest::collection::vec(0usize..4, 1..20), steps in 0usize..40) {
        let mut world = World::new(settings(120, &[SlotKind::Cpu]));
        jobs.iter().for_each(|kind| { world.submit(ORDER[*kind], 3); });
        (0..steps).for_each(|i| { world.step(i * 7, 9); world.drop_one() });
        world.tell(Event::Shutdown);
        prop_assert!(world.open.is_empty());
        world.settle();
        prop_assert!(world.scheduler.finished());
        prop_assert_eq!(world.scheduler.ledger().reserved(), Bytes::ZERO);
    }
}
