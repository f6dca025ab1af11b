//! Transforms over Fr, and the quotient of the evaluation vectors in two buffers.

use blstrs::Scalar;

use super::bridge;
use super::crew::Crew;
use super::limbs::limbs_mut;
use super::CpuBackend;
use crate::cancel::Cancel;
use crate::error::Result;

/// Levels of a pass whose tile fits the second-level cache.
const PASS_LEVELS: u32 = 11;

impl CpuBackend {
    /// Evaluates a polynomial, in place: from its coefficients to its values at ωⁱ, or at 7·ωⁱ on the
    /// coset; `inverse` goes back. Natural order in and out; the length must be a power of two.
    pub fn ntt(&self, values: &mut [Scalar], inverse: bool, coset: bool, cancel: &Cancel) -> Result<()> {
        self.ntt_in_passes(values, inverse, coset, PASS_LEVELS, cancel)
    }

    /// As [`CpuBackend::ntt`], with at most so many levels in one pass over the values.
    pub(super) fn ntt_in_passes(
        &self,
        values: &mut [Scalar],
        inverse: bool,
        coset: bool,
        pass_levels: u32,
        cancel: &Cancel,
    ) -> Result<()> {
        let crew = self.crew(cancel);
        let mut scratch = self.scratch(bridge::domain_scratch(crew.lanes()))?;
        let scratch = scratch.as_mut_slice();
        crew.outcome(bridge::ntt(&crew, limbs_mut(values), inverse, coset, pass_levels, scratch))
    }

    /// The coefficients of h = (A·B − C)/(xⁿ − 1), left in `a` as plain integers. In: the evaluations
    /// a = A·w and b = B·w over the domain; `refill` then writes a∘b into the second buffer.
    pub fn quotient(
        &self,
        a: &mut [Scalar],
        b: &mut [Scalar],
        refill: impl FnOnce(&mut [Scalar]) -> Result<()>,
        cancel: &Cancel,
    ) -> Result<()> {
        let crew = self.crew(cancel);
        let mut scratch = self.scratch(bridge::domain_scratch(crew.lanes()))?;
        divide(&crew, [a, b], refill, scratch.as_mut_slice())
    }
}

/// As [`CpuBackend::quotient`], with this scratch.
pub(super) fn divide(
    crew: &Crew,
    [a, b]: [&mut [Scalar]; 2],
    refill: impl FnOnce(&mut [Scalar]) -> Result<()>,
    scratch: &mut [u8],
) -> Result<()> {
    crew.outcome(bridge::quotient_multiply(crew, limbs_mut(a), limbs_mut(b), scratch))?;
    refill(b)?;
    crew.outcome(bridge::quotient_divide(crew, limbs_mut(a), limbs_mut(b), scratch))
}
