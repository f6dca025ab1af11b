//! Runs a circuit's witness generator straight into a compact witness.

use std::cell::OnceCell;

use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar;
use ff::Field;

use super::scalar::synthesis_error;
use super::tail::Tail;
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

impl Witness {
    /// Runs the circuit's witness generator on the calling thread. Fails with `InvalidRequest` where the
    /// circuit lacks a value, `Unsatisfied` where it refuses its values, and `Cancelled`.
    pub fn generate<C>(circuit: C, expected: Expected, cancel: &Cancel) -> Result<Witness>
    where
        C: Circuit<Scalar>,
    {
        generate_with::<C, false, true>(circuit, expected, cancel)
    }

    /// As [`Witness::generate`], for circuits that never look at a variable's index. Every variable is handed
    /// to the circuit as ONE: the combinations that gadgets gather for constraints, which nobody keeps here,
    /// stay one term long. The witness is the same.
    pub fn generate_without_indices<C>(circuit: C, expected: Expected, cancel: &Cancel) -> Result<Witness>
    where
        C: Circuit<Scalar>,
    {
        generate_with::<C, false, false>(circuit, expected, cancel)
    }

    /// As [`Witness::generate`]; a circuit that can synthesise its parts apart does so on the current
    /// rayon pool. The variables and their order are the same; `cancel` is looked at where parts are joined.
    pub fn generate_parallel<C>(circuit: C, expected: Expected, cancel: &Cancel) -> Result<Witness>
    where
        C: Circuit<Scalar>,
    {
        generate_with::<C, true, true>(circuit, expected, cancel)
    }
}

fn generate_with<C: Circuit<Scalar>, const FORKS: bool, const INDICES: bool>(
    circuit: C,
    expected: Expected,
    cancel: &Cancel,
) -> Result<Witness> {
    cancel.check()?;
    let mut generator = Generator::<FORKS, INDICES>::with(Witness::empty(expected)?, cancel.clone());
    generator.witness.push_input(Scalar::ONE)?;
    let synthesized = circuit.synthesize(&mut generator);
    generator.finish(synthesized)
}

/// A constraint system that keeps values only. With `FORKS`, circuits may fill several of them at once
/// and join them in order. Without `INDICES`, all variables are ONE to the circuit.
struct Generator<const FORKS: bool, const INDICES: bool> {
    witness: Witness,
    tail: Tail,
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

impl<const FORKS: bool, const INDICES: bool> Generator<FORKS, INDICES> {
    fn with(witness: Witness, cancel: Cancel) -> Self {
        Generator {
            tail: Tail::after(witness.aux_len()),
            witness,
            cancel,
            failure: None,
            staged: Staged::default(),
            looked_at: OnceCell::new(),
        }
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

    /// Moves gathered and staged variables into the witness.
    fn settle(&mut self) -> Result<()> {
        self.take_tail()?;
        if self.staged.pending {
            for value in self.staged.aux.drain(..) {
                self.witness.push_aux(value)?;
            }
            self.staged.pending = false;
            self.tail = Tail::after(self.witness.aux_len());
        }
        Ok(())
    }

    fn take_tail(&mut self) -> Result<()> {
        self.witness.take(&self.tail)?;
        self.tail = Tail::after(self.witness.aux_len());
        Ok(())
    }

    #[inline(always)]
    fn push_aux(&mut self, value: Scalar) -> Result<()> {
        if self.staged.pending || self.looked_at.get().is_some() {
            self.leave_slices()?;
        }
        if self.tail.push(&value) {
            self.witness.push_wide(value)?;
        }
        if self.tail.is_full() {
            self.next_word()?;
        }
        Ok(())
    }

    /// Ends what a gadget did with slices of variables.
    #[cold]
    fn leave_slices(&mut self) -> Result<()> {
        self.looked_at = OnceCell::new();
        self.settle()?;
        self.cancel.check()
    }

    #[inline(never)]
    fn next_word(&mut self) -> Result<()> {
        self.take_tail()?;
        self.cancel.check()
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

    #[inline(always)]
    fn newest_aux(&self) -> Variable {
        if INDICES {
            Variable(Index::Aux(self.witness.aux_len() + self.tail.len() - 1))
        } else {
            Self::one()
        }
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

impl<const FORKS: bool, const INDICES: bool> ConstraintSystem<Scalar> for Generator<FORKS, INDICES> {
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
            Ok(()) => Ok(self.newest_aux()),
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
            Ok(index) if INDICES => Ok(Variable(Index::Input(index))),
            Ok(_) => Ok(Self::one()),
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
            return;
        }
        let mut joined = self.cancel.check().and_then(|()| self.settle());
        joined = joined.and_then(|()| self.witness.append(&other.witness, &other.tail));
        for value in other.staged.aux.iter().filter(|_| other.staged.pending) {
            joined = joined.and_then(|()| self.witness.push_aux(*value));
        }
        self.tail = Tail::after(self.witness.aux_len());
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
            let mut wide_values = self.witness.wide_values().iter().copied();
            let mut expanded = Vec::new();
            for word in self.witness.words(&self.tail) {
                expanded.extend((0..word.len).map(|i| match (word.wide >> i & 1, word.value >> i & 1) {
                    (0, bit) => Scalar::from(bit),
                    _ => wide_values.next().unwrap_or_default(),
                }));
            }
            expanded.extend(self.staged.aux.iter().filter(|_| self.staged.pending));
            expanded
        })
    }
}
