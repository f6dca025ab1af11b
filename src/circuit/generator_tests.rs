//! The witness generator: every way in which circuits allocate.

use bellpepper_core::{Circuit, ConstraintSystem, Index, SynthesisError};
use blstrs::Scalar;
use ff::Field;
use proptest::prelude::*;

use super::testing::RandomCircuit;
use super::{Expected, Witness};
use crate::cancel::Cancel;
use crate::error::{Code, Result};

type Synthesized = std::result::Result<(), SynthesisError>;

fn generate<C: Circuit<Scalar>>(circuit: C) -> Result<Witness> {
    Witness::generate(circuit, Expected::default(), &Cancel::new())
}

/// Circuits one after the other; each may be synthesised apart.
struct Several(Vec<RandomCircuit>);

impl Circuit<Scalar> for Several {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Synthesized {
        for part in self.0 {
            if CS::is_extensible() {
                let mut fork = CS::new();
                fork.alloc_input(|| "temporary one", || Ok(Scalar::ONE))?;
                part.synthesize(&mut fork)?;
                cs.extend(&fork);
            } else {
                part.synthesize(cs)?;
            }
        }
        Ok(())
    }
}

#[test]
fn parts_synthesised_apart_join_in_order() {
    let part = |seed, aux| RandomCircuit { seed, inputs: 4, aux, boolean_percent: 70, values: true };
    let several = || Several(vec![part(1, 65), part(2, 0), part(3, 127), part(4, 300)]);
    let serial = generate(several()).unwrap();
    let joined = Witness::generate_parallel(several(), Expected::default(), &Cancel::new()).unwrap();
    assert_eq!((serial.aux_len(), serial.inputs().len()), (492, 17));
    assert_eq!(serial, joined);
    let missing = Several(vec![part(1, 10), part(2, 10).blank()]);
    let error = Witness::generate_parallel(missing, Expected::default(), &Cancel::new()).unwrap_err();
    assert_eq!(error.code(), Code::InvalidRequest);
}

#[test]
fn without_indices_all_variables_are_one() {
    struct Looks<const INDICES: bool>;
    impl<const INDICES: bool> Circuit<Scalar> for Looks<INDICES> {
        fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Synthesized {
            let private = cs.alloc(|| "private", || Ok(Scalar::from(7)))?;
            let public = cs.alloc_input(|| "public", || Ok(Scalar::from(8)))?;
            let expected = [Index::Aux(0), Index::Input(1)];
            let expected = if INDICES { expected } else { [Index::Input(0); 2] };
            assert_eq!([private, public].map(|variable| variable.get_unchecked()), expected);
            Ok(())
        }
    }
    generate(Looks::<true>).unwrap();
    let without =
        |circuit| Witness::generate_without_indices(circuit, Expected::default(), &Cancel::new()).unwrap();
    assert_eq!(without(Looks::<false>), generate(Looks::<true>).unwrap());
}

#[test]
fn indices_make_no_difference_to_the_witness() {
    for seed in 0..20 {
        let circuit = RandomCircuit { seed, inputs: 3, aux: 300, boolean_percent: 70, values: true };
        let without = Witness::generate_without_indices(circuit, Expected::default(), &Cancel::new());
        assert_eq!(without.unwrap(), generate(circuit).unwrap(), "seed {seed}");
    }
}

/// Variables one by one and (`true`) in slices, looked back at here and there.
#[derive(Clone, Debug)]
struct Mixed(Vec<(bool, Vec<u64>)>);

impl Mixed {
    fn values(&self) -> Vec<Scalar> {
        self.0.iter().flat_map(|(_, values)| values).map(|value| Scalar::from(*value)).collect()
    }
}

impl Circuit<Scalar> for Mixed {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Synthesized {
        let all = self.values();
        let mut done = 0;
        for (at, (staged, values)) in self.0.iter().enumerate() {
            let values: Vec<_> = values.iter().map(|value| Scalar::from(*value)).collect();
            if *staged {
                cs.extend_aux(&values);
            } else {
                for (i, value) in values.iter().enumerate() {
                    let variable = cs.alloc(|| "one by one", || Ok(*value))?;
                    assert_eq!(variable.get_unchecked(), Index::Aux(done + i));
                }
            }
            done += values.len();
            if at % 3 == 0 {
                assert_eq!(cs.aux_slice(), &all[..done]);
            }
        }
        Ok(())
    }
}

/// Two circuits, the second synthesised apart.
struct Joined(Mixed, Mixed);

