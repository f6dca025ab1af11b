//! A circuit's polynomials A, B and C evaluated at τ: one pass that only counts, one that accumulates.

use bellpepper_core::{Circuit, ConstraintSystem, Index, LinearCombination, SynthesisError, Variable};
use blstrs::Scalar;
use ff::Field;
use rayon::prelude::*;

use super::lagrange::Lagrange;
use crate::circuit::{synthesize_rows, Shape};
use crate::error::{Code, Error, Result};
use crate::memory::{Class, Region, Stage};
use crate::srs::work::{Phase, Work};

/// Lagrange values computed at a time.
const BLOCK: usize = 1 << 16;
/// Accumulators that one task handles.
const TASK: usize = 1 << 14;

type Combination = LinearCombination<Scalar>;
type Allocated = std::result::Result<Variable, SynthesisError>;

/// Sizes of a circuit, the constant ONE counted among its inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    pub inputs: usize,
    pub aux: usize,
    pub constraints: u64,
}

impl Sizes {
    /// Runs the blank circuit without building its linear combinations.
    pub(super) fn of(circuit: impl Circuit<Scalar>) -> Result<Sizes> {
        let mut counter = Counter(Sizes { inputs: 1, ..Sizes::default() });
        circuit.synthesize(&mut counter).map_err(synthesis)?;
        Ok(counter.0)
    }

    /// Constraints, and one row per input.
    pub(super) fn rows(&self) -> u64 {
        self.constraints + self.inputs as u64
    }
}

/// A, B and C of every variable at τ: inputs first, then private variables.
pub(super) struct Polynomials {
    pub shape: Shape,
    pub a: Region,
    pub b: Region,
    pub c: Region,
}

impl Polynomials {
    /// Runs the blank circuit once and adds every coefficient, times its row's Lagrange value, to its variable.
    pub(super) fn evaluate(
        circuit: impl Circuit<Scalar>,
        sizes: Sizes,
        domain: &Lagrange,
        work: &Work,
    ) -> Result<Polynomials> {
        let bytes = (sizes.inputs + sizes.aux) * size_of::<Scalar>();
        let zeroed = || Region::zeroed(Class::WorkingSet, Stage::Shared, bytes);
        let [mut a, mut b, mut c] = [zeroed()?, zeroed()?, zeroed()?];
        let mut rows = Rows { domain, work, count: sizes.rows(), block: vec![Scalar::ZERO; BLOCK] };
        let mut out_of_range = false;
        let shape = synthesize_rows(circuit, |row| {
            let lagrange = rows.at(row.index)?;
            for (sums, terms) in [(&mut a, row.a), (&mut b, row.b), (&mut c, row.c)] {
                out_of_range |= !accumulate(sums.as_mut_slice(), sizes.inputs, terms, lagrange);
            }
            Ok(())
        })?;
        let seen =
            Sizes { inputs: shape.inputs as usize, aux: shape.aux as usize, constraints: shape.constraints };
        if out_of_range || seen != sizes {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("the circuit is not the same each time: expected {sizes:?}, found {seen:?}"),
            ));
        }
        // One row x·0 = 0 per input keeps the inputs' A polynomials independent.
        for (input, sum) in a.as_mut_slice::<Scalar>()[..sizes.inputs].iter_mut().enumerate() {
            *sum += rows.at(sizes.constraints + input as u64)?;
        }
        Ok(Polynomials { shape, a, b, c })
    }

    /// Replaces C by (β·A + α·B + C)·k, where k is `of_input` or `of_aux`; refuses a private variable for which that
    /// is zero, since nothing constrains it.
    pub(super) fn combine(
        &mut self,
        [alpha, beta]: [Scalar; 2],
        of_input: Scalar,
        of_aux: Scalar,
    ) -> Result<()> {
        let (a, b, inputs) =
            (self.a.as_slice::<Scalar>(), self.b.as_slice::<Scalar>(), self.shape.inputs as usize);
        let unconstrained = self
            .c
            .as_mut_slice::<Scalar>()
            .par_chunks_mut(TASK)
            .enumerate()
            .filter_map(|(task, c)| {
                let mut first = None;
                for (i, c) in c.iter_mut().enumerate() {
                    let j = task * TASK + i;
                    let k = if j < inputs { of_input } else { of_aux };
                    *c = (beta * a[j] + alpha * b[j] + *c) * k;
                    if j >= inputs && c.is_zero_vartime() {
                        first = first.or(Some(j - inputs));
                    }
                }
                first
            })
            .min();
        match unconstrained {
            None => Ok(()),
            Some(j) => Err(Error::new(
                Code::InvalidArgument,
                format!("expected every private variable in a constraint, found none for number {j}; a proof could take any value for it"),
            )),
        }
    }
}

