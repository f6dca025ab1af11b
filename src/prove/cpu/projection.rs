//! Projected bytes of this core's steps: pure functions of a circuit's shape, the kernels and the threads.

use blstrs::{G1Affine, Scalar};

use super::bridge::{self, KernelTable};
use super::kernels::Kernels;
use super::multiply::Multiply;
use super::queries::BufferSizes;
use crate::circuit::Shape;
use crate::error::Result;
use crate::units::Bytes;

/// What a backend on so many threads would need.
#[derive(Clone, Copy)]
pub struct Projection {
    pub(super) kernels: &'static KernelTable,
    pub(super) threads: usize,
}

impl Projection {
    /// For these kernels; fails where this processor does not run them.
    pub fn new(kernels: Kernels, threads: usize) -> Result<Projection> {
        Ok(Projection { kernels: kernels.table()?, threads })
    }

    /// See [`crate::prove::Backend::working_set`].
    pub fn working_set(&self, shape: &Shape) -> Bytes {
        let buffer = shape.domain().saturating_mul(size_of::<Scalar>() as u64);
        let terms = usize::try_from(shape.domain() - 1).unwrap_or(usize::MAX);
        let scratch = bridge::domain_scratch(self.threads) as u64;
        let transforming = buffer.saturating_mul(2).saturating_add(scratch);
        let multiplying =
            buffer.saturating_add(buffer.max(G1Affine::scratch(self.kernels, terms, self.threads) as u64));
        Bytes(transforming.max(multiplying).saturating_add(self.overhead()))
    }

    /// See [`crate::prove::Backend::finishing_set`].
    pub fn finishing_set(&self, shape: &Shape, wide: u64) -> Bytes {
        let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX / 128);
        let (aux, scalars) = (size(shape.aux), size(shape.inputs.saturating_add(wide)));
        let buffers = BufferSizes::new(aux, scalars, self.kernels, self.threads);
        Bytes(buffers.bytes().saturating_add(self.overhead()))
    }

    /// Bytes beside the regions: what the threads touch of their stacks, and what regions round up to pages.
    fn overhead(&self) -> u64 {
        const EACH: u64 = 128 << 10;
        const ONCE: u64 = 384 << 10;
        ONCE + EACH * self.threads as u64
    }
}
