//! From a recipe to the requests of its sector.

use std::path::Path;

use base64::Engine;
use filecoin_proofs_api::post::{generate_fallback_sector_challenges, generate_single_vanilla_proof};
use filecoin_proofs_api::{PrivateReplicaInfo, RegisteredPoStProof, SectorId};

use crate::recipe::Draw;
use crate::seal::{seal, update, Sealed, Update, UPDATE_PROOF};
use crate::statement::Statement;
use crate::{Kind, Recipe, Request, Result, Sector, SECTOR_SIZE};

const WINNING_PROOF: RegisteredPoStProof = RegisteredPoStProof::StackedDrgWinning2KiBV1;

pub(crate) fn make(work: &Path, recipe: Recipe) -> Result<Sector> {
    let mut draw = recipe.draw();
    let sealed = seal(work, recipe.seal, &draw)?;
    let c1_json = serde_json::to_vec(&sealed.commit_phase1(recipe.seal, &draw)?)?;
    let updated = update(work, &sealed, &mut draw)?;
    let requests = vec![
        porep_request(recipe, &draw, &c1_json)?,
        update_request(&sealed, &updated, &draw),
        window_request(recipe, &sealed, &draw)?,
        winning_request(&sealed, &draw)?,
    ];
    let statement = Statement::new(recipe, &draw, &sealed, &updated, WINNING_PROOF);
    Ok(Sector { recipe, requests, c1_json, statement })
}

fn porep_request(recipe: Recipe, draw: &Draw, c1_json: &[u8]) -> Result<Request> {
    let envelope = serde_json::json!({
        "SectorNum": draw.sector_number,
        "Phase1Out": base64::engine::general_purpose::STANDARD.encode(c1_json),
        "SectorSize": SECTOR_SIZE,
    });
    Ok(Request {
        registered_proof: recipe.seal.registered() as u64,
        vanilla_proof: serde_json::to_vec(&envelope)?,
        ..Request::new(Kind::PorepC2, draw.miner_id, draw.sector_number)
    })
}

fn update_request(sealed: &Sealed, updated: &Update, draw: &Draw) -> Request {
    Request {
        registered_proof: UPDATE_PROOF as u64,
        vanilla_proofs: updated.partitions.iter().map(|proof| proof.0.clone()).collect(),
        comm_r_old: sealed.commitments.comm_r.to_vec(),
        comm_r_new: updated.comm_r_new.to_vec(),
        comm_d_new: updated.comm_d_new.to_vec(),
        ..Request::new(Kind::SnapUpdate, draw.miner_id, draw.sector_number)
    }
}

/// The vanilla proof of the sector, which follows `before` in the list of challenged sectors.
fn post_proof(
    proof: RegisteredPoStProof,
    sealed: &Sealed,
    draw: &Draw,
    before: &[SectorId],
) -> Result<Vec<u8>> {
    let sector = SectorId::from(draw.sector_number);
    let sectors: Vec<SectorId> = before.iter().copied().chain([sector]).collect();
    let challenges =
        generate_fallback_sector_challenges(proof, &draw.post_randomness, &sectors, draw.prover_id())?;
    let replica = PrivateReplicaInfo::new(
        proof,
        sealed.commitments.comm_r,
        sealed.cache.clone(),
        sealed.replica.clone(),
    );
    Ok(generate_single_vanilla_proof(proof, sector, &replica, &challenges[&sector])?)
}

fn window_request(recipe: Recipe, sealed: &Sealed, draw: &Draw) -> Result<Request> {
    let proof = recipe.window.registered();
    let before = proof.sector_count() as u64 * u64::from(recipe.window_partition);
    // Above every number that a recipe draws.
    let others: Vec<SectorId> = (0..before).map(|i| SectorId::from(1_000_000_000 + i)).collect();
    Ok(Request {
        registered_proof: proof as u64,
        vanilla_proofs: vec![post_proof(proof, sealed, draw, &others)?],
        randomness: draw.post_randomness.to_vec(),
        partition_index: recipe.window_partition,
        ..Request::new(Kind::WindowPost, draw.miner_id, draw.sector_number)
    })
}

fn winning_request(sealed: &Sealed, draw: &Draw) -> Result<Request> {
    Ok(Request {
        registered_proof: WINNING_PROOF as u64,
        vanilla_proofs: vec![post_proof(WINNING_PROOF, sealed, draw, &[])?],
        randomness: draw.post_randomness.to_vec(),
        ..Request::new(Kind::WinningPost, draw.miner_id, draw.sector_number)
    })
}
