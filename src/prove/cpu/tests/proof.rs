//! Whole proofs against bellperson: same key, same witness, same randomness, same bytes.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bellperson::groth16::{create_proof, Parameters};
use blstrs::{Bls12, Scalar};
use ff::Field;
use proptest::prelude::*;
use rand_chacha::rand_core::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{backend, random_scalar};
use crate::cancel::Cancel;
use crate::circuit::testing::RandomCircuit;
use crate::circuit::{Expected, Matrices, Matrix, Witness};
use crate::kind::{CircuitId, ProofKind};
use crate::memory::{Class, Meter, Region, Stage};
use crate::prove::cpu::{CpuBackend, Evaluated, Kernels};
use crate::prove::fake::Fake;
use crate::prove::{Backend, Blinding, CircuitData, Step};
use crate::srs::develop::{develop, Target, ToxicWaste};
use crate::srs::{Store, StoreConfig, Work};
use crate::units::Bytes;

const ID: CircuitId = CircuitId { kind: ProofKind::WinningPost, sector_size: 2048 };
const STEM: &str = "v28-a-test-circuit";

/// A circuit's data on a fresh development key, and bellperson's reading of the same key.
pub(super) fn data(
    backend: &CpuBackend,
    folder: &Path,
    circuit: RandomCircuit,
) -> (CircuitData, Parameters<Bls12>) {
    let toxic = ToxicWaste::random(&mut ChaCha8Rng::seed_from_u64(circuit.seed));
    let cancel = Cancel::new();
    let work = Work { arithmetic: backend, progress: &|_| (), cancel: &cancel };
    let target = Target { folder, stem: STEM, circuit: ID };
    let developed = develop(&target, || circuit.blank(), &toxic, &work).unwrap();
    let store = Store::new(StoreConfig {
        parameter_dirs: vec![folder.to_owned()],
        cache_dir: folder.join("cache"),
        allow_development: true,
    });
    let srs = store.open(ID, STEM, &developed.shape, &work).unwrap();
    let matrices = Matrices::compile("test", circuit.blank()).unwrap();
    let params = Parameters::read(BufReader::new(File::open(developed.params).unwrap()), false).unwrap();
    (CircuitData { id: ID, matrices: Arc::new(matrices), srs: Arc::new(srs) }, params)
}

