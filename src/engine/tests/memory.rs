//! The budget holds, and every budget that can hold one partition serves everything.

use super::world::{circuit_id, config, reached, Script, World, SHARED, TURN, WITNESS};
use crate::engine::Config;
use crate::error::Code;
use crate::kind::ProofKind;
use crate::prove::fake::{Fault, Gate};
use crate::units::Bytes;

fn one_partition() -> Bytes {
    Bytes(SHARED.0 + TURN.0 + WITNESS.0)
}

#[test]
fn a_budget_too_small_is_refused_with_need_and_limit() {
    let limit = Bytes(one_partition().0 - 1);
    let world = World::with(Config { memory_limit: Some(limit), ..config() }, &[]);
    let error = world.submit("a", ProofKind::PorepC2, 1).unwrap_err();
    assert_eq!(error.code(), Code::BudgetExceeded);
    let need = one_partition().0 + 1024;
    assert!(error.message().contains(&format!("{need} bytes")), "{error}");
    assert!(error.message().contains(&format!("{} bytes", limit.0)), "{error}");
    assert!(error.message().contains("porep-2k"), "{error}");
    assert_eq!(world.engine.status().memory.reserved, 0);
}

#[test]
fn a_budget_of_one_partition_completes_everything_serially() {
    let intake = 10 * 1024;
    let limit = Bytes(one_partition().0 + intake);
    let world = World::with(Config { memory_limit: Some(limit), ..config() }, &[]);
    let jobs: Vec<_> = (0..8).map(|i| world.start(&i.to_string(), ProofKind::ALL[i % 4], 3)).collect();
    jobs.iter().for_each(|job| world.proved(job, 3));
    let memory = world.engine.status().memory;
    assert!(memory.peak <= limit.0 && memory.peak > limit.0 - intake, "{memory:?}");
    world.nothing_is_booked();
}

#[test]
fn a_thousand_small_requests_leave_nothing_behind() {
    let config = Config { intake_max_requests: 64, ..config() };
    let world = World::with(config, &[]);
    let (mut done, mut busy) = (0, 0);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4_usize)
            .map(|thread| {
                let world = &world;
                scope.spawn(move || {
                    let (mut jobs, mut busy) = (Vec::new(), 0_u32);
                    for i in 0..250 {
                        let id = format!("{thread}-{i}");
                        let job = loop {
                            match world.submit(&id, ProofKind::ALL[(thread + i) % 4], 1) {
                                Ok(submitted) => break submitted.job_id,
                                Err(error) => assert_eq!(error.code(), Code::Busy, "{error}"),
                            }
                            busy += 1;
                            std::thread::sleep(std::time::Duration::from_millis(20));
                        };
                        jobs.push(job);
                    }
                    jobs.iter().for_each(|job| world.proved(job, 1));
                    (jobs.len(), busy)
                })
            })
            .collect();
        for thread in threads {
            let (jobs, refusals) = thread.join().unwrap();
            done += jobs;
            busy += refusals;
        }
    });
    let status = world.engine.status();
    assert_eq!((done, status.totals.completed, status.totals.accepted), (1000, 1000, 1000));
    assert_eq!(status.totals.refused, u64::from(busy));
    world.nothing_is_booked();
}

#[test]
fn a_full_intake_is_busy_and_post_still_gets_in() {
    let world = World::with(Config { intake_max_requests: 2, ..config() }, &[]);
    let gate = Gate::default();
    for id in ["a", "b"] {
        world.script(id, Script { synthesis: Some(Fault::Stall(gate.clone())), ..Script::default() });
        world.start(id, ProofKind::PorepC2, 1);
    }
    let error = world.submit("c", ProofKind::PorepC2, 1).unwrap_err();
    assert_eq!(error.code(), Code::Busy);
    assert!(error.message().contains("retry in"), "{error}");
    world.still_works();
    gate.open();
    let kept = world.start("a", ProofKind::PorepC2, 1);
    world.proved(&kept, 1);
    world.proved(&world.start("c", ProofKind::PorepC2, 1), 1);
    world.nothing_is_booked();
}

#[test]
fn winning_post_overtakes_a_queue_of_porep() {
    let world = World::new();
    let gate = Gate::default();
    world.backend.on_start([Fault::Stall(gate.clone())]);
    let slow: Vec<_> = (0..3).map(|i| world.start(&i.to_string(), ProofKind::PorepC2, 10)).collect();
    reached(&gate);
    let winning = world.start("winning", ProofKind::WinningPost, 1);
    while world.engine.report(&winning).unwrap().witness_bytes == 0 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    gate.open();
    world.proved(&winning, 1);
    assert!(world.engine.status().totals.proofs < 12, "it did not wait for the queue");
    slow.iter().for_each(|job| world.proved(job, 10));
    world.nothing_is_booked();
}

#[test]
fn preload_and_evict_move_a_circuit() {
    let world = World::new();
    let id = circuit_id(ProofKind::SnapUpdate);
    assert!(!world.engine.preload(id).unwrap().already_loaded);
    assert!(world.engine.preload(id).unwrap().already_loaded);
    let resident = &world.engine.status().circuits[0];
    assert_eq!((resident.circuit.as_str(), resident.state), ("snap-2k", "resident"));
    let booked = Bytes(resident.bytes);
    assert!(booked > Bytes::ZERO && booked < SHARED, "what is loaded is booked as measured: {booked}");
    let evicted = world.engine.evict(id).unwrap();
    assert_eq!((evicted.was_loaded, evicted.freed), (true, booked));
    assert!(!world.engine.evict(id).unwrap().was_loaded);
    *world.catalog.missing.lock().unwrap() = Some(circuit_id(ProofKind::PorepC2));
    let missing = world.submit("a", ProofKind::PorepC2, 1).unwrap_err();
    assert_eq!(missing.code(), Code::ParametersMissing);
    *world.catalog.missing.lock().unwrap() = None;
    let gate = Gate::default();
    world.backend.on_start([Fault::Stall(gate.clone())]);
    let job = world.start("a", ProofKind::PorepC2, 1);
    reached(&gate);
    let busy = world.engine.evict(circuit_id(ProofKind::PorepC2)).unwrap_err();
    assert_eq!(busy.code(), Code::Busy);
    gate.open();
    world.proved(&job, 1);
    world.nothing_is_booked();
}
