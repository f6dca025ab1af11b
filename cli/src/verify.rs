//! `forebay verify`: a proof against its request, by Filecoin's own verifiers.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use base64::Engine;
use filecoin_proofs_api::post::{verify_window_post, verify_winning_post};
use filecoin_proofs_api::seal::{verify_seal, SealCommitPhase1Output};
use filecoin_proofs_api::update::verify_empty_sector_update_proof;
use filecoin_proofs_api::{
    PublicReplicaInfo, RegisteredPoStProof as Post, RegisteredUpdateProof as Update, SectorId,
};
use forebay::filecoin::prover_id;
use forebay::wire::{ProofKind, SubmitProofRequest};
use forebay::{Code, Error};
use prost::Message;

use crate::failure::{system, Failure, Result};
use crate::setup::default_cache;

/// Judges a proof with filecoin-proofs-api; the statement is read from the request. Exits with 1 where it is refused.
///
/// A WindowPoSt is judged alone: its deadline must have no other partition.
#[derive(clap::Args)]
pub struct Args {
    /// The serialized cuzk.v1.SubmitProofRequest.
    #[arg(long, value_name = "FILE")]
    request: PathBuf,
    /// The proof's bytes.
    #[arg(long, value_name = "FILE")]
    proof: PathBuf,
    /// Folder with the circuit's .vk file [default: ${XDG_CACHE_HOME:-~/.cache}/forebay/development-parameters]
    #[arg(long, value_name = "DIR")]
    parameters: Option<PathBuf>,
}

impl Args {
    /// Tells Filecoin's crates where parameters are. To be called before any other thread exists.
    pub fn use_parameter_folder(&self) {
        let folder =
            self.parameters.clone().unwrap_or_else(|| default_cache().join("development-parameters"));
        forebay_sector::use_folder(&folder);
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let read = |path: &PathBuf| fs::read(path).map_err(system(format!("reading {}", path.display())));
    let (message, proof) = (read(&args.request)?, read(&args.proof)?);
    let request = SubmitProofRequest::decode(message.as_slice()).map_err(|e| {
        invalid(format!("{} is not a cuzk.v1.SubmitProofRequest: {e}", args.request.display()))
    })?;
    if accepts(&request, &proof)? {
        eprintln!("{}: accepted by filecoin-proofs-api", request.request_id);
        return Ok(());
    }
    Err(Failure::Unsound(format!("filecoin-proofs-api does not accept the proof of {}", request.request_id)))
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(Code::InvalidRequest, message)
}

fn accepts(request: &SubmitProofRequest, proof: &[u8]) -> Result<bool> {
    match request.proof_kind() {
        ProofKind::PorepSealCommit => porep(request, proof),
        ProofKind::SnapDealsUpdate => update(request, proof),
        ProofKind::WindowPostPartition => window(request, proof),
        ProofKind::WinningPost => winning(request, proof),
        ProofKind::Unspecified => Err(invalid("proof_kind names none of the four kinds").into()),
    }
}

fn porep(request: &SubmitProofRequest, proof: &[u8]) -> Result<bool> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Envelope {
        sector_num: u64,
        phase1_out: String,
    }
    let envelope: Envelope = serde_json::from_slice(&request.vanilla_proof)
        .map_err(|e| invalid(format!("vanilla_proof is not the miner's envelope: {e}")))?;
    let json = base64::engine::general_purpose::STANDARD
        .decode(envelope.phase1_out)
        .map_err(|e| invalid(format!("Phase1Out is not base64: {e}")))?;
    let c1: SealCommitPhase1Output =
        serde_json::from_slice(&json).map_err(|e| invalid(format!("Phase1Out is not a C1 output: {e}")))?;
    let accepted = verify_seal(
        c1.registered_proof,
        c1.comm_r,
        c1.comm_d,
        prover_id(request.miner_id),
        SectorId::from(envelope.sector_num),
        c1.ticket,
        c1.seed,
        proof,
    );
    judged(accepted)
}

fn update(request: &SubmitProofRequest, proof: &[u8]) -> Result<bool> {
    const ALL: [Update; 5] = [
        Update::StackedDrg2KiBV1,
        Update::StackedDrg8MiBV1,
        Update::StackedDrg512MiBV1,
        Update::StackedDrg32GiBV1,
        Update::StackedDrg64GiBV1,
    ];
    let registered =
        ALL.into_iter().find(|known| *known as u64 == request.registered_proof).ok_or_else(|| {
            invalid(format!("registered_proof {} is no update proof", request.registered_proof))
        })?;
    let accepted = verify_empty_sector_update_proof(
        registered,
        proof,
        bytes32(&request.comm_r_old, "comm_r_old")?,
        bytes32(&request.comm_r_new, "comm_r_new")?,
        bytes32(&request.comm_d_new, "comm_d_new")?,
    );
    judged(accepted)
}

fn window(request: &SubmitProofRequest, proof: &[u8]) -> Result<bool> {
    if request.partition_index != 0 {
        let text = "only partition 0 can be judged without the other partitions of its deadline";
        return Err(Error::new(Code::Unsupported, text).into());
    }
    let registered = post(request)?;
    let randomness = bytes32(&request.randomness, "randomness")?;
    let replicas = replicas(request, registered)?;
    let prover = prover_id(request.miner_id);
    let accepted = verify_window_post(&randomness, &[(registered, proof)], &replicas, prover);
    judged(accepted)
}

fn winning(request: &SubmitProofRequest, proof: &[u8]) -> Result<bool> {
    let replicas = replicas(request, post(request)?)?;
    let randomness = bytes32(&request.randomness, "randomness")?;
    let accepted = verify_winning_post(&randomness, proof, &replicas, prover_id(request.miner_id));
    judged(accepted)
}

fn post(request: &SubmitProofRequest) -> Result<Post> {
    const ALL: [Post; 15] = [
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
    let found = ALL.into_iter().find(|known| *known as u64 == request.registered_proof);
    Ok(found
        .ok_or_else(|| invalid(format!("registered_proof {} is no PoSt proof", request.registered_proof)))?)
}

/// Each vanilla proof begins with the sector's number and its comm_r.
fn replicas(request: &SubmitProofRequest, proof: Post) -> Result<BTreeMap<SectorId, PublicReplicaInfo>> {
    let read = |bytes: &Vec<u8>| {
        let head = bytes.split_first_chunk::<8>()?;
        let comm_r = head.1.first_chunk::<32>()?;
        let sector = SectorId::from(u64::from_le_bytes(*head.0));
        Some((sector, PublicReplicaInfo::new(proof, *comm_r)))
    };
    let found: Option<BTreeMap<_, _>> = request.vanilla_proofs.iter().map(read).collect();
    Ok(found.ok_or_else(|| invalid("a vanilla proof is shorter than 40 bytes"))?)
}

fn judged<E: Into<forebay_sector::Error>>(accepted: std::result::Result<bool, E>) -> Result<bool> {
    accepted.map_err(|e| Failure::Unsound(format!("filecoin-proofs-api: {}", e.into())))
}

fn bytes32(bytes: &[u8], name: &str) -> Result<[u8; 32]> {
    Ok(bytes.try_into().map_err(|_| invalid(format!("{name} has {} bytes; expected 32", bytes.len())))?)
}
