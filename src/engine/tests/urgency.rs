//! More urgent work stops less urgent work, and nothing else does.

use std::sync::Arc;

use super::world::{circuit_id, config, fake, lane, reached, World};
use crate::cancel::Pauses;
use crate::engine::{Engine, Parts, ProverSlot};
use crate::error::Code;
use crate::kind::{ProofKind, Urgency};
use crate::prove::fake::{Fake, Fault, Gate};
use crate::units::Bytes;
use crate::wire::await_proof_response::Status;

/// An engine whose processor has a slot for each urgency.
struct Lanes {
    world: World,
    critical: Arc<Fake>,
    urgent: Arc<Fake>,
}

fn lanes(threads: usize) -> Lanes {
    let [(critical, a), (urgent, b), (backend, c)] = Urgency::ALL.map(|urgency| lane(urgency, threads));
    Lanes { world: World::with_slots(config(), backend, vec![a, b, c]), critical, urgent }
}

impl Lanes {
    /// Submits a request of one partition whose heavy step waits at the gate that is returned.
    fn stall(&self, kind: ProofKind) -> (String, Gate) {
        let backend = match kind.urgency() {
            Urgency::Critical => &self.critical,
            Urgency::Urgent => &self.urgent,
            Urgency::Patient => &self.world.backend,
        };
        let gate = Gate::default();
        backend.on_start([Fault::Stall(gate.clone())]);
        let job = self.world.start(kind.name(), kind, 1);
        reached(&gate);
        (job, gate)
    }

    fn paused(&self, threads: usize) {
        self.world.engine.shared.priorities.wait_for_paused(threads);
    }

    fn pauses(&self) -> Pauses {
        self.world.engine.shared.priorities.pauses()
    }

    fn unanswered(&self, job: &str) -> bool {
        self.world.engine.poll(job).unwrap().status() == Status::Unknown
    }
}

#[test]
fn a_running_porep_stops_for_winning_post_and_goes_on_after_it() {
    let lanes = lanes(2);
    let (porep, patient) = lanes.stall(ProofKind::PorepC2);
    let (winning, critical) = lanes.stall(ProofKind::WinningPost);
    patient.open();
    lanes.paused(1);
    assert!(!lanes.world.engine.preload(circuit_id(ProofKind::SnapUpdate)).unwrap().already_loaded);
    assert!(lanes.unanswered(&porep) && lanes.unanswered(&winning));
    critical.open();
    lanes.world.proved(&winning, 1);
    lanes.world.proved(&porep, 1);
    let metrics = lanes.world.engine.metrics();
    assert!(metrics.contains("forebay_slot_busy{slot=\"cpu-critical\"} 0\n"), "{metrics}");
    assert!(metrics.contains(&format!("forebay_pauses_total {}\n", lanes.pauses().count)), "{metrics}");
    lanes.world.nothing_is_booked();
}

#[test]
fn winning_post_stops_window_post_which_stops_porep() {
    let lanes = lanes(1);
    let (porep, patient) = lanes.stall(ProofKind::PorepC2);
    let (window, urgent) = lanes.stall(ProofKind::WindowPost);
    patient.open();
    lanes.paused(1);
    let (winning, critical) = lanes.stall(ProofKind::WinningPost);
    urgent.open();
    lanes.paused(2);
    assert!([&porep, &window, &winning].iter().all(|job| lanes.unanswered(job)));
    critical.open();
    for job in [winning, window, porep] {
        lanes.world.proved(&job, 1);
    }
    lanes.world.nothing_is_booked();
}

#[test]
fn a_paused_job_is_cancelled_at_once() {
    let lanes = lanes(1);
    let (porep, patient) = lanes.stall(ProofKind::PorepC2);
    let (winning, critical) = lanes.stall(ProofKind::WinningPost);
    patient.open();
    lanes.paused(1);
    assert!(lanes.world.engine.cancel(&porep).unwrap());
    assert_eq!(lanes.world.answer(&porep).status(), Status::Cancelled);
    lanes.paused(0);
    assert!(lanes.unanswered(&winning));
    critical.open();
    lanes.world.proved(&winning, 1);
    lanes.world.nothing_is_booked();
}

#[test]
fn proofs_that_are_being_finished_hold_up_no_urgent_one() {
    let lanes = lanes(1);
    let gate = Gate::default();
    lanes.world.backend.on_finish((0..4).map(|_| Fault::Stall(gate.clone())));
    let porep = lanes.world.start("porep", ProofKind::PorepC2, 4);
    reached(&gate);
    for kind in [ProofKind::WindowPost, ProofKind::WinningPost] {
        let job = lanes.world.start(kind.name(), kind, 2);
        lanes.world.proved(&job, 2);
    }
    gate.open();
    lanes.world.proved(&porep, 4);
    lanes.world.nothing_is_booked();
}

#[test]
fn every_mix_of_kinds_ends_on_pools_of_one_thread() {
    let lanes = lanes(1);
    let jobs: Vec<_> =
        (0..40).map(|i| lanes.world.start(&i.to_string(), ProofKind::ALL[i * 7 % 4], 3)).collect();
    jobs.iter().for_each(|job| lanes.world.proved(job, 3));
    assert_eq!(lanes.pauses().now, 0);
    lanes.world.nothing_is_booked();
}

#[test]
fn work_of_one_urgency_pauses_nothing() {
    let lanes = lanes(2);
    let jobs: Vec<_> = (0..6)
        .map(|i| lanes.world.start(&i.to_string(), [ProofKind::PorepC2, ProofKind::SnapUpdate][i % 2], 3))
        .collect();
    jobs.iter().for_each(|job| lanes.world.proved(job, 3));
    assert_eq!(lanes.pauses(), Pauses::default());
    lanes.world.nothing_is_booked();
}

#[test]
fn a_slots_projection_has_its_devices_memory() {
    let device = Arc::new(fake("gpu-0").with_device_set(Bytes::mib(7)));
    let world = World::with(config(), &[device]);
    let projection = world.engine.shared.projection(circuit_id(ProofKind::PorepC2)).unwrap();
    let devices: Vec<_> = projection.costs.slots.iter().map(|cost| cost.device).collect();
    assert_eq!(devices, [Bytes::ZERO, Bytes::mib(7)]);
}

#[test]
fn steps_that_must_not_wait_for_each_other_may_not_share_a_pool() {
    let world = World::new();
    let (_, patient) = lane(Urgency::Patient, 1);
    let shared = &world.engine.shared;
    let open = |slots: Vec<ProverSlot>, pool: &Arc<rayon::ThreadPool>| {
        let (catalog, decode) = (shared.catalog.clone(), shared.decode.clone());
        Engine::with_parts(config(), Parts { catalog, slots, decode, pool: pool.clone() }).map(drop)
    };
    let one = patient.pool.clone();
    assert!(open(vec![ProverSlot { finishing: one, ..patient.clone() }], &shared.pool).is_err());
    let critical = ProverSlot { serves: Urgency::Critical, ..patient.clone() };
    let error = open(vec![patient.clone(), critical], &shared.pool).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    let (_, critical) = lane(Urgency::Critical, 1);
    let crossed = ProverSlot { finishing: patient.pool.clone(), ..critical.clone() };
    assert!(open(vec![patient.clone(), crossed], &shared.pool).is_err());
    for loading in [&patient.pool, &critical.finishing] {
        assert!(open(vec![patient.clone(), critical.clone()], loading).is_err());
    }
    open(vec![patient.clone()], &patient.pool).unwrap();
    open(vec![patient, critical], &shared.pool).unwrap();
}
