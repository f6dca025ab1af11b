use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use ff::Field;
use group::{prime::PrimeCurveAffine, Curve, Group};
use proptest::prelude::*;

use super::{backend, random_scalar, scalar};
use crate::cancel::Cancel;
use crate::prove::cpu::crew::Crew;
use crate::prove::cpu::multiply::{Multiply, Terms};

/// Small multiples of the generator: equal, opposite and infinite points meet all the time.
fn factors(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Scalar>> {
    let mixed = prop::collection::vec(
        prop_oneof![
            (-3_i64..4).prop_map(|k| if k < 0 { -Scalar::from(-k as u64) } else { Scalar::from(k as u64) }),
            scalar(),
        ],
        count.clone(),
    );
    let progression = (scalar(), scalar(), count.clone()).prop_map(|(start, step, count)| {
        (0..count as u64).map(|i| start + step * Scalar::from(i)).collect::<Vec<_>>()
    });
    let equal = (scalar(), count).prop_map(|(factor, count)| vec![factor; count]);
    prop_oneof![mixed, progression, equal]
}

/// As many scalars as wanted: all kinds, or all equal.
fn scalars(count: usize) -> impl Strategy<Value = Vec<Scalar>> {
    prop_oneof![prop::collection::vec(scalar(), count), scalar().prop_map(move |value| vec![value; count]),]
}

fn terms(count: std::ops::Range<usize>) -> impl Strategy<Value = (Vec<Scalar>, Vec<Scalar>)> {
    factors(count).prop_flat_map(|factors| {
        let count = factors.len();
        (Just(factors), scalars(count))
    })
}

/// Σ scalarᵢ·factorᵢ, so that the sum over multiples of the generator needs one multiplication.
fn combined(factors: &[Scalar], scalars: &[Scalar]) -> Scalar {
    factors.iter().zip(scalars).map(|(factor, scalar)| factor * scalar).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn g1_sum_is_right((factors, scalars) in terms(0..300), threads in 1_usize..4) {
        let points: Vec<_> = factors.iter().map(|k| (G1Projective::generator() * k).to_affine()).collect();
        let sum = backend(threads).msm_g1(&points, &scalars, &Cancel::new()).unwrap();
        prop_assert_eq!(sum, G1Projective::generator() * combined(&factors, &scalars));
    }

    #[test]
    fn g2_sum_is_right((factors, scalars) in terms(0..100), threads in 1_usize..4) {
        let points: Vec<_> = factors.iter().map(|k| (G2Projective::generator() * k).to_affine()).collect();
        let sum = backend(threads).msm_g2(&points, &scalars, &Cancel::new()).unwrap();
        prop_assert_eq!(sum, G2Projective::generator() * combined(&factors, &scalars));
    }
}

/// Buckets that are cut over many chunks, on several threads.
#[test]
fn heavy_buckets_and_wide_windows() {
    let count = 20_000;
    let backend = backend(3);
    let points: Vec<G1Affine> = {
        let factors: Vec<Scalar> = (0..count as u64).map(|i| Scalar::from(i % 977)).collect();
        let mut points = vec![G1Affine::identity(); count];
        crate::srs::Arithmetic::fixed_base_g1(&backend, &G1Affine::generator(), &factors, &mut points)
            .unwrap();
        points
    };
    let random = |i: usize| random_scalar([(i % 251) as u8; 32]) * Scalar::from(i as u64 + 1);
    let kinds: [&dyn Fn(usize) -> Scalar; 5] =
        [&|_| Scalar::ONE, &|_| -Scalar::ONE, &|_| random(7), &random, &|i| {
            if i % 3 == 0 {
                random(i)
            } else {
                Scalar::from((i % 2) as u64)
            }
        }];
    for kind in kinds {
        let scalars: Vec<Scalar> = (0..count).map(kind).collect();
        let expected: Scalar =
            scalars.iter().enumerate().map(|(i, s)| s * Scalar::from(i as u64 % 977)).sum();
        let sum = backend.msm_g1(&points, &scalars, &Cancel::new()).unwrap();
        assert_eq!(sum, G1Projective::generator() * expected);
    }
}

#[test]
fn too_few_points_are_refused() {
    let error = backend(1).msm_g2(&[G2Affine::generator()], &[Scalar::ONE; 2], &Cancel::new()).unwrap_err();
    assert_eq!(error.code(), crate::Code::Backend);
    assert!(error.message().contains("fewer points"), "{error}");
}

/// An exception inside a parallel loop comes back as an error, and the next call works.
#[test]
fn a_failure_inside_a_loop_is_an_error() {
    for threads in [1, 2] {
        let backend = backend(threads);
        let crew = backend.crew(&Cancel::new());
        let mut scratch = backend.scratch(G1Affine::scratch(backend.kernels, 2, threads)).unwrap();
        let mut multiply = |crew: &Crew, indices: &[u32]| {
            let terms = Terms {
                points: &[G1Affine::generator()],
                indices,
                scalars: &mut [Scalar::ONE; 2],
                montgomery: true,
            };
            G1Affine::multiply(crew, terms, scratch.as_mut_slice())
        };
        let error = multiply(&crew, &[0, 1]).unwrap_err();
        assert_eq!(error.code(), crate::Code::Backend);
        assert!(error.message().contains("no such point"), "{error}");
        let crew = backend.crew(&Cancel::new());
        assert_eq!(multiply(&crew, &[0, 0]).unwrap(), G1Projective::generator().double());
    }
}

#[test]
fn a_cancelled_job_stops() {
    let cancel = Cancel::new();
    cancel.cancel();
    for threads in [1, 2] {
        let error = backend(threads).msm_g1(&[G1Affine::generator()], &[Scalar::ONE], &cancel).unwrap_err();
        assert_eq!(error.code(), crate::Code::Cancelled);
    }
}
