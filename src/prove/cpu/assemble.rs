//! The blinded proof from the sums of the queries (Groth 2016, section 3.2, in bellperson's arrangement).

use bellperson::groth16::VerifyingKey;
use blstrs::{Bls12, G1Projective};
use group::prime::PrimeCurveAffine;
use group::Curve;

use super::queries::QuerySums;
use crate::error::{Code, Error, Result};
use crate::prove::{Blinding, Proof};

/// The proof; same randomness, same bytes as bellperson.
pub(super) fn assemble(
    vk: &VerifyingKey<Bls12>,
    h: G1Projective,
    sums: &QuerySums,
    blinding: Blinding,
) -> Result<Proof> {
    if bool::from(vk.delta_g1.is_identity() | vk.delta_g2.is_identity()) {
        // A zero delta removes the blinding: such parameters would make the prover leak its witness.
        return Err(Error::new(
            Code::ParametersInvalid,
            "the verifying key's delta is the point at infinity",
        ));
    }
    let Blinding { r, s } = blinding;
    let a = vk.delta_g1 * r + vk.alpha_g1 + sums.a;
    let b = vk.delta_g2 * s + vk.beta_g2 + sums.b_g2;
    let blinds = vk.delta_g1 * (r * s) + vk.alpha_g1 * s + vk.beta_g1 * r;
    let c = sums.a * s + sums.b_g1 * r + blinds + h + sums.l;
    Ok(Proof { a: a.to_affine(), b: b.to_affine(), c: c.to_affine() })
}
