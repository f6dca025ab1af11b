use blstrs::{G1Affine, G1Projective, G2Projective, Scalar};
use ff::Field;
use group::{prime::PrimeCurveAffine, Curve, Group};
use proptest::prelude::*;

use super::backend;
use crate::cancel::Cancel;
use crate::prove::cpu::multiply::Selected;
use crate::srs::Arithmetic;

/// Points that are often equal, opposite or infinite, as their multiples of the generator.
fn factor(i: usize) -> Scalar {
    match i % 7 {
        0 => Scalar::ZERO,
        1 | 2 => -Scalar::from(5),
        3 => Scalar::from(5),
        _ => Scalar::from(i as u64),
    }
}

fn points(count: usize) -> Vec<G1Affine> {
    let factors: Vec<_> = (0..count).map(factor).collect();
    let mut points = vec![G1Affine::identity(); count];
    backend(1).fixed_base_g1(&G1Affine::generator(), &factors, &mut points).unwrap();
    points
}

fn is_set(bits: &[u64], at: usize) -> bool {
    bits[at / 64] >> (at % 64) & 1 == 1
}

fn words() -> impl Strategy<Value = Vec<u64>> {
    let word = prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), any::<u64>().prop_map(|w| w & w >> 3)];
    prop::collection::vec(word, 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn g1_sum_is_that_of_the_selected(bits in words(), threads in 1_usize..4) {
        let points = points(bits.len() * 64);
        let sum = backend(threads).bitmap_sum_g1(&points, &bits, &Cancel::new()).unwrap();
        let expected: Scalar = (0..points.len()).filter(|i| is_set(&bits, *i)).map(factor).sum();
        prop_assert_eq!(sum, G1Projective::generator() * expected);
    }

    #[test]
    fn density_ranks_the_points(bits in words(), offset in 0_usize..3, threads in 1_usize..3) {
        let density: Vec<u64> = bits.iter().map(|w| w.rotate_left(9) | w & 0x0f0f).collect();
        let dense: usize = density.iter().map(|w| w.count_ones() as usize).sum();
        let points = points(offset + dense);
        let from = Selected { points: &points, offset, selected: &bits, density: &density };
        let sum = backend(threads).sum_all_selected(from, &Cancel::new()).unwrap();
        let expected: Scalar = (0..bits.len() * 64)
            .filter(|i| is_set(&density, *i))
            .enumerate()
            .filter(|(_, i)| is_set(&bits, *i))
            .map(|(rank, _)| factor(offset + rank))
            .sum();
        prop_assert_eq!(sum, G1Projective::generator() * expected);
    }

    #[test]
    fn g2_sum_is_that_of_the_selected(bits in prop::collection::vec(any::<u64>(), 0..4)) {
        let points: Vec<_> = (0..bits.len() * 64)
            .map(|i| (G2Projective::generator() * factor(i)).to_affine())
            .collect();
        let sum = backend(2).bitmap_sum_g2(&points, &bits, &Cancel::new()).unwrap();
        let expected: Scalar = (0..points.len()).filter(|i| is_set(&bits, *i)).map(factor).sum();
        prop_assert_eq!(sum, G2Projective::generator() * expected);
    }
}

#[test]
fn points_that_do_not_exist_are_refused() {
    let error = backend(1).bitmap_sum_g1(&points(64), &[0, 1], &Cancel::new()).unwrap_err();
    assert!(error.message().contains("do not exist"), "{error}");
}
