//! What is measured corrects what is projected.

use super::world::{config, fake, one_partition, reached, Setup, World, INTAKE, TURN};
use crate::engine::Config;
use crate::error::Code;
use crate::kind::ProofKind;
use crate::prove::fake::{Fake, Fault, Gate};
use crate::units::Bytes;

/// More than a whole turn is projected to need.
const EXCESS: Bytes = Bytes::mib(12);
const FACTOR: f64 = 1.5;

fn liar() -> Fake {
    fake("cpu").with_excess(EXCESS)
}

fn ratio(world: &World, metric: &str, class: &str) -> f64 {
    world.metric(&format!("forebay_footprint_{metric}_ratio{{circuit=\"porep-2k\",class=\"{class}\"}}"))
}

/// A request whose heavy step waits at the gate, with its excess already mapped.
fn stalled(world: &World) -> (String, Gate) {
    let gate = Gate::default();
    world.backend.on_start([Fault::Stall(gate.clone())]);
    let job = world.start("stalled", ProofKind::PorepC2, 1);
    reached(&gate);
    (job, gate)
}

#[test]
fn memory_beyond_its_projection_is_booked_while_it_is_held() {
    assert!(EXCESS.0 as f64 / TURN.0 as f64 >= FACTOR);
    let world = Setup::new(config()).on(liar()).unwrap();
    let (job, gate) = stalled(&world);
    let status = world.engine.status();
    assert!(status.memory.overruns > 0, "{status:?}");
    assert!(status.slots[0].reserved >= EXCESS.0, "{status:?}");
    assert!(status.memory.reserved >= EXCESS.0 + status.circuits[0].bytes, "{status:?}");
    assert!(
        world.metric("forebay_memory_reserved_bytes{class=\"working_set\",stage=\"proving\"}")
            >= EXCESS.0 as f64
    );
    assert!(world.metric("forebay_memory_overruns_total") > 0.0);
    gate.open();
    world.proved(&job, 1);
    world.nothing_is_booked();
}

#[test]
fn a_measured_excess_raises_the_circuits_next_claims() {
    let world = Setup::new(config()).on(liar()).unwrap();
    let job = world.start("first", ProofKind::PorepC2, 1);
    world.proved(&job, 1);
    assert!(ratio(&world, "measured", "working_set") >= FACTOR);
    assert!(ratio(&world, "factor", "working_set") >= FACTOR);
    assert!(ratio(&world, "measured", "witness") > 0.0, "what fits is measured too");
    assert_eq!(ratio(&world, "factor", "witness"), 1.0, "and corrects nothing");
    let overruns = world.engine.status().memory.overruns;
    let (job, gate) = stalled(&world);
    let status = world.engine.status();
    assert!(status.slots[0].reserved >= EXCESS.0, "{status:?}");
    assert_eq!(status.memory.overruns, overruns, "the second turn was promised what it holds");
    gate.open();
    world.proved(&job, 1);
    world.nothing_is_booked();
}

#[test]
fn what_was_measured_is_claimed_by_an_engine_that_is_opened_later() {
    let world = Setup::new(config()).on(liar()).unwrap();
    let job = world.start("first", ProofKind::PorepC2, 1);
    world.proved(&job, 1);
    let cache = world.cache.clone();
    drop(world);
    let file = std::fs::read_to_string(cache.path().join("footprints.toml")).unwrap();
    assert!(file.contains("[porep-2k]\n"), "{file}");
    let again = Setup { cache, ..Setup::new(config()) }.on(liar()).unwrap();
    let (job, gate) = stalled(&again);
    let status = again.engine.status();
    assert!(status.slots[0].reserved >= EXCESS.0, "{status:?}");
    assert_eq!(status.memory.overruns, 0, "{status:?}");
    assert!(ratio(&again, "factor", "working_set") >= FACTOR);
    gate.open();
    again.proved(&job, 1);
    again.nothing_is_booked();
}

#[test]
fn a_request_that_a_measurement_shows_to_be_too_large_ends_with_an_error() {
    let limit = Some(Bytes(one_partition().0 + 4 * INTAKE.0));
    let world = Setup::new(Config { memory_limit: limit, ..config() }).on(liar()).unwrap();
    let error = world.failed(&world.start("a", ProofKind::PorepC2, 12), Code::BudgetExceeded);
    assert!(error.contains("porep-2k turned out larger") && error.contains("memory.limit"), "{error}");
    let error = world.submit("b", ProofKind::PorepC2, 1).unwrap_err();
    assert_eq!(error.code(), Code::BudgetExceeded, "{error}");
    world.until("free", |status| {
        status.circuits.iter().map(|c| c.bytes).sum::<u64>() == status.memory.reserved
    });
}
