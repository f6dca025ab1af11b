//! Circuits that stay, and the room that is kept for PoSt.

use std::sync::{Arc, Mutex};

use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::world::{
    circuit_id, config, fake, lane, one_partition, reached, Held, Setup, TestCatalog, World, INTAKE, SHARED,
};
use crate::engine::{Config, ProverSlot, Status};
use crate::error::Code;
use crate::kind::{ProofKind, Urgency};
use crate::prove::fake::{Fault, Gate};
use crate::units::Bytes;

const POST: [ProofKind; 2] = [ProofKind::WinningPost, ProofKind::WindowPost];

fn pinned(limit: Bytes) -> Config {
    let pinned = vec![circuit_id(ProofKind::WinningPost)];
    Config { memory_limit: Some(limit), pinned, ..config() }
}

fn resident(status: &Status, circuit: &str) -> bool {
    status.circuits.iter().any(|found| found.circuit == circuit && found.state == "resident")
}

#[test]
fn a_pinned_circuit_is_loaded_at_open_and_never_leaves_to_make_room() {
    let world = World::with(pinned(Bytes(one_partition().0 + SHARED.0 + 4 * INTAKE.0)), &[]);
    let status = world.until("loaded", |status| resident(status, "winning-2k"));
    assert!(status.circuits[0].pinned, "{status:?}");
    for (i, kind) in
        [ProofKind::PorepC2, ProofKind::SnapUpdate, ProofKind::WindowPost].into_iter().enumerate()
    {
        world.proved(&world.start(&i.to_string(), kind, 2), 2);
        assert!(resident(&world.engine.status(), "winning-2k"));
    }
    world.proved(&world.start("winning", ProofKind::WinningPost, 1), 1);
    let winning = circuit_id(ProofKind::WinningPost);
    let loads = world.catalog.loaded.lock().unwrap().iter().filter(|loaded| **loaded == winning).count();
    assert_eq!(loads, 1, "it was in memory all the time");
    world.until("idle", |status| status.circuits.iter().all(|circuit| circuit.users == 0));
    assert!(world.engine.evict(winning).unwrap().was_loaded, "whoever asks for it gets its memory");
    assert!(!resident(&world.engine.status(), "winning-2k"));
    world.nothing_is_booked();
}

#[test]
fn a_pinned_circuit_that_finds_no_room_is_tried_again() {
    let gate = Gate::default();
    let catalog =
        TestCatalog { loads: Mutex::new(vec![Fault::Stall(gate.clone())]), ..TestCatalog::default() };
    let config = Config { pinned: POST.map(circuit_id).to_vec(), ..config() };
    let limit = config.memory_limit.unwrap();
    let world = Setup { catalog, ..Setup::new(config) }.on(fake("cpu")).unwrap();
    reached(&gate);
    // The first is on its way; until the limit is raised again there is no room for the second.
    world.engine.set_memory_limit(Bytes(SHARED.0 + 1)).unwrap();
    gate.open();
    world.until("the first is loaded", |status| resident(status, "winning-2k"));
    std::thread::sleep(2 * crate::engine::open::PIN_AGAIN);
    assert!(!resident(&world.engine.status(), "wpost-2k"));
    world.engine.set_memory_limit(limit).unwrap();
    world.until("the second is loaded", |status| resident(status, "wpost-2k"));
    world.nothing_is_booked();
}

#[test]
fn a_pinned_circuit_is_part_of_what_a_request_needs() {
    let catalog = TestCatalog { prepared: vec![ProofKind::WinningPost], ..TestCatalog::default() };
    let setup = Setup { catalog, ..Setup::new(pinned(Bytes(one_partition().0 + SHARED.0))) };
    let world = setup.on(fake("cpu")).unwrap();
    let error = world.submit("a", ProofKind::PorepC2, 1).unwrap_err();
    assert_eq!(error.code(), Code::BudgetExceeded);
    assert!(error.message().contains("pinned"), "{error}");
    world.proved(&world.start("b", ProofKind::WinningPost, 1), 1);
    world.nothing_is_booked();
}

#[test]
fn a_pinned_circuit_without_parameters_is_an_error_at_open() {
    let catalog = TestCatalog::default();
    *catalog.missing.lock().unwrap() = Some(circuit_id(ProofKind::WinningPost));
    let setup = Setup { catalog, ..Setup::new(pinned(Bytes::mib(64))) };
    let error = setup.on(fake("cpu")).err().unwrap();
    assert_eq!(error.code(), Code::ParametersMissing);
    assert!(error.message().contains("residency.pinned: winning-2k"), "{error}");
}

/// Remembers what events say.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<String>>);

impl<S: tracing::Subscriber> Layer<S> for Listener {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let mut text = self.0.lock().unwrap();
        text.push_str(event.metadata().level().as_str());
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            text.push_str(&format!(" {field}={value:?}"));
        });
        text.push('\n');
    }
}

