//! From the request to its answer.

use proptest::prelude::*;

use super::model::{Fault, Work};
use super::{one_cpu, settings, world};
use crate::error::Code;
use crate::kind::ProofKind;
use crate::schedule::{Event, Outcome, SlotKind};
use crate::units::Bytes;

#[test]
fn a_request_goes_through_every_step() {
    let mut world = one_cpu(100);
    let job = world.ask(ProofKind::PorepC2, 3);
    world.settle().unwrap();
    assert_eq!(world.answers[&job], Outcome::Proved);
    assert_eq!(world.scheduler.circuits()[0].state, "resident");
    assert_eq!(world.scheduler.ledger().reserved(), Bytes(30), "only the idle circuit stays");
    world.shut().unwrap();
}

#[test]
fn the_first_failure_ends_the_request_and_its_siblings() {
    let mut world = one_cpu(120);
    let job = world.ask(ProofKind::PorepC2, 4);
    world.finish_one(|work| matches!(work, Work::Synthesis(..)), Fault::Fails);
    assert!(matches!(&world.answers[&job], Outcome::Failed(e) if e.code() == Code::Backend));
    world.settle().unwrap();
    assert!(world.proved.is_empty());
    world.shut().unwrap();
}

#[test]
fn a_wrong_proof_is_made_again_on_the_processor_and_then_examined() {
    let mut world = world(settings(200, &[SlotKind::Cpu, SlotKind::Device]));
    let job = world.ask(ProofKind::WindowPost, 1);
    let mut wrong = 0;
    while !world.answers.contains_key(&job) {
        let finish = matches!(world.work.first(), Some(Work::Finish(..)));
        wrong += u32::from(finish);
        world.finish_one(|_| true, if finish { Fault::WrongProof } else { Fault::None });
    }
    assert!(matches!(&world.answers[&job], Outcome::Failed(e) if e.code() == Code::Unsatisfied));
    assert_eq!(wrong, 2);
    let slots: Vec<_> = world.proved.iter().map(|p| p.2).collect();
    assert_eq!(slots, [1, 0], "the device first, then the processor");
    world.shut().unwrap();
}

#[test]
fn a_failed_load_is_told_to_all_that_waited_and_can_be_tried_again() {
    let mut world = one_cpu(200);
    let jobs = [world.ask(ProofKind::PorepC2, 2), world.ask(ProofKind::PorepC2, 1)];
    world.finish_one(|work| matches!(work, Work::Load(_)), Fault::Fails);
    for job in jobs {
        assert!(matches!(&world.answers[&job], Outcome::Failed(e) if e.code() == Code::Backend));
    }
    let again = world.ask(ProofKind::PorepC2, 1);
    world.settle().unwrap();
    assert_eq!(world.answers[&again], Outcome::Proved);
    world.shut().unwrap();
}

#[test]
fn a_deadline_ends_a_job_and_earlier_deadlines_go_first() {
    let mut world = one_cpu(64);
    let late = world.ask_within(ProofKind::PorepC2, 3, Some(90));
    let early = world.ask_within(ProofKind::PorepC2, 1, Some(80));
    assert_eq!(world.scheduler.jobs().collect::<Vec<_>>(), [early, late]);
    let job = world.ask_within(ProofKind::WinningPost, 1, Some(50));
    assert_eq!(world.wakeup(), Some(50));
    world.now = 49;
    world.wait().unwrap();
    assert!(matches!(&world.answers[&job], Outcome::Failed(e) if e.code() == Code::Timeout));
    world.shut().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn shutdown_answers_everything(jobs in proptest::collection::vec(0usize..4, 1..20), steps in 0usize..40) {
        let mut world = one_cpu(120);
        jobs.iter().for_each(|kind| { world.ask(ProofKind::ALL[*kind], 3); });
        for step in 0..steps.min(4 * jobs.len()) {
            if !world.work.is_empty() {
                world.end(step * 7 % world.work.len(), Fault::None);
            }
            world.deliver().unwrap();
        }
        world.tell(Event::Shutdown).unwrap();
        prop_assert!(world.jobs.is_empty());
        world.shut().unwrap();
    }
}
