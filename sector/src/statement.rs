//! What Filecoin's verifiers are told beside a proof.

use std::collections::BTreeMap;

use filecoin_proofs_api::post::{verify_window_post, verify_winning_post};
use filecoin_proofs_api::seal::verify_seal;
use filecoin_proofs_api::update::verify_empty_sector_update_proof;
use filecoin_proofs_api::{PublicReplicaInfo, RegisteredPoStProof, RegisteredSealProof, SectorId};
use serde::{Deserialize, Serialize};

use crate::recipe::Draw;
use crate::seal::{Sealed, Update, UPDATE_PROOF};
use crate::{Kind, Recipe, Result};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Statement {
    seal_proof: RegisteredSealProof,
    window_proof: RegisteredPoStProof,
    winning_proof: RegisteredPoStProof,
    window_partition: u32,
    sector_number: u64,
    prover_id: [u8; 32],
    ticket: [u8; 32],
    porep_seed: [u8; 32],
    post_randomness: [u8; 32],
    comm_r: [u8; 32],
    comm_d: [u8; 32],
    comm_r_new: [u8; 32],
    comm_d_new: [u8; 32],
}

impl Statement {
    pub fn new(
        recipe: Recipe,
        draw: &Draw,
        sealed: &Sealed,
        updated: &Update,
        winning_proof: RegisteredPoStProof,
    ) -> Statement {
        Statement {
            seal_proof: recipe.seal.registered(),
            window_proof: recipe.window.registered(),
            winning_proof,
            window_partition: recipe.window_partition,
            sector_number: draw.sector_number,
            prover_id: draw.prover_id(),
            ticket: draw.ticket,
            porep_seed: draw.porep_seed,
            post_randomness: draw.post_randomness,
            comm_r: sealed.commitments.comm_r,
            comm_d: sealed.commitments.comm_d,
            comm_r_new: updated.comm_r_new,
            comm_d_new: updated.comm_d_new,
        }
    }

    pub fn verify(&self, kind: Kind, proof: &[u8]) -> Result<bool> {
        match kind {
            Kind::PorepC2 => Ok(verify_seal(
                self.seal_proof,
                self.comm_r,
                self.comm_d,
                self.prover_id,
                SectorId::from(self.sector_number),
                self.ticket,
                self.porep_seed,
                proof,
            )?),
            Kind::SnapUpdate => Ok(verify_empty_sector_update_proof(
                UPDATE_PROOF,
                proof,
                self.comm_r,
                self.comm_r_new,
                self.comm_d_new,
            )?),
            Kind::WindowPost => self.verify_window(proof),
            Kind::WinningPost => Ok(verify_winning_post(
                &self.post_randomness,
                proof,
                &self.replicas(self.winning_proof),
                self.prover_id,
            )?),
        }
    }

    fn verify_window(&self, proof: &[u8]) -> Result<bool> {
        if self.window_partition != 0 {
            return Err(
                "the other partitions of the deadline are unknown; only partition 0 can be verified".into()
            );
        }
        Ok(verify_window_post(
            &self.post_randomness,
            &[(self.window_proof, proof)],
            &self.replicas(self.window_proof),
            self.prover_id,
        )?)
    }

    fn replicas(&self, proof: RegisteredPoStProof) -> BTreeMap<SectorId, PublicReplicaInfo> {
        [(SectorId::from(self.sector_number), PublicReplicaInfo::new(proof, self.comm_r))].into()
    }
}
