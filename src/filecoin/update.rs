//! SnapDeals: the update of a sealed sector with data.

use std::sync::Arc;

use blstrs::Scalar;
use filecoin_hashers::{HashFunction, Hasher};
use filecoin_proofs_api::RegisteredUpdateProof;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::merkle::MerkleProofTrait;
use storage_proofs_update::constants::{h_default, TreeRHasher};
use storage_proofs_update::{
    ChallengeProof, Challenges, EmptySectorUpdateCircuit, EmptySectorUpdateCompound, PartitionProof,
    PublicInputs, PublicParams,
};

use super::decode::{bincode_exact, check_count, check_scalar, commitment, invalid};
use super::paths::PathShape;
use super::registered;
use super::task::{Statement, Task};
use super::tree::{with_tree, SectorTree};
use crate::error::Result;
use crate::kind::{CircuitId, ProofKind};
use crate::prove::ProofTask;
use crate::units::Bytes;
use crate::wire::SubmitProofRequest;

pub(super) fn decode(request: &SubmitProofRequest) -> Result<Arc<dyn ProofTask>> {
    let proof = registered::update(request.registered_proof, request.sector_size)?;
    with_tree!(request.sector_size, Tree => task::<Tree>(proof, request))
}

fn task<Tree: SectorTree>(
    proof: RegisteredUpdateProof,
    request: &SubmitProofRequest,
) -> Result<Arc<dyn ProofTask>> {
    let id = CircuitId::new(ProofKind::SnapUpdate, proof.sector_size().0)?;
    let params = PublicParams::from_sector_size(id.sector_size);
    let public = PublicInputs {
        // Every partition is asked for by its own number.
        k: params.partition_count,
        comm_r_old: commitment(&request.comm_r_old, "comm_r_old")?,
        comm_d_new: commitment(&request.comm_d_new, "comm_d_new")?,
        comm_r_new: commitment(&request.comm_r_new, "comm_r_new")?,
        h: h_default(params.sector_nodes),
    };
    check_count(
        format_args!("vanilla proofs for {proof:?}, which has one a partition"),
        params.partition_count,
        request.vanilla_proofs.len(),
    )?;
    let mut statement = Update::<Tree> { params, public, partitions: Vec::new() };
    let mut heap = 0;
    for (k, bytes) in request.vanilla_proofs.iter().enumerate() {
        let place = |error: crate::Error| error.at(format_args!("vanilla proof {k}"));
        let partition = bincode_exact(bytes).map_err(place)?;
        heap += statement.check_partition(k, &partition).map_err(place)?;
        statement.partitions.push(partition);
    }
    Ok(Arc::new(Task { id, heap: Bytes(heap), statement }))
}

/// An update's statement and its partitions' vanilla proofs.
struct Update<Tree: SectorTree> {
    params: PublicParams,
    public: PublicInputs,
    partitions: Vec<PartitionProof<Tree>>,
}

impl<Tree: SectorTree> Update<Tree> {
    /// Checks all that the circuit relies on, and returns the heap bytes of the partition.
    fn check_partition(&self, k: usize, partition: &PartitionProof<Tree>) -> Result<u64> {
        check_scalar(partition.comm_c.as_ref(), "comm_c")?;
        check_count("apex leaves", self.params.apex_leaf_count, partition.apex_leafs.len())?;
        for leaf in &partition.apex_leafs {
            check_scalar(leaf.as_ref(), "an apex leaf")?;
        }
        let proofs = &partition.challenge_proofs;
        check_count("challenges", self.params.challenge_count, proofs.len())?;
        let mut heap = size_of_val(proofs.as_slice()) + size_of_val(partition.apex_leafs.as_slice());
        let challenges = Challenges::new(self.params.sector_nodes, self.public.comm_r_new, k);
        for (i, (proof, challenge)) in proofs.iter().zip(challenges).enumerate() {
            let place = |error: crate::Error| error.at(format_args!("challenge {i}"));
            heap += self.check_challenge(proof, u64::from(challenge)).map_err(place)?;
        }
        self.check_roots(partition)?;
        self.check_partition_paths(proofs)?;
        Ok(heap as u64)
    }

    fn check_challenge(&self, proof: &ChallengeProof<Tree>, challenge: u64) -> Result<usize> {
        let replica = PathShape::replica::<Tree>(self.params.sector_nodes);
        let data = PathShape::binary(self.params.sector_nodes);
        let old = replica.open(&proof.proof_r_old).map_err(|error| error.at("old replica leaf"))?;
        let data = data.open(&proof.proof_d_new).map_err(|error| error.at("new data leaf"))?;
        let new = replica.open(&proof.proof_r_new).map_err(|error| error.at("new replica leaf"))?;
        for (name, opened) in [("old replica", old), ("new data", data), ("new replica", new)] {
            if opened.index != challenge {
                return Err(invalid(format!(
                    "the {name} path opens node {}, but comm_r_new asks for {challenge}",
                    opened.index
                )));
            }
        }
        Ok((old.heap + data.heap + new.heap) as usize)
    }

    /// All challenges open the same trees, and those are the trees of the commitments.
    fn check_roots(&self, partition: &PartitionProof<Tree>) -> Result<()> {
        let commits = |root| <TreeRHasher as Hasher>::Function::hash2(&partition.comm_c, &root);
        for (i, proof) in partition.challenge_proofs.iter().enumerate() {
            let wrong = if proof.proof_d_new.root() != self.public.comm_d_new {
                "the root of the new data tree is not comm_d_new"
            } else if commits(proof.proof_r_old.root()) != self.public.comm_r_old {
                "comm_c and the root of the old replica tree do not give comm_r_old"
            } else if commits(proof.proof_r_new.root()) != self.public.comm_r_new {
                "comm_c and the root of the new replica tree do not give comm_r_new"
            } else {
                continue;
            };
            return Err(invalid(format!("challenge {i}: {wrong}")));
        }
        Ok(())
    }

    /// Above the partition's own subtree, all its data paths are the same.
    fn check_partition_paths(&self, proofs: &[ChallengeProof<Tree>]) -> Result<()> {
        let below = self.params.challenge_bit_len.saturating_sub(self.params.partition_bit_len);
        let upper = |proof: &ChallengeProof<Tree>| {
            proof.proof_d_new.path().into_iter().skip(below).map(|(siblings, _)| siblings).collect::<Vec<_>>()
        };
        let mut paths = proofs.iter().map(upper);
        let first = paths.next();
        match paths.position(|path| Some(&path) != first.as_ref()) {
            None => Ok(()),
            Some(at) => Err(invalid(format!(
                "challenge {}: its data path leaves the partition's subtree by another way than challenge 0",
                at + 1
            ))),
        }
    }
}

impl<Tree: SectorTree> Statement for Update<Tree> {
    type Circuit = EmptySectorUpdateCircuit<Tree>;

    fn partitions(&self) -> usize {
        self.partitions.len()
    }

    fn circuit(&self, partition: usize) -> Result<Self::Circuit> {
        let proof = self.partitions.get(partition).ok_or_else(|| invalid("no such partition"))?;
        EmptySectorUpdateCompound::<Tree>::circuit(&self.public, (), proof, &self.params, Some(partition))
            .map_err(|error| invalid(error.to_string()))
    }

    fn public_inputs(&self, partition: usize) -> Result<Vec<Scalar>> {
        EmptySectorUpdateCompound::<Tree>::generate_public_inputs(&self.public, &self.params, Some(partition))
            .map_err(|error| invalid(error.to_string()))
    }
}
