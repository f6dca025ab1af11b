//! The CPU backend: the safe side of the C++ core (`cpp/`).

mod arithmetic;
mod assemble;
mod backend;
mod bridge;
mod crew;
mod kernels;
mod limbs;
mod materialised;
mod multiply;
mod products;
mod projection;
mod queries;
mod transform;

#[cfg(test)]
mod tests;

pub use backend::CpuBackend;
pub use kernels::Kernels;
pub use materialised::Evaluated;
pub use products::Product;
pub use projection::Projection;
