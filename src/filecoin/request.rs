//! Building requests, for the command line and for tests.

use base64::Engine;
use filecoin_proofs_api::RegisteredSealProof;
use serde::Deserialize;

use super::decode::invalid;
use super::porep::Envelope;
use crate::error::Result;
use crate::wire::{self, SubmitProofRequest};

/// The request for a C1 output: its raw JSON, or the miner's envelope around it.
pub fn request_from_c1(c1_json: &[u8], miner_id: u64, sector_number: u64) -> Result<SubmitProofRequest> {
    let inside: Vec<u8>;
    let raw = match serde_json::from_slice::<Envelope>(c1_json) {
        Ok(envelope) => {
            inside = base64::engine::general_purpose::STANDARD
                .decode(envelope.phase1_out.as_bytes())
                .map_err(|error| invalid(format!("Phase1Out is not base64: {error}")))?;
            inside.as_slice()
        }
        Err(_) => c1_json,
    };
    let proof = registered_proof(raw)?;
    let envelope = serde_json::json!({
        "SectorNum": sector_number,
        "Phase1Out": base64::engine::general_purpose::STANDARD.encode(raw),
        "SectorSize": proof.sector_size().0,
    });
    Ok(SubmitProofRequest {
        request_id: format!("porep-{miner_id}-{sector_number}"),
        proof_kind: wire::ProofKind::PorepSealCommit as i32,
        sector_size: proof.sector_size().0,
        registered_proof: proof as u64,
        priority: wire::Priority::Normal as i32,
        vanilla_proof: envelope.to_string().into_bytes(),
        sector_number,
        miner_id,
        ..SubmitProofRequest::default()
    })
}

/// The proof type that a C1 output names, without looking at the rest.
fn registered_proof(c1_json: &[u8]) -> Result<RegisteredSealProof> {
    #[derive(Deserialize)]
    struct Header {
        registered_proof: RegisteredSealProof,
    }
    let header: Header = serde_json::from_slice(c1_json).map_err(|error| {
        invalid(format!("neither the JSON of a C1 output nor the miner's envelope around it: {error}"))
    })?;
    Ok(header.registered_proof)
}
