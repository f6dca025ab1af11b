//! Runs a circuit's witness generator straight into a compact witness.

use std::cell::OnceCell;

use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar;
use ff::Field;

use super::scalar::synthesis_error;
use super::witness::Witness;
use crate::cancel::Cancel;
use crate::error::{Error, Result};

/// Capacity hints for a witness: how many private variables are expected, and how many of them wide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Private variables.
    pub aux: usize,
    /// Private variables that are neither 0 nor 1.
    pub wide: usize,
}

/// Variables between two looks at the cancellation flag.
const CANCEL_EVERY: usize = 1 << 16;

impl Witness {
    /// Runs the circuit's witness generator on the calling thread. Fails with `InvalidRequest` where the
    /// circuit lacks a value, `Unsatisfied` where it refuses its values, and `Cancelled`.
    pub fn generate<C>(circuit: C, expected: Expected, cancel: &Cancel) -> Result<Witness>
    where
        C: Circuit<Scalar>,
    {
        generate_with::<C, false>(circuit, expected, cancel)
    }

    /// As [`Witness::generate`]; a circuit that can synthesise its parts apart does so on the current
    /// rayon pool. The variables and their order are the same; `cancel` is looked at where parts are joined.
    pub fn generate_parallel<C>(circuit: C, expected: Expected, cancel: &Cancel) -> Result<Witness>
    where
        C: Circuit<Scalar>,
    {
        generate_with::<C, true>(circuit, expected, cancel)
    }
}

fn generate_with<C: Circuit<Scalar>, const FORKS: bool>(
    circuit: C,
    expected: Expected,
    cancel: &Cancel,
) -> Result<Witness> {
    cancel.check()?;
    let mut generator = Generator::<FORKS>::with(Witness::empty(expected)?, cancel.clone());
    generator.witness.push_input(Scalar::ONE)?;
    let synthesized = circuit.synthesize(&mut generator);
    generator.finish(synthesized)
}

/// A constraint system that keeps values only. With `FORKS`, circuits may fill several of them at once
/// and join them in order.
struct Generator<const FORKS: bool> {
    witness: Witness,
    cancel: Cancel,
    failure: Option<Error>,
    staged: Staged,
    /// All private variables, for a gadget that looks back at them through `aux_slice`.
    looked_at: OnceCell<Vec<Scalar>>,
}

/// Room handed out to gadgets that write their variables as scalars; emptied at the next call.
#[derive(Default)]
struct Staged {
    aux: Vec<Scalar>,
    pending: bool,
    /// Stands in for inputs that could not be allocated; what is written there is lost with the witness.
    lost_inputs: Vec<Scalar>,
}

impl<const FORKS: bool> Generator<FORKS> {
    fn with(witness: Witness, cancel: Cancel) -> Self {
        Generator { witness, cancel, failure: None, staged: Staged::default(), looked_at: OnceCell::new() }
    }

    fn finish(mut self, synthesized: std::result::Result<(), SynthesisError>) -> Result<Witness> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        synthesized.map_err(synthesis_error)?;
        self.settle()?;
        self.cancel.check()?;
        self.witness.shrink()?;
        Ok(self.witness)
    }

    /// Moves staged variables into the witness.
    fn settle(&mut self) -> Result<()> {
        if self.staged.pending {
            for value in self.staged.aux.drain(..) {
                self.witness.push_aux(value)?;
            }
            self.staged.pending = false;
        }
        Ok(())
    }

    fn push_aux(&mut self, value: Scalar) -> Result<usize> {
        self.settle()?;
        let index = self.witness.aux_len();
        if index % CANCEL_EVERY == 0 {
            self.cancel.check()?;
        }
        if self.looked_at.get().is_some() {
            self.looked_at = OnceCell::new();
        }
        self.witness.push_aux(value)?;
        Ok(index)
    }

    fn push_input(&mut self, value: Scalar) -> Result<usize> {
        self.settle()?;
        self.witness.push_input(value)?;
        Ok(self.witness.inputs().len() - 1)
    }

    /// Keeps the typed error for `finish` and stops the circuit with one of its own.
    #[cold]
    fn fail(&mut self, error: Error) -> SynthesisError {
        self.failure.get_or_insert(error);
        SynthesisError::Unsatisfiable
    }

    fn stage(&mut self, aux: usize, inputs: usize) -> (&mut [Scalar], &mut [Scalar]) {
        let first = self.witness.inputs().len();
        let mut settled = self.settle();
        for _ in 0..inputs {
            settled = settled.and_then(|()| self.witness.push_input(Scalar::ZERO));
        }
        self.looked_at = OnceCell::new();
        self.staged.aux.resize(aux, Scalar::ZERO);
        self.staged.pending = aux > 0;
        if let Err(error) = settled {
            self.fail(error);
            self.staged.lost_inputs.resize(inputs, Scalar::ZERO);
            return (&mut self.staged.aux, &mut self.staged.lost_inputs);
        }
        (&mut self.staged.aux, &mut self.witness.inputs_mut()[first..])
    }
}

