//! WinningPoSt: block production.

use std::sync::Arc;

use filecoin_proofs::parameters::winning_post_public_params;
use filecoin_proofs_api::RegisteredPoStProof;
use storage_proofs_post::fallback::{PublicSector, SectorProof};

use super::decode::{check_count, invalid};
use super::post::{prover, randomness, read_sector, Opening, Post};
use super::registered;
use super::task::Task;
use super::tree::{with_tree, SectorTree};
use crate::error::Result;
use crate::kind::{CircuitId, ProofKind};
use crate::prove::ProofTask;
use crate::units::Bytes;
use crate::wire::SubmitProofRequest;

pub(super) fn decode(request: &SubmitProofRequest) -> Result<Arc<dyn ProofTask>> {
    let proof = registered::post(ProofKind::WinningPost, request.registered_proof, request.sector_size)?;
    with_tree!(request.sector_size, Tree => task::<Tree>(proof, request))
}

fn task<Tree: SectorTree>(
    proof: RegisteredPoStProof,
    request: &SubmitProofRequest,
) -> Result<Arc<dyn ProofTask>> {
    let id = CircuitId::new(ProofKind::WinningPost, request.sector_size)?;
    let config = proof.as_v1_config();
    check_count(
        format_args!("vanilla proofs for {proof:?}"),
        config.sector_count,
        request.vanilla_proofs.len(),
    )?;
    // The circuit has a slot for each challenge of the one sector, instead of one slot with all of them.
    let params = winning_post_public_params::<Tree>(&config).map_err(|error| invalid(error.to_string()))?;
    let bytes = request.vanilla_proofs.first().ok_or_else(|| invalid("no vanilla proof"))?;
    let (opening, heap) = read_sector::<Tree>(bytes, &params, config.challenge_count)
        .map_err(|error| error.at("vanilla proof 0"))?;
    let statement = Post::<Tree> {
        randomness: randomness::<Tree>(request)?,
        prover_id: prover::<Tree>(request)?,
        openings: one_slot_a_challenge(opening),
        first: 0,
        params,
    };
    statement.check_indexes()?;
    let heap = heap + size_of_val(statement.openings.as_slice()) as u64;
    Ok(Arc::new(Task { id, heap: Bytes(heap), statement }))
}

fn one_slot_a_challenge<Tree: SectorTree>(opening: Opening<Tree>) -> Vec<Opening<Tree>> {
    let Opening { sector: PublicSector { id, comm_r }, proof } = opening;
    let SectorProof { inclusion_proofs, comm_c, comm_r_last } = proof;
    inclusion_proofs
        .into_iter()
        .map(|path| Opening {
            sector: PublicSector { id, comm_r },
            proof: SectorProof { inclusion_proofs: vec![path], comm_c, comm_r_last },
        })
        .collect()
}
