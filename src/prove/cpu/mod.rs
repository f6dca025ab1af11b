//! The CPU backend: the safe side of the C++ core (`cpp/`).

mod arithmetic;
mod assemble;
mod backend;
mod bridge;
mod crew;
mod limbs;
mod multiply;
mod queries;
mod transform;

#[cfg(test)]
mod tests;

pub use backend::CpuBackend;

/// The kernels that the core chose for this processor.
pub fn kernel_name() -> &'static str {
    bridge::kernel_name()
}
