//! Which variables occur in A and B: what bellperson calls query densities.

use crate::error::{Error, Result};
use crate::memory::{Class, RegionVec, Stage};
use crate::units::Bytes;

/// Bitmaps (least significant bit first) of the variables with a non-zero coefficient somewhere in A or
/// B. Every input has one in A: the prover adds a row for each.
#[derive(Debug)]
pub struct Densities {
    pub(super) a_aux: RegionVec<u64>,
    pub(super) b_input: RegionVec<u64>,
    pub(super) b_aux: RegionVec<u64>,
}

impl Densities {
    pub(super) fn empty() -> Result<Densities> {
        let bitmap = || RegionVec::with_capacity(Class::Matrices, Stage::Shared, 0);
        Ok(Densities { a_aux: bitmap()?, b_input: bitmap()?, b_aux: bitmap()? })
    }

    /// Private variables in A.
    pub fn a_aux(&self) -> &[u64] {
        self.a_aux.as_slice()
    }

    /// Public inputs in B.
    pub fn b_input(&self) -> &[u64] {
        self.b_input.as_slice()
    }

    /// Private variables in B.
    pub fn b_aux(&self) -> &[u64] {
        self.b_aux.as_slice()
    }

    /// Bytes mapped.
    pub fn mapped(&self) -> Bytes {
        [&self.a_aux, &self.b_input, &self.b_aux]
            .into_iter()
            .fold(Bytes::ZERO, |sum, bitmap| sum.saturating_add(bitmap.mapped()))
    }

    /// Makes room for one more private variable, the `count`th.
    #[inline]
    pub(super) fn add_aux(&mut self, count: u64) -> Result<()> {
        if count % 64 == 1 {
            self.a_aux.push(0)?;
            self.b_aux.push(0)?;
        }
        Ok(())
    }

    /// Makes room for one more input, the `count`th.
    pub(super) fn add_input(&mut self, count: u64) -> Result<()> {
        if count % 64 == 1 {
            self.b_input.push(0)?;
        }
        Ok(())
    }

    pub(super) fn shrink(&mut self) -> Result<()> {
        self.a_aux.shrink_to_fit()?;
        self.b_input.shrink_to_fit()?;
        self.b_aux.shrink_to_fit()
    }
}

/// Marks a variable; true where it was not marked before.
#[inline]
pub(super) fn mark(bitmap: &mut RegionVec<u64>, index: usize) -> Result<bool> {
    let len = bitmap.len();
    let word = bitmap
        .as_mut_slice()
        .get_mut(index / 64)
        .ok_or_else(|| Error::internal(format!("variable {index} is outside a bitmap of {len} words")))?;
    let bit = 1 << (index % 64);
    let new = *word & bit == 0;
    *word |= bit;
    Ok(new)
}
