//! Streams a circuit's constraints, one row at a time, without values.

use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar;
use ff::Field;

use super::density::{mark, Densities};
use super::scalar::synthesis_error;
use super::shape::Shape;
use crate::error::{Code, Error, Result};

/// One constraint ⟨a, w⟩ · ⟨b, w⟩ = ⟨c, w⟩. Coefficients may be zero; no variable occurs twice in one
/// combination, and each combination lists its inputs, then its private variables, in rising order.
pub struct Row<'a> {
    /// Number of the constraint, from 0.
    pub index: u64,
    /// Inputs allocated so far, ONE included.
    pub inputs: u64,
    /// Private variables allocated so far.
    pub aux: u64,
    /// The A combination.
    pub a: &'a LinearCombination<Scalar>,
    /// The B combination.
    pub b: &'a LinearCombination<Scalar>,
    /// The C combination.
    pub c: &'a LinearCombination<Scalar>,
}

/// Runs the circuit without asking it for values and shows each constraint to `visit`, in order.
/// The rows that the prover adds for the inputs are not among them. The first error of `visit` ends it.
pub fn synthesize_rows<C, V>(circuit: C, visit: V) -> Result<Shape>
where
    C: Circuit<Scalar>,
    V: FnMut(Row<'_>) -> Result<()> + Send,
{
    Ok(stream::<C, V, true>(circuit, visit)?.0)
}

/// As [`synthesize_rows`]; without `WITH_C` the C combinations are left empty.
pub(super) fn stream<C, V, const WITH_C: bool>(circuit: C, visit: V) -> Result<(Shape, Densities)>
where
    C: Circuit<Scalar>,
    V: FnMut(Row<'_>) -> Result<()> + Send,
{
    let mut rows = RowStream::<V, WITH_C> {
        visit,
        shape: Shape { inputs: 1, ..Shape::default() },
        densities: Densities::empty()?,
        failure: None,
    };
    rows.densities.add_input(1)?;
    let synthesized = circuit.synthesize(&mut rows);
    if let Some(failure) = rows.failure {
        return Err(failure);
    }
    synthesized.map_err(synthesis_error)?;
    rows.densities.shrink()?;
    Ok((rows.shape, rows.densities))
}

struct RowStream<V, const WITH_C: bool> {
    visit: V,
    shape: Shape,
    densities: Densities,
    failure: Option<Error>,
}

impl<V: FnMut(Row<'_>) -> Result<()>, const WITH_C: bool> RowStream<V, WITH_C> {
    fn row(&mut self, [a, b, c]: [&LinearCombination<Scalar>; 3]) -> Result<()> {
        let row =
            Row { index: self.shape.constraints, inputs: self.shape.inputs, aux: self.shape.aux, a, b, c };
        self.count(&row)?;
        (self.visit)(row)?;
        self.shape.constraints += 1;
        Ok(())
    }

    fn count(&mut self, row: &Row<'_>) -> Result<()> {
        let (shape, densities) = (&mut self.shape, &mut self.densities);
        for (index, _) in nonzero(row.a.iter_inputs()) {
            within(index, row.inputs)?;
            shape.nonzeros_a += 1;
        }
        for (index, _) in nonzero(row.a.iter_aux()) {
            within(index, row.aux)?;
            shape.nonzeros_a += 1;
            shape.a_aux_density += u64::from(mark(&mut densities.a_aux, index)?);
        }
        for (index, _) in nonzero(row.b.iter_inputs()) {
            within(index, row.inputs)?;
            shape.nonzeros_b += 1;
            shape.b_input_density += u64::from(mark(&mut densities.b_input, index)?);
        }
        for (index, _) in nonzero(row.b.iter_aux()) {
            within(index, row.aux)?;
            shape.nonzeros_b += 1;
            shape.b_aux_density += u64::from(mark(&mut densities.b_aux, index)?);
        }
        Ok(())
    }

    fn variable(&mut self, added: Result<()>, index: Index) -> std::result::Result<Variable, SynthesisError> {
        if let Err(error) = added {
            self.failure.get_or_insert(error);
        }
        match self.failure {
            None => Ok(Variable(index)),
            Some(_) => Err(SynthesisError::Unsatisfiable),
        }
    }
}

/// The terms that count: bellperson ignores zero coefficients in values and densities alike.
#[inline]
pub(super) fn nonzero<'a>(
    terms: impl Iterator<Item = (&'a usize, &'a Scalar)>,
) -> impl Iterator<Item = (usize, &'a Scalar)> {
    terms.filter(|(_, coefficient)| **coefficient != Scalar::ZERO).map(|(index, c)| (*index, c))
}

#[inline]
fn within(index: usize, allocated: u64) -> Result<()> {
    if index as u64 >= allocated {
        return Err(Error::new(
            Code::Internal,
            format!("a constraint refers to variable {index}, but only {allocated} are allocated"),
        ));
    }
    Ok(())
}

impl<V, const WITH_C: bool> ConstraintSystem<Scalar> for RowStream<V, WITH_C>
where
    V: FnMut(Row<'_>) -> Result<()> + Send,
{
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, _: F) -> std::result::Result<Variable, SynthesisError>
    where
        F: FnOnce() -> std::result::Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        let index = self.shape.aux;
        self.shape.aux += 1;
        let added = self.densities.add_aux(self.shape.aux);
        self.variable(added, Index::Aux(index as usize))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, _: F) -> std::result::Result<Variable, SynthesisError>
    where
        F: FnOnce() -> std::result::Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        let index = self.shape.inputs;
        self.shape.inputs += 1;
        let added = self.densities.add_input(self.shape.inputs);
        self.variable(added, Index::Input(index as usize))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, a: LA, b: LB, c: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LB: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
        LC: FnOnce(LinearCombination<Scalar>) -> LinearCombination<Scalar>,
    {
        if self.failure.is_some() {
            return;
        }
        let a = a(LinearCombination::zero());
        let b = b(LinearCombination::zero());
        let c = if WITH_C { c(LinearCombination::zero()) } else { LinearCombination::zero() };
        if let Err(error) = self.row([&a, &b, &c]) {
            self.failure = Some(error);
        }
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
}