#[test]
fn missing_parameters_of_an_enabled_kind_are_told_at_open() {
    let listener = Listener::default();
    let catalog = TestCatalog::default();
    *catalog.missing.lock().unwrap() = Some(circuit_id(ProofKind::WindowPost));
    let setup = Setup { catalog, ..Setup::new(config()) };
    let subscriber = tracing_subscriber::registry().with(listener.clone());
    let world = tracing::subscriber::with_default(subscriber, || setup.on(fake("cpu"))).unwrap();
    let said = listener.0.lock().unwrap().clone();
    let warnings: Vec<_> = said.lines().filter(|line| line.starts_with("WARN")).collect();
    assert!(warnings.len() == 1 && warnings[0].contains("window_post"), "{said}");
    assert_eq!(world.submit("a", ProofKind::WindowPost, 1).unwrap_err().code(), Code::ParametersMissing);
    world.still_works();
    world.nothing_is_booked();
}

#[test]
fn a_shared_key_is_charged_once_for_all_its_requests() {
    let world = World::new();
    let gate = Held::default();
    world.backend.on_start([gate.fault()]);
    let jobs: Vec<_> = (0..4).map(|i| world.start(&i.to_string(), ProofKind::PorepC2, 1)).collect();
    world.until("shared", |status| status.circuits.iter().any(|circuit| circuit.users == 4));
    reached(&gate);
    let status = world.engine.status();
    let shared = status.cells.iter().filter(|cell| ["srs", "matrices"].contains(&cell.class));
    let shared: u64 = shared.map(|cell| cell.reserved).sum();
    assert_eq!((status.circuits.len(), status.circuits[0].bytes), (1, shared));
    assert!(shared <= SHARED.0, "{shared} bytes for four requests");
    gate.open();
    jobs.iter().for_each(|job| world.proved(job, 1));
    world.nothing_is_booked();
}

/// A processor with a slot for each urgency and three devices, a budget that holds one partition of each urgency,
/// and sealing that takes all it can get; its steps on the processor, or on all of them, stop at the gate. Before
/// it, `used` are proved once.
fn flooded(prepared: &[ProofKind], used: &[ProofKind], all_stop: bool) -> (World, Held, Vec<String>) {
    let limit = Some(Bytes(3 * one_partition().0 + Bytes::kib(64).0));
    let catalog = TestCatalog { prepared: prepared.to_vec(), ..TestCatalog::default() };
    let setup = Setup { catalog, ..Setup::new(Config { memory_limit: limit, ..config() }) };
    let [(_, critical), (_, urgent), (backend, patient)] = Urgency::ALL.map(|urgency| lane(urgency, 1));
    let devices = ["gpu-0", "gpu-1", "gpu-2"].map(|name| Arc::new(fake(name)));
    let mut all = vec![critical, urgent, patient.clone()];
    all.extend(devices.iter().map(|device| ProverSlot { backend: device.clone(), ..patient.clone() }));
    let world = setup.open(backend, all).unwrap();
    for kind in used {
        world.proved(&world.start(kind.name(), *kind, 1), 1);
        world.until("idle", |status| status.circuits.iter().all(|circuit| circuit.users == 0));
        world.engine.evict(circuit_id(*kind)).unwrap();
    }
    let gate = Held::default();
    for fake in devices.iter().filter(|_| all_stop).chain([&world.backend]) {
        fake.on_start((0..24).map(|_| gate.fault()));
    }
    let sealing = [ProofKind::PorepC2, ProofKind::SnapUpdate];
    let jobs: Vec<_> = (0..6).map(|i| world.start(&i.to_string(), sealing[i % 2], 2)).collect();
    reached(&gate);
    let busy = |status: &Status| status.slots.iter().filter(|slot| !slot.job_id.is_empty()).count();
    let at_work = |status: &Status| status.jobs.iter().filter(|job| job.waits_for.is_empty()).count();
    world.until("full", |status| at_work(status) <= busy(status));
    (world, gate, jobs)
}

#[test]
fn a_flood_of_sealing_never_takes_the_room_that_post_needs() {
    let (greedy, gate, jobs) = flooded(&[], &[], true);
    let left = |status: &Status| status.memory.limit - status.memory.reserved;
    greedy.until("filled by sealing", |status| left(status) < one_partition().0);
    gate.open();
    jobs.iter().for_each(|job| greedy.proved(job, 2));

    let (world, gate, jobs) = flooded(&POST, &[], false);
    let proofs = world.engine.status().totals.proofs;
    room_is_kept(&world, proofs);
    gate.open();
    jobs.iter().for_each(|job| world.proved(job, 2));
    world.nothing_is_booked();
}

#[test]
fn room_is_kept_for_post_that_was_first_used_after_open() {
    let (world, gate, jobs) = flooded(&[], &POST, false);
    room_is_kept(&world, 2);
    gate.open();
    jobs.iter().for_each(|job| world.proved(job, 2));
    world.nothing_is_booked();
}

/// PoSt is proved while the flood stands, and its headroom is never zero.
fn room_is_kept(world: &World, proofs_before: u64) {
    let taken = world.engine.status().memory;
    assert!(taken.limit - taken.reserved >= 2 * one_partition().0, "{taken:?}");
    let headroom = || POST.iter().all(|kind| world.engine.headroom(*kind) > 0);
    assert!(headroom());
    let post: Vec<_> =
        POST.iter().rev().map(|kind| world.start(&format!("flood-{kind}"), *kind, 2)).collect();
    post.iter().for_each(|job| world.proved(job, 2));
    let status = world.engine.status();
    assert_eq!(status.totals.proofs, proofs_before + 4, "no sealing has ended: {status:?}");
    assert!(headroom());
}
