//! The group arithmetic that parameter work needs.

use blstrs::{G1Affine, G2Affine, Scalar};

use crate::error::Result;

/// Group arithmetic that parameter work needs; implemented by the prover core.
pub trait Arithmetic: Sync {
    /// out[i] = scalars[i]·base, affine.
    fn fixed_base_g1(&self, base: &G1Affine, scalars: &[Scalar], out: &mut [G1Affine]) -> Result<()>;
    /// out[i] = scalars[i]·base, affine.
    fn fixed_base_g2(&self, base: &G2Affine, scalars: &[Scalar], out: &mut [G2Affine]) -> Result<()>;
    /// Index of the first point that is not on the curve or not in the prime-order subgroup.
    fn first_bad_g1(&self, points: &[G1Affine]) -> Result<Option<usize>>;
    /// Index of the first point that is not on the curve or not in the prime-order subgroup.
    fn first_bad_g2(&self, points: &[G2Affine]) -> Result<Option<usize>>;
}
