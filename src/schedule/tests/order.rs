//! Who goes first.

use super::model::{Fault, Work};
use super::one_cpu;
use crate::kind::ProofKind;

#[test]
fn winning_post_waits_for_one_step_at_most() {
    let mut world = one_cpu(200);
    for _ in 0..5 {
        world.ask(ProofKind::PorepC2, 10);
    }
    while world.proved.is_empty() {
        world.finish_one(|_| true, Fault::None);
    }
    let winning = world.ask(ProofKind::WinningPost, 1);
    assert!(world.work.contains(&Work::Synthesis(winning, 0)), "a worker is kept for it");
    let own = |work: &Work| match work {
        Work::Synthesis(job, _) => *job == winning,
        Work::Load(circuit) => circuit.kind == ProofKind::WinningPost,
        _ => false,
    };
    while world.find(own).is_some() {
        world.finish_one(own, Fault::None);
    }
    let before = world.proved.len();
    while world.proved.len() == before {
        world.finish_one(|_| true, Fault::None);
    }
    assert_eq!(world.proved[before].0, winning);
    world.shut().unwrap();
}

#[test]
fn partitions_of_one_request_stay_together() {
    let mut world = one_cpu(120);
    for _ in 0..3 {
        world.ask(ProofKind::PorepC2, 4);
    }
    world.settle().unwrap();
    let jobs: Vec<_> = world.proved.iter().map(|(job, ..)| job.0).collect();
    assert_eq!(jobs, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    world.shut().unwrap();
}
