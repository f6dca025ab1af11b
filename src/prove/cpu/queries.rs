//! The queries over the compact witness: bitmap sums for the values 0 and 1, and one multi-scalar
//! multiplication of all queries by the inputs and wide values, in bounded chunks.

use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};

use super::bridge::{self, KernelTable};
use super::crew::Crew;
use super::limbs::{limbs, limbs_mut};
use super::multiply::{sum_g1, sum_g2, Multiply, Selected};
use crate::circuit::Witness;
use crate::error::{Code, Error, Result};
use crate::memory::{Class, Meter, Region, Stage};

/// The index of a scalar that has no point in a query.
const NO_POINT: u32 = u32::MAX;

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

/// The queries over the witness. Those of b have the same variables in both groups.
pub(super) struct Queries<'a> {
    pub(super) l: Query<'a, G1Affine>,
    pub(super) a: Query<'a, G1Affine>,
    pub(super) b_g1: Query<'a, G1Affine>,
    pub(super) b_g2: Query<'a, G2Affine>,
}

/// Their sums.
pub(super) struct QuerySums {
    pub(super) l: G1Projective,
    pub(super) a: G1Projective,
    pub(super) b_g1: G1Projective,
    pub(super) b_g2: G2Projective,
}

/// Scalars that a multiplication takes in any case. Few in unit tests, so that their proofs take several.
const LEAST_CHUNK: usize = if cfg!(test) { 1 << 4 } else { 1 << 18 };

/// The size of the buffers of one proof's queries.
#[derive(Clone, Copy)]
pub(super) struct BufferSizes {
    /// Scalars that one multiplication takes at most.
    chunk: usize,
    scratch: usize,
}

impl BufferSizes {
    /// For a witness with so many private variables, and so many values (inputs included) that need a
    /// multiplication.
    pub(super) fn new(aux: usize, scalars: usize, kernels: &KernelTable, threads: usize) -> BufferSizes {
        let chunk = scalars.min(LEAST_CHUNK.max(aux / 64));
        let words = aux.div_ceil(64);
        let bitmaps = G1Affine::bitmap_scratch(words, threads).max(G2Affine::bitmap_scratch(words, threads));
        BufferSizes { chunk, scratch: bitmaps.max(bridge::query_scratch(kernels, chunk, threads)) }
    }

    /// All bytes.
    pub(super) fn bytes(self) -> u64 {
        let terms = self.chunk.saturating_mul(size_of::<Scalar>() + 3 * size_of::<u32>());
        terms.saturating_add(self.scratch) as u64
    }
}

/// One chunk of the values that need a multiplication, and where their points are.
struct Chunk {
    scalars: Region,
    l: Region,
    a: Region,
    b: Region,
    len: usize,
}

impl Chunk {
    fn new(capacity: usize, meter: &Meter) -> Result<Chunk> {
        let indices = || region(capacity * size_of::<u32>(), meter);
        Ok(Chunk {
            scalars: region(capacity * size_of::<Scalar>(), meter)?,
            l: indices()?,
            a: indices()?,
            b: indices()?,
            len: 0,
        })
    }

    /// Takes as many terms as there is room for.
    fn fill(&mut self, terms: &mut impl Iterator<Item = Result<Term>>) -> Result<()> {
        let places = self.scalars.as_mut_slice::<Scalar>().iter_mut();
        let places = places.zip(self.l.as_mut_slice::<u32>()).zip(self.a.as_mut_slice::<u32>());
        self.len = 0;
        for (((scalar, l), a), b) in places.zip(self.b.as_mut_slice::<u32>()) {
            let Some(term) = terms.next() else { break };
            (*scalar, [*l, *a, *b]) = term?;
            self.len += 1;
        }
        Ok(())
    }
}

/// A value, and its point in the queries l, a and b.
type Term = (Scalar, [u32; 3]);

fn region(bytes: usize, meter: &Meter) -> Result<Region> {
    Region::zeroed_for(meter, Class::WorkingSet, Stage::Finishing, bytes)
}

