//! PoRep: the second half of sealing (C2).

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use blstrs::Scalar;
use filecoin_hashers::sha256::Sha256Domain;
use filecoin_hashers::{Domain, HashFunction, Hasher};
use filecoin_proofs::constants::DefaultPieceHasher;
use filecoin_proofs::parameters::public_params;
use filecoin_proofs_api::seal::{SealCommitPhase1Output, VanillaSealProof};
use filecoin_proofs_api::RegisteredSealProof;
use serde::Deserialize;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::drgraph::{Graph, BASE_DEGREE};
use storage_proofs_core::merkle::MerkleProofTrait;
use storage_proofs_porep::stacked::{
    self, generate_replica_id, ColumnProof, LabelingProof, StackedCircuit, StackedCompound, StackedDrg, Tau,
    EXP_DEGREE,
};

use super::decode::{bincode_exact, check_count, check_scalar, commitment, invalid, prover_id};
use super::paths::{Opened, PathShape, TreeDomain};
use super::registered;
use super::task::{Statement, Task};
use super::tree::{with_tree, SectorTree, SIZE_2K, SIZE_32G, SIZE_512M, SIZE_64G, SIZE_8M};
use crate::error::Result;
use crate::kind::{CircuitId, ProofKind};
use crate::prove::ProofTask;
use crate::units::Bytes;
use crate::wire::SubmitProofRequest;

/// The miner's envelope around the JSON of the C1 output.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Envelope<'a> {
    /// The sector's number.
    pub sector_num: u64,
    /// Base64 of the C1 output's JSON.
    #[serde(borrow)]
    pub phase1_out: Cow<'a, str>,
    /// The padded sector size in bytes.
    pub sector_size: u64,
}

type VanillaProof<Tree> = stacked::Proof<Tree, DefaultPieceHasher>;
type Compound<Tree> = StackedCompound<Tree, DefaultPieceHasher>;

pub(super) fn decode(request: &SubmitProofRequest) -> Result<Arc<dyn ProofTask>> {
    let proof = registered::seal(request.registered_proof, request.sector_size)?;
    let envelope: Envelope = serde_json::from_slice(&request.vanilla_proof).map_err(|error| {
        invalid(format!(
            "vanilla_proof is not the JSON object with SectorNum, Phase1Out and SectorSize: {error}"
        ))
    })?;
    check_envelope(&envelope, request)?;
    let json = base64::engine::general_purpose::STANDARD
        .decode(envelope.phase1_out.as_bytes())
        .map_err(|error| invalid(format!("Phase1Out is not base64: {error}")))?;
    let c1 = read_c1(&json, proof)?;
    drop(json);
    let sealer = Sealer { miner_id: request.miner_id, sector_number: envelope.sector_num };
    with_tree!(request.sector_size, Tree => task::<Tree>(proof, c1, sealer))
}

fn check_envelope(envelope: &Envelope, request: &SubmitProofRequest) -> Result<()> {
    if envelope.sector_size != request.sector_size {
        return Err(invalid(format!(
            "SectorSize in vanilla_proof is {}, but sector_size is {}",
            envelope.sector_size, request.sector_size
        )));
    }
    // Zero stands for a field that was left out.
    if request.sector_number != 0 && envelope.sector_num != request.sector_number {
        return Err(invalid(format!(
            "SectorNum in vanilla_proof is {}, but sector_number is {}",
            envelope.sector_num, request.sector_number
        )));
    }
    Ok(())
}

/// Parses the C1 output and checks that it is of this proof type.
pub(super) fn read_c1(json: &[u8], proof: RegisteredSealProof) -> Result<SealCommitPhase1Output> {
    let limit = json_limit(proof)?;
    if json.len() > limit {
        return Err(invalid(format!(
            "the C1 output has {} of JSON; that of {proof:?} has at most {}",
            Bytes(json.len() as u64),
            Bytes(limit as u64)
        )));
    }
    let c1: SealCommitPhase1Output = serde_json::from_slice(json)
        .map_err(|error| invalid(format!("the C1 output is not the expected JSON: {error}")))?;
    if c1.registered_proof != proof {
        return Err(invalid(format!(
            "the C1 output is of {:?}, but registered_proof is {} ({proof:?})",
            c1.registered_proof, proof as u64
        )));
    }
    Ok(c1)
}