/// Moves the non-zero values to the front, in order; how many there are.
pub(super) fn compact(values: &mut [Scalar]) -> usize {
    let mut kept = 0;
    for i in 0..values.len() {
        if !values[i].is_zero_vartime() {
            values[kept] = values[i];
            kept += 1;
        }
    }
    kept
}

fn synthesis(error: SynthesisError) -> Error {
    Error::new(Code::InvalidArgument, format!("the blank circuit does not synthesise: {error}"))
}

/// The rows' Lagrange values, asked for in order.
struct Rows<'a> {
    domain: &'a Lagrange,
    work: &'a Work<'a>,
    count: u64,
    block: Vec<Scalar>,
}

impl Rows<'_> {
    fn at(&mut self, row: u64) -> Result<Scalar> {
        let place = row as usize % BLOCK;
        if place == 0 {
            self.work.step(Phase::Synthesis, row.min(self.count), self.count.max(row))?;
            let left = self.domain.size().saturating_sub(row).min(BLOCK as u64) as usize;
            self.domain.fill(row, &mut self.block[..left]);
        }
        Ok(self.block[place])
    }
}

/// Adds row·coefficient for every term; false where a variable is out of range.
fn accumulate(sums: &mut [Scalar], inputs: usize, terms: &Combination, row: Scalar) -> bool {
    let minus_one = -Scalar::ONE;
    terms.iter().all(|(variable, coefficient)| {
        let variable = match variable.get_unchecked() {
            Index::Input(i) => i,
            Index::Aux(i) => inputs + i,
        };
        let Some(sum) = sums.get_mut(variable) else { return false };
        match coefficient {
            c if *c == Scalar::ONE => *sum += row,
            c if *c == minus_one => *sum -= row,
            c => *sum += row * c,
        }
        true
    })
}

/// Counts variables and constraints, and looks at nothing else.
struct Counter(Sizes);

impl ConstraintSystem<Scalar> for Counter {
    type Root = Self;

    fn alloc<F, A, AR>(&mut self, _: A, _: F) -> Allocated
    where
        F: FnOnce() -> std::result::Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.0.aux += 1;
        Ok(Variable(Index::Aux(self.0.aux - 1)))
    }

    fn alloc_input<F, A, AR>(&mut self, _: A, _: F) -> Allocated
    where
        F: FnOnce() -> std::result::Result<Scalar, SynthesisError>,
        A: FnOnce() -> AR,
        AR: Into<String>,
    {
        self.0.inputs += 1;
        Ok(Variable(Index::Input(self.0.inputs - 1)))
    }

    fn enforce<A, AR, LA, LB, LC>(&mut self, _: A, _: LA, _: LB, _: LC)
    where
        A: FnOnce() -> AR,
        AR: Into<String>,
        LA: FnOnce(Combination) -> Combination,
        LB: FnOnce(Combination) -> Combination,
        LC: FnOnce(Combination) -> Combination,
    {
        self.0.constraints += 1;
    }

    fn push_namespace<NR: Into<String>, N: FnOnce() -> NR>(&mut self, _: N) {}

    fn pop_namespace(&mut self) {}

    fn get_root(&mut self) -> &mut Self::Root {
        self
    }
}
