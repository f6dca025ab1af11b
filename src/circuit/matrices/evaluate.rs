//! Evaluates A·w and B·w from the compact witness, chunk by chunk, out of the processor's caches.

use blstrs::Scalar;
use ff::Field;
use rayon::prelude::*;

use super::accumulator::Accumulator;
use super::chunk::{Chunk, Decoder, Numbers, CHUNK_ROWS};
use super::pattern::{Dictionary, FarColumns, Pattern, Place, Side, Term};
use super::pattern::{COEFFICIENT_MINUS_ONE, COEFFICIENT_ONE, NONE};
use super::{Matrices, Matrix};
use crate::cancel::Cancel;
use crate::circuit::scalar::{self, limbs};
use crate::circuit::witness::{Values, Witness};
use crate::error::{Error, Result};

/// Sides of at most this many terms, all near private variables, have the sums of every combination of
/// their bits in a table.
const TABLE_TERMS: usize = 3;

/// Sums of short sides over bits, by side.
#[derive(Debug, Default)]
pub(super) struct Tables {
    sums: Vec<Scalar>,
    /// Where a side's sums begin, or [`NONE`].
    first: Vec<u32>,
}

impl Tables {
    pub(super) fn of(dictionary: &Dictionary) -> Tables {
        let mut tables = Tables::default();
        for side in &dictionary.sides {
            let terms = dictionary.terms_of(side);
            let short = terms.len() <= TABLE_TERMS
                && terms.iter().all(|term| term.place == Place::Aux && term.len == 1);
            let room = tables.sums.len() + (1 << TABLE_TERMS) < NONE as usize;
            if !short || !room {
                tables.first.push(NONE);
                continue;
            }
            tables.first.push(tables.sums.len() as u32);
            for bits in 0..1_usize << terms.len() {
                let set = terms.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1);
                tables.sums.push(set.fold(constant(dictionary, side), |sum, (_, term)| {
                    sum + dictionary.coefficients[term.coefficient as usize]
                }));
            }
        }
        tables.sums.shrink_to_fit();
        tables.first.shrink_to_fit();
        tables
    }

    pub(super) fn bytes(&self) -> usize {
        self.sums.capacity() * size_of::<Scalar>() + self.first.capacity() * size_of::<u32>()
    }
}

fn constant(dictionary: &Dictionary, side: &Side) -> Scalar {
    dictionary.coefficients.get(side.constant as usize).copied().unwrap_or(Scalar::ZERO)
}

/// What is written for each row.
#[derive(Clone, Copy)]
pub(super) enum Rows {
    A,
    B,
    Product,
}

impl From<Matrix> for Rows {
    fn from(matrix: Matrix) -> Self {
        match matrix {
            Matrix::A => Rows::A,
            Matrix::B => Rows::B,
        }
    }
}

pub(super) fn evaluate(
    matrices: &Matrices,
    what: Rows,
    w: &Witness,
    out: &mut [Scalar],
    cancel: &Cancel,
) -> Result<()> {
    check_sizes(matrices, w, out.len())?;
    let (constraints, rest) = out.split_at_mut(matrices.shape.constraints as usize);
    let (inputs, padding) = rest.split_at_mut(w.inputs().len());
    constraints.par_chunks_mut(CHUNK_ROWS).zip(&matrices.sequence.chunks).try_for_each_init(
        Decoder::new,
        |decoder, (out, chunk)| {
            cancel.check()?;
            let decoder = decoder.as_mut().map_err(|error| error.clone())?;
            evaluate_chunk(matrices, what, w, decoder, chunk, out)
        },
    )?;
    match what {
        Rows::A => inputs.copy_from_slice(w.inputs()),
        Rows::B | Rows::Product => inputs.fill(Scalar::ZERO),
    }
    padding.par_chunks_mut(CHUNK_ROWS).for_each(|part| part.fill(Scalar::ZERO));
    cancel.check()
}

fn check_sizes(matrices: &Matrices, w: &Witness, out: usize) -> Result<()> {
    let shape = &matrices.shape;
    if (w.inputs().len() as u64, w.aux_len() as u64) != (shape.inputs, shape.aux) {
        return Err(Error::internal(format!(
            "a witness of {} inputs and {} private variables does not fit circuit {}, which has {} and {}",
            w.inputs().len(),
            w.aux_len(),
            matrices.tag,
            shape.inputs,
            shape.aux
        )));
    }
    if (out as u64) < shape.rows() {
        return Err(Error::internal(format!(
            "an evaluation vector of {out} values cannot hold the {} rows of circuit {}",
            shape.rows(),
            matrices.tag
        )));
    }
    Ok(())
}

fn evaluate_chunk(
    matrices: &Matrices,
    what: Rows,
    w: &Witness,
    decoder: &mut Decoder,
    chunk: &Chunk,
    out: &mut [Scalar],
) -> Result<()> {
    let frame = matrices.sequence.frame(chunk)?;
    let sides = match what {
        Rows::A => [true, false],
        Rows::B => [false, true],
        Rows::Product => [true, true],
    };
    let (numbers, far) = decoder.decode(chunk, out.len(), frame, sides)?;
    let reader = Reader { dictionary: &matrices.dictionary, tables: &matrices.tables, values: w.values() };
    match numbers {
        Numbers::Two(numbers) => reader.rows(what, chunk, far, numbers, out),
        Numbers::Four(numbers) => reader.rows(what, chunk, far, numbers, out),
    }
    Ok(())
}

/// What rows are read from. The indices below were all checked when the matrices were compiled or loaded.
struct Reader<'a> {
    dictionary: &'a Dictionary,
    tables: &'a Tables,
    values: Values<'a>,
}