/// The longest JSON that a C1 output of this type can have, with room for other ways to print it. Bounds
/// what parsing can allocate.
fn json_limit(proof: RegisteredSealProof) -> Result<usize> {
    const BYTES_PER_HASH: usize = 256;
    const BYTES_PER_CHALLENGE: usize = 64 << 10;
    let sector_size = proof.sector_size().0;
    with_tree!(sector_size, Tree => {
        let layout = Layout::of::<Tree>(proof)?;
        let challenges = layout.partitions * layout.challenges;
        Ok(challenges * (layout.hashes_per_challenge() * BYTES_PER_HASH + BYTES_PER_CHALLENGE) + BYTES_PER_CHALLENGE)
    })
}

/// Who sealed which sector.
#[derive(Clone, Copy)]
struct Sealer {
    miner_id: u64,
    sector_number: u64,
}

fn task<Tree: SectorTree>(
    proof: RegisteredSealProof,
    c1: SealCommitPhase1Output,
    sealer: Sealer,
) -> Result<Arc<dyn ProofTask>> {
    let id = CircuitId::new(ProofKind::PorepC2, proof.sector_size().0)?;
    let layout = Layout::of::<Tree>(proof)?;
    let public = public_inputs::<Tree>(proof, &c1, sealer)?;
    let partitions = partitions::<Tree>(c1.vanilla_proofs, id.sector_size)?;
    check_count(
        format_args!("partitions in the C1 output of {proof:?}"),
        layout.partitions,
        partitions.len(),
    )?;
    let statement = Porep::<Tree> {
        params: public_params::<Tree>(&proof.as_v1_config()).map_err(|error| invalid(error.to_string()))?,
        public,
        partitions,
    };
    let mut heap = 0;
    for (k, challenges) in statement.partitions.iter().enumerate() {
        let place = |error: crate::Error| error.at(format_args!("partition {k}"));
        heap += statement.check_partition(k, challenges, &layout).map_err(place)?;
    }
    Ok(Arc::new(Task { id, heap: Bytes(heap), statement }))
}

/// Takes the vanilla proofs out of the variant of this sector size.
fn partitions<Tree: SectorTree>(
    vanilla: VanillaSealProof,
    sector_size: u64,
) -> Result<Vec<Vec<VanillaProof<Tree>>>> {
    let (size, proofs): (u64, Box<dyn Any>) = match vanilla {
        VanillaSealProof::StackedDrg2KiBV1(proofs) => (SIZE_2K, Box::new(proofs)),
        VanillaSealProof::StackedDrg8MiBV1(proofs) => (SIZE_8M, Box::new(proofs)),
        VanillaSealProof::StackedDrg512MiBV1(proofs) => (SIZE_512M, Box::new(proofs)),
        VanillaSealProof::StackedDrg32GiBV1(proofs) => (SIZE_32G, Box::new(proofs)),
        VanillaSealProof::StackedDrg64GiBV1(proofs) => (SIZE_64G, Box::new(proofs)),
    };
    match proofs.downcast::<Vec<Vec<VanillaProof<Tree>>>>() {
        Ok(proofs) if size == sector_size => Ok(*proofs),
        _ => Err(invalid(format!(
            "the vanilla proofs in the C1 output are for sectors of {size} bytes; expected {sector_size}"
        ))),
    }
}

fn public_inputs<Tree: SectorTree>(
    proof: RegisteredSealProof,
    c1: &SealCommitPhase1Output,
    sealer: Sealer,
) -> Result<stacked::PublicInputs<TreeDomain<Tree>, Sha256Domain>> {
    let comm_d: Sha256Domain = commitment(&c1.comm_d, "comm_d in the C1 output")?;
    let comm_r = commitment(&c1.comm_r, "comm_r in the C1 output")?;
    if c1.seed == [0; 32] {
        return Err(invalid("the challenge seed in the C1 output is zero"));
    }
    let replica_id = generate_replica_id::<Tree::Hasher, _>(
        &prover_id(sealer.miner_id),
        sealer.sector_number,
        &c1.ticket,
        comm_d,
        &proof.as_v1_config().porep_id,
    );
    if replica_id.into_bytes() != c1.replica_id.into_bytes() {
        return Err(invalid(format!(
            "the replica id in the C1 output is not that of sector {} of miner {} with this ticket and comm_d",
            sealer.sector_number, sealer.miner_id
        )));
    }
    Ok(stacked::PublicInputs { replica_id, seed: Some(c1.seed), tau: Some(Tau { comm_d, comm_r }), k: None })
}

