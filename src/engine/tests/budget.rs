//! The budget moves while the engine runs.

use super::world::{circuit_id, config, fake, one_partition, reached, Setup, World, INTAKE, TURN};
use crate::engine::work::Message;
use crate::engine::Config;
use crate::error::Code;
use crate::kind::ProofKind;
use crate::memory::{probe, Observation, Resident};
use crate::prove::fake::{Fault, Gate};
use crate::units::Bytes;

/// The engine's view of a machine of 1 TiB that leaves so much; the next look of the watch replaces it.
fn leave(world: &World, left: Bytes) {
    let resident = Resident { anonymous: Bytes::gib(64), ..Resident::default() };
    let (machine_left, machine_total) = (left, Bytes::gib(1024));
    let ours = probe::ours(&resident);
    let seen = Observation { machine_left, machine_total, ours, resident, ..Observation::default() };
    world.engine.shared.send(Message::Observed(Box::new(seen))).unwrap();
}

/// Whether the budget is `expected` where the machine leaves `left`.
fn budget_is(world: &World, left: Bytes, expected: impl Fn() -> u64) {
    let mut found = 0;
    let seen = (0..20).any(|_| {
        leave(world, left);
        found = world.engine.status().memory.limit;
        found == expected()
    });
    assert!(seen, "a budget of {found} where {left} are left, not {}", expected());
}

#[test]
fn a_shrinking_budget_admits_nothing_new_and_a_growing_one_goes_on() {
    let world = World::new();
    world.proved(&world.start("idle", ProofKind::SnapUpdate, 1), 1);
    let gate = Gate::default();
    world.backend.on_start([Fault::Stall(gate.clone())]);
    let jobs: Vec<_> = (0..8).map(|i| world.start(&i.to_string(), ProofKind::PorepC2, 1)).collect();
    reached(&gate);
    world.until("full", |_| world.waits_for(&jobs[5]) == "ahead" && world.waits_for(&jobs[4]) == "slot");
    let before = world.engine.status();
    assert!(before.circuits.iter().any(|circuit| circuit.circuit == "snap-2k"), "{before:?}");

    world.engine.set_memory_limit(Bytes(before.memory.reserved - 1)).unwrap();
    let after = world.until("smaller", |status| status.circuits.len() == 1);
    assert_eq!(after.memory.limit, before.memory.reserved - 1);
    assert_eq!(after.circuits[0].circuit, "porep-2k", "the idle circuit has gone, the used one stays");
    gate.open();
    jobs[..5].iter().for_each(|job| world.proved(job, 1));
    let waiting =
        world.until("waiting", |status| status.jobs.len() == 3 && status.slots[0].job_id.is_empty());
    assert!(waiting.jobs.iter().all(|job| job.state == "queued" && !job.waits_for.is_empty()), "{waiting:?}");
    assert_eq!(world.waits_for(&jobs[5]), "memory");

    world.engine.set_memory_limit(Bytes::gib(1)).unwrap();
    assert_eq!(
        world.engine.status().memory.limit,
        Bytes::mib(64).0,
        "no more than the engine was opened with"
    );
    jobs[5..].iter().for_each(|job| world.proved(job, 1));
    world.nothing_is_booked();
}

