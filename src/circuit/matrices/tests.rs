//! The matrices against the plainest record of the same circuit.

use std::collections::BTreeSet;

use bellpepper_core::boolean::{AllocatedBit, Boolean};
use bellpepper_core::num::AllocatedNum;
use bellpepper_core::{Circuit, ConstraintSystem, LinearCombination, SynthesisError};
use blstrs::Scalar;
use ff::Field;
use proptest::prelude::*;

use super::*;
use crate::circuit::testing::{RandomCircuit, Recorder};
use crate::circuit::{synthesize_rows, Expected};

fn generate<C: Circuit<Scalar>>(circuit: C) -> Witness {
    Witness::generate(circuit, Expected::default(), &Cancel::new()).unwrap()
}

fn set_bits(bitmap: &[u64]) -> BTreeSet<usize> {
    (0..bitmap.len() * 64).filter(|i| bitmap[i / 64] >> (i % 64) & 1 == 1).collect()
}

/// Columns with a non-zero coefficient on one side: inputs, private variables. What bellperson's density
/// trackers count.
fn columns(recorder: &Recorder, side: usize) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let rows = || recorder.rows.iter().map(move |row| &row[side]);
    let nonzero = |(i, c): (&usize, &Scalar)| (*c != Scalar::ZERO).then_some(*i);
    (
        rows().flat_map(|lc| lc.iter_inputs().filter_map(nonzero)).collect(),
        rows().flat_map(|lc| lc.iter_aux().filter_map(nonzero)).collect(),
    )
}

fn nonzeros(recorder: &Recorder, side: usize) -> u64 {
    let rows = recorder.rows.iter().map(|row| &row[side]);
    rows.map(|lc| lc.iter().filter(|(_, c)| **c != Scalar::ZERO).count() as u64).sum()
}

pub(super) fn equal(a: &Matrices, b: &Matrices) -> bool {
    let bitmaps = |m: &Matrices| {
        let densities = m.densities();
        [densities.a_aux().to_vec(), densities.b_input().to_vec(), densities.b_aux().to_vec()]
    };
    (a.tag(), a.shape(), a.wide_hint()) == (b.tag(), b.shape(), b.wide_hint())
        && a.dictionary == b.dictionary
        && a.sequence.chunks == b.sequence.chunks
        && a.sequence.frames.as_slice() == b.sequence.frames.as_slice()
        && bitmaps(a) == bitmaps(b)
}

fn check_shape(matrices: &Matrices, recorder: &Recorder) {
    let ((_, a_aux), (b_input, b_aux)) = (columns(recorder, 0), columns(recorder, 1));
    let expected = Shape {
        inputs: recorder.inputs.len() as u64,
        aux: recorder.aux.len() as u64,
        constraints: recorder.rows.len() as u64,
        nonzeros_a: nonzeros(recorder, 0),
        nonzeros_b: nonzeros(recorder, 1),
        a_aux_density: a_aux.len() as u64,
        b_input_density: b_input.len() as u64,
        b_aux_density: b_aux.len() as u64,
    };
    assert_eq!(*matrices.shape(), expected);
    assert_eq!(set_bits(matrices.densities().a_aux()), a_aux);
    assert_eq!(set_bits(matrices.densities().b_input()), b_input);
    assert_eq!(set_bits(matrices.densities().b_aux()), b_aux);
}

fn check_witness(witness: &Witness, recorder: &Recorder) {
    assert_eq!(witness.inputs(), recorder.inputs);
    assert_eq!(witness.aux_len(), recorder.aux.len());
    for (i, value) in recorder.aux.iter().enumerate() {
        assert_eq!(witness.get(i), *value, "private variable {i}");
    }
}

pub(super) fn check_evaluation(matrices: &Matrices, witness: &Witness, recorder: &Recorder) {
    let rows = matrices.shape().rows() as usize;
    for len in [rows, rows + 3, matrices.shape().domain() as usize] {
        let mut out = vec![Scalar::from(9); len];
        let cancel = Cancel::new();
        let (a, b) = (recorder.evaluate(0, len), recorder.evaluate(1, len));
        matrices.evaluate(Matrix::A, witness, &mut out, &cancel).unwrap();
        assert!(out == a, "A·w differs");
        matrices.evaluate(Matrix::B, witness, &mut out, &cancel).unwrap();
        assert!(out == b, "B·w differs");
        matrices.evaluate_product(witness, &mut out, &cancel).unwrap();
        assert!(out.iter().zip(a.iter().zip(&b)).all(|(c, (a, b))| *c == a * b), "A·w ∘ B·w differs");
    }
}

