//! G1 and G2 for the measurements: ours and every peer's way to multiply in them.

use ark_ec::{AffineRepr, CurveGroup, VariableBaseMSM};
use ark_ff::BigInt;
use blst::{blst_fp, blst_fp2, blst_p1_affine, blst_p2_affine, MultiPoint};
use blstrs::{G1Affine, G2Affine, Scalar};
use forebay::cancel::Cancel;
use forebay::prove::cpu::CpuBackend;
use group::prime::PrimeCurveAffine;
use group::Curve;

use crate::peers::blst as serial;
use crate::world::World;
use crate::{inputs, Failure};

/// A point as the limbs of its affine coordinates, in Montgomery form.
pub type Limbs = Vec<u64>;

/// Bits of a scalar.
pub const SCALAR_BITS: usize = 255;

/// A group of BLS12-381 in the forms of ours and of the peers.
pub trait Group: PrimeCurveAffine<Scalar = Scalar> {
    /// Its name in rows, and in requests to gnark.
    const NAME: &'static str;
    /// blst's affine points.
    type Blst: Copy + Send + Sync;
    /// arkworks' affine points.
    type Ark: AffineRepr<ScalarField = ark_bls12_381::Fr>;

    /// Random points.
    fn points(world: &World, count: usize) -> Result<Vec<Self>, Failure>;
    /// Σ scalarᵢ·pointᵢ by ours.
    fn multiply(core: &CpuBackend, points: &[Self], scalars: &[Scalar]) -> Result<Self::Curve, Failure>;
    /// blst's form of a point.
    fn to_blst(&self) -> Self::Blst;
    /// Σ by blst on one thread; scalars as bytes, least significant first.
    fn blst_serial(points: &[Self::Blst], scalars: &[u8]) -> Limbs;
    /// Σ by blst on its own pool.
    fn blst_pool(points: &[Self::Blst], scalars: &[u8]) -> Limbs;
    /// arkworks' form of a point.
    fn to_ark(&self) -> Self::Ark;
    /// The limbs of arkworks' point.
    fn ark_limbs(point: &Self::Ark) -> Limbs;
    /// The limbs of a point.
    fn limbs(&self) -> Limbs;
}

/// Σ by arkworks, on the current pool.
pub fn ark_sum<G: Group>(points: &[G::Ark], scalars: &[ark_bls12_381::Fr]) -> Result<Limbs, Failure> {
    let sum = <<G::Ark as AffineRepr>::Group as VariableBaseMSM>::msm(points, scalars)
        .map_err(|count| format!("arkworks takes {count} points only"))?;
    Ok(G::ark_limbs(&sum.into_affine()))
}

/// A scalar in arkworks' form, which is Montgomery's with the same R.
pub fn ark_scalar(scalar: &Scalar) -> ark_bls12_381::Fr {
    ark_bls12_381::Fr::new_unchecked(BigInt(blst::blst_fr::from(*scalar).l))
}

fn ark_fp(value: &blst_fp) -> ark_bls12_381::Fq {
    ark_bls12_381::Fq::new_unchecked(BigInt(value.l))
}

fn ark_fp2(value: &blst_fp2) -> ark_bls12_381::Fq2 {
    ark_bls12_381::Fq2::new(ark_fp(&value.fp[0]), ark_fp(&value.fp[1]))
}

fn g1_limbs(point: &blst_p1_affine) -> Limbs {
    [point.x.l, point.y.l].concat()
}

fn g2_limbs(point: &blst_p2_affine) -> Limbs {
    [point.x.fp[0].l, point.x.fp[1].l, point.y.fp[0].l, point.y.fp[1].l].concat()
}

impl Group for G1Affine {
    const NAME: &'static str = "G1";
    type Blst = blst_p1_affine;
    type Ark = ark_bls12_381::G1Affine;

    fn points(world: &World, count: usize) -> Result<Vec<Self>, Failure> {
        inputs::points_g1(world, count)
    }

    fn multiply(core: &CpuBackend, points: &[Self], scalars: &[Scalar]) -> Result<Self::Curve, Failure> {
        Ok(core.msm_g1(points, scalars, &Cancel::new())?)
    }

    fn to_blst(&self) -> Self::Blst {
        *self.as_ref()
    }

    fn blst_serial(points: &[Self::Blst], scalars: &[u8]) -> Limbs {
        g1_limbs(&serial::multiply_g1(points, scalars))
    }

    fn blst_pool(points: &[Self::Blst], scalars: &[u8]) -> Limbs {
        g1_limbs(&serial::affine_g1(&points.mult(scalars, SCALAR_BITS)))
    }

    fn to_ark(&self) -> Self::Ark {
        let point: &blst_p1_affine = self.as_ref();
        ark_bls12_381::G1Affine::new_unchecked(ark_fp(&point.x), ark_fp(&point.y))
    }

    fn ark_limbs(point: &Self::Ark) -> Limbs {
        [point.x.0 .0, point.y.0 .0].concat()
    }

    fn limbs(&self) -> Limbs {
        g1_limbs(self.as_ref())
    }
}

impl Group for G2Affine {
    const NAME: &'static str = "G2";
    type Blst = blst_p2_affine;
    type Ark = ark_bls12_381::G2Affine;

    fn points(world: &World, count: usize) -> Result<Vec<Self>, Failure> {
        inputs::points_g2(world, count)
    }

    fn multiply(core: &CpuBackend, points: &[Self], scalars: &[Scalar]) -> Result<Self::Curve, Failure> {
        Ok(core.msm_g2(points, scalars, &Cancel::new())?)
    }

    fn to_blst(&self) -> Self::Blst {
        *self.as_ref()
    }

    fn blst_serial(points: &[Self::Blst], scalars: &[u8]) -> Limbs {
        g2_limbs(&serial::multiply_g2(points, scalars))
    }

    fn blst_pool(points: &[Self::Blst], scalars: &[u8]) -> Limbs {
        g2_limbs(&serial::affine_g2(&points.mult(scalars, SCALAR_BITS)))
    }

    fn to_ark(&self) -> Self::Ark {
        let point: &blst_p2_affine = self.as_ref();
        ark_bls12_381::G2Affine::new_unchecked(ark_fp2(&point.x), ark_fp2(&point.y))
    }

    fn ark_limbs(point: &Self::Ark) -> Limbs {
        [point.x.c0.0 .0, point.x.c1.0 .0, point.y.c0.0 .0, point.y.c1.0 .0].concat()
    }

    fn limbs(&self) -> Limbs {
        g2_limbs(self.as_ref())
    }
}

/// The limbs of a sum.
pub fn affine_limbs<G: Group>(sum: &G::Curve) -> Limbs
where
    G::Curve: Curve<AffineRepr = G>,
{
    sum.to_affine().limbs()
}