#[test]
fn what_fits_the_ceiling_but_not_the_present_budget_is_busy() {
    let config = Config { memory_margin: Bytes::mib(1), ..config() };
    let world = Setup::new(config.clone()).on(fake("cpu")).unwrap();
    world.engine.set_memory_limit(one_partition()).unwrap();
    let memory = world.engine.status().memory;
    assert_eq!((memory.limit, memory.ceiling), (one_partition().0 - Bytes::mib(1).0, Bytes::mib(63).0));
    let error = world.submit("a", ProofKind::PorepC2, 1).unwrap_err();
    assert_eq!(error.code(), Code::Busy, "{error}");
    assert!(error.message().contains("retry in"), "{error}");
    world.engine.set_memory_limit(Bytes::mib(64)).unwrap();
    world.proved(&world.start("a", ProofKind::PorepC2, 1), 1);

    let huge = Setup::new(config).on(fake("cpu").with_working_set(Bytes::mib(64))).unwrap();
    huge.engine.set_memory_limit(Bytes::mib(2)).unwrap();
    let error = huge.submit("a", ProofKind::PorepC2, 1).unwrap_err();
    assert_eq!(error.code(), Code::BudgetExceeded, "{error}");
    let need = one_partition().0 + Bytes::mib(56).0 + INTAKE.0;
    assert!(error.message().contains(&format!("{need} bytes")), "{error}");
    assert!(error.message().contains(&format!("limit of 63.0 MiB ({} bytes)", Bytes::mib(63).0)), "{error}");
}

#[test]
fn a_limit_that_leaves_nothing_beside_the_margin_is_an_error() {
    let world = World::with(Config { memory_margin: Bytes::mib(1), ..config() }, &[]);
    for limit in [Bytes::ZERO, Bytes::mib(1)] {
        let error = world.engine.set_memory_limit(limit).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.message().contains("1.0 MiB"), "{error}");
    }
    assert_eq!(world.engine.status().memory.limit, Bytes::mib(63).0);
    world.engine.set_memory_limit(Bytes(Bytes::mib(1).0 + 1)).unwrap();
    assert_eq!(world.engine.status().memory.limit, 1);
}

#[test]
fn a_limit_that_is_taken_back_leaves_the_margin_as_it_was() {
    let world = World::with(Config { memory_limit: None, ..config() }, &[]);
    // A machine of which so much is left keeps a sixteenth as margin, whatever limit was set meanwhile.
    let full = || Bytes::mib(16 * 1024 - 1024).0;
    budget_is(&world, Bytes::gib(16), full);
    world.engine.set_memory_limit(Bytes::gib(1)).unwrap();
    budget_is(&world, Bytes::gib(16), || Bytes::gib(1).0);
    world.engine.set_memory_limit(Bytes(u64::MAX)).unwrap();
    budget_is(&world, Bytes::gib(16), full);
}

#[test]
fn the_budget_follows_what_the_machine_leaves() {
    let world = World::new();
    budget_is(&world, Bytes::mib(20), || Bytes::mib(20).0);
    budget_is(&world, Bytes::mib(40), || Bytes::mib(40).0);
    budget_is(&world, Bytes::gib(40), || Bytes::mib(64).0);
    world.still_works();
    world.nothing_is_booked();
}

#[test]
fn memory_of_another_engine_is_not_counted_as_ours() {
    let one = Setup::new(config()).on(fake("cpu").with_excess(Bytes::mib(6))).unwrap();
    let two = World::new();
    let gate = Gate::default();
    one.backend.on_start([Fault::Stall(gate.clone())]);
    let job = one.start("a", ProofKind::PorepC2, 1);
    reached(&gate);
    budget_is(&two, Bytes::mib(20), || Bytes::mib(20).0);
    assert_eq!(two.engine.status().memory.reserved, 0);
    assert!(one.engine.status().memory.reserved > TURN.0);
    gate.open();
    one.proved(&job, 1);
    two.still_works();
    one.nothing_is_booked();
    two.nothing_is_booked();
}

#[test]
fn an_idle_circuit_leaves_when_the_machine_needs_its_memory() {
    let world = World::new();
    world.proved(&world.start("idle", ProofKind::PorepC2, 1), 1);
    let circuit = circuit_id(ProofKind::PorepC2).to_string();
    let held = world.until("idle", |status| status.memory.reserved == status.circuits[0].bytes);
    assert_eq!(held.circuits[0].circuit, circuit);
    leave(&world, Bytes::ZERO);
    world.until("gone", |status| status.circuits.is_empty() && status.memory.reserved == 0);
    world.until("as before", |status| status.memory.limit == Bytes::mib(64).0);
    world.still_works();
    world.nothing_is_booked();
}
