//! The PoRep circuit as Filecoin's crates give it to bellperson: its own type, nothing of ours around it.

use base64::Engine;
use filecoin_proofs::constants::{DefaultPieceHasher, SectorShape2KiB};
use filecoin_proofs::parameters::public_params;
use filecoin_proofs_api::seal::{SealCommitPhase1Output, VanillaSealProof};
use forebay_sector::Request;
use serde::Deserialize;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_porep::stacked::{PublicInputs, StackedCircuit, StackedCompound, StackedDrg, Tau};

use crate::Failure;

type Scheme<'a> = StackedDrg<'a, SectorShape2KiB, DefaultPieceHasher>;
type Compound = StackedCompound<SectorShape2KiB, DefaultPieceHasher>;
/// The circuit of a 2 KiB sector's PoRep.
pub type PorepCircuit = StackedCircuit<SectorShape2KiB, DefaultPieceHasher>;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Envelope {
    phase1_out: String,
}

/// The circuit of the request's first partition, with its values.
pub fn porep(request: &Request) -> Result<PorepCircuit, Failure> {
    let envelope: Envelope = serde_json::from_slice(&request.vanilla_proof)?;
    let json = base64::engine::general_purpose::STANDARD.decode(envelope.phase1_out)?;
    let c1: SealCommitPhase1Output = serde_json::from_slice(&json)?;
    let VanillaSealProof::StackedDrg2KiBV1(partitions) = c1.vanilla_proofs else {
        return Err("the request is not of a 2 KiB sector".into());
    };
    let first = partitions.first().ok_or("the request has no partition")?;
    let convert = |bytes: &[u8; 32]| filecoin_proofs::as_safe_commitment(bytes, "commitment");
    let tau = Tau {
        comm_d: convert(&c1.comm_d)?,
        comm_r: filecoin_proofs::as_safe_commitment(&c1.comm_r, "comm_r")?,
    };
    let public = PublicInputs { replica_id: c1.replica_id, seed: Some(c1.seed), tau: Some(tau), k: None };
    let params = public_params::<SectorShape2KiB>(&c1.registered_proof.as_v1_config())?;
    Ok(<Compound as CompoundProof<Scheme, _>>::circuit(&public, (), first, &params, Some(0))?)
}
