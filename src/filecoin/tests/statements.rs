//! Public inputs, as Filecoin's own code computes them from the statement.

use std::sync::Arc;

use filecoin_hashers::Domain;
use filecoin_proofs::constants::SectorShape2KiB as Tree;
use filecoin_proofs_api::seal::{get_seal_inputs, SealCommitPhase1Output};
use forebay_sector::{Kind, Recipe, SealType, WindowType};
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::sector::SectorId;
use storage_proofs_post::fallback::{FallbackPoStCompound, PublicInputs, PublicParams, PublicSector};

use crate::error::Code;
use crate::filecoin::testing::{default_request, default_sector, request, sector};
use crate::filecoin::{decode, prover_id, request_from_c1};
use crate::kind::ProofKind;
use crate::prove::ProofTask;
use crate::wire::SubmitProofRequest;

#[test]
fn porep_inputs_are_those_of_the_verifier() {
    for seal in [SealType::V1, SealType::V1_1, SealType::Synthetic] {
        let sector = sector(Recipe { seal, ..Recipe::new(2) });
        let request = request(&sector, Kind::PorepC2);
        let c1: SealCommitPhase1Output = serde_json::from_slice(sector.c1_json()).unwrap();
        let expected = get_seal_inputs(
            c1.registered_proof,
            c1.comm_r,
            c1.comm_d,
            prover_id(request.miner_id),
            request.sector_number.into(),
            c1.ticket,
            c1.seed,
        )
        .unwrap();
        let task = decode(&request).unwrap();
        assert_eq!(task.kind(), ProofKind::PorepC2);
        assert_eq!(expected, [task.public_inputs(0).unwrap()]);
    }
}

fn post_sector(request: &SubmitProofRequest) -> PublicSector<filecoin_hashers::poseidon::PoseidonDomain> {
    let proof: filecoin_proofs::FallbackPoStSectorProof<Tree> =
        bincode::deserialize(&request.vanilla_proofs[0]).unwrap();
    PublicSector { id: proof.sector_id, comm_r: proof.comm_r }
}

/// What Filecoin's verifier computes for this partition of this list of sectors.
fn post_inputs(
    request: &SubmitProofRequest,
    params: &PublicParams,
    sectors: Vec<PublicSector<filecoin_hashers::poseidon::PoseidonDomain>>,
    partition: usize,
) -> Vec<blstrs::Scalar> {
    let public = PublicInputs {
        randomness: Domain::try_from_bytes(&request.randomness).unwrap(),
        prover_id: Domain::try_from_bytes(&prover_id(request.miner_id)).unwrap(),
        sectors,
        k: None,
    };
    FallbackPoStCompound::<Tree>::generate_public_inputs(&public, params, Some(partition)).unwrap()
}

#[test]
fn window_inputs_are_those_of_the_verifier_in_any_partition() {
    for (window, partition) in [(WindowType::V1_2, 0), (WindowType::V1, 0), (WindowType::V1, 2)] {
        let sector = sector(Recipe { window, window_partition: partition, ..Recipe::new(3) });
        let request = request(&sector, Kind::WindowPost);
        let config = crate::filecoin::registered::POST[request.registered_proof as usize].as_v1_config();
        let params = filecoin_proofs::parameters::window_post_public_params::<Tree>(&config).unwrap();
        let own = post_sector(&request);
        let before = params.sector_count * partition as usize;
        let others = (0..before).map(|i| PublicSector { id: SectorId::from(i as u64), ..own.clone() });
        let sectors = others.chain([own.clone()]).collect();
        let task = decode(&request).unwrap();
        assert_eq!(
            task.public_inputs(0).unwrap(),
            post_inputs(&request, &params, sectors, partition as usize)
        );
    }
}

#[test]
fn winning_inputs_are_those_of_the_verifier() {
    let request = default_request(Kind::WinningPost);
    let config = crate::filecoin::registered::POST[request.registered_proof as usize].as_v1_config();
    let params = filecoin_proofs::parameters::winning_post_public_params::<Tree>(&config).unwrap();
    let sectors = vec![post_sector(&request); params.sector_count];
    let task: Arc<dyn ProofTask> = decode(&request).unwrap();
    assert_eq!(task.public_inputs(0).unwrap(), post_inputs(&request, &params, sectors, 0));
}

#[test]
fn randomness_has_its_two_highest_bits_cleared() {
    let plain = default_request(Kind::WinningPost);
    let mut marked = plain.clone();
    marked.randomness[31] |= 0xc0;
    let inputs = |request| decode(request).unwrap().public_inputs(0).unwrap();
    assert_eq!(inputs(&marked), inputs(&plain));
}

#[test]
fn two_sectors_fill_a_window_partition_in_the_order_of_their_numbers() {
    // Two sectors of one miner cannot be drawn from seeds; the statement does not tie a sector to a miner.
    let mut requests = [4, 5].map(|seed| request(&sector(Recipe::new(seed)), Kind::WindowPost));
    requests.sort_by_key(|request| request.sector_number);
    let [one, two] = requests;
    let mut both = one.clone();
    both.vanilla_proofs.push(two.vanilla_proofs[0].clone());
    let error = decode(&both).map(|_| ()).unwrap_err();
    assert!(error.message().contains("the randomness asks for"), "the second sector's challenges: {error}");
    both.vanilla_proofs.reverse();
    let error = decode(&both).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), Code::InvalidRequest);
    assert!(error.message().contains("ascending"), "{error}");
}

#[test]
fn requests_are_built_from_raw_c1_and_from_the_envelope() {
    let expected = default_request(Kind::PorepC2);
    let raw = request_from_c1(default_sector().c1_json(), expected.miner_id, expected.sector_number).unwrap();
    let enveloped =
        request_from_c1(&expected.vanilla_proof, expected.miner_id, expected.sector_number).unwrap();
    assert_eq!(raw, enveloped);
    assert_eq!(raw.request_id, expected.request_id);
    let inputs = |request| decode(request).unwrap().public_inputs(0).unwrap();
    assert_eq!(inputs(&raw), inputs(&expected));
    assert_eq!(request_from_c1(b"{}", 1, 1).unwrap_err().code(), Code::InvalidRequest);
}
