//! Decoding shared by the four kinds.

use std::fmt;

use blstrs::Scalar;
use ff::PrimeField;
use filecoin_hashers::Domain;
use serde::de::DeserializeOwned;

use crate::error::{Code, Error, Result};
use crate::kind::ProofKind;
use crate::wire::SubmitProofRequest;

pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(Code::InvalidRequest, message)
}

/// The prover id that Filecoin derives from a miner's id: the id as unsigned LEB128 in the first bytes of
/// 32, the rest zero.
pub fn prover_id(miner_id: u64) -> [u8; 32] {
    let mut id = [0; 32];
    let mut rest = miner_id;
    for byte in &mut id {
        *byte = (rest & 0x7f) as u8;
        rest >>= 7;
        if rest == 0 {
            break;
        }
        *byte |= 0x80;
    }
    id
}

/// PoRep comes in `vanilla_proof`, the other kinds in `vanilla_proofs`.
pub(super) fn check_payload_fits(kind: ProofKind, request: &SubmitProofRequest) -> Result<()> {
    let single = !request.vanilla_proof.is_empty();
    let many = !request.vanilla_proofs.is_empty();
    let (expected, fits) = match kind {
        ProofKind::PorepC2 => ("vanilla_proof", single && !many),
        _ => ("vanilla_proofs", many && !single),
    };
    if fits {
        return Ok(());
    }
    let came = match (single, many) {
        (false, false) => "neither vanilla_proof nor vanilla_proofs is given",
        (true, false) => "vanilla_proof is given instead",
        (false, true) => "vanilla_proofs is given instead",
        (true, true) => "both vanilla_proof and vanilla_proofs are given",
    };
    Err(invalid(format!("a request of kind {kind} carries its payload in {expected}; {came}")))
}

/// Decodes a value that takes up all of `bytes`, encoded by bincode with fixed-width integers.
pub(super) fn bincode_exact<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    use bincode::Options;
    bincode::DefaultOptions::new()
        .with_fixint_encoding()
        .with_limit(bytes.len() as u64)
        .deserialize(bytes)
        .map_err(|error| {
            invalid(format!("{} bytes are not the expected bincode value: {error}", bytes.len()))
        })
}

/// True for the little-endian encoding of a number below the scalar field's modulus.
pub(super) fn is_scalar(bytes: &[u8]) -> bool {
    <[u8; 32]>::try_from(bytes).is_ok_and(|repr| Scalar::from_repr_vartime(repr).is_some())
}

pub(super) fn check_scalar(bytes: &[u8], name: impl fmt::Display) -> Result<()> {
    if is_scalar(bytes) {
        return Ok(());
    }
    Err(invalid(format!("{name} is not a field element: expected a number below the scalar field's modulus")))
}

/// A 32-byte value.
pub(super) fn bytes32(bytes: &[u8], name: &str) -> Result<[u8; 32]> {
    bytes.try_into().map_err(|_| invalid(format!("{name} has {} bytes; expected 32", bytes.len())))
}

/// A commitment: 32 bytes, a field element, not zero.
pub(super) fn commitment<D: Domain>(bytes: &[u8], name: &str) -> Result<D> {
    let bytes = bytes32(bytes, name)?;
    if bytes == [0; 32] {
        return Err(invalid(format!("{name} is zero")));
    }
    check_scalar(&bytes, name)?;
    domain(&bytes, name)
}

/// A field element as a hasher's domain element.
pub(super) fn domain<D: Domain>(bytes: &[u8; 32], name: &str) -> Result<D> {
    D::try_from_bytes(bytes).map_err(|error| invalid(format!("{name}: {error}")))
}

/// The error where the number of something differs from what the statement asks for.
pub(super) fn check_count(what: impl fmt::Display, expected: usize, found: usize) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(invalid(format!("{found} {what}; expected {expected}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use filecoin_hashers::poseidon::PoseidonDomain;

    #[test]
    fn prover_ids_are_leb128() {
        assert_eq!(prover_id(0), [0; 32]);
        assert_eq!(prover_id(127)[..2], [0x7f, 0]);
        assert_eq!(prover_id(1000)[..3], [0xe8, 0x07, 0]);
        let largest = prover_id(u64::MAX);
        assert_eq!(largest[..10], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
        assert_eq!(largest[10..], [0; 22]);
    }

    #[test]
    fn commitments_are_checked() {
        let mut modulus = [0; 32];
        modulus.copy_from_slice(&(-Scalar::from(1)).to_repr());
        assert!(commitment::<PoseidonDomain>(&modulus, "c").is_ok(), "the largest field element");
        modulus[0] += 1;
        for (bytes, part) in
            [(&[0u8; 32][..], "zero"), (&modulus, "field element"), (&[1; 31], "31 bytes"), (&[], "0 bytes")]
        {
            let error = commitment::<PoseidonDomain>(bytes, "comm_r_old").unwrap_err();
            assert_eq!(error.code(), Code::InvalidRequest);
            assert!(error.message().contains(part) && error.message().contains("comm_r_old"), "{error}");
        }
    }

    #[test]
    fn bincode_is_bounded_and_exact() {
        let good = bincode::serialize(&vec![1u64, 2]).unwrap();
        assert_eq!(bincode_exact::<Vec<u64>>(&good).unwrap(), [1, 2]);
        let longer = [good.as_slice(), &[0]].concat();
        let huge = u64::MAX.to_le_bytes();
        for bad in [&good[..good.len() - 1], &longer, &huge, &[]] {
            assert_eq!(bincode_exact::<Vec<u64>>(bad).unwrap_err().code(), Code::InvalidRequest);
        }
    }
}
