//! Every wait is visible: in the job's report and, summed, in the metrics.

use super::world::{config, one_partition, reached, Script, World, INTAKE};
use crate::engine::work::Message;
use crate::engine::Config;
use crate::kind::ProofKind;
use crate::memory::Observation;
use crate::prove::fake::{Fault, Gate};
use crate::units::Bytes;

/// A request whose heavy step waits at the gate.
fn in_a_slot(world: &World, kind: ProofKind) -> (String, Gate) {
    let gate = Gate::default();
    world.backend.on_start([Fault::Stall(gate.clone())]);
    let job = world.start("in a slot", kind, 1);
    reached(&gate);
    assert_eq!(world.waits_for(&job), "");
    (job, gate)
}

fn comes_to_wait(world: &World, job: &str, reason: &str) {
    world.until(&format!("waiting for {reason}"), |_| world.waits_for(job) == reason);
    assert!(world.metric(&format!("forebay_jobs_waiting{{reason=\"{reason}\"}}")) >= 1.0);
}

fn all_proved(world: &World, jobs: &[String]) {
    jobs.iter().for_each(|job| world.proved(job, 1));
    world.nothing_is_booked();
    for reason in ["turn", "worker", "ahead", "memory", "door", "pressure", "circuit", "slot"] {
        assert_eq!(world.metric(&format!("forebay_jobs_waiting{{reason=\"{reason}\"}}")), 0.0);
    }
}

#[test]
fn a_job_says_that_it_waits_for_its_circuit() {
    let world = World::new();
    let gate = Gate::default();
    world.catalog.loads.lock().unwrap().push(Fault::Stall(gate.clone()));
    let job = world.start("a", ProofKind::PorepC2, 1);
    reached(&gate);
    comes_to_wait(&world, &job, "circuit");
    gate.open();
    all_proved(&world, &[job]);
    assert_eq!(world.metric("forebay_circuit_loads_total{circuit=\"porep-2k\",result=\"loaded\"}"), 1.0);
}

#[test]
fn a_job_says_that_it_waits_for_a_slot_for_those_ahead_or_for_its_turn() {
    let world = World::new();
    let (first, gate) = in_a_slot(&world, ProofKind::PorepC2);
    let mut jobs = vec![first];
    jobs.extend((0..6).map(|i| world.start(&i.to_string(), ProofKind::PorepC2, 1)));
    for (job, reason) in jobs.iter().zip(["", "slot", "slot", "slot", "slot", "ahead", "turn"]) {
        if !reason.is_empty() {
            comes_to_wait(&world, job, reason);
        }
    }
    assert_eq!(world.metric("forebay_jobs_waiting{reason=\"slot\"}"), 4.0);
    gate.open();
    all_proved(&world, &jobs);
}

#[test]
fn a_job_says_that_it_waits_for_a_worker() {
    let world = World::new();
    let gate = Gate::default();
    let mut jobs = Vec::new();
    for id in ["a", "b"] {
        world.script(id, Script { synthesis: Some(Fault::Stall(gate.clone())), ..Script::default() });
        jobs.push(world.start(id, ProofKind::PorepC2, 1));
    }
    jobs.push(world.start("c", ProofKind::PorepC2, 1));
    comes_to_wait(&world, &jobs[2], "worker");
    gate.open();
    all_proved(&world, &jobs);
}

/// Room for one partition and three decoded requests.
fn tight(patience: u64) -> World {
    let limit = Some(Bytes(one_partition().0 + 3 * INTAKE.0));
    let patience = std::time::Duration::from_secs(patience);
    World::with(Config { memory_limit: limit, patience, ..config() }, &[])
}

#[test]
fn a_job_says_that_it_waits_for_memory_and_others_may_pass_it_for_a_while() {
    let world = tight(3600);
    let (first, gate) = in_a_slot(&world, ProofKind::PorepC2);
    let snap = world.start("other circuit", ProofKind::SnapUpdate, 1);
    comes_to_wait(&world, &snap, "memory");
    let passes = world.start("same circuit", ProofKind::PorepC2, 1);
    comes_to_wait(&world, &passes, "slot");
    assert_eq!(world.waits_for(&snap), "memory");
    gate.open();
    all_proved(&world, &[first, passes, snap]);
}

#[test]
fn a_job_that_has_waited_too_long_for_memory_closes_the_door() {
    let world = tight(0);
    let (first, gate) = in_a_slot(&world, ProofKind::PorepC2);
    let snap = world.start("other circuit", ProofKind::SnapUpdate, 1);
    comes_to_wait(&world, &snap, "memory");
    let kept_out = world.start("same circuit", ProofKind::PorepC2, 1);
    comes_to_wait(&world, &kept_out, "door");
    gate.open();
    all_proved(&world, &[first, snap, kept_out]);
}

#[test]
fn a_machine_short_of_memory_slows_sealing_to_one_partition_and_says_so() {
    let world = World::with(Config { memory_pressure: 20, ..config() }, &[]);
    let (first, gate) = in_a_slot(&world, ProofKind::PorepC2);
    let full = Bytes::gib(64);
    let pressed =
        Observation { machine_left: full, machine_total: full, pressure: 20.5, ..Observation::default() };
    let press = || world.engine.shared.send(Message::Observed(Box::new(pressed.clone()))).unwrap();
    // The watch may look at the real machine between any two calls.
    let waits = (0..50).any(|i| {
        press();
        let job = world.start(&i.to_string(), ProofKind::PorepC2, 1);
        press();
        let status = world.engine.status();
        let slowed = status.memory.pressed && world.waits_for(&job) == "pressure";
        world.engine.cancel(&job).unwrap();
        slowed
    });
    assert!(waits, "{:?}", world.engine.status());
    press();
    let winning = world.start("winning", ProofKind::WinningPost, 1);
    comes_to_wait(&world, &winning, "slot");
    gate.open();
    world.proved(&first, 1);
    world.proved(&winning, 1);
    world.proved(&world.start("later", ProofKind::PorepC2, 1), 1);
    world.nothing_is_booked();
}

#[test]
fn decoded_requests_are_booked_and_counted_while_they_wait() {
    let world = World::new();
    let (first, gate) = in_a_slot(&world, ProofKind::PorepC2);
    let mut jobs = vec![first];
    jobs.extend((0..7).map(|i| world.start(&i.to_string(), ProofKind::SnapUpdate, 1)));
    let intake = |status: &crate::engine::Status| {
        status.cells.iter().find(|cell| cell.class == "intake").map(|cell| (cell.reserved, cell.mapped))
    };
    let (reserved, mapped) = intake(&world.engine.status()).unwrap();
    assert_eq!(reserved, 8 * INTAKE.0);
    assert!(mapped >= reserved, "other engines of this process are counted too: {mapped}");
    let report = world.engine.report(&jobs[7]).unwrap();
    assert_eq!(report.intake_bytes, INTAKE.0);
    gate.open();
    all_proved(&world, &jobs);
    assert_eq!(intake(&world.engine.status()).map_or(0, |(reserved, _)| reserved), 0);
}