/// How many of everything a C1 output of one proof type has.
struct Layout {
    partitions: usize,
    challenges: usize,
    layers: usize,
    data_path: PathShape,
    replica_path: PathShape,
}

impl Layout {
    fn of<Tree: SectorTree>(proof: RegisteredSealProof) -> Result<Layout> {
        let params =
            public_params::<Tree>(&proof.as_v1_config()).map_err(|error| invalid(error.to_string()))?;
        let leaves = params.graph.size();
        Ok(Layout {
            partitions: usize::from(proof.partitions()),
            challenges: params.challenges.num_challenges_per_partition(),
            layers: params.num_layers,
            data_path: PathShape::binary(leaves),
            replica_path: PathShape::replica::<Tree>(leaves),
        })
    }

    fn hashes_per_challenge(&self) -> usize {
        const LEAF_AND_ROOT: usize = 2;
        const LABEL_PARENTS: usize = 37;
        let replica_path = self.replica_path.siblings() + LEAF_AND_ROOT;
        let columns = 1 + BASE_DEGREE + EXP_DEGREE;
        self.data_path.siblings()
            + LEAF_AND_ROOT
            + replica_path
            + columns * (self.layers + replica_path)
            + (self.layers + 1) * LABEL_PARENTS
    }
}

/// A sealed sector's statement and the challenges' vanilla proofs of each partition.
struct Porep<Tree: SectorTree> {
    params: stacked::PublicParams<Tree>,
    public: stacked::PublicInputs<TreeDomain<Tree>, Sha256Domain>,
    partitions: Vec<Vec<VanillaProof<Tree>>>,
}

/// Public inputs before those of the challenges: replica id, comm_d, comm_r.
const COMMON_INPUTS: usize = 3;

impl<Tree: SectorTree> Porep<Tree> {
    /// Checks all that the circuit relies on, and returns the heap bytes of the partition.
    fn check_partition(&self, k: usize, proofs: &[VanillaProof<Tree>], layout: &Layout) -> Result<u64> {
        check_count("challenges", layout.challenges, proofs.len())?;
        let inputs = self.public_inputs(k)?;
        let per_challenge = inputs.get(COMMON_INPUTS..).unwrap_or_default().chunks(inputs_per_challenge());
        check_count("challenges in the public inputs", layout.challenges, per_challenge.len())?;
        let mut heap = size_of_val(proofs) as u64;
        for (i, (proof, expected)) in proofs.iter().zip(per_challenge).enumerate() {
            let place = |error: crate::Error| error.at(format_args!("challenge {i}"));
            let opened = open_challenge(proof, layout).map_err(place)?;
            check_indexes(&opened.indexes, expected).map_err(place)?;
            heap += opened.heap;
        }
        self.check_roots(proofs)?;
        Ok(heap)
    }

    /// All challenges open the same trees, and those are the trees of the commitments.
    fn check_roots(&self, proofs: &[VanillaProof<Tree>]) -> Result<()> {
        let (Some(first), Some(tau)) = (proofs.first(), self.public.tau.as_ref()) else {
            return Err(invalid("no challenges"));
        };
        let (comm_c, comm_r_last) = (first.comm_c(), first.comm_r_last());
        if <Tree::Hasher as Hasher>::Function::hash2(&comm_c, &comm_r_last) != tau.comm_r {
            return Err(invalid("the roots of the column tree and the replica tree do not give comm_r"));
        }
        for (i, proof) in proofs.iter().enumerate() {
            if proof.comm_d_proofs.root() != tau.comm_d {
                return Err(invalid(format!("challenge {i}: the root of the data tree is not comm_d")));
            }
            if proof.comm_c() != comm_c || proof.comm_r_last() != comm_r_last {
                return Err(invalid(format!("challenge {i}: its trees' roots are not those of challenge 0")));
            }
        }
        Ok(())
    }
}

/// The order of a challenge's public inputs: data leaf, base parents, expander parents, the challenge,
/// replica leaf, column.
const fn inputs_per_challenge() -> usize {
    1 + BASE_DEGREE + EXP_DEGREE + 3
}

