//! The compact constraint matrices: A and B of a circuit as a dictionary of row patterns and a chunked,
//! compressed sequence of them. C is not kept: for a satisfied circuit it is the product of the others.

mod accumulator;
mod chunk;
mod compile;
mod dictionary_bytes;
mod evaluate;
mod file;
#[cfg(test)]
mod file_tests;
mod interner;
mod pattern;
mod sequence;
#[cfg(test)]
mod tests;
mod varint;

use std::path::Path;

use bellpepper_core::Circuit;
use blstrs::Scalar;

use super::density::Densities;
use super::shape::Shape;
use super::witness::Witness;
use crate::cancel::Cancel;
use crate::error::{Code, Error, Result};
use crate::units::Bytes;
use evaluate::{Rows, Tables};
use pattern::Dictionary;
use sequence::Sequence;

/// Which of the two matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrix {
    /// Left factors.
    A,
    /// Right factors.
    B,
}

/// A and B of a circuit as a dictionary of row patterns and a compressed sequence of them, and the
/// circuit's query densities.
#[derive(Debug)]
pub struct Matrices {
    tag: String,
    shape: Shape,
    wide_hint: Option<u64>,
    densities: Densities,
    dictionary: Dictionary,
    tables: Tables,
    sequence: Sequence,
}

impl Matrices {
    /// Compiles the matrices in one pass over the circuit, which is not asked for values. `tag` names the
    /// circuit in the file's header.
    pub fn compile<C: Circuit<Scalar>>(tag: &str, circuit: C) -> Result<Matrices> {
        compile::compile(tag, circuit)
    }

    /// Reads a compiled file. Fails with `NotFound`, or `ParametersInvalid` where the file has another
    /// version, is truncated or is damaged.
    pub fn load(path: &Path) -> Result<Matrices> {
        file::load(path)
    }

    /// Writes the file anew: to a temporary file beside it, synced, then renamed.
    pub fn save(&self, path: &Path) -> Result<()> {
        file::save(self, path)
    }

    /// Loads the cache at `path`; where there is none, or it is damaged, old or of another circuit,
    /// compiles the circuit and writes the cache. A cache that cannot be written is a warning.
    pub fn load_or_compile<C, F>(path: &Path, tag: &str, circuit: F) -> Result<Matrices>
    where
        C: Circuit<Scalar>,
        F: FnOnce() -> Result<C>,
    {
        let loaded = Matrices::load(path).and_then(|matrices| match matrices.tag == tag {
            true => Ok(matrices),
            false => Err(chunk::damaged(format!("it is of circuit {}, not {tag}", matrices.tag))),
        });
        match loaded {
            Ok(matrices) => return Ok(matrices),
            Err(error) if error.code() == Code::NotFound => {}
            Err(error) => tracing::warn!(%error, circuit = tag, "rebuilding the matrix cache"),
        }
        let matrices = Matrices::compile(tag, circuit()?)?;
        if let Err(error) = matrices.save(path) {
            tracing::warn!(%error, circuit = tag, "the matrix cache could not be written");
        }
        Ok(matrices)
    }

    /// The shape in a compiled file's header.
    pub fn peek_shape(path: &Path) -> Result<Shape> {
        Ok(file::read_header(path)?.shape)
    }

    /// What a compiled file's header says.
    pub fn peek(path: &Path) -> Result<Summary> {
        let file::Header { tag, shape, wide_hint, mapped, .. } = file::read_header(path)?;
        Ok(Summary { tag, shape, wide_hint, mapped: Bytes(mapped) })
    }

    /// The circuit's name.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The circuit's sizes.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Which variables occur in A and B.
    pub fn densities(&self) -> &Densities {
        &self.densities
    }

    /// Wide values that a witness of this circuit had when it was last measured.
    pub fn wide_hint(&self) -> Option<u64> {
        self.wide_hint
    }

    /// Remembers how many wide values a witness has; written with the next `save`.
    pub fn set_wide_hint(&mut self, wide: u64) {
        self.wide_hint = Some(wide);
    }

    /// Bytes in memory: dictionary, sums of short rows, compressed sequence, densities.
    pub fn mapped(&self) -> Bytes {
        let small = self.dictionary.bytes() + self.tables.bytes();
        Bytes(small as u64 + self.sequence.bytes()).saturating_add(self.densities.mapped())
    }

    /// How many distinct row patterns, sides and coefficients the dictionary holds.
    pub fn distinct(&self) -> Distinct {
        Distinct {
            patterns: self.dictionary.patterns.len(),
            sides: self.dictionary.sides.len(),
            coefficients: self.dictionary.coefficients.len(),
        }
    }

    /// Writes A·w or B·w to `out`: a row for each constraint, one for each input (the input itself in A,
    /// zero in B), zeros after those. `out` must hold the rows; the witness must be of this circuit.
    /// Runs on the current rayon pool.
    pub fn evaluate(&self, which: Matrix, w: &Witness, out: &mut [Scalar], cancel: &Cancel) -> Result<()> {
        evaluate::evaluate(self, which.into(), w, out, cancel)
    }

    /// Writes the products (A·w)∘(B·w), in the layout of [`Matrices::evaluate`].
    pub fn evaluate_product(&self, w: &Witness, out: &mut [Scalar], cancel: &Cancel) -> Result<()> {
        evaluate::evaluate(self, Rows::Product, w, out, cancel)
    }

    fn assemble(
        tag: &str,
        shape: Shape,
        densities: Densities,
        dictionary: Dictionary,
        sequence: Sequence,
    ) -> Result<Matrices> {
        file::check_tag(tag)?;
        if usize::try_from(shape.rows()).is_err() {
            return Err(Error::new(Code::Unsupported, "more rows than this machine can address"));
        }
        let tables = Tables::of(&dictionary);
        Ok(Matrices { tag: tag.to_owned(), shape, wide_hint: None, densities, dictionary, tables, sequence })
    }
}

/// What is known of compiled matrices without loading them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The circuit's name.
    pub tag: String,
    /// The circuit's sizes.
    pub shape: Shape,
    /// Wide values of a measured witness.
    pub wide_hint: Option<u64>,
    /// Bytes in memory, once loaded.
    pub mapped: Bytes,
}

/// Sizes of the dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distinct {
    /// Row patterns: the two sides, and how many variables are new.
    pub patterns: usize,
    /// Combinations, of A and B together.
    pub sides: usize,
    /// Coefficients.
    pub coefficients: usize,
}
