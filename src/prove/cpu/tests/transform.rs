use blstrs::Scalar;
use ff::{Field, PrimeField};
use proptest::prelude::*;

use super::{backend, random_scalar, scalar};
use crate::cancel::Cancel;

/// The root of the domain of 2^log elements.
fn omega(log: u32) -> Scalar {
    (log..Scalar::S).fold(Scalar::ROOT_OF_UNITY, |root, _| root.square())
}

fn evaluate(coefficients: &[Scalar], at: Scalar) -> Scalar {
    coefficients.iter().rev().fold(Scalar::ZERO, |sum, coefficient| sum * at + coefficient)
}

fn shift(coset: bool) -> Scalar {
    if coset {
        Scalar::MULTIPLICATIVE_GENERATOR
    } else {
        Scalar::ONE
    }
}

/// Cheap values that differ.
fn sequence(len: usize, seed: u8) -> Vec<Scalar> {
    let step = random_scalar([seed; 32]);
    std::iter::successors(Some(step), |value| Some(*value * step + Scalar::ONE)).take(len).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn small_transforms_are_the_naive_one(
        (log, values) in (0_u32..8).prop_flat_map(|log| (Just(log), prop::collection::vec(scalar(), 1 << log))),
        coset: bool,
        threads in 1_usize..3,
        pass_levels in 1_u32..5,
    ) {
        let backend = backend(threads);
        let naive: Vec<_> =
            (0..1_u64 << log).map(|i| evaluate(&values, shift(coset) * omega(log).pow([i]))).collect();
        let mut got = values.clone();
        backend.ntt_in_passes(&mut got, false, coset, pass_levels, &Cancel::new()).unwrap();
        prop_assert_eq!(&got, &naive);
        backend.ntt_in_passes(&mut got, true, coset, pass_levels, &Cancel::new()).unwrap();
        prop_assert_eq!(&got, &values);
    }
}

#[test]
fn larger_transforms_agree_at_points_and_come_back() {
    for log in [9, 10, 11, 12, 14] {
        let backend = backend(2);
        let values = sequence(1 << log, log as u8);
        for coset in [false, true] {
            let mut got = values.clone();
            backend.ntt(&mut got, false, coset, &Cancel::new()).unwrap();
            for i in [0, 1, 2, 3, (1 << log) / 2 + 1, (1 << log) - 1] {
                assert_eq!(got[i], evaluate(&values, shift(coset) * omega(log).pow([i as u64])), "2^{log}");
            }
            backend.ntt(&mut got, true, coset, &Cancel::new()).unwrap();
            assert_eq!(got, values, "2^{log}");
        }
    }
}

/// h·(xⁿ − 1) = A·B − C at a random point, with A, B and C interpolated by the same transforms.
#[test]
fn quotient_divides() {
    for log in [0, 1, 2, 5, 11, 12] {
        let n = 1_usize << log;
        let backend = backend(2);
        let (a, b) = (sequence(n, 1), sequence(n, 2));
        let c: Vec<_> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
        let at = random_scalar([9; 32]);
        let value = |evaluations: &[Scalar]| {
            let mut coefficients = evaluations.to_vec();
            backend.ntt(&mut coefficients, true, false, &Cancel::new()).unwrap();
            evaluate(&coefficients, at)
        };
        let (mut h, mut free) = (a.clone(), b.clone());
        let refill = |out: &mut [Scalar]| {
            out.copy_from_slice(&c);
            Ok(())
        };
        backend.quotient(&mut h, &mut free, refill, &Cancel::new()).unwrap();
        // The coefficients are plain integers; a product with R² brings them to Montgomery form.
        let h: Vec<_> = h.iter().map(|plain| from_plain(*plain)).collect();
        assert_eq!(h[n - 1], Scalar::ZERO);
        let divisor = at.pow([n as u64]) - Scalar::ONE;
        assert_eq!(evaluate(&h, at) * divisor, value(&a) * value(&b) - value(&c), "2^{log}");
    }
}

fn from_plain(plain: Scalar) -> Scalar {
    let limbs = crate::prove::cpu::limbs::limbs(std::slice::from_ref(&plain)).to_vec();
    let mut bytes = [0; 32];
    for (out, limb) in bytes.chunks_mut(8).zip(limbs) {
        out.copy_from_slice(&limb.to_le_bytes());
    }
    Scalar::from_repr(bytes).unwrap()
}

#[test]
fn lengths_that_are_no_power_of_two_are_refused() {
    let error = backend(1).ntt(&mut [Scalar::ONE; 3], false, false, &Cancel::new()).unwrap_err();
    assert!(error.message().contains("power of two"), "{error}");
}
