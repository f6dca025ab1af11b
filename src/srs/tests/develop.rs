//! The development setup against bellperson's generator.

use std::fs;
use std::path::Path;

use bellpepper_core::{Circuit, SynthesisError};
use bellperson::groth16::{generate_random_parameters, Parameters, VerifyingKey};
use blstrs::{Bls12, Scalar};
use ff::Field;
use group::Group;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::super::develop::{develop, Developed, Target, ToxicWaste};
use super::super::{Counts, DevelopmentMark, Phase, Query, Work};
use super::{circuit, with_work, work, Free, Plain, CIRCUIT, STEM};
use crate::cancel::Cancel;
use crate::error::{Code, Result};

fn make<C>(folder: &Path, circuit: C, seed: u64) -> Result<Developed>
where
    C: Circuit<Scalar> + Copy,
{
    let toxic = ToxicWaste::random(&mut ChaCha8Rng::seed_from_u64(seed));
    work(|w| develop(&Target { folder, stem: STEM, circuit: CIRCUIT }, || circuit, &toxic, w))
}

fn bellperson<C>(circuit: C, seed: u64) -> std::result::Result<Parameters<Bls12>, SynthesisError>
where
    C: Circuit<Scalar>,
{
    generate_random_parameters::<Bls12, _, _>(circuit, &mut ChaCha8Rng::seed_from_u64(seed))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn same_secrets_give_the_same_bytes_as_bellperson(seed: u64, variables in 0usize..90) {
        let dir = tempfile::tempdir().unwrap();
        let circuit = super::circuit(seed, variables);
        let made = make(dir.path(), circuit, seed ^ 1).unwrap();
        let expected = bellperson(circuit, seed ^ 1).unwrap();
        let mut bytes = Vec::new();
        expected.write(&mut bytes).unwrap();
        let written = fs::read(&made.params).unwrap();
        prop_assert!(written == bytes);
        prop_assert_eq!(made.counts, Counts::of_shape(&made.shape));
        prop_assert_eq!(made.counts.params_len(), Some(written.len() as u64));
        prop_assert!(Parameters::<Bls12>::read(&written[..], true).unwrap() == expected);
        let vk = VerifyingKey::<Bls12>::read(&fs::read(&made.vk).unwrap()[..]).unwrap();
        prop_assert!(vk == expected.vk);
    }
}

#[test]
fn a_free_variable_is_refused_as_bellperson_refuses_it() {
    let dir = tempfile::tempdir().unwrap();
    let circuit = Free(super::circuit(4, 20));
    let e = make(dir.path(), circuit, 1).unwrap_err();
    assert_eq!(e.code(), Code::InvalidArgument);
    assert!(e.message().contains("private variable"), "{e}");
    assert!(matches!(bellperson(circuit, 1), Err(SynthesisError::UnconstrainedVariable)));
    assert_eq!(super::Fixture::names(dir.path()), [""; 0]);
}

#[test]
fn every_phase_is_reported_and_the_key_is_marked() {
    let dir = tempfile::tempdir().unwrap();
    let toxic = ToxicWaste::random(&mut ChaCha8Rng::seed_from_u64(1));
    let target = Target { folder: dir.path(), stem: STEM, circuit: CIRCUIT };
    let (made, phases) = with_work(|w| develop(&target, || circuit(1, 40), &toxic, w));
    let made = made.unwrap();
    let expected: Vec<_> = std::iter::once(Phase::Synthesis).chain(Query::ALL.map(Phase::Query)).collect();
    assert_eq!(phases, expected);
    let mark = DevelopmentMark::read(&made.params).unwrap().unwrap();
    assert_eq!((mark.circuit.as_str(), mark.forebay.as_str()), ("winning-2k", env!("CARGO_PKG_VERSION")));
    let digest = |path| blake2b_simd::blake2b(&fs::read(path).unwrap()).to_hex().to_string();
    assert_eq!((mark.params, mark.vk), (digest(&made.params), digest(&made.vk)));
    let names = ["development", "params", "params.checked", "vk"].map(|e| format!("{STEM}.{e}"));
    assert_eq!(super::Fixture::names(dir.path()), names);
}

#[test]
fn only_development_keys_are_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let first = fs::read(make(dir.path(), circuit(1, 10), 1).unwrap().params).unwrap();
    let made = make(dir.path(), circuit(1, 10), 2).unwrap();
    let second = fs::read(&made.params).unwrap();
    assert_ne!(first, second);
    fs::remove_file(DevelopmentMark::path(&made.params)).unwrap();
    let e = make(dir.path(), circuit(1, 10), 3).unwrap_err();
    assert_eq!(e.code(), Code::InvalidArgument);
    assert!(e.message().contains("not marked"), "{e}");
    assert_eq!(fs::read(&made.params).unwrap(), second);
}

#[test]
fn useless_secrets_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let good = ToxicWaste::random(&mut ChaCha8Rng::seed_from_u64(1));
    let root = Scalar::ONE;
    for toxic in [
        ToxicWaste { gamma: Scalar::ZERO, ..good },
        ToxicWaste { delta: Scalar::ZERO, ..good },
        ToxicWaste { g1: blstrs::G1Projective::identity(), ..good },
        ToxicWaste { tau: root, ..good },
    ] {
        let target = Target { folder: dir.path(), stem: STEM, circuit: CIRCUIT };
        let e = work(|w| develop(&target, || circuit(1, 4), &toxic, w)).unwrap_err();
        assert_eq!(e.code(), Code::InvalidArgument);
    }
    assert_eq!(super::Fixture::names(dir.path()), [""; 0]);
}

#[test]
fn a_circuit_that_changes_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let toxic = ToxicWaste::random(&mut ChaCha8Rng::seed_from_u64(1));
    let target = Target { folder: dir.path(), stem: STEM, circuit: CIRCUIT };
    for (first, then) in [(10, 40), (40, 10), (40, 39)] {
        let calls = std::cell::Cell::new(0);
        let changing = || {
            calls.set(calls.get() + 1);
            circuit(7, if calls.get() == 1 { first } else { then })
        };
        let e = work(|w| develop(&target, changing, &toxic, w)).unwrap_err();
        assert_eq!(e.code(), Code::InvalidArgument);
        assert!(e.message().contains("not the same"), "{e}");
    }
}

#[test]
fn a_cancelled_setup_leaves_nothing() {
    let toxic = ToxicWaste::random(&mut ChaCha8Rng::seed_from_u64(1));
    for stop in [Phase::Synthesis, Phase::Query(Query::H), Phase::Query(Query::BG2)] {
        let dir = tempfile::tempdir().unwrap();
        let target = Target { folder: dir.path(), stem: STEM, circuit: CIRCUIT };
        let cancel = Cancel::new();
        let progress = |p: super::Progress| {
            if p.phase == stop {
                cancel.cancel();
            }
        };
        let w = Work { arithmetic: &Plain, progress: &progress, cancel: &cancel };
        let e = develop(&target, || circuit(1, 40), &toxic, &w).unwrap_err();
        assert_eq!(e.code(), Code::Cancelled);
        assert_eq!(super::Fixture::names(dir.path()), [""; 0]);
    }
}
