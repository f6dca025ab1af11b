//! The check that every proof passes before it is handed out.

use bellperson::groth16;
use blstrs::{Bls12, Scalar};

use super::{CircuitData, Proof};
use crate::error::{Error, Result};

/// Whether a proof shows the statement with these public inputs (without the leading ONE) under the
/// circuit's verifying key (Groth 2016, section 3.2). Runs on the current thread pool.
pub fn verify(circuit: &CircuitData, proof: &Proof, public_inputs: &[Scalar]) -> Result<bool> {
    let proof = groth16::Proof::<Bls12> { a: proof.a, b: proof.b, c: proof.c };
    groth16::verify_proof(circuit.srs.pvk(), &proof, public_inputs).map_err(|error| {
        let expected = circuit.srs.vk().ic.len().saturating_sub(1);
        Error::internal(format!(
            "verifying a proof of {}: {error} ({} public inputs, the key has {expected})",
            circuit.id,
            public_inputs.len()
        ))
    })
}
