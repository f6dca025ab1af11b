//! What window and winning proofs of spacetime have in common: challenged leaves of sealed sectors.

use blstrs::Scalar;
use filecoin_hashers::{HashFunction, Hasher};
use filecoin_proofs::FallbackPoStSectorProof;
use rayon::prelude::*;
use storage_proofs_core::merkle::MerkleProofTrait;
use storage_proofs_post::fallback::{
    generate_leaf_challenge, get_challenge_index, FallbackPoStCircuit, PublicParams, PublicSector, Sector,
    SectorProof,
};

use super::decode::{bincode_exact, bytes32, check_count, check_scalar, domain, invalid, prover_id};
use super::paths::{PathShape, TreeDomain};
use super::task::Statement;
use super::tree::SectorTree;
use crate::cancel::Cancel;
use crate::error::Result;
use crate::wire::SubmitProofRequest;

/// A challenged sector with its openings.
pub(super) struct Opening<Tree: SectorTree> {
    pub sector: PublicSector<TreeDomain<Tree>>,
    pub proof: SectorProof<Tree::Proof>,
}

/// One partition of challenged sectors. Where there are fewer than the circuit has room for, the last
/// one is repeated, in the circuit and in the public inputs alike.
pub(super) struct Post<Tree: SectorTree> {
    pub params: PublicParams,
    pub randomness: TreeDomain<Tree>,
    pub prover_id: TreeDomain<Tree>,
    pub openings: Vec<Opening<Tree>>,
    /// Place of the first sector among all that are challenged.
    pub first: usize,
}

/// The challenge randomness: 32 bytes, of which Filecoin clears the two highest bits so that they are a
/// field element.
pub(super) fn randomness<Tree: SectorTree>(request: &SubmitProofRequest) -> Result<TreeDomain<Tree>> {
    let mut bytes = bytes32(&request.randomness, "randomness")?;
    bytes[31] &= 0x3f;
    domain(&bytes, "randomness")
}

pub(super) fn prover<Tree: SectorTree>(request: &SubmitProofRequest) -> Result<TreeDomain<Tree>> {
    domain(&prover_id(request.miner_id), "the prover id")
}

/// Decodes one sector's vanilla proof with this many openings.
pub(super) fn read_sector<Tree: SectorTree>(
    bytes: &[u8],
    params: &PublicParams,
    openings: usize,
) -> Result<(Opening<Tree>, u64)> {
    let FallbackPoStSectorProof { sector_id, comm_r, vanilla_proof } =
        bincode_exact::<FallbackPoStSectorProof<Tree>>(bytes)?;
    let mut sectors = vanilla_proof.sectors.into_iter();
    let (Some(proof), None) = (sectors.next(), sectors.next()) else {
        return Err(invalid("a vanilla proof is that of exactly one sector"));
    };
    check_count("openings in a sector's vanilla proof", openings, proof.inclusion_proofs.len())?;
    check_scalar(comm_r.as_ref(), "comm_r")?;
    check_scalar(proof.comm_c.as_ref(), "comm_c")?;
    check_scalar(proof.comm_r_last.as_ref(), "comm_r_last")?;
    if <Tree::Hasher as Hasher>::Function::hash2(&proof.comm_c, &proof.comm_r_last) != comm_r {
        return Err(invalid(format!("{sector_id}: comm_c and comm_r_last do not give comm_r")));
    }
    let shape = PathShape::replica::<Tree>(leaves(params));
    let mut heap = size_of_val(proof.inclusion_proofs.as_slice()) as u64;
    for path in &proof.inclusion_proofs {
        heap += shape.open(path)?.heap;
        if path.root() != proof.comm_r_last {
            return Err(invalid(format!("{sector_id}: the root of a path is not comm_r_last")));
        }
    }
    Ok((Opening { sector: PublicSector { id: sector_id, comm_r }, proof }, heap))
}

fn leaves(params: &PublicParams) -> usize {
    params.sector_size as usize / storage_proofs_core::util::NODE_SIZE
}

impl<Tree: SectorTree> Post<Tree> {
    /// Which leaves are challenged in the sector at `place`.
    fn challenges(&self, place: usize, sector: &PublicSector<TreeDomain<Tree>>) -> Vec<u64> {
        let count = self.params.challenge_count;
        (0..count)
            .map(|n| {
                let index = get_challenge_index(self.params.api_version, self.first + place, count, n);
                generate_leaf_challenge(&self.params, self.randomness, sector.id.into(), index)
            })
            .collect()
    }

    /// Checks that every path opens the challenged leaf.
    pub fn check_indexes(&self) -> Result<()> {
        for (place, opening) in self.openings.iter().enumerate() {
            let challenges = self.challenges(place, &opening.sector);
            for (n, (path, challenge)) in opening.proof.inclusion_proofs.iter().zip(challenges).enumerate() {
                let index = path.path_index() as u64;
                if index != challenge {
                    return Err(invalid(format!(
                        "{} at place {place}: opening {n} is of leaf {index}, but the randomness asks for {challenge}",
                        opening.sector.id
                    )));
                }
            }
        }
        Ok(())
    }

    /// The opening in a slot of the circuit.
    fn slot(&self, slot: usize) -> Result<&Opening<Tree>> {
        self.openings.get(slot).or(self.openings.last()).ok_or_else(|| invalid("no sectors"))
    }
}

impl<Tree: SectorTree> Statement for Post<Tree> {
    type Circuit = FallbackPoStCircuit<Tree>;

    fn partitions(&self) -> usize {
        1
    }

    /// Hashes every path up to its root, as Filecoin's provers do before they prove.
    fn check(&self, _partition: usize, cancel: &Cancel) -> Result<()> {
        cancel.check()?;
        // On rayon's own threads, which the whole process shares: waiting there would keep others out.
        self.openings.par_iter().try_for_each(|opening| {
            cancel.wanted()?;
            match opening.proof.inclusion_proofs.iter().position(|path| !path.verify()) {
                None => Ok(()),
                Some(n) => Err(invalid(format!(
                    "{}: the path of opening {n} does not lead to its root",
                    opening.sector.id
                ))),
            }
        })
    }

    fn circuit(&self, _partition: usize) -> Result<Self::Circuit> {
        let sectors = (0..self.params.sector_count)
            .map(|slot| {
                let opening = self.slot(slot)?;
                Sector::circuit(&opening.sector, &opening.proof).map_err(|error| invalid(error.to_string()))
            })
            .collect::<Result<_>>()?;
        Ok(FallbackPoStCircuit { prover_id: Some(self.prover_id.into()), sectors })
    }

    fn public_inputs(&self, _partition: usize) -> Result<Vec<Scalar>> {
        let mut inputs = Vec::with_capacity(self.params.sector_count * (1 + self.params.challenge_count));
        let last = self.openings.len().saturating_sub(1);
        for slot in 0..self.params.sector_count {
            let opening = self.slot(slot)?;
            inputs.push(opening.sector.comm_r.into());
            inputs.extend(self.challenges(slot.min(last), &opening.sector).into_iter().map(Scalar::from));
        }
        Ok(inputs)
    }
}
