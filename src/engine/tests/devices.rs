//! One scheduler serves the processor and devices, each with memory of its own.

use std::sync::Arc;

use super::world::{config, fake, reached, Held, World, TURN};
use crate::engine::Status;
use crate::error::Code;
use crate::kind::ProofKind;
use crate::prove::fake::{Fake, Fault};
use crate::units::Bytes;

const DEVICE_SET: Bytes = Bytes::mib(5);

/// A device that has so much memory.
fn gpu(name: &str, memory: Bytes) -> Arc<Fake> {
    Arc::new(fake(name).with_device_set(DEVICE_SET).with_device_memory(memory))
}

fn proofs(world: &World, device: &str) -> f64 {
    world.metric(&format!("forebay_proofs_total{{proof_kind=\"porep_c2\",device=\"{device}\"}}"))
}

fn idle(world: &World) -> Status {
    world.until("idle", |status| status.slots.iter().all(|slot| slot.job_id.is_empty()))
}

#[test]
fn every_slot_works_at_once_each_with_its_own_reservation() {
    let devices = ["gpu-0", "gpu-1"].map(|name| gpu(name, Bytes::mib(6)));
    let world = World::with(config(), &devices);
    let gate = Held::default();
    for fake in devices.iter().chain([&world.backend]) {
        fake.on_start([gate.fault()]);
    }
    let job = world.start("a", ProofKind::PorepC2, 6);
    let status = world.until("busy", |status| status.slots.iter().all(|slot| slot.job_id == job));
    let slots: Vec<_> = status.slots.iter().map(|s| (s.name.as_str(), s.device_reserved)).collect();
    assert_eq!(slots, [("cpu", 0), ("gpu-0", DEVICE_SET.0), ("gpu-1", DEVICE_SET.0)]);
    assert!(status.slots.iter().all(|slot| slot.reserved >= TURN.0), "{status:?}");
    assert!(status.memory.reserved >= 3 * TURN.0, "{status:?}");
    let mut partitions: Vec<_> = status.slots.iter().filter_map(|slot| slot.partition).collect();
    partitions.sort_unstable();
    assert_eq!(partitions, [0, 1, 2]);
    for slot in ["cpu", "gpu-0", "gpu-1"] {
        assert_eq!(world.metric(&format!("forebay_slot_busy{{slot=\"{slot}\"}}")), 1.0);
    }
    gate.open();
    world.proved(&job, 6);
    let by_device = ["cpu", "gpu-0", "gpu-1"].map(|device| proofs(&world, device));
    assert!(by_device.iter().all(|n| *n >= 1.0) && by_device.iter().sum::<f64>() == 6.0, "{by_device:?}");
    assert!(idle(&world).slots.iter().all(|slot| slot.device_reserved == 0));
    world.nothing_is_booked();
}

#[test]
fn a_turn_beyond_a_devices_memory_never_runs_there() {
    let small = gpu("gpu-0", Bytes(DEVICE_SET.0 - 1));
    let world = World::with(config(), &[small, gpu("gpu-1", DEVICE_SET)]);
    let job = world.start("a", ProofKind::PorepC2, 8);
    world.proved(&job, 8);
    assert_eq!(proofs(&world, "gpu-0"), 0.0);
    assert!(proofs(&world, "gpu-1") >= 1.0);
    world.nothing_is_booked();
}

#[test]
fn a_failing_device_is_an_error_and_gives_its_memory_back() {
    let device = gpu("gpu-0", DEVICE_SET);
    let world = World::with(config(), std::slice::from_ref(&device));
    for (i, (fault, code)) in
        [(Fault::Fail, Code::Backend), (Fault::Panic, Code::Internal)].into_iter().enumerate()
    {
        device.on_start([fault]);
        let error = world.failed(&world.start(&i.to_string(), ProofKind::PorepC2, 1), code);
        assert!(error.contains("gpu-0"), "the error names the device: {error}");
        assert_eq!(idle(&world).slots[1].device_reserved, 0);
    }
    let job = world.start("next", ProofKind::PorepC2, 1);
    world.proved(&job, 1);
    assert_eq!(world.engine.report(&job).unwrap().device, "gpu-0", "it is not given up in silence");
    world.nothing_is_booked();
}

#[test]
fn a_cancelled_turn_gives_its_devices_memory_back_when_it_ends() {
    let device = gpu("gpu-0", DEVICE_SET);
    let world = World::with(config(), std::slice::from_ref(&device));
    let gate = Held::default();
    device.on_start([gate.fault()]);
    let job = world.start("a", ProofKind::PorepC2, 1);
    reached(&gate);
    world.engine.cancel(&job).unwrap();
    world.answer(&job);
    assert_eq!(world.engine.status().slots[1].device_reserved, DEVICE_SET.0, "the step still runs");
    gate.open();
    world.until("free", |status| status.slots[1].device_reserved == 0);
    world.still_works();
    world.nothing_is_booked();
}
