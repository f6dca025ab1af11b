//! Circuits: satisfied by real vanilla proofs, and of the measured sizes.

use forebay_sector::{Kind, Recipe, SealType, WindowType};
use storage_proofs_core::parameter_cache::PARAMETERS;

use crate::cancel::Cancel;
use crate::circuit::{self, synthesize_rows, Witness};
use crate::error::Code;
use crate::filecoin::catalog::FilecoinCatalog;
use crate::filecoin::testing::{default_request, request, sector};
use crate::filecoin::{blank_circuit, decode, parameter_stem};
use crate::kind::{CircuitId, ProofKind};
use crate::prove::{Catalog, ProofTask};
use crate::srs::{Store, StoreConfig};
use crate::wire::SubmitProofRequest;

fn message_bytes(request: &SubmitProofRequest) -> u64 {
    prost::Message::encoded_len(request) as u64
}

/// Synthesises the partition and checks the witness against statement and circuit, which is run once more in
/// the plain way: with indices, and without what gadgets do apart for witness generators.
fn check(request: &SubmitProofRequest, aux: usize) -> Witness {
    let task = decode(request).unwrap();
    assert_eq!(task.partitions(), 1);
    assert!(task.intake_bytes().0 > 0 && task.intake_bytes().0 < 4 * message_bytes(request));
    let witness = task.synthesize(0, 0, &Cancel::new()).unwrap();
    let (plain, violation) = circuit::check(task.circuit_with_values(0).unwrap()).unwrap();
    assert_eq!(violation, None);
    assert!(witness == plain);
    assert_eq!(witness.inputs()[1..], task.public_inputs(0).unwrap());
    assert_eq!(witness.aux_len(), aux);
    witness
}

/// At most this many wide values are projected for a circuit of SHA-256.
fn projected_wide(aux: usize) -> usize {
    aux / 50
}

#[test]
fn porep_is_satisfied_for_every_seal_type() {
    const AUX: usize = 2_685_673;
    let witness = check(&default_request(Kind::PorepC2), AUX);
    assert_eq!(witness.inputs().len(), 40);
    assert!(witness.wide_values().len() < projected_wide(AUX));
    for seal in [SealType::V1, SealType::Synthetic] {
        let sector = sector(Recipe { seal, ..Recipe::new(2) });
        check(&request(&sector, Kind::PorepC2), AUX);
    }
}

#[test]
fn update_is_satisfied() {
    const AUX: usize = 1_703_569;
    let witness = check(&default_request(Kind::SnapUpdate), AUX);
    assert_eq!(witness.inputs().len(), 5);
    assert!(witness.wide_values().len() < projected_wide(AUX));
}

#[test]
fn window_is_satisfied_for_every_version_and_partition() {
    const AUX: usize = 22_128;
    assert_eq!(check(&default_request(Kind::WindowPost), AUX).inputs().len(), 23);
    for (window, window_partition) in [(WindowType::V1, 0), (WindowType::V1, 3), (WindowType::V1_2, 3)] {
        let sector = sector(Recipe { window, window_partition, ..Recipe::new(3) });
        check(&request(&sector, Kind::WindowPost), AUX);
    }
}

#[test]
fn winning_is_satisfied() {
    assert_eq!(check(&default_request(Kind::WinningPost), 91_674).inputs().len(), 133);
}

/// The request with one byte of its payload changed: the last of a hash, which keeps it a field element.
fn tampered(kind: Kind, from_the_end: usize) -> SubmitProofRequest {
    let mut request = default_request(kind);
    let payload = &mut request.vanilla_proofs[0];
    let at = payload.len() - from_the_end;
    payload[at] ^= 1;
    request
}

#[test]
fn a_wrong_sibling_in_an_update_gives_a_witness_that_is_diagnosed() {
    // The payload ends with the last sibling of the last path, its index, the root and the leaf.
    let request = tampered(Kind::SnapUpdate, 8 + 32);
    let task = decode(&request).unwrap();
    assert!(task.synthesize(0, 0, &Cancel::new()).is_ok());
    let violation = task.diagnose(0).unwrap().unwrap();
    assert!(violation.contains("c_index=9"), "{violation}");
}

