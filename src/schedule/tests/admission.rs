//! What is accepted, what is refused, and that memory is never what stops everything.

use super::{circuit, one_cpu, settings, world};
use crate::error::Code;
use crate::kind::ProofKind;
use crate::schedule::{Outcome, Settings, SlotKind};
use crate::units::Bytes;

#[test]
fn a_budget_of_one_partition_still_serves_everything() {
    let mut world = one_cpu(30 + 20 + 5 + 4);
    let kinds = [ProofKind::PorepC2, ProofKind::SnapUpdate, ProofKind::WinningPost, ProofKind::PorepC2];
    let jobs = kinds.map(|kind| world.ask(kind, 4));
    world.settle_in_time().unwrap();
    for job in jobs {
        assert_eq!(world.answers[&job], Outcome::Proved);
    }
    world.shut().unwrap();
}

#[test]
fn what_can_never_fit_is_refused_at_once() {
    let mut world = one_cpu(55);
    let job = world.ask(ProofKind::PorepC2, 1);
    let error = &world.refusals[&job];
    assert_eq!(error.code(), Code::BudgetExceeded);
    assert!(error.message().contains("56 B") && error.message().contains("55 B"), "{error}");
    let small = world.ask(ProofKind::WinningPost, 1);
    world.settle().unwrap();
    assert_eq!(world.answers[&small], Outcome::Proved);
    world.shut().unwrap();
}

#[test]
fn a_full_intake_is_busy_with_a_hint_and_loses_nothing() {
    let mut world = world(Settings { max_requests: 2, ..settings(200, &[SlotKind::Cpu]) });
    let jobs = [(); 3].map(|()| world.ask(ProofKind::PorepC2, 1));
    assert_eq!(world.refused(jobs[2]), Some(Code::Busy));
    assert!(world.refusals[&jobs[2]].message().contains("retry in"));
    let post = world.ask(ProofKind::WindowPost, 1);
    assert_eq!(world.refused(post), None, "queued PoRep does not keep PoSt out");
    world.shut().unwrap();
}

#[test]
fn waiting_requests_never_take_the_memory_to_prove_in() {
    let mut world = world(Settings { max_intake: Bytes(1000), ..settings(60, &[SlotKind::Cpu]) });
    let jobs: Vec<_> = (0..20).map(|_| world.ask(ProofKind::PorepC2, 1)).collect();
    assert!(jobs.iter().any(|job| world.refusals.contains_key(job)));
    world.shut().unwrap();
}

#[test]
fn what_was_accepted_beside_a_pinned_circuit_is_served() {
    let pinned = [circuit(ProofKind::SnapUpdate)].into();
    let budget = 20 + 30 + 20 + 5 + 3;
    let settings = Settings { pinned, max_intake: Bytes(1000), ..settings(budget, &[SlotKind::Cpu]) };
    let mut world = world(settings);
    world.know_all().unwrap();
    world.preload(circuit(ProofKind::SnapUpdate)).unwrap();
    world.settle().unwrap();
    let jobs: Vec<_> = (0..10).map(|_| world.ask(ProofKind::PorepC2, 2)).collect();
    world.settle_in_time().unwrap();
    let accepted: Vec<_> = jobs.iter().filter(|job| world.refused(**job).is_none()).collect();
    assert!(!accepted.is_empty() && accepted.len() < jobs.len());
    assert!(accepted.iter().all(|job| world.answers[job] == Outcome::Proved));
    world.shut().unwrap();
}