fn check(circuit: RandomCircuit, threads: usize) {
    let backend = backend(threads);
    let folder = tempfile::tempdir().unwrap();
    let (data, params) = data(&backend, folder.path(), circuit);
    let cancel = Cancel::new();
    let witness = Witness::generate(circuit, Expected { aux: 0, wide: 0 }, &cancel).unwrap();
    let blinding = Blinding { r: random_scalar([1; 32]), s: random_scalar([circuit.aux as u8; 32]) };
    let mut expected = Vec::new();
    create_proof(circuit, &params, blinding.r, blinding.s).unwrap().write(&mut expected).unwrap();
    for kernels in Kernels::available().unwrap() {
        let backend = CpuBackend::with_kernels(backend.pool.clone(), kernels).unwrap();
        let meter = Meter::unlimited();
        let step = Step { circuit: &data, witness: &witness, cancel: &cancel, meter: &meter };
        let started = backend.start(&step).unwrap();
        let working_set = backend.working_set(data.matrices.shape());
        assert!(meter.peak() > Bytes::ZERO && meter.peak() <= working_set, "{meter:?} {working_set}");
        let meter = Meter::unlimited();
        let proof = backend.finish(&Step { meter: &meter, ..step }, started, blinding).unwrap();
        let finishing = backend.finishing_set(data.matrices.shape(), witness.wide_values().len() as u64);
        assert!(meter.peak() > Bytes::ZERO && meter.peak() <= finishing, "{meter:?} {finishing}");
        assert_eq!(proof.to_bytes().as_slice(), expected, "{kernels:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn same_bytes_as_bellperson(
        seed: u64,
        inputs in 0_usize..12,
        aux in 0_usize..200,
        boolean_percent in prop_oneof![Just(0_u32), Just(100), 0_u32..100],
        threads in 1_usize..3,
    ) {
        check(RandomCircuit { seed, inputs, aux, boolean_percent, values: true }, threads);
    }
}

#[test]
fn same_bytes_as_bellperson_for_a_larger_circuit() {
    check(RandomCircuit { seed: 7, inputs: 70, aux: 9000, boolean_percent: 90, values: true }, 2);
}

/// A·w, B·w and C·w, one scalar a row.
fn evaluated(matrices: &Matrices, witness: &Witness) -> Evaluated {
    let rows = matrices.shape().rows() as usize;
    let mut vectors: [Region; 3] = std::array::from_fn(|_| {
        Region::zeroed(Class::WorkingSet, Stage::Proving, rows * size_of::<Scalar>()).unwrap()
    });
    let [a, b, c] = &mut vectors;
    let cancel = Cancel::new();
    matrices.evaluate(Matrix::A, witness, a.as_mut_slice(), &cancel).unwrap();
    matrices.evaluate(Matrix::B, witness, b.as_mut_slice(), &cancel).unwrap();
    matrices.evaluate_product(witness, c.as_mut_slice(), &cancel).unwrap();
    let [a, b, c] = vectors;
    Evaluated { a, b, c }
}

#[test]
fn evaluation_vectors_made_before_give_the_same_sum() {
    let backend = backend(2);
    let folder = tempfile::tempdir().unwrap();
    let circuit = RandomCircuit { seed: 5, inputs: 7, aux: 3000, boolean_percent: 90, values: true };
    let (data, _) = data(&backend, folder.path(), circuit);
    let cancel = Cancel::new();
    let witness = Witness::generate(circuit, Expected { aux: 0, wide: 0 }, &cancel).unwrap();
    let meter = Meter::unlimited();
    let step = Step { circuit: &data, witness: &witness, cancel: &cancel, meter: &meter };
    let expected = backend.start(&step).unwrap().h;
    let vectors = evaluated(&data.matrices, &witness);
    assert_eq!(backend.start_evaluated(&step, vectors).unwrap().h, expected);
    let mut vectors = evaluated(&data.matrices, &witness);
    vectors.c.as_mut_slice::<Scalar>()[0] += Scalar::ONE;
    assert_ne!(backend.start_evaluated(&step, vectors).unwrap().h, expected);
}

#[test]
fn an_evaluation_vector_of_another_length_is_refused() {
    let backend = backend(1);
    let folder = tempfile::tempdir().unwrap();
    let circuit = RandomCircuit { seed: 4, inputs: 2, aux: 20, boolean_percent: 50, values: true };
    let (data, _) = data(&backend, folder.path(), circuit);
    let cancel = Cancel::new();
    let witness = Witness::generate(circuit, Expected { aux: 0, wide: 0 }, &cancel).unwrap();
    let mut vectors = evaluated(&data.matrices, &witness);
    vectors.b.resize(vectors.b.len() - size_of::<Scalar>()).unwrap();
    let meter = Meter::unlimited();
    let step = Step { circuit: &data, witness: &witness, cancel: &cancel, meter: &meter };
    let error = backend.start_evaluated(&step, vectors).unwrap_err();
    assert_eq!(error.code(), crate::Code::InvalidArgument);
}

#[test]
fn a_backend_that_holds_more_than_it_projects_shows_it_to_the_meter() {
    let core = Arc::new(backend(1));
    let folder = tempfile::tempdir().unwrap();
    let circuit = RandomCircuit { seed: 5, inputs: 2, aux: 20, boolean_percent: 50, values: true };
    let (data, _) = data(&core, folder.path(), circuit);
    let witness = Witness::generate(circuit, Expected::default(), &Cancel::new()).unwrap();
    let excess = Bytes::mib(16);
    let fake = Fake::new("cpu", core.clone()).with_excess(excess);
    let shape = data.matrices.shape();
    assert_eq!(fake.working_set(shape), core.working_set(shape));
    assert!(fake.working_set(shape) < excess);
    let (told, meter) = (Arc::new(Mutex::new(Bytes::ZERO)), Meter::unlimited());
    let heard = told.clone();
    let finishing = Meter::new(excess, move |peak| *heard.lock().unwrap() = peak);
    let step = Step { circuit: &data, witness: &witness, cancel: &Cancel::new(), meter: &meter };
    let started = fake.start(&step).unwrap();
    fake.finish(&Step { meter: &finishing, ..step }, started, Blinding::random()).unwrap();
    for meter in [&meter, &finishing] {
        assert!(meter.peak() > excess, "the excess and the real work: {meter:?}");
        assert_eq!(meter.now(), Bytes::ZERO);
    }
    assert_eq!(*told.lock().unwrap(), finishing.peak());
}

#[test]
fn a_witness_of_another_circuit_is_refused() {
    let backend = backend(1);
    let folder = tempfile::tempdir().unwrap();
    let circuit = RandomCircuit { seed: 3, inputs: 2, aux: 20, boolean_percent: 50, values: true };
    let (data, _) = data(&backend, folder.path(), circuit);
    let cancel = Cancel::new();
    let other = RandomCircuit { aux: 21, ..circuit };
    let witness = Witness::generate(other, Expected { aux: 0, wide: 0 }, &cancel).unwrap();
    let meter = Meter::unlimited();
    let step = Step { circuit: &data, witness: &witness, cancel: &cancel, meter: &meter };
    let error = backend.start(&step).unwrap_err();
    assert_eq!(error.code(), crate::Code::InvalidArgument);
    cancel.cancel();
    let witness = Witness::generate(circuit, Expected { aux: 0, wide: 0 }, &Cancel::new()).unwrap();
    let step = Step { witness: &witness, ..step };
    assert_eq!(backend.start(&step).unwrap_err().code(), crate::Code::Cancelled);
}