/// Everything about a circuit that can be built with and without values.
fn check_all<C: Circuit<Scalar>>(real: impl Fn() -> C, blank: impl Fn() -> C) -> Matrices {
    let recorder = Recorder::of(real()).unwrap();
    let witness = generate(real());
    check_witness(&witness, &recorder);
    let matrices = Matrices::compile("test", blank()).unwrap();
    let from_values = Matrices::compile("test", real()).unwrap();
    assert!(equal(&matrices, &from_values), "matrices depend on the values");
    check_shape(&matrices, &recorder);
    check_evaluation(&matrices, &witness, &recorder);
    matrices
}

fn circuits() -> impl Strategy<Value = RandomCircuit> {
    (any::<u64>(), 0_usize..100, 0_usize..300, 0_u32..=100).prop_map(
        |(seed, inputs, aux, boolean_percent)| RandomCircuit {
            seed,
            inputs,
            aux,
            boolean_percent,
            values: true,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn random_circuits(circuit in circuits()) {
        check_all(|| circuit, || circuit.blank());
        let witness = generate(circuit);
        prop_assert_eq!(&witness.inputs()[1..], circuit.public_inputs());
    }

    #[test]
    fn rows_are_shown_as_they_are(circuit in circuits()) {
        let recorder = Recorder::of(circuit).unwrap();
        let mut seen = Vec::new();
        let shape = synthesize_rows(circuit.blank(), |row| {
            assert_eq!(row.index, seen.len() as u64);
            seen.push([row.a.clone(), row.b.clone(), row.c.clone()]);
            Ok(())
        })
        .unwrap();
        let same = seen.iter().flatten().zip(recorder.rows.iter().flatten());
        prop_assert!(same.into_iter().all(|(a, b)| a.iter().eq(b.iter())));
        prop_assert_eq!(seen.len(), recorder.rows.len());
        let matrices = Matrices::compile("", circuit).unwrap();
        prop_assert_eq!(&shape, matrices.shape());
    }
}

#[test]
fn chunks_and_far_columns() {
    // Three chunks; private variables and inputs further back than patterns reach.
    let circuit = RandomCircuit { seed: 3, inputs: 2_000, aux: 140_000, boolean_percent: 97, values: true };
    let matrices = check_all(|| circuit, || circuit.blank());
    assert_eq!(matrices.sequence.chunks.len(), 3);
    let last = matrices.sequence.chunks[2];
    assert!(last.far[0] > 0 && last.far[1] > 0 && last.far[2] > 0, "{last:?}");
}

/// Packs variables that straddle the border between near and far, some of them wide.
struct Straddling {
    wide: bool,
}

impl Circuit<Scalar> for Straddling {
    fn synthesize<CS: ConstraintSystem<Scalar>>(
        self,
        cs: &mut CS,
    ) -> std::result::Result<(), SynthesisError> {
        let mut variables = Vec::new();
        for i in 0..pattern::NEAR_AUX + 50 {
            let value = if self.wide && i % 7 == 3 { 5 } else { (i % 3 == 0) as u64 };
            variables.push(cs.alloc(|| "variable", || Ok(Scalar::from(value)))?);
        }
        for start in 0..90 {
            let packed = |mut lc: LinearCombination<Scalar>| {
                let mut coefficient = Scalar::from(3);
                for variable in &variables[start..start + 40] {
                    lc = lc + (coefficient, *variable);
                    coefficient = coefficient.double();
                }
                lc
            };
            cs.enforce(|| "row", packed, packed, |lc| lc);
        }
        Ok(())
    }
}

#[test]
fn runs_across_every_border() {
    for wide in [false, true] {
        let matrices = check_all(|| Straddling { wide }, || Straddling { wide: false });
        let mut lens: Vec<_> = matrices.dictionary.terms.iter().map(|term| term.len).collect();
        lens.sort_unstable();
        lens.dedup();
        assert!(lens.starts_with(&[1, 4]) && lens.ends_with(&[31, 32]), "{lens:?}");
    }
}

/// Rows of every width: more than 2^16 patterns.
#[test]
fn more_patterns_than_sixteen_bits_number() {
    let circuit = RandomCircuit { seed: 5, inputs: 1, aux: 110_000, boolean_percent: 30, values: true };
    let matrices = Matrices::compile("test", circuit.blank()).unwrap();
    assert_eq!(matrices.sequence.chunks.iter().map(|chunk| chunk.width).max(), Some(4));
    check_evaluation(&matrices, &generate(circuit), &Recorder::of(circuit).unwrap());
}

/// A preimage hashed with SHA-256 and Poseidon in turn, with inputs allocated as they come.
#[derive(Clone)]
struct Gadgets {
    bytes: Option<Vec<u8>>,
}

impl Circuit<Scalar> for Gadgets {
    fn synthesize<CS: ConstraintSystem<Scalar>>(
        self,
        cs: &mut CS,
    ) -> std::result::Result<(), SynthesisError> {
        for round in 0..2_usize {
            let cs = &mut cs.namespace(|| format!("round {round}"));
            let mut bits = Vec::new();
            for i in 0..512 {
                let bit = self.bytes.as_ref().map(|bytes| bytes[i / 8] >> ((i + round) % 8) & 1 == 1);
                bits.push(Boolean::from(AllocatedBit::alloc(cs.namespace(|| format!("bit {i}")), bit)?));
            }
            let digest = bellpepper::gadgets::sha256::sha256(cs.namespace(|| "sha256"), &bits)?;
            bellpepper::gadgets::multipack::pack_into_inputs(cs.namespace(|| "pack"), &digest)?;
            let number = digest
                .iter()
                .take(200)
                .enumerate()
                .fold(bellpepper_core::num::Num::zero(), |sum, (i, bit)| {
                    sum.add_bool_with_coeff(CS::one(), bit, Scalar::from(2).pow([i as u64]))
                });
            let packed = AllocatedNum::alloc(cs.namespace(|| "packed"), || {
                number.get_value().ok_or(SynthesisError::AssignmentMissing)
            })?;
            cs.enforce(
                || "packing",
                |_| number.lc(Scalar::ONE),
                |lc| lc + CS::one(),
                |lc| lc + packed.get_variable(),
            );
            let constants = &*filecoin_hashers::POSEIDON_CONSTANTS_2;
            let pair = vec![packed.clone(), packed.clone()];
            let optimal = neptune::circuit2::poseidon_hash_allocated(
                cs.namespace(|| "optimal"),
                pair.clone(),
                constants,
            )?;
            let legacy = neptune::circuit::poseidon_hash(cs.namespace(|| "legacy"), pair, constants)?;
            optimal.inputize(cs.namespace(|| "optimal is public"))?;
            legacy.inputize(cs.namespace(|| "legacy is public"))?;
        }
        Ok(())
    }
}

#[test]
fn gadgets_and_late_inputs() {
    let real = Gadgets { bytes: Some((0..64).map(|i| (i * 37 + 11) as u8).collect()) };
    let blank = Gadgets { bytes: None };
    let recorder = Recorder::of(real.clone()).unwrap();
    assert_eq!(recorder.inputs[3], recorder.inputs[4], "both hashes give the same number");
    assert_eq!(crate::circuit::first_violation(real.clone()).unwrap(), None);
    let matrices = check_all(|| real.clone(), || blank.clone());
    let longest = matrices.dictionary.terms.iter().map(|term| term.len).max();
    assert_eq!(longest, Some(pattern::MAX_RUN as u8), "words of 32 bits are packed as runs");
    let distinct = matrices.distinct();
    assert!(distinct.patterns * 20 < recorder.rows.len(), "{distinct:?} of {} rows", recorder.rows.len());
}

#[test]
fn what_does_not_fit_is_refused() {
    let circuit = RandomCircuit { seed: 1, inputs: 3, aux: 50, boolean_percent: 50, values: true };
    let matrices = Matrices::compile("test", circuit).unwrap();
    let other = generate(RandomCircuit { aux: 51, ..circuit });
    let rows = matrices.shape().rows() as usize;
    let mut out = vec![Scalar::ZERO; rows];
    let cancel = Cancel::new();
    assert!(matrices.evaluate(Matrix::A, &other, &mut out, &cancel).is_err());
    let witness = generate(circuit);
    assert!(matrices.evaluate(Matrix::A, &witness, &mut out[1..], &cancel).is_err());
    cancel.cancel();
    let error = matrices.evaluate(Matrix::A, &witness, &mut out, &cancel).unwrap_err();
    assert_eq!(error.code(), Code::Cancelled);
    assert!(Matrices::compile(&"x".repeat(300), circuit).is_err());
}

/// Refers to a variable that does not exist.
struct Dangling;

impl Circuit<Scalar> for Dangling {
    fn synthesize<CS: ConstraintSystem<Scalar>>(
        self,
        cs: &mut CS,
    ) -> std::result::Result<(), SynthesisError> {
        let nowhere = bellpepper_core::Variable::new_unchecked(bellpepper_core::Index::Aux(70));
        cs.alloc(|| "only", || Ok(Scalar::ONE))?;
        cs.enforce(|| "dangling", |lc: LinearCombination<Scalar>| lc + nowhere, |lc| lc, |lc| lc);
        Ok(())
    }
}

#[test]
fn dangling_variables_are_refused() {
    assert_eq!(Matrices::compile("test", Dangling).unwrap_err().code(), Code::Internal);
}

#[test]
fn pools_of_any_size_agree() {
    let circuit = RandomCircuit { seed: 11, inputs: 9, aux: 70_000, boolean_percent: 90, values: true };
    let matrices = Matrices::compile("test", circuit).unwrap();
    let witness = generate(circuit);
    let results = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut out = vec![Scalar::ONE; matrices.shape().domain() as usize];
        pool.install(|| matrices.evaluate(Matrix::A, &witness, &mut out, &Cancel::new())).unwrap();
        out
    });
    assert!(results[0] == results[1]);
}