impl Circuit<Scalar> for Joined {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Synthesized {
        self.0.synthesize(cs)?;
        let mut fork = CS::new();
        fork.alloc_input(|| "temporary one", || Ok(Scalar::ONE))?;
        self.1.synthesize(&mut fork)?;
        cs.extend(&fork);
        cs.alloc(|| "behind", || Ok(Scalar::from(5)))?;
        Ok(())
    }
}

fn mixed() -> impl Strategy<Value = Mixed> {
    let part = (any::<bool>(), proptest::collection::vec(0_u64..4, 0..90));
    proptest::collection::vec(part, 0..9).prop_map(Mixed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn variables_come_in_any_way(first in mixed(), second in mixed()) {
        let aux = |w: &Witness| (0..w.aux_len()).map(|i| w.get(i)).collect::<Vec<_>>();
        prop_assert_eq!(aux(&generate(first.clone()).unwrap()), first.values());
        let all = [first.values(), second.values(), vec![Scalar::from(5)]].concat();
        let joined = Joined(first, second);
        let joined = Witness::generate_parallel(joined, Expected::default(), &Cancel::new()).unwrap();
        prop_assert_eq!(aux(&joined), all);
    }
}

/// Writes variables in every way that a witness generator offers.
struct Staging;

impl Circuit<Scalar> for Staging {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Synthesized {
        let n = Scalar::from;
        assert!(cs.is_witness_generator());
        cs.alloc(|| "0", || Ok(n(10)))?;
        let (aux, inputs) = cs.allocate_empty(2, 1);
        aux.copy_from_slice(&[n(1), n(11)]);
        inputs[0] = n(20);
        assert_eq!(cs.aux_slice(), [n(10), n(1), n(11)]);
        assert_eq!(cs.inputs_slice(), [n(1), n(20)]);
        cs.extend_aux(&[n(0), n(12)]);
        cs.extend_inputs(&[n(21)]);
        cs.alloc_input(|| "input", || Ok(n(22)))?;
        assert_eq!(cs.aux_slice(), [n(10), n(1), n(11), n(0), n(12)]);
        cs.allocate_empty_aux(1)[0] = n(13);
        cs.allocate_empty_inputs(1)[0] = n(23);
        let last = cs.alloc(|| "last", || Ok(n(14)))?;
        assert_eq!(last.get_unchecked(), Index::Aux(6));
        assert_eq!(cs.aux_slice().len(), 7);
        cs.allocate_empty_aux(1)[0] = n(15);
        Ok(())
    }
}

#[test]
fn staged_variables_keep_their_order() {
    let witness = generate(Staging).unwrap();
    let aux: Vec<_> = (0..witness.aux_len()).map(|i| witness.get(i)).collect();
    assert_eq!(aux, [10, 1, 11, 0, 12, 13, 14, 15].map(Scalar::from));
    assert_eq!(witness.inputs(), [1, 20, 21, 22, 23].map(Scalar::from));
}

/// Cancels itself after some variables, then goes on for as long as it may.
struct Endless(Cancel);

impl Circuit<Scalar> for Endless {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Synthesized {
        for i in 0_usize.. {
            if i == 1000 {
                self.0.cancel();
            }
            cs.alloc(|| "again", || Ok(Scalar::ONE))?;
        }
        Ok(())
    }
}

#[test]
fn cancelling_stops_synthesis() {
    let cancel = Cancel::new();
    let error = Witness::generate(Endless(cancel.clone()), Expected::default(), &cancel).unwrap_err();
    assert_eq!(error.code(), Code::Cancelled);
    let before = Witness::generate(Staging, Expected::default(), &cancel).unwrap_err();
    assert_eq!(before.code(), Code::Cancelled);
}

struct Fails(fn() -> SynthesisError);

impl Circuit<Scalar> for Fails {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, _: &mut CS) -> Synthesized {
        Err(self.0())
    }
}

#[test]
fn synthesis_errors_are_typed() {
    for (error, code) in [
        (Fails(|| SynthesisError::AssignmentMissing), Code::InvalidRequest),
        (Fails(|| SynthesisError::Unsatisfiable), Code::Unsatisfied),
        (Fails(|| SynthesisError::DivisionByZero), Code::Unsatisfied),
        (Fails(|| std::io::Error::other("disk").into()), Code::System),
        (Fails(|| SynthesisError::MalformedSrs), Code::Internal),
    ] {
        assert_eq!(generate(error).unwrap_err().code(), code);
    }
}