impl Queries<'_> {
    /// Σ valueᵢ·pointᵢ of each query, over the variables that have a point in it.
    pub(super) fn sum(&self, crew: &Crew, witness: &Witness, meter: &Meter) -> Result<QuerySums> {
        let offsets = self.check(witness)?;
        let scalars = witness.inputs().len() + witness.wide_values().len();
        let sizes = BufferSizes::new(witness.aux_len(), scalars, crew.kernels(), crew.lanes());
        let mut scratch = region(sizes.scratch, meter)?;
        let mut sums = self.sum_bits(crew, witness, offsets, scratch.as_mut_slice())?;
        let mut chunk = Chunk::new(sizes.chunk, meter)?;
        let mut terms = self.input_terms(witness).chain(self.wide_terms(witness, offsets));
        loop {
            chunk.fill(&mut terms)?;
            if chunk.len == 0 {
                return Ok(sums);
            }
            let more = self.multiply(crew, &mut chunk, scratch.as_mut_slice())?;
            sums.l += more.l;
            sums.a += more.a;
            sums.b_g1 += more.b_g1;
            sums.b_g2 += more.b_g2;
        }
    }

    /// The sums over the values one.
    fn sum_bits(
        &self,
        crew: &Crew,
        witness: &Witness,
        [l, a, b]: [usize; 3],
        scratch: &mut [u8],
    ) -> Result<QuerySums> {
        Ok(QuerySums {
            l: self.l.sum_bits(crew, witness, l, scratch)?,
            a: self.a.sum_bits(crew, witness, a, scratch)?,
            b_g1: self.b_g1.sum_bits(crew, witness, b, scratch)?,
            b_g2: self.b_g2.sum_bits(crew, witness, b, scratch)?,
        })
    }

    /// The sums over one chunk; destroys its scalars.
    fn multiply(&self, crew: &Crew, chunk: &mut Chunk, scratch: &mut [u8]) -> Result<QuerySums> {
        let len = chunk.len;
        let terms = bridge::QueryTerms {
            l: limbs(self.l.points),
            a: limbs(self.a.points),
            b_g1: limbs(self.b_g1.points),
            b_g2: limbs(self.b_g2.points),
            l_indices: &chunk.l.as_slice::<u32>()[..len],
            a_indices: &chunk.a.as_slice::<u32>()[..len],
            b_indices: &chunk.b.as_slice::<u32>()[..len],
        };
        let scalars = limbs_mut(&mut chunk.scalars.as_mut_slice::<Scalar>()[..len]);
        let sums = crew.outcome(bridge::multiply_queries(crew, &terms, scalars, true, scratch))?;
        Ok(QuerySums {
            l: sum_g1(&sums.l),
            a: sum_g1(&sums.a),
            b_g1: sum_g1(&sums.b_g1),
            b_g2: sum_g2(&sums.b_g2),
        })
    }

    /// The inputs, with their points.
    fn input_terms<'a>(&'a self, witness: &'a Witness) -> impl Iterator<Item = Result<Term>> + 'a {
        let mut ranks = [0; 3];
        let inputs = [self.l.inputs, self.a.inputs, self.b_g1.inputs];
        witness.inputs().iter().enumerate().map(move |(at, value)| {
            let mut points = [NO_POINT; 3];
            for ((point, rank), inputs) in points.iter_mut().zip(&mut ranks).zip(inputs) {
                if inputs.contains(at) {
                    *point = narrow(*rank)?;
                    *rank += 1;
                }
            }
            Ok((*value, points))
        })
    }

    /// The wide values, with their points.
    fn wide_terms<'a>(
        &'a self,
        witness: &'a Witness,
        offsets: [usize; 3],
    ) -> impl Iterator<Item = Result<Term>> + 'a {
        let mut bases = offsets;
        let densities = [self.l.density, self.a.density, self.b_g1.density];
        let words = witness.wide_bits().iter().enumerate().flat_map(move |(word, wide)| {
            let dense = densities.map(|density| if density.is_empty() { u64::MAX } else { density[word] });
            let starts = bases;
            for (base, dense) in bases.iter_mut().zip(dense) {
                *base += dense.count_ones() as usize;
            }
            bits(*wide).map(move |bit| (bit, starts, dense))
        });
        words.zip(witness.wide_values()).map(|((bit, starts, dense), value)| {
            let mut points = [NO_POINT; 3];
            for ((point, start), dense) in points.iter_mut().zip(starts).zip(dense) {
                if dense & bit != 0 {
                    *point = narrow(start + (dense & (bit - 1)).count_ones() as usize)?;
                }
            }
            Ok((*value, points))
        })
    }

    /// Refuses a key that has other points than the variables need. Returns where each query's private
    /// variables start.
    fn check(&self, witness: &Witness) -> Result<[usize; 3]> {
        let offsets = [self.l.check(witness)?, self.a.check(witness)?, self.b_g1.check(witness)?];
        self.b_g2.check(witness)?;
        Ok(offsets)
    }
}

/// The set bits of a word, each on its own.
fn bits(mut rest: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let bit = rest & rest.wrapping_neg();
        rest ^= bit;
        (bit != 0).then_some(bit)
    })
}

impl InputPoints<'_> {
    fn contains(self, at: usize) -> bool {
        match self {
            InputPoints::None => false,
            InputPoints::All => true,
            InputPoints::Dense(bits) => bits.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1),
        }
    }
}

impl<P: Multiply> Query<'_, P> {
    fn sum_bits(&self, crew: &Crew, witness: &Witness, offset: usize, scratch: &mut [u8]) -> Result<P::Sum> {
        let (selected, density) = (witness.value_bits(), self.density);
        P::sum_selected(crew, Selected { points: self.points, offset, selected, density }, scratch)
    }

    /// Points that belong to inputs.
    fn input_points(&self, witness: &Witness) -> usize {
        match self.inputs {
            InputPoints::None => 0,
            InputPoints::All => witness.inputs().len(),
            InputPoints::Dense(bits) => bits.iter().map(|word| word.count_ones() as usize).sum(),
        }
    }

    /// Where its private variables' points start, if it has as many points as the variables need.
    fn check(&self, witness: &Witness) -> Result<usize> {
        let words = witness.aux_len().div_ceil(64);
        let fits = witness.value_bits().len() == words
            && witness.wide_bits().len() == words
            && (self.density.is_empty() || self.density.len() == words);
        let aux_points = if self.density.is_empty() {
            witness.aux_len()
        } else {
            self.density.iter().map(|word| word.count_ones() as usize).sum()
        };
        let offset = self.input_points(witness);
        let needed = offset + aux_points;
        if fits && needed == self.points.len() {
            return Ok(offset);
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
