//! Products in a field over and over: what a set of kernels is measured by.

use super::bridge;
use super::CpuBackend;
use crate::cancel::Cancel;
use crate::error::Result;

/// A product in one of the fields. An element is its 64-bit limbs in Montgomery form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// Of two coordinates in G1, 6 limbs.
    MultiplyFp,
    /// Of a coordinate in G1 and itself.
    SquareFp,
    /// Of two scalars, 4 limbs.
    MultiplyFr,
    /// Of two coordinates in G2, 12 limbs.
    MultiplyFp2,
    /// Of a coordinate in G2 and itself.
    SquareFp2,
}

impl Product {
    /// Every product.
    pub const ALL: [Product; 5] = [
        Product::MultiplyFp,
        Product::SquareFp,
        Product::MultiplyFr,
        Product::MultiplyFp2,
        Product::SquareFp2,
    ];

    /// Limbs of one element.
    pub fn limbs(self) -> usize {
        match self {
            Product::MultiplyFr => 4,
            Product::MultiplyFp | Product::SquareFp => 6,
            Product::MultiplyFp2 | Product::SquareFp2 => 12,
        }
    }
}

impl CpuBackend {
    /// `rounds` times value = value·factor, or value², on the calling thread. 8, 16, … 64 values below the
    /// modulus, and as many factors. The kernels hold them in their own form, so a measurement of many rounds is
    /// one of their arithmetic alone.
    pub fn repeat_product(
        &self,
        product: Product,
        values: &mut [u64],
        factors: &[u64],
        rounds: usize,
    ) -> Result<()> {
        let done = bridge::repeat_product(self.kernels, product as u32, values, factors, rounds);
        self.crew(&Cancel::new()).outcome(done)
    }
}
