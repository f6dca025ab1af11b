//! The compact constraint matrices: A and B of a circuit as a dictionary of row patterns and a chunked,
//! compressed sequence of them. C is not kept: for a satisfied circuit it is the product of the others.

use std::path::Path;

use bellpepper_core::Circuit;
use blstrs::Scalar;

use super::density::Densities;
use super::shape::Shape;
use super::witness::Witness;
use crate::cancel::Cancel;
use crate::error::Result;
use crate::units::Bytes;

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
}

#[allow(unused_variables, clippy::todo)]
impl Matrices {
    /// Compiles the matrices in one pass over the circuit, which is not asked for values.
    pub fn compile<C: Circuit<Scalar>>(tag: &str, circuit: C) -> Result<Matrices> {
        todo!()
    }

    /// Reads a compiled file; refuses one of another version or circuit, truncated or corrupt.
    pub fn load(path: &Path) -> Result<Matrices> {
        todo!()
    }

    /// Writes the file anew: to a temporary file beside it, synced, then renamed.
    pub fn save(&self, path: &Path) -> Result<()> {
        todo!()
    }

    /// Loads the cache at `path`, or compiles the circuit and writes the cache.
    pub fn load_or_compile<C, F>(path: &Path, tag: &str, circuit: F) -> Result<Matrices>
    where
        C: Circuit<Scalar>,
        F: FnOnce() -> Result<C>,
    {
        todo!()
    }

    /// The shape in a compiled file's header.
    pub fn peek_shape(path: &Path) -> Result<Shape> {
        todo!()
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

    /// Bytes in memory: dictionary, compressed sequence, densities.
    pub fn mapped(&self) -> Bytes {
        todo!()
    }

    /// Writes A·w or B·w to `out`: a row for each constraint, one for each input (the input itself in A,
    /// zero in B), zeros after those. `out` must hold the rows; the witness must be of this circuit.
    /// Runs on the current rayon pool.
    pub fn evaluate(&self, which: Matrix, w: &Witness, out: &mut [Scalar], cancel: &Cancel) -> Result<()> {
        todo!()
    }

    /// Writes the products (A·w)∘(B·w), in the layout of [`Matrices::evaluate`].
    pub fn evaluate_product(&self, w: &Witness, out: &mut [Scalar], cancel: &Cancel) -> Result<()> {
        todo!()
    }
}
