//! Sealing an empty sector, and updating it with data.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use filecoin_proofs_api::seal::{
    add_piece, generate_synth_proofs, seal_commit_phase1, seal_pre_commit_phase1, seal_pre_commit_phase2,
    SealCommitPhase1Output, SealPreCommitPhase2Output,
};
use filecoin_proofs_api::update::{empty_sector_update_encode_into, generate_partition_proofs};
use filecoin_proofs_api::{
    Commitment, PartitionProofBytes, PieceInfo, RegisteredSealProof, RegisteredUpdateProof, SectorId,
    UnpaddedBytesAmount,
};
use rand::RngCore;

use crate::recipe::Draw;
use crate::{Result, SealType, SECTOR_SIZE};

/// Data bytes of a sector before bit padding.
const UNPADDED: UnpaddedBytesAmount = UnpaddedBytesAmount(SECTOR_SIZE / 128 * 127);

pub(crate) const UPDATE_PROOF: RegisteredUpdateProof = RegisteredUpdateProof::StackedDrg2KiBV1;

/// A sealed sector on disk.
pub(crate) struct Sealed {
    pub replica: PathBuf,
    pub cache: PathBuf,
    pub commitments: SealPreCommitPhase2Output,
    pieces: Vec<PieceInfo>,
}

fn fresh_folder(path: PathBuf) -> io::Result<PathBuf> {
    fs::create_dir_all(&path)?;
    Ok(path)
}

/// Writes one piece that fills the sector, bit-padded, and returns its commitment.
fn stage(path: &Path, proof: RegisteredSealProof, data: impl Read) -> Result<Vec<PieceInfo>> {
    let mut staged = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    let (piece, _) = add_piece(proof, data, &mut staged, UNPADDED, &[])?;
    staged.flush()?;
    Ok(vec![piece])
}

/// Seals a sector without data (committed capacity), which is the kind that can be updated later.
pub(crate) fn seal(work: &Path, seal_type: SealType, draw: &Draw) -> Result<Sealed> {
    let proof = seal_type.registered();
    let cache = fresh_folder(work.join("cache"))?;
    let staged = work.join("staged");
    let replica = work.join("replica");
    File::create(&replica)?;
    let pieces = stage(&staged, proof, io::repeat(0).take(UNPADDED.0))?;
    let sector_id = SectorId::from(draw.sector_number);
    let phase1 = seal_pre_commit_phase1(
        proof,
        &cache,
        &staged,
        &replica,
        draw.prover_id(),
        sector_id,
        draw.ticket,
        &pieces,
    )?;
    let commitments = seal_pre_commit_phase2(phase1, &cache, &replica)?;
    Ok(Sealed { replica, cache, commitments, pieces })
}

impl Sealed {
    /// The vanilla proofs of replication.
    pub fn commit_phase1(&self, seal_type: SealType, draw: &Draw) -> Result<SealCommitPhase1Output> {
        let sector_id = SectorId::from(draw.sector_number);
        if seal_type == SealType::Synthetic {
            generate_synth_proofs(
                &self.cache,
                &self.replica,
                draw.prover_id(),
                sector_id,
                draw.ticket,
                self.commitments.clone(),
                &self.pieces,
            )?;
        }
        Ok(seal_commit_phase1(
            &self.cache,
            &self.replica,
            draw.prover_id(),
            sector_id,
            draw.ticket,
            draw.porep_seed,
            self.commitments.clone(),
            &self.pieces,
        )?)
    }
}

/// The update of a sealed sector with random data.
pub(crate) struct Update {
    pub comm_r_new: Commitment,
    pub comm_d_new: Commitment,
    pub partitions: Vec<PartitionProofBytes>,
}

pub(crate) fn update(work: &Path, sealed: &Sealed, draw: &mut Draw) -> Result<Update> {
    let mut data = vec![0; UNPADDED.0 as usize];
    draw.data.fill_bytes(&mut data);
    let staged = work.join("update-staged");
    let pieces = stage(&staged, sealed.commitments.registered_proof, data.as_slice())?;
    let replica = work.join("update-replica");
    File::create(&replica)?.set_len(SECTOR_SIZE)?;
    let cache = fresh_folder(work.join("update-cache"))?;
    let encoded = empty_sector_update_encode_into(
        UPDATE_PROOF,
        &replica,
        &cache,
        &sealed.replica,
        &sealed.cache,
        &staged,
        &pieces,
    )?;
    let partitions = generate_partition_proofs(
        UPDATE_PROOF,
        sealed.commitments.comm_r,
        encoded.comm_r_new,
        encoded.comm_d_new,
        &sealed.replica,
        &sealed.cache,
        &replica,
        &cache,
    )?;
    Ok(Update { comm_r_new: encoded.comm_r_new, comm_d_new: encoded.comm_d_new, partitions })
}