struct OpenedChallenge {
    /// In the order of the public inputs.
    indexes: Vec<u64>,
    heap: u64,
}

fn open_challenge<Tree: SectorTree>(proof: &VanillaProof<Tree>, layout: &Layout) -> Result<OpenedChallenge> {
    let columns = &proof.replica_column_proofs;
    check_count("base parents", BASE_DEGREE, columns.drg_parents.len())?;
    check_count("expander parents", EXP_DEGREE, columns.exp_parents.len())?;
    check_count("labelling proofs", layout.layers, proof.labeling_proofs.len())?;
    let data = layout.data_path.open(&proof.comm_d_proofs).map_err(|error| error.at("data leaf"))?;
    let replica =
        layout.replica_path.open(&proof.comm_r_last_proof).map_err(|error| error.at("replica leaf"))?;
    let column = open_column(&columns.c_x, layout).map_err(|error| error.at("column"))?;
    let mut opened =
        OpenedChallenge { indexes: vec![data.index], heap: data.heap + replica.heap + column.heap };
    for (i, parent) in columns.drg_parents.iter().chain(&columns.exp_parents).enumerate() {
        let parent = open_column(parent, layout).map_err(|error| error.at(format_args!("parent {i}")))?;
        opened.indexes.push(parent.index);
        opened.heap += parent.heap;
    }
    let label = proof.labeling_proofs.first().ok_or_else(|| invalid("no labelling proof"))?;
    opened.indexes.extend([labeled_node(label)?, replica.index, column.index]);
    opened.heap += size_of_val(proof.labeling_proofs.as_slice()) as u64;
    Ok(opened)
}

fn check_indexes(indexes: &[u64], expected: &[Scalar]) -> Result<()> {
    check_count("indexes", expected.len(), indexes.len())?;
    for (at, (index, input)) in indexes.iter().zip(expected).enumerate() {
        if Scalar::from(*index) != *input {
            return Err(invalid(format!(
                "the vanilla proof opens node {index}, but seed and replica id ask for another (public input {at} of the challenge)"
            )));
        }
    }
    Ok(())
}

/// A column's labels and the path of its hash. The fields of a `ColumnProof` are private: they are read
/// back from its encoding.
fn open_column<P: MerkleProofTrait>(proof: &ColumnProof<P>, layout: &Layout) -> Result<Opened> {
    type Column = (u32, Vec<[u8; 32]>);
    let ((_, rows), path): (Column, P) = bincode_exact(&encoded(proof)?)?;
    check_count("labels in a column", layout.layers, rows.len())?;
    for row in &rows {
        check_scalar(row, "a label in a column")?;
    }
    let mut opened = layout.replica_path.open(&path)?;
    opened.heap += size_of_val(rows.as_slice()) as u64;
    Ok(opened)
}

/// The node that a labelling proof is about.
fn labeled_node<H: Hasher>(proof: &LabelingProof<H>) -> Result<u64> {
    let (_, _, node): (Vec<[u8; 32]>, u32, u64) = bincode_exact(&encoded(proof)?)?;
    Ok(node)
}

fn encoded(value: &impl serde::Serialize) -> Result<Vec<u8>> {
    bincode::serialize(value).map_err(|error| invalid(error.to_string()))
}

impl<Tree: SectorTree> Statement for Porep<Tree> {
    type Circuit = StackedCircuit<Tree, DefaultPieceHasher>;

    fn partitions(&self) -> usize {
        self.partitions.len()
    }

    fn circuit(&self, partition: usize) -> Result<Self::Circuit> {
        let proofs = self.partitions.get(partition).ok_or_else(|| invalid("no such partition"))?;
        <Compound<Tree> as CompoundProof<StackedDrg<Tree, DefaultPieceHasher>, _>>::circuit(
            &self.public,
            (),
            proofs,
            &self.params,
            Some(partition),
        )
        .map_err(|error| invalid(error.to_string()))
    }

    fn public_inputs(&self, partition: usize) -> Result<Vec<Scalar>> {
        <Compound<Tree> as CompoundProof<StackedDrg<Tree, DefaultPieceHasher>, _>>::generate_public_inputs(
            &self.public,
            &self.params,
            Some(partition),
        )
        .map_err(|error| invalid(error.to_string()))
    }
}
