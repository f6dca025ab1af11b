//! Which request is which job, and what is refused at the door.

use super::world::{message, reached, Script, World};
use crate::engine::{Config, MAX_MESSAGE};
use crate::error::Code;
use crate::kind::ProofKind;
use crate::prove::fake::{Fault, Gate};
use crate::wire::await_proof_response::Status;

fn stalled(world: &World, request: &str) -> (Gate, String) {
    let gate = Gate::default();
    world.script(request, Script { synthesis: Some(Fault::Stall(gate.clone())), ..Script::default() });
    let job = world.start(request, ProofKind::PorepC2, 1);
    reached(&gate);
    (gate, job)
}

#[test]
fn the_same_request_is_the_same_job_while_running_and_after() {
    let world = World::new();
    let (gate, job) = stalled(&world, "a");
    assert_eq!(world.start("a", ProofKind::PorepC2, 1), job);
    let other = world.submit("a", ProofKind::PorepC2, 2).unwrap_err();
    assert_eq!(other.code(), Code::DuplicateRequest);
    gate.open();
    world.proved(&job, 1);
    assert_eq!(world.start("a", ProofKind::PorepC2, 1), job, "the proof is kept");
    let resealed = world.start("a", ProofKind::PorepC2, 2);
    assert_ne!(resealed, job);
    world.proved(&resealed, 2);
    assert_eq!(world.engine.status().totals.accepted, 2);
    world.nothing_is_booked();
}

#[test]
fn a_cancelled_request_may_be_tried_again() {
    let world = World::new();
    let (gate, job) = stalled(&world, "a");
    world.engine.cancel(&job).unwrap();
    assert_eq!(world.answer(&job).status(), Status::Cancelled);
    gate.open();
    let again = world.start("a", ProofKind::PorepC2, 1);
    assert_ne!(again, job);
    world.proved(&again, 1);
    assert_eq!(world.answer(&job).status(), Status::Cancelled);
    world.nothing_is_booked();
}

#[test]
fn concurrent_submissions_of_one_request_are_one_job() {
    let world = World::new();
    let jobs: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| world.start("same", ProofKind::SnapUpdate, 2))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(jobs.iter().all(|job| *job == jobs[0]), "{jobs:?}");
    world.proved(&jobs[0], 2);
    assert_eq!(world.engine.status().totals.accepted, 1);
    world.nothing_is_booked();
}

#[test]
fn bad_messages_are_typed_errors_and_book_nothing() {
    let world = World::new();
    let code = |bytes: &[u8]| world.engine.submit(bytes).unwrap_err().code();
    assert_eq!(code(b""), Code::InvalidRequest);
    assert_eq!(code(b"\xff\xff\xff"), Code::InvalidRequest);
    let whole = message("id", ProofKind::PorepC2, 1);
    assert_eq!(code(&whole[..whole.len() - 1]), Code::InvalidRequest);
    assert_eq!(code(&message("", ProofKind::PorepC2, 1)), Code::InvalidRequest);
    assert_eq!(code(&message(&"x".repeat(1025), ProofKind::PorepC2, 1)), Code::InvalidRequest);
    let huge = vec![0; MAX_MESSAGE.0 as usize + 1];
    let error = world.engine.submit(&huge).unwrap_err();
    assert_eq!(error.code(), Code::InvalidRequest);
    assert!(error.message().contains("268435457") && error.message().contains("268435456"), "{error}");
    assert_eq!(world.engine.status().totals.refused, 6);
    world.still_works();
    world.nothing_is_booked();
}

#[test]
fn unknown_jobs_and_disabled_kinds_are_typed_errors() {
    let config = Config { kinds: vec![ProofKind::WinningPost], ..super::world::config() };
    let world = World::with(config, &[]);
    assert_eq!(world.submit("a", ProofKind::PorepC2, 1).unwrap_err().code(), Code::Unsupported);
    assert_eq!(world.engine.headroom(ProofKind::PorepC2), 0);
    assert!(world.engine.headroom(ProofKind::WinningPost) > 0);
    for call in [world.engine.poll("nothing"), world.engine.wait("nothing", None)] {
        assert_eq!(call.unwrap_err().code(), Code::NotFound);
    }
    assert_eq!(world.engine.cancel("nothing").unwrap_err().code(), Code::NotFound);
    assert!(world.engine.report("nothing").is_none());
}

#[test]
fn only_so_many_results_are_kept() {
    let world = World::with(Config { keep_results: 2, ..super::world::config() }, &[]);
    let jobs: Vec<_> = (0..4)
        .map(|i| {
            let job = world.start(&i.to_string(), ProofKind::WinningPost, 1);
            world.proved(&job, 1);
            job
        })
        .collect();
    assert_eq!(world.engine.poll(&jobs[0]).unwrap_err().code(), Code::NotFound);
    assert_eq!(world.engine.poll(&jobs[3]).unwrap().status(), Status::Completed);
    assert_ne!(world.start("0", ProofKind::WinningPost, 1), jobs[0]);
}
