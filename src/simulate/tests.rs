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

/// The most partitions that had a witness, or had one made, at the same time.
fn in_flight(outcome: &Outcome) -> usize {
    let lanes = &outcome.timeline.as_ref().unwrap().lanes;
    let begun = |lane: &Lane| lane.steps.iter().find(|(doing, ..)| *doing == Doing::Synthesis).unwrap().1;
    let ended = |lane: &Lane| lane.steps.last().unwrap().2;
    let at = |moment: f64| lanes.iter().filter(|lane| begun(lane) <= moment && moment < ended(lane)).count();
    lanes.iter().map(|lane| at(begun(lane))).max().unwrap()
}

/// Most promised in GiB and seconds a proof of 100 proofs, at least twelve partitions of them in flight.
fn hundred_proofs(profile: &Profile, change: impl Fn(Scenario) -> Scenario) -> (f64, f64) {
    let mix = mix("porep_c2=100");
    let scenario = change(Scenario { record: true, ..Scenario::new(profile, &mix, Bytes::gib(1)) });
    let outcome = scenario.run().unwrap();
    assert!(in_flight(&outcome) >= 12, "{}", in_flight(&outcome));
    (gib(outcome.peak), outcome.kinds[0].seconds_a_proof)
}

#[test]
fn twelve_partitions_in_flight_and_two_slots_of_the_supraseal_core_fit_into_84_gib() {
    let profile = published();
    let (peak, seconds) =
        hundred_proofs(&profile, |scenario| Scenario { memory: Bytes::gib(84), ..scenario });
    assert!(peak <= 84.0 && seconds <= 40.0, "{peak} GiB, {seconds} s");
}

#[test]
fn one_slot_or_a_core_that_evaluates_from_the_compact_witness_fits_into_64_gib() {
    let profile = published();
    let memory = Bytes::gib(64);
    let (peak, seconds) =
        hundred_proofs(&profile, |scenario| Scenario { core: Core::Compact, memory, ..scenario });
    assert!(peak <= 64.0 && seconds <= 40.0, "{peak} GiB, {seconds} s");
    // One slot keeps its turn until the proof is finished: 7 s a partition instead of 4.
    let (peak, seconds) = hundred_proofs(&profile, |scenario| Scenario { slots: 1, memory, ..scenario });
    assert!(peak <= 64.0 && seconds <= 75.0, "{peak} GiB, {seconds} s");
}

#[test]
fn a_machine_of_96_gib_takes_40_seconds_a_proof_at_most() {
    // Less what the system and the library's margin take.
    let profile = published();
    let (peak, seconds) =
        hundred_proofs(&profile, |scenario| Scenario { memory: Bytes::gib(90), ..scenario });
    assert!(peak <= 90.0 && seconds <= 40.0, "{peak} GiB, {seconds} s");
}

#[test]
fn two_devices_with_two_slots_each_are_no_slower_than_with_one_each() {
    let (profile, mix) = (published(), mix("porep_c2=40"));
    for memory in [84, 88, 92, 100, 120] {
        let one = Scenario {
            devices: 2,
            workers: 24,
            slots: 1,
            ..Scenario::new(&profile, &mix, Bytes::gib(memory))
        };
        let two = Scenario { slots: 2, ..one.clone() };
        let (one, two) = (one.run().unwrap().seconds, two.run().unwrap().seconds);
        assert!(two <= one * 1.02, "{memory} GiB: {two} s with two slots, {one} s with one");
    }
}

#[test]
fn more_memory_or_devices_do_not_slow_sealing() {
    let (profile, mix) = (published(), mix("porep_c2=40"));
    let seconds = |memory, devices| {
        let scenario = Scenario { devices, workers: 48, ..Scenario::new(&profile, &mix, Bytes::gib(memory)) };
        scenario.run().unwrap().seconds
    };
    for (less, more) in
        [((140, 3), (150, 3)), ((150, 3), (160, 3)), ((150, 2), (150, 3)), ((150, 3), (150, 6))]
    {
        let (slow, fast) = (seconds(less.0, less.1), seconds(more.0, more.1));
        assert!(fast <= slow * 1.02, "{more:?}: {fast} s, {less:?}: {slow} s");
    }
}

#[test]
fn a_wait_for_memory_is_seen() {
    let (profile, mix) = (published(), mix("porep_c2=20"));
    let share = |memory, devices| {
        let scenario = Scenario { devices, workers: 24, ..Scenario::new(&profile, &mix, Bytes::gib(memory)) };
        scenario.run().unwrap().busy.memory
    };
    assert!(share(70, 2) > 0.5, "{}", share(70, 2));
    assert!(share(256, 2) < 0.01, "{}", share(256, 2));
}

#[test]
fn a_run_of_many_years_ends_or_is_refused() {
    let profile = published();
    for text in ["winning_post=470@10h", "window_post=17520@30min"] {
        let mix = mix(text);
        let outcome = Scenario::new(&profile, &mix, Bytes::gib(128)).run().unwrap();
        assert_eq!(outcome.kinds[0].proofs, mix.requests());
    }
    let (slow, mix) = (Profile { disk: Bytes(1), ..profile.clone() }, mix("porep_c2=1"));
    let error = Scenario::new(&slow, &mix, Bytes::gib(128)).run().unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.to_string().contains("takes longer than"), "{error}");
}

#[test]
fn a_request_larger_than_the_intake_is_refused_and_not_waited_for() {
    let (mut profile, mix) = (published(), mix("porep_c2=1"));
    for circuit in profile.circuits.values_mut() {
        circuit.intake = Bytes::gib(2);
    }
    let error = Scenario::new(&profile, &mix, Bytes::gib(128)).run().unwrap_err();
    assert_eq!(error.code(), Code::Busy);
    assert!(error.to_string().contains("unfinished requests would hold"), "{error}");
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
    let (profile, mix) = (published(), mix("porep_c2=60,winning_post=40@45s,window_post=4@480s"));
    for (memory, seed) in [(128, 1), (150, 1), (192, 1), (192, 2), (192, 3)] {
        let scenario = Scenario { seed, ..Scenario::new(&profile, &mix, Bytes::gib(memory)) };
        check_deadlines(&scenario.run().unwrap());
    }
    // PoRep pays little for it.
    let outcome = Scenario::new(&profile, &mix, Bytes::gib(192)).run().unwrap();
    let alone = self::mix("porep_c2=60");
    let undisturbed = Scenario::new(&profile, &alone, Bytes::gib(192)).run().unwrap();
    assert!(outcome.kinds[0].an_hour >= 0.85 * undisturbed.kinds[0].an_hour, "{outcome:?}");
}

fn check_deadlines(outcome: &Outcome) {
    const EPOCH: f64 = 30.0;
    const CHALLENGE_WINDOW: f64 = 30.0 * 60.0;
    for (kind, deadline) in [("winning_post", EPOCH), ("window_post", CHALLENGE_WINDOW)] {
        let post = outcome.kinds.iter().find(|of| of.kind.name() == kind).unwrap();
        assert!(post.latency[2] <= deadline, "{post:?}");
    }
}
