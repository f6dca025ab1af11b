//! Finds the first constraint that a circuit's own values violate.

use std::fmt;

use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar;
use ff::Field;

use super::generator::Expected;
use super::scalar::synthesis_error;
use super::witness::Witness;
use crate::error::{Error, Result};

/// A constraint ⟨a, w⟩ · ⟨b, w⟩ = ⟨c, w⟩ that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Number of the constraint, from 0.
    pub constraint: u64,
    /// Its name, after the namespaces it is in.
    pub path: String,
    /// ⟨a, w⟩.
    pub a: Scalar,
    /// ⟨b, w⟩.
    pub b: Scalar,
    /// ⟨c, w⟩.
    pub c: Scalar,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "constraint {} ({}) does not hold: ", self.constraint, self.path)?;
        write!(f, "a = {}, b = {}, c = {}", self.a, self.b, self.c)
    }
}

/// Runs a circuit with values and checks every constraint; `None` where all hold. Values are kept as a
/// compact witness, so that this needs no more memory than proving.
pub fn first_violation<C: Circuit<Scalar>>(circuit: C) -> Result<Option<Violation>> {
    Ok(check(circuit)?.1)
}

/// As [`first_violation`]; the values until then are returned too.
pub(crate) fn check<C: Circuit<Scalar>>(circuit: C) -> Result<(Witness, Option<Violation>)> {
    let mut witness = Witness::empty(Expected::default())?;
    witness.push_input(Scalar::ONE)?;
    let mut checker = Checker { witness, path: Path::default(), constraints: 0, stop: None };
    let synthesized = circuit.synthesize(&mut checker);
    match checker.stop {
        Some(Stop::Violated(violation)) => Ok((checker.witness, Some(violation))),
        Some(Stop::Failed(error)) => Err(error),
        None => synthesized.map(|()| (checker.witness, None)).map_err(synthesis_error),
    }
}

/// The names of the namespaces entered, in one string.
#[derive(Default)]
struct Path {
    names: String,
    lengths: Vec<usize>,
}

impl Path {
    fn enter(&mut self, name: &str) {
        self.lengths.push(self.names.len());
        if !self.names.is_empty() {
            self.names.push('/');
        }
        self.names.push_str(name);
    }

    fn leave(&mut self) {
        self.names.truncate(self.lengths.pop().unwrap_or(0));
    }
}

/// Why the circuit need not go on.
enum Stop {
    Violated(Violation),
    Failed(Error),
}

struct Checker {
    witness: Witness,
    path: Path,
    constraints: u64,
    stop: Option<Stop>,
}

impl Checker {
    fn value(&self, combination: &LinearCombination<Scalar>) -> Scalar {
        let inputs = self.witness.inputs();
        let public = combination.iter_inputs().map(|(i, coefficient)| (inputs.get(*i).copied(), coefficient));
        let private =
            combination.iter_aux().map(|(i, coefficient)| (Some(self.witness.get(*i)), coefficient));
        public
            .chain(private)
            .fold(Scalar::ZERO, |sum, (value, coefficient)| sum + value.unwrap_or(Scalar::ZERO) * coefficient)
    }

    fn variable(&mut self, added: Result<()>, index: Index) -> std::result::Result<Variable, SynthesisError> {
        if let Err(error) = added {
            self.stop.get_or_insert(Stop::Failed(error));
        }
        match self.stop {
            None => Ok(Variable(index)),
            Some(_) => Err(SynthesisError::Unsatisfiable),
        }
    }
}

impl ConstraintSystem<Scalar> for Checker {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, value: F) -> std::result::Result<Variable, SynthesisError>
    where
        F: FnOnce() -> std::result::Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        let index = Index::Aux(self.witness.aux_len());
        let added = self.witness.push_aux(value()?);
        self.variable(added, index)
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, value: F) -> std::result::Result<Variable, SynthesisError>
    where
        F: FnOnce() -> std::result::Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        let index = Index::Input(self.witness.inputs().len());
        let added = self.witness.push_input(value()?);
        self.variable(added, index)
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, name: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
        if self.stop.is_some() {
            return;
        }
        let zero = LinearCombination::zero;
        let (a, b, c) = (self.value(&a(zero())), self.value(&b(zero())), self.value(&c(zero())));
        if a * b != c {
            self.path.enter(&name().into());
            let path = std::mem::take(&mut self.path.names);
            self.stop = Some(Stop::Violated(Violation { constraint: self.constraints, path, a, b, c }));
        }
        self.constraints += 1;
    }

    fn push_namespace<NR, N>(&mut self, name: N)
    where
        NR: Into<String>,
        N: FnOnce() -> NR,
    {
        self.path.enter(&name().into());
    }

    fn pop_namespace(&mut self) {
        self.path.leave();
    }

    fn get_root(&mut self) -> &mut Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::testing::RandomCircuit;
    use crate::error::Code;
    use bellpepper_core::num::AllocatedNum;

    /// Multiplies in a namespace, then claims a wrong product, then another.
    struct Wrong(Option<u64>);

    impl Circuit<Scalar> for Wrong {
        fn synthesize<CS: ConstraintSystem<Scalar>>(
            self,
            cs: &mut CS,
        ) -> std::result::Result<(), SynthesisError> {
            let claimed = self.0;
            let six = AllocatedNum::alloc(cs.namespace(|| "six"), || Ok(Scalar::from(6)))?;
            let mut inner = cs.namespace(|| "outer");
            let mut inner = inner.namespace(|| "inner");
            let square = six.mul(inner.namespace(|| "good"), &six)?;
            square.inputize(inner.namespace(|| "public"))?;
            let product = AllocatedNum::alloc(inner.namespace(|| "claim"), || {
                claimed.map(Scalar::from).ok_or(SynthesisError::AssignmentMissing)
            })?;
            for name in ["bad", "worse"] {
                inner.enforce(
                    || name,
                    |lc| lc + six.get_variable(),
                    |lc| lc + six.get_variable(),
                    |lc| lc + product.get_variable(),
                );
            }
            Ok(())
        }
    }

    #[test]
    fn names_the_first_violated_constraint() {
        let violation = first_violation(Wrong(Some(35))).unwrap().unwrap();
        assert_eq!((violation.constraint, violation.path.as_str()), (2, "outer/inner/bad"));
        assert_eq!((violation.a * violation.b, violation.c), (Scalar::from(36), Scalar::from(35)));
        assert!(violation.to_string().contains("outer/inner/bad"));
        assert_eq!(first_violation(Wrong(Some(36))).unwrap(), None);
    }

    #[test]
    fn missing_values_are_an_error() {
        assert_eq!(first_violation(Wrong(None)).unwrap_err().code(), Code::InvalidRequest);
    }

    #[test]
    fn random_circuits_are_satisfied() {
        for seed in 0..20 {
            let circuit = RandomCircuit { seed, inputs: 3, aux: 200, boolean_percent: 50, values: true };
            assert_eq!(first_violation(circuit).unwrap(), None, "seed {seed}");
        }
    }
}