impl<const FORKS: bool> ConstraintSystem<Scalar> for Generator<FORKS> {
    type Root = Self;

    fn new() -> Self {
        // A region without bytes maps nothing, so that this cannot fail.
        let witness = Witness::empty(Expected::default()).expect("nothing is mapped");
        Generator::with(witness, Cancel::new())
    }

    #[inline]
    fn alloc<F, A, AR>(&mut self, _: A, value: F) -> std::result::Result<Variable, SynthesisError>
    where
        F: FnOnce() -> std::result::Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        let value = value()?;
        match self.push_aux(value) {
            Ok(index) => Ok(Variable(Index::Aux(index))),
            Err(error) => Err(self.fail(error)),
        }
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> std::result::Result<Variable, SynthesisError>
    where
        F: FnOnce() -> std::result::Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        let value = value()?;
        match self.push_input(value) {
            Ok(index) => Ok(Variable(Index::Input(index))),
            Err(error) => Err(self.fail(error)),
        }
    }

    #[inline]
    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, _: LA, _: LB, _: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
    }

    fn push_namespace<NR, N>(&mut self, _: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
    }

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self {
        self
    }

    fn is_extensible() -> bool {
        FORKS
    }

    fn extend(&mut self, other: &Self) {
        if let Some(failure) = &other.failure {
            self.fail(failure.clone());
        }
        let mut joined = self.cancel.check().and_then(|()| self.settle());
        joined = joined.and_then(|()| self.witness.append(&other.witness));
        for value in other.staged.aux.iter().filter(|_| other.staged.pending) {
            joined = joined.and_then(|()| self.witness.push_aux(*value));
        }
        self.looked_at = OnceCell::new();
        if let Err(error) = joined {
            self.fail(error);
        }
    }

    fn is_witness_generator(&self) -> bool {
        true
    }

    fn extend_inputs(&mut self, values: &[Scalar]) {
        self.stage(0, values.len()).1.copy_from_slice(values);
    }

    fn extend_aux(&mut self, values: &[Scalar]) {
        self.stage(values.len(), 0).0.copy_from_slice(values);
    }

    fn allocate_empty(&mut self, aux: usize, inputs: usize) -> (&mut [Scalar], &mut [Scalar]) {
        self.stage(aux, inputs)
    }

    fn allocate_empty_inputs(&mut self, count: usize) -> &mut [Scalar] {
        self.stage(0, count).1
    }

    fn allocate_empty_aux(&mut self, count: usize) -> &mut [Scalar] {
        self.stage(count, 0).0
    }

    fn inputs_slice(&self) -> &[Scalar] {
        self.witness.inputs()
    }

    /// The private variables so far, expanded: costs 32 bytes each until the next one is allocated.
    fn aux_slice(&self) -> &[Scalar] {
        self.looked_at.get_or_init(|| {
            let staged = self.staged.aux.iter().filter(|_| self.staged.pending).copied();
            (0..self.witness.aux_len()).map(|i| self.witness.get(i)).chain(staged).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::testing::RandomCircuit;
    use crate::error::Code;

    type Synthesized = std::result::Result<(), SynthesisError>;

    fn generate<C: Circuit<Scalar>>(circuit: C) -> Result<Witness> {
        Witness::generate(circuit, Expected::default(), &Cancel::new())
    }

    fn same(a: &Witness, b: &Witness) -> bool {
        let parts = |w: &Witness| (w.aux_len(), w.wide_bits().to_vec(), w.value_bits().to_vec());
        parts(a) == parts(b) && a.wide_values() == b.wide_values() && a.inputs() == b.inputs()
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
        assert!(same(&serial, &joined));
        let missing = Several(vec![part(1, 10), part(2, 10).blank()]);
        let error = Witness::generate_parallel(missing, Expected::default(), &Cancel::new()).unwrap_err();
        assert_eq!(error.code(), Code::InvalidRequest);
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
}
