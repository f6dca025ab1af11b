//! A proof over this room's circuit and public inputs is what Filecoin's own verifier accepts.

use bellperson::groth16::{create_random_proof, prepare_verifying_key, verify_proof, Parameters};
use blstrs::{Bls12, Scalar};
use ff::Field;
use filecoin_proofs::constants::SectorShape2KiB;
use forebay_sector::Kind;

use crate::cancel::Cancel;
use crate::filecoin::registered::POST;
use crate::filecoin::task::Statement;
use crate::filecoin::testing::{default_request, default_sector, folder};
use crate::filecoin::{develop_parameters, parameter_stem, window};
use crate::kind::{CircuitId, ProofKind};
use crate::prove::{Proof, ProofTask};
use crate::srs::tests::Plain;
use crate::srs::Work;

/// The development key of the window circuit, made once and kept.
fn window_key() -> Parameters<Bls12> {
    let id = CircuitId::new(ProofKind::WindowPost, 2 << 10).unwrap();
    let params = folder().join(format!("{}.params", parameter_stem(id).unwrap()));
    if !params.is_file() {
        let work = Work { arithmetic: &Plain, progress: &|_| (), cancel: &Cancel::new() };
        develop_parameters(id, &folder(), &work).unwrap();
    }
    Parameters::read(std::io::BufReader::new(std::fs::File::open(params).unwrap()), false).unwrap()
}

#[test]
fn filecoin_accepts_a_window_proof_of_this_circuit_and_these_inputs() {
    let sector = default_sector();
    let request = default_request(Kind::WindowPost);
    let registered = POST[request.registered_proof as usize];
    let task = window::task::<SectorShape2KiB>(registered, &request).unwrap();
    let key = window_key();
    let made = create_random_proof(task.statement.circuit(0).unwrap(), &key, &mut rand::rngs::OsRng).unwrap();
    let proof = Proof { a: made.a, b: made.b, c: made.c };

    let prepared = prepare_verifying_key(&key.vk);
    let mut inputs = task.public_inputs(0).unwrap();
    assert!(verify_proof(&prepared, &made, &inputs).unwrap());
    let bytes = task.assemble(&[proof]).unwrap();
    assert!(sector.verify(Kind::WindowPost, &bytes).unwrap());

    inputs[1] += Scalar::ONE;
    assert!(!verify_proof(&prepared, &made, &inputs).unwrap());
    assert!(verify_proof(&prepared, &made, &inputs[1..]).is_err());
    let swapped = Proof { a: proof.c, c: proof.a, ..proof };
    assert!(!sector.verify(Kind::WindowPost, &task.assemble(&[swapped]).unwrap()).unwrap());
}
