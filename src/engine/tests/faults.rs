//! One job's failure is that job's alone.

use std::sync::Arc;

use super::world::{circuit_id, config, fake, reached, Script, World};
use crate::error::Code;
use crate::kind::ProofKind;
use crate::prove::fake::{Fault, Gate};
use crate::wire::await_proof_response::Status;

#[test]
fn every_kind_is_proved_and_verified() {
    let world = World::new();
    let jobs: Vec<_> = ProofKind::ALL.iter().map(|kind| world.start(kind.name(), *kind, 3)).collect();
    for job in &jobs {
        world.proved(job, 3);
        let report = world.engine.report(job).unwrap();
        assert_eq!((report.partitions_done, report.state, report.device.as_str()), (3, "completed", "cpu"));
        assert!(
            report.witness_bytes > 0 && report.working_set_bytes > 0 && report.constraints > 0,
            "{report:?}"
        );
    }
    assert_eq!(world.engine.status().totals.proofs, 12);
    let metrics = world.engine.metrics();
    assert!(
        metrics.contains("forebay_proofs_total{proof_kind=\"porep_c2\",device=\"cpu\"} 3\n"),
        "{metrics}"
    );
    world.nothing_is_booked();
}

#[test]
fn a_panic_in_any_stage_fails_its_job_only() {
    let world = World::new();
    world.script("synthesis", Script { synthesis: Some(Fault::Panic), ..Script::default() });
    world.script("assembly", Script { assembly_panics: true, ..Script::default() });
    for (stage, text) in [
        ("synthesis", "synthesis panics as scripted"),
        ("start", "start of cpu panics as scripted"),
        ("finish", "finish of cpu panics as scripted"),
        ("assembly", "assembly panics as scripted"),
        ("load", "loading panics as scripted"),
    ] {
        match stage {
            "start" => world.backend.on_start([Fault::Panic]),
            "finish" => world.backend.on_finish([Fault::Panic]),
            "load" => world.catalog.loads.lock().unwrap().push(Fault::Panic),
            _ => {}
        }
        let kind = if stage == "load" { ProofKind::SnapUpdate } else { ProofKind::PorepC2 };
        let error = world.failed(&world.start(stage, kind, 2), Code::Internal);
        assert!(error.contains(text), "{error}");
        world.still_works();
    }
    world.script("decoding", Script { decoding_panics: true, ..Script::default() });
    assert_eq!(world.submit("decoding", ProofKind::PorepC2, 1).unwrap_err().code(), Code::Internal);
    assert!(world.engine.status().totals.panics >= 6);
    world.nothing_is_booked();
}

#[test]
fn a_failing_partition_ends_the_request_with_its_error() {
    let world = World::new();
    world.backend.on_start([Fault::None, Fault::Fail]);
    let error = world.failed(&world.start("a", ProofKind::PorepC2, 4), Code::Backend);
    assert!(error.contains("scripted"), "{error}");
    world.script("b", Script { synthesis: Some(Fault::Fail), ..Script::default() });
    world.failed(&world.start("b", ProofKind::PorepC2, 4), Code::InvalidRequest);
    world.still_works();
    world.nothing_is_booked();
}

#[test]
fn a_wrong_proof_is_never_handed_out() {
    let world = World::new();
    world.backend.on_finish([Fault::Wrong]);
    let job = world.start("once", ProofKind::WindowPost, 1);
    world.proved(&job, 1);
    assert_eq!(world.engine.report(&job).unwrap().reproved, 1);
    world.backend.on_start([Fault::Wrong, Fault::Wrong]);
    let error = world.failed(&world.start("twice", ProofKind::WindowPost, 1), Code::VerificationFailed);
    assert!(error.contains("wpost-2k") && error.contains("cpu and cpu"), "{error}");
    assert_eq!(world.engine.status().totals.verification_failures, 3);
    world.nothing_is_booked();
}

#[test]
fn a_device_that_lies_is_checked_by_the_processor() {
    let device = Arc::new(fake("gpu-0"));
    device.on_start([Fault::Wrong]);
    let world = World::with(config(), &[device]);
    let job = world.start("a", ProofKind::PorepC2, 1);
    world.proved(&job, 1);
    let report = world.engine.report(&job).unwrap();
    assert_eq!((report.device.as_str(), report.reproved), ("cpu", 1));
    let metrics = world.engine.metrics();
    assert!(metrics.contains("forebay_verification_failures_total{device=\"gpu-0\"} 1\n"), "{metrics}");
    world.nothing_is_booked();
}

#[test]
fn a_false_statement_is_told_from_a_broken_prover() {
    let world = World::new();
    world.script("false", Script { false_statement: true, ..Script::default() });
    let error = world.failed(&world.start("false", ProofKind::SnapUpdate, 1), Code::Unsatisfied);
    assert!(error.contains("public input 0") && error.contains("snap-2k"), "{error}");
    world.still_works();
    world.nothing_is_booked();
}

#[test]
fn cancel_frees_everything_in_each_stage() {
    for stage in ["load", "synthesis", "start", "finish"] {
        let world = World::new();
        let gate = Gate::default();
        let stall = Fault::Stall(gate.clone());
        match stage {
            "load" => world.catalog.loads.lock().unwrap().push(stall),
            "synthesis" => world.script("a", Script { synthesis: Some(stall), ..Script::default() }),
            "start" => world.backend.on_start([stall]),
            _ => world.backend.on_finish([stall]),
        }
        let job = world.start("a", ProofKind::PorepC2, 3);
        reached(&gate);
        assert!(world.engine.cancel(&job).unwrap(), "{stage}");
        let answer = world.answer(&job);
        assert_eq!(answer.status(), Status::Cancelled, "{stage}");
        assert!(answer.error_message.starts_with("cancelled: "));
        assert!(!world.engine.cancel(&job).unwrap());
        world.still_works();
        world.nothing_is_booked();
    }
}

#[test]
fn a_step_that_cannot_be_interrupted_delays_nobody_elses_answer() {
    let world = World::new();
    let gate = Gate::default();
    world.backend.on_start([Fault::Hold(gate.clone())]);
    let job = world.start("a", ProofKind::PorepC2, 2);
    reached(&gate);
    world.engine.cancel(&job).unwrap();
    assert_eq!(world.answer(&job).status(), Status::Cancelled);
    let held = world.engine.status().slots[0].reserved;
    assert!(held > 0, "the running step's memory stays booked");
    gate.open();
    world.still_works();
    world.nothing_is_booked();
}

#[test]
fn a_failed_load_can_be_tried_again() {
    let world = World::new();
    world.catalog.loads.lock().unwrap().push(Fault::Fail);
    world.failed(&world.start("a", ProofKind::PorepC2, 2), Code::ParametersInvalid);
    world.proved(&world.start("a", ProofKind::PorepC2, 2), 2);
    world.nothing_is_booked();
}

#[test]
fn a_circuit_is_loaded_once_for_all_its_requests() {
    let world = World::new();
    let jobs: Vec<_> = (0..8).map(|i| world.start(&i.to_string(), ProofKind::PorepC2, 2)).collect();
    jobs.iter().for_each(|job| world.proved(job, 2));
    assert_eq!(*world.catalog.loaded.lock().unwrap(), [circuit_id(ProofKind::PorepC2)]);
    world.nothing_is_booked();
}