#[test]
fn a_wrong_sibling_in_a_post_is_refused_before_synthesis() {
    // comm_c and comm_r_last come after the last path.
    let request = tampered(Kind::WindowPost, 8 + 32 + 64);
    let task = decode(&request).unwrap();
    let error = task.synthesize(0, 0, &Cancel::new()).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), Code::InvalidRequest);
    assert!(error.message().contains("opening 9 does not lead to its root"), "{error}");
    assert!(task.diagnose(0).unwrap().is_some());
}

#[test]
fn a_cancelled_synthesis_stops() {
    let task = decode(&default_request(Kind::WindowPost)).unwrap();
    let cancel = Cancel::new();
    cancel.cancel();
    assert_eq!(task.synthesize(0, 0, &cancel).unwrap_err().code(), Code::Cancelled);
    assert_eq!(task.synthesize(1, 0, &Cancel::new()).unwrap_err().code(), Code::Internal);
    assert_eq!(task.assemble(&[]).unwrap_err().code(), Code::Internal);
}

#[test]
fn blank_circuits_have_the_measured_sizes() {
    for (id, inputs, aux, constraints) in [
        ("porep-2k", 40, 2_685_673, 2_687_921),
        ("snap-2k", 5, 1_703_569, 1_705_039),
        ("winning-2k", 133, 91_674, 90_750),
        ("wpost-2k", 23, 22_128, 21_866),
        ("winning-32g", 133, 375_210, 370_590),
    ] {
        let blank = blank_circuit(id.parse().unwrap()).unwrap();
        let shape = synthesize_rows(blank(), |_| Ok(())).unwrap();
        assert_eq!((shape.inputs, shape.aux, shape.constraints), (inputs, aux, constraints), "{id}");
    }
}

#[test]
fn parameter_files_have_the_names_of_the_official_list() {
    for id in CircuitId::all() {
        let stem = parameter_stem(id).unwrap();
        for extension in ["params", "vk"] {
            let listed = &PARAMETERS[&format!("{stem}.{extension}")];
            assert_eq!(listed.sector_size, id.sector_size, "{id}");
        }
    }
}

fn load_refusal(catalog: &dyn Catalog, id: CircuitId) -> Code {
    match catalog.load(id, &Cancel::new()) {
        Ok(_) => panic!("loaded"),
        Err(error) => error.code(),
    }
}

#[test]
fn the_catalog_names_what_is_missing_and_projects_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let config = StoreConfig {
        parameter_dirs: vec![folder.path().join("parameters")],
        cache_dir: folder.path().join("cache"),
        allow_development: true,
    };
    let catalog = FilecoinCatalog::new(Store::new(config), crate::srs::tests::Plain);
    let id = CircuitId::new(ProofKind::WindowPost, 2 << 10).unwrap();
    let stem = parameter_stem(id).unwrap();
    let error = catalog.footprint(id).unwrap_err();
    assert_eq!(error.code(), Code::ParametersMissing);
    assert!(error.message().contains(&stem) && error.message().contains("parameters"), "{error}");
    assert_eq!(load_refusal(&catalog, id), Code::ParametersMissing);

    std::fs::create_dir_all(folder.path().join("parameters")).unwrap();
    std::fs::write(folder.path().join("parameters").join(format!("{stem}.params")), b"").unwrap();
    let projected = catalog.footprint(id).unwrap();
    assert_eq!(projected.shape.aux, 22_128);
    assert_eq!(load_refusal(&catalog, id), Code::ParametersInvalid);

    let task: std::sync::Arc<dyn ProofTask> = decode(&default_request(Kind::WindowPost)).unwrap();
    let wide = task.synthesize(0, 0, &Cancel::new()).unwrap().wide_values().len() as u64;
    catalog.learn(id, wide).unwrap();
    let learnt = catalog.footprint(id).unwrap();
    assert!(learnt.wide_hint >= wide && learnt.wide_hint <= projected.wide_hint);
    assert!(learnt.witness <= projected.witness);
    assert_eq!(catalog.matrices(id).unwrap().wide_hint(), Some(wide), "kept on disk");
}