/// Variables that exist at a row.
#[derive(Clone, Copy)]
struct Allocated {
    aux: usize,
    inputs: usize,
}

/// The far columns that are still to come.
struct Far<'a> {
    aux: std::slice::Iter<'a, u64>,
    inputs: std::slice::Iter<'a, u64>,
}

impl<'a> From<&'a FarColumns> for Far<'a> {
    fn from(columns: &'a FarColumns) -> Self {
        Far { aux: columns.aux.iter(), inputs: columns.inputs.iter() }
    }
}

impl Reader<'_> {
    fn rows(
        &self,
        what: Rows,
        chunk: &Chunk,
        [far_a, far_b]: &[FarColumns; 2],
        numbers: impl Iterator<Item = usize>,
        out: &mut [Scalar],
    ) {
        let (mut far_a, mut far_b) = (Far::from(far_a), Far::from(far_b));
        match what {
            Rows::A => self.walk(chunk, numbers, out, |at, p| self.side(p.a, at, &mut far_a)),
            Rows::B => self.walk(chunk, numbers, out, |at, p| self.side(p.b, at, &mut far_b)),
            Rows::Product => self.walk(chunk, numbers, out, |at, p| {
                product(self.side(p.a, at, &mut far_a), self.side(p.b, at, &mut far_b))
            }),
        }
    }

    #[inline(always)]
    fn walk(
        &self,
        chunk: &Chunk,
        numbers: impl Iterator<Item = usize>,
        out: &mut [Scalar],
        mut row: impl FnMut(Allocated, &Pattern) -> Scalar,
    ) {
        let mut at = Allocated { aux: chunk.aux as usize, inputs: chunk.inputs as usize };
        for (number, out) in numbers.zip(out) {
            let pattern = &self.dictionary.patterns[number];
            at.aux = at.aux.wrapping_add(pattern.new_aux as usize);
            at.inputs = at.inputs.wrapping_add(pattern.new_inputs as usize);
            *out = row(at, pattern);
        }
    }

    #[inline(always)]
    fn side(&self, number: u32, at: Allocated, far: &mut Far<'_>) -> Scalar {
        let side = &self.dictionary.sides[number as usize];
        let terms = self.dictionary.terms_of(side);
        let first = self.tables.first[number as usize];
        if first != NONE {
            let (mut wide, mut bits) = (false, 0);
            for (i, term) in terms.iter().enumerate() {
                let (is_wide, bit) = self.values.bits(at.aux.wrapping_sub(usize::from(term.back)));
                wide |= is_wide;
                bits |= usize::from(bit) << i;
            }
            if !wide {
                return self.tables.sums[first as usize + bits];
            }
        }
        self.sum(side, terms, at, far)
    }

    #[inline(never)]
    fn sum(&self, side: &Side, terms: &[Term], at: Allocated, far: &mut Far<'_>) -> Scalar {
        let mut sum = Accumulator::default();
        if side.constant != NONE {
            sum.add(limbs(&self.dictionary.coefficients[side.constant as usize]));
        }
        for term in terms {
            let back = usize::from(term.back);
            match term.place {
                Place::Aux => self.run(&mut sum, term, at.aux.wrapping_sub(back)),
                Place::FarAux => {
                    if let Some(column) = far.aux.next() {
                        self.run(&mut sum, term, *column as usize);
                    }
                }
                Place::Input => {
                    let value = &self.values.inputs[at.inputs.wrapping_sub(back)];
                    self.multiple(&mut sum, term.coefficient, value);
                }
                Place::FarInput => {
                    if let Some(column) = far.inputs.next() {
                        self.multiple(&mut sum, term.coefficient, &self.values.inputs[*column as usize]);
                    }
                }
            }
        }
        sum.reduce()
    }

    /// Adds the variables from `first` on; a run's bits are a number, and it a multiple of the coefficient.
    #[inline(always)]
    fn run(&self, sum: &mut Accumulator, term: &Term, first: usize) {
        let (wide, bits) = self.values.window(first, term.len);
        if wide == 0 {
            sum.add_multiple(bits, limbs(&self.dictionary.coefficients[term.coefficient as usize]));
        } else if term.len == 1 {
            self.multiple(sum, term.coefficient, &self.values.wide_value(first));
        } else {
            self.mixed_run(sum, term, first, (wide, bits));
        }
    }

    /// A run with wide values among the bits.
    fn mixed_run(&self, sum: &mut Accumulator, term: &Term, first: usize, (wide, bits): (u64, u64)) {
        let mut coefficient = self.dictionary.coefficients[term.coefficient as usize];
        for i in 0..usize::from(term.len) {
            if wide >> i & 1 == 1 {
                sum.add(limbs(&(coefficient * self.values.wide_value(first + i))));
            } else {
                sum.add_multiple(bits >> i & 1, limbs(&coefficient));
            }
            coefficient = coefficient.double();
        }
    }

    #[inline(always)]
    fn multiple(&self, sum: &mut Accumulator, coefficient: u32, value: &Scalar) {
        match coefficient {
            COEFFICIENT_ONE => sum.add(limbs(value)),
            COEFFICIENT_MINUS_ONE => sum.sub(limbs(value)),
            other => sum.add(limbs(&(self.dictionary.coefficients[other as usize] * value))),
        }
    }
}

/// The product of two sides; most often one of them is a bit.
#[inline(always)]
fn product(a: Scalar, b: Scalar) -> Scalar {
    match (limbs(&a), limbs(&b)) {
        (scalar::ZERO, _) | (_, scalar::ZERO) => Scalar::ZERO,
        (scalar::ONE, _) => b,
        (_, scalar::ONE) => a,
        _ => a * b,
    }
}
