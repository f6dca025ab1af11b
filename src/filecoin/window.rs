//! WindowPoSt: one partition of a deadline.

use std::sync::Arc;

use filecoin_proofs::parameters::window_post_public_params;
use filecoin_proofs_api::RegisteredPoStProof;

use super::decode::invalid;
use super::post::{prover, randomness, read_sector, Post};
use super::registered;
use super::task::Task;
use super::tree::{with_tree, SectorTree};
use crate::error::Result;
use crate::kind::{CircuitId, ProofKind};
use crate::prove::ProofTask;
use crate::units::Bytes;
use crate::wire::SubmitProofRequest;

pub(super) fn decode(request: &SubmitProofRequest) -> Result<Arc<dyn ProofTask>> {
    let proof = registered::post(ProofKind::WindowPost, request.registered_proof, request.sector_size)?;
    with_tree!(request.sector_size, Tree => Ok(Arc::new(task::<Tree>(proof, request)?)))
}

pub(super) fn task<Tree: SectorTree>(
    proof: RegisteredPoStProof,
    request: &SubmitProofRequest,
) -> Result<Task<Post<Tree>>> {
    let id = CircuitId::new(ProofKind::WindowPost, request.sector_size)?;
    let params = window_post_public_params::<Tree>(&proof.as_v1_config())
        .map_err(|error| invalid(error.to_string()))?;
    if request.vanilla_proofs.len() > params.sector_count {
        return Err(invalid(format!(
            "{} vanilla proofs; a partition of {proof:?} has at most {} sectors",
            request.vanilla_proofs.len(),
            params.sector_count
        )));
    }
    let mut statement = Post::<Tree> {
        first: request.partition_index as usize * params.sector_count,
        randomness: randomness::<Tree>(request)?,
        prover_id: prover::<Tree>(request)?,
        openings: Vec::with_capacity(request.vanilla_proofs.len()),
        params,
    };
    let mut heap = 0;
    for (i, bytes) in request.vanilla_proofs.iter().enumerate() {
        let (opening, bytes) =
            read_sector::<Tree>(bytes, &statement.params, statement.params.challenge_count)
                .map_err(|error| error.at(format_args!("vanilla proof {i}")))?;
        heap += bytes + size_of_val(&opening) as u64;
        statement.openings.push(opening);
    }
    check_order(&statement)?;
    statement.check_indexes()?;
    Ok(Task { id, heap: Bytes(heap), statement })
}

/// Verifiers take the sectors of a deadline in the order of their numbers, each once.
fn check_order<Tree: SectorTree>(statement: &Post<Tree>) -> Result<()> {
    let ids = statement.openings.iter().map(|opening| opening.sector.id);
    match ids.clone().zip(ids.skip(1)).find(|(one, next)| next <= one) {
        None => Ok(()),
        Some((one, next)) => Err(invalid(format!(
            "the vanilla proof of {next} comes after that of {one}; expected ascending sector numbers, each once"
        ))),
    }
}
