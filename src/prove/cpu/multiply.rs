//! Multi-scalar multiplications and sums over bitmaps.

use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use group::Group;

use super::bridge::{self, KernelTable};
use super::crew::Crew;
use super::limbs::{from_limbs, limbs, limbs_mut};
use super::CpuBackend;
use crate::cancel::Cancel;
use crate::error::Result;

/// Scalars of a multiplication, which destroys them, and the points they belong to.
pub(super) struct Terms<'a, P> {
    pub(super) points: &'a [P],
    /// The point of each scalar; empty: scalar i belongs to point i.
    pub(super) indices: &'a [u32],
    pub(super) scalars: &'a mut [Scalar],
    /// The scalars are in Montgomery form, not plain integers.
    pub(super) montgomery: bool,
}

/// The points that a bitmap of variables selects.
#[derive(Clone, Copy)]
pub(super) struct Selected<'a, P> {
    pub(super) points: &'a [P],
    /// The point of the first variable.
    pub(super) offset: usize,
    /// One bit for each variable: its point is part of the sum.
    pub(super) selected: &'a [u64],
    /// One bit for each variable: it has a point; empty: all have one.
    pub(super) density: &'a [u64],
}

/// Affine points of a group that the core computes in.
pub(super) trait Multiply: Sized + Copy {
    type Sum: Group + Copy + Send;

    /// Scratch for so many scalars.
    fn scratch(kernels: &KernelTable, scalars: usize, threads: usize) -> usize;

    /// Σ scalarᵢ·pointᵢ.
    fn multiply(crew: &Crew, terms: Terms<'_, Self>, scratch: &mut [u8]) -> Result<Self::Sum>;

    /// The scratch for a bitmap of so many words.
    fn bitmap_scratch(words: usize, threads: usize) -> usize;

    /// The sum of the selected points.
    fn sum_selected(crew: &Crew, points: Selected<'_, Self>, scratch: &mut [u8]) -> Result<Self::Sum>;
}

pub(super) fn sum_g1(sum: &bridge::SumG1) -> G1Projective {
    from_limbs(G1Projective::identity(), &sum.limbs)
}

pub(super) fn sum_g2(sum: &bridge::SumG2) -> G2Projective {
    from_limbs(G2Projective::identity(), &sum.limbs)
}

impl Multiply for G1Affine {
    type Sum = G1Projective;

    fn scratch(kernels: &KernelTable, scalars: usize, threads: usize) -> usize {
        bridge::msm_scratch_g1(kernels, scalars, threads)
    }

    fn multiply(crew: &Crew, terms: Terms<'_, Self>, scratch: &mut [u8]) -> Result<G1Projective> {
        let (points, scalars) = (limbs(terms.points), limbs_mut(terms.scalars));
        let sum = bridge::msm_g1(crew, points, terms.indices, scalars, terms.montgomery, scratch);
        Ok(sum_g1(&crew.outcome(sum)?))
    }

    fn bitmap_scratch(words: usize, threads: usize) -> usize {
        bridge::bitmap_scratch_g1(words, threads)
    }

    fn sum_selected(crew: &Crew, from: Selected<'_, Self>, scratch: &mut [u8]) -> Result<G1Projective> {
        let points = limbs(from.points);
        let sum = bridge::bitmap_sum_g1(crew, points, from.offset, from.selected, from.density, scratch);
        Ok(sum_g1(&crew.outcome(sum)?))
    }
}

impl Multiply for G2Affine {
    type Sum = G2Projective;

    fn scratch(kernels: &KernelTable, scalars: usize, threads: usize) -> usize {
        bridge::msm_scratch_g2(kernels, scalars, threads)
    }

    fn multiply(crew: &Crew, terms: Terms<'_, Self>, scratch: &mut [u8]) -> Result<G2Projective> {
        let (points, scalars) = (limbs(terms.points), limbs_mut(terms.scalars));
        let sum = bridge::msm_g2(crew, points, terms.indices, scalars, terms.montgomery, scratch);
        Ok(sum_g2(&crew.outcome(sum)?))
    }

    fn bitmap_scratch(words: usize, threads: usize) -> usize {
        bridge::bitmap_scratch_g2(words, threads)
    }

    fn sum_selected(crew: &Crew, from: Selected<'_, Self>, scratch: &mut [u8]) -> Result<G2Projective> {
        let points = limbs(from.points);
        let sum = bridge::bitmap_sum_g2(crew, points, from.offset, from.selected, from.density, scratch);
        Ok(sum_g2(&crew.outcome(sum)?))
    }
}

impl CpuBackend {
    /// Σ scalarᵢ·pointᵢ in G1. There must be at least as many points as scalars.
    pub fn msm_g1(&self, points: &[G1Affine], scalars: &[Scalar], cancel: &Cancel) -> Result<G1Projective> {
        self.multiply_copied(points, scalars, cancel)
    }

    /// Σ scalarᵢ·pointᵢ in G2. There must be at least as many points as scalars.
    pub fn msm_g2(&self, points: &[G2Affine], scalars: &[Scalar], cancel: &Cancel) -> Result<G2Projective> {
        self.multiply_copied(points, scalars, cancel)
    }

    /// The sum of the G1 points whose bit (least significant first) is set.
    pub fn bitmap_sum_g1(&self, points: &[G1Affine], bits: &[u64], cancel: &Cancel) -> Result<G1Projective> {
        self.sum_all_selected(Selected { points, offset: 0, selected: bits, density: &[] }, cancel)
    }

    /// The sum of the G2 points whose bit (least significant first) is set.
    pub fn bitmap_sum_g2(&self, points: &[G2Affine], bits: &[u64], cancel: &Cancel) -> Result<G2Projective> {
        self.sum_all_selected(Selected { points, offset: 0, selected: bits, density: &[] }, cancel)
    }

    pub(super) fn sum_all_selected<P: Multiply>(
        &self,
        points: Selected<'_, P>,
        cancel: &Cancel,
    ) -> Result<P::Sum> {
        let crew = self.crew(cancel);
        let mut scratch = self.scratch(P::bitmap_scratch(points.selected.len(), crew.lanes()))?;
        P::sum_selected(&crew, points, scratch.as_mut_slice())
    }

    fn multiply_copied<P: Multiply>(
        &self,
        points: &[P],
        scalars: &[Scalar],
        cancel: &Cancel,
    ) -> Result<P::Sum> {
        let crew = self.crew(cancel);
        let mut copy = self.scratch(size_of_val(scalars))?;
        copy.as_mut_slice::<Scalar>().copy_from_slice(scalars);
        let mut scratch = self.scratch(P::scratch(self.kernels, scalars.len(), crew.lanes()))?;
        let terms = Terms { points, indices: &[], scalars: copy.as_mut_slice(), montgomery: true };
        P::multiply(&crew, terms, scratch.as_mut_slice())
    }
}
