//! The queries over the compact witness: a bitmap sum for the values 0 and 1, a multi-scalar
//! multiplication for inputs and wide values, in bounded chunks.

use blstrs::Scalar;

use super::crew::Crew;
use super::multiply::{Multiply, Selected, Terms};
use crate::circuit::Witness;
use crate::error::{Code, Error, Result};
use crate::memory::{Class, Region, Stage};

/// Which public inputs have a point in a query.
#[derive(Clone, Copy)]
pub(super) enum InputPoints<'a> {
    None,
    All,
    /// Those whose bit is set.
    Dense(&'a [u64]),
}

/// One query of the proving key: the points of its inputs, then those of its private variables.
#[derive(Clone, Copy)]
pub(super) struct Query<'a, P> {
    pub(super) name: &'static str,
    pub(super) points: &'a [P],
    pub(super) inputs: InputPoints<'a>,
    /// Private variables that have a point; empty: all.
    pub(super) density: &'a [u64],
}

/// Buffers of one proof's queries, used by one after the other.
pub(super) struct Buffers {
    scalars: Region,
    indices: Region,
    scratch: Region,
}

/// How many scalars one multiplication takes at most.
fn chunk_len(aux: usize, scalars: usize) -> usize {
    const LEAST: usize = 1 << 18;
    scalars.min(LEAST.max(aux / 64))
}

/// Bytes of scalars and indices, and of scratch, for the queries of a witness with so many variables
/// of which so many (inputs included) need a multiplication.
pub(super) fn buffer_bytes<P: Multiply>(aux: usize, scalars: usize, threads: usize) -> (usize, usize) {
    let chunk = chunk_len(aux, scalars);
    let scratch = P::scratch(chunk, threads).max(P::bitmap_scratch(aux.div_ceil(64), threads));
    (chunk * (size_of::<Scalar>() + size_of::<u32>()), scratch)
}

impl Buffers {
    /// Buffers that suffice for queries in P and in Q.
    pub(super) fn new<P: Multiply, Q: Multiply>(witness: &Witness, threads: usize) -> Result<Buffers> {
        let (aux, scalars) = (witness.aux_len(), witness.inputs().len() + witness.wide_values().len());
        let (_, first) = buffer_bytes::<P>(aux, scalars, threads);
        let (_, second) = buffer_bytes::<Q>(aux, scalars, threads);
        let chunk = chunk_len(aux, scalars);
        let region = |bytes| Region::zeroed(Class::WorkingSet, Stage::Finishing, bytes);
        Ok(Buffers {
            scalars: region(chunk * size_of::<Scalar>())?,
            indices: region(chunk * size_of::<u32>())?,
            scratch: region(first.max(second))?,
        })
    }
}

impl<P: Multiply> Query<'_, P> {
    /// Σ valueᵢ·pointᵢ over the variables that have a point.
    pub(super) fn sum(&self, crew: &Crew, witness: &Witness, buffers: &mut Buffers) -> Result<P::Sum> {
        self.check(witness)?;
        let offset = self.input_points(witness);
        let bits =
            Selected { points: self.points, offset, selected: witness.value_bits(), density: self.density };
        let mut sum = P::sum_selected(crew, bits, buffers.scratch.as_mut_slice())?;
        let mut terms = self.input_terms(witness).chain(WideTerms::new(witness, self.density, offset));
        loop {
            let scalars = buffers.scalars.as_mut_slice::<Scalar>();
            let indices = buffers.indices.as_mut_slice::<u32>();
            let mut count = 0;
            for ((scalar, index), term) in scalars.iter_mut().zip(indices.iter_mut()).zip(terms.by_ref()) {
                (*index, *scalar) = (narrow(term.0)?, term.1);
                count += 1;
            }
            if count == 0 {
                return Ok(sum);
            }
            let chunk = Terms {
                points: self.points,
                indices: &indices[..count],
                scalars: &mut scalars[..count],
                montgomery: true,
            };
            sum += P::multiply(crew, chunk, buffers.scratch.as_mut_slice())?;
        }
    }

    /// Points that belong to inputs.
    fn input_points(&self, witness: &Witness) -> usize {
        match self.inputs {
            InputPoints::None => 0,
            InputPoints::All => witness.inputs().len(),
            InputPoints::Dense(bits) => bits.iter().map(|word| word.count_ones() as usize).sum(),
        }
    }

    fn input_terms<'a>(&'a self, witness: &'a Witness) -> impl Iterator<Item = (usize, Scalar)> + 'a {
        let has_point = |at: usize| match self.inputs {
            InputPoints::None => false,
            InputPoints::All => true,
            InputPoints::Dense(bits) => bits.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1),
        };
        let dense = witness.inputs().iter().enumerate().filter(move |(at, _)| has_point(*at));
        dense.enumerate().map(|(rank, (_, value))| (rank, *value))
    }

    /// Refuses a key that has other points than the variables need.
    fn check(&self, witness: &Witness) -> Result<()> {
        let words = witness.aux_len().div_ceil(64);
        let fits = witness.value_bits().len() == words
            && witness.wide_bits().len() == words
            && (self.density.is_empty() || self.density.len() == words);
        let aux_points = if self.density.is_empty() {
            witness.aux_len()
        } else {
            self.density.iter().map(|word| word.count_ones() as usize).sum()
        };
        let needed = self.input_points(witness) + aux_points;
        if fits && needed == self.points.len() {
            return Ok(());
        }
        Err(Error::new(
            Code::ParametersInvalid,
            format!(
                "the {} query has {} points, but the circuit needs {needed}; the parameters are of another \
                 circuit",
                self.name,
                self.points.len()
            ),
        ))
    }
}

fn narrow(index: usize) -> Result<u32> {
    u32::try_from(index).map_err(|_| Error::new(Code::Unsupported, "a query of more than 2^32 points"))
}

/// The wide values that have a point, with its position.
struct WideTerms<'a> {
    wide: &'a [u64],
    density: &'a [u64],
    values: std::slice::Iter<'a, Scalar>,
    word: usize,
    /// Wide variables of the current word that are still to come.
    rest: u64,
    /// The point of the current word's first variable that has one.
    base: usize,
}

impl<'a> WideTerms<'a> {
    fn new(witness: &'a Witness, density: &'a [u64], offset: usize) -> Self {
        let wide = witness.wide_bits();
        WideTerms {
            wide,
            density,
            values: witness.wide_values().iter(),
            word: 0,
            rest: wide.first().copied().unwrap_or(0),
            base: offset,
        }
    }

    fn dense(&self) -> u64 {
        if self.density.is_empty() {
            return u64::MAX;
        }
        self.density.get(self.word).copied().unwrap_or(0)
    }
}

impl Iterator for WideTerms<'_> {
    type Item = (usize, Scalar);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while self.rest == 0 {
                self.base += self.dense().count_ones() as usize;
                self.word += 1;
                self.rest = *self.wide.get(self.word)?;
            }
            let bit = self.rest & self.rest.wrapping_neg();
            self.rest ^= bit;
            let value = self.values.next()?;
            if self.dense() & bit != 0 {
                let rank = (self.dense() & (bit - 1)).count_ones() as usize;
                return Some((self.base + rank, *value));
            }
        }
    }
}
