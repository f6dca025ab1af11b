//! What holds for every plan.

use proptest::prelude::*;

use super::*;
use crate::kind::{CircuitId, ProofKind};
use crate::units::Bytes;

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let entry = |kind: ProofKind| {
        (0usize..6, prop::option::of(1.0f64..400.0)).prop_map(move |(count, every)| Entry {
            circuit: CircuitId::new(kind, 32 << 30).unwrap(),
            count,
            every,
        })
    };
    ProofKind::ALL.map(entry).to_vec().prop_map(|mut entries| {
        entries.retain(|entry| entry.count > 0);
        entries
    })
}

const HELD: Pipeline = Pipeline { permit: Permit::UntilTaken, channel: Channel::Workers, frees_early: true };

fn pipelines() -> impl Strategy<Value = Pipeline> {
    let permit = prop_oneof![
        Just(Permit::UntilSynthesised),
        Just(Permit::UntilTaken),
        (20u64..400).prop_map(|gib| Permit::Bytes(Bytes::gib(gib))),
    ];
    let channel = prop_oneof![Just(Channel::One), Just(Channel::Workers)];
    (permit, channel, any::<bool>()).prop_map(|(permit, channel, frees_early)| Pipeline {
        permit,
        channel,
        frees_early,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_request_is_answered_within_the_memory(
        entries in entries(),
        memory in 1u64..260,
        (workers, devices, slots, cores) in (1usize..20, 1usize..4, 1usize..4, 1usize..128),
        (queued, seed, compact) in (1usize..8, any::<u64>(), any::<bool>()),
    ) {
        prop_assume!(!entries.is_empty());
        let mix = Mix { entries, queued };
        let profile = Profile::find(published::PROFILE).unwrap();
        let core = if compact { Core::Compact } else { Core::Supraseal };
        let scenario = Scenario {
            workers, devices, slots, cores, seed, core,
            ..Scenario::new(&profile, &mix, Bytes::gib(memory))
        };
        // Refused, where a circuit cannot fit; else everything is proved.
        if let Ok(outcome) = scenario.run() {
            prop_assert!(outcome.peak <= scenario.memory);
            prop_assert!(outcome.held <= outcome.peak);
            prop_assert_eq!(outcome.peak_classes.iter().map(|class| class.0).sum::<u64>(), outcome.peak.0);
            for (kind, entry) in outcome.kinds.iter().zip(&mix.entries) {
                prop_assert_eq!(kind.proofs, entry.count);
                prop_assert!(kind.latency.is_sorted() && kind.latency[2] <= outcome.seconds);
            }
            let Shares { workers, cores, devices, slots, disk, memory } = outcome.busy;
            for share in [workers, cores, devices, slots, disk, memory] {
                prop_assert!((0.0..=1.000001).contains(&share), "{:?}", outcome.busy);
            }
            prop_assert_eq!(&outcome, &scenario.run().unwrap());
        } else {
            let error = scenario.run().unwrap_err();
            prop_assert_eq!(error.code(), crate::Code::BudgetExceeded, "{}", error);
        }
    }

    #[test]
    fn the_prior_art_proves_everything_or_is_killed(
        pipeline in pipelines(),
        (proofs, workers, devices, slots) in (1usize..6, 1usize..20, 1usize..4, 1usize..4),
        (queued, seed) in (1usize..8, any::<u64>()),
    ) {
        let circuit = CircuitId::new(ProofKind::PorepC2, 32 << 30).unwrap();
        let mix = Mix { entries: vec![Entry { circuit, count: proofs, every: None }], queued };
        let profile = Profile::find(published::PROFILE).unwrap();
        let scenario = Scenario {
            policy: Policy::Prior(pipeline), workers, devices, slots, seed,
            ..Scenario::new(&profile, &mix, Bytes::gib(400))
        };
        let outcome = scenario.run().unwrap();
        match outcome.killed {
            // Bytes of each class are rounded down.
            Some(killed) => prop_assert!(killed.held > scenario.memory && outcome.peak.0 + 8 >= killed.held.0),
            None => prop_assert_eq!(outcome.kinds[0].proofs, proofs),
        }
        if let Permit::Bytes(_) | Permit::UntilTaken = pipeline.permit {
            prop_assert!(outcome.waiting <= 2 * workers);
        }
    }

    #[test]
    fn mixes_of_any_text_are_read_or_refused(text in "[a-z_0-9=,@.smhin -]{0,60}") {
        if let Ok(mix) = Mix::parse(&text, 32 << 30, 1) {
            prop_assert!(mix.requests() > 0);
        }
    }

    #[test]
    fn profiles_with_a_changed_byte_are_read_or_refused(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut bytes = include_bytes!("profiles/rtx5070ti-96c.toml").to_vec();
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Ok(text) = String::from_utf8(bytes) {
            if let Ok(profile) = Profile::parse(&text) {
                let mix = Mix::parse("porep_c2=2", 32 << 30, 5).unwrap();
                for policy in [Policy::Forebay, Policy::Prior(HELD)] {
                    let scenario = Scenario { policy, ..Scenario::new(&profile, &mix, Bytes::gib(256)) };
                    if let Err(error) = scenario.run() {
                        prop_assert_ne!(error.code(), crate::Code::Internal, "{}", error);
                    }
                }
            }
        }
    }
}
