//! Inputs for ours and the peers: the same in every run.

use blstrs::{G1Affine, G2Affine, Scalar};
use ff::Field;
use forebay::srs::Arithmetic;
use group::prime::PrimeCurveAffine;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::world::World;
use crate::Failure;

/// Random scalars.
pub fn scalars(count: usize) -> Vec<Scalar> {
    let mut rng = StdRng::seed_from_u64(1);
    (0..count).map(|_| Scalar::random(&mut rng)).collect()
}

/// Scalars as a witness has them: of a hundred, 98 are 0 or 1.
pub fn witness_like(count: usize) -> Vec<Scalar> {
    let mut rng = StdRng::seed_from_u64(2);
    let mut value = || match rng.gen_range(0..100) {
        0..=48 => Scalar::ZERO,
        49..=97 => Scalar::ONE,
        _ => Scalar::random(&mut rng),
    };
    (0..count).map(|_| value()).collect()
}

/// Random points of G1, packed.
pub fn points_g1(world: &World, count: usize) -> Result<Vec<G1Affine>, Failure> {
    let mut points = vec![G1Affine::identity(); count];
    world.core.fixed_base_g1(&G1Affine::generator(), &factors(count), &mut points)?;
    Ok(points)
}

/// Random points of G2, packed.
pub fn points_g2(world: &World, count: usize) -> Result<Vec<G2Affine>, Failure> {
    let mut points = vec![G2Affine::identity(); count];
    world.core.fixed_base_g2(&G2Affine::generator(), &factors(count), &mut points)?;
    Ok(points)
}

fn factors(count: usize) -> Vec<Scalar> {
    let mut rng = StdRng::seed_from_u64(3);
    (0..count).map(|_| Scalar::random(&mut rng)).collect()
}

/// A scalar's limbs, in Montgomery form.
pub fn scalar_limbs(scalar: &Scalar) -> [u64; 4] {
    blst::blst_fr::from(*scalar).l
}
