use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use ff::Field;
use group::{prime::PrimeCurveAffine, Curve, Group};
use proptest::prelude::*;

use super::{backend, scalar};
use crate::prove::cpu::limbs::limbs_mut;
use crate::srs::Arithmetic;

fn base_factor() -> impl Strategy<Value = Scalar> {
    prop_oneof![Just(Scalar::ZERO), scalar()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn g1_multiples_are_those_of_blstrs(
        factor in base_factor(),
        scalars in prop::collection::vec(scalar(), 0..80),
        threads in 1_usize..4,
    ) {
        let base = (G1Projective::generator() * factor).to_affine();
        let mut out = vec![G1Affine::generator(); scalars.len()];
        backend(threads).fixed_base_g1(&base, &scalars, &mut out).unwrap();
        for (got, scalar) in out.iter().zip(&scalars) {
            prop_assert_eq!(*got, (base * scalar).to_affine());
        }
    }

    #[test]
    fn g2_multiples_are_those_of_blstrs(
        factor in base_factor(),
        scalars in prop::collection::vec(scalar(), 0..40),
        threads in 1_usize..4,
    ) {
        let base = (G2Projective::generator() * factor).to_affine();
        let mut out = vec![G2Affine::generator(); scalars.len()];
        backend(threads).fixed_base_g2(&base, &scalars, &mut out).unwrap();
        for (got, scalar) in out.iter().zip(&scalars) {
            prop_assert_eq!(*got, (base * scalar).to_affine());
        }
    }
}

#[test]
fn several_batches_and_larger_tables() {
    let scalars: Vec<Scalar> =
        (0..3000_u64).map(|i| Scalar::from(i).square() * Scalar::from(u64::MAX - i).cube()).collect();
    let base = G1Affine::generator();
    let mut out = vec![G1Affine::identity(); scalars.len()];
    backend(2).fixed_base_g1(&base, &scalars, &mut out).unwrap();
    for at in [0, 1, 2, 1023, 1024, 2047, 2999] {
        assert_eq!(out[at], (base * scalars[at]).to_affine());
    }
}

#[test]
fn lengths_that_differ_are_refused() {
    let mut out = [G1Affine::identity(); 2];
    let error = backend(1).fixed_base_g1(&G1Affine::generator(), &[Scalar::ONE], &mut out).unwrap_err();
    assert_eq!(error.code(), crate::Code::Backend);
}

#[test]
fn invalid_points_are_found() {
    let backend = backend(2);
    let mut points = vec![G1Affine::generator(); 700];
    points[3] = G1Affine::identity();
    assert_eq!(backend.first_bad_g1(&points).unwrap(), None);
    points[600] = outside_subgroup();
    assert_eq!(backend.first_bad_g1(&points).unwrap(), Some(600));
    points[400] = off_curve();
    assert_eq!(backend.first_bad_g1(&points).unwrap(), Some(400));
    assert_eq!(backend.first_bad_g1(&[]).unwrap(), None);
    assert_eq!(backend.first_bad_g2(&[G2Affine::identity(), G2Affine::generator()]).unwrap(), None);
}

/// On the curve, but not of order r: x = 4 has a root for x³ + 4 and the cofactor is not 1.
fn outside_subgroup() -> G1Affine {
    (0..64_u8)
        .find_map(|x| {
            let mut bytes = [0; 48];
            bytes[0] = 0x80;
            bytes[47] = x;
            let point: Option<G1Affine> = G1Affine::from_compressed_unchecked(&bytes).into();
            point.filter(|point| !bool::from(point.is_torsion_free()))
        })
        .unwrap()
}

fn off_curve() -> G1Affine {
    let mut point = [G1Affine::generator()];
    limbs_mut(&mut point).swap(0, 6);
    point[0]
}
