//! Verification of finished proofs.

use bellperson::groth16::{self, PreparedVerifyingKey};
use blstrs::{Bls12, Scalar};

use crate::error::{Error, Result};
use crate::prove::Proof;

/// Checks the pairing equation of a proof over its public inputs, without the leading ONE. Runs on the
/// current rayon pool. Fails where the number of inputs is not that of the key.
pub fn verify(key: &PreparedVerifyingKey<Bls12>, proof: &Proof, inputs: &[Scalar]) -> Result<bool> {
    let proof = groth16::Proof { a: proof.a, b: proof.b, c: proof.c };
    groth16::verify_proof(key, &proof, inputs).map_err(|error| {
        Error::internal(format!("the verifying key does not fit {} public inputs: {error}", inputs.len()))
    })
}
