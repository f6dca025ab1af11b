//! The library's own scheduler in the simulator.

use super::*;
use crate::error::Code;
use crate::units::Bytes;

const LARGE: u64 = 32 << 30;

fn mix(text: &str) -> Mix {
    Mix::parse(text, LARGE, 5).unwrap()
}

fn published() -> Profile {
    Profile::find(published::PROFILE).unwrap()
}

fn gib(bytes: Bytes) -> f64 {
    bytes.0 as f64 / (1u64 << 30) as f64
}

#[test]
fn twelve_partitions_in_flight_and_two_slots_of_the_supraseal_core_fit_into_84_gib() {
    let (profile, mix) = (published(), mix("porep_c2=20"));
    let outcome = Scenario::new(&profile, &mix, Bytes::gib(84)).run().unwrap();
    assert_eq!(outcome.kinds[0].proofs, 20);
    assert!(gib(outcome.peak) <= 84.0, "{}", gib(outcome.peak));
    assert!(outcome.kinds[0].seconds_a_proof <= 40.0, "{outcome:?}");
}

#[test]
fn one_slot_or_a_core_that_evaluates_from_the_compact_witness_fits_into_64_gib() {
    let (profile, mix) = (published(), mix("porep_c2=20"));
    let small = Scenario::new(&profile, &mix, Bytes::gib(64));
    let one_slot = Scenario { slots: 1, ..small.clone() }.run().unwrap();
    let compact = Scenario { core: Core::Compact, ..small }.run().unwrap();
    for outcome in [&one_slot, &compact] {
        assert_eq!(outcome.kinds[0].proofs, 20);
        assert!(gib(outcome.peak) <= 64.0, "{}", gib(outcome.peak));
    }
    assert!(compact.kinds[0].seconds_a_proof <= 40.0, "{compact:?}");
}

#[test]
fn a_machine_of_96_gib_takes_40_seconds_a_proof_at_most() {
    let (profile, mix) = (published(), mix("porep_c2=100"));
    // Less what the system and the library's margin take.
    let outcome = Scenario::new(&profile, &mix, Bytes::gib(92)).run().unwrap();
    assert!(outcome.kinds[0].seconds_a_proof <= 40.0, "{outcome:?}");
    assert!(outcome.peak <= Bytes::gib(92));
}

#[test]
fn the_same_question_has_the_same_answer_and_another_seed_another() {
    let (profile, mix) = (published(), mix("porep_c2=20"));
    let scenario = Scenario::new(&profile, &mix, Bytes::gib(96));
    let outcome = scenario.run().unwrap();
    assert_eq!(outcome, scenario.run().unwrap());
    assert_ne!(outcome.seconds, Scenario { seed: 2, ..scenario }.run().unwrap().seconds);
}

#[test]
fn what_is_promised_is_never_less_than_what_is_held_nor_more_than_there_is() {
    let (profile, mix) = (published(), mix("porep_c2=12"));
    for memory in [62, 66, 75, 88, 128, 256] {
        for devices in [1, 2] {
            let scenario =
                Scenario { devices, record: true, ..Scenario::new(&profile, &mix, Bytes::gib(memory)) };
            let outcome = scenario.run().unwrap();
            assert!(outcome.held <= outcome.peak && outcome.peak <= scenario.memory, "{outcome:?}");
            for sample in outcome.timeline.unwrap().samples {
                assert!(sample.held <= sample.classes.iter().sum::<u64>(), "{sample:?}");
            }
        }
    }
}

#[test]
fn every_partition_has_a_lane_from_its_arrival_to_its_proof() {
    let (profile, mix) = (published(), mix("porep_c2=3"));
    let scenario = Scenario { record: true, ..Scenario::new(&profile, &mix, Bytes::gib(96)) };
    let timeline = scenario.run().unwrap().timeline.unwrap();
    assert_eq!(timeline.lanes.len(), 30);
    for lane in timeline.lanes {
        let doing: Vec<_> = lane.steps.iter().map(|(doing, ..)| *doing).collect();
        assert_eq!(doing, Doing::ALL, "{lane:?}");
        assert!(lane.steps.windows(2).all(|pair| pair[0].2 == pair[1].1), "{lane:?}");
    }
}

#[test]
fn what_cannot_fit_says_what_would() {
    let (profile, mix) = (published(), mix("porep_c2=1"));
    let error = Scenario::new(&profile, &mix, Bytes::gib(32)).run().unwrap_err();
    assert_eq!(error.code(), Code::BudgetExceeded);
    let text = error.to_string();
    assert!(text.contains("porep-32g") && text.contains("it fits with 60.9 GiB"), "{text}");
    let fitting = Scenario::new(&profile, &mix, Bytes::gib(61)).run().unwrap();
    assert_eq!(fitting.kinds[0].proofs, 1);
}

#[test]
fn nonsense_is_refused() {
    let (profile, mix) = (published(), mix("porep_c2=1"));
    let sane = Scenario::new(&profile, &mix, Bytes::gib(96));
    let refused = |scenario: Scenario| scenario.run().unwrap_err().code();
    assert_eq!(refused(Scenario { memory: Bytes::ZERO, ..sane.clone() }), Code::InvalidArgument);
    assert_eq!(refused(Scenario { workers: 0, ..sane.clone() }), Code::InvalidArgument);
    assert_eq!(refused(Scenario { devices: 0, ..sane.clone() }), Code::InvalidArgument);
    assert_eq!(refused(Scenario { devices: 1 << 40, ..sane.clone() }), Code::InvalidArgument);
    let other = Mix::parse("porep_c2=1", 2 << 10, 1).unwrap();
    assert_eq!(refused(Scenario { mix: &other, ..sane }), Code::InvalidArgument);
    assert_eq!(Profile::find("rtx9090").unwrap_err().code(), Code::NotFound);
}

#[test]
fn post_meets_its_deadlines_under_a_flood_of_porep() {
    const EPOCH: f64 = 30.0;
    const CHALLENGE_WINDOW: f64 = 30.0 * 60.0;
    let (profile, mix) = (published(), mix("porep_c2=60,winning_post=40@45s,window_post=4@480s"));
    let outcome = Scenario::new(&profile, &mix, Bytes::gib(192)).run().unwrap();
    for (kind, deadline) in [("winning_post", EPOCH), ("window_post", CHALLENGE_WINDOW)] {
        let post = outcome.kinds.iter().find(|of| of.kind.name() == kind).unwrap();
        assert!(post.latency[2] <= deadline, "{post:?}");
    }
    // PoRep pays little for it.
    let alone = self::mix("porep_c2=60");
    let undisturbed = Scenario::new(&profile, &alone, Bytes::gib(192)).run().unwrap();
    assert!(outcome.kinds[0].an_hour >= 0.85 * undisturbed.kinds[0].an_hour, "{outcome:?}");
}
