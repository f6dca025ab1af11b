//! Registered proof types: from their numbers to sector sizes and versions.

use std::fmt;

use filecoin_proofs_api::{
    ApiFeature, PoStType, RegisteredPoStProof as Post, RegisteredSealProof as Seal,
    RegisteredUpdateProof as Update,
};

use crate::error::{Code, Error, Result};
use crate::kind::ProofKind;
use crate::units::Bytes;

/// The seal proof types, each at the place of its number.
pub(super) const SEAL: [Seal; 20] = [
    Seal::StackedDrg2KiBV1,
    Seal::StackedDrg8MiBV1,
    Seal::StackedDrg512MiBV1,
    Seal::StackedDrg32GiBV1,
    Seal::StackedDrg64GiBV1,
    Seal::StackedDrg2KiBV1_1,
    Seal::StackedDrg8MiBV1_1,
    Seal::StackedDrg512MiBV1_1,
    Seal::StackedDrg32GiBV1_1,
    Seal::StackedDrg64GiBV1_1,
    Seal::StackedDrg2KiBV1_1_Feat_SyntheticPoRep,
    Seal::StackedDrg8MiBV1_1_Feat_SyntheticPoRep,
    Seal::StackedDrg512MiBV1_1_Feat_SyntheticPoRep,
    Seal::StackedDrg32GiBV1_1_Feat_SyntheticPoRep,
    Seal::StackedDrg64GiBV1_1_Feat_SyntheticPoRep,
    Seal::StackedDrg2KiBV1_2_Feat_NonInteractivePoRep,
    Seal::StackedDrg8MiBV1_2_Feat_NonInteractivePoRep,
    Seal::StackedDrg512MiBV1_2_Feat_NonInteractivePoRep,
    Seal::StackedDrg32GiBV1_2_Feat_NonInteractivePoRep,
    Seal::StackedDrg64GiBV1_2_Feat_NonInteractivePoRep,
];

/// The update proof types, each at the place of its number.
pub(super) const UPDATE: [Update; 5] = [
    Update::StackedDrg2KiBV1,
    Update::StackedDrg8MiBV1,
    Update::StackedDrg512MiBV1,
    Update::StackedDrg32GiBV1,
    Update::StackedDrg64GiBV1,
];

/// The PoSt proof types, each at the place of its number.
pub(super) const POST: [Post; 15] = [
    Post::StackedDrgWinning2KiBV1,
    Post::StackedDrgWinning8MiBV1,
    Post::StackedDrgWinning512MiBV1,
    Post::StackedDrgWinning32GiBV1,
    Post::StackedDrgWinning64GiBV1,
    Post::StackedDrgWindow2KiBV1,
    Post::StackedDrgWindow8MiBV1,
    Post::StackedDrgWindow512MiBV1,
    Post::StackedDrgWindow32GiBV1,
    Post::StackedDrgWindow64GiBV1,
    Post::StackedDrgWindow2KiBV1_2,
    Post::StackedDrgWindow8MiBV1_2,
    Post::StackedDrgWindow512MiBV1_2,
    Post::StackedDrgWindow32GiBV1_2,
    Post::StackedDrgWindow64GiBV1_2,
];

/// The seal proof type of this number; `Unsupported` for non-interactive PoRep.
pub(super) fn seal(number: u64, sector_size: u64) -> Result<Seal> {
    let proof = pick(&SEAL, number, "seal")?;
    if proof.feature_enabled(ApiFeature::NonInteractivePoRep) {
        return Err(Error::new(
            Code::Unsupported,
            format!(
                "registered_proof {number} ({proof:?}) is non-interactive PoRep, whose answer is an aggregate of its proofs; supported are interactive and synthetic PoRep (0 to 14)"
            ),
        ));
    }
    check_size(number, proof, proof.sector_size().0, sector_size)?;
    Ok(proof)
}

/// The update proof type of this number.
pub(super) fn update(number: u64, sector_size: u64) -> Result<Update> {
    let proof = pick(&UPDATE, number, "update")?;
    check_size(number, proof, proof.sector_size().0, sector_size)?;
    Ok(proof)
}

/// The PoSt proof type of this number, which must be of the given kind.
pub(super) fn post(kind: ProofKind, number: u64, sector_size: u64) -> Result<Post> {
    let proof = pick(&POST, number, "PoSt")?;
    let proves = match proof.typ() {
        PoStType::Winning => ProofKind::WinningPost,
        PoStType::Window => ProofKind::WindowPost,
    };
    if proves != kind {
        return Err(Error::new(
            Code::InvalidRequest,
            format!("registered_proof {number} ({proof:?}) is of kind {proves}, but the request is {kind}"),
        ));
    }
    check_size(number, proof, proof.sector_size().0, sector_size)?;
    Ok(proof)
}

fn pick<P: Copy>(proofs: &[P], number: u64, name: &str) -> Result<P> {
    usize::try_from(number).ok().and_then(|place| proofs.get(place)).copied().ok_or_else(|| {
        Error::new(
            Code::InvalidRequest,
            format!(
                "registered_proof {number} is not a {name} proof type; expected 0 to {}",
                proofs.len().saturating_sub(1)
            ),
        )
    })
}

fn check_size(number: u64, proof: impl fmt::Debug, expected: u64, sector_size: u64) -> Result<()> {
    if expected == sector_size {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidRequest,
        format!(
            "registered_proof {number} ({proof:?}) is for sectors of {expected} bytes ({}), but sector_size is {sector_size}",
            Bytes(expected)
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filecoin::tree::{SIZE_2K, SIZE_32G};

    #[test]
    fn numbers_are_those_of_the_enums() {
        assert!(SEAL.iter().enumerate().all(|(i, proof)| *proof as usize == i));
        assert!(UPDATE.iter().enumerate().all(|(i, proof)| *proof as usize == i));
        assert!(POST.iter().enumerate().all(|(i, proof)| *proof as usize == i));
    }

    #[test]
    fn sizes_and_kinds_must_agree() {
        assert_eq!(seal(8, SIZE_32G).unwrap(), Seal::StackedDrg32GiBV1_1);
        assert_eq!(seal(13, SIZE_32G).unwrap(), Seal::StackedDrg32GiBV1_1_Feat_SyntheticPoRep);
        assert_eq!(seal(8, SIZE_2K).unwrap_err().code(), Code::InvalidRequest);
        assert_eq!(seal(20, SIZE_2K).unwrap_err().code(), Code::InvalidRequest);
        assert_eq!(seal(u64::MAX, SIZE_2K).unwrap_err().code(), Code::InvalidRequest);
        assert_eq!(update(3, SIZE_32G).unwrap(), Update::StackedDrg32GiBV1);
        assert_eq!(update(5, SIZE_32G).unwrap_err().code(), Code::InvalidRequest);
        assert_eq!(post(ProofKind::WindowPost, 13, SIZE_32G).unwrap(), Post::StackedDrgWindow32GiBV1_2);
        let wrong_kind = post(ProofKind::WinningPost, 13, SIZE_32G).unwrap_err();
        assert!(wrong_kind.message().contains("window_post"), "{wrong_kind}");
    }

    #[test]
    fn non_interactive_porep_is_unsupported_and_says_so() {
        for number in 15..20 {
            let error = seal(number, SIZE_2K).unwrap_err();
            assert_eq!(error.code(), Code::Unsupported);
            assert!(error.message().contains("non-interactive"));
        }
    }
}
