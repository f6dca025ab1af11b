//! The group arithmetic that parameter work needs.

use blstrs::{G1Affine, G2Affine, Scalar};

use super::bridge;
use super::limbs::{limbs, limbs_mut};
use super::CpuBackend;
use crate::cancel::Cancel;
use crate::error::Result;
use crate::memory::{Class, Region, Stage};
use crate::srs::Arithmetic;

impl CpuBackend {
    /// Scratch of this many bytes, counted as part of a slot's working set.
    pub(super) fn scratch(&self, bytes: usize) -> Result<Region> {
        Region::zeroed(Class::WorkingSet, Stage::Proving, bytes)
    }
}

/// The position a search came to; `count` means that nothing was found.
fn found(position: usize, count: usize) -> Option<usize> {
    (position < count).then_some(position)
}

impl Arithmetic for CpuBackend {
    fn fixed_base_g1(&self, base: &G1Affine, scalars: &[Scalar], out: &mut [G1Affine]) -> Result<()> {
        let crew = self.crew(&Cancel::new());
        let mut scratch = self.scratch(bridge::fixed_base_scratch_g1(scalars.len(), crew.lanes()))?;
        let base = limbs(std::slice::from_ref(base));
        let scratch = scratch.as_mut_slice();
        crew.outcome(bridge::fixed_base_g1(&crew, base, limbs(scalars), limbs_mut(out), scratch))
    }

    fn fixed_base_g2(&self, base: &G2Affine, scalars: &[Scalar], out: &mut [G2Affine]) -> Result<()> {
        let crew = self.crew(&Cancel::new());
        let mut scratch = self.scratch(bridge::fixed_base_scratch_g2(scalars.len(), crew.lanes()))?;
        let base = limbs(std::slice::from_ref(base));
        let scratch = scratch.as_mut_slice();
        crew.outcome(bridge::fixed_base_g2(&crew, base, limbs(scalars), limbs_mut(out), scratch))
    }

    fn first_bad_g1(&self, points: &[G1Affine]) -> Result<Option<usize>> {
        let crew = self.crew(&Cancel::new());
        let position = crew.outcome(bridge::first_invalid_g1(&crew, limbs(points)))?;
        Ok(found(position, points.len()))
    }

    fn first_bad_g2(&self, points: &[G2Affine]) -> Result<Option<usize>> {
        let crew = self.crew(&Cancel::new());
        let position = crew.outcome(bridge::first_invalid_g2(&crew, limbs(points)))?;
        Ok(found(position, points.len()))
    }
}
