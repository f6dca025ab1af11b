//! What finishes a proof does not wait for the next proof's heavy step.

use std::sync::Arc;

use super::world::{config, fake, lane, reached, Held, World};
use crate::kind::{ProofKind, Urgency};
use crate::wire::await_proof_response::Status;

const KIND: ProofKind = ProofKind::PorepC2;

/// An engine on a processor whose pools have one thread each.
fn world() -> World {
    let (backend, slot) = lane(Urgency::Patient, 1);
    World::with_slots(config(), backend, vec![slot])
}

fn unanswered(world: &World, job: &str) -> bool {
    world.engine.poll(job).unwrap().status() == Status::Unknown
}

#[test]
fn every_proof_of_a_queue_is_finished_while_the_next_heavy_step_runs() {
    let world = world();
    let gates: [Held; 8] = Default::default();
    world.backend.on_start(gates.iter().map(Held::fault));
    let job = world.start("queue", KIND, gates.len() as u32);
    let finished = || world.engine.report(&job).unwrap().partitions_done;
    for (before, gate) in gates.iter().enumerate() {
        reached(gate);
        world.until("finished up to this one", |_| finished() == before);
        gate.open();
    }
    world.proved(&job, gates.len());
    world.nothing_is_booked();
}

#[test]
fn the_processors_heavy_step_does_not_wait_for_the_end_of_a_devices_proof() {
    let device = Arc::new(fake("gpu-0"));
    let world = World::with(config(), std::slice::from_ref(&device));
    let finish = Held::default();
    device.on_finish([finish.fault()]);
    let first = world.start("first", KIND, 1);
    reached(&finish);
    let second = world.start("second", KIND, 2);
    world.proved(&second, 2);
    assert!(unanswered(&world, &first));
    finish.open();
    world.proved(&first, 1);
    world.nothing_is_booked();
}

#[test]
fn a_devices_heavy_step_does_not_wait_for_the_end_of_the_processors_proof() {
    let device = Arc::new(fake("gpu-0"));
    let world = World::with(config(), std::slice::from_ref(&device));
    let (start, finish) = (Held::default(), Held::default());
    device.on_start([start.fault()]);
    world.backend.on_finish([finish.fault()]);
    let first = world.start("first", KIND, 1);
    reached(&start);
    let second = world.start("second", KIND, 1);
    reached(&finish);
    start.open();
    world.proved(&first, 1);
    assert!(unanswered(&world, &second));
    finish.open();
    world.proved(&second, 1);
    world.nothing_is_booked();
}
