//! Same circuit, same key, same randomness: the same proof bytes as bellperson's prover, for the four kinds on the
//! inputs of a real sector. Filecoin's own verifier judges the proofs too.

mod support;

use bellperson::groth16::{create_proof, Parameters};
use blstrs::{Bls12, Scalar};
use ff::Field;
use forebay::cancel::Cancel;
use forebay::filecoin::{self, parameter_stem, FilecoinCatalog};
use forebay::kind::ProofKind::{self, PorepC2, SnapUpdate, WindowPost, WinningPost};
use forebay::memory::Meter;
use forebay::prove::cpu::{CpuBackend, Kernels};
use forebay::prove::{verify, Backend, Blinding, Catalog, Proof, Step};
use forebay::srs::{Store, StoreConfig};
use forebay::Code;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use support::{cache, request};

/// Proves the sector's request of this kind in both ways.
fn same_bytes_as_bellperson(kind: ProofKind) {
    cache::need_keys(&[kind]);
    let mut rng = ChaCha8Rng::seed_from_u64(kind as u64);
    let blinding = Blinding { r: Scalar::random(&mut rng), s: Scalar::random(&mut rng) };
    let task = filecoin::decode(&request::good(kind)).expect("a good request");
    let proof = prove(kind, Kernels::Fastest, blinding);
    if matches!(kind, WindowPost | WinningPost) {
        for kernels in Kernels::available().expect("kernels").into_iter().skip(1) {
            assert_eq!(prove(kind, kernels, blinding), proof, "{kernels}");
        }
    }

    let stem = parameter_stem(cache::circuit(kind)).expect("a name");
    let params = cache::parameters().join(format!("{stem}.params"));
    let key =
        Parameters::<Bls12>::build_mapped_parameters(params, false).expect("a key that bellperson reads");
    let circuit = task.circuit_with_values(0).expect("the circuit");
    let mut expected = Vec::new();
    let peer =
        create_proof::<Bls12, _, _>(circuit, &key, blinding.r, blinding.s).expect("bellperson's proof");
    peer.write(&mut expected).expect("192 bytes");
    assert_eq!(proof.to_bytes().as_slice(), expected);

    let accepted = |proof| {
        let bytes = task.assemble(&[proof]).expect("one partition");
        cache::sector().verify(request::of_sector(kind), &bytes).expect("Filecoin's verifier")
    };
    assert!(accepted(proof));
    assert!(!accepted(Proof { a: proof.c, c: proof.a, ..proof }));
}

/// Our proof, checked by our verifier against what the statement says.
fn prove(kind: ProofKind, kernels: Kernels, blinding: Blinding) -> Proof {
    let (pool, _) = cache::core();
    let core = CpuBackend::with_kernels(pool.clone(), kernels).expect("kernels of this processor");
    let store = Store::new(StoreConfig {
        parameter_dirs: vec![cache::parameters()],
        cache_dir: cache::folder().into(),
        allow_development: true,
    });
    let catalog = FilecoinCatalog::new(store, cache::core().1);
    let cancel = Cancel::new();
    let task = filecoin::decode(&request::good(kind)).expect("a good request");
    pool.install(|| {
        let circuit = catalog.load(cache::circuit(kind), &cancel).expect("the circuit's data");
        let witness = task.synthesize(0, 0, &cancel).expect("a witness");
        let step = Step { circuit: &circuit, witness: &witness, cancel: &cancel, meter: &Meter::unlimited() };
        let started = core.start(&step).expect("the heavy step");
        let proof = core.finish(&step, started, blinding).expect("a proof");

        let mut inputs = task.public_inputs(0).expect("the statement");
        assert!(verify(&circuit, &proof, &inputs).expect("a verdict"));
        inputs[0] += Scalar::ONE;
        assert!(!verify(&circuit, &proof, &inputs).expect("a verdict"));
        inputs.pop();
        assert_eq!(verify(&circuit, &proof, &inputs).expect_err("too few inputs").code(), Code::Internal);
        proof
    })
}

#[test]
fn window_post() {
    same_bytes_as_bellperson(WindowPost);
}

#[test]
fn winning_post() {
    same_bytes_as_bellperson(WinningPost);
}

#[test]
fn snap_update() {
    same_bytes_as_bellperson(SnapUpdate);
}

#[test]
fn porep_c2() {
    same_bytes_as_bellperson(PorepC2);
}
